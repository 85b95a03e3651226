/* Questions about a problem: capacities, transfers, recurrences, the least initiation interval. */
#ifndef SKED_PROBLEM_PROBLEM_H
#define SKED_PROBLEM_PROBLEM_H
#include "problem/machine.h"

#include <assert.h>

/* Devices a machine or a schedule may have: work on them takes memory for each, used or not. */
enum { SKED_I_MOST_DEVICES = 1000000, SKED_I_MOST_ALIGN = 1 << 30 };

/* Capacity of a resource on p's machine. */
static inline double sked_i_capacity(const sked_problem *p, int32_t resource)
{
    assert(resource >= 0 && resource < p->graph->n_resources);
    return p->capacity ? p->capacity[resource] : p->graph->capacity[resource];
}
/* Users of a resource, the k-th of them and what it holds; r < 0: all ops, with one each (of the devices). */
static inline int64_t sked_i_user_count(const sked_graph *g, int32_t r)
{
    return r < 0 ? g->n_ops : g->user_ptr[r + 1] - g->user_ptr[r];
}
static inline int32_t sked_i_user(const sked_graph *g, int32_t r, int64_t k, double *amount)
{
    assert(k >= 0 && k < sked_i_user_count(g, r));
    *amount = r < 0 ? 1 : g->user_amount[g->user_ptr[r] + k];
    return r < 0 ? (int32_t)k : g->user_op[g->user_ptr[r] + k];
}
/* Time an edge adds between different devices of the short form; sked_i_transfer_time serves every machine.
 */
static inline double sked_i_transfer(const sked_problem *p, int64_t edge)
{
    return p->latency + p->graph->edge_bytes[edge] / p->bandwidth;
}
/* Do transfers cost anything on this machine? Conservative for machines with links. */
static inline bool sked_i_has_transfers(const sked_problem *p)
{
    if (p->machine != NULL)
        return p->machine->n_devices > 1;
    return p->devices > 1 && (p->latency > 0 || p->bandwidth < INFINITY);
}
/* Does a device of the machine have a memory limit? O(devices) */
bool sked_i_has_device_memory(const sked_problem *p);
/* Is there any memory limit? A lowered problem has one only where it can bind. */
static inline bool sked_i_has_memory_limit(const sked_problem *p)
{
    return p->memory_limit < INFINITY || sked_i_has_device_memory(p);
}
/* Do values get addresses? */
static inline bool sked_i_has_addresses(const sked_problem *p)
{
    return p->offsets || p->objective == SKED_OBJECTIVE_ARENA;
}
/* What lifetime auto stands for. */
static inline sked_lifetime sked_i_lifetime(const sked_problem *p)
{
    return p->lifetime != SKED_LIFETIME_AUTO                       ? p->lifetime
           : p->clock > 0                                          ? SKED_LIFETIME_RESULT
           : sked_i_has_memory_limit(p) || sked_i_has_addresses(p) ? SKED_LIFETIME_FINISH
                                                                   : SKED_LIFETIME_START;
}
/* Do readers hold a value until they finish? */
static inline bool sked_i_holds_to_finish(const sked_problem *p)
{
    return sked_i_lifetime(p) == SKED_LIFETIME_FINISH;
}
/* With addresses: may ops write their results over what they read (docs/addresses.md)? */
static inline bool sked_i_writes_over(const sked_problem *p)
{
    return p->graph->edge_inplace != NULL && sked_i_has_addresses(p) && sked_i_holds_to_finish(p);
}
/*
 * From the start of an op until its result is there, for lifetime result: the least lag to a reader, without
 * readers the duration. O(out-edges)
 */
double sked_i_result_lag(const sked_graph *g, int32_t op);
/* Is there a value of some size whose result is there only after its op has started? O(ops + edges) */
bool sked_i_results_wait(const sked_graph *g);
/* Has the value of op no reader, in whatever iteration? With io aligned it lives to the end. O(out-edges) */
bool sked_i_is_output(const sked_graph *g, int32_t op);
/* Greatest common divisor of two numbers, 0 or more. */
static inline double sked_i_gcd(double a, double b)
{
    assert(a >= 0 && b >= 0);
    while (b > 0) {
        const double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}
/* Every time of the problem is an integer: starts may be kept on integers, comparisons are exact. */
bool sked_i_problem_integral(const sked_problem *p);

/* Earliest starts by the edges of distance 0 and the fixed starts. O(ops + edges). */
void sked_i_earliest_starts(const sked_problem *p, double *early);
/* Latest starts that keep this horizon (INFINITY: none) and the fixed starts. O(ops + edges). */
void sked_i_latest_starts(const sked_problem *p, double horizon, double *latest);

/*
 * Strongly connected components over all edges, carried ones too (recurrence.c): component[i] in
 * 0..count-1, numbered so that edges between components go from higher to lower numbers. size: [ops], ops per
 * component. Returns the count, or -1 without memory. O(ops + edges).
 */
int32_t sked_i_components(const sked_graph *g, int32_t *component, int32_t *size);

enum { SKED_I_CYCLE_SHOWN = 8 };

/* The least initiation intervals that recurrences and resources allow, and what proves them. */
typedef struct sked_i_min_ii {
    double recurrence;                 /* RecMII; 0: no recurrence needs time */
    int32_t cycle[SKED_I_CYCLE_SHOWN]; /* first ops of a recurrence that decides, in its order */
    int32_t cycle_length;              /* ops on it; 0: none */
    double cycle_lag, cycle_distance;  /* its sums: recurrence = lag / distance, rounded up for integers */
    double resource;                   /* ResMII */
    int32_t deciding_resource;         /* -1: the devices, or none */
} sked_i_min_ii;
/* O(ops + edges) without carried edges; else a few longest-path passes over the recurrences. */
SKED_MUST_CHECK sked_status sked_i_problem_min_ii(const sked_problem *p, sked_i_min_ii *out, sked_error *err);
#endif
