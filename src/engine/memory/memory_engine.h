/*
 * Schedules under memory limits.
 *
 *   memory_plan.c    a plan: an order of the ops and a device for each so that one op after the other fits
 *   reserve.c        what such an order still needs, place by place: range add and maximum
 *   track.c          what a store holds over time
 *   memory_decoder.c a schedule from priorities, which deviates from a plan only while the rest of the plan
 * fits
 */
#ifndef SKED_ENGINE_MEMORY_MEMORY_ENGINE_H
#define SKED_ENGINE_MEMORY_MEMORY_ENGINE_H
#include "base/arena.h"
#include "base/clock.h"
#include "engine/client.h"
#include "form/stores.h"

/* ------------------------------------------------------------------ plans */

/*
 * Ops one after the other. Where excess is 0 the order with its devices keeps every limit: it is a schedule,
 * and a way to finish any other that sked_i_memory_decode has begun.
 */
typedef struct sked_i_memory_plan {
    int32_t *order, *device; /* [n] a topological order; where each op runs */
    double excess;           /* by how much the stores exceed their limits, in sum */
    double peak;             /* of all devices together */
} sked_i_memory_plan;

SKED_MUST_CHECK sked_status sked_i_memory_plan_make(sked_i_arena *arena, int32_t n, sked_i_memory_plan *plan,
                                                    sked_error *err);
/* Takes the op at one place of an order to another; those between move up. */
void sked_i_memory_shift(int32_t *order, int32_t from, int32_t to);
/*
 * Looks for a plan without excess and of low peak: greedy orders first, then annealing of the best, for at
 * most `effort` evaluations of O(ops + edges) each and until the client is over. order and device: of a known
 * schedule, or NULL. The plan with the least excess is left in *plan; client->evaluations counts.
 */
SKED_MUST_CHECK sked_status sked_i_memory_plan_find(const sked_i_stores *m, sked_i_client *client,
                                                    int64_t effort, const int32_t *order,
                                                    const int32_t *device, sked_i_memory_plan *plan,
                                                    sked_error *err);

/* ------------------------------------------------------------------ decoding */

typedef struct sked_i_memory_decoder sked_i_memory_decoder;
/* In the arena, which must outlive it; m must stay. */
SKED_MUST_CHECK sked_status sked_i_memory_decoder_create(sked_i_arena *arena, const sked_i_stores *m,
                                                         sked_i_memory_decoder **out, sked_error *err);

typedef struct sked_i_memory_wish {
    const int32_t *rank;       /* [n] 0 goes first */
    const int32_t *device;     /* [n] where to run, -1: where it ends first; NULL: all free */
    int32_t window;            /* only ops this far behind the first in rank that has not started compete */
    const sked_i_limit *limit; /* NULL: none; a moderate decode is finished all the same */
} sked_i_memory_wish;

/*
 * Steps through time and starts the first op in rank that its data, a device, the pools and memory admit. An
 * op is admitted where memory has room for it and the plan still fits for all ops that have not started. The
 * plan must be without excess. False: a fixed start cannot be kept, the limit is reached, or no memory
 * (status). O((ops + edges) log ops) and a few looks at refused ops per step.
 */
bool sked_i_memory_decode(sked_i_memory_decoder *x, const sked_i_memory_plan *plan,
                          const sked_i_memory_wish *wish, double *start, int32_t *device);
/* MEMORY once an allocation has failed. */
sked_status sked_i_memory_decoder_status(const sked_i_memory_decoder *x);

/* ------------------------------------------------------------------ parts */

/* Amounts at places 0..n-1 of an order. */
typedef struct sked_i_reserve {
    int32_t leaves;     /* a power of two */
    double *most, *add; /* [2 * leaves] of a subtree; added to all of it */
} sked_i_reserve;
SKED_MUST_CHECK sked_status sked_i_reserve_make(sked_i_arena *arena, int32_t n, sked_i_reserve *r,
                                                sked_error *err);
/* Sets places 0..n-1 to the values. */
void sked_i_reserve_fill(sked_i_reserve *r, const double *value, int32_t n);
/* Adds to places from..to; nothing where from > to. O(log n) */
void sked_i_reserve_add(sked_i_reserve *r, int32_t from, int32_t to, double amount);
/* Takes a place out of the maximum and returns what sked_i_reserve_restore needs to put it back. */
double sked_i_reserve_drop(sked_i_reserve *r, int32_t place);
void sked_i_reserve_restore(sked_i_reserve *r, int32_t place, double was);
static inline double sked_i_reserve_most(const sked_i_reserve *r)
{
    return r->most[1];
}

/* load[k] holds on [time[k], time[k + 1]), the last for ever. */
typedef struct sked_i_track {
    sked_i_arena *arena; /* of its arrays */
    double *time, *load;
    int64_t count, time_cap, load_cap;
} sked_i_track;
SKED_MUST_CHECK bool sked_i_track_clear(sked_i_track *t);
/* Makes `at` a step and returns its index, -1: no memory. *fresh: it was none. Quick near the end. */
int64_t sked_i_track_split(sked_i_track *t, double at, bool *fresh);
void sked_i_track_join(sked_i_track *t, int64_t index);
/* Index of the step that holds at that time. */
int64_t sked_i_track_find(const sked_i_track *t, double at);
#endif
