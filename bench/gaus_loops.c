/*
 * Sets of sked-bench gaus that make their own loops or settings.
 *
 *   loops     circuits and rw graphs with added back edges, 300 to 57,000 ops: interval and peak memory of
 *             gaus beside modulo-list, without capacities and with a pool of a 64th of the ops
 *   bounds    bound of peak memory at 1.2 x depth beside what gaus reaches
 *   ablation  one round of gaus with one part changed: peak memory; load and communication, and pipelined
 *             memory
 */
#include "bench.h"

#include <math.h>
#include <string.h>

typedef struct source {
    const char *name;
    const char *file;    /* in the data folder; NULL: generated */
    const char *setting; /* of the family circuit */
    int32_t nodes;
} source;

static const source sources[] = {
    {"ctrl", "epfl/ctrl.blif", NULL, 0},
    {"router", "epfl/router.blif", NULL, 0},
    {"cavlc", "epfl/cavlc.blif", NULL, 0},
    {"priority", "epfl/priority.blif", NULL, 0},
    {"adder", "epfl/adder.blif", NULL, 0},
    {"i2c", "epfl/i2c.blif", NULL, 0},
    {"bar", "epfl/bar.blif", NULL, 0},
    {"arbiter", "epfl/arbiter.blif", NULL, 0},
    {"square", "epfl/square.blif", NULL, 0},
    {"multiplier", "epfl/multiplier.blif", NULL, 0},
    {"generated divider", NULL, "kind=divider", 5000},
    {"generated divider", NULL, "kind=divider", 57000},
    {"generated multiplier", NULL, "kind=multiplier", 57000},
    {"rand_graph_1000_1", "rw/rand_graph_1000_1.gml", NULL, 0},
    {"rand_graph_5000_1", "rw/rand_graph_5000_1.gml", NULL, 0},
    {"rand_graph_10000_1", "rw/rand_graph_10000_1.gml", NULL, 0},
};
enum { n_sources = sizeof sources / sizeof *sources };

/* Values of size 1, and for pool > 0 every op takes one of so many units. */
static sked_status open_source(const arguments *a, const source *s, int32_t pool, sked_graph **g,
                               sked_error *err)
{
    char path[600], library[200] = "{\"types\":{\"*\":{\"memory\":1}}}", demand[40];
    if (pool > 0)
        snprintf(library, sizeof library,
                 "{\"types\":{\"*\":{\"memory\":1,\"demand\":{\"P\":1}}},\"resources\":{\"P\":%d}}",
                 (int)pool);
    if (s->file != NULL)
        return read_with_library(data_path(a, s->file, path, sizeof path), library, g, err);
    sked_generate_options opt;
    sked_generate_options_init(&opt);
    opt.nodes = s->nodes;
    opt.settings = &s->setting;
    opt.n_settings = 1;
    snprintf(demand, sizeof demand, "P:%d:const:1", (int)pool);
    opt.demand = pool > 0 ? demand : NULL;
    return sked_graph_generate("circuit", &opt, g, err);
}

/* What a method finds; value NAN: nothing. */
typedef struct found {
    double value, ii, bound, seconds;
} found;

static sked_status run_method(const arguments *a, const sked_problem *p, const char *method, double limit,
                              const char *const *settings, int n_settings, found *out, sked_error *err)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = limit;
    opt.iterations = n_settings > 0 ? 1 : 0;
    opt.backend = strcmp(method, "gaus") == 0 ? a->backend : "cpu";
    opt.settings = settings;
    opt.n_settings = n_settings;
    opt.stop = &stop_requested;
    *out = (found){.value = NAN};
    const sked_status st = sked_method_run(method, p, &opt, &r, err);
    if (st == SKED_ERR_STOPPED || st == SKED_ERR_INFEASIBLE)
        return SKED_OK;
    if (st != SKED_OK)
        return st;
    *out = (found){r.value, r.schedule[0]->ii, r.lower_bound, r.seconds};
    sked_result_clear(&r);
    return SKED_OK;
}

static double limit_of(const arguments *a, int32_t ops)
{
    return isnan(a->time_limit) ? fmin(58, fmax(5, ops / 400.0)) : a->time_limit;
}

/* ------------------------------------------------------------------ loops */

typedef struct tally {
    int n, legal, same, worse;
    double ratio; /* sum of logs of gaus over modulo-list at the same interval */
} tally;

static void count(const found *gaus, const found *list, tally *t)
{
    t->n++;
    t->legal += !isnan(gaus->value);
    t->worse += gaus->ii > list->ii || (gaus->ii == list->ii && gaus->value > list->value);
    if (gaus->ii == list->ii && gaus->value > 0 && list->value > 0) {
        t->same++;
        t->ratio += log(gaus->value / list->value);
    }
}

static sked_status run_loop(const arguments *a, const source *s, int32_t pool, tally *t, sked_error *err)
{
    sked_graph *plain = NULL, *g = NULL;
    sked_problem p;
    found gaus = {NAN, NAN, NAN, NAN}, list = gaus;
    sked_back_edges draw;
    sked_back_edges_init(&draw);
    sked_status st = open_source(a, s, pool, &plain, err);
    if (st != SKED_OK)
        return st;
    const int32_t ops = sked_graph_op_count(plain);
    draw.count = ops / 25 + 1;
    draw.distance = 3;
    draw.seed = (uint64_t)a->seed;
    st = sked_graph_looped(plain, &draw, &g, err);
    sked_graph_destroy(plain);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.ii = SKED_II_AUTO;
    st = run_method(a, &p, "modulo-list", limit_of(a, ops), NULL, 0, &list, err);
    if (st == SKED_OK)
        st = run_method(a, &p, "gaus", limit_of(a, ops), NULL, 0, &gaus, err);
    if (st == SKED_OK && a->list)
        printf(
            "  %-21s ops %6d pool %4d  modulo-list ii %5g memory %8g (%.2f s)  gaus ii %5g memory %8g (%.1f "
            "s)  bound %g\n",
            s->name, (int)ops, (int)pool, list.ii, list.value, list.seconds, gaus.ii, gaus.value,
            gaus.seconds, gaus.bound);
    if (st == SKED_OK)
        count(&gaus, &list, t);
    sked_graph_destroy(g);
    return st;
}

static sked_status run_loops(const arguments *a, sked_error *err)
{
    sked_status st = SKED_OK;
    tally t = {0};
    for (int k = 0; st == SKED_OK && k < 2 * n_sources && !stop_requested; k += (int)a->sample) {
        const source *s = &sources[k / 2];
        sked_graph *g = NULL;
        if (k % 2 == 0 && s->file != NULL && strncmp(s->file, "rw", 2) == 0)
            continue; /* lags of 0: without a pool all ops start at once */
        st = open_source(a, s, 0, &g, err);
        const int32_t pool = st == SKED_OK && k % 2 ? sked_graph_op_count(g) / 64 + 1 : 0;
        sked_graph_destroy(g);
        if (st == SKED_OK)
            st = run_loop(a, s, pool, &t, err);
        fflush(stdout);
    }
    if (st == SKED_OK && t.n > 0)
        printf("%-16s %4d legal %5.1f %%  against modulo-list: %+.1f %% at the same interval (%d), worse on "
               "%d\n",
               "loops", t.n, 100.0 * t.legal / t.n, 100 * (exp(t.ratio / fmax(1, t.same)) - 1), t.same,
               t.worse);
    return st;
}

/* ------------------------------------------------------------------ bounds */

/* factor x critical path. */
static sked_status set_horizon(sked_problem *p, double factor, sked_error *err)
{
    sked_problem span = *p;
    double path;
    span.objective = SKED_OBJECTIVE_MAKESPAN;
    const sked_status st = sked_problem_bound(&span, &path, NULL, err);
    if (st == SKED_OK)
        p->horizon = floor(factor * path + 1e-9);
    return st;
}

static sked_status run_bound(const arguments *a, const source *s, double *gap, sked_error *err)
{
    sked_graph *g = NULL;
    sked_problem p;
    found gaus = {NAN, NAN, NAN, NAN};
    double bound = 0, free_bound = 0;
    const char *why = "";
    sked_status st = open_source(a, s, 0, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    st = sked_problem_bound(&p, &free_bound, NULL, err);
    if (st == SKED_OK)
        st = set_horizon(&p, 1.2, err);
    if (st == SKED_OK)
        st = sked_problem_bound(&p, &bound, &why, err);
    if (st == SKED_OK)
        st = run_method(a, &p, "gaus", limit_of(a, sked_graph_op_count(g)), NULL, 0, &gaus, err);
    if (st == SKED_OK && a->list)
        printf("  %-21s ops %6d horizon %6g  bound %6g (without horizon %g; %s)  gaus %6g\n", s->name,
               (int)sked_graph_op_count(g), p.horizon, bound, free_bound, why, gaus.value);
    *gap = gaus.value / fmax(bound, gaus.bound);
    sked_graph_destroy(g);
    return st;
}

static sked_status run_bounds(const arguments *a, sked_error *err)
{
    sked_status st = SKED_OK;
    double sum = 0;
    int n = 0;
    for (int k = 0; st == SKED_OK && k < n_sources && !stop_requested; k += (int)a->sample) {
        double gap = NAN;
        if (sources[k].file != NULL && strncmp(sources[k].file, "rw", 2) == 0)
            continue; /* lags of 0: no value has to live */
        st = run_bound(a, &sources[k], &gap, err);
        if (st == SKED_OK && gap > 0) {
            sum += log(gap);
            n++;
        }
        fflush(stdout);
    }
    if (st == SKED_OK && n > 0)
        printf("%-16s %4d  value over bound %.3f (geometric mean)\n", "bounds", n, exp(sum / n));
    return st;
}

/* ------------------------------------------------------------------ ablation */

typedef struct variant {
    const char *name;
    const char *setting[3];
    int count;
} variant;

static const variant of_loads[] = {
    {"everything", {"steps=400"}, 1},
    {"Lagrangian as published", {"lagrangian=published"}, 1},
    {"no polish", {"polish=false"}, 1},
    {"no polish, Lagrangian as published", {"polish=false", "lagrangian=published"}, 2},
    {"no restarts, no polish", {"polish=false", "restarts=0"}, 2},
    {"no restarts, no polish, as published", {"polish=false", "restarts=0", "lagrangian=published"}, 3},
    {"no gradient", {"starts=0"}, 1},
};

static const variant of_memory[] = {
    {"everything", {"steps=400"}, 1},
    {"legaliser alone", {"starts=0", "polish=false"}, 2},
    {"Lagrangian as published", {"lagrangian=published"}, 1},
    {"no polish", {"polish=false"}, 1},
    {"no polish, Lagrangian as published", {"polish=false", "lagrangian=published"}, 2},
    {"polish alone, no gradient", {"starts=0"}, 1},
    {"no restarts", {"restarts=0"}, 1},
    {"no restarts, no polish", {"restarts=0", "polish=false"}, 2},
    {"one start (midpoint)", {"starts=1"}, 1},
    {"one start, no polish", {"starts=1", "polish=false"}, 2},
    {"sigma at most 3, no polish", {"sigma=3", "polish=false"}, 2},
};

/* A graph and what is asked of it. */
typedef struct question {
    const char *name, *file;
    sked_objective objective;
    double horizon, factor, alpha; /* horizon 0: factor x critical path */
    bool loop;                     /* with back edges, at the least interval */
} question;

static const question loads[] = {
    {"rw 1000", "rw/rand_graph_1000_1.gml", SKED_OBJECTIVE_COST, 10, 0, 100, false},
    {"rw sparse 1000", "rw/rand_graph_sparse_1000_1.gml", SKED_OBJECTIVE_COST, 10, 0, 100, false},
    {"ctrl", "epfl/ctrl.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, true},
    {"int2float", "epfl/int2float.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, true},
    {"router", "epfl/router.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, true},
    {"cavlc", "epfl/cavlc.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, true},
};

static const question memory[] = {
    {"router", "epfl/router.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
    {"i2c", "epfl/i2c.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
    {"priority", "epfl/priority.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
    {"cavlc", "epfl/cavlc.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
    {"ctrl", "epfl/ctrl.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
    {"int2float", "epfl/int2float.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
    {"adder", "epfl/adder.blif", SKED_OBJECTIVE_MEMORY, 0, 1.2, 0, false},
};
enum { most_questions = 8 };

typedef struct ablation {
    const char *title;
    const question *questions;
    int n_questions;
    const variant *variants;
    int n_variants;
    bool beside_list; /* a first row, which the means are relative to; else to the first variant */
} ablation;

#define ROWS(list) (list), (int)(sizeof(list) / sizeof *(list))
static const ablation ablations[] = {
    {"peak memory at 1.2 x depth, means against list", ROWS(memory), ROWS(of_memory), true},
    {"load + 100 x communication, then peak memory with back edges at the least interval", ROWS(loads),
     ROWS(of_loads), false}};
#undef ROWS

/* The problem of a question; the caller destroys *g. */
static sked_status ask(const arguments *a, const question *q, sked_graph **g, sked_problem *p,
                       sked_error *err)
{
    const source s = {q->name, q->file, NULL, 0};
    sked_status st = open_source(a, &s, 0, g, err);
    if (st == SKED_OK && q->loop) {
        sked_graph *plain = *g;
        sked_back_edges draw;
        sked_back_edges_init(&draw);
        draw.count = sked_graph_op_count(plain) / 25 + 1;
        draw.distance = 3;
        st = sked_graph_looped(plain, &draw, g, err);
        sked_graph_destroy(plain);
    }
    if (st != SKED_OK) {
        *g = NULL;
        return st;
    }
    sked_problem_init(p, *g);
    p->alpha = q->alpha;
    p->horizon = q->horizon > 0 ? q->horizon : INFINITY;
    if (q->horizon == 0)
        st = set_horizon(p, q->factor, err);
    if (st == SKED_OK && q->loop) {
        p->objective = SKED_OBJECTIVE_II;
        st = sked_problem_bound(p, &p->ii, NULL, err);
    }
    p->objective = q->objective;
    return st;
}

/* One row of the table. base: [questions] what the mean is relative to, NAN: this row is. */
static sked_status run_variant(const arguments *a, const ablation *t, const char *method, const variant *v,
                               double *base, sked_error *err)
{
    sked_status st = SKED_OK;
    const bool first = isnan(base[0]);
    double sum = 0;
    printf("| %s |", v->name);
    for (int k = 0; st == SKED_OK && k < t->n_questions; k++) {
        sked_graph *g = NULL;
        sked_problem p;
        found x = {NAN, NAN, NAN, NAN};
        st = ask(a, &t->questions[k], &g, &p, err);
        if (st == SKED_OK)
            st = run_method(a, &p, method, INFINITY, v->setting, v->count, &x, err);
        sked_graph_destroy(g);
        base[k] = first ? x.value : base[k];
        sum += log(x.value / base[k]);
        printf(" %.7g |", x.value);
        fflush(stdout);
    }
    if (first)
        printf(" |\n");
    else
        printf(" %+.1f %% |\n", 100 * (exp(sum / t->n_questions) - 1));
    return st;
}

static sked_status run_table(const arguments *a, const ablation *t, sked_error *err)
{
    static const variant list = {"list", {NULL}, 0};
    sked_status st = SKED_OK;
    double base[most_questions] = {NAN};
    printf("\nOne round without time limit: %s.\n\n| variant |", t->title);
    for (int k = 0; k < t->n_questions; k++)
        printf(" %s |", t->questions[k].name);
    printf(" mean |\n|---|");
    for (int k = 0; k <= t->n_questions; k++)
        printf("---|");
    printf("\n");
    if (t->beside_list)
        st = run_variant(a, t, "list", &list, base, err);
    for (int v = 0; st == SKED_OK && v < t->n_variants && !stop_requested; v++)
        st = run_variant(a, t, "gaus", &t->variants[v], base, err);
    return st;
}

static sked_status run_ablation(const arguments *a, sked_error *err)
{
    sked_status st = SKED_OK;
    for (size_t k = 0; st == SKED_OK && k < sizeof ablations / sizeof *ablations && !stop_requested; k++)
        st = run_table(a, &ablations[k], err);
    return st;
}

/* ------------------------------------------------------------------ the sets */

sked_status bench_gaus_loops(const arguments *a, int *run, sked_error *err)
{
    static const struct {
        const char *name;
        sked_status (*run)(const arguments *a, sked_error *err);
    } sets[] = {{"loops", run_loops}, {"bounds", run_bounds}, {"ablation", run_ablation}};
    sked_status st = SKED_OK;
    for (size_t k = 0; st == SKED_OK && k < sizeof sets / sizeof *sets; k++) {
        if (strncmp(sets[k].name, a->only, strlen(a->only)) != 0)
            continue;
        st = sets[k].run(a, err);
        ++*run;
    }
    return st;
}
