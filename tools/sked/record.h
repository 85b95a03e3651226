/* The course of a descent: sked schedule --record. */
#ifndef SKED_TOOLS_RECORD_H
#define SKED_TOOLS_RECORD_H
#include "cli.h"

/* Steps kept so far; every `stride`-th of the descent. */
typedef struct recording {
    int32_t ops, *op; /* which ops are kept: all, or some spread evenly */
    int count, stride;
    sked_descent_step *steps; /* [MAX] without their arrays */
    double *mean, *spread;    /* [MAX * ops] */
} recording;

/* Makes room and has opt->record fill it. */
sked_status open_recording(const arguments *a, const setup *s, recording *r, sked_run_options *opt,
                           sked_error *err);
/* Writes --record as JSON lines or a picture. Without a single step: a warning, and no file. */
sked_status write_recording(const arguments *a, const setup *s, const recording *r, sked_error *err);
void close_recording(recording *r);
#endif
