/*
 * Inside of the exact decision: a clause-learning search whose literals are bounds "start(i) >= t" and
 * slots "start(i) mod II = r", with edges, slots and pools as propagators that explain themselves
 * (lazy clause generation; Ohrimenko, Stuckey, Codish 2009). exact_model.c knows loops, exact.c searches.
 */
#ifndef SKED_ENGINE_MODULO_EXACT_H
#define SKED_ENGINE_MODULO_EXACT_H
#include "engine/modulo/modulo.h"

/* Literal 2v: variable v is true; 2v + 1: false. */
typedef int32_t sked_i_lit;

/* Why a literal holds: the true literals that imply it. */
enum { WHY_NONE, WHY_ONE, WHY_TWO, WHY_CLAUSE, WHY_POOL, WHY_LAST };
typedef struct sked_i_why {
    int32_t kind, a, b; /* ONE, TWO: literals; CLAUSE: its place; POOL: pool, slot; LAST: op */
} sked_i_why;

typedef struct sked_i_lits {
    sked_i_lit *at;
    int64_t count, cap;
} sked_i_lits;

typedef struct sked_i_watch {
    int32_t clause;
    sked_i_lit other; /* if true the clause need not be looked at */
} sked_i_watch;
typedef struct sked_i_watches {
    sked_i_watch *at;
    int64_t count, cap;
} sked_i_watches;

/* An op's hold of a pool beyond whole turns. */
typedef struct sked_i_part {
    int32_t op, pool;
    int64_t amount, rest;
} sked_i_part;

typedef struct sked_i_exact {
    const sked_i_loop *loop;
    const sked_i_question *q;
    bool failed; /* out of memory */

    /* The model. */
    int32_t n;
    int64_t ii;
    int64_t *lo, *hi;           /* [ops] windows, closed under the edges */
    int32_t *order_base;        /* [ops] variable of start >= lo + 1 */
    int32_t *slot_base, *slots; /* [ops] variable of the slot of lo, and how many; 0 slots: holds no pool */
    int32_t n_order, n_vars;    /* order variables come first */
    int32_t *var_op;            /* [vars] */
    int64_t *lb, *ub;           /* [ops] bounds now */
    int32_t *chosen;            /* [ops] slot variable that is true, -1: none yet */
    int32_t n_open;             /* ops with slots and none chosen */
    int32_t n_pools;
    int64_t *pool_room;             /* [pools] less the whole turns */
    int64_t *load;                  /* [pools * ii] */
    int64_t *part_ptr, *member_ptr; /* parts by op; members of pools as part numbers */
    sked_i_part *part;
    int32_t *member;

    /* The search. */
    int8_t *value, *phase;  /* [vars] 1 true, -1 false, 0 open */
    int32_t *level, *place; /* [vars] decision level, place on the trail */
    sked_i_why *why;        /* [vars] */
    sked_i_lit *trail;
    int64_t *old_bound; /* [trail] lb or ub before */
    int32_t n_trail, head;
    int32_t *mark; /* [levels] trail length at each decision */
    int32_t n_levels;
    sked_i_lits conflict; /* true literals that cannot all hold */
    sked_i_lits scratch, learnt;
    int32_t *clauses; /* [size, lbd, lits ...] after another */
    int64_t clauses_size, clauses_cap;
    int64_t n_learnt;
    sked_i_watches *watch; /* [literals] */
    double *activity, bump;
    int32_t *heap, *heap_at, heaped;
    uint8_t *seen;
    int64_t *stamp, stamps; /* [levels] for counting levels of a clause */
} sked_i_exact;

static inline int8_t sked_i_lit_value(const sked_i_exact *x, sked_i_lit l)
{
    const int8_t v = x->value[l >> 1];
    return (l & 1) ? (int8_t)-v : v;
}

/* Model: builds, and closes the windows. *empty: some window is, nothing fits. */
SKED_MUST_CHECK sked_status sked_i_exact_model(sked_i_exact *x, bool *empty, bool *too_large,
                                               sked_error *err);
/* Follows one literal that has become true; false: x->conflict says why not. */
bool sked_i_exact_follow(sked_i_exact *x, sked_i_lit l);
/* The next weaker bound on the same side, which l includes; -1: none. Bounds are kept complete on the trail.
 */
sked_i_lit sked_i_exact_weaker(const sked_i_exact *x, sked_i_lit l);
/* What holds before any decision. */
bool sked_i_exact_root(sked_i_exact *x);
/* Bookkeeping when a literal is put on or taken off the trail. followed: it had been followed. */
void sked_i_exact_set(sked_i_exact *x, sked_i_lit l);
void sked_i_exact_unset(sked_i_exact *x, sked_i_lit l, bool followed);
/* Appends the true literals that imply literal l for the reason POOL or LAST. */
void sked_i_exact_explain(sked_i_exact *x, sked_i_lit l, sked_i_why why, sked_i_lits *out);

/* Search: l (< 0: always true) must hold because of `why`. false: it is false already, and x->conflict says
 * what clashes. */
bool sked_i_exact_imply(sked_i_exact *x, sked_i_lit l, sked_i_why why);
/* Appends; sets x->failed without memory. */
void sked_i_exact_append(sked_i_exact *x, sked_i_lits *list, sked_i_lit l);
#endif
