/* Parts of sked_problem_bound. */
#ifndef SKED_PROBLEM_BOUNDS_H
#define SKED_PROBLEM_BOUNDS_H
#include "problem/costs.h"
#include "problem/live_cut.h"

#include <math.h>

/* What may be claimed: whole values round up; sums of reals may have rounded up, and give that back. */
static inline double sked_i_bound_settle(double bound, bool whole)
{
    return whole ? ceil(bound - 1e-9 * fmax(1, bound)) : bound * (1 - 1e-12);
}

/* The best bound so far, and what proves it. */
typedef struct sked_i_best_bound {
    bool whole; /* every time is an integer */
    double value;
    const char *why;
} sked_i_best_bound;
static inline void sked_i_bound_keep(sked_i_best_bound *b, double bound, const char *why)
{
    const double safe = sked_i_bound_settle(bound, b->whole);
    if (safe > b->value) {
        b->value = safe;
        b->why = why;
    }
}

/* Objective makespan (bound_makespan.c). Near-linear for large graphs. */
SKED_MUST_CHECK sked_status sked_i_bound_makespan(const sked_problem *p, double *bound, const char **why,
                                                  sked_error *err);
/* The same on heterogeneous devices (bound_machine.c): raises *bound, which holds already, and says why. */
SKED_MUST_CHECK sked_status sked_i_bound_machine(const sked_problem *p, const sked_i_costs *c, double *bound,
                                                 const char **why, sked_error *err);

/* Objective memory (bound_memory.c): what must be alive at some moment. */
SKED_MUST_CHECK sked_status sked_i_bound_memory(const sked_problem *p, const sked_i_bound_effort *effort,
                                                double *bound, const char **why, sked_error *err);
/*
 * life: [ops] how long each value lives at the least: the longest path to a reader, the most promising values
 * first as far as a quarter of the effort goes; for the others the longest lag. With an interval readers of
 * later iterations count.
 */
SKED_MUST_CHECK sked_status sked_i_least_lives(const sked_problem *p, const sked_i_bound_effort *effort,
                                               double *life, sked_error *err);

/* Objective cost, where no schedule has less communication than this. */
SKED_MUST_CHECK sked_status sked_i_cost_bound(const sked_problem *p, double communication, double *bound,
                                              sked_error *err);

#define SKED_I_BOUND_WORK 4e7 /* of sked_problem_bound, where a bound can use any amount */
/* sked_problem_bound with the costs of p and this effort. */
SKED_MUST_CHECK sked_status sked_i_problem_bound(const sked_problem *p, const sked_i_costs *c,
                                                 const sked_i_bound_effort *effort, double *bound,
                                                 const char **why, sked_error *err);

typedef struct sked_i_area_item {
    double cut, other, area; /* cut: what the set is cut by (head or rest); other: its least counts */
} sked_i_area_item;
/* max over sets {cut >= c} of c + area / capacity + least other. Sorts the items. O(n log n). */
double sked_i_area_sweep(sked_i_area_item *items, int32_t n, double capacity);
#endif
