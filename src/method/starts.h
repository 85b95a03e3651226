/* Offers of methods that choose start times only. */
#ifndef SKED_METHOD_STARTS_H
#define SKED_METHOD_STARTS_H
#include "form/windows.h"
#include "method/method.h"

/*
 * Offers the schedule with these starts; on a limited machine the one that starts every op at or after
 * its target where it fits first. Past the horizon: nothing is offered.
 */
SKED_MUST_CHECK sked_status sked_i_offer_starts(sked_i_run *run, const sked_i_windows *w, const double *start,
                                                sked_error *err);
#endif
