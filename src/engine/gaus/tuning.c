#include "engine/gaus/tuning.h"

#include <assert.h>

int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit)
{
    const double now = sked_clock(), left = limit->deadline - now;
    assert(done > 0 && done <= all);
    if (isinf(left) || !limit->paced || (now - begin) * (all - done) <= left * done)
        return all;
    const double more = left / fmax(1e-9, now - begin) * done;
    return done + (int32_t)fmax(least, fmin(all - done, more));
}

void sked_i_gaus_raise_multipliers(const sked_i_gaus_value *value, double *before, double *multiplier)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        if (value->violation[f] > 0.99 * before[f] && value->violation[f] > 1e-6)
            multiplier[f] *= 1.03;
        before[f] = value->violation[f];
    }
}
