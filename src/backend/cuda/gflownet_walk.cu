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
#include "backend/cuda/gflownet_once.h"

#define FULL 0xffffffffu
/* Blocks of 128 threads that share a multiprocessor at least: registers are cut to that. */
#ifndef ONCE_SIDE_BY_SIDE
#define ONCE_SIDE_BY_SIDE 5
#endif

/* Pointers to the pieces of this block's trajectory; one for all threads. */
struct walk {
    const once_model *m;
    const once_lesson *x;
    int32_t lesson, number, k, c, w, n_columns_all;
    const float *scale, *op_rows, *wait_rows, *last_rows, *empty, *empty_part, *out, *direct;
    const float *wait_feature, *last_feature;
    int32_t *op, *device_step;
    float *dop, *dwait, *dlast;
#define X(name, type, numbers) type *name;
    ONCE_PIECES(X)
#undef X
};

__device__ static inline int lane_id()
{
    return (int)threadIdx.x & (WARP - 1);
}
__device__ static inline int warp_id()
{
    return (int)threadIdx.x / WARP;
}
__device__ static inline int warps()
{
    return (int)blockDim.x / WARP;
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
 * Adds to a sum in global memory without waiting for it. Only one thread adds to a number between two
 * barriers, so that the order is the same every time.
 */
__device__ static inline void add_to(float *at, float x)
{
    atomicAdd(at, x);
}

/* ------------------------------------------------------------------ reductions */

__device__ static double warp_sum(double x)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(FULL, x, by);
    return x;
}
__device__ static double warp_max(double x)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        x = later(x, __shfl_xor_sync(FULL, x, by));
    return x;
}
__device__ static double warp_min(double x)
{
    return -warp_max(-x);
}
__device__ static float warp_sum_float(float x)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(FULL, x, by);
    return x;
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

/* The share of this warp in x[rows] m[rows, columns]; `product` adds the shares after a barrier. */
__device__ static void multiply(const walk &w, int slot, const float *x, const float *m, int rows,
                                int columns)
{
    const int step = warps(), widest = 2 * w.c > w.w ? 2 * w.c : w.w;
    float *partial = w.partial + (int64_t)(slot * step + warp_id()) * widest;
    for (int c = 2 * lane_id(); c < columns; c += 2 * WARP) {
        float2 sum = make_float2(0, 0);
#pragma unroll 4
        for (int k = warp_id(); k < rows; k += step) {
            const float2 v = *(const float2 *)(m + (int64_t)k * columns + c);
            sum.x += x[k] * v.x;
            sum.y += x[k] * v.y;
        }
        *(float2 *)(partial + c) = sum;
    }
}

__device__ static float product(const walk &w, int slot, int c)
{
    const int step = warps(), widest = 2 * w.c > w.w ? 2 * w.c : w.w;
    const float *partial = w.partial + (int64_t)slot * step * widest + c;
    float sum = 0;
    for (int k = 0; k < step; k++)
        sum += partial[(int64_t)k * widest];
    return sum;
}

/* ------------------------------------------------------------------ random numbers: base/rng.h */

__device__ static uint64_t rng_next(uint64_t *s)
{
    const uint64_t x = s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}
__device__ static double rng_uniform(uint64_t *s)
{
    return (double)(rng_next(s) >> 11) * 0x1.0p-53;
}
__device__ static uint64_t rng_below(uint64_t *s, uint64_t n)
{
    uint64_t x = rng_next(s);
    if (x * n < n) {
        const uint64_t threshold = (0 - n) % n;
        while (x * n < threshold)
            x = rng_next(s);
    }
    return __umul64hi(x, n);
}
__device__ static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
__device__ static void rng_seed(uint64_t *s, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed, y = stream ^ 0x6a09e667f3bcc909u;
    for (int i = 0; i < 4; i++)
        s[i] = splitmix(&x) ^ splitmix(&y);
    if ((s[0] | s[1] | s[2] | s[3]) == 0)
        s[0] = 1;
    for (int i = 0; i < 8; i++)
        rng_next(s);
}

/* ------------------------------------------------------------------ the partial schedule */

__device__ static inline double time_of(const walk &w, int32_t op, int32_t column)
{
    return w.x->groups == 1 ? w.x->time[op] : w.x->time[(int64_t)op * w.x->groups + w.x->group_of[column]];
}
__device__ static inline double data_at(const walk &w, int32_t op, int32_t column)
{
    return w.x->transfers ? w.arrive[(int64_t)op * w.k + column] : w.ready_time[op];
}
__device__ static inline bool listed(const walk &w)
{
    return !w.x->replay && w.number < w.x->listed;
}

/* Ops that wait for nothing, in ascending order; warp 0. */
__device__ static void first_ready(const walk &w)
{
    int32_t ready = 0;
    for (int32_t i = lane_id(); i - lane_id() < w.x->n; i += WARP) {
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
        for (int32_t i = 0; i < x->n; i++)
            w.noise[i] = (double)((rng_next(rng) >> 12) + 1) * 0x1.0p-53;
        if ((x->transfers || x->groups > 1) && rng_uniform(rng) < 0.5)
            w.head->most = 1 + (int32_t)rng_below(rng, (uint64_t)x->columns);
    }
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < x->n; i += (int32_t)blockDim.x)
        w.noise[i] = x->tail[i] - w.reduce[0] * log(-log(w.noise[i]));
}

template <class T> __device__ static void fill(T *at, int64_t count, T value)
{
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        at[i] = value;
}

template <bool grad> __device__ static void reset(const walk &w)
{
    const once_lesson *x = w.x;
    const bool back = w.m->shape.learned;
    const int64_t n = x->n, k = w.k;
    if (threadIdx.x == 0) {
        walk_head h = {};
        h.work_left = x->work;
        h.left = x->n;
        h.most = x->columns;
        rng_seed(h.rng, x->seed, x->first + (uint64_t)w.number);
        *w.head = h;
    }
    fill(w.ready_time, n, 0.0);
    fill(w.device_of, n, (int32_t)-1);
    fill(w.followed, n, (uint8_t)0);
    fill(w.free_at, k, 0.0);
    fill(w.last, k, (int32_t)-1);
    fill(w.opened, x->groups, (int32_t)0);
    fill(w.arrive, x->transfers ? n * k : 0, 0.0);
    fill(w.local, x->transfers ? n * k : 0, 0.0);
    fill(w.sum_device, w.c, 0.0f);
    for (int32_t i = (int32_t)threadIdx.x; i < n; i += (int32_t)blockDim.x)
        w.waits[i] = x->waits[i];
    for (int32_t i = (int32_t)threadIdx.x; i < w.c; i += (int32_t)blockDim.x)
        w.sum_wait[i] = w.m->first_sum[(int64_t)w.lesson * w.c + i];
    if (grad) {
        fill(w.total_wait, w.c, 0.0f);
        fill(w.total_device, w.c, 0.0f);
        fill(w.sum_direct, DIRECT, 0.0f);
        fill(w.sum_empty, w.c, 0.0f);
        fill(w.sum_empty_part, w.w, 0.0f);
        fill(w.sum_wait_feature, SKED_I_ONCE_WAIT * w.c, 0.0f);
        fill(w.sum_last_feature, SKED_I_ONCE_LAST * w.c, 0.0f);
        fill(w.sum_pair, (int64_t)(PAIR + 1) * warps() * w.w, 0.0f);
        fill(w.sum_back_out, back ? w.w : 0, 0.0f);
        fill(w.sum_back_bias, back ? w.w : 0, 0.0f);
    }
    __syncthreads();
    if (warp_id() == 0)
        first_ready(w);
    if (listed(w))
        begin_list(w);
    __syncthreads();
}

/* ------------------------------------------------------------------ choices: choices.c */

/* Above MOST_DEVICES used devices those that are free first, then as they were opened. */
__device__ static void mark_devices(const walk &w)
{
    const int32_t used = w.head->n_used;
    for (int32_t i = (int32_t)threadIdx.x; i < used; i += (int32_t)blockDim.x) {
        const double mine = w.free_at[w.used[i]];
        int32_t before = 0;
        for (int32_t j = 0; j < used && before < MOST_DEVICES; j++) {
            const double its = w.free_at[w.used[j]];
            before += its < mine || (its == mine && j < i);
        }
        w.taken[i] = before < MOST_DEVICES;
    }
    __syncthreads();
}

/* Warp 0. */
__device__ static void list_columns(const walk &w, bool all)
{
    const once_lesson *x = w.x;
    const int lane = lane_id();
    const unsigned below = (1u << lane) - 1;
    const int32_t used = w.head->n_used;
    int32_t count = 0, empties = 0;
    for (int32_t i = lane; i - lane < used; i += WARP) {
        const bool take = i < used && (all || w.taken[i]);
        const unsigned set = __ballot_sync(FULL, take);
        const int32_t at = count + __popc(set & below);
        if (take) {
            w.column[at] = w.used[i];
            w.count[at] = 1;
        }
        count += __popc(set);
    }
    for (int32_t i = lane; i - lane < x->groups; i += WARP) {
        const int32_t group = i < x->groups ? x->quickest[i] : 0;
        const int32_t first = x->group_first[group];
        const int32_t end = group + 1 < x->groups ? x->group_first[group + 1] : x->columns;
        bool take = i < x->groups && w.opened[group] < end - first;
        const int32_t place = empties + __popc(__ballot_sync(FULL, take) & below);
        take = take && (x->picky || place < MOST_DEVICES);
        if (take) {
            w.column[count + place - empties] = first + w.opened[group];
            w.count[count + place - empties] = x->group_size[group] - w.opened[group];
        }
        const int32_t more = __popc(__ballot_sync(FULL, take));
        count += more;
        empties += more;
    }
    __syncwarp();
    double least = CUDART_INF, most = 0;
    for (int32_t d = lane; d < count; d += WARP) {
        const double at = w.free_at[w.column[d]];
        least = at < least ? at : least;
        most = later(most, at);
    }
    least = warp_min(least);
    most = warp_max(most);
    if (lane == 0) {
        w.head->n_columns = count;
        w.head->least_free = least;
        w.head->most_free = most;
    }
}

/* What is told of all ready ops: earliest data, longest tail, latest end of a path. */
struct ready_sums {
    double first, top, critical;
};
__device__ static ready_sums measure(const walk &w, int32_t begin, int32_t step)
{
    ready_sums s = {CUDART_INF, 0, 0};
    const double free_at = w.head->least_free;
    for (int32_t i = begin; i < w.head->n_ready; i += step) {
        const int32_t op = w.ready[i];
        const double data = w.ready_time[op], tail = w.x->tail[op];
        s.first = data < s.first ? data : s.first;
        s.top = later(s.top, tail);
        s.critical = later(s.critical, later(data, free_at) + tail);
    }
    return {warp_min(s.first), warp_max(s.top), warp_max(s.critical)};
}
__device__ static void note_ready(const walk &w, const ready_sums &s)
{
    w.head->first_ready = s.first;
    w.head->top_tail = s.top;
    w.head->critical = s.critical;
}

/* All of them are choices; warp 0. */
__device__ static void take_all(const walk &w)
{
    const int32_t ready = w.head->n_ready;
    const ready_sums s = measure(w, lane_id(), WARP);
    for (int32_t i = lane_id(); i < ready; i += WARP) {
        w.index[i] = i;
        w.row[i] = w.ready[i];
    }
    if (lane_id() == 0) {
        note_ready(w, s);
        w.head->n_ops = ready;
    }
}

/* All threads; barriers inside. */
__device__ static void measure_many(const walk &w)
{
    ready_sums s = measure(w, (int32_t)threadIdx.x, (int32_t)blockDim.x);
    if (lane_id() == 0) {
        w.reduce[warp_id()] = s.first;
        w.reduce[warps() + warp_id()] = s.top;
        w.reduce[2 * warps() + warp_id()] = s.critical;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < warps(); k++) {
            s.first = w.reduce[k] < s.first ? w.reduce[k] : s.first;
            s.top = later(s.top, w.reduce[warps() + k]);
            s.critical = later(s.critical, w.reduce[2 * warps() + k]);
        }
        note_ready(w, s);
    }
    __syncthreads();
}

/* Times are not negative: their bits are ordered as they are. */
__device__ static inline unsigned long long bits_of(double x)
{
    return (unsigned long long)__double_as_longlong(x + 0.0);
}
__device__ static inline double start_key(const walk &w, int32_t i)
{
    return later(w.ready_time[w.ready[i]], w.head->least_free);
}

/* How many of the ready ops have a key of at most `bound` (and, by tail, the given start). */
__device__ static int32_t count_keys(const walk &w, bool by_tail, unsigned long long start,
                                     unsigned long long bound)
{
    int32_t count = 0;
    for (int32_t i = (int32_t)threadIdx.x; i - (int32_t)threadIdx.x < w.head->n_ready;
         i += (int32_t)blockDim.x) {
        bool in = false;
        if (i < w.head->n_ready) {
            const unsigned long long key = bits_of(start_key(w, i));
            /* Long tails first: their bits are turned round. */
            in = by_tail ? key == start && ~bits_of(w.x->tail[w.ready[i]]) <= bound : key <= bound;
        }
        count += __syncthreads_count(in);
    }
    return count;
}

/* The least key that `wanted` ops do not exceed. */
__device__ static unsigned long long least_bound(const walk &w, bool by_tail, unsigned long long start,
                                                 unsigned long long low, int32_t wanted)
{
    unsigned long long high = ~0ull;
    if (count_keys(w, by_tail, start, low) >= wanted)
        return low;
    while (high - low > 1) { /* low has too few, high enough */
        const unsigned long long middle = low + (high - low) / 2;
        if (count_keys(w, by_tail, start, middle) >= wanted)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The ops that list scheduling would take first: earliest start, longest tail, first to become ready. */
__device__ static void pick_ops(const walk &w)
{
    const int lane = lane_id();
    const unsigned below = (1u << lane) - 1;
    const double earliest = later(w.head->first_ready, w.head->least_free);
    const unsigned long long start = least_bound(w, false, 0, bits_of(earliest), MOST_OPS);
    const int32_t before = start > 0 ? count_keys(w, false, 0, start - 1) : 0;
    const unsigned long long tail =
        least_bound(w, true, start, ~bits_of(w.head->top_tail), MOST_OPS - before);
    if (warp_id() == 0) {
        int32_t count = 0, ties = MOST_OPS - before;
        if (tail > 0) { /* those of longer tail go first */
            int32_t longer = 0;
            for (int32_t i = lane; i < w.head->n_ready; i += WARP)
                longer += bits_of(start_key(w, i)) == start && ~bits_of(w.x->tail[w.ready[i]]) < tail;
            ties -= (int32_t)warp_sum(longer);
        }
        for (int32_t i = lane; i - lane < w.head->n_ready; i += WARP) {
            bool sure = false, tie = false;
            if (i < w.head->n_ready) {
                const unsigned long long key = bits_of(start_key(w, i)),
                                         its = ~bits_of(w.x->tail[w.ready[i]]);
                sure = key < start || (key == start && its < tail);
                tie = key == start && its == tail;
            }
            const unsigned equal = __ballot_sync(FULL, tie);
            const bool take = sure || (tie && __popc(equal & below) < ties);
            const unsigned set = __ballot_sync(FULL, take);
            if (take) {
                w.index[count + __popc(set & below)] = i;
                w.row[count + __popc(set & below)] = w.ready[i];
            }
            count += __popc(set);
            ties -= __popc(equal) < ties ? __popc(equal) : ties;
        }
        if (lane == 0)
            w.head->n_ops = count;
    }
}

__device__ static void fill_choices(const walk &w)
{
    const bool all = w.x->picky || w.head->n_used <= MOST_DEVICES, many = w.head->n_ready > MOST_OPS;
    if (!all)
        mark_devices(w);
    if (warp_id() == 0) {
        list_columns(w, all);
        __syncwarp();
        if (!many)
            take_all(w);
    }
    __syncthreads();
    if (many) {
        measure_many(w);
        pick_ops(w);
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ features */

__device__ static void observe_state(const walk &w)
{
    const once_lesson *x = w.x;
    const walk_head *h = w.head;
    const float empties = (float)(x->devices - h->n_used);
    for (int32_t c = (int32_t)threadIdx.x; c < w.c; c += (int32_t)blockDim.x) {
        w.state[c] = w.sum_wait[c] / (float)h->left;
        w.state[w.c + c] = (w.sum_device[c] + empties * w.empty[c]) / (float)x->devices;
    }
    const int32_t k = (int32_t)blockDim.x - 1 - (int32_t)threadIdx.x; /* the last warp has least to do */
    if (k >= SKED_I_ONCE_STATE)
        return;
    const double earliest = later(h->first_ready, h->least_free), u = x->per_unit;
    const double gap = k == 3   ? (h->most_free - h->least_free) * u
                       : k == 8 ? (h->critical - h->makespan) * u
                                : (earliest - h->least_free) * u;
    const double over = k == 0    ? h->makespan
                        : k == 1  ? x->n - h->left
                        : k == 2  ? h->busy
                        : k == 4  ? h->busy + h->work_left
                        : k == 6  ? earliest
                        : k == 7  ? h->critical
                        : k == 5  ? h->n_ready
                        : k == 10 ? h->n_ready
                        : k == 11 ? h->n_used
                                  : gap;
    const double under = k == 1                        ? x->n
                         : k == 2 || k == 4 || k == 11 ? x->devices
                         : k == 5                      ? h->left
                         : k == 10                     ? h->n_ready + x->devices
                         : k == 3 || k == 8 || k == 9  ? 1 + fabs(gap)
                                                       : 1;
    w.state[2 * w.c + k] = (float)(over / under);
}

/* The earliest end of each op over the columns. */
__device__ static void observe_ops(const walk &w)
{
    for (int32_t i = (int32_t)threadIdx.x; i < w.head->n_ops; i += (int32_t)blockDim.x) {
        const int32_t op = w.row[i];
        double least = CUDART_INF;
        for (int32_t d = 0; d < w.head->n_columns; d++) {
            const int32_t q = w.column[d];
            const double finish = later(data_at(w, op, q), w.free_at[q]) + time_of(w, op, q);
            least = finish < least ? finish : least;
        }
        w.op_least[i] = least;
    }
}

__device__ static inline float squash(float x)
{
    return __fdividef(x, 1 + fabsf(x));
}
__device__ static inline float clipped(float x)
{
    return x < ONCE_DIRECT_CLIP ? x : ONCE_DIRECT_CLIP;
}

/* One pair: w.feature, and what goes straight to the logit (-infinity: the device cannot run the op). */
template <bool grad> __device__ static void pair_features(const walk &w, int slot, int32_t i, int32_t d)
{
    const once_lesson *x = w.x;
    const walk_head *h = w.head;
    const int32_t op = w.row[i], q = w.column[d];
    float *f = w.feature + slot * PAIR, *straight = w.straight + slot * (grad ? DIRECT + 1 : 1), sum = 0;
    const double time = time_of(w, op, q);
    if (!(time < CUDART_INF)) {
        for (int k = 0; k < PAIR; k++)
            f[k] = 0;
        for (int k = 0; grad && k < DIRECT; k++)
            straight[1 + k] = 0;
        straight[0] = -CUDART_INF_F;
        return;
    }
    const double u = x->per_unit, data = data_at(w, op, q), free_at = w.free_at[q], tail = x->tail[op];
    const double ready = w.ready_time[op], start = later(data, free_at), finish = start + time;
    const double earliest = later(h->first_ready, h->least_free);
    const double bound = later(later(h->critical, h->makespan), 1), end = start + tail;
    const float f0 = (float)((start - earliest) * u), f2 = (float)((start - free_at) * u);
    const float f4 = (float)(later(0, end - bound) * u), f5 = (float)((h->top_tail - tail) * u);
    const float f8 = (float)((data - ready) * u), f10 = (float)((finish - start - x->least[op]) * u);
    const float f11 = (float)((finish - w.op_least[i]) * u);
    f[0] = squash(f0);
    f[1] = squash((float)((start - ready) * u));
    f[2] = squash(f2);
    f[3] = squash((float)((end - h->makespan) * u));
    f[4] = squash(f4);
    f[5] = squash(f5);
    f[6] = squash((float)(later(0, finish - h->makespan) * u));
    f[7] = squash((float)((free_at - h->least_free) * u));
    f[8] = squash(f8);
    f[9] = squash(x->transfers ? (float)w.local[(int64_t)op * w.k + q] : 0.0f);
    f[10] = squash(f10);
    f[11] = squash(f11);
    const float g[DIRECT] = {clipped(f0), clipped(f11), clipped(f5), f[5],
                             clipped(f8), clipped(f2),  clipped(f4), clipped(f10)};
    for (int k = 0; k < DIRECT; k++) {
        sum += w.direct[k] * g[k];
        if (grad)
            straight[1 + k] = g[k];
    }
    straight[0] = sum;
}

/* A block of pairs that fits the room for features: ops from o, devices from d. */
struct chunk {
    int32_t o, ops, d, devices;
};
__device__ static inline int32_t chunk_count(const walk &w)
{
    const int32_t ops = ONCE_CHUNK / ONCE_CHUNK_DEVICES;
    return ((w.head->n_ops + ops - 1) / ops) *
           ((w.head->n_columns + ONCE_CHUNK_DEVICES - 1) / ONCE_CHUNK_DEVICES);
}
__device__ static inline chunk chunk_at(const walk &w, int32_t k)
{
    const int32_t ops = ONCE_CHUNK / ONCE_CHUNK_DEVICES, down = (w.head->n_ops + ops - 1) / ops;
    chunk t = {(k % down) * ops, ops, (k / down) * ONCE_CHUNK_DEVICES, ONCE_CHUNK_DEVICES};
    t.ops = w.head->n_ops - t.o < ops ? w.head->n_ops - t.o : ops;
    t.devices = w.head->n_columns - t.d < t.devices ? w.head->n_columns - t.d : t.devices;
    return t;
}
template <bool grad> __device__ static void observe_pairs(const walk &w, const chunk &t)
{
    for (int32_t s = (int32_t)threadIdx.x; s < t.ops * ONCE_CHUNK_DEVICES; s += (int32_t)blockDim.x)
        if (s % ONCE_CHUNK_DEVICES < t.devices)
            pair_features<grad>(w, s, t.o + s / ONCE_CHUNK_DEVICES, t.d + s % ONCE_CHUNK_DEVICES);
}

/* ------------------------------------------------------------------ scores */

/* Two columns of the weights of pairs, with FiLM, for this lane. */
struct pair_weights {
    float2 w[PAIR], out;
    int32_t c;
    bool on;
};
__device__ static void load_weights(const walk &w, int32_t first, pair_weights *p)
{
    const float *weight = w.m->parameter + w.m->shape.pair_weight;
    p->c = first + 2 * lane_id();
    p->on = p->c < w.w;
    if (!p->on)
        p->c = 0;
    const float2 scale = *(const float2 *)(w.scale + p->c);
#pragma unroll
    for (int k = 0; k < PAIR; k++) {
        const float2 v = *(const float2 *)(weight + k * w.w + p->c);
        p->w[k] = p->on ? make_float2(v.x * scale.x, v.y * scale.y) : make_float2(0, 0);
    }
    p->out = p->on ? *(const float2 *)(w.out + p->c) : make_float2(0, 0);
}
__device__ static inline const float *device_row(const walk &w, int32_t column)
{
    return w.last[column] >= 0 ? w.device_part + (int64_t)column * w.w : w.empty_part;
}
/* What the devices of a chunk and the state give to the hidden rows: the same for all ops. */
__device__ static void load_devices(const walk &w, const pair_weights &p, const chunk &t, float2 *device)
{
    const float2 base = *(const float2 *)(w.base + p.c);
#pragma unroll
    for (int j = 0; j < ONCE_CHUNK_DEVICES; j++) {
        device[j] = make_float2(0, 0);
        if (j < t.devices) {
            const float2 part = *(const float2 *)(device_row(w, w.column[t.d + j]) + p.c);
            device[j] = make_float2(base.x + part.x, base.y + part.y);
        }
    }
}
/* Hidden numbers of a pair before the ReLU. */
__device__ static inline float2 hidden(const pair_weights &p, float2 op, float2 device, const float *f)
{
    float2 h = make_float2(op.x + device.x, op.y + device.y);
#pragma unroll
    for (int k = 0; k < PAIR; k += 4) {
        const float4 v = *(const float4 *)(f + k);
        h.x += (v.x * p.w[k].x + v.y * p.w[k + 1].x) + (v.z * p.w[k + 2].x + v.w * p.w[k + 3].x);
        h.y += (v.x * p.w[k].y + v.y * p.w[k + 1].y) + (v.z * p.w[k + 2].y + v.w * p.w[k + 3].y);
    }
    return h;
}
__device__ static inline float2 op_row(const walk &w, const pair_weights &p, int32_t op)
{
    return *(const float2 *)(w.op_rows + (int64_t)op * w.w + p.c);
}

template <bool grad> __device__ static void score(const walk &w, const chunk &t)
{
    const int lane = lane_id(), mine = lane / 16 * 2 + lane / 8 % 2;
    for (int32_t first = 0; first < w.w; first += 2 * WARP) {
        pair_weights p;
        float2 device[ONCE_CHUNK_DEVICES];
        load_weights(w, first, &p);
        load_devices(w, p, t, device);
        for (int32_t i = warp_id(); i < t.ops; i += warps()) {
            const float2 op = op_row(w, p, w.row[t.o + i]);
            float s[ONCE_CHUNK_DEVICES] = {0, 0, 0, 0};
#pragma unroll
            for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
                if (j < t.devices) {
                    const float2 h =
                        hidden(p, op, device[j], w.feature + (i * ONCE_CHUNK_DEVICES + j) * PAIR);
                    s[j] = positive(h.x) * p.out.x + positive(h.y) * p.out.y;
                }
            const float sum = sum_four(s);
            if (lane % 8 == 0 && mine < t.devices) {
                const int slot = i * ONCE_CHUNK_DEVICES + mine;
                float *logit = w.logit + (int64_t)(t.o + i) * w.head->n_columns + t.d + mine;
                *logit = first == 0 ? sum + w.straight[slot * (grad ? DIRECT + 1 : 1)] : *logit + sum;
            }
        }
    }
}

/* The rows of devices that changed, their parts of the hidden rows; slots from `slot` on, then a barrier. */
__device__ static void multiply_devices(const walk &w, int slot, int32_t first, int32_t end)
{
    const float *weight = w.m->parameter + w.m->shape.device_weight;
    for (int32_t j = first; j < end; j++)
        multiply(w, slot + j - first, w.device + (int64_t)w.changed[j].column * w.c, weight, w.c, w.w);
}
__device__ static void store_devices(const walk &w, int slot, int32_t first, int32_t end)
{
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x)
        for (int32_t j = first; j < end; j++)
            w.device_part[(int64_t)w.changed[j].column * w.w + c] =
                product(w, slot + j - first, c) * w.scale[c];
}

/* Logits of all pairs. */
template <bool grad> __device__ static void evaluate(const walk &w)
{
    fill_choices(w);
    observe_state(w);
    observe_ops(w);
    __syncthreads();
    const int32_t changed = w.m->shape.learned ? 0 : w.head->n_changed; /* else done after the last step */
    const int32_t now = changed < ONCE_ROWS - 1 ? changed : ONCE_ROWS - 1;
    multiply(w, 0, w.state, w.m->parameter + w.m->shape.state_weight, 2 * w.c + SKED_I_ONCE_STATE, w.w);
    multiply_devices(w, 1, 0, now);
    observe_pairs<grad>(w, chunk_at(w, 0));
    __syncthreads();
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x)
        w.base[c] = product(w, 0, c) * w.scale[c];
    store_devices(w, 1, 0, now);
    __syncthreads();
    for (int32_t j = now; j < changed; j += ONCE_ROWS) {
        const int32_t end = changed - j < ONCE_ROWS ? changed : j + ONCE_ROWS;
        multiply_devices(w, 0, j, end);
        __syncthreads();
        store_devices(w, 0, j, end);
        __syncthreads();
    }
    for (int32_t k = 0; k < chunk_count(w); k++) {
        const chunk t = chunk_at(w, k);
        if (k > 0) {
            observe_pairs<grad>(w, t);
            __syncthreads();
        }
        score<grad>(w, t);
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ the choice: warp 0 */

/*
 * Turns logits into shares count * exp(logit - top), 0 below what adds anything. Returns their sum, or NAN
 * where there is no probability; *top gets the largest logit. One warp. Single precision: an error of a
 * millionth of a probability is far below what a step of training moves.
 */
__device__ static float exponentials(float *logit, const int32_t *count, int32_t columns, int32_t pairs,
                                     float *top)
{
    float most = -CUDART_INF_F, sum = 0;
    for (int32_t p = lane_id(); p < pairs; p += WARP)
        most = fmaxf(most, logit[p]);
    for (int by = WARP / 2; by > 0; by /= 2)
        most = fmaxf(most, __shfl_xor_sync(FULL, most, by));
    *top = most;
    if (!(most > -CUDART_INF_F && most < CUDART_INF_F))
        return CUDART_NAN_F;
    int32_t column = lane_id() % columns;
    const int32_t step = WARP % columns;
    for (int32_t p = lane_id(); p < pairs; p += WARP) {
        const float x = logit[p] - most;
        const float share =
            x > (float)ONCE_NEGLIGIBLE ? (count != NULL ? (float)count[column] : 1.0f) * expf(x) : 0;
        logit[p] = share;
        sum += share;
        column += step;
        column -= column >= columns ? columns : 0;
    }
    return warp_sum_float(sum);
}

/* The first of the largest. */
__device__ static int32_t likeliest(const float *logit, int32_t pairs)
{
    float best = -CUDART_INF_F;
    int32_t at = 0x7fffffff;
    for (int32_t p = lane_id(); p < pairs; p += WARP)
        if (logit[p] > best) {
            best = logit[p];
            at = p;
        }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float its = __shfl_xor_sync(FULL, best, by);
        const int32_t where = __shfl_xor_sync(FULL, at, by);
        if (its > best || (its == best && where < at)) {
            best = its;
            at = where;
        }
    }
    return at < pairs ? at : 0;
}

/* An index by its share of `sum`. */
__device__ static int32_t draw(const walk &w, const float *share, float sum, int32_t pairs)
{
    const int lane = lane_id();
    float rest = 0;
    if (lane == 0)
        rest = (float)(rng_uniform(w.head->rng) * sum);
    rest = __shfl_sync(FULL, rest, 0);
    for (int32_t p = lane; p - lane < pairs; p += WARP) {
        const float mine = p < pairs ? share[p] : 0;
        float until = mine;
        for (int by = 1; by < WARP; by *= 2) {
            const float more = __shfl_up_sync(FULL, until, (unsigned)by);
            until += lane >= by ? more : 0;
        }
        const unsigned hit = __ballot_sync(FULL, mine > 0 && rest < until);
        if (hit != 0)
            return p - lane + __ffs((int)hit) - 1;
        rest -= __shfl_sync(FULL, until, WARP - 1);
    }
    return likeliest(share, pairs); /* rounding left a rest */
}

/* The pair of list scheduling (sked_i_choices_list): least first key, then second, then the first pair. */
__device__ static int32_t list_pair(const walk &w, bool used_only, int32_t pairs)
{
    const once_lesson *x = w.x;
    const bool plain = !x->transfers && x->groups == 1;
    double first = CUDART_INF, second = CUDART_INF;
    int32_t at = 0x7fffffff;
    for (int32_t p = lane_id(); p < pairs; p += WARP) {
        const int32_t op = w.row[p / w.head->n_columns], q = w.column[p % w.head->n_columns];
        const double time = time_of(w, op, q);
        if ((used_only && w.last[q] < 0) || !(time < CUDART_INF))
            continue;
        const double start = later(data_at(w, op, q), w.free_at[q]);
        const double one = plain ? start : start + time - x->duration[op] - w.noise[op];
        const double two = plain ? -w.noise[op] : 0;
        if (at == 0x7fffffff || one < first || (one == first && two < second)) {
            first = one;
            second = two;
            at = p;
        }
    }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const double one = __shfl_xor_sync(FULL, first, by), two = __shfl_xor_sync(FULL, second, by);
        const int32_t where = __shfl_xor_sync(FULL, at, by);
        if (one < first || (one == first && (two < second || (two == second && where < at)))) {
            first = one;
            second = two;
            at = where;
        }
    }
    return at < pairs ? at : -1;
}

__device__ static int32_t replayed(const walk &w, int32_t pairs)
{
    const int32_t op = w.op[w.head->step], column = w.device_step[w.head->step];
    for (int32_t p = lane_id(); p - lane_id() < pairs; p += WARP) {
        const bool hit = p < pairs && w.row[p / w.head->n_columns] == op &&
                         w.column[p % w.head->n_columns] == column && w.logit[p] > -CUDART_INF_F;
        const unsigned set = __ballot_sync(FULL, hit);
        if (set != 0)
            return p - lane_id() + __ffs((int)set) - 1;
    }
    return -1;
}

/* A pair that is chosen whatever the probabilities are; -1: none is legal. */
__device__ static int32_t choose(const walk &w, int32_t pairs)
{
    if (w.x->replay)
        return replayed(w, pairs);
    if (w.x->greedy)
        return likeliest(w.logit, pairs);
    const int32_t within = w.head->n_used >= w.head->most ? list_pair(w, true, pairs) : -1;
    return within >= 0 ? within : list_pair(w, false, pairs);
}

/* Turns shares into the gradient of the logits by the logp of the chosen one, times slope. */
__device__ static void logit_grad(float *share, int32_t pairs, float sum, int32_t chosen, float slope)
{
    const float scale = slope / sum;
    for (int32_t p = lane_id(); p < pairs; p += WARP)
        share[p] = (p == chosen ? slope : 0) - share[p] * scale;
}

/* Notes the chosen pair and what it means; lane 0. */
__device__ static void take_pair(const walk &w, int32_t chosen, float logp)
{
    walk_head *h = w.head;
    if (chosen < 0) {
        h->status = WALK_NOT_LEGAL;
        return;
    }
    const int32_t i = chosen / h->n_columns;
    h->at = w.index[i];
    h->op = w.row[i];
    h->place = w.column[chosen - i * h->n_columns];
    h->start = later(data_at(w, h->op, h->place), w.free_at[h->place]);
    h->log_forward += logp;
    w.op[h->step] = h->op;
    w.device_step[h->step] = h->place;
}

/* One pair of all, and its log P_F; one warp. */
template <bool grad> __device__ static void decide(const walk &w)
{
    walk_head *h = w.head;
    const int32_t pairs = h->n_ops * h->n_columns;
    const bool drawn = !w.x->replay && !w.x->greedy && !listed(w);
    int32_t chosen = drawn ? 0 : choose(w, pairs);
    float top, logit = chosen >= 0 ? w.logit[chosen] : 0;
    __syncwarp();
    const float sum = exponentials(w.logit, w.count, h->n_columns, pairs, &top);
    __syncwarp();
    if (isnan(sum)) {
        if (lane_id() == 0)
            h->status = WALK_NO_PROBABILITY;
        return;
    }
    if (drawn) {
        chosen = draw(w, w.logit, sum, pairs);
        logit = top + logf(w.logit[chosen] / (float)w.count[chosen % h->n_columns]);
    }
    if (lane_id() == 0)
        take_pair(w, chosen, logit - top - logf(sum));
    __syncwarp();
    if (grad && chosen >= 0)
        logit_grad(w.logit, pairs, sum, chosen, 1);
}

/* ------------------------------------------------------------------ gradient of a step */

/* Adds what the pairs of a chunk say: op rows, weights, and w.partial by device. */
__device__ static void score_grad(const walk &w, const chunk &t, int32_t first)
{
    const int step = warps(), widest = 2 * w.c > w.w ? 2 * w.c : w.w;
    pair_weights p;
    load_weights(w, first, &p);
    float2 dw[PAIR], dout = make_float2(0, 0), device[ONCE_CHUNK_DEVICES], ddevice[ONCE_CHUNK_DEVICES];
    load_devices(w, p, t, device);
#pragma unroll
    for (int k = 0; k < PAIR; k++)
        dw[k] = make_float2(0, 0);
#pragma unroll
    for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
        ddevice[j] = make_float2(0, 0);
    for (int32_t i = warp_id(); i < t.ops; i += step) {
        const int32_t op = w.row[t.o + i];
        const float2 row = op_row(w, p, op);
        float2 drow = make_float2(0, 0);
#pragma unroll
        for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
            if (j < t.devices) {
                const float *f = w.feature + (i * ONCE_CHUNK_DEVICES + j) * PAIR;
                const float2 h = hidden(p, row, device[j], f);
                const float dlogit = w.logit[(int64_t)(t.o + i) * w.head->n_columns + t.d + j];
                const float2 dh = make_float2(h.x > 0 ? dlogit * p.out.x : 0, h.y > 0 ? dlogit * p.out.y : 0);
                dout.x += dlogit * positive(h.x);
                dout.y += dlogit * positive(h.y);
                drow.x += dh.x;
                drow.y += dh.y;
                ddevice[j].x += dh.x;
                ddevice[j].y += dh.y;
#pragma unroll
                for (int k = 0; k < PAIR; k++) {
                    dw[k].x += f[k] * dh.x;
                    dw[k].y += f[k] * dh.y;
                }
            }
        if (p.on) {
            add_to(w.dop + (int64_t)op * w.w + p.c, drow.x);
            add_to(w.dop + (int64_t)op * w.w + p.c + 1, drow.y);
        }
    }
    if (!p.on)
        return;
    float *sums = w.sum_pair + (int64_t)warp_id() * (PAIR + 1) * w.w + p.c;
#pragma unroll
    for (int k = 0; k < PAIR + 1; k++) {
        float2 *at = (float2 *)(sums + k * w.w);
        const float2 add = k < PAIR ? dw[k < PAIR ? k : 0] : dout;
        *at = make_float2(at->x + add.x, at->y + add.y);
    }
#pragma unroll
    for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
        *(float2 *)(w.partial + (int64_t)(j * step + warp_id()) * widest + p.c) = ddevice[j];
}

/* Sums of the weights that lead straight to a logit; each warp some of them. */
__device__ static void straight_grad(const walk &w, const chunk &t)
{
    for (int k = warp_id(); k < DIRECT; k += warps()) {
        float sum = 0;
        for (int32_t s = lane_id(); s < t.ops * ONCE_CHUNK_DEVICES; s += WARP)
            if (s % ONCE_CHUNK_DEVICES < t.devices)
                sum += w.logit[(int64_t)(t.o + s / ONCE_CHUNK_DEVICES) * w.head->n_columns + t.d +
                               s % ONCE_CHUNK_DEVICES] *
                       w.straight[s * (DIRECT + 1) + 1 + k];
        sum = warp_sum_float(sum);
        if (lane_id() == 0)
            w.sum_direct[k] += sum;
    }
}

/* From w.partial to the parts of devices, used or empty, and to the state's part. */
__device__ static void device_grad(const walk &w, const chunk &t)
{
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x)
        for (int j = 0; j < t.devices; j++) {
            const int32_t q = w.column[t.d + j];
            const float sum = product(w, j, c);
            float *part = w.last[q] >= 0 ? w.ddevice_part + (int64_t)q * w.w : w.sum_empty_part;
            part[c] += sum;
            w.dbase[c] += sum;
        }
}

/* d of a pooled state, by product slot 0, to the running totals and the empty devices. */
__device__ static void state_grad(const walk &w, float waiting)
{
    const float devices = (float)w.x->devices, empties = (float)(w.x->devices - w.head->n_used);
    for (int32_t c = (int32_t)threadIdx.x; c < w.c; c += (int32_t)blockDim.x) {
        const float each = product(w, 0, w.c + c) / devices;
        w.total_wait[c] += product(w, 0, c) / waiting;
        w.total_device[c] += each;
        w.sum_empty[c] += each * empties;
    }
}

__device__ static void step_grad(const walk &w)
{
    const int32_t chunks = chunk_count(w), states = 2 * w.c + SKED_I_ONCE_STATE;
    const int64_t step = (int64_t)w.number * w.x->n + w.head->step;
    fill(w.dbase, w.w, 0.0f);
    for (int32_t k = 0; k < chunks; k++) {
        const chunk t = chunk_at(w, k);
        if (chunks > 1) {
            __syncthreads();
            observe_pairs<true>(w, t);
            __syncthreads();
        }
        straight_grad(w, t);
        for (int32_t first = 0; first < w.w; first += 2 * WARP)
            score_grad(w, t, first);
        __syncthreads();
        device_grad(w, t);
    }
    float *state = w.x->states + step * states, *dbase = w.x->dbases + step * w.w;
    for (int32_t c = (int32_t)threadIdx.x; c < states; c += (int32_t)blockDim.x)
        state[c] = w.state[c];
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x) {
        dbase[c] = w.dbase[c];
        w.dbase[c] *= w.scale[c];
    }
    __syncthreads();
    multiply(w, 0, w.dbase, w.m->state_turned, w.w, 2 * w.c);
    __syncthreads();
    state_grad(w, (float)w.head->left);
}

/* ------------------------------------------------------------------ appending an op */

/* Takes the chosen op out of the ready ones: thread `at` of `by`; wait() lets all of them finish reading. */
template <class W> __device__ static void pop(const walk &w, int32_t at, int32_t by, W wait)
{
    const int32_t last = w.head->n_ready - 1;
    for (int32_t i = w.head->at + at; i - at < last; i += by) {
        const int32_t next = i < last ? w.ready[i + 1] : 0;
        wait();
        if (i < last)
            w.ready[i] = next;
    }
    wait();
    if (at == 0)
        w.head->n_ready = last;
    wait();
}
struct wait_warp {
    __device__ void operator()() const
    {
        __syncwarp();
    }
};
struct wait_block {
    __device__ void operator()() const
    {
        __syncthreads();
    }
};

__device__ static void tell(const walk &w, int32_t e, walk_told *told)
{
    const once_lesson *x = w.x;
    const int32_t to = x->succ_op[e], waits = w.waits[to] - 1;
    const double lag = isnan(x->lag[e]) ? time_of(w, w.head->op, w.head->place) : x->lag[e];
    const double before = w.ready_time[to], there = w.head->start + lag, after = later(before, there);
    told->op = to;
    told->edge = e;
    told->there = there;
    told->before[0] = (float)before;
    told->before[1] = 0;
    told->before[2] = (float)(before + x->tail[to]);
    told->after[0] = (float)after;
    told->after[1] = waits == 0;
    told->after[2] = (float)(after + x->tail[to]);
    w.ready_time[to] = after;
    w.waits[to] = waits;
}

/* Successors along the edges from `first` on, up to 32: times and new ready ops. Warp 0. */
__device__ static void tell_successors(const walk &w, int32_t first, int32_t end)
{
    const int lane = lane_id();
    const int32_t e = first + lane;
    bool ready = false;
    if (!w.x->twice) {
        if (e < end)
            tell(w, e, &w.told[lane]);
    } else {
        for (int k = 0; k < WARP; k++) {
            if (k == lane && e < end)
                tell(w, e, &w.told[lane]);
            __syncwarp();
        }
    }
    if (e < end)
        ready = w.told[lane].after[1] > 0;
    const unsigned set = __ballot_sync(FULL, ready);
    const int32_t count = w.head->n_ready;
    if (ready)
        w.ready[count + __popc(set & ((1u << lane) - 1))] = w.told[lane].op;
    __syncwarp();
    if (lane == 0) {
        w.head->n_ready = count + __popc(set);
        w.head->n_told = end - first < WARP ? end - first : WARP;
    }
}

/* A device changes: notes its features before and after. */
__device__ static void note_change(const walk &w, int32_t at, int32_t q, int32_t after_op, float fresh)
{
    walk_change *change = &w.changed[at];
    float *feature = w.device_feature + 3 * (int64_t)q;
    change->column = q;
    change->before_op = w.last[q];
    change->after_op = after_op;
    for (int k = 0; k < SKED_I_ONCE_LAST; k++)
        change->before[k] = feature[k];
    feature[0] = (float)w.free_at[q];
    feature[1] = fresh;
    feature[2] = w.x->pace[w.x->group_of[q]];
    for (int k = 0; k < SKED_I_ONCE_LAST; k++)
        change->after[k] = feature[k];
}

/* Predecessors are followed now; devices that end in one change, and the op's own device last. One warp. */
__device__ static void place_op(const walk &w)
{
    const once_lesson *x = w.x;
    walk_head *h = w.head;
    const int lane = lane_id();
    const int32_t op = h->op, d = h->place, end = x->pred_ptr[op + 1];
    int32_t changed = 0;
    for (int32_t e = x->pred_ptr[op] + lane; e - lane < end; e += WARP) {
        bool shows = false;
        int32_t its = 0, from = 0;
        if (e < end && !w.followed[x->pred_op[e]]) {
            from = x->pred_op[e];
            its = w.device_of[from];
            w.followed[from] = 1;
            shows = its != d && w.last[its] == from;
        }
        const unsigned set = __ballot_sync(FULL, shows);
        if (shows)
            note_change(w, changed + __popc(set & ((1u << lane) - 1)), its, from, 0);
        changed += __popc(set);
    }
    __syncwarp();
    if (lane != 0)
        return;
    const double free_at = w.free_at[d];
    w.free_at[d] = h->start + time_of(w, op, d);
    note_change(w, changed, d, op, 1);
    if (w.last[d] < 0) {
        w.used[h->n_used++] = d;
        w.opened[x->group_of[d]]++;
    }
    w.last[d] = op;
    w.device_of[op] = d;
    h->makespan = later(w.free_at[d], h->makespan);
    h->busy += w.free_at[d] - free_at;
    h->work_left -= x->duration[op];
    h->left--;
    h->step++;
    h->n_changed = changed + 1;
}

/* max(0, base + f . weight) of one column. */
__device__ static inline float version(float base, const float *f, const float *weight, int32_t c,
                                       int32_t stride)
{
    return positive(base + f[0] * weight[c] + f[1] * weight[stride + c] + f[2] * weight[2 * stride + c]);
}

/* The scheduled op waits no more. */
template <bool grad> __device__ static void leave(const walk &w)
{
    const int32_t op = w.head->op;
    const double ready = w.ready_time[op];
    const float f[SKED_I_ONCE_WAIT] = {(float)ready, 1, (float)(ready + w.x->tail[op])};
    for (int32_t c = (int32_t)threadIdx.x; c < w.c; c += (int32_t)blockDim.x) {
        const float y = version(w.wait_rows[(int64_t)op * w.c + c], f, w.wait_feature, c, w.c);
        w.sum_wait[c] -= y;
        if (grad && y > 0) { /* its last version ends: the gradient is the total since it began */
            const float total = w.total_wait[c];
            add_to(w.dwait + (int64_t)op * w.c + c, total);
            for (int k = 0; k < SKED_I_ONCE_WAIT; k++)
                w.sum_wait_feature[k * w.c + c] += f[k] * total;
        }
    }
}

/* Versions of the ops told end, and others begin: a version's gradient is the total at its end less that at
 * its begin, so where both are on only their features differ. */
template <bool grad> __device__ static void hear(const walk &w)
{
    const int32_t told = w.head->n_told, stride = w.c;
    for (int32_t c = (int32_t)threadIdx.x; c < stride; c += (int32_t)blockDim.x) {
        float sum = w.sum_wait[c], feature[SKED_I_ONCE_WAIT] = {0, 0, 0};
        const float total = grad ? w.total_wait[c] : 0;
        for (int32_t k = 0; k < told; k++) {
            const walk_told *t = &w.told[k];
            const float row = w.wait_rows[(int64_t)t->op * stride + c];
            const float before = version(row, t->before, w.wait_feature, c, stride);
            const float after = version(row, t->after, w.wait_feature, c, stride);
            sum = sum - before + after;
            if (grad) {
                const float ends = before > 0 ? total : 0, begins = after > 0 ? total : 0;
                if (ends != begins)
                    add_to(w.dwait + (int64_t)t->op * stride + c, ends - begins);
                for (int j = 0; j < SKED_I_ONCE_WAIT; j++)
                    feature[j] += t->before[j] * ends - t->after[j] * begins;
            }
        }
        w.sum_wait[c] = sum;
        for (int j = 0; grad && j < SKED_I_ONCE_WAIT; j++)
            w.sum_wait_feature[j * stride + c] += feature[j];
    }
}

/* The data of the edges told, on every column. */
__device__ static void spread(const walk &w)
{
    const once_lesson *x = w.x;
    const int32_t from = w.head->place, group = x->group_of[from];
    const int32_t many = w.head->n_told * w.k;
    /* Two edges to the same op wait for each other: the same thread takes a column of all edges. */
    const int32_t begin = (int32_t)threadIdx.x, by = (int32_t)blockDim.x;
    for (int32_t i = begin; i < (x->twice ? w.k : many); i += by)
        for (int32_t t = x->twice ? 0 : i / w.k; t < (x->twice ? w.head->n_told : i / w.k + 1); t++) {
            const walk_told *told = &w.told[t];
            const int32_t q = x->twice ? i : i % w.k;
            const int64_t link = (int64_t)group * x->groups + x->group_of[q];
            double *arrive = w.arrive + (int64_t)told->op * w.k + q;
            const double at = q == from
                                  ? told->there
                                  : told->there + x->latency[link] + x->bytes[told->edge] * x->per_byte[link];
            *arrive = later(at, *arrive);
            if (q == from)
                w.local[(int64_t)told->op * w.k + q] += x->share[told->edge];
        }
}

/* A version of a device ends: its gradient to the row of its last op, and rows for the weights. */
__device__ static void device_end_grad(const walk &w, const walk_change *t, int slot, int32_t number)
{
    const int64_t q = t->column, row = (int64_t)w.number * 2 * w.x->n + number;
    const bool back = w.m->shape.learned;
    for (int32_t c = (int32_t)threadIdx.x; c < w.c; c += (int32_t)blockDim.x) {
        const float y = w.device[q * w.c + c];
        float dy = w.total_device[c] - w.device_from[q * w.c + c] + product(w, slot, c);
        if (back)
            dy += product(w, slot + 1, c);
        w.x->versions[row * w.c + c] = y;
        if (y > 0) {
            add_to(w.dlast + (int64_t)t->before_op * w.c + c, dy);
            for (int k = 0; k < SKED_I_ONCE_LAST; k++)
                w.sum_last_feature[k * w.c + c] += t->before[k] * dy;
        }
    }
}

/* What is known of the gradient of a device's part of the hidden rows goes to the weights' rows. */
__device__ static void device_end_rows(const walk &w, const walk_change *t, int32_t number)
{
    const int64_t q = t->column, row = (int64_t)w.number * 2 * w.x->n + number;
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x) {
        float *part = w.ddevice_part + q * w.w + c;
        w.x->dversions[row * w.w + c] = *part;
        *part *= w.scale[c];
        if (w.m->shape.learned)
            w.x->dback_versions[row * w.w + c] = w.dback_part[q * w.w + c];
    }
}

/* Ends the versions of the devices in w.changed that had one. All threads; barriers at both ends. */
__device__ static void end_devices(const walk &w)
{
    const bool back = w.m->shape.learned;
    const int32_t changed = w.head->n_changed, versions = w.head->n_versions;
    int32_t number = versions;
    for (int32_t j = 0; j < changed; j++)
        if (w.changed[j].before_op >= 0)
            device_end_rows(w, &w.changed[j], number++);
    __syncthreads();
    number = versions;
    const int32_t at_once = back ? ONCE_ROWS / 2 : ONCE_ROWS;
    for (int32_t j = 0; j < changed; j += at_once) {
        const int32_t end = changed - j < at_once ? changed : j + at_once;
        for (int32_t i = j; i < end; i++) {
            const int64_t q = w.changed[i].column;
            const int slot = (i - j) * (back ? 2 : 1);
            if (w.changed[i].before_op < 0)
                continue;
            multiply(w, slot, w.ddevice_part + q * w.w, w.m->device_turned, w.w, w.c);
            if (back)
                multiply(w, slot + 1, w.dback_part + q * w.w, w.m->back_turned, w.w, w.c);
        }
        __syncthreads();
        for (int32_t i = j; i < end; i++)
            if (w.changed[i].before_op >= 0)
                device_end_grad(w, &w.changed[i], (i - j) * (back ? 2 : 1), number++);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        w.head->n_versions = number;
}

/* New rows of the devices that changed. */
template <bool grad> __device__ static void begin_devices(const walk &w)
{
    for (int32_t c = (int32_t)threadIdx.x; c < w.c; c += (int32_t)blockDim.x) {
        float sum = w.sum_device[c];
        for (int32_t j = 0; j < w.head->n_changed; j++) {
            const walk_change *t = &w.changed[j];
            float *y = w.device + (int64_t)t->column * w.c + c;
            if (t->before_op >= 0)
                sum -= *y;
            *y = version(w.last_rows[(int64_t)t->after_op * w.c + c], t->after, w.last_feature, c, w.c);
            sum += *y;
            if (grad)
                w.device_from[(int64_t)t->column * w.c + c] = w.total_device[c];
        }
        w.sum_device[c] = sum;
    }
    for (int32_t j = 0; grad && j < w.head->n_changed; j++) {
        const int64_t at = (int64_t)w.changed[j].column * w.w;
        fill(w.ddevice_part + at, w.w, 0.0f);
        fill(w.dback_part + at, w.m->shape.learned ? w.w : 0, 0.0f);
    }
}

template <bool grad> __device__ static void append(const walk &w)
{
    const once_lesson *x = w.x;
    const int32_t op = w.head->op, first = x->succ_ptr[op], end = x->succ_ptr[op + 1];
    const bool many = w.head->n_ops == MOST_OPS; /* the ready ops change already while others get here */
    if (many)
        pop(w, (int32_t)threadIdx.x, (int32_t)blockDim.x, wait_block());
    else if (warp_id() == 0)
        pop(w, lane_id(), WARP, wait_warp());
    if (warp_id() == 1)
        place_op(w);
    leave<grad>(w);
    for (int32_t e = first; e < end; e += WARP) {
        if (warp_id() == 0)
            tell_successors(w, e, end);
        __syncthreads();
        hear<grad>(w);
        if (x->transfers)
            spread(w);
        __syncthreads();
    }
    if (first == end)
        __syncthreads();
    if (grad)
        end_devices(w);
    begin_devices<grad>(w);
    __syncthreads();
}

/* ------------------------------------------------------------------ backward policy */

/* Warp 0: all ops that could be removed are as likely. */
__device__ static void look_back_uniform(const walk &w)
{
    int32_t count = 0;
    for (int32_t k = lane_id(); k < w.head->n_used; k += WARP)
        count += !w.followed[w.last[w.used[k]]];
    for (int by = WARP / 2; by > 0; by /= 2)
        count += __shfl_xor_sync(FULL, count, by);
    if (lane_id() == 0)
        w.head->log_backward -= logf((float)count);
}

/* The parts of devices that changed, and their parts of the backward rows. */
__device__ static void renew_parts(const walk &w)
{
    const float *weight = w.m->parameter + w.m->shape.back_device;
    for (int32_t j = 0; j < w.head->n_changed; j += ONCE_ROWS / 2) {
        const int32_t end = w.head->n_changed - j < ONCE_ROWS / 2 ? w.head->n_changed : j + ONCE_ROWS / 2;
        multiply_devices(w, 0, j, end);
        for (int32_t i = j; i < end; i++)
            multiply(w, ONCE_ROWS / 2 + i - j, w.device + (int64_t)w.changed[i].column * w.c, weight, w.c,
                     w.w);
        __syncthreads();
        store_devices(w, 0, j, end);
        for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x)
            for (int32_t i = j; i < end; i++)
                w.back_part[(int64_t)w.changed[i].column * w.w + c] = product(w, ONCE_ROWS / 2 + i - j, c);
        __syncthreads();
    }
}

__device__ static void observe_back(const walk &w)
{
    const once_lesson *x = w.x;
    const float empties = (float)(x->devices - w.head->n_used);
    for (int32_t c = (int32_t)threadIdx.x; c < w.c; c += (int32_t)blockDim.x) {
        w.back_state[c] = w.sum_wait[c] / (float)x->n;
        w.back_state[w.c + c] = (w.sum_device[c] + empties * w.empty[c]) / (float)x->devices;
    }
    if (threadIdx.x == 0) {
        w.back_state[2 * w.c] = (float)w.head->makespan;
        w.back_state[2 * w.c + 1] = (float)w.head->left / (float)x->n;
    }
    __syncthreads();
    multiply(w, 0, w.back_state, w.m->parameter + w.m->shape.back_state, 2 * w.c + SKED_I_ONCE_BACK, w.w);
    __syncthreads();
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x)
        w.back_base[c] = product(w, 0, c) + w.m->parameter[w.m->shape.back_bias + c];
    __syncthreads();
}

/* A warp for each used device. */
__device__ static void score_back(const walk &w)
{
    const float *out = w.m->parameter + w.m->shape.back_out;
    for (int32_t d = warp_id(); d < w.head->n_used; d += warps()) {
        const int32_t q = w.used[d];
        const float *part = w.back_part + (int64_t)q * w.w;
        float sum = 0;
        for (int32_t c = lane_id(); c < w.w; c += WARP)
            sum += positive(part[c] + w.back_base[c]) * out[c];
        sum = warp_sum_float(sum);
        if (lane_id() == 0)
            w.back_logit[d] = w.followed[w.last[q]] ? -CUDART_INF_F : sum;
    }
    __syncthreads();
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
        logit_grad(w.back_logit, h->n_used, sum, chosen, -1);
}

__device__ static void back_grad(const walk &w)
{
    const float *out = w.m->parameter + w.m->shape.back_out;
    const int32_t states = 2 * w.c + SKED_I_ONCE_BACK;
    const int64_t step = (int64_t)w.number * w.x->n + w.head->step - 1; /* the one just made */
    for (int32_t c = (int32_t)threadIdx.x; c < w.w; c += (int32_t)blockDim.x) {
        float dbase = 0, dout = 0;
        for (int32_t d = 0; d < w.head->n_used; d++) {
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
    for (int32_t c = (int32_t)threadIdx.x; c < states; c += (int32_t)blockDim.x)
        w.x->back_states[step * states + c] = w.back_state[c];
    __syncthreads();
    multiply(w, 0, w.dbase, w.m->back_state_turned, w.w, 2 * w.c);
    __syncthreads();
    state_grad(w, (float)w.x->n);
}

template <bool grad> __device__ static void look_back(const walk &w)
{
    if (!w.m->shape.learned) {
        if (warp_id() == 0)
            look_back_uniform(w);
        return;
    }
    renew_parts(w);
    observe_back(w);
    score_back(w);
    if (warp_id() == 0)
        decide_back<grad>(w);
    __syncthreads();
    if (grad)
        back_grad(w);
}

/* ------------------------------------------------------------------ the whole */

template <bool grad> __device__ static void take_step(const walk &w)
{
    evaluate<grad>(w);
    if (warp_id() == 0)
        decide<grad>(w);
    __syncthreads();
    if (w.head->status != WALK_OK)
        return;
    if (grad)
        step_grad(w);
    append<grad>(w);
    look_back<grad>(w);
}

/* Versions that live to the end, and the sums of this trajectory. */
__device__ static void finish_grad(const walk &w)
{
    const once_small &at = w.m->at;
    float *small = w.x->small + (int64_t)w.number * at.small;
    for (int32_t k = (int32_t)threadIdx.x; k < w.head->n_used; k += (int32_t)blockDim.x) {
        const int32_t q = w.used[k];
        walk_change t = {q, w.last[q], -1, {}, {}};
        for (int j = 0; j < SKED_I_ONCE_LAST; j++)
            t.before[j] = w.device_feature[3 * (int64_t)q + j];
        w.changed[k] = t;
    }
    if (threadIdx.x == 0)
        w.head->n_changed = w.head->n_used;
    __syncthreads();
    end_devices(w);
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < (PAIR + 1) * w.w; i += (int32_t)blockDim.x) {
        float sum = 0;
        for (int k = 0; k < warps(); k++)
            sum += w.sum_pair[(int64_t)k * (PAIR + 1) * w.w + i];
        small[at.pair + i] = sum; /* pair, then out */
    }
#define COPY(name, count)                                                         \
    for (int32_t i = (int32_t)threadIdx.x; i < (count); i += (int32_t)blockDim.x) \
        small[at.name + i] = w.sum_##name[i];
    COPY(direct, DIRECT)
    COPY(wait_feature, SKED_I_ONCE_WAIT * w.c)
    COPY(last_feature, SKED_I_ONCE_LAST * w.c)
    COPY(empty, w.c)
    COPY(empty_part, w.w)
    COPY(back_out, w.m->shape.learned ? w.w : 0)
    COPY(back_bias, w.m->shape.learned ? w.w : 0)
#undef COPY
    if (threadIdx.x == 0)
        w.m->n_versions[w.x->first_walk + w.number] = w.head->n_versions;
}

__device__ static void bind(walk &w, const once_model *m, const once_lesson *x, int32_t lesson, int32_t block,
                            char *shared)
{
    const sked_i_once_shape &s = m->shape;
    w.m = m;
    w.x = x;
    w.lesson = lesson;
    w.number = block - x->first_walk;
    w.k = x->columns;
    w.c = s.context;
    w.w = s.width;
    w.scale = m->scale + (int64_t)lesson * w.w;
    w.op_rows = m->op + (int64_t)x->first_row * w.w;
    w.wait_rows = m->wait + (int64_t)x->first_row * w.c;
    w.last_rows = m->last + (int64_t)x->first_row * w.c;
    w.empty = m->empty + (int64_t)lesson * w.c;
    w.empty_part = m->empty_part + (int64_t)lesson * w.w;
    w.out = m->out + (int64_t)lesson * w.w;
    w.direct = m->direct + (int64_t)lesson * DIRECT;
    w.wait_feature = m->parameter + s.wait_feature;
    w.last_feature = m->parameter + s.last_feature;
    w.op = x->op + (int64_t)w.number * x->n;
    w.device_step = x->device + (int64_t)w.number * x->n;
    w.dop = x->dop + (int64_t)w.number * x->n * w.w;
    w.dwait = x->dwait + (int64_t)w.number * x->n * w.c;
    w.dlast = x->dlast + (int64_t)w.number * x->n * w.c;
    char *global = x->global + (int64_t)w.number * x->stride;
#define X(name, type, numbers)                                    \
    w.name = (type *)(x->offset[ONCE_PIECE_##name] >= 0           \
                          ? shared + x->offset[ONCE_PIECE_##name] \
                          : global + 16 * (int64_t)(-1 - x->offset[ONCE_PIECE_##name]));
    ONCE_PIECES(X)
#undef X
}

__device__ static void copy_state(int4 *to, const int4 *from, int32_t bytes)
{
    for (int32_t i = (int32_t)threadIdx.x; i < bytes / 16; i += (int32_t)blockDim.x)
        to[i] = from[i];
    __syncthreads();
}

/* Steps from `from` up to `until` of trajectory blockIdx.x. */
template <bool grad, int threads>
__global__ static void __launch_bounds__(threads, threads > 128 ? 1 : ONCE_SIDE_BY_SIDE)
    walk_kernel(const __grid_constant__ once_model m, int32_t from, int32_t until)
{
    SKED_DYNAMIC_SHARED(char, shared);
    __shared__ walk w;
    __shared__ once_lesson here; /* its numbers and pointers are read at every turn */
    const int32_t block = (int32_t)blockIdx.x, lesson = m.walk_lesson[block];
    for (int32_t i = (int32_t)threadIdx.x; i < (int32_t)(sizeof here / 4); i += (int32_t)blockDim.x)
        ((int32_t *)&here)[i] = ((const int32_t *)&m.lesson[lesson])[i];
    __syncthreads();
    if (threadIdx.x == 0)
        bind(w, &m, &here, lesson, block, shared);
    __syncthreads();
    const once_lesson *x = &here;
    if (x->n < from || (x->n == from && from > 0))
        return; /* complete */
    int4 *saved = (int4 *)(x->saved + (int64_t)w.number * x->shared_bytes);
    if (from > 0)
        copy_state((int4 *)shared, saved, x->shared_bytes);
    else
        reset<grad>(w);
    while (w.head->step < until && w.head->left > 0 && w.head->status == WALK_OK)
        take_step<grad>(w);
    __syncthreads();
    if (w.head->left > 0 && x->saved != NULL)
        copy_state(saved, (const int4 *)shared, x->shared_bytes);
    if (grad && w.head->left == 0)
        finish_grad(w);
    if (threadIdx.x == 0) {
        m.log_forward[block] = w.head->log_forward;
        m.log_backward[block] = w.head->log_backward;
        m.makespan[block] = w.head->left == 0 ? w.head->makespan : CUDART_NAN;
        m.status[block] = w.head->status | w.head->step << 8;
    }
}

template <bool grad>
static void launch(const once_model *m, int32_t threads, int32_t shared, int32_t from, int32_t until,
                   cudaStream_t stream)
{
    const unsigned walks = (unsigned)m->walks;
    if (threads > 128)
        SKED_LAUNCH((walk_kernel<grad, 256>), walks, (unsigned)threads, (size_t)shared, stream, *m, from,
                    until);
    else
        SKED_LAUNCH((walk_kernel<grad, 128>), walks, (unsigned)threads, (size_t)shared, stream, *m, from,
                    until);
}

void once_walk_launch(const once_model *m, int32_t threads, int32_t shared, bool grad, int32_t from,
                      int32_t until, cudaStream_t stream)
{
    (grad ? launch<true> : launch<false>)(m, threads, shared, from, until, stream);
}

sked_status once_walk_setup(int32_t shared, sked_error *err)
{
    sked_status st = SKED_OK;
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<true, 128>, most, shared));
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<true, 256>, most, shared));
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<false, 128>, most, shared));
    CUDA_TRY(cudaFuncSetAttribute(walk_kernel<false, 256>, most, shared));
cleanup:
    return st;
}
