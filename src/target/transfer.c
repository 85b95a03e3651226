/*
 * Linear transfer models between devices: f(bytes) = a * bytes + b. The scale is relative to the graph, so
 * that one default fits all: the bytes of a mean transfer take `bandwidth-cost`, its start `latency-cost`,
 * times the mean duration (docs/targets.md).
 */
#include "target/target.h"

#include "problem/costs.h"

enum { SHARE_A, SHARE_B };

/*
 * A copy of the graph whose edges carry bytes although the user's do not: what their producer's result
 * takes where the graph says so, else a size drawn for each producer.
 */
static sked_status invent_bytes(sked_target *t, uint64_t seed, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = t->asked.graph;
    sked_graph *copy = NULL;
    double *size = NULL, stored = 0;
    sked_i_rng r;
    sked_i_rng_seed(&r, seed, 0x6279);
    SKED_NEW(size, g->n_ops);
    for (int64_t e = 0; e < g->n_edges; e++)
        stored += g->memory[g->edge_from[e]];
    for (int32_t i = 0; i < g->n_ops; i++)
        size[i] = stored > 0 ? g->memory[i] : sked_i_rng_exponential(&r);
    SKED_TRY(sked_i_graph_with_durations(g, g->duration, &copy, err));
    for (int64_t e = 0; e < copy->n_edges; e++)
        copy->edge_bytes[e] = size[copy->edge_from[e]];
    copy->integral = false;
    t->graph = copy;
    t->problem.graph = copy;
cleanup:
    free(size);
    return st;
}

static double sum(const double *column, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += column[i];
    return total;
}

/*
 * One latency and one bandwidth go with identical devices. A machine file of such becomes its short form; on
 * others a single figure for all links would hide what the machine says.
 */
static sked_status take_short_form(sked_target *t, sked_error *err)
{
    sked_problem plain;
    const sked_status st = sked_i_problem_plain(&t->asked, &plain, &t->plain, err);
    if (st != SKED_OK)
        return st;
    if (plain.machine != NULL)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "target '%s' sets one latency and one bandwidth for identical devices; it does not "
            "take machines with unequal devices or links",
            t->target->info.name);
    t->asked = plain;
    t->problem = plain;
    return SKED_OK;
}

static sked_status open_linear(sked_target *t, uint64_t seed, double per_byte, double per_transfer,
                               sked_error *err)
{
    const sked_status taken = take_short_form(t, err);
    if (taken != SKED_OK)
        return taken;
    const sked_graph *g = t->asked.graph;
    if (!(sum(g->edge_bytes, g->n_edges) > 0)) {
        const sked_status st = invent_bytes(t, seed, err);
        if (st != SKED_OK)
            return st;
    }
    const double bytes = sum(t->problem.graph->edge_bytes, g->n_edges);
    const double mean_duration = g->n_ops > 0 ? sum(g->duration, g->n_ops) / g->n_ops : 0;
    const double mean_bytes = bytes > 0 ? bytes / (double)g->n_edges : 1;
    const double a = per_byte * mean_duration / mean_bytes;
    t->problem.latency = t->asked.latency + per_transfer * mean_duration;
    t->problem.bandwidth = 1 / (a + 1 / t->asked.bandwidth); /* 1/0: free */
    return SKED_OK;
}

static sked_status open_bandwidth(sked_target *t, uint64_t seed, sked_error *err)
{
    return open_linear(t, seed, t->setting[0], 0.05 * t->setting[0], err);
}

static sked_status open_latency(sked_target *t, uint64_t seed, sked_error *err)
{
    return open_linear(t, seed, 0.05 * t->setting[0], t->setting[0], err);
}

static sked_status open_both(sked_target *t, uint64_t seed, sked_error *err)
{
    return open_linear(t, seed, t->setting[SHARE_A], t->setting[SHARE_B], err);
}

/* Defaults: list scheduling loses as much of its speedup as in the paper (docs/targets.md). */
static const sked_option bandwidth_cost[] = {
    {"cost", SKED_OPTION_REAL, "4", 0, 1000, NULL, "time of the bytes of a mean transfer, in mean durations"},
};
static const sked_option latency_cost[] = {
    {"cost", SKED_OPTION_REAL, "3", 0, 1000, NULL, "time before the first byte, in mean durations"},
};
static const sked_option both_costs[] = {
    {"bandwidth-cost", SKED_OPTION_REAL, "2", 0, 1000, NULL,
     "time of the bytes of a mean transfer, in mean durations"},
    {"latency-cost", SKED_OPTION_REAL, "1.5", 0, 1000, NULL, "time before the first byte, in mean durations"},
};

const sked_i_target sked_i_target_bandwidth = {
    .info = {"bandwidth", "transfers between devices limited by bandwidth (latency a twentieth)",
             bandwidth_cost, 1},
    .open = open_bandwidth};
const sked_i_target sked_i_target_latency = {
    .info = {"latency", "transfers between devices limited by latency (bandwidth a twentieth)", latency_cost,
             1},
    .open = open_latency};
const sked_i_target sked_i_target_linear = {
    .info = {"linear", "transfers between devices with bandwidth and latency", both_costs, 2},
    .open = open_both};
