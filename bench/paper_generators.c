/*
 * Set "generators": what the five families of table 2 are like, with the generators' own parameters and with
 * those of `--like paper`, beside what the paper says of its graphs. d_inv and d_sen also as sums of absolute
 * differences, to see in which unit the published ones can be.
 */
#include "paper.h"

#include <stdlib.h>

enum { GRAPHS_EACH = 10 };

/* Of one graph, or the mean of some. */
typedef struct traits {
    double edges, parallelism, bound, list, best; /* bound: of the speedup */
    double d_inv, d_sen, sum_inv, sum_sen;        /* of the top 100 draws */
} traits;

static void add_traits(traits *sum, const traits *x, double weight)
{
    sum->edges += weight * x->edges;
    sum->parallelism += weight * x->parallelism;
    sum->bound += weight * x->bound;
    sum->list += weight * x->list;
    sum->best += weight * x->best;
    sum->d_inv += weight * x->d_inv;
    sum->d_sen += weight * x->d_sen;
    sum->sum_inv += weight * x->sum_inv;
    sum->sum_sen += weight * x->sum_sen;
}

static sked_status reach(const sked_problem *p, const char *method, int64_t iterations, double *speedup,
                         sked_error *err)
{
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    sked_metrics m = {.size = sizeof m};
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = iterations;
    opt.stop = &stop_requested;
    sked_status st = sked_method_run(method, p, &opt, &result, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(p, result.schedule[0], &m, err);
    *speedup = m.speedup;
    sked_result_clear(&result);
    return st;
}

/* Sums of absolute differences, mean over pairs. */
static void sum_distances(const sked_schedule *const *s, int32_t count, traits *out)
{
    const double pairs = 0.5 * count * (count - 1.0);
    for (int32_t a = 0; a < count; a++)
        for (int32_t b = a + 1; b < count; b++)
            for (int32_t i = 0; i < s[a]->ops; i++) {
                const double starts = fabs(s[a]->start[i] - s[b]->start[i]) / pairs;
                out->sum_inv += starts;
                out->sum_sen += starts + abs(s[a]->device[i] - s[b]->device[i]) / pairs;
            }
}

/* The k-th of the 24 orders of four devices. */
static void renumber(int k, int order[PAPER_DEVICES])
{
    int left[PAPER_DEVICES];
    for (int d = 0; d < PAPER_DEVICES; d++)
        left[d] = d;
    for (int d = 0; d < PAPER_DEVICES; d++) {
        const int rest = PAPER_DEVICES - d, at = k % rest;
        k /= rest;
        order[d] = left[at];
        left[at] = left[rest - 1];
    }
}

/* Draws at the paper's temperature; for the sums their devices are numbered in all orders, as by a sampler
 * that distinguishes them. */
static sked_status measure_draws(const paper_run *r, const sked_sampler *m, const sked_problem *p,
                                 traits *out, sked_error *err)
{
    sked_sample_options how;
    sked_samples s = {.size = sizeof s};
    sked_diversity d = {.size = sizeof d};
    sked_sample_options_init(&how);
    how.count = PAPER_DRAWS;
    how.temperature = 0.005;
    how.seed = (uint64_t)r->a->seed;
    how.threads = (int)r->a->threads;
    how.stop = &stop_requested;
    sked_status st = sked_sampler_sample(m, p, &how, &s, err);
    const int32_t kept = s.count < PAPER_TOP ? s.count : PAPER_TOP;
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)s.schedule, kept, &d, err);
    for (int32_t k = 0; st == SKED_OK && k < kept; k++) {
        int order[PAPER_DEVICES];
        renumber(k, order);
        for (int32_t i = 0; i < s.schedule[k]->ops; i++)
            s.schedule[k]->device[i] = order[s.schedule[k]->device[i]];
    }
    if (st == SKED_OK && kept > 1)
        sum_distances((const sked_schedule *const *)s.schedule, kept, out);
    out->d_inv = d.d_inv;
    out->d_sen = d.d_sen;
    sked_samples_clear(&s);
    return st;
}

static sked_status measure_graph(const paper_run *r, const sked_sampler *m, const sked_graph *g, traits *out,
                                 sked_error *err)
{
    enum { SEARCHED = 20000 };
    sked_graph_info info = {.size = sizeof info};
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    *out = (traits){0};
    sked_status st = sked_graph_describe(g, &info, err);
    out->edges = (double)info.edges;
    out->parallelism = info.work / info.critical_path;
    out->bound = fmin(PAPER_DEVICES, out->parallelism);
    if (st == SKED_OK)
        st = reach(&p, "list", 0, &out->list, err);
    if (st == SKED_OK)
        st = reach(&p, "search", SEARCHED, &out->best, err);
    return st == SKED_OK ? measure_draws(r, m, &p, out, err) : st;
}

static void print_traits(const char *set, const char *family, const traits *x)
{
    printf("| %s | %s | %.0f | %.2f | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.1f | %.1f |\n", set, family,
           x->edges, x->parallelism, x->bound, x->list, x->best, x->best / x->list, x->d_inv, x->d_sen,
           x->sum_inv, x->sum_sen);
    fflush(stdout);
}

static void record_traits(paper_run *r, const char *set, const char *family, const traits *x)
{
    if (r->json.file == NULL)
        return;
    paper_record(r, "generators");
    json_text(&r->json, "set", set);
    json_text(&r->json, "family", family);
    json_number(&r->json, "edges", x->edges);
    json_number(&r->json, "parallelism", x->parallelism);
    json_number(&r->json, "bound", x->bound);
    json_number(&r->json, "list", x->list);
    json_number(&r->json, "search", x->best);
    json_number(&r->json, "d_inv", x->d_inv);
    json_number(&r->json, "d_sen", x->d_sen);
    json_number(&r->json, "sum_inv", x->sum_inv);
    json_number(&r->json, "sum_sen", x->sum_sen);
    paper_record_end(r);
}

/* Graph i of graphs.c has family (i + i / 5) % 5. */
static sked_status run_family(paper_run *r, const sked_sampler *m, const char *like, int family, traits *mean,
                              sked_error *err)
{
    const char *set = like != NULL ? "--like paper" : "default";
    const char *name = random_family(family);
    const int count = (GRAPHS_EACH + (int)r->a->sample - 1) / (int)r->a->sample;
    traits sum = {0};
    sked_status st = SKED_OK;
    for (int k = 0; k < count && st == SKED_OK && !stop_requested; k++) {
        const int i =
            RANDOM_FAMILIES * k + (family + RANDOM_FAMILIES - k % RANDOM_FAMILIES) % RANDOM_FAMILIES;
        traits x;
        sked_graph *g = NULL;
        st = random_graph_like(i, like, &g, err);
        if (st == SKED_OK)
            st = measure_graph(r, m, g, &x, err);
        if (st == SKED_OK)
            add_traits(&sum, &x, 1.0 / count);
        sked_graph_destroy(g);
    }
    if (st == SKED_OK && !stop_requested) {
        print_traits(set, name, &sum);
        record_traits(r, set, name, &sum);
        add_traits(mean, &sum, 1.0 / RANDOM_FAMILIES);
    }
    return st;
}

sked_status paper_generators(paper_run *r, sked_error *err)
{
    static const char *const sets[] = {NULL, "paper"};
    sked_sampler *m = NULL;
    sked_status st = sked_sampler_read(r->a->model, &m, err);
    printf("\nbound: of the speedup, min(4, work / critical path); search: 20,000 schedules; d_inv, d_sen: "
           "of the "
           "top 100 of 1,000 draws; sum: the same as sums of absolute differences, devices numbered at "
           "random\n\n"
           "| set | family | edges | work / critical path | bound | list | search | search / list | d_inv | "
           "d_sen | "
           "sum d_inv | sum d_sen |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < 2 && st == SKED_OK; k++) {
        traits mean = {0};
        for (int f = 0; f < RANDOM_FAMILIES && st == SKED_OK && !stop_requested; f++)
            st = run_family(r, m, sets[k], f, &mean, err);
        if (st == SKED_OK && !stop_requested) {
            print_traits(sets[k] ? "--like paper" : "default", "mean", &mean);
            record_traits(r, sets[k] ? "--like paper" : "default", "mean", &mean);
        }
    }
    printf(
        "| the paper | mean | | at least 3 | at least 3 | 3.44 | 3.48 (ppo) | 1.012 | 24.27 | 90.17 | | |\n");
    sked_sampler_destroy(m);
    return st;
}
