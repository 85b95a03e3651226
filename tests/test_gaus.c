/*
 * The differentiable scheduler: every expectation against sampling, every gradient against central
 * differences, the moves of the polish against recomputation, results against exhaustive search.
 */
#include "backend/backend.h"
#include "backend/cpu/gaus/terms.h"
#include "base/rng.h"
#include "brute_force.h"
#include "engine/gaus/gaus_relaxation.h"
#include "random_problem.h"

/* ------------------------------------------------------------------ a small problem with every kind of term
 */

enum { OPS = 7, STEPS = 14, PERIOD = 8, MAX_ROWS = 4, MAX_CELLS = 64 };

typedef struct fixture {
    sked_graph *graph;
    sked_problem problem;
    sked_i_relaxation *m;
    sked_i_gaus_view view;
    sked_i_gaus_evaluator evaluator;
    double weight[MAX_ROWS], capacity[MAX_ROWS], tau[MAX_ROWS];
    sked_i_gaus_terms terms;
    double mu[OPS], sigma[OPS], dmu[OPS], dsigma[OPS];
} fixture;

static void make_graph(sked_graph **out)
{
    sked_builder *b = NULL;
    static const sked_edge edges[] = {{0, 2, 2, 1, 0}, {1, 2, 1, 0, 0}, {2, 3, 0, 2, 0}, {2, 4, 3, 1, 0},
                                      {0, 4, 1, 0, 0}, {4, 5, 2, 1, 0}, {5, 1, 1, 1, 1}, {3, 0, 2, 0, 2}};
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "A", 3, NULL, err));
    OK(sked_builder_add_resource(b, "B", 2, NULL, err));
    for (int i = 0; i < OPS; i++) {
        int32_t op;
        OK(sked_builder_add_op(b, NULL, NULL, 1 + i % 3, &op, err));
        OK(sked_builder_set_memory(b, op, 1 + i % 4, err));
        OK(sked_builder_add_demand(b, op, i % 2, 1 + i % 2, err));
        if (i % 3 == 0)
            OK(sked_builder_add_demand(b, op, 1 - i % 2, 1, err));
    }
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
        OK(sked_builder_add_edge(b, &edges[k], err));
    OK(sked_builder_finish(b, out, err));
    sked_builder_destroy(b);
}

/* period 0: not pipelined. All terms are off. */
static void open_fixture(fixture *f, int period, int threads)
{
    sked_i_rng rng;
    *f = (fixture){0};
    make_graph(&f->graph);
    sked_problem_init(&f->problem, f->graph);
    f->problem.objective = SKED_OBJECTIVE_MEMORY;
    f->problem.horizon = STEPS;
    f->problem.ii = period;
    OK(sked_i_relaxation_create(&f->problem, period, STEPS, &f->m, err));
    assert_non_null(f->m);
    f->view = sked_i_gaus_view_of(f->m);
    OK(sked_i_gaus_evaluator_open(&f->evaluator, &f->view, threads, err));
    assert_int_equal(f->m->profiles, 2);
    for (int p = 0; p <= f->m->profiles; p++) {
        f->capacity[p] = INFINITY;
        f->tau[p] = 0.7;
    }
    f->terms = (sked_i_gaus_terms){.weight = f->weight, .capacity = f->capacity, .tau = f->tau};
    sked_i_rng_seed(&rng, 5, (uint64_t)period);
    for (int i = 0; i < OPS; i++) {
        f->mu[i] = 1 + 10 * sked_i_rng_uniform(&rng);
        f->sigma[i] = 0.3 + 1.2 * sked_i_rng_uniform(&rng);
    }
}

static void close_fixture(fixture *f)
{
    sked_i_gaus_evaluator_close(&f->evaluator);
    sked_i_relaxation_destroy(f->m);
    sked_graph_destroy(f->graph);
}

static double value_of(fixture *f)
{
    sked_i_gaus_value value;
    double dmu[OPS], dsigma[OPS];
    OK(sked_i_gaus_evaluate(&f->evaluator, &f->terms, f->mu, f->sigma, dmu, dsigma, &value, err));
    return value.total;
}

static double difference(fixture *f, double *x)
{
    const double was = *x, h = 1e-5;
    *x = was + h;
    const double up = value_of(f);
    *x = was - h;
    const double down = value_of(f);
    *x = was;
    return (up - down) / (2 * h);
}

/* Every partial derivative; *seen: the largest, so that a term that does nothing is noticed. */
static void check_gradient(fixture *f, const char *what)
{
    sked_i_gaus_value value;
    double largest = 0;
    OK(sked_i_gaus_evaluate(&f->evaluator, &f->terms, f->mu, f->sigma, f->dmu, f->dsigma, &value, err));
    for (int i = 0; i < OPS; i++) {
        const double mu = difference(f, &f->mu[i]), sigma = difference(f, &f->sigma[i]);
        largest = fmax(largest, fabs(f->dmu[i]));
        if (fabs(mu - f->dmu[i]) > 2e-5 * (1 + fabs(mu)))
            fail_msg("%s: dmu[%d] is %.9g, differences say %.9g", what, i, f->dmu[i], mu);
        if (fabs(sigma - f->dsigma[i]) > 2e-5 * (1 + fabs(sigma)))
            fail_msg("%s: dsigma[%d] is %.9g, differences say %.9g", what, i, f->dsigma[i], sigma);
    }
    if (!(largest > 1e-3))
        fail_msg("%s: no gradient at all", what);
}

static void family(fixture *f, int which, const char *what)
{
    f->terms.multiplier[which] = 0.8;
    f->terms.penalty[which] = 0.3;
    check_gradient(f, what);
    f->terms.multiplier[which] = f->terms.penalty[which] = 0;
}

static void test_gradients(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int period = 0; period <= PERIOD; period += PERIOD) {
        fixture f;
        open_fixture(&f, period, 1);
        f.weight[0] = 1.5;
        check_gradient(&f, "resource and peak");
        f.weight[0] = 0;
        f.weight[2] = 0.9;
        check_gradient(&f, "memory");
        f.weight[2] = 0;
        f.terms.alpha = 0.6;
        check_gradient(&f, "communication");
        f.terms.alpha = 0;
        f.capacity[0] = 0.6;
        f.capacity[1] = 0.4;
        family(&f, SKED_I_GAUS_CAPACITY, "capacity");
        f.capacity[0] = f.capacity[1] = INFINITY;
        family(&f, SKED_I_GAUS_DEPENDENCY, "dependency");
        f.mu[3] = 13.4;
        f.mu[1] = 1.2;
        f.mu[5] = 9.3;
        family(&f, SKED_I_GAUS_LATENCY, "latency");
        if (period > 0)
            family(&f, SKED_I_GAUS_RECURRENCE, "recurrence");
        close_fixture(&f);
    }
}

static void switch_all_on(fixture *f)
{
    f->weight[0] = 1;
    f->weight[1] = 0.5;
    f->weight[2] = 0.8;
    f->capacity[0] = 1;
    f->capacity[1] = 0.5;
    f->terms.alpha = 0.3;
    for (int k = 0; k < SKED_I_GAUS_FAMILIES; k++) {
        f->terms.multiplier[k] = 0.5 + 0.1 * k;
        f->terms.penalty[k] = 0.2;
    }
}

static void test_whole_gradient(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int period = 0; period <= PERIOD; period += PERIOD) {
        fixture f;
        open_fixture(&f, period, 1);
        switch_all_on(&f);
        check_gradient(&f, "Lagrangian");
        close_fixture(&f);
    }
}

/* ------------------------------------------------------------------ expectations by sampling */

typedef struct sample_sums {
    double level[MAX_ROWS][MAX_CELLS];
    double communication, shortfall[2], late;
} sample_sums;

static void add_interval(const sked_i_relaxation *m, double *row, int begin, int end, double amount)
{
    for (int d = begin; d < end; d++) {
        if (m->period > 0)
            row[((d % m->period) + m->period) % m->period] += amount;
        else if (d >= 0 && d < m->cells)
            row[d] += amount;
    }
}

static void add_sample(const sked_i_relaxation *m, const double *x, sample_sums *sums)
{
    int s[OPS];
    for (int i = 0; i < OPS; i++)
        s[i] = (int)floor(x[i] + 0.5);
    for (int i = 0; i < OPS; i++) {
        int last = s[i];
        for (int64_t u = m->use_ptr[i]; u < m->use_ptr[i + 1]; u++)
            add_interval(m, sums->level[m->use_profile[u]], s[i], s[i] + m->duration[i], m->use_amount[u]);
        sums->late += fmax(0, x[i] + m->duration[i] - m->steps - 0.5);
        for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++) {
            const int j = m->g->edge_to[e], carried = m->g->edge_distance[e] > 0;
            if (m->kind[e] == SKED_I_GAUS_EDGE_IGNORED)
                continue;
            last = sked_i_passes(m->g, e) && s[j] + m->shift[e] > last ? s[j] + m->shift[e] : last;
            sums->communication += m->bytes[e] * (x[j] - x[i] + m->shift[e]);
            sums->shortfall[carried] += fmax(0, m->gap[e] - 0.5 - (x[j] - x[i]));
        }
        add_interval(m, sums->level[m->profiles], s[i], last, m->memory[i]);
    }
}

static void near(const char *what, double sampled, double expected, double tolerance)
{
    if (!(fabs(sampled - expected) <= tolerance))
        fail_msg("%s: sampled %.6g, expectation %.6g", what, sampled, expected);
}

static void compare_levels(const fixture *f, const sample_sums *sums, int samples)
{
    for (int p = 0; p <= f->m->profiles; p++)
        for (int c = 0; c < f->m->cells; c++)
            near(p == f->m->profiles ? "memory" : "load", sums->level[p][c] / samples,
                 f->evaluator.profile[(int64_t)p * f->m->cells + c], 0.03);
}

static void test_expectations(void **state)
{
    enum { samples = 100000 };
    static sample_sums sums;
    (void)state;
    ONE_THREAD();
    for (int period = 0; period <= PERIOD; period += PERIOD) {
        fixture f;
        sked_i_gaus_value value;
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 9, 1);
        open_fixture(&f, period, 1);
        switch_all_on(&f);
        sums = (sample_sums){0};
        for (int k = 0; k < samples; k++) {
            double x[OPS];
            for (int i = 0; i < OPS; i++)
                x[i] = f.mu[i] + f.sigma[i] * sked_i_rng_normal(&rng);
            add_sample(f.m, x, &sums);
        }
        OK(sked_i_gaus_evaluate(&f.evaluator, &f.terms, f.mu, f.sigma, f.dmu, f.dsigma, &value, err));
        compare_levels(&f, &sums, samples);
        near("communication", sums.communication / samples, value.communication, 0.05);
        near("latency", sums.late / samples, value.violation[SKED_I_GAUS_LATENCY], 0.02);
        for (int carried = 0; carried < 2; carried++)
            near("shortfall", sums.shortfall[carried] / samples, value.violation[carried], 0.05);
        close_fixture(&f);
    }
}

static void test_normal_table(void **state)
{
    static sked_i_normal t;
    double worst = 0;
    (void)state;
    sked_i_normal_init(&t);
    for (double z = -9; z <= 9; z += 0.00037) {
        double pdf;
        const double cdf = sked_i_normal_at(&t, z, &pdf);
        worst = fmax(worst, fabs(cdf - 0.5 * erfc(-z / sqrt(2))));
        worst = fmax(worst, fabs(pdf - exp(-0.5 * z * z) / sqrt(2 * acos(-1))));
    }
    if (!(worst < 2e-15))
        fail_msg("the table of the normal distribution is off by %g", worst);
}

/* A row has the same bits as its places one by one, whatever its length. */
static void test_normal_row(void **state)
{
    static sked_i_normal t;
    double cdf[200], pdf[200];
    (void)state;
    sked_i_normal_init(&t);
    for (int length = 0; length <= 200; length += length < 70 ? 1 : 13) {
        const double first = -8.4, step = length > 0 ? 16.8 / length : 1;
        sked_i_normal_row(&t, first, step, length, cdf, pdf);
        for (int k = 0; k < length; k++) {
            double slope;
            assert_true(sked_i_normal_at(&t, first + (double)k * step, &slope) == cdf[k] && slope == pdf[k]);
        }
    }
}

static void test_threads_of_evaluator(void **state)
{
    (void)state;
    fixture one, two;
    open_fixture(&one, PERIOD, 1);
    open_fixture(&two, PERIOD, 3);
    switch_all_on(&one);
    switch_all_on(&two);
    const double a = value_of(&one), b = value_of(&two), again = value_of(&two);
    near("value with three threads", b, a, 1e-9);
    assert_true(b == again);
    check_gradient(&two, "three threads");
    close_fixture(&one);
    close_fixture(&two);
}

static void test_lost_numbers(void **state)
{
    fixture f;
    sked_i_gaus_value value;
    (void)state;
    ONE_THREAD();
    open_fixture(&f, 0, 1);
    f.mu[4] = NAN;
    FAILS(SKED_ERR_BUG, "op 4: mu nan",
          sked_i_gaus_evaluate(&f.evaluator, &f.terms, f.mu, f.sigma, f.dmu, f.dsigma, &value, err));
    f.mu[4] = 3;
    f.sigma[2] = INFINITY;
    FAILS(SKED_ERR_BUG, "op 2",
          sked_i_gaus_evaluate(&f.evaluator, &f.terms, f.mu, f.sigma, f.dmu, f.dsigma, &value, err));
    close_fixture(&f);
}

/* ------------------------------------------------------------------ the schedule in motion */

static double smoothed(const sked_i_gaus_state *s)
{
    double value = s->m->alpha * s->communication;
    for (int32_t p = 0; p <= s->m->profiles; p++) {
        double sum = 0;
        for (int32_t c = 0; s->m->weight[p] > 0 && c < s->m->cells; c++)
            sum += exp((s->level[(int64_t)p * s->m->cells + c] - s->top[p]) / s->tau[p]);
        value += s->m->weight[p] > 0 ? s->m->weight[p] * s->tau[p] * log(sum) : 0;
    }
    return value;
}

static void compare_states(const sked_i_gaus_state *a, const sked_i_gaus_state *b)
{
    const int64_t cells = (int64_t)(a->m->profiles + 1) * a->m->cells;
    for (int64_t c = 0; c < cells; c++)
        assert_true(fabs(a->level[c] - b->level[c]) < 1e-9);
    assert_true(fabs(a->communication - b->communication) < 1e-9);
}

/* Random moves: prices against recomputation, levels against a fresh schedule. */
static void wander(const sked_i_relaxation *m, uint64_t seed, int *moves)
{
    sked_i_gaus_state *s = NULL, *fresh = NULL;
    sked_i_rng rng;
    int32_t at[64];
    double mu[64];
    sked_i_rng_seed(&rng, seed, 3);
    OK(sked_i_gaus_state_create(m, &s, err));
    OK(sked_i_gaus_state_create(m, &fresh, err));
    for (int32_t i = 0; i < m->n; i++)
        mu[i] = m->lo[i] + (m->hi[i] - m->lo[i]) * sked_i_rng_uniform(&rng);
    sked_i_gaus_round(m, mu, seed % 2 == 1, at);
    sked_i_gaus_state_set(s, at);
    for (int k = 0; k < 200; k++) {
        const int32_t i = (int32_t)sked_i_rng_below(&rng, (uint64_t)m->n);
        const int32_t reach = m->period > 0 ? m->period : 20;
        int32_t lo, hi;
        sked_i_gaus_state_slack(s, i, reach, &lo, &hi);
        if (lo >= hi)
            continue;
        sked_i_gaus_state_smooth(s, 1);
        const double before = smoothed(s);
        sked_i_gaus_state_scan(s, i, lo, hi);
        const int32_t to = lo + (int32_t)sked_i_rng_below(&rng, (uint64_t)(hi - lo + 1));
        const double cost = s->cost[to - lo];
        memcpy(at, s->at, (size_t)m->n * sizeof *at);
        at[i] = to;
        sked_i_gaus_state_set(fresh, at);
        if (!(cost < INFINITY)) {
            assert_false(sked_i_gaus_state_legal(fresh));
            continue;
        }
        memcpy(fresh->top, s->top, (size_t)(m->profiles + 1) * sizeof *s->top);
        memcpy(fresh->tau, s->tau, (size_t)(m->profiles + 1) * sizeof *s->tau);
        memcpy(fresh->sum, s->sum, (size_t)(m->profiles + 1) * sizeof *s->sum);
        near("price of a move", cost, smoothed(fresh) - before, 1e-7 * (1 + fabs(cost)));
        if (to != s->at[i])
            sked_i_gaus_state_move(s, i, to);
        compare_states(s, fresh);
        (*moves)++;
    }
    sked_i_gaus_state_destroy(s);
    sked_i_gaus_state_destroy(fresh);
}

static void test_moves(void **state)
{
    static const sked_objective objectives[] = {SKED_OBJECTIVE_MEMORY, SKED_OBJECTIVE_COST,
                                                SKED_OBJECTIVE_RESOURCE};
    static const unsigned kinds[] = {
        RANDOM_ORDER, RANDOM_LAGS | RANDOM_NEGATIVE, RANDOM_RESOURCES | RANDOM_ZERO,
        RANDOM_LOOPS | RANDOM_LAGS | RANDOM_ORDER, RANDOM_LOOPS | RANDOM_RESOURCES};
    int moves = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_i_relaxation *m = NULL;
        const unsigned kind = kinds[seed % 5];
        random_problem_make(seed, kind | RANDOM_HORIZON, 3, 20, &r);
        r.problem.objective = objectives[seed % 3];
        r.problem.alpha = 0.7;
        r.problem.horizon += 4;
        const int period = kind & RANDOM_LOOPS ? 8 : 0;
        r.problem.ii = period;
        OK(sked_i_relaxation_create(&r.problem, period, (int64_t)r.problem.horizon, &m, err));
        if (m != NULL)
            wander(m, seed, &moves);
        sked_i_relaxation_destroy(m);
        random_problem_free(&r);
    }
    assert_true(moves > 1500);
}

/* ------------------------------------------------------------------ moves of several ops */

typedef struct stuck {
    int32_t ops, edges;
    double weight[4];
    sked_edge edge[2];
} stuck;

/* Polishes the schedule with all ops at `start`, without heat, with pushes or with single-op moves. */
static double polish_cold(const sked_i_relaxation *m, const double *start, bool pushes)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_gaus_incumbent best;
    sked_i_gaus_state *s = NULL;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 0, 0);
    OK(sked_i_gaus_state_create(m, &s, err));
    OK(sked_i_gaus_incumbent_create(m->n, &best, err));
    sked_i_gaus_state_load(s, start);
    assert_true(sked_i_gaus_keep(&best, s));
    OK((pushes ? sked_i_gaus_push : sked_i_gaus_polish)(s, 100, 1e-9, &rng, &limit, -INFINITY, &best, err));
    const double value = best.value;
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_state_destroy(s);
    return value;
}

/*
 * Weights 5 and 4 before 3 and 3: any op that goes alone makes the peak higher, two that change places lower
 * it. Two heavy ops with a reader each in the first step: a reader alone gains nothing, and it is in the way.
 */
static void test_stuck_ops(void **state)
{
    static const stuck cases[] = {
        {4, 0, {5, 4, 3, 3}, {{0}}},
        {4, 2, {3, 0, 3, 0}, {{.from = 0, .to = 1, .bytes = 1}, {.from = 2, .to = 3, .bytes = 1}}}};
    static const double starts[][4] = {{0, 0, 1, 1}, {0, 0, 0, 0}}, optimum[] = {8, 3};
    (void)state;
    for (int k = 0; k < 2; k++) {
        const stuck *it = &cases[k];
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        sked_i_relaxation *m = NULL;
        OK(sked_builder_create(&b, err));
        for (int32_t i = 0; i < it->ops; i++) {
            int32_t op;
            OK(sked_builder_add_op(b, NULL, NULL, 1, &op, err));
            OK(sked_builder_set_weight(b, op, it->weight[i], err));
        }
        for (int32_t e = 0; e < it->edges; e++)
            OK(sked_builder_add_edge(b, &it->edge[e], err));
        OK(sked_builder_finish(b, &g, err));
        sked_problem p = {.graph = g, .objective = SKED_OBJECTIVE_COST, .alpha = 1, .horizon = 2};
        assert_true(brute_force_times(&p, 2) == optimum[k]);
        OK(sked_i_relaxation_create(&p, 0, 2, &m, err));
        assert_true(sked_i_gaus_pushable(m));
        assert_true(polish_cold(m, starts[k], false) > optimum[k]);
        assert_true(polish_cold(m, starts[k], true) == optimum[k]);
        sked_i_relaxation_destroy(m);
        sked_graph_destroy(g);
        sked_builder_destroy(b);
    }
}

/* Without descent and polish: list has ops wait for their reader that could start later, gaus does not. */
static void test_least_communication(void **state)
{
    const char *const quick[] = {"starts=0", "polish=false"};
    const sked_generate_options o = {.size = sizeof o, .nodes = 400, .bytes = "const:1"};
    sked_graph *g = NULL;
    sked_problem p;
    double value[2], length;
    (void)state;
    OK(sked_graph_generate("circuit", &o, &g, err));
    sked_problem_init(&p, g);
    OK(sked_problem_bound(&p, &length, NULL, err));
    p.objective = SKED_OBJECTIVE_COST;
    p.horizon = floor(1.2 * length);
    for (int k = 0; k < 2; k++) {
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        sked_run_options_init(&opt);
        opt.iterations = 1;
        opt.settings = quick;
        opt.n_settings = 2 * k;
        OK(sked_method_run(k == 0 ? "list" : "gaus", &p, &opt, &r, err));
        OK(sked_schedule_validate(&p, r.schedule[0], err));
        value[k] = r.value;
        assert_true(k == 0 || r.value < 1.1 * r.lower_bound);
        sked_result_clear(&r);
    }
    print_message("list %g, gaus %g\n", value[0], value[1]);
    assert_true(value[1] < 0.95 * value[0]);
    sked_graph_destroy(g);
}

/* What pushes leave behind is legal, with levels and communication as a fresh schedule has them. */
static void push_about(const sked_i_relaxation *m, uint64_t seed)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_state *fresh = NULL;
    sked_i_gaus_incumbent best;
    sked_i_rng rng;
    double mu[64];
    sked_i_rng_seed(&rng, seed, 8);
    OK(sked_i_gaus_legaliser_create(m, &l, err));
    OK(sked_i_gaus_state_create(m, &fresh, err));
    OK(sked_i_gaus_incumbent_create(m->n, &best, err));
    sked_i_gaus_place_means(m, SKED_I_GAUS_START_RANDOM, NULL, &rng, mu);
    assert_true(sked_i_gaus_legalise(l, mu, &limit));
    assert_true(sked_i_gaus_keep(&best, l->state));
    const double before = best.value;
    OK(sked_i_gaus_push(l->state, 20, 10, &rng, &limit, -INFINITY, &best, err));
    sked_i_gaus_state_set(fresh, l->state->at);
    assert_true(sked_i_gaus_state_legal(fresh) && best.value <= before);
    compare_states(l->state, fresh);
    sked_i_gaus_state_load(fresh, best.start);
    assert_true(sked_i_gaus_state_legal(fresh));
    near("incumbent", best.value, sked_i_gaus_state_value(fresh), 1e-9 * (1 + fabs(best.value)));
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_state_destroy(fresh);
    sked_i_gaus_legaliser_destroy(l);
}

static void test_pushes(void **state)
{
    static const unsigned kinds[] = {RANDOM_ORDER, RANDOM_LAGS | RANDOM_NEGATIVE, RANDOM_ZERO};
    int tried = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 30; seed++) {
        random_problem r;
        sked_i_relaxation *m = NULL;
        random_problem_make(seed, kinds[seed % 3] | RANDOM_HORIZON, 3, 20, &r);
        r.problem.objective = SKED_OBJECTIVE_COST;
        r.problem.alpha = seed % 2 ? 0.01 : 5;
        r.problem.horizon += 4;
        OK(sked_i_relaxation_create(&r.problem, 0, (int64_t)r.problem.horizon, &m, err));
        if (m != NULL && sked_i_gaus_pushable(m)) {
            push_about(m, seed);
            tried++;
        }
        sked_i_relaxation_destroy(m);
        random_problem_free(&r);
    }
    assert_true(tried > 20);
}

/* ------------------------------------------------------------------ the descent */

/* Means anywhere in their windows become legal schedules, and an incumbent loads as what it was. */
static void legalise_random(const sked_i_relaxation *m, uint64_t seed, int *legal)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_incumbent best;
    sked_i_rng rng;
    double mu[64];
    sked_i_rng_seed(&rng, seed, 8);
    OK(sked_i_gaus_legaliser_create(m, &l, err));
    OK(sked_i_gaus_incumbent_create(m->n, &best, err));
    for (int k = 0; k < 10; k++) {
        sked_i_gaus_place_means(m, SKED_I_GAUS_START_RANDOM, NULL, &rng, mu);
        if (!sked_i_gaus_legalise(l, mu, &limit)) {
            assert_true(m->capped); /* windows and edges alone never fail */
            continue;
        }
        (*legal)++;
        assert_true(sked_i_gaus_state_legal(l->state));
        const double value = sked_i_gaus_state_value(l->state), before = best.value;
        assert_int_equal(sked_i_gaus_keep(&best, l->state), value < before);
        sked_i_gaus_state_load(l->state, best.start);
        assert_true(sked_i_gaus_state_legal(l->state));
        assert_true(sked_i_gaus_state_value(l->state) == best.value && best.value == fmin(before, value));
    }
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_legaliser_destroy(l);
}

static void test_legaliser(void **state)
{
    static const unsigned kinds[] = {RANDOM_LAGS | RANDOM_NEGATIVE | RANDOM_ORDER, RANDOM_RESOURCES,
                                     RANDOM_LOOPS | RANDOM_LAGS | RANDOM_ORDER,
                                     RANDOM_LOOPS | RANDOM_RESOURCES};
    int legal = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_i_relaxation *m = NULL;
        random_problem_make(seed, kinds[seed % 4] | RANDOM_HORIZON, 3, 20, &r);
        r.problem.objective = seed % 2 ? SKED_OBJECTIVE_MEMORY : SKED_OBJECTIVE_RESOURCE;
        r.problem.horizon += 6;
        const int period = kinds[seed % 4] & RANDOM_LOOPS ? 9 : 0;
        r.problem.ii = period;
        OK(sked_i_relaxation_create(&r.problem, period, (int64_t)r.problem.horizon, &m, err));
        if (m != NULL)
            legalise_random(m, seed, &legal);
        sked_i_relaxation_destroy(m);
        random_problem_free(&r);
    }
    assert_true(legal > 300);
}

/* Descends from the middle twice: the same schedule, legal and no worse than the means it began with. */
static double descend_means_twice(const sked_i_relaxation *m, double *mu)
{
    const sked_i_gaus_tuning tuning = {
        .rate = 0.2, .sigma_scale = 1, .iterations = 160, .restarts = 3, .every = 8, .goal = -INFINITY};
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_incumbent best[2];
    int64_t evaluations = 0;
    OK(sked_i_gaus_legaliser_create(m, &l, err));
    for (int k = 0; k < 2; k++) {
        OK(sked_i_gaus_incumbent_create(m->n, &best[k], err));
        sked_i_gaus_place_means(m, SKED_I_GAUS_START_MIDPOINT, NULL, NULL, mu);
        OK(sked_i_gaus_descend_means(l, &tuning, &limit, mu, &best[k], &evaluations, err));
        for (int32_t i = 0; i < m->n; i++)
            assert_true(mu[i] >= m->lo[i] && mu[i] <= m->hi[i]);
        sked_i_gaus_state_load(l->state, best[k].start);
        assert_true(sked_i_gaus_state_legal(l->state));
        assert_true(sked_i_gaus_state_value(l->state) == best[k].value);
    }
    assert_int_equal(evaluations, 2 * 20);
    assert_memory_equal(best[0].start, best[1].start, (size_t)m->n * sizeof *best[0].start);
    const double value = best[0].value;
    sked_i_gaus_incumbent_free(&best[0]);
    sked_i_gaus_incumbent_free(&best[1]);
    sked_i_gaus_legaliser_destroy(l);
    return value;
}

static void test_means(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_problem r;
        sked_i_relaxation *m = NULL;
        double mu[20];
        const int period = seed % 4 >= 2 ? 5 + (int)seed % 7 : 0;
        random_problem_make(seed,
                            (seed % 2 ? RANDOM_LAGS | RANDOM_NEGATIVE : RANDOM_ORDER) | RANDOM_HORIZON |
                                (period > 0 ? RANDOM_LOOPS : 0),
                            3, 20, &r);
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        r.problem.horizon += 6;
        r.problem.ii = period;
        OK(sked_i_relaxation_create(&r.problem, period, (int64_t)r.problem.horizon, &m, err));
        if (m != NULL && sked_i_gaus_means_suffice(m))
            descend_means_twice(m, mu);
        sked_i_relaxation_destroy(m);
        random_problem_free(&r);
    }
}

/* A divider of 14 bits needs its number, its divisor and its remainder: 3 * 14 bits and a few. */
static void test_means_of_circuit(void **state)
{
    const char *setting = "kind=divider";
    const sked_generate_options o = {.size = sizeof o, .nodes = 2000, .settings = &setting, .n_settings = 1};
    sked_graph *g = NULL;
    sked_problem p;
    sked_graph_info info = {.size = sizeof info};
    sked_i_relaxation *m = NULL;
    (void)state;
    ONE_THREAD();
    OK(sked_graph_generate("circuit", &o, &g, err));
    OK(sked_graph_describe(g, &info, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    OK(sked_i_relaxation_create(&p, 0, (int64_t)(1.2 * info.depth), &m, err));
    double *mu = malloc((size_t)m->n * sizeof *mu);
    assert_non_null(mu);
    const double plain = descend_means_twice(m, mu);
    print_message("in %d steps: %g\n", (int)m->steps, plain);
    assert_true(plain <= 60); /* the middle alone gives 138 */
    sked_i_relaxation_destroy(m);
    m = NULL;
    p.ii = 100; /* folded: all that is alive a hundred steps apart */
    OK(sked_i_relaxation_create(&p, 100, (int64_t)(1.2 * info.depth), &m, err));
    const double folded = descend_means_twice(m, mu);
    print_message("folded over 100 of %d steps: %g\n", (int)m->steps, folded);
    assert_true(folded <= 220);
    free(mu);
    sked_i_relaxation_destroy(m);
    sked_graph_destroy(g);
}

/* Where modulo-list finds a schedule, so does gaus, however little time there is. */
static void test_hurried_loop(void **state)
{
    const sked_generate_options o = {.size = sizeof o, .nodes = 2000};
    sked_graph *g = NULL;
    sked_problem p;
    (void)state;
    ONE_THREAD();
    OK(sked_graph_generate("loop", &o, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.ii = SKED_II_AUTO;
    for (int k = 0; k < 2; k++) {
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        sked_run_options_init(&opt);
        opt.time_limit = 0.2 * k;
        OK(sked_method_run("gaus", &p, &opt, &r, err));
        OK(sked_schedule_validate(&p, r.schedule[0], err));
        sked_result_clear(&r);
    }
    sked_graph_destroy(g);
}

/* 60,000 ops in a second leave no time for Gaussians: the means alone, never worse than the first of list. */
static void test_starved(void **state)
{
    const sked_generate_options o = {.size = sizeof o, .nodes = 60000};
    sked_graph *g = NULL;
    sked_problem p;
    double value[2];
    (void)state;
    ONE_THREAD();
    OK(sked_graph_generate("circuit", &o, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 900;
    for (int k = 0; k < 2; k++) {
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        sked_run_options_init(&opt);
        opt.time_limit = k == 0 ? 1e-9 : 1; /* list's first rule runs to its end in any case */
        OK(sked_method_run(k == 0 ? "list" : "gaus", &p, &opt, &r, err));
        value[k] = r.value;
        sked_result_clear(&r);
    }
    assert_true(value[1] <= value[0]);
    sked_graph_destroy(g);
}

/* Steps and legalisations are counted. */
static void test_descent_counts(void **state)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    fixture f;
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_incumbent best;
    int64_t evaluations = 0, steps = 0;
    (void)state;
    ONE_THREAD();
    open_fixture(&f, 0, 1);
    OK(sked_i_gaus_legaliser_create(f.m, &l, err));
    OK(sked_i_gaus_incumbent_create(f.m->n, &best, err));
    const sked_i_gaus_tuning tuning = {.backend = &sked_i_backend_cpu,
                                       .rate = 0.2,
                                       .kappa = 0.15,
                                       .sigma_most = 8,
                                       .sigma_scale = 1,
                                       .iterations = 40,
                                       .restarts = 1,
                                       .every = 4,
                                       .threads = 1,
                                       .goal = -INFINITY,
                                       .steps = &steps};
    sked_i_gaus_place_means(f.m, SKED_I_GAUS_START_MIDPOINT, NULL, NULL, f.mu);
    OK(sked_i_gaus_descend(l, &tuning, &limit, f.mu, &best, &evaluations, err));
    assert_true(best.value < INFINITY);
    assert_int_equal(steps, 40);
    assert_int_equal(evaluations, 10);
    for (int32_t i = 0; i < f.m->n; i++)
        assert_true(f.mu[i] >= f.m->lo[i] && f.mu[i] <= f.m->hi[i]);
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_legaliser_destroy(l);
    close_fixture(&f);
}

/* Expected violation of edges at the means, with narrow Gaussians. */
static double broken_edges(fixture *f)
{
    sked_i_gaus_value value;
    f->terms.multiplier[SKED_I_GAUS_DEPENDENCY] = 1; /* else nobody looks */
    for (int i = 0; i < OPS; i++)
        f->sigma[i] = SKED_I_GAUS_SIGMA_LEAST;
    OK(sked_i_gaus_evaluate(&f->evaluator, &f->terms, f->mu, f->sigma, f->dmu, f->dsigma, &value, err));
    return value.violation[SKED_I_GAUS_DEPENDENCY];
}

/* Dual steps and growing penalties: by their definition, and they bring the violations down. */
static void test_published_lagrangian(void **state)
{
    const sked_i_gaus_growth raise = {1.5, 0.9, 0.5}, ours = {1.5, 0.9, 0};
    const sked_i_gaus_value value = {.violation = {4, 2, 0, 1}};
    double before[SKED_I_GAUS_FAMILIES] = {4, 8, 0, 1}, multiplier[SKED_I_GAUS_FAMILIES] = {1, 1, 1, 1},
           penalty[SKED_I_GAUS_FAMILIES] = {2, 2, 2, SKED_I_GAUS_PENALTY_MOST};
    const double expected[][4] = {{5, 3, 1, 1 + 0.5 * SKED_I_GAUS_PENALTY_MOST},
                                  {3, 2, 2, SKED_I_GAUS_PENALTY_MOST}};
    (void)state;
    ONE_THREAD();
    sked_i_gaus_raise_multipliers(&value, &raise, before, multiplier, penalty);
    assert_memory_equal(multiplier, expected[0], sizeof multiplier);
    assert_memory_equal(penalty, expected[1], sizeof penalty);
    sked_i_gaus_raise_multipliers(&value, &ours, before, multiplier, penalty);
    assert_true(multiplier[0] == 7.5 && multiplier[2] == 1 && penalty[0] == 3);

    const sked_i_limit limit = {.deadline = INFINITY};
    fixture f;
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_incumbent best;
    int64_t evaluations = 0;
    sked_i_rng rng;
    double first[2], last[2];
    open_fixture(&f, 0, 1);
    OK(sked_i_gaus_legaliser_create(f.m, &l, err));
    OK(sked_i_gaus_incumbent_create(f.m->n, &best, err));
    for (int k = 0; k < 2; k++) {
        const sked_i_gaus_tuning tuning = {.backend = &sked_i_backend_cpu,
                                           .rate = 0.2,
                                           .kappa = 0.15,
                                           .sigma_most = 8,
                                           .sigma_scale = 1,
                                           .published = k == 1,
                                           .iterations = 100,
                                           .every = 10,
                                           .threads = 1,
                                           .goal = -INFINITY};
        sked_i_rng_seed(&rng, 3, 0);
        sked_i_gaus_place_means(f.m, SKED_I_GAUS_START_RANDOM, NULL, &rng, f.mu);
        first[k] = broken_edges(&f);
        OK(sked_i_gaus_descend(l, &tuning, &limit, f.mu, &best, &evaluations, err));
        last[k] = broken_edges(&f);
    }
    assert_true(first[0] == first[1] && last[0] != last[1]);
    assert_true(last[1] < 0.5 * first[1]);
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_legaliser_destroy(l);
    close_fixture(&f);
}

/* An evaluation ends with the limit and gives no value; without one it goes on. */
static void test_cut_evaluation(void **state)
{
    volatile sig_atomic_t stop = 0;
    const sked_i_limit limit = {.deadline = INFINITY, .stop = &stop};
    const sked_i_gaus_descent_backend *backend = &sked_i_gaus_descent_cpu;
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        fixture f;
        sked_i_gaus_descent *d = NULL;
        sked_i_gaus_value value = {.total = NAN};
        open_fixture(&f, 0, threads);
        const double violation[SKED_I_GAUS_FAMILIES] = {0};
        stop = 0;
        OK(backend->create(&f.view, &limit, threads, &d, err));
        OK(backend->place(d, f.mu, f.sigma, err));
        OK(backend->aim(d, &f.terms, violation, err));
        stop = 1;
        assert_int_equal(backend->evaluate(d, f.dmu, f.dsigma, &value, NULL), SKED_ERR_STOPPED);
        assert_true(isnan(value.total));
        stop = 0;
        OK(backend->evaluate(d, f.dmu, f.dsigma, &value, err));
        assert_true(isfinite(value.total));
        backend->destroy(d);
        close_fixture(&f);
    }
}

/* ------------------------------------------------------------------ the method */

static sked_status run(const sked_problem *p, double seconds, int threads, sked_result *out, sked_error *err)
{
    static const char *const settings[] = {"steps=100", "sweeps=100"};
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = seconds;
    opt.threads = threads;
    opt.settings = settings;
    opt.n_settings = 2;
    return sked_method_run("gaus", p, &opt, out, err);
}

static void test_against_exhaustive_search(void **state)
{
    static const sked_objective objectives[] = {SKED_OBJECTIVE_MEMORY, SKED_OBJECTIVE_COST,
                                                SKED_OBJECTIVE_RESOURCE};
    static const unsigned kinds[] = {RANDOM_LAGS | RANDOM_ORDER, RANDOM_RESOURCES, RANDOM_ZERO,
                                     RANDOM_NEGATIVE, RANDOM_FIX_START};
    int met = 0, all = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 100; seed++) {
        random_problem r;
        sked_result result = {.size = sizeof result};
        random_problem_make(seed, kinds[seed % 5], 3, 5, &r);
        sked_problem *p = &r.problem;
        double path = 0;
        p->objective = objectives[seed % 3];
        OK(sked_problem_bound(p, &path, NULL, err));
        p->horizon = 12;
        const double exact = brute_force_times(p, 12);
        sked_error why = {0};
        const sked_status st = run(p, 2, 1, &result, &why);
        if (exact == INFINITY) {
            assert_int_equal(st, SKED_ERR_INFEASIBLE);
        } else if (st == SKED_ERR_INFEASIBLE && (kinds[seed % 5] & (RANDOM_RESOURCES | RANDOM_FIX_START))) {
            all++; /* tight capacities: none found, and it says so */
        } else {
            if (st != SKED_OK)
                fail_msg("seed %d: %s", (int)seed, why.message);
            if (result.value < exact - 1e-9)
                fail_msg("seed %d: %g is below the optimum %g", (int)seed, result.value, exact);
            all++;
            met += result.value <= exact + 1e-9;
        }
        sked_result_clear(&result);
        random_problem_free(&r);
    }
    if (met < all * 9 / 10)
        fail_msg("only %d of %d optima met", met, all);
}

/* Without a descent gaus keeps the schedule it is given where its own first ones are worse. */
static void test_warm_start(void **state)
{
    static const char *const settings[] = {"starts=0", "polish=false"};
    int helped = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 20; seed++) {
        random_problem r;
        sked_result best = {.size = sizeof best}, cold = {.size = sizeof cold}, warm = {.size = sizeof warm};
        sked_run_options opt;
        random_problem_make(seed, RANDOM_LAGS | RANDOM_HORIZON, 15, 20, &r);
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        sked_run_options_init(&opt);
        opt.time_limit = INFINITY;
        opt.iterations = 2;
        OK(run(&r.problem, INFINITY, 1, &best, err));
        opt.settings = settings;
        opt.n_settings = 2;
        OK(sked_method_run("gaus", &r.problem, &opt, &cold, err));
        opt.start = best.schedule[0];
        OK(sked_method_run("gaus", &r.problem, &opt, &warm, err));
        assert_true(warm.value <= best.value);
        helped += warm.value < cold.value;
        sked_result_clear(&best);
        sked_result_clear(&cold);
        sked_result_clear(&warm);
        random_problem_free(&r);
    }
    assert_true(helped > 0);
}

static void test_pipelined(void **state)
{
    int met = 0, all = 0;
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_problem r;
        sked_result result = {.size = sizeof result};
        sked_error why = {0};
        random_problem_make(seed, RANDOM_LOOPS | (seed % 2 ? RANDOM_RESOURCES : RANDOM_ORDER), 3, 4, &r);
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        r.problem.ii = 7;
        r.problem.horizon = 12;
        const double exact = brute_force_times(&r.problem, 12);
        const sked_status st = run(&r.problem, 2, 1, &result, &why);
        if (exact < INFINITY) {
            if (st != SKED_OK)
                fail_msg("seed %d: %s", (int)seed, why.message);
            assert_true(result.value >= exact - 1e-9);
            met += result.value <= exact + 1e-9;
            all++;
        } else {
            assert_int_equal(st, SKED_ERR_INFEASIBLE);
        }
        sked_result_clear(&result);
        random_problem_free(&r);
    }
    if (all < 15 || met < all * 9 / 10)
        fail_msg("only %d of %d optima met", met, all);
}

static void test_interval_search(void **state)
{
    (void)state;
    ONE_THREAD();
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    make_graph(&g);
    sked_problem_init(&p, g);
    p.ii = SKED_II_AUTO;
    p.objective = SKED_OBJECTIVE_MEMORY;
    OK(run(&p, 5, 1, &r, err));
    const double least = r.schedule[0]->ii;
    assert_true(least > 0);
    p.ii = least - 1; /* one less is refuted, or nothing is found */
    sked_result none = {.size = sizeof none};
    sked_error why = {0};
    assert_int_not_equal(run(&p, 1, 1, &none, &why), SKED_OK);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* auto has gaus in its plan where the interval is to be found, too: it must improve on modulo-list. */
static void test_interval_in_portfolio(void **state)
{
    static const char *const methods[] = {"modulo-list", "auto"};
    const sked_generate_options o = {.size = sizeof o, .nodes = 60, .seed = 4};
    sked_graph *g = NULL;
    sked_problem p;
    double ii[2], value[2];
    (void)state;
    OK(sked_graph_generate("loop", &o, &g, err));
    sked_problem_init(&p, g);
    p.ii = SKED_II_AUTO;
    p.objective = SKED_OBJECTIVE_MEMORY;
    for (int k = 0; k < 2; k++) {
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        sked_run_options_init(&opt);
        opt.time_limit = INFINITY;
        opt.iterations = 2;
        OK(sked_method_run(methods[k], &p, &opt, &r, err));
        ii[k] = r.schedule[0]->ii;
        value[k] = r.value;
        sked_result_clear(&r);
    }
    assert_true(ii[1] <= ii[0]);
    assert_true(ii[1] < ii[0] || value[1] < value[0]);
    sked_graph_destroy(g);
}

/* No schedule, and nobody proves it: auto ends when its members have given up, not at the time limit. */
static void test_portfolio_gives_up(void **state)
{
    static const double duration[] = {2, 2, 3}, demand[] = {0, 2, 1};
    static const sked_edge edge[] = {{0, 1, NAN, 0, 0}, {0, 2, NAN, 0, 0}, {2, 1, NAN, 0, 1}};
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    int32_t op, unit;
    (void)state;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "unit", 2, &unit, err));
    for (int i = 0; i < 3; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, duration[i], &op, err));
        if (demand[i] > 0)
            OK(sked_builder_add_demand(b, op, unit, demand[i], err));
    }
    for (int i = 0; i < 3; i++)
        OK(sked_builder_add_edge(b, &edge[i], err));
    OK(sked_builder_finish(b, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.ii = SKED_II_AUTO;
    p.horizon = 6; /* one op after the other takes 7 */
    sked_run_options_init(&opt);
    opt.time_limit = 15;
    FAILS(SKED_ERR_INFEASIBLE, "not a proof", sked_method_run("auto", &p, &opt, &r, err));
    sked_builder_destroy(b);
    sked_graph_destroy(g);
}

static void test_same_bytes(void **state)
{
    (void)state;
    random_problem r;
    random_problem_make(3, RANDOM_LAGS | RANDOM_HORIZON, 40, 60, &r);
    r.problem.objective = SKED_OBJECTIVE_MEMORY;
    for (int threads = SANITIZED ? 3 : 1; threads <= 3; threads += 2) {
        sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
        OK(run(&r.problem, INFINITY, threads, &a, err));
        OK(run(&r.problem, INFINITY, threads, &b, err));
        assert_true(a.value == b.value);
        for (int32_t i = 0; i < a.schedule[0]->ops; i++)
            assert_true(a.schedule[0]->start[i] == b.schedule[0]->start[i]);
        sked_result_clear(&a);
        sked_result_clear(&b);
    }
    random_problem_free(&r);
}

/* Two threads make the rounds of one, and need half the time for them; what they find is the same. */
static void test_two_threads_do_what_one_does(void **state)
{
    static const sked_objective objectives[] = {SKED_OBJECTIVE_COST, SKED_OBJECTIVE_MEMORY};
    (void)state;
    for (int k = SANITIZED; k < 2; k++) {
        random_problem r;
        sked_result one = {.size = sizeof one}, two = {.size = sizeof two};
        random_problem_make((uint64_t)k, RANDOM_LAGS | RANDOM_HORIZON, 40, 60, &r);
        r.problem.objective = objectives[k];
        OK(run(&r.problem, INFINITY, 1, &one, err));
        OK(run(&r.problem, INFINITY, 2, &two, err));
        assert_true(one.value == two.value && one.evaluations == two.evaluations);
        assert_string_equal(one.note, two.note);
        for (int32_t i = 0; i < one.schedule[0]->ops; i++)
            assert_true(one.schedule[0]->start[i] == two.schedule[0]->start[i]);
        sked_result_clear(&one);
        sked_result_clear(&two);
        random_problem_free(&r);
    }
}

/* What the run did is told technique by technique. */
static const sked_statistic *technique(const sked_result *r, const char *name)
{
    for (int32_t k = 0; k < r->n_statistics; k++)
        if (strcmp(r->statistics[k]->method, "gaus") == 0 && strcmp(r->statistics[k]->technique, name) == 0)
            return r->statistics[k];
    fail_msg("no statistics of %s", name);
    return NULL;
}

static void test_statistics(void **state)
{
    (void)state;
    random_problem r;
    random_problem_make(3, RANDOM_LAGS | RANDOM_HORIZON, 40, 60, &r);
    r.problem.objective = SKED_OBJECTIVE_MEMORY;
    for (int threads = SANITIZED ? 2 : 1; threads <= 2; threads++) {
        sked_result a = {.size = sizeof a};
        OK(run(&r.problem, INFINITY, threads, &a, err));
        const sked_statistic *quick = technique(&a, "quick start"), *descent = technique(&a, "descent"),
                             *polish = technique(&a, "polish"), *whole = technique(&a, "");
        assert_int_equal(quick->calls, 1);
        assert_true(descent->calls >= 5 && polish->calls >= descent->calls);
        assert_true(descent->evaluations > descent->calls && descent->evaluations < whole->evaluations);
        assert_true(descent->gain >= 0 && polish->gain >= 0);
        const sked_statistic *means = technique(&a, "descent on the means");
        assert_true(means->calls == descent->calls && means->evaluations < descent->evaluations);
        assert_true(fabs(descent->gain + polish->gain - whole->gain) < 1e-9);
        sked_result_clear(&a);
    }
    random_problem_free(&r);
}

/* From 5,000 ops on the means descend alone, one descent a thread even where there are fewer starts. */
static void test_means_lead(void **state)
{
    static const char *const settings[] = {"starts=2"};
    const sked_generate_options o = {.size = sizeof o, .nodes = 6000};
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    (void)state;
    OK(sked_graph_generate("circuit", &o, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 400;
    sked_run_options_init(&opt);
    opt.time_limit = 1;
    opt.threads = 3;
    opt.settings = settings;
    opt.n_settings = 1;
    OK(sked_method_run("gaus", &p, &opt, &r, err));
    int64_t descents = 0;
    for (int32_t k = 0; k < r.n_statistics; k++) {
        assert_string_not_equal(r.statistics[k]->technique, "gradient step");
        if (strcmp(r.statistics[k]->technique, "descent on the means") == 0)
            descents = r.statistics[k]->calls;
    }
    print_message("%d descents\n", (int)descents);
    assert_true(descents == 0 || descents >= 3); /* 0: a machine so slow that the first one had no time */
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ bad and strange input */

static sked_graph *chain(int n, double duration, double demand)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "R", 2, NULL, err));
    for (int i = 0; i < n; i++) {
        const sked_edge edge = {i - 1, i, SKED_LAG_DEFAULT, 1, 0};
        int32_t op;
        OK(sked_builder_add_op(b, NULL, NULL, duration, &op, err));
        OK(sked_builder_set_memory(b, op, 1, err));
        if (demand > 0)
            OK(sked_builder_add_demand(b, op, 0, demand, err));
        if (i > 0)
            OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static void test_refusals(void **state)
{
    sked_problem p;
    sked_result r = {.size = sizeof r};
    (void)state;
    ONE_THREAD();
    sked_graph *g = chain(5, 1, 0);
    sked_problem_init(&p, g);
    FAILS(SKED_ERR_UNSUPPORTED, "objective makespan", run(&p, 1, 1, &r, err));
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 4;
    FAILS(SKED_ERR_INFEASIBLE, "a horizon of 5 would admit it", run(&p, 1, 1, &r, err));
    sked_graph_destroy(g);
    g = chain(2, 1, 3);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_INFEASIBLE, "capacity", run(&p, 1, 1, &r, err));
    sked_graph_destroy(g);
    g = chain(2, 1.5, 1);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_UNSUPPORTED, "whole times", run(&p, 1, 1, &r, err));
    sked_graph_destroy(g);
    make_graph(&g);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.ii = 1;
    FAILS(SKED_ERR_INFEASIBLE, "interval", run(&p, 1, 1, &r, err));
    sked_graph_destroy(g);
    g = chain(2, 1e9, 1);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_UNSUPPORTED, "scale the times", run(&p, 1, 1, &r, err));
    sked_graph_destroy(g);
}

/* No op, one op, ops without edges, ops that take no time, nothing to gain: answers, no NaN. */
static void test_strange_graphs(void **state)
{
    static const sked_objective objectives[] = {SKED_OBJECTIVE_MEMORY, SKED_OBJECTIVE_COST,
                                                SKED_OBJECTIVE_RESOURCE};
    (void)state;
    ONE_THREAD();
    for (int ops = 0; ops <= 3; ops++)
        for (int duration = 0; duration <= 1; duration++)
            for (int demand = 0; demand <= 1; demand++)
                for (int k = 0; k < 6; k++) {
                    sked_problem p;
                    sked_result r = {.size = sizeof r};
                    sked_graph *g = chain(ops, duration, demand);
                    sked_problem_init(&p, g);
                    p.objective = objectives[k % 3];
                    p.horizon = k < 3 ? INFINITY : 5;
                    OK(run(&p, 1, 1, &r, err));
                    assert_true(isfinite(r.value));
                    sked_result_clear(&r);
                    sked_graph_destroy(g);
                }
}

static void test_disconnected(void **state)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    (void)state;
    ONE_THREAD();
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 40; i++)
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_RESOURCE;
    p.horizon = 8;
    OK(run(&p, 5, 1, &r, err));
    assert_true(r.value == 5 && r.optimal);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ benchmark data */

/* Two rounds: what they find does not depend on how busy the machine is. */
static double shared_value(const char *part, sked_objective objective, double horizon, double alpha,
                           double *bound)
{
    static const char *const settings[] = {"steps=100", "sweeps=100"};
    char path[700];
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    snprintf(path, sizeof path, "%s/%s", shared_data(), part);
    OK(sked_graph_read(path, NULL, &g, err));
    sked_problem_init(&p, g);
    p.objective = objective;
    p.horizon = horizon;
    p.alpha = alpha;
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = 2;
    opt.settings = settings;
    opt.n_settings = 2;
    OK(sked_method_run("gaus", &p, &opt, &r, err));
    const double value = r.value;
    *bound = r.lower_bound;
    sked_result_clear(&r);
    sked_graph_destroy(g);
    return value;
}

static void test_shared_data(void **state)
{
    double bound;
    (void)state;
    ONE_THREAD();
    NEED_SHARED_DATA();
    const double load = shared_value("rw/rand_graph_1000_1.gml", SKED_OBJECTIVE_COST, 10, 0.01, &bound);
    assert_true(load <= bound * 1.004);
    /* ASAP needs 68 and 240 */
    assert_true(shared_value("epfl/router.blif", SKED_OBJECTIVE_MEMORY, 66, 0, &bound) <= 58);
    assert_true(shared_value("epfl/priority.blif", SKED_OBJECTIVE_MEMORY, 301, 0, &bound) <= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_table),
        cmocka_unit_test(test_normal_row),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_whole_gradient),
        cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_threads_of_evaluator),
        cmocka_unit_test(test_lost_numbers),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_stuck_ops),
        cmocka_unit_test(test_least_communication),
        cmocka_unit_test(test_pushes),
        cmocka_unit_test(test_legaliser),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_means_of_circuit),
        cmocka_unit_test(test_cut_evaluation),
        cmocka_unit_test(test_hurried_loop),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_warm_start),
        cmocka_unit_test(test_descent_counts),
        cmocka_unit_test(test_published_lagrangian),
        cmocka_unit_test(test_against_exhaustive_search),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_interval_search),
        cmocka_unit_test(test_interval_in_portfolio),
        cmocka_unit_test(test_portfolio_gives_up),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_two_threads_do_what_one_does),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_means_lead),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_strange_graphs),
        cmocka_unit_test(test_disconnected),
        cmocka_unit_test(test_shared_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
