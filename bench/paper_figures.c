/*
 * Set "figures": the data of the paper's figures, recorded as lines of JSON, which bench/figures/paper.py
 * draws. Correlation of proxy and target; rewards by temperature, and colder ones than trained; the variance
 * loss beside trajectory balance; fixed temperatures beside varied ones.
 */
#include "paper.h"

#include <string.h>

enum { GRAPH_OPS = 25, LOOKS = 10, LOOK_DRAWS = 300 };

/* Who is trained on the one graph, and the temperature at which it is looked at. */
static const struct ablation {
    const char *figure, *series;
    paper_pupil pupil[2]; /* encode-once, stepwise */
    double drawn;
} ablations[] = {
#define SERIES(figure, series, name, loss, coldest, warmest, drawn)          \
    {figure,                                                                 \
     series,                                                                 \
     {{name "-encode-once", "policy=encode-once", {loss}, coldest, warmest}, \
      {name "-stepwise", "policy=stepwise", {loss}, coldest, warmest}},      \
     drawn},
    SERIES("loss", "variance", "varied", "loss=variance", 0.01, 1, 0.01)
        SERIES("loss", "trajectory balance", "tb", "loss=tb", 0.01, 1, 0.01)
            SERIES("temperature", "0.01 to 1, drawn at 0.01", "varied", "loss=variance", 0.01, 1, 0.01)
                SERIES("temperature", "0.01", "at001", "loss=variance", 0.01, 0.01, 0.01)
                    SERIES("temperature", "0.03", "at003", "loss=variance", 0.03, 0.03, 0.03)
#undef SERIES
};
enum { N_ABLATIONS = sizeof ablations / sizeof *ablations };

/* ---------------------------------------------------------------- draws */

typedef struct look {
    double mean, top1, spread; /* speedups, and the standard deviation of zeta */
} look;

static sked_status draw(const paper_run *r, const char *model, const sked_problem *p, double temperature,
                        int32_t count, sked_samples *out, sked_error *err)
{
    sked_sampler *m = NULL;
    sked_sample_options how;
    sked_sample_options_init(&how);
    how.count = count;
    how.raw = true;
    how.temperature = temperature;
    how.seed = (uint64_t)r->a->seed;
    how.threads = (int)r->a->threads;
    how.stop = &stop_requested;
    how.backend = r->a->backend;
    sked_status st = sked_sampler_read(model, &m, err);
    if (st == SKED_OK)
        st = sked_sampler_sample(m, p, &how, out, err);
    sked_sampler_destroy(m);
    return st;
}

static sked_status work_of(const sked_graph *g, double *work, sked_error *err)
{
    sked_graph_info info = {.size = sizeof info};
    const sked_status st = sked_graph_describe(g, &info, err);
    *work = info.work;
    return st;
}

static sked_status look_at(const paper_run *r, const char *model, const sked_problem *p, double temperature,
                           look *out, sked_error *err)
{
    sked_samples s = {.size = sizeof s};
    double work;
    sked_status st = work_of(p->graph, &work, err);
    if (st == SKED_OK)
        st = draw(r, model, p, temperature, LOOK_DRAWS, &s, err);
    *out = (look){.spread = s.spread};
    for (int32_t k = 0; st == SKED_OK && k < s.count; k++) {
        out->mean += work / s.makespan[k] / s.count;
        out->top1 = fmax(out->top1, work / s.makespan[k]);
    }
    sked_samples_clear(&s);
    return st;
}

/* ---------------------------------------------------------------- training on one graph */

typedef struct bench_graph {
    sked_graph *graph;
    sked_problem problem;
    char path[PAPER_PATH];
    paper_training how;
} bench_graph;

static sked_status open_graph(const paper_run *r, bench_graph *b, sked_error *err)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = GRAPH_OPS, .seed = 3};
    sked_status st = paper_folder(r, "figures", b->path, err);
    if (st == SKED_OK)
        st = sked_graph_generate("erdos-renyi", &how, &b->graph, err);
    if (st != SKED_OK)
        return st;
    const size_t used = strlen(b->path);
    snprintf(b->path + used, sizeof b->path - used, "/erdos-renyi-%d.json", GRAPH_OPS);
    b->how = (paper_training){.name = "figures", .graphs = b->path, .updates = {1000, 5000}};
    sked_problem_init(&b->problem, b->graph);
    b->problem.devices = PAPER_DEVICES;
    st = sked_graph_write(b->graph, b->path, NULL, err);
    return st == SKED_OK ? paper_sharpness(b->graph, &b->how.sharpness, err) : st;
}

/* Training in LOOKS pieces, a look after each: stopping and going on gives the bits of going through. */
static sked_status follow(const paper_run *r, const bench_graph *b, const struct ablation *x, int seed,
                          double *updates, look *looks, sked_error *err)
{
    char model[2][PAPER_PATH];
    sked_status st = SKED_OK;
    for (int k = 0; k < LOOKS && st == SKED_OK && !stop_requested; k++) {
        const int64_t until =
            (paper_updates(r, &b->how, &x->pupil[r->stepwise]) * (k + 1) + LOOKS - 1) / LOOKS;
        st = paper_train(r, &b->how, &x->pupil[r->stepwise], seed, until, k > 0 ? model[(k + 1) % 2] : NULL,
                         model[k % 2], err);
        updates[k] = (double)until;
        if (st == SKED_OK && !stop_requested)
            st = look_at(r, model[k % 2], &b->problem, x->drawn, &looks[k], err);
    }
    return st;
}

static void record_curve(paper_run *r, const struct ablation *x, int seed, const double *updates,
                         const look *looks)
{
    double mean[LOOKS], top1[LOOKS], spread[LOOKS];
    for (int k = 0; k < LOOKS; k++) {
        mean[k] = looks[k].mean;
        top1[k] = looks[k].top1;
        spread[k] = looks[k].spread;
    }
    if (r->json.file == NULL)
        return;
    paper_record(r, "curve");
    json_text(&r->json, "figure", x->figure);
    json_text(&r->json, "series", x->series);
    json_number(&r->json, "seed", (double)r->a->seed + seed);
    json_number(&r->json, "temperature", x->drawn);
    paper_record_numbers(r, "updates", updates, LOOKS);
    paper_record_numbers(r, "mean", mean, LOOKS);
    paper_record_numbers(r, "top1", top1, LOOKS);
    paper_record_numbers(r, "spread", spread, LOOKS);
    paper_record_end(r);
}

static double mean_of(const double *x, int n, double *deviation)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    *deviation = n > 1 ? sqrt(square / (n - 1)) : 0;
    return mean;
}

static sked_status run_ablation(paper_run *r, const bench_graph *b, const struct ablation *x, sked_error *err)
{
    enum { FIRST, LAST, SPREAD, SHOWN }; /* first and last look, last spread */
    double updates[LOOKS], shown[SHOWN][PAPER_MOST_SEEDS];
    look looks[LOOKS];
    sked_status st = SKED_OK;
    for (int s = 0; s < r->seeds && st == SKED_OK && !stop_requested; s++) {
        st = follow(r, b, x, s, updates, looks, err);
        if (st != SKED_OK || stop_requested)
            return st;
        record_curve(r, x, s, updates, looks);
        shown[FIRST][s] = looks[0].mean;
        shown[LAST][s] = looks[LOOKS - 1].mean;
        shown[SPREAD][s] = looks[LOOKS - 1].spread;
    }
    if (st != SKED_OK || stop_requested)
        return st;
    printf("| %s | %s | %g |", x->figure, x->series, x->drawn);
    for (int k = 0; k < SHOWN; k++) {
        double deviation;
        const double mean = mean_of(shown[k], r->seeds, &deviation);
        printf(" %.*f ± %.*f |", k < SPREAD ? 3 : 2, mean, k < SPREAD ? 3 : 2, deviation);
    }
    printf("\n");
    fflush(stdout);
    return st;
}

/* ---------------------------------------------------------------- temperatures of one model */

static const double temperatures[] = {0.001, 0.0025, 0.005, 0.01, 0.03, 0.1, 0.3, 1};
enum { N_TEMPERATURES = sizeof temperatures / sizeof *temperatures, BINS = 60 };
static const double first_bin = 1, bin_width = 0.05; /* of speedups: 1 to 4 */

static void record_rewards(paper_run *r, double temperature, double mean, double top1, const double *counts)
{
    if (r->json.file == NULL)
        return;
    paper_record(r, "rewards");
    json_number(&r->json, "temperature", temperature);
    json_number(&r->json, "trained_down_to", ablations[0].pupil[r->stepwise].coldest);
    json_number(&r->json, "mean", mean);
    json_number(&r->json, "top1", top1);
    json_number(&r->json, "first", first_bin);
    json_number(&r->json, "width", bin_width);
    paper_record_numbers(r, "counts", counts, BINS);
    paper_record_end(r);
}

static sked_status run_rewards(paper_run *r, const bench_graph *b, const char *model, double temperature,
                               sked_error *err)
{
    sked_samples s = {.size = sizeof s};
    double counts[BINS] = {0}, mean = 0, top1 = 0, work;
    sked_status st = work_of(b->graph, &work, err);
    if (st == SKED_OK)
        st = draw(r, model, &b->problem, temperature, PAPER_DRAWS, &s, err);
    for (int32_t k = 0; st == SKED_OK && k < s.count; k++) {
        const double speedup = work / s.makespan[k];
        const int bin = (int)((speedup - first_bin) / bin_width);
        counts[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
        mean += speedup / s.count;
        top1 = fmax(top1, speedup);
    }
    if (st == SKED_OK) {
        record_rewards(r, temperature, mean, top1, counts);
        printf("| %g%s | %.3f | %.3f | %.2f |\n", temperature,
               temperature < ablations[0].pupil[r->stepwise].coldest ? " (colder than trained)" : "", mean,
               top1, s.spread);
    }
    sked_samples_clear(&s);
    return st;
}

/* The model of the first ablation, varied temperatures, as it is in the end. */
static sked_status run_temperatures(paper_run *r, const bench_graph *b, sked_error *err)
{
    char model[PAPER_PATH];
    const paper_pupil *who = &ablations[0].pupil[r->stepwise];
    sked_status st = paper_train(r, &b->how, who, 0, paper_updates(r, &b->how, who), NULL, model, err);
    printf(
        "\n### Rewards of %d draws by temperature\n\n| temperature | mean speedup | best | spread of zeta |\n"
        "|---|---|---|---|\n",
        PAPER_DRAWS);
    for (int k = 0; k < N_TEMPERATURES && st == SKED_OK && !stop_requested; k++)
        st = run_rewards(r, b, model, temperatures[k], err);
    return st;
}

/* ---------------------------------------------------------------- proxy and target */

static double correlation(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        mx += x[i] / n;
        my += y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

enum { EACH = 100, WARMTHS = 4, POINTS = EACH * WARMTHS };

/* Schedules of all qualities: draws of the built-in model at several temperatures. */
static sked_status draw_points(const paper_run *r, const sked_problem *p, sked_samples *all, sked_error *err)
{
    static const double warmths[WARMTHS] = {0.005, 0.05, 0.3, 1};
    sked_status st = SKED_OK;
    for (int k = 0; k < WARMTHS && st == SKED_OK; k++) {
        sked_samples_init(&all[k]);
        st = draw(r, r->a->model, p, warmths[k], EACH, &all[k], err);
    }
    return st;
}

static sked_status measure_points(const sked_problem *p, const sked_samples *all, const char *target,
                                  double work, double *proxy, double *measured, int *n, sked_error *err)
{
    sked_target *t = NULL;
    sked_status st = sked_target_create(target, p, 0, &t, err);
    *n = 0;
    for (int k = 0; k < WARMTHS; k++)
        for (int32_t i = 0; st == SKED_OK && i < all[k].count && *n < POINTS; i++) {
            sked_measurement said = {.size = sizeof said};
            st = sked_target_measure(t, all[k].schedule[i], &said, err);
            proxy[*n] = work / all[k].makespan[i];
            measured[(*n)++] = st == SKED_OK && said.time > 0 ? sked_target_work(t) / said.time : 1;
            sked_measurement_clear(&said);
        }
    sked_target_destroy(t);
    return st;
}

static sked_status run_target(paper_run *r, const sked_problem *p, const sked_samples *all,
                              const char *target, double work, sked_error *err)
{
    double proxy[POINTS], measured[POINTS];
    int n = 0;
    const sked_status st = measure_points(p, all, target, work, proxy, measured, &n, err);
    if (st != SKED_OK)
        return st;
    const double c = correlation(proxy, measured, n);
    printf("| %s | %d | %.2f |\n", target, n, c);
    if (r->json.file != NULL) {
        paper_record(r, "correlation");
        json_text(&r->json, "target", target);
        json_number(&r->json, "correlation", c);
        paper_record_numbers(r, "proxy", proxy, n);
        paper_record_numbers(r, "measured", measured, n);
        paper_record_end(r);
    }
    return st;
}

static sked_status run_correlation(paper_run *r, sked_error *err)
{
    sked_graph *g = NULL;
    sked_problem p;
    sked_samples all[WARMTHS] = {{0}};
    double work = 0;
    sked_status st = random_graph_like(1, "paper", &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    st = work_of(g, &work, err);
    if (st == SKED_OK)
        st = draw_points(r, &p, all, err);
    printf("\n### Proxy and target: %s, 50 ops\n\n| target | schedules | correlation of the speedups |\n"
           "|---|---|---|\n",
           random_family(1));
    for (int t = 0; t < PAPER_TARGETS && st == SKED_OK && !stop_requested; t++)
        st = run_target(r, &p, all, paper_targets[t], work, err);
    for (int k = 0; k < WARMTHS; k++)
        sked_samples_clear(&all[k]);
    sked_graph_destroy(g);
    return st;
}

/* ---------------------------------------------------------------- the set */

sked_status paper_figures(paper_run *r, sked_error *err)
{
    bench_graph b = {0};
    sked_status st = run_correlation(r, err);
    if (st == SKED_OK && !stop_requested)
        st = open_graph(r, &b, err);
    if (st == SKED_OK && !stop_requested)
        printf(
            "\n### Training on one erdos-renyi graph of %d ops, %s, %lld updates of 100 trajectories, %d "
            "seed(s)\n\n| figure | trained with | drawn at | mean speedup of the first look | of the last | "
            "spread of zeta |\n|---|---|---|---|---|---|\n",
            GRAPH_OPS, r->stepwise ? "stepwise" : "encode-once",
            (long long)paper_updates(r, &b.how, &ablations[0].pupil[r->stepwise]), r->seeds);
    for (int k = 0; k < N_ABLATIONS && st == SKED_OK && !stop_requested; k++)
        st = run_ablation(r, &b, &ablations[k], err);
    if (st == SKED_OK && !stop_requested)
        st = run_temperatures(r, &b, err);
    sked_graph_destroy(b.graph);
    return st;
}
