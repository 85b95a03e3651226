/* The encode-once policy on CUDA against the CPU's in double precision, on random graphs, machines and
 * models. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define SKED_REAL_DOUBLE
#include "test.h"
#include "whole_batch.h"

#include "base/rng.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/gflownet_gpu.h"

#include <math.h>

extern const sked_i_gpu_policy sked_i_once_cuda;
static const sked_i_gpu_policy *const cuda = &sked_i_once_cuda;

/* ------------------------------------------------------------------ random cases */

typedef struct test_case {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    sked_i_instance *instance;
    double temperature;
} test_case;

/* dense: few edges make many ready ops. */
static sked_graph *random_graph(sked_i_rng *r, int32_t n, uint64_t edges, bool picky)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, (double)sked_i_rng_below(r, 20), NULL, err));
        if (picky && sked_i_rng_below(r, 3) == 0)
            OK(sked_builder_add_duration(b, i, sked_i_rng_below(r, 2) ? "d1" : "a",
                                         sked_i_rng_below(r, 3) ? (double)sked_i_rng_below(r, 30) : INFINITY,
                                         err));
    }
    for (int32_t i = 1; i < n; i++)
        for (uint64_t k = edges > 0 ? sked_i_rng_below(r, edges) : 0; k > 0; k--) {
            const sked_edge edge = {(int32_t)sked_i_rng_below(r, (uint64_t)i), i,
                                    sked_i_rng_below(r, 4) ? SKED_LAG_DEFAULT
                                                           : (double)sked_i_rng_below(r, 9),
                                    (double)sked_i_rng_below(r, 9), 0};
            OK(sked_builder_add_edge(b, &edge, err));
        }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* Devices of three types with any speed; all pairs have a link. */
static sked_machine *random_machine(sked_i_rng *r, int32_t devices)
{
    static const char *const types[] = {"a", "b", "c"};
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    char name[16];
    OK(sked_machine_builder_create("node", &b, err));
    for (int32_t d = 0; d < devices; d++) {
        snprintf(name, sizeof name, "d%d", (int)d);
        OK(sked_machine_builder_add_device(b, name, types[sked_i_rng_below(r, 3)],
                                           0.5 + sked_i_rng_uniform(r), INFINITY, NULL, err));
    }
    OK(sked_machine_builder_set_link(b, (double)sked_i_rng_below(r, 3), 0.5 + sked_i_rng_uniform(r), err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

/* kind: 0 equal devices, 1 transfers, 2 heterogeneous devices, 3 and ops that cannot run everywhere. */
static test_case make_case(sked_i_rng *r, int32_t n, uint64_t edges, int32_t devices, int kind)
{
    test_case c = {.graph = random_graph(r, n, edges, kind == 3)};
    sked_problem_init(&c.problem, c.graph);
    c.problem.devices = devices;
    if (kind == 1) {
        c.problem.latency = 1;
        c.problem.bandwidth = 2;
    }
    if (kind >= 2)
        c.problem.machine = c.machine = random_machine(r, devices);
    OK(instance_of(&c.problem, &c.instance, err));
    c.temperature = sked_i_instance_temperature(c.instance, 2 + 60 * sked_i_rng_uniform(r));
    return c;
}

static void clear_case(test_case *c)
{
    sked_i_instance_destroy(c->instance);
    sked_graph_destroy(c->graph);
    sked_machine_destroy(c->machine);
}

/* The widths are those the kernels are for. */
#define SHAPE(layers, temperature)                                                                       \
    {                                                                                                    \
        64, layers, 16, 128, temperature, 64, 64, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_UNIFORM, \
            SKED_I_RULE_NONE                                                                             \
    }
static const sked_i_sizes shapes[] = {SHAPE(1, 8), SHAPE(2, 16), SHAPE(3, 32)};
enum { n_shapes = sizeof shapes / sizeof *shapes };

/* A model, on the device and in double precision. Every parameter is away from 0. */
typedef struct test_model {
    sked_sampler *m;
    double *parameter;
    sked_i_gpu_model *device;
} test_model;

static test_model make_model(const sked_i_sizes *sizes, uint64_t seed)
{
    test_model t = {0};
    sked_i_gpu_shape shape;
    sked_i_rng r;
    OK(sked_i_sampler_create(sizes, &t.m, err));
    sked_i_sampler_start(t.m, seed);
    sked_i_rng_seed(&r, seed, 999);
    t.parameter = malloc((size_t)t.m->layout.total * sizeof *t.parameter);
    assert_non_null(t.parameter);
    for (int64_t i = 0; i < t.m->layout.total; i++) {
        t.m->parameter[i] += (float)(0.1 * sked_i_rng_normal(&r));
        t.parameter[i] = t.m->parameter[i];
    }
    sked_i_gflownet_gpu_shape_of(&t.m->layout, &shape);
    OK(cuda->create(&shape, &t.device, err));
    OK(cuda->put(t.device, t.m->parameter, NULL, NULL, err));
    return t;
}

static void clear_model(test_model *t)
{
    cuda->destroy(t->device);
    sked_sampler_destroy(t->m);
    free(t->parameter);
}

/* Trajectories of a case on the device. */
typedef struct test_walks {
    sked_i_gpu_problem problem;
    sked_i_gpu_walks walks;
} test_walks;

static void make_walks(test_walks *w, const test_case *c, int32_t count, int32_t listed)
{
    sked_i_layout layout;
    const size_t cells = (size_t)count * (size_t)c->instance->n;
    OK(sked_i_layout_init(&layout, &shapes[0], err));
    OK(sked_i_gflownet_gpu_problem_of(c->instance, &layout, c->temperature, &w->problem, err));
    w->walks = (sked_i_gpu_walks){.problem = &w->problem,
                                  .count = count,
                                  .listed = listed,
                                  .seed = 3,
                                  .first = 1000,
                                  .op = malloc(cells * sizeof(int32_t)),
                                  .device = malloc(cells * sizeof(int32_t)),
                                  .log_forward = malloc((size_t)count * sizeof(double)),
                                  .log_backward = malloc((size_t)count * sizeof(double)),
                                  .makespan = malloc((size_t)count * sizeof(double))};
}

static void clear_walks(test_walks *w)
{
    free(w->walks.op);
    free(w->walks.device);
    free(w->walks.log_forward);
    free(w->walks.log_backward);
    free(w->walks.makespan);
}

/* The CPU's batch with the trajectories of w. */
static void copy_steps(sked_i_batch_f64 *b, const sked_i_gpu_walks *w)
{
    const int32_t n = w->problem->n;
    for (int32_t k = 0; k < w->count; k++)
        for (int32_t i = 0; i < n; i++) {
            b->trajectory[k].op[i] = w->op[(int64_t)k * n + i];
            b->trajectory[k].device[i] = w->device[(int64_t)k * n + i];
        }
}

/* The other way. */
static void copy_steps_back(sked_i_gpu_walks *w, const sked_i_batch_f64 *b)
{
    const size_t n = (size_t)w->problem->n;
    for (int32_t k = 0; k < w->count; k++) {
        memcpy(w->op + (size_t)k * n, b->trajectory[k].op, n * sizeof *w->op);
        memcpy(w->device + (size_t)k * n, b->trajectory[k].device, n * sizeof *w->device);
    }
}

static bool same_steps(const sked_i_batch_f64 *b, const sked_i_gpu_walks *w, int32_t k)
{
    const size_t n = (size_t)w->problem->n;
    return memcmp(b->trajectory[k].op, w->op + (size_t)k * n, n * sizeof(int32_t)) == 0 &&
           memcmp(b->trajectory[k].device, w->device + (size_t)k * n, n * sizeof(int32_t)) == 0;
}

static void assert_near(double a, double b, double tolerance, const char *what)
{
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b))))
        fail_msg("%s: %.9g on the device, %.9g in double precision", what, a, b);
}

static void assert_same_numbers(const sked_i_batch_f64 *b, const sked_i_gpu_walks *w)
{
    for (int32_t k = 0; k < w->count; k++) {
        assert_near(w->makespan[k], b->trajectory[k].makespan, 1e-12, "makespan");
        assert_near(w->log_forward[k], b->trajectory[k].log_forward, 5e-4, "log P_F");
        assert_near(w->log_backward[k], b->trajectory[k].log_backward, 5e-4, "log P_B");
    }
}

/* ------------------------------------------------------------------ walks */

/* Draws: nearly all as the CPU draws them with the same random numbers; their numbers as the CPU replays
 * them. */
static void check_draws(const test_case *c, const test_model *t, int32_t count, bool greedy)
{
    sked_i_policy_f64 *policy = NULL;
    sked_i_batch_f64 *b = NULL;
    test_walks w;
    int32_t same = 0;
    make_walks(&w, c, count, greedy ? 0 : count / 3);
    w.walks.greedy = greedy;
    OK(sked_i_policy_create_f64(c->instance, &t->m->layout, &sked_i_kernels_cpu_f64, &policy, err));
    OK(sked_i_batch_create_f64(policy, count, 1, false, &b, err));
    sked_i_policy_prepare_f64(policy, t->parameter, c->temperature);
    OK(cuda->walk(t->device, 1, &w.walks, NULL, err));
    OK(sked_i_batch_sample_f64(b, w.walks.listed, greedy, w.walks.seed, w.walks.first, err));
    for (int32_t k = 0; k < count; k++)
        same += same_steps(b, &w.walks, k);
    if (same < count - 1 - count / 8)
        fail_msg("%d of %d trajectories are those of the CPU", (int)same, (int)count);
    copy_steps(b, &w.walks);
    OK(sked_i_batch_replay_f64(b, err));
    assert_same_numbers(b, &w.walks);
    w.walks.replay = true;
    OK(cuda->walk(t->device, 1, &w.walks, NULL, err));
    assert_same_numbers(b, &w.walks);
    clear_walks(&w);
    sked_i_batch_destroy_f64(b);
    sked_i_policy_destroy_f64(policy);
}

static void test_draws(void **state)
{
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 1, 0);
    for (int s = 0; s < n_shapes; s++) {
        test_model t = make_model(&shapes[s], (uint64_t)s);
        for (int kind = 0; kind < 4; kind++) {
            const int32_t n = 1 + (int32_t)sked_i_rng_below(&r, 24);
            test_case c =
                make_case(&r, n, 1 + sked_i_rng_below(&r, 4), 1 + (int32_t)sked_i_rng_below(&r, 5), kind);
            check_draws(&c, &t, 9, false);
            check_draws(&c, &t, 1, true);
            clear_case(&c);
        }
        clear_model(&t);
    }
}

/* More ready ops and devices than a step chooses among. */
static void test_bounded_choices(void **state)
{
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 2, 0);
    test_model t = make_model(&shapes[0], 5);
    for (int kind = 0; kind < 4; kind++) {
        test_case c = make_case(&r, 75 + 5 * kind, 2, 17 + kind, kind);
        check_draws(&c, &t, 3, false);
        clear_case(&c);
    }
    clear_model(&t);
}

/* How often trajectories are drawn, against what the CPU says of their probability. */
static void test_distribution(void **state)
{
    enum { count = 1500, ops = 3, most = 300 };
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 7, 0);
    test_model t = make_model(&shapes[0], 3);
    test_case c = make_case(&r, ops, 1, 3, 0);
    c.temperature = sked_i_instance_temperature(c.instance, 0.5);
    test_walks w;
    int32_t first[most], times[most], kinds = 0;
    double mass = 0;
    make_walks(&w, &c, count, 0);
    OK(cuda->walk(t.device, 1, &w.walks, NULL, err));
    for (int32_t k = 0; k < count; k++) {
        int32_t at = 0;
        while (at < kinds &&
               (memcmp(w.walks.op + ops * k, w.walks.op + ops * first[at], ops * sizeof(int32_t)) ||
                memcmp(w.walks.device + ops * k, w.walks.device + ops * first[at], ops * sizeof(int32_t))))
            at++;
        assert_true(at < most);
        if (at == kinds) {
            first[kinds] = k;
            times[kinds++] = 0;
        }
        times[at]++;
    }
    for (int32_t at = 0; at < kinds; at++) {
        const int32_t *device = w.walks.device + ops * first[at];
        int32_t used = 1; /* columns are opened in order */
        double forms = 3;
        for (int32_t i = 1; i < ops; i++)
            if (device[i] == used)
                forms *= 3 - used++;
        const double p = forms * exp(w.walks.log_forward[first[at]]), share = (double)times[at] / count;
        mass += p;
        assert_true(fabs(p - share) <= 5 * sqrt(p / count) + 1e-3);
    }
    print_message("%d trajectories, %.4f of all\n", (int)kinds, mass);
    assert_true(kinds > 3 && mass > 0.97 && mass < 1 + 1e-5);
    clear_walks(&w);
    clear_case(&c);
    clear_model(&t);
}

/* ------------------------------------------------------------------ gradients */

/* Relative error of a gradient, as a whole and of each parameter's block. */
static void assert_same_gradient(const sked_i_layout *layout, const float *got, const double *want)
{
    double all = 0, error = 0;
    for (int64_t i = 0; i < layout->total; i++)
        all += want[i] * want[i];
    for (int p = 0; p < layout->n_table; p++) {
        const sked_i_parameter *at = &layout->table[p];
        double square = 0, off = 0;
        for (int64_t i = at->offset; i < at->offset + (int64_t)at->rows * at->columns; i++) {
            square += want[i] * want[i];
            off += (got[i] - want[i]) * (got[i] - want[i]);
        }
        error += off;
        if (!(off <= 1e-6 * square + 1e-10 * all))
            fail_msg("%s: error %.3g of %.3g (all: %.3g)", at->name, sqrt(off), sqrt(square), sqrt(all));
    }
    if (!(error <= 1e-7 * all))
        fail_msg("error %.3g of %.3g", sqrt(error), sqrt(all));
}

/* Loss, centre and gradient of the walks as the CPU has them, added to `sum` after cutting. */
static void learn_on_cpu(const test_case *c, const test_model *t, sked_i_gpu_walks *w, double clip,
                         double share, double *sum)
{
    sked_i_policy_f64 *policy = NULL;
    sked_i_batch_f64 *b = NULL;
    const int64_t total = t->m->layout.total;
    double *gradient = calloc((size_t)total, sizeof *gradient), centre, square = 0;
    OK(sked_i_policy_create_f64(c->instance, &t->m->layout, &sked_i_kernels_cpu_f64, &policy, err));
    OK(sked_i_batch_create_f64(policy, w->count, 1, true, &b, err));
    sked_i_policy_prepare_f64(policy, t->parameter, c->temperature);
    copy_steps(b, w);
    OK(sked_i_batch_replay_f64(b, err));
    assert_same_numbers(b, w);
    const double loss = sked_i_batch_loss_f64(b, &centre);
    OK(batch_grad(b, gradient, err));
    for (int64_t i = 0; i < total; i++)
        square += gradient[i] * gradient[i];
    assert_near(w->loss, loss, 2e-3, "loss");
    assert_near(w->log_z, centre, 1e-3, "log Z");
    assert_near(w->norm, sqrt(square), 2e-3, "norm");
    for (int64_t i = 0; i < total; i++)
        sum[i] += fmin(1, clip / sqrt(square)) * share * gradient[i];
    sked_i_batch_destroy_f64(b);
    sked_i_policy_destroy_f64(policy);
    free(gradient);
}

/*
 * One problem of some ops by another loss: trajectory balance in one walk; credit by steps on what the CPU
 * drew; PPO on what was drawn with other parameters. How many slopes of steps the bound of Huber cuts.
 */
static int check_loss(sked_i_rng *r, const sked_i_sizes *sizes, const sked_i_loss *law, int32_t ops, int kind)
{
    enum { count = 7 };
    const bool ppo = law->kind == SKED_I_LOSS_PPO, drawn = ppo || law->by_steps;
    int cut = 0;
    test_model t = make_model(sizes, 3);
    const int64_t total = t.m->layout.total;
    test_case c = make_case(r, ops, 2, ops / 3, kind);
    test_walks w;
    if (law->by_steps && !ppo)
        c.temperature /= 5; /* some steps are further from the mean than the bound */
    make_walks(&w, &c, count, ppo && !law->by_steps ? 0 : 2);
    sked_i_gpu_walks *x = &w.walks;
    double centre;
    float *got = calloc((size_t)total, sizeof *got);
    double *want = calloc((size_t)total, sizeof *want);
    sked_i_policy_f64 *policy = NULL;
    sked_i_batch_f64 *b = NULL;
    OK(sked_i_policy_create_f64(c.instance, &t.m->layout, &sked_i_kernels_cpu_f64, &policy, err));
    OK(sked_i_batch_create_f64(policy, count, 1, true, &b, err));
    OK(sked_i_batch_set_loss_f64(b, law, err));
    x->loss_of = *law;
    x->replay = drawn;
    sked_i_policy_prepare_f64(policy, t.parameter, c.temperature);
    if (drawn) {
        OK(sked_i_batch_sample_f64(b, x->listed, false, x->seed, x->first, err));
        copy_steps_back(x, b);
    }
    OK(cuda->learn(t.device, 1, x, NULL, err));
    OK(cuda->finish(t.device, err));
    if (!drawn) {
        copy_steps(b, x);
        OK(sked_i_batch_replay_f64(b, err));
    }
    if (ppo) {
        /* What is not drawn may be unlikely, and its ratios beyond bounds. */
        const double most = x->listed > 0 ? 0.02 : 0.2;
        for (int64_t i = 0; i < total; i++) {
            t.m->parameter[i] *= (float)(1 + most * sin((double)i));
            t.parameter[i] = t.m->parameter[i];
        }
        OK(cuda->put(t.device, t.m->parameter, NULL, NULL, err));
        OK(cuda->again(t.device, NULL, err));
        OK(cuda->finish(t.device, err));
        sked_i_policy_prepare_f64(policy, t.parameter, c.temperature);
    }
    OK(cuda->add(t.device, 1e9, 1, got, err));
    OK(batch_grad(b, want, err));
    assert_near(x->loss, sked_i_batch_loss_f64(b, &centre), 2e-3, "loss");
    assert_near(x->pull, sked_i_batch_pull_f64(b), 2e-3, "pull");
    assert_near(x->speedup, sked_i_batch_speedup_f64(b, x->listed), 1e-9, "speedup");
    assert_true(law->kind != SKED_I_LOSS_TB || x->log_z == law->log_z);
    assert_near(x->log_z, centre, 2e-3, "log Z");
    assert_same_gradient(&t.m->layout, got, want);
    for (int32_t k = x->listed; k < count && law->by_steps; k++)
        for (int32_t i = 0; i < ops; i++)
            cut += fabs(b->trajectory[k].step_slope[i]) == 40.0 / count;
    sked_i_batch_destroy_f64(b);
    sked_i_policy_destroy_f64(policy);
    clear_walks(&w);
    clear_case(&c);
    free(got);
    free(want);
    clear_model(&t);
    return cut;
}

static void test_other_losses(void **state)
{
    static const sked_i_loss laws[] = {{.kind = SKED_I_LOSS_TB, .log_z = -9},
                                       {.kind = SKED_I_LOSS_PPO, .clip = 0.05},
                                       {.kind = SKED_I_LOSS_PPO, .clip = 0.05, .entropy = 2}};
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 31, 0);
    for (int k = 0; k < 3; k++) {
        check_loss(&r, &shapes[0], &laws[k], 12, 0);
        check_loss(&r, &shapes[1], &laws[k], 12, 1);
    }
}

/* Credit by steps; also with more ready ops and devices than a step chooses among. */
static void test_credit_by_steps(void **state)
{
    static const double lambdas[] = {0, 0.6, 1};
    sked_i_rng r;
    int cut = 0;
    (void)state;
    sked_i_rng_seed(&r, 37, 0);
    for (int k = 0; k < 3; k++) {
        const sked_i_loss laws[] = {
            {.by_steps = true, .lambda = lambdas[k]},
            {.kind = SKED_I_LOSS_PPO, .by_steps = true, .lambda = lambdas[k], .clip = 0.05, .entropy = k}};
        for (int kind = 0; kind < 4; kind++)
            cut += check_loss(&r, &shapes[0], &laws[0], 12, kind);
        check_loss(&r, &shapes[0], &laws[1], 12, 0);
        check_loss(&r, &shapes[1], &laws[1], 12, 3);
        if (k == 1)
            check_loss(&r, &shapes[0], &laws[0], 75, 2);
    }
    print_message("%d slopes of steps are at the bound\n", cut);
    assert_true(cut > 10 && cut < 3 * 4 * 5 * 12 / 2);
}

/* Several problems at once, in one walk: the gradient of each, cut, and their sum. Problems of all kinds in
 * turn, or of kind 0 alone. */
static void check_gradient(sked_i_rng *r, const sked_i_sizes *sizes, uint64_t seed, int problems, bool plain,
                           double clip)
{
    enum { most = 4 };
    test_model t = make_model(sizes, seed);
    test_case c[most];
    test_walks w[most];
    sked_i_gpu_walks walks[most];
    const int64_t total = t.m->layout.total;
    float *got = calloc((size_t)total, sizeof *got);
    double *want = calloc((size_t)total, sizeof *want);
    for (int k = 0; k < problems; k++) {
        const int32_t n = 2 + (int32_t)sked_i_rng_below(r, 18), devices = 1 + (int32_t)sked_i_rng_below(r, 5);
        c[k] = make_case(r, n, 1 + sked_i_rng_below(r, 4), devices, plain ? 0 : (k + (int)seed) % 4);
        make_walks(&w[k], &c[k], 5 + 3 * k, k);
        walks[k] = w[k].walks;
    }
    OK(cuda->learn(t.device, problems, walks, NULL, err));
    OK(cuda->finish(t.device, err));
    OK(cuda->add(t.device, clip, 0.25, got, err));
    for (int k = 0; k < problems; k++)
        learn_on_cpu(&c[k], &t, &walks[k], clip, 0.25, want);
    assert_same_gradient(&t.m->layout, got, want);
    for (int k = 0; k < problems; k++) {
        clear_walks(&w[k]);
        clear_case(&c[k]);
    }
    free(got);
    free(want);
    clear_model(&t);
}

static void test_gradients(void **state)
{
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 3, 0);
    for (int s = 0; s < n_shapes; s++) {
        for (uint64_t seed = 0; seed < 4; seed++)
            check_gradient(&r, &shapes[s], seed, 1, false, 1e9);
        check_gradient(&r, &shapes[s], 9, 4, false, 1);
    }
    check_gradient(&r, &shapes[1], 9, 4, true, 1); /* walks that share a block, in several turns */
}

/* Part of the state, and the weights, in global memory. */
static void test_little_shared(void **state)
{
    static const sked_i_sizes shape = SHAPE(1, 24); /* no other test puts away such a model */
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 3, 0);
    setenv("SKED_EMULATE_SHARED", "40000", 1); /* a real GPU takes no notice: it has long graphs for this */
    test_model t = make_model(&shape, 5);
    for (int kind = 0; kind < 4; kind++) {
        test_case c = make_case(&r, 20, 2, kind == 3 ? 20 : 4, kind);
        check_draws(&c, &t, 10, false);
        clear_case(&c);
        check_gradient(&r, &shape, (uint64_t)kind, 1, false, 1e9);
    }
    clear_model(&t);
    unsetenv("SKED_EMULATE_SHARED");
}

/* Parameters and moments after two steps of Adam, as the CPU makes them of the same gradients. */
static void test_update(void **state)
{
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 4, 0);
    test_model t = make_model(&shapes[1], 1);
    test_case c = make_case(&r, 9, 3, 2, 1);
    test_walks w;
    const int64_t total = t.m->layout.total;
    float *gradient = malloc((size_t)total * sizeof *gradient),
          *block = malloc(3 * (size_t)total * sizeof *block);
    make_walks(&w, &c, 6, 1);
    t.m->rate = 0.01;
    for (int k = 0; k < 2; k++) {
        const sked_i_adam adam = sked_i_sampler_adam(t.m);
        const sked_i_gpu_step step = {2, 0.5, adam.rate, adam.left1, adam.left2};
        memset(gradient, 0, (size_t)total * sizeof *gradient);
        OK(cuda->learn(t.device, 1, &w.walks, NULL, err));
        OK(cuda->finish(t.device, err));
        OK(cuda->add(t.device, step.clip, step.share, gradient, err));
        OK(cuda->update(t.device, &step, k == 0 ? NULL : gradient, err));
        adam_update(t.m, gradient, 1e9);
    }
    OK(cuda->get(t.device, block, block + total, block + 2 * total, err));
    for (int64_t i = 0; i < total; i++) {
        assert_near(block[i], t.m->parameter[i], 1e-6, "parameter");
        assert_near(block[total + i], t.m->moment1[i], 1e-6, "mean");
        assert_near(block[2 * total + i], t.m->moment2[i], 1e-6, "mean square");
    }
    free(gradient);
    free(block);
    clear_walks(&w);
    clear_case(&c);
    clear_model(&t);
}

/* ------------------------------------------------------------------ the same bytes, limits, memory */

static void check_same_bytes(const sked_i_loss *law)
{
    sked_i_rng r;
    sked_i_rng_seed(&r, 5, 0);
    test_case c = make_case(&r, 14, 3, 3, 1);
    double numbers[2][3][8];
    float *gradient[2];
    for (int k = 0; k < 2; k++) {
        test_model t = make_model(&shapes[1], 7);
        test_walks w;
        make_walks(&w, &c, 8, 2);
        w.walks.loss_of = *law;
        gradient[k] = calloc((size_t)t.m->layout.total, sizeof *gradient[k]);
        OK(cuda->learn(t.device, 1, &w.walks, NULL, err));
        OK(cuda->finish(t.device, err));
        OK(cuda->add(t.device, 1, 1, gradient[k], err));
        memcpy(numbers[k][0], w.walks.log_forward, sizeof numbers[k][0]);
        memcpy(numbers[k][1], w.walks.log_backward, sizeof numbers[k][1]);
        memcpy(numbers[k][2], w.walks.makespan, sizeof numbers[k][2]);
        if (k == 1)
            assert_memory_equal(gradient[0], gradient[1], (size_t)t.m->layout.total * sizeof(float));
        clear_walks(&w);
        clear_model(&t);
    }
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    free(gradient[0]);
    free(gradient[1]);
    clear_case(&c);
}

static void test_same_bytes(void **state)
{
    const sked_i_loss law = {0}, steps = {.by_steps = true, .lambda = 0.6};
    (void)state;
    check_same_bytes(&law);
    check_same_bytes(&steps);
}

/* The gradient of the lessons from `from` up to `end`, added to what is there. */
static void learn_some(const test_model *t, const test_case *c, const sked_i_loss *law, int from, int end,
                       float *gradient)
{
    enum { count = 4, most = 4 };
    test_walks w[most];
    sked_i_gpu_walks walks[most];
    for (int k = from; k < end; k++) {
        make_walks(&w[k], &c[k], count, 1);
        w[k].walks.loss_of = *law;
        walks[k] = w[k].walks;
        walks[k].crowd = most * count;
    }
    OK(cuda->learn(t->device, end - from, walks + from, NULL, err));
    OK(cuda->finish(t->device, err));
    OK(cuda->add(t->device, 1, 0.25, gradient, err));
    for (int k = from; k < end; k++)
        clear_walks(&w[k]);
}

/* Lessons of an update are learnt to the bit as they are together by processes that share them. */
static void check_shares(sked_i_rng *r, const sked_i_sizes *sizes, const sked_i_loss *law, int kinds)
{
    enum { lessons = 4 };
    test_model t = make_model(sizes, 7);
    test_case c[lessons];
    const size_t bytes = (size_t)t.m->layout.total * sizeof(float);
    float *all = calloc(1, bytes), *parts = calloc(1, bytes);
    for (int k = 0; k < lessons; k++)
        c[k] = make_case(r, 10 + k, 3, 3, k % kinds);
    learn_some(&t, c, law, 0, lessons, all);
    learn_some(&t, c, law, 0, 1, parts);
    learn_some(&t, c, law, 1, 3, parts);
    learn_some(&t, c, law, 3, lessons, parts);
    assert_memory_equal(all, parts, bytes);
    free(all);
    free(parts);
    for (int k = 0; k < lessons; k++)
        clear_case(&c[k]);
    clear_model(&t);
}

static void test_shares(void **state)
{
    const sked_i_loss law = {0}, steps = {.by_steps = true, .lambda = 0.6};
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 8, 0);
    check_shares(&r, &shapes[0], &law, 1);
    check_shares(&r, &shapes[1], &law, 4);
    check_shares(&r, &shapes[0], &steps, 4);
}

/* A walk of several launches is the walk of one; a limit is heard between two of them. */
static void test_long_walks(void **state)
{
    enum { ops = 530 };
    volatile sig_atomic_t stop = 1;
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 6, 0);
    test_model t = make_model(&shapes[0], 1);
    test_case c = make_case(&r, ops, 5, 3, 1);
    test_walks w;
    check_draws(&c, &t, 1, false);
    make_walks(&w, &c, 2, 0);
    sked_i_limit limit = {.begin = sked_clock(), .deadline = INFINITY, .stop = &stop};
    FAILS(SKED_ERR_STOPPED, "", cuda->walk(t.device, 1, &w.walks, &limit, err));
    assert_true(isnan(w.walks.makespan[0]) && isnan(w.walks.makespan[1]));
    stop = 0;
    limit.deadline = sked_clock() + 1e-3; /* the first launch takes longer, on the slowest GPU and emulated */
    const sked_status st = cuda->walk(t.device, 1, &w.walks, &limit, NULL);
    assert_true(st == SKED_ERR_STOPPED || (st == SKED_OK && w.walks.makespan[0] > 0));
    clear_walks(&w);
    clear_case(&c);
    clear_model(&t);
}

/* The emulated GPU has `bytes` from now on, over what is always left free; 0: plenty. A real one takes no
 * notice. */
static void set_memory(int64_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)bytes + (64 << 20));
    if (bytes > 0)
        setenv("SKED_EMULATE_MEMORY", text, 1);
    else
        unsetenv("SKED_EMULATE_MEMORY");
}

/* Memory for some trajectories only: the others follow. For none, or too few to learn from: an error. */
static void test_memory(void **state)
{
    enum { count = 24 };
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 8, 0);
    test_model t = make_model(&shapes[0], 1);
    test_case c = make_case(&r, 100, 3, 40, 1);
    test_walks w, part;
    sked_i_gpu_shape shape, other;
    sked_i_gpu_model *none = NULL;
    sked_error why = {0};
    int32_t same = 0;
    make_walks(&w, &c, count, 2);
    make_walks(&part, &c, count, 2);
    OK(cuda->walk(t.device, 1, &w.walks, NULL, err));
    sked_i_gflownet_gpu_shape_of(&t.m->layout, &shape);
    cuda->destroy(t.device);
    other = shape;
    other.total += 8; /* the one put away does not serve */
    set_memory(1000);
    const sked_status st = cuda->create(&other, &none, &why);
    if (st == SKED_OK) {
        t.device = none;
        print_message("skipped: a real GPU\n");
    } else {
        assert_int_equal(st, SKED_ERR_DEVICE);
        assert_non_null(strstr(why.message, "the model needs"));
        set_memory(4000000);
        OK(cuda->create(&shape, &t.device, err));
        OK(cuda->put(t.device, t.m->parameter, NULL, NULL, err));
        OK(cuda->walk(t.device, 1, &part.walks, NULL, err));
        for (int32_t k = 0; k < count; k++) {
            const size_t bytes = 100 * sizeof(int32_t), at = (size_t)k * 100;
            same += memcmp(w.walks.op + at, part.walks.op + at, bytes) == 0 &&
                    memcmp(w.walks.device + at, part.walks.device + at, bytes) == 0;
        }
        assert_true(same >= count - 3);
        FAILS(SKED_ERR_DEVICE, "schedules fit at once", cuda->learn(t.device, 1, &part.walks, NULL, err));
    }
    set_memory(0);
    clear_walks(&w);
    clear_walks(&part);
    clear_case(&c);
    clear_model(&t);
}

/* ------------------------------------------------------------------ from the outside */

/* sked_sampler_sample: the schedules of the CPU, but for a few. */
static void test_sample(void **state)
{
    enum { count = 12 };
    const sked_generate_options how = {.size = sizeof how, .nodes = 15, .seed = 4};
    sked_graph *g = NULL;
    sked_problem p;
    sked_sampler *m = NULL;
    sked_sample_options opt;
    sked_samples s[2] = {{.size = sizeof s[0]}, {.size = sizeof s[0]}};
    int same = 0;
    (void)state;
    OK(sked_graph_generate("layered", &how, &g, err));
    OK(sked_i_sampler_create(&shapes[0], &m, err));
    sked_i_sampler_start(m, 1);
    for (int64_t i = 0; i < m->layout.total; i++)
        m->parameter[i] += 0.02f * (float)(i % 5 - 2);
    m->largest = 10; /* the graph is larger, so the rule speaks, too */
    sked_problem_init(&p, g);
    p.devices = 3;
    p.latency = 1;
    sked_sample_options_init(&opt);
    opt.count = count;
    opt.raw = true;
    for (int k = 0; k < 2; k++) {
        opt.backend = k == 0 ? "cpu" : "cuda";
        OK(sked_sampler_sample(m, &p, &opt, &s[k], err));
        assert_int_equal(s[k].count, count);
    }
    for (int k = 0; k < count; k++) {
        OK(sked_schedule_validate(&p, s[1].schedule[k], err));
        same += s[0].makespan[k] == s[1].makespan[k] && fabs(s[0].log_prob[k] - s[1].log_prob[k]) < 1e-3;
    }
    assert_true(same >= count - 2);
    assert_near(s[1].log_z, s[0].log_z, 1e-2, "log Z");
    sked_samples_clear(&s[0]);
    sked_samples_clear(&s[1]);
    sked_sampler_destroy(m);
    sked_graph_destroy(g);
}

static void keep_speedup(void *speedup, const sked_train_progress *p)
{
    *(double *)speedup = p->speedup;
}

static sked_sampler *trained(const char *backend, const char *loss, const char *credit, int64_t steps,
                             const char *resume, const char *output)
{
    double speedup = 0;
    const char *const settings[] = {"layers=1", loss,         "batch=6",  "validate=2",
                                    "graphs=2", "held-out=1", "epochs=3", credit};
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_train_options_init(&opt);
    opt.graphs = "layered:5-9";
    opt.devices = 3;
    opt.steps = steps;
    opt.backend = backend;
    opt.settings = settings;
    opt.n_settings = sizeof settings / sizeof *settings;
    opt.resume = resume;
    opt.output = output;
    opt.progress = keep_speedup;
    opt.progress_data = &speedup;
    OK(sked_train(&opt, &m, err));
    assert_true(speedup > 0);
    return m;
}

/* Training on the device stays near that on the CPU, and a resumed run is the same to the bit. */
static void check_training(const char *loss, const char *credit)
{
    const char *file = SKED_BINARY_DIR "/test_cuda_gflownet.safetensors";
    sked_sampler *cpu = trained("cpu", loss, credit, 4, NULL, NULL),
                 *through = trained("cuda", loss, credit, 4, NULL, NULL);
    sked_sampler *half = trained("cuda", loss, credit, 2, NULL, file),
                 *rest = trained("cuda", loss, credit, 4, file, NULL);
    const int64_t total = cpu->layout.total;
    for (int64_t i = 0; i < total; i++)
        assert_near(through->parameter[i], cpu->parameter[i], 1e-4, "parameter");
    for (int i = 0; cpu->log_z != NULL && i < SKED_I_LOG_Z_TOTAL; i++)
        assert_near(through->log_z->parameter[i], cpu->log_z->parameter[i], 1e-4, "parameter of log Z");
    assert_memory_equal(rest->parameter, through->parameter, (size_t)total * sizeof(float));
    assert_memory_equal(rest->moment2, through->moment2, (size_t)total * sizeof(float));
    assert_memory_not_equal(half->parameter, rest->parameter, (size_t)total * sizeof(float));
    sked_sampler_destroy(cpu);
    sked_sampler_destroy(through);
    sked_sampler_destroy(half);
    sked_sampler_destroy(rest);
}

static void test_training(void **state)
{
    (void)state;
    check_training("loss=variance", "credit=trajectory");
    check_training("loss=variance", "credit=steps");
    check_training("loss=tb", "credit=trajectory");
    check_training("loss=ppo", "credit=trajectory");
    check_training("loss=ppo", "credit=steps");
}

/* The one-shot pipeline on the device: members that compute on the CPU alone do so. */
static void test_robust_members(void **state)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = 8, .seed = 4};
    sked_graph *g = NULL;
    sked_problem p;
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    (void)state;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 2;
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.candidates = 3;
    opt.top = 2;
    opt.iterations = 2;
    opt.time_limit = INFINITY;
    opt.backend = "cuda";
    OK(sked_robust(&p, "linear", &opt, &r, err));
    assert_true(r.count > 2);
    for (int k = 0; k < r.count; k++)
        assert_true(r.member[k]->count > 0);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),           cmocka_unit_test(test_bounded_choices),
        cmocka_unit_test(test_little_shared),   cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_gradients),       cmocka_unit_test(test_other_losses),
        cmocka_unit_test(test_credit_by_steps), cmocka_unit_test(test_update),
        cmocka_unit_test(test_same_bytes),      cmocka_unit_test(test_shares),
        cmocka_unit_test(test_long_walks),      cmocka_unit_test(test_memory),
        cmocka_unit_test(test_sample),          cmocka_unit_test(test_training),
        cmocka_unit_test(test_robust_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
