/* Amounts held over time as step functions: resource loads, memory. Used by metrics and reports. */
#ifndef SKED_SCHEDULE_PROFILE_H
#define SKED_SCHEDULE_PROFILE_H
#include "schedule/schedule.h"

/* value[k] holds on [time[k], time[k+1]); the last value is 0. count may be 0. */
typedef struct sked_i_profile {
    int64_t count;
    double *time, *value;
    double peak;
} sked_i_profile;

typedef struct sked_i_interval {
    double begin, end, amount;
} sked_i_interval;

/*
 * Sum of the intervals' amounts. period > 0 folds time into [0, period) (pipelined schedules).
 * tolerance: overlaps shorter than this do not count (rounding of real times). O(n log n), and O(n) for
 * integers.
 */
SKED_MUST_CHECK sked_status sked_i_profile_build(const sked_i_interval *intervals, int64_t count,
                                                 double period, double tolerance, sked_i_profile *out,
                                                 sked_error *err);
void sked_i_profile_free(sked_i_profile *profile);
/* Rounding of real times: relative to the makespan, none for integers. */
double sked_i_time_tolerance(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s);

/*
 * c: the costs of p, here and below. The sum over resources of their peak weighted loads; of a graph without
 * demands, the peak of the weights of running ops. O((ops + demands) log ops + edges).
 */
SKED_MUST_CHECK sked_status sked_i_profile_loads(const sked_problem *p, const sked_i_costs *c,
                                                 const sked_schedule *s, double *out, sked_error *err);
/* The peak load of each resource without weights: peak[resources]. */
SKED_MUST_CHECK sked_status sked_i_profile_peaks(const sked_problem *p, const sked_i_costs *c,
                                                 const sked_schedule *s, double *peak, sked_error *err);
/* Memory held (schedule/holdings.h) on one device, or (device -1) on all together. */
SKED_MUST_CHECK sked_status sked_i_profile_memory(const sked_problem *p, const sked_i_costs *c,
                                                  const sked_schedule *s, int32_t device, sked_i_profile *out,
                                                  sked_error *err);
/* The same for every device at once, out[devices]. O((ops + edges) log ops + devices) in all. */
SKED_MUST_CHECK sked_status sked_i_profile_devices(const sked_problem *p, const sked_i_costs *c,
                                                   const sked_schedule *s, sked_i_profile *out,
                                                   sked_error *err);
#endif
