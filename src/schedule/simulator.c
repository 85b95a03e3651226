/*
 * The proxy: start times from device orders. In-edges are copied into rows that are read front to back,
 * so one evaluation is one pass over ops and edges: about 12 bytes read per edge and 20 per op.
 */
#include "backend/backend.h"
#include "base/memory.h"
#include "problem/lower.h"
#include "schedule/schedule.h"

struct sked_simulator {
    sked_i_lowered profiled; /* the problem, with the durations of its machine's profile */
    int32_t ops, devices;
    double *duration;
    int64_t *row;           /* [ops + 1] */
    int32_t *pred;          /* [edges of distance 0] */
    double *lag, *transfer; /* transfer NULL: free */
    /* unequal devices, NULL for identical ones */
    sked_i_costs *costs;
    double *bytes; /* [edges of distance 0]; lag is then NAN where it is the time of `pred` */
    /* out-edges, for orders that are not topological */
    int64_t *succ_row;
    int32_t *succ;
    /* work space */
    double *start;     /* [ops] */
    double *available; /* [devices + 1] */
    int32_t *waiting;  /* [ops] unfinished predecessors */
    int32_t *queue;    /* [ops] */
    int32_t *next;     /* [ops] following op on its device, -1: none */
    int32_t *last;     /* [devices + 1] */
};

void sked_simulator_destroy(sked_simulator *sim)
{
    if (sim == NULL)
        return;
    if (sim->costs != NULL)
        sked_i_costs_free(sim->costs);
    void *const owned[] = {sim->duration, sim->row,  sim->pred,  sim->lag,       sim->transfer,
                           sim->succ_row, sim->succ, sim->start, sim->available, sim->waiting,
                           sim->queue,    sim->next, sim->last,  sim->costs,     sim->bytes};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    sked_i_lowered_free(&sim->profiled);
    free(sim);
}

static void copy_rows(const sked_problem *p, sked_simulator *sim)
{
    const sked_graph *g = p->graph;
    int64_t k = 0, out = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        sim->row[i] = k;
        sim->succ_row[i] = out;
        for (int64_t q = g->pred_ptr[i]; q < g->pred_ptr[i + 1]; q++) {
            const int64_t e = g->pred_edge[q];
            if (g->edge_distance[e] > 0)
                continue;
            sim->pred[k] = g->pred_op[q];
            sim->lag[k] = g->edge_lag[e];
            if (sim->transfer)
                sim->transfer[k] = sked_i_transfer(p, e);
            if (sim->costs) {
                sim->lag[k] = g->edge_lag_given[e] ? g->edge_lag[e] : NAN;
                sim->bytes[k] = g->edge_bytes[e];
            }
            k++;
        }
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                sim->succ[out++] = g->edge_to[e];
    }
    sim->row[g->n_ops] = k;
    sim->succ_row[g->n_ops] = out;
}

sked_status sked_simulator_create(const sked_problem *p, sked_simulator **out, sked_error *err)
{
    SKED_TAKE_ASKED(p)
    const sked_graph *g = p->graph; /* the profiled one has the same sizes */
    const int64_t n = g->n_ops, m = g->n_edges - g->n_carried, d = (int64_t)p->devices + 1;
    sked_status st = SKED_OK;
    sked_simulator *sim = sked_i_alloc_zero(1, sizeof *sim);
    if (sim == NULL)
        return sked_i_no_memory(err);
    SKED_TRY(sked_i_lower_profile(p, &sim->profiled, err));
    p = &sim->profiled.problem;
    g = p->graph;
    sim->ops = g->n_ops;
    sim->devices = p->devices;
    SKED_NEW(sim->duration, n);
    SKED_NEW(sim->row, n + 1);
    SKED_NEW(sim->pred, m);
    SKED_NEW(sim->lag, m);
    if (p->machine != NULL) {
        SKED_NEW0(sim->costs, 1);
        SKED_NEW(sim->bytes, m);
        SKED_TRY(sked_i_costs_make(p, sim->costs, err));
    } else if (sked_i_has_transfers(p))
        SKED_NEW(sim->transfer, m);
    SKED_NEW(sim->succ_row, n + 1);
    SKED_NEW(sim->succ, m);
    SKED_NEW(sim->start, n);
    SKED_NEW(sim->available, d);
    SKED_NEW(sim->waiting, n);
    SKED_NEW(sim->queue, n);
    SKED_NEW(sim->next, n);
    SKED_NEW(sim->last, d);
    for (int64_t i = 0; i < n; i++)
        sim->duration[i] = g->duration[i];
    copy_rows(p, sim);
    *out = sim;
    return SKED_OK;
cleanup:
    sked_simulator_destroy(sim);
    return st;
}

/* ready_time on unequal devices. */
static double ready_on_machine(const sked_simulator *sim, const int32_t *device, bool transfers,
                               const double *start, int32_t i, double from)
{
    double t = from;
    bool known = true;
    for (int64_t k = sim->row[i]; k < sim->row[i + 1]; k++) {
        const int32_t q = sim->pred[k];
        const double lag = isnan(sim->lag[k]) ? sked_i_time(sim->costs, q, device[q]) : sim->lag[k];
        double arrives = start[q] + lag;
        if (transfers)
            arrives += sked_i_transfer_time(sim->costs, sim->bytes[k], device[q], device[i]);
        known = known && start[q] >= 0;
        t = arrives > t ? arrives : t;
    }
    return known ? t : -1;
}

static inline double time_on(const sked_simulator *sim, int32_t i, const int32_t *device)
{
    return sim->costs ? sked_i_time(sim->costs, i, device[i]) : sim->duration[i];
}

/* Start of op i once all its predecessors have one; -1 where one has none yet. */
static inline double ready_time(const sked_simulator *sim, const int32_t *device, const double *transfer,
                                bool transfers, const double *start, int32_t i, double from)
{
    if (sim->costs != NULL)
        return ready_on_machine(sim, device, transfers, start, i, from);
    double t = from;
    bool known = true;
    for (int64_t k = sim->row[i]; k < sim->row[i + 1]; k++) {
        const int32_t q = sim->pred[k];
        double arrives = start[q] + sim->lag[k];
        if (transfer != NULL && device[q] != device[i])
            arrives += transfer[k];
        known = known && start[q] >= 0;
        t = arrives > t ? arrives : t;
    }
    return known ? t : -1;
}

/* One pass in the given order; false where it is not topological. */
static bool run_in_order(sked_simulator *sim, const int32_t *device, const int32_t *order, bool transfers,
                         double *start, double *makespan)
{
    const double *transfer = transfers ? sim->transfer : NULL;
    double latest = 0;
    for (int32_t i = 0; i < sim->ops; i++)
        start[i] = -1;
    for (int32_t d = 0; d < sim->devices; d++)
        sim->available[d] = 0;
    for (int32_t k = 0; k < sim->ops; k++) {
        const int32_t i = order[k];
        const double t = ready_time(sim, device, transfer, transfers, start, i,
                                    sim->devices ? sim->available[device[i]] : 0);
        if (t < 0 || start[i] >= 0)
            return false;
        const double finish = t + time_on(sim, i, device);
        start[i] = t;
        if (sim->devices)
            sim->available[device[i]] = finish;
        latest = finish > latest ? finish : latest;
    }
    *makespan = latest;
    return true;
}

/* Counts unfinished predecessors (graph and device chain); false where order is no permutation. */
static bool link_chains(sked_simulator *sim, const int32_t *device, const int32_t *order)
{
    for (int32_t i = 0; i < sim->ops; i++) {
        sim->waiting[i] = -1;
        sim->next[i] = -1;
    }
    for (int32_t d = 0; d < sim->devices; d++)
        sim->last[d] = -1;
    for (int32_t k = 0; k < sim->ops; k++) {
        const int32_t i = order[k];
        if (sim->waiting[i] >= 0)
            return false;
        sim->waiting[i] = (int32_t)(sim->row[i + 1] - sim->row[i]);
        if (sim->devices == 0)
            continue;
        const int32_t before = sim->last[device[i]];
        if (before >= 0) {
            sim->next[before] = i;
            sim->waiting[i]++;
        }
        sim->last[device[i]] = i;
    }
    return true;
}

/* Any order that contradicts nothing: ops run as soon as chain and graph let them (Kahn). */
static double run_any_order(sked_simulator *sim, const int32_t *device, const int32_t *order, bool transfers,
                            double *start)
{
    const double *transfer = transfers ? sim->transfer : NULL;
    int32_t filled = 0;
    double latest = 0;
    if (!link_chains(sim, device, order))
        return INFINITY;
    for (int32_t d = 0; d < sim->devices; d++)
        sim->available[d] = 0;
    for (int32_t i = 0; i < sim->ops; i++)
        if (sim->waiting[i] == 0)
            sim->queue[filled++] = i;
    for (int32_t k = 0; k < filled; k++) {
        const int32_t i = sim->queue[k];
        start[i] = ready_time(sim, device, transfer, transfers, start, i,
                              sim->devices ? sim->available[device[i]] : 0);
        const double finish = start[i] + time_on(sim, i, device);
        latest = finish > latest ? finish : latest;
        if (sim->devices)
            sim->available[device[i]] = finish;
        for (int64_t q = sim->succ_row[i]; q < sim->succ_row[i + 1]; q++)
            if (--sim->waiting[sim->succ[q]] == 0)
                sim->queue[filled++] = sim->succ[q];
        if (sim->next[i] >= 0 && --sim->waiting[sim->next[i]] == 0)
            sim->queue[filled++] = sim->next[i];
    }
    return filled == sim->ops ? latest : INFINITY;
}

void sked_simulator_run(sked_simulator *sim, int32_t count, const int32_t *device, const int32_t *order,
                        bool transfers, double *makespan, double *start)
{
    for (int32_t b = 0; b < count; b++) {
        const int64_t offset = (int64_t)b * sim->ops;
        double *into = start ? start + offset : sim->start;
        const int32_t *dev = device ? device + offset : NULL;
        if (!run_in_order(sim, dev, order + offset, transfers, into, &makespan[b]))
            makespan[b] = run_any_order(sim, dev, order + offset, transfers, into);
    }
}

/* The tables of the machine, by reference. */
static sked_i_batch_machine batch_machine(const sked_simulator *sim, bool transfers)
{
    const sked_i_costs *c = sim->costs;
    int32_t rows = 0;
    for (int32_t i = 0; c->row != NULL && i < sim->ops; i++)
        rows += c->row[i] >= 0;
    return (sked_i_batch_machine){.classes = c->classes,
                                  .groups = c->machine->n_groups,
                                  .rows = rows,
                                  .class_of = c->class_of,
                                  .group_of = c->machine->group,
                                  .speed = c->speed,
                                  .table_row = c->row,
                                  .table = c->table,
                                  .link_latency = c->machine->link_latency,
                                  .link_bandwidth = c->machine->link_bandwidth,
                                  .bytes = sim->bytes,
                                  .transfers = transfers};
}

sked_status sked_simulator_batch(const sked_simulator *sim, const char *backend, int64_t count,
                                 const int32_t *device, const int32_t *order, bool transfers,
                                 double *makespan, sked_error *err)
{
    const sked_i_backend *b = NULL;
    sked_i_batch_machine m = {0};
    if (sim->costs != NULL)
        m = batch_machine(sim, transfers);
    const sked_i_batch_graph g = {.ops = sim->ops,
                                  .devices = sim->devices,
                                  .edges = sim->row[sim->ops],
                                  .duration = sim->duration,
                                  .row = sim->row,
                                  .pred = sim->pred,
                                  .lag = sim->lag,
                                  .transfer = transfers ? sim->transfer : NULL,
                                  .machine = sim->costs != NULL ? &m : NULL};
    if (sim->devices == 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "batched simulation needs devices");
    const sked_status st = sked_i_backend_find(backend, &b, err);
    return st == SKED_OK ? b->simulate(&g, count, device, order, makespan, err) : st;
}
