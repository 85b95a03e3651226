/* sked-bench gflownet --only threads: training on 1, 2, 4, ... threads up to --threads. */
#include "bench.h"

#include <math.h>

/* What is trained: `graphs` as the settings say, and updates for one thread. */
typedef struct course {
    const char *name, *settings[3];
    int graphs, updates;
} course;

static sked_status train(const arguments *a, const course *c, int threads, double *seconds, sked_error *err)
{
    sked_sampler *m = NULL;
    sked_train_options opt;
    sked_train_options_init(&opt);
    opt.graphs = "layered:50";
    opt.devices = 4;
    opt.steps = c->updates * threads; /* about as long for every number of threads */
    opt.seed = (uint64_t)a->seed;
    opt.threads = threads;
    opt.backend = "cpu";
    opt.settings = c->settings;
    opt.n_settings = sizeof c->settings / sizeof *c->settings;
    opt.stop = &stop_requested;
    const double begin = sked_clock();
    const sked_status st = sked_train(&opt, &m, err);
    *seconds = sked_clock() - begin;
    sked_sampler_destroy(m);
    return st;
}

/* Updates a second: the quickest of three runs; 0 where they were stopped. */
static sked_status rate_of(const arguments *a, const course *c, int threads, double *rate, sked_error *err)
{
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        double seconds;
        const sked_status st = train(a, c, threads, &seconds, err);
        if (st != SKED_OK)
            return st;
        best = seconds < best ? seconds : best;
    }
    *rate = stop_requested ? 0 : c->updates * threads / best;
    return SKED_OK;
}

static sked_status scale(const arguments *a, const course *c, sked_error *err)
{
    double alone = 0, rate = 1;
    for (int threads = 1; threads <= (int)a->threads && rate > 0; threads *= 2) {
        const sked_status st = rate_of(a, c, threads, &rate, err);
        if (st != SKED_OK)
            return st;
        alone = threads == 1 ? rate : alone;
        if (rate > 0)
            printf("%-36s %8d %12.2f %16.0f %8.2f\n", c->name, threads, rate, 100 * rate * c->graphs,
                   rate / alone);
        fflush(stdout);
    }
    return SKED_OK;
}

sked_status bench_gflownet_threads(const arguments *a, sked_error *err)
{
    static const course courses[] = {
        {"encode-once, one graph an update", {"validate=0", "graphs=1", "policy=encode-once"}, 1, 12},
        {"encode-once, 4 graphs", {"validate=0", "graphs=4", "policy=encode-once"}, 4, 3},
        {"encode-once, 16 graphs", {"validate=0", "graphs=16", "policy=encode-once"}, 16, 1},
        {"stepwise, one graph", {"validate=0", "graphs=1", "policy=stepwise"}, 1, 1}};
    sked_status st = SKED_OK;
    printf("threads: training, 50 ops, 4 devices, batch 100\n%-36s %8s %12s %16s %8s\n", "", "threads",
           "updates/s", "trajectories/s", "ratio");
    for (size_t k = 0; k < sizeof courses / sizeof *courses && st == SKED_OK; k++)
        st = scale(a, &courses[k], err);
    putchar('\n');
    return st;
}
