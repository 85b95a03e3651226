/* What the loop stands on: times and derivatives of schedules under guesses, small systems, the record's
 * reader. */
#include "test.h"

#include "base/memory.h"
#include "base/rng.h"
#include "robust/candidates.h"
#include "robust/posterior.h"
#include "robust/record.h"
#include "robust/solve.h"
#include "schedule/replay.h"

#include <math.h>

static const char machine_text[] =
    "{\"format\": \"sked-machine-1\", \"latency\": 0.5, \"bandwidth\": 4, \"devices\": [{\"name\": \"a\", "
    "\"type\": "
    "\"cpu\"}, {\"name\": \"b\", \"type\": \"cpu\"}, {\"name\": \"c\", \"type\": \"gpu\", \"speed\": 2}], "
    "\"links\": "
    "[{\"from\": \"cpu\", \"to\": \"gpu\", \"latency\": 1, \"bandwidth\": 2}]}";

/* A random graph with types, given lags and durations by device. */
static sked_graph *make_graph(uint64_t seed, bool bytes)
{
    enum { OPS = 24 };
    static const char *const types[] = {"Mul", "Add", NULL};
    sked_i_rng rng;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_i_rng_seed(&rng, seed, 1);
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < OPS; i++) {
        OK(sked_builder_add_op(b, NULL, types[i % 3], i == 5 ? 0 : 1 + sked_i_rng_uniform(&rng), NULL, err));
        if (i % 4 == 1)
            OK(sked_builder_add_duration(b, i, "gpu", 0.3 + sked_i_rng_uniform(&rng), err));
    }
    for (int32_t i = 1; i < OPS; i++)
        for (int k = 0; k < 2; k++) {
            const sked_edge e = {.from = (int32_t)sked_i_rng_below(&rng, (uint64_t)i),
                                 .to = i,
                                 .lag = k == 1 && i % 7 == 0 ? 2.5 : SKED_LAG_DEFAULT,
                                 .bytes = bytes ? sked_i_rng_exponential(&rng) : 0};
            OK(sked_builder_add_edge(b, &e, err));
        }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_schedule *make_schedule(const sked_problem *p, uint64_t seed)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_schedule *s = NULL;
    const char *const settings[] = {"priority=random"};
    sked_run_options_init(&opt);
    opt.seed = seed;
    opt.settings = settings;
    opt.n_settings = 1;
    OK(sked_method_run("list", p, &opt, &r, err));
    OK(sked_schedule_clone(r.schedule[0], &s, err));
    sked_result_clear(&r);
    return s;
}

typedef struct setup {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    sked_i_model model;
    sked_i_belief belief;
} setup;

static void open_setup(setup *x, uint64_t seed, bool machine, bool bytes)
{
    *x = (setup){.graph = make_graph(seed, bytes)};
    sked_problem_init(&x->problem, x->graph);
    x->problem.devices = 3;
    if (machine) {
        OK(sked_machine_parse("machine", machine_text, sizeof machine_text - 1, &x->machine, err));
        x->problem.machine = x->machine;
    }
    OK(sked_i_model_open(&x->model, &x->problem, err));
    OK(sked_i_belief_open(&x->belief, &x->model, seed, 1, err));
}

static void close_setup(setup *x)
{
    sked_i_belief_close(&x->belief);
    sked_i_model_close(&x->model);
    sked_machine_destroy(x->machine);
    sked_graph_destroy(x->graph);
}

/* The time of a compiled schedule is that of the reference on the problem as the guess has it. */
static void times_are_the_references(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        setup x;
        open_setup(&x, seed, seed % 2, seed % 4 < 2);
        sked_schedule *s = make_schedule(&x.problem, seed);
        sked_i_timing t = {0};
        sked_i_belief_work *w = x.belief.work[0];
        OK(sked_i_timing_open(&t, &x.belief.arena, &x.model, s, err));
        for (int32_t i = 0; i < 5; i++) {
            sked_i_guess guess = {0};
            sked_i_replay *reference = NULL;
            double makespan;
            sked_i_model_rates(&x.model, sked_i_belief_guess(&x.belief, i), &w->rates);
            w->rates.read = x.model.sized ? 0 : 0.2;
            sked_i_model_state(&x.model, &w->rates);
            const double time = sked_i_timing_run(&t, &w->rates, &w->timing);
            OK(sked_i_guess_open(&guess, &x.model, &w->rates, err));
            OK(sked_i_replay_create(&guess.problem, &(sked_i_replay_rules){0}, &reference, err));
            OK(sked_i_replay_run(reference, s, NULL, &makespan, err));
            assert_true(fabs(time - makespan) < 1e-9 * makespan);
            for (int32_t k = 0; k < s->ops; k++)
                assert_true(fabs(w->timing.start[k] - reference->start[k]) <= 1e-9 * makespan);
            sked_i_replay_destroy(reference);
            sked_i_guess_close(&guess);
        }
        sked_schedule_destroy(s);
        close_setup(&x);
    }
}

static double log_time(const setup *x, const sked_i_timing *t, double *parameter, int64_t k, double by)
{
    sked_i_belief_work *w = x->belief.work[0];
    parameter[k] += by;
    sked_i_model_rates(&x->model, parameter, &w->rates);
    parameter[k] -= by;
    return log(sked_i_timing_run(t, &w->rates, &w->timing));
}

/* Derivatives by every parameter against central differences, where the critical path does not change. */
static void derivatives_are_right(void **state)
{
    (void)state;
    enum { STEPS = 2 };
    int64_t checked = 0, kinks = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        setup x;
        open_setup(&x, seed, seed % 2, seed % 4 < 2);
        sked_schedule *s = make_schedule(&x.problem, seed);
        sked_i_timing t = {0};
        sked_i_belief_work *w = x.belief.work[0];
        double *row = sked_i_alloc(x.model.count, sizeof *row), *at = sked_i_alloc(x.model.count, sizeof *at);
        OK(sked_i_timing_open(&t, &x.belief.arena, &x.model, s, err));
        memcpy(at, sked_i_belief_guess(&x.belief, 3), (size_t)x.model.count * sizeof *at);
        at[x.model.at_read] = log(0.2);
        sked_i_model_rates(&x.model, at, &w->rates);
        sked_i_belief_differentiate(&x.belief, w, &t);
        memcpy(row, w->row, (size_t)x.model.count * sizeof *row);
        for (int64_t k = 0; k < x.model.count; k++) {
            const double h = 1e-5;
            const double here = log_time(&x, &t, at, k, 0), up = log_time(&x, &t, at, k, h);
            const double down = log_time(&x, &t, at, k, -h), slope = (up - down) / (2 * h);
            if (fabs(up + down - 2 * here) > 1e-8) /* another path becomes critical between the two */
                kinks++;
            else
                assert_true(fabs(slope - row[k]) < 1e-6);
            checked++;
        }
        free(row);
        free(at);
        sked_schedule_destroy(s);
        close_setup(&x);
    }
    assert_true(checked > 400 && kinks < checked / 20);
}

/* Guesses explain what was measured, and a parameter that nothing depends on stays at its prior. */
static void guesses_explain_the_data(void **state)
{
    (void)state;
    setup x;
    sked_i_timing t[6] = {{0}};
    double time[6];
    const sked_i_limit none = {0};
    open_setup(&x, 3, false, true);
    sked_i_belief_work *w = x.belief.work[0];
    for (int k = 0; k < 6; k++) {
        sked_schedule *s = make_schedule(&x.problem, (uint64_t)k);
        OK(sked_i_timing_open(&t[k], &x.belief.arena, &x.model, s, err));
        sked_i_model_rates(&x.model, sked_i_belief_guess(&x.belief, 0), &w->rates); /* the truth */
        time[k] = sked_i_timing_run(&t[k], &w->rates, &w->timing);
        sked_schedule_destroy(s);
    }
    for (int k = 0; k < 6; k++)
        OK(sked_i_belief_add(&x.belief, &t[k], time[k], 0, err));
    OK(sked_i_belief_update(&x.belief, &none, err));
    double sum = 0, misfit = 0;
    for (int32_t i = 0; i < x.belief.particles; i++) {
        sum += x.belief.weight[i];
        sked_i_model_rates(&x.model, sked_i_belief_guess(&x.belief, i), &w->rates);
        for (int k = 0; k < 6; k++)
            misfit +=
                x.belief.weight[i] * fabs(log(sked_i_timing_run(&t[k], &w->rates, &w->timing) / time[k])) / 6;
    }
    assert_true(fabs(sum - 1) < 1e-9);
    assert_true(misfit < 0.03);
    close_setup(&x);
}

/* Traces of random schedules on a machine where a byte of another device costs `read`; run 2 is slow as a
 * whole.
 */
static void trace_runs(const setup *x, double read, double warm, sked_i_traces *traces)
{
    enum { RUNS = 8 };
    sked_i_belief_work *w = x->belief.work[0];
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 5, 6);
    sked_i_model_rates(&x->model, sked_i_belief_guess(&x->belief, 0), &w->rates);
    w->rates.read = read;
    w->rates.warm = warm;
    for (int k = 0; k < RUNS; k++) {
        double start[64], finish[64];
        sked_i_timing t = {0};
        sked_schedule *s = make_schedule(&x->problem, (uint64_t)k);
        const sked_measurement run = {.size = sizeof run, .start = start, .finish = finish};
        const double slow = k == 2 ? 1.4 : 1;
        OK(sked_i_timing_open(&t, &traces->arena, &x->model, s, err));
        sked_i_timing_run(&t, &w->rates, &w->timing);
        for (int32_t i = 0; i < x->model.ops; i++) {
            start[i] = slow * w->timing.start[i];
            finish[i] = start[i] + slow * w->timing.time[i] * exp(0.01 * sked_i_rng_normal(&rng));
        }
        OK(sked_i_traces_add(traces, &x->model, &t, &run, err));
        sked_schedule_destroy(s);
    }
    OK(sked_i_traces_fit(traces, &x->model, err));
}

/* What bytes of other devices cost an op is found, and nothing is found where they cost nothing. */
static void remote_inputs_are_found(void **state)
{
    (void)state;
    for (int costly = 0; costly < 2; costly++) {
        setup x;
        sked_i_traces traces = {0};
        open_setup(&x, 8, false, true);
        trace_runs(&x, costly ? 0.3 : 0, 0.8, &traces);
        assert_true(costly ? fabs(traces.read - 0.3) < 0.05 : traces.read < 0.03);
        assert_true(fabs(exp(traces.warm) - 0.8) < 0.08);
        sked_i_arena_free(&traces.arena);
        close_setup(&x);
    }
}

/* One lucky measurement does not beat three good ones that the guesses expect, unless measurements are exact.
 */
static void luck_does_not_win(void **state)
{
    (void)state;
    setup x;
    sked_i_candidate_set pool = {0};
    sked_i_candidate *lucky = NULL, *good = NULL;
    open_setup(&x, 4, false, true);
    OK(sked_i_candidates_open(&pool, &x.model, x.belief.particles, err));
    for (uint64_t k = 0; k < 2; k++) {
        sked_schedule *s = make_schedule(&x.problem, k);
        OK(sked_i_candidates_offer(&pool, s, "search", k == 0 ? &lucky : &good, err));
        sked_schedule_destroy(s);
    }
    assert_true(lucky != NULL && good != NULL && lucky != good);
    for (int32_t i = 0; i < pool.particles; i++) {
        lucky->predicted[i] = 20;
        good->predicted[i] = 19.5;
    }
    lucky->times = lucky->measured = 1;
    lucky->sum = 18;
    good->times = good->measured = 3;
    good->sum = 3 * 18.5;
    sked_i_candidates_estimate(&pool, &x.belief);
    assert_ptr_equal(sked_i_candidates_best(&pool), lucky);
    assert_true(lucky->estimate == 18);
    pool.repeat = 0.01;
    pool.miss = 0.0025;
    sked_i_candidates_estimate(&pool, &x.belief);
    assert_ptr_equal(sked_i_candidates_best(&pool), good);
    assert_true(lucky->deviation > good->deviation && lucky->estimate > 18);
    sked_i_candidates_close(&pool);
    close_setup(&x);
}

static void systems_are_solved(void **state)
{
    (void)state;
    enum { N = 7 };
    double a[N * N], b[N * N], x[N], y[N];
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 2);
    for (int i = 0; i < N * N; i++)
        b[i] = sked_i_rng_normal(&rng);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i * N + j] = i == j ? 0.1 : 0;
            for (int k = 0; k < N; k++)
                a[i * N + j] += b[i * N + k] * b[j * N + k];
        }
    for (int i = 0; i < N; i++)
        x[i] = y[i] = sked_i_rng_normal(&rng);
    double full[N * N];
    memcpy(full, a, sizeof full);
    assert_true(sked_i_cholesky(a, N));
    sked_i_cholesky_solve(a, N, x);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += full[i * N + j] * x[j];
        assert_true(fabs(sum - y[i]) < 1e-9);
    }
    double one[1] = {-1};
    assert_false(sked_i_cholesky(one, 1));
    double two[4] = {4, 0, 2, 3};
    assert_true(sked_i_cholesky(two, 2));
    assert_true(fabs(sked_i_cholesky_log_det(two, 2) - log(8)) < 1e-12);
}

/* ------------------------------------------------------------------ the record's reader */

static sked_status count_line(void *data, sked_i_record_line *line, sked_error *err)
{
    (void)err;
    *(int *)data += line->failed ? 100 : 1;
    return SKED_OK;
}

static sked_status parse(const setup *x, const char *text, int *count, int64_t *good, sked_error *err)
{
    static const char *const methods[] = {"search"};
    const sked_i_record_head head = {&x->problem, "linear", 3};
    uint64_t seed;
    *count = 0;
    return sked_i_record_parse("file", text, strlen(text), &head, methods, 1, count_line, count, good, &seed,
                               err);
}

static void records_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"[]", "a measurement"},
        {"{\"device\":[0],\"order\":[0,1,2],\"method\":\"search\",\"time\":1}", "1 entries for 3 ops"},
        {"{\"device\":[0,0,0,0],\"order\":[0,1,2],\"method\":\"search\",\"time\":1}", "more entries"},
        {"{\"device\":[0,0,3],\"order\":[0,1,2],\"method\":\"search\",\"time\":1}", "a device"},
        {"{\"device\":[0,0,0],\"order\":[0,1,1],\"method\":\"search\",\"time\":1}", "twice"},
        {"{\"device\":[0,0,0],\"order\":[0,1,2],\"method\":\"magic\",\"time\":1}", "known \"method\""},
        {"{\"device\":[0,0,0],\"order\":[0,1,2],\"method\":\"search\"}", "either"},
        {"{\"device\":[0,0,0],\"order\":[0,1,2],\"method\":\"search\",\"time\":-1}", "nor from 1e-100"},
        {"{\"device\":[0,0,0],\"order\":[0,1,2],\"method\":\"search\",\"time\":1e-320}", "nor from 1e-100"},
        {"{\"device\":[0,0,0],\"order\":[0,1,2],\"method\":\"search\",\"time\":1,\"start\":[0,0,0]}", "both"},
        {"{\"device\":[0,0,0],\"order\":[0,1,2],\"method\":\"search\",\"time\":1,\"start\":[0,1,0],"
         "\"finish\":[1,0,1]}",
         "before it starts"},
    };
    sked_builder *b = NULL;
    setup x = {0};
    sked_i_buffer head = {0};
    int count;
    int64_t good;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 3; i++)
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
    OK(sked_builder_finish(b, &x.graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&x.problem, x.graph);
    x.problem.devices = 2;
    sked_i_record_write_head(&(sked_i_record_head){&x.problem, "linear", 3}, &head);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s\n", head.data, bad[k].line);
        FAILS(SKED_ERR_FORMAT, bad[k].says, parse(&x, text, &count, &good, err));
        FAILS(SKED_ERR_FORMAT, "file:2:", parse(&x, text, &count, &good, err));
        snprintf(text, sizeof text, "%s%s", head.data, bad[k].line); /* without its end it was cut off */
        OK(parse(&x, text, &count, &good, err));
        assert_true(count == 0 && good == head.size);
    }
    FAILS(SKED_ERR_FORMAT, "no whole line", parse(&x, "", &count, &good, err));
    FAILS(SKED_ERR_FORMAT, "first line", parse(&x, "{}\n", &count, &good, err));
    char text[2000];
    snprintf(text, sizeof text,
             "%s{\"device\":[0,1,0],\"order\":[2,0,1],\"method\":\"search\",\"failure\":\"no\"}\n"
             "{\"device\":[0,1,0],\"order\":[2,0,1],\"method\":\"search\",\"time\":2,\"deviation\":0.1,"
             "\"runs\":3}\n",
             head.data);
    OK(parse(&x, text, &count, &good, err));
    assert_true(count == 101 && good == (int64_t)strlen(text));
    sked_i_buffer_free(&head);
    sked_graph_destroy(x.graph);
}

/* ------------------------------------------------------------------ what a record says it is of */

static const char base_graph[] =
    "{\"format\":\"sked-graph-1\",\"resources\":[{\"name\":\"mul\",\"capacity\":2}],"
    "\"ops\":[{\"name\":\"a\",\"type\":\"Mul\",\"duration\":2,\"demand\":{\"mul\":1}},"
    "{\"name\":\"b\",\"type\":\"Add\",\"duration\":4,\"durations\":{\"gpu\":1}},"
    "{\"name\":\"c\",\"duration\":1},{\"name\":\"y\",\"duration\":1}],"
    "\"edges\":[{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"b\",\"to\":\"c\"}]}";
static const char base_machine[] =
    "{\"format\":\"sked-machine-1\",\"latency\":2,\"bandwidth\":7,\"devices\":[{\"name\":\"A\",\"type\":"
    "\"gpu\"},"
    "{\"name\":\"B\"},{\"name\":\"C\"},"
    "{\"name\":\"Y\"}],\"links\":[{\"from\":\"A\",\"to\":\"B\",\"latency\":1},"
    "{\"from\":\"B\",\"to\":\"C\",\"latency\":1,\"oneway\":true}]}";
/* The same without a link where none is named. */
static const char bare_machine[] =
    "{\"format\":\"sked-machine-1\",\"devices\":[{\"name\":\"A\"},{\"name\":\"B\"},{\"name\":\"C\"}],"
    "\"links\":[{\"from\":\"A\",\"to\":\"B\",\"latency\":1},"
    "{\"from\":\"B\",\"to\":\"C\",\"latency\":1,\"oneway\":true}]}";

/* `text` with the first `from` in it made `to`. */
static const char *changed(const char *text, const char *from, const char *to)
{
    static char buf[1200];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(buf, sizeof buf, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return buf;
}

static sked_graph *graph_of(const char *text)
{
    sked_graph *g = NULL;
    OK(sked_graph_parse("graph", text, strlen(text), NULL, &g, err));
    return g;
}

/* The first line of a record, which it forgets to free. */
static const char *head_of(const sked_problem *p)
{
    static char text[2][300];
    static int which;
    sked_i_buffer head = {0};
    sked_i_record_write_head(&(sked_i_record_head){p, "linear", 3}, &head);
    snprintf(text[which ^= 1], sizeof *text, "%s", head.data);
    sked_i_buffer_free(&head);
    return text[which];
}

/* On the machine (NULL: on two devices alone); `flip` changes the problem. */
static void differs(const char *what, const char *graph, const char *machine, void (*flip)(sked_problem *p))
{
    static char base[300];
    sked_graph *g = graph_of(graph);
    sked_machine *m = NULL;
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    if (machine != NULL) {
        OK(sked_machine_parse("machine", machine, strlen(machine), &m, err));
        p.machine = m;
        p.devices = sked_machine_device_count(m);
    }
    if (flip != NULL)
        flip(&p);
    const char *head = head_of(&p);
    if (what == NULL)
        snprintf(base, sizeof base, "%s", head);
    else if (strcmp(base, head) == 0)
        fail_msg("a record does not tell %s apart", what);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void records_tell_machines_apart(void **state)
{
    static const struct {
        const char *from, *to;
    } flips[] = {{"\"Y\"", "\"Z\""},
                 {"\"type\":\"gpu\"", "\"type\":\"cpu\""},
                 {"{\"name\":\"B\"}", "{\"name\":\"B\",\"type\":\"gpu\"}"},
                 {"{\"name\":\"B\"}", "{\"name\":\"B\",\"speed\":2}"},
                 {"{\"name\":\"B\"}", "{\"name\":\"B\",\"memory\":100}"},
                 {"{\"name\":\"B\"},{\"name\":\"C\"}", "{\"name\":\"C\"},{\"name\":\"B\"}"},
                 {"{\"name\":\"C\"}", "{\"name\":\"C\"},{\"name\":\"D\"}"},
                 {"\"latency\":2", "\"latency\":3"},
                 {"\"bandwidth\":7", "\"bandwidth\":8"},
                 {"\"B\",\"latency\":1", "\"B\",\"latency\":4"},
                 {"\"B\",\"latency\":1", "\"B\",\"latency\":1,\"bandwidth\":9"},
                 {"\"B\",\"latency\":1", "\"C\",\"latency\":1"},
                 {"\"from\":\"B\",\"to\":\"C\"", "\"from\":\"C\",\"to\":\"B\""},
                 {",\"oneway\":true", ""}};
    (void)state;
    differs(NULL, base_graph, base_machine, NULL);
    for (size_t k = 0; k < sizeof flips / sizeof *flips; k++)
        differs(flips[k].to, base_graph, changed(base_machine, flips[k].from, flips[k].to), NULL);
    differs(NULL, base_graph, bare_machine, NULL);
    differs("B -> C from C -> B", base_graph,
            changed(bare_machine, "\"from\":\"B\",\"to\":\"C\"", "\"from\":\"C\",\"to\":\"B\""), NULL);
}

/* Every attribute of the table, and what is none. */
static void records_tell_graphs_apart(void **state)
{
    static const struct {
        const char *from, *to;
    } flips[] = {
        {"\"name\":\"y\"", "\"name\":\"z\""},
        {"\"type\":\"Mul\"", "\"type\":\"Add\""},
        {"\"type\":\"Mul\"", "\"type\":\"Div\""},
        {"\"mul\":1", "\"mul\":2"},
        {",\"demand\":{\"mul\":1}", ""},
        {"\"capacity\":2", "\"capacity\":3"},
        {"\"name\":\"mul\",\"capacity\":2}", "\"name\":\"mul\",\"capacity\":2},{\"name\":\"add\"}"},
        {"\"gpu\":1", "\"gpu\":2"},
        {"\"gpu\":1", "\"cpu\":1"},
        {",\"durations\":{\"gpu\":1}},{\"name\":\"c\"", "},{\"name\":\"c\",\"durations\":{\"gpu\":1}"},
        {"\"from\":\"b\",\"to\":\"c\"", "\"from\":\"a\",\"to\":\"c\""},
        {",{\"from\":\"b\",\"to\":\"c\"}", ""},
        {"\"to\":\"b\"", "\"to\":\"b\",\"lag\":2"}}; /* what it is by default: no more it follows */
    (void)state;
    differs(NULL, base_graph, NULL, NULL);
    for (size_t k = 0; k < sizeof flips / sizeof *flips; k++)
        differs(flips[k].to, changed(base_graph, flips[k].from, flips[k].to), NULL, NULL);
    for (int k = 0; k < sked_attribute_count(); k++) {
        const sked_attribute_info *a = sked_attribute_at(k);
        const bool duration = strcmp(a->name, "duration") == 0;
        const char *at = a->of_edges ? "\"to\":\"c\""
                         : duration  ? "\"name\":\"c\",\"duration\":1"
                                     : "\"name\":\"c\"";
        char more[80];
        snprintf(more, sizeof more, "%s,\"%s\":%s", duration ? "\"name\":\"c\"" : at, a->name,
                 a->kind == SKED_ATTRIBUTE_FLAG ? "true" : "5");
        differs(a->name, changed(base_graph, at, more), NULL, NULL);
    }
}

#define FLIP(field, value)                    \
    static void flip_##field(sked_problem *p) \
    {                                         \
        p->field = (value);                   \
    }
static const double capacity[] = {5}, fixed_start[] = {NAN, 9, NAN, NAN};
static const int32_t fixed_device[] = {-1, 0, -1, -1};
#define FIELDS(X)                         \
    X(devices, 3)                         \
    X(latency, 1)                         \
    X(bandwidth, 3)                       \
    X(capacity, capacity)                 \
    X(horizon, 99)                        \
    X(ii, 4)                              \
    X(objective, SKED_OBJECTIVE_RESOURCE) \
    X(alpha, 2)                           \
    X(fix_device, fixed_device)           \
    X(fix_start, fixed_start)             \
    X(memory_limit, 50)                   \
    X(lifetime, SKED_LIFETIME_FINISH)     \
    X(clock, 5)                           \
    X(io, SKED_IO_ALIGNED)                \
    X(align, 64)                          \
    X(offsets, true)
FIELDS(FLIP)

static void records_tell_problems_apart(void **state)
{
    (void)state;
    size_t known = offsetof(sked_problem, devices);
    differs(NULL, base_graph, NULL, NULL);
#define DIFFERS(field, value) differs(#field, base_graph, NULL, flip_##field);
    FIELDS(DIFFERS)
    differs("a machine", base_graph, base_machine, NULL);
    /* All fields behind the graph are in the list: pointers and doubles stand at multiples of 8. */
#define KNOW(field, value)                                                     \
    known += known % 8 > 0 && sizeof(((sked_problem *)0)->field) == 8 ? 4 : 0, \
        known += sizeof(((sked_problem *)0)->field);
    FIELDS(KNOW)
    known += sizeof(sked_machine *);
    assert_int_equal((known + 7) / 8 * 8, sizeof(sked_problem));
}

/* A file of the earlier version is refused, whatever it is of. */
static void earlier_records_are_refused(void **state)
{
    (void)state;
    setup x = {0};
    int count;
    int64_t good;
    x.graph = graph_of(base_graph);
    sked_problem_init(&x.problem, x.graph);
    x.problem.devices = 2;
    FAILS(
        SKED_ERR_FORMAT, "measure again",
        parse(&x,
              "{\"format\":\"sked-measurements-1\",\"problem\":\"49ce3bc189e0a26b\",\"target\":\"linear\"}\n",
              &count, &good, err));
    sked_graph_destroy(x.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_the_references),    cmocka_unit_test(derivatives_are_right),
        cmocka_unit_test(guesses_explain_the_data),    cmocka_unit_test(systems_are_solved),
        cmocka_unit_test(remote_inputs_are_found),     cmocka_unit_test(luck_does_not_win),
        cmocka_unit_test(records_are_read_strictly),   cmocka_unit_test(records_tell_machines_apart),
        cmocka_unit_test(records_tell_graphs_apart),   cmocka_unit_test(records_tell_problems_apart),
        cmocka_unit_test(earlier_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
