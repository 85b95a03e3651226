/* sked-bench scale: speed and memory as the graphs grow; gaps of the quick methods on known instances. */
#define _DEFAULT_SOURCE
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static sked_status make_layered(int32_t nodes, uint64_t seed, sked_graph **out, sked_error *err)
{
    const sked_generate_options opt = {
        .size = sizeof opt, .nodes = nodes, .seed = seed, .duration = "int:1,10"};
    return sked_graph_generate("layered", &opt, out, err);
}

/* Seconds of one `list` run on 8 devices as the method reports them, best of three. */
static sked_status time_list(const sked_graph *g, double *seconds, double *build, sked_error *err)
{
    sked_problem p;
    sked_run_options opt;
    sked_problem_init(&p, g);
    p.devices = 8;
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    *seconds = *build = INFINITY;
    for (int k = 0; k < 3; k++) {
        sked_result r = {.size = sizeof r};
        const sked_status st = sked_method_run("list", &p, &opt, &r, err);
        if (st != SKED_OK)
            return st;
        *seconds = fmin(*seconds, r.seconds);
        *build = fmin(*build, r.build_seconds);
        sked_result_clear(&r);
    }
    return SKED_OK;
}

static sked_status bench_list(const arguments *a, uint64_t seed, sked_error *err)
{
    (void)a;
    static const int32_t sizes[] = {10000, 100000, 1000000};
    double before = NAN;
    printf("\nlist, layered graph, 8 devices (best of 3; must: 1 M ops/s at 1 M ops, time(1 M) <= 15 x "
           "time(100 k))\n");
    printf("%10s %12s %12s %14s %16s %12s\n", "ops", "edges", "method [s]", "ops/s", "with checks [s]",
           "x previous");
    for (int i = 0; i < 3; i++) {
        sked_graph *g = NULL;
        double total = 0, build = 0;
        sked_status st = make_layered(sizes[i], seed, &g, err);
        if (st == SKED_OK)
            st = time_list(g, &total, &build, err);
        if (st == SKED_OK)
            printf("%10d %12lld %12.4f %14.0f %16.4f %12.2f\n", (int)sked_graph_op_count(g),
                   (long long)sked_graph_edge_count(g), build, sked_graph_op_count(g) / build, total,
                   build / before);
        before = build;
        sked_graph_destroy(g);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

static uint64_t step(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Simulates `batch` random assignments of one graph in index order, which generators make topological. */
static sked_status time_simulator(const sked_graph *g, int32_t batch, double *rate, sked_error *err)
{
    const int32_t n = sked_graph_op_count(g);
    const size_t cells = (size_t)n * (size_t)batch;
    sked_problem p;
    sked_simulator *sim = NULL;
    int32_t *device = malloc(cells * sizeof *device), *order = malloc(cells * sizeof *order);
    double *makespan = malloc((size_t)batch * sizeof *makespan);
    uint64_t state = 1;
    sked_problem_init(&p, g);
    p.devices = 4;
    sked_status st = SKED_OK;
    if (!device || !order || !makespan)
        st = fail(err, SKED_ERR_MEMORY, "out of memory");
    if (st == SKED_OK)
        st = sked_simulator_create(&p, &sim, err);
    if (st == SKED_OK)
        sked_graph_topological(g, order);
    for (size_t i = 0; st == SKED_OK && i < cells; i++) {
        device[i] = (int32_t)(step(&state) % 4);
        order[i] = order[i % (size_t)n];
    }
    int64_t done = 0;
    const double begin = sked_clock();
    while (st == SKED_OK && sked_clock() - begin < 0.5) {
        sked_simulator_run(sim, batch, device, order, false, makespan, NULL);
        done += batch;
    }
    *rate = (double)done * n / (sked_clock() - begin);
    sked_simulator_destroy(sim);
    free(device);
    free(order);
    free(makespan);
    return st;
}

static sked_status bench_simulator(const arguments *a, uint64_t seed, sked_error *err)
{
    (void)a;
    static const int32_t sizes[] = {100, 1000, 10000, 100000, 1000000};
    printf("\nsimulator, layered graph, 4 devices, one core (must: 20 M op evaluations/s at 1,000 ops; "
           "linear)\n");
    printf("%10s %12s %22s %18s\n", "ops", "edges", "op evaluations/s", "ns per op + edge");
    for (int i = 0; i < 5; i++) {
        sked_graph *g = NULL;
        double rate = 0;
        sked_status st = make_layered(sizes[i], seed, &g, err);
        if (st == SKED_OK)
            st = time_simulator(g, sizes[i] <= 10000 ? 100000 / sizes[i] : 1, &rate, err);
        if (st == SKED_OK) {
            const double n = sked_graph_op_count(g), m = (double)sked_graph_edge_count(g);
            printf("%10.0f %12.0f %22.0f %18.3f\n", n, m, rate, 1e9 / rate * n / (n + m));
        }
        sked_graph_destroy(g);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

/* What a child process reports about its one task. */
typedef struct outcome {
    double status, seconds, peak; /* peak: memory it took beyond what it was born with */
} outcome;

/*
 * Runs work in a child process, so that its memory is its own and this process stays small. Children are made
 * before anything large is built here.
 */
static sked_status in_child(sked_status (*work)(void *data, sked_error *err), void *data, outcome *out,
                            sked_error *err)
{
    int channel[2];
    if (pipe(channel) != 0)
        return fail(err, SKED_ERR_IO, "cannot create a pipe");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        sked_error why = {0};
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        const double begin = sked_clock();
        outcome mine = {.status = work(data, &why)};
        mine.seconds = sked_clock() - begin;
        getrusage(RUSAGE_SELF, &after);
        mine.peak = 1024.0 * (double)(after.ru_maxrss - before.ru_maxrss);
        _exit(write(channel[1], &mine, sizeof mine) == sizeof mine ? 0 : 1);
    }
    close(channel[1]);
    const bool arrived = child > 0 && read(channel[0], out, sizeof *out) == sizeof *out;
    close(channel[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (!arrived || out->status != SKED_OK)
        return fail(err, arrived ? (sked_status)out->status : SKED_ERR_IO,
                    "a file of the suite cannot be written or read");
    return SKED_OK;
}

typedef struct sample {
    char path[512];
    int32_t nodes;
    uint64_t seed;
} sample;

static sked_status write_sample(void *data, sked_error *err)
{
    const sample *s = data;
    sked_graph *g = NULL;
    sked_status st = make_layered(s->nodes, s->seed, &g, err);
    if (st == SKED_OK)
        st = sked_graph_write(g, s->path, NULL, err);
    sked_graph_destroy(g);
    return st;
}

static sked_status read_sample(void *data, sked_error *err)
{
    const sample *s = data;
    sked_graph *g = NULL;
    return sked_graph_read(s->path, NULL, &g,
                           err); /* the process ends: nothing is freed, nothing timed for it */
}

static sked_status bench_format(const char *folder, const char *extension, int32_t nodes, uint64_t seed,
                                sked_error *err)
{
    sample s = {.nodes = nodes, .seed = seed};
    struct stat info = {0};
    outcome best = {.seconds = INFINITY}, once;
    snprintf(s.path, sizeof s.path, "%s/graph%s", folder, extension);
    sked_status st = in_child(write_sample, &s, &once, err);
    if (st == SKED_OK && stat(s.path, &info) != 0)
        st = fail(err, SKED_ERR_IO, "%s: cannot be found", s.path);
    for (int k = 0; st == SKED_OK && k < 3; k++) {
        st = in_child(read_sample, &s, &once, err);
        best = once.seconds < best.seconds ? once : best;
    }
    const double size = (double)info.st_size;
    if (st == SKED_OK)
        printf("%10s %10d %10.2f %10.4f %10.1f %16.2f\n", extension, (int)nodes, 1e-6 * size, best.seconds,
               1e-6 * size / best.seconds, best.peak / size);
    unlink(s.path);
    return st;
}

static sked_status bench_formats(const arguments *a, uint64_t seed, sked_error *err)
{
    (void)a;
    char folder[] = "/tmp/sked-bench-XXXXXX";
    if (mkdtemp(folder) == NULL)
        return fail(err, SKED_ERR_IO, "cannot create a temporary folder");
    printf("\nloading, best of 3 (must: native 1 M ops at 50 MB/s in less than 8 x the file; 10,000 ops well "
           "under a "
           "second)\n");
    printf("%10s %10s %10s %10s %10s %16s\n", "format", "ops", "MB", "seconds", "MB/s", "memory / file");
    static const struct {
        const char *extension;
        int32_t nodes;
    } cases[] = {{".json", 1000000}, {".json", 10000}, {".stg", 10000},
                 {".gml", 10000},    {".dot", 10000},  {".graphml", 10000}};
    sked_status st = SKED_OK;
    for (size_t i = 0; st == SKED_OK && i < sizeof cases / sizeof *cases; i++)
        st = bench_format(folder, cases[i].extension, cases[i].nodes, seed, err);
    rmdir(folder);
    return st;
}

static sked_status value_of(const char *path, const char *method, int32_t devices, sked_objective o,
                            double *value, sked_error *err)
{
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_status st = sked_graph_read(path, NULL, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = devices;
    p.objective = o;
    if (o == SKED_OBJECTIVE_II)
        p.ii = SKED_II_AUTO;
    st = sked_method_run(method, &p, NULL, &r, err);
    if (st == SKED_OK)
        *value = r.value;
    sked_result_clear(&r);
    sked_graph_destroy(g);
    return st;
}

/* Mean gap of a quick method to the reference values of one table, by group (devices, or all). */
static sked_status bench_gap(const arguments *a, const char *table, const char *file, const char *best,
                             const char *method, sked_objective o, int32_t devices, sked_error *err)
{
    csv c = {0};
    char path[1024], part[512];
    const char *slash = strchr(table, '/');
    sked_status st = csv_read(data_path(a, table, path, sizeof path), &c, err);
    double sum = 0;
    int n = 0, met = 0;
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        double value = NAN;
        const double reference = csv_number(&c, i, best);
        if ((devices > 0 && csv_number(&c, i, "m") != devices) || !(reference > 0))
            continue;
        snprintf(part, sizeof part, "%.*s/%s", (int)(slash - table), table, csv_get(&c, i, file));
        st = value_of(data_path(a, part, path, sizeof path), method, devices, o, &value, err);
        sum += value / reference - 1;
        met += value <= reference;
        n++;
    }
    if (st == SKED_OK && n > 0) {
        char group[32] = "loops";
        if (devices > 0)
            snprintf(group, sizeof group, "m = %d", (int)devices);
        printf("%-14.*s %-14s %-10s %6d %14.2f %12.1f\n", (int)(slash - table), table, method, group, n,
               100 * sum / n, 100.0 * met / n);
    }
    csv_free(&c);
    return st;
}

static sked_status bench_gaps(const arguments *a, uint64_t seed, sked_error *err)
{
    (void)seed;
    printf("\nquick methods against reference values\n");
    if (!have_data(a))
        return SKED_OK;
    printf("%-14s %-14s %-10s %6s %14s %12s\n", "", "method", "group", "n", "mean gap [%]", "met [%]");
    sked_status st = SKED_OK;
    static const int32_t devices[] = {2, 4, 8, 16};
    for (int i = 0; st == SKED_OK && i < 4; i++)
        st = bench_gap(a, "stg/ref_makespan.csv", "file", "ub", "list", SKED_OBJECTIVE_MAKESPAN, devices[i],
                       err);
    if (st == SKED_OK)
        st = bench_gap(a, "modulo/ref_II.csv", "graph", "II_best", "modulo-list", SKED_OBJECTIVE_II, 0, err);
    return st;
}

sked_status bench_scale(arguments *a, sked_error *err)
{
    static const struct {
        const char *name;
        sked_status (*run)(const arguments *a, uint64_t seed, sked_error *err);
    } parts[] = {{"formats", bench_formats},
                 {"list", bench_list},
                 {"simulator", bench_simulator},
                 {"search", bench_search},
                 {"gaps", bench_gaps}};
    const uint64_t seed = (uint64_t)a->seed;
    sked_status st = SKED_OK;
    int ran = 0;
    print_machine(a);
    for (size_t i = 0; st == SKED_OK && i < sizeof parts / sizeof *parts; i++) {
        if (a->only[0] != 0 && strcmp(a->only, parts[i].name) != 0)
            continue;
        st = parts[i].run(a, seed, err);
        ran++;
    }
    if (st == SKED_OK && ran == 0)
        st = fail(err, SKED_ERR_ARGUMENT, "no part is called '%.60s': formats, list, simulator, search, gaps",
                  a->only);
    return st;
}
