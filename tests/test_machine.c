/* Machines: building, files, links, times, what is refused, and the judge, simulator and metrics on them. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "brute_force.h"
#include "formats/format.h"
#include "problem/costs.h"
#include "random_problem.h"
#include "schedule/profile.h"

/* ------------------------------------------------------------------ helpers */

static const char node[] =
    "{\"format\":\"sked-machine-1\",\"name\":\"node\",\"latency\":5,\"bandwidth\":100,\n"
    "\"devices\":[{\"name\":\"cpu0\",\"type\":\"cpu\",\"memory\":64},{\"name\":\"cpu1\",\"type\":\"cpu\"},\n"
    "{\"name\":\"gpu0\",\"type\":\"gpu\",\"speed\":8,\"memory\":24},{\"name\":\"gpu1\",\"type\":\"gpu\","
    "\"speed\":8}],\n"
    "\"links\":[{\"from\":\"cpu\",\"to\":\"gpu\",\"latency\":10,\"bandwidth\":2},\n"
    "{\"from\":\"gpu\",\"to\":\"gpu\",\"bandwidth\":20},\n"
    "{\"from\":\"cpu0\",\"to\":\"gpu1\",\"latency\":1,\"bandwidth\":1,\"oneway\":true}]}\n";

static void assert_link(const sked_machine *m, const char *from, const char *to, double latency,
                        double bandwidth)
{
    double l, b;
    assert_true(
        sked_machine_link(m, sked_machine_find_device(m, from), sked_machine_find_device(m, to), &l, &b));
    if (l != latency || b != bandwidth)
        fail_msg("%s -> %s: latency %g, bandwidth %g", from, to, l, b);
}

/* ------------------------------------------------------------------ files and links */

static void reads_devices_and_links(void **state)
{
    (void)state;
    sked_machine *m = must_machine(node);
    assert_string_equal(sked_machine_name(m), "node");
    assert_int_equal(sked_machine_device_count(m), 4);
    assert_string_equal(sked_machine_device_name(m, 2), "gpu0");
    assert_string_equal(sked_machine_device_type(m, 2), "gpu");
    assert_true(sked_machine_device_speed(m, 2) == 8 && sked_machine_device_speed(m, 0) == 1);
    assert_true(sked_machine_device_memory(m, 2) == 24 && isinf(sked_machine_device_memory(m, 3)));
    assert_int_equal(sked_machine_find_device(m, "gpu"), -1);
    assert_link(m, "cpu0", "cpu1", 5, 100);      /* no link of their own */
    assert_link(m, "cpu0", "gpu0", 10, 2);       /* by type */
    assert_link(m, "gpu0", "cpu1", 10, 2);       /* both ways */
    assert_link(m, "gpu0", "gpu1", 0, 20);       /* of one type */
    assert_link(m, "cpu0", "gpu1", 1, 1);        /* by name goes before by type */
    assert_link(m, "gpu1", "cpu0", 10, 2);       /* which is one way only */
    assert_link(m, "cpu0", "cpu0", 0, INFINITY); /* at home */
    sked_machine_destroy(m);
}

static void writes_what_it_read(void **state)
{
    (void)state;
    char path[] = "/tmp/sked_machine_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    sked_machine *m = must_machine(node), *again = NULL;
    OK(sked_machine_write(m, path, err));
    OK(sked_machine_read(path, &again, err));
    for (int32_t a = 0; a < 4; a++)
        for (int32_t b = 0; b < 4; b++) {
            double l, x, latency, bandwidth;
            assert_int_equal(sked_machine_link(m, a, b, &l, &x),
                             sked_machine_link(again, a, b, &latency, &bandwidth));
            assert_true(l == latency && x == bandwidth);
        }
    for (int32_t d = 0; d < 4; d++) {
        assert_string_equal(sked_machine_device_name(m, d), sked_machine_device_name(again, d));
        assert_true(sked_machine_device_memory(m, d) == sked_machine_device_memory(again, d));
    }
    sked_machine_destroy(m);
    sked_machine_destroy(again);
    remove(path);
}

#define MACHINE(rest) "{\"format\":\"sked-machine-1\"," rest "}"
#define DEVICES       "\"devices\":[{\"name\":\"a\",\"type\":\"t\"},{\"name\":\"b\",\"type\":\"t\"}]"

static void refuses_bad_machines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } list[] = {
        {"[]", "a machine must be an object"},
        {"{" DEVICES "}", "needs \"format\""},
        {MACHINE("\"name\":\"x\""), "needs \"format\": \"sked-machine-1\" and \"devices\""},
        {"{\"format\":\"sked-graph-1\"," DEVICES "}", "the format is 'sked-graph-1'"},
        {MACHINE("\"devices\":[]"), "at least one device"},
        {MACHINE("\"devices\":[{\"type\":\"t\"}]"), "a device without \"name\""},
        {MACHINE("\"devices\":[{\"name\":\"\"}]"), "needs a name"},
        {MACHINE("\"devices\":[{\"name\":\"a\"},\n{\"name\":\"a\"}]"),
         "m.json:2: two devices are called 'a'"},
        {MACHINE("\"devices\":[{\"name\":\"a\",\"speed\":0}]"), "speed must be a finite number above 0"},
        {MACHINE("\"devices\":[{\"name\":\"a\",\"memory\":-1}]"), "memory must be 0 or more"},
        {MACHINE("\"devices\":[{\"name\":\"a\",\"colour\":1}]"), "no key \"colour\""},
        {MACHINE("\"latency\":-1," DEVICES), "latency must be"},
        {MACHINE("\"bandwidth\":0," DEVICES), "bandwidth must be above 0"},
        {MACHINE(DEVICES ",\"links\":[{\"from\":\"a\"}]"), "needs both \"from\" and \"to\""},
        {MACHINE(DEVICES ",\"links\":[{\"from\":\"a\",\"to\":\"a\"}]"), "joins device 'a' with itself"},
        {MACHINE(DEVICES ",\"links\":[{\"from\":\"a\",\"to\":\"z\"}]"), "names 'z', which is no device"},
        {MACHINE(DEVICES ",\"links\":[{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"b\",\"to\":\"a\"}]"),
         "is given twice"},
        {MACHINE(DEVICES ",\"links\":[{\"from\":\"t\",\"to\":\"t\"},{\"from\":\"t\",\"to\":\"t\"}]"),
         "the link from 't' to 't' is given twice"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_machine *m = NULL;
        FAILS(SKED_ERR_FORMAT, list[i].part,
              sked_machine_parse("m.json", list[i].text, strlen(list[i].text), &m, err));
        assert_null(m);
    }
    for (size_t n = 0; n < sizeof node - 3; n++) {
        sked_machine *m = NULL;
        FAILS(SKED_ERR_FORMAT, "m.json:", sked_machine_parse("m.json", node, n, &m, err));
    }
}

/* Links by type keep the table small; links of very many devices by name are refused, not taken in squares.
 */
static void table_of_links_is_bounded(void **state)
{
    (void)state;
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    char name[32];
    OK(sked_machine_builder_create(NULL, &b, err));
    for (int d = 0; d < 20000; d++) {
        snprintf(name, sizeof name, "d%d", d);
        OK(sked_machine_builder_add_device(b, name, d % 2 ? "odd" : "even", 1, INFINITY, NULL, err));
    }
    OK(sked_machine_builder_add_link(b, "odd", "even", 3, 4, false, err));
    OK(sked_machine_builder_finish(b, &m, err));
    assert_link(m, "d7", "d18", 3, 4);
    double l, x;
    assert_false(sked_machine_link(m, 1, 3, &l, &x));
    sked_machine_destroy(m);
    sked_machine_builder_destroy(b);
    OK(sked_machine_builder_create(NULL, &b, err));
    for (int d = 0; d < 2000; d++) {
        snprintf(name, sizeof name, "d%d", d);
        OK(sked_machine_builder_add_device(b, name, NULL, 1, INFINITY, NULL, err));
        if (d > 0)
            OK(sked_machine_builder_add_link(b, name, "d0", 1, 1, false, err));
    }
    FAILS(SKED_ERR_UNSUPPORTED, "more than 1024", sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
}

/* ------------------------------------------------------------------ times */

static const char three_ops[] =
    "{\"ops\":[{\"name\":\"a\",\"duration\":8,\"durations\":{\"gpu\":2,\"gpu1\":3,\"npu\":1}},\n"
    "{\"name\":\"b\",\"duration\":16,\"durations\":{\"cpu1\":null},\"memory\":7,\"keep\":true},\n"
    "{\"name\":\"c\",\"duration\":4}],\n"
    "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":40},{\"from\":\"b\",\"to\":\"c\",\"lag\":1}]}";

static void times_by_name_type_and_speed(void **state)
{
    (void)state;
    sked_machine *m = must_machine(node);
    sked_graph *g = must_graph(three_ops);
    sked_problem p;
    sked_i_costs c = {0};
    static const double want[3][4] = {{8, 8, 2, 3}, {16, INFINITY, 2, 2}, {4, 4, 0.5, 0.5}};
    sked_problem_init(&p, g);
    p.machine = m;
    OK(sked_problem_check(&p, err));
    OK(sked_i_costs_make(&p, &c, err));
    for (int32_t i = 0; i < 3; i++)
        for (int32_t d = 0; d < 4; d++) {
            assert_true(sked_problem_duration(&p, i, d) == want[i][d]);
            assert_true(sked_i_time(&c, i, d) == want[i][d]);
        }
    assert_true(sked_i_lag(&c, 0, 2) == 2 && sked_i_lag(&c, 1, 2) == 1); /* a lag that was written stays */
    assert_true(sked_problem_transfer(&p, 0, 0, 2) == 30 && sked_problem_transfer(&p, 0, 2, 2) == 0);
    assert_true(sked_i_shortest_time(&c, 1) == 2 && sked_i_longest_time(&c, 1) == 16);
    assert_true(fabs(sked_i_mean_time(&c, 1) - 20.0 / 3) < 1e-12);
    assert_true(sked_graph_keep(g, 1) && !sked_graph_keep(g, 0));
    assert_int_equal(sked_graph_duration_name_count(g), 4);
    assert_true(isnan(sked_graph_duration_on(g, 2, "gpu")) && isinf(sked_graph_duration_on(g, 1, "cpu1")));
    sked_i_costs_free(&c);
    sked_graph_destroy(g);
    sked_machine_destroy(m);
}

static void graph_fields_round_trip(void **state)
{
    (void)state;
    char path[] = "/tmp/sked_graph_XXXXXX";
    assert_true(mkstemp(path) >= 0);
    sked_graph *g = must_graph(three_ops), *again = NULL, *other = NULL;
    OK(sked_graph_write(g, path, "native", err));
    const sked_read_options opt = {.size = sizeof opt, .format = "native"};
    OK(sked_graph_read(path, &opt, &again, err));
    assert_true(sked_graph_equal(g, again));
    remove(path);
    char text[sizeof three_ops];
    memcpy(text, three_ops, sizeof text);
    memcpy(strstr(text, "\"npu\":1"), "\"npu\":2", 7);
    other = must_graph(text);
    assert_false(sked_graph_equal(g, other));
    sked_graph_destroy(other);
    memcpy(text, three_ops, sizeof text);
    memcpy(strstr(text, "true"), "null", 4);
    FAILS(SKED_ERR_FORMAT, "keep", sked_graph_parse("g.json", text, strlen(text), NULL, &other, err));
    static const struct {
        const char *durations, *part;
    } bad[] = {{"{\"x\":-1}", "a duration by device must be"},
               {"{\"x\":1,\"x\":2}", "two durations on 'x'"},
               {"[1]", "an op's durations"},
               {"{\"x\":\"1\"}", "a duration"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char one[200];
        snprintf(one, sizeof one, "{\"ops\":[{\"duration\":1,\"durations\":%s}],\"edges\":[]}",
                 bad[i].durations);
        FAILS(SKED_ERR_FORMAT, bad[i].part, sked_graph_parse("g.json", one, strlen(one), NULL, &other, err));
    }
    sked_graph_destroy(g);
    sked_graph_destroy(again);
}

/* ------------------------------------------------------------------ what is refused */

static void refuses_what_no_device_can_do(void **state)
{
    (void)state;
    sked_problem p;
    sked_machine *m = must_machine(MACHINE("\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"}]"));
    sked_graph *g =
        must_graph("{\"ops\":[{\"name\":\"a\",\"duration\":1,\"durations\":{\"x\":null,\"y\":null}}],"
                   "\"edges\":[]}");
    sked_problem_init(&p, g);
    p.machine = m;
    FAILS(SKED_ERR_INFEASIBLE, "op 'a' cannot run on any of the 2 devices", sked_problem_check(&p, err));
    sked_graph_destroy(g);
    g = must_graph(
        "{\"ops\":[{\"name\":\"a\",\"duration\":1,\"durations\":{\"x\":null}},{\"name\":\"b\",\"duration\":1,"
        "\"durations\":{\"y\":null}}],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1}]}");
    p.graph = g;
    FAILS(SKED_ERR_INFEASIBLE, "the data of op 'a' cannot reach op 'b'", sked_problem_check(&p, err));
    const int32_t fix[2] = {0, -1};
    p.fix_device = fix;
    FAILS(SKED_ERR_INFEASIBLE, "op 'a' is fixed on device 'x', which cannot run it",
          sked_problem_check(&p, err));
    p.fix_device = NULL;
    p.latency = 1;
    FAILS(SKED_ERR_ARGUMENT, "the machine's own", sked_problem_check(&p, err));
    p.latency = 0;
    p.devices = 3;
    FAILS(SKED_ERR_ARGUMENT, "the machine has 2 devices, the problem says 3", sked_problem_check(&p, err));
    p.devices = 0;
    p.memory_limit = NAN;
    FAILS(SKED_ERR_ARGUMENT, "memory limit", sked_problem_check(&p, err));
    p.memory_limit = 10;
    p.ii = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "pipelined", sked_problem_check(&p, err));
    sked_graph_destroy(g);
    sked_machine_destroy(m);
}

/* ------------------------------------------------------------------ judge, simulator, metrics */

static void judge_names_devices(void **state)
{
    (void)state;
    sked_machine *m = must_machine(node);
    sked_graph *g = must_graph(three_ops);
    sked_problem p;
    sked_schedule *s = NULL;
    sked_metrics x = {.size = sizeof x};
    sked_problem_init(&p, g);
    p.machine = m;
    OK(sked_schedule_create(3, 4, &s, err));
    s->device[0] = 2; /* a: 0..2, its data on cpu0 at 2 + 10 + 40 / 2 = 32 */
    s->start[1] = 32; /* b on cpu0: 32..48, c follows one later */
    s->device[2] = 3;
    s->start[2] = 34;
    OK(sked_schedule_validate(&p, s, err)); /* b -> c: lag 1 and latency 1, no bytes */
    OK(sked_schedule_measure(&p, s, &x, err));
    assert_true(x.makespan == 48 && x.transfer == 31);
    assert_true(x.speedup == 4.5 / 48); /* all on gpu0: 2 + 2 + 0.5 */
    s->start[2] = 33.5;
    FAILS(SKED_ERR_INVALID, "op 'c' starts at 33.5, but 'b' (start 32, lag 1, transfer",
          sked_schedule_validate(&p, s, err));
    s->start[2] = 34;
    s->device[1] = 1;
    FAILS(SKED_ERR_INVALID, "op 'b' runs on device 'cpu1', which cannot run it",
          sked_schedule_validate(&p, s, err));
    s->device[1] = s->device[2] = 2;
    s->start[1] = 2;
    s->start[2] = 3.5;
    FAILS(SKED_ERR_INVALID, "device 'gpu0' runs more than one op", sked_schedule_validate(&p, s, err));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    sked_machine_destroy(m);
}

/* The simulator gives the starts that the step-by-step reading of the rules gives. */
static void simulator_on_random_machines(void **state)
{
    (void)state;
    int finite = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        random_problem r;
        static brute b;
        sked_simulator *sim = NULL;
        sked_i_rng rng;
        int32_t device[64], order[64];
        double makespan, start[64], latest = 0, available[8] = {0};
        random_problem_make(seed, RANDOM_UNEQUAL | (seed % 2 ? RANDOM_LAGS : RANDOM_REAL), 3, 9, &r);
        sked_i_rng_seed(&rng, seed, 5);
        brute_load(&b, &r.problem);
        OK(sked_simulator_create(&r.problem, &sim, err));
        for (int32_t i = 0; i < b.n; i++)
            b.device[i] = device[i] = random_int(&rng, 0, r.problem.devices - 1);
        for (int k = 0; k < b.n; k++) {
            const int i = order[k] = b.order[k];
            b.start[i] = available[device[i]];
            for (int e = 0; e < b.edges; e++)
                if (b.edge[e].to == i)
                    b.start[i] = fmax(b.start[i],
                                      b.start[b.edge[e].from] + brute_lag(&b, e) +
                                          brute_transfer(&b, &b.edge[e], device[b.edge[e].from], device[i]));
            available[device[i]] = b.start[i] + brute_time(&b, i);
            latest = fmax(latest, available[device[i]]);
        }
        sked_simulator_run(sim, 1, device, order, true, &makespan, start);
        assert_true(makespan == latest);
        finite += makespan < INFINITY;
        sked_simulator_destroy(sim);
        random_problem_free(&r);
    }
    assert_in_range(finite, 20, 400);
}

/* A machine file of identical devices is the short form: the same bytes from every method that takes both. */
static void identical_devices_are_the_short_form(void **state)
{
    (void)state;
    sked_machine *m = must_machine(
        MACHINE("\"latency\":2,\"bandwidth\":1,\"devices\":[{\"name\":\"p\",\"type\":\"t\"},{\"name\":\"q\","
                "\"type\":\"t\"},{\"name\":\"r\",\"type\":\"t\"}]"));
    for (int k = 0; k < sked_method_count(); k++) {
        const sked_method_info *info = sked_method_at(k);
        const uint32_t need = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_MAKESPAN;
        random_problem r;
        sked_run_options opt;
        sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
        if ((info->features & need) != need)
            continue;
        random_problem_make(7, 0, 20, 20, &r);
        sked_run_options_init(&opt);
        opt.iterations = 5;
        opt.time_limit = INFINITY;
        r.problem.devices = 3;
        r.problem.latency = 2;
        r.problem.bandwidth = 1;
        OK(sked_method_run(info->name, &r.problem, &opt, &a, err));
        r.problem.devices = 0;
        r.problem.latency = 0;
        r.problem.bandwidth = INFINITY;
        r.problem.machine = m;
        OK(sked_method_run(info->name, &r.problem, &opt, &b, err));
        assert_memory_equal(a.schedule[0]->start, b.schedule[0]->start, 20 * sizeof(double));
        assert_memory_equal(a.schedule[0]->device, b.schedule[0]->device, 20 * sizeof(int32_t));
        sked_result_clear(&a);
        sked_result_clear(&b);
        random_problem_free(&r);
    }
    sked_machine_destroy(m);
}

/* Equal devices of another speed, or with durations by their type, are as good as the short form, too. */
static void one_class_of_devices_takes_every_method(void **state)
{
    (void)state;
    sked_machine *m =
        must_machine(MACHINE("\"latency\":0,\"devices\":[{\"name\":\"p\",\"type\":\"gpu\",\"speed\":2},"
                             "{\"name\":\"q\",\"type\":\"gpu\",\"speed\":2}]"));
    sked_graph *g =
        must_graph("{\"ops\":[{\"duration\":4},{\"duration\":4},{\"duration\":9,\"durations\":{\"gpu\":1}}],"
                   "\"edges\":[[0,2]]}");
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_problem_init(&p, g);
    p.machine = m;
    OK(sked_method_run("exact", &p, NULL, &r, err));
    assert_true(r.optimal && r.value == 3);
    OK(sked_schedule_validate(&p, r.schedule[0], err));
    sked_result_clear(&r);
    sked_graph_destroy(g);
    sked_machine_destroy(m);
}

/* ------------------------------------------------------------------ schedules by the names of devices */

static void schedules_name_devices(void **state)
{
    (void)state;
    sked_machine *m = must_machine(node);
    sked_graph *g = must_graph("{\"ops\":[{\"name\":\"a\",\"duration\":8}],\"edges\":[]}");
    sked_problem p;
    sked_schedule *s = NULL, *again = NULL;
    sked_i_buffer text = {0};
    sked_problem_init(&p, g);
    p.machine = m;
    OK(sked_schedule_create(1, 4, &s, err));
    s->device[0] = 3;
    OK(sked_i_native_schedule_write(&p, s, &text, err));
    assert_non_null(strstr(text.data, "\"device_names\":[\"cpu0\",\"cpu1\",\"gpu0\",\"gpu1\"]"));
    assert_non_null(strstr(text.data, "\"finish\":1,\"device\":3"));
    OK(sked_schedule_parse("s.json", text.data, (size_t)text.size, &p, &again, err));
    assert_int_equal(again->device[0], 3);
    sked_schedule_destroy(again);
#define SCHEDULE(ops) "{\"format\":\"sked-schedule-1\",\"devices\":4," ops "}"
    const char *named = SCHEDULE("\"ops\":[{\"name\":\"a\",\"start\":0,\"device\":\"gpu0\",\"finish\":1}]");
    OK(sked_schedule_parse("s.json", named, strlen(named), &p, &again, err));
    assert_int_equal(again->device[0], 2);
    sked_schedule_destroy(again);
    static const struct {
        const char *text, *part;
    } bad[] = {
        {SCHEDULE("\"ops\":[{\"name\":\"a\",\"start\":0,\"device\":\"gpu9\"}]"),
         "the machine has no device 'gpu9'"},
        {SCHEDULE("\"ops\":[{\"name\":\"a\",\"start\":0,\"device\":0,\"finish\":1}]"), "cannot finish at 1"},
        {SCHEDULE("\"device_names\":[\"cpu0\",\"gpu0\"],\"ops\":[]"),
         "device 1 is called 'gpu0' in the schedule"},
        {"{\"format\":\"sked-schedule-1\",\"devices\":3,\"ops\":[]}", "for 3 devices, the machine has 4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(SKED_ERR_INVALID, bad[i].part,
              sked_schedule_parse("s.json", bad[i].text, strlen(bad[i].text), &p, &again, err));
    const char *fix = "{\"format\":\"sked-fix-1\",\"ops\":[{\"name\":\"a\",\"device\":\"cpu1\"}]}";
    int32_t *device = NULL;
    double *start = NULL;
    OK(sked_fix_parse("f.json", fix, strlen(fix), &p, &device, &start, err));
    assert_int_equal(device[0], 1);
    sked_free(device);
    sked_free(start);
    p.machine = NULL;
    FAILS(SKED_ERR_FORMAT, "there is no machine with names",
          sked_fix_parse("f.json", fix, strlen(fix), &p, &device, &start, err));
    sked_i_buffer_free(&text);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    sked_machine_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_devices_and_links),
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(refuses_bad_machines),
        cmocka_unit_test(table_of_links_is_bounded),
        cmocka_unit_test(times_by_name_type_and_speed),
        cmocka_unit_test(graph_fields_round_trip),
        cmocka_unit_test(refuses_what_no_device_can_do),
        cmocka_unit_test(judge_names_devices),
        cmocka_unit_test(simulator_on_random_machines),
        cmocka_unit_test(identical_devices_are_the_short_form),
        cmocka_unit_test(one_class_of_devices_takes_every_method),
        cmocka_unit_test(schedules_name_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
