/*
 * Losses of both policies of gflownet on the device: sums over a block, the centre of a batch, credit by
 * steps. batch.c has the same in plain C. All of it is the work of one block, in an order that depends on
 * nothing but its threads.
 */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_LOSS_H
#define SKED_BACKEND_CUDA_GFLOWNET_LOSS_H
#include "backend/cuda/gflownet_model.h"

/* Nats, as in batch.c. */
#define LOSS_HUBER_BOUND 20.0
enum { LOSS_WARP = 32 };

/* The same value in all threads; scratch: [32]. */
__device__ static inline double block_sum(double x, double *scratch)
{
    x = sked_i_warp_sum(x);
    if (threadIdx.x % LOSS_WARP == 0)
        scratch[threadIdx.x / LOSS_WARP] = x;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < (int)blockDim.x / LOSS_WARP; i++)
        sum += scratch[i];
    __syncthreads();
    return sum;
}
__device__ static inline double block_max(double x, double *scratch)
{
    for (int by = LOSS_WARP / 2; by > 0; by /= 2)
        x = fmax(x, __shfl_xor_sync(0xffffffffu, x, by));
    if (threadIdx.x % LOSS_WARP == 0)
        scratch[threadIdx.x / LOSS_WARP] = x;
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x / LOSS_WARP; i++)
        x = fmax(x, scratch[i]);
    __syncthreads();
    return x;
}

/* The trajectories of a problem, as losses see them. */
struct loss_batch {
    int32_t n, count, listed, devices;
    double work, temperature;
    const sked_i_loss *law;
    const double *log_forward, *log_backward, *makespan; /* [count] */
    const double *outlook;                               /* [count * n] credit by steps */
    double *flow;                                        /* the same: log P_B - log P_F, then slopes */
};

__device__ static inline double loss_speedup(const loss_batch &b, double makespan)
{
    return makespan > 0 ? b.work / makespan : 1;
}
__device__ static inline double loss_reward(const loss_batch &b, double makespan)
{
    return (loss_speedup(b, makespan) - b.devices) / b.temperature;
}
__device__ static inline double loss_zeta(const loss_batch &b, int32_t k)
{
    return loss_reward(b, b.makespan[k]) + b.log_backward[k] - b.log_forward[k];
}
/* Half the slope of h; a bound may be infinite. */
__device__ static inline double loss_bounded(double r, double bound)
{
    return r > bound ? bound : r < -bound ? -bound : r;
}

/* Sum over the trajectories from `first` on. */
template <class F>
__device__ static inline double loss_sum(const loss_batch &b, int first, double *scratch, F of)
{
    double mine = 0;
    for (int k = first + (int)threadIdx.x; k < b.count; k += (int)blockDim.x)
        mine += of(k);
    return block_sum(mine, scratch);
}

/*
 * The least root of the sum of slopes between low and high, beginning at centre. It falls in pieces of
 * straight lines: Newton's steps, and halving where one leads outside; in every fourth round, too, for two
 * steps may lead to each other. Where the sum is level at 0 the least root is the bound above the next zeta
 * below.
 */
__device__ static inline double loss_root(const loss_batch &b, double bound, double low, double high,
                                          double centre, double *scratch)
{
    const double within = bound * (1 - 1e-9), nothing = 1e-7;
    double inside = 1, below = -CUDART_INF;
    for (int round = 0; round < 200; round++) {
        const double slope =
            loss_sum(b, 0, scratch, [&](int k) { return loss_bounded(loss_zeta(b, k) - centre, bound); });
        inside =
            loss_sum(b, 0, scratch, [&](int k) { return (double)(fabs(loss_zeta(b, k) - centre) < within); });
        *(slope > 0 ? &low : &high) = centre;
        double next = centre + slope / inside;
        if (round % 4 == 3 || !(next > low && next < high))
            next = low + (high - low) / 2;
        if (next == centre || fabs(slope) <= nothing)
            break;
        centre = next;
    }
    if (inside > 0)
        return centre;
    for (int k = (int)threadIdx.x; k < b.count; k += (int)blockDim.x)
        below = loss_zeta(b, k) < centre ? fmax(below, loss_zeta(b, k) + bound) : below;
    return block_max(below, scratch);
}

/* The learned log Z; or what makes the loss least: the mean where no zeta is beyond the bound. */
__device__ static inline double loss_centre(const loss_batch &b, double bound, double *scratch)
{
    double low = CUDART_INF, high = -CUDART_INF;
    if (b.law->kind == SKED_I_LOSS_TB)
        return b.law->log_z;
    for (int k = (int)threadIdx.x; k < b.count; k += (int)blockDim.x) {
        const double zeta = loss_zeta(b, k);
        low = zeta < low ? zeta : low;
        high = zeta > high ? zeta : high;
    }
    low = -block_max(-low, scratch);
    high = block_max(high, scratch);
    const double mean = loss_sum(b, 0, scratch, [&](int k) { return loss_zeta(b, k); }) / b.count;
    return high - low <= bound ? mean : loss_root(b, bound, low, high, mean, scratch);
}

/* What step u of trajectory k and those after it add up to, in the place of their flow: a thread each. */
__device__ static inline void loss_gains(const loss_batch &b)
{
    const bool ppo = b.law->kind == SKED_I_LOSS_PPO;
    for (int k = b.listed + (int)threadIdx.x; k < b.count; k += (int)blockDim.x) {
        const int64_t row = (int64_t)k * b.n;
        double after = 0;
        for (int32_t u = b.n - 1; u >= 0; u--) {
            const double before = u > 0 ? loss_reward(b, b.outlook[row + u - 1]) : 0;
            const double rise = loss_reward(b, b.outlook[row + u]) - before;
            after = (ppo ? rise : rise + b.flow[row + u]) + b.law->lambda * after;
            b.flow[row + u] = after;
        }
    }
}

/* Takes the mean over the trajectories away, a thread a step; this thread's sum of squares. */
__device__ static inline double loss_centre_gains(const loss_batch &b)
{
    double square = 0;
    for (int32_t u = (int32_t)threadIdx.x; u < b.n; u += (int32_t)blockDim.x) {
        double mean = 0;
        for (int k = b.listed; k < b.count; k++)
            mean += b.flow[(int64_t)k * b.n + u] / (b.count - b.listed);
        for (int k = b.listed; k < b.count; k++) {
            double *gain = &b.flow[(int64_t)k * b.n + u];
            *gain -= mean;
            square += *gain * *gain;
        }
    }
    return square;
}

/* Credit by steps: from flows to the slopes of log P_F; whole(k): that of a listed trajectory. */
template <class F>
__device__ static inline void loss_step_slopes(const loss_batch &b, double *scratch, F whole)
{
    const bool ppo = b.law->kind == SKED_I_LOSS_PPO;
    loss_gains(b);
    __syncthreads();
    const double square = block_sum(loss_centre_gains(b), scratch);
    const double unit = ppo ? (1 + sqrt(square / b.n / (b.count - b.listed))) * b.n : 0.5;
    const double bound = ppo ? CUDART_INF : LOSS_HUBER_BOUND;
    for (int64_t i = threadIdx.x; i < (int64_t)b.count * b.n; i += blockDim.x) {
        const int k = (int)(i / b.n);
        b.flow[i] = k < b.listed ? whole(k) : -loss_bounded(b.flow[i], bound) / unit / b.count;
    }
    __syncthreads();
}
#endif
