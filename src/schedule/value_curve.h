/*
 * Value over time: the incumbents and bounds of one run, or of one of its threads, in the order in which they
 * came (sked_curve_point). A thread keeps its own and the run merges them, so that a point has the time at
 * which its schedule was found, not that at which the run received it.
 */
#ifndef SKED_SCHEDULE_VALUE_CURVE_H
#define SKED_SCHEDULE_VALUE_CURVE_H
#include "base/status.h"

typedef struct sked_i_value_curve {
    double begin;            /* clock: seconds count from here */
    int64_t before;          /* evaluations when it began: points count from here */
    double bound;            /* proven before it began; 0 always is: no objective is negative */
    const char *method;      /* of points that name none */
    sked_curve_point *point; /* [count] */
    int64_t count, capacity;
    bool failed; /* out of memory on the way: points are missing */
} sked_i_value_curve;

/*
 * Adds a point, now, where schedule or bound are better than those of the last one; else nothing happens.
 * now->seconds is ignored; value INFINITY: no schedule. Of points that lie within a thousandth of their time
 * only the last stays, so that a curve has some ten thousand of them at most.
 */
void sked_i_value_curve_note(sked_i_value_curve *c, const sked_curve_point *now);
/*
 * Takes over what a thread has noted, and empties its curve. Only points that are better than those before
 * them stay, and none is better than *best, the validated incumbent: what a thread counts may be a little
 * off. O(points of both).
 */
void sked_i_value_curve_merge(sked_i_value_curve *c, sked_i_value_curve *thread,
                              const sked_curve_point *best);
/* Hands all points to the result (MEMORY where some are missing), or takes them back from there. */
SKED_MUST_CHECK sked_status sked_i_value_curve_give(sked_i_value_curve *c, sked_result *r, sked_error *err);
void sked_i_value_curve_take(sked_i_value_curve *c, sked_result *r);
void sked_i_value_curve_free(sked_i_value_curve *c);
#endif
