/*
 * sked-bench gflownet: how fast the learned sampler trains and samples, and how it does on unseen graphs of
 * the five families of the paper, beside list scheduling, brkga and the paper's own figures.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool wanted(const arguments *a, const char *set)
{
    return a->only[0] == 0 || strcmp(a->only, set) == 0;
}

/* Wall and processor time from a start. The latter does not suffer from what else the machine does. */
typedef struct stopwatch {
    double wall;
    clock_t processor;
} stopwatch;

static stopwatch start_watch(void)
{
    return (stopwatch){sked_clock(), clock()};
}

static double processor_since(const stopwatch *w)
{
    return (double)(clock() - w->processor) / CLOCKS_PER_SEC;
}

/* ---------------------------------------------------------------- speed */

/* What is trained for the clock: settings, trajectories and number of updates, and the least rate that is
 * wanted on the CPU and on a GPU (updates a second). */
typedef struct lesson {
    const char *label, *settings[3];
    int trajectories, updates[2];
    double wanted[2];
} lesson;
enum { LESSON_ONE, LESSON_MANY, LESSON_STEPWISE };
static const lesson lessons[] = {
    {"training, 50 ops, 4 devices, batch 100",
     {"validate=0", "graphs=1", "policy=encode-once"},
     100,
     {30, 1500},
     {3, 300}},
    {"the same, 16 graphs an update",
     {"validate=0", "graphs=16", "policy=encode-once"},
     1600,
     {4, 300},
     {0.2, 62.5}},
    {"stepwise: training, the same sizes",
     {"validate=0", "graphs=1", "policy=stepwise"},
     100,
     {4, 200},
     {0.3, 40}},
};

static bool on_gpu(const arguments *a)
{
    return strcmp(a->backend, "cuda") == 0;
}

void note_update(void *data, const sked_train_progress *p)
{
    lap *l = data;
    l->end = sked_clock();
    l->to = p->step;
    if (p->step <= l->from)
        l->begin = l->end;
}

double rate_of_lap(const lap *l)
{
    return (double)(l->to - l->from) / (l->end - l->begin);
}

/* *m gets the model. */
static sked_status time_training(const arguments *a, const lesson *l, sked_sampler **m, sked_error *err)
{
    sked_train_options opt;
    const int updates = l->updates[on_gpu(a)];
    lap laps = {.from = updates / 5};
    sked_train_options_init(&opt);
    opt.graphs = "layered:50";
    opt.devices = 4;
    opt.steps = updates;
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.backend = a->backend;
    opt.settings = l->settings;
    opt.n_settings = 3;
    opt.stop = &stop_requested;
    opt.progress = note_update;
    opt.progress_data = &laps;
    const stopwatch w = start_watch();
    const sked_status st = sked_train(&opt, m, err);
    const double processor = processor_since(&w), rate = rate_of_lap(&laps);
    if (st == SKED_OK && !stop_requested)
        printf("%-44s %9.2f updates/s (wanted %g), %.0f trajectories/s   %.4f s of processor time each\n",
               l->label, rate, l->wanted[on_gpu(a)], rate * l->trajectories, processor / updates);
    return st;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of some calls, after one that is not counted. limit: seconds wanted at most; 0: none is set. */
static sked_status time_sampling(const arguments *a, const sked_sampler *m, const char *who, int32_t ops,
                                 int32_t count, double limit, sked_error *err)
{
    enum { most = 5 };
    const sked_generate_options how = {.size = sizeof how, .nodes = ops, .seed = 1000 + (uint64_t)a->seed};
    const int calls = on_gpu(a) ? most : 1;
    sked_graph *g = NULL;
    sked_problem p;
    sked_sample_options opt;
    double wall[most] = {0};
    char label[80], wanted_text[40] = "";
    stopwatch w = start_watch();
    sked_status st = sked_graph_generate("layered", &how, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = 4;
    sked_sample_options_init(&opt);
    opt.count = count;
    opt.threads = (int)a->threads;
    opt.seed = (uint64_t)a->seed;
    opt.backend = a->backend;
    for (int k = on_gpu(a) ? -1 : 0; k < calls && st == SKED_OK; k++) {
        sked_samples s = {.size = sizeof s};
        w = start_watch();
        st = sked_sampler_sample(m, &p, &opt, &s, err);
        wall[k > 0 ? k : 0] = sked_clock() - w.wall;
        sked_samples_clear(&s);
    }
    const double processor = processor_since(&w);
    qsort(wall, (size_t)calls, sizeof *wall, by_value);
    snprintf(label, sizeof label, "%ssampling %d schedules of %d ops", who, (int)count, (int)ops);
    if (limit > 0)
        snprintf(wanted_text, sizeof wanted_text, "(wanted %g)", limit);
    if (st == SKED_OK)
        printf("%-44s %9.4f s %-20s %.4f s of processor time\n", label, wall[calls / 2], wanted_text,
               processor);
    sked_graph_destroy(g);
    return st;
}

static sked_status speed(const arguments *a, const sked_sampler *m, sked_error *err)
{
    sked_sampler *once = NULL, *many = NULL, *stepwise = NULL;
    const bool gpu = on_gpu(a);
    printf("speed: %lld parameters, %d threads, backend %s\n", (long long)sked_sampler_parameter_count(m),
           (int)a->threads, a->backend);
    sked_status st = time_training(a, &lessons[LESSON_ONE], &once, err);
    if (st == SKED_OK)
        st = time_training(a, &lessons[LESSON_MANY], &many, err);
    if (st == SKED_OK)
        st = time_sampling(a, m, "", 50, 1000, gpu ? 0.005 : 0.5, err);
    if (st == SKED_OK)
        st = time_sampling(a, m, "", 1000, gpu ? 1000 : 100, gpu ? 0.3 : 10, err);
    if (st == SKED_OK)
        st = time_training(a, &lessons[LESSON_STEPWISE], &stepwise, err);
    if (st == SKED_OK)
        st = time_sampling(a, stepwise, "stepwise: ", 50, 100, 0, err);
    putchar('\n');
    sked_sampler_destroy(once);
    sked_sampler_destroy(many);
    sked_sampler_destroy(stepwise);
    return st;
}

/* ---------------------------------------------------------------- quality */

typedef struct row {
    double top1, top100, ged, d_inv, d_sen;
} row;

static void add_row(row *sum, const row *r, double weight)
{
    sum->top1 += weight * r->top1;
    sum->top100 += weight * r->top100;
    sum->ged += weight * r->ged;
    sum->d_inv += weight * r->d_inv;
    sum->d_sen += weight * r->d_sen;
}

static sked_status run_one(const arguments *a, const sked_problem *p, const char *method, int32_t candidates,
                           row *out, sked_error *err)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_diversity d = {.size = sizeof d};
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.candidates = candidates;
    opt.top = 100;
    opt.iterations = strcmp(method, "brkga") == 0 ? 200 : 0;
    opt.stop = &stop_requested;
    sked_status st = sked_method_run(method, p, &opt, &r, err);
    *out = (row){0};
    for (int32_t k = 0; st == SKED_OK && k < r.count; k++) {
        sked_metrics m = {.size = sizeof m};
        st = sked_schedule_measure(p, r.schedule[k], &m, err);
        out->top1 = k == 0 ? m.speedup : out->top1;
        out->top100 += m.speedup / r.count;
    }
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)r.schedule, r.count, &d, err);
    out->ged = d.ged;
    out->d_inv = d.d_inv;
    out->d_sen = d.d_sen;
    sked_result_clear(&r);
    return st;
}

static const struct contender {
    const char *method;
    int32_t candidates;
    row paper; /* 50-op graphs, mean of the five families */
} contenders[] = {
    {"list", 1, {3.44, 3.44, 0, 0, 0}},
    {"brkga", 1000, {3.46, 3.45, 46.59, 12.75, 40.11}},
    {"gflownet", 1000, {3.46, 3.41, 92.02, 24.27, 90.17}},
};
enum { n_contenders = sizeof contenders / sizeof *contenders };

static void print_row(const char *family, const char *method, const row *r)
{
    printf("%-18s %-10s %8.3f %8.3f %8.2f %8.2f %8.2f\n", family, method, r->top1, r->top100, r->ged,
           r->d_inv, r->d_sen);
}

static sked_status run_family(const arguments *a, const char *family, int graphs, row *mean, sked_error *err)
{
    for (int i = 0; i < graphs; i++) {
        const sked_generate_options how = {.size = sizeof how, .nodes = 50, .seed = 70000 + (uint64_t)i};
        sked_graph *g = NULL;
        sked_status st = sked_graph_generate(family, &how, &g, err);
        for (int k = 0; st == SKED_OK && k < n_contenders; k++) {
            sked_problem p;
            row r;
            sked_problem_init(&p, g);
            p.devices = 4;
            st = run_one(a, &p, contenders[k].method, contenders[k].candidates, &r, err);
            if (st == SKED_OK)
                add_row(&mean[k], &r, 1.0 / graphs);
        }
        sked_graph_destroy(g);
        if (st != SKED_OK)
            return st;
    }
    for (int k = 0; k < n_contenders; k++)
        print_row(family, contenders[k].method, &mean[k]);
    return SKED_OK;
}

static sked_status quality(const arguments *a, sked_error *err)
{
    static const char *const families[] = {"erdos-renyi", "layered", "stochastic-block", "watts-strogatz",
                                           "barabasi-albert"};
    enum { n_families = sizeof families / sizeof *families };
    const int graphs = a->sample > 1 ? 1 : 5;
    row all[n_contenders] = {0};
    printf("quality: %d unseen graphs of 50 ops a family, 4 devices; 1000 candidates\n"
           "%-18s %-10s %8s %8s %8s %8s %8s\n",
           graphs, "family", "method", "top 1", "top 100", "GED [%]", "d_inv", "d_sen");
    for (int f = 0; f < n_families; f++) {
        row mean[n_contenders] = {0};
        const sked_status st = run_family(a, families[f], graphs, mean, err);
        if (st != SKED_OK)
            return st;
        for (int k = 0; k < n_contenders; k++)
            add_row(&all[k], &mean[k], 1.0 / n_families);
    }
    for (int k = 0; k < n_contenders; k++)
        print_row("mean", contenders[k].method, &all[k]);
    for (int k = 0; k < n_contenders; k++)
        print_row("paper, mean", contenders[k].method, &contenders[k].paper);
    printf("(the paper's graphs are other graphs of the same families; brkga here: 200 generations)\n");
    return SKED_OK;
}

sked_status bench_gflownet(arguments *a, sked_error *err)
{
    sked_sampler *m = NULL;
    sked_status st = sked_sampler_read(NULL, &m, err);
    if (st == SKED_OK && !wanted(a, "speed") && !wanted(a, "threads") && !wanted(a, "backends") &&
        !wanted(a, "quality"))
        st = fail(err, SKED_ERR_ARGUMENT, "the sets of this suite are speed, threads, backends and quality");
    if (st == SKED_OK)
        print_machine(a);
    if (st == SKED_OK && strcmp(a->only, "threads") == 0) /* not with the others: it takes long */
        st = bench_gflownet_threads(a, err);
    if (st == SKED_OK && strcmp(a->only, "backends") == 0) /* nor this: it needs a GPU */
        st = bench_gflownet_backends(a, err);
    if (st == SKED_OK && wanted(a, "speed"))
        st = speed(a, m, err);
    if (st == SKED_OK && wanted(a, "quality"))
        st = quality(a, err);
    sked_sampler_destroy(m);
    return st;
}
