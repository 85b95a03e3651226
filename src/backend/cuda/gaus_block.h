/* Sums over a block of SKED_I_GAUS_WIDE threads, in one fixed order. All its threads call them. */
#ifndef SKED_BACKEND_CUDA_GAUS_BLOCK_H
#define SKED_BACKEND_CUDA_GAUS_BLOCK_H
#include "backend/cuda/gaus_steps.h"

enum { SKED_I_GAUS_WIDE = 1024, SKED_I_GAUS_WARPS = SKED_I_GAUS_WIDE / 32 };

/* Sums up to and with this thread, and the sum of all. */
template <class T> __device__ static inline T gaus_block_scan(T x, T *all)
{
    __shared__ T of[SKED_I_GAUS_WARPS];
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
    for (int k = 0; k < SKED_I_GAUS_WARPS; k++) {
        before += k < warp ? of[k] : 0;
        *all += of[k];
    }
    return x + before;
}

__device__ static inline double gaus_block_sum(double x)
{
    __shared__ double of[SKED_I_GAUS_WARPS];
    x = gaus_warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int k = 0; k < SKED_I_GAUS_WARPS; k++)
        x += of[k];
    return x;
}

__device__ static inline double gaus_block_most(double x)
{
    __shared__ double of[SKED_I_GAUS_WARPS];
    for (int k = 16; k > 0; k >>= 1)
        x = fmax(x, __shfl_xor_sync(0xffffffffu, x, k));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of[threadIdx.x / 32] = x;
    __syncthreads();
    for (int k = 0; k < SKED_I_GAUS_WARPS; k++)
        x = fmax(x, of[k]);
    return x;
}

/* Sums of `count` columns of partial sums [blocks * count] to sum[]. */
__device__ static inline void gaus_sum_partial(const double *partial, int blocks, int count, double *sum)
{
    for (int k = 0; k < count; k++) {
        sum[k] = 0;
        for (int j = (int)threadIdx.x; j < blocks; j += SKED_I_GAUS_WIDE)
            sum[k] += partial[j * count + k];
        sum[k] = gaus_block_sum(sum[k]);
    }
}

/* One thread: what the violations of v add to its total, dL/dV, and the multipliers of the next step. */
__device__ static inline void gaus_keep_value(sked_i_gaus_control *c, sked_i_gaus_value *v,
                                              const sked_i_gaus_growth *raise)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        const double x = v->violation[f];
        v->total += c->multiplier[f] * x + 0.5 * c->penalty[f] * x * x;
        c->coefficient[f] = c->multiplier[f] + c->penalty[f] * x;
    }
    c->value = *v;
    if (raise != NULL)
        sked_i_gaus_raise_multipliers(v, raise, c->before, c->multiplier, c->penalty);
}
#endif
