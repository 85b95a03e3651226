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

void sked_i_gaus_set_penalties(const sked_i_gaus_tuning *tuning, const double *violation, double *multiplier,
                               double *penalty)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        penalty[f] = multiplier[f] / (1 + violation[f]);
        if (tuning->published)
            multiplier[f] = 0;
    }
}

sked_i_gaus_growth sked_i_gaus_growth_of(const sked_i_gaus_tuning *tuning, bool beside, int32_t iterations)
{
    const double slower = beside ? fmax(1, iterations / 400.0) : 1;
    return (sked_i_gaus_growth){pow(1.03, 1 / slower), pow(0.99, 1 / slower),
                                tuning->published ? 1 / slower : 0};
}
