/*
 * Trajectories of the encode-once policy: one thread block builds one schedule, step by step, in one launch
 * (or in several of so many steps, with the state put aside in between). The same steps in the same order as
 * src/method/gflownet/once_walk.c, with the same random numbers; times are doubles as there.
 *
 * Lanes of a warp own columns of a row, two each; warps share out ops or the terms of a product. What a step
 * costs is the latency of about a dozen barriers and of one pass over the scored pairs.
 *
 * With gradients the walk also writes d (log P_F - log P_B) of this trajectory: rows of ops and small weights
 * as sums, the large weights as rows whose products are taken afterwards over all trajectories. The slope of
 * the loss comes in there, so that one walk draws and learns. PPO and credit by steps give every step a slope
 * of its own, which depends on all trajectories: those are drawn first, and walked again.
 */
#include "backend/cuda/gflownet_walk_append.h"
#include "backend/cuda/gflownet_walk_score.h"

/* Blocks of 128 threads that share a multiprocessor at least: registers are cut to that. Measured on an H200.
 */
enum { SIDE_BY_SIDE = 4, SIDE_BY_SIDE_GRAD = 5 };

/* ------------------------------------------------------------------ the whole */

template <bool grad> __device__ static void take_step(const walk &w)
{
    evaluate<grad>(w);
    choice c = {};
    if (warp_id() == 0)
        c = decide<grad>(w);
    if (!grad && threadIdx.x == 0 && w.head->status == GPU_WALK_OK)
        take_choice<grad>(w, c);
    barrier();
    if (w.head->status != GPU_WALK_OK)
        return;
    if (grad && threadIdx.x == 0)
        take_choice<grad>(w, c);
    if (grad)
        step_grad(w);
    append<grad>(w);
}

/* Versions that live to the end, and the sums of this trajectory. */
__device__ static void finish_grad(const walk &w)
{
    const once_small &at = w.m->at;
    float *small = w.x->small + (int64_t)w.number * at.small;
    EACH_THREAD(k, w.head->n_used) {
        const int32_t q = w.used[k];
        walk_change t = {q, w.last[q], -1, {}, {}};
        for (int j = 0; j < SKED_I_LAST_FEATURES; j++)
            t.before[j] = w.device_feature[3 * (int64_t)q + j];
        w.changed[k] = t;
    }
    if (threadIdx.x == 0)
        w.head->n_changed = w.head->n_used;
    barrier();
    end_rows(w);
    barrier();
    end_devices(w);
    barrier();
    EACH_THREAD(i, (PAIR + 1) * w.w) {
        float sum = 0;
        for (int k = 0; k < w.warps; k++)
            sum += *(volatile const float *)&w.sum_pair[(int64_t)k * (PAIR + 1) * w.w + i]; /* past a cache */
        small[at.pair + i] = sum; /* pair, then out */
    }
#define COPY(name, count)                                               \
    for (int32_t i = (int32_t)threadIdx.x; i < (count); i += w.threads) \
        small[at.name + i] = w.sum_##name[i];
    COPY(direct, DIRECT)
    COPY(wait_feature, SKED_I_WAIT_FEATURES * w.c)
    COPY(last_feature, SKED_I_LAST_FEATURES * w.c)
    COPY(empty, w.c)
    COPY(empty_part, w.w)
#undef COPY
    if (threadIdx.x == 0)
        w.m->n_versions[w.x->first_walk + w.number] = w.head->n_versions;
}

/* Where pieces before `free_at`, whose sizes the problem does not change, are known when the code is
 * compiled. */
template <bool with_grad, int threads> struct piece_at {
    enum : int32_t {
        c = ONCE_WIDE,
        w = ONCE_WIDE,
        t = threads / WARP,
        grad = with_grad,
        n = 0,
        k = 0,
        g = 0,
        d = 0,
        p = 0,
        moves = 0,
    };
    enum : int32_t {
        before = -1,
#define X(name, type, numbers) \
    name, name##_end = name + (int32_t)(((int64_t)sizeof(type) * (numbers) + 15) / 16 * 16) - 1,
        ONCE_PIECES(X)
#undef X
    };
};

template <bool grad, bool inside, int threads> __device__ static void bind_pieces(walk &w, char *shared)
{
    const once_model *m = w.m;
    char *global = w.x->global + (int64_t)w.number * m->layout.stride;
#define X(name, type, numbers)                                                                             \
    w.name =                                                                                               \
        (type *)(inside && ONCE_PIECE_##name < ONCE_PIECE_free_at ? shared + piece_at<grad, threads>::name \
                 : (inside && ONCE_PIECE_##name <= ONCE_LAST_INSIDE) ||                                    \
                         m->layout.offset[ONCE_PIECE_##name] >= 0                                          \
                     ? shared + m->layout.offset[ONCE_PIECE_##name]                                        \
                     : global + 16 * (int64_t)(-1 - m->layout.offset[ONCE_PIECE_##name]));
    ONCE_PIECES(X)
#undef X
}

template <bool grad, bool inside, int threads>
__device__ static void bind(walk &w, const once_model *m, const once_lesson *x, int32_t lesson, int32_t block,
                            const float *weights, char *shared)
{
    const sked_i_gpu_shape &s = m->shape;
    w.m = m;
    w.x = x;
    w.lesson = lesson;
    w.number = block - x->first_walk;
    w.k = x->columns;
    w.threads = threads;
    w.warps = threads / WARP;
    w.inside = inside;
    w.pairs_outside = m->layout.offset[ONCE_PIECE_sum_pair] < 0;
    w.transfers = x->transfers;
    w.equal = x->kinds == 1;
    w.state_weight = inside ? weights : m->parameter + s.state_weight;
    w.device_weight = inside ? weights + ONCE_STATES * ONCE_STRIDE : m->parameter + s.device_weight;
    bind_pieces<grad, inside, threads>(w, shared);
}

__device__ static void find_rows(const walk &w, walk_far *far)
{
    far->scale = w.m->scale + (int64_t)w.lesson * w.w;
    far->op_rows = w.m->op + (int64_t)w.x->first_row * w.w;
    far->wait_rows = w.m->wait + (int64_t)w.x->first_row * w.c;
    far->last_rows = w.m->last + (int64_t)w.x->first_row * w.c;
    far->empty = w.m->empty + (int64_t)w.lesson * w.c;
    far->empty_part = w.m->empty_part + (int64_t)w.lesson * w.w;
    far->direct = w.m->direct + (int64_t)w.lesson * DIRECT;
    far->wait_feature = w.m->parameter + w.m->shape.wait_feature;
    far->last_feature = w.m->parameter + w.m->shape.last_feature;
    far->op = w.x->op + (int64_t)w.number * w.x->n;
    far->device_step = w.x->device + (int64_t)w.number * w.x->n;
    far->dop = w.x->dop + (int64_t)w.number * w.x->n * w.w;
    far->dwait = w.x->dwait + (int64_t)w.number * w.x->n * w.c;
    far->dlast = w.x->dlast + (int64_t)w.number * w.x->n * w.c;
}

__device__ static void copy_state(const walk &w, int4 *to, const int4 *from, int32_t bytes)
{
    EACH_THREAD(i, bytes / 16)
        to[i] = from[i];
    barrier();
}

/* A zero that the compiler does not know. */
__device__ static inline uint32_t hidden_zero()
{
    uint32_t zero = 0;
#ifdef __CUDACC__
    asm volatile("mov.u32 %0, 0;" : "=r"(zero));
#endif
    return zero;
}

/*
 * One step. Where walks share a block registers are few: where the pieces are is worked out anew in every
 * step, so that it need not be kept (and spilled) through all of them.
 */
template <bool grad, bool inside, int threads> __device__ static void make_step(const walk &w, char *shared)
{
    if (!inside || threads > ONCE_FEWER) {
        take_step<grad>(w);
    } else {
        walk now = w;
        bind_pieces<grad, inside, threads>(now, shared + hidden_zero());
        take_step<grad>(now);
    }
}

/* Steps from `from` up to `until` of a trajectory. */
template <bool grad, bool inside, int threads>
__device__ static void run(const walk &w, const once_model &m, char *shared, int32_t from, int32_t until)
{
    const once_lesson *x = w.x;
    const int32_t bytes = m.layout.shared_bytes;
    if (x->n < from || (x->n == from && from > 0))
        return; /* complete */
    int4 *saved = (int4 *)(x->saved + (int64_t)w.number * bytes);
    if (from > 0)
        copy_state(w, (int4 *)shared, saved, bytes);
    else
        reset<grad>(w);
    if (from == 0 && warp_id() == 0 && few_choices(w))
        list_choices(w);
    if (from == 0 && warp_id() == 1)
        draw_chance(w);
    barrier();
    while (w.head->step < until && w.head->left > 0 && w.head->status == GPU_WALK_OK)
        make_step<grad, inside, threads>(w, shared);
    barrier();
    if (w.head->left > 0 && x->saved != NULL)
        copy_state(w, saved, (const int4 *)shared, bytes);
    if (grad && w.head->left == 0)
        finish_grad(w);
    if (threadIdx.x == 0) {
        const int32_t block = x->first_walk + w.number;
        m.log_forward[block] = w.head->log_forward;
        m.log_backward[block] = w.head->log_backward;
        m.makespan[block] = w.head->left == 0 ? w.head->makespan : CUDART_NAN;
        m.status[block] = w.head->status | w.head->step << 8;
        if (grad)
            m.value[block] = w.head->value;
        if (!grad && x->outlook != NULL && w.head->left == 0 && x->n > 0)
            x->outlook[(int64_t)(w.number + 1) * x->n - 1] = w.head->makespan;
    }
}

/* The weights that lie in shared memory for all walks of a block. */
__device__ static void load_shared(const once_model &m, float *weights)
{
    const float *state = m.parameter + m.shape.state_weight, *device = m.parameter + m.shape.device_weight;
    const int32_t by = (int32_t)(blockDim.x * blockDim.y), states = ONCE_STATES * ONCE_WIDE;
    for (int32_t i = (int32_t)(threadIdx.y * blockDim.x + threadIdx.x); i < states + ONCE_WIDE * ONCE_WIDE;
         i += by)
        weights[i / ONCE_WIDE * ONCE_STRIDE + i % ONCE_WIDE] = i < states ? state[i] : device[i - states];
    __syncthreads();
}

/*
 * The walk that row `row` of this block takes in its turn `turn`; those of the last turn are spread over all
 * blocks, those before go to one block in their order, so that they share what is in its cache.
 */
__device__ static inline int64_t walk_of(const once_model &m, int32_t turn, int32_t row)
{
    const int64_t rows = blockDim.y, at_once = gridDim.x * rows, first = turn * at_once;
    return first + at_once <= m.walks ? first + blockIdx.x * rows + row
                                      : first + row * gridDim.x + blockIdx.x;
}

__device__ static inline void copy_lesson(once_lesson *to, const once_lesson *from, int32_t threads)
{
    EACH(i, (int32_t)threadIdx.x, (int32_t)(sizeof *to / 4), threads)
        ((int32_t *)to)[i] = ((const int32_t *)from)[i];
}

/*
 * A row of a block's threads a trajectory. Where all is inside every thread has the pointers of the walk for
 * itself; they are then numbers of the launch, known to be in shared memory, and no load. Otherwise they lie
 * in shared memory for all. So do those to global memory where walks share a block: registers are few.
 */
template <bool grad, bool inside, int threads>
__global__ static void
__launch_bounds__(inside &&threads == ONCE_FEWER ? threads * (grad ? ONCE_SIDE_GRAD : ONCE_SIDE) : threads,
                  inside ? 1
                  : grad ? SIDE_BY_SIDE_GRAD
                         : SIDE_BY_SIDE)
    walk_kernel(const __grid_constant__ once_model m, int32_t from, int32_t until)
{
    SKED_CHAIN();
    SKED_DYNAMIC_SHARED(char, shared);
    __shared__ once_lesson lessons[!inside || threads > ONCE_FEWER ? 1 : grad ? ONCE_SIDE_GRAD : ONCE_SIDE];
    __shared__ walk_far rows[sizeof lessons / sizeof *lessons];
    once_lesson *here = &lessons[threadIdx.y]; /* its numbers and pointers are read at every turn */
    walk_far *far = &rows[threadIdx.y], own;
    const float *weights = (const float *)shared;
    if (inside) {
        load_shared(m, (float *)shared);
        shared += ONCE_WEIGHTS + threadIdx.y * m.layout.shared_bytes;
    }
    for (int32_t turn = 0;; turn++) {
        const int64_t block = walk_of(m, turn, (int32_t)threadIdx.y);
        if (block >= m.walks)
            return;
        const int32_t lesson = m.walk_lesson[block];
        copy_lesson(here, &m.lesson[lesson], threads);
        if (inside) {
            walk w;
            barrier();
            bind<grad, inside, threads>(w, &m, here, lesson, (int32_t)block, weights, shared);
            if (threads > ONCE_FEWER || threadIdx.x == 0)
                find_rows(w, threads > ONCE_FEWER ? &own : far);
            w.far = threads > ONCE_FEWER ? &own : far;
            barrier();
            run<grad, inside, threads>(w, m, shared, from, until);
            barrier();
        } else {
            __shared__ walk w;
            barrier();
            if (threadIdx.x == 0) {
                bind<grad, inside, threads>(w, &m, here, lesson, (int32_t)block, NULL, shared);
                find_rows(w, far);
                w.far = far;
            }
            barrier();
            run<grad, inside, threads>(w, m, shared, from, until);
            barrier();
        }
    }
}

void once_walk_launch(const once_model *m, int32_t threads, bool grad, int32_t from, int32_t until,
                      cudaStream_t stream)
{
    const once_layout *at = &m->layout;
    const unsigned blocks = (unsigned)(at->inside ? at->blocks : m->walks), side = at->inside ? at->side : 1;
    const size_t shared = (size_t)at->shared_bytes * side + (at->inside ? ONCE_WEIGHTS : 0);
    void (*const all[])(once_model, int32_t, int32_t) = {
        walk_kernel<false, false, ONCE_FEWER>, walk_kernel<false, true, ONCE_FEWER>,
        walk_kernel<false, true, ONCE_MORE>,   walk_kernel<true, false, ONCE_FEWER>,
        walk_kernel<true, true, ONCE_FEWER>,   walk_kernel<true, true, ONCE_MORE>};
    const auto kernel = all[3 * grad + (at->inside ? 1 + (threads > ONCE_FEWER) : 0)];
    SKED_LAUNCH_CHAINED(kernel, blocks, dim3((unsigned)threads, side), shared, stream, *m, from, until);
}

sked_status once_walk_setup(int32_t shared, sked_error *err)
{
    sked_status st = SKED_OK;
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
#define SETUPS(grad)                                                                    \
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<grad, false, ONCE_FEWER>, most, shared)); \
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<grad, true, ONCE_FEWER>, most, shared));  \
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<grad, true, ONCE_MORE>, most, shared));
    SETUPS(true)
    SETUPS(false)
#undef SETUPS
cleanup:
    return st;
}
