#include "robust/candidates.h"

#include "base/explog.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/thread.h"
#include "robust/posterior.h"
#include "schedule/equal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void destroy_entry(sked_i_candidate *e)
{
    if (e == NULL)
        return;
    sked_schedule_destroy(e->schedule);
    sked_i_arena_free(&e->arena);
    free(e);
}

void sked_i_candidates_close(sked_i_candidate_set *candidates)
{
    for (int64_t k = 0; k < candidates->count; k++)
        destroy_entry(candidates->entry[k]);
    sked_i_replay_destroy(candidates->reference);
    free(candidates->entry);
    free(candidates->label);
    *candidates = (sked_i_candidate_set){0};
}

sked_status sked_i_candidates_open(sked_i_candidate_set *candidates, const sked_i_model *m, int32_t particles,
                                   sked_error *err)
{
    sked_status st = SKED_OK;
    *candidates = (sked_i_candidate_set){.model = m, .particles = particles};
    SKED_TRY(sked_i_replay_create(m->problem, &(sked_i_replay_rules){0}, &candidates->reference, err));
    SKED_NEW(candidates->label, m->costs.devices);
cleanup:
    return st;
}

/* The same devices and orders, as early as the problem lets them be; NULL: orders and graph contradict. */
static sked_status retime(sked_i_candidate_set *candidates, const sked_schedule *s, sked_schedule **out,
                          sked_error *err)
{
    double makespan;
    if (sked_i_replay_run(candidates->reference, s, NULL, &makespan, NULL) != SKED_OK)
        return SKED_OK;
    const sked_status st = sked_schedule_clone(s, out, err);
    if (st == SKED_OK)
        memcpy((*out)->start, candidates->reference->start, (size_t)s->ops * sizeof *s->start);
    return st;
}

static int64_t find(const sked_i_candidate_set *candidates, const sked_schedule *s, uint64_t hash)
{
    const bool interchangeable = candidates->model->problem->machine == NULL;
    for (int64_t k = 0; k < candidates->count; k++)
        if (candidates->entry[k]->hash == hash &&
            sked_i_schedule_equal(candidates->entry[k]->schedule, s, interchangeable))
            return k;
    return -1;
}

/* Takes *s over. */
static sked_status insert(sked_i_candidate_set *candidates, sked_schedule **s, const char *maker,
                          uint64_t hash, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_candidate *e = NULL;
    SKED_NEW0(e, 1);
    SKED_OWN0(&e->arena, e->predicted, candidates->particles);
    SKED_OWN0(&e->arena, e->path, candidates->model->count);
    e->novelty = 1;
    e->estimate = NAN;
    SKED_TRY(sked_i_timing_open(&e->timing, &e->arena, candidates->model, *s, err));
    if (!SKED_GROW(candidates->entry, candidates->cap, candidates->count + 1))
        SKED_TRY(sked_i_no_memory(err));
    e->schedule = *s;
    *s = NULL;
    e->maker = maker;
    e->hash = hash;
    candidates->entry[candidates->count++] = e;
    e = NULL;
cleanup:
    destroy_entry(e);
    return st;
}

sked_status sked_i_candidates_offer(sked_i_candidate_set *candidates, const sked_schedule *s,
                                    const char *maker, sked_i_candidate **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_schedule *early = NULL;
    int64_t place = -1;
    SKED_TRY(retime(candidates, s, &early, err));
    if (early != NULL && sked_schedule_validate(candidates->model->problem, early, NULL) == SKED_OK) {
        const uint64_t hash = sked_i_schedule_hash_devices(early->ops, early->start, early->device,
                                                           early->devices, candidates->label);
        place = find(candidates, early, hash);
        if (place < 0) {
            SKED_TRY(insert(candidates, &early, maker, hash, err));
            place = candidates->count - 1;
        }
    }
    if (out != NULL)
        *out = place >= 0 ? candidates->entry[place] : NULL;
cleanup:
    sked_schedule_destroy(early);
    return st;
}

/* ------------------------------------------------------------------ predictions */

typedef struct prediction {
    const sked_i_candidate_set *candidates;
    const sked_i_belief *b;
    const sked_i_limit *limit;
} prediction;

static void predict_part(void *data, int part)
{
    const prediction *p = data;
    sked_i_belief_work *w = p->b->work[part];
    for (int32_t i = part; i < p->b->particles && !sked_i_limit_stopped(p->limit); i += p->b->threads) {
        sked_i_model_rates(p->b->model, sked_i_belief_guess(p->b, i), &w->rates);
        for (int64_t k = 0; k < p->candidates->count && !sked_i_limit_stopped(p->limit); k++)
            p->candidates->entry[k]->predicted[i] =
                sked_i_timing_run(&p->candidates->entry[k]->timing, &w->rates, &w->timing);
    }
}

/* What links and ops add to the critical path, under the rates of w. */
static void follow_path(sked_i_candidate *e, const sked_i_belief *b, sked_i_belief_work *w)
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
static const sked_i_candidate *find_alike(const sked_i_candidate_set *candidates, const sked_i_candidate *e,
                                          double *cosine)
{
    const sked_i_candidate *nearest = NULL;
    *cosine = 0;
    for (int64_t k = 0; k < candidates->count; k++) {
        double x = 0;
        for (int64_t i = 0; candidates->entry[k]->times > 0 && i < candidates->model->count; i++)
            x += e->path[i] * candidates->entry[k]->path[i];
        if (x > *cosine) {
            *cosine = x;
            nearest = candidates->entry[k];
        }
    }
    return nearest;
}

/*
 * Guesses err alike on schedules of like critical paths: what a guess misses of a measured schedule is added
 * to those that are like it, and such a schedule holds no surprise.
 */
static void correct(const sked_i_candidate_set *candidates, sked_i_candidate *e)
{
    double cosine;
    const sked_i_candidate *known = find_alike(candidates, e, &cosine);
    e->novelty = sqrt(fmax(0, 1 - cosine * cosine));
    if (known == NULL || e->measured > 0 || !(known->estimate > 0))
        return;
    for (int32_t i = 0; i < candidates->particles; i++)
        if (known->predicted[i] > 0)
            e->predicted[i] *=
                sked_i_exp(cosine * cosine * sked_i_model_log(known->estimate / known->predicted[i]));
}

sked_status sked_i_candidates_predict(sked_i_candidate_set *candidates, const sked_i_belief *b,
                                      const sked_i_limit *limit, sked_error *err)
{
    prediction p = {candidates, b, limit};
    assert(candidates->particles == b->particles && candidates->model == b->model);
    sked_i_belief_work *w = b->work[0];
    const sked_status st = sked_i_parallel(b->threads, predict_part, &p, err);
    if (st != SKED_OK || sked_i_limit_stopped(limit))
        return st;
    sked_i_belief_mean(b, w->parameter);
    sked_i_model_rates(b->model, w->parameter, &w->rates);
    for (int64_t k = 0; k < candidates->count && !sked_i_limit_stopped(limit); k++)
        follow_path(candidates->entry[k], b, w);
    for (int64_t k = 0; k < candidates->count && !sked_i_limit_stopped(limit); k++)
        correct(candidates, candidates->entry[k]);
    return SKED_OK;
}

void sked_i_candidates_expect(const sked_i_candidate *e, const sked_i_belief *b, double *mean,
                              double *deviation)
{
    double sum = 0, squares = 0;
    for (int32_t i = 0; i < b->particles; i++)
        sum += b->weight[i] * sked_i_model_log(e->predicted[i]);
    for (int32_t i = 0; i < b->particles; i++) {
        const double x = sked_i_model_log(e->predicted[i]) - sum, noise = sked_i_belief_noise(b, i);
        squares += b->weight[i] * (x * x + noise * noise);
    }
    *mean = sum;
    *deviation = sqrt(squares);
}

/* What guesses miss of all measured entries alike, in the logarithm. */
static double common_miss(const sked_i_candidate_set *candidates, const sked_i_belief *b)
{
    double sum = 0, mean, deviation;
    int64_t n = 0;
    for (int64_t k = 0; k < candidates->count; k++)
        if (candidates->entry[k]->times > 0) {
            sked_i_candidates_expect(candidates->entry[k], b, &mean, &deviation);
            sum += sked_i_log(sked_i_candidates_time(candidates->entry[k])) - mean;
            n++;
        }
    return n > 0 ? sum / (double)n : 0;
}

void sked_i_candidates_estimate(sked_i_candidate_set *candidates, const sked_i_belief *b)
{
    const bool noisy = candidates->repeat > 0;
    const double common = noisy ? common_miss(candidates, b) : 0;
    for (int64_t k = 0; k < candidates->count; k++) {
        sked_i_candidate *e = candidates->entry[k];
        double mean, deviation;
        e->estimate = sked_i_candidates_time(e);
        e->deviation = 0;
        if (!noisy || e->times == 0)
            continue;
        assert(e->times <= e->measured && candidates->miss > 0);
        const double repeat = candidates->repeat / e->times,
                     share = candidates->miss / (candidates->miss + repeat);
        sked_i_candidates_expect(e, b, &mean, &deviation);
        e->estimate = sked_i_exp(share * sked_i_log(sked_i_candidates_time(e)) +
                                 (1 - share) * fmin(mean + common, 700));
        e->deviation = sqrt(share * repeat);
    }
}

sked_i_candidate *sked_i_candidates_best(const sked_i_candidate_set *candidates)
{
    sked_i_candidate *best = NULL;
    for (int64_t k = 0; k < candidates->count; k++) {
        sked_i_candidate *e = candidates->entry[k];
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
static double surprise(const sked_i_candidate_set *candidates, const sked_i_candidate *e,
                       const sked_i_belief *b, int32_t i)
{
    assert(candidates->repeat == 0 || candidates->miss > 0);
    const double share =
        candidates->repeat > 0 ? sqrt(candidates->miss / (candidates->miss + candidates->repeat)) : 1;
    return e->novelty * share * sked_i_belief_noise(b, i) * e->predicted[i];
}

double sked_i_candidates_promise(const sked_i_candidate_set *candidates, const sked_i_candidate *e,
                                 const sked_i_belief *b, double best)
{
    double sum = 0, deviation;
    if (isinf(best)) {
        sked_i_candidates_expect(e, b, &sum, &deviation);
        return -sum;
    }
    for (int32_t i = 0; i < b->particles; i++)
        sum += b->weight[i] * improvement(best, e->predicted[i], surprise(candidates, e, b, i));
    return sum;
}

/* NAN: it is one of the others. */
static double promise_beside(const sked_i_candidate_set *candidates, const sked_i_candidate *e,
                             const sked_i_belief *b, double best, sked_i_candidate *const *others, int count)
{
    double sum = 0;
    if (count == 0)
        return sked_i_candidates_promise(candidates, e, b, best);
    for (int k = 0; k < count; k++)
        if (others[k] == e)
            return NAN;
    for (int32_t i = 0; i < b->particles; i++) {
        double bar = best;
        for (int k = 0; k < count; k++)
            bar = fmin(bar, others[k]->predicted[i]);
        sum += b->weight[i] * improvement(bar, e->predicted[i], surprise(candidates, e, b, i));
    }
    return sum;
}

sked_i_candidate *sked_i_candidates_choose(const sked_i_candidate_set *candidates, const sked_i_belief *b,
                                           double best, sked_i_candidate *const *others, int count,
                                           double *promise)
{
    sked_i_candidate *chosen = NULL;
    *promise = -INFINITY;
    for (int64_t k = 0; k < candidates->count; k++) {
        sked_i_candidate *e = candidates->entry[k];
        const double x = e->measured > 0 ? NAN : promise_beside(candidates, e, b, best, others, count);
        if (x > *promise) {
            *promise = x;
            chosen = e;
        }
    }
    return chosen;
}

const sked_i_candidate *sked_i_candidates_fittest(const sked_i_candidate_set *candidates, int32_t i)
{
    const sked_i_candidate *best = NULL;
    for (int64_t k = 0; k < candidates->count; k++)
        if (best == NULL || candidates->entry[k]->predicted[i] < best->predicted[i])
            best = candidates->entry[k];
    return best;
}

void sked_i_candidates_trim(sked_i_candidate_set *candidates, const sked_i_belief *b, double best,
                            int64_t keep)
{
    int64_t n = 0, kept = 0;
    sked_i_keyed *list = sked_i_alloc(2 * candidates->count, sizeof *list);
    if (list == NULL) /* keeping them all only costs time */
        return;
    for (int64_t k = 0; k < candidates->count; k++)
        if (candidates->entry[k]->measured == 0)
            list[n++] = (sked_i_keyed){
                sked_i_sort_key(-sked_i_candidates_promise(candidates, candidates->entry[k], b, best)), k};
    sked_i_sort_keyed(list, list + n, n);
    for (int64_t k = keep; k < n; k++) {
        destroy_entry(candidates->entry[list[k].value]);
        candidates->entry[list[k].value] = NULL;
    }
    for (int64_t k = 0; k < candidates->count; k++)
        if (candidates->entry[k] != NULL)
            candidates->entry[kept++] = candidates->entry[k];
    candidates->count = kept;
    free(list);
}
