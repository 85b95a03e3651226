/*
 * sked-bench hardware: registers of pipelines. EPFL circuits, every gate with delay 1 and one bit, as few
 * stages as the clock allows: the least registers beside those of the gates as early and as late as their
 * levels let them.
 */
#define _DEFAULT_SOURCE
#include "bench.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_circuits = 200 };
static const char gates[] =
    "{\"types\": {\"input\": {\"duration\": 0}, \"*\": {\"duration\": 0, \"delay\": 1}}}";

typedef struct totals {
    int pipelines, proved, compared;
    double gain, seconds, most_seconds; /* seconds: of the circuit at hand */
} totals;

/* A circuit, its edges, and the gates on the longest chain that ends at each op, and that begins there. */
typedef struct circuit {
    sked_graph *graph;
    int32_t n, depth;
    int64_t m;
    sked_edge *edge;
    int32_t *above, *below;
    bool *gate;
} circuit;

static void close_circuit(circuit *c)
{
    sked_graph_destroy(c->graph);
    free(c->edge);
    free(c->above);
    free(c->below);
    free(c->gate);
}

static int32_t larger(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

/* Edges in rounds until no chain grows: files are written nearly in order, so that few are needed. */
static void find_levels(circuit *c)
{
    for (bool more = true; more;) {
        more = false;
        for (int64_t k = 0; k < c->m; k++) {
            const sked_edge *up = &c->edge[k], *down = &c->edge[c->m - 1 - k];
            const int32_t above = c->above[up->from] + c->gate[up->to];
            const int32_t below = c->below[down->to] + c->gate[down->from];
            more = more || above > c->above[up->to] || below > c->below[down->from];
            c->above[up->to] = larger(c->above[up->to], above);
            c->below[down->from] = larger(c->below[down->from], below);
        }
    }
    for (int32_t i = 0; i < c->n; i++)
        c->depth = larger(c->depth, c->above[i]);
}

static sked_status open_circuit(const char *path, circuit *c, sked_error *err)
{
    const sked_status st = read_with_library(path, gates, &c->graph, err);
    if (st != SKED_OK)
        return st;
    c->n = sked_graph_op_count(c->graph);
    c->m = sked_graph_edge_count(c->graph);
    c->edge = calloc((size_t)c->m + 1, sizeof *c->edge);
    c->above = calloc((size_t)c->n + 1, sizeof *c->above);
    c->below = calloc((size_t)c->n + 1, sizeof *c->below);
    c->gate = calloc((size_t)c->n + 1, sizeof *c->gate);
    if (c->edge == NULL || c->above == NULL || c->below == NULL || c->gate == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (int64_t k = 0; k < c->m; k++)
        sked_graph_edge(c->graph, k, &c->edge[k]);
    for (int32_t i = 0; i < c->n; i++)
        c->gate[i] = strcmp(sked_graph_op_type(c->graph, i), "input") != 0;
    for (int32_t i = 0; i < c->n; i++)
        c->above[i] = c->below[i] = c->gate[i];
    find_levels(c);
    return SKED_OK;
}

/* Registers where each gate is in the stage of its level, from the inputs or from the outputs; inputs in the
 * first stage, or in that of their first reader. */
static sked_status by_levels(const circuit *c, const sked_problem *p, int32_t levels, bool late,
                             double *registers, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_metrics m = {.size = sizeof m};
    sked_status st = sked_schedule_create(c->n, 0, &s, err);
    if (st != SKED_OK)
        return st;
    s->ii = 1;
    for (int32_t i = 0; i < c->n; i++) {
        const int32_t level = late ? c->below[i] : c->above[i];
        const double stage = level > 0 ? (level - 1) / levels : 0;
        s->start[i] = late ? p->horizon - stage : stage;
    }
    st = sked_schedule_validate(p, s, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(p, s, &m, err);
    *registers = m.peak_memory;
    sked_schedule_destroy(s);
    return st;
}

static sked_status run_pipeline(const arguments *a, const circuit *c, int32_t levels, totals *t,
                                sked_error *err)
{
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    double early = 0, late = 0;
    sked_problem_init(&p, c->graph);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.clock = levels;
    p.ii = 1;
    p.horizon = c->depth > 0 ? (c->depth - 1) / levels : 0;
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = isnan(a->time_limit) ? 60 : a->time_limit;
    sked_status st = by_levels(c, &p, levels, false, &early, err);
    if (st == SKED_OK)
        st = by_levels(c, &p, levels, true, &late, err);
    if (st == SKED_OK)
        st = sked_method_run("registers", &p, &opt, &r, err);
    if (st != SKED_OK)
        return st;
    const double better = fmin(early, late), gain = better > 0 ? 1 - r.value / better : 0;
    printf(" %.0f: %.0f -> %.0f%s |", p.horizon + 1, better, r.value, r.optimal ? "" : " (open)");
    t->pipelines++;
    t->proved += r.optimal;
    t->compared += better > 0;
    t->gain += gain;
    t->seconds = fmax(t->seconds, r.seconds);
    sked_result_clear(&r);
    return SKED_OK;
}

static sked_status run_circuit(const arguments *a, const char *name, totals *t, sked_error *err)
{
    static const int32_t clocks[] = {5, 10, 20};
    char part[300], path[1024];
    circuit c = {0};
    snprintf(part, sizeof part, "epfl/%.200s.blif", name);
    sked_status st = open_circuit(data_path(a, part, path, sizeof path), &c, err);
    t->seconds = 0;
    if (st == SKED_OK)
        printf("| %-10s | %5d |", name, (int)c.n);
    for (size_t k = 0; st == SKED_OK && k < sizeof clocks / sizeof *clocks; k++)
        st = run_pipeline(a, &c, clocks[k], t, err);
    if (st == SKED_OK)
        printf(" %.2f |\n", t->seconds);
    fflush(stdout);
    t->most_seconds = fmax(t->most_seconds, t->seconds);
    close_circuit(&c);
    return st;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(x, y);
}

/* The circuits that --only names, in order; returns how many, or -1. */
static int list_circuits(const arguments *a, char name[][80])
{
    char path[1024];
    int count = 0;
    DIR *folder = opendir(data_path(a, "epfl", path, sizeof path));
    if (folder == NULL)
        return -1;
    for (const struct dirent *d; (d = readdir(folder)) != NULL && count < most_circuits;) {
        const char *dot = strrchr(d->d_name, '.');
        if (dot != NULL && strcmp(dot, ".blif") == 0 && dot - d->d_name < 80 &&
            strncmp(d->d_name, a->only, strlen(a->only)) == 0)
            snprintf(name[count++], 80, "%.*s", (int)(dot - d->d_name), d->d_name);
    }
    closedir(folder);
    qsort(name, (size_t)count, 80, by_name);
    return count;
}

sked_status bench_hardware(arguments *a, sked_error *err)
{
    static char name[most_circuits][80];
    totals t = {0};
    sked_status st = SKED_OK;
    if (!have_data(a))
        return SKED_OK;
    print_machine(a);
    const int count = list_circuits(a, name);
    if (count < 0)
        return fail(err, SKED_ERR_IO, "epfl: cannot be opened");
    printf("\nStages: registers of the better of early and late by levels -> least. Seconds: most of the "
           "three.\n\n"
           "| circuit | ops | clock 5 | clock 10 | clock 20 | seconds |\n|---|---|---|---|---|---|\n");
    for (int k = 0; st == SKED_OK && k < count; k += (int)a->sample)
        st = run_circuit(a, name[k], &t, err);
    if (st == SKED_OK)
        printf(
            "\n%d of %d proved, %.1f %% fewer than the better of early and late on average, %.1f s at most\n",
            t.proved, t.pipelines, t.compared > 0 ? 100 * t.gain / t.compared : 0, t.most_seconds);
    return st;
}
