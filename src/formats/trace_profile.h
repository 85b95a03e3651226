/* Traces of runs as profiles: Chrome's Trace Event Format, which ONNX Runtime's profiles are written in. */
#ifndef SKED_FORMATS_TRACE_PROFILE_H
#define SKED_FORMATS_TRACE_PROFILE_H
#include "formats/json.h"

/*
 * Where the events of a trace begin, if the text is one: an array, or an object whose "traceEvents" is one.
 * NULL: no trace, or j has failed. Nothing may follow the text's one value. j stands at its beginning before
 * and after. O(size).
 */
const char *sked_i_trace_find(sked_i_json *j);

/*
 * Durations of the ops that events are named after: the median of an op's events, in microseconds as they are
 * written. Events of other names are passed over, but one at least must be an op's. duration[ops] keeps what
 * the trace does not say. Errors are j's. O(size + events log events).
 */
void sked_i_trace_read(sked_i_json *j, const char *events, const sked_graph *g, double *duration);
#endif
