/* Temperature and machine as a vector: two small layers with ReLU; FiLM starts from it. */
#ifndef SKED_ENGINE_NETWORK_HEAT_H
#define SKED_ENGINE_NETWORK_HEAT_H
#include "backend/kernels.h"
#include "engine/network/layout.h"

typedef struct RN(heat) {
    real input[SKED_I_HEAT_FEATURES];
    real *first, *second; /* [temperature]: after each layer */
} RN(heat);
/* Fills first and second, which the caller owns. input: [SKED_I_HEAT_FEATURES] */
void RN(heat_run)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const double *input,
                  RN(heat) * h);
/*
 * FiLM: scale and shift of `width` columns. Its parameters are weight and bias of the scale, then of the
 * shift, one behind the other from `at` on.
 */
void RN(film_run)(const sked_i_layout *l, const RN(kernels) * k, const real *w, const RN(heat) * h,
                  int64_t at, int32_t width, real *scale, real *shift);
/* Adds to dsecond [temperature] and to the parameters. */
void RN(film_back)(const sked_i_layout *l, const RN(kernels) * k, const real *w, const RN(heat) * h,
                   int64_t at, int32_t width, const real *dscale, const real *dshift, real *dsecond,
                   real *dw);
/* From dsecond, which it changes, to the parameters (+=); dfirst [temperature] holds zeros. */
void RN(heat_grad)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const RN(heat) * h,
                   real *dsecond, real *dfirst, real *dw);

/* max(0, x) in place, and a gradient on its way back through it. */
static inline void RN(relu)(int64_t n, real *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}
static inline void RN(relu_grad)(int64_t n, const real *y, real *dy)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}
#endif
