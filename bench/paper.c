/*
 * sked-bench paper: our rows for the three tables of "Robust Scheduling with GFlowNets" (ICLR 2023) beside
 * its figures. Candidates of list (one), brkga and gflownet; the proxy keeps the top 100; three targets
 * measure them. At the end it says where gflownet is below list or brkga.
 */
#include "graphs.h"

#include "../tools/cli/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVICES = 4,
    DRAWS = 1000,
    TOP = 100,
    NOISES = 5,        /* noisy: the mean over this many sets of true durations */
    POPULATION = 1000, /* of brkga, and */
    GENERATIONS = 75,  /* as many on graphs of up to EVALUATED_OPS ops, fewer on larger ones */
    EVALUATED_OPS = 100,
    IMPROVE = 5, /* rounds of local search on each draw, for the row "improved" */
};
static const double temperature = 0.005;

/* ---------------------------------------------------------------- figures */

/* A column is one figure of a row; `judged`: gflownet should not be below the others there. */
#define COLUMN_LIST(X)              \
    X(top1, "top 1", true)          \
    X(top100, "top 100", false)     \
    X(noisy, "noisy", true)         \
    X(bandwidth, "bandwidth", true) \
    X(latency, "latency", true)     \
    X(ged, "GED [%]", false)        \
    X(d_inv, "d_inv", false)        \
    X(d_sen, "d_sen", false)
enum {
#define X(field, name, judged) COLUMN_##field,
    COLUMN_LIST(X)
#undef X
        N_COLUMNS
};
static const struct column {
    const char *name;
    bool judged;
} columns[] = {
#define X(field, name, judged) {name, judged},
    COLUMN_LIST(X)
#undef X
};
static const char *const target_names[] = {"noisy", "bandwidth", "latency"};
enum { N_TARGETS = sizeof target_names / sizeof *target_names };

typedef struct row {
    double figure[N_COLUMNS]; /* NAN: the paper has none */
    double candidates, seconds;
} row;

enum { LIST, BRKGA, GFLOWNET, DRAWN, IMPROVED, N_METHODS };
static const char *const method_names[] = {"list", "brkga", "gflownet", "drawn", "improved"};

#define NONE (double)NAN
static const row paper_random[DRAWN] = {
    {{3.44, 3.44, NONE, NONE, NONE, 0, 0, 0}, 1, 0},
    {{3.46, 3.45, NONE, NONE, NONE, 46.59, 12.75, 40.11}, 100, 0},
    {{3.46, 3.41, NONE, NONE, NONE, 92.02, 24.27, 90.17}, 100, 0},
};
static const row paper_one[DRAWN] = {
    {{3.23, NONE, 2.75, 1.02, 1.74, 0, 0, 0}, 1, 0},
    {{3.22, NONE, 2.86, 1.29, 1.80, 55.92, 22.83, 56.21}, 100, 0},
    {{3.21, NONE, 3.05, 1.78, 2.11, 94.79, 42.08, 115.98}, 100, 0},
};
static const row paper_real[DRAWN] = {
    {{2.74, 2.74, 2.51, 0.89, 1.43, 0, NONE, NONE}, 1, 0},
    {{2.59, 2.58, 2.46, 1.55, 1.80, 52.32, NONE, NONE}, 100, 0},
    {{2.71, 2.66, 2.71, 1.73, 1.95, 87.95, NONE, NONE}, 100, 0},
};

/* ---------------------------------------------------------------- one graph, one method */

/* Draws, keeps the best `top` and validates them, in the form methods give theirs. */
static sked_status draw_candidates(const sked_sampler *m, const sked_problem *p,
                                   const sked_sample_options *opt, int32_t top, sked_result *out,
                                   sked_error *err)
{
    sked_samples s = {.size = sizeof s};
    const double begin = sked_clock();
    sked_status st = sked_sampler_sample(m, p, opt, &s, err);
    while (st == SKED_OK && top > 0 && s.count > top)
        sked_schedule_destroy(s.schedule[--s.count]);
    for (int32_t k = 0; st == SKED_OK && k < s.count; k++)
        st = sked_schedule_validate(p, s.schedule[k], err);
    sked_result r = {.size = sizeof r, .method = "gflownet", .count = s.count, .evaluations = opt->count};
    if (st == SKED_OK)
        st = sked_problem_bound(p, &r.lower_bound, NULL, err);
    if (st == SKED_OK) {
        r.schedule = s.schedule;
        r.value = s.makespan[0];
        r.seconds = r.build_seconds = sked_clock() - begin;
        s.schedule = NULL;
        s.count = 0;
        *out = r;
    }
    sked_samples_clear(&s);
    return st;
}

static sked_status gather(const arguments *a, const sked_sampler *m, const sked_problem *p, int method,
                          sked_result *out, sked_error *err)
{
    sked_run_options opt;
    sked_sample_options how;
    const double ops = fmax(sked_graph_op_count(p->graph), EVALUATED_OPS);
    if (method >= GFLOWNET) {
        sked_sample_options_init(&how);
        how.count = DRAWS;
        how.temperature = temperature;
        how.seed = (uint64_t)a->seed;
        how.threads = (int)a->threads;
        how.local = method == GFLOWNET;
        how.improve = method == IMPROVED ? IMPROVE : 0;
        return draw_candidates(m, p, &how, TOP, out, err);
    }
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = INFINITY;
    opt.stop = &stop_requested;
    if (method == BRKGA) {
        opt.candidates = POPULATION / 2; /* the population is twice the candidates */
        opt.top = TOP;
        opt.iterations = (int64_t)ceil(GENERATIONS * EVALUATED_OPS / ops);
    }
    return sked_method_run(method_names[method], p, &opt, out, err);
}

/* Best speedup on the target, mean over its seeds. */
static sked_status measure_target(const sked_problem *p, const sked_result *r, const char *target, int seeds,
                                  double *speedup, sked_error *err)
{
    sked_status st = SKED_OK;
    *speedup = 0;
    for (int k = 0; st == SKED_OK && k < seeds; k++) {
        sked_target *t = NULL;
        double best = INFINITY;
        st = sked_target_create(target, p, (uint64_t)k, &t, err);
        for (int32_t i = 0; st == SKED_OK && i < r->count; i++) {
            sked_measurement said = {.size = sizeof said};
            if ((st = sked_target_measure(t, r->schedule[i], &said, err)) == SKED_OK)
                best = fmin(best, said.time);
            sked_measurement_clear(&said);
        }
        if (st == SKED_OK)
            *speedup += (best > 0 ? sked_target_work(t) / best : 1) / seeds;
        sked_target_destroy(t);
    }
    return st;
}

/* The three diversities, times in units that make the mean duration one half, as in the random graphs. */
static sked_status measure_diversity(const sked_problem *p, const sked_result *r, row *out, sked_error *err)
{
    sked_graph_info info = {.size = sizeof info};
    sked_diversity d = {.size = sizeof d};
    sked_status st = sked_graph_describe(p->graph, &info, err);
    const double unit = st == SKED_OK && info.work > 0 ? 2 * info.work / info.ops : 1;
    for (int32_t k = 0; st == SKED_OK && k < r->count; k++)
        for (int32_t i = 0; i < r->schedule[k]->ops; i++)
            r->schedule[k]->start[i] /= unit;
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)r->schedule, r->count, &d, err);
    out->figure[COLUMN_ged] = d.ged;
    out->figure[COLUMN_d_inv] = d.d_inv;
    out->figure[COLUMN_d_sen] = d.d_sen;
    return st;
}

static sked_status run_one(const arguments *a, const sked_sampler *m, const sked_problem *p, int method,
                           row *out, sked_error *err)
{
    sked_result r = {.size = sizeof r};
    *out = (row){0};
    const double begin = sked_clock();
    sked_status st = gather(a, m, p, method, &r, err);
    out->seconds = sked_clock() - begin;
    out->candidates = r.count;
    for (int32_t k = 0; st == SKED_OK && k < r.count; k++) {
        sked_metrics metrics = {.size = sizeof metrics};
        st = sked_schedule_measure(p, r.schedule[k], &metrics, err);
        out->figure[COLUMN_top1] = k == 0 ? metrics.speedup : out->figure[COLUMN_top1];
        out->figure[COLUMN_top100] += metrics.speedup / r.count;
    }
    for (int t = 0; st == SKED_OK && t < N_TARGETS; t++)
        st = measure_target(p, &r, target_names[t], t == 0 ? NOISES : 1, &out->figure[COLUMN_noisy + t], err);
    if (st == SKED_OK)
        st = measure_diversity(p, &r, out, err); /* last: it rescales the schedules */
    sked_result_clear(&r);
    return st;
}

/* ---------------------------------------------------------------- tables */

typedef struct table {
    const char *name, *title;
    const row *paper;
    row mean[N_METHODS];
    int graphs;
} table;

static void print_row(const char *label, const char *method, const row *r, const char *note)
{
    printf("%-26.26s %-9s", label, method);
    for (int k = 0; k < N_COLUMNS; k++)
        if (isnan(r->figure[k]))
            printf(" %9s", "-");
        else
            printf(" %9.*f", k < COLUMN_ged ? 3 : 2, r->figure[k]);
    printf("%s\n", note);
}

static void print_header(const table *t)
{
    printf("\n%s: %s\n%-26s %-9s", t->name, t->title, "graph", "method");
    for (int k = 0; k < N_COLUMNS; k++)
        printf(" %9s", columns[k].name);
    putchar('\n');
}

static sked_status run_graph(const arguments *a, const sked_sampler *m, const sked_graph *g,
                             const char *label, table *t, sked_error *err)
{
    sked_problem p;
    sked_status st = SKED_OK;
    sked_problem_init(&p, g);
    p.devices = DEVICES;
    for (int k = 0; st == SKED_OK && k < N_METHODS; k++) {
        row r;
        char note[80];
        st = run_one(a, m, &p, k, &r, err);
        if (st != SKED_OK)
            break;
        for (int c = 0; c < N_COLUMNS; c++)
            t->mean[k].figure[c] += r.figure[c];
        t->mean[k].candidates += r.candidates;
        t->mean[k].seconds += r.seconds;
        snprintf(note, sizeof note, "  %d ops, %.0f candidates, %.2f s", (int)sked_graph_op_count(g),
                 r.candidates, r.seconds);
        if (a->list)
            print_row(label, method_names[k], &r, note);
    }
    t->graphs++;
    fflush(stdout);
    return st;
}

static void print_means(table *t)
{
    char label[40], note[80];
    for (int k = 0; k < N_METHODS; k++) {
        row *r = &t->mean[k];
        for (int c = 0; c < N_COLUMNS; c++)
            r->figure[c] /= t->graphs;
        snprintf(label, sizeof label, t->graphs > 1 ? "mean of %d" : "sked", t->graphs);
        snprintf(note, sizeof note, "  %.0f candidates, %.2f s a graph", r->candidates / t->graphs,
                 r->seconds / t->graphs);
        print_row(label, method_names[k], r, note);
    }
    for (int k = 0; k < DRAWN; k++)
        print_row("paper, other graphs", method_names[k], &t->paper[k], "");
    fflush(stdout);
}

/* Where gflownet, or what was made of its draws, is below another method, in so many words. */
static void print_verdict(const table *t, int who)
{
    int below = 0;
    for (int c = 0; c < N_COLUMNS; c++)
        for (int k = 0; columns[c].judged && k < GFLOWNET; k++) {
            const double ours = t->mean[who].figure[c], other = t->mean[k].figure[c];
            if (ours >= other - 5e-4) /* what the table would show as equal */
                continue;
            printf("%-8s %-10s %-8s %.3f is below %s %.3f (%+.1f %%)\n", t->name, columns[c].name,
                   method_names[who], ours, method_names[k], other, 100 * (ours / other - 1));
            below++;
        }
    if (below == 0)
        printf("%-8s %-10s %-8s is at least list and brkga: top 1 and all three targets\n", t->name, "all",
               method_names[who]);
}

/* ---------------------------------------------------------------- sets of graphs */

static bool skipped(const arguments *a, int index)
{
    return index % a->sample != 0;
}

static sked_status run_random(const arguments *a, const sked_sampler *m, table *t, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < RANDOM_GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        if (skipped(a, i))
            continue;
        st = random_graph(i, &g, err);
        if (st == SKED_OK)
            st = run_graph(a, m, g, random_family(i), t, err);
        sked_graph_destroy(g);
        show_progress(NULL, t->name, (i + 1.0) / RANDOM_GRAPHS, NAN, NAN);
    }
    return st;
}

static sked_status run_real(const arguments *a, const sked_sampler *m, table *t, int first, int count,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = first, taken = 0; st == SKED_OK && i < first + count && !stop_requested; i++) {
        sked_graph *g = NULL;
        st = real_graph(a, i, &g, err);
        if (st == SKED_OK && g != NULL && !skipped(a, taken++))
            st = run_graph(a, m, g, real_graph_name(i), t, err);
        sked_graph_destroy(g);
        show_progress(NULL, t->name, (i - first + 1.0) / count, NAN, NAN);
    }
    return st;
}

static sked_status run_table(const arguments *a, const sked_sampler *m, table *t, int which, sked_error *err)
{
    if (which > 0 && !have_data(a))
        return SKED_OK;
    print_header(t);
    const sked_status st = which == 0   ? run_random(a, m, t, err)
                           : which == 1 ? run_real(a, m, t, 0, 1, err)
                                        : run_real(a, m, t, 1, real_graph_count() - 1, err);
    end_progress();
    if (st == SKED_OK && t->graphs > 0)
        print_means(t);
    return st;
}

/* ---------------------------------------------------------------- temperatures */

static const double temperatures[] = {0.005, 0.01, 0.03, 0.1, 0.3, 1};
enum { N_TEMPERATURES = sizeof temperatures / sizeof *temperatures };
enum { T_TOP1, T_TOP100, T_MEAN, T_GED, T_DIFFERENT, T_COLUMNS };

/* What draws at one temperature give on one graph, added to sum. */
static sked_status try_temperature(const arguments *a, const sked_sampler *m, const sked_problem *p,
                                   double at, double *sum, sked_error *err)
{
    sked_sample_options how;
    sked_samples s = {.size = sizeof s};
    sked_graph_info info = {.size = sizeof info};
    sked_diversity d = {.size = sizeof d};
    sked_sample_options_init(&how);
    how.count = DRAWS;
    how.temperature = at;
    how.seed = (uint64_t)a->seed;
    how.threads = (int)a->threads;
    sked_status st = sked_sampler_sample(m, p, &how, &s, err);
    const int32_t kept = s.count < TOP ? s.count : TOP;
    if (st == SKED_OK)
        st = sked_graph_describe(p->graph, &info, err);
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)s.schedule, kept, &d, err);
    for (int32_t k = 0; st == SKED_OK && k < s.count; k++) {
        const double speedup = info.work / s.makespan[k];
        sum[T_TOP1] += k == 0 ? speedup : 0;
        sum[T_TOP100] += k < kept ? speedup / kept : 0;
        sum[T_MEAN] += speedup / s.count;
    }
    sum[T_GED] += d.ged;
    sum[T_DIFFERENT] += s.count;
    sked_samples_clear(&s);
    return st;
}

static sked_status draw_temperatures(const char *path, double (*mean)[N_TEMPERATURES], sked_error *err)
{
    const chart_line speedups[] = {{"top 1", "#4393c3", false, mean[T_TOP1]},
                                   {"top 100", "#1b9e77", false, mean[T_TOP100]},
                                   {"mean", "#9970ab", false, mean[T_MEAN]}};
    const chart_line ged[] = {{"GED of the top 100 [%]", "#e08214", false, mean[T_GED]}};
    const chart_panel panels[] = {
        {"Speedup of 1000 draws", "temperature", true, true, temperatures, N_TEMPERATURES, speedups, 3},
        {"Diversity", "temperature", true, true, temperatures, N_TEMPERATURES, ged, 1}};
    return write_chart(path, panels, 2, err);
}

/* Set "temperature": what each gives, mean over random graphs; -o FILE.svg draws it. */
static sked_status run_temperatures(const arguments *a, const sked_sampler *m, sked_error *err)
{
    double mean[T_COLUMNS][N_TEMPERATURES] = {{0}};
    sked_status st = SKED_OK;
    int graphs = 0;
    for (int i = 0; st == SKED_OK && i < RANDOM_GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        sked_problem p;
        if (skipped(a, i))
            continue;
        st = random_graph(i, &g, err);
        sked_problem_init(&p, g);
        p.devices = DEVICES;
        for (int t = 0; st == SKED_OK && t < N_TEMPERATURES; t++) {
            double sum[T_COLUMNS] = {0};
            st = try_temperature(a, m, &p, temperatures[t], sum, err);
            for (int c = 0; c < T_COLUMNS; c++)
                mean[c][t] += sum[c];
        }
        graphs++;
        sked_graph_destroy(g);
    }
    printf("\ntemperature: mean of %d random graphs\n%-12s %9s %9s %9s %9s %10s\n", graphs, "temperature",
           "top 1", "top 100", "mean", "GED [%]", "different");
    for (int t = 0; st == SKED_OK && t < N_TEMPERATURES; t++) {
        for (int c = 0; c < T_COLUMNS; c++)
            mean[c][t] /= graphs;
        printf("%-12g %9.3f %9.3f %9.3f %9.2f %10.0f\n", temperatures[t], mean[T_TOP1][t], mean[T_TOP100][t],
               mean[T_MEAN][t], mean[T_GED][t], mean[T_DIFFERENT][t]);
    }
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = draw_temperatures(a->output.at[i], mean, err);
    return st;
}

/* ---------------------------------------------------------------- the suite */

static void print_setting(const arguments *a, const sked_sampler *m)
{
    print_machine(a);
    printf("model: %s, %lld parameters, %lld updates; %d devices, %d draws at temperature %g, top %d by the "
           "proxy\n",
           a->model != NULL ? a->model : "the built-in one", (long long)sked_sampler_parameter_count(m),
           (long long)sked_sampler_steps(m), DEVICES, DRAWS, temperature, TOP);
    printf(
        "top 1, top 100: speedup on the proxy; noisy (mean of %d draws), bandwidth, latency: best of the top "
        "%d on that target\n",
        NOISES, TOP);
    printf(
        "list: one schedule; brkga: population %d a thread, %d generations (fewer above %d ops), top %d of "
        "the last;\ngflownet: starts as drawn, devices near the data; drawn: devices as drawn too; improved: "
        "after %d "
        "rounds of local search\n",
        POPULATION, GENERATIONS, EVALUATED_OPS, TOP, IMPROVE);
}

static bool wanted(const arguments *a, const char *set)
{
    return a->only[0] == 0 || strcmp(a->only, set) == 0;
}

static sked_status run_sets(const arguments *a, const sked_sampler *m, table *tables, int count,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    bool judged = false;
    for (int i = 0; st == SKED_OK && i < count; i++)
        if (wanted(a, tables[i].name))
            st = run_table(a, m, &tables[i], i, err);
    for (int i = 0; st == SKED_OK && i < count; i++)
        for (int k = GFLOWNET; tables[i].graphs > 0 && k < N_METHODS; k++) {
            if (!judged)
                printf("\ngflownet beside list and brkga, in the mean:\n");
            judged = true;
            print_verdict(&tables[i], k);
        }
    if (st == SKED_OK && strcmp(a->only, "temperature") == 0) /* a minute more: where asked for */
        st = run_temperatures(a, m, err);
    return st;
}

sked_status bench_paper(arguments *a, sked_error *err)
{
    table tables[] = {
        {.name = "random", .title = "unseen graphs of 50 ops, five families", .paper = paper_random},
        {.name = "one", .title = "one real graph: squeezenet (the paper's has 78 ops)", .paper = paper_one},
        {.name = "real", .title = "real graphs (the paper's have 12 to 128 ops)", .paper = paper_real},
    };
    enum { n_tables = sizeof tables / sizeof *tables };
    sked_sampler *m = NULL;
    const double begin = sked_clock();
    bool any = wanted(a, "temperature");
    for (int i = 0; i < n_tables; i++)
        any |= wanted(a, tables[i].name);
    if (!any)
        return fail(err, SKED_ERR_ARGUMENT, "the sets of this suite are random, one, real and temperature");
    if (a->output.count > 0 && strcmp(a->only, "temperature") != 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "-o draws the set temperature of this suite: add --only temperature");
    sked_status st = sked_sampler_read(a->model, &m, err);
    if (st != SKED_OK)
        return st;
    print_setting(a, m);
    st = run_sets(a, m, tables, n_tables, err);
    printf("%.1f s in all\n", sked_clock() - begin);
    sked_sampler_destroy(m);
    return st;
}
