/* A function of the caller's measures. What it says is checked as strictly as what a program prints. */
#include "base/text.h"
#include "target/target.h"

#include <assert.h>

static sked_status check_op(const sked_target *t, const sked_i_trace *r, int32_t op, sked_error *err)
{
    char label[80];
    if (r->start[op] >= 0 && r->finish[op] >= r->start[op] && r->finish[op] < SKED_I_MOST_TIME)
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_DEVICE,
                       "the trace starts op '%s' at %g and finishes it at %g; 0 <= start <= finish < %g must "
                       "hold",
                       sked_i_op_label(t->problem.graph, op, label, sizeof label), r->start[op],
                       r->finish[op], SKED_I_MOST_TIME);
}

/* Left as it came, all NAN: no trace. */
static bool is_empty(const sked_i_trace *r, int32_t ops)
{
    for (int32_t i = 0; i < ops; i++)
        if (!isnan(r->start[i]) || !isnan(r->finish[i]))
            return false;
    return true;
}

static sked_status check(const sked_target *t, int32_t ops, sked_i_trace *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const bool timed = t->work > 0;
    if (!(r->time >= 0 && r->time < SKED_I_MOST_TIME && (r->time > 0 || !timed)))
        return sked_i_fail(err, SKED_ERR_DEVICE, "the time %g is not %s 0 and below %g", r->time,
                           timed ? "above" : "at least", SKED_I_MOST_TIME);
    if (is_empty(r, ops))
        sked_i_answer_trace_drop(r);
    for (int32_t i = 0; r->start != NULL && i < ops && st == SKED_OK; i++)
        st = check_op(t, r, i, err);
    return st;
}

static sked_status run(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err)
{
    (void)setting;
    sked_status st = SKED_OK;
    sked_i_trace r = {.time = NAN};
    SKED_NEW(r.start, s->ops);
    SKED_NEW(r.finish, s->ops);
    for (int32_t i = 0; i < s->ops; i++)
        r.start[i] = r.finish[i] = NAN;
    assert(t->measure != NULL);
    SKED_TRY(t->measure(t->measure_data, s, &r.time, r.start, r.finish, err));
    SKED_TRY(check(t, s->ops, &r, err));
    *out = r;
    return SKED_OK;
cleanup:
    sked_i_answer_trace_free(&r);
    return st;
}

static const sked_i_target callback = {
    .info = {.name = "callback", .summary = "a function of the program that calls the library"}, .run = run};

sked_status sked_i_target_create_callback(sked_measure_fn measure, void *data, const sked_problem *p,
                                          const volatile sig_atomic_t *stop, sked_target **out,
                                          sked_error *err)
{
    sked_status st = SKED_OK;
    sked_target *t = NULL;
    SKED_NEW0(t, 1);
    t->measure = measure;
    t->measure_data = data;
    t->stop = stop;
    t->common[SKED_I_TARGET_REPEAT] = 1;
    t->part[t->n_parts++].kind = &callback;
    SKED_TRY(sked_i_target_prepare(t, p, err));
    *out = t;
    return SKED_OK;
cleanup:
    sked_target_destroy(t);
    return st;
}
