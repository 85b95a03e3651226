/*
 * Amount used over time: a step function with "first room from here on" and "use more in between", each
 * O(log n) expected, where n counts its steps (a search passes hole by hole where room is too short). It is
 * a randomised search tree over the steps (Seidel and Aragon, Algorithmica 16, 1996) with minimum and maximum
 * per subtree. Written here because no C library at hand has one that carries sums.
 */
#ifndef SKED_ENGINE_LIST_TIMELINE_H
#define SKED_ENGINE_LIST_TIMELINE_H
#include "base/arena.h"

typedef struct sked_i_timeline_node {
    double time, used; /* used holds from time to the next node; `add` of the ancestors comes on top */
    double least, most, add;
    int32_t left, right;
    uint32_t order;
} sked_i_timeline_node;

typedef struct sked_i_timeline {
    sked_i_timeline_node *node;
    int32_t count, root;
} sked_i_timeline;

/* Room for `uses` calls of use. Nothing is used. */
SKED_MUST_CHECK sked_status sked_i_timeline_init(sked_i_arena *arena, sked_i_timeline *tl, int64_t uses,
                                                 sked_error *err);
/* Nothing is used any more. */
void sked_i_timeline_reset(sked_i_timeline *tl);
/* Earliest time from `from` at which at most `limit` (>= 0) is used for `length` > 0. */
double sked_i_timeline_fit(const sked_i_timeline *tl, double from, double length, double limit);
/* Uses amount more from begin to end. */
void sked_i_timeline_use(sked_i_timeline *tl, double begin, double end, double amount);
#endif
