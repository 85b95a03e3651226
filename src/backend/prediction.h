/*
 * Schedules compiled for prediction, and guesses of the machine: the batched form of what robust/timing.c
 * runs one by one.
 */
#ifndef SKED_BACKEND_PREDICTION_H
#define SKED_BACKEND_PREDICTION_H
#include "base/status.h"

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

/* Candidates of one graph under many guesses. */
typedef struct sked_i_prediction {
    int32_t ops, links, kinds, guesses;
    int64_t candidates;
    const sked_i_timing *const *timing; /* [candidates] */
    const sked_i_rates *rates;          /* [guesses] all with sizes, or none */
} sked_i_prediction;
#endif
