/*
 * Schedules of the stepwise policy: one block of threads walks one trajectory, state after state. The network
 * runs on all its threads; the choice and the growth of the partial schedule are the first warp's.
 */
#include "backend/cuda/rng_cuda.h"
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_tile_long.h"

/* ------------------------------------------------------------------ the partial schedule */

__device__ static void begin(const step_problem &p, int k)
{
    const int64_t row = (int64_t)k * p.ops;
#pragma unroll 1
    for (int i = threadIdx.x; i < p.ops; i += blockDim.x) {
        const int waits = p.pred_ptr[i + 1] - p.pred_ptr[i];
        p.waits[row + i] = waits;
        p.data[row + i] = 0;
        p.at[row + i] = p.ops + 1;
        p.gone_at[row + i] = p.ops + 1;
        p.ready_at[row + i] = waits == 0 ? 0 : p.ops + 1;
        p.queue[row + i] = -1;
    }
#pragma unroll 1
    for (int d = threadIdx.x; d < p.devices; d += blockDim.x) {
        p.free_at[(int64_t)k * p.devices + d] = 0;
        p.last[(int64_t)k * p.devices + d] = -1;
    }
    __syncthreads();
    if (threadIdx.x < SKED_STEP_WARP) {
        const int32_t *waits = p.waits + row;
        const int ready = step_list(
            p.ops, [=](int i) { return waits[i] == 0 ? i : -1; }, p.queue + row);
        if (threadIdx.x == 0) {
            p.queued[k] = ready;
            p.trouble[k] = 0;
            p.log_forward[k] = p.log_backward[k] = p.makespan[k] = 0;
            rng_seed(p.rng + 4 * k, p.seed, p.first + (uint64_t)k);
        }
    }
    __syncthreads();
}

/* Priorities of list scheduling: one thread draws, all take the logarithms. */
__device__ static void draw_noise(const step_problem &p, int k)
{
    double *noise = p.noise + (int64_t)k * p.ops, strength = 0;
    uint64_t *rng = p.rng + 4 * k;
    if (threadIdx.x == 0) {
        const double most = 4 * p.unit < 0.1 ? 4 * p.unit : 0.1;
        strength = most * rng_uniform(rng);
#pragma unroll 1
        for (int i = 0; i < p.ops; i++)
            noise[i] = (double)((rng_next(rng) >> 12) + 1) * 0x1.0p-53;
    }
    if (threadIdx.x < SKED_STEP_WARP) {
        strength = __shfl_sync(sked_step_all, strength, 0);
        __syncwarp();
#pragma unroll 1
        for (int i = threadIdx.x; i < p.ops; i += SKED_STEP_WARP)
            noise[i] = p.tail[i] - strength * log(-log(noise[i]));
    }
    __syncthreads();
}

/* Step `step` puts op on device d; by one thread. */
__device__ static void append(const step_problem &p, int k, int step, int op, int d)
{
    const int64_t row = (int64_t)k * p.ops, column = (int64_t)k * p.devices;
    const double start = p.free_at[column + d] > p.data[row + op] ? p.free_at[column + d] : p.data[row + op];
    const int before = p.last[column + d];
    if (before >= 0 && p.gone_at[row + before] > step)
        p.gone_at[row + before] = step;
#pragma unroll 1
    for (int e = p.pred_ptr[op]; e < p.pred_ptr[op + 1]; e++)
        if (p.gone_at[row + p.pred[e]] > step)
            p.gone_at[row + p.pred[e]] = step;
#pragma unroll 1
    for (int e = p.succ_ptr[op]; e < p.succ_ptr[op + 1]; e++) {
        const int to = p.succ[e];
        const double there = start + p.lag[e];
        if (there > p.data[row + to])
            p.data[row + to] = there;
        if (--p.waits[row + to] == 0) {
            p.queue[row + p.queued[k]++] = to;
            p.ready_at[row + to] = step + 1;
        }
    }
    p.op[row + step] = op;
    p.device[row + step] = d;
    p.at[row + op] = step;
    p.on[row + op] = d;
    p.start[row + op] = start;
    p.last[column + d] = op;
    p.free_at[column + d] = start + p.duration[op];
    if (p.free_at[column + d] > p.makespan[k])
        p.makespan[k] = p.free_at[column + d];
}

/*
 * Credit by steps: when a complete schedule may end at the earliest, as sked_i_partial_outlook has it, in the
 * state that `step` has made. By the first warp.
 */
__device__ __noinline__ static void note_outlook(const step_problem &p, int k, int step)
{
    const int64_t row = (int64_t)k * p.ops;
    const double *free_at = p.free_at + (int64_t)k * p.devices;
    double idle = -CUDART_INF, busy = 0, end = 0;
#pragma unroll 1
    for (int d = threadIdx.x; d < p.devices; d += SKED_STEP_WARP) {
        idle = fmax(idle, -free_at[d]);
        busy += free_at[d];
    }
    const double first_free = -step_warp_most(idle);
#pragma unroll 1
    for (int i = threadIdx.x; i < p.ops; i += SKED_STEP_WARP) {
        const bool placed = p.at[row + i] <= step, ready = p.ready_at[row + i] <= step + 1;
        const double start = placed ? p.start[row + i] : fmax(p.data[row + i], first_free);
        busy += placed ? 0 : p.duration[i];
        end = placed || ready ? fmax(end, start + p.tail[i]) : end;
    }
    end = fmax(step_warp_most(end), sked_i_warp_sum(busy) / p.devices);
    if (threadIdx.x == 0)
        p.outlook[row + step] = step < p.ops - 1 && end > p.makespan[k] ? end : p.makespan[k];
}

/* ------------------------------------------------------------------ choices, by the first warp */

/* Log-probability of pair i * devices + d. */
struct pair_scores {
    const step_work &w;
    int devices, count;
    double lse;
    __device__ double score(int pair) const
    {
        return step_slots(w, pair / devices)[pair % devices];
    }
    __device__ float logp(int pair) const
    {
        return (float)(score(pair) - lse);
    }
};

/* The better of the pairs of all lanes; before(a, b): a goes before b. */
template <class P, class F> __device__ static P best_of_warp(P mine, F before)
{
    for (int by = 16; by > 0; by /= 2) {
        P other = mine;
        other.key = __shfl_xor_sync(sked_step_all, mine.key, by);
        other.rank = __shfl_xor_sync(sked_step_all, mine.rank, by);
        other.pair = __shfl_xor_sync(sked_step_all, mine.pair, by);
        mine = before(other, mine) ? other : mine;
    }
    return mine;
}
/* The smallest key, then the largest rank, then the first. */
struct candidate {
    double key, rank;
    int pair;
};
__device__ static bool goes_before(const candidate &a, const candidate &b)
{
    if (a.pair < 0 || b.pair < 0)
        return b.pair < 0 && a.pair >= 0;
    return a.key != b.key ? a.key < b.key : a.rank != b.rank ? a.rank > b.rank : a.pair < b.pair;
}

__device__ static int choose_likeliest(const pair_scores &s)
{
    candidate best = {0, 0, -1};
#pragma unroll 1
    for (int i = threadIdx.x; i < s.count; i += SKED_STEP_WARP) {
        const candidate next = {-(double)s.logp(i), 0, i};
        best = goes_before(next, best) ? next : best;
    }
    return best_of_warp(best, goes_before).pair;
}

__device__ static int choose_drawn(const pair_scores &s, double rest)
{
    const int lane = threadIdx.x;
#pragma unroll 1
    for (int first = 0; first < s.count; first += SKED_STEP_WARP) {
        const int i = first + lane;
        const double share = i < s.count ? exp((double)s.logp(i)) : 0;
        double sum = share;
        for (int by = 1; by < SKED_STEP_WARP; by *= 2) {
            const double lower = __shfl_up_sync(sked_step_all, sum, by);
            sum += lane >= by ? lower : 0;
        }
        const unsigned hit = __ballot_sync(sked_step_all, i < s.count && rest < sum);
        if (hit != 0)
            return first + __ffs((int)hit) - 1;
        rest -= __shfl_sync(sked_step_all, sum, SKED_STEP_WARP - 1);
    }
    return choose_likeliest(s); /* rounding left a rest */
}

/* The pair of earliest start, then of the largest noise; empty devices in a random order. */
__device__ static int choose_listed(const step_work &w, int k, const pair_scores &s)
{
    const step_problem &p = w.p;
    const int64_t row = (int64_t)k * p.ops, column = (int64_t)k * p.devices;
    candidate best = {0, 0, -1};
#pragma unroll 1
    for (int i = threadIdx.x; i < s.count; i += SKED_STEP_WARP) {
        const int op = w.pick[i / p.devices];
        const double data = p.data[row + op], free_at = p.free_at[column + i % p.devices];
        const candidate next = {data > free_at ? data : free_at, p.noise[row + op], i};
        best = goes_before(next, best) ? next : best;
    }
    int pair = best_of_warp(best, goes_before).pair;
    if (threadIdx.x == 0 && p.last[column + pair % p.devices] < 0) {
        int empty = 0, d = 0;
#pragma unroll 1
        for (int j = 0; j < p.devices; j++)
            empty += p.last[column + j] < 0;
        int skip = (int)rng_below(p.rng + 4 * k, (uint64_t)empty);
        while (p.last[column + d] >= 0 || skip-- > 0)
            d++;
        pair = pair / p.devices * p.devices + d;
    }
    return __shfl_sync(sked_step_all, pair, 0);
}

__device__ static int choose_replayed(const step_work &w, int k, int step)
{
    const int64_t at = (int64_t)k * w.p.ops + step;
    const int op = w.p.op[at], d = w.p.device[at];
    int found = -1;
#pragma unroll 1
    for (int i = 0; i < w.count[0] && d >= 0 && d < w.p.devices; i++)
        found = w.pick[i] == op ? i * w.p.devices + d : found;
    return found;
}

__device__ static int choose(const step_work &w, int k, int step, const pair_scores &s)
{
    const step_problem &p = w.p;
    if (p.replay)
        return choose_replayed(w, k, step);
    if (p.greedy)
        return choose_likeliest(s);
    if (k < p.listed)
        return choose_listed(w, k, s);
    double rest = 0;
    if (threadIdx.x == 0)
        rest = rng_uniform(p.rng + 4 * k);
    return choose_drawn(s, __shfl_sync(sked_step_all, rest, 0));
}

/* ------------------------------------------------------------------ walks */

__device__ static void fail_at(const step_problem &p, int k, int step, gpu_walk_status status)
{
    if (threadIdx.x % SKED_STEP_WARP == 0)
        p.trouble[k] = status | step << 8;
}

/* log P_B of the step before. */
__device__ static void look_back(const step_work &w, int k, int step)
{
    const step_problem &p = w.p;
    const int lane = threadIdx.x % SKED_STEP_WARP;
    double logp = 0;
    if (w.z.learned) {
        const int op = p.op[(int64_t)k * p.ops + step - 1], *row = w.pick + w.count[0];
        const double lse = step_log_sum(w.count[1], [&](int i) { return (double)step_removal(w, i); });
        if (!(lse < CUDART_INF))
            fail_at(p, k, step, GPU_WALK_NO_PROBABILITY);
#pragma unroll 1
        for (int i = 0; i < w.count[1]; i++)
            logp = row[i] == op ? (float)(step_removal(w, i) - lse) : logp;
    } else {
        int removable = 0;
#pragma unroll 1
        for (int i = lane; i < p.ops; i += SKED_STEP_WARP)
            removable += (w.state[i] & STEP_IS_REMOVABLE) != 0;
        logp = -log((double)sked_i_warp_sum(removable));
    }
    if (lane == 0)
        p.log_backward[k] += logp;
    if (lane == 0 && p.flow != NULL)
        p.flow[(int64_t)k * p.ops + step - 1] += logp;
}

/* The rule in the logits of this step; its gradient will ask for the same times. */
__device__ static void apply_rule(const step_work &w, int k, int step)
{
    const step_problem &p = w.p;
    const double *free_at = p.free_at + (int64_t)k * p.devices;
#pragma unroll 1
    for (int d = threadIdx.x; p.free_until != NULL && d < p.devices; d += SKED_STEP_WARP)
        p.free_until[((int64_t)k * p.ops + step) * p.devices + d] = free_at[d];
    step_add_rule(w, k, free_at);
}

/* The next action. */
__device__ static void go_forward(const step_work &w, int k, int step)
{
    const step_problem &p = w.p;
    pair_scores s = {w, p.devices, w.count[0] * p.devices, 0};
    if (w.z.ruled)
        apply_rule(w, k, step);
    s.lse = step_log_sum(s.count, [&](int i) { return s.score(i); });
    if (!(s.lse < CUDART_INF)) {
        fail_at(p, k, step, GPU_WALK_NO_PROBABILITY);
        return;
    }
    const int pair = choose(w, k, step, s);
    if (pair < 0) {
        fail_at(p, k, step, GPU_WALK_NOT_LEGAL);
        return;
    }
    if (threadIdx.x == 0) {
        p.log_forward[k] += s.logp(pair);
        if (p.log_step != NULL)
            p.log_step[(int64_t)k * p.ops + step] = s.logp(pair);
        if (p.flow != NULL)
            p.flow[(int64_t)k * p.ops + step] = -s.logp(pair);
        append(p, k, step, w.pick[pair / p.devices], pair % p.devices);
    }
    __syncwarp();
    if (p.outlook != NULL)
        note_outlook(p, k, step);
}

/* From the state in w to its logits. */
template <step_drawing HOW> __device__ static void encode(const step_work &w, const step_load &load)
{
    SKED_DYNAMIC_SHARED(float, shared);
    const int tiles = step_tiles_of(w.p.ops);
    if (HOW == STEP_DRAW_LONG) {
        float *own = load.scratch + blockIdx.x * load.stride;
        const step_tiled first = {(step_tile *)w.narrow,
                                  (step_tile *)step_place(load.places.mail, shared, own),
                                  0,
                                  tiles,
                                  NULL,
                                  NULL};
        step_long_forward(w, step_long{first, (float4 *)w.x, 0, 0});
    } else {
        step_tile *mail = (step_tile *)(shared + load.places.mail);
        step_tile_forward(w, step_tiled{mail, mail + step_mail_lanes(tiles),
                                        (int)threadIdx.x / SKED_STEP_WARP, tiles, NULL, NULL});
    }
}

template <step_drawing HOW> __device__ static void visit(step_work &w, const step_load &load, int k, int step)
{
    step_read_state(w, k, step);
    __syncthreads();
    if (threadIdx.x < SKED_STEP_WARP)
        step_pick_rows(w, k);
    __syncthreads();
    if (w.count[0] + w.count[1] > 0)
        encode<HOW>(w, load);
    /* Two warps at once: one reads what the other leaves alone. */
    if (threadIdx.x / SKED_STEP_WARP == 0 && step < w.p.ops)
        go_forward(w, k, step);
    if (threadIdx.x / SKED_STEP_WARP == 1 && step > 0)
        look_back(w, k, step);
    __syncthreads();
}

/*
 * Lets trajectory k grow in shared memory: what is read and written step by step moves there. Rows are found
 * as before, from k * ops on.
 */
__device__ static void move_in(const step_problem &there, int k, float *tables, step_problem &p)
{
    const int n = there.ops, devices = there.devices;
    const int64_t row = (int64_t)k * n, column = (int64_t)k * devices;
    double *number = (double *)tables;
    int32_t *word = (int32_t *)(number + 3 * n + devices);
    p.start = number - row;
    p.data = number + n - row;
    p.noise = number + 2 * n - row;
    p.free_at = number + 3 * n - column;
    p.at = word - row;
    p.on = word + n - row;
    p.ready_at = word + 2 * n - row;
    p.gone_at = word + 3 * n - row;
    p.queue = word + 4 * n - row;
    p.waits = word + 5 * n - row;
    p.last = word + 6 * n - column;
}

/* What the gradient reads of it, back to where it belongs. */
__device__ static void move_out(const step_problem &p, int k, const step_problem &there)
{
    const int64_t row = (int64_t)k * p.ops;
#pragma unroll 1
    for (int i = threadIdx.x; i < p.ops; i += blockDim.x) {
        there.start[row + i] = p.start[row + i];
        there.data[row + i] = p.data[row + i];
        there.at[row + i] = p.at[row + i];
        there.on[row + i] = p.on[row + i];
        there.ready_at[row + i] = p.ready_at[row + i];
        there.gone_at[row + i] = p.gone_at[row + i];
        there.queue[row + i] = p.queue[row + i];
    }
}

template <step_drawing HOW, int THREADS, int RESIDENT>
__global__ static void __launch_bounds__(THREADS, RESIDENT)
    draw_kernel(const __grid_constant__ step_load load, const __grid_constant__ step_walk walk)
{
    SKED_DYNAMIC_SHARED(float, shared);
    __shared__ step_work w;
    const step_problem &p = w.p;
    const int from = walk.from, end = walk.end;
    int item = blockIdx.x;
    for (int turn = 0; turn < load.problems; turn++) {
        const int i = load.problem[turn].turn;
        if (load.problem[i].ops < walk.least || load.problem[i].ops > walk.most)
            continue;
        step_open(load, i, shared, w);
        __syncthreads();
        const bool inside = load.places.tables >= 0 && from == 0 && end > p.ops;
        for (; item < p.batch; item += gridDim.x) {
            if (inside && threadIdx.x == 0)
                move_in(load.problem[i], item, shared + load.places.tables, w.p);
            __syncthreads();
            if (from == 0)
                begin(p, item);
            if (from == 0 && !p.replay && !p.greedy && item < p.listed)
                draw_noise(p, item);
            for (int step = from; step < end && step <= p.ops && p.trouble[item] == 0; step++)
                visit<HOW>(w, load, item, step);
            if (inside)
                move_out(p, item, load.problem[i]);
            __syncthreads();
        }
        item -= p.batch;
        __syncthreads();
    }
}

typedef void (*draw_function)(step_load, step_walk);
static draw_function draw_of(step_drawing how)
{
    switch (how) {
    case STEP_DRAW_DENSE:
        return draw_kernel<STEP_DRAW_DENSE, TILE_FEW, TILE_RESIDENT>;
    case STEP_DRAW_LONG:
        return draw_kernel<STEP_DRAW_LONG, LONG_WARPS * SKED_STEP_WARP, 1>;
    default:
        return draw_kernel<STEP_DRAW_TILES, SKED_STEP_THREADS, 1>;
    }
}

void sked_i_step_draw(const step_load *load, step_drawing how, int threads, int blocks, size_t shared,
                      const step_walk *walk, cudaStream_t stream)
{
    SKED_LAUNCH(draw_of(how), blocks, threads, shared, stream, *load, *walk);
}

cudaError_t sked_i_step_draw_allow(step_drawing how, size_t shared)
{
    return cudaFuncSetAttribute(draw_of(how), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
}
