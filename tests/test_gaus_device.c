/*
 * The differentiable scheduler with devices: expectations against sampling, gradients against central
 * differences, schedules against the quick methods and exhaustive search.
 */
#include "brute_force.h"
#include "random_problem.h"

enum { OPS = 6, DEVICES = 3, POOLS = 1, CELLS = 12, EDGES = 6, ROWS = DEVICES + POOLS };
#include "gaus_fixture.h"

/* ------------------------------------------------------------------ a small problem */

static const double duration[OPS] = {1.3, 2.7, 0, 0.4, 5.2, 1.9};
static const int64_t succ_ptr[OPS + 1] = {0, 2, 3, 5, 5, 6, 6};
static const int32_t edge_to[EDGES] = {2, 4, 3, 3, 5, 5};
static const double lag[EDGES] = {1.3, 0.8, 2.7, -0.5, 1.1, 5.2},
                    transfer[EDGES] = {0.9, 2.2, 0, 1.4, 3, 0.7};
static const int64_t use_ptr[OPS + 1] = {0, 1, 1, 2, 2, 3, 3};
static const int32_t use_pool[] = {0, 0, 0};
static const double use_amount[] = {0.7, 0.9, 0.6};

static void open_fixture(fixture *f, int threads)
{
    *f = (fixture){.view = {.ops = OPS,
                            .devices = DEVICES,
                            .pools = POOLS,
                            .cells = CELLS,
                            .duration = duration,
                            .succ_ptr = succ_ptr,
                            .edge_to = edge_to,
                            .lag = lag,
                            .transfer = transfer,
                            .use_ptr = use_ptr,
                            .use_pool = use_pool,
                            .use_amount = use_amount}};
    start_fixture(f, threads, NULL);
}

/* ------------------------------------------------------------------ gradients */

static void test_gradients(void **state)
{
    static const int families[] = {SKED_I_GAUS_DEPENDENCY, SKED_I_GAUS_LATENCY, SKED_I_GAUS_CAPACITY};
    static const char *const names[] = {"dependency with transfer", "finish", "occupancy and capacity"};
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        fixture f;
        open_fixture(&f, threads);
        f.mu[4] = 8.3; /* ends late, and on top of others */
        f.mu[1] = 8.1;
        for (int i = 1; i <= 4; i += 3) {
            f.share[i * DEVICES] = 0.9;
            f.share[i * DEVICES + 1] = f.share[i * DEVICES + 2] = 0.05;
        }
        for (int k = 0; k < 3; k++) {
            f.terms.multiplier[families[k]] = 0.7;
            f.terms.penalty[families[k]] = 0.4;
            check_gradient(&f, names[k], families[k] != SKED_I_GAUS_LATENCY);
            f.terms = (sked_i_gaus_device_terms){0};
        }
        for (int k = 0; k < 3; k++)
            f.terms.multiplier[families[k]] = f.terms.penalty[families[k]] = 0.3 + 0.2 * k;
        check_gradient(&f, "all together", true);
        close_fixture(&f);
    }
}

/* ------------------------------------------------------------------ expectations by sampling */

static void add_sample(const fixture *f, sked_i_rng *rng, sample_sums *sums)
{
    double x[OPS];
    int device[OPS];
    for (int i = 0; i < OPS; i++) {
        double left = sked_i_rng_uniform(rng);
        x[i] = f->mu[i] + f->sigma[i] * sked_i_rng_normal(rng);
        for (device[i] = 0; device[i] < DEVICES - 1; device[i]++)
            if ((left -= f->share[i * DEVICES + device[i]]) < 0)
                break;
        add_busy(sums->load[device[i]], x[i], x[i] + duration[i], 1);
        for (int64_t u = use_ptr[i]; u < use_ptr[i + 1] && duration[i] > 0; u++)
            add_busy(sums->load[DEVICES + use_pool[u]], x[i], x[i] + duration[i], use_amount[u]);
        sums->late += fmax(0, x[i] + duration[i] - CELLS);
    }
    for (int i = 0; i < OPS; i++)
        for (int64_t e = succ_ptr[i]; e < succ_ptr[i + 1]; e++) {
            const int j = edge_to[e];
            const double gap = lag[e] + (device[i] != device[j] ? transfer[e] : 0);
            sums->shortfall += fmax(0, gap - (x[j] - x[i]));
        }
}

static void test_expectations(void **state)
{
    enum { samples = 200000 };
    static sample_sums sums;
    fixture f;
    sked_i_rng rng;
    (void)state;
    sked_i_rng_seed(&rng, 3, 3);
    open_fixture(&f, 2);
    f.mu[4] = 8;
    for (int k = 0; k < samples; k++)
        add_sample(&f, &rng, &sums);
    const sked_i_gaus_value value = evaluate(&f);
    double over = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < CELLS; c++) {
            const double load = sked_i_gaus_device_cpu.load(f.evaluator, r)[c];
            near("load", sums.load[r][c] / samples, load, 0.005);
            over += load > 1 ? 0.5 * (load - 1) * (load - 1) : 0;
        }
    near("shortfall", sums.shortfall / samples, value.violation[SKED_I_GAUS_DEPENDENCY], 0.02);
    near("late", sums.late / samples, value.violation[SKED_I_GAUS_LATENCY], 0.01);
    near("capacity", over, value.violation[SKED_I_GAUS_CAPACITY], 1e-12);
    close_fixture(&f);
}

/* Work is neither lost nor made: the loads of all devices add up to what lies within the cells. */
static void test_load_is_whole(void **state)
{
    fixture f;
    double sum = 0, work = 0;
    (void)state;
    ONE_THREAD();
    open_fixture(&f, 1);
    for (int i = 0; i < OPS; i++) {
        f.mu[i] = 4;
        f.sigma[i] = 0.4;
        work += duration[i];
    }
    evaluate(&f);
    for (int k = 0; k < DEVICES * CELLS; k++)
        sum += sked_i_gaus_device_cpu.load(f.evaluator, k / CELLS)[k % CELLS];
    near("work", sum, work, 1e-5);
    close_fixture(&f);
}

static void test_lost_numbers(void **state)
{
    fixture f;
    sked_i_gaus_value value;
    (void)state;
    ONE_THREAD();
    open_fixture(&f, 1);
    f.mu[2] = NAN;
    FAILS(SKED_ERR_BUG, "lost its numbers at op 2",
          sked_i_gaus_device_cpu.evaluate(f.evaluator, &f.terms, &f.at, &f.gradient, &value, err));
    f.mu[2] = 1;
    f.sigma[3] = 0;
    FAILS(SKED_ERR_BUG, "lost its numbers at op 3",
          sked_i_gaus_device_cpu.evaluate(f.evaluator, &f.terms, &f.at, &f.gradient, &value, err));
    close_fixture(&f);
}

/* A stop is heard within an evaluation, not after it. */
static void test_stop_within_an_evaluation(void **state)
{
    fixture f;
    const volatile sig_atomic_t stop = 1;
    const sked_i_limit limit = {.deadline = INFINITY, .stop = &stop};
    const double window[OPS] = {0}, logit[OPS * DEVICES] = {0};
    const sked_i_gaus_device_bounds bounds = {.lo = window, .hi = window, .least = -30, .limit = &limit};
    const sked_i_gaus_device_descent_backend *cpu = &sked_i_gaus_device_descent_cpu;
    const double none[SKED_I_GAUS_FAMILIES] = {0};
    sked_i_gaus_device_descent *d = NULL;
    sked_i_gaus_value value;
    (void)state;
    open_fixture(&f, 1);
    OK(cpu->create(&f.view, &bounds, 2, &d, err));
    OK(cpu->place(d, f.mu, f.sigma, logit, err));
    OK(cpu->aim(d, &f.terms, none, err));
    assert_int_equal(cpu->evaluate(d, f.dmu, &value, NULL), SKED_ERR_STOPPED);
    cpu->destroy(d);
    close_fixture(&f);
}

/* ------------------------------------------------------------------ the method */

static sked_status run(const char *method, const sked_problem *p, int64_t iterations, int threads,
                       sked_result *out, sked_error *err)
{
    static const char *const brief[] = {"steps=60", "sweeps=30"};
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.iterations = iterations;
    opt.threads = threads;
    opt.settings = brief;
    opt.n_settings = strcmp(method, "gaus") == 0 ? 2 : 0;
    return sked_method_run(method, p, &opt, out, err);
}

static double value_of(const char *method, const sked_problem *p)
{
    sked_result r = {.size = sizeof r};
    OK(run(method, p, 1, 1, &r, err));
    const double value = r.value;
    sked_result_clear(&r);
    return value;
}

static void make_layered(sked_graph **out, uint64_t seed)
{
    const sked_generate_options opt = {
        .size = sizeof opt, .nodes = 60, .seed = seed, .duration = "uniform:1,10", .bytes = "uniform:1,20"};
    OK(sked_graph_generate("layered", &opt, out, err));
}

/* Real times and dear transfers: never worse than list and heft, and better where there is room. */
static void test_never_worse(void **state)
{
    int better = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 6; seed++) {
        sked_graph *g = NULL;
        sked_problem p;
        make_layered(&g, seed);
        sked_problem_init(&p, g);
        p.devices = 4;
        p.bandwidth = seed % 2 ? 1 : INFINITY;
        p.latency = seed % 3;
        const double quick = fmin(value_of("list", &p), value_of("heft", &p)), own = value_of("gaus", &p);
        assert_true(own <= quick);
        better += own < quick * 0.999;
        sked_graph_destroy(g);
    }
    assert_true(better >= 3);
}

/* The gradient itself, without moves of single ops, improves on the quick orders. */
static void test_gradient_alone(void **state)
{
    static const char *const alone[] = {"polish=false", "starts=3", "steps=200"};
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_run_options opt;
    (void)state;
    ONE_THREAD();
    make_layered(&g, 5);
    sked_problem_init(&p, g);
    p.devices = 3;
    p.bandwidth = 0.5;
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.iterations = 2;
    opt.settings = alone;
    opt.n_settings = 3;
    OK(sked_method_run("gaus", &p, &opt, &r, err));
    assert_true(r.value < 0.98 * fmin(value_of("list", &p), value_of("heft", &p)));
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* Transfers dearer than everything: one device is best, however many there are. */
static void test_dear_transfers(void **state)
{
    sked_graph *g = NULL;
    sked_graph_info info = {.size = sizeof info};
    sked_problem p;
    (void)state;
    ONE_THREAD();
    make_layered(&g, 4);
    OK(sked_graph_describe(g, &info, err));
    sked_problem_init(&p, g);
    p.devices = 300;
    p.bandwidth = 1e-6;
    assert_true(value_of("gaus", &p) <= info.work * (1 + 1e-12));
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ the engine */

static void check_schedule(const sked_problem *p, const sked_i_gaus_incumbent *x)
{
    const sked_schedule s = {
        .ops = p->graph->n_ops, .devices = p->devices, .start = x->start, .device = x->device};
    sked_metrics metrics = {.size = sizeof metrics};
    OK(sked_schedule_validate(p, &s, err));
    OK(sked_schedule_measure(p, &s, &metrics, err));
    assert_true(fabs(metrics.makespan - x->value) <= 1e-9 * x->value);
}

typedef struct watcher {
    const sked_i_gaus_device_grid *grid;
    int64_t steps;
} watcher;

static void watch(void *data, const sked_i_gaus_iterate *x)
{
    watcher *w = data;
    assert_int_equal(x->number, w->steps++);
    assert_true(isnan(x->objective) && !x->restart);
    for (int32_t i = 0; i < x->ops; i++) {
        assert_true(x->mean[i] >= w->grid->lo[i] * w->grid->width - 1e-9);
        assert_true(x->mean[i] <= w->grid->hi[i] * w->grid->width + 1e-9);
        assert_true(x->deviation[i] > 0);
    }
}

/* Quick orders, descents of every kind, moves: each keeps what it has and gives valid schedules. */
static void test_engine(void **state)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_graph *g = NULL;
    sked_problem p;
    sked_i_gaus_device_model *m = NULL;
    sked_i_gaus_device_grid *grid = NULL;
    sked_i_gaus_device_decoder *decoder = NULL;
    sked_i_gaus_incumbent quick, best;
    sked_i_rng rng;
    (void)state;
    ONE_THREAD();
    make_layered(&g, 2);
    sked_problem_init(&p, g);
    p.devices = 3;
    p.bandwidth = 2;
    sked_i_rng_seed(&rng, 1, 1);
    const sked_i_costs costs = sked_i_costs_of_equal(&p);
    OK(sked_i_gaus_device_model_create(&p, &costs, &m, err));
    OK(sked_i_gaus_device_grid_create(m, &grid, err));
    OK(sked_i_gaus_device_decoder_create(m, &decoder, err));
    OK(sked_i_gaus_incumbent_create(m->n, true, &quick, err));
    OK(sked_i_gaus_incumbent_create(m->n, true, &best, err));
    assert_true(sked_i_gaus_device_model_fits(m));
    OK(sked_i_gaus_device_decode_ranks(decoder, &quick, err));
    check_schedule(&p, &quick);
    sked_i_gaus_device_grid_set(grid, 0.9 * quick.value);
    for (int kind = SKED_I_GAUS_DEVICE_NEAR; kind <= SKED_I_GAUS_DEVICE_MIDDLE; kind++) {
        watcher w = {.grid = grid};
        const sked_i_gaus_tuning tuning = {.rate = 0.2,
                                           .kappa = 0.15,
                                           .sigma_most = 3,
                                           .sigma_scale = 1,
                                           .iterations = 30,
                                           .every = 5,
                                           .threads = 1,
                                           .goal = -INFINITY,
                                           .record = watch,
                                           .record_data = &w};
        best.value = INFINITY;
        OK(sked_i_gaus_device_descend(grid, decoder, &tuning, kind, &quick, &rng, &limit, &best, err));
        assert_int_equal(w.steps, 30);
        check_schedule(&p, &best);
        const double before = best.value;
        OK(sked_i_gaus_device_polish(decoder, 2000, 1, &rng, &limit, 0, &best, err));
        assert_true(best.value <= before);
        check_schedule(&p, &best);
    }
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_incumbent_free(&quick);
    sked_i_gaus_device_decoder_destroy(decoder);
    sked_i_gaus_device_grid_destroy(grid);
    sked_i_gaus_device_model_destroy(m);
    sked_graph_destroy(g);
}

static void test_statistics(void **state)
{
    static const char *const names[] = {"quick start", "descent", "moves"};
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    (void)state;
    make_layered(&g, 1);
    sked_problem_init(&p, g);
    p.devices = 4;
    p.bandwidth = 1;
    OK(run("gaus", &p, 2, 2, &r, err));
    for (int k = 0; k < 3; k++) {
        int64_t calls = 0;
        for (int32_t row = 0; row < r.n_statistics; row++)
            if (strcmp(r.statistics[row]->technique, names[k]) == 0)
                calls += r.statistics[row]->calls;
        assert_int_equal(calls, k == 0 ? 3 : 10); /* list, heft, own orders; 2 rounds of 5 starts */
    }
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

static void test_same_bytes(void **state)
{
    sked_graph *g = NULL;
    sked_problem p;
    sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
    (void)state;
    make_layered(&g, 2);
    sked_problem_init(&p, g);
    p.devices = 3;
    p.latency = 2.5;
    OK(run("gaus", &p, 2, 1, &a, err));
    OK(run("gaus", &p, 2, 2, &b, err));
    for (int32_t i = 0; i < a.schedule[0]->ops; i++) {
        assert_true(a.schedule[0]->start[i] == b.schedule[0]->start[i]);
        assert_int_equal(a.schedule[0]->device[i], b.schedule[0]->device[i]);
    }
    sked_result_clear(&a);
    sked_result_clear(&b);
    sked_graph_destroy(g);
}

static void test_other_objectives(void **state)
{
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    (void)state;
    ONE_THREAD();
    make_layered(&g, 1);
    sked_problem_init(&p, g);
    p.devices = 2;
    p.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_UNSUPPORTED, "objective makespan", run("gaus", &p, 1, 1, &r, err));
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_load_is_whole),
        cmocka_unit_test(test_lost_numbers),
        cmocka_unit_test(test_stop_within_an_evaluation),
        cmocka_unit_test(test_never_worse),
        cmocka_unit_test(test_gradient_alone),
        cmocka_unit_test(test_dear_transfers),
        cmocka_unit_test(test_engine),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_other_objectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
