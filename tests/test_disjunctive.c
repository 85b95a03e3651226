/* Tabu search on critical blocks, and exact, against all orders of tiny shops; determinism; what fits and
 * what not. */
#include "test.h"

#include "base/rng.h"
#include "engine/shop/tabu.h"
#include "method/driver.h"
#include "method/search/shop_search.h"

#include <math.h>

enum { max_ops = 24 };

typedef struct shop_case {
    int machines;
    bool odd_lags, real, free_ops; /* free_ops: some ops without a machine, extra edges between jobs */
} shop_case;

static double draw_duration(sked_i_rng *rng, bool real)
{
    return real ? 0.1 + 9 * sked_i_rng_uniform(rng) : (double)sked_i_rng_below(rng, 10);
}

static double draw_lag(sked_i_rng *rng, bool odd)
{
    return odd && sked_i_rng_below(rng, 2) ? (double)sked_i_rng_below(rng, 6) : (double)NAN;
}

static sked_graph *random_shop(sked_i_rng *rng, const shop_case *c, int jobs, int length)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < c->machines; k++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", k);
        OK(sked_builder_add_resource(b, name, k == 0 ? 3 : 1, NULL, err));
    }
    for (int j = 0; j < jobs; j++)
        for (int k = 0; k < length; k++) {
            int32_t id;
            OK(sked_builder_add_op(b, NULL, NULL, draw_duration(rng, c->real), &id, err));
            if (!c->free_ops || sked_i_rng_below(rng, 4) > 0) {
                const int32_t m = (int32_t)sked_i_rng_below(rng, (uint64_t)c->machines);
                OK(sked_builder_add_demand(b, id, m, m == 0 ? 2 : 1, err));
            }
            if (k > 0)
                OK(sked_builder_add_edge(b, &(sked_edge){id - 1, id, draw_lag(rng, c->odd_lags), 0, 0}, err));
            if (c->free_ops && id > length && sked_i_rng_below(rng, 4) == 0) {
                const int32_t from = (int32_t)sked_i_rng_below(rng, (uint64_t)id);
                OK(sked_builder_add_edge(b, &(sked_edge){from, id, draw_lag(rng, c->odd_lags), 0, 0}, err));
            }
        }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* Brute force: ops are fixed one after the other at the end of their machine, every order is tried. */
typedef struct brute {
    const sked_graph *g;
    double start[max_ops], machine_free[8], best;
    bool done[max_ops];
} brute;

static int machine_of(const sked_graph *g, int32_t op)
{
    for (int32_t r = 0; r < sked_graph_resource_count(g); r++)
        if (sked_graph_demand(g, op, r) > 0 && sked_graph_duration(g, op) > 0)
            return r;
    return -1;
}

static bool ready_at(const brute *b, int32_t op, double *at)
{
    sked_edge e;
    *at = 0;
    for (int64_t k = 0; k < sked_graph_edge_count(b->g); k++) {
        sked_graph_edge(b->g, k, &e);
        if (e.to != op)
            continue;
        if (!b->done[e.from])
            return false;
        *at = fmax(*at, b->start[e.from] + e.lag);
    }
    return true;
}

static void try_all(brute *b, int32_t left, double finish)
{
    if (finish >= b->best)
        return;
    if (left == 0) {
        b->best = finish;
        return;
    }
    for (int32_t i = 0; i < sked_graph_op_count(b->g); i++) {
        double at;
        if (b->done[i] || !ready_at(b, i, &at))
            continue;
        const int m = machine_of(b->g, i);
        const double before = m < 0 ? 0 : b->machine_free[m];
        at = fmax(at, before);
        b->start[i] = at;
        b->done[i] = true;
        if (m >= 0)
            b->machine_free[m] = at + sked_graph_duration(b->g, i);
        try_all(b, left - 1, fmax(finish, at + sked_graph_duration(b->g, i)));
        b->done[i] = false;
        if (m >= 0)
            b->machine_free[m] = before;
        else
            return; /* an op without a machine never gains by waiting: no other choice needed */
    }
}

typedef struct outcome {
    double value;
    int64_t evaluations;
    double start[max_ops];
} outcome;

static outcome run_search(const sked_problem *p, uint64_t seed, int threads, int64_t iterations,
                          const sked_schedule *start)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.seed = seed;
    opt.threads = threads;
    opt.iterations = iterations;
    opt.time_limit = 20;
    opt.start = start;
    sked_i_lowered low;
    OK(sked_i_lower(p, &low, err));
    sked_i_run run = sked_i_run_of(&low, &opt);
    double bound;
    sked_i_limit_init(&run.limit, &opt);
    OK(sked_i_driver_open(&run, 1, err));
    OK(sked_problem_bound(p, &bound, NULL, err));
    run.driver->current = "search";
    sked_i_run_raise_bound(&run, bound);
    OK(sked_i_disjunctive_search(&run, err));
    outcome out = {.value = sked_i_run_best(&run), .evaluations = sked_i_run_evaluations(&run)};
    const sked_schedule *best = sked_i_run_incumbent(&run);
    if (best != NULL) {
        OK(sked_schedule_validate(p, best, err));
        memcpy(out.start, best->start, (size_t)best->ops * sizeof(double));
    }
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    return out;
}

static void compare(const shop_case *c, int count, uint64_t stream)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 7, stream);
    for (int k = 0; k < count; k++) {
        sked_graph *g = random_shop(&rng, c, 3, 3);
        sked_problem p;
        sked_problem_init(&p, g);
        if (sked_i_shop_model_fits(&p)) {
            brute b = {.g = g, .best = INFINITY};
            try_all(&b, sked_graph_op_count(g), 0);
            const outcome o = run_search(&p, (uint64_t)k, 1, 3000, NULL);
            if (fabs(o.value - b.best) > 1e-9)
                fail_msg("case %d: found %.17g, the optimum is %.17g", k, o.value, b.best);
        }
        sked_graph_destroy(g);
    }
}

static void optimal_on_job_shops(void **state)
{
    (void)state;
    compare(&(shop_case){.machines = 3}, 60, 1);
    compare(&(shop_case){.machines = 2}, 60, 2);
    compare(&(shop_case){.machines = 3, .real = true}, 40, 3);
}

static void optimal_with_free_ops_and_edges(void **state)
{
    (void)state;
    compare(&(shop_case){.machines = 2, .free_ops = true}, 60, 4);
}

/* Lags below the duration allow paths that shortcut a block: moves must still keep the graph acyclic. */
static void valid_with_short_lags(void **state)
{
    (void)state;
    compare(&(shop_case){.machines = 2, .odd_lags = true}, 60, 5);
    compare(&(shop_case){.machines = 3, .odd_lags = true, .free_ops = true}, 60, 6);
}

/* What exact proves on one and on two threads, without a first schedule from search. */
static void compare_exact(const shop_case *c, int jobs, int length, int count, uint64_t stream)
{
    static const char *const alone[] = {"engine=branch", "warm-start=0"};
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 11, stream);
    for (int k = 0; k < count; k++) {
        sked_graph *g = random_shop(&rng, c, jobs, length);
        sked_run_options opt;
        sked_problem p;
        sked_result r = {.size = sizeof r};
        brute b = {.g = g, .best = INFINITY};
        sked_problem_init(&p, g);
        try_all(&b, sked_graph_op_count(g), 0);
        sked_run_options_init(&opt);
        opt.threads = 1 + k % 2;
        opt.time_limit = 60;
        opt.settings = alone;
        opt.n_settings = 2;
        OK(sked_method_run("exact", &p, &opt, &r, err));
        if (!r.optimal || fabs(r.value - b.best) > 1e-9)
            fail_msg("case %d: proved %d, %.17g, the optimum is %.17g", k, r.optimal, r.value, b.best);
        sked_result_clear(&r);
        sked_graph_destroy(g);
    }
}

static void exact_proves_shops(void **state)
{
    (void)state;
    compare_exact(&(shop_case){.machines = 3}, 3, 3, 60, 1);
    compare_exact(&(shop_case){.machines = 2}, 4, 2, 40, 2);
    compare_exact(&(shop_case){.machines = 2, .free_ops = true}, 3, 3, 60, 3);
    compare_exact(&(shop_case){.machines = 2, .odd_lags = true}, 3, 3, 60, 4);
    compare_exact(&(shop_case){.machines = 3, .odd_lags = true, .free_ops = true}, 3, 3, 60, 5);
}

/* auto gives shops to exact up to 250 ops, other problems up to 200. */
static void auto_proves_large_shops(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 12, 0);
    sked_graph *g = random_shop(&rng, &(shop_case){.machines = 16}, 15, 15);
    sked_run_options opt;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    bool learnt = false;
    sked_problem_init(&p, g);
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = 20;
    OK(sked_method_run("auto", &p, &opt, &r, err));
    for (int32_t k = 0; k < r.n_statistics; k++)
        learnt = learnt || strcmp(r.statistics[k]->technique, "clause learning") == 0;
    assert_true(learnt);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* Eight jobs, each once on each of eight machines. */
static sked_graph *square_shop(sked_i_rng *rng)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < 8; k++)
        OK(sked_builder_add_resource(b, (const char[]){(char)('a' + k), 0}, 1, NULL, err));
    for (int j = 0; j < 8; j++) {
        const int first = (int)sked_i_rng_below(rng, 8), step = 1 + 2 * (int)sked_i_rng_below(rng, 4);
        for (int k = 0; k < 8; k++) {
            int32_t id;
            OK(sked_builder_add_op(b, NULL, NULL, 1 + (double)sked_i_rng_below(rng, 10), &id, err));
            OK(sked_builder_add_demand(b, id, (first + k * step) % 8, 1, err));
            if (k > 0)
                OK(sked_builder_add_edge(b, &(sked_edge){id - 1, id, NAN, 0, 0}, err));
        }
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* Four percent of this limit are an hour: the proof does not wait for as much. */
static void a_proof_does_not_wait_for_ever(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 3, 0);
    sked_graph *g = square_shop(&rng);
    sked_run_options opt;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    double bound;
    ONE_THREAD();
    sked_problem_init(&p, g);
    OK(sked_problem_bound(&p, &bound, NULL, err));
    sked_run_options_init(&opt);
    opt.time_limit = 1e5;
    OK(sked_method_run("auto", &p, &opt, &r, err));
    assert_true(r.optimal && r.value > bound);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

static void same_for_seed_and_threads(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 3, 0);
    sked_graph *g = random_shop(&rng, &(shop_case){.machines = 4}, 6, 4);
    sked_problem p;
    sked_problem_init(&p, g);
    assert_true(sked_i_shop_model_fits(&p));
    for (int threads = 1; threads <= 3; threads++) {
        const outcome a = run_search(&p, 5, threads, 4000, NULL), b = run_search(&p, 5, threads, 4000, NULL);
        assert_true(a.value == b.value);
        assert_int_equal(a.evaluations, b.evaluations);
        assert_memory_equal(a.start, b.start, sizeof a.start);
    }
    sked_graph_destroy(g);
}

static void starts_from_a_schedule(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 4, 0);
    sked_graph *g = random_shop(&rng, &(shop_case){.machines = 3}, 5, 4);
    sked_problem p;
    sked_problem_init(&p, g);
    const outcome best = run_search(&p, 1, 1, 50000, NULL);
    sked_schedule *s = NULL;
    OK(sked_schedule_create(sked_graph_op_count(g), 0, &s, err));
    memcpy(s->start, best.start, (size_t)s->ops * sizeof(double));
    const outcome again = run_search(&p, 2, 1, 1, s);
    assert_true(again.value <= best.value);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 5, 0);
    sked_graph *g = random_shop(&rng, &(shop_case){.machines = 3}, 4, 3);
    sked_problem p;
    double capacity[3] = {3, 1, 1}, fixed[max_ops];
    sked_problem_init(&p, g);
    assert_true(sked_i_shop_model_fits(&p));
    p.devices = 2;
    assert_false(sked_i_shop_model_fits(&p));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    assert_false(sked_i_shop_model_fits(&p));
    sked_problem_init(&p, g);
    capacity[0] = 4; /* two of its users now run together */
    p.capacity = capacity;
    assert_false(sked_i_shop_model_fits(&p));
    sked_problem_init(&p, g);
    for (int i = 0; i < max_ops; i++)
        fixed[i] = NAN;
    p.fix_start = fixed;
    assert_true(sked_i_shop_model_fits(&p));
    fixed[2] = 5;
    assert_false(sked_i_shop_model_fits(&p));
    sked_graph_destroy(g);
}

/* Relocations keep order and times in step with a solution loaded from scratch. */
static void incremental_times_agree(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 6, 0);
    for (int round = 0; round < 20; round++) {
        sked_graph *g = random_shop(&rng, &(shop_case){.machines = 3, .free_ops = true}, 5, 4);
        sked_problem p;
        sked_problem_init(&p, g);
        sked_i_shop_model *m = NULL;
        sked_i_shop *a = NULL, *b = NULL;
        int32_t scratch[2 * max_ops + 3], sequence[max_ops];
        double ready[max_ops + 3];
        OK(sked_i_shop_model_create(&p, &m, err));
        OK(sked_i_shop_create(m, &a, err));
        OK(sked_i_shop_create(m, &b, err));
        sked_i_shop_random(m, &rng, scratch, ready, sequence);
        assert_true(sked_i_shop_load(a, sequence));
        for (int k = 0; k < 200; k++) {
            const int32_t x = m->member[sked_i_rng_below(&rng, (uint64_t)m->n_members)], y = a->after[x];
            if (y == m->n)
                continue;
            const int32_t z = a->after[y] != m->n && sked_i_rng_below(&rng, 2) ? a->after[y] : y;
            const sked_i_shop_move move = {x, z, sked_i_rng_below(&rng, 2) != 0};
            const int32_t first = a->at[x], last = a->at[z];
            const bool promised = sked_i_shop_allows(a, move), done = sked_i_shop_relocate(a, move);
            assert_true(done || !promised);
            if (done)
                sked_i_shop_times(a, first, last);
            sked_i_shop_save(a, sequence);
            assert_true(sked_i_shop_load(b, sequence));
            assert_memory_equal(a->head, b->head, (size_t)m->n * sizeof(double));
            assert_memory_equal(a->tail, b->tail, (size_t)m->n * sizeof(double));
            assert_true(a->makespan == b->makespan);
        }
        sked_i_shop_destroy(a);
        sked_i_shop_destroy(b);
        sked_i_shop_model_destroy(m);
        sked_graph_destroy(g);
    }
}

/* A stream that has walked for long still takes up a better solution found elsewhere, and keeps its elites.
 */
static void streams_take_up_solutions(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 8, 0);
    sked_graph *g = random_shop(&rng, &(shop_case){.machines = 4}, 6, 4);
    sked_problem p;
    sked_run_options opt;
    sked_i_limit limit;
    sked_i_shop_model *m = NULL;
    sked_i_shop_stream mature, young;
    sked_problem_init(&p, g);
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    sked_i_limit_init(&limit, &opt);
    OK(sked_i_shop_model_create(&p, &m, err));
    OK(sked_i_shop_stream_init(&mature, m, 1, 0, err));
    OK(sked_i_shop_stream_init(&young, m, 1, 1, err));
    sked_i_shop_stream_advance(&mature, 60000, &limit);
    sked_i_shop_stream_advance(&young, 1, &limit);
    assert_int_equal(mature.n_elites, mature.size);
    assert_true(mature.links > 0 && young.best_value > mature.best_value);
    sked_i_shop_stream_seed(&young, mature.best);
    assert_true(young.best_value == mature.best_value && young.walking);
    sked_i_shop_stream_seed(&mature, young.best);
    assert_true(mature.walking && mature.tabu.best == young.best_value);
    assert_int_equal(mature.n_elites, mature.size);
    sked_i_shop_stream_free(&mature);
    sked_i_shop_stream_free(&young);
    sked_i_shop_model_destroy(m);
    sked_graph_destroy(g);
}

/* The second turn of a method in a run goes on with its streams. */
static void streams_go_on(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 9, 0);
    sked_graph *g = random_shop(&rng, &(shop_case){.machines = 4}, 6, 4);
    sked_problem p;
    sked_run_options opt;
    sked_problem_init(&p, g);
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.iterations = 500;
    sked_i_lowered low;
    OK(sked_i_lower(&p, &low, err));
    sked_i_run run = sked_i_run_of(&low, &opt);
    sked_i_limit_init(&run.limit, &opt);
    OK(sked_i_driver_open(&run, 1, err));
    run.driver->current = "search";
    OK(sked_i_disjunctive_search(&run, err));
    const void *first = sked_i_run_state(&run);
    const double value = sked_i_run_best(&run);
    const int64_t steps = sked_i_run_evaluations(&run);
    opt.threads = 3;
    OK(sked_i_disjunctive_search(&run, err));
    assert_non_null(first);
    assert_ptr_equal(sked_i_run_state(&run), first);
    assert_true(sked_i_run_best(&run) <= value);
    assert_true(sked_i_run_evaluations(&run) >= steps + 3 * 500);
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimal_on_job_shops),      cmocka_unit_test(optimal_with_free_ops_and_edges),
        cmocka_unit_test(valid_with_short_lags),     cmocka_unit_test(exact_proves_shops),
        cmocka_unit_test(auto_proves_large_shops),   cmocka_unit_test(a_proof_does_not_wait_for_ever),
        cmocka_unit_test(same_for_seed_and_threads), cmocka_unit_test(starts_from_a_schedule),
        cmocka_unit_test(refuses_what_does_not_fit), cmocka_unit_test(incremental_times_agree),
        cmocka_unit_test(streams_take_up_solutions), cmocka_unit_test(streams_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
