#include "method/gflownet/lesson.h"

#include "base/arena.h"
#include "base/explog.h"

#include <assert.h>
#include <pthread.h>

/* Of all lessons in the order they are given. */
static uint64_t number_of(int64_t update, int index)
{
    return (uint64_t)update * SKED_I_LESSONS + (uint64_t)index;
}

/* About the same work for graphs of all sizes; the variance of a loss needs some trajectories. */
static int32_t batch_of(const sked_i_lesson_law *law, int32_t ops)
{
    enum { full_up_to = 60, least_share = 6 };
    const int32_t batch = law->batch, least = batch / least_share > 2 ? batch / least_share : 2;
    const int64_t fit = ops > full_up_to ? (int64_t)batch * full_up_to / ops : batch;
    return fit > least ? (int32_t)fit : least;
}

static double draw_temperature(const sked_i_lesson_law *law, const sked_i_instance *x, sked_i_rng *rng)
{
    const double low = sked_i_log(law->gentlest), high = sked_i_log(law->sharpest);
    return sked_i_instance_temperature(x, sked_i_exp(low + (high - low) * sked_i_rng_uniform(rng)));
}

/* Random streams: below 2^62 trajectories, then held-out graphs, from 2^63 the lessons. */
sked_status sked_i_lesson_make(const sked_i_lesson_law *law, int64_t update, int index, sked_i_lesson *out,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_rng rng;
    assert(update >= 0 && index >= 0 && index < SKED_I_LESSONS);
    sked_i_platform platform = {0};
    const uint64_t number = number_of(update, index);
    *out = (sked_i_lesson){.update = update, .index = index, .seed = law->seed, .first = (number + 1) << 20};
    sked_i_rng_seed(&rng, law->seed, (UINT64_C(1) << 63) + number);
    SKED_TRY(sked_i_lesson_source_draw(law->source, law->largest, &rng, &out->graph, err));
    out->batch = batch_of(law, out->graph->n_ops);
    out->listed = (int32_t)(law->listed * out->batch);
    SKED_TRY(sked_i_law_draw_machine(&law->machine, out->graph, &rng, &platform, err));
    SKED_TRY(sked_i_instance_on(out->graph, &platform, law->limit, &out->instance, err));
    out->temperature = draw_temperature(law, out->instance, &rng);
cleanup:
    sked_i_platform_clear(&platform);
    return st;
}

void sked_i_lesson_clear(sked_i_lesson *l)
{
    sked_i_instance_destroy(l->instance);
    sked_graph_destroy(l->graph);
    *l = (sked_i_lesson){0};
}

/* ------------------------------------------------------------------ queue */

/* Where a lesson's making ended. */
typedef struct outcome {
    sked_status status;
    sked_error error;
} outcome;

struct sked_i_lesson_queue {
    sked_i_arena arena;
    const sked_i_lesson_law *law;
    sked_i_lesson_plan plan;
    pthread_mutex_t lock;
    pthread_cond_t room, made; /* for those who make, for the one who asks */
    pthread_t *thread;         /* [threads] */
    int threads;               /* that could be had */
    bool over;
    int64_t oldest;        /* update of the window */
    int64_t next;          /* lesson to be made, counted from the plan's first update */
    sked_i_lesson *lesson; /* [ahead, count], a ring of updates */
    outcome *outcome;      /* [ahead, count] */
    int *left;             /* [ahead] lessons not made yet */
};

static int slot_of(const sked_i_lesson_queue *q, int64_t update)
{
    return (int)((update - q->plan.update) % q->plan.ahead);
}

/* The update of the next lesson is in the window, and not past the end. Under the lock. */
static bool has_room(const sked_i_lesson_queue *q)
{
    const int64_t update = q->plan.update + q->next / q->plan.count;
    return update < q->oldest + q->plan.ahead && update < q->plan.last;
}

/* Makes the next lesson; the lock is held before and after, not meanwhile. */
static void make_next(sked_i_lesson_queue *q)
{
    const int64_t update = q->plan.update + q->next / q->plan.count;
    const int k = (int)(q->next % q->plan.count), slot = slot_of(q, update);
    const int64_t at = (int64_t)slot * q->plan.count + k;
    q->next++;
    pthread_mutex_unlock(&q->lock);
    sked_i_lesson_clear(&q->lesson[at]); /* of an update that was released */
    q->outcome[at] = (outcome){0};
    q->outcome[at].status =
        sked_i_lesson_make(q->law, update, q->plan.first + k, &q->lesson[at], &q->outcome[at].error);
    pthread_mutex_lock(&q->lock);
    if (--q->left[slot] == 0)
        pthread_cond_broadcast(&q->made);
}

static void *serve(void *data)
{
    sked_i_lesson_queue *q = data;
    pthread_mutex_lock(&q->lock);
    while (!q->over)
        if (has_room(q))
            make_next(q);
        else
            pthread_cond_wait(&q->room, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

sked_status sked_i_lesson_queue_create(const sked_i_lesson_law *law, const sked_i_lesson_plan *plan,
                                       sked_i_lesson_queue **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t lessons = (int64_t)plan->ahead * plan->count;
    sked_i_lesson_queue *q = NULL;
    SKED_NEW0(q, 1);
    q->law = law;
    q->plan = *plan;
    q->oldest = plan->update;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->room, NULL);
    pthread_cond_init(&q->made, NULL);
    SKED_OWN0(&q->arena, q->lesson, lessons);
    SKED_OWN0(&q->arena, q->outcome, lessons);
    SKED_OWN0(&q->arena, q->left, plan->ahead);
    SKED_OWN0(&q->arena, q->thread, plan->threads);
    for (int k = 0; k < plan->ahead; k++)
        q->left[k] = plan->count;
    while (q->threads < plan->threads && pthread_create(&q->thread[q->threads], NULL, serve, q) == 0)
        q->threads++; /* with fewer, or none, the caller makes its lessons itself */
    *out = q;
    q = NULL;
cleanup:
    sked_i_lesson_queue_destroy(q);
    return st;
}

void sked_i_lesson_queue_destroy(sked_i_lesson_queue *q)
{
    if (q == NULL)
        return;
    pthread_mutex_lock(&q->lock);
    q->over = true;
    pthread_cond_broadcast(&q->room);
    pthread_mutex_unlock(&q->lock);
    for (int k = 0; k < q->threads; k++)
        pthread_join(q->thread[k], NULL);
    for (int64_t k = 0; k < (int64_t)q->plan.ahead * q->plan.count && q->lesson; k++)
        sked_i_lesson_clear(&q->lesson[k]);
    pthread_cond_destroy(&q->room);
    pthread_cond_destroy(&q->made);
    pthread_mutex_destroy(&q->lock);
    sked_i_arena_free(&q->arena);
    free(q);
}

sked_status sked_i_lesson_queue_at(sked_i_lesson_queue *q, int64_t update, const sked_i_lesson **out,
                                   sked_error *err)
{
    const int slot = slot_of(q, update);
    pthread_mutex_lock(&q->lock);
    assert(update >= q->oldest && update < q->oldest + q->plan.ahead);
    while (q->left[slot] > 0) /* what is not begun yet need not wait for a thread of the queue */
        if (q->next < (update + 1 - q->plan.update) * q->plan.count)
            make_next(q);
        else
            pthread_cond_wait(&q->made, &q->lock);
    pthread_mutex_unlock(&q->lock);
    const outcome *o = &q->outcome[(int64_t)slot * q->plan.count];
    for (int k = 0; k < q->plan.count; k++)
        if (o[k].status != SKED_OK)
            return sked_i_fail(err, o[k].status, "%s", o[k].error.message);
    *out = &q->lesson[(int64_t)slot * q->plan.count];
    return SKED_OK;
}

void sked_i_lesson_queue_help(sked_i_lesson_queue *q)
{
    pthread_mutex_lock(&q->lock);
    if (has_room(q))
        make_next(q);
    pthread_mutex_unlock(&q->lock);
}

bool sked_i_lesson_queue_ready(sked_i_lesson_queue *q, int64_t update)
{
    const int slot = slot_of(q, update);
    pthread_mutex_lock(&q->lock);
    bool ready = update < q->oldest + q->plan.ahead && update < q->plan.last && q->left[slot] == 0;
    pthread_mutex_unlock(&q->lock);
    for (int k = 0; k < q->plan.count && ready; k++)
        ready = q->outcome[(int64_t)slot * q->plan.count + k].status == SKED_OK;
    return ready;
}

void sked_i_lesson_queue_release(sked_i_lesson_queue *q)
{
    const int slot = slot_of(q, q->oldest);
    pthread_mutex_lock(&q->lock);
    assert(q->left[slot] == 0); /* all of its lessons were made */
    q->left[slot] = q->plan.count;
    q->oldest++;
    pthread_cond_broadcast(&q->room);
    pthread_mutex_unlock(&q->lock);
}
