/*
 * sked-bench gflownet --only backends: drawing and training on the CPU and on a GPU side by side, from small
 * work to large. What `--backend auto` goes by.
 */
#include "bench.h"

#include <math.h>

/* ---------------------------------------------------------------- drawing */

static sked_status time_draws(const arguments *a, const sked_sampler *m, const sked_problem *p, int32_t draws,
                              const char *backend, int calls, double *seconds, sked_error *err)
{
    sked_sample_options opt;
    sked_sample_options_init(&opt);
    opt.count = draws;
    opt.threads = (int)a->threads;
    opt.seed = (uint64_t)a->seed;
    opt.backend = backend;
    opt.stop = &stop_requested;
    *seconds = INFINITY;
    for (int k = 0; k < calls; k++) {
        sked_samples s = {.size = sizeof s};
        const double begin = sked_clock();
        const sked_status st = sked_sampler_sample(m, p, &opt, &s, err);
        *seconds = fmin(*seconds, sked_clock() - begin);
        sked_samples_clear(&s);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

/* The quickest of three calls each. */
static sked_status compare_draws(const arguments *a, const sked_sampler *m, int32_t ops, int32_t draws,
                                 sked_error *err)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = ops, .seed = 1000 + (uint64_t)a->seed};
    sked_graph *g = NULL;
    sked_problem p;
    double cpu = 0, gpu = 0;
    sked_status st = sked_graph_generate("layered", &how, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = 4;
    st = time_draws(a, m, &p, draws, "cpu", 3, &cpu, err);
    if (st == SKED_OK)
        st = time_draws(a, m, &p, draws, "cuda", 3, &gpu, err);
    if (st == SKED_OK && !stop_requested)
        printf("%8d %8d %12.2f %12.2f %9.2f\n", (int)ops, (int)draws, 1e3 * cpu, 1e3 * gpu, cpu / gpu);
    fflush(stdout);
    sked_graph_destroy(g);
    return st;
}

static sked_status draws(const arguments *a, sked_error *err)
{
    static const int32_t sizes[][2] = {{20, 10},   {20, 100},   {20, 1000}, {20, 10000}, {50, 10},
                                       {50, 100},  {50, 1000},  {200, 10},  {200, 100},  {200, 1000},
                                       {1000, 10}, {1000, 100}, {3000, 10}};
    sked_sampler *m = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    double first = 0;
    const sked_generate_options how = {.size = sizeof how, .nodes = 20, .seed = 1};
    sked_status st = sked_sampler_read(NULL, &m, err);
    if (st == SKED_OK)
        st = sked_graph_generate("layered", &how, &g, err);
    if (st == SKED_OK) {
        sked_problem_init(&p, g);
        p.devices = 4;
        st = time_draws(a, m, &p, 10, "cuda", 1, &first, err);
    }
    if (st == SKED_OK)
        printf("drawing, 4 devices; the first call on the GPU takes %.0f ms\n%8s %8s %12s %12s %9s\n",
               1e3 * first, "ops", "draws", "CPU [ms]", "GPU [ms]", "ratio");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes && st == SKED_OK && !stop_requested; k++)
        st = compare_draws(a, m, sizes[k][0], sizes[k][1], err);
    sked_graph_destroy(g);
    sked_sampler_destroy(m);
    return st;
}

/* ---------------------------------------------------------------- training */

/* Updates a second in half a second. */
static sked_status time_updates(const arguments *a, const char *source, const char *const *settings,
                                const char *backend, double *rate, sked_error *err)
{
    sked_train_options opt;
    sked_sampler *m = NULL;
    lap laps = {.from = 2};
    sked_train_options_init(&opt);
    opt.graphs = source;
    opt.devices = 4;
    opt.minutes = 0.5 / 60;
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.backend = backend;
    opt.settings = settings;
    opt.n_settings = 3;
    opt.stop = &stop_requested;
    opt.progress = note_update;
    opt.progress_data = &laps;
    const sked_status st = sked_train(&opt, &m, err);
    *rate = rate_of_lap(&laps);
    sked_sampler_destroy(m);
    return st;
}

static sked_status training(const arguments *a, sked_error *err)
{
    static const struct {
        const char *graphs, *settings[3];
    } course[] = {{"layered:20", {"validate=0", "graphs=1", "batch=4"}},
                  {"layered:20", {"validate=0", "graphs=1", "batch=16"}},
                  {"layered:20", {"validate=0", "graphs=4", "batch=16"}},
                  {"layered:50", {"validate=0", "graphs=1", "batch=8"}},
                  {"layered:50", {"validate=0", "graphs=1", "batch=32"}},
                  {"layered:50", {"validate=0", "graphs=1", "batch=100"}},
                  {"layered:50", {"validate=0", "graphs=4", "batch=100"}},
                  {"layered:300", {"validate=0", "graphs=1", "batch=24"}},
                  {"layered:300", {"validate=0", "graphs=4", "batch=100"}}};
    printf("training, 4 devices: updates/s\n%-14s %-10s %-10s %10s %10s %9s\n", "graphs", "", "", "CPU",
           "GPU", "ratio");
    sked_status st = SKED_OK;
    for (size_t k = 0; k < sizeof course / sizeof *course && st == SKED_OK && !stop_requested; k++) {
        double cpu = 0, gpu = 0;
        st = time_updates(a, course[k].graphs, course[k].settings, "cpu", &cpu, err);
        if (st == SKED_OK)
            st = time_updates(a, course[k].graphs, course[k].settings, "cuda", &gpu, err);
        if (st == SKED_OK && !stop_requested)
            printf("%-14s %-10s %-10s %10.1f %10.1f %9.2f\n", course[k].graphs, course[k].settings[1],
                   course[k].settings[2], cpu, gpu, gpu / cpu);
        fflush(stdout);
    }
    return st;
}

sked_status bench_gflownet_backends(const arguments *a, sked_error *err)
{
    sked_status st = draws(a, err);
    if (st == SKED_OK)
        st = training(a, err);
    putchar('\n');
    return st;
}
