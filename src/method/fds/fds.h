/*
 * `fds`: force-directed scheduling: placing by force (engine/force), then moving placed ops, one at a time
 * (refine.c).
 */
#ifndef SKED_METHOD_FDS_FDS_H
#define SKED_METHOD_FDS_FDS_H
#include "form/steps.h"
#include "method/starts.h"

/* Moves ops of x->start until `passes` are done or the time is up; offers on the way. */
SKED_MUST_CHECK sked_status sked_i_fds_refine(sked_i_run *run, sked_i_steps *x, int64_t passes,
                                              sked_error *err);
/* Offers x->start. */
SKED_MUST_CHECK sked_status sked_i_fds_offer(sked_i_run *run, sked_i_steps *x, sked_error *err);
#endif
