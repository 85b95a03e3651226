/*
 * Devices that differ to an op, because data takes time between them or ops are fixed on some: every op has a
 * device and a place in one list, and each device runs its ops in the order of the list.
 */
#ifndef SKED_FORM_SEQUENCING_H
#define SKED_FORM_SEQUENCING_H
#include "base/arena.h"
#include "form/dag.h"
#include "form/heterogeneous.h"
#include "form/pools.h"

/* An edge's lag where both ends run on one device, and where they do not. */
typedef struct sked_i_sequencing_arc {
    double here, away;
    int32_t op;
} sked_i_sequencing_arc;

/* The problem, shared by all threads. */
typedef struct sked_i_sequencing {
    sked_i_arena arena;
    const sked_problem *problem;
    int32_t n, m;
    sked_i_dag dag;
    sked_i_pools pools;
    sked_i_hetero *hetero;           /* NULL: devices are identical */
    sked_i_sequencing_arc *in, *out; /* rows as in dag.in and dag.out; identical devices */
    double *tail;                    /* [n] from the start of an op to the end of everything, devices aside */
    double scale; /* what one decision typically changes: mean duration and mean transfer */
    double span;  /* no list takes longer */
    double valid; /* costs up to here are of schedules; beyond, data passes where there is no link */
    bool plain;   /* no pools, no fixed starts: times follow from list and devices by one pass */
    bool orderly; /* no lag is negative: order of starts is topological */
} sked_i_sequencing;

SKED_MUST_CHECK sked_status sked_i_sequencing_create(const sked_problem *p, const sked_i_costs *c,
                                                     sked_i_sequencing **out, sked_error *err);
void sked_i_sequencing_destroy(sked_i_sequencing *l);
/* Does the problem need lines, or are all devices alike to every op? */
static inline bool sked_i_sequencing_needed(const sked_problem *p)
{
    return p->devices > 0 && (sked_i_has_transfers(p) || p->fix_device != NULL || p->machine != NULL);
}
#endif
