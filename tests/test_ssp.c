/* CIRCT's static scheduling problems: what an instance means, what is refused, and that times come back. */
#define _DEFAULT_SOURCE
#include "formats/ssp.h"
#include "test.h"

#include <dirent.h>
#include <math.h>

#define DATA SKED_SOURCE_DIR "/tests/data/"

static sked_status parse(const char *text, const char *instance, sked_graph **g, sked_error *err)
{
    const sked_read_options opt = {.size = sizeof opt, .format = "ssp", .instance = instance};
    const size_t size = strlen(text);
    char *copy = malloc(size + 1); /* an exact copy: a read past the end is then seen by AddressSanitizer */
    assert_non_null(copy);
    memcpy(copy, text, size);
    const sked_status st = sked_graph_parse("file", copy, size, &opt, g, err);
    free(copy);
    return st;
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

/* Number of edges from op to op with this lag and distance. */
static int edges(const sked_graph *g, int32_t from, int32_t to, double lag, int32_t distance)
{
    int found = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        found += g->edge_from[e] == from && g->edge_to[e] == to && g->edge_distance[e] == distance &&
                 g->edge_lag[e] == lag;
    return found;
}

/* An op that uses a resource holds it for a cycle; its latency is the lag of its out-edges. */
static void test_meaning(void **state)
{
    (void)state;
    sked_graph *g = read_data("modulo.mlir");
    assert_string_equal(sked_graph_name(g), "fir");
    assert_int_equal(g->n_ops, 6);
    check_op(g, 0, "load x", "add", 1);
    check_op(g, 1, "%1", "mul", 1);
    check_op(g, 3, "%3", "copy", 0);
    check_op(g, 4, "acc", "add", 1);
    check_op(g, 5, "5", NULL, 0);
    assert_int_equal(edges(g, 0, 1, 1, 0), 2);
    assert_int_equal(edges(g, 1, 3, 3, 0), 1);
    assert_int_equal(edges(g, 2, 4, 3, 0), 1);
    assert_int_equal(edges(g, 3, 4, 0, 0), 1);
    assert_int_equal(edges(g, 4, 0, 1, 1), 1);
    assert_int_equal(edges(g, 4, 4, 1, 2), 1);
    assert_int_equal(g->n_edges, 9);
    assert_int_equal(g->n_resources, 2);
    assert_true(sked_graph_capacity(g, 0) == 1 && isinf(sked_graph_capacity(g, 1)));
    assert_true(sked_graph_demand(g, 1, 0) == 1 && sked_graph_demand(g, 4, 1) == 1);
    assert_true(sked_graph_demand(g, 0, 0) == 0);
    sked_graph_destroy(g);
    g = read_data("chaining.mlir");
    check_op(g, 0, "%0", "mul", 2);
    check_op(g, 1, "%1", "add", 0);
    assert_int_equal(edges(g, 0, 1, 2, 0), 1);
    sked_graph_destroy(g);
}

#define INSTANCE(class, operators, resources, graph)                                         \
    "ssp.instance @i of \"" class "\" {\n library {\n" operators " }\n resource {" resources \
                                  "}\n graph {\n" graph "}\n}\n"
#define UNIT "operator_type @t [latency<1>]\n"

/* Limits and distances say nothing in classes without them; limits of operator types are pools as well. */
static void test_classes(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int pools, carried;
    } cases[] = {
#define BODY    "%0 = operation<@t> @a() uses[@p]\noperation<@t>(@a [dist<1>])\n"
#define LIMITED "operator_type @t [latency<1>, limit<2>, incDelay<1.0>, outDelay<1.0>]\n"
        {INSTANCE("Problem", LIMITED, "resource_type @p [limit<1>]", BODY), 0, 0},
        {INSTANCE("CyclicProblem", LIMITED, "resource_type @p [limit<1>]", BODY), 0, 1},
        {INSTANCE("SharedOperatorsProblem", LIMITED, "resource_type @p [limit<1>]", BODY), 2, 0},
        {INSTANCE("SharedResourcesProblem", UNIT, "resource_type @p [limit<1>]", BODY), 1, 0},
        {INSTANCE("ModuloProblem", LIMITED, "resource_type @p [limit<1>] resource_type @t", BODY), 3, 1},
        {INSTANCE("ChainingProblem", LIMITED, "resource_type @p [limit<1>]", BODY), 0, 0},
        {INSTANCE("ChainingCyclicProblem", LIMITED, "resource_type @p [limit<1>]", BODY), 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sked_graph *g = NULL;
        OK(parse(cases[i].text, NULL, &g, err));
        assert_int_equal(g->n_resources, cases[i].pools);
        assert_int_equal(g->n_carried, cases[i].carried);
        sked_graph_destroy(g);
    }
    sked_graph *g = NULL;
    OK(parse(cases[4].text, NULL, &g, err));
    assert_string_equal(sked_graph_resource_name(g, 2), "t_1"); /* a pool @t is there */
    assert_true(sked_graph_capacity(g, 2) == 2 && sked_graph_demand(g, 1, 2) == 1);
    sked_graph_destroy(g);
}

static const struct broken {
    const char *text;
    sked_status status;
    const char *says;
} broken[] = {
    {"func.func @f() {}\n", SKED_ERR_FORMAT, "file:1: 'module', 'ssp.library', 'ssp.resource' or"},
    {"module {\n}\n", SKED_ERR_FORMAT, "file:3: the file has no ssp.instance"},
    {"module {\n", SKED_ERR_FORMAT, "file:2: '}' is expected, not 'end of file'"},
    {"ssp.library @L { operator_type @a operator_type @a }", SKED_ERR_FORMAT,
     "the operator type 'a' is declared twice"},
    {"ssp.library @L { resource_type @a }", SKED_ERR_FORMAT, "'operator_type' or '}' is expected"},
    {"ssp.instance of Problem {}", SKED_ERR_FORMAT, "'\"' is expected, not 'Problem'"},
    {"ssp.instance of \"Problem {}\n", SKED_ERR_FORMAT, "file:1: a string does not end on its line"},
    {"ssp.instance of \"\\zz\" {}\n", SKED_ERR_FORMAT, "a string has a broken escape"},
    {"ssp.instance @\"\\00\" of \"Problem\" {}\n", SKED_ERR_FORMAT, "a string has a broken escape"},
    {"ssp.instance @i of \"Problem\" {}", SKED_ERR_FORMAT, "an instance needs a library and a graph"},
    {"ssp.instance @i of \"Problem\" {\nlibrary {} library {} graph {}}", SKED_ERR_FORMAT,
     "file:2: an instance has one library"},
    {INSTANCE("Probelm", UNIT, "", ""), SKED_ERR_UNSUPPORTED,
     "file:1: 'Probelm' is no class of problems that sked knows (did you mean 'Problem'"},
    {INSTANCE("Problem", "operator_type @t [latncy<1>]\n", "", ""), SKED_ERR_FORMAT,
     "file:3: no property is called 'latncy'"},
    {INSTANCE("Problem", "operator_type @t [latency<1.5>]\n", "", ""), SKED_ERR_FORMAT,
     "file:3: latency must be a whole number, 0 to 2147483647, not '1.5'"},
    {INSTANCE("Problem", "operator_type @t [latency<-1>]\n", "", ""), SKED_ERR_FORMAT, "not '-1'"},
    {INSTANCE("Problem", "operator_type @t [latency<9999999999>]\n", "", ""), SKED_ERR_FORMAT,
     "latency must"},
    {INSTANCE("Problem", "operator_type @t [latency<1>, latency<2>]\n", "", ""), SKED_ERR_FORMAT,
     "the property latency comes twice"},
    {INSTANCE("ChainingProblem", "operator_type @t [latency<1>, incDelay<-1.0>]\n", "", ""), SKED_ERR_FORMAT,
     "file:3: incDelay must be a finite number, 0 or more, not '-1.0'"},
    {INSTANCE("Problem", "operator_type @t\n", "", "operation<@t>()\n"), SKED_ERR_FORMAT,
     "file:7: operator type 't' has no latency"},
    {INSTANCE("ChainingProblem", UNIT, "", "operation<@t>()\n"), SKED_ERR_FORMAT,
     "file:3: operator type 't' of a ChainingProblem needs incDelay and outDelay"},
    {INSTANCE("ChainingProblem", "operator_type @t [latency<0>, incDelay<1.0>, outDelay<2.0>]\n", "",
              "operation<@t>()\n"),
     SKED_ERR_FORMAT, "file:3: operator type 't' has latency 0, so incDelay and outDelay must be equal"},
    {INSTANCE("Problem", UNIT, "", "operation<@u>()\n"), SKED_ERR_FORMAT,
     "file:7: no operator type is called '@u'"},
    {INSTANCE("Problem", UNIT, "", "operation<@L::@t>()\n"), SKED_ERR_FORMAT,
     "file:7: no operator type is called '@L::@t'"},
    {INSTANCE("SharedOperatorsProblem", UNIT, "", "operation<@t>() uses[@r]\n"), SKED_ERR_FORMAT,
     "file:7: no resource type is called '@r'"},
    {INSTANCE("SharedOperatorsProblem", "operator_type @t [latency<0>]\n", "resource_type @r [limit<1>]",
              "operation<@t>() uses[@r]\n"),
     SKED_ERR_FORMAT, "file:7: an op of latency 0 uses a resource with a limit"},
    {INSTANCE("SharedOperatorsProblem", "operator_type @t [latency<0>, limit<1>]\n", "", "operation<@t>()\n"),
     SKED_ERR_FORMAT, "an operator type of latency 0 has a limit"},
    {INSTANCE("SharedOperatorsProblem", UNIT, "resource_type @r", "operation<@t>() uses[@r, @r]\n"),
     SKED_ERR_FORMAT, "file:7: "},
    {INSTANCE("Problem", UNIT, "", "operation<@t>(@b)\n"), SKED_ERR_FORMAT,
     "file:7: no operation of the instance defines '@b'"},
    {INSTANCE("Problem", UNIT, "", "operation<@t>(%9)\n"), SKED_ERR_FORMAT, "defines '%9'"},
    {INSTANCE("Problem", UNIT, "", "%0 = operation<@t>()\n%0 = operation<@t>()\n"), SKED_ERR_FORMAT,
     "file:8: '%0' is defined twice"},
    {INSTANCE("Problem", UNIT, "", "operation<@t> @a()\noperation<@t> @a()\n"), SKED_ERR_FORMAT,
     "file:8: '@a' is defined twice"},
    {INSTANCE("Problem", UNIT, "", "%0 = operation<@t> @a()\noperation<@t>(@a, %0)\n"), SKED_ERR_FORMAT,
     "file:8: a value follows a symbol"},
    {INSTANCE("ChainingCyclicProblem", "operator_type @t [latency<1>, incDelay<1.0>, outDelay<1.0>]\n", "",
              "%0 = operation<@t>()\noperation<@t>(%0 [dist<3>])\n"),
     SKED_ERR_FORMAT, "file:8: a distance between values"},
    {INSTANCE("Problem", UNIT, "", "%0 = operation<@t> @a(@b)\n%1 = operation<@t> @b(%0)\n"), SKED_ERR_FORMAT,
     "cycle"},
    {INSTANCE("Problem", UNIT, "", "%0 = operation<@t>(]\n"), SKED_ERR_FORMAT, "a value, %name, is expected"},
    {INSTANCE("Problem", UNIT, "", "operation<@t>() [t<0>, #x.y<((((\n"), SKED_ERR_FORMAT,
     "a bracket is not closed"},
    {INSTANCE("Problem", UNIT, "", "%0 = call<@t>()\n"), SKED_ERR_FORMAT, "'operation' or '}' is expected"},
};

static void test_broken(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        sked_graph *g = NULL;
        sked_error e = {0};
        const sked_status st = parse(broken[i].text, NULL, &g, &e);
        if (st != broken[i].status || strstr(e.message, broken[i].says) == NULL ||
            strncmp(e.message, "file:", 5) != 0)
            wrong++, print_error("<<%s>>: status %d '%s', not %d '%s'\n", broken[i].text, (int)st, e.message,
                                 (int)broken[i].status, broken[i].says);
        assert_null(g);
    }
    assert_int_equal(wrong, 0);
}

static void test_deep(void **state)
{
    (void)state;
    sked_i_buffer b = {0};
    sked_graph *g = NULL;
    for (int i = 0; i < 100000; i++)
        sked_i_buffer_text(&b, "module {\n");
    FAILS(SKED_ERR_FORMAT, "file:129: modules nested deeper than 128", parse(b.data, NULL, &g, err));
    b.size = 0;
    sked_i_buffer_text(&b, "module @");
    for (int i = 0; i < 2000; i++)
        sked_i_buffer_char(&b, 'x');
    sked_i_buffer_text(&b, " { }");
    FAILS(SKED_ERR_FORMAT, "are longer than 1024 bytes", parse(b.data, NULL, &g, err));
    sked_i_buffer_free(&b);
}

/* ------------------------------------------------------------------ several instances */

static const char several[] =
    "ssp.instance @one of \"Problem\" { library {} graph { operation<>() } }\n"
    "ssp.instance of \"Problem\" { library {} graph { } }\n"
    "ssp.instance @\"t w o\" of \"None\" { library {} graph { operation<@x>() } }\n";

static void test_choice(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    FAILS(SKED_ERR_UNSUPPORTED, "file: the file has 3 instances; choose one (--instance NAME): one, 2, t w o",
          parse(several, NULL, &g, err));
    FAILS(SKED_ERR_ARGUMENT, "file: no instance is called 'ones'; the file has: one, 2, t w o",
          parse(several, "ones", &g, err));
    FAILS(SKED_ERR_ARGUMENT, "no instance is called '4'", parse(several, "4", &g, err));
    OK(parse(several, "one", &g, err));
    assert_int_equal(g->n_ops, 1);
    assert_string_equal(sked_graph_name(g), "one");
    sked_graph_destroy(g);
    OK(parse(several, "2", &g, err)); /* without a name it is called after the file */
    assert_int_equal(g->n_ops, 0);
    assert_string_equal(sked_graph_name(g), "file");
    sked_graph_destroy(g);
    g = NULL;
    FAILS(SKED_ERR_UNSUPPORTED, "file:3: 'None' is no class", parse(several, "t w o", &g, err));
}

/* References lead to the instance's library, to one around it, or outwards; equal names get numbers. */
static void test_libraries(void **state)
{
    (void)state;
    static const char text[] =
        "ssp.library @L { operator_type @t [latency<5>] }\n"
        "module @M { ssp.resource @R { resource_type @p [limit<7>] }\n"
        "ssp.library @L { operator_type @t [latency<2>] }\n"
        "ssp.instance @i of \"ModuloProblem\" {\n library @I { operator_type @t [latency<3>] }\n"
        "resource @P { resource_type @p [limit<1>] } graph {\n"
        "operation<@t> @a() uses[@p]\noperation<@I::@t> @b() uses[@P::@p]\noperation<@i::@I::@t> @c()\n"
        "operation<@L::@t> @d() uses[@R::@p]\noperation<@M::@L::@t> @e() uses[@M::@R::@p]\n"
        "operation<@Top::@t> @f(@a, @b, @c, @d, @e)\n} } }\n"
        "ssp.library @Top { operator_type @t [latency<9>] }\n";
    static const double lag[] = {3, 3, 3, 2, 2};
    sked_graph *g = NULL;
    OK(parse(text, NULL, &g, err));
    for (int32_t i = 0; i < 5; i++)
        assert_int_equal(edges(g, i, 5, lag[i], 0), 1);
    assert_int_equal(g->n_resources, 2);
    assert_true(sked_graph_capacity(g, 0) == 1 && sked_graph_capacity(g, 1) == 7);
    assert_string_equal(sked_graph_resource_name(g, 1), "p_1");
    assert_true(sked_graph_demand(g, 1, 0) == 1 && sked_graph_demand(g, 4, 1) == 1);
    assert_string_equal(sked_graph_op_type(g, 0), "t");
    assert_string_not_equal(sked_graph_op_type(g, 3), "t");
    assert_true(sked_graph_duration(g, 5) == 9);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ writing */

/* Writes g and start times, and hands over what reads again. */
static sked_graph *again(const sked_graph *g, const sked_i_ssp_times *times, sked_schedule **s)
{
    sked_i_buffer text = {0};
    sked_graph *copy = NULL;
    sked_problem p;
    OK(sked_i_ssp_write(g, times, &text, err));
    assert_false(text.failed);
    OK(parse(text.data, NULL, &copy, err));
    sked_problem_init(&p, copy);
    if (times->start != NULL)
        OK(sked_schedule_parse("file", text.data, (size_t)text.size, &p, s, err));
    else
        FAILS(g->n_ops > 0 ? SKED_ERR_INVALID : SKED_OK, "",
              sked_schedule_parse("file", text.data, (size_t)text.size, &p, s, err));
    sked_i_buffer_free(&text);
    return copy;
}

static void test_round_trips(void **state)
{
    (void)state;
    static const char *const files[] = {"modulo.mlir", "chaining.mlir", "full_adder.blif", "counter.blif"};
    const sked_i_ssp_times none = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        sked_graph *g = read_data(files[i]);
        sked_schedule *s = NULL;
        sked_graph *copy = again(g, &none, &s), *third = again(copy, &none, &s);
        const bool own = strstr(files[i], ".mlir") != NULL;
        if (!sked_graph_equal(copy, third) || (own && !sked_graph_equal(g, copy)))
            fail_msg("%s changes when it is written and read again", files[i]);
        assert_int_equal(g->n_edges, copy->n_edges);
        assert_int_equal(g->n_carried, copy->n_carried);
        sked_graph_destroy(g);
        sked_graph_destroy(copy);
        sked_graph_destroy(third);
    }
}

static sked_graph *native(const char *ops)
{
    char text[1000];
    snprintf(text, sizeof text, "{\"format\":\"sked-graph-1\",%s}", ops);
    return must_graph(text);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *graph, *says;
    } cases[] = {
        {"\"ops\":[{\"duration\":1.5}],\"edges\":[]", "op '0': its lag is no whole number"},
        {"\"ops\":[{\"duration\":1},{\"duration\":1}],\"edges\":[{\"from\":0,\"to\":1,\"lag\":2}]",
         "op '0': its lag is not its duration"},
        {"\"ops\":[{\"duration\":1},{\"duration\":1}],\"edges\":[{\"from\":0,\"to\":1,\"lag\":2},[0,1]]",
         "op '0': its out-edges have different lags"},
        {"\"resources\":[{\"name\":\"r\",\"capacity\":2}],\"ops\":[{\"duration\":2,\"demand\":{\"r\":1}}],"
         "\"edges\":[]",
         "op '0': it does not hold its unit for one cycle"},
        {"\"resources\":[{\"name\":\"r\",\"capacity\":2}],\"ops\":[{\"duration\":1,\"demand\":{\"r\":2}}],"
         "\"edges\":[]",
         "op '0': it takes more or less than one unit of a pool"},
        {"\"resources\":[{\"name\":\"r\",\"capacity\":2.5}],\"ops\":[],\"edges\":[]",
         "the capacity 2.5 of 'r'"},
    };
    const sked_i_ssp_times none = {0};
    sked_i_buffer out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sked_graph *g = native(cases[i].graph);
        FAILS(SKED_ERR_UNSUPPORTED, cases[i].says, sked_i_ssp_write(g, &none, &out, err));
        sked_graph_destroy(g);
    }
    sked_graph *g = native("\"ops\":[{\"duration\":1}],\"edges\":[]");
    double start = 0.5;
    FAILS(SKED_ERR_UNSUPPORTED, "it starts at a time that is no whole number",
          sked_i_ssp_write(g, &(sked_i_ssp_times){&start, NULL, 0}, &out, err));
    start = 0;
    FAILS(SKED_ERR_UNSUPPORTED, "the interval 1.5",
          sked_i_ssp_write(g, &(sked_i_ssp_times){&start, NULL, 1.5}, &out, err));
    sked_graph_destroy(g);
    sked_i_buffer_free(&out);
}

/* Names, types and pools that no bare symbol can hold. */
static void test_awkward(void **state)
{
    (void)state;
    sked_graph *g =
        native("\"name\":\"a \\\"b\\\" \\\\ \\u00e9\",\"resources\":[{\"name\":\"\",\"capacity\":1}],"
               "\"ops\":[{\"name\":\"%1\",\"duration\":1,\"type\":\"x y\"},"
               "{\"name\":\"%9a\",\"duration\":1,\"type\":\"_3\",\"demand\":{\"\":1}},"
               "{\"name\":\"1\",\"duration\":3},{\"name\":\"\\n\",\"duration\":0,\"type\":\"x y\"}],"
               "\"edges\":[{\"from\":1,\"to\":2,\"lag\":3},[0,1],[0,3],"
               "{\"from\":2,\"to\":0,\"distance\":1},{\"from\":3,\"to\":3,\"distance\":2}]");
    sked_schedule *s = NULL;
    double start[] = {0, 1, 4, 1};
    sked_graph *copy = again(g, &(sked_i_ssp_times){start, NULL, 7}, &s);
    char a[40], b[40];
    for (int32_t i = 0; i < 4; i++) {
        assert_string_equal(sked_graph_op_name(g, i, a, sizeof a), sked_graph_op_name(copy, i, b, sizeof b));
        assert_true(s->start[i] == start[i]);
    }
    assert_true(s->ii == 7);
    assert_string_equal(sked_graph_name(g), sked_graph_name(copy));
    assert_string_equal(sked_graph_op_type(copy, 0), "x y");
    assert_string_equal(sked_graph_op_type(copy, 3), "x y_0");
    assert_int_equal(edges(copy, 1, 2, 3, 0), 1);
    assert_int_equal(edges(copy, 3, 3, 0, 2), 1);
    sked_schedule_destroy(s);
    sked_graph_destroy(copy);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ times */

static void test_times(void **state)
{
    (void)state;
    sked_graph *g = read_data("modulo.mlir");
    sked_schedule *s = NULL;
    sked_problem p;
    sked_problem_init(&p, g);
    OK(sked_schedule_read(DATA "modulo.mlir", &p, &s, err));
    assert_true(s->ii == 6 && s->start[0] == 0 && s->start[5] == 6 && s->devices == 0);
    p.ii = s->ii;
    OK(sked_schedule_validate(&p, s, err));
    sked_schedule_destroy(s);
    s = NULL;
    FAILS(SKED_ERR_INVALID, "chaining.mlir:1: the instance has 4 ops, the graph 6",
          sked_schedule_read(DATA "chaining.mlir", &p, &s, err));
    static const char other[] = INSTANCE("Problem", UNIT, "",
                                         "operation<@t> @x() [t<0>]\noperation<>()\noperation<>()\n"
                                         "operation<>()\noperation<>()\noperation<>()\n");
    FAILS(SKED_ERR_INVALID, "file:7: the graph has no op called '@x'",
          sked_schedule_parse("file", other, sizeof other - 1, &p, &s, err));
    sked_graph_destroy(g);
}

/* Of the instances of a file, one after another by number. */
static int each_instance(const char *path, void (*check)(sked_graph *g, const char *path, const char *name))
{
    int count = 0;
    for (;; count++) {
        char name[24];
        snprintf(name, sizeof name, "%d", count + 1);
        const sked_read_options opt = {.size = sizeof opt, .instance = name};
        sked_graph *g = NULL;
        sked_error e = {0};
        const sked_status st = sked_graph_read(path, &opt, &g, &e);
        if (st == SKED_ERR_ARGUMENT)
            return count;
        if (st != SKED_OK)
            fail_msg("%s: %s", path, e.message);
        check(g, path, name);
        sked_graph_destroy(g);
    }
}

/* A schedule is written and read again, and is still valid. */
static void check_report(const sked_problem *p, const sked_schedule *s)
{
    char path[] = "/tmp/sked-ssp-XXXXXX.mlir";
    sked_report_data data;
    sked_schedule *read = NULL;
    sked_graph *copy = NULL;
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    fclose(fdopen(fd, "w"));
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = s;
    OK(sked_report_write(&data, path, NULL, err));
    OK(sked_graph_read(path, NULL, &copy, err));
    sked_problem q = *p;
    q.graph = copy;
    OK(sked_schedule_read(path, &q, &read, err));
    OK(sked_schedule_validate(&q, read, err));
    assert_int_equal(copy->n_edges, p->graph->n_edges);
    for (int32_t i = 0; i < s->ops; i++)
        assert_true(read->start[i] == s->start[i]);
    assert_true(read->ii == s->ii);
    remove(path);
    sked_schedule_destroy(read);
    sked_graph_destroy(copy);
}

/* Never above the times that the file gives; cyclic classes by interval, then length. */
static void check_schedule(sked_graph *g, const char *path, const char *name)
{
    sked_schedule *given = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_metrics ours = {.size = sizeof ours}, theirs = {.size = sizeof theirs};
    sked_problem_init(&p, g);
    sked_run_options_init(&opt);
    opt.iterations = 2000;
    const bool timed = sked_schedule_read(path, &p, &given, NULL) == SKED_OK;
    if (timed && given->ii > 0) {
        p.objective = SKED_OBJECTIVE_II;
        p.ii = SKED_II_AUTO;
    }
    OK(sked_method_run("auto", &p, &opt, &r, err));
    p.ii = r.schedule[0]->ii;
    check_report(&p, r.schedule[0]);
    OK(sked_schedule_measure(&p, r.schedule[0], &ours, err));
    if (timed) {
        OK(sked_schedule_measure(&p, given, &theirs, err));
        if (r.schedule[0]->ii > given->ii ||
            (r.schedule[0]->ii == given->ii && ours.makespan > theirs.makespan))
            fail_msg("%s, instance %s: II %g, length %g; the file has %g, %g", path, name, r.schedule[0]->ii,
                     ours.makespan, given->ii, theirs.makespan);
    }
    sked_schedule_destroy(given);
    sked_result_clear(&r);
}

static void test_schedules(void **state)
{
    (void)state;
    assert_int_equal(each_instance(DATA "modulo.mlir", check_schedule), 1);
    assert_int_equal(each_instance(DATA "chaining.mlir", check_schedule), 1);
}

/* Every instance of CIRCT's tests. */
static void test_shared(void **state)
{
    (void)state;
    NEED_SHARED_DATA();
    char folder[700], path[1000];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/ssp", shared_data());
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const size_t n = strlen(entry->d_name);
        if (n < 5 || strcmp(entry->d_name + n - 5, ".mlir") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count += each_instance(path, check_schedule);
    }
    closedir(dir);
    assert_true(count >= 22);
}

/* ------------------------------------------------------------------ a clock */

static const char cyclic[] =
    "ssp.instance @loop of \"ChainingCyclicProblem\" {\n"
    "library { operator_type @t [latency<0>, incDelay<3.0>, outDelay<3.0>] }\nresource {}\n"
    "graph { %0 = operation<@t>(@b [dist<1>])\noperation<@t> @b(%0) } }\n";

/* The best schedule with a period, as a file and back: valid, with the phases that the file says. */
static double best_with_clock(const sked_graph *g, double clock, bool loop)
{
    sked_problem p;
    sked_run_options run;
    sked_result best = {.size = sizeof best};
    sked_i_buffer text = {0};
    sked_graph *again = NULL;
    sked_schedule *s = NULL;
    double phase[8];
    assert_true(g->n_ops <= 8);
    sked_problem_init(&p, g);
    sked_run_options_init(&run);
    run.time_limit = INFINITY;
    p.clock = clock;
    if (loop) {
        p.objective = SKED_OBJECTIVE_II;
        p.ii = SKED_II_AUTO;
    }
    OK(sked_method_run("auto", &p, &run, &best, err));
    assert_true(best.lower_bound == best.value);
    const sked_schedule *found = best.schedule[0];
    OK(sked_i_ssp_write(g, &(sked_i_ssp_times){found->start, found->phase, found->ii}, &text, err));
    assert_non_null(strstr(text.data, "z<"));
    OK(parse(text.data, NULL, &again, err));
    p.graph = again;
    p.ii = found->ii;
    OK(sked_schedule_parse("file", text.data, (size_t)text.size, &p, &s, err));
    OK(sked_schedule_validate(&p, s, err));
    assert_memory_equal(s->start, found->start, (size_t)s->ops * sizeof *s->start);
    OK(sked_schedule_phases(&p, s, phase, err));
    assert_memory_equal(phase, found->phase, (size_t)s->ops * sizeof *phase);
    const double value = best.value;
    sked_schedule_destroy(s);
    sked_graph_destroy(again);
    sked_i_buffer_free(&text);
    sked_result_clear(&best);
    return value;
}

/* Worked out by hand: at 5 and 6 the last product starts a cycle after the sums, at 7 with them, at 3.4 they
 * part. */
static void test_clock(void **state)
{
    (void)state;
    static const double table[][2] = {{3.4, 6}, {5, 5}, {6, 5}, {7, 4}}, loops[][2] = {{5, 2}, {6, 1}};
    sked_graph *g = read_data("chaining.mlir"), *loop = NULL;
    for (size_t k = 0; k < 4; k++)
        assert_true(best_with_clock(g, table[k][0], false) == table[k][1]);
    OK(parse(cyclic, NULL, &loop, err));
    for (size_t k = 0; k < 2; k++)
        assert_true(best_with_clock(loop, loops[k][0], true) == loops[k][1]);
    sked_graph_destroy(g);
    sked_graph_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning), cmocka_unit_test(test_classes),     cmocka_unit_test(test_broken),
        cmocka_unit_test(test_deep),    cmocka_unit_test(test_choice),      cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_awkward), cmocka_unit_test(test_round_trips), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_times),   cmocka_unit_test(test_schedules),   cmocka_unit_test(test_clock),
        cmocka_unit_test(test_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
