/*
 * Lower bounds that hold for every valid schedule. Makespan: bound_makespan.c, bound_machine.c. Loops: ResMII
 * and RecMII (recurrence.c). Resource and memory: the work that certainly falls into some interval, spread
 * evenly.
 */
#include "problem/bounds.h"

#include "base/arena.h"
#include "problem/communication.h"
#include "problem/energy.h"
#include "problem/least_registers.h"
#include "problem/lower.h"
#include "problem/memory_limit.h"

/* Intervals are tried one by one up to this many ops, and within as many steps. */
enum { max_ops_for_energy = 20000 };
static const double energy_budget = 4e6, total_budget = 4e8; /* one pool, all pools */

static void keep(double bound, const char *name, double *best, const char **why)
{
    if (bound > *best) {
        *best = bound;
        *why = name;
    }
}

static sked_status ii_bound(const sked_problem *p, double *bound, const char **why, sked_error *err)
{
    sked_i_min_ii m;
    const sked_status st = sked_i_problem_min_ii(p, &m, err);
    if (st != SKED_OK)
        return st;
    double best = sked_i_problem_integral(p) ? 1 : 0;
    *why = "one step";
    keep(m.resource, "ResMII", &best, why);
    keep(m.recurrence, "RecMII", &best, why);
    *bound = best;
    return SKED_OK;
}

/* Amounts are whole in integral graphs, and so are peaks. */
static double settle_amount(const sked_graph *g, double amount)
{
    return sked_i_bound_settle(amount, g->integral);
}

/* What the bounds of one problem share: windows by the horizon, and room for items. */
typedef struct windows {
    sked_i_arena arena;
    const sked_problem *p;
    double *head, *tail;
    sked_i_energy_item *item; /* [n] */
    int32_t n;
    double spent; /* steps of energetic reasoning */
    bool timed;   /* there is a horizon and no folding: starts have windows */
} windows;

static sked_status windows_init(windows *w, const sked_problem *p, sked_error *err)
{
    sked_status st = SKED_OK;
    *w = (windows){.p = p, .timed = p->horizon < INFINITY && p->ii == 0};
    SKED_OWN(&w->arena, w->head, p->graph->n_ops);
    SKED_OWN(&w->arena, w->tail, p->graph->n_ops);
    SKED_OWN(&w->arena, w->item, p->graph->n_ops);
    sked_i_heads(p->graph, w->head);
    sked_i_tails(p->graph, w->tail);
cleanup:
    return st;
}

/* One item more for least_peak, of op i. Sums of reals are rounded: windows end a little later. */
static void add_item(windows *w, int32_t i, double length, double amount)
{
    const double slack = w->p->graph->integral ? 0 : 1e-9 * fmax(1, w->p->horizon);
    const double early = w->head[i], late = fmax(early, w->p->horizon - w->tail[i]) + slack;
    if (length > 0 && amount > 0)
        w->item[w->n++] = (sked_i_energy_item){early, late, length, amount};
}

/* The least peak of the items: over all time there is, and over intervals. None are left then. */
static sked_status least_peak(windows *w, double *out, sked_error *err)
{
    const sked_graph *g = w->p->graph;
    const double time = w->p->ii > 0 ? w->p->ii : w->p->horizon;
    const int32_t n = w->n;
    double area = 0, best = 0;
    w->n = 0;
    for (int32_t k = 0; k < n; k++) {
        area += w->item[k].length * w->item[k].amount;
        best = fmax(best, w->item[k].amount);
    }
    if (time > 0 && time < INFINITY)
        best = fmax(best, settle_amount(g, area / time));
    sked_status st = SKED_OK;
    if (w->timed && n > 0 && n <= max_ops_for_energy && w->spent < total_budget) {
        sked_i_energy e;
        w->spent += fmin(energy_budget, 12.0 * n * n);
        st = sked_i_energy_init(&e, w->item, n, energy_budget, err);
        if (st == SKED_OK) {
            best = fmax(best, settle_amount(g, sked_i_energy_peak(&e)));
            sked_i_energy_free(&e);
        }
    }
    *out = best;
    return st;
}

/* Per pool: the largest single op, all work spread over the time there is, and over every interval. */
static sked_status resource_bound(const sked_problem *p, double *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const bool pooled = g->demand_ptr[g->n_ops] > 0;
    windows w;
    double sum = 0;
    sked_status st;
    SKED_TRY(windows_init(&w, p, err));
    for (int32_t r = pooled ? 0 : -1; r < (pooled ? g->n_resources : 0); r++) { /* -1: all ops */
        double least, amount;
        for (int64_t k = 0; k < sked_i_user_count(g, r); k++) {
            const int32_t i = sked_i_user(g, r, k, &amount);
            add_item(&w, i, g->duration[i], g->weight[i] * amount);
        }
        SKED_TRY(least_peak(&w, &least, err));
        sum += least;
    }
    *out = sum;
cleanup:
    sked_i_arena_free(&w.arena);
    return st;
}

/* From the start of an op until its value begins. */
static double wait_of(const sked_problem *p, int32_t op)
{
    return sked_i_lifetime(p) == SKED_LIFETIME_RESULT ? sked_i_result_lag(p->graph, op) : 0;
}

/* Just before an op starts, every value it reads over an edge of a lag beyond the wait is alive. */
static double inputs_of_one_op(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    double best = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        double alive = 0;
        int32_t seen = -1;
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
            const int64_t e = g->pred_edge[k];
            if (g->edge_distance[e] > 0 || !sked_i_passes(g, e) || !(g->edge_lag[e] > 0) ||
                !(g->edge_lag[e] > wait_of(p, g->pred_op[k])) || g->pred_op[k] == seen)
                continue;
            seen = g->pred_op[k]; /* in-edges are sorted by `from`: parallel edges stand together */
            alive += g->memory[seen];
        }
        best = alive > best ? alive : best;
    }
    return g->integral ? best : best * (1 - 1e-12);
}

/* The value of op i, whose life from its op's start is given. */
static void add_value(windows *w, int32_t i, double life)
{
    const double wait = wait_of(w->p, i);
    const int32_t count = w->n;
    add_item(w, i, life - wait, w->p->graph->memory[i]);
    for (int32_t k = count; k < w->n; k++) {
        w->item[k].early += wait;
        w->item[k].late += wait;
    }
}

/* What all values wait for, where an interval of one whole step folds it onto every moment; else NAN. */
static double waits_at_one(const sked_problem *p)
{
    double sum = 0;
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        sum += p->graph->memory[i] * wait_of(p, i);
    return sum == 0 || (p->ii == 1 && p->graph->integral) ? sum : NAN;
}

/* The least sum of all lives, spread over the interval. *whole: at interval 1 the sum is the peak, and this
 * its least. */
static sked_status pipeline_bound(const sked_problem *p, sked_i_bound_effort effort, double *bound,
                                  bool *whole, sked_error *err)
{
    sked_i_registers *x = NULL;
    sked_i_registers_found found = {0};
    sked_status st = sked_i_registers_open(p, &x, err);
    effort.work /= 2;
    if (st == SKED_OK)
        st = sked_i_registers_least(x, &effort, NULL, &found, err);
    *bound = settle_amount(p->graph, found.bound / p->ii);
    *whole = found.optimal && p->ii == 1;
    sked_i_registers_close(x);
    return st;
}

static sked_status memory_bound(const sked_problem *p, const sked_i_bound_effort *effort, double *bound,
                                const char **why, sked_error *err)
{
    windows w;
    const char *reason = NULL;
    double spread, *life, sum = 0;
    bool whole = false;
    sked_status st;
    SKED_TRY(windows_init(&w, p, err));
    *why = "least sum of all lives, spread over the time there is";
    if (sked_i_registers_fit(p))
        SKED_TRY(pipeline_bound(p, *effort, &sum, &whole, err));
    *bound = sum;
    if (whole || p->clock > 0)
        goto cleanup;
    SKED_OWN(&w.arena, life, p->graph->n_ops);
    SKED_TRY(sked_i_least_lives(p, effort, life, err));
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        add_value(&w, i, life[i]);
    SKED_TRY(least_peak(&w, &spread, err));
    double best = sum;
    keep(inputs_of_one_op(p), "inputs of one op", &best, why);
    keep(spread, "lives of all values spread over the time they must fall in", &best, why);
    if (sked_i_holds_to_finish(p) && p->ii == 0) {
        SKED_TRY(sked_i_least_peak(p, &spread, err));
        keep(spread, "values that must be held while one op runs, or at the end", &best, why);
    }
    const double waits = waits_at_one(p);
    if (!isnan(waits)) {
        SKED_TRY(sked_i_bound_memory(p, effort, &spread, &reason, err));
        keep(settle_amount(p->graph, spread) - waits, reason, &best, why);
    }
    *bound = best;
cleanup:
    sked_i_arena_free(&w.arena);
    return st;
}

static sked_status communication_bound(const sked_problem *p, sked_i_bound_effort effort, double *out,
                                       sked_error *err)
{
    windows w;
    sked_status st;
    SKED_TRY(windows_init(&w, p, err));
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        w.tail[i] = p->horizon - w.tail[i];
    SKED_TRY(sked_i_least_communication(p->graph, fmax(0, p->ii), w.head, w.tail, &effort, NULL, out, err));
cleanup:
    sked_i_arena_free(&w.arena);
    return st;
}

sked_status sked_i_cost_bound(const sked_problem *p, double communication, double *bound, sked_error *err)
{
    double load;
    const sked_status st = resource_bound(p, &load, err);
    if (st == SKED_OK)
        *bound = load + p->alpha * communication;
    return st;
}

/* Where ops write over what they read, it is certain only that it is held until they start, and what one op
 * needs. */
static sked_status addressed_bound(const sked_problem *p, const sked_i_bound_effort *effort, double *bound,
                                   const char **why, sked_error *err)
{
    sked_problem loose = *p;
    double one = 0;
    if (!sked_i_writes_over(p))
        return memory_bound(p, effort, bound, why, err);
    loose.lifetime = SKED_LIFETIME_START;
    sked_status st = memory_bound(&loose, effort, bound, why, err);
    if (st == SKED_OK)
        st = sked_i_least_peak(p, &one, err);
    if (st == SKED_OK)
        keep(one, "values that must be held while one op runs, or at the end", bound, why);
    return st;
}

static sked_status plain_bound(const sked_problem *p, const sked_i_bound_effort *effort, double *bound,
                               const char **reason, sked_error *err)
{
    double communication;
    sked_status st;
    switch (p->objective) {
    case SKED_OBJECTIVE_MAKESPAN:
        return sked_i_bound_makespan(p, bound, reason, err);
    case SKED_OBJECTIVE_II:
        return ii_bound(p, bound, reason, err);
    case SKED_OBJECTIVE_MEMORY:
    case SKED_OBJECTIVE_ARENA: /* what is held at a time has addresses of its own */
        return addressed_bound(p, effort, bound, reason, err);
    case SKED_OBJECTIVE_RESOURCE:
        *reason = "work spread over the time it must fall in";
        return resource_bound(p, bound, err);
    case SKED_OBJECTIVE_COST:
        *reason = "work spread over the time it must fall in, and least communication";
        st = communication_bound(p, *effort, &communication, err);
        return st == SKED_OK ? sked_i_cost_bound(p, communication, bound, err) : st;
    }
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "unknown objective %d", (int)p->objective);
}

sked_status sked_i_problem_bound(const sked_problem *p, const sked_i_costs *c,
                                 const sked_i_bound_effort *effort, double *bound, const char **why,
                                 sked_error *err)
{
    const char *reason = NULL;
    double best = 0;
    sked_i_relaxed relaxed;
    sked_status st = sked_i_relax(p, c, &relaxed, err);
    if (st == SKED_OK)
        st = plain_bound(&relaxed.problem, effort, &best, &reason, err);
    if (st == SKED_OK && p->machine != NULL && p->objective == SKED_OBJECTIVE_MAKESPAN)
        st = sked_i_bound_machine(p, c, &best, &reason, err);
    sked_i_relaxed_free(&relaxed);
    if (st != SKED_OK)
        return st;
    *bound = best;
    if (why != NULL)
        *why = reason;
    return SKED_OK;
}

sked_status sked_problem_bound(const sked_problem *p, double *bound, const char **why, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    const sked_i_bound_effort effort = {.work = SKED_I_BOUND_WORK};
    sked_i_lowered low = {0};
    sked_i_costs c = {0};
    sked_status st = SKED_OK;
    if (sked_i_is_checked_lowered(p)) {
        SKED_TRY(sked_i_problem_check_asked(p, err));
        low.with_clock = p->ii == 1 && sked_i_registers_fit(p);
        SKED_TRY(sked_i_lower(p, &low, err));
        p = &low.problem;
    }
    SKED_TRY(sked_i_costs_make(p, &c, err));
    if (p->machine != NULL) /* an op that runs nowhere has no time */
        SKED_TRY(sked_i_check_able(p, &c, err));
    st = sked_i_problem_bound(p, &c, &effort, bound, why, err);
cleanup:
    sked_i_costs_free(&c);
    sked_i_lowered_free(&low);
    return st;
}
