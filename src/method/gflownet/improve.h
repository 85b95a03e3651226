/* Local improvement of drawn schedules with the parts of the method `search`. */
#ifndef SKED_METHOD_GFLOWNET_IMPROVE_H
#define SKED_METHOD_GFLOWNET_IMPROVE_H
#include "base/clock.h"
#include "schedule/schedule.h"

/*
 * For each of `count` schedules of p (devices, makespan, nothing else): justification to the right and to
 * the left, then rounds - 1 moves of one op in its order, each justified and kept where it shortens the
 * schedule; then devices are reassigned for the starts reached, so that an op runs where its data is.
 * rounds 0: devices only. No schedule gets longer. makespan[count] follows, delayed[count] gets what
 * sked_i_schedule_localise says of each. What becomes of a schedule
 * depends on its number and the seed, not on the threads. Where the limit is reached, the rest stays as it is
 * and delayed is INFINITY. O(rounds * decode) each.
 */
SKED_MUST_CHECK sked_status sked_i_improve(const sked_problem *p, sked_schedule *const *s, double *makespan,
                                           double *delayed, int32_t count, int64_t rounds, uint64_t seed,
                                           int threads, const sked_i_limit *limit, sked_error *err);
#endif
