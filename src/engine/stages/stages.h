/*
 * The stages that candidate schedules pass before some of them are kept, the same whichever method made them:
 * improve, reassign devices, drop repeats, rank.
 */
#ifndef SKED_ENGINE_STAGES_STAGES_H
#define SKED_ENGINE_STAGES_STAGES_H
#include "base/clock.h"
#include "schedule/schedule.h"

typedef struct sked_i_stages_candidate {
    sked_schedule *schedule; /* owned by the list it stands in */
    double makespan;
    double delayed; /* sked_i_schedule_localise says it; 0: nothing did, INFINITY: the limit came first */
    int32_t origin; /* for the caller: the stages leave it */
} sked_i_stages_candidate;

typedef struct sked_i_stages {
    int64_t improve; /* rounds of local search on each; 0: none */
    bool local;      /* reassign devices for the starts reached, so that an op runs where its data is */
    uint64_t seed;
    int threads;
    const sked_i_limit
        *limit; /* once it is reached, the rest stays as it is; repeats and order are seen to */
} sked_i_stages;

/*
 * Takes list[*count] with schedule, makespan and origin set and delayed 0, and leaves the different ones in
 * their order; *count becomes their number and the schedules of the others are destroyed. After a failure the
 * list is whole as well, in any order.
 *
 * Order: by makespan, of equals the one that came first. With local the best stays first; the others are
 * ranked by steps of a hundredth of its makespan and within a step by `delayed`: what the proxy cannot
 * distinguish, transfers can.
 *
 * A schedule never gets longer. What becomes of it depends on its place by makespan and the seed, not on the
 * threads. O(count * (rounds * decode + ops + edges)).
 */
SKED_MUST_CHECK sked_status sked_i_stages_pass(const sked_problem *p, const sked_i_stages *how,
                                               sked_i_stages_candidate *list, int32_t *count,
                                               sked_error *err);

/*
 * The first two stages alone (improve.c), on each of list[count]. improve: justification to the right and to
 * the left, then rounds - 1 moves of one op in its order, each justified and kept where it shortens the
 * schedule. It takes equal devices without transfer cost, pools, fixed ops, loops and memory limits that can
 * bind, and leaves schedules of other problems as they are; local: sked_i_schedule_localise.
 */
SKED_MUST_CHECK sked_status sked_i_stages_improve(const sked_problem *p, const sked_i_stages *how,
                                                  sked_i_stages_candidate *list, int32_t count,
                                                  sked_error *err);
#endif
