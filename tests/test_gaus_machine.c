/*
 * The differentiable scheduler on unequal devices: expectations against sampling, gradients against central
 * differences, one kind of device against identical ones, schedules against exhaustive search.
 */
#include "brute_force.h"
#include "random_problem.h"

enum { OPS = 6, DEVICES = 4, KINDS = 3, POOLS = 1, CELLS = 12, EDGES = 7, ROWS = DEVICES + POOLS };
#include "gaus_fixture.h"

/* ------------------------------------------------------------------ a small problem */

/* Two devices of kind 1. Op 2 takes no time, op 3 none on kind 1, op 1 cannot run on kind 2, op 4 not on 1.
 */
static const int32_t kind_of[DEVICES] = {0, 1, 2, 1};
static const double times[OPS * KINDS] = {1.3, 0.6, 2.9, 2.7, 1.1,      INFINITY, 0,   0,   0,
                                          0.4, 0,   0.9, 5.2, INFINITY, 3.3,      1.9, 2.4, 0.7};
static const int64_t succ_ptr[OPS + 1] = {0, 2, 4, 5, 5, 7, 7};
static const int32_t edge_to[EDGES] = {2, 4, 3, 5, 3, 5, 5};
static const double lag[EDGES] = {0, 0.8, 0, 0, -0.5, 0, 1.1}, follows[EDGES] = {1, 0, 1, 1, 0, 1, 0},
                    bytes[EDGES] = {0.9, 2.2, 0, 1.4, 3, 0.7, 2};
static const int32_t links[EDGES] = {0, 0, KINDS *KINDS, 0, 0, 0, 0};
/* From kind 2 to kind 0 there is no link: nothing passes but edges without bytes. */
static const double latency[2 * KINDS * KINDS] = {9e9, 0.4, 1.2, 0.3, 0.1, 0.8, 1e6, 0.5, 9e9,
                                                  9e9, 0.4, 1.2, 0.3, 0.1, 0.8, 0,   0.5, 9e9};
static const double per_byte[KINDS * KINDS] = {0, 0.5, 0.2, 0.7, 0.3, 0.1, 0, 0.4, 0};
static const int64_t use_ptr[OPS + 1] = {0, 1, 1, 2, 3, 4, 4};
static const int32_t use_pool[] = {0, 0, 0, 0};
static const double use_amount[] = {0.7, 0.9, 0.8, 0.6};
static const double longest = 2.0 * CELLS;

static bool able(int op, int device)
{
    return times[op * KINDS + kind_of[device]] < INFINITY;
}

static void open_fixture(fixture *f, int threads)
{
    *f = (fixture){.kinds = {.count = KINDS,
                             .of = kind_of,
                             .time = times,
                             .latency = latency,
                             .per_byte = per_byte,
                             .longest = longest,
                             .bytes = bytes,
                             .follows = follows,
                             .links = links},
                   .view = {.ops = OPS,
                            .devices = DEVICES,
                            .pools = POOLS,
                            .cells = CELLS,
                            .succ_ptr = succ_ptr,
                            .edge_to = edge_to,
                            .lag = lag,
                            .use_ptr = use_ptr,
                            .use_pool = use_pool,
                            .use_amount = use_amount}};
    f->view.kinds = &f->kinds;
    start_fixture(f, threads, able);
}

/* ------------------------------------------------------------------ gradients */

static void test_gradients(void **state)
{
    static const int families[] = {SKED_I_GAUS_DEPENDENCY, SKED_I_GAUS_LATENCY, SKED_I_GAUS_CAPACITY};
    static const char *const names[] = {"dependency with links", "finish", "occupancy and capacity"};
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        fixture f;
        open_fixture(&f, threads);
        f.mu[4] = 8.3; /* ends late, and on top of others */
        f.mu[0] = f.mu[5] = 8.1;
        for (int i = 0; i < OPS; i += i == 0 ? 4 : 1)
            f.share[i * DEVICES] = 0.9;
        for (int k = 0; k < 3; k++) {
            f.terms.multiplier[families[k]] = 0.7;
            f.terms.penalty[families[k]] = 0.4;
            check_gradient(&f, names[k], true);
            f.terms = (sked_i_gaus_device_terms){0};
        }
        for (int k = 0; k < 3; k++)
            f.terms.multiplier[families[k]] = f.terms.penalty[families[k]] = 0.3 + 0.2 * k;
        check_gradient(&f, "all together", true);
        close_fixture(&f);
    }
}

/* ------------------------------------------------------------------ expectations by sampling */

static int draw_device(const fixture *f, int op, sked_i_rng *rng)
{
    double left = sked_i_rng_uniform(rng);
    for (int d = 0; d < DEVICES; d++)
        if ((left -= f->share[op * DEVICES + d]) < 0)
            return d;
    return 0; /* device 0 runs every op */
}

static double transfer(int64_t e, int from, int to)
{
    const int pair = kind_of[from] * KINDS + kind_of[to];
    return from == to ? 0 : fmin(latency[links[e] + pair] + bytes[e] * per_byte[pair], longest);
}

static void add_sample(const fixture *f, sked_i_rng *rng, sample_sums *sums)
{
    double x[OPS];
    int device[OPS];
    for (int i = 0; i < OPS; i++) {
        x[i] = f->mu[i] + f->sigma[i] * sked_i_rng_normal(rng);
        device[i] = draw_device(f, i, rng);
        const double end = x[i] + times[i * KINDS + kind_of[device[i]]];
        add_busy(sums->load[device[i]], x[i], end, 1);
        for (int64_t u = use_ptr[i]; u < use_ptr[i + 1]; u++)
            add_busy(sums->load[DEVICES + use_pool[u]], x[i], end, use_amount[u]);
        sums->late += fmax(0, end - CELLS);
    }
    for (int i = 0; i < OPS; i++)
        for (int64_t e = succ_ptr[i]; e < succ_ptr[i + 1]; e++) {
            const int j = edge_to[e];
            const double own = follows[e] > 0 ? times[i * KINDS + kind_of[device[i]]] : 0;
            sums->shortfall += fmax(0, lag[e] + own + transfer(e, device[i], device[j]) - (x[j] - x[i]));
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
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < CELLS; c++)
            near("load", sums.load[r][c] / samples, sked_i_gaus_device_cpu.load(f.evaluator, r)[c], 0.005);
    near("shortfall", sums.shortfall / samples, value.violation[SKED_I_GAUS_DEPENDENCY], 0.15);
    near("late", sums.late / samples, value.violation[SKED_I_GAUS_LATENCY], 0.01);
    close_fixture(&f);
}

/* ------------------------------------------------------------------ one kind is no kind */

/* Devices of a single kind give what identical devices give. */
static void test_one_kind(void **state)
{
    static const int32_t one[DEVICES] = {0}, none[EDGES] = {0};
    static const double duration[OPS] = {1.3, 2.7, 0, 0.4, 5.2, 1.9}, zero[EDGES] = {0};
    static const double delay[2] = {0.8, 0.8}, free_bytes[1] = {0};
    double whole[EDGES], away[EDGES], plain[OPS * DEVICES];
    fixture f, g;
    (void)state;
    ONE_THREAD();
    open_fixture(&f, 1);
    for (int i = 0; i < OPS; i++)
        for (int64_t e = succ_ptr[i]; e < succ_ptr[i + 1]; e++) {
            whole[e] = lag[e] + (follows[e] > 0 ? duration[i] : 0);
            away[e] = 0.8;
        }
    f.view.kinds = NULL;
    f.view.duration = duration;
    f.view.lag = whole;
    f.view.transfer = away;
    for (int family = 0; family < SKED_I_GAUS_FAMILIES; family++)
        f.terms.multiplier[family] = f.terms.penalty[family] = 0.3;
    const double expected = evaluate(&f).total;
    memcpy(plain, f.dshare, sizeof plain);
    close_fixture(&f);
    open_fixture(&g, 1);
    close_fixture(&g);
    g.kinds = (sked_i_gaus_device_kinds){.count = 1,
                                         .of = one,
                                         .time = duration,
                                         .latency = delay,
                                         .per_byte = free_bytes,
                                         .longest = longest,
                                         .bytes = zero,
                                         .follows = follows,
                                         .links = none};
    g.terms = f.terms;
    OK(sked_i_gaus_device_cpu.create(&g.view, 1, &g.evaluator, err));
    near("total", expected, evaluate(&g).total, 1e-9 * fabs(expected));
    for (int i = 0; i < OPS; i++) {
        near("dmu", f.dmu[i], g.dmu[i], 1e-9);
        near("dsigma", f.dsigma[i], g.dsigma[i], 1e-9);
        for (int d = 1; d < DEVICES; d++) /* the sum of the shares is given: differences count */
            near("dshare", plain[i * DEVICES + d] - plain[i * DEVICES],
                 g.dshare[i * DEVICES + d] - g.dshare[i * DEVICES], 1e-9);
    }
    close_fixture(&g);
}

/* ------------------------------------------------------------------ the problem in cells */

/* One edge of the grid between two devices, against the problem's own figures. */
static void check_edge(const sked_problem *p, const sked_i_gaus_device_grid *g, int64_t e, int32_t from,
                       int32_t to)
{
    const sked_i_gaus_device_kinds *kinds = g->view.kinds;
    sked_edge edge;
    sked_graph_edge(p->graph, e, &edge);
    const double time = sked_problem_duration(p, edge.from, from);
    const double given = p->graph->edge_lag_given[e] ? edge.lag : time;
    const double own = kinds->follows[e] > 0 ? kinds->time[edge.from * kinds->count + kinds->of[from]] : 0;
    if (time == INFINITY)
        return;
    near("lag", (g->view.lag[e] + own) * g->width, given, 1e-9);
    const int32_t pair = kinds->of[from] * kinds->count + kinds->of[to];
    const double passes = kinds->latency[kinds->links[e] + pair] + kinds->bytes[e] * kinds->per_byte[pair];
    const double exact = sked_problem_transfer(p, e, from, to);
    if (from != to && exact < INFINITY)
        near("transfer", passes * g->width, exact, 1e-9);
    else if (from != to)
        assert_true(fmin(passes, kinds->longest) * g->width >= g->horizon);
}

static void test_grid(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 20; seed++) {
        random_problem r;
        sked_i_gaus_device_model *m = NULL;
        sked_i_gaus_device_grid *g = NULL;
        random_problem_make(seed, RANDOM_UNEQUAL | RANDOM_REAL | RANDOM_LAGS, 2, 20, &r);
        const sked_problem *p = &r.problem;
        sked_i_costs costs = {0};
        OK(sked_i_costs_make(p, &costs, err));
        OK(sked_i_gaus_device_model_create(p, &costs, &m, err));
        OK(sked_i_gaus_device_grid_create(m, &g, err));
        sked_i_gaus_device_grid_set(g, m->form->span); /* nothing takes longer */
        for (int32_t i = 0; i < m->n; i++)
            for (int32_t d = 0; d < m->m; d++) {
                const double time = g->view.kinds->time[i * g->view.kinds->count + g->view.kinds->of[d]];
                const double exact = sked_problem_duration(p, i, d);
                assert_true(isinf(exact) ? isinf(time) : fabs(time * g->width - exact) < 1e-9);
                assert_true(g->lo[i] <= g->hi[i] && sked_i_gaus_device_able(m, i, d) == isfinite(exact));
            }
        for (int64_t e = 0; e < sked_graph_edge_count(p->graph); e++)
            for (int32_t pair = 0; pair < m->m * m->m; pair++)
                check_edge(p, g, e, pair / m->m, pair % m->m);
        sked_i_gaus_device_grid_destroy(g);
        sked_i_gaus_device_model_destroy(m);
        sked_i_costs_free(&costs);
        random_problem_free(&r);
    }
}

/* ------------------------------------------------------------------ the method */

static sked_status run(const char *method, const sked_problem *p, int threads, sked_result *out,
                       sked_error *err)
{
    static const char *const brief[] = {"steps=40", "sweeps=20", "starts=3"};
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.iterations = 1;
    opt.threads = threads;
    opt.settings = brief;
    opt.n_settings = strcmp(method, "gaus") == 0 ? 3 : 0;
    return sked_method_run(method, p, &opt, out, err);
}

static double value_of(const char *method, const sked_problem *p)
{
    sked_result r = {.size = sizeof r};
    OK(run(method, p, 1, &r, err));
    const double value = r.value;
    sked_result_clear(&r);
    return value;
}

/* Every schedule has passed the validator; none is below the optimum; most meet it. */
static void test_against_brute_force(void **state)
{
    static const unsigned kinds[] = {0, RANDOM_ZERO, RANDOM_REAL, RANDOM_LAGS | RANDOM_REAL,
                                     RANDOM_RESOURCES};
    int met = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        random_problem_make(seed, RANDOM_UNEQUAL | kinds[seed % 5], 2, 6, &r);
        const double optimum = brute_force_orders(&r.problem), own = value_of("gaus", &r.problem);
        if (own < optimum - 1e-9)
            fail_msg("seed %d: %g is below the optimum %g", (int)seed, own, optimum);
        met += own <= optimum + 1e-9;
        random_problem_free(&r);
    }
    if (met < 50)
        fail_msg("only %d of 60 optima", met);
}

/* Whatever else the problem has: valid, or honestly without a schedule. */
static void test_all_features(void **state)
{
    static const unsigned more[] = {RANDOM_NEGATIVE,  RANDOM_FIX_DEVICE, RANDOM_FIX_START,
                                    RANDOM_RESOURCES, RANDOM_HORIZON,    RANDOM_ZERO};
    int found = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 96; seed++) {
        random_problem r;
        sked_result result = {.size = sizeof result};
        sked_error why = {0};
        unsigned flags = RANDOM_UNEQUAL | (seed % 2 ? RANDOM_REAL : 0);
        for (int k = 0; k < 6; k++)
            flags |= seed >> k & 1 ? more[k] : 0;
        random_problem_make(seed, flags, 2, 24, &r);
        const sked_status st = run("gaus", &r.problem, 1, &result, &why);
        if (st != SKED_OK && st != SKED_ERR_INFEASIBLE)
            fail_msg("seed %d: %s", (int)seed, why.message);
        found += st == SKED_OK;
        sked_result_clear(&result);
        random_problem_free(&r);
    }
    assert_true(found >= 72);
}

/* A machine of two slow devices and a fast one that some ops cannot use. */
static void make_case(uint64_t seed, sked_graph **graph, sked_machine **machine, sked_problem *p)
{
    static const char text[] =
        "{\"format\": \"sked-machine-1\", \"latency\": 2, \"bandwidth\": 3, \"devices\": ["
        "{\"name\": \"cpu0\", \"type\": \"cpu\"}, {\"name\": \"cpu1\", \"type\": \"cpu\", \"speed\": 1.25},"
        "{\"name\": \"gpu\", \"type\": \"gpu\", \"speed\": 3}],"
        "\"links\": [{\"from\": \"cpu\", \"to\": \"gpu\", \"latency\": 4, \"bandwidth\": 8}]}";
    const sked_generate_options opt = {
        .size = sizeof opt, .nodes = 60, .seed = seed, .duration = "uniform:1,10", .bytes = "uniform:1,20"};
    OK(sked_graph_generate("layered", &opt, graph, err));
    OK(sked_machine_parse("machine", text, strlen(text), machine, err));
    sked_problem_init(p, *graph);
    p->machine = *machine;
    p->devices = 3;
}

/* Never worse than what it begins with, and better where there is room. */
static void test_better_than_its_start(void **state)
{
    int better = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 5; seed++) {
        sked_graph *g = NULL;
        sked_machine *m = NULL;
        sked_problem p;
        make_case(seed, &g, &m, &p);
        const double quick = fmin(value_of("list", &p), value_of("heft", &p)), own = value_of("gaus", &p);
        assert_true(own <= quick);
        better += own < 0.999 * quick;
        sked_machine_destroy(m);
        sked_graph_destroy(g);
    }
    assert_true(better >= 4);
}

/* The gradient itself, without moves of single ops. */
static void test_gradient_alone(void **state)
{
    static const char *const alone[] = {"polish=false", "starts=3", "steps=200"};
    sked_graph *g = NULL;
    sked_machine *m = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_run_options opt;
    (void)state;
    ONE_THREAD();
    make_case(5, &g, &m, &p);
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.iterations = 2;
    opt.settings = alone;
    opt.n_settings = 3;
    OK(sked_method_run("gaus", &p, &opt, &r, err));
    assert_true(r.value < 0.98 * fmin(value_of("list", &p), value_of("heft", &p)));
    sked_result_clear(&r);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void test_same_bytes(void **state)
{
    sked_graph *g = NULL;
    sked_machine *m = NULL;
    sked_problem p;
    sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
    (void)state;
    make_case(2, &g, &m, &p);
    OK(run("gaus", &p, 1, &a, err));
    OK(run("gaus", &p, 2, &b, err));
    for (int32_t i = 0; i < a.schedule[0]->ops; i++) {
        assert_true(a.schedule[0]->start[i] == b.schedule[0]->start[i]);
        assert_int_equal(a.schedule[0]->device[i], b.schedule[0]->device[i]);
    }
    sked_result_clear(&a);
    sked_result_clear(&b);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* Many different devices: the relaxation would take too long, the quick orders and moves remain. */
static void test_many_kinds(void **state)
{
    enum { devices = 600 };
    const sked_generate_options opt = {.size = sizeof opt, .nodes = 300, .duration = "uniform:1,10"};
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    sked_i_gaus_device_model *model = NULL;
    (void)state;
    ONE_THREAD();
    OK(sked_graph_generate("layered", &opt, &g, err));
    OK(sked_machine_builder_create("", &b, err));
    for (int d = 0; d < devices; d++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", d);
        OK(sked_machine_builder_add_device(b, name, NULL, 1 + d / 100.0, INFINITY, NULL, err));
    }
    OK(sked_machine_builder_set_link(b, 1, 1, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = devices;
    sked_i_costs costs = {0};
    OK(sked_i_costs_make(&p, &costs, err));
    OK(sked_i_gaus_device_model_create(&p, &costs, &model, err));
    assert_false(sked_i_gaus_device_model_fits(model));
    sked_i_gaus_device_model_destroy(model);
    sked_i_costs_free(&costs);
    assert_true(value_of("gaus", &p) <= value_of("heft", &p));
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_one_kind),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_against_brute_force),
        cmocka_unit_test(test_all_features),
        cmocka_unit_test(test_better_than_its_start),
        cmocka_unit_test(test_gradient_alone),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_many_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
