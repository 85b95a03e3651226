/*
 * Topoformer: a pre-norm transformer over the ops of a graph whose attention heads each see one relation
 * between ops (docs/methods/gflownet.md). Runs once per graph and temperature.
 */
#ifndef SKED_METHOD_GFLOWNET_NETWORK_ENCODER_H
#define SKED_METHOD_GFLOWNET_NETWORK_ENCODER_H
#include "backend/kernels.h"
#include "base/clock.h"
#include "method/gflownet/network/heat.h"

/* What one layer keeps for its gradient. All rows are ops. */
typedef struct RN(layer_state) {
    real *in;                    /* [n, dim] */
    real *norm1, *mean1, *rstd1; /* [n, dim], [n], [n] */
    real *qkv;                   /* [n, 3 * heads * head] */
    real *mixed, *lse;           /* [n, heads * head], [n * heads] */
    real *middle;                /* [n, dim] after attention */
    real *norm2, *mean2, *rstd2;
    real *hidden;        /* [n, mlp] before FiLM */
    real *scale, *shift; /* [mlp] */
    real *active;        /* [n, mlp] after it */
} RN(layer_state);

typedef struct RN(encoder) {
    const sked_i_layout *layout;
    const RN(kernels) * kernels;
    const sked_i_masks *masks;
    const real *feature; /* [n, SKED_I_STATIC_FEATURES] */
    int32_t n;
    const sked_i_limit *limit; /* NULL: none */
    real *block;
    RN(heat) heat;
    RN(layer_state) layer[SKED_I_MAX_LAYERS];
    real *last, *final_mean, *final_rstd; /* [n, dim], [n], [n] */
    real *out;                            /* [n, dim] the embedding */
} RN(encoder);

/* masks and feature stay the caller's and must outlive the encoder. */
SKED_MUST_CHECK sked_status RN(encoder_create)(const sked_i_layout *layout, const RN(kernels) * kernels,
                                               const sked_i_masks *masks, const real *feature,
                                               RN(encoder) * *out, sked_error *err);
void RN(encoder_destroy)(RN(encoder) * e);
/* Fills e->out and e->heat from the parameters and the inputs heat[SKED_I_HEAT_FEATURES]. false: the limit
 * was reached, and they are not complete. */
bool RN(encoder_run)(RN(encoder) * e, const real *parameter, const double *heat);
/* From dout [n, dim] and dheat [temperature], which it changes, to the parameters (+=). STOPPED at the limit.
 */
SKED_MUST_CHECK sked_status RN(encoder_grad)(const RN(encoder) * e, const real *parameter, const real *dout,
                                             real *dheat, real *dparameter, sked_error *err);
#endif
