/* sked sample's promises: greedy decoding, local improvement, distances in the file. */
#define _GNU_SOURCE
#include "test.h"

#include <jansson.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

typedef struct fixture {
    sked_graph *graph;
    sked_problem problem;
    sked_sampler *model;
    sked_sample_options options;
} fixture;

static fixture open_fixture(const char *family, int32_t ops)
{
    fixture f = {0};
    const sked_generate_options how = {.size = sizeof how, .nodes = ops, .seed = 99};
    OK(sked_graph_generate(family, &how, &f.graph, err));
    sked_problem_init(&f.problem, f.graph);
    f.problem.devices = 4;
    OK(sked_sampler_read(NULL, &f.model, err));
    sked_sample_options_init(&f.options);
    f.options.count = SANITIZED ? 100 : 200;
    f.options.seed = 5;
    return f;
}

static void close_fixture(fixture *f)
{
    sked_sampler_destroy(f->model);
    sked_graph_destroy(f->graph);
}

static sked_samples draw(const fixture *f)
{
    sked_samples s = {.size = sizeof s};
    OK(sked_sampler_sample(f->model, &f->problem, &f->options, &s, err));
    return s;
}

static bool same_schedules(const sked_schedule *a, const sked_schedule *b)
{
    return memcmp(a->start, b->start, (size_t)a->ops * sizeof *a->start) == 0 &&
           memcmp(a->device, b->device, (size_t)a->ops * sizeof *a->device) == 0;
}

static bool same_samples(const sked_samples *a, const sked_samples *b)
{
    bool same = a->count == b->count;
    for (int32_t k = 0; same && k < a->count; k++)
        same = same_schedules(a->schedule[k], b->schedule[k]) && a->log_prob[k] == b->log_prob[k];
    return same;
}

/* One schedule, the same for every seed, more likely than most draws, and better than hot ones. */
static void test_greedy(void **state)
{
    (void)state;
    ONE_THREAD();
    fixture f = open_fixture("layered", 40);
    f.options.raw = true;
    f.options.temperature = 1;
    const sked_samples hot = draw(&f);
    f.options.temperature = 0.03;
    const sked_samples warm = draw(&f);
    f.options.raw = false;
    f.options.greedy = true;
    sked_samples one = draw(&f);
    f.options.seed = 6;
    sked_samples again = draw(&f);
    assert_int_equal(one.count, 1);
    assert_true(same_samples(&one, &again));
    OK(sked_schedule_validate(&f.problem, one.schedule[0], err));
    int less_likely = 0;
    double mean = 0;
    for (int32_t k = 0; k < warm.count; k++)
        less_likely += warm.log_prob[k] <= one.log_prob[0];
    for (int32_t k = 0; k < hot.count; k++)
        mean += hot.makespan[k] / hot.count;
    assert_true(less_likely > warm.count * 3 / 4); /* the likeliest steps need not be the likeliest way */
    assert_true(one.makespan[0] < mean);
    sked_samples_clear(&one);
    sked_samples_clear(&again);
    sked_samples_clear((sked_samples *)&hot);
    sked_samples_clear((sked_samples *)&warm);
    close_fixture(&f);
}

static double step_of(const sked_samples *s, int32_t k)
{
    return floor(100 * (s->makespan[k] / s->makespan[0] - 1));
}

/* Never longer, valid, all different, best first, the same on any number of threads. */
static void check_improved(const char *family, int32_t ops, int64_t rounds)
{
    fixture f = open_fixture(family, ops);
    sked_samples plain = draw(&f);
    f.options.improve = rounds;
    sked_samples better = draw(&f);
    f.options.threads = 3;
    sked_samples again = draw(&f);
    assert_true(same_samples(&better, &again));
    assert_true(better.count <= plain.count);
    assert_true(better.makespan[0] <= plain.makespan[0]);
    for (int32_t k = 0; k < better.count; k++) {
        sked_metrics m = {.size = sizeof m};
        OK(sked_schedule_validate(&f.problem, better.schedule[k], err));
        OK(sked_schedule_measure(&f.problem, better.schedule[k], &m, err));
        assert_true(m.makespan == better.makespan[k]);
        /* the best first, then in steps of a hundredth of it */
        assert_true(better.makespan[0] <= better.makespan[k]);
        assert_true(k < 2 || step_of(&better, k - 1) <= step_of(&better, k));
        for (int32_t j = 0; j < k; j++)
            assert_false(same_schedules(better.schedule[j], better.schedule[k]));
    }
    sked_samples_clear(&plain);
    sked_samples_clear(&better);
    sked_samples_clear(&again);
    close_fixture(&f);
}

static void test_improvement(void **state)
{
    (void)state;
    check_improved("layered", 40, 1);
    check_improved("chain", 12, 3);
    if (!SANITIZED) {
        check_improved("erdos-renyi", 30, 10);
        check_improved("cholesky", 40, 5); /* integer durations */
    }
}

/* Data goes less far: fewer edges between devices than drawn, at the same or a better makespan. */
static double crossing(const fixture *f, const sked_samples *s)
{
    double count = 0;
    for (int32_t k = 0; k < s->count; k++)
        for (int64_t e = 0; e < sked_graph_edge_count(f->graph); e++) {
            sked_edge edge;
            sked_graph_edge(f->graph, e, &edge);
            count += s->schedule[k]->device[edge.from] != s->schedule[k]->device[edge.to];
        }
    return count / s->count;
}

static void test_improvement_keeps_data_near(void **state)
{
    (void)state;
    ONE_THREAD();
    fixture f = open_fixture("layered", 40);
    sked_samples plain = draw(&f);
    f.options.improve = 1;
    sked_samples better = draw(&f);
    assert_true(crossing(&f, &better) < 0.95 * crossing(&f, &plain));
    f.options.raw = true;
    FAILS(SKED_ERR_ARGUMENT, "raw", sked_sampler_sample(f.model, &f.problem, &f.options, &plain, err));
    sked_samples_clear(&plain);
    sked_samples_clear(&better);
    close_fixture(&f);
}

/* Ops without duration, more devices than ops, one op. */
static void test_improvement_of_odd_graphs(void **state)
{
    (void)state;
    ONE_THREAD();
    sked_builder *b = NULL;
    fixture f = open_fixture("chain", 1);
    f.options.improve = 4;
    sked_samples one = draw(&f);
    assert_int_equal(one.count, 1);
    sked_samples_clear(&one);
    sked_graph_destroy(f.graph);
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < 9; k++) {
        int32_t id;
        OK(sked_builder_add_op(b, NULL, NULL, k % 3 == 0 ? 0 : k, &id, err));
        const sked_edge edge = {k / 2, k, SKED_LAG_DEFAULT, k, 0};
        if (k > 0)
            OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &f.graph, err));
    sked_builder_destroy(b);
    for (int32_t devices = 1; devices <= 20; devices += 4) {
        sked_problem_init(&f.problem, f.graph);
        f.problem.devices = devices;
        sked_samples s = draw(&f);
        for (int32_t k = 0; k < s.count; k++)
            OK(sked_schedule_validate(&f.problem, s.schedule[k], err));
        sked_samples_clear(&s);
    }
    close_fixture(&f);
}

/* Local search that would go on for hours ends with the time, and what was drawn is there. */
static void test_improvement_keeps_the_time(void **state)
{
    (void)state;
    ONE_THREAD();
    fixture f = open_fixture("layered", 300);
    f.options.count = 50;
    f.options.improve = 1000000;
    f.options.time_limit = 3; /* enough for a first draw on a busy machine with a sanitizer */
    const clock_t begin = clock();
    sked_samples s = draw(&f);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
    assert_true(s.count > 0);
    for (int32_t k = 0; k < s.count; k++)
        OK(sked_schedule_validate(&f.problem, s.schedule[k], err));
    sked_samples_clear(&s);
    close_fixture(&f);
}

/* Neither is an option of the method: `sked schedule` knows no transfers that could rank what it makes. */
static void test_method_makes_schedules_only(void **state)
{
    (void)state;
    ONE_THREAD();
    static const char *const settings[] = {"local=true", "improve=3"};
    fixture f = open_fixture("layered", 20);
    for (int k = 0; k < 2; k++) {
        sked_run_options run;
        sked_result r = {.size = sizeof r};
        sked_run_options_init(&run);
        run.settings = &settings[k];
        run.n_settings = 1;
        FAILS(SKED_ERR_ARGUMENT, "has no option", sked_method_run("gflownet", &f.problem, &run, &r, err));
    }
    close_fixture(&f);
}

/* Two devices alike and a fast one, "c"; every pair has a link. */
static const char hetero[] =
    "{\"format\": \"sked-machine-1\", \"devices\": [{\"name\": \"a\", \"type\": \"x\"}, {\"name\": \"c\", "
    "\"type\": "
    "\"y\", \"speed\": 2}, {\"name\": \"b\", \"type\": \"x\"}], \"links\": [{\"from\": \"x\", \"to\": \"x\", "
    "\"latency\": 0.25, \"bandwidth\": 4}, {\"from\": \"x\", \"to\": \"y\", \"latency\": 0.5, \"bandwidth\": "
    "2}]}";

/* All valid, as long as the simulator says, the same on any number of threads, no two the same. */
static void check_machine(fixture *f)
{
    f->options.threads = 1;
    sked_samples s = draw(f);
    f->options.threads = 3;
    sked_samples again = draw(f);
    assert_true(same_samples(&s, &again));
    assert_true(s.count > 50);
    for (int32_t k = 0; k < s.count; k++) {
        sked_metrics m = {.size = sizeof m};
        OK(sked_schedule_validate(&f->problem, s.schedule[k], err));
        OK(sked_schedule_measure(&f->problem, s.schedule[k], &m, err));
        assert_true(fabs(m.makespan - s.makespan[k]) <= 1e-9 * m.makespan);
        assert_true(k == 0 || s.makespan[k - 1] <= s.makespan[k]);
        assert_true(k == 0 || !same_schedules(s.schedule[k - 1], s.schedule[k]));
    }
    sked_samples_clear(&s);
    sked_samples_clear(&again);
}

static double heft_makespan(const sked_problem *p)
{
    sked_result r = {.size = sizeof r};
    OK(sked_method_run("heft", p, NULL, &r, err));
    const double makespan = r.value;
    sked_result_clear(&r);
    return makespan;
}

/* The best draw for a machine is no worse than heft where transfers take a mean duration. */
static void test_transfers(void **state)
{
    (void)state;
    for (double latency = 0.25; latency < (SANITIZED ? 0.5 : 3); latency *= 3) {
        fixture f = open_fixture("layered", 40);
        f.problem.latency = latency;
        check_machine(&f);
        sked_samples s = draw(&f);
        assert_true(s.makespan[0] <= heft_makespan(&f.problem));
        sked_samples_clear(&s);
        f.options.improve = 1;
        FAILS(SKED_ERR_UNSUPPORTED, "transfer",
              sked_sampler_sample(f.model, &f.problem, &f.options, &s, err));
        close_fixture(&f);
    }
}

static void test_hetero_devices(void **state)
{
    (void)state;
    static const char broken[] =
        "{\"format\": \"sked-machine-1\", \"devices\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": "
        "\"c\"}], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"latency\": 1}]}";
    fixture f = open_fixture("layered", 40);
    sked_machine *machine = NULL, *apart = NULL;
    sked_samples s = {.size = sizeof s};
    OK(sked_machine_parse("machine", hetero, strlen(hetero), &machine, err));
    OK(sked_machine_parse("apart", broken, strlen(broken), &apart, err));
    f.problem.machine = machine;
    f.problem.devices = 0;
    check_machine(&f);
    f.problem.machine = apart;
    FAILS(SKED_ERR_UNSUPPORTED, "link between every two",
          sked_sampler_sample(f.model, &f.problem, &f.options, &s, err));
    sked_machine_destroy(machine);
    sked_machine_destroy(apart);
    close_fixture(&f);
}

/* Ops of a graph where some cannot run on the device "c". */
static void test_ops_that_cannot_run_everywhere(void **state)
{
    (void)state;
    fixture f = open_fixture("chain", 1);
    sked_builder *b = NULL;
    sked_machine *machine = NULL;
    sked_graph_destroy(f.graph);
    OK(sked_builder_create(&b, err));
    for (int32_t k = 0; k < 30; k++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1 + k % 4, NULL, err));
        if (k % 3 == 0)
            OK(sked_builder_add_duration(b, k, "c", INFINITY, err));
        const sked_edge edge = {k / 2, k, SKED_LAG_DEFAULT, 1 + k % 2, 0};
        if (k > 0)
            OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &f.graph, err));
    sked_builder_destroy(b);
    OK(sked_machine_parse("machine", hetero, strlen(hetero), &machine, err));
    sked_problem_init(&f.problem, f.graph);
    f.problem.machine = machine;
    check_machine(&f);
    sked_machine_destroy(machine);
    close_fixture(&f);
}

/* Time of the best of the draws on a machine with start-up times of transfers. */
static double best_on_target(const fixture *f, const sked_samples *s)
{
    sked_target *t = NULL;
    double best = INFINITY, time = NAN;
    OK(sked_target_create("latency", &f->problem, 0, &t, err));
    for (int32_t k = 0; k < s->count; k++) {
        OK(measured_time(t, s->schedule[k], &time, err));
        best = fmin(best, time);
    }
    sked_target_destroy(t);
    return best;
}

/* Draws over a prior are schedules of the problem as given, and some of them suit a machine with transfers.
 */
static void test_prior(void **state)
{
    (void)state;
    fixture f = open_fixture("layered", 40);
    f.options.count = 320;
    sked_samples plain = draw(&f);
    f.options.prior = true;
    check_machine(&f);
    sked_samples wide = draw(&f);
    assert_true(best_on_target(&f, &wide) < 0.9 * best_on_target(&f, &plain));
    sked_samples_clear(&plain);
    sked_samples_clear(&wide);
    f.problem.latency = 1;
    FAILS(SKED_ERR_UNSUPPORTED, "prior", sked_sampler_sample(f.model, &f.problem, &f.options, &plain, err));
    close_fixture(&f);
}

/* Automatic temperatures fall with the size of the graph; a temperature that is given stays. */
static void test_temperatures(void **state)
{
    (void)state;
    ONE_THREAD();
    double most[2] = {0};
    for (int k = 0; k < 2; k++) {
        fixture f = open_fixture("layered", k == 0 ? 20 : 200);
        f.options.count = 30;
        sked_samples s = draw(&f);
        for (int32_t i = 0; i < s.count; i++)
            most[k] = fmax(most[k], s.temperature[i]);
        sked_samples_clear(&s);
        f.options.temperature = 0.02;
        s = draw(&f);
        for (int32_t i = 0; i < s.count; i++)
            assert_true(s.temperature[i] == 0.02);
        sked_samples_clear(&s);
        close_fixture(&f);
    }
    assert_true(most[0] > 2 * most[1]);
}

static double field(const json_t *line, const char *name)
{
    const json_t *x = json_object_get(line, name);
    if (!json_is_number(x))
        fail_msg("a line without the number '%s'", name);
    return json_number_value(x);
}

/* Every line carries what DESIGN asks for, and its distance to the best line. */
static void test_file(void **state)
{
    (void)state;
    ONE_THREAD();
    char path[] = "/tmp/sked-samples-XXXXXX";
    fixture f = open_fixture("layered", 20);
    f.options.count = 30;
    sked_samples s = draw(&f);
    close(mkstemp(path));
    OK(sked_samples_write(&s, &f.problem, f.options.temperature, path, err));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int32_t k = 0; k < s.count; k++) {
        const sked_schedule *pair[] = {s.schedule[0], s.schedule[k]};
        sked_diversity d = {.size = sizeof d};
        json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(line);
        OK(sked_schedules_diversity(&f.problem, pair, 2, &d, err));
        assert_true(field(line, "log_prob") == s.log_prob[k]);
        assert_true(field(line, "proxy_makespan") == s.makespan[k]);
        assert_true(field(line, "temperature") == s.temperature[k]);
        assert_true(field(line, "ged") == d.ged);
        assert_true(field(line, "d_inv") == d.d_inv);
        assert_true(field(line, "d_sen") == d.d_sen);
        assert_true(k == 0 ? d.d_sen == 0 : d.d_sen > 0);
        json_decref(line);
    }
    fclose(file);
    unlink(path);
    sked_samples_clear(&s);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_improvement),
        cmocka_unit_test(test_improvement_keeps_data_near),
        cmocka_unit_test(test_improvement_of_odd_graphs),
        cmocka_unit_test(test_improvement_keeps_the_time),
        cmocka_unit_test(test_method_makes_schedules_only),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_hetero_devices),
        cmocka_unit_test(test_ops_that_cannot_run_everywhere),
        cmocka_unit_test(test_prior),
        cmocka_unit_test(test_temperatures),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
