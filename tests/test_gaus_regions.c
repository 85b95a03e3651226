/*
 * Moves of whole regions: the closures they are found by against enumeration, what they leave against the
 * rules, and a circuit on which no move of one op helps.
 */
#include "base/rng.h"
#include "engine/gaus/best_closure.h"
#include "engine/gaus/gaus_relaxation.h"
#include "random_problem.h"

#include <string.h>

/* ------------------------------------------------------------------ closures */

enum { NODES = 11, ARCS = 16 };

typedef struct network {
    int nodes, arcs, from[ARCS], to[ARCS];
    int64_t gain[NODES];
} network;

static network random_network(sked_i_rng *rng)
{
    network x = {.nodes = 1 + (int)sked_i_rng_below(rng, NODES)};
    for (int k = 0; k < x.nodes; k++)
        x.gain[k] = (int64_t)sked_i_rng_below(rng, 21) - 10;
    while (x.nodes > 1 && x.arcs < ARCS && sked_i_rng_below(rng, 12) > 0) {
        x.from[x.arcs] = (int)sked_i_rng_below(rng, (uint64_t)x.nodes);
        x.to[x.arcs] = (int)sked_i_rng_below(rng, (uint64_t)x.nodes);
        x.arcs += x.from[x.arcs] != x.to[x.arcs];
    }
    return x;
}

/* Gain of a set of nodes; -1: it is not closed. (The empty set gains 0, so no best set gains less.) */
static int64_t gain_of(const network *x, unsigned set)
{
    int64_t gain = 0;
    for (int k = 0; k < x->arcs; k++)
        if ((set >> x->from[k] & 1) > (set >> x->to[k] & 1))
            return -1;
    for (int k = 0; k < x->nodes; k++)
        gain += set >> k & 1 ? x->gain[k] : 0;
    return gain;
}

static void check_network(sked_i_gaus_closure *c, const network *x)
{
    int64_t most = 0;
    unsigned found = 0;
    sked_i_gaus_closure_clear(c);
    for (int k = 0; k < x->nodes; k++)
        assert_int_equal(sked_i_gaus_closure_add(c, k % 2 ? x->gain[k] : 0), k);
    for (int k = 0; k < x->nodes; k += 2)
        sked_i_gaus_closure_gain(c, k, x->gain[k]);
    for (int k = 0; k < x->arcs; k++)
        sked_i_gaus_closure_imply(c, x->from[k], x->to[k]);
    OK(sked_i_gaus_closure_solve(c, err));
    for (int k = 0; k < x->nodes; k++)
        found |= (unsigned)sked_i_gaus_closure_has(c, k) << k;
    for (unsigned set = 0; set < 1u << x->nodes; set++)
        most = gain_of(x, set) > most ? gain_of(x, set) : most;
    assert_int_equal(gain_of(x, found), most);
}

static void test_closure(void **state)
{
    sked_i_gaus_closure c = {0};
    sked_i_rng rng;
    (void)state;
    ONE_THREAD();
    sked_i_rng_seed(&rng, 3, 0);
    for (int k = 0; k < 400; k++) {
        const network x = random_network(&rng);
        check_network(&c, &x);
    }
    sked_i_gaus_closure_free(&c);
}

/* ------------------------------------------------------------------ regions */

/* Moves regions from these starts, twice: the same legal schedule. Returns its value. */
static double move_twice(const sked_i_relaxation *m, const double *start, double sweeps)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_incumbent best[2];
    OK(sked_i_gaus_legaliser_create(m, &l, err));
    for (int k = 0; k < 2; k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 5, 0);
        OK(sked_i_gaus_incumbent_create(m->n, &best[k], err));
        sked_i_gaus_state_load(l->state, start);
        assert_true(sked_i_gaus_keep(&best[k], l->state));
        const double before = best[k].value;
        OK(sked_i_gaus_move_regions(l->state, sweeps, &rng, &limit, 0, &best[k], err));
        assert_true(best[k].value <= before);
        sked_i_gaus_state_load(l->state, best[k].start);
        assert_true(sked_i_gaus_state_legal(l->state));
        assert_true(sked_i_gaus_state_value(l->state) == best[k].value);
    }
    assert_memory_equal(best[0].start, best[1].start, (size_t)m->n * sizeof *best[0].start);
    const double value = best[0].value;
    sked_i_gaus_incumbent_free(&best[0]);
    sked_i_gaus_incumbent_free(&best[1]);
    sked_i_gaus_legaliser_destroy(l);
    return value;
}

static void set_earliest(const sked_i_relaxation *m, double *start)
{
    for (int32_t i = 0; i < m->n; i++)
        start[i] = m->lo[i];
}

/* Lags of every sign, sizes of every kind. */
static void test_random_problems(void **state)
{
    int tried = 0, better = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_i_relaxation *m = NULL;
        double start[40], before = 0;
        random_problem_make(seed,
                            (seed % 2        ? RANDOM_LAGS | RANDOM_NEGATIVE
                             : seed % 8 == 2 ? RANDOM_ORDER
                                             : 0) |
                                RANDOM_HORIZON,
                            3, 40, &r);
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        r.problem.horizon += 6;
        OK(sked_i_relaxation_create(&r.problem, 0, (int64_t)r.problem.horizon, &m, err));
        if (m != NULL && sked_i_gaus_regional(m)) {
            sked_i_gaus_state *s = NULL;
            OK(sked_i_gaus_state_create(m, &s, err));
            set_earliest(m, start);
            sked_i_gaus_state_load(s, start);
            before = sked_i_gaus_state_value(s);
            sked_i_gaus_state_destroy(s);
            better += move_twice(m, start, 100) < before;
            tried++;
        }
        sked_i_relaxation_destroy(m);
        random_problem_free(&r);
    }
    print_message("%d of %d better than as early as possible\n", better, tried);
    assert_true(tried >= 40 && better >= tried / 2);
}

/* Products of all pairs of `operands`, read one after the other by a chain of sums. */
static void make_products(int operands, sked_graph **out)
{
    sked_builder *b = NULL;
    int32_t last = -1, id;
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < operands; k++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1, &id, err));
        OK(sked_builder_set_memory(b, id, 1, err));
    }
    for (int k = 0; k < operands * operands; k++) {
        int32_t product, sum;
        OK(sked_builder_add_op(b, NULL, NULL, 1, &product, err));
        OK(sked_builder_add_op(b, NULL, NULL, 1, &sum, err));
        OK(sked_builder_set_memory(b, product, 1, err));
        OK(sked_builder_set_memory(b, sum, 1, err));
        const sked_edge edges[] = {{k / operands, product, 1, 0, 0},
                                   {k % operands, product, 1, 0, 0},
                                   {product, sum, 1, 0, 0},
                                   {last, sum, 1, 0, 0}};
        for (int e = 0; e < (last < 0 ? 3 : 4); e++)
            if (e != 1 || k / operands != k % operands)
                OK(sked_builder_add_edge(b, &edges[e], err));
        last = sum;
    }
    OK(sked_builder_finish(b, out, err));
    sked_builder_destroy(b);
}

/*
 * 8 operands, 64 products, all made at once at the start. A product alone that moves later saves one life and
 * prolongs those of two operands; all together they need 8 operands, a product and a sum.
 */
static void test_shared_operands(void **state)
{
    sked_graph *g = NULL;
    sked_problem p;
    sked_i_relaxation *m = NULL;
    double start[8 + 2 * 64];
    (void)state;
    ONE_THREAD();
    make_products(8, &g);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    OK(sked_i_relaxation_create(&p, 0, 70, &m, err));
    set_earliest(m, start);
    const double value = move_twice(m, start, 300);
    print_message("%g\n", value);
    assert_true(value <= 11);
    sked_i_relaxation_destroy(m);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ in the method */

/* Calls of the technique in one round without a descent on a circuit of so many ops. */
static int64_t calls_at(int32_t nodes)
{
    static const char *const settings[] = {"starts=0", "sweeps=5"};
    const sked_generate_options o = {.size = sizeof o, .nodes = nodes};
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    int64_t calls = 0;
    OK(sked_graph_generate("circuit", &o, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 400;
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = 1;
    opt.settings = settings;
    opt.n_settings = 2;
    OK(sked_method_run("gaus", &p, &opt, &r, err));
    for (int32_t k = 0; k < r.n_statistics; k++)
        if (strcmp(r.statistics[k]->technique, "moves of regions") == 0)
            calls = r.statistics[k]->calls;
    sked_result_clear(&r);
    sked_graph_destroy(g);
    return calls;
}

/* The polish of large graphs alone moves regions. */
static void test_large_graph(void **state)
{
    (void)state;
    ONE_THREAD();
    assert_int_equal(calls_at(4000), 0);
    assert_int_equal(calls_at(6000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closure),
        cmocka_unit_test(test_random_problems),
        cmocka_unit_test(test_shared_operands),
        cmocka_unit_test(test_large_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
