/* sked-bench gflownet --only threads: training on 1, 2, 4, ... threads up to --threads. */
#include "bench.h"

#include <stdlib.h>

/* What is trained: `graphs` as the settings say, and updates for one thread. */
typedef struct course {
    const char *name, *settings[3];
    int graphs, updates;
} course;

/* Updates a second after the first fifth, if there are as many: what comes before is made once. 0 where it
 * was stopped. */
static sked_status train(const arguments *a, const course *c, int threads, double *rate, sked_error *err)
{
    const int updates = c->updates * threads; /* about as long for every number of threads */
    lap laps = {.from = updates / 5, .begin = sked_clock()};
    sked_sampler *m = NULL;
    sked_train_options opt;
    sked_train_options_init(&opt);
    opt.graphs = "layered:50";
    opt.devices = 4;
    opt.steps = updates;
    opt.seed = (uint64_t)a->seed;
    opt.threads = threads;
    opt.backend = "cpu";
    opt.settings = c->settings;
    opt.n_settings = sizeof c->settings / sizeof *c->settings;
    opt.stop = &stop_requested;
    opt.progress = note_update;
    opt.progress_data = &laps;
    const sked_status st = sked_train(&opt, &m, err);
    *rate = stop_requested ? 0 : rate_of_lap(&laps);
    sked_sampler_destroy(m);
    return st;
}

static int by_rate(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * 1, 2, 4, ... threads in turn, again and again, so that a slow moment of the machine is not one row's. The
 * ratio is that of medians.
 */
static sked_status scale(const arguments *a, const course *c, sked_error *err)
{
    enum { most = 11, runs = 5 }; /* the largest number of threads has ten bits */
    double rate[most][runs];
    for (int k = 0; k < runs; k++)
        for (int j = 0; 1 << j <= (int)a->threads; j++) {
            const sked_status st = train(a, c, 1 << j, &rate[j][k], err);
            if (st != SKED_OK || rate[j][k] == 0)
                return st;
        }
    for (int j = 0; 1 << j <= (int)a->threads; j++) {
        qsort(rate[j], runs, sizeof *rate[j], by_rate);
        const double median = rate[j][runs / 2];
        printf("%-36s %8d %12.2f %8.2f %16.0f %8.2f\n", c->name, 1 << j, median, rate[j][runs - 1],
               100 * median * c->graphs, median / rate[0][runs / 2]);
    }
    fflush(stdout);
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
    printf("threads: training, 50 ops, 4 devices, batch 100\n%-36s %8s %12s %8s %16s %8s\n", "", "threads",
           "updates/s", "best", "trajectories/s", "ratio");
    for (size_t k = 0; k < sizeof courses / sizeof *courses && st == SKED_OK; k += (size_t)a->sample)
        st = scale(a, &courses[k], err);
    putchar('\n');
    return st;
}
