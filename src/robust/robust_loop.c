/*
 * The loop. In each round members make schedules for guesses of the machine, the schedule that promises most
 * is measured, and the guesses learn from it.
 */
#include "robust/robust_loop.h"

#include "base/explog.h"
#include "base/file.h"
#include "base/memory.h"
#include "robust/prior.h"
#include "robust/ranks.h"
#include "robust/refine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_GUESSES = 8, GUESSES = 4, KEPT = 160, CONTENDERS = 3, LEAST_BUDGET_TO_REPEAT = 8 };
enum { MOVES_PER_ITERATION = 20, ROUNDS_TO_SETTLE = 4 };
enum { MOST_AT_ONCE = 64 }; /* measurements of a round, whatever the number of ranks */
/* Of the time of a round: for schedules improved over all guesses. */
static const double refine_share = 0.4;
/* Share of the time left that one round may take, at least an even share of the rounds. */
static const double round_share = 0.12;
/* The loop has settled when no schedule promises more than this share of the incumbent's time. */
static const double settled_promise = 3e-4;
/* Seconds that the guesses may learn when the time is over. */
static const double short_update = 0.1;
/* A time is absurd if it is this many deviations and this factor away from what all guesses say. */
static const double absurd_deviations = 6, absurd_factor = 3;

static double seconds_left(const sked_i_rounds *l)
{
    return l->run->opt->time_limit - (sked_clock() - l->begin - l->measuring);
}

static double incumbent_time(const sked_i_rounds *l)
{
    const sked_i_candidate *best = sked_i_candidates_best(&l->candidates);
    return best == NULL ? INFINITY : best->estimate;
}

static void tell_progress(const sked_i_rounds *l, const char *phase)
{
    const sked_robust_options *opt = l->run->opt;
    if (opt->progress != NULL)
        opt->progress(opt->progress_data, phase, (double)l->trials / opt->measurements,
                      l->trials > 0 ? incumbent_time(l) : NAN, NAN);
}

/* ------------------------------------------------------------------ one measurement */

/* Writes the measurement down. If that fails, recording ends with a warning and the run continues.
 */
static void write_down(sked_i_rounds *l, const sked_i_candidate *e, const sked_measurement *said, double time)
{
    sked_i_buffer text = {0};
    sked_error why = {0};
    if (l->record.file < 0)
        return;
    sked_i_record_write_line(e->schedule, e->timing.order, e->maker, said, isnan(time) ? l->failure : NULL,
                             &text);
    if (text.failed || sked_i_append_add(&l->record, text.data, text.size, &why) != SKED_OK) {
        sked_i_robust_warn(l->run->opt, "measurements are no longer written: %s",
                           text.failed ? "out of memory" : why.message);
        sked_i_append_close(&l->record);
    }
    sked_i_buffer_free(&text);
}

/* The trial and what it says of its schedule. time NAN: none, and l->failure says why. */
static sked_status note(sked_i_rounds *l, sked_i_candidate *e, const sked_measurement *said, double time,
                        bool resumed, sked_error *err)
{
    double mean, deviation;
    if (!SKED_GROW(l->trial, l->trials_cap, l->trials + 1))
        return sked_i_no_memory(err);
    sked_i_candidates_expect(e, &l->belief, &mean, &deviation);
    sked_i_trial *t = &l->trial[l->trials++];
    *t = (sked_i_trial){.entry = e,
                        .time = time,
                        .deviation = said->deviation,
                        .expected = sked_i_exp(fmin(mean, 700)),
                        .again = e->measured > 0,
                        .resumed = resumed};
    e->measured++;
    l->failures += isnan(time);
    if (!isnan(time)) {
        const double before = sked_i_candidates_time(e);
        if (said->deviation > 0)
            l->noisy = 1;
        else if (e->times > 0 && l->noisy != 1)
            l->noisy = fabs(time - before) > 1e-9 * before;
        e->times++;
        e->sum += time;
    }
    sked_i_rounds_weigh(l);
    const sked_i_candidate *best = sked_i_candidates_best(&l->candidates);
    const double least = best == NULL ? NAN : sked_i_candidates_time(best);
    t->best = sked_i_robust_speedup(l->run, least);
    if (!resumed)
        write_down(l, e, said, time);
    return SKED_OK;
}

/* A trace says what the time says, and more: where the graph knows its sizes the time adds nothing. */
static sked_status learn(sked_i_rounds *l, const sked_i_candidate *e, const sked_measurement *said,
                         sked_error *err)
{
    assert(e->times > 0);
    const double relative = said->deviation / said->time;
    const double variance = said->runs > 1 ? relative * relative / said->runs : 0;
    sked_status st = SKED_OK;
    if (!(said->time > 0))
        return SKED_OK;
    if (said->start != NULL && said->finish != NULL)
        st = sked_i_traces_add(&l->belief.trace, &l->model, &e->timing, said, err);
    if (st == SKED_OK && (said->start == NULL || l->model.sized))
        st = sked_i_belief_add(&l->belief, &e->timing, said->time, variance, err);
    return st;
}

/* Is the time one that no guess explains? */
static bool absurd(const sked_i_rounds *l, const sked_i_candidate *e, double time)
{
    double mean, deviation;
    if (l->belief.n_data + l->belief.trace.runs < 2 || !(time > 0))
        return false;
    sked_i_candidates_expect(e, &l->belief, &mean, &deviation);
    const double far = fabs(sked_i_log(time) - mean);
    return far > absurd_deviations * deviation && far > sked_i_log(absurd_factor);
}

/*
 * The target is asked for schedules, each on a rank of its own. Those left out become NAN in judge_answer,
 * with a warning and l->failure.
 */
static sked_status ask(sked_i_rounds *l, sked_i_order *orders, int count, sked_error *err)
{
    const double begin = sked_clock();
    tell_progress(l, "measuring");
    sked_status st = sked_i_robust_measure(l->run, l->asked, orders, count, err);
    l->measuring += sked_clock() - begin;
    l->asked += count;
    for (int k = 0; k < count && st == SKED_OK; k++) {
        st = sked_i_robust_left_out(orders[k].status) ? SKED_OK : orders[k].status;
        if (st != SKED_OK && st != SKED_ERR_STOPPED)
            return sked_i_fail(err, st, "%s", orders[k].why.message);
    }
    return st;
}

/* The time an order was answered with. NAN: none, and l->failure says why. */
static double judge_answer(sked_i_rounds *l, const sked_i_order *o)
{
    if (o->status == SKED_OK)
        return o->said.time;
    snprintf(l->failure, sizeof l->failure, "%s", o->why.message);
    sked_i_robust_warn(l->run->opt, "measurement %lld failed: %s", (long long)l->trials + 1, l->failure);
    return NAN;
}

static sked_i_order order_of(const sked_i_candidate *e)
{
    return (sked_i_order){.schedule = e->schedule, .said = {.size = sizeof(sked_measurement)}};
}

static bool alike(double a, double b)
{
    return fabs(a - b) <= 0.1 * fmax(a, b);
}

/*
 * A time that no guess explains is measured again. If the two agree, the machine is like that; if not, the
 * first was a mishap and counts as a failure.
 */
static sked_status doubt(sked_i_rounds *l, sked_i_candidate *e, const sked_measurement *first,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_order again = order_of(e);
    SKED_TRY(ask(l, &again, 1, err));
    const double time = judge_answer(l, &again);
    const bool agreed = !isnan(time) && alike(time, first->time);
    if (!agreed) {
        snprintf(l->failure, sizeof l->failure, "%g is far from all guesses; measured again it was %g",
                 first->time, time);
        sked_i_robust_warn(l->run->opt, "measurement %lld is left out: %s", (long long)l->trials + 1,
                           l->failure);
    }
    SKED_TRY(note(l, e, first, agreed ? first->time : NAN, false, err));
    SKED_TRY(note(l, e, &again.said, time, false, err));
    if (!isnan(time))
        SKED_TRY(learn(l, e, &again.said, err));
cleanup:
    sked_measurement_clear(&again.said);
    return st;
}

static sked_status update(sked_i_rounds *l, sked_error *err)
{
    const double begin = sked_clock();
    sked_status st = sked_i_belief_update(&l->belief, &l->limit, err);
    if (st == SKED_OK)
        st = sked_i_candidates_predict(&l->candidates, &l->belief, &l->limit, err);
    l->stale = l->stale && st != SKED_OK;
    if (st == SKED_OK)
        sked_i_rounds_weigh(l);
    l->learning = sked_clock() - begin;
    return st;
}

/* What one of a round's measurements says; `behind` more of them follow. */
static sked_status take_answer(sked_i_rounds *l, sked_i_candidate *e, const sked_i_order *o, int behind,
                               sked_error *err)
{
    const double time = judge_answer(l, o);
    if (absurd(l, e, time) && l->trials + 2 + behind <= l->run->opt->measurements)
        return doubt(l, e, &o->said, err);
    const sked_status st = note(l, e, &o->said, time, false, err);
    return st == SKED_OK && !isnan(time) ? learn(l, e, &o->said, err) : st;
}

/* Measures the schedules of a round at once and takes the answers in their order. */
static sked_status measure(sked_i_rounds *l, sked_i_candidate *const *chosen, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_order orders[MOST_AT_ONCE];
    assert(count >= 1 && count <= MOST_AT_ONCE && count <= l->run->ranks);
    for (int k = 0; k < count; k++)
        orders[k] = order_of(chosen[k]);
    SKED_TRY(ask(l, orders, count, err));
    for (int k = 0; k < count; k++)
        SKED_TRY(take_answer(l, chosen[k], &orders[k], count - 1 - k, err));
cleanup:
    for (int k = 0; k < count; k++)
        sked_measurement_clear(&orders[k].said);
    return st;
}

/* ------------------------------------------------------------------ contenders measured again */

/* Measures a contender once more. *done: there is none left, or the target repeats itself exactly. */
static sked_status repeat(sked_i_rounds *l, bool *done, sked_error *err)
{
    sked_i_candidate *e = sked_i_rounds_contender(l);
    sked_status st = SKED_OK;
    *done = e == NULL;
    if (*done)
        return SKED_OK;
    sked_i_order again = order_of(e);
    SKED_TRY(ask(l, &again, 1, err));
    const double time = judge_answer(l, &again);
    SKED_TRY(note(l, e, &again.said, time, false, err));
    if (!isnan(time) && l->noisy == 1)
        SKED_TRY(learn(l, e, &again.said, err));
cleanup:
    sked_measurement_clear(&again.said);
    return st;
}

/* Measurements kept for the contenders; a target known to repeat itself needs none. */
static int32_t reserve(const sked_i_rounds *l)
{
    const int32_t budget = l->run->opt->measurements;
    if (l->noisy == 0 || budget < 4 || (l->noisy < 0 && budget < LEAST_BUDGET_TO_REPEAT))
        return 0;
    return budget < 20 ? 1 : l->noisy == 1 && budget / 5 > CONTENDERS ? budget / 5 : CONTENDERS;
}

/* ------------------------------------------------------------------ rounds */

/* Time for members in this round: what is left once every round to come has learnt from its measurement. */
static double round_seconds(const sked_i_rounds *l)
{
    const double rounds = fmax(1, (double)(l->run->opt->measurements - l->trials));
    const double left = seconds_left(l) - 1.5 * rounds * l->learning;
    return isinf(left) ? INFINITY : fmax(0.005, left * fmax(round_share, 1 / rounds));
}

/* Members make schedules for guesses; then the best candidates are improved for all guesses together. */
static sked_status make(sked_i_rounds *l, double seconds, sked_error *err)
{
    const int guesses = l->trials == 0 ? FIRST_GUESSES : GUESSES;
    const sked_i_refine_options refine = {.seconds = seconds * refine_share,
                                          .moves = l->run->opt->iterations * MOVES_PER_ITERATION,
                                          .seed = sked_i_rng_next(&l->rng)};
    sked_status st = SKED_OK;
    tell_progress(l, "scheduling");
    SKED_TRY(sked_i_maker_turn(&l->maker, &l->candidates, &l->belief, guesses, seconds * (1 - refine_share),
                               &l->rng, err));
    SKED_TRY(sked_i_candidates_predict(&l->candidates, &l->belief, &l->limit, err));
    if (sked_i_limit_stopped(&l->limit))
        return SKED_OK;
    SKED_TRY(sked_i_refine(&l->candidates, &l->belief, incumbent_time(l), &l->limit, &refine, err));
    SKED_TRY(sked_i_candidates_predict(&l->candidates, &l->belief, &l->limit, err));
    if (!sked_i_limit_stopped(&l->limit))
        sked_i_candidates_trim(&l->candidates, &l->belief, incumbent_time(l), KEPT);
cleanup:
    return st;
}

/* Makes schedules until one promises something, in a few rounds at most. NULL: none does. */
static sked_status find_promising(sked_i_rounds *l, sked_i_candidate **out, sked_error *err)
{
    *out = NULL;
    for (int k = 0; k < ROUNDS_TO_SETTLE && *out == NULL && !(k > 0 && sked_i_limit_stopped(&l->limit));
         k++) {
        double promise;
        const double best = incumbent_time(l);
        const sked_status st = make(l, round_seconds(l) * (k + 1), err);
        if (st != SKED_OK || sked_i_limit_stopped(&l->limit)) /* then predictions are not complete */
            return st;
        sked_i_candidate *chosen =
            sked_i_candidates_choose(&l->candidates, &l->belief, best, NULL, 0, &promise);
        if (isinf(best) || promise > settled_promise * best)
            *out = chosen;
        if (*out != NULL &&
            l->trials / l->run->ranks % 2 == 1) /* every other time: what is good under all guesses */
            *out = sked_i_candidates_choose(&l->candidates, &l->belief, INFINITY, NULL, 0, &promise);
    }
    return SKED_OK;
}

/*
 * What is measured beside chosen[0], one for each further rank, as long as it promises something beside those
 * before it and the budget lasts. Returns how many there are in all.
 */
static int choose_more(const sked_i_rounds *l, sked_i_candidate **chosen)
{
    const double best = incumbent_time(l);
    const int64_t left = l->run->opt->measurements - reserve(l) - l->trials;
    const int64_t ranks = l->run->ranks < MOST_AT_ONCE ? l->run->ranks : MOST_AT_ONCE;
    int count = 1;
    while (count < ranks && count < left) {
        double promise;
        chosen[count] = sked_i_candidates_choose(&l->candidates, &l->belief, best, chosen, count, &promise);
        if (chosen[count] == NULL || !(promise > 0))
            break;
        count++;
    }
    return count;
}

/* The end of the loop, or not yet. */
static bool ended(const sked_i_rounds *l, sked_robust_end *end)
{
    if (sked_i_limit_stopped(&l->limit))
        return *end = SKED_ROBUST_STOPPED, true;
    if (l->trials >= l->run->opt->measurements)
        return *end = SKED_ROBUST_BUDGET, true;
    if (l->trials > 0 && !(seconds_left(l) > 0))
        return *end = SKED_ROBUST_TIME, true;
    return false;
}

/*
 * The time for scheduling is over and measurements are left, which cost none of it: they go to the schedules
 * that promise most as far as was learnt. The guesses learn from all of them at once, where that is soon
 * done.
 */
static sked_status spend_rest(sked_i_rounds *l, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t before = l->trials;
    while (st == SKED_OK && l->trials < l->run->opt->measurements - reserve(l) &&
           !sked_i_limit_stopped(&l->limit)) {
        sked_i_candidate *chosen[MOST_AT_ONCE];
        double promise;
        const double best = incumbent_time(l);
        chosen[0] = sked_i_candidates_choose(&l->candidates, &l->belief, best, NULL, 0, &promise);
        if (chosen[0] == NULL || (!isinf(best) && !(promise > settled_promise * best)))
            break;
        st = measure(l, chosen, choose_more(l, chosen), err);
    }
    l->stale = l->trials > before;
    if (st == SKED_OK && l->stale && l->learning < short_update && !sked_i_limit_stopped(&l->limit))
        st = update(l, err);
    return st;
}

static sked_status run_rounds(sked_i_rounds *l, sked_robust_end *end, sked_error *err)
{
    sked_status st = SKED_OK;
    while (!ended(l, end)) {
        sked_i_candidate *chosen[MOST_AT_ONCE];
        bool done = true;
        if (l->trials > 0 && l->trials >= l->run->opt->measurements - reserve(l))
            SKED_TRY(repeat(l, &done, err));
        if (!done)
            continue;
        SKED_TRY(find_promising(l, &chosen[0], err));
        if (chosen[0] != NULL)
            SKED_TRY(measure(l, chosen, choose_more(l, chosen), err));
        else if (!sked_i_limit_stopped(&l->limit)) /* nothing promises more: unless the incumbent was lucky */
            SKED_TRY(repeat(l, &done, err));
        if (chosen[0] == NULL && done) {
            *end = sked_i_limit_stopped(&l->limit) ? SKED_ROBUST_STOPPED : SKED_ROBUST_SETTLED;
            break;
        }
        SKED_TRY(update(l, err));
    }
    if (*end == SKED_ROBUST_TIME)
        SKED_TRY(spend_rest(l, err));
cleanup:
    if (st == SKED_ERR_STOPPED) { /* while measuring: earlier measurements are kept */
        *end = SKED_ROBUST_STOPPED;
        st = SKED_OK;
    }
    return st;
}

/* What is left of the budget is spent on the contenders, so that luck does not win. */
static sked_status repeat_contenders(sked_i_rounds *l, sked_error *err)
{
    sked_status st = SKED_OK;
    bool done = false;
    while (st == SKED_OK && !done && l->trials < l->run->opt->measurements &&
           !sked_i_limit_stopped(&l->limit))
        st = repeat(l, &done, err);
    return st == SKED_ERR_STOPPED ? SKED_OK : st;
}

/* ------------------------------------------------------------------ the call */

static sked_status check(const sked_i_robust_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    if (isinf(run->opt->time_limit) && run->opt->iterations == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "the loop needs a time limit or a number of iterations");
    if (p->objective != SKED_OBJECTIVE_MAKESPAN || p->ii != 0 || p->fix_start != NULL)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "the loop learns from makespans: no other objective, no interval, no fixed starts");
    return SKED_OK;
}

/* A measurement of the earlier run. */
static sked_status take_line(void *data, sked_i_record_line *line, sked_error *err)
{
    sked_i_rounds *l = data;
    sked_i_candidate *e;
    sked_status st =
        sked_i_candidates_offer(&l->candidates, line->schedule, sked_i_maker_names[line->method], &e, err);
    if (st != SKED_OK)
        return st;
    if (e == NULL)
        return sked_i_fail(err, SKED_ERR_FORMAT, "the problem does not allow this schedule");
    st = note(l, e, &line->said, line->failed ? NAN : line->said.time, true, err);
    if (st == SKED_OK && !line->failed && (e->times == 1 || l->noisy == 1))
        st = learn(l, e, &line->said, err);
    return st;
}

/* Goes on from opt->resume. *text, *good: the file and how much of it is whole. */
static sked_status resume(sked_i_rounds *l, const sked_i_record_head *head, char **text, int64_t *good,
                          sked_error *err)
{
    const char *path = l->run->opt->resume;
    int64_t size;
    uint64_t seed;
    sked_status st = sked_i_file_read(path, (int64_t)1 << 30, text, &size, err);
    if (st == SKED_OK)
        st = sked_i_record_parse(path, *text, (size_t)size, head, sked_i_maker_names, SKED_I_LOOP_COUNT,
                                 take_line, l, good, &seed, err);
    if (st != SKED_OK)
        return st;
    if (*good < size)
        sked_i_robust_warn(l->run->opt, "%s: the last line was cut off and is left out", path);
    if (seed != head->seed)
        sked_i_robust_warn(l->run->opt,
                           "%s: its seed was %llu, not %llu; a simulated target may be another one", path,
                           (unsigned long long)seed, (unsigned long long)head->seed);
    return SKED_OK;
}

/* The record starts with what was resumed, whole lines only; where it is that file itself, it goes on. */
static sked_status open_record(sked_i_rounds *l, const sked_i_record_head *head, const char *text,
                               int64_t good, sked_error *err)
{
    sked_i_buffer first = {0};
    if (l->run->opt->log == NULL)
        return SKED_OK;
    if (text != NULL)
        sked_i_buffer_add(&first, text, (size_t)good);
    else
        sked_i_record_write_head(head, &first);
    const sked_status st =
        first.failed ? sked_i_no_memory(err)
                     : sked_i_append_open(&l->record, l->run->opt->log, first.data, first.size, err);
    sked_i_buffer_free(&first);
    return st;
}

static sked_status open_loop(sked_i_rounds *l, const char *target, sked_error *err)
{
    const sked_robust_options *opt = l->run->opt;
    const sked_i_record_head head = {l->run->problem, target, opt->seed};
    sked_status st = SKED_OK;
    char *text = NULL;
    int64_t good = 0;
    SKED_TRY(check(l->run, err));
    SKED_TRY(sked_i_model_open(&l->model, l->run->problem, err));
    if (opt->prior != NULL)
        SKED_TRY(sked_i_prior_read(opt->prior, &l->model, err));
    SKED_TRY(sked_i_belief_open(&l->belief, &l->model, opt->seed, opt->threads, err));
    SKED_TRY(sked_i_candidates_open(&l->candidates, &l->model, l->belief.particles, err));
    l->maker = (sked_i_maker){.run = l->run, .model = &l->model};
    sked_i_rng_seed(&l->rng, opt->seed, 0x6c6f6f70);
    if (opt->resume != NULL)
        SKED_TRY(resume(l, &head, &text, &good, err));
    SKED_TRY(open_record(l, &head, text, good, err));
    if (l->trials > 0)
        SKED_TRY(update(l, err));
cleanup:
    free(text);
    return st;
}

static void close_loop(sked_i_rounds *l)
{
    sked_i_append_close(&l->record);
    sked_i_candidates_close(&l->candidates);
    sked_i_belief_close(&l->belief);
    sked_i_model_close(&l->model);
    free(l->trial);
}

sked_status sked_i_robust_loop(const sked_i_robust_run *run, sked_robust_result *r, sked_error *err)
{
    sked_i_rounds l = {.run = run,
                       .begin = sked_clock(),
                       .limit = {.stop = run->opt->stop},
                       .noisy = -1,
                       .record = {.file = -1}};
    sked_status st = SKED_OK;
    SKED_TRY(open_loop(&l, r->target, err));
    SKED_TRY(run_rounds(&l, &r->end, err));
    SKED_TRY(repeat_contenders(&l, err));
    SKED_TRY(sked_i_rounds_tell(&l, r, err));
cleanup:
    close_loop(&l);
    return st;
}
