/* Busy cells, edges and latency with devices: expectations forward, gradients backward. */
#include "backend/cuda/gaus_device.h"

typedef sked_i_gaus_device_board board;

static const unsigned all_lanes = 0xffffffffu;

/* ------------------------------------------------------------------ the rise of one end of an op */

/* r is 0 before low and 1 from low + len on; the boundary k lies at low + 1 + k. */
struct rise {
    int32_t low, len;
    double first, sigma, inverse; /* first: of boundary 0 from the mean */
};

__device__ static inline rise rise_at(double mu, double sigma)
{
    const double reach = SKED_I_GAUS_REACH * sigma, low = floor(mu - reach);
    return {(int32_t)low, (int32_t)(floor(mu + reach) - low) + 1, low + 1 - mu, sigma, 1 / sigma};
}

/* F, its density and H at a boundary. */
struct border {
    double cdf, pdf, area;
};

__device__ static inline border border_at(const board &b, const rise &r, int32_t k)
{
    border x = {k < 0 ? 0.0 : 1.0, 0, k < 0 ? 0 : r.first + k};
    if (k < 0 || k >= r.len - 1)
        return x;
    x.cdf = sked_i_normal_at(b.normal, (r.first + k) * r.inverse, &x.pdf);
    x.area = (r.first + k) * x.cdf + r.sigma * x.pdf;
    return x;
}

/* What the lane before has; the first one takes it from `carry`, which gets that of the last. */
__device__ static inline double from_before(double x, int lane, double *carry)
{
    const double last = __shfl_up_sync(all_lanes, x, 1), was = lane == 0 ? *carry : last;
    *carry = __shfl_sync(all_lanes, x, 31);
    return was;
}

/* ------------------------------------------------------------------ kinds of devices */

/* Is op i busy on devices of kind k, and does it run there at all? */
__device__ static inline bool busy_on(const board &b, int64_t i, int32_t k)
{
    const double time = b.time[i * b.kinds + k];
    return time > 0 && time < CUDART_INF;
}
/* Has it a share of them? Identical devices always have all of it. */
__device__ static inline bool shares_kind(const board &b, int64_t i, int32_t k)
{
    return b.equal || b.by_kind[i * b.kinds + k] > 0;
}
/* Chance that op i is busy anywhere; with only >= 0: on devices of that kind. */
__device__ static inline double chance_of(const board &b, int64_t i, int32_t only)
{
    double chance = 0;
    for (int32_t k = 0; k < b.kinds && !b.equal; k++)
        chance += (only < 0 || k == only) && busy_on(b, i, k) ? b.by_kind[i * b.kinds + k] : 0;
    return b.equal ? 1 : chance;
}
/* Is device d one of those that an end is booked for? */
__device__ static inline bool takes(const board &b, int64_t i, int32_t d, int32_t only)
{
    const int32_t k = b.of[d];
    return (only < 0 || k == only) && busy_on(b, i, k);
}

/* ------------------------------------------------------------------ busy cells, forward */

/* Integers are taken of r and not of its rise: what is booked and taken away again is the same. */
__device__ static inline void book(const board &b, int64_t row, int32_t c, double scaled, double now,
                                   double before)
{
    const long long change = llrint(scaled * now) - llrint(scaled * before);
    const int64_t copy = (int)blockIdx.x % b.copies;
    if (change != 0 && c < b.cells)
        atomicAdd(&b.change[(copy * b.rows + row) * b.cells + (c < 0 ? 0 : c)], (unsigned long long)change);
}

/* One end of op i, for the devices of one kind (only >= 0) or of all where it is busy. */
__device__ static void book_end(const board &b, int lane, int64_t i, int32_t only, double at, double sign)
{
    const rise r = rise_at(at, b.sigma[i]);
    const double chance = chance_of(b, i, only);
    double area = 0, cell = 0;
    for (int32_t k0 = 0; k0 <= r.len; k0 += 32) {
        const int32_t k = k0 + lane, c = r.low + k;
        const double now_area = border_at(b, r, k).area, was = from_before(now_area, lane, &area);
        const double now = k < r.len ? now_area - was : 1, before = from_before(now, lane, &cell);
        if (k > r.len)
            continue;
        for (int32_t d = 0; d < b.devices; d++)
            if (b.share[i * b.devices + d] > 0 && takes(b, i, d, only))
                book(b, d, c, sign * b.share[i * b.devices + d] * b.scale[d], now, before);
        for (int64_t u = b.use_ptr[i]; u < b.use_ptr[i + 1]; u++) {
            const int64_t row = (int64_t)b.devices + b.use_pool[u];
            book(b, row, c, sign * chance * b.use_amount[u] * b.scale[row], now, before);
        }
    }
}

__device__ static void occupy(const board &b, int lane, int64_t i)
{
    bool any = !b.equal; /* unequal devices book a beginning even where it is none */
    for (int32_t k = 0; k < b.kinds; k++)
        any = any || busy_on(b, i, k);
    if (!any)
        return;
    book_end(b, lane, i, -1, b.mu[i], 1);
    for (int32_t k = 0; k < b.kinds; k++)
        if (shares_kind(b, i, k) && busy_on(b, i, k))
            book_end(b, lane, i, k, b.mu[i] + b.time[i * b.kinds + k], -1);
}

/* ------------------------------------------------------------------ edges */

/* Expected shortfall; its derivatives by the difference of means and its deviation. */
struct shortfall {
    double value, dm, ds, deviation;
};

/* Identical devices. *gain: by how much a device in common lowers it. */
__device__ static shortfall look(const board &b, int64_t e, double *gain)
{
    const int32_t from = b.edge_from[e], to = b.edge_to[e], m = b.devices;
    const double more = b.transfer != NULL ? b.transfer[e] : 0;
    const double gap = b.lag[e] + b.mu[from] - b.mu[to];
    shortfall r = {};
    r.deviation = sqrt(b.sigma[from] * b.sigma[from] + b.sigma[to] * b.sigma[to]);
    r.value = gaus_excess(b.normal, gap, r.deviation, &r.dm, &r.ds);
    *gain = 0;
    if (!(more > 0) || m <= 1)
        return r;
    double dm, ds, same = 0;
    for (int32_t d = 0; d < m; d++)
        same += b.share[(int64_t)from * m + d] * b.share[(int64_t)to * m + d];
    const double away = gaus_excess(b.normal, gap + more, r.deviation, &dm, &ds);
    *gain = r.value - away;
    r.value = same * r.value + (1 - same) * away;
    r.dm = same * r.dm + (1 - same) * dm;
    r.ds = same * r.ds + (1 - same) * ds;
    return r;
}

__device__ static inline double pass(const board &b, int64_t e, int32_t k, int32_t l)
{
    const int32_t pair = k * b.kinds + l;
    return fmin(b.latency[b.links[e] + pair] + b.bytes[e] * b.per_byte[pair], b.longest);
}

__device__ static inline double add_shortfall(const board &b, double gap, double chance, shortfall *r)
{
    double dm, ds;
    const double h = gaus_excess(b.normal, gap, r->deviation, &dm, &ds);
    r->value += chance * h;
    r->dm += chance * dm;
    r->ds += chance * ds;
    return h;
}

/*
 * Unequal devices: see cpu/gaus/transfer.c. traded of an edge: dvalue/dA and dvalue/dB by kind, then by how
 * much a share of one device in common lowers the value.
 */
__device__ static shortfall look_kinds(const board &b, int64_t e)
{
    const int64_t from = b.edge_from[e], to = b.edge_to[e], count = b.kinds;
    const double *a = b.by_kind + from * count, *c = b.by_kind + to * count;
    double *da = b.traded + e * 3 * count, *db = da + count, *own = db + count;
    shortfall r = {};
    r.deviation = sqrt(b.sigma[from] * b.sigma[from] + b.sigma[to] * b.sigma[to]);
    for (int32_t k = 0; k < count; k++)
        da[k] = db[k] = own[k] = 0;
    for (int32_t d = 0; d < b.devices; d++)
        own[b.of[d]] += b.share[from * b.devices + d] * b.share[to * b.devices + d];
    for (int32_t k = 0; k < count; k++) {
        const double same = own[k], time = b.time[from * count + k];
        own[k] = 0;
        if (!(a[k] > 0) || time == CUDART_INF)
            continue;
        const double gap = b.lag[e] + (b.follows[e] > 0 ? time : 0) + b.mu[from] - b.mu[to];
        if (c[k] > 0)
            own[k] = add_shortfall(b, gap, b.members[k] > 1 ? same : a[k] * c[k], &r);
        for (int32_t l = 0; l < count; l++) {
            if (!(c[l] > 0))
                continue;
            const double h =
                l == k && b.members[k] == 1
                    ? own[k]
                    : add_shortfall(b, gap + pass(b, e, k, l), a[k] * c[l] - (k == l ? same : 0), &r);
            da[k] += c[l] * h;
            db[l] += a[k] * h;
            own[k] -= l == k ? h : 0;
        }
    }
    return r;
}

/* ------------------------------------------------------------------ latency */

/* By how much op i ends late on a device of kind k. */
__device__ static inline double late_on(const board &b, int64_t i, int32_t k, double *dm, double *ds)
{
    return gaus_excess(b.normal, b.mu[i] + b.time[i * b.kinds + k] - b.cells, b.sigma[i], dm, ds);
}
__device__ static inline double chance_on(const board &b, int64_t i, int32_t k)
{
    if (b.equal)
        return 1;
    return b.time[i * b.kinds + k] < CUDART_INF ? b.by_kind[i * b.kinds + k] : 0;
}

/* ------------------------------------------------------------------ forward */

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) kinds_kernel(board b)
{
    const int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_BLOCK + threadIdx.x;
    if (i >= b.ops)
        return;
    double *sum = b.by_kind + i * b.kinds;
    for (int32_t k = 0; k < b.kinds; k++)
        sum[k] = 0;
    for (int32_t d = 0; d < b.devices; d++)
        sum[b.of[d]] += b.share[i * b.devices + d];
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) forward_kernel(board b)
{
    const gaus_team<SKED_I_GAUS_TEAM> block;
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    const int lane = block.lane;
    double sum[SKED_I_GAUS_DEVICE_SUMS] = {0, 0}, dm, ds, gain;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + block.rank; i < b.ops; i += warps) {
        occupy(b, lane, i);
        for (int64_t e = b.succ_ptr[i] + lane; e < b.succ_ptr[i + 1]; e += 32)
            sum[0] += b.equal ? look(b, e, &gain).value : look_kinds(b, e).value;
        for (int32_t k = lane; k < b.kinds; k += 32)
            if (chance_on(b, i, k) > 0)
                sum[1] += chance_on(b, i, k) * late_on(b, i, k, &dm, &ds);
    }
    for (int k = 0; k < SKED_I_GAUS_DEVICE_SUMS; k++) {
        const double all = block.sum(sum[k]);
        if (threadIdx.x == 0)
            b.partial[(int)blockIdx.x * SKED_I_GAUS_DEVICE_SUMS + k] = all;
    }
}

void sked_i_gaus_device_forward(const sked_i_gaus_device_board *at, cudaStream_t stream)
{
    const board b = *at;
    const unsigned blocks = (unsigned)((b.ops + SKED_I_GAUS_BLOCK - 1) / SKED_I_GAUS_BLOCK);
    if (!b.equal)
        SKED_LAUNCH(kinds_kernel, blocks > 0 ? blocks : 1, SKED_I_GAUS_BLOCK, 0, stream, b);
    SKED_LAUNCH(forward_kernel, b.blocks, SKED_I_GAUS_BLOCK, 0, stream, b);
}

/* ------------------------------------------------------------------ busy cells, backward */

/* What the prices of one row do to an op by one tile of its rise; `load` as a whole, the rest by lanes. */
struct tile {
    int32_t c;                 /* cell of this lane; -1: none */
    double cell, dcell, scell; /* r and its derivatives there */
    int32_t after;             /* first cell after the rise; -1: not counted in this tile */
};

__device__ static inline double collect(const board &b, const tile &t, int64_t row, double weight,
                                        sked_i_gaus_pair *out)
{
    const double price = t.c >= 0 ? b.price[row * b.cells + t.c] : 0;
    const double *prefix = b.prefix + row * (b.cells + 1);
    out->mu += weight * price * t.dcell;
    out->sigma += weight * price * t.scell;
    const double load = gaus_warp_sum(price * t.cell);
    return t.after >= 0 ? load + prefix[b.cells] - prefix[t.after] : load;
}

__device__ static void collect_rows(const board &b, int lane, int64_t i, int32_t only, double sign,
                                    const tile &t, sked_i_gaus_pair *out)
{
    const double chance = chance_of(b, i, only);
    double pools = 0; /* what a share costs in all pools together */
    for (int64_t u = b.use_ptr[i]; u < b.use_ptr[i + 1]; u++) {
        const double amount = b.use_amount[u];
        pools += amount * collect(b, t, (int64_t)b.devices + b.use_pool[u], sign * chance * amount, out);
    }
    for (int32_t d = 0; d < b.devices; d++) {
        if (!takes(b, i, d, only))
            continue;
        const double load = collect(b, t, d, sign * b.share[i * b.devices + d], out);
        if (lane == 0)
            b.dshare[i * b.devices + d] += sign * (load + (b.equal ? 0 : pools));
    }
}

/* What book_end did, backwards. */
__device__ static void collect_end(const board &b, int lane, int64_t i, int32_t only, double at, double sign,
                                   sked_i_gaus_pair *out)
{
    const rise r = rise_at(at, b.sigma[i]);
    const int32_t after = min(b.cells, max(0, r.low + r.len));
    border before = {0, 0, 0};
    for (int32_t k0 = 0; k0 < r.len; k0 += 32) {
        const int32_t k = k0 + lane, c = r.low + k;
        const border now = border_at(b, r, k);
        tile t = {k < r.len && c >= 0 && c < b.cells ? c : -1, 0, 0, 0, k0 == 0 ? after : -1};
        t.cell = now.area - from_before(now.area, lane, &before.area);
        t.dcell = from_before(now.cdf, lane, &before.cdf) - now.cdf;
        t.scell = now.pdf - from_before(now.pdf, lane, &before.pdf);
        collect_rows(b, lane, i, only, sign, t, out);
    }
}

__device__ static void occupy_back(const board &b, int lane, int64_t i, sked_i_gaus_pair *out)
{
    bool any = !b.equal;
    for (int32_t k = 0; k < b.kinds; k++)
        any = any || busy_on(b, i, k);
    if (!any)
        return;
    collect_end(b, lane, i, -1, b.mu[i], 1, out);
    for (int32_t k = 0; k < b.kinds; k++)
        if (shares_kind(b, i, k) && busy_on(b, i, k))
            collect_end(b, lane, i, k, b.mu[i] + b.time[i * b.kinds + k], -1, out);
}

/* ------------------------------------------------------------------ backward */

/* Out-edges of op i by lanes; traded is priced. */
__device__ static void edges_back(const board &b, int lane, int64_t i, sked_i_gaus_pair *out)
{
    const double weight = b.control->coefficient[SKED_I_GAUS_DEPENDENCY];
    for (int64_t e = b.succ_ptr[i] + lane; e < b.succ_ptr[i + 1]; e += 32) {
        double gain = 0;
        const shortfall r = b.equal ? look(b, e, &gain) : look_kinds(b, e);
        if (b.equal)
            b.traded[e] = weight * gain;
        for (int32_t k = 0; k < 3 * b.kinds && !b.equal; k++)
            b.traded[e * 3 * b.kinds + k] *= weight;
        out->mu += weight * r.dm;
        out->sigma += weight * r.ds * b.sigma[i] / r.deviation;
        b.passed[e] = {-weight * r.dm, weight * r.ds * b.sigma[b.edge_to[e]] / r.deviation};
    }
}

__device__ static void latency_back(const board &b, int lane, int64_t i, sked_i_gaus_pair *out)
{
    const double weight = b.control->coefficient[SKED_I_GAUS_LATENCY];
    double dm, ds;
    for (int32_t k = lane; k < b.kinds; k += 32) {
        const double chance = chance_on(b, i, k);
        if (!(chance > 0))
            continue;
        late_on(b, i, k, &dm, &ds);
        out->mu += weight * chance * dm;
        out->sigma += weight * chance * ds;
    }
    for (int32_t d = lane; d < b.devices && !b.equal; d += 32)
        if (chance_on(b, i, b.of[d]) > 0)
            b.dshare[i * b.devices + d] += weight * late_on(b, i, b.of[d], &dm, &ds);
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) backward_kernel(board b)
{
    const gaus_team<1> team;
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + threadIdx.x / 32; i < b.ops; i += warps) {
        sked_i_gaus_pair out = {0, 0};
        for (int32_t d = team.lane; d < b.devices; d += 32)
            b.dshare[i * b.devices + d] = 0;
        __syncwarp();
        occupy_back(b, team.lane, i, &out);
        __syncwarp();
        edges_back(b, team.lane, i, &out);
        latency_back(b, team.lane, i, &out);
        out = {team.sum(out.mu), team.sum(out.sigma)};
        if (team.lane == 0)
            b.own[i] = out;
    }
}

/* What edge e gives to the share of device d at one end; there: the share of the other end; side 0: from. */
__device__ static inline double traded_at(const board &b, int64_t e, int32_t d, int64_t there, int side)
{
    const double share = b.share[there * b.devices + d];
    if (b.equal)
        return b.traded[e] * share;
    const double *x = b.traded + e * 3 * b.kinds;
    return x[side * b.kinds + b.of[d]] + x[2 * b.kinds + b.of[d]] * share;
}

/* Sums what comes over the edges of an op; one warp each. */
__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) gather_kernel(board b)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + threadIdx.x / 32; i < b.ops; i += warps) {
        sked_i_gaus_pair x = {0, 0};
        for (int64_t k = b.pred_ptr[i] + lane; k < b.pred_ptr[i + 1]; k += 32) {
            const sked_i_gaus_pair y = b.passed[b.pred_edge[k]];
            x = {x.mu + y.mu, x.sigma + y.sigma};
        }
        x = {gaus_warp_sum(x.mu), gaus_warp_sum(x.sigma)};
        if (lane == 0) {
            b.dmu[i] = b.own[i].mu + x.mu;
            b.dsigma[i] = b.own[i].sigma + x.sigma;
        }
        for (int32_t d = lane; d < b.devices; d += 32) {
            double sum = b.dshare[i * b.devices + d];
            for (int64_t e = b.succ_ptr[i]; e < b.succ_ptr[i + 1]; e++)
                sum += traded_at(b, e, d, b.edge_to[e], 0);
            for (int64_t k = b.pred_ptr[i]; k < b.pred_ptr[i + 1]; k++)
                sum += traded_at(b, b.pred_edge[k], d, b.edge_from[b.pred_edge[k]], 1);
            b.dshare[i * b.devices + d] = sum;
        }
    }
}

void sked_i_gaus_device_backward(const sked_i_gaus_device_board *at, cudaStream_t stream)
{
    const board b = *at;
    SKED_LAUNCH(backward_kernel, b.blocks, SKED_I_GAUS_BLOCK, 0, stream, b);
    SKED_LAUNCH(gather_kernel, b.blocks, SKED_I_GAUS_BLOCK, 0, stream, b);
}
