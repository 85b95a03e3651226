/* See transfer.h. */
#include "method/search/transfer.h"

#include "base/thread.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* ------------------------------------------------------------------ the problem in rows */

typedef struct wire {
    int32_t op;
    double lag, transfer;
} wire;

typedef struct need {
    int32_t pool;
    double amount;
} need;

typedef struct model {
    const sked_problem *problem;
    int32_t n, devices, pools;
    double *duration, *tail; /* [n]; tail: from start to the end of everything, without transfers */
    int64_t *pred_ptr, *succ_ptr, *need_ptr;
    wire *pred, *succ;
    need *needs;
    double *capacity; /* [pools] with half of the judge's slack */
    const int32_t *fix_device;
    const double *fix_start;
    double grain;    /* mean duration and transfer */
    double lateness; /* cost of being late at all: above every makespan */
} model;

static void close_model(model *m)
{
    void *const owned[] = {m->duration, m->tail, m->pred_ptr, m->succ_ptr, m->need_ptr,
                           m->pred,     m->succ, m->needs,    m->capacity};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static void copy_links(model *m)
{
    const sked_graph *g = m->problem->graph;
    const bool costly = sked_i_has_transfers(m->problem);
    int64_t in = 0, out = 0;
    for (int32_t i = 0; i < m->n; i++) {
        m->pred_ptr[i] = in;
        m->succ_ptr[i] = out;
        for (int64_t q = g->pred_ptr[i]; q < g->pred_ptr[i + 1]; q++) {
            const int64_t e = g->pred_edge[q];
            if (g->edge_distance[e] == 0)
                m->pred[in++] =
                    (wire){g->pred_op[q], g->edge_lag[e], costly ? sked_i_transfer(m->problem, e) : 0};
        }
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                m->succ[out++] =
                    (wire){g->edge_to[e], g->edge_lag[e], costly ? sked_i_transfer(m->problem, e) : 0};
    }
    m->pred_ptr[m->n] = in;
    m->succ_ptr[m->n] = out;
}

/* Only pools that can run short. */
static sked_status copy_needs(model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = m->problem->graph;
    int32_t *pool = NULL;
    SKED_NEW(pool, g->n_resources);
    SKED_NEW(m->capacity, g->n_resources);
    for (int32_t r = 0; r < g->n_resources; r++) {
        const double capacity = sked_i_capacity(m->problem, r);
        pool[r] = isinf(capacity) ? -1 : m->pools;
        if (pool[r] >= 0)
            m->capacity[m->pools++] = capacity + (g->integral ? 0 : 0.5e-9 * fmax(1, capacity));
    }
    int64_t count = 0;
    for (int32_t i = 0; i < m->n; i++) {
        m->need_ptr[i] = count;
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1] && g->duration[i] > 0; k++)
            if (pool[g->demand_resource[k]] >= 0)
                m->needs[count++] = (need){pool[g->demand_resource[k]], g->demand_amount[k]};
    }
    m->need_ptr[m->n] = count;
cleanup:
    free(pool);
    return st;
}

static sked_status open_model(model *m, const sked_problem *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = p->graph;
    const int64_t n = g->n_ops;
    *m = (model){.problem = p, .n = g->n_ops, .devices = p->devices > 0 ? p->devices : 1};
    m->fix_device = p->fix_device;
    m->fix_start = p->fix_start;
    SKED_NEW(m->duration, n);
    SKED_NEW(m->tail, n);
    SKED_NEW(m->pred_ptr, n + 1);
    SKED_NEW(m->succ_ptr, n + 1);
    SKED_NEW(m->need_ptr, n + 1);
    SKED_NEW(m->pred, g->n_edges);
    SKED_NEW(m->succ, g->n_edges);
    SKED_NEW(m->needs, g->demand_ptr[n]);
    memcpy(m->duration, g->duration, (size_t)n * sizeof *m->duration);
    copy_links(m);
    SKED_TRY(copy_needs(m, err));
    sked_i_tails(g, m->tail);
    m->lateness = 1;
    for (int64_t k = 0; k < m->pred_ptr[n]; k++)
        m->lateness += fmax(0, m->pred[k].lag) + m->pred[k].transfer;
    for (int32_t i = 0; i < n; i++) {
        m->lateness += m->duration[i];
        if (m->fix_start != NULL && !isnan(m->fix_start[i]))
            m->lateness += m->fix_start[i];
        m->grain += m->duration[i] / (double)n;
    }
    for (int64_t k = 0; k < m->pred_ptr[n]; k++)
        m->grain += m->pred[k].transfer / (double)m->pred_ptr[n];
cleanup:
    return st;
}

/* ------------------------------------------------------------------ pools over time */

/* Free amounts from change[k] to change[k + 1], rows of `pools`. Times are real, so entries are as well. */
typedef struct table {
    double *change, *free_at;
    int32_t count;
} table;

static void clear_table(const model *m, table *t)
{
    t->change[0] = 0;
    t->change[1] = INFINITY;
    memcpy(t->free_at, m->capacity, (size_t)m->pools * sizeof *t->free_at);
    t->count = 1;
}

static bool has_room(const model *m, const table *t, int32_t entry, int32_t op)
{
    const double *row = t->free_at + (int64_t)entry * m->pools;
    for (int64_t k = m->need_ptr[op]; k < m->need_ptr[op + 1]; k++)
        if (m->needs[k].amount > row[m->needs[k].pool])
            return false;
    return true;
}

/* Earliest start from `time` on at which the pools have room; *entry holds it. */
static double find_room(const model *m, const table *t, int32_t op, double time, int32_t *entry)
{
    int32_t low = 0, high = t->count - 1;
    while (low < high) {
        const int32_t middle = (low + high + 1) / 2;
        if (t->change[middle] <= time)
            low = middle;
        else
            high = middle - 1;
    }
    int32_t first = low;
    for (int32_t k = first; k < t->count && t->change[k] < time + m->duration[op]; k++)
        if (!has_room(m, t, k, op)) {
            first = k + 1;
            time = t->change[first];
        }
    *entry = first;
    return time;
}

static void split_table(const model *m, table *t, int32_t entry, double time)
{
    const size_t after = (size_t)(t->count - entry);
    const int64_t p = m->pools;
    memmove(t->change + entry + 2, t->change + entry + 1, after * sizeof *t->change);
    memmove(t->free_at + (entry + 1) * p, t->free_at + entry * p, after * (size_t)p * sizeof *t->free_at);
    t->change[entry + 1] = time;
    t->count++;
}

static void hold(const model *m, table *t, int32_t op, double time, int32_t entry)
{
    const double end = time + m->duration[op];
    if (t->change[entry] < time)
        split_table(m, t, entry++, time);
    for (int32_t k = entry; t->change[k] < end; k++) {
        if (t->change[k + 1] > end)
            split_table(m, t, k, end);
        for (int64_t q = m->need_ptr[op]; q < m->need_ptr[op + 1]; q++)
            t->free_at[(int64_t)k * m->pools + m->needs[q].pool] -= m->needs[q].amount;
    }
}

/* ------------------------------------------------------------------ walkers */

typedef struct plan {
    int32_t *list, *device; /* [n] */
    double cost;
} plan;

typedef struct walker {
    const model *m;
    sked_i_run *run;
    sked_i_rng rng;
    bool leads;
    atomic_int *halt;
    int64_t evaluations, max_evaluations;
    plan now, next, best;
    double *start;     /* [n] of the last simulation */
    int32_t *cause;    /* [n] op that decided the start, -1 */
    double *available; /* [devices] */
    int32_t *latest;   /* [devices] last op, -1 */
    int32_t *position; /* [n] in now.list */
    int32_t *critical; /* [n] */
    int32_t n_critical;
    table pools;
    double shortest; /* cost of the best valid plan published */
    sked_schedule **elite;
    double *elite_cost;
    int32_t n_elite, max_elite;
    sked_status status;
    sked_error error;
} walker;

static void close_walker(walker *w)
{
    for (int32_t k = 0; k < w->n_elite; k++)
        sked_schedule_destroy(w->elite[k]);
    void *const owned[] = {w->now.list,     w->now.device,    w->next.list, w->next.device,
                           w->best.list,    w->best.device,   w->start,     w->cause,
                           w->available,    w->latest,        w->position,  w->critical,
                           w->pools.change, w->pools.free_at, w->elite,     w->elite_cost};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static sked_status open_walker(walker *w, sked_i_run *run, const model *m, int index, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = m->n, iterations = run->options->iterations, threads = run->options->threads;
    *w = (walker){.m = m, .run = run, .leads = index == 0, .max_evaluations = INT64_MAX};
    w->now.cost = w->next.cost = w->best.cost = w->shortest = INFINITY;
    if (iterations > 0)
        w->max_evaluations = iterations / threads + (index < iterations % threads);
    sked_i_rng_seed(&w->rng, run->options->seed, (uint64_t)index);
    plan *const plans[] = {&w->now, &w->next, &w->best};
    for (int k = 0; k < 3; k++) {
        SKED_NEW(plans[k]->list, n);
        SKED_NEW(plans[k]->device, n);
    }
    SKED_NEW(w->start, n);
    SKED_NEW(w->cause, n);
    SKED_NEW(w->available, m->devices);
    SKED_NEW(w->latest, m->devices);
    SKED_NEW(w->position, n);
    SKED_NEW(w->critical, n);
    SKED_NEW(w->pools.change, 2 * n + 3);
    SKED_NEW(w->pools.free_at, (2 * n + 3) * m->pools);
    if (run->max_kept > 1) {
        SKED_NEW(w->elite, run->max_kept);
        SKED_NEW(w->elite_cost, run->max_kept);
        w->max_elite = run->max_kept;
    }
cleanup:
    return st;
}

static bool over(const walker *w)
{
    if (w->evaluations >= w->max_evaluations || w->status != SKED_OK)
        return true;
    if (w->halt != NULL && atomic_load_explicit(w->halt, memory_order_relaxed))
        return true;
    return sked_i_limit_reached(&w->run->limit);
}

/* ------------------------------------------------------------------ simulation */

/* When everything op i reads has arrived on device d; *cause: what came last. */
static inline double arrival(const walker *w, const int32_t *device, int32_t i, int32_t d, int32_t *cause)
{
    const model *m = w->m;
    double t = 0;
    *cause = -1;
    for (int64_t k = m->pred_ptr[i]; k < m->pred_ptr[i + 1]; k++) {
        const wire *l = &m->pred[k];
        const double at = w->start[l->op] + l->lag + (device[l->op] != d ? l->transfer : 0);
        if (at > t) {
            t = at;
            *cause = l->op;
        }
    }
    return t;
}

static inline double earliest_on(const walker *w, const int32_t *device, int32_t i, int32_t d, int32_t *cause)
{
    double t = arrival(w, device, i, d, cause);
    if (w->m->duration[i] > 0 && w->available[d] > t) {
        t = w->available[d];
        *cause = w->latest[d];
    }
    return t;
}

/* The device on which op i starts first; ties go to the lowest number. */
static int32_t choose_device(const walker *w, const int32_t *device, int32_t i)
{
    int32_t best = 0, cause;
    double first = INFINITY;
    for (int32_t d = 0; d < w->m->devices; d++) {
        const double t = earliest_on(w, device, i, d, &cause);
        if (t < first) {
            first = t;
            best = d;
        }
    }
    return best;
}

/* Fixed ops take their share of the pools before the others. */
static void hold_fixed(walker *w)
{
    const model *m = w->m;
    if (m->pools == 0)
        return;
    clear_table(m, &w->pools);
    for (int32_t i = 0; m->fix_start != NULL && i < m->n; i++) {
        int32_t entry;
        if (!isnan(m->fix_start[i]) && m->need_ptr[i] < m->need_ptr[i + 1] &&
            find_room(m, &w->pools, i, m->fix_start[i], &entry) == m->fix_start[i])
            hold(m, &w->pools, i, m->fix_start[i], entry);
    }
}

/* Start of op i on device d; what a fixed start is missed by is added to *late. */
static double place(walker *w, const int32_t *device, int32_t i, int32_t d, double *late)
{
    const model *m = w->m;
    double t = earliest_on(w, device, i, d, &w->cause[i]);
    if (m->fix_start != NULL && !isnan(m->fix_start[i])) {
        *late += fmax(0, t - m->fix_start[i]);
        return fmax(t, m->fix_start[i]);
    }
    if (m->need_ptr[i] < m->need_ptr[i + 1]) {
        int32_t entry;
        t = find_room(m, &w->pools, i, t, &entry);
        hold(m, &w->pools, i, t, entry);
    }
    return t;
}

/*
 * Simulates the plan's list in order (choose: picks devices on the way). Returns its cost; INFINITY once it
 * is sure to exceed cutoff.
 */
static double simulate(walker *w, plan *p, bool choose, double cutoff)
{
    const model *m = w->m;
    double makespan = 0, late = 0;
    w->evaluations++;
    for (int32_t d = 0; d < m->devices; d++) {
        w->available[d] = 0;
        w->latest[d] = -1;
    }
    hold_fixed(w);
    for (int32_t k = 0; k < m->n; k++) {
        const int32_t i = p->list[k];
        if (choose && !(m->fix_device != NULL && m->fix_device[i] >= 0))
            p->device[i] = choose_device(w, p->device, i);
        const int32_t d = p->device[i];
        const double t = place(w, p->device, i, d, &late);
        w->start[i] = t;
        if (t + m->tail[i] > cutoff)
            return INFINITY;
        const double finish = t + m->duration[i];
        if (m->duration[i] > 0) {
            w->available[d] = finish;
            w->latest[d] = i;
        }
        makespan = finish > makespan ? finish : makespan;
    }
    if (late > 1e-9 * makespan)
        return m->lateness + late;
    return makespan;
}

/* ------------------------------------------------------------------ keeping */

static void copy_plan(const walker *w, plan *to, const plan *from)
{
    const size_t bytes = (size_t)w->m->n * sizeof *to->list;
    memcpy(to->list, from->list, bytes);
    memcpy(to->device, from->device, bytes);
    to->cost = from->cost;
}

static sked_status to_schedule(const walker *w, const plan *p, sked_schedule **out, sked_error *err)
{
    const model *m = w->m;
    const sked_status st = sked_schedule_create(m->n, m->problem->devices, out, err);
    if (st != SKED_OK)
        return st;
    memcpy((*out)->start, w->start, (size_t)m->n * sizeof *w->start);
    if ((*out)->device != NULL)
        memcpy((*out)->device, p->device, (size_t)m->n * sizeof *p->device);
    for (int32_t i = 0; m->fix_start != NULL && i < m->n; i++)
        if (!isnan(m->fix_start[i]))
            (*out)->start[i] = m->fix_start[i];
    return SKED_OK;
}

/* Keeps the schedule just simulated among the elite when it beats the worst there. */
static void keep_elite(walker *w, const plan *p)
{
    int32_t worst = 0;
    for (int32_t k = 1; k < w->n_elite; k++)
        worst = w->elite_cost[k] > w->elite_cost[worst] ? k : worst;
    if (w->n_elite == w->max_elite && p->cost >= w->elite_cost[worst])
        return;
    for (int32_t k = 0; k < w->n_elite; k++)
        if (w->elite_cost[k] == p->cost &&
            memcmp(w->elite[k]->start, w->start, (size_t)w->m->n * sizeof *w->start) == 0)
            return;
    sked_schedule *s = NULL;
    if ((w->status = to_schedule(w, p, &s, &w->error)) != SKED_OK)
        return;
    if (w->n_elite < w->max_elite)
        worst = w->n_elite++;
    else
        sked_schedule_destroy(w->elite[worst]);
    w->elite[worst] = s;
    w->elite_cost[worst] = p->cost;
}

/* Takes note of a plan that has just been simulated to the end. */
static void see(walker *w, const plan *p)
{
    const double horizon = w->m->problem->horizon;
    const bool valid = p->cost < w->m->lateness && p->cost <= horizon * (1 + 1e-12);
    if (valid && w->max_elite > 0)
        keep_elite(w, p);
    if (p->cost >= w->best.cost)
        return;
    copy_plan(w, &w->best, p);
    if (!valid || !w->leads)
        return;
    sked_schedule *s = NULL;
    w->status = to_schedule(w, p, &s, &w->error);
    if (w->status == SKED_OK)
        w->status = sked_i_run_offer(w->run, s, &w->error);
    sked_schedule_destroy(s);
    w->shortest = p->cost;
    sked_i_run_progress(w->run, "search");
    if (w->halt != NULL && sked_i_run_over(w->run))
        atomic_store_explicit(w->halt, 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------ moves */

static void index_list(walker *w)
{
    for (int32_t k = 0; k < w->m->n; k++)
        w->position[w->now.list[k]] = k;
}

/* Ops that decide the makespan of the last simulation, last first. */
static void trace_critical(walker *w)
{
    const model *m = w->m;
    int32_t at = -1;
    w->n_critical = 0;
    for (int32_t i = 0; i < m->n; i++)
        if (at < 0 || w->start[i] + m->duration[i] > w->start[at] + m->duration[at])
            at = i;
    for (; at >= 0 && w->n_critical < m->n; at = w->cause[at])
        w->critical[w->n_critical++] = at;
}

/* Moves list[from] to another place its neighbours in the graph allow; w->position belongs to now.list. */
static void shift(walker *w, int32_t from, bool earlier)
{
    const model *m = w->m;
    int32_t *list = w->next.list;
    const int32_t i = list[from];
    int32_t low = 0, high = m->n - 1;
    for (int64_t k = m->pred_ptr[i]; k < m->pred_ptr[i + 1]; k++)
        low = w->position[m->pred[k].op] >= low ? w->position[m->pred[k].op] + 1 : low;
    for (int64_t k = m->succ_ptr[i]; k < m->succ_ptr[i + 1]; k++)
        high = w->position[m->succ[k].op] <= high ? w->position[m->succ[k].op] - 1 : high;
    if (earlier)
        high = from;
    const int32_t to = low + (int32_t)sked_i_rng_below(&w->rng, (uint64_t)(high - low) + 1);
    if (to < from)
        memmove(list + to + 1, list + to, (size_t)(from - to) * sizeof *list);
    else
        memmove(list + from, list + from + 1, (size_t)(to - from) * sizeof *list);
    list[to] = i;
}

/* Another device: one that a neighbour in the graph runs on, or any. */
static void reassign(walker *w, int32_t i)
{
    const model *m = w->m;
    sked_i_rng *r = &w->rng;
    if (m->devices < 2 || (m->fix_device != NULL && m->fix_device[i] >= 0))
        return;
    const int64_t ins = m->pred_ptr[i + 1] - m->pred_ptr[i], outs = m->succ_ptr[i + 1] - m->succ_ptr[i];
    if (ins + outs > 0 && sked_i_rng_below(r, 2) == 0) {
        const int64_t k = (int64_t)sked_i_rng_below(r, (uint64_t)(ins + outs));
        const int32_t other = k < ins ? m->pred[m->pred_ptr[i] + k].op : m->succ[m->succ_ptr[i] + k - ins].op;
        w->next.device[i] = w->now.device[other];
    } else {
        w->next.device[i] = (int32_t)sked_i_rng_below(r, (uint64_t)m->devices);
    }
}

static void make_move(walker *w)
{
    sked_i_rng *r = &w->rng;
    const bool critical = w->n_critical > 0 && sked_i_rng_below(r, 2) == 0;
    const int32_t i = critical ? w->critical[sked_i_rng_below(r, (uint64_t)w->n_critical)]
                               : (int32_t)sked_i_rng_below(r, (uint64_t)w->m->n);
    const uint64_t kind = sked_i_rng_below(r, 3);
    if (kind != 0)
        reassign(w, i);
    if (kind != 1)
        shift(w, w->position[i], critical);
}

static void accept(walker *w)
{
    const plan t = w->now;
    w->now = w->next;
    w->next = t;
    index_list(w);
    trace_critical(w);
}

/* One annealing from the current plan, cooling from `hot` over so many moves. */
static void anneal(walker *w, double hot, int64_t moves)
{
    w->now.cost = simulate(w, &w->now, false, INFINITY);
    index_list(w);
    trace_critical(w);
    for (int64_t k = 0; k < moves && !over(w); k++) {
        const double cool = 1 - (double)k / (double)moves, heat = hot * cool * cool;
        const double cutoff = w->now.cost + heat * sked_i_rng_exponential(&w->rng);
        copy_plan(w, &w->next, &w->now);
        make_move(w);
        w->next.cost = simulate(w, &w->next, false, cutoff < w->m->lateness ? cutoff : INFINITY);
        if (w->next.cost > cutoff)
            continue;
        see(w, &w->next);
        accept(w);
    }
}

/* ------------------------------------------------------------------ first plans */

typedef struct keyed {
    double key;
    int32_t op, rank; /* rank: topological position, for ties */
} keyed;

static int by_key(const void *x, const void *y)
{
    const keyed *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Ops in order of key, then made topological by depth-first insertion of missing predecessors' order. */
static bool list_by_key(walker *w, const double *key)
{
    const model *m = w->m;
    const sked_graph *g = m->problem->graph;
    keyed *order = sked_i_alloc(m->n, sizeof *order);
    if (order == NULL) {
        w->status = sked_i_no_memory(&w->error);
        return false;
    }
    for (int32_t k = 0; k < m->n; k++)
        order[k] = (keyed){key[g->topo[k]], g->topo[k], k};
    qsort(order, (size_t)m->n, sizeof *order, by_key);
    for (int32_t k = 0; k < m->n; k++)
        w->now.list[k] = order[k].op;
    free(order);
    return true;
}

/* Keys that never decrease along an edge: what sorts by them is topological. */
static void make_monotone(const walker *w, double *key)
{
    const model *m = w->m;
    const sked_graph *g = m->problem->graph;
    for (int32_t k = 0; k < m->n; k++) {
        const int32_t i = g->topo[k];
        for (int64_t q = m->pred_ptr[i]; q < m->pred_ptr[i + 1]; q++)
            key[i] = fmax(key[i], key[m->pred[q].op]);
    }
}

/* Minus the longest way to the end, counting a share of each transfer (upward rank of HEFT). */
static void rank_ops(const walker *w, double share, double *key)
{
    const model *m = w->m;
    const sked_graph *g = m->problem->graph;
    for (int32_t k = m->n - 1; k >= 0; k--) {
        const int32_t i = g->topo[k];
        double longest = m->duration[i];
        for (int64_t q = m->succ_ptr[i]; q < m->succ_ptr[i + 1]; q++)
            longest = fmax(longest, m->succ[q].lag + share * m->succ[q].transfer - key[m->succ[q].op]);
        key[i] = -longest;
    }
    for (int32_t i = 0; m->fix_start != NULL && i < m->n; i++)
        if (!isnan(m->fix_start[i]))
            key[i] = fmax(key[i], m->fix_start[i] - m->tail[i]);
}

static void set_devices(walker *w, int32_t device)
{
    for (int32_t i = 0; i < w->m->n; i++) {
        const bool fixed = w->m->fix_device != NULL && w->m->fix_device[i] >= 0;
        w->now.device[i] = fixed ? w->m->fix_device[i] : device;
    }
}

/* Tries a list with devices chosen on the way, and all on one device. */
static void try_list(walker *w, bool single)
{
    set_devices(w, 0);
    w->now.cost = simulate(w, &w->now, !single, INFINITY);
    see(w, &w->now);
}

static void first_plans(walker *w)
{
    static const double shares[] = {0, 0.5, 1};
    const sked_schedule *s = w->run->options->start;
    double *key = sked_i_alloc(w->m->n, sizeof *key);
    if (key == NULL) {
        w->status = sked_i_no_memory(&w->error);
        return;
    }
    for (int k = 0; k < 3 && w->status == SKED_OK; k++) {
        rank_ops(w, shares[k], key);
        make_monotone(w, key);
        if (list_by_key(w, key))
            try_list(w, false);
    }
    if (w->status == SKED_OK)
        try_list(w, true);
    if (w->status == SKED_OK && s != NULL) {
        memcpy(key, s->start, (size_t)w->m->n * sizeof *key);
        make_monotone(w, key);
        if (list_by_key(w, key)) {
            for (int32_t i = 0; i < w->m->n; i++)
                w->now.device[i] = s->device != NULL ? s->device[i] : 0;
            w->now.cost = simulate(w, &w->now, false, INFINITY);
            see(w, &w->now);
        }
    }
    free(key);
}

/* ------------------------------------------------------------------ the run */

static void walk(void *data, int index)
{
    walker *w = (walker *)data + index;
    static const double heats[] = {0.3, 1, 0.1}; /* of a mean duration or transfer */
    int turn = 0;
    first_plans(w);
    for (int64_t moves = 3000; !over(w) && w->m->n > 0; moves += moves / 2) {
        if (w->leads && w->halt == NULL && sked_i_run_over(w->run))
            break;
        copy_plan(w, &w->now, &w->best);
        anneal(w, heats[turn++ % 3] * w->m->grain, moves);
    }
}

static sked_status merge(sked_i_run *run, walker *walkers, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    double least = INFINITY;
    for (int k = 0; k < count; k++) {
        walker *w = &walkers[k];
        const double horizon = w->m->problem->horizon * (1 + 1e-12);
        run->evaluations += w->evaluations;
        if (w->status != SKED_OK)
            return sked_i_fail(err, w->status, "%s", w->error.message);
        least = fmin(least, w->best.cost);
        if (w->best.cost < w->m->lateness && w->best.cost <= horizon && w->best.cost < w->shortest) {
            sked_schedule *s = NULL;
            (void)simulate(w, &w->best, false, INFINITY);
            if ((st = to_schedule(w, &w->best, &s, err)) == SKED_OK)
                st = sked_i_run_offer(run, s, err);
            sked_schedule_destroy(s);
        }
        for (int32_t e = 0; e < w->n_elite && st == SKED_OK; e++)
            st = sked_i_run_offer(run, w->elite[e], err);
        if (st != SKED_OK)
            return st;
    }
    if (run->n_kept > 0 || isinf(least))
        return SKED_OK;
    if (least >= walkers[0].m->lateness)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "none found: no schedule met all fixed starts and devices (not a proof)");
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "none found: the horizon is %g, the shortest schedule seen takes %g (not a proof)",
                       run->problem->horizon, least);
}

sked_status sked_i_transfer_search(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    atomic_int halt = 0;
    int opened = 0;
    model m = {0};
    walker *walkers = NULL;
    SKED_TRY(open_model(&m, run->problem, err));
    SKED_NEW0(walkers, threads);
    for (; opened < threads; opened++) {
        SKED_TRY(open_walker(&walkers[opened], run, &m, opened, err));
        walkers[opened].halt = run->options->iterations > 0 || threads == 1 ? NULL : &halt;
    }
    SKED_TRY(sked_i_parallel(threads, walk, walkers, err));
    SKED_TRY(merge(run, walkers, threads, err));
cleanup:
    for (int k = 0; walkers != NULL && k < threads; k++)
        close_walker(&walkers[k]);
    free(walkers);
    close_model(&m);
    return st;
}
