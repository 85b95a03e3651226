/*
 * Least memory first: one schedule within windows. Time goes from event to event. An op starts as soon as it
 * may when that frees at least as much as its result takes; any other op waits for its latest start, or
 * starts before it while the memory in use stays within a budget, the most urgent first. Backwards a value is
 * born with its first consumer and dies with its op.
 */
#ifndef SKED_ENGINE_LIST_MEMORY_SWEEP_H
#define SKED_ENGINE_LIST_MEMORY_SWEEP_H
#include "base/arena.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/set.h"
#include "form/dag.h"
#include "form/uses.h"

/* After make, the user sets next, backward, early, late, urgent, urgency. */
typedef struct sked_i_memory_sweep {
    const sked_i_dag *v;
    const sked_i_uses *u;
    sked_i_dag_rows next; /* edges in the direction of time */
    bool backward;
    const double *early, *late; /* windows in the direction of time */
    const int32_t *urgent;      /* ops by latest start */
    const int32_t *urgency;     /* their place there */
    double budget;
    /* state */
    double *arrival, *growth; /* growth: of memory when the op starts now */
    int32_t *waiting;
    int32_t *left, *last; /* forward: readers not started, and their xor; backward: left is 0 while unborn */
    uint8_t *phase;
    int32_t *stack;
    int32_t depth, first_open;
    sked_i_event_heap pending;
    sked_i_set others;
    uint64_t *words;
    double memory, peak;
    double *start;
    int32_t admitted; /* since the last look at the clock */
} sked_i_memory_sweep;

SKED_MUST_CHECK sked_status sked_i_memory_sweep_make(sked_i_arena *arena, const sked_i_dag *v,
                                                     const sked_i_uses *u, sked_i_memory_sweep *x,
                                                     sked_error *err);
/*
 * Fills x->start for the budget and returns the peak; INFINITY: it was broken off at the limit (NULL: none).
 * O((ops + edges) log ops).
 */
double sked_i_memory_sweep_run(sked_i_memory_sweep *x, double budget, const sked_i_limit *limit);
#endif
