/*
 * Learning on the CPU. Lessons side by side, each in stages; the trajectories of a lesson are learnt in parts
 * (batch.c). Threads take what there is to do, but every sum has its order: results do not depend on them.
 */
#include "method/gflownet/sampler_learner.h"

#include "backend/backend.h"
#include "base/memory.h"
#include "base/thread.h"
#include "method/gflownet/batch.h"

#include <assert.h>
#include <string.h>

/* What becomes of a lesson, one after the other. PREPARE and BACK have stages of the policy's own. */
typedef enum phase { OPEN, PREPARE, DRAW, GRADE, GATHER, BACK, NORM, DONE } phase;

/* The norm of a gradient is made of so many, whatever the number of threads. */
enum { NORMS = 16 };

/* One lesson being learnt. */
typedef struct desk {
    const sked_i_lesson *lesson;
    sked_i_loss loss;
    bool again; /* the trajectories are those of the time before */
    sked_i_policy_f32 *policy;
    sked_i_batch_f32 *batch;
    sked_i_back_f32 *back;
    int64_t update; /* of the lesson, where the desk was opened for it */
    phase phase;
    int stage, pieces;  /* of the phase, and of that stage */
    float *gradient;    /* [total] */
    double norm[NORMS]; /* of pieces of it */
    sked_i_mark mark;
    sked_status status;
    sked_error error;
} desk;

typedef struct cpu_learner {
    sked_i_sampler_learner base;
    sked_i_arena arena;
    sked_sampler *model;
    sked_i_sampler_learner_settings how;
    sked_i_team *team;
    int count;
    desk *desk;  /* [how.lessons] */
    desk *spare; /* [how.lessons] of the update before; threads that would wait turn them into the next's */
    const sked_i_lesson *next; /* [n_next] lessons of the next update, as far as they are known */
    int n_next;
    int *order;      /* [how.lessons] the largest first, so that none is left to the end alone */
    float *gradient; /* [total] */
} cpu_learner;

static void close_desk(desk *d)
{
    sked_error unused = {0};
    if (d->back)
        (void)!d->policy->kind->back_end(d->back, &unused);
    d->back = NULL;
    sked_i_batch_destroy_f32(d->batch);
    sked_i_policy_destroy_f32(d->policy);
    d->batch = NULL;
    d->policy = NULL;
}

static void destroy(sked_i_sampler_learner *generic)
{
    cpu_learner *c = (cpu_learner *)generic;
    sked_i_team_destroy(c->team);
    for (int k = 0; k < c->how.lessons && c->desk && c->spare; k++) {
        close_desk(&c->desk[k]);
        close_desk(&c->spare[k]);
    }
    sked_i_arena_free(&c->arena);
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
    SKED_OWN(&c->arena, c->gradient, model->layout.total);
    SKED_OWN0(&c->arena, c->desk, how->lessons);
    SKED_OWN0(&c->arena, c->spare, how->lessons);
    SKED_OWN(&c->arena, c->order, how->lessons);
    for (int k = 0; k < how->lessons; k++)
        SKED_OWN(&c->arena, c->desk[k].gradient, model->layout.total);
    SKED_TRY(sked_i_team_create(how->threads, &c->team, err));
    *out = &c->base;
    c = NULL;
cleanup:
    if (c)
        destroy(&c->base);
    return st;
}

static int64_t size_of(const sked_i_lesson *l)
{
    return (int64_t)l->graph->n_ops * l->batch;
}

/* Desks of the update before and of this one change places. */
static void change_desks(cpu_learner *c)
{
    desk *const before = c->desk;
    c->desk = c->spare;
    c->spare = before;
    for (int k = 0; k < c->how.lessons; k++) {
        c->desk[k].gradient = before[k].gradient;
        before[k].gradient = NULL;
    }
}

/* The desk is for this lesson now. What was opened ahead for it stays. */
static void sit_down(desk *d, const sked_i_lesson *lesson, const sked_i_loss *loss)
{
    const bool opened = d->batch != NULL && d->lesson == lesson && d->update == lesson->update;
    if (!opened)
        close_desk(d);
    d->lesson = lesson;
    d->loss = *loss;
    d->again = false;
    d->status = SKED_OK;
    d->phase = OPEN;
    d->stage = 0;
}

static sked_status start(sked_i_sampler_learner *generic, const sked_i_lesson *lessons,
                         const sked_i_loss *losses, int count, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    (void)err;
    c->count = count;
    assert(count >= 1 && count <= c->how.lessons);
    c->n_next = 0;
    change_desks(c);
    for (int k = 0; k < count; k++) {
        sit_down(&c->desk[k], &lessons[k], &losses[k]);
        int at = k;
        for (; at > 0 && size_of(&lessons[c->order[at - 1]]) < size_of(&lessons[k]); at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = k;
    }
    return SKED_OK;
}

/* What OPEN does is done already. */
static sked_status again(sked_i_sampler_learner *generic, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    (void)err;
    for (int k = 0; k < c->count; k++) {
        c->desk[k].again = true;
        c->desk[k].phase = OPEN;
        c->desk[k].stage = 1;
    }
    return SKED_OK;
}

static void prefetch(sked_i_sampler_learner *generic, const sked_i_lesson *lessons, int count)
{
    cpu_learner *c = (cpu_learner *)generic;
    c->next = lessons;
    c->n_next = count;
}

/* ------------------------------------------------------------------ stages */

/*
 * Small lessons take so little time that memory counts: theirs is made ahead, and freed when threads have
 * nothing else to do. Large ones have it only while they need it.
 */
static bool is_small(const sked_i_lesson *l)
{
    enum { most_ops = 512 };
    return l->graph->n_ops <= most_ops;
}

static sked_status open_desk(const cpu_learner *c, desk *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_layout *layout = &c->model->layout;
    SKED_TRY(sked_i_policy_create_f32(d->lesson->instance, layout, sked_i_backend_cpu.nn, &d->policy, err));
    SKED_TRY(sked_i_batch_create_f32(d->policy, d->lesson->batch, c->how.threads, true, &d->batch, err));
    d->update = d->lesson->update;
cleanup:
    return st;
}

/* Instead of a desk of the update before: one of the next. What fails is tried once more when it is needed.
 */
static void turn_desk(const cpu_learner *c, int k)
{
    desk *d = &c->spare[k];
    sked_error unused = {0};
    close_desk(d);
    d->lesson = k < c->n_next ? &c->next[k] : NULL;
    if (d->lesson != NULL && is_small(d->lesson) && open_desk(c, d, &unused) != SKED_OK)
        close_desk(d);
}

/* Job count + k, for threads that would wait: lessons are made, and desk k of the next update is opened. */
static int spare_pieces(const cpu_learner *c, int k, int stage)
{
    const desk *d = &c->spare[k];
    if (stage == 0)
        return c->how.spare ? 1 + SKED_I_SPARE_LESSONS : 1;
    return stage == 1 && d->batch != NULL && !d->policy->kind->single_pass
               ? d->batch->parts + d->batch->threads
               : 0;
}

static void run_spare(const cpu_learner *c, int k, int stage, int piece)
{
    sked_error unused = {0};
    if (stage == 1)
        (void)!sked_i_batch_open_f32(c->spare[k].batch, piece, &unused);
    else if (piece > 0)
        c->how.spare(c->how.spare_data);
    else if (c->model->epoch == 0)
        turn_desk(c, k);
}

/* Some of the parameters, for each thread: no cache line is written by two. */
static void share_of(const cpu_learner *c, int thread, int64_t *first, int64_t *end)
{
    enum { line = 16 };
    const int64_t total = c->model->layout.total, lines = (total + line - 1) / line;
    assert(thread >= 0 && thread < c->how.threads);
    *first = lines * thread / c->how.threads * line;
    *end = lines * (thread + 1) / c->how.threads * line;
    *end = *end < total ? *end : total;
}

/* Norm of numbers of which these are the norms of pieces. */
static double norm_of(int count, const double *norms)
{
    double square = 0;
    for (int k = 0; k < count; k++)
        square += norms[k] * norms[k];
    return sqrt(square);
}

/* Measures a piece of the gradient, and frees a piece of a large batch. */
static void end_piece(const cpu_learner *c, desk *d, int piece)
{
    const int64_t total = c->model->layout.total;
    const int64_t first = total * piece / NORMS, end = total * (piece + 1) / NORMS;
    d->norm[piece] = sked_i_gradient_norm(end - first, d->gradient + first);
    if (!is_small(d->lesson))
        sked_i_batch_close_f32(d->batch, piece, NORMS);
}

static sked_status end_lesson(const cpu_learner *c, desk *d, sked_error *err)
{
    const sked_status st = d->policy->kind->back_end(d->back, err);
    d->back = NULL;
    d->mark.norm = norm_of(NORMS, d->norm);
    if (c->model->epoch + 1 >= c->model->epochs && !is_small(d->lesson))
        close_desk(d);
    return st;
}

/* A thread's share of the sum of the parts. */
static void gather(const cpu_learner *c, desk *d, int thread)
{
    int64_t first, end;
    sked_i_batch_gather_f32(d->batch, thread, c->how.threads);
    share_of(c, thread, &first, &end);
    memset(d->gradient + first, 0, (size_t)(end - first) * sizeof *d->gradient);
}

static void take_marks(desk *d)
{
    d->mark.loss = sked_i_batch_loss_f32(d->batch, &d->mark.log_z);
    d->mark.speedup = sked_i_batch_speedup_f32(d->batch, d->lesson->listed);
    d->mark.pull = sked_i_batch_pull_f32(d->batch);
}

/* Makes the way back ready while others walk. Where this fails it is tried once more when it is needed. */
static void begin_back(desk *d)
{
    sked_error unused = {0};
    (void)!d->policy->kind->back_begin(d->policy, &d->batch->gradient[0], d->gradient, &d->back, &unused);
}

static void run(void *data, int job, int stage, int piece, int thread)
{
    cpu_learner *c = data;
    if (job >= c->count) {
        run_spare(c, job - c->count, stage, piece);
        return;
    }
    desk *d = &c->desk[c->order[job]];
    switch (d->phase) {
    case OPEN:
        if (d->batch == NULL)
            d->status = open_desk(c, d, &d->error);
        break;
    case PREPARE:
        d->policy->kind->prepare(d->policy, d->stage, piece, d->pieces);
        break;
    case DRAW:
        sked_i_batch_walk_f32(d->batch, thread);
        break;
    case GRADE:
        if (piece < d->batch->threads)
            sked_i_batch_walk_f32(d->batch, thread);
        else
            begin_back(d);
        break;
    case GATHER:
        if (piece < c->how.threads)
            gather(c, d, piece);
        else
            take_marks(d);
        break;
    case BACK:
        d->policy->kind->back_run(d->back, d->stage, piece, d->pieces);
        break;
    default:
        end_piece(c, d, piece);
    }
}

/* Ends the phase before, and makes ready for this one. */
static sked_status begin_phase(const cpu_learner *c, desk *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_lesson *l = d->lesson;
    switch (d->phase) {
    case PREPARE:
        SKED_TRY(sked_i_batch_set_loss_f32(d->batch, &d->loss, err));
        sked_i_policy_begin_f32(d->policy, c->model->parameter, l->temperature);
        break;
    case DRAW:
        if (d->again) {
            sked_i_batch_again_f32(d->batch);
            d->phase = GRADE;
        } else {
            sked_i_batch_draw_f32(d->batch, l->listed, l->seed, l->first);
        }
        break;
    case GRADE:
        SKED_TRY(sked_i_batch_check_f32(d->batch, err));
        if (!sked_i_batch_second_f32(d->batch))
            d->phase = GATHER;
        break;
    case GATHER:
        SKED_TRY(sked_i_batch_check_f32(d->batch, err));
        break;
    case BACK:
        if (d->back == NULL)
            SKED_TRY(
                d->policy->kind->back_begin(d->policy, &d->batch->gradient[0], d->gradient, &d->back, err));
        break;
    case DONE:
        SKED_TRY(end_lesson(c, d, err));
        break;
    default:
        break;
    }
cleanup:
    return st;
}

/* Of the desk's phase and stage; 0: the phase has no more stages. */
static int pieces_of(const cpu_learner *c, const desk *d)
{
    const int threads = c->how.threads;
    switch (d->phase) {
    case PREPARE:
        return d->policy->kind->prepare_pieces(d->policy, d->stage, threads);
    case DRAW:
        return d->stage == 0 ? d->batch->threads : 0;
    case GRADE:
        return d->stage == 0 ? d->batch->threads + 1 : 0; /* and the way back */
    case GATHER:
        return d->stage == 0 ? threads + 1 : 0; /* and the marks */
    case BACK:
        return d->policy->kind->back_pieces(d->back, d->stage, threads);
    case NORM:
        return d->stage == 0 ? NORMS : 0;
    default:
        return d->stage == 0;
    }
}

static int next_pieces(void *data, int job, int stage)
{
    cpu_learner *c = data;
    if (job >= c->count)
        return spare_pieces(c, job - c->count, stage);
    desk *d = &c->desk[c->order[job]];
    if (stage > 0)
        d->stage++;
    while (d->status == SKED_OK && d->phase != DONE) {
        d->pieces = pieces_of(c, d);
        if (d->pieces > 0)
            return d->pieces;
        d->phase++;
        d->stage = 0;
        d->status = begin_phase(c, d, &d->error);
    }
    return 0;
}

static sked_status finish(sked_i_sampler_learner *generic, sked_i_mark *marks, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    /* The last jobs fill the gaps. */
    const sked_i_team_jobs jobs = {
        .count = c->count + c->how.lessons, .pieces = next_pieces, .run = run, .data = c};
    const sked_status st = sked_i_team_work(c->team, &jobs, err);
    for (int k = 0; k < c->count; k++)
        if (st != SKED_OK || c->desk[k].status != SKED_OK)
            close_desk(&c->desk[k]); /* it was broken off */
    for (int k = 0; k < c->count && st == SKED_OK; k++)
        if (c->desk[k].status != SKED_OK)
            return sked_i_fail(err, c->desk[k].status, "%s", c->desk[k].error.message);
        else
            marks[k] = c->desk[k].mark;
    return st;
}

/* ------------------------------------------------------------------ update */

/* What the gradient of a lesson counts. */
static float weight_of(const cpu_learner *c, int lesson)
{
    const double norm = c->desk[lesson].mark.norm, clip = c->how.clip;
    assert(lesson < c->count && c->desk[lesson].phase == DONE && isfinite(norm));
    return (float)((norm > clip ? clip / norm : 1) / c->how.graphs);
}

static void add_share(const cpu_learner *c, int64_t first, int64_t end, float *gradient)
{
    for (int k = 0; k < c->count; k++) {
        const float weight = weight_of(c, k);
        for (int64_t i = first; i < end; i++)
            gradient[i] += weight * c->desk[k].gradient[i];
    }
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
    const float *gradient; /* NULL: the sum over the lessons */
    sked_i_adam adam;
} step;

static void step_some(void *data, int thread)
{
    const step *s = data;
    cpu_learner *c = s->learner;
    const float *gradient = s->gradient;
    int64_t first, end;
    share_of(c, thread, &first, &end);
    if (gradient == NULL) {
        memset(c->gradient + first, 0, (size_t)(end - first) * sizeof *c->gradient);
        add_share(c, first, end, c->gradient);
        gradient = c->gradient;
    }
    sked_i_sampler_step(c->model, &s->adam, gradient, 1, first, end);
}

static sked_status update(sked_i_sampler_learner *generic, const float *gradient, sked_error *err)
{
    cpu_learner *c = (cpu_learner *)generic;
    (void)err;
    step s = {.learner = c, .gradient = gradient, .adam = sked_i_sampler_adam(c->model)};
    sked_i_team_run(c->team, step_some, &s);
    sked_i_sampler_advance(c->model);
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
    .spares = true,
    .create = create,
    .destroy = destroy,
    .start = start,
    .again = again,
    .prefetch = prefetch,
    .finish = finish,
    .add = add,
    .update = update,
    .fetch = fetch,
};
