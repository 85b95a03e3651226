/* Schedules to measure, and answers. */
#include "robust/ranks.h"

#include "base/memory.h"
#include "dist/dist.h"

#include <string.h>

/* ------------------------------------------------------------------ orders */

/* Followed by starts and devices. An order of no bytes: there are no more. */
typedef struct order {
    int64_t number;
    int32_t ops, devices;
} order;

static int64_t order_size(int32_t ops)
{
    return (int64_t)sizeof(order) + ops * (int64_t)(sizeof(double) + sizeof(int32_t));
}

static sked_status send_order(int to, int64_t number, const sked_schedule *s, sked_error *err)
{
    const order o = {number, s->ops, s->devices};
    const size_t starts = (size_t)s->ops * sizeof *s->start;
    char *message = sked_i_alloc(order_size(s->ops), 1);
    if (message == NULL)
        return sked_i_no_memory(err);
    memcpy(message, &o, sizeof o);
    memcpy(message + sizeof o, s->start, starts);
    memcpy(message + sizeof o + starts, s->device, (size_t)s->ops * sizeof *s->device);
    const sked_status st = sked_i_dist_send(to, SKED_I_MAIL_ORDER, message, order_size(s->ops), err);
    free(message);
    return st;
}

/* The schedule of an order; NULL with OK: there are no more. */
static sked_status take_order(int64_t *number, sked_schedule **out, sked_error *err)
{
    char *message = NULL;
    int64_t size = 0;
    order o = {0};
    void *data = NULL;
    *out = NULL;
    sked_status st = sked_i_dist_receive(0, SKED_I_MAIL_ORDER, true, &data, &size, err);
    message = data;
    if (st == SKED_OK && size >= (int64_t)sizeof o)
        memcpy(&o, message, sizeof o);
    if (st == SKED_OK && size > 0 && (o.ops < 0 || size != order_size(o.ops)))
        st = sked_i_fail(err, SKED_ERR_BUG, "an order of %lld bytes", (long long)size);
    if (st == SKED_OK && size > 0)
        st = sked_schedule_create(o.ops, o.devices, out, err);
    if (st == SKED_OK && *out != NULL) {
        const size_t starts = (size_t)o.ops * sizeof *(*out)->start;
        *number = o.number;
        memcpy((*out)->start, message + sizeof o, starts);
        memcpy((*out)->device, message + sizeof o + starts, (size_t)o.ops * sizeof *(*out)->device);
    }
    free(message);
    return st;
}

/* ------------------------------------------------------------------ answers */

/* Followed by starts, finishes and devices where the measurement has a trace. */
typedef struct answer {
    sked_error why;
    double time, deviation;
    int32_t runs, ops; /* ops 0: no trace */
} answer;

static int64_t answer_size(int32_t ops)
{
    return (int64_t)sizeof(answer) + ops * (int64_t)(2 * sizeof(double) + sizeof(int32_t));
}

static sked_status send_answer(const sked_i_order *o, sked_error *err)
{
    const sked_measurement *m = &o->said;
    const int32_t ops = m->start != NULL ? o->schedule->ops : 0;
    const size_t column = (size_t)ops * sizeof *m->start;
    answer a = {.why = o->why, .time = m->time, .deviation = m->deviation, .runs = m->runs, .ops = ops};
    a.why.status = o->status;
    char *message = sked_i_alloc(answer_size(ops), 1);
    if (message == NULL)
        return sked_i_no_memory(err);
    memcpy(message, &a, sizeof a);
    if (ops > 0) {
        memcpy(message + sizeof a, m->start, column);
        memcpy(message + sizeof a + column, m->finish, column);
        memcpy(message + sizeof a + 2 * column, m->device, (size_t)ops * sizeof *m->device);
    }
    const sked_status st = sked_i_dist_send(0, SKED_I_MAIL_ANSWER, message, answer_size(ops), err);
    free(message);
    return st;
}

static sked_status copy_trace(const char *rows, int32_t ops, sked_measurement *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t column = (size_t)ops * sizeof *m->start;
    SKED_NEW(m->start, ops);
    SKED_NEW(m->finish, ops);
    SKED_NEW(m->device, ops);
    memcpy(m->start, rows, column);
    memcpy(m->finish, rows + column, column);
    memcpy(m->device, rows + 2 * column, (size_t)ops * sizeof *m->device);
cleanup:
    return st;
}

static sked_status take_answer(int from, sked_i_order *o, sked_error *err)
{
    void *message = NULL;
    int64_t size = 0;
    answer a = {0};
    sked_status st = sked_i_dist_receive(from, SKED_I_MAIL_ANSWER, true, &message, &size, err);
    if (st == SKED_OK && size >= (int64_t)sizeof a)
        memcpy(&a, message, sizeof a);
    if (st == SKED_OK && (size != answer_size(a.ops) || (a.ops != 0 && a.ops != o->schedule->ops)))
        st = sked_i_fail(err, SKED_ERR_BUG, "rank %d sent an answer of %lld bytes", from, (long long)size);
    if (st == SKED_OK && a.ops > 0)
        st = copy_trace((const char *)message + sizeof a, a.ops, &o->said, err);
    if (st == SKED_OK) {
        o->said.time = a.time;
        o->said.deviation = a.deviation;
        o->said.runs = a.runs;
        o->status = a.why.status;
        o->why = a.why;
    }
    free(message);
    return st;
}

/* ------------------------------------------------------------------ both sides */

static void measure_here(const sked_i_robust_run *run, int64_t number, sked_i_order *o)
{
    sked_i_target_seek(run->target, number);
    o->status = sked_target_measure(run->target, o->schedule, &o->said, &o->why);
}

sked_status sked_i_robust_measure(const sked_i_robust_run *run, int64_t number, sked_i_order *orders,
                                  int count, sked_error *err)
{
    sked_status st = SKED_OK;
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
    sked_status st = SKED_OK;
    for (;;) {
        int64_t number = 0;
        sked_schedule *s = NULL;
        st = take_order(&number, &s, err);
        if (st != SKED_OK || s == NULL)
            return st;
        sked_i_order o = {.schedule = s, .said = {.size = sizeof o.said}};
        measure_here(run, number, &o);
        st = send_answer(&o, err);
        sked_measurement_clear(&o.said);
        sked_schedule_destroy(s);
        if (st != SKED_OK)
            return st;
    }
}

void sked_i_robust_dismiss(const sked_i_robust_run *run)
{
    for (int k = 1; k < run->ranks; k++)
        if (sked_i_dist_send(k, SKED_I_MAIL_ORDER, "", 0, NULL) != SKED_OK)
            sked_i_dist_abort(SKED_ERR_MEMORY);
}
