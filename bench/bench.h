/* The program `sked-bench`: its suites and its options, each listed once, and what the suites share. */
#ifndef SKED_BENCH_BENCH_H
#define SKED_BENCH_BENCH_H
#include "../tools/cli/program.h"

/* ---------------------------------------------------------------- suites: the only list */
/* Name, operands, least and most of them, help. */
#define SUITE_LIST(X)                                                                                 \
    X(quality, "", 0, 0, "every set of benchmark instances within its time limit")                    \
    X(scale, "", 0, 0, "speed and memory as graphs grow, schedules per second, gaps of fast methods") \
    X(gaus, "", 0, 0, "the differentiable scheduler beside list and fds")                             \
    X(gflownet, "", 0, 0, "speed of training and sampling, candidates on unseen graphs")              \
    X(sampler, "", 0, 0, "draws of the sampler beside search, list and heft, by size and machine")    \
    X(paper, "", 0, 0, "methods with the same stages, beside the three tables of the GFlowNet paper") \
    X(robust, "", 0, 0,                                                                               \
      "the loop that learns a machine, beside the one-shot pipeline and what could be known")         \
    X(real, "", 0, 0, "schedules that run: on this machine's cores, and on a platform of SimGrid")    \
    X(targets, "", 0, 0, "how times on the targets relate to the proxy")                              \
    X(memory, "", 0, 0, "real networks under memory limits")                                          \
    X(arena, "", 0, 0, "real networks at the least peak memory, and with addresses")                  \
    X(hardware, "", 0, 0, "registers of pipelined circuits")                                          \
    X(help, "[SUITE]", 0, 1, "explain sked-bench or one of its suites")

enum {
#define X(name, ...) SUITE_##name,
    SUITE_LIST(X)
#undef X
        SUITE_COUNT
};
#define ON(name) (1u << SUITE_##name)

/* ---------------------------------------------------------------- options: the only list */
#define ON_ALL                                                                                             \
    (ON(quality) | ON(scale) | ON(gaus) | ON(gflownet) | ON(sampler) | ON(paper) | ON(robust) | ON(real) | \
     ON(targets) | ON(memory) | ON(arena) | ON(hardware))
#define ON_RUNS (ON_ALL & ~ON(scale)) /* suites that run methods on many instances */

/* Field, kind, long name, value, preset, least, most, suites, help. */
#define OPTION_LIST(X)                                                                                       \
    X(data, TEXT, "data", "DIR", "../shared/data", 0, 0, ON_ALL & ~ON(gflownet) & ~ON(real),                 \
      "folder of the benchmark instances, or set SKED_BENCH_DATA")                                           \
    X(method, TEXT, "method", "M", "auto", 0, 0, ON(quality), "scheduling method")                           \
    X(time_limit, REAL, "time-limit", "S", NAN, 0, 1e9,                                                      \
      ON(quality) | ON(gaus) | ON(memory) | ON(arena) | ON(robust) | ON(real) | ON(hardware),                \
      "seconds per instance; without it, each set has its own limit")                                        \
    X(seed, INT, "seed", "N", 0, 0, 9e15, ON_ALL, "random seed")                                             \
    X(seeds, INT, "seeds", "N", 0, 1, 20, ON(paper) | ON(real),                                              \
      "paper: seeds of each method, from --seed on; without it 2, with --full 5. real: graphs of each "      \
      "family, one for each seed; without it 1")                                                             \
    X(full, FLAG, "full", "", false, 0, 0, ON(paper),                                                        \
      "the whole protocol: all graphs, longer training, the stepwise rows; hours, with a GPU")               \
    X(stepwise, FLAG, "stepwise", "", false, 0, 0, ON(paper),                                                \
      "the rows of the stepwise policy, which --full has")                                                   \
    X(updates, INT, "updates", "N", 0, 1, 1000000000, ON(paper),                                             \
      "updates of each model that a set trains; without it a few hundred, with --full 5,000 to 10,000")      \
    X(stepwise_updates, INT, "stepwise-updates", "N", 0, 1, 1000000000, ON(paper),                           \
      "updates of stepwise models that begin from nothing; without it as many as of the others")             \
    X(train, TEXT, "train", "auto|only|never", "auto", 0, 0, ON(paper),                                      \
      "auto: the models that are missing; only: these and no rows; never: the models of --models, whatever " \
      "backend has trained them, with the updates that they have")                                           \
    X(models, TEXT, "models", "DIR", "build/paper", 0, 0, ON(paper),                                         \
      "folder of the models that the tables train; those it has are taken as they are. Several runs may "    \
      "share it: each trains what no other is training")                                                     \
    X(results, WRITE, "results", "FILE", NULL, 0, 0, ON(paper),                                              \
      "read the results of earlier runs from this file and add new ones: tables go on where a run was "      \
      "stopped, and several runs (--seed, --rows) share the work")                                           \
    X(rows, TEXT, "rows", "TEXT", "", 0, 0, ON(paper),                                                       \
      "only the rows of methods whose name contains TEXT; of tune, the losses")                              \
    X(json, WRITE, "json", "FILE", NULL, 0, 0, ON(paper), "record all figures, one JSON object a line")      \
    X(threads, INT, "threads", "N", 1, 1, 1024, ON_RUNS, "number of threads")                                \
    X(model, READ, "model", "FILE", NULL, 0, 0,                                                              \
      ON(paper) | ON(targets) | ON(robust) | ON(real) | ON(sampler),                                         \
      "gflownet model; without it, the built-in one")                                                        \
    X(graphs, TEXT, "graphs", "random|networks|bare", "random", 0, 0, ON(robust),                            \
      "random: 50 ops, bytes known; bare: the same without bytes; networks: real ones of 100 to 600 ops")    \
    X(sample, INT, "sample", "N", 1, 1, 1000000, ON_RUNS, "run every N-th instance only")                    \
    X(only, TEXT, "only", "SET", "", 0, 0, ON_ALL & ~ON(targets), "run one set of the suite only")           \
    X(list, FLAG, "list", "", false, 0, 0, ON_RUNS & ~ON(gflownet) & ~ON(memory) & ~ON(arena),               \
      "print every instance, not only the row of its set")                                                   \
    X(devices, INT, "devices", "N", 4, 2, 1024, ON(real),                                                    \
      "devices of the sets threads and memory, at most as many as there are cores")                          \
    X(quick, FLAG, "quick", "", false, 0, 0, ON(sampler) | ON(real), "one graph of each kind and less time") \
    X(temperature, REAL, "temperature", "T", 0, 0, 1e6, ON(sampler),                                         \
      "of the draws; 0: those that follow the size of the problem")                                          \
    X(backend, TEXT, "backend", "auto|cpu|cuda", "cpu", 0, 0, ON(gflownet) | ON(gaus) | ON(paper),           \
      "where gaus, the set speed of gflownet, and the models of paper compute")                              \
    X(exact, FLAG, "exact", "", false, 0, 0, ON(gaus), "also run method exact, 60 s per small instance")     \
    X(output, OUTPUT, "output", "FILE", NO_VALUES, 0, 0, ON(paper),                                          \
      "draw the set temperature as SVG, short -o (repeatable)")                                              \
    X(quiet, FLAG, "quiet", "", false, 0, 0, ON_ALL, "no progress")

struct arguments {
    value_list operand;
    OPTION_LIST(OPTION_FIELD)
};

#define X(name, ...) sked_status bench_##name(arguments *a, sked_error *err);
SUITE_LIST(X)
#undef X
/* Sets of gaus; *run grows by those that --only admits. */
sked_status bench_gaus_loops(const arguments *a, int *run, sked_error *err);
/* Sets of gflownet, and what they time updates with: the clock after update `from` (0: as the caller set it)
 * and after the last one. note_update is a sked_train_options.progress with a lap for its data. */
typedef struct lap {
    int64_t from, to;
    double begin, end;
} lap;
void note_update(void *data, const sked_train_progress *p);
double rate_of_lap(const lap *l); /* updates a second in between */
sked_status bench_gflownet_threads(const arguments *a, sked_error *err);
sked_status bench_gflownet_backends(const arguments *a, sked_error *err);

/* ---------------------------------------------------------------- what the suites share */

/* Of /proc/cpuinfo, in buf. */
const char *processor_name(char *buf, size_t size);
/* One line that says where the figures come from: version, processor, seed, threads. */
void print_machine(const arguments *a);
/* True where the folder of benchmark instances exists; says so on standard output where it does not. */
bool have_data(const arguments *a);
/* data/part, in buf. */
const char *data_path(const arguments *a, const char *part, char *buf, size_t size);

/* Comma-separated rows with a header; fields may not contain commas or quotes. */
typedef struct csv {
    char *text;
    char **field; /* [rows * columns], row-major, the header is row 0 */
    int rows, columns;
} csv;
sked_status csv_read(const char *path, csv *out, sked_error *err);
void csv_free(csv *c);
const char *csv_get(const csv *c, int row, const char *column); /* "" where there is none */
double csv_number(const csv *c, int row, const char *column);   /* NAN where it is none */

/* quality.c: reads a graph with an op library given as JSON text ("": none). */
sked_status read_with_library(const char *file, const char *library, sked_graph **g, sked_error *err);
/* "MUL:2 ALU:1" and the kind of library into an op library: MUL and DIV take two steps, all else one. */
void express_library(const char *kind, const char *limits, char *out, size_t size);

/* networks.c: real networks on a number of devices, values held until their readers end. `totals` is the
 * set's. */
typedef sked_status network_run(const char *name, sked_problem *p, const sked_run_options *opt, void *totals,
                                sked_error *err);
sked_status each_network(const arguments *a, const csv *networks, int devices, network_run *run, void *totals,
                         sked_error *err);
/* The sets four and one. */
typedef sked_status networks_set(const arguments *a, const csv *networks, int devices, sked_error *err);
sked_status network_sets(arguments *a, networks_set *run, sked_error *err);

/* search.c: a part of suite scale. */
sked_status bench_search(const arguments *a, uint64_t seed, sked_error *err);
#endif
