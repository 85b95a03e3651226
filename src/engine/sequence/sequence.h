/*
 * Device sequences under change. A move changes a few decisions (place in the list, device); only what
 * follows from it is timed again.
 */
#ifndef SKED_ENGINE_SEQUENCE_SEQUENCE_H
#define SKED_ENGINE_SEQUENCE_SEQUENCE_H
#include "base/arena.h"
#include "base/sort.h"
#include "engine/list/list.h"
#include "form/sequencing.h"

enum { SKED_I_SEQUENCE_MOVE_OPS = 24 };

/* Takes the op at place `from` of the list to place `to`, and gives some ops other devices. */
typedef struct sked_i_sequence_move {
    int32_t from, to, count;
    int32_t op[SKED_I_SEQUENCE_MOVE_OPS], device[SKED_I_SEQUENCE_MOVE_OPS];
} sked_i_sequence_move;

/* One solution under change; one per thread. The cost is the makespan, more where fixed starts are missed. */
typedef struct sked_i_sequence {
    sked_i_arena arena;
    const sked_i_sequencing *form;
    double cost, late;
    int32_t *list, *place;       /* [n] topological, and its inverse */
    int32_t *device;             /* [n] */
    double *start;               /* [n] */
    const double *time;          /* [n] of each op on its device */
    const double *tail;          /* [n] from its start there to the end of everything, at least */
    double *own_time, *own_tail; /* what they point to where devices are heterogeneous, or NULL */
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
    const sked_i_limit *limit; /* that building obeys; NULL: none */
    sked_status status;        /* first failure */
    sked_i_keyed *sorter;      /* [2 n] */
} sked_i_sequence;

SKED_MUST_CHECK sked_status sked_i_sequence_create(const sked_i_sequencing *l, sked_i_sequence **out,
                                                   sked_error *err);
void sked_i_sequence_destroy(sked_i_sequence *s);
/* Takes on a schedule: its devices, and the order of its starts (ties by rank). Times it. O(n + edges). */
void sked_i_sequence_load(sked_i_sequence *s, const double *start, const int32_t *device);
/* Takes on what placing ops in order of key, each where it finishes first, gives; nothing at the limit. */
void sked_i_sequence_build(sked_i_sequence *s, const double *key);
/*
 * Makes the move if the cost is then at most `limit`, or else leaves all as it was. Returns whether. The
 * devices of a move that was made become those from before. The list
 * must stay topological: `to` within sked_i_sequence_range. Plain: O(what changes + ops that run
 * meanwhile); otherwise one generation.
 */
bool sked_i_sequence_try(sked_i_sequence *s, sked_i_sequence_move *move, double limit);
/* First and last place that the op at `from` may take. O(degree). */
void sked_i_sequence_range(const sked_i_sequence *s, int32_t from, int32_t *low, int32_t *high);
/* Orders the list by start. Changes no time where the problem is plain. O(n). */
void sked_i_sequence_sort(sked_i_sequence *s);
/* Ops that decide the makespan, from the last back to the first, into chain[n]; returns how many. */
int32_t sked_i_sequence_critical(sked_i_sequence *s, sked_i_rng *rng, int32_t *chain);
#endif
