/* Whole arrays into a builder, and the arrays of a graph. */
#include "test.h"

#include <math.h>

static const double duration[] = {2, 3, 1.5}, memory[] = {1, 0, 4}, weight[] = {1, 2, 1};
static const char *const name[] = {"a", NULL, "c"}, *const type[] = {"Mul", NULL, "Add"};
static const uint8_t keep[] = {0, 0, 1};
static const int32_t from[] = {1, 0, 0}, to[] = {2, 1, 2}, distance[] = {0, 0, 1};
static const double lag[] = {4, NAN, NAN}, bytes[] = {0, 64, 0};

static sked_columns all_columns(void)
{
    sked_columns c;
    sked_columns_init(&c);
    c.ops = 3;
    c.name = name;
    c.type = type;
    c.duration = duration;
    c.memory = memory;
    c.weight = weight;
    c.keep = keep;
    c.edges = 3;
    c.from = from;
    c.to = to;
    c.lag = lag;
    c.bytes = bytes;
    c.distance = distance;
    return c;
}

static sked_builder *fresh(void)
{
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    return b;
}

static sked_graph *finish(sked_builder *b)
{
    sked_graph *g = NULL;
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_graph *from_columns(const sked_columns *c)
{
    sked_builder *b = fresh();
    OK(sked_builder_add_columns(b, c, err));
    return finish(b);
}

static sked_graph *one_by_one(void)
{
    sked_builder *b = fresh();
    for (int32_t i = 0; i < 3; i++) {
        OK(sked_builder_add_op(b, name[i], type[i], duration[i], NULL, err));
        OK(sked_builder_set_memory(b, i, memory[i], err));
        OK(sked_builder_set_weight(b, i, weight[i], err));
        OK(sked_builder_set_keep(b, i, keep[i], err));
    }
    for (int e = 0; e < 3; e++) {
        const sked_edge edge = {from[e], to[e], lag[e], bytes[e], distance[e]};
        OK(sked_builder_add_edge(b, &edge, err));
    }
    return finish(b);
}

static void columns_are_single_calls(void **state)
{
    (void)state;
    const sked_columns c = all_columns();
    sked_graph *a = from_columns(&c), *b = one_by_one();
    assert_true(sked_graph_equal(a, b));
    sked_graph_destroy(a);
    sked_graph_destroy(b);
}

static void missing_columns_are_presets(void **state)
{
    (void)state;
    sked_columns c;
    sked_edge edge;
    sked_columns_init(&c);
    c.ops = 3;
    c.duration = duration;
    c.edges = 1;
    c.from = from;
    c.to = to;
    sked_graph *g = from_columns(&c);
    sked_graph_edge(g, 0, &edge);
    assert_true(edge.from == 1 && edge.to == 2 && edge.lag == 3 && edge.bytes == 0 && edge.distance == 0);
    assert_true(sked_graph_memory(g, 2) == 0 && sked_graph_weight(g, 1) == 1 && !sked_graph_keep(g, 2));
    assert_null(sked_graph_op_type(g, 0));
    sked_graph_destroy(g);
}

/* Columns come after what is there already: ids go on. */
static void columns_go_on(void **state)
{
    (void)state;
    const sked_columns c = all_columns();
    sked_builder *b = fresh();
    const sked_edge edge = {3, 0, NAN, 0, 0};
    OK(sked_builder_add_columns(b, &c, err));
    OK(sked_builder_add_op(b, "first", NULL, 7, NULL, err));
    OK(sked_builder_add_edge(b, &edge, err));
    sked_graph *g = finish(b);
    assert_int_equal(sked_graph_op_count(g), 4);
    assert_int_equal(sked_graph_edge_count(g), 4);
    sked_graph_destroy(g);
}

/* What a graph shows is what its own functions say, and a builder makes the same graph of it. */
static void graphs_show_their_columns(void **state)
{
    (void)state;
    sked_columns c = all_columns();
    sked_graph *g = from_columns(&c);
    sked_columns_init(&c);
    OK(sked_graph_columns(g, &c, err));
    assert_int_equal(c.ops, 3);
    assert_int_equal(c.edges, 3);
    assert_true(c.name == NULL && c.type == NULL);
    for (int32_t i = 0; i < 3; i++)
        assert_true(c.duration[i] == sked_graph_duration(g, i) && c.memory[i] == sked_graph_memory(g, i) &&
                    c.weight[i] == sked_graph_weight(g, i) && c.keep[i] == sked_graph_keep(g, i));
    for (int64_t e = 0; e < 3; e++) {
        sked_edge edge;
        sked_graph_edge(g, e, &edge);
        assert_true(c.from[e] == edge.from && c.to[e] == edge.to && c.lag[e] == edge.lag &&
                    c.bytes[e] == edge.bytes && c.distance[e] == edge.distance);
        assert_int_equal(c.lag_given[e], edge.from == 1);
    }
    c.name = name;
    c.type = type;
    sked_graph *again = from_columns(&c);
    assert_true(sked_graph_equal(g, again));
    sked_graph_destroy(again);
    sked_graph_destroy(g);
}

static void bad_columns_are_refused(void **state)
{
    (void)state;
    sked_builder *b = fresh();
    sked_columns c = all_columns();
    c.duration = NULL;
    FAILS(SKED_ERR_ARGUMENT, "durations", sked_builder_add_columns(b, &c, err));
    c = all_columns();
    FAILS(SKED_ERR_ARGUMENT, "durations", sked_builder_add_columns(b, &c, err)); /* it stays failed */
    sked_builder_destroy(b);
    b = fresh();
    c.to = NULL;
    FAILS(SKED_ERR_ARGUMENT, "both ends", sked_builder_add_columns(b, &c, err));
    sked_builder_destroy(b);
    b = fresh();
    c = all_columns();
    c.edges = -1;
    FAILS(SKED_ERR_ARGUMENT, "0 or more", sked_builder_add_columns(b, &c, err));
    sked_builder_destroy(b);
    b = fresh();
    c = (sked_columns){0};
    FAILS(SKED_ERR_ARGUMENT, "sked_columns_init", sked_builder_add_columns(b, &c, err));
    assert_int_equal(sked_builder_op_count(b), 0);
    c = all_columns();
    c.memory = lag; /* NAN in it */
    FAILS(SKED_ERR_FORMAT, "memory must be a finite number", sked_builder_add_columns(b, &c, err));
    FAILS(SKED_ERR_FORMAT, "memory", sked_builder_add_columns(b, &c, err)); /* it stays failed */
    sked_builder_destroy(b);
    sked_graph *g = one_by_one();
    c = (sked_columns){0};
    FAILS(SKED_ERR_ARGUMENT, "size is not set", sked_graph_columns(g, &c, err));
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_single_calls),
        cmocka_unit_test(missing_columns_are_presets),
        cmocka_unit_test(columns_go_on),
        cmocka_unit_test(graphs_show_their_columns),
        cmocka_unit_test(bad_columns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
