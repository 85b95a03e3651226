/*
 * From trajectories to gradients: the loss with its centre, sums over the trajectories of a problem. batch.c
 * has the same in plain C.
 */
#include "backend/cuda/gflownet_loss.h"
#include "backend/cuda/gflownet_once.h"

#define FULL 0xffffffffu

/* ------------------------------------------------------------------ loss */

enum { LOSS_THREADS = 128 };

__device__ static loss_batch batch_of(const once_model &m, const once_lesson *l)
{
    return {l->n,
            l->count,
            l->listed,
            l->devices,
            l->work,
            l->temperature,
            &l->law,
            m.log_forward + l->first_walk,
            m.log_backward + l->first_walk,
            m.makespan + l->first_walk,
            l->outlook,
            l->flow};
}

/* A block a problem. Walks have taken the gradient of the loss itself for PPO and with credit by steps. */
__global__ static void loss_kernel(const __grid_constant__ once_model m, double *loss)
{
    SKED_CHAIN();
    __shared__ double scratch[LOSS_WARP];
    const once_lesson *l = &m.lesson[blockIdx.x];
    const loss_batch b = batch_of(m, l);
    const bool ppo = l->law.kind == SKED_I_LOSS_PPO, tb = l->law.kind == SKED_I_LOSS_TB;
    const double centre = loss_centre(b, LOSS_HUBER_BOUND, scratch);
    const int32_t drawn = l->listed < l->count ? l->listed : 0;
    double sum = 0, speedup = 0, pull = 0, value = 0;
    for (int32_t k = (int32_t)threadIdx.x; k < l->count; k += LOSS_THREADS) {
        const double r = loss_zeta(b, k) - centre, inside = loss_bounded(r, LOSS_HUBER_BOUND);
        sum += inside * (2 * r - inside);
        pull += inside;
        value += ppo ? m.value[l->first_walk + k] : 0;
        speedup += k >= drawn ? loss_speedup(b, b.makespan[k]) : 0;
        m.slope[l->first_walk + k] = ppo || l->flow != NULL ? 1 : -2 * inside / l->count;
    }
    sum = block_sum(sum, scratch);
    speedup = block_sum(speedup, scratch);
    pull = block_sum(pull, scratch);
    value = block_sum(value, scratch);
    if (threadIdx.x == 0) {
        loss += ONCE_LOSSES * blockIdx.x;
        loss[ONCE_LOSS] = ppo ? value : sum / l->count;
        loss[ONCE_CENTRE] = centre;
        loss[ONCE_SPEEDUP] = speedup / (l->count - drawn);
        loss[ONCE_PULL] = tb ? -2 * pull / l->count : 0;
    }
}

void once_loss_launch(const once_model *m, double *loss, cudaStream_t stream)
{
    SKED_LAUNCH_CHAINED(loss_kernel, (unsigned)m->lessons, LOSS_THREADS, 0, stream, *m, loss);
}

/* Slopes by step, from what the draw has left. A block a problem. */
__global__ static void credit_kernel(const __grid_constant__ once_model m)
{
    SKED_CHAIN();
    __shared__ double scratch[LOSS_WARP];
    const once_lesson *l = &m.lesson[blockIdx.x];
    const loss_batch b = batch_of(m, l);
    if (l->flow == NULL)
        return;
    const bool ppo = l->law.kind == SKED_I_LOSS_PPO;
    const double centre = loss_centre(b, LOSS_HUBER_BOUND, scratch);
    loss_step_slopes(b, scratch, [&](int k) {
        return ppo ? l->credit[k] : -2 * loss_bounded(loss_zeta(b, k) - centre, LOSS_HUBER_BOUND) / l->count;
    });
}

void once_credit_launch(const once_model *m, cudaStream_t stream)
{
    SKED_LAUNCH_CHAINED(credit_kernel, (unsigned)m->lessons, LOSS_THREADS, 0, stream, *m);
}

/* ------------------------------------------------------------------ sums over trajectories */

enum { SUM_AT_ONCE = 16 };

/* Rows of ops and small weights: a thread a number, trajectories in order. */
__global__ static void sum_kernel(const __grid_constant__ once_model m)
{
    SKED_CHAIN();
    const once_lesson *l = &m.lesson[blockIdx.y];
    const int64_t n = l->n, w = m.shape.width, c = m.shape.context;
    const int64_t ends[] = {n * w, n * (w + c), n * (w + 2 * c), n * (w + 2 * c) + m.at.small};
    const double *slope = m.slope + l->first_walk;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < ends[3];
         i += (int64_t)gridDim.x * blockDim.x) {
        const float *from = i < ends[0] ? l->dop : i < ends[1] ? l->dwait : i < ends[2] ? l->dlast : l->small;
        const int64_t begin = i < ends[0] ? 0 : i < ends[1] ? ends[0] : i < ends[2] ? ends[1] : ends[2];
        const int64_t step = i < ends[0] ? n * w : i < ends[2] ? n * c : (int64_t)m.at.small;
        const int32_t count = l->count;
        const float *mine = from + i - begin;
        float sum = 0;
        for (int32_t k = 0; k < count; k += SUM_AT_ONCE) { /* loads that need not wait for each other */
            float weight[SUM_AT_ONCE], x[SUM_AT_ONCE];
#pragma unroll
            for (int j = 0; j < SUM_AT_ONCE; j++) {
                weight[j] = k + j < count ? (float)slope[k + j] : 0;
                x[j] = k + j < count ? mine[(k + j) * step] : 0;
            }
#pragma unroll
            for (int j = 0; j < SUM_AT_ONCE; j++)
                sum += weight[j] * x[j];
        }
        l->sums[i] = sum;
    }
}

enum { TILE = 64, TILE_INNER = 16, TILE_THREADS = 256 };

/* A weight whose gradient is x^T dy over rows of trajectories: which of the two. */
struct product_of {
    const float *x, *dy;
    int32_t p, rows, at; /* rows: room for them in each trajectory */
    bool versions;       /* only so many are there */
};
__device__ static product_of product_at(const once_model &m, const once_lesson *l, int which)
{
    const int32_t c = m.shape.context, n = l->n;
    if (which == 0)
        return {l->states, l->dbases, 2 * c + SKED_I_STATE_FEATURES, n, m.at.state_weight, false};
    return {l->versions, l->dversions, c, 2 * n, m.at.device_weight, true};
}

/* Rows `from` to `until` of x and of dy times the slope of their trajectory, into shared memory and into the
 * tile: sixteen numbers a thread. */
struct tile_at {
    int32_t k0, j0, q;
};
__device__ static void add_rows(const product_of &at, const tile_at &t, int64_t from, int64_t until,
                                float slope, float (*a)[TILE], float (*b)[TILE], float (*sum)[4])
{
    const int tx = (int)threadIdx.x % 16 * 4, ty = (int)threadIdx.x / 16 * 4;
    for (int64_t i0 = from; i0 < until; i0 += TILE_INNER) {
        enum { EACH = TILE * TILE_INNER / TILE_THREADS };
        float x[EACH], dy[EACH]; /* all loads before the first store */
#pragma unroll
        for (int r = 0; r < EACH; r++) {
            const int s = (int)threadIdx.x + r * TILE_THREADS, c = s % TILE, i = s / TILE;
            const bool in = i0 + i < until;
            x[r] = in && t.k0 + c < at.p ? at.x[(i0 + i) * at.p + t.k0 + c] : 0;
            dy[r] = in && t.j0 + c < t.q ? slope * at.dy[(i0 + i) * t.q + t.j0 + c] : 0;
        }
#pragma unroll
        for (int r = 0; r < EACH; r++) {
            const int s = (int)threadIdx.x + r * TILE_THREADS, c = s % TILE, i = s / TILE;
            a[i][c] = x[r];
            b[i][c] = dy[r];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_INNER; i++) {
            const float4 u = *(const float4 *)&a[i][ty], v = *(const float4 *)&b[i][tx];
            const float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int c = 0; c < 4; c++)
                    sum[r][c] += us[r] * vs[c];
        }
        __syncthreads();
    }
}

/*
 * One tile of one weight over the trajectories of one split. grid: tiles of both weights,
 * splits, problems.
 */
__global__ static void product_kernel(const __grid_constant__ once_model m, float *partial)
{
    SKED_CHAIN();
    __shared__ float4 a4[TILE_INNER][TILE / 4], b4[TILE_INNER][TILE / 4]; /* read four at a time */
    float(*a)[TILE] = (float(*)[TILE])a4, (*b)[TILE] = (float(*)[TILE])b4;
    const once_lesson *l = &m.lesson[blockIdx.z];
    const int32_t q = m.shape.width, across = (q + TILE - 1) / TILE;
    const int splits = (int)gridDim.y, split = (int)blockIdx.y;
    int32_t tile = (int32_t)blockIdx.x, which = 0;
    product_of at = product_at(m, l, 0);
    for (int32_t tiles; tiles = (at.p + TILE - 1) / TILE * across, tile >= tiles;) {
        tile -= tiles;
        at = product_at(m, l, ++which);
    }
    const tile_at t = {tile / across * TILE, tile % across * TILE, q};
    float sum[4][4] = {};
    const int32_t first = (int32_t)((int64_t)l->count * split / splits);
    const int32_t end = (int32_t)((int64_t)l->count * (split + 1) / splits);
    for (int32_t walk = first; walk < end; walk++) {
        const int64_t row = (int64_t)walk * at.rows;
        const int32_t rows = at.versions ? m.n_versions[l->first_walk + walk] : at.rows;
        add_rows(at, t, row, row + rows, (float)m.slope[l->first_walk + walk], a, b, sum);
    }
    float *out =
        partial + ((int64_t)blockIdx.z * splits + split) * (m.at.total - m.at.small) + at.at - m.at.small;
    const int32_t k0 = t.k0 + (int32_t)threadIdx.x / 16 * 4, j0 = t.j0 + (int32_t)threadIdx.x % 16 * 4;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            if (k0 + r < at.p && j0 + c < q)
                out[(int64_t)(k0 + r) * q + j0 + c] = sum[r][c];
}

__global__ static void splits_kernel(const __grid_constant__ once_model m, const float *partial)
{
    SKED_CHAIN();
    const once_lesson *l = &m.lesson[blockIdx.y];
    const int64_t count = m.at.total - m.at.small;
    float *out = l->sums + (int64_t)l->n * (m.shape.width + 2 * m.shape.context) + m.at.small;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        float x[ONCE_SPLITS], sum = 0;
#pragma unroll
        for (int k = 0; k < ONCE_SPLITS; k++)
            x[k] = partial[((int64_t)blockIdx.y * ONCE_SPLITS + k) * count + i];
#pragma unroll
        for (int k = 0; k < ONCE_SPLITS; k++)
            sum += x[k];
        out[i] = sum;
    }
}

void once_sum_launch(const once_model *m, float *partial, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const unsigned across = sked_i_blocks_of(s->width, TILE),
                   device = sked_i_blocks_of(s->context, TILE) * across;
    const unsigned tiles = sked_i_blocks_of(2 * s->context + SKED_I_STATE_FEATURES, TILE) * across + device;
    SKED_LAUNCH_CHAINED(sum_kernel, dim3(m->lessons > 4 ? 64 : 256, (unsigned)m->lessons), 128, 0, stream,
                        *m);
    SKED_LAUNCH_CHAINED(product_kernel, dim3(tiles, ONCE_SPLITS, (unsigned)m->lessons), TILE_THREADS, 0,
                        stream, *m, partial);
    SKED_LAUNCH_CHAINED(splits_kernel, dim3(m->lessons > 4 ? 64 : 128, (unsigned)m->lessons), 128, 0, stream,
                        *m, (const float *)partial);
}
