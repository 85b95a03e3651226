/* Learning on a device of its own: lessons go there as plain arrays, losses and norms come back. */
#include "method/gflownet/learner.h"

#include "backend/backend.h"
#include "base/memory.h"
#include "method/gflownet/device.h"

/* PPO: trajectories that are drawn first and replayed in every epoch. */
typedef struct drawn {
    int32_t *steps; /* [2 * batch * n] ops, then devices */
    double
        *numbers; /* log P_F of the steps [batch * n], then of the trajectories, log P_B, makespan, slope */
} drawn;

typedef struct device_learner {
    sked_i_sampler_learner base;
    sked_sampler *model;
    sked_i_sampler_learner_settings how;
    const sked_i_once_backend *backend;
    sked_i_once_device *device;
    int count;
    sked_i_once_problem *problem; /* [how.lessons] */
    sked_i_once_walks *walks;     /* [how.lessons] */
    drawn *drawn;                 /* [how.lessons] */
} device_learner;

static bool serves(const sked_i_layout *layout)
{
    return layout->sizes.policy == SKED_I_POLICY_ENCODE_ONCE;
}

/* Four trajectories of 20 ops are the least that was measured (docs/performance.md): 1.8 times 16 cores. */
static bool worth(const sked_i_layout *layout, const sked_i_sampler_learner_settings *how)
{
    (void)layout;
    return (int64_t)how->lessons * how->batch >= 4;
}

static void clear_drawn(device_learner *c)
{
    for (int k = 0; k < c->how.lessons && c->drawn != NULL; k++) {
        free(c->drawn[k].steps);
        free(c->drawn[k].numbers);
        c->drawn[k] = (drawn){0};
    }
}

static void destroy(sked_i_sampler_learner *generic)
{
    device_learner *c = (device_learner *)generic;
    clear_drawn(c);
    free(c->drawn);
    if (c->device != NULL)
        c->backend->destroy(c->device);
    free(c->problem);
    free(c->walks);
    free(c);
}

static sked_status create(sked_sampler *model, const sked_i_sampler_learner_settings *how,
                          sked_i_sampler_learner **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_backend *backend;
    sked_i_once_shape shape;
    device_learner *c = NULL;
    SKED_TRY(sked_i_backend_find("cuda", &backend, err));
    SKED_NEW0(c, 1);
    c->base.kind = &sked_i_sampler_learner_cuda;
    c->model = model;
    c->how = *how;
    c->backend = backend->once;
    SKED_NEW(c->problem, how->lessons);
    SKED_NEW(c->walks, how->lessons);
    SKED_NEW0(c->drawn, how->lessons);
    sked_i_once_shape_of(&model->layout, &shape);
    SKED_TRY(c->backend->create(&shape, &c->device, err));
    SKED_TRY(c->backend->put(c->device, model->parameter, model->moment1, model->moment2, err));
    *out = &c->base;
    c = NULL;
cleanup:
    if (c)
        destroy(&c->base);
    return st;
}

static sked_status make_room(drawn *d, sked_i_once_walks *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t count = w->count, cells = count * w->problem->n;
    SKED_NEW(d->steps, 2 * cells);
    SKED_NEW(d->numbers, cells + 4 * count);
    w->op = d->steps;
    w->device = d->steps + cells;
    w->log_step = d->numbers;
    w->log_forward = d->numbers + cells;
    w->log_backward = w->log_forward + count;
    w->makespan = w->log_backward + count;
cleanup:
    return st;
}

/* PPO: what an action counts depends on what all trajectories reach, so they are drawn before they are learnt
 * from. */
static sked_status draw(device_learner *c, const sked_i_lesson *lessons, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    clear_drawn(c);
    for (int k = 0; k < count; k++)
        SKED_TRY(make_room(&c->drawn[k], &c->walks[k], err));
    SKED_TRY(c->backend->walk(c->device, count, c->walks, c->how.limit, err));
    for (int k = 0; k < count; k++) {
        sked_i_once_walks *w = &c->walks[k];
        double *slope = w->makespan + w->count;
        for (int32_t i = 0; i < w->count; i++)
            slope[i] = sked_i_log_reward(lessons[k].instance, lessons[k].temperature, w->makespan[i]);
        sked_i_advantages(w->count, w->problem->n, slope);
        w->slope = slope;
        w->replay = true;
    }
cleanup:
    return st;
}

static sked_status again(sked_i_sampler_learner *generic, sked_error *err)
{
    device_learner *c = (device_learner *)generic;
    return c->backend->learn(c->device, c->count, c->walks, c->how.limit, err);
}

static sked_status start(sked_i_sampler_learner *generic, const sked_i_lesson *lessons,
                         const sked_i_loss *losses, int count, sked_error *err)
{
    device_learner *c = (device_learner *)generic;
    c->count = count;
    for (int k = 0; k < count; k++) {
        const sked_i_lesson *l = &lessons[k];
        sked_i_once_problem_of(l->instance, l->temperature, &c->problem[k]);
        c->walks[k] = (sked_i_once_walks){.problem = &c->problem[k],
                                          .count = l->batch,
                                          .listed = l->listed,
                                          .seed = l->seed,
                                          .first = l->first,
                                          .crowd = (int64_t)c->how.graphs * c->how.batch,
                                          .loss_of = losses[k]};
    }
    const sked_status st = c->how.loss == SKED_I_LOSS_PPO ? draw(c, lessons, count, err) : SKED_OK;
    return st == SKED_OK ? again(generic, err) : st;
}

static sked_status finish(sked_i_sampler_learner *generic, sked_i_mark *marks, sked_error *err)
{
    device_learner *c = (device_learner *)generic;
    const sked_status st = c->backend->finish(c->device, err);
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
    device_learner *c = (device_learner *)generic;
    return c->backend->add(c->device, c->how.clip, 1.0 / c->how.graphs, gradient, err);
}

static sked_status update(sked_i_sampler_learner *generic, const float *gradient, sked_error *err)
{
    device_learner *c = (device_learner *)generic;
    const sked_i_adam adam = sked_i_sampler_adam(c->model);
    const sked_i_once_step step = {.clip = c->how.clip,
                                   .share = 1.0 / c->how.graphs,
                                   .rate = adam.rate,
                                   .left1 = adam.left1,
                                   .left2 = adam.left2};
    const sked_status st = c->backend->update(c->device, &step, gradient, err);
    if (st == SKED_OK)
        sked_i_sampler_advance(c->model);
    return st;
}

static sked_status fetch(sked_i_sampler_learner *generic, sked_error *err)
{
    device_learner *c = (device_learner *)generic;
    return c->backend->get(c->device, c->model->parameter, c->model->moment1, c->model->moment2, err);
}

const sked_i_sampler_learner_kind sked_i_sampler_learner_cuda = {
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
