/*
 * The method `brkga`: against enumeration on small problems of every kind it takes, determinism, limits,
 * candidates. And the timing of moves that search with transfers stands on.
 */
#include "brute_force.h"
#include "engine/sequence/sequence.h"
#include "random_problem.h"

#include <time.h>

typedef struct setup {
    const char *method; /* NULL: brkga */
    int64_t iterations;
    int threads;
    uint64_t seed;
    const sked_schedule *start;
    int32_t candidates;
    double time_limit;   /* 0: none */
    const char *setting; /* NULL: presets */
} setup;

static sked_status run(const sked_problem *p, setup s, sked_result *out, sked_error *err)
{
    sked_run_options opt;
    const char *settings[] = {s.setting};
    sked_run_options_init(&opt);
    opt.iterations = s.iterations;
    opt.threads = s.threads ? s.threads : 1;
    opt.seed = s.seed;
    opt.start = s.start;
    opt.candidates = s.candidates;
    opt.time_limit = s.time_limit > 0 ? s.time_limit : INFINITY;
    opt.settings = settings;
    opt.n_settings = s.setting != NULL;
    return sked_method_run(s.method ? s.method : "brkga", p, &opt, out, err);
}

/* A generated graph whose edges carry data. */
static sked_graph *generate(const char *family, int32_t nodes, uint64_t seed)
{
    const sked_generate_options opt = {
        .size = sizeof opt, .nodes = nodes, .seed = seed, .duration = "int:1,10", .bytes = "int:1,10"};
    sked_graph *g = NULL;
    OK(sked_graph_generate(family, &opt, &g, err));
    return g;
}

static sked_problem on_devices(const sked_graph *g, int32_t devices, double bandwidth)
{
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = devices;
    p.bandwidth = bandwidth;
    return p;
}

/* ------------------------------------------------------------------ optimal on small problems */

static void check_kind(const char *method, unsigned flags, int count, int64_t iterations, bool times)
{
    int missed = 0;
    for (int seed = 0; seed < CASES(count); seed++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        random_problem_make((uint64_t)seed, flags, 3, times ? 5 : 6, &r);
        const double want = times ? brute_force_times(&r.problem, 24) : brute_force_orders(&r.problem);
        if (isfinite(want)) {
            OK(run(&r.problem, (setup){.method = method, .iterations = iterations}, &got, err));
            if (got.value < want - 1e-6 * want)
                fail_msg("%s, kind %u seed %d: %.9g is below the optimum %.9g", method, flags, seed,
                         got.value, want);
            missed += got.value > want + 1e-6 * want;
        }
        sked_result_clear(&got);
        random_problem_free(&r);
    }
    if (missed > 0)
        fail_msg("%s, kind %u: %d of %d optima missed", method, flags, missed, count);
}

static void optimal_where_devices_are_alike(void **state)
{
    (void)state;
    ONE_THREAD();
    check_kind("brkga", RANDOM_DEVICES, 60, 60, false);
    check_kind("brkga", RANDOM_RESOURCES, 60, 60, false);
    check_kind("brkga", RANDOM_DEVICES | RANDOM_RESOURCES | RANDOM_LAGS, 60, 60, false);
    check_kind("brkga", RANDOM_DEVICES | RANDOM_REAL, 40, 60, false);
    check_kind("brkga", RANDOM_RESOURCES | RANDOM_FIX_START, 40, 60, true);
}

static void optimal_with_transfers(void **state)
{
    (void)state;
    ONE_THREAD();
    const unsigned flags[] = {RANDOM_TRANSFERS, RANDOM_TRANSFERS | RANDOM_RESOURCES,
                              RANDOM_TRANSFERS | RANDOM_REAL | RANDOM_LAGS};
    for (int k = 0; k < 3; k++) {
        check_kind("brkga", flags[k], 60, 200, false);
        check_kind("search", flags[k], 60, 30000, false);
    }
    check_kind("brkga", RANDOM_TRANSFERS | RANDOM_FIX_DEVICE, 60, 100, true);
    check_kind("search", RANDOM_TRANSFERS | RANDOM_FIX_DEVICE, 60, 20000, true);
    check_kind("search", RANDOM_DEVICES | RANDOM_FIX_DEVICE, 60, 20000, true);
}

/* ------------------------------------------------------------------ contracts */

static void assert_same(const sked_result *a, const sked_result *b)
{
    assert_int_equal(a->count, b->count);
    for (int32_t k = 0; k < a->count; k++)
        for (int32_t i = 0; i < a->schedule[k]->ops; i++) {
            assert_true(a->schedule[k]->start[i] == b->schedule[k]->start[i]);
            assert_int_equal(a->schedule[k]->device[i], b->schedule[k]->device[i]);
        }
}

static void same_for_seed_and_threads(void **state)
{
    (void)state;
    sked_graph *g = generate("layered", 60, 1);
    for (int k = 0; k < 8; k++) {
        const sked_problem p = on_devices(g, 4, k % 2 ? 1 : INFINITY);
        const bool search = k >= 4 && k % 2;
        const setup s = {.method = search ? "search" : "brkga",
                         .iterations = search ? 5000 : 45,
                         .threads = 1 + k / 2 % 2 * 2,
                         .seed = (uint64_t)k,
                         .candidates = k == 6 ? 20 : 0};
        sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
        OK(run(&p, s, &a, err));
        OK(run(&p, s, &b, err));
        assert_same(&a, &b);
        sked_result_clear(&a);
        sked_result_clear(&b);
    }
    sked_graph_destroy(g);
}

static void time_limit_is_kept(void **state)
{
    (void)state;
    sked_graph *g = generate("erdos-renyi", 300, 2);
    const char *const method[] = {"brkga", "search"};
    for (int k = 0; k < 4; k++) {
        const sked_problem p = on_devices(g, 4, k % 2 ? 0.5 : 10);
        sked_result got = {.size = sizeof got};
        const clock_t before = clock(); /* of this process: the machine may be busy with other tests */
        OK(run(&p, (setup){.method = method[k / 2], .time_limit = 0.3, .threads = 2}, &got, err));
        const double used = (double)(clock() - before) / CLOCKS_PER_SEC;
        if (used > 2 * 0.3 + 0.1)
            fail_msg("%s used %g s on 2 threads of 0.3 s", method[k / 2], used);
        sked_result_clear(&got);
    }
    sked_graph_destroy(g);
}

static void candidates_differ(void **state)
{
    (void)state;
    ONE_THREAD();
    sked_graph *g = generate("layered", 50, 3);
    const char *const method[] = {"brkga", "brkga", "search"};
    for (int k = 0; k < 3; k++) {
        const sked_problem p = on_devices(g, 4, k ? 1 : INFINITY);
        sked_result got = {.size = sizeof got};
        sked_diversity d = {.size = sizeof d};
        OK(run(&p, (setup){.method = method[k], .iterations = k < 2 ? 60 : 40000, .candidates = 100}, &got,
               err));
        assert_int_equal(got.count, 100);
        double last = got.value;
        for (int32_t q = 0; q < got.count; q++) {
            sked_metrics m = {.size = sizeof m};
            OK(sked_schedule_validate(&p, got.schedule[q], err));
            OK(sked_schedule_measure(&p, got.schedule[q], &m, err));
            assert_true(m.value >= last);
            last = m.value;
        }
        OK(sked_schedules_diversity(&p, (const sked_schedule *const *)got.schedule, got.count, &d, err));
        assert_true(d.d_inv > 0);
        sked_result_clear(&got);
    }
    sked_graph_destroy(g);
}

static void starts_are_used(void **state)
{
    (void)state;
    ONE_THREAD();
    sked_graph *g = generate("layered", 80, 4);
    for (int k = 0; k < 4; k++) {
        const sked_problem p = on_devices(g, 4, k % 2 ? 0.3 : INFINITY);
        sked_result good = {.size = sizeof good}, got = {.size = sizeof got};
        OK(run(&p, (setup){.method = "search", .iterations = 60000}, &good, err));
        OK(run(&p, (setup){.method = k < 2 ? "brkga" : "search", .iterations = 1, .start = good.schedule[0]},
               &got, err));
        assert_true(got.value <= good.value);
        sked_result_clear(&good);
        sked_result_clear(&got);
    }
    sked_graph_destroy(g);
}

/* Five ops of 2 on two devices take 6, though the work of 10 would fill only 5. */
static void horizons_that_cannot_be_kept(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 5; i++)
        OK(sked_builder_add_op(b, NULL, NULL, 2, NULL, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem p = on_devices(g, 2, 1);
    p.horizon = 5; /* the area bound does not say so: 10 / 2 */
    sked_result got = {.size = sizeof got};
    FAILS(SKED_ERR_INFEASIBLE, "horizon", run(&p, (setup){.iterations = 30}, &got, err));
    FAILS(SKED_ERR_INFEASIBLE, "horizon", run(&p, (setup){.method = "search", .iterations = 300}, &got, err));
    p.horizon = 6;
    OK(run(&p, (setup){.iterations = 30}, &got, err));
    assert_true(got.value == 6);
    sked_result_clear(&got);
    sked_graph_destroy(g);
}

/* Where one device is the best machine, both must find that out; and search is no worse than heft. */
static void transfers_are_worth_avoiding(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < CASES(6); seed++) {
        sked_graph *g = generate(seed % 2 ? "layered" : "erdos-renyi", 40, seed);
        sked_graph_info info = {.size = sizeof info};
        OK(sked_graph_describe(g, &info, err));
        for (int k = 0; k < 3; k++) {
            const sked_problem p = on_devices(g, 4, k == 0 ? 0.001 : k == 1 ? 1 : 10);
            sked_result heft = {.size = sizeof heft}, genes = {.size = sizeof genes},
                        moves = {.size = sizeof moves};
            OK(run(&p, (setup){.method = "heft"}, &heft, err));
            OK(run(&p, (setup){.iterations = 100}, &genes, err));
            OK(run(&p, (setup){.method = "search", .iterations = 100000}, &moves, err));
            assert_true(moves.value <= heft.value && genes.value <= heft.value);
            if (k == 0)
                assert_true(moves.value <= info.work);
            sked_result_clear(&heft);
            sked_result_clear(&genes);
            sked_result_clear(&moves);
        }
        sked_graph_destroy(g);
    }
}

/* ------------------------------------------------------------------ timing of moves */

static void random_move(const sked_i_sequence *s, sked_i_rng *rng, sked_i_sequence_move *m)
{
    int32_t low, high;
    *m = (sked_i_sequence_move){.from = random_int(rng, 0, s->form->n - 1)};
    sked_i_sequence_range(s, m->from, &low, &high);
    m->to = random_int(rng, low, high);
    m->count = random_int(rng, 0, 2);
    if (m->count == 2 && s->form->n < 2)
        m->count = 1;
    for (int32_t q = 0; q < m->count; q++) {
        m->op[q] = (random_int(rng, 0, s->form->n - 1) / 2 * 2 + q) % s->form->n;
        m->device[q] = random_int(rng, 0, s->form->m - 1);
    }
    if (m->count == 2 && m->op[0] == m->op[1])
        m->count = 1;
}

/* After any series of moves, made and refused, all times are those of the same list timed from scratch. */
static void moves_are_timed_exactly(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES(60); seed++) {
        random_problem r;
        sked_i_rng rng;
        sked_i_sequencing *l = NULL;
        sked_i_sequence *a = NULL, *b = NULL;
        random_problem_make(seed, RANDOM_TRANSFERS | RANDOM_ZERO | (seed % 2 ? RANDOM_REAL : 0), 2, 40, &r);
        sked_i_rng_seed(&rng, seed, 7);
        const sked_i_costs costs = sked_i_costs_of_equal(&r.problem);
        OK(sked_i_sequencing_create(&r.problem, &costs, &l, err));
        OK(sked_i_sequence_create(l, &a, err));
        OK(sked_i_sequence_create(l, &b, err));
        double key[64];
        for (int32_t i = 0; i < l->n; i++)
            key[i] = -l->tail[i];
        sked_i_sequence_build(a, key);
        for (int k = 0; k < 400; k++) {
            sked_i_sequence_move m;
            random_move(a, &rng, &m);
            const double before = a->cost, limit = before * (0.9 + 0.4 * sked_i_rng_uniform(&rng));
            const bool made = sked_i_sequence_try(a, &m, limit);
            assert_true(made ? a->cost <= limit : a->cost == before);
            if (k % 16 == 0)
                sked_i_sequence_sort(a);
            sked_i_sequence_load(b, a->start, a->device);
            assert_true(a->cost == b->cost);
            for (int32_t i = 0; i < l->n; i++)
                assert_true(a->start[i] == b->start[i]);
        }
        sked_i_sequence_destroy(a);
        sked_i_sequence_destroy(b);
        sked_i_sequencing_destroy(l);
        random_problem_free(&r);
    }
}

/* A fixed start may lie before that of a predecessor, where a plan cannot keep it: the list stays an order.
 */
static void fixed_starts_in_the_way_keep_the_order(void **state)
{
    (void)state;
    const double fixed[] = {NAN, 1, 0}, start[] = {2, 1, 0};
    const int32_t device[] = {0, 0, 0};
    const sked_edge edge = {0, 1, 0, 0, 0};
    sked_builder *builder = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    sked_i_sequencing *l = NULL;
    sked_i_sequence *s = NULL;
    OK(sked_builder_create(&builder, err));
    for (int k = 0; k < 3; k++)
        OK(sked_builder_add_op(builder, NULL, NULL, k == 0 ? 5 : 2 * (k == 2), NULL, err));
    OK(sked_builder_add_edge(builder, &edge, err));
    OK(sked_builder_finish(builder, &g, err));
    sked_problem_init(&p, g);
    p.devices = 2;
    p.latency = 1;
    p.fix_start = fixed;
    const sked_i_costs costs = sked_i_costs_of_equal(&p);
    OK(sked_i_sequencing_create(&p, &costs, &l, err));
    OK(sked_i_sequence_create(l, &s, err));
    sked_i_sequence_load(s, start, device);
    assert_true(s->place[0] < s->place[1]);
    sked_i_sequence_sort(s);
    assert_true(s->place[0] < s->place[1]);
    sked_i_sequence_destroy(s);
    sked_i_sequencing_destroy(l);
    sked_graph_destroy(g);
    sked_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimal_where_devices_are_alike),
        cmocka_unit_test(optimal_with_transfers),
        cmocka_unit_test(same_for_seed_and_threads),
        cmocka_unit_test(time_limit_is_kept),
        cmocka_unit_test(candidates_differ),
        cmocka_unit_test(starts_are_used),
        cmocka_unit_test(horizons_that_cannot_be_kept),
        cmocka_unit_test(transfers_are_worth_avoiding),
        cmocka_unit_test(moves_are_timed_exactly),
        cmocka_unit_test(fixed_starts_in_the_way_keep_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
