/* From changes to profiles, from these to peaks and the value. */
#include "backend/cuda/gaus_steps.h"

/* ------------------------------------------------------------------ sums over a block, in one fixed order */

enum { WIDE = 1024, WARPS = WIDE / 32 };

/* Sums up to and with this thread, and the sum of all. */
template <class T> __device__ static T block_scan(T x, T *all)
{
    __shared__ T of[WARPS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    for (int k = 1; k < 32; k <<= 1) {
        const T y = __shfl_up_sync(0xffffffffu, x, k);
        x += lane >= k ? y : 0;
    }
    __syncthreads();
    if (lane == 31)
        of[warp] = x;
    __syncthreads();
    T before = 0;
    *all = 0;
    for (int k = 0; k < WARPS; k++) {
        before += k < warp ? of[k] : 0;
        *all += of[k];
    }
    return x + before;
}

__device__ static double block_sum(double x)
{
    return gaus_team<WARPS>().sum(x);
}

__device__ static double block_most(double x)
{
    __shared__ double of[WARPS];
    for (int k = 16; k > 0; k >>= 1)
        x = fmax(x, __shfl_xor_sync(0xffffffffu, x, k));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of[threadIdx.x / 32] = x;
    __syncthreads();
    for (int k = 0; k < WARPS; k++)
        x = fmax(x, of[k]);
    return x;
}

/* Sums of all blocks to sum[]. */
__device__ static void sum_partial(const sked_i_gaus_board &b, double *sum)
{
    for (int k = 0; k < SKED_I_GAUS_SUMS; k++) {
        sum[k] = 0;
        for (int j = (int)threadIdx.x; j < b.light_blocks + b.heavy_blocks; j += WIDE)
            sum[k] += b.partial[j * SKED_I_GAUS_SUMS + k];
        sum[k] = block_sum(sum[k]);
    }
}

/* Takes the changes of one cell out of all copies, `stride` apart, and leaves zeros. */
__device__ static long long take_change(unsigned long long *change, int copies, int64_t stride)
{
    unsigned long long sum = 0;
    for (int k = 0; k < copies; k++) {
        sum += change[k * stride];
        change[k * stride] = 0;
    }
    return (long long)sum;
}

/* ------------------------------------------------------------------ profiles */

/* Sums the changes of one profile over time and leaves zeros for the next evaluation. */
__device__ static void integrate(const sked_i_gaus_board &b, int32_t p)
{
    const double inverse = 1 / b.scale[p]; /* a power of two */
    const int64_t stride = (int64_t)(b.profiles + 1) * b.length;
    unsigned long long *change = b.change + (int64_t)p * b.length;
    long long carry = 0, all;
    for (int32_t first = 0; first < b.length; first += WIDE) {
        const int32_t k = first + (int32_t)threadIdx.x;
        const long long x = k < b.length ? take_change(change + k, b.copies, stride) : 0;
        const long long now = carry + block_scan(x, &all);
        carry += all;
        if (k >= b.length)
            continue;
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
__device__ static double take_peak(const sked_i_gaus_board &b, int32_t p, double tau)
{
    const double *row = b.profile + (int64_t)p * b.cells, weight = b.weight[p];
    double *price = b.price + (int64_t)p * b.cells, most = -CUDART_INF, sum = 0;
    for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
        most = fmax(most, row[c]);
    most = block_most(most);
    for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
        sum += falling((row[c] - most) / tau);
    const double peak = most + tau * log(block_sum(sum));
    for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
        price[c] = weight * falling((row[c] - peak) / tau);
    return peak;
}

__global__ static void __launch_bounds__(WIDE) profile_kernel(sked_i_gaus_board b, const double *tau)
{
    const int32_t p = (int32_t)blockIdx.x;
    const double capacity = b.capacity[p];
    double over = 0, peak = 0;
    integrate(b, p);
    if (b.weight[p] != 0)
        peak = take_peak(b, p, tau[p]);
    else
        for (int32_t c = (int32_t)threadIdx.x; c < b.cells; c += WIDE)
            b.price[(int64_t)p * b.cells + c] = 0;
    for (int32_t c = (int32_t)threadIdx.x; isfinite(capacity) && c < b.cells; c += WIDE) {
        const double x = b.profile[(int64_t)p * b.cells + c] - capacity;
        over += x > 0 ? 0.5 * x * x : 0;
    }
    over = block_sum(over);
    if (threadIdx.x == 0)
        b.row[p] = {peak, over};
}

__global__ static void __launch_bounds__(WIDE)
    value_kernel(sked_i_gaus_board b, const sked_i_gaus_growth *raise)
{
    double sum[SKED_I_GAUS_SUMS];
    sum_partial(b, sum);
    if (threadIdx.x != 0)
        return;
    sked_i_gaus_value v = {};
    v.violation[SKED_I_GAUS_DEPENDENCY] = sum[0];
    v.violation[SKED_I_GAUS_RECURRENCE] = sum[1];
    v.violation[SKED_I_GAUS_LATENCY] = sum[2];
    v.communication = sum[3] + b.shifts;
    for (int32_t p = 0; p <= b.profiles; p++) {
        v.peak += b.weight[p] != 0 ? b.weight[p] * b.row[p].mu : 0;
        v.violation[SKED_I_GAUS_CAPACITY] += b.row[p].sigma;
    }
    sked_i_gaus_control *c = b.control;
    v.total = v.peak + c->alpha * v.communication;
    sked_i_gaus_add_violations(c->multiplier, c->penalty, &v, c->coefficient);
    c->value = v;
    if (raise != NULL)
        sked_i_gaus_raise_multipliers(&v, raise, c->before, c->multiplier, c->penalty);
}

void sked_i_gaus_profiles(const sked_i_gaus_board *board, const double *tau, const sked_i_gaus_growth *raise,
                          cudaStream_t stream)
{
    const sked_i_gaus_board b = *board;
    SKED_LAUNCH(profile_kernel, (unsigned)b.profiles + 1, WIDE, 0, stream, b, tau);
    SKED_LAUNCH(value_kernel, 1, WIDE, 0, stream, b, raise);
}
