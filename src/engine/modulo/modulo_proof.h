/*
 * Inside of the exact decision: starts and modulo slots as variables of the clause-learning kernel.
 * modulo_proof_model.c numbers them, slots.c is the propagator that ties starts, slots and pools together,
 * modulo_proof.c asks the question.
 *
 * Variable i < n is the start of op i beyond the earliest in its window. The others are 0/1: the k-th slot of
 * an op stands for all starts that are k modulo II beyond the earliest.
 */
#ifndef SKED_ENGINE_MODULO_MODULO_PROOF_H
#define SKED_ENGINE_MODULO_MODULO_PROOF_H
#include "engine/clause/clause.h"
#include "engine/modulo/modulo.h"

/* An op's hold of a pool beyond whole turns. */
typedef struct sked_i_modulo_part {
    int32_t op, pool;
    int64_t amount, rest;
} sked_i_modulo_part;

typedef struct sked_i_modulo_exact {
    sked_i_arena arena;
    const sked_i_loop *loop;
    const sked_i_modulo_question *q;
    int32_t n, n_vars;
    int64_t ii;
    int64_t *lo, *hi;           /* [ops] windows, closed under the edges */
    int32_t *slot_base, *slots; /* [ops] variable of the first slot, and how many; 0: the op holds no pool */
    int32_t *var_op;            /* [vars] */
    int32_t n_pools;
    int64_t *pool_room;             /* [pools] less the whole turns */
    int64_t *part_ptr, *member_ptr; /* parts by op; members of pools as part numbers */
    sked_i_modulo_part *part;
    int32_t *member;
    sked_i_clause_solver *solver;
    /* slots.c */
    int32_t number;  /* of the propagator */
    int32_t *chosen; /* [ops] slot variable that is counted in the loads, -1: none */
    int64_t *load;   /* [pools * ii] */
} sked_i_modulo_exact;

/*
 * The question as a model. *empty: nothing can fit; x->solver NULL otherwise: the question is too large.
 * Close it after a failure, too.
 */
SKED_MUST_CHECK sked_status sked_i_modulo_open(sked_i_modulo_exact *x, const sked_i_loop *loop,
                                               const sked_i_modulo_question *q, bool *empty, sked_error *err);
void sked_i_modulo_close(sked_i_modulo_exact *x);
/* With restarts, until an answer or the end of the question's conflicts. UNDECIDED without memory, too. */
sked_i_verdict sked_i_modulo_search(sked_i_modulo_exact *x, const sked_i_limit *limit);

/* Numbers the variables and closes the windows. *empty: some window is, nothing fits. */
SKED_MUST_CHECK sked_status sked_i_modulo_model(sked_i_modulo_exact *x, bool *empty, bool *too_large,
                                                sked_error *err);
/* Does the edge count in this question? */
bool sked_i_modulo_edge_counts(const sked_i_modulo_exact *x, int64_t e);
/* Adds the propagator of slots and pools to x->solver. false: no memory. */
bool sked_i_modulo_add_slots(sked_i_modulo_exact *x);
#endif
