#include "robust/choose.h"

#include "backend/backend.h"
#include "base/explog.h"
#include "base/memory.h"
#include "base/thread.h"
#include "robust/posterior.h"
#include "schedule/equal.h"

#include <math.h>
#include <string.h>

static void destroy_entry(sked_i_pool_entry *e)
{
    if (e == NULL)
        return;
    sked_schedule_destroy(e->schedule);
    sked_i_timing_close(&e->timing);
    free(e->predicted);
    free(e->path);
    free(e);
}

void sked_i_pool_close(sked_i_pool *pool)
{
    for (int64_t k = 0; k < pool->count; k++)
        destroy_entry(pool->entry[k]);
    sked_i_replay_destroy(pool->reference);
    free(pool->entry);
    free(pool->label);
    *pool = (sked_i_pool){0};
}

sked_status sked_i_pool_open(sked_i_pool *pool, const sked_i_model *m, int32_t particles, sked_error *err)
{
    sked_status st = SKED_OK;
    *pool = (sked_i_pool){.model = m, .particles = particles};
    SKED_TRY(sked_i_replay_create(m->problem, &(sked_i_replay_rules){0}, &pool->reference, err));
    SKED_NEW(pool->label, m->costs.devices);
cleanup:
    return st;
}

/* The same devices and orders, as early as the problem lets them be; NULL: orders and graph contradict. */
static sked_status retime(sked_i_pool *pool, const sked_schedule *s, sked_schedule **out, sked_error *err)
{
    double makespan;
    if (sked_i_replay_run(pool->reference, s, NULL, &makespan, NULL) != SKED_OK)
        return SKED_OK;
    const sked_status st = sked_schedule_clone(s, out, err);
    if (st == SKED_OK)
        memcpy((*out)->start, pool->reference->start, (size_t)s->ops * sizeof *s->start);
    return st;
}

static int64_t find(const sked_i_pool *pool, const sked_schedule *s, uint64_t hash)
{
    const bool interchangeable = pool->model->problem->machine == NULL;
    for (int64_t k = 0; k < pool->count; k++)
        if (pool->entry[k]->hash == hash &&
            sked_i_schedule_equal(pool->entry[k]->schedule, s, interchangeable))
            return k;
    return -1;
}

/* Takes *s over. */
static sked_status insert(sked_i_pool *pool, sked_schedule **s, const char *maker, uint64_t hash,
                          sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_pool_entry *e = NULL;
    SKED_NEW0(e, 1);
    SKED_NEW0(e->predicted, pool->particles);
    SKED_NEW0(e->path, pool->model->count);
    e->novelty = 1;
    e->estimate = NAN;
    SKED_TRY(sked_i_timing_open(&e->timing, pool->model, *s, err));
    if (!SKED_GROW(pool->entry, pool->cap, pool->count + 1))
        SKED_TRY(sked_i_no_memory(err));
    e->schedule = *s;
    *s = NULL;
    e->maker = maker;
    e->hash = hash;
    pool->entry[pool->count++] = e;
    e = NULL;
cleanup:
    destroy_entry(e);
    return st;
}

sked_status sked_i_pool_offer(sked_i_pool *pool, const sked_schedule *s, const char *maker,
                              sked_i_pool_entry **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_schedule *early = NULL;
    int64_t place = -1;
    SKED_TRY(retime(pool, s, &early, err));
    if (early != NULL && sked_schedule_validate(pool->model->problem, early, NULL) == SKED_OK) {
        const uint64_t hash =
            sked_i_hash_devices(early->ops, early->start, early->device, early->devices, pool->label);
        place = find(pool, early, hash);
        if (place < 0) {
            SKED_TRY(insert(pool, &early, maker, hash, err));
            place = pool->count - 1;
        }
    }
    if (out != NULL)
        *out = place >= 0 ? pool->entry[place] : NULL;
cleanup:
    sked_schedule_destroy(early);
    return st;
}

/* ------------------------------------------------------------------ predictions */

typedef struct prediction {
    const sked_i_pool *pool;
    const sked_i_belief *b;
    const sked_i_limit *limit;
} prediction;

static void predict_part(void *data, int part)
{
    const prediction *p = data;
    sked_i_belief_work *w = p->b->work[part];
    for (int32_t i = part; i < p->b->particles && !sked_i_limit_stopped(p->limit); i += p->b->threads) {
        sked_i_model_rates(p->b->model, sked_i_belief_guess(p->b, i), &w->rates);
        for (int64_t k = 0; k < p->pool->count && !sked_i_limit_stopped(p->limit); k++)
            p->pool->entry[k]->predicted[i] =
                sked_i_timing_run(&p->pool->entry[k]->timing, &w->rates, &w->timing);
    }
}

/* Ops of all pairs a thread from which a GPU is done before the CPU: some 5 ms (docs/performance.md). */
static const double worth_a_gpu = 5e5;

static bool predicts_elsewhere(const sked_i_pool *pool, const sked_i_belief *b)
{
    return pool->backend != NULL && pool->backend->predict != NULL &&
           (double)pool->count * b->particles * b->model->ops >= worth_a_gpu * b->threads;
}

/* All pairs in one call of the backend. */
static sked_status predict_elsewhere(const sked_i_pool *pool, const sked_i_belief *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_model *m = b->model;
    const sked_i_timing **timing = NULL;
    sked_i_rates *rates = NULL;
    double *time = NULL;
    SKED_NEW(timing, pool->count);
    SKED_NEW(time, pool->count * b->particles);
    SKED_NEW0(rates, b->particles);
    for (int64_t k = 0; k < pool->count; k++)
        timing[k] = &pool->entry[k]->timing;
    for (int32_t i = 0; i < b->particles; i++) {
        SKED_TRY(sked_i_rates_open(&rates[i], m, err));
        sked_i_model_rates(m, sked_i_belief_guess(b, i), &rates[i]);
    }
    SKED_TRY(pool->backend->predict(&(sked_i_prediction){.ops = m->ops,
                                                         .links = m->links,
                                                         .groups = m->groups,
                                                         .guesses = b->particles,
                                                         .candidates = pool->count,
                                                         .timing = timing,
                                                         .rates = rates},
                                    time, err));
    for (int64_t k = 0; k < pool->count; k++)
        memcpy(pool->entry[k]->predicted, time + k * b->particles, (size_t)b->particles * sizeof *time);
cleanup:
    for (int32_t i = 0; rates != NULL && i < b->particles; i++)
        sked_i_rates_close(&rates[i]);
    free(timing);
    free(rates);
    free(time);
    return st;
}

/* What links and ops add to the critical path, under the rates of w. */
static void follow_path(sked_i_pool_entry *e, const sked_i_belief *b, sked_i_belief_work *w)
{
    const sked_i_model *m = b->model;
    double squares = 0;
    sked_i_belief_differentiate(b, w, &e->timing);
    for (int64_t k = 0; k < m->count; k++) {
        e->path[k] = k >= m->at_type && k < m->at_op ? 0 : w->row[k];
        squares += e->path[k] * e->path[k];
    }
    for (int64_t k = 0; squares > 0 && k < m->count; k++)
        e->path[k] /= sqrt(squares);
}

/* The measured entry whose critical path is most like that of e; NULL: none is. *cosine: how much. */
static const sked_i_pool_entry *find_alike(const sked_i_pool *pool, const sked_i_pool_entry *e,
                                           double *cosine)
{
    const sked_i_pool_entry *nearest = NULL;
    *cosine = 0;
    for (int64_t k = 0; k < pool->count; k++) {
        double x = 0;
        for (int64_t i = 0; pool->entry[k]->times > 0 && i < pool->model->count; i++)
            x += e->path[i] * pool->entry[k]->path[i];
        if (x > *cosine) {
            *cosine = x;
            nearest = pool->entry[k];
        }
    }
    return nearest;
}

/*
 * Guesses err alike on schedules of like critical paths: what a guess misses of a measured schedule is added
 * to those that are like it, and such a schedule holds no surprise.
 */
static void correct(const sked_i_pool *pool, sked_i_pool_entry *e)
{
    double cosine;
    const sked_i_pool_entry *known = find_alike(pool, e, &cosine);
    e->novelty = sqrt(fmax(0, 1 - cosine * cosine));
    if (known == NULL || e->measured > 0 || !(known->estimate > 0))
        return;
    for (int32_t i = 0; i < pool->particles; i++)
        if (known->predicted[i] > 0)
            e->predicted[i] *=
                sked_i_exp(cosine * cosine * sked_i_log(known->estimate / known->predicted[i]));
}

sked_status sked_i_pool_predict(sked_i_pool *pool, const sked_i_belief *b, const sked_i_limit *limit,
                                sked_error *err)
{
    prediction p = {pool, b, limit};
    sked_i_belief_work *w = b->work[0];
    const sked_status st = predicts_elsewhere(pool, b) ? predict_elsewhere(pool, b, err)
                                                       : sked_i_parallel(b->threads, predict_part, &p, err);
    if (st != SKED_OK || sked_i_limit_stopped(limit))
        return st;
    sked_i_belief_mean(b, w->parameter);
    sked_i_model_rates(b->model, w->parameter, &w->rates);
    for (int64_t k = 0; k < pool->count && !sked_i_limit_stopped(limit); k++)
        follow_path(pool->entry[k], b, w);
    for (int64_t k = 0; k < pool->count && !sked_i_limit_stopped(limit); k++)
        correct(pool, pool->entry[k]);
    return SKED_OK;
}

void sked_i_pool_expect(const sked_i_pool_entry *e, const sked_i_belief *b, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int32_t i = 0; i < b->particles; i++)
        sum += b->weight[i] * sked_i_log(fmax(e->predicted[i], 1e-300));
    for (int32_t i = 0; i < b->particles; i++) {
        const double x = sked_i_log(fmax(e->predicted[i], 1e-300)) - sum, noise = sked_i_belief_noise(b, i);
        squares += b->weight[i] * (x * x + noise * noise);
    }
    *mean = sum;
    *deviation = sqrt(squares);
}

/* What guesses miss of all measured entries alike, in the logarithm. */
static double common_miss(const sked_i_pool *pool, const sked_i_belief *b)
{
    double sum = 0, mean, deviation;
    int64_t n = 0;
    for (int64_t k = 0; k < pool->count; k++)
        if (pool->entry[k]->times > 0) {
            sked_i_pool_expect(pool->entry[k], b, &mean, &deviation);
            sum += sked_i_log(sked_i_pool_time(pool->entry[k])) - mean;
            n++;
        }
    return n > 0 ? sum / (double)n : 0;
}

void sked_i_pool_estimate(sked_i_pool *pool, const sked_i_belief *b)
{
    const bool noisy = pool->repeat > 0;
    const double common = noisy ? common_miss(pool, b) : 0;
    for (int64_t k = 0; k < pool->count; k++) {
        sked_i_pool_entry *e = pool->entry[k];
        double mean, deviation;
        e->estimate = sked_i_pool_time(e);
        e->deviation = 0;
        if (!noisy || e->times == 0)
            continue;
        const double repeat = pool->repeat / e->times, share = pool->miss / (pool->miss + repeat);
        sked_i_pool_expect(e, b, &mean, &deviation);
        e->estimate =
            sked_i_exp(share * sked_i_log(sked_i_pool_time(e)) + (1 - share) * fmin(mean + common, 700));
        e->deviation = sqrt(share * repeat);
    }
}

sked_i_pool_entry *sked_i_pool_best(const sked_i_pool *pool)
{
    sked_i_pool_entry *best = NULL;
    for (int64_t k = 0; k < pool->count; k++) {
        sked_i_pool_entry *e = pool->entry[k];
        if (e->times > 0 && (best == NULL || e->estimate < best->estimate))
            best = e;
    }
    return best;
}

/* Expected improvement of a normal variable over best. */
static double improvement(double best, double mean, double deviation)
{
    if (!(deviation > 0))
        return fmax(0, best - mean);
    const double z = (best - mean) / deviation;
    const double density = z * z < 1400 ? sked_i_exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846) : 0;
    return (best - mean) * erfc(-z / sqrt(2)) / 2 + deviation * density;
}

/* How far guess i may be off, in time: of its noise what measuring again would not show. */
static double surprise(const sked_i_pool *pool, const sked_i_pool_entry *e, const sked_i_belief *b, int32_t i)
{
    const double share = pool->repeat > 0 ? sqrt(pool->miss / (pool->miss + pool->repeat)) : 1;
    return e->novelty * share * sked_i_belief_noise(b, i) * e->predicted[i];
}

double sked_i_pool_promise(const sked_i_pool *pool, const sked_i_pool_entry *e, const sked_i_belief *b,
                           double best)
{
    double sum = 0, deviation;
    if (isinf(best)) {
        sked_i_pool_expect(e, b, &sum, &deviation);
        return -sum;
    }
    for (int32_t i = 0; i < b->particles; i++)
        sum += b->weight[i] * improvement(best, e->predicted[i], surprise(pool, e, b, i));
    return sum;
}

sked_i_pool_entry *sked_i_pool_choose(const sked_i_pool *pool, const sked_i_belief *b, double best,
                                      double *promise)
{
    sked_i_pool_entry *chosen = NULL;
    *promise = -INFINITY;
    for (int64_t k = 0; k < pool->count; k++) {
        sked_i_pool_entry *e = pool->entry[k];
        const double x = e->measured > 0 ? -INFINITY : sked_i_pool_promise(pool, e, b, best);
        if (x > *promise) {
            *promise = x;
            chosen = e;
        }
    }
    return chosen;
}

/* NAN: it is one of the others. */
static double promise_beside(const sked_i_pool *pool, const sked_i_pool_entry *e, const sked_i_belief *b,
                             double best, sked_i_pool_entry *const *others, int count)
{
    double sum = 0;
    for (int k = 0; k < count; k++)
        if (others[k] == e)
            return NAN;
    for (int32_t i = 0; i < b->particles; i++) {
        double bar = best;
        for (int k = 0; k < count; k++)
            bar = fmin(bar, others[k]->predicted[i]);
        sum += b->weight[i] * improvement(bar, e->predicted[i], surprise(pool, e, b, i));
    }
    return sum;
}

sked_i_pool_entry *sked_i_pool_choose_beside(const sked_i_pool *pool, const sked_i_belief *b, double best,
                                             sked_i_pool_entry *const *others, int count, double *promise)
{
    sked_i_pool_entry *chosen = NULL;
    *promise = -INFINITY;
    for (int64_t k = 0; k < pool->count; k++) {
        sked_i_pool_entry *e = pool->entry[k];
        const double x = e->measured > 0 ? NAN : promise_beside(pool, e, b, best, others, count);
        if (x > *promise) {
            *promise = x;
            chosen = e;
        }
    }
    return chosen;
}

const sked_i_pool_entry *sked_i_pool_fittest(const sked_i_pool *pool, int32_t i)
{
    const sked_i_pool_entry *best = NULL;
    for (int64_t k = 0; k < pool->count; k++)
        if (best == NULL || pool->entry[k]->predicted[i] < best->predicted[i])
            best = pool->entry[k];
    return best;
}

typedef struct ranked {
    double promise;
    int64_t number;
} ranked;

static int by_promise(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->promise != b->promise)
        return a->promise > b->promise ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

void sked_i_pool_trim(sked_i_pool *pool, const sked_i_belief *b, double best, int64_t keep)
{
    int64_t n = 0, kept = 0;
    ranked *list = sked_i_alloc(pool->count, sizeof *list);
    if (list == NULL) /* a larger pool is slower, no more */
        return;
    for (int64_t k = 0; k < pool->count; k++)
        if (pool->entry[k]->measured == 0)
            list[n++] = (ranked){sked_i_pool_promise(pool, pool->entry[k], b, best), k};
    qsort(list, (size_t)n, sizeof *list, by_promise);
    for (int64_t k = keep; k < n; k++) {
        destroy_entry(pool->entry[list[k].number]);
        pool->entry[list[k].number] = NULL;
    }
    for (int64_t k = 0; k < pool->count; k++)
        if (pool->entry[k] != NULL)
            pool->entry[kept++] = pool->entry[k];
    pool->count = kept;
    free(list);
}
