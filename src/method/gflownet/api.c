/* The public functions of samples; those of models are in sampler.c, checkpoint.c and train.c. */
#include "backend/backend.h"
#include "base/memory.h"
#include "base/option.h"
#include "dist/dist.h"
#include "method/gflownet/sample.h"
#include "problem/lower.h"
#include "report/jsonl.h"

void sked_sample_options_init_sized(sked_sample_options *opt, size_t size)
{
    const sked_sample_options preset = {.count = 1000, .threads = 1, .time_limit = INFINITY};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

static sked_status check_ranks(const sked_sampler *m, const sked_problem *p, const sked_sample_options *opt,
                               sked_error *err)
{
    sked_i_buffer call = {0};
    sked_i_buffer_format(&call, "sample %d %d%d%d%d %lld %llu ", (int)opt->count, opt->raw, opt->greedy,
                         opt->local, opt->prior, (long long)opt->improve, (unsigned long long)opt->seed);
    sked_i_buffer_number(&call, opt->temperature);
    sked_i_buffer_add(&call, (const char *)m->parameter, (size_t)m->layout.total * sizeof *m->parameter);
    return sked_i_dist_same(p, &call, err);
}

static sked_status check_options(const sked_sample_options *opt, sked_error *err)
{
    const sked_i_range ranges[] = {
        {"count", opt->count, 1, SKED_I_MOST_CANDIDATES}, {"temperature", opt->temperature, 0, 1e6},
        {"improve", (double)opt->improve, 0, INFINITY},   {"threads", opt->threads, 1, SKED_I_MOST_THREADS},
        {"time_limit", opt->time_limit, 0, INFINITY},
    };
    return sked_i_options_check(ranges, sizeof ranges / sizeof *ranges, NULL, 0, err);
}

sked_status sked_sampler_sample(const sked_sampler *m, const sked_problem *p, const sked_sample_options *opt,
                                sked_samples *out, sked_error *err)
{
    SKED_TAKE_ASKED(p)
    SKED_TAKE(sked_sample_options, opt)
    SKED_CHECK_OUTPUT(sked_samples, out);
    sked_samples s = {.size = sizeof s};
    sked_i_lowered low = {0};
    const sked_i_backend *backend;
    sked_status st = opt->together ? check_ranks(m, p, opt, err) : SKED_OK;
    if (st == SKED_OK)
        st = check_options(opt, err);
    if (st == SKED_OK)
        st = sked_i_backend_choose(opt->backend, false, &backend, err);
    if (st == SKED_OK)
        st = sked_i_lower(p, &low, err);
    if (st == SKED_OK && sked_i_has_memory_limit(&low.problem))
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the sampler does not take memory limits");
    if (st == SKED_OK && sked_i_has_addresses(p))
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the sampler gives no addresses");
    if (st == SKED_OK)
        st = sked_problem_check(p, err);
    if (st == SKED_OK)
        st = sked_i_sample(m, &low.problem, &low.costs, opt, &s, err);
    sked_i_lowered_free(&low);
    if (st == SKED_OK && !SKED_KNOWS(out, temperature)) { /* it could not clear them */
        free(s.temperature);
        s.temperature = NULL;
    }
    if (st == SKED_OK)
        SKED_GIVE(out, s);
    return st;
}

void sked_samples_clear(sked_samples *s)
{
    const sked_samples empty = {0};
    for (int32_t k = 0; k < s->count; k++)
        sked_schedule_destroy(s->schedule[k]);
    free(s->schedule);
    free(s->log_prob);
    free(s->makespan);
    if (SKED_KNOWS(s, temperature))
        free(s->temperature);
    SKED_GIVE(s, empty);
}

static int32_t best_of(const sked_samples *s)
{
    int32_t best = 0;
    for (int32_t k = 1; k < s->count; k++)
        best = s->makespan[k] < s->makespan[best] ? k : best;
    return best;
}

static void add_field(sked_i_buffer *out, const char *name, double x)
{
    sked_i_buffer_format(out, ",\"%s\":", name);
    sked_i_buffer_number(out, x);
}

sked_status sked_samples_write(const sked_samples *s, const sked_problem *p, double temperature,
                               const char *path, sked_error *err)
{
    SKED_TAKE(sked_samples, s)
    SKED_TAKE_PROBLEM(p)
    sked_i_buffer all = {0}, more = {0};
    sked_status st = SKED_OK;
    const int32_t best = best_of(s);
    for (int32_t k = 0; st == SKED_OK && k < s->count; k++) {
        const sked_schedule *pair[2] = {s->schedule[best], s->schedule[k]};
        sked_diversity d = {.size = sizeof d};
        st = sked_schedules_diversity(p, pair, 2, &d, err);
        if (st != SKED_OK)
            break;
        more.size = 0;
        add_field(&more, "log_prob", s->log_prob[k]);
        add_field(&more, "proxy_makespan", s->makespan[k]);
        add_field(&more, "temperature", s->temperature != NULL ? s->temperature[k] : temperature);
        add_field(&more, "ged", d.ged);
        add_field(&more, "d_inv", d.d_inv);
        add_field(&more, "d_sen", d.d_sen);
        st = more.failed ? sked_i_no_memory(err) : sked_i_lines_add(&all, p, s->schedule[k], more.data, err);
    }
    sked_i_buffer_free(&more);
    return sked_i_lines_write(&all, st, path, err);
}
