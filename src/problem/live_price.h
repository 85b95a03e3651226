/*
 * Peak memory by prices of moments. Every moment has a price, and the prices add up to one. A schedule pays
 * for each value the prices of the moments at which it is alive: a mean over the moments, and no more than
 * its peak. So what every schedule must pay is a lower bound of the peak, whatever the prices. The best
 * prices give the optimum of the linear relaxation by time steps.
 */
#ifndef SKED_PROBLEM_LIVE_PRICE_H
#define SKED_PROBLEM_LIVE_PRICE_H
#include "problem/life_flow.h"

/* Moments just before `first`, `first` + `spacing`, ..., and when ops may start. */
typedef struct sked_i_priced_moments {
    int32_t count;
    double first, spacing;
    int32_t phases; /* pipelined: moments so many apart fold onto one, and carried edges count; 0: not */
    double slack;   /* rounding of times: they are certain only so far */
    const double *early, *late; /* [ops] no start is before or after; -INFINITY, INFINITY: any time */
} sked_i_priced_moments;

/* Room for messages that a search with these moments takes, in numbers. O(ops + edges). */
double sked_i_price_room(const sked_graph *g, const sked_i_priced_moments *m);
/*
 * A lower bound of the peak, better the more effort->work there is, which falls by about the room in each
 * sweep; 0 where none is found. The search begins with what `flow` proves at equal prices. The search
 * checks effort->limit. O(room) memory.
 */
SKED_MUST_CHECK sked_status sked_i_price_bound(const sked_graph *g, const sked_i_priced_moments *m,
                                               const sked_i_life_flow *flow, sked_i_bound_effort *effort,
                                               double *bound, sked_error *err);
#endif
