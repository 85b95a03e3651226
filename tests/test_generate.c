/* Every family of the table, every distribution, and what they promise. */
#include "test.h"

#include "base/rng.h"
#include "graph/distribution.h"
#include "graph/graph.h"

#include <math.h>

static sked_graph *make_full(const char *family, const sked_generate_options *o)
{
    sked_graph *g = NULL;
    OK(sked_graph_generate(family, o, &g, err));
    return g;
}

static sked_graph *make(const char *family, int32_t nodes, uint64_t seed)
{
    const sked_generate_options o = {.size = sizeof o, .nodes = nodes, .seed = seed};
    return make_full(family, &o);
}

static sked_graph *make_with(const char *family, int32_t nodes, uint64_t seed, const char *setting)
{
    const sked_generate_options o = {
        .size = sizeof o, .nodes = nodes, .seed = seed, .settings = &setting, .n_settings = 1};
    return make_full(family, &o);
}

static bool same_edges(const sked_graph *a, const sked_graph *b)
{
    return a->n_ops == b->n_ops && a->n_edges == b->n_edges &&
           memcmp(a->edge_from, b->edge_from, (size_t)a->n_edges * sizeof *a->edge_from) == 0 &&
           memcmp(a->edge_to, b->edge_to, (size_t)a->n_edges * sizeof *a->edge_to) == 0 &&
           memcmp(a->edge_distance, b->edge_distance, (size_t)a->n_edges * sizeof *a->edge_distance) == 0;
}

static bool is_sized(const char *family) /* exists in certain sizes only */
{
    return strcmp(family, "fft") == 0 || strcmp(family, "cholesky") == 0 || strcmp(family, "lu") == 0 ||
           strcmp(family, "circuit") == 0;
}

static bool is_random(const char *family)
{
    static const char *const shapes[] = {"chain", "fork-join", "tree", "fft", "cholesky", "lu", "circuit"};
    for (int i = 0; i < 7; i++)
        if (strcmp(family, shapes[i]) == 0)
            return false;
    return true;
}

static void table_lists_the_families(void **state)
{
    (void)state;
    static const char *const want[] = {"erdos-renyi",
                                       "layered",
                                       "stochastic-block",
                                       "watts-strogatz",
                                       "barabasi-albert",
                                       "chain",
                                       "fork-join",
                                       "tree",
                                       "fft",
                                       "cholesky",
                                       "lu",
                                       "loop",
                                       "circuit"};
    assert_int_equal(sked_family_count(), 13);
    for (int i = 0; i < 13; i++)
        assert_string_equal(sked_family_at(i)->name, want[i]);
    assert_null(sked_family_at(-1));
    assert_null(sked_family_at(13));
}

/* A finished graph has no cycle of distance 0; here: sizes, ends, no twins. */
static void sizes_are_kept(void **state)
{
    (void)state;
    static const int32_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 10, 33, 64, 100, 1000, 1001, 5000};
    for (int f = 0; f < sked_family_count(); f++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const char *name = sked_family_at(f)->name;
            sked_graph *g = make(name, sizes[k], 3);
            if (is_sized(name))
                assert_in_range(g->n_ops, sizes[k] > 0, sizes[k]);
            else
                assert_int_equal(g->n_ops, sizes[k]);
            for (int64_t e = 1; e < g->n_edges; e++)
                for (int64_t d = e - 1; d >= g->succ_ptr[g->edge_from[e]]; d--)
                    if (g->edge_to[d] == g->edge_to[e] && g->edge_distance[d] == 0 &&
                        g->edge_distance[e] == 0)
                        fail_msg("%s %d: edge twice", name, (int)sizes[k]);
            assert_int_equal(g->n_carried > 0, strcmp(name, "loop") == 0 && sizes[k] > 0);
            sked_graph_destroy(g);
        }
}

static void seeds_decide(void **state)
{
    (void)state;
    for (int f = 0; f < sked_family_count(); f++) {
        const char *name = sked_family_at(f)->name;
        const sked_generate_options one = {
            .size = sizeof one, .nodes = 200, .seed = 1, .duration = "uniform:0,1"};
        sked_generate_options other = one;
        other.seed = 2;
        sked_graph *a = make_full(name, &one), *b = make_full(name, &one), *c = make_full(name, &other);
        assert_true(sked_graph_equal(a, b));
        assert_false(sked_graph_equal(a, c));
        assert_int_not_equal(a->duration[0] == c->duration[0], 1);
        assert_int_equal(same_edges(a, c), !is_random(name));
        sked_graph_destroy(b);
        other = one; /* another duration leaves the edges alone */
        other.duration = "int:1,3";
        other.memory = "mixture";
        b = make_full(name, &other);
        assert_true(same_edges(a, b));
        sked_graph_destroy(a);
        sked_graph_destroy(b);
        sked_graph_destroy(c);
    }
}

/* The numbers themselves: a change of generator or arithmetic must not pass unnoticed. */
static void graphs_stay_the_same(void **state)
{
    (void)state;
    static const uint64_t want[] = {0x3c1b4b6826b69b48u, 0x8fc63f19ba690576u, 0x01d09d91c6f7b764u,
                                    0xb864f51117636df7u, 0xc519239ed53dbcd9u, 0x6688c4f5dbed87c0u,
                                    0xbdcee6b956dc8e1cu, 0x41062ba7f21c0df7u, 0x6a96da9ae7bd1b96u,
                                    0xb03e6212bfa1c5c3u, 0x7ba50634006c7cd0u, 0x2b7d385bc6e99e47u,
                                    0x96b497fe26ab506fu};
    for (int f = 0; f < sked_family_count(); f++) {
        const sked_generate_options o = {
            .size = sizeof o, .nodes = 300, .seed = 42, .duration = "lognormal:1,0.5", .bytes = "normal:3,2"};
        sked_graph *g = make_full(sked_family_at(f)->name, &o);
        uint64_t h = (uint64_t)g->n_ops;
        for (int64_t e = 0; e < g->n_edges; e++) {
            uint64_t bits;
            memcpy(&bits, &g->edge_bytes[e], sizeof bits);
            h = (h ^ (uint64_t)g->edge_from[e] ^ (uint64_t)g->edge_to[e] << 32 ^ bits) * 0x9e3779b97f4a7c15u;
            memcpy(&bits, &g->edge_lag[e], sizeof bits);
            h = (h ^ h >> 29 ^ bits) * 0xbf58476d1ce4e5b9u;
        }
        if (h != want[f])
            fail_msg("%s: 0x%016llxu", sked_family_at(f)->name, (unsigned long long)h);
        sked_graph_destroy(g);
    }
}

/* ------------------------------------------------------------------ sets of parameters */

static sked_graph *make_like(const char *family, int32_t nodes, uint64_t seed)
{
    const sked_generate_options o = {.size = sizeof o, .nodes = nodes, .seed = seed, .like = "paper"};
    return make_full(family, &o);
}

static double parallelism_of(const sked_graph *g)
{
    sked_graph_info info = {.size = sizeof info};
    OK(sked_graph_describe(g, &info, err));
    return info.work / info.critical_path;
}

/* Every graph allows a speedup of 3; a seed gives the same one again; degrees stay as graphs grow. */
static void like_paper(void **state)
{
    (void)state;
    static const char *const names[] = {"erdos-renyi", "layered", "stochastic-block", "watts-strogatz",
                                        "barabasi-albert"};
    for (int f = 0; f < 5; f++) {
        double edges = 0;
        int drawn_again = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
            sked_graph *g = make_like(names[f], 50, seed), *same = make_like(names[f], 50, seed);
            assert_true(parallelism_of(g) >= 3 && same_edges(g, same));
            edges += (double)g->n_edges / 40;
            sked_graph *first = make(names[f], 50, seed);
            drawn_again += strcmp(names[f], "layered") == 0 && !same_edges(g, first);
            sked_graph_destroy(g);
            sked_graph_destroy(same);
            sked_graph_destroy(first);
        }
        if (strcmp(names[f], "layered") == 0)
            assert_true(drawn_again > 0 && drawn_again < 40 && edges < 120);
        else
            assert_true(edges > 170 && edges < 210);
    }
    sked_graph *g = make_like("erdos-renyi", 1000, 1);
    assert_true(g->n_edges > 3600 && g->n_edges < 4600);
    sked_graph_destroy(g);
}

static void like_is_checked(void **state)
{
    (void)state;
    static const char *const given[] = {"m=1"};
    sked_graph *g = NULL;
    sked_generate_options o = {.size = sizeof o, .nodes = 50, .like = "papr"};
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'paper'", sked_graph_generate("layered", &o, &g, err));
    o.like = "paper";
    FAILS(SKED_ERR_ARGUMENT, "no graphs of this family", sked_graph_generate("chain", &o, &g, err));
    o.nodes = 2;
    FAILS(SKED_ERR_ARGUMENT, "work of 3 critical paths", sked_graph_generate("layered", &o, &g, err));
    o.nodes = 50;
    o.settings = given; /* what is given is kept */
    o.n_settings = 1;
    OK(sked_graph_generate("barabasi-albert", &o, &g, err));
    assert_int_equal(g->n_edges, 49);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ single families */

static void close_to(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%g is not within %g of %g", got, tolerance, want);
}

static void random_families_have_their_edges(void **state)
{
    (void)state;
    sked_graph *g = make_with("erdos-renyi", 2000, 5, "p=0.01");
    const double mean = 0.01 * 2000 * 1999 / 2;
    close_to((double)g->n_edges, mean, 5 * sqrt(mean));
    sked_graph_destroy(g);
    g = make("erdos-renyi", 1000, 5); /* the published density holds to 1000 ops */
    close_to((double)g->n_edges, 0.05 * 499500, 800);
    sked_graph_destroy(g);
    g = make("erdos-renyi", 20000, 5);
    close_to((double)g->n_edges, 80000, 1500);
    sked_graph_destroy(g);
    g = make_with("erdos-renyi", 50, 5, "p=1");
    assert_int_equal(g->n_edges, 50 * 49 / 2);
    sked_graph_destroy(g);
    g = make_with("erdos-renyi", 50, 5, "p=0");
    assert_int_equal(g->n_edges, 0);
    sked_graph_destroy(g);
    g = make("stochastic-block", 800, 5);
    close_to((double)g->n_edges, 0.3 * 4 * (200 * 199 / 2) + 0.001 * 6 * 200 * 200, 800);
    sked_graph_destroy(g);
    g = make("stochastic-block", 20000, 5);
    close_to((double)g->n_edges, 80000, 1500);
    sked_graph_destroy(g);
    for (int beta = 0; beta <= 2; beta++) {
        g = make_with("watts-strogatz", 500, 5, beta == 0 ? "beta=0" : beta == 1 ? "beta=0.5" : "beta=1");
        assert_int_equal(g->n_edges, 500 * 2);
        sked_graph_destroy(g);
    }
    g = make_with("barabasi-albert", 500, 5, "m=3");
    assert_int_equal(g->n_edges, 3 * (500 - 3));
    int64_t most = 0;
    for (int32_t i = 0; i < 500; i++) {
        const int64_t degree = g->succ_ptr[i + 1] - g->succ_ptr[i] + g->pred_ptr[i + 1] - g->pred_ptr[i];
        most = degree > most ? degree : most;
    }
    assert_true(most > 30); /* hubs: the mean is 6 */
    sked_graph_destroy(g);
}

/* Without moved edges a ring has all its neighbours and nothing else, whatever the numbering. */
static void ring_degrees(void **state)
{
    (void)state;
    const char *const settings[] = {"beta=0", "k=6"};
    const sked_generate_options o = {.size = sizeof o, .nodes = 50, .settings = settings, .n_settings = 2};
    sked_graph *g = make_full("watts-strogatz", &o);
    for (int32_t i = 0; i < 50; i++)
        assert_int_equal(g->succ_ptr[i + 1] - g->succ_ptr[i] + g->pred_ptr[i + 1] - g->pred_ptr[i], 6);
    sked_graph_destroy(g);
}

/* Layers are the levels; neighbours have the published number of edges, evenly spread; skips their share. */
static void layered_is_as_published(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const int32_t n = 100 + 45 * (int32_t)seed;
        sked_graph *g = make("layered", n, seed);
        int32_t *level = malloc((size_t)n * sizeof *level);
        const int32_t depth = sked_i_levels(g, level);
        int64_t *size = calloc((size_t)depth, sizeof *size), *edges = calloc((size_t)depth, sizeof *edges);
        int64_t near = 0, skips = 0;
        for (int32_t i = 0; i < n; i++) {
            assert_true(i == 0 || level[i] >= level[i - 1]);
            size[level[i]]++;
        }
        for (int64_t e = 0; e < g->n_edges; e++) {
            const int32_t gap = level[g->edge_to[e]] - level[g->edge_from[e]];
            near += gap == 1;
            skips += gap > 1;
            edges[level[g->edge_from[e]]] += gap == 1;
        }
        assert_true(depth >= sqrt(n) / 1.8 && depth <= 1.8 * sqrt(3.0 * n));
        for (int32_t l = 0; l + 1 < depth; l++) {
            const double p = (double)size[l], q = (double)size[l + 1];
            assert_int_equal(edges[l], (int64_t)(0.2 * p * q + 0.8 * fmax(p, q) + 1e-9));
        }
        const double wanted = ceil((double)near * 0.14 / 0.86);
        assert_true((double)skips <= wanted && (double)skips >= 0.85 * wanted); /* twins are dropped */
        free(level);
        free(size);
        free(edges);
        sked_graph_destroy(g);
    }
}

/* Each op of the larger layer has k or k + 1 neighbours side by side in the smaller one. */
static void layered_windows(void **state)
{
    (void)state;
    const char *const settings[] = {"skips=0", "width=0.4"};
    const sked_generate_options o = {
        .size = sizeof o, .nodes = 600, .seed = 9, .settings = settings, .n_settings = 2};
    sked_graph *g = make_full("layered", &o);
    int32_t level[600], size[600] = {0};
    sked_i_levels(g, level);
    for (int32_t i = 0; i < 600; i++)
        size[level[i]]++;
    for (int32_t i = 0; i < 600; i++) {
        const int64_t first = g->succ_ptr[i], count = g->succ_ptr[i + 1] - first;
        if (count == 0) {
            assert_int_equal(size[level[i] + 1], 0); /* only the last layer */
            continue;
        }
        const int64_t p = size[level[i]], q = size[level[i] + 1];
        if (p < q)
            continue;
        const int64_t each = (int64_t)(0.2 * (double)(p * q) + 0.8 * (double)p + 1e-9) / p;
        assert_in_range(count, each, each + 1);
        for (int64_t e = first + 1; e < first + count; e++)
            assert_int_equal(g->edge_to[e], g->edge_to[e - 1] + 1);
    }
    sked_graph_destroy(g);
}

static void regular_shapes(void **state)
{
    (void)state;
    sked_graph_info info = {.size = sizeof info};
    sked_graph *g = make_with("chain", 100, 0, "chains=4");
    OK(sked_graph_describe(g, &info, err));
    assert_int_equal(info.edges, 96);
    assert_int_equal(info.width, 4);
    assert_int_equal(info.depth, 25);
    sked_graph_destroy(g);
    g = make_with("fork-join", 1 + 3 * (5 + 1), 0, "width=5");
    OK(sked_graph_describe(g, &info, err));
    assert_int_equal(info.width, 5);
    assert_int_equal(info.depth, 7);
    assert_int_equal(info.sources + info.sinks, 2);
    sked_graph_destroy(g);
    for (int out = 0; out < 2; out++) {
        g = make_with("tree", 31, 0, out ? "direction=out" : "direction=in");
        OK(sked_graph_describe(g, &info, err));
        assert_int_equal(info.depth, 5);
        assert_int_equal(out ? info.sinks : info.sources, 16);
        assert_int_equal(out ? info.sources : info.sinks, 1);
        sked_graph_destroy(g);
    }
}

static void sized_families_take_the_largest_that_fits(void **state)
{
    (void)state;
    static const struct {
        const char *family;
        int32_t nodes, ops, depth;
    } want[] = {{"fft", 1, 1, 1},      {"fft", 11, 4, 2},       {"fft", 12, 12, 3}, {"fft", 1000, 448, 7},
                {"cholesky", 9, 4, 4}, {"cholesky", 10, 10, 7}, {"lu", 4, 1, 1},    {"lu", 5, 5, 4},
                {"lu", 14, 14, 7},     {"cholesky", 3, 1, 1}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        sked_graph_info info = {.size = sizeof info};
        sked_graph *g = make(want[k].family, want[k].nodes, 0);
        OK(sked_graph_describe(g, &info, err));
        assert_int_equal(info.ops, want[k].ops);
        assert_int_equal(info.depth, want[k].depth);
        assert_true(info.integral);
        sked_graph_destroy(g);
    }
}

/* The dependences of 3 x 3 tiles, by hand. */
static void cholesky_of_three(void **state)
{
    (void)state;
    static const char *const types[] = {"POTRF", "TRSM",  "TRSM", "SYRK", "SYRK",
                                        "GEMM",  "POTRF", "TRSM", "SYRK", "POTRF"};
    static const int32_t edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {1, 5}, {2, 4}, {2, 5},
                                       {3, 6}, {4, 8}, {5, 7}, {6, 7}, {7, 8}, {8, 9}};
    sked_graph *g = make("cholesky", 10, 0);
    assert_int_equal(g->n_edges, 12);
    for (int32_t i = 0; i < 10; i++)
        assert_string_equal(sked_graph_op_type(g, i), types[i]);
    for (int64_t e = 0; e < 12; e++) {
        assert_int_equal(g->edge_from[e], edges[e][0]);
        assert_int_equal(g->edge_to[e], edges[e][1]);
    }
    sked_graph_destroy(g);
}

static void fft_points_meet(void **state)
{
    (void)state;
    sked_graph *g = make("fft", 32, 0); /* 16 points: every input reaches every output */
    int32_t reach[32];
    assert_int_equal(g->n_ops, 32);
    for (int32_t i = 31; i >= 0; i--) {
        reach[i] = i >= 24 ? 1 << (i - 24) : 0;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            reach[i] |= reach[g->edge_to[e]];
        assert_int_equal(g->pred_ptr[i + 1] - g->pred_ptr[i], i < 8 ? 0 : 2);
        assert_true(i >= 8 || reach[i] == 255);
    }
    sked_graph_destroy(g);
}

/* Inputs first, then gates of one or two inputs; a divider is deeper by far. */
static void circuits_are_of_gates(void **state)
{
    (void)state;
    static const char *const kinds[] = {"kind=multiplier", "kind=divider"};
    int32_t depth[2];
    for (int k = 0; k < 2; k++) {
        sked_graph_info info = {.size = sizeof info};
        sked_graph *g = make_with("circuit", 20000, 0, kinds[k]);
        OK(sked_graph_describe(g, &info, err));
        assert_in_range(g->n_ops, 18000, 20000);
        for (int32_t i = 0; i < g->n_ops; i++) {
            const int64_t inputs = g->pred_ptr[i + 1] - g->pred_ptr[i];
            const char *type = sked_graph_op_type(g, i);
            assert_true(inputs == 0 ? strcmp(type, "input") == 0 : inputs <= 2 && strcmp(type, "and") == 0);
            assert_true(g->memory[i] == 1 && g->duration[i] == 1);
        }
        assert_true(info.sources < 200);
        depth[k] = info.depth;
        sked_graph_destroy(g);
    }
    assert_true(depth[0] > 300 && depth[1] > 5 * depth[0]);
}

static void loops_are_modulo_problems(void **state)
{
    (void)state;
    for (int32_t n = 1; n < 200; n = 2 * n + 1) {
        sked_graph *g = make("loop", n, (uint64_t)n);
        assert_true(g->n_carried >= 1 && g->integral);
        assert_int_equal(g->n_resources, 3);
        for (int32_t i = 0; i < n; i++) {
            assert_int_equal(g->demand_ptr[i + 1] - g->demand_ptr[i], 1);
            assert_true(g->demand_amount[i] <= g->capacity[g->demand_resource[i]]);
        }
        for (int64_t e = 0; e < g->n_edges; e++)
            assert_int_equal(g->edge_distance[e] == 0, g->edge_from[e] < g->edge_to[e]);
        sked_graph_destroy(g);
    }
}

static double least_interval(const sked_graph *g)
{
    sked_problem p;
    double ii;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_II;
    OK(sked_problem_bound(&p, &ii, NULL, err));
    return ii;
}

/* Every back edge closes a recurrence, and none of them, nor several together, needs more than span + 1. */
static void back_edges_close_recurrences(void **state)
{
    (void)state;
    sked_back_edges draw;
    sked_back_edges_init(&draw);
    sked_graph *plain = make_with("circuit", 3000, 0, "kind=divider"), *g[3] = {NULL};
    draw.count = 300;
    draw.distance = 3;
    draw.span = 7;
    for (int k = 0; k < 3; k++) {
        draw.seed = k == 2;
        OK(sked_graph_looped(plain, &draw, &g[k], err));
        assert_int_equal(g[k]->n_carried, 300);
        assert_int_equal(g[k]->n_edges, plain->n_edges + 300);
        assert_int_equal(g[k]->n_ops, plain->n_ops);
        for (int64_t e = 0; e < g[k]->n_edges; e++)
            assert_in_range(g[k]->edge_distance[e], 0, 3);
        assert_in_range((int)least_interval(g[k]), 5, 8);
    }
    assert_true(same_edges(g[0], g[1]) && !same_edges(g[0], g[2]));
    for (int k = 0; k < 3; k++)
        sked_graph_destroy(g[k]);
    draw.span = 0;
    FAILS(SKED_ERR_ARGUMENT, "span", sked_graph_looped(plain, &draw, &g[0], err));
    sked_graph_destroy(plain);
}

/* ------------------------------------------------------------------ distributions and demands */

static double phi(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1));
}

static double cut_mean(double mean, double sd) /* of max(0, normal) */
{
    return mean * 0.5 * erfc(-mean / sd / sqrt(2)) + sd * phi(mean / sd);
}

static void distributions_have_their_means(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double mean, lo, hi;
        bool whole;
    } want[] = {
        {"const:2.5", 2.5, 2.5, 2.5, false},
        {"uniform:1,3", 2, 1, 3, false},
        {"int:1,6", 3.5, 1, 6, true},
        {"normal:10,2", 10, 0, 30, false},
        {"normal:0,1", cut_mean(0, 1), 0, 8, false},
        {"lognormal:1,0.5", exp(1.125), 0, 1000, false},
        {"exponential:4", 4, 0, 1000, false},
        {"choice:1,2,9", 4, 1, 9, true},
        {"mixture", (cut_mean(0.5, 0.5) + cut_mean(1, 1) + cut_mean(3, 1) + cut_mean(5, 1)) / 4, 0, 20,
         false},
    };
    bool tried[20] = {false};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        const int n = 200000;
        sked_i_distribution d;
        sked_i_rng r;
        double sum = 0, squares = 0;
        OK(sked_i_distribution_parse("duration", want[k].text, &d, err));
        tried[d.kind] = true;
        sked_i_rng_seed(&r, 7, k);
        for (int i = 0; i < n; i++) {
            const double x = sked_i_distribution_draw(&d, &r);
            assert_true(x >= want[k].lo && x <= want[k].hi && (!want[k].whole || x == floor(x)));
            sum += x;
            squares += x * x;
        }
        const double mean = sum / n, deviation = sqrt(fmax(0, squares / n - mean * mean));
        close_to(mean, want[k].mean, 5 * deviation / sqrt(n) + 1e-12);
    }
    assert_int_equal(sked_distribution_count(), 8);
    for (int i = 0; i < 8; i++)
        assert_true(tried[i]);
}

static void distributions_refuse(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"unifrom:1,2", "did you mean 'uniform'"},
        {"", "no distribution"},
        {"const", "const:V"},
        {"const:", "const:V"},
        {"const:-1", "const:V"},
        {"const:nan", "const:V"},
        {"const:1e999", "const:V"},
        {"const:1,2", "const:V"},
        {"uniform:1", "uniform:LO,HI"},
        {"uniform:3,1", "uniform:LO,HI"},
        {"uniform:1,2,", "uniform:LO,HI"},
        {"int:1,2.5", "int:LO,HI"},
        {"int:0,1e17", "int:LO,HI"},
        {"normal:1,-1", "normal:MEAN,SD"},
        {"lognormal:1,30", "lognormal:MU,SIGMA"},
        {"choice:", "choice:A,B"},
        {"choice:1,,2", "choice:A,B"},
        {"mixture:1", "mixture"},
        {"choice:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "up to 32"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        sked_i_distribution d = {.kind = 77};
        FAILS(SKED_ERR_ARGUMENT, bad[k][1], sked_i_distribution_parse("duration", bad[k][0], &d, err));
        FAILS(SKED_ERR_ARGUMENT, "duration: ", sked_i_distribution_parse("duration", bad[k][0], &d, err));
        assert_int_equal(d.kind, 77);
    }
}

static void columns_are_filled(void **state)
{
    (void)state;
    const sked_generate_options o = {.size = sizeof o,
                                     .nodes = 500,
                                     .duration = "int:2,4",
                                     .bytes = "int:5,9",
                                     .memory = "const:3",
                                     .weight = "choice:1,2",
                                     .demand = "mul:2:int:0,3;mem:inf:const:7"};
    for (int f = 0; f < sked_family_count(); f++) {
        sked_graph *g = make_full(sked_family_at(f)->name, &o);
        assert_int_equal(g->n_resources, 2);
        assert_true(sked_graph_capacity(g, 0) == 2 && isinf(sked_graph_capacity(g, 1)));
        for (int32_t i = 0; i < g->n_ops; i++) {
            assert_in_range((int)g->duration[i], 2, 4);
            assert_true(g->memory[i] == 3 && (g->weight[i] == 1 || g->weight[i] == 2));
            assert_in_range((int)sked_graph_demand(g, i, 0), 0, 2); /* cut at the capacity */
            assert_int_equal((int)sked_graph_demand(g, i, 1), 7);
        }
        for (int64_t e = 0; e < g->n_edges; e++)
            assert_in_range((int)g->edge_bytes[e], 5, 9);
        assert_true(g->integral);
        sked_graph_destroy(g);
    }
}

static sked_status attempt(const char *family, int32_t nodes, const char *setting, const char *demand,
                           sked_error *err)
{
    sked_graph *g = NULL;
    const sked_generate_options o = {.size = sizeof o,
                                     .nodes = nodes,
                                     .demand = demand,
                                     .settings = &setting,
                                     .n_settings = setting ? 1 : 0};
    const sked_status st = sked_graph_generate(family, &o, &g, err);
    sked_graph_destroy(g);
    return st;
}

static void bad_arguments_are_named(void **state)
{
    (void)state;
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'layered'", attempt("layerd", 5, NULL, NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "nodes", attempt("layered", -1, NULL, NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'width'", attempt("layered", 5, "widht=1", NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "k must be even", attempt("watts-strogatz", 5, "k=3", NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "direction wants one of in|out", attempt("tree", 5, "direction=up", NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "erdos-renyi: p gives about 5e+11 edges",
          attempt("erdos-renyi", 1000000, "p=1", NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "layered: density gives",
          attempt("layered", 10000000, "density=0.9", NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "RESOURCE:capacity", attempt("chain", 5, NULL, "mul", err));
    FAILS(SKED_ERR_ARGUMENT, "RESOURCE:capacity", attempt("chain", 5, NULL, ":1:const:1", err));
    FAILS(SKED_ERR_ARGUMENT, "capacity of 'mul'", attempt("chain", 5, NULL, "mul:-1:const:1", err));
    FAILS(SKED_ERR_ARGUMENT, "demand mul: ", attempt("chain", 5, NULL, "mul:1:constant:1", err));
    FAILS(SKED_ERR_ARGUMENT, "'mul' is given twice",
          attempt("chain", 5, NULL, "mul:1:const:1;mul:1:const:1", err));
    for (int f = 0; f < sked_family_count();
         f++) { /* every option of every family, out of range and garbage */
        const sked_family_info *family = sked_family_at(f);
        for (int k = 0; k < family->n_options; k++) {
            char setting[100];
            snprintf(setting, sizeof setting, "%s=-3", family->options[k].name);
            FAILS(SKED_ERR_ARGUMENT, family->options[k].name, attempt(family->name, 5, setting, NULL, err));
            snprintf(setting, sizeof setting, "%s=1x", family->options[k].name);
            FAILS(SKED_ERR_ARGUMENT, family->options[k].name, attempt(family->name, 5, setting, NULL, err));
        }
    }
}

/* Both ends of every option's range give a graph (or too many edges, which is said). */
static void option_ranges_hold(void **state)
{
    (void)state;
    for (int f = 0; f < sked_family_count(); f++) {
        const sked_family_info *family = sked_family_at(f);
        for (int k = 0; k < family->n_options; k++)
            for (int end = 0; end < 2 && family->options[k].kind != SKED_OPTION_ENUM; end++) {
                char setting[100], number[40];
                sked_format_number(end ? family->options[k].max : family->options[k].min, number,
                                   sizeof number);
                snprintf(setting, sizeof setting, "%s=%s", family->options[k].name, number);
                for (int32_t n = 1; n < 60; n += 1 + n / 3)
                    OK(attempt(family->name, n, setting, NULL, err));
            }
    }
}

/* ------------------------------------------------------------------ documentation */

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (f == NULL)
        fail_msg("%s is missing", path);
    (void)!fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    return text;
}

static void page_names_everything(void **state)
{
    (void)state;
    char *page = read_text(SKED_SOURCE_DIR "/docs/generators.md");
    char word[200];
    for (int f = 0; f < sked_family_count(); f++) {
        const sked_family_info *family = sked_family_at(f);
        snprintf(word, sizeof word, "### %s\n", family->name);
        if (strstr(page, word) == NULL || strstr(page, family->summary) == NULL)
            fail_msg("docs/generators.md does not describe %s", family->name);
        for (int k = 0; k < family->n_options; k++) {
            snprintf(word, sizeof word, "| `%s` | %s | ", family->options[k].name, family->options[k].preset);
            if (strstr(page, word) == NULL || strstr(page, family->options[k].help) == NULL)
                fail_msg("docs/generators.md does not describe %s of %s", family->options[k].name,
                         family->name);
        }
    }
    for (int i = 0; i < sked_distribution_count(); i++) {
        const sked_distribution_info *d = sked_distribution_at(i);
        snprintf(word, sizeof word, "| `%s%s%s` |", d->name, d->arguments[0] ? ":" : "", d->arguments);
        if (strstr(page, word) == NULL)
            fail_msg("docs/generators.md does not describe %s", d->name);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_lists_the_families),
        cmocka_unit_test(sizes_are_kept),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(graphs_stay_the_same),
        cmocka_unit_test(like_paper),
        cmocka_unit_test(like_is_checked),
        cmocka_unit_test(random_families_have_their_edges),
        cmocka_unit_test(ring_degrees),
        cmocka_unit_test(layered_is_as_published),
        cmocka_unit_test(layered_windows),
        cmocka_unit_test(regular_shapes),
        cmocka_unit_test(sized_families_take_the_largest_that_fits),
        cmocka_unit_test(cholesky_of_three),
        cmocka_unit_test(fft_points_meet),
        cmocka_unit_test(circuits_are_of_gates),
        cmocka_unit_test(loops_are_modulo_problems),
        cmocka_unit_test(back_edges_close_recurrences),
        cmocka_unit_test(distributions_have_their_means),
        cmocka_unit_test(distributions_refuse),
        cmocka_unit_test(columns_are_filled),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(option_ranges_hold),
        cmocka_unit_test(page_names_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
