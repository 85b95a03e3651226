#include "problem/load.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Prices that make all kinds equally dear in the mean: exact where devices differ by speed alone. */
static void first_prices(const sked_i_load *l, double *price)
{
    for (int32_t k = 0; k < l->kinds; k++) {
        double sum = 0, rows = 0;
        for (int64_t r = 0; r < l->rows; r++) {
            const double *time = l->time + r * l->kinds;
            double least = INFINITY;
            for (int32_t j = 0; j < l->kinds; j++)
                least = fmin(least, time[j]);
            if (time[k] < INFINITY && least > 0) {
                sum += time[k] / least;
                rows++;
            }
        }
        price[k] = sum > 0 ? rows / sum : 1;
    }
}

/* Value of the prices; load[k]: time that the cheapest choices put on kind k, per device. */
static double value(const sked_i_load *l, const double *price, double *load)
{
    double cost = 0, offer = 0;
    for (int32_t k = 0; k < l->kinds; k++) {
        offer += price[k] * l->count[k];
        load[k] = 0;
    }
    for (int64_t r = 0; r < l->rows; r++) {
        const double *time = l->time + r * l->kinds;
        double least = INFINITY;
        int32_t at = 0;
        for (int32_t k = 0; k < l->kinds; k++) {
            const double c = price[k] * time[k];
            if (c < least) {
                least = c;
                at = k;
            }
        }
        cost += least;
        load[at] += time[at];
    }
    for (int32_t k = 0; k < l->kinds; k++)
        load[k] /= l->count[k];
    return cost / offer;
}

/* Dearer where more work wants to go than the best bound allows. Keeps the largest price at 1. */
static void step(const sked_i_load *l, double size, double best, const double *load, double *price)
{
    double most = 0;
    for (int32_t k = 0; k < l->kinds; k++) {
        const double excess = fmax(-1, fmin(1, load[k] / best - 1));
        price[k] *= 1 + size * excess;
        most = fmax(most, price[k]);
    }
    for (int32_t k = 0; k < l->kinds; k++)
        price[k] = fmax(price[k] / most, 1e-9);
}

double sked_i_load_bound(const sked_i_load *l, int32_t steps, double *price, double *scratch)
{
    double now[64], best = 0;
    double *at = l->kinds <= 64 ? now : price; /* more kinds: the last prices stand for the best */
    if (l->rows == 0)
        return 0;
    first_prices(l, price);
    if (at != price)
        memcpy(at, price, (size_t)l->kinds * sizeof *price);
    for (int32_t k = 0; k <= steps; k++) {
        const double v = value(l, at, scratch);
        if (v > best) {
            best = v;
            memmove(price, at, (size_t)l->kinds * sizeof *price);
        }
        if (!(best > 0))
            break;
        step(l, 0.5 / sqrt(1.0 + k), best, scratch, at);
    }
    return best;
}
