/* The schedules that may be measured, what the guesses predict for them, and which one promises most. */
#ifndef SKED_ROBUST_CANDIDATES_H
#define SKED_ROBUST_CANDIDATES_H
#include "robust/belief.h"
#include "schedule/replay.h"

typedef struct sked_i_candidate {
    sked_i_arena arena;
    sked_schedule *schedule; /* as early as the problem allows in its order, and valid there */
    sked_i_timing timing;
    const char *maker; /* label of the member, static */
    uint64_t hash;
    double *predicted; /* [particles of the belief] time under each guess, corrected by what is like it */
    double novelty;    /* 0: its critical path was measured already; 1: no part of it was */
    double *path;      /* [parameters] what links and ops add to its critical path, of length 1 */
    int32_t measured;  /* how often; failures counted */
    int32_t times;     /* how often with a time, and their sum */
    double sum;
    double estimate;       /* of its time; NAN: it has none. sked_i_candidates_estimate */
    double deviation;      /* of the logarithm of the estimate */
    int32_t member, place; /* where it is in the result */
} sked_i_candidate;

typedef struct sked_i_candidate_set {
    const sked_i_model *model;
    int32_t particles;
    sked_i_replay *reference;
    sked_i_candidate **entry; /* [count] each at a place of its own */
    int64_t count, cap;
    double repeat,
        miss;       /* variances of the logarithm: of a time measured again; of what guesses miss of it */
    int32_t *label; /* [devices] work space */
} sked_i_candidate_set;

/* Close in any case. */
SKED_MUST_CHECK sked_status sked_i_candidates_open(sked_i_candidate_set *candidates, const sked_i_model *m,
                                                   int32_t particles, sked_error *err);
void sked_i_candidates_close(sked_i_candidate_set *candidates);
/*
 * Takes a schedule in, whatever its starts: devices and orders count. *out (may be NULL): its entry, or that
 * of one like it that is there; NULL: the problem does not allow it. Entries stay where they are.
 */
SKED_MUST_CHECK sked_status sked_i_candidates_offer(sked_i_candidate_set *candidates, const sked_schedule *s,
                                                    const char *maker, sked_i_candidate **out,
                                                    sked_error *err);
/* Times of all entries under all guesses; a stop leaves some as they were. O(particles * entries * (ops +
 * edges)). */
SKED_MUST_CHECK sked_status sked_i_candidates_predict(sked_i_candidate_set *candidates,
                                                      const sked_i_belief *b, const sked_i_limit *limit,
                                                      sked_error *err);
/* Forgets entries that were never measured, but for the `keep` that promise most. best: as below. */
void sked_i_candidates_trim(sked_i_candidate_set *candidates, const sked_i_belief *b, double best,
                            int64_t keep);

/* Mean of its measurements; NAN: none. */
static inline double sked_i_candidates_time(const sked_i_candidate *e)
{
    return e->times > 0 ? e->sum / e->times : NAN;
}
/*
 * Estimates of all measured entries: the mean of the measurements, pulled towards what the guesses predict by
 * as much as candidates->repeat and candidates->miss say that it is noise. So the luckiest of many does not
 * win by luck.
 */
void sked_i_candidates_estimate(sked_i_candidate_set *candidates, const sked_i_belief *b);
/* The entry of the least estimate; NULL: none was measured. */
sked_i_candidate *sked_i_candidates_best(const sked_i_candidate_set *candidates);
/* Mean and deviation of the logarithm of its time, as the guesses predict it, noise included. */
void sked_i_candidates_expect(const sked_i_candidate *e, const sked_i_belief *b, double *mean,
                              double *deviation);
/*
 * By how much a measurement is expected to fall below `best`; INFINITY for best: minus the mean of the
 * logarithm, which ranks by what is good under all guesses.
 */
double sked_i_candidates_promise(const sked_i_candidate_set *candidates, const sked_i_candidate *e,
                                 const sked_i_belief *b, double best);
/*
 * The entry not measured yet that promises most; NULL: none. *promise gets its own. Where others (count of
 * them) are measured at the same time: by how much it is expected to fall below `best` and below what each
 * guess predicts for them.
 */
sked_i_candidate *sked_i_candidates_choose(const sked_i_candidate_set *candidates, const sked_i_belief *b,
                                           double best, sked_i_candidate *const *others, int count,
                                           double *promise);
/* The entry of the least time under guess i; NULL: there is none. */
const sked_i_candidate *sked_i_candidates_fittest(const sked_i_candidate_set *candidates, int32_t i);
#endif
