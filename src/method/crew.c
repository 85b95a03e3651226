/* Workers of one method: their limits, incumbents, elites and offers. */
#include "method/crew.h"

#include "base/logging.h"

#include <assert.h>
#include <string.h>

/* ------------------------------------------------------------------ what a worker has seen */

void sked_i_crew_fail(sked_i_crew_worker *w, sked_status status)
{
    if (w->hand.status == SKED_OK)
        w->hand.status = status;
}

static void find_worst(sked_i_crew_elites *e)
{
    e->worst = 0;
    for (int32_t k = 1; k < e->count; k++)
        e->worst = e->cost[k] > e->cost[e->worst] ? k : e->worst;
    e->bar = e->count < e->capacity ? INFINITY : e->cost[e->worst];
}

/* Keeps the solution in the place of the worst kept one, once. */
static void keep_elite(sked_i_crew_worker *w, double cost, const void *solution)
{
    sked_i_crew_elites *e = &w->elites;
    const uint64_t hash = w->crew->kind->hash(w, solution);
    int32_t place = e->worst;
    assert(e->count <= e->capacity && e->capacity > 0);
    for (int32_t k = 0; k < e->count; k++)
        if (e->hash[k] == hash && e->cost[k] == cost)
            return;
    if (e->count < e->capacity) {
        place = e->count;
        if ((e->row[place] = sked_i_arena_alloc(&w->hand.own, 1, w->crew->size)) == NULL) {
            sked_i_crew_fail(w, sked_i_no_memory(&w->hand.error));
            return;
        }
        e->count++;
    }
    e->cost[place] = cost;
    e->hash[place] = hash;
    memcpy(e->row[place], solution, w->crew->size);
    find_worst(e);
}

void sked_i_crew_see(sked_i_crew_worker *w, double cost, const void *solution)
{
    assert(!isnan(cost) && solution != NULL);
    if (cost < w->elites.bar)
        keep_elite(w, cost, solution);
    if (cost >= w->best)
        return;
    SKED_LOG(2, "crew", "worker %d: cost %g after %lld evaluations (was %g)", w->hand.index, cost,
             (long long)w->client.evaluations, w->best);
    w->best = cost;
    memcpy(w->incumbent, solution, w->crew->size);
    const double time = cost / w->crew->scale;
    if (w->crew->kind->again == NULL)
        sked_i_value_curve_note(&w->curve, &(sked_curve_point){.evaluations = w->client.evaluations,
                                                               .value = w->crew->whole ? rint(time) : time});
    if (cost <= w->goal && w->crew->halts)
        atomic_store_explicit(&w->crew->halt, 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------ offering */

/* On the run's thread. */
static void count_evaluations(sked_i_crew_worker *w)
{
    sked_i_run_evaluated(w->crew->run, w->client.evaluations - w->counted);
    w->counted = w->client.evaluations;
}

static sked_status publish(sked_i_crew_worker *w, sked_error *err)
{
    assert(w->best < INFINITY);
    const sked_status st = w->crew->kind->offer(w, w->incumbent, err);
    w->published = w->best;
    sked_i_run_progress(w->crew->run, w->crew->kind->phase);
    return st;
}

/* Where offers take so long, the workers must end a little earlier than the run. */
static double deadline(const sked_i_crew *crew, double took)
{
    const sked_i_limit *limit = &crew->run->limit;
    return limit->deadline - fmin(1.5 * took * crew->last_offers, 0.4 * (limit->deadline - limit->begin));
}

static void publish_news(sked_i_crew_worker *w, double now)
{
    count_evaluations(w);
    sked_i_crew_fail(w, publish(w, &w->hand.error));
    const double took = sked_clock() - now;
    w->next_publish = now + 0.05 + 20 * took;
    w->limit.deadline = deadline(w->crew, took);
}

bool sked_i_crew_over(sked_i_client *client)
{
    sked_i_crew_worker *w = sked_i_crew_worker_of(client);
    if (client->evaluations >= w->max_evaluations || w->best <= w->goal || w->hand.status != SKED_OK)
        return true;
    if (w->crew->halts && atomic_load_explicit(&w->crew->halt, memory_order_relaxed))
        return true;
    if (sked_i_limit_stopped(&w->limit))
        return true;
    if ((client->evaluations & w->crew->clock_mask) != 0)
        return false;
    const double now = sked_clock();
    if (now >= w->next_publish && w->best < w->published)
        publish_news(w, now);
    return now >= w->limit.deadline;
}

/* Between rounds: offers the best incumbent (the first of equals) if it is news. */
static sked_status publish_best(sked_i_crew *crew, sked_error *err)
{
    sked_i_crew_worker *best = sked_i_crew_member(crew, 0);
    for (int k = 0; k < crew->active; k++)
        count_evaluations(sked_i_crew_member(crew, k));
    for (int k = 1; k < crew->active; k++)
        best = sked_i_crew_member(crew, k)->best < best->best ? sked_i_crew_member(crew, k) : best;
    if (!(best->best < crew->published))
        return SKED_OK;
    crew->published = best->best;
    const double begin = sked_clock();
    const sked_status st = publish(best, err);
    const double took = sked_clock() - begin;
    for (int k = 0; k < crew->active; k++)
        sked_i_crew_member(crew, k)->limit.deadline = deadline(crew, took);
    return st;
}

/* ------------------------------------------------------------------ workers */

static void close_worker(sked_i_hand *hand)
{
    sked_i_crew_worker *w = (sked_i_crew_worker *)hand;
    if (w->crew->kind->close != NULL)
        w->crew->kind->close(w);
    sked_i_value_curve_free(&w->curve);
}

static sked_status open_elites(sked_i_arena *own, sked_i_crew_elites *e, int32_t wanted, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(own, e->row, wanted);
    SKED_OWN(own, e->cost, wanted);
    SKED_OWN(own, e->hash, wanted);
    e->capacity = wanted;
    e->bar = INFINITY;
cleanup:
    return st;
}

/* What depends on the run: limits, goal, counters. */
static void bind(sked_i_crew_worker *w)
{
    const sked_i_crew *crew = w->crew;
    const sked_i_run *run = crew->run;
    const int64_t iterations = run->options->iterations, threads = crew->active;
    const double left = run->limit.deadline - sked_clock();
    w->limit = run->limit;
    w->limit.deadline -= fmax(0, fmin(crew->reserve, 0.4 * left));
    w->max_evaluations = INT64_MAX;
    if (iterations > 0 && crew->kind->again == NULL)
        w->max_evaluations =
            w->client.evaluations + iterations / threads + (w->hand.index < iterations % threads);
    w->goal = sked_i_run_wanted(run) > 1 ? -1 : crew->goal;
    /* where candidates are wanted, what is kept must not depend on when it is offered */
    const bool leads = w->hand.index == 0 && crew->kind->again == NULL && w->elites.capacity == 0;
    w->next_publish = leads ? 0 : INFINITY;
    w->hand.status = SKED_OK;
    w->curve.begin = run->limit.begin;
    w->curve.before = sked_i_run_evaluations(run) - w->client.evaluations;
}

static sked_status open_worker(sked_i_hand *hand, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_crew *crew = hand->hands->owner;
    sked_i_crew_worker *w = (sked_i_crew_worker *)hand;
    const int32_t wanted = sked_i_run_wanted(crew->run);
    w->crew = crew;
    w->client.over = sked_i_crew_over;
    w->best = w->least = w->published = INFINITY;
    w->elites.bar = -INFINITY;
    if ((w->incumbent = sked_i_arena_alloc(&hand->own, 1, crew->size)) == NULL)
        return sked_i_no_memory(err);
    if (wanted > 1 && crew->kind->hash != NULL)
        SKED_TRY(open_elites(&w->hand.own, &w->elites, wanted, err));
    sked_i_rng_seed(&w->client.rng, crew->run->options->seed, (uint64_t)hand->index);
    bind(w);
    st = crew->kind->open(w, err);
cleanup:
    return st;
}

/* Workers of earlier turns go on, missing ones are opened. */
static sked_status gather(sked_i_crew *crew, sked_error *err)
{
    sked_status st = SKED_OK;
    const int earlier = crew->hands.count < crew->active ? crew->hands.count : crew->active;
    for (int k = 0; k < earlier; k++) {
        assert(crew->kind->resume != NULL);
        bind(sked_i_crew_member(crew, k));
        SKED_TRY(crew->kind->resume(sked_i_crew_member(crew, k), err));
    }
    st = sked_i_hands_fill(&crew->hands, crew->active, err);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ a turn */

void sked_i_crew_init(sked_i_crew *crew, const sked_i_crew_kind *kind, size_t size)
{
    assert(size > 0 && kind->worker_size >= sizeof(sked_i_crew_worker));
    crew->kind = kind;
    crew->size = size;
    crew->scale = crew->last_offers = 1;
    crew->published = INFINITY;
    crew->hands = (sked_i_hands){.size = kind->worker_size, .open = open_worker, .close = close_worker};
}

void sked_i_crew_close(sked_i_crew *crew)
{
    sked_i_hands_close(&crew->hands);
    if (crew->drop != NULL)
        crew->drop(crew);
    sked_i_arena_free(&crew->own);
}

static void destroy(void *state)
{
    sked_i_crew_close(state);
    free(state);
}

sked_status sked_i_crew_of_run(sked_i_run *run, size_t size,
                               sked_status (*make)(sked_i_run *run, sked_i_crew *crew, sked_error *err),
                               void (*drop)(sked_i_crew *crew), sked_i_crew **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_crew *crew = sked_i_run_state(run);
    if (crew == NULL) {
        if ((crew = sked_i_alloc_zero(1, size)) == NULL)
            return sked_i_no_memory(err);
        crew->drop = drop;
        st = make(run, crew, err);
        if (st == SKED_OK)
            st = sked_i_run_keep(run, crew, destroy, err);
        if (st != SKED_OK)
            destroy(crew);
    }
    if (st == SKED_OK)
        *out = crew;
    return st;
}

double sked_i_crew_goal(const sked_i_crew *crew, const sked_i_run *run)
{
    const double bound = sked_i_run_bound(run);
    return (bound + (sked_i_problem_integral(run->problem) ? 0 : 1e-9 * fabs(bound))) * crew->scale;
}

/* Workers may end earlier than the run, so the run's own clock need not say so. */
static bool ran_out(const sked_i_crew *crew, bool nothing_seen)
{
    bool out = crew->cut;
    for (int k = 0; !out && k < crew->active; k++) {
        const sked_i_crew_worker *w = sked_i_crew_member(crew, k);
        out = w->cut || (nothing_seen &&
                         (sked_i_limit_reached(&w->limit) || w->client.evaluations >= w->max_evaluations));
    }
    return out;
}

static sked_status none_found(const sked_i_crew *crew, double least, sked_error *err)
{
    const double horizon = crew->run->problem->horizon;
    if (ran_out(crew, least == INFINITY))
        return sked_i_limit_fail(err);
    if (least == INFINITY)
        return SKED_OK; /* the driver says what is missing */
    if (crew->fixed)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "none found: no schedule met all fixed starts%s (not a proof)",
                           horizon < INFINITY ? " and the horizon" : "");
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "none found: the horizon is %g, the shortest schedule seen takes %g (not a proof)",
                       horizon, least / crew->scale);
}

static void report(sked_i_crew_worker *w)
{
    sked_i_run *run = w->crew->run;
    const char *const *name = w->crew->kind->technique;
    count_evaluations(w);
    for (int t = 0; t < SKED_I_CREW_TECHNIQUES && name[t] != NULL; t++) {
        const sked_i_crew_tally *x = &w->tally[t];
        if (x->calls > 0)
            sked_i_run_tally(run, name[t], x->calls, x->seconds, x->evaluations, x->gain / w->crew->scale);
        w->tally[t] = (sked_i_crew_tally){0};
    }
    if (w->proved)
        sked_i_run_prove(run);
}

bool sked_i_crew_late(const sked_i_crew *crew, double begin)
{
    static const double grace = 0.05;
    return sked_i_limit_stopped(&crew->run->limit) && sked_clock() > begin + grace;
}

/* Offers what a worker has found and not offered yet. */
static sked_status offer_all(sked_i_crew_worker *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const double begin = sked_clock();
    if (w->best < w->published)
        SKED_TRY(w->crew->kind->offer(w, w->incumbent, err));
    w->published = w->best;
    for (int32_t k = 0; k < w->elites.count && !sked_i_crew_late(w->crew, begin); k++)
        SKED_TRY(w->crew->kind->offer(w, w->elites.row[k], err));
cleanup:
    return st;
}

/* Takes what the workers found, first worker first, so that ties do not depend on timing. */
static sked_status merge(sked_i_crew *crew, sked_error *err)
{
    sked_status st = SKED_OK;
    double least = INFINITY;
    for (int k = 0; k < crew->active; k++) {
        sked_i_crew_worker *w = sked_i_crew_member(crew, k);
        report(w);
        least = fmin(least, w->least);
        if (crew->kind->again == NULL)
            SKED_TRY(offer_all(w, err));
        sked_i_run_merge_curve(crew->run, &w->curve);
    }
    if (sked_i_run_incumbent(crew->run) == NULL)
        return none_found(crew, least, err);
cleanup:
    return st;
}

static sked_status work(sked_i_hand *hand, sked_error *err)
{
    sked_i_crew_worker *w = (sked_i_crew_worker *)hand;
    (void)err; /* the hand's own: sked_i_crew_fail has filled it */
    w->crew->kind->work(w);
    return hand->status;
}

static sked_status work_in_rounds(sked_i_crew *crew, sked_error *err)
{
    const sked_i_crew_kind *kind = crew->kind;
    sked_status st = SKED_OK;
    for (bool more = true; more;) {
        SKED_TRY(sked_i_hands_work(&crew->hands, crew->active, work, err));
        SKED_TRY(publish_best(crew, err));
        SKED_TRY(kind->again(crew, &more, err));
    }
    if (kind->finish != NULL)
        st = kind->finish(crew, err);
cleanup:
    return st;
}

sked_status sked_i_crew_run(sked_i_crew *crew, sked_i_run *run, double goal, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(crew->run == NULL && crew->kind != NULL); /* no turn is under way */
    crew->run = crew->hands.run = run;
    crew->hands.owner = crew;
    crew->goal = goal;
    crew->active = run->options->threads > 1 ? run->options->threads : 1;
    crew->halts = run->options->iterations == 0 && crew->active > 1;
    atomic_store(&crew->halt, 0);
    SKED_TRY(gather(crew, err));
    if (crew->kind->again != NULL)
        SKED_TRY(work_in_rounds(crew, err));
    else
        SKED_TRY(sked_i_hands_work(&crew->hands, crew->active, work, err));
    st = merge(crew, err);
cleanup:
    crew->run = crew->hands.run = NULL;
    for (int k = 0; k < crew->hands.count; k++)
        sked_i_crew_member(crew, k)->limit = (sked_i_limit){0}; /* its stop flag may not outlive the run */
    return st;
}

/* ------------------------------------------------------------------ statistics */

sked_i_crew_span sked_i_crew_begin(const sked_i_crew_worker *w)
{
    return (sked_i_crew_span){sked_clock(), w->best, w->client.evaluations};
}

void sked_i_crew_end(sked_i_crew_worker *w, int technique, sked_i_crew_span span)
{
    assert(technique >= 0 && technique < SKED_I_CREW_TECHNIQUES);
    sked_i_crew_tally *x = &w->tally[technique];
    x->calls++;
    x->seconds += sked_clock() - span.clock;
    x->evaluations += w->client.evaluations - span.evaluations;
    x->gain += span.best < INFINITY ? span.best - w->best : 0;
}
