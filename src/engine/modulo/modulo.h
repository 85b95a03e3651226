/* Modulo scheduling: the reservation table, iterative modulo scheduling, an exact decision procedure. */
#ifndef SKED_ENGINE_MODULO_MODULO_H
#define SKED_ENGINE_MODULO_MODULO_H
#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/set.h"
#include "engine/clause/verdict.h"
#include "form/loop.h"

/* ------------------------------------------------------------------ modulo reservation table */

/*
 * Load of one pool over [0, ii) as steps: load holds from `at` to the next step; the first is at 0. Steps
 * rather than one cell per time unit: intervals may be of any size, and full stretches are passed at once.
 */
typedef struct sked_i_reservation_step {
    int64_t at, load;
} sked_i_reservation_step;
typedef struct sked_i_reservation_pool {
    sked_i_reservation_step *step;
    int64_t cap;
    int32_t count;
    int32_t first; /* holders: linked list of slots, -1: none */
} sked_i_reservation_pool;

/* A slot is one op's hold of one pool: its uses in order, then one per op for its device. */
typedef struct sked_i_reservation {
    sked_i_arena *arena; /* of all of it */
    const sked_i_loop *loop;
    int64_t ii;
    int32_t pools;
    bool failed; /* ran out of memory: the table is no longer right */
    sked_i_reservation_pool *pool;
    int32_t *next, *previous; /* [slots] */
    int32_t *slot_op;         /* [slots] */
} sked_i_reservation;
SKED_MUST_CHECK sked_status sked_i_reservation_create(sked_i_arena *arena, const sked_i_loop *loop,
                                                      sked_i_reservation **out, sked_error *err);
void sked_i_reservation_clear(sked_i_reservation *t, int64_t ii);
/* Least delay in [0, ii) from which op i fits at from + delay on this device, or -1. */
int64_t sked_i_reservation_fit(const sked_i_reservation *t, int32_t i, int32_t device, int64_t from);
/* The same backwards: fits at from - delay. */
int64_t sked_i_reservation_fit_before(const sked_i_reservation *t, int32_t i, int32_t device, int64_t from);
void sked_i_reservation_add(sked_i_reservation *t, int32_t i, int32_t device, int64_t start);
void sked_i_reservation_remove(sked_i_reservation *t, int32_t i, int32_t device, int64_t start);
/*
 * An op to move away before i fits at `start`: of those that hold a pool where it is too full, the one of
 * the least toll. -1: i fits. starts: of all ops placed.
 */
int32_t sked_i_reservation_blocker(const sked_i_reservation *t, int32_t i, int32_t device, int64_t start,
                                   const int64_t *starts, const int32_t *toll);
/* About the sum of tolls of the ops that have to go before i fits at `start`; 0: it fits. */
double sked_i_reservation_toll(const sked_i_reservation *t, int32_t i, int32_t device, int64_t start,
                               const int64_t *starts, const int32_t *toll);

/* ------------------------------------------------------------------ iterative modulo scheduling */

typedef struct sked_i_ims_turn {
    double key;
    int32_t op;
} sked_i_ims_turn;

/* One engine for one loop: all working memory, and the schedule it makes. */
typedef struct sked_i_ims {
    sked_i_arena arena;
    const sked_i_loop *loop;
    const sked_i_frame *frame;
    sked_i_reservation *table;
    int64_t *start;        /* [ops], -1: not placed */
    int32_t *device;       /* [ops] */
    int64_t *last;         /* [ops] where it was forced before, -1: never */
    int32_t *order;        /* [ops] by priority */
    int32_t *rank;         /* [ops] its inverse */
    int32_t *toll;         /* [ops] price of ejecting it */
    sked_i_set unplaced;   /* ranks of unplaced ops */
    uint64_t *words;       /* of the set */
    bool aligned;          /* place ops on multiples of their duration where possible */
    sked_i_ims_turn *sort; /* [ops] scratch */
} sked_i_ims;
SKED_MUST_CHECK sked_status sked_i_ims_create(const sked_i_loop *loop, sked_i_ims **out, sked_error *err);
void sked_i_ims_destroy(sked_i_ims *m);

enum { SKED_I_BY_HEIGHT, SKED_I_BY_SLACK, SKED_I_BY_START, SKED_I_BY_SIZE };
/*
 * Order of placing: height (longest path to the end), slack (hi - lo, recurrences first), start (earliest
 * first), size (hardest to place first). noise > 0: keys are perturbed by up to this share of their range.
 */
void sked_i_ims_order(sked_i_ims *m, const sked_i_frame *f, int kind, double noise, sked_i_rng *rng);
/*
 * Places all ops within frame's windows in `budget` placements at most; false: budget spent (or no memory:
 * table->failed). rng NULL: ops without a free slot go where Rau sends them, and eject by rank. Else they
 * look around for the place whose ops are cheapest to eject, and every op without a slot grows dearer (as in
 * the ejection pools of Nagata and Braysy 2009).
 */
bool sked_i_ims_run(sked_i_ims *m, const sked_i_frame *f, int64_t budget, sked_i_rng *rng,
                    const sked_i_limit *limit);
/* Moves ops earlier (and, with `both`, to and fro) while that shortens the schedule, until the limit. */
void sked_i_ims_compact(sked_i_ims *m, bool both, const sked_i_limit *limit);
/* Takes over starts of the frame's II and gives every op a device by first fit; false: that does not work
 * out. */
bool sked_i_ims_assign(sked_i_ims *m, const sked_i_frame *f, const int64_t *start);
/* Latest finish of the schedule made. */
int64_t sked_i_ims_length(const sked_i_ims *m);

/* ------------------------------------------------------------------ exact decision */

/*
 * Are there starts within the windows that keep all edges and pools at this II? Devices count as one pool
 * of as many units, without transfers: REFUTED is a proof for every machine, FOUND may not split over
 * devices.
 */
typedef struct sked_i_modulo_question {
    int64_t ii;
    const int64_t *lo, *hi; /* [ops] */
    const int64_t *weight;  /* [edges] */
    bool inside;            /* only edges inside a strongly connected component count */
    const int64_t *hint;    /* [ops] starts to try first, or NULL */
    int64_t conflicts;      /* give up after as many conflicts */
    uint64_t seed;
} sked_i_modulo_question;

/*
 * Clause learning over bounds and modulo slots (modulo_proof.c). start: [ops], written when FOUND. conflicts
 * (may be NULL) gets the conflicts met. UNDECIDED: conflicts or time spent, or too large (memory grows with
 * the widths of the windows).
 */
SKED_MUST_CHECK sked_status sked_i_modulo_decide(const sked_i_loop *loop, const sked_i_modulo_question *q,
                                                 const sked_i_limit *limit, sked_i_verdict *verdict,
                                                 int64_t *start, int64_t *conflicts, sked_error *err);
#endif
