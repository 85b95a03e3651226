/*
 * Devices that differ to an op, because data takes time between them or ops are fixed on some: every op has
 * a device and a place in one list, and each device runs its ops in the order of the list. A move changes a
 * few of those decisions; only what follows from it is timed again.
 */
#ifndef SKED_METHOD_SEARCH_LINES_H
#define SKED_METHOD_SEARCH_LINES_H
#include "base/sort.h"
#include "method/list/list.h"

/* An edge's lag where both ends run on one device, and where they do not. */
typedef struct sked_i_link {
    double here, away;
    int32_t op;
} sked_i_link;

/* The problem, shared by all threads. */
typedef struct sked_i_lines {
    const sked_problem *problem;
    int32_t n, m;
    sked_i_dag dag;
    sked_i_pools pools;
    sked_i_link *in, *out; /* rows as in dag.in and dag.out */
    double *tail;          /* [n] from the start of an op to the end of everything, devices aside */
    double scale;          /* what one decision typically changes: mean duration and mean transfer */
    double span;           /* no list takes longer */
    bool plain;            /* no pools, no fixed starts: times follow from list and devices by one pass */
    bool orderly;          /* no lag is negative: order of starts is topological */
} sked_i_lines;

SKED_MUST_CHECK sked_status sked_i_lines_create(const sked_problem *p, sked_i_lines **out, sked_error *err);
void sked_i_lines_destroy(sked_i_lines *l);
/* Does the problem need lines, or are all devices alike to every op? */
static inline bool sked_i_needs_lines(const sked_problem *p)
{
    return p->devices > 0 && (sked_i_has_transfers(p) || p->fix_device != NULL);
}

/* Of starts and devices, the same whatever the devices are called. label: scratch [m]. */
uint64_t sked_i_lines_hash(const sked_i_lines *l, const double *start, const int32_t *device, int32_t *label);

enum { SKED_I_MOVE_OPS = 6 };

/* Takes the op at place `from` of the list to place `to`, and gives some ops other devices. */
typedef struct sked_i_move {
    int32_t from, to, count;
    int32_t op[SKED_I_MOVE_OPS], device[SKED_I_MOVE_OPS];
} sked_i_move;

/* One solution under change; one per thread. The cost is the makespan, more where fixed starts are missed. */
typedef struct sked_i_sequence {
    const sked_i_lines *lines;
    double cost, late;
    int32_t *list, *place; /* [n] topological, and its inverse */
    int32_t *device;       /* [n] */
    double *start;         /* [n] */
    /* scratch */
    double *before, *after;          /* [n + 1] latest finish at places < k, >= k; plain */
    double *old_end, *new_end;       /* [m] */
    uint8_t *dirty;                  /* [m] */
    int64_t *touched, touch;         /* [n] ops to be timed again carry this number */
    int32_t *journal, journal_count; /* [n] ops whose start was changed ... */
    double *journal_start;           /* [n] ... and what it was */
    int32_t *ops_on;                 /* [m] */
    int32_t *last_on, *previous;     /* [m], [n] */
    double *trial;                   /* [n] starts of a try; not plain */
    int32_t *trial_device;           /* [n] */
    sked_i_placer *placer;
    sked_status status;   /* first failure */
    sked_i_keyed *sorter; /* [2 n] */
} sked_i_sequence;

SKED_MUST_CHECK sked_status sked_i_sequence_create(const sked_i_lines *l, sked_i_sequence **out,
                                                   sked_error *err);
void sked_i_sequence_destroy(sked_i_sequence *s);
/* Takes on a schedule: its devices, and the order of its starts (ties by rank). Times it. O(n + edges). */
void sked_i_sequence_load(sked_i_sequence *s, const double *start, const int32_t *device);
/* Takes on what placing ops in order of key, each where it finishes first, gives. */
void sked_i_sequence_build(sked_i_sequence *s, const double *key);
/*
 * Makes the move if the cost is then at most `limit`, or else leaves all as it was. Returns whether. The list
 * must stay topological: `to` within sked_i_sequence_range. Plain: O(what changes + ops that run
 * meanwhile); otherwise one generation.
 */
bool sked_i_sequence_try(sked_i_sequence *s, const sked_i_move *move, double limit);
/* First and last place that the op at `from` may take. O(degree). */
void sked_i_sequence_range(const sked_i_sequence *s, int32_t from, int32_t *low, int32_t *high);
/* Orders the list by start. Changes no time where the problem is plain. O(n). */
void sked_i_sequence_sort(sked_i_sequence *s);
/* Ops that decide the makespan, from the last back to the first, into chain[n]; returns how many. */
int32_t sked_i_sequence_critical(sked_i_sequence *s, sked_i_rng *rng, int32_t *chain);
#endif
