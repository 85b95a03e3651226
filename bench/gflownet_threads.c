/* sked-bench gflownet --only threads: training on 1, 2, 4, ... threads up to --threads. */
#include "bench.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Runs as a program of its own, and prints its rate; 0 where it failed. */
static void train_apart(const arguments *a, const course *c, int to)
{
    sked_error err = {0};
    double rate = 0;
    if (train(a, c, 1, &rate, &err) != SKED_OK)
        rate = 0;
    _exit(write(to, &rate, sizeof rate) == (ssize_t)sizeof rate ? 0 : 1);
}

/*
 * So many programs of one thread each at the same time, and what they do together: as much as the machine
 * gives to that many threads. *sum is 0 where one of them failed or was stopped.
 */
static sked_status train_side_by_side(const arguments *a, const course *c, int programs, double *sum,
                                      sked_error *err)
{
    int ends[2], begun = 0, told = 0;
    double rate;
    *sum = 0;
    if (pipe(ends) != 0)
        return fail(err, SKED_ERR_IO, "a pipe cannot be had");
    fflush(stdout);
    for (pid_t child = 1; begun < programs && child > 0; begun += child > 0) {
        child = fork();
        if (child == 0)
            train_apart(a, c, ends[1]);
    }
    close(ends[1]);
    for (; read(ends[0], &rate, sizeof rate) == (ssize_t)sizeof rate && rate > 0; told++)
        *sum += rate;
    close(ends[0]);
    for (int k = 0; k < begun; k++)
        wait(NULL);
    *sum = told == programs ? *sum : 0;
    return begun == programs ? SKED_OK : fail(err, SKED_ERR_IO, "%d programs cannot be started", programs);
}

enum { MOST_ROWS = 11, RUNS = 5 }; /* the largest number of threads has ten bits */

static double median_of(double *rates)
{
    qsort(rates, RUNS, sizeof *rates, by_rate);
    return rates[RUNS / 2];
}

static void print_rows(const course *c, int rows, double rate[][RUNS], double *together)
{
    const double one = median_of(rate[0]), all = median_of(together);
    double last = one;
    for (int j = 0; j < rows; j++) {
        last = median_of(rate[j]);
        printf("%-36s %8d %12.2f %8.2f %16.0f %8.2f\n", c->name, 1 << j, last, rate[j][RUNS - 1],
               100 * last * c->graphs, last / one);
    }
    const int programs = 1 << (rows - 1);
    printf(
        "%d programs of one thread side by side: %.2f together, %.2f each; %d threads: %.0f %% of it, %.2f "
        "times one of them\n",
        programs, all, all / programs, programs, 100 * last / all, last * programs / all);
    fflush(stdout);
}

/*
 * 1, 2, 4, ... threads in turn, then as many programs, in repeated rounds, so that a slow moment of the
 * machine is not one row's. Ratios are those of medians. One thread alone may have a faster processor than
 * one of many (its clock, the other half of its core, the neighbours of a virtual machine): the programs say
 * by how much.
 */
static sked_status scale(const arguments *a, const course *c, sked_error *err)
{
    double rate[MOST_ROWS][RUNS], together[RUNS];
    int rows = 0;
    for (int k = 0; k < RUNS; k++) {
        for (rows = 0; 1 << rows <= (int)a->threads; rows++) {
            const sked_status st = train(a, c, 1 << rows, &rate[rows][k], err);
            if (st != SKED_OK || rate[rows][k] == 0)
                return st;
        }
        const sked_status st = train_side_by_side(a, c, 1 << (rows - 1), &together[k], err);
        if (st != SKED_OK || together[k] == 0)
            return st;
    }
    print_rows(c, rows, rate, together);
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
