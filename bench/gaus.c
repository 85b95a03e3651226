/*
 * sked-bench gaus: the differentiable scheduler beside list, fds and exact on the problems it is made for:
 * load and communication (rw), memory (epfl), pipelined memory (modulo), units (express_dfg); and
 * what a gradient step takes (step). With --backend other than cpu, gaus on the CPU stands beside it.
 */
#define _DEFAULT_SOURCE
#include "bench.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BASELINES = 3, BESIDE_CPU = MAX_BASELINES, COMPARED };

typedef struct instance {
    char path[512], name[80];
    char library[2000];
    double horizon; /* steps; NAN: factor x critical path; 0: none */
    double factor, alpha, ii;
    double reference; /* to be met; NAN: none */
    double limit;     /* seconds; NAN: by size */
} instance;

typedef struct instances {
    instance *at;
    int count;
} instances;

typedef struct set {
    const char *name;
    sked_objective objective;
    const char *baseline[MAX_BASELINES]; /* the first is what the target speaks of */
    const char *must;                    /* NULL: steps are timed */
    double factor, alpha;                /* of the horizon, of communication */
    sked_status (*list)(const arguments *a, const struct set *s, instances *out, sked_error *err);
} set;

typedef struct outcome {
    bool found;
    double value, seconds, bound;
    double makespan, load, communication;
    int64_t evaluations;
    char note[200];
} outcome;

typedef struct tally {
    int n, legal, met, referenced, worse[COMPARED], compared[COMPARED];
    double ratio[COMPARED]; /* sum of logs of gaus over baseline */
    double gap, seconds;
} tally;

/* ------------------------------------------------------------------ instances */

static sked_status add(instances *list, const instance *one, sked_error *err)
{
    if (list->count % 64 == 0) {
        instance *bigger = realloc(list->at, ((size_t)list->count + 64) * sizeof *bigger);
        if (bigger == NULL)
            return fail(err, SKED_ERR_MEMORY, "out of memory");
        list->at = bigger;
    }
    list->at[list->count++] = *one;
    return SKED_OK;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const instance *)x)->path, ((const instance *)y)->path);
}

static sked_status list_folder(const arguments *a, const char *part, const char *extension,
                               const instance *like, instances *out, sked_error *err)
{
    char path[400];
    sked_status st = SKED_OK;
    DIR *folder = opendir(data_path(a, part, path, sizeof path));
    if (folder == NULL)
        return fail(err, SKED_ERR_IO, "%s: cannot be opened", path);
    for (const struct dirent *d; st == SKED_OK && (d = readdir(folder)) != NULL;) {
        const char *dot = strrchr(d->d_name, '.');
        instance one = *like;
        if (dot == NULL || strcmp(dot, extension) != 0 || strlen(d->d_name) > 70)
            continue;
        snprintf(one.path, sizeof one.path, "%s/%.80s", path, d->d_name);
        snprintf(one.name, sizeof one.name, "%.*s", (int)(dot - d->d_name), d->d_name);
        st = add(out, &one, err);
    }
    closedir(folder);
    qsort(out->at, (size_t)out->count, sizeof *out->at, by_name);
    return st;
}

static sked_status list_rw(const arguments *a, const set *s, instances *out, sked_error *err)
{
    const instance like = {.horizon = 10, .alpha = s->alpha, .reference = NAN, .limit = NAN};
    return list_folder(a, "rw", ".gml", &like, out, err);
}

static sked_status list_epfl(const arguments *a, const set *s, instances *out, sked_error *err)
{
    const instance like = {
        .horizon = NAN, .factor = s->factor, .alpha = s->alpha, .reference = NAN, .limit = NAN};
    const sked_status st = list_folder(a, "epfl", ".blif", &like, out, err);
    return st == SKED_OK ? list_folder(a, "epfl", ".aig", &like, out, err) : st;
}

static sked_status list_modulo(const arguments *a, const set *s, instances *out, sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    (void)s;
    sked_status st = csv_read(data_path(a, "modulo/ref_II.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.ii = csv_number(&c, i, "II_best"), .reference = NAN, .limit = 5};
        one.horizon = csv_number(&c, i, "schedule_length_at_II_best");
        snprintf(one.library, sizeof one.library, "{\"types\":{\"*\":{\"memory\":1}}}");
        snprintf(part, sizeof part, "modulo/%s", csv_get(&c, i, "graph"));
        data_path(a, part, one.path, sizeof one.path);
        snprintf(one.name, sizeof one.name, "%.79s", csv_get(&c, i, "graph"));
        st = add(out, &one, err);
    }
    csv_free(&c);
    return st;
}

/* Least MUL units first, then ALU units: a MUL counts as much as a thousand ALUs. */
static sked_status list_units(const arguments *a, const set *s, instances *out, sked_error *err)
{
    static const char library[] =
        "{\"types\":{\"mul\":{\"duration\":2,\"demand\":{\"MUL\":1000}},\"div\":{\"duration\":2,\"demand\":{"
        "\"ALU\":1}},\"*\":{\"duration\":1,\"demand\":{\"ALU\":1}}},\"resources\":{\"MUL\":null,\"ALU\":null}"
        "}";
    csv c = {0};
    char path[600], part[300];
    (void)s;
    sked_status st = csv_read(data_path(a, "express_dfg/ref_tc_resources.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.horizon = NAN, .factor = csv_number(&c, i, "latency_factor"), .limit = 5};
        one.reference = 1000 * csv_number(&c, i, "min_MUL") + csv_number(&c, i, "min_ALU");
        snprintf(one.library, sizeof one.library, "%s", library);
        snprintf(part, sizeof part, "express_dfg/%s.dot", csv_get(&c, i, "dfg"));
        data_path(a, part, one.path, sizeof one.path);
        snprintf(one.name, sizeof one.name, "%.60s x%g", csv_get(&c, i, "dfg"), one.factor);
        st = add(out, &one, err);
    }
    csv_free(&c);
    return st;
}

static const set sets[] = {
    {"rw-0.01",
     SKED_OBJECTIVE_COST,
     {"list", "fds"},
     "gap 0.5 %; GS-Schedule on an H200, rand_graph_1000_1: 168100 in 476 s",
     0,
     0.01,
     list_rw},
    {"rw-1", SKED_OBJECTIVE_COST, {"list", "fds"}, "never worse", 0, 1, list_rw},
    {"rw-100", SKED_OBJECTIVE_COST, {"list", "fds"}, "never worse", 0, 100, list_rw},
    {"epfl-memory-1",
     SKED_OBJECTIVE_MEMORY,
     {"list", "fds"},
     "15 % below, never worse than list",
     1,
     0,
     list_epfl},
    {"epfl-memory-1.2",
     SKED_OBJECTIVE_MEMORY,
     {"list", "fds"},
     "15 % below, never worse than list",
     1.2,
     0,
     list_epfl},
    {"epfl-cost-1", SKED_OBJECTIVE_COST, {"list", "fds"}, "never worse than list", 1, 1, list_epfl},
    {"epfl-cost-1.2", SKED_OBJECTIVE_COST, {"list", "fds"}, "never worse than list", 1.2, 1, list_epfl},
    {"modulo", SKED_OBJECTIVE_MEMORY, {"modulo-list"}, "95 % legal, 10 % below", 0, 0, list_modulo},
    {"units", SKED_OBJECTIVE_RESOURCE, {"list", "fds"}, "80 % of the reference", 0, 0, list_units},
    {"step", SKED_OBJECTIVE_MEMORY, {NULL}, NULL, 1.2, 0, list_epfl},
};
enum { n_sets = sizeof sets / sizeof *sets };

/* ------------------------------------------------------------------ running */

static sked_status run_method(const arguments *a, const sked_problem *p, const char *method,
                              const char *backend, double limit, outcome *out, sked_error *err)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_metrics m = {.size = sizeof m};
    sked_error why = {0};
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = limit;
    opt.backend = backend;
    opt.stop = &stop_requested;
    *out = (outcome){.value = NAN};
    if (sked_method_find(method) == NULL)
        return SKED_OK;
    sked_status st = sked_method_run(method, p, &opt, &r, &why);
    if (st == SKED_ERR_UNSUPPORTED || st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED)
        return SKED_OK;
    if (st == SKED_OK)
        st = sked_schedule_measure(p, r.schedule[0], &m, &why);
    if (st != SKED_OK)
        return fail(err, st, "%s: %s", method, why.message);
    *out = (outcome){.found = true,
                     .value = r.value,
                     .seconds = r.seconds,
                     .bound = r.lower_bound,
                     .makespan = m.makespan,
                     .load = m.resource,
                     .communication = m.communication,
                     .evaluations = r.evaluations};
    snprintf(out->note, sizeof out->note, "%s", r.note);
    sked_result_clear(&r);
    return SKED_OK;
}

/* The horizon: given, or a multiple of the longest path; pipelined also long enough for modulo-list. */
static sked_status set_horizon(const arguments *a, const instance *one, sked_problem *p, sked_error *err)
{
    if (one->ii > 0) {
        outcome loose;
        p->ii = one->ii;
        const sked_status st = run_method(a, p, "modulo-list", "cpu", one->limit, &loose, err);
        p->horizon = loose.found ? fmax(one->horizon, loose.makespan) : one->horizon + one->ii;
        return st;
    }
    if (one->horizon == 0)
        return SKED_OK;
    p->horizon = one->horizon;
    if (!isnan(one->horizon))
        return SKED_OK;
    sked_problem span = *p;
    double path;
    span.objective = SKED_OBJECTIVE_MAKESPAN;
    span.horizon = INFINITY;
    const sked_status st = sked_problem_bound(&span, &path, NULL, err);
    p->horizon = floor(one->factor * path + 1e-9);
    return st;
}

/* 2 s for 1,000 ops and 20 s for 10,000; circuits 5 to 60 s. */
static double limit_of(const arguments *a, const instance *one, int32_t ops)
{
    if (!isnan(a->time_limit))
        return a->time_limit;
    if (!isnan(one->limit))
        return one->limit;
    return one->factor > 0 ? fmin(58, fmax(5, ops / 400.0)) : fmin(20, fmax(1, ops / 500.0));
}

static void compare(const outcome *gaus, const outcome *other, int k, tally *t)
{
    if (!gaus->found || !other->found)
        return;
    t->compared[k]++;
    t->worse[k] += gaus->value > other->value * (1 + 1e-9);
    t->ratio[k] += log(fmax(gaus->value, 1e-9) / fmax(other->value, 1e-9));
}

static void print_outcome(const char *name, const outcome *o)
{
    if (o->found)
        printf("  %s %.10g", name, o->value);
    else
        printf("  %s -", name);
}

static sked_status run_instance(const arguments *a, const set *s, const instance *one, tally *t,
                                sked_error *err)
{
    sked_graph *g = NULL;
    sked_problem p;
    outcome gaus = {0}, other[MAX_BASELINES] = {{0}};
    sked_status st = read_with_library(one->path, one->library, &g, err);
    if (st != SKED_OK)
        return st;
    const char *baseline[MAX_BASELINES] = {s->baseline[0], s->baseline[1], a->exact ? "exact" : NULL};
    sked_problem_init(&p, g);
    p.objective = s->objective;
    p.alpha = one->alpha;
    st = set_horizon(a, one, &p, err);
    const double limit = limit_of(a, one, sked_graph_op_count(g));
    if (st == SKED_OK)
        st = run_method(a, &p, "gaus", a->backend, limit, &gaus, err);
    if (st == SKED_OK && a->list) {
        printf("  %-42s ops %6d horizon %4g", one->name, (int)sked_graph_op_count(g), p.horizon);
        print_outcome("gaus", &gaus);
        printf(" (%.1f s, %lld evaluations)", gaus.seconds, (long long)gaus.evaluations);
    }
    if (st == SKED_OK && strcmp(a->backend, "cpu") != 0) {
        outcome cpu;
        st = run_method(a, &p, "gaus", "cpu", limit, &cpu, err);
        compare(&gaus, &cpu, BESIDE_CPU, t);
        if (a->list)
            print_outcome("gaus on the cpu", &cpu);
    }
    for (int k = 0; st == SKED_OK && k < MAX_BASELINES; k++) {
        if (baseline[k] == NULL || (k == 2 && sked_graph_op_count(g) > 1000))
            continue;
        st = run_method(a, &p, baseline[k], "cpu", k == 2 ? 60 : limit, &other[k], err);
        compare(&gaus, &other[k], k, t);
        if (a->list)
            print_outcome(baseline[k], &other[k]);
    }
    t->n++;
    if (st == SKED_OK && gaus.found) {
        t->legal++;
        t->seconds += gaus.seconds;
        t->gap += gaus.bound > 0 ? gaus.value / gaus.bound - 1 : 0;
        t->referenced += !isnan(one->reference);
        t->met += gaus.value <= one->reference;
    }
    if (st == SKED_OK && a->list) {
        if (!isnan(one->reference))
            printf("  reference %g", one->reference);
        printf("  bound %.10g  %s\n", gaus.bound, gaus.note);
    }
    sked_graph_destroy(g);
    return st;
}

/* ------------------------------------------------------------------ what a gradient step takes */

typedef struct pace {
    double seconds, steps;
} pace;

/* One descent from the midpoint without polish; it legalises once. What the means alone do is not counted. */
static sked_status run_descent(const arguments *a, const sked_problem *p, const char *backend, int steps,
                               pace *out, sked_error *err)
{
    char setting[2][40];
    const char *settings[] = {"starts=1", "polish=false", "restarts=0", setting[0], setting[1]};
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    snprintf(setting[0], sizeof setting[0], "steps=%d", steps);
    snprintf(setting[1], sizeof setting[1], "every=%d", steps);
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.iterations = 1;
    opt.time_limit = INFINITY;
    opt.backend = backend;
    opt.settings = settings;
    opt.n_settings = 5;
    opt.stop = &stop_requested;
    const sked_status st = sked_method_run("gaus", p, &opt, &r, err);
    for (int32_t k = 0; st == SKED_OK && k < r.n_statistics; k++) {
        const sked_statistic *x = r.statistics[k];
        if (strcmp(x->technique, "descent") == 0)
            out->seconds += x->seconds;
        if (strcmp(x->technique, "descent on the means") == 0)
            out->seconds -= x->seconds;
        if (strcmp(x->technique, "gradient step") == 0)
            out->steps = (double)x->calls;
    }
    sked_result_clear(&r);
    return st;
}

/* The quickest of a few descents: what else the machine does is not counted. */
static sked_status run_quickest(const arguments *a, const sked_problem *p, const char *backend, int steps,
                                pace *out, sked_error *err)
{
    enum { times = 3 };
    sked_status st = SKED_OK;
    out->seconds = INFINITY;
    for (int k = 0; st == SKED_OK && k < times; k++) {
        pace x = {0};
        st = run_descent(a, p, backend, steps, &x, err);
        out->seconds = fmin(out->seconds, x.seconds);
        out->steps = x.steps;
    }
    return st;
}

/*
 * Prints the difference of a long and a short descent: what opens and closes them is not counted. A GPU
 * makes dozens of steps in the time that a processor needs for a few.
 */
static sked_status measure_step(const arguments *a, const sked_problem *p, const char *backend,
                                sked_error *err)
{
    const bool cpu = strcmp(backend, "cpu") == 0;
    const int few = cpu ? 2 : 16, many = cpu ? 6 : 96;
    pace brief = {0}, lengthy = {0};
    sked_status st = run_quickest(a, p, backend, few, &brief, err);
    if (st == SKED_OK)
        st = run_quickest(a, p, backend, many, &lengthy, err);
    if (st == SKED_OK && !stop_requested) /* what was cut short has no pace */
        printf("  %s %9.3f", backend,
               1e3 * (lengthy.seconds - brief.seconds) / fmax(1, lengthy.steps - brief.steps));
    fflush(stdout);
    return st;
}

static sked_status time_instance(const arguments *a, const set *s, const instance *one, sked_error *err)
{
    sked_graph *g = NULL;
    sked_problem p;
    sked_status st = read_with_library(one->path, one->library, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.objective = s->objective;
    st = set_horizon(a, one, &p, err);
    if (st == SKED_OK)
        printf("  %-20s ops %7d horizon %6g  ms a step:", one->name, (int)sked_graph_op_count(g), p.horizon);
    if (st == SKED_OK && strcmp(a->backend, "cpu") != 0) /* first: the CPU takes much longer */
        st = measure_step(a, &p, a->backend, err);
    if (st == SKED_OK && !stop_requested)
        st = measure_step(a, &p, "cpu", err);
    printf("\n");
    sked_graph_destroy(g);
    return st;
}

static sked_status time_steps(const arguments *a, const set *s, sked_error *err)
{
    instances list = {0};
    sked_status st = s->list(a, s, &list, err);
    printf("step: one descent from the midpoint, memory at %g x depth\n", s->factor);
    for (int i = 0; st == SKED_OK && i < list.count && !stop_requested; i += (int)a->sample) {
        st = time_instance(a, s, &list.at[i], err);
        fflush(stdout);
    }
    free(list.at);
    return st;
}

/* ------------------------------------------------------------------ rows */

static void print_row(const set *s, const tally *t, const arguments *a)
{
    const char *baseline[COMPARED] = {s->baseline[0], s->baseline[1], a->exact ? "exact" : NULL,
                                      "gaus on the cpu"};
    printf("%-16s %4d legal %5.1f %%  gap to bound %8.3f %%  %6.2f s", s->name, t->n, 100.0 * t->legal / t->n,
           100 * t->gap / t->n, t->seconds / t->n);
    if (t->referenced > 0)
        printf("  reference met %d/%d", t->met, t->n);
    for (int k = 0; k < COMPARED; k++)
        if (baseline[k] != NULL && t->compared[k] > 0)
            printf("  against %s: %+.1f %%, worse on %d of %d", baseline[k],
                   100 * (exp(t->ratio[k] / t->compared[k]) - 1), t->worse[k], t->compared[k]);
    printf("  must: %s\n", s->must);
    fflush(stdout);
}

static sked_status run_set(const arguments *a, const set *s, sked_error *err)
{
    instances list = {0};
    tally t = {0};
    sked_status st = s->list(a, s, &list, err);
    for (int i = 0; st == SKED_OK && i < list.count && !stop_requested; i += (int)a->sample) {
        st = run_instance(a, s, &list.at[i], &t, err);
        fflush(stdout);
        show_progress(NULL, s->name, (double)(i + 1) / list.count, NAN, NAN);
    }
    end_progress();
    if (st == SKED_OK && t.n > 0)
        print_row(s, &t, a);
    free(list.at);
    return st;
}

sked_status bench_gaus(arguments *a, sked_error *err)
{
    sked_status st = SKED_OK;
    int run = 0;
    print_machine(a);
    if (!have_data(a))
        return SKED_OK;
    printf("method gaus; against a baseline: geometric mean of the objective relative to its (negative: "
           "better)\n");
    for (int i = 0; st == SKED_OK && i < n_sets; i++) {
        if (strncmp(sets[i].name, a->only, strlen(a->only)) != 0)
            continue;
        st = (sets[i].must != NULL ? run_set : time_steps)(a, &sets[i], err);
        run++;
    }
    if (st == SKED_OK)
        st = bench_gaus_loops(a, &run, err);
    if (st == SKED_OK && run == 0)
        st = fail(err, SKED_ERR_ARGUMENT, "no set begins with '%.60s'", a->only);
    return st;
}
