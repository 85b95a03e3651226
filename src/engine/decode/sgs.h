/*
 * Schedule generation schemes: from a list of ops to start times. Every decoder works on one core
 * (forward or mirrored time) and allocates nothing per call.
 */
#ifndef SKED_ENGINE_DECODE_SGS_H
#define SKED_ENGINE_DECODE_SGS_H
#include "base/arena.h"
#include "base/heap.h"
#include "base/rng.h"
#include "engine/decode/serial.h"

#define SKED_I_ABORTED INT32_MAX

/* Work space for one core and one thread. */
typedef struct sked_i_sgs {
    sked_i_arena arena;
    const sked_i_core *core;
    const sked_i_limit *limit; /* polled during long decodes */
    const int32_t *fixed;      /* [n] start or -1; NULL: none */
    sked_i_serial
        *serial;       /* runs the serial scheme where not NULL; the rest up to hint is for the plain form */
    bool stepwise;     /* the timeline is one entry per time unit, else a list of changes */
    uint64_t *free_at; /* stepwise: [steps * words]; else [(2 n + 3) * words] */
    int64_t steps;     /* times are below this */
    int32_t used;      /* stepwise: entries below this may differ from `full` */
    int32_t *change;   /* [2 n + 3] times at which free amounts change */
    int32_t changes;
    bool hinted;   /* few kinds of demand: hint[kind] is where room can first be */
    int32_t *hint; /* [kinds] step or entry */
    /* parallel */
    int32_t *rank, *waiting, *ready;
    uint64_t *eligible, *summary;
    sked_i_word_heap heap; /* [2 n + 1] */
    uint64_t *free_now;    /* [words] */
    uint32_t *need;        /* [n + 64] demands in order of the list; NULL: wide amounts or no vectors */
    bool again;
    int64_t late;    /* after a serial decode: what fixed starts are missed by in sum */
    int32_t *bucket; /* sorting */
    int32_t *sorted;
} sked_i_sgs;

SKED_MUST_CHECK sked_status sked_i_sgs_create(const sked_i_core *core, const sked_i_limit *limit,
                                              const int32_t *fixed, sked_i_sgs **out, sked_error *err);
void sked_i_sgs_destroy(sked_i_sgs *s);
/* Gives up the form for vectors: where it does not fit, and for tests. The same schedules, slower. */
SKED_MUST_CHECK sked_status sked_i_sgs_use_plain(sked_i_sgs *s, sked_error *err);

/*
 * Serial scheme: each op of the topological list at its earliest place given those before it. Returns the
 * makespan, or SKED_I_ABORTED when the limit is reached meanwhile or some op shows that the makespan
 * exceeds cutoff. With fixed starts, `late` says what they
 * are missed by; the schedule is valid only where it is 0.
 */
int32_t sked_i_sgs_serial(sked_i_sgs *s, const int32_t *list, int32_t cutoff, int32_t *start);
/* Parallel scheme: time moves forward; the first ops of the list that may and fit start. Any list order. */
int32_t sked_i_sgs_parallel(sked_i_sgs *s, const int32_t *list, int32_t *start);
/*
 * Ops in ascending order of key (0 or more), ties by number. topological: the keys are start times of an
 * orderly core, so the order is topological as it is; otherwise it is made so. O(n + edges), O(n log n)
 * with repair.
 */
void sked_i_sgs_sort(sked_i_sgs *s, const int32_t *key, bool topological, int32_t *list);
/* Moves a random op of the list to another place that its predecessors and successors allow. position: the
 * list's inverse, kept. */
void sked_i_sgs_shift(const sked_i_core *core, sked_i_rng *rng, int32_t *list, int32_t *position);
#endif
