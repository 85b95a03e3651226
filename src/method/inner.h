/* A problem of its own that a method or a training has solved on the way: a driver beside the run's. */
#ifndef SKED_METHOD_INNER_H
#define SKED_METHOD_INNER_H
#include "schedule/schedule.h"

/*
 * Solves p by a method with opt's time limit, iterations, seed, threads and stop; no exchange with other
 * ranks. *out: the best schedule, the caller's. Errors: as the method's; INFEASIBLE where it found none.
 */
SKED_MUST_CHECK sked_status sked_i_inner_run(const char *method, const sked_problem *p,
                                             const sked_run_options *opt, sked_schedule **out,
                                             sked_error *err);
#endif
