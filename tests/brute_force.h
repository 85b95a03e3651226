/*
 * Exact answers for tiny problems, by enumeration. Two ways that share nothing with the library but its
 * public accessors (and little with each other):
 *
 * brute_force_orders: every order of the ops and every choice of devices, each op as early as it fits. Real
 * times are fine. Lags must be 0 or more; objective makespan; no horizon, II or fixed decisions. n <= 8.
 *
 * brute_force_times: every integer start up to a horizon. Integer problems only; all lags, loops (p->ii > 0),
 * fixed decisions, memory limits and every objective but ii. n <= 6 or so.
 */
#ifndef SKED_TESTS_BRUTE_FORCE_H
#define SKED_TESTS_BRUTE_FORCE_H
#include "graph/graph.h"
#include "test.h"

#include <math.h>

enum { BRUTE_OPS = 12, BRUTE_EDGES = 160, BRUTE_POOLS = 4, BRUTE_TIME = 64 };

typedef struct brute {
    const sked_problem *p;
    int n, edges, pools;
    sked_edge edge[BRUTE_EDGES];
    bool given[BRUTE_EDGES]; /* the lag does not follow the duration */
    bool reads[BRUTE_EDGES]; /* a value passes */
    double time[BRUTE_OPS][8], demand[BRUTE_OPS][BRUTE_POOLS], capacity[BRUTE_POOLS];
    double start[BRUTE_OPS];
    int device[BRUTE_OPS];
    bool placed[BRUTE_OPS];
    int order[BRUTE_OPS]; /* topological */
    double best;
    int limit;             /* brute_force_times: latest finish */
    int64_t steps, budget; /* brute_force_within */
    double load[BRUTE_POOLS][BRUTE_TIME], busy[8][BRUTE_TIME];
} brute;

static inline bool brute_counts(const brute *b, const sked_edge *e)
{
    return e->distance == 0 || b->p->ii > 0;
}

static inline void brute_order(brute *b)
{
    bool done[BRUTE_OPS] = {false};
    for (int k = 0; k < b->n; k++)
        for (int i = 0; i < b->n; i++) {
            bool ready = !done[i];
            for (int e = 0; ready && e < b->edges; e++)
                ready = b->edge[e].to != i || b->edge[e].distance > 0 || done[b->edge[e].from];
            if (!ready)
                continue;
            b->order[k] = i;
            done[i] = true;
            break;
        }
}

static inline void brute_load(brute *b, const sked_problem *p)
{
    *b = (brute){.p = p, .best = INFINITY};
    b->n = sked_graph_op_count(p->graph);
    b->edges = (int)sked_graph_edge_count(p->graph);
    double order[BRUTE_EDGES];
    sked_graph_attribute(p->graph, sked_attribute_find("order"), order);
    for (int e = 0; e < b->edges; e++)
        b->reads[e] = order[e] == 0;
    b->pools = sked_graph_resource_count(p->graph);
    assert_in_range(b->n, 0, BRUTE_OPS);
    assert_in_range(b->edges, 0, BRUTE_EDGES);
    assert_in_range(b->pools, 0, BRUTE_POOLS);
    assert_in_range(p->devices, 0, 8);
    for (int e = 0; e < b->edges; e++)
        sked_graph_edge(p->graph, e, &b->edge[e]);
    for (int e = 0; e < b->edges; e++)
        b->given[e] = p->machine == NULL || p->graph->edge_lag_given[e];
    for (int r = 0; r < b->pools; r++)
        b->capacity[r] = p->capacity ? p->capacity[r] : sked_graph_capacity(p->graph, r);
    for (int i = 0; i < b->n; i++) {
        for (int d = 0; d < (p->devices ? p->devices : 1); d++)
            b->time[i][d] = sked_problem_duration(p, i, d);
        for (int r = 0; r < b->pools; r++)
            b->demand[i][r] = sked_graph_demand(p->graph, i, r);
    }
    brute_order(b);
}

/* Time of op i where it is placed. */
static inline double brute_time(const brute *b, int i)
{
    return b->time[i][b->device[i]];
}

/* Lag of edge e when its `from` runs where it is placed; a lag that was given stays as it is. */
static inline double brute_lag(const brute *b, int e)
{
    const sked_edge *x = &b->edge[e];
    return b->given[e] ? x->lag : brute_time(b, x->from);
}

/* What edge e adds to its lag when its ends run on devices a and c. */
static inline double brute_transfer(const brute *b, const sked_edge *e, int a, int c)
{
    double latency = b->p->latency, bandwidth = b->p->bandwidth;
    if (a == c || b->p->devices == 0)
        return 0;
    if (b->p->machine != NULL && !sked_machine_link(b->p->machine, a, c, &latency, &bandwidth))
        return e->bytes > 0 ? INFINITY : 0;
    return latency + e->bytes / bandwidth;
}

/* May op i run at time t, given the ops placed so far? Real times, compared as they are. */
static inline bool brute_fits(const brute *b, int i, double t, int device)
{
    const double time = b->time[i][device], end = t + time;
    double moment[BRUTE_OPS + 1] = {t};
    int moments = 1;
    for (int j = 0; j < b->n; j++) {
        if (!b->placed[j] || !(brute_time(b, j) > 0) || !(time > 0))
            continue;
        const bool overlap = b->start[j] < end - 1e-9 && t < b->start[j] + brute_time(b, j) - 1e-9;
        if (overlap && b->p->devices > 0 && b->device[j] == device)
            return false;
        if (overlap && b->start[j] > t)
            moment[moments++] = b->start[j];
    }
    for (int k = 0; k < moments; k++)
        for (int r = 0; r < b->pools; r++) {
            double load = b->demand[i][r];
            for (int j = 0; j < b->n; j++)
                if (b->placed[j] && b->start[j] <= moment[k] + 1e-9 &&
                    moment[k] < b->start[j] + brute_time(b, j) - 1e-9)
                    load += b->demand[j][r];
            if (time > 0 && b->demand[i][r] > 0 && load > b->capacity[r] + 1e-9)
                return false;
        }
    return true;
}

/* Earliest start of op i on a device: when its data is there, or when some placed op ends. */
static inline double brute_earliest(const brute *b, int i, int device)
{
    double ready = 0, best = INFINITY;
    for (int e = 0; e < b->edges; e++)
        if (b->edge[e].to == i && b->edge[e].distance == 0) {
            const int from = b->edge[e].from;
            ready = fmax(ready, b->start[from] + brute_lag(b, e) +
                                    brute_transfer(b, &b->edge[e], b->device[from], device));
        }
    if (brute_fits(b, i, ready, device))
        return ready;
    for (int j = 0; j < b->n; j++) {
        const double t = b->start[j] + brute_time(b, j);
        if (b->placed[j] && t >= ready && t < best && brute_fits(b, i, t, device))
            best = t;
    }
    return best;
}

static inline void brute_search_orders(brute *b, int depth, double latest, int used)
{
    if (latest >= b->best - 1e-12)
        return;
    if (depth == b->n) {
        b->best = latest;
        return;
    }
    for (int i = 0; i < b->n; i++) {
        bool ready = !b->placed[i];
        for (int e = 0; ready && e < b->edges; e++)
            ready = b->edge[e].to != i || b->edge[e].distance > 0 || b->placed[b->edge[e].from];
        const int devices = b->p->machine == NULL && used < b->p->devices ? used + 1 : b->p->devices;
        for (int d = 0; ready && d < (devices ? devices : 1); d++) { /* unless they are all alike */
            if (isinf(b->time[i][d]))
                continue;
            b->start[i] = brute_earliest(b, i, d);
            b->device[i] = d;
            b->placed[i] = true;
            brute_search_orders(b, depth + 1, fmax(latest, b->start[i] + b->time[i][d]),
                                d == used ? used + 1 : used);
            b->placed[i] = false;
        }
    }
}

/* The least makespan. */
static inline double brute_force_orders(const sked_problem *p)
{
    static brute b;
    brute_load(&b, p);
    brute_search_orders(&b, 0, 0, 0);
    return b.n == 0 ? 0 : b.best;
}

/* Do readers hold what they read until they end? */
static inline bool brute_to_finish(const sked_problem *p)
{
    bool limited = p->memory_limit < INFINITY;
    for (int d = 0; p->machine != NULL && d < p->devices; d++)
        limited = limited || sked_machine_device_memory(p->machine, d) < INFINITY;
    return p->lifetime == SKED_LIFETIME_FINISH || (p->lifetime == SKED_LIFETIME_AUTO && limited);
}

/* Is the value of op i on device d during the step from t to t + 1? By the definition, without an interval.
 */
static inline bool brute_holds(const brute *b, int i, int d, int t, double makespan)
{
    const bool to_finish = brute_to_finish(b->p);
    bool arrived = false, wanted = false, sent = true;
    for (int e = 0; e < b->edges; e++) {
        const sked_edge *x = &b->edge[e];
        if (x->from != i || x->distance > 0 || !b->reads[e])
            continue;
        const int where = b->device[x->to];
        const double arrival = b->start[i] + brute_lag(b, e) + brute_transfer(b, x, b->device[i], where);
        if (where == d) {
            arrived = arrived || arrival <= t;
            wanted = wanted || t < b->start[x->to] + (to_finish ? brute_time(b, x->to) : 0);
        } else if (d == b->device[i] && t < arrival)
            sent = false;
    }
    if (d != b->device[i])
        return arrived && wanted;
    const bool made = b->start[i] <= t, running = to_finish && t < b->start[i] + brute_time(b, i);
    const bool kept = sked_graph_keep(b->p->graph, i) && t < makespan;
    return made && (running || wanted || !sent || kept);
}

/* Memory held during the step from t to t + 1 on device d; -1: on all together. */
static inline double brute_memory_at(const brute *b, int d, int t)
{
    double sum = 0, makespan = 0;
    for (int i = 0; i < b->n; i++)
        makespan = fmax(makespan, b->start[i] + brute_time(b, i));
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < (b->p->devices ? b->p->devices : 1); k++)
            if ((d < 0 || d == k) && brute_holds(b, i, k, t, makespan))
                sum += sked_graph_memory(b->p->graph, i);
    return sum;
}

/* Highest memory of a finished schedule on device d, or (-1) on all together. */
static inline double brute_peak(const brute *b, int d)
{
    double peak = 0;
    for (int t = 0; t < b->limit; t++)
        peak = fmax(peak, brute_memory_at(b, d, t));
    return peak;
}

static inline bool brute_limits_kept(const brute *b)
{
    for (int d = 0; b->p->machine != NULL && d < b->p->devices; d++)
        if (brute_peak(b, d) > sked_machine_device_memory(b->p->machine, d))
            return false;
    return !(b->p->memory_limit < INFINITY) || brute_peak(b, -1) <= b->p->memory_limit;
}

/* Value of the finished integer schedule, step by step from the definitions. */
static inline double brute_value(const brute *b)
{
    const int ii = (int)b->p->ii, span = ii > 0 ? ii : b->limit + 1;
    double makespan = 0, communication = 0, memory[BRUTE_TIME] = {0},
           load[BRUTE_POOLS + 1][BRUTE_TIME] = {{0}};
    const bool to_finish = brute_to_finish(b->p);
    bool pooled = false;
    for (int i = 0; i < b->n; i++)
        makespan = fmax(makespan, b->start[i] + brute_time(b, i));
    for (int i = 0; i < b->n; i++) {
        const bool kept = sked_graph_keep(b->p->graph, i);
        double last = kept ? makespan : b->start[i] + (to_finish ? brute_time(b, i) : 0);
        for (int e = 0; e < b->edges; e++)
            if (b->edge[e].from == i && brute_counts(b, &b->edge[e])) {
                const double use = b->start[b->edge[e].to] + b->edge[e].distance * b->p->ii;
                last = b->reads[e] ? fmax(last, use + (to_finish ? brute_time(b, b->edge[e].to) : 0)) : last;
                communication += b->edge[e].bytes > 0 ? use - b->start[i] : 0;
            }
        for (int t = (int)b->start[i]; t < (int)last; t++)
            memory[t % span] += sked_graph_memory(b->p->graph, i);
        for (int t = (int)b->start[i]; t < (int)(b->start[i] + brute_time(b, i)); t++) {
            for (int r = 0; r < b->pools; r++)
                load[r][t % span] += b->demand[i][r] * sked_graph_weight(b->p->graph, i);
            load[b->pools][t % span] += sked_graph_weight(b->p->graph, i);
        }
        for (int r = 0; r < b->pools; r++)
            pooled = pooled || b->demand[i][r] > 0;
    }
    double peak_memory = 0, resource = 0;
    for (int r = pooled ? 0 : b->pools; r < (pooled ? b->pools : b->pools + 1); r++) {
        double peak = 0;
        for (int t = 0; t < span; t++)
            peak = fmax(peak, load[r][t]);
        resource += peak;
    }
    for (int t = 0; t < span; t++)
        peak_memory = fmax(peak_memory, memory[t]);
    if (ii == 0 && b->p->objective == SKED_OBJECTIVE_MEMORY) /* lifetimes, kept values, copies */
        peak_memory = brute_peak(b, -1);
    const double value[] = {makespan, resource, peak_memory, resource + b->p->alpha * communication};
    return value[b->p->objective];
}

/* Adds (sign 1) or takes back (-1) what op i holds; false where it is too much. */
static inline bool brute_hold(brute *b, int i, double sign)
{
    const int ii = (int)b->p->ii, begin = (int)b->start[i], end = begin + (int)brute_time(b, i);
    bool fits = true;
    for (int t = begin; t < end; t++) {
        const int slot = ii > 0 ? t % ii : t;
        for (int r = 0; r < b->pools; r++) {
            b->load[r][slot] += sign * b->demand[i][r];
            fits = fits && b->load[r][slot] <= b->capacity[r];
        }
        if (b->p->devices > 0)
            fits = (b->busy[b->device[i]][slot] += sign) <= 1 && fits;
    }
    return fits;
}

/* Are the edges between placed ops kept? */
static inline bool brute_edges_kept(const brute *b, int i)
{
    for (int e = 0; e < b->edges; e++) {
        const sked_edge *x = &b->edge[e];
        if ((x->from != i && x->to != i) || !b->placed[x->from] || !b->placed[x->to] || !brute_counts(b, x))
            continue;
        const double extra = brute_transfer(b, x, b->device[x->from], b->device[x->to]);
        if (b->start[x->to] < b->start[x->from] + brute_lag(b, e) - x->distance * b->p->ii + extra)
            return false;
    }
    return true;
}

static inline void brute_search_times(brute *b, int depth, int used)
{
    b->steps += depth < b->n ? 1 : b->limit;
    if (b->steps > b->budget)
        return;
    if (depth == b->n) {
        if (brute_limits_kept(b))
            b->best = fmin(b->best, brute_value(b));
        return;
    }
    const int i = b->order[depth];
    const bool named =
        b->p->fix_device != NULL || b->p->machine != NULL; /* then devices differ, and all have to be tried */
    const int devices = !named && used < b->p->devices ? used + 1 : b->p->devices;
    b->placed[i] = true;
    for (int t = 0; t <= b->limit; t++) {
        if (b->p->objective == SKED_OBJECTIVE_MAKESPAN && t >= b->best)
            break;
        if (b->p->fix_start && !isnan(b->p->fix_start[i]) && b->p->fix_start[i] != t)
            continue;
        for (int d = 0; d < (devices ? devices : 1); d++) {
            if (b->p->fix_device && b->p->fix_device[i] >= 0 && b->p->fix_device[i] != d)
                continue;
            if (t + b->time[i][d] > b->limit ||
                (b->p->objective == SKED_OBJECTIVE_MAKESPAN && t + b->time[i][d] >= b->best))
                continue;
            b->start[i] = t;
            b->device[i] = d;
            if (brute_edges_kept(b, i) && brute_hold(b, i, 1))
                brute_search_times(b, depth + 1, d == used ? used + 1 : used);
            else if (!brute_edges_kept(b, i))
                continue;
            brute_hold(b, i, -1);
        }
    }
    b->placed[i] = false;
}

/* The least value of p's objective with every finish at most `limit` and p's horizon; INFINITY: none; NAN:
 * that would take more steps than the budget. */
static inline double brute_force_within(const sked_problem *p, int limit, int64_t budget)
{
    static brute b;
    brute_load(&b, p);
    assert_in_range(limit, 0, BRUTE_TIME - 1);
    b.limit = p->horizon < limit ? (int)p->horizon : limit;
    b.budget = budget;
    brute_search_times(&b, 0, 0);
    return b.steps > budget ? NAN : b.best;
}

static inline double brute_force_times(const sked_problem *p, int limit)
{
    return brute_force_within(p, limit, INT64_MAX);
}
#endif
