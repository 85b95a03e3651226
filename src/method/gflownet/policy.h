/*
 * What every policy offers, as one table: rows and weights for a graph at a temperature, walkers that build
 * schedules with them, and the way of a gradient back to the parameters. once.c encodes a graph once,
 * stepwise.c (the paper's) encodes every partial schedule again. batch.c, sample.c and train.c know this
 * header only.
 */
#ifndef SKED_METHOD_GFLOWNET_POLICY_H
#define SKED_METHOD_GFLOWNET_POLICY_H
#include "base/rng.h"
#include "engine/environment/partial.h"
#include "engine/network/layout.h"

typedef struct RN(policy_kind) RN(policy_kind);

/* The first member of each kind's own structure. */
typedef struct RN(policy) {
    const RN(policy_kind) * kind;
    const sked_i_instance *instance;
    const sked_i_layout *layout;
    const RN(kernels) * kernels;
    const real *parameter; /* as last prepared */
    double temperature;
    double trust; /* encode-once: of the learnt part of a logit (sked_i_sampler_trust); 1 while it learns */
} RN(policy);

/* Gradients by what the walks use, in the policy's own order; walkers have one each, added in order. */
typedef struct RN(gradient) {
    real *block; /* begins at a multiple of 64 bytes */
    int64_t size;
    void *owned;
} RN(gradient);

/* A gradient on its way back to the parameters: the first member of each kind's own structure. */
typedef struct RN(back) {
    const RN(policy) * policy;
    RN(gradient) * gradient;
    real *dparameter;
} RN(back);

typedef enum sked_i_walk_kind {
    SKED_I_WALK_SAMPLE, /* draw from the policy */
    SKED_I_WALK_GREEDY, /* its likeliest action each time */
    SKED_I_WALK_LIST,   /* randomised critical-path list scheduling, scored by the policy */
    SKED_I_WALK_REPLAY  /* the actions already in the trajectory */
} sked_i_walk_kind;

/* PPO: a ratio of probabilities counts from 1 - clip to 1 + clip; a nat of entropy is worth `entropy`. */
typedef struct sked_i_clipping {
    double clip, entropy;
} sked_i_clipping;

/* One schedule being built, step by step. */
typedef struct sked_i_trajectory {
    int32_t *op, *device; /* [n] in the order of the steps; devices are columns of the instance */
    double log_forward;   /* sum of log P_F of the labelled actions */
    double log_backward;  /* sum of log P_B */
    double makespan;      /* in units of scale */
    /*
     * PPO, the owner's: NULL, or what a walk with a gradient adds instead (walk below). Then log_step [n]
     * gets log P_F of every step that is drawn, for replays to compare with; objective and entropy get the
     * sums over the steps of a walk with a gradient.
     */
    const sked_i_clipping *ppo;
    double *log_step;
    double objective, entropy;
    /*
     * Credit by steps, the owner's: NULL, or [n] for each step. Walks without gradient leave log P_B - log
     * P_F in step_flow and when the schedule may end (partial.h) in step_outlook; one with a gradient takes
     * step_slope for log P_F, back_slope for log P_B, and not its own.
     */
    double *step_flow, *step_outlook, *step_slope;
    double back_slope;
    /*
     * What a walk without gradient leaves for the next walk with one, under the same parameters: the policy's
     * own, in numbers of its kind. The owner frees it, and says with `keeps` whether a gradient is to follow.
     */
    bool keeps;
    void *kept;
    int64_t kept_cap;
    int32_t kept_steps;
} sked_i_trajectory;

/* The first member of each kind's walker. */
typedef struct RN(walker) {
    const RN(policy) * policy;
} RN(walker);

struct RN(policy_kind) {
    /*
     * Gradients are taken while trajectories are drawn (batch.h), not in a second walk. Not for
     * encode-once, whose second walk is cheap.
     */
    bool single_pass;
    sked_status (*create)(const sked_i_instance *x, const sked_i_layout *layout, const RN(kernels) * kernels,
                          RN(policy) * *out, sked_error *err);
    void (*destroy)(RN(policy) * p);
    /*
     * prepare, with parameter and temperature set, goes in stages of pieces: those of a stage may run at
     * once, in any number that prepare_pieces(threads) names; 0: there are no more stages.
     */
    int (*prepare_pieces)(const RN(policy) * p, int stage, int threads);
    void (*prepare)(RN(policy) * p, int stage, int piece, int pieces);
    int64_t (*gradient_size)(const RN(policy) * p);
    /*
     * So does the way back of a gradient to the parameters (+=); it changes the gradient, whose numbers are
     * not looked at before the first stage. back_end says how it went (STOPPED at the limit) and frees.
     */
    sked_status (*back_begin)(const RN(policy) * p, RN(gradient) * g, real *dparameter, RN(back) * *out,
                              sked_error *err);
    int (*back_pieces)(const RN(back) * b, int stage, int threads);
    void (*back_run)(RN(back) * b, int stage, int piece, int pieces);
    sked_status (*back_end)(RN(back) * b, sked_error *err);
    sked_status (*walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err);
    void (*walker_destroy)(RN(walker) * w);
    sked_status (*walk)(RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                        RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err);
};
extern const RN(policy_kind) RN(policy_once), RN(policy_stepwise);

/* Of the kind the layout names. UNSUPPORTED where the problem is beyond the policy's limits. */
SKED_MUST_CHECK sked_status RN(policy_create)(const sked_i_instance *x, const sked_i_layout *layout,
                                              const RN(kernels) * kernels, RN(policy) * *out,
                                              sked_error *err);
void RN(policy_destroy)(RN(policy) * p);
/* For these parameters (which must stay) and this temperature. Not complete where the limit is reached. */
void RN(policy_prepare)(RN(policy) * p, const real *parameter, double temperature);
/* The same in pieces, for callers with threads of their own: begin, then the stages of the kind. */
void RN(policy_begin)(RN(policy) * p, const real *parameter, double temperature);
/* Its numbers are not set. */
SKED_MUST_CHECK sked_status RN(gradient_create)(const RN(policy) * p, RN(gradient) * out, sked_error *err);
void RN(gradient_clear)(RN(gradient) * g);

SKED_MUST_CHECK sked_status RN(walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err);
void RN(walker_destroy)(RN(walker) * w);
/*
 * One walk; rng may be NULL where kind needs none. With a gradient adds slope * d (log_forward
 * - log_backward) to it, or step by step what the trajectory says; for PPO instead, with r the ratio of P_F
 * of a step to that when it was drawn,
 *
 *     d (sum over the steps of slope * cut(r) - entropy * H),
 *
 * where cut(r) is r, but at most 1 + clip where slope < 0 (an action to be made likelier) and at least
 * 1 - clip where slope > 0, and H the entropy of the choices of the step. STOPPED where the instance's limit
 * is reached on the way; MEMORY, or BUG where the policy gives no number (a model that has diverged).
 */
SKED_MUST_CHECK sked_status RN(walk)(RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                                     RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err);

/* Of log P_B, in a walk of this slope. */
static inline double sked_i_back_slope(const sked_i_trajectory *t, double slope)
{
    return t->ppo != NULL ? 0 : t->step_slope != NULL ? t->back_slope : -slope;
}
/* The state after a step of a walk without gradient. */
static inline void sked_i_note_step(sked_i_trajectory *t, int32_t step, const sked_i_partial *p)
{
    if (t->step_outlook != NULL)
        t->step_outlook[step] = sked_i_partial_outlook(p);
}
static inline void sked_i_note_back(sked_i_trajectory *t, int32_t step, double logp)
{
    t->log_backward += logp;
    if (t->step_flow != NULL)
        t->step_flow[step] += logp;
}

/* The choice of a step: entries with their labels and logarithms of probabilities. */
typedef struct RN(choice) {
    int32_t n;
    int32_t *count;                      /* [n] labels of an entry; 0: it cannot be chosen */
    real *logit, *logp, *dlogp, *dlogit; /* [n] */
} RN(choice);
/* Where the kind asks the policy: an entry drawn with probability count * exp(logp), or the likeliest. */
int32_t RN(choose)(const RN(choice) * c, sked_i_walk_kind kind, sked_i_rng *rng);
/* Adds log P_F of the entry to the trajectory. BUG: it is none (-1), a replayed step is not legal. */
SKED_MUST_CHECK sked_status RN(note_choice)(const RN(choice) * c, sked_i_walk_kind kind, int32_t step,
                                            int32_t chosen, sked_i_trajectory *t, sked_error *err);
/* dlogit: slope * d logp[chosen], or for PPO what walk says. */
void RN(choice_grad)(const RN(choice) * c, const RN(kernels) * k, sked_i_trajectory *t, int32_t step,
                     int32_t chosen, real slope);
/* BUG: there are no probabilities at the step of a walk of n. */
SKED_MUST_CHECK sked_status RN(no_probability)(int32_t step, int32_t n, sked_error *err);

#endif
