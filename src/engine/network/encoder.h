/*
 * Topoformer: a pre-norm transformer over the ops of a graph whose attention heads each see one relation
 * between ops (docs/methods/gflownet.md). Runs once per graph and temperature.
 */
#ifndef SKED_ENGINE_NETWORK_ENCODER_H
#define SKED_ENGINE_NETWORK_ENCODER_H
#include "backend/kernels.h"
#include "base/arena.h"
#include "base/clock.h"
#include "engine/network/heat.h"

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
    sked_i_arena arena;
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
/*
 * Fills e->out and e->heat from the parameters and the inputs heat[SKED_I_HEAT_FEATURES], in stages: stage 0
 * to layers, each for all rows, in pieces (rows first to end - 1) that may run at once. Not complete where
 * the limit was reached.
 */
void RN(encoder_rows)(RN(encoder) * e, const real *parameter, const double *heat, int stage, int32_t first,
                      int32_t end);

/* The way back of a gradient, by layer. All rows are ops. */
typedef struct RN(layer_back) {
    real *dout;           /* [n, dim] of what the layer gives */
    real *active, *inner; /* [n, mlp] after FiLM, before it */
    real *norm2, *middle; /* [n, dim] */
    real *mixed, *qkv;    /* [n, heads * head], three times that */
    real *norm1;          /* [n, dim] */
} RN(layer_back);

typedef struct RN(encoder_back) {
    const RN(encoder) * encoder;
    const real *parameter, *dout;
    real *dparameter, *dheat;
    sked_i_arena arena;
    RN(layer_back) layer[SKED_I_MAX_LAYERS];
    real *din;    /* [n, dim] of what the first layer gets */
    real *film;   /* [2 * mlp] */
    real *dfirst; /* [temperature] */
    bool stopped; /* atomic: the limit was reached */
} RN(encoder_back);

/* From dout [n, dim] and dheat [temperature], which it changes, to the parameters (+=). All must stay. Clear
 * in any case. */
SKED_MUST_CHECK sked_status RN(encoder_back_init)(RN(encoder_back) * b, const RN(encoder) * e,
                                                  const real *parameter, const real *dout, real *dheat,
                                                  real *dparameter, sked_error *err);
void RN(encoder_back_clear)(RN(encoder_back) * b);
/* Stages from 0, and the pieces of each for that many threads; 0: there are no more. */
int RN(encoder_back_pieces)(const RN(encoder_back) * b, int stage, int threads);
/* Stage 0 works by rows: piece k is for rows encoder_row(k) to encoder_row(k + 1) - 1 and reads no others of
 * dout. */
void RN(encoder_back_run)(RN(encoder_back) * b, int stage, int piece, int pieces);

/* First row of one of several pieces; n for piece = pieces. */
int32_t RN(encoder_row)(const RN(encoder) * e, int piece, int pieces);
/* For that many threads: not so many that reading the weights takes longer than using them. */
int RN(encoder_row_pieces)(const RN(encoder) * e, int threads);
#endif
