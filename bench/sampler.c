/*
 * sked-bench sampler: how good the draws of the learned sampler are, for graphs of all sizes and for known
 * machines. Figures are shares of what a reference reaches, in percent: its makespan by that of the best
 * draw. Graphs are of other seeds than those of training.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, FIRST_SEED = 830000, FAMILIES = 5 };
static const char *const families[FAMILIES] = {"erdos-renyi", "layered", "stochastic-block", "watts-strogatz",
                                               "barabasi-albert"};

/* Names of the sets. */
static const char *const sets[] = {"free", "known", "mixed", "networks", "speed", "small"};
enum { N_SETS = sizeof sets / sizeof *sets };

static bool wanted(const arguments *a, const char *set)
{
    return a->only[0] == 0 || strcmp(a->only, set) == 0;
}

/* ---------------------------------------------------------------- one problem */

/* Makespan of a method's best schedule. */
static sked_status run_method(const arguments *a, const sked_problem *p, const char *method, double *makespan,
                              sked_error *err)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = a->quick ? 0.3 : 1;
    opt.stop = &stop_requested;
    const sked_status st = sked_method_run(method, p, &opt, &r, err);
    if (st == SKED_OK)
        *makespan = r.value;
    sked_result_clear(&r);
    return st;
}

/* Makespan of the best draw, and that of the mean draw. */
static sked_status run_sampler(const arguments *a, const sked_sampler *m, const sked_problem *p,
                               int32_t draws, double *best, double *mean, sked_error *err)
{
    sked_sample_options opt;
    sked_samples s = {.size = sizeof s};
    sked_sample_options_init(&opt);
    opt.count = draws;
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.stop = &stop_requested;
    opt.temperature = a->temperature;
    opt.raw = true;
    const sked_status st = sked_sampler_sample(m, p, &opt, &s, err);
    *best = INFINITY;
    *mean = 0;
    for (int32_t k = 0; st == SKED_OK && k < s.count; k++) {
        *best = fmin(*best, s.makespan[k]);
        *mean += s.makespan[k] / s.count;
    }
    sked_samples_clear(&s);
    return st;
}

/* Sums of shares over the graphs of a row. */
typedef struct row {
    double best, mean, rule, over_rule;
    int count;
} row;

/* The sampler against search, and against a rule (list or heft) that stands beside it. */
static sked_status compare(const arguments *a, const sked_sampler *m, const sked_problem *p, const char *rule,
                           int32_t draws, row *out, sked_error *err)
{
    double search = 0, by_rule = 0, best = 0, mean = 0;
    sked_status st = run_method(a, p, "search", &search, err);
    if (st == SKED_OK)
        st = run_method(a, p, rule, &by_rule, err);
    if (st == SKED_OK)
        st = run_sampler(a, m, p, draws, &best, &mean, err);
    if (st != SKED_OK)
        return st;
    out->best += search / best;
    out->mean += search / mean;
    out->rule += search / by_rule;
    out->over_rule += by_rule / best;
    out->count++;
    return SKED_OK;
}

static void print_row(const char *label, const row *r, const char *rule)
{
    printf("%-38s %4d %8.2f %8.2f %8.2f %8.2f   (%s)\n", label, r->count, 100 * r->best / r->count,
           100 * r->mean / r->count, 100 * r->rule / r->count, 100 * r->over_rule / r->count, rule);
    fflush(stdout);
}

static void print_head(const char *title)
{
    printf("%s\n%-38s %4s %8s %8s %8s %8s\n", title, "[% of search]", "n", "top 1", "mean", "rule",
           "top/rule");
}

static int graphs_each(const arguments *a)
{
    return a->quick ? 1 : 2;
}

/* ---------------------------------------------------------------- without transfers */

static sked_status free_family(const arguments *a, const sked_sampler *m, const char *family, int32_t ops,
                               int32_t draws, row *out, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; st == SKED_OK && k < graphs_each(a); k++) {
        const sked_generate_options how = {
            .size = sizeof how, .nodes = ops, .seed = FIRST_SEED + (uint64_t)k};
        sked_graph *g = NULL;
        sked_problem p;
        st = sked_graph_generate(family, &how, &g, err);
        if (st != SKED_OK)
            return st;
        sked_problem_init(&p, g);
        p.devices = DEVICES;
        st = compare(a, m, &p, "list", draws, out, err);
        sked_graph_destroy(g);
    }
    return st;
}

static void add_row(row *sum, const row *r)
{
    sum->best += r->best;
    sum->mean += r->mean;
    sum->rule += r->rule;
    sum->over_rule += r->over_rule;
    sum->count += r->count;
}

static sked_status free_set(const arguments *a, const sked_sampler *m, sked_error *err)
{
    static const struct {
        int32_t ops, draws;
    } sizes[] = {{50, 1000}, {200, 1000}, {1000, 100}};
    print_head("no transfers, 4 equal devices");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        row all = {0};
        char label[80];
        for (int f = 0; f < FAMILIES; f++) {
            row r = {0};
            const sked_status st = free_family(a, m, families[f], sizes[i].ops, sizes[i].draws, &r, err);
            if (st != SKED_OK)
                return st;
            snprintf(label, sizeof label, "  %s", families[f]);
            if (a->list)
                print_row(label, &r, "list");
            add_row(&all, &r);
        }
        snprintf(label, sizeof label, "%d ops, %d draws", (int)sizes[i].ops, (int)sizes[i].draws);
        print_row(label, &all, "list");
    }
    putchar('\n');
    return SKED_OK;
}

/* ---------------------------------------------------------------- known machines */

/* Two slow, one plain and one fast device. */
static sked_status hetero_machine(uint64_t seed, double latency, double bandwidth, sked_machine **out,
                                  sked_error *err)
{
    (void)seed;
    static const struct {
        const char *name, *type;
        double speed;
    } device[DEVICES] = {{"a", "slow", 0.7}, {"b", "slow", 0.7}, {"c", "plain", 1}, {"d", "fast", 2}};
    sked_machine_builder *b = NULL;
    sked_status st = sked_machine_builder_create("unequal", &b, err);
    for (int k = 0; st == SKED_OK && k < DEVICES; k++)
        st = sked_machine_builder_add_device(b, device[k].name, device[k].type, device[k].speed, INFINITY,
                                             NULL, err);
    if (st == SKED_OK)
        st = sked_machine_builder_set_link(b, latency, bandwidth, err);
    if (st == SKED_OK)
        st = sked_machine_builder_finish(b, out, err);
    sked_machine_builder_destroy(b);
    return st;
}

/* Latency and bandwidth that take half of a mean transfer of `transfers` mean durations each. */
static void links_of(const sked_graph *g, double transfers, double *latency, double *bandwidth)
{
    double work = 0, bytes = 0;
    const int32_t ops = sked_graph_op_count(g);
    const int64_t edges = sked_graph_edge_count(g);
    for (int32_t i = 0; i < ops; i++)
        work += sked_graph_duration(g, i);
    for (int64_t e = 0; e < edges; e++) {
        sked_edge edge;
        sked_graph_edge(g, e, &edge);
        bytes += edge.bytes;
    }
    *latency = transfers / 2 * work / ops;
    *bandwidth = *latency > 0 && edges > 0 ? bytes / (double)edges / *latency : INFINITY;
}

typedef sked_status (*machine_maker)(uint64_t seed, double latency, double bandwidth, sked_machine **out,
                                     sked_error *err);

/* A graph with transfers of so many mean durations; `make`: on a machine of `devices`, NULL: equal ones. */
static sked_status linked_graph(const arguments *a, const sked_sampler *m, const char *family,
                                const sked_generate_options *how, double transfers, machine_maker make,
                                int32_t devices, row *out, sked_error *err)
{
    sked_graph *g = NULL;
    sked_machine *machine = NULL;
    sked_problem p;
    double latency, bandwidth;
    sked_status st = sked_graph_generate(family, how, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = devices;
    links_of(g, transfers, &latency, &bandwidth);
    if (make != NULL)
        st = make(how->seed * 31 + (uint64_t)how->nodes + (uint64_t)(transfers * 1000), latency, bandwidth,
                  &machine, err);
    p.machine = machine;
    p.latency = make != NULL ? 0 : latency;
    p.bandwidth = make != NULL ? INFINITY : bandwidth;
    if (st == SKED_OK)
        st = compare(a, m, &p, "heft", 100, out, err);
    sked_machine_destroy(machine);
    sked_graph_destroy(g);
    return st;
}

static sked_status known_row(const arguments *a, const sked_sampler *m, int32_t ops, double transfers,
                             bool hetero, row *all, sked_error *err)
{
    row sum = {0};
    char label[80];
    for (int f = 0; f < FAMILIES; f++) {
        row r = {0};
        for (int k = 0; k < graphs_each(a); k++) {
            const sked_generate_options how = {.size = sizeof how,
                                               .nodes = ops,
                                               .seed = FIRST_SEED + 100 + (uint64_t)k,
                                               .bytes = "lognormal:0,1"};
            const sked_status st = linked_graph(a, m, families[f], &how, transfers,
                                                hetero ? hetero_machine : NULL, DEVICES, &r, err);
            if (st != SKED_OK)
                return st;
        }
        snprintf(label, sizeof label, "  %s", families[f]);
        if (a->list)
            print_row(label, &r, "heft");
        add_row(&sum, &r);
    }
    snprintf(label, sizeof label, "%d ops, transfers %g%s", (int)ops, transfers,
             hetero ? ", heterogeneous" : "");
    print_row(label, &sum, "heft");
    add_row(all, &sum);
    return SKED_OK;
}

static sked_status known_set(const arguments *a, const sked_sampler *m, sked_error *err)
{
    static const double transfers[] = {0, 0.5, 1, 2, 4};
    const int sizes = a->quick ? 1 : 2;
    sked_status st = SKED_OK;
    print_head("known machine, 4 devices, best of 100 draws");
    for (int hetero = 0; hetero < 2; hetero++) {
        row all = {0};
        for (int size = 0; size < sizes; size++)
            for (size_t i = 0; i < sizeof transfers / sizeof *transfers && st == SKED_OK; i++)
                st = known_row(a, m, size == 0 ? 50 : 200, transfers[i], hetero != 0, &all, err);
        if (st != SKED_OK)
            return st;
        print_row(hetero ? "mean, heterogeneous devices" : "mean, equal devices", &all, "heft");
    }
    putchar('\n');
    return SKED_OK;
}

/* ---------------------------------------------------------------- machines of every kind */

/* A number of 0 to 1 of its own for each seed (splitmix64). */
static double chance(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Five devices of three types, speeds of 1/e to e; links between types take 0.4 to 2.5 times the mean. */
static sked_status mixed_machine(uint64_t seed, double latency, double bandwidth, sked_machine **out,
                                 sked_error *err)
{
    static const char *const type[] = {"a", "b", "c"}, *const name[] = {"a0", "a1", "b0", "b1", "c0"};
    sked_machine_builder *b = NULL;
    double speed[3];
    sked_status st = sked_machine_builder_create("mixed", &b, err);
    for (int k = 0; k < 3; k++)
        speed[k] = exp(2 * chance(&seed) - 1);
    for (int k = 0; st == SKED_OK && k < 5; k++)
        st = sked_machine_builder_add_device(b, name[k], type[k / 2], speed[k / 2], INFINITY, NULL, err);
    for (int j = 0; j < 3; j++)
        for (int k = j; k < 3 && st == SKED_OK; k++) {
            const double factor = 0.4 * pow(2.5 / 0.4, chance(&seed));
            st = sked_machine_builder_add_link(b, type[j], type[k], latency * factor, bandwidth / factor,
                                               false, err);
        }
    if (st == SKED_OK)
        st = sked_machine_builder_finish(b, out, err);
    sked_machine_builder_destroy(b);
    return st;
}

/* Families, and the two sizes of their graphs. */
typedef struct mixed_kind {
    const char *name, *const *family;
    int count;
    int32_t ops[2];
} mixed_kind;

static sked_status mixed_rows(const arguments *a, const sked_sampler *m, const mixed_kind *kind, bool hetero,
                              sked_error *err)
{
    static const double transfers[] = {0, 1, 4};
    row all = {0};
    char label[80];
    for (int t = 0; t < 3; t++) {
        row r = {0};
        for (int k = 0; k < 2 * graphs_each(a) * kind->count; k++) {
            const sked_generate_options how = {.size = sizeof how,
                                               .nodes = kind->ops[k / kind->count % 2],
                                               .seed = FIRST_SEED + 300 + (uint64_t)a->seed * 100 +
                                                       (uint64_t)(k / (2 * kind->count)),
                                               .bytes = "exponential:1"};
            const sked_status st = linked_graph(a, m, kind->family[k % kind->count], &how, transfers[t],
                                                hetero ? mixed_machine : NULL, hetero ? 5 : DEVICES, &r, err);
            if (st != SKED_OK)
                return st;
        }
        snprintf(label, sizeof label, "%s, transfers %g%s", kind->name, transfers[t],
                 hetero ? ", mixed" : "");
        print_row(label, &r, "heft");
        add_row(&all, &r);
    }
    snprintf(label, sizeof label, "mean, %s%s", kind->name, hetero ? ", mixed" : "");
    print_row(label, &all, "heft");
    return SKED_OK;
}

/* As large as those of training; a family, and sizes, that no model of models/ has learnt from. */
static sked_status mixed_set(const arguments *a, const sked_sampler *m, sked_error *err)
{
    static const char *const other[] = {"circuit"};
    const mixed_kind kinds[] = {{"50 and 120 ops", families, FAMILIES, {50, 120}},
                                {"circuits", other, 1, {50, 120}},
                                {"300 and 600 ops", families, FAMILIES, {300, 600}}};
    sked_status st = SKED_OK;
    print_head("4 equal devices, or 5 of three types with links by type, best of 100 draws");
    for (int hetero = 0; hetero < 2; hetero++)
        for (int k = 0; k < (a->quick ? 1 : 3) && st == SKED_OK; k++)
            st = mixed_rows(a, m, &kinds[k], hetero, err);
    putchar('\n');
    return st;
}

/* ---------------------------------------------------------------- real networks */

static sked_status network(const arguments *a, const sked_sampler *m, const char *name, row *out,
                           sked_error *err)
{
    char part[200], path[700];
    sked_graph *g = NULL;
    sked_problem p;
    double list = 0, best = 0, mean = 0;
    snprintf(part, sizeof part, "networks/%.150s.json", name);
    sked_status st = sked_graph_read(data_path(a, part, path, sizeof path), NULL, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = DEVICES;
    st = run_method(a, &p, "list", &list, err);
    if (st == SKED_OK)
        st = run_sampler(a, m, &p, 200, &best, &mean, err);
    if (st == SKED_OK) {
        out->over_rule += list / best;
        out->mean += list / mean;
        out->count++;
        if (a->list)
            printf("  %-32s %5d ops %8.2f %8.2f\n", name, (int)sked_graph_op_count(g), 100 * list / best,
                   100 * list / mean);
        fflush(stdout);
    }
    sked_graph_destroy(g);
    return st;
}

static sked_status network_set(const arguments *a, const sked_sampler *m, sked_error *err)
{
    char path[700];
    csv table;
    row all = {0};
    double least = INFINITY;
    sked_status st = csv_read(data_path(a, "networks/networks.csv", path, sizeof path), &table, err);
    if (st != SKED_OK)
        return st;
    printf(
        "real networks of 100 to 2000 ops, no transfers, 4 devices, 200 draws [%% of list]: top 1, mean\n");
    for (int k = 1, seen = 0; st == SKED_OK && k < table.rows; k++) {
        const double ops = csv_number(&table, k, "ops");
        if (ops < 100 || ops > 2000 || seen++ % (a->quick ? 8 : (int)a->sample) != 0)
            continue;
        const double before = all.over_rule;
        st = network(a, m, csv_get(&table, k, "name"), &all, err);
        least = fmin(least, all.over_rule - before);
    }
    csv_free(&table);
    if (st == SKED_OK && all.count > 0)
        printf("%d networks: top 1 %.2f (least %.2f), mean %.2f\n\n", all.count,
               100 * all.over_rule / all.count, 100 * least, 100 * all.mean / all.count);
    return st;
}

/* ---------------------------------------------------------------- speed */

static sked_status time_draws(const arguments *a, const sked_sampler *m, int32_t ops, int32_t draws,
                              sked_error *err)
{
    double wall = 0, best, mean;
    sked_status st = SKED_OK;
    for (int f = 0; st == SKED_OK && f < FAMILIES; f++) {
        const sked_generate_options how = {.size = sizeof how, .nodes = ops, .seed = FIRST_SEED};
        sked_graph *g = NULL;
        sked_problem p;
        st = sked_graph_generate(families[f], &how, &g, err);
        if (st != SKED_OK)
            return st;
        sked_problem_init(&p, g);
        p.devices = DEVICES;
        const double begin = sked_clock();
        st = run_sampler(a, m, &p, draws, &best, &mean, err);
        wall += sked_clock() - begin;
        sked_graph_destroy(g);
    }
    if (st == SKED_OK)
        printf("%d draws of %d ops: %.3f s, mean of five families, %d threads\n", (int)draws, (int)ops,
               wall / FAMILIES, (int)a->threads);
    return st;
}

static sked_status speed_set(const arguments *a, const sked_sampler *m, sked_error *err)
{
    sked_status st = time_draws(a, m, 50, 1000, err);
    if (st == SKED_OK)
        st = time_draws(a, m, 1000, 100, err);
    return st;
}

/* ---------------------------------------------------------------- small graphs, draws as they come */

/* Best and mean of as many schedules of random list scheduling. */
static sked_status run_random_list(const arguments *a, const sked_problem *p, int32_t draws, double *best,
                                   double *mean, sked_error *err)
{
    const char *settings[] = {"priority=random"};
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    opt.settings = settings;
    opt.n_settings = 1;
    opt.threads = 1;
    opt.stop = &stop_requested;
    *best = INFINITY;
    *mean = 0;
    sked_status st = SKED_OK;
    for (int32_t k = 0; st == SKED_OK && k < draws; k++) {
        opt.seed = (uint64_t)a->seed + (uint64_t)k;
        st = sked_method_run("list", p, &opt, &r, err);
        *best = st == SKED_OK ? fmin(*best, r.value) : *best;
        *mean += r.value / draws;
        sked_result_clear(&r);
        r = (sked_result){.size = sizeof r};
    }
    return st;
}

enum { MODEL, BUILT_IN, RANDOM_LIST, SMALL_ROWS };

static sked_status small_graph(const arguments *a, const sked_sampler *const *m, const sked_problem *p,
                               row *rows, sked_error *err)
{
    const int32_t draws = a->quick ? 100 : 1000;
    double search = 0, list = 0;
    sked_status st = run_method(a, p, "search", &search, err);
    if (st == SKED_OK)
        st = run_method(a, p, "list", &list, err);
    for (int k = 0; st == SKED_OK && k < SMALL_ROWS; k++) {
        double best, mean;
        st = k == RANDOM_LIST ? run_random_list(a, p, draws, &best, &mean, err)
                              : run_sampler(a, m[k], p, draws, &best, &mean, err);
        rows[k].best += search / best;
        rows[k].mean += search / mean;
        rows[k].rule += search / list;
        rows[k].over_rule += list / best;
        rows[k].count++;
    }
    return st;
}

static sked_status small_size(const arguments *a, const sked_sampler *const *m, int32_t ops, sked_error *err)
{
    static const char *const names[] = {"model", "built in", "random list"};
    row rows[SMALL_ROWS] = {{0}};
    sked_status st = SKED_OK;
    for (int k = 0; k < FAMILIES * graphs_each(a) && st == SKED_OK; k++) {
        const sked_generate_options how = {
            .size = sizeof how, .nodes = ops, .seed = FIRST_SEED + 200 + (uint64_t)(k / FAMILIES)};
        sked_graph *g = NULL;
        sked_problem p;
        st = sked_graph_generate(families[k % FAMILIES], &how, &g, err);
        if (st != SKED_OK)
            return st;
        sked_problem_init(&p, g);
        p.devices = DEVICES;
        st = small_graph(a, m, &p, rows, err);
        sked_graph_destroy(g);
    }
    for (int k = 0; k < SMALL_ROWS && st == SKED_OK; k++) {
        char label[40];
        snprintf(label, sizeof label, "%d ops, %s", (int)ops, names[k]);
        print_row(label, &rows[k], "list");
    }
    return st;
}

/* The model beside the one in the box and random list scheduling, with as many schedules each. */
static sked_status small_set(const arguments *a, const sked_sampler *model, sked_error *err)
{
    static const int32_t sizes[] = {20, 40, 60};
    sked_sampler *built_in = NULL;
    sked_status st = sked_sampler_read(NULL, &built_in, err);
    const sked_sampler *const m[] = {model, built_in};
    print_head(a->quick ? "no transfers, 4 equal devices, 100 draws as they come"
                        : "no transfers, 4 equal devices, 1000 draws as they come");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && st == SKED_OK; i++)
        st = small_size(a, m, sizes[i], err);
    sked_sampler_destroy(built_in);
    return st;
}

sked_status bench_sampler(arguments *a, sked_error *err)
{
    sked_sampler *m = NULL;
    bool known = a->only[0] == 0;
    for (int k = 0; k < N_SETS; k++)
        known |= wanted(a, sets[k]);
    if (!known)
        return fail(err, SKED_ERR_ARGUMENT,
                    "the sets of this suite are free, known, mixed, networks, speed and small");
    sked_status st = sked_sampler_read(a->model, &m, err);
    if (st == SKED_OK)
        print_machine(a);
    if (st == SKED_OK && wanted(a, "free"))
        st = free_set(a, m, err);
    if (st == SKED_OK && wanted(a, "known"))
        st = known_set(a, m, err);
    if (st == SKED_OK && wanted(a, "mixed"))
        st = mixed_set(a, m, err);
    if (st == SKED_OK && wanted(a, "networks") && have_data(a))
        st = network_set(a, m, err);
    if (st == SKED_OK && wanted(a, "speed"))
        st = speed_set(a, m, err);
    if (st == SKED_OK && strcmp(a->only, "small") == 0) /* of interest for a model of one's own */
        st = small_set(a, m, err);
    sked_sampler_destroy(m);
    return st;
}
