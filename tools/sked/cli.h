/*
 * The command: one file per sub-command, public API only. This header holds what they share: the
 * table of commands, the table of options, and small helpers for output.
 */
#ifndef SKED_TOOLS_CLI_H
#define SKED_TOOLS_CLI_H
#include "sked/sked.h"

#include <stdio.h>

/* ---------------------------------------------------------------- commands: the only list */
#define COMMAND_LIST(X)                                                                                     \
    X(schedule, "GRAPH", 1, 1, "find a good schedule of a graph on a machine")                              \
    X(robust, "GRAPH", 1, 1, "many candidates, the proxy keeps the best, a target picks the winner")        \
    X(sample, "GRAPH", 1, 1, "many different good schedules from a learned model, as JSON lines")           \
    X(train, "", 0, 0, "teach a model to sample schedules")                                                 \
    X(check, "GRAPH SCHEDULE", 2, 2, "validate a schedule independently: exit 0, or 8 and the broken rule") \
    X(generate, "FAMILY", 1, 1, "make graphs of a named family")                                            \
    X(convert, "IN OUT", 2, 2, "turn a graph file into another format")                                     \
    X(info, "GRAPH", 1, 1, "sizes, depth, width, critical path and bounds of a graph")                      \
    X(bench, "SUITE", 1, 1, "reproduce a table of results, ours beside the published figures")              \
    X(methods, "[METHOD]", 0, 1, "the scheduling methods and their options")                                \
    X(formats, "", 0, 0, "the file formats")                                                                \
    X(targets, "", 0, 0, "what can measure a schedule")                                                     \
    X(help, "[COMMAND]", 0, 1, "explain sked or one of its commands")

enum {
#define X(name, operands, least, most, help) COMMAND_##name,
    COMMAND_LIST(X)
#undef X
        COMMAND_COUNT
};
#define ON(name) (1u << COMMAND_##name)

/* ---------------------------------------------------------------- options: the only list */
/* Groups of commands that share options. */
#define ON_GRAPH   (ON(schedule) | ON(robust) | ON(sample) | ON(check) | ON(info) | ON(convert))
#define ON_MACHINE (ON(schedule) | ON(check) | ON(info) | ON(convert))
#define ON_SHOW \
    (ON(schedule) | ON(robust) | ON(check) | ON(info) | ON(bench) | ON(methods) | ON(formats) | ON(targets))

/* field, kind, long name, value, least, most, commands, help */
#define OPTION_LIST(X)                                                                                       \
    X(devices, INT, "devices", "N", 1, 1000000,                                                              \
      ON(sample) | ON(train) | ON(schedule) | ON(robust) | ON(info) | ON(convert),                           \
      "run on N identical devices, one op at a time each")                                                   \
    X(method, TEXT, "method", "M", 0, 0, ON(schedule) | ON(robust) | ON(bench),                              \
      "scheduling method (default auto; see `sked methods`)")                                                \
    X(objective, TEXT, "objective", "O", 0, 0, ON(schedule) | ON(info) | ON(convert),                        \
      "what to minimise: makespan, resource, memory, cost or ii (default makespan)")                         \
    X(horizon, REAL, "horizon", "D", 0, 1e300, ON_MACHINE, "latest finish allowed")                          \
    X(ii, TEXT, "ii", "K|auto", 0, 0, ON(schedule) | ON(info) | ON(convert),                                 \
      "initiation interval of a pipelined loop; auto searches the smallest")                                 \
    X(alpha, REAL, "alpha", "A", 0, 1e300, ON(schedule) | ON(info) | ON(convert),                            \
      "weight of communication in objective cost (default 1)")                                               \
    X(sweep, TEXT, "sweep", "NAME=FROM:TO:STEP", 0, 0, ON(schedule),                                         \
      "schedule at many horizons, ii or alpha (horizon=10:40:5) and show the trade-off; each takes "         \
      "--time-limit")                                                                                        \
    X(record, TEXT, "record", "FILE", 0, 0, ON(schedule),                                                    \
      "write the first descent of method gaus step by step (.jsonl) or draw it (.svg)")                      \
    X(latency, REAL, "latency", "L", 0, 1e300, ON_MACHINE | ON(robust),                                      \
      "time added to an edge between different devices")                                                     \
    X(bandwidth, REAL, "bandwidth", "B", 1e-300, 1e300, ON_MACHINE | ON(robust),                             \
      "bytes per time unit between different devices (default: free)")                                       \
    X(capacity, LIST, "capacity", "NAME=K", 0, 0, ON_MACHINE, "capacity of a resource (repeat for several)") \
    X(resources, TEXT, "resources", "MODEL.xml", 0, 0, ON_GRAPH, "resource model of a GraphML loop")         \
    X(library, TEXT, "library", "LIB.json", 0, 0, ON_GRAPH, "op library: durations and units by op type")    \
    X(profile, TEXT, "profile", "FILE.json", 0, 0, ON_GRAPH, "measured durations by op name")                \
    X(from, TEXT, "from", "FORMAT", 0, 0, ON_GRAPH,                                                          \
      "format of the input (default: by extension and content)")                                             \
    X(to, TEXT, "to", "FORMAT", 0, 0, ON(convert), "format of the output (default: by extension)")           \
    X(start, TEXT, "start", "SCHEDULE", 0, 0, ON(schedule), "schedule file to start from")                   \
    X(fix, TEXT, "fix", "FILE", 0, 0, ON(schedule) | ON(check),                                              \
      "devices and starts that must be kept, by op")                                                         \
    X(candidates, INT, "candidates", "K", 1, 1000000, ON(sample) | ON(schedule) | ON(robust),                \
      "number of different schedules to produce")                                                            \
    X(top, INT, "top", "k", 1, 1000000, ON(sample) | ON(schedule) | ON(robust),                              \
      "keep the best k of the candidates")                                                                   \
    X(min_distance, REAL, "min-distance", "P", 0, 100, ON(schedule) | ON(robust),                            \
      "least distance (GED, percent) between two kept candidates")                                           \
    X(time_limit, REAL, "time-limit", "S", 0, 1e9, ON(schedule) | ON(robust) | ON(bench),                    \
      "seconds to spend (default 5)")                                                                        \
    X(iterations, INT, "iterations", "N", 1, 9e15, ON(schedule),                                             \
      "limit in the method's own unit, beside the time")                                                     \
    X(seed, INT, "seed", "N", 0, 9e15,                                                                       \
      ON(sample) | ON(train) | ON(schedule) | ON(robust) | ON(generate) | ON(bench),                         \
      "random seed (default 0)")                                                                             \
    X(threads, INT, "threads", "N", 1, 1024, ON(sample) | ON(train) | ON(schedule) | ON(robust) | ON(bench), \
      "threads to use (default 1)")                                                                          \
    X(backend, TEXT, "backend", "cpu|cuda", 0, 0, ON(schedule), "where to compute (default cpu)")            \
    X(set, LIST, "set", "KEY=VALUE", 0, 0, ON(train) | ON(schedule) | ON(robust) | ON(generate),             \
      "option of the method or family (repeat for several; see `sked methods M`)")                           \
    X(target, TEXT, "target", "T", 0, 0, ON(robust), "what measures the candidates (see `sked targets`)")    \
    X(model, TEXT, "model", "FILE", 0, 0, ON(sample) | ON(robust) | ON(bench),                               \
      "model of gflownet to sample from (default: the one in sked)")                                         \
    X(temperature, REAL, "temperature", "T", 1e-6, 1e6, ON(sample),                                          \
      "small: greedy, large: diverse (default 0.005)")                                                       \
    X(raw, FLAG, "raw", "", 0, 0, ON(sample), "every draw in the order it was made, repeats too")            \
    X(greedy, FLAG, "greedy", "", 0, 0, ON(sample), "one schedule: the likeliest action at every step")      \
    X(local, FLAG, "local", "", 0, 0, ON(sample),                                                            \
      "keep the starts drawn, choose devices so that data stays near")                                       \
    X(improve, INT, "improve", "N", 0, 1000000, ON(sample),                                                  \
      "rounds of local search on each schedule drawn (default 0: none)")                                     \
    X(graphs, TEXT, "graphs", "SPEC", 0, 0, ON(train),                                                       \
      "files, folders and FAMILY:LEAST-MOST[:DIST], joined by commas")                                       \
    X(steps, INT, "steps", "K", 1, 9e15, ON(train), "updates in all, those before a resume counted")         \
    X(minutes, REAL, "minutes", "M", 0, 1e6, ON(train), "minutes to train")                                  \
    X(resume, TEXT, "resume", "FILE", 0, 0, ON(train), "model to go on with")                                \
    X(weights_only, FLAG, "weights-only", "", 0, 0, ON(train),                                               \
      "write the model without what resuming needs: a third of the size")                                    \
    X(nodes, INT, "nodes", "N", 0, 100000000, ON(generate), "number of ops")                                 \
    X(count, INT, "count", "K", 1, 10000000, ON(generate), "number of graphs; seeds count up from --seed")   \
    X(duration, TEXT, "duration", "DIST", 0, 0, ON(generate), "distribution of durations")                   \
    X(bytes, TEXT, "bytes", "DIST", 0, 0, ON(generate), "distribution of edge bytes")                        \
    X(memory, TEXT, "memory", "DIST", 0, 0, ON(generate), "distribution of result sizes")                    \
    X(weight, TEXT, "weight", "DIST", 0, 0, ON(generate), "distribution of weights")                         \
    X(demand, TEXT, "demand", "SPEC", 0, 0, ON(generate),                                                    \
      "resources: NAME:capacity:DIST, several joined by ';'")                                                \
    X(data, TEXT, "data", "DIR", 0, 0, ON(bench),                                                            \
      "folder of the benchmark instances (default ../shared/data)")                                          \
    X(sample, INT, "sample", "N", 1, 1000000, ON(bench), "take every N-th instance only")                    \
    X(only, TEXT, "only", "SET", 0, 0, ON(bench), "run one set of the suite only")                           \
    X(list, FLAG, "list", "", 0, 0, ON(bench), "print every instance, not only the row of its set")          \
    X(exact, FLAG, "exact", "", 0, 0, ON(bench), "gaus: also run the method exact, 60 s per small instance") \
    X(output, LIST, "output", "FILE", 0, 0,                                                                  \
      ON(sample) | ON(train) | ON(schedule) | ON(robust) | ON(generate) | ON(bench),                         \
      "write a file (-o; repeat for several): the extension picks the writer, - is standard output")         \
    X(json, FLAG, "json", "", 0, 0, ON_SHOW, "print one JSON object instead of text")                        \
    X(quiet, FLAG, "quiet", "", 0, 0,                                                                        \
      ON(sample) | ON(train) | ON(schedule) | ON(robust) | ON(bench) | ON(generate),                         \
      "no progress, no warnings")                                                                            \
    X(man, FLAG, "man", "", 0, 0, ON(help), "print the manual page (troff)")                                 \
    X(completion, FLAG, "completion", "", 0, 0, ON(help), "print the bash completion script")

enum { MAX_LIST = 256 };
typedef struct option_value {
    bool given;
    const char *text;           /* TEXT */
    double number;              /* REAL, INT */
    const char *list[MAX_LIST]; /* LIST */
    int n_list;
} option_value;

typedef struct arguments {
    int command;
    const char *operand[2];
    int n_operands;
#define X(field, kind, name, v, least, most, commands, help) option_value field;
    OPTION_LIST(X)
#undef X
} arguments;

/* One line of the tables above, for help, manual and completion. */
typedef enum option_kind { KIND_FLAG, KIND_TEXT, KIND_INT, KIND_REAL, KIND_LIST } option_kind;
typedef struct option_line {
    const char *name, *value, *help;
    option_kind kind;
    double least, most;
    unsigned commands;
    size_t offset; /* of its value in arguments */
} option_line;
typedef struct command_line {
    const char *name, *operands, *help;
    int least, most;
    sked_status (*run)(arguments *a, sked_error *err);
} command_line;
extern const option_line option_lines[];
extern const int n_option_lines;
extern const command_line command_lines[COMMAND_COUNT];

/* options.c: fills a from argv; ARGUMENT with one sentence otherwise. *help: --help was asked for. */
sked_status parse_arguments(int argc, char **argv, arguments *a, bool *help, sked_error *err);

#define X(name, operands, least, most, help) sked_status run_##name(arguments *a, sked_error *err);
COMMAND_LIST(X)
#undef X

/* help.c */
void print_usage(FILE *out);
void print_command_help(FILE *out, int command);

/* setup.c: a graph and a problem from the options. */
typedef struct setup {
    sked_graph *graph;
    sked_problem problem;
    double *capacity;
    int32_t *fix_device;
    double *fix_start;
} setup;
sked_status load_graph(const arguments *a, const char *path, sked_graph **out, sked_error *err);
sked_status load_problem(const arguments *a, const char *path, setup *s, sked_error *err);
void clear_setup(setup *s);

/* progress.c: a bar on a terminal, silent otherwise. Ctrl-C asks to stop; a second one ends sked. */
extern volatile sig_atomic_t stop_requested;
void catch_interrupts(void);
void show_progress(void *data, const char *phase, double share, double value, double bound);
void end_progress(void);
void warn(const arguments *a, const char *format, ...) SKED_PRINTF(2, 3);

/* print.c: JSON values one after another; text tables. */
typedef struct json_out {
    FILE *file;
    int depth;
    bool first;
    bool line; /* the whole value on one line */
} json_out;
void json_open(json_out *j, const char *key, char bracket);
void json_close(json_out *j, char bracket);
void json_number(json_out *j, const char *key, double x);       /* null where not finite */
void json_text(json_out *j, const char *key, const char *text); /* null where NULL */
void json_bool(json_out *j, const char *key, bool b);
void json_null(json_out *j, const char *key);
/* A number for people: six digits, integers plain. */
const char *human(double x, char *buf, size_t size);
bool ends_with(const char *text, const char *end);
/* Everything printed has arrived, or an IO error. */
sked_status finish_output(sked_error *err);

sked_status fail(sked_error *err, sked_status status, const char *format, ...) SKED_PRINTF(3, 4);
#endif
