/*
 * The reference for times: devices and the order on each stay, times follow from durations and transfers. All
 * that times a schedule elsewhere is a faster form of this for what it needs, and tests/test_timing.c
 * compares it. Rules add what no problem can state.
 */
#ifndef SKED_SCHEDULE_REPLAY_H
#define SKED_SCHEDULE_REPLAY_H
#include "problem/costs.h"

typedef struct sked_i_replay_rules {
    bool contention;     /* one transfer at a time on each link */
    bool bus;            /* ... and one link for all pairs of devices */
    double cache_gain;   /* an op is shorter by this share where an input was made a moment before */
    int32_t cache_depth; /* ... by one of the last so many ops on its device; 0: no cache */
} sked_i_replay_rules;

/*
 * With contention the result of an op is sent once to each device that reads it: as many bytes as the reader
 * there with the most of them wants, ready when the longest lag of those edges has passed (not before the op
 * starts). Transfers take their link in the order in which they are ready, equal ones by op, then by edge.
 * One that takes no time waits for nothing.
 */
typedef struct sked_i_replay {
    sked_i_replay_rules rules;
    sked_i_costs costs;
    double *start, *finish;          /* [ops] of the last run */
    struct sked_i_replay_room *room; /* work space */
} sked_i_replay;

/* p must stay. O(ops + edges + devices). */
SKED_MUST_CHECK sked_status sked_i_replay_create(const sked_problem *p, const sked_i_replay_rules *rules,
                                                 sked_i_replay **out, sked_error *err);
void sked_i_replay_destroy(sked_i_replay *r);
/*
 * s: ops and devices of the problem, starts and devices that exist. factor: [ops] multiplies the time of each
 * op; NULL: 1. *time: the latest finish. INVALID where the orders contradict the graph, or an op or its data
 * cannot get to its device. O((ops + edges) log ops).
 */
SKED_MUST_CHECK sked_status sked_i_replay_run(sked_i_replay *r, const sked_schedule *s, const double *factor,
                                              double *time, sked_error *err);
/*
 * The same for orders without starts: `order` lists all ops, those of one device as they run there; device is
 * not read where there are none. transfers false: they are free. start: [ops]. Returns the makespan; INFINITY
 * where order and graph contradict, or it is no order of the ops. O(ops + edges).
 */
double sked_i_replay_order(sked_i_replay *r, const int32_t *device, const int32_t *order, bool transfers,
                           double *start);
/* Of the last run: op i is the position-th on its device from 0 on. [ops] */
const int32_t *sked_i_replay_positions(const sked_i_replay *r);
#endif
