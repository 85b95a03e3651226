/*
 * Ops start as soon as their device and their inputs let them (Kahn's order). Without contention nothing else
 * is to be decided, so one pass over ops and edges says all. With it, a heap holds the transfers that are
 * ready. None that comes later can be ready earlier than the one taken from it: ops that wait for a transfer
 * start after it.
 */
#include "schedule/replay.h"

#include "base/arena.h"
#include "base/heap.h"
#include "schedule/schedule.h"

#include <assert.h>

/* The result of an op on its way to one device. They are numbered by op, then by first edge. */
typedef struct copy {
    int32_t first, last; /* edges that read it: a list through `reader` */
    int32_t link;
    double bytes, lag;
} copy;

typedef struct sked_i_replay_room {
    sked_i_arena arena;        /* of all that a replay has */
    int32_t *indegree;         /* [ops] edges of distance 0 */
    int32_t *waiting;          /* [ops] inputs, and the op before on its device, that have no time yet */
    int32_t *order;            /* [ops] by start, for schedules */
    int32_t *queue;            /* [ops] those that wait for nothing */
    int32_t *next, *position;  /* [ops] the op after it on its device, -1: none; its number there */
    double *arrival;           /* [ops] of the latest input */
    int32_t *last;             /* [devices] the latest op of the chain; -1: none */
    double *available;         /* [devices] */
    sked_i_keyed *key, *spare; /* [ops], with contention [ops + edges] */
    copy *copies;              /* [edges] from here on NULL without contention */
    int32_t *copy_ptr;         /* [ops + 1] */
    int32_t *reader;           /* [edges] next edge that reads the same copy, -1: none */
    int32_t *mark;             /* [devices] the copy that was made last for it */
    double *busy;              /* [edges] until when each link is */
    sked_i_event_heap ready;
} sked_i_replay_room;

/* One run. */
typedef struct run {
    const sked_i_replay *r;
    const sked_graph *graph;
    const int32_t *device; /* NULL: there are none */
    const double *factor;
    double *start; /* [ops] */
    bool transfers;
    int32_t head, filled; /* of the queue */
} run;

void sked_i_replay_destroy(sked_i_replay *r)
{
    if (r == NULL)
        return;
    sked_i_costs_free(&r->costs);
    if (r->room != NULL)
        sked_i_arena_free(&r->room->arena);
    free(r->room);
    free(r);
}

static sked_status make_contention_room(sked_i_replay_room *x, int64_t ops, int64_t edges, int64_t devices,
                                        sked_error *err)
{
    sked_status st = SKED_OK;
    if (edges > INT32_MAX)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "contention takes %d edges at most", (int)INT32_MAX);
    SKED_OWN(&x->arena, x->copies, edges);
    SKED_OWN(&x->arena, x->copy_ptr, ops + 1);
    SKED_OWN(&x->arena, x->reader, edges);
    SKED_OWN(&x->arena, x->mark, devices);
    SKED_OWN(&x->arena, x->busy, edges);
    SKED_OWN(&x->arena, x->ready.at, edges);
cleanup:
    return st;
}

static sked_status make_room(sked_i_replay *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = r->costs.graph;
    const int64_t n = g->n_ops, m = r->rules.contention ? g->n_edges : 0;
    SKED_NEW0(r->room, 1);
    sked_i_replay_room *const x = r->room;
    SKED_OWN(&x->arena, r->start, n);
    SKED_OWN(&x->arena, r->finish, n);
    SKED_OWN0(&x->arena, x->indegree, n);
    SKED_OWN(&x->arena, x->waiting, n);
    SKED_OWN(&x->arena, x->order, n);
    SKED_OWN(&x->arena, x->queue, n);
    SKED_OWN(&x->arena, x->next, n);
    SKED_OWN(&x->arena, x->position, n);
    SKED_OWN(&x->arena, x->arrival, n);
    SKED_OWN(&x->arena, x->last, r->costs.devices);
    SKED_OWN(&x->arena, x->available, r->costs.devices);
    SKED_OWN(&x->arena, x->key, n + m);
    SKED_OWN(&x->arena, x->spare, n + m);
    if (r->rules.contention)
        SKED_TRY(make_contention_room(x, n, m, r->costs.devices, err));
    for (int64_t e = 0; e < g->n_edges; e++)
        x->indegree[g->edge_to[e]] += g->edge_distance[e] == 0;
cleanup:
    return st;
}

sked_status sked_i_replay_create(const sked_problem *p, const sked_i_replay_rules *rules, sked_i_replay **out,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_replay *r = NULL;
    SKED_NEW0(r, 1);
    r->rules = *rules;
    SKED_TRY(sked_i_costs_make(p, &r->costs, err));
    SKED_TRY(make_room(r, err));
    *out = r;
    return SKED_OK;
cleanup:
    sked_i_replay_destroy(r);
    return st;
}

/* ------------------------------------------------------------------ before the run */

/* false: an op comes twice. */
static bool link_chains(const run *x, const int32_t *order)
{
    sked_i_replay_room *const m = x->r->room;
    const int32_t n = x->graph->n_ops;
    for (int32_t d = 0; d < x->r->costs.devices; d++) {
        m->last[d] = -1;
        m->available[d] = 0;
    }
    for (int32_t i = 0; i < n; i++) {
        m->arrival[i] = 0;
        m->next[i] = m->waiting[i] = -1;
        m->position[i] = 0;
    }
    for (int32_t k = 0; k < n; k++) {
        const int32_t i = order[k];
        if (m->waiting[i] >= 0)
            return false;
        m->waiting[i] = m->indegree[i];
        if (x->device == NULL)
            continue;
        const int32_t before = m->last[x->device[i]];
        if (before >= 0) {
            m->waiting[i]++;
            m->position[i] = m->position[before] + 1;
            m->next[before] = i;
        }
        m->last[x->device[i]] = i;
    }
    return true;
}

static double lag_of(const run *x, int64_t edge, double time)
{
    return x->graph->edge_lag_given[edge] ? x->graph->edge_lag[edge] : time;
}

/* One copy for each op and device that reads it elsewhere. Returns how many. O(edges + devices). */
static int32_t make_copies(const run *x)
{
    sked_i_replay_room *const m = x->r->room;
    const sked_graph *g = x->graph;
    int32_t n = 0;
    for (int32_t d = 0; d < x->r->costs.devices; d++)
        m->mark[d] = -1;
    for (int32_t i = 0; i < g->n_ops; i++) {
        m->copy_ptr[i] = n;
        for (int32_t e = (int32_t)g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int32_t to = x->device[g->edge_to[e]];
            if (g->edge_distance[e] > 0 || to == x->device[i])
                continue;
            m->reader[e] = -1;
            if (m->mark[to] < m->copy_ptr[i]) { /* the mark of an op before, or none */
                m->mark[to] = n;
                m->copies[n++] = (copy){.first = e, .last = e};
                continue;
            }
            copy *const c = &m->copies[m->mark[to]];
            m->reader[c->last] = e;
            c->last = e;
        }
    }
    m->copy_ptr[g->n_ops] = n;
    return n;
}

/* Numbers the links in use: one for each ordered pair of devices, or the bus. */
static void number_links(const run *x, int32_t copies)
{
    sked_i_replay_room *const m = x->r->room;
    const sked_graph *g = x->graph;
    int32_t link = 0;
    for (int32_t k = 0; k < copies; k++) {
        const int32_t e = m->copies[k].first;
        const uint64_t from = (uint64_t)x->device[g->edge_from[e]], to = (uint64_t)x->device[g->edge_to[e]];
        m->key[k] = (sked_i_keyed){x->r->rules.bus ? 0 : from << 32 | to, k};
    }
    sked_i_sort_keyed(m->key, m->spare, copies);
    for (int32_t k = 0; k < copies; k++) {
        link += k > 0 && m->key[k].key != m->key[k - 1].key;
        m->copies[m->key[k].value].link = link;
        m->busy[link] = 0;
    }
}

/* ------------------------------------------------------------------ the run */

static void deliver(run *x, int64_t edge, double time)
{
    sked_i_replay_room *const m = x->r->room;
    const int32_t to = x->graph->edge_to[edge];
    assert(m->waiting[to] > 0);
    m->arrival[to] = time > m->arrival[to] ? time : m->arrival[to];
    if (--m->waiting[to] == 0)
        m->queue[x->filled++] = to;
}

static void deliver_copy(run *x, const copy *c, double time)
{
    for (int32_t e = c->first; e >= 0; e = x->r->room->reader[e])
        deliver(x, e, time);
}

static double transfer_time(const run *x, int64_t edge, double bytes)
{
    const sked_graph *g = x->graph;
    return x->transfers ? sked_i_transfer_time(&x->r->costs, bytes, x->device[g->edge_from[edge]],
                                               x->device[g->edge_to[edge]])
                        : 0;
}

/* Was one of the last ops on the device of op i the maker of one of its inputs? */
static bool finds_input(const run *x, int32_t i)
{
    const sked_graph *g = x->graph;
    const int32_t *position = x->r->room->position;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
        const int32_t q = g->pred_op[k];
        if (g->edge_distance[g->pred_edge[k]] == 0 && x->device[q] == x->device[i] &&
            position[i] - position[q] <= x->r->rules.cache_depth)
            return true;
    }
    return false;
}

static double time_of(const run *x, int32_t i)
{
    double time = sked_i_time(&x->r->costs, i, x->device != NULL ? x->device[i] : 0);
    if (x->factor != NULL)
        time *= x->factor[i];
    if (x->r->rules.cache_depth > 0 && finds_input(x, i))
        time *= 1 - x->r->rules.cache_gain;
    return time;
}

/* What op i sends to other devices becomes ready. */
static void offer_copies(run *x, int32_t i, double start, double time)
{
    sked_i_replay_room *const m = x->r->room;
    for (int32_t k = m->copy_ptr[i]; k < m->copy_ptr[i + 1]; k++) {
        copy *const c = &m->copies[k];
        c->bytes = c->lag = 0; /* a lag below 0 does not let data leave before the op begins */
        for (int32_t e = c->first; e >= 0; e = m->reader[e]) {
            c->bytes = fmax(c->bytes, x->graph->edge_bytes[e]);
            c->lag = fmax(c->lag, lag_of(x, e, time));
        }
        if (transfer_time(x, c->first, c->bytes) > 0)
            sked_i_event_heap_push(&m->ready, (sked_i_event){start + c->lag, k});
        else
            deliver_copy(x, c, start + c->lag);
    }
}

/* Op i has all it needs. */
static void begin_op(run *x, int32_t i)
{
    const sked_graph *g = x->graph;
    sked_i_replay_room *const m = x->r->room;
    const int32_t d = x->device != NULL ? x->device[i] : -1;
    const double start = d < 0 || m->arrival[i] > m->available[d] ? m->arrival[i] : m->available[d];
    const double time = time_of(x, i);
    assert(m->waiting[i] == 0);
    x->start[i] = start;
    x->r->finish[i] = start + time;
    if (d >= 0)
        m->available[d] = x->r->finish[i];
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        const bool stays = d < 0 || x->device[g->edge_to[e]] == d;
        if (g->edge_distance[e] > 0 || (!stays && x->r->rules.contention))
            continue;
        const double ready = start + lag_of(x, e, time);
        deliver(x, e, stays ? ready : ready + transfer_time(x, e, g->edge_bytes[e]));
    }
    if (x->r->rules.contention)
        offer_copies(x, i, start, time);
    if (m->next[i] >= 0 && --m->waiting[m->next[i]] == 0)
        m->queue[x->filled++] = m->next[i];
}

/* The transfer that was ready first takes its link. */
static void begin_transfer(run *x)
{
    sked_i_replay_room *const m = x->r->room;
    const sked_i_event ready = sked_i_event_heap_pop(&m->ready);
    const copy *c = &m->copies[ready.id];
    const double begin = ready.time > m->busy[c->link] ? ready.time : m->busy[c->link];
    m->busy[c->link] = begin + transfer_time(x, c->first, c->bytes);
    deliver_copy(x, c, m->busy[c->link]);
}

static double run_all(run *x)
{
    sked_i_replay_room *const m = x->r->room;
    double latest = 0;
    m->ready.count = 0;
    if (x->r->rules.contention)
        number_links(x, make_copies(x));
    for (int32_t i = 0; i < x->graph->n_ops; i++)
        if (m->waiting[i] == 0)
            m->queue[x->filled++] = i;
    for (;;) {
        while (x->head < x->filled)
            begin_op(x, m->queue[x->head++]);
        if (m->ready.count == 0)
            break;
        begin_transfer(x);
    }
    assert(x->head == x->filled && x->filled <= x->graph->n_ops);
    for (int32_t k = 0; k < x->filled; k++)
        latest = fmax(latest, x->r->finish[m->queue[k]]);
    return latest;
}

sked_status sked_i_replay_run(sked_i_replay *r, const sked_schedule *s, const double *factor, double *time,
                              sked_error *err)
{
    const sked_graph *g = r->costs.graph;
    run x = {.r = r, .graph = g, .device = s->device, .factor = factor, .start = r->start, .transfers = true};
    sked_i_schedule_sort(g, s->start, r->room->key, r->room->spare, r->room->order);
    (void)link_chains(&x, r->room->order);
    const double latest = run_all(&x);
    if (x.filled < s->ops)
        return sked_i_fail(err, SKED_ERR_INVALID, "the schedule's device orders contradict the graph");
    if (isinf(latest))
        return sked_i_fail(err, SKED_ERR_INVALID,
                           "the schedule does not end on the target: an op cannot run on its device, or its "
                           "data cannot get there");
    *time = latest;
    return SKED_OK;
}

double sked_i_replay_order(sked_i_replay *r, const int32_t *device, const int32_t *order, bool transfers,
                           double *start)
{
    run x = {.r = r, .graph = r->costs.graph, .start = start, .transfers = transfers};
    x.device = r->costs.devices > 0 ? device : NULL;
    if (!link_chains(&x, order))
        return INFINITY;
    const double latest = run_all(&x);
    return x.filled == x.graph->n_ops ? latest : INFINITY;
}

const int32_t *sked_i_replay_positions(const sked_i_replay *r)
{
    return r->room->position;
}
