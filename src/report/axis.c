#include "report/axis.h"

#include "sked/sked.h"

#include <assert.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static const int mantissas[] = {1, 2, 5};

void sked_i_axis_add(sked_i_axis *a, double value)
{
    if (isfinite(value)) {
        a->from = fmin(a->from, value);
        a->to = fmax(a->to, value);
    }
}

/* Decades that room at the ends keeps within what a double holds. */
static double decade(double value)
{
    return log10(fmin(fmax(value, 1e-280), 1e280));
}

/* Two values have a hundredth of their size between them at least: a tick is then many times the spacing of
 * doubles, and its number small. */
void sked_i_axis_settle(sked_i_axis *a, double room)
{
    if (!(a->to >= a->from)) {
        a->from = a->logarithmic ? 1e-3 : 0;
        a->to = 1;
    }
    if (a->logarithmic) {
        const double low = decade(a->from), high = decade(a->to);
        const double more = room / 2 * (high - low) + log10(1.05);
        a->from = pow(10, low - more);
        a->to = pow(10, high + more);
        return;
    }
    const double size = fmax(fabs(a->from), fabs(a->to)), half = a->to / 2 - a->from / 2;
    const double least = size > 0 ? fmax(0.005 * size, 1e-300) : 0.5;
    const double more = (1 + 2 * room) * half < least ? least : 2 * room * half;
    a->from = fmax(a->from - more, -DBL_MAX);
    a->to = fmin(a->to + more, DBL_MAX);
}

/* 0.5 where the span of the range is beyond what a double holds. */
static double scale_of(const sked_i_axis *a)
{
    return isinf(a->to - a->from) ? 0.5 : 1;
}

double sked_i_axis_at(const sked_i_axis *a, double value)
{
    assert(a->to > a->from && (!a->logarithmic || a->from > 0));
    const double x = fmin(fmax(value, a->from), a->to), scale = scale_of(a);
    const double share = a->logarithmic ? (log10(x) - log10(a->from)) / (log10(a->to) - log10(a->from))
                                        : (x * scale - a->from * scale) / (a->to * scale - a->from * scale);
    return a->low + (a->high - a->low) * share;
}

/* digits * 10^exponent, without the noise that a product of doubles has. */
static void write_label(long long digits, int exponent, char *buf, size_t size)
{
    char text[40];
    double x = 0;
    if (digits == 0 || (exponent >= -5 && exponent <= 6)) {
        snprintf(text, sizeof text, "%llde%d", digits, exponent);
        sked_parse_number(text, &x);
        sked_format_number(x, buf, size);
        return;
    }
    for (; digits % 10 == 0; digits /= 10)
        exponent++;
    const int n = snprintf(text, sizeof text, "%lld", llabs(digits));
    snprintf(buf, size, "%s%c%s%.15se%d", digits < 0 ? "-" : "", text[0], n > 1 ? "." : "", text + 1,
             exponent + n - 1);
}

/* Powers of ten, and 2 and 5 of each where there are few. */
static int decades(const sked_i_axis *a, sked_i_tick *tick)
{
    const int first = (int)floor(log10(a->from)), last = (int)floor(log10(a->to));
    const int steps = last - first < 2 ? 3 : 1, every = 1 + (last - first) / 10;
    int n = 0;
    for (int k = first; k <= last; k += every)
        for (int m = 0; m < steps; m++) {
            const double value = mantissas[m] * pow(10, k);
            if (value < a->from || value > a->to)
                continue;
            tick[n].at = sked_i_axis_at(a, value);
            write_label(mantissas[m], k, tick[n++].label, sizeof tick->label);
        }
    return n;
}

/* The smallest round step with at most `most` of them in the range: *mantissa * 10^exponent. */
static double choose_step(const sked_i_axis *a, int most, int *mantissa, int *exponent)
{
    const double scale = scale_of(a), span = a->to * scale - a->from * scale;
    if (a->whole && span < most) {
        *exponent = 0;
        return *mantissa = 1;
    }
    for (int e = (int)floor(log10(fmax(span / most, 1e-320))) - 1;; e++)
        for (int m = 0; m < 3; m++) {
            const double step = mantissas[m] * pow(10, e);
            if (span / step > most * scale && e < DBL_MAX_10_EXP)
                continue;
            *mantissa = mantissas[m];
            *exponent = e;
            return step;
        }
}

int sked_i_axis_ticks(const sked_i_axis *a, int most, sked_i_tick tick[SKED_I_MOST_TICKS])
{
    assert(most >= 2 && most + 2 <= SKED_I_MOST_TICKS);
    int n = a->logarithmic ? decades(a, tick) : 0, mantissa, exponent;
    if (n > 1)
        return n;
    const double slack = 1e-6, step = choose_step(a, most, &mantissa, &exponent);
    const double first = ceil(a->from / step - slack);
    assert(fabs(first) < 0x1p53);
    for (n = 0; n < SKED_I_MOST_TICKS && first + n <= a->to / step + slack; n++) {
        tick[n].at = sked_i_axis_at(a, (first + n) * step);
        write_label(((long long)first + n) * mantissa, exponent, tick[n].label, sizeof tick->label);
    }
    return n;
}
