/* Exponential and logarithm that give the same bits with every C library. */
#ifndef SKED_BASE_EXPLOG_H
#define SKED_BASE_EXPLOG_H
#include <stdint.h>
#include <string.h>

/*
 * Natural logarithm (x > 0, finite) and exponential (|x| <= 700) from exact operations only: the same bits
 * with every C library, which libm's own do not promise. Good to about 2 units in the last place.
 */
double sked_i_log(double x);
double sked_i_exp(double x);
/*
 * The same exponential for inner loops: another polynomial, without divisions and calls, some eight times as
 * fast. Its last bit may differ from that of sked_i_exp, but never between machines.
 */
static inline double sked_i_exp_quick(double x)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it leaves the nearest integer */
    const double k = (x * 1.4426950408889634 + round) - round;
    const double r = (x - k * 0.69314718036912382) - k * 1.9082149292705877e-10; /* |r| < 0.347 */
    const double s = r * r;
    const double low = (1 + r) + s * (1.0 / 2 + r * (1.0 / 6)) +
                       (s * s) * ((1.0 / 24 + r * (1.0 / 120)) + s * (1.0 / 720 + r * (1.0 / 5040)));
    const double high = (1.0 / 40320 + r * (1.0 / 362880)) + s * (1.0 / 3628800 + r * (1.0 / 39916800)) +
                        (s * s) * (1.0 / 479001600);
    const uint64_t bits = (uint64_t)((int64_t)k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return (low + (s * s) * (s * s) * high) * power;
}
#endif
