/*
 * sked: schedules computation graphs.
 *
 * The one public header of libsked. Conventions that hold for every call:
 *
 * - A function that can fail returns a sked_status and takes a `sked_error *err` last. err may be
 *   NULL. On failure err holds the status and one sentence that names place and rule; the first
 *   cause wins, and outputs are left untouched.
 * - One word for ending a thing. `_destroy` ends an object that the library allocated (`X **out`);
 *   destroy(NULL) is fine. `_clear` frees what stands in a struct that you allocated and leaves it as
 *   after `_init`. sked_free is for plain arrays.
 * - A struct that you allocate begins with `size_t size`: its `_init` sets that and the presets, so that
 *   structs can grow. For outputs `sked_metrics m = {.size = sizeof m};` is the same. NULL options mean
 *   presets. Structs that the library allocates may grow at their end. sked_error, sked_edge and
 *   sked_option never change (docs/api.md).
 * - Every enumeration and number of a problem and of options is checked: ARGUMENT where it is out of range,
 *   NAN or negative where the field does not say so. A schedule of another graph or machine is INVALID. Calls
 *   without a status trust their indices.
 * - What the library offers is listed by `sked_X_count()` and `sked_X_at(i)` (NULL past the end), as
 *   `const sked_X_info *` (options: `const sked_option *`).
 * - The library never prints, exits, reads the environment, or takes a seed from the clock.
 * - Graphs are immutable once built and may be shared between threads.
 *
 * Time, size and amount are doubles. Where all values of a problem are integers below 2^53, all
 * arithmetic and every comparison is exact.
 */
#ifndef SKED_SKED_H
#define SKED_SKED_H

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SKED_MUST_CHECK   __attribute__((warn_unused_result))
#define SKED_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define SKED_API          __attribute__((visibility("default")))
#else
#define SKED_MUST_CHECK
#define SKED_PRINTF(a, b)
#define SKED_API
#endif

/* ------------------------------------------------------------------ status and errors */

/* One list: C name, exit code of the command, meaning. The manual and the tests expand it too. */
#define SKED_STATUS_LIST(X)                                         \
    X(OK, 0, "ok")                                                  \
    X(ERR_ARGUMENT, 2, "bad arguments")                             \
    X(ERR_MEMORY, 3, "out of memory")                               \
    X(ERR_IO, 4, "input/output failure")                            \
    X(ERR_FORMAT, 5, "malformed input")                             \
    X(ERR_UNSUPPORTED, 6, "unsupported")                            \
    X(ERR_INFEASIBLE, 7, "no feasible schedule")                    \
    X(ERR_INVALID, 8, "invalid schedule")                           \
    X(ERR_DEVICE, 9, "device failure")                              \
    X(ERR_STOPPED, 10, "stopped by limit or signal with no result") \
    X(ERR_BUG, 11, "a bug in sked")

typedef enum sked_status {
#define SKED_X(name, code, text) SKED_##name = code,
    SKED_STATUS_LIST(SKED_X)
#undef SKED_X
} sked_status;

typedef struct sked_error {
    sked_status status;
    char message[1000];
} sked_error;
/* How one begins, in C and C++: `sked_error err = SKED_ERROR_INIT;` */
#define SKED_ERROR_INIT \
    {                   \
        SKED_OK, ""     \
    }

/* The meaning of a status as a short phrase; never NULL. */
SKED_API const char *sked_status_text(sked_status status);
/* Frees what a call handed over as a plain array. NULL is fine. */
SKED_API void sked_free(void *p);

/*
 * The `_init` of a struct that you allocate. It is compiled into your program, so that the library learns the
 * size that your program knows. Other languages call sked_X_init_sized, or set size and zeros for an output.
 */
#define SKED_INIT_INPUT(type)               \
    static inline void type##_init(type *x) \
    {                                       \
        type##_init_sized(x, sizeof *x);    \
    }
#define SKED_INIT_OUTPUT(type)              \
    static inline void type##_init(type *x) \
    {                                       \
        memset(x, 0, sizeof *x);            \
        x->size = sizeof *x;                \
    }

/* ------------------------------------------------------------------ reading and writing graphs */

/* Ops, edges and resources. Immutable once built: threads may share it. */
typedef struct sked_graph sked_graph;
SKED_API void sked_graph_destroy(sked_graph *g);

typedef struct sked_format_info {
    const char *name;       /* "stg" */
    const char *summary;    /* one line */
    const char *extensions; /* ".stg .xyz", in order of preference; "" where the content decides */
    bool reads, writes;
} sked_format_info;
SKED_API int sked_format_count(void);
SKED_API const sked_format_info *sked_format_at(int i);

/* One sentence about something that did not end the call. It ends with the call. */
typedef void (*sked_warning_fn)(void *data, const char *message);

typedef struct sked_read_options {
    size_t size;
    const char *format; /* NULL: by extension, then by content */
    const char
        *resources;      /* resource model XML for GraphML; NULL: `<stem>RM.xml`/`<stem>_RM.xml` beside it */
    const char *library; /* op library JSON; NULL: none */
    const char *profile; /* durations by op name, JSON {"name": seconds}; NULL: none */
    int64_t max_bytes;   /* input limit; 0 = 8 GiB */
    const char
        *instance; /* of a file that has several: by name, or else by number from 1; NULL: the only one */
    const char *const *profiles; /* more profiles, "FILE", or "TYPE=FILE": times on devices of that name or
                                    type */
    const char *const *dims;     /* "NAME=K": the sizes of symbolic dimensions; others count as 1 */
    int n_profiles, n_dims;
    sked_warning_fn note; /* what was assumed: ops without a measured time, dimensions; may be NULL */
    void *note_data;
    double memory; /* size of every value; 0: as the graph says */
} sked_read_options;
SKED_API void sked_read_options_init_sized(sked_read_options *opt, size_t size);
SKED_INIT_INPUT(sked_read_options)
/* Reads a graph; path "-" is standard input. opt may be NULL. Errors: IO, FORMAT, UNSUPPORTED, MEMORY. */
SKED_API SKED_MUST_CHECK sked_status sked_graph_read(const char *path, const sked_read_options *opt,
                                                     sked_graph **out, sked_error *err);
/* The same from memory; `name` stands for the file in messages and decides the format with opt NULL. */
SKED_API SKED_MUST_CHECK sked_status sked_graph_parse(const char *name, const char *text, size_t size,
                                                      const sked_read_options *opt, sked_graph **out,
                                                      sked_error *err);
/* format NULL: by extension. Written as by sked_file_write. */
SKED_API SKED_MUST_CHECK sked_status sked_graph_write(const sked_graph *g, const char *path,
                                                      const char *format, sked_error *err);

/* ------------------------------------------------------------------ what a graph holds */

/* In sked_builder_add_edge: the lag is the duration of `from`, and follows it. */
#define SKED_LAG_DEFAULT ((double)NAN)

typedef struct sked_edge {
    int32_t from, to;
    double lag;       /* start to start; or SKED_LAG_DEFAULT */
    double bytes;     /* >= 0 */
    int32_t distance; /* >= 0; k > 0 marks a loop-carried edge */
} sked_edge;

SKED_API const char *sked_graph_name(const sked_graph *g); /* "" when unnamed */
/* Ops are numbered from 0; so are edges and resources. Every index in a call must be one of theirs. */
SKED_API int32_t sked_graph_op_count(const sked_graph *g);
/* Edges, loop-carried ones included. */
SKED_API int64_t sked_graph_edge_count(const sked_graph *g);
/* Resources; 0: the graph has no pools. */
SKED_API int32_t sked_graph_resource_count(const sked_graph *g);
/* Writes the op's name into buf (the index where it has none) and returns buf. */
SKED_API const char *sked_graph_op_name(const sked_graph *g, int32_t op, char *buf, size_t size);
SKED_API int32_t sked_graph_find_op(const sked_graph *g, const char *name); /* -1: none. O(1) */
SKED_API const char *sked_graph_op_type(const sked_graph *g, int32_t op);   /* NULL when untyped */
/* Its result as a Verilog expression over its operands; NULL: none. */
SKED_API const char *sked_graph_verilog(const sked_graph *g, int32_t op);
/* The duration that the graph gives; devices may have others (sked_graph_duration_on). */
SKED_API double sked_graph_duration(const sked_graph *g, int32_t op);
/* Size of the value that the op makes. */
SKED_API double sked_graph_memory(const sked_graph *g, int32_t op);
/* Weight of its load in the objective `resource`. */
SKED_API double sked_graph_weight(const sked_graph *g, int32_t op);
/* Whether its value stays in memory to the end. */
SKED_API bool sked_graph_keep(const sked_graph *g, int32_t op);
/* Names of devices and device types that durations are given for, in the order they came. */
SKED_API int32_t sked_graph_duration_name_count(const sked_graph *g);
/* Name i of these; it lives as long as the graph. */
SKED_API const char *sked_graph_duration_name(const sked_graph *g, int32_t i);
/* What the graph says for that name; NAN: nothing. */
SKED_API double sked_graph_duration_on(const sked_graph *g, int32_t op, const char *device);
/* Amount of the resource that the op holds while it runs; 0: none. */
SKED_API double sked_graph_demand(const sked_graph *g, int32_t op, int32_t resource);
/* Name of a resource; it lives as long as the graph. */
SKED_API const char *sked_graph_resource_name(const sked_graph *g, int32_t resource);
SKED_API double sked_graph_capacity(const sked_graph *g, int32_t resource);       /* INFINITY: no limit */
SKED_API int32_t sked_graph_find_resource(const sked_graph *g, const char *name); /* -1: none */
/* Edges are numbered by `from`, then in the order they were added. */
SKED_API void sked_graph_edge(const sked_graph *g, int64_t edge, sked_edge *out);
/* A topological order of the edges of distance 0 into order[ops]. O(ops). */
SKED_API void sked_graph_topological(const sked_graph *g, int32_t *order);
/* True when both have the same ops (names, types, all numbers), resources and edges. */
SKED_API bool sked_graph_equal(const sked_graph *a, const sked_graph *b);

typedef struct sked_graph_info {
    size_t size;
    int32_t ops, sources, sinks, types, resources, isolated;
    int64_t edges, carried_edges,
        redundant_edges;  /* redundant: not in the transitive reduction; -1 unknown */
    int32_t depth;        /* ops on the longest chain */
    int32_t width;        /* most ops that can run at once, or a lower bound: the largest level by depth */
    bool width_exact;     /* true: width is exact */
    double work;          /* sum of durations */
    double critical_path; /* longest path by lag plus last duration */
    double memory, bytes, weight;
    bool integral; /* every number is an integer below 2^53 */
} sked_graph_info;
SKED_INIT_OUTPUT(sked_graph_info)
/* O(ops + edges), and reduction and exact width where they stay within a second or so (docs/problem.md). */
SKED_API SKED_MUST_CHECK sked_status sked_graph_describe(const sked_graph *g, sked_graph_info *out,
                                                         sked_error *err);

/* ------------------------------------------------------------------ machines */

/* Devices and the links between them (docs/machines.md). Read-only once made: threads may share it. */
typedef struct sked_machine sked_machine;
/* A machine in the making; of one thread at a time. */
typedef struct sked_machine_builder sked_machine_builder;

/* Builds a machine device by device, then link by link. name NULL: unnamed. */
SKED_API SKED_MUST_CHECK sked_status sked_machine_builder_create(const char *name, sked_machine_builder **out,
                                                                 sked_error *err);
SKED_API void sked_machine_builder_destroy(sked_machine_builder *b);
/* type NULL: none. speed > 0: durations are divided by it. memory: >= 0, INFINITY: no limit. Names are
 * unique. */
SKED_API SKED_MUST_CHECK sked_status sked_machine_builder_add_device(sked_machine_builder *b,
                                                                     const char *name, const char *type,
                                                                     double speed, double memory, int32_t *id,
                                                                     sked_error *err);
/*
 * Between devices or device types, by name; a link between two named devices takes precedence over one
 * between types. latency >= 0, bandwidth > 0 or INFINITY. oneway: from -> to only.
 */
SKED_API SKED_MUST_CHECK sked_status sked_machine_builder_add_link(sked_machine_builder *b, const char *from,
                                                                   const char *to, double latency,
                                                                   double bandwidth, bool oneway,
                                                                   sked_error *err);
/* For pairs without a link of their own. Without this they cannot exchange data. */
SKED_API SKED_MUST_CHECK sked_status sked_machine_builder_set_link(sked_machine_builder *b, double latency,
                                                                   double bandwidth, sked_error *err);
/*
 * A measured time of the op of that name on this machine, the profile. on: a device or a type by name, and
 * INFINITY: the op cannot run there. on NULL: it takes the place of the op's duration, which devices divide
 * by their speed; then it is the op's only one. Those of one op come one after another, each name once.
 */
SKED_API SKED_MUST_CHECK sked_status sked_machine_builder_add_duration(sked_machine_builder *b,
                                                                       const char *op, const char *on,
                                                                       double time, sked_error *err);
/*
 * Checks the whole (ends of links, names of durations, twice the same pair) and hands it over; the builder is
 * empty afterwards. One that has failed stays failed and finish repeats the cause.
 */
SKED_API SKED_MUST_CHECK sked_status sked_machine_builder_finish(sked_machine_builder *b, sked_machine **out,
                                                                 sked_error *err);
SKED_API void sked_machine_destroy(sked_machine *m);

/* sked-machine-1; path "-" is standard input. Errors: IO, FORMAT, UNSUPPORTED, MEMORY. */
SKED_API SKED_MUST_CHECK sked_status sked_machine_read(const char *path, sked_machine **out, sked_error *err);
/* The same from memory; `name` stands for the file in messages. */
SKED_API SKED_MUST_CHECK sked_status sked_machine_parse(const char *name, const char *text, size_t size,
                                                        sked_machine **out, sked_error *err);
/* As sked-machine-1, by sked_file_write. */
SKED_API SKED_MUST_CHECK sked_status sked_machine_write(const sked_machine *m, const char *path,
                                                        sked_error *err);

SKED_API const char *sked_machine_name(const sked_machine *m); /* "" when unnamed */
/* Devices are numbered from 0, in the order they were added. */
SKED_API int32_t sked_machine_device_count(const sked_machine *m);
/* Name of a device; it lives as long as the machine. */
SKED_API const char *sked_machine_device_name(const sked_machine *m, int32_t device);
SKED_API const char *sked_machine_device_type(const sked_machine *m, int32_t device); /* NULL: none */
/* Durations are divided by it. */
SKED_API double sked_machine_device_speed(const sked_machine *m, int32_t device);
SKED_API double sked_machine_device_memory(const sked_machine *m, int32_t device);  /* INFINITY: no limit */
SKED_API int32_t sked_machine_find_device(const sked_machine *m, const char *name); /* -1: none. O(1) */
/* The links as they were given, by the names of devices or types; and the one of all other pairs (false:
 * none). */
SKED_API int64_t sked_machine_given_link_count(const sked_machine *m);
/* Link i of these. */
SKED_API void sked_machine_given_link(const sked_machine *m, int64_t i, const char **from, const char **to,
                                      double *latency, double *bandwidth, bool *oneway);
/* The link of all other pairs; false: there is none. */
SKED_API bool sked_machine_default_link(const sked_machine *m, double *latency, double *bandwidth);
/* false: the two cannot exchange data. The same device: true, both free. O(1) */
SKED_API bool sked_machine_link(const sked_machine *m, int32_t from, int32_t to, double *latency,
                                double *bandwidth);

/* The profile as it was given. *on NULL: in place of the op's duration. *time INFINITY: it cannot run there.
 */
SKED_API int64_t sked_machine_duration_count(const sked_machine *m);
/* Entry i of the profile. */
SKED_API void sked_machine_duration(const sked_machine *m, int64_t i, const char **op, const char **on,
                                    double *time);
/*
 * A copy of the graph with the durations of m's profile; lags that follow a duration follow the new one. A
 * time for all devices replaces the op's duration and its finite durations by device; one by device or type
 * replaces what the graph says of those devices. Ops that the profile does not name stay as they are, names
 * that the graph lacks are ignored. For those who look at the graph itself: a problem on m takes the profile
 * into account as it is, with the copy or with the graph. O(ops + edges + durations), expected.
 */
SKED_API SKED_MUST_CHECK sked_status sked_graph_profiled(const sked_graph *g, const sked_machine *m,
                                                         sked_graph **out, sked_error *err);

/* ------------------------------------------------------------------ problems */

#define SKED_OBJECTIVE_LIST(X)                                              \
    X(MAKESPAN, "makespan", "latest finish")                                \
    X(RESOURCE, "resource", "sum over resources of the peak weighted load") \
    X(MEMORY, "memory", "peak memory of live values")                       \
    X(COST, "cost", "resource + alpha * communication")                     \
    X(II, "ii", "initiation interval, then schedule length")                \
    X(ARENA, "arena", "memory that values need at their addresses")

typedef enum sked_objective {
#define SKED_X(name, text, help) SKED_OBJECTIVE_##name,
    SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
} sked_objective;

#define SKED_II_AUTO (-1.0)

/* When a reader lets a value go. */
#define SKED_LIFETIME_LIST(X)                                                                    \
    X(AUTO, "auto",                                                                              \
      "finish with a memory limit, device memory or addresses, result with a clock, else start") \
    X(START, "start", "a value lives until its last reader starts")                              \
    X(FINISH, "finish", "a value lives until its last reader has ended, what a runtime needs")   \
    X(RESULT, "result", "a value lives from when its result is there until its last reader starts: registers")
typedef enum sked_lifetime {
#define SKED_X(name, text, help) SKED_LIFETIME_##name,
    SKED_LIFETIME_LIST(SKED_X)
#undef SKED_X
} sked_lifetime;
/* "auto", "start", ... */
SKED_API const char *sked_lifetime_name(sked_lifetime l);

/* When values enter and leave a problem. */
#define SKED_IO_LIST(X)                  \
    X(FREE, "free", "as the graph says") \
    X(ALIGNED, "aligned", "ops without predecessors start at 0, and values without readers live to the end")
typedef enum sked_io {
#define SKED_X(name, text, help) SKED_IO_##name,
    SKED_IO_LIST(SKED_X)
#undef SKED_X
} sked_io;
/* "free" or "aligned". */
SKED_API const char *sked_io_name(sked_io io);

/* A graph on a machine. Plain data: fill with sked_problem_init, then change what differs. */
typedef struct sked_problem {
    size_t size;
    const sked_graph *graph;
    int32_t devices;        /* 0: no devices; m: m identical ones, one op at a time each */
    double latency;         /* added to the lag of an edge between different devices */
    double bandwidth;       /* bytes per time unit there; INFINITY: free */
    const double *capacity; /* one per resource; NULL: the graph's own */
    double horizon;         /* latest finish allowed; INFINITY: none */
    double ii;              /* initiation interval; 0: not pipelined; SKED_II_AUTO: search for it */
    sked_objective objective;
    double alpha;                /* weight of communication in SKED_OBJECTIVE_COST */
    const int32_t *fix_device;   /* one per op, -1 = free; NULL: none fixed */
    const double *fix_start;     /* one per op, NAN = free; NULL: none fixed */
    const sked_machine *machine; /* NULL: `devices` identical ones. Else devices is 0 or its number of
                                    devices, latency and bandwidth are its own */
    double memory_limit;         /* of all values held at a time, on all devices together; INFINITY: none */
    sked_lifetime lifetime;
    double clock; /* period, in the unit of delays: chained ops share a cycle (docs/hardware.md); 0: none */
    sked_io io;
    int64_t align; /* addresses are multiples of it; preset 1 */
    bool offsets;  /* values held get addresses, and limits of memory hold for arenas (docs/addresses.md);
                      objective arena does it in any case */
} sked_problem;
SKED_API void sked_problem_init_sized(sked_problem *p, size_t size, const sked_graph *g);
static inline void sked_problem_init(sked_problem *p, const sked_graph *g)
{
    sked_problem_init_sized(p, sizeof *p, g);
}
/*
 * Ranges (ARGUMENT) and what can be refuted at once (INFEASIBLE, with the path, recurrence or resource
 * that proves it and the smallest relaxation that would help). O(ops + edges), recurrences O(ops * edges) at
 * worst.
 */
SKED_API SKED_MUST_CHECK sked_status sked_problem_check(const sked_problem *p, sked_error *err);
/* "makespan", "resource", ...: as in SKED_OBJECTIVE_LIST. */
SKED_API const char *sked_objective_name(sked_objective o);
/* Time of an op on a device (without devices: its duration). INFINITY: it cannot run there. */
SKED_API double sked_problem_duration(const sked_problem *p, int32_t op, int32_t device);
/* Time an edge adds between two devices. INFINITY: its data cannot pass. */
SKED_API double sked_problem_transfer(const sked_problem *p, int64_t edge, int32_t from, int32_t to);
/* Name of a device: the machine's, or its number, written into buf. Returns buf. */
SKED_API const char *sked_problem_device_name(const sked_problem *p, int32_t device, char *buf, size_t size);

/* ------------------------------------------------------------------ schedules */

typedef struct sked_schedule {
    int32_t ops;     /* number of ops */
    int32_t devices; /* 0: none, device is then NULL */
    double ii;       /* 0: not pipelined */
    double *start;   /* [ops] */
    int32_t *device; /* [ops] or NULL */
    double *phase;   /* [ops] with a clock: when in its cycle an op begins; or NULL */
    int64_t demands; /* of all ops, where units are given */
    int64_t
        *unit_at;  /* [demands + 1] where the units of each demand begin, by op, then by resource; or NULL */
    int32_t *unit; /* units that ops hold, from 0 within each pool */
    int64_t *register_at; /* [ops + 1] where the registers of each op begin; or NULL */
    int32_t *registers;   /* that hold its value, one after another */
    int64_t *offset;      /* [ops] address of each value where its op runs, -1: it needs no memory there; or
                             NULL: no addresses, and none of those below */
    int64_t copies;       /* of values on other devices */
    int32_t *copy_op;     /* [copies] whose value it is, rising */
    int32_t *copy_device; /* [copies] where, each once for an op */
    int64_t *copy_offset; /* [copies] its address there */
    int64_t *arena;       /* [devices, or 1 without] largest address + size on each */
} sked_schedule;
/* All ops at 0, on device 0; devices 0: without the array device. */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_create(int32_t ops, int32_t devices, sked_schedule **out,
                                                          sked_error *err);
/* A copy that you end with sked_schedule_destroy. */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_clone(const sked_schedule *s, sked_schedule **out,
                                                         sked_error *err);
SKED_API void sked_schedule_destroy(sked_schedule *s);
/*
 * Reads a schedule of p's graph, on p's machine, and checks what the file itself claims (every op once,
 * finish, makespan). Devices are numbers, or names of p's machine.
 * FORMAT: not a schedule file. INVALID: ops missing, twice or unknown, claims that do not hold.
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_read(const char *path, const sked_problem *p,
                                                        sked_schedule **out, sked_error *err);
/* The same from memory; `name` stands for the file in messages. */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_parse(const char *name, const char *text, size_t size,
                                                         const sked_problem *p, sked_schedule **out,
                                                         sked_error *err);

/*
 * Reads fixed decisions (docs/formats/fix.md) for the problem's fix_device and fix_start: one entry per op
 * of p's graph, -1 and NAN where the file leaves it free.
 * Both are the caller's and end with sked_free. FORMAT: malformed, or an op unknown or named twice.
 */
SKED_API SKED_MUST_CHECK sked_status sked_fix_read(const char *path, const sked_problem *p,
                                                   int32_t **fix_device, double **fix_start, sked_error *err);
/* The same from memory; `name` stands for the file in messages. */
SKED_API SKED_MUST_CHECK sked_status sked_fix_parse(const char *name, const char *text, size_t size,
                                                    const sked_problem *p, int32_t **fix_device,
                                                    double **fix_start, sked_error *err);

/* ------------------------------------------------------------------ binding */

typedef struct sked_bind_options {
    size_t size;
    uint64_t seed;
    double time_limit;                 /* seconds; preset 1 */
    int64_t iterations;                /* moves; 0: no limit but time */
    const volatile sig_atomic_t *stop; /* when it becomes non-zero: keep what is found */
} sked_bind_options;
SKED_API void sked_bind_options_init_sized(sked_bind_options *opt, size_t size);
SKED_INIT_INPUT(sked_bind_options)

typedef struct sked_binding {
    size_t size;
    int32_t registers; /* in all */
    int64_t
        sources; /* inputs of multiplexers: distinct sources of each input of a unit and of each register */
    int64_t first_sources; /* before the search */
    int64_t iterations;
    char note[200]; /* pools that could not be bound; "" */
} sked_binding;
SKED_INIT_OUTPUT(sked_binding)
/*
 * Gives each op of a valid schedule the units of every pool that it holds, the same ones in every iteration,
 * and its value the registers that hold it from start + lag to its last reader's start. As many units as the
 * ops need at once, or few more where intervals fold; then moves that lower the number of sources, until a
 * limit. Pools of amounts that are no whole numbers, and those that would need more than their capacity, stay
 * unbound.
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_bind(const sked_problem *p, const sked_bind_options *opt,
                                                        sked_schedule *s, sked_binding *out, sked_error *err);
/* The units of a pool that an op holds: their number, and *units, the schedule's own array. 0: unbound. */
SKED_API int32_t sked_schedule_units(const sked_graph *g, const sked_schedule *s, int32_t op,
                                     int32_t resource, const int32_t **units);
/* The registers of an op's value, in the order in which it passes them; 0: none. */
SKED_API int32_t sked_schedule_op_registers(const sked_schedule *s, int32_t op, const int32_t **registers);

/* ------------------------------------------------------------------ options */

/* Of methods and generators: one table line gives name, type, range, default and help. */
typedef enum sked_option_kind {
    SKED_OPTION_INT,
    SKED_OPTION_REAL,
    SKED_OPTION_BOOL,
    SKED_OPTION_ENUM,
    SKED_OPTION_TEXT
} sked_option_kind;

typedef struct sked_option {
    const char *name;
    sked_option_kind kind;
    const char *preset;  /* default, as it would be typed */
    double min, max;     /* INT and REAL */
    const char *choices; /* ENUM: "a|b|c" */
    const char *help;
} sked_option;

/* ------------------------------------------------------------------ methods: running one */

/* What a method can take. A problem that needs a missing one is refused as UNSUPPORTED. */
#define SKED_FEATURE_LIST(X)                                     \
    X(DEVICES, 0, "devices")                                     \
    X(TRANSFERS, 1, "transfer cost between devices")             \
    X(RESOURCES, 2, "resource pools")                            \
    X(LOOPS, 3, "loop-carried edges and an initiation interval") \
    X(HORIZON, 4, "a latest finish")                             \
    X(START, 5, "a schedule to start from")                      \
    X(FIX, 6, "fixed starts and devices")                        \
    X(CANDIDATES, 7, "several different schedules")              \
    X(ANYTIME, 8, "improves until the time limit")               \
    X(EXACT, 9, "proves optimality")                             \
    X(MACHINES, 11, "heterogeneous devices and links")           \
    X(LIMITS, 12, "memory limits")                               \
    X(CUDA, 13, "the cuda backend")                              \
    X(MAKESPAN, 16, "objective makespan")                        \
    X(RESOURCE, 17, "objective resource")                        \
    X(MEMORY, 18, "objective memory")                            \
    X(COST, 19, "objective cost")                                \
    X(II, 20, "objective ii")
enum {
#define SKED_X(name, bit, text) SKED_CAN_##name = 1 << (bit),
    SKED_FEATURE_LIST(SKED_X)
#undef SKED_X
};

typedef struct sked_method_info {
    const char *name, *summary;
    uint32_t features; /* SKED_CAN_* */
    const sked_option *options;
    int n_options;
} sked_method_info;
SKED_API int sked_method_count(void);
SKED_API const sked_method_info *sked_method_at(int i);
SKED_API const sked_method_info *sked_method_find(const char *name);

/* value: of the incumbent (NAN: none yet). bound: best proven. share: 0..1 of the limit used, NAN unknown. */
typedef void (*sked_progress_fn)(void *data, const char *phase, double share, double value, double bound);
/* A schedule of the problem as asked that is better than all before it, judged, and its value. It ends with
 * the call. */
typedef void (*sked_incumbent_fn)(void *data, const sked_schedule *s, double value);

typedef struct sked_run_options {
    size_t size;
    uint64_t seed;
    int threads;                 /* 1 to 1024 */
    double time_limit;           /* seconds; INFINITY: none */
    int64_t iterations;          /* method's own unit; 0: no limit but time */
    const char *const *settings; /* "key=value", options of the method */
    int n_settings;
    const sked_schedule *start;        /* warm start or NULL */
    int32_t candidates;                /* schedules to produce, up to a million; 0 or 1: one */
    int32_t top;                       /* of these, keep the best and sufficiently different; 0: all */
    double min_distance;               /* smallest GED in percent between two kept ones; 0: merely distinct */
    const volatile sig_atomic_t *stop; /* when it becomes non-zero: return the incumbent */
    sked_progress_fn progress;
    void *progress_data;
    const char *backend; /* "cpu", "cuda" (SKED_CAN_CUDA) or "auto": a GPU where there is one and it is
                            quicker. NULL: auto */
    bool together;       /* every rank makes this call: incumbents are exchanged (sked_dist_best ends it) */
    sked_incumbent_fn incumbent; /* every new incumbent of this rank, as it comes; may be NULL */
    void *incumbent_data;
} sked_run_options;
SKED_API void sked_run_options_init_sized(sked_run_options *opt, size_t size);
SKED_INIT_INPUT(sked_run_options)

/*
 * What ran inside a run: a method, or one technique of it. Beside them "lower" and "realise": the steps taken
 * from the problem as asked to the one that methods solve, and what judges and measures every schedule
 * offered.
 */
typedef struct sked_statistic {
    const char *method;
    const char *technique; /* "": the method as a whole, members inside it included */
    int64_t calls;
    double seconds;
    int64_t evaluations;
    int64_t offers, improvements; /* schedules offered; those that became the incumbent. Methods only */
    double gain;                  /* by how much it lowered the objective, its first schedule aside */
} sked_statistic;

/* Value over time: a new incumbent, or a better bound. Each point holds both as they were then. */
typedef struct sked_curve_point {
    double seconds;      /* since the run began */
    int64_t evaluations; /* until then; those of other threads are counted when their work is taken over */
    double value;        /* of the incumbent; INFINITY: none yet */
    double bound;        /* proven by then */
    double ii;           /* interval of the incumbent, 0: not pipelined. A smaller one comes before a value */
    char method[32];     /* that found it (auto: the member) */
} sked_curve_point;

typedef struct sked_result {
    size_t size;
    char method[64];          /* the method that made the best schedule (auto: the member) */
    sked_schedule **schedule; /* best first, all valid, all different */
    int32_t count;
    double value, lower_bound; /* of the objective, at the interval found */
    bool optimal;              /* value meets the bound, or the search space was exhausted */
    int64_t evaluations;       /* complete schedules built or evaluated */
    double seconds;            /* whole run: bounds, method, validation */
    double build_seconds;      /* the method alone, without judging what it offered */
    char note[200];            /* what a user may want to know; "" */
    int32_t n_statistics;
    sked_statistic **statistics; /* [n_statistics] what ran, how often, how long, what it gained */
    int32_t n_curve;
    sked_curve_point **curve; /* [n_curve] value over time, first point first */
} sked_result;
SKED_INIT_OUTPUT(sked_result)
/*
 * Runs a method. Every schedule in the result has passed sked_schedule_validate. opt may be NULL.
 * INFEASIBLE: proven, or (message says so) none found. STOPPED: limit or signal before a first schedule.
 */
SKED_API SKED_MUST_CHECK sked_status sked_method_run(const char *method, const sked_problem *p,
                                                     const sked_run_options *opt, sked_result *out,
                                                     sked_error *err);
SKED_API void sked_result_clear(sked_result *r);
/*
 * Writes the curve, one JSON object a line: seconds, evaluations, value and bound (null: none), ii where
 * pipelined, method (docs/reports.md). Written as by sked_file_write.
 */
SKED_API SKED_MUST_CHECK sked_status sked_curve_write(const sked_result *r, const char *path,
                                                      sked_error *err);

/* ------------------------------------------------------------------ methods of your own */

/* What a method sees of the run that it is part of; it ends with the call. */
typedef struct sked_run sked_run;
/* Offers schedules until sked_run_over says so, or it has no more. What fails ends the run with it. */
typedef sked_status (*sked_method_fn)(void *data, sked_run *run, sked_error *err);

typedef struct sked_method {
    size_t size;
    const char *name;           /* 1 to 31 of a-z, 0-9 and '-', that no other method has */
    const char *summary;        /* one line */
    uint32_t features;          /* SKED_CAN_*: problems that need others are refused before run is called */
    const sked_option *options; /* up to 64, none of them a text; NULL: none */
    int n_options;
    sked_method_fn run;
    void *data; /* for run */
} sked_method;
SKED_INIT_OUTPUT(sked_method)
/*
 * From now on the method is one of sked_method_at, and sked_method_run and sked_sweep run it by its name, on
 * the thread that calls them. `auto` does not. Up to 64, for as long as the process lives: so must live what
 * m points to. Any thread may register. ARGUMENT: what the fields above do not allow. examples/own_method.c
 */
SKED_API SKED_MUST_CHECK sked_status sked_method_register(const sked_method *m, sked_error *err);
/*
 * The problem as methods solve it: that of the caller, but some rules have become others that say the same (a
 * clock has become edges, a machine of equal devices a number). Schedules offered become schedules of the
 * caller's problem again.
 */
SKED_API const sked_problem *sked_run_problem(const sked_run *run);
/* What the caller asked for: seed, threads, iterations, a start, ... */
SKED_API const sked_run_options *sked_run_options_of(const sked_run *run);
/* Option i of the method: the number; of ENUM that of the choice, from 0; of BOOL 0 or 1. */
SKED_API double sked_run_setting(const sked_run *run, int i);
/* Time, a stop, or an incumbent that meets the bound: return. */
SKED_API bool sked_run_over(const sked_run *run);
/* The best schedule so far, of sked_run_problem; NULL before the first. It stays until the next offer. */
SKED_API const sked_schedule *sked_run_incumbent(const sked_run *run);
/* A schedule of sked_run_problem, copied, judged and ranked. INVALID with the first rule that it breaks. */
SKED_API SKED_MUST_CHECK sked_status sked_run_offer(sked_run *run, const sked_schedule *s, sked_error *err);
/* Complete schedules built or evaluated since the last call, for sked_result. */
SKED_API void sked_run_evaluated(sked_run *run, int64_t count);

/* ------------------------------------------------------------------ checking and measuring schedules */

/*
 * The independent judge, written from the definition alone. OK, or INVALID with the first broken rule
 * (op names, times, amounts). Exact where all numbers are integers, else to 1e-9 of the time scale.
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_validate(const sked_problem *p, const sked_schedule *s,
                                                            sked_error *err);

/*
 * With a clock: when in its cycle each op of a valid schedule begins, phase[ops]. A result has them already.
 * ARGUMENT without a clock. O(ops + edges) where no chain leads through a loop-carried edge.
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_phases(const sked_problem *p, const sked_schedule *s,
                                                          double *phase, sked_error *err);

typedef struct sked_metrics {
    size_t size;
    double makespan;      /* latest finish */
    double speedup;       /* work on the best single device / makespan; 1 for an empty schedule */
    double idle;          /* share of device time without work before the makespan; 0 without devices */
    double resource;      /* sum over resources of the peak weighted load; no demands: one pool, demand 1 */
    double peak_memory;   /* of values held at a time, copies on other devices included (docs/metrics.md) */
    double communication; /* steps spanned by edges with bytes > 0 */
    double transfer;      /* time added by edges between devices */
    double value;         /* of p's objective; arena: INFINITY without addresses */
    double arena;         /* sum of the devices' arenas; 0 without addresses */
} sked_metrics;
SKED_INIT_OUTPUT(sked_metrics)
/*
 * O((ops + edges) log ops). Here and below a schedule need not be valid, but one of p's graph with a start
 * and one of p's devices for each op: else INVALID.
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_measure(const sked_problem *p, const sked_schedule *s,
                                                           sked_metrics *out, sked_error *err);
/* Peak memory of values on each device, copies included: peak[devices]. O((ops + edges) log ops). */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_device_memory(const sked_problem *p,
                                                                 const sked_schedule *s, double *peak,
                                                                 sked_error *err);
/*
 * The most of each resource that ops hold at a time, folded modulo II: peak[resources]. O((ops + demands) log
 * ops + edges).
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_resource_peaks(const sked_problem *p,
                                                                  const sked_schedule *s, double *peak,
                                                                  sked_error *err);
/*
 * The registers of a schedule of whole cycles: (*bits)[k] is what values hold from cycle k to k + 1, all
 * iterations apart; *count reaches up to the last cycle that any is held over. At interval 1 their sum is the
 * peak memory. The array ends with sked_free. UNSUPPORTED: starts that are not whole, or a million cycles and
 * more. O(ops + edges + cycles).
 */
SKED_API SKED_MUST_CHECK sked_status sked_schedule_registers(const sked_problem *p, const sked_schedule *s,
                                                             double **bits, int32_t *count, sked_error *err);
/*
 * Lower bound of p's objective over all valid schedules (critical path, area with heads and tails per
 * resource and device set, ResMII/RecMII). `why` (may be NULL) gets the name of the bound that decides.
 */
SKED_API SKED_MUST_CHECK sked_status sked_problem_bound(const sked_problem *p, double *bound,
                                                        const char **why, sked_error *err);
/* Mean over pairs of schedules: GED in percent, d_inv, d_sen (docs/metrics.md). O(k^2 ops). */
typedef struct sked_diversity {
    size_t size;
    double ged, d_inv, d_sen;
} sked_diversity;
SKED_INIT_OUTPUT(sked_diversity)
/* Of `count` schedules of p. */
SKED_API SKED_MUST_CHECK sked_status sked_schedules_diversity(const sked_problem *p,
                                                              const sked_schedule *const *s, int32_t count,
                                                              sked_diversity *out, sked_error *err);

/* ------------------------------------------------------------------ reports */

typedef struct sked_report_info {
    const char *name;      /* "svg" */
    const char *extension; /* ".svg"; the longest match decides (".trace.json" before ".json") */
    const char *summary;
} sked_report_info;
SKED_API int sked_report_count(void);
SKED_API const sked_report_info *sked_report_at(int i);

/* What a report says beside the schedule itself. */
typedef struct sked_report_data {
    size_t size;
    const sked_problem *problem;
    const sked_schedule *schedule;
    const char *method;
    double lower_bound; /* NAN: unknown */
    bool optimal;
    double seconds;
    uint64_t seed;
    const struct sked_robust_result *robust; /* what the schedule is the winner of, or NULL */
    const struct sked_sweep_result *sweep; /* the curve whose knee the schedule is, or NULL; HTML shows it */
    sked_curve_point *const *curve; /* [n_curve] of the run that found the schedule (sked_result), or NULL */
    int32_t n_curve;
    bool validated;     /* the schedule is as a result, a report before or sked_schedule_validate left it */
    const char *source; /* the file that the graph was read from, or NULL: a model is written back from it */
    double *arena; /* [2], or NULL: filled by a model with addresses, bytes in the order written and in the
                      file's */
} sked_report_data;
SKED_API void sked_report_data_init_sized(sked_report_data *data, size_t size);
SKED_INIT_INPUT(sked_report_data)
/* Validates first, unless data says that it was; writes under a temporary name and renames. path "-" with
 * format: stdout. */
SKED_API SKED_MUST_CHECK sked_status sked_report_write(const sked_report_data *data, const char *path,
                                                       const char *format, sked_error *err);

/*
 * One picture of several schedules, one under the other on one time axis, each named by its `method`; path
 * ends in .svg. As sked_report_write. count: 1 to 100.
 */
SKED_API SKED_MUST_CHECK sked_status sked_report_write_all(const sked_report_data *const *data, int32_t count,
                                                           const char *path, sked_error *err);

/* Writes several schedules, one JSON object a line (.jsonl), all validated first. */
SKED_API SKED_MUST_CHECK sked_status sked_schedules_write(const sked_problem *p,
                                                          const sked_schedule *const *s, int32_t count,
                                                          const char *path, sked_error *err);

/*
 * Writes a file as the library writes all of its files: to a temporary file in the same folder, then renamed,
 * so that the file is there complete or as it was. The mode of an existing file stays, as does a symbolic
 * link at path: what it points to is replaced. Pipes and devices are written in place; "-" is standard
 * output. Models and schedules are synced to disk as well.
 */
SKED_API SKED_MUST_CHECK sked_status sked_file_write(const char *path, const void *data, size_t size,
                                                     sked_error *err);
/* Whether path could be written now; changes nothing. IO where not. */
SKED_API SKED_MUST_CHECK sked_status sked_file_check(const char *path, sked_error *err);
/*
 * Whether two paths name one regular file, through links of either kind; where neither is there yet, whether
 * they are one name in one folder. False where either is a stream or a folder, or cannot be looked at; "-" is
 * a name like any other.
 */
SKED_API bool sked_file_same(const char *a, const char *b);

/* ------------------------------------------------------------------ sweeps */

/* Parameter, its name, what it trades against the objective. */
#define SKED_SWEEP_LIST(X)                          \
    X(HORIZON, "horizon", "makespan")               \
    X(II, "ii", "ii")                               \
    X(ALPHA, "alpha", "communication")              \
    X(MEMORY_LIMIT, "memory-limit", "memory-limit") \
    X(CLOCK, "clock", "clock")                      \
    X(CAPACITY, "capacity", "capacity")
typedef enum sked_sweep_parameter {
#define SKED_X(name, text, axis) SKED_SWEEP_##name,
    SKED_SWEEP_LIST(SKED_X)
#undef SKED_X
} sked_sweep_parameter;
/*
 * Sets the parameter in a problem: with a point's `at` the problem that its schedule solves. A capacity is
 * the caller's to set: this leaves it alone.
 */
SKED_API void sked_sweep_apply(sked_sweep_parameter parameter, double at, sked_problem *p);

typedef struct sked_sweep_options {
    size_t size;
    sked_sweep_parameter parameter;
    const double *values; /* each >= 0; a schedule is the warm start of the next value's, except for ii */
    int32_t n_values;
    const char *resource; /* whose capacity is swept; NULL for other parameters */
} sked_sweep_options;
SKED_API void sked_sweep_options_init_sized(sked_sweep_options *opt, size_t size);
SKED_INIT_INPUT(sked_sweep_options)

typedef struct sked_sweep_point {
    double at;               /* the parameter */
    bool found;              /* false: no schedule, and reason says why */
    bool pareto;             /* no other point is better on one side and as good on the other */
    double x, y;             /* the two sides of the trade-off, less is better */
    sked_schedule *schedule; /* of points on the Pareto front, else NULL */
    char method[64];         /* that made it */
    double value, lower_bound;
    bool optimal;
    double makespan, peak_memory, resource, communication;
    double ii; /* 0: not pipelined */
    double seconds;
    char reason[200];
} sked_sweep_point;

typedef struct sked_sweep_result {
    size_t size;
    const char *parameter, *x, *y; /* names; the library's, of a capacity the graph's */
    sked_sweep_point **point;      /* [count] in the order of the values; fewer after a stop */
    int32_t count;
    int32_t knee; /* the point nearest to the best of both sides at once; -1: no point has a schedule */
} sked_sweep_result;
SKED_INIT_OUTPUT(sked_sweep_result)
SKED_API void sked_sweep_result_clear(sked_sweep_result *r);

/*
 * Runs a method on one problem at several values of a parameter. run: as for sked_method_run, for each value;
 * may be NULL; candidates are not for sweeps (ARGUMENT). A value without a schedule is a result
 * too; any other failure ends the sweep.
 */
SKED_API SKED_MUST_CHECK sked_status sked_sweep(const char *method, const sked_problem *p,
                                                const sked_sweep_options *opt, const sked_run_options *run,
                                                sked_sweep_result *out, sked_error *err);

/* ------------------------------------------------------------------ static buffer allocation */

/*
 * Buffers with known lifetimes, for which offsets are sought so that no two that are held at the same time
 * overlap (docs/pack.md). As columns of a program's own, or of a file.
 */
typedef struct sked_buffer_columns {
    size_t size;
    int64_t count;               /* up to 2^31 - 1 */
    const double *lower, *upper; /* [count] held in [lower, upper): finite, lower < upper */
    const int64_t *bytes;        /* [count] 0 or more */
    const int64_t *alignment;    /* [count] 1 or more; the offset is a multiple of it. NULL: 1 */
    const int64_t *offset;       /* [count] where it must lie, a multiple of the alignment; -1: it is free.
                                    NULL: all are */
    const char *const *name;     /* [count] for messages and files; NULL: the index is the name */
} sked_buffer_columns;
SKED_INIT_OUTPUT(sked_buffer_columns)

/* A table of buffers that was read; read-only, so any thread may use it. */
typedef struct sked_buffers sked_buffers;
/* Reads a CSV file of buffers; path "-" is standard input. Errors: IO, FORMAT, MEMORY. */
SKED_API SKED_MUST_CHECK sked_status sked_buffers_read(const char *path, sked_buffers **out, sked_error *err);
/* The same from memory; `name` stands for the file in messages. */
SKED_API SKED_MUST_CHECK sked_status sked_buffers_parse(const char *name, const char *text, size_t size,
                                                        sked_buffers **out, sked_error *err);
SKED_API void sked_buffers_destroy(sked_buffers *b);
/* Its own arrays, which live as long as it does; alignment and offset are NULL where the file has no such
 * column. O(1). */
SKED_API SKED_MUST_CHECK sked_status sked_buffers_columns(const sked_buffers *b, sked_buffer_columns *out,
                                                          sked_error *err);

typedef struct sked_pack_options {
    size_t size;
    int64_t capacity; /* most height: ends with the first packing within it. -1: the least height is sought */
    int64_t align;    /* offsets are multiples of this as well; preset 1 */
    double time_limit; /* seconds, preset 5; INFINITY: none */
    uint64_t seed;
    int threads;                       /* 1 to 1024, preset 1 */
    int64_t iterations;                /* searches of each thread; 0: no limit but time */
    const volatile sig_atomic_t *stop; /* when it becomes non-zero: return the incumbent */
} sked_pack_options;
SKED_API void sked_pack_options_init_sized(sked_pack_options *opt, size_t size);
SKED_INIT_INPUT(sked_pack_options)

typedef struct sked_packing {
    size_t size;
    int64_t count;
    int64_t *offset;     /* [count] */
    int64_t height;      /* largest offset + bytes */
    int64_t lower_bound; /* proven: no packing is lower */
    bool optimal;        /* height and bound are equal */
    double seconds;
} sked_packing;
SKED_INIT_OUTPUT(sked_packing)

/*
 * Finds a packing, judged by sked_packing_validate before it is handed over. opt may be NULL. A first packing
 * is made whatever the limits are. ARGUMENT: numbers out of range, or sizes, alignments and fixed offsets
 * that add up to 2^53 or more. INFEASIBLE: fixed buffers overlap, or none is within the capacity; the message
 * says whether that is proven. The same seed, threads and iterations give the same offsets unless time runs
 * out.
 */
SKED_API SKED_MUST_CHECK sked_status sked_pack(const sked_buffer_columns *b, const sked_pack_options *opt,
                                               sked_packing *out, sked_error *err);
SKED_API void sked_packing_clear(sked_packing *p);
/* The independent judge of offset[count]: OK and the height (NULL: not wanted), or INVALID with the first
 * broken rule. O(count log count). */
SKED_API SKED_MUST_CHECK sked_status sked_packing_validate(const sked_buffer_columns *b,
                                                           const int64_t *offset, int64_t *height,
                                                           sked_error *err);
/*
 * Writes a valid packing: as CSV, the columns of sked_buffers_read with the offsets found, or as a picture
 * (.svg), time across and addresses up. "-" is standard output, CSV. Written as by sked_file_write.
 */
SKED_API SKED_MUST_CHECK sked_status sked_packing_write(const sked_buffer_columns *b, const sked_packing *p,
                                                        const char *path, sked_error *err);

/* ------------------------------------------------------------------ targets */

typedef struct sked_target_info {
    const char *name, *summary;
    const sked_option *options; /* "name:key=value,key=value" in a spec */
    int n_options;
} sked_target_info;
SKED_API int sked_target_count(void);
SKED_API const sked_target_info *sked_target_at(int i);
/* Options of every target beside its own (repeat, warm-up, trace); any part of a spec may set them. */
SKED_API int sked_target_option_count(void);
SKED_API const sked_option *sked_target_option_at(int i);

/*
 * A target made ready for one problem with devices. spec: names with options joined by '+', which apply in
 * that order ("noisy:model=type,strength=0.3+linear+jitter:repeat=5"); or one that runs schedules, alone:
 * "threads:unit=1e-6", "simgrid,unit=1e-6:PLATFORM.xml", "command,timeout=5:PROGRAM ARGS". The schedule's
 * devices and the order on each are kept; times are the target's own. The k-th measurement of a seed is the
 * same each time, but for threads and command.
 */
typedef struct sked_target sked_target;
/* p is checked (sked_problem_check) and copied, the graph and arrays it points to are not. seed: of noise and
 * jitter. UNSUPPORTED: all ops together take less than 1e-100, but more than 0. */
SKED_API SKED_MUST_CHECK sked_status sked_target_create(const char *spec, const sked_problem *p,
                                                        uint64_t seed, sked_target **out, sked_error *err);
/*
 * The same for what must be able to end: where *stop becomes non-zero, making the target and measuring end at
 * once, STOPPED, with all processes that they have begun. stop must stay; NULL: none.
 */
SKED_API SKED_MUST_CHECK sked_status sked_target_create_stoppable(const char *spec, const sked_problem *p,
                                                                  uint64_t seed,
                                                                  const volatile sig_atomic_t *stop,
                                                                  sked_target **out, sked_error *err);
/* Does it measure pipelines against a clock (ice40)? Then p has a clock, --ii 1 and no devices. */
SKED_API bool sked_target_takes_pipelines(const char *spec);
/* What a target said of one schedule. */
typedef struct sked_measurement {
    size_t size;
    double time;      /* median of the runs */
    double deviation; /* standard deviation of one run; 0 where there was one */
    int32_t runs;     /* warm-up not counted */
    double *start;    /* [ops] trace of the run nearest to the median; NULL: the target gives none */
    double *finish;   /* [ops] likewise */
    int32_t *device;  /* [ops] where each op ran, likewise */
} sked_measurement;
SKED_INIT_OUTPUT(sked_measurement)
SKED_API void sked_measurement_clear(sked_measurement *m);
/*
 * Runs the schedule on the target. DEVICE: the run fails, or its time is not from 1e-100 to 1e100 (where ops
 * take any), or its trace cannot be; command: the program fails, is too slow or prints none of these, after
 * its retries. INVALID: the schedule's orders on the devices contradict the graph. Others can still be
 * measured.
 */
SKED_API SKED_MUST_CHECK sked_status sked_target_measure(sked_target *t, const sked_schedule *s,
                                                         sked_measurement *out, sked_error *err);
/*
 * The problem that a simulated target runs (jitter left out), for those who compare with what could be known;
 * NULL where no problem says all of it (contention, cache, and what runs schedules). It lives as long as the
 * target.
 */
SKED_API const sked_problem *sked_target_truth(const sked_target *t);
/*
 * What it runs where, in which unit its times are, and which devices it has no counterpart for: a few
 * sentences, one a line. It lives as long as the target.
 */
SKED_API const char *sked_target_about(const sked_target *t);
/* Time of all ops on the best single device of the target: work / time is the speedup there. */
SKED_API double sked_target_work(const sked_target *t);
SKED_API void sked_target_destroy(sked_target *t);

/* ------------------------------------------------------------------ robust scheduling */

/*
 * Runs a schedule and sets *time: above 0, or 0 where no op takes time. start and finish, [ops] each, come
 * filled with NAN; who fills both gives a trace, with 0 <= start <= finish. DEVICE with a message in err:
 * this schedule cannot be measured, others can. Any other failure ends the call with it. The message is
 * escaped (sked_escape) before anyone sees it.
 */
typedef sked_status (*sked_measure_fn)(void *data, const sked_schedule *s, double *time, double *start,
                                       double *finish, sked_error *err);

typedef struct sked_robust_options {
    size_t size;
    bool one_shot;               /* false: the loop that learns the machine while it measures */
    int32_t measurements;        /* the loop's budget, failed ones counted; preset 30 */
    const char *prior;           /* file (docs/formats/prior.md); NULL: wide, relative to the graph */
    const char *resume;          /* measurements of an earlier run that count as made; NULL: none */
    const char *log;             /* measurements are written there as they come; NULL: nowhere */
    const char *method;          /* one-shot: the only member; NULL: every method that gives candidates */
    const char *model;           /* of gflownet; NULL: the one that comes with sked */
    const char *const *settings; /* "key=value" for every member */
    int n_settings;
    int32_t candidates;  /* one-shot: schedules that a member produces; preset 1000 */
    int32_t top;         /* one-shot: of these, the best on the proxy go to the target; preset 100 */
    double min_distance; /* smallest GED in percent between two of them; 0: merely distinct */
    bool local;          /* one-shot stage: devices reassigned so that data stays near; preset true */
    int64_t improve;     /* one-shot stage: rounds of local search on each candidate; preset 0 */
    double time_limit;   /* seconds of scheduling in all, measuring not counted; preset 10 */
    int64_t iterations;  /* of each member's run, in its own unit; 0: no limit but time */
    uint64_t seed;
    int threads;
    const volatile sig_atomic_t *stop; /* when it becomes non-zero: the winner among what was measured */
    sked_progress_fn progress;
    void *progress_data;
    sked_warning_fn warning; /* a candidate was not measured, and why; may be NULL */
    void *warning_data;
    const char *backend; /* of the members that can, as in sked_run_options */
    bool together;       /* every rank makes this call: rank 0 schedules, all measure where the target may run
                            at several places at once; the others get no result */
    sked_measure_fn measure; /* measures, on the thread that made the call; `target` is then no spec but its
                                name in the result. NULL: the target does */
    void *measure_data;
    const sked_schedule *const *given; /* one-shot: candidates made before, valid ones of the problem, in
                                          place of those that `method` would make; NULL: it makes them */
    int32_t n_given;
    sked_warning_fn note; /* at the start: what the target runs where; may be NULL */
    void *note_data;
} sked_robust_options;
SKED_API void sked_robust_options_init_sized(sked_robust_options *opt, size_t size);
SKED_INIT_INPUT(sked_robust_options)

/* What one member reached. */
typedef struct sked_robust_member {
    char label[64];           /* "random list": the method and how it was set */
    int32_t asked;            /* candidates it was asked for; 1: it takes part for comparison */
    int32_t count;            /* of those, kept by the proxy */
    sked_schedule **schedule; /* [count] best on the proxy first, all valid */
    double *proxy;            /* [count] speedups there */
    double *target;           /* [count] speedups there; NAN: not measured */
    int32_t best;             /* the best of them on the target, noise considered; -1: none was measured */
    double time;              /* of that on the target; INFINITY: none was measured */
    int32_t failures;         /* candidates that the target could not measure */
    double lower_bound;       /* of the makespan on the proxy */
    double ged, d_inv, d_sen; /* diversity of the kept ones */
    double seconds;           /* search and measuring */
} sked_robust_member;

/* One measurement, in the order they were made. */
typedef struct sked_robust_measurement {
    int32_t member, candidate; /* member[member]->schedule[candidate] was measured */
    double time;               /* median of its runs; NAN: it failed */
    double deviation;          /* of one run; 0: one run */
    double expected;           /* time that the model expected before it; NAN in one-shot */
    double fitted;             /* time that the fitted model gives in the end; NAN in one-shot */
    double best;               /* speedup on the target of the best so far; NAN: none yet */
    bool again;                /* a contender measured once more */
    bool resumed;              /* made by the earlier run */
} sked_robust_measurement;

/* A parameter of the cost model, before and after measuring. */
typedef struct sked_robust_parameter {
    char name[64]; /* "latency", "bandwidth", "start-up", "type Conv", "device gpu", ...; of two
                      alike, or a longer one, cut and with a number: "type Con...#17" */
    double prior[5], posterior[5]; /* quantiles: 5, 25, 50, 75, 95 percent */
    double mean, spread;           /* of the posterior; spread: standard deviation */
} sked_robust_parameter;

/* Why the loop ended. */
typedef enum sked_robust_end {
    SKED_ROBUST_BUDGET,  /* all measurements were made; one-shot: every candidate */
    SKED_ROBUST_TIME,    /* the time limit */
    SKED_ROBUST_SETTLED, /* no guess promises a better schedule */
    SKED_ROBUST_STOPPED  /* a stop was asked for */
} sked_robust_end;

typedef struct sked_robust_result {
    size_t size;
    char *target;                /* its spec */
    sked_robust_member **member; /* [count] in the order they ran */
    int32_t count;
    int32_t winner; /* the member with the best candidate of all: member[winner]->schedule[its best] */
    bool one_shot;
    sked_robust_end end;
    int32_t failures;                     /* measurements that failed; they cost budget */
    sked_robust_measurement *measurement; /* [measurements] */
    int32_t measurements;
    sked_robust_parameter *parameter; /* [parameters] of the fitted model; none in one-shot */
    int32_t parameters;
    sked_machine *machine; /* the fitted machine with its profile of durations, one that methods take; NULL in
                              one-shot */
    double noise;          /* estimated relative deviation of one measurement; NAN in one-shot */
    double seconds;        /* in all */
} sked_robust_result;
SKED_INIT_OUTPUT(sked_robust_result)
SKED_API void sked_robust_result_clear(sked_robust_result *r);

/*
 * The loop (docs/robust.md) keeps guesses of the machine; in each round members make schedules for guesses,
 * the one that promises most is measured, and the guesses learn from it. one_shot: members gather
 * candidates, the proxy keeps the best of them, the target measures those. The best on the target
 * wins. p: devices, objective makespan. target: a spec as sked_target_create takes it. A candidate that the
 * target cannot measure is left out with a warning. DEVICE: it measured none. STOPPED: the same after a stop.
 * Same seed: the same result where the target repeats itself and iterations, not time, end the members.
 */
SKED_API SKED_MUST_CHECK sked_status sked_robust(const sked_problem *p, const char *target,
                                                 const sked_robust_options *opt, sked_robust_result *out,
                                                 sked_error *err);

/* ------------------------------------------------------------------ pipelines on a real target */

/* One pipeline that was measured. */
typedef struct sked_pipeline_trial {
    sked_schedule *schedule;
    double value;    /* of the objective: registers, or the latency */
    double expected; /* critical path that the model expected before the run */
    double time;     /* the one that was measured; NAN: the run failed */
} sked_pipeline_trial;

typedef struct sked_pipeline_result {
    size_t size;
    char *target;               /* its spec */
    sked_pipeline_trial *trial; /* [trials] in the order they were made */
    int32_t trials, failures;
    int32_t winner; /* the least value that meets the clock; where none does, the shortest critical path */
    bool met;       /* it meets the clock */
    double *stage;  /* [stages] delay of each stage of the winner, as measured */
    int32_t stages;
    uint8_t *critical; /* [ops] 1: on the critical path of the winner, as measured */
    sked_graph *graph; /* with the delays that were fitted */
    double clock;      /* the longest chain of the winner under these: so it is valid with this clock */
    double overhead;   /* what a stage takes beside its ops, fitted; overhead + clock: the path expected */
    sked_robust_parameter
        *parameter; /* [parameters] "overhead", "fan-out", "mul 16", ...; mean and prior[2] only */
    int32_t parameters;
    sked_robust_end end;
    double seconds;
} sked_pipeline_result;
SKED_INIT_OUTPUT(sked_pipeline_result)
SKED_API void sked_pipeline_result_clear(sked_pipeline_result *r);
/*
 * The loop for pipelines (docs/hardware.md): the least registers (objective memory) or the least latency
 * (makespan) whose critical path on the target meets p->clock. It schedules with delays that it learns from
 * what it measures. p: a clock, an interval of 1, no devices; the target takes pipelines. Of opt count
 * measurements, time_limit, iterations, seed, threads, stop, progress and warning; learn false: the
 * library's delays times a factor that is found by measuring. DEVICE: nothing could be measured. INFEASIBLE:
 * no schedule has the horizon.
 */
SKED_API SKED_MUST_CHECK sked_status sked_robust_pipeline(const sked_problem *p, const char *target,
                                                          const sked_robust_options *opt, bool learn,
                                                          sked_pipeline_result *out, sked_error *err);

/* ------------------------------------------------------------------ learned models: sampling and training */

/*
 * A policy that samples schedules (docs/methods/gflownet.md). Read-only once made: threads may share it.
 */
typedef struct sked_sampler sked_sampler;
/* path NULL: the model that comes with sked. IO, FORMAT (not a model of ours, or damaged). */
SKED_API SKED_MUST_CHECK sked_status sked_sampler_read(const char *path, sked_sampler **out, sked_error *err);
/* Written under a temporary name and renamed. optimiser: with what training needs to go on. */
SKED_API SKED_MUST_CHECK sked_status sked_sampler_write(const sked_sampler *m, const char *path,
                                                        bool optimiser, sked_error *err);
SKED_API void sked_sampler_destroy(sked_sampler *m);
/* Weights of the network. */
SKED_API int64_t sked_sampler_parameter_count(const sked_sampler *m);
SKED_API int64_t sked_sampler_steps(const sked_sampler *m); /* updates it has seen */

typedef struct sked_sample_options {
    size_t size;
    int32_t count;      /* draws */
    double temperature; /* small is greedy, large is diverse; 0: several that follow the problem's size */
    bool raw;           /* every draw in the order it was made; false: best first and without repeats */
    bool greedy;        /* one schedule, the likeliest action at every step */
    bool local;      /* devices reassigned for the starts drawn, so that data stays near, and those of about
                        one makespan ranked by what transfers would cost them. Not with raw */
    int64_t improve; /* rounds of local search on each schedule drawn, and local; 0: none. Not with raw */
    uint64_t seed;
    int threads;
    double time_limit;                 /* seconds of drawing, heard inside a draw; INFINITY: none */
    const volatile sig_atomic_t *stop; /* when it becomes non-zero: what was drawn until then */
    sked_progress_fn progress;         /* may be NULL */
    void *progress_data;
    bool prior; /* draw for machines with transfers of up to 4 mean durations too: candidates for a target
                   whose transfers are not known. Equal devices without transfer cost */
    const char *backend; /* as in sked_run_options */
    bool together;       /* every rank makes this call: draws are split, rank 0 gets them all; the others get
                            none */
} sked_sample_options;
SKED_API void sked_sample_options_init_sized(sked_sample_options *opt, size_t size);
SKED_INIT_INPUT(sked_sample_options) /* 1000 draws at temperature 0 */
typedef struct sked_samples {
    size_t size;
    int32_t count;
    sked_schedule **schedule; /* all valid */
    double *log_prob;         /* of the trajectory drawn (before any improvement), on labelled devices */
    double *makespan;
    double log_z;        /* mean zeta: estimate of log Z at the temperature of the first draws */
    double spread;       /* standard deviation of zeta; 0 for a perfect sampler */
    double *temperature; /* at which each was drawn */
} sked_samples;
SKED_INIT_OUTPUT(sked_samples)
/*
 * p: devices with or without transfers, equal or not, objective makespan; pools, loops, memory limits and
 * devices without a link are UNSUPPORTED. opt may be NULL. Repeats are found up to the names of equal
 * devices. Same seed: the same schedules on any number of threads.
 */
SKED_API SKED_MUST_CHECK sked_status sked_sampler_sample(const sked_sampler *m, const sked_problem *p,
                                                         const sked_sample_options *opt, sked_samples *out,
                                                         sked_error *err);
SKED_API void sked_samples_clear(sked_samples *s);
/*
 * One line of JSON a schedule: as sked_schedules_write, with log_prob, proxy_makespan, temperature (of the
 * samples, or the one given where they have none), and its distances ged, d_inv, d_sen to the best of them
 * (docs/formats/schedule.md).
 */
SKED_API SKED_MUST_CHECK sked_status sked_samples_write(const sked_samples *s, const sked_problem *p,
                                                        double temperature, const char *path,
                                                        sked_error *err);

/* What training says after an update, and at times after a look at graphs it does not train on. */
typedef struct sked_train_progress {
    int64_t step;
    double loss, log_z, norm, rate; /* of the update; norm: of the gradient */
    double seconds;
    int32_t ops;                            /* of the update's graph */
    double temperature;                     /* of the update */
    bool validated;                         /* what follows is filled in */
    double top1, top100, mean, ged, spread; /* speedups, diversity of the top 100, spread of zeta */
    double list, brkga;                     /* speedups of these methods on the same graphs */
    double speedup; /* always there: mean of the trajectories that the update drew from the policy */
} sked_train_progress;
/* Called with the progress of training; p ends with the call. */
typedef void (*sked_train_fn)(void *data, const sked_train_progress *p);

/*
 * graphs: items joined by commas, each a file, a folder (every file in it that reads as a graph), or
 * FAMILY:LEAST-MOST (a fresh generated graph of that many ops for every update).
 */
typedef struct sked_train_options {
    size_t size;
    const char *graphs;
    int32_t devices;
    int64_t steps;  /* updates in all, those of a resumed model counted; 0: no limit */
    double minutes; /* INFINITY: no limit */
    uint64_t seed;
    int threads;
    const char *const *settings; /* "batch=100", ...: sked_train_option_at */
    int n_settings;
    const char *resume; /* model to go on with, or NULL */
    const char *output; /* written at every validation and at the end; NULL: nowhere */
    const volatile sig_atomic_t *stop;
    sked_train_fn progress; /* after every update; may be NULL */
    void *progress_data;
    const char *backend; /* as in sked_run_options */
    bool together;       /* every rank makes this call: the graphs of an update are split; all get the model,
                            rank 0 writes and reports */
} sked_train_options;
SKED_API void sked_train_options_init_sized(sked_train_options *opt, size_t size);
SKED_INIT_INPUT(sked_train_options)
/* What settings may name: sizes of a new model, batch, temperatures, ... */
SKED_API int sked_train_option_count(void);
SKED_API const sked_option *sked_train_option_at(int i);
/*
 * Trains and hands the model over. Stopping (limit, signal) is a normal end. Same options and seed: the same
 * model, and stopping and resuming gives the same bits as going through.
 */
SKED_API SKED_MUST_CHECK sked_status sked_train(const sked_train_options *opt, sked_sampler **out,
                                                sked_error *err);

/* ------------------------------------------------------------------ building graphs */

/* A graph in the making; of one thread at a time. */
typedef struct sked_builder sked_builder;

/* Builds a graph op by op. A builder that has failed stays failed and finish repeats the cause. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_create(sked_builder **out, sked_error *err);
SKED_API void sked_builder_destroy(sked_builder *b);
/* Names the graph; "" until set. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_set_name(sked_builder *b, const char *name,
                                                           sked_error *err);
/* capacity: >= 0, or INFINITY for unlimited. Names are unique. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_add_resource(sked_builder *b, const char *name,
                                                               double capacity, int32_t *id, sked_error *err);
/* name NULL: the op's index is its name. type NULL: untyped. memory 0, weight 1 until set. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_add_op(sked_builder *b, const char *name, const char *type,
                                                         double duration, int32_t *id, sked_error *err);
/* Size of the value that the op makes: >= 0. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_set_memory(sked_builder *b, int32_t op, double memory,
                                                             sked_error *err);
/* Weight of its load in the objective `resource`: >= 0. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_set_weight(sked_builder *b, int32_t op, double weight,
                                                             sked_error *err);
/* Its value stays in memory to the end of the schedule: a result, a weight. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_set_keep(sked_builder *b, int32_t op, bool keep,
                                                           sked_error *err);
/* Its result as a Verilog expression over its operands a, b, ..., z, a1, b1, ... (docs/formats/verilog.md).
 */
SKED_API SKED_MUST_CHECK sked_status sked_builder_set_verilog(sked_builder *b, int32_t op,
                                                              const char *verilog, sked_error *err);
/*
 * Time of the op on one device or on all devices of a type, by that name; INFINITY: it cannot run there. Each
 * name once. op must be the last op added.
 */
SKED_API SKED_MUST_CHECK sked_status sked_builder_add_duration(sked_builder *b, int32_t op,
                                                               const char *device, double duration,
                                                               sked_error *err);
/* Amounts for the same (op, resource) may be given once. op must be the last op added. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_add_demand(sked_builder *b, int32_t op, int32_t resource,
                                                             double amount, sked_error *err);
/* Ops may be added after edges that name them (forward references): ids are checked in finish. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_add_edge(sked_builder *b, const sked_edge *edge,
                                                           sked_error *err);
/* Index of a named op, or -1. Expected O(1). */
SKED_API int32_t sked_builder_find_op(sked_builder *b, const char *name);
/* Index of a named resource, or -1. */
SKED_API int32_t sked_builder_find_resource(sked_builder *b, const char *name);
/* Ops added so far: the id of the next one. */
SKED_API int32_t sked_builder_op_count(const sked_builder *b);
/* Edges added so far. */
SKED_API int64_t sked_builder_edge_count(const sked_builder *b);
/*
 * Checks the whole graph (unique names, edge ends, no cycle of distance 0) and hands it over; the
 * builder is empty afterwards and still has to be destroyed. Ops that an edge names and that are missing may
 * be added after a failure. O(ops + edges).
 */
SKED_API SKED_MUST_CHECK sked_status sked_builder_finish(sked_builder *b, sked_graph **out, sked_error *err);

/* The numbers that ops or edges carry, as formats name them: one list, which grows. */
typedef enum sked_attribute_kind {
    SKED_ATTRIBUTE_AMOUNT, /* finite, 0 or more */
    SKED_ATTRIBUTE_REAL,   /* finite */
    SKED_ATTRIBUTE_COUNT,  /* a whole number from 0 to INT32_MAX */
    SKED_ATTRIBUTE_FLAG    /* 0 or 1 */
} sked_attribute_kind;
typedef struct sked_attribute_info {
    const char *name;    /* "memory" */
    const char *meaning; /* one line */
    bool of_edges;       /* false: of ops */
    sked_attribute_kind kind;
    double preset; /* of those that say nothing; NAN: as the meaning says */
} sked_attribute_info;
SKED_API int sked_attribute_count(void);
SKED_API const sked_attribute_info *sked_attribute_at(int i);
SKED_API const sked_attribute_info *sked_attribute_find(const char *name);
/*
 * Sets it for an op, or for an edge in the order in which edges were added. sked_builder_set_memory and its
 * like are this call for one attribute.
 */
SKED_API SKED_MUST_CHECK sked_status sked_builder_set_attribute(sked_builder *b,
                                                                const sked_attribute_info *attribute,
                                                                int64_t i, double value, sked_error *err);
/* That of all ops into value[ops], or of all edges into value[edges]; SKED_LAG_DEFAULT for a lag that
 * follows. */
SKED_API void sked_graph_attribute(const sked_graph *g, const sked_attribute_info *attribute, double *value);

/* A graph as columns, for programs that hold arrays. All may be NULL but duration, and from and to. */
typedef struct sked_columns {
    size_t size;
    int32_t ops;
    const char *const *name;       /* [ops], entries may be NULL: as in sked_builder_add_op */
    const char *const *type;       /* [ops] likewise */
    const double *duration;        /* [ops] */
    const double *memory, *weight; /* [ops]; NULL: 0 and 1 */
    const uint8_t *keep;           /* [ops] 1: the value stays to the end; NULL: none does */
    int64_t edges;
    const int32_t *from, *to; /* [edges] */
    const double *lag;        /* [edges], entries may be SKED_LAG_DEFAULT; NULL: all are */
    const uint8_t *lag_given; /* [edges] 0: SKED_LAG_DEFAULT, whatever stands in lag; NULL: as lag says */
    const double *bytes;      /* [edges]; NULL: 0 */
    const int32_t *distance;  /* [edges]; NULL: 0 */
} sked_columns;
SKED_INIT_OUTPUT(sked_columns)
/* Adds the ops after those the builder has, then the edges: sked_builder_add_op and _add_edge for each. */
SKED_API SKED_MUST_CHECK sked_status sked_builder_add_columns(sked_builder *b, const sked_columns *columns,
                                                              sked_error *err);
/*
 * The graph's own arrays, which live as long as it does: edges as sked_graph_edge numbers them, with their
 * lag as a number. A builder takes them as they are. Names and types are NULL: sked_graph_op_name and
 * _op_type have them. O(1).
 */
SKED_API SKED_MUST_CHECK sked_status sked_graph_columns(const sked_graph *g, sked_columns *out,
                                                        sked_error *err);

/* ------------------------------------------------------------------ generators */

typedef struct sked_family_info {
    const char *name;           /* "erdos-renyi" */
    const char *summary;        /* one line */
    const sked_option *options; /* its parameters, given as "name=value" in settings */
    int n_options;
    const char *duration; /* default distribution; NULL: by op type */
} sked_family_info;
SKED_API int sked_family_count(void);
SKED_API const sked_family_info *sked_family_at(int i);

/* What a column of a generated graph is drawn from, written "name:ARGUMENTS". */
typedef struct sked_distribution_info {
    const char *name;      /* "uniform" */
    const char *arguments; /* "LO,HI"; "" where it takes none */
    const char *summary;   /* one line */
} sked_distribution_info;
SKED_API int sked_distribution_count(void);
SKED_API const sked_distribution_info *sked_distribution_at(int i);

/*
 * nodes: ops of the graph; families that exist only in certain sizes (fft, cholesky, lu) give the largest
 * instance with at most that many. Same options and seed: the same graph on every machine. Each column has
 * random numbers of its own: another duration does not change the edges.
 */
typedef struct sked_generate_options {
    size_t size;
    int32_t nodes; /* preset 100 */
    uint64_t seed;
    const char *duration; /* distribution "uniform:1,10", "const:1", ... NULL: family's default */
    const char *bytes, *memory, *weight;
    const char *demand;          /* "RES:capacity:distribution[;...]"; NULL: family's default */
    const char *const *settings; /* "key=value" family parameters (p=0.1, width=0.3) */
    int n_settings;
    const char *like; /* "paper": those not given as in docs/generators.md; NULL: family's defaults */
} sked_generate_options;
SKED_API void sked_generate_options_init_sized(sked_generate_options *opt, size_t size);
SKED_INIT_INPUT(sked_generate_options)
/* A random graph of a family. ARGUMENT: no such family, setting or distribution, with the nearest name. */
SKED_API SKED_MUST_CHECK sked_status sked_graph_generate(const char *family, const sked_generate_options *opt,
                                                         sked_graph **out, sked_error *err);

/* Loop-carried edges to add to a graph. */
typedef struct sked_back_edges {
    size_t size;
    int64_t count;
    int32_t distance; /* of each: 1 to this, drawn evenly; preset 1 */
    int32_t span;     /* each goes back over 1 to this many edges, drawn evenly; preset 16 */
    uint64_t seed;
} sked_back_edges;
SKED_API void sked_back_edges_init_sized(sked_back_edges *draw, size_t size);
SKED_INIT_INPUT(sked_back_edges)
/*
 * A copy of the graph as a loop body: each new edge leads from an op, drawn evenly, back along the longest
 * path that leads to it (to itself where it reads nothing), with the op's duration as lag. So no recurrence
 * takes longer than `span` lags and a duration. O(ops + edges + count * span * in-degree). ARGUMENT where a
 * number is out of range.
 */
SKED_API SKED_MUST_CHECK sked_status sked_graph_looped(const sked_graph *g, const sked_back_edges *draw,
                                                       sked_graph **out, sked_error *err);

/* ------------------------------------------------------------------ models for other solvers */

/*
 * Writes the whole problem as a model for other solvers: "lp", "mps" (linear, by time steps) or "minizinc".
 * format NULL: by extension (.lp, .mps, .mzn). path "-": standard output. UNSUPPORTED: times that are not
 * whole numbers, a pipelined problem without an interval, models of more than five million columns.
 */
SKED_API SKED_MUST_CHECK sked_status sked_problem_export(const sked_problem *p, const char *path,
                                                         const char *format, sked_error *err);
/* Would sked_problem_export know this format (or, with format NULL, this path's extension)? */
SKED_API bool sked_problem_exports(const char *path, const char *format);

/* ------------------------------------------------------------------ simulator */

/*
 * The proxy: start times from device orders. A simulator holds all working memory for one problem;
 * run allocates nothing. Not thread-safe: one per thread.
 */
typedef struct sked_simulator sked_simulator;
/* The graph and the machine of p must outlive it. */
SKED_API SKED_MUST_CHECK sked_status sked_simulator_create(const sked_problem *p, sked_simulator **out,
                                                           sked_error *err);
SKED_API void sked_simulator_destroy(sked_simulator *sim);
/*
 * For each of `count` schedules b: device[b*ops + i] and order[b*ops + k], where order lists all ops so
 * that those of one device stand in the order they run on it and (with the graph's edges) no cycle
 * arises; a topological order always qualifies. makespan[b] gets the result, INFINITY where order and
 * graph contradict. start may be NULL, else start[b*ops + i]. transfers: count transfer costs or not.
 */
SKED_API void sked_simulator_run(sked_simulator *sim, int32_t count, const int32_t *device,
                                 const int32_t *order, bool transfers, double *makespan, double *start);

/* ------------------------------------------------------------------ several processes */

/*
 * A build with MPI (`make mpi`) lets `mpirun -n K` run K processes, the ranks, on one problem. A call whose
 * options say `together` is made by every rank with the same arguments (but for the seed of a run, which is
 * sked_dist_seed): the ranks share its work. Other problems and options are ARGUMENT on all ranks; only runs
 * of methods may have other methods, settings and limits. Without MPI there is one process and nothing here
 * does anything. begin comes first in main, end last; begin may take arguments away. One thread makes all
 * these calls. docs/distributed.md
 */
SKED_API SKED_MUST_CHECK sked_status sked_dist_begin(int *argc, char ***argv, sked_error *err);
/*
 * From now on a stop of one rank is one of all: where *stop becomes non-zero, it does so on the other ranks a
 * moment later. Every rank calls it; stop must stay until end.
 */
SKED_API void sked_dist_watch(volatile sig_atomic_t *stop);
/* A rank that failed while others are still at work ends them all with its status as exit code. */
SKED_API void sked_dist_end(sked_status status);
/*
 * Right before end, with the outcome of this rank: true where it is the one to report a failure, so that a
 * message that all ranks have is printed once.
 */
SKED_API bool sked_dist_tells(sked_status status);
/* Every rank with its own outcome so far: the first failure, lowest rank first, becomes that of all. */
SKED_API SKED_MUST_CHECK sked_status sked_dist_agree(sked_status status, sked_error *err);
/* This process, from 0; 0 without MPI. */
SKED_API int sked_dist_rank(void);
/* Number of processes; 1 without MPI. */
SKED_API int sked_dist_size(void);
/* The seed of this rank: rank 0 keeps `seed`, so one process gives the same result as a plain build. */
SKED_API uint64_t sked_dist_seed(uint64_t seed);
/*
 * Call on every rank with its own outcome: rank 0 ends with the best result (value, then makespan, then
 * lowest rank) and the best proven bound of all; evaluations are summed. If only some ranks found a schedule,
 * that is enough. The other ranks' results are left as they are.
 */
SKED_API SKED_MUST_CHECK sked_status sked_dist_best(const sked_problem *p, sked_status outcome,
                                                    sked_result *result, sked_error *err);

/* ------------------------------------------------------------------ logging */

/* One line, without its end. level as below; room: the part of the library that speaks ("driver"). */
typedef void (*sked_log_fn)(void *data, int level, const char *room, const char *line);
/*
 * Listens to log lines up to a level: 1 runs, members, incumbents, bounds; 2 rounds, restarts, techniques;
 * 3 single steps. fn NULL: no longer. One listener for the whole process; it is called by one thread at a
 * time. False where the library was built without lines of that level, as releases are above 1: then it hears
 * those below.
 */
SKED_API bool sked_log_set(int level, sked_log_fn fn, void *data);

/* ------------------------------------------------------------------ helpers the command shares */

/* Nearest of `count` names to `word`, as "did you mean 'x'?" or ""; buf is returned. */
SKED_API const char *sked_suggest(const char *word, const char *const *names, int count, char *buf,
                                  size_t size);
/* Strict: the whole string is one finite decimal number. */
SKED_API bool sked_parse_number(const char *text, double *out);
/* Shortest text that reads back as the same double; integers without a point. */
SKED_API const char *sked_format_number(double x, char *buf, size_t size);
SKED_API double sked_clock(void); /* seconds, monotonic */

/*
 * Text from outside as a terminal can show it without obeying it. What is not printable UTF-8 (controls C0,
 * DEL and C1, bytes that are no UTF-8, line and paragraph separators, changes of direction, noncharacters)
 * becomes \n, \t, \r, \xNN, \uNNNN or \UNNNNNNNN. Printable text stays as it is. Text that does not fit ends
 * in "...". Messages of the library are escaped already. Returns buf.
 */
SKED_API const char *sked_escape(const char *text, char *buf, size_t size);
/* Bytes that one escaped character takes at most. */
enum { SKED_ESCAPE_SIZE = 16 };
/*
 * The same for one character, without limit: moves *text past it and returns the size of what stands in out,
 * 0 at the end. json: as inside a JSON string, where bytes that are no UTF-8 become U+FFFD.
 */
SKED_API int sked_escape_next(const char **text, bool json, char out[SKED_ESCAPE_SIZE]);

/* ------------------------------------------------------------------ version */

/* The version: these three numbers are its only place (the build reads them here). */
#define SKED_VERSION_MAJOR 0
#define SKED_VERSION_MINOR 1
#define SKED_VERSION_PATCH 0
#define SKED_STRINGIFY_(x) #x
#define SKED_STRINGIFY(x)  SKED_STRINGIFY_(x)
#define SKED_VERSION                   \
    SKED_STRINGIFY(SKED_VERSION_MAJOR) \
    "." SKED_STRINGIFY(SKED_VERSION_MINOR) "." SKED_STRINGIFY(SKED_VERSION_PATCH)
/* One number to compare: 10203 is 1.2.3. */
#define SKED_VERSION_NUMBER (SKED_VERSION_MAJOR * 10000 + SKED_VERSION_MINOR * 100 + SKED_VERSION_PATCH)

/* Version of the library that is linked; the macros are those of the header. */
SKED_API const char *sked_version(void);
/* The same as one number, as SKED_VERSION_NUMBER. */
SKED_API int sked_version_number(void);

#ifdef __cplusplus
}
#endif
#endif