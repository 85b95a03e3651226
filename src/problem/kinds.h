/*
 * Devices that are alike: every op takes the same time on them, and links see them as one. m identical
 * devices are one kind. Here and not in src/form, for the bounds stand on it too.
 */
#ifndef SKED_PROBLEM_KINDS_H
#define SKED_PROBLEM_KINDS_H
#include "problem/costs.h"

#include <assert.h>

typedef struct sked_i_kinds {
    sked_i_arena arena;
    int32_t count;
    int32_t *of;     /* [devices] */
    int32_t *size;   /* [count] devices of each */
    int32_t *first;  /* [count] where its members begin ... */
    int32_t *device; /* [devices] ... in this list, in ascending order */
} sked_i_kinds;

/*
 * apart: [devices] numbers from 0 that distinguish devices of equal times; NULL: how links see them. by_time:
 * kinds in the order of kinds of times, then of apart; otherwise in that of their first devices.
 * O(devices). Free in any case.
 */
SKED_MUST_CHECK sked_status sked_i_kinds_make(const sked_i_costs *c, const int32_t *apart, bool by_time,
                                              sked_i_kinds *out, sked_error *err);
void sked_i_kinds_free(sked_i_kinds *k);
/* Renumbers them in the order of their first appearance. name: room for every number there was. O(n). */
void sked_i_number_by_first(int32_t *number, int32_t n, int32_t *name);
/* A device of the kind. */
static inline int32_t sked_i_kinds_device(const sked_i_kinds *k, int32_t kind)
{
    assert(kind >= 0 && kind < k->count);
    return k->device[k->first[kind]];
}
/* [ops * count]; INFINITY: the op cannot run there. */
void sked_i_kinds_times(const sked_i_kinds *k, const sked_i_costs *c, double *time);
/* From a device of one kind to another device of one: latency NAN: there is no link. */
void sked_i_kinds_link(const sked_i_kinds *k, const sked_i_costs *c, int32_t from, int32_t to,
                       double *latency, double *bandwidth);
#endif
