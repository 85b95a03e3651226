/*
 * Techniques in turn. Effort is counted, not timed, so that a run with an iteration limit is the same every
 * time: one decode is one unit, one conflict of the learner thirty.
 */
#include "engine/clause/clause_learner.h"
#include "engine/population/population.h"
#include "method/search/search.h"

#include <assert.h>
#include <string.h>

enum { conflict_effort = 30, first_slice = 600, last_slice = 60000, window_conflicts = 150 };
enum { proof_boost = 20, few = 40, provable = 64 };        /* ops: see weight_of */
static const double patience = 2e4, longer_patience = 1e6; /* effort: of few ops, and of more */

/* Shares of the effort to begin with; a technique that improves the best gains up to four times its share. */
static const double shares[SKED_I_SEARCH_TECHNIQUES] = {1, 0.4, 0.3};

struct sked_i_portfolio {
    sked_i_search_worker *w;
    sked_i_population *population;
    sked_i_learner *learner;
    bool learns; /* the learner can help with this problem */
    bool breeds; /* so can the population */
    double effort[SKED_I_SEARCH_TECHNIQUES], weight[SKED_I_SEARCH_TECHNIQUES];
    int64_t slice;          /* effort of one turn */
    double spent, improved; /* effort in all, and when the incumbent last improved */
    int32_t *guide, *found;
    sked_i_lit *assume;
    double width; /* ops left free in a window */
};
typedef sked_i_portfolio portfolio;

void sked_i_portfolio_close(sked_i_portfolio *p)
{
    if (p != NULL)
        sked_i_learner_destroy(p->learner);
}

sked_i_portfolio *sked_i_portfolio_create(sked_i_search_worker *w)
{
    const int64_t n = w->problem->n;
    sked_i_arena *own = &w->base.hand.own;
    portfolio *p = sked_i_arena_alloc(own, 1, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (portfolio){.w = w, .learns = true, .breeds = true, .slice = first_slice, .width = 20};
    memcpy(p->weight, shares, sizeof shares);
    p->guide = sked_i_arena_alloc(own, n, sizeof *p->guide);
    p->found = sked_i_arena_alloc(own, n, sizeof *p->found);
    p->assume = sked_i_arena_alloc(own, n, sizeof *p->assume);
    if (p->guide && p->found && p->assume)
        p->population = sked_i_population_create(own, &w->decode, &w->base.client, sked_i_search_see);
    return p->population != NULL ? p : NULL;
}

/* The best schedule, or another one as good. */
static void choose_guide(portfolio *p)
{
    sked_i_search_worker *w = p->w;
    if (sked_i_rng_below(&w->base.client.rng, 2) == 0 ||
        !sked_i_population_draw(p->population, sked_i_search_best(w), p->guide))
        memcpy(p->guide, w->base.incumbent, w->base.crew->size);
}

static bool settle(portfolio *p, sked_i_verdict v)
{
    sked_i_crew_worker *base = &p->w->base;
    if (v == SKED_I_FOUND)
        sked_i_population_adopt(p->population, p->found);
    if (v == SKED_I_REFUTED) { /* nothing is shorter; the population goes on where candidates are wanted */
        base->proved = p->w->problem->faithful;
        p->learns = false;
        if (base->elites.capacity == 0)
            base->goal = base->best;
    }
    return !sked_i_learner_failed(p->learner);
}

/*
 * A window of time: what starts before it may not move right, what starts after it must move left by one,
 * what starts within is free. Returns the number of assumptions.
 */
static int32_t open_window(portfolio *p)
{
    sked_i_search_worker *w = p->w;
    const int32_t n = w->problem->n, middle = p->guide[sked_i_rng_below(&w->base.client.rng, (uint64_t)n)];
    int32_t free_ops = 0, low = middle, high = middle, count = 0;
    for (int32_t reach = 0; free_ops < (int32_t)p->width && free_ops < n; reach++) {
        low = middle - reach;
        high = middle + reach;
        free_ops = 0;
        for (int32_t i = 0; i < n; i++)
            free_ops += p->guide[i] >= low && p->guide[i] <= high;
    }
    for (int32_t i = 0; i < n; i++) {
        if (p->guide[i] < low)
            p->assume[count++] = (sked_i_lit){2 * i + 1, -p->guide[i]};
        else if (p->guide[i] > high)
            p->assume[count++] = (sked_i_lit){2 * i + 1, 1 - p->guide[i]};
    }
    return count;
}

/* Of all ops, or with windows of a few at a time. False: no memory. */
static bool run_learner(portfolio *p, bool windows)
{
    sked_i_search_worker *w = p->w;
    const int32_t n = w->problem->n;
    assert(p->learner != NULL && w->base.best < INFINITY); /* may_run */
    const int64_t *done = &w->base.client.evaluations, until = *done + p->slice / conflict_effort;
    bool ok = true;
    while (ok && p->learns && *done < until && !sked_i_crew_over(&w->base.client)) {
        choose_guide(p);
        const int32_t count = windows ? open_window(p) : 0;
        w->base.client.evaluations += windows;
        const sked_i_verdict v =
            sked_i_learner_solve(p->learner, sked_i_search_best(w) - 1, p->assume, count, p->guide,
                                 windows ? window_conflicts : until - *done, p->found);
        if (windows && v == SKED_I_NARROW)
            p->width = p->width * 1.02 < n ? p->width * 1.02 : n;
        else if (windows && v == SKED_I_UNDECIDED)
            p->width = p->width * 0.95 > 5 ? p->width * 0.95 : 5;
        ok = settle(p, v);
    }
    return ok;
}

static bool may_run(const portfolio *p, int t)
{
    return t == SKED_I_SEARCH_GENETIC ? p->breeds : p->learns && p->w->base.best < INFINITY;
}

/*
 * An incumbent of few ops that has stood for long is likely optimal: then only a proof is left to find. With
 * more ops the other techniques improve it for longer.
 */
static double weight_of(const portfolio *p, int t)
{
    const int32_t n = p->w->problem->n;
    const double least = n <= few ? patience : longer_patience;
    const bool stands = n <= provable && p->spent > least + 2 * p->improved;
    return p->weight[t] * (t == SKED_I_SEARCH_LEARNING && stands ? proof_boost : 1);
}

/* The technique that is furthest behind its share; -1: none can help. */
static int choose(const portfolio *p)
{
    int best = -1;
    for (int t = 0; t < SKED_I_SEARCH_TECHNIQUES; t++)
        if (may_run(p, t) &&
            (best < 0 || p->effort[t] / weight_of(p, t) < p->effort[best] / weight_of(p, best)))
            best = t;
    return best;
}

static bool run_technique(portfolio *p, int t)
{
    if (t == SKED_I_SEARCH_GENETIC) {
        p->breeds = sked_i_population_run(p->population, p->slice);
        return true;
    }
    if (p->learner == NULL) {
        p->learner =
            sked_i_learner_create(&p->w->problem->forward, sked_i_search_best(p->w), &p->w->base.client);
        if (p->learner == NULL)
            return false;
    }
    return run_learner(p, t == SKED_I_SEARCH_WINDOWS);
}

bool sked_i_portfolio_renew(sked_i_portfolio *p)
{
    return sked_i_population_renew(p->population);
}

bool sked_i_portfolio_run(sked_i_portfolio *p)
{
    sked_i_search_worker *w = p->w;
    sked_i_crew_worker *base = &w->base;
    bool ok = true;
    p->breeds = true; /* in a later turn, too */
    if (w->seed != NULL)
        sked_i_population_seed(p->population, w->seed);
    while (ok && !sked_i_crew_over(&w->base.client)) {
        const int t = choose(p);
        if (t < 0)
            break;
        const sked_i_crew_span span = sked_i_crew_begin(base);
        ok = run_technique(p, t);
        sked_i_crew_end(base, t, span);
        const double used = (double)(base->client.evaluations - span.evaluations);
        const double effort = used * (t == SKED_I_SEARCH_GENETIC ? 1 : conflict_effort);
        p->effort[t] += effort;
        p->spent += effort;
        if (base->best < span.best)
            p->improved = p->spent;
        if (base->best < span.best && span.best < INFINITY && p->weight[t] < 4 * shares[t])
            p->weight[t] *= 1.3;
        p->learns =
            p->learns && (base->best == INFINITY || sked_i_learner_fits(w->problem, sked_i_search_best(w)));
        p->slice = p->slice < last_slice ? p->slice + p->slice / 4 : p->slice;
    }
    return ok;
}
