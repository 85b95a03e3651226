/*
 * sked-bench arena: real networks at the least peak memory that is found, and the addresses that their values
 * then have. Values are held until their readers end; each device has an arena of its own.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of a set. */
typedef struct totals {
    int networks, equal;
    double worst, log_ratio, memory_seconds, arena_seconds;
} totals;

/* One run; peaks: the sum over devices of the peak memory of each. */
static sked_status run_objective(sked_problem *p, sked_objective objective, const sked_run_options *opt,
                                 sked_metrics *m, double *peaks, double *seconds, sked_error *err)
{
    sked_result r = {.size = sizeof r};
    double *peak = calloc((size_t)p->devices, sizeof *peak);
    const double begin = sked_clock();
    p->objective = objective;
    sked_status st =
        peak != NULL ? sked_method_run("auto", p, opt, &r, err) : fail(err, SKED_ERR_MEMORY, "out of memory");
    *seconds = sked_clock() - begin;
    *peaks = 0;
    if (st == SKED_OK)
        st = sked_schedule_measure(p, r.schedule[0], m, err);
    if (st == SKED_OK)
        st = sked_schedule_device_memory(p, r.schedule[0], peak, err);
    for (int32_t d = 0; st == SKED_OK && d < p->devices; d++)
        *peaks += peak[d];
    sked_result_clear(&r);
    free(peak);
    return st;
}

static sked_status run_network(const char *name, sked_problem *p, const sked_run_options *opt, void *set,
                               sked_error *err)
{
    totals *sum = set;
    sked_metrics least = {.size = sizeof least}, m = {.size = sizeof m};
    double least_peaks, peaks, memory_seconds, arena_seconds;
    sked_status st = run_objective(p, SKED_OBJECTIVE_MEMORY, opt, &least, &least_peaks, &memory_seconds, err);
    if (st == SKED_OK)
        st = run_objective(p, SKED_OBJECTIVE_ARENA, opt, &m, &peaks, &arena_seconds, err);
    if (st != SKED_OK)
        return st;
    const double ratio = m.arena / least_peaks;
    printf("%-26s %6d %14.0f %14.0f %14.0f %8.4f %8.2f %8.2f\n", name, (int)sked_graph_op_count(p->graph),
           least.peak_memory, least_peaks, m.arena, ratio, memory_seconds, arena_seconds);
    fflush(stdout);
    sum->networks++;
    sum->equal += m.arena <= ceil(least_peaks);
    sum->worst = fmax(sum->worst, ratio);
    sum->log_ratio += log(ratio);
    sum->memory_seconds += memory_seconds;
    sum->arena_seconds += arena_seconds;
    return SKED_OK;
}

static sked_status run_set(const arguments *a, const csv *networks, int devices, sked_error *err)
{
    totals sum = {0};
    printf("\n%d device%s: the least peak memory found, the sum of the devices' own peaks, of their arenas\n",
           devices, devices == 1 ? "" : "s");
    printf("%-26s %6s %14s %14s %14s %8s %8s %8s\n", "network", "ops", "peak", "device peaks", "arenas",
           "ratio", "peak s", "arena s");
    const sked_status st = each_network(a, networks, devices, run_network, &sum, err);
    if (st == SKED_OK && sum.networks > 0)
        printf(
            "arenas no larger than the peaks on %d of %d, %.4f of them at worst, %.4f in the geometric mean; "
            "%.2f s, objective memory %.2f s\n",
            sum.equal, sum.networks, sum.worst, exp(sum.log_ratio / sum.networks), sum.arena_seconds,
            sum.memory_seconds);
    return st;
}

sked_status bench_arena(arguments *a, sked_error *err)
{
    return network_sets(a, run_set, err);
}
