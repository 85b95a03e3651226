/* Rounds of items, made by hands: what they found is compared in the order of the items. */
#include "base/logging.h"
#include "method/gaus/gaus.h"

#include "backend/backend.h"

#include <assert.h>
#include <string.h>

enum {
    at_leisure = 8,  /* times as many steps where the time is known that they may take */
    ops_a_round = 10 /* pushes: ops for one more round without progress, where the time is the user's limit */
};

/* ------------------------------------------------------------------ one round */

static sked_status work(sked_i_hand *hand, sked_error *err)
{
    const sked_i_gaus_rounds *r = hand->hands->owner;
    sked_status st = SKED_OK;
    for (int k = hand->index; k < r->count && st == SKED_OK; k += r->threads)
        st = sked_i_gaus_run_item(r, (sked_i_gaus_worker *)hand, k, err);
    return st;
}

sked_status sked_i_gaus_offer_best(sked_i_gaus_rounds *r, sked_error *err)
{
    const sked_schedule s = {.ops = r->model->n, .ii = r->model->period, .start = r->best.start};
    return sked_i_run_offer(r->run, &s, err);
}

static void tally_effort(sked_i_run *run, const char *name, sked_i_gaus_effort *effort)
{
    if (effort->calls > 0)
        sked_i_run_tally(run, name, effort->calls, effort->seconds, effort->evaluations, 0);
    *effort = (sked_i_gaus_effort){0};
}

/* Tallies what the workers did, failed ones too. */
static void collect_workers(sked_i_gaus_rounds *r)
{
    for (int k = 0; k < r->threads; k++) {
        sked_i_gaus_worker *w = sked_i_gaus_worker_at(r, k);
        sked_i_run_evaluated(r->run, w->evaluations);
        w->evaluations = 0;
        tally_effort(r->run, "descent", &w->descent);
        tally_effort(r->run, "descent on the means", &w->means_alone);
        if (w->steps > 0)
            sked_i_run_tally(r->run, "gradient step", w->steps, 0, 0, 0);
        w->steps = 0;
        tally_effort(r->run, "polish", &w->polish);
        tally_effort(r->run, "moves of regions", &w->regions);
    }
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
        if (it->best.value < least) {
            least = it->best.value;
            found = it;
        }
    }
    return found;
}

/* Runs the items and takes over the best of them; *better: there was one. */
static sked_status run_round(sked_i_gaus_rounds *r, bool *better, sked_error *err)
{
    sked_status st = SKED_OK;
    *better = false;
    for (int k = 0; k < r->threads; k++) {
        sked_i_value_curve *curve = &sked_i_gaus_worker_at(r, k)->curve;
        curve->begin = r->run->limit.begin;
        curve->before = sked_i_run_evaluations(r->run);
        curve->count = 0;
    }
    st = sked_i_hands_work(&r->hands, r->threads, work, err);
    collect_workers(r);
    SKED_TRY(st);
    const sked_i_gaus_item *it = best_item(r);
    if (it == NULL)
        return SKED_OK;
    *better = true;
    const double gradient = fmin(r->best.value, it->gradient);
    sked_i_run_tally(r->run, "descent", 0, 0, 0, sked_i_gaus_gain(r->best.value, gradient));
    if (it->sweeps > 0)
        sked_i_run_tally(r->run, "polish", 0, 0, 0, sked_i_gaus_gain(gradient, it->best.value));
    r->best_start = it->from_best ? r->best_start : it->start;
    sked_i_gaus_incumbent_copy(&r->best, &it->best, r->model->n);
    SKED_TRY(sked_i_gaus_offer_best(r, err));
    for (int k = 0; k < r->threads; k++)
        sked_i_run_merge_curve(r->run, &sked_i_gaus_worker_at(r, k)->curve);
cleanup:
    return st;
}

/* *better: another rank had a better incumbent. */
static sked_status exchange(sked_i_gaus_rounds *r, bool *better, sked_error *err)
{
    const double before = sked_i_run_best(r->run);
    const sked_status st = sked_i_run_exchange(r->run, err);
    if (st == SKED_OK && sked_i_run_best(r->run) < before)
        *better = sked_i_gaus_adopt(r, sked_i_run_incumbent(r->run)) || *better;
    return st;
}

/* ------------------------------------------------------------------ all rounds */

static sked_status open_worker(sked_i_hand *hand, sked_error *err)
{
    const sked_i_gaus_rounds *r = hand->hands->owner;
    sked_i_gaus_worker *w = (sked_i_gaus_worker *)hand;
    sked_status st = SKED_OK;
    SKED_OWN(&w->arena, w->mu, r->model->n);
    SKED_OWN(&w->arena, w->means, r->model->n);
    SKED_TRY(sked_i_gaus_legaliser_create(r->model, &w->legaliser, err));
cleanup:
    return st;
}

static void close_worker(sked_i_hand *hand)
{
    sked_i_gaus_worker *w = (sked_i_gaus_worker *)hand;
    sked_i_gaus_legaliser_destroy(w->legaliser);
    sked_i_arena_free(&w->arena);
    sked_i_value_curve_free(&w->curve);
}

static sked_status open_rounds(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(r->threads >= 1 && r->most >= r->threads);
    r->gradient = INFINITY;
    SKED_TRY(sked_i_gaus_incumbent_create(r->model->n, &r->best, err));
    SKED_TRY(sked_i_hands_fill(&r->hands, r->threads, err));
    SKED_OWN0(&r->arena, r->items, r->most);
    for (int k = 0; k < r->most; k++)
        SKED_TRY(sked_i_gaus_incumbent_create(r->model->n, &r->items[k].best, err));
cleanup:
    return st;
}

static void close_rounds(sked_i_gaus_rounds *r)
{
    sked_i_hands_close(&r->hands);
    for (int k = 0; r->items != NULL && k < r->most; k++)
        sked_i_gaus_incumbent_free(&r->items[k].best);
    sked_i_arena_free(&r->arena);
    sked_i_gaus_incumbent_free(&r->best);
}

/* NULL: continue. Until there is a schedule, one round is run whatever the clock says. */
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

static sked_status run_all(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const char *why;
    int stale = 0;
    for (; (why = reason_to_stop(r, stale)) == NULL; r->round++) {
        const double now = sked_clock(), left = r->run->limit.deadline - now;
        bool better;
        sked_i_gaus_plan(r);
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
        sked_i_run_progress(r->run, "gradient and polish");
    }
    sked_i_gaus_explain(r, why);
cleanup:
    return st;
}

/*
 * Lowers *count, the descents at a time, to what has room on the backend. Where not one has: DEVICE, or the
 * CPU takes its place where the user left the choice to sked.
 */
static sked_status fit(const sked_i_run *run, const sked_i_gaus_settings *set, const sked_i_gaus_view *view,
                       sked_i_gaus_tuning *tuning, int *count, sked_error *err)
{
    sked_error why = {0};
    const char *name = run->options->backend;
    const sked_i_gaus_descent_backend *descents = tuning->backend->gaus_descent;
    const sked_status st = descents->room != NULL ? descents->room(view, *count, count, &why) : SKED_OK;
    if (st != SKED_ERR_DEVICE || (name != NULL && strcmp(name, "auto") != 0))
        return st == SKED_OK ? st : sked_i_fail(err, st, "%s", why.message);
    tuning->iterations = set->steps;
    tuning->every = set->every;
    return sked_i_backend_find("cpu", &tuning->backend, err);
}

sked_status sked_i_gaus_run_rounds(sked_i_run *run, const sked_i_gaus_settings *set,
                                   const sked_i_relaxation *m, sked_error *err)
{
    int threads = run->options->threads;
    sked_i_gaus_tuning tuning = set->tuning;
    const sked_i_gaus_view view = sked_i_gaus_view_of(m);
    sked_status st = fit(run, set, &view, &tuning, &threads, err);
    if (st != SKED_OK)
        return st;
    assert(threads >= 1 && threads <= run->options->threads);
    sked_i_gaus_rounds r = {.hands = {.run = run,
                                      .size = sizeof(sked_i_gaus_worker),
                                      .open = open_worker,
                                      .close = close_worker,
                                      .owner = &r},
                            .run = run,
                            .set = set,
                            .model = m,
                            .tuning = tuning,
                            .starts = set->starts,
                            .threads = threads,
                            .most = set->starts > 2 * threads ? set->starts : 2 * threads};
    const bool timed = run->limit.paced && isfinite(run->limit.deadline);
    r.tuning.goal = sked_i_run_bound(run);
    if (sked_i_gaus_pushable(m) && set->polish && timed)
        r.more_patience = m->n / ops_a_round;
    if (tuning.backend->gaus_descent->beside && timed)
        sked_i_gaus_lengthen(&r.tuning, at_leisure); /* the time limit cuts them down to what it allows */
    SKED_TRY(open_rounds(&r, err));
    SKED_TRY(sked_i_gaus_prepare(&r, err));
    SKED_TRY(run_all(&r, err));
cleanup:
    close_rounds(&r);
    return st;
}
