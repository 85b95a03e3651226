/* What methods take, and the public call that runs one. */
#include "method/driver.h"

#include "backend/backend.h"
#include "dist/dist.h"
#include "method/addressing.h"
#include "method/memory_limits.h"
#include "problem/bounds.h"
#include "problem/lower.h"
#include "schedule/realise.h"

#include <stdio.h>
#include <string.h>

void sked_run_options_init_sized(sked_run_options *opt, size_t size)
{
    const sked_run_options preset = {.threads = 1, .time_limit = 5};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

/* What the problem and the options ask of a method. */
static uint32_t needed_features(const sked_problem *p, const sked_run_options *opt)
{
    enum { SKED_CAN_ARENA = SKED_CAN_MEMORY }; /* addresses come after the method */
    static const uint32_t objective[] = {
#define SKED_X(name, text, help) SKED_CAN_##name,
        SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
    };
    uint32_t need = objective[p->objective];
    need |= p->devices > 0 ? SKED_CAN_DEVICES : 0;
    need |= sked_i_has_transfers(p) ? SKED_CAN_TRANSFERS : 0;
    need |= p->machine != NULL ? SKED_CAN_MACHINES : 0;
    need |= sked_i_has_memory_limit(p) ? SKED_CAN_LIMITS : 0;
    need |= p->ii != 0 || p->objective == SKED_OBJECTIVE_II ? SKED_CAN_LOOPS : 0;
    need |= p->horizon < INFINITY ? SKED_CAN_HORIZON : 0;
    need |= opt->start != NULL ? SKED_CAN_START : 0;
    need |= p->fix_device != NULL || p->fix_start != NULL ? SKED_CAN_FIX : 0;
    need |= opt->candidates > 1 ? SKED_CAN_CANDIDATES : 0;
    need |= opt->backend != NULL && strcmp(opt->backend, "cuda") == 0 ? SKED_CAN_CUDA : 0;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        need |= sked_i_capacity(p, r) < INFINITY ? SKED_CAN_RESOURCES : 0;
    return need;
}

sked_status sked_i_method_check(const sked_i_method *m, const sked_problem *p, const sked_run_options *opt,
                                sked_error *err)
{
    const uint32_t missing = needed_features(p, opt) & ~m->info.features;
#define SKED_X(id, bit, text)                                                                          \
    if (missing & SKED_CAN_##id)                                                                       \
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,                                                  \
                           "method '%s' does not take %s; `sked methods` says which do", m->info.name, \
                           text);
    SKED_FEATURE_LIST(SKED_X)
#undef SKED_X
    return SKED_OK;
}

/* Moves what the run kept into the result, at least min_distance apart, at most `top`. */
static sked_status deliver(sked_i_run *run, sked_result *out, sked_error *err)
{
    const sked_run_options *opt = run->options;
    const int32_t count = sked_i_run_count(run), top = opt->top > 0 && opt->top < count ? opt->top : count;
    sked_status st = SKED_OK;
    sked_schedule **chosen = NULL;
    SKED_NEW(chosen, top);
    SKED_TRY(sked_i_incumbents_choose(&run->driver->incumbents, run->problem, run->costs, top,
                                      opt->min_distance, chosen, &out->count, err));
    out->schedule = chosen;
    for (int32_t k = 0; st == SKED_OK && k < out->count; k++)
        st = sked_i_realise_result(run->lowered, chosen[k], err);
    return st;
cleanup:
    free(chosen);
    return st;
}

/* The rows of the run, each reached through a pointer: a row may grow in a later version. */
static sked_status hand_statistics(sked_i_driver *d, sked_result *out, sked_error *err)
{
    sked_statistic **rows = sked_i_alloc(d->n_rows, sizeof *rows);
    if (rows == NULL)
        return sked_i_no_memory(err);
    for (int64_t i = 0; i < d->n_rows; i++)
        rows[i] = &d->row[i];
    out->statistics = rows;
    out->n_statistics = (int32_t)d->n_rows;
    if (d->n_rows > 0) { /* they go with the first */
        d->row = NULL;
        d->n_rows = 0;
    }
    return SKED_OK;
}

static sked_status none_found(const sked_i_method *m, const sked_i_run *run, sked_error *err)
{
    if (sked_i_limit_reached(&run->limit))
        return sked_i_fail(err, SKED_ERR_STOPPED, "stopped before '%s' had a first schedule", m->info.name);
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "method '%s' found no schedule that keeps all limits (not a proof)", m->info.name);
}

/* A method that takes a clock as it is finds the bound. */
static double bound_work(const sked_i_run *run)
{
    static const double work_per_second = 2e6, most = 3e8;
    const double seconds = run->options->time_limit;
    if (run->problem->clock > 0)
        return 0;
    return isinf(seconds) ? SKED_I_BOUND_WORK : fmin(most, work_per_second * seconds);
}

/* The bound of what the run asks for, at one interval. */
static sked_status bound_at(const sked_i_run *run, double ii, const sked_i_bound_effort *effort,
                            double *bound, sked_error *err)
{
    sked_problem at = *run->problem;
    at.ii = ii;
    return sked_i_problem_bound(&at, run->costs, effort, bound, NULL, err);
}

/*
 * The bounds known before any method runs. What may take any amount of work has about a twenty-fifth of the
 * time limit, by its number and not by the clock, so that the same limit gives the same bound; and a tenth by
 * the clock, on a machine with much else to do. Where the interval comes first, the bound that holds at any
 * interval is worth less than that at the least one.
 */
static sked_status set_bounds(sked_i_run *run, sked_error *err)
{
    sked_i_driver *d = run->driver;
    sked_i_limit limit = run->limit;
    const bool interval_first = sked_i_interval_first(run->problem);
    const double tenth = limit.paced ? (limit.deadline - limit.begin) / 10 : INFINITY;
    limit.deadline = limit.begin + (interval_first ? tenth / 2 : tenth);
    sked_i_bound_effort effort = {.work = bound_work(run) * (interval_first ? 0.25 : 1), .limit = &limit};
    sked_status st = sked_i_problem_bound(run->problem, run->costs, &effort, &d->bound, NULL, err);
    effort.work = bound_work(run);
    limit.deadline = limit.begin + tenth;
    if (st == SKED_OK && interval_first) {
        sked_i_min_ii least = {0};
        st = sked_i_problem_min_ii(run->problem, &least, err);
        d->least_ii = fmax(least.recurrence, least.resource);
        d->bounded_ii = sked_i_problem_integral(run->problem) ? fmax(1, d->least_ii) : d->least_ii;
        if (st == SKED_OK && d->bounded_ii > 0)
            st = bound_at(run, d->bounded_ii, &effort, &d->interval_bound, err);
    }
    return st;
}

/*
 * Where the interval comes first, no schedule of the incumbent's interval is better than its bound. It is
 * known for the least interval; for another one there is the work of a second and, where time counts, little
 * of that.
 */
static sked_status raise_at_interval(sked_i_run *run, sked_error *err)
{
    static const double grace = 0.05;
    sked_i_driver *d = run->driver;
    if (!sked_i_interval_first(run->problem))
        return SKED_OK;
    const double ii = sked_i_run_incumbent(run)->ii;
    double bound = d->interval_bound;
    sked_status st = SKED_OK;
    if (ii != d->bounded_ii) {
        sked_i_limit limit = run->limit;
        limit.deadline = limit.paced ? sked_clock() + grace : INFINITY;
        const sked_i_bound_effort effort = {.work = fmin(2e6, bound_work(run)), .limit = &limit};
        st = bound_at(run, ii, &effort, &bound, err);
    }
    if (st == SKED_OK)
        sked_i_run_raise_bound(run, bound);
    return st;
}

static sked_status finish(const sked_i_method *m, sked_i_run *run, double begin, double build_seconds,
                          sked_result *out, sked_error *err)
{
    sked_i_driver *d = run->driver;
    if (d->incumbents.count == 0)
        return none_found(m, run, err);
    sked_status st = raise_at_interval(run, err);
    if (st != SKED_OK)
        return st;
    sked_result r = {.value = sked_i_run_best(run), .lower_bound = d->bound, .evaluations = d->evaluations};
    r.optimal = d->proved || sked_i_driver_meets_bound(run);
    if (d->proved && run->problem->objective != SKED_OBJECTIVE_II)
        r.lower_bound = r.value;
    snprintf(r.method, sizeof r.method, "%s", d->incumbents.entry[0].maker);
    snprintf(r.note, sizeof r.note, "%s", d->note);
    if (SKED_KNOWS(out, statistics))
        st = hand_statistics(d, &r, err);
    if (st == SKED_OK && SKED_KNOWS(out, curve))
        st = sked_i_value_curve_give(&d->curve, &r, err);
    if (st == SKED_OK)
        st = deliver(run, &r, err);
    if (st != SKED_OK) {
        r.size = sizeof r;
        sked_result_clear(&r);
        return st;
    }
    r.build_seconds = build_seconds;
    r.seconds = sked_clock() - begin;
    SKED_GIVE(out, r);
    return SKED_OK;
}

/* The steps from the problem as asked to the one that is solved, for the statistics. */
static void tally_steps(sked_i_run *run)
{
    const sked_i_lowered *x = run->lowered;
    sked_statistic whole = {.method = "lower", .technique = "", .calls = 1};
    for (int k = 0; k < x->n_steps; k++)
        whole.seconds += x->step[k].seconds;
    sked_i_driver_tally(run, &whole);
    for (int k = 0; k < x->n_steps; k++)
        sked_i_driver_tally(run, &(sked_statistic){.method = "lower",
                                                   .technique = x->step[k].name,
                                                   .calls = 1,
                                                   .seconds = x->step[k].seconds});
}

/* A memory limit that cannot be kept is refused with one that can. */
static sked_status check(const sked_problem *p, const sked_i_limit *limit, sked_error *err)
{
    sked_problem unlimited = *p;
    const sked_status st = sked_problem_check(p, err);
    unlimited.memory_limit = INFINITY;
    if (st == SKED_ERR_INFEASIBLE && err != NULL && p->memory_limit < INFINITY &&
        sked_problem_check(&unlimited, NULL) == SKED_OK)
        sked_i_memory_limits_advise(p, limit, err);
    return st;
}

/* Refuses what can be refuted at once, and lowers the rest. A clock is refuted by the edges that stand for
 * it. */
static sked_status take_problem(const sked_problem *p, const sked_i_limit *limit, sked_i_lowered *low,
                                sked_error *err)
{
    const bool later = sked_i_is_checked_lowered(p);
    sked_status st = later ? sked_i_problem_check_asked(p, err) : check(p, limit, err);
    if (st == SKED_OK)
        st = sked_i_lower_within(p, limit, low, err);
    return st == SKED_OK && later ? sked_i_problem_check_lowered(&low->problem, err) : st;
}

static sked_status check_options(const sked_run_options *opt, sked_error *err)
{
    const sked_i_range ranges[] = {
        {"threads", opt->threads, 1, SKED_I_MOST_THREADS},
        {"time_limit", opt->time_limit, 0, INFINITY},
        {"iterations", (double)opt->iterations, 0, INFINITY},
        {"candidates", opt->candidates, 0, SKED_I_MOST_CANDIDATES},
        {"top", opt->top, 0, INT32_MAX},
        {"min_distance", opt->min_distance, 0, 100},
    };
    return sked_i_options_check(ranges, sizeof ranges / sizeof *ranges, opt->settings, opt->n_settings, err);
}

sked_status sked_method_run(const char *method, const sked_problem *p, const sked_run_options *opt,
                            sked_result *out, sked_error *err)
{
    SKED_TAKE_ASKED(p)
    SKED_TAKE(sked_run_options, opt)
    SKED_CHECK_OUTPUT(sked_result, out);
    if (opt->together) {
        sked_i_buffer call = {0}; /* methods, seeds and limits may differ from rank to rank */
        sked_i_buffer_text(&call, "schedule");
        const sked_status same = sked_i_dist_same(p, &call, err);
        if (same != SKED_OK)
            return same;
    }
    const sked_i_method *m = method != NULL ? sked_i_method_find(method) : NULL;
    if (m == NULL)
        return sked_i_method_unknown(method != NULL ? method : "", err);
    if (check_options(opt, err) != SKED_OK)
        return SKED_ERR_ARGUMENT;
    if (sked_i_has_addresses(p))
        return sked_i_addresses_run(method, p, opt, out, err);
    const double begin = sked_clock();
    const bool locked = sked_i_costs_lock(false); /* a method may run others on problems of its own */
    sked_i_lowered low = {0};
    sked_i_run run = sked_i_run_of(&low, opt);
    sked_status st = SKED_OK;
    sked_run_options lifted;
    sked_schedule *start = NULL;
    sked_i_exchange *exchange = sked_i_exchange_open(opt);
    const sked_i_backend *backend;
    sked_i_limit_init(&run.limit, opt);
    SKED_TRY(sked_i_backend_choose(opt->backend, false, &backend, err)); /* there is none such: says so */
    low.with_clock = m->takes_clock != NULL && opt->candidates <= 1 && m->takes_clock(p);
    SKED_TRY(take_problem(p, &run.limit, &low, err));
    SKED_TRY(sked_i_realise_start(&low, opt->start, &start, err));
    if (start != NULL) {
        lifted = *opt;
        lifted.start = start;
        run.options = &lifted;
    }
    SKED_TRY(sked_i_method_check(m, run.problem, opt, err));
    SKED_TRY(sked_i_driver_open(&run, opt->candidates > 1 ? opt->candidates : 1, err));
    run.driver->exchange = exchange;
    run.driver->current = m->info.name; /* bounds come from outside its run, too */
    tally_steps(&run);
    SKED_TRY(set_bounds(&run, err));
    run.driver->curve.bound = run.driver->bound;
    const double called = sked_clock();
    st = sked_i_driver_run(&run, m, opt->settings, opt->n_settings, err);
    const double build_seconds = sked_clock() - called - run.driver->judging;
    if (st == SKED_OK || (st == SKED_ERR_STOPPED && run.driver->incumbents.count > 0))
        st = finish(m, &run, begin, build_seconds, out, err);
cleanup:
    sked_i_exchange_close(exchange);
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    sked_schedule_destroy(start);
    sked_i_costs_lock(locked);
    return st;
}

void sked_result_clear(sked_result *r)
{
    for (int32_t i = 0; i < r->count; i++)
        sked_schedule_destroy(r->schedule[i]);
    free(r->schedule);
    if (SKED_KNOWS(r, statistics)) {
        if (r->n_statistics > 0)
            free(r->statistics[0]);
        free(r->statistics);
    }
    if (SKED_KNOWS(r, curve)) {
        sked_i_value_curve curve;
        sked_i_value_curve_take(&curve, r);
        sked_i_value_curve_free(&curve);
    }
    const sked_result empty = {0};
    SKED_GIVE(r, empty);
}
