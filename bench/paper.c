/*
 * sked-bench paper: our rows for the three tables of "Robust Scheduling with GFlowNets" (ICLR 2023) beside
 * its figures, and for networks with measured durations. Every method makes candidates of its own; they go to
 * the same stages of the one-shot pipeline, or to none; the proxy keeps the top 100; three targets measure
 * them. Each with several seeds. At the end it says where gflownet is below another method.
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
    NOISES = 5,          /* noisy: the mean over this many sets of true durations */
    EVALUATIONS = 75000, /* complete schedules that brkga and search build, */
    EVALUATED_OPS = 100, /* fewer in proportion above this many ops */
    POPULATION = 2 * DRAWS,
    MOST_SEEDS = 20,
};

/* ---------------------------------------------------------------- who takes part, and the stages */

/*
 * A member of the one-shot pipeline is named by its method: what the pipeline itself sets (random priorities
 * of list, say) holds here as well. setting: one more, or NULL.
 */
static const struct contender {
    const char *label, *method, *setting;
    int32_t candidates;
    int32_t evaluations; /* that one of its iterations takes; 0: it ends by itself */
} contenders[] = {
    {"list", "list", "priority=critical-path", 1, 0}, {"random list", "list", NULL, DRAWS, 0},
    {"brkga", "brkga", NULL, DRAWS, POPULATION},      {"search", "search", NULL, DRAWS, 1},
    {"gflownet", "gflownet", NULL, DRAWS, 0},
};
enum { LIST, RANDOM_LIST, BRKGA, SEARCH, GFLOWNET, N_METHODS };

static const struct stage {
    const char *name;
    bool local;
    int improve;
} stages[] = {{"as made", false, 0}, {"local", true, 0}, {"local, improve=5", true, 5}};
enum { N_STAGES = sizeof stages / sizeof *stages };

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
    double figure[N_COLUMNS];
    double candidates, seconds;
} row;

/* One method with one set of stages: sums over graphs, for each seed. */
typedef struct cell {
    row seed[MOST_SEEDS];
} cell;

#define NONE (double)NAN
enum { PAPER_ROWS = 3 };
typedef struct paper_row {
    const char *method;
    double figure[N_COLUMNS]; /* NAN: the paper has none */
} paper_row;
static const paper_row paper_random[PAPER_ROWS] = {
    {"list", {3.44, 3.44, NONE, NONE, NONE, 0, 0, 0}},
    {"brkga", {3.46, 3.45, NONE, NONE, NONE, 46.59, 12.75, 40.11}},
    {"gflownet", {3.46, 3.41, NONE, NONE, NONE, 92.02, 24.27, 90.17}},
};
static const paper_row paper_one[PAPER_ROWS] = {
    {"list", {3.23, NONE, 2.75, 1.02, 1.74, 0, 0, 0}},
    {"brkga", {3.22, NONE, 2.86, 1.29, 1.80, 55.92, 22.83, 56.21}},
    {"gflownet", {3.21, NONE, 3.05, 1.78, 2.11, 94.79, 42.08, 115.98}},
};
static const paper_row paper_real[PAPER_ROWS] = {
    {"list", {2.74, 2.74, 2.51, 0.89, 1.43, 0, NONE, NONE}},
    {"brkga", {2.59, 2.58, 2.46, 1.55, 1.80, 52.32, NONE, NONE}},
    {"gflownet", {2.71, 2.66, 2.71, 1.73, 1.95, 87.95, NONE, NONE}},
};

/* ---------------------------------------------------------------- one graph, one method, one seed */

/* The one-shot pipeline with one member. Its own target is the proxy: the others measure what it keeps. */
static sked_status gather(const arguments *a, const sked_problem *p, const struct contender *who,
                          const struct stage *stage, int seed, sked_robust_result *out, sked_error *err)
{
    sked_robust_options opt;
    const double ops = fmax(sked_graph_op_count(p->graph), EVALUATED_OPS);
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.method = who->method;
    opt.model = a->model;
    opt.settings = &who->setting;
    opt.n_settings = who->setting != NULL;
    opt.candidates = who->candidates;
    opt.top = TOP;
    opt.local = stage->local;
    opt.improve = stage->improve;
    opt.seed = (uint64_t)a->seed + (uint64_t)seed;
    opt.threads = (int)a->threads;
    opt.time_limit = INFINITY;
    opt.stop = &stop_requested;
    if (who->evaluations > 0)
        opt.iterations = (int64_t)ceil(EVALUATIONS * EVALUATED_OPS / ops / who->evaluations);
    return sked_robust(p, "proxy", &opt, out, err);
}

/* Best speedup on the target, mean over its seeds. */
static sked_status measure_target(const sked_problem *p, const sked_robust_member *m, const char *target,
                                  int seeds, double *speedup, sked_error *err)
{
    sked_status st = SKED_OK;
    *speedup = 0;
    for (int k = 0; st == SKED_OK && k < seeds; k++) {
        sked_target *t = NULL;
        double best = INFINITY;
        st = sked_target_create(target, p, (uint64_t)k, &t, err);
        for (int32_t i = 0; st == SKED_OK && i < m->count; i++) {
            sked_measurement said = {.size = sizeof said};
            if ((st = sked_target_measure(t, m->schedule[i], &said, err)) == SKED_OK)
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
static sked_status measure_diversity(const sked_problem *p, const sked_robust_member *m, row *out,
                                     sked_error *err)
{
    sked_graph_info info = {.size = sizeof info};
    sked_diversity d = {.size = sizeof d};
    sked_status st = sked_graph_describe(p->graph, &info, err);
    const double unit = st == SKED_OK && info.work > 0 ? 2 * info.work / info.ops : 1;
    for (int32_t k = 0; st == SKED_OK && k < m->count; k++)
        for (int32_t i = 0; i < m->schedule[k]->ops; i++)
            m->schedule[k]->start[i] /= unit;
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)m->schedule, m->count, &d, err);
    out->figure[COLUMN_ged] = d.ged;
    out->figure[COLUMN_d_inv] = d.d_inv;
    out->figure[COLUMN_d_sen] = d.d_sen;
    return st;
}

static sked_status run_one(const arguments *a, const sked_problem *p, const struct contender *who,
                           const struct stage *stage, int seed, row *out, sked_error *err)
{
    sked_robust_result r = {.size = sizeof r};
    *out = (row){0};
    const double begin = sked_clock();
    sked_status st = gather(a, p, who, stage, seed, &r, err);
    if (st != SKED_OK)
        return st;
    const sked_robust_member *m = r.member[0];
    out->seconds = sked_clock() - begin;
    out->candidates = m->count;
    out->figure[COLUMN_top1] = m->proxy[0];
    for (int32_t k = 0; k < m->count; k++)
        out->figure[COLUMN_top100] += m->proxy[k] / m->count;
    for (int t = 0; st == SKED_OK && t < N_TARGETS; t++)
        st = measure_target(p, m, target_names[t], t == 0 ? NOISES : 1, &out->figure[COLUMN_noisy + t], err);
    if (st == SKED_OK)
        st = measure_diversity(p, m, out, err); /* last: it rescales the schedules */
    sked_robust_result_clear(&r);
    return st;
}

/* ---------------------------------------------------------------- tables */

typedef struct table {
    const char *name, *title;
    const paper_row *paper; /* NULL: no such table there */
    sked_status (*run)(const arguments *a, struct table *t, sked_error *err);
    cell sum[N_METHODS][N_STAGES];
    int graphs;
    double begin, width; /* share of the set done before this graph, and what it adds */
} table;

/* Mean over the seeds, and the standard deviation of one of them, of figures that are means over graphs. */
static double over_seeds(const cell *c, int column, int graphs, int seeds, double *deviation)
{
    double mean = 0, square = 0;
    for (int s = 0; s < seeds; s++)
        mean += c->seed[s].figure[column] / graphs / seeds;
    for (int s = 0; s < seeds; s++)
        square += pow(c->seed[s].figure[column] / graphs - mean, 2);
    *deviation = seeds > 1 ? sqrt(square / (seeds - 1)) : 0;
    return mean;
}

static void print_cell(const cell *c, int method, int stage, int graphs, int seeds)
{
    double candidates = 0, seconds = 0;
    printf("%-12s %-16s", contenders[method].label, stages[stage].name);
    for (int k = 0; k < N_COLUMNS; k++) {
        double deviation;
        const int digits = k < COLUMN_ged ? 3 : 2;
        const double mean = over_seeds(c, k, graphs, seeds, &deviation);
        printf(" %7.*f ±%-5.*f", digits, mean, digits, deviation);
    }
    for (int s = 0; s < seeds; s++) {
        candidates += c->seed[s].candidates / graphs / seeds;
        seconds += c->seed[s].seconds / graphs / seeds;
    }
    printf("  %.0f kept, %.2f s\n", candidates, seconds);
}

static void print_cells(cell (*cells)[N_STAGES], int graphs, int seeds)
{
    for (int k = 0; k < N_METHODS; k++)
        for (int g = 0; g < N_STAGES; g++)
            print_cell(&cells[k][g], k, g, graphs, seeds);
    fflush(stdout);
}

static void print_header(const table *t)
{
    printf("\n%s: %s\n%-12s %-16s", t->name, t->title, "method", "stages");
    for (int k = 0; k < N_COLUMNS; k++)
        printf(" %-14s", columns[k].name);
    printf("\n");
}

static void print_paper(const paper_row *r)
{
    printf("%-12s %-16s", r->method, "in the paper");
    for (int k = 0; k < N_COLUMNS; k++)
        if (isnan(r->figure[k]))
            printf(" %7s       ", "-");
        else
            printf(" %7.2f       ", r->figure[k]);
    printf("  other graphs\n");
}

static void print_means(table *t, int seeds)
{
    printf("mean of %d graph(s), %d seed(s), ± standard deviation of one seed\n", t->graphs, seeds);
    print_cells(t->sum, t->graphs, seeds);
    for (int k = 0; t->paper != NULL && k < PAPER_ROWS; k++)
        print_paper(&t->paper[k]);
    fflush(stdout);
}

static void add_row(row *sum, const row *r)
{
    for (int c = 0; c < N_COLUMNS; c++)
        sum->figure[c] += r->figure[c];
    sum->candidates += r->candidates;
    sum->seconds += r->seconds;
}

/* Every method, stage and seed. A stop on the way leaves the graph out. */
static sked_status run_graph(const arguments *a, const sked_graph *g, const char *label, table *t,
                             sked_error *err)
{
    enum { ALL = N_METHODS * N_STAGES };
    static cell here[N_METHODS][N_STAGES]; /* too large for a stack */
    const int seeds = (int)a->seeds;
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = DEVICES;
    for (int k = 0; k < ALL * seeds; k++) {
        const int method = k / seeds / N_STAGES, stage = k / seeds % N_STAGES, seed = k % seeds;
        const sked_status st =
            run_one(a, &p, &contenders[method], &stages[stage], seed, &here[method][stage].seed[seed], err);
        if (stop_requested || st != SKED_OK)
            return stop_requested ? SKED_OK : st;
        show_progress(NULL, t->name, t->begin + t->width * (k + 1) / (ALL * seeds), NAN, NAN);
    }
    for (int k = 0; k < ALL * seeds; k++)
        add_row(&t->sum[k / seeds / N_STAGES][k / seeds % N_STAGES].seed[k % seeds],
                &here[k / seeds / N_STAGES][k / seeds % N_STAGES].seed[k % seeds]);
    t->graphs++;
    if (a->list) {
        printf("%s, %d ops\n", label, (int)sked_graph_op_count(g));
        print_cells(here, 1, seeds);
    }
    return SKED_OK;
}

/* Where gflownet is below another method with the same stages, in so many words. */
static void print_verdict(const table *t, int stage, int seeds)
{
    int below = 0;
    for (int c = 0; c < N_COLUMNS; c++)
        for (int k = 0; columns[c].judged && k < GFLOWNET; k++) {
            double deviation[2];
            const double ours = over_seeds(&t->sum[GFLOWNET][stage], c, t->graphs, seeds, &deviation[0]);
            const double other = over_seeds(&t->sum[k][stage], c, t->graphs, seeds, &deviation[1]);
            if (ours >= other - 5e-4) /* what the table would show as equal */
                continue;
            printf("%-8s %-16s %-10s gflownet %.3f is below %s %.3f (%+.1f %%%s)\n", t->name,
                   stages[stage].name, columns[c].name, ours, contenders[k].label, other,
                   100 * (ours / other - 1),
                   other - ours <= hypot(deviation[0], deviation[1]) ? ", within one deviation" : "");
            below++;
        }
    if (below == 0)
        printf("%-8s %-16s %-10s gflownet is at least every other: top 1 and all three targets\n", t->name,
               stages[stage].name, "all");
}

/* ---------------------------------------------------------------- sets of graphs */

static bool skipped(const arguments *a, int index)
{
    return index % a->sample != 0;
}

static void set_progress(table *t, int done, int count)
{
    t->begin = (double)done / count;
    t->width = 1.0 / count;
    show_progress(NULL, t->name, t->begin, NAN, NAN);
}

static sked_status run_random(const arguments *a, table *t, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < RANDOM_GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        set_progress(t, i, RANDOM_GRAPHS);
        if (skipped(a, i))
            continue;
        st = random_graph(i, &g, err);
        if (st == SKED_OK)
            st = run_graph(a, g, random_family(i), t, err);
        sked_graph_destroy(g);
    }
    return st;
}

static sked_status run_files(const arguments *a, table *t, int first, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = first, taken = 0; st == SKED_OK && i < first + count && !stop_requested; i++) {
        sked_graph *g = NULL;
        set_progress(t, i - first, count);
        st = real_graph(a, i, &g, err);
        if (st == SKED_OK && g != NULL && !skipped(a, taken++))
            st = run_graph(a, g, real_graph_name(i), t, err);
        sked_graph_destroy(g);
    }
    return st;
}

static sked_status run_first(const arguments *a, table *t, sked_error *err)
{
    return have_data(a) ? run_files(a, t, 0, 1, err) : SKED_OK;
}

static sked_status run_real(const arguments *a, table *t, sked_error *err)
{
    return have_data(a) ? run_files(a, t, 1, real_graph_count() - 1, err) : SKED_OK;
}

static sked_status run_networks(const arguments *a, table *t, sked_error *err)
{
    csv list = {0};
    if (!have_data(a))
        return SKED_OK;
    sked_status st = networks_read(a, &list, err);
    for (int i = 1, taken = 0; st == SKED_OK && i < list.rows && !stop_requested; i++) {
        sked_graph *g = NULL;
        set_progress(t, i - 1, list.rows - 1);
        if (!network_fits(&list, i) || skipped(a, taken++))
            continue;
        st = network_graph(a, &list, i, &g, err);
        if (st == SKED_OK)
            st = run_graph(a, g, csv_get(&list, i, "name"), t, err);
        sked_graph_destroy(g);
    }
    csv_free(&list);
    return st;
}

static sked_status run_table(const arguments *a, table *t, sked_error *err)
{
    print_header(t);
    const sked_status st = t->run(a, t, err);
    end_progress();
    if (st == SKED_OK && t->graphs > 0)
        print_means(t, (int)a->seeds);
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
    printf(
        "model: %s, %lld parameters, %lld updates; %d devices, %d candidates of each method, top %d by the "
        "proxy; %d seed(s)\n",
        a->model != NULL ? a->model : "the built-in one", (long long)sked_sampler_parameter_count(m),
        (long long)sked_sampler_steps(m), DEVICES, DRAWS, TOP, (int)a->seeds);
    printf("top 1, top 100: speedup on the proxy; noisy (mean of %d draws), bandwidth, latency: best of the "
           "top %d on that target\n",
           NOISES, TOP);
    printf("list: one schedule; brkga, search: %d schedules built (fewer above %d ops); stages: none, local, "
           "local after improve=5\n",
           EVALUATIONS, EVALUATED_OPS);
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
    for (int i = 0; st == SKED_OK && i < count && !stop_requested; i++)
        if (wanted(a, tables[i].name))
            st = run_table(a, &tables[i], err);
    for (int i = 0; st == SKED_OK && i < count; i++)
        for (int k = 0; tables[i].graphs > 0 && k < N_STAGES; k++) {
            if (!judged)
                printf("\ngflownet beside the others with the same stages, in the mean:\n");
            judged = true;
            print_verdict(&tables[i], k, (int)a->seeds);
        }
    if (st == SKED_OK && strcmp(a->only, "temperature") == 0) /* a minute more: where asked for */
        st = run_temperatures(a, m, err);
    return st;
}

/* Static: the sums of all seeds are too large for a stack. */
static table tables[] = {
    {.name = "random",
     .title = "unseen graphs of 50 ops, five families",
     .paper = paper_random,
     .run = run_random},
    {.name = "one",
     .title = "one real graph: squeezenet (the paper's has 78 ops)",
     .paper = paper_one,
     .run = run_first},
    {.name = "real",
     .title = "real graphs (the paper's have 12 to 128 ops)",
     .paper = paper_real,
     .run = run_real},
    {.name = "networks", .title = "networks of 100 to 600 ops, durations measured", .run = run_networks},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

sked_status bench_paper(arguments *a, sked_error *err)
{
    sked_sampler *m = NULL;
    const double begin = sked_clock();
    bool any = wanted(a, "temperature");
    for (int i = 0; i < N_TABLES; i++)
        any |= wanted(a, tables[i].name);
    if (!any)
        return fail(err, SKED_ERR_ARGUMENT,
                    "the sets of this suite are random, one, real, networks and temperature");
    if (a->output.count > 0 && strcmp(a->only, "temperature") != 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "-o draws the set temperature of this suite: add --only temperature");
    sked_status st = sked_sampler_read(a->model, &m, err);
    if (st != SKED_OK)
        return st;
    print_setting(a, m);
    st = run_sets(a, m, tables, N_TABLES, err);
    printf("%.1f s in all\n", sked_clock() - begin);
    sked_sampler_destroy(m);
    return st;
}
