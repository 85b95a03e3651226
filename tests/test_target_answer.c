/* What measuring programs print: numbers, objects, traces, and everything that cannot be believed. */
#define _GNU_SOURCE
#include "test.h"

#include "base/text.h"
#include "target/answer.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* a -> b, a -> c on devices "cpu", "cpu", "gpu 0". */
typedef struct fixture {
    sked_graph *graph;
    sked_machine *machine;
    sked_schedule *schedule;
    sked_problem problem;
} fixture;

static void open_fixture(fixture *x)
{
    static const char graph[] =
        "{\"format\": \"sked-graph-1\", \"ops\": [{\"name\": \"a\", \"duration\": 2}, "
        "{\"name\": \"b\", \"duration\": 4}, {\"name\": \"c\", \"duration\": 6}], "
        "\"edges\": [[\"a\", \"b\"], [\"a\", \"c\"]]}";
    static const char machine[] = "{\"format\": \"sked-machine-1\", \"latency\": 1, \"devices\": "
                                  "[{\"name\": \"cpu\"}, {\"name\": \"gpu 0\"}]}";
    static const double start[] = {0, 2, 3};
    static const int32_t device[] = {0, 0, 1};
    *x = (fixture){0};
    OK(sked_graph_parse("graph", graph, sizeof graph - 1, NULL, &x->graph, err));
    OK(sked_machine_parse("machine", machine, sizeof machine - 1, &x->machine, err));
    OK(sked_schedule_create(3, 2, &x->schedule, err));
    memcpy(x->schedule->start, start, sizeof start);
    memcpy(x->schedule->device, device, sizeof device);
    sked_problem_init(&x->problem, x->graph);
    x->problem.machine = x->machine;
    x->problem.devices = 2;
}

static void close_fixture(fixture *x)
{
    sked_schedule_destroy(x->schedule);
    sked_machine_destroy(x->machine);
    sked_graph_destroy(x->graph);
}

static sked_status read_answer(const char *text, sked_i_trace *out, sked_error *err)
{
    fixture x;
    open_fixture(&x);
    const sked_status st =
        sked_i_answer_read("output", text, strlen(text), &x.problem, x.schedule, true, out, err);
    close_fixture(&x);
    return st;
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double time;
    } good[] = {
        {"3", 3},
        {"warm-up 9\ntime = 2.5 s\n", 2.5},
        {"time:4\n\n  \t\r\n", 4},
        {"1 2 3 done", 3},
        {"{'settings': 7}\n12", 12}, /* a number last is the time */
        {"{\"log\": 1}\nfinished after 8 s", 8},
        {"  {\"time\": 3}\n5", 5},
        {"{\"time\": 6}", 6},
        {"{\"time\": 6, \"ops\": null, \"host\": {\"name\": [1, 2]}}\n", 6},
        {"{\"log\": \"{\"}\n{\"time\": 6}", 6}, /* lines before it may say anything */
        {"{\"step\": 1}\n{\"step\": [\n{ }\n{\n{\"time\": 6,\n\"x\": [\n{\"y\": \"\\\"}\"}\n]\n}\n", 6},
        {"{\"time\": 3}\n{\"time\": 4}", 4},
        {"1e-100", 1e-100},
        {"9e99", 9e99},
        {"compiling 17 files\n{\n  \"time\": 6.5\n}\n", 6.5}};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        sked_i_trace r = {0};
        OK(read_answer(good[k].text, &r, err));
        if (r.time != good[k].time || r.start != NULL)
            fail_msg("'%s' reads as %g", good[k].text, r.time);
    }
}

static void test_traces(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{\"time\": 12.5, \"ops\": [{\"name\": \"a\", \"start\": 0, \"finish\": 2, \"device\": 0},\n"
        "{\"name\": \"b\", \"start\": 2, \"finish\": 6, \"device\": \"cpu\"},\n"
        "{\"name\": \"c\", \"start\": 3.5, \"finish\": 12.25, \"device\": \"gpu 0\"}]}",
        "ready\n{\"ops\": [{\"finish\": 12.25, \"name\": 2, \"start\": 3.5}, {\"name\": \"b\", \"start\": 2, "
        "\"finish\": 6, \"device\": null, \"thread\": 7},\n"
        "{\"name\": \"a\", \"start\": 0, \"finish\": 2}], \"time\": 12.5 }\n\n"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        sked_i_trace r = {0};
        OK(read_answer(good[k], &r, err));
        assert_true(r.time == 12.5);
        assert_true(r.start[0] == 0 && r.start[1] == 2 && r.start[2] == 3.5);
        assert_true(r.finish[0] == 2 && r.finish[1] == 6 && r.finish[2] == 12.25);
        sked_i_answer_trace_free(&r);
    }
}

#define OP(name, start, finish) "{\"name\":" name ",\"start\":" start ",\"finish\":" finish "}"
#define ANSWER(ops)             "{\"time\":12,\"ops\":[" ops "]}"

static void test_what_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "no time was printed"},
        {"nan", "no time was printed"},
        {"inf\n", "no time was printed"},
        {"-1", "the time -1 is not from 1e-100 to 1e+100"},
        {"0", "the time 0 is not from 1e-100"},
        {"1e300", "to 1e+100"},
        {"1e-320", "is not from 1e-100"},
        {"{\"time\": 0}", "the time 0 is not from 1e-100"},
        {"{\"time\": -3}", "the time -3"},
        {"{\"time\": 1e300}", "to 1e+100"},
        {"{\"time\": NaN}", "output:1:"},
        {"{\"time\": \"3\"}", "\"time\" must be a number"},
        {"{\"ops\": []}", "needs \"time\""},
        {"{\"time\": 3, \"time\": 4}", "twice"},
        {"{\"time\": 3", "too early"},
        {"{\n\"time\": 3,\n\"ops\": [{\"name\": 0,\n\"start\": 1",
         "too early"}, /* no number last: half an object */
        {"{\"time\": 3} done", "output:1:"},
        {"{\"time\": 3}\ndone", "output:2:"},
        {"{\"time\": 3}\n{\"time\": 4", "output:2:"},
        {"{\"time\": 3}\n}", "output:2:"},
        {"{\"time\": 3, \"ops\": {}}", "\"ops\" must be an array"},
        {"{\"time\": 3, \"ops\": [7]}", "an op must be an object"},
        {ANSWER(""), "op 'a' is not in the trace"},
        {ANSWER(OP("\"a\"", "0", "2") "," OP("\"b\"", "2", "6")), "op 'c' is not in the trace"},
        {ANSWER(OP("\"a\"", "0", "2") "," OP("\"a\"", "2", "6")), "op 'a' comes twice"},
        {ANSWER(OP("\"d\"", "0", "2")), "no op called 'd'"},
        {ANSWER(OP("3", "0", "2")), "number of an op"},
        {ANSWER(OP("-1", "0", "2")), "number of an op"},
        {ANSWER(OP("\"a\"", "-1", "2")), "0 <= start <= finish"},
        {ANSWER(OP("\"a\"", "3", "2")), "0 <= start <= finish"},
        {ANSWER(OP("\"a\"", "0", "1e300")), "finish < 1e+100"},
        {ANSWER(OP("\"a\"", "0", "1e999")), "output:1:"},
        {ANSWER(OP("\"a\"", "NaN", "1")), "output:1:"},
        {ANSWER("{\"name\":\"a\",\"start\":0}"), "needs \"name\", \"start\" and \"finish\""},
        {ANSWER("{\"name\":\"a\",\"start\":0,\"finish\":2,\"device\":1}"), "the schedule has it on 0"},
        {ANSWER("{\"name\":\"a\",\"start\":0,\"finish\":2,\"device\":\"gpu 0\"}"),
         "the schedule has it on 0"},
        {ANSWER("{\"name\":\"a\",\"start\":0,\"finish\":2,\"device\":2}"), "\"device\""},
        {ANSWER("{\"name\":\"a\",\"start\":0,\"finish\":2,\"device\":-1}"), "\"device\""},
        {ANSWER("{\"name\":\"a\",\"start\":0,\"finish\":2,\"device\":0.5}"), "\"device\""},
        {ANSWER("{\"name\":\"a\",\"start\":0,\"finish\":2,\"device\":\"tpu\"}"), "no device called 'tpu'"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        sked_i_trace r = {.time = -7};
        sked_error e = {0};
        const sked_status st = read_answer(bad[k].text, &r, &e);
        if ((st != SKED_ERR_FORMAT && st != SKED_ERR_INVALID) || strstr(e.message, bad[k].part) == NULL)
            fail_msg("'%s': status %d, '%s' does not say '%s'", bad[k].text, (int)st, e.message, bad[k].part);
        assert_true(r.time == -7 && r.start == NULL);
    }
}

/* ------------------------------------------------------------------ programs */

static sked_status measure_with(const char *options, const char *program, const fixture *x,
                                sked_measurement *m, sked_error *err)
{
    sked_i_buffer spec = {0};
    sked_target *t = NULL;
    sked_i_buffer_format(&spec, "command%s:f() { ", options);
    sked_i_buffer_text(&spec, program);
    sked_i_buffer_text(&spec, "; }; f");
    sked_status st = sked_target_create(spec.data, &x->problem, 0, &t, err);
    if (st == SKED_OK)
        st = sked_target_measure(t, x->schedule, m, err);
    sked_target_destroy(t);
    sked_i_buffer_free(&spec);
    return st;
}

/* The plan itself is an answer, but for "makespan". A '+' in the command line belongs to it. */
static void test_programs_give_traces(void **state)
{
    (void)state;
    static const char program[] = "n=$((1+1)); sed 's/\"makespan\"/\"time\"/' \"$1\"";
    fixture x;
    sked_measurement m = {.size = sizeof m};
    open_fixture(&x);
    OK(measure_with("", program, &x, &m, err));
    assert_true(m.time == 9 && m.runs == 1);
    assert_true(m.start[2] == 3 && m.finish[2] == 9 && m.device[2] == 1);
    sked_measurement_clear(&m);
    m.size = sizeof m;
    OK(measure_with(",trace=false", program, &x, &m, err));
    assert_true(m.time == 9 && m.start == NULL && m.finish == NULL && m.device == NULL);
    sked_measurement_clear(&m);
    close_fixture(&x);
}

static void test_wrong_answers_are_device_failures(void **state)
{
    (void)state;
    fixture x;
    sked_measurement m = {.size = sizeof m, .time = -7};
    open_fixture(&x);
    FAILS(SKED_ERR_DEVICE, "the program 'f() { echo",
          measure_with(",retries=0", "echo '{\"time\": 3, \"ops\": [{\"name\": \"d\"}]}'", &x, &m, err));
    FAILS(SKED_ERR_DEVICE, "no op called 'd'",
          measure_with(",retries=2", "echo '{\"time\": 3, \"ops\": [{\"name\": \"d\"}]}'", &x, &m, err));
    FAILS(SKED_ERR_DEVICE, "printed more than 64 MB", measure_with(",retries=0", "yes", &x, &m, err));
    assert_true(m.time == -7);
    close_fixture(&x);
}

/* Warm-up does not count; the median of the rest does; a failing run is tried again. */
static void test_programs_repeat(void **state)
{
    (void)state;
    char folder[] = "/tmp/sked-answer-XXXXXX", count[100], program[600];
    fixture x;
    sked_measurement m = {.size = sizeof m};
    assert_non_null(mkdtemp(folder));
    snprintf(count, sizeof count, "%s/count", folder);
    open_fixture(&x);
    /* runs 1, 2, ... take 100, 100, 3, 9, (fails), 4, 8, 5: of the last five the median is 5 */
    snprintf(
        program, sizeof program,
        "echo x >>%s; set -- 100 100 3 9 - 4 8 5; shift $(($(wc -l <%s) - 1)); test $1 != - && "
        "echo \"{\\\"time\\\": $1, \\\"ops\\\": [{\\\"name\\\": 0, \\\"start\\\": 0, \\\"finish\\\": $1}, "
        "{\\\"name\\\": 1, \\\"start\\\": 0, \\\"finish\\\": 1}, "
        "{\\\"name\\\": 2, \\\"start\\\": 0, \\\"finish\\\": 1}]}\"",
        count, count);
    OK(measure_with(",repeat=5,warm-up=2,retries=1", program, &x, &m, err));
    assert_int_equal(m.runs, 5);
    assert_true(m.time == 5);
    assert_true(m.finish[0] == 5); /* the trace of that run */
    const double mean = (3 + 9 + 4 + 8 + 5) / 5.0;
    const double squares = (3 - mean) * (3 - mean) + (9 - mean) * (9 - mean) + (4 - mean) * (4 - mean) +
                           (8 - mean) * (8 - mean) + (5 - mean) * (5 - mean);
    assert_true(fabs(m.deviation - sqrt(squares / 4)) < 1e-12);
    sked_measurement_clear(&m);
    unlink(count);
    m = (sked_measurement){.size = sizeof m};
    FAILS(SKED_ERR_DEVICE, "ended with an error",
          measure_with(",repeat=5,warm-up=2,retries=0", program, &x, &m, err));
    unlink(count);
    rmdir(folder);
    close_fixture(&x);
}

/* A stop that comes while a schedule is measured is heard between runs. */
static void test_stops_between_runs(void **state)
{
    (void)state;
    static volatile sig_atomic_t stop = 1;
    static const char *const specs[] = {"jitter:repeat=2", "proxy:warm-up=1", "command:echo 1"};
    fixture x;
    open_fixture(&x);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        sked_measurement m = {.size = sizeof m, .runs = -7};
        sked_target *t = NULL;
        OK(sked_target_create_stoppable(specs[k], &x.problem, 0, &stop, &t, err));
        FAILS(SKED_ERR_STOPPED, "stopped", sked_target_measure(t, x.schedule, &m, err));
        assert_int_equal(m.runs, -7);
        sked_target_destroy(t);
    }
    close_fixture(&x);
}

/* A trace of some megabytes, far more than a pipe holds. */
static void test_large_traces(void **state)
{
    (void)state;
    enum { ops = 50000 };
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_schedule *s = NULL;
    sked_target *t = NULL;
    sked_problem p;
    sked_measurement m = {.size = sizeof m};
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < ops; i++)
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    OK(sked_schedule_create(ops, 1, &s, err));
    for (int32_t i = 0; i < ops; i++)
        s->start[i] = i;
    sked_problem_init(&p, g);
    p.devices = 1;
    OK(sked_target_create("command:f() { sed 's/\"makespan\"/\"time\"/' \"$1\"; }; f", &p, 0, &t, err));
    OK(sked_target_measure(t, s, &m, err));
    assert_true(m.time == ops && m.finish[ops - 1] == ops && m.start[7] == 7);
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_traces),
        cmocka_unit_test(test_what_cannot_be),
        cmocka_unit_test(test_programs_give_traces),
        cmocka_unit_test(test_wrong_answers_are_device_failures),
        cmocka_unit_test(test_programs_repeat),
        cmocka_unit_test(test_stops_between_runs),
        cmocka_unit_test(test_large_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
