/*
 * Objective memory: least memory first (engine/list/memory_sweep.h), forward and backward in time, with
 * budgets found by bisection; on one device first the orders that memory limits are planned with. The plain
 * earliest and latest schedules are offered too, so the result is never worse than those.
 */
#include "engine/list/memory_sweep.h"
#include "method/list/list_method.h"
#include "method/memory_limits.h"

enum { budgets = 10 };

/* There is a schedule, and no time for another one. */
static bool is_over(const sked_i_run *run)
{
    return sked_i_run_incumbent(run) != NULL && sked_i_run_over(run);
}

/* Lazily first, then budgets between the bound and the best peak so far. */
static sked_status offer_budgets(sked_i_run *run, const sked_i_windows *w, sked_i_memory_sweep *x,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    double low = sked_i_run_bound(run), best = INFINITY, budget = -INFINITY;
    for (int k = 0; k < budgets && !is_over(run); k++) {
        const sked_i_limit *limit = sked_i_run_incumbent(run) != NULL ? &run->limit : NULL;
        const double peak = sked_i_memory_sweep_run(x, budget, limit);
        if (peak == INFINITY)
            break;
        if (peak < best || sked_i_run_wanted(run) > 1)
            SKED_TRY(sked_i_offer_starts(run, w, x->start, err));
        if (peak < best)
            best = peak;
        else
            low = budget;
        if (!w->limited) /* what was offered says more than the sweep itself */
            best = fmin(best, sked_i_run_best(run));
        budget = low + 0.5 * (best - low);
        if (!(budget < best))
            break;
    }
cleanup:
    return st;
}

/* urgent: ops by key, predecessors in the direction of time first among equals. */
static sked_status sort_urgent(const sked_i_dag *v, const double *key, int32_t *urgency, int32_t *urgent,
                               sked_error *err)
{
    const sked_status st = sked_i_rank_by_key(v, key, urgency, err);
    for (int32_t i = 0; st == SKED_OK && i < v->n; i++)
        urgent[urgency[i]] = i;
    return st;
}

static sked_status sweep_both_ways(sked_i_run *run, const sked_i_windows *w, sked_i_dag *v, sked_error *err)
{
    const int32_t n = v->n;
    sked_status st = SKED_OK;
    sked_i_uses u = {0};
    sked_i_memory_sweep x = {0};
    int32_t *urgent, *urgency, *reversed;
    double *down;
    SKED_TRY(sked_i_uses_make(run->problem->graph, &u, err));
    SKED_TRY(sked_i_memory_sweep_make(run->own, v, &u, &x, err));
    SKED_OWN(run->own, urgent, n);
    SKED_OWN(run->own, urgency, n);
    SKED_OWN(run->own, reversed, n);
    SKED_OWN(run->own, down, 2 * (int64_t)n);
    SKED_TRY(sort_urgent(v, w->late, urgency, urgent, err));
    x.urgent = urgent;
    x.urgency = urgency;
    x.early = w->early;
    x.late = w->late;
    x.next = v->out;
    SKED_TRY(offer_budgets(run, w, &x, err));
    for (int32_t i = 0; i < n; i++) {
        down[i] = -w->late[i];
        down[n + i] = -w->early[i];
        reversed[i] = v->order[n - 1 - i];
    }
    sked_i_dag turned = *v;
    turned.order = reversed;
    SKED_TRY(sort_urgent(&turned, down + n, urgency, urgent, err));
    x.backward = true;
    x.early = down;
    x.late = down + n;
    x.next = v->in;
    SKED_TRY(offer_budgets(run, w, &x, err));
cleanup:
    sked_i_uses_free(&u);
    return st;
}

/* One device, once: the peak is that of an order. */
static sked_status offer_order(sked_i_run *run, const sked_i_windows *w, sked_error *err)
{
    const sked_problem *p = run->problem;
    const double work = 2e7, size = (double)p->graph->n_ops + (double)p->graph->n_edges + 1;
    sked_status st = SKED_OK;
    int32_t *order;
    double *start, now = 0;
    SKED_OWN(run->own, order, p->graph->n_ops);
    SKED_OWN(run->own, start, p->graph->n_ops);
    SKED_TRY(sked_i_memory_limits_order(run, (int64_t)fmin(4000, fmax(20, work / size)), order, err));
    for (int32_t k = 0; k < p->graph->n_ops; k++) {
        start[order[k]] = now;
        now += sked_i_time(run->costs, order[k], 0);
    }
    st = sked_i_offer_starts(run, w, start, err);
cleanup:
    return st;
}

sked_status sked_i_list_memory(sked_i_run *run, const sked_problem *plan, const sked_i_windows *w,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_dag v = {0};
    bool ordered = true; /* no op may start before its predecessor */
    SKED_TRY(sked_i_offer_starts(run, w, w->early, err));
    SKED_TRY(sked_i_offer_starts(run, w, w->late, err));
    if (run->problem->devices == 1 && run->problem->ii == 0)
        SKED_TRY(offer_order(run, w, err));
    SKED_TRY(sked_i_dag_make(plan, NULL, false, true, &v, err));
    for (int64_t e = 0; e < v.out.ptr[v.n]; e++)
        ordered = ordered && v.out.lag[e] >= 0;
    if (ordered)
        SKED_TRY(sweep_both_ways(run, w, &v, err));
cleanup:
    sked_i_dag_free(&v);
    return st;
}
