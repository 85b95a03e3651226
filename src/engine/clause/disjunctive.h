/*
 * A machine that runs one task at a time, as a propagator of the clause-learning kernel. The order of two
 * tasks is a literal, and explanations speak of orders where they can: they hold in more places than
 * explanations by bounds alone. Conditional arcs between the tasks are the caller's.
 */
#ifndef SKED_ENGINE_CLAUSE_DISJUNCTIVE_H
#define SKED_ENGINE_CLAUSE_DISJUNCTIVE_H
#include "engine/clause/clause.h"

typedef struct sked_i_clause_machine {
    int32_t count;
    int32_t *var, *duration; /* [count] start variables; durations above 0 */
    sked_i_lit *before;      /* [count * count] the row's task ends before the column's begins */
} sked_i_clause_machine;
/* Orders that are no question. */
#define SKED_I_LIT_ALWAYS ((sked_i_lit){-1, 1})
#define SKED_I_LIT_NEVER  ((sked_i_lit){-1, 0})

/* Room for count tasks in the solver's memory, before all NEVER. false: no memory (s->failed). */
bool sked_i_clause_machine_create(sked_i_clause_solver *s, sked_i_clause_machine *m, int32_t count);
/*
 * - A task waits for all that come before it: the earliest start is no less than the time at which they can
 *   be done (detectable precedences, once arcs have refuted the other order).
 * - Edge finding (Carlier, Pinson 1989): tasks that cannot be done in time together with another come before
 *   or after it. Tasks that cannot be done in time even alone are a conflict.
 *
 * m is of the same solver. false: no memory (s->failed). O(tasks^2) a call.
 */
bool sked_i_clause_add_machine(sked_i_clause_solver *s, sked_i_clause_machine m);
#endif
