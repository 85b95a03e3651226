/*
 * Measuring on several ranks (sked_robust_options: together). Rank 0 runs the pipeline and sends schedules;
 * the others measure what they are sent. What a simulated target says depends on the number of the
 * measurement, not on the rank, so the times are those of one process.
 */
#ifndef SKED_ROBUST_RANKS_H
#define SKED_ROBUST_RANKS_H
#include "robust/robust.h"

/* One schedule and what the target said of it. */
typedef struct sked_i_order {
    const sked_schedule *schedule;
    sked_measurement said; /* size set; the caller clears it */
    sked_status status;    /* DEVICE and STOPPED are outcomes as well */
    sked_error why;
} sked_i_order;

/* Measures count <= run->ranks schedules, one on each rank, rank 0 the first. `number`: measurements before.
 */
SKED_MUST_CHECK sked_status sked_i_robust_measure(const sked_i_robust_run *run, int64_t number,
                                                  sked_i_order *orders, int count, sked_error *err);
/* On other ranks than 0: measures until rank 0 is done. */
SKED_MUST_CHECK sked_status sked_i_robust_serve(const sked_i_robust_run *run, sked_error *err);
/* On rank 0: the others may go. */
void sked_i_robust_dismiss(const sked_i_robust_run *run);
#endif
