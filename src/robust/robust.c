/* The call: checks, the target, and whichever of the loop and the one-shot pipeline was asked for. */
#include "robust/robust.h"
#include "backend/backend.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/text.h"
#include "problem/lower.h"
#include "robust/ranks.h"

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
        st = sked_i_target_create_callback(opt->measure, opt->measure_data, run->problem, &run->target, err);
    else if (st == SKED_OK)
        st = sked_target_create(spec, run->problem, opt->seed, &run->target, err);
    if (opt->together)
        st = sked_dist_agree(st, err);
    if (st != SKED_OK)
        return st;
    sked_i_target_listen(run->target, opt->stop);
    run->ranks = sked_i_robust_ranks(opt, run->target);
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

const char *sked_i_robust_backend(const sked_robust_options *opt, const char *method)
{
    const sked_method_info *info = sked_method_find(method);
    return info != NULL && info->features & SKED_CAN_CUDA ? opt->backend : "cpu";
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
    if (target == NULL && opt->measure != NULL)
        target = "callback";
    if (target == NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "robust scheduling needs a target; see `sked targets`");
    if (opt->candidates < 1 || opt->top < 1 || opt->threads < 1)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "robust scheduling needs a candidate, one to measure and a thread at least");
    if (opt->given != NULL && (!opt->one_shot || opt->n_given < 1))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "given candidates are for one-shot, one at least");
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
