/* Schedules to measure, and answers. */
#include "robust/ranks.h"

#include "base/memory.h"
#include "dist/dist.h"

#include <assert.h>

/* An order is the number of a measurement and its schedule; this alone: there are no more. */
static const int64_t no_more = -1;

static sked_status send_order(int to, int64_t number, const sked_schedule *s, sked_error *err)
{
    const sked_status st = sked_i_dist_send(to, SKED_I_MAIL_ORDER, &number, sizeof number, err);
    return st == SKED_OK ? sked_i_dist_send_schedule(to, SKED_I_MAIL_ORDER, s, err) : st;
}

/* Before starts, finishes and devices of a trace, where the measurement has one. */
typedef struct answer {
    sked_error why;
    double time, deviation;
    int32_t runs;
    bool traced;
} answer;

static sked_status send_answer(const sked_i_order *o, sked_error *err)
{
    const sked_measurement *m = &o->said;
    const int64_t ops = o->schedule->ops, column = ops * (int64_t)sizeof *m->start;
    answer a = {o->why, m->time, m->deviation, m->runs, m->start != NULL};
    a.why.status = o->status;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_dist_send(0, SKED_I_MAIL_ANSWER, &a, sizeof a, err));
    if (a.traced) {
        SKED_TRY(sked_i_dist_send(0, SKED_I_MAIL_ANSWER, m->start, column, err));
        SKED_TRY(sked_i_dist_send(0, SKED_I_MAIL_ANSWER, m->finish, column, err));
        SKED_TRY(sked_i_dist_send(0, SKED_I_MAIL_ANSWER, m->device, ops * (int64_t)sizeof *m->device, err));
    }
cleanup:
    return st;
}

static sked_status take_answer(int from, sked_i_order *o, sked_error *err)
{
    answer a;
    sked_measurement *m = &o->said;
    const int64_t ops = o->schedule->ops, column = ops * (int64_t)sizeof *m->start;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_dist_read(from, SKED_I_MAIL_ANSWER, &a, sizeof a, err));
    if (a.traced) {
        SKED_NEW(m->start, ops);
        SKED_NEW(m->finish, ops);
        SKED_NEW(m->device, ops);
        SKED_TRY(sked_i_dist_read(from, SKED_I_MAIL_ANSWER, m->start, column, err));
        SKED_TRY(sked_i_dist_read(from, SKED_I_MAIL_ANSWER, m->finish, column, err));
        SKED_TRY(
            sked_i_dist_read(from, SKED_I_MAIL_ANSWER, m->device, ops * (int64_t)sizeof *m->device, err));
    }
    m->time = a.time;
    m->deviation = a.deviation;
    m->runs = a.runs;
    o->status = a.why.status;
    o->why = a.why;
cleanup:
    return st;
}

static void measure_here(const sked_i_robust_run *run, int64_t number, sked_i_order *o)
{
    sked_i_target_seek(run->target, number);
    o->status = sked_target_measure(run->target, o->schedule, &o->said, &o->why);
}

sked_status sked_i_robust_measure(const sked_i_robust_run *run, int64_t number, sked_i_order *orders,
                                  int count, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(number >= 0 && count >= 1 && count <= run->ranks);
    for (int k = 1; k < count; k++)
        SKED_TRY(send_order(k, number + k, orders[k].schedule, err));
    measure_here(run, number, &orders[0]);
    for (int k = 1; k < count; k++)
        SKED_TRY(take_answer(k, &orders[k], err));
cleanup:
    return st;
}

sked_status sked_i_robust_serve(const sked_i_robust_run *run, sked_error *err)
{
    int64_t number;
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(run->problem->graph->n_ops, run->problem->devices, &s, err);
    while (st == SKED_OK) {
        SKED_TRY(sked_i_dist_read(0, SKED_I_MAIL_ORDER, &number, sizeof number, err));
        if (number == no_more)
            break;
        SKED_TRY(sked_i_dist_read_schedule(0, SKED_I_MAIL_ORDER, s, err));
        sked_i_order o = {.schedule = s, .said = {.size = sizeof o.said}};
        measure_here(run, number, &o);
        st = send_answer(&o, err);
        sked_measurement_clear(&o.said);
    }
cleanup:
    sked_schedule_destroy(s);
    return st;
}

void sked_i_robust_dismiss(const sked_i_robust_run *run)
{
    for (int k = 1; k < run->ranks; k++)
        if (sked_i_dist_send(k, SKED_I_MAIL_ORDER, &no_more, sizeof no_more, NULL) != SKED_OK)
            sked_i_dist_abort(SKED_ERR_MEMORY);
}
