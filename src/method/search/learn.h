/*
 * Search that learns from conflicts (lazy clause generation; Ohrimenko, Stuckey, Codish 2009; for cumulative
 * resources: Schutt, Feydy, Stuckey, Wallace 2011). Bounds of start times are the literals, propagation is by
 * precedence, time table and learned clauses, and every failure leaves a clause that forbids its cause.
 * It proves that no schedule is shorter, or finds one.
 */
#ifndef SKED_METHOD_SEARCH_LEARN_H
#define SKED_METHOD_SEARCH_LEARN_H
#include "method/search/search.h"

typedef struct sked_i_learner sked_i_learner;

typedef enum sked_i_verdict {
    SKED_I_FOUND,    /* a schedule of at most the makespan asked for */
    SKED_I_REFUTED,  /* none exists */
    SKED_I_NARROW,   /* none exists under the assumptions */
    SKED_I_UNDECIDED /* conflicts or time used up */
} sked_i_verdict;

/* A bound: op start >= value (side 2 op), or -start >= value (side 2 op + 1). */
typedef struct sked_i_bound {
    int32_t side, value;
} sked_i_bound;

/* Is the problem of a size and kind that learning can handle? */
bool sked_i_learner_fits(const sked_i_search_worker *w, int32_t makespan);
/* makespan: an upper bound; only shorter schedules can be asked for later. NULL: no memory. */
sked_i_learner *sked_i_learner_create(sked_i_search_worker *w, int32_t makespan);
void sked_i_learner_destroy(sked_i_learner *l);
/*
 * Looks for a schedule of at most `makespan` (never more than in earlier calls) under the assumed bounds,
 * with values near `guide`. FOUND: start holds it. What was learned stays for the next call.
 */
sked_i_verdict sked_i_learner_solve(sked_i_learner *l, int32_t makespan, const sked_i_bound *assume,
                                    int32_t n_assume, const int32_t *guide, int64_t conflicts,
                                    int32_t *start);
bool sked_i_learner_failed(const sked_i_learner *l); /* out of memory on the way */
#endif
