/*
 * The table of attributes. graph and formats are compiled once more with lines of tests/more_attributes.h: a
 * line is enough for an attribute to be set, copied, compared, written and read by every format that carries
 * attributes.
 */
#include "test.h"

#include "base/file.h"
#include "formats/format.h"

static const char *const carriers[] = {"native", "dot", "gml", "graphml"};
enum { n_carriers = sizeof carriers / sizeof *carriers };

/* A value of attribute number i that is not its preset, another one for each k. */
static double other_value(int i, int64_t k)
{
    const sked_attribute_info *a = sked_attribute_at(i);
    const double x = (double)(10 + i + k) + (a->kind == SKED_ATTRIBUTE_COUNT ? 0 : 0.25);
    return a->kind == SKED_ATTRIBUTE_FLAG ? 1 : a->kind == SKED_ATTRIBUTE_REAL ? -x : x;
}

static int count_of(bool of_edges)
{
    return of_edges ? (int)sked_i_edge_attributes : (int)sked_i_op_attributes;
}

/* Three ops and three edges; `which`: the attribute that differs from the preset, -1: all do, in turns. */
static sked_graph *graph_with(int which)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "g", err));
    for (int i = 0; i < 3; i++)
        OK(sked_builder_add_op(b, NULL, i == 1 ? "T" : NULL, 1, NULL, err));
    for (int i = 0; i < 3; i++)
        OK(sked_builder_add_edge(b, &(sked_edge){i == 0 ? 1 : 0, i == 0 ? 2 : i, NAN, 0, 0}, err));
    for (int i = 0; i < sked_attribute_count(); i++)
        for (int k = 0; k < 3; k++)
            if (which < 0 ? k != i % 3 : which == i && k == 1)
                OK(sked_builder_set_attribute(b, sked_attribute_at(i), k, other_value(i, k), err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_graph *through(const sked_graph *g, const char *format)
{
    sked_i_buffer text = {0};
    sked_graph *back = NULL;
    sked_read_options opt;
    OK(sked_i_format_find(format)->write(g, &text, err));
    sked_read_options_init(&opt);
    opt.format = format;
    OK(sked_graph_parse("g", text.data, (size_t)text.size, &opt, &back, err));
    sked_i_buffer_free(&text);
    return back;
}

static void every_format_carries_them(void **state)
{
    (void)state;
    sked_graph *plain = graph_with(sked_attribute_count());
    for (int i = -1; i <= sked_attribute_count(); i++) {
        sked_graph *g = graph_with(i);
        assert_int_equal(sked_graph_equal(g, plain), i == sked_attribute_count());
        for (int f = 0; f < n_carriers; f++) {
            sked_graph *back = through(g, carriers[f]);
            if (!sked_graph_equal(g, back))
                fail_msg("%s loses %s", carriers[f], i < 0 ? "some" : sked_attribute_at(i)->name);
            sked_graph_destroy(back);
        }
        sked_graph_destroy(g);
    }
    sked_graph_destroy(plain);
}

static void columns_say_what_was_set(void **state)
{
    (void)state;
    sked_graph *g = graph_with(-1);
    for (int i = 0; i < sked_attribute_count(); i++) {
        const sked_attribute_info *a = sked_attribute_at(i);
        double value[3];
        /* edges stand by their first op: the one added first comes last */
        static const int added[] = {1, 2, 0};
        sked_graph_attribute(g, a, value);
        for (int k = 0; k < 3; k++) {
            const int n = a->of_edges ? added[k] : k;
            const double want = n != i % 3 ? other_value(i, n) : strcmp(a->name, "duration") ? a->preset : 1;
            if (!sked_i_attribute_same(value[k], want))
                fail_msg("%s: %g, not %g", a->name, value[k], want);
        }
    }
    sked_graph_destroy(g);
}

/* Copies with other durations, with more edges, and by an op library. */
static void copies_have_them(void **state)
{
    (void)state;
    sked_graph *g = graph_with(-1), *copy = NULL;
    static const char units[] = "{\"types\":{\"*\":{}}}";
    const double *const same = g->duration;
    sked_back_edges none;
    sked_back_edges_init(&none);
    OK(sked_i_graph_with_durations(g, same, &copy, err));
    assert_true(sked_graph_equal(g, copy));
    sked_graph_destroy(copy);
    OK(sked_graph_looped(g, &none, &copy, err));
    assert_true(sked_graph_equal(g, copy));
    sked_graph_destroy(copy);
    OK(sked_i_library_parse("units", units, sizeof units - 1, g, &copy, err));
    assert_true(sked_graph_equal(g, copy));
    sked_graph_destroy(copy);
    sked_graph_destroy(g);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *rule;
        double value;
    } bad[] = {
        {"memory", "op '0': memory must be a finite number, 0 or more, not -1", -1},
        {"amount3", "op '0': amount3 must be a finite number, 0 or more, not inf", INFINITY},
        {"real", "op '0': real must be a finite number, not inf", INFINITY},
        {"count", "op '0': count must be a whole number, 0 or more, not 0.5", 0.5},
        {"thickness", "edge 0 -> 0: thickness must be a finite number, 0 or more, not nan", NAN},
        {"slack", "edge 0 -> 0: slack must be a finite number, not nan", NAN},
        {"repeats", "edge 0 -> 0: repeats must be a whole number, 0 or more, not 2.14748e+09", 2147483648.0},
        {"mark", "edge 0 -> 0: mark must be a number, not nan", NAN},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        const sked_attribute_info *a = sked_attribute_find(bad[k].name);
        OK(sked_builder_create(&b, err));
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        OK(sked_builder_add_edge(b, &(sked_edge){0, 0, 1, 0, 1}, err));
        FAILS(SKED_ERR_FORMAT, bad[k].rule, sked_builder_set_attribute(b, a, 0, bad[k].value, err));
        FAILS(SKED_ERR_FORMAT, bad[k].rule, sked_builder_finish(b, &g, err));
        sked_builder_destroy(b);
        OK(sked_builder_create(&b, err));
        FAILS(SKED_ERR_ARGUMENT, a->of_edges ? "no edge 0" : "no op 0",
              sked_builder_set_attribute(b, a, 0, 1, err));
        sked_builder_destroy(b);
    }
}

/* Readers refuse what the kind does not take, and name the attribute. */
static void readers_know_their_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *format, *text, *rule;
    } bad[] = {
        {"native", "{\"ops\":[{\"duration\":1,\"count\":1.5}],\"edges\":[]}", "count must be a whole number"},
        {"native", "{\"ops\":[{\"duration\":1,\"fifteen_letters\":1}],\"edges\":[]}",
         "fifteen_letters must be true or false"},
        {"native", "{\"ops\":[{\"duration\":1,\"amount3\":null}],\"edges\":[]}", "amount3 must be a number"},
        {"dot", "digraph { a [count=1.5] }", "count must be an integer"},
        {"dot", "digraph { a -> b [thickness=-1] }", "thickness must be a finite number, 0 or more"},
        {"gml", "graph [ directed 1 node [ id 0 real x ] ]", "real must be a finite number, not 'x'"},
        {"graphml",
         "<graphml><graph><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"><data "
         "key=\"repeats\">"
         "0.5</data></edge></graph></graphml>",
         "repeats must be a whole number"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        sked_graph *g = NULL;
        sked_read_options opt;
        sked_read_options_init(&opt);
        opt.format = bad[k].format;
        FAILS(SKED_ERR_FORMAT, bad[k].rule,
              sked_graph_parse("g", bad[k].text, strlen(bad[k].text), &opt, &g, err));
    }
    static const char null[] = "{\"ops\":[{\"duration\":1,\"real\":null}],\"edges\":[]}";
    sked_graph *g = NULL;
    OK(sked_graph_parse("g.json", null, sizeof null - 1, NULL, &g, err));
    assert_null(g->real);
    sked_graph_destroy(g);
}

static void names_fit(void **state)
{
    (void)state;
    assert_int_equal(sked_attribute_count(), count_of(false) + count_of(true));
    assert_null(sked_attribute_at(-1));
    assert_null(sked_attribute_at(sked_attribute_count()));
    assert_null(sked_attribute_find("nothing"));
    for (int i = 0; i < sked_attribute_count(); i++) {
        const sked_attribute_info *a = sked_attribute_at(i);
        assert_ptr_equal(sked_attribute_find(a->name), a); /* no other one has its name */
        assert_true(strlen(a->name) <= sked_i_attribute_longest && a->meaning[0] != 0);
        assert_true(isnan(a->preset) ||
                    sked_i_attribute_fits((const sked_i_attribute *)(const void *)a, a->preset, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_carries_them), cmocka_unit_test(columns_say_what_was_set),
        cmocka_unit_test(copies_have_them),          cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(readers_know_their_kinds),  cmocka_unit_test(names_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
