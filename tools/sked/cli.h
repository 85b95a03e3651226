/*
 * The command `sked`: its commands and its options, each listed once. One file per command, public API only.
 */
#ifndef SKED_TOOLS_SKED_CLI_H
#define SKED_TOOLS_SKED_CLI_H
#include "../cli/program.h"

/* ---------------------------------------------------------------- commands: the only list */
/* Name, operands, least and most of them, help. cmake/install.cmake takes the manual pages from here. */
#define COMMAND_LIST(X)                                                                               \
    X(schedule, "GRAPH", 1, 1, "find a good schedule of a graph on a machine")                        \
    X(robust, "GRAPH", 1, 1, "learn a machine by measuring schedules on it, and return the best one") \
    X(sample, "GRAPH", 1, 1, "draw many different schedules from a learned model, as JSON lines")     \
    X(train, "", 0, 0, "train a model that samples schedules")                                        \
    X(pack, "BUFFERS", 1, 1, "find offsets for buffers with given lifetimes, in the least memory")    \
    X(check, "GRAPH SCHEDULE", 2, 2, "validate a schedule: exit 0, or exit 8 and the broken rule")    \
    X(compare, "GRAPH A B", 3, 3, "compare two schedules: what moved, busy time, transfers, memory")  \
    X(generate, "FAMILY", 1, 1, "generate graphs of a family")                                        \
    X(convert, "IN OUT", 2, 2, "convert a graph file, or export the problem for another solver")      \
    X(info, "GRAPH", 1, 1, "print sizes, depth, width, critical path and lower bound of a graph")     \
    X(methods, "[METHOD]", 0, 1, "list the scheduling methods, or the options of one")                \
    X(formats, "", 0, 0, "list the file formats")                                                     \
    X(targets, "", 0, 0, "list the targets that measure schedules")                                   \
    X(help, "[COMMAND]", 0, 1, "explain sked or one of its commands")

enum {
#define X(name, ...) COMMAND_##name,
    COMMAND_LIST(X)
#undef X
        COMMAND_COUNT
};
#define ON(name) (1u << COMMAND_##name)

/* ---------------------------------------------------------------- options: the only list */
/* Groups of commands that share options. */
#define ON_CHECK   (ON(check) | ON(compare))
#define ON_GRAPH   (ON(schedule) | ON(robust) | ON(sample) | ON_CHECK | ON(info) | ON(convert))
#define ON_MACHINE (ON(schedule) | ON_CHECK | ON(info) | ON(convert))
#define ON_SOLVE   (ON(schedule) | ON(info) | ON(convert))
#define ON_DRAW    (ON(sample) | ON(robust))
#define ON_WORK    (ON(schedule) | ON(robust) | ON(sample) | ON(train))
#define ON_SHOW \
    (ON(schedule) | ON(robust) | ON_CHECK | ON(info) | ON(pack) | ON(methods) | ON(formats) | ON(targets))

/*
 * Field, kind, long name, value, preset, least, most, commands, help. Presets that the library has too
 * (sked_run_options_init and its like) are compared with it by tests/test_options.c.
 */
#define OPTION_LIST(X)                                                                                       \
    X(devices, INT, "devices", "N", 0, 1, 1000000, ON_SOLVE | ON_DRAW,                                       \
      "number of identical devices; each runs one op at a time")                                             \
    X(machine, READ, "machine", "FILE", NULL, 0, 0, ON_MACHINE | ON_DRAW,                                    \
      "machine file: devices with names, types, speeds and memory, and the links between them")              \
    X(memory_limit, REAL, "memory-limit", "M", INFINITY, 0, 1e300, ON_MACHINE,                               \
      "most memory that values may hold at a time, on all devices together")                                 \
    X(lifetime, TEXT, "lifetime", "start|finish|result", NULL, 0, 0, ON_MACHINE,                             \
      "readers let a value go when they start, or when they finish; result: when they start, and it begins " \
      "when it is there; preset: result with a clock, finish with a memory limit or addresses, else start")  \
    X(clock, REAL, "clock", "T", 0, 1e-300, 1e300, ON_MACHINE | ON(robust),                                  \
      "clock period: ops with a delay share a cycle while their delays in a chain fit it")                   \
    X(io, TEXT, "io", "free|aligned", NULL, 0, 0, ON_MACHINE | ON(robust),                                   \
      "aligned: ops without predecessors start at 0, and values without readers live to the end")            \
    X(offsets, FLAG, "offsets", "", false, 0, 0, ON_MACHINE,                                                 \
      "give every value held an address; arenas then keep the memory limits")                                \
    X(align, INT, "align", "A", 1, 1, 1073741824, ON_MACHINE | ON(pack), "addresses are multiples of A")     \
    X(train_devices, INT, "devices", "N", 4, 1, 1000000, ON(train), "number of devices to train for")        \
    X(method, TEXT, "method", "M", "auto", 0, 0, ON(schedule),                                               \
      "scheduling method; `sked methods` lists them; A,B,C: each for itself, side by side")                  \
    X(robust_method, TEXT, "method", "M", NULL, 0, 0, ON(robust),                                            \
      "--one-shot: candidates of this method only; without it, compare several methods")                     \
    X(objective, TEXT, "objective", "O", NULL, 0, 0, ON_SOLVE | ON(robust),                                  \
      "what to minimise: one of the objectives below; --ii auto alone selects ii, or makespan where "        \
      "the method takes no ii")                                                                              \
    X(horizon, REAL, "horizon", "D", INFINITY, 0, 1e300, ON_MACHINE | ON(robust), "latest finish allowed")   \
    X(ii, TEXT, "ii", "K|auto", NULL, 0, 0, ON_SOLVE,                                                        \
      "initiation interval of a pipelined loop; auto: find the smallest")                                    \
    X(alpha, REAL, "alpha", "A", 1, 0, 1e300, ON_SOLVE, "weight of communication in objective cost")         \
    X(sweep, TEXT, "sweep", "NAME=FROM:TO:STEP", NULL, 0, 0, ON(schedule),                                   \
      "schedule at every horizon, ii, alpha, memory-limit, clock or capacity of a range (horizon=10:40:5, "  \
      "MUL=1:4:1); show the "                                                                                \
      "trade-off; each "                                                                                     \
      "point gets --time-limit")                                                                             \
    X(curve, WRITE, "curve", "FILE.jsonl", NULL, 0, 0, ON(schedule),                                         \
      "write value and bound over time, one JSON line at each improvement")                                  \
    X(latency, REAL, "latency", "L", 0, 0, 1e300, ON_MACHINE | ON(robust) | ON(sample),                      \
      "time added to an edge between two devices")                                                           \
    X(bandwidth, REAL, "bandwidth", "B", INFINITY, 1e-300, 1e300, ON_MACHINE | ON(robust) | ON(sample),      \
      "bytes per time unit between two devices")                                                             \
    X(capacity, LIST, "capacity", "NAME=K", NO_VALUES, 0, 0, ON_MACHINE,                                     \
      "capacity of a resource, or unlimited (repeatable)")                                                   \
    X(pack_capacity, INT, "capacity", "C", -1, 0, 9e15, ON(pack),                                            \
      "most height: the first packing within it will do; without it, the least height is sought")            \
    X(resources, READ, "resources", "MODEL.xml", NULL, 0, 0, ON_GRAPH, "resource model of a GraphML loop")   \
    X(library, READ, "library", "LIB.json", NULL, 0, 0, ON_GRAPH,                                            \
      "op library: durations and units by op type")                                                          \
    X(profile, SPECS, "profile", "[TYPE=]FILE", NO_VALUES, 0, 0, ON_GRAPH,                                   \
      "measured durations by op name, or a trace; with TYPE=, times on devices of that name or type "        \
      "(repeatable)")                                                                                        \
    X(value_memory, REAL, "memory", "M", 0, 1e-300, 1e300, ON_GRAPH,                                         \
      "size of every value, for graphs that say none")                                                       \
    X(dim, LIST, "dim", "NAME=K", NO_VALUES, 0, 0, ON_GRAPH,                                                 \
      "size of a symbolic dimension of an ONNX model (repeatable); others count as 1")                       \
    X(from, TEXT, "from", "FORMAT", NULL, 0, 0, ON_GRAPH,                                                    \
      "input format; without it, extension and content decide")                                              \
    X(instance, TEXT, "instance", "NAME", NULL, 0, 0, ON_GRAPH,                                              \
      "instance of a file that has several: its name, or else its number from 1")                            \
    X(to, TEXT, "to", "FORMAT", NULL, 0, 0, ON(convert), "output format; without it, the extension decides") \
    X(start, READ, "start", "SCHEDULE", NULL, 0, 0, ON(schedule), "schedule file for a warm start")          \
    X(bind, REAL, "bind", "S", -1, 0, 1e9, ON(schedule),                                                     \
      "give ops the units of their pools, and values registers; S seconds to lower the inputs of "           \
      "multiplexers")                                                                                        \
    X(fix, READ, "fix", "FILE", NULL, 0, 0, ON(schedule) | ON(check),                                        \
      "file of devices and start times that ops must keep")                                                  \
    X(candidates, INT, "candidates", "K", 0, 1, 1000000, ON(schedule), "find K different schedules")         \
    X(draws, INT, "candidates", "K", 1000, 1, 1000000, ON(sample), "number of schedules to draw")            \
    X(robust_candidates, INT, "candidates", "K", 1000, 1, 1000000, ON(robust),                               \
      "--one-shot: number of schedules that each method gives")                                              \
    X(top, INT, "top", "k", 0, 1, 1000000, ON(schedule) | ON(sample), "keep the best k candidates")          \
    X(robust_top, INT, "top", "k", 100, 1, 1000000, ON(robust),                                              \
      "--one-shot: measure the best k candidates of each method")                                            \
    X(min_distance, REAL, "min-distance", "P", 0, 0, 100, ON(schedule),                                      \
      "least distance (GED, percent) between two kept candidates")                                           \
    X(robust_distance, REAL, "min-distance", "P", 0, 0, 100, ON(robust),                                     \
      "--one-shot: least distance (GED, percent) between two of these")                                      \
    X(time_limit, REAL, "time-limit", "S", 5, 0, 1e9, ON(schedule) | ON(pack), "seconds per run")            \
    X(robust_time, REAL, "time-limit", "S", 10, 0, 1e9, ON(robust),                                          \
      "seconds of scheduling in all; measuring is not counted")                                              \
    X(iterations, INT, "iterations", "N", 0, 1, 9e15, ON(schedule) | ON(robust) | ON(pack),                  \
      "iteration limit beside the time limit, in units of the method")                                       \
    X(seed, INT, "seed", "N", 0, 0, 9e15, ON_WORK | ON(generate) | ON(convert) | ON(pack), "random seed")    \
    X(threads, INT, "threads", "N", 1, 1, 1024, ON_WORK | ON(pack), "number of threads")                     \
    X(backend, TEXT, "backend", "auto|cpu|cuda", "auto", 0, 0, ON_WORK,                                      \
      "where to compute; auto: on a GPU where there is one and it is quicker")                               \
    X(set, SPECS, "set", "KEY=VALUE", NO_VALUES, 0, 0, ON(train) | ON(schedule) | ON(robust) | ON(generate), \
      "option of the method or family (repeatable)")                                                         \
    X(target, SPEC, "target", "T", NULL, 0, 0, ON(robust),                                                   \
      "what measures a schedule; `sked targets` lists them")                                                 \
    X(measurements, INT, "measurements", "N", 30, 1, 1000000, ON(robust),                                    \
      "most measurements, failed and earlier ones included")                                                 \
    X(prior, READ, "prior", "FILE", NULL, 0, 0, ON(robust),                                                  \
      "what is known of the machine; without it, wide guesses relative to the graph")                        \
    X(robust_resume, RESUME, "resume", "FILE", NULL, 0, 0, ON(robust),                                       \
      "measurements of an earlier run that count as made; new ones are appended, without --log")             \
    X(robust_log, WRITE, "log", "FILE", NULL, 0, 0, ON(robust), "write measurements there as they come")     \
    X(one_shot, FLAG, "one-shot", "", false, 0, 0, ON(robust),                                               \
      "gather candidates, measure the best of them, learn nothing")                                          \
    X(robust_local, TEXT, "local", "on|off", "on", 0, 0, ON(robust),                                         \
      "--one-shot: reassign the devices of candidates to shorten transfers")                                 \
    X(own_delays, FLAG, "own-delays", "", false, 0, 0, ON(robust),                                           \
      "target ice40: the library's delays times a factor that is measured, to compare with")                 \
    X(model, READ, "model", "FILE", NULL, 0, 0, ON_DRAW, "gflownet model; without it, the built-in one")     \
    X(temperature, REAL, "temperature", "T", 0, 0, 1e6, ON(sample),                                          \
      "small: greedy, large: diverse; 0: several that follow the size of the problem")                       \
    X(any_machine, FLAG, "any-machine", "", false, 0, 0, ON(sample),                                         \
      "draw for machines with transfers of up to 4 mean durations too")                                      \
    X(raw, FLAG, "raw", "", false, 0, 0, ON(sample), "write every draw in the order drawn, with repeats")    \
    X(greedy, FLAG, "greedy", "", false, 0, 0, ON(sample), "one schedule: the likeliest action each step")   \
    X(local, FLAG, "local", "", false, 0, 0, ON(sample),                                                     \
      "keep the start times drawn, reassign devices to shorten transfers")                                   \
    X(improve, INT, "improve", "N", 0, 0, 1000000, ON(sample), "rounds of local search on each draw")        \
    X(robust_improve, INT, "improve", "N", 0, 0, 1000000, ON(robust),                                        \
      "--one-shot: rounds of local search on each candidate")                                                \
    X(graphs, SPEC, "graphs", "SPEC", NULL, 0, 0, ON(train),                                                 \
      "files, folders and FAMILY:LEAST-MOST[:DIST], joined by commas")                                       \
    X(steps, INT, "steps", "K", 0, 1, 9e15, ON(train),                                                       \
      "stop after K updates, those before --resume included")                                                \
    X(minutes, REAL, "minutes", "M", INFINITY, 0, 1e6, ON(train), "stop after M minutes")                    \
    X(resume, RESUME, "resume", "FILE.safetensors", NULL, 0, 0, ON(train), "model to continue from")         \
    X(weights_only, FLAG, "weights-only", "", false, 0, 0, ON(train),                                        \
      "write the weights without optimiser state: a third of the size, no resume")                           \
    X(nodes, INT, "nodes", "N", -1, 0, 100000000, ON(generate), "number of ops")                             \
    X(count, INT, "count", "K", 0, 1, 10000000, ON(generate),                                                \
      "write K graphs into a folder; seeds count up from --seed")                                            \
    X(duration, TEXT, "duration", "DIST", NULL, 0, 0, ON(generate), "distribution of durations")             \
    X(bytes, TEXT, "bytes", "DIST", NULL, 0, 0, ON(generate), "distribution of edge bytes")                  \
    X(memory, TEXT, "memory", "DIST", NULL, 0, 0, ON(generate), "distribution of result sizes")              \
    X(weight, TEXT, "weight", "DIST", NULL, 0, 0, ON(generate), "distribution of weights")                   \
    X(like, TEXT, "like", "SET", NULL, 0, 0, ON(generate),                                                   \
      "parameters of a publication's graphs: paper (five random families)")                                  \
    X(demand, TEXT, "demand", "SPEC", NULL, 0, 0, ON(generate),                                              \
      "resources: NAME:capacity:DIST, joined by ';'")                                                        \
    X(back_edges, INT, "back-edges", "N", 0, 0, 1e9, ON(generate) | ON(convert),                             \
      "make a loop of the graph: add N loop-carried edges, each of which closes a recurrence")               \
    X(distance, INT, "distance", "D", 1, 1, 1000000, ON(generate) | ON(convert),                             \
      "largest distance of --back-edges, in iterations")                                                     \
    X(span, INT, "span", "K", 16, 1, 1000000, ON(generate) | ON(convert),                                    \
      "most edges that a recurrence of --back-edges spans")                                                  \
    X(output, OUTPUT, "output", "FILE", NO_VALUES, 0, 0, ON_WORK | ON(pack),                                 \
      "output file, short -o (repeatable): the extension selects the writer, - is standard output")          \
    X(pictures, OUTPUT, "output", "FILE.svg", NO_VALUES, 0, 0, ON(compare),                                  \
      "picture of both, one under the other, short -o (repeatable)")                                         \
    X(generated, PLACE, "output", "FILE|DIR", NO_VALUES, 0, 0, ON(generate),                                 \
      "output file or folder, short -o: the extension selects the writer, - is standard output")             \
    X(statistics, FLAG, "statistics", "", false, 0, 0, ON(schedule),                                         \
      "print what ran: calls, seconds, evaluations, offers, gain")                                           \
    X(log, INT, "log", "LEVEL", 0, 1, 3, ON_WORK & ~ON(robust), "log to standard error; 2, 3: debug builds") \
    X(json, FLAG, "json", "", false, 0, 0, ON_SHOW, "print one JSON object instead of text")                 \
    X(quiet, FLAG, "quiet", "", false, 0, 0, ON_WORK | ON(generate), "no progress, no notes")                \
    X(man, FLAG, "man", "", false, 0, 0, ON(help), "print the manual page (troff)")                          \
    X(completion, FLAG, "completion", "", false, 0, 0, ON(help), "print the bash completion script")

struct arguments {
    value_list operand;
    OPTION_LIST(OPTION_FIELD)
};

/* Options that are numbers of the problem, by the same name. */
#define PROBLEM_NUMBERS(X) X(horizon) X(alpha) X(memory_limit) X(clock) X(offsets) X(align)

enum {
#define SKED_X(...) +1
    OBJECTIVE_COUNT = SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
};

/* main.c */
extern const program sked_program;

#define X(name, ...) sked_status run_##name(arguments *a, sked_error *err);
COMMAND_LIST(X)
#undef X

/* tables.c: tables of the library that help shows. */
void print_objectives(FILE *out);
void print_methods(FILE *out);
void print_reports(FILE *out); /* what -o writes */
void print_outputs(FILE *out); /* and what it writes of several schedules */
void print_families(FILE *out);

/* Written by `sked schedule` for all candidates; the other extensions are the library's reports. */
#define CANDIDATES_EXTENSION ".jsonl"

/* outputs.c: ARGUMENT for an output that no report writes. candidates: several schedules may be written as
 * well. */
sked_status check_extensions(const arguments *a, bool candidates, sked_error *err);
void complete_arguments(arguments *a); /* robust: what is resumed goes on where no log is given */
/* The output that is a model and its extension, ".onnx"; NULL: none is. */
const char *model_output(const arguments *a, const char **extension);
bool to_stdout(const arguments *a); /* -o -: standard output has the schedule and nothing else */

/* pipeline.c: sked robust, where the target takes pipelines. */
sked_status robust_pipeline(arguments *a, const sked_robust_options *opt, sked_error *err);

/* setup.c: a graph and a problem from the options. */
typedef struct setup {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    double *capacity;
    int32_t *fix_device;
    double *fix_start;
} setup;
sked_status load_graph(const arguments *a, const char *path, sked_graph **out, sked_error *err);
sked_status load_problem(const arguments *a, const char *path, setup *s, sked_error *err);
/* For commands that show or write the graph itself: what the machine's profile measured takes the place of
 * its durations. Problems take the profile into account by themselves. */
sked_status apply_profile(setup *s, sked_error *err);
void clear_setup(setup *s);
/* --back-edges: *g becomes a loop; unchanged without it. */
sked_status add_back_edges(const arguments *a, uint64_t seed, sked_graph **g, sked_error *err);

/* binding.c: units and registers of a schedule in text and JSON. */
void print_binding(const sked_problem *p, const sked_schedule *s, const sked_binding *bound);
void json_binding(json_out *j, const sked_problem *p, const sked_schedule *s, const sked_binding *bound);

/* compare.c: each of --method A,B,C for itself, as a table and a picture. */
sked_status run_methods_side_by_side(const arguments *a, const setup *s, const sked_run_options *opt,
                                     sked_error *err);

/* What goes between devices: a value once to each device that reads it, with the bytes of its largest edge
 * there. */
typedef struct traffic {
    int64_t transfers;
    double bytes;
} traffic;
sked_status count_traffic(const sked_problem *p, const sked_schedule *s, traffic *out, sked_error *err);

/* model.c: what a model that is written needs, NAN where none is. */
typedef struct model_memory {
    double file_peak; /* peak memory with the operators in the order of the file */
    double arena[2];  /* sked_report_data */
} model_memory;
sked_status file_order_peak(const arguments *a, const sked_problem *p, double *peak, sked_error *err);
void print_model(const model_memory *m);
void json_model_memory(json_out *j, const model_memory *m);

/* machine.c: the devices of a problem in text and JSON. */
const char *machine_name(const sked_machine *m, printable_text *buf);
/*
 * Peak memory by device into *peak, the caller's. *peak stays as it is where neither a machine nor a memory
 * limit nor an arena makes it worth a line.
 */
sked_status device_peaks(const sked_problem *p, const sked_schedule *s, double **peak, sked_error *err);
/* One line a device, the first few: name, peak memory, arena. Nothing where peak is NULL. */
void print_devices(const sked_problem *p, const sked_schedule *s, const double *peak);
/* Of a schedule with addresses; of others nothing. */
void print_arena(const sked_schedule *s, const sked_metrics *m);
void json_arena(json_out *j, const sked_schedule *s, const sked_metrics *m);
/* Of a pipeline that takes an input every cycle, by cycle; of other schedules none. Free bits with sked_free.
 */
typedef struct registers {
    double *bits;
    int32_t count;
} registers;
sked_status pipeline_registers(const sked_problem *p, const sked_schedule *s, registers *r, sked_error *err);
void print_registers(const registers *r);
void json_registers(json_out *j, const registers *r);
/* "devices": their number; with a machine also its name, the devices' names and peaks (NULL: none). */
void json_devices(json_out *j, const sked_problem *p, const double *peak);
/* What `sked info` says of a machine. */
void print_machine(const sked_problem *p);
void json_machine(json_out *j, const sked_problem *p);
/* Devices in the graph's durations that the machine lacks, ops in its profile that the graph lacks: most
 * likely misspelt. */
void warn_unknown_names(const sked_problem *p);
#endif
