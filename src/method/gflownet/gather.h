/*
 * Draws of one problem made by several ranks (sked_sample_options: together). Each rank makes some of the
 * draws of a part; rank 0 gets them all, in the order one process would have made them.
 */
#ifndef SKED_METHOD_GFLOWNET_GATHER_H
#define SKED_METHOD_GFLOWNET_GATHER_H
#include "base/status.h"

/* Those of the draws from `from` to `end` that this rank makes. */
typedef struct sked_i_draw_range {
    int32_t from, end;
} sked_i_draw_range;
sked_i_draw_range sked_i_draws_of_rank(bool together, int32_t from, int32_t end);
/*
 * At the end: each rank has draws of its own in s, each in the place of its number among the draws of all;
 * the schedules of others are NULL. Rank 0 takes in those of the others, and has no gaps any more; the others
 * send theirs and keep none. zeta moves with them. Every rank calls with the status of its drawing: a failure
 * of one becomes that of all, but a stop before the first draw is one of rank 0 only. room: of zeta and of
 * the arrays of s.
 */
SKED_MUST_CHECK sked_status sked_i_draws_gather(const sked_problem *p, sked_status status, sked_samples *s,
                                                double *zeta, int32_t room, sked_error *err);
#endif
