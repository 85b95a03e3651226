#include "method/memory_limits.h"

#include "schedule/schedule.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

void sked_i_memory_limits_close(sked_i_memory_limits *x)
{
    sked_i_stores_free(&x->model);
    sked_i_arena_free(&x->arena);
}

static bool is_over(sked_i_client *client)
{
    const sked_i_memory_limits *x =
        (const sked_i_memory_limits *)((const char *)client - offsetof(sked_i_memory_limits, client));
    return sked_i_limit_reached(x->limit);
}

/* A start before a predecessor's is possible with negative lags: such an order is no plan. */
static bool is_topological(const sked_graph *g, const int32_t *order, int32_t *place)
{
    for (int32_t k = 0; k < g->n_ops; k++)
        place[order[k]] = k;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && place[g->edge_from[e]] > place[g->edge_to[e]])
            return false;
    return true;
}

static sked_status refuse(const sked_i_memory_limits *x, sked_error *err)
{
    const sked_i_stores *m = &x->model;
    if (sked_i_limit_reached(x->limit))
        return sked_i_fail(err, SKED_ERR_STOPPED,
                           "stopped before a schedule within the memory limits was found");
    if (m->stores == 1 && m->total == 0 && x->plan.peak < INFINITY)
        return sked_i_fail(
            err, SKED_ERR_INFEASIBLE,
            "no schedule within a memory limit of %.15g was found; %.15g is the smallest limit "
            "known to work (not a proof)",
            m->p->memory_limit, x->plan.peak);
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "no schedule within the memory of the devices was found; the best plan exceeds their "
                       "limits by %.15g in sum (not a proof)",
                       x->plan.excess);
}

sked_status sked_i_memory_limits_open(sked_i_run *run, int64_t effort, sked_i_memory_limits *x,
                                      sked_error *err)
{
    const sked_problem *p = run->problem;
    const sked_schedule *known =
        sked_i_run_incumbent(run) != NULL ? sked_i_run_incumbent(run) : run->options->start;
    sked_status st = SKED_OK;
    int32_t *order, *place;
    *x = (sked_i_memory_limits){.client = {.over = is_over}, .limit = &run->limit};
    sked_i_rng_seed(&x->client.rng, run->options->seed, 0);
    SKED_TRY(sked_i_stores_make(p, run->costs, &x->model, err));
    SKED_TRY(sked_i_memory_plan_make(&x->arena, p->graph->n_ops, &x->plan, err));
    SKED_OWN(run->own, order, p->graph->n_ops);
    SKED_OWN(run->own, place, p->graph->n_ops);
    if (known != NULL)
        SKED_TRY(sked_i_schedule_order(p->graph, known->start, order, err));
    const bool useful = known != NULL && is_topological(p->graph, order, place);
    SKED_TRY(sked_i_memory_plan_find(&x->model, &x->client, effort, useful ? order : NULL,
                                     useful ? known->device : NULL, &x->plan, err));
    sked_i_run_evaluated(run, x->client.evaluations);
    if (x->plan.excess > 0)
        st = refuse(x, err);
cleanup:
    return st;
}

sked_status sked_i_memory_limits_order(sked_i_run *run, int64_t effort, int32_t *order, sked_error *err)
{
    sked_i_memory_limits x = {.client = {.over = is_over}, .limit = &run->limit};
    sked_problem p = *run->problem;
    sked_status st = SKED_OK;
    p.objective = SKED_OBJECTIVE_MAKESPAN;
    p.memory_limit = sked_i_run_bound(run); /* no plan is below it: the one that exceeds it least is best */
    sked_i_rng_seed(&x.client.rng, run->options->seed, 0);
    SKED_TRY(sked_i_stores_make(&p, run->costs, &x.model, err));
    SKED_TRY(sked_i_memory_plan_make(&x.arena, p.graph->n_ops, &x.plan, err));
    SKED_TRY(sked_i_memory_plan_find(&x.model, &x.client, effort, NULL, NULL, &x.plan, err));
    sked_i_run_evaluated(run, x.client.evaluations);
    memcpy(order, x.plan.order, (size_t)p.graph->n_ops * sizeof *order);
cleanup:
    sked_i_memory_limits_close(&x);
    return st;
}

void sked_i_memory_limits_advise(const sked_problem *p, const sked_i_limit *limit, sked_error *err)
{
    enum { effort = 40 };
    sked_i_memory_limits x = {.client = {.over = is_over}, .limit = limit};
    sked_i_lowered low = {0};
    sked_error ignored = {0};
    sked_i_rng_seed(&x.client.rng, 0, 0);
    const bool known =
        sked_i_lower(p, &low, &ignored) == SKED_OK &&
        sked_i_stores_make(&low.problem, &low.costs, &x.model, &ignored) == SKED_OK && x.model.stores == 1 &&
        x.model.total == 0 &&
        sked_i_memory_plan_make(&x.arena, p->graph->n_ops, &x.plan, &ignored) == SKED_OK &&
        sked_i_memory_plan_find(&x.model, &x.client, effort, NULL, NULL, &x.plan, &ignored) == SKED_OK &&
        x.plan.excess < INFINITY;
    const size_t used = strlen(err->message);
    if (known)
        snprintf(err->message + used, sizeof err->message - used,
                 "; %.15g is the smallest limit known to work", x.plan.peak);
    sked_i_memory_limits_close(&x);
    sked_i_lowered_free(&low);
}
