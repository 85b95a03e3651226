/*
 * A stepwise policy on a GPU, or on its emulation, beside the CPU's: what test_cuda_stepwise compares in
 * double precision and test_cuda_long, whose graphs take too long for that, in single precision. The file
 * that includes it says SKED_REAL_DOUBLE or not.
 */
#ifndef SKED_TESTS_STEPWISE_FIXTURE_H
#define SKED_TESTS_STEPWISE_FIXTURE_H
#include "test.h"
#include "whole_batch.h"

#include "base/memory.h"
#include "base/rng.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/gflownet_gpu.h"

#include <math.h>

/*
 * The emulator computes with whole floats, so that a small mistake shows; with SKED_EMULATE_TF32 it rounds as
 * tensor cores do, and tolerances are those of the GPU.
 */
#ifdef SKED_CUDA_EMULATED
enum { emulated = 1 };
#else
enum { emulated = 0 };
#endif

static bool rounds(void)
{
    return !emulated || getenv("SKED_EMULATE_TF32") != NULL;
}

/* A GPU, or an emulator with time for what takes long. */
static bool patient(void)
{
    return !emulated || getenv("SKED_EMULATE_LARGE") != NULL;
}

typedef struct setting {
    const char *family;
    int32_t nodes, devices;
    uint64_t seed;
    sked_i_sizes sizes;
    double temperature;
    int32_t batch;
} setting;

/* dim, layers, head, mlp, temperature, context, width, slots */
#define DEFAULT_SIZES(backward)                                                                             \
    {                                                                                                       \
        64, 3, 16, 128, 32, 64, 64, 8, SKED_I_POLICY_STEPWISE, SKED_I_BACKWARD_##backward, SKED_I_RULE_NONE \
    }
#define TILES_WITH(layers, slots, backward, rule)                                                 \
    {                                                                                             \
        64, layers, 16, 128, 8, 8, 64, slots, SKED_I_POLICY_STEPWISE, SKED_I_BACKWARD_##backward, \
            SKED_I_RULE_##rule                                                                    \
    }
#define TILES(layers, slots, backward) TILES_WITH(layers, slots, backward, NONE)
/* What log-probabilities of a step may differ by where nothing is rounded but the CPU's numbers. */
static const double plain = sizeof(real) == sizeof(double) ? 1e-6 : 2e-5;

/* A problem for both sides. */
typedef struct fixture {
    const setting *s;
    sked_graph *graph;
    sked_i_instance *instance;
    sked_i_layout layout;
    real *parameter;
    float *single;
    RN(policy) * policy;
    RN(batch) * batch;
    sked_i_gpu_problem problem;
    sked_i_gpu_walks walks;
    int32_t *op, *device; /* [batch * ops] */
    double *log_forward, *log_backward, *makespan;
} fixture;

static void *room(int64_t count, size_t size)
{
    void *p = sked_i_alloc_zero(count, size);
    assert_non_null(p);
    return p;
}

/* Parameters of some size everywhere: with those of a new model most gradients would be 0. */
static void fill_parameters(fixture *f)
{
    sked_i_rng rng;
    f->parameter = room(f->layout.total, sizeof *f->parameter);
    f->single = room(f->layout.total, sizeof *f->single);
    for (int k = 0; k < f->layout.n_table; k++) {
        const sked_i_parameter *p = &f->layout.table[k];
        const double spread = p->rows > 1 ? 1 / sqrt(p->rows) : 0.3;
        sked_i_rng_seed(&rng, 11, (uint64_t)k);
        for (int64_t i = 0; i < (int64_t)p->rows * p->columns; i++) {
            const double base = p->initial == SKED_I_INITIAL_ONE ? 1 : 0;
            f->single[p->offset + i] = (float)(base + spread * sked_i_rng_normal(&rng));
            f->parameter[p->offset + i] = f->single[p->offset + i];
        }
    }
}

static void make_fixture(const setting *s, fixture *f)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = s->nodes, .seed = s->seed};
    const int64_t cells = (int64_t)s->batch * s->nodes;
    sked_problem problem;
    *f = (fixture){.s = s};
    OK(sked_graph_generate(s->family, &how, &f->graph, err));
    sked_problem_init(&problem, f->graph);
    problem.devices = s->devices;
    OK(instance_of(&problem, &f->instance, err));
    OK(sked_i_layout_init(&f->layout, &s->sizes, err));
    fill_parameters(f);
    OK(RN(policy_create)(f->instance, &f->layout, &RN(kernels_cpu), &f->policy, err));
    OK(RN(batch_create)(f->policy, s->batch, s->nodes < 100 ? 1 : s->batch, true, &f->batch, err));
    RN(policy_prepare)(f->policy, f->parameter, s->temperature);
    OK(sked_i_gflownet_gpu_problem_of(f->instance, &f->layout, s->temperature, &f->problem, err));
    f->op = room(cells, sizeof *f->op);
    f->device = room(cells, sizeof *f->device);
    f->log_forward = room(s->batch, sizeof(double));
    f->log_backward = room(s->batch, sizeof(double));
    f->makespan = room(s->batch, sizeof(double));
    f->walks = (sked_i_gpu_walks){.problem = &f->problem,
                                  .count = s->batch,
                                  .seed = 5,
                                  .op = f->op,
                                  .device = f->device,
                                  .log_forward = f->log_forward,
                                  .log_backward = f->log_backward,
                                  .makespan = f->makespan};
}

static void clear_fixture(fixture *f)
{
    RN(batch_destroy)(f->batch);
    RN(policy_destroy)(f->policy);
    sked_i_instance_destroy(f->instance);
    sked_graph_destroy(f->graph);
    free(f->parameter);
    free(f->single);
    free(f->op);
    free(f->device);
    free(f->log_forward);
    free(f->log_backward);
    free(f->makespan);
}

extern const sked_i_gpu_policy sked_i_stepwise_cuda;
static const sked_i_gpu_policy *policy(void)
{
    return &sked_i_stepwise_cuda;
}

static sked_i_gpu_model *open_model(const fixture *f)
{
    sked_i_gpu_shape shape;
    sked_i_gpu_model *m = NULL;
    OK(sked_i_gflownet_gpu_check(&f->layout, err));
    sked_i_gflownet_gpu_shape_of(&f->layout, &shape);
    OK(policy()->create(&shape, &m, err));
    OK(policy()->put(m, f->single, NULL, NULL, err));
    return m;
}

/* The trajectories of the CPU's batch to the GPU. */
static void replay_these(fixture *f)
{
    const int32_t n = f->instance->n;
    for (int64_t k = 0; k < f->s->batch; k++) {
        memcpy(f->op + k * n, f->batch->trajectory[k].op, (size_t)n * sizeof *f->op);
        memcpy(f->device + k * n, f->batch->trajectory[k].device, (size_t)n * sizeof *f->device);
    }
    f->walks.replay = true;
}

/* The gradient of what was learnt last: [total] */
static float *gradient_of(const fixture *f, sked_i_gpu_model *m)
{
    float *gradient = room(f->layout.total, sizeof *gradient);
    OK(policy()->add(m, INFINITY, 1, gradient, err));
    return gradient;
}

/* What the GPU gave for the trajectories of the CPU's batch. */
static void compare_walks(const fixture *f, double tolerance)
{
    double worst = 0;
    for (int32_t k = 0; k < f->s->batch; k++) {
        const sked_i_trajectory *t = &f->batch->trajectory[k];
        assert_true(t->makespan == f->makespan[k]);
        worst = fmax(worst, fabs(t->log_forward - f->log_forward[k]));
        worst = fmax(worst, fabs(t->log_backward - f->log_backward[k]));
    }
    print_message("%s %d on %d: log P differs by %.3g\n", f->s->family, (int)f->s->nodes, (int)f->s->devices,
                  worst);
    if (!(worst <= tolerance * f->s->nodes))
        fail_msg("log-probabilities differ by %g", worst);
}

static void compare_gradients(const fixture *f, const float *got, const real *want, double tolerance)
{
    double square = 0, largest = 0;
    for (int64_t i = 0; i < f->layout.total; i++) {
        square += want[i] * want[i];
        largest = fmax(largest, fabs(got[i] - want[i]));
    }
    const double scale = sqrt(square);
    assert_true(scale > 1e-6);
    print_message("%s %d on %d: gradient of norm %.3g differs by %.3g of it at most\n", f->s->family,
                  (int)f->s->nodes, (int)f->s->devices, scale, largest / scale);
    for (int k = 0; k < f->layout.n_table; k++) {
        const sked_i_parameter *p = &f->layout.table[k];
        for (int64_t i = p->offset; i < p->offset + (int64_t)p->rows * p->columns; i++)
            if (!(fabs(got[i] - want[i]) <= tolerance * scale))
                fail_msg("%s[%lld]: %.9g, not %.9g (norm %g)", p->name, (long long)(i - p->offset),
                         (double)got[i], want[i], scale);
    }
}

/* Log-probabilities and gradients of trajectories that the CPU drew. */
static void check_setting(const setting *s)
{
    fixture f;
    double log_z;
    make_fixture(s, &f);
    sked_i_gpu_model *m = open_model(&f);
    real *want = room(f.layout.total, sizeof *want);
    OK(RN(batch_sample)(f.batch, s->batch / 3, false, 5, 0, err));
    replay_these(&f);
    OK(policy()->learn(m, 1, &f.walks, NULL, err));
    OK(policy()->finish(m, err));
    compare_walks(&f, rounds() ? 2e-3 : plain);
    const double loss = RN(batch_loss)(f.batch, &log_z);
    float *got = gradient_of(&f, m);
    OK(batch_grad(f.batch, want, err));
    assert_true(fabs(f.walks.loss - loss) <= (rounds() ? 0.03 : 1e-3) * (loss + 1));
    assert_true(fabs(f.walks.log_z - log_z) <= (rounds() ? 2e-3 : 1e-4) * s->nodes);
    compare_gradients(&f, got, want, rounds() ? 1e-2 : 2 * plain);
    free(want);
    free(got);
    policy()->destroy(m);
    clear_fixture(&f);
}

/* Schedules drawn with the numbers the CPU draws with. */
static void check_drawing(const setting *s, bool greedy, int32_t listed)
{
    fixture f;
    make_fixture(s, &f);
    sked_i_gpu_model *m = open_model(&f);
    const int64_t n = f.instance->n, bytes = n * (int64_t)sizeof *f.op;
    int32_t same = 0;
    f.walks.greedy = greedy;
    f.walks.listed = listed;
    OK(policy()->walk(m, 1, &f.walks, NULL, err));
    OK(RN(batch_sample)(f.batch, listed, greedy, 5, 0, err));
    for (int32_t k = 0; k < s->batch; k++) {
        sked_i_trajectory *t = &f.batch->trajectory[k];
        const bool equal = memcmp(t->op, f.op + k * n, (size_t)bytes) == 0 &&
                           memcmp(t->device, f.device + k * n, (size_t)bytes) == 0;
        same += equal;
        assert_true(equal || k >= listed); /* the network has no say in these */
        memcpy(t->op, f.op + k * n, (size_t)bytes);
        memcpy(t->device, f.device + k * n, (size_t)bytes);
    }
    print_message("%d of %d schedules as the CPU's\n", (int)same, (int)s->batch);
    assert_true(rounds() || same == s->batch); /* rounding may turn a choice that is nearly a tie */
    OK(RN(batch_replay)(f.batch, err));
    compare_walks(&f, rounds() ? 2e-3 : plain);
    policy()->destroy(m);
    clear_fixture(&f);
}
#endif
