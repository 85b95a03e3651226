/*
 * The stepwise network on one partial schedule, by one block of threads. A block needs no other: a schedule
 * grows to its end, and a gradient is taken, without leaving the kernel.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_NET_H
#define SKED_BACKEND_CUDA_STEPWISE_NET_H
extern "C" {
#include "backend/gpu_policy.h"
#include "backend/kernels.h"
#include "backend/list_rule.h"
}
#include "backend/cuda/gflownet_model.h"
#include "backend/cuda/stepwise_tile.h"

/* A matrix of the network: places in the folded weights of a problem and in a gradient. */
struct step_matrix {
    int rows, columns;
    int bias;           /* [columns] */
    int dweight, dbias; /* [rows, columns], [columns] */
    int tile;           /* the first of its tiles; those of the transpose follow */
};
/* Per layer, then the heads. */
enum { STEP_QKV, STEP_MERGE, STEP_MLP1, STEP_MLP2, STEP_MATRICES };
enum { STEP_FORWARD2, STEP_FORWARD1, STEP_BACK1, STEP_HEADS }; /* the last only where it is learned */

/*
 * Rows of numbers that a block works with: numbers in shared memory, or where that is too small in the
 * block's own piece of global memory (-1 - offset).
 */
struct step_places {
    int64_t x, narrow;     /* of warps that take tiles in turn: rows, and queries */
    int64_t wide, small;   /* logits of additions; what step_open lists */
    int64_t masks, tables; /* -1: they stay where they are */
    int64_t mail, sums;    /* what warps exchange */
};

/* Sizes and places, the same for all problems. */
struct step_net {
    int dim, layers, inner, mlp, width, slots, inputs;
    bool learned, ruled;
    int64_t input_weight, input_bias, back2_weight; /* in the parameters, which are used as they are */
    int dinput, dinput_bias, dback2;                /* in a gradient */
    int n_matrices;
    const step_matrix *matrix; /* [layers * STEP_MATRICES + STEP_HEADS] */
};

/* One problem of a load, on the device. Rows of trajectories: [batch, ops] or [batch, devices]. */
struct step_problem {
    int ops, devices, batch, listed, words;
    bool greedy, replay;
    const int32_t *succ_ptr, *succ, *pred_ptr, *pred;
    const double *lag, *duration, *tail;
    const uint64_t *masks;
    uint8_t *seen;  /* masks as tiles have them (stepwise_tile_long.h); NULL: not needed */
    uint32_t *live; /* and which tiles have a bit */
    double work, unit, temperature;
    float sharpness; /* of all logits; 1 without a rule */
    float log_devices, heat[SKED_I_HEAT_FEATURES];
    uint64_t seed, first;
    float *folded, *film, *warmth; /* biases for this temperature; scales and shifts; the two hidden layers */
    step_tile *tiles;              /* weights for this temperature */
    int32_t *op, *device;          /* by step */
    int32_t *at, *on;              /* by op: the step that scheduled it (ops + 1: none yet), its device */
    int32_t *ready_at;             /* the first state in which it can be added */
    int32_t *gone_at;              /* the step that made it impossible to remove */
    int32_t *queue;                /* ops in the order they became ready; -1: not yet */
    int32_t *waits;
    double *start, *data, *noise;
    double *free_at;    /* by device */
    double *free_until; /* [batch, ops, devices] the same at every step; NULL: no gradient of a rule */
    int32_t *last;
    uint64_t *rng;                                 /* [batch, 4] */
    double *log_forward, *log_backward, *makespan; /* [batch] */
    int32_t *queued, *trouble;                     /* [batch]; trouble: gpu_walk_status */
    float *slope;                                  /* [batch] of the loss by log P_F - log P_B */
    sked_i_loss law;
    double *log_step, *value; /* [batch * ops] PPO: log P_F as drawn; a step's share of the loss */
    /* The same, credit by steps: what the state after a step leaves possible (partial.h); log P_B - log P_F
     * of the step, then its slope. NULL: a step counts what its trajectory does. */
    double *outlook, *flow;
    double *loss;                      /* [STEP_LOSS_NUMBERS] */
    float *gradient, *folded_gradient; /* [total], [folded gradient] */
    int first_block, n_blocks;         /* of the gradient */
    int turn;                          /* the problem that is drawn at this one's turn: the longest first */
};
enum { STEP_LOSS, STEP_CENTRE, STEP_SPEEDUP, STEP_PULL, STEP_SCALE, STEP_LOSS_NUMBERS };

/* Credit by steps: -slope of log P_B, the mean of which grows. */
__device__ static inline double step_back_slope(const step_problem &p)
{
    return 1.0 / p.batch;
}

/* One block's view of its memory and of one state; in shared memory itself. */
struct step_work {
    step_net z;
    step_problem p;
    const float *parameter;
    step_matrix *matrix;
    float *x, *narrow, *wide; /* as step_places says */
    float *start, *back;      /* [ops]: start of scheduled ops; logits of removal */
    const uint64_t *masks;    /* as in p */
    int32_t *state, *pick;    /* [ops]: bits and device; the ops of `count` */
    int32_t count[2];         /* ops to add, ops that could be removed */
};
enum { STEP_IS_SCHEDULED = 1, STEP_IS_READY = 2, STEP_IS_REMOVABLE = 4, STEP_DEVICE_SHIFT = 3 };

/* Logits of the i-th op to add, by slot; of the i-th that could be removed. */
__device__ static inline float *step_slots(const step_work &w, int i)
{
    return w.wide + (int64_t)w.pick[i] * w.z.slots;
}
__device__ static inline float &step_removal(const step_work &w, int i)
{
    return w.back[w.pick[w.count[0] + i]];
}

__device__ static inline float *step_place(int64_t at, float *shared, float *global)
{
    return at >= 0 ? shared + at : global + (-1 - at);
}
__device__ static inline step_matrix step_layer_matrix(const step_work &w, int layer, int which)
{
    return w.matrix[layer * STEP_MATRICES + which];
}
__device__ static inline step_matrix step_head_matrix(const step_work &w, int which)
{
    return w.matrix[w.z.layers * STEP_MATRICES + which];
}
/* What every kernel of a load is given. */
struct step_load {
    step_net net;
    step_places places;
    const step_problem *problem; /* [problems] */
    int problems;
    const float *parameter;
    float *scratch; /* [blocks, stride] rows that shared memory does not hold */
    int64_t stride;
};

/* By all threads; barriers are the caller's. */
__device__ static void step_open(const step_load &l, int problem, float *shared, step_work &w)
{
    float *own = l.scratch + blockIdx.x * l.stride, *small = step_place(l.places.small, shared, own);
    const int table = l.net.n_matrices * (int)(sizeof(step_matrix) / sizeof(int));
    const step_problem &there = l.problem[problem];
#pragma unroll 1
    for (int i = threadIdx.x; i < table; i += blockDim.x)
        ((int *)small)[i] = ((const int *)l.net.matrix)[i];
#pragma unroll 1
    for (int i = threadIdx.x; l.places.masks >= 0 && i < SKED_I_HEADS * there.ops * there.words;
         i += blockDim.x)
        ((uint64_t *)(shared + l.places.masks))[i] = there.masks[i];
    if (threadIdx.x != 0)
        return;
    const int n = there.ops;
    w.z = l.net;
    w.p = there;
    w.parameter = l.parameter;
    w.matrix = (step_matrix *)small;
    w.x = step_place(l.places.x, shared, own);
    w.narrow = step_place(l.places.narrow, shared, own);
    w.wide = step_place(l.places.wide, shared, own);
    small += table;
    w.start = small;
    w.back = small + n;
    w.state = (int32_t *)(small + 2 * n);
    w.pick = (int32_t *)(small + 3 * n);
    w.masks = l.places.masks >= 0 ? (uint64_t *)(shared + l.places.masks) : w.p.masks;
}

/* ------------------------------------------------------------------ the state */

/* Bits of all ops in the state before `step` of trajectory k. */
__device__ static void step_read_state(const step_work &w, int k, int step)
{
    const step_problem &p = w.p;
    const int64_t row = (int64_t)k * p.ops;
#pragma unroll 1
    for (int i = threadIdx.x; i < p.ops; i += blockDim.x) {
        const bool scheduled = p.at[row + i] < step;
        int bits = 0;
        if (scheduled)
            bits = STEP_IS_SCHEDULED | (p.gone_at[row + i] >= step ? STEP_IS_REMOVABLE : 0) |
                   p.on[row + i] << STEP_DEVICE_SHIFT;
        else if (p.ready_at[row + i] <= step)
            bits = STEP_IS_READY;
        w.state[i] = bits;
        w.start[i] = scheduled ? (float)p.start[row + i] : w.z.ruled ? -(float)p.tail[i] : -1;
    }
}

/* The ops for which `wanted` holds, in order, to `out`; by one warp. */
template <class F> __device__ static int step_list(int n, F wanted, int32_t *out)
{
    const int lane = threadIdx.x % SKED_STEP_WARP;
    int count = 0;
#pragma unroll 1
    for (int first = 0; first < n; first += SKED_STEP_WARP) {
        const int op = first + lane < n ? wanted(first + lane) : -1;
        const unsigned mask = __ballot_sync(sked_step_all, op >= 0);
        if (op >= 0)
            out[count + __popc(mask & ((1u << lane) - 1))] = op;
        count += __popc(mask);
    }
    return count;
}

/* Ops to add in the order they became ready, then ops that could be removed. By the first warp. */
__device__ static void step_pick_rows(step_work &w, int k)
{
    const int32_t *queue = w.p.queue + (int64_t)k * w.p.ops, *state = w.state;
    const int forward = step_list(
        w.p.ops, [=](int i) { return queue[i] >= 0 && (state[queue[i]] & STEP_IS_READY) ? queue[i] : -1; },
        w.pick);
    int back = 0;
    if (w.z.learned)
        back = step_list(
            w.p.ops, [=](int i) { return state[i] & STEP_IS_REMOVABLE ? i : -1; }, w.pick + forward);
    if (threadIdx.x == 0) {
        w.count[0] = forward;
        w.count[1] = back;
    }
}

/* Features of op i, as stepwise.c of the method numbers them, but those of its device. */
__device__ static inline void step_features(const step_work &w, int i, float *f)
{
    const int bits = w.state[i];
    f[0] = (float)w.p.duration[i];
    f[1] = w.start[i];
    f[2] = bits & STEP_IS_READY ? 1 : 0;
    f[3] = bits & STEP_IS_REMOVABLE ? 1 : 0;
    f[4] = bits & STEP_IS_SCHEDULED ? 1 : 0;
    f[5] = w.p.log_devices;
}
/* The row of the input matrix of its device, or -1. */
__device__ static inline int step_device_feature(const step_work &w, int i)
{
    const int bits = w.state[i];
    return bits & STEP_IS_SCHEDULED ? SKED_I_STEP_FEATURES + (bits >> STEP_DEVICE_SHIFT) : -1;
}

/* ------------------------------------------------------------------ probabilities */

/* log of the sum of exp(x(i)), i < n, by one warp; NAN where there is no number. */
template <class F> __device__ static double step_log_sum(int n, F x)
{
    const int lane = threadIdx.x % SKED_STEP_WARP;
    double top = -CUDART_INF, sum = 0;
#pragma unroll 1
    for (int i = lane; i < n; i += SKED_STEP_WARP)
        top = x(i) > top ? x(i) : top;
    for (int by = 16; by > 0; by /= 2) {
        const double other = __shfl_xor_sync(sked_step_all, top, by);
        top = other > top ? other : top;
    }
    if (!(top > -CUDART_INF && top < CUDART_INF))
        return CUDART_NAN;
#pragma unroll 1
    for (int i = lane; i < n; i += SKED_STEP_WARP)
        sum += exp(x(i) - top);
    return top + log(sked_i_warp_sum(sum));
}

/* ------------------------------------------------------------------ the rule of list scheduling */

__device__ static inline double step_warp_most(double x)
{
    for (int by = 16; by > 0; by /= 2)
        x = fmax(x, __shfl_xor_sync(sked_step_all, x, by));
    return x;
}

/* free_at: [devices], data: [ops] of the state; by one warp. */
__device__ static sked_i_rule_frame step_rule_frame(const step_work &w, const double *free_at,
                                                    const double *data)
{
    const step_problem &p = w.p;
    const int lane = threadIdx.x % SKED_STEP_WARP;
    double idle = -CUDART_INF, latest = 0, unready = -CUDART_INF, top_tail = 0, critical = 0;
#pragma unroll 1
    for (int d = lane; d < p.devices; d += SKED_STEP_WARP) {
        idle = fmax(idle, -free_at[d]);
        latest = fmax(latest, free_at[d]);
    }
    const double least_free = -step_warp_most(idle);
#pragma unroll 1
    for (int i = lane; i < w.count[0]; i += SKED_STEP_WARP) {
        const int op = w.pick[i];
        unready = fmax(unready, -data[op]);
        top_tail = fmax(top_tail, p.tail[op]);
        critical = fmax(critical, fmax(data[op], least_free) + p.tail[op]);
    }
    return sked_i_rule_frame_of(p.unit, least_free, step_warp_most(latest), -step_warp_most(unready),
                                step_warp_most(top_tail), step_warp_most(critical));
}

/*
 * Adds the rule to the logits of additions and makes them as sharp as the temperature asks, as stepwise.c of
 * the method does; by the first warp. free_at: [devices] in this state of trajectory k.
 */
__device__ __noinline__ static void step_add_rule(const step_work &w, int k, const double *free_at)
{
    const step_problem &p = w.p;
    const double *data = p.data + (int64_t)k * p.ops;
    const sked_i_rule_frame f = step_rule_frame(w, free_at, data);
#pragma unroll 1
    for (int i = threadIdx.x; i < w.count[0] * p.devices; i += SKED_STEP_WARP) {
        const int op = w.pick[i / p.devices], d = i % p.devices;
        float *logit = step_slots(w, i / p.devices) + d;
        *logit = p.sharpness * (*logit + (float)sked_i_rule_score(&f, data[op], free_at[d], p.tail[op]));
    }
    __syncwarp();
}
#endif
