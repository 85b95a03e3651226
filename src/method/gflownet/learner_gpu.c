/* Learning on a GPU: lessons go there as plain arrays, losses and norms come back. Who learns is chosen here.
 */
#include "method/gflownet/sampler_learner.h"

#include "backend/backend.h"
#include "base/memory.h"
#include "method/gflownet/gflownet_gpu.h"

typedef struct gpu_learner {
    sked_i_sampler_learner base;
    sked_sampler *model;
    sked_i_sampler_learner_settings how;
    const sked_i_gpu_policy *policy;
    sked_i_gpu_model *gpu;
    int count;
    sked_i_gpu_problem *problem; /* [how.lessons] */
    sked_i_gpu_walks *walks;     /* [how.lessons] */
} gpu_learner;

/*
 * encode-once: four trajectories of 20 ops are the least that was measured (docs/performance.md): 1.8 times
 * 16 cores. stepwise: a batch of 100 is quicker than 16 cores; where smaller ones begin to be is estimated.
 */
static bool worth(const sked_i_layout *layout, const sked_i_sampler_learner_settings *how)
{
    enum { least_once = 4, least_stepwise = 16 };
    return layout->sizes.policy == SKED_I_POLICY_ENCODE_ONCE
               ? (int64_t)how->lessons * how->batch >= least_once
               : how->batch >= least_stepwise;
}

static void destroy(sked_i_sampler_learner *generic)
{
    gpu_learner *c = (gpu_learner *)generic;
    if (c->gpu != NULL)
        c->policy->destroy(c->gpu);
    free(c->problem);
    free(c->walks);
    free(c);
}

static sked_status create(sked_sampler *model, const sked_i_sampler_learner_settings *how,
                          sked_i_sampler_learner **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_backend *backend;
    gpu_learner *c = NULL;
    SKED_TRY(sked_i_backend_find("cuda", &backend, err));
    SKED_NEW0(c, 1);
    c->base.kind = &sked_i_sampler_learner_gpu;
    c->model = model;
    c->how = *how;
    SKED_NEW(c->problem, how->lessons);
    SKED_NEW(c->walks, how->lessons);
    SKED_TRY(sked_i_gpu_model_open(backend, model, true, &c->policy, &c->gpu, err));
    *out = &c->base;
    c = NULL;
cleanup:
    if (c)
        destroy(&c->base);
    return st;
}

static sked_status start(sked_i_sampler_learner *generic, const sked_i_lesson *lessons,
                         const sked_i_loss *losses, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    gpu_learner *c = (gpu_learner *)generic;
    c->count = count;
    for (int k = 0; k < count; k++) {
        const sked_i_lesson *l = &lessons[k];
        SKED_TRY(sked_i_gflownet_gpu_problem_of(l->instance, &c->model->layout, l->temperature,
                                                &c->problem[k], err));
        c->walks[k] = (sked_i_gpu_walks){.problem = &c->problem[k],
                                         .count = l->batch,
                                         .listed = l->listed,
                                         .seed = l->seed,
                                         .first = l->first,
                                         .crowd = (int64_t)c->how.graphs * c->how.batch,
                                         .graphs = c->how.graphs,
                                         .loss_of = losses[k]};
    }
    SKED_TRY(c->policy->learn(c->gpu, count, c->walks, c->how.limit, err));
cleanup:
    return st;
}

static sked_status again(sked_i_sampler_learner *generic, sked_error *err)
{
    gpu_learner *c = (gpu_learner *)generic;
    return c->policy->again(c->gpu, c->how.limit, err);
}

static sked_status finish(sked_i_sampler_learner *generic, sked_i_mark *marks, sked_error *err)
{
    gpu_learner *c = (gpu_learner *)generic;
    const sked_status st = c->policy->finish(c->gpu, err);
    for (int k = 0; k < c->count && st == SKED_OK; k++)
        marks[k] = (sked_i_mark){.loss = c->walks[k].loss,
                                 .log_z = c->walks[k].log_z,
                                 .norm = c->walks[k].norm,
                                 .speedup = c->walks[k].speedup,
                                 .pull = c->walks[k].pull};
    return st;
}

static sked_status add(sked_i_sampler_learner *generic, float *gradient, sked_error *err)
{
    gpu_learner *c = (gpu_learner *)generic;
    return c->policy->add(c->gpu, c->how.clip, 1.0 / c->how.graphs, gradient, err);
}

static sked_status update(sked_i_sampler_learner *generic, const float *gradient, sked_error *err)
{
    gpu_learner *c = (gpu_learner *)generic;
    const sked_i_adam adam = sked_i_sampler_adam(c->model);
    const sked_i_gpu_step step = {.clip = c->how.clip,
                                  .share = 1.0 / c->how.graphs,
                                  .rate = adam.rate,
                                  .left1 = adam.left1,
                                  .left2 = adam.left2};
    const sked_status st = c->policy->update(c->gpu, &step, gradient, err);
    if (st == SKED_OK)
        sked_i_sampler_advance(c->model);
    return st;
}

static sked_status fetch(sked_i_sampler_learner *generic, sked_error *err)
{
    gpu_learner *c = (gpu_learner *)generic;
    return c->policy->get(c->gpu, c->model->parameter, c->model->moment1, c->model->moment2, err);
}

const sked_i_sampler_learner_kind sked_i_sampler_learner_gpu = {
    .worth = worth,
    .create = create,
    .destroy = destroy,
    .start = start,
    .again = again,
    .finish = finish,
    .add = add,
    .update = update,
    .fetch = fetch,
};

/* ------------------------------------------------------------------ all kinds */

sked_status sked_i_sampler_learner_choose(const char *backend, const sked_i_layout *layout,
                                          const sked_i_sampler_learner_settings *how,
                                          const sked_i_sampler_learner_kind **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error unused;
    const sked_i_backend *chosen;
    const bool worth = sked_i_gflownet_gpu_check(layout, &unused) == SKED_OK &&
                       sked_i_sampler_learner_gpu.worth(layout, how);
    SKED_TRY(sked_i_backend_choose(backend, worth, &chosen, err));
    if (chosen != &sked_i_backend_cpu)
        SKED_TRY(sked_i_gflownet_gpu_check(layout, err));
    *out = chosen == &sked_i_backend_cpu ? &sked_i_sampler_learner_cpu : &sked_i_sampler_learner_gpu;
cleanup:
    return st;
}

void sked_i_sampler_learner_destroy(sked_i_sampler_learner *l)
{
    if (l != NULL)
        l->kind->destroy(l);
}
