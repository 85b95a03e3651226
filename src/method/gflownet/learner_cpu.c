/*
 * Learning on the CPU. Lessons side by side, each in stages; the trajectories of a lesson are learnt in parts
 * (batch.c). Threads take what there is to do, but every sum has its order: results do not depend on them.
 */
#include "method/gflownet/learner.h"

#include "backend/backend.h"
#include "base/memory.h"
#include "base/thread.h"
#include "method/gflownet/batch.h"

#include <string.h>

/* What becomes of a lesson, one after the other. */
enum { OPEN, PREPARE, DRAW, GRADE, GATHER, LEARN, CLOSE, STAGES };

/* One lesson being learnt. */
typedef struct desk {
    const sked_i_lesson *lesson;
    sked_i_policy_f32 *policy;
    sked_i_batch_f32 *batch;
    bool second;     /* its gradients take a second pass */
    float *gradient; /* [total] */
    sked_i_mark mark;
    sked_status status;
    sked_error error;
} desk;

typedef struct cpu_learner {
    sked_i_sampler_learner base;
    sked_sampler *model;
    sked_i_sampler_learner_settings how;
    sked_i_team *team;
    int count;
    desk *desk;      /* [how.lessons] */
    float *gradient; /* [total] */
} cpu_learner;

static bool serves(const sked_i_layout *layout)
{
    (void)layout;
    return true;
}

static void close_desk(desk *d)
{
    sked_i_batch_destroy_f32(d->batch);
    sked_i_policy_destroy_f32(d->policy);
    d->batch = NULL;
    d->policy = NULL;
}

static void destroy(sked_i_sampler_learner *generic)
{
    cpu_learner *c = (cpu_learner *)generic;
    sked_i_team_destroy(c->team);
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
    SKED_TRY(sked_i_team_create(how->threads, &c->team, err));
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
    c->count = count;
    for (int k = 0; k < count; k++) {
        c->desk[k].lesson = &lessons[k];
        c->desk[k].status = SKED_OK;
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ stages */

static sked_status open_desk(const cpu_learner *c, desk *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_layout *layout = &c->model->layout;
    SKED_TRY(sked_i_policy_create_f32(d->lesson->instance, layout, sked_i_backend_cpu.nn, &d->policy, err));
    SKED_TRY(sked_i_batch_create_f32(d->policy, d->lesson->batch, 1, true, &d->batch, err));
cleanup:
    return st;
}

static sked_status learn(const cpu_learner *c, desk *d, sked_error *err)
{
    memset(d->gradient, 0, (size_t)c->model->layout.total * sizeof *d->gradient);
    const sked_status st = sked_i_policy_grad_f32(d->policy, &d->batch->gradient[0], d->gradient, err);
    d->mark.norm = sked_i_gradient_norm(c->model->layout.total, d->gradient);
    return st;
}

static void run(void *data, int job, int stage, int piece)
{
    cpu_learner *c = data;
    desk *d = &c->desk[job];
    switch (stage) {
    case OPEN:
        d->status = open_desk(c, d, &d->error);
        break;
    case PREPARE:
        sked_i_policy_prepare_f32(d->policy, c->model->parameter, d->lesson->temperature);
        break;
    case DRAW:
        sked_i_batch_part_f32(d->batch, piece);
        break;
    case GRADE:
        if (d->second)
            sked_i_batch_part_f32(d->batch, piece);
        break;
    case GATHER:
        sked_i_batch_gather_f32(d->batch, piece, c->how.threads);
        break;
    case LEARN:
        d->status = learn(c, d, &d->error);
        break;
    default:
        close_desk(d);
    }
}

/* Ends the stage before and says how many pieces this one has. */
static int pieces(void *data, int job, int stage)
{
    cpu_learner *c = data;
    desk *d = &c->desk[job];
    if (stage == GRADE || stage == GATHER)
        d->status = sked_i_batch_check_f32(d->batch, &d->error);
    if (d->status != SKED_OK)
        return 0;
    switch (stage) {
    case DRAW:
        sked_i_batch_draw_f32(d->batch, d->lesson->listed, d->lesson->seed, d->lesson->first);
        return d->batch->parts;
    case GRADE:
        d->second = sked_i_batch_second_f32(d->batch);
        return d->second ? d->batch->parts : 1;
    case GATHER:
        d->mark.loss = sked_i_batch_loss_f32(d->batch, &d->mark.log_z);
        return c->how.threads;
    default:
        return stage < STAGES;
    }
}

static sked_status finish(sked_i_sampler_learner *generic, sked_i_mark *marks, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    const sked_i_team_jobs jobs = {.count = c->count, .pieces = pieces, .run = run, .data = c};
    const sked_status st = sked_i_team_work(c->team, &jobs, err);
    for (int k = 0; k < c->count; k++)
        close_desk(&c->desk[k]); /* of lessons that were broken off */
    for (int k = 0; k < c->count && st == SKED_OK; k++)
        if (c->desk[k].status != SKED_OK)
            return sked_i_fail(err, c->desk[k].status, "%s", c->desk[k].error.message);
        else
            marks[k] = c->desk[k].mark;
    return st;
}

/* ------------------------------------------------------------------ update */

/* Some of the parameters, for each thread: no cache line is written by two. */
static void share_of(const cpu_learner *c, int thread, int64_t *first, int64_t *end)
{
    enum { line = 16 };
    const int64_t total = c->model->layout.total, lines = (total + line - 1) / line;
    *first = lines * thread / c->how.threads * line;
    *end = lines * (thread + 1) / c->how.threads * line;
    *end = *end < total ? *end : total;
}

static void add_share(const cpu_learner *c, int64_t first, int64_t end, float *gradient)
{
    for (int k = 0; k < c->count; k++) {
        const double norm = c->desk[k].mark.norm, clip = c->how.clip;
        const float share = (float)((norm > clip ? clip / norm : 1) / c->how.graphs);
        for (int64_t i = first; i < end; i++)
            gradient[i] += share * c->desk[k].gradient[i];
    }
}

static void sum_some(void *data, int thread)
{
    cpu_learner *c = data;
    int64_t first, end;
    share_of(c, thread, &first, &end);
    memset(c->gradient + first, 0, (size_t)(end - first) * sizeof *c->gradient);
    add_share(c, first, end, c->gradient);
}

static sked_status add(sked_i_sampler_learner *generic, float *gradient, sked_error *err)
{
    (void)err;
    const cpu_learner *c = (const cpu_learner *)generic;
    add_share(c, 0, c->model->layout.total, gradient);
    return SKED_OK;
}

typedef struct step {
    cpu_learner *learner;
    const float *gradient;
    double cut;
    sked_i_adam adam;
} step;

static void step_some(void *data, int thread)
{
    const step *s = data;
    int64_t first, end;
    share_of(s->learner, thread, &first, &end);
    sked_i_sampler_step(s->learner->model, &s->adam, s->gradient, s->cut, first, end);
}

static sked_status update(sked_i_sampler_learner *generic, const float *gradient, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    (void)err;
    if (gradient == NULL)
        sked_i_team_run(c->team, sum_some, c);
    step s = {
        .learner = c, .gradient = gradient ? gradient : c->gradient, .adam = sked_i_sampler_adam(c->model)};
    s.cut = sked_i_sampler_cut(c->model, s.gradient, c->how.clip);
    sked_i_team_run(c->team, step_some, &s);
    c->model->steps++;
    return SKED_OK;
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
