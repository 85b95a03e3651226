/* The text formats: what each file means, what each broken file is told, and that nothing is lost. */
#include "formats/format.h"
#include "test.h"

#include <dirent.h>
#include <math.h>

#define DATA SKED_SOURCE_DIR "/tests/data/"

static const char *const formats[] = {"stg", "psplib", "rcp", "jobshop", "dot", "gml", "blif", "ssp"};
enum { n_formats = sizeof formats / sizeof *formats };

/* One small file of our own per line. */
static const struct sample {
    const char *format, *file;
} samples[] = {{"stg", "small.stg"},        {"stg", "counted.stg"},   {"psplib", "small.sm"},
               {"rcp", "small.rcp"},        {"jobshop", "shop.txt"},  {"dot", "dfg.dot"},
               {"dot", "language.dot"},     {"gml", "rw.gml"},        {"gml", "own.gml"},
               {"blif", "full_adder.blif"}, {"blif", "counter.blif"}, {"ssp", "modulo.mlir"},
               {"ssp", "chaining.mlir"}};
enum { n_samples = sizeof samples / sizeof *samples };

static sked_status parse(const char *format, const char *name, const char *text, size_t size, sked_graph **g,
                         sked_error *err)
{
    const sked_read_options opt = {.size = sizeof opt, .format = format};
    /* an exact copy: a read past the end is then seen by AddressSanitizer */
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    copy[size] = 0;
    const sked_status st = sked_graph_parse(name, copy, size, &opt, g, err);
    free(copy);
    return st;
}

static sked_graph *must_parse(const char *format, const char *text)
{
    sked_graph *g = NULL;
    OK(parse(format, "file", text, strlen(text), &g, err));
    return g;
}

static char *load(const char *path, int64_t *size)
{
    char *text = NULL;
    OK(sked_i_file_read(path, 1 << 30, &text, size, err));
    return text;
}

static char *load_sample(const struct sample *s, int64_t *size)
{
    char path[500];
    snprintf(path, sizeof path, DATA "%s", s->file);
    return load(path, size);
}

static sked_graph *read_data(const char *file)
{
    char path[500];
    sked_graph *g = NULL;
    snprintf(path, sizeof path, DATA "%s", file);
    OK(sked_graph_read(path, NULL, &g, err));
    return g;
}

static void check_op(const sked_graph *g, int32_t op, const char *name, const char *type, double duration)
{
    char buf[100];
    assert_string_equal(sked_graph_op_name(g, op, buf, sizeof buf), name);
    if (type == NULL)
        assert_null(sked_graph_op_type(g, op));
    else
        assert_string_equal(sked_graph_op_type(g, op), type);
    assert_true(sked_graph_duration(g, op) == duration);
}

static void check_edge(const sked_graph *g, int64_t e, sked_edge want)
{
    sked_edge got;
    sked_graph_edge(g, e, &got);
    if (got.from != want.from || got.to != want.to || got.lag != want.lag || got.bytes != want.bytes ||
        got.distance != want.distance)
        fail_msg("edge %d: %d -> %d lag %g bytes %g distance %d", (int)e, got.from, got.to, got.lag,
                 got.bytes, got.distance);
}

/* ------------------------------------------------------------------ what the files mean */

static void test_stg(void **state)
{
    (void)state;
    sked_graph *g = read_data("small.stg");
    assert_string_equal(sked_graph_name(g), "small");
    assert_int_equal(sked_graph_op_count(g), 5);
    assert_int_equal(sked_graph_edge_count(g), 4);
    check_op(g, 0, "1", NULL, 3);
    check_op(g, 3, "4", NULL, 2.5);
    check_edge(g, 0, (sked_edge){0, 2, 3, 0, 0});
    check_edge(g, 3, (sked_edge){2, 4, 2, 0, 0});
    sked_graph_destroy(g);
    g = read_data("counted.stg"); /* the header counts the dummies here */
    assert_int_equal(sked_graph_op_count(g), 2);
    check_op(g, 1, "2", NULL, 5);
    sked_graph_destroy(g);
    g = must_parse("stg", "2\n1 4 0\n2 3 1 1\n"); /* ids from 1, no dummies */
    check_op(g, 0, "1", NULL, 4);
    assert_int_equal(sked_graph_op_count(g), 2);
    sked_graph_destroy(g);
}

/* The same project in two formats. */
static void check_project(const sked_graph *g)
{
    assert_int_equal(sked_graph_op_count(g), 4);
    assert_int_equal(sked_graph_edge_count(g), 3);
    assert_int_equal(sked_graph_resource_count(g), 2);
    assert_string_equal(sked_graph_resource_name(g, 0), "R1");
    assert_true(sked_graph_capacity(g, 0) == 4 && sked_graph_capacity(g, 1) == 2);
    check_op(g, 0, "2", NULL, 3);
    check_op(g, 3, "5", NULL, 2);
    assert_true(sked_graph_demand(g, 1, 0) == 1 && sked_graph_demand(g, 1, 1) == 1);
    assert_true(sked_graph_demand(g, 3, 0) == 3 && sked_graph_demand(g, 3, 1) == 0);
    check_edge(g, 0, (sked_edge){0, 2, 3, 0, 0});
    check_edge(g, 2, (sked_edge){1, 3, 4, 0, 0});
}

static void test_projects(void **state)
{
    (void)state;
    sked_graph *sm = read_data("small.sm"), *rcp = read_data("small.rcp");
    check_project(sm);
    check_project(rcp);
    assert_true(sked_graph_equal(sm, rcp));
    sked_graph_destroy(sm);
    sked_graph_destroy(rcp);
}

static void test_jobshop(void **state)
{
    (void)state;
    sked_graph *g = read_data("shop.txt");
    assert_int_equal(sked_graph_op_count(g), 6);
    assert_int_equal(sked_graph_edge_count(g), 4);
    assert_int_equal(sked_graph_resource_count(g), 3);
    assert_string_equal(sked_graph_resource_name(g, 2), "m2");
    assert_true(sked_graph_capacity(g, 2) == 1);
    check_op(g, 3, "j1.o0", "m2", 5);
    assert_true(sked_graph_demand(g, 3, 2) == 1 && sked_graph_demand(g, 3, 0) == 0);
    check_edge(g, 2, (sked_edge){3, 4, 5, 0, 0});
    sked_graph_destroy(g);
}

static void test_dot(void **state)
{
    (void)state;
    sked_graph *g = read_data("dfg.dot");
    assert_string_equal(sked_graph_name(g), "dfg");
    check_op(g, 0, "m1", "MUL", 1);
    check_op(g, 1, "m2", "mul", 1);
    check_op(g, 2, "a3", "ADD", 1);
    check_edge(g, 1, (sked_edge){1, 2, 1, 0, 0});
    assert_true(sked_graph_weight(g, 0) == 1 && sked_graph_memory(g, 0) == 0);
    sked_graph_destroy(g);
}

static void test_dot_language(void **state)
{
    (void)state;
    sked_graph *g = read_data("language.dot");
    assert_string_equal(sked_graph_name(g), "a \"quoted\" name");
    assert_int_equal(sked_graph_op_count(g), 10);
    check_op(g, 0, "a", NULL, 2);
    check_op(g, 1, "bc", NULL, 2);
    check_op(g, 2, "<d<i>x</i>>", NULL, 2);
    check_op(g, 3, "e", "Inner", 5);
    check_op(g, 4, "f", "Inner", 5);
    check_op(g, 5, "g", NULL, 2);
    check_op(g, 7, "-1.5", NULL, 0);
    check_op(g, 8, ".25", "<b>", 2);
    check_op(g, 9, "back\\slash", "two\nlines joined", 2);
    assert_true(sked_graph_memory(g, 4) == 64 && sked_graph_weight(g, 4) == 3);
    assert_int_equal(sked_graph_resource_count(g), 2);
    assert_true(sked_graph_capacity(g, 0) == 2 && isinf(sked_graph_capacity(g, 1)));
    assert_true(sked_graph_demand(g, 0, 0) == 1 && sked_graph_demand(g, 3, 0) == 0);
    assert_true(sked_graph_demand(g, 4, 1) == 0.5);
    assert_int_equal(sked_graph_edge_count(g), 7);
    check_edge(g, 0, (sked_edge){0, 1, 7, 8, 0}); /* strict: the second a -> bc changed the first */
    check_edge(g, 1, (sked_edge){1, 2, 1.5, 8, 0});
    check_edge(g, 2, (sked_edge){3, 4, 5, 8, 0});
    check_edge(g, 3, (sked_edge){3, 5, 5, 0, 1});
    check_edge(g, 6, (sked_edge){4, 6, 5, 0, 1});
    sked_graph_destroy(g);
}

static void test_dot_details(void **state)
{
    (void)state;
    sked_graph *g = must_parse("dot", "DiGraph{a->b;a->b [bytes=3]}"); /* not strict: two edges */
    assert_int_equal(sked_graph_edge_count(g), 2);
    assert_string_equal(sked_graph_name(g), "file");
    sked_graph_destroy(g);
    g = must_parse("dot", "digraph \"\" { a [demand=\"X=1\"]; b [demand=\"X=2,Y=1\"] }"); /* pools as named */
    assert_string_equal(sked_graph_name(g), "");
    assert_int_equal(sked_graph_resource_count(g), 2);
    assert_true(isinf(sked_graph_capacity(g, 0)) && sked_graph_demand(g, 1, 0) == 2);
    sked_graph_destroy(g);
    /* defaults end with their subgraph; a subgraph's nodes count once however often they are named */
    g = must_parse("dot", "digraph { { node [duration=9] b a b a->b } -> c -> {d{e}} }");
    check_op(g, 0, "b", NULL, 9);
    check_op(g, 2, "c", NULL, 1);
    assert_int_equal(sked_graph_edge_count(g), 1 + 2 + 2);
    sked_graph_destroy(g);
    g = must_parse("dot", "digraph { a; }\n\n# end\n");
    sked_graph_destroy(g);
}

static void test_gml(void **state)
{
    (void)state;
    sked_graph *g = read_data("rw.gml");
    assert_string_equal(sked_graph_name(g), "rw");
    check_op(g, 0, "0", NULL, 1);
    check_op(g, 1, "7", NULL, 1);
    assert_true(sked_graph_weight(g, 0) == 2676 && sked_graph_weight(g, 1) == 0);
    check_edge(g, 0, (sked_edge){0, 1, 0, 20243, 0}); /* rw: lag 0 */
    check_edge(g, 1, (sked_edge){1, 2, 0, 0, 0});
    sked_graph_destroy(g);
    g = read_data("own.gml");
    assert_string_equal(sked_graph_name(g), "own & others");
    check_op(g, 0, "caf\xc3\xa9 \"x\" &unknown; \xc3\xa9", "Mul", 2.5);
    check_op(g, 1, "9", NULL, 1);
    assert_true(sked_graph_memory(g, 0) == 64 && sked_graph_weight(g, 0) == 3 &&
                sked_graph_weight(g, 1) == 1);
    assert_true(sked_graph_demand(g, 0, 0) == 2 && sked_graph_demand(g, 0, 1) == 1);
    assert_true(sked_graph_capacity(g, 0) == 2 && isinf(sked_graph_capacity(g, 1)));
    check_edge(g, 0, (sked_edge){0, 1, 2.5, 16, 0}); /* not rw: lag is the duration */
    check_edge(g, 1, (sked_edge){1, 0, -1, 0, 2});
    sked_graph_destroy(g);
}

static void test_blif(void **state)
{
    (void)state;
    sked_graph *g = read_data("full_adder.blif");
    assert_string_equal(sked_graph_name(g), "adder");
    assert_int_equal(sked_graph_op_count(g), 9);
    assert_int_equal(sked_graph_edge_count(g), 10);
    check_op(g, 2, "c", "input", 1);
    check_op(g, 3, "n1", "names", 1);
    check_op(g, 8, "zero", "names", 1);
    assert_true(sked_graph_memory(g, 0) == 1 && sked_graph_weight(g, 0) == 1);
    check_edge(g, 0, (sked_edge){0, 3, 1, 1, 0});
    sked_graph_destroy(g);
    g = read_data("counter.blif"); /* used before driven; the register closes the loop one round later */
    check_op(g, 1, "q", "latch", 1);
    check_op(g, 2, "next", "xor2", 1);
    check_edge(g, 1, (sked_edge){1, 2, 1, 1, 0});
    check_edge(g, 2, (sked_edge){2, 1, 1, 1, 1});
    sked_graph_destroy(g);
    g = must_parse("blif", ".inputs a\n.outputs b\n.names a a b\n11 1\n"); /* one edge per signal; no .end */
    assert_int_equal(sked_graph_edge_count(g), 1);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ broken files */

#define GML(body)            "graph [\n directed 1\n" body "\n]\n"
#define SM_HEAD(jobs, pools) "projects : 1\njobs (incl. x): " jobs "\n - renewable : " pools "\n"
#define SM_PREC(rows)        "PRECEDENCE RELATIONS:\njobnr. x\n" rows "****\n"
#define SM_REQ(rows)         "REQUESTS/DURATIONS:\njobnr. x\n----\n" rows "****\n"
#define SM_CAP(row)          "RESOURCEAVAILABILITIES:\n R 1\n" row "****\n"

static const struct broken {
    const char *format, *text;
    sked_status status;
    const char *says;
} broken[] = {
    {"stg", "3\n0 0 0\n1 5 1 0\n", SKED_ERR_FORMAT, "file:3: 2 tasks, but the first line promises 3"},
    {"stg", "3\n0 0 0\n1 5 1 0\n2 5 1 0\n", SKED_ERR_FORMAT, "promises 3"}, /* lost its last two lines */
    {"stg", "1\n0 0 0\n1 5", SKED_ERR_FORMAT, "file:3: the file ends where the number of predecessors"},
    {"stg", "2\n0 0 0\n1 5 1 2\n2 4 1 1\n3 0 1 2\n", SKED_ERR_FORMAT,
     "file: the graph has a cycle of distance 0"},
    {"stg", "1\n0 0 0\n1 5 1 1\n2 0 1 1\n", SKED_ERR_FORMAT, "cycle of distance 0: 1 -> 1"},
    {"stg", "2\n0 0 0\n1 5 1 0\n1 4 1 0\n3 0 1 1\n", SKED_ERR_FORMAT, "file:4: task 1 where task 2 is due"},
    {"stg", "1\n0 0 0\n1 5 1 9\n2 0 1 1\n", SKED_ERR_FORMAT, "file:3: task 9 is unknown"},
    {"stg", "1\n0 0 0\n1 -5 1 0\n2 0 1 1\n", SKED_ERR_FORMAT, "file:3: the duration of a task must be"},
    {"stg", "1\n0 0 0\n1 nan 1 0\n2 0 1 1\n", SKED_ERR_FORMAT, "finite number, 0 or more, not 'nan'"},
    {"stg", "1\n0 0 0\n1 1e999 1 0\n2 0 1 1\n", SKED_ERR_FORMAT, "not '1e999'"},
    {"stg", "99999999999\n0 0 0\n", SKED_ERR_FORMAT, "file:1: the number of tasks must be an integer from 0"},
    {"stg", "2147483647\n0 0 0\n1 5 1 0\n", SKED_ERR_FORMAT,
     "2 tasks, but the first line promises 2147483647"},
    {"stg", "1\n0 0 0\n1 5 2147483647 0\n", SKED_ERR_FORMAT, "file:4: the file ends where a predecessor"},
    {"stg", "hello\n", SKED_ERR_FORMAT, "not 'hello'"},

    {"psplib", SM_HEAD("3", "1") SM_PREC("1 1 1 2\n2 1 1 3\n3 1 0\n") SM_REQ("1 1 0 0\n2 1 5 1\n3 1 0 0\n"),
     SKED_ERR_FORMAT, "the file ends without its part 'RESOURCEAVAILABILITIES'"},
    {"psplib", SM_HEAD("3", "1") SM_PREC("1 1 1 2\n2 1 1 3\n"), SKED_ERR_FORMAT,
     "section 'PRECEDENCE RELATIONS' has 2 rows, but the file promises 3 jobs"},
    {"psplib", SM_HEAD("3", "1") SM_PREC("1 1 1 2\n2 1 2 3\n3 1 0\n"), SKED_ERR_FORMAT,
     "file:7: the line ends where a successor is expected"},
    {"psplib", SM_HEAD("3", "1") SM_PREC("1 1 1 2\n2 1 1 3 3\n3 1 0\n"), SKED_ERR_FORMAT,
     "file:7: '3' follows the last successor"},
    {"psplib", SM_HEAD("3", "1") SM_PREC("1 1 1 2\n2 3 1 3\n3 1 0\n"), SKED_ERR_UNSUPPORTED,
     "file:7: job 2 has 3 modes"},
    {"psplib", SM_HEAD("3", "0") " - nonrenewable : 2 N\n", SKED_ERR_UNSUPPORTED,
     "file:4: the number of nonrenewable resources is 2"},
    {"psplib", SM_HEAD("3", "0") " - doubly constrained : 1 D\n", SKED_ERR_UNSUPPORTED, "doubly constrained"},
    {"psplib", "projects : 2\n", SKED_ERR_UNSUPPORTED, "file:1: the number of projects is 2"},
    {"psplib", SM_HEAD("3", "1") " - renewable : 2 R\n", SKED_ERR_FORMAT, "file:4: the number of renewable"},
    {"psplib", SM_HEAD("2147483647", "1") SM_PREC("1 1 0\n"), SKED_ERR_FORMAT, "not '2147483647'"},
    {"psplib", SM_HEAD("2147483600", "2147483600") SM_PREC("1 1 0\n"), SKED_ERR_FORMAT,
     "1 rows, but the file"},
    {"psplib", SM_HEAD("2", "2147483600") SM_PREC("1 1 1 2\n2 1 0\n") SM_REQ("1 1 0 0\n2 1 0 0\n"),
     SKED_ERR_FORMAT, "the line ends where a resource demand"},
    {"psplib", SM_HEAD("2", "1") SM_PREC("1 1 1 9\n2 1 0\n") SM_REQ("1 1 0 0\n2 1 0 0\n") SM_CAP("4\n"),
     SKED_ERR_FORMAT, "file:6: task 9 is unknown"},
    {"psplib", SM_HEAD("2", "1") SM_PREC("1 1 1 2\n1 1 0\n"), SKED_ERR_FORMAT,
     "file:7: job 1 where job 2 is due"},
    {"psplib",
     SM_HEAD("3", "1") SM_PREC("1 1 1 2\n2 1 1 3\n3 1 1 2\n") SM_REQ("1 1 0 0\n2 1 5 1\n3 1 5 0\n")
         SM_CAP("4\n"),
     SKED_ERR_FORMAT, "cycle of distance 0"},
    {"psplib", SM_HEAD("1", "1") SM_PREC("1 1 0\n") SM_REQ("1 1 -3 0\n"), SKED_ERR_FORMAT,
     "the duration of a job must be a finite number, 0 or more, not '-3'"},
    {"psplib", SM_HEAD("1", "1") SM_PREC("1 1 0\n") SM_REQ("1 1 3 inf\n"), SKED_ERR_FORMAT, "not 'inf'"},
    {"psplib", SM_HEAD("1", "1") SM_PREC("1 1 0\n") SM_REQ("1 1 3 1e400\n"), SKED_ERR_FORMAT, "not '1e400'"},
    {"psplib", SM_PREC("1 1 0\n"), SKED_ERR_FORMAT, "before the numbers of jobs"},
    {"psplib", "no such thing\n", SKED_ERR_FORMAT, "without its part 'jobs"},

    {"rcp", "3 1\n4\n0 0 1 2\n5 1 1 3\n", SKED_ERR_FORMAT, "file:5: the file ends where the duration"},
    {"rcp", "3 1\n4\n0 0 1 2\n5 1 1 3\n0 0 0\n7", SKED_ERR_FORMAT, "file:6: '7' follows the last of 3 tasks"},
    {"rcp", "3 1\n4\n0 0 1 2\n5 1 1 2\n0 0 0\n", SKED_ERR_FORMAT, "cycle of distance 0: 2 -> 2"},
    {"rcp", "3 1\n4\n0 0 1 2\n5 1 1 8\n0 0 0\n", SKED_ERR_FORMAT, "file:4: task 8 is unknown"},
    {"rcp", "3 1\n4\n0 0 1 2\n-5 1 1 3\n0 0 0\n", SKED_ERR_FORMAT, "file:4: the duration of a task"},
    {"rcp", "3 1\n4\n0 0 1 2\n5 nan 1 3\n0 0 0\n", SKED_ERR_FORMAT, "file:4: a resource demand must be"},
    {"rcp", "3 1\n1e309\n0 0 1 2\n", SKED_ERR_FORMAT, "file:2: the capacity of a resource"},
    {"rcp", "2147483640 2147483640\n4 4\n", SKED_ERR_FORMAT, "file:3: the file ends where the capacity"},
    {"rcp", "2147483640 0\n4 4\n", SKED_ERR_FORMAT, "the file ends where a successor"},
    {"rcp", "2147483648 0\n", SKED_ERR_FORMAT, "the number of tasks must be an integer from 0 to 2147483645"},

    {"jobshop", "2 2\n0 3 1 4\n0 3 1", SKED_ERR_FORMAT,
     "file:1: the file is too short for 2 jobs on 2 machines"},
    {"jobshop", "2 2\n0 300 1 400\n0 300 1", SKED_ERR_FORMAT, "file:3: the file ends where the duration"},
    {"jobshop", "1 2\n0 3 2 4\n", SKED_ERR_FORMAT,
     "file:2: a machine must be an integer from 0 to 1, not '2'"},
    {"jobshop", "1 2\n0 3 1 -4\n", SKED_ERR_FORMAT, "file:2: the duration of an op"},
    {"jobshop", "1 2\n0 3 1 nan\n", SKED_ERR_FORMAT, "not 'nan'"},
    {"jobshop", "1 2\n0 3 1 1e999\n", SKED_ERR_FORMAT, "not '1e999'"},
    {"jobshop", "1 2\n0 3 1 4\n5\n", SKED_ERR_FORMAT, "file:3: '5' follows the last of 1 jobs"},
    {"jobshop", "2147483647 2147483647\n0 3\n", SKED_ERR_FORMAT, "too short for 2147483647 jobs"},
    {"jobshop", "1 2147483647\n0 3\n", SKED_ERR_FORMAT, "too short"},
    {"jobshop", "0 5\n", SKED_ERR_FORMAT, "the number of jobs must be an integer from 1"},
    {"jobshop", "some notes\n", SKED_ERR_FORMAT, "not 'some'"},

    {"dot", "digraph {\n a -> b", SKED_ERR_FORMAT, "file:2: the file ends where"},
    {"dot", "digraph {\n a -> b;\n", SKED_ERR_FORMAT, "file:3: the file ends where a statement or '}'"},
    {"dot", "digraph {\n a -> ", SKED_ERR_FORMAT, "the file ends where a node or subgraph after '->'"},
    {"dot", "digraph {\n a [label=\"x", SKED_ERR_FORMAT, "file:2: a string '\"' that never ends"},
    {"dot", "digraph {\n a [label=<x<b>", SKED_ERR_FORMAT, "file:2: an HTML string"},
    {"dot", "digraph {\n /* a", SKED_ERR_FORMAT, "file:2: a comment"},
    {"dot", "digraph {\n a [label=", SKED_ERR_FORMAT, "the file ends where the value of an attribute"},
    {"dot", "digraph {\n a [label]", SKED_ERR_FORMAT, "file:2: ']' where '=' after an attribute name"},
    {"dot", "digraph { a -> b -> c -> a }", SKED_ERR_FORMAT, "file: the graph has a cycle of distance 0: "},
    {"dot", "digraph { a -- b }", SKED_ERR_FORMAT, "file:1: '--' where '->'"},
    {"dot", "graph { a -- b }", SKED_ERR_UNSUPPORTED, "file:1: the graph is undirected"},
    {"dot", "digraph {\n a [duration=-1] }", SKED_ERR_FORMAT,
     "file:2: duration must be a finite number, 0 or"},
    {"dot", "digraph { a [duration=nan] }", SKED_ERR_FORMAT, "duration must be a finite number"},
    {"dot", "digraph { a [memory=\"1e999\"] }", SKED_ERR_FORMAT, "memory must be a finite number"},
    {"dot", "digraph { a -> b [bytes=-2] }", SKED_ERR_FORMAT, "bytes must be a finite number, 0 or more"},
    {"dot", "digraph { a -> b [lag=inf] }", SKED_ERR_FORMAT, "lag must be a finite number"},
    {"dot", "digraph { a -> b [distance=4294967296] }", SKED_ERR_FORMAT,
     "distance must be an integer from 0"},
    {"dot", "digraph {\n a [demand=\"X\"] }", SKED_ERR_FORMAT, "file:2: 'X' is not of the form NAME=AMOUNT"},
    {"dot", "digraph { a [demand=\"X=-1\"] }", SKED_ERR_FORMAT, "a demand must be a finite number"},
    {"dot", "digraph { a [demand=\"X=1,X=2\"] }", SKED_ERR_FORMAT, "two demands on resource 'X'"},
    {"dot", "digraph { resources=\"X=1\"\n a [demand=\"Y=1\"] }", SKED_ERR_FORMAT,
     "file:2: resource 'Y' is not"},
    {"dot", "digraph { resources=\"X=1,X=1\" }", SKED_ERR_FORMAT, "file:1: resource 'X' is declared twice"},
    {"dot", "digraph { resources=\"X=nan\" }", SKED_ERR_FORMAT, "a capacity must be a finite number"},
    {"dot", "digraph { 1a -> b }", SKED_ERR_FORMAT, "file:1: '1' runs into what follows"},
    {"dot", "digraph { a + b }", SKED_ERR_FORMAT, "'+' where a statement"},
    {"dot", "digraph { \"a\" + b }", SKED_ERR_FORMAT, "'+' joins quoted strings only"},
    {"dot", "digraph { node }", SKED_ERR_FORMAT, "'[' after 'graph', 'node' or 'edge'"},
    {"dot", "digraph { } digraph { }", SKED_ERR_FORMAT, "one graph per file"},
    {"dot", "digraph { subgraph s {a} subgraph s {b} -> c }", SKED_ERR_UNSUPPORTED, "opened before"},
    {"dot", "digraph { \"\xff\xfe\" }", SKED_ERR_FORMAT, "is not valid UTF-8"},
    {"dot", "hello", SKED_ERR_FORMAT, "file:1: 'hello' where 'digraph' is expected"},

    {"gml", "graph [\n directed 1\n node [ id 1", SKED_ERR_FORMAT,
     "file:3: the file ends inside the list opened in line 3"},
    {"gml", "graph [\n directed 1\n", SKED_ERR_FORMAT,
     "file:3: the file ends inside the list opened in line 1"},
    {"gml", "graph [\n directed", SKED_ERR_FORMAT, "file:2: the file ends where the value of 'directed'"},
    {"gml", "graph [\n label \"x", SKED_ERR_FORMAT, "file:2: a string '\"' that never ends"},
    {"gml", GML("node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] edge [ source 2 target 1 ]"),
     SKED_ERR_FORMAT, "2 -> 1"},
    {"gml", GML("node [ id 1 ]\nnode [ id 1 ]"), SKED_ERR_FORMAT, "file:4: two nodes have the id 1"},
    {"gml", GML("node [ id 1 label \"a\" ]\nnode [ id 2 label \"a\" ]"), SKED_ERR_FORMAT,
     "file:4: two ops are called 'a'"},
    {"gml", GML("node [ id 1 ]\nedge [ source 1 target 5 ]"), SKED_ERR_FORMAT,
     "file:4: an edge of the unknown node 5"},
    {"gml", GML("edge [ source 1 ]"), SKED_ERR_FORMAT, "file:3: an edge without a target"},
    {"gml", GML("edge [ target 1 ]"), SKED_ERR_FORMAT, "an edge without a source"},
    {"gml", GML("node [ label \"a\" ]"), SKED_ERR_FORMAT, "file:3: a node without an id"},
    {"gml", GML("node [ id x ]"), SKED_ERR_FORMAT, "a node id must be an integer, not 'x'"},
    {"gml", GML("node [ id 99999999999999999999 ]"), SKED_ERR_FORMAT, "a node id must be an integer"},
    {"gml", GML("node [ id 1 duration -1 ]"), SKED_ERR_FORMAT, "file:3: duration must be a finite number"},
    {"gml", GML("node [ id 1 weight NAN ]"), SKED_ERR_FORMAT, "weight must be a finite number"},
    {"gml", GML("node [ id 1 parameter 1e999 ]"), SKED_ERR_FORMAT, "parameter must be a finite number"},
    {"gml", GML("node [ id 1 ] edge [ source 1 target 1 distance -1 ]"), SKED_ERR_FORMAT, "distance must be"},
    {"gml", GML("node [ id 1 demand [ resource \"x\" ] ]"), SKED_ERR_FORMAT, "unknown resource 'x'"},
    {"gml", GML("node [ id 1 demand [ amount 1 ] ]"), SKED_ERR_FORMAT, "without a name"},
    {"gml", GML("resource [ name \"x\" ]\nresource [ name \"x\" ]"), SKED_ERR_FORMAT,
     "file:4: resource 'x' is"},
    {"gml", "graph [ node [ id 1 ] ]", SKED_ERR_UNSUPPORTED, "undirected"},
    {"gml", "graph [ directed 0 ]", SKED_ERR_UNSUPPORTED, "undirected"},
    {"gml", "graph [ directed 1 ] ]", SKED_ERR_FORMAT, "a ']' that closes nothing"},
    {"gml", "graph [ directed 1 ] graph [ ]", SKED_ERR_FORMAT, "a second graph"},
    {"gml", "Creator \"x\"\n", SKED_ERR_FORMAT, "no 'graph ['"},
    {"gml", GML("node [ id 1 label \"\xc3\x28\" ]"), SKED_ERR_FORMAT, "file:3: the op name"},
    {"gml", "<xml/>", SKED_ERR_FORMAT, "'<' where a key"},

    {"blif", ".model m\n.inputs a\n.outputs x\n", SKED_ERR_FORMAT,
     "file:3: signal 'x' is used but never driven"},
    {"blif", ".inputs a\n.names a q x\n11 1\n.end", SKED_ERR_FORMAT,
     "file:2: signal 'q' is used but never driven"},
    {"blif", ".inputs a\n.names a x\n1 1\n.names a x\n1 1\n", SKED_ERR_FORMAT,
     "file:4: signal 'x' is driven twice"},
    {"blif", ".inputs a a\n", SKED_ERR_FORMAT, "signal 'a' is driven twice"},
    {"blif", ".names b a\n1 1\n.names a b\n1 1\n.end\n", SKED_ERR_FORMAT,
     "file: the graph has a cycle of distance 0"},
    {"blif", ".model m\n.names\n", SKED_ERR_FORMAT, "file:2: the line ends where the output of .names"},
    {"blif", ".model m\n.subckt cell a=b\n", SKED_ERR_UNSUPPORTED, "file:2: '.subckt' has no reading"},
    {"blif", ".model m\n.bogus\n", SKED_ERR_UNSUPPORTED, "file:2: '.bogus'"},
    {"blif", ".model m\n.end\n.model n\n.end\n", SKED_ERR_UNSUPPORTED, "file:3: a second .model"},
    {"blif", ".model m\n11 1\n", SKED_ERR_FORMAT, "file:2: '11' is neither a command nor a table row"},
    {"blif", ".names a\nhello\n", SKED_ERR_FORMAT, "file:2: 'hello' is neither"},
    {"blif", ".gate inv A O=x\n", SKED_ERR_FORMAT, "'A' is not of the form pin=signal"},
    {"blif", ".latch a\n", SKED_ERR_FORMAT, "the output of .latch"},
    {"blif", ".inputs a\n.latch a b re c 0 9\n", SKED_ERR_FORMAT, "at most five fields"},
    {"blif", ".model m\n.inputs a\n", SKED_ERR_FORMAT, "file:3: the file ends without .outputs or .end"},
    {"blif", ".inputs \xff\n", SKED_ERR_FORMAT, "file:1: the op name"},
};

static void test_broken(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const struct broken *b = &broken[i];
        sked_graph *g = NULL;
        sked_error e = {0};
        const sked_status st = parse(b->format, "file", b->text, strlen(b->text), &g, &e);
        if (st != b->status || strstr(e.message, b->says) == NULL || strncmp(e.message, "file:", 5) != 0)
            wrong++, print_error("%s <<%s>>: status %d '%s', not %d '%s'\n", b->format, b->text, (int)st,
                                 e.message, (int)b->status, b->says);
        assert_null(g);
    }
    assert_int_equal(wrong, 0);
}

static void test_no_text(void **state)
{
    (void)state;
    static const char zero[] = "\x7f"
                               "ELF\0\0\1\n";
    for (int i = 0; i < n_formats; i++) {
        sked_graph *g = NULL;
        FAILS(SKED_ERR_FORMAT, "file:1: the file is empty", parse(formats[i], "file", "", 0, &g, err));
        FAILS(SKED_ERR_FORMAT, "the file is empty", parse(formats[i], "file", " \r\n\t\n", 5, &g, err));
        FAILS(SKED_ERR_FORMAT, "file:1: a zero byte (byte 4)",
              parse(formats[i], "file", zero, sizeof zero - 1, &g, err));
    }
}

/* Any outcome is fine but a crash, an unknown status, or a message without the file's name. */
static bool survives(const char *format, const char *text, size_t size, sked_graph **g)
{
    sked_error e = {0};
    const sked_status st = parse(format, "file", text, size, g, &e);
    if (st == SKED_OK)
        return true;
    if ((st != SKED_ERR_FORMAT && st != SKED_ERR_UNSUPPORTED) || strncmp(e.message, "file:", 5) != 0)
        fail_msg("%s: status %d '%s'", format, (int)st, e.message);
    return false;
}

static void test_garbage(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    char text[200];
    for (int round = 0; round < 4000; round++) {
        for (size_t k = 0; k < sizeof text; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            text[k] = round % 2 ? (char)x : " \n\t0123456789.-{}[]<>=\"#:;,\\abnode->"[x % 37];
        }
        sked_graph *g = NULL;
        survives(formats[round % n_formats], text, (size_t)(x % sizeof text), &g);
        sked_graph_destroy(g);
    }
}

/* Every prefix of a good file: what still reads after a cut between two lines has lost nothing. */
static void test_truncated(void **state)
{
    (void)state;
    for (int i = 0; i < n_samples; i++) {
        int64_t size;
        char *text = load_sample(&samples[i], &size);
        sked_graph *whole = NULL;
        OK(parse(samples[i].format, "file", text, (size_t)size, &whole, err));
        int lost = 0;
        for (int64_t n = 0; n < size; n++) {
            sked_graph *g = NULL;
            const bool reads = survives(samples[i].format, text, (size_t)n, &g);
            const bool at_line = n > 0 && text[n - 1] == '\n';
            if (reads && at_line && !sked_graph_equal(g, whole))
                fail_msg("%s cut at byte %d reads as another graph", samples[i].file, (int)n);
            lost += !reads;
            sked_graph_destroy(g);
        }
        assert_true(lost > size / 4);
        sked_graph_destroy(whole);
        free(text);
    }
}

/* One byte of a good file changed at a time. */
static void test_mutated(void **state)
{
    (void)state;
    static const char wrong[] = "0 -9\n\"{}[]<>\\#x\xff";
    for (int i = 0; i < n_samples; i++) {
        int64_t size;
        char *text = load_sample(&samples[i], &size);
        for (int64_t n = 0; n < size; n++) {
            const char old = text[n];
            for (size_t k = 0; k < sizeof wrong - 1; k++) {
                sked_graph *g = NULL;
                text[n] = wrong[k];
                survives(samples[i].format, text, (size_t)size, &g);
                sked_graph_destroy(g);
            }
            text[n] = old;
        }
        free(text);
    }
}

static char *repeat(const char *before, const char *unit, int count, const char *after)
{
    const size_t n = strlen(unit);
    char *text = malloc(strlen(before) + n * (size_t)count + strlen(after) + 1);
    assert_non_null(text);
    char *s = text + sprintf(text, "%s", before);
    for (int i = 0; i < count; i++, s += n)
        memcpy(s, unit, n);
    strcpy(s, after);
    return text;
}

static void test_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *format, *before, *unit, *says;
    } deep[] = {{"dot", "digraph ", "{", "subgraphs nested deeper than 128"},
                {"dot", "digraph { a -> ", "{ b -> ", "subgraphs nested deeper than 128"},
                {"gml", "", "graph [ ", "lists nested deeper than 127"}};
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        char *text = repeat(deep[i].before, deep[i].unit, 100000, "");
        sked_graph *g = NULL;
        FAILS(SKED_ERR_FORMAT, deep[i].says, parse(deep[i].format, "file", text, strlen(text), &g, err));
        free(text);
    }
    char *open = repeat("digraph {", "{", 100, "a"), *text = repeat(open, "}", 100, "}");
    sked_graph_destroy(must_parse("dot", text));
    free(open);
    free(text);
}

/* Two groups of n nodes are n * n edges; a small file must not become a huge graph. */
static void test_dot_expansion(void **state)
{
    (void)state;
    sked_i_buffer b = {0};
    sked_graph *g = NULL;
    sked_i_buffer_text(&b, "digraph {\n{");
    for (int i = 0; i < 5000; i++)
        sked_i_buffer_format(&b, "a%d ", i);
    sked_i_buffer_text(&b, "}\n->{");
    for (int i = 0; i < 5000; i++)
        sked_i_buffer_format(&b, "b%d ", i);
    sked_i_buffer_text(&b, "}}");
    FAILS(SKED_ERR_UNSUPPORTED, "file:2: edges between subgraphs stand for more than 1048576 edges",
          parse("dot", "file", b.data, (size_t)b.size, &g, err));
    b.size = 0;
    sked_i_buffer_text(&b, "digraph {\nnode [demand=\"");
    for (int i = 0; i < 5000; i++)
        sked_i_buffer_format(&b, "r%d=1,", i);
    sked_i_buffer_text(&b, "\"]\n");
    for (int i = 0; i < 5000; i++)
        sked_i_buffer_format(&b, "a%d ", i);
    sked_i_buffer_text(&b, "}");
    FAILS(SKED_ERR_UNSUPPORTED, "file:2: default demands stand for more than 1048576 demands",
          parse("dot", "file", b.data, (size_t)b.size, &g, err));
    sked_i_buffer_free(&b);
}

/* ------------------------------------------------------------------ nothing is lost */

static sked_graph *write_and_read(const sked_graph *g, const char *format)
{
    const sked_i_format *f = sked_i_format_find(format);
    sked_i_buffer text = {0};
    sked_graph *again = NULL;
    char name[500];
    snprintf(name, sizeof name, "%s", sked_graph_name(g));
    OK(f->write(g, &text, err));
    assert_false(text.failed);
    OK(parse(format, name, text.data, (size_t)text.size, &again, err));
    sked_i_buffer_free(&text);
    return again;
}

static void check_round_trip(const sked_graph *g, const char *format, const char *what)
{
    sked_graph *again = write_and_read(g, format);
    if (!sked_graph_equal(g, again))
        fail_msg("%s changes when it is written as %s and read again", what, format);
    sked_graph_destroy(again);
}

static void test_round_trips(void **state)
{
    (void)state;
    for (int i = 0; i < n_samples; i++) {
        sked_graph *g = read_data(samples[i].file);
        check_round_trip(g, "dot", samples[i].file);
        check_round_trip(g, "gml", samples[i].file);
        check_round_trip(g, "native", samples[i].file);
        if (strcmp(samples[i].format, "stg") == 0)
            check_round_trip(g, "stg", samples[i].file);
        if (strcmp(samples[i].format, "rcp") == 0 || strcmp(samples[i].format, "psplib") == 0)
            check_round_trip(g, "rcp", samples[i].file);
        sked_graph_destroy(g);
    }
}

/* Names, types and numbers that are hard to write down. */
static sked_graph *awkward_graph(void)
{
    static const char *const names[] = {"",       "a b",        "\"",     "\\",    "\\\\\"",      "x\\\n",
                                        "\n\r\t", "a,b=c%",     "%41%zz", "<b>",   "caf\xc3\xa9", "node",
                                        "-1",     "&amp;&#65;", "// no",  "{}[];", "\x01\x7f",    "a\\N",
                                        " lead"};
    enum { n = sizeof names / sizeof *names };
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    int32_t op;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "an \"awkward\" \\ graph \xf0\x9f\x8c\xb5", err));
    for (int i = 0; i < n; i++)
        OK(sked_builder_add_resource(b, names[i], i % 3 ? i + 0.1 : INFINITY, NULL, err));
    for (int i = 0; i < n; i++) {
        const char *type = i % 4 == 0 ? NULL : i % 4 == 1 ? names[(i + 1) % n] : i == 2 ? "\\N" : "";
        OK(sked_builder_add_op(b, names[i], type, i / 3.0, &op, err));
        OK(sked_builder_set_memory(b, op, i % 2 ? 1e300 : 0, err));
        OK(sked_builder_set_weight(b, op, i % 3, err));
        for (int r = 0; r < i; r++)
            OK(sked_builder_add_demand(b, op, r, 1e-9 * (r + 1), err));
    }
    for (int i = 0; i + 1 < n; i++) {
        const sked_edge forward = {i, i + 1, i % 2 ? NAN : i - 3.5, i % 3 ? 0x1p60 : 0, 0};
        const sked_edge back = {i + 1, i, -i, 0.1, i + 1};
        OK(sked_builder_add_edge(b, &forward, err));
        OK(sked_builder_add_edge(b, &forward, err));
        OK(sked_builder_add_edge(b, &back, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static void test_awkward_round_trips(void **state)
{
    (void)state;
    sked_graph *g = awkward_graph();
    check_round_trip(g, "dot", "the awkward graph");
    check_round_trip(g, "gml", "the awkward graph");
    check_round_trip(g, "native", "the awkward graph");
    sked_graph_destroy(g);
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err)); /* no ops at all */
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    check_round_trip(g, "dot", "the empty graph");
    check_round_trip(g, "gml", "the empty graph");
    check_round_trip(g, "stg", "the empty graph");
    check_round_trip(g, "rcp", "the empty graph");
    sked_graph_destroy(g);
}

/* Formats that know durations and order only refuse what they would have to leave out. */
static void test_writers_refuse(void **state)
{
    (void)state;
    const struct {
        const char *text, *format, *says;
    } cases[] = {
        {"digraph { a -> b [lag=3] }", "stg", "STG cannot hold the lag of edge a -> b"},
        {"digraph { a -> b [distance=1] }", "stg", "STG cannot hold the distance of edge a -> b"},
        {"digraph { a [demand=\"R=1\"] }", "stg", "STG cannot hold resource demands"},
        {"digraph { a -> b [lag=3] }", "rcp", "Patterson .rcp cannot hold the lag"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sked_graph *g = must_parse("dot", cases[i].text);
        sked_i_buffer text = {0};
        FAILS(SKED_ERR_UNSUPPORTED, cases[i].says, sked_i_format_find(cases[i].format)->write(g, &text, err));
        sked_i_buffer_free(&text);
        sked_graph_destroy(g);
    }
    /* .rcp has no "unlimited": the sum of the demands never binds */
    sked_graph *g = must_parse("dot", "digraph { a [demand=\"R=2\"] b [demand=\"R=3\"] }");
    sked_graph *again = write_and_read(g, "rcp");
    assert_true(sked_graph_capacity(again, 0) == 5);
    sked_graph_destroy(g);
    sked_graph_destroy(again);
}

/* Line ends of either kind, a byte order mark, no extension, a wrong one: the same graph. */
static void test_variants(void **state)
{
    (void)state;
    for (int i = 0; i < n_samples; i++) {
        int64_t size;
        char *text = load_sample(&samples[i], &size);
        sked_graph *plain = NULL, *other = NULL;
        OK(parse(samples[i].format, "file", text, (size_t)size, &plain, err));
        sked_i_buffer crlf = {0};
        sked_i_buffer_text(&crlf, "\xef\xbb\xbf");
        for (const char *s = text; *s; s++)
            sked_i_buffer_format(&crlf, *s == '\n' ? "\r%c" : "%c", *s);
        OK(parse(samples[i].format, "file", crlf.data, (size_t)crlf.size, &other, err));
        if (strcmp(samples[i].file, "language.dot") != 0) /* a line end inside a string is part of it */
            assert_true(sked_graph_equal(plain, other));
        sked_graph_destroy(other);
        OK(parse(NULL, "file", text, (size_t)size, &other, err));
        assert_true(sked_graph_equal(plain, other));
        sked_graph_destroy(other);
        OK(parse(NULL, "file.json", text, (size_t)size, &other, err));
        assert_true(sked_graph_equal(plain, other));
        sked_graph_destroy(other);
        sked_graph_destroy(plain);
        sked_i_buffer_free(&crlf);
        free(text);
    }
}

/* ------------------------------------------------------------------ real files */

/* Reads every file of the folder with the extension, writes and reads it again; returns how many. */
static int check_folder(const char *folder, const char *extension, const char *also)
{
    char path[1200];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", shared_data(), folder);
    DIR *d = opendir(path);
    if (d == NULL)
        fail_msg("cannot open %s", path);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        const size_t n = strlen(e->d_name), m = strlen(extension);
        if (n <= m || strcmp(e->d_name + n - m, extension) != 0)
            continue;
        sked_graph *g = NULL;
        snprintf(path, sizeof path, "%s/%s/%s", shared_data(), folder, e->d_name);
        OK(sked_graph_read(path, NULL, &g, err));
        assert_true(sked_graph_op_count(g) > 0);
        check_round_trip(g, also, path);
        check_round_trip(g, "native", path);
        sked_graph_destroy(g);
        count++;
    }
    closedir(d);
    return count;
}

static void test_shared_files(void **state)
{
    (void)state;
    NEED_SHARED_DATA();
    assert_int_equal(check_folder("stg/50", ".stg", "stg"), 60);
    assert_int_equal(check_folder("stg/100", ".stg", "stg"), 60);
    assert_int_equal(check_folder("stg/1000", ".stg", "stg"), 2);
    assert_int_equal(check_folder("stg/apps", ".stg", "stg"), 3);
    assert_int_equal(check_folder("psplib/j30", ".sm", "rcp") + check_folder("psplib/j60", ".sm", "rcp") +
                         check_folder("psplib/j120", ".sm", "rcp"),
                     312);
    assert_int_equal(check_folder("rcpsp_patterson", ".rcp", "rcp"), 55);
    assert_int_equal(check_folder("jobshop", ".txt", "gml"), 11);
    assert_int_equal(check_folder("express_dfg", ".dot", "dot"), 16);
    assert_int_equal(check_folder("rw", ".gml", "gml"), 5);
    assert_int_equal(check_folder("epfl", ".blif", "dot"), 12);
}

/* Sizes that the sources of these files state. */
static void test_shared_sizes(void **state)
{
    (void)state;
    NEED_SHARED_DATA();
    static const struct {
        const char *file;
        int ops, edges;
        double work;
    } known[] = {{"stg/apps/fpppp.stg", 334, 1145, 7129}, {"stg/apps/robot.stg", 88, 131, 2483},
                 {"stg/apps/sparse.stg", 96, 67, 1936},   {"stg/50/rand0000.stg", 50, 96, 262},
                 {"express_dfg/hal.dot", 11, 8, 11},      {"psplib/j30/j301_1.sm", 30, 42, 158},
                 {"jobshop/ft06.txt", 36, 30, 197},       {"rw/rand_graph_1000_1.gml", 949, 2730, 949},
                 {"epfl/ctrl.blif", 182, 348, 182},       {"epfl/i2c.blif", 1504, 2698, 1504}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char path[1200];
        sked_graph *g = NULL;
        double work = 0;
        snprintf(path, sizeof path, "%s/%s", shared_data(), known[i].file);
        OK(sked_graph_read(path, NULL, &g, err));
        for (int32_t k = 0; k < sked_graph_op_count(g); k++)
            work += sked_graph_duration(g, k);
        if (sked_graph_op_count(g) != known[i].ops || sked_graph_edge_count(g) != known[i].edges ||
            work != known[i].work)
            fail_msg("%s: %d ops, %d edges, work %g", known[i].file, sked_graph_op_count(g),
                     (int)sked_graph_edge_count(g), work);
        sked_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stg),
        cmocka_unit_test(test_projects),
        cmocka_unit_test(test_jobshop),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_dot_language),
        cmocka_unit_test(test_dot_details),
        cmocka_unit_test(test_gml),
        cmocka_unit_test(test_blif),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_mutated),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_dot_expansion),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_awkward_round_trips),
        cmocka_unit_test(test_writers_refuse),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_shared_files),
        cmocka_unit_test(test_shared_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
