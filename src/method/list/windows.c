/* Start windows under a horizon, and the way from wished starts to an offer. */
#include "method/list/list.h"

#include <string.h>

void sked_i_windows_free(sked_i_windows *w)
{
    free(w->early);
    free(w->late);
    *w = (sked_i_windows){0};
}

static void earliest_starts(const sked_problem *p, double *early)
{
    const sked_graph *g = p->graph;
    for (int32_t i = 0; i < g->n_ops; i++)
        early[i] = p->fix_start && p->fix_start[i] > 0 ? p->fix_start[i] : 0;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                early[g->edge_to[e]] = fmax(early[g->edge_to[e]], early[i] + g->edge_lag[e]);
    }
}

sked_status sked_i_windows_make(const sked_problem *p, sked_i_windows *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    sked_i_windows w = {.integral = sked_i_problem_integral(p), .limited = p->devices > 0};
    for (int32_t r = 0; r < g->n_resources; r++)
        w.limited = w.limited || sked_i_capacity(p, r) < INFINITY;
    SKED_NEW(w.early, g->n_ops);
    SKED_NEW(w.late, g->n_ops);
    earliest_starts(p, w.early);
    const double path = sked_i_critical_path(g, w.early);
    w.horizon = p->horizon < INFINITY ? p->horizon : path;
    if (w.integral)
        w.horizon = floor(w.horizon);
    sked_i_latest_starts(p, w.horizon, w.late);
    for (int32_t i = 0; i < g->n_ops; i++)
        w.late[i] = fmax(w.late[i], w.early[i]); /* rounding of real times may have crossed them */
    *out = w;
    return SKED_OK;
cleanup:
    sked_i_windows_free(&w);
    return st;
}

/* Serial generation that starts nothing before its target, in the order of the targets. */
static sked_status place_from(const sked_problem *p, const double *target, sked_schedule *s, bool *fits,
                              sked_error *err)
{
    const bool lines = p->devices > 0 && (sked_i_has_transfers(p) || p->fix_device != NULL);
    sked_status st = SKED_OK;
    sked_i_dag v = {0};
    sked_i_pools pools = {0};
    int32_t *rank = NULL;
    SKED_NEW(rank, p->graph->n_ops);
    SKED_TRY(sked_i_dag_make(p, false, sked_i_has_transfers(p), &v, err));
    SKED_TRY(sked_i_pools_make(p, !lines, &pools, err));
    SKED_TRY(sked_i_rank_by_key(&v, target, rank, err));
    const sked_i_plan plan = {&v, &pools, rank, p->devices, target};
    const sked_i_place how = {
        .fix_device = p->fix_device, .fix_start = p->fix_start, .by_device = lines, .insertion = true};
    SKED_TRY(sked_i_list_place(&plan, &how, s->start, s->device, fits, err));
cleanup:
    free(rank);
    sked_i_dag_free(&v);
    sked_i_pools_free(&pools);
    return st;
}

sked_status sked_i_offer_starts(sked_i_run *run, const sked_i_windows *w, const double *start,
                                sked_error *err)
{
    const sked_problem *p = run->problem;
    sked_status st = SKED_OK;
    sked_schedule *s = NULL;
    bool fits = true;
    run->evaluations++;
    SKED_TRY(sked_schedule_create(p->graph->n_ops, p->devices, &s, err));
    if (w->limited)
        SKED_TRY(place_from(p, start, s, &fits, err));
    else
        memcpy(s->start, start, (size_t)s->ops * sizeof *s->start);
    if (fits && sked_i_within_horizon(p, s->start))
        SKED_TRY(sked_i_run_offer(run, s, err));
cleanup:
    sked_schedule_destroy(s);
    return st;
}
