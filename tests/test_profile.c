/* Durations in a machine file: the profile of what was measured there. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "random_problem.h"
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
    sked_problem problem, asked; /* with the graph profiled, and with the graph as it is */
} profiled;

static void begin(profiled *x, const char *text)
{
    x->machine = must_machine(text);
    x->plain = must_graph(graph);
    OK(sked_graph_profiled(x->plain, x->machine, &x->graph, err));
    sked_problem_init(&x->problem, x->graph);
    x->problem.machine = x->machine;
    x->asked = x->problem;
    x->asked.graph = x->plain;
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
    for (int d = 0; d < 3; d++) {
        if (time_on(x, op, device[d]) != want[d])
            fail_msg("op %s on %s: %g, not %g", op, device[d], time_on(x, op, device[d]), want[d]);
        assert_true(sked_problem_duration(&x->asked, sked_graph_find_op(x->plain, op), d) == want[d]);
    }
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

/* ------------------------------------------------------------------ problems */

/* As the machine of p, with times of about half of the ops: for all devices, or by name and type. */
static sked_machine *measured(const sked_problem *p, sked_i_rng *rng)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    char name[16], path[] = "/tmp/sked_profile_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    OK(sked_machine_write(p->machine, path, err));
    OK(sked_machine_read(path, &m, err));
    unlink(path);
    OK(sked_machine_builder_create("measured", &b, err));
    for (int32_t d = 0; d < sked_machine_device_count(m); d++)
        OK(sked_machine_builder_add_device(b, sked_machine_device_name(m, d), d < 2 ? "pair" : NULL,
                                           sked_machine_device_speed(m, d), sked_machine_device_memory(m, d),
                                           NULL, err));
    OK(sked_machine_builder_set_link(b, 1, 2, err));
    for (int32_t i = 0; i < p->graph->n_ops; i++) {
        const int kind = (int)random_int(rng, 0, 7);
        sked_graph_op_name(p->graph, i, name, sizeof name);
        if (kind == 0 || kind == 1)
            OK(sked_machine_builder_add_duration(b, name, NULL, random_int(rng, 0, 9), err));
        if (kind == 2 || kind == 3)
            OK(sked_machine_builder_add_duration(b, name, "pair", random_int(rng, 0, 9), err));
        if (kind == 3 || kind == 4)
            OK(sked_machine_builder_add_duration(b, name, sked_machine_device_name(m, 1),
                                                 kind == 4 ? INFINITY : random_int(rng, 0, 9), err));
    }
    sked_machine_destroy(m);
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

/* Both judge a schedule, moved about, alike. */
static void same_verdicts(const sked_problem *a, const sked_problem *b, const sked_schedule *from,
                          sked_i_rng *rng)
{
    sked_schedule *s = NULL;
    OK(sked_schedule_clone(from, &s, err));
    for (int k = 0; k < 20; k++) {
        sked_error x = {0}, y = {0};
        const int32_t i = (int32_t)random_int(rng, 0, s->ops - 1);
        s->start[i] += random_int(rng, -2, 3);
        s->device[i] = (int32_t)random_int(rng, 0, s->devices - 1);
        assert_int_equal(sked_schedule_validate(a, s, &x), sked_schedule_validate(b, s, &y));
        assert_string_equal(x.message, y.message);
        s->start[i] = from->start[i];
        s->device[i] = from->device[i];
    }
    sked_schedule_destroy(s);
}

/* The library takes the profile into account for every caller, as if the graph had its durations. */
static void a_problem_takes_the_profile(void **state)
{
    (void)state;
    int solved = 0;
    for (uint64_t seed = 0; seed < CASES(200); seed++) {
        random_problem r;
        sked_i_rng rng;
        sked_graph *out = NULL;
        sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
        sked_metrics x = {.size = sizeof x}, y = {.size = sizeof y};
        sked_run_options opt;
        sked_target *target = NULL;
        sked_simulator *sim = NULL;
        double bound[2] = {0}, time[3] = {0};
        const char *why;
        random_problem_make(seed, RANDOM_UNEQUAL | RANDOM_LAGS | (seed % 2 ? RANDOM_REAL : 0), 2, 12, &r);
        sked_i_rng_seed(&rng, seed, 11);
        sked_machine *m = measured(&r.problem, &rng);
        sked_problem asked = r.problem;
        asked.machine = m;
        OK(sked_graph_profiled(asked.graph, m, &out, err));
        sked_problem given = asked;
        given.graph = out;
        for (int32_t i = 0; i < asked.graph->n_ops; i++)
            for (int32_t d = 0; d < asked.devices; d++)
                assert_true(sked_problem_duration(&asked, i, d) == sked_problem_duration(&given, i, d));
        sked_run_options_init(&opt);
        opt.iterations = 20;
        opt.time_limit = 60;
        const char *method = seed % 3 ? "search" : "heft";
        sked_error ex = {0}, ey = {0};
        const sked_status st = sked_method_run(method, &asked, &opt, &a, &ex);
        assert_int_equal(st, sked_method_run(method, &given, &opt, &b, &ey));
        assert_string_equal(ex.message, ey.message);
        if (st == SKED_OK) {
            const sked_schedule *s = a.schedule[0];
            solved++;
            assert_true(a.value == b.value && a.lower_bound == b.lower_bound);
            assert_memory_equal(s->start, b.schedule[0]->start, (size_t)s->ops * sizeof *s->start);
            OK(sked_schedule_validate(&asked, s, err));
            same_verdicts(&asked, &given, s, &rng);
            OK(sked_schedule_measure(&asked, s, &x, err));
            OK(sked_schedule_measure(&given, s, &y, err));
            assert_memory_equal(&x, &y, sizeof x);
            OK(sked_problem_bound(&asked, &bound[0], &why, err));
            OK(sked_problem_bound(&given, &bound[1], &why, err));
            assert_true(bound[0] == bound[1]);
            for (int k = 0; k < 2; k++) {
                sked_measurement one = {.size = sizeof one};
                OK(sked_target_create("noisy", k ? &given : &asked, 1, &target, err));
                OK(sked_target_measure(target, s, &one, err));
                time[k] = one.time;
                sked_measurement_clear(&one);
                sked_target_destroy(target);
            }
            assert_true(time[0] == time[1]);
            OK(sked_simulator_create(&asked, &sim, err));
            sked_simulator_run(sim, 1, s->device, asked.graph->topo, true, &time[0], NULL);
            sked_simulator_destroy(sim);
            OK(sked_simulator_create(&given, &sim, err));
            sked_simulator_run(sim, 1, s->device, asked.graph->topo, true, &time[1], NULL);
            sked_simulator_destroy(sim);
            assert_true(time[0] == time[1]);
        }
        sked_result_clear(&a);
        sked_result_clear(&b);
        sked_machine_destroy(m);
        sked_graph_destroy(out);
        random_problem_free(&r);
    }
    assert_true(solved > 50 || CASES(200) < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_takes_the_profile),
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
