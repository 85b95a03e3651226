/*
 * Search that learns from conflicts on a compiled cumulative problem: bounds of start times are the kernel's
 * literals, and the resources are one time table of packed words. It proves that no schedule is shorter, or
 * finds one.
 */
#ifndef SKED_ENGINE_CLAUSE_CLAUSE_LEARNER_H
#define SKED_ENGINE_CLAUSE_CLAUSE_LEARNER_H
#include "engine/clause/clause.h"
#include "engine/client.h"
#include "form/cumulative.h"

typedef struct sked_i_learner sked_i_learner;

/* Is the problem of a size and kind that learning can handle? */
bool sked_i_learner_fits(const sked_i_cumulative *problem, int32_t makespan);
/*
 * makespan: an upper bound; only shorter schedules can be asked for later. core and client must stay; a
 * conflict is one evaluation of the client. NULL: no memory.
 */
sked_i_learner *sked_i_learner_create(const sked_i_core *core, int32_t makespan, sked_i_client *client);
void sked_i_learner_destroy(sked_i_learner *l);
/*
 * Looks for a schedule of at most `makespan` (never more than in earlier calls) under the assumed bounds
 * (op i is variable i), with values near `guide`. FOUND: start holds it. What was learnt stays for the next
 * call.
 */
sked_i_verdict sked_i_learner_solve(sked_i_learner *l, int32_t makespan, const sked_i_lit *assume,
                                    int32_t n_assume, const int32_t *guide, int64_t conflicts,
                                    int32_t *start);
bool sked_i_learner_failed(const sked_i_learner *l); /* out of memory on the way */
/* What it has done since it was made. */
sked_i_clause_stats sked_i_learner_stats(const sked_i_learner *l);
#endif
