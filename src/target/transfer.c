/*
 * Linear transfer models between devices: f(bytes) = a * bytes + b. The scale is relative to the graph, so
 * that one default fits all: a transfer of mean size takes `bandwidth-cost`, its start `latency-cost`, times
 * the mean duration. Graphs without bytes count every edge as one byte.
 */
#include "target/target.h"

enum { SHARE_A, SHARE_B };

static sked_status unit_bytes(sked_target_run *t, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_graph *copy = NULL;
    SKED_TRY(sked_i_graph_with_durations(t->asked->graph, t->asked->graph->duration, &copy, err));
    for (int64_t e = 0; e < copy->n_edges; e++)
        copy->edge_bytes[e] = 1;
    t->graph = copy;
    t->problem.graph = copy;
cleanup:
    return st;
}

static sked_status open_linear(sked_target_run *t, double per_byte, double per_transfer, sked_error *err)
{
    const sked_graph *g = t->asked->graph;
    double bytes = 0, work = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        bytes += g->edge_bytes[e];
    for (int32_t i = 0; i < g->n_ops; i++)
        work += g->duration[i];
    if (!(bytes > 0)) {
        const sked_status st = unit_bytes(t, err);
        if (st != SKED_OK)
            return st;
        bytes = (double)g->n_edges;
    }
    const double mean_duration = g->n_ops > 0 ? work / g->n_ops : 0;
    const double mean_bytes = g->n_edges > 0 ? bytes / (double)g->n_edges : 1;
    const double a = per_byte * mean_duration / mean_bytes;
    t->problem.latency = t->asked->latency + per_transfer * mean_duration;
    t->problem.bandwidth = 1 / (a + 1 / t->asked->bandwidth); /* 1/0: free */
    return SKED_OK;
}

static sked_status open_bandwidth(sked_target_run *t, uint64_t seed, sked_error *err)
{
    (void)seed;
    return open_linear(t, t->setting[0], 0.05 * t->setting[0], err);
}

static sked_status open_latency(sked_target_run *t, uint64_t seed, sked_error *err)
{
    (void)seed;
    return open_linear(t, 0.05 * t->setting[0], t->setting[0], err);
}

static sked_status open_both(sked_target_run *t, uint64_t seed, sked_error *err)
{
    (void)seed;
    return open_linear(t, t->setting[SHARE_A], t->setting[SHARE_B], err);
}

static const sked_option one_cost[] = {
    {"cost", SKED_OPTION_REAL, "1", 0, 1000, NULL, "time of a transfer of mean size, in mean durations"},
};
static const sked_option both_costs[] = {
    {"bandwidth-cost", SKED_OPTION_REAL, "0.5", 0, 1000, NULL,
     "time of the bytes of a mean transfer, in mean durations"},
    {"latency-cost", SKED_OPTION_REAL, "0.5", 0, 1000, NULL, "time before the first byte, in mean durations"},
};

const sked_i_target sked_i_target_bandwidth = {
    .info = {"bandwidth", "transfers between devices limited by bandwidth (latency a twentieth)", one_cost,
             1},
    .open = open_bandwidth};
const sked_i_target sked_i_target_latency = {
    .info = {"latency", "transfers between devices limited by latency (bandwidth a twentieth)", one_cost, 1},
    .open = open_latency};
const sked_i_target sked_i_target_linear = {
    .info = {"linear", "transfers between devices with bandwidth and latency", both_costs, 2},
    .open = open_both};
