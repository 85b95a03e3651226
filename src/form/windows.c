#include "form/windows.h"

#include "base/memory.h"

#include <math.h>

void sked_i_windows_free(sked_i_windows *w)
{
    free(w->early);
    free(w->late);
    *w = (sked_i_windows){0};
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
    sked_i_earliest_starts(p, w.early);
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

bool sked_i_keeps_horizon(const sked_problem *p, double finish)
{
    const double late = finish - p->horizon;
    return late <= 0 || (late < 0.5 && late <= 0.5e-9 * fmax(1, p->horizon));
}

bool sked_i_within_horizon(const sked_problem *p, const double *start)
{
    return sked_i_keeps_horizon(p, sked_i_critical_path(p->graph, start));
}
