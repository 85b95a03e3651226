/*
 * The least sum of the lives of all values, each times its size: at interval 1 the registers of a pipeline.
 * Lifetimes, io, windows and the clock are those of the problem.
 */
#ifndef SKED_PROBLEM_LEAST_REGISTERS_H
#define SKED_PROBLEM_LEAST_REGISTERS_H
#include "problem/live_cut.h"
#include "problem/problem.h"

typedef struct sked_i_registers sked_i_registers;

/*
 * What is the sum for? A pipeline: objective memory with an interval, no devices, and whole times. Pools are
 * left out. O(ops + edges)
 */
bool sked_i_registers_fit(const sked_problem *p);
/* p: fits, is checked, and stays. INFEASIBLE: some op has no start. O(ops + edges) */
SKED_MUST_CHECK sked_status sked_i_registers_open(const sked_problem *p, sked_i_registers **out,
                                                  sked_error *err);
void sked_i_registers_close(sked_i_registers *x);
/* The earliest start of each op by edges, horizon and clock, or the latest: schedules, where no edge is
 * carried. [ops] */
const double *sked_i_registers_early(const sked_i_registers *x);
const double *sked_i_registers_late(const sked_i_registers *x);

typedef struct sked_i_registers_found {
    double bound;   /* no schedule has a smaller sum */
    bool optimal;   /* start is a schedule, and has this sum */
    bool none;      /* no schedule keeps all edges */
    int32_t rounds; /* of looking for broken pairs */
    int64_t pairs;
} sked_i_registers_found;
/*
 * Network simplex, with the pairs that a clock asks for where a round has broken them. start: [ops], or NULL.
 * work counts looks at arcs and nodes, below 2^52 of them: it may be called again with more of it, and goes
 * on from there.
 */
SKED_MUST_CHECK sked_status sked_i_registers_least(sked_i_registers *x, sked_i_bound_effort *effort,
                                                   double *start, sked_i_registers_found *found,
                                                   sked_error *err);
#endif
