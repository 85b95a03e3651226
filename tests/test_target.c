/* Targets: models against figures worked out by hand, the picture their defaults give, programs that fail. */
#define _GNU_SOURCE
#include "test.h"

#include <glob.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* a -> b, a -> c with these durations and bytes. */
static sked_graph *fork_graph(double bytes_b, double bytes_c, double memory)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    int32_t id;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_op(b, "a", "x", 2, &id, err));
    OK(sked_builder_set_memory(b, id, memory, err));
    OK(sked_builder_add_op(b, "b", "y", 4, &id, err));
    OK(sked_builder_add_op(b, "c", "y", 6, &id, err));
    const sked_edge first = {0, 1, SKED_LAG_DEFAULT, bytes_b, 0};
    const sked_edge second = {0, 2, SKED_LAG_DEFAULT, bytes_c, 0};
    OK(sked_builder_add_edge(b, &first, err));
    OK(sked_builder_add_edge(b, &second, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* b stays with a, c goes to the other device. */
static sked_schedule *fork_schedule(void)
{
    sked_schedule *s = NULL;
    OK(sked_schedule_create(3, 2, &s, err));
    const double start[] = {0, 2, 2};
    const int32_t device[] = {0, 0, 1};
    memcpy(s->start, start, sizeof start);
    memcpy(s->device, device, sizeof device);
    return s;
}

static double time_on(const char *spec, const sked_problem *p, uint64_t seed, const sked_schedule *s)
{
    sked_target *t = NULL;
    double time = NAN;
    OK(sked_target_create(spec, p, seed, &t, err));
    OK(measured_time(t, s, &time, err));
    sked_target_destroy(t);
    return time;
}

static void near(double is, double wanted)
{
    if (!(fabs(is - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g, not %.12g", is, wanted);
}

static void test_transfers_by_hand(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(10, 30, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    /* Mean duration 4, mean bytes 20. Only a -> c crosses, with 30 bytes; c then takes 6. */
    near(time_on("proxy", &p, 0, s), 8);
    near(time_on("bandwidth:cost=1", &p, 0, s), 2 + 1.5 * 4 + 0.05 * 4 + 6);
    near(time_on("bandwidth", &p, 0, s), 2 + 4 * (1.5 + 0.05) * 4 + 6);
    near(time_on("latency:cost=1", &p, 0, s), 2 + 4 + 0.05 * 1.5 * 4 + 6);
    near(time_on("latency", &p, 0, s), 2 + 3 * (1 + 0.05 * 1.5) * 4 + 6);
    near(time_on("linear:bandwidth-cost=2,latency-cost=3", &p, 0, s), 2 + (2 * 1.5 + 3) * 4 + 6);
    near(time_on("linear", &p, 0, s), 2 + (2 * 1.5 + 1.5) * 4 + 6);
    near(time_on("bandwidth:cost=0", &p, 0, s), 8);
    p.latency = 1; /* what the problem has itself comes on top */
    near(time_on("latency:cost=1", &p, 0, s), 2 + 1 + 4 + 0.05 * 1.5 * 4 + 6);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_bytes_that_graphs_lack(void **state)
{
    (void)state;
    sked_graph *plain = fork_graph(0, 0, 0), *stored = fork_graph(0, 0, 7);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_problem_init(&p, stored);
    p.devices = 2;
    near(time_on("bandwidth:cost=1", &p, 3, s), 2 + 4 + 0.05 * 4 + 6); /* the result of a, both times */
    p.graph = plain;
    /* Drawn for the producer: both edges come from a, so each is of mean size. */
    near(time_on("bandwidth:cost=1", &p, 3, s), 2 + 4 + 0.05 * 4 + 6);
    sked_schedule_destroy(s);
    sked_graph_destroy(plain);
    sked_graph_destroy(stored);
}

static void test_noise_models(void **state)
{
    (void)state;
    static const char *const models[] = {"noisy", "noisy:model=uniform", "noisy:model=type",
                                         "noisy:model=heavy,outliers=0.5"};
    sked_graph *g = fork_graph(0, 0, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        bool differs = false;
        for (uint64_t seed = 0; seed < 8; seed++) {
            const double time = time_on(models[k], &p, seed, s);
            assert_true(time >= 0 && isfinite(time));
            near(time_on(models[k], &p, seed, s), time);
            differs |= time != time_on(models[k], &p, 0, s);
        }
        assert_true(differs);
    }
    near(time_on("noisy:strength=0", &p, 1, s), 8);
    near(time_on("noisy:model=heavy,outliers=1,strength=0.2", &p, 1, s), 24); /* everything 3 times as long */
    near(time_on("noisy:model=type,strength=0", &p, 1, s), 8);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_bad_specs(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(1, 1, 0);
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    FAILS(SKED_ERR_ARGUMENT, "devices", sked_target_create("noisy", &p, 0, &t, err));
    p.devices = 2;
    FAILS(SKED_ERR_ARGUMENT, "noisy", sked_target_create("nosy", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "behind a colon", sked_target_create("noisy,strength=1", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "strength", sked_target_create("noisy:strength=x", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "cost", sked_target_create("latency:cots=1", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "wants a program", sked_target_create("command: ", &p, 0, &t, err));
    FAILS(SKED_ERR_ARGUMENT, "no option 'time'", sked_target_create("command,time=1:true", &p, 0, &t, err));
    assert_null(t);
    sked_graph_destroy(g);
}

static void test_bad_compositions(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *part;
    } bad[] = {{"noisy+", "names joined by '+'"},
               {"+noisy", "names joined by '+'"},
               {"", "names joined by '+'"},
               {"noisy++linear", "names joined by '+'"},
               {"noisy+linaer", "did you mean 'linear'?"},
               {"noisy:strength=0.1+jittr:run=0", "did you mean 'jitter'?"},
               {"noisy+linear+noisy:strength=1", "'noisy' comes twice"},
               {"proxy+proxy", "'proxy' comes twice"},
               {"noisy+command:true", "'command' stands alone"},
               {"command+noisy:true", "'command' stands alone"},
               {"command,timeout=5+noisy", "'command' stands alone"},
               {"noisy:repeat=2+linear:repeat=3", "repeat is of the whole target"},
               {"noisy:repeat=0", "repeat wants a whole number from 1"},
               {"noisy:trace=maybe", "trace wants one of auto|true|false"},
               {"noisy:repaet=3", "did you mean 'repeat'?"},
               {"linear,latency-cost=2+noisy", "behind a colon: linear:latency-cost=2"},
               {"cache:gain=1", "gain wants a number"}};
    sked_graph *g = fork_graph(1, 1, 0);
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 2;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        FAILS(SKED_ERR_ARGUMENT, bad[k].part, sked_target_create(bad[k].spec, &p, 0, &t, err));
    assert_null(t);
    sked_graph_destroy(g);
}

/* Parts apply in order; what they say together is worked out by hand. */
static void test_compositions_by_hand(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(10, 30, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 2;
    /* Everything twice as long, so that the mean duration is 8 for what follows and 4 for what went before.
     */
    near(time_on("noisy:model=heavy,outliers=1,strength=0.1+latency:cost=1", &p, 0, s),
         4 + 8 + 0.05 * 1.5 * 8 + 12);
    near(time_on("latency:cost=1+noisy:model=heavy,outliers=1,strength=0.1", &p, 0, s),
         4 + 4 + 0.05 * 1.5 * 4 + 12);
    near(time_on("linear:bandwidth-cost=1,latency-cost=0+latency:cost=2", &p, 0, s),
         2 + 1.5 * 4 + 2 * 4 + 0.1 * 1.5 * 4 + 6);
    near(time_on("proxy+latency:cost=1e+0", &p, 0, s), 2 + 4 + 0.05 * 1.5 * 4 + 6);
    OK(sked_target_create("proxy+noisy:model=heavy,outliers=1,strength=0.1+linear", &p, 0, &t, err));
    near(sked_target_work(t), 24);
    assert_non_null(sked_target_truth(t));
    near(sked_target_truth(t)->latency, 1.5 * 8);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static bool has_truth(const char *spec, const sked_problem *p)
{
    sked_target *t = NULL;
    OK(sked_target_create(spec, p, 0, &t, err));
    const bool truth = sked_target_truth(t) != NULL;
    sked_target_destroy(t);
    return truth;
}

static void test_truth(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(10, 30, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    assert_true(has_truth("proxy", &p));
    assert_true(has_truth("noisy+linear+jitter", &p));
    assert_false(has_truth("linear+contention", &p));
    assert_false(has_truth("noisy+cache", &p));
    assert_false(has_truth("command:echo 1", &p));
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ repeats and traces */

static void test_traces_by_hand(void **state)
{
    (void)state;
    static const double start[] = {0, 2, 2 + 4 * 1.075}, finish[] = {2, 6, 8 + 4 * 1.075};
    sked_graph *g = fork_graph(10, 30, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_measurement m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_target_create("latency:cost=1,trace=true+proxy:repeat=3", &p, 0, &t, err));
    OK(sked_target_measure(t, s, &m, err));
    near(m.time, finish[2]);
    assert_int_equal(m.runs, 3);
    assert_true(m.deviation == 0);
    for (int i = 0; i < 3; i++) {
        near(m.start[i], start[i]);
        near(m.finish[i], finish[i]);
        assert_int_equal(m.device[i], s->device[i]);
    }
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    m.size = sizeof m;
    OK(sked_target_create("latency:cost=1", &p, 0, &t, err)); /* nobody asked for a trace */
    OK(sked_target_measure(t, s, &m, err));
    assert_null(m.start);
    assert_int_equal(m.runs, 1);
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Single runs one after the other against one measurement of as many. */
static void test_repeats(void **state)
{
    (void)state;
    enum { warm_up = 3, runs = 6 };
    sked_graph *g = fork_graph(10, 30, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_measurement m = {.size = sizeof m};
    double time[warm_up + runs], mean = 0, squares = 0, nearest = INFINITY, latest = 0;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_target_create("jitter:strength=0.2", &p, 5, &t, err));
    for (int k = 0; k < warm_up + runs; k++)
        OK(measured_time(t, s, &time[k], err));
    sked_target_destroy(t);
    OK(sked_target_create("jitter:strength=0.2,repeat=6,warm-up=3,trace=true", &p, 5, &t, err));
    OK(sked_target_measure(t, s, &m, err));
    sked_target_destroy(t);
    for (int k = warm_up; k < warm_up + runs; k++)
        mean += time[k] / runs;
    for (int k = warm_up; k < warm_up + runs; k++)
        squares += (time[k] - mean) * (time[k] - mean);
    qsort(time + warm_up, runs, sizeof *time, by_number);
    const double median = (time[warm_up + 2] + time[warm_up + 3]) / 2;
    assert_true(m.time == median);
    assert_int_equal(m.runs, runs);
    near(m.deviation, sqrt(squares / (runs - 1)));
    for (int k = warm_up; k < warm_up + runs; k++)
        nearest = fabs(time[k] - median) < nearest ? fabs(time[k] - median) : nearest;
    for (int i = 0; i < 3; i++)
        latest = fmax(latest, m.finish[i]);
    near(fabs(latest - median), nearest);
    sked_measurement_clear(&m);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_schedules_of_another_graph(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(1, 1, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    double time = NAN;
    sked_problem_init(&p, g);
    p.devices = 3;
    OK(sked_target_create("latency", &p, 0, &t, err));
    FAILS(SKED_ERR_INVALID, "another graph", measured_time(t, s, &time, err));
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* A script in a folder of its own; its name stands in `path`. */
static void write_script(const char *folder, const char *text, char *path, size_t size)
{
    snprintf(path, size, "%s/measure.sh", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", text);
    fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
}

static sked_status run_script(const char *folder, const char *options, const char *text, double *time,
                              sked_error *err)
{
    char path[300], spec[500];
    sked_graph *g = fork_graph(1, 1, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 2;
    write_script(folder, text, path, sizeof path);
    snprintf(spec, sizeof spec, "command%s:%s", options, path);
    sked_status st = sked_target_create(spec, &p, 0, &t, err);
    if (st == SKED_OK)
        st = measured_time(t, s, time, err);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    unlink(path);
    return st;
}

/* What no target could measure is refused before it is measured. No time at all is one that can be. */
static void test_least_problems(void **state)
{
    (void)state;
    static const struct {
        double duration;
        bool fine;
    } cases[] = {{0, true}, {5e-324, false}, {4e-101, false}, {5e-101, true}, {1, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        sked_target *t = NULL;
        sked_problem p;
        OK(sked_builder_create(&b, err));
        for (int i = 0; i < 2; i++)
            OK(sked_builder_add_op(b, NULL, NULL, cases[k].duration, NULL, err));
        OK(sked_builder_finish(b, &g, err));
        sked_problem_init(&p, g);
        p.devices = 2;
        if (cases[k].fine)
            OK(sked_target_create("linear", &p, 0, &t, err));
        else
            FAILS(SKED_ERR_UNSUPPORTED, "from 1e-100 on", sked_target_create("linear", &p, 0, &t, err));
        sked_target_destroy(t);
        sked_graph_destroy(g);
        sked_builder_destroy(b);
    }
}

static void test_programs(void **state)
{
    (void)state;
    char folder[] = "/tmp/sked-target-XXXXXX", flag[100], once[400];
    double time = 0;
    assert_non_null(mkdtemp(folder));
    OK(run_script(folder, "", "grep -c start \"$1\" >/dev/null && echo 'warm-up 9' && echo 'time = 2.5 s'",
                  &time, err));
    near(time, 2.5);
    FAILS(SKED_ERR_DEVICE, "ended with an error", run_script(folder, "", "echo 3; exit 1", &time, err));
    FAILS(SKED_ERR_DEVICE, "no time was printed", run_script(folder, "", "echo nothing", &time, err));
    FAILS(SKED_ERR_DEVICE, "no time was printed", run_script(folder, "", "true", &time, err));
    FAILS(SKED_ERR_DEVICE, "the time -4 is not from 1e-100", run_script(folder, "", "echo -4", &time, err));
    FAILS(SKED_ERR_DEVICE, "the time 0 is not from 1e-100", run_script(folder, "", "echo 0", &time, err));
    FAILS(SKED_ERR_DEVICE, "to 1e+100", run_script(folder, "", "echo 1e300", &time, err));
    /* The first run fails, the second one measures; without a retry that is a failure. */
    snprintf(flag, sizeof flag, "%s/flag", folder);
    snprintf(once, sizeof once, "test -e %s && echo 7 && exit 0\ntouch %s\nexit 1", flag, flag);
    FAILS(SKED_ERR_DEVICE, "ended with an error", run_script(folder, ",retries=0", once, &time, err));
    unlink(flag);
    OK(run_script(folder, ",retries=1", once, &time, err));
    near(time, 7);
    unlink(flag);
    const double begin = sked_clock();
    FAILS(SKED_ERR_DEVICE, "time-out",
          run_script(folder, ",timeout=0.2,retries=1", "sleep 20 & sleep 20; echo 1", &time, err));
    assert_true(sked_clock() - begin < 10);
    rmdir(folder);
}

/* A target of the Python package where `python3` is this script, or absent for NULL. */
static sked_status with_python(const char *python, const char *spec, double *time, sked_error *err)
{
    char folder[] = "/tmp/sked-python-XXXXXX", path[100], before[4096];
    sked_graph *g = fork_graph(1, 1, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.devices = 2;
    assert_non_null(mkdtemp(folder));
    if (python != NULL) {
        char script[100];
        write_script(folder, python, script, sizeof script);
        snprintf(path, sizeof path, "%s/python3", folder);
        assert_int_equal(rename(script, path), 0);
    }
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", folder, 1);
    sked_status st = sked_target_create(spec, &p, 0, &t, err);
    if (st == SKED_OK)
        st = measured_time(t, s, time, err);
    setenv("PATH", before, 1);
    if (python != NULL)
        unlink(path);
    rmdir(folder);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    return st;
}

static void test_python_targets(void **state)
{
    (void)state;
    double time = 0;
    FAILS(SKED_ERR_ARGUMENT, "onnxruntime wants a model", with_python(NULL, "onnxruntime", &time, err));
    FAILS(SKED_ERR_UNSUPPORTED, "no python3 on the PATH", with_python(NULL, "torch:m.pt2", &time, err));
    FAILS(SKED_ERR_UNSUPPORTED, "'torch', which python3 does not find: `pip install 'libsked[torch]'`",
          with_python("for m; do :; done; echo $m", "torch:m.pt2", &time, err));
    FAILS(SKED_ERR_UNSUPPORTED, "'sked.command', which /opt/bin/python does not find",
          with_python("echo sked.command; echo /opt/bin/python", "torch:m.pt2", &time, err));
    FAILS(SKED_ERR_DEVICE, "could not be asked", with_python("exit 1", "torch:m.pt2", &time, err));
    FAILS(SKED_ERR_ARGUMENT, "'torch' stands alone", with_python(NULL, "noisy+torch:m.pt2", &time, err));
    /* It is asked for its modules first, then measures. */
    static const char python[] = "case \"$1 $2 $3 $4\" in '-c '*) echo complete;; "
                                 "'-m sked.command onnxruntime m.onnx') test -s \"$6\" && echo $5;; esac";
    OK(with_python(python, "onnxruntime,retries=0:m.onnx 2.5", &time, err));
    near(time, 2.5);
    /* The name of a file that is there is one word. */
    static const char blank[] = "/tmp/sked model's.onnx";
    fclose(fopen(blank, "w"));
    OK(with_python("test \"$1\" = -c && echo complete || { test -f \"$4\" && test -s \"$5\" && echo 7; }",
                   "onnxruntime,retries=0:/tmp/sked model's.onnx", &time, err));
    near(time, 7);
    unlink(blank);
}

/* The program wrote the name of its plan there; true when that file still stands. */
static bool plan_stands(const char *note)
{
    char plan[200] = "";
    FILE *f = fopen(note, "r");
    assert_non_null(f);
    assert_non_null(fgets(plan, sizeof plan, f));
    fclose(f);
    unlink(note);
    return access(plan, F_OK) == 0;
}

/* What a program does to its streams and children changes nothing about its end. */
static void test_awkward_programs(void **state)
{
    (void)state;
    char folder[] = "/tmp/sked-target-XXXXXX", flag[100], text[300];
    double time = 0, begin = sked_clock();
    assert_non_null(mkdtemp(folder));
    snprintf(flag, sizeof flag, "%s/flag", folder);
    snprintf(text, sizeof text, "printf %%s \"$1\" >%s; exec 1>&- 2>&-; sleep 60", flag);
    FAILS(SKED_ERR_DEVICE, "time-out", run_script(folder, ",timeout=1,retries=0", text, &time, err));
    assert_false(plan_stands(flag));
    /* the time is printed, output is closed, the program goes on for a while: that is no failure */
    OK(run_script(folder, ",timeout=20", "echo 3; exec 1>&-; sleep 0.2", &time, err));
    near(time, 3);
    /* a child in the background that holds the output ends with the program */
    snprintf(text, sizeof text, "(sleep 2; touch %s) & echo 4", flag);
    OK(run_script(folder, ",timeout=20", text, &time, err));
    near(time, 4);
    OK(run_script(folder, "", "cat; echo 5", &time, err)); /* standard input is empty */
    near(time, 5);
    for (int k = 0; k < 50; k++) /* however early: before the shell runs, or after */
        FAILS(SKED_ERR_DEVICE, "time-out",
              run_script(folder, ",timeout=0.001,retries=0", "sleep 60", &time, err));
    assert_true(sked_clock() - begin < 30);
    sleep(3);
    assert_int_equal(access(flag, F_OK), -1);
    rmdir(folder);
}

/* ------------------------------------------------------------------ the picture */

typedef struct point {
    double proxy, target; /* speedups, up to a factor */
} point;

/* Schedules of all qualities from random priorities and the sampler at several temperatures. */
static int draw_points(const sked_problem *p, const char *spec, point *out, int cap)
{
    static const double temperatures[] = {0.005, 0.03, 0.1, 0.3, 1};
    sked_sampler *m = NULL;
    sked_target *t = NULL;
    int n = 0;
    OK(sked_sampler_read(NULL, &m, err));
    OK(sked_target_create(spec, p, 0, &t, err));
    for (size_t k = 0; k < sizeof temperatures / sizeof *temperatures; k++) {
        sked_sample_options opt;
        sked_samples s = {.size = sizeof s};
        sked_sample_options_init(&opt);
        opt.count = cap / 5;
        opt.temperature = temperatures[k];
        OK(sked_sampler_sample(m, p, &opt, &s, err));
        for (int32_t i = 0; i < s.count; i++, n++) {
            double time = NAN;
            OK(measured_time(t, s.schedule[i], &time, err));
            out[n] = (point){1 / s.makespan[i], 1 / time};
        }
        sked_samples_clear(&s);
    }
    sked_target_destroy(t);
    sked_sampler_destroy(m);
    return n;
}

static double correlation(const point *v, int n)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        x += v[i].proxy / n;
        y += v[i].target / n;
    }
    for (int i = 0; i < n; i++) {
        xx += (v[i].proxy - x) * (v[i].proxy - x);
        yy += (v[i].target - y) * (v[i].target - y);
        xy += (v[i].proxy - x) * (v[i].target - y);
    }
    return xy / sqrt(xx * yy);
}

/* Largest ratio on the target of two schedules whose proxies differ by at most a hundredth. */
static double spread(const point *v, int n)
{
    double most = 1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (v[k].proxy >= v[i].proxy && v[k].proxy <= 1.01 * v[i].proxy)
                most = fmax(most, fmax(v[k].target / v[i].target, v[i].target / v[k].target));
    return most;
}

static void test_defaults_give_the_picture(void **state)
{
    (void)state;
    RESULTS_ONLY();
    enum { cap = 500 };
    static const struct {
        const char *spec;
        double least, most; /* of the spread */
    } wanted[] = {{"noisy", 1.15, 2}, {"bandwidth", 1.5, 3.5}, {"latency", 1.25, 3}, {"linear", 1.25, 3}};
    static const char *const families[] = {"layered", "erdos-renyi"};
    for (size_t f = 0; f < 2; f++)
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
            const sked_generate_options how = {.size = sizeof how, .nodes = 50, .seed = 4711};
            sked_graph *g = NULL;
            sked_problem p;
            point v[cap];
            OK(sked_graph_generate(families[f], &how, &g, err));
            sked_problem_init(&p, g);
            p.devices = 4;
            const int n = draw_points(&p, wanted[k].spec, v, cap);
            const double r = correlation(v, n), most = spread(v, n);
            if (!(r > 0.4 && most > wanted[k].least && most < wanted[k].most))
                fail_msg("%s on %s: correlation %.2f, spread %.2f", wanted[k].spec, families[f], r, most);
            sked_graph_destroy(g);
        }
}

/* ------------------------------------------------------------------ machines */

static sked_machine *machine_of(const char *devices)
{
    char text[500];
    sked_machine *m = NULL;
    snprintf(text, sizeof text,
             "{\"format\": \"sked-machine-1\", \"latency\": 1, \"bandwidth\": 30, \"devices\": [%s]}",
             devices);
    OK(sked_machine_parse("machine", text, strlen(text), &m, err));
    return m;
}

/* Times and links are the machine's; noise multiplies whatever an op takes there. */
static void test_hetero_machines(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(10, 30, 0);
    sked_machine *m = machine_of("{\"name\": \"cpu\"}, {\"name\": \"gpu\", \"speed\": 2}");
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_target *t = NULL;
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = 2;
    s->start[2] = 4;
    near(time_on("proxy", &p, 0, s), 2 + (1 + 1) + 6 / 2.0);
    near(time_on("noisy:model=uniform,strength=0", &p, 0, s), 7);
    near(time_on("noisy:model=heavy,strength=0.1,outliers=1", &p, 0, s), 2 * 2 + 2 + 2 * 3);
    OK(sked_target_create("proxy", &p, 0, &t, err));
    near(sked_target_work(t), 12 / 2.0); /* all on the faster one */
    sked_target_destroy(t);
    /* The mean duration is that on both devices: 3. The link had 1 + 30 / 30. */
    near(time_on("latency:cost=1", &p, 0, s), 2 + 2 + 3 + 0.05 * 1.5 * 3 + 3);
    near(time_on("linear:bandwidth-cost=2,latency-cost=0", &p, 0, s), 2 + 2 + 2 * 1.5 * 3 + 3);
    sked_schedule_destroy(s);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* A machine file of identical devices is the short form: every model takes it, and says the same. */
static void test_identical_machines(void **state)
{
    static const char *const specs[] = {"proxy", "noisy", "bandwidth", "latency", "linear"};
    (void)state;
    for (int k = 0; k < 10; k++) {
        sked_graph *g = fork_graph(k < 5 ? 10 : 0, k < 5 ? 30 : 0, 0);
        sked_machine *m = machine_of("{\"name\": \"a\"}, {\"name\": \"b\"}");
        sked_schedule *s = fork_schedule();
        sked_problem plain, p;
        sked_problem_init(&plain, g);
        plain.devices = 2;
        plain.latency = 1;
        plain.bandwidth = 30;
        sked_problem_init(&p, g);
        p.machine = m;
        near(time_on(specs[k % 5], &p, 3, s), time_on(specs[k % 5], &plain, 3, s));
        sked_schedule_destroy(s);
        sked_machine_destroy(m);
        sked_graph_destroy(g);
    }
}

/* A stop is heard while the target is made, and while its program runs; no time-out is waited for. */
static void test_a_stop_ends_targets(void **state)
{
    static const char *const slow[] = {"command:sleep 50; true", "command,retries=5,repeat=9:sleep 50; true"};
    (void)state;
    sked_graph *g = fork_graph(1, 1, 0);
    sked_schedule *s = fork_schedule();
    sked_problem p;
    volatile sig_atomic_t stop = 1;
    sked_target *t = NULL;
    sked_measurement m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = 2;
    for (int k = 0; k < 2; k++) {
        OK(sked_target_create_stoppable(slow[k], &p, 0, &stop, &t, err));
        FAILS(SKED_ERR_STOPPED, "was stopped", sked_target_measure(t, s, &m, err));
        sked_target_destroy(t);
    }
    t = NULL;
    FAILS(SKED_ERR_STOPPED, "was stopped",
          sked_target_create_stoppable("torch:net.py:make", &p, 0, &stop, &t, err));
    FAILS(SKED_ERR_STOPPED, "was stopped",
          sked_target_create_stoppable("threads:oversubscribe=true", &p, 0, &stop, &t, err));
    assert_null(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* The plan that a program gets names the devices. */
static void test_plan_names_devices(void **state)
{
    (void)state;
    sked_graph *g = fork_graph(10, 30, 0);
    sked_machine *m = machine_of("{\"name\": \"cpu\"}, {\"name\": \"gpu 0\", \"speed\": 2}");
    sked_schedule *s = fork_schedule();
    sked_problem p;
    sked_problem_init(&p, g);
    p.machine = m;
    near(time_on("command:f() { grep -c '\"device_names\":\\[\"cpu\",\"gpu 0\"\\]' \"$1\"; }; f", &p, 0, s),
         1);
    sked_schedule_destroy(s);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_by_hand),
        cmocka_unit_test(test_bytes_that_graphs_lack),
        cmocka_unit_test(test_noise_models),
        cmocka_unit_test(test_bad_specs),
        cmocka_unit_test(test_bad_compositions),
        cmocka_unit_test(test_compositions_by_hand),
        cmocka_unit_test(test_truth),
        cmocka_unit_test(test_traces_by_hand),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_schedules_of_another_graph),
        cmocka_unit_test(test_least_problems),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_python_targets),
        cmocka_unit_test(test_awkward_programs),
        cmocka_unit_test(test_defaults_give_the_picture),
        cmocka_unit_test(test_hetero_machines),
        cmocka_unit_test(test_identical_machines),
        cmocka_unit_test(test_a_stop_ends_targets),
        cmocka_unit_test(test_plan_names_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
