/*
 * Forward-backward improvement (double justification; Valls, Ballestin, Quintanilla 2005): push everything to
 * the right in order of finish, then to the left in order of start.
 */
#ifndef SKED_ENGINE_DECODE_JUSTIFY_H
#define SKED_ENGINE_DECODE_JUSTIFY_H
#include "engine/decode/sgs.h"

/* Decoders of both directions of time and their scratch; one per thread. */
typedef struct sked_i_justifier {
    sked_i_arena arena;
    sked_i_sgs *forward, *mirror;
    int32_t *list, *start, *key; /* [n] scratch, free for the caller between calls */
    int64_t evaluations;         /* complete decodes so far */
} sked_i_justifier;

/* c and limit must stay. Close it after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_justifier_open(sked_i_justifier *j, const sked_i_cumulative *c,
                                                  const sked_i_limit *limit, sked_error *err);
void sked_i_justifier_close(sked_i_justifier *j);
/* Never lengthens the schedule. start is changed in place; returns the makespan. Costs two evaluations. */
int32_t sked_i_justify(sked_i_justifier *j, int32_t makespan, int32_t *start);
/*
 * Cost of what the forward decoder just made: the makespan, or more than any valid one where fixed starts are
 * missed.
 */
int32_t sked_i_justifier_cost(const sked_i_justifier *j, int32_t makespan);
#endif
