/*
 * sked-bench robust: the loop that learns a machine while it measures it, on simulated targets. A share is
 * the best speedup on the target over that of `search` which knows the target (sked_target_truth). Where no
 * problem states the target, over the best of 10,000 schedules of random list scheduling, all measured.
 * Beside it: the one-shot pipeline, every method with the same stages and 100 measurements. At the end it
 * says where the loop is below what it must reach, and below the one-shot pipeline.
 */
#include "graphs.h"

#include <math.h>
#include <string.h>

enum {
    DEVICES = 4,
    OPS = 50,
    GRAPHS = 10, /* five families, two seeds */
    CANDIDATES = 1000,
    TOP = 100,
    RANDOM_LISTS = 10000,
    MARKS = 8,   /* most numbers of measurements that a set looks at */
    MEMBERS = 8, /* most methods of the one-shot pipeline */
};
static const double informed_seconds = 2, loop_seconds = 10;

/* ---------------------------------------------------------------- sets */

typedef struct set {
    const char *name, *target;
    int32_t mark[MARKS]; /* 0: no more */
    int32_t judged;      /* after this many measurements the share, in percent, */
    double must, stretch;
    bool informed; /* false: over the best of many random list schedules */
} set;

static const set sets[] = {
    {"bandwidth", "bandwidth", {1, 2, 3, 4, 8, 10, 12}, 10, 97, 99, true},
    {"latency", "latency", {1, 2, 3, 4, 8, 10, 12}, 10, 97, 99, true},
    {"linear", "linear", {1, 2, 3, 4, 8, 10, 12}, 10, 97, 99, true},
    {"noisy", "noisy+linear", {1, 2, 4, 8, 16, 30}, 30, 93, 96, true},
    {"traces", "noisy+linear:trace=true", {1, 2, 5}, 5, 98, 99.5, true},
    {"contention", "linear+contention", {1, 2, 5, 10, 20, 30}, 30, 100, 100.1, false},
    {"cache", "linear+cache", {1, 2, 5, 10, 20, 30}, 30, 100, 100.1, false},
};
enum { N_SETS = sizeof sets / sizeof *sets };

static int mark_count(const set *s)
{
    int n = 0;
    while (n < MARKS && s->mark[n] > 0)
        n++;
    return n;
}

static int judged_mark(const set *s)
{
    int k = 0;
    while (s->mark[k] != s->judged)
        k++;
    return k;
}

/* ---------------------------------------------------------------- figures */

typedef struct figure {
    double sum, squares;
    int n;
} figure;

static void add(figure *f, double x)
{
    f->sum += x;
    f->squares += x * x;
    f->n++;
}

static double mean(const figure *f)
{
    return f->n > 0 ? f->sum / f->n : NAN;
}

/* Standard deviation over the graphs; 0 for one. */
static double deviation(const figure *f)
{
    return f->n > 1 ? sqrt(fmax(0, (f->squares - f->sum * f->sum / f->n) / (f->n - 1))) : 0;
}

typedef struct member {
    char label[64];
    figure share;
} member;

typedef struct table {
    const set *set;
    figure loop[MARKS], seconds, measurements;
    member one_shot[MEMBERS];
    int members;
    int below; /* graphs on which the one-shot pipeline found better */
} table;

static figure *share_of(table *t, const char *label)
{
    for (int i = 0; i < t->members; i++)
        if (strcmp(t->one_shot[i].label, label) == 0)
            return &t->one_shot[i].share;
    if (t->members == MEMBERS)
        return NULL;
    snprintf(t->one_shot[t->members].label, sizeof t->one_shot->label, "%s", label);
    return &t->one_shot[t->members++].share;
}

/* ---------------------------------------------------------------- what could be known */

static sked_status measure(sked_target *t, const sked_schedule *s, double *best, sked_error *err)
{
    sked_measurement said = {.size = sizeof said};
    const sked_status st = sked_target_measure(t, s, &said, err);
    if (st == SKED_OK)
        *best = fmin(*best, said.time);
    sked_measurement_clear(&said);
    return st;
}

/* Speedup of search that knows the target, or of the best of many random list schedules. */
static sked_status find_reference(const arguments *a, const sked_problem *p, const set *s, uint64_t seed,
                                  double *speedup, sked_error *err)
{
    static const char *const random[] = {"priority=random"};
    sked_target *t = NULL;
    sked_run_options run;
    sked_result r = {.size = sizeof r};
    double best = INFINITY;
    sked_run_options_init(&run);
    run.seed = seed;
    run.threads = (int)a->threads;
    run.stop = &stop_requested;
    run.time_limit = s->informed ? informed_seconds : INFINITY;
    run.candidates = s->informed ? 0 : RANDOM_LISTS;
    run.settings = random;
    run.n_settings = s->informed ? 0 : 1;
    sked_status st = sked_target_create(s->target, p, seed, &t, err);
    if (st == SKED_OK)
        st = s->informed ? sked_method_run("search", sked_target_truth(t), &run, &r, err)
                         : sked_method_run("list", p, &run, &r, err);
    for (int32_t k = 0; st == SKED_OK && k < r.count; k++)
        st = measure(t, r.schedule[k], &best, err);
    if (st == SKED_OK)
        *speedup = sked_target_work(t) / best;
    sked_result_clear(&r);
    sked_target_destroy(t);
    return st;
}

/* ---------------------------------------------------------------- one graph */

static void fill_options(const arguments *a, const set *s, uint64_t seed, bool one_shot,
                         sked_robust_options *opt)
{
    sked_robust_options_init(opt);
    opt->one_shot = one_shot;
    opt->measurements = s->mark[mark_count(s) - 1];
    opt->candidates = CANDIDATES;
    opt->top = TOP;
    opt->model = a->model;
    opt->time_limit = isnan(a->time_limit) ? loop_seconds : a->time_limit;
    opt->seed = seed;
    opt->threads = (int)a->threads;
    opt->stop = &stop_requested;
}

/* The loop's curve at the marks of the set, over the reference. It may have ended before the last. */
static sked_status run_loop(const arguments *a, const sked_problem *p, table *t, uint64_t seed,
                            double reference, double share[MARKS], sked_error *err)
{
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    fill_options(a, t->set, seed, false, &opt);
    const sked_status st = sked_robust(p, t->set->target, &opt, &r, err);
    for (int k = 0; st == SKED_OK && k < mark_count(t->set); k++) {
        const int32_t at = t->set->mark[k] < r.measurements ? t->set->mark[k] : r.measurements;
        const double best = r.measurement[at - 1].best;
        share[k] = isnan(best) ? 0 : 100 * best / reference;
        add(&t->loop[k], share[k]);
    }
    if (st == SKED_OK) {
        add(&t->seconds, r.seconds);
        add(&t->measurements, r.measurements);
    }
    sked_robust_result_clear(&r);
    return st;
}

/* *best: the largest share of a method. */
static sked_status run_one_shot(const arguments *a, const sked_problem *p, table *t, uint64_t seed,
                                double reference, double *best, sked_error *err)
{
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    fill_options(a, t->set, seed, true, &opt);
    const sked_status st = sked_robust(p, t->set->target, &opt, &r, err);
    *best = 0;
    for (int32_t i = 0; st == SKED_OK && i < r.count; i++) {
        const sked_robust_member *m = r.member[i];
        const double share = m->best >= 0 ? 100 * m->target[m->best] / reference : 0;
        figure *sum = share_of(t, m->label);
        *best = fmax(*best, share);
        if (sum != NULL)
            add(sum, share);
    }
    sked_robust_result_clear(&r);
    return st;
}

static sked_status run_graph(const arguments *a, const sked_graph *g, const char *label, uint64_t seed,
                             table *t, sked_error *err)
{
    double reference = NAN, share[MARKS] = {0}, one_shot = 0;
    const int marks = mark_count(t->set);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = DEVICES;
    sked_status st = find_reference(a, &p, t->set, seed, &reference, err);
    if (st == SKED_OK)
        st = run_loop(a, &p, t, seed, reference, share, err);
    if (st == SKED_OK)
        st = run_one_shot(a, &p, t, seed, reference, &one_shot, err);
    if (st != SKED_OK)
        return st;
    t->below += one_shot > share[marks - 1] + 0.05;
    if (a->list) {
        end_progress();
        printf("%-24.24s", label);
        for (int k = 0; k < marks; k++)
            printf(" %7.2f", share[k]);
        printf("   one-shot %.2f, reference speedup %.3f, %d ops\n", one_shot, reference,
               (int)sked_graph_op_count(g));
        fflush(stdout);
    }
    return SKED_OK;
}

/* ---------------------------------------------------------------- graphs */

/* Edge bytes are drawn and known to the problem; bare graphs have none, and the target invents them. */
static sked_status run_random(const arguments *a, bool bare, table *t, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        const sked_generate_options how = {.size = sizeof how,
                                           .nodes = OPS,
                                           .seed = 80000 + (uint64_t)(i / RANDOM_FAMILIES),
                                           .bytes = bare ? NULL : "exponential:1"};
        if (i % a->sample != 0)
            continue;
        st = sked_graph_generate(random_family(i), &how, &g, err);
        if (st == SKED_OK)
            st = run_graph(a, g, random_family(i), (uint64_t)a->seed + (uint64_t)i, t, err);
        sked_graph_destroy(g);
        show_progress(NULL, t->set->name, (i + 1.0) / GRAPHS, NAN, NAN);
    }
    return st;
}

static sked_status run_networks(const arguments *a, table *t, sked_error *err)
{
    csv list = {0};
    int taken = 0;
    if (!have_data(a))
        return SKED_OK;
    sked_status st = networks_read(a, &list, err);
    for (int row = 1; st == SKED_OK && row < list.rows && !stop_requested; row++) {
        sked_graph *g = NULL;
        if (!network_fits(&list, row) || taken++ % a->sample != 0)
            continue;
        st = network_graph(a, &list, row, &g, err);
        if (st == SKED_OK)
            st = run_graph(a, g, csv_get(&list, row, "name"), (uint64_t)a->seed + (uint64_t)row, t, err);
        sked_graph_destroy(g);
        show_progress(NULL, t->set->name, (row + 1.0) / list.rows, NAN, NAN);
    }
    csv_free(&list);
    return st;
}

/* ---------------------------------------------------------------- tables */

static void print_figures(const char *label, const table *t, double (*of)(const figure *f))
{
    printf("%-24s", label);
    for (int k = 0; k < mark_count(t->set); k++)
        printf(" %7.2f", of(&t->loop[k]));
}

static void print_table(const table *t)
{
    char label[40];
    snprintf(label, sizeof label, "loop, mean of %d", t->loop[0].n);
    print_figures(label, t, mean);
    printf("   %.1f s, %.1f measurements a graph\n", mean(&t->seconds), mean(&t->measurements));
    print_figures("  standard deviation", t, deviation);
    printf("\n");
    for (int i = 0; i < t->members; i++) {
        const member *m = &t->one_shot[i];
        printf("one-shot, %-14.14s %7.2f +- %.2f%s\n", m->label, mean(&m->share), deviation(&m->share),
               i == 0 ? "   (one schedule)" : "");
    }
    fflush(stdout);
}

static sked_status run_set(const arguments *a, table *t, sked_error *err)
{
    const set *s = t->set;
    printf("\n%s: target %s, percent of %s\n%-24s", s->name, s->target,
           s->informed ? "the informed search" : "the best of 10,000 random list schedules", "after");
    for (int k = 0; k < mark_count(s); k++)
        printf(" %7d", (int)s->mark[k]);
    printf("\n");
    fflush(stdout);
    const sked_status st = strcmp(a->graphs, "networks") == 0
                               ? run_networks(a, t, err)
                               : run_random(a, strcmp(a->graphs, "bare") == 0, t, err);
    end_progress();
    if (st == SKED_OK && t->loop[0].n > 0)
        print_table(t);
    return st;
}

/* What the set asks for, what was reached, and where the one-shot pipeline is ahead. */
static void print_verdict(const table *t)
{
    const set *s = t->set;
    const double reached = mean(&t->loop[judged_mark(s)]);
    printf("%-10s after %2d: %6.2f %% (must %g, stretch %g): %s", s->name, (int)s->judged, reached, s->must,
           s->stretch,
           reached < s->must      ? "BELOW"
           : reached < s->stretch ? "reached"
                                  : "stretch reached");
    if (t->below > 0)
        printf("; the best of the one-shot pipeline is ahead on %d of %d graphs", t->below, t->loop[0].n);
    printf("\n");
}

/* ---------------------------------------------------------------- the suite */

static bool wanted(const arguments *a, const set *s)
{
    return a->only[0] == 0 || strcmp(a->only, s->name) == 0;
}

static sked_status check(const arguments *a, sked_error *err)
{
    bool any = false;
    for (int i = 0; i < N_SETS; i++)
        any = any || wanted(a, &sets[i]);
    if (!any)
        return fail(
            err, SKED_ERR_ARGUMENT,
            "the sets of this suite are bandwidth, latency, linear, noisy, traces, contention and cache");
    if (strcmp(a->graphs, "random") != 0 && strcmp(a->graphs, "networks") != 0 &&
        strcmp(a->graphs, "bare") != 0)
        return fail(err, SKED_ERR_ARGUMENT, "--graphs is random, networks or bare, not '%.60s'", a->graphs);
    return SKED_OK;
}

sked_status bench_robust(arguments *a, sked_error *err)
{
    table tables[N_SETS] = {0};
    const double begin = sked_clock();
    sked_status st = check(a, err);
    if (st != SKED_OK)
        return st;
    print_machine(a);
    printf("%d devices; graphs: %s; loop and one-shot: %g s of scheduling a graph; informed search: %g s; "
           "one-shot: top %d of %d candidates of each method, devices near the data\n",
           DEVICES, a->graphs, isnan(a->time_limit) ? loop_seconds : a->time_limit, informed_seconds, TOP,
           CANDIDATES);
    for (int i = 0; st == SKED_OK && i < N_SETS; i++) {
        tables[i].set = &sets[i];
        if (wanted(a, &sets[i]) && !stop_requested)
            st = run_set(a, &tables[i], err);
    }
    printf("\n");
    for (int i = 0; st == SKED_OK && i < N_SETS; i++)
        if (tables[i].loop[0].n > 0)
            print_verdict(&tables[i]);
    printf("%.1f s in all\n", sked_clock() - begin);
    return st;
}
