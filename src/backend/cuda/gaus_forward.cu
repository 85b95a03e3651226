/* What ops add to the profiles, and the violations of edges and latency. */
#include "backend/cuda/gaus_steps.h"

/* Adds to the change of a profile at step d: times before the first cell count as it. */
__device__ static inline void add_change(const sked_i_gaus_board &b, int32_t profile, int32_t d,
                                         long long amount)
{
    const int64_t k = (int64_t)d + b.lead, copy = (int)blockIdx.x % b.copies;
    const int64_t row = copy * (b.profiles + 1) + profile;
    if (amount != 0 && k < b.length)
        atomicAdd(&b.change[row * b.length + (k < 0 ? 0 : k)], (unsigned long long)amount);
}

/*
 * The rise of F over the tile from step `first` on, as an integer amount per lane. Integers are taken of F
 * and not of its rise, so that what an op adds and takes away again is the same to the last bit. *before: F
 * at the step before the tile.
 */
__device__ static inline long long rise(double scaled, double now, int lane, long long *before)
{
    const long long level = llrint(scaled * now);
    const long long last = __shfl_up_sync(0xffffffffu, level, 1), was = lane == 0 ? *before : last;
    *before = __shfl_sync(0xffffffffu, level, 31);
    return level - was;
}

/* What op i adds while it runs. */
__device__ static void book_loads(const sked_i_gaus_board &b, int lane, int32_t i, const gaus_factor &own)
{
    double pdf, z;
    for (int64_t u = b.use_ptr[i]; u < b.use_ptr[i + 1]; u++) {
        const int32_t p = b.use_profile[u];
        const double scaled = b.use_amount[u] * b.scale[p];
        long long before = 0;
        for (int32_t k = 0; k <= own.len; k += 32) {
            const int32_t d = own.low + k + lane;
            const long long mass = rise(scaled, gaus_cdf(b.normal, own, d, &pdf, &z), lane, &before);
            if (k + lane > own.len)
                continue;
            add_change(b, p, d, mass);
            add_change(b, p, d + b.duration[i], -mass);
        }
    }
}

/* The value of op i begins with F and ends with G. */
template <int W>
__device__ static void book_value(const sked_i_gaus_board &b, const gaus_team<W> &team, int32_t i,
                                  const gaus_factor &own)
{
    const double scaled = b.memory[i] * b.scale[b.profiles];
    const gaus_stretch s = gaus_find_stretch(b, team, i, own);
    double p[SKED_I_GAUS_TILES], pdf, z;
    long long before = 0;
    if (!s.used)
        return;
    for (int32_t k = 0; team.rank == 0 && k <= own.len; k += 32) {
        const int32_t d = own.low + k + team.lane;
        const long long mass = rise(scaled, gaus_cdf(b.normal, own, d, &pdf, &z), team.lane, &before);
        if (k + team.lane <= own.len)
            add_change(b, b.profiles, d, mass);
    }
    before = 0;
    for (int32_t first = s.low; first <= s.high; first += 32 * SKED_I_GAUS_TILES) {
        gaus_product(b, team, i, own, s, first, p);
        for (int t = 0; team.rank == 0 && t < SKED_I_GAUS_TILES; t++) {
            const int32_t d = first + 32 * t + team.lane;
            const long long mass = rise(scaled, d < s.high ? p[t] : 1, team.lane, &before);
            if (d <= s.high)
                add_change(b, b.profiles, d, -mass);
        }
    }
}

/* Violations of the out-edges of i, by lanes. */
template <int W>
__device__ static void add_edges(const sked_i_gaus_board &b, const gaus_team<W> &team, int32_t i, double *sum)
{
    for (int64_t e = b.succ_ptr[i] + team.rank * 32 + team.lane; e < b.succ_ptr[i + 1]; e += W * 32) {
        const int32_t to = b.edge_to[e];
        if (!gaus_counts(b, e) || to == i)
            continue;
        const double deviation = sqrt(b.sigma[i] * b.sigma[i] + b.sigma[to] * b.sigma[to]);
        double dm, ds;
        sum[sked_i_gaus_family(b.edge_kind[e])] +=
            sked_i_normal_excess(b.normal, b.gap[e] - 0.5 + b.mu[i] - b.mu[to], deviation, &dm, &ds);
    }
}

template <int W>
__device__ static void forward_op(const sked_i_gaus_board &b, const gaus_team<W> &team, int32_t i,
                                  unsigned what, double *sum)
{
    const gaus_factor own = gaus_factor_of(b, i, 0);
    if (team.rank == 0)
        book_loads(b, team.lane, i, own);
    if ((what & SKED_I_GAUS_WITH_MEMORY) && b.memory[i] != 0)
        book_value(b, team, i, own);
    if (what & SKED_I_GAUS_WITH_EDGES)
        add_edges(b, team, i, sum);
    if (team.rank != 0 || team.lane != 0)
        return;
    double dm, ds;
    if (what & SKED_I_GAUS_WITH_LATENCY)
        sum[2] +=
            sked_i_normal_excess(b.normal, b.mu[i] + b.duration[i] - b.steps - 0.5, b.sigma[i], &dm, &ds);
    sum[3] += b.net[i] * b.mu[i];
}

/* Sums of a block into its place of partial. */
__device__ static void keep_sums(const sked_i_gaus_board &b, int place, const double *sum)
{
    const gaus_team<SKED_I_GAUS_TEAM> block;
    for (int k = 0; k < SKED_I_GAUS_SUMS; k++) {
        const double all = block.sum(sum[k]);
        if (threadIdx.x == 0)
            b.partial[place * SKED_I_GAUS_SUMS + k] = all;
    }
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) forward_light(sked_i_gaus_board b, unsigned what)
{
    const gaus_team<1> team;
    double sum[SKED_I_GAUS_SUMS] = {0, 0, 0, 0};
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + threadIdx.x / 32; i < b.ops; i += warps)
        if (b.succ_ptr[i + 1] - b.succ_ptr[i] <= SKED_I_GAUS_HEAVY)
            forward_op(b, team, (int32_t)i, what, sum);
    keep_sums(b, (int)blockIdx.x, sum);
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) forward_heavy(sked_i_gaus_board b, unsigned what)
{
    const gaus_team<SKED_I_GAUS_TEAM> team;
    double sum[SKED_I_GAUS_SUMS] = {0, 0, 0, 0};
    for (int32_t k = (int32_t)blockIdx.x; k < b.heavy_count; k += (int32_t)gridDim.x)
        forward_op(b, team, b.heavy[k], what, sum);
    keep_sums(b, b.light_blocks + (int)blockIdx.x, sum);
}

void sked_i_gaus_forward(const sked_i_gaus_board *board, unsigned what, cudaStream_t stream)
{
    const sked_i_gaus_board b = *board;
    SKED_LAUNCH(forward_light, b.light_blocks, SKED_I_GAUS_BLOCK, 0, stream, b, what);
    if (b.heavy_count > 0)
        SKED_LAUNCH(forward_heavy, b.heavy_blocks, SKED_I_GAUS_BLOCK, 0, stream, b, what);
}
