/* Slack of every op in this schedule, and the chain of ops that explains its makespan. */
#include "report/view.h"

#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>

/* Start-to-start distance an edge asks for on this machine with these devices. */
static double edge_lag(const sked_i_view *v, int64_t edge)
{
    const sked_graph *g = v->graph;
    const int32_t *device = v->schedule->device;
    const bool apart = device != NULL && device[g->edge_from[edge]] != device[g->edge_to[edge]];
    return g->edge_lag[edge] + (apart ? sked_problem_transfer(v->problem, edge, device[g->edge_from[edge]],
                                                              device[g->edge_to[edge]])
                                      : 0);
}

/* ------------------------------------------------------------------ slack */

/* A pair of neighbours in a row: `to` runs after `from`. Kept per `to`, as a linked list of arrays. */
typedef struct row_order {
    sked_i_arena arena;
    int32_t *from;    /* [n] */
    int64_t *next;    /* [n] next pair of the same `to` */
    int64_t *head;    /* [n_ops] first pair of an op, -1: none */
    int32_t *waiting; /* [n_ops] successors by edge or row whose slack is not known yet */
    int32_t *queue;   /* [n_ops] */
    int64_t n;
} row_order;

static void collect_pairs(const sked_i_view *v, row_order *o)
{
    for (int32_t k = 0; k < v->n_groups; k++) {
        const sked_i_view_group *group = &v->group[k];
        if (!sked_i_view_limited(v, group))
            continue;
        const int64_t end = v->row_ptr[group->first_row + group->n_rows];
        for (int64_t b = v->row_ptr[group->first_row]; b + 1 < end; b++) {
            const sked_i_bar *x = &v->bar[b], *y = &v->bar[b + 1];
            if (x->row != y->row || x->op == y->op || y->start < x->finish - v->tolerance)
                continue;
            o->from[o->n] = x->op;
            o->next[o->n] = o->head[y->op];
            o->head[y->op] = o->n++;
            o->waiting[x->op]++;
        }
    }
}

static void settle(const sked_i_view *v, row_order *o, int32_t op, double latest, int32_t *queued)
{
    assert(o->waiting[op] > 0);
    if (latest < v->schedule->start[op] + v->slack[op])
        v->slack[op] = latest - v->schedule->start[op];
    if (--o->waiting[op] == 0)
        o->queue[(*queued)++] = op;
}

/* Backwards from the ops nothing waits for. Ops on a cycle (edges of negative lag) keep slack 0. */
static void spread_slack(const sked_i_view *v, row_order *o)
{
    const sked_graph *g = v->graph;
    int32_t queued = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        v->slack[i] = v->makespan - sked_i_view_finish(v, i);
        if (o->waiting[i] == 0)
            o->queue[queued++] = i;
    }
    for (int32_t k = 0; k < queued; k++) {
        const int32_t i = o->queue[k];
        if (v->slack[i] <= v->tolerance)
            v->slack[i] = 0;
        const double late = v->schedule->start[i] + v->slack[i];
        for (int64_t p = g->pred_ptr[i]; p < g->pred_ptr[i + 1]; p++) {
            const int64_t e = g->pred_edge[p];
            if (g->edge_distance[e] == 0)
                settle(v, o, g->pred_op[p], late - edge_lag(v, e), &queued);
        }
        for (int64_t p = o->head[i]; p >= 0; p = o->next[p])
            settle(v, o, o->from[p], late - g->duration[o->from[p]], &queued);
    }
    for (int32_t i = 0; i < g->n_ops; i++)
        if (o->waiting[i] > 0)
            v->slack[i] = 0;
}

sked_status sked_i_view_slack(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = v->graph;
    row_order o = {0};
    SKED_OWN(&v->arena, v->slack, g->n_ops);
    SKED_OWN(&o.arena, o.from, v->n_bars);
    SKED_OWN(&o.arena, o.next, v->n_bars);
    SKED_OWN(&o.arena, o.head, g->n_ops);
    SKED_OWN0(&o.arena, o.waiting, g->n_ops);
    SKED_OWN(&o.arena, o.queue, g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++)
        o.head[i] = -1;
    for (int64_t e = 0; e < g->n_edges; e++)
        o.waiting[g->edge_from[e]] += g->edge_distance[e] == 0;
    collect_pairs(v, &o);
    spread_slack(v, &o);
cleanup:
    sked_i_arena_free(&o.arena);
    return st;
}

/* ------------------------------------------------------------------ the critical chain */

/* Load of one group over time, by two sorted columns with running sums of demand. */
typedef struct sweep_item {
    double time, demand, sum; /* sum: of all items before this one */
    int32_t group, op;
} sweep_item;

typedef struct sweep {
    sked_i_arena arena;
    sweep_item *start, *finish; /* [n_bars] by group, time, op */
    int64_t *first;             /* [n_groups + 1] */
} sweep;

static int by_time(const void *x, const void *y)
{
    const sweep_item *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static void sort_column(sweep_item *item, int64_t n)
{
    qsort(item, (size_t)n, sizeof *item, by_time);
    for (int64_t i = 1; i < n; i++)
        item[i].sum = item[i].group == item[i - 1].group ? item[i - 1].sum + item[i - 1].demand : 0;
}

static void fill_sweep(const sked_i_view *v, sweep *w)
{
    for (int32_t k = 0; k < v->n_groups; k++) {
        const sked_i_view_group *group = &v->group[k];
        w->first[k] = v->row_ptr[group->first_row];
        w->first[k + 1] = v->row_ptr[group->first_row + group->n_rows];
        for (int64_t b = w->first[k]; b < w->first[k + 1]; b++) {
            const sked_i_bar *bar = &v->bar[b];
            w->start[b] = (sweep_item){bar->start, bar->demand, 0, k, bar->op};
            w->finish[b] = (sweep_item){bar->finish, bar->demand, 0, k, bar->op};
        }
    }
    sort_column(w->start, v->n_bars);
    sort_column(w->finish, v->n_bars);
}

/* First item of a group's column at or after t. */
static int64_t lower_bound(const sweep_item *item, int64_t lo, int64_t hi, double t)
{
    assert(lo <= hi);
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (item[mid].time < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static double sum_before(const sweep_item *item, int64_t lo, int64_t hi, int64_t at)
{
    if (at == lo)
        return 0;
    return at < hi ? item[at].sum : item[hi - 1].sum + item[hi - 1].demand;
}

/* The op whose end let `op` into a pool that was too full for it just before, or -1. */
static int32_t freed_by(const sked_i_view *v, const sweep *w, int32_t group, int32_t op, double demand)
{
    const double t = v->schedule->start[op] - v->tolerance;
    const int64_t lo = w->first[group], hi = w->first[group + 1];
    const int64_t started = lower_bound(w->start, lo, hi, t), finished = lower_bound(w->finish, lo, hi, t);
    const double load = sum_before(w->start, lo, hi, started) - sum_before(w->finish, lo, hi, finished);
    const double capacity = sked_i_capacity(v->problem, v->group[group].resource);
    if (load + demand <= capacity * (1 + 1e-9))
        return -1;
    for (int64_t i = finished; i < hi && w->finish[i].time <= v->schedule->start[op] + v->tolerance; i++)
        if (!v->critical[w->finish[i].op] && w->finish[i].op != op)
            return w->finish[i].op;
    return -1;
}

/* The group of a resource that is in use: groups stand in the order of resources. */
static int32_t group_of(const sked_i_view *v, int32_t resource)
{
    int32_t lo = 0, hi = v->n_groups - 1;
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo) / 2, at = v->group[mid].resource;
        if (at >= 0 && at < resource)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool ends_at(const sked_i_view *v, double time, int32_t op)
{
    return fabs(time - v->schedule->start[op]) <= v->tolerance;
}

/* The edge of this iteration that lets op start last. Pipelined schedules may start it later still. */
static bool latest_edge(const sked_i_view *v, int32_t op, sked_i_chain_op *cause)
{
    const sked_graph *g = v->graph;
    double latest = -INFINITY;
    for (int64_t p = g->pred_ptr[op]; p < g->pred_ptr[op + 1]; p++) {
        const int64_t e = g->pred_edge[p];
        const int32_t from = g->pred_op[p];
        const double arrival = v->schedule->start[from] + edge_lag(v, e);
        if (g->edge_distance[e] == 0 && !v->critical[from] && arrival > latest) {
            latest = arrival;
            *cause = (sked_i_chain_op){from, SKED_I_LINK_EDGE, e};
        }
    }
    return latest > -INFINITY && (v->schedule->ii > 0 || ends_at(v, latest, op));
}

/* What `op` waited for: an edge first, then its device, then a resource. */
static bool find_cause(const sked_i_view *v, const sweep *w, int32_t op, sked_i_chain_op *cause)
{
    const sked_graph *g = v->graph;
    if (latest_edge(v, op, cause))
        return true;
    *cause = (sked_i_chain_op){-1, SKED_I_LINK_NONE, -1};
    const int64_t b = v->op_bar[op];
    if (v->schedule->devices > 0) {
        if (b == v->row_ptr[v->bar[b].row] || !ends_at(v, v->bar[b - 1].finish, op) ||
            v->critical[v->bar[b - 1].op])
            return false;
        return *cause = (sked_i_chain_op){v->bar[b - 1].op, SKED_I_LINK_DEVICE, -1}, true;
    }
    for (int64_t d = g->demand_ptr[op]; d < g->demand_ptr[op + 1]; d++) {
        const int32_t k = group_of(v, g->demand_resource[d]);
        const int32_t from =
            sked_i_view_limited(v, &v->group[k]) ? freed_by(v, w, k, op, g->demand_amount[d]) : -1;
        if (from >= 0)
            return *cause = (sked_i_chain_op){from, SKED_I_LINK_RESOURCE, -1}, true;
    }
    return false;
}

static int32_t last_op(const sked_i_view *v)
{
    int32_t last = -1;
    for (int32_t i = 0; i < v->graph->n_ops; i++)
        if (last < 0 || sked_i_view_finish(v, i) > sked_i_view_finish(v, last))
            last = i;
    return last;
}

static void reverse_chain(sked_i_view *v)
{
    for (int32_t i = 0, j = v->n_chain - 1; i < j; i++, j--) {
        const sked_i_chain_op swap = v->chain[i];
        v->chain[i] = v->chain[j];
        v->chain[j] = swap;
    }
}

/* Walks back and stores each op with the link to what it waited for. */
static void trace_chain(sked_i_view *v, const sweep *w)
{
    int32_t op = last_op(v);
    while (op >= 0) {
        sked_i_chain_op cause = {-1, SKED_I_LINK_NONE, -1};
        assert(!v->critical[op] && v->n_chain < v->graph->n_ops); /* no op comes twice */
        v->critical[op] = 1;
        const bool found = find_cause(v, w, op, &cause);
        v->chain[v->n_chain++] = (sked_i_chain_op){op, cause.link, cause.edge};
        op = found ? cause.op : -1;
    }
    reverse_chain(v);
}

sked_status sked_i_view_chain(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    sweep w = {0};
    SKED_OWN(&v->arena, v->chain, v->graph->n_ops);
    SKED_OWN0(&v->arena, v->critical, v->graph->n_ops);
    if (v->schedule->devices == 0) {
        SKED_OWN(&w.arena, w.start, v->n_bars);
        SKED_OWN(&w.arena, w.finish, v->n_bars);
        SKED_OWN0(&w.arena, w.first, (int64_t)v->n_groups + 1);
        fill_sweep(v, &w);
    }
    trace_chain(v, &w);
cleanup:
    sked_i_arena_free(&w.arena);
    return st;
}
