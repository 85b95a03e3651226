/*
 * Rounds of starts. The first round takes each kind of start through descent and polish; later rounds go on
 * from the best schedule (polish for longer, or descend from it with sharp sigmas) or from random means.
 * Threads take the items of a round in turn; what they found is compared in the order of the items, so a
 * seed and a number of threads give one result.
 */
#include "base/thread.h"
#include "method/gaus/gaus.h"

#include <stdio.h>
#include <string.h>

typedef struct item {
    int kind;       /* of start, or one of: */
    bool from_best; /* means are the best schedule */
    bool descend;
    double sweeps, heat;
    /* results */
    sked_i_gaus_best best;
    double legal, gradient; /* value of the start as legalised, after the descent */
} item;

typedef struct worker {
    struct rounds *all;
    sked_i_gaus_legaliser *l;
    double *mu;
    int64_t evaluations;
    const char *why;
    sked_status status;
    sked_error error;
} worker;

typedef struct rounds {
    sked_i_run *run;
    const sked_i_gaus_model *m;
    sked_i_gaus_tuning tuning;
    int threads, count, round;
    worker *workers; /* [threads] */
    item *items;     /* [count] */
    sked_i_gaus_best best;
    double gradient; /* best value that a descent alone gave */
    const sked_schedule *list;
    int32_t best_kind;
    double deadline; /* of this round */
} rounds;

static const char *const kind_names[] = {"list", "ALAP", "midpoint", "filling", "ASAP", "random"};

/* ------------------------------------------------------------------ one item */

/* An item's part of what is left of the round: the worker's items share it evenly. */
static sked_i_limit share_of(const rounds *r, int index, double part)
{
    return sked_i_gaus_share(r->run, r->deadline, (r->count - index + r->threads - 1) / r->threads, part);
}

static void place_means(rounds *r, worker *w, item *it, sked_i_rng *rng)
{
    if (!it->from_best || !(r->best.value < INFINITY)) {
        sked_i_gaus_start(r->m, it->kind, r->list, rng, w->mu);
        return;
    }
    for (int32_t i = 0; i < r->m->n; i++)
        w->mu[i] = r->best.at[i];
    it->best.value = r->best.value;
    memcpy(it->best.at, r->best.at, (size_t)r->m->n * sizeof *it->best.at);
}

static sked_status run_item(rounds *r, worker *w, int index, sked_error *err)
{
    sked_status st = SKED_OK;
    item *it = &r->items[index];
    sked_i_rng rng;
    sked_i_gaus_tuning tuning = r->tuning;
    sked_i_rng_seed(&rng, r->run->options->seed, (uint64_t)r->round * 1000003u + (uint64_t)index);
    it->best.value = INFINITY;
    place_means(r, w, it, &rng);
    if (!it->from_best && sked_i_gaus_legalise(w->l, w->mu, &r->run->limit))
        sked_i_gaus_keep(&it->best, w->l->state);
    it->legal = it->best.value;
    if (it->from_best) {
        tuning.share = 0.15 + 0.5 * sked_i_rng_uniform(&rng);
        tuning.rate *= 0.2 + sked_i_rng_uniform(&rng);
    }
    if (it->descend) {
        const sked_i_limit limit = share_of(r, index, it->sweeps > 0 ? 0.6 : 1);
        tuning.record = r->round == 0 && index == 0 ? r->run->recording : NULL;
        tuning.threads = sked_i_gaus_threads(r->run, r->count);
        SKED_TRY(
            sked_i_gaus_optimise(w->l, &tuning, &limit, w->mu, &it->best, &w->evaluations, &w->why, err));
    }
    it->gradient = it->best.value;
    if (it->sweeps > 0 && it->best.value < INFINITY) {
        const sked_i_limit limit = share_of(r, index, 1);
        SKED_TRY(sked_i_gaus_polish(w->l->state, it->sweeps, it->heat, &rng, &limit, sked_i_run_bound(r->run),
                                    &it->best, err));
    }
    w->evaluations++;
cleanup:
    return st;
}

static void work(void *data, int index)
{
    rounds *r = data;
    worker *w = &r->workers[index];
    for (int k = index; k < r->count && w->status == SKED_OK; k += r->threads)
        w->status = run_item(r, w, k, &w->error);
}

/* ------------------------------------------------------------------ rounds */

static sked_status open_rounds(rounds *r, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    r->count = count;
    SKED_NEW0(r->items, count);
    SKED_NEW0(r->workers, r->threads);
    SKED_NEW(r->best.at, r->m->n);
    for (int k = 0; k < count; k++)
        SKED_NEW(r->items[k].best.at, r->m->n);
    for (int k = 0; k < r->threads; k++) {
        r->workers[k].all = r;
        SKED_NEW(r->workers[k].mu, r->m->n);
        SKED_TRY(sked_i_gaus_legaliser_create(r->m, &r->workers[k].l, err));
    }
cleanup:
    return st;
}

static void close_rounds(rounds *r, int count)
{
    for (int k = 0; r->items != NULL && k < count; k++)
        free(r->items[k].best.at);
    for (int k = 0; r->workers != NULL && k < r->threads; k++) {
        free(r->workers[k].mu);
        sked_i_gaus_legaliser_destroy(r->workers[k].l);
    }
    free(r->items);
    free(r->workers);
    free(r->best.at);
}

sked_status sked_i_gaus_offer(sked_i_run *run, const sked_i_gaus_model *m, const int32_t *at, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(m->n, 0, &s, err);
    if (st != SKED_OK)
        return st;
    s->ii = m->period;
    for (int32_t i = 0; i < m->n; i++)
        s->start[i] = at[i];
    st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

/* Runs the items and takes over the best of them; *better: there was one. */
static sked_status run_round(rounds *r, bool *better, sked_error *err)
{
    sked_status st = sked_i_parallel(r->threads, work, r, err);
    int found = -1;
    for (int k = 0; k < r->threads; k++) {
        worker *w = &r->workers[k];
        sked_i_run_evaluated(r->run, w->evaluations);
        w->evaluations = 0;
        if (st == SKED_OK && w->status != SKED_OK)
            st = sked_i_fail(err, w->status, "%s", w->error.message);
    }
    for (int k = 0; k < r->count; k++) {
        if (!r->items[k].from_best)
            r->gradient = fmin(r->gradient, r->items[k].gradient);
        if (r->items[k].best.value < r->best.value &&
            (found < 0 || r->items[k].best.value < r->items[found].best.value))
            found = k;
    }
    *better = found >= 0;
    if (st != SKED_OK || found < 0)
        return st;
    r->best.value = r->items[found].best.value;
    r->best_kind = r->items[found].from_best ? r->best_kind : r->items[found].kind;
    memcpy(r->best.at, r->items[found].best.at, (size_t)r->m->n * sizeof *r->best.at);
    return sked_i_gaus_offer(r->run, r->m, r->best.at, err);
}

/* Kinds of start, the most promising first: where loads count, symmetric starts are of little use. */
static int kind_of(const sked_i_gaus_model *m, int k)
{
    static const int for_loads[] = {SKED_I_GAUS_LIST, SKED_I_GAUS_FILL, SKED_I_GAUS_ALAP,
                                    SKED_I_GAUS_MIDPOINT, SKED_I_GAUS_ASAP};
    static const int for_memory[] = {SKED_I_GAUS_MIDPOINT, SKED_I_GAUS_ALAP, SKED_I_GAUS_LIST,
                                     SKED_I_GAUS_ASAP, SKED_I_GAUS_RANDOM};
    if (k >= SKED_I_GAUS_RANDOM)
        return SKED_I_GAUS_RANDOM;
    return m->with_memory ? for_memory[k] : for_loads[k];
}

/*
 * Starts that the time allows: a descent of fewer than some 120 steps is worth less than none, so rather
 * fewer of them. Measured by two steps from the middle. Without a time limit: all.
 */
static sked_status afford_starts(rounds *r, int *starts, sked_error *err)
{
    worker *w = &r->workers[0];
    sked_i_gaus_tuning tuning = r->tuning;
    sked_i_gaus_best *scratch = &r->items[0].best;
    const double begin = sked_clock(), left = r->run->limit.deadline - begin;
    if (isinf(left) || *starts <= 1)
        return SKED_OK;
    tuning.iterations = 2;
    scratch->value = INFINITY;
    sked_i_gaus_start(r->m, SKED_I_GAUS_MIDPOINT, NULL, NULL, w->mu);
    const sked_status st =
        sked_i_gaus_optimise(w->l, &tuning, &r->run->limit, w->mu, scratch, &w->evaluations, &w->why, err);
    const double step = (sked_clock() - begin) / 4; /* two more for the multipliers */
    const double count = floor(r->threads * 0.3 * left / (120 * fmax(1e-7, step)));
    *starts = count < *starts ? (int)fmax(count, 1) : *starts;
    return st;
}

/* What a round does. Longer and longer polish, descents from the best, and something new. */
static void plan_round(rounds *r, int starts)
{
    const double *set = r->run->setting;
    const bool polish = set[SKED_I_GAUS_OPTION_POLISH] != 0;
    const double sweeps = polish ? set[SKED_I_GAUS_OPTION_SWEEPS] : 0, heat = set[SKED_I_GAUS_OPTION_HEAT];
    r->count = r->round == 0 ? (starts > 0 ? starts : 1) : 2 * r->threads;
    for (int k = 0; k < r->count; k++) {
        item *it = &r->items[k];
        const int turn = r->round + k;
        it->kind = r->round == 0 ? kind_of(r->m, k) : SKED_I_GAUS_RANDOM;
        it->descend = starts > 0;
        it->sweeps = sweeps;
        it->heat = heat * (k % 2 == 0 ? 1 : 0.3); /* hot moves whole regions, mild balances loads */
        it->from_best = r->round > 0 && turn % 4 != 3;
        if (it->from_best && polish && (turn % 2 == 1 || starts == 0)) {
            it->descend = false;
            it->sweeps = sweeps * pow(2, fmin(5, r->round));
            it->heat = heat * (turn % 4 == 1 ? 1 : 0.3);
        }
    }
}

/* The first round may take 60 % of the time; later ones take what they need of the rest. */
static double round_end(const rounds *r)
{
    const double now = sked_clock(), left = r->run->limit.deadline - now;
    return isinf(left) ? INFINITY : now + left * (r->round == 0 ? 0.6 : 1);
}

static void explain(rounds *r, const char *why)
{
    sked_i_run_note(r->run, "gradient %g, with polish %g, best start %s; %d rounds, stopped by %s",
                    r->gradient, r->best.value, kind_names[r->best_kind], r->round, why);
}

/* The schedule to start from is the best so far, where it is one of this model. */
static void take_list(rounds *r)
{
    sked_i_gaus_state *s = r->workers[0].l->state;
    int32_t *at = r->workers[0].l->at;
    if (r->list == NULL || r->list->ii != r->m->period)
        return;
    for (int32_t i = 0; i < r->m->n; i++) {
        const double t = r->list->start[i];
        if (!(t >= r->m->lo[i] && t <= r->m->hi[i]))
            return;
        at[i] = (int32_t)t;
    }
    sked_i_gaus_state_set(s, at);
    if (sked_i_gaus_state_legal(s))
        sked_i_gaus_keep(&r->best, s);
}

sked_status sked_i_gaus_rounds(sked_i_run *run, const sked_i_gaus_model *m, sked_error *err)
{
    int starts = (int)run->setting[SKED_I_GAUS_OPTION_STARTS];
    const int threads = run->options->threads, most = starts > 2 * threads ? starts : 2 * threads;
    const int64_t limit = run->options->iterations;
    rounds r = {.run = run, .m = m, .tuning = sked_i_gaus_tuning_of(run), .threads = threads};
    r.best.value = r.gradient = INFINITY;
    r.list = run->options->start != NULL ? run->options->start : sked_i_run_incumbent(run);
    const char *why = NULL;
    sked_status st = open_rounds(&r, most, err);
    int stale = 0;
    if (st == SKED_OK) {
        take_list(&r);
        if (run->options->start != NULL && r.best.value < INFINITY)
            st = sked_i_gaus_offer(run, m, r.best.at, err);
    }
    if (st == SKED_OK)
        st = afford_starts(&r, &starts, err);
    while (st == SKED_OK && why == NULL) {
        bool better;
        plan_round(&r, starts);
        r.deadline = round_end(&r);
        r.list = r.round == 0 ? r.list : NULL;
        st = run_round(&r, &better, err);
        r.round++;
        stale = better ? 0 : stale + 1;
        sked_i_run_progress(run, "gradient and polish");
        if (sked_i_run_over(run))
            why = sked_i_limit_reached(&run->limit) ? "the time limit" : "the bound";
        else if (limit > 0 && r.round >= limit)
            why = "the iteration limit";
        else if (stale > (int)run->setting[SKED_I_GAUS_OPTION_PATIENCE])
            why = "rounds without progress";
    }
    if (st == SKED_OK)
        explain(&r, why);
    close_rounds(&r, most);
    return st;
}

sked_status sked_i_gaus_fit(sked_i_run *run, const sked_i_gaus_model *m, int32_t *at, bool *found,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_tuning tuning = sked_i_gaus_tuning_of(run);
    sked_i_gaus_best best = {.value = INFINITY};
    sked_i_rng rng;
    double *mu = NULL;
    int64_t evaluations = 0;
    const char *why;
    const int tries = (int)run->setting[SKED_I_GAUS_OPTION_STARTS] + 1;
    tuning.goal = 0;
    tuning.threads = sked_i_gaus_threads(run, 1);
    *found = false;
    sked_i_rng_seed(&rng, run->options->seed, (uint64_t)m->steps);
    SKED_NEW(mu, m->n);
    SKED_NEW(best.at, m->n);
    SKED_TRY(sked_i_gaus_legaliser_create(m, &l, err));
    for (int k = 0; k < tries && !*found && !sked_i_limit_reached(&run->limit); k++) {
        for (int32_t i = 0; k == 0 && i < m->n; i++)
            mu[i] = fmin(m->hi[i], fmax(m->lo[i], at[i]));
        if (k > 0)
            sked_i_gaus_start(m, k, NULL, &rng, mu);
        if (sked_i_gaus_legalise(l, mu, &run->limit))
            sked_i_gaus_keep(&best, l->state);
        else
            SKED_TRY(sked_i_gaus_optimise(l, &tuning, &run->limit, mu, &best, &evaluations, &why, err));
        *found = best.value < INFINITY;
    }
    if (*found)
        memcpy(at, best.at, (size_t)m->n * sizeof *at);
    sked_i_run_evaluated(run, evaluations);
cleanup:
    sked_i_gaus_legaliser_destroy(l);
    free(mu);
    free(best.at);
    return st;
}
