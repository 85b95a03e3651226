/* Traces of runs as profiles: Chrome's Trace Event Format, which ONNX Runtime's profiles are written in. */
#ifndef SKED_FORMATS_TRACE_PROFILE_H
#define SKED_FORMATS_TRACE_PROFILE_H
#include "formats/observed.h"

typedef struct sked_i_trace_place {
    const char *events; /* where they begin; NULL: no trace, or j has failed */
    bool own;           /* -o FILE.trace.json wrote it: events have exact times, and devices */
} sked_i_trace_place;

/*
 * If the text is a trace: an array of events, or an object whose "traceEvents" is one. Nothing may follow the
 * text's one value. j stands at its beginning before and after. O(size).
 */
sked_i_trace_place sked_i_trace_find(sked_i_json *j);

/*
 * Times of the ops that events are named after (trace_names.h), in microseconds as they are written, or in
 * the unit of our own traces. Events of other names are passed over, but one at least must be an op's.
 * Errors are j's. O(size + events log events).
 */
void sked_i_trace_read(sked_i_json *j, const sked_i_trace_place *place, sked_i_observed *m);
#endif
