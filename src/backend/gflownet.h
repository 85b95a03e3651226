/*
 * The encode-once policy on a device of its own: what a backend offers that draws schedules and learns from
 * them without going back to the host in between (src/method/gflownet/once.h has the mathematics). Host
 * memory everywhere; parameters, moments and everything computed from them stay on the device.
 */
#ifndef SKED_BACKEND_GFLOWNET_H
#define SKED_BACKEND_GFLOWNET_H
#include "backend/layer.h"
#include "backend/loss.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SKED_I_ONCE_LAYERS = 16, /* the most */
    SKED_I_ONCE_STATIC = 16, /* features of an op */
    SKED_I_ONCE_HEAT = 5,    /* of temperature and machine */
    SKED_I_ONCE_WAIT = 3,    /* of an unscheduled op */
    SKED_I_ONCE_LAST = 3,    /* of a device in use */
    SKED_I_ONCE_STATE = 12,  /* of the partial schedule */
    SKED_I_ONCE_BACK = 2,    /* of the same, for a learned backward policy */
    SKED_I_ONCE_PAIR = 12,   /* of a pair */
    SKED_I_ONCE_DIRECT = 8,  /* of a pair, straight to its logit */
    SKED_I_ONCE_OPS = 64,    /* ops among which a step chooses, at most */
    SKED_I_ONCE_DEVICES = 16 /* and devices in use, and groups with an empty device */
};

/* Parameters by name, as the model's own table calls them. */
#define SKED_I_ONCE_OFFSETS(X) \
    X(input_weight)            \
    X(input_bias)              \
    X(heat1_weight)            \
    X(heat1_bias)              \
    X(heat2_weight)            \
    X(heat2_bias)              \
    X(final_gain)              \
    X(final_bias)              \
    X(op_weight)               \
    X(op_bias)                 \
    X(wait_weight)             \
    X(wait_bias)               \
    X(wait_feature)            \
    X(last_weight)             \
    X(last_bias)               \
    X(last_feature)            \
    X(empty_device)            \
    X(device_weight)           \
    X(state_weight)            \
    X(pair_weight)             \
    X(scale_weight)            \
    X(scale_bias)              \
    X(shift_weight)            \
    X(shift_bias)              \
    X(out_weight)              \
    X(direct_weight)           \
    X(direct_bias)             \
    X(back_device)             \
    X(back_state)              \
    X(back_bias)               \
    X(back_out)

/* A model: sizes, all but layers multiples of 8, and where each parameter begins in the block. */
typedef struct sked_i_once_shape {
    int32_t dim, layers, head, mlp, temperature, context, width;
    bool learned;  /* backward policy */
    int64_t total; /* numbers in the block */
#define SKED_X(name) int64_t name;
    SKED_I_ONCE_OFFSETS(SKED_X)
#undef SKED_X
    sked_i_layer_offsets layer[SKED_I_ONCE_LAYERS];
} sked_i_once_shape;

/*
 * A graph on devices at a temperature, in the units of the policy (src/method/gflownet/instance.h says what
 * the numbers mean). Rows of edges are the graph's own; those with a distance count for nothing.
 */
typedef struct sked_i_once_problem {
    int32_t n, devices, groups, columns;
    int64_t edges;
    bool transfers, picky;
    double work, unit, temperature, sharpness;
    double heat[SKED_I_ONCE_HEAT];
    const int32_t *group_size, *group_first, *quickest; /* [groups] */
    const int32_t *group_of;                            /* [columns] */
    const double *pace;                                 /* [groups] */
    const double *latency, *per_byte;                   /* [groups * groups] */
    const double *time;                                 /* [n * groups] */
    const double *duration, *least, *tail;              /* [n] */
    const double *feature;                              /* [n * SKED_I_ONCE_STATIC] */
    const int32_t *waits;                               /* [n] */
    const int64_t *succ_ptr, *pred_ptr;                 /* [n + 1] */
    const int64_t *pred_edge;                           /* [edges] */
    const int32_t *edge_to, *edge_distance, *pred_op;   /* [edges] */
    const double *lag, *share, *bytes;                  /* [edges] */
    const uint64_t *masks;                              /* rows of the 7 heads: (head * n + i) * words */
    int64_t words;
} sked_i_once_problem;

/* Trajectories of one problem: the first `listed` by list scheduling, the others drawn, or all replayed. */
typedef struct sked_i_once_walks {
    const sked_i_once_problem *problem;
    int32_t count, listed;
    bool greedy, replay;
    uint64_t seed, first; /* trajectory k takes stream first + k */
    /*
     * Of the first of a call: about how many trajectories belong together, those of other calls and processes
     * included; 0: those of the call. A trajectory has the same bits in every call of the same crowd.
     */
    int64_t crowd;
    int32_t *op, *device;                          /* [count * n] out, in where they are replayed */
    double *log_forward, *log_backward, *makespan; /* [count] out; makespan NAN: not complete */
    sked_i_loss loss_of;                           /* learn: of the trajectories */
    /*
     * [count * n] log P_F of every step: out by walk where it is not NULL, in by learn for PPO, which only
     * replays: with them and slope[count], what a ratio of a trajectory counts.
     */
    double *log_step;
    const double *slope;
    double loss, log_z, norm; /* out, by learn */
    double speedup, pull;     /* likewise: mean of the trajectories after `listed`; tb: derivative by log Z */
} sked_i_once_walks;

/* One step of Adam. */
typedef struct sked_i_once_step {
    double clip, share;  /* as `add` takes them */
    double rate;         /* of this step */
    double left1, left2; /* 1 - b^t for both moments */
} sked_i_once_step;

typedef struct sked_i_once_device sked_i_once_device;

typedef struct sked_i_once_backend {
    /* DEVICE where its memory does not hold the model. */
    sked_status (*create)(const sked_i_once_shape *shape, sked_i_once_device **out, sked_error *err);
    void (*destroy)(sked_i_once_device *d);
    /* Parameters and moments [shape.total]; moments may be NULL: zeros, or not wanted. */
    sked_status (*put)(sked_i_once_device *d, const float *parameter, const float *moment1,
                       const float *moment2, sked_error *err);
    sked_status (*get)(sked_i_once_device *d, float *parameter, float *moment1, float *moment2,
                       sked_error *err);
    /*
     * Walks all trajectories. As many at a time as the memory holds; DEVICE where it does not hold one.
     * STOPPED at the limit, which may be NULL: the makespan of trajectories that are not complete is NAN. BUG
     * where the policy gives no number, or a replayed step is not legal.
     */
    sked_status (*walk)(sked_i_once_device *d, int32_t count, sked_i_once_walks *w, const sked_i_limit *limit,
                        sked_error *err);
    /*
     * Begins an update: trajectories, the loss of each problem (batch.h) and its gradient. `finish` waits,
     * and fills loss, log_z, norm, speedup and pull; the trajectories' own numbers too, where their pointers
     * are not NULL.
     */
    sked_status (*learn)(sked_i_once_device *d, int32_t count, sked_i_once_walks *w,
                         const sked_i_limit *limit, sked_error *err);
    sked_status (*finish)(sked_i_once_device *d, sked_error *err);
    /* gradient[shape.total] += min(1, clip / norm) * share * gradient of each problem, in order. */
    sked_status (*add)(sked_i_once_device *d, double clip, double share, float *gradient, sked_error *err);
    /* One step of Adam with this gradient, or NULL: with that sum. May return before it is done. */
    sked_status (*update)(sked_i_once_device *d, const sked_i_once_step *how, const float *gradient,
                          sked_error *err);
} sked_i_once_backend;
#endif
