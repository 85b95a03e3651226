/*
 * Makespan problems as a constraint model: what branch.c (identical devices) and unequal.c (unequal ones)
 * build and prove.c searches.
 */
#ifndef SKED_METHOD_EXACT_BRANCH_H
#define SKED_METHOD_EXACT_BRANCH_H
#include "engine/clause/clause.h"
#include "method/method.h"

typedef struct sked_i_branch_unequal sked_i_branch_unequal;

typedef struct sked_i_branch {
    sked_i_run *run; /* where bounds and schedules go */
    const sked_problem *p;
    sked_i_clause_solver *solver;
    double scale;
    int32_t n, end; /* end: the makespan's variable */
    bool warm;      /* phases are the orders of the incumbent */
    sked_schedule *schedule;
    sked_i_branch_unequal *unequal; /* NULL: devices are identical, or there are none */
} sked_i_branch;

/*
 * Builds the model for schedules better than the run's best. *empty: the bounds alone leave no solution.
 * Close it after a failure, too.
 */
SKED_MUST_CHECK sked_status sked_i_branch_open(sked_i_run *run, uint64_t seed, sked_i_branch *b, bool *empty,
                                               sked_error *err);
void sked_i_branch_close(sked_i_branch *b);

/* The same for unequal devices (unequal.c). b->run, p, n, end, schedule are set. */
bool sked_i_branch_unequal_fits(const sked_problem *p, const sked_i_costs *c);
SKED_MUST_CHECK sked_status sked_i_branch_unequal_open(sked_i_branch *b, uint64_t seed, bool *empty,
                                                       sked_error *err);
void sked_i_branch_unequal_close(sked_i_branch_unequal *u);
/*
 * The solver has found a solution of the model: offers its schedule where it is better, and excludes what
 * has been looked at. The solver is back at the root. *done: nothing better is left.
 */
SKED_MUST_CHECK sked_status sked_i_branch_unequal_take(sked_i_branch *b, bool *done, sked_error *err);
#endif
