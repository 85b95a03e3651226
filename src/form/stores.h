/*
 * A problem under memory limits: values, devices, and its stores (what has a limit).
 *
 * A value is held on the device of its op from the op's start until its readers there let go and its copies
 * have arrived; a copy on every other device that reads it from its arrival until the readers there let go.
 * Readers let go when they end, or (lifetime start) when they start.
 */
#ifndef SKED_FORM_STORES_H
#define SKED_FORM_STORES_H
#include "form/pools.h"
#include "problem/costs.h"

#include <assert.h>

/* Read-only once made: threads share it. */
typedef struct sked_i_stores {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    sked_i_costs costs;
    sked_i_pools pools; /* without the devices */
    int32_t n, devices; /* at least one device: without devices all ops share one */
    bool occupied;      /* devices run one op at a time */
    bool to_finish;     /* readers let go when they end */
    bool hetero;        /* it matters for time where an op runs */
    int32_t stores;     /* limits: of devices, and of all together (the last) */
    int32_t *store_of;  /* [devices] -1: no limit of its own */
    int32_t total;      /* store of all together, -1: no limit */
    double *limit;      /* [stores] with the rounding that sums of reals are allowed */
    double *tail;       /* [n] longest path from the start of an op to the end, by shortest times */
} sked_i_stores;

/* p stays. Free in any case. O(ops + edges), costs apart. */
SKED_MUST_CHECK sked_status sked_i_stores_make(const sked_problem *p, const sked_i_costs *c, sked_i_stores *m,
                                               sked_error *err);
void sked_i_stores_free(sked_i_stores *m);

static inline bool sked_i_stores_keeps(const sked_i_stores *m, int32_t op)
{
    return m->g->keep != NULL && m->g->keep[op];
}
/* May op run on that device? */
static inline bool sked_i_stores_able(const sked_i_stores *m, int32_t op, int32_t device)
{
    assert(op >= 0 && op < m->n && device >= 0 && device < m->devices);
    const int32_t fixed = m->occupied && m->p->fix_device != NULL ? m->p->fix_device[op] : -1;
    return (fixed < 0 || fixed == device) && sked_i_time(&m->costs, op, device) < INFINITY;
}
#endif
