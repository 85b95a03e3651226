/* The state of a walk, and what all its steps use: reductions, products, random numbers. gflownet_walk.cu
 * says how. */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_WALK_H
#define SKED_BACKEND_CUDA_GFLOWNET_WALK_H
#include "backend/cuda/gflownet_once.h"
#include "backend/cuda/rng_cuda.h"

#define FULL 0xffffffffu

/* Rows and steps in global memory: of the problem, and of this trajectory. */
struct walk_far {
    const float *scale, *op_rows, *wait_rows, *last_rows, *empty, *empty_part, *direct;
    const float *wait_feature, *last_feature;
    int32_t *op, *device_step;
    float *dop, *dwait, *dlast;
};

/* Pointers to the pieces of this trajectory. */
struct walk {
    const once_model *m;
    const once_lesson *x;
    int32_t lesson, number, k, threads, warps;
    bool inside;                               /* weights and all pieces that count are in shared memory */
    bool pairs_outside;                        /* sum_pair is in global memory */
    bool transfers, equal;                     /* data takes time to arrive; one kind of devices */
    const float *state_weight, *device_weight; /* inside: in shared memory, rows ONCE_STRIDE apart */
    const walk_far *far;
#define X(name, type, numbers) type *name;
    ONCE_PIECES(X)
#undef X
    static constexpr int32_t c = ONCE_WIDE, w = ONCE_WIDE;
};

__device__ static inline int lane_id()
{
    return (int)threadIdx.x & (WARP - 1);
}
__device__ static inline int warp_id()
{
    return (int)threadIdx.x / WARP;
}
__device__ static inline double later(double a, double b)
{
    return a > b ? a : b;
}
__device__ static inline float positive(float x)
{
    return x > 0 ? x : 0;
}

/*
 * Loops over what threads, warps or the lanes of a warp share out. Most have one turn: unrolled, the code of
 * a step would be twice as long, and no faster.
 */
#define EACH(i, begin, end, by) _Pragma("unroll 1") for (int32_t i = (begin); i < (end); i += (by))
#define EACH_THREAD(i, end)     EACH(i, (int32_t)threadIdx.x, end, w.threads)
/* The same beginning with a later thread, while the first warps do something else. */
#define EACH_THREAD_FROM(i, end, first) \
    EACH(i, ((int32_t)threadIdx.x + w.threads - (first)) % w.threads, end, w.threads)
#define EACH_WARP(i, end) EACH(i, warp_id(), end, w.warps)
#define EACH_LANE(i, end) EACH(i, lane_id(), end, WARP)
/* The same with all lanes in every turn. */
#define EACH_LANE_TOGETHER(i, end) \
    _Pragma("unroll 1") for (int32_t i = lane_id(); i - lane_id() < (end); i += WARP)

/*
 * Adds to a sum in global memory without waiting for it. Only one thread adds to a number between two
 * barriers, so that the order is the same every time.
 */
__device__ static inline void add_to(float *at, float x)
{
#ifdef __CUDA_ARCH__ /* atomicAdd would ask at run time whether this is shared memory */
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "f"(x)
                 : "memory");
#else
    atomicAdd(at, x);
#endif
}

/* Two neighbours at once, at a multiple of 8 bytes. */
__device__ static inline void add_two(float *at, float2 x)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(at)),
                 "f"(x.x), "f"(x.y)
                 : "memory");
#else
    add_to(at, x.x);
    add_to(at + 1, x.y);
#endif
}

/* ------------------------------------------------------------------ barriers */

/* All threads of this walk: a row of the block. */
__device__ static inline void barrier()
{
#ifdef __CUDACC__
    asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.y), "r"(blockDim.x) : "memory");
#else
    sked_emulate::sync_row();
#endif
}
/* The same, and for how many of them `in` holds. */
__device__ static inline int32_t barrier_count(bool in)
{
#ifdef __CUDACC__
    int32_t count;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\tbar.red.popc.u32 %0, %1, %2, p;\n\t}"
                 : "=r"(count)
                 : "r"(1 + threadIdx.y), "r"(blockDim.x), "r"((unsigned)in)
                 : "memory");
    return count;
#else
    return sked_emulate::count_row(in);
#endif
}

/* ------------------------------------------------------------------ reductions */

/* The least of one number and the most of two others over the lanes, at once: none waits for another. */
__device__ static void warp_extremes(double *least, double *most, double *also)
{
#pragma unroll
    for (int by = WARP / 2; by > 0; by /= 2) {
        const double a = __shfl_xor_sync(FULL, *least, by), c = __shfl_xor_sync(FULL, *most, by),
                     d = __shfl_xor_sync(FULL, *also, by);
        *least = a < *least ? a : *least;
        *most = later(*most, c);
        *also = later(*also, d);
    }
}
/* Sum j of four over the lanes, j = (lane / 16) * 2 + (lane / 8) % 2; six exchanges in the place of twenty.
 */
__device__ static float sum_four(const float *s)
{
    const int lane = lane_id();
    const bool high = lane & 16, middle = lane & 8;
    const float first = (high ? s[2] : s[0]) + __shfl_xor_sync(FULL, high ? s[0] : s[2], 16);
    const float second = (high ? s[3] : s[1]) + __shfl_xor_sync(FULL, high ? s[1] : s[3], 16);
    float sum = (middle ? second : first) + __shfl_xor_sync(FULL, middle ? first : second, 8);
    for (int by = 4; by > 0; by /= 2)
        sum += __shfl_xor_sync(FULL, sum, by);
    return sum;
}

/* ------------------------------------------------------------------ products of rows and matrices */

/* Where the share of warp `of` in column c of a product is: what has more columns goes on in the next slot.
 */
__device__ static inline float *share_at(const walk &w, int slot, int of, int c)
{
    return w.partial + ((slot + c / ONCE_WIDE) * w.warps + of) * ONCE_WIDE + c % ONCE_WIDE;
}

/* The share of this warp in x[rows] m[rows, columns]; `product` adds the shares after a barrier. */
__device__ static void multiply(const walk &w, int slot, const float *x, const float *m, int rows,
                                int columns)
{
    for (int c = 2 * lane_id(); c < columns; c += 2 * WARP) {
        float2 sum = make_float2(0, 0);
#pragma unroll 8
        for (int k = warp_id(); k < rows; k += w.warps) {
            const float2 v = *(const float2 *)(m + (int64_t)k * columns + c);
            sum.x += x[k] * v.x;
            sum.y += x[k] * v.y;
        }
        *(float2 *)share_at(w, slot, warp_id(), c) = sum;
    }
}

/* The same, and in the same order, of a weight in shared memory. */
__device__ static void multiply_inside(const walk &w, int slot, const float *x, const float *m, int rows)
{
    const float *mine = m + lane_id();
    float low = 0, high = 0;
#pragma unroll 8
    for (int k = warp_id(); k < rows; k += w.warps) {
        low += x[k] * mine[k * ONCE_STRIDE];
        high += x[k] * mine[k * ONCE_STRIDE + WARP];
    }
    *share_at(w, slot, warp_id(), lane_id()) = low;
    *share_at(w, slot, warp_id(), lane_id() + WARP) = high;
}
/* And of its transpose, with `columns` numbers. */
template <int columns>
__device__ static void multiply_turned(const walk &w, int slot, const float *x, const float *m)
{
    const float *mine = m + lane_id() * ONCE_STRIDE;
    float sum[columns / WARP] = {};
#pragma unroll 4
    for (int k = warp_id(); k < ONCE_WIDE; k += w.warps)
#pragma unroll
        for (int r = 0; r < columns / WARP; r++)
            sum[r] += x[k] * mine[r * WARP * ONCE_STRIDE + k];
#pragma unroll
    for (int r = 0; r < columns / WARP; r++)
        *share_at(w, slot, warp_id(), lane_id() + r * WARP) = sum[r];
}

/* Products with the weights of the state and of a device, and the way back. */
__device__ static void times_state(const walk &w, int slot, const float *x)
{
    if (w.inside)
        multiply_inside(w, slot, x, w.state_weight, ONCE_STATES);
    else
        multiply(w, slot, x, w.state_weight, ONCE_STATES, w.w);
}
__device__ static void times_device(const walk &w, int slot, const float *x)
{
    if (w.inside)
        multiply_inside(w, slot, x, w.device_weight, ONCE_WIDE);
    else
        multiply(w, slot, x, w.device_weight, w.c, w.w);
}
__device__ static void state_back(const walk &w, int slot, const float *dy)
{
    if (w.inside)
        multiply_turned<2 * ONCE_WIDE>(w, slot, dy, w.state_weight);
    else
        multiply(w, slot, dy, w.m->state_turned, w.w, 2 * w.c);
}
__device__ static void devices_back(const walk &w, int slot, const float *dy)
{
    if (w.inside)
        multiply_turned<ONCE_WIDE>(w, slot, dy, w.device_weight);
    else
        multiply(w, slot, dy, w.m->device_turned, w.w, w.c);
}

__device__ static float product(const walk &w, int slot, int c)
{
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < w.warps; k++)
        sum += *share_at(w, slot, k, c);
    return sum;
}

/* ------------------------------------------------------------------ the partial schedule */

__device__ static inline double time_of(const walk &w, int32_t op, int32_t column)
{
    return w.equal ? w.x->time[op] : w.x->time[(int64_t)op * w.x->kinds + w.x->kind_of[column]];
}
__device__ static inline double data_at(const walk &w, int32_t op, int32_t column)
{
    return w.transfers ? w.arrive[(int64_t)op * w.k + column] : w.ready_time[op];
}
__device__ static inline bool listed(const walk &w)
{
    return !w.x->replay && w.number < w.x->listed;
}

/* Ops that wait for nothing, in ascending order; warp 0. */
__device__ static void first_ready(const walk &w)
{
    int32_t ready = 0;
    EACH_LANE_TOGETHER(i, w.x->n) {
        const bool now = i < w.x->n && w.x->waits[i] == 0;
        const unsigned set = __ballot_sync(FULL, now);
        if (now)
            w.ready[ready + __popc(set & ((1u << lane_id()) - 1))] = i;
        ready += __popc(set);
    }
    if (lane_id() == 0)
        w.head->n_ready = ready;
}

/* Gumbel noise on the tails, as sked_i_partial_draw_noise; and how many devices are opened. Thread 0 draws.
 */
__device__ static void begin_list(const walk &w)
{
    const once_lesson *x = w.x;
    if (threadIdx.x == 0) {
        uint64_t *rng = w.head->rng;
        const double most = 4 * x->unit < 0.1 ? 4 * x->unit : 0.1;
        w.reduce[0] = most * rng_uniform(rng);
        EACH(i, 0, x->n, 1)
            w.noise[i] = (double)((rng_next(rng) >> 12) + 1) * 0x1.0p-53;
        if ((w.transfers || !w.equal) && rng_uniform(rng) < 0.5)
            w.head->most = 1 + (int32_t)rng_below(rng, (uint64_t)x->columns);
    }
    barrier();
    EACH_THREAD(i, x->n)
        w.noise[i] = x->tail[i] - w.reduce[0] * log(-log(w.noise[i]));
}

/* One thread of a warp draws the random number of a choice before it is wanted. */
__device__ static void draw_chance(const walk &w)
{
    if (lane_id() == 0)
        w.head->chance = rng_uniform(w.head->rng);
}

template <class T> __device__ static void fill(const walk &w, T *at, int64_t count, T value)
{
#pragma unroll 1
    for (int64_t i = (int32_t)threadIdx.x; i < count; i += w.threads)
        at[i] = value;
}

template <bool grad> __device__ static void reset(const walk &w)
{
    const once_lesson *x = w.x;
    const int64_t n = x->n, k = w.k;
    if (threadIdx.x == 0) {
        walk_head h = {};
        h.work_left = x->work;
        h.left = x->n;
        h.most = x->columns;
        rng_seed(h.rng, x->seed, x->first + (uint64_t)w.number);
        *w.head = h;
    }
    fill(w, w.ready_time, n, 0.0);
    fill(w, w.device_of, n, (int32_t)-1);
    fill(w, w.followed, n, (uint8_t)0);
    fill(w, w.free_at, k, 0.0);
    fill(w, w.last, k, (int32_t)-1);
    fill(w, w.opened, x->kinds, (int32_t)0);
    fill(w, w.arrive, w.transfers ? n * k : 0, 0.0);
    fill(w, w.local, w.transfers ? n * k : 0, 0.0);
    fill(w, w.sum_device, w.c, 0.0f);
    EACH_THREAD(i, n)
        w.waits[i] = x->waits[i];
    const float *pair = w.m->parameter + w.m->shape.pair_weight, *out = w.m->out + (int64_t)w.lesson * w.w;
    EACH_THREAD(i, PAIR * w.w)
        w.pair[i] = pair[i] * w.far->scale[i % w.w];
    EACH_THREAD(i, w.w)
        w.out[i] = out[i];
    EACH_THREAD(i, w.c)
        w.sum_wait[i] = w.m->first_sum[(int64_t)w.lesson * w.c + i];
    if (grad) {
        fill(w, w.total_wait, w.c, 0.0f);
        fill(w, w.total_device, w.c, 0.0f);
        fill(w, w.sum_direct, DIRECT, 0.0f);
        fill(w, w.sum_empty, w.c, 0.0f);
        fill(w, w.sum_empty_part, w.w, 0.0f);
        fill(w, w.sum_wait_feature, SKED_I_WAIT_FEATURES * w.c, 0.0f);
        fill(w, w.sum_last_feature, SKED_I_LAST_FEATURES * w.c, 0.0f);
        fill(w, w.sum_pair, (int64_t)(PAIR + 1) * w.warps * w.w, 0.0f);
    }
    barrier();
    if (warp_id() == 0)
        first_ready(w);
    if (listed(w))
        begin_list(w);
    barrier();
}
#endif
