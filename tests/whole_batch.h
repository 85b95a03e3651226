/*
 * Learning in one call, as tests want it: batches on threads of their own, the way back of a gradient, Adam.
 * The learners of src/method/gflownet do the same in pieces, many lessons side by side.
 */
#ifndef SKED_TESTS_WHOLE_BATCH_H
#define SKED_TESTS_WHOLE_BATCH_H
#include "base/thread.h"
#include "engine/network/sampler.h"
#include "method/gflownet/batch.h"

/* The instance of a problem on its own. */
static inline sked_status instance_of(const sked_problem *p, sked_i_instance **out, sked_error *err)
{
    sked_i_platform platform = {0};
    sked_i_costs c = {0};
    sked_status st = sked_i_costs_make(p, &c, err);
    if (st == SKED_OK)
        st = sked_i_platform_make(p, &c, &platform, err);
    sked_i_costs_free(&c);
    if (st == SKED_OK)
        st = sked_i_instance_on(p->graph, &platform, NULL, out, err);
    sked_i_platform_clear(&platform);
    return st;
}

/* One step of Adam with the gradient cut to a norm of at most `clip`. */
static inline void adam_update(sked_sampler *m, const float *gradient, double clip)
{
    const double norm = sked_i_gradient_norm(m->layout.total, gradient);
    const sked_i_adam a = sked_i_sampler_adam(m);
    sked_i_sampler_step(m, &a, gradient, norm > clip ? clip / norm : 1, 0, m->layout.total);
    sked_i_sampler_advance(m);
}

/* Carries g, which it changes, to the parameters (+=). */
static inline sked_status policy_back(const RN(policy) * p, RN(gradient) * g, real *dparameter,
                                      sked_error *err)
{
    RN(back) *b = NULL;
    const sked_status st = p->kind->back_begin(p, g, dparameter, &b, err);
    if (st != SKED_OK)
        return st;
    for (int stage = 0; p->kind->back_pieces(b, stage, 1) > 0; stage++)
        p->kind->back_run(b, stage, 0, 1);
    return p->kind->back_end(b, err);
}

static inline void walk_thread(void *batch, int thread)
{
    RN(batch_walk)(batch, thread);
}
static inline sked_status walk_pass(RN(batch) * b, sked_error *err)
{
    const sked_status st = sked_i_parallel(b->threads, walk_thread, b, err);
    return st == SKED_OK ? RN(batch_check)(b, err) : st;
}
/* The gradient of the pass that was begun, added to dparameter. */
static inline sked_status take_gradient(RN(batch) * b, bool again, real *dparameter, sked_error *err)
{
    const sked_status st = again ? walk_pass(b, err) : SKED_OK;
    if (st != SKED_OK)
        return st;
    RN(batch_gather)(b, 0, 1);
    return policy_back(b->policy, &b->gradient[0], dparameter, err);
}
/* Adds the gradient of batch_loss to dparameter, for the trajectories there are. */
static inline sked_status batch_grad(RN(batch) * b, real *dparameter, sked_error *err)
{
    RN(batch_again)(b);
    return take_gradient(b, true, dparameter, err);
}
/* New trajectories as batch_sample draws them, and the gradient of their loss. */
static inline sked_status batch_learn(RN(batch) * b, int32_t listed, uint64_t seed, uint64_t first,
                                      real *dparameter, sked_error *err)
{
    RN(batch_draw)(b, listed, seed, first);
    const sked_status st = walk_pass(b, err);
    return st == SKED_OK ? take_gradient(b, RN(batch_second)(b), dparameter, err) : st;
}
#endif
