/*
 * Linear transfer models between devices: f(bytes) = a * bytes + b. The scale is relative to the graph, so
 * that one default fits all: the bytes of a mean transfer take `bandwidth-cost`, its start `latency-cost`,
 * times the mean duration (docs/targets.md).
 */
#include "target/target.h"

#include <assert.h>

enum { SHARE_A, SHARE_B };

/*
 * A copy of the graph whose edges carry bytes although the user's do not: what their producer's result
 * takes where the graph says so, else a size drawn for each producer.
 */
static sked_status invent_bytes(sked_target *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = t->problem.graph;
    sked_graph *copy = NULL;
    double *size = NULL, stored = 0;
    sked_i_rng r;
    sked_i_rng_seed(&r, t->seed, 0x6279);
    SKED_NEW(size, g->n_ops);
    for (int64_t e = 0; e < g->n_edges; e++)
        stored += g->memory[g->edge_from[e]];
    for (int32_t i = 0; i < g->n_ops; i++)
        size[i] = stored > 0 ? g->memory[i] : sked_i_rng_exponential(&r);
    SKED_TRY(sked_i_graph_with_durations(g, g->duration, &copy, err));
    for (int64_t e = 0; e < copy->n_edges; e++)
        copy->edge_bytes[e] = size[copy->edge_from[e]];
    copy->integral = false;
    sked_i_target_take_graph(t, copy);
cleanup:
    free(size);
    return st;
}

static double total_bytes(const sked_graph *g)
{
    double total = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        total += g->edge_bytes[e];
    return total;
}

/* Over ops, and on heterogeneous devices over those that can run each. */
static sked_status find_mean_duration(const sked_problem *p, double *out, sked_error *err)
{
    sked_i_costs c = {0};
    const sked_status st = sked_i_costs_make(p, &c, err);
    double total = 0;
    for (int32_t i = 0; st == SKED_OK && i < p->graph->n_ops; i++) {
        const double time = c.time_kinds > 1 ? sked_i_mean_time(&c, i) : sked_i_kind_time(&c, i, 0);
        total += isinf(time) ? 0 : time;
    }
    sked_i_costs_free(&c);
    *out = p->graph->n_ops > 0 ? total / p->graph->n_ops : 0;
    return st;
}

/* Do all devices of the machine exchange data? */
static bool all_linked(const sked_machine *m)
{
    for (int32_t a = 0; m != NULL && a < m->n_link_kinds; a++)
        for (int32_t b = 0; b < m->n_link_kinds; b++)
            if (isnan(m->link_latency[(int64_t)a * m->n_link_kinds + b]) &&
                (a != b || m->link_kind_size[a] > 1))
                return false;
    return true;
}

/* A cost of transfers: `start` for each, `per_byte` for each of its bytes. */
typedef struct cost {
    double start, per_byte;
} cost;

static double slower(double bandwidth, cost more)
{
    assert(bandwidth > 0 && more.per_byte >= 0);
    return 1 / (more.per_byte + 1 / bandwidth); /* 1/0: free */
}

static sked_status copy_devices(const sked_machine *m, sked_machine_builder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int32_t d = 0; st == SKED_OK && d < m->n_devices; d++)
        st =
            sked_machine_builder_add_device(b, sked_machine_device_name(m, d), sked_machine_device_type(m, d),
                                            m->speed[d], m->memory[d], NULL, err);
    return st;
}

/* The same machine with links that cost more. */
static sked_status make_slower_machine(const sked_machine *m, cost more, sked_machine **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_machine_builder *b = NULL;
    SKED_TRY(sked_machine_builder_create(m->name, &b, err));
    SKED_TRY(copy_devices(m, b, err));
    if (!isnan(m->latency))
        SKED_TRY(sked_machine_builder_set_link(b, m->latency + more.start, slower(m->bandwidth, more), err));
    for (int64_t k = 0; k < m->n_links; k++) {
        const sked_i_link *l = &m->links[k];
        SKED_TRY(sked_machine_builder_add_link(b, sked_i_names_at(&m->ends, l->from),
                                               sked_i_names_at(&m->ends, l->to), l->latency + more.start,
                                               slower(l->bandwidth, more), l->oneway, err));
    }
    SKED_TRY(sked_machine_builder_finish(b, out, err));
cleanup:
    sked_machine_builder_destroy(b);
    return st;
}

static sked_status add_cost(sked_target *t, cost more, sked_error *err)
{
    sked_machine *m = NULL;
    if (t->problem.machine == NULL) {
        t->problem.latency += more.start;
        t->problem.bandwidth = slower(t->problem.bandwidth, more);
        return SKED_OK;
    }
    const sked_status st = make_slower_machine(t->problem.machine, more, &m, err);
    if (st == SKED_OK)
        sked_i_target_take_machine(t, m);
    return st;
}

/*
 * The bytes of a mean transfer take `bytes` mean durations, its start takes `start`. Devices without a link
 * take no data, so on a machine with such a graph without bytes keeps none: every transfer is a mean one.
 */
static sked_status open_linear(sked_target *t, double bytes, double start, sked_error *err)
{
    double mean;
    sked_status st = find_mean_duration(&t->problem, &mean, err);
    if (st != SKED_OK)
        return st;
    double total = total_bytes(t->problem.graph);
    if (!(total > 0) && !all_linked(t->problem.machine))
        return add_cost(t, (cost){.start = (bytes + start) * mean}, err);
    if (!(total > 0)) {
        st = invent_bytes(t, err);
        if (st != SKED_OK)
            return st;
        total = total_bytes(t->problem.graph);
    }
    const double mean_bytes = total > 0 ? total / (double)t->problem.graph->n_edges : 1;
    return add_cost(t, (cost){.start = start * mean, .per_byte = bytes * mean / mean_bytes}, err);
}

static sked_status open_bandwidth(sked_target *t, const double *setting, sked_error *err)
{
    return open_linear(t, setting[0], 0.05 * setting[0], err);
}

static sked_status open_latency(sked_target *t, const double *setting, sked_error *err)
{
    return open_linear(t, 0.05 * setting[0], setting[0], err);
}

static sked_status open_both(sked_target *t, const double *setting, sked_error *err)
{
    return open_linear(t, setting[SHARE_A], setting[SHARE_B], err);
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

sked_status sked_i_target_need_transfers(sked_target *t, sked_error *err)
{
    double preset[sizeof both_costs / sizeof *both_costs];
    sked_i_costs c = {0};
    sked_status st = sked_i_costs_make(&t->problem, &c, err);
    const sked_graph *g = t->problem.graph;
    double most = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        most = fmax(most, g->edge_bytes[e]);
    const bool free = st == SKED_OK && !(sked_i_longest_transfer(&c, most) > 0);
    sked_i_costs_free(&c);
    if (!free)
        return st;
    st = sked_i_options_parse("linear", both_costs, 2, NULL, 0, preset, err);
    return st == SKED_OK ? open_both(t, preset, err) : st;
}
