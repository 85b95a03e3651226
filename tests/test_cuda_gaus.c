/*
 * The differentiable scheduler on the GPU beside the CPU: value and gradient of random problems with every
 * term, and descents step by step.
 */
#define _DEFAULT_SOURCE
#include "backend/backend.h"
#include "engine/gaus/gaus_relaxation.h"
#include "random_problem.h"

/* ------------------------------------------------------------------ random problems, as a backend sees them
 */

/* hub: op 0 has as many out-edges. widest: largest sigma. */
typedef struct shape {
    int32_t ops, profiles, steps, period, hub;
    double edges; /* per op */
    double widest;
    bool memory, zeros; /* zeros: some sizes and amounts are 0, some edges do not count */
} shape;

typedef struct sample {
    shape s;
    sked_i_gaus_view view;
    int32_t *duration, *use_profile, *edge_to, *gap, *shift, *lo, *hi;
    int64_t *use_ptr, *succ_ptr;
    uint8_t *kind;
    double *use_amount, *memory, *bytes, *mu, *sigma, *weight, *capacity, *tau;
    sked_i_gaus_terms terms;
} sample;

static void *room(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    assert_non_null(p);
    return p;
}

static void make_edges(sample *x, sked_i_rng *rng)
{
    const int32_t n = x->s.ops;
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t degree = i == 0 ? x->s.hub : random_int(rng, 0, (int)(2 * x->s.edges));
        x->succ_ptr[i] = count;
        for (int32_t k = 0; k < degree; k++, count++) {
            const bool carried = x->s.period > 0 && sked_i_rng_below(rng, 4) == 0;
            x->edge_to[count] =
                carried ? random_int(rng, 0, n - 1) : random_int(rng, i + 1 < n ? i + 1 : i, n - 1);
            x->kind[count] = carried ? SKED_I_GAUS_EDGE_CARRIED : SKED_I_GAUS_EDGE_FORWARD;
            if (x->s.zeros && sked_i_rng_below(rng, 5) == 0)
                x->kind[count] = SKED_I_GAUS_EDGE_IGNORED;
            else if (x->s.zeros && sked_i_rng_below(rng, 4) == 0)
                x->kind[count] |= SKED_I_GAUS_EDGE_ORDERS;
            x->shift[count] = carried ? x->s.period * random_int(rng, 1, 2) : 0;
            x->gap[count] = random_int(rng, 0, 3) - x->shift[count];
            x->bytes[count] = (double)sked_i_rng_below(rng, 3);
        }
    }
    x->succ_ptr[n] = count;
}

static void make_ops(sample *x, sked_i_rng *rng)
{
    int64_t uses = 0;
    for (int32_t i = 0; i < x->s.ops; i++) {
        x->duration[i] = random_int(rng, 0, 5);
        x->memory[i] = x->s.zeros && i % 5 == 0 ? 0 : 0.5 + 3 * sked_i_rng_uniform(rng);
        x->use_ptr[i] = uses;
        for (int32_t p = 0; p < x->s.profiles; p++)
            if (sked_i_rng_below(rng, 2) == 0) {
                x->use_profile[uses] = p;
                x->use_amount[uses++] = 0.2 + sked_i_rng_uniform(rng);
            }
        x->lo[i] = random_int(rng, 0, x->s.steps / 2);
        x->hi[i] = x->lo[i] + random_int(rng, 0, x->s.steps / 2);
        x->mu[i] = x->lo[i] + (x->hi[i] - x->lo[i]) * sked_i_rng_uniform(rng);
        x->sigma[i] =
            SKED_I_GAUS_SIGMA_LEAST + (x->s.widest - SKED_I_GAUS_SIGMA_LEAST) * sked_i_rng_uniform(rng);
    }
    x->use_ptr[x->s.ops] = uses;
}

static void make_sample(const shape *s, uint64_t seed, sample *x)
{
    const int64_t n = s->ops, edges = s->hub + (int64_t)(2 * s->edges + 1) * n, rows = s->profiles + 1;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, seed, 1);
    *x = (sample){.s = *s};
    int32_t **const whole[] = {&x->duration, &x->lo,    &x->hi,         &x->edge_to,
                               &x->gap,      &x->shift, &x->use_profile};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        *whole[k] = room(n * rows + edges, sizeof(int32_t));
    double **const numbers[] = {&x->memory,     &x->mu,     &x->sigma,    &x->bytes,
                                &x->use_amount, &x->weight, &x->capacity, &x->tau};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        *numbers[k] = room(n * rows + edges, sizeof(double));
    x->use_ptr = room(n + 1, sizeof(int64_t));
    x->succ_ptr = room(n + 1, sizeof(int64_t));
    x->kind = room(edges, 1);
    make_ops(x, &rng);
    make_edges(x, &rng);
    x->view = (sked_i_gaus_view){.ops = s->ops,
                                 .profiles = s->profiles,
                                 .steps = s->steps,
                                 .period = s->period,
                                 .duration = x->duration,
                                 .use_ptr = x->use_ptr,
                                 .use_profile = x->use_profile,
                                 .use_amount = x->use_amount,
                                 .memory = s->memory ? x->memory : NULL,
                                 .succ_ptr = x->succ_ptr,
                                 .edge_to = x->edge_to,
                                 .gap = x->gap,
                                 .shift = x->shift,
                                 .edge_kind = x->kind,
                                 .edge_bytes = x->bytes,
                                 .lo = x->lo,
                                 .hi = x->hi};
    for (int32_t p = 0; p <= s->profiles; p++) {
        x->capacity[p] = INFINITY;
        x->tau[p] = 0.3 + sked_i_rng_uniform(&rng);
    }
    x->terms = (sked_i_gaus_terms){.weight = x->weight, .capacity = x->capacity, .tau = x->tau};
}

static void free_sample(sample *x)
{
    void *const owned[] = {x->duration, x->use_profile, x->edge_to,  x->gap,    x->shift,      x->lo,
                           x->hi,       x->use_ptr,     x->succ_ptr, x->kind,   x->use_amount, x->memory,
                           x->bytes,    x->mu,          x->sigma,    x->weight, x->capacity,   x->tau};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

/* Terms that are on: bits of `which` in the order below; -1: all. */
static void switch_on(sample *x, unsigned which)
{
    for (int32_t p = 0; p <= x->s.profiles; p++) {
        x->weight[p] = which & (p < x->s.profiles ? 1u : 2u) ? 0.4 + 0.3 * p : 0;
        x->capacity[p] = which & 4u && p % 2 == 0 ? 0.05 * x->s.ops : INFINITY;
    }
    x->terms.alpha = which & 8u ? 0.3 : 0;
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        x->terms.multiplier[f] = which & 16u << f ? 0.5 + 0.1 * f : 0;
        x->terms.penalty[f] = which & 16u << f ? 0.02 : 0;
    }
}

/* ------------------------------------------------------------------ one evaluation */

typedef struct answer {
    sked_i_gaus_value value;
    double *dmu, *dsigma;
} answer;

static const double none[SKED_I_GAUS_FAMILIES] = {0};

static void ask(const sked_i_gaus_descent_backend *backend, const sample *x, answer *a)
{
    sked_i_gaus_descent *d = NULL;
    a->dmu = room(x->s.ops, sizeof(double));
    a->dsigma = room(x->s.ops, sizeof(double));
    OK(backend->create(&x->view, NULL, 1, &d, err));
    OK(backend->place(d, x->mu, x->sigma, err));
    OK(backend->aim(d, &x->terms, none, err));
    for (int k = 0; k < 2; k++) /* the second finds what the first has left */
        OK(backend->evaluate(d, a->dmu, a->dsigma, &a->value, err));
    backend->destroy(d);
}

static void free_answer(answer *a)
{
    free(a->dmu);
    free(a->dsigma);
}

static void close_to(const char *what, int64_t at, double cpu, double cuda, double scale)
{
    if (!(fabs(cpu - cuda) <= 1e-9 * (1 + scale)))
        fail_msg("%s %lld: %.17g on the CPU, %.17g on the GPU", what, (long long)at, cpu, cuda);
}

static double largest(const double *x, int64_t count)
{
    double most = 0;
    for (int64_t k = 0; k < count; k++)
        most = fmax(most, fabs(x[k]));
    return most;
}

static void close_rows(const char *what, const double *cpu, const double *cuda, int64_t count)
{
    const double most = largest(cpu, count);
    for (int64_t k = 0; k < count; k++)
        close_to(what, k, cpu[k], cuda[k], most);
}

static void compare(const sample *x)
{
    answer cpu, cuda;
    ask(&sked_i_gaus_descent_cpu, x, &cpu);
    ask(&sked_i_gaus_descent_cuda, x, &cuda);
    close_to("peak", 0, cpu.value.peak, cuda.value.peak, fabs(cpu.value.peak));
    close_to("communication", 0, cpu.value.communication, cuda.value.communication,
             fabs(cpu.value.communication) + x->s.steps * (double)x->succ_ptr[x->s.ops]);
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++)
        close_to("violation", f, cpu.value.violation[f], cuda.value.violation[f], cpu.value.violation[f]);
    close_to("total", 0, cpu.value.total, cuda.value.total, fabs(cpu.value.total));
    close_rows("dmu", cpu.dmu, cuda.dmu, x->s.ops);
    close_rows("dsigma", cpu.dsigma, cuda.dsigma, x->s.ops);
    free_answer(&cpu);
    free_answer(&cuda);
}

/* Windows of one tile and of many, ops with more out-edges than a warp has lanes, folded and not. */
static const shape shapes[] = {
    {1, 1, 9, 0, 0, 0, 1, true, false},     {7, 2, 14, 0, 3, 1, 1.5, true, false},
    {7, 2, 14, 8, 3, 1, 1.5, true, false},  {60, 3, 40, 0, 45, 1.5, 8, true, true},
    {60, 3, 40, 7, 45, 1.5, 8, true, true}, {40, 1, 90, 0, 33, 2, 30, true, false},
    {40, 2, 30, 3, 34, 2, 25, true, true},  {300, 1, 200, 0, 299, 1.5, 3, true, false},
    {50, 0, 50, 0, 4, 2, 4, true, true},    {30, 4, 2000, 0, 4, 1, 9, false, false},
    {30, 2, 20, 50, 6, 1, 2, false, true},
};
enum { n_shapes = sizeof shapes / sizeof *shapes };

static void test_every_term(void **state)
{
    (void)state;
    for (int k = 0; k < n_shapes; k++) {
        sample x;
        make_sample(&shapes[k], 100 + (uint64_t)k, &x);
        for (int term = 0; term < 8; term++) {
            switch_on(&x, 1u << term);
            compare(&x);
        }
        free_sample(&x);
    }
}

static void test_whole_lagrangian(void **state)
{
    (void)state;
    for (int k = 0; k < n_shapes; k++) {
        sample x;
        make_sample(&shapes[k], 200 + (uint64_t)k, &x);
        switch_on(&x, 255u);
        compare(&x);
        free_sample(&x);
    }
}

/* Amounts of very different sizes: integers of one scale serve them all. */
static void test_amounts(void **state)
{
    (void)state;
    for (int power = -60; power <= 60; power += 30) {
        sample x;
        make_sample(&shapes[3], 7, &x);
        for (int64_t u = 0; u < x.use_ptr[x.s.ops]; u++)
            x.use_amount[u] = ldexp(x.use_amount[u], power - (int)(u % 12));
        for (int32_t i = 0; i < x.s.ops; i++)
            x.memory[i] = ldexp(x.memory[i], power);
        for (int32_t p = 0; p <= x.s.profiles; p++)
            x.tau[p] = ldexp(x.tau[p], power);
        switch_on(&x, 1 | 2);
        for (int32_t p = 0; p <= x.s.profiles; p++)
            x.weight[p] = ldexp(x.weight[p], -power);
        compare(&x);
        free_sample(&x);
    }
}

static void test_lost_numbers(void **state)
{
    sked_i_gaus_descent *d = NULL;
    sample x;
    (void)state;
    make_sample(&shapes[1], 3, &x);
    OK(sked_i_gaus_descent_cuda.create(&x.view, NULL, 1, &d, err));
    x.mu[4] = NAN;
    FAILS(SKED_ERR_BUG, "op 4", sked_i_gaus_descent_cuda.place(d, x.mu, x.sigma, err));
    sked_i_gaus_descent_cuda.destroy(d);
    free_sample(&x);
}

/* ------------------------------------------------------------------ descents */

enum { STEPS = 48 };

typedef struct path {
    double *mu, *sigma;
    sked_i_gaus_value value;
} path;

static void take(const sked_i_gaus_descent_backend *backend, sked_i_gaus_descent *d, path *p)
{
    OK(backend->wait(d, p->mu, p->sigma, &p->value, err));
}

/* Every other step is one of the published Lagrangian. */
static sked_i_gaus_growth raise_at(int step)
{
    return (sked_i_gaus_growth){1.03, 0.99, step % 2 ? 0.5 : 0};
}

/* STEPS steps in runs of `run`, with up to `flight` under way. */
static void descend(const sked_i_gaus_descent_backend *backend, const sample *x, int run, int flight, path *p)
{
    sked_i_gaus_descent *d = NULL;
    sked_i_gaus_step steps[STEPS];
    int under_way = 0;
    p->mu = room(x->s.ops, sizeof(double));
    p->sigma = room(x->s.ops, sizeof(double));
    OK(backend->create(&x->view, NULL, 1, &d, err));
    OK(backend->place(d, x->mu, x->sigma, err));
    OK(backend->aim(d, &x->terms, none, err));
    for (int k = 0; k < STEPS; k += run) {
        const int count = k + run <= STEPS ? run : STEPS - k;
        for (int j = 0; j < count; j++)
            steps[j] = (sked_i_gaus_step){0.2 - 0.005 * (k + j), fmax(1, 8 - 0.2 * (k + j)), x->tau,
                                          raise_at(k + j)};
        OK(backend->run(d, steps, count, err));
        if (++under_way == flight) {
            take(backend, d, p);
            under_way--;
        }
    }
    for (; under_way > 0; under_way--)
        take(backend, d, p);
    backend->destroy(d);
}

static void free_path(path *p)
{
    free(p->mu);
    free(p->sigma);
}

/* Adam divides by the size of a gradient: only where all ops feel something are two paths comparable. */
static void test_steps(void **state)
{
    static const int chosen[] = {1, 2, 3, 5};
    (void)state;
    for (int k = 0; k < 4; k++) {
        sample x;
        path cpu, cuda;
        double moved = 0;
        make_sample(&shapes[chosen[k]], 300 + 2 * (uint64_t)k, &x);
        switch_on(&x, 255);
        x.terms.multiplier[SKED_I_GAUS_LATENCY] = 3;
        for (int32_t i = 0; i < x.s.ops; i++) {
            x.duration[i] += x.s.steps / 2;
            moved = fmax(moved, x.hi[i] - x.lo[i]);
        }
        descend(&sked_i_gaus_descent_cpu, &x, 1, 1, &cpu);
        descend(&sked_i_gaus_descent_cuda, &x, 8, 1, &cuda);
        for (int32_t i = 0; i < x.s.ops; i++) {
            close_to("mean", i, cpu.mu[i], cuda.mu[i], 1e3);
            close_to("sigma", i, cpu.sigma[i], cuda.sigma[i], 1e3);
            assert_true(cuda.mu[i] >= x.lo[i] && cuda.mu[i] <= x.hi[i]);
        }
        close_to("total", 0, cpu.value.total, cuda.value.total, 1e3 * fabs(cpu.value.total));
        assert_true(moved > 0);
        free_path(&cpu);
        free_path(&cuda);
        free_sample(&x);
    }
}

/* The same bits however the steps are cut into runs, and one way or two under way. */
static void test_runs(void **state)
{
    static const int runs[][2] = {{1, 1}, {8, 1}, {5, 2}, {1, 2}, {48, 2}, {16, 2}};
    path first;
    (void)state;
    for (int k = 0; k < 6; k++) {
        sample x;
        path p;
        make_sample(&shapes[4], 9, &x);
        switch_on(&x, 255);
        descend(&sked_i_gaus_descent_cuda, &x, runs[k][0], runs[k][1], k == 0 ? &first : &p);
        if (k > 0) {
            assert_memory_equal(first.mu, p.mu, (size_t)x.s.ops * sizeof(double));
            assert_memory_equal(first.sigma, p.sigma, (size_t)x.s.ops * sizeof(double));
            assert_memory_equal(&first.value, &p.value, sizeof p.value);
            free_path(&p);
        }
        free_sample(&x);
    }
    free_path(&first);
}

/* A whole descent with legalisation beside it: legal, better than its start, the same bytes twice. */
static void test_descent(void **state)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    const sked_i_backend *cuda;
    double found[2] = {0};
    (void)state;
    OK(sked_i_backend_find("cuda", &cuda, err));
    for (int turn = 0; turn < 2; turn++) {
        random_problem r;
        sked_i_relaxation *m = NULL;
        sked_i_gaus_legaliser *l = NULL;
        sked_i_gaus_incumbent best;
        int64_t evaluations = 0;
        double *mu = room(40, sizeof(double));
        random_problem_make(5, RANDOM_LAGS | RANDOM_HORIZON, 25, 40, &r);
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        OK(sked_i_relaxation_create(&r.problem, 0, (int64_t)r.problem.horizon, &m, err));
        OK(sked_i_gaus_legaliser_create(m, &l, err));
        OK(sked_i_gaus_incumbent_create(m->n, &best, err));
        const sked_i_gaus_tuning tuning = {.rate = 0.2,
                                           .kappa = 0.15,
                                           .sigma_most = 8,
                                           .sigma_scale = 1,
                                           .iterations = 60,
                                           .restarts = 2,
                                           .every = 4,
                                           .threads = 1,
                                           .goal = -INFINITY,
                                           .backend = cuda};
        sked_i_gaus_place_means(m, SKED_I_GAUS_START_ASAP, NULL, NULL, mu);
        assert_true(sked_i_gaus_legalise(l, mu, &limit));
        const double before = sked_i_gaus_state_value(l->state);
        best.value = INFINITY;
        OK(sked_i_gaus_descend(l, &tuning, &limit, mu, &best, &evaluations, err));
        assert_true(evaluations > 5 && evaluations <= 15);
        assert_true(best.value < before);
        found[turn] = best.value;
        sked_i_gaus_state_load(l->state, best.start);
        assert_true(sked_i_gaus_state_legal(l->state));
        sked_i_gaus_incumbent_free(&best);
        sked_i_gaus_legaliser_destroy(l);
        sked_i_relaxation_destroy(m);
        random_problem_free(&r);
        free(mu);
    }
    assert_true(found[0] == found[1]);
}

/* ------------------------------------------------------------------ the method */

/* One round of short descents on a random problem; the caller clears r. */
static sked_status run_gaus(const char *backend, int threads, const random_problem *x, sked_result *r,
                            sked_error *err)
{
    const char *settings[] = {"starts=2", "steps=2", "sweeps=1"};
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.iterations = 1;
    opt.time_limit = INFINITY;
    opt.threads = threads;
    opt.backend = backend;
    opt.settings = settings;
    opt.n_settings = 3;
    return sked_method_run("gaus", &x->problem, &opt, r, err);
}

static void make_memory_problem(random_problem *x)
{
    random_problem_make(18, RANDOM_LAGS | RANDOM_HORIZON, 30, 30, x);
    x->problem.objective = SKED_OBJECTIVE_MEMORY;
}

static int64_t steps_of(const sked_result *r)
{
    for (int32_t k = 0; k < r->n_statistics; k++)
        if (strcmp(r->statistics[k]->technique, "gradient step") == 0)
            return r->statistics[k]->calls;
    return 0;
}

/* Valid, and the same bytes twice. */
static void test_method(void **state)
{
    random_problem x;
    sked_result r[2];
    (void)state;
    make_memory_problem(&x);
    for (int turn = 0; turn < 2; turn++) {
        r[turn] = (sked_result){.size = sizeof r[turn]};
        OK(run_gaus("cuda", 2, &x, &r[turn], err));
        OK(sked_schedule_validate(&x.problem, r[turn].schedule[0], err));
        assert_true(steps_of(&r[turn]) > 0);
    }
    assert_memory_equal(r[0].schedule[0]->start, r[1].schedule[0]->start,
                        (size_t)sked_graph_op_count(x.graph) * sizeof(double));
    sked_result_clear(&r[0]);
    sked_result_clear(&r[1]);
    random_problem_free(&x);
}

/* The portfolio passes the backend on, and its members that have no other compute on the CPU. */
static void test_portfolio(void **state)
{
    random_problem x;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    (void)state;
    make_memory_problem(&x);
    sked_run_options_init(&opt);
    opt.time_limit = 0.2;
    opt.backend = "cuda";
    OK(sked_method_run("auto", &x.problem, &opt, &r, err));
    OK(sked_schedule_validate(&x.problem, r.schedule[0], err));
    sked_result_clear(&r);
    random_problem_free(&x);
}

/* Without room for one descent: the sizes are told, and where the choice is sked's the CPU goes on. */
static void test_no_room(void **state)
{
    random_problem x;
    sked_result r = {.size = sizeof r};
    sample small;
    int count = 0;
    (void)state;
    make_sample(&shapes[1], 1, &small);
    OK(sked_i_gaus_descent_cuda.room(&small.view, 3, &count, err));
    assert_int_equal(count, 3);
    setenv("SKED_EMULATE_MEMORY", "67120000", 1); /* 64 MiB of it are left to others */
    const sked_status st = sked_i_gaus_descent_cuda.room(&small.view, 3, &count, NULL);
    free_sample(&small);
    if (st == SKED_OK && count == 3) {
        unsetenv("SKED_EMULATE_MEMORY");
        print_message("a real GPU has room\n");
        skip();
    }
    make_memory_problem(&x);
    FAILS(SKED_ERR_DEVICE, "would fit", run_gaus("cuda", 1, &x, &r, err));
    OK(run_gaus("auto", 1, &x, &r, err));
    sked_result_clear(&r);
    unsetenv("SKED_EMULATE_MEMORY");
    random_problem_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_term), cmocka_unit_test(test_whole_lagrangian),
        cmocka_unit_test(test_amounts),    cmocka_unit_test(test_lost_numbers),
        cmocka_unit_test(test_steps),      cmocka_unit_test(test_runs),
        cmocka_unit_test(test_descent),    cmocka_unit_test(test_method),
        cmocka_unit_test(test_portfolio),  cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
