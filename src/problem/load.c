#include "problem/load.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Prices that make all kinds equally dear in the mean: exact where devices differ by speed alone. */
static void first_prices(const sked_i_load *l, double *price, double *rows)
{
    double most = 0;
    for (int32_t k = 0; k < l->kinds; k++)
        price[k] = rows[k] = 0;
    for (int64_t r = 0; r < l->rows; r++) {
        const double *time = l->time + r * l->kinds;
        double least = INFINITY;
        for (int32_t k = 0; k < l->kinds; k++)
            least = fmin(least, time[k]);
        for (int32_t k = 0; k < l->kinds; k++)
            if (time[k] < INFINITY && least > 0) {
                price[k] += time[k] / least;
                rows[k]++;
            }
    }
    for (int32_t k = 0; k < l->kinds; k++) {
        price[k] = rows[k] > 0 ? rows[k] / price[k] : 1;
        most = fmax(most, price[k]);
    }
    for (int32_t k = 0; k < l->kinds; k++)
        price[k] /= most;
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

/* Kinds that attract more work than the best bound allows become dearer. Keeps the largest price at 1. */
static void step(const sked_i_load *l, double size, double best, const double *load, double *price)
{
    double most = 0;
    assert(best > 0);
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
    const size_t size = (size_t)l->kinds * sizeof *price;
    double *load = scratch, *now = scratch + l->kinds, best = 0;
    assert(l->kinds > 0 && steps >= 0);
    first_prices(l, price, load);
    memcpy(now, price, size);
    for (int32_t k = 0; k <= steps; k++) {
        const double v = value(l, now, load);
        if (v > best) {
            best = v;
            memcpy(price, now, size);
        }
        if (!(best > 0)) /* no work */
            break;
        step(l, 0.5 / sqrt(1.0 + k), best, load, now);
    }
    return best;
}
