/* Makespan problems as a constraint model: what branch.c builds and prove.c searches. */
#ifndef SKED_METHOD_EXACT_BRANCH_H
#define SKED_METHOD_EXACT_BRANCH_H
#include "engine/cp/cp.h"
#include "method/method.h"

typedef struct sked_i_branch {
    sked_i_run *run; /* where bounds and schedules go */
    const sked_problem *p;
    sked_i_cp *cp;
    double scale;
    int32_t n, end; /* end: the makespan's variable */
    sked_schedule *schedule;
} sked_i_branch;

/*
 * Builds the model for schedules better than the run's best. *empty: the bounds alone leave no solution.
 * Close it after a failure, too.
 */
SKED_MUST_CHECK sked_status sked_i_branch_open(sked_i_run *run, uint64_t seed, sked_i_branch *b, bool *empty,
                                               sked_error *err);
void sked_i_branch_close(sked_i_branch *b);
#endif
