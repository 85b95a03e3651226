/*
 * The stepwise policy of gflownet on a device: the network encodes every partial schedule again, draws many
 * schedules side by side, and gives the gradient of their loss. Plain C; all arrays are the caller's, in host
 * memory, and are read before a call returns.
 *
 * Gradients are not kept while schedules are drawn. Once they are drawn every partial schedule is known, so
 * all of them (trajectories * steps) are independent work: they are encoded again and their gradients added
 * in a fixed order. That costs a forward run more and gives as many independent states as a device can take,
 * where drawing has one a trajectory.
 */
#ifndef SKED_BACKEND_STEPWISE_H
#define SKED_BACKEND_STEPWISE_H
#include "backend/layer.h"
#include "backend/loss.h"
#include "base/clock.h"

enum { SKED_I_STEPWISE_LAYERS = 16, SKED_I_STEPWISE_HEAT = 5, SKED_I_STEPWISE_FEATURES = 6 };

/* Where parameters begin in their block; those of a learned backward policy are -1 where there is none. */
#define SKED_I_STEPWISE_OFFSETS(X) \
    X(input_weight)                \
    X(input_bias)                  \
    X(heat1_weight)                \
    X(heat1_bias)                  \
    X(heat2_weight)                \
    X(heat2_bias)                  \
    X(final_gain)                  \
    X(final_bias)                  \
    X(forward1_weight)             \
    X(forward1_bias)               \
    X(forward_scale_weight)        \
    X(forward_scale_bias)          \
    X(forward_shift_weight)        \
    X(forward_shift_bias)          \
    X(forward2_weight)             \
    X(forward2_bias)               \
    X(back1_weight)                \
    X(back1_bias)                  \
    X(back_scale_weight)           \
    X(back_scale_bias)             \
    X(back_shift_weight)           \
    X(back_shift_bias)             \
    X(back2_weight)

/* Sizes are multiples of 8 but layers. */
typedef struct sked_i_stepwise_shape {
    int32_t dim, layers, head, mlp, temperature, width, slots;
    bool learned; /* backward policy */
    bool ruled;   /* logits are sharpness * (rule of list scheduling + network): list_rule.h */
    int64_t total;
#define SKED_X(name) int64_t name;
    SKED_I_STEPWISE_OFFSETS(SKED_X)
#undef SKED_X
    sked_i_layer_offsets layer[SKED_I_STEPWISE_LAYERS];
} sked_i_stepwise_shape;

typedef enum sked_i_stepwise_walk {
    SKED_I_STEPWISE_SAMPLE, /* draw from the policy; the first `listed` by randomised list scheduling */
    SKED_I_STEPWISE_GREEDY,
    SKED_I_STEPWISE_REPLAY /* what is in op and device */
} sked_i_stepwise_walk;

/* A graph on equal devices at a temperature, and what is wanted of it. Times in units of list scheduling. */
typedef struct sked_i_stepwise_problem {
    int32_t ops, devices;
    int64_t edges;           /* of distance 0 */
    const int64_t *succ_ptr; /* [ops + 1] */
    const int32_t *succ;     /* [edges] */
    const double *lag;       /* [edges] */
    const int64_t *pred_ptr; /* [ops + 1] */
    const int32_t *pred;     /* [edges] */
    const double *duration;  /* [ops] */
    const double *tail;      /* [ops] */
    double work, unit;       /* sum of durations, mean */
    int64_t words;           /* of a row of masks */
    const uint64_t *masks;   /* [heads * ops * words] */
    double temperature, sharpness;
    double heat[SKED_I_STEPWISE_HEAT];
    sked_i_stepwise_walk walk;
    int32_t batch, listed; /* trajectory k takes its random numbers from stream first + k of seed */
    uint64_t seed, first;
    const int32_t *op, *device; /* [batch * ops] REPLAY: the actions in order */
    sked_i_loss loss;           /* learn: of its trajectories */
    /* learn: problems of the whole update, of which these may be some ranks'; 0: those that are loaded. Where
     * sums over states are cut depends on it, not on what else is loaded. */
    int32_t graphs;
} sked_i_stepwise_problem;

/* Of the trajectories of one problem; NULL: not wanted. */
typedef struct sked_i_stepwise_outcome {
    int32_t *op, *device;                          /* [batch * ops] */
    double *log_forward, *log_backward, *makespan; /* [batch] */
} sked_i_stepwise_outcome;

typedef struct sked_i_stepwise_mark {
    double loss, log_z, norm; /* norm of the gradient */
    double speedup, pull; /* mean of the trajectories after `listed`; tb: derivative of the loss by log Z */
} sked_i_stepwise_mark;

typedef struct sked_i_stepwise_device sked_i_stepwise_device;

/*
 * Calls of one device come from one thread. Everything fails with DEVICE where the device does (out of memory
 * included: nothing is lost then), STOPPED where the limit came first, BUG where the policy gives no number
 * or a replayed action is not legal.
 */
typedef struct sked_i_stepwise_backend {
    /* The limit (NULL: none) is heard between launches of some hundredths of a second. */
    sked_status (*create)(const sked_i_stepwise_shape *shape, const sked_i_limit *limit,
                          sked_i_stepwise_device **out, sked_error *err);
    void (*destroy)(sked_i_stepwise_device *d);
    /* [total] each, both ways; moments may be NULL: then Adam's are 0, or stay where they are. */
    sked_status (*write)(sked_i_stepwise_device *d, const float *parameter, const float *moment1,
                         const float *moment2, sked_error *err);
    sked_status (*read)(sked_i_stepwise_device *d, float *parameter, float *moment1, float *moment2,
                        sked_error *err);
    /* Takes these problems instead of those before; gradients: learn will be called. */
    sked_status (*load)(sked_i_stepwise_device *d, int count, const sked_i_stepwise_problem *problem,
                        bool gradients, sked_error *err);
    /* Schedules of all problems, at the parameters of now. */
    sked_status (*draw)(sked_i_stepwise_device *d, sked_error *err);
    sked_status (*outcome)(sked_i_stepwise_device *d, int problem, const sked_i_stepwise_outcome *out,
                           sked_error *err);
    /* PPO: the schedules drawn last stay, and learn takes their gradient at the parameters of now. */
    sked_status (*again)(sked_i_stepwise_device *d, sked_error *err);
    /*
     * Loss of the schedules drawn last and its gradient, problem by problem: mean of (zeta - mean zeta)^2, or
     * as problem.loss says. marks: [count]
     */
    sked_status (*learn)(sked_i_stepwise_device *d, sked_i_stepwise_mark *marks, sked_error *err);
    /* gradient[total] of one problem as last learnt. */
    sked_status (*gradient)(sked_i_stepwise_device *d, int problem, float *gradient, sked_error *err);
    /*
     * One Adam step: parameter -= rate * (m1 / left1) / (sqrt(m2 / left2) + 1e-8), with this gradient
     * [total], or where it is NULL with the sum of share[k] * gradient of problem k.
     */
    sked_status (*update)(sked_i_stepwise_device *d, const float *gradient, const float *share, double rate,
                          double left1, double left2, sked_error *err);
} sked_i_stepwise_backend;
#endif
