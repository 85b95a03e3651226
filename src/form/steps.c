#include "form/steps.h"

#include <assert.h>
#include <math.h>

enum { max_cells = 1 << 26 };

void sked_i_steps_free(sked_i_steps *x)
{
    sked_i_windows_free(&x->windows);
    sked_i_dag_free(&x->dag);
    sked_i_pools_free(&x->loads);
    sked_i_uses_free(&x->uses);
    sked_i_arena_free(&x->arena);
}

/* Longest step that all times are a multiple of. */
static double find_unit(const sked_problem *p, const sked_i_steps *x)
{
    double unit = 0;
    for (int32_t i = 0; i < x->n && unit != 1; i++) {
        unit = sked_i_gcd(unit, x->graph->duration[i]);
        if (p->fix_start != NULL && !isnan(p->fix_start[i]))
            unit = sked_i_gcd(unit, p->fix_start[i]);
    }
    for (int64_t k = 0; k < x->dag.out.ptr[x->n] && unit != 1; k++)
        unit = sked_i_gcd(unit, fabs(x->dag.out.lag[k]));
    return unit > 0 ? unit : 1;
}

static sked_status count_steps(const sked_problem *p, const char *who, sked_i_steps *x, sked_error *err)
{
    if (!x->windows.integral)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "method '%s' needs whole times: durations, lags and fixed starts", who);
    x->unit = find_unit(p, x);
    const double steps = floor(x->windows.horizon / x->unit), pools = x->memory ? 1 : x->loads.count;
    if (!(steps * fmax(1, pools) < max_cells))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "method '%s' takes at most %d steps times resources; the horizon is %g steps", who,
                           max_cells, steps);
    x->steps = (int32_t)steps;
    return SKED_OK;
}

/* Edge columns in the order of the rows. edge NULL: as the graph has them. */
static void copy_edges(const sked_i_steps *x, const int64_t *edge, int32_t *lag, uint8_t *sent)
{
    const sked_graph *g = x->graph;
    for (int64_t q = 0, k = 0; q < g->n_edges; q++) {
        const int64_t e = edge != NULL ? edge[q] : q;
        if (g->edge_distance[e] > 0)
            continue;
        lag[k] = (int32_t)(g->edge_lag[e] / x->unit);
        sent[k++] = g->edge_bytes[e] > 0;
    }
}

sked_status sked_i_steps_make(const sked_problem *p, const sked_i_costs *c, const char *who, sked_i_steps *x,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    *x = (sked_i_steps){.graph = p->graph};
    x->n = p->graph->n_ops;
    x->memory = p->objective == SKED_OBJECTIVE_MEMORY;
    SKED_TRY(sked_i_windows_make(p, &x->windows, err));
    SKED_TRY(sked_i_dag_make(p, c, false, true, &x->dag, err));
    if (x->memory)
        SKED_TRY(sked_i_uses_make(p->graph, &x->uses, err));
    else
        SKED_TRY(sked_i_pools_of_loads(p, &x->loads, err));
    SKED_TRY(count_steps(p, who, x, err));
    x->alpha = p->objective == SKED_OBJECTIVE_COST ? p->alpha * x->unit : 0;
    const int64_t edges = x->dag.out.ptr[x->n];
    SKED_OWN(&x->arena, x->length, x->n);
    SKED_OWN(&x->arena, x->first, x->n);
    SKED_OWN(&x->arena, x->last, x->n);
    SKED_OWN(&x->arena, x->start, x->n);
    SKED_OWN(&x->arena, x->offer, x->n);
    SKED_OWN(&x->arena, x->out_lag, edges);
    SKED_OWN(&x->arena, x->in_lag, edges);
    SKED_OWN(&x->arena, x->out_sent, edges);
    SKED_OWN(&x->arena, x->in_sent, edges);
    copy_edges(x, NULL, x->out_lag, x->out_sent);
    copy_edges(x, p->graph->pred_edge, x->in_lag, x->in_sent);
    for (int32_t i = 0; i < x->n; i++) {
        x->length[i] = (int32_t)(p->graph->duration[i] / x->unit);
        x->first[i] = (int32_t)(x->windows.early[i] / x->unit);
        x->last[i] = (int32_t)floor(x->windows.late[i] / x->unit);
        assert(x->first[i] <= x->last[i]);
    }
cleanup:
    return st;
}
