#include "base/explog.h"

#include <math.h>

double sked_i_log(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654757) {
        m *= 2;
        e--;
    }
    const double s = (m - 1) / (m + 1), z = s * s; /* log m = 2 atanh s, |s| < 0.172 */
    double sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * z;
    return e * 0.69314718036912382 + (2 * s + (2 * s * sum + e * 1.9082149292705877e-10));
}

double sked_i_exp(double x)
{
    const double k = floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - k * 0.69314718036912382) - k * 1.9082149292705877e-10;
    double sum = 1;
    for (int i = 14; i >= 1; i--)
        sum = 1 + sum * r / i;
    return ldexp(sum, (int)k);
}
