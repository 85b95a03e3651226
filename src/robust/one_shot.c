/*
 * The published pipeline. Members gather candidates; those of every member pass the same stages: local search
 * and devices near the data where asked for, the proxy ranks and keeps them, the target measures them, their
 * diversity is taken. The best on the target wins.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/text.h"
#include "engine/stages/stages.h"
#include "problem/lower.h"
#include "robust/ranks.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ who takes part */

typedef struct entrant {
    const char *label, *method, *setting; /* setting NULL: presets */
    bool many;                            /* false: one schedule, for comparison */
} entrant;

/* The one place that names how a member is set: `--method` and sked-bench paper take it from here. */
static const entrant entrants[] = {
    {"list", "list", NULL, false},
    {"random list", "list", "priority=random", true},
    {"brkga", "brkga", NULL, true},
    {"search", "search", NULL, true},
    {"gflownet", "gflownet", "prior=true", true},
};
enum { n_entrants = sizeof entrants / sizeof *entrants };

/*
 * All of them, or the one asked for, with its settings from the table if it gives candidates there. Given
 * candidates are one member.
 */
static int choose(const sked_robust_options *opt, entrant *out)
{
    const char *method = opt->method == NULL && opt->given != NULL ? "given" : opt->method;
    memcpy(out, entrants, sizeof entrants);
    if (method == NULL)
        return n_entrants;
    for (int i = 0; i < n_entrants; i++)
        if (entrants[i].many && strcmp(entrants[i].method, method) == 0)
            return out[0] = entrants[i], 1;
    out[0] = (entrant){method, method, NULL, true};
    return 1;
}

/* ------------------------------------------------------------------ making candidates */

typedef struct pipeline {
    const sked_i_robust_run *run;
    const sked_problem *problem;    /* the run's, */
    const sked_robust_options *opt; /* as are these */
    sked_i_lowered low; /* for the stages: in the short form where it has one, so that equal devices show */
    double share;       /* seconds of scheduling of a member, its stages counted */
    sked_robust_result *result;
    int64_t room;     /* of result->measurement */
    int64_t measured; /* schedules that the target was asked for */
} pipeline;

/* What a member's run leaves of its time to the stages; methods that improve would take all of it. */
static double share_of_stages(const sked_robust_options *opt)
{
    return opt->improve > 0 ? 0.5 : opt->local ? 0.1 : 0;
}

/* m->count grows as they come: what is there is whole when one of them is refused. */
static sked_status copy_given(const pipeline *l, sked_robust_member *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_robust_options *opt = l->opt;
    SKED_TRY(sked_problem_bound(l->problem, &m->lower_bound, NULL, err));
    SKED_NEW(m->schedule, opt->n_given);
    for (int32_t k = 0; k < opt->n_given; k++) {
        sked_error why = {0};
        if ((st = sked_schedule_validate(l->problem, opt->given[k], &why)) != SKED_OK)
            return sked_i_fail(err, st, "candidate %d of those given: %s", (int)k, why.message);
        SKED_TRY(sked_schedule_clone(opt->given[k], &m->schedule[k], err));
        m->count = k + 1;
    }
cleanup:
    return st;
}

static sked_status gather(const pipeline *l, const entrant *who, sked_robust_member *m, sked_error *err)
{
    const sked_robust_options *opt = l->opt;
    sked_run_options run;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&run);
    run.seed = opt->seed;
    run.threads = opt->threads;
    run.time_limit = l->share * (1 - share_of_stages(opt));
    run.candidates = who->many ? opt->candidates : 0;
    run.progress = opt->progress;
    run.progress_data = opt->progress_data;
    const sked_status st =
        sked_i_robust_run_member(opt, who->method, who->setting, l->problem, &run, &r, err);
    m->schedule = r.schedule;
    m->count = r.count;
    m->lower_bound = r.lower_bound;
    r.schedule = NULL;
    r.count = 0;
    sked_result_clear(&r);
    return st;
}

/* ------------------------------------------------------------------ the stages */

/* Work on candidates made may take as long past the time: a stage that does little is better than none. */
static const double moment = 0.05;

static void list_candidates(const pipeline *l, const sked_robust_member *m, sked_i_stages_candidate *list)
{
    for (int32_t k = 0; k < m->count; k++)
        list[k] =
            (sked_i_stages_candidate){.schedule = m->schedule[k],
                                      .makespan = sked_i_costs_latest_finish(&l->low.costs, m->schedule[k]),
                                      .origin = k};
}

/* Of list[*count], ranked: the best that are far enough from those before, at most `top`. */
static sked_status choose_top(const pipeline *l, sked_i_stages_candidate *list, int32_t *count,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t most = l->opt->top < *count ? l->opt->top : *count;
    int32_t kept = 0;
    sked_schedule **chosen = NULL;
    SKED_NEW(chosen, most);
    for (int32_t k = 0; k < *count; k++) {
        bool apart = false;
        if (st == SKED_OK && kept < most)
            st = sked_i_schedule_apart(&l->low.problem, &l->low.costs, list[k].schedule, chosen, kept,
                                       l->opt->min_distance, &apart, err);
        if (apart) {
            chosen[kept] = list[k].schedule;
            list[kept++] = list[k];
        } else {
            sked_schedule_destroy(list[k].schedule);
        }
    }
    *count = kept;
cleanup:
    free(chosen);
    return st;
}

/* The list into the member, best on the proxy first whatever ranked them. */
static sked_status take_list(sked_robust_member *m, const sked_i_stages_candidate *list, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *order = NULL;
    for (int32_t k = 0; k < m->count; k++)
        m->schedule[k] = list[k].schedule;
    SKED_NEW(order, 2 * (int64_t)m->count);
    for (int32_t k = 0; k < m->count; k++)
        order[k] = (sked_i_keyed){sked_i_sort_key(list[k].makespan), k};
    sked_i_sort_keyed(order, order + m->count, m->count);
    for (int32_t k = 0; k < m->count; k++)
        m->schedule[k] = list[order[k].value].schedule;
cleanup:
    free(order);
    return st;
}

/* Improves, reassigns devices, ranks and keeps the best. */
static sked_status refine(pipeline *l, sked_robust_member *m, double deadline, sked_error *err)
{
    const sked_robust_options *opt = l->opt;
    const sked_i_limit limit = {.stop = opt->stop, .deadline = fmax(deadline, sked_clock() + moment)};
    const sked_i_stages how = {.improve = opt->improve,
                               .local = opt->local,
                               .seed = opt->seed,
                               .threads = opt->threads,
                               .limit = &limit};
    sked_i_stages_candidate *list = sked_i_alloc(m->count, sizeof *list);
    sked_status st = list == NULL ? sked_i_no_memory(err) : SKED_OK;
    if (st == SKED_OK) { /* from here on the list has them, whatever fails */
        list_candidates(l, m, list);
        st = sked_i_stages_pass(&l->low.problem, &how, list, &m->count, err);
        if (st == SKED_OK)
            st = choose_top(l, list, &m->count, err);
        const sked_status taken = take_list(m, list, err);
        st = st == SKED_OK ? taken : st;
    }
    free(list);
    return st;
}

static sked_status measure_proxy(const pipeline *l, sked_robust_member *m, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(m->proxy, m->count);
    for (int32_t k = 0; k < m->count; k++) {
        sked_metrics metrics = {.size = sizeof metrics};
        sked_error why = {0};
        if (sked_schedule_validate(l->problem, m->schedule[k], &why) != SKED_OK)
            return sked_i_fail(err, why.status == SKED_ERR_MEMORY ? SKED_ERR_MEMORY : SKED_ERR_BUG,
                               "a stage made an invalid schedule: %s", why.message);
        SKED_TRY(sked_schedule_measure(l->problem, m->schedule[k], &metrics, err));
        m->proxy[k] = metrics.speedup;
    }
cleanup:
    return st;
}

/* The measurement into the list of all; said NULL: it failed. */
static sked_status record(pipeline *l, const sked_robust_member *m, int32_t k, const sked_measurement *said,
                          sked_error *err)
{
    sked_robust_result *r = l->result;
    if (!SKED_GROW(r->measurement, l->room, (int64_t)r->measurements + 1))
        return sked_i_no_memory(err);
    const double before = r->measurements > 0 ? r->measurement[r->measurements - 1].best : NAN;
    r->measurement[r->measurements++] = (sked_robust_measurement){
        .member = r->count - 1,
        .candidate = k,
        .time = said != NULL ? said->time : NAN,
        .deviation = said != NULL ? said->deviation : 0,
        .expected = NAN,
        .fitted = NAN,
        .best = fmax(before, m->target[k]), /* of a number and NAN: the number */
    };
    return SKED_OK;
}

static void take_time(const pipeline *l, sked_robust_member *m, int32_t k, double time)
{
    m->target[k] = sked_i_robust_speedup(l->run, time);
    if (m->best < 0 || time < m->time) {
        m->best = k;
        m->time = time;
    }
    if (l->opt->progress != NULL)
        l->opt->progress(l->opt->progress_data, "measuring", (double)(k + 1) / m->count, NAN, NAN);
}

/* A candidate that the target cannot measure is reported and left out. *over: a stop came, the rest is not
 * measured. */
static sked_status take_answer(pipeline *l, sked_robust_member *m, int32_t k, const sked_i_order *o,
                               bool *over, sked_error *err)
{
    *over = *over || o->status == SKED_ERR_STOPPED;
    if (*over)
        return SKED_OK;
    if (o->status == SKED_OK) {
        take_time(l, m, k, o->said.time);
        return record(l, m, k, &o->said, err);
    }
    if (!sked_i_robust_left_out(o->status))
        return sked_i_fail(err, o->status, "%s", o->why.message);
    sked_i_robust_warn(l->opt, "candidate %d of %s was not measured: %s", (int)k, m->label, o->why.message);
    m->failures++;
    return record(l, m, k, NULL, err);
}

/* The candidates from `first` on, as many as ranks measure at once; `orders` has room for them. */
static sked_status measure_some(pipeline *l, sked_robust_member *m, int32_t first, sked_i_order *orders,
                                bool *over, sked_error *err)
{
    assert(first >= 0 && first < m->count);
    const int32_t left = m->count - first, count = left < l->run->ranks ? left : l->run->ranks;
    for (int32_t k = 0; k < count; k++)
        orders[k] = (sked_i_order){.schedule = m->schedule[first + k], .said = {.size = sizeof orders->said}};
    sked_status st = sked_i_robust_measure(l->run, l->measured, orders, count, err);
    l->measured += count;
    for (int32_t k = 0; k < count; k++) {
        if (st == SKED_OK)
            st = take_answer(l, m, first + k, &orders[k], over, err);
        sked_measurement_clear(&orders[k].said);
    }
    return st;
}

static sked_status measure_target(pipeline *l, sked_robust_member *m, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_order *orders = NULL;
    bool over = false;
    SKED_NEW(orders, l->run->ranks);
    SKED_NEW(m->target, m->count);
    for (int32_t k = 0; k < m->count; k++)
        m->target[k] = NAN;
    for (int32_t k = 0; k < m->count && !over && !sked_i_robust_stopped(l->run); k += l->run->ranks)
        SKED_TRY(measure_some(l, m, k, orders, &over, err));
cleanup:
    free(orders);
    return st;
}

/* The stages are the same for every method. */
static sked_status run_member(pipeline *l, const entrant *who, sked_robust_member *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const double begin = sked_clock();
    snprintf(m->label, sizeof m->label, "%s", who->label);
    m->asked = l->opt->given != NULL ? l->opt->n_given : who->many ? l->opt->candidates : 1;
    m->best = -1;
    m->time = INFINITY;
    SKED_TRY(l->opt->given != NULL ? copy_given(l, m, err) : gather(l, who, m, err));
    SKED_TRY(refine(l, m, begin + l->share, err));
    SKED_TRY(measure_proxy(l, m, err));
    SKED_TRY(measure_target(l, m, err));
    SKED_TRY(sked_i_robust_diversity(l->problem, m, err));
    m->seconds = sked_clock() - begin;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ all of them */

/* Can the comparison continue without a member that does not take the machine? The user gets a warning. */
static bool left_out(const pipeline *l, const entrant *who, sked_status st, const char *why)
{
    if (st != SKED_ERR_UNSUPPORTED || l->opt->method != NULL || l->problem->machine == NULL)
        return false;
    sked_i_robust_warn(l->opt, "%s takes no part: %s", who->label, why);
    return true;
}

static void drop_last(sked_robust_result *r, int32_t measurements)
{
    sked_i_robust_member_destroy(r->member[--r->count]);
    r->measurements = measurements;
}

/* Every entrant in turn; a stop ends it after the first. */
static sked_status run_all(pipeline *l, const entrant *who, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error why = {0};
    sked_robust_result *r = l->result;
    SKED_NEW(r->member, count);
    for (int i = 0; i < count && !(r->count > 0 && sked_i_robust_stopped(l->run)); i++) {
        const int32_t before = r->measurements;
        why = (sked_error){0};
        SKED_NEW0(r->member[r->count], 1);
        st = run_member(l, &who[i], r->member[r->count++], &why);
        if (st == SKED_ERR_STOPPED && r->count > 1) { /* what the others measured is kept */
            drop_last(r, before);
            return SKED_OK;
        }
        if (left_out(l, &who[i], st, why.message))
            drop_last(r, before);
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
    return sked_i_fail(err, sked_i_robust_stopped(l->run) ? SKED_ERR_STOPPED : SKED_ERR_DEVICE,
                       "the target measured none of the candidates");
}

static void sum_up(const pipeline *l, sked_robust_result *r)
{
    r->one_shot = true;
    r->noise = NAN;
    r->end = sked_i_robust_stopped(l->run) ? SKED_ROBUST_STOPPED : SKED_ROBUST_BUDGET;
    for (int32_t i = 0; i < r->count; i++)
        r->failures += r->member[i]->failures;
}

/* Those that give many candidates share the time; a single list schedule takes next to none. */
static double share_time(double seconds, const entrant *who, int count)
{
    int sharing = 0;
    for (int i = 0; i < count; i++)
        sharing += who[i].many;
    return seconds / sharing;
}

sked_status sked_i_robust_one_shot(const sked_i_robust_run *run, sked_robust_result *r, sked_error *err)
{
    entrant who[n_entrants];
    const int count = choose(run->opt, who);
    pipeline l = {.run = run, .problem = run->problem, .opt = run->opt, .result = r};
    if (run->opt->improve < 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "rounds of improvement are 0 or more");
    l.share = share_time(run->opt->time_limit, who, count);
    sked_status st = sked_i_lower(run->problem, &l.low, err);
    if (st == SKED_OK)
        st = run_all(&l, who, count, err);
    if (st == SKED_OK)
        st = find_winner(&l, r, err);
    sum_up(&l, r);
    sked_i_lowered_free(&l.low);
    return st;
}
