/*
 * Makespan problems as constraints on integer start times, for the clause-learning solver: branch.c (pools,
 * machines, interchangeable or fixed devices) and assignment_model.c (devices to choose).
 */
#ifndef SKED_ENGINE_BRANCH_BRANCH_H
#define SKED_ENGINE_BRANCH_BRANCH_H
#include "engine/clause/clause.h"
#include "schedule/schedule.h"

typedef struct sked_i_assignment sked_i_assignment;

/* What is known of a problem when its model is built. */
typedef struct sked_i_branch_known {
    double best, bound;             /* schedules below `best` are looked for; none is below `bound` */
    const sked_schedule *incumbent; /* where the search begins; NULL: none */
} sked_i_branch_known;

typedef struct sked_i_branch {
    const sked_problem *p;
    const sked_i_costs *costs;
    sked_i_branch_known known;
    sked_i_clause_solver *solver;
    double scale;
    int32_t n, end; /* end: the makespan's variable */
    int32_t value;  /* of the solution read last */
    bool warm;      /* phases are the orders of the incumbent */
    sked_schedule *schedule;
    sked_i_assignment *assignment; /* NULL: no device is to choose */
} sked_i_branch;

/*
 * Does a model take the problem? One of branch.c where a power of ten makes all times whole numbers of
 * moderate size, and devices are interchangeable or all fixed. One with devices to choose where ops^2 times
 * devices are moderate, and no resource is limited or such times.
 */
bool sked_i_branch_fits(const sked_problem *p, const sked_i_costs *c);
/*
 * Builds the model for schedules better than what is known; the incumbent is not kept. *empty: the bounds
 * alone leave no solution. Close it after a failure, too.
 */
SKED_MUST_CHECK sked_status sked_i_branch_open(const sked_problem *p, const sked_i_costs *c,
                                               const sked_i_branch_known *known, uint64_t seed,
                                               sked_i_branch *b, bool *empty, sked_error *err);
void sked_i_branch_close(sked_i_branch *b);
/*
 * The solver has found a solution: *better says whether its schedule, then in b->schedule, is valid and
 * better than `best`. sked_i_branch_exclude must follow.
 */
SKED_MUST_CHECK sked_status sked_i_branch_read(sked_i_branch *b, double best, bool *better, sked_error *err);
/*
 * Back to the root: excludes the solution just read and all that are no better than `best`. false: nothing is
 * left, or no memory (b->solver->failed).
 */
bool sked_i_branch_exclude(sked_i_branch *b, double best);
/* The makespan that a question about shorter schedules asks for. */
int32_t sked_i_branch_question(const sked_i_branch *b);

/* Devices for ops on interchangeable devices, from their starts; starts must fit. */
SKED_MUST_CHECK sked_status sked_i_branch_devices(const sked_problem *p, sked_schedule *s, sked_error *err);
#endif
