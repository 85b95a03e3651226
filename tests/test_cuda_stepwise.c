/* The stepwise policy on a GPU, or on its emulation, against the CPU's in double precision. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define SKED_REAL_DOUBLE
#include "stepwise_fixture.h"

#include "method/gflownet/sampler_learner.h"

static const setting settings[] = {
    {"layered", 9, 3, 12, TILES(2, 8, LEARNED), 0.3, 4},
    {"layered", 7, 2, 2, TILES(1, 8, UNIFORM), 0.2, 4},
    {"erdos-renyi", 6, 9, 3, TILES(2, 16, LEARNED), 0.1, 3}, /* more devices than ops */
    {"chain", 4, 2, 5, TILES(3, 8, UNIFORM), 1, 3},
    {"layered", 9, 4, 7, TILES_WITH(1, 8, LEARNED, LIST), 0.1, 4},
    {"erdos-renyi", 6, 40, 8, TILES_WITH(1, 40, UNIFORM, LIST), 0.5, 3}, /* more devices than lanes */
    /* More than a tile of rows; also of slots and of features. */
    {"tree", 19, 2, 4, TILES(1, 8, LEARNED), 0.4, 2},
    {"erdos-renyi", 19, 9, 3, TILES(1, 24, UNIFORM), 0.1, 2},
    {"tree", 66, 3, 6, TILES(1, 8, LEARNED), 0.3, 2}, /* more than one word of a mask */
};
enum { n_settings = sizeof settings / sizeof *settings, long_setting = n_settings - 1 };
enum { ruled_setting = 4, first_of_tiles = 6 };

/* Slopes of steps that the bound of Huber cuts, in what the CPU has learnt from. */
static int count_cut(const fixture *f)
{
    int cut = 0;
    for (int32_t k = f->walks.listed; k < f->s->batch; k++)
        for (int32_t i = 0; i < f->s->nodes; i++)
            cut += fabs(f->batch->trajectory[k].step_slope[i]) == 40.0 / f->s->batch;
    return cut;
}

/* Trajectory balance, or the variance with credit by steps; some trajectories are listed. Returns how many
 * slopes the bound has cut. */
static int check_law(const setting *s, const sked_i_loss *law)
{
    fixture f;
    const bool tb = law->kind == SKED_I_LOSS_TB;
    double log_z;
    make_fixture(s, &f);
    f.walks.loss_of = *law;
    f.walks.listed = s->batch / 3;
    sked_i_gpu_model *m = open_model(&f);
    double *want = room(f.layout.total, sizeof *want);
    OK(sked_i_batch_set_loss_f64(f.batch, law, err));
    OK(sked_i_batch_sample_f64(f.batch, s->batch / 3, false, 5, 0, err));
    replay_these(&f);
    OK(policy()->learn(m, 1, &f.walks, NULL, err));
    OK(policy()->finish(m, err));
    float *got = gradient_of(&f, m);
    const double loss = sked_i_batch_loss_f64(f.batch, &log_z), pull = sked_i_batch_pull_f64(f.batch);
    const double speedup = sked_i_batch_speedup_f64(f.batch, s->batch / 3);
    OK(batch_grad(f.batch, want, err));
    assert_true(!tb || (f.walks.log_z == law->log_z && fabs(pull) > 0.1));
    assert_true(fabs(f.walks.log_z - log_z) <= (rounds() ? 4e-3 : 1e-4) * s->nodes);
    const int cut = law->by_steps ? count_cut(&f) : 0;
    assert_true(fabs(f.walks.loss - loss) <= (rounds() ? 0.03 : 1e-3) * (loss + 1));
    assert_true(fabs(f.walks.pull - pull) <= (rounds() ? 4e-3 : 1e-4) * s->nodes);
    assert_true(fabs(f.walks.speedup - speedup) < 1e-9);
    compare_gradients(&f, got, want, rounds() ? 1e-2 : 2e-6);
    free(want);
    free(got);
    policy()->destroy(m);
    clear_fixture(&f);
    return cut;
}

/* Ratios that are cut, ratios that are not, and entropy: at other parameters than those of the draw. */
static void check_ppo(const setting *s, const sked_i_loss *law)
{
    fixture f;
    const int32_t listed = law->by_steps ? s->batch / 3 : 0;
    double log_z;
    make_fixture(s, &f);
    f.walks.loss_of = *law;
    f.walks.listed = listed;
    sked_i_gpu_model *m = open_model(&f);
    double *want = room(f.layout.total, sizeof *want);
    OK(sked_i_batch_set_loss_f64(f.batch, law, err));
    OK(sked_i_batch_sample_f64(f.batch, listed, false, 5, 0, err));
    replay_these(&f);
    OK(policy()->learn(m, 1, &f.walks, NULL, err));
    OK(policy()->finish(m, err));
    for (int64_t i = 0; i < f.layout.total; i++) {
        f.single[i] *= (float)(1 + 0.2 * sin((double)i));
        f.parameter[i] = f.single[i];
    }
    OK(policy()->put(m, f.single, NULL, NULL, err));
    OK(policy()->again(m, NULL, err));
    OK(policy()->finish(m, err));
    float *got = gradient_of(&f, m);
    sked_i_policy_prepare_f64(f.policy, f.parameter, s->temperature);
    OK(batch_grad(f.batch, want, err));
    const double loss = sked_i_batch_loss_f64(f.batch, &log_z);
    print_message("PPO: loss %.6g, on the GPU %.6g\n", loss, f.walks.loss);
    assert_true(fabs(f.walks.loss - loss) <= (rounds() ? 0.03 : 1e-5) * (fabs(loss) + law->entropy + 0.01));
    assert_true(f.walks.norm > 0 && f.walks.pull == 0);
    compare_gradients(&f, got, want, rounds() ? 3e-2 : 1e-5);
    free(want);
    free(got);
    policy()->destroy(m);
    clear_fixture(&f);
}

static void test_other_losses(void **state)
{
    const sked_i_loss balance = {.kind = SKED_I_LOSS_TB, .log_z = -7}; /* far from it */
    const sked_i_loss plain_ppo = {.kind = SKED_I_LOSS_PPO, .clip = 0.05},
                      free_ppo = {.kind = SKED_I_LOSS_PPO, .clip = 0.05, .entropy = 2};
    (void)state;
    check_law(&settings[0], &balance);
    check_ppo(&settings[0], &plain_ppo);
    check_ppo(&settings[1], &free_ppo);
    check_ppo(&settings[ruled_setting], &free_ppo);
}

/* Credit by steps, with a backward policy that is learned and one that is not, at heat and at cold. */
static void test_credit_by_steps(void **state)
{
    static const double lambdas[] = {0, 0.6, 1};
    setting cold = settings[0];
    int cut = 0, uncut = 0;
    (void)state;
    cold.temperature = 0.0005;
    for (int k = 0; k < 3; k++) {
        const sked_i_loss variance = {.by_steps = true, .lambda = lambdas[k]};
        const sked_i_loss ppo = {.kind = SKED_I_LOSS_PPO,
                                 .by_steps = true,
                                 .lambda = lambdas[k],
                                 .clip = 0.05,
                                 .entropy = 0.5 * k};
        uncut += check_law(&settings[0], &variance) == 0;
        cut += check_law(&cold, &variance);
        check_law(&settings[k == 0 ? 2 : k == 1 ? 1 : ruled_setting], &variance);
        check_ppo(&settings[k == 0 ? 0 : 1], &ppo);
    }
    print_message("%d slopes cut at cold, %d of 3 without at heat\n", cut, uncut);
    assert_true(cut > 0 && uncut > 0);
}

static void test_settings(void **state)
{
    (void)state;
    for (int k = 0; k < n_settings; k++)
        if (k != long_setting || patient())
            check_setting(&settings[k]);
}

/* Rows of the states in several pieces, where memory does not hold them at once. */
static void test_passes(void **state)
{
    (void)state;
    if (!emulated)
        skip();
    const setting s = {"layered", 4, 2, 1, TILES(1, 8, LEARNED), 0.3, 24};
    setenv("SKED_EMULATE_MEMORY", "84000000", 1); /* an eighth is less than 120 states take */
    check_setting(&s);
    unsetenv("SKED_EMULATE_MEMORY");
}

/*
 * Blocks whose warps take row tiles in turn, and rows in global memory: with little shared memory small
 * problems do so on the emulator.
 */
static void test_little_shared(void **state)
{
    (void)state;
    if (!emulated)
        skip();
    const setting turns = {"layered", 33, 3, 2, TILES(1, 8, LEARNED), 0.3, 2};
    setenv("SKED_EMULATE_SHARED", "40000", 1);
    check_setting(&settings[ruled_setting]);
    check_setting(&turns);
    setenv("SKED_EMULATE_SHARED", "20000", 1);
    check_drawing(&settings[0], false, 1);
    unsetenv("SKED_EMULATE_SHARED");
}

/* As a GPU rounds. */
static void test_rounded(void **state)
{
    (void)state;
    if (!emulated)
        skip();
    const sked_i_loss law = {.by_steps = true, .lambda = 0.6};
    setenv("SKED_EMULATE_TF32", "1", 1);
    check_setting(&settings[0]);
    check_law(&settings[0], &law);
    unsetenv("SKED_EMULATE_TF32");
}

static void test_drawing(void **state)
{
    (void)state;
    setting one_schedule = settings[long_setting];
    one_schedule.batch = 1;
    for (int k = 0; k < first_of_tiles; k++) {
        check_drawing(&settings[k], false, settings[k].batch / 2);
        check_drawing(&settings[k], true, 0);
    }
    check_drawing(&one_schedule, false, 0);
}

/*
 * Several problems in one load are what each is alone, and a run is the same bytes again. The second is of
 * `other` ops.
 */
static void check_several(const setting *base, int32_t other, int32_t batch, const sked_i_loss *law)
{
    enum { count = 3 };
    fixture f[count];
    sked_i_gpu_walks walks[count];
    setting s[count] = {*base, *base, *base};
    int32_t *op[count];
    double *log_forward[count];
    float *gradient[2];
    s[1].nodes = other;
    s[1].seed = 8;
    s[1].batch = batch;
    s[2].devices = 2;
    for (int k = 0; k < count; k++) {
        make_fixture(&s[k], &f[k]);
        f[k].walks.listed = 1;
        f[k].walks.loss_of = *law;
        op[k] = room((int64_t)s[k].batch * s[k].nodes, sizeof *op[k]);
        log_forward[k] = room(s[k].batch, sizeof *log_forward[k]);
    }
    sked_i_gpu_model *m = open_model(&f[0]);
    for (int k = 0; k < count; k++) { /* alone */
        OK(policy()->learn(m, 1, &f[k].walks, NULL, err));
        OK(policy()->finish(m, err));
    }
    for (int again = 0; again < 2; again++) {
        for (int k = 0; k < count; k++) {
            walks[k] = f[k].walks;
            walks[k].op = op[k];
            walks[k].log_forward = log_forward[k];
        }
        OK(policy()->learn(m, count, walks, NULL, err));
        OK(policy()->finish(m, err));
        gradient[again] = gradient_of(&f[0], m);
        for (int k = 0; k < count; k++) {
            const size_t cells = (size_t)s[k].batch * (size_t)s[k].nodes;
            assert_memory_equal(op[k], f[k].op, cells * sizeof *op[k]);
            assert_memory_equal(log_forward[k], f[k].log_forward, (size_t)s[k].batch * sizeof(double));
            assert_true(walks[k].loss == f[k].walks.loss);
            assert_true(fabs(walks[k].norm - f[k].walks.norm) <= 1e-4 * f[k].walks.norm);
        }
    }
    assert_memory_equal(gradient[0], gradient[1], (size_t)f[0].layout.total * sizeof(float));
    policy()->destroy(m);
    for (int k = 0; k < count; k++) {
        clear_fixture(&f[k]);
        free(op[k]);
        free(log_forward[k]);
    }
    free(gradient[0]);
    free(gradient[1]);
}

static void test_several_and_again(void **state)
{
    (void)state;
    const setting tiles = {"layered", 3, 3, 1, TILES(1, 8, UNIFORM), 0.3, 2};
    const sked_i_loss law = {0}, steps = {.by_steps = true, .lambda = 0.6};
    check_several(&settings[0], 4, 7, &law);
    check_several(&settings[0], 4, 7, &steps);
    check_several(&tiles, 17, 2, &law); /* two tiles of rows between problems of one */
}

/* The sum of the gradients of problems that are loaded `at_once`, of an update of all of them: [total]. */
static float *sum_of(fixture *f, int count, int at_once)
{
    float *gradient = room(f->layout.total, sizeof *gradient);
    sked_i_gpu_model *m = open_model(f);
    for (int first = 0; first < count; first += at_once) {
        sked_i_gpu_walks walks[3];
        for (int k = 0; k < at_once; k++) {
            walks[k] = f[first + k].walks;
            walks[k].graphs = count;
        }
        OK(policy()->learn(m, at_once, walks, NULL, err));
        OK(policy()->finish(m, err));
        OK(policy()->add(m, 1, 1.0 / count, gradient, err));
    }
    policy()->destroy(m);
    return gradient;
}

/* Ranks share an update: a gradient has the same bits whatever else is loaded, and so has their sum. */
enum { n_shared = 3 };
static void check_ranks(const setting s[n_shared])
{
    fixture f[n_shared];
    for (int k = 0; k < n_shared; k++)
        make_fixture(&s[k], &f[k]);
    float *alone = sum_of(f, n_shared, 1), *together = sum_of(f, n_shared, n_shared);
    assert_memory_equal(alone, together, (size_t)f[0].layout.total * sizeof *alone);
    free(alone);
    free(together);
    for (int k = 0; k < n_shared; k++)
        clear_fixture(&f[k]);
}

/* In one pass or in several. */
static void test_ranks(void **state)
{
    const setting s[] = {{"layered", 4, 2, 1, TILES(1, 8, LEARNED), 0.3, 8},
                         {"layered", 4, 2, 2, TILES(1, 8, LEARNED), 0.2, 8},
                         {"tree", 17, 2, 3, TILES(1, 8, LEARNED), 0.3, 2}};
    (void)state;
    if (emulated)
        setenv("SKED_EMULATE_MEMORY", "92000000", 1); /* an eighth holds two of them, not three */
    check_ranks(s);
    unsetenv("SKED_EMULATE_MEMORY");
}

/* The same where warps of some take row tiles in turn, of others not. */
static void test_long_ranks(void **state)
{
    const int32_t ops = emulated ? 17 : 145;
    const setting s[] = {{"layered", 4, 2, 1, TILES(1, 8, LEARNED), 0.3, 4},
                         {"layered", ops, 2, 2, TILES(1, 8, LEARNED), 0.2, 1},
                         {"tree", ops + 2, 2, 3, TILES(1, 8, LEARNED), 0.3, 1}};
    (void)state;
    if (emulated)
        setenv("SKED_EMULATE_SHARED", "60000", 1); /* one tile fits, two do not */
    check_ranks(s);
    unsetenv("SKED_EMULATE_SHARED");
}

/* One Adam step with the sum of two problems, and with a gradient from outside. */
static void test_update(void **state)
{
    (void)state;
    fixture f;
    setting s = settings[1];
    make_fixture(&s, &f);
    const int64_t total = f.layout.total;
    const sked_i_gpu_step step = {INFINITY, 0.5, 1e-2, 0.1, 0.001};
    float *parameter = room(total, sizeof *parameter), *moment1 = room(total, sizeof *moment1);
    float *moment2 = room(total, sizeof *moment2), *given = room(total, sizeof *given);
    float *sum = room(total, sizeof *sum);
    sked_i_gpu_walks walks[2] = {f.walks, f.walks};
    walks[1].seed = 6;
    sked_i_gpu_model *m = open_model(&f);
    OK(policy()->learn(m, 2, walks, NULL, err));
    OK(policy()->finish(m, err));
    OK(policy()->add(m, step.clip, step.share, sum, err));
    for (int outside = 0; outside < 2; outside++) {
        OK(policy()->put(m, f.single, NULL, NULL, err));
        OK(policy()->update(m, &step, outside ? given : NULL, err));
        OK(policy()->get(m, parameter, moment1, moment2, err));
        for (int64_t i = 0; i < total; i++) {
            const double g = outside ? given[i] : sum[i], m1 = 0.1 * g, m2 = 0.001 * g * g;
            const double want = f.single[i] - 1e-2 * (m1 / 0.1) / (sqrt(m2 / 0.001) + 1e-8);
            assert_true(fabs(moment1[i] - m1) <= 1e-6 * fabs(g));
            assert_true(fabs(moment2[i] - m2) <= 1e-6 * g * g + 1e-44);
            assert_true(fabs(parameter[i] - want) <= (fabs(g) > 1e-4 ? 1e-4 : 0.011));
            given[i] = (float)(i % 7) - 3;
        }
    }
    policy()->destroy(m);
    clear_fixture(&f);
    free(parameter);
    free(moment1);
    free(moment2);
    free(given);
    free(sum);
}

/* Every schedule of a tiny problem as often as its probability says. */
static void test_distribution(void **state)
{
    (void)state;
    const setting s = {"chain", 2, 3, 1, TILES(1, 8, UNIFORM), 1, emulated ? 300 : 20000};
    enum { outcomes = 9 };
    fixture f;
    int count[outcomes] = {0};
    double sum = 0;
    make_fixture(&s, &f);
    sked_i_gpu_model *m = open_model(&f);
    OK(policy()->walk(m, 1, &f.walks, NULL, err));
    for (int32_t k = 0; k < s.batch; k++)
        count[f.device[2 * k] * 3 + f.device[2 * k + 1]]++;
    sked_i_walker_f64 *w = NULL;
    OK(sked_i_walker_create_f64(f.policy, &w, err));
    for (int k = 0; k < outcomes; k++) {
        int32_t op[2] = {f.op[0], f.op[1]}, device[2] = {k / 3, k % 3};
        sked_i_trajectory t = {.op = op, .device = device};
        OK(sked_i_walk_f64(w, SKED_I_WALK_REPLAY, NULL, 0, NULL, &t, err));
        const double p = exp(t.log_forward), deviation = sqrt(s.batch * p * (1 - p));
        sum += p;
        if (!(fabs(count[k] - s.batch * p) <= 4 * deviation + 2))
            fail_msg("schedule %d: %d of %d draws, expected %.1f", k, count[k], (int)s.batch, s.batch * p);
    }
    assert_true(fabs(sum - 1) < 1e-9);
    sked_i_walker_destroy_f64(w);
    policy()->destroy(m);
    clear_fixture(&f);
}

/* Other widths than those the kernels are for: said on the GPU, left to the CPU by auto. */
static void check_width(const char *name, int32_t dim, int32_t mlp)
{
    char part[80];
    sked_i_sizes sizes = sked_i_sizes_preset;
    sked_i_layout layout;
    const sked_i_sampler_learner_kind *kind = NULL;
    const sked_i_sampler_learner_settings how = {
        .loss = SKED_I_LOSS_VARIANCE, .clip = 1, .graphs = 4, .lessons = 4, .batch = 100, .threads = 1};
    sizes.policy = strcmp(name, "stepwise") == 0 ? SKED_I_POLICY_STEPWISE : SKED_I_POLICY_ENCODE_ONCE;
    sizes.dim = dim;
    sizes.mlp = mlp;
    OK(sked_i_layout_init(&layout, &sizes, err));
    if (dim == sked_i_sizes_preset.dim && mlp == sked_i_sizes_preset.mlp) {
        OK(sked_i_sampler_learner_choose("cuda", &layout, &how, &kind, err));
        assert_ptr_equal(kind, &sked_i_sampler_learner_gpu);
        OK(sked_i_sampler_learner_choose("auto", &layout, &how, &kind, err));
        assert_ptr_equal(kind, &sked_i_sampler_learner_gpu);
        return;
    }
    snprintf(part, sizeof part, "policy %s computes on the GPU with dim=64 head=16 mlp=128", name);
    FAILS(SKED_ERR_UNSUPPORTED, part, sked_i_sampler_learner_choose("cuda", &layout, &how, &kind, err));
    OK(sked_i_sampler_learner_choose("auto", &layout, &how, &kind, err));
    assert_ptr_equal(kind, &sked_i_sampler_learner_cpu);
}

static void test_widths(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const char *name = k == 0 ? "stepwise" : "encode-once";
        check_width(name, 64, 128);
        check_width(name, 32, 128);
        check_width(name, 64, 64);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    fixture f;
    make_fixture(&settings[0], &f);
    sked_i_gpu_model *m = open_model(&f);
    sked_i_gpu_walks large = f.walks;
    /* More than the GPU has: said, and the next load works. */
    large.count = 1 << 30;
    FAILS(SKED_ERR_DEVICE, "of device memory", policy()->learn(m, 1, &large, NULL, err));
    OK(sked_i_batch_sample_f64(f.batch, 0, false, 5, 0, err));
    replay_these(&f);
    f.op[f.instance->n + 1] = f.op[f.instance->n]; /* twice the same op */
    FAILS(SKED_ERR_BUG, "step 1 of the trajectory is not legal", policy()->walk(m, 1, &f.walks, NULL, err));
    OK(policy()->learn(m, 1, &f.walks, NULL, err));
    FAILS(SKED_ERR_BUG, "not legal", policy()->finish(m, err));
    /* A model that has diverged. */
    f.walks.replay = false;
    for (int64_t i = 0; i < f.layout.total; i++)
        f.single[i] = NAN;
    OK(policy()->put(m, f.single, NULL, NULL, err));
    FAILS(SKED_ERR_BUG, "no probability at step 0", policy()->walk(m, 1, &f.walks, NULL, err));
    policy()->destroy(m);
    clear_fixture(&f);
}

/* ------------------------------------------------------------------ training */

enum { updates = 4 };
typedef struct curve {
    sked_train_progress at[updates];
    int count;
} curve;

static void note(void *data, const sked_train_progress *p)
{
    curve *c = data;
    if (c->count < updates)
        c->at[c->count++] = *p;
}

static sked_sampler *train(const char *backend_name, const char *loss, const char *credit, int64_t steps,
                           const char *resume, const char *output, curve *c)
{
    const char *const with[] = {"policy=stepwise", "graphs=2", "batch=4", "validate=0", "layers=1", loss,
                                "temperature=8",   "epochs=2", credit};
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_train_options_init(&opt);
    opt.graphs = "layered:7";
    opt.devices = 2;
    opt.steps = steps;
    opt.seed = 3;
    opt.settings = with;
    opt.n_settings = sizeof with / sizeof *with;
    opt.backend = backend_name;
    opt.resume = resume;
    opt.output = output;
    opt.progress = c ? note : NULL;
    opt.progress_data = c;
    OK(sked_train(&opt, &m, err));
    return m;
}

/* The same losses as on the CPU; and a run that is resumed ends with the same bytes as one that is not. */
static void check_training(const char *loss, const char *credit, int count)
{
    const bool ppo = strcmp(loss, "loss=ppo") == 0;
    const char *file = "test_cuda_stepwise.model";
    curve cpu = {.count = 0}, cuda = {.count = 0};
    sked_sampler *a = train("cpu", loss, credit, count, NULL, NULL, &cpu),
                 *b = train("cuda", loss, credit, count, NULL, NULL, &cuda);
    assert_int_equal(cpu.count, count);
    assert_int_equal(cuda.count, count);
    for (int k = 0; k < count; k++) {
        print_message("%s, %s, update %d: loss %.6g and %.6g, norm %.6g and %.6g\n", loss, credit, k,
                      cpu.at[k].loss, cuda.at[k].loss, cpu.at[k].norm, cuda.at[k].norm);
        const double tolerance = rounds() ? 0.02 : 1e-3; /* rounding grows from update to update */
        assert_true(fabs(cpu.at[k].loss - cuda.at[k].loss) <= tolerance * fabs(cpu.at[k].loss));
        assert_true(fabs(cpu.at[k].norm - cuda.at[k].norm) <= tolerance * cpu.at[k].norm);
        assert_true(ppo ||
                    fabs(cpu.at[k].log_z - cuda.at[k].log_z) <= tolerance * (1 + fabs(cpu.at[k].log_z)));
        assert_true(fabs(cpu.at[k].speedup - cuda.at[k].speedup) <= tolerance * cpu.at[k].speedup);
    }
    sked_sampler_destroy(train("cuda", loss, credit, count / 2, NULL, file, NULL));
    sked_sampler *c = train("cuda", loss, credit, count, file, NULL, NULL);
    assert_int_equal(b->steps, count);
    assert_memory_equal(b->parameter, c->parameter, (size_t)b->layout.total * sizeof *b->parameter);
    assert_memory_equal(b->moment2, c->moment2, (size_t)b->layout.total * sizeof *b->moment2);
    assert_memory_not_equal(a->parameter, b->parameter, (size_t)b->layout.total * sizeof *b->parameter);
    remove(file);
    sked_sampler_destroy(a);
    sked_sampler_destroy(b);
    sked_sampler_destroy(c);
}

static void test_training(void **state)
{
    (void)state;
    check_training("loss=variance", "credit=trajectory", updates);
    check_training("loss=variance", "credit=steps", updates);
    check_training("loss=tb", "credit=trajectory", 2);
    check_training("loss=ppo", "credit=trajectory", 2);
    check_training("loss=ppo", "credit=steps", 2);
}

static sked_samples sample(const sked_sampler *m, const sked_problem *p, const char *backend_name,
                           bool greedy)
{
    sked_sample_options opt;
    sked_samples s = {.size = sizeof s};
    sked_sample_options_init(&opt);
    opt.count = 12;
    opt.raw = true;
    opt.greedy = greedy;
    opt.seed = 4;
    opt.backend = backend_name;
    OK(sked_sampler_sample(m, p, &opt, &s, err));
    return s;
}

/* Schedules of a model, three temperatures at once, as the CPU draws them. */
static void test_sampling(void **state)
{
    (void)state;
    const sked_generate_options how = {.size = sizeof how, .nodes = 8, .seed = 2};
    sked_sampler *m = train("cpu", "loss=variance", "credit=trajectory", 1, NULL, NULL, NULL);
    sked_graph *g = NULL;
    sked_problem p;
    int32_t same = 0;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 3;
    for (int greedy = 0; greedy < 2; greedy++) {
        sked_samples a = sample(m, &p, "cpu", greedy), b = sample(m, &p, "cuda", greedy);
        assert_int_equal(a.count, greedy ? 1 : 12);
        assert_int_equal(b.count, a.count);
        for (int32_t k = 0; k < a.count; k++) {
            OK(sked_schedule_validate(&p, b.schedule[k], err));
            assert_true(a.temperature[k] == b.temperature[k]);
            if (a.makespan[k] != b.makespan[k])
                continue;
            same++;
            assert_true(fabs(a.log_prob[k] - b.log_prob[k]) <= (rounds() ? 0.05 : 1e-4));
        }
        assert_true(fabs(a.log_z - b.log_z) <= (rounds() ? 0.1 : 1e-4) * fabs(a.log_z));
        sked_samples_clear(&a);
        sked_samples_clear(&b);
    }
    assert_true(rounds() ? same > 6 : same == 13);
    sked_graph_destroy(g);
    sked_sampler_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_losses),      cmocka_unit_test(test_credit_by_steps),
        cmocka_unit_test(test_settings),          cmocka_unit_test(test_widths),
        cmocka_unit_test(test_little_shared),     cmocka_unit_test(test_passes),
        cmocka_unit_test(test_rounded),           cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_several_and_again), cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_long_ranks),        cmocka_unit_test(test_update),
        cmocka_unit_test(test_distribution),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_training),          cmocka_unit_test(test_sampling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
