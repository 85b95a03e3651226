/* From changes to profiles, from these to peaks and the value. */
#include "backend/cuda/gaus_steps.h"

extern "C" {
#include "backend/gaus_step.h"
}

enum { WIDE = 1024 }; /* threads of the one block that a profile has */

/* Inclusive sums over the block, and the sum of all. shared: [WIDE / 32]. */
__device__ static long long scan_block(long long x, long long *shared, long long *all)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    for (int k = 1; k < 32; k <<= 1) {
        const long long y = __shfl_up_sync(0xffffffffu, x, k);
        x += lane >= k ? y : 0;
    }
    __syncthreads();
    if (lane == 31)
        shared[warp] = x;
    __syncthreads();
    long long before = 0;
    *all = 0;
    for (int k = 0; k < WIDE / 32; k++) {
        before += k < warp ? shared[k] : 0;
        *all += shared[k];
    }
    return x + before;
}

/* shared: [WIDE / 32]. */
__device__ static double block_sum(double x, double *shared)
{
    x = gaus_warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int k = 0; k < WIDE / 32; k++)
        x += shared[k];
    return x;
}
__device__ static double block_most(double x, double *shared)
{
    for (int k = 16; k > 0; k >>= 1)
        x = fmax(x, __shfl_xor_sync(0xffffffffu, x, k));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    for (int k = 0; k < WIDE / 32; k++)
        x = fmax(x, shared[k]);
    return x;
}

/* Sums the changes of one profile over time and leaves zeros for the next evaluation. */
__device__ static void integrate(const sked_i_gaus_board &b, int32_t p, long long *shared)
{
    const double inverse = 1 / b.scale[p]; /* a power of two */
    unsigned long long *change = b.change + (int64_t)p * b.length;
    long long carry = 0, all;
    for (int32_t first = 0; first < b.length; first += WIDE) {
        const int32_t k = first + (int32_t)threadIdx.x;
        const long long x = k < b.length ? (long long)change[k] : 0;
        const long long now = carry + scan_block(x, shared, &all);
        carry += all;
        if (k >= b.length)
            continue;
        change[k] = 0;
        if (b.period > 0)
            b.level[(int64_t)p * b.length + k] = now;
        else
            b.profile[(int64_t)p * b.cells + k] = (double)now * inverse;
    }
    __syncthreads();
    for (int32_t c = (int32_t)threadIdx.x; b.period > 0 && c < b.cells; c += WIDE) {
        double sum = 0;
        for (int32_t k = c; k < b.length; k += b.period)
            sum += (double)b.level[(int64_t)p * b.length + k] * inverse;
        b.profile[(int64_t)p * b.cells + c] = sum;
    }
    __syncthreads();
}

/* exp(x) for x <= 0, 0 where it cannot matter. */
__device__ static inline double falling(double x)
{
    return x > -700 ? exp(x) : 0;
}

/* tau * log sum exp(E / tau) of one profile, and what it costs to raise a cell. */
__device__ static double take_peak(const sked_i_gaus_board &b, int32_t p, double tau, double *shared)
{
    const double *row = b.profile + (int64_t)p * b.cells, weight = b.weight[p];
    double *price = b.price + (int64_t)p * b.cells, most = -CUDART_INF, sum = 0;
    for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
        most = fmax(most, row[c]);
    most = block_most(most, shared);
    for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
        sum += falling((row[c] - most) / tau);
    const double peak = most + tau * log(block_sum(sum, shared));
    for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
        price[c] = weight * falling((row[c] - peak) / tau);
    return peak;
}

__global__ static void __launch_bounds__(WIDE) profile_kernel(sked_i_gaus_board b, const double *tau)
{
    __shared__ long long whole[WIDE / 32];
    __shared__ double real[WIDE / 32];
    const int32_t p = (int32_t)blockIdx.x;
    const double capacity = b.capacity[p];
    double over = 0, peak = 0;
    integrate(b, p, whole);
    if (b.weight[p] != 0)
        peak = take_peak(b, p, tau[p], real);
    else
        for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
            b.price[(int64_t)p * b.cells + c] = 0;
    for (int32_t c = (int32_t)threadIdx.x; isfinite(capacity) && c < b.cells; c += WIDE) {
        const double x = b.profile[(int64_t)p * b.cells + c] - capacity;
        over += x > 0 ? 0.5 * x * x : 0;
    }
    over = block_sum(over, real);
    if (threadIdx.x == 0)
        b.row[p] = {peak, over};
}

/* One thread: the value, dL/dV, and the multipliers of the next step. */
__device__ static void take_value(const sked_i_gaus_board &b, const double *sum, bool raise)
{
    sked_i_gaus_control *c = b.control;
    sked_i_gaus_value v = {};
    v.violation[SKED_I_GAUS_DEPENDENCY] = sum[0];
    v.violation[SKED_I_GAUS_RECURRENCE] = sum[1];
    v.violation[SKED_I_GAUS_LATENCY] = sum[2];
    v.communication = sum[3] + b.shifts;
    for (int32_t p = 0; p <= b.profiles; p++) {
        v.peak += b.weight[p] != 0 ? b.weight[p] * b.row[p].mu : 0;
        v.violation[SKED_I_GAUS_CAPACITY] += b.row[p].sigma;
    }
    v.total = v.peak + c->alpha * v.communication;
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        const double x = v.violation[f];
        v.total += c->multiplier[f] * x + 0.5 * c->penalty[f] * x * x;
        c->coefficient[f] = c->multiplier[f] + c->penalty[f] * x;
    }
    c->value = v;
    if (raise)
        sked_i_gaus_raise_multipliers(&v, c->before, c->multiplier);
}

__global__ static void __launch_bounds__(WIDE) value_kernel(sked_i_gaus_board b, bool raise)
{
    __shared__ double real[WIDE / 32];
    const int blocks = b.light_blocks + (b.heavy_count > 0 ? b.heavy_blocks : 0);
    double sum[SKED_I_GAUS_SUMS];
    for (int k = 0; k < SKED_I_GAUS_SUMS; k++) {
        sum[k] = 0;
        for (int j = (int)threadIdx.x; j < blocks; j += WIDE)
            sum[k] += b.partial[j * SKED_I_GAUS_SUMS + k];
        sum[k] = block_sum(sum[k], real);
    }
    if (threadIdx.x == 0)
        take_value(b, sum, raise);
}

void sked_i_gaus_profiles(const sked_i_gaus_board *board, const double *tau, bool raise, cudaStream_t stream)
{
    const sked_i_gaus_board b = *board;
    SKED_LAUNCH(profile_kernel, (unsigned)b.profiles + 1, WIDE, 0, stream, b, tau);
    SKED_LAUNCH(value_kernel, 1, WIDE, 0, stream, b, raise);
}
