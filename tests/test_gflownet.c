/* The sampler against the truth: tiny problems where every schedule can be listed. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include "whole_batch.h"

#include "base/rng.h"
#include "engine/environment/ahead.h"
#include "engine/network/sampler.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/lesson_source.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

enum { MAX_OPS = 5, MAX_CLASSES = 20000 };

/* A schedule up to the names of equal devices. Devices are columns of the instance, kind by kind. */
typedef struct class_row {
    uint64_t key;
    double truth, sampled; /* unnormalised reward of all its labelled forms; probability of the sampler */
    int orders;            /* trajectories that lead to it */
} class_row;

typedef struct listing {
    const sked_graph *graph;
    const sked_problem *problem;
    const sked_i_instance *instance;
    int32_t n, devices;
    double temperature, work;
    class_row *row;
    int count, trajectories;
    sked_i_walker_f32 *walker;
    bool judged;   /* it was trained long enough to be compared */
    bool labelled; /* the policy numbers its devices as it likes; else in the order of first use */
    /* The partial schedule. */
    int32_t op[MAX_OPS], device[MAX_OPS];
} listing;

/* Starts by definition: data of the predecessors where it is, then the end of the op before on the device. */
static double makespan_of(const listing *l, int32_t steps)
{
    double finish[MAX_OPS] = {0}, free_at[MAX_OPS] = {0}, most = 0;
    int32_t at[MAX_OPS] = {0};
    for (int32_t k = 0; k < steps; k++) {
        const int32_t i = l->op[k];
        double start = free_at[l->device[k]];
        at[i] = l->instance->real_of[l->device[k]];
        for (int64_t e = 0; e < sked_graph_edge_count(l->graph); e++) {
            sked_edge edge;
            sked_graph_edge(l->graph, e, &edge);
            if (edge.to == i)
                start = fmax(start,
                             finish[edge.from] + sked_problem_transfer(l->problem, e, at[edge.from], at[i]));
        }
        finish[i] = start + sked_problem_duration(l->problem, i, at[i]);
        free_at[l->device[k]] = finish[i];
        most = fmax(most, finish[i]);
    }
    return most;
}

/* Devices named by their kind and their least op; for each op: device and position there. */
static uint64_t key_of(const listing *l)
{
    int32_t position[MAX_OPS], device[MAX_OPS], length[MAX_OPS] = {0}, name[MAX_OPS], names = 0;
    uint64_t key = 0;
    for (int32_t k = 0; k < l->n; k++) {
        device[l->op[k]] = l->device[k];
        position[l->op[k]] = length[l->device[k]]++;
        name[k] = -1;
    }
    for (int32_t i = 0; i < l->n; i++) {
        if (name[device[i]] < 0)
            name[device[i]] = names++;
        key =
            key * 256 + (uint64_t)(l->instance->kind_of[device[i]] * 64 + name[device[i]] * 8 + position[i]);
    }
    return key;
}

static class_row *row_of(listing *l, uint64_t key)
{
    for (int i = 0; i < l->count; i++)
        if (l->row[i].key == key)
            return &l->row[i];
    assert_true(l->count < MAX_CLASSES);
    l->row[l->count] = (class_row){.key = key};
    return &l->row[l->count++];
}

/* Ways to name the devices that are used. */
static double forms_of(const listing *l)
{
    bool used[MAX_OPS] = {false};
    double forms = 1;
    int32_t count[MAX_OPS] = {0};
    for (int32_t k = 0; k < l->n; k++)
        if (!used[l->device[k]]) {
            used[l->device[k]] = true;
            const int32_t kind = l->instance->kind_of[l->device[k]];
            forms *= l->instance->platform.size[kind] - count[kind]++;
        }
    return forms;
}

static void complete(listing *l)
{
    class_row *row = row_of(l, key_of(l));
    sked_i_trajectory t = {.op = l->op, .device = l->device};
    const double makespan = makespan_of(l, l->n);
    l->trajectories++;
    row->orders++;
    row->truth = forms_of(l) * exp((l->work / makespan - l->devices) / l->temperature);
    if (l->walker) {
        OK(sked_i_walk_f32(l->walker, SKED_I_WALK_REPLAY, NULL, 0, NULL, &t, err));
        row->sampled += (l->labelled ? 1 : forms_of(l)) * exp(t.log_forward);
    }
}

static bool legal(const listing *l, int32_t op, int32_t steps)
{
    int32_t missing = 0;
    for (int32_t k = 0; k < steps; k++)
        if (l->op[k] == op)
            return false;
    for (int64_t e = 0; e < sked_graph_edge_count(l->graph); e++) {
        sked_edge edge;
        sked_graph_edge(l->graph, e, &edge);
        missing += edge.to == op;
        for (int32_t k = 0; k < steps && edge.to == op; k++)
            missing -= l->op[k] == edge.from;
    }
    return missing == 0;
}

/* Devices of a kind are opened in order, where the policy does not number them. */
static bool open_now(const listing *l, int32_t d, const int32_t *opened)
{
    const int32_t kind = l->instance->kind_of[d];
    return l->labelled || d - l->instance->kind_first[kind] <= opened[kind];
}

static void enumerate(listing *l, int32_t step, int32_t *opened)
{
    if (step == l->n || step == MAX_OPS) {
        complete(l);
        return;
    }
    for (int32_t op = 0; op < l->n; op++)
        for (int32_t d = 0; d < l->devices && legal(l, op, step); d++) {
            const int32_t kind = l->instance->kind_of[d];
            const bool fresh = d - l->instance->kind_first[kind] == opened[kind];
            if (!open_now(l, d, opened) ||
                isinf(sked_problem_duration(l->problem, op, l->instance->real_of[d])))
                continue;
            l->op[step] = op;
            l->device[step] = d;
            opened[kind] += fresh;
            enumerate(l, step + 1, opened);
            opened[kind] -= fresh;
        }
}

typedef struct tiny {
    const char *name;
    int32_t ops, devices;
    double duration[MAX_OPS];
    int32_t edges[8][2];
    int n_edges;
    double latency, bandwidth; /* 0: transfers take no time */
    const char *machine;       /* NULL: equal devices */
} tiny;

static sked_graph *tiny_graph(const tiny *t)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < t->ops; i++)
        OK(sked_builder_add_op(b, NULL, NULL, t->duration[i], NULL, err));
    for (int e = 0; e < t->n_edges; e++) {
        const sked_edge edge = {t->edges[e][0], t->edges[e][1], SKED_LAG_DEFAULT, 1 + e, 0};
        OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static const double temperatures[] = {1, 0.3, 0.1};
enum { n_temperatures = sizeof temperatures / sizeof *temperatures };

/* Trajectory balance: the loss at the log Z of now, then a step of that with its part of the gradient. */
static void begin_balance(const sked_sampler *m, sked_i_batch_f32 *b, double temperature,
                          sked_i_log_z_input *in)
{
    sked_i_loss_look_log_z(b->policy->instance, temperature, in);
    const sked_i_loss loss = {.kind = SKED_I_LOSS_TB, .log_z = sked_i_log_z_value(m->log_z, in)};
    OK(sked_i_batch_set_loss_f32(b, &loss, err));
}
static void end_balance(sked_sampler *m, const sked_i_batch_f32 *b, const sked_i_log_z_input *in)
{
    double parameter[SKED_I_LOG_Z_TOTAL], gradient[SKED_I_LOG_Z_TOTAL] = {0};
    sked_i_adam adam = sked_i_sampler_adam(m);
    for (int i = 0; i < SKED_I_LOG_Z_TOTAL; i++)
        parameter[i] = m->log_z->parameter[i];
    sked_i_log_z_grad(parameter, in, sked_i_batch_pull_f32(b), gradient);
    adam.rate *= 4;
    sked_i_sampler_step_log_z(m, &adam, gradient);
}

/* lambda: credit by steps, as training has it; NAN: the loss of whole trajectories. */
static void train(sked_sampler *m, sked_i_policy_f32 *p, int updates, double rate, int batch, double lambda)
{
    sked_i_batch_f32 *b = NULL;
    sked_i_log_z_input in;
    float *gradient = malloc((size_t)m->layout.total * sizeof *gradient);
    assert_non_null(gradient);
    OK(sked_i_batch_create_f32(p, batch, 1, true, &b, err));
    for (int u = 0; u < updates; u++) {
        memset(gradient, 0, (size_t)m->layout.total * sizeof *gradient);
        sked_i_policy_prepare_f32(p, m->parameter, temperatures[u % n_temperatures]);
        if (m->log_z)
            begin_balance(m, b, temperatures[u % n_temperatures], &in);
        const sked_i_loss steps = {.by_steps = true, .lambda = 1 - (1 - lambda) * (1 - (double)u / updates)};
        if (!isnan(lambda))
            OK(sked_i_batch_set_loss_f32(b, &steps, err));
        OK(batch_learn(b, batch / 8, 9, (uint64_t)u * 1000, gradient, err));
        m->rate = rate * (1 - (double)u / updates);
        if (m->log_z)
            end_balance(m, b, &in);
        adam_update(m, gradient, 1);
    }
    sked_i_batch_destroy_f32(b);
    free(gradient);
}

/* Total variation to R/Z over all schedules, and mean zeta against log Z, which it returns. */
static double compare(const tiny *t, sked_i_policy_f32 *p, listing *l)
{
    sked_i_batch_f32 *b = NULL;
    double z = 0, mass = 0, distance = 0, mean;
    int most = 0;
    OK(sked_i_walker_create_f32(p, &l->walker, err));
    int32_t opened[MAX_OPS] = {0};
    enumerate(l, 0, opened);
    sked_i_walker_destroy_f32(l->walker);
    for (int i = 0; i < l->count; i++) {
        z += l->row[i].truth;
        mass += l->row[i].sampled;
        most = l->row[i].orders > most ? l->row[i].orders : most;
    }
    for (int i = 0; i < l->count; i++)
        distance += fabs(l->row[i].truth / z - l->row[i].sampled) / 2;
    OK(sked_i_batch_create_f32(p, 2000, 2, false, &b, err));
    OK(sked_i_batch_sample_f32(b, 0, false, 77, 0, err));
    const double loss = sked_i_batch_loss_f32(b, &mean);
    sked_i_batch_destroy_f32(b);
    print_message(
        "%s at %g: %d schedules, %d trajectories (up to %d for one), TV %.4f, log Z %.4f, mean zeta "
        "%.4f, loss %.4f\n",
        t->name, l->temperature, l->count, l->trajectories, most, distance, log(z), mean, loss);
    assert_true(fabs(mass - 1) < 1e-4); /* the listing has every action of the policy */
    if (l->judged) {
        assert_true(distance <= 0.05);
        assert_true(fabs(mean - log(z)) <= 0.1);
    }
    return log(z);
}

/* Sanitizers make training slow: there all policies run on some of the problems, and none is trained to the
 * end. */
enum { full_training = !SANITIZED };

/* Policies that learn the tiny problems: small, as the problems are. */
static const sked_i_sizes tiny_sizes[] = {
    {16, 1, 8, 32, 16, 32, 64, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_UNIFORM, SKED_I_RULE_NONE},
    {16, 1, 8, 32, 16, 32, 64, 8, SKED_I_POLICY_ENCODE_ONCE, SKED_I_BACKWARD_LEARNED, SKED_I_RULE_NONE},
    {24, 2, 8, 48, 16, 8, 32, 8, SKED_I_POLICY_STEPWISE, SKED_I_BACKWARD_LEARNED, SKED_I_RULE_NONE},
    {24, 2, 8, 48, 16, 8, 32, 8, SKED_I_POLICY_STEPWISE, SKED_I_BACKWARD_UNIFORM, SKED_I_RULE_NONE},
};

static void check_tiny_by(const tiny *t, const sked_i_sizes *sizes, sked_i_loss_id loss, int updates,
                          double rate, double lambda)
{
    sked_graph *g = tiny_graph(t);
    sked_machine *machine = NULL;
    sked_problem problem;
    sked_i_instance *x = NULL;
    sked_i_policy_f32 *p = NULL;
    sked_sampler *m = NULL;
    listing l = {.graph = g, .problem = &problem, .n = t->ops, .devices = t->devices};
    sked_problem_init(&problem, g);
    if (t->machine)
        OK(sked_machine_parse("machine", t->machine, strlen(t->machine), &machine, err));
    problem.machine = machine;
    problem.devices = t->devices;
    problem.latency = t->latency;
    problem.bandwidth = t->bandwidth > 0 ? t->bandwidth : INFINITY;
    l.labelled = sizes->policy == SKED_I_POLICY_STEPWISE;
    l.judged = full_training;
    updates = l.judged ? updates : 30;
    l.row = malloc(MAX_CLASSES * sizeof *l.row);
    assert_non_null(l.row);
    OK(instance_of(&problem, &x, err));
    l.instance = x;
    for (int32_t i = 0; i < t->ops; i++)
        l.work += machine == NULL ? t->duration[i] : x->duration[i] * x->scale;
    OK(sked_i_sampler_create(sizes, &m, err));
    sked_i_sampler_start(m, 1);
    if (loss == SKED_I_LOSS_TB)
        OK(sked_i_sampler_open_log_z(m, err));
    OK(sked_i_policy_create_f32(x, &m->layout, &sked_i_kernels_cpu_f32, &p, err));
    train(m, p, updates, rate, 32, lambda);
    for (int k = 0; k < n_temperatures; k++) {
        l.temperature = temperatures[k];
        l.count = l.trajectories = 0;
        sked_i_policy_prepare_f32(p, m->parameter, l.temperature);
        const double truth = compare(t, p, &l);
        if (m->log_z && l.judged) {
            sked_i_log_z_input in;
            sked_i_loss_look_log_z(x, l.temperature, &in);
            print_message("    learned log Z %.4f\n", sked_i_log_z_value(m->log_z, &in));
            assert_true(fabs(sked_i_log_z_value(m->log_z, &in) - truth) <= 0.1);
        }
    }
    sked_i_policy_destroy_f32(p);
    sked_i_instance_destroy(x);
    sked_sampler_destroy(m);
    sked_graph_destroy(g);
    sked_machine_destroy(machine);
    free(l.row);
}

static void check_tiny(const tiny *t, const sked_i_sizes *sizes, int updates, double rate)
{
    check_tiny_by(t, sizes, SKED_I_LOSS_VARIANCE, updates, rate, NAN);
}

static const tiny problems[] = {
    {"independent ops", 4, 2, {1, 2, 3, 1}, {{0}}, 0, 0, 0, NULL},
    {"diamond and one", 5, 2, {1, 3, 2, 1, 2}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, 4, 0, 0, NULL},
    {"two chains", 5, 2, {2, 1, 1, 3, 1}, {{0, 1}, {1, 2}, {3, 4}}, 3, 0, 0, NULL},
    {"three devices", 4, 3, {2, 1, 1, 2}, {{0, 2}}, 1, 0, 0, NULL},
    {"transfers", 4, 2, {1, 3, 2, 1}, {{0, 1}, {0, 2}, {1, 3}}, 3, 0.5, 2, NULL},
    {"heterogeneous devices",
     4,
     3,
     {2, 1, 1, 2},
     {{0, 2}, {1, 3}},
     2,
     0,
     0,
     "{\"format\": \"sked-machine-1\", \"devices\": [{\"name\": \"a\", \"type\": \"x\"}, {\"name\": \"c\", "
     "\"type\": "
     "\"y\", \"speed\": 2}, {\"name\": \"b\", \"type\": \"x\"}], \"links\": [{\"from\": \"x\", \"to\": "
     "\"x\", "
     "\"latency\": 0.25, \"bandwidth\": 4}, {\"from\": \"x\", \"to\": \"y\", \"latency\": 0.5, "
     "\"bandwidth\": 2}]}"},
};
enum { n_problems = sizeof problems / sizeof *problems };

static void test_tiny_problems(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int i = 0; i < n_problems; i += full_training ? 1 : 5)
        check_tiny(&problems[i], &tiny_sizes[0], 4500, 4e-3);
}

/* Edges, three devices, unequal ones. */
static void test_tiny_problems_backwards(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int i = 1; i < n_problems; i += full_training ? 2 : 4)
        check_tiny(&problems[i], &tiny_sizes[1], 3000, 4e-3);
}

/* It takes equal devices only. */
static void test_tiny_problems_stepwise(void **state)
{
    (void)state;
    ONE_THREAD();
    check_tiny(&problems[1], &tiny_sizes[2], 1500, 3e-3);
    if (full_training)
        check_tiny(&problems[3], &tiny_sizes[2], 3600, 3e-3); /* 972 trajectories of labels */
    check_tiny(&problems[0], &tiny_sizes[3], 2000, 3e-3);
}

/* The same with a learned log Z, which must be the true one. */
static void test_tiny_problems_balanced(void **state)
{
    (void)state;
    ONE_THREAD();
    check_tiny_by(&problems[4], &tiny_sizes[0], SKED_I_LOSS_TB, 2000, 4e-3, NAN);
    check_tiny_by(&problems[1], &tiny_sizes[1], SKED_I_LOSS_TB, 2000, 4e-3, NAN);
    check_tiny_by(&problems[0], &tiny_sizes[2], SKED_I_LOSS_TB, 2200, 3e-3, NAN);
}

/* Credit by steps from lambda 0.6 to 1, with transfers, and with backward policies that are learned by
 * likelihood: exact, too. */
static void test_tiny_problems_by_steps(void **state)
{
    (void)state;
    ONE_THREAD();
    check_tiny_by(&problems[4], &tiny_sizes[0], SKED_I_LOSS_VARIANCE, 3000, 4e-3, 0.6);
    check_tiny_by(&problems[1], &tiny_sizes[1], SKED_I_LOSS_VARIANCE, 2500, 4e-3, 0.6);
    check_tiny_by(&problems[1], &tiny_sizes[2], SKED_I_LOSS_VARIANCE, 1500, 3e-3, 0.6);
    check_tiny_by(&problems[0], &tiny_sizes[3], SKED_I_LOSS_VARIANCE, 1500, 3e-3, 0.6);
}

/* ------------------------------------------------------------------ models, training, sampling */

static sked_graph *generated(const char *family, int32_t nodes, uint64_t seed)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = nodes, .seed = seed};
    sked_graph *g = NULL;
    OK(sked_graph_generate(family, &how, &g, err));
    return g;
}

/* The kinds of model there are, then some of them learnt by other losses. */
static const char *const kinds[][3] = {
    {"policy=encode-once", "backward=uniform", "loss=variance"},
    {"policy=encode-once", "backward=learned", "loss=variance"},
    {"policy=stepwise", "backward=learned", "loss=variance"},
    {"policy=stepwise", "backward=uniform", "loss=variance"},
    {"policy=stepwise", "backward=learned", "rule=list"},
    {"policy=encode-once", "backward=uniform", "loss=tb"},
    {"policy=stepwise", "backward=auto", "loss=tb"},
    {"policy=encode-once", "backward=auto", "loss=ppo"},
    {"policy=encode-once", "backward=uniform", "credit=steps"},
    {"policy=stepwise", "backward=learned", "credit=steps"},
    {"policy=stepwise", "backward=auto", "loss=ppo"},
};
enum { n_kinds = 5, RULED = 4, BALANCED = 5, n_trainings = sizeof kinds / sizeof *kinds };

static sked_sampler *trained(int kind, int64_t steps, int threads, const char *resume, const char *output)
{
    const char *const settings[] = {"dim=16",       "layers=2",     "head=8",      "mlp=16",
                                    "width=16",     "batch=10",     "validate=2",  "held-out=2",
                                    kinds[kind][0], kinds[kind][1], kinds[kind][2]};
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_train_options_init(&opt);
    opt.graphs = "layered:6-12,erdos-renyi:5";
    opt.devices = 3;
    opt.steps = steps;
    opt.seed = 5;
    opt.threads = threads;
    opt.settings = settings;
    opt.n_settings = sizeof settings / sizeof *settings;
    opt.resume = resume;
    opt.output = output;
    OK(sked_train(&opt, &m, err));
    assert_int_equal(sked_sampler_steps(m), steps);
    return m;
}

static void assert_same_model(const sked_sampler *a, const sked_sampler *b, bool moments)
{
    const size_t bytes = (size_t)a->layout.total * sizeof(float);
    assert_int_equal(a->layout.total, b->layout.total);
    assert_int_equal(a->steps, b->steps);
    assert_memory_equal(&a->layout.sizes, &b->layout.sizes, sizeof a->layout.sizes);
    assert_true(a->seed == b->seed);
    assert_memory_equal(a->parameter, b->parameter, bytes);
    if (moments) {
        assert_memory_equal(a->moment1, b->moment1, bytes);
        assert_memory_equal(a->moment2, b->moment2, bytes);
    }
    assert_int_equal(a->loss, b->loss);
    if (a->log_z && moments)
        assert_memory_equal(a->log_z, b->log_z, sizeof *a->log_z);
}

static const char *scratch_file(void)
{
    return SKED_BINARY_DIR "/test_gflownet.safetensors";
}

static void check_resume(int kind)
{
    sked_sampler *through = trained(kind, 6, 1, NULL, NULL);
    sked_sampler *half = trained(kind, 3, 2, NULL, scratch_file()); /* threads do not matter either */
    sked_sampler *rest = trained(kind, 6, 1, scratch_file(), NULL), *fresh = NULL;
    assert_same_model(through, rest, true);
    assert_true(memcmp(through->parameter, half->parameter, (size_t)half->layout.total * sizeof(float)) != 0);
    OK(sked_sampler_write(through, scratch_file(), false, err));
    OK(sked_sampler_read(scratch_file(), &fresh, err));
    assert_same_model(through, fresh, false);
    assert_null(fresh->log_z); /* the model is whole without */
    sked_sampler_destroy(through);
    sked_sampler_destroy(half);
    sked_sampler_destroy(rest);
    sked_sampler_destroy(fresh);
}

static void test_resume_is_bit_identical(void **state)
{
    (void)state;
    for (int kind = 0; kind < n_trainings; kind += SANITIZED ? 3 : 1)
        check_resume(kind);
}

/* What a model was learnt by: its file says so, and log Z goes where another loss goes on. */
static void test_a_model_knows_its_loss(void **state)
{
    (void)state;
    sked_sampler *m = trained(BALANCED, 2, 1, NULL, scratch_file()), *next = NULL;
    assert_int_equal(m->loss, SKED_I_LOSS_TB);
    assert_non_null(m->log_z);
    assert_true(m->log_z->moment2[SKED_I_LOG_Z_TOTAL - 1] > 0); /* it has learnt */
    sked_sampler_destroy(m);
    next = trained(0, 4, 1, scratch_file(), scratch_file());
    assert_int_equal(next->loss, SKED_I_LOSS_VARIANCE);
    assert_null(next->log_z);
    sked_sampler_destroy(next);
    next = trained(BALANCED, 5, 1, scratch_file(), NULL); /* and begins again where it is not there */
    assert_non_null(next->log_z);
    sked_sampler_destroy(next);
}

static void put_file(const char *bytes, size_t size)
{
    FILE *f = fopen(scratch_file(), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Replaces text of the header by other text of the same length. */
static void put_changed(const char *bytes, size_t size, const char *from, const char *to)
{
    static char other[4000000];
    const size_t length = strlen(from);
    bool found = false;
    memcpy(other, bytes, size);
    for (size_t i = 8; i + length < size && !found; i++)
        if (memcmp(other + i, from, length) == 0) {
            memcpy(other + i, to, length);
            found = true;
        }
    assert_true(found);
    put_file(other, size);
}

static void check_damaged_header(void)
{
    static char bytes[4000000];
    sked_sampler *m = trained(BALANCED, 1, 1, NULL, NULL), *other = NULL;
    OK(sked_sampler_write(m, scratch_file(), true, err));
    FILE *f = fopen(scratch_file(), "rb");
    assert_non_null(f);
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    put_changed(bytes, size, "\"moment1.log_z.out_bias\"", "\"moment2.log_z.out_bias\"");
    FAILS(SKED_ERR_FORMAT, "log_z.out_bias of the model is missing or stands twice",
          sked_sampler_read(scratch_file(), &other, err));
    put_changed(bytes, size, "\"sked-gflownet-2\"", "\"sked-gflownet-1\"");
    FAILS(SKED_ERR_FORMAT, "a model of sked before transfers were learnt (sked-gflownet-1); train it again",
          sked_sampler_read(scratch_file(), &other, err));
    put_changed(bytes, size, "\"sked-gflownet-2\"", "\"sked-gflownet-9\""); /* of a sked to come */
    FAILS(SKED_ERR_FORMAT, "'format' of the model is not understood",
          sked_sampler_read(scratch_file(), &other, err));
    put_changed(bytes, size, "\"loss\":\"tb\"", "\"loss\":\"tc\"");
    FAILS(SKED_ERR_FORMAT, "'loss' of the model is not understood",
          sked_sampler_read(scratch_file(), &other, err));
    put_changed(bytes, size, ",\"loss\":\"tb\"", "             "); /* no log Z without its loss */
    FAILS(SKED_ERR_FORMAT, "a tensor sked does not know", sked_sampler_read(scratch_file(), &other, err));
    sked_sampler_destroy(m);
}

static void test_damaged_models_are_refused(void **state)
{
    (void)state;
    sked_sampler *m = trained(2, 1, 1, NULL, NULL), *other = NULL;
    OK(sked_sampler_write(m, scratch_file(), true, err));
    FILE *f = fopen(scratch_file(), "rb");
    static char bytes[4000000];
    assert_non_null(f);
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(size > 1000 && size < sizeof bytes);
    put_file(bytes, 5);
    FAILS(SKED_ERR_FORMAT, "not a safetensors file", sked_sampler_read(scratch_file(), &other, err));
    put_file(bytes, size - 4);
    FAILS(SKED_ERR_FORMAT, "inside the file", sked_sampler_read(scratch_file(), &other, err));
    put_file("\x02\0\0\0\0\0\0\0{}", 10);
    FAILS(SKED_ERR_FORMAT, "not a model of sked", sked_sampler_read(scratch_file(), &other, err));
    memset(bytes + size - 4, 0xff, 4); /* a NaN */
    put_file(bytes, size);
    FAILS(SKED_ERR_FORMAT, "not finite", sked_sampler_read(scratch_file(), &other, err));
    check_damaged_header();
    put_file(bytes, size);
    for (size_t cut = 8; cut < 600;
         cut += 7) { /* any header byte may be wrong: an error or a model, no crash */
        const char keep = bytes[cut];
        bytes[cut] = (char)(keep ^ 5);
        put_file(bytes, size);
        sked_error why = {0};
        assert_true(sked_sampler_read(scratch_file(), &other, &why) != SKED_OK);
        bytes[cut] = keep;
    }
    FAILS(SKED_ERR_IO, "", sked_sampler_read("no/such/file", &other, err));
    sked_sampler_destroy(m);
}

/* Every seed comes back; steps that a further update could overflow, and sizes no model has, do not. */
static void test_numbers_of_a_model(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0, 5, UINT64_C(1) << 53, UINT64_C(1) << 63, UINT64_MAX};
    sked_sampler *m = trained(0, 1, 1, NULL, NULL), *other = NULL;
    m->steps = INT64_C(9000000000000000);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        m->seed = seeds[i];
        OK(sked_sampler_write(m, scratch_file(), true, err));
        OK(sked_sampler_read(scratch_file(), &other, err));
        assert_same_model(m, other, true);
        sked_sampler_destroy(other);
    }
    m->steps++;
    OK(sked_sampler_write(m, scratch_file(), true, err));
    FAILS(SKED_ERR_FORMAT, "'steps' of the model", sked_sampler_read(scratch_file(), &other, err));
    m->steps = INT64_MAX;
    OK(sked_sampler_write(m, scratch_file(), true, err));
    FAILS(SKED_ERR_FORMAT, "'steps' of the model", sked_sampler_read(scratch_file(), &other, err));
    m->steps = 1;
    m->layout.sizes.dim = 1 << 30;
    OK(sked_sampler_write(m, scratch_file(), true, err));
    FAILS(SKED_ERR_FORMAT, "", sked_sampler_read(scratch_file(), &other, err));
    sked_sampler_destroy(m);
}

/* Not after hours: nothing is trained, and the file that is there stays. */
static void test_output_is_tried_first(void **state)
{
    (void)state;
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_train_options_init(&opt);
    opt.graphs = "layered:6";
    opt.devices = 2;
    opt.steps = INT64_MAX;
    opt.output = SKED_BINARY_DIR "/no/such/folder/x.safetensors";
    FAILS(SKED_ERR_IO, "cannot create", sked_train(&opt, &m, err));
    opt.output = SKED_BINARY_DIR;
    FAILS(SKED_ERR_IO, "Is a directory", sked_train(&opt, &m, err));
}

static void note_step(void *data, const sked_train_progress *p)
{
    *(int64_t *)data = p->step;
}

/* Trains a model whose weights are so much too large that it fails sooner or later; returns the last update.
 */
static int64_t train_until_it_fails(const sked_sampler *m, float scale, const char *output)
{
    static const char *const settings[] = {"batch=10", "graphs=1", "validate=0"};
    sked_sampler *large = NULL, *none = NULL;
    sked_train_options opt;
    int64_t last = m->steps;
    OK(sked_sampler_write(m, scratch_file(), true, err));
    OK(sked_sampler_read(scratch_file(), &large, err));
    for (int64_t k = 0; k < m->layout.total; k++)
        large->parameter[k] *= scale;
    OK(sked_sampler_write(large, scratch_file(), true, err));
    sked_sampler_destroy(large);
    sked_train_options_init(&opt);
    opt.graphs = "layered:6-12";
    opt.devices = 3;
    opt.seed = 5;
    opt.resume = scratch_file();
    opt.output = output;
    opt.settings = settings;
    opt.n_settings = sizeof settings / sizeof *settings;
    opt.progress = note_step;
    opt.progress_data = &last;
    opt.steps = 1000;
    FAILS(SKED_ERR_BUG, "", sked_train(&opt, &none, err));
    assert_null(none);
    return last;
}

/* A model that diverges: an error, and what was learnt before it is written all the same. */
static void test_failed_training_keeps_the_model(void **state)
{
    (void)state;
    static const char output[] = SKED_BINARY_DIR "/test_gflownet_failed.safetensors";
    static const float scales[] = {1.3e6f, 1.5e6f, 1.7e6f, 1e10f};
    sked_sampler *m = trained(0, 1, 1, NULL, NULL);
    int kept = 0;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        sked_sampler *saved = NULL;
        remove(output);
        const int64_t last = train_until_it_fails(m, scales[k], output);
        if (last == m->steps) { /* nothing was learnt, nothing is written */
            FAILS(SKED_ERR_IO, "", sked_sampler_read(output, &saved, err));
            continue;
        }
        OK(sked_sampler_read(output, &saved, err));
        assert_int_equal(sked_sampler_steps(saved), last);
        sked_sampler_destroy(saved);
        kept++;
    }
    assert_in_range(kept, 1, sizeof scales / sizeof *scales - 1);
    remove(output);
    sked_sampler_destroy(m);
}

static sked_train_options ppo_options(const char *const *settings, int count)
{
    sked_train_options opt;
    sked_train_options_init(&opt);
    opt.graphs = "layered:6-12";
    opt.devices = 3;
    opt.seed = 5;
    opt.settings = settings;
    opt.n_settings = count;
    return opt;
}

static volatile sig_atomic_t stop_now;

static void *stop_soon(void *data)
{
    const struct timespec time = {0, *(const long *)data};
    nanosleep(&time, NULL);
    __atomic_store_n(&stop_now, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* PPO takes several steps in an update: a stop half-way leaves the model of before. */
static void test_stopped_ppo_changes_nothing(void **state)
{
    (void)state;
    static const char *const settings[] = {"dim=16",   "layers=1", "head=8",     "mlp=16",   "width=16",
                                           "batch=10", "graphs=1", "validate=0", "loss=ppo", "epochs=100"};
    for (long time = 50000000; time < 200000000; time += 70000000) {
        sked_train_options opt = ppo_options(settings, sizeof settings / sizeof *settings);
        sked_sampler *stopped = NULL, *whole = NULL;
        pthread_t thread;
        stop_now = 0;
        opt.stop = &stop_now;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &time), 0);
        OK(sked_train(&opt, &stopped, err));
        pthread_join(thread, NULL);
        opt.stop = NULL;
        opt.steps = stopped->steps;
        if (opt.steps == 0)
            opt.minutes = 0;
        OK(sked_train(&opt, &whole, err));
        assert_same_model(whole, stopped, true);
        sked_sampler_destroy(stopped);
        sked_sampler_destroy(whole);
    }
}

static void note_speedup(void *data, const sked_train_progress *p)
{
    double *speedup = data; /* of the first updates, and of the last */
    if (p->step <= 10 || p->step > 70)
        speedup[p->step > 10] += p->speedup / 10;
}

/* Trains on one graph and returns how much better its draws get. */
static double gain_of_ppo(const char *policy, const char *rate, const char *entropy)
{
    static const char file[] = SKED_BINARY_DIR "/test_gflownet.json";
    const char *const settings[] = {"dim=16",      "layers=1",  "head=8",     "mlp=16",
                                    "width=16",    "batch=24",  "graphs=1",   "validate=0",
                                    "transfers=0", "unequal=0", "gentlest=4", "sharpest=4",
                                    "loss=ppo",    rate,        policy,       entropy};
    sked_train_options opt = ppo_options(settings, sizeof settings / sizeof *settings);
    double speedup[2] = {0};
    sked_sampler *m = NULL;
    sked_graph *g = generated("stochastic-block", 16, 3);
    OK(sked_graph_write(g, file, NULL, err));
    opt.graphs = file;
    opt.steps = 80;
    opt.progress = note_speedup;
    opt.progress_data = speedup;
    OK(sked_train(&opt, &m, err));
    print_message("%s, %s: mean speedup %.4f, then %.4f\n", policy, entropy, speedup[0], speedup[1]);
    sked_sampler_destroy(m);
    sked_graph_destroy(g);
    remove(file);
    return speedup[1] - speedup[0];
}

/* From its own trajectories only; a large bonus for entropy keeps them apart, and so worse. */
static void test_ppo_makes_schedules_better(void **state)
{
    (void)state;
    RESULTS_ONLY();
    static const char *const policies[][2] = {{"policy=encode-once", "rate=0.02"},
                                              {"policy=stepwise", "rate=0.003"}};
    for (int k = 0; k < 2; k++) {
        const double gain = gain_of_ppo(policies[k][0], policies[k][1], "entropy=0");
        assert_true(gain > 0.1);
        assert_true(gain_of_ppo(policies[k][0], policies[k][1], "entropy=10") < gain - 0.1);
    }
}

static void test_training_refuses_nonsense(void **state)
{
    (void)state;
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_train_options_init(&opt);
    opt.steps = 1;
    FAILS(SKED_ERR_ARGUMENT, "graphs", sked_train(&opt, &m, err));
    opt.graphs = "layered:9-5";
    FAILS(SKED_ERR_ARGUMENT, "LEAST-MOST", sked_train(&opt, &m, err));
    opt.graphs = "layered:10-20:lognormal:0/x";
    FAILS(SKED_ERR_ARGUMENT, "duration", sked_train(&opt, &m, err));
    opt.graphs = "layred:10-20";
    FAILS(SKED_ERR_ARGUMENT, "'layred' (did you mean 'layered'?)", sked_train(&opt, &m, err));
    opt.graphs = "no-such-file.json";
    FAILS(SKED_ERR_IO, "no-such-file", sked_train(&opt, &m, err));
    opt.graphs = "layered:5-9";
    const char *wrong[] = {"batch=1"}, *odd[] = {"dim=12"};
    opt.settings = wrong;
    opt.n_settings = 1;
    FAILS(SKED_ERR_ARGUMENT, "batch", sked_train(&opt, &m, err));
    opt.settings = odd;
    FAILS(SKED_ERR_ARGUMENT, "multiple of 8", sked_train(&opt, &m, err));
    const char *backwards[] = {"loss=ppo", "backward=learned"}, *unknown[] = {"loss=reinforce"};
    const char *ruled[] = {"rule=list"};
    opt.settings = unknown;
    FAILS(SKED_ERR_ARGUMENT, "loss", sked_train(&opt, &m, err));
    opt.settings = backwards;
    opt.n_settings = 2;
    FAILS(SKED_ERR_ARGUMENT, "ppo has no use for backward=learned", sked_train(&opt, &m, err));
    opt.settings = ruled;
    opt.n_settings = 1;
    FAILS(SKED_ERR_ARGUMENT, "rule is for policy=stepwise", sked_train(&opt, &m, err));
}

/* A model of that kind as training would start it. */
static sked_sampler *untrained(int kind)
{
    const sked_i_sizes sizes = {
        16, 2, 8, 32, 16, 16, 24, 8, kind >= 2, kind == 1 || kind == 2 || kind == RULED, kind == RULED};
    sked_sampler *m = NULL;
    OK(sked_i_sampler_create(&sizes, &m, err));
    sked_i_sampler_start(m, 4);
    return m;
}

/* Log-probabilities by a walker that knows nothing of the draw. */
static void check_log_probabilities(const sked_sampler *m)
{
    sked_graph *g = generated("layered", 30, 4);
    sked_i_instance *x = NULL;
    sked_i_policy_f32 *p = NULL, *again = NULL;
    sked_i_batch_f32 *b = NULL;
    sked_i_walker_f32 *walker = NULL;
    sked_problem problem;
    sked_problem_init(&problem, g);
    problem.devices = 3;
    OK(instance_of(&problem, &x, err));
    OK(sked_i_policy_create_f32(x, &m->layout, &sked_i_kernels_cpu_f32, &p, err));
    OK(sked_i_policy_create_f32(x, &m->layout, &sked_i_kernels_cpu_f32, &again, err));
    OK(sked_i_batch_create_f32(p, 20, 2, false, &b, err));
    sked_i_policy_prepare_f32(p, m->parameter, 0.05);
    OK(sked_i_batch_sample_f32(b, 5, false, 1, 0, err));
    sked_i_policy_prepare_f32(again, m->parameter, 0.05);
    OK(sked_i_walker_create_f32(again, &walker, err));
    for (int k = 0; k < 20; k++) {
        sked_i_trajectory t = b->trajectory[k];
        OK(sked_i_walk_f32(walker, SKED_I_WALK_REPLAY, NULL, 0, NULL, &t, err));
        assert_true(t.log_forward == b->trajectory[k].log_forward && t.log_forward < 0);
        assert_true(t.log_backward == b->trajectory[k].log_backward && t.log_backward < 0);
        assert_true(t.makespan == b->trajectory[k].makespan);
    }
    b->trajectory[0].op[0] = b->trajectory[0].op[29]; /* not legal: the op waits for others */
    sked_i_trajectory broken = b->trajectory[0];
    FAILS(SKED_ERR_BUG, "not legal",
          sked_i_walk_f32(walker, SKED_I_WALK_REPLAY, NULL, 0, NULL, &broken, err));
    sked_i_walker_destroy_f32(walker);
    sked_i_batch_destroy_f32(b);
    sked_i_policy_destroy_f32(p);
    sked_i_policy_destroy_f32(again);
    sked_i_instance_destroy(x);
    sked_graph_destroy(g);
}

static void test_log_probabilities(void **state)
{
    (void)state;
    sked_sampler *m = NULL;
    OK(sked_sampler_read(NULL, &m, err));
    check_log_probabilities(m);
    sked_sampler_destroy(m);
    for (int kind = 0; kind < n_kinds; kind++) {
        m = untrained(kind);
        check_log_probabilities(m);
        sked_sampler_destroy(m);
    }
}

/* Files from before there were kinds of policy. */
static void test_model_in_the_box_is_encode_once(void **state)
{
    (void)state;
    sked_sampler *m = NULL;
    OK(sked_sampler_read(NULL, &m, err));
    assert_int_equal(m->layout.sizes.policy, SKED_I_POLICY_ENCODE_ONCE);
    assert_int_equal(m->layout.sizes.backward, SKED_I_BACKWARD_UNIFORM);
    sked_sampler_destroy(m);
}

/* The limits of a stepwise model are said, and up to them it works: 8 devices, fewer ops than devices. */
static void test_stepwise_limits(void **state)
{
    (void)state;
    sked_sampler *m = untrained(2);
    sked_graph *small = generated("erdos-renyi", 5, 1), *large = generated("chain", 2001, 1);
    sked_problem p;
    sked_sample_options opt;
    sked_samples s = {.size = sizeof s};
    sked_problem_init(&p, small);
    sked_sample_options_init(&opt);
    opt.count = 40;
    opt.temperature = 1;
    p.devices = 8;
    OK(sked_sampler_sample(m, &p, &opt, &s, err));
    for (int32_t k = 0; k < s.count; k++)
        OK(sked_schedule_validate(&p, s.schedule[k], err));
    sked_samples_clear(&s);
    p.devices = 9;
    FAILS(SKED_ERR_UNSUPPORTED, "up to 8 devices", sked_sampler_sample(m, &p, &opt, &s, err));
    sked_problem_init(&p, large);
    p.devices = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "up to 2000 ops", sked_sampler_sample(m, &p, &opt, &s, err));
    sked_graph_destroy(small);
    sked_graph_destroy(large);
    sked_sampler_destroy(m);
}

/* Speedup of list scheduling by that of the mean and of the best draw. */
static void judge_draws(const sked_sampler *m, const char *family, int32_t nodes, uint64_t seed, double *mean,
                        double *best)
{
    enum { draws = 50 };
    sked_graph *g = generated(family, nodes, seed);
    sked_problem p;
    sked_sample_options opt;
    sked_samples s = {.size = sizeof s};
    sked_run_options how;
    sked_result list = {.size = sizeof list};
    sked_problem_init(&p, g);
    p.devices = 4;
    sked_run_options_init(&how);
    OK(sked_method_run("list", &p, &how, &list, err));
    sked_sample_options_init(&opt);
    opt.count = draws;
    opt.raw = true;
    OK(sked_sampler_sample(m, &p, &opt, &s, err));
    assert_int_equal(s.count, draws);
    for (int32_t k = 0; k < draws; k++) {
        OK(sked_schedule_validate(&p, s.schedule[k], err));
        *mean += list.value / s.makespan[k] / draws;
        *best = fmax(*best, list.value / s.makespan[k]);
    }
    sked_samples_clear(&s);
    sked_result_clear(&list);
    sked_graph_destroy(g);
}

/* models/stepwise.safetensors beats random list scheduling, whose mean is 0.93 here (models/README.md). */
static void test_shipped_stepwise(void **state)
{
    (void)state;
    static const char *const families[] = {"layered", "erdos-renyi", "fork-join", "stochastic-block"};
    sked_sampler *m = NULL;
    double mean = 0, best = 0;
    OK(sked_sampler_read(SKED_SOURCE_DIR "/models/stepwise.safetensors", &m, err));
    assert_int_equal(m->layout.sizes.policy, SKED_I_POLICY_STEPWISE);
    for (int k = 0; k < 4; k++) {
        double of_graph = 0, most = 0;
        judge_draws(m, families[k], 20, 31 + (uint64_t)k, &of_graph, &most);
        mean += of_graph / 4;
        best += most / 4;
    }
    print_message("in speedups of list scheduling: mean %.4f, best %.4f\n", mean, best);
    assert_true(mean > 0.97 && best > 1);
    sked_sampler_destroy(m);
}

/* models/paper.safetensors knows no rule; what it does, it has learnt. */
static void test_shipped_paper(void **state)
{
    (void)state;
    RESULTS_ONLY();
    sked_sampler *m = NULL;
    double mean = 0, best = 0;
    OK(sked_sampler_read(SKED_SOURCE_DIR "/models/paper.safetensors", &m, err));
    assert_int_equal(m->layout.sizes.policy, SKED_I_POLICY_STEPWISE);
    assert_int_equal(m->layout.sizes.rule, SKED_I_RULE_NONE);
    judge_draws(m, "stochastic-block", 50, 31, &mean, &best);
    print_message("in speedups of list scheduling: mean %.4f, best %.4f\n", mean, best);
    assert_true(mean > 0.9 && best > 0.97);
    sked_sampler_destroy(m);
}

static void check_samples(const sked_sampler *m)
{
    sked_graph *g = generated("erdos-renyi", 4, 6);
    sked_problem p;
    sked_sample_options opt;
    sked_samples one = {.size = sizeof one}, two = {.size = sizeof two}, raw = {.size = sizeof raw};
    sked_problem_init(&p, g);
    p.devices = 3;
    sked_sample_options_init(&opt);
    opt.count = 600;
    opt.temperature = 0.3;
    OK(sked_sampler_sample(m, &p, &opt, &one, err));
    opt.threads = 3;
    OK(sked_sampler_sample(m, &p, &opt, &two, err));
    opt.raw = true;
    OK(sked_sampler_sample(m, &p, &opt, &raw, err));
    assert_int_equal(raw.count, 600);
    assert_int_equal(one.count, two.count);
    assert_true(one.count < 600);
    for (int32_t k = 0; k < one.count; k++) {
        OK(sked_schedule_validate(&p, one.schedule[k], err));
        assert_memory_equal(one.schedule[k]->start, two.schedule[k]->start, 4 * sizeof(double));
        assert_true(k == 0 || one.makespan[k - 1] <= one.makespan[k]);
        assert_true(one.log_prob[k] == two.log_prob[k]);
    }
    sked_samples_clear(&one);
    sked_samples_clear(&two);
    sked_samples_clear(&raw);
    sked_graph_destroy(g);
}

static void test_samples(void **state)
{
    (void)state;
    sked_sampler *m = NULL;
    OK(sked_sampler_read(NULL, &m, err));
    check_samples(m);
    sked_sampler_destroy(m);
    for (int kind = 1; kind < n_kinds; kind++) {
        m = untrained(kind);
        check_samples(m);
        sked_sampler_destroy(m);
    }
}

/* Colder: better on average and less diverse. */
static void test_temperature_does_what_it_says(void **state)
{
    (void)state;
    RESULTS_ONLY();
    static const double heat[] = {1, 0.1, 0.03, 0.01};
    sked_sampler *m = NULL;
    double speedup[4] = {0}, ged[4] = {0};
    OK(sked_sampler_read(NULL, &m, err));
    for (uint64_t seed = 100; seed < 104; seed++) {
        sked_graph *g = generated(seed % 2 ? "layered" : "erdos-renyi", 40, seed);
        sked_problem p;
        sked_sample_options opt;
        sked_problem_init(&p, g);
        p.devices = 4;
        sked_sample_options_init(&opt);
        opt.count = 200;
        opt.raw = true;
        for (int k = 0; k < 4; k++) {
            sked_samples s = {.size = sizeof s};
            sked_diversity d = {.size = sizeof d};
            opt.temperature = heat[k];
            OK(sked_sampler_sample(m, &p, &opt, &s, err));
            for (int32_t i = 0; i < s.count; i++) {
                sked_metrics metrics = {.size = sizeof metrics};
                OK(sked_schedule_measure(&p, s.schedule[i], &metrics, err));
                speedup[k] += metrics.speedup / s.count / 4;
            }
            OK(sked_schedules_diversity(&p, (const sked_schedule *const *)s.schedule, s.count, &d, err));
            ged[k] += d.ged / 4;
            sked_samples_clear(&s);
        }
        sked_graph_destroy(g);
    }
    for (int k = 0; k < 4; k++) {
        print_message("temperature %g: mean speedup %.3f, GED %.2f\n", heat[k], speedup[k], ged[k]);
        assert_true(k == 0 || speedup[k] > speedup[k - 1]);
        assert_true(k == 0 || ged[k] < ged[k - 1]);
    }
    sked_sampler_destroy(m);
}

static void test_parts_are_connected(void **state)
{
    (void)state;
    sked_graph *g = generated("layered", 300, 2), *part = NULL;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 1);
    OK(sked_i_lesson_source_graph_part(g, 40, &rng, &part, err));
    assert_int_equal(sked_graph_op_count(part), 40);
    assert_true(sked_graph_edge_count(part) >= 39);
    sked_graph_destroy(part);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ the bounds on choices */

/* Independent ops of duration 1, 2, ..., the longest first; picky: the first cannot run on the devices `y`.
 */
static sked_graph *row_of_ops(int32_t ops, bool picky)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < ops; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, ops - i, NULL, err));
        if (picky && i == 0)
            OK(sked_builder_add_duration(b, i, "y", INFINITY, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* Two types of devices, linked, half of them each. */
static sked_machine *two_types(int32_t devices)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    OK(sked_machine_builder_create("two", &b, err));
    for (int32_t d = 0; d < devices; d++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", (int)d);
        OK(sked_machine_builder_add_device(b, name, d < devices / 2 ? "x" : "y", d < devices / 2 ? 1 : 2,
                                           INFINITY, NULL, err));
    }
    OK(sked_machine_builder_set_link(b, 0, INFINITY, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

typedef struct choosing {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    sked_i_instance *instance;
    sked_i_partial partial;
    sked_i_choices choices;
} choosing;

/* The first `used` ops stand each on a device of its own. */
static void begin_choosing(choosing *c, int32_t ops, int32_t devices, bool picky, int32_t used)
{
    *c = (choosing){.graph = row_of_ops(ops, picky), .machine = picky ? two_types(devices) : NULL};
    sked_problem_init(&c->problem, c->graph);
    c->problem.devices = devices;
    c->problem.machine = c->machine;
    OK(instance_of(&c->problem, &c->instance, err));
    OK(sked_i_partial_init(&c->partial, c->instance, err));
    OK(sked_i_choices_init(&c->choices, c->instance, err));
    sked_i_partial_reset(&c->partial);
    for (int32_t k = 0; k < used; k++) {
        const int32_t *first = c->instance->kind_first, half = picky ? devices / 2 : devices;
        const int32_t column = k < half ? first[0] + k : first[1] + k - half;
        int32_t at = 0;
        while (c->partial.ready[at] != k)
            at++;
        sked_i_partial_append(&c->partial, at, column);
    }
    sked_i_choices_fill(&c->choices, &c->partial);
}

static void end_choosing(choosing *c)
{
    sked_i_choices_clear(&c->choices);
    sked_i_partial_clear(&c->partial);
    sked_i_instance_destroy(c->instance);
    sked_machine_destroy(c->machine);
    sked_graph_destroy(c->graph);
}

/* A step looks at 64 ops, those that list scheduling would take first, in the order they became ready. */
static void test_a_step_chooses_among_64_ops(void **state)
{
    (void)state;
    for (int32_t ops = SKED_I_CHOICE_OPS - 1; ops <= SKED_I_CHOICE_OPS + 30; ops += 1 + 10 * (ops > 64)) {
        choosing c;
        begin_choosing(&c, ops, 4, false, 0);
        assert_int_equal(c.partial.n_ready, ops);
        assert_int_equal(c.choices.n_ops, ops < SKED_I_CHOICE_OPS ? ops : SKED_I_CHOICE_OPS);
        for (int32_t i = 0; i < c.choices.n_ops; i++) {
            assert_int_equal(c.choices.row[i], c.partial.ready[c.choices.index[i]]);
            assert_true(i == 0 || c.choices.index[i] > c.choices.index[i - 1]);
            assert_in_range(c.choices.row[i], 0, SKED_I_CHOICE_OPS - 1); /* the longest are the first ones */
        }
        end_choosing(&c);
    }
}

/*
 * Of more than 16 devices in use it looks at the 16 that are free first, and at one empty device of each
 * kind. Where an op cannot run everywhere it looks at all of them.
 */
static void test_a_step_chooses_among_16_devices(void **state)
{
    (void)state;
    for (int32_t used = SKED_I_CHOICE_DEVICES - 1; used <= SKED_I_CHOICE_DEVICES + 4; used++) {
        choosing c;
        begin_choosing(&c, 40, SKED_I_CHOICE_DEVICES + 4, false, used);
        const int32_t taken = used < SKED_I_CHOICE_DEVICES ? used : SKED_I_CHOICE_DEVICES;
        const int32_t empty = used < SKED_I_CHOICE_DEVICES + 4;
        assert_int_equal(c.choices.n_columns, taken + empty);
        for (int32_t k = 0; k < taken; k++) /* op 0 is the longest: its device is free last */
            assert_int_equal(c.choices.column[k], used - taken + k);
        for (int32_t k = 0; k < empty; k++)
            assert_int_equal(c.choices.count[taken + k], SKED_I_CHOICE_DEVICES + 4 - used);
        end_choosing(&c);
        begin_choosing(&c, 40, SKED_I_CHOICE_DEVICES + 4, true, used);
        assert_int_equal(c.choices.n_columns, used + empty);
        end_choosing(&c);
    }
}

/* ------------------------------------------------------------------ the look one op ahead */

/* When the data of scheduled predecessors of `to` is on a column, by definition; start: -1, not scheduled. */
static double data_on(const sked_i_instance *x, const double *start, const int32_t *on, int32_t to,
                      int32_t column)
{
    double latest = 0;
    for (int64_t e = 0; e < x->graph->n_edges; e++) {
        const int32_t from = x->graph->edge_from[e];
        if (x->graph->edge_to[e] != to || start[from] < 0)
            continue;
        const int64_t link = (int64_t)x->kind_of[on[from]] * x->kinds + x->kind_of[column];
        const double way = x->platform.latency[link] + x->platform.bytes[e] * x->platform.per_byte[link];
        latest = fmax(latest,
                      start[from] + sked_i_instance_time(x, from, on[from]) + (on[from] == column ? 0 : way));
    }
    return latest;
}

/* The largest end of a path over one of the four successors whose ways to the end are longest. */
static double end_by_definition(const sked_i_partial *p, const sked_i_choices *c, const double *start,
                                const int32_t *on, int32_t op, int32_t column)
{
    const sked_i_instance *x = p->instance;
    const double begin = fmax(data_on(x, start, on, op, column), p->free_at[column]);
    const double finish = begin + sked_i_instance_time(x, op, column);
    double end = finish;
    for (int64_t e = 0; e < x->graph->n_edges; e++) {
        const int32_t to = x->graph->edge_to[e];
        int longer = 0;
        for (int64_t other = 0; other < x->graph->n_edges; other++) {
            const double more = x->hop[other] + x->tail[x->graph->edge_to[other]] - x->hop[e] - x->tail[to];
            longer += x->graph->edge_from[other] == op && (more > 0 || (more == 0 && other < e));
        }
        if (x->graph->edge_from[e] != op || longer >= SKED_I_AHEAD)
            continue;
        double done = fmax(data_on(x, start, on, to, column), finish) + sked_i_instance_time(x, to, column);
        for (int32_t d = 0; d < c->n_columns; d++) {
            const int32_t other = c->column[d];
            const double ready = fmax(data_on(x, start, on, to, other), p->free_at[other]);
            if (other != column)
                done = fmin(done, fmax(ready, finish + x->hop[e]) + x->duration[to]);
        }
        end = fmax(end, done + x->tail[to] - x->duration[to]);
    }
    return end;
}

static void test_a_look_ahead(void **state)
{
    enum { ops = 25, devices = 4 };
    sked_i_rng rng;
    (void)state;
    sked_i_rng_seed(&rng, 3, 0);
    for (int round = 0; round < 6; round++) {
        choosing c = {.graph = generated("erdos-renyi", ops, (uint64_t)round),
                      .machine = round % 2 ? two_types(devices) : NULL};
        double start[ops];
        int32_t on[ops], looks = 0;
        sked_problem_init(&c.problem, c.graph);
        c.problem.devices = devices;
        c.problem.machine = c.machine;
        if (c.machine == NULL) {
            c.problem.latency = 1;
            c.problem.bandwidth = 1;
        }
        OK(instance_of(&c.problem, &c.instance, err));
        OK(sked_i_partial_init(&c.partial, c.instance, err));
        OK(sked_i_choices_init(&c.choices, c.instance, err));
        sked_i_partial_reset(&c.partial);
        for (int32_t i = 0; i < ops; i++)
            start[i] = -1;
        assert_int_equal(c.instance->ahead != NULL, c.instance->transfers);
        while (c.instance->transfers && c.partial.left > 0) {
            sked_i_choices_fill(&c.choices, &c.partial);
            for (int32_t k = 0; k < c.choices.n_ops * c.choices.n_columns; k++) {
                const int32_t op = c.choices.row[k / c.choices.n_columns];
                const int32_t column = c.choices.column[k % c.choices.n_columns];
                const double begin = sked_i_partial_start(&c.partial, op, column);
                sked_i_ahead a;
                sked_i_ahead_fill(&a, &c.partial, &c.choices, op);
                assert_float_equal(sked_i_ahead_end(&a, &c.partial, op, column, begin),
                                   end_by_definition(&c.partial, &c.choices, start, on, op, column), 1e-9);
                looks++;
            }
            const int32_t at = (int32_t)sked_i_rng_below(&rng, (uint64_t)c.choices.n_ops);
            const int32_t to = c.choices.column[sked_i_rng_below(&rng, (uint64_t)c.choices.n_columns)];
            const int32_t op = c.choices.row[at];
            start[op] = sked_i_partial_start(&c.partial, op, to);
            on[op] = to;
            sked_i_partial_append(&c.partial, c.choices.index[at], to);
        }
        assert_true(looks > 0 || round % 2);
        end_choosing(&c);
    }
}

/* Above the largest graph of training the rule speaks again, the more the larger the graph is. */
static void test_large_graphs_trust_the_rule(void **state)
{
    enum { ops = 12 };
    sked_sampler *m = NULL, *start = NULL;
    sked_graph *g = generated("layered", ops, 2);
    sked_problem problem;
    sked_i_instance *x = NULL;
    double log_forward[3];
    (void)state;
    sked_problem_init(&problem, g);
    problem.devices = 3;
    problem.latency = problem.bandwidth = 1;
    OK(instance_of(&problem, &x, err));
    OK(sked_i_sampler_create(&sked_i_sizes_preset, &m, err));
    OK(sked_i_sampler_create(&sked_i_sizes_preset, &start, err));
    sked_i_sampler_start(start, 5);
    sked_i_sampler_start(m, 5);
    assert_true(sked_i_sampler_trust(m, 1000000) == 1); /* nothing is known of its training */
    m->largest = 200;
    assert_true(sked_i_sampler_trust(m, 200) == 1 && sked_i_sampler_trust(m, 800) == 0.25);
    for (int64_t i = 0; i < m->layout.total; i++)
        m->parameter[i] += 0.1f * (float)(i % 5 - 2);
    int32_t op[ops], device[ops];
    for (int k = 0; k < 3; k++) { /* the rule; the same of the model; what the model says itself */
        sked_i_policy_f32 *p = NULL;
        sked_i_walker_f32 *w = NULL;
        sked_i_trajectory t = {.op = op, .device = device};
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 1, 0);
        OK(sked_i_policy_create_f32(x, &m->layout, &sked_i_kernels_cpu_f32, &p, err));
        p->trust = k == 1 ? 0 : 1;
        sked_i_policy_prepare_f32(p, k == 0 ? start->parameter : m->parameter, 0.05);
        OK(sked_i_walker_create_f32(p, &w, err));
        OK(sked_i_walk_f32(w, k == 0 ? SKED_I_WALK_SAMPLE : SKED_I_WALK_REPLAY, &rng, 0, NULL, &t, err));
        log_forward[k] = t.log_forward;
        sked_i_walker_destroy_f32(w);
        sked_i_policy_destroy_f32(p);
    }
    assert_float_equal(log_forward[1], log_forward[0], 1e-4);
    assert_true(fabs(log_forward[2] - log_forward[0]) > 0.01);
    sked_sampler_destroy(m);
    sked_sampler_destroy(start);
    sked_i_instance_destroy(x);
    sked_graph_destroy(g);
}

/* Warm-up, then down to a hundredth in a straight line, and no further. */
static void test_rate_anneals(void **state)
{
    (void)state;
    sked_sampler m = {.rate = 1, .anneal = 1000};
    const int64_t steps[] = {0, 49, 100, 500, 990, 5000};
    const double rates[] = {0.01, 0.5 * 0.951, 0.9, 0.5, 0.01, 0.01};
    for (int k = 0; k < 6; k++) {
        m.steps = steps[k];
        assert_float_equal(sked_i_sampler_rate(&m), rates[k], 1e-9);
    }
}

/* All of the way changes nothing, none of it gives the start back, half of it the mean. */
static void test_blend(void **state)
{
    (void)state;
    sked_sampler *m = NULL, *start = NULL;
    OK(sked_i_sampler_create(&sked_i_sizes_preset, &m, err));
    OK(sked_i_sampler_create(&sked_i_sizes_preset, &start, err));
    sked_i_sampler_start(start, 5);
    const double shares[] = {1, 0.5, 0};
    for (int k = 0; k < 3; k++) {
        sked_i_sampler_start(m, 5);
        for (int64_t i = 0; i < m->layout.total; i++)
            m->parameter[i] += 2;
        OK(sked_i_sampler_blend(m, shares[k], err));
        for (int64_t i = 0; i < m->layout.total; i += 1000)
            assert_float_equal(m->parameter[i], start->parameter[i] + 2 * shares[k], 1e-5);
    }
    sked_sampler_destroy(m);
    sked_sampler_destroy(start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate_anneals),
        cmocka_unit_test(test_blend),
        cmocka_unit_test(test_a_look_ahead),
        cmocka_unit_test(test_large_graphs_trust_the_rule),
        cmocka_unit_test(test_tiny_problems),
        cmocka_unit_test(test_tiny_problems_backwards),
        cmocka_unit_test(test_tiny_problems_stepwise),
        cmocka_unit_test(test_tiny_problems_balanced),
        cmocka_unit_test(test_tiny_problems_by_steps),
        cmocka_unit_test(test_resume_is_bit_identical),
        cmocka_unit_test(test_a_model_knows_its_loss),
        cmocka_unit_test(test_ppo_makes_schedules_better),
        cmocka_unit_test(test_stopped_ppo_changes_nothing),
        cmocka_unit_test(test_damaged_models_are_refused),
        cmocka_unit_test(test_numbers_of_a_model),
        cmocka_unit_test(test_output_is_tried_first),
        cmocka_unit_test(test_failed_training_keeps_the_model),
        cmocka_unit_test(test_training_refuses_nonsense),
        cmocka_unit_test(test_log_probabilities),
        cmocka_unit_test(test_model_in_the_box_is_encode_once),
        cmocka_unit_test(test_stepwise_limits),
        cmocka_unit_test(test_shipped_stepwise),
        cmocka_unit_test(test_shipped_paper),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_temperature_does_what_it_says),
        cmocka_unit_test(test_parts_are_connected),
        cmocka_unit_test(test_a_step_chooses_among_64_ops),
        cmocka_unit_test(test_a_step_chooses_among_16_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
