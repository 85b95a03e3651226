/*
 * The loop for pipelines: schedules for several periods with the delays learnt so far, the one that promises
 * most is measured, and the delays learn from it. docs/hardware.md
 */
#include "base/clock.h"
#include "base/explog.h"
#include "base/option.h"
#include "base/sized.h"
#include "base/text.h"
#include "graph/graph.h"
#include "problem/lower.h"
#include "robust/pipeline_model.h"
#include "robust/robust.h"

#include <stdio.h>
#include <string.h>

enum { PERIODS = 40, CHOICES = PERIODS + 10 };

typedef struct trial {
    sked_pipeline_trial told;
    double chain; /* its longest, with the delays of now */
    sked_measurement measured;
} trial;

/* A schedule that could be measured. */
typedef struct choice {
    sked_schedule *schedule;
    double value, path; /* path: expected, bias and all */
    double deviation;   /* of its logarithm */
} choice;

typedef struct loop {
    sked_i_arena arena;
    const sked_robust_options *opt;
    const sked_problem *problem;
    sked_target *target;
    sked_i_path_model model, plain; /* plain: one factor for all delays of the library, for other schedules */
    trial *trial;                   /* [budget] */
    sked_i_path_data *data;         /* [budget] of those that succeeded */
    int32_t trials, runs, best;
    choice choice[CHOICES];
    int choices;
    double begin, measuring; /* seconds */
    char failure[600];
} loop;

/* ------------------------------------------------------------------ what is expected */

static double expected_time(const loop *l, double chain)
{
    return fmax(1e-9 * l->problem->clock, sked_i_path_overhead(&l->model) + chain);
}

/* Logarithm by which measured paths are off what is expected now, and its deviation; those near the clock
 * count. */
static void look_back(const loop *l, double *bias, double *deviation)
{
    double sum = 0, squares = 0, n = 0;
    for (int32_t k = 0; k < l->trials; k++) {
        if (isnan(l->trial[k].told.time))
            continue;
        const double weight = sked_i_path_weight(l->problem->clock, l->trial[k].told.time),
                     off = sked_i_log(l->trial[k].told.time / expected_time(l, l->trial[k].chain));
        sum += weight * off;
        squares += weight * off * off;
        n += weight;
    }
    *bias = sum / (n + 1);
    *deviation = sqrt((0.02 + squares - *bias * sum) / (n + 2));
}

/* After learning: what each pipeline so far would have been expected to take. */
static void learn(loop *l)
{
    sked_i_path_fit(&l->model, l->data, l->runs);
    sked_i_path_fit(&l->plain, l->data, l->runs);
    for (int32_t k = 0; k < l->trials; k++)
        l->trial[k].chain = sked_i_path_chain(&l->model, l->trial[k].told.schedule);
}

/* ------------------------------------------------------------------ schedules to choose from */

/* Delays as the model has them in a schedule; NULL: in one cycle. */
static sked_status fitted_graph(sked_i_path_model *m, const sked_schedule *s, sked_graph **out,
                                sked_error *err)
{
    const sked_graph *g = m->problem->graph;
    sked_builder *b = NULL;
    sked_status st = SKED_OK;
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy(g, NULL, b, err));
    (void)sked_i_path_chain(m, s);
    for (int32_t i = 0; i < g->n_ops; i++) {
        if (!sked_i_is_combinational(g, i))
            continue;
        SKED_TRY(sked_i_builder_set(b, &sked_i_op_table[sked_i_op_delay_in], i, m->delay[i], err));
        SKED_TRY(sked_i_builder_set(b, &sked_i_op_table[sked_i_op_delay_out], i, m->delay[i], err));
    }
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}

static void drop_choices(loop *l)
{
    for (int k = 0; k < l->choices; k++)
        sked_schedule_destroy(l->choice[k].schedule);
    l->choices = 0;
}

static bool same_starts(const sked_schedule *a, const sked_schedule *b)
{
    return memcmp(a->start, b->start, (size_t)a->ops * sizeof *a->start) == 0;
}

static bool is_known(const loop *l, const sked_schedule *s)
{
    for (int32_t k = 0; k < l->trials; k++)
        if (same_starts(l->trial[k].told.schedule, s))
            return true;
    for (int k = 0; k < l->choices; k++)
        if (same_starts(l->choice[k].schedule, s))
            return true;
    return false;
}

/*
 * Pipelines that missed the clock by little may meet it when they are placed again, from other seeds: nearer
 * to what is expected, as that counts for one more run.
 */
static sked_status add_again(loop *l, double bias, sked_error *err)
{
    enum { times = 3 };
    const double clock = l->problem->clock, noise = 0.04;
    sked_status st = SKED_OK;
    for (int32_t k = 0; k < l->trials && l->choices < CHOICES && st == SKED_OK; k++) {
        const sked_pipeline_trial *const t = &l->trial[k].told;
        double sum = expected_time(l, l->trial[k].chain) * sked_i_exp(bias);
        int32_t same = 0, later = 0;
        for (int32_t i = 0; i < l->trials; i++)
            if (same_starts(t->schedule, l->trial[i].told.schedule)) {
                same++;
                later += i > k;
                sum += l->trial[i].told.time;
            }
        const double mean = sum / (same + 1); /* not a number where a run failed */
        if (later > 0 || same >= times || !(mean > clock && mean < clock * (1 + 2 * noise)))
            continue;
        choice *const c = &l->choice[l->choices];
        st = sked_schedule_clone(t->schedule, &c->schedule, err);
        c->value = t->value;
        c->path = mean;
        c->deviation = noise;
        l->choices += st == SKED_OK;
    }
    return st;
}

/* The best schedule of a period joins the choices; a period that admits none is passed over. */
static sked_status add_choice(loop *l, const sked_problem *p, double bias, sked_error *err)
{
    sked_result out = {.size = sizeof out};
    sked_run_options run;
    sked_error why = {0};
    sked_run_options_init(&run);
    const double left = l->opt->time_limit - (sked_clock() - l->begin - l->measuring);
    run.time_limit = fmax(0.05, left / (PERIODS * fmax(1, l->opt->measurements - l->trials)));
    run.seed = l->opt->seed;
    run.threads = l->opt->threads;
    sked_status st = sked_i_robust_run_member(l->opt, "auto", NULL, p, &run, &out, &why);
    if (st == SKED_ERR_INFEASIBLE)
        snprintf(l->failure, sizeof l->failure, "%.500s", why.message);
    else if (st != SKED_OK)
        return sked_i_fail(err, st, "%s", why.message);
    if (st == SKED_OK && !is_known(l, out.schedule[0])) {
        const double chain = sked_i_path_chain(&l->model, out.schedule[0]);
        l->choice[l->choices++] =
            (choice){.schedule = out.schedule[0],
                     .value = out.value,
                     .path = expected_time(l, chain) * sked_i_exp(bias),
                     .deviation = sked_i_path_doubt(&l->model) / expected_time(l, chain)};
        out.schedule[0] = NULL;
    }
    sked_result_clear(&out);
    return SKED_OK;
}

/* Periods around the one that just meets the clock by a model, with delays as in a schedule (NULL: in one
 * cycle), longer ones where no op would fit. */
static sked_status try_periods(loop *l, sked_i_path_model *m, const sked_schedule *s, int count, double bias,
                               sked_error *err)
{
    sked_problem p = *l->problem;
    sked_graph *g = NULL;
    sked_status st = SKED_OK;
    double longest = 0;
    SKED_TRY(fitted_graph(m, s, &g, err));
    p.graph = g;
    for (int32_t i = 0; i < g->n_ops; i++)
        longest = fmax(longest, fmax(sked_i_delay_in(g, i), sked_i_delay_out(g, i)));
    const double overhead = sked_i_path_overhead(m), clock = l->problem->clock * sked_i_exp(-bias),
                 least = fmax(longest * (1 + 1e-9), 1e-6 * l->problem->clock),
                 low = fmax(least, 0.6 * clock - overhead), high = fmax(1.6 * clock - overhead, 1.5 * least);
    for (int k = 0; k < count && !sked_i_robust_stopped(&(sked_i_robust_run){.opt = l->opt}); k++) {
        p.clock = low + (high - low) * k / (count - 1);
        SKED_TRY(add_choice(l, &p, bias, err));
    }
cleanup:
    sked_graph_destroy(g);
    return st;
}

static sked_status find_choices(loop *l, sked_error *err)
{
    sked_status st = SKED_OK;
    double bias, deviation;
    look_back(l, &bias, &deviation);
    const sked_schedule *const best = l->best >= 0 ? l->trial[l->best].told.schedule : NULL;
    SKED_TRY(try_periods(l, &l->model, NULL, l->model.learn ? PERIODS / 2 : PERIODS, bias, err));
    if (l->model.learn)
        SKED_TRY(try_periods(l, &l->plain, NULL, PERIODS / 4, bias, err));
    if (l->model.learn) /* what is merged in a cycle depends on what else is in it */
        SKED_TRY(try_periods(l, &l->model, best, PERIODS / 4, bias, err));
    for (int k = 0; k < l->choices; k++)
        l->choice[k].deviation =
            sqrt(deviation * deviation + l->choice[k].deviation * l->choice[k].deviation);
    st = add_again(l, bias, err);
cleanup:
    return st;
}

/* The most that is gained times how likely it is; before anything meets the clock, how likely it is. -1:
 * none. */
static int choose(const loop *l)
{
    double most = 0, best = 0;
    int which = -1;
    const bool met = l->best >= 0 && l->trial[l->best].told.time <= l->problem->clock;
    for (int k = 0; k < l->choices; k++)
        most = fmax(most, l->choice[k].value);
    const double known = met ? l->trial[l->best].told.value : 1.5 * most + 1;
    for (int k = 0; k < l->choices; k++) {
        const choice *c = &l->choice[k];
        const double z = sked_i_log(l->problem->clock / c->path) / c->deviation,
                     chance = 1 / (1 + sked_i_exp(fmin(300, -1.7 * z)));
        if (c->value >= known || (met && chance < 0.005))
            continue;
        const double score = (known - c->value) * chance;
        if (which < 0 || score > best) {
            best = score;
            which = k;
        }
    }
    return which;
}

/* ------------------------------------------------------------------ measuring */

static bool is_better(const loop *l, const sked_pipeline_trial *a, const sked_pipeline_trial *b)
{
    const bool a_meets = a->time <= l->problem->clock, b_meets = b->time <= l->problem->clock;
    return a_meets != b_meets                ? a_meets
           : a_meets && a->value != b->value ? a->value < b->value
                                             : a->time < b->time;
}

static sked_status measure(loop *l, int which, sked_error *err)
{
    choice *c = &l->choice[which];
    trial *t = &l->trial[l->trials++];
    sked_error why = {0};
    const double begin = sked_clock();
    *t = (trial){.told = {c->schedule, c->value, c->path, NAN}, .measured = {.size = sizeof t->measured}};
    c->schedule = NULL;
    const sked_status st = sked_target_measure(l->target, t->told.schedule, &t->measured, &why);
    l->measuring += sked_clock() - begin;
    if (st == SKED_OK) {
        t->told.time = t->measured.time;
        l->data[l->runs++] = (sked_i_path_data){t->told.schedule, t->measured.start, t->measured.finish};
        if (l->best < 0 || is_better(l, &t->told, &l->trial[l->best].told))
            l->best = l->trials - 1;
        return SKED_OK;
    }
    snprintf(l->failure, sizeof l->failure, "%.500s", why.message);
    if (!sked_i_robust_left_out(st))
        return sked_i_fail(err, st, "%s", why.message);
    sked_i_robust_warn(l->opt, "a pipeline was not measured: %s", why.message);
    return SKED_OK;
}

static sked_status run_loop(loop *l, sked_robust_end *end, sked_error *err)
{
    const sked_i_robust_run run = {.opt = l->opt};
    sked_status st = SKED_OK;
    *end = SKED_ROBUST_BUDGET;
    while (st == SKED_OK && l->trials < l->opt->measurements) {
        drop_choices(l);
        st = find_choices(l, err);
        const int which = st == SKED_OK ? choose(l) : -1;
        if (sked_i_robust_stopped(&run))
            *end = SKED_ROBUST_STOPPED;
        else if (st == SKED_OK && which < 0)
            *end = SKED_ROBUST_SETTLED;
        else if (sked_clock() - l->begin - l->measuring > l->opt->time_limit)
            *end = SKED_ROBUST_TIME;
        if (st != SKED_OK || which < 0 || (*end != SKED_ROBUST_BUDGET && l->trials > 0))
            break;
        st = measure(l, which, err);
        if (st == SKED_ERR_STOPPED && l->best >= 0) {
            *end = SKED_ROBUST_STOPPED;
            return SKED_OK;
        }
        if (st == SKED_OK)
            learn(l);
        if (l->opt->progress != NULL)
            l->opt->progress(l->opt->progress_data, "measuring", (double)l->trials / l->opt->measurements,
                             l->best >= 0 ? l->trial[l->best].told.time : NAN, NAN);
    }
    return st;
}

/* ------------------------------------------------------------------ what is told */

/* Stages of the winner and its critical path, as they were measured. */
static sked_status tell_stages(const loop *l, sked_pipeline_result *r, sked_error *err)
{
    const trial *t = &l->trial[l->best];
    const int32_t n = l->problem->graph->n_ops;
    double first = INFINITY, last = 0;
    sked_status st = SKED_OK;
    for (int32_t i = 0; i < n; i++) {
        first = fmin(first, t->told.schedule->start[i]);
        last = fmax(last, t->told.schedule->start[i]);
    }
    r->stages = (int32_t)fmin(last - first, 1e6) + 1;
    SKED_NEW0(r->stage, r->stages);
    SKED_NEW0(r->critical, n);
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = (int32_t)fmin(t->told.schedule->start[i] - first, r->stages - 1);
        r->stage[at] = fmax(r->stage[at], t->measured.finish[i]);
        r->critical[i] = t->measured.start[i] < t->measured.finish[i];
    }
cleanup:
    return st;
}

static sked_status tell_parameters(const loop *l, sked_pipeline_result *r, sked_error *err)
{
    const sked_i_path_model *m = &l->model;
    const sked_graph *g = l->problem->graph;
    sked_status st = SKED_OK;
    SKED_NEW0(r->parameter, m->count);
    r->parameters = m->count;
    for (int32_t k = 0; k < m->count; k++) {
        sked_robust_parameter *p = &r->parameter[k];
        const char *type = k >= SKED_I_PATH_TYPES ? sked_graph_op_type(g, m->example[k]) : "";
        const char *const name = !m->learn                   ? "factor"
                                 : k == SKED_I_PATH_OVERHEAD ? "overhead"
                                 : k == SKED_I_PATH_FAN_OUT  ? "fan-out"
                                                             : "level";
        if (k >= SKED_I_PATH_TYPES && m->cuts != NULL && sked_i_is_gate(g, m->example[k]))
            snprintf(p->name, sizeof p->name, "table");
        else if (k >= SKED_I_PATH_TYPES)
            snprintf(p->name, sizeof p->name, "%.40s %.0f", type != NULL ? type : "op",
                     g->memory[m->example[k]]);
        else
            snprintf(p->name, sizeof p->name, "%s", name);
        p->prior[2] = m->prior[k];
        p->posterior[2] = p->mean = m->mean[k];
    }
cleanup:
    return st;
}

static sked_status tell(loop *l, sked_pipeline_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    if (l->best < 0)
        return sked_i_fail(err,
                           sked_i_robust_stopped(&(sked_i_robust_run){.opt = l->opt}) ? SKED_ERR_STOPPED
                           : l->trials > 0                                            ? SKED_ERR_DEVICE
                                                                                      : SKED_ERR_INFEASIBLE,
                           "no pipeline was measured: %s", l->failure[0] != 0 ? l->failure : "stopped");
    sked_schedule *const s = l->trial[l->best].told.schedule;
    SKED_TRY(tell_stages(l, r, err));
    SKED_TRY(tell_parameters(l, r, err));
    SKED_TRY(fitted_graph(&l->model, s, &r->graph, err));
    r->clock = fmax(sked_i_path_chain(&l->model, s), 1e-6 * l->problem->clock);
    r->overhead = sked_i_path_overhead(&l->model);
    sked_problem fitted = *l->problem;
    fitted.graph = r->graph;
    fitted.clock = r->clock;
    if (s->phase != NULL)
        SKED_TRY(sked_i_clock_phases(&fitted, s, s->phase, err));
    SKED_NEW0(r->trial, l->trials);
    for (int32_t k = 0; k < l->trials; k++) {
        r->trial[k] = l->trial[k].told;
        l->trial[k].told.schedule = NULL;
        r->failures += isnan(r->trial[k].time);
    }
    r->trials = l->trials;
    r->winner = l->best;
    r->met = r->trial[l->best].time <= l->problem->clock;
    r->seconds = sked_clock() - l->begin;
cleanup:
    return st;
}

void sked_pipeline_result_clear(sked_pipeline_result *r)
{
    const sked_pipeline_result empty = {0};
    for (int32_t k = 0; k < r->trials; k++)
        sked_schedule_destroy(r->trial[k].schedule);
    free(r->trial);
    free(r->target);
    free(r->stage);
    free(r->critical);
    free(r->parameter);
    sked_graph_destroy(r->graph);
    SKED_GIVE(r, empty);
}

static sked_status open_loop(loop *l, const char *target, bool learns, sked_error *err)
{
    const sked_robust_options *opt = l->opt;
    sked_status st = SKED_OK;
    if (opt->measurements < 1 || opt->measurements > 100000)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "measurements must be from 1 to 100000");
    if (l->problem->objective != SKED_OBJECTIVE_MEMORY && l->problem->objective != SKED_OBJECTIVE_MAKESPAN)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "pipelines are measured for objective memory or makespan");
    SKED_TRY(sked_target_create_stoppable(target, l->problem, opt->seed, opt->stop, &l->target, err));
    SKED_OWN0(&l->arena, l->trial, opt->measurements);
    SKED_OWN(&l->arena, l->data, opt->measurements);
    SKED_TRY(sked_i_path_open(&l->plain, l->problem, false, err));
    st = sked_i_path_open(&l->model, l->problem, learns, err);
cleanup:
    return st;
}

sked_status sked_robust_pipeline(const sked_problem *p, const char *target, const sked_robust_options *opt,
                                 bool learns, sked_pipeline_result *out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_TAKE(sked_robust_options, opt)
    SKED_CHECK_OUTPUT(sked_pipeline_result, out);
    loop l = {.opt = opt, .problem = p, .best = -1, .begin = sked_clock()};
    sked_pipeline_result r = {.size = sizeof r};
    sked_status st = SKED_OK;
    if (target == NULL || !sked_target_takes_pipelines(target))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "pipelines are measured on target ice40");
    SKED_TRY(open_loop(&l, target, learns, err));
    if ((r.target = sked_i_strdup(target)) == NULL)
        SKED_TRY(sked_i_no_memory(err));
    SKED_TRY(run_loop(&l, &r.end, err));
    SKED_TRY(tell(&l, &r, err));
    SKED_GIVE(out, r);
    r = (sked_pipeline_result){.size = sizeof r};
cleanup:
    drop_choices(&l);
    for (int32_t k = 0; l.trial != NULL && k < l.trials; k++) {
        sked_schedule_destroy(l.trial[k].told.schedule);
        sked_measurement_clear(&l.trial[k].measured);
    }
    sked_pipeline_result_clear(&r);
    sked_i_path_close(&l.model);
    sked_i_path_close(&l.plain);
    sked_target_destroy(l.target);
    sked_i_arena_free(&l.arena);
    return st;
}
