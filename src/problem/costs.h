/*
 * What ops and edges of a problem cost on each device, compiled for fast questions. Devices on which every op
 * takes the same time are one kind of time. Kinds that differ by speed alone are one class: one table holds
 * what the graph says by (op, class), the rest follows from the speeds. validate.c does not use this: it
 * looks names up itself.
 */
#ifndef SKED_PROBLEM_COSTS_H
#define SKED_PROBLEM_COSTS_H
#include "problem/machine.h"
#include "problem/problem.h"

#include <assert.h>

typedef struct sked_i_costs {
    sked_i_arena arena;
    const sked_graph *graph;
    const sked_machine *machine; /* NULL: identical devices */
    int32_t devices;
    double latency, bandwidth;  /* identical devices */
    int32_t time_kinds;         /* at least 1 */
    int32_t *time_kind_of;      /* [devices]; NULL: one kind of time */
    double *speed;              /* [time_kinds]; NULL: 1 */
    int32_t *kind_device;       /* [time_kinds] first device of each; NULL: one kind of time */
    int32_t classes;            /* at least 1 */
    int32_t *class_of;          /* [time_kinds]; NULL: one class */
    int32_t *fastest, *slowest; /* [classes] kinds of time; NULL: there is one */
    double *class_size;         /* [classes] devices ... */
    double *class_pace;         /* ... and the sum of 1 / speed over them */
    int32_t *row;               /* [ops] row in the table, -1: duration / speed; NULL: no table */
    double *table;              /* [rows * classes] INFINITY: cannot run there; NAN: duration / speed */
} sked_i_costs;

/*
 * p, without a profile (SKED_TAKE_PROBLEM, sked_i_lower), is kept by reference and must stay. A run compiles
 * them once, when it lowers its problem, and passes them on; others may make their own.
 * O(ops + durations by device + rows * classes). Free in any case.
 */
SKED_MUST_CHECK sked_status sked_i_costs_make(const sked_problem *p, sked_i_costs *c, sked_error *err);
void sked_i_costs_free(sked_i_costs *c);
/* INFEASIBLE where an op can run on no device, or not on the one it is fixed on. In problem.c. */
SKED_MUST_CHECK sked_status sked_i_check_able(const sked_problem *p, const sked_i_costs *c, sked_error *err);
/* Of a problem without a machine: nothing to compile, nothing to free. */
static inline sked_i_costs sked_i_costs_of_equal(const sked_problem *p)
{
    return (sked_i_costs){.graph = p->graph,
                          .devices = p->devices,
                          .latency = p->latency,
                          .bandwidth = p->bandwidth,
                          .time_kinds = 1,
                          .classes = 1};
}
/*
 * The driver locks them on the thread that runs a method: debug builds then stop where a machine's costs are
 * compiled once more. Returns what it was.
 */
bool sked_i_costs_lock(bool locked);

/* What the graph says of op on devices of a class; NAN: its duration over their speeds. */
static inline double sked_i_class_time(const sked_i_costs *c, int32_t op, int32_t q)
{
    assert(q >= 0 && q < c->classes);
    return c->row != NULL && c->row[op] >= 0 ? c->table[(int64_t)c->row[op] * c->classes + q] : NAN;
}
static inline double sked_i_kind_time(const sked_i_costs *c, int32_t op, int32_t k)
{
    assert(k >= 0 && k < c->time_kinds);
    if (c->row != NULL && c->row[op] >= 0) {
        const double said = c->table[(int64_t)c->row[op] * c->classes + c->class_of[k]];
        if (!isnan(said))
            return said;
    }
    return c->speed != NULL ? c->graph->duration[op] / c->speed[k] : c->graph->duration[op];
}
static inline int32_t sked_i_device_time_kind(const sked_i_costs *c, int32_t device)
{
    assert(c->time_kind_of == NULL || (device >= 0 && device < c->devices));
    return c->time_kind_of != NULL ? c->time_kind_of[device] : 0;
}
/* Time of op on a device; INFINITY: it cannot run there. */
static inline double sked_i_time(const sked_i_costs *c, int32_t op, int32_t device)
{
    return sked_i_kind_time(c, op, sked_i_device_time_kind(c, device));
}
/* Lag of an edge when its `from` runs on that device. */
static inline double sked_i_lag(const sked_i_costs *c, int64_t edge, int32_t device)
{
    return c->machine == NULL || c->graph->edge_lag_given[edge]
               ? c->graph->edge_lag[edge]
               : sked_i_time(c, c->graph->edge_from[edge], device);
}
/* Time that `bytes` take over a link of the machine's table; INFINITY: there is none. */
static inline double sked_i_link_time(const sked_machine *m, int64_t pair, double bytes)
{
    if (isnan(m->link_latency[pair]))
        return bytes > 0 ? INFINITY : 0;
    return m->link_latency[pair] + bytes / m->link_bandwidth[pair];
}
/* Time that `bytes` take from one device to another; INFINITY: they cannot pass. */
static inline double sked_i_transfer_time(const sked_i_costs *c, double bytes, int32_t from, int32_t to)
{
    if (from == to)
        return 0;
    if (c->machine == NULL)
        return c->latency + bytes / c->bandwidth;
    return sked_i_link_time(c->machine, sked_i_machine_pair(c->machine, from, to), bytes);
}
/*
 * Over the devices: shortest (INFINITY: none can run it), longest finite, mean of the finite times.
 * O(classes); the mean of few ops and devices O(devices).
 */
double sked_i_shortest_time(const sked_i_costs *c, int32_t op);
double sked_i_longest_time(const sked_i_costs *c, int32_t op);
double sked_i_mean_time(const sked_i_costs *c, int32_t op);
/* Longest time that data may take between two devices that have a link. */
double sked_i_longest_transfer(const sked_i_costs *c, double bytes);
/* Mean over all pairs of different devices that have a link: latency, and 1 / bandwidth. */
void sked_i_mean_link(const sked_i_costs *c, double *latency, double *per_byte);
/* Time of an op where the schedule runs it; its duration without devices. */
static inline double sked_i_time_in(const sked_i_costs *c, const sked_schedule *s, int32_t op)
{
    return c->machine != NULL && s->device != NULL ? sked_i_time(c, op, s->device[op])
                                                   : c->graph->duration[op];
}
/*
 * May n ops take less time on device d than on those before it? Of a kind that is true of the first alone;
 * where ops and devices are many, of a class of the fastest kind alone.
 */
bool sked_i_costs_leads(const sked_i_costs *c, int32_t d, int32_t n);
/* All ops on the best single device; where none can run them all, the sum of the shortest times. O(ops *
 * classes) */
double sked_i_sequential_time(const sked_i_costs *c);
/* Latest finish. O(ops). */
double sked_i_costs_latest_finish(const sked_i_costs *c, const sked_schedule *s);
#endif
