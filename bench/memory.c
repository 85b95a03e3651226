/*
 * sked-bench memory: real networks at 60 % of the peak of their unlimited schedule. Values are held until
 * their readers end, copies on other devices counted; the limit is of all devices together.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double share = 0.6;

/* Sums of a set. */
typedef struct totals {
    int networks, found, refuted;
    double log_ratio, seconds;
} totals;

static sked_status schedule_free(const sked_problem *p, const sked_run_options *opt, double *peak,
                                 double *makespan, sked_error *err)
{
    sked_result r = {.size = sizeof r};
    sked_metrics m = {.size = sizeof m};
    sked_status st = sked_method_run("auto", p, opt, &r, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(p, r.schedule[0], &m, err);
    *peak = m.peak_memory;
    *makespan = m.makespan;
    sked_result_clear(&r);
    return st;
}

/* One network: what it takes freely, and what comes of the limit. */
static sked_status run_network(const char *name, sked_problem *p, const sked_run_options *opt, void *set,
                               sked_error *err)
{
    totals *sum = set;
    sked_result r = {.size = sizeof r};
    sked_error why = {0};
    double peak, makespan;
    const sked_status free_status = schedule_free(p, opt, &peak, &makespan, err);
    if (free_status != SKED_OK)
        return free_status;
    p->memory_limit = floor(share * peak);
    const double begin = sked_clock();
    const sked_status st = sked_method_run("auto", p, opt, &r, &why);
    const double seconds = sked_clock() - begin;
    const bool refuted = st == SKED_ERR_INFEASIBLE && strstr(why.message, "not a proof") == NULL;
    if (st != SKED_OK && st != SKED_ERR_INFEASIBLE && st != SKED_ERR_STOPPED)
        return fail(err, st, "%s: %s", name, why.message);
    sum->networks++;
    sum->found += st == SKED_OK;
    sum->refuted += refuted;
    if (st == SKED_OK) {
        sum->log_ratio += log(r.value / makespan);
        sum->seconds += seconds;
    }
    if (st == SKED_OK)
        printf("%-26s %6d %14.0f %14.0f %10s %10.4f %8.2f\n", name, (int)sked_graph_op_count(p->graph), peak,
               p->memory_limit, "found", r.value / makespan, seconds);
    else
        printf("%-26s %6d %14.0f %14.0f %10s %10s %8.2f\n", name, (int)sked_graph_op_count(p->graph), peak,
               p->memory_limit, refuted ? "proved" : "none", "-", seconds);
    fflush(stdout);
    sked_result_clear(&r);
    return SKED_OK;
}

static sked_status run_set(const arguments *a, const csv *networks, int devices, sked_error *err)
{
    totals sum = {0};
    sked_status st;
    printf("\n%d device%s, limit %.0f %% of the peak of the unlimited schedule\n", devices,
           devices == 1 ? "" : "s", 100 * share);
    printf("%-26s %6s %14s %14s %10s %10s %8s\n", "network", "ops", "peak", "limit", "schedule", "makespan",
           "s");
    st = each_network(a, networks, devices, run_network, &sum, err);
    const int open = sum.networks - sum.refuted;
    if (st == SKED_OK)
        printf(
            "found %d, proved impossible %d of %d: %.0f %% of the others; makespan %.4f of the unlimited one "
            "(geometric mean)\n",
            sum.found, sum.refuted, sum.networks, open > 0 ? 100.0 * sum.found / open : 100,
            sum.found > 0 ? exp(sum.log_ratio / sum.found) : NAN);
    return st;
}

sked_status bench_memory(arguments *a, sked_error *err)
{
    return network_sets(a, run_set, err);
}
