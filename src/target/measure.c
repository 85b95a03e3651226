/* A measurement: warm-up, runs, their median, and the trace of one of them. */
#include "base/clock.h"
#include "base/sized.h"
#include "target/target.h"

#include <assert.h>
#include <string.h>

void sked_measurement_clear(sked_measurement *m)
{
    const sked_measurement empty = {0};
    free(m->start);
    free(m->finish);
    if (SKED_KNOWS(m, device))
        free(m->device);
    SKED_GIVE(m, empty);
}

void sked_i_answer_trace_free(sked_i_trace *r)
{
    sked_i_answer_trace_drop(r);
    r->time = 0;
}

void sked_i_answer_trace_drop(sked_i_trace *r)
{
    free(r->start);
    free(r->finish);
    r->start = r->finish = NULL;
}

sked_status sked_i_answer_check_time(double time, bool timed, sked_error *why)
{
    if ((time == 0 && !timed) || (time >= SKED_I_LEAST_TIME && time < SKED_I_MOST_TIME))
        return SKED_OK;
    return sked_i_fail(why, SKED_ERR_DEVICE, "the time %g is not %sfrom %g to %g", time,
                       timed ? "" : "0, nor ", SKED_I_LEAST_TIME, SKED_I_MOST_TIME);
}

sked_status sked_i_answer_check_op(const sked_graph *g, int32_t op, double start, double finish,
                                   sked_error *why)
{
    char label[80];
    if (start >= 0 && finish >= start && finish < SKED_I_MOST_TIME)
        return SKED_OK;
    return sked_i_fail(why, SKED_ERR_DEVICE,
                       "op '%s' starts at %g and finishes at %g; 0 <= start <= finish < %g must hold",
                       sked_i_op_label(g, op, label, sizeof label), start, finish, SKED_I_MOST_TIME);
}

/* What no reader has looked at: models compute, threads count, callers' functions say what they like. */
static sked_status check_run(const sked_target *t, const sked_i_trace *r, sked_error *err)
{
    const sked_graph *g = t->problem.graph;
    sked_status st = sked_i_answer_check_time(r->time, t->work > 0, err);
    for (int32_t i = 0; r->start != NULL && i < g->n_ops && st == SKED_OK; i++)
        st = sked_i_answer_check_op(g, i, r->start[i], r->finish[i], err);
    return st;
}

/* One run of the replay; the times of ops only where they are wanted. */
static sked_status replay(sked_target *t, const sked_schedule *s, sked_i_trace *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_trace r = {0};
    const double all = sked_i_jitter_draw(t);
    assert(s->ops == t->problem.graph->n_ops);
    SKED_TRY(sked_i_replay_run(t->replay, s, t->factor, &r.time, err));
    r.time *= all;
    if (t->common[SKED_I_TARGET_TRACE] == SKED_I_TRACE_TRUE) {
        SKED_NEW(r.start, s->ops);
        SKED_NEW(r.finish, s->ops);
        for (int32_t i = 0; i < s->ops; i++) {
            r.start[i] = t->replay->start[i] * all;
            r.finish[i] = t->replay->finish[i] * all;
        }
    }
    *out = r;
    return SKED_OK;
cleanup:
    sked_i_answer_trace_free(&r);
    return st;
}

static sked_status run_once(sked_target *t, const sked_schedule *s, sked_i_trace *out, sked_error *err)
{
    const sked_i_target_part *first = &t->part[0];
    sked_status st =
        first->kind->run != NULL ? first->kind->run(t, first->setting, s, out, err) : replay(t, s, out, err);
    t->runs++;
    if (st == SKED_OK)
        st = check_run(t, out, err);
    if (st == SKED_OK && t->common[SKED_I_TARGET_TRACE] == SKED_I_TRACE_FALSE)
        sked_i_answer_trace_drop(out);
    return st;
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Median and standard deviation of the runs' times; times: room for them. */
static void summarise(const sked_i_trace *run, int32_t n, double *times, sked_measurement *m)
{
    double mean = 0, squares = 0;
    assert(n > 0);
    for (int32_t k = 0; k < n; k++) {
        times[k] = run[k].time;
        mean += times[k] / n;
    }
    for (int32_t k = 0; k < n; k++)
        squares += (times[k] - mean) * (times[k] - mean);
    qsort(times, (size_t)n, sizeof *times, by_value);
    m->time = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
    m->deviation = n > 1 && times[0] < times[n - 1] ? sqrt(squares / (n - 1)) : 0;
    m->runs = n;
}

/* The trace of the run nearest to the median, the first of equals, among those that have one. */
static sked_status take_trace(sked_i_trace *run, int32_t n, const sked_schedule *s, sked_measurement *m,
                              sked_error *err)
{
    sked_i_trace *best = NULL;
    for (int32_t k = 0; k < n; k++)
        if (run[k].start != NULL &&
            (best == NULL || fabs(run[k].time - m->time) < fabs(best->time - m->time)))
            best = &run[k];
    if (best == NULL)
        return SKED_OK;
    if (s->device == NULL)
        goto cleanup;
    m->device = sked_i_alloc(s->ops, sizeof *m->device);
    if (m->device == NULL)
        return sked_i_no_memory(err);
    memcpy(m->device, s->device, (size_t)s->ops * sizeof *m->device);
cleanup:
    m->start = best->start;
    m->finish = best->finish;
    *best = (sked_i_trace){0};
    return SKED_OK;
}

/* Warm-up, then run[0..runs-1]. A stop ends it between runs, too; a single run of a model is not worth it. */
static sked_status run_all(sked_target *t, const sked_schedule *s, sked_i_trace *run, int32_t runs,
                           sked_error *err)
{
    const int32_t warm_up = (int32_t)t->common[SKED_I_TARGET_WARM_UP];
    const sked_i_limit limit = {.stop = t->stop};
    sked_status st = SKED_OK;
    for (int32_t k = -warm_up; st == SKED_OK && k < runs; k++) {
        sked_i_trace unused = {0};
        if (k > -warm_up && sked_i_limit_stopped(&limit))
            return sked_i_fail(err, SKED_ERR_STOPPED, "the measurement was stopped");
        st = run_once(t, s, k < 0 ? &unused : &run[k], err);
        sked_i_answer_trace_free(&unused);
    }
    return st;
}

static sked_status measure(sked_target *t, const sked_schedule *s, sked_measurement *m, sked_error *err)
{
    const int32_t runs = (int32_t)t->common[SKED_I_TARGET_REPEAT];
    sked_status st = SKED_OK;
    sked_i_trace *run = NULL;
    double *times = NULL;
    SKED_NEW0(run, runs);
    SKED_NEW(times, runs);
    SKED_TRY(run_all(t, s, run, runs, err));
    summarise(run, runs, times, m);
    SKED_TRY(take_trace(run, runs, s, m, err));
cleanup:
    for (int32_t k = 0; run != NULL && k < runs; k++)
        sked_i_answer_trace_free(&run[k]);
    free(run);
    free(times);
    return st;
}

sked_status sked_target_measure(sked_target *t, const sked_schedule *s, sked_measurement *out,
                                sked_error *err)
{
    SKED_CHECK_OUTPUT(sked_measurement, out);
    sked_measurement m = {.size = sizeof m};
    sked_status st = sked_i_schedule_check(&t->problem, s, err);
    if (st == SKED_OK)
        st = measure(t, s, &m, err);
    if (st == SKED_OK && !SKED_KNOWS(out, device)) { /* it could not clear it */
        free(m.device);
        m.device = NULL;
    }
    if (st == SKED_OK)
        SKED_GIVE(out, m);
    return st;
}
