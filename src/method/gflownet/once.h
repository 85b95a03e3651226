/*
 * The encode-once policy. The encoder runs once for a graph and a temperature; `prepare` turns its
 * embedding into per-op rows, with the temperature's FiLM folded into rows and weights. A walk then
 * scores ready (op, device) pairs step by step:
 *
 *     logit(i, d) = out . max(0, op[i] + device[d] + state + pair(i, d) . pair_weight) + direct . near(i, d)
 *
 * device[d] comes from the device's last op and the time it is free, state from the mean over unscheduled
 * ops of max(0, wait[j] + features), the sum over devices, and features of the whole. Devices have no
 * numbers: those of a kind that have run nothing are one choice with a multiplicity.
 *
 * Times in pair are squashed, those in near are in mean durations and only clipped. Their weights `direct`
 * follow temperature and machine. All logits are larger by the square root of kappa (instance.h). `out`
 * begins as 0: a model that has not learnt anything yet is randomised list scheduling.
 *
 * A learned backward policy scores the ops that could be removed, each the last of its device, the same way:
 *
 *     logit(d) = back_out . max(0, device[d] . back_device + state . back_state + back_bias)
 */
#ifndef SKED_METHOD_GFLOWNET_ONCE_H
#define SKED_METHOD_GFLOWNET_ONCE_H
#include "engine/network/encoder.h"
#include "method/gflownet/policy.h"

typedef struct RN(once) {
    RN(policy) base;
    RN(encoder) * encoder;
    sked_i_arena arena;       /* what follows lies in it */
    real *feature;            /* [n, SKED_I_STATIC_FEATURES] */
    real *plain;              /* [n, width] op rows before FiLM */
    real *op;                 /* [n, width] */
    real *wait;               /* [n, context] */
    real *last;               /* [n, context] */
    real *scale, *shift;      /* [width] */
    real *device_weight;      /* [context, width] */
    real *state_weight;       /* [2 * context + SKED_I_STATE_FEATURES, width] */
    real *pair_weight;        /* [SKED_I_PAIR_FEATURES, width] */
    real sharpness;           /* of all logits: grows with kappa */
    real *out;                /* [width] */
    real *direct;             /* [SKED_I_DIRECT_FEATURES] */
    real *empty, *empty_part; /* [context], [width]: a device that has run nothing */
    real *first_wait;         /* [n, context] max(0, ...) of the empty schedule */
    real *first_sum;          /* [context] */
} RN(once);

/* The pieces of a gradient's block. */
typedef struct RN(once_gradient) {
    real *op, *wait, *last; /* shapes as in the policy */
    real *device_weight, *state_weight, *pair_weight, *out, *direct;
    real *wait_feature, *last_feature; /* [features, context] */
    real *empty, *empty_part;
    real *back_device, *back_state, *back_bias, *back_out; /* as the parameters; learned only */
} RN(once_gradient);
/* Lays the pieces out in block, or only counts where it is NULL. */
int64_t RN(once_gradient_lay_out)(const RN(once) * p, real *block, RN(once_gradient) * out);

sked_status RN(once_walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err);
void RN(once_walker_destroy)(RN(walker) * w);
sked_status RN(once_walk)(RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                          RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err);
#endif
