/*
 * The stepwise network on one partial schedule, by one block of threads. A block needs no other: a schedule
 * grows to its end, and a gradient is taken, without leaving the kernel.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_NET_H
#define SKED_BACKEND_CUDA_STEPWISE_NET_H
extern "C" {
#include "backend/kernels.h"
#include "backend/list_rule.h"
#include "backend/stepwise.h"
}
#include "backend/cuda/stepwise_tile.h"

/* A matrix of the network: places in the folded weights of a problem and in a gradient. */
struct step_matrix {
    int rows, columns;
    int weight, turned, bias; /* packed as a right factor, so its transpose; [columns] */
    int dweight, dbias;       /* [rows, columns], [columns] */
    int tile;                 /* the first of its tiles; those of the transpose follow */
};
/* Per layer, then the heads. */
enum { STEP_QKV, STEP_MERGE, STEP_MLP1, STEP_MLP2, STEP_MATRICES };
enum { STEP_FORWARD2, STEP_FORWARD1, STEP_BACK1, STEP_HEADS }; /* the last only where it is learned */

/*
 * Rows of numbers that a block works with: numbers in shared memory, or where that is too small in the
 * block's own piece of global memory (-1 - offset).
 */
struct step_places {
    int64_t x, top, narrow, wide, deep, small;
    int64_t masks, tables; /* -1: they stay where they are */
    int64_t mail, sums;    /* tiles: what warps exchange, always in shared memory */
};
/* What a layer keeps for its gradient, in the block's piece of global memory. */
struct step_kept {
    int64_t unit1, rstd1, qkv, lse, mixed, unit2, rstd2, active, stride; /* stride: from layer to layer */
};

/* Sizes and places, the same for all problems but those of rows. */
struct step_net {
    int dim, layers, head, inner, mlp, width, slots, inputs;
    bool learned, ruled;
    int64_t input_weight, input_bias, back2_weight; /* in the parameters, which are used as they are */
    int dinput, dinput_bias, dback2;                /* in a gradient */
    int n_matrices;
    const step_matrix *matrix; /* [layers * STEP_MATRICES + STEP_HEADS] */
};

/* One problem of a load, on the device. Rows of trajectories: [batch, ops] or [batch, devices]. */
struct step_problem {
    int ops, devices, batch, listed, walk, words;
    const int32_t *succ_ptr, *succ, *pred_ptr, *pred;
    const double *lag, *duration, *tail;
    const uint64_t *masks;
    uint8_t *seen;  /* masks as tiles have them (stepwise_tile_long.h); NULL: nobody asks for them */
    uint32_t *live; /* and which tiles have a bit */
    double work, unit, temperature;
    float sharpness; /* of all logits; 1 without a rule */
    float log_devices, heat[SKED_I_STEPWISE_HEAT];
    uint64_t seed, first;
    float *folded, *film,
        *warmth;          /* weights for this temperature; scales and shifts; the two hidden layers */
    step_tile *tiles;     /* the weights as tiles, instead; NULL: there are none */
    int32_t *op, *device; /* by step */
    int32_t *at, *on;     /* by op: the step that scheduled it (ops + 1: none yet), its device */
    int32_t *ready_at;    /* the first state in which it can be added */
    int32_t *gone_at;     /* the step that made it impossible to remove */
    int32_t *queue;       /* ops in the order they became ready; -1: not yet */
    int32_t *waits;
    double *start, *data, *noise;
    double *free_at;    /* by device */
    double *free_until; /* [batch, ops, devices] the same at every step; NULL: no gradient of a rule */
    int32_t *last;
    uint64_t *rng;                                 /* [batch, 4] */
    double *log_forward, *log_backward, *makespan; /* [batch] */
    int32_t *queued, *trouble;                     /* [batch]; trouble: 0, or 1 + step * 2 + kind */
    float *slope;                                  /* [batch] of the loss by log P_F - log P_B */
    sked_i_loss law;
    double *log_step, *value;          /* [batch * ops] PPO: log P_F as drawn; a step's share of the loss */
    double *loss;                      /* [STEP_LOSS_NUMBERS] */
    float *gradient, *folded_gradient; /* [total], [folded gradient] */
    int first_block, n_blocks;         /* of the gradient */
    int turn;                          /* the problem that is drawn at this one's turn: the longest first */
};
enum { STEP_NO_NUMBER, STEP_NOT_LEGAL };
enum { STEP_LOSS, STEP_CENTRE, STEP_NORM, STEP_SPEEDUP, STEP_PULL, STEP_SCALE, STEP_LOSS_NUMBERS };

/* One block's view of its memory and of one state; in shared memory itself. */
struct step_work {
    step_net z;
    step_problem p;
    step_kept keep;
    const float *parameter;
    step_matrix *matrix;
    float *x, *top, *narrow, *wide, *deep; /* as step_places says */
    float *kept;                           /* NULL: nothing is kept */
    float *start, *rstd, *back; /* [ops]: start of scheduled ops; of the heads; logits of removal */
    float *mean, *lse;          /* [ops * heads] gradient */
    const uint64_t *masks;      /* as in p */
    int32_t *state, *pick;      /* [ops]: bits and device; rows that the heads look at */
    int32_t count[2];           /* ops to add, ops that could be removed */
    int logit_ld;               /* of the logits of additions in wide */
    bool by_op;                 /* logits lie by op, not by picked row */
};
enum { STEP_IS_SCHEDULED = 1, STEP_IS_READY = 2, STEP_IS_REMOVABLE = 4, STEP_DEVICE_SHIFT = 3 };

/* Logits of the i-th op to add, by slot; of the i-th that could be removed. */
__device__ static inline float *step_slots(const step_work &w, int i)
{
    return w.wide + (int64_t)(w.by_op ? w.pick[i] : i) * w.logit_ld;
}
__device__ static inline float &step_removal(const step_work &w, int i)
{
    return w.back[w.by_op ? w.pick[w.count[0] + i] : i];
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
/* Columns [first, first + count) of a matrix as a right factor. */
__device__ static inline step_factor step_columns(const step_work &w, const step_matrix &m, int first,
                                                  int count)
{
    const float2 *at = (const float2 *)(w.p.folded + m.weight);
    return step_factor{at + (int64_t)first / 8 * (m.rows / 8) * SKED_STEP_WARP, count / 8, m.rows / 8,
                       m.rows / 8};
}
/* The transpose, of these columns of the matrix. */
__device__ static inline step_factor step_turned(const step_work &w, const step_matrix &m, int first,
                                                 int count)
{
    const float2 *at = (const float2 *)(w.p.folded + m.turned);
    return step_factor{at + (int64_t)first / 8 * SKED_STEP_WARP, m.rows / 8, count / 8, m.columns / 8};
}

__device__ static inline int step_wide_ld(const step_net &z)
{
    const int a = 3 * z.inner, b = z.slots + z.width, most = a > b ? a : b;
    return (most > z.mlp ? most : z.mlp) + SKED_STEP_PAD;
}

/* What every kernel of a load is given. */
struct step_load {
    step_net net;
    step_places places;
    step_kept keep;
    const step_problem *problem; /* [problems] */
    int problems;
    const float *parameter;
    float *scratch;       /* [blocks, stride] rows that shared memory does not hold, and what is kept */
    int64_t stride, kept; /* kept: where that begins in the piece of a block; -1: nothing is */
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
    w.keep = l.keep;
    w.parameter = l.parameter;
    w.matrix = (step_matrix *)small;
    w.x = step_place(l.places.x, shared, own);
    w.top = step_place(l.places.top, shared, own);
    w.narrow = step_place(l.places.narrow, shared, own);
    w.wide = step_place(l.places.wide, shared, own);
    w.deep = step_place(l.places.deep, shared, own);
    w.kept = l.kept >= 0 ? own + l.kept : NULL;
    small += table;
    w.start = small;
    w.rstd = small + n;
    w.back = small + 2 * n;
    w.state = (int32_t *)(small + 3 * n);
    w.pick = (int32_t *)(small + 4 * n);
    w.mean = small + 5 * n;
    w.lse = small + (5 + SKED_I_HEADS) * n;
    w.by_op = there.tiles != NULL;
    w.logit_ld = w.by_op ? l.net.slots : step_wide_ld(l.net);
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
    return bits & STEP_IS_SCHEDULED ? SKED_I_STEPWISE_FEATURES + (bits >> STEP_DEVICE_SHIFT) : -1;
}

/* x = features . weight + bias, in single precision: a handful of features, one of many devices. */
__device__ static void step_input(const step_work &w)
{
    const int dim = w.z.dim, ld = dim + SKED_STEP_PAD;
    const float *weight = w.parameter + w.z.input_weight, *bias = w.parameter + w.z.input_bias;
    for (int k = threadIdx.x; k < w.p.ops * dim; k += blockDim.x) {
        const int i = k / dim, c = k % dim, device = step_device_feature(w, i);
        float f[SKED_I_STEPWISE_FEATURES], sum = bias[c];
        step_features(w, i, f);
        for (int j = 0; j < SKED_I_STEPWISE_FEATURES; j++)
            sum += f[j] * weight[j * dim + c];
        w.x[i * ld + c] = device >= 0 ? sum + weight[device * dim + c] : sum;
    }
}

/* ------------------------------------------------------------------ rows */

__device__ static inline float step_warp_sum(float x)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_xor_sync(sked_step_all, x, by);
    return x;
}
__device__ static inline double step_warp_sum(double x)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_xor_sync(sked_step_all, x, by);
    return x;
}

/* Eight lanes take a row, four numbers at a time: sums over them in three exchanges. */
enum { SKED_STEP_LANES = 8 };
__device__ static inline float step_lanes_sum(float x)
{
    for (int by = SKED_STEP_LANES / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(sked_step_all, x, by);
    return x;
}
__device__ static inline float step_four(float4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}

/* Calls f(row, first column) for all rows; those behind the last come as -1, for all lanes must be there. */
template <class F> __device__ static inline void step_each_row(int rows, F f)
{
    const int side_by_side = blockDim.x / SKED_STEP_LANES, column = threadIdx.x % SKED_STEP_LANES * 4;
    for (int first = 0; first < rows; first += side_by_side) {
        const int r = first + threadIdx.x / SKED_STEP_LANES;
        f(r < rows ? r : -1, column);
    }
}

/* Rows of mean 0 and deviation 1, rounded; copy [rows, dim] may be NULL. */
__device__ __noinline__ static void step_unit(int rows, int dim, const float *x, float *y, float *rstd,
                                              float *copy)
{
    const int ld = dim + SKED_STEP_PAD, stride = 4 * SKED_STEP_LANES;
    step_each_row(rows, [=](int r, int column) {
        const float *row = x + (int64_t)r * ld;
        const int end = r >= 0 ? dim : 0;
        float sum = 0, square = 0;
        for (int c = column; c < end; c += stride)
            sum += step_four(*(const float4 *)(row + c));
        const float mean = step_lanes_sum(sum) / dim;
        for (int c = column; c < end; c += stride) {
            const float4 v = *(const float4 *)(row + c);
            const float4 d = {v.x - mean, v.y - mean, v.z - mean, v.w - mean};
            square += step_four(float4{d.x * d.x, d.y * d.y, d.z * d.z, d.w * d.w});
        }
        const float scale = 1 / sqrtf(step_lanes_sum(square) / dim + 1e-5f);
        for (int c = column; c < end; c += stride) {
            const float4 v = *(const float4 *)(row + c);
            const float4 out = {step_round((v.x - mean) * scale), step_round((v.y - mean) * scale),
                                step_round((v.z - mean) * scale), step_round((v.w - mean) * scale)};
            *(float4 *)(y + (int64_t)r * ld + c) = out;
            if (copy != NULL)
                *(float4 *)(copy + (int64_t)r * dim + c) = out;
        }
        if (column == 0 && r >= 0 && rstd != NULL)
            rstd[r] = scale;
    });
}

/* ------------------------------------------------------------------ attention */

/* The three parts of a row of queries, keys and values; queries may be of fewer rows than keys. */
struct step_attention {
    const float *qkv;
    int ld, rows;      /* rows: queries */
    const int32_t *op; /* [rows] NULL: all ops */
    int ops, words, head, inner;
    const uint64_t *masks;
    __device__ const float *query(int r, int h) const
    {
        return qkv + (r < rows ? r : rows - 1) * ld + h * head;
    }
    __device__ const float *key(int j, int h) const
    {
        return qkv + (j < ops ? j : ops - 1) * ld + inner + h * head;
    }
    __device__ const float *value(int j, int h) const
    {
        return key(j, h) + inner;
    }
    /* Which of the keys 64 word .. 64 word + 63 query r sees. */
    __device__ uint64_t sees(int r, int h, int word) const
    {
        return masks[(int64_t)(h * ops + (op != NULL ? op[r] : r)) * words + word];
    }
};

/* s += A . B over one head: rows a0, a1 of A by row b of B, as fragments. */
__device__ static inline void step_dots(int head, const float *a0, const float *a1, const float *b,
                                        float (&s)[4])
{
    const int t = threadIdx.x % 4;
    for (int k = t; k < head; k += 8) {
        const float a[4] = {a0[k], a1[k], a0[k + 4], a1[k + 4]};
        step_mma(s, a, float2{b[k], b[k + 4]});
    }
}

/* Running maximum and sum of a softmax, of rows g and g + 8. */
struct step_softmax {
    float top[2], sum[2];
};

/*
 * One head of 16 queries on the 64 keys of a word: scores, weights, and what they add to two tiles of
 * columns of the values. Tiles that no query sees are left out; every lane decides the same.
 */
__device__ static void step_attend_word(const step_attention &v, int h, int m, int word, int column,
                                        step_softmax &soft, float (&out)[2][4])
{
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4, head = v.head;
    const int r0 = m * 16 + g, r1 = r0 + 8, last = v.rows - 1;
    const uint64_t see[2] = {v.sees(r0 < last ? r0 : last, h, word), v.sees(r1 < last ? r1 : last, h, word)};
    float s[8][4] = {}, top[2] = {soft.top[0], soft.top[1]};
    unsigned live = 0;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        if (!__any_sync(sked_step_all, ((see[0] | see[1]) >> (8 * n) & 0xff) != 0))
            continue;
        live |= 1u << n;
        step_dots(head, v.query(r0, h), v.query(r1, h), v.key(word * 64 + n * 8 + g, h), s[n]);
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const bool seen = see[c / 2] >> (8 * n + 2 * t + c % 2) & 1;
            s[n][c] = seen ? s[n][c] : -CUDART_INF_F;
            top[c / 2] = fmaxf(top[c / 2], s[n][c]);
        }
    }
#pragma unroll
    for (int c = 0; c < 2; c++) {
        top[c] = step_quad_max(top[c]);
        const float shrink = soft.top[c] > -CUDART_INF_F ? __expf(soft.top[c] - top[c]) : 0;
        soft.sum[c] *= shrink;
#pragma unroll
        for (int o = 0; o < 2; o++) {
            out[o][2 * c] *= shrink;
            out[o][2 * c + 1] *= shrink;
        }
        soft.top[c] = top[c];
    }
#pragma unroll
    for (int n = 0; n < 8; n++) {
        if (!(live >> n & 1))
            continue;
#pragma unroll
        for (int c = 0; c < 4; c++) {
            s[n][c] = s[n][c] > -CUDART_INF_F ? __expf(s[n][c] - top[c / 2]) : 0;
            soft.sum[c / 2] += s[n][c];
        }
        const float a[4] = {step_round(s[n][0]), step_round(s[n][2]), step_round(s[n][1]),
                            step_round(s[n][3])};
        const float *b0 = v.value(word * 64 + n * 8 + 2 * t, h),
                    *b1 = v.value(word * 64 + n * 8 + 2 * t + 1, h);
#pragma unroll
        for (int o = 0; o < 2; o++)
            if (column + 8 * o < head)
                step_mma(out[o], a, float2{b0[column + 8 * o + g], b1[column + 8 * o + g]});
    }
}

/* One head of 16 queries: their rows of `mixed`, and the log of each softmax's sum (NULL: not wanted). */
__device__ static void step_attend_tile(const step_attention &v, int h, int m, step_rows mixed, float *copy,
                                        float *lse)
{
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4, head = v.head;
    for (int column = 0; column < head; column += 16) {
        step_softmax soft = {{-CUDART_INF_F, -CUDART_INF_F}, {0, 0}};
        float out[2][4] = {};
        for (int word = 0; word < v.words; word++)
            step_attend_word(v, h, m, word, column, soft, out);
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int r = m * 16 + g + 8 * c;
            const float sum = step_quad_sum(soft.sum[c]);
            if (r >= v.rows)
                continue;
#pragma unroll
            for (int o = 0; o < 2; o++) {
                if (column + 8 * o >= head)
                    continue;
                const int at = h * head + column + 8 * o + 2 * t;
                const float2 y = {step_round(out[o][2 * c] / sum), step_round(out[o][2 * c + 1] / sum)};
                *(float2 *)(mixed[r] + at) = y;
                if (copy != NULL)
                    *(float2 *)(copy + (int64_t)r * v.inner + at) = y;
            }
            if (lse != NULL && t == 0)
                lse[r * SKED_I_HEADS + h] = soft.top[c] + logf(sum);
        }
    }
}

struct step_attend_call {
    step_attention v;
    step_rows mixed;
    float *copy, *lse;
};
template <bool INSIDE> __device__ static inline void step_attend_tiles(const step_attend_call &call)
{
    step_attend_call c = call;
    const int warps = blockDim.x / SKED_STEP_WARP;
    c.v.qkv = step_inside<INSIDE>(c.v.qkv);
    for (int k = threadIdx.x / SKED_STEP_WARP; k < (c.v.rows + 15) / 16 * SKED_I_HEADS; k += warps)
        step_attend_tile(c.v, k % SKED_I_HEADS, k / SKED_I_HEADS, c.mixed, c.copy, c.lse);
}
__device__ __noinline__ static void step_attend_run(const step_attend_call &call)
{
    if (step_is_inside(call.v.qkv))
        step_attend_tiles<true>(call);
    else
        step_attend_tiles<false>(call);
}

/* ------------------------------------------------------------------ the network */

__device__ static inline float *step_keep(const step_work &w, int layer, int64_t at)
{
    return w.kept != NULL ? w.kept + layer * w.keep.stride + at : NULL;
}

__device__ static inline step_attention step_attention_of(const step_work &w, int rows, const int32_t *pick)
{
    return step_attention{w.wide,    step_wide_ld(w.z), rows,      pick,   w.p.ops,
                          w.p.words, w.z.head,          w.z.inner, w.masks};
}

/* Queries, keys and values of a layer from u: of the picked rows only in the last one. */
__device__ static void step_project(const step_work &w, int layer, float *u, int rows, const int32_t *pick)
{
    const step_net &z = w.z;
    const step_matrix m = step_layer_matrix(w, layer, STEP_QKV);
    const float *bias = w.p.folded + m.bias;
    const int ld = step_wide_ld(z), n = w.p.ops, first = pick != NULL ? z.inner : 0;
    float *copy = step_keep(w, layer, w.keep.qkv);
    step_ending e = {};
    e.round = true;
    e.copy_ld = 3 * z.inner;
    e.to = step_rows{w.wide + first, ld, NULL, n};
    e.bias = bias + first;
    e.copy = copy != NULL ? copy + first : NULL;
    step_product(step_all_rows(u, z.dim, n), step_columns(w, m, first, 3 * z.inner - first), e);
    if (pick == NULL)
        return;
    e.to = step_rows{w.wide, ld, NULL, rows};
    e.bias = bias;
    e.copy = copy;
    step_product(step_picked_rows(u, z.dim, pick, rows), step_columns(w, m, 0, z.inner), e);
}

/* One layer: from x to x, or in the last one to top, the picked rows. u: [ops, dim]; deep: [ops, ...]. */
__device__ __noinline__ static void step_layer_forward(const step_work &w, int layer, float *u)
{
    const step_net &z = w.z;
    const bool last = layer == z.layers - 1;
    const int n = w.p.ops, rows = last ? w.count[0] + w.count[1] : n;
    const int32_t *pick = last ? w.pick : NULL;
    float *y = last ? w.top : w.x, *scale1 = step_keep(w, layer, w.keep.rstd1);
    const step_rows out = step_all_rows(y, z.dim, rows);
    step_unit(n, z.dim, w.x, u, scale1, step_keep(w, layer, w.keep.unit1));
    __syncthreads();
    step_project(w, layer, u, rows, pick);
    __syncthreads();
    const step_rows mixed = step_all_rows(w.deep, z.inner, rows);
    step_attend_run(
        step_hand_over(step_attend_call{step_attention_of(w, rows, pick), mixed,
                                        step_keep(w, layer, w.keep.mixed), step_keep(w, layer, w.keep.lse)}));
    __syncthreads();
    const step_matrix merge = step_layer_matrix(w, layer, STEP_MERGE);
    step_ending e = {};
    e.to = out;
    e.bias = w.p.folded + merge.bias;
    e.onto = step_picked_rows(w.x, z.dim, pick, rows);
    step_product(mixed, step_columns(w, merge, 0, z.dim), e);
    __syncthreads();
    step_unit(rows, z.dim, y, u, step_keep(w, layer, w.keep.rstd2), step_keep(w, layer, w.keep.unit2));
    __syncthreads();
    const step_matrix mlp1 = step_layer_matrix(w, layer, STEP_MLP1),
                      mlp2 = step_layer_matrix(w, layer, STEP_MLP2);
    step_ending hidden = {};
    hidden.to = step_all_rows(w.deep, z.mlp, rows);
    hidden.bias = w.p.folded + mlp1.bias;
    hidden.copy = step_keep(w, layer, w.keep.active);
    hidden.copy_ld = z.mlp;
    hidden.relu = hidden.round = true;
    step_product(step_all_rows(u, z.dim, rows), step_columns(w, mlp1, 0, z.mlp), hidden);
    __syncthreads();
    e.bias = w.p.folded + mlp2.bias;
    e.onto = out;
    step_product(hidden.to, step_columns(w, mlp2, 0, z.dim), e);
    __syncthreads();
}

/* Logits of the picked rows: [forward, slots] in wide, back in w.back. u gets the rows, deep the MLPs'. */
__device__ __noinline__ static void step_heads_forward(const step_work &w, float *u)
{
    const step_net &z = w.z;
    const int forward = w.count[0], back = w.count[1], lane = threadIdx.x % SKED_STEP_WARP;
    const int ld = z.width + SKED_STEP_PAD;
    step_unit(forward + back, z.dim, w.top, u, w.rstd, NULL);
    __syncthreads();
    step_ending e = {};
    e.relu = e.round = true;
    for (int side = 0; side < 2; side++) {
        const int first = side == 0 ? 0 : forward, count = side == 0 ? forward : back;
        if (count == 0)
            continue;
        const step_matrix m = step_head_matrix(w, side == 0 ? STEP_FORWARD1 : STEP_BACK1);
        e.to = step_all_rows(w.deep + (int64_t)first * ld, z.width, count);
        e.bias = w.p.folded + m.bias;
        step_product(step_all_rows(u + (int64_t)first * (z.dim + SKED_STEP_PAD), z.dim, count),
                     step_columns(w, m, 0, z.width), e);
    }
    __syncthreads();
    if (forward > 0) {
        const step_matrix m = step_head_matrix(w, STEP_FORWARD2);
        step_ending logits = {};
        logits.to = step_rows{w.wide, step_wide_ld(z), NULL, forward};
        logits.bias = w.p.folded + m.bias;
        step_product(step_all_rows(w.deep, z.width, forward), step_columns(w, m, 0, z.slots), logits);
    }
    for (int r = threadIdx.x / SKED_STEP_WARP; r < back; r += blockDim.x / SKED_STEP_WARP) {
        float sum = 0;
        for (int c = lane; c < z.width; c += SKED_STEP_WARP)
            sum += w.deep[(int64_t)(forward + r) * ld + c] * w.parameter[z.back2_weight + c];
        sum = step_warp_sum(sum);
        if (lane == 0)
            w.back[r] = sum;
    }
    __syncthreads();
}

/* From the state to the logits; w.count is there, and not 0. */
__device__ static void step_forward(const step_work &w, float *u)
{
    step_input(w);
    __syncthreads();
    for (int layer = 0; layer < w.z.layers; layer++)
        step_layer_forward(w, layer, u);
    step_heads_forward(w, u);
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
    return top + log(step_warp_sum(sum));
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
