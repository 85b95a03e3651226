/* Methods that a program registers: what they see, what they may offer, what is refused. */
#include "test.h"

#include <math.h>
#include <pthread.h>

enum { OPS = 30 };

/* What the method is to do. */
typedef struct behaviour {
    sked_status status;
    const char *message;
    bool offers, invalid, other_size, incumbent_seen;
    double setting;
    uint64_t seed;
} behaviour;

/* All ops one after the other on the first device. */
static sked_status one_after_the_other(void *data, sked_run *run, sked_error *err)
{
    behaviour *b = data;
    const sked_problem *p = sked_run_problem(run);
    const int32_t n = sked_graph_op_count(p->graph);
    int32_t order[OPS];
    double now = 0;
    sked_schedule *s = NULL;
    b->setting = sked_run_setting(run, 0);
    b->seed = sked_run_options_of(run)->seed;
    if (b->message != NULL)
        snprintf(err->message, sizeof err->message, "%s", b->message);
    if (b->status != SKED_OK || !b->offers)
        return b->status;
    sked_status st = sked_schedule_create(b->other_size ? n - 1 : n, p->devices, &s, err);
    if (st != SKED_OK)
        return st;
    sked_graph_topological(p->graph, order);
    for (int32_t k = 0; k < s->ops && !b->invalid; k++) {
        s->start[order[k]] = now;
        now += sked_graph_duration(p->graph, order[k]);
    }
    assert_false(sked_run_over(run));
    st = sked_run_offer(run, s, err);
    sked_run_evaluated(run, 1);
    b->incumbent_seen = sked_run_incumbent(run) != NULL;
    sked_schedule_destroy(s);
    return st;
}

static const sked_option options[] = {{"slack", SKED_OPTION_REAL, "0.5", 0, 1, NULL, "of nothing"}};

static sked_method method_of(const char *name, behaviour *b)
{
    sked_method m;
    sked_method_init(&m);
    m.name = name;
    m.summary = "one op after the other";
    m.features = SKED_CAN_DEVICES | SKED_CAN_MAKESPAN;
    m.options = options;
    m.n_options = 1;
    m.run = one_after_the_other;
    m.data = b;
    return m;
}

static behaviour shared;

static void open_problem(sked_graph **g, sked_problem *p)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = OPS, .duration = "int:1,9"};
    OK(sked_graph_generate("layered", &how, g, err));
    sked_problem_init(p, *g);
    p->devices = 2;
    shared = (behaviour){.offers = true};
    const sked_method m = method_of("row", &shared);
    if (sked_method_find("row") == NULL)
        OK(sked_method_register(&m, err));
}

static void it_is_a_method_like_others(void **state)
{
    (void)state;
    sked_graph *g;
    sked_problem p;
    sked_result r;
    sked_run_options opt;
    open_problem(&g, &p);
    sked_result_init(&r);
    sked_run_options_init(&opt);
    const char *settings[] = {"slack=0.25"};
    opt.settings = settings;
    opt.n_settings = 1;
    opt.seed = 7;
    OK(sked_method_run("row", &p, &opt, &r, err));
    assert_string_equal(r.method, "row");
    assert_true(r.evaluations == 1 && shared.setting == 0.25 && shared.seed == 7 && shared.incumbent_seen);
    sked_graph_info info = {.size = sizeof info};
    OK(sked_graph_describe(g, &info, err));
    assert_true(r.value == info.work);
    sked_result_clear(&r);
    assert_string_equal(sked_method_at(sked_method_count() - 1)->name, "row");
    FAILS(SKED_ERR_ARGUMENT, "'rov' (did you mean 'row'?)", sked_method_run("rov", &p, NULL, &r, err));
    p.latency = 3; /* a feature that it does not name */
    FAILS(SKED_ERR_UNSUPPORTED, "'row' does not take transfer", sked_method_run("row", &p, NULL, &r, err));
    sked_graph_destroy(g);
}

static void what_it_does_wrong_is_its_own(void **state)
{
    (void)state;
    sked_graph *g;
    sked_problem p;
    sked_result r;
    open_problem(&g, &p);
    sked_result_init(&r);
    shared.invalid = true;
    FAILS(SKED_ERR_INVALID, "'row' made an invalid schedule", sked_method_run("row", &p, NULL, &r, err));
    shared.other_size = true;
    FAILS(SKED_ERR_INVALID, "", sked_method_run("row", &p, NULL, &r, err));
    shared = (behaviour){.offers = false};
    FAILS(SKED_ERR_INFEASIBLE, "'row' found no schedule", sked_method_run("row", &p, NULL, &r, err));
    shared = (behaviour){.status = SKED_ERR_DEVICE};
    FAILS(SKED_ERR_DEVICE, "method 'row' failed", sked_method_run("row", &p, NULL, &r, err));
    shared = (behaviour){.status = SKED_ERR_DEVICE, .message = "no %s \x1b[31m"};
    FAILS(SKED_ERR_DEVICE, "no %s \\x1b[31m", sked_method_run("row", &p, NULL, &r, err));
    assert_true(r.count == 0 && r.schedule == NULL);
    sked_graph_destroy(g);
}

static void refused(sked_method m, const char *why)
{
    const int before = sked_method_count();
    FAILS(SKED_ERR_ARGUMENT, why, sked_method_register(&m, err));
    assert_int_equal(sked_method_count(), before);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    behaviour b = {0};
    static const char *const names[] = {"",    "Row",      "a b",
                                        "a_b", "\x1b[31m", "a-name-of-more-than-31-characters"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        refused(method_of(names[k], &b), "the name of a method");
    refused(method_of(NULL, &b), "the name of a method");
    refused(method_of("heft", &b), "a method called 'heft' already");
    sked_method m = method_of("mine", &b);
    m.run = NULL;
    refused(m, "a function");
    m = method_of("mine", &b);
    m.summary = NULL;
    refused(m, "a summary");
    m = method_of("mine", &b);
    m.options = NULL;
    refused(m, "options");
    m = method_of("mine", &b);
    m.n_options = 65;
    refused(m, "options");
    sked_option wrong = options[0];
    m = method_of("mine", &b);
    m.options = &wrong;
    wrong.preset = "2"; /* out of its range */
    refused(m, "slack");
    wrong.kind = SKED_OPTION_TEXT;
    refused(m, "is a text");
    m = (sked_method){0};
    refused(m, "sked_method_init");
}

/* Threads register and look at the same time; nobody sees half a method, and there is a last one. */
static void *crowd(void *data)
{
    static behaviour b;
    static char name[4][40][16];
    const int k = *(const int *)data;
    int made = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(name[k][i], sizeof name[k][i], "m-%d-%d", k, i);
        const sked_method m = method_of(name[k][i], &b);
        made += sked_method_register(&m, NULL) == SKED_OK;
        for (int j = 0; j < sked_method_count(); j++)
            assert_non_null(sked_method_at(j)->name);
    }
    return (void *)(intptr_t)made;
}

static void threads_register(void **state)
{
    (void)state;
    pthread_t thread[4];
    int number[4] = {0, 1, 2, 3};
    const int before = sked_method_count();
    intptr_t made = 0;
    for (int k = 0; k < 4; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, crowd, &number[k]), 0);
    for (int k = 0; k < 4; k++) {
        void *answer;
        assert_int_equal(pthread_join(thread[k], &answer), 0);
        made += (intptr_t)answer;
    }
    assert_true(made == 64 || made == 63); /* "row" is one of them, where it was registered before */
    assert_int_equal(sked_method_count(), before + made);
    behaviour b = {0};
    refused(method_of("one-more", &b), "may register 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_method_like_others),
        cmocka_unit_test(what_it_does_wrong_is_its_own),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(threads_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
