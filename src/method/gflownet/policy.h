/*
 * The encode-once policy. The encoder runs once for a graph and a temperature; `prepare` turns its
 * embedding into per-op rows, with the temperature's FiLM folded into rows and weights. A walk then
 * scores ready (op, device) pairs step by step:
 *
 *     logit(i, d) = out . max(0, op[i] + device[d] + state + pair(i, d) . pair_weight)
 *
 * device[d] comes from the device's last op and the time it is free, state from the mean over unscheduled
 * ops of max(0, wait[j] + features), the sum over devices, and features of the whole. Devices have no
 * numbers: those that have run nothing are one choice of multiplicity (devices - used).
 */
#ifndef SKED_METHOD_GFLOWNET_POLICY_H
#define SKED_METHOD_GFLOWNET_POLICY_H
#include "base/rng.h"
#include "method/gflownet/instance.h"
#include "nn/encoder.h"

typedef struct RN(policy) {
    const sked_i_instance *instance;
    const sked_i_layout *layout;
    const RN(kernels) * kernels;
    const real *parameter;
    double temperature;
    RN(encoder) * encoder;
    real *feature;            /* [n, SKED_I_STATIC_FEATURES] */
    real *block;              /* what follows lies in it */
    real *plain;              /* [n, width] op rows before FiLM */
    real *op;                 /* [n, width] */
    real *wait;               /* [n, context] */
    real *last;               /* [n, context] */
    real *scale, *shift;      /* [width] */
    real *device_weight;      /* [context, width] */
    real *state_weight;       /* [2 * context + SKED_I_STATE_FEATURES, width] */
    real *pair_weight;        /* [SKED_I_PAIR_FEATURES, width] */
    real *empty, *empty_part; /* [context], [width]: a device that has run nothing */
    real *first_wait;         /* [n, context] max(0, ...) of the empty schedule */
    real *first_sum;          /* [context] */
} RN(policy);

SKED_MUST_CHECK sked_status RN(policy_create)(const sked_i_instance *x, const sked_i_layout *layout,
                                              const RN(kernels) * kernels, RN(policy) * *out,
                                              sked_error *err);
void RN(policy_destroy)(RN(policy) * p);
/* For these parameters (which must stay) and this temperature. */
void RN(policy_prepare)(RN(policy) * p, const real *parameter, double temperature);

/* Gradients by what the walks use; several walkers have one each, and they are added in order. */
typedef struct RN(gradient) {
    real *block;
    int64_t size;
    real *op, *wait, *last; /* shapes as in the policy */
    real *device_weight, *state_weight, *pair_weight, *out;
    real *wait_feature, *last_feature; /* [features, context] */
    real *empty, *empty_part;
} RN(gradient);
SKED_MUST_CHECK sked_status RN(gradient_create)(const RN(policy) * p, RN(gradient) * out, sked_error *err);
void RN(gradient_clear)(RN(gradient) * g);
/* Carries g, which it changes, through FiLM, rows and encoder to the parameters (+=). */
SKED_MUST_CHECK sked_status RN(policy_grad)(const RN(policy) * p, RN(gradient) * g, real *dparameter,
                                            sked_error *err);
#endif
