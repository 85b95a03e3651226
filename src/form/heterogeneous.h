/*
 * Heterogeneous devices for sequences: times by op and kind of device, transfers by pair of kinds of links.
 * Devices of one kind run every op in the same time and have the same links. Where ops and devices are so
 * many that tables of all pairs would be large, times, tails and choices follow from costs and graph instead.
 */
#ifndef SKED_FORM_HETEROGENEOUS_H
#define SKED_FORM_HETEROGENEOUS_H
#include "form/dag.h"
#include "problem/kinds.h"

#include <assert.h>

/* An edge: lag + share * (time of its `from` there) on one device, and a transfer between two. */
typedef struct sked_i_hetero_arc {
    double lag, share, bytes;
    int32_t op;    /* the other end */
    int32_t links; /* where the latencies for it begin: an edge without bytes needs no link */
} sked_i_hetero_arc;

typedef struct sked_i_hetero {
    sked_i_arena arena;
    const sked_i_costs *costs;        /* of the dag */
    int32_t n, m, kinds, links;       /* kinds of devices; of links */
    sked_i_kinds like;                /* those kinds */
    const int32_t *kind_of, *link_of; /* [m] */
    const int32_t *fix;               /* [n] fixed devices, -1: none; NULL: all are free */
    double *time;                     /* [n * kinds] INFINITY: cannot run there; NULL: large */
    double *tail;      /* [n * kinds] from the start of the op there to the end of everything ... */
    double *least;     /* [n] ... and the least over the kinds */
    double *rest;      /* [2 * n] where tail is NULL: the tail behind the op's end; behind its start */
    double *latency;   /* [2 * links * links] with bytes, and without */
    double *bandwidth; /* [links * links] */
    sked_i_hetero_arc *in, *out; /* rows as in the dag */
    double *pass;      /* [edges of in * m * m] their transfers from x to; NULL: the table would be large */
    int64_t *able_ptr; /* [n + 1] devices an op may run on: its fixed one, or all that can ... */
    int32_t *able;     /* ... the shortest time first; NULL: large */
    int32_t *by_speed, *by_class; /* [m] where able is NULL: the fastest first, of all and of each class */
    int32_t *speed_place, *class_place; /* [m] where devices stand there */
    int32_t *class_first;               /* [classes] */
    double span;                        /* no list that needs no missing link takes longer */
    double barred;         /* a missing link takes so long: costs of barred and more are no schedules */
    double work, transfer; /* mean shortest time of an op, mean transfer of an edge */
    bool orderly;          /* no lag is negative */
} sked_i_hetero;

/*
 * v: of the same problem, with both directions and costs; it must stay. Free in any case. O(n m + edges)
 * memory; time O(n m log m + edges * kinds^2); on large machines O(n classes + m log m + edges) of both.
 */
SKED_MUST_CHECK sked_status sked_i_hetero_make(const sked_problem *p, const sked_i_dag *v, sked_i_hetero *u,
                                               sked_error *err);
void sked_i_hetero_free(sked_i_hetero *u);

/*
 * Devices an op may run on, the shortest time first: how many, the k-th of them, the number of one. On large
 * machines those of a class stand together, and of many classes not the fastest first. O(1), on large
 * machines O(classes).
 */
int32_t sked_i_hetero_choices(const sked_i_hetero *u, int32_t op);
int32_t sked_i_hetero_choice(const sked_i_hetero *u, int32_t op, int32_t k);
int32_t sked_i_hetero_choice_of(const sked_i_hetero *u, int32_t op, int32_t device);

static inline double sked_i_hetero_time(const sked_i_hetero *u, int32_t op, int32_t device)
{
    assert(op >= 0 && op < u->n && device >= 0 && device < u->m);
    if (u->time == NULL)
        return sked_i_time(u->costs, op, device);
    return u->time[(int64_t)op * u->kinds + u->kind_of[device]];
}
static inline double sked_i_hetero_tail(const sked_i_hetero *u, int32_t op, int32_t device)
{
    if (u->tail != NULL)
        return u->tail[(int64_t)op * u->kinds + u->kind_of[device]];
    return fmax(sked_i_time(u->costs, op, device) + u->rest[op], u->rest[u->n + op]);
}
/* Data of an arc between two different devices, by their kinds of links. */
static inline double sked_i_hetero_pass(const sked_i_hetero *u, const sked_i_hetero_arc *x, int32_t from,
                                        int32_t to)
{
    assert(from >= 0 && from < u->links && to >= 0 && to < u->links);
    const int32_t pair = from * u->links + to;
    return u->latency[x->links + pair] + x->bytes / u->bandwidth[pair];
}
#endif
