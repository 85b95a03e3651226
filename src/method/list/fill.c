/*
 * Objectives resource and cost: steps filled evenly.
 *
 * Two ways, all results offered. Filling: in a topological order, op after op goes to the step at which the
 * work so far, spread evenly over the steps, has arrived. Levelling: parallel generation with an
 * artificial capacity, the smallest at which everything still keeps its latest start.
 *
 * Fewer steps than the horizon has make shorter edges, which objective cost counts: those are tried too.
 */
#include "method/list/list_method.h"

#include <assert.h>

enum { levelling_rounds = 12 };

typedef struct filler {
    sked_i_run *run;
    const sked_problem *p;
    const sked_i_windows *w;
    int32_t *order, *level, *count;
    double *start;
} filler;

/* Topological order by depth: all ops of one level before the next. O(ops + edges). */
static void order_by_depth(const filler *x)
{
    const sked_graph *g = x->p->graph;
    const int32_t depth = sked_i_levels(g, x->level);
    for (int32_t l = 0; l <= depth; l++)
        x->count[l] = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        x->count[x->level[i] + 1]++;
    for (int32_t l = 0; l < depth; l++)
        x->count[l + 1] += x->count[l];
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        x->order[x->count[x->level[i]]++] = i;
    }
}

/* Topological order that follows a value to its consumer before it turns to the next. O(ops + edges). */
static void order_depth_first(const filler *x)
{
    const sked_graph *g = x->p->graph;
    int32_t *const waiting = x->count, *const stack = x->level;
    int32_t top = 0, filled = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        waiting[i] = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        waiting[g->edge_to[e]] += g->edge_distance[e] == 0;
    for (int32_t k = g->n_ops - 1; k >= 0; k--)
        if (waiting[g->topo[k]] == 0)
            stack[top++] = g->topo[k];
    while (top > 0) {
        const int32_t i = stack[--top];
        x->order[filled++] = i;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0 && --waiting[g->edge_to[e]] == 0)
                stack[top++] = g->edge_to[e];
    }
}

/* Each op at the step its share of the work falls on, within its window and after its predecessors. */
static void fill_steps(const filler *x, double steps)
{
    const sked_graph *g = x->p->graph;
    double total = 0, before = 0;
    assert(steps > 0);
    for (int32_t i = 0; i < g->n_ops; i++) {
        total += g->weight[i] * g->duration[i];
        x->start[i] = x->w->early[i];
    }
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = x->order[k];
        double target = total > 0 ? before / total * steps : 0;
        if (x->w->integral)
            target = floor(target);
        target = fmin(target, x->w->late[i]);
        x->start[i] = fmax(x->start[i], target);
        before += g->weight[i] * g->duration[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                x->start[g->edge_to[e]] = fmax(x->start[g->edge_to[e]], x->start[i] + g->edge_lag[e]);
    }
}

/* The next smaller number of steps to try; 0: none. */
static double fewer_steps(const filler *x, double steps)
{
    const bool crowded = x->w->integral ? steps > 12 : steps > 1e-3 * x->w->horizon;
    if (crowded)
        return x->w->integral ? floor(0.8 * steps) : 0.8 * steps;
    return x->w->integral ? steps - 1 : 0;
}

static bool over(const filler *x)
{
    return sked_i_run_incumbent(x->run) != NULL && sked_i_run_over(x->run);
}

static sked_status offer_fills(const filler *x, sked_error *err)
{
    const bool many = x->p->objective == SKED_OBJECTIVE_COST && x->p->alpha > 0;
    sked_status st = SKED_OK;
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0)
            order_by_depth(x);
        else
            order_depth_first(x);
        for (double steps = x->w->horizon; steps > 0 && !over(x); steps = many ? fewer_steps(x, steps) : 0) {
            fill_steps(x, steps);
            SKED_TRY(sked_i_offer_starts(x->run, x->w, x->start, err));
        }
    }
cleanup:
    return st;
}

/* Capacities at `factor` times an even load, at least the largest single demand. */
static void set_capacities(const filler *x, const double *area, const double *largest, double factor,
                           sked_i_pools *loads)
{
    for (int32_t r = 0; r < loads->count; r++) {
        const double even = x->w->horizon > 0 ? area[r] / x->w->horizon : 0;
        loads->capacity[r] = fmax(largest[r], factor * even);
        loads->slack[r] = x->p->graph->integral ? 0 : 1e-12 * loads->capacity[r];
    }
}

static void sum_loads(const sked_graph *g, const sked_i_pools *loads, double *area, double *largest)
{
    for (int32_t i = 0; i < g->n_ops; i++) {
        const int32_t c = sked_i_pools_class(loads, i);
        for (int64_t k = loads->class_ptr[c]; k < loads->class_ptr[c + 1]; k++) {
            area[loads->pool[k]] += loads->amount[k] * g->duration[i];
            largest[loads->pool[k]] = fmax(largest[loads->pool[k]], loads->amount[k]);
        }
    }
}

static bool keeps_windows(const filler *x)
{
    for (int32_t i = 0; i < x->p->graph->n_ops; i++)
        if (x->start[i] > x->w->late[i])
            return false;
    return true;
}

/* Bisects for the smallest capacity at which parallel generation, most urgent first, keeps all windows. */
static sked_status level(const filler *x, const sked_i_dag *v, sked_i_pools *loads, const int32_t *rank,
                         const double *area, const double *largest, sked_error *err)
{
    sked_status st = SKED_OK;
    double low = 1, high = INFINITY;
    const sked_i_list_input plan = {v, loads, rank, 0, x->w->early, NULL, false};
    for (int round = 0; round < levelling_rounds && !over(x); round++) {
        const double factor = round == 0 ? 1 : isinf(high) ? 2 * low : (low + high) / 2;
        set_capacities(x, area, largest, factor, loads);
        SKED_TRY(sked_i_list_parallel(&plan, x->start, NULL, err));
        if (keeps_windows(x)) {
            SKED_TRY(sked_i_offer_starts(x->run, x->w, x->start, err));
            high = factor;
        } else
            low = factor;
        if (high <= low * 1.002)
            break;
    }
cleanup:
    return st;
}

static sked_status offer_levelled(const filler *x, sked_error *err)
{
    const sked_graph *g = x->p->graph;
    sked_status st = SKED_OK;
    sked_i_dag v = {0};
    sked_i_pools loads = {0};
    double *area, *largest;
    int32_t *rank;
    SKED_TRY(sked_i_dag_make(x->p, NULL, false, false, &v, err));
    SKED_TRY(sked_i_pools_of_loads(x->p, &loads, err));
    SKED_OWN0(x->run->own, area, loads.count);
    SKED_OWN0(x->run->own, largest, loads.count);
    SKED_OWN(x->run->own, rank, g->n_ops);
    SKED_TRY(sked_i_rank_by_key(&v, x->w->late, rank, err));
    sum_loads(g, &loads, area, largest);
    SKED_TRY(level(x, &v, &loads, rank, area, largest, err));
cleanup:
    sked_i_dag_free(&v);
    sked_i_pools_free(&loads);
    return st;
}

sked_status sked_i_list_fill(sked_i_run *run, const sked_problem *plan, const sked_i_windows *w,
                             sked_error *err)
{
    filler x = {.run = run, .p = plan, .w = w};
    const int32_t n = x.p->graph->n_ops;
    sked_status st = SKED_OK;
    SKED_OWN(run->own, x.order, n);
    SKED_OWN(run->own, x.level, n);
    SKED_OWN(run->own, x.count, (int64_t)n + 1);
    SKED_OWN(run->own, x.start, n);
    SKED_TRY(sked_i_offer_starts(run, w, w->early, err));
    SKED_TRY(sked_i_offer_starts(run, w, w->late, err));
    SKED_TRY(offer_fills(&x, err));
    SKED_TRY(offer_levelled(&x, err));
cleanup:
    return st;
}
