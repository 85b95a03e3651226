/* The model with devices to choose (assignment_model.c) and its solutions (assignment_solution.c). */
#ifndef SKED_ENGINE_BRANCH_ASSIGNMENT_H
#define SKED_ENGINE_BRANCH_ASSIGNMENT_H
#include "engine/branch/branch.h"
#include "engine/clause/choice.h"
#include "graph/relations.h"
#include "problem/costs.h"

enum { SKED_I_ASSIGNMENT_FAR = 1 << 28 }; /* later than all times of a grid */

/* i before j, both on the device. */
typedef struct sked_i_assignment_order {
    int32_t i, j, device, var;
} sked_i_assignment_order;

struct sked_i_assignment {
    sked_i_arena arena;
    sked_i_branch *b;
    const sked_graph *g;
    sked_i_costs costs;
    int32_t m;
    bool exact;           /* times are whole: the model is the problem itself */
    int32_t latest;       /* no schedule that is looked for ends later */
    int32_t *x;           /* [n * m] variable, -1: the op cannot run there */
    int32_t *head, *last; /* [n * m] variables */
    int32_t n_vars;
    sked_i_assignment_order *order;
    int64_t n_orders, order_cap;
    sked_i_clause_choices *choices;
    sked_i_clause_option *option; /* [2 m] scratch */
    double slack;                 /* times closer than this are equal */
    double *start;                /* [n] of a real schedule */
    int64_t *cause;               /* [n] edge, n_edges + order, -1: none: what its start follows from */
    sked_i_lit *clause;           /* [2 n + m + 1] */
    int32_t blamed;               /* literals of the clause against the solution just read; 0: it is better */
    int32_t *path;                /* [n] ops of a critical path, the latest first */
    int64_t *path_cause;          /* [n] their causes */
    sked_i_closure *closure;      /* NULL: ops may start before their ancestors have finished */
};

static inline int64_t sked_i_assignment_cell(const sked_i_assignment *u, int32_t i, int32_t k)
{
    return (int64_t)i * u->m + k;
}

static inline bool sked_i_assignment_may_run(const sked_i_assignment *u, int32_t i, int32_t k)
{
    return u->x[sked_i_assignment_cell(u, i, k)] >= 0;
}

static inline sked_i_lit sked_i_assignment_runs_on(const sked_i_assignment *u, int32_t i, int32_t k)
{
    return (sked_i_lit){2 * u->x[sked_i_assignment_cell(u, i, k)], 1};
}

/* b->p, known, n, end, schedule are set. */
/* As sked_i_branch_fits. */
bool sked_i_assignment_fits(const sked_problem *p, const sked_i_costs *c);
SKED_MUST_CHECK sked_status sked_i_assignment_open(sked_i_branch *b, uint64_t seed, bool *empty,
                                                   sked_error *err);
void sked_i_assignment_close(sked_i_assignment *u);
/* As sked_i_branch_read and, at the root, sked_i_branch_exclude. */
bool sked_i_assignment_read(sked_i_branch *b, double best);
bool sked_i_assignment_exclude(sked_i_branch *b, double best);
#endif
