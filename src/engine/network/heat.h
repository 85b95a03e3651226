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
/* From dsecond, which it changes, to the parameters (+=); dfirst [temperature] holds zeros. */
void RN(heat_grad)(const sked_i_layout *at, const RN(kernels) * k, const real *w, const RN(heat) * h,
                   real *dsecond, real *dfirst, real *dw);
#endif
