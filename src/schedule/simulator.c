/*
 * The proxy: start times from device orders. In-edges are copied into rows that are read front to back,
 * so one evaluation is one pass over ops and edges: about 12 bytes read per edge and 20 per op.
 */
#include "base/arena.h"
#include "problem/lower.h"
#include "schedule/replay.h"

#include <assert.h>

struct sked_simulator {
    sked_i_arena arena;
    sked_i_lowered profiled; /* the problem, with the durations of its machine's profile */
    int32_t ops, devices;
    double *duration;
    int64_t *row;           /* [ops + 1] */
    int32_t *pred;          /* [edges of distance 0] */
    double *lag, *transfer; /* transfer NULL: free */
    /* heterogeneous devices, NULL for identical ones */
    const sked_i_costs *costs;
    double *bytes;         /* [edges of distance 0]; lag is then NAN where it is the time of `pred` */
    sked_i_replay *replay; /* for orders that are not topological */
    /* work space */
    double *start;     /* [ops] */
    double *available; /* [devices + 1] */
};

void sked_simulator_destroy(sked_simulator *sim)
{
    if (sim == NULL)
        return;
    sked_i_replay_destroy(sim->replay);
    sked_i_lowered_free(&sim->profiled);
    sked_i_arena_free(&sim->arena);
    free(sim);
}

static void copy_rows(const sked_problem *p, sked_simulator *sim)
{
    const sked_graph *g = p->graph;
    int64_t k = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        sim->row[i] = k;
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
    }
    assert(k == g->n_edges - g->n_carried);
    sim->row[g->n_ops] = k;
}

sked_status sked_simulator_create(const sked_problem *p, sked_simulator **out, sked_error *err)
{
    SKED_TAKE_ASKED(p)
    const sked_graph *g = p->graph; /* the profiled one has the same sizes */
    const int64_t n = g->n_ops, m = g->n_edges - g->n_carried, d = (int64_t)p->devices + 1;
    sked_status st = SKED_OK;
    sked_simulator *sim = NULL;
    SKED_NEW0(sim, 1);
    SKED_TRY(sked_i_lower_profile(p, &sim->profiled, err));
    p = &sim->profiled.problem;
    g = p->graph;
    sim->ops = g->n_ops;
    sim->devices = p->devices;
    SKED_OWN(&sim->arena, sim->duration, n);
    SKED_OWN(&sim->arena, sim->row, n + 1);
    SKED_OWN(&sim->arena, sim->pred, m);
    SKED_OWN(&sim->arena, sim->lag, m);
    SKED_TRY(sked_i_replay_create(p, &(sked_i_replay_rules){0}, &sim->replay, err));
    if (p->machine != NULL) {
        sim->costs = &sim->replay->costs;
        SKED_OWN(&sim->arena, sim->bytes, m);
    } else if (sked_i_has_transfers(p))
        SKED_OWN(&sim->arena, sim->transfer, m);
    SKED_OWN(&sim->arena, sim->start, n);
    SKED_OWN(&sim->arena, sim->available, d);
    for (int64_t i = 0; i < n; i++)
        sim->duration[i] = g->duration[i];
    copy_rows(p, sim);
    *out = sim;
    return SKED_OK;
cleanup:
    sked_simulator_destroy(sim);
    return st;
}

/*
 * ready_time on heterogeneous devices. A twin for speed: identical devices take 2.6 ns an op and edge
 * here, 1.1 below (`sked-bench scale --only simulator`, 1,000 ops). Inlined, it would cost the loop below a
 * tenth.
 */
static __attribute__((noinline)) double ready_on_machine(const sked_simulator *sim, const int32_t *device,
                                                         bool transfers, const double *start, int32_t i,
                                                         double from)
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

void sked_simulator_run(sked_simulator *sim, int32_t count, const int32_t *device, const int32_t *order,
                        bool transfers, double *makespan, double *start)
{
    for (int32_t b = 0; b < count; b++) {
        const int64_t offset = (int64_t)b * sim->ops;
        double *into = start ? start + offset : sim->start;
        const int32_t *dev = device ? device + offset : NULL;
        if (!run_in_order(sim, dev, order + offset, transfers, into, &makespan[b]))
            makespan[b] = sked_i_replay_order(sim->replay, dev, order + offset, transfers, into);
    }
}
