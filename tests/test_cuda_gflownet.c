/* The encode-once policy on CUDA against the CPU's in double precision, on random graphs, machines and
 * models. */
#define SKED_REAL_DOUBLE
#include "test.h"

#include "backend/gflownet.h"
#include "base/rng.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/device.h"
#include "method/gflownet/network/sampler.h"

#include <math.h>

extern const sked_i_once_backend sked_i_once_cuda;
static const sked_i_once_backend *const cuda = &sked_i_once_cuda;

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

/* kind: 0 equal devices, 1 transfers, 2 unequal devices, 3 and ops that cannot run everywhere. */
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
    OK(sked_i_instance_create(&c.problem, NULL, &c.instance, err));
    c.temperature = sked_i_instance_temperature(c.instance, 2 + 60 * sked_i_rng_uniform(r));
    return c;
}

static void clear_case(test_case *c)
{
    sked_i_instance_destroy(c->instance);
    sked_graph_destroy(c->graph);
    sked_machine_destroy(c->machine);
}

static const sked_i_sizes shapes[] = {
    {16, 1, 8, 32, 16, 32, 64, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_UNIFORM},
    {24, 2, 16, 16, 8, 24, 72, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_LEARNED},
    {64, 3, 16, 128, 32, 64, 64, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_UNIFORM},
    {40, 1, 40, 24, 8, 104, 16, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_LEARNED},
};
enum { n_shapes = sizeof shapes / sizeof *shapes };

/* A model, on the device and in double precision. Every parameter is away from 0. */
typedef struct test_model {
    sked_sampler *m;
    double *parameter;
    sked_i_once_device *device;
} test_model;

static test_model make_model(const sked_i_sizes *sizes, uint64_t seed)
{
    test_model t = {0};
    sked_i_once_shape shape;
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
    sked_i_once_shape_of(&t.m->layout, &shape);
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
    sked_i_once_problem problem;
    sked_i_once_walks walks;
} test_walks;

static void make_walks(test_walks *w, const test_case *c, int32_t count, int32_t listed)
{
    const size_t cells = (size_t)count * (size_t)c->instance->n;
    sked_i_once_problem_of(c->instance, c->temperature, &w->problem);
    w->walks = (sked_i_once_walks){.problem = &w->problem,
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
static void copy_steps(sked_i_batch_f64 *b, const sked_i_once_walks *w)
{
    const int32_t n = w->problem->n;
    for (int32_t k = 0; k < w->count; k++)
        for (int32_t i = 0; i < n; i++) {
            b->trajectory[k].op[i] = w->op[(int64_t)k * n + i];
            b->trajectory[k].device[i] = w->device[(int64_t)k * n + i];
        }
}

static bool same_steps(const sked_i_batch_f64 *b, const sked_i_once_walks *w, int32_t k)
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

static void assert_same_numbers(const sked_i_batch_f64 *b, const sked_i_once_walks *w)
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
        test_case c = make_case(&r, 90 + 30 * kind, 2, 17 + 5 * kind, kind);
        check_draws(&c, &t, 4, false);
        clear_case(&c);
    }
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
static void learn_on_cpu(const test_case *c, const test_model *t, sked_i_once_walks *w, double clip, double share,
                         double *sum)
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
    OK(sked_i_batch_grad_f64(b, gradient, err));
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

/* Several problems at once, in one walk: the gradient of each, cut, and their sum. */
static void check_gradient(sked_i_rng *r, const sked_i_sizes *sizes, uint64_t seed, int problems, double clip)
{
    enum { most = 4 };
    test_model t = make_model(sizes, seed);
    test_case c[most];
    test_walks w[most];
    sked_i_once_walks walks[most];
    const int64_t total = t.m->layout.total;
    float *got = calloc((size_t)total, sizeof *got);
    double *want = calloc((size_t)total, sizeof *want);
    for (int k = 0; k < problems; k++) {
        const int32_t n = 2 + (int32_t)sked_i_rng_below(r, 18), devices = 1 + (int32_t)sked_i_rng_below(r, 5);
        c[k] = make_case(r, n, 1 + sked_i_rng_below(r, 4), devices, (k + (int)seed) % 4);
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
            check_gradient(&r, &shapes[s], seed, 1, 1e9);
        check_gradient(&r, &shapes[s], 9, 4, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_bounded_choices),
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
