/* What a schedule is worth, and how different several are. */
#include "base/arena.h"
#include "problem/chaining.h"
#include "problem/lower.h"
#include "schedule/profile.h"

#include <string.h>

static void measure_edges(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                          sked_metrics *m)
{
    const sked_graph *g = p->graph;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        if (g->edge_distance[e] > 0 && s->ii == 0)
            continue;
        if (g->edge_bytes[e] > 0)
            m->communication += s->start[to] - s->start[from] + g->edge_distance[e] * s->ii;
        if (s->device != NULL && s->device[from] != s->device[to])
            m->transfer += sked_i_transfer_time(c, g->edge_bytes[e], s->device[from], s->device[to]);
    }
}

/* Of metrics that have what the objective asks for, in the order of SKED_OBJECTIVE_LIST. */
static double value_of(const sked_problem *p, const sked_schedule *s, const sked_metrics *m)
{
    const double cost = m->resource + p->alpha * m->communication;
    const double arena = s->offset != NULL ? m->arena : INFINITY;
    const double values[] = {m->makespan, m->resource, m->peak_memory, cost, s->ii, arena};
    return values[p->objective];
}

/* What the objective asks for, or all of it. */
static sked_status measure(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s, bool all,
                           sked_metrics *m, sked_error *err)
{
    const sked_objective o = p->objective;
    sked_status st = SKED_OK;
    sked_i_profile memory = {0};
    double busy = 0;
    m->makespan = sked_i_costs_latest_finish(c, s);
    if (all || o == SKED_OBJECTIVE_COST)
        measure_edges(p, c, s, m);
    if (all || o == SKED_OBJECTIVE_COST || o == SKED_OBJECTIVE_RESOURCE)
        SKED_TRY(sked_i_profile_loads(p, c, s, &m->resource, err));
    if (all || o == SKED_OBJECTIVE_MEMORY)
        SKED_TRY(sked_i_profile_memory(p, c, s, -1, &memory, err));
    m->peak_memory = memory.peak;
    m->arena = sked_i_schedule_arena(s);
    m->value = value_of(p, s, m);
    for (int32_t i = 0; all && i < s->ops; i++)
        busy += sked_i_time_in(c, s, i);
    m->speedup = all && m->makespan > 0 ? sked_i_sequential_time(c) / m->makespan : 1;
    m->idle = s->devices > 0 && m->makespan > 0 ? 1 - busy / (s->devices * m->makespan) : 0;
cleanup:
    sked_i_profile_free(&memory);
    return st;
}

sked_status sked_i_schedule_value(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                  double *value, double *makespan, sked_error *err)
{
    sked_metrics m = {0};
    const sked_status st = measure(p, c, s, false, &m, err);
    if (st == SKED_OK) {
        *value = m.value;
        *makespan = m.makespan;
    }
    return st;
}

sked_status sked_schedule_measure(const sked_problem *p, const sked_schedule *s, sked_metrics *out,
                                  sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_CHECK_OUTPUT(sked_metrics, out);
    sked_metrics m = {0};
    sked_i_costs c = {0};
    sked_status st = sked_i_schedule_check(p, s, err);
    if (st == SKED_OK)
        st = sked_i_costs_make(p, &c, err);
    if (st == SKED_OK)
        st = measure(p, &c, s, true, &m, err);
    sked_i_costs_free(&c);
    if (st == SKED_OK)
        SKED_GIVE(out, m);
    return st;
}

sked_status sked_schedule_resource_peaks(const sked_problem *p, const sked_schedule *s, double *peak,
                                         sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_i_costs c = {0};
    double *found = NULL;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_schedule_check(p, s, err));
    SKED_TRY(sked_i_costs_make(p, &c, err));
    SKED_NEW(found, p->graph->n_resources);
    SKED_TRY(sked_i_profile_peaks(p, &c, s, found, err));
    memcpy(peak, found, (size_t)p->graph->n_resources * sizeof *peak);
cleanup:
    free(found);
    sked_i_costs_free(&c);
    return st;
}

sked_status sked_schedule_phases(const sked_problem *p, const sked_schedule *s, double *phase,
                                 sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_status st = sked_i_schedule_check(p, s, err);
    double *found = NULL;
    if (st == SKED_OK && !(p->clock > 0))
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "phases are those of a problem with a clock");
    if (st != SKED_OK)
        return st;
    SKED_NEW(found, s->ops);
    SKED_TRY(sked_i_clock_phases(p, s, found, err));
    memcpy(phase, found, (size_t)s->ops * sizeof *phase);
cleanup:
    free(found);
    return st;
}

/* next[i]: the op that follows i on its device, or -1. */
typedef struct chain {
    int32_t *next;
    int32_t *device; /* canonical: numbered by first appearance in op order */
    int64_t edges;
} chain;

typedef struct sort_item {
    double start, finish;
    int32_t device, op;
} sort_item;

static int by_device_and_start(const void *x, const void *y)
{
    const sort_item *a = x, *b = y;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->finish != b->finish)
        return a->finish < b->finish ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static void build_chain(const sked_i_costs *costs, const sked_schedule *s, sort_item *items, int32_t *rename,
                        chain *c)
{
    int32_t used = 0;
    for (int32_t d = 0; d < s->devices; d++)
        rename[d] = -1;
    for (int32_t i = 0; i < s->ops; i++) {
        const int32_t d = s->device ? s->device[i] : 0;
        if (s->device && rename[d] < 0)
            rename[d] =
                costs->machine ? d : used++; /* heterogeneous devices have names: nothing to exchange */
        c->device[i] = s->device ? rename[d] : 0;
        items[i] = (sort_item){s->start[i], s->start[i] + sked_i_time_in(costs, s, i), d, i};
    }
    qsort(items, (size_t)s->ops, sizeof *items, by_device_and_start);
    c->edges = 0;
    for (int32_t k = 0; k < s->ops; k++) {
        const bool linked = k + 1 < s->ops && items[k].device == items[k + 1].device;
        c->next[items[k].op] = linked ? items[k + 1].op : -1;
        c->edges += linked;
    }
}

static void add_pair(const sked_schedule *a, const sked_schedule *b, const chain *x, const chain *y,
                     sked_diversity *sum)
{
    int64_t shared = 0;
    double starts = 0, devices = 0;
    for (int32_t i = 0; i < a->ops; i++) {
        shared += x->next[i] >= 0 && x->next[i] == y->next[i];
        const double dt = a->start[i] - b->start[i], dd = (double)x->device[i] - (double)y->device[i];
        starts += dt * dt;
        devices += dd * dd;
    }
    const int64_t edges = x->edges + y->edges;
    sum->ged += edges > 0 ? 100.0 * (double)(edges - 2 * shared) / (double)edges : 0;
    sum->d_inv += sqrt(starts);
    sum->d_sen += sqrt(starts + devices);
}

static sked_status diversity_of(const sked_problem *p, const sked_i_costs *costs,
                                const sked_schedule *const *s, int32_t count, sked_diversity *out,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = p->graph->n_ops;
    sked_i_arena arena = {0};
    sort_item *items;
    int32_t *rename;
    chain *chains;
    sked_diversity sum = {0};
    SKED_OWN(&arena, items, n);
    SKED_OWN(&arena, rename, (int64_t)p->devices + 1);
    SKED_OWN(&arena, chains, count);
    for (int32_t k = 0; k < count; k++) {
        SKED_OWN(&arena, chains[k].next, n);
        SKED_OWN(&arena, chains[k].device, n);
        build_chain(costs, s[k], items, rename, &chains[k]);
    }
    for (int32_t a = 0; a < count; a++)
        for (int32_t b = a + 1; b < count; b++)
            add_pair(s[a], s[b], &chains[a], &chains[b], &sum);
    const double pairs = 0.5 * count * (count - 1.0);
    if (pairs > 0) {
        sum.ged /= pairs;
        sum.d_inv /= pairs;
        sum.d_sen /= pairs;
    }
    *out = sum;
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

sked_status sked_schedules_diversity(const sked_problem *p, const sked_schedule *const *s, int32_t count,
                                     sked_diversity *out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_CHECK_OUTPUT(sked_diversity, out);
    sked_diversity d = {0};
    sked_i_costs c = {0};
    sked_status st = SKED_OK;
    if (count < 0)
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "a number of schedules is 0 or more");
    for (int32_t k = 0; st == SKED_OK && k < count; k++)
        st = sked_i_schedule_check(p, s[k], err);
    if (st == SKED_OK)
        st = sked_i_costs_make(p, &c, err);
    if (st == SKED_OK)
        st = diversity_of(p, &c, s, count, &d, err);
    sked_i_costs_free(&c);
    if (st == SKED_OK)
        SKED_GIVE(out, d);
    return st;
}

sked_status sked_i_schedule_apart(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                  sked_schedule *const *others, int32_t count, double min_distance,
                                  bool *apart, sked_error *err)
{
    *apart = true;
    for (int32_t j = 0; *apart && min_distance > 0 && j < count; j++) {
        const sked_schedule *pair[2] = {others[j], s};
        sked_diversity d = {0};
        const sked_status st = diversity_of(p, c, pair, 2, &d, err);
        if (st != SKED_OK)
            return st;
        *apart = d.ged >= min_distance;
    }
    return SKED_OK;
}
