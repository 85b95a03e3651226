/*
 * Programs that use the library set their own locale. What it writes has the same bytes in every locale, and
 * what it reads says the same: every format, model, report, log, and what it tells other programs.
 */
#define _POSIX_C_SOURCE 200809L
#include "report_samples.h"

#include "comma.h"

#include <unistd.h>

#define FOLDER        SKED_BINARY_DIR "/test_locale"
#define FILE_OF(name) FOLDER "/" name

typedef void (*writer)(const sample *s, const char *path, int which);

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1 << 22, 1);
    assert_true(fread(text, 1, (1 << 22) - 1, f) > 0);
    fclose(f);
    return text;
}

/* The same file in both locales. */
static void check_writer(const char *what, writer write, const sample *s, const char *path, int which)
{
    char *text[2];
    char point[8];
    for (int k = 0; k < 2; k++) {
        remove(path);
        if (k == 1)
            assert_true(set_comma());
        snprintf(point, sizeof point, "%.1f", 0.5);
        write(s, path, which);
        setlocale(LC_ALL, "C");
        assert_string_equal(point, k == 0 ? "0.5" : "0,5");
        text[k] = slurp(path);
    }
    size_t at = 0;
    while (text[0][at] && text[0][at] == text[1][at])
        at++;
    if (text[0][at] != text[1][at])
        fail_msg("%s: \"%.60s\" became \"%.60s\"", what, text[0] + (at > 20 ? at - 20 : 0),
                 text[1] + (at > 20 ? at - 20 : 0));
    free(text[0]);
    free(text[1]);
}

static int make_folder(void **state)
{
    (void)state;
    return system("mkdir -p " FOLDER) != 0;
}

/* ------------------------------------------------------------------ formats */

static void write_graph(const sample *s, const char *path, int which)
{
    OK(sked_graph_write(s->graph, path, sked_format_at(which)->name, err));
    sked_graph *back = NULL;
    const sked_read_options how = {.size = sizeof how, .format = sked_format_at(which)->name};
    if (sked_format_at(which)->reads) {
        OK(sked_graph_read(path, &how, &back, err));
        assert_int_equal(sked_graph_op_count(back), sked_graph_op_count(s->graph));
    }
    sked_graph_destroy(back);
}

/* Times that no format can hold as whole numbers. */
static void sample_fractions(sample *s)
{
    s->graph = must_graph(
        "{\"format\":\"sked-graph-1\",\"name\":\"f\",\"resources\":[{\"name\":\"r\",\"capacity\":1.5}],"
        "\"ops\":"
        "[{\"name\":\"a\",\"duration\":0.5,\"memory\":1.25,\"weight\":2.5,\"demand\":{\"r\":0.75}},"
        "{\"name\":\"b\",\"duration\":1e-7,\"memory\":12345.678},{\"name\":\"c\",\"duration\":3."
        "3333333333333335}],"
        "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":0.125},{\"from\":\"a\",\"to\":\"c\",\"lag\":0.75}]"
        "}");
    sked_problem_init(&s->problem, s->graph);
    s->problem.devices = 2;
    s->problem.latency = 0.25;
    s->problem.horizon = 1000.5;
    sample_schedule(s, "greedy");
}

static void formats(void **state)
{
    (void)state;
    NEED_COMMA();
    setlocale(LC_ALL, "C");
    sample s = {0};
    int written = 0;
    sample_fractions(&s);
    for (int i = 0; i < sked_format_count(); i++) {
        sked_error e = {0};
        if (!sked_format_at(i)->writes ||
            sked_graph_write(s.graph, FILE_OF("probe"), sked_format_at(i)->name, &e))
            continue; /* some refuse fractions, or what this graph has */
        check_writer(sked_format_at(i)->name, write_graph, &s, FILE_OF("graph"), i);
        written++;
    }
    assert_true(written >= 4);
    sample_free(&s);
}

static const char *const models[] = {"lp", "mps", "minizinc"};

static void write_model(const sample *s, const char *path, int which)
{
    OK(sked_problem_export(&s->problem, path, models[which], err));
}

static void models_for_solvers(void **state)
{
    (void)state;
    NEED_COMMA();
    setlocale(LC_ALL, "C");
    sample s = {0};
    sample_small(&s);
    s.problem.objective = SKED_OBJECTIVE_COST;
    s.problem.alpha = 0.375;
    s.problem.devices = 0;
    s.problem.bandwidth = INFINITY;
    s.problem.horizon = 24;
    for (int k = 0; k < 3; k++)
        check_writer(models[k], write_model, &s, FILE_OF("model"), k);
    sample_free(&s);
}

/* ------------------------------------------------------------------ machines, schedules, samples */

static void write_machine(const sample *s, const char *path, int which)
{
    sked_machine *back = NULL;
    (void)which;
    OK(sked_machine_write(s->machine, path, err));
    OK(sked_machine_read(path, &back, err));
    sked_machine_destroy(back);
}

static void write_schedules(const sample *s, const char *path, int which)
{
    const sked_schedule *const all[] = {s->schedule, s->schedule};
    (void)which;
    OK(sked_schedules_write(&s->problem, all, 2, path, err));
}

static void write_curve(const sample *s, const char *path, int which)
{
    sked_curve_point point = {
        .seconds = 0.001, .evaluations = 3, .value = 2.5, .bound = 1.5, .method = "list"};
    sked_curve_point *points[] = {&point};
    sked_result r = {.size = sizeof r, .curve = points, .n_curve = 1};
    (void)s;
    (void)which;
    OK(sked_curve_write(&r, path, err));
}

static void write_samples(const sample *s, const char *path, int which)
{
    sked_sampler *m = NULL;
    sked_samples out = {.size = sizeof out};
    sked_sample_options opt;
    (void)which;
    sked_sample_options_init(&opt);
    opt.count = 3;
    opt.temperature = 0.5;
    OK(sked_sampler_read(NULL, &m, err));
    OK(sked_sampler_sample(m, &s->problem, &opt, &out, err));
    OK(sked_samples_write(&out, &s->problem, 0.5, path, err));
    sked_samples_clear(&out);
    sked_sampler_destroy(m);
}

static void lines_and_machines(void **state)
{
    (void)state;
    NEED_COMMA();
    setlocale(LC_ALL, "C");
    sample s = {0}, on_machine = {0}, layers = {0};
    sample_fractions(&s);
    sample_machine(&on_machine);
    sample_layered(&layers, 12, 3, 2);
    check_writer("machine", write_machine, &on_machine, FILE_OF("x.machine.json"), 0);
    check_writer("schedules", write_schedules, &s, FILE_OF("s.jsonl"), 0);
    check_writer("curve", write_curve, &s, FILE_OF("c.jsonl"), 0);
    check_writer("samples", write_samples, &layers, FILE_OF("samples.jsonl"), 0);
    sample_free(&s);
    sample_free(&on_machine);
    sample_free(&layers);
}

/* ------------------------------------------------------------------ reports */

static void write_report(const sample *s, const char *path, int which)
{
    OK(sked_report_write(&s->data, path, sked_report_at(which)->name, err));
}

/* A loop, one shot, and a sweep, for the reports that show them. Results of runs of few iterations. */
static void add_runs(sample *s, sked_robust_result *loop, sked_robust_result *shot, sked_sweep_result *sweep)
{
    sked_robust_options opt;
    sked_sweep_options values;
    sked_run_options run;
    const double at[] = {20.5, 40.25};
    sked_robust_options_init(&opt);
    opt.measurements = 4;
    opt.iterations = 2;
    opt.time_limit = INFINITY;
    OK(sked_robust(&s->problem, "noisy+linear", &opt, loop, err));
    opt.one_shot = true;
    opt.candidates = 20;
    opt.top = 5;
    OK(sked_robust(&s->problem, "noisy+linear", &opt, shot, err));
    sked_sweep_options_init(&values);
    values.parameter = SKED_SWEEP_HORIZON;
    values.values = at;
    values.n_values = 2;
    sked_run_options_init(&run);
    run.time_limit = INFINITY;
    run.iterations = 5;
    OK(sked_sweep("list", &s->problem, &values, &run, sweep, err));
}

static void reports(void **state)
{
    (void)state;
    NEED_COMMA();
    setlocale(LC_ALL, "C");
    sample s = {0}, pipelined = {0}, chained = {0}, clocked = {0};
    sked_curve_point a = {.seconds = 0.0015, .evaluations = 3, .value = 25.5, .bound = 1.5, .method = "list"};
    sked_curve_point b = {.seconds = 0.25, .evaluations = 9, .value = 22.25, .bound = 2.5, .method = "brkga"};
    sked_curve_point *const curve[] = {&a, &b};
    sked_robust_result loop = {.size = sizeof loop}, shot = {.size = sizeof shot};
    sked_sweep_result sweep = {.size = sizeof sweep};
    sample_layered(&s, 30, 5, 3);
    add_runs(&s, &loop, &shot, &sweep);
    s.data.curve = curve;
    s.data.n_curve = 2;
    sample_pipelined(&pipelined);
    sample_chained(&chained);
    sample_clocked(&clocked);
    int written = 0;
    for (int i = 0; i < sked_report_count(); i++) {
        sked_error e = {0};
        if (strcmp(sked_report_at(i)->name, "ssp") == 0) {
            check_writer("ssp", write_report, &chained, FILE_OF("report"), i);
            written |= 1 << i;
        }
        if (strcmp(sked_report_at(i)->name, "verilog") == 0) {
            check_writer("verilog", write_report, &clocked, FILE_OF("report"), i);
            written |= 1 << i;
        }
        if (strcmp(sked_report_at(i)->name, "onnx") == 0 || strcmp(sked_report_at(i)->name, "tflite") == 0)
            written |= 1 << i; /* bytes of the model that was read, no text */
        if (sked_report_write(&pipelined.data, FILE_OF("probe"), sked_report_at(i)->name, &e) == SKED_OK)
            check_writer("pipelined", write_report, &pipelined, FILE_OF("report"), i);
    }
    for (int which = 0; which < 3; which++) {
        s.data.robust = which == 0 ? &loop : which == 1 ? &shot : NULL;
        s.data.sweep = which == 2 ? &sweep : NULL;
        for (int i = 0; i < sked_report_count(); i++) {
            sked_error e = {0};
            if (sked_report_write(&s.data, FILE_OF("probe"), sked_report_at(i)->name, &e) ==
                SKED_ERR_UNSUPPORTED)
                continue;
            check_writer(sked_report_at(i)->name, write_report, &s, FILE_OF("report"), i);
            written |= 1 << i;
        }
    }
    assert_int_equal(written, (1 << sked_report_count()) - 1);
    sked_robust_result_clear(&loop);
    sked_robust_result_clear(&shot);
    sked_sweep_result_clear(&sweep);
    sample_free(&s);
    sample_free(&pipelined);
    sample_free(&chained);
    sample_free(&clocked);
}

/* ------------------------------------------------------------------ logs and other programs */

/* Keeps what it is told, and answers with a fraction. */
static const char teller[] = "#!/bin/sh\ncat \"$1\" > " FOLDER "/told\necho '{\"time\": 12.5}'\n";

static void write_log(const sample *s, const char *path, int which)
{
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    (void)which;
    sked_robust_options_init(&opt);
    opt.measurements = 3;
    opt.iterations = 2;
    opt.time_limit = INFINITY;
    opt.log = path;
    OK(sked_robust(&s->problem, "linear", &opt, &r, err));
    sked_robust_result_clear(&r);
    opt.resume = path;
    opt.measurements = 4;
    OK(sked_robust(&s->problem, "linear", &opt, &r, err));
    assert_int_equal(r.measurements, 4);
    sked_robust_result_clear(&r);
}

static void measure(const sample *s, const char *spec)
{
    sked_target *t = NULL;
    double time = 0;
    OK(sked_target_create(spec, &s->problem, 0, &t, err));
    OK(measured_time(t, s->schedule, &time, err));
    assert_true(time == 12.5);
    sked_target_destroy(t);
}

static void tell_command(const sample *s, const char *path, int which)
{
    (void)path;
    (void)which;
    measure(s, "command:" FILE_OF("teller"));
}

/* Any program in the place of sked-simgrid: it gets the plan. */
static void tell_simgrid(const sample *s, const char *path, int which)
{
    (void)path;
    (void)which;
    measure(s, "simgrid,unit=0.5,speed=2.5,program=" FILE_OF("teller") ":" FILE_OF("teller.xml"));
}

static void logs_and_programs(void **state)
{
    (void)state;
    NEED_COMMA();
    setlocale(LC_ALL, "C");
    sample s = {0}, layers = {0};
    sample_fractions(&s);
    sample_layered(&layers, 12, 3, 2);
    OK(sked_file_write(FILE_OF("teller"), teller, sizeof teller - 1, err));
    OK(sked_file_write(FILE_OF("teller.xml"), "<platform/>", 11, err));
    assert_int_equal(system("chmod +x " FILE_OF("teller")), 0);
    s.problem.horizon = INFINITY;
    check_writer("what a command is told", tell_command, &s, FILE_OF("told"), 0);
    check_writer("the plan for SimGrid", tell_simgrid, &layers, FILE_OF("told"), 0);
    check_writer("measurements", write_log, &s, FILE_OF("l.jsonl"), 0);
    sample_free(&s);
    sample_free(&layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats), cmocka_unit_test(models_for_solvers),
                                       cmocka_unit_test(lines_and_machines), cmocka_unit_test(reports),
                                       cmocka_unit_test(logs_and_programs)};
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
