/* F_i on the steps where it is neither 0 nor 1. */
#include "backend/cpu/gaus/terms.h"

void sked_i_gaus_window(sked_i_gaus_engine *s, int32_t i)
{
    const int64_t first = s->first[i], len = s->first[i + 1] - first;
    const double inverse = 1 / s->sigma[i], z0 = (s->low[i] + 0.5 - s->mu[i]) * inverse;
    for (int64_t k = 0; k < len; k++) {
        double pdf;
        s->cdf[first + k] = sked_i_normal_at(&s->normal, z0 + (double)k * inverse, &pdf);
        s->slope[first + k] = pdf * inverse;
    }
}
