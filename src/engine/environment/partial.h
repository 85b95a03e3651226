/* A partial schedule that grows by one op a step: what every policy walks through. */
#ifndef SKED_ENGINE_ENVIRONMENT_PARTIAL_H
#define SKED_ENGINE_ENVIRONMENT_PARTIAL_H
#include "base/rng.h"
#include "engine/environment/instance.h"

typedef struct sked_i_partial {
    const sked_i_instance *instance;
    sked_i_arena arena;
    double *ready_time; /* [n] latest data so far, transfers not counted */
    double *arrive;     /* [n, columns] latest data there; NULL: transfers take no time */
    double *local;      /* [n, columns] share of the input that is there; NULL likewise */
    double *noise;      /* [n] priorities of list walks */
    int32_t *waits;     /* [n] unscheduled predecessors, by edge */
    int32_t *ready;     /* [n_ready] ops that can be added, in the order they became ready */
    int32_t *device_of; /* [n] -1: unscheduled */
    uint8_t *followed;  /* [n] some successor is scheduled */
    double *free_at;    /* [columns] 0: nothing has run */
    int32_t *last;      /* [columns] -1: nothing has run */
    int32_t *used;      /* [n_used] columns in the order they were opened */
    int32_t *opened;    /* [kinds] columns of it in use */
    int32_t n_ready, n_used, left;
    double makespan;
    double reach; /* latest end of a placed op and of all that must follow it */
    double rest;  /* work that is not placed */
} sked_i_partial;

SKED_MUST_CHECK sked_status sked_i_partial_init(sked_i_partial *p, const sked_i_instance *x, sked_error *err);
void sked_i_partial_clear(sked_i_partial *p);
void sked_i_partial_reset(sked_i_partial *p);
/* Takes ready[index] out of the ready ops and returns it. */
int32_t sked_i_partial_pop(sked_i_partial *p, int32_t index);
/* The beginning of edge e starts at `start` on column d: updates its end. O(columns) with transfers. */
void sked_i_partial_arrive(sked_i_partial *p, int64_t e, int32_t d, double start);
/* op runs on column d from `start`. */
void sked_i_partial_place(sked_i_partial *p, int32_t op, int32_t d, double start);
/* All of the above for ready[index]. */
void sked_i_partial_append(sked_i_partial *p, int32_t index, int32_t d);
/*
 * When a complete schedule may end at the earliest, by paths and by work: no later than any does on equal
 * devices without transfers, an estimate else. It falls nowhere, and is the makespan where nothing is left.
 * O(columns + ready ops).
 */
double sked_i_partial_outlook(const sked_i_partial *p);
/* How many columns end in an op that no scheduled op follows. */
int32_t sked_i_partial_removable(const sked_i_partial *p);
/* Gumbel noise on the tails: from nearly the plain list to a loose one. */
void sked_i_partial_draw_noise(sked_i_partial *p, sked_i_rng *rng);

static inline double sked_i_later(double a, double b)
{
    return a > b ? a : b;
}
/* When the data of op is on column d. */
static inline double sked_i_partial_data(const sked_i_partial *p, int32_t op, int32_t d)
{
    return p->arrive != NULL ? p->arrive[(int64_t)op * p->instance->columns + d] : p->ready_time[op];
}
static inline double sked_i_partial_start(const sked_i_partial *p, int32_t op, int32_t d)
{
    return sked_i_later(sked_i_partial_data(p, op, d), p->free_at[d]);
}
#endif
