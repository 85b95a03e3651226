/*
 * A schedule improved for the belief as a whole. Members make schedules for one guess each, and such a
 * schedule suits its guess better than the others. Here annealing moves single ops, judged by the mean of the
 * logarithm of the time over several guesses.
 */
#ifndef SKED_ROBUST_REFINE_H
#define SKED_ROBUST_REFINE_H
#include "robust/candidates.h"

typedef struct sked_i_refine_options {
    double seconds; /* INFINITY: until the moves end */
    int64_t moves;  /* 0: until the time ends */
    uint64_t seed;
} sked_i_refine_options;

/*
 * Starts from the incumbent (the most likely best without one) and from the most promising entry; the set
 * takes the results in. best: time of the incumbent. A problem with fixed devices keeps them.
 */
SKED_MUST_CHECK sked_status sked_i_refine(sked_i_candidate_set *candidates, const sked_i_belief *b,
                                          double best, const sked_i_limit *limit,
                                          const sked_i_refine_options *opt, sked_error *err);
#endif
