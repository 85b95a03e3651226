/* The method `fds`: problems in steps, options, table entry. */
#include "method/fds/fds.h"

#include <string.h>

enum { max_cells = 1 << 26 };

#define FDS_OPTIONS(X)                                                                                   \
    X(NEIGHBOURHOOD, "neighbourhood", INT, "0", 0, 1e9, NULL,                                            \
      "open ops whose forces are compared for each placement; 0: all, or as many as take a few seconds") \
    X(REFINE, "refine", INT, "1000", 0, 1e9, NULL,                                                       \
      "passes that move placed ops afterwards, each to where the highest steps gain; 0: none")

SKED_I_OPTIONS(FDS_OPTIONS);

static void close_steps(sked_i_fds_steps *x)
{
    sked_i_windows_free(&x->windows);
    sked_i_dag_free(&x->dag);
    sked_i_pools_free(&x->loads);
    sked_i_uses_free(&x->uses);
    void *const owned[] = {x->length,   x->first,   x->last,  x->out_lag, x->in_lag,
                           x->out_sent, x->in_sent, x->start, x->offer};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

static double gcd(double a, double b)
{
    a = fabs(a);
    b = fabs(b);
    while (b > 0) {
        const double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

/* Longest step that all times are a multiple of. */
static double find_unit(const sked_i_fds_steps *x)
{
    const sked_problem *p = x->run->problem;
    double unit = 0;
    for (int32_t i = 0; i < x->n && unit != 1; i++) {
        unit = gcd(unit, x->graph->duration[i]);
        if (p->fix_start != NULL && !isnan(p->fix_start[i]))
            unit = gcd(unit, p->fix_start[i]);
    }
    for (int64_t k = 0; k < x->dag.out.ptr[x->n] && unit != 1; k++)
        unit = gcd(unit, x->dag.out.lag[k]);
    return unit > 0 ? unit : 1;
}

static sked_status count_steps(sked_i_fds_steps *x, sked_error *err)
{
    if (!x->windows.integral)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "method 'fds' needs whole times: durations, lags and fixed starts");
    x->unit = find_unit(x);
    const double steps = floor(x->windows.horizon / x->unit), pools = x->memory ? 1 : x->loads.count;
    if (!(steps * fmax(1, pools) < max_cells))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "method 'fds' takes at most %d steps times resources; the horizon is %g steps",
                           max_cells, steps);
    x->steps = (int32_t)steps;
    return SKED_OK;
}

/* Edge columns in the order of the rows. */
static void copy_edges(const sked_i_fds_steps *x)
{
    const sked_graph *g = x->graph;
    for (int64_t e = 0, k = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0) {
            x->out_lag[k] = (int32_t)(g->edge_lag[e] / x->unit);
            x->out_sent[k++] = g->edge_bytes[e] > 0;
        }
    for (int64_t q = 0, k = 0; q < g->n_edges; q++) {
        const int64_t e = g->pred_edge[q];
        if (g->edge_distance[e] == 0) {
            x->in_lag[k] = (int32_t)(g->edge_lag[e] / x->unit);
            x->in_sent[k++] = g->edge_bytes[e] > 0;
        }
    }
}

static sked_status open_steps(sked_i_fds_steps *x, sked_error *err)
{
    const sked_problem *p = x->run->problem;
    sked_status st = SKED_OK;
    x->graph = p->graph;
    x->n = p->graph->n_ops;
    x->memory = p->objective == SKED_OBJECTIVE_MEMORY;
    SKED_TRY(sked_i_windows_make(p, &x->windows, err));
    SKED_TRY(sked_i_dag_make(p, x->run->costs, false, true, &x->dag, err));
    if (x->memory)
        SKED_TRY(sked_i_uses_make(p->graph, &x->dag, &x->uses, err));
    else
        SKED_TRY(sked_i_pools_of_loads(p, &x->loads, err));
    SKED_TRY(count_steps(x, err));
    x->alpha = p->objective == SKED_OBJECTIVE_COST ? p->alpha * x->unit : 0;
    const int64_t edges = x->dag.out.ptr[x->n];
    SKED_NEW(x->length, x->n);
    SKED_NEW(x->first, x->n);
    SKED_NEW(x->last, x->n);
    SKED_NEW(x->start, x->n);
    SKED_NEW(x->offer, x->n);
    SKED_NEW(x->out_lag, edges);
    SKED_NEW(x->in_lag, edges);
    SKED_NEW(x->out_sent, edges);
    SKED_NEW(x->in_sent, edges);
    copy_edges(x);
    for (int32_t i = 0; i < x->n; i++) {
        x->length[i] = (int32_t)(p->graph->duration[i] / x->unit);
        x->first[i] = (int32_t)(x->windows.early[i] / x->unit);
        x->last[i] = (int32_t)floor(x->windows.late[i] / x->unit);
    }
cleanup:
    return st;
}

sked_status sked_i_fds_offer(sked_i_fds_steps *x, sked_error *err)
{
    for (int32_t i = 0; i < x->n; i++)
        x->offer[i] = x->start[i] * x->unit;
    const sked_status st = sked_i_offer_starts(x->run, &x->windows, x->offer, err);
    sked_i_run_progress(x->run, "fds");
    return st;
}

static void destroy_steps(void *state)
{
    close_steps(state);
    free(state);
}

/* The problem in steps; from an earlier turn where there was one. */
static sked_status steps_of(sked_i_run *run, sked_i_fds_steps **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_fds_steps *x = sked_i_run_state(run);
    if (x == NULL) {
        SKED_NEW0(x, 1);
        x->run = run;
        SKED_TRY(open_steps(x, err));
        SKED_TRY(sked_i_run_keep(run, x, destroy_steps, err));
    }
    x->run = run;
    *out = x;
    return SKED_OK;
cleanup:
    if (x != NULL)
        destroy_steps(x);
    return st;
}

static sked_status fds_run(sked_i_run *run, sked_error *err)
{
    sked_i_fds_steps *x = NULL;
    const int64_t passes = (int64_t)run->setting[OPTION_REFINE], limit = run->options->iterations;
    sked_status st = steps_of(run, &x, err);
    if (st != SKED_OK)
        return st;
    SKED_TRY(sked_i_fds_place(x, (int32_t)run->setting[OPTION_NEIGHBOURHOOD], err));
    SKED_TRY(sked_i_fds_offer(x, err));
    SKED_TRY(sked_i_fds_refine(x, limit > 0 && limit < passes ? limit : passes, err));
    if (sked_i_run_incumbent(run) == NULL) /* the machine's limits pushed ops past the horizon */
        SKED_TRY(sked_i_run_member(run, &(sked_i_member){.method = "list", .seconds = INFINITY}, err));
cleanup:
    x->run = NULL; /* it outlives this turn's run */
    return st;
}

const sked_i_method sked_i_method_fds = {
    .info = {.name = "fds",
             .summary = "force-directed scheduling: even loads or little memory within a horizon",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_FIX | SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST,
             .options = options,
             .n_options = n_options},
    .run = fds_run,
};
