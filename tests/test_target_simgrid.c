/* Target simgrid: times against those worked out by hand from the platform, hosts, errors. */
#define _GNU_SOURCE
#include "test.h"

#include "base/thread.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM       SKED_BINARY_DIR "/sked-simgrid"
#define PLATFORM      SKED_BINARY_DIR "/test_target_simgrid.xml"
#define SPEC(options) "simgrid,program=" PROGRAM options ":" PLATFORM

/*
 * Three hosts: n2 is twice as fast as the others. a and b share the link to n2: 100 bytes a second,
 * latency 1. The plain network model: transfers take latency + bytes / bandwidth.
 */
static const char platform[] =
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "<config><prop id=\"network/model\" value=\"CM02\"/><prop id=\"network/crosstraffic\" "
    "value=\"0\"/></config>\n"
    "<zone id=\"z\" routing=\"Full\">\n"
    "<host id=\"n10\" speed=\"10f\" core=\"2\"/><host id=\"n1\" speed=\"10f\"/><host id=\"n2\" "
    "speed=\"20f\"/>\n"
    "<link id=\"l\" bandwidth=\"100Bps\" latency=\"1s\"/><link id=\"k\" bandwidth=\"1000Bps\" "
    "latency=\"0\"/>\n"
    "<route src=\"n1\" dst=\"n2\"><link_ctn id=\"l\"/></route>\n"
    "<route src=\"n10\" dst=\"n2\"><link_ctn id=\"l\"/></route>\n"
    "<route src=\"n1\" dst=\"n10\"><link_ctn id=\"k\"/></route>\n"
    "</zone></platform>\n";

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int open_platform(void **state)
{
    (void)state;
    write_text(PLATFORM, platform);
    return 0;
}

static void need_simgrid(void)
{
    if (access(PROGRAM, X_OK) != 0) {
        print_message("skipped: SimGrid was not there when sked was built\n");
        skip();
    }
}

static void near(double is, double wanted)
{
    if (!(fabs(is - wanted) <= 1e-6 * fabs(wanted)))
        fail_msg("%.12g, not %.12g", is, wanted);
}

/* a and b each give 400 bytes to c, a 200 to d as well; e reads d without bytes. */
static sked_graph *make_graph(void)
{
    return must_graph(
        "{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":2},{\"name\":\"b\",\"duration\":"
        "2},"
        "{\"name\":\"c\",\"duration\":4},{\"name\":\"d\",\"duration\":2,\"memory\":500},"
        "{\"name\":\"e\",\"duration\":0}],\"edges\":[{\"from\":\"a\",\"to\":\"c\",\"bytes\":400},"
        "{\"from\":\"b\",\"to\":\"c\",\"bytes\":400},{\"from\":\"a\",\"to\":\"d\",\"bytes\":200},"
        "{\"from\":\"c\",\"to\":\"d\",\"bytes\":1},[\"d\",\"e\"]]}");
}

static sked_schedule *make_schedule(const int32_t *device)
{
    static const double start[] = {0, 0.5, 10, 20, 30};
    sked_schedule *s = NULL;
    OK(sked_schedule_create(5, 3, &s, err));
    memcpy(s->start, start, sizeof start);
    memcpy(s->device, device, 5 * sizeof *device);
    return s;
}

static void run_on(const char *spec, const sked_problem *p, const int32_t *device, sked_measurement *m)
{
    sked_target *t = NULL;
    sked_schedule *s = make_schedule(device);
    OK(sked_target_create(spec, p, 0, &t, err));
    OK(sked_target_measure(t, s, m, err));
    sked_target_destroy(t);
    sked_schedule_destroy(s);
}

/* Device 0 is n1, 1 is n2, 2 is n10: by name, 2 before 10. */
static void test_by_hand(void **state)
{
    (void)state;
    static const int32_t apart[] = {0, 2, 1, 1, 1}, together[] = {0, 0, 0, 0, 0},
                         crossing[] = {0, 0, 0, 0, 1};
    sked_graph *g = make_graph();
    sked_problem p;
    sked_measurement m = {.size = sizeof m};
    need_simgrid();
    sked_problem_init(&p, g);
    p.devices = 3;
    /* a and b end at 2. Their results, a's once and with the bytes of c, share 100 bytes a second: 1 + 800 /
     * 100. c and d take half as long on n2. */
    run_on(SPEC(""), &p, apart, &m);
    near(m.time, 2 + 1 + 8 + 2 + 1);
    near(m.start[2], 11);
    near(m.finish[2], 13);
    near(m.start[3], 13);
    near(m.finish[4], 14);
    assert_true(m.start[0] == 0 && m.device[1] == 2 && m.runs == 1);
    sked_measurement_clear(&m);
    run_on(SPEC(""), &p, together, &m);
    near(m.time, 10);
    sked_measurement_clear(&m);
    /* d's memory goes to e, whose edge has no bytes of its own. */
    run_on(SPEC(""), &p, crossing, &m);
    near(m.time, 10 + 1 + 5);
    sked_measurement_clear(&m);
    sked_graph_destroy(g);
}

static void test_options(void **state)
{
    (void)state;
    static const int32_t apart[] = {0, 2, 1, 1, 1};
    sked_graph *g = make_graph();
    sked_problem p;
    sked_measurement m = {.size = sizeof m};
    need_simgrid();
    sked_problem_init(&p, g);
    p.devices = 3;
    run_on(SPEC(",hosts=n10/n10/n10"), &p, apart, &m); /* two cores, one memory */
    near(m.time, 2 + 4 + 2);
    sked_measurement_clear(&m);
    run_on(SPEC(",speed=20"), &p, apart, &m); /* all ops take twice as long */
    near(m.time, 4 + 1 + 8 + 4 + 2);
    sked_measurement_clear(&m);
    run_on(SPEC(",unit=2"), &p, apart,
           &m); /* ops twice as long in seconds, transfers half as long in durations */
    near(m.time, (4 + 1 + 8 + 4 + 2) / 2.);
    sked_measurement_clear(&m);
    run_on(SPEC(",trace=false"), &p, apart, &m);
    near(m.time, 14);
    assert_null(m.start);
    sked_measurement_clear(&m);
    sked_graph_destroy(g);
}

/* Devices that are called as hosts are, and times that are the machine's. */
static void test_machine(void **state)
{
    (void)state;
    static const int32_t apart[] = {0, 2, 1, 1, 1};
    sked_graph *g = make_graph();
    sked_machine *named =
        must_machine("{\"format\":\"sked-machine-1\",\"latency\":0,\"devices\":[{\"name\":\"n2\"},"
                     "{\"name\":\"n1\",\"speed\":4},{\"name\":\"n10\"}]}");
    sked_machine *other =
        must_machine("{\"format\":\"sked-machine-1\",\"latency\":0,\"devices\":[{\"name\":\"x\"},"
                     "{\"name\":\"n1\"},{\"name\":\"n10\"}]}");
    sked_problem p;
    sked_target *t = NULL;
    sked_measurement m = {.size = sizeof m};
    need_simgrid();
    sked_problem_init(&p, g);
    p.devices = 3;
    p.machine = named;
    /* a on n2, b on n10, the others on n1, four times as fast by the machine. a arrives after 1 + 400 / 100.
     */
    run_on(SPEC(""), &p, apart, &m);
    near(m.time, 2 + 1 + 4 + 1 + 0.5);
    sked_measurement_clear(&m);
    FAILS(SKED_ERR_ARGUMENT, "speed= does nothing", sked_target_create(SPEC(",speed=1"), &p, 0, &t, err));
    p.machine = other; /* no host is called x: in order */
    run_on(SPEC(""), &p, apart, &m);
    near(m.time, 2 + 1 + 8 + 4 + 2);
    sked_measurement_clear(&m);
    sked_machine_destroy(named);
    sked_machine_destroy(other);
    sked_graph_destroy(g);
}

typedef struct same_time {
    const sked_problem *problem;
    double time[4];
} same_time;

static void measure_one(void *data, int index)
{
    static const int32_t apart[] = {0, 2, 1, 1, 1};
    same_time *x = data;
    sked_measurement m = {.size = sizeof m};
    run_on(SPEC(""), x->problem, apart, &m);
    x->time[index] = m.time;
    sked_measurement_clear(&m);
}

/* The same time whenever and on whichever thread it is asked for. */
static void test_at_once(void **state)
{
    (void)state;
    enum { threads = 4 };
    sked_graph *g = make_graph();
    sked_problem p;
    same_time x = {.problem = &p};
    need_simgrid();
    sked_problem_init(&p, g);
    p.devices = 3;
    OK(sked_i_parallel(threads, measure_one, &x, err));
    for (int k = 0; k < threads; k++)
        assert_true(x.time[k] == x.time[0]);
    sked_graph_destroy(g);
}

static void test_loop(void **state)
{
    (void)state;
    sked_graph *g = make_graph();
    sked_problem p;
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    need_simgrid();
    sked_problem_init(&p, g);
    p.devices = 3;
    sked_robust_options_init(&opt);
    opt.measurements = 3;
    opt.iterations = 20;
    opt.time_limit = INFINITY;
    OK(sked_robust(&p, SPEC(""), &opt, &r, err));
    assert_true(r.measurements >= 1 && r.failures == 0 && r.winner >= 0);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ errors */

/* A program that finds no library, as the one of a package where SimGrid is not installed. */
#define BARE SKED_BINARY_DIR "/test_target_simgrid_bare"

static void test_errors(void **state)
{
    (void)state;
    static const char broken[] = SKED_BINARY_DIR "/test_target_simgrid_broken.xml";
    sked_graph *g = make_graph();
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 3;
    FAILS(SKED_ERR_ARGUMENT, "wants a platform file", sked_target_create("simgrid", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "wants a platform file", sked_target_create("simgrid:lib.so", &p, 0, &t, err));
    FAILS(SKED_ERR_IO, "nowhere.xml: cannot read", sked_target_create("simgrid:nowhere.xml", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "stands alone", sked_target_create("noisy+simgrid:x.xml", &p, 0, &t, err));
    FAILS(SKED_ERR_IO, "is no program",
          sked_target_create("simgrid,program=/none:" PLATFORM, &p, 0, &t, err));
    write_text(BARE,
               "#!/bin/sh\necho \"$0: error while loading shared libraries: libsimgrid.so.3: not found\"\n"
               "exit 127\n");
    assert_int_equal(chmod(BARE, 0755), 0);
    FAILS(SKED_ERR_UNSUPPORTED, "install it (Debian: libsimgrid-dev)",
          sked_target_create("simgrid,program=" BARE ":" PLATFORM, &p, 0, &t, err));
    need_simgrid();
    FAILS(SKED_ERR_ARGUMENT, "names 2 hosts, and there are 3",
          sked_target_create(SPEC(",hosts=n1/n2"), &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "no host called 'n3'",
          sked_target_create(SPEC(",hosts=n1/n2/n3"), &p, 0, &t, err));
    p.devices = 4;
    FAILS(SKED_ERR_ARGUMENT, "3 hosts for 4 devices", sked_target_create(SPEC(""), &p, 0, &t, err));
    p.devices = 3;
    write_text(broken, "<platform");
    FAILS(SKED_ERR_FORMAT, "test_target_simgrid_broken.xml",
          sked_target_create("simgrid,program=" PROGRAM ":" SKED_BINARY_DIR "/test_target_simgrid_broken.xml",
                             &p, 0, &t, err));
    assert_null(t);
    sked_graph_destroy(g);
}

/* Hosts without a route between them: the platform loads, and the schedule that needs one fails. */
static void test_no_route(void **state)
{
    (void)state;
    static const int32_t apart[] = {0, 2, 1, 1, 1}, together[] = {0, 0, 0, 0, 0};
    static const char path[] = SKED_BINARY_DIR "/test_target_simgrid_islands.xml";
    sked_graph *g = make_graph();
    sked_problem p;
    sked_target *t = NULL;
    sked_schedule *one = make_schedule(together), *many = make_schedule(apart);
    double time = 0;
    need_simgrid();
    write_text(path, "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                     "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/>"
                     "<host id=\"b\" speed=\"1f\"/><host id=\"c\" speed=\"1f\"/></zone></platform>\n");
    sked_problem_init(&p, g);
    p.devices = 3;
    OK(sked_target_create("simgrid,program=" PROGRAM ":" SKED_BINARY_DIR "/test_target_simgrid_islands.xml",
                          &p, 0, &t, err));
    OK(measured_time(t, one, &time, err));
    near(time, 10);
    FAILS(SKED_ERR_DEVICE, "SimGrid", measured_time(t, many, &time, err));
    OK(measured_time(t, one, &time, err));
    sked_target_destroy(t);
    sked_schedule_destroy(one);
    sked_schedule_destroy(many);
    sked_graph_destroy(g);
}

/* A program that is none of ours answers nonsense, fails or hangs. */
static void test_strange_programs(void **state)
{
    (void)state;
    sked_graph *g = make_graph();
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 3;
    FAILS(SKED_ERR_FORMAT, "ended with an error",
          sked_target_create("simgrid,program=/bin/false:" PLATFORM, &p, 0, &t, err));
    OK(sked_target_create("simgrid,program=/bin/true:" PLATFORM, &p, 0, &t, err));
    static const int32_t together[] = {0, 0, 0, 0, 0};
    sked_schedule *s = make_schedule(together);
    double time;
    FAILS(SKED_ERR_DEVICE, "sked-simgrid", measured_time(t, s, &time, err));
    sked_target_destroy(t);
    t = NULL;
    write_text(SKED_BINARY_DIR "/test_target_simgrid.sh", "#!/bin/sh\nexec sleep 100\n");
    assert_int_equal(system("chmod +x '" SKED_BINARY_DIR "/test_target_simgrid.sh'"), 0);
    FAILS(SKED_ERR_DEVICE, "time-out",
          sked_target_create("simgrid,timeout=0.05,program=" SKED_BINARY_DIR
                             "/test_target_simgrid.sh:" PLATFORM,
                             &p, 0, &t, err));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* The platforms that come with sked, on all their hosts. */
static void test_examples(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int32_t devices;
    } examples[] = {
        {"simgrid,program=" PROGRAM ":" SKED_SOURCE_DIR "/examples/platforms/two-clusters.xml", 8},
        {"simgrid,program=" PROGRAM ",speed=1e9:" SKED_SOURCE_DIR "/examples/platforms/gpu-node.xml", 5}};
    need_simgrid();
    sked_graph *g = NULL;
    OK(sked_graph_read(SKED_SOURCE_DIR "/examples/cholesky.json", NULL, &g, err));
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
        sked_problem p;
        sked_target *t = NULL;
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        double time = 0;
        sked_problem_init(&p, g);
        p.devices = examples[k].devices;
        sked_run_options_init(&opt);
        OK(sked_method_run("list", &p, &opt, &r, err));
        OK(sked_target_create(examples[k].spec, &p, 0, &t, err));
        OK(measured_time(t, r.schedule[0], &time, err));
        assert_true(time > 0);
        sked_target_destroy(t);
        sked_result_clear(&r);
    }
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_options),
        cmocka_unit_test(test_machine),  cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_loop),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_no_route), cmocka_unit_test(test_strange_programs),
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests(tests, open_platform, NULL);
}
