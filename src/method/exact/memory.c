/*
 * Makespan under memory limits, by enumeration. Ops are placed in the order of their starts. Without copies
 * some best schedule starts every op as early as it fits behind the one before: what is held then is part of
 * what any other schedule in that order holds. With several devices that is not so, for a copy is held from
 * its arrival: a late start of its maker shortens that. There every whole time is tried, which is enough:
 * rounding all starts down keeps whole distances and brings no two holdings together.
 *
 * Before an op is placed at t, what is certainly held before t is compared with the limits. Full schedules go
 * to the validator.
 */
#include "method/exact/exact.h"

#include "method/memory_limits.h"

typedef struct bounded {
    sked_i_run *run;
    const sked_problem *p;
    const sked_graph *g;
    sked_i_memory m;
    sked_schedule *s;
    int32_t *device; /* of s, or zeros */
    bool *placed;
    int32_t *missing, *used; /* predecessors not placed; ops on each device */
    int32_t left;
    bool early; /* the first time that fits is enough */
    double slack, best;
    int64_t nodes, looks; /* looks: times tried */
    bool stopped;
    sked_status status;
    sked_error *err;
} bounded;

bool sked_i_exact_memory_fits(const sked_problem *p)
{
    for (int64_t e = 0; e < p->graph->n_edges; e++)
        if (p->graph->edge_distance[e] == 0 && p->graph->edge_lag[e] < 0)
            return false;
    return p->devices <= 1 || sked_i_problem_integral(p);
}

static double time_of(const bounded *x, int32_t op)
{
    return sked_i_time(&x->m.costs, op, x->device[op]);
}

/* When the data of edge e is on device d. */
static double arrival(const bounded *x, int64_t e, int32_t d)
{
    const int32_t from = x->g->edge_from[e], home = x->device[from];
    return x->s->start[from] + sked_i_lag(&x->m.costs, e, home) +
           sked_i_transfer_time(&x->m.costs, x->g->edge_bytes[e], home, d);
}

static double ready_at(const bounded *x, int32_t op, int32_t d)
{
    double at = 0;
    for (int64_t k = x->g->pred_ptr[op]; k < x->g->pred_ptr[op + 1]; k++)
        if (x->g->edge_distance[x->g->pred_edge[k]] == 0)
            at = fmax(at, arrival(x, x->g->pred_edge[k], d));
    return at;
}

/* ------------------------------------------------------------------ what is certainly held */

/* Copies of the value of op on device d (-1: anywhere) at a time, by the ops placed so far. */
static int32_t holdings(const bounded *x, int32_t op, int32_t d, double time)
{
    const sked_graph *g = x->g;
    const int32_t home = x->device[op];
    const double begin = x->s->start[op];
    double home_end = begin + (x->m.to_finish ? time_of(x, op) : 0);
    bool unread = sked_i_memory_keeps(&x->m, op);
    int32_t count = 0;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e], where = x->device[to];
        if (g->edge_distance[e] > 0)
            continue;
        unread = unread || !x->placed[to];
        if (!x->placed[to])
            continue;
        const double release = x->s->start[to] + (x->m.to_finish ? time_of(x, to) : 0);
        home_end = fmax(home_end, where == home ? release : arrival(x, e, where));
        bool first = where != home && arrival(x, e, where) <= time && time < release;
        for (int64_t o = g->succ_ptr[op]; first && o < e; o++) /* each device once */
            first = !(g->edge_distance[o] == 0 && x->placed[g->edge_to[o]] &&
                      x->device[g->edge_to[o]] == where && arrival(x, o, where) <= time &&
                      time < x->s->start[g->edge_to[o]] + (x->m.to_finish ? time_of(x, g->edge_to[o]) : 0));
        count += first && (d < 0 || d == where);
    }
    if (begin <= time && time < home_end)
        count += d < 0 || d == home;
    else if (unread && begin <= time && count == 0)
        count = d < 0 || x->m.devices == 1; /* somewhere */
    return count;
}

static bool holds(const bounded *x, int32_t d, double limit, double time)
{
    double sum = 0;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        if (x->placed[i] && x->g->memory[i] > 0)
            sum += x->g->memory[i] * holdings(x, i, d, time);
    return sum <= limit;
}

/* Are all limits kept at that time, as far as the placed ops say? */
static bool kept_at(const bounded *x, double time)
{
    for (int32_t d = 0; d < x->m.devices; d++)
        if (x->m.store_of[d] >= 0 && !holds(x, d, x->m.limit[x->m.store_of[d]], time))
            return false;
    return x->m.total < 0 || holds(x, -1, x->m.limit[x->m.total], time);
}

/* At every time before `until` when something came. */
static bool kept_before(const bounded *x, double until)
{
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        if (!x->placed[i])
            continue;
        if (x->s->start[i] < until && !kept_at(x, x->s->start[i]))
            return false;
        for (int64_t k = x->g->pred_ptr[i]; x->m.devices > 1 && k < x->g->pred_ptr[i + 1]; k++) {
            const double at = x->g->edge_distance[x->g->pred_edge[k]] == 0
                                  ? arrival(x, x->g->pred_edge[k], x->device[i])
                                  : INFINITY;
            if (at < until && !kept_at(x, at))
                return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ devices and pools */

/* Ops are placed in the order of their starts: what runs at `at` is all there is from then on. */
static bool machine_admits(const bounded *x, int32_t op, int32_t d, double at)
{
    const sked_graph *g = x->g;
    if (!(sked_i_time(&x->m.costs, op, d) > 0))
        return true;
    for (int32_t i = 0; x->m.occupied && i < g->n_ops; i++)
        if (x->placed[i] && x->device[i] == d && at < x->s->start[i] + time_of(x, i) - x->slack)
            return false;
    for (int64_t k = g->demand_ptr[op]; k < g->demand_ptr[op + 1]; k++) {
        const double capacity = sked_i_capacity(x->p, g->demand_resource[k]);
        double load = g->demand_amount[k];
        for (int32_t i = 0; i < g->n_ops; i++)
            if (x->placed[i] && at < x->s->start[i] + time_of(x, i) - x->slack)
                load += sked_graph_demand(g, i, g->demand_resource[k]);
        if (load > capacity + (g->integral ? 0 : 1e-9 * fmax(1, capacity)))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the search */

static bool hopeless(const bounded *x, double now)
{
    double work = 0;
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        if (x->placed[i]) {
            const double end = x->s->start[i] + time_of(x, i);
            if (!(end < x->best))
                return true;
            work += fmax(0, end - fmax(now, x->s->start[i]));
            continue;
        }
        work += sked_i_shortest_time(&x->m.costs, i);
        if (!(now + x->m.tail[i] < x->best))
            return true;
    }
    return x->m.occupied && !(now + work / x->m.devices < x->best);
}

static void take(bounded *x)
{
    sked_error ignored = {0};
    sked_i_run_evaluated(x->run, 1);
    if (sked_schedule_validate(x->p, x->s, &ignored) != SKED_OK) {
        x->status = ignored.status == SKED_ERR_MEMORY ? sked_i_no_memory(x->err) : x->status;
        x->stopped = x->stopped || x->status != SKED_OK;
        return;
    }
    x->status = sked_i_run_offer(x->run, x->s, x->err);
    x->best = sked_i_latest_finish(&x->m.costs, x->s) - x->slack;
    x->stopped = x->status != SKED_OK;
}

static void place(bounded *x, int32_t op, int32_t d, double at, int by)
{
    x->placed[op] = by > 0;
    x->s->start[op] = at;
    x->device[op] = d;
    x->used[d] += by;
    x->left -= by;
    for (int64_t e = x->g->succ_ptr[op]; e < x->g->succ_ptr[op + 1]; e++)
        if (x->g->edge_distance[e] == 0)
            x->missing[x->g->edge_to[e]] -= by;
}

static void descend(bounded *x, double now);

/* Places op at `at` and goes on. Returns whether memory admits it there. */
static bool try_at(bounded *x, int32_t op, int32_t d, double at)
{
    if ((++x->looks & 63) == 0 && sked_i_run_over(x->run))
        x->stopped = true;
    if (x->stopped || !machine_admits(x, op, d, at) || !kept_before(x, at))
        return false;
    place(x, op, d, at, 1);
    const bool fits = !x->early || kept_at(x, at);
    if (fits)
        descend(x, at);
    place(x, op, d, at, -1);
    return fits;
}

/* The next time at which something placed ends. */
static double next_event(const bounded *x, double after)
{
    double next = INFINITY;
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        if (!x->placed[i])
            continue;
        const double end = x->s->start[i] + time_of(x, i);
        next = end > after && end < next ? end : next;
    }
    return next;
}

static void try_times(bounded *x, int32_t op, int32_t d, double from)
{
    const double time = sked_i_time(&x->m.costs, op, d);
    const double fixed = x->p->fix_start ? x->p->fix_start[op] : NAN;
    if (!isnan(fixed)) {
        if (fixed >= from - x->slack && fixed + x->m.tail[op] < x->best)
            (void)try_at(x, op, d, fixed);
        return;
    }
    for (double at = from;
         !x->stopped && at + fmax(time, x->m.tail[op]) < x->best && at + time <= x->p->horizon + x->slack;
         at = x->m.devices > 1 ? at + 1 : next_event(x, at))
        if (try_at(x, op, d, at) && x->early)
            break;
}

static void try_op(bounded *x, int32_t op, double now)
{
    bool fresh_seen = false;
    for (int32_t d = 0; d < x->m.devices && !x->stopped; d++) {
        if (!sked_i_memory_able(&x->m, op, d))
            continue;
        if (x->p->machine == NULL && x->p->fix_device == NULL && x->used[d] == 0) { /* all alike */
            if (fresh_seen)
                continue;
            fresh_seen = true;
        }
        const double ready = ready_at(x, op, d);
        if (ready < INFINITY)
            try_times(x, op, d, fmax(now, ready));
    }
}

static void descend(bounded *x, double now)
{
    const int64_t allowed = x->run->options->iterations;
    x->nodes++;
    if (((x->nodes & 63) == 0 && sked_i_run_over(x->run)) || (allowed > 0 && x->nodes > allowed))
        x->stopped = true;
    if (x->stopped || hopeless(x, now))
        return;
    if (x->left == 0) {
        take(x);
        return;
    }
    for (int32_t i = 0; i < x->g->n_ops && !x->stopped; i++)
        if (!x->placed[i] && x->missing[i] == 0)
            try_op(x, i, now);
}

/* Later than everything one after the other, with every wait between: time in which nothing happens can go.
 */
static double latest(const bounded *x)
{
    const sked_graph *g = x->g;
    double sum = 1, fixed = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        double longest = sked_i_longest_time(&x->m.costs, i);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            longest = fmax(longest, fmax(g->edge_lag[e], longest) +
                                        sked_i_longest_transfer(&x->m.costs, g->edge_bytes[e]));
        sum += longest;
        if (x->p->fix_start != NULL && x->p->fix_start[i] > fixed)
            fixed = x->p->fix_start[i];
    }
    return sum + fixed;
}

static sked_status conclude(const bounded *x, sked_error *err)
{
    if (x->status != SKED_OK || x->stopped)
        return x->status;
    if (sked_i_run_incumbent(x->run) == NULL)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE, "proved by enumeration: no schedule keeps all limits");
    sked_i_run_prove(x->run);
    return SKED_OK;
}

static sked_status open_bounded(bounded *x, sked_error *err)
{
    const int32_t n = x->g->n_ops;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_memory_make(x->p, x->run->costs, &x->m, err));
    SKED_TRY(sked_schedule_create(n, x->p->devices, &x->s, err));
    SKED_NEW0(x->device, n);
    SKED_NEW0(x->placed, n);
    SKED_NEW0(x->missing, n);
    SKED_NEW0(x->used, x->m.devices);
    for (int64_t e = 0; e < x->g->n_edges; e++)
        x->missing[x->g->edge_to[e]] += x->g->edge_distance[e] == 0;
    x->left = n;
    x->early = x->m.devices == 1 && x->m.to_finish;
    for (int32_t i = 0; i < n; i++)
        x->early = x->early && sked_i_shortest_time(&x->m.costs, i) > 0;
cleanup:
    return st;
}

sked_status sked_i_exact_memory(sked_i_run *run, sked_error *err)
{
    bounded x = {.run = run, .p = run->problem, .g = run->problem->graph, .err = err};
    sked_status st = open_bounded(&x, err);
    int32_t *own = x.device;
    if (st == SKED_OK) {
        x.best = sked_i_run_best(run);
        x.slack = sked_i_problem_integral(x.p) ? 0 : 1e-9 * fmax(1, fmin(x.best, 1e100));
        x.best = x.best < INFINITY ? x.best - x.slack : latest(&x);
        if (x.s->device != NULL)
            x.device = x.s->device;
        sked_i_run_progress(run, "enumeration");
        descend(&x, 0);
        st = conclude(&x, err);
    }
    sked_schedule_destroy(x.s);
    sked_i_memory_free(&x.m);
    free(own);
    free(x.placed);
    free(x.missing);
    free(x.used);
    return st;
}
