/* The model of unequal.c, for those who read its solutions (unequal_take.c). */
#ifndef SKED_METHOD_EXACT_UNEQUAL_H
#define SKED_METHOD_EXACT_UNEQUAL_H
#include "engine/clause/choice.h"
#include "graph/relations.h"
#include "method/exact/branch.h"
#include "problem/costs.h"

enum { SKED_I_UNEQUAL_FAR = 1 << 28 }; /* later than all times of a grid */

/* i before j, both on the device. */
typedef struct sked_i_unequal_order {
    int32_t i, j, device, var;
} sked_i_unequal_order;

struct sked_i_branch_unequal {
    sked_i_branch *b;
    const sked_graph *g;
    sked_i_costs costs; /* the run's */
    int32_t m;
    bool exact;           /* times are whole: the model is the problem itself */
    int32_t latest;       /* no schedule that is looked for ends later */
    int32_t *x;           /* [n * m] variable, -1: the op cannot run there */
    int32_t *head, *last; /* [n * m] variables */
    int32_t n_vars;
    sked_i_unequal_order *order;
    int64_t n_orders, order_cap;
    sked_i_clause_choices *choices;
    double slack;            /* times closer than this are equal */
    double *start;           /* [n] of a real schedule */
    int64_t *cause;          /* [n] edge, n_edges + order, -1: none: what its start follows from */
    sked_i_lit *clause;      /* [2 n + m + 1] */
    int32_t *path;           /* [n] ops of a critical path, the latest first */
    int64_t *path_cause;     /* [n] their causes */
    sked_i_closure *closure; /* NULL: ops may start before their ancestors have finished */
};

static inline int64_t sked_i_unequal_cell(const sked_i_branch_unequal *u, int32_t i, int32_t k)
{
    return (int64_t)i * u->m + k;
}

static inline bool sked_i_unequal_may_run(const sked_i_branch_unequal *u, int32_t i, int32_t k)
{
    return u->x[sked_i_unequal_cell(u, i, k)] >= 0;
}

static inline sked_i_lit sked_i_unequal_runs_on(const sked_i_branch_unequal *u, int32_t i, int32_t k)
{
    return (sked_i_lit){2 * u->x[sked_i_unequal_cell(u, i, k)], 1};
}
#endif
