/*
 * A policy of gflownet on a GPU: what a backend offers that draws schedules and learns from them without
 * going back to the host in between. One table for both policies. Plain C; arrays are the caller's, in host
 * memory; parameters, moments and everything computed from them stay on the GPU.
 *
 * encode-once: src/method/gflownet/once.h has the mathematics. stepwise encodes every partial schedule again.
 * Its gradients are not kept while schedules are drawn: once they are drawn every partial schedule is known,
 * so all of them (trajectories * steps) are independent work. That costs a forward run more and gives as many
 * independent states as a GPU can take, where drawing has one a trajectory.
 *
 * encode-once takes gradients while it draws. Where a step has a slope of its own, for PPO and with credit by
 * steps, it draws first, and takes them in a second walk of the same trajectories.
 */
#ifndef SKED_BACKEND_GPU_POLICY_H
#define SKED_BACKEND_GPU_POLICY_H
#include "backend/loss_kind.h"
#include "backend/parameters.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* The widths that kernels are compiled for. Layers, slots and the embedding of temperature are free. */
enum {
    SKED_I_GPU_DIM = 64,
    SKED_I_GPU_HEAD = 16,
    SKED_I_GPU_MLP = 128,
    SKED_I_GPU_CONTEXT = 64,
    SKED_I_GPU_WIDTH = 64
};

/* A model: sizes, and where each parameter begins in the block; -1: this policy has none such. */
typedef struct sked_i_gpu_shape {
#define SKED_X(name, preset, least, most, help) int32_t name;
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    bool learned; /* stepwise: backward policy; that of encode-once is uniform here */
    bool ruled;   /* stepwise: logits are sharpness * (rule of list scheduling + network): list_rule.h */
    int64_t total;
#define SKED_X(name, rows, columns, initial) int64_t name;
    SKED_I_WHOLE_PARAMETERS(SKED_X)
#undef SKED_X
    sked_i_layer_at layer[SKED_I_MAX_LAYERS];
} sked_i_gpu_shape;

/*
 * A graph on devices at a temperature, in the units of the policy (src/engine/environment/instance.h says
 * what the numbers mean). Rows of edges are the graph's own; those with a distance count for nothing.
 * stepwise takes one kind of devices without transfers.
 */
typedef struct sked_i_gpu_problem {
    int32_t n, devices, kinds, columns;
    int64_t edges;
    bool transfers, picky;
    double work, unit, temperature, sharpness;
    double trust; /* encode-once: of the learnt part of a logit */
    double heat[SKED_I_HEAT_FEATURES];
    const int32_t *kind_size, *kind_first, *quickest; /* [kinds] */
    const int32_t *kind_of;                           /* [columns] */
    const double *pace;                               /* [kinds] */
    const double *latency, *per_byte;                 /* [kinds * kinds] */
    const double *time;                               /* [n * kinds] */
    const double *duration, *least, *tail;            /* [n] */
    const double *feature;                            /* [n * SKED_I_STATIC_FEATURES] */
    const int32_t *waits;                             /* [n] */
    const int64_t *succ_ptr, *pred_ptr;               /* [n + 1] */
    const int64_t *pred_edge;                         /* [edges] */
    const int32_t *edge_to, *edge_distance, *pred_op; /* [edges] */
    const double *lag, *hop, *share, *bytes;          /* [edges] */
    const int32_t *ahead;                             /* [n, SKED_I_AHEAD] edges, or -1; with transfers */
    const uint64_t *masks;                            /* rows of the 7 heads: (head * n + i) * words */
    int64_t words;
} sked_i_gpu_problem;

/* Trajectories of one problem: the first `listed` by list scheduling, the others drawn, or all replayed. */
typedef struct sked_i_gpu_walks {
    const sked_i_gpu_problem *problem;
    int32_t count, listed;
    bool greedy, replay;
    uint64_t seed, first; /* trajectory k takes stream first + k */
    /*
     * Of the first of a call: about how many trajectories belong together, and how many problems an update
     * has, those of other calls and processes included; 0: those of the call. A trajectory and a gradient
     * have the same bits in every call of the same crowd and graphs.
     */
    int64_t crowd;
    int32_t graphs;
    int32_t *op, *device;                          /* [count * n] out, in where they are replayed */
    double *log_forward, *log_backward, *makespan; /* [count] out; makespan NAN: not complete */
    sked_i_loss loss_of;                           /* learn: of the trajectories */
    double loss, log_z, norm;                      /* out, by learn; norm of the gradient */
    double speedup, pull; /* likewise: mean of the trajectories after `listed`; tb: derivative by log Z */
} sked_i_gpu_walks;

/* One step of Adam: parameter -= rate * (m1 / left1) / (sqrt(m2 / left2) + 1e-8). */
typedef struct sked_i_gpu_step {
    double clip, share;  /* as `add` takes them */
    double rate;         /* of this step */
    double left1, left2; /* 1 - b^t for both moments */
} sked_i_gpu_step;

typedef struct sked_i_gpu_model sked_i_gpu_model;

/*
 * Calls of one model come from one thread. Everything fails with DEVICE where the GPU does (out of memory
 * included: nothing is lost then).
 */
typedef struct sked_i_gpu_policy {
    /* DEVICE where the GPU's memory does not hold the model. */
    sked_status (*create)(const sked_i_gpu_shape *shape, sked_i_gpu_model **out, sked_error *err);
    void (*destroy)(sked_i_gpu_model *m);
    /* Parameters and moments [shape.total]; moments may be NULL: zeros, or not wanted. */
    sked_status (*put)(sked_i_gpu_model *m, const float *parameter, const float *moment1,
                       const float *moment2, sked_error *err);
    sked_status (*get)(sked_i_gpu_model *m, float *parameter, float *moment1, float *moment2,
                       sked_error *err);
    /*
     * Walks all trajectories. DEVICE where memory does not hold them: encode-once makes as many at a time as
     * fit. STOPPED at the limit, which may be NULL: the makespan of trajectories that are not complete is
     * NAN. BUG where the policy gives no number, or a replayed step is not legal.
     */
    sked_status (*walk)(sked_i_gpu_model *m, int32_t count, sked_i_gpu_walks *w, const sked_i_limit *limit,
                        sked_error *err);
    /*
     * Begins an update: trajectories, the loss of each problem (batch.h) and its gradient. `finish` waits,
     * and fills loss, log_z, norm, speedup and pull; the trajectories' own numbers too, where their pointers
     * are not NULL. The walks stay until then; the problems, for PPO, until the last `again` has finished.
     */
    sked_status (*learn)(sked_i_gpu_model *m, int32_t count, sked_i_gpu_walks *w, const sked_i_limit *limit,
                         sked_error *err);
    /* PPO: the same for the trajectories of the last learn, at the parameters of now. */
    sked_status (*again)(sked_i_gpu_model *m, const sked_i_limit *limit, sked_error *err);
    sked_status (*finish)(sked_i_gpu_model *m, sked_error *err);
    /* gradient[shape.total] += min(1, clip / norm) * share * gradient of each problem, in order. */
    sked_status (*add)(sked_i_gpu_model *m, double clip, double share, float *gradient, sked_error *err);
    /* One step of Adam with this gradient, or NULL: with that sum. May return before it is done. */
    sked_status (*update)(sked_i_gpu_model *m, const sked_i_gpu_step *how, const float *gradient,
                          sked_error *err);
} sked_i_gpu_policy;
#endif
