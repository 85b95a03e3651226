/*
 * A clock period as difference constraints. Ops in a chain share a cycle; a chain whose delays exceed the
 * period must not: somewhere on it an op starts a cycle later than the chain asks for. So start(to) >=
 * start(from) + lag of the chain + 1 for its ends (Cong and Zhang 2006). validate.c looks at phases instead
 * and uses none of this.
 */
#ifndef SKED_PROBLEM_CHAINING_H
#define SKED_PROBLEM_CHAINING_H
#include "base/clock.h"
#include "problem/problem.h"

/* Ops that a chain of that lag and distance in all joins, and that must stand a cycle further apart. */
typedef struct sked_i_clock_pair {
    int32_t from, to, distance;
    double lag; /* the cycle included */
} sked_i_clock_pair;

typedef struct sked_i_clock_pairs {
    int64_t count, capacity;
    sked_i_clock_pair *at;
} sked_i_clock_pairs;
static inline void sked_i_clock_pairs_free(sked_i_clock_pairs *x)
{
    free(x->at);
    *x = (sked_i_clock_pairs){0};
}

/* Delays up to this fit a period: half the rounding that the validator allows. */
static inline double sked_i_clock_room(double clock)
{
    return clock * (1 + 0.5e-9);
}
/* The delay of an op from its inputs to its first register, and from its last one to its outputs. */
static inline double sked_i_delay_in(const sked_graph *g, int32_t op)
{
    return g->delay_in != NULL ? g->delay_in[op] : 0;
}
static inline double sked_i_delay_out(const sked_graph *g, int32_t op)
{
    return g->delay_out != NULL ? g->delay_out[op] : 0;
}
/* An op without duration has no register: what comes in goes out in the same cycle. */
static inline bool sked_i_is_combinational(const sked_graph *g, int32_t op)
{
    return !(g->duration[op] > 0);
}

/*
 * Is p a problem that a clock can have? UNSUPPORTED: devices, times that are not whole cycles, a
 * combinational op with two delays. INFEASIBLE: an op longer than the period. O(ops + edges)
 */
SKED_MUST_CHECK sked_status sked_i_clock_check(const sked_problem *p, sked_error *err);
/*
 * The pairs that p's clock asks for: with the edges they are all it asks for. Of pairs that follow from
 * others most are left out, and all that follow from the horizon, the other pairs and the edges by windows of
 * starts. UNSUPPORTED where there are more than four million. work and memory: the chains that fit a period,
 * and one step more. The limit may be NULL. Free in any case.
 */
SKED_MUST_CHECK sked_status sked_i_clock_pairs_find(const sked_problem *p, const sked_i_limit *limit,
                                                    sked_i_clock_pairs *out, sked_error *err);
/* When in its cycle each op of a valid schedule begins. phase: [ops]. O(ops + edges) where no chain is a
 * loop. */
SKED_MUST_CHECK sked_status sked_i_clock_phases(const sked_problem *p, const sked_schedule *s, double *phase,
                                                sked_error *err);
#endif
