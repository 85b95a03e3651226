/*
 * A schedule compiled once: its time under any rates of the machine is one longest path, and the critical
 * path is the derivative of that time. Differentiable wherever the critical path is unique; on ties it gives
 * the derivative along one of the critical paths.
 */
#ifndef SKED_ROBUST_TIMING_H
#define SKED_ROBUST_TIMING_H
#include "base/arena.h"

/* What a guess of the machine says. Time of an op: (base + start_up * share) * factor * kind, and times warm
 * where the op before it on its device made one of its inputs; plus read for each byte of other devices. */
typedef struct sked_i_rates {
    double *latency, *per_byte; /* [links] */
    double start_up, warm, read;
    double *factor; /* [ops] */
    double *kind;   /* [kinds] of devices */
    double *size;   /* [ops] bytes of a producer's result; NULL: as the edges say */
} sked_i_rates;

typedef struct sked_i_timing_edge {
    int32_t from, link; /* link -1: the data stays, or passes for nothing */
    double bytes, lag;  /* lag NAN: the time of `from` */
} sked_i_timing_edge;

typedef struct sked_i_timing {
    int32_t ops;
    int32_t *order;       /* [ops] in which starts are computed */
    int32_t *before;      /* [ops] on the same device; -1: the first there */
    int32_t *kind;        /* [ops] of the op's device */
    double *base, *share; /* [ops] time as the problem says; part of start_up that counts */
    double *remote;       /* [ops] bytes of its inputs that other devices made */
    int64_t *row;         /* [ops + 1] */
    sked_i_timing_edge *edge;
} sked_i_timing;

/* Work space for schedules of one graph, and what the last run left there. */
typedef struct sked_i_timing_work {
    double *time, *start; /* [ops] */
    int64_t *via;         /* [ops] edge that decides the start; VIA_DEVICE, VIA_NOTHING */
    int32_t last;         /* op that ends last; -1: there is none */
} sked_i_timing_work;

/* d time / d log of each rate; the caller clears it. size NULL: not wanted. */
typedef struct sked_i_timing_gradient {
    double *latency, *per_byte, *start_up, *warm, *read, *factor, *kind, *size;
} sked_i_timing_gradient;

/* The arrays belong to the arena. */
SKED_MUST_CHECK sked_status sked_i_timing_work_open(sked_i_timing_work *w, sked_i_arena *a, int32_t ops,
                                                    sked_error *err);

/* The makespan; w->start gets the starts. O(ops + edges). */
double sked_i_timing_run(const sked_i_timing *r, const sked_i_rates *rates, sked_i_timing_work *w);
/* Adds the derivative at what the last run of w computed. O(ops). */
void sked_i_timing_differentiate(const sked_i_timing *r, const sked_i_rates *rates,
                                 const sked_i_timing_work *w, const sked_i_timing_gradient *d);
/* Did the op before it on its device make one of its inputs? O(degree). */
bool sked_i_timing_warm(const sked_i_timing *r, int32_t op);
/* Ops of the critical path of the last run of w, the last one first, into op[ops]; returns how many. */
int32_t sked_i_timing_critical(const sked_i_timing *r, const sked_i_timing_work *w, int32_t *op);
#endif
