/*
 * Durations by device as one text, {"gpu":0.5,"npu":null}, for formats whose nodes hold plain attributes
 * (DOT, GML, GraphML). null: the op cannot run there. And delays, which native files and op libraries have.
 */
#ifndef SKED_FORMATS_DURATIONS_H
#define SKED_FORMATS_DURATIONS_H
#include "formats/json.h"

/* One member of such an object with what stands before it: a brace or a comma. The end brace is the caller's.
 */
void sked_i_duration_write(sked_i_buffer *out, bool first, const char *on, double time);
/* Such an object comes next in j: take gets each of its members. name: room for the keys. */
typedef sked_status (*sked_i_duration_fn)(void *data, const char *on, double time, sked_error *err);
void sked_i_durations_each(sked_i_json *j, sked_i_buffer *name, sked_i_duration_fn take, void *data);
/* {"gpu": 0.5, "npu": null} of an op behind what `out` holds; false: it has no durations by device. */
bool sked_i_durations_write(const sked_graph *g, int32_t op, sked_i_buffer *out);
/* Such an object comes next in j: given to the last op of the builder. name: room for its keys. */
void sked_i_durations_read(sked_i_json *j, sked_i_buffer *name, sked_builder *b, int32_t op);
/* An op's "delay" comes next in j: a number, or {"in": a, "out": b}. */
void sked_i_delay_read(sked_i_json *j, double *in, double *out);
/* ,"delay":... */
void sked_i_delay_write(sked_i_buffer *text, double in, double out);
/* Calls write(out, key, text) for an op that has durations by device. */
typedef void (*sked_i_text_fn)(sked_i_buffer *out, const char *key, const char *text);
void sked_i_durations_text(const sked_graph *g, int32_t op, const char *key, sked_i_text_fn write,
                           sked_i_buffer *out);
/* Adds those of a text to the last op of a builder. `at`: where it stands in the file, for messages. */
SKED_MUST_CHECK sked_status sked_i_durations_add(const sked_i_source *source, const char *at,
                                                 const char *text, sked_builder *b, int32_t op,
                                                 sked_error *err);
/*
 * A first estimate of what an op takes, in microseconds on a core of 100 GFLOP/s and 10 GB/s: the longer of
 * computing and moving, whole, at least 1.
 */
double sked_i_duration_estimate(double flops, double bytes);
#endif
