/* The driver: judges and ranks what methods offer, keeps bounds, proofs, statistics, and runs members. */
#include "method/driver.h"

#include "base/logging.h"
#include "schedule/realise.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ life */

sked_status sked_i_driver_open(sked_i_run *run, int32_t wanted, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW0(run->driver, 1);
    run->driver->second_bound = -INFINITY;
    run->driver->curve.begin = run->limit.begin;
    SKED_TRY(sked_i_incumbents_open(&run->driver->incumbents, run->problem, wanted, err));
cleanup:
    return st;
}

void sked_i_driver_close(sked_i_run *run)
{
    sked_i_driver *d = run->driver;
    if (d == NULL)
        return;
    for (int64_t k = 0; k < d->n_states; k++)
        if (d->state[k].state != NULL)
            d->state[k].destroy(d->state[k].state);
    sked_i_incumbents_close(&d->incumbents);
    sked_i_value_curve_free(&d->curve);
    free(d->state);
    free(d->row);
    free(d);
    run->driver = NULL;
}

/* ------------------------------------------------------------------ the incumbent */

const sked_schedule *sked_i_run_incumbent(const sked_i_run *run)
{
    const sked_i_incumbents *list = &run->driver->incumbents;
    return list->count > 0 ? list->entry[0].schedule : NULL;
}

double sked_i_run_best(const sked_i_run *run)
{
    return sked_i_incumbents_best(&run->driver->incumbents).by[1];
}

double sked_i_run_best_length(const sked_i_run *run)
{
    return sked_i_incumbents_best(&run->driver->incumbents).by[2];
}

int32_t sked_i_run_wanted(const sked_i_run *run)
{
    return run->driver->incumbents.capacity;
}

int32_t sked_i_run_count(const sked_i_run *run)
{
    return run->driver->incumbents.count;
}

bool sked_i_interval_first(const sked_problem *p)
{
    return p->ii == SKED_II_AUTO && p->objective != SKED_OBJECTIVE_II;
}

/* The incumbent as a point; what the method has proved is a bound that it meets. */
static sked_curve_point describe(const sked_i_run *run)
{
    const sked_i_driver *d = run->driver;
    const sked_schedule *s = sked_i_run_incumbent(run);
    sked_curve_point p = {.evaluations = d->evaluations,
                          .value = sked_i_run_best(run),
                          .bound = d->bound,
                          .ii = s != NULL ? s->ii : 0};
    if (d->proved && s != NULL && run->problem->objective != SKED_OBJECTIVE_II)
        p.bound = p.value;
    snprintf(p.method, sizeof p.method, "%s", d->current);
    return p;
}

void sked_i_driver_note(sked_i_run *run)
{
    const sked_curve_point now = describe(run);
    sked_i_value_curve_note(&run->driver->curve, &now);
}

void sked_i_run_merge_curve(sked_i_run *run, sked_i_value_curve *thread)
{
    const sked_curve_point best = describe(run);
    run->driver->curve.method = run->driver->current;
    sked_i_value_curve_merge(&run->driver->curve, thread, &best);
}

/* Shows the incumbent, as asked for, to whom it may concern. */
static sked_status tell_incumbent(const sked_i_run *run, sked_error *err)
{
    sked_schedule *s = NULL;
    if (run->options->incumbent == NULL)
        return SKED_OK;
    sked_status st = sked_schedule_clone(sked_i_run_incumbent(run), &s, err);
    if (st == SKED_OK)
        st = sked_i_realise_result(run->lowered, s, err);
    if (st == SKED_OK)
        run->options->incumbent(run->options->incumbent_data, s, sked_i_run_best(run));
    sked_schedule_destroy(s);
    return st;
}

/* Keeps a schedule of that rank, which has passed the validator, if it is among the best. */
static sked_status take_in(sked_i_run *run, const sked_schedule *s, sked_i_result_rank rank, sked_error *err)
{
    sked_i_driver *d = run->driver;
    const double before = sked_i_run_best(run);
    const bool first = sked_i_result_rank_precedes(rank, sked_i_incumbents_best(&d->incumbents));
    bool kept;
    assert(d->current != NULL);
    const sked_status inserted = sked_i_incumbents_insert(&d->incumbents, s, rank, d->current, &kept, err);
    const bool better = inserted == SKED_OK && sked_i_run_best(run) < before;
    sked_i_driver_note(run);
    SKED_LOG(better ? 1 : 2, "driver", "%s offers %g (incumbent %g, bound %g)%s", d->current, rank.by[1],
             before, d->bound,
             better ? ": new incumbent"
             : kept ? ": kept"
                    : "");
    sked_i_driver_tally(
        run, &(sked_statistic){.method = d->current,
                               .technique = "",
                               .offers = 1,
                               .improvements = better,
                               .gain = better && before < INFINITY ? before - sked_i_run_best(run) : 0});
    return inserted == SKED_OK && first ? tell_incumbent(run, err) : inserted;
}

sked_status sked_i_driver_take_over(sked_i_run *run, const sked_i_incumbent *e, sked_error *err)
{
    const char *own = run->driver->current;
    run->driver->current = e->maker;
    const sked_status st = take_in(run, e->schedule, e->rank, err);
    run->driver->current = own;
    return st;
}

/* As asked, and judged: the one time that each schedule is. */
static sked_status realise(sked_i_run *run, const sked_schedule *s, sked_i_realised *r, sked_error *why)
{
    sked_statistic row = {.method = "realise", .technique = "", .calls = 1};
    const sked_status st = sked_i_realise(run->lowered, s, r, why);
    for (int k = 0; k < SKED_I_REALISE_STEPS; k++)
        row.seconds += r->seconds[k];
    sked_i_driver_tally(run, &row);
    for (int k = 0; k < SKED_I_REALISE_STEPS; k++) {
        row.technique = sked_i_realise_step(k);
        row.seconds = r->seconds[k];
        sked_i_driver_tally(run, &row);
    }
    return st;
}

static sked_status offer(sked_i_run *run, const sked_schedule *s, bool start, sked_error *err)
{
    sked_error why = {0};
    sked_i_realised r;
    const double begin = sked_clock(), interval = sked_i_interval_first(run->problem) ? s->ii : 0;
    sked_status st = realise(run, s, &r, &why);
    if (st == SKED_OK)
        st = take_in(run, r.solved, (sked_i_result_rank){{interval, r.value, r.makespan}}, err);
    else if (start)
        st = sked_i_fail(err, st, "the schedule to start from is not valid: %s", why.message);
    else
        st = sked_i_fail(err, st == SKED_ERR_MEMORY || run->method->own != NULL ? st : SKED_ERR_BUG,
                         "method '%s' made an invalid schedule: %s", run->driver->current, why.message);
    sked_i_realised_free(&r);
    run->driver->judging += sked_clock() - begin;
    return st;
}

sked_status sked_i_run_offer(sked_i_run *run, const sked_schedule *s, sked_error *err)
{
    return offer(run, s, false, err);
}

sked_status sked_i_run_offer_start(sked_i_run *run, sked_error *err)
{
    return offer(run, run->options->start, true, err);
}

/* ------------------------------------------------------------------ bounds and proofs */

double sked_i_run_bound(const sked_i_run *run)
{
    return run->driver->bound;
}

void sked_i_run_raise_bound(sked_i_run *run, double bound)
{
    assert(!isnan(bound));
    if (!(bound > run->driver->bound))
        return;
    SKED_LOG(1, "driver", "%s raises the bound from %g to %g", run->driver->current, run->driver->bound,
             bound);
    run->driver->bound = bound;
    sked_i_driver_note(run);
}

void sked_i_run_raise_length(sked_i_run *run, double bound)
{
    run->driver->second_bound = fmax(run->driver->second_bound, bound);
}

void sked_i_run_raise_interval(sked_i_run *run, double bound)
{
    run->driver->least_ii = fmax(run->driver->least_ii, bound);
}

void sked_i_run_prove(sked_i_run *run)
{
    SKED_LOG(1, "driver", "%s proves the incumbent %g optimal", run->driver->current, sked_i_run_best(run));
    run->driver->proved = true;
    sked_i_driver_note(run);
}

bool sked_i_run_proved(const sked_i_run *run)
{
    return run->driver->proved;
}

bool sked_i_driver_meets_bound(const sked_i_run *run)
{
    const sked_i_driver *d = run->driver;
    const sked_i_result_rank best = sked_i_incumbents_best(&d->incumbents);
    if (d->incumbents.count == 0 || (sked_i_interval_first(run->problem) && best.by[0] > d->least_ii))
        return false;
    const double slack = run->problem->graph->integral ? 0 : 1e-9 * fabs(best.by[1]);
    const bool at_least = d->bounded_ii > 0 && best.by[0] == d->bounded_ii;
    if (!(best.by[1] <= (at_least ? fmax(d->bound, d->interval_bound) : d->bound) + slack))
        return false;
    return run->problem->objective != SKED_OBJECTIVE_II || best.by[2] <= d->second_bound;
}

bool sked_i_run_over(const sked_i_run *run)
{
    if (sked_i_limit_reached(&run->limit))
        return true;
    return sked_i_run_wanted(run) == 1 && sked_i_driver_meets_bound(run);
}

/* ------------------------------------------------------------------ reporting */

void sked_i_run_evaluated(sked_i_run *run, int64_t count)
{
    assert(count >= 0);
    run->driver->evaluations += count;
}

int64_t sked_i_run_evaluations(const sked_i_run *run)
{
    return run->driver->evaluations;
}

void sked_i_run_note(sked_i_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(run->driver->note, sizeof run->driver->note, format, args);
    va_end(args);
}

void sked_i_run_progress(sked_i_run *run, const char *phase)
{
    const double best = sked_i_run_best(run);
    if (run->options->progress != NULL)
        run->options->progress(run->options->progress_data, phase, sked_i_limit_share(&run->limit),
                               sked_i_run_count(run) > 0 ? best : NAN, run->driver->bound);
}

/* Where a new row belongs: techniques stand behind their method's own row. */
static int64_t place_of_row(const sked_i_driver *d, const char *method, const char *technique)
{
    int64_t first = d->n_rows, end = d->n_rows;
    for (int64_t k = d->n_rows - 1; k >= 0; k--)
        if (strcmp(d->row[k].method, method) == 0) {
            end = first == d->n_rows ? k + 1 : end;
            first = k;
        }
    return technique[0] != 0 ? end : first;
}

static sked_statistic *row_of(sked_i_driver *d, const char *method, const char *technique)
{
    for (int64_t k = 0; k < d->n_rows; k++)
        if (strcmp(d->row[k].method, method) == 0 && strcmp(d->row[k].technique, technique) == 0)
            return &d->row[k];
    if (!SKED_GROW(d->row, d->row_cap, d->n_rows + 1))
        return NULL; /* statistics are not worth failing a run for */
    sked_statistic *row = d->row + place_of_row(d, method, technique);
    memmove(row + 1, row, (size_t)(d->row + d->n_rows - row) * sizeof *row);
    *row = (sked_statistic){.method = method, .technique = technique};
    d->n_rows++;
    return row;
}

void sked_i_driver_tally(sked_i_run *run, const sked_statistic *add)
{
    sked_statistic *row = row_of(run->driver, add->method, add->technique);
    if (row == NULL)
        return;
    row->calls += add->calls;
    row->seconds += add->seconds;
    row->evaluations += add->evaluations;
    row->offers += add->offers;
    row->improvements += add->improvements;
    row->gain += add->gain;
}

void sked_i_run_tally(sked_i_run *run, const char *name, int64_t calls, double seconds, int64_t evaluations,
                      double gain)
{
    sked_i_driver_tally(run, &(sked_statistic){.method = run->driver->current,
                                               .technique = name,
                                               .calls = calls,
                                               .seconds = seconds,
                                               .evaluations = evaluations,
                                               .gain = gain});
}

/* ------------------------------------------------------------------ running methods */

sked_status sked_i_driver_run(sked_i_run *run, const sked_i_method *m, const char *const *settings,
                              int n_settings, sked_error *err)
{
    sked_i_driver *d = run->driver;
    double values[SKED_I_MOST_OPTIONS];
    assert(m->info.n_options <= SKED_I_MOST_OPTIONS);
    sked_status st = sked_i_options_parse(m->info.name, m->info.options, m->info.n_options, settings,
                                          n_settings, values, err);
    if (st != SKED_OK)
        return st;
    const char *outer = d->current;
    sked_i_arena own = {0}, *const around = run->own;
    const int64_t evaluations = d->evaluations;
    const double begin = sked_clock();
    SKED_LOG(1, "driver", "%s starts, %.3g s left, incumbent %g, bound %g", m->info.name,
             run->limit.deadline - begin, sked_i_run_best(run), d->bound);
    d->current = m->info.name;
    run->method = m;
    run->setting = values;
    run->settings = settings;
    run->own = &own;
    const bool locked = sked_i_costs_lock(true);
    st = m->run(run, err);
    sked_i_costs_lock(locked);
    sked_i_arena_free(&own);
    run->own = around;
    d->current = outer;
    SKED_LOG(1, "driver", "%s ends with status %d after %.3g s, incumbent %g, bound %g", m->info.name,
             (int)st, sked_clock() - begin, sked_i_run_best(run), d->bound);
    sked_i_driver_tally(run, &(sked_statistic){.method = m->info.name,
                                               .technique = "",
                                               .calls = 1,
                                               .seconds = sked_clock() - begin,
                                               .evaluations = d->evaluations - evaluations});
    return st;
}

sked_status sked_i_run_member(sked_i_run *run, const sked_i_member *m, sked_error *err)
{
    const sked_i_method *method = sked_i_method_find(m->method);
    if (method == NULL)
        return sked_i_method_unknown(m->method, err);
    /* one schedule more is welcome, and a start has been offered already: only the problem itself must fit */
    const sked_run_options plain = {0};
    sked_status st = sked_i_method_check(method, run->problem, &plain, err);
    if (st != SKED_OK)
        return st;
    sked_run_options inner = *run->options;
    sked_i_run member = *run;
    const double now = sked_clock();
    const double until = fmin(run->limit.deadline, now + m->seconds);
    member.limit.deadline = m->grace > 0 ? fmax(until, now + m->grace) : until;
    inner.iterations = m->iterations > 0 ? m->iterations : inner.iterations;
    inner.start = m->start != NULL ? m->start : inner.start;
    member.options = &inner;
    return sked_i_driver_run(&member, method, &m->setting, m->setting != NULL, err);
}

/* ------------------------------------------------------------------ state between turns */

static sked_i_kept_state *state_of(const sked_i_driver *d, const char *method)
{
    for (int64_t k = 0; k < d->n_states; k++)
        if (strcmp(d->state[k].method, method) == 0)
            return &d->state[k];
    return NULL;
}

void *sked_i_run_state(const sked_i_run *run)
{
    const sked_i_kept_state *s = state_of(run->driver, run->driver->current);
    return s != NULL ? s->state : NULL;
}

sked_status sked_i_run_keep(sked_i_run *run, void *state, void (*destroy)(void *state), sked_error *err)
{
    sked_i_driver *d = run->driver;
    sked_i_kept_state *s = state_of(d, d->current);
    assert(state == NULL || destroy != NULL);
    if (s == NULL) {
        if (!SKED_GROW(d->state, d->state_cap, d->n_states + 1))
            return sked_i_no_memory(err);
        s = &d->state[d->n_states++];
    }
    *s = (sked_i_kept_state){d->current, state, destroy};
    return SKED_OK;
}
