/* Parts of sked_problem_bound. */
#ifndef SKED_PROBLEM_BOUNDS_H
#define SKED_PROBLEM_BOUNDS_H
#include "problem/problem.h"

/* Objective makespan (bound_makespan.c). Near-linear for large graphs. */
SKED_MUST_CHECK sked_status sked_i_makespan_bound(const sked_problem *p, double *bound, const char **why,
                                                  sked_error *err);
#endif
