/* Learning on the CPU: lessons side by side, the trajectories of each in parts (batch.c). */
#include "method/gflownet/learner.h"

#include "backend/backend.h"
#include "base/memory.h"
#include "base/thread.h"
#include "method/gflownet/batch.h"

#include <string.h>

/* One lesson being learnt. */
typedef struct desk {
    float *gradient; /* [total] */
    sked_i_mark mark;
    sked_status status;
    sked_error error;
} desk;

typedef struct cpu_learner {
    sked_i_sampler_learner base;
    sked_sampler *model;
    sked_i_sampler_learner_settings how;
    const sked_i_lesson *lessons;
    int count;
    desk *desk;      /* [how.lessons] */
    float *gradient; /* [total] */
} cpu_learner;

static bool serves(const sked_i_layout *layout)
{
    (void)layout;
    return true;
}

static void destroy(sked_i_sampler_learner *generic)
{
    cpu_learner *c = (cpu_learner *)generic;
    for (int k = 0; k < c->how.lessons && c->desk; k++)
        free(c->desk[k].gradient);
    free(c->desk);
    free(c->gradient);
    free(c);
}

static sked_status create(sked_sampler *model, const sked_i_sampler_learner_settings *how,
                          sked_i_sampler_learner **out, sked_error *err)
{
    sked_status st = SKED_OK;
    cpu_learner *c = NULL;
    SKED_NEW0(c, 1);
    c->base.kind = &sked_i_sampler_learner_cpu;
    c->model = model;
    c->how = *how;
    SKED_NEW(c->gradient, model->layout.total);
    SKED_NEW0(c->desk, how->lessons);
    for (int k = 0; k < how->lessons; k++)
        SKED_NEW(c->desk[k].gradient, model->layout.total);
    *out = &c->base;
    c = NULL;
cleanup:
    if (c)
        destroy(&c->base);
    return st;
}

static sked_status start(sked_i_sampler_learner *generic, const sked_i_lesson *lessons, int count,
                         sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    (void)err;
    c->lessons = lessons;
    c->count = count;
    return SKED_OK;
}

/* Loss and gradient of one mini-batch. */
static sked_status learn(const cpu_learner *c, const sked_i_lesson *l, desk *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_sampler *m = c->model;
    sked_i_policy_f32 *policy = NULL;
    sked_i_batch_f32 *b = NULL;
    const int threads = c->how.threads > c->count ? c->how.threads / c->count : 1;
    SKED_TRY(sked_i_policy_create_f32(l->instance, &m->layout, sked_i_backend_cpu.nn, &policy, err));
    SKED_TRY(sked_i_batch_create_f32(policy, l->batch, threads, true, &b, err));
    sked_i_policy_prepare_f32(policy, m->parameter, l->temperature);
    memset(d->gradient, 0, (size_t)m->layout.total * sizeof *d->gradient);
    SKED_TRY(sked_i_batch_learn_f32(b, l->listed, l->seed, l->first, d->gradient, err));
    d->mark.loss = sked_i_batch_loss_f32(b, &d->mark.log_z);
    double square = 0;
    for (int64_t i = 0; i < m->layout.total; i++)
        square += (double)d->gradient[i] * d->gradient[i];
    d->mark.norm = sqrt(square);
cleanup:
    sked_i_batch_destroy_f32(b);
    sked_i_policy_destroy_f32(policy);
    return st;
}

static int threads_of(const cpu_learner *c)
{
    return c->how.threads < c->count ? c->how.threads : c->count;
}

static void learn_some(void *data, int thread)
{
    cpu_learner *c = data;
    for (int k = thread; k < c->count; k += threads_of(c)) {
        desk *d = &c->desk[k];
        d->status = learn(c, &c->lessons[k], d, &d->error);
    }
}

static sked_status finish(sked_i_sampler_learner *generic, sked_i_mark *marks, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    const sked_status st = sked_i_parallel(threads_of(c), learn_some, c, err);
    for (int k = 0; k < c->count && st == SKED_OK; k++)
        if (c->desk[k].status != SKED_OK)
            return sked_i_fail(err, c->desk[k].status, "%s", c->desk[k].error.message);
        else
            marks[k] = c->desk[k].mark;
    return st;
}

static sked_status add(sked_i_sampler_learner *generic, float *gradient, sked_error *err)
{
    const cpu_learner *c = (const cpu_learner *)generic;
    (void)err;
    for (int k = 0; k < c->count; k++) {
        const double norm = c->desk[k].mark.norm, clip = c->how.clip;
        const float share = (float)((norm > clip ? clip / norm : 1) / c->how.graphs);
        for (int64_t i = 0; i < c->model->layout.total; i++)
            gradient[i] += share * c->desk[k].gradient[i];
    }
    return SKED_OK;
}

static sked_status update(sked_i_sampler_learner *generic, const float *gradient, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    sked_status st = SKED_OK;
    if (gradient == NULL) {
        memset(c->gradient, 0, (size_t)c->model->layout.total * sizeof *c->gradient);
        SKED_TRY(add(generic, c->gradient, err));
        gradient = c->gradient;
    }
    sked_i_sampler_update(c->model, gradient, c->how.clip);
cleanup:
    return st;
}

/* Everything is in the model. */
static sked_status fetch(sked_i_sampler_learner *generic, sked_error *err)
{
    (void)generic;
    (void)err;
    return SKED_OK;
}

const sked_i_sampler_learner_kind sked_i_sampler_learner_cpu = {
    .backend = "cpu",
    .serves = serves,
    .create = create,
    .destroy = destroy,
    .start = start,
    .finish = finish,
    .add = add,
    .update = update,
    .fetch = fetch,
};
