/* Rounds of items: start, descent, polish. What differs between the relaxations stands in their tables. */
#include "base/logging.h"
#include "base/thread.h"
#include "method/gaus/gaus.h"

#include <assert.h>

/* ------------------------------------------------------------------ one item */

/* `part` of an item's share of what is left of the round: the items of one worker share it evenly. */
static sked_i_limit slice(const sked_i_gaus_rounds *r, int index, double part)
{
    sked_i_limit limit = r->run->limit;
    const double now = sked_clock();
    const int left = (r->count - index + r->threads - 1) / r->threads;
    if (isfinite(r->deadline) && limit.paced)
        limit.deadline = fmin(limit.deadline, now + fmax(0, r->deadline - now) / left * part);
    return limit;
}

/* Runs one phase and notes what it took. */
static sked_status run_phase(sked_i_gaus_task *t, sked_status (*phase)(sked_i_gaus_task *t, sked_error *err),
                             sked_i_gaus_effort *effort, sked_error *err)
{
    const double begin = sked_clock();
    const int64_t before = t->worker->evaluations;
    const sked_status st = phase(t, err);
    effort->calls++;
    effort->seconds += sked_clock() - begin;
    effort->evaluations += t->worker->evaluations - before;
    return st;
}

static sked_status run_item(const sked_i_gaus_rounds *r, sked_i_gaus_worker *w, int index, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_relaxation *x = r->relaxation;
    sked_i_gaus_item *it = &r->items[index];
    sked_i_gaus_task t = {.rounds = r, .worker = w, .item = it, .tuning = r->tuning};
    const double begin = sked_clock();
    sked_i_rng_seed(&t.rng, r->run->options->seed, (uint64_t)r->round * 1000003u + (uint64_t)index);
    it->best.value = INFINITY;
    it->best.curve = &w->curve;
    it->best.evaluations = &w->evaluations;
    t.tuning.threads = sked_i_gaus_threads(r->run, r->count);
    t.tuning.steps = &w->steps;
    x->begin(&t);
    if (it->descend) {
        t.limit = slice(r, index, it->sweeps > 0 ? x->descent_share : 1);
        SKED_TRY(run_phase(&t, x->descend, &w->descent, err));
    }
    it->seconds = sked_clock() - begin;
    it->gradient = it->best.value;
    if (it->sweeps > 0) {
        t.limit = slice(r, index, 1);
        SKED_TRY(run_phase(&t, x->polish, &w->polish, err));
    }
    assert(it->best.value <= it->gradient);
cleanup:
    return st;
}

static void work(void *data, int index)
{
    const sked_i_gaus_rounds *r = data;
    sked_i_gaus_worker *w = &r->workers[index];
    for (int k = index; k < r->count && w->status == SKED_OK; k += r->threads)
        w->status = run_item(r, w, k, &w->error);
}

/* ------------------------------------------------------------------ one round */

sked_status sked_i_gaus_rounds_offer(sked_i_gaus_rounds *r, sked_error *err)
{
    const sked_schedule s = {.ops = r->n,
                             .devices = r->run->problem->devices,
                             .ii = r->period,
                             .start = r->best.start,
                             .device = r->run->problem->devices > 0 ? r->best.device : NULL};
    if (r->relaxation->offers != NULL && !r->relaxation->offers(r))
        return SKED_OK;
    return sked_i_run_offer(r->run, &s, err);
}

static void tell_effort(sked_i_run *run, const char *name, sked_i_gaus_effort *effort)
{
    if (effort->calls > 0)
        sked_i_run_tally(run, name, effort->calls, effort->seconds, effort->evaluations, 0);
    *effort = (sked_i_gaus_effort){0};
}

static sked_status collect_workers(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; k < r->threads; k++) {
        sked_i_gaus_worker *w = &r->workers[k];
        sked_i_run_evaluated(r->run, w->evaluations);
        w->evaluations = 0;
        tell_effort(r->run, "descent", &w->descent);
        tell_effort(r->run, "descent on the means", &w->means);
        if (w->steps > 0)
            sked_i_run_tally(r->run, "gradient step", w->steps, 0, 0, 0);
        w->steps = 0;
        tell_effort(r->run, r->relaxation->polish_name, &w->polish);
        tell_effort(r->run, "moves of regions", &w->regions);
        if (st == SKED_OK && w->status != SKED_OK)
            st = sked_i_fail(err, w->status, "%s", w->error.message);
    }
    return st;
}

/* The first of the best items that beat the incumbent, or NULL. */
static const sked_i_gaus_item *best_item(sked_i_gaus_rounds *r)
{
    const sked_i_gaus_item *found = NULL;
    double least = r->best.value;
    for (int k = 0; k < r->count; k++) {
        const sked_i_gaus_item *it = &r->items[k];
        if (!it->from_best)
            r->gradient = fmin(r->gradient, it->gradient);
        if (!(it->best.value < least))
            continue;
        least = it->best.value;
        found = it;
    }
    return found;
}

/* Runs the items and takes over the best of them; *better: there was one. */
static sked_status run_round(sked_i_gaus_rounds *r, bool *better, sked_error *err)
{
    sked_status st = SKED_OK;
    *better = false;
    for (int k = 0; k < r->threads; k++) {
        r->workers[k].curve.begin = r->run->limit.begin;
        r->workers[k].curve.before = sked_i_run_evaluations(r->run);
        r->workers[k].curve.count = 0;
    }
    SKED_TRY(sked_i_parallel(r->threads, work, r, err));
    SKED_TRY(collect_workers(r, err));
    const sked_i_gaus_item *it = best_item(r);
    if (it == NULL)
        return SKED_OK;
    *better = true;
    const double gradient = fmin(r->best.value, it->gradient);
    sked_i_run_tally(r->run, "descent", 0, 0, 0, sked_i_gaus_gain(r->best.value, gradient));
    if (it->sweeps > 0)
        sked_i_run_tally(r->run, r->relaxation->polish_name, 0, 0, 0,
                         sked_i_gaus_gain(gradient, it->best.value));
    r->best_start = it->from_best ? r->best_start : it->start;
    sked_i_gaus_incumbent_copy(&r->best, &it->best, r->n);
    SKED_TRY(sked_i_gaus_rounds_offer(r, err));
    for (int k = 0; k < r->threads; k++)
        sked_i_run_merge_curve(r->run, &r->workers[k].curve);
cleanup:
    return st;
}

/* *better: another rank had a better incumbent. */
static sked_status exchange(sked_i_gaus_rounds *r, bool *better, sked_error *err)
{
    const double before = sked_i_run_best(r->run);
    const sked_status st = sked_i_run_exchange(r->run, err);
    if (st == SKED_OK && sked_i_run_best(r->run) < before)
        *better = r->relaxation->adopt(r, sked_i_run_incumbent(r->run)) || *better;
    return st;
}

/* ------------------------------------------------------------------ all rounds */

static sked_status open_rounds(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(r->threads >= 1 && r->most >= r->threads);
    r->n = r->run->problem->graph->n_ops;
    r->first = r->gradient = INFINITY;
    SKED_TRY(sked_i_gaus_incumbent_create(r->n, r->with_devices, &r->best, err));
    SKED_NEW0(r->workers, r->threads);
    SKED_NEW0(r->items, r->most);
    for (int k = 0; k < r->threads; k++)
        SKED_TRY(r->relaxation->create_tools(r, &r->workers[k].tools, err));
    for (int k = 0; k < r->most; k++)
        SKED_TRY(sked_i_gaus_incumbent_create(r->n, r->with_devices, &r->items[k].best, err));
cleanup:
    return st;
}

static void close_rounds(sked_i_gaus_rounds *r)
{
    for (int k = 0; r->workers != NULL && k < r->threads; k++) {
        r->relaxation->destroy_tools(r->workers[k].tools);
        sked_i_value_curve_free(&r->workers[k].curve);
    }
    for (int k = 0; r->items != NULL && k < r->most; k++)
        sked_i_gaus_incumbent_free(&r->items[k].best);
    free(r->workers);
    free(r->items);
    sked_i_gaus_incumbent_free(&r->best);
}

/* NULL: go on. Until there is a schedule, one round is run whatever the clock says. */
static const char *reason_to_stop(const sked_i_gaus_rounds *r, int stale)
{
    const int64_t most = r->run->options->iterations;
    if (r->round == 0 && r->best.value == INFINITY)
        return NULL;
    if (sked_i_run_over(r->run))
        return sked_i_limit_reached(&r->run->limit) ? "the time limit" : "the bound";
    if (most > 0 && r->round >= most)
        return "the iteration limit";
    return stale > r->set->patience + r->more_patience ? "rounds without progress" : NULL;
}

static sked_status run_rounds(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const char *why;
    int stale = 0;
    for (; (why = reason_to_stop(r, stale)) == NULL; r->round++) {
        const double now = sked_clock(), left = r->run->limit.deadline - now;
        bool better;
        r->relaxation->plan(r);
        assert(r->count >= 1 && r->count <= r->most);
        r->deadline = now + left * r->share;
        st = run_round(r, &better, err);
        if (st == SKED_ERR_DEVICE && r->best.value < INFINITY) { /* what has been found counts */
            st = SKED_OK;
            why = "a failure of the device";
            break;
        }
        SKED_TRY(st);
        SKED_TRY(exchange(r, &better, err));
        stale = better ? 0 : stale + 1;
        SKED_LOG(2, "gaus", "round %d: %d items, best %g%s", r->round, r->count, r->best.value,
                 better ? " (better)" : "");
        sked_i_run_progress(r->run, r->relaxation->phase);
    }
    r->relaxation->explain(r, why);
cleanup:
    return st;
}

sked_status sked_i_gaus_rounds_run(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = open_rounds(r, err);
    if (st == SKED_OK)
        st = r->relaxation->prepare(r, err);
    if (st == SKED_OK && (r->best.value < INFINITY || !r->relaxation->needs_incumbent))
        st = run_rounds(r, err);
    close_rounds(r);
    return st;
}
