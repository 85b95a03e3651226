/* The call: checks, the target, and whichever of the loop and the one-shot pipeline was asked for. */
#include "robust/robust.h"
#include "backend/backend.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/sized.h"
#include "base/text.h"
#include "dist/dist.h"
#include "problem/lower.h"
#include "robust/ranks.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool sked_i_robust_stopped(const sked_i_robust_run *run)
{
    const sked_i_limit limit = {.stop = run->opt->stop};
    return sked_i_limit_stopped(&limit);
}

void sked_robust_options_init_sized(sked_robust_options *opt, size_t size)
{
    const sked_robust_options preset = {
        .measurements = 30, .candidates = 1000, .top = 100, .local = true, .time_limit = 10, .threads = 1};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

void sked_i_robust_member_destroy(sked_robust_member *m)
{
    if (m == NULL)
        return;
    for (int32_t k = 0; m->schedule != NULL && k < m->count; k++)
        sked_schedule_destroy(m->schedule[k]);
    free(m->schedule);
    free(m->proxy);
    free(m->target);
    free(m);
}

void sked_robust_result_clear(sked_robust_result *r)
{
    const sked_robust_result empty = {0};
    for (int32_t i = 0; i < r->count; i++)
        sked_i_robust_member_destroy(r->member[i]);
    free(r->member);
    free(r->target);
    free(r->measurement);
    free(r->parameter);
    sked_machine_destroy(r->machine);
    SKED_GIVE(r, empty);
}

/* The target, and who measures. Where ranks make this call together, they fail together. */
static sked_status open_target(sked_i_robust_run *run, const char *spec, sked_error *err)
{
    const sked_i_backend *backend;
    const sked_robust_options *opt = run->opt;
    sked_status st = sked_i_backend_choose(opt->backend, false, &backend, err);
    if (st == SKED_OK && opt->measure != NULL)
        st = sked_i_target_create_callback(opt->measure, opt->measure_data, run->problem, opt->stop,
                                           &run->target, err);
    else if (st == SKED_OK)
        st = sked_target_create_stoppable(spec, run->problem, opt->seed, opt->stop, &run->target, err);
    if (opt->together)
        st = sked_dist_agree(st, err);
    if (st != SKED_OK)
        return st;
    if (opt->note != NULL && sked_target_about(run->target)[0] != 0)
        opt->note(opt->note_data, sked_target_about(run->target));
    run->ranks = opt->together && sked_i_target_parallel(run->target) ? sked_dist_size() : 1;
    return SKED_OK;
}

/* Rank 0 runs the pipeline, others of a call made together measure for it. */
static sked_status run_pipeline(const sked_i_robust_run *run, sked_robust_result *r, sked_error *err)
{
    if (run->opt->together && sked_dist_rank() > 0)
        return run->ranks > 1 ? sked_i_robust_serve(run, err) : SKED_OK;
    const sked_status st = (run->opt->one_shot ? sked_i_robust_one_shot : sked_i_robust_loop)(run, r, err);
    sked_i_robust_dismiss(run);
    return st;
}

sked_status sked_i_robust_run_member(const sked_robust_options *opt, const char *method, const char *setting,
                                     const sked_problem *p, sked_run_options *run, sked_result *out,
                                     sked_error *err)
{
    const sked_method_info *info = sked_method_find(method);
    sked_status st = SKED_OK;
    sked_i_buffer model = {0};
    const char **list = NULL;
    assert(run->n_settings == 0 && run->settings == NULL);
    SKED_NEW(list, (int64_t)opt->n_settings + 2);
    if (opt->model != NULL && strcmp(method, "gflownet") == 0) {
        sked_i_buffer_text(&model, "model=");
        sked_i_buffer_text(&model, opt->model);
    }
    if (model.failed)
        SKED_TRY(sked_i_no_memory(err));
    if (setting != NULL)
        list[run->n_settings++] = setting;
    if (model.data != NULL)
        list[run->n_settings++] = model.data;
    for (int i = 0; i < opt->n_settings; i++)
        list[run->n_settings++] = opt->settings[i];
    run->settings = list;
    run->iterations = opt->iterations;
    run->stop = opt->stop;
    run->backend = info != NULL && info->features & SKED_CAN_CUDA ? opt->backend : "cpu";
    SKED_TRY(sked_method_run(method, p, run, out, err));
cleanup:
    free(list);
    sked_i_buffer_free(&model);
    return st;
}

sked_status sked_i_robust_diversity(const sked_problem *p, sked_robust_member *m, sked_error *err)
{
    sked_diversity d = {.size = sizeof d};
    const sked_status st =
        sked_schedules_diversity(p, (const sked_schedule *const *)m->schedule, m->count, &d, err);
    m->ged = d.ged;
    m->d_inv = d.d_inv;
    m->d_sen = d.d_sen;
    return st;
}

double sked_i_robust_speedup(const sked_i_robust_run *run, double time)
{
    return time > 0 || isnan(time) ? sked_target_work(run->target) / time : 1;
}

void sked_i_robust_warn(const sked_robust_options *opt, const char *format, ...)
{
    char raw[1200], text[1200];
    va_list args;
    if (opt->warning == NULL)
        return;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    sked_escape(raw, text, sizeof text);
    opt->warning(opt->warning_data, text);
}

static sked_status check_ranks(const sked_problem *p, const char *target, const sked_robust_options *opt,
                               sked_error *err)
{
    sked_i_buffer call = {0};
    sked_i_buffer_format(&call, "robust %d%d %d %d %d %lld %lld %llu ", opt->one_shot, opt->local,
                         (int)opt->measurements, (int)opt->candidates, (int)opt->top, (long long)opt->improve,
                         (long long)opt->iterations, (unsigned long long)opt->seed);
    sked_i_buffer_json(&call, target != NULL ? target : "");
    sked_i_buffer_json_after(&call, " ", opt->method != NULL ? opt->method : "");
    sked_i_dist_add_settings(opt->settings, opt->n_settings, &call);
    return sked_i_dist_same(p, &call, err);
}

static sked_status check_options(const sked_robust_options *opt, sked_error *err)
{
    const sked_i_range ranges[] = {
        {"measurements", opt->measurements, opt->one_shot ? 0 : 1, SKED_I_MOST_CANDIDATES},
        {"candidates", opt->candidates, 1, SKED_I_MOST_CANDIDATES},
        {"top", opt->top, 1, INT32_MAX},
        {"min_distance", opt->min_distance, 0, 100},
        {"improve", (double)opt->improve, 0, INFINITY},
        {"time_limit", opt->time_limit, 0, INFINITY},
        {"iterations", (double)opt->iterations, 0, INFINITY},
        {"threads", opt->threads, 1, SKED_I_MOST_THREADS},
        {"n_given", opt->n_given, opt->given != NULL, INT32_MAX},
    };
    if (opt->given != NULL && !opt->one_shot)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "given candidates are for one-shot");
    return sked_i_options_check(ranges, sizeof ranges / sizeof *ranges, opt->settings, opt->n_settings, err);
}

sked_status sked_robust(const sked_problem *p, const char *target, const sked_robust_options *opt,
                        sked_robust_result *out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_TAKE(sked_robust_options, opt)
    SKED_CHECK_OUTPUT(sked_robust_result, out);
    sked_status st = SKED_OK;
    sked_robust_result r = {.size = sizeof r};
    sked_i_robust_run run = {.problem = p, .opt = opt};
    const double begin = sked_clock();
    if (opt->together)
        SKED_TRY(check_ranks(p, target, opt, err));
    if (target == NULL && opt->measure != NULL)
        target = "callback";
    if (target == NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "robust scheduling needs a target; see `sked targets`");
    SKED_TRY(check_options(opt, err));
    if (sked_i_has_addresses(p))
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED, "measured schedules get no addresses"));
    if (opt->measure == NULL && sked_target_takes_pipelines(target))
        SKED_TRY(sked_i_fail(err, SKED_ERR_ARGUMENT, "target %s measures pipelines: sked_robust_pipeline",
                             target));
    SKED_TRY(open_target(&run, target, err));
    if ((r.target = sked_i_strdup(target)) == NULL)
        SKED_TRY(sked_i_no_memory(err));
    r.one_shot = opt->one_shot;
    SKED_TRY(run_pipeline(&run, &r, err));
    r.seconds = sked_clock() - begin;
    SKED_GIVE(out, r);
    r = (sked_robust_result){.size = sizeof r};
cleanup:
    sked_robust_result_clear(&r);
    sked_target_destroy(run.target);
    return st;
}
