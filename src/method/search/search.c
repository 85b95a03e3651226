/* The method `search`: table entry, problem analysis, workers. */
#include "method/search/search.h"

#include "base/thread.h"
#include "method/search/disjunctive.h"
#include "method/search/transfer.h"
#include "schedule/equal.h"

#include <string.h>

enum { small = 40 }; /* ops: up to here learning proves the optimum of shop problems too */

/* ------------------------------------------------------------------ what a worker has seen */

static void fail_worker(sked_i_worker *w, sked_status status)
{
    if (w->status == SKED_OK)
        w->status = status;
}

/* Keeps the schedule in the place of the worst kept one, once. */
static void keep_elite(sked_i_worker *w, int32_t cost, const int32_t *start)
{
    sked_i_elite *e = &w->elite;
    const int32_t n = w->problem->n;
    int32_t worst = 0;
    for (int32_t k = 1; k < e->count; k++)
        worst = e->cost[k] > e->cost[worst] ? k : worst;
    if (e->count == e->capacity && cost >= e->cost[worst])
        return;
    const uint64_t hash = sked_i_hash_steps(start, n);
    for (int32_t k = 0; k < e->count; k++)
        if (e->hash[k] == hash && e->cost[k] == cost)
            return;
    if (e->count < e->capacity) {
        worst = e->count;
        if ((e->start[worst] = sked_i_alloc(n, sizeof **e->start)) == NULL) {
            fail_worker(w, sked_i_no_memory(&w->error));
            return;
        }
        e->count++;
    }
    e->cost[worst] = cost;
    e->hash[worst] = hash;
    memcpy(e->start[worst], start, (size_t)n * sizeof *start);
}

void sked_i_worker_see(sked_i_worker *w, int32_t cost, const int32_t *start)
{
    w->least_cost = cost < w->least_cost ? cost : w->least_cost;
    if (cost > w->problem->horizon || (w->decode.forward->fixed != NULL && w->decode.forward->late > 0))
        return;
    if (w->elite.capacity > 0)
        keep_elite(w, cost, start);
    if (cost >= w->best)
        return;
    w->best = cost;
    memcpy(w->best_start, start, (size_t)w->problem->n * sizeof *start);
    if (cost <= w->goal && w->halt != NULL)
        atomic_store_explicit(w->halt, 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------ offering */

static sked_status offer(sked_i_run *run, const sked_i_cumulative *c, const int32_t *start, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_i_cumulative_schedule(c, start, &s, err);
    if (st == SKED_OK)
        st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

/* Offers the best if it is news. What it cost is set aside for the offer at the end. */
static void publish(sked_i_worker *w, double now)
{
    if (w->best >= w->published || w->status != SKED_OK)
        return;
    fail_worker(w, offer(w->run, w->problem, w->best_start, &w->error));
    w->published = w->best;
    sked_i_run_progress(w->run, "search");
    const double cost = sked_clock() - now;
    w->next_publish = now + 0.05 + 20 * cost;
    w->limit.deadline = w->run->limit.deadline - 1.5 * cost;
}

bool sked_i_worker_over(sked_i_worker *w)
{
    if (w->evaluations >= w->max_evaluations || w->best <= w->goal || w->status != SKED_OK)
        return true;
    if (w->halt != NULL && atomic_load_explicit(w->halt, memory_order_relaxed))
        return true;
    if (sked_i_limit_stopped(&w->limit))
        return true;
    const double now = sked_clock();
    if (w->leads && w->elite.capacity == 0 && now >= w->next_publish)
        publish(w, now); /* where candidates are wanted, what is kept must not depend on when it is offered */
    return now >= w->limit.deadline;
}

/* ------------------------------------------------------------------ workers */

static void close_worker(sked_i_worker *w)
{
    sked_i_justifier_close(&w->decode);
    for (int32_t k = 0; k < w->elite.count; k++)
        free(w->elite.start[k]);
    void *const owned[] = {w->best_start, w->elite.cost, w->elite.start, w->elite.hash};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

/* A makespan that no schedule can beat: the proven bound, or what the grid allows. */
static int32_t goal_of(const sked_i_run *run, const sked_i_cumulative *c)
{
    if (sked_i_run_wanted(run) > 1)
        return -1; /* the search goes on for more candidates */
    const double goal = sked_i_run_bound(run) * c->scale + (c->faithful ? 0.001 : 1);
    const int32_t bound = goal < INT32_MAX / 2 ? (int32_t)goal : INT32_MAX / 2;
    return c->forward.longest > bound ? c->forward.longest : bound;
}

static sked_status open_worker(sked_i_worker *w, sked_i_run *run, const sked_i_cumulative *c, int index,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    const int64_t iterations = run->options->iterations;
    *w = (sked_i_worker){.run = run, .problem = c, .limit = run->limit, .goal = goal_of(run, c)};
    w->best = w->least_cost = w->published = INT32_MAX;
    w->leads = index == 0;
    w->max_evaluations = INT64_MAX;
    if (iterations > 0)
        w->max_evaluations = iterations / threads + (index < iterations % threads);
    /* Validating a schedule takes time as well: some is set aside until the first offer tells how much. */
    const double reserve = 2e-6 * c->n, limit = run->limit.deadline - sked_clock();
    w->limit.deadline -= reserve < 0.4 * limit ? reserve : 0.4 * limit > 0 ? 0.4 * limit : 0;
    sked_i_rng_seed(&w->rng, run->options->seed, (uint64_t)index);
    SKED_TRY(sked_i_justifier_open(&w->decode, c, &w->limit, err));
    SKED_NEW(w->best_start, c->n);
    if (sked_i_run_wanted(run) > 1) {
        SKED_NEW(w->elite.start, sked_i_run_wanted(run));
        SKED_NEW(w->elite.cost, sked_i_run_wanted(run));
        SKED_NEW(w->elite.hash, sked_i_run_wanted(run));
        w->elite.capacity = sked_i_run_wanted(run);
    }
cleanup:
    return st;
}

static void work(void *data, int index)
{
    sked_i_worker *w = (sked_i_worker *)data + index;
    if (!sked_i_portfolio_run(w))
        fail_worker(w, sked_i_no_memory(&w->error));
}

/* ------------------------------------------------------------------ the run */

static sked_status none_found(const sked_i_cumulative *c, int32_t least, sked_error *err)
{
    if (least == INT32_MAX)
        return SKED_OK; /* stopped before a first schedule: the driver says so */
    if (c->fixed != NULL)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "none found: no schedule met all fixed starts%s (not a proof)",
                           c->horizon < INT32_MAX ? " and the horizon" : "");
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "none found: the horizon is %g, the shortest schedule seen takes %g (not a proof)",
                       c->problem->horizon, least / c->scale);
}

/* Takes what the workers found, first worker first, so that ties do not depend on timing. */
static sked_status merge(sked_i_run *run, const sked_i_cumulative *c, sked_i_worker *workers, int count,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t least = INT32_MAX;
    for (int k = 0; k < count; k++) {
        sked_i_worker *w = &workers[k];
        sked_i_run_evaluated(run, w->evaluations);
        if (w->proved && c->faithful)
            sked_i_run_prove(run);
        least = w->least_cost < least ? w->least_cost : least;
        if (w->status != SKED_OK)
            return sked_i_fail(err, w->status, "%s", w->error.message);
        if (w->best < INT32_MAX && w->best < w->published)
            SKED_TRY(offer(run, c, w->best_start, err));
        for (int32_t e = 0; e < w->elite.count; e++)
            SKED_TRY(offer(run, c, w->elite.start[e], err));
    }
    if (sked_i_run_incumbent(run) == NULL)
        return none_found(c, least, err);
cleanup:
    return st;
}

static sked_status run_cumulative(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    atomic_int halt = 0;
    int32_t *seed = NULL;
    int opened = 0;
    sked_i_cumulative *c = NULL;
    sked_i_worker *workers = NULL;
    SKED_TRY(sked_i_cumulative_create(run->problem, &c, err));
    if (sked_i_run_incumbent(run) != NULL) {
        SKED_NEW(seed, c->n);
        sked_i_cumulative_keys(c, sked_i_run_incumbent(run), seed);
    }
    SKED_NEW(workers, threads);
    for (; opened < threads; opened++) {
        st = open_worker(&workers[opened], run, c, opened, err);
        workers[opened].seed = seed;
        workers[opened].halt = run->options->iterations > 0 || threads == 1 ? NULL : &halt;
        if (st != SKED_OK) {
            close_worker(&workers[opened]);
            goto cleanup;
        }
    }
    SKED_TRY(sked_i_parallel(threads, work, workers, err));
    SKED_TRY(merge(run, c, workers, threads, err));
cleanup:
    for (int k = 0; k < opened; k++)
        close_worker(&workers[k]);
    free(workers);
    free(seed);
    sked_i_cumulative_destroy(c);
    return st;
}

/* Device numbers matter: transfers cost, or the user has fixed some. */
static bool needs_devices(const sked_problem *p)
{
    if (sked_i_has_transfers(p))
        return true;
    for (int32_t i = 0; p->devices > 0 && p->fix_device != NULL && i < p->graph->n_ops; i++)
        if (p->fix_device[i] >= 0)
            return true;
    return false;
}

static sked_status offer_empty(sked_i_run *run, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(0, run->problem->devices, &s, err);
    if (st == SKED_OK)
        st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

static sked_status run_search(sked_i_run *run, sked_error *err)
{
    if (run->problem->graph->n_ops == 0)
        return offer_empty(run, err);
    if (run->options->start != NULL) {
        const sked_status st = sked_i_run_offer_start(run, err);
        if (st != SKED_OK)
            return st;
    }
    if (sked_i_run_over(run) && sked_i_run_incumbent(run) != NULL)
        return SKED_OK;
    if (run->problem->graph->n_ops > small && sked_i_disjunctive_fits(run->problem))
        return sked_i_disjunctive_search(run, err);
    return needs_devices(run->problem) ? sked_i_transfer_search(run, err) : run_cumulative(run, err);
}

const sked_i_method sked_i_method_search = {
    .info = {.name = "search",
             .summary = "improvement search: the best schedule in the time given",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_CANDIDATES | SKED_CAN_ANYTIME |
                         SKED_CAN_MAKESPAN,
             .options = NULL,
             .n_options = 0},
    .run = run_search,
};
