/*
 * A file format: one file here, one line in table.h. Readers get the whole text in memory, with nothing
 * behind its last byte, and hand over a graph; writers fill a buffer. Messages start with the source's name
 * and a line or byte.
 */
#ifndef SKED_FORMATS_FORMAT_H
#define SKED_FORMATS_FORMAT_H
#include "base/file.h"
#include "graph/graph.h"

typedef struct sked_i_source {
    const char *name; /* for messages */
    const char *text; /* [size]: no 0 behind it */
    size_t size;
    const sked_read_options *options; /* never NULL */
} sked_i_source;

typedef struct sked_i_format {
    sked_format_info info;
    /* Looks like this format? Sees the first bytes only; NULL: the extension alone decides. */
    bool (*sniff)(const char *text, size_t size);
    sked_status (*read)(const sked_i_source *source, sked_graph **out, sked_error *err);
    sked_status (*write)(const sked_graph *g, sked_i_buffer *out, sked_error *err);
    /* The machine that such a file describes beside its graph; NULL: it describes none. */
    sked_status (*machine)(const sked_i_source *source, sked_machine **out, sked_error *err);
    /*
     * The start times of g's ops and the interval (0: none) that such a file holds: INVALID where one is
     * missing. NULL: it holds none.
     */
    sked_status (*times)(const sked_i_source *source, const sked_graph *g, double *start, double *ii,
                         sked_error *err);
    bool dims; /* the reader takes the sizes of symbolic dimensions */
} sked_i_format;

/* The format of a file that looks like one with a machine in it, or NULL; the same with start times. */
const sked_i_format *sked_i_format_with_machine(const char *text, size_t size);
const sked_i_format *sked_i_format_with_times(const char *text, size_t size);
/*
 * For such formats (machine.c): `count` devices of a type, called by its name, `separator` and a number. At
 * most 65,536 devices in all: a file may claim any number of cores.
 */
SKED_MUST_CHECK sked_status sked_i_read_alike_devices(sked_machine_builder *b, const char *type,
                                                      const char *separator, int64_t count, double speed,
                                                      double memory, sked_error *err);
/* The format of this name, or NULL. */
const sked_i_format *sked_i_format_find(const char *name);
/* Line number (from 1) of a position in the text. */
int64_t sked_i_source_line(const sked_i_source *source, const char *position);
/* "name:line: " + message with any status; the line of `position`, or none where it is NULL. */
sked_status sked_i_source_refuse(const sked_i_source *source, const char *position, sked_status status,
                                 sked_error *err, const char *format, ...) SKED_PRINTF(5, 6);
/* The same as a FORMAT error. */
#define sked_i_source_fail(source, position, err, ...) \
    sked_i_source_refuse((source), (position), SKED_ERR_FORMAT, (err), __VA_ARGS__)
/*
 * For errors that come out of the builder (which knows no file): puts "name: " or "name:line: " before
 * the message of a local error and passes it on. Memory errors pass unchanged.
 */
sked_status sked_i_source_pass(const sked_i_source *source, const char *position, const sked_error *cause,
                               sked_error *err);
/* Runs a builder call that reports into `&cause`; a failure leaves through cleanup as "name:line: cause". */
#define SKED_BUILD(source, position, call)                              \
    do {                                                                \
        sked_error cause = {0};                                         \
        st = (call);                                                    \
        if (st != SKED_OK) {                                            \
            st = sked_i_source_pass((source), (position), &cause, err); \
            goto cleanup;                                               \
        }                                                               \
    } while (0)
/* File name without folder and extension, in buf: the default graph name. */
const char *sked_i_source_stem(const sked_i_source *source, char *buf, size_t size);
/* Begins a graph; name NULL: it is called after the file. Destroy *out in any case. */
SKED_MUST_CHECK sked_status sked_i_source_begin(const sked_i_source *source, const char *name,
                                                sked_builder **out, sked_error *err);

/* Op library (library.c): durations, demands, resources by op type. */
SKED_MUST_CHECK sked_status sked_i_library_parse(const char *name, const char *text, size_t size,
                                                 const sked_graph *g, sked_graph **out, sked_error *err);
/*
 * Measured durations by op name (observed.c): {"op": duration, ...}, or a trace (trace_profile.h); ops it
 * does not name keep theirs.
 */
SKED_MUST_CHECK sked_status sked_i_durations_parse_profile(const char *name, const char *text, size_t size,
                                                           const sked_graph *g, sked_graph **out,
                                                           sked_error *err);
/* The same with the reader's notes. type: the times are of devices of that name or type; NULL: of all. */
SKED_MUST_CHECK sked_status sked_i_observed_parse(const char *name, const char *text, size_t size,
                                                  const char *type, const sked_read_options *opt,
                                                  const sked_graph *g, sked_graph **out, sked_error *err);
/* GraphML whose resource model (graphml.c) is in memory too; options and files beside it are not asked. */
SKED_MUST_CHECK sked_status sked_i_graphml_parse(const sked_i_source *source,
                                                 const sked_i_source *resource_model, sked_graph **out,
                                                 sked_error *err);
/* A machine as sked-machine-1 (machine.c). */
void sked_i_format_of_machines(const sked_machine *m, sked_i_buffer *out);
/* Writes a schedule (schedule_json.c). */
SKED_MUST_CHECK sked_status sked_i_native_schedule_write(const sked_problem *p, const sked_schedule *s,
                                                         sked_i_buffer *out, sked_error *err);
#endif
