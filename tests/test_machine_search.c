/*
 * `search` and `auto` on heterogeneous devices: against enumeration, the timing of moves against timing from
 * scratch, warm starts, fixed devices, missing links, threads, and the example of the HEFT paper.
 */
#include "brute_force.h"
#include "heft_example.h"
#include "random_problem.h"

#include "engine/sequence/moves.h"
#include "schedule/schedule.h"

static void run_method(const char *method, const sked_problem *p, int64_t iterations, uint64_t seed,
                       int threads, const sked_schedule *start, sked_result *out)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = 3600; /* never what ends a run here */
    opt.iterations = iterations;
    opt.seed = seed;
    opt.threads = threads;
    opt.start = start;
    *out = (sked_result){.size = sizeof *out};
    OK(sked_method_run(method, p, &opt, out, err));
    OK(sked_schedule_validate(p, out->schedule[0], err));
}

static double value_of(const char *method, const sked_problem *p, int64_t iterations)
{
    sked_result r;
    run_method(method, p, iterations, 0, 1, NULL, &r);
    const double value = r.value;
    sked_result_clear(&r);
    return value;
}

/* ------------------------------------------------------------------ optima */

/* Tiny problems of every kind that enumeration of orders knows: search finds the optimum. */
static void tiny_optima_are_found(void **state)
{
    (void)state;
    ONE_THREAD();
    const unsigned kinds[] = {0,           RANDOM_REAL,      RANDOM_LAGS,
                              RANDOM_ZERO, RANDOM_RESOURCES, RANDOM_ZERO | RANDOM_LAGS | RANDOM_REAL};
    for (uint64_t seed = 0; seed < 90; seed++) {
        random_problem r;
        random_problem_make(seed, RANDOM_UNEQUAL | kinds[seed % 6], 2, 6, &r);
        const double best = brute_force_orders(&r.problem), found = value_of("search", &r.problem, 20000);
        if (fabs(found - best) > 1e-9 * fmax(1, best))
            fail_msg("seed %d: search %.12g, optimum %.12g", (int)seed, found, best);
        random_problem_free(&r);
    }
}

typedef struct made {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
} made;

static void free_made(made *m)
{
    sked_graph_destroy(m->graph);
    sked_machine_destroy(m->machine);
}

/* The ops so far on devices n0, n1, ...; every pair has a link, or with bandwidth 0 none. */
static void make_machine(sked_builder *b, int devices, double bandwidth, made *out)
{
    sked_machine_builder *m = NULL;
    char name[16];
    OK(sked_builder_finish(b, &out->graph, err));
    sked_builder_destroy(b);
    OK(sked_machine_builder_create("made", &m, err));
    for (int d = 0; d < devices; d++) {
        snprintf(name, sizeof name, "n%d", d);
        OK(sked_machine_builder_add_device(m, name, NULL, 1 + d, INFINITY, NULL, err));
    }
    if (bandwidth > 0)
        OK(sked_machine_builder_set_link(m, 0, bandwidth, err));
    OK(sked_machine_builder_finish(m, &out->machine, err));
    sked_machine_builder_destroy(m);
    sked_problem_init(&out->problem, out->graph);
    out->problem.machine = out->machine;
    out->problem.devices = devices;
}

static void add_edge(sked_builder *b, int from, int to, double bytes)
{
    const sked_edge e = {from, to, NAN, bytes, 0};
    OK(sked_builder_add_edge(b, &e, err));
}

static void classic_example(void **state)
{
    (void)state;
    ONE_THREAD();
    made m;
    heft_example(&m.graph, &m.machine, &m.problem);
    assert_true(value_of("heft", &m.problem, 1) == 80);
    for (uint64_t seed = 0; seed < 10; seed++) {
        sked_result r;
        run_method("search", &m.problem, 200000, seed, 1, NULL, &r);
        if (r.value != 73)
            fail_msg("seed %d: %g", (int)seed, r.value);
        sked_result_clear(&r);
    }
    sked_result r;
    run_method("auto", &m.problem, 200000, 0, 1, NULL, &r);
    assert_true(r.value == 73 && r.optimal);
    sked_result_clear(&r);
    free_made(&m);
}

/*
 * Four chains of five ops each with much data between them: any chain that is cut costs more than it gains,
 * so whole chains have to move between devices of speed 1 and 2.
 */
static void whole_chains_move(void **state)
{
    (void)state;
    ONE_THREAD();
    made m;
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 5; k++) {
            OK(sked_builder_add_op(b, NULL, NULL, 4, NULL, err));
            if (k > 0)
                add_edge(b, 5 * c + k - 1, 5 * c + k, 1000);
        }
    make_machine(b, 2, 1, &m);
    assert_true(value_of("search", &m.problem, 20000) == 30); /* three on n1, or one on n0 in 20 */
    free_made(&m);
}

/* ------------------------------------------------------------------ what must hold */

/* Without links, data stays where it was made: all ops of a connected graph on one device. */
static void no_link_no_transfer(void **state)
{
    (void)state;
    ONE_THREAD();
    made m;
    sked_builder *b = NULL;
    sked_result r;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 8; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 6, NULL, err));
        if (i == 3)
            OK(sked_builder_add_duration(b, i, "n2", INFINITY, err));
    }
    for (int i = 0; i < 3; i++)
        add_edge(b, 0, 1 + i, 1);
    for (int i = 5; i < 8; i++)
        add_edge(b, 4, i, 1);
    make_machine(b, 3, 0, &m);
    run_method("search", &m.problem, 5000, 0, 1, NULL, &r);
    const int32_t *device = r.schedule[0]->device;
    for (int i = 0; i < 8; i++)
        assert_int_equal(device[i], i < 4 ? 1 : 2);
    assert_true(r.value == 12);
    sked_result_clear(&r);
    free_made(&m);
}

static void fixed_devices_stay(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_problem r;
        sked_result out;
        int32_t fix[40];
        random_problem_make(seed, RANDOM_UNEQUAL | (seed % 2 ? RANDOM_REAL : RANDOM_LAGS), 6, 20, &r);
        run_method("list", &r.problem, 1, 0, 1, NULL, &out);
        for (int32_t i = 0; i < out.schedule[0]->ops; i++)
            fix[i] = i % 3 == 0 ? out.schedule[0]->device[i] : -1;
        sked_result_clear(&out);
        r.problem.fix_device = fix;
        run_method("search", &r.problem, 3000, seed, 1, NULL, &out);
        for (int32_t i = 0; i < out.schedule[0]->ops; i++)
            assert_true(fix[i] < 0 || out.schedule[0]->device[i] == fix[i]);
        sked_result_clear(&out);
        random_problem_free(&r);
    }
}

/* However few the iterations, and however good the start. */
static void never_worse_than_the_start(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 30; seed++) {
        const unsigned more = seed % 3 == 0 ? RANDOM_RESOURCES : seed % 3 == 1 ? RANDOM_ZERO : RANDOM_REAL;
        random_problem r;
        sked_result first, next;
        random_problem_make(seed, RANDOM_UNEQUAL | more, 15, 30, &r);
        run_method("search", &r.problem, 5000, seed, 1, NULL, &first);
        for (int k = 0; k < 2; k++) {
            run_method(k ? "auto" : "search", &r.problem, 1, 7, 1, first.schedule[0], &next);
            assert_true(next.value <= first.value);
            sked_result_clear(&next);
        }
        sked_result_clear(&first);
        random_problem_free(&r);
    }
}

static void auto_is_no_worse_than_its_members(void **state)
{
    (void)state;
    ONE_THREAD();
    static const char *const members[] = {"list", "heft", "search"};
    for (uint64_t seed = 0; seed < 10; seed++) {
        random_problem r;
        random_problem_make(seed, RANDOM_UNEQUAL | RANDOM_REAL, 20, 40, &r);
        const double value = value_of("auto", &r.problem, 2000);
        for (int k = 0; k < 3; k++)
            assert_true(value <= value_of(members[k], &r.problem, 2000));
        random_problem_free(&r);
    }
}

static void same_seed_same_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++)
        for (int threads = 1; threads <= 2; threads++) {
            random_problem r;
            sked_result a, b;
            random_problem_make(seed, RANDOM_UNEQUAL | (seed % 2 ? RANDOM_RESOURCES : RANDOM_REAL), 20, 40,
                                &r);
            run_method("search", &r.problem, 4000, seed, threads, NULL, &a);
            run_method("search", &r.problem, 4000, seed, threads, NULL, &b);
            const sked_schedule *x = a.schedule[0], *y = b.schedule[0];
            assert_memory_equal(x->start, y->start, (size_t)x->ops * sizeof *x->start);
            assert_memory_equal(x->device, y->device, (size_t)x->ops * sizeof *x->device);
            assert_true(a.evaluations == b.evaluations);
            sked_result_clear(&a);
            sked_result_clear(&b);
            random_problem_free(&r);
        }
}

/* ------------------------------------------------------------------ timing of moves */

static void check_times(const sked_i_sequence *a, sked_i_sequence *b)
{
    sked_i_sequence_load(b, a->start, a->device);
    assert_true(a->cost == b->cost);
    for (int32_t i = 0; i < a->form->n; i++) {
        assert_true(a->start[i] == b->start[i]);
        assert_true(a->time[i] == sked_i_time(a->form->hetero->costs, i, a->device[i]));
        assert_true(a->time[i] < INFINITY);
    }
}

/*
 * After any series of moves as search picks them, made and refused, all times are those of the same list
 * timed from scratch, every op runs where it can, and tails promise no more than the truth.
 */
static void moves_are_timed_exactly(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 60; seed++) {
        const unsigned more = (seed % 2 ? RANDOM_REAL : 0) | (seed % 3 ? 0 : RANDOM_LAGS);
        random_problem r;
        sked_i_rng rng;
        sked_i_sequencing *l = NULL;
        sked_i_sequence *a = NULL, *b = NULL;
        sked_i_moves moves;
        double key[64];
        random_problem_make(seed, RANDOM_UNEQUAL | RANDOM_ZERO | more, 2, 40, &r);
        sked_i_rng_seed(&rng, seed, 7);
        sked_i_costs costs = {0};
        OK(sked_i_costs_make(&r.problem, &costs, err));
        OK(sked_i_sequencing_create(&r.problem, &costs, &l, err));
        if (seed % 4 == 0) /* as where the table of transfers would be large */
            l->hetero->pass = NULL;
        OK(sked_i_sequence_create(l, &a, err));
        OK(sked_i_sequence_create(l, &b, err));
        OK(sked_i_moves_open(a, &rng, &moves, err));
        for (int32_t i = 0; i < l->n; i++)
            key[i] = -l->tail[i];
        sked_i_sequence_build(a, key);
        for (int k = 0; k < 600; k++) {
            sked_i_sequence_move m;
            if (!sked_i_moves_pick(&moves, &m))
                continue;
            const double before = a->cost, limit = before * (0.9 + 0.4 * sked_i_rng_uniform(&rng));
            const bool taken = sked_i_sequence_try(a, &m, limit);
            moves.moved += taken;
            assert_true(taken ? a->cost <= limit : a->cost == before);
            for (int32_t i = 0; i < l->n; i++)
                assert_true(a->start[i] + a->tail[i] <= a->cost * (1 + 1e-12) + 1e-12);
            if (k % 16 == 0)
                sked_i_sequence_sort(a);
            check_times(a, b);
        }
        sked_i_sequence_destroy(a);
        sked_i_sequence_destroy(b);
        sked_i_sequencing_destroy(l);
        sked_i_costs_free(&costs);
        random_problem_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_optima_are_found),
        cmocka_unit_test(classic_example),
        cmocka_unit_test(whole_chains_move),
        cmocka_unit_test(no_link_no_transfer),
        cmocka_unit_test(fixed_devices_stay),
        cmocka_unit_test(never_worse_than_the_start),
        cmocka_unit_test(auto_is_no_worse_than_its_members),
        cmocka_unit_test(same_seed_same_bytes),
        cmocka_unit_test(moves_are_timed_exactly),
    };
    return cmocka_run_group_tests_name("machine_search", tests, NULL, NULL);
}
