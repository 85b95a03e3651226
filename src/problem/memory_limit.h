/* What memory limits admit at the least. */
#ifndef SKED_PROBLEM_MEMORY_LIMIT_H
#define SKED_PROBLEM_MEMORY_LIMIT_H
#include "problem/costs.h"

/*
 * INFEASIBLE, with the values that cannot fit, where some op needs more than a limit while it runs, or kept
 * values more at the end. O(ops + edges), and values that others must hold beside an op's own inputs as long
 * as ops * edges is moderate.
 */
SKED_MUST_CHECK sked_status sked_i_check_memory(const sked_problem *p, const sked_i_costs *c,
                                                sked_error *err);
/*
 * Of a problem without a machine: a lower bound of the peak when readers hold what they read until they end:
 * what must be held while one op runs, or at the end. 0 where nothing can be said.
 */
SKED_MUST_CHECK sked_status sked_i_least_peak(const sked_problem *p, double *bound, sked_error *err);
#endif
