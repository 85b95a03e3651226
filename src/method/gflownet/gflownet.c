/* The method: candidates drawn from a model, by default the one that comes with sked. */
#include "method/method.h"
#include "nn/sampler.h"

#include <string.h>

#define OPTION_LIST(X)                                                                                      \
    X(temperature, REAL, "temperature", "0.005", 1e-6, 1e6, "small: greedy and fast, large: diverse")       \
    X(draws, INT, "draws", "0", 0, 10000000, "schedules drawn; 0: as many as candidates, at least 100")     \
    X(local, BOOL, "local", "true", 0, 0, "keep the starts drawn, choose devices so that data stays near")  \
    X(improve, INT, "improve", "0", 0, 1000000, "rounds of local search on each schedule drawn, and local") \
    X(model, TEXT, "model", "built-in", 0, 0, "file of a model of `sked train`; built-in: the one in sked")

static const sked_option options[] = {
#define SKED_X(field, kind, name, preset, least, most, help) \
    {name, SKED_OPTION_##kind, preset, least, most, NULL, help},
    OPTION_LIST(SKED_X)
#undef SKED_X
};
enum {
#define SKED_X(field, kind, name, preset, least, most, help) opt_##field,
    OPTION_LIST(SKED_X)
#undef SKED_X
        n_options
};

/* Draws come in rounds, so that time limit and Ctrl-C are heard; each round has a seed of its own. */
enum { round_draws = 500 };

/* Without devices nothing is to be chosen: every op as early as it can. */
static sked_status run_free(sked_i_run *run, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(run->problem->graph->n_ops, 0, &s, err);
    if (st != SKED_OK)
        return st;
    sked_i_heads(run->problem->graph, s->start);
    run->evaluations++;
    st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

static sked_status gflownet_run(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_sampler *m = NULL;
    sked_samples s = {0};
    sked_sample_options how;
    const int32_t asked = run->options->candidates > 100 ? run->options->candidates : 100;
    const int32_t draws = run->setting[opt_draws] > 0 ? (int32_t)run->setting[opt_draws] : asked;
    if (run->problem->devices == 0)
        return run_free(run, err);
    sked_sample_options_init(&how);
    how.temperature = run->setting[opt_temperature];
    how.threads = run->options->threads;
    how.local = run->setting[opt_local] != 0;
    how.improve = (int64_t)run->setting[opt_improve];
    const char *path = sked_i_option_text(&options[opt_model], run->setting[opt_model], run->settings);
    SKED_TRY(sked_sampler_read(strcmp(path, "built-in") == 0 ? NULL : path, &m, err));
    for (int32_t done = 0; done < draws && !(done > 0 && sked_i_limit_reached(&run->limit));
         done += round_draws) {
        how.count = draws - done < round_draws ? draws - done : round_draws;
        how.seed = run->options->seed * UINT64_C(1000003) + (uint64_t)(done / round_draws);
        SKED_TRY(sked_sampler_sample(m, run->problem, &how, &s, err));
        run->evaluations += how.count;
        for (int32_t k = 0; k < s.count; k++)
            SKED_TRY(sked_i_run_offer(run, s.schedule[k], err));
        sked_samples_clear(&s);
        sked_i_run_progress(run, "sampling");
    }
cleanup:
    sked_samples_clear(&s);
    sked_sampler_destroy(m);
    return st;
}

const sked_i_method sked_i_method_gflownet = {
    .info = {.name = "gflownet",
             .summary = "learned sampler of many different good schedules (GFlowNet)",
             .features = SKED_CAN_DEVICES | SKED_CAN_CANDIDATES | SKED_CAN_MAKESPAN,
             .options = options,
             .n_options = n_options},
    .run = gflownet_run,
};
