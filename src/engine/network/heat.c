#include "engine/network/heat.h"

#include <assert.h>

void RN(heat_run)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const double *input,
                  RN(heat) * h)
{
    const int32_t width = at->sizes.temperature;
    for (int32_t i = 0; i < SKED_I_HEAT_FEATURES; i++)
        h->input[i] = (real)input[i];
    k->linear(1, SKED_I_HEAT_FEATURES, width, h->input, w + at->heat1_weight, w + at->heat1_bias, h->first);
    RN(relu)(width, h->first);
    k->linear(1, width, width, h->first, w + at->heat2_weight, w + at->heat2_bias, h->second);
    RN(relu)(width, h->second);
}

void RN(heat_grad)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const RN(heat) * h,
                   real *dsecond, real *dfirst, real *dw)
{
    const int32_t width = at->sizes.temperature;
    RN(relu_grad)(width, h->second, dsecond);
    k->linear_grad(1, width, width, h->first, w + at->heat2_weight, dsecond, dfirst, dw + at->heat2_weight,
                   dw + at->heat2_bias);
    RN(relu_grad)(width, h->first, dfirst);
    k->linear_grad(1, SKED_I_HEAT_FEATURES, width, h->input, w + at->heat1_weight, dfirst, NULL,
                   dw + at->heat1_weight, dw + at->heat1_bias);
}

void RN(film_run)(const sked_i_layout *l, const RN(kernels) * k, const real *w, const RN(heat) * h,
                  int64_t at, int32_t width, real *scale, real *shift)
{
    const int32_t size = l->sizes.temperature;
    const int64_t bias = (int64_t)size * width, next = bias + width;
    assert(at >= 0 && at + 2 * next <= l->total);
    w += at;
    k->linear(1, size, width, h->second, w, w + bias, scale);
    k->linear(1, size, width, h->second, w + next, w + next + bias, shift);
}

void RN(film_back)(const sked_i_layout *l, const RN(kernels) * k, const real *w, const RN(heat) * h,
                   int64_t at, int32_t width, const real *dscale, const real *dshift, real *dsecond, real *dw)
{
    const int32_t size = l->sizes.temperature;
    const int64_t bias = (int64_t)size * width, next = bias + width;
    assert(at >= 0 && at + 2 * next <= l->total);
    w += at;
    dw += at;
    k->linear_grad(1, size, width, h->second, w, dscale, dsecond, dw, dw + bias);
    k->linear_grad(1, size, width, h->second, w + next, dshift, dsecond, dw + next, dw + next + bias);
}
