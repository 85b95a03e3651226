/*
 * Schedule generation schemes: from a list of ops to start times. Every decoder works on one core
 * (forward or mirrored time) and allocates nothing per call.
 */
#ifndef SKED_METHOD_SEARCH_SGS_H
#define SKED_METHOD_SEARCH_SGS_H
#include "method/search/core.h"

#define SKED_I_ABORTED INT32_MAX

typedef struct sked_i_sgs_node {
    int32_t time, next;
} sked_i_sgs_node;

/* Work space for one core and one thread. */
typedef struct sked_i_sgs {
    const sked_i_core *core;
    const sked_i_limit *limit; /* polled during long decodes */
    const int32_t *fixed;      /* [n] start or -1; NULL: none */
    bool stepwise;             /* the timeline is one entry per time unit, else a list of changes */
    uint64_t *free_at;         /* stepwise: [steps * words]; else [nodes * words] */
    int64_t steps;
    int32_t used;              /* stepwise: entries below this may differ from `full` */
    sked_i_sgs_node *node;     /* [2 n + 3] */
    int32_t nodes;
    int32_t *end_node;         /* [n] a node at or before the op's finish and after its start */
    int32_t *hint;             /* [kinds] no earlier room for this kind (time, or node) */
    /* parallel */
    int32_t *rank, *waiting, *ready;
    uint64_t *eligible, *summary;
    uint64_t *heap;
    int32_t heap_size;
    uint64_t *free_now;        /* [words] */
    bool again;
    int64_t late;              /* after a serial decode: what fixed starts are missed by in sum */
    int32_t *bucket;           /* sorting */
    int32_t *sorted;
} sked_i_sgs;

SKED_MUST_CHECK sked_status sked_i_sgs_create(const sked_i_core *core, const sked_i_limit *limit,
                                              const int32_t *fixed, sked_i_sgs **out, sked_error *err);
void sked_i_sgs_destroy(sked_i_sgs *s);

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
#endif
