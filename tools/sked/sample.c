/* sked sample: many different schedules from a model, one JSON object a line. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

/* Keeps the first `top` of the ranked samples. */
static void cut(sked_samples *s, int32_t top)
{
    while (s->count > top)
        sked_schedule_destroy(s->schedule[--s->count]);
}

static sked_status describe(const setup *s, const sked_samples *out, sked_error *err)
{
    sked_diversity d = {.size = sizeof d};
    sked_metrics m = {.size = sizeof m};
    char x[40];
    double best = INFINITY, least = INFINITY, most = 0;
    int32_t winner = 0;
    const int32_t kept = out->count < 100 ? out->count : 100;
    for (int32_t k = 0; k < out->count; k++) {
        least = fmin(least, out->temperature[k]);
        most = fmax(most, out->temperature[k]);
        if (out->makespan[k] < best) {
            best = out->makespan[k];
            winner = k;
        }
    }
    sked_status st =
        sked_schedules_diversity(&s->problem, (const sked_schedule *const *)out->schedule, kept, &d, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&s->problem, out->schedule[winner], &m, err);
    if (st == SKED_OK)
        fprintf(stderr,
                "%d schedules at temperatures %.4g to %.4g: best makespan %s (speedup %.3f), GED %.1f of the "
                "first %d, log Z %.4g, spread %.3g\n",
                (int)out->count, least, most, human(best, x, sizeof x), m.speedup, d.ged, (int)kept,
                out->log_z, out->spread);
    return st;
}

static sked_status check_arguments(const arguments *a, sked_error *err)
{
    if (a->devices == 0 && a->machine == NULL)
        return fail(err, SKED_ERR_ARGUMENT, "`sked sample` needs --devices N or --machine FILE");
    if (a->raw && (a->top > 0 || a->improve > 0 || a->local))
        return fail(err, SKED_ERR_ARGUMENT, "--raw keeps every draw as it is; it cannot go with %s",
                    a->top > 0 ? "--top"
                    : a->local ? "--local"
                               : "--improve");
    return SKED_OK;
}

/* Writes and describes them. */
static sked_status deliver(const arguments *a, const setup *s, sked_samples *out, double temperature,
                           sked_error *err)
{
    sked_status st = SKED_OK;
    if (a->top > 0)
        cut(out, (int32_t)a->top);
    for (int i = 0; st == SKED_OK && i < (a->output.count > 0 ? a->output.count : 1); i++)
        st = sked_samples_write(out, &s->problem, temperature, a->output.count > 0 ? a->output.at[i] : "-",
                                err);
    if (st == SKED_OK && !a->quiet && out->count > 0)
        st = describe(s, out, err);
    return st;
}

sked_status run_sample(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_sampler *m = NULL;
    sked_samples out = {.size = sizeof out};
    sked_sample_options opt;
    sked_sample_options_init(&opt);
    opt.count = (int32_t)a->draws;
    opt.temperature = a->temperature;
    opt.prior = a->any_machine;
    opt.raw = a->raw;
    opt.greedy = a->greedy;
    opt.local = a->local;
    opt.improve = a->improve;
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.backend = a->backend;
    opt.together = true;
    opt.stop = &stop_requested;
    opt.progress = a->quiet ? NULL : show_progress;
    end_on_signal(true);
    sked_status st = check_arguments(a, err);
    if (st == SKED_OK)
        st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK)
        st = sked_sampler_read(a->model, &m, err);
    st = sked_dist_agree(st, err);
    end_on_signal(false);
    if (st == SKED_OK)
        st = sked_sampler_sample(m, &s.problem, &opt, &out, err);
    end_progress();
    if (st == SKED_OK && sked_dist_rank() == 0)
        st = deliver(a, &s, &out, opt.temperature, err);
    sked_samples_clear(&out);
    sked_sampler_destroy(m);
    clear_setup(&s);
    return st;
}
