/* sked_robust with a function of the caller's in place of a target. */
#include "test.h"

#include "base/memory.h"

#include <math.h>

/* What the function is to do, and what it saw. */
typedef struct target {
    const sked_problem *problem;
    int calls, fail_at; /* fail_at: from this call on it fails with `status` */
    sked_status status;
    const char *message; /* NULL: "no power" */
    bool trace;
    double factor;        /* of the makespan; its time */
    double finish_factor; /* of the finish times it traces */
    char warning[300];    /* the last one */
} target;

static void on_warning(void *data, const char *message)
{
    target *t = data;
    snprintf(t->warning, sizeof t->warning, "%s", message);
}

static sked_status measure(void *data, const sked_schedule *s, double *time, double *start, double *finish,
                           sked_error *err)
{
    target *t = data;
    double makespan = 0;
    for (int32_t i = 0; i < s->ops; i++) {
        const double end = s->start[i] + sked_problem_duration(t->problem, i, s->device[i]);
        assert_true(isnan(start[i]) && isnan(finish[i]));
        makespan = fmax(makespan, end);
        if (t->trace) {
            start[i] = s->start[i];
            finish[i] = end * t->finish_factor;
        }
    }
    *time = makespan * t->factor;
    if (++t->calls <= t->fail_at || t->fail_at < 0)
        return SKED_OK;
    if (t->message != NULL) /* as a program may that has bytes, not a text */
        memcpy(err->message, t->message, strlen(t->message));
    else
        snprintf(err->message, sizeof err->message, "no power");
    return err->status = t->status;
}

typedef struct scene {
    sked_graph *graph;
    sked_problem problem;
    target target;
    sked_robust_options options;
    sked_robust_result result;
} scene;

static void open_scene(scene *s)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = 12, .seed = 5};
    *s = (scene){0};
    OK(sked_graph_generate("layered", &how, &s->graph, err));
    sked_problem_init(&s->problem, s->graph);
    s->problem.devices = 2;
    s->target = (target){.problem = &s->problem, .fail_at = -1, .factor = 1.25, .finish_factor = 1};
    sked_robust_options_init(&s->options);
    s->options.measurements = 3;
    s->options.iterations = 20;
    s->options.time_limit = INFINITY;
    s->options.measure = measure;
    s->options.measure_data = &s->target;
    s->options.warning = on_warning;
    s->options.warning_data = &s->target;
    sked_robust_result_init(&s->result);
}

static void close_scene(scene *s)
{
    sked_robust_result_clear(&s->result);
    sked_graph_destroy(s->graph);
}

static void the_function_measures(void **state)
{
    (void)state;
    for (int trace = 0; trace < 2; trace++) {
        scene s;
        open_scene(&s);
        s.target.trace = trace;
        OK(sked_robust(&s.problem, "mine", &s.options, &s.result, err));
        assert_string_equal(s.result.target, "mine");
        assert_true(s.target.calls > 0 && s.target.calls == s.result.measurements);
        const sked_robust_member *won = s.result.member[s.result.winner];
        sked_metrics m = {.size = sizeof m};
        OK(sked_schedule_measure(&s.problem, won->schedule[won->best], &m, err));
        assert_true(fabs(won->time - 1.25 * m.makespan) < 1e-9);
        close_scene(&s);
    }
}

/* A name is not needed; the one-shot pipeline asks the function as well. */
static void one_shot_too(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    s.options.one_shot = true;
    s.options.method = "list";
    s.options.candidates = 8;
    s.options.top = 3;
    OK(sked_robust(&s.problem, NULL, &s.options, &s.result, err));
    assert_string_equal(s.result.target, "callback");
    assert_int_equal(s.target.calls, s.result.measurements);
    close_scene(&s);
}

static void failures_have_two_kinds(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    s.target.fail_at = 1; /* others can still be measured: they cost budget */
    s.target.status = SKED_ERR_DEVICE;
    OK(sked_robust(&s.problem, NULL, &s.options, &s.result, err));
    assert_int_equal(s.result.failures, s.target.calls - 1);
    sked_robust_result_clear(&s.result);
    s.target.calls = s.target.fail_at = 0;
    FAILS(SKED_ERR_DEVICE, "measured none", sked_robust(&s.problem, NULL, &s.options, &s.result, err));
    assert_non_null(strstr(s.target.warning, "no power"));
    s.target.status = SKED_ERR_UNSUPPORTED;
    FAILS(SKED_ERR_UNSUPPORTED, "no power", sked_robust(&s.problem, NULL, &s.options, &s.result, err));
    close_scene(&s);
}

static void refuses(scene *s, const char *why)
{
    FAILS(SKED_ERR_DEVICE, "measured none", sked_robust(&s->problem, NULL, &s->options, &s->result, err));
    if (strstr(s->target.warning, why) == NULL)
        fail_msg("'%s' does not say '%s'", s->target.warning, why);
}

/* What the function says is printed: a terminal must not obey it, and it may have no end. */
static void messages_are_printable(void **state)
{
    (void)state;
    scene s;
    char endless[sizeof((sked_error){0}).message + 1];
    memset(endless, 7, sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    static const char raw[] = "red \x1b[31m\xff\n\xc2\x85 end", shown[] = "red \\x1b[31m\\xff\\n\\u0085 end";
    const char *const messages[] = {raw, endless, ""}, *const parts[] = {shown, "\\x07\\x07", "failure"};
    open_scene(&s);
    s.target.fail_at = 0;
    for (int k = 0; k < 3; k++)
        for (int one_shot = 0; one_shot < 2; one_shot++) {
            s.target.message = messages[k];
            s.target.status = SKED_ERR_DEVICE;
            s.options.one_shot = one_shot;
            s.options.candidates = s.options.top = 2;
            s.options.method = one_shot ? "list" : NULL;
            FAILS(SKED_ERR_DEVICE, "measured none",
                  sked_robust(&s.problem, NULL, &s.options, &s.result, err));
            for (const char *c = s.target.warning; *c; c++)
                assert_in_range(*c, ' ', '~');
            if (strstr(s.target.warning, parts[k]) == NULL)
                fail_msg("'%s' does not say '%s'", s.target.warning, parts[k]);
            s.target.status = SKED_ERR_UNSUPPORTED;
            FAILS(SKED_ERR_UNSUPPORTED, k < 2 ? parts[k] : "unsupported",
                  sked_robust(&s.problem, NULL, &s.options, &s.result, err));
        }
    s.target.status = (sked_status)77;
    FAILS(SKED_ERR_ARGUMENT, "77, which is no status",
          sked_robust(&s.problem, NULL, &s.options, &s.result, err));
    close_scene(&s);
}

static void nonsense_is_no_measurement(void **state)
{
    (void)state;
    const double times[] = {0, -1, NAN, INFINITY, 1e-320, 1e101, 1e308};
    scene s;
    open_scene(&s);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        s.target.factor = times[i];
        refuses(&s, "is not from 1e-100");
    }
    s.target.factor = 1;
    s.target.trace = true;
    s.target.finish_factor = -1;
    refuses(&s, "0 <= start <= finish");
    s.problem.devices = 0;
    FAILS(SKED_ERR_ARGUMENT, "devices", sked_robust(&s.problem, NULL, &s.options, &s.result, err));
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_function_measures),      cmocka_unit_test(one_shot_too),
        cmocka_unit_test(failures_have_two_kinds),    cmocka_unit_test(messages_are_printable),
        cmocka_unit_test(nonsense_is_no_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
