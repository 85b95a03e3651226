/*
 * The judge. Written from the problem definition alone: it shares no code with the simulator, the
 * bounds, the metrics or any method, only the graph's columns, so that an error there cannot hide here.
 *
 * Rules, in the order they are checked:
 *   1 the schedule has the problem's ops and devices, and an II exactly when the problem is pipelined
 *   2 every start is a finite number, 0 or more
 *   3 every device is one of the machine's
 *   3a every device can run the ops it is given
 *   4 start(to) >= start(from) + lag - distance * II, plus the transfer between different devices
 *   5 a device runs one op at a time (folded by II when pipelined)
 *   6 no resource holds more than its capacity (folded by II when pipelined)
 *   7 nothing finishes after the horizon
 *   8 fixed starts and devices are kept
 *   9 no device, and not all together, hold more values than memory allows
 *  10 with a clock every start and the interval are whole, and no op ends later in its cycle than the clock
 * allows 11 with io aligned, ops without predecessors start at 0
 *  12 where units are given: each op holds as many as it demands of every pool that has units, below its
 * capacity; one that takes longer than the II holds them in turn, one an iteration; a unit runs one op at a
 * time 13 where registers are given: a value moves from one to the next after each II; a register holds one
 * value at a time, and values of one size
 *  14 where addresses are given, as problems may ask: every value that is held has one on its device, a
 * multiple of the alignment; values that are held at the same time do not overlap; the arena of a device is
 * the largest address + size there, and arenas, too, are no larger than memory allows. Sizes are rounded up
 * to whole numbers. What is written over a value has its address, and that value ends there
 *
 * Time of an op: by the name of its device, else by the type of it, else its duration over the device's
 * speed. What the machine's profile says precedes what the graph says: both by name and type, and a time
 * for all devices in place of the op's duration; a device that cannot run the op by the graph cannot then,
 * either.
 */
#include "base/arena.h"
#include "base/set.h"
#include "base/sort.h"
#include "problem/machine.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct judge {
    sked_i_arena arena; /* of the arrays below */
    const sked_problem *p;
    const sked_schedule *s;
    double tolerance; /* 0 where everything is an integer */
    sked_error *err;
    int32_t *by_name, *by_type; /* [devices] what the graph calls the device and its type, -1: nothing */
    int32_t *profile;           /* [ops] op of the machine's profile, -1: none; NULL: there is no profile */
    int32_t *measured_by_name, *measured_by_type; /* [devices] as above, in the profile */
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

/* The schedule breaks a rule: says so. */
#define BROKEN(j, ...) sked_i_fail((j)->err, SKED_ERR_INVALID, __VA_ARGS__)

static const char *name_of(const judge *j, int32_t op, char buf[80])
{
    return sked_i_op_label(j->p->graph, op, buf, 80);
}

/* ------------------------------------------------------------------ what devices and links take */

/* What one list of names calls every device, and its type. */
static sked_status find_devices(judge *j, const sked_i_names *names, int32_t **by_name, int32_t **by_type)
{
    const sked_machine *m = j->p->machine;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    SKED_OWN(&j->arena, *by_name, m->n_devices);
    SKED_OWN(&j->arena, *by_type, m->n_devices);
    for (int32_t d = 0; d < m->n_devices; d++) {
        const char *name = sked_machine_device_name(m, d), *type = sked_machine_device_type(m, d);
        (*by_name)[d] = sked_i_names_find(names, name, strlen(name));
        (*by_type)[d] = type ? sked_i_names_find(names, type, strlen(type)) : -1;
    }
cleanup:
    return st;
}

static sked_status find_names(judge *j)
{
    const sked_graph *g = j->p->graph;
    const sked_machine *m = j->p->machine;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    if (m != NULL && g->on_ptr != NULL)
        SKED_TRY(find_devices(j, &g->on_names, &j->by_name, &j->by_type));
    if (m == NULL || m->durations.n == 0)
        return SKED_OK;
    SKED_TRY(find_devices(j, &m->durations.on, &j->measured_by_name, &j->measured_by_type));
    SKED_OWN(&j->arena, j->profile, g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++)
        j->profile[i] = -1;
    for (int32_t k = 0; k < m->durations.ops.count; k++) {
        const int32_t op = sked_graph_find_op(g, sked_i_names_at(&m->durations.ops, k));
        if (op >= 0)
            j->profile[op] = k;
    }
cleanup:
    return st;
}

/* What the graph says by name, else by type; NAN: nothing. *never: by either it cannot run there. */
static double time_by_graph(const judge *j, int32_t op, int32_t d, bool *never)
{
    const sked_graph *g = j->p->graph;
    double time = NAN;
    bool named = false;
    *never = false;
    for (int64_t k = g->on_ptr ? g->on_ptr[op] : 0; g->on_ptr && k < g->on_ptr[op + 1]; k++) {
        const bool by_name = g->on_name[k] == j->by_name[d], by_type = g->on_name[k] == j->by_type[d];
        if (by_name || (!named && by_type))
            time = g->on_duration[k];
        *never = *never || ((by_name || by_type) && isinf(g->on_duration[k]));
        named = named || by_name;
    }
    return time;
}

/* What the profile says by name, else by type; NAN: nothing. *all: of all devices. */
static double time_by_profile(const judge *j, int32_t op, int32_t d, bool *all)
{
    double time = NAN;
    bool named = false;
    *all = false;
    if (j->profile == NULL || j->profile[op] < 0)
        return NAN;
    const sked_i_machine_durations *x = &j->p->machine->durations;
    const int32_t id = j->profile[op];
    const int64_t end = id + 1 < x->ops.count ? x->first[id + 1] : x->n;
    for (int64_t k = x->first[id]; k < end; k++) {
        const bool by_name = x->entry_on[k] == j->measured_by_name[d];
        *all = x->entry_on[k] < 0;
        if (*all || by_name || (!named && x->entry_on[k] == j->measured_by_type[d]))
            time = x->time[k];
        named = named || by_name;
    }
    return time;
}

/* Time that op takes where the schedule runs it; INFINITY: it cannot run there. */
static double time_of(const judge *j, int32_t op)
{
    const sked_graph *g = j->p->graph;
    if (j->p->machine == NULL || j->s->device == NULL)
        return g->duration[op];
    const int32_t d = j->s->device[op];
    const double speed = j->p->machine->speed[d];
    bool all, never;
    const double given = time_by_graph(j, op, d, &never), measured = time_by_profile(j, op, d, &all);
    if (all)
        return never ? INFINITY : measured / speed;
    if (!isnan(measured))
        return measured;
    return isnan(given) ? g->duration[op] / speed : given;
}

static double lag_of(const judge *j, int64_t e)
{
    const sked_graph *g = j->p->graph;
    return j->p->machine == NULL || g->edge_lag_given[e] ? g->edge_lag[e] : time_of(j, g->edge_from[e]);
}

/* Time the edge adds between the devices of its ends; INFINITY: its data cannot pass. */
static double transfer_of(const judge *j, int64_t e)
{
    const sked_graph *g = j->p->graph;
    const sked_machine *m = j->p->machine;
    const int32_t *device = j->s->device;
    if (device == NULL || device[g->edge_from[e]] == device[g->edge_to[e]])
        return 0;
    if (m == NULL)
        return j->p->latency + g->edge_bytes[e] / j->p->bandwidth;
    double latency, bandwidth;
    if (sked_machine_link(m, device[g->edge_from[e]], device[g->edge_to[e]], &latency, &bandwidth))
        return latency + g->edge_bytes[e] / bandwidth;
    return g->edge_bytes[e] > 0 ? INFINITY : 0;
}

static sked_status events_make(events *ev, sked_i_arena *arena, int64_t most, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(arena, ev->at, most);
    SKED_OWN(arena, ev->order, most);
    SKED_OWN(arena, ev->spare, most);
cleanup:
    return st;
}

static bool is_integer(double x)
{
    return x == floor(x) && fabs(x) < 0x1p53;
}

/* Zero tolerance needs integer starts, durations, lags, transfers and II. */
static double find_tolerance(const judge *j)
{
    const sked_graph *g = j->p->graph;
    const sked_schedule *s = j->s;
    bool exact = is_integer(s->ii) && (isinf(j->p->horizon) || is_integer(j->p->horizon));
    double scale = 1;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const double time = time_of(j, i);
        exact = exact && is_integer(s->start[i]) && is_integer(time);
        scale = fmax(scale, fabs(s->start[i]) + time);
    }
    for (int64_t e = 0; exact && e < g->n_edges; e++)
        exact = is_integer(lag_of(j, e)) && is_integer(transfer_of(j, e));
    return exact ? 0 : 1e-9 * scale;
}

static sked_status check_shape(const judge *j)
{
    const sked_problem *p = j->p;
    const sked_schedule *s = j->s;
    if (s->ops != p->graph->n_ops)
        return BROKEN(j, "the schedule has %d ops, the graph %d", (int)s->ops, (int)p->graph->n_ops);
    if (s->devices != p->devices || (s->device == NULL) != (p->devices == 0))
        return BROKEN(j, "the schedule is for %d devices, the machine has %d", (int)s->devices,
                      (int)p->devices);
    const bool pipelined = p->ii != 0 || p->objective == SKED_OBJECTIVE_II;
    if (pipelined && !(s->ii > 0 && s->ii < INFINITY))
        return BROKEN(j, "the problem is pipelined, but the schedule has no initiation interval");
    if (!pipelined && s->ii != 0)
        return BROKEN(j, "the schedule has an initiation interval, but the problem is not pipelined");
    if (p->ii > 0 && s->ii != p->ii)
        return BROKEN(j, "the schedule has II %g, the problem asks for %g", s->ii, p->ii);
    return SKED_OK;
}

static sked_status check_values(const judge *j)
{
    char name[80];
    for (int32_t i = 0; i < j->s->ops; i++) {
        if (!(j->s->start[i] >= 0 && j->s->start[i] < INFINITY))
            return BROKEN(j, "op '%s' starts at %g: starts are finite and 0 or more", name_of(j, i, name),
                          j->s->start[i]);
        if (j->s->device != NULL && (j->s->device[i] < 0 || j->s->device[i] >= j->p->devices))
            return BROKEN(j, "op '%s' runs on device %d, but devices are 0 to %d", name_of(j, i, name),
                          (int)j->s->device[i], (int)j->p->devices - 1);
        if (isinf(time_of(j, i)))
            return BROKEN(j, "op '%s' runs on device '%.60s', which cannot run it", name_of(j, i, name),
                          sked_machine_device_name(j->p->machine, j->s->device[i]));
    }
    return SKED_OK;
}

static sked_status check_edge(const judge *j, int64_t e)
{
    const sked_graph *g = j->p->graph;
    const int32_t from = g->edge_from[e], to = g->edge_to[e];
    if (g->edge_distance[e] > 0 && j->s->ii == 0)
        return SKED_OK; /* joins different iterations, and this schedule is of one */
    const double lag = lag_of(j, e), transfer = transfer_of(j, e);
    const double earliest = j->s->start[from] + lag - g->edge_distance[e] * j->s->ii + transfer;
    if (j->s->start[to] >= earliest - j->tolerance)
        return SKED_OK;
    char a[80], b[80];
    if (isinf(transfer))
        return BROKEN(j, "the data of op '%s' cannot reach '%s': no link joins their devices",
                      name_of(j, from, a), name_of(j, to, b));
    return BROKEN(j, "op '%s' starts at %.12g, but '%s' (start %.12g, lag %g%s%s) allows it from %.12g",
                  name_of(j, to, b), j->s->start[to], name_of(j, from, a), j->s->start[from], lag,
                  g->edge_distance[e] ? ", loop-carried" : "",
                  transfer > 0 ? ", transfer between devices" : "", earliest);
}

/* The pieces of [start, start + busy) folded into [0, ii): at most two, and `whole` full turns. */
static int64_t fold(double start, double busy, double ii, int32_t op, double amount, event *out,
                    double *whole)
{
    assert(ii > 0 && busy > 0);
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

/*
 * Adds the events of an amount held for a span of time, which is shortened by the tolerance so that touching
 * is no overlap.
 */
static int64_t add_span(const judge *j, int32_t op, double start, double span, double amount, event *out,
                        double *base)
{
    const double busy = span - j->tolerance;
    if (!(busy > 0))
        return 0;
    if (j->s->ii == 0) {
        out[0] = (event){start, amount, op};
        out[1] = (event){start + busy, -amount, op};
        return 2;
    }
    double whole;
    const int64_t n = fold(start, busy, j->s->ii, op, amount, out, &whole);
    *base += whole * amount;
    return n;
}

static int64_t add_events(const judge *j, int32_t op, double amount, event *out, double *base)
{
    return add_span(j, op, j->s->start[op], time_of(j, op), amount, out, base);
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

/* The numbers 0..n-1 by their key: those of key b are order[first[b]] .. order[first[b + 1] - 1], rising. */
static void sort_into(int64_t n, const int32_t *key, int32_t keys, int64_t *first, int64_t *order)
{
    memset(first, 0, ((size_t)keys + 2) * sizeof *first);
    for (int64_t k = 0; k < n; k++) {
        assert(key[k] >= 0 && key[k] < keys);
        first[key[k] + 2]++;
    }
    for (int32_t b = 0; b < keys; b++)
        first[b + 2] += first[b + 1];
    for (int64_t k = 0; k < n; k++)
        order[first[key[k] + 1]++] = k;
}

/* demand: the demands on the resource. user: the op of each. */
static sked_status check_resource(const judge *j, int32_t r, const int64_t *demand, int64_t count,
                                  const int32_t *user, const events *ev)
{
    const sked_graph *g = j->p->graph;
    const double capacity = j->p->capacity ? j->p->capacity[r] : g->capacity[r];
    if (isinf(capacity))
        return SKED_OK;
    int64_t n = 0;
    double base = 0, when, load;
    int32_t op;
    for (int64_t k = 0; k < count; k++)
        n += add_events(j, user[demand[k]], g->demand_amount[demand[k]], ev->at + n, &base);
    const double slack = g->integral ? 0 : 1e-9 * fmax(1, capacity);
    if (!exceeds(ev, n, base, capacity + slack, &when, &load, &op))
        return SKED_OK;
    char name[80];
    return BROKEN(j, "resource '%.80s' holds %g at time %.12g%s when op '%s' runs, its capacity is %g",
                  sked_graph_resource_name(g, r), load, when, j->s->ii > 0 ? " (modulo II)" : "",
                  op >= 0 ? name_of(j, op, name) : "?", capacity);
}

/* Demands are bucketed by resource first, so that each is looked at once. */
static sked_status check_resources(const judge *j, const events *ev)
{
    const sked_graph *g = j->p->graph;
    const int64_t count = g->demand_ptr[g->n_ops];
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    sked_i_arena arena = {0};
    int64_t *first, *demand;
    int32_t *user;
    SKED_OWN(&arena, first, (int64_t)g->n_resources + 2);
    SKED_OWN(&arena, demand, count);
    SKED_OWN(&arena, user, count);
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++)
            user[k] = i;
    sort_into(count, g->demand_resource, g->n_resources, first, demand);
    for (int32_t r = 0; r < g->n_resources; r++)
        SKED_TRY(check_resource(j, r, demand + first[r], first[r + 1] - first[r], user, ev));
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

/* Its name in quotes, or its number. */
static const char *device_label(const judge *j, int32_t d, char buf[64])
{
    if (j->p->machine != NULL)
        snprintf(buf, 64, "'%.60s'", sked_machine_device_name(j->p->machine, d));
    else
        snprintf(buf, 64, "%d", (int)d);
    return buf;
}

/* One op at a time: every device is a pool of one. Ops are bucketed by device first. */
static sked_status check_devices(const judge *j, const events *ev, int64_t *first, int64_t *member)
{
    sort_into(j->p->graph->n_ops, j->s->device, j->p->devices, first, member);
    for (int32_t d = 0; d < j->p->devices; d++) {
        int64_t n = 0;
        double base = 0, when, load;
        int32_t op;
        for (int64_t k = first[d]; k < first[d + 1]; k++)
            n += add_events(j, (int32_t)member[k], 1, ev->at + n, &base);
        if (!exceeds(ev, n, base, 1, &when, &load, &op))
            continue;
        char name[80], device[64];
        return BROKEN(j, "device %s runs more than one op at time %.12g%s, one of them is '%s'",
                      device_label(j, d, device), when, j->s->ii > 0 ? " (modulo II)" : "",
                      op >= 0 ? name_of(j, op, name) : "?");
    }
    return SKED_OK;
}

static sked_status check_pools(const judge *j)
{
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    sked_i_arena arena = {0};
    events ev;
    int64_t *first, *member;
    const sked_graph *g = j->p->graph;
    if (j->p->devices == 0 && g->n_resources == 0)
        return SKED_OK;
    const int64_t most = (j->s->ii > 0 ? 4 : 2) * (int64_t)g->n_ops;
    SKED_TRY(events_make(&ev, &arena, most, err));
    if (j->p->devices > 0) {
        SKED_OWN(&arena, first, (int64_t)j->p->devices + 2);
        SKED_OWN(&arena, member, g->n_ops);
        SKED_TRY(check_devices(j, &ev, first, member));
    }
    SKED_TRY(check_resources(j, &ev));
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

static sked_status check_limits(const judge *j)
{
    char name[80], fixed[64], runs[64];
    const sked_problem *p = j->p;
    for (int32_t i = 0; i < j->s->ops; i++) {
        const double finish = j->s->start[i] + time_of(j, i);
        if (finish > p->horizon + j->tolerance)
            return BROKEN(j, "op '%s' finishes at %.12g, the horizon is %.12g", name_of(j, i, name), finish,
                          p->horizon);
        if (p->fix_device && p->fix_device[i] >= 0 && j->s->device && j->s->device[i] != p->fix_device[i])
            return BROKEN(j, "op '%s' is fixed on device %s, but runs on %s", name_of(j, i, name),
                          device_label(j, p->fix_device[i], fixed), device_label(j, j->s->device[i], runs));
        if (p->fix_start && !isnan(p->fix_start[i]) && fabs(j->s->start[i] - p->fix_start[i]) > j->tolerance)
            return BROKEN(j, "op '%s' is fixed at time %.12g, but starts at %.12g", name_of(j, i, name),
                          p->fix_start[i], j->s->start[i]);
    }
    return SKED_OK;
}

static sked_status check_inputs(const judge *j)
{
    const sked_graph *g = j->p->graph;
    char name[80];
    for (int32_t i = 0; j->p->io == SKED_IO_ALIGNED && i < g->n_ops; i++)
        if (g->pred_ptr[i] == g->pred_ptr[i + 1] && j->s->start[i] > j->tolerance)
            return BROKEN(
                j, "op '%s' has no predecessors and starts at %.12g: with aligned inputs it starts at 0",
                name_of(j, i, name), j->s->start[i]);
    return SKED_OK;
}

/* ------------------------------------------------------------------ memory */

/* A value on one device: where it was made, or where a copy of it is read. */
typedef struct holding {
    double begin, end;
    int32_t op;
    int64_t over; /* holding that ends where this one begins, and whose place it has; -1: none */
} holding;

typedef struct store {
    holding *at;     /* [ops + edges] */
    int32_t *device; /* [ops + edges] where each is */
    int64_t count;
    int32_t *seen;  /* [devices] op + 1 whose copy is `copy` */
    int64_t *copy;  /* [devices] its index */
    double end;     /* of the schedule */
    bool to_finish; /* readers hold what they read until they end */
    bool by_result; /* values begin when they are there */
    int64_t *first; /* [devices + 2] */
    int64_t *order; /* holdings by device */
} store;

/* When the reader at the end of edge e lets go. */
static double release_time(const judge *j, const store *x, int64_t e)
{
    const int32_t to = j->p->graph->edge_to[e];
    return j->s->start[to] + j->p->graph->edge_distance[e] * j->s->ii + (x->to_finish ? time_of(j, to) : 0);
}

/* The edge passes no value. */
static bool orders_only(const sked_graph *g, int64_t e)
{
    return g->edge_order != NULL && g->edge_order[e];
}

/* When the first reader of op could have its value; without readers when op ends. */
static double result_time(const judge *j, int32_t op)
{
    const sked_graph *g = j->p->graph;
    bool read = false;
    double first = 0;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        if (orders_only(g, e))
            continue;
        first = read ? fmin(first, lag_of(j, e)) : lag_of(j, e);
        read = true;
    }
    return j->s->start[op] + (read ? fmax(0, first) : time_of(j, op));
}

/* The value of op: with its maker until readers there let go and copies have arrived, copies from arrival. */
static void hold_value(const judge *j, store *x, int32_t op)
{
    const sked_graph *g = j->p->graph;
    const sked_schedule *s = j->s;
    const int32_t home = s->device ? s->device[op] : 0;
    const int64_t own = x->count++;
    const double begin = x->by_result ? result_time(j, op) : s->start[op];
    double end = begin + (x->to_finish ? time_of(j, op) : 0);
    bool output = true;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        if (orders_only(g, e))
            continue;
        output = false;
        if (g->edge_distance[e] > 0 && s->ii == 0)
            continue;
        const double release = release_time(j, x, e),
                     arrival = s->start[op] + lag_of(j, e) + transfer_of(j, e);
        const int32_t d = s->device ? s->device[g->edge_to[e]] : 0;
        end = fmax(end, d == home ? release : arrival);
        if (d == home)
            continue;
        if (x->seen[d] != op + 1) {
            x->seen[d] = op + 1;
            x->copy[d] = x->count++;
            x->device[x->copy[d]] = d;
            x->at[x->copy[d]] = (holding){arrival, release, op, -1};
        }
        holding *const h = &x->at[x->copy[d]];
        h->begin = fmin(h->begin, arrival);
        h->end = fmax(h->end, release);
    }
    output = output || (g->output != NULL && g->output[op]) || (g->output_not != NULL && g->output_not[op]);
    if ((g->keep != NULL && g->keep[op]) || (output && j->p->io == SKED_IO_ALIGNED))
        end = fmax(end, x->end);
    x->device[own] = home;
    x->at[own] = (holding){begin, end, op, -1};
}

/* Does anything but `reader` hold op's value on that device after the reader has started? */
static bool others_hold(const judge *j, const store *x, int32_t op, int32_t device, int32_t reader)
{
    const sked_graph *g = j->p->graph;
    const int32_t home = j->s->device ? j->s->device[op] : 0;
    const double from = j->s->start[reader] + j->tolerance;
    bool output = true;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e], d = j->s->device ? j->s->device[to] : 0;
        if (orders_only(g, e))
            continue;
        output = false;
        if (g->edge_distance[e] > 0)
            continue;
        const double until =
            d == device ? release_time(j, x, e) : j->s->start[op] + lag_of(j, e) + transfer_of(j, e);
        if (to != reader && until > from && (d == device || device == home))
            return true;
    }
    output = output || (g->output != NULL && g->output[op]) || (g->output_not != NULL && g->output_not[op]);
    return device == home && (j->s->start[op] + time_of(j, op) > from || (g->keep != NULL && g->keep[op]) ||
                              (output && j->p->io == SKED_IO_ALIGNED));
}

/* The reader that may write over a value there, if it is the only one that lets it go last; else -1. */
static int32_t heir_of(const judge *j, const store *x, const holding *h, int32_t device)
{
    const sked_graph *g = j->p->graph;
    int32_t heir = -1;
    for (int64_t e = g->succ_ptr[h->op]; e < g->succ_ptr[h->op + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (!g->edge_inplace[e] || orders_only(g, e) || g->edge_distance[e] > 0 || heir == to ||
            (j->s->device ? j->s->device[to] : 0) != device || release_time(j, x, e) < h->end)
            continue;
        if (heir >= 0)
            return -1;
        heir = to;
    }
    return heir >= 0 && !others_hold(j, x, h->op, device, heir) ? heir : -1;
}

/*
 * Results that are written over inputs: the op takes time, the input is of the result's size and nothing but
 * the op holds it, there, once it has started. Of several the one of the least op. place: [ops] of results.
 */
static void write_over(const judge *j, store *x, const int64_t *place)
{
    const double *const size = j->p->graph->memory;
    for (int64_t k = 0; k < x->count; k++) {
        holding *const h = &x->at[k];
        const int32_t heir = heir_of(j, x, h, x->device[k]);
        if (heir < 0 || size[heir] != size[h->op] || !(time_of(j, heir) > j->tolerance) ||
            !(h->begin < j->s->start[heir]) || x->at[place[heir]].over >= 0)
            continue;
        x->at[place[heir]].over = k;
        h->end = j->s->start[heir];
    }
}

/* All holdings of `device` (-1: of all) against a limit. */
static sked_status check_store(const judge *j, const store *x, int32_t device, double limit, const events *ev)
{
    const sked_graph *g = j->p->graph;
    const int64_t from = device < 0 ? 0 : x->first[device], to = device < 0 ? x->count : x->first[device + 1];
    int64_t n = 0;
    double base = 0, when, load;
    int32_t op;
    if (isinf(limit))
        return SKED_OK;
    for (int64_t k = from; k < to; k++) {
        const holding *h = &x->at[x->order[k]];
        n += add_span(j, h->op, h->begin, h->end - h->begin, g->memory[h->op], ev->at + n, &base);
    }
    if (!exceeds(ev, n, base, limit + (g->integral ? 0 : 1e-9 * fmax(1, limit)), &when, &load, &op))
        return SKED_OK;
    char name[80], label[64];
    return BROKEN(j, "%s%s hold%s %g at time %.12g when the value of op '%s' comes, the limit is %g",
                  device < 0 ? "all devices together" : "device ",
                  device < 0 ? "" : device_label(j, device, label), device < 0 ? "" : "s", load, when,
                  op >= 0 ? name_of(j, op, name) : "?", limit);
}

/* ------------------------------------------------------------------ addresses */

static const double most_address = 0x1p53;

/* The values of one device at their addresses; those that are held now are `taken`. */
typedef struct shelf {
    int64_t *begin, *end; /* [ops] addresses of the value of op */
    uint32_t *rank;       /* [ops] of begin, among those of the device */
    int32_t *op;          /* [ops] by rank */
    uint64_t *words;
    sked_i_set taken;
    sked_i_keyed *order, *spare; /* [ops] */
} shelf;

static int64_t size_of(const judge *j, int32_t op)
{
    return (int64_t)ceil(j->p->graph->memory[op]);
}

static bool asks_for_addresses(const sked_problem *p)
{
    return p->offsets || p->objective == SKED_OBJECTIVE_ARENA;
}

/* The address of op's value on a device, -1: none. Copies are sorted by op, then by device. */
static int64_t address_of(const judge *j, int32_t op, int32_t device)
{
    const sked_schedule *s = j->s;
    int64_t low = 0, high = s->copies;
    if (s->device == NULL || s->device[op] == device)
        return s->offset[op];
    while (low < high) {
        const int64_t k = low + (high - low) / 2;
        if (s->copy_op[k] < op || (s->copy_op[k] == op && s->copy_device[k] < device))
            low = k + 1;
        else
            high = k;
    }
    return low < s->copies && s->copy_op[low] == op && s->copy_device[low] == device ? s->copy_offset[low]
                                                                                     : -1;
}

/* One address that the schedule gives; *arena: of its device. */
static sked_status check_address(const judge *j, int32_t op, int32_t device, int64_t address, int64_t *arena)
{
    char name[80], label[64];
    if (address < -1 || (double)address > most_address || j->p->graph->memory[op] > most_address)
        return BROKEN(j, "the value of op '%s' on device %s has address %lld, or a size, beyond 2^53",
                      name_of(j, op, name), device_label(j, device, label), (long long)address);
    if (address >= 0 && address % j->p->align != 0)
        return BROKEN(j, "the value of op '%s' on device %s has address %lld, which is no multiple of %lld",
                      name_of(j, op, name), device_label(j, device, label), (long long)address,
                      (long long)j->p->align);
    if (address >= 0 && address + size_of(j, op) > *arena)
        *arena = address + size_of(j, op);
    return SKED_OK;
}

/* All addresses, and the arenas that they make. arena: [devices, or 1] zeroed. */
static sked_status check_arenas(const judge *j, int64_t *arena)
{
    const sked_schedule *s = j->s;
    const int32_t devices = s->devices > 0 ? s->devices : 1;
    sked_status st = SKED_OK;
    double sum = 0;
    char label[64];
    for (int32_t i = 0; st == SKED_OK && i < s->ops; i++)
        st = check_address(j, i, s->device ? s->device[i] : 0, s->offset[i],
                           &arena[s->device ? s->device[i] : 0]);
    for (int64_t k = 0; st == SKED_OK && k < s->copies; k++) {
        const int32_t op = s->copy_op[k], d = s->copy_device[k];
        if (op < 0 || op >= s->ops || d < 0 || d >= devices ||
            (k > 0 && (op < s->copy_op[k - 1] || (op == s->copy_op[k - 1] && d <= s->copy_device[k - 1]))))
            return BROKEN(j, "the addresses of copies are not one for each op and device, in this order");
        st = check_address(j, op, d, s->copy_offset[k], &arena[d]);
    }
    for (int32_t d = 0; st == SKED_OK && d < devices; d++) {
        const double limit = j->p->machine != NULL ? j->p->machine->memory[d] : INFINITY;
        sum += (double)arena[d];
        if (s->arena[d] != arena[d])
            return BROKEN(j, "the arena of device %s is said to be %lld, but its addresses reach %lld",
                          device_label(j, d, label), (long long)s->arena[d], (long long)arena[d]);
        if ((double)arena[d] > limit)
            return BROKEN(j, "the arena of device %s is %lld, the limit is %g", device_label(j, d, label),
                          (long long)arena[d], limit);
    }
    if (st == SKED_OK && sum > j->p->memory_limit)
        return BROKEN(j, "all arenas together are %.15g, the limit is %.15g", sum, j->p->memory_limit);
    return st;
}

/* The values held on a device, at their addresses, and when they come and go. *n: of these events. */
static sked_status place_values(const judge *j, const store *x, int32_t device, shelf *f, events *ev,
                                int64_t *n)
{
    char name[80], other[80], label[64];
    int64_t count = 0;
    double none = 0;
    *n = 0;
    for (int64_t k = x->first[device]; k < x->first[device + 1]; k++) {
        const holding *h = &x->at[x->order[k]];
        const int64_t before = *n;
        *n += add_span(j, h->op, h->begin, h->end - h->begin, 1, ev->at + *n, &none);
        if (*n == before)
            continue;
        f->begin[h->op] = address_of(j, h->op, device);
        f->end[h->op] = f->begin[h->op] + size_of(j, h->op);
        if (h->over >= 0 && f->begin[h->op] != address_of(j, x->at[h->over].op, device))
            return BROKEN(j, "the value of op '%s' is written over that of '%s' and has another address",
                          name_of(j, h->op, name), name_of(j, x->at[h->over].op, other));
        if (f->begin[h->op] < 0)
            return BROKEN(j, "the value of op '%s' is held on device %s and has no address there",
                          name_of(j, h->op, name), device_label(j, device, label));
        f->order[count++] = (sked_i_keyed){(uint64_t)f->begin[h->op], h->op};
    }
    sked_i_sort_keyed(f->order, f->spare, count);
    for (int64_t k = 0; k < count; k++) {
        f->op[k] = (int32_t)f->order[k].value;
        f->rank[f->op[k]] = (uint32_t)k;
    }
    memset(f->words, 0, (size_t)sked_i_set_words(count + 1) * sizeof *f->words);
    sked_i_set_place(&f->taken, count + 1, f->words);
    sked_i_set_add(&f->taken, (uint32_t)count); /* a last one above all */
    return SKED_OK;
}

/* Through time: a value that comes is compared with its neighbours, for those that are there do not overlap.
 */
static sked_status check_overlaps(const judge *j, const store *x, int32_t device, shelf *f, events *ev)
{
    char a[80], b[80], label[64];
    int64_t n;
    const sked_status st = place_values(j, x, device, f, ev, &n);
    if (st != SKED_OK)
        return st;
    sort_events(ev, n);
    for (int64_t k = 0; k < n; k++) {
        const event *e = &ev->at[ev->order[k].value];
        const uint32_t rank = f->rank[e->op];
        if (e->amount < 0) {
            sked_i_set_remove(&f->taken, rank);
            continue;
        }
        const int64_t below = sked_i_set_below(&f->taken, rank);
        const uint32_t above = sked_i_set_from(&f->taken, rank);
        const int32_t lower = below >= 0 && f->end[f->op[below]] > f->begin[e->op] ? f->op[below] : -1;
        const int32_t other =
            2 * (int64_t)above < n && f->begin[f->op[above]] < f->end[e->op] ? f->op[above] : lower;
        if (other >= 0)
            return BROKEN(
                j, "the values of ops '%s' and '%s' overlap at address %lld of device %s at time %.12g",
                name_of(j, other, a), name_of(j, e->op, b),
                (long long)(f->begin[other] > f->begin[e->op] ? f->begin[other] : f->begin[e->op]),
                device_label(j, device, label), e->time);
        sked_i_set_add(&f->taken, rank);
    }
    return SKED_OK;
}

static sked_status check_addresses(const judge *j, const store *x, events *ev, sked_i_arena *room)
{
    const int64_t n = j->s->ops, devices = j->s->devices > 0 ? j->s->devices : 1;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    shelf f;
    int64_t *arena;
    if (j->s->offset == NULL)
        return asks_for_addresses(j->p) ? BROKEN(j, "the problem asks for addresses, the schedule has none")
                                        : SKED_OK;
    if (j->s->ii != 0)
        return BROKEN(j, "a pipelined schedule has no addresses");
    SKED_OWN0(room, arena, devices);
    SKED_OWN(room, f.begin, n);
    SKED_OWN(room, f.end, n);
    SKED_OWN(room, f.rank, n);
    SKED_OWN(room, f.op, n);
    SKED_OWN(room, f.order, n);
    SKED_OWN(room, f.spare, n);
    SKED_OWN(room, f.words, sked_i_set_words(n + 1));
    SKED_TRY(check_arenas(j, arena));
    for (int32_t d = 0; d < devices; d++)
        SKED_TRY(check_overlaps(j, x, d, &f, ev));
cleanup:
    return st;
}

static bool has_limit(const sked_problem *p)
{
    for (int32_t d = 0; p->machine != NULL && d < p->machine->n_devices; d++)
        if (p->machine->memory[d] < INFINITY)
            return true;
    return p->memory_limit < INFINITY;
}

static sked_status check_memory(const judge *j)
{
    const sked_problem *p = j->p;
    const sked_graph *g = p->graph;
    const int32_t devices = p->devices > 0 ? p->devices : 1;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    const bool registers =
        p->lifetime == SKED_LIFETIME_RESULT || (p->lifetime == SKED_LIFETIME_AUTO && p->clock > 0);
    store x = {.to_finish = p->lifetime != SKED_LIFETIME_START && !registers, .by_result = registers};
    sked_i_arena arena = {0};
    events ev;
    int64_t *place;
    if (!has_limit(p) && !asks_for_addresses(p) && j->s->offset == NULL)
        return SKED_OK;
    SKED_OWN(&arena, x.at, g->n_ops + g->n_edges);
    SKED_OWN(&arena, x.device, g->n_ops + g->n_edges);
    SKED_OWN(&arena, x.order, g->n_ops + g->n_edges);
    SKED_OWN0(&arena, x.seen, devices);
    SKED_OWN(&arena, x.copy, devices);
    SKED_OWN(&arena, x.first, (int64_t)devices + 2);
    for (int32_t i = 0; i < g->n_ops; i++)
        x.end = fmax(x.end, j->s->start[i] + time_of(j, i));
    SKED_OWN(&arena, place, g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++) {
        place[i] = x.count;
        if (g->memory[i] > 0)
            hold_value(j, &x, i);
    }
    if (g->edge_inplace != NULL && x.to_finish && j->s->ii == 0 &&
        (asks_for_addresses(p) || j->s->offset != NULL))
        write_over(j, &x, place);
    sort_into(x.count, x.device, devices, x.first, x.order);
    SKED_TRY(events_make(&ev, &arena, 4 * x.count, err));
    for (int32_t d = 0; p->machine != NULL && d < devices; d++)
        SKED_TRY(check_store(j, &x, d, p->machine->memory[d], &ev));
    SKED_TRY(check_store(j, &x, -1, p->memory_limit, &ev));
    SKED_TRY(check_addresses(j, &x, &ev, &arena));
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

/* ------------------------------------------------------------------ clock */

/* Phases of ops, found over the chained edges alone. */
typedef struct cycle {
    double *phase;    /* [ops] */
    int32_t *waiting; /* [ops] combinational ops that it is chained to and that have not been looked at */
    int32_t *queue;   /* [ops] */
    uint8_t *queued;  /* [ops] */
    double slack;
} cycle;

static double column_at(const double *column, int32_t i)
{
    return column != NULL ? column[i] : 0;
}

/* Does the value of an edge arrive just as its reader starts? */
static bool is_chained(const judge *j, int64_t e)
{
    const sked_graph *g = j->p->graph;
    if (orders_only(g, e) || (g->edge_distance[e] > 0 && j->s->ii == 0))
        return false;
    return j->s->start[g->edge_to[e]] + g->edge_distance[e] * j->s->ii ==
           j->s->start[g->edge_from[e]] + lag_of(j, e);
}

/* When in its cycle the value of op comes out; an op without duration passes on what comes in. */
static double time_out(const judge *j, const cycle *x, int32_t op)
{
    const sked_graph *g = j->p->graph;
    return time_of(j, op) > 0 ? column_at(g->delay_out, op) : x->phase[op] + column_at(g->delay_in, op);
}

static sked_status check_phase(const judge *j, const cycle *x, int32_t op)
{
    const double in = column_at(j->p->graph->delay_in, op), out = column_at(j->p->graph->delay_out, op);
    char name[80];
    if (x->phase[op] + in > j->p->clock + x->slack)
        return BROKEN(j, "op '%s' begins %.12g into its cycle and takes %.12g, but the clock period is %.12g",
                      name_of(j, op, name), x->phase[op], in, j->p->clock);
    if (out > j->p->clock + x->slack)
        return BROKEN(j, "the result of op '%s' comes out after %.12g, but the clock period is %.12g",
                      name_of(j, op, name), out, j->p->clock);
    if (j->s->phase != NULL && !(fabs(j->s->phase[op] - x->phase[op]) <= x->slack))
        return BROKEN(j, "op '%s' is said to begin %.12g into its cycle, but begins at %.12g",
                      name_of(j, op, name), j->s->phase[op], x->phase[op]);
    return SKED_OK;
}

/* The value of op reaches those it is chained to; *later: some begin later for it. */
static int64_t reach(const judge *j, cycle *x, int32_t op, bool again, int64_t end)
{
    const sked_graph *g = j->p->graph;
    const bool passes_on = !(time_of(j, op) > 0);
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e];
        const double out = time_out(j, x, op);
        if (!is_chained(j, e))
            continue;
        const bool later = out > x->phase[to];
        x->phase[to] = later ? out : x->phase[to];
        if (again ? later && !x->queued[to] : passes_on && --x->waiting[to] == 0) {
            x->queue[end++ % g->n_ops] = to;
            x->queued[to] = 1;
        }
    }
    return end;
}

/*
 * Ops that no chain of combinational ops leads back to, in order. Those that are left stand on such a chain
 * or behind it: they are followed until nothing is later, which must come to an end, or a cycle is too short.
 */
static sked_status find_phases(const judge *j, cycle *x)
{
    const sked_graph *g = j->p->graph;
    sked_status st = SKED_OK;
    int64_t begin = 0, end = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (is_chained(j, e) && time_of(j, g->edge_from[e]) > 0)
            x->phase[g->edge_to[e]] = fmax(x->phase[g->edge_to[e]], time_out(j, x, g->edge_from[e]));
        else if (is_chained(j, e))
            x->waiting[g->edge_to[e]]++;
    for (int32_t i = 0; i < g->n_ops; i++)
        if (x->waiting[i] == 0)
            x->queue[end++] = i;
    while (begin < end)
        if (time_of(j, x->queue[begin]) > 0)
            begin++;
        else
            end = reach(j, x, x->queue[begin++], false, end);
    for (int32_t i = 0; i < g->n_ops; i++)
        x->queued[i] = x->waiting[i] > 0;
    begin = end = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        if (x->queued[i])
            x->queue[end++] = i;
    for (; st == SKED_OK && begin < end; begin++) {
        const int32_t op = x->queue[begin % g->n_ops];
        x->queued[op] = 0;
        if (x->phase[op] + column_at(g->delay_in, op) > j->p->clock + x->slack)
            return check_phase(j, x, op);
        end = time_of(j, op) > 0 ? end : reach(j, x, op, true, end);
    }
    return st;
}

static sked_status check_clock(const judge *j)
{
    const int32_t n = j->p->graph->n_ops;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    sked_i_arena arena = {0};
    cycle x = {.slack = 1e-9 * j->p->clock};
    char name[80];
    if (!(j->p->clock > 0) || n == 0)
        return SKED_OK;
    for (int32_t i = 0; i < n; i++)
        if (!is_integer(j->s->start[i]))
            return BROKEN(j, "op '%s' starts at %.12g: with a clock starts are whole cycles",
                          name_of(j, i, name), j->s->start[i]);
    if (!is_integer(j->s->ii))
        return BROKEN(j, "the interval is %.12g: with a clock it is a number of whole cycles", j->s->ii);
    SKED_OWN0(&arena, x.phase, n);
    SKED_OWN0(&arena, x.waiting, n);
    SKED_OWN0(&arena, x.queued, n);
    SKED_OWN(&arena, x.queue, n);
    SKED_TRY(find_phases(j, &x));
    for (int32_t i = 0; st == SKED_OK && i < n; i++)
        st = check_phase(j, &x, i);
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

/* ------------------------------------------------------------------ units and registers */

/* Who holds which unit of a pool, or which register, from when and for how long. */
typedef struct claim {
    int32_t number, op;
    double begin, span;
} claim;

typedef struct claims {
    claim *at;
    int64_t count;
    sked_i_keyed *order, *spare;
    events ev;
} claims;

static sked_status claims_make(claims *x, sked_i_arena *arena, int64_t most, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(arena, x->at, most);
    SKED_OWN(arena, x->order, most);
    SKED_OWN(arena, x->spare, most);
    SKED_TRY(events_make(&x->ev, arena, 4 * most, err));
cleanup:
    return st;
}

/* Intervals that a span begins. */
static double turns_of(const judge *j, double span)
{
    return j->s->ii > 0 ? fmax(1, ceil((span - j->tolerance) / j->s->ii)) : 1;
}

/* No number has two owners at a time. what: "unit" or "register"; pool: its name, or "". */
static sked_status check_claims(const judge *j, claims *x, const char *what, const char *pool)
{
    char name[80];
    for (int64_t k = 0; k < x->count; k++)
        x->order[k] = (sked_i_keyed){(uint64_t)x->at[k].number, k};
    sked_i_sort_keyed(x->order, x->spare, x->count);
    for (int64_t k = 0, first; k < x->count;) {
        const int32_t number = x->at[x->order[k].value].number;
        int64_t n = 0;
        double base = 0, when, load;
        int32_t op;
        for (first = k; k < x->count && x->at[x->order[k].value].number == number; k++) {
            const claim *c = &x->at[x->order[k].value];
            n += add_span(j, c->op, c->begin, c->span, 1, x->ev.at + n, &base);
        }
        if (exceeds(&x->ev, n, base, 1, &when, &load, &op))
            return BROKEN(j, "%s %d%s%.80s has two owners at time %.12g, one of them op '%s'", what,
                          (int)number, pool[0] ? " of " : "", pool, when,
                          name_of(j, op >= 0 ? op : x->at[x->order[first].value].op, name));
    }
    return SKED_OK;
}

/* Lists begin where the ones before them end. */
static bool are_lists(const int64_t *at, int64_t count)
{
    bool rising = at[0] == 0;
    for (int64_t k = 0; k < count && rising; k++)
        rising = at[k] <= at[k + 1];
    return rising;
}

/* The units of one demand. *bound: -1, or whether another demand on the pool has units. */
static sked_status claim_units(const judge *j, claims *x, int32_t op, int64_t k, int *bound)
{
    const sked_graph *g = j->p->graph;
    const sked_schedule *s = j->s;
    const int32_t r = g->demand_resource[k];
    const double turns = turns_of(j, time_of(j, op)), needed = g->demand_amount[k] * turns;
    const int64_t count = s->unit_at[k + 1] - s->unit_at[k];
    const double capacity = j->p->capacity ? j->p->capacity[r] : g->capacity[r];
    char name[80];
    if (*bound >= 0 && *bound != (count > 0))
        return BROKEN(j, "only some ops have units of '%.80s': op '%s' has %s",
                      sked_graph_resource_name(g, r), name_of(j, op, name), count > 0 ? "some" : "none");
    *bound = count > 0;
    if (count > 0 && (double)count != needed)
        return BROKEN(j, "op '%s' has %lld units of '%.80s', and needs %g", name_of(j, op, name),
                      (long long)count, sked_graph_resource_name(g, r), needed);
    for (int64_t m = s->unit_at[k]; m < s->unit_at[k + 1]; m++) {
        if (s->unit[m] < 0 || s->unit[m] >= capacity)
            return BROKEN(j, "op '%s' has unit %d of '%.80s', whose capacity is %g", name_of(j, op, name),
                          (int)s->unit[m], sked_graph_resource_name(g, r), capacity);
        x->at[x->count++] = (claim){s->unit[m], op, s->start[op], turns > 1 ? s->ii : time_of(j, op)};
    }
    return SKED_OK;
}

static sked_status check_units(const judge *j)
{
    const sked_graph *g = j->p->graph;
    const sked_schedule *s = j->s;
    const int64_t demands = g->demand_ptr[g->n_ops];
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    sked_i_arena arena = {0};
    claims x = {0};
    if (s->unit_at == NULL)
        return SKED_OK;
    if (s->demands != demands || !are_lists(s->unit_at, demands))
        return BROKEN(j, "the schedule's units are not those of the graph's demands");
    SKED_TRY(claims_make(&x, &arena, s->unit_at[demands], err));
    for (int32_t r = 0; r < g->n_resources; r++) {
        int bound = -1;
        x.count = 0;
        for (int64_t u = g->user_ptr[r]; u < g->user_ptr[r + 1]; u++) {
            int64_t k = g->demand_ptr[g->user_op[u]];
            while (g->demand_resource[k] != r)
                k++;
            SKED_TRY(claim_units(j, &x, g->user_op[u], k, &bound));
        }
        SKED_TRY(check_claims(j, &x, "unit", sked_graph_resource_name(g, r)));
    }
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

/* From when its first reader could have it until the last one starts. */
static double lifetime_of(const judge *j, int32_t op)
{
    const sked_graph *g = j->p->graph;
    const double begin = result_time(j, op);
    double end = begin;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (!orders_only(g, e) && !(g->edge_distance[e] > 0 && j->s->ii == 0))
            end = fmax(end, j->s->start[g->edge_to[e]] + g->edge_distance[e] * j->s->ii);
    return g->memory[op] > 0 && end - begin > j->tolerance ? end - begin : 0;
}

static sked_status claim_registers(const judge *j, claims *x, int32_t op)
{
    const sked_schedule *s = j->s;
    const double life = lifetime_of(j, op), needed = life > 0 ? turns_of(j, life) : 0;
    const int64_t first = s->register_at[op], count = s->register_at[op + 1] - first;
    char name[80];
    if ((double)count != needed)
        return BROKEN(j, "the value of op '%s' has %lld registers, and needs %g", name_of(j, op, name),
                      (long long)count, needed);
    for (int64_t m = 0; m < count; m++) {
        const double span = s->ii > 0 ? fmin(s->ii, life - (double)m * s->ii) : life;
        if (s->registers[first + m] < 0)
            return BROKEN(j, "the value of op '%s' has register %d", name_of(j, op, name),
                          (int)s->registers[first + m]);
        x->at[x->count++] = (claim){s->registers[first + m], op, result_time(j, op), span};
    }
    return SKED_OK;
}

/* Of claims that are sorted. */
static sked_status check_widths(const judge *j, const claims *x)
{
    const double *size = j->p->graph->memory;
    char a[80], b[80];
    for (int64_t k = 1; k < x->count; k++) {
        const claim *one = &x->at[x->order[k - 1].value], *two = &x->at[x->order[k].value];
        if (one->number == two->number && size[one->op] != size[two->op])
            return BROKEN(j, "register %d holds the values of ops '%s' and '%s', whose sizes differ",
                          (int)one->number, name_of(j, one->op, a), name_of(j, two->op, b));
    }
    return SKED_OK;
}

static sked_status check_registers(const judge *j)
{
    const sked_schedule *s = j->s;
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    sked_i_arena arena = {0};
    claims x = {0};
    if (s->register_at == NULL)
        return SKED_OK;
    if (!are_lists(s->register_at, s->ops))
        return BROKEN(j, "the schedule's registers are not those of the graph's ops");
    SKED_TRY(claims_make(&x, &arena, s->register_at[s->ops], err));
    for (int32_t i = 0; i < s->ops; i++)
        SKED_TRY(claim_registers(j, &x, i));
    SKED_TRY(check_claims(j, &x, "register", ""));
    SKED_TRY(check_widths(j, &x));
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

static sked_status judge_all(judge *j)
{
    sked_status st = find_names(j);
    if (st == SKED_OK)
        st = check_values(j);
    if (st != SKED_OK)
        return st;
    j->tolerance = find_tolerance(j);
    for (int64_t e = 0; e < j->p->graph->n_edges; e++)
        if ((st = check_edge(j, e)) != SKED_OK)
            return st;
    st = check_pools(j);
    if (st == SKED_OK)
        st = check_limits(j);
    if (st == SKED_OK)
        st = check_memory(j);
    if (st == SKED_OK)
        st = check_clock(j);
    if (st == SKED_OK)
        st = check_units(j);
    if (st == SKED_OK)
        st = check_registers(j);
    return st == SKED_OK ? check_inputs(j) : st;
}

sked_status sked_schedule_validate(const sked_problem *p, const sked_schedule *s, sked_error *err)
{
    SKED_TAKE_ASKED(p)
    judge j = {.p = p, .s = s, .err = err};
    sked_status st = check_shape(&j);
    if (st == SKED_OK)
        st = judge_all(&j);
    sked_i_arena_free(&j.arena);
    return st;
}
