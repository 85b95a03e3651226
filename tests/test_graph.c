/* Builder, names, orders, longest paths, equality. */
#include "test.h"

#include "base/memory.h"
#include "base/rng.h"
#include "graph/graph.h"

#include <math.h>

static sked_builder *fresh(void)
{
    sked_builder *b;
    OK(sked_builder_create(&b, err));
    return b;
}

static void op(sked_builder *b, const char *name, double duration)
{
    OK(sked_builder_add_op(b, name, NULL, duration, NULL, err));
}

static void edge(sked_builder *b, int32_t from, int32_t to, double lag, int32_t distance)
{
    const sked_edge e = {from, to, lag, 0, distance};
    OK(sked_builder_add_edge(b, &e, err));
}

static sked_graph *finish(sked_builder *b)
{
    sked_graph *g = NULL;
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static void empty_graph(void **state)
{
    (void)state;
    sked_graph *g = finish(fresh());
    assert_int_equal(sked_graph_op_count(g), 0);
    assert_int_equal(sked_graph_edge_count(g), 0);
    assert_int_equal(sked_graph_resource_count(g), 0);
    assert_string_equal(sked_graph_name(g), "");
    assert_int_equal(sked_graph_find_op(g, "0"), -1);
    assert_int_equal(sked_graph_find_resource(g, "0"), -1);
    assert_true(sked_i_critical_path(g, NULL) == 0);
    assert_int_equal(sked_i_levels(g, NULL), 0);
    assert_true(sked_graph_equal(g, g));
    sked_graph_destroy(g);
    sked_graph_destroy(NULL);
    sked_builder_destroy(NULL);
}

static void everything_comes_back(void **state)
{
    (void)state;
    sked_builder *b = fresh();
    int32_t alu, mem, id;
    char text[40];
    OK(sked_builder_set_name(b, "first", err));
    OK(sked_builder_set_name(b, "demo", err));
    OK(sked_builder_add_resource(b, "alu", 2, &alu, err));
    OK(sked_builder_add_resource(b, "mem", INFINITY, &mem, err));
    OK(sked_builder_add_op(b, "a", "Mul", 4, &id, err));
    assert_int_equal(id, 0);
    OK(sked_builder_add_demand(b, 0, mem, 3, err)); /* in any order */
    OK(sked_builder_add_demand(b, 0, alu, 1, err));
    OK(sked_builder_add_op(b, "b", "Add", 1.5, &id, err));
    OK(sked_builder_add_demand(b, 1, alu, 0, err)); /* none at all */
    OK(sked_builder_set_memory(b, 0, 64, err));
    OK(sked_builder_set_weight(b, 1, 0.5, err));
    const sked_edge e = {0, 1, NAN, 7, 0}, back = {1, 0, -1, 0, 3};
    OK(sked_builder_add_edge(b, &back, err));
    OK(sked_builder_add_edge(b, &e, err));
    assert_int_equal(sked_builder_find_op(b, "b"), 1);
    assert_int_equal(sked_builder_find_op(b, "1"), -1);
    assert_int_equal(sked_builder_find_resource(b, "mem"), mem);
    assert_int_equal(sked_builder_op_count(b), 2);
    sked_graph *g = finish(b);
    assert_string_equal(sked_graph_name(g), "demo");
    assert_string_equal(sked_graph_op_name(g, 1, text, sizeof text), "b");
    assert_string_equal(sked_graph_op_type(g, 0), "Mul");
    assert_int_equal(sked_graph_find_op(g, "a"), 0);
    assert_int_equal(sked_graph_find_op(g, "c"), -1);
    assert_int_equal(sked_graph_find_resource(g, "mem"), 1);
    assert_true(sked_graph_duration(g, 0) == 4 && sked_graph_memory(g, 0) == 64 &&
                sked_graph_weight(g, 0) == 1);
    assert_true(sked_graph_weight(g, 1) == 0.5 && sked_graph_memory(g, 1) == 0);
    assert_true(sked_graph_demand(g, 0, alu) == 1 && sked_graph_demand(g, 0, mem) == 3);
    assert_true(sked_graph_demand(g, 1, alu) == 0);
    assert_true(sked_graph_capacity(g, 0) == 2 && isinf(sked_graph_capacity(g, 1)));
    sked_edge out;
    sked_graph_edge(g, 0, &out);
    assert_true(out.from == 0 && out.to == 1 && out.lag == 4 && out.bytes == 7 && out.distance == 0);
    sked_graph_edge(g, 1, &out);
    assert_true(out.from == 1 && out.to == 0 && out.lag == -1 && out.distance == 3);
    assert_int_equal(g->n_carried, 1);
    assert_false(g->integral);
    sked_graph_destroy(g);
}

/* Rows hold the edges in the order they came, whether or not that was sorted. */
static void rows_keep_the_order(void **state)
{
    (void)state;
    for (int sorted = 0; sorted < 2; sorted++) {
        sked_builder *b = fresh();
        sked_i_rng r;
        int32_t from[500], to[500];
        sked_i_rng_seed(&r, 1, (uint64_t)sorted);
        for (int i = 0; i < 40; i++)
            op(b, NULL, i);
        for (int k = 0; k < 500; k++) {
            from[k] = sorted ? k / 13 : (int32_t)sked_i_rng_below(&r, 39);
            to[k] = from[k] + 1 + (int32_t)sked_i_rng_below(&r, (uint64_t)(39 - from[k]));
            const sked_edge e = {from[k], to[k], k % 3 ? NAN : k, k, 0};
            OK(sked_builder_add_edge(b, &e, err));
        }
        sked_graph *g = finish(b);
        assert_int_equal(sked_graph_edge_count(g), 500);
        for (int32_t i = 0; i < 40; i++) {
            int64_t e = g->succ_ptr[i], in = 0;
            for (int k = 0; k < 500; k++) {
                in += to[k] == i;
                if (from[k] != i)
                    continue;
                assert_true(g->edge_from[e] == i && g->edge_to[e] == to[k] && g->edge_bytes[e] == k);
                assert_true(g->edge_lag[e] == (k % 3 ? i : k) && g->edge_lag_given[e] == (k % 3 == 0));
                e++;
            }
            assert_int_equal(e, g->succ_ptr[i + 1]);
            assert_int_equal(in, g->pred_ptr[i + 1] - g->pred_ptr[i]);
            for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
                assert_int_equal(g->edge_to[g->pred_edge[k]], i);
                assert_int_equal(g->edge_from[g->pred_edge[k]], g->pred_op[k]);
                assert_true(k == g->pred_ptr[i] || g->pred_edge[k] > g->pred_edge[k - 1]);
            }
        }
        sked_graph_destroy(g);
    }
}

static void unnamed_ops_are_called_by_number(void **state)
{
    (void)state;
    char text[40];
    sked_builder *b = fresh();
    op(b, NULL, 1);
    op(b, NULL, 1);
    assert_int_equal(sked_builder_find_op(b, "1"), 1);
    assert_int_equal(sked_builder_find_op(b, "01"), -1);
    assert_int_equal(sked_builder_find_op(b, "+1"), -1);
    assert_int_equal(sked_builder_find_op(b, "2"), -1);
    assert_int_equal(sked_builder_find_op(b, ""), -1);
    op(b, "x", 1); /* now all have names */
    op(b, NULL, 1);
    assert_int_equal(sked_builder_find_op(b, "3"), 3);
    sked_graph *g = finish(b);
    assert_int_equal(sked_graph_find_op(g, "0"), 0);
    assert_int_equal(sked_graph_find_op(g, "x"), 2);
    assert_string_equal(sked_graph_op_name(g, 3, text, sizeof text), "3");
    sked_graph_destroy(g);

    b = fresh();
    op(b, "1", 1);
    FAILS(SKED_ERR_FORMAT, "its index is already the name", sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
    sked_builder_destroy(b);
    b = fresh();
    op(b, NULL, 1);
    FAILS(SKED_ERR_FORMAT, "two ops are called '0'", sked_builder_add_op(b, "0", NULL, 1, NULL, err));
    sked_builder_destroy(b);
}

static void many_names(void **state)
{
    (void)state;
    sked_i_names t = {0};
    char name[40];
    bool is_new;
    for (int32_t i = 0; i < 50000; i++) {
        snprintf(name, sizeof name, "%s%d", i % 2 ? "some/longer/prefix/of/a/layer_" : "n", i);
        assert_int_equal(sked_i_names_add(&t, name, strlen(name), &is_new), i);
        assert_true(is_new);
    }
    for (int32_t i = 0; i < 50000; i++) {
        snprintf(name, sizeof name, "%s%d", i % 2 ? "some/longer/prefix/of/a/layer_" : "n", i);
        assert_int_equal(sked_i_names_find(&t, name, strlen(name)), i);
        assert_string_equal(sked_i_names_at(&t, i), name);
        assert_int_equal(sked_i_names_add(&t, name, strlen(name), &is_new), i);
        assert_false(is_new);
    }
    assert_int_equal(sked_i_names_find(&t, "n1", 2), -1);
    assert_int_equal(sked_i_names_find(&t, "n00", 2), 0); /* size decides */
    assert_int_equal(sked_i_names_find(&t, "n0\0x", 4), -1);
    assert_int_equal(sked_i_names_find(&t, "", 0), -1);
    assert_int_equal(sked_i_names_add(&t, "", 0, &is_new), 50000);
    assert_int_equal(sked_i_names_find(&t, "", 0), 50000);
    sked_i_names_free(&t);
}

/* Cycles are named along their edges, long ones in part. */
static void cycles_are_named(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    sked_builder *b = fresh();
    op(b, "in", 1);
    op(b, "a", 1);
    op(b, "b", 1);
    op(b, "c", 1);
    op(b, "out", 1);
    edge(b, 0, 1, NAN, 0);
    edge(b, 1, 2, NAN, 0);
    edge(b, 2, 3, NAN, 0);
    edge(b, 3, 1, NAN, 0);
    edge(b, 3, 4, NAN, 0);
    sked_error e = {0};
    assert_int_equal(sked_builder_finish(b, &g, &e), SKED_ERR_FORMAT);
    assert_null(g);
    const bool named = strstr(e.message, "a -> b -> c -> a") || strstr(e.message, "b -> c -> a -> b") ||
                       strstr(e.message, "c -> a -> b -> c");
    if (!named || strstr(e.message, "in ->") || strstr(e.message, "out"))
        fail_msg("%s", e.message);
    sked_builder_destroy(b);

    b = fresh();
    for (int i = 0; i < 30; i++)
        op(b, NULL, 1);
    for (int i = 0; i < 30; i++)
        edge(b, i, (i + 1) % 30, NAN, 0);
    FAILS(SKED_ERR_FORMAT, "(18 more)", sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);

    b = fresh();
    op(b, "self", 1);
    edge(b, 0, 0, NAN, 0);
    FAILS(SKED_ERR_FORMAT, "self -> self", sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);

    b = fresh(); /* one edge carried to the next iteration: no cycle */
    op(b, "a", 1);
    op(b, "b", 1);
    edge(b, 0, 1, NAN, 0);
    edge(b, 1, 0, NAN, 1);
    edge(b, 0, 0, NAN, 1);
    sked_graph_destroy(finish(b));
}

static void bad_parts_are_refused(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    static const double bad[] = {-1, NAN, INFINITY};
    for (int k = 0; k < 3; k++) {
        sked_builder *b = fresh();
        FAILS(SKED_ERR_FORMAT, "op 'x': duration", sked_builder_add_op(b, "x", NULL, bad[k], NULL, err));
        FAILS(SKED_ERR_FORMAT, "op 'x': duration", sked_builder_finish(b, &g, err)); /* stays failed */
        sked_builder_destroy(b);
        b = fresh();
        op(b, "x", 1);
        FAILS(SKED_ERR_FORMAT, "op 'x': memory", sked_builder_set_memory(b, 0, bad[k], err));
        FAILS(SKED_ERR_FORMAT, "op 'x': memory", sked_builder_set_weight(b, 0, 1, err)); /* the first cause */
        sked_builder_destroy(b);
        b = fresh();
        op(b, NULL, 1);
        const sked_edge e = {0, 0, 1, bad[k], 1};
        FAILS(SKED_ERR_FORMAT, "bytes", sked_builder_add_edge(b, &e, err));
        sked_builder_destroy(b);
    }
    sked_builder *b = fresh();
    FAILS(SKED_ERR_FORMAT, "capacity", sked_builder_add_resource(b, "r", NAN, NULL, err));
    sked_builder_destroy(b);
    b = fresh();
    OK(sked_builder_add_resource(b, "r", 1, NULL, err));
    FAILS(SKED_ERR_FORMAT, "'r' is declared twice", sked_builder_add_resource(b, "r", 1, NULL, err));
    sked_builder_destroy(b);
    b = fresh();
    OK(sked_builder_add_resource(b, "r", 1, NULL, err));
    op(b, NULL, 1);
    OK(sked_builder_add_demand(b, 0, 0, 1, err));
    FAILS(SKED_ERR_FORMAT, "two demands", sked_builder_add_demand(b, 0, 0, 1, err));
    sked_builder_destroy(b);
    b = fresh();
    FAILS(SKED_ERR_ARGUMENT, "no op 3", sked_builder_set_weight(b, 3, 1, err));
    sked_builder_destroy(b);
    b = fresh();
    op(b, NULL, 1);
    FAILS(SKED_ERR_ARGUMENT, "no resource 0", sked_builder_add_demand(b, 0, 0, 1, err));
    sked_builder_destroy(b);
    b = fresh();
    op(b, NULL, 1);
    edge(b, 0, 1, NAN, 0);
    FAILS(SKED_ERR_FORMAT, "edge number 0 joins ops 0 and 1, but there are 1",
          sked_builder_finish(b, &g, err));
    op(b, NULL, 1); /* an op that an earlier edge names may still come */
    OK(sked_builder_finish(b, &g, err));
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

/* A builder that failed takes nothing more; this once looped for ever. */
static void failed_builders_stop(void **state)
{
    (void)state;
    sked_builder *b = fresh();
    FAILS(SKED_ERR_FORMAT, "duration", sked_builder_add_op(b, "x", NULL, -1, NULL, err));
    FAILS(SKED_ERR_FORMAT, "duration", sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
    FAILS(SKED_ERR_FORMAT, "duration", sked_builder_set_name(b, "y", err));
    sked_builder_destroy(b);
}

static void builders_can_be_used_again(void **state)
{
    (void)state;
    sked_builder *b = fresh();
    for (int round = 0; round < 3; round++) {
        sked_graph *g = NULL;
        op(b, round == 1 ? "n" : NULL, round);
        op(b, NULL, round);
        edge(b, 0, 1, NAN, 0);
        OK(sked_builder_finish(b, &g, err));
        assert_int_equal(sked_graph_op_count(g), 2);
        assert_int_equal(sked_graph_edge_count(g), 1);
        assert_true(sked_graph_duration(g, 1) == round);
        sked_graph_destroy(g);
        assert_int_equal(sked_builder_op_count(b), 0);
    }
    sked_builder_destroy(b);
}

static sked_graph *random_graph(uint64_t seed, int32_t n)
{
    sked_i_rng r;
    sked_i_rng_seed(&r, seed, 0);
    sked_builder *b = fresh();
    for (int32_t i = 0; i < n; i++)
        op(b, NULL, (double)sked_i_rng_below(&r, 5));
    for (int32_t k = 0; k < 2 * n; k++) {
        const int32_t i = (int32_t)sked_i_rng_below(&r, (uint64_t)n),
                      j = (int32_t)sked_i_rng_below(&r, (uint64_t)n);
        const double lag = sked_i_rng_below(&r, 2) ? NAN : (double)sked_i_rng_below(&r, 8) - 2;
        edge(b, i, j, lag, (i * 7) % n < (j * 7) % n ? 0 : 1); /* n is no multiple of 7: a scrambled order */
    }
    return finish(b);
}

/* The longest way from i to the end by plain recursion. */
static double tail_of(const sked_graph *g, int32_t i)
{
    double best = g->duration[i];
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
        if (g->edge_distance[e] == 0)
            best = fmax(best, g->edge_lag[e] + tail_of(g, g->edge_to[e]));
    return best;
}

static double head_of(const sked_graph *g, int32_t i)
{
    double best = 0;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0)
            best = fmax(best, head_of(g, g->pred_op[k]) + g->edge_lag[g->pred_edge[k]]);
    return best;
}

static int32_t level_of(const sked_graph *g, int32_t i)
{
    int32_t best = 0;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0 && level_of(g, g->pred_op[k]) + 1 > best)
            best = level_of(g, g->pred_op[k]) + 1;
    return best;
}

static void orders_and_paths(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const int32_t n = 1 + (int32_t)(seed % 5) * 3 + (int32_t)(seed % 2);
        sked_graph *g = random_graph(seed, n % 7 ? n : n + 1);
        int32_t position[40] = {0}, level[40], depth = 0;
        double head[40], tail[40], longest = 0;
        sked_i_heads(g, head);
        sked_i_tails(g, tail);
        const int32_t levels = sked_i_levels(g, level);
        for (int32_t k = 0; k < g->n_ops; k++)
            position[g->topo[k]] = k;
        for (int64_t e = 0; e < g->n_edges; e++)
            assert_true(g->edge_distance[e] > 0 || position[g->edge_from[e]] < position[g->edge_to[e]]);
        for (int32_t i = 0; i < g->n_ops; i++) {
            assert_true(head[i] == head_of(g, i) && tail[i] == tail_of(g, i));
            assert_int_equal(level[i], level_of(g, i));
            depth = level[i] + 1 > depth ? level[i] + 1 : depth;
            longest = fmax(longest, head[i] + g->duration[i]);
        }
        assert_int_equal(levels, depth);
        assert_true(sked_i_critical_path(g, head) == longest);
        sked_graph_destroy(g);
    }
}

/* Every difference counts; the default lag and the same lag given are one. */
static void equality_sees_everything(void **state)
{
    (void)state;
    enum {
        NAME,
        OP_NAME,
        TYPE,
        DURATION,
        MEMORY,
        WEIGHT,
        DEMAND,
        CAPACITY,
        RESOURCE,
        LAG,
        BYTES,
        DISTANCE,
        TO,
        CHANGES
    };
    sked_graph *g[CHANGES + 2];
    for (int k = 0; k < CHANGES + 2; k++) {
        sked_builder *b = fresh();
        OK(sked_builder_set_name(b, k == NAME ? "h" : "g", err));
        OK(sked_builder_add_resource(b, k == RESOURCE ? "s" : "r", k == CAPACITY ? 3 : 2, NULL, err));
        OK(sked_builder_add_op(b, k == OP_NAME ? "z" : "a", k == TYPE ? NULL : "T", k == DURATION ? 5 : 4,
                               NULL, err));
        OK(sked_builder_add_demand(b, 0, 0, k == DEMAND ? 2 : 1, err));
        OK(sked_builder_set_memory(b, 0, k == MEMORY ? 1 : 2, err));
        OK(sked_builder_set_weight(b, 0, k == WEIGHT ? 1 : 2, err));
        op(b, "b", 1);
        op(b, "c", 1);
        const double lag = k == LAG ? 3 : k == CHANGES || k == DURATION ? 4 : NAN;
        const sked_edge e = {0, k == TO ? 2 : 1, lag, k == BYTES, k == DISTANCE};
        OK(sked_builder_add_edge(b, &e, err));
        g[k] = finish(b);
    }
    for (int k = 0; k < CHANGES; k++)
        if (sked_graph_equal(g[k], g[CHANGES + 1]) || sked_graph_equal(g[CHANGES + 1], g[k]))
            fail_msg("change %d went unnoticed", k);
    assert_true(sked_graph_equal(g[CHANGES], g[CHANGES + 1]));
    for (int k = 0; k < CHANGES + 2; k++)
        sked_graph_destroy(g[k]);

    sked_builder *b = fresh(), *c = fresh(); /* unnamed, and named by their numbers */
    op(b, NULL, 1);
    op(c, "0", 1);
    g[0] = finish(b);
    g[1] = finish(c);
    assert_true(sked_graph_equal(g[0], g[1]));
    sked_graph_destroy(g[0]);
    sked_graph_destroy(g[1]);
}

static void durations_can_be_replaced(void **state)
{
    (void)state;
    sked_builder *b = fresh();
    OK(sked_builder_add_resource(b, "r", 2, NULL, err));
    OK(sked_builder_add_op(b, "a", "T", 4, NULL, err));
    OK(sked_builder_add_demand(b, 0, 0, 1, err));
    OK(sked_builder_set_memory(b, 0, 9, err));
    op(b, "b", 1);
    edge(b, 0, 1, NAN, 0);
    edge(b, 0, 1, 7, 0);
    sked_graph *g = finish(b), *h, *same;
    const double other[] = {6, 2};
    OK(sked_i_graph_with_durations(g, other, &h, err));
    assert_true(h->duration[0] == 6 && h->duration[1] == 2 && h->memory[0] == 9);
    assert_true(h->edge_lag[0] == 6 && h->edge_lag[1] == 7); /* only the default follows */
    OK(sked_i_graph_with_durations(h, g->duration, &same, err));
    assert_true(sked_graph_equal(g, same));
    sked_graph_destroy(g);
    sked_graph_destroy(h);
    sked_graph_destroy(same);
}

static void integral_means_all_integers(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        sked_builder *b = fresh();
        OK(sked_builder_add_resource(b, "r", k == 1 ? 2.5 : 2, NULL, err));
        OK(sked_builder_add_resource(b, "all", INFINITY, NULL, err));
        op(b, NULL, k == 2 ? 0.5 : 1);
        OK(sked_builder_add_demand(b, 0, 0, k == 3 ? 0.5 : 1, err));
        OK(sked_builder_set_memory(b, 0, k == 4 ? 0x1p53 : 1, err));
        edge(b, 0, 0, k == 5 ? 1.5 : NAN, 1);
        sked_graph *g = finish(b);
        assert_int_equal(g->integral, k == 0);
        sked_graph_destroy(g);
    }
}

/* Many demands of one op in any order: sorted once, two on the same resource refused. */
static void test_many_demands(void **state)
{
    (void)state;
    enum { n = 3000 };
    for (int twice = 0; twice < 2; twice++) {
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        char name[16];
        OK(sked_builder_create(&b, err));
        for (int r = 0; r < n; r++) {
            snprintf(name, sizeof name, "r%d", r);
            OK(sked_builder_add_resource(b, name, 1e9, NULL, err));
        }
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        for (int r = n - 1; r >= 0; r--)
            OK(sked_builder_add_demand(b, 0, (r * 7) % n, 1 + (r * 7) % n, err));
        if (twice) {
            OK(sked_builder_add_demand(b, 0, 5, 1, err));
            FAILS(SKED_ERR_FORMAT, "two demands on resource 'r5'", sked_builder_finish(b, &g, err));
        } else {
            OK(sked_builder_finish(b, &g, err));
            for (int r = 0; r < n; r += 97)
                assert_true(sked_graph_demand(g, 0, r) == 1 + r);
        }
        sked_graph_destroy(g);
        sked_builder_destroy(b);
    }
}

/*
 * Names that all had one hash value under the unkeyed function used before: the last eight bytes undo what
 * the first eight did. Printable, so that a file could hold them.
 */
static void colliding_name(uint64_t *counter, char *name)
{
    for (;;) {
        uint64_t h = 0xcbf29ce484222325u ^ 16, first = 0, last;
        for (uint64_t i = 0, x = (*counter)++; i < 8; i++, x /= 26)
            first |= (uint64_t)('a' + x % 26) << (8 * i);
        h = (h ^ first) * 0x9e3779b97f4a7c15u;
        last = h ^ h >> 29 ^ 0x0123456789abcdefu;
        bool plain = true;
        memcpy(name, &first, 8);
        memcpy(name + 8, &last, 8);
        for (int i = 8; i < 16; i++)
            plain = plain && name[i] > ' ' && name[i] < 127 && name[i] != '"' && name[i] != '\\';
        if (plain)
            return;
    }
}

/* The longest stretch of used slots, which a search may have to pass. */
static int64_t longest_probe(const sked_i_names *t)
{
    int64_t most = 0, length = 0;
    for (int64_t k = 0; k < 2 * t->slots; k++) {
        length = t->slot[k & (t->slots - 1)] != 0 ? length + 1 : 0;
        most = length > most ? length : most;
    }
    return most;
}

static void names_cannot_be_made_to_collide(void **state)
{
    (void)state;
    enum { count = 5000 };
    sked_i_names t = {0}, again = {0};
    char name[16];
    uint64_t counter = 0;
    bool fresh;
    for (int32_t i = 0; i < count; i++) {
        colliding_name(&counter, name);
        assert_int_equal(sked_i_names_add(&t, name, sizeof name, &fresh), i);
        assert_int_equal(sked_i_names_add(&again, name, sizeof name, &fresh), i); /* the same under any key */
    }
    assert_true(longest_probe(&t) < 500);
    assert_int_equal(t.slots, again.slots);
    assert_true(memcmp(t.slot, again.slot, (size_t)t.slots * sizeof *t.slot) != 0); /* a key of its own */
    sked_i_names_free(&t);
    sked_i_names_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_demands),
        cmocka_unit_test(empty_graph),
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(rows_keep_the_order),
        cmocka_unit_test(unnamed_ops_are_called_by_number),
        cmocka_unit_test(many_names),
        cmocka_unit_test(names_cannot_be_made_to_collide),
        cmocka_unit_test(cycles_are_named),
        cmocka_unit_test(bad_parts_are_refused),
        cmocka_unit_test(failed_builders_stop),
        cmocka_unit_test(builders_can_be_used_again),
        cmocka_unit_test(orders_and_paths),
        cmocka_unit_test(equality_sees_everything),
        cmocka_unit_test(durations_can_be_replaced),
        cmocka_unit_test(integral_means_all_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
