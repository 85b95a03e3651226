/* Everything of which there is a limited amount, devices included, as pools. */
#ifndef SKED_FORM_POOLS_H
#define SKED_FORM_POOLS_H
#include "base/arena.h"
#include "problem/problem.h"

/*
 * What ops hold while they run. Ops with equal demands form a class: those of class c hold the demands
 * k = class_ptr[c] .. class_ptr[c + 1] - 1. Ops of duration 0 hold nothing; on heterogeneous devices the code
 * that places an op leaves its demands out where it takes no time.
 */
typedef struct sked_i_pools {
    sked_i_arena arena;
    int32_t count, n_classes;
    double *capacity;   /* [count], finite */
    double *slack;      /* [count] rounding allowed in sums of real amounts; 0 for integers */
    int32_t *class_of;  /* [ops]; NULL: all of class 0 */
    int64_t *class_ptr; /* [n_classes + 1] */
    int32_t *pool;
    double *amount;
} sked_i_pools;

static inline int32_t sked_i_pools_class(const sked_i_pools *q, int32_t op)
{
    return q->class_of ? q->class_of[op] : 0;
}
/* The demands of one op: first .. end - 1. */
static inline int64_t sked_i_pools_first(const sked_i_pools *q, int32_t op)
{
    return q->class_ptr[sked_i_pools_class(q, op)];
}
static inline int64_t sked_i_pools_end(const sked_i_pools *q, int32_t op)
{
    return q->class_ptr[sked_i_pools_class(q, op) + 1];
}

/* Pools with a finite capacity; with_devices: the devices as the last pool, demand 1. */
SKED_MUST_CHECK sked_status sked_i_pools_make(const sked_problem *p, bool with_devices, sked_i_pools *out,
                                              sked_error *err);
/*
 * The loads that objective resource counts, as pools: demand times weight, or where the graph has no
 * demands one pool of weights. Capacities are left at 0 for the caller.
 */
SKED_MUST_CHECK sked_status sked_i_pools_of_loads(const sked_problem *p, sked_i_pools *out, sked_error *err);
void sked_i_pools_free(sked_i_pools *pools);

#endif
