/* A function of the caller's measures. What it says is checked as strictly as what a program prints. */
#include "target/target.h"

#include <assert.h>
#include <string.h>

/* Left as it came, all NAN: no trace. */
static bool is_empty(const sked_i_trace *r, int32_t ops)
{
    for (int32_t i = 0; i < ops; i++)
        if (!isnan(r->start[i]) || !isnan(r->finish[i]))
            return false;
    return true;
}

/* Its message comes as it wrote it: with or without an end, escaped or not. */
static sked_status ask(sked_target *t, const sked_schedule *s, sked_i_trace *r, sked_error *err)
{
    sked_error said = {0};
    sked_status st = t->measure(t->measure_data, s, &r->time, r->start, r->finish, &said);
    said.message[sizeof said.message - 1] = 0;
    if (st == SKED_OK)
        return SKED_OK;
    if (strcmp(sked_status_text(st), sked_status_text((sked_status)-1)) == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "the function that measures returned %d, which is no status", (int)st);
    return sked_i_fail(err, st, "%s", said.message[0] != 0 ? said.message : sked_status_text(st));
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
    SKED_TRY(ask(t, s, &r, err));
    if (is_empty(&r, s->ops))
        sked_i_answer_trace_drop(&r);
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
