/*
 * The judge. Written from the problem definition alone: it shares no code with the simulator, the
 * bounds, the metrics or any method, only the graph's columns, so that an error there cannot hide here.
 *
 * Rules, in the order they are checked:
 *   1 the schedule has the problem's ops and devices, and an II exactly when the problem is pipelined
 *   2 every start is a finite number, 0 or more
 *   3 every device is one of the machine's
 *   4 start(to) >= start(from) + lag - distance * II, plus the transfer between different devices
 *   5 a device runs one op at a time (folded by II when pipelined)
 *   6 no resource holds more than its capacity (folded by II when pipelined)
 *   7 nothing finishes after the horizon
 *   8 fixed starts and devices are kept
 */
#include "base/memory.h"
#include "base/sized.h"
#include "base/sort.h"
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

typedef struct judge {
    const sked_problem *p;
    const sked_schedule *s;
    double tolerance; /* 0 where everything is an integer */
    sked_error *err;
} judge;

typedef struct event {
    double time;
    double amount; /* > 0: taken, < 0: given back */
    int32_t op;
} event;

/* Room for the events of one pool, and for sorting them. */
typedef struct events {
    event *at;
    sked_i_keyed *order, *spare;
} events;

static sked_status broken(const judge *j, const char *rule)
{
    return sked_i_fail(j->err, SKED_ERR_INVALID, "%s", rule);
}

static const char *name_of(const judge *j, int32_t op, char buf[80])
{
    return sked_i_op_label(j->p->graph, op, buf, 80);
}

static bool is_integer(double x)
{
    return x == floor(x) && fabs(x) < 0x1p53;
}

/* Zero tolerance needs integer starts, durations, lags, transfers and II. */
static double find_tolerance(const sked_problem *p, const sked_schedule *s)
{
    const sked_graph *g = p->graph;
    bool exact = is_integer(s->ii) && (isinf(p->horizon) || is_integer(p->horizon));
    double scale = 1;
    for (int32_t i = 0; i < g->n_ops; i++) {
        exact = exact && is_integer(s->start[i]) && is_integer(g->duration[i]);
        scale = fmax(scale, fabs(s->start[i]) + g->duration[i]);
    }
    for (int64_t e = 0; exact && e < g->n_edges; e++) {
        const double extra = p->devices > 1 ? p->latency + g->edge_bytes[e] / p->bandwidth : 0;
        exact = is_integer(g->edge_lag[e]) && is_integer(extra);
    }
    return exact ? 0 : 1e-9 * scale;
}

static sked_status check_shape(const judge *j)
{
    char text[160];
    const sked_problem *p = j->p;
    const sked_schedule *s = j->s;
    if (s->ops != p->graph->n_ops) {
        snprintf(text, sizeof text, "the schedule has %d ops, the graph %d", (int)s->ops,
                 (int)p->graph->n_ops);
        return broken(j, text);
    }
    if (s->devices != p->devices || (s->device == NULL) != (p->devices == 0)) {
        snprintf(text, sizeof text, "the schedule is for %d devices, the machine has %d", (int)s->devices,
                 (int)p->devices);
        return broken(j, text);
    }
    const bool pipelined = p->ii != 0 || p->objective == SKED_OBJECTIVE_II;
    if (pipelined && !(s->ii > 0 && s->ii < INFINITY))
        return broken(j, "the problem is pipelined, but the schedule has no initiation interval");
    if (!pipelined && s->ii != 0)
        return broken(j, "the schedule has an initiation interval, but the problem is not pipelined");
    if (p->ii > 0 && s->ii != p->ii) {
        snprintf(text, sizeof text, "the schedule has II %g, the problem asks for %g", s->ii, p->ii);
        return broken(j, text);
    }
    return SKED_OK;
}

static sked_status check_values(const judge *j)
{
    char name[80], text[240];
    for (int32_t i = 0; i < j->s->ops; i++) {
        if (!(j->s->start[i] >= 0 && j->s->start[i] < INFINITY)) {
            snprintf(text, sizeof text, "op '%s' starts at %g: starts are finite and 0 or more",
                     name_of(j, i, name), j->s->start[i]);
            return broken(j, text);
        }
        if (j->s->device != NULL && (j->s->device[i] < 0 || j->s->device[i] >= j->p->devices)) {
            snprintf(text, sizeof text, "op '%s' runs on device %d, but devices are 0 to %d",
                     name_of(j, i, name), (int)j->s->device[i], (int)j->p->devices - 1);
            return broken(j, text);
        }
    }
    return SKED_OK;
}

static sked_status check_edge(const judge *j, int64_t e)
{
    const sked_graph *g = j->p->graph;
    const int32_t from = g->edge_from[e], to = g->edge_to[e];
    if (g->edge_distance[e] > 0 && j->s->ii == 0)
        return SKED_OK; /* joins different iterations, and this schedule is of one */
    double earliest = j->s->start[from] + g->edge_lag[e] - g->edge_distance[e] * j->s->ii;
    const bool crosses = j->s->device != NULL && j->s->device[from] != j->s->device[to];
    if (crosses)
        earliest += j->p->latency + g->edge_bytes[e] / j->p->bandwidth;
    if (j->s->start[to] >= earliest - j->tolerance)
        return SKED_OK;
    char a[80], b[80], text[400];
    snprintf(
        text, sizeof text, "op '%s' starts at %.12g, but '%s' (start %.12g, lag %g%s%s) allows it from %.12g",
        name_of(j, to, b), j->s->start[to], name_of(j, from, a), j->s->start[from], g->edge_lag[e],
        g->edge_distance[e] ? ", loop-carried" : "", crosses ? ", transfer between devices" : "", earliest);
    return broken(j, text);
}

/* The pieces of [start, start + busy) folded into [0, ii): at most two, and `whole` full turns. */
static int64_t fold(double start, double busy, double ii, int32_t op, double amount, event *out,
                    double *whole)
{
    const double rest = fmod(busy, ii), begin = fmod(start, ii); /* fmod is exact */
    *whole = round((busy - rest) / ii);
    if (!(rest > 0))
        return 0;
    const double end = begin + rest;
    out[0] = (event){begin, amount, op};
    out[1] = (event){end > ii ? ii : end, -amount, op};
    if (end <= ii)
        return 2;
    out[2] = (event){0, amount, op};
    out[3] = (event){end - ii, -amount, op};
    return 4;
}

/* Adds the events of one op; its busy time is shortened by the tolerance so that touching is no overlap. */
static int64_t add_events(const judge *j, int32_t op, double amount, event *out, double *base)
{
    const double busy = j->p->graph->duration[op] - j->tolerance;
    if (!(busy > 0))
        return 0;
    if (j->s->ii == 0) {
        out[0] = (event){j->s->start[op], amount, op};
        out[1] = (event){j->s->start[op] + busy, -amount, op};
        return 2;
    }
    double whole;
    const int64_t n = fold(j->s->start[op], busy, j->s->ii, op, amount, out, &whole);
    *base += whole * amount;
    return n;
}

/* By time; at the same time what is given back before what is taken. The sort is stable. */
static void sort_events(const events *ev, int64_t n)
{
    int64_t filled = 0;
    for (int taken = 0; taken < 2; taken++)
        for (int64_t k = 0; k < n; k++)
            if ((ev->at[k].amount > 0) == taken)
                ev->order[filled++] = (sked_i_keyed){sked_i_sort_key(ev->at[k].time), k};
    sked_i_sort_keyed(ev->order, ev->spare, n);
}

/* Does the load of the events on top of `base` exceed limit? Then where, by how much, with which op. */
static bool exceeds(const events *ev, int64_t n, double base, double limit, double *when, double *load,
                    int32_t *op)
{
    double now = base;
    *when = 0;
    *op = n > 0 ? ev->at[0].op : -1;
    *load = now;
    if (now > limit)
        return true;
    sort_events(ev, n);
    for (int64_t k = 0; k < n; k++) {
        const event *const e = &ev->at[ev->order[k].value];
        now += e->amount;
        if (now > limit) {
            *when = e->time;
            *op = e->op;
            *load = now;
            return true;
        }
    }
    return false;
}

/* What one op holds of one pool (a resource, or a device: an amount of 1). */
typedef struct holding {
    double amount;
    int32_t op;
} holding;

static sked_status check_resource(const judge *j, int32_t r, const holding *held, int64_t count,
                                  const events *ev)
{
    const sked_graph *g = j->p->graph;
    const double capacity = j->p->capacity ? j->p->capacity[r] : g->capacity[r];
    if (isinf(capacity))
        return SKED_OK;
    int64_t n = 0;
    double base = 0, when, load;
    int32_t op;
    for (int64_t k = 0; k < count; k++)
        n += add_events(j, held[k].op, held[k].amount, ev->at + n, &base);
    const double slack = g->integral ? 0 : 1e-9 * fmax(1, capacity);
    if (!exceeds(ev, n, base, capacity + slack, &when, &load, &op))
        return SKED_OK;
    char name[80], text[400];
    snprintf(text, sizeof text,
             "resource '%.80s' holds %g at time %.12g%s when op '%s' runs, its capacity is %g",
             sked_graph_resource_name(g, r), load, when, j->s->ii > 0 ? " (modulo II)" : "",
             op >= 0 ? name_of(j, op, name) : "?", capacity);
    return broken(j, text);
}

/* Demands bucketed by resource, so that each is looked at once. */
static sked_status check_resources(const judge *j, const events *ev)
{
    const sked_graph *g = j->p->graph;
    const int64_t count = g->demand_ptr[g->n_ops];
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    int64_t *first = NULL;
    holding *held = NULL;
    SKED_NEW0(first, (int64_t)g->n_resources + 2);
    SKED_NEW(held, count);
    for (int64_t k = 0; k < count; k++)
        first[g->demand_resource[k] + 2]++;
    for (int64_t r = 1; r <= g->n_resources; r++)
        first[r + 1] += first[r];
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++)
            held[first[g->demand_resource[k] + 1]++] = (holding){g->demand_amount[k], i};
    for (int32_t r = 0; r < g->n_resources; r++)
        SKED_TRY(check_resource(j, r, held + first[r], first[r + 1] - first[r], ev));
cleanup:
    free(first);
    free(held);
    return st;
}

static sked_status check_device(const judge *j, int32_t d, const sked_i_keyed *on, int64_t count,
                                const events *ev)
{
    int64_t n = 0;
    double base = 0, when, load;
    int32_t op;
    for (int64_t k = 0; k < count; k++)
        n += add_events(j, (int32_t)on[k].value, 1, ev->at + n, &base);
    if (!exceeds(ev, n, base, 1, &when, &load, &op))
        return SKED_OK;
    char name[80], text[300];
    snprintf(text, sizeof text, "device %d runs more than one op at time %.12g%s, one of them is '%s'",
             (int)d, when, j->s->ii > 0 ? " (modulo II)" : "", op >= 0 ? name_of(j, op, name) : "?");
    return broken(j, text);
}

/* One op at a time: every device is a pool of one. Ops are sorted by device; idle devices cost nothing. */
static sked_status check_devices(const judge *j, const events *ev)
{
    const int64_t n = j->p->graph->n_ops;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    sked_i_keyed *by_device = NULL, *spare = NULL;
    SKED_NEW(by_device, n);
    SKED_NEW(spare, n);
    for (int32_t i = 0; i < n; i++)
        by_device[i] = (sked_i_keyed){(uint64_t)j->s->device[i], i};
    sked_i_sort_keyed(by_device, spare, n);
    for (int64_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && by_device[end].key == by_device[k].key;)
            end++;
        SKED_TRY(check_device(j, (int32_t)by_device[k].key, by_device + k, end - k, ev));
    }
cleanup:
    free(by_device);
    free(spare);
    return st;
}

static sked_status check_pools(const judge *j)
{
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    events ev = {0};
    const sked_graph *g = j->p->graph;
    if (j->p->devices == 0 && g->n_resources == 0)
        return SKED_OK;
    const int64_t most = (j->s->ii > 0 ? 4 : 2) * (int64_t)g->n_ops;
    SKED_NEW(ev.at, most);
    SKED_NEW(ev.order, most);
    SKED_NEW(ev.spare, most);
    if (j->p->devices > 0)
        SKED_TRY(check_devices(j, &ev));
    SKED_TRY(check_resources(j, &ev));
cleanup:
    free(ev.at);
    free(ev.order);
    free(ev.spare);
    return st;
}

static sked_status check_limits(const judge *j)
{
    char name[80], text[300];
    const sked_problem *p = j->p;
    for (int32_t i = 0; i < j->s->ops; i++) {
        const double finish = j->s->start[i] + p->graph->duration[i];
        if (finish > p->horizon + j->tolerance) {
            snprintf(text, sizeof text, "op '%s' finishes at %.12g, the horizon is %.12g",
                     name_of(j, i, name), finish, p->horizon);
            return broken(j, text);
        }
        if (p->fix_device && p->fix_device[i] >= 0 && j->s->device && j->s->device[i] != p->fix_device[i]) {
            snprintf(text, sizeof text, "op '%s' is fixed on device %d, but runs on %d", name_of(j, i, name),
                     (int)p->fix_device[i], (int)j->s->device[i]);
            return broken(j, text);
        }
        if (p->fix_start && !isnan(p->fix_start[i]) &&
            fabs(j->s->start[i] - p->fix_start[i]) > j->tolerance) {
            snprintf(text, sizeof text, "op '%s' is fixed at time %.12g, but starts at %.12g",
                     name_of(j, i, name), p->fix_start[i], j->s->start[i]);
            return broken(j, text);
        }
    }
    return SKED_OK;
}

sked_status sked_schedule_validate(const sked_problem *p, const sked_schedule *s, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    judge j = {p, s, 0, err};
    sked_status st = check_shape(&j);
    if (st == SKED_OK)
        st = check_values(&j);
    if (st != SKED_OK)
        return st;
    j.tolerance = find_tolerance(p, s);
    for (int64_t e = 0; e < p->graph->n_edges; e++)
        if ((st = check_edge(&j, e)) != SKED_OK)
            return st;
    st = check_pools(&j);
    if (st == SKED_OK)
        st = check_limits(&j);
    return st;
}
