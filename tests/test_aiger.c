/* AIGER: both forms give the same graph, the same circuit in BLIF the same schedules, and hostile files
 * errors. */
#include "formats/format.h"
#include "test.h"

#include <math.h>

#define DATA SKED_SOURCE_DIR "/tests/data/"

static sked_status parse(const char *text, size_t size, sked_graph **g, sked_error *err)
{
    const sked_read_options opt = {.size = sizeof opt, .format = "aiger"};
    char *copy = malloc(size + 1); /* an exact copy: a read past the end is then seen by AddressSanitizer */
    assert_non_null(copy);
    memcpy(copy, text, size);
    const sked_status st = sked_graph_parse("file", copy, size, &opt, g, err);
    free(copy);
    return st;
}

static sked_graph *must_parse(const char *text, size_t size)
{
    sked_graph *g = NULL;
    OK(parse(text, size, &g, err));
    return g;
}

static sked_graph *read_data(const char *file)
{
    char path[500];
    sked_graph *g = NULL;
    snprintf(path, sizeof path, DATA "%s", file);
    OK(sked_graph_read(path, NULL, &g, err));
    return g;
}

static void check_op(const sked_graph *g, int32_t op, const char *name, const char *type)
{
    char buf[100];
    assert_string_equal(sked_graph_op_name(g, op, buf, sizeof buf), name);
    assert_string_equal(sked_graph_op_type(g, op), type);
    assert_true(sked_graph_duration(g, op) == 1 && sked_graph_memory(g, op) == 1);
    assert_true(sked_graph_weight(g, op) == 1);
}

/* Is there one edge from op to op of this distance, with lag and bytes 1? */
static void check_edge(const sked_graph *g, int32_t from, int32_t to, int32_t distance)
{
    int found = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        found += g->edge_from[e] == from && g->edge_to[e] == to && g->edge_distance[e] == distance &&
                 g->edge_lag[e] == 1 && g->edge_bytes[e] == 1;
    assert_int_equal(found, 1);
}

static void test_gates(void **state)
{
    (void)state;
    sked_graph *g = read_data("half_adder.aag");
    assert_string_equal(sked_graph_name(g), "half_adder");
    assert_int_equal(g->n_ops, 5);
    assert_int_equal(g->n_edges, 6);
    check_op(g, 0, "a", "input");
    check_op(g, 1, "b", "input");
    check_op(g, 2, "6", "and");
    check_op(g, 4, "10", "and");
    for (int32_t input = 0; input < 2; input++)
        for (int32_t gate = 2; gate < 4; gate++)
            check_edge(g, input, gate, 0);
    check_edge(g, 2, 4, 0);
    check_edge(g, 3, 4, 0);
    sked_graph_destroy(g);
}

/* Latches carry over one iteration; constants are no ops; a symbol in digits would look like a literal. */
static void test_latches(void **state)
{
    (void)state;
    sked_graph *g = read_data("counter.aag");
    assert_int_equal(g->n_ops, 6);
    assert_int_equal(g->n_edges, 7);
    check_op(g, 0, "enable", "input");
    check_op(g, 1, "low", "latch");
    check_op(g, 2, "6", "latch");
    check_op(g, 5, "12", "and");
    check_edge(g, 5, 1, 1);
    check_edge(g, 4, 2, 1);
    check_edge(g, 3, 5, 0);
    sked_graph_destroy(g);
}

static void test_forms_agree(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"half_adder.aag", "half_adder.aig"},
                                           {"counter.aag", "counter.aig"}};
    for (size_t k = 0; k < 2; k++) {
        sked_graph *ascii = read_data(pairs[k][0]), *binary = read_data(pairs[k][1]);
        assert_true(sked_graph_equal(ascii, binary));
        sked_graph_destroy(ascii);
        sked_graph_destroy(binary);
    }
}

/* Content decides where the extension does not. */
static void test_sniffed(void **state)
{
    (void)state;
    const sked_read_options opt = {.size = sizeof opt};
    static const char ascii[] = "aag 1 1 0 1 0\n2\n2\n", binary[] = "aig 2 1 0 1 1\n4\n\x02\x02";
    sked_graph *g = NULL;
    OK(sked_graph_parse("noname", ascii, sizeof ascii - 1, &opt, &g, err));
    assert_int_equal(g->n_ops, 1);
    sked_graph_destroy(g);
    g = NULL;
    OK(sked_graph_parse("noname", binary, sizeof binary - 1, &opt, &g, err));
    assert_int_equal(g->n_ops, 2);
    assert_int_equal(g->n_edges, 1);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ the same circuit as BLIF */

static double value_of(const sked_graph *g, sked_objective objective, double horizon)
{
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_run_options opt;
    sked_problem_init(&p, g);
    p.objective = objective;
    p.horizon = horizon;
    sked_run_options_init(&opt);
    OK(sked_method_run("list", &p, &opt, &r, err));
    const double value = r.value;
    sked_result_clear(&r);
    return value;
}

/* The gates of an and-inverter graph as AIGER: their order is that of the BLIF file, fanins all plain. */
static sked_i_buffer as_aiger(const sked_graph *g, bool binary)
{
    sked_i_buffer b = {0};
    int32_t inputs = 0;
    while (inputs < g->n_ops && strcmp(sked_graph_op_type(g, inputs), "input") == 0)
        inputs++;
    sked_i_buffer_format(&b, "%s %d %d 0 0 %d\n", binary ? "aig" : "aag", (int)g->n_ops, (int)inputs,
                         (int)(g->n_ops - inputs));
    for (int32_t i = 0; i < g->n_ops; i++) {
        int32_t in[2] = {0, 0}, n = 0;
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
            in[n++] = 2 * (g->pred_op[k] + 1);
        const int32_t lhs = 2 * (i + 1), most = in[0] > in[1] ? in[0] : in[1], least = in[0] + in[1] - most;
        if (!binary && i < inputs)
            sked_i_buffer_format(&b, "%d\n", (int)lhs);
        else if (!binary)
            sked_i_buffer_format(&b, "%d %d %d\n", (int)lhs, (int)least, (int)most);
        for (int side = 0; binary && i >= inputs && side < 2; side++) {
            int32_t delta = side == 0 ? lhs - most : most - least;
            for (; delta > 127; delta >>= 7)
                sked_i_buffer_char(&b, (char)(delta | 128));
            sked_i_buffer_char(&b, (char)delta);
        }
    }
    assert_false(b.failed);
    return b;
}

static void check_same_schedules(const sked_graph *blif, const sked_graph *aiger)
{
    static const sked_objective objectives[] = {SKED_OBJECTIVE_MAKESPAN, SKED_OBJECTIVE_MEMORY};
    assert_int_equal(blif->n_ops, aiger->n_ops);
    assert_int_equal(blif->n_edges, aiger->n_edges);
    const double depth = value_of(blif, SKED_OBJECTIVE_MAKESPAN, INFINITY);
    for (int k = 0; k < 2; k++)
        assert_true(value_of(blif, objectives[k], floor(1.2 * depth)) ==
                    value_of(aiger, objectives[k], floor(1.2 * depth)));
}

static void test_like_blif(void **state)
{
    (void)state;
    sked_graph *blif = read_data("half_adder.blif"), *aiger = read_data("half_adder.aig");
    check_same_schedules(blif, aiger);
    sked_graph_destroy(blif);
    sked_graph_destroy(aiger);
}

static void test_like_shared_blif(void **state)
{
    (void)state;
    NEED_SHARED_DATA();
    static const char *const circuits[] = {"adder", "int2float", "priority"};
    for (size_t k = 0; k < sizeof circuits / sizeof *circuits; k++) {
        char path[700];
        sked_graph *blif = NULL;
        snprintf(path, sizeof path, "%s/epfl/%s.blif", shared_data(), circuits[k]);
        OK(sked_graph_read(path, NULL, &blif, err));
        for (int binary = 0; binary < 2; binary++) {
            sked_i_buffer text = as_aiger(blif, binary);
            sked_graph *aiger = must_parse(text.data, (size_t)text.size);
            check_same_schedules(blif, aiger);
            sked_graph_destroy(aiger);
            sked_i_buffer_free(&text);
        }
        sked_graph_destroy(blif);
    }
}

/* ------------------------------------------------------------------ corners */

static void test_corners(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        int32_t ops;
        int64_t edges;
    } cases[] = {
#define CASE(text, ops, edges) {text, sizeof text - 1, ops, edges}
        CASE("aag 0 0 0 0 0\n", 0, 0),
        CASE("aag 0 0 0 0 0", 0, 0),
        CASE("aag 0 0 0 2 0\n0\n1\n", 0, 0),          /* constants as outputs */
        CASE("aag 2 1 0 0 1\n2\n4 2 3\n", 2, 1),      /* both inputs from one variable */
        CASE("aag 2 1 0 0 1\n2\n4 1 3\n", 2, 1),      /* a constant input */
        CASE("aag 1 0 0 0 1\n2 0 1\n", 1, 0),         /* nothing but constants */
        CASE("aag 3 1 0 0 2\n2\n4 6 2\n6 2 3", 3, 3), /* used before it is defined; no end of line */
        CASE("aag 9 1 0 1 1\r\n2\r\n18\r\n18 2 3\r\ni0 x\r\n", 2, 1), /* unused variables; DOS lines */
        CASE("aag 1 0 1 0 0\n2 3\n", 1, 1),                           /* a latch that turns itself round */
        CASE("aag 1 0 1 0 0\n2 0 1\n", 1, 0),
        CASE("aag 1 1 0 0 0\n2\ncn name\0 and more\n", 1, 0), /* ABC's comment */
        CASE("aag 1 1 0 0 0\n2\nc7\n", 1, 0),                 /* no constraints: a comment */
        CASE("aag 2 2 0 0 0\n2\n4\ni0 x\ni1 x\n", 2, 0),      /* the second is called 4 */
        CASE("aag 1 1 0 0 0\n2\ni0 two words # and more\n", 1, 0),
        CASE("aig 1000 1000 0 0 0\n", 1000, 0),
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sked_graph *g = must_parse(cases[k].text, cases[k].size);
        assert_int_equal(g->n_ops, cases[k].ops);
        assert_int_equal(g->n_edges, cases[k].edges);
        sked_graph_destroy(g);
    }
    char buf[100];
    sked_graph *g = must_parse(cases[12].text, cases[12].size);
    assert_string_equal(sked_graph_op_name(g, 0, buf, sizeof buf), "x");
    assert_string_equal(sked_graph_op_name(g, 1, buf, sizeof buf), "4");
    sked_graph_destroy(g);
    g = must_parse(cases[13].text, cases[13].size);
    assert_string_equal(sked_graph_op_name(g, 0, buf, sizeof buf), "two words # and more");
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ refused */

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        sked_status status;
        const char *says;
    } cases[] = {
#undef CASE
#define CASE(text, status, says) {text, sizeof text - 1, SKED_ERR_##status, says}
        CASE("", FORMAT, "file:1: the first word must be aag or aig"),
        CASE("axg 0 0 0 0 0\n", FORMAT, "file:1: the first word"),
        CASE("aag 1 1 0 0\n", FORMAT, "file:1: the line ends where the number of and-gates"),
        CASE("aag 1 -1 0 0 0\n", FORMAT, "the number of inputs must be an integer from 0"),
        CASE("aag 0 0 0 0 0 0 0 0 0 0\n", FORMAT, "'0' follows the header"),
        CASE("aag 9999999999 0 0 0 0\n", FORMAT, "the largest variable must be an integer"),
        CASE("aag 1 1 1 0 0\n2\n4 2\n", FORMAT, "file:1: the header counts 1 variables but 2"),
        CASE("aig 3 1 0 0 1\n\x02\x02", FORMAT, "file:1: the header counts 3 variables but 2"),
        CASE("aag 1000000000 0 0 0 1000000000\n2 0 0\n", FORMAT, "promises 1000000000 lines"),
        CASE("aig 1000000000 0 0 0 1000000000\n\x02\x02", FORMAT, "promises 1000000000 lines"),
        CASE("aig 1000000000 1000000000 0 0 0\n", UNSUPPORTED, "1000000000 variables in a file of"),
        CASE("aag 1000000000 1 0 0 0\n2\n", UNSUPPORTED, "sked reads at most 65536 more"),
        CASE("aag 1 1 0 0 0\n4\n", FORMAT, "file:2: an input must be an integer from 0 to 3, not '4'"),
        CASE("aag 1 1 0 0 0\n3\n", FORMAT, "file:2: literal 3 cannot be defined"),
        CASE("aag 1 1 0 0 0\n0\n", FORMAT, "literal 0 cannot be defined"),
        CASE("aag 2 2 0 0 0\n2\n2\n", FORMAT, "file:3: literal 2 is defined twice"),
        CASE("aag 2 1 0 0 1\n2\n4 2\n", FORMAT, "file:3: the line ends where an input of an and-gate"),
        CASE("aag 2 1 0 0 1\n2\n4 2 2 2\n", FORMAT, "file:3: '2' follows an and-gate"),
        CASE("aag 3 1 0 0 1\n2\n4 2 6\n", FORMAT, "file:3: literal 6 is used but never defined"),
        CASE("aag 2 1 0 1 0\n2\n4\n", FORMAT, "file:3: literal 4 is used but never defined"),
        CASE("aag 3 1 0 0 2\n2\n4 2 6\n6 2 4\n", FORMAT, "cycle"),
        CASE("aag 1 0 0 0 1\n2 2 0\n", FORMAT, "cycle"),
        CASE("aag 1 0 1 0 0\n2 2 3\n", FORMAT, "file:2: the reset value of latch 2 must be 0, 1 or 2"),
        CASE("aag 2 1 0 0 1\n2\n\n", FORMAT, "file:3: the line ends where an and-gate"),
        CASE("aag 1 1 0 0 0 0 0 1 0\n2\n5\n2\n", FORMAT,
             "file:5: the file ends where a literal of a justice"),
        CASE("aag 1 1 0 0 0\n2\nx0 name\n", FORMAT, "file:3: 'x0 name' is neither a symbol"),
        CASE("aag 1 1 0 0 0\n2\ni0\n", FORMAT, "file:3: 'i0' is neither a symbol"),
        CASE("aag 1 1 0 0 0\n2\ni1 name\n", FORMAT, "file:3: a symbol for number 1 of 1"),
        CASE("aag 1 1 0 0 0\n2\ni99999999999999999999 x\n", FORMAT, "file:3: "),
        CASE("aag 1 1 0 0 0\n2\ni0 a\ni0 b\n", FORMAT, "file:4: a second symbol 'b'"),
        CASE("aag 1 1 0 0 0\n2\ni0 a\0b\n", FORMAT, "file:3: a zero byte"),
        CASE("aag 1 1 0 0 0\n2\ni0 \xff\n", FORMAT, "file:3: a symbol is not valid UTF-8"),
        CASE("aig 2 1 0 0 1\n\x02", FORMAT, "file: byte 15: the file ends within"),
        CASE("aig 3 1 0 0 2\n\x02\x02\x02\x80", FORMAT, "file: byte 18: the file ends within its and-gates"),
        CASE("aig 2 1 0 0 1\n\x05\x01", FORMAT, "file: byte 14: a delta of 5 leads below literal 0"),
        CASE("aig 2 1 0 0 1\n\x02\x03", FORMAT, "file: byte 15: a delta of 3 leads below literal 0"),
        CASE("aig 2 1 0 0 1\n\x00\x01", FORMAT, "file: byte 14: and-gate 4 reads itself"),
        CASE("aig 2 1 0 0 1\n\xff\xff\xff\xff\x7f\x01", FORMAT, "leads below literal 0"),
        CASE("aig 2 1 0 0 1\n\x82\x80\x80\x80\x80\x00\x02", FORMAT,
             "file: byte 14: a delta of more than five"),
        CASE("aig 2 1 0 0 1\n\x02\x02q\n", FORMAT, "file: byte 16: 'q' is neither a symbol"),
    };
    int wrong = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sked_graph *g = NULL;
        sked_error e = {0};
        const sked_status st = parse(cases[k].text, cases[k].size, &g, &e);
        if (st != cases[k].status || strstr(e.message, cases[k].says) == NULL)
            wrong++, print_error("<<%s>>: status %d '%s', not '%s'\n", cases[k].text, (int)st, e.message,
                                 cases[k].says);
    }
    assert_int_equal(wrong, 0);
}

/* Every prefix, and every byte changed, of good files: an error with the file's name, or a graph. */
static void test_damaged(void **state)
{
    (void)state;
    static const char *const files[] = {"half_adder.aag", "half_adder.aig", "counter.aag", "counter.aig"};
    static const char other[] = "0 9\n\x80\xff\x01ic";
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[500], *text = NULL;
        int64_t size;
        snprintf(path, sizeof path, DATA "%s", files[k]);
        OK(sked_i_file_read(path, 1 << 20, &text, &size, err));
        for (int64_t at = 0; at < size; at++)
            for (size_t x = 0; x < sizeof other; x++) {
                sked_graph *g = NULL;
                sked_error e = {0};
                const char old = text[at];
                text[at] = other[x];
                const sked_status st = parse(text, x == 0 ? (size_t)at : (size_t)size, &g, &e);
                assert_true(st == SKED_OK || ((st == SKED_ERR_FORMAT || st == SKED_ERR_UNSUPPORTED) &&
                                              strncmp(e.message, "file:", 5) == 0));
                sked_graph_destroy(g);
                text[at] = old;
            }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gates),       cmocka_unit_test(test_latches),
        cmocka_unit_test(test_forms_agree), cmocka_unit_test(test_sniffed),
        cmocka_unit_test(test_like_blif),   cmocka_unit_test(test_like_shared_blif),
        cmocka_unit_test(test_corners),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
