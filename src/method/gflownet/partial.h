/* A partial schedule that grows by one op a step: what every policy walks through. */
#ifndef SKED_METHOD_GFLOWNET_PARTIAL_H
#define SKED_METHOD_GFLOWNET_PARTIAL_H
#include "base/rng.h"
#include "method/gflownet/instance.h"

typedef struct sked_i_partial {
    const sked_i_instance *instance;
    int32_t devices;
    double *ready_time; /* [n] latest data so far */
    double *noise;      /* [n] priorities of list walks */
    int32_t *waits;     /* [n] unscheduled predecessors, by edge */
    int32_t *ready;     /* [n_ready] ops that can be added, in the order they became ready */
    int32_t *device_of; /* [n] -1: unscheduled */
    uint8_t *followed;  /* [n] some successor is scheduled */
    double *free_at;    /* [devices] 0: nothing has run */
    int32_t *last;      /* [devices] -1: nothing has run */
    int32_t n_ready, left;
    double makespan;
} sked_i_partial;

SKED_MUST_CHECK sked_status sked_i_partial_init(sked_i_partial *p, const sked_i_instance *x, int32_t devices,
                                                sked_error *err);
void sked_i_partial_clear(sked_i_partial *p);
void sked_i_partial_reset(sked_i_partial *p);
/* Takes ready[index] out of the ready ops and returns it. */
int32_t sked_i_partial_pop(sked_i_partial *p, int32_t index);
/* The end of edge e learns that its beginning starts at `start`. */
void sked_i_partial_arrive(sked_i_partial *p, int64_t e, double start);
/* op runs on device d from `start`. */
void sked_i_partial_place(sked_i_partial *p, int32_t op, int32_t d, double start);
/* How many of the first `devices` devices end in an op that no scheduled op follows. */
int32_t sked_i_partial_removable(const sked_i_partial *p, int32_t devices);
/* Gumbel noise on the tails: from nearly the plain list to a loose one. */
void sked_i_partial_draw_noise(sked_i_partial *p, sked_i_rng *rng);
/*
 * List scheduling: of ready ops and the first `open` devices the pair i * open + d of earliest start, then of
 * the largest noise, then the first.
 */
int32_t sked_i_partial_list(const sked_i_partial *p, int32_t open);

static inline double sked_i_later(double a, double b)
{
    return a > b ? a : b;
}
#endif
