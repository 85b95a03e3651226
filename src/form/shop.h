/* A disjunctive problem: every limited resource runs one op at a time. */
#ifndef SKED_FORM_SHOP_H
#define SKED_FORM_SHOP_H
#include "base/arena.h"
#include "problem/problem.h"

/*
 * The problem: read-only, shared by threads. A machine is a resource that binds. The ops of machine m are
 * member[member_ptr[m] .. member_ptr[m + 1] - 1]; a "sequence" is an array of that layout in run order.
 */
typedef struct sked_i_shop_model {
    sked_i_arena arena;
    int32_t n, n_machines, n_members, n_ends;
    double *duration;             /* [n + 1]; op n stands for "none" and takes no time */
    int32_t *machine;             /* [n], -1: none */
    int32_t *member_ptr, *member; /* [n_machines + 1], [n_members] */
    int32_t *rank;                /* [n] index among the members of its machine */
    int64_t *pair_row;            /* [n] row of the op in a table of ordered pairs of one machine */
    int64_t pair_mask;            /* size of that table - 1 (a power of two; rows of huge shops share) */
    int64_t *pred_ptr, *succ_ptr; /* [n + 1] */
    int32_t *pred_op, *succ_op;   /* [edges of distance 0] */
    double *pred_lag, *succ_lag;  /* the same */
    double *least_lag;            /* [n] shortest arc that may leave the op */
    int32_t *end;                 /* [n_ends] ops that may finish last */
} sked_i_shop_model;

SKED_MUST_CHECK sked_status sked_i_shop_model_create(const sked_problem *p, sked_i_shop_model **out,
                                                     sked_error *err);
void sked_i_shop_model_destroy(sked_i_shop_model *m);
/*
 * True where the problem is a shop: objective makespan, no devices, no pipelining, no fixed starts, no
 * negative lags, and each op uses at most one resource that binds, of which no two users fit together.
 * O(ops + edges + demands).
 */
bool sked_i_shop_model_fits(const sked_problem *p);
#endif
