/* The schedules a run keeps: the best different ones, best first, each with the name of the method that made
 * it. */
#ifndef SKED_METHOD_INCUMBENTS_H
#define SKED_METHOD_INCUMBENTS_H
#include "base/status.h"
#include "problem/costs.h"

/* What ranks a schedule: the interval where that comes first, the objective, the tie-break (makespan). */
typedef struct sked_i_result_rank {
    double by[3];
} sked_i_result_rank;
#define SKED_I_RESULT_RANK_WORST ((sked_i_result_rank){{INFINITY, INFINITY, INFINITY}})

static inline bool sked_i_result_rank_precedes(sked_i_result_rank a, sked_i_result_rank b)
{
    int k = 0;
    while (k < 2 && a.by[k] == b.by[k])
        k++;
    return a.by[k] < b.by[k];
}

typedef struct sked_i_incumbent {
    sked_schedule *schedule; /* owned */
    sked_i_result_rank rank;
    const char *maker; /* name of a method, static */
} sked_i_incumbent;

typedef struct sked_i_incumbents {
    sked_i_incumbent *entry; /* [capacity] */
    int32_t count, capacity;
    bool interchangeable; /* devices of identical kind: schedules are equal up to their names */
} sked_i_incumbents;

/* For schedules of p. */
SKED_MUST_CHECK sked_status sked_i_incumbents_open(sked_i_incumbents *list, const sked_problem *p,
                                                   int32_t capacity, sked_error *err);
void sked_i_incumbents_close(sked_i_incumbents *list);
/* Rank of the best entry; worst of all while there is none. */
static inline sked_i_result_rank sked_i_incumbents_best(const sked_i_incumbents *list)
{
    return list->count > 0 ? list->entry[0].rank : SKED_I_RESULT_RANK_WORST;
}
/*
 * Keeps a copy of s unless it is worse than all of a full list or already there. Of equal ranks the earlier
 * one stays ahead. *kept: it was taken in. O(capacity + ops per entry of equal rank).
 */
SKED_MUST_CHECK sked_status sked_i_incumbents_insert(sked_i_incumbents *list, const sked_schedule *s,
                                                     sked_i_result_rank rank, const char *maker, bool *kept,
                                                     sked_error *err);
/*
 * Moves the best entries into chosen[top] (room for top), each at least min_distance (GED, percent) from
 * those before it, and destroys the others. Returns the number chosen in *count.
 */
SKED_MUST_CHECK sked_status sked_i_incumbents_choose(sked_i_incumbents *list, const sked_problem *p,
                                                     const sked_i_costs *c, int32_t top, double min_distance,
                                                     sked_schedule **chosen, int32_t *count, sked_error *err);
#endif
