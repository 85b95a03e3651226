/*
 * The problem as the search sees it: integer times, resources packed into 64-bit words, compact rows,
 * ops renumbered in topological order. Real times are rounded up to a fine grid; building the final
 * schedule goes back to the real durations, so nothing is lost but the last digits of the comparison.
 */
#ifndef SKED_FORM_CUMULATIVE_H
#define SKED_FORM_CUMULATIVE_H
#include "base/arena.h"
#include "problem/problem.h"

#include <assert.h>

typedef struct sked_i_core_arc {
    int32_t op, lag; /* start to start */
} sked_i_core_arc;

/* Where one pool lies in the words. */
typedef struct sked_i_core_field {
    int32_t word, shift;
    uint64_t mask, capacity;
} sked_i_core_field;

/*
 * One direction of time. Amounts of all pools lie side by side in `words` 64-bit words, each with one
 * guard bit above it: free amounts carry their guard bits set, and a demand fits exactly when
 * (free - demand) still has all of them.
 */
typedef struct sked_i_core {
    sked_i_arena arena;
    int32_t n, words, fields;
    sked_i_core_field *field; /* [fields] */
    int32_t *duration;        /* [n] */
    uint64_t *demand;         /* [n * words] */
    uint64_t *full, *guard;   /* [words] everything free; the guard bits */
    int32_t *pred_ptr;        /* [n + 1] into pred, rows in ascending order */
    int32_t *succ_ptr;        /* [n + 1] */
    sked_i_core_arc *pred, *succ;
    int32_t *head, *tail; /* [n] longest path to the start; from the start to the end of everything */
    int32_t *kind;        /* [n] ops with equal demand share a number */
    int32_t kinds;
    int64_t work;    /* sum of durations */
    int32_t longest; /* path */
    int32_t span;    /* no generation scheme ends later */
    bool standard;   /* every lag is the duration of its source */
    bool orderly;    /* no lag is negative: order of starts is topological */
} sked_i_core;

typedef struct sked_i_cumulative {
    const sked_problem *problem;
    int32_t n;
    double scale;  /* core time = real time * scale */
    bool faithful; /* nothing was rounded: the core is the problem itself */
    bool exact;    /* and its times are integers ... */
    double unit;   /* ... real time = core time * unit, without rounding */
    int32_t *op;   /* [n] core number -> op of the graph */
    sked_i_core forward;
    sked_i_core mirror; /* time reversed; op i of forward is n - 1 - i here */
    int32_t *fixed;     /* [n] core start or -1; NULL: none */
    int32_t horizon;    /* core time, INT32_MAX: none */
} sked_i_cumulative;

/*
 * Builds both cores; devices become a pool (device numbers fixed by the user are not kept here: see
 * transfer.h). O(ops + edges + demands), a little more where transitive edges are dropped.
 */
SKED_MUST_CHECK sked_status sked_i_cumulative_create(const sked_problem *p, sked_i_cumulative **out,
                                                     sked_error *err);
void sked_i_cumulative_destroy(sked_i_cumulative *c);
/* Core start times to a schedule of the problem: real times, device numbers. O(n log n). */
SKED_MUST_CHECK sked_status sked_i_cumulative_schedule(const sked_i_cumulative *c, const int32_t *start,
                                                       sked_schedule **out, sked_error *err);
/* A schedule's starts as core times (rounded up): keys for a decoder, not a valid core schedule. */
void sked_i_cumulative_keys(const sked_i_cumulative *c, const sked_schedule *s, int32_t *key);

/* Amount of one pool in an op's demand. */
static inline uint64_t sked_i_amount(const sked_i_core *core, const sked_i_core_field *f, int32_t op)
{
    assert(op >= 0 && op < core->n);
    return core->demand[(int64_t)op * core->words + f->word] >> f->shift & f->mask;
}

static inline bool sked_i_fits(uint64_t free_amount, uint64_t demand, uint64_t guard)
{
    return ((free_amount - demand) & guard) == guard;
}
#endif
