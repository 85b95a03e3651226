/* F_i on the steps where it is neither 0 nor 1. */
#include "backend/cpu/gaus/terms.h"

void sked_i_gaus_window_fill(sked_i_gaus_evaluator *s, int32_t i)
{
    const int64_t first = s->first[i], len = s->first[i + 1] - first;
    const double inverse = 1 / s->sigma[i], z0 = (s->low[i] + 0.5 - s->mu[i]) * inverse;
    sked_i_normal_row(&s->normal, z0, inverse, len, s->cdf + first, s->slope + first);
    for (int64_t k = 0; k < len; k++)
        s->slope[first + k] *= inverse;
}
