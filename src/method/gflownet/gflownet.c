/* The method: candidates drawn from a model, by default the one that comes with sked. */
#include "engine/network/sampler.h"
#include "method/gflownet/sample.h"
#include "method/method.h"

#include <string.h>

#define GFLOWNET_OPTIONS(X)                                                                            \
    X(TEMPERATURE, "temperature", REAL, "0", 0, 1e6, NULL,                                             \
      "small: greedy, large: diverse; 0: several that follow the size of the problem")                 \
    X(PRIOR, "prior", BOOL, "false", 0, 0, NULL,                                                       \
      "draw for machines with transfers of up to 4 mean durations too; not where transfers are given") \
    X(DRAWS, "draws", INT, "0", 0, 10000000, NULL,                                                     \
      "schedules drawn; 0: as many as candidates, at least 100")                                       \
    X(MODEL, "model", TEXT, "built-in", 0, 0, NULL,                                                    \
      "file of a model of `sked train`; built-in: the one in sked")

SKED_I_OPTIONS(GFLOWNET_OPTIONS);

/* Without devices nothing is to be chosen: every op as early as it can. */
static sked_status run_free(sked_i_run *run, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(run->problem->graph->n_ops, 0, &s, err);
    if (st != SKED_OK)
        return st;
    sked_i_heads(run->problem->graph, s->start);
    sked_i_run_evaluated(run, 1);
    st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

/* Offers take time as well: what they need of what is left. */
static double left_for_draws(const sked_i_run *run, int32_t offers)
{
    const sked_graph *g = run->problem->graph;
    const double left = run->limit.deadline - sked_clock(), offer = 5e-7 * (double)(g->n_ops + g->n_edges);
    return left - fmin(offer * offers, 0.15 * fmax(left, 0));
}

static sked_status offer_all(sked_i_run *run, const sked_samples *s, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int32_t k = 0; k < s->count && !(k > 0 && sked_i_limit_reached(&run->limit)); k++)
        SKED_TRY(sked_i_run_offer(run, s->schedule[k], err));
cleanup:
    return st;
}

static sked_status gflownet_run(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_sampler *m = NULL;
    sked_samples s = {.size = sizeof s};
    sked_sample_options how;
    const int32_t asked = run->options->candidates > 100 ? run->options->candidates : 100;
    const int32_t draws = run->setting[OPTION_DRAWS] > 0 ? (int32_t)run->setting[OPTION_DRAWS] : asked;
    if (run->problem->devices == 0)
        return run_free(run, err);
    sked_sample_options_init(&how);
    how.temperature = run->setting[OPTION_TEMPERATURE];
    how.prior = run->setting[OPTION_PRIOR] != 0 && run->problem->machine == NULL &&
                !sked_i_has_transfers(run->problem);
    how.threads = run->options->threads;
    const char *path = sked_i_option_text(&options[OPTION_MODEL], run->setting[OPTION_MODEL], run->settings);
    SKED_TRY(sked_sampler_read(strcmp(path, "built-in") == 0 ? NULL : path, &m, err));
    how.count = draws;
    how.seed = run->options->seed;
    how.time_limit = left_for_draws(run, draws);
    how.stop = run->limit.stop;
    how.backend = run->options->backend;
    how.progress = run->options->progress;
    how.progress_data = run->options->progress_data;
    SKED_TRY(sked_i_sample(m, run->problem, run->costs, &how, &s, err));
    sked_i_run_evaluated(run, s.count);
    SKED_TRY(offer_all(run, &s, err));
cleanup:
    sked_samples_clear(&s);
    sked_sampler_destroy(m);
    return st;
}

const sked_i_method sked_i_method_gflownet = {
    .info = {.name = "gflownet",
             .summary = "sampler of many different good schedules that can be trained (GFlowNet)",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_MACHINES | SKED_CAN_CANDIDATES |
                         SKED_CAN_MAKESPAN | SKED_CAN_CUDA,
             .options = options,
             .n_options = n_options},
    .run = gflownet_run,
};
