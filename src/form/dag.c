#include "form/dag.h"

#include <assert.h>
#include <string.h>

void sked_i_dag_free(sked_i_dag *v)
{
    sked_i_arena_free(&v->arena);
    *v = (sked_i_dag){0};
}

/* Number of the edge that stands at position k of the successor or predecessor rows. */
static inline int64_t edge_at(const sked_graph *g, bool successors, int64_t k)
{
    return successors ? k : g->pred_edge[k];
}

/*
 * Lags and transfers; with costs their means, and what the times and transfers of each device follow from.
 */
static bool copy_lags(const sked_problem *p, bool successors, bool mirrored, sked_i_dag *v,
                      sked_i_dag_rows *rows)
{
    const sked_graph *g = p->graph;
    const bool costs = v->costs != NULL, transfers = costs || sked_i_has_transfers(p);
    double *lag = sked_i_arena_alloc(&v->arena, g->n_edges, sizeof *lag);
    double *transfer = sked_i_arena_alloc(&v->arena, transfers ? g->n_edges : 0, sizeof *transfer);
    double *bytes = sked_i_arena_alloc(&v->arena, costs ? g->n_edges : 0, sizeof *bytes);
    uint8_t *given = sked_i_arena_alloc(&v->arena, costs ? g->n_edges : 0, sizeof *given);
    double latency = 0, per_byte = 0;
    int64_t kept = 0;
    if (lag == NULL || transfer == NULL || bytes == NULL || given == NULL)
        return false;
    if (costs)
        sked_i_mean_link(v->costs, &latency, &per_byte);
    for (int64_t k = 0; k < g->n_edges; k++) {
        const int64_t e = edge_at(g, successors, k);
        const double from = v->duration[g->edge_from[e]];
        const double turn = mirrored ? v->duration[g->edge_to[e]] - from : 0;
        if (g->edge_distance[e] > 0)
            continue;
        lag[kept] = (costs && !g->edge_lag_given[e] ? from : g->edge_lag[e]) + turn;
        if (transfers)
            transfer[kept] = costs ? latency + g->edge_bytes[e] * per_byte : sked_i_transfer(p, e);
        if (costs) {
            bytes[kept] = g->edge_bytes[e];
            given[kept] = g->edge_lag_given[e];
        }
        kept++;
    }
    assert(kept == g->n_edges - g->n_carried);
    *rows = (sked_i_dag_rows){
        rows->ptr, rows->op, lag, transfers ? transfer : NULL, costs ? bytes : NULL, costs ? given : NULL};
    return true;
}

static sked_status take_costs(const sked_i_costs *c, sked_i_dag *v, sked_error *err)
{
    double *mean = sked_i_arena_alloc(&v->arena, v->n, sizeof *mean);
    if (mean == NULL)
        return sked_i_no_memory(err);
    for (int32_t i = 0; i < v->n; i++)
        mean[i] = sked_i_mean_time(c, i);
    v->costs = c;
    v->duration = mean;
    return SKED_OK;
}

/* Rows without the loop-carried edges. */
static bool copy_ends(const sked_graph *g, bool successors, sked_i_dag *v, sked_i_dag_rows *rows)
{
    const int64_t *from = successors ? g->succ_ptr : g->pred_ptr;
    int64_t *ptr = sked_i_arena_alloc(&v->arena, (int64_t)g->n_ops + 1, sizeof *ptr);
    int32_t *op = sked_i_arena_alloc(&v->arena, g->n_edges, sizeof *op);
    if (ptr == NULL || op == NULL)
        return false;
    int64_t kept = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        ptr[i] = kept;
        for (int64_t k = from[i]; k < from[i + 1]; k++) {
            const int64_t e = edge_at(g, successors, k);
            if (g->edge_distance[e] == 0)
                op[kept++] = successors ? g->edge_to[e] : g->edge_from[e];
        }
    }
    assert(kept == g->n_edges - g->n_carried);
    ptr[g->n_ops] = kept;
    rows->ptr = ptr;
    rows->op = op;
    return true;
}

/* Numbers of predecessors by view, as a running sum, without the loop-carried edges. */
static bool count_in(sked_i_dag *v)
{
    int64_t *ptr = sked_i_arena_alloc_zero(&v->arena, (int64_t)v->n + 1, sizeof *ptr);
    if (ptr == NULL)
        return false;
    for (int64_t e = 0; e < v->out.ptr[v->n]; e++)
        ptr[v->out.op[e] + 1]++;
    for (int32_t i = 0; i < v->n; i++)
        ptr[i + 1] += ptr[i];
    v->in_ptr = ptr;
    return true;
}

/* Uses the graph's own columns where they already say the same. */
static bool make_rows(const sked_problem *p, bool successors, bool mirrored, sked_i_dag *v,
                      sked_i_dag_rows *rows)
{
    const sked_graph *g = p->graph;
    rows->ptr = successors ? g->succ_ptr : g->pred_ptr;
    rows->op = successors ? g->edge_to : g->pred_op;
    rows->lag = g->edge_lag;
    if (g->n_carried > 0 && !copy_ends(g, successors, v, rows))
        return false;
    const bool as_stored =
        v->costs == NULL && successors && !mirrored && g->n_carried == 0 && !sked_i_has_transfers(p);
    return as_stored || copy_lags(p, successors, mirrored, v, rows);
}

sked_status sked_i_dag_make_costed(const sked_problem *p, const sked_i_costs *c, bool mirrored, bool with_in,
                                   sked_i_dag *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_i_dag v = {.n = g->n_ops, .duration = g->duration, .order = g->topo, .mirrored = mirrored};
    const sked_status st = c != NULL ? take_costs(c, &v, err) : SKED_OK;
    if (st != SKED_OK) {
        sked_i_dag_free(&v);
        return st;
    }
    v.plain = memchr(g->edge_lag_given, 1, (size_t)g->n_edges) == NULL;
    v.in_ptr = mirrored ? g->succ_ptr : g->pred_ptr;
    bool ok = make_rows(p, !mirrored, mirrored, &v, &v.out) && (g->n_carried == 0 || count_in(&v));
    if (ok && (with_in || c != NULL))
        ok = make_rows(p, mirrored, mirrored, &v, &v.in);
    if (ok && mirrored) {
        int32_t *order = sked_i_arena_alloc(&v.arena, g->n_ops, sizeof *order);
        ok = order != NULL;
        for (int32_t k = 0; ok && k < g->n_ops; k++)
            order[k] = g->topo[g->n_ops - 1 - k];
        v.order = order;
    }
    if (!ok) {
        sked_i_dag_free(&v);
        return sked_i_no_memory(err);
    }
    *out = v;
    return SKED_OK;
}

sked_status sked_i_dag_make(const sked_problem *p, const sked_i_costs *c, bool mirrored, bool with_in,
                            sked_i_dag *out, sked_error *err)
{
    return sked_i_dag_make_costed(p, p->machine != NULL ? c : NULL, mirrored, with_in, out, err);
}
