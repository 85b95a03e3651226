/*
 * Building schedules step by step: the environment (partial schedules) and the scorer on it.
 *
 * What unscheduled ops and devices contribute changes only when something happens to them, so each keeps
 * its contribution as a version from one change to the next. The gradient of a version is the difference of
 * a running total at its end and its begin: a walk costs O(scored pairs + ops + edges), not O(ops * ops).
 */
#ifndef SKED_METHOD_GFLOWNET_WALK_H
#define SKED_METHOD_GFLOWNET_WALK_H
#include "method/gflownet/policy.h"

typedef enum sked_i_walk_kind {
    SKED_I_WALK_SAMPLE, /* draw from the policy */
    SKED_I_WALK_GREEDY, /* its likeliest action each time */
    SKED_I_WALK_LIST,   /* randomised critical-path list scheduling, scored by the policy */
    SKED_I_WALK_REPLAY  /* the actions already in the trajectory */
} sked_i_walk_kind;

/* One schedule being built, step by step. Devices are numbered in the order they are first used. */
typedef struct sked_i_trajectory {
    int32_t *op, *device; /* [n] in the order of the steps */
    double log_forward;   /* sum of log P_F of the labelled actions */
    double log_backward;  /* sum of log P_B: uniform over the ops that could be removed */
    double makespan;      /* in units of scale */
} sked_i_trajectory;

typedef struct RN(walker) RN(walker);
SKED_MUST_CHECK sked_status RN(walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err);
void RN(walker_destroy)(RN(walker) * w);
/*
 * One walk; rng may be NULL where kind needs none. With a gradient (REPLAY only) adds slope * d log_forward
 * to it. MEMORY, or BUG where the policy gives no number (a model that has diverged).
 */
SKED_MUST_CHECK sked_status RN(walk)(RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                                     RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err);
/* log R + log P_B - log P_F; at the optimum log Z for every trajectory. */
double sked_i_trajectory_zeta(const sked_i_instance *x, double temperature, const sked_i_trajectory *t);
#endif
