/*
 * A problem in whole steps for the Gaussian relaxation: windows of starts at one horizon and interval, edges,
 * and the profiles of loads and memory that count.
 */
#ifndef SKED_FORM_RELAXATION_H
#define SKED_FORM_RELAXATION_H
#include "backend/gaussian.h"
#include "base/arena.h"
#include "form/loop.h"

/*
 * The problem at one horizon and interval. Profiles: loads that objective or capacity look at, then memory as
 * the last. Shared by all threads.
 */
typedef struct sked_i_relaxation {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    sked_i_loop *loop;
    sked_i_frame *frame;
    int32_t n, steps, period, cells; /* period 0: not pipelined; cells: period or steps + 1 */
    int32_t *lo, *hi;                /* [n] windows of starts, lo <= hi */
    int32_t *duration;
    int32_t *order; /* [n] topological: as they are numbered where that is one, for the sake of caches */
    int32_t *gap, *shift; /* [edges] start(to) >= start(from) + gap; shift: distance * period */
    uint8_t *kind;        /* [edges] SKED_I_GAUS_EDGE_* */
    double *bytes;        /* [edges] 1: counts as communication */
    double *memory;       /* [n] of the value; 0 without a consumer */
    uint8_t *multi;       /* [n] has parallel edges to one consumer */
    int64_t *use_ptr;     /* [n + 1] what an op adds to which profile while it runs */
    int32_t *use_profile;
    double *use_amount;
    int32_t profiles;         /* without memory */
    double *weight;           /* [profiles + 1] in the objective, 0: only its capacity counts */
    double *capacity;         /* [profiles + 1] INFINITY: none */
    double *typical;          /* [profiles + 1] mean amount of an op that has one, at least tiny */
    double *largest;          /* [profiles + 1] */
    bool *differences;        /* [profiles + 1] whole schedules fill it by differences between steps */
    double alpha;             /* 0 unless the objective is cost */
    bool with_memory, capped; /* capped: some capacity is finite */
} sked_i_relaxation;

/*
 * ii 0: not pipelined. steps: latest finish. *out NULL with OK: the windows prove that nothing fits.
 * UNSUPPORTED: times are not whole, or too many steps.
 */
SKED_MUST_CHECK sked_status sked_i_relaxation_create(const sked_problem *p, int64_t ii, int64_t steps,
                                                     sked_i_relaxation **out, sked_error *err);
void sked_i_relaxation_destroy(sked_i_relaxation *m);
/* Is this edge a rule at the model's interval? And is it a use? */
static inline bool sked_i_relaxation_counts(const sked_i_relaxation *m, int64_t e)
{
    return m->kind[e] != SKED_I_GAUS_EDGE_IGNORED;
}
static inline bool sked_i_relaxation_reads(const sked_i_relaxation *m, int64_t e)
{
    return m->kind[e] < SKED_I_GAUS_EDGE_IGNORED;
}
#endif
