/*
 * sked-bench targets: how the targets' times relate to the proxy's. Schedules of all qualities (draws of the
 * sampler at several temperatures) are measured on both. Correlation: of the two speedups. Spread: the most
 * by which schedules whose proxies differ by at most a hundredth differ on the target. Kept: what of its
 * proxy speedup list scheduling keeps there, beside the same figure of the paper.
 */
#include "graphs.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS_EACH = 200, DRAWS_REAL = 60, DEVICES = 4 };
static const double temperatures[] = {0.005, 0.03, 0.1, 0.3, 1};
enum {
    N_TEMPERATURES = sizeof temperatures / sizeof *temperatures,
    MOST_POINTS = DRAWS_EACH * N_TEMPERATURES
};

static const struct aim {
    const char *target;
    double kept; /* by list scheduling in the paper: mean of its two tables; NAN: not there */
} aims[] = {{"noisy", 0.88}, {"bandwidth", 0.32}, {"latency", 0.53},
            {"linear", NAN}, {"contention", NAN}, {"cache", NAN}};
enum { N_AIMS = sizeof aims / sizeof *aims };

typedef struct figures {
    double correlation, spread, kept;
} figures;

typedef struct pair {
    double proxy, target; /* speedups */
} pair;

static int by_proxy(const void *x, const void *y)
{
    const pair *a = x, *b = y;
    return (a->proxy > b->proxy) - (a->proxy < b->proxy);
}

static double correlation(const pair *v, int n)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        x += v[i].proxy / n;
        y += v[i].target / n;
    }
    for (int i = 0; i < n; i++) {
        xx += (v[i].proxy - x) * (v[i].proxy - x);
        yy += (v[i].target - y) * (v[i].target - y);
        xy += (v[i].proxy - x) * (v[i].target - y);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* v is sorted by proxy. */
static double spread(const pair *v, int n)
{
    double most = 1;
    for (int i = 0; i < n; i++) {
        double low = v[i].target, high = low;
        for (int k = i; k < n && v[k].proxy <= 1.01 * v[i].proxy; k++) {
            low = fmin(low, v[k].target);
            high = fmax(high, v[k].target);
        }
        most = fmax(most, high / low);
    }
    return most;
}

static sked_status speedup_on(sked_target *t, const sked_schedule *s, double *out, sked_error *err)
{
    sked_measurement m = {.size = sizeof m};
    const sked_status st = sked_target_measure(t, s, &m, err);
    *out = st == SKED_OK && m.time > 0 ? sked_target_work(t) / m.time : 1;
    sked_measurement_clear(&m);
    return st;
}

/* Draws at all temperatures, as one list of schedules. */
static sked_status draw_all(const arguments *a, const sked_sampler *m, const sked_problem *p, int each,
                            sked_samples *out, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; st == SKED_OK && k < N_TEMPERATURES; k++) {
        sked_sample_options how;
        sked_sample_options_init(&how);
        sked_samples_init(&out[k]);
        how.count = each;
        how.raw = true;
        how.temperature = temperatures[k];
        how.seed = (uint64_t)a->seed;
        how.threads = (int)a->threads;
        st = sked_sampler_sample(m, p, &how, &out[k], err);
    }
    return st;
}

static sked_status measure(const sked_problem *p, const sked_samples *all, const sked_schedule *list,
                           const char *target, figures *out, sked_error *err)
{
    pair v[MOST_POINTS];
    int n = 0;
    sked_target *t = NULL;
    sked_metrics m = {.size = sizeof m};
    double reached = 1;
    sked_status st = sked_target_create(target, p, 0, &t, err);
    for (int k = 0; st == SKED_OK && k < N_TEMPERATURES; k++)
        for (int32_t i = 0; st == SKED_OK && i < all[k].count && n < MOST_POINTS; i++, n++) {
            v[n].proxy = all[k].makespan[i] > 0 ? 1 / all[k].makespan[i] : 1;
            st = speedup_on(t, all[k].schedule[i], &v[n].target, err);
        }
    if (st == SKED_OK)
        st = speedup_on(t, list, &reached, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(p, list, &m, err);
    if (st == SKED_OK) {
        qsort(v, (size_t)n, sizeof *v, by_proxy);
        *out = (figures){correlation(v, n), spread(v, n), reached / m.speedup};
    }
    sked_target_destroy(t);
    return st;
}

static sked_status run_graph(const arguments *a, const sked_sampler *m, const sked_graph *g,
                             const char *label, int each, figures *sum, sked_error *err)
{
    sked_problem p;
    sked_samples all[N_TEMPERATURES] = {{0}};
    sked_result list = {.size = sizeof list};
    sked_problem_init(&p, g);
    p.devices = DEVICES;
    sked_status st = draw_all(a, m, &p, each, all, err);
    if (st == SKED_OK)
        st = sked_method_run("list", &p, NULL, &list, err);
    for (int k = 0; st == SKED_OK && k < N_AIMS; k++) {
        figures f;
        st = measure(&p, all, list.schedule[0], aims[k].target, &f, err);
        if (st != SKED_OK)
            break;
        sum[k].correlation += f.correlation;
        sum[k].spread += f.spread;
        sum[k].kept += f.kept;
        if (a->list)
            printf("%-26.26s %-10s %11.2f %8.2f %8.2f\n", label, aims[k].target, f.correlation, f.spread,
                   f.kept);
    }
    for (int k = 0; k < N_TEMPERATURES; k++)
        sked_samples_clear(&all[k]);
    sked_result_clear(&list);
    return st;
}

static void print_means(const char *set, int graphs, const figures *sum)
{
    for (int k = 0; k < N_AIMS && graphs > 0; k++) {
        char label[40], paper[20] = "-";
        snprintf(label, sizeof label, "%s, mean of %d", set, graphs);
        if (!isnan(aims[k].kept))
            snprintf(paper, sizeof paper, "%.2f", aims[k].kept);
        printf("%-26s %-10s %11.2f %8.2f %8.2f %8s\n", label, aims[k].target, sum[k].correlation / graphs,
               sum[k].spread / graphs, sum[k].kept / graphs, paper);
    }
    fflush(stdout);
}

static bool skipped(const arguments *a, int index)
{
    return index % a->sample != 0;
}

static sked_status run_random(const arguments *a, const sked_sampler *m, sked_error *err)
{
    figures sum[N_AIMS] = {{0}};
    sked_status st = SKED_OK;
    int graphs = 0;
    for (int i = 0; st == SKED_OK && i < RANDOM_GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        if (skipped(a, i))
            continue;
        st = random_graph(i, &g, err);
        if (st == SKED_OK)
            st = run_graph(a, m, g, random_family(i), DRAWS_EACH, sum, err);
        graphs++;
        sked_graph_destroy(g);
        show_progress(NULL, "random", (i + 1.0) / RANDOM_GRAPHS, NAN, NAN);
    }
    end_progress();
    if (st == SKED_OK)
        print_means("random", graphs, sum);
    return st;
}

static sked_status run_real(const arguments *a, const sked_sampler *m, sked_error *err)
{
    figures sum[N_AIMS] = {{0}};
    sked_status st = SKED_OK;
    int graphs = 0, taken = 0;
    if (!have_data(a))
        return SKED_OK;
    for (int i = 0; st == SKED_OK && i < real_graph_count() && !stop_requested; i++) {
        sked_graph *g = NULL;
        st = real_graph(a, i, &g, err);
        if (st == SKED_OK && g != NULL && !skipped(a, taken++)) {
            st = run_graph(a, m, g, real_graph_name(i), DRAWS_REAL, sum, err);
            graphs++;
        }
        sked_graph_destroy(g);
        show_progress(NULL, "real", (i + 1.0) / real_graph_count(), NAN, NAN);
    }
    end_progress();
    if (st == SKED_OK)
        print_means("real", graphs, sum);
    return st;
}

sked_status bench_targets(arguments *a, sked_error *err)
{
    sked_sampler *m = NULL;
    const double begin = sked_clock();
    sked_status st = sked_sampler_read(a->model, &m, err);
    if (st != SKED_OK)
        return st;
    print_machine(a);
    printf("%d devices; draws at temperatures 0.005 to 1. spread: largest ratio on the target at equal proxy "
           "(to "
           "1 %%);\nkept: share of its proxy speedup that list scheduling keeps on the target\n"
           "%-26s %-10s %11s %8s %8s %8s\n",
           DEVICES, "graph", "target", "correlation", "spread", "kept", "paper");
    st = run_random(a, m, err);
    if (st == SKED_OK)
        st = run_real(a, m, err);
    printf("%.1f s in all\n", sked_clock() - begin);
    sked_sampler_destroy(m);
    return st;
}
