/*
 * Every public function of include/sked/sked.h that gives a status, called with every enumeration out of
 * range and every number hostile: a status comes back, never a crash, and outputs stay as they are.
 */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <limits.h>
#include <math.h>

static const int wrong_int[] = {-1, -5, INT_MIN, INT_MAX};
static const double wrong_real[] = {NAN, -1, -INFINITY, INFINITY, -1e308, 1e308};
static const int wrong_name[] = {-1, 6, 99, 1 << 20, INT_MAX, INT_MIN}; /* no enumeration has these */
enum {
    INTS = sizeof wrong_int / sizeof *wrong_int,
    REALS = sizeof wrong_real / sizeof *wrong_real,
    NAMES = sizeof wrong_name / sizeof *wrong_name
};

typedef struct scene {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    sked_schedule *schedule;
    sked_sampler *sampler;
    sked_target *target;
    char file[40];
} scene;

static sked_graph *make_graph(void)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "R", 2, NULL, err));
    for (int32_t i = 0; i < 3; i++) {
        const sked_edge edge = {.from = i - 1, .to = i, .lag = SKED_LAG_DEFAULT, .bytes = 1};
        OK(sked_builder_add_op(b, NULL, NULL, 2, NULL, err));
        OK(sked_builder_set_memory(b, i, 1, err));
        if (i > 0)
            OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static int open_scene(void **state)
{
    static scene x;
    x = (scene){.graph = make_graph(), .file = "/tmp/sked-public-XXXXXX"};
    x.machine = must_machine("{\"format\":\"sked-machine-1\",\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
                             "\"latency\":1,\"bandwidth\":1e99}");
    sked_problem_init(&x.problem, x.graph);
    x.problem.devices = 2;
    OK(sked_schedule_create(3, 2, &x.schedule, err));
    for (int32_t i = 0; i < 3; i++)
        x.schedule->start[i] = 2 * i;
    OK(sked_sampler_read(NULL, &x.sampler, err));
    OK(sked_target_create("linear", &x.problem, 1, &x.target, err));
    const int file = mkstemp(x.file);
    assert_true(file >= 0);
    fclose(fdopen(file, "w"));
    *state = &x;
    return 0;
}

static int close_scene(void **state)
{
    scene *x = *state;
    remove(x->file);
    sked_target_destroy(x->target);
    sked_sampler_destroy(x->sampler);
    sked_schedule_destroy(x->schedule);
    sked_machine_destroy(x->machine);
    sked_graph_destroy(x->graph);
    return 0;
}

/* ------------------------------------------------------------------ what takes a problem */

enum { BROKEN_ONLY = 1, ANY = 2 }; /* calls must fail with ARGUMENT; may do what they like but crash */

/* One call of each function that takes a problem; the k-th, or NULL past the last. */
static const char *call_with(const scene *x, const sked_problem *p, int k, sked_status *st, sked_error *err)
{
    const sked_schedule *const one[] = {x->schedule};
    sked_run_options run;
    sked_robust_options robust;
    sked_sample_options sample;
    sked_sweep_options sweep;
    sked_report_data data;
    sked_result r = {.size = sizeof r};
    sked_robust_result best = {.size = sizeof best};
    sked_sweep_result swept = {.size = sizeof swept};
    sked_samples drawn = {.size = sizeof drawn};
    sked_metrics m = {.size = sizeof m};
    sked_diversity d = {.size = sizeof d};
    sked_schedule *s = NULL;
    sked_simulator *sim = NULL;
    sked_target *t = NULL;
    int32_t *device = NULL;
    double *start = NULL, bound, peak[2];
    static const double at[] = {20};
    static const char text[] = "{}";
    sked_run_options_init(&run);
    run.iterations = 1;
    run.time_limit = 1;
    sked_robust_options_init(&robust);
    robust.iterations = robust.measurements = 1;
    robust.time_limit = 1;
    sked_sample_options_init(&sample);
    sample.count = 1;
    sked_sweep_options_init(&sweep);
    sweep.values = at;
    sweep.n_values = 1;
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = x->schedule;
    data.method = "";
    switch (k) {
    case 0:
        return *st = sked_problem_check(p, err), "sked_problem_check";
    case 1:
        return *st = sked_problem_bound(p, &bound, NULL, err), "sked_problem_bound";
    case 2:
        *st = sked_method_run("list", p, &run, &r, err);
        return sked_result_clear(&r), "sked_method_run";
    case 3:
        return *st = sked_schedule_validate(p, x->schedule, err), "sked_schedule_validate";
    case 4:
        return *st = sked_schedule_measure(p, x->schedule, &m, err), "sked_schedule_measure";
    case 5:
        return *st = sked_schedule_device_memory(p, x->schedule, peak, err), "sked_schedule_device_memory";
    case 6:
        return *st = sked_schedules_diversity(p, one, 1, &d, err), "sked_schedules_diversity";
    case 7:
        return *st = sked_schedules_write(p, one, 1, x->file, err), "sked_schedules_write";
    case 8:
        *st = sked_schedule_parse("x", text, 2, p, &s, err);
        return sked_schedule_destroy(s), "sked_schedule_parse";
    case 9:
        *st = sked_fix_parse("x", text, 2, p, &device, &start, err);
        return "sked_fix_parse";
    case 10:
        return *st = sked_report_write(&data, x->file, "json", err), "sked_report_write";
    case 11:
        *st = sked_sweep("list", p, &sweep, &run, &swept, err);
        return sked_sweep_result_clear(&swept), "sked_sweep";
    case 12:
        *st = sked_target_create("linear", p, 1, &t, err);
        return sked_target_destroy(t), "sked_target_create";
    case 13:
        *st = sked_robust(p, "linear", &robust, &best, err);
        return sked_robust_result_clear(&best), "sked_robust";
    case 14:
        *st = sked_sampler_sample(x->sampler, p, &sample, &drawn, err);
        return sked_samples_clear(&drawn), "sked_sampler_sample";
    case 15:
        return *st = sked_samples_write(&drawn, p, 1, x->file, err), "sked_samples_write";
    case 16:
        return *st = sked_problem_export(p, x->file, "lp", err), "sked_problem_export";
    case 17:
        *st = sked_simulator_create(p, &sim, err);
        return sked_simulator_destroy(sim), "sked_simulator_create";
    default:
        return NULL;
    }
}

static void call_all(const scene *x, const sked_problem *p, int how, const char *what, double value)
{
    const char *name;
    for (int k = 0;; k++) {
        sked_error why = {0};
        sked_status st = SKED_OK;
        if ((name = call_with(x, p, k, &st, &why)) == NULL)
            return;
        if (how == BROKEN_ONLY && st != SKED_ERR_ARGUMENT)
            fail_msg("%s with %s %g: status %d, '%s'", name, what, value, (int)st, why.message);
        if (st == SKED_ERR_BUG || (st != SKED_OK && why.message[0] == 0))
            fail_msg("%s with %s %g: status %d, '%s'", name, what, value, (int)st, why.message);
    }
}

static void problems(void **state)
{
    const scene *x = *state;
    sked_problem p = x->problem;
    call_all(x, &p, ANY, "nothing wrong", 0);
    p.graph = NULL;
    call_all(x, &p, BROKEN_ONLY, "graph", 0);
    for (int k = 0; k < NAMES; k++) {
        p = x->problem;
        p.objective = (sked_objective)wrong_name[k];
        call_all(x, &p, BROKEN_ONLY, "objective", wrong_name[k]);
        p = x->problem;
        p.lifetime = (sked_lifetime)wrong_name[k];
        call_all(x, &p, BROKEN_ONLY, "lifetime", wrong_name[k]);
    }
    for (int k = 0; k < INTS; k++) {
        p = x->problem;
        p.devices = wrong_int[k];
        call_all(x, &p, BROKEN_ONLY, "devices", wrong_int[k]);
        p.machine = x->machine;
        call_all(x, &p, BROKEN_ONLY, "devices of a machine", wrong_int[k]);
    }
}

/* field, and whether infinity and 1e308 are refused at once, too. */
#define REAL_FIELD(field, infinite)                                                                 \
    do {                                                                                            \
        p = x->problem;                                                                             \
        p.field = wrong_real[k];                                                                    \
        const bool allowed_ = wrong_real[k] == 1e308 || (wrong_real[k] == INFINITY && !(infinite)); \
        call_all(x, &p, allowed_ ? ANY : BROKEN_ONLY, #field, wrong_real[k]);                       \
    } while (0)

static void numbers_of_problems(void **state)
{
    const scene *x = *state;
    sked_problem p;
    for (int k = 0; k < REALS; k++) {
        REAL_FIELD(latency, true);
        REAL_FIELD(bandwidth, false);
        REAL_FIELD(horizon, false);
        REAL_FIELD(alpha, true);
        REAL_FIELD(memory_limit, false);
        if (wrong_real[k] != SKED_II_AUTO)
            REAL_FIELD(ii, true);
        const double capacity[] = {wrong_real[k]}, start[] = {NAN, wrong_real[k], NAN};
        const bool fine = wrong_real[k] > 0;
        p = x->problem;
        p.capacity = capacity;
        call_all(x, &p, fine ? ANY : BROKEN_ONLY, "capacity", wrong_real[k]);
        p = x->problem;
        p.fix_start = start;
        call_all(x, &p,
                 isfinite(wrong_real[k]) && fine ? ANY
                 : isnan(wrong_real[k])          ? ANY
                                                 : BROKEN_ONLY,
                 "fix_start", wrong_real[k]);
    }
    for (int k = 0; k < INTS; k++) {
        const int32_t device[] = {0, wrong_int[k], 1};
        p = x->problem;
        p.fix_device = device;
        call_all(x, &p, wrong_int[k] == -1 ? ANY : BROKEN_ONLY, "fix_device", wrong_int[k]);
        p.devices = 0;
        p.machine = x->machine;
        call_all(x, &p, wrong_int[k] == -1 ? ANY : BROKEN_ONLY, "fix_device", wrong_int[k]);
    }
}

/* A caller whose struct ends with the machine keeps it in the calls without a status, too. */
static void a_problem_that_ends_with_the_machine(void **state)
{
    const scene *x = *state;
    char name[20];
    sked_problem p = x->problem;
    p.devices = 0;
    p.machine = x->machine;
    p.size = offsetof(sked_problem, memory_limit);
    p.memory_limit = -7;
    p.lifetime = (sked_lifetime)99;
    assert_string_equal(sked_problem_device_name(&p, 1, name, sizeof name), "b");
    assert_true(sked_problem_duration(&p, 0, 1) == 2 && sked_problem_transfer(&p, 0, 0, 1) == 1);
    OK(sked_problem_check(&p, err));
    sked_sweep_apply(SKED_SWEEP_MEMORY_LIMIT, 5, &p);
    assert_true(p.memory_limit == -7);
}

/* ------------------------------------------------------------------ options */

#define REFUSED(type, field, value, call)                                                           \
    do {                                                                                            \
        type opt;                                                                                   \
        type##_init(&opt);                                                                          \
        opt.field = (value);                                                                        \
        sked_error why_ = {0}, *err = &why_;                                                        \
        const sked_status st_ = (call);                                                             \
        if (st_ != SKED_ERR_ARGUMENT)                                                               \
            fail_msg("%s of %s, %g: status %d, '%s'", #field, #type, (double)(opt.field), (int)st_, \
                     why_.message);                                                                 \
    } while (0)

static void runs(void **state)
{
    const scene *x = *state;
    sked_result r = {.size = sizeof r, .count = -7};
#define RUN sked_method_run("search", &x->problem, &opt, &r, err)
    REFUSED(sked_run_options, threads, 0, RUN);
    for (int k = 0; k < INTS; k++) {
        REFUSED(sked_run_options, threads, wrong_int[k], RUN);
        REFUSED(sked_run_options, candidates, wrong_int[k], RUN);
        if (wrong_int[k] > 0)
            continue;
        REFUSED(sked_run_options, iterations, wrong_int[k], RUN);
        REFUSED(sked_run_options, top, wrong_int[k], RUN);
        REFUSED(sked_run_options, n_settings, wrong_int[k], RUN);
    }
    REFUSED(sked_run_options, iterations, INT64_MIN, RUN);
    REFUSED(sked_run_options, n_settings, 3, RUN); /* and no settings */
    for (int k = 0; k < REALS; k++) {
        REFUSED(sked_run_options, min_distance, wrong_real[k], RUN);
        if (!(wrong_real[k] > 0))
            REFUSED(sked_run_options, time_limit, wrong_real[k], RUN);
    }
    const sked_run_options none = {.size = sizeof none, .threads = 1, .backend = "no such"};
    FAILS(SKED_ERR_ARGUMENT, "no such", sked_method_run("list", &x->problem, &none, &r, err));
    FAILS(SKED_ERR_ARGUMENT, "no method is called", sked_method_run(NULL, &x->problem, NULL, &r, err));
    assert_int_equal(r.count, -7);
#undef RUN
}

static void samples_and_training(void **state)
{
    const scene *x = *state;
    sked_samples s = {.size = sizeof s, .count = -7};
    sked_sampler *model = NULL;
#define SAMPLE sked_sampler_sample(x->sampler, &x->problem, &opt, &s, err)
#define TRAIN  (opt.graphs = "layered:4-5", sked_train(&opt, &model, err))
    for (int k = 0; k < INTS; k++) {
        REFUSED(sked_sample_options, threads, wrong_int[k], SAMPLE);
        REFUSED(sked_sample_options, count, wrong_int[k], SAMPLE);
        REFUSED(sked_train_options, threads, wrong_int[k], TRAIN);
        REFUSED(sked_train_options, devices, wrong_int[k], TRAIN);
        if (wrong_int[k] > 0)
            continue;
        REFUSED(sked_sample_options, improve, wrong_int[k], SAMPLE);
        REFUSED(sked_train_options, steps, wrong_int[k], TRAIN);
        REFUSED(sked_train_options, n_settings, wrong_int[k], TRAIN);
    }
    for (int k = 0; k < REALS; k++) {
        REFUSED(sked_sample_options, temperature, wrong_real[k], SAMPLE);
        if (wrong_real[k] > 0)
            continue;
        REFUSED(sked_sample_options, time_limit, wrong_real[k], SAMPLE);
        REFUSED(sked_train_options, minutes, wrong_real[k], TRAIN);
    }
    assert_true(s.count == -7 && model == NULL);
#undef SAMPLE
#undef TRAIN
}

static void robust_and_sweeps(void **state)
{
    const scene *x = *state;
    sked_robust_result r = {.size = sizeof r, .count = -7};
    sked_sweep_result w = {.size = sizeof w, .count = -7};
    const double at = 9;
#define ROBUST sked_robust(&x->problem, "linear", &opt, &r, err)
#define SWEEP                                             \
    (opt.values = opt.values == NULL ? &at : opt.values,  \
     opt.n_values = opt.n_values == 0 ? 1 : opt.n_values, \
     sked_sweep("list", &x->problem, &opt, NULL, &w, err))
    for (int k = 0; k < INTS; k++) {
        REFUSED(sked_robust_options, threads, wrong_int[k], ROBUST);
        REFUSED(sked_robust_options, measurements, wrong_int[k], ROBUST);
        REFUSED(sked_robust_options, candidates, wrong_int[k], ROBUST);
        if (wrong_int[k] > 0)
            continue;
        REFUSED(sked_robust_options, top, wrong_int[k], ROBUST);
        REFUSED(sked_robust_options, improve, wrong_int[k], ROBUST);
        REFUSED(sked_robust_options, iterations, wrong_int[k], ROBUST);
        REFUSED(sked_robust_options, n_settings, wrong_int[k], ROBUST);
        REFUSED(sked_robust_options, n_given, wrong_int[k], ROBUST);
        REFUSED(sked_sweep_options, n_values, wrong_int[k], SWEEP);
    }
    for (int k = 0; k < REALS; k++) {
        REFUSED(sked_robust_options, min_distance, wrong_real[k], ROBUST);
        if (wrong_real[k] > 0)
            continue;
        REFUSED(sked_robust_options, time_limit, wrong_real[k], ROBUST);
        const sked_sweep_options how = {.size = sizeof how, .values = &wrong_real[k], .n_values = 1};
        FAILS(SKED_ERR_ARGUMENT, "values", sked_sweep("list", &x->problem, &how, NULL, &w, err));
    }
    for (int k = 0; k < NAMES; k++) {
        REFUSED(sked_sweep_options, parameter, (sked_sweep_parameter)wrong_name[k], SWEEP);
        sked_problem p = x->problem;
        sked_sweep_apply((sked_sweep_parameter)wrong_name[k], 5, &p);
        assert_true(memcmp(&p, &x->problem, sizeof p) == 0);
    }
    assert_true(r.count == -7 && w.count == -7);
#undef ROBUST
#undef SWEEP
}

static void graphs(void **state)
{
    const scene *x = *state;
    sked_graph *g = NULL;
#define GENERATE sked_graph_generate("layered", &opt, &g, err)
#define LOOPED   sked_graph_looped(x->graph, &opt, &g, err)
#define READ     sked_graph_read(x->file, &opt, &g, err)
    for (int k = 0; k < INTS; k++) {
        if (wrong_int[k] > 0)
            continue;
        REFUSED(sked_generate_options, nodes, wrong_int[k], GENERATE);
        REFUSED(sked_generate_options, n_settings, wrong_int[k], GENERATE);
        REFUSED(sked_back_edges, count, wrong_int[k], LOOPED);
        REFUSED(sked_back_edges, distance, wrong_int[k], LOOPED);
        REFUSED(sked_back_edges, span, wrong_int[k], LOOPED);
        REFUSED(sked_read_options, max_bytes, wrong_int[k], READ);
    }
    const sked_generate_options drawn = {.size = sizeof drawn, .nodes = 5, .duration = "uniform:nan,inf"};
    const sked_read_options unknown = {.size = sizeof unknown, .format = "no such"};
    FAILS(SKED_ERR_ARGUMENT, "", sked_graph_generate("layered", &drawn, &g, err));
    FAILS(SKED_ERR_ARGUMENT, "", sked_graph_parse("x", "{}", 2, &unknown, &g, err));
    FAILS(SKED_ERR_ARGUMENT, "", sked_graph_write(x->graph, x->file, "no such", err));
    assert_null(g);
}

/* ------------------------------------------------------------------ builders */

static void builders(void **state)
{
    (void)state;
    for (int k = 0; k < REALS; k++) {
        const double w = wrong_real[k];
        for (int which = 0; which < 8; which++) {
            sked_builder *b = NULL;
            sked_graph *g = NULL;
            sked_status st = SKED_OK;
            OK(sked_builder_create(&b, err));
            OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
            const sked_edge lag = {0, 0, isnan(w) ? INFINITY : w, 0, 1}, bytes = {0, 0, 1, w, 1};
            st = which == 0   ? sked_builder_add_op(b, NULL, NULL, w, NULL, NULL)
                 : which == 1 ? sked_builder_add_resource(b, "R", w, NULL, NULL)
                 : which == 2 ? sked_builder_set_memory(b, 0, w, NULL)
                 : which == 3 ? sked_builder_set_weight(b, 0, w, NULL)
                 : which == 4 ? sked_builder_add_duration(b, 0, "d", w, NULL)
                 : which == 5 ? sked_builder_add_demand(b, 0, 0, w, NULL)
                 : which == 6 ? sked_builder_add_edge(b, &lag, NULL)
                              : sked_builder_add_edge(b, &bytes, NULL);
            const bool unlimited = w == INFINITY && (which == 1 || which == 4);
            if (w != 1e308 && !unlimited && !(which == 6 && isfinite(w)) && st == SKED_OK)
                fail_msg("builder call %d takes %g", which, w);
            if (st != SKED_OK) { /* it stays failed, with the cause */
                sked_error first = {0}, second = {0};
                assert_int_equal(sked_builder_finish(b, &g, &first), st);
                assert_int_equal(sked_builder_finish(b, &g, &second), st);
                assert_string_equal(first.message, second.message);
            }
            assert_null(g);
            sked_builder_destroy(b);
        }
    }
}

/* What failed stays failed: the same sentence each time, and nothing more is taken. */
static void finish_repeats_the_cause(void **state)
{
    (void)state;
    const sked_edge there = {0, 1, SKED_LAG_DEFAULT, 0, 0}, back = {1, 0, SKED_LAG_DEFAULT, 0, 0};
    const double duration[] = {1, 2};
    sked_columns columns = {.size = sizeof columns, .ops = 2, .duration = duration};
    for (int which = 0; which < 3; which++) {
        const char *const part = which == 0   ? "cycle of distance 0"
                                 : which == 1 ? "columns need"
                                              : "not valid UTF-8";
        const sked_status want = which == 1 ? SKED_ERR_ARGUMENT : SKED_ERR_FORMAT;
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        OK(sked_builder_create(&b, err));
        OK(sked_builder_add_columns(b, &columns, err));
        if (which == 0) {
            OK(sked_builder_add_edge(b, &there, err));
            OK(sked_builder_add_edge(b, &back, err));
        } else if (which == 1) {
            const sked_columns wrong = {.size = sizeof wrong, .ops = -1, .duration = duration};
            FAILS(want, part, sked_builder_add_columns(b, &wrong, err));
        } else
            FAILS(want, part, sked_builder_set_name(b, "\xff", err));
        for (int again = 0; again < 3; again++)
            FAILS(want, part, sked_builder_finish(b, &g, err));
        FAILS(want, part, sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        FAILS(want, part, sked_builder_add_columns(b, &columns, err));
        FAILS(want, part, sked_builder_finish(b, &g, err));
        assert_null(g);
        sked_builder_destroy(b);
    }
}

static void machines_repeat_the_cause(void **state)
{
    (void)state;
    static const char *const cause[] = {"at least one device", "nowhere", "speed must be", "two devices",
                                        "duration of op"};
    for (int which = 0; which < 5; which++) {
        sked_machine_builder *b = NULL;
        sked_machine *m = NULL;
        OK(sked_machine_builder_create(NULL, &b, err));
        if (which > 0)
            OK(sked_machine_builder_add_device(b, "a", NULL, 1, 1, NULL, err));
        if (which == 1)
            OK(sked_machine_builder_add_link(b, "a", "nowhere", 0, 1, false, err));
        if (which == 2)
            FAILS(SKED_ERR_FORMAT, cause[2],
                  sked_machine_builder_add_device(b, "b", NULL, NAN, 1, NULL, err));
        if (which == 3)
            FAILS(SKED_ERR_FORMAT, cause[3], sked_machine_builder_add_device(b, "a", NULL, 1, 1, NULL, err));
        if (which == 4)
            FAILS(SKED_ERR_FORMAT, cause[4], sked_machine_builder_add_duration(b, "x", NULL, -1, err));
        for (int again = 0; again < 3; again++)
            FAILS(SKED_ERR_FORMAT, cause[which], sked_machine_builder_finish(b, &m, err));
        FAILS(SKED_ERR_FORMAT, cause[which], sked_machine_builder_add_device(b, "c", NULL, 1, 1, NULL, err));
        assert_null(m);
        sked_machine_builder_destroy(b);
    }
}

static void machine_numbers(void **state)
{
    (void)state;
    for (int k = 0; k < REALS; k++)
        for (int which = 0; which < 5; which++) {
            const double w = wrong_real[k];
            sked_machine_builder *b = NULL;
            OK(sked_machine_builder_create(NULL, &b, err));
            const sked_status st =
                which == 0   ? sked_machine_builder_add_device(b, "a", NULL, w, 1, NULL, NULL)
                : which == 1 ? sked_machine_builder_add_device(b, "a", NULL, 1, w, NULL, NULL)
                : which == 2 ? sked_machine_builder_add_link(b, "a", "b", w, 1, false, NULL)
                : which == 3 ? sked_machine_builder_set_link(b, 0, w, NULL)
                             : sked_machine_builder_add_duration(b, "a", "b", w, NULL);
            const bool fine = w == 1e308 || (w == INFINITY && (which == 1 || which == 3 || which == 4));
            if ((st == SKED_OK) != fine)
                fail_msg("machine call %d with %g: status %d", which, w, (int)st);
            sked_machine_builder_destroy(b);
        }
}

/* ------------------------------------------------------------------ schedules, lists and texts */

static void schedules(void **state)
{
    scene *x = *state;
    sked_metrics m = {.size = sizeof m};
    sked_diversity d = {.size = sizeof d};
    sked_measurement measured = {.size = sizeof measured};
    sked_schedule *s = NULL;
    const sked_schedule *const one[] = {x->schedule};
    double peak[2], *bits;
    int32_t count;
    for (int k = 0; k < INTS; k++) {
        if (wrong_int[k] < 0) {
            FAILS(SKED_ERR_ARGUMENT, "0 or more", sked_schedule_create(wrong_int[k], 2, &s, err));
            FAILS(SKED_ERR_ARGUMENT, "0 or more", sked_schedule_create(3, wrong_int[k], &s, err));
            FAILS(SKED_ERR_ARGUMENT, "0 or more",
                  sked_schedules_diversity(&x->problem, one, wrong_int[k], &d, err));
            FAILS(SKED_ERR_ARGUMENT, "0 or more",
                  sked_schedules_write(&x->problem, one, wrong_int[k], x->file, err));
        }
        for (int which = 0; which < 3; which++) {
            int32_t *const at = which == 0   ? &x->schedule->device[1]
                                : which == 1 ? &x->schedule->devices
                                             : &x->schedule->ops;
            const int32_t kept = *at;
            *at = wrong_int[k];
            FAILS(SKED_ERR_INVALID, "", sked_schedule_validate(&x->problem, x->schedule, err));
            FAILS(SKED_ERR_INVALID, "", sked_schedule_measure(&x->problem, x->schedule, &m, err));
            FAILS(SKED_ERR_INVALID, "", sked_schedule_device_memory(&x->problem, x->schedule, peak, err));
            FAILS(SKED_ERR_INVALID, "",
                  sked_schedule_registers(&x->problem, x->schedule, &bits, &count, err));
            FAILS(SKED_ERR_INVALID, "", sked_schedules_diversity(&x->problem, one, 1, &d, err));
            FAILS(SKED_ERR_INVALID, "", sked_schedules_write(&x->problem, one, 1, x->file, err));
            FAILS(SKED_ERR_INVALID, "", sked_target_measure(x->target, x->schedule, &measured, err));
            *at = kept;
        }
    }
    for (int k = 0; k < REALS; k++) {
        if (wrong_real[k] == 1e308 || wrong_real[k] == -1e308 || wrong_real[k] == -1)
            continue; /* early or late, but times */
        x->schedule->start[1] = wrong_real[k];
        FAILS(SKED_ERR_INVALID, "", sked_schedule_validate(&x->problem, x->schedule, err));
        FAILS(SKED_ERR_INVALID, "", sked_schedule_measure(&x->problem, x->schedule, &m, err));
        FAILS(SKED_ERR_INVALID, "", sked_schedules_diversity(&x->problem, one, 1, &d, err));
        FAILS(SKED_ERR_INVALID, "", sked_target_measure(x->target, x->schedule, &measured, err));
        x->schedule->start[1] = 2;
    }
    assert_null(s);
}

static void lists_and_texts(void **state)
{
    (void)state;
    char text[8] = "same";
    double number = 7;
    for (int k = 0; k < NAMES; k++) {
        const int n = wrong_name[k];
        assert_string_equal(
            sked_status_text((sked_status)n == SKED_ERR_UNSUPPORTED ? (sked_status)77 : (sked_status)n),
            "unknown status");
        assert_string_equal(sked_objective_name((sked_objective)n), "unknown");
        assert_string_equal(sked_lifetime_name((sked_lifetime)n), "unknown");
        (void)sked_log_set(n, NULL, NULL);
    }
    for (int k = 0; k < INTS; k++) {
        assert_null(sked_format_at(wrong_int[k]));
        assert_null(sked_method_at(wrong_int[k]));
        assert_null(sked_family_at(wrong_int[k]));
        assert_null(sked_distribution_at(wrong_int[k]));
        assert_null(sked_report_at(wrong_int[k]));
        assert_null(sked_target_at(wrong_int[k]));
        assert_null(sked_target_option_at(wrong_int[k]));
        assert_null(sked_train_option_at(wrong_int[k]));
        assert_null(sked_attribute_at(wrong_int[k]));
        if (wrong_int[k] < 0)
            assert_string_equal(sked_suggest("x", NULL, wrong_int[k], text, sizeof text), "");
    }
    for (size_t size = 0; size < 3; size++) { /* no room, or hardly any */
        snprintf(text, sizeof text, "same");
        (void)sked_escape("\x1b[31m", text, size);
        assert_true(size > 0 || strcmp(text, "same") == 0);
        snprintf(text, sizeof text, "same");
        (void)sked_format_number(-1.0 / 3, text, size);
        assert_true(size > 0 || strcmp(text, "same") == 0);
    }
    assert_false(sked_parse_number("nan", &number));
    assert_false(sked_parse_number("inf", &number));
    assert_false(sked_parse_number("", &number));
    assert_true(number == 7);
    FAILS(SKED_ERR_ARGUMENT, "",
          sked_target_create("no such", &(sked_problem){.size = sizeof(sked_problem)}, 1,
                             &(sked_target *){NULL}, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems),
        cmocka_unit_test(numbers_of_problems),
        cmocka_unit_test(a_problem_that_ends_with_the_machine),
        cmocka_unit_test(runs),
        cmocka_unit_test(samples_and_training),
        cmocka_unit_test(robust_and_sweeps),
        cmocka_unit_test(graphs),
        cmocka_unit_test(builders),
        cmocka_unit_test(finish_repeats_the_cause),
        cmocka_unit_test(machines_repeat_the_cause),
        cmocka_unit_test(machine_numbers),
        cmocka_unit_test(schedules),
        cmocka_unit_test(lists_and_texts),
    };
    return cmocka_run_group_tests(tests, open_scene, close_scene);
}
