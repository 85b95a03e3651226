/*
 * What traces say. Durations are seen as they are. Links are seen one step ahead: an op starts when its
 * device is free and its data is there, all of which the trace shows but for the transfers.
 */
#ifndef SKED_ROBUST_TRACES_H
#define SKED_ROBUST_TRACES_H
#include "robust/model.h"

/* Data on its way: when it left, over which link. */
typedef struct sked_i_traces_wait {
    double left, bytes;
    int32_t link, from;
} sked_i_traces_wait;

/* A start that a transfer may have decided. */
typedef struct sked_i_traces_step {
    double start, local;  /* as traced; when device and local data were ready */
    int64_t first, count; /* its waits */
} sked_i_traces_step;

/* How long an op took. */
typedef struct sked_i_traces_look {
    int64_t cell; /* op * kinds + kind */
    int32_t run;
    double took, base, remote;
    bool warm;
} sked_i_traces_look;

typedef struct sked_i_traces {
    sked_i_arena arena;
    int32_t runs;
    double *sum, *square; /* [ops * kinds] of the logarithm of traced over modelled time, reads left out */
    int32_t *seen;        /* [ops * kinds] */
    double *warm_sum;     /* [ops * kinds] of sum, where the op before had made an input */
    int32_t *warm_seen;   /* [ops * kinds] */
    double warm;          /* logarithm of what such ops take, from ops traced with and without */
    double read;          /* time that a byte of another device takes, from ops traced with more and fewer */
    sked_i_traces_look *look;
    int64_t n_looks, looks_cap;
    sked_i_traces_step *step;
    int64_t n_steps, steps_cap;
    sked_i_traces_wait *wait;
    int64_t n_waits, waits_cap;
    double *mean, *spread; /* [many parameters of the belief] given the traces; NULL: no trace yet */
} sked_i_traces;

/* run: a measurement with a trace, of the schedule that r was compiled from. {0} are no traces. */
SKED_MUST_CHECK sked_status sked_i_traces_add(sked_i_traces *t, const sked_i_model *m, const sked_i_timing *r,
                                              const sked_measurement *run, sked_error *err);
/* Factors by type, kind and op from all traces, into t->mean and t->spread. */
SKED_MUST_CHECK sked_status sked_i_traces_fit(sked_i_traces *t, const sked_i_model *m, sked_error *err);
/*
 * Log-likelihood of the traced starts under the rates of links (Student's t with 4 degrees of freedom and
 * scale `noise` in mean durations). hessian [n * n], gradient [n] (n = links + links, logs; may be NULL): of
 * a Gauss-Newton step, added to.
 */
double sked_i_traces_likelihood(const sked_i_traces *t, const sked_i_model *m, const sked_i_rates *r,
                                double noise, double *hessian, double *gradient, int32_t n);
#endif
