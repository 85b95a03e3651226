/*
 * Units for the ops of a schedule and registers for their values. An item is what takes one unit, or one
 * register, for a time; its colour says which. Items of a group (a pool, or registers of one width) that
 * overlap have different colours. A connection leads from what makes a value to what takes it; its source is
 * a unit, a register or an op without units, its destination an input of such a one. The cost counts distinct
 * pairs of sources and inputs: the inputs of all multiplexers.
 */
#ifndef SKED_ENGINE_BINDING_BINDING_H
#define SKED_ENGINE_BINDING_BINDING_H
#include "engine/binding/colour.h"
#include "engine/client.h"
#include "problem/problem.h"

typedef struct sked_i_bind_item {
    sked_i_arc arc;
    int32_t group, colour;
} sked_i_bind_item;

typedef struct sked_i_bind_group {
    int32_t first, count; /* its items */
    int32_t colours;      /* those in use; 0: it stays unbound */
    int32_t node;         /* number of its first unit among all units, registers and ops */
} sked_i_bind_group;

/* Ends that are ops without units are negative: -1 - op. */
typedef struct sked_i_bind_link {
    int32_t source, sink; /* items */
    int32_t input;        /* of the sink */
} sked_i_bind_link;

typedef struct sked_i_bind {
    sked_i_arena arena;
    const sked_problem *problem;
    const sked_schedule *schedule;
    double slack; /* by which spans are shortened, so that touching is no overlap */
    int32_t items, groups;
    sked_i_bind_item *item;
    sked_i_bind_group *group; /* pools, then widths of registers */
    int32_t *unit_item;       /* [demands + 1] first item of each demand */
    int32_t *register_item;   /* [ops + 1] first item of each op's value */
    sked_i_bind_link *link;
    int64_t links, cost, first_cost, moves;
} sked_i_bind;

/* Items, groups and links of a schedule, each group with its colours. Free in any case. UNSUPPORTED: devices.
 */
SKED_MUST_CHECK sked_status sked_i_bind_make(sked_i_bind *b, const sked_problem *p, const sked_schedule *s,
                                             sked_error *err);
/* Swaps colours along chains of items that overlap while that does not raise the cost, until the client is
 * over. */
SKED_MUST_CHECK sked_status sked_i_bind_improve(sked_i_bind *b, sked_i_client *client, sked_error *err);
void sked_i_bind_free(sked_i_bind *b);
#endif
