/* Durations in a machine file: the profile of what was measured there. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICES                                                                  \
    "\"devices\":[{\"name\":\"c0\",\"type\":\"cpu\"},{\"name\":\"g0\",\"type\":" \
    "\"gpu\",\"speed\":4},{\"name\":\"g1\",\"type\":\"gpu\",\"speed\":4}],"      \
    "\"latency\":1,"
#define MACHINE(durations) "{\"format\":\"sked-machine-1\"," DEVICES "\"durations\":" durations "}"

/* a: by duration alone. b: not on the processor, its own on g0. c -> d: a written lag. */
static const char graph[] =
    "{\"format\":\"sked-graph-1\",\"name\":\"four\",\"resources\":[{\"name\":\"r\",\"capacity\":2}],\"ops\":["
    "{\"name\":\"a\",\"duration\":8,\"demand\":{\"r\":1},\"keep\":true,\"weight\":3},"
    "{\"name\":\"b\",\"duration\":6,\"durations\":{\"cpu\":null,\"g0\":2,\"gpu\":3},\"memory\":5},"
    "{\"name\":\"c\",\"duration\":4,\"type\":\"Mul\"},{\"name\":\"d\",\"duration\":1}],"
    "\"edges\":[[\"a\",\"b\"],{\"from\":\"c\",\"to\":\"d\",\"lag\":9,\"bytes\":7},[\"b\",\"d\"]]}";

/* The graph above on the machine above with these durations. */
typedef struct profiled {
    sked_machine *machine;
    sked_graph *plain, *graph;
    sked_problem problem;
} profiled;

static void begin(profiled *x, const char *text)
{
    x->machine = must_machine(text);
    x->plain = must_graph(graph);
    OK(sked_graph_profiled(x->plain, x->machine, &x->graph, err));
    sked_problem_init(&x->problem, x->graph);
    x->problem.machine = x->machine;
}

static void end(profiled *x)
{
    sked_machine_destroy(x->machine);
    sked_graph_destroy(x->plain);
    sked_graph_destroy(x->graph);
}

static double time_on(const profiled *x, const char *op, const char *device)
{
    return sked_problem_duration(&x->problem, sked_graph_find_op(x->graph, op),
                                 sked_machine_find_device(x->machine, device));
}

static void expect(const profiled *x, const char *op, double c0, double g0, double g1)
{
    const double want[] = {c0, g0, g1};
    const char *const device[] = {"c0", "g0", "g1"};
    for (int d = 0; d < 3; d++)
        if (time_on(x, op, device[d]) != want[d])
            fail_msg("op %s on %s: %g, not %g", op, device[d], time_on(x, op, device[d]), want[d]);
}

/* ------------------------------------------------------------------ files */

static void durations_are_read_and_written(void **state)
{
    (void)state;
    char path[] = "/tmp/sked_profile_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    sked_machine *m =
        must_machine(MACHINE("{\"a\\n\":2.5,\"b\":{\"gpu\":0.5,\"c0\":null},\"c\":{},\"d\":0}"));
    sked_machine *again = NULL;
    OK(sked_machine_write(m, path, err));
    OK(sked_machine_read(path, &again, err));
    assert_int_equal(sked_machine_duration_count(m), 4);
    assert_int_equal(sked_machine_duration_count(again), 4);
    for (int i = 0; i < 4; i++) {
        static const char *const ops[] = {"a\n", "b", "b", "d"}, *const ons[] = {NULL, "gpu", "c0", NULL};
        static const double times[] = {2.5, 0.5, INFINITY, 0};
        const char *op, *on;
        double time;
        sked_machine_duration(i % 2 ? again : m, i, &op, &on, &time);
        assert_string_equal(op, ops[i]);
        assert_true((on == NULL) == (ons[i] == NULL) && (on == NULL || strcmp(on, ons[i]) == 0));
        assert_true(time == times[i]);
    }
    unlink(path);
    sked_machine_destroy(m);
    sked_machine_destroy(again);
}

/* Sections come in any order: durations may stand before the devices that they name. */
static void durations_may_come_first(void **state)
{
    (void)state;
    sked_machine *m = must_machine("{\"durations\":{\"a\":{\"x\":1}},\"format\":\"sked-machine-1\","
                                   "\"devices\":[{\"name\":\"x\"}]}");
    assert_int_equal(sked_machine_duration_count(m), 1);
    sked_machine_destroy(m);
}

static void bad_durations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } list[] = {
        {MACHINE("[]"), "m.json:1: \"durations\" must be an object"},
        {MACHINE("{\"a\":-1}"), "m.json:1: the duration of op 'a' must be a finite number, 0 or more"},
        {MACHINE("{\"a\":null}"), "a duration must be a number"},
        {MACHINE("{\"a\":\"1\"}"), "a duration must be a number"},
        {MACHINE("{\"a\":1e999}"), "m.json:1:"},
        {MACHINE("{\"a\":{\"gpu\":-1}}"), "the duration of op 'a' must be a finite number, 0 or more"},
        {MACHINE("{\"a\":{\"gpu\":[]}}"), "a duration must be a number"},
        {MACHINE("{\"a\":{\"\":1}}"), "a device or type in the durations needs a name"},
        {MACHINE("{\"a\":{\"tpu\":1}}"), "a duration is given on 'tpu', which is no device and no type"},
        {MACHINE("{\"a\":1,\"b\":1,\"a\":2}"), "m.json:1: op 'a' has durations twice"},
        {MACHINE("{\"a\":1,\"a\":2}"), "op 'a' has durations twice"},
        {MACHINE("{\"a\":{\"gpu\":1},\"a\":2}"), "op 'a' has durations twice"},
        {MACHINE("{\"a\":2,\"a\":{\"gpu\":1}}"), "op 'a' has durations twice"},
        {MACHINE("{\"a\":{\"gpu\":1,\"gpu\":1}}"), "m.json:1: an op has two durations on 'gpu'"},
        {MACHINE("{},\"durations\":{}"), "durations"},
        {MACHINE("{\"a\":{\"gpu\":1}"), "m.json:1:"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_machine *m = NULL;
        FAILS(SKED_ERR_FORMAT, list[i].why,
              sked_machine_parse("m.json", list[i].text, strlen(list[i].text), &m, err));
        assert_null(m);
    }
}

static void a_builder_takes_durations_op_by_op(void **state)
{
    (void)state;
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    OK(sked_machine_builder_create(NULL, &b, err));
    OK(sked_machine_builder_add_duration(b, "a", "x", 1, err));
    OK(sked_machine_builder_add_duration(b, "b", "x", INFINITY, err));
    OK(sked_machine_builder_add_device(b, "x", NULL, 1, INFINITY, NULL, err));
    FAILS(SKED_ERR_FORMAT, "op 'a' has durations twice",
          sked_machine_builder_add_duration(b, "a", "y", 1, err));
    FAILS(SKED_ERR_FORMAT, "op 'a' has durations twice", sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    OK(sked_machine_builder_create(NULL, &b, err));
    FAILS(SKED_ERR_FORMAT, "finite number", sked_machine_builder_add_duration(b, "a", NULL, INFINITY, err));
    sked_machine_builder_destroy(b);
    OK(sked_machine_builder_create(NULL, &b, err));
    FAILS(SKED_ERR_FORMAT, "not valid UTF-8", sked_machine_builder_add_duration(b, "\xff", NULL, 1, err));
    sked_machine_builder_destroy(b);
}

/* ------------------------------------------------------------------ graphs */

static void a_number_takes_the_place_of_the_duration(void **state)
{
    (void)state;
    profiled x;
    begin(&x, MACHINE("{\"a\":2,\"b\":12,\"nobody\":5}"));
    expect(&x, "a", 2, 0.5, 0.5);
    expect(&x, "b", INFINITY, 3, 3); /* still not on the processor; its own times no longer count */
    expect(&x, "c", 4, 1, 1);
    end(&x);
}

static void an_object_goes_before_the_times_of_the_graph(void **state)
{
    (void)state;
    profiled x;
    begin(&x, MACHINE("{\"a\":{\"g1\":7},\"b\":{\"gpu\":1},\"c\":{\"cpu\":null,\"gpu\":5,\"g0\":6}}"));
    expect(&x, "a", 8, 2, 7);
    expect(&x, "b", INFINITY, 1, 1); /* the type measured goes before g0 of the graph */
    expect(&x, "c", INFINITY, 6, 5);
    expect(&x, "d", 1, 0.25, 0.25);
    end(&x);
    begin(&x, MACHINE("{\"b\":{\"g1\":1}}"));
    expect(&x, "b", INFINITY, 2, 1); /* the rest is the graph's */
    end(&x);
}

/* All but the durations is the same; lags follow where they were not written. */
static void the_rest_of_the_graph_stays(void **state)
{
    (void)state;
    profiled x;
    sked_edge edge;
    begin(&x, MACHINE("{\"a\":2,\"c\":1}"));
    assert_false(sked_graph_equal(x.plain, x.graph));
    assert_string_equal(sked_graph_name(x.graph), "four");
    assert_true(sked_graph_keep(x.graph, 0) && !sked_graph_keep(x.graph, 1));
    assert_true(sked_graph_weight(x.graph, 0) == 3 && sked_graph_memory(x.graph, 1) == 5);
    assert_true(sked_graph_demand(x.graph, 0, 0) == 1 && sked_graph_capacity(x.graph, 0) == 2);
    assert_string_equal(sked_graph_op_type(x.graph, 2), "Mul");
    sked_graph_edge(x.graph, 0, &edge);
    assert_true(edge.from == 0 && edge.lag == 2);
    sked_graph_edge(x.graph, 2, &edge);
    assert_true(edge.from == 2 && edge.lag == 9 && edge.bytes == 7);
    end(&x);
    begin(&x, MACHINE("{}"));
    assert_true(sked_graph_equal(x.plain, x.graph));
    end(&x);
}

/* An unnamed op is called by its number. */
static void ops_without_names_are_found(void **state)
{
    (void)state;
    sked_graph *g = must_graph("{\"format\":\"sked-graph-1\",\"ops\":[{\"duration\":1},{\"duration\":1}],"
                               "\"edges\":[]}"),
               *out = NULL;
    sked_machine *m = must_machine(MACHINE("{\"1\":6}"));
    OK(sked_graph_profiled(g, m, &out, err));
    assert_true(sked_graph_duration(out, 0) == 1 && sked_graph_duration(out, 1) == 6);
    sked_graph_destroy(g);
    sked_graph_destroy(out);
    sked_machine_destroy(m);
}

/* A machine of equal devices becomes the short form inside: what it schedules is judged on the profile. */
static void equal_devices_are_judged_on_the_profile(void **state)
{
    (void)state;
    sked_graph *g = must_graph(graph), *out = NULL;
    sked_machine *m =
        must_machine("{\"format\":\"sked-machine-1\",\"latency\":0,\"devices\":[{\"name\":\"x\"},"
                     "{\"name\":\"y\"}],\"durations\":{\"a\":100,\"b\":50,\"d\":2}}");
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_metrics metrics = {.size = sizeof metrics};
    OK(sked_graph_profiled(g, m, &out, err));
    sked_problem_init(&p, out);
    p.machine = m;
    OK(sked_method_run("list", &p, NULL, &r, err));
    OK(sked_schedule_validate(&p, r.schedule[0], err));
    OK(sked_schedule_measure(&p, r.schedule[0], &metrics, err));
    assert_true(r.value == 152 && metrics.makespan == 152);
    sked_result_clear(&r);
    sked_graph_destroy(g);
    sked_graph_destroy(out);
    sked_machine_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_and_written),
        cmocka_unit_test(durations_may_come_first),
        cmocka_unit_test(bad_durations_are_refused),
        cmocka_unit_test(a_builder_takes_durations_op_by_op),
        cmocka_unit_test(a_number_takes_the_place_of_the_duration),
        cmocka_unit_test(an_object_goes_before_the_times_of_the_graph),
        cmocka_unit_test(the_rest_of_the_graph_stays),
        cmocka_unit_test(ops_without_names_are_found),
        cmocka_unit_test(equal_devices_are_judged_on_the_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
