/* Draws of a model by temperature: speedups and diversity on random graphs. */
#include "paper.h"

#include "../tools/cli/chart.h"

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
    how.count = PAPER_DRAWS;
    how.temperature = at;
    how.seed = (uint64_t)a->seed;
    how.threads = (int)a->threads;
    sked_status st = sked_sampler_sample(m, p, &how, &s, err);
    const int32_t kept = s.count < PAPER_TOP ? s.count : PAPER_TOP;
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
sked_status paper_temperature(paper_run *r, const sked_sampler *m, sked_error *err)
{
    const arguments *a = r->a;
    double mean[T_COLUMNS][N_TEMPERATURES] = {{0}};
    sked_status st = SKED_OK;
    int graphs = 0;
    for (int i = 0; st == SKED_OK && i < RANDOM_GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        sked_problem p;
        if (paper_skipped(r, i))
            continue;
        st = random_graph(i, &g, err);
        sked_problem_init(&p, g);
        p.devices = PAPER_DEVICES;
        for (int t = 0; st == SKED_OK && t < N_TEMPERATURES; t++) {
            double sum[T_COLUMNS] = {0};
            st = try_temperature(a, m, &p, temperatures[t], sum, err);
            for (int c = 0; c < T_COLUMNS; c++)
                mean[c][t] += sum[c];
        }
        graphs++;
        sked_graph_destroy(g);
    }
    printf("\n## temperature: mean of %d random graphs\n\n"
           "| temperature | top 1 | top 100 | mean of all | GED of the top 100 [%%] | different |\n"
           "|---|---|---|---|---|---|\n",
           graphs);
    for (int t = 0; st == SKED_OK && t < N_TEMPERATURES; t++) {
        for (int c = 0; c < T_COLUMNS; c++)
            mean[c][t] /= graphs;
        printf("| %g | %.3f | %.3f | %.3f | %.1f | %.0f |\n", temperatures[t], mean[T_TOP1][t],
               mean[T_TOP100][t], mean[T_MEAN][t], mean[T_GED][t], mean[T_DIFFERENT][t]);
    }
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = draw_temperatures(a->output.at[i], mean, err);
    return st;
}
