/*
 * Where and when a schedule holds values: a value where it was made, from the start of its op until the last
 * reader there lets it go and all copies have arrived; a copy on each other device that reads it, from its
 * arrival until the last reader there lets it go. Readers let go when they start or, by p->lifetime, when
 * they end; by lifetime result a value begins when its result is there. Kept values stay to the end, with io
 * aligned those without readers too.
 *
 * With addresses, where readers let go when they end: an op that takes time may write over a value that an
 * edge `inplace` brings it, of its result's size, and that nothing but the op holds on its device once it has
 * started. It takes the first such value, in the order of ops, which then ends where the result begins.
 */
#ifndef SKED_SCHEDULE_HOLDINGS_H
#define SKED_SCHEDULE_HOLDINGS_H
#include "problem/costs.h"

typedef struct sked_i_holding {
    int32_t op, device; /* device 0 where there are none */
    double begin, end;  /* begin < end */
    int64_t over;       /* number of the holding whose place it takes, which ends where it begins; -1: none */
} sked_i_holding;

typedef struct sked_i_holdings {
    int64_t count;
    sked_i_holding *at; /* by op; of one op the place it was made at first */
} sked_i_holdings;

/* Of all ops whose value takes memory. c: of p. O(ops + edges + devices). Free in any case. */
SKED_MUST_CHECK sked_status sked_i_holdings_make(const sked_problem *p, const sked_i_costs *c,
                                                 const sked_schedule *s, sked_i_holdings *out,
                                                 sked_error *err);
void sked_i_holdings_free(sked_i_holdings *h);
#endif
