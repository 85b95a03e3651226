#include "engine/network/heat.h"

static void relu(int32_t n, real *x)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_grad(int32_t n, const real *y, real *dy)
{
    for (int32_t i = 0; i < n; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}

void RN(heat_run)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const double *input,
                  RN(heat) * h)
{
    const int32_t width = at->sizes.temperature;
    for (int32_t i = 0; i < SKED_I_HEAT_FEATURES; i++)
        h->input[i] = (real)input[i];
    k->linear(1, SKED_I_HEAT_FEATURES, width, h->input, w + at->heat1_weight, w + at->heat1_bias, h->first);
    relu(width, h->first);
    k->linear(1, width, width, h->first, w + at->heat2_weight, w + at->heat2_bias, h->second);
    relu(width, h->second);
}

void RN(heat_grad)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const RN(heat) * h,
                   real *dsecond, real *dfirst, real *dw)
{
    const int32_t width = at->sizes.temperature;
    relu_grad(width, h->second, dsecond);
    k->linear_grad(1, width, width, h->first, w + at->heat2_weight, dsecond, dfirst, dw + at->heat2_weight,
                   dw + at->heat2_bias);
    relu_grad(width, h->first, dfirst);
    k->linear_grad(1, SKED_I_HEAT_FEATURES, width, h->input, w + at->heat1_weight, dfirst, NULL,
                   dw + at->heat1_weight, dw + at->heat1_bias);
}
