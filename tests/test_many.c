/* Many ops on many different devices: what follows from classes and lists says the same as all pairs one by
 * one. */
#define _GNU_SOURCE
#include "growth.h"
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

static void large_make(uint64_t seed, int32_t ops, int32_t devices, int types, bool linked, large *x)
{
    sked_machine_builder *b = NULL;
    sked_i_rng rng;
    char name[16], type[16];
    *x = (large){0};
    sked_i_rng_seed(&rng, seed, 0);
    x->graph = large_graph(&rng, ops, types);
    OK(sked_machine_builder_create("large", &b, err));
    if (linked)
        OK(sked_machine_builder_set_link(b, 1, 2, err));
    for (int t = 0; t < types && !linked; t++) {
        snprintf(type, sizeof type, "t%d", t);
        OK(sked_machine_builder_add_link(b, "t0", type, 1, 2, false, err));
        if (t > 0)
            OK(sked_machine_builder_add_link(b, type, type, 1, 2, false, err));
    }
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
    large_make(1, 4000, 2600, 3, true, &x); /* more than 1e7 pairs: means by class */
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
        large_make(2, 3000, 1500, 3, true, &x);
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
                              .fix_start = p->fix_start,
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
        RANDOM_DEVICES | RANDOM_FIX_START,
        RANDOM_UNEQUAL | RANDOM_FIX_START,
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

/* A stop before the first op is placed. */
static void expect_schedule(const sked_problem *p, const char *method)
{
    static const volatile sig_atomic_t stop = 1;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    opt.stop = &stop;
    OK(sked_method_run(method, p, &opt, &r, err));
    OK(sked_schedule_validate(p, r.schedule[0], err));
    sked_result_clear(&r);
}

/* 30,000 ops without edges, a wave on all devices every second. */
static void expect_fixed_starts(const sked_problem *machine, const char *method)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    double start[30000];
    int32_t op;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < 30000; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 0.25, &op, err));
        start[i] = i / machine->devices;
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = machine->devices;
    p.machine = machine->machine;
    p.fix_start = start;
    expect_schedule(&p, method);
    sked_graph_destroy(g);
}

static void a_stop_comes_with_a_schedule(void **state)
{
    static const char *const methods[] = {"auto", "list", "heft", "search", "brkga"};
    (void)state;
    for (int linked = 0; linked < 2; linked++) {
        large x;
        large_make(4, 1000, 500, 3, linked == 1, &x);
        for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
            expect_schedule(&x.problem, methods[k]);
        for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
            if (strcmp(methods[k], "heft") != 0)
                expect_fixed_starts(&x.problem, methods[k]);
        large_free(&x);
    }
    const sked_generate_options how = {.size = sizeof how, .nodes = 30000, .seed = 3};
    sked_graph *g = NULL;
    sked_problem p;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 8;
    for (int k = 0; k < 3; k++)
        expect_schedule(&p, methods[k]);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ where links are missing */

/* Arc consistency (reach.c) with a set of devices for each op, one by one. false: some set would be empty. */
static bool narrow_all(const sked_problem *p, bool *may)
{
    const sked_graph *g = p->graph;
    const int32_t m = p->devices;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t e = 0; e < 2 * g->n_edges; e++) {
            const bool back = e >= g->n_edges;
            const int64_t k = back ? e - g->n_edges : e;
            const bool *from = may + (back ? g->edge_to : g->edge_from)[k] * m;
            bool *to = may + (back ? g->edge_from : g->edge_to)[k] * m, left = g->edge_bytes[k] == 0;
            for (int32_t d = 0; d < m && g->edge_bytes[k] > 0; d++) {
                bool linked = false;
                for (int32_t f = 0; f < m; f++)
                    linked = linked ||
                             (from[f] && sked_problem_transfer(p, k, back ? d : f, back ? f : d) < INFINITY);
                changed = changed || (to[d] && !linked);
                to[d] = to[d] && linked;
                left = left || to[d];
            }
            if (!left)
                return false;
        }
    }
    return true;
}

/* Before any op is placed, and when op `placed` is; may is what it ought to be. */
static void check_reach(const sked_i_placer *x, const bool *may, int32_t placed)
{
    for (int32_t i = 0; i < x->input.view->n; i++)
        for (int32_t d = 0; i != placed && d < x->input.devices; d++)
            assert_true(sked_i_reach_allows(x, i, d) == may[i * x->input.devices + d]);
}

static int check_places(const random_problem *r, sked_i_placer *x, sked_i_rng *rng)
{
    const int32_t n = r->graph->n_ops, m = r->problem.devices, i = random_int(rng, 0, n - 1);
    const sked_i_place how = {.by_device = true};
    bool may[20 * 8];
    int32_t device[20], d = random_int(rng, 0, m - 1);
    for (int32_t k = 0; k < n * m; k++)
        may[k] = sked_problem_duration(&r->problem, k / m, k % m) < INFINITY;
    if (!narrow_all(&r->problem, may))
        return 0;
    x->how = &how;
    x->device = device;
    sked_i_reach_reset(x);
    check_reach(x, may, -1);
    while (!may[i * m + d])
        d = (d + 1) % m;
    for (int32_t e = 0; e < m; e++)
        may[i * m + e] = d == e;
    device[i] = d;
    if (!narrow_all(&r->problem, may))
        return 1;
    sked_i_reach_placed(x, i);
    check_reach(x, may, i);
    return 2;
}

static void groups_say_what_each_device_says(void **state)
{
    (void)state;
    int checked = 0;
    for (uint64_t seed = 0; seed < CASES(2000); seed++) {
        random_problem r;
        sked_i_costs costs = {0};
        sked_i_dag v = {0};
        sked_i_pools pools = {0};
        sked_i_placer *x = NULL;
        sked_i_rng rng;
        sked_i_rng_seed(&rng, seed, 1);
        random_problem_make(seed, RANDOM_UNEQUAL, 1, 20, &r);
        assert_true(r.graph->n_ops <= 20 && r.problem.devices <= 8);
        OK(sked_i_costs_make(&r.problem, &costs, err));
        OK(sked_i_dag_make(&r.problem, &costs, false, true, &v, err));
        OK(sked_i_pools_make(&r.problem, false, &pools, err));
        OK(sked_i_placer_create(&v, &pools, r.problem.devices, true, &x, err));
        checked += x->reach != NULL ? check_places(&r, x, &rng) : 0;
        sked_i_placer_destroy(x);
        sked_i_pools_free(&pools);
        sked_i_dag_free(&v);
        sked_i_costs_free(&costs);
        random_problem_free(&r);
    }
    assert_true((uint64_t)checked > CASES(2000) / 10);
}

static void open_placer(void *data)
{
    large *x = data;
    const sked_i_place how = {.by_device = true};
    sked_i_pools pools = {0};
    sked_i_placer *placer = NULL;
    OK(sked_i_pools_make(&x->problem, false, &pools, err));
    OK(sked_i_placer_create(&x->dag, &pools, x->problem.devices, true, &placer, err));
    assert_non_null(placer->reach);
    placer->how = &how;
    sked_i_reach_reset(placer);
    sked_i_placer_destroy(placer);
    sked_i_pools_free(&pools);
}

/* The sets are those of types of devices, not of devices. */
static void many_devices_without_links_cost_little(void **state)
{
    (void)state;
    double work[2];
    for (int k = 0; k < 2; k++) {
        large x;
        large_make(3, 3000, k == 0 ? 50 : 1000, 3, false, &x);
        work[k] = work_of(open_placer, &x);
        large_free(&x);
    }
    print_message("work on 20 times as many devices: x %.2f\n", work[1] / work[0]);
    assert_true(work[1] < 3 * work[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_by_class),
        cmocka_unit_test(choices_and_tails),
        cmocka_unit_test(hurried_schedules_are_valid),
        cmocka_unit_test(a_stop_comes_with_a_schedule),
        cmocka_unit_test(groups_say_what_each_device_says),
        cmocka_unit_test(many_devices_without_links_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
