/* The loop through the public header: it learns, repeats itself, survives a bad target, goes on from a
 * record. */
#define _GNU_SOURCE /* truncate */
#include "test.h"

#include <math.h>
#include <unistd.h>

#define SCRIPT SKED_BINARY_DIR "/test_loop.sh"
#define STATE  SKED_BINARY_DIR "/test_loop.state"
#define RECORD SKED_BINARY_DIR "/test_loop.jsonl"
#define SECOND SKED_BINARY_DIR "/test_loop.second.jsonl"
#define PRIOR  SKED_BINARY_DIR "/test_loop.prior.json"

static sked_graph *generate(int32_t nodes, uint64_t seed)
{
    sked_graph *g = NULL;
    const sked_generate_options how = {
        .size = sizeof how, .nodes = nodes, .seed = seed, .bytes = "exponential:1"};
    OK(sked_graph_generate("layered", &how, &g, err));
    return g;
}

static sked_problem on_devices(const sked_graph *g, int32_t devices)
{
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = devices;
    return p;
}

typedef struct listener {
    int warnings, measured;
    char last[400];
    int stop_at; /* measurement at which a stop is asked for; 0: never */
    volatile sig_atomic_t stop;
} listener;

static void on_warning(void *data, const char *message)
{
    listener *l = data;
    l->warnings++;
    snprintf(l->last, sizeof l->last, "%s", message);
}

static void on_progress(void *data, const char *phase, double share, double value, double bound)
{
    listener *l = data;
    (void)share;
    (void)value;
    (void)bound;
    if (strcmp(phase, "measuring") == 0 && ++l->measured == l->stop_at)
        l->stop = 1;
}

static void options_of(sked_robust_options *opt, listener *l, int32_t measurements)
{
    sked_robust_options_init(opt);
    opt->measurements = measurements;
    opt->time_limit = INFINITY;
    opt->iterations = 40;
    opt->warning = on_warning;
    opt->warning_data = l;
    opt->progress = on_progress;
    opt->progress_data = l;
    opt->stop = &l->stop;
}

/* What every result of the loop promises. */
static void check_result(const sked_problem *p, const sked_robust_result *r, const char *target,
                         uint64_t seed)
{
    sked_target *t = NULL;
    int32_t failures = 0, best_member = r->winner;
    OK(sked_target_create(target, p, seed, &t, err));
    assert_false(r->one_shot);
    assert_true(r->measurements > 0 && r->parameters > 3 && r->machine != NULL && r->noise > 0);
    double best = 0;
    for (int32_t k = 0; k < r->measurements; k++) {
        const sked_robust_measurement *m = &r->measurement[k];
        assert_in_range(m->member, 0, r->count - 1);
        assert_in_range(m->candidate, 0, r->member[m->member]->count - 1);
        assert_true(m->expected > 0 && m->fitted > 0);
        failures += isnan(m->time);
        assert_true(isnan(m->best) || m->best >= best - 1e-12);
        best = isnan(m->best) ? best : m->best;
    }
    assert_int_equal(failures, r->failures);
    for (int32_t i = 0; i < r->count; i++) {
        const sked_robust_member *m = r->member[i];
        for (int32_t k = 0; k < m->count; k++) {
            OK(sked_schedule_validate(p, m->schedule[k], err));
            assert_true(k == 0 || m->proxy[k] <= m->proxy[k - 1]);
        }
        best_member = m->time < r->member[best_member]->time ? i : best_member;
    }
    assert_int_equal(best_member, r->winner);
    assert_true(fabs(sked_target_work(t) / r->member[r->winner]->time - best) < 1e-9 * best);
    for (int32_t k = 0; k < r->parameters; k++)
        for (int q = 1; q < 5; q++)
            assert_true(r->parameter[k].prior[q] >= r->parameter[k].prior[q - 1] &&
                        r->parameter[k].posterior[q] >= r->parameter[k].posterior[q - 1]);
    sked_target_destroy(t);
}

static const sked_robust_parameter *find(const sked_robust_result *r, const char *name)
{
    for (int32_t k = 0; k < r->parameters; k++)
        if (strcmp(r->parameter[k].name, name) == 0)
            return &r->parameter[k];
    fail_msg("no parameter is called %s", name);
    return NULL;
}

/* Speedup of a search that knows the target. */
static double informed(const sked_problem *p, const char *target, uint64_t seed)
{
    sked_target *t = NULL;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    double time = 0;
    OK(sked_target_create(target, p, seed, &t, err));
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = 400;
    OK(sked_method_run("search", sked_target_truth(t), &opt, &r, err));
    OK(measured_time(t, r.schedule[0], &time, err));
    const double speedup = sked_target_work(t) / time;
    sked_result_clear(&r);
    sked_target_destroy(t);
    return speedup;
}

/* Links that no one told it are found, and the schedule is near to what a search finds that knows them. */
static void learns_links(void **state)
{
    (void)state;
    static const char *const targets[] = {"bandwidth", "latency", "linear"};
    sked_graph *g = generate(30, 3);
    const sked_problem p = on_devices(g, 3);
    for (int k = SANITIZED ? 2 : 0; k < 3; k++) {
        listener l = {0};
        sked_robust_options opt;
        sked_robust_result r = {.size = sizeof r};
        sked_target *t = NULL;
        options_of(&opt, &l, 10);
        OK(sked_robust(&p, targets[k], &opt, &r, err));
        check_result(&p, &r, targets[k], 0);
        OK(sked_target_create(targets[k], &p, 0, &t, err));
        const sked_problem *truth = sked_target_truth(t);
        if (k != 0)
            assert_true(fabs(find(&r, "latency")->mean / truth->latency - 1) < 0.3);
        if (k != 1)
            assert_true(fabs(find(&r, "bandwidth")->mean / truth->bandwidth - 1) < 0.3);
        assert_true(r.measurement[r.measurements - 1].best > 0.93 * informed(&p, targets[k], 0));
        sked_target_destroy(t);
        sked_robust_result_clear(&r);
    }
    sked_graph_destroy(g);
}

/* A time limit that is over at once leaves the measurements: they go to what the first round has made. */
static void spends_its_budget(void **state)
{
    (void)state;
    sked_graph *g = generate(20, 6);
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l, 8);
    opt.time_limit = 1e-9;
    OK(sked_robust(&p, "linear", &opt, &r, err));
    check_result(&p, &r, "linear", 0);
    assert_int_equal(r.end, SKED_ROBUST_TIME);
    assert_int_equal(r.measurements, 8);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

/* One trace shows all durations and the links: the model then predicts what it measures. */
static void learns_from_traces(void **state)
{
    (void)state;
    sked_graph *g = generate(30, 4);
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    sked_target *t = NULL;
    options_of(&opt, &l, 5);
    OK(sked_robust(&p, "noisy+linear:trace=true", &opt, &r, err));
    check_result(&p, &r, "noisy+linear", 0);
    OK(sked_target_create("noisy+linear", &p, 0, &t, err));
    const sked_problem *truth = sked_target_truth(t);
    const sked_robust_measurement *last = &r.measurement[r.measurements - 1];
    assert_true(fabs(last->expected / last->time - 1) < 0.01);
    assert_true(fabs(find(&r, "latency")->mean / truth->latency - 1) < 0.02);
    assert_true(fabs(find(&r, "bandwidth")->mean / truth->bandwidth - 1) < 0.02);
    assert_int_equal(sked_machine_duration_count(r.machine), 30);
    for (int64_t k = 0; k < 30; k++) {
        const char *op, *on;
        double time;
        sked_machine_duration(r.machine, k, &op, &on, &time);
        assert_true(on == NULL);
        assert_true(fabs(time / sked_graph_duration(truth->graph, sked_graph_find_op(g, op)) - 1) < 0.01);
    }
    assert_true(r.measurement[r.measurements - 1].best > 0.95 * informed(&p, "noisy+linear", 0));
    sked_target_destroy(t);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

/*
 * The proxy is right but for one factor and noise: the winner is about as good there as what a search finds
 * on it (noise of 5 % over 12 measurements may prefer a neighbour), and a loop that sees no better schedule
 * spends its measurements on doubts of its incumbent.
 */
static void does_not_lose_by_learning(void **state)
{
    (void)state;
    static const char target[] = "noisy:model=type,strength=0.7+jitter:strength=0.05,run=0.05,trace=true";
    enum { seeds = 8 };
    double sum = 0;
    for (uint64_t seed = 18; seed < 18 + seeds; seed++) {
        sked_graph *g = generate(25, seed);
        const sked_problem p = on_devices(g, 4);
        listener l = {0};
        sked_robust_options opt;
        sked_robust_result r = {.size = sizeof r};
        options_of(&opt, &l, 12);
        opt.iterations = 10;
        OK(sked_robust(&p, target, &opt, &r, err));
        const sked_robust_member *best = r.member[r.winner];
        assert_int_equal(r.measurements, 12);
        const double share = best->proxy[best->best] / informed(&p, "proxy", 0);
        assert_true(share > 0.97);
        sum += share;
        sked_robust_result_clear(&r);
        sked_graph_destroy(g);
    }
    assert_true(sum > 0.994 * seeds);
}

static void same_course(const sked_robust_result *a, const sked_robust_result *b)
{
    assert_int_equal(a->measurements, b->measurements);
    for (int32_t k = 0; k < a->measurements; k++) {
        assert_true(a->measurement[k].time == b->measurement[k].time);
        assert_true(a->measurement[k].expected == b->measurement[k].expected);
    }
    assert_int_equal(a->parameters, b->parameters);
    assert_memory_equal(a->parameter, b->parameter, (size_t)a->parameters * sizeof *a->parameter);
}

/* The same seed: the same bytes; threads change who works, not what comes out. */
static void repeats_itself(void **state)
{
    (void)state;
    sked_graph *g = generate(25, 5);
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r}, again = {.size = sizeof again}, other = {.size = sizeof other};
    options_of(&opt, &l, 6);
    opt.seed = 7;
    OK(sked_robust(&p, "noisy+linear", &opt, &r, err));
    if (!SANITIZED) {
        OK(sked_robust(&p, "noisy+linear", &opt, &again, err));
        same_course(&r, &again);
    }
    opt.threads = 2;
    OK(sked_robust(&p, "noisy+linear", &opt, &other, err));
    same_course(&r, &other);
    sked_robust_result_clear(&r);
    sked_robust_result_clear(&again);
    sked_robust_result_clear(&other);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ machines and other problems */

static void takes_machines(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\": \"sked-machine-1\", \"latency\": 0.5, \"bandwidth\": 4, \"devices\": [{\"name\": "
        "\"a\", "
        "\"type\": \"cpu\"}, {\"name\": \"b\", \"type\": \"cpu\"}, {\"name\": \"c\", \"type\": \"gpu\", "
        "\"speed\": 2}], \"links\": [{\"from\": \"cpu\", \"to\": \"gpu\", \"latency\": 1, \"bandwidth\": "
        "2}]}";
    sked_graph *g = generate(20, 6);
    sked_machine *m = NULL;
    sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    double latency, bandwidth;
    OK(sked_machine_parse("machine", text, strlen(text), &m, err));
    p.machine = m;
    options_of(&opt, &l, 6);
    OK(sked_robust(&p, "noisy:trace=true", &opt, &r, err));
    check_result(&p, &r, "noisy", 0);
    find(&r, "latency cpu-cpu");
    find(&r, "bandwidth cpu-gpu");
    find(&r, "device gpu");
    assert_string_equal(sked_machine_device_name(r.machine, 2), "c");
    assert_true(sked_machine_link(r.machine, 0, 2, &latency, &bandwidth) && fabs(latency - 1) < 0.1);
    assert_true(sked_machine_link(r.machine, 0, 1, &latency, &bandwidth));
    sked_robust_result_clear(&r);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void refuses(void **state)
{
    (void)state;
    sked_graph *g = generate(10, 7);
    sked_problem p = on_devices(g, 2);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l, 0);
    FAILS(SKED_ERR_ARGUMENT, "measurements must be from 1", sked_robust(&p, "proxy", &opt, &r, err));
    options_of(&opt, &l, 3);
    opt.iterations = 0;
    FAILS(SKED_ERR_ARGUMENT, "time limit", sked_robust(&p, "proxy", &opt, &r, err));
    options_of(&opt, &l, 3);
    p.objective = SKED_OBJECTIVE_RESOURCE;
    FAILS(SKED_ERR_UNSUPPORTED, "makespan", sked_robust(&p, "proxy", &opt, &r, err));
    sked_graph_destroy(g);
}

/* Graphs of one op, of none, of ops that take no time. */
static void takes_tiny_graphs(void **state)
{
    (void)state;
    for (int32_t ops = 0; ops < 4; ops++) {
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        listener l = {0};
        sked_robust_options opt;
        sked_robust_result r = {.size = sizeof r};
        OK(sked_builder_create(&b, err));
        for (int32_t i = 0; i < ops; i++)
            OK(sked_builder_add_op(b, NULL, NULL, ops == 3 ? 0 : 1, NULL, err));
        OK(sked_builder_finish(b, &g, err));
        const sked_problem p = on_devices(g, 2);
        options_of(&opt, &l, 3);
        OK(sked_robust(&p, "proxy", &opt, &r, err));
        assert_true(r.measurements >= 1 && r.member[r.winner]->best >= 0);
        sked_robust_result_clear(&r);
        sked_graph_destroy(g);
        sked_builder_destroy(b);
    }
}

/* ------------------------------------------------------------------ bad targets */

/* The script sees the makespan of the schedule file and a counter. */
static void write_script(const char *body)
{
    FILE *f = fopen(SCRIPT, "w");
    assert_non_null(f);
    fprintf(f,
            "n=$(cat " STATE " 2>/dev/null || echo 0); n=$((n+1)); echo $n > " STATE "\n"
            "t=$(sed -n 's/.*\"makespan\": *\\([0-9.]*\\).*/\\1/p' \"$1\" | head -1)\n%s\n",
            body);
    fclose(f);
    remove(STATE);
}

static void survives_failures(void **state)
{
    (void)state;
    sked_graph *g = generate(20, 8);
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l, 8);
    write_script("[ $((n % 3)) = 2 ] && exit 1\necho $t");
    OK(sked_robust(&p, "command,retries=0:sh " SCRIPT, &opt, &r, err));
    assert_true(r.failures >= 1 && l.warnings == r.failures);
    assert_non_null(strstr(l.last, "failed"));
    assert_true(r.member[r.winner]->best >= 0);
    sked_robust_result_clear(&r);
    FAILS(SKED_ERR_DEVICE, "none of the schedules",
          sked_robust(&p, "command,retries=0:false", &opt, &r, err));
    sked_graph_destroy(g);
}

/* A value that no guess explains is measured again, and left out where it does not repeat. */
static void survives_absurd_values(void **state)
{
    (void)state;
    sked_graph *g = generate(20, 9);
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l, 8);
    write_script("[ $n = 4 ] && t=0.001\necho $t");
    OK(sked_robust(&p, "command,retries=0:sh " SCRIPT, &opt, &r, err));
    assert_int_equal(r.failures, 1);
    assert_true(isnan(r.measurement[3].time) && r.measurement[4].again);
    assert_non_null(strstr(l.last, "far from all guesses"));
    assert_true(r.member[r.winner]->time > 0.1);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

/* Contenders of a noisy target are measured again; a target that repeats itself costs one look. */
static void repeats_contenders(void **state)
{
    (void)state;
    sked_graph *g = generate(25, 10);
    const sked_problem p = on_devices(g, 3);
    int again[2] = {0};
    for (int noisy = SANITIZED; noisy < 2; noisy++) {
        listener l = {0};
        sked_robust_options opt;
        sked_robust_result r = {.size = sizeof r};
        options_of(&opt, &l, 20);
        OK(sked_robust(&p, noisy ? "linear+jitter" : "linear", &opt, &r, err));
        for (int32_t k = 0; k < r.measurements; k++)
            again[noisy] += r.measurement[k].again;
        sked_robust_result_clear(&r);
    }
    assert_true(SANITIZED || again[0] == 1);
    assert_true(again[1] >= 2);
    sked_graph_destroy(g);
}

static void hears_a_stop(void **state)
{
    (void)state;
    sked_graph *g = generate(25, 11);
    const sked_problem p = on_devices(g, 3);
    listener l = {.stop_at = 3};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l, 20);
    OK(sked_robust(&p, "linear", &opt, &r, err));
    assert_int_equal(r.end, SKED_ROBUST_STOPPED);
    assert_in_range(r.measurements, 2, 4);
    sked_robust_result_clear(&r);
    FAILS(SKED_ERR_STOPPED, "", sked_robust(&p, "linear", &opt, &r, err)); /* it is still set */
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ record and resume */

static int count_lines(const char *path)
{
    FILE *f = fopen(path, "r");
    int lines = 0;
    assert_non_null(f);
    for (int c; (c = fgetc(f)) != EOF;)
        lines += c == '\n';
    fclose(f);
    return lines;
}

static void cut(const char *path, long bytes)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    fclose(f);
    assert_int_equal(truncate(path, size - bytes), 0);
}

static void goes_on_from_a_record(void **state)
{
    (void)state;
    sked_graph *g = generate(25, 12), *another = generate(25, 13);
    const sked_problem p = on_devices(g, 3), q = on_devices(another, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r}, more = {.size = sizeof more};
    remove(RECORD);
    remove(SECOND);
    options_of(&opt, &l, 4);
    opt.log = RECORD;
    OK(sked_robust(&p, "noisy+linear:trace=true", &opt, &r, err));
    const int lines = count_lines(RECORD);
    assert_int_equal(lines, 1 + r.measurements);

    opt.resume = RECORD; /* into another file, which is complete */
    opt.log = SECOND;
    opt.measurements = 7;
    OK(sked_robust(&p, "noisy+linear:trace=true", &opt, &more, err));
    for (int32_t k = 0; k < r.measurements; k++)
        assert_true(more.measurement[k].resumed && more.measurement[k].time == r.measurement[k].time);
    for (int32_t k = r.measurements; k < more.measurements; k++)
        assert_false(more.measurement[k].resumed);
    assert_int_equal(count_lines(SECOND), 1 + more.measurements);
    assert_int_equal(count_lines(RECORD), lines);
    sked_robust_result_clear(&more);

    cut(RECORD, 10); /* a torn last line is left out, and written over */
    opt.log = RECORD;
    opt.measurements = r.measurements;
    l = (listener){0};
    OK(sked_robust(&p, "noisy+linear:trace=true", &opt, &more, err));
    assert_non_null(strstr(l.last, "cut off"));
    assert_int_equal(more.measurement[r.measurements - 2].resumed, true);
    assert_int_equal(count_lines(RECORD), 1 + more.measurements);
    sked_robust_result_clear(&more);

    FAILS(SKED_ERR_ARGUMENT, "another graph", sked_robust(&q, "noisy+linear:trace=true", &opt, &more, err));
    FAILS(SKED_ERR_ARGUMENT, "target", sked_robust(&p, "linear", &opt, &more, err));
    assert_int_equal(count_lines(RECORD), lines);
    opt.resume = SKED_BINARY_DIR "/no/such/file";
    FAILS(SKED_ERR_IO, "no/such/file", sked_robust(&p, "noisy+linear:trace=true", &opt, &more, err));
    opt.resume = NULL;
    opt.log = SKED_BINARY_DIR "/no/such/file";
    FAILS(SKED_ERR_IO, "no/such/file", sked_robust(&p, "linear", &opt, &more, err));
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
    sked_graph_destroy(another);
}

/* ------------------------------------------------------------------ priors */

static void write_prior(const char *text)
{
    FILE *f = fopen(PRIOR, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A prior that knows the machine makes the first schedule the right one. */
static void takes_a_prior(void **state)
{
    (void)state;
    sked_graph *g = generate(25, 14);
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    sked_target *t = NULL;
    char text[500];
    OK(sked_target_create("linear", &p, 0, &t, err));
    const sked_problem *truth = sked_target_truth(t);
    snprintf(
        text, sizeof text,
        "{\"format\": \"sked-prior-1\", \"parameters\": {\"latency\": {\"value\": %.17g}, \"bandwidth\": "
        "{\"median\": %.17g, \"spread\": 0.001}, \"start-up\": {\"value\": 0}, \"all ops\": {\"value\": 1}, "
        "\"op factors\": {\"value\": 0}, \"noise\": {\"median\": 0.001, \"spread\": 0.5}}}",
        truth->latency, truth->bandwidth);
    write_prior(text);
    options_of(&opt, &l, 2);
    opt.prior = PRIOR;
    OK(sked_robust(&p, "linear", &opt, &r, err));
    assert_true(fabs(r.measurement[0].expected / r.measurement[0].time - 1) < 0.01);
    assert_true(fabs(find(&r, "latency")->posterior[0] / truth->latency - 1) < 1e-9);
    assert_true(fabs(find(&r, "latency")->posterior[4] / truth->latency - 1) < 1e-9);
    sked_robust_result_clear(&r);
    sked_target_destroy(t);
    sked_graph_destroy(g);
}

/* Names of a result are told apart, whatever types are called, and stand for the same in a prior, as whole
 * ones do. */
static void long_names_stay_apart(void **state)
{
    (void)state;
    enum { SIZE = 5000, TYPES = 4 };
    char type[TYPES][SIZE + 20], text[2 * SIZE];
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < TYPES; k++) {
        memset(type[k], 'n', SIZE);
        memcpy(type[k] + 28, "\xc3\xa4\xc3\xa4\xc3\xa4",
               6); /* a cut between the bytes of one would be no text */
        snprintf(type[k] + SIZE, 20, "%d", k);
        OK(sked_builder_add_op(b, NULL, k < 3 ? type[k] : "nnnn", 1 + k, NULL, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    const sked_problem p = on_devices(g, 2);
    options_of(&opt, &l, 2);
    OK(sked_robust(&p, "noisy", &opt, &r, err));
    for (int32_t i = 0; i < r.parameters; i++)
        for (int32_t k = 0; k < i; k++)
            if (strcmp(r.parameter[i].name, r.parameter[k].name) == 0)
                fail_msg("two parameters are called %s", r.parameter[i].name);
    opt.prior = PRIOR;
    for (int32_t i = 0; i < r.parameters; i++) {
        const char *name = r.parameter[i].name;
        if (strncmp(name, "type ", 5) != 0)
            continue;
        snprintf(text, sizeof text,
                 "{\"format\": \"sked-prior-1\", \"parameters\": {\"%s\": {\"value\": 3}}}", name);
        write_prior(text);
        sked_robust_result known = {.size = sizeof known};
        OK(sked_robust(&p, "noisy", &opt, &known, err));
        assert_true(fabs(find(&known, name)->prior[2] - 3) < 1e-9);
        sked_robust_result_clear(&known);
    }
    snprintf(text, sizeof text,
             "{\"format\": \"sked-prior-1\", \"parameters\": {\"type %s\": {\"value\": 3}}}", type[2]);
    write_prior(text);
    sked_robust_result_clear(&r);
    OK(sked_robust(&p, "noisy", &opt, &r, err));
    int threes = 0;
    for (int32_t i = 0; i < r.parameters; i++)
        threes += fabs(r.parameter[i].prior[2] - 3) < 1e-9;
    assert_int_equal(threes, 1);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
    remove(PRIOR);
}

static void refuses_bad_priors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{}", "needs \"format\""},
        {"{\"format\": \"sked-prior-2\", \"parameters\": {}}", "the format is not"},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"latenzy\": {\"value\": 1}}}",
         "did you mean 'latency'"},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"latency\": {\"value\": -1}}}", "0 or more"},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"latency\": {\"median\": 1}}}",
         "\"median\" and \"spread\""},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"latency\": {\"median\": 0, \"spread\": 1}}}",
         "above 0"},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"latency\": {\"median\": 1, \"spread\": 11}}}",
         "at most 10"},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"noise\": {\"median\": 5, \"spread\": 1}}}",
         "must be from"},
        {"{\"format\": \"sked-prior-1\", \"parameters\": {\"latency\": {\"value\": 1}, \"latency\": "
         "{\"value\": 2}}}",
         "given twice"},
    };
    sked_graph *g = generate(10, 15);
    const sked_problem p = on_devices(g, 2);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l, 2);
    opt.prior = PRIOR;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        write_prior(bad[k].text);
        FAILS(SKED_ERR_FORMAT, bad[k].says, sked_robust(&p, "linear", &opt, &r, err));
    }
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_links),
        cmocka_unit_test(spends_its_budget),
        cmocka_unit_test(learns_from_traces),
        cmocka_unit_test(does_not_lose_by_learning),
        cmocka_unit_test(repeats_itself),
        cmocka_unit_test(takes_machines),
        cmocka_unit_test(refuses),
        cmocka_unit_test(takes_tiny_graphs),
        cmocka_unit_test(survives_failures),
        cmocka_unit_test(survives_absurd_values),
        cmocka_unit_test(repeats_contenders),
        cmocka_unit_test(hears_a_stop),
        cmocka_unit_test(goes_on_from_a_record),
        cmocka_unit_test(takes_a_prior),
        cmocka_unit_test(refuses_bad_priors),
        cmocka_unit_test(long_names_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
