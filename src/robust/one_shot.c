/*
 * The published pipeline. Members gather candidates; those of every member pass the same stages: the proxy
 * ranks and keeps them, the target measures them, their diversity is taken. The best on the target wins.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "robust/robust.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ who takes part */

typedef struct entrant {
    const char *label, *method, *setting; /* setting NULL: presets */
    bool many;                            /* false: one schedule, for comparison */
} entrant;

static const entrant entrants[] = {
    {"list", "list", NULL, false},        {"random list", "list", "priority=random", true},
    {"brkga", "brkga", NULL, true},       {"search", "search", NULL, true},
    {"gflownet", "gflownet", NULL, true},
};
enum { n_entrants = sizeof entrants / sizeof *entrants };

/* All of them, or the one asked for: as it stands in the table where it gives candidates there. */
static int choose(const char *method, entrant *out)
{
    memcpy(out, entrants, sizeof entrants);
    if (method == NULL)
        return n_entrants;
    for (int i = 0; i < n_entrants; i++)
        if (entrants[i].many && strcmp(entrants[i].method, method) == 0)
            return out[0] = entrants[i], 1;
    out[0] = (entrant){method, method, NULL, true};
    return 1;
}

/* ------------------------------------------------------------------ the stages */

typedef sked_i_robust_run pipeline;

/* The entrant's own setting, the model, then the caller's. *model owns a text of theirs. */
static sked_status list_settings(const pipeline *l, const entrant *who, const char ***out, int *count,
                                 sked_i_buffer *model, sked_error *err)
{
    const char **list = sked_i_alloc(l->opt->n_settings + 2, sizeof *list);
    int n = 0;
    if (l->opt->model != NULL && strcmp(who->method, "gflownet") == 0) {
        sked_i_buffer_text(model, "model=");
        sked_i_buffer_text(model, l->opt->model);
    }
    if (list == NULL || model->failed) {
        free(list);
        return sked_i_no_memory(err);
    }
    if (who->setting != NULL)
        list[n++] = who->setting;
    if (model->data != NULL)
        list[n++] = model->data;
    for (int i = 0; i < l->opt->n_settings; i++)
        list[n++] = l->opt->settings[i];
    *out = list;
    *count = n;
    return SKED_OK;
}

static sked_status gather(const pipeline *l, const entrant *who, sked_robust_member *m, sked_error *err)
{
    const sked_robust_options *opt = l->opt;
    sked_run_options run;
    sked_result r = {.size = sizeof r};
    sked_i_buffer model = {0};
    const char **settings = NULL;
    sked_run_options_init(&run);
    sked_status st = list_settings(l, who, &settings, &run.n_settings, &model, err);
    run.settings = settings;
    run.seed = opt->seed;
    run.threads = opt->threads;
    run.time_limit = opt->time_limit;
    run.iterations = opt->iterations;
    run.candidates = who->many ? opt->candidates : 0;
    run.top = who->many ? opt->top : 0;
    run.min_distance = opt->min_distance;
    run.stop = opt->stop;
    run.progress = opt->progress;
    run.progress_data = opt->progress_data;
    if (st == SKED_OK)
        st = sked_method_run(who->method, l->problem, &run, &r, err);
    m->schedule = r.schedule;
    m->count = r.count;
    m->lower_bound = r.lower_bound;
    r.schedule = NULL;
    r.count = 0;
    sked_result_clear(&r);
    free(settings);
    sked_i_buffer_free(&model);
    return st;
}

static sked_status measure_proxy(const pipeline *l, sked_robust_member *m, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(m->proxy, m->count);
    for (int32_t k = 0; k < m->count; k++) {
        sked_metrics metrics = {.size = sizeof metrics};
        SKED_TRY(sked_schedule_measure(l->problem, m->schedule[k], &metrics, err));
        m->proxy[k] = metrics.speedup;
    }
cleanup:
    return st;
}

static void warn_unmeasured(const pipeline *l, const sked_robust_member *m, int32_t k, const char *why)
{
    char text[1200];
    if (l->opt->warning == NULL)
        return;
    snprintf(text, sizeof text, "candidate %d of %s was not measured: %s", (int)k, m->label, why);
    l->opt->warning(l->opt->warning_data, text);
}

static void take_time(const pipeline *l, sked_robust_member *m, int32_t k, double time)
{
    m->target[k] = time > 0 ? sked_target_work(l->target) / time : 1;
    if (m->best < 0 || time < m->time) {
        m->best = k;
        m->time = time;
    }
    if (l->opt->progress != NULL)
        l->opt->progress(l->opt->progress_data, "measuring", (double)(k + 1) / m->count, NAN, NAN);
}

/* One that the target cannot measure is told and left out, never lost. */
static sked_status measure_target(const pipeline *l, sked_robust_member *m, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(m->target, m->count);
    for (int32_t k = 0; k < m->count; k++)
        m->target[k] = NAN;
    for (int32_t k = 0; k < m->count && !sked_i_robust_stopped(l); k++) {
        sked_error why = {0};
        sked_measurement said = {.size = sizeof said};
        st = sked_target_measure(l->target, m->schedule[k], &said, &why);
        const double time = said.time;
        sked_measurement_clear(&said);
        if (st == SKED_OK) {
            take_time(l, m, k, time);
        } else if (st == SKED_ERR_STOPPED) {
            return SKED_OK; /* the rest was not measured */
        } else if (st == SKED_ERR_DEVICE) {
            warn_unmeasured(l, m, k, why.message);
            m->failures++;
            st = SKED_OK;
        } else {
            return sked_i_fail(err, st, "%s", why.message);
        }
    }
cleanup:
    return st;
}

static sked_status measure_diversity(const pipeline *l, sked_robust_member *m, sked_error *err)
{
    sked_diversity d = {.size = sizeof d};
    const sked_status st =
        sked_schedules_diversity(l->problem, (const sked_schedule *const *)m->schedule, m->count, &d, err);
    m->ged = d.ged;
    m->d_inv = d.d_inv;
    m->d_sen = d.d_sen;
    return st;
}

/* What candidates pass, whoever made them. */
static sked_status (*const stages[])(const pipeline *l, sked_robust_member *m,
                                     sked_error *err) = {measure_proxy, measure_target, measure_diversity};
enum { n_stages = sizeof stages / sizeof *stages };

static sked_status run_member(const pipeline *l, const entrant *who, sked_robust_member *m, sked_error *err)
{
    const double begin = sked_clock();
    snprintf(m->label, sizeof m->label, "%s", who->label);
    m->asked = who->many ? l->opt->candidates : 1;
    m->best = -1;
    m->time = INFINITY;
    sked_status st = gather(l, who, m, err);
    for (int i = 0; st == SKED_OK && i < n_stages; i++)
        st = stages[i](l, m, err);
    m->seconds = sked_clock() - begin;
    return st;
}

/* ------------------------------------------------------------------ all of them */

/* Does the comparison go on without a member that cannot take the machine? The user hears of it. */
static bool left_out(const pipeline *l, const entrant *who, sked_status st, const char *why)
{
    char text[1200];
    if (st != SKED_ERR_UNSUPPORTED || l->opt->method != NULL || l->problem->machine == NULL)
        return false;
    snprintf(text, sizeof text, "%s takes no part: %s", who->label, why);
    if (l->opt->warning != NULL)
        l->opt->warning(l->opt->warning_data, text);
    return true;
}

/* Every entrant in turn; a stop ends it after the first. */
static sked_status run_all(const pipeline *l, sked_robust_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error why = {0};
    entrant who[n_entrants];
    const int count = choose(l->opt->method, who);
    SKED_NEW(r->member, count);
    for (int i = 0; i < count && !(r->count > 0 && sked_i_robust_stopped(l)); i++) {
        why = (sked_error){0};
        SKED_NEW0(r->member[r->count], 1);
        st = run_member(l, &who[i], r->member[r->count++], &why);
        if (st == SKED_ERR_STOPPED && r->count > 1) { /* what the others have measured stands */
            sked_i_robust_member_destroy(r->member[--r->count]);
            return SKED_OK;
        }
        if (left_out(l, &who[i], st, why.message))
            sked_i_robust_member_destroy(r->member[--r->count]);
        else if (st != SKED_OK)
            return sked_i_fail(err, st, "%s", why.message);
    }
    st = r->count > 0 ? SKED_OK : sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s", why.message);
cleanup:
    return st;
}

static sked_status find_winner(const pipeline *l, sked_robust_result *r, sked_error *err)
{
    for (int32_t i = 1; i < r->count; i++)
        r->winner = r->member[i]->time < r->member[r->winner]->time ? i : r->winner;
    if (r->member[r->winner]->best >= 0)
        return SKED_OK;
    return sked_i_fail(err, sked_i_robust_stopped(l) ? SKED_ERR_STOPPED : SKED_ERR_DEVICE,
                       "the target measured none of the candidates");
}

sked_status sked_i_robust_one_shot(const sked_i_robust_run *l, sked_robust_result *r, sked_error *err)
{
    const sked_status st = run_all(l, r, err);
    return st == SKED_OK ? find_winner(l, r, err) : st;
}
