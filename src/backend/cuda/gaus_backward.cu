/* Gradients: of an op by what it finds itself, and of the ops behind its out-edges. */
#include "backend/cuda/gaus_steps.h"

/* dL/dE of a profile at step d, folded where pipelined; 0 outside. */
__device__ static inline double price_at(const sked_i_gaus_board &b, unsigned what, int32_t profile,
                                         int32_t d)
{
    const int32_t k = d + b.lead;
    if (k < 0 || d >= b.length - b.lead)
        return 0;
    const int64_t cell = (int64_t)profile * b.cells + (b.period > 0 ? k % b.period : d);
    double x = b.price[cell];
    if ((what & SKED_I_GAUS_WITH_CAPACITY) && b.profile[cell] > b.capacity[profile])
        x += b.control->coefficient[SKED_I_GAUS_CAPACITY] * (b.profile[cell] - b.capacity[profile]);
    return x;
}

/* What an op costs that starts at step d. */
__device__ static inline double price_of_start(const sked_i_gaus_board &b, unsigned what, int32_t i,
                                               int32_t d, double size)
{
    double sum = size != 0 ? size * price_at(b, what, b.profiles, d) : 0;
    for (int64_t u = b.use_ptr[i]; u < b.use_ptr[i + 1]; u++)
        sum += b.use_amount[u] * (price_at(b, what, b.use_profile[u], d) -
                                  price_at(b, what, b.use_profile[u], d + b.duration[i]));
    return sum;
}

/* By its own window: loads, and the beginning of its value. By lanes. */
__device__ static void own_window(const sked_i_gaus_board &b, unsigned what, int lane, int32_t i,
                                  const gaus_factor &own, double size, sked_i_gaus_pair *out)
{
    if (size == 0 && b.use_ptr[i] == b.use_ptr[i + 1])
        return;
    for (int32_t k = lane; k < own.len; k += 32) {
        double pdf, z;
        gaus_cdf(b.normal, own, own.low + k, &pdf, &z);
        const double slope = price_of_start(b, what, i, own.low + k, size) * pdf * own.inverse;
        out->mu -= slope;
        out->sigma -= slope * z;
    }
}

/* What moving one factor does to G, priced: q[t] is the price times G at first + 32 t + lane. By lanes. */
__device__ static inline void move_factor(const sked_i_gaus_board &b, const gaus_factor &f, int32_t first,
                                          int lane, const double *q, sked_i_gaus_pair *out)
{
    for (int t = 0; t < SKED_I_GAUS_TILES; t++) {
        double pdf, z;
        const double cdf = gaus_cdf(b.normal, f, first + 32 * t + lane, &pdf, &z);
        if (q[t] == 0 || pdf == 0)
            continue;
        /* F is not 0 here: the stretch begins with the last of all windows. */
        const double slope = q[t] / cdf * pdf * f.inverse;
        out->mu += slope;
        out->sigma += slope * z;
    }
}

/* Prices of the tiles from `first` on; false: nothing there costs anything. */
__device__ static inline bool price_tiles(const sked_i_gaus_board &b, unsigned what, int lane, double size,
                                          const gaus_stretch &s, int32_t first, double *q)
{
    const double least = 1e-12 * b.weight[b.profiles];
    bool any = false;
    for (int t = 0; t < SKED_I_GAUS_TILES; t++) {
        const int32_t d = first + 32 * t + lane;
        const double price = d < s.high ? price_at(b, what, b.profiles, d) : 0;
        q[t] = price > least ? size * price : 0;
        any = any || price > least;
    }
    return __any_sync(0xffffffffu, any) != 0;
}

/* By the end of its value: the op's own part by lanes, that of the consumers to passed. */
template <int W>
__device__ static void end_of_value(const sked_i_gaus_board &b, unsigned what, const gaus_team<W> &team,
                                    int32_t i, const gaus_factor &own, const gaus_stretch &s, double size,
                                    sked_i_gaus_pair *out)
{
    const int64_t end = b.succ_ptr[i + 1];
    double q[SKED_I_GAUS_TILES], p[SKED_I_GAUS_TILES];
    for (int32_t first = s.low; first < s.high; first += 32 * SKED_I_GAUS_TILES) {
        if (!price_tiles(b, what, team.lane, size, s, first, q))
            continue;
        gaus_product(b, team, i, own, s, first, p);
        for (int t = 0; t < SKED_I_GAUS_TILES; t++)
            q[t] *= p[t];
        if (team.rank == 0 && gaus_moves(own, s))
            move_factor(b, own, first, team.lane, q, out);
        for (int64_t e0 = b.succ_ptr[i] + team.rank * 32; e0 < end; e0 += W * 32) {
            gaus_factor f;
            sked_i_gaus_pair mine = {0, 0};
            unsigned mask = __ballot_sync(0xffffffffu, gaus_take(b, e0 + team.lane, end, s, &f));
            for (; mask != 0; mask &= mask - 1) {
                const int from = __ffs((int)mask) - 1;
                sked_i_gaus_pair x = {0, 0};
                move_factor(b, gaus_shuffle(f, from), first, team.lane, q, &x);
                x = {gaus_warp_sum(x.mu), gaus_warp_sum(x.sigma)};
                mine = team.lane == from ? x : mine;
            }
            if (e0 + team.lane < end) {
                b.passed[e0 + team.lane].mu += mine.mu;
                b.passed[e0 + team.lane].sigma += mine.sigma;
            }
        }
    }
}

/* One edge by its expected shortfall. */
__device__ static inline void shortfall_back(const sked_i_gaus_board &b, int32_t i, int64_t e, double weight,
                                             sked_i_gaus_pair *own)
{
    const int32_t to = b.edge_to[e];
    const double deviation = sqrt(b.sigma[i] * b.sigma[i] + b.sigma[to] * b.sigma[to]);
    double dm, ds;
    sked_i_normal_excess(b.normal, b.gap[e] - 0.5 + b.mu[i] - b.mu[to], deviation, &dm, &ds);
    own->mu += weight * dm;
    own->sigma += weight * ds * b.sigma[i] / deviation;
    b.passed[e].mu -= weight * dm;
    b.passed[e].sigma += weight * ds * b.sigma[to] / deviation;
}

template <int W>
__device__ static void edges_back(const sked_i_gaus_board &b, const gaus_team<W> &team, int32_t i,
                                  sked_i_gaus_pair *out)
{
    for (int64_t e = b.succ_ptr[i] + team.rank * 32 + team.lane; e < b.succ_ptr[i + 1]; e += W * 32)
        if (gaus_counts(b, e) && b.edge_to[e] != i)
            shortfall_back(b, i, e, b.control->coefficient[sked_i_gaus_family(b.edge_kind[e])], out);
}

template <int W>
__device__ static void backward_op(const sked_i_gaus_board &b, unsigned what, const gaus_team<W> &team,
                                   int32_t i)
{
    const gaus_factor own = gaus_factor_of(b, i, 0);
    sked_i_gaus_pair out = {0, 0};
    double size = what & SKED_I_GAUS_WITH_MEMORY ? b.memory[i] : 0;
    for (int64_t e = b.succ_ptr[i] + team.rank * 32 + team.lane; e < b.succ_ptr[i + 1]; e += W * 32)
        b.passed[e] = {0, 0};
    if (size != 0) {
        const gaus_stretch s = gaus_find_stretch(b, team, i, own);
        size = s.used ? size : 0;
        if (s.used)
            end_of_value(b, what, team, i, own, s, size, &out);
    }
    if (team.rank == 0)
        own_window(b, what, team.lane, i, own, size, &out);
    if (what & SKED_I_GAUS_WITH_EDGES)
        edges_back(b, team, i, &out);
    if (team.rank == 0 && team.lane == 0) {
        const double weight = b.control->coefficient[SKED_I_GAUS_LATENCY];
        double dm = 0, ds = 0;
        if (what & SKED_I_GAUS_WITH_LATENCY)
            sked_i_normal_excess(b.normal, b.mu[i] + b.duration[i] - b.steps - 0.5, b.sigma[i], &dm, &ds);
        out.mu += weight * dm + b.control->alpha * b.net[i];
        out.sigma += weight * ds;
    }
    out = {team.sum(out.mu), team.sum(out.sigma)};
    if (team.rank == 0 && team.lane == 0)
        b.own[i] = out;
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) backward_light(sked_i_gaus_board b, unsigned what)
{
    const gaus_team<1> team;
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + threadIdx.x / 32; i < b.ops; i += warps)
        if (b.succ_ptr[i + 1] - b.succ_ptr[i] <= SKED_I_GAUS_HEAVY)
            backward_op(b, what, team, (int32_t)i);
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) backward_heavy(sked_i_gaus_board b, unsigned what)
{
    const gaus_team<SKED_I_GAUS_TEAM> team;
    for (int32_t k = (int32_t)blockIdx.x; k < b.heavy_count; k += (int32_t)gridDim.x)
        backward_op(b, what, team, b.heavy[k]);
}

void sked_i_gaus_backward(const sked_i_gaus_board *board, unsigned what, cudaStream_t stream)
{
    const sked_i_gaus_board b = *board;
    SKED_LAUNCH(backward_light, b.light_blocks, SKED_I_GAUS_BLOCK, 0, stream, b, what);
    if (b.heavy_count > 0)
        SKED_LAUNCH(backward_heavy, b.heavy_blocks, SKED_I_GAUS_BLOCK, 0, stream, b, what);
}
