/* Target threads: orders kept, data read, traces that could have been, limits and errors. Nothing of speed.
 */
#define _GNU_SOURCE
#include "test.h"

#include "base/thread.h"
#include "target/busy.h"
#include "target/cores.h"
#include "target/threads.h"

#include <math.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#define HERE "threads:oversubscribe=true,unit=1e-5"

/* Five ops in a diamond with a tail; memory and bytes differ. */
static sked_graph *diamond(void)
{
    return must_graph("{\"format\":\"sked-graph-1\",\"ops\":["
                      "{\"name\":\"a\",\"duration\":2,\"memory\":5000,\"type\":\"Conv\"},"
                      "{\"name\":\"b\",\"duration\":3,\"memory\":70,\"type\":\"Relu\"},"
                      "{\"name\":\"c\",\"duration\":1,\"type\":\"Conv\"},"
                      "{\"name\":\"d\",\"duration\":4,\"memory\":3},"
                      "{\"name\":\"e\",\"duration\":0}],"
                      "\"edges\":[[\"a\",\"b\"],{\"from\":\"a\",\"to\":\"c\",\"bytes\":9000},[\"b\",\"d\"],"
                      "[\"c\",\"d\"],[\"d\",\"e\"],{\"from\":\"e\",\"to\":\"a\",\"distance\":1}]}");
}

static sked_schedule *diamond_schedule(void)
{
    static const double start[] = {0, 2, 2, 5, 9};
    static const int32_t device[] = {0, 0, 1, 1, 0};
    sked_schedule *s = NULL;
    OK(sked_schedule_create(5, 2, &s, err));
    memcpy(s->start, start, sizeof start);
    memcpy(s->device, device, sizeof device);
    return s;
}

/* Starts after all producers have finished; one op at a time on a device, in the order of the schedule. */
static void check_trace(const sked_graph *g, const sked_schedule *s, const sked_measurement *m)
{
    double latest = 0;
    for (int32_t i = 0; i < s->ops; i++) {
        assert_true(m->start[i] >= 0 && m->finish[i] >= m->start[i]);
        assert_int_equal(m->device[i], s->device[i]);
        latest = fmax(latest, m->finish[i]);
    }
    for (int64_t k = 0; k < g->n_edges; k++)
        if (g->edge_distance[k] == 0)
            assert_true(m->start[g->edge_to[k]] >= m->finish[g->edge_from[k]]);
    for (int32_t i = 0; i < s->ops; i++)
        for (int32_t k = 0; k < s->ops; k++)
            if (s->device[i] == s->device[k] && s->start[i] < s->start[k])
                assert_true(m->start[k] >= m->finish[i]);
    if (m->runs == 1)
        assert_true(latest == m->time);
}

static void test_trace(void **state)
{
    (void)state;
    static const char *const specs[] = {HERE ",repeat=1,warm-up=0", HERE ",kind=memory",
                                        HERE ",kind=arithmetic", HERE ",memory-scale=100"};
    sked_graph *g = diamond();
    sked_schedule *s = diamond_schedule();
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        sked_target *t = NULL;
        sked_measurement m = {.size = sizeof m};
        OK(sked_target_create(specs[k], &p, 0, &t, err));
        assert_null(sked_target_truth(t));
        assert_true(sked_target_work(t) == 10);
        for (int again = 0; again < 3; again++) {
            OK(sked_target_measure(t, s, &m, err));
            assert_int_equal(m.runs, k == 0 ? 1 : 5); /* its own preset of repeat */
            assert_true(m.time > 0 && m.deviation >= 0);
            check_trace(g, s, &m);
            sked_measurement_clear(&m);
        }
        sked_target_destroy(t);
    }
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_no_trace(void **state)
{
    (void)state;
    sked_graph *g = diamond();
    sked_schedule *s = diamond_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_measurement m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_target_create(HERE ",trace=false", &p, 0, &t, err));
    OK(sked_target_measure(t, s, &m, err));
    assert_true(m.time > 0 && m.start == NULL && m.finish == NULL && m.device == NULL);
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* Many schedules of a random graph: areas of results grow and shrink, queues are empty or hold all. */
static void test_many_schedules(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    sked_problem p;
    sked_target *t = NULL;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_generate_options make;
    sked_generate_options_init(&make);
    make.nodes = 60;
    OK(sked_graph_generate("layered", &make, &g, err));
    sked_problem_init(&p, g);
    p.devices = 4;
    sked_run_options_init(&opt);
    opt.candidates = 8;
    opt.iterations = 50;
    static const char *const settings[] = {"priority=random"};
    opt.settings = settings;
    opt.n_settings = 1;
    OK(sked_method_run("list", &p, &opt, &r, err));
    assert_true(r.count > 1);
    OK(sked_target_create("threads:oversubscribe=true,unit=1e-7,memory-scale=1000,repeat=2", &p, 0, &t, err));
    for (int32_t k = 0; k < r.count; k++) {
        sked_measurement m = {.size = sizeof m};
        OK(sked_target_measure(t, r.schedule[k], &m, err));
        check_trace(g, r.schedule[k], &m);
        sked_measurement_clear(&m);
    }
    for (int32_t i = 0; i < g->n_ops; i++)
        r.schedule[0]->device[i] = 2; /* the others have nothing to do */
    double time = 0;
    OK(measured_time(t, r.schedule[0], &time, err));
    assert_true(time > 0);
    sked_target_destroy(t);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* Ops of a duration of their own on each device do so much more work there. */
static void test_machine(void **state)
{
    (void)state;
    sked_graph *g =
        must_graph("{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":1,\"durations\":"
                   "{\"npu\":null}},{\"name\":\"b\",\"duration\":1}],\"edges\":[[\"a\",\"b\"]]}");
    sked_machine *m =
        must_machine("{\"format\":\"sked-machine-1\",\"latency\":1,\"devices\":[{\"name\":\"cpu\"},"
                     "{\"name\":\"npu\",\"speed\":4}]}");
    sked_problem p;
    sked_target *t = NULL;
    sked_schedule *s = NULL;
    double time = 0;
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = 2;
    OK(sked_target_create(HERE, &p, 0, &t, err));
    OK(sked_schedule_create(2, 2, &s, err));
    s->start[1] = 2;
    s->device[1] = 1;
    OK(measured_time(t, s, &time, err));
    assert_true(time > 0);
    s->device[0] = 1; /* a does not run there */
    FAILS(SKED_ERR_INVALID, "cannot run on its device", measured_time(t, s, &time, err));
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ errors */

/* Queues that wait for each other would wait for ever. */
static void test_impossible_orders(void **state)
{
    (void)state;
    sked_graph *g = diamond();
    sked_schedule *s = diamond_schedule();
    sked_problem p;
    sked_target *t = NULL;
    double time;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_target_create(HERE, &p, 0, &t, err));
    s->start[3] = 0; /* d before its input c on device 1 */
    FAILS(SKED_ERR_INVALID, "contradict the graph", measured_time(t, s, &time, err));
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_refusals(void **state)
{
    (void)state;
    sked_graph *g = diamond(), *lag = NULL;
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 2;
    FAILS(SKED_ERR_ARGUMENT, "stands alone", sked_target_create("threads+noisy", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "stands alone", sked_target_create("linear+threads", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "kind", sked_target_create("threads:kind=disk", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'unit'", sked_target_create("threads:unti=1", &p, 0, &t, err));
    FAILS(SKED_ERR_UNSUPPORTED, "more than the 0.002 MB allowed",
          sked_target_create(HERE ",memory-limit=2000", &p, 0, &t, err));
    FAILS(SKED_ERR_UNSUPPORTED, "memory-scale", sked_target_create(HERE ",memory-scale=1e9", &p, 0, &t, err));
    FAILS(SKED_ERR_UNSUPPORTED, "5e+09 s at least (a duration of 1 is 1e+09 s), more than the 60 s allowed",
          sked_target_create("threads:oversubscribe=true,unit=1e9", &p, 0, &t, err));
    p.devices = 100000;
    FAILS(SKED_ERR_UNSUPPORTED, "threads:oversubscribe=true", sked_target_create("threads", &p, 0, &t, err));
    p.devices = 1000000;
    FAILS(SKED_ERR_UNSUPPORTED, "up to 64 on each", sked_target_create(HERE, &p, 0, &t, err));
    p.devices = INT32_MAX; /* no problem has so many */
    FAILS(SKED_ERR_ARGUMENT, "devices must be from 0 to 1000000", sked_target_create(HERE, &p, 0, &t, err));
    lag = must_graph("{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"x\",\"duration\":2},{\"name\":\"y\","
                     "\"duration\":1}],\"edges\":[{\"from\":\"x\",\"to\":\"y\",\"lag\":1}]}");
    p.graph = lag;
    p.devices = 1;
    FAILS(SKED_ERR_UNSUPPORTED, "from 'x' to 'y' has a lag of its own",
          sked_target_create("threads", &p, 0, &t, err));
    assert_null(t);
    sked_graph_destroy(lag);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ stops */

typedef struct long_run {
    sked_target *target;
    sked_schedule *schedule;
    volatile sig_atomic_t stop;
    sked_status status;
    sked_error error;
} long_run;

/* Thread 0 measures what takes a day, thread 1 asks for a stop. */
static void measure_or_stop(void *data, int index)
{
    long_run *x = data;
    sked_measurement m = {.size = sizeof m};
    if (index == 0) {
        x->status = sked_target_measure(x->target, x->schedule, &m, &x->error);
        sked_measurement_clear(&m);
        return;
    }
    sked_i_pause(0.05);
    sked_i_ask_stop(&x->stop);
}

/* Work that is under way ends, and so does waiting for it. */
static void test_stop(void **state)
{
    (void)state;
    static const char *const specs[] = {"threads:oversubscribe=true,timeout=1e9,unit=86400",
                                        "threads:oversubscribe=true,timeout=1e9,unit=86400,kind=memory"};
    sked_graph *g = diamond();
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        long_run x = {.schedule = diamond_schedule()};
        OK(sked_target_create_stoppable(specs[k], &p, 0, &x.stop, &x.target, err));
        OK(sked_i_parallel(2, measure_or_stop, &x, err));
        assert_int_equal(x.status, SKED_ERR_STOPPED);
        sked_target_destroy(x.target);
        sked_schedule_destroy(x.schedule);
    }
    sked_graph_destroy(g);
}

/* The check of the length knows no schedule: here one device of 16 does all, and is ended after a tenth of
 * it. */
static void test_timeout(void **state)
{
    (void)state;
    sked_graph *g = diamond();
    sked_schedule *s = NULL;
    sked_problem p;
    sked_target *t = NULL;
    double time;
    sked_problem_init(&p, g);
    p.devices = 16;
    OK(sked_schedule_create(5, 16, &s, err));
    for (int32_t i = 0; i < 5; i++)
        s->start[i] = 4 * i;
    OK(sked_target_create("threads:oversubscribe=true,unit=0.02,timeout=0.02", &p, 0, &t, err));
    FAILS(SKED_ERR_DEVICE, "took more than 0.02 s (timeout)", measured_time(t, s, &time, err));
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ data */

#ifndef __SANITIZE_THREAD__ /* what it does is a race */

typedef struct spoilt_run {
    sked_target *target;
    sked_schedule *schedule;
    bool done; /* atomic */
    sked_status status;
    sked_error error;
} spoilt_run;

/* Thread 0 measures, thread 1 meanwhile writes over the result of the first op. */
static void measure_or_spoil(void *data, int index)
{
    spoilt_run *x = data;
    const sked_i_threads *threads = x->target->state;
    uint64_t *result = threads->result[0].data;
    sked_measurement m = {.size = sizeof m};
    if (index == 0) {
        for (int tries = 0; x->status == SKED_OK && tries < 100;
             tries++) { /* it may write at the wrong moment */
            x->status = sked_target_measure(x->target, x->schedule, &m, &x->error);
            sked_measurement_clear(&m);
        }
        __atomic_store_n(&x->done, true, __ATOMIC_RELEASE);
    }
    for (uint64_t k = 1; index == 1 && !__atomic_load_n(&x->done, __ATOMIC_ACQUIRE); k++) {
        __atomic_store_n(result, k, __ATOMIC_RELAXED);
        sked_i_pause(0.001);
    }
}

/* a, then c on the other device, then b; both read the result of a, and b much later. */
static void test_data_is_read(void **state)
{
    (void)state;
    sked_graph *g =
        must_graph("{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":0.001,\"memory\":"
                   "4096},{\"name\":\"c\",\"duration\":1},{\"name\":\"b\",\"duration\":0.001}],"
                   "\"edges\":[[\"a\",\"b\"],[\"a\",\"c\"],[\"c\",\"b\"]]}");
    spoilt_run x = {0};
    sked_problem p;
    double time;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_schedule_create(3, 2, &x.schedule, err));
    x.schedule->start[1] = 1;
    x.schedule->device[1] = 1;
    x.schedule->start[2] = 2;
    OK(sked_target_create("threads:oversubscribe=true,unit=0.1,repeat=1,warm-up=0", &p, 0, &x.target, err));
    OK(measured_time(x.target, x.schedule, &time, err));
    OK(sked_i_parallel(2, measure_or_spoil, &x, err));
    assert_int_equal(x.status, SKED_ERR_DEVICE);
    assert_non_null(strstr(x.error.message, "read other bytes"));
    OK(measured_time(x.target, x.schedule, &time, err));
    sked_target_destroy(x.target);
    sked_schedule_destroy(x.schedule);
    sked_graph_destroy(g);
}

#endif

/* ------------------------------------------------------------------ parts */

static void test_cores(void **state)
{
    (void)state;
    sked_i_cores c = {0};
    sked_i_arena arena = {0};
    cpu_set_t before;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    OK(sked_i_cores_find(&c, &arena, err));
    assert_int_equal(c.count, CPU_COUNT(&before));
    assert_true(c.distinct >= 1 && c.distinct <= c.count);
    for (int i = 0; i < c.count; i++) {
        assert_true(CPU_ISSET(c.place[i], &before));
        for (int k = 0; k < i; k++)
            assert_int_not_equal(c.place[k], c.place[i]);
    }
    /* What others leave us is all there is. */
    const int last = c.place[c.count - 1];
    c = (sked_i_cores){0};
    assert_true(sked_i_cores_pin(last));
    OK(sked_i_cores_find(&c, &arena, err));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.place[0], last);
    sked_i_arena_free(&arena);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void note_place(void *data)
{
    *(int *)data = sched_getcpu();
}

static void test_pinned(void **state)
{
    (void)state;
    sked_i_cores c = {0};
    sked_i_arena arena = {0};
    OK(sked_i_cores_find(&c, &arena, err));
    for (int k = 0; k < c.count; k++) {
        int place = -1;
        OK(sked_i_threads_pinned(c.place[k], note_place, &place, err));
        assert_int_equal(place, c.place[k]);
    }
    FAILS(SKED_ERR_DEVICE, "pin", sked_i_threads_pinned(60000, note_place, &c.count, err));
    sked_i_arena_free(&arena);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_int_equal(sked_i_busy_kind_of("Conv"), SKED_I_BUSY_ARITHMETIC);
    assert_int_equal(sked_i_busy_kind_of("Relu"), SKED_I_BUSY_MEMORY);
    assert_int_equal(sked_i_busy_kind_of("Concat"), SKED_I_BUSY_MEMORY);
    assert_int_equal(sked_i_busy_kind_of(NULL), SKED_I_BUSY_ARITHMETIC);
}

/* Arithmetic stays in its piece; a stream passes over every other one. */
static void test_busy(void **state)
{
    (void)state;
    enum { pieces = 4 };
    static double array[pieces * SKED_I_BUSY_PIECE];
    const sked_i_limit limit = {.deadline = INFINITY}, past = {0};
    sked_i_busy b = {array, pieces, 0};
    assert_true(sked_i_busy_run(&b, SKED_I_BUSY_ARITHMETIC, 100, &limit));
    assert_true(array[0] > 1.9 && array[SKED_I_BUSY_PIECE - 1] > 1.9 && array[SKED_I_BUSY_PIECE] == 0);
    memset(array, 0, sizeof array);
    assert_true(sked_i_busy_run(&b, SKED_I_BUSY_MEMORY, pieces, &limit));
    for (int k = 0; k < pieces; k++)
        assert_true(array[k * SKED_I_BUSY_PIECE] == 1);
    assert_false(sked_i_busy_run(&b, SKED_I_BUSY_ARITHMETIC, INT64_MAX, &past));
    assert_true(sked_i_busy_calibrate(&b, SKED_I_BUSY_ARITHMETIC, &limit) > 0);
}

/* The loop learns from runs on this machine. */
static void test_loop(void **state)
{
    (void)state;
    sked_graph *g = diamond();
    sked_problem p;
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    sked_problem_init(&p, g);
    p.devices = 2;
    sked_robust_options_init(&opt);
    opt.measurements = 3;
    opt.iterations = 20;
    opt.time_limit = INFINITY;
    opt.threads = 2;
    OK(sked_robust(&p, HERE, &opt, &r, err));
    assert_true(r.measurements >= 1 && r.failures == 0 && r.winner >= 0);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace),          cmocka_unit_test(test_no_trace),
        cmocka_unit_test(test_many_schedules), cmocka_unit_test(test_machine),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_impossible_orders),
        cmocka_unit_test(test_stop),           cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_cores),          cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_kinds),          cmocka_unit_test(test_busy),
        cmocka_unit_test(test_loop),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_data_is_read),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
