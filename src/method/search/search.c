/* The method `search`: table entry, problem analysis, workers. */
#include "method/search/search.h"
#include "form/shop.h"

#include "method/search/limits_annealing.h"
#include "method/search/places.h"
#include "method/search/sequence_annealing.h"
#include "method/search/shop_search.h"
#include "schedule/equal.h"

enum { small = 40 }; /* ops: up to here learning proves the optimum of shop problems too */

/* What the workers on the cumulative form share. */
typedef struct cumulative {
    sked_i_crew crew;
    sked_i_cumulative *form;
    int32_t *seed; /* [n] keys of the run's incumbent when a turn begins */
    bool seeded;
} cumulative;

/* ------------------------------------------------------------------ workers */

void sked_i_search_see(sked_i_client *client, int32_t cost, const int32_t *start)
{
    sked_i_search_worker *w = (sked_i_search_worker *)sked_i_crew_worker_of(client);
    w->base.least = cost < w->base.least ? cost : w->base.least;
    if (cost > w->problem->horizon || (w->decode.forward->fixed != NULL && w->decode.forward->late > 0))
        return;
    if (sked_i_crew_wants(&w->base, cost))
        sked_i_crew_see(&w->base, cost, start);
}

static sked_status offer(sked_i_crew_worker *base, const void *start, sked_error *err)
{
    const sked_i_search_worker *w = (sked_i_search_worker *)base;
    sked_schedule *s = NULL;
    sked_status st = sked_i_cumulative_schedule(w->problem, start, &s, err);
    if (st == SKED_OK)
        st = sked_i_run_offer(base->crew->run, s, err);
    sked_schedule_destroy(s);
    return st;
}

static uint64_t hash(sked_i_crew_worker *base, const void *start)
{
    return sked_i_schedule_hash_steps(start, ((sked_i_search_worker *)base)->problem->n);
}

static void close_worker(sked_i_crew_worker *base)
{
    sked_i_search_worker *w = (sked_i_search_worker *)base;
    sked_i_portfolio_close(w->portfolio);
    sked_i_justifier_close(&w->decode);
}

static sked_status open_worker(sked_i_crew_worker *base, sked_error *err)
{
    const cumulative *c = (cumulative *)base->crew;
    sked_i_search_worker *w = (sked_i_search_worker *)base;
    w->problem = c->form;
    w->seed = c->seeded ? c->seed : NULL;
    return sked_i_justifier_open(&w->decode, c->form, &base->limit, err);
}

/* The run's incumbent is news where it is shorter than the worker's, or where the population begins again. */
static sked_status resume_worker(sked_i_crew_worker *base, sked_error *err)
{
    const cumulative *c = (cumulative *)base->crew;
    sked_i_search_worker *w = (sked_i_search_worker *)base;
    (void)err;
    const bool renewed =
        !base->crew->run->goes_on && w->portfolio != NULL && sked_i_portfolio_renew(w->portfolio);
    const bool news = renewed || sked_i_run_best(base->crew->run) * c->form->scale < base->best;
    w->seed = c->seeded && news ? c->seed : NULL;
    return SKED_OK;
}

static void work(sked_i_crew_worker *base)
{
    sked_i_search_worker *w = (sked_i_search_worker *)base;
    if (w->portfolio == NULL)
        w->portfolio = sked_i_portfolio_create(w);
    if (w->portfolio == NULL || !sked_i_portfolio_run(w->portfolio))
        sked_i_crew_fail(base, sked_i_no_memory(&base->hand.error));
}

static const sked_i_crew_kind cumulative_kind = {
    .phase = "search",
    .worker_size = sizeof(sked_i_search_worker),
    .technique = {[SKED_I_SEARCH_GENETIC] = "genetic",
                  [SKED_I_SEARCH_LEARNING] = "clause learning",
                  [SKED_I_SEARCH_WINDOWS] = "windows"},
    .open = open_worker,
    .close = close_worker,
    .resume = resume_worker,
    .work = work,
    .offer = offer,
    .hash = hash,
};

/* ------------------------------------------------------------------ the cumulative form */

static void drop(sked_i_crew *crew)
{
    sked_i_cumulative_destroy(((cumulative *)crew)->form);
}

static sked_status make(sked_i_run *run, sked_i_crew *crew, sked_error *err)
{
    sked_status st = SKED_OK;
    cumulative *c = (cumulative *)crew;
    SKED_TRY(sked_i_cumulative_create(run->problem, &c->form, err));
    sked_i_crew_init(crew, &cumulative_kind, (size_t)c->form->n * sizeof(int32_t));
    SKED_OWN(&crew->own, c->seed, c->form->n);
    crew->scale = c->form->scale;
    crew->whole = c->form->exact;
    crew->reserve = 2e-6 * c->form->n; /* validating a schedule takes time as well */
    crew->fixed = c->form->fixed != NULL;
cleanup:
    return st;
}

/* A makespan that no schedule can beat: the proven bound, or what the grid allows. */
static int32_t goal_of(const sked_i_run *run, const sked_i_cumulative *c)
{
    const double goal = sked_i_run_bound(run) * c->scale + (c->faithful ? 0.001 : 1);
    const int32_t bound = goal < INT32_MAX / 2 ? (int32_t)goal : INT32_MAX / 2;
    return c->forward.longest > bound ? c->forward.longest : bound;
}

static sked_status run_cumulative(sked_i_run *run, sked_error *err)
{
    sked_i_crew *crew;
    const sked_status st = sked_i_crew_of_run(run, sizeof(cumulative), make, drop, &crew, err);
    if (st != SKED_OK)
        return st;
    cumulative *c = (cumulative *)crew;
    c->seeded = sked_i_run_incumbent(run) != NULL;
    if (c->seeded)
        sked_i_cumulative_keys(c->form, sked_i_run_incumbent(run), c->seed);
    return sked_i_crew_run(crew, run, goal_of(run, c->form), err);
}

/* ------------------------------------------------------------------ the method */

/* Device numbers matter: transfers cost, or the user has fixed some. */
static bool needs_devices(const sked_problem *p)
{
    if (sked_i_has_transfers(p) || p->machine != NULL)
        return true;
    for (int32_t i = 0; p->devices > 0 && p->fix_device != NULL && i < p->graph->n_ops; i++)
        if (p->fix_device[i] >= 0)
            return true;
    return false;
}

/* One turn: each form keeps its crew. */
static sked_status run_form(sked_i_run *run, sked_error *err)
{
    if (sked_i_has_memory_limit(run->problem))
        return sked_i_search_memory_limits(run, err);
    if (run->problem->graph->n_ops > small && sked_i_shop_model_fits(run->problem))
        return sked_i_disjunctive_search(run, err);
    return needs_devices(run->problem) ? sked_i_sequence_annealing_of_transfers(run, err)
                                       : run_cumulative(run, err);
}

static sked_status run_search(sked_i_run *run, sked_error *err)
{
    if (run->problem->graph->n_ops == 0)
        return sked_i_places_offer(run, (const double[1]){0}, err); /* the empty schedule */
    if (run->options->start != NULL) {
        const sked_status st = sked_i_run_offer_start(run, err);
        if (st != SKED_OK)
            return st;
    }
    if (sked_i_run_over(run) && sked_i_run_incumbent(run) != NULL)
        return SKED_OK;
    return sked_i_run_in_turns(run, run_form, err);
}

const sked_i_method sked_i_method_search = {
    .info = {.name = "search",
             .summary = "improvement search: the best schedule in the time given",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_CANDIDATES | SKED_CAN_ANYTIME |
                         SKED_CAN_MAKESPAN | SKED_CAN_MACHINES | SKED_CAN_LIMITS},
    .run = run_search,
};
