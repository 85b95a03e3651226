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
