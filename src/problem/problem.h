/* Questions about a problem: capacities, transfers, recurrences, the least initiation interval. */
#ifndef SKED_PROBLEM_PROBLEM_H
#define SKED_PROBLEM_PROBLEM_H
#include "graph/graph.h"

/* Capacity of a resource on p's machine. */
static inline double sked_i_capacity(const sked_problem *p, int32_t resource)
{
    return p->capacity ? p->capacity[resource] : p->graph->capacity[resource];
}
/* Time an edge adds between different devices. */
static inline double sked_i_transfer(const sked_problem *p, int64_t edge)
{
    return p->latency + p->graph->edge_bytes[edge] / p->bandwidth;
}
/* Do transfers cost anything on this machine? */
static inline bool sked_i_has_transfers(const sked_problem *p)
{
    return p->devices > 1 && (p->latency > 0 || p->bandwidth < INFINITY);
}
/* Every time of the problem is an integer: starts may be kept on integers, comparisons are exact. */
bool sked_i_problem_integral(const sked_problem *p);

/*
 * Strongly connected components over all edges, carried ones too (recurrence.c): component[i] in
 * 0..count-1, numbered so that edges between components go from higher to lower numbers. size (may be
 * NULL): [ops], ops per component. Returns the count, or -1 without memory. O(ops + edges).
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
