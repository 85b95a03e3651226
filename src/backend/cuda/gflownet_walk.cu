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
 * the loss comes in there, so that one walk draws and learns.
 */
#include "backend/cuda/gflownet_walk_append.h"
#include "backend/cuda/gflownet_walk_score.h"

/* Blocks of 128 threads that share a multiprocessor at least: registers are cut to that. Measured on an H200.
 */
enum { SIDE_BY_SIDE = 4, SIDE_BY_SIDE_GRAD = 5 };

/* ------------------------------------------------------------------ backward policy */

/* The parts of devices that changed, and their parts of the backward rows. */
__device__ static void renew_parts(const walk &w)
{
    const float *weight = w.m->parameter + w.m->shape.back_device;
    EACH(j, 0, w.head->n_changed, ONCE_ROWS / 2) {
        const int32_t end = w.head->n_changed - j < ONCE_ROWS / 2 ? w.head->n_changed : j + ONCE_ROWS / 2;
        multiply_devices(w, 0, j, end);
        EACH(i, j, end, 1)
            multiply(w, ONCE_ROWS / 2 + i - j, w.device + (int64_t)w.changed[i].column * w.c, weight, w.c,
                     w.w);
        barrier();
        store_devices(w, 0, j, end);
        EACH_THREAD(c, w.w)
            EACH(i, j, end, 1)
                w.back_part[(int64_t)w.changed[i].column * w.w + c] = product(w, ONCE_ROWS / 2 + i - j, c);
        barrier();
    }
}

__device__ static void observe_back(const walk &w)
{
    const once_lesson *x = w.x;
    const float empties = (float)(x->devices - w.head->n_used);
    EACH_THREAD(c, w.c) {
        w.back_state[c] = w.sum_wait[c] / (float)x->n;
        w.back_state[w.c + c] = (w.sum_device[c] + empties * w.far->empty[c]) / (float)x->devices;
    }
    if (threadIdx.x == 0) {
        w.back_state[2 * w.c] = (float)w.head->makespan;
        w.back_state[2 * w.c + 1] = (float)w.head->left / (float)x->n;
    }
    barrier();
    multiply(w, 0, w.back_state, w.m->parameter + w.m->shape.back_state, 2 * w.c + SKED_I_ONCE_BACK, w.w);
    barrier();
    EACH_THREAD(c, w.w)
        w.back_base[c] = product(w, 0, c) + w.m->parameter[w.m->shape.back_bias + c];
    barrier();
}

/* A warp for each used device. */
__device__ static void score_back(const walk &w)
{
    const float *out = w.m->parameter + w.m->shape.back_out;
    EACH_WARP(d, w.head->n_used) {
        const int32_t q = w.used[d];
        const float *part = w.back_part + (int64_t)q * w.w;
        float sum = 0;
        EACH_LANE(c, w.w)
            sum += positive(part[c] + w.back_base[c]) * out[c];
        sum = warp_sum_float(sum);
        if (lane_id() == 0)
            w.back_logit[d] = w.followed[w.last[q]] ? -CUDART_INF_F : sum;
    }
    barrier();
}

/* log P_B of the op just appended; warp 0. */
template <bool grad> __device__ static void decide_back(const walk &w)
{
    walk_head *h = w.head;
    int32_t chosen = 0;
    while (w.used[chosen] != h->place)
        chosen++;
    float top;
    const float logit = w.back_logit[chosen];
    __syncwarp();
    const float sum = exponentials(w.back_logit, NULL, 1, h->n_used, &top);
    if (lane_id() == 0) {
        if (isnan(sum))
            h->status = WALK_NO_BACK_PROBABILITY;
        else
            h->log_backward += logit - top - logf(sum);
    }
    __syncwarp();
    if (grad)
        logit_grad(w.back_logit, h->n_used, sum, chosen, w.x->law.kind == SKED_I_LOSS_PPO ? 0 : -1);
}

__device__ static void back_grad(const walk &w)
{
    const float *out = w.m->parameter + w.m->shape.back_out;
    const int32_t states = 2 * w.c + SKED_I_ONCE_BACK;
    const int64_t step = (int64_t)w.number * w.x->n + w.head->step - 1; /* the one just made */
    EACH_THREAD(c, w.w) {
        float dbase = 0, dout = 0;
        EACH(d, 0, w.head->n_used, 1) {
            const int64_t at = (int64_t)w.used[d] * w.w + c;
            const float row = positive(w.back_part[at] + w.back_base[c]), dlogit = w.back_logit[d];
            const float drow = row > 0 ? dlogit * out[c] : 0;
            dout += dlogit * row;
            w.dback_part[at] += drow;
            dbase += drow;
        }
        w.sum_back_out[c] += dout;
        w.sum_back_bias[c] += dbase;
        w.dbase[c] = dbase;
        w.x->dbacks[step * w.w + c] = dbase;
    }
    EACH_THREAD(c, states)
        w.x->back_states[step * states + c] = w.back_state[c];
    barrier();
    multiply(w, 0, w.dbase, w.m->back_state_turned, w.w, 2 * w.c);
    barrier();
    state_grad(w, (float)w.x->n, (float)(w.x->devices - w.head->n_used));
}

template <bool grad> __device__ static void look_back(const walk &w)
{
    renew_parts(w);
    observe_back(w);
    score_back(w);
    if (warp_id() == 0)
        decide_back<grad>(w);
    barrier();
    if (grad)
        back_grad(w);
}

/* ------------------------------------------------------------------ the whole */

template <bool grad> __device__ static void take_step(const walk &w)
{
    evaluate<grad>(w);
    choice c = {};
    if (warp_id() == 0)
        c = decide<grad>(w);
    if (!grad && threadIdx.x == 0 && w.head->status == WALK_OK)
        take_choice<grad>(w, c);
    barrier();
    if (w.head->status != WALK_OK)
        return;
    if (grad && threadIdx.x == 0)
        take_choice<grad>(w, c);
    if (grad)
        step_grad(w);
    append<grad>(w);
    if (w.learned)
        look_back<grad>(w);
}

/* Versions that live to the end, and the sums of this trajectory. */
__device__ static void finish_grad(const walk &w)
{
    const once_small &at = w.m->at;
    float *small = w.x->small + (int64_t)w.number * at.small;
    EACH_THREAD(k, w.head->n_used) {
        const int32_t q = w.used[k];
        walk_change t = {q, w.last[q], -1, {}, {}};
        for (int j = 0; j < SKED_I_ONCE_LAST; j++)
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
    COPY(wait_feature, SKED_I_ONCE_WAIT * w.c)
    COPY(last_feature, SKED_I_ONCE_LAST * w.c)
    COPY(empty, w.c)
    COPY(empty_part, w.w)
    COPY(back_out, w.learned ? w.w : 0)
    COPY(back_bias, w.learned ? w.w : 0)
#undef COPY
    if (threadIdx.x == 0)
        w.m->n_versions[w.x->first_walk + w.number] = w.head->n_versions;
}

/* Where pieces before `free_at`, whose sizes the problem does not change, are with the preset sizes. */
template <bool with_grad, int threads> struct preset_at {
    enum : int32_t {
        c = ONCE_PRESET,
        w = ONCE_PRESET,
        t = threads / WARP,
        grad = with_grad,
        back = 0,
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

template <bool grad, walk_kind kind, int threads> __device__ static void bind_pieces(walk &w, char *shared)
{
    const once_model *m = w.m;
    char *global = w.x->global + (int64_t)w.number * m->layout.stride;
#define X(name, type, numbers)                                                         \
    w.name = (type *)(kind == WALK_PRESET && ONCE_PIECE_##name < ONCE_PIECE_free_at    \
                          ? shared + preset_at<grad, threads>::name                    \
                      : (kind != WALK_ANY && ONCE_PIECE_##name <= ONCE_LAST_INSIDE) || \
                              m->layout.offset[ONCE_PIECE_##name] >= 0                 \
                          ? shared + m->layout.offset[ONCE_PIECE_##name]               \
                          : global + 16 * (int64_t)(-1 - m->layout.offset[ONCE_PIECE_##name]));
    ONCE_PIECES(X)
#undef X
}

template <bool grad, walk_kind kind, int threads>
__device__ static void bind(walk &w, const once_model *m, const once_lesson *x, int32_t lesson, int32_t block,
                            const float *weights, char *shared)
{
    const sked_i_once_shape &s = m->shape;
    w.m = m;
    w.x = x;
    w.lesson = lesson;
    w.number = block - x->first_walk;
    w.k = x->columns;
    w.c = kind == WALK_PRESET ? (int32_t)ONCE_PRESET : s.context;
    w.w = kind == WALK_PRESET ? (int32_t)ONCE_PRESET : s.width;
    w.threads = threads;
    w.warps = threads / WARP;
    w.preset = kind == WALK_PRESET;
    w.pairs_outside = m->layout.offset[ONCE_PIECE_sum_pair] < 0;
    w.learned = kind != WALK_PRESET && s.learned;
    w.transfers = x->transfers;
    w.equal = x->groups == 1;
    w.state_weight = w.preset ? weights : m->parameter + s.state_weight;
    w.device_weight = w.preset ? weights + ONCE_STATES * ONCE_STRIDE : m->parameter + s.device_weight;
    bind_pieces<grad, kind, threads>(w, shared);
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
template <bool grad, walk_kind kind, int threads>
__device__ static void make_step(const walk &w, char *shared)
{
    if (kind == WALK_ANY || threads > ONCE_FEWER) {
        take_step<grad>(w);
    } else {
        walk now = w;
        bind_pieces<grad, kind, threads>(now, shared + hidden_zero());
        take_step<grad>(now);
    }
}

/* Steps from `from` up to `until` of a trajectory. */
template <bool grad, walk_kind kind, int threads>
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
    while (w.head->step < until && w.head->left > 0 && w.head->status == WALK_OK)
        make_step<grad, kind, threads>(w, shared);
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
    }
}

/* The weights that lie in shared memory for all walks of a block. */
__device__ static void load_shared(const once_model &m, float *weights)
{
    const float *state = m.parameter + m.shape.state_weight, *device = m.parameter + m.shape.device_weight;
    const int32_t by = (int32_t)(blockDim.x * blockDim.y), states = ONCE_STATES * ONCE_PRESET;
    for (int32_t i = (int32_t)(threadIdx.y * blockDim.x + threadIdx.x);
         i < states + ONCE_PRESET * ONCE_PRESET; i += by)
        weights[i / ONCE_PRESET * ONCE_STRIDE + i % ONCE_PRESET] = i < states ? state[i] : device[i - states];
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
 * A row of a block's threads a trajectory. But for WALK_ANY every thread has the pointers of the walk for
 * itself; they are then numbers of the launch, known to be in shared memory, and no load. Otherwise they lie
 * in shared memory for all. So do those to global memory where walks share a block: registers are few.
 */
template <bool grad, walk_kind kind, int threads>
__global__ static void __launch_bounds__(kind == WALK_PRESET && threads == ONCE_FEWER
                                             ? threads * (grad ? ONCE_SIDE_GRAD : ONCE_SIDE)
                                             : threads,
                                         kind == WALK_PRESET || threads > ONCE_FEWER ? 1
                                         : grad                                      ? SIDE_BY_SIDE_GRAD
                                                                                     : SIDE_BY_SIDE)
    walk_kernel(const __grid_constant__ once_model m, int32_t from, int32_t until)
{
    SKED_CHAIN();
    SKED_DYNAMIC_SHARED(char, shared);
    __shared__ once_lesson lessons[kind != WALK_PRESET || threads > ONCE_FEWER ? 1
                                   : grad                                      ? ONCE_SIDE_GRAD
                                                                               : ONCE_SIDE];
    __shared__ walk_far rows[sizeof lessons / sizeof *lessons];
    once_lesson *here = &lessons[threadIdx.y]; /* its numbers and pointers are read at every turn */
    walk_far *far = &rows[threadIdx.y], own;
    const float *weights = (const float *)shared;
    if (kind == WALK_PRESET) {
        load_shared(m, (float *)shared);
        shared += ONCE_WEIGHTS + threadIdx.y * m.layout.shared_bytes;
    }
    for (int32_t turn = 0;; turn++) {
        const int64_t block = walk_of(m, turn, (int32_t)threadIdx.y);
        if (block >= m.walks)
            return;
        const int32_t lesson = m.walk_lesson[block];
        copy_lesson(here, &m.lesson[lesson], threads);
        if (kind != WALK_ANY) {
            walk w;
            barrier();
            bind<grad, kind, threads>(w, &m, here, lesson, (int32_t)block, weights, shared);
            if (threads > ONCE_FEWER || threadIdx.x == 0)
                find_rows(w, threads > ONCE_FEWER ? &own : far);
            w.far = threads > ONCE_FEWER ? &own : far;
            barrier();
            run<grad, kind, threads>(w, m, shared, from, until);
            barrier();
        } else {
            __shared__ walk w;
            barrier();
            if (threadIdx.x == 0) {
                bind<grad, kind, threads>(w, &m, here, lesson, (int32_t)block, NULL, shared);
                find_rows(w, far);
                w.far = far;
            }
            barrier();
            run<grad, kind, threads>(w, m, shared, from, until);
            barrier();
        }
    }
}

template <bool grad, walk_kind kind>
static void launch(const once_model *m, int32_t threads, int32_t from, int32_t until, cudaStream_t stream)
{
    const once_layout *at = &m->layout;
    const unsigned blocks = (unsigned)(at->preset ? at->blocks : m->walks), side = at->preset ? at->side : 1;
    const size_t shared = (size_t)at->shared_bytes * side + (at->preset ? ONCE_WEIGHTS : 0);
    if (kind != WALK_ANY && threads > ONCE_FEWER)
        SKED_LAUNCH_CHAINED((walk_kernel < grad, kind == WALK_ANY ? WALK_INSIDE : kind, ONCE_MORE >), blocks,
                            dim3(ONCE_MORE, side), shared, stream, *m, from, until);
    else
        SKED_LAUNCH_CHAINED((walk_kernel<grad, kind, ONCE_FEWER>), blocks, dim3(ONCE_FEWER, side), shared,
                            stream, *m, from, until);
}

void once_walk_launch(const once_model *m, int32_t threads, bool grad, int32_t from, int32_t until,
                      cudaStream_t stream)
{
    if (!m->layout.inside)
        (grad ? launch<true, WALK_ANY> : launch<false, WALK_ANY>)(m, threads, from, until, stream);
    else if (m->layout.preset)
        (grad ? launch<true, WALK_PRESET> : launch<false, WALK_PRESET>)(m, threads, from, until, stream);
    else
        (grad ? launch<true, WALK_INSIDE> : launch<false, WALK_INSIDE>)(m, threads, from, until, stream);
}

sked_status once_walk_setup(int32_t shared, sked_error *err)
{
    sked_status st = SKED_OK;
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
#define SETUP(grad, kind, threads) \
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<grad, kind, threads>, most, shared));
#define SETUPS(grad)                     \
    SETUP(grad, WALK_ANY, ONCE_FEWER)    \
    SETUP(grad, WALK_INSIDE, ONCE_FEWER) \
    SETUP(grad, WALK_INSIDE, ONCE_MORE)  \
    SETUP(grad, WALK_PRESET, ONCE_FEWER) \
    SETUP(grad, WALK_PRESET, ONCE_MORE)
    SETUPS(true)
    SETUPS(false)
#undef SETUPS
#undef SETUP
cleanup:
    return st;
}
