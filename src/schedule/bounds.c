/*
 * Lower bounds that hold for every valid schedule. Makespan: the longest path; per pool the work of a
 * set of ops that all start after some head and leave some tail (area with heads and tails). Transfers
 * only ever delay, so bounds without them stay valid with them. Loops: ResMII and RecMII (recurrence.c).
 */
#include "base/memory.h"
#include "base/sort.h"
#include "schedule/schedule.h"

/* Work of op i in pool r (r == -1: the devices). */
static double pool_area(const sked_graph *g, int32_t i, int32_t r)
{
    return r < 0 ? g->duration[i] : g->duration[i] * sked_graph_demand(g, i, r);
}

/* Earliest starts, what must follow each op, and the ops by either, largest first. */
typedef struct sides {
    double *head, *rest;
    sked_i_keyed *by_head, *by_rest, *spare;
} sides;

static void sides_free(sides *s)
{
    free(s->head);
    free(s->rest);
    free(s->by_head);
    free(s->by_rest);
    free(s->spare);
}

static void sort_down(const double *key, int32_t n, sked_i_keyed *order, sked_i_keyed *spare)
{
    for (int32_t i = 0; i < n; i++)
        order[i] = (sked_i_keyed){sked_i_sort_key(-key[i]), i};
    sked_i_sort_keyed(order, spare, n);
}

static sked_status sides_make(const sked_graph *g, sides *out, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sides){0};
    SKED_NEW(out->head, g->n_ops);
    SKED_NEW(out->rest, g->n_ops);
    SKED_NEW(out->by_head, g->n_ops);
    SKED_NEW(out->by_rest, g->n_ops);
    SKED_NEW(out->spare, g->n_ops);
    sked_i_heads(g, out->head);
    sked_i_tails(g, out->rest);
    for (int32_t i = 0; i < g->n_ops; i++)
        out->rest[i] -= g->duration[i];
    sort_down(out->head, g->n_ops, out->by_head, out->spare);
    sort_down(out->rest, g->n_ops, out->by_rest, out->spare);
    return SKED_OK;
cleanup:
    sides_free(out);
    return st;
}

/* max over sets {key >= k} of k + area / capacity + min other. O(n). */
static double area_sweep(const sked_graph *g, int32_t r, double capacity, const sked_i_keyed *order,
                         const double *key, const double *other)
{
    double best = 0, area = 0, least = INFINITY;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = (int32_t)order[k].value;
        const double more = pool_area(g, i, r);
        if (!(more > 0))
            continue;
        area += more;
        least = other[i] < least ? other[i] : least;
        const double bound = key[i] + area / capacity + least;
        best = bound > best ? bound : best;
    }
    return best;
}

static double pool_bound(const sked_graph *g, int32_t r, double capacity, const sides *s)
{
    return fmax(area_sweep(g, r, capacity, s->by_head, s->head, s->rest),
                area_sweep(g, r, capacity, s->by_rest, s->rest, s->head));
}

static void keep(double bound, const char *name, double *best, const char **why)
{
    if (bound > *best) {
        *best = bound;
        *why = name;
    }
}

/* Sums of reals may round up past the true bound: give that back, and round integer problems up. */
static double settle(const sked_problem *p, double bound)
{
    const double safe = bound * (1 - 1e-12);
    return sked_i_problem_integral(p) ? ceil(bound - 1e-9 * fmax(1, bound)) : safe;
}

static sked_status makespan_bound(const sked_problem *p, double *bound, const char **why, sked_error *err)
{
    const sked_graph *g = p->graph;
    sides s;
    const char *name = "critical path";
    const sked_status st = sides_make(g, &s, err);
    if (st != SKED_OK)
        return st;
    double best = sked_i_critical_path(g, s.head);
    for (int32_t r = p->devices > 0 ? -1 : 0; r < g->n_resources; r++) {
        const double capacity = r < 0 ? p->devices : sked_i_capacity(p, r);
        if (isinf(capacity) || capacity <= 0)
            continue;
        const double area = settle(p, pool_bound(g, r, capacity, &s));
        keep(area, r < 0 ? "device area with heads and tails" : "resource area with heads and tails", &best,
             &name);
    }
    *bound = best;
    *why = name;
    sides_free(&s);
    return SKED_OK;
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

/* Per pool: all work spread evenly over the time there is, and the largest single op. */
static double resource_bound(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    const double time = p->ii > 0 ? p->ii : p->horizon;
    const bool pooled = g->demand_ptr[g->n_ops] > 0;
    double sum = 0;
    for (int32_t r = pooled ? 0 : -1; r < (pooled ? g->n_resources : 0); r++) {
        double area = 0, largest = 0;
        for (int32_t i = 0; i < g->n_ops; i++) {
            const double load = g->weight[i] * (r < 0 ? 1 : sked_graph_demand(g, i, r));
            area += load * g->duration[i];
            largest = g->duration[i] > 0 && load > largest ? load : largest;
        }
        double least = time > 0 && time < INFINITY ? area / time : 0;
        least = g->integral ? ceil(least - 1e-9 * fmax(1, least)) : least * (1 - 1e-12);
        sum += least > largest ? least : largest;
    }
    return sum;
}

/* Just before an op starts, every value it reads over an edge of positive lag is alive. */
static double memory_bound(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    double best = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        double alive = 0;
        int32_t seen = -1;
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
            const int64_t e = g->pred_edge[k];
            if (g->edge_distance[e] > 0 || !(g->edge_lag[e] > 0) || g->pred_op[k] == seen)
                continue;
            seen = g->pred_op[k]; /* in-edges are sorted by `from`: parallel edges stand together */
            alive += g->memory[seen];
        }
        best = alive > best ? alive : best;
    }
    return g->integral ? best : best * (1 - 1e-12);
}

/* Every edge spans at least its lag. */
static double communication_bound(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    double sum = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_bytes[e] > 0 && (g->edge_distance[e] == 0 || p->ii > 0))
            sum += g->edge_lag[e];
    return sum;
}

sked_status sked_problem_bound(const sked_problem *p, double *bound, const char **why, sked_error *err)
{
    const char *ignored;
    const char **reason = why ? why : &ignored;
    switch (p->objective) {
    case SKED_OBJECTIVE_MAKESPAN:
        return makespan_bound(p, bound, reason, err);
    case SKED_OBJECTIVE_II:
        return ii_bound(p, bound, reason, err);
    case SKED_OBJECTIVE_RESOURCE:
        *bound = resource_bound(p);
        *reason = "work spread over the horizon";
        return SKED_OK;
    case SKED_OBJECTIVE_MEMORY:
        *bound = memory_bound(p);
        *reason = "inputs of one op";
        return SKED_OK;
    case SKED_OBJECTIVE_COST:
        *bound = resource_bound(p) + p->alpha * communication_bound(p);
        *reason = "work spread over the horizon and least communication";
        return SKED_OK;
    }
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "unknown objective %d", (int)p->objective);
}
