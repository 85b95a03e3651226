/*
 * The network of the stepwise policy: the Topoformer on the ops of a partial schedule, run again for every
 * step, and two heads on its rows.
 *
 * Thousands of runs share one graph and one temperature, so all that depends on these alone is worked into
 * the weights once: the temperature's FiLM, gain and bias of the normalisations, the scale of the queries;
 * and the weights are kept turned as well, for the gradient. A run computes what changed and what is asked
 * for:
 * - Queries, keys and values of the first layer depend on one op's features only. They stay until those
 * change (four times or so in a trajectory), and so do their gradients.
 * - After the last attention only the rows of the heads are needed: ops that can be added or removed.
 */
#ifndef SKED_ENGINE_NETWORK_STEPPER_H
#define SKED_ENGINE_NETWORK_STEPPER_H
#include "engine/network/heat.h"
#include "engine/network/pieces.h"

#include <stdbool.h>

/* One matrix with its bias, or their gradients (plain then, and without turned). */
typedef struct RN(step_matrix) {
    int32_t rows, columns;
    real *weight; /* [rows, columns] packed */
    real *bias;   /* [columns] */
    real *turned; /* [columns, rows] packed, or NULL */
} RN(step_matrix);

typedef struct RN(step_layer) {
    RN(step_matrix) query, keys, merge, mlp1, mlp2; /* keys: and values */
} RN(step_layer);

typedef struct RN(step_weights) {
    RN(step_matrix) input;
    RN(step_layer) layer[SKED_I_MAX_LAYERS];
    RN(step_matrix) forward1, forward2;
    RN(step_matrix) back1; /* learned backward policy only */
    real *back2;           /* [width] likewise */
} RN(step_weights);

/* Scale and shift of an MLP by the temperature. */
typedef struct RN(film) {
    real *scale, *shift;
} RN(film);

typedef struct RN(stepper) {
    const sked_i_layout *layout;
    const RN(kernels) * kernels;
    sked_i_attention_views views;
    const real *parameter; /* as last prepared */
    sked_i_arena arena;    /* what follows lies in it */
    RN(step_weights) weights;
    RN(heat) heat;
    RN(film) film[SKED_I_MAX_LAYERS + 2]; /* of the layers, the forward head, the backward head */
    real *query_scale;                    /* [heads * head] constants */
    real *plain, *plain_turned;           /* scratch: a matrix before it is packed */
    bool learned;                         /* backward policy */
} RN(stepper);

SKED_MUST_CHECK sked_status RN(stepper_create)(const sked_i_layout *layout, const RN(kernels) * kernels,
                                               const sked_i_masks *masks, RN(stepper) * *out,
                                               sked_error *err);
void RN(stepper_destroy)(RN(stepper) * s);
void RN(stepper_prepare)(RN(stepper) * s, const real *parameter, const double *heat);
/* Numbers in a gradient, its pieces, and the way from one to the parameters (+=). */
int64_t RN(stepper_gradient_size)(const RN(stepper) * s);
RN(step_weights) RN(stepper_gradient_pieces)(const RN(stepper) * s, real *gradient);
SKED_MUST_CHECK sked_status RN(stepper_grad)(const RN(stepper) * s, real *gradient, real *dparameter,
                                             sked_error *err);

/* What a layer keeps for its gradient; [rows]: of the ops asked for in the last layer, all ops before. */
typedef struct RN(step_kept) {
    real *in;            /* [n, dim] */
    real *unit1, *rstd1; /* [n, dim], [n] */
    real *query, *keys;  /* [n, inner], [n, 2 * inner] */
    real *weight;        /* [rows, stride] of attention */
    real *mixed;         /* [rows, inner] */
    real *middle;        /* [rows, dim] after attention */
    real *unit2, *rstd2; /* [rows, dim], [rows] */
    real *active;        /* [rows, mlp] */
} RN(step_kept);

/* One partial schedule at a time: a workspace. */
typedef struct RN(step_run) {
    const RN(stepper) * net;
    int32_t n;
    sked_i_arena arena;
    real *feature;             /* [n, inputs]: the caller's to fill */
    int32_t *rows;             /* [n]: the caller's: ops to be added, then ops that could be removed */
    int32_t n_forward, n_back; /* the caller's: how many of each */
    real *logit;               /* [n_forward, slots] */
    real *back_logit;          /* [n_back] */
    real *dlogit, *dback;      /* their gradients, the caller's; there once step_run_want_grad was called */
    int32_t *all;              /* [n] 0, 1, 2, ... */
    RN(step_kept) kept[SKED_I_MAX_LAYERS];
    real *last;                                  /* [rows, dim] */
    real *unit, *rstd;                           /* [rows, dim], [rows] */
    real *active;                                /* [rows, width] of the heads */
    real *picked;                                /* [n, widest] rows gathered */
    real *dx, *dmiddle, *dunit;                  /* [n, dim] */
    real *dactive, *dmixed, *dquery, *dkeys;     /* [n, mlp or width], [n, inner], ..., [n, 2 * inner] */
    real *first_dquery, *first_dkeys, *first_dx; /* of the first layer, since the features changed */
    real *scratch;                               /* [stride] */
} RN(step_run);

SKED_MUST_CHECK sked_status RN(step_run_create)(const RN(stepper) * net, RN(step_run) * *out,
                                                sked_error *err);
void RN(step_run_destroy)(RN(step_run) * r);
/* Makes room for gradients, once. */
SKED_MUST_CHECK sked_status RN(step_run_want_grad)(RN(step_run) * r, sked_error *err);
/* New features of these ops. */
void RN(step_run_change)(RN(step_run) * r, int32_t count, const int32_t *op);
/* Logits of rows[0 .. n_forward + n_back). */
void RN(step_run_forward)(RN(step_run) * r);
/* From dlogit and dback; first-layer gradients stay with the ops. gradient: as stepper_gradient_size. */
void RN(step_run_backward)(RN(step_run) * r, real *gradient);
/* Carries the first-layer gradients of these ops on; before their features change, and at the end. */
void RN(step_run_settle)(RN(step_run) * r, int32_t count, const int32_t *op, real *gradient);
#endif
