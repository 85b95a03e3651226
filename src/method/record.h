/*
 * The course of a descent, for sked_run_options.record: means and widths of the starts over the gradient
 * steps. The driver makes a recording where one is asked for and writes it at the end, as JSON lines or as a
 * picture (record_svg.c); a method that can be recorded keeps the steps of its first descent.
 */
#ifndef SKED_METHOD_RECORD_H
#define SKED_METHOD_RECORD_H
#include "base/text.h"

enum { SKED_I_RECORD_RULES = 4 }; /* dependencies, recurrences, latency, capacities */

typedef struct sked_i_record_step {
    int64_t step;
    bool restart;     /* it went back to its incumbent before this step */
    double objective; /* smoothed, without what broken rules cost; NAN: only rules count */
    double best;      /* value of the incumbent; INFINITY: none */
    double violation[SKED_I_RECORD_RULES]; /* expected */
} sked_i_record_step;

/* Memory is bounded: at most 64 ops, spread evenly, and 1024 steps; then every second one goes. */
typedef struct sked_i_recording {
    const sked_problem *problem;
    int32_t ops, *op; /* the ops that are kept */
    int count;
    int64_t stride;            /* steps from one kept to the next */
    sked_i_record_step *steps; /* [count] */
    double *mean, *spread;     /* [count * ops] of the starts, in units of time */
} sked_i_recording;

/* ARGUMENT where the path ends in neither .jsonl nor .svg. */
SKED_MUST_CHECK sked_status sked_i_recording_create(const char *path, const sked_problem *p,
                                                    sked_i_recording **out, sked_error *err);
void sked_i_recording_destroy(sked_i_recording *r);
/* mean, spread: [all ops]. One thread at a time. */
void sked_i_recording_keep(sked_i_recording *r, const sked_i_record_step *step, const double *mean,
                           const double *spread);
/* *written: false, and no file, where not one step was kept. */
SKED_MUST_CHECK sked_status sked_i_recording_write(const sked_i_recording *r, const char *path, bool *written,
                                                   sked_error *err);

/* record_svg.c */
void sked_i_recording_draw(const sked_i_recording *r, sked_i_buffer *out);
#endif
