/*
 * Techniques in turn. Effort is counted, not timed, so that a run with an iteration limit is the same every
 * time: one decode is one unit, one conflict of the learner about thirty.
 */
#include "method/search/learn.h"

#include <string.h>

enum { genetic, complete, windows, techniques };
enum { conflict_effort = 30, first_slice = 600, last_slice = 60000, window_conflicts = 150 };

/* Shares of the effort to begin with; a technique that improves the best gains up to four times its share. */
static const double shares[techniques] = {1, 0.4, 0.3};

typedef struct portfolio {
    sked_i_worker *w;
    sked_i_population *population;
    sked_i_learner *learner;
    bool learns; /* the learner can help with this problem */
    bool breeds; /* so can the population */
    double effort[techniques], weight[techniques];
    int64_t slice; /* effort of one turn */
    int32_t *guide, *found;
    sked_i_bound *assume;
    double width; /* ops left free in a window */
} portfolio;

static void close_portfolio(portfolio *p)
{
    sked_i_population_destroy(p->population);
    sked_i_learner_destroy(p->learner);
    free(p->guide);
    free(p->found);
    free(p->assume);
}

static bool open_portfolio(portfolio *p, sked_i_worker *w)
{
    const int64_t n = w->problem->n;
    *p = (portfolio){.w = w, .learns = true, .breeds = true, .slice = first_slice, .width = 20};
    memcpy(p->weight, shares, sizeof shares);
    p->population = sked_i_population_create(w);
    p->guide = sked_i_alloc(n, sizeof *p->guide);
    p->found = sked_i_alloc(n, sizeof *p->found);
    p->assume = sked_i_alloc(n, sizeof *p->assume);
    return p->population && p->guide && p->found && p->assume;
}

static int32_t makespan_of(const sked_i_core *core, const int32_t *start)
{
    int32_t latest = 0;
    for (int32_t i = 0; i < core->n; i++)
        latest = start[i] + core->duration[i] > latest ? start[i] + core->duration[i] : latest;
    return latest;
}

/* A schedule by the learner: justify it, tell the others. */
static void take_found(portfolio *p)
{
    sked_i_worker *w = p->w;
    int32_t makespan = makespan_of(w->decode.forward->core, p->found);
    makespan = sked_i_worker_justify(w, makespan, p->found);
    sked_i_worker_see(w, makespan, p->found);
    sked_i_population_add(p->population, makespan, p->found);
}

/* The best schedule, or another one as good. */
static void choose_guide(portfolio *p)
{
    sked_i_worker *w = p->w;
    if (sked_i_rng_below(&w->rng, 2) == 0 || !sked_i_population_draw(p->population, w->best, p->guide))
        memcpy(p->guide, w->best_start, (size_t)w->problem->n * sizeof *p->guide);
}

static bool settle(portfolio *p, sked_i_verdict v)
{
    if (v == SKED_I_FOUND)
        take_found(p);
    if (v == SKED_I_REFUTED) { /* nothing is shorter; the population goes on where candidates are wanted */
        p->w->proved = true;
        p->learns = false;
        if (p->w->elite.capacity == 0)
            p->w->goal = p->w->best;
    }
    return !sked_i_learner_failed(p->learner);
}

static bool run_complete(portfolio *p)
{
    sked_i_worker *w = p->w;
    const int64_t until = w->evaluations + p->slice / conflict_effort;
    while (p->learns && w->evaluations < until && !sked_i_worker_over(w)) {
        choose_guide(p);
        const sked_i_verdict v = sked_i_learner_solve(p->learner, w->best - 1, NULL, 0, p->guide,
                                                      until - w->evaluations, p->found);
        if (!settle(p, v))
            return false;
    }
    return true;
}

/*
 * A window of time: what starts before it may not move right, what starts after it must move left by one,
 * what starts within is free. Returns the number of assumptions.
 */
static int32_t open_window(portfolio *p)
{
    sked_i_worker *w = p->w;
    const int32_t n = w->problem->n, middle = p->guide[sked_i_rng_below(&w->rng, (uint64_t)n)];
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
            p->assume[count++] = (sked_i_bound){2 * i + 1, -p->guide[i]};
        else if (p->guide[i] > high)
            p->assume[count++] = (sked_i_bound){2 * i + 1, 1 - p->guide[i]};
    }
    return count;
}

static bool run_windows(portfolio *p)
{
    sked_i_worker *w = p->w;
    const int32_t n = w->problem->n;
    const int64_t until = w->evaluations + p->slice / conflict_effort;
    while (p->learns && w->evaluations < until && !sked_i_worker_over(w)) {
        choose_guide(p);
        const int32_t count = open_window(p);
        w->evaluations++;
        const sked_i_verdict v = sked_i_learner_solve(p->learner, w->best - 1, p->assume, count, p->guide,
                                                      window_conflicts, p->found);
        if (v == SKED_I_NARROW)
            p->width = p->width * 1.02 < n ? p->width * 1.02 : n;
        else if (v == SKED_I_UNDECIDED)
            p->width = p->width * 0.95 > 5 ? p->width * 0.95 : 5;
        if (!settle(p, v))
            return false;
    }
    return true;
}

static bool may_run(const portfolio *p, int t)
{
    return t == genetic ? p->breeds : p->learns && p->w->best < INT32_MAX;
}

/* The technique that is furthest behind its share; -1: none can help. */
static int choose(const portfolio *p)
{
    int best = -1;
    for (int t = 0; t < techniques; t++)
        if (may_run(p, t) && (best < 0 || p->effort[t] / p->weight[t] < p->effort[best] / p->weight[best]))
            best = t;
    return best;
}

static bool run_technique(portfolio *p, int t)
{
    if (t == genetic) {
        p->breeds = sked_i_population_run(p->population, p->slice);
        return true;
    }
    if (p->learner == NULL) {
        p->learner = sked_i_learner_create(p->w, p->w->best);
        if (p->learner == NULL)
            return false;
    }
    return t == complete ? run_complete(p) : run_windows(p);
}

bool sked_i_portfolio_run(sked_i_worker *w)
{
    portfolio p;
    bool ok = open_portfolio(&p, w);
    while (ok && !sked_i_worker_over(w)) {
        const int t = choose(&p);
        if (t < 0)
            break;
        const int64_t before = w->evaluations;
        const int32_t best = w->best;
        ok = run_technique(&p, t);
        p.effort[t] += (double)(w->evaluations - before) * (t == genetic ? 1 : conflict_effort);
        if (w->best < best && best < INT32_MAX && p.weight[t] < 4 * shares[t])
            p.weight[t] *= 1.3;
        p.learns = p.learns && (w->best == INT32_MAX || sked_i_learner_fits(w, w->best));
        p.slice = p.slice < last_slice ? p.slice + p.slice / 4 : p.slice;
    }
    close_portfolio(&p);
    return ok;
}
