/* Many ops on many different devices: what follows from classes and lists says the same as all pairs one by
 * one. */
#include "random_problem.h"
#include "test.h"

#include "engine/list/placer.h"
#include "form/heterogeneous.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ problems that are too large for tables
 */

typedef struct large {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    sked_i_costs costs;
    sked_i_dag dag;
} large;

/* Some ops take times of their own by type, a few by name, and some cannot run on a type. */
static sked_graph *large_graph(sked_i_rng *rng, int32_t ops, int types)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    char on[16];
    int32_t op;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < ops; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, random_int(rng, 0, 9) * 1.25, &op, err));
        for (int t = 0; t < types && i % 3 == 0; t++) {
            snprintf(on, sizeof on, "t%d", t);
            if (random_int(rng, 0, 1) == 0)
                OK(sked_builder_add_duration(
                    b, op, on, t > 0 && random_int(rng, 0, 3) == 0 ? INFINITY : random_int(rng, 1, 20), err));
        }
        if (i % 50 == 0)
            OK(sked_builder_add_duration(b, op, i % 100 ? "d7" : "d11", random_int(rng, 1, 20), err));
        for (int k = 0; i > 0 && k < 2; k++) {
            const double lag = random_int(rng, 0, 3) == 0 ? random_int(rng, 0, 9) : NAN;
            const sked_edge edge = {random_int(rng, i > 20 ? i - 20 : 0, i - 1), i, lag, 1, 0};
            OK(sked_builder_add_edge(b, &edge, err));
        }
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static void large_make(uint64_t seed, int32_t ops, int32_t devices, int types, large *x)
{
    sked_machine_builder *b = NULL;
    sked_i_rng rng;
    char name[16], type[16];
    *x = (large){0};
    sked_i_rng_seed(&rng, seed, 0);
    x->graph = large_graph(&rng, ops, types);
    OK(sked_machine_builder_create("large", &b, err));
    OK(sked_machine_builder_set_link(b, 1, 2, err));
    for (int32_t d = 0; d < devices; d++) {
        snprintf(name, sizeof name, "d%d", (int)d);
        snprintf(type, sizeof type, "t%d", random_int(&rng, 0, types - 1));
        OK(sked_machine_builder_add_device(b, name, type, random_int(&rng, 4, 40) / 8.0, INFINITY, NULL,
                                           err));
    }
    OK(sked_machine_builder_finish(b, &x->machine, err));
    sked_machine_builder_destroy(b);
    sked_problem_init(&x->problem, x->graph);
    x->problem.machine = x->machine;
    x->problem.devices = devices;
    OK(sked_i_costs_make(&x->problem, &x->costs, err));
    OK(sked_i_dag_make(&x->problem, &x->costs, false, true, &x->dag, err));
}

static void large_free(large *x)
{
    sked_i_dag_free(&x->dag);
    sked_i_costs_free(&x->costs);
    sked_graph_destroy(x->graph);
    sked_machine_destroy(x->machine);
}

/* Of every 37th op, over the devices one by one. */
static void times_by_class(void **state)
{
    (void)state;
    large x;
    large_make(1, 4000, 2600, 3, &x); /* more than 1e7 pairs: means by class */
    assert_true(x.costs.classes == 5 && x.costs.time_kinds > 20);
    for (int32_t i = 0; i < x.graph->n_ops; i += 37) {
        double least = INFINITY, most = 0, sum = 0;
        int32_t able = 0;
        for (int32_t d = 0; d < x.problem.devices; d++) {
            const double t = sked_problem_duration(&x.problem, i, d);
            assert_true(t == sked_i_time(&x.costs, i, d));
            least = fmin(least, t);
            most = t < INFINITY ? fmax(most, t) : most;
            sum += t < INFINITY ? t : 0;
            able += t < INFINITY;
        }
        assert_true(least == sked_i_shortest_time(&x.costs, i) && most == sked_i_longest_time(&x.costs, i));
        assert_true(fabs(sked_i_mean_time(&x.costs, i) - sum / able) <= 1e-9 * sum / able);
    }
    large_free(&x);
}

static void check_choices(const large *x, const sked_i_hetero *u, int32_t i)
{
    const int32_t count = sked_i_hetero_choices(u, i);
    int32_t able = 0;
    double before = 0;
    for (int32_t d = 0; d < x->problem.devices; d++) {
        const int32_t fixed = x->problem.fix_device ? x->problem.fix_device[i] : -1;
        able += sked_problem_duration(&x->problem, i, d) < INFINITY && (fixed < 0 || fixed == d);
    }
    assert_int_equal(count, able);
    for (int32_t k = 0; k < count; k++) {
        const int32_t d = sked_i_hetero_choice(u, i, k);
        const double t = sked_problem_duration(&x->problem, i, d);
        assert_true(t < INFINITY && sked_i_hetero_time(u, i, d) == t);
        assert_int_equal(sked_i_hetero_choice_of(u, i, d), k); /* no device twice */
        assert_true(k > 0 || t == sked_i_shortest_time(&x->costs, i) || u->fix != NULL);
        assert_true(x->graph->on_ptr[i] < x->graph->on_ptr[i + 1] || t >= before);
        before = t;
    }
}

/* The longest path from the start of op i on a device, everything behind it where that takes least. */
static double tail_of(const large *x, const double *least, int32_t i, int32_t d)
{
    const double own = sked_problem_duration(&x->problem, i, d);
    double tail = own;
    for (int64_t e = x->graph->succ_ptr[i]; e < x->graph->succ_ptr[i + 1]; e++)
        tail = fmax(tail, (x->graph->edge_lag_given[e] ? x->graph->edge_lag[e] : own) +
                              least[x->graph->edge_to[e]]);
    return tail;
}

static void choices_and_tails(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        large x;
        sked_i_hetero u;
        large_make(2, 3000, 1500, 3, &x);
        int32_t *fix = malloc(3000 * sizeof *fix);
        for (int32_t i = 0; i < 3000; i++) /* devices of type t0 run every op */
            fix[i] = -1;
        for (int32_t d = 0, i = 0; i < 3000; i += 5, d = (d + 1) % 1500) {
            while (strcmp(sked_machine_device_type(x.machine, d), "t0") != 0)
                d = (d + 1) % 1500;
            fix[i] = d;
        }
        x.problem.fix_device = fixed ? fix : NULL;
        OK(sked_i_hetero_make(&x.problem, &x.dag, &u, err));
        assert_true(u.able == NULL);
        for (int32_t i = 0; i < 3000; i += 97)
            check_choices(&x, &u, i);
        double *least = malloc(3000 * sizeof *least);
        for (int32_t k = 2999; k >= 0; k--) {
            const int32_t i = x.graph->topo[k];
            least[i] = INFINITY;
            for (int32_t d = 0; d < 1500; d++)
                if (!fixed || fix[i] < 0 || fix[i] == d)
                    least[i] = fmin(least[i], tail_of(&x, least, i, d));
            assert_true(fabs(u.least[i] - least[i]) <= 1e-9 * least[i] || u.tail != NULL);
            assert_true(
                sked_i_hetero_tail(&u, i, fixed && fix[i] >= 0 ? fix[i] : sked_i_hetero_choice(&u, i, 0)) >=
                least[i] * (1 - 1e-9));
        }
        sked_i_hetero_free(&u);
        free(fix);
        free(least);
        large_free(&x);
    }
}

/* ------------------------------------------------------------------ in a hurry */

/* The time is up before the first op is placed. late as of the placer. */
static double hurry(const sked_problem *p, const sked_i_costs *c, bool stepped, sked_schedule *s)
{
    const sked_i_limit limit = {.begin = 0, .deadline = 0};
    const sked_i_place how = {.fix_device = p->fix_device,
                              .by_device = true,
                              .insertion = !stepped,
                              .stepped = stepped,
                              .limit = &limit,
                              .hurry = true};
    sked_i_dag v = {0};
    sked_i_pools pools = {0};
    sked_i_placer *x = NULL;
    int32_t rank[64];
    double late, key[64];
    OK(sked_i_dag_make(p, c, false, true, &v, err));
    OK(sked_i_pools_make(p, false, &pools, err));
    sked_i_upward_ranks(&v, 1, key);
    for (int32_t i = 0; i < v.n; i++)
        key[i] = -key[i];
    OK(sked_i_rank_by_key(&v, key, rank, err));
    OK(sked_i_placer_create(&v, &pools, p->devices, true, &x, err));
    x->hurried = true; /* as after a run that took too long */
    OK(sked_i_placer_run(x, rank, NULL, &how, s->start, s->device, &late, err));
    assert_true(x->hurry != NULL);
    sked_i_placer_destroy(x);
    sked_i_pools_free(&pools);
    sked_i_dag_free(&v);
    return late;
}

static void hurried_schedules_are_valid(void **state)
{
    static const unsigned kinds[] = {
        RANDOM_UNEQUAL,
        RANDOM_UNEQUAL | RANDOM_REAL | RANDOM_ZERO,
        RANDOM_UNEQUAL | RANDOM_RESOURCES | RANDOM_LAGS,
        RANDOM_UNEQUAL | RANDOM_LAGS | RANDOM_NEGATIVE,
        RANDOM_UNEQUAL | RANDOM_FIX_DEVICE,
        RANDOM_UNEQUAL | RANDOM_FIX_DEVICE | RANDOM_RESOURCES,
        RANDOM_TRANSFERS | RANDOM_RESOURCES,
        RANDOM_TRANSFERS | RANDOM_FIX_DEVICE | RANDOM_ZERO,
        RANDOM_DEVICES | RANDOM_LAGS,
    };
    (void)state;
    int made = 0, runs = 0;
    for (uint64_t seed = 0; seed < CASES(2000); seed++) {
        random_problem r;
        sked_i_costs costs = {0};
        sked_schedule *s = NULL;
        random_problem_make(seed, kinds[seed % (sizeof kinds / sizeof *kinds)], 1, 20, &r);
        OK(sked_i_costs_make(&r.problem, &costs, err));
        OK(sked_schedule_create(r.graph->n_ops, r.problem.devices, &s, err));
        const double late = hurry(&r.problem, &costs, seed % 2 == 0, s);
        runs++;
        made += late == 0;
        if (late == 0)
            OK(sked_schedule_validate(&r.problem, s, err));
        sked_schedule_destroy(s);
        sked_i_costs_free(&costs);
        random_problem_free(&r);
    }
    assert_true(2 * made > runs); /* the others lack links */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_by_class),
        cmocka_unit_test(choices_and_tails),
        cmocka_unit_test(hurried_schedules_are_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
