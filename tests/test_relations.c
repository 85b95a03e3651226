/* Closure, reduction and width against the definition on many small graphs. */
#include "test.h"

#include "base/memory.h"
#include "base/rng.h"
#include "graph/relations.h"

#include <math.h>

/* A random graph in a random numbering, with parallel and carried edges and lags that matter. */
static sked_graph *random_graph(uint64_t seed, int32_t n, double p)
{
    sked_i_rng r;
    sked_builder *b;
    sked_graph *g;
    int32_t *label = malloc((size_t)(n ? n : 1) * sizeof *label);
    sked_i_rng_seed(&r, seed, 0);
    for (int32_t i = 0; i < n; i++)
        label[i] = i;
    if (seed % 2 == 0) /* else the numbering is topological */
        sked_i_rng_shuffle(&r, label, n);
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++)
        OK(sked_builder_add_op(b, NULL, NULL, (double)sked_i_rng_below(&r, 4), NULL, err));
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            if (sked_i_rng_uniform(&r) >= p)
                continue;
            const double lag = sked_i_rng_below(&r, 3) ? NAN : (double)sked_i_rng_below(&r, 9) - 3;
            const sked_edge e = {label[i], label[j], lag, 0, i < j ? 0 : 1};
            for (uint64_t twins = sked_i_rng_below(&r, 8) ? 1 : 2; twins > 0; twins--)
                OK(sked_builder_add_edge(b, &e, err));
        }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    free(label);
    return g;
}

/* Longest lag sum over paths of at least `hops` edges that avoid edge `without`; -INFINITY: none. */
static double longest(const sked_graph *g, int32_t i, int32_t j, int hops, int64_t without)
{
    double best = i == j && hops <= 0 ? 0 : -INFINITY;
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        if (g->edge_distance[e] > 0 || e == without)
            continue;
        const double rest = longest(g, g->edge_to[e], j, hops - 1, -1);
        if (g->edge_lag[e] + rest > best)
            best = g->edge_lag[e] + rest;
    }
    return best;
}

static bool reaches(const sked_graph *g, int32_t i, int32_t j)
{
    return longest(g, i, j, 1, -1) > -INFINITY;
}

static void closure_is_reachability(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const int32_t n = (int32_t)(seed % 11);
        sked_graph *g = random_graph(seed, n, 0.1 + 0.02 * (double)(seed % 20));
        sked_i_closure *c;
        OK(sked_i_closure_create(g, 0, &c, err));
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++)
                assert_int_equal(sked_i_closure_has(c, i, j), reaches(g, i, j));
        sked_i_closure_destroy(c);
        sked_graph_destroy(g);
    }
}

/* An edge may go when another path does its work; of equal twins the first one stays. */
static bool should_go(const sked_graph *g, int64_t e, bool lags)
{
    const int32_t i = g->edge_from[e], j = g->edge_to[e];
    const double mine = lags ? g->edge_lag[e] : 0, other = longest(g, i, j, 2, -1);
    if (g->edge_distance[e] > 0)
        return false;
    if (lags ? other >= mine : other > -INFINITY)
        return true;
    for (int64_t f = g->succ_ptr[i]; f < g->succ_ptr[i + 1]; f++) {
        const double theirs = lags ? g->edge_lag[f] : 0;
        if (f != e && g->edge_to[f] == j && g->edge_distance[f] == 0 &&
            (theirs > mine || (theirs == mine && f < e)))
            return true;
    }
    return false;
}

static void reduction_is_minimal(void **state)
{
    (void)state;
    uint8_t redundant[1000];
    for (uint64_t seed = 0; seed < 300; seed++) {
        sked_graph *g = random_graph(1000 + seed, (int32_t)(seed % 12), 0.1 + 0.02 * (double)(seed % 20));
        for (int lags = 0; lags < 2; lags++) {
            int64_t count, want = 0;
            OK(sked_i_graph_reduce(g, lags ? SKED_I_REDUCE_LAGS : SKED_I_REDUCE_PATHS, 0, redundant, &count,
                                   err));
            for (int64_t e = 0; e < g->n_edges; e++) {
                assert_int_equal(redundant[e], should_go(g, e, lags));
                want += redundant[e];
            }
            assert_int_equal(count, want);
        }
        sked_graph_destroy(g);
    }
}

/* The reduced graph orders the same ops; lags reduced keep every head. Several blocks of columns. */
static void blocks_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        const int32_t n = 1200 + 37 * (int32_t)seed;
        sked_graph *g = random_graph(seed, n, seed < 2 ? 0.003 : 0.02);
        sked_i_closure *c;
        int64_t count, same = 0;
        uint8_t *redundant = malloc((size_t)g->n_edges);
        double *head = malloc((size_t)n * sizeof *head), *again = malloc((size_t)n * sizeof *again);
        OK(sked_i_closure_create(g, 0, &c, err));
        OK(sked_i_graph_reduce(g, SKED_I_REDUCE_PATHS, 0, redundant, &count, err));
        for (int64_t e = 0; e < g->n_edges; e++)
            same += redundant[e] == c->redundant[e];
        assert_int_equal(same, g->n_edges);
        assert_true(count > 0 && count < g->n_edges - g->n_carried);

        OK(sked_i_graph_reduce(g, SKED_I_REDUCE_LAGS, 0, redundant, &count, err));
        assert_true(count > 0);
        sked_i_heads(g, head);
        for (int64_t e = 0; e < g->n_edges; e++)
            if (redundant[e])
                g->edge_lag[e] = -1e9;
        sked_i_heads(g, again);
        for (int32_t i = 0; i < n; i++)
            assert_true(head[i] == again[i]);
        sked_i_closure_destroy(c);
        sked_graph_destroy(g);
        free(redundant);
        free(head);
        free(again);
    }
}

/* Depth-first from every op of a larger graph: a second opinion on the blocked rows. */
static void closure_of_many_blocks(void **state)
{
    (void)state;
    const int32_t n = 1700;
    sked_graph *g = random_graph(77, n, 0.0015);
    sked_i_closure *c;
    int32_t *stack = malloc((size_t)n * sizeof *stack);
    uint8_t *seen = malloc((size_t)n);
    OK(sked_i_closure_create(g, 0, &c, err));
    for (int32_t i = 0; i < n; i++) {
        int32_t depth = 1, bad = 0;
        memset(seen, 0, (size_t)n);
        stack[0] = i;
        while (depth > 0) {
            const int32_t at = stack[--depth];
            for (int64_t e = g->succ_ptr[at]; e < g->succ_ptr[at + 1]; e++)
                if (g->edge_distance[e] == 0 && !seen[g->edge_to[e]]) {
                    seen[g->edge_to[e]] = 1;
                    stack[depth++] = g->edge_to[e];
                }
        }
        for (int32_t j = 0; j < n; j++)
            bad += sked_i_closure_has(c, i, j) != seen[j];
        assert_int_equal(bad, 0);
    }
    sked_i_closure_destroy(c);
    sked_graph_destroy(g);
    free(stack);
    free(seen);
}

static void limits_are_stated(void **state)
{
    (void)state;
    sked_graph *g = random_graph(5, 200, 0.2);
    sked_i_closure *c = NULL;
    uint8_t *redundant = malloc((size_t)g->n_edges);
    int64_t count = -7;
    FAILS(SKED_ERR_UNSUPPORTED, "200 ops takes 6400 bytes, the limit is 6399",
          sked_i_closure_create(g, 6399, &c, err));
    assert_null(c);
    OK(sked_i_closure_create(g, 6400, &c, err));
    FAILS(SKED_ERR_UNSUPPORTED, "row operations, the limit is 10",
          sked_i_graph_reduce(g, SKED_I_REDUCE_PATHS, 10, redundant, &count, err));
    assert_int_equal(count, -7);
    sked_i_closure_destroy(c);
    sked_graph_destroy(g);
    free(redundant);
}

/* Every pair has one relation, consistent both ways and with edges and closure. */
static void relations_partition_pairs(void **state)
{
    (void)state;
    static const uint8_t reverse[] = {SKED_I_RELATION_SELF,      SKED_I_RELATION_REDUCTION_REVERSE,
                                      SKED_I_RELATION_REDUCTION, SKED_I_RELATION_EDGE_REVERSE,
                                      SKED_I_RELATION_EDGE,      SKED_I_RELATION_PATH_REVERSE,
                                      SKED_I_RELATION_PATH,      SKED_I_RELATION_INCOMPARABLE};
    for (uint64_t seed = 0; seed < 30; seed++) {
        sked_graph *g = random_graph(seed, 10, 0.25);
        sked_i_closure *c;
        uint8_t relation[100];
        OK(sked_i_closure_create(g, 0, &c, err));
        assert_true(sked_i_relations_fill(g, c, NULL, relation));
        for (int32_t i = 0; i < 10; i++)
            for (int32_t j = 0; j < 10; j++) {
                bool edge = false;
                for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
                    edge = edge || (g->edge_to[e] == j && g->edge_distance[e] == 0);
                const bool longer = longest(g, i, j, 2, -1) > -INFINITY;
                const uint8_t want = i == j             ? SKED_I_RELATION_SELF
                                     : edge && longer   ? SKED_I_RELATION_EDGE
                                     : edge             ? SKED_I_RELATION_REDUCTION
                                     : longer           ? SKED_I_RELATION_PATH
                                     : reaches(g, j, i) ? reverse[relation[j * 10 + i]]
                                                        : SKED_I_RELATION_INCOMPARABLE;
                assert_int_equal(relation[i * 10 + j], want);
                assert_int_equal(relation[j * 10 + i], reverse[relation[i * 10 + j]]);
            }
        sked_i_closure_destroy(c);
        sked_graph_destroy(g);
    }
}

static void width_is_the_largest_antichain(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const int32_t n = (int32_t)(seed % 12);
        sked_graph *g = random_graph(seed, n, 0.02 * (double)(seed % 25));
        sked_i_closure *c;
        int32_t width, best = 0;
        OK(sked_i_closure_create(g, 0, &c, err));
        OK(sked_i_graph_width(c, &width, err));
        for (int32_t set = 0; set < 1 << n; set++) {
            bool free_of_paths = true;
            for (int32_t i = 0; i < n; i++)
                for (int32_t j = 0; j < n; j++)
                    if ((set >> i & 1) && (set >> j & 1) && sked_i_closure_has(c, i, j))
                        free_of_paths = false;
            if (free_of_paths && __builtin_popcount((unsigned)set) > best)
                best = __builtin_popcount((unsigned)set);
        }
        assert_int_equal(width, best);
        sked_i_closure_destroy(c);
        sked_graph_destroy(g);
    }
}

/* Known widths at sizes of several words: k chains side by side, and a bipartite crown. */
static void known_widths(void **state)
{
    (void)state;
    const int32_t chains = 37, length = 20;
    sked_builder *b;
    sked_graph *g;
    sked_graph_info info = {.size = sizeof info};
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < chains * length; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        const sked_edge e = {i - chains, i, NAN, 0, 0};
        if (i >= chains)
            OK(sked_builder_add_edge(b, &e, err));
    }
    for (int32_t i = 0; i < chains; i++) { /* and a comb that no single level shows */
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        const sked_edge e = {i * chains / 2, chains * length + i, NAN, 0, 0};
        OK(sked_builder_add_edge(b, &e, err));
    }
    OK(sked_builder_finish(b, &g, err));
    OK(sked_graph_describe(g, &info, err));
    assert_true(info.width_exact);
    assert_int_equal(info.width, 2 * chains);
    assert_int_equal(info.depth, length);
    sked_builder_destroy(b);
    sked_graph_destroy(g);
}

static void describe_fills_every_field(void **state)
{
    (void)state;
    sked_builder *b;
    sked_graph *g;
    sked_graph_info info = {.size = sizeof info};
    OK(sked_builder_create(&b, err));
    OK(sked_builder_finish(b, &g, err));
    OK(sked_graph_describe(g, &info, err));
    assert_int_equal(info.ops + info.depth + info.width + info.sources + info.sinks + info.isolated, 0);
    assert_int_equal(info.redundant_edges, 0);
    assert_true(info.critical_path == 0 && info.integral && info.width_exact);
    sked_graph_destroy(g);

    OK(sked_builder_add_resource(b, "mul", 2, NULL, err));
    for (int i = 0; i < 5; i++) {
        OK(sked_builder_add_op(b, NULL, i % 2 ? "Mul" : "Add", 2, NULL, err));
        OK(sked_builder_set_memory(b, i, 3, err));
        OK(sked_builder_set_weight(b, i, 0.5, err));
    }
    const sked_edge edges[] = {
        {0, 1, NAN, 7, 0}, {1, 2, 5, 1, 0}, {0, 2, NAN, 0, 0}, {2, 0, NAN, 0, 1}, {3, 3, NAN, 0, 2}};
    for (int i = 0; i < 5; i++)
        OK(sked_builder_add_edge(b, &edges[i], err));
    OK(sked_builder_finish(b, &g, err));
    OK(sked_graph_describe(g, &info, err));
    assert_int_equal(info.ops, 5);
    assert_int_equal(info.edges, 5);
    assert_int_equal(info.carried_edges, 2);
    assert_int_equal(info.redundant_edges, 1);
    assert_int_equal(info.types, 2);
    assert_int_equal(info.resources, 1);
    assert_int_equal(info.sources, 3); /* 0, 3, 4: a carried edge holds nothing back */
    assert_int_equal(info.sinks, 3);
    assert_int_equal(info.isolated, 1); /* 3 has an edge to itself */
    assert_int_equal(info.depth, 3);
    assert_int_equal(info.width, 3);
    assert_true(info.work == 10 && info.critical_path == 9 && info.memory == 15 && info.bytes == 8);
    assert_true(info.weight == 2.5 && !info.integral);
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closure_is_reachability),
        cmocka_unit_test(reduction_is_minimal),
        cmocka_unit_test(blocks_agree),
        cmocka_unit_test(closure_of_many_blocks),
        cmocka_unit_test(limits_are_stated),
        cmocka_unit_test(relations_partition_pairs),
        cmocka_unit_test(width_is_the_largest_antichain),
        cmocka_unit_test(known_widths),
        cmocka_unit_test(describe_fills_every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
