/* The slopes of the loss by the logits of one partial schedule: by the first warp of a block. */
#ifndef SKED_BACKEND_CUDA_STEPWISE_SLOPE_H
#define SKED_BACKEND_CUDA_STEPWISE_SLOPE_H
#include "backend/cuda/stepwise_net.h"

/* PPO's part of a step: the slope of its log P_F, and the entropy of its choices. */
struct step_credit {
    float slope;
    double bonus, entropy; /* bonus: what a nat is worth; 0 for other losses */
};

/* The slope of a step whose action has this logp, and the step's share of the loss: policy.c has the same. */
__device__ static step_credit clipped_credit(const step_problem &p, int64_t at, float slope, float logp,
                                             double entropy)
{
    const double away = logp - p.log_step[at], most = 20;
    const double ratio = exp(away < most ? away : most);
    const double bound = slope < 0 ? 1 + p.law.clip : 1 - p.law.clip;
    const bool cut = slope < 0 ? ratio > bound : ratio < bound;
    if (threadIdx.x == 0)
        p.value[at] = slope * (cut ? bound : ratio) - p.law.entropy * entropy;
    return {cut ? 0 : (float)(slope * ratio), p.law.entropy, entropy};
}

/* The slope of the loss by the logits, times scale, in place. */
__device__ static void forward_slopes(const step_work &w, int k, int step, float slope, float scale)
{
    const step_problem &p = w.p;
    const int64_t at = (int64_t)k * p.ops + step;
    const int devices = p.devices, count = w.count[0] * devices;
    if (w.z.ruled)
        step_add_rule(w, k, p.free_until + at * devices);
    const auto score = [&](int i) { return (double)step_slots(w, i / devices)[i % devices]; };
    const double lse = step_log_sum(count, score);
    const int op = p.op[at], d = p.device[at];
    step_credit credit = {slope, 0, 0};
    if (p.law.kind == SKED_I_LOSS_PPO) {
        double mine = 0, own = 0; /* own: log P_F of the action, for one of the lanes */
#pragma unroll 1
        for (int i = threadIdx.x; i < count; i += SKED_STEP_WARP) {
            const double logp = score(i) - lse;
            mine -= exp(logp) * logp;
            own += w.pick[i / devices] == op && i % devices == d ? logp : 0;
        }
        const double entropy = sked_i_warp_sum(mine);
        credit = clipped_credit(p, at, slope, (float)sked_i_warp_sum(own), entropy);
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < w.count[0] * w.z.slots; i += SKED_STEP_WARP) {
        float *x = step_slots(w, i / w.z.slots) + i % w.z.slots;
        const bool chosen = w.pick[i / w.z.slots] == op && i % w.z.slots == d;
        const float share = (float)exp(*x - lse);
        const float spread = (float)(credit.bonus * share * (*x - lse + credit.entropy));
        *x = i % w.z.slots < devices
                 ? step_round(scale * p.sharpness * (credit.slope * ((chosen ? 1 : 0) - share) + spread))
                 : 0;
    }
}

/* -slope * d log P_B into the logits of removal. */
__device__ static void backward_slopes(const step_work &w, int k, int step, float slope)
{
    const double lse = step_log_sum(w.count[1], [&](int i) { return (double)step_removal(w, i); });
    const int op = w.p.op[(int64_t)k * w.p.ops + step - 1];
    __syncwarp();
#pragma unroll 1
    for (int i = threadIdx.x; i < w.count[1]; i += SKED_STEP_WARP)
        step_removal(w, i) =
            -slope * ((w.pick[w.count[0] + i] == op ? 1 : 0) - (float)exp(step_removal(w, i) - lse));
}

/*
 * All of the state before `step` of trajectory k. They are scaled so that the largest slope of the problem is
 * near 1, where half precision has room on both sides; the sums of gradients are scaled back.
 */
__device__ static void step_slopes(const step_work &w, int k, int step)
{
    const step_problem &p = w.p;
    const float scale = (float)p.loss[STEP_SCALE];
    if (w.count[0] > 0)
        forward_slopes(w, k, step, p.flow != NULL ? (float)p.flow[(int64_t)k * p.ops + step] : p.slope[k],
                       scale);
    const float back = p.flow != NULL ? (float)step_back_slope(p) : p.slope[k];
    if (w.count[1] > 0)
        backward_slopes(w, k, step, p.law.kind == SKED_I_LOSS_PPO ? 0 : scale * back);
}
#endif
