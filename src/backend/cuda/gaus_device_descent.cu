/* Descents with devices: whole runs of steps on the device, one stream each. */
#include "backend/cuda/gaus_device.h"
#include "backend/cuda/gaus_landing.h"

extern "C" {
#include "base/memory.h"
}

#include <string.h>

/* What differs from step to step. */
typedef struct numbers {
    sked_i_gaus_device_step step;
    sked_i_gaus_decay decay;
} numbers;

typedef struct descent {
    sked_i_gaus_devices devices;
    const sked_i_gaus_device_bounds *bounds;
    double *lo, *hi;             /* [ops] on the device, as what follows */
    int32_t *fix;                /* [ops] NULL: no op is pinned */
    double *logit;               /* [ops * devices] */
    double *momentum, *variance; /* [2 ops + ops * devices] */
    numbers *now;                /* [SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN + 1], the last for temperature 1 */
    numbers *sent;               /* the same on the host */
    sked_i_gaus_decay decay;
    sked_i_gaus_landings landings;
    sked_i_gaus_graphs graphs;
} descent;

/* What the table calls a descent. */
static inline descent *mine(sked_i_gaus_device_descent *x)
{
    return reinterpret_cast<descent *>(x);
}

/* ------------------------------------------------------------------ one step */

struct mover {
    const double *lo, *hi;
    const int32_t *fix;
    double *logit, *momentum, *variance;
    double least;
    bool fixed_sigma;
    const numbers *now;
};

__device__ static inline double warp_most(double x)
{
    for (int k = 16; k > 0; k >>= 1)
        x = fmax(x, __shfl_xor_sync(0xffffffffu, x, k));
    return x;
}

/* Softmax of the logits; pinned ops stay on their device. One warp each. */
__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) share_kernel(sked_i_gaus_device_board b, mover m)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + threadIdx.x / 32; i < b.ops; i += warps) {
        const double *logit = m.logit + i * b.devices;
        double *share = b.share + i * b.devices, most = -CUDART_INF, sum = 0;
        for (int32_t k = lane; k < b.devices; k += 32)
            most = fmax(most, logit[k]);
        most = warp_most(most);
        for (int32_t k = lane; k < b.devices; k += 32) {
            const double x = (logit[k] - most) / m.now->step.temperature;
            sum += share[k] = x > m.least ? exp(x) : 0;
        }
        sum = gaus_warp_sum(sum);
        for (int32_t k = lane; k < b.devices; k += 32)
            share[k] = m.fix != NULL && m.fix[i] >= 0 ? (k == m.fix[i] ? 1 : 0) : share[k] / sum;
    }
}

/* The gradient of the shares goes through the softmax to the logits. By a warp. */
__device__ static void move_shares(const sked_i_gaus_device_board &b, const mover &m, int64_t i, int lane)
{
    const int64_t first = i * b.devices, offset = 2 * (int64_t)b.ops + first;
    const double *share = b.share + first, *dshare = b.dshare + first;
    double mean = 0;
    for (int32_t k = lane; k < b.devices; k += 32)
        mean += share[k] * dshare[k];
    mean = gaus_warp_sum(mean);
    for (int32_t k = lane; k < b.devices; k += 32)
        m.logit[first + k] -=
            m.now->step.share_rate * sked_i_gaus_adam(&m.now->decay, &m.momentum[offset + k],
                                                      &m.variance[offset + k], share[k] * (dshare[k] - mean));
}

__device__ static void move_op(const sked_i_gaus_device_board &b, const mover &m, int64_t i)
{
    const double lo = m.lo[i], hi = m.hi[i], sigma = b.sigma[i];
    const int64_t k = (int64_t)b.ops + i;
    if (!(hi - lo > 0))
        return;
    const double rate = m.now->step.rate * sked_i_gaus_pace(hi - lo);
    const double mu =
        b.mu[i] - rate * sked_i_gaus_adam(&m.now->decay, &m.momentum[i], &m.variance[i], b.dmu[i]);
    b.mu[i] = fmin(hi, fmax(lo, mu));
    if (m.fixed_sigma)
        return;
    const double turn = sked_i_gaus_adam(&m.now->decay, &m.momentum[k], &m.variance[k], b.dsigma[i] * sigma);
    b.sigma[i] = fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(sigma * exp(-0.05 * turn), m.now->step.widest));
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) adam_kernel(sked_i_gaus_device_board b, mover m)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t warps = (int64_t)gridDim.x * SKED_I_GAUS_TEAM;
    for (int64_t i = (int64_t)blockIdx.x * SKED_I_GAUS_TEAM + threadIdx.x / 32; i < b.ops; i += warps) {
        if (!isfinite(b.dmu[i]) || !isfinite(b.dsigma[i])) {
            if (lane == 0)
                atomicMin(&b.control->lost, (int32_t)i);
            continue;
        }
        if (b.devices > 1)
            move_shares(b, m, i, lane);
        if (lane == 0)
            move_op(b, m, i);
    }
}

static mover mover_of(const descent *d, int64_t at)
{
    return {d->lo,       d->hi,       d->fix,           d->logit,
            d->momentum, d->variance, d->bounds->least, d->bounds->fixed_sigma,
            d->now + at};
}

static void launch_shares(const descent *d, int64_t at)
{
    const sked_i_gaus_device_board b = d->devices.board;
    const mover m = mover_of(d, at);
    if (b.devices > 0)
        SKED_LAUNCH(share_kernel, b.blocks, SKED_I_GAUS_BLOCK, 0, d->devices.stream, b, m);
}

/* Step k of the run that lands in `place`. */
static void launch_step(void *data, int place, int k)
{
    const descent *d = (const descent *)data;
    const sked_i_gaus_device_board b = d->devices.board;
    const int64_t at = (int64_t)place * SKED_I_GAUS_RUN + k;
    const mover m = mover_of(d, at);
    launch_shares(d, at);
    sked_i_gaus_devices_launch(&d->devices, &d->now[at].step.raise);
    SKED_LAUNCH(adam_kernel, b.blocks, SKED_I_GAUS_BLOCK, 0, d->devices.stream, b, m);
}

/* ------------------------------------------------------------------ opening and closing */

enum { all_numbers = SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN + 1 };

static void lay(sked_i_cuda_arena *a, void *data)
{
    descent *d = (descent *)data;
    const int64_t n = d->devices.board.ops, shares = n * d->devices.board.devices;
    d->lo = SKED_CUT(a, double, n);
    d->hi = SKED_CUT(a, double, n);
    d->fix = d->bounds->fix != NULL ? SKED_CUT(a, int32_t, n) : NULL;
    d->logit = SKED_CUT(a, double, shares);
    d->now = SKED_CUT(a, numbers, all_numbers);
    d->momentum = SKED_CUT(a, double, 2 * n + shares);
    d->variance = SKED_CUT(a, double, 2 * n + shares);
}

static void destroy(sked_i_gaus_device_descent *opaque)
{
    descent *d = mine(opaque);
    if (d == NULL)
        return;
    sked_i_gaus_devices_close(&d->devices);
    sked_i_gaus_landings_close(&d->landings);
    sked_i_gaus_graphs_clear(&d->graphs);
    cudaFreeHost(d->sent);
    free(d);
}

static sked_status create(const sked_i_gaus_device_view *view, const sked_i_gaus_device_bounds *bounds,
                          int threads, sked_i_gaus_device_descent **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = view->ops;
    descent *d = (descent *)sked_i_alloc_zero(1, sizeof *d);
    (void)threads;
    if (d == NULL)
        return sked_i_no_memory(err);
    d->bounds = bounds;
    SKED_TRY(sked_i_gaus_devices_open(&d->devices, view, lay, d, err));
    SKED_TRY(sked_i_gaus_landings_open(&d->landings, 2 * n + n * view->devices, err));
    CUDA_TRY(cudaMallocHost(&d->sent, all_numbers * sizeof *d->sent));
    {
        const sked_i_gaus_piece pieces[] = {
            SKED_I_GAUS_PIECE(d->lo, bounds->lo, n), SKED_I_GAUS_PIECE(d->hi, bounds->hi, n),
            SKED_I_GAUS_PIECE(d->fix, bounds->fix, bounds->fix != NULL ? n : 0)};
        SKED_TRY(sked_i_gaus_send(pieces, 3, d->devices.stream, err));
    }
    CUDA_TRY(cudaStreamSynchronize(d->devices.stream));
    *out = reinterpret_cast<sked_i_gaus_device_descent *>(d);
    return SKED_OK;
cleanup:
    destroy(reinterpret_cast<sked_i_gaus_device_descent *>(d));
    return st;
}

/* ------------------------------------------------------------------ the table */

static sked_status place(sked_i_gaus_device_descent *opaque, const double *mu, const double *sigma,
                         const double *logit, sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const int64_t shares = (int64_t)d->devices.board.ops * d->devices.board.devices;
    const size_t bytes = (size_t)(2 * (int64_t)d->devices.board.ops + shares) * sizeof(double);
    const int warm = all_numbers - 1;
    d->sent[warm].step.temperature = 1;
    const sked_i_gaus_piece pieces[] = {SKED_I_GAUS_PIECE(d->logit, logit, shares),
                                        SKED_I_GAUS_PIECE(d->now + warm, d->sent + warm, 1)};
    d->decay = {1, 1};
    CUDA_TRY(cudaMemsetAsync(d->momentum, 0, bytes, d->devices.stream));
    CUDA_TRY(cudaMemsetAsync(d->variance, 0, bytes, d->devices.stream));
    SKED_TRY(sked_i_gaus_send(pieces, 2, d->devices.stream, err));
    SKED_TRY(sked_i_gaus_devices_place(&d->devices, mu, sigma, NULL, err));
    launch_shares(d, warm);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

static sked_status aim(sked_i_gaus_device_descent *opaque, const sked_i_gaus_device_terms *terms,
                       const double *violation, sked_error *err)
{
    descent *d = mine(opaque);
    return sked_i_gaus_devices_aim(&d->devices, terms, violation, err);
}

static sked_status evaluate(sked_i_gaus_device_descent *opaque, double *dmu, sked_i_gaus_value *value,
                            sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const sked_i_gaus_device_board *b = &d->devices.board;
    sked_i_gaus_devices_launch(&d->devices, NULL);
    CUDA_TRY(cudaMemcpyAsync(dmu, b->dmu, (size_t)b->ops * sizeof *dmu, cudaMemcpyDeviceToHost,
                             d->devices.stream));
    SKED_TRY(sked_i_gaus_devices_value(&d->devices, value, err));
cleanup:
    return st;
}

static sked_status run(sked_i_gaus_device_descent *opaque, const sked_i_gaus_device_step *steps, int count,
                       sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const sked_i_gaus_device_board *b = &d->devices.board;
    const cudaStream_t stream = d->devices.stream;
    const int place = sked_i_gaus_landings_next(&d->landings), first = place * SKED_I_GAUS_RUN;
    const sked_i_gaus_piece piece = SKED_I_GAUS_PIECE(d->now + first, d->sent + first, count);
    for (int k = 0; k < count; k++) {
        sked_i_gaus_decay_advance(&d->decay);
        d->sent[first + k] = {steps[k], d->decay};
    }
    SKED_TRY(sked_i_gaus_send(&piece, 1, stream, err));
    SKED_TRY(sked_i_gaus_graphs_run(&d->graphs, place, count, launch_step, d, stream, err));
    SKED_TRY(sked_i_gaus_landings_send(&d->landings, b->mu, b->control, stream, err));
cleanup:
    return st;
}

static sked_status wait(sked_i_gaus_device_descent *opaque, const sked_i_gaus_device_point *at,
                        sked_i_gaus_value *value, sked_error *err)
{
    descent *d = mine(opaque);
    const size_t n = (size_t)d->devices.board.ops, shares = n * (size_t)d->devices.board.devices;
    const double *point;
    const sked_status st = sked_i_gaus_landings_wait(&d->landings, &point, value, err);
    if (st == SKED_OK) {
        memcpy(at->mu, point, n * sizeof *at->mu);
        memcpy(at->sigma, point + n, n * sizeof *at->sigma);
        memcpy(at->share, point + 2 * n, shares * sizeof *at->share);
    }
    return st;
}

extern "C" const sked_i_gaus_device_descent_backend sked_i_gaus_device_descent_cuda = {
    true, create, destroy, place, aim, evaluate, run, wait};
