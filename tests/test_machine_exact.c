/* Proofs and bounds on heterogeneous devices: against brute force, on made-up cases that one argument
 * decides. */
#include "brute_force.h"
#include "heft_example.h"
#include "problem/load.h"
#include "random_problem.h"
#include "test.h"

typedef struct settings {
    const char *list[4];
    int count, threads;
} settings;

static sked_status run_exact(const sked_problem *p, settings s, sked_result *r, sked_error *err)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.settings = s.list;
    opt.n_settings = s.count;
    opt.threads = s.threads > 0 ? s.threads : 1;
    return sked_method_run("exact", p, &opt, r, err);
}

/* warm-start=0: the engine itself has to find the optimum. */
static const settings alone = {{"warm-start=0"}, 1, 1}; /* branch, where it takes the problem */
static const settings two_threads = {{"warm-start=0"}, 1, 2};
static const settings with_search = {{NULL}, 0, 1};

static double by_brute_force(const sked_problem *p, unsigned kind)
{
    const unsigned others = RANDOM_NEGATIVE | RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_HORIZON;
    return kind & others ? brute_force_times(p, 40) : brute_force_orders(p);
}

static void check_bound(const sked_problem *p, double best, unsigned kind, int seed)
{
    double bound;
    const char *why;
    sked_error e = {0};
    const sked_status st = sked_problem_bound(p, &bound, &why, &e);
    if (st != SKED_OK)
        fail_msg("kind %u seed %d: %s", kind, seed, e.message);
    if (bound > best + 1e-9 * fmax(1, best))
        fail_msg("kind %u seed %d: bound %.15g (%s), brute force %.15g", kind, seed, bound, why, best);
}

static void compare(unsigned kind, int low, int high, int count, settings s)
{
    kind |= RANDOM_UNEQUAL;
    for (int k = 0; k < count; k++) {
        random_problem r;
        sked_result result = {.size = sizeof result};
        sked_error e = {0};
        random_problem_make((uint64_t)k, kind, low, high, &r);
        if (sked_problem_check(&r.problem, &e) ==
            SKED_OK) { /* ops that their device cannot run are refused */
            const double best = by_brute_force(&r.problem, kind);
            const sked_status st = run_exact(&r.problem, s, &result, &e);
            check_bound(&r.problem, best, kind, k);
            if (isinf(best) ? st != SKED_ERR_INFEASIBLE : st != SKED_OK)
                fail_msg("kind %u seed %d: status %d, brute force %g: %s", kind, k, (int)st, best, e.message);
            if (st == SKED_OK && (!result.optimal || fabs(result.value - best) > 1e-7))
                fail_msg("kind %u seed %d: value %.12g (optimal %d), brute force %.12g", kind, k,
                         result.value, result.optimal, best);
            if (st == SKED_OK)
                sked_result_clear(&result);
        } else if (!isinf(by_brute_force(&r.problem, kind))) {
            fail_msg("kind %u seed %d: refused, but has a schedule: %s", kind, k, e.message);
        }
        random_problem_free(&r);
    }
}

static void branch_meets_brute_force(void **state)
{
    (void)state;
    const unsigned kinds[] = {0,
                              RANDOM_LAGS | RANDOM_ZERO,
                              RANDOM_RESOURCES,
                              RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_ZERO,
                              RANDOM_REAL,
                              RANDOM_REAL | RANDOM_LAGS | RANDOM_ZERO};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        compare(kinds[i], 2, 6, 100, alone);
    compare(RANDOM_REAL, 7, 7, 6, alone);
    compare(0, 2, 6, 60, two_threads);
    compare(RANDOM_REAL, 2, 6, 60, two_threads);
}

static void branch_keeps_what_is_given(void **state)
{
    (void)state;
    const unsigned kinds[] = {RANDOM_NEGATIVE | RANDOM_LAGS,
                              RANDOM_NEGATIVE | RANDOM_RESOURCES | RANDOM_ZERO,
                              RANDOM_FIX_DEVICE,
                              RANDOM_HORIZON,
                              RANDOM_FIX_START | RANDOM_LAGS,
                              RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_RESOURCES,
                              RANDOM_HORIZON | RANDOM_NEGATIVE | RANDOM_FIX_DEVICE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        compare(kinds[i], 2, 4, 60, alone);
}

static void warm_start_changes_nothing(void **state)
{
    (void)state;
    compare(RANDOM_REAL, 2, 6, 20, with_search);
    compare(RANDOM_RESOURCES, 2, 6, 20, with_search);
}

/* ------------------------------------------------------------------ made-up cases */

typedef struct made {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
} made;

/* Devices n0, n1, ... of speed 1, all pairs with this latency and bandwidth (NAN: no links). */
static void make_problem(sked_builder *b, int devices, double latency, double bandwidth, made *out)
{
    sked_machine_builder *m = NULL;
    char name[16];
    OK(sked_builder_finish(b, &out->graph, err));
    sked_builder_destroy(b);
    OK(sked_machine_builder_create("made", &m, err));
    for (int d = 0; d < devices; d++) {
        snprintf(name, sizeof name, "n%d", d);
        OK(sked_machine_builder_add_device(m, name, NULL, 1, INFINITY, NULL, err));
    }
    if (!isnan(latency))
        OK(sked_machine_builder_set_link(m, latency, bandwidth, err));
    OK(sked_machine_builder_finish(m, &out->machine, err));
    sked_machine_builder_destroy(m);
    sked_problem_init(&out->problem, out->graph);
    out->problem.machine = out->machine;
    out->problem.devices = devices;
}

static void free_made(made *m)
{
    sked_graph_destroy(m->graph);
    sked_machine_destroy(m->machine);
}

/* Times on n0, n1, ...; below 0: cannot run there. */
static void add_op(sked_builder *b, int devices, const double *time)
{
    char name[16];
    int32_t op;
    OK(sked_builder_add_op(b, NULL, NULL, fabs(time[0]), &op, err));
    for (int d = 0; d < devices; d++) {
        snprintf(name, sizeof name, "n%d", d);
        OK(sked_builder_add_duration(b, op, name, time[d] < 0 ? INFINITY : time[d], err));
    }
}

static void add_edge(sked_builder *b, int from, int to, double bytes)
{
    const sked_edge e = {from, to, NAN, bytes, 0};
    OK(sked_builder_add_edge(b, &e, err));
}

static void heft_example_is_73(void **state)
{
    (void)state;
    made m = {0};
    heft_example(&m.graph, &m.machine, &m.problem);
    for (int threads = 1; threads <= 2; threads++) {
        sked_result r = {.size = sizeof r}, again = {.size = sizeof again};
        const settings s = {{NULL}, 0, threads};
        OK(run_exact(&m.problem, s, &r, err));
        assert_true(r.optimal);
        assert_float_equal(r.value, 73, 0);
        assert_float_equal(r.lower_bound, 73, 0);
        OK(run_exact(&m.problem, s, &again, err)); /* same seed, same bytes */
        assert_memory_equal(r.schedule[0]->start, again.schedule[0]->start, 10 * sizeof(double));
        assert_memory_equal(r.schedule[0]->device, again.schedule[0]->device, 10 * sizeof(int32_t));
        sked_result_clear(&r);
        sked_result_clear(&again);
    }
    m.problem.horizon = 72;
    sked_result none = {.size = sizeof none};
    FAILS(SKED_ERR_INFEASIBLE, "proved by exhaustive search", run_exact(&m.problem, alone, &none, err));
    free_made(&m);
}

/* ------------------------------------------------------------------ bounds */

static void expect_bound(const sked_problem *p, double want, const char *name)
{
    double bound;
    const char *why;
    sked_result r = {.size = sizeof r};
    OK(sked_problem_bound(p, &bound, &why, err));
    if (bound != want || strcmp(why, name) != 0)
        fail_msg("bound %.12g by '%s', not %g by '%s'", bound, why, want, name);
    OK(run_exact(p, alone, &r, err)); /* and a schedule reaches it */
    assert_true(r.optimal);
    assert_float_equal(r.value, want, 0);
    sked_result_clear(&r);
}

/* Eight ops of time 2 on n0 and 6 on n1: divided 6 to 2 both end at 12. */
static void add_eight(sked_builder *b)
{
    for (int i = 0; i < 8; i++)
        add_op(b, 2, (const double[]){2, 6});
}

static void work_decides(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    made m = {0};
    OK(sked_builder_create(&b, err));
    add_eight(b);
    make_problem(b, 2, 3, 1, &m);
    expect_bound(&m.problem, 12, "fractional assignment of the work");
    int32_t fix[8] = {1, -1, -1, 1, -1, -1, 1, -1}; /* three must take 6 */
    m.problem.fix_device = fix;
    expect_bound(&m.problem, 18, "work fixed on a device");
    free_made(&m);
}

/* The same work after an op that takes 2 and before one that takes 3, both on n0 alone. */
static void work_with_heads_and_tails_decides(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    made m = {0};
    OK(sked_builder_create(&b, err));
    add_eight(b);
    add_op(b, 2, (const double[]){2, -1});
    add_op(b, 2, (const double[]){3, -1});
    for (int i = 0; i < 8; i++) {
        add_edge(b, 8, i, 0);
        add_edge(b, i, 9, 0);
    }
    make_problem(b, 2, 0, 1, &m);
    expect_bound(&m.problem, 17, "fractional assignment with heads and tails");
    free_made(&m);
}

/* a runs on n0 alone and b on n1 alone: their data has to pass. */
static void path_with_a_transfer_decides(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    made m = {0};
    OK(sked_builder_create(&b, err));
    add_op(b, 3, (const double[]){3, -1, -1});
    add_op(b, 3, (const double[]){-4, 4, -1});
    add_op(b, 3, (const double[]){1, 2, 1});
    add_edge(b, 0, 1, 6);
    add_edge(b, 1, 2, 2);
    make_problem(b, 3, 1, 2, &m);
    expect_bound(&m.problem, 13, "critical path with its best devices and transfers"); /* 3 + 4 + 4 + 2 */
    const double fix[3] = {7, NAN, NAN};
    m.problem.fix_start = fix;
    expect_bound(&m.problem, 20, "critical path with its best devices and transfers");
    const int32_t device[3] = {-1, -1, 2}; /* the last op leaves n1: 1 + 1 for its data */
    m.problem.fix_device = device;
    m.problem.fix_start = NULL;
    expect_bound(&m.problem, 14, "critical path with its best devices and transfers");
    free_made(&m);
}

/* Devices that differ by speed alone: all work over all speed, found at once. */
static void load_of_speeds_is_exact(void **state)
{
    (void)state;
    enum { rows = 5, kinds = 3 };
    const double work[rows] = {3, 1, 4, 1, 5}, speed[kinds] = {1, 2.5, 4}, count[kinds] = {3, 2, 1};
    double time[rows * kinds], price[kinds], scratch[2 * kinds], again[kinds];
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < kinds; k++)
            time[r * kinds + k] = work[r] / speed[k];
    const sked_i_load load = {rows, kinds, time, count};
    assert_float_equal(sked_i_load_bound(&load, 0, price, scratch), 14 / 12.0, 1e-12);
    assert_float_equal(sked_i_load_bound(&load, 50, again, scratch), 14 / 12.0, 1e-12);
    const sked_i_load none = {0, kinds, time, count};
    assert_float_equal(sked_i_load_bound(&none, 50, price, scratch), 0, 0);
}

/* A stop is heard within the time it takes to decide and propagate once. */
static void a_stop_is_heard(void **state)
{
    (void)state;
    static const double time[3] = {3.1, 4.7, 5.3};
    sked_builder *b = NULL;
    sked_result r = {.size = sizeof r};
    made m = {0};
    sked_run_options opt;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 60; i++)
        add_op(b, 3, (const double[]){time[i % 3] + i * 0.013, time[(i + 1) % 3], time[(i * 7) % 3]});
    for (int i = 0; i + 7 < 60; i++)
        add_edge(b, i, i + 7, i % 5);
    make_problem(b, 3, 0.3, 2, &m);
    sked_run_options_init(&opt);
    opt.time_limit = 0.2;
    OK(sked_method_run("exact", &m.problem, &opt, &r, err));
    assert_true(!r.optimal || r.lower_bound >= r.value * (1 - 1e-9));
    if (r.seconds > 5) /* generous: machines are busy */
        fail_msg("0.2 s became %g s", r.seconds);
    sked_result_clear(&r);
    free_made(&m);
}

static void refusals(void **state)
{
    (void)state;
    made m = {0};
    sked_result r = {.size = sizeof r};
    heft_example(&m.graph, &m.machine, &m.problem);
    FAILS(SKED_ERR_UNSUPPORTED, "no model of heterogeneous devices",
          run_exact(&m.problem, (settings){{"engine=cbc"}, 1, 1}, &r, err));
    m.problem.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_UNSUPPORTED, "makespan alone on heterogeneous devices",
          run_exact(&m.problem, alone, &r, err));
    m.problem.objective = SKED_OBJECTIVE_MAKESPAN;
    static const char *const files[] = {"refused.lp", "refused.mps", "refused.mzn"};
    for (int k = 0; k < 3; k++) {
        FAILS(SKED_ERR_UNSUPPORTED, "takes identical devices",
              sked_problem_export(&m.problem, files[k], NULL, err));
        assert_null(fopen(files[k], "r"));
    }
    free_made(&m);
}

/* Models of limits and of values that stay longer than the model knows: refused, never written wrongly. */
static void exports_refuse_memory_they_do_not_model(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    int32_t op;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_op(b, "a", NULL, 2, &op, err));
    OK(sked_builder_set_memory(b, op, 3, err));
    OK(sked_builder_set_keep(b, op, true, err));
    OK(sked_builder_add_op(b, "b", NULL, 2, &op, err));
    OK(sked_builder_set_memory(b, op, 3, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_UNSUPPORTED, "kept", sked_problem_export(&p, "refused.lp", NULL, err));
    p.objective = SKED_OBJECTIVE_MAKESPAN;
    p.memory_limit = 5;
    FAILS(SKED_ERR_UNSUPPORTED, "memory limits", sked_problem_export(&p, "refused.lp", NULL, err));
    assert_null(fopen("refused.lp", "r"));
    sked_graph_destroy(g);
}

/* Identical devices written as a machine are the short form: the same model. */
static void identical_devices_are_exported(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    int32_t op;
    made m = {0};
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 3; i++)
        OK(sked_builder_add_op(b, NULL, NULL, 2, &op, err));
    add_edge(b, 0, 1, 4);
    make_problem(b, 2, 1, 2, &m);
    OK(sked_problem_export(&m.problem, "machine.lp", NULL, err));
    m.problem.machine = NULL;
    m.problem.latency = 1;
    m.problem.bandwidth = 2;
    OK(sked_problem_export(&m.problem, "short.lp", NULL, err));
    FILE *x = fopen("machine.lp", "r"), *y = fopen("short.lp", "r");
    assert_non_null(x);
    assert_non_null(y);
    int c, count = 0;
    while ((c = getc(x)) != EOF) {
        assert_int_equal(c, getc(y));
        count++;
    }
    assert_int_equal(getc(y), EOF);
    assert_true(count > 100);
    fclose(x);
    fclose(y);
    remove("machine.lp");
    remove("short.lp");
    free_made(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branch_meets_brute_force),
        cmocka_unit_test(branch_keeps_what_is_given),
        cmocka_unit_test(warm_start_changes_nothing),
        cmocka_unit_test(heft_example_is_73),
        cmocka_unit_test(work_decides),
        cmocka_unit_test(work_with_heads_and_tails_decides),
        cmocka_unit_test(path_with_a_transfer_decides),
        cmocka_unit_test(load_of_speeds_is_exact),
        cmocka_unit_test(a_stop_is_heard),
        cmocka_unit_test(refusals),
        cmocka_unit_test(exports_refuse_memory_they_do_not_model),
        cmocka_unit_test(identical_devices_are_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
