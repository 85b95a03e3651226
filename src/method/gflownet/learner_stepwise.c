/* Learning of the stepwise policy on a GPU: parameters, moments and gradients stay there. */
#include "method/gflownet/learner.h"

#include "backend/backend.h"
#include "base/memory.h"
#include "method/gflownet/stepwise_device.h"

#include <math.h>

typedef struct stepwise_learner {
    sked_i_sampler_learner base;
    sked_sampler *model;
    sked_i_sampler_learner_settings how;
    const sked_i_stepwise_backend *backend;
    sked_i_stepwise_device *device;
    int count;
    sked_i_stepwise_input *input;     /* [how.lessons] */
    sked_i_stepwise_problem *problem; /* [how.lessons] */
    sked_i_stepwise_mark *mark;       /* [how.lessons] */
    float *share, *gradient;          /* [how.lessons], [total] */
} stepwise_learner;

static bool serves(const sked_i_layout *layout)
{
    return layout->sizes.policy == SKED_I_POLICY_STEPWISE;
}

static void clear_lessons(stepwise_learner *s)
{
    for (int k = 0; k < s->count; k++)
        sked_i_stepwise_input_clear(&s->input[k]);
    s->count = 0;
}

static void destroy(sked_i_sampler_learner *generic)
{
    stepwise_learner *s = (stepwise_learner *)generic;
    clear_lessons(s);
    if (s->device)
        s->backend->destroy(s->device);
    free(s->input);
    free(s->problem);
    free(s->mark);
    free(s->share);
    free(s->gradient);
    free(s);
}

static sked_status open_device(stepwise_learner *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_backend *cuda;
    sked_i_stepwise_shape shape;
    SKED_TRY(sked_i_backend_find("cuda", &cuda, err));
    s->backend = cuda->stepwise;
    sked_i_stepwise_shape_fill(&s->model->layout, &shape);
    SKED_TRY(s->backend->create(&shape, s->how.limit, &s->device, err));
    SKED_TRY(s->backend->write(s->device, s->model->parameter, s->model->moment1, s->model->moment2, err));
cleanup:
    return st;
}

static sked_status create(sked_sampler *model, const sked_i_sampler_learner_settings *how,
                          sked_i_sampler_learner **out, sked_error *err)
{
    sked_status st = SKED_OK;
    stepwise_learner *s = NULL;
    SKED_NEW0(s, 1);
    s->base.kind = &sked_i_sampler_learner_stepwise;
    s->model = model;
    s->how = *how;
    SKED_NEW0(s->input, how->lessons);
    SKED_NEW0(s->problem, how->lessons);
    SKED_NEW0(s->mark, how->lessons);
    SKED_NEW0(s->share, how->lessons);
    SKED_NEW(s->gradient, model->layout.total);
    SKED_TRY(open_device(s, err));
    *out = &s->base;
    s = NULL;
cleanup:
    if (s)
        destroy(&s->base);
    return st;
}

static sked_status start(sked_i_sampler_learner *generic, const sked_i_lesson *lessons,
                         const sked_i_loss *losses, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    stepwise_learner *s = (stepwise_learner *)generic;
    clear_lessons(s);
    for (int k = 0; k < count; k++) {
        const sked_i_lesson *l = &lessons[k];
        s->count = k + 1;
        SKED_TRY(
            sked_i_stepwise_input_make(l->instance, &s->model->layout, l->temperature, &s->input[k], err));
        s->problem[k] = s->input[k].problem;
        s->problem[k].batch = l->batch;
        s->problem[k].listed = l->listed;
        s->problem[k].seed = l->seed;
        s->problem[k].first = l->first;
        s->problem[k].loss = losses[k];
        s->problem[k].graphs = s->how.graphs;
    }
    SKED_TRY(s->backend->load(s->device, count, s->problem, true, err));
    SKED_TRY(s->backend->draw(s->device, err));
cleanup:
    return st;
}

static sked_status again(sked_i_sampler_learner *generic, sked_error *err)
{
    stepwise_learner *s = (stepwise_learner *)generic;
    return s->backend->again(s->device, err);
}

static sked_status finish(sked_i_sampler_learner *generic, sked_i_mark *marks, sked_error *err)
{
    stepwise_learner *s = (stepwise_learner *)generic;
    const sked_status st = s->backend->learn(s->device, s->mark, err);
    for (int k = 0; k < s->count && st == SKED_OK; k++) {
        const double norm = s->mark[k].norm, clip = s->how.clip;
        marks[k] = (sked_i_mark){.loss = s->mark[k].loss,
                                 .log_z = s->mark[k].log_z,
                                 .norm = norm,
                                 .speedup = s->mark[k].speedup,
                                 .pull = s->mark[k].pull};
        s->share[k] = (float)((norm > clip ? clip / norm : 1) / s->how.graphs);
    }
    return st;
}

static sked_status add(sked_i_sampler_learner *generic, float *gradient, sked_error *err)
{
    sked_status st = SKED_OK;
    stepwise_learner *s = (stepwise_learner *)generic;
    for (int k = 0; k < s->count; k++) {
        SKED_TRY(s->backend->gradient(s->device, k, s->gradient, err));
        for (int64_t i = 0; i < s->model->layout.total; i++)
            gradient[i] = fmaf(s->share[k], s->gradient[i], gradient[i]); /* as the device's own sum */
    }
cleanup:
    return st;
}

static sked_status update(sked_i_sampler_learner *generic, const float *gradient, sked_error *err)
{
    stepwise_learner *s = (stepwise_learner *)generic;
    const sked_i_adam a = sked_i_sampler_adam(s->model);
    const sked_status st = s->backend->update(s->device, gradient, s->share, a.rate, a.left1, a.left2, err);
    if (st == SKED_OK)
        sked_i_sampler_advance(s->model);
    return st;
}

static sked_status fetch(sked_i_sampler_learner *generic, sked_error *err)
{
    const stepwise_learner *s = (const stepwise_learner *)generic;
    return s->backend->read(s->device, s->model->parameter, s->model->moment1, s->model->moment2, err);
}

/* A batch of 100 is quicker than 16 cores (docs/performance.md); where smaller ones begin to be is estimated.
 */
static bool worth(const sked_i_layout *layout, const sked_i_sampler_learner_settings *how)
{
    enum { least = 16 };
    (void)layout;
    return how->batch >= least;
}

const sked_i_sampler_learner_kind sked_i_sampler_learner_stepwise = {
    .backend = "cuda",
    .serves = serves,
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
