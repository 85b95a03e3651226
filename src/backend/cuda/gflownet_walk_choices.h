/* The pairs among which a step chooses, and their features: choices.c and once_walk.c have the same in plain
 * C. */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_WALK_CHOICES_H
#define SKED_BACKEND_CUDA_GFLOWNET_WALK_CHOICES_H
#include "backend/cuda/gflownet_walk.h"

/* ------------------------------------------------------------------ choices: choices.c */

/* Above MOST_DEVICES used devices those that are free first, then as they were opened. */
__device__ static void mark_devices(const walk &w)
{
    const int32_t used = w.head->n_used;
    EACH_THREAD(i, used) {
        const double mine = w.free_at[w.used[i]];
        int32_t before = 0;
#pragma unroll 1
        for (int32_t j = 0; j < used && before < MOST_DEVICES; j++) {
            const double its = w.free_at[w.used[j]];
            before += its < mine || (its == mine && j < i);
        }
        w.taken[i] = before < MOST_DEVICES;
    }
    barrier();
}

/* Warp 0. */
__device__ static void list_columns(const walk &w, bool all)
{
    const once_lesson *x = w.x;
    const int lane = lane_id();
    const unsigned below = (1u << lane) - 1;
    const int32_t used = w.head->n_used;
    int32_t count = 0, empties = 0;
    EACH_LANE_TOGETHER(i, used) {
        const bool take = i < used && (all || w.taken[i]);
        const unsigned set = __ballot_sync(FULL, take);
        const int32_t at = count + __popc(set & below);
        if (take) {
            w.column[at] = w.used[i];
            w.count[at] = 1;
        }
        count += __popc(set);
    }
    EACH_LANE_TOGETHER(i, x->kinds) {
        const int32_t kind = i < x->kinds ? x->quickest[i] : 0;
        const int32_t first = x->kind_first[kind];
        const int32_t end = kind + 1 < x->kinds ? x->kind_first[kind + 1] : x->columns;
        bool take = i < x->kinds && w.opened[kind] < end - first;
        const int32_t place = empties + __popc(__ballot_sync(FULL, take) & below);
        take = take && (x->picky || place < MOST_DEVICES);
        if (take) {
            w.column[count + place - empties] = first + w.opened[kind];
            w.count[count + place - empties] = x->kind_size[kind] - w.opened[kind];
        }
        const int32_t more = __popc(__ballot_sync(FULL, take));
        count += more;
        empties += more;
    }
    __syncwarp();
    double least = CUDART_INF, most = 0;
    EACH_LANE(d, count) {
        const double at = w.free_at[w.column[d]];
        least = at < least ? at : least;
        most = later(most, at);
    }
    double unused = 0;
    warp_extremes(&least, &most, &unused);
    if (lane == 0) {
        w.head->n_columns = count;
        w.head->least_free = least;
        w.head->most_free = most;
    }
}

/* Over all ready ops: earliest data, longest tail, latest end of a path. */
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
    warp_extremes(&s.first, &s.top, &s.critical);
    return s;
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
    EACH_LANE(i, ready) {
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
    ready_sums s = measure(w, (int32_t)threadIdx.x, w.threads);
    if (lane_id() == 0) {
        w.reduce[warp_id()] = s.first;
        w.reduce[w.warps + warp_id()] = s.top;
        w.reduce[2 * w.warps + warp_id()] = s.critical;
    }
    barrier();
    if (threadIdx.x == 0) {
        for (int k = 1; k < w.warps; k++) {
            s.first = w.reduce[k] < s.first ? w.reduce[k] : s.first;
            s.top = later(s.top, w.reduce[w.warps + k]);
            s.critical = later(s.critical, w.reduce[2 * w.warps + k]);
        }
        note_ready(w, s);
    }
    barrier();
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
#pragma unroll 1
    for (int32_t i = (int32_t)threadIdx.x; i - (int32_t)threadIdx.x < w.head->n_ready; i += w.threads) {
        bool in = false;
        if (i < w.head->n_ready) {
            const unsigned long long key = bits_of(start_key(w, i));
            /* Long tails first: their bits are turned round. */
            in = by_tail ? key == start && ~bits_of(w.x->tail[w.ready[i]]) <= bound : key <= bound;
        }
        count += barrier_count(in);
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
            EACH_LANE(i, w.head->n_ready)
                longer += bits_of(start_key(w, i)) == start && ~bits_of(w.x->tail[w.ready[i]]) < tail;
            ties -= sked_i_warp_sum(longer);
        }
        EACH_LANE_TOGETHER(i, w.head->n_ready) {
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

__device__ static inline bool all_devices(const walk &w)
{
    return w.x->picky || w.head->n_used <= MOST_DEVICES;
}
/* Are all that could be chosen among the choices of the next step? Then one warp lists them. */
__device__ static inline bool few_choices(const walk &w)
{
    return all_devices(w) && w.head->n_ready <= MOST_OPS;
}
__device__ static void list_choices(const walk &w)
{
    list_columns(w, true);
    __syncwarp();
    take_all(w);
}

/* Where there are more, all threads pick some of them. */
__device__ static void fill_choices(const walk &w)
{
    const bool all = all_devices(w), many = w.head->n_ready > MOST_OPS;
    if (!all)
        mark_devices(w);
    if (warp_id() == 0) {
        list_columns(w, all);
        __syncwarp();
        if (!many)
            take_all(w);
    }
    barrier();
    if (many) {
        measure_many(w);
        pick_ops(w);
        barrier();
    }
}

/* ------------------------------------------------------------------ features */

__device__ static void observe_state(const walk &w)
{
    const once_lesson *x = w.x;
    const walk_head *h = w.head;
    const float empties = (float)(x->devices - h->n_used);
    EACH_THREAD(c, w.c) {
        w.state[c] = w.sum_wait[c] / (float)h->left;
        w.state[w.c + c] = (w.sum_device[c] + empties * w.far->empty[c]) / (float)x->devices;
    }
    const int32_t k = w.threads - 1 - (int32_t)threadIdx.x; /* the last warp has least to do */
    if (k >= SKED_I_STATE_FEATURES)
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

/* For each successor that is looked at, of each op, the two best columns: ahead.c. */
__device__ static void fill_ahead(const walk &w)
{
    EACH_THREAD(s, w.head->n_ops * AHEAD) {
        const int32_t to = w.x->ahead[(int64_t)w.row[s / AHEAD] * AHEAD + s % AHEAD];
        walk_ahead a = {CUDART_INF, CUDART_INF, -1};
        EACH(d, 0, to >= 0 ? w.head->n_columns : 0, 1) {
            const int32_t q = w.column[d];
            const double at = later(w.arrive[(int64_t)to * w.k + q], w.free_at[q]);
            if (at < a.first) {
                a.second = a.first;
                a.first = at;
                a.best = q;
            } else if (at < a.second) {
                a.second = at;
            }
        }
        w.ahead[s] = a;
    }
}

/* Latest end of a path over a successor of op i of the choices where that runs on column q. */
__device__ static double ahead_end(const walk &w, int32_t i, int32_t q)
{
    const once_lesson *x = w.x;
    const int32_t op = w.row[i];
    const double start = later(data_at(w, op, q), w.free_at[q]), time = time_of(w, op, q);
    double end = start + time;
    EACH(k, 0, AHEAD, 1) {
        const int64_t cell = (int64_t)op * AHEAD + k;
        const int32_t to = x->ahead[cell];
        if (to < 0)
            break;
        const walk_ahead *a = &w.ahead[i * AHEAD + k];
        const double lag = x->ahead_lag[cell], data = start + (isnan(lag) ? time : lag);
        const double arrive = w.arrive[(int64_t)to * w.k + q];
        const double here = later(later(arrive, data), start + time) + time_of(w, to, q);
        const double away =
            later(a->best == q ? a->second : a->first, data + x->ahead_hop[cell]) + x->duration[to];
        const double done = here < away ? here : away;
        if (done < CUDART_INF)
            end = later(end, done + x->tail[to] - x->duration[to]);
    }
    return end;
}

/* Mean share of the inputs of those successors that lies on column q. */
__device__ static float ahead_held(const walk &w, int32_t op, int32_t q)
{
    double held = 0;
    int32_t k = 0;
    for (; k < AHEAD && w.x->ahead[(int64_t)op * AHEAD + k] >= 0; k++)
        held += w.local[(int64_t)w.x->ahead[(int64_t)op * AHEAD + k] * w.k + q];
    return k > 0 ? (float)(held / k) : 0;
}

/* The earliest end of each op over the columns, and that of a path one op ahead; barriers inside. */
__device__ static void observe_ops(const walk &w)
{
    const int32_t columns = w.head->n_columns;
    if (w.transfers) {
        fill_ahead(w);
        barrier();
        EACH_THREAD(p, w.head->n_ops * columns)
            w.end[p] = ahead_end(w, p / columns, w.column[p % columns]);
        barrier();
    }
    EACH_THREAD(i, w.head->n_ops) {
        const int32_t op = w.row[i];
        double least = CUDART_INF, end = CUDART_INF;
        EACH(d, 0, columns, 1) {
            const int32_t q = w.column[d];
            const double finish = later(data_at(w, op, q), w.free_at[q]) + time_of(w, op, q);
            least = finish < least ? finish : least;
            if (w.transfers && finish < CUDART_INF)
                end = w.end[i * columns + d] < end ? w.end[i * columns + d] : end;
        }
        w.op_least[i] = least;
        if (w.transfers)
            w.op_end[i] = end;
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
    f[9] = squash(w.transfers ? (float)w.local[(int64_t)op * w.k + q] : 0.0f);
    f[10] = squash(f10);
    f[11] = squash(f11);
    const double far = w.transfers ? w.end[i * h->n_columns + d] : 0;
    const float f13 = w.transfers ? (float)(later(0, far - bound) * u) : 0;
    const float f14 = w.transfers ? (float)((far - w.op_end[i]) * u) : 0;
    f[12] = w.transfers ? squash((float)((far - end) * u)) : 0;
    f[13] = squash(f13);
    f[14] = squash(f14);
    f[15] = w.transfers ? squash(ahead_held(w, op, q)) : 0;
    const float g[DIRECT] = {clipped(f0), clipped(f11), clipped(f5),  f[5],         clipped(f8),
                             clipped(f2), clipped(f4),  clipped(f10), clipped(f14), clipped(f13)};
    for (int k = 0; k < DIRECT; k++) {
        sum += w.far->direct[k] * g[k];
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
    EACH_THREAD(s, t.ops * ONCE_CHUNK_DEVICES)
        if (s % ONCE_CHUNK_DEVICES < t.devices)
            pair_features<grad>(w, s, t.o + s / ONCE_CHUNK_DEVICES, t.d + s % ONCE_CHUNK_DEVICES);
}
#endif
