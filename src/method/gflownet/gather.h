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
/* What is known of the draws in sked_samples beside what stands there. */
typedef struct sked_i_draw {
    int32_t number; /* among the draws of all ranks */
    double zeta;
} sked_i_draw;
/*
 * At the end: rank 0 takes the draws of the others in among its own, by number; the others send theirs and
 * keep none. Every rank calls with the status of its drawing; a failure of one becomes that of all, but a
 * stop before the first draw is one of rank 0 only. room: of draw and of the arrays of s.
 */
SKED_MUST_CHECK sked_status sked_i_draws_gather(const sked_problem *p, sked_status status, sked_samples *s,
                                                sked_i_draw *draw, int32_t room, sked_error *err);
#endif
