/* Force-directed placing (Paulin and Knight, IEEE TCAD 8(6), 1989). */
#ifndef SKED_ENGINE_FORCE_FORCE_H
#define SKED_ENGINE_FORCE_FORCE_H
#include "base/clock.h"
#include "form/steps.h"

/*
 * Places all ops into x->start; when the limit is reached, the rest as early as the placed ones allow.
 * neighbourhood: open ops whose forces are compared for each placement; 0: all, or as many as take a few
 * seconds. Any number of threads gives the same starts.
 */
SKED_MUST_CHECK sked_status sked_i_force_place(sked_i_steps *x, const sked_i_limit *limit, int threads,
                                               int32_t neighbourhood, sked_error *err);
#endif
