/* The neural network in double precision: every gradient against central differences. */
#define SKED_REAL_DOUBLE
#include "test.h"
#include "whole_batch.h"

#include "base/rng.h"
#include "engine/network/sampler.h"
#include "method/gflownet/batch.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ a scalar function and its gradient */

/* Fills y (a scalar) from x; with dx not NULL adds the gradient. */
typedef double (*scalar_fn)(void *data, const double *x, double *dx);

/* dx [n]: compares entries from, from + step, ... before to. */
static void compare_entries(const char *what, scalar_fn f, void *data, double *x, const double *dx,
                            double largest, int64_t from, int64_t to, int64_t step)
{
    for (int64_t i = from; i < to; i += step) {
        const double keep = x[i], h = 1e-6 * fmax(1, fabs(keep));
        x[i] = keep + h;
        const double above = f(data, x, NULL);
        x[i] = keep - h;
        const double below = f(data, x, NULL);
        x[i] = keep;
        const double slope = (above - below) / (2 * h);
        if (!(fabs(slope - dx[i]) <= 2e-6 * fmax(largest, 1)))
            fail_msg("%s: gradient %lld is %.12g, differences say %.12g", what, (long long)i, dx[i], slope);
    }
}

static double largest_of(const double *x, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i]));
    return largest;
}

static void check_gradient(const char *what, scalar_fn f, void *data, double *x, int64_t n)
{
    double *dx = calloc((size_t)n, sizeof *dx);
    assert_non_null(dx);
    f(data, x, dx);
    const double largest = largest_of(dx, n);
    assert_true(largest > 1e-6); /* a gradient of zeros would agree with a function that ignores x */
    compare_entries(what, f, data, x, dx, largest, 0, n, 1);
    free(dx);
}

static void fill(double *x, int64_t n, uint64_t seed)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, seed, 7);
    for (int64_t i = 0; i < n; i++)
        x[i] = sked_i_rng_normal(&rng);
}

/* A fixed linear form of the outputs makes them one number. */
static double weigh(const double *y, int64_t n, double *dy)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = sin(1.0 + 1.7 * (double)i);
        sum += w * y[i];
        dy[i] = w;
    }
    return sum;
}

static const sked_i_kernels_f64 *const k = &sked_i_kernels_cpu_f64;
enum { N = 7, P = 11, Q = 24 };

static double linear_fn(void *data, const double *x, double *dx)
{
    (void)data;
    const double *in = x, *w = in + N * P, *b = w + P * Q;
    double y[N * Q], dy[N * Q];
    k->linear(N, P, Q, in, w, b, y);
    const double sum = weigh(y, N * Q, dy);
    if (dx)
        k->linear_grad(N, P, Q, in, w, dy, dx, dx + N * P, dx + N * P + P * Q);
    return sum;
}

/* The same with the weights' gradient in pieces of columns. */
static double pieces_fn(void *data, const double *x, double *dx)
{
    const double *in = x, *w = in + N * P, *b = w + P * Q;
    double y[N * Q], dy[N * Q], whole[N * P + P * Q + Q] = {0};
    k->linear(N, P, Q, in, w, b, y);
    const double sum = weigh(y, N * Q, dy);
    if (dx == NULL)
        return sum;
    k->linear_grad(N, P, Q, NULL, w, dy, dx, NULL, NULL);
    for (int first = 0; first < Q; first += 8)
        k->weight_grad(N, P, Q, first, first + 8, in, dy, dx + N * P, dx + N * P + P * Q);
    linear_fn(data, x, whole);
    assert_memory_equal(dx, whole, sizeof whole);
    return sum;
}

static double packed_fn(void *data, const double *x, double *dx)
{
    (void)data;
    const double *in = x, *w = in + N * P, *start = w + P * Q;
    double y[N * Q], dy[N * Q], packed[P * Q], again[N * Q];
    k->pack(P, Q, w, packed);
    memcpy(y, start, sizeof y);
    k->linear_packed(N, P, Q, in, packed, NULL, y);
    k->linear_packed(N, P, Q, in, packed, start, again); /* the first row as a bias */
    assert_memory_equal(y, again, Q * sizeof *y);
    const double sum = weigh(y, N * Q, dy);
    if (dx) {
        k->linear_grad(N, P, Q, in, w, dy, dx, dx + N * P, NULL);
        memcpy(dx + N * P + P * Q, dy, sizeof dy);
    }
    return sum;
}

static double unit_fn(void *data, const double *x, double *dx)
{
    (void)data;
    double y[N * Q], dy[N * Q], rstd[N];
    k->unit(N, Q, x, y, rstd);
    const double sum = weigh(y, N * Q, dy);
    if (dx)
        k->unit_grad(N, Q, y, rstd, dy, dx);
    return sum;
}

static double norm_fn(void *data, const double *x, double *dx)
{
    (void)data;
    const double *gain = x + N * P, *bias = gain + P;
    double y[N * P], dy[N * P], mean[N], rstd[N];
    k->norm(N, P, x, gain, bias, y, mean, rstd);
    const double sum = weigh(y, N * P, dy);
    if (dx)
        k->norm_grad(N, P, x, gain, mean, rstd, dy, dx, dx + N * P, dx + N * P + P);
    return sum;
}

static double film_fn(void *data, const double *x, double *dx)
{
    (void)data;
    const double *scale = x + N * P, *shift = scale + P;
    double y[N * P], dy[N * P];
    k->film(N, P, x, scale, shift, y);
    const double sum = weigh(y, N * P, dy);
    if (dx)
        k->film_grad(N, P, x, scale, y, dy, dx, dx + N * P, dx + N * P + P);
    return sum;
}

enum { HEAD = 8, INNER = SKED_I_HEADS * HEAD };

static double attention_fn(void *data, const double *x, double *dx)
{
    const sked_i_masks *m = data;
    double y[N * INNER], dy[N * INNER], lse[N * SKED_I_HEADS];
    k->attention(m, 0, m->n, HEAD, x, y, lse);
    const double sum = weigh(y, N * INNER, dy);
    if (dx)
        k->attention_grad(m, 0, m->n, 0, SKED_I_HEADS, HEAD, x, y, lse, dy, dx);
    return sum;
}

/* Three of five ops look, with queries in another order, by lists of 2 + heads pairs. */
enum { LOOKS = 3, STRIDE = 16 };

static double attend_fn(void *data, const double *x, double *dx)
{
    static const int32_t op[LOOKS] = {4, 0, 2}, row[LOOKS] = {1, 2, 0};
    const sked_i_attention_views *v = data;
    const double *q = x, *kv = q + LOOKS * INNER;
    double y[LOOKS * INNER], dy[LOOKS * INNER], weight[LOOKS * STRIDE], scratch[STRIDE];
    k->attend(v, HEAD, LOOKS, op, row, q, kv, y, weight);
    const double sum = weigh(y, LOOKS * INNER, dy);
    if (dx)
        k->attend_grad(v, HEAD, LOOKS, op, row, q, kv, weight, dy, scratch, dx, dx + LOOKS * INNER);
    return sum;
}

/* The two forms of attention on the same relations. */
static void check_same_attention(const sked_i_attention_views *v, const sked_i_masks *m, const double *qkv)
{
    static const int32_t all[N] = {0, 1, 2, 3, 4, 5, 6};
    double y[N * INNER], lse[N * SKED_I_HEADS], q[N * INNER], kv[2 * N * INNER], z[N * INNER];
    double weight[N * STRIDE];
    k->attention(m, 0, m->n, HEAD, qkv, y, lse);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < INNER; c++) {
            q[i * INNER + c] = qkv[i * 3 * INNER + c] / sqrt(HEAD);
            kv[i * 2 * INNER + c] = qkv[(i * 3 + 1) * INNER + c];
            kv[(i * 2 + 1) * INNER + c] = qkv[(i * 3 + 2) * INNER + c];
        }
    k->attend(v, HEAD, N, all, all, q, kv, z, weight);
    for (int i = 0; i < N * INNER; i++)
        assert_true(fabs(y[i] - z[i]) < 1e-12);
}

static void test_attention_by_lists(void **state)
{
    (void)state;
    double x[3 * N * INNER];
    uint64_t bits[SKED_I_HEADS * N] = {0};
    int32_t end[N * SKED_I_HEADS], query[N * STRIDE] = {0}, key[N * STRIDE] = {0};
    const sked_i_masks masks = {N, 1, bits};
    const sked_i_attention_views views = {N, STRIDE, end, query, key};
    for (int i = 0; i < N; i++) {
        int count = 0;
        for (int h = 0; h < SKED_I_HEADS; h++) {
            for (int j = 0; j < N; j++)
                if (j == i || (i + 3 * j) % SKED_I_HEADS == h) {
                    bits[h * N + i] |= UINT64_C(1) << j;
                    query[i * STRIDE + count] = h * HEAD;
                    key[i * STRIDE + count++] = j * 2 * INNER + h * HEAD;
                }
            end[i * SKED_I_HEADS + h] = count;
        }
    }
    fill(x, 3 * N * INNER, 3);
    check_same_attention(&views, &masks, x);
    check_gradient("attend", attend_fn, (void *)&views, x, (LOOKS + 2 * N) * INNER);
}

enum { DEVICES = 3, ROWS = 7, F = SKED_I_PAIR_FEATURES };

static double score_fn(void *data, const double *x, double *dx)
{
    static const int32_t row[N] = {4, 0, 6, 1, 2};
    const double *op = x, *device = op + ROWS * Q, *weight = device + DEVICES * Q, *out = weight + F * Q;
    const sked_i_pairs_f64 s = {N, DEVICES, Q, true, row, op, device, data, weight, out};
    double y[N * DEVICES], dy[N * DEVICES];
    k->score(&s, y);
    const double sum = weigh(y, N * DEVICES, dy);
    if (dx)
        k->score_grad(&s, dy, dx, dx + (device - x), dx + (weight - x), dx + (out - x));
    return sum;
}

static double softmax_fn(void *data, const double *x, double *dx)
{
    const int32_t *count = data;
    double y[P], dy[P];
    assert_true(k->log_softmax(P, x, count, y));
    for (int i = 0; i < P; i++)
        if (count[i] == 0) {
            assert_true(y[i] == -INFINITY);
            y[i] = 0;
        }
    const double sum = weigh(y, P, dy);
    for (int i = 0; i < P; i++)
        y[i] = count[i] == 0 ? -INFINITY : y[i];
    if (dx)
        k->log_softmax_grad(P, y, count, dy, dx);
    return sum;
}

static void test_operators(void **state)
{
    (void)state;
    double x[2000], feature[N * DEVICES * F];
    const int32_t count[P] = {1, 0, 3, 1, 1, 0, 2, 1, 1, 1, 4};
    uint64_t bits[SKED_I_HEADS * N];
    const sked_i_masks masks = {N, 1, bits};
    for (int h = 0; h < SKED_I_HEADS; h++)
        for (int i = 0; i < N; i++)
            bits[h * N + i] = (UINT64_C(1) << i) | (UINT64_C(0x9d3a7f51) >> (h + 2 * i) & 31);
    fill(x, 2000, 1);
    fill(feature, N * DEVICES * F, 2);
    check_gradient("linear", linear_fn, NULL, x, N * P + P * Q + Q);
    check_gradient("weight_grad", pieces_fn, NULL, x, N * P + P * Q + Q);
    check_gradient("linear_packed", packed_fn, NULL, x, N * P + P * Q + N * Q);
    check_gradient("unit", unit_fn, NULL, x, N * Q);
    check_gradient("norm", norm_fn, NULL, x, N * P + 2 * P);
    check_gradient("film", film_fn, NULL, x, N * P + 2 * P);
    check_gradient("attention", attention_fn, (void *)&masks, x, 3 * N * INNER);
    check_gradient("score", score_fn, feature, x, (ROWS + DEVICES + F + 1) * Q);
    check_gradient("log-softmax", softmax_fn, (void *)count, x, P);
}

static void test_masked_row_is_refused(void **state)
{
    (void)state;
    const double x[3] = {1, 2, 3};
    const int32_t none[3] = {0, 0, 0};
    double y[3] = {7, 7, 7};
    assert_false(k->log_softmax(3, x, none, y));
    assert_false(k->log_softmax(0, x, none, y));
    assert_true(y[0] == 7 && y[1] == 7 && y[2] == 7);
}

/* ------------------------------------------------------------------ the whole loss */

typedef struct whole {
    sked_i_policy_f64 *policy;
    sked_i_batch_f64 *batch;
    double temperature;
    int64_t total;
} whole;

static double loss_fn(void *data, const double *x, double *dx)
{
    whole *w = data;
    double mean;
    sked_i_policy_prepare_f64(w->policy, x, w->temperature);
    OK(sked_i_batch_replay_f64(w->batch, err));
    const double loss = sked_i_batch_loss_f64(w->batch, &mean);
    if (dx)
        OK(batch_grad(w->batch, dx, err));
    return loss;
}

/* PPO's, of walks with a gradient only; times a thousand, to be compared to as many digits. */
static double surrogate_fn(void *data, const double *x, double *dx)
{
    whole *w = data;
    const double large = 1000;
    double mean, *all = calloc((size_t)w->total, sizeof *all);
    assert_non_null(all);
    sked_i_policy_prepare_f64(w->policy, x, w->temperature);
    OK(batch_grad(w->batch, all, err));
    for (int64_t i = 0; i < w->total && dx; i++)
        dx[i] += large * all[i];
    free(all);
    return large * sked_i_batch_loss_f64(w->batch, &mean);
}

static sked_i_sizes small_sizes(int layers, sked_i_policy_id policy, sked_i_backward_id backward)
{
    return (sked_i_sizes){8, layers, 8, 16, 8, 8, 16, 16, policy, backward, SKED_I_RULE_NONE};
}

/* Drawing and learning in one go is drawing, then the gradient. */
static void check_learning(const whole *w, const sked_i_layout *layout)
{
    double *once = calloc((size_t)layout->total, sizeof *once), mean;
    double *twice = calloc((size_t)layout->total, sizeof *twice);
    assert_non_null(once);
    assert_non_null(twice);
    sked_i_batch_f64 *b = NULL;
    OK(sked_i_batch_create_f64(w->policy, 35, 2, true, &b, err)); /* two or three for each part */
    OK(batch_learn(b, 2, 1, 0, once, err));
    const double loss = sked_i_batch_loss_f64(b, &mean);
    OK(sked_i_batch_sample_f64(b, 2, false, 1, 0, err));
    assert_true(loss == sked_i_batch_loss_f64(b, &mean));
    OK(batch_grad(b, twice, err));
    const double largest = largest_of(twice, layout->total);
    for (int64_t i = 0; i < layout->total; i++)
        assert_true(fabs(once[i] - twice[i]) <= 1e-11 * largest);
    sked_i_batch_destroy_f64(b);
    free(once);
    free(twice);
}

/* Trajectory balance with a given log Z is a mean over trajectories: a batch in long and short parts has the
 * gradient of two small ones. */
static void check_parts(const whole *w, const sked_i_layout *layout)
{
    const sked_i_loss loss = {.kind = SKED_I_LOSS_TB, .log_z = -3};
    const int32_t size[] = {45, 30, 15};
    double *one = calloc((size_t)layout->total, sizeof *one),
           *sum = calloc((size_t)layout->total, sizeof *sum);
    double largest = 0;
    assert_non_null(one);
    assert_non_null(sum);
    for (int n = 0; n < 3; n++) {
        sked_i_batch_f64 *b = NULL;
        memset(one, 0, (size_t)layout->total * sizeof *one);
        OK(sked_i_batch_create_f64(w->policy, size[n], 2, true, &b, err));
        OK(sked_i_batch_set_loss_f64(b, &loss, err));
        OK(batch_learn(b, 0, 1, n == 2 ? 30 : 0, one, err));
        sked_i_batch_destroy_f64(b);
        largest = fmax(largest, size[n] * largest_of(one, layout->total));
        for (int64_t i = 0; i < layout->total; i++)
            sum[i] += (n == 0 ? 1 : -1) * size[n] * one[i];
    }
    assert_true(largest > 0 && largest_of(sum, layout->total) <= 1e-11 * largest);
    free(one);
    free(sum);
}

/* Every parameter of the table, up to that many entries or so of each, and other ones in every call. */
static void check_parameters(const char *what, const sked_i_layout *layout, scalar_fn f, whole *w, double *x,
                             int64_t entries, bool *moved)
{
    static int64_t turn;
    double *dx = calloc((size_t)layout->total, sizeof *dx);
    assert_non_null(dx);
    f(w, x, dx);
    const double largest = largest_of(dx, layout->total);
    turn++;
    for (int i = 0; i < layout->n_table; i++) {
        const sked_i_parameter *p = &layout->table[i];
        const int64_t count = (int64_t)p->rows * p->columns, step = count / entries + 1;
        char name[80];
        snprintf(name, sizeof name, "%s, %s", what, p->name);
        moved[i] |= largest_of(dx + p->offset, count) > 1e-9;
        compare_entries(name, f, w, x, dx, largest, p->offset + (i + 5 * turn) % step, p->offset + count,
                        step);
    }
    free(dx);
}

/* Some ratios are cut: without a bound the objective is another. */
static void check_cuts(const whole *w, const sked_i_loss *loss)
{
    const sked_i_batch_f64 *b = w->batch;
    double free = 0, cut = 0;
    for (int32_t i = 0; i < b->size; i++) {
        sked_i_trajectory t = b->trajectory[i];
        sked_i_walker_f64 *walker = NULL;
        sked_i_gradient_f64 g = {0};
        const sked_i_clipping wide = {1e9, 0}, narrow = {loss->clip, 0};
        OK(sked_i_walker_create_f64(w->policy, &walker, err));
        OK(sked_i_gradient_create_f64(w->policy, &g, err));
        for (int side = -1; side <= 1; side += 2) {
            t.ppo = &wide;
            OK(sked_i_walk_f64(walker, SKED_I_WALK_REPLAY, NULL, side, &g, &t, err));
            free += t.objective;
            t.ppo = &narrow;
            OK(sked_i_walk_f64(walker, SKED_I_WALK_REPLAY, NULL, side, &g, &t, err));
            cut += t.objective;
        }
        sked_i_gradient_clear_f64(&g);
        sked_i_walker_destroy_f64(walker);
    }
    assert_true(fabs(free - cut) > 1e-3);
}

/* The loss, at other parameters than those the trajectories were drawn with. */
static void check_loss(const char *family, const sked_i_layout *layout, const sked_i_loss *loss, whole *w,
                       double *x, int64_t entries, bool *moved)
{
    const bool ppo = loss->kind == SKED_I_LOSS_PPO;
    OK(sked_i_batch_set_loss_f64(w->batch, loss, err));
    OK(sked_i_batch_sample_f64(w->batch, 2, false, 1, 0, err));
    for (int64_t i = 0; i < layout->total; i++)
        x[i] *= 1 + 0.3 * sin((double)i);
    w->total = layout->total;
    check_parameters(family, layout, ppo ? surrogate_fn : loss_fn, w, x, entries, moved);
    if (ppo)
        check_cuts(w, loss);
}

/* loss NULL: the variance loss. */
static void check_whole_by(const char *family, int32_t nodes, int32_t devices, double latency,
                           const sked_machine *machine, double temperature, const sked_i_sizes *sizes,
                           const sked_i_loss *loss, int64_t entries, bool *moved)
{
    const sked_generate_options how = {
        .size = sizeof how, .nodes = nodes, .seed = 3, .bytes = latency > 0 ? "uniform:0,2" : NULL};
    sked_graph *g = NULL;
    sked_i_instance *x = NULL;
    sked_i_layout layout;
    whole w = {.temperature = temperature};
    sked_problem problem;
    OK(sked_graph_generate(family, &how, &g, err));
    sked_problem_init(&problem, g);
    problem.devices = devices;
    problem.machine = machine;
    problem.latency = latency;
    problem.bandwidth = latency > 0 ? 3 : INFINITY;
    OK(instance_of(&problem, &x, err));
    OK(sked_i_layout_init(&layout, sizes, err));
    double *parameter = malloc((size_t)layout.total * sizeof *parameter);
    assert_non_null(parameter);
    fill(parameter, layout.total, (unsigned)(3 + devices));
    for (int64_t i = 0; i < layout.total; i++)
        parameter[i] *= 0.4;
    OK(sked_i_policy_create_f64(x, &layout, k, &w.policy, err));
    OK(sked_i_batch_create_f64(w.policy, 9, 1, true, &w.batch, err));
    sked_i_policy_prepare_f64(w.policy, parameter, temperature);
    OK(sked_i_batch_sample_f64(w.batch, 2, false, 1, 0, err));
    if (loss) {
        check_loss(family, &layout, loss, &w, parameter, entries, moved);
    } else {
        check_learning(&w, &layout);
        check_parts(&w, &layout);
        check_parameters(family, &layout, loss_fn, &w, parameter, entries, moved);
    }
    sked_i_batch_destroy_f64(w.batch);
    sked_i_policy_destroy_f64(w.policy);
    sked_i_instance_destroy(x);
    sked_graph_destroy(g);
    free(parameter);
}

static void check_whole(const char *family, int32_t nodes, int32_t devices, double latency,
                        const sked_machine *machine, double temperature, const sked_i_sizes *sizes,
                        int64_t entries, bool *moved)
{
    check_whole_by(family, nodes, devices, latency, machine, temperature, sizes, NULL, entries, moved);
}

/* Two devices alike and a faster one. */
static const char hetero[] =
    "{\"format\": \"sked-machine-1\", \"devices\": [{\"name\": \"a\", \"type\": \"x\"}, {\"name\": \"b\", "
    "\"type\": "
    "\"x\"}, {\"name\": \"c\", \"type\": \"y\", \"speed\": 3}], \"links\": [{\"from\": \"x\", \"to\": \"x\", "
    "\"latency\": 0.1, \"bandwidth\": 4}, {\"from\": \"x\", \"to\": \"y\", \"latency\": 0.2, \"bandwidth\": "
    "2}]}";

enum { MANY = CASES(3) }; /* entries of each parameter in each problem */

static void test_whole_loss(void **state)
{
    (void)state;
    sked_machine *machine = NULL;
    OK(sked_machine_parse("machine", hetero, strlen(hetero), &machine, err));
    for (int policy = 0; policy < 2; policy++)
        for (int backward = 0; backward < 2; backward++) {
            const sked_i_sizes sizes = small_sizes(2, policy, backward);
            bool moved[SKED_I_MAX_PARAMETERS] = {false};
            sked_i_layout layout;
            check_whole("layered", 7, 2, 0, NULL, 0.5, &sizes, MANY, moved);
            check_whole("erdos-renyi", 6, 9, 0, NULL, 0.1, &sizes, MANY, moved); /* more devices than ops */
            check_whole("tree", 5, 2, 0, NULL, 0.2, &sizes, MANY, moved);
            for (int32_t devices = 4; devices < 9;
                 devices++) /* other parameters: a row that is 0 learns nothing */
                check_whole("layered", 6, devices, 0, NULL, 0.3, &sizes, 1, moved);
            if (policy == SKED_I_POLICY_ENCODE_ONCE) { /* the other one takes equal devices only */
                check_whole("layered", 7, 3, 0.4, NULL, 0.3, &sizes, MANY, moved);
                check_whole("layered", 6, 3, 0, machine, 0.3, &sizes, MANY, moved);
            }
            OK(sked_i_layout_init(&layout, &sizes, err));
            for (int i = 0; i < layout.n_table; i++)
                if (!moved[i])
                    fail_msg("%s has no gradient in any problem", layout.table[i].name);
        }
    sked_machine_destroy(machine);
}

/* The first layer and the last are special to the stepwise policy: both in one, and one between. */
static void test_layers_of_stepwise(void **state)
{
    (void)state;
    for (int layers = 1; layers <= 3; layers += 2) {
        const sked_i_sizes sizes = small_sizes(layers, SKED_I_POLICY_STEPWISE, SKED_I_BACKWARD_LEARNED);
        bool moved[SKED_I_MAX_PARAMETERS] = {false};
        check_whole("layered", 6, 3, 0, NULL, 0.3, &sizes, 1, moved);
    }
}

/* Beside the rule of list scheduling; more and less sharp, and with the entropy of ruled choices. */
static void test_rule_of_stepwise(void **state)
{
    (void)state;
    const sked_i_loss ppo = {.kind = SKED_I_LOSS_PPO, .clip = 0.05, .entropy = 3};
    sked_i_sizes sizes = small_sizes(1, SKED_I_POLICY_STEPWISE, SKED_I_BACKWARD_LEARNED);
    bool moved[SKED_I_MAX_PARAMETERS] = {false};
    sizes.rule = SKED_I_RULE_LIST;
    check_whole("layered", 7, 3, 0, NULL, 0.3, &sizes, MANY, moved);
    check_whole("tree", 5, 4, 0, NULL, 2, &sizes, 1, moved);
    check_whole_by("layered", 6, 2, 0, NULL, 0.5, &sizes, &ppo, 1, moved);
}

/* PPO learns nothing of a backward policy: it has none. */
static void assert_backward_rests(const sked_i_sizes *sizes, const bool *moved)
{
    sked_i_layout layout;
    int found = 0;
    OK(sked_i_layout_init(&layout, sizes, err));
    for (int i = 0; i < layout.n_table; i++)
        if (strcmp(layout.table[i].name, "back_out") == 0 ||
            strcmp(layout.table[i].name, "back2_weight") == 0) {
            assert_false(moved[i]);
            found++;
        }
    assert_int_equal(found, 1);
}

/* Trajectory balance far from its log Z, the clipped ratio alone, and with the bonus for entropy. */
static void test_other_losses(void **state)
{
    (void)state;
    static const sked_i_loss losses[] = {{.kind = SKED_I_LOSS_TB, .log_z = -12},
                                         {.kind = SKED_I_LOSS_PPO, .clip = 0.05},
                                         {.kind = SKED_I_LOSS_PPO, .clip = 0.05, .entropy = 3}};
    for (int policy = 0; policy < 2; policy++)
        for (int i = 0; i < 3; i++) {
            const sked_i_sizes sizes = small_sizes(1, policy, SKED_I_BACKWARD_LEARNED);
            bool moved[SKED_I_MAX_PARAMETERS] = {false};
            if (policy == SKED_I_POLICY_ENCODE_ONCE) /* equal devices: choices with several labels */
                check_whole_by("erdos-renyi", 6, 5, 0, NULL, 0.1, &sizes, &losses[i], 2, moved);
            else
                check_whole_by("layered", 6, 2, 0, NULL, 0.5, &sizes, &losses[i], 1, moved);
            if (losses[i].kind == SKED_I_LOSS_PPO)
                assert_backward_rests(&sizes, moved);
        }
}

/* ------------------------------------------------------------------ credit by steps */

/* Sum of slopes times log P_F of each step, and of a slope times log P_B, over the trajectories of a batch.
 */
static double credit_fn(void *data, const double *x, double *dx)
{
    const whole *w = data;
    const sked_i_batch_f64 *b = w->batch;
    const int32_t n = b->policy->instance->n;
    double sum = 0;
    sked_i_walker_f64 *walker = NULL;
    sked_i_policy_prepare_f64(w->policy, x, w->temperature);
    OK(sked_i_walker_create_f64(w->policy, &walker, err));
    for (int32_t i = 0; i < b->size; i++) {
        sked_i_trajectory *t = &b->trajectory[i];
        OK(sked_i_walk_f64(walker, SKED_I_WALK_REPLAY, NULL, 0, NULL, t, err));
        double flow = 0;
        for (int32_t step = 0; step < n; step++) {
            flow += t->step_flow[step];
            sum -= t->step_slope[step] * t->step_flow[step];
        }
        assert_true(fabs(flow - (t->log_backward - t->log_forward)) < 1e-9);
        /* step_flow has log P_B as well: where that is learnt, the slopes of all steps are the same here */
        sum += (t->step_slope[0] + t->back_slope) * t->log_backward;
    }
    sked_i_walker_destroy_f64(walker);
    if (dx == NULL)
        return sum;
    sked_i_walker_f64 *again = NULL;
    sked_i_gradient_f64 g = {0};
    OK(sked_i_walker_create_f64(w->policy, &again, err));
    OK(sked_i_gradient_create_f64(w->policy, &g, err));
    memset(g.block, 0, (size_t)g.size * sizeof *g.block);
    for (int32_t i = 0; i < b->size; i++)
        OK(sked_i_walk_f64(again, SKED_I_WALK_REPLAY, NULL, 99, &g, &b->trajectory[i], err));
    OK(policy_back(w->policy, &g, dx, err));
    sked_i_gradient_clear_f64(&g);
    sked_i_walker_destroy_f64(again);
    return sum;
}

/* What step t of trajectory i answers for, as batch.h has it. */
static double gain_by_definition(const sked_i_batch_f64 *b, int32_t i, int32_t t)
{
    const sked_i_instance *x = b->policy->instance;
    const sked_i_trajectory *s = &b->trajectory[i];
    double sum = 0;
    for (int32_t u = t; u < x->n; u++) {
        const double flow = b->loss.kind == SKED_I_LOSS_PPO ? 0 : s->step_flow[u];
        const double before =
            u > 0 ? sked_i_loss_log_reward(x, b->policy->temperature, s->step_outlook[u - 1]) : 0;
        const double rise = sked_i_loss_log_reward(x, b->policy->temperature, s->step_outlook[u]) - before;
        sum += pow(b->loss.lambda, u - t) * (rise + flow);
    }
    return sum;
}

static void check_slopes(const sked_i_batch_f64 *b, int32_t listed)
{
    const int32_t n = b->policy->instance->n;
    for (int32_t t = 0; t < n; t++) {
        double mean = 0;
        for (int32_t i = listed; i < b->size; i++)
            mean += gain_by_definition(b, i, t) / (b->size - listed);
        for (int32_t i = listed; i < b->size; i++) {
            const double gain = gain_by_definition(b, i, t) - mean;
            const double far = fmax(-20, fmin(20, gain));
            assert_true(fabs(b->trajectory[i].step_slope[t] + 2 * far / b->size) < 1e-9);
        }
        for (int32_t i = 0; i < listed; i++)
            assert_true(b->trajectory[i].step_slope[t] == b->slope[i]);
    }
}

/* Slopes as batch.h defines them, then the gradient of a sum over steps with slopes of all sizes. */
static void check_credit(const sked_i_sizes *sizes, const sked_i_loss *loss, bool transfers)
{
    const bool learned = sizes->backward == SKED_I_BACKWARD_LEARNED;
    const sked_generate_options how = {.size = sizeof how, .nodes = 7, .seed = 3, .bytes = "uniform:0,2"};
    sked_graph *g = NULL;
    sked_i_instance *x = NULL;
    sked_i_layout layout;
    whole w = {.temperature = 0.3};
    sked_problem problem;
    bool moved[SKED_I_MAX_PARAMETERS] = {false};
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&problem, g);
    problem.devices = 3;
    problem.bandwidth = transfers ? 3 : INFINITY;
    OK(instance_of(&problem, &x, err));
    OK(sked_i_layout_init(&layout, sizes, err));
    double *parameter = malloc((size_t)layout.total * sizeof *parameter);
    assert_non_null(parameter);
    fill(parameter, layout.total, 3);
    for (int64_t i = 0; i < layout.total; i++)
        parameter[i] *= 0.4;
    OK(sked_i_policy_create_f64(x, &layout, k, &w.policy, err));
    OK(sked_i_batch_create_f64(w.policy, 9, 1, true, &w.batch, err));
    OK(sked_i_batch_set_loss_f64(w.batch, loss, err));
    sked_i_policy_prepare_f64(w.policy, parameter, w.temperature);
    sked_i_batch_draw_f64(w.batch, 2, 1, 0);
    OK(walk_pass(w.batch, err));
    for (int32_t i = 0; i < w.batch->size; i++)
        assert_true(w.batch->trajectory[i].step_outlook[x->n - 1] == w.batch->trajectory[i].makespan);
    assert_true(sked_i_batch_second_f64(w.batch));
    check_slopes(w.batch, 2);
    for (int32_t i = 0; i < w.batch->size; i++) {
        w.batch->trajectory[i].back_slope = 0.7 - i;
        for (int32_t step = 0; step < x->n; step++)
            w.batch->trajectory[i].step_slope[step] = sin(1 + i + (learned ? 0 : 10 * step));
    }
    check_parameters("credit by steps", &layout, credit_fn, &w, parameter, MANY, moved);
    sked_i_batch_destroy_f64(w.batch);
    sked_i_policy_destroy_f64(w.policy);
    sked_i_instance_destroy(x);
    sked_graph_destroy(g);
    free(parameter);
}

static void test_credit_by_steps(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++)
        for (int backward = 0; backward < 2; backward++) {
            const sked_i_sizes sizes = small_sizes(1, policy, backward);
            for (int lambda = 0; lambda <= 2; lambda++) {
                const sked_i_loss loss = {.by_steps = true, .lambda = lambda / 2.0};
                check_credit(&sizes, &loss, policy == SKED_I_POLICY_ENCODE_ONCE);
            }
        }
}

static double log_z_fn(void *data, const double *x, double *dx)
{
    const sked_i_log_z_input *in = data;
    const double z = sked_i_log_z_eval(x, in), far = z - 7;
    if (dx)
        sked_i_log_z_grad(x, in, 2 * far, dx);
    return far * far;
}

/* The head of log Z, and what it says before it has learnt anything. */
static void test_log_z(void **state)
{
    (void)state;
    sked_i_log_z_input in = {.list = -2, .kappa = 3, .ops = 5};
    sked_i_log_z *z = malloc(sizeof *z);
    double x[SKED_I_LOG_Z_TOTAL];
    assert_non_null(z);
    fill(in.feature, SKED_I_LOG_Z_FEATURES, 4);
    fill(x, SKED_I_LOG_Z_TOTAL, 5);
    check_gradient("log Z", log_z_fn, &in, x, SKED_I_LOG_Z_TOTAL);
    sked_i_log_z_start(z, 1);
    assert_true(sked_i_log_z_value(z, &in) == in.list);
    free(z);
}

/* ------------------------------------------------------------------ the one order of sums */

enum { LANES = SKED_I_LANES, MOST_WIDTH = 72, ORDER_OPS = 3, ORDER_DEVICES = 2 };

static double add_lanes(const double *v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

static int features_of(const sked_i_pairs_f64 *s)
{
    return s->far ? SKED_I_PAIR_FEATURES : SKED_I_NEAR_FEATURES;
}

/* Entry c of the hidden row of a pair, before the ReLU. */
static double hidden(const sked_i_pairs_f64 *s, int op, int device, int c)
{
    const double *f = s->feature + (op * s->devices + device) * SKED_I_PAIR_FEATURES;
    double h = s->op_part[s->row[op] * s->width + c] + s->device[device * s->width + c];
    for (int m = 0; m < features_of(s); m += 2)
        h += f[m] * s->weight[m * s->width + c] + f[m + 1] * s->weight[(m + 1) * s->width + c];
    return h;
}

static double score_by_hand(const sked_i_pairs_f64 *s, int op, int device)
{
    double lane[LANES] = {0};
    for (int c = 0; c < s->width; c++) {
        const double h = hidden(s, op, device, c);
        lane[c % LANES] += (h > 0 ? h : 0) * s->out[c];
    }
    return add_lanes(lane);
}

typedef struct score_gradient {
    double op[ORDER_OPS * MOST_WIDTH], device[ORDER_DEVICES * MOST_WIDTH];
    double weight[SKED_I_PAIR_FEATURES * MOST_WIDTH], out[MOST_WIDTH];
} score_gradient;

static void score_gradient_by_hand(const sked_i_pairs_f64 *s, const double *dlogit, score_gradient *g)
{
    for (int c = 0; c < s->width; c++)
        for (int i = 0; i < s->ops; i++) {
            double drow = 0;
            for (int d = 0; d < s->devices; d++) {
                const int p = i * s->devices + d;
                const double h = hidden(s, i, d, c), dh = h > 0 ? dlogit[p] * s->out[c] : 0;
                g->out[c] += dlogit[p] * (h > 0 ? h : 0);
                drow += dh;
                g->device[d * s->width + c] += dh;
                for (int m = 0; m < features_of(s); m++)
                    g->weight[m * s->width + c] += s->feature[p * SKED_I_PAIR_FEATURES + m] * dh;
            }
            g->op[s->row[i] * s->width + c] += drow;
        }
}

static void check_order_of_scores(int32_t width, bool far)
{
    static const int32_t row[ORDER_OPS] = {2, 0, 1};
    double x[(ORDER_OPS + ORDER_DEVICES + SKED_I_PAIR_FEATURES + 1) * MOST_WIDTH];
    double feature[ORDER_OPS * ORDER_DEVICES * SKED_I_PAIR_FEATURES], dlogit[ORDER_OPS * ORDER_DEVICES],
        logit[6];
    static score_gradient hand, kernel;
    fill(x, (int64_t)(sizeof x / sizeof *x), (uint64_t)width);
    fill(feature, (int64_t)(sizeof feature / sizeof *feature), 3);
    fill(dlogit, ORDER_OPS * ORDER_DEVICES, 4);
    const sked_i_pairs_f64 s = {.ops = ORDER_OPS,
                                .devices = ORDER_DEVICES,
                                .width = width,
                                .far = far,
                                .row = row,
                                .op_part = x,
                                .device = x + ORDER_OPS * width,
                                .feature = feature,
                                .weight = x + (ORDER_OPS + ORDER_DEVICES) * width,
                                .out = x + (ORDER_OPS + ORDER_DEVICES + SKED_I_PAIR_FEATURES) * width};
    k->score(&s, logit);
    for (int i = 0; i < ORDER_OPS; i++)
        for (int d = 0; d < ORDER_DEVICES; d++)
            assert_true(logit[i * ORDER_DEVICES + d] == score_by_hand(&s, i, d));
    memset(&hand, 0, sizeof hand);
    memset(&kernel, 0, sizeof kernel);
    score_gradient_by_hand(&s, dlogit, &hand);
    k->score_grad(&s, dlogit, kernel.op, kernel.device, kernel.weight, kernel.out);
    for (size_t m = 0; m < sizeof hand / sizeof(double); m++)
        assert_true(((const double *)&hand)[m] == ((const double *)&kernel)[m]);
}

static void check_order_of_linear(int32_t rows, int32_t p, int32_t q)
{
    double x[6 * 24], w[24 * MOST_WIDTH], dy[6 * MOST_WIDTH], dx[6 * 24] = {0}, dw[24 * MOST_WIDTH] = {0};
    fill(x, 6 * 24, 5);
    fill(w, 24 * MOST_WIDTH, 6);
    fill(dy, 6 * MOST_WIDTH, 7);
    k->linear_grad(rows, p, q, x, w, dy, dx, dw, NULL);
    for (int i = 0; i < rows; i++)
        for (int m = 0; m < p; m++) {
            double lane[LANES] = {0};
            for (int c = 0; c < q; c++)
                lane[c % LANES] += dy[i * q + c] * w[m * q + c];
            assert_true(dx[i * p + m] == add_lanes(lane));
        }
    for (int m = 0; m < p; m++)
        for (int c = 0; c < q; c++) {
            double sum = 0;
            for (int i = 0; i < rows; i++)
                sum += x[i * p + m] * dy[i * q + c];
            assert_true(dw[m * q + c] == sum);
        }
}

/* To the bit, whatever vector unit and tile do the work: widths that fill wide vectors, and others. */
static void test_sums_have_one_order(void **state)
{
    (void)state;
    for (int32_t width = LANES; width <= MOST_WIDTH; width += LANES) {
        check_order_of_scores(width, false);
        check_order_of_scores(width, true);
        check_order_of_linear(1, 24, width);
        check_order_of_linear(6, 19, width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_have_one_order),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_attention_by_lists),
        cmocka_unit_test(test_masked_row_is_refused),
        cmocka_unit_test(test_whole_loss),
        cmocka_unit_test(test_layers_of_stepwise),
        cmocka_unit_test(test_rule_of_stepwise),
        cmocka_unit_test(test_other_losses),
        cmocka_unit_test(test_credit_by_steps),

        cmocka_unit_test(test_log_z),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
