/* JSON, XML and ONNX formats: what they mean, what they refuse, and that what is written reads back equal. */
#include "test.h"

#include "base/text.h"
#include "formats/format.h"
#include "formats/json.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <onnx.pb-c.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA      SKED_SOURCE_DIR "/tests/data/"
#define TEMPORARY SKED_BINARY_DIR "/test_formats_json_"

static sked_status parse(const char *name, const char *text, sked_graph **g, sked_error *err)
{
    return sked_graph_parse(name, text, strlen(text), NULL, g, err);
}

static sked_graph *must_parse(const char *name, const char *text)
{
    sked_graph *g = NULL;
    OK(parse(name, text, &g, err));
    return g;
}

static sked_graph *must_read(const char *path, const sked_read_options *options)
{
    sked_graph *g = NULL;
    OK(sked_graph_read(path, options, &g, err));
    return g;
}

static void must_fail(sked_status status, const char *name, const char *text, const char *part)
{
    sked_graph *g = NULL;
    FAILS(status, part, parse(name, text, &g, err));
    assert_null(g);
}

static char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n, f), n);
    text[n] = 0;
    fclose(f);
    *size = (size_t)n;
    return text;
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
}

/* Written in a format and read again, the graph is the same. */
static void check_round_trip(const sked_graph *g, const char *format, const char *what)
{
    const sked_i_format *f = sked_i_format_find(format);
    sked_read_options options = {.size = sizeof options, .format = format};
    sked_i_buffer text = {0};
    sked_graph *again = NULL;
    OK(f->write(g, &text, err));
    OK(sked_graph_parse("again", text.data, (size_t)text.size, &options, &again, err));
    if (!sked_graph_equal(g, again))
        fail_msg("%s: not the same after %s", what, format);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_lag_given[e] != again->edge_lag_given[e])
            fail_msg("%s: edge %d: %s forgets whether the lag was given", what, (int)e, format);
    sked_graph_destroy(again);
    sked_i_buffer_free(&text);
}

/* Every proper beginning of a file is refused or read without harm; hardly any may pass. */
static void check_prefixes(const char *path, size_t step, size_t may_pass)
{
    size_t size, passed = 0;
    char *text = slurp(path, &size);
    while (size > 0 && strchr(" \n", text[size - 1]) != NULL)
        size--;
    for (size_t n = 0; n < size; n += step) {
        char *copy = malloc(n + 1); /* its own block, so that the sanitizer sees a read past the end */
        memcpy(copy, text, n);
        copy[n] = 0;
        sked_graph *g = NULL;
        sked_error e = {0};
        const sked_status st = sked_graph_parse(path, copy, n, NULL, &g, &e);
        if (st == SKED_OK)
            passed++;
        else if (e.message[0] == 0)
            fail_msg("%s: cut at %zu: no message", path, n);
        sked_graph_destroy(g);
        free(copy);
    }
    free(text);
    if (passed > may_pass)
        fail_msg("%s: %zu beginnings pass", path, passed);
}

/* Bytes changed at random: any answer but a crash. */
static void check_noise(const char *path, int rounds)
{
    size_t size;
    char *text = slurp(path, &size), *copy = malloc(size + 1);
    uint64_t seed = 12345;
    for (int k = 0; k < rounds; k++) {
        memcpy(copy, text, size + 1);
        for (int c = 0; c < 4; c++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            static const char useful[] = "{}[]\",:0-9eE.\\u<>/&=\xff\x80\x01 ";
            copy[(seed >> 33) % size] =
                (seed >> 20) % 3 ? useful[(seed >> 25) % (sizeof useful - 1)] : (char)(seed >> 40);
        }
        sked_graph *g = NULL;
        sked_error e = {0};
        const sked_status st = sked_graph_parse(path, copy, size, NULL, &g, &e);
        if (st != SKED_OK && (g != NULL || e.status != st || e.message[0] == 0))
            fail_msg("%s: a failure without a clean error", path);
        sked_graph_destroy(g);
    }
    free(text);
    free(copy);
}

/* ------------------------------------------------------------------ the JSON reader itself */

static bool ours_accepts(const char *text, size_t size)
{
    static const sked_read_options none;
    const sked_i_source source = {"text", text, size, &none};
    sked_i_json j;
    sked_error e = {0};
    sked_i_json_begin(&j, &source, &e);
    sked_i_json_skip(&j);
    sked_i_json_end(&j);
    sked_i_json_free(&j);
    return j.status == SKED_OK;
}

/* 1 yes, 0 no, -1 no opinion (numbers too large for jansson are still JSON). */
static int jansson_accepts(const char *text, size_t size)
{
    json_error_t e;
    json_t *value = json_loadb(text, size, JSON_DECODE_ANY, &e);
    const int verdict = value != NULL ? 1 : json_error_code(&e) == json_error_numeric_overflow ? -1 : 0;
    json_decref(value);
    return verdict;
}

static void test_json_against_jansson(void **state)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "null",
                                        "nul",
                                        "true",
                                        "false",
                                        "falsey",
                                        "0",
                                        "-0",
                                        "01",
                                        "1.",
                                        ".5",
                                        "1.5e3",
                                        "1e",
                                        "1e+",
                                        "-",
                                        "+1",
                                        "1.5E-7",
                                        "\"\"",
                                        "\"a",
                                        "\"\\u00e9\"",
                                        "\"\\ud83d\\ude00\"",
                                        "\"\\ud83d\"",
                                        "\"\\ude00\"",
                                        "\"\\x\"",
                                        "\"\\u12g4\"",
                                        "\"\t\"",
                                        "\"\x7f\"",
                                        "\"\xc3\xa9\"",
                                        "\"\xc3\"",
                                        "\"\xed\xa0\x80\"",
                                        "\"\xf4\x90\x80\x80\"",
                                        "\"\\u0000\"",
                                        "[]",
                                        "[1]",
                                        "[1,]",
                                        "[,1]",
                                        "[1 2]",
                                        "[1,2",
                                        "{}",
                                        "{\"a\":1}",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "{\"a\" 1}",
                                        "{\"a\":}",
                                        "{\"a\":1 \"b\":2}",
                                        "[[[]],{\"x\":[{}]}]",
                                        "1 2",
                                        "[1]]",
                                        "NaN",
                                        "Infinity",
                                        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
                                        "/**/1",
                                        "'a'",
                                        "[1}",
                                        "{\"a\":[1}",
                                        "\xef\xbb\xbf"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const int want = jansson_accepts(texts[i], strlen(texts[i]));
        if (want >= 0 && ours_accepts(texts[i], strlen(texts[i])) != (want == 1))
            fail_msg("'%s': jansson says %d", texts[i], want);
    }
}

/* Random damage to a document: both parsers must still agree. */
static void test_json_agrees_on_noise(void **state)
{
    static const char base[] =
        "{\"a\": [1, -2.5e1, true, null, \"x\\n\\u00e9\xc3\xa9\"], \"b\": {\"c\": [[], {}]}}";
    static const char pieces[] = "{}[]\",:0123-+.eEtrufalsn\\ \x01\xc3\xa9/u";
    uint64_t seed = 99;
    int accepted = 0;
    (void)state;
    for (int k = 0; k < 200000; k++) {
        char text[sizeof base];
        memcpy(text, base, sizeof base);
        size_t n = sizeof base - 1;
        for (int c = 0; c < 1 + k % 3; c++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const size_t at = (seed >> 33) % n;
            if (seed >> 60 < 4) {
                memmove(text + at, text + at + 1, n - at);
                n--;
            } else {
                text[at] = pieces[(seed >> 20) % (sizeof pieces - 1)];
            }
        }
        const int want = jansson_accepts(text, n);
        accepted += want == 1;
        if (want >= 0 && ours_accepts(text, n) != (want == 1))
            fail_msg("'%.*s': jansson says %d", (int)n, text, want);
    }
    assert_true(accepted > 1000); /* else the noise proves nothing */
}

static void test_json_depth(void **state)
{
    enum { deep = 1000000 };
    char *text = malloc(deep + 1);
    (void)state;
    memset(text, '[', deep);
    text[deep] = 0;
    assert_false(ours_accepts(text, deep));
    memset(text + 128, ']', 128);
    assert_true(ours_accepts(text, 256));
    free(text);
    must_fail(SKED_ERR_FORMAT, "g.json", "{\"ops\":[],\"x-a\":[[[[", "ends too early");
}

static void test_json_text_of_strings(void **state)
{
    sked_graph *g = must_parse("g.json", "{\"name\":\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\",\"ops\":[{\"name\":"
                                         "\"\\u0061\",\"duration\":1}],\"edges\":[]}");
    (void)state;
    assert_string_equal(sked_graph_name(g), "\xc3\xa9\xf0\x9f\x98\x80\n\"\\");
    assert_int_equal(sked_graph_find_op(g, "a"), 0);
    check_round_trip(g, "native", "escapes");
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ native graphs */

static void check_edge(const sked_graph *g, int64_t k, int32_t from, int32_t to, double lag, double bytes,
                       int32_t distance)
{
    sked_edge e;
    sked_graph_edge(g, k, &e);
    if (e.from != from || e.to != to || e.lag != lag || e.bytes != bytes || e.distance != distance)
        fail_msg("edge %d is %d -> %d, lag %g, bytes %g, distance %d", (int)k, (int)e.from, (int)e.to, e.lag,
                 e.bytes, (int)e.distance);
}

static void test_native_meaning(void **state)
{
    sked_graph *g = must_read(DATA "json_small.json", NULL);
    (void)state;
    assert_string_equal(sked_graph_name(g), "small");
    assert_int_equal(sked_graph_op_count(g), 3);
    assert_int_equal(sked_graph_resource_count(g), 2);
    assert_true(sked_graph_capacity(g, 0) == 2 && isinf(sked_graph_capacity(g, 1)));
    assert_string_equal(sked_graph_op_type(g, 0), "Mul");
    assert_null(sked_graph_op_type(g, 2));
    assert_true(sked_graph_duration(g, 1) == 1.5);
    assert_true(sked_graph_memory(g, 0) == 64 && sked_graph_memory(g, 1) == 0);
    assert_true(sked_graph_weight(g, 0) == 3 && sked_graph_weight(g, 1) == 1);
    assert_true(sked_graph_demand(g, 1, 0) == 2 && sked_graph_demand(g, 1, 1) == 0.5);
    assert_int_equal(sked_graph_edge_count(g), 4);
    check_edge(g, 0, 0, 1, 3, 64, 0);
    check_edge(g, 1, 0, 2, 2, 0, 0);
    check_edge(g, 2, 1, 2, 1.5, 0, 0);
    check_edge(g, 3, 2, 0, 1, 0, 1);
    check_round_trip(g, "native", "json_small");
    check_round_trip(g, "graphml", "json_small");
    sked_graph_destroy(g);
}

static void test_native_without_names(void **state)
{
    sked_graph *g =
        must_parse("g.json", "{\"edges\":[[0,1],[\"1\",2]],\"ops\":[{\"duration\":1},{\"duration\":2},"
                             "{\"duration\":0}]}");
    sked_i_buffer text = {0};
    (void)state;
    check_edge(g, 1, 1, 2, 2, 0, 0);
    OK(sked_i_format_find("native")->write(g, &text, err));
    assert_string_equal(text.data,
                        "{\"format\":\"sked-graph-1\",\n\"ops\":[\n{\"duration\":1},\n{\"duration\":2},\n"
                        "{\"duration\":0}\n],\n\"edges\":[\n[0,1],\n[1,2]\n]}\n");
    check_round_trip(g, "native", "unnamed");
    check_round_trip(g, "graphml", "unnamed");
    sked_i_buffer_free(&text);
    sked_graph_destroy(g);
    g = must_parse("g.json", "{\"ops\":[],\"edges\":[]}");
    assert_int_equal(sked_graph_op_count(g), 0);
    check_round_trip(g, "native", "empty");
    check_round_trip(g, "graphml", "empty");
    sked_graph_destroy(g);
}

/* One line of text and the words its refusal must contain. */
typedef struct bad {
    const char *text, *part;
} bad;

static void check_all_bad(const char *name, const bad *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must_fail(SKED_ERR_FORMAT, name, list[i].text, list[i].part);
}

#define OPS(...) "{\"ops\":[" __VA_ARGS__ "],\"edges\":[]}"
#define EDGES(...)                                                                                           \
    "{\"ops\":[{\"name\":\"a\",\"duration\":1},{\"name\":\"b\",\"duration\":1}],\"edges\":[" __VA_ARGS__ "]" \
    "}"

static void test_native_refuses(void **state)
{
    static const bad list[] = {
        {"", "g.json:1: the file is empty"},
        {"\x7f\x45\x4c\x46\x02\x01", "byte 0"},
        {"[]", "a graph must be an object, not an array"},
        {"{\"ops\":[]}", "needs both \"ops\" and \"edges\""},
        {"{\"ops\":[],\"edges\":[]} x", "text after the end"},
        {"{\"ops\":[],\"edges\":[],\"ops\":[]}", "\"ops\" comes twice"},
        {"{\"ops\":[],\"edge\":[]}", "did you mean 'edges'?"},
        {"{\"format\":\"sked-graph-2\",\"ops\":[],\"edges\":[]}", "the format is 'sked-graph-2'"},
        {"{\"format\":\"sked-schedule-1\",\"ops\":[]}", "the format is 'sked-schedule-1'"},
        {"{\"ops\":{},\"edges\":[]}", "\"ops\" must be an array, not an object"},
        {OPS("{\"name\":\"a\"}"), "without \"duration\""},
        {OPS("{\"duration\":1,\"duration\":2}"), "\"duration\" comes twice"},
        {OPS("{\"duration\":-1,\"name\":\"neg\"}"), "op 'neg': duration must be a finite number, 0 or more"},
        {OPS("{\"duration\":1e999}"), "1e999 is out of range"},
        {OPS("{\"duration\":NaN}"), "a JSON value expected, not 'N'"},
        {OPS("{\"duration\":Infinity}"), "a JSON value expected"},
        {OPS("{\"duration\":\"1\"}"), "duration must be a number, not a string"},
        {OPS("{\"duration\":null}"), "duration must be a number, not null"},
        {OPS("{\"duration\":1,\"wieght\":1}"), "did you mean 'weight'?"},
        {OPS("{\"duration\":1,\"memory\":-1}"), "memory must be"},
        {OPS("{\"duration\":1,\"weight\":-1}"), "weight must be"},
        {OPS("{\"name\":\"a\",\"duration\":1},{\"name\":\"a\",\"duration\":1}"), "two ops are called 'a'"},
        {OPS("{\"name\":\"1\",\"duration\":1},{\"duration\":1}"), "its index is already the name"},
        {OPS("{\"name\":\"a\\u0000b\",\"duration\":1}"), "NUL"},
        {OPS("{\"name\":\"\xff\",\"duration\":1}"), "not valid UTF-8"},
        {OPS("{\"duration\":1,\"demand\":{\"mul\":1}}"), "resource 'mul', which is not declared"},
        {"{\"resources\":[{\"name\":\"r\"}],\"ops\":[{\"duration\":1,\"demand\":{\"r\":0,\"r\":1}}],"
         "\"edges\":[]}",
         "two demands on the same resource"},
        {"{\"resources\":[{\"name\":\"r\"}],\"ops\":[{\"duration\":1,\"demand\":{\"r\":-1}}],\"edges\":[]}",
         "demand must be"},
        {"{\"resources\":[{\"name\":\"r\"},{\"name\":\"r\"}],\"ops\":[],\"edges\":[]}",
         "'r' is declared twice"},
        {"{\"resources\":[{\"name\":\"r\",\"capacity\":-1}],\"ops\":[],\"edges\":[]}",
         "capacity must be 0 or more"},
        {EDGES("[\"a\",\"c\"]"), "no op is called 'c' (byte"},
        {EDGES("[0,2]"), "no op has the index 2; there are 2"},
        {EDGES("[0,0.5]"), "no op has the index 0.5"},
        {EDGES("[0,-1]"), "no op has the index -1"},
        {EDGES("[0,1e300]"), "no op has the index"},
        {EDGES("[0]"), "two elements"},
        {EDGES("[0,1,2]"), "two elements"},
        {EDGES("[]"), "two elements"},
        {EDGES("{\"from\":0}"), "both \"from\" and \"to\""},
        {EDGES("{\"from\":0,\"to\":1,\"lag\":1e400}"), "out of range"},
        {EDGES("{\"from\":0,\"to\":1,\"bytes\":-1}"), "bytes"},
        {EDGES("{\"from\":0,\"to\":1,\"distance\":-1}"), "whole number"},
        {EDGES("{\"from\":0,\"to\":1,\"distance\":0.5}"), "whole number"},
        {EDGES("{\"from\":0,\"to\":1,\"distance\":4294967297}"), "whole number"},
        {EDGES("{\"from\":0,\"to\":1,\"delay\":1}"), "an edge has no key \"delay\""},
        {EDGES("[0,1],[1,0]"), "cycle of distance 0: "},
        {EDGES("[0,0]"), "cycle of distance 0: a -> a"},
    };
    (void)state;
    check_all_bad("g.json", list, sizeof list / sizeof *list);
    must_fail(SKED_ERR_FORMAT, "g.json", "{\"ops\":[\n{\"duration\":1},\n{\"duration\":true}],\"edges\":[]}",
              "g.json:3: ");
    must_fail(SKED_ERR_FORMAT, "g.json", OPS("{\"duration\":1},{\"duration\":[]}"), ", op 1)");
    check_prefixes(DATA "json_small.json", 1, 0);
    check_noise(DATA "json_small.json", 20000);
}

/* The published schema names the keys that the reader takes, no more and no fewer. */
static void check_schema_keys(const json_t *properties, const char *const *keys, size_t count, size_t others)
{
    assert_non_null(properties);
    assert_int_equal(json_object_size(properties), count + others);
    for (size_t i = 0; i < count; i++)
        if (json_object_get(properties, keys[i]) == NULL)
            fail_msg("the schema lacks \"%s\"", keys[i]);
}

/* What the schema says of an attribute's kind and preset, from the one table of attributes. */
static void check_attribute(const json_t *properties, const sked_attribute_info *a)
{
    const json_t *p = json_object_get(properties, a->name), *preset = json_object_get(p, "default");
    const char *kind = json_string_value(json_object_get(p, "type")),
               *amount = json_string_value(json_object_get(p, "$ref"));
    if (p == NULL)
        fail_msg("the schema lacks \"%s\"", a->name);
    if (a->kind == SKED_ATTRIBUTE_AMOUNT)
        assert_string_equal(amount, "#/$defs/amount");
    else if (a->kind == SKED_ATTRIBUTE_REAL)
        assert_true(json_array_size(json_object_get(p, "type")) == 2); /* number, null */
    else
        assert_string_equal(kind, a->kind == SKED_ATTRIBUTE_COUNT ? "integer" : "boolean");
    if (strcmp(a->name, "duration") == 0 || isnan(a->preset)) /* required; or the description says it */
        assert_null(preset);
    else if (a->kind == SKED_ATTRIBUTE_FLAG)
        assert_int_equal(json_is_true(preset), a->preset != 0);
    else
        assert_true(json_is_number(preset) && json_number_value(preset) == a->preset);
}

static size_t check_attributes(const json_t *properties, bool of_edges)
{
    size_t count = 0;
    for (int i = 0; i < sked_attribute_count(); i++)
        if (sked_attribute_at(i)->of_edges == of_edges) {
            check_attribute(properties, sked_attribute_at(i));
            count++;
        }
    return count;
}

static json_t *load_json(const char *path)
{
    json_error_t e;
    json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
    if (value == NULL)
        fail_msg("%s:%d: %s", path, e.line, e.text);
    return value;
}

static void test_schemas(void **state)
{
    static const char *const graph[] = {"format", "name", "resources", "ops", "edges"};
    static const char *const op[] = {"name", "type", "durations", "demand", "delay", "verilog"};
    static const char *const edge[] = {"from", "to"};
    static const char *const schedule[] = {"format",   "graph", "devices", "machine", "device_names",
                                           "makespan", "ii",    "ops",     "arena",   "transfers"};
    static const char *const fix[] = {"format", "ops"};
    json_t *s = load_json(SKED_SOURCE_DIR "/docs/sked-graph-1.schema.json"),
           *defs = json_object_get(s, "$defs");
    (void)state;
    const json_t *ops = json_object_get(json_object_get(defs, "op"), "properties"),
                 *edges = json_object_get(json_object_get(defs, "edge"), "properties");
    check_schema_keys(json_object_get(s, "properties"), graph, 5, 0);
    check_schema_keys(ops, op, 6, check_attributes(ops, false));
    check_schema_keys(edges, edge, 2, check_attributes(edges, true));
    json_decref(s);
    s = load_json(SKED_SOURCE_DIR "/docs/sked-schedule-1.schema.json");
    check_schema_keys(json_object_get(s, "properties"), schedule, 10, 0);
    json_decref(s);
    s = load_json(SKED_SOURCE_DIR "/docs/sked-fix-1.schema.json");
    check_schema_keys(json_object_get(s, "properties"), fix, 2, 0);
    json_decref(s);
}

/* ------------------------------------------------------------------ schedules and fixed decisions */

static const char two_ops[] =
    "{\"name\":\"g\",\"ops\":[{\"name\":\"a\",\"duration\":2},{\"name\":\"b\",\"duration\":0.1}],"
    "\"edges\":[[0,1]]}";

/* A problem on g, to read files of it. */
static const sked_problem *problem_of(const sked_graph *g)
{
    static sked_problem p;
    sked_problem_init(&p, g);
    return &p;
}

static sked_status parse_schedule(const sked_graph *g, const char *text, sked_schedule **s, sked_error *err)
{
    return sked_schedule_parse("s.json", text, strlen(text), problem_of(g), s, err);
}

static void test_schedule_round_trip(void **state)
{
    sked_graph *g = must_parse("g.json", two_ops);
    sked_schedule *s = NULL, *again = NULL;
    sked_i_buffer text = {0};
    (void)state;
    OK(sked_schedule_create(2, 3, &s, err));
    s->start[1] = 0.30000000000000004 + 2;
    s->device[1] = 2;
    s->ii = 2.5;
    OK(sked_i_native_schedule_write(problem_of(g), s, &text, err));
    OK(parse_schedule(g, text.data, &again, err));
    assert_int_equal(again->devices, 3);
    assert_true(again->ii == 2.5 && again->start[0] == 0 && again->start[1] == s->start[1]);
    assert_int_equal(again->device[1], 2);
    json_t *seen = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(seen);
    assert_string_equal(json_string_value(json_object_get(seen, "format")), "sked-schedule-1");
    assert_string_equal(json_string_value(json_object_get(seen, "graph")), "g");
    json_decref(seen);
    sked_i_buffer_free(&text);
    sked_schedule_destroy(s);
    sked_schedule_destroy(again);
    sked_graph_destroy(g);
}

#define SCHEDULE(head, ...) "{\"format\":\"sked-schedule-1\"," head "\"ops\":[" __VA_ARGS__ "]}"
#define A                   "{\"name\":\"a\",\"start\":0,\"finish\":2}"
#define B                   "{\"name\":\"b\",\"start\":2}"

static void test_schedule_accepts(void **state)
{
    static const char *const list[] = {
        SCHEDULE("", A "," B),
        SCHEDULE("\"devices\":null,\"ii\":null,\"makespan\":2.1,", B "," A),
        SCHEDULE("\"devices\":0,\"graph\":\"another\",\"method\":\"list\",\"log_prob\":-1e3,", A "," B),
        SCHEDULE("", "{\"name\":0,\"start\":0},{\"name\":1,\"start\":2,\"finish\":2.1000000000000001,"
                     "\"device\":null}"),
        SCHEDULE("\"devices\":1,",
                 "{\"name\":\"a\",\"start\":0,\"device\":0},{\"name\":\"b\",\"start\":2,\"device\":0}"),
        "{\"ops\":[" A "," B "],\"format\":\"sked-schedule-1\"}",
    };
    sked_graph *g = must_parse("g.json", two_ops);
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_schedule *s = NULL;
        OK(parse_schedule(g, list[i], &s, err));
        assert_true(s->start[0] == 0 && s->start[1] == 2 && s->ii == 0);
        sked_schedule_destroy(s);
    }
    sked_graph_destroy(g);
}

static void test_schedule_refuses(void **state)
{
    static const struct {
        sked_status status;
        const char *text, *part;
    } list[] = {
        {SKED_ERR_FORMAT, "", "empty"},
        {SKED_ERR_FORMAT, "[]", "must be an object"},
        {SKED_ERR_FORMAT, "{}", "needs \"format\""},
        {SKED_ERR_FORMAT, two_ops, "needs \"format\""},
        {SKED_ERR_FORMAT, "{\"format\":\"sked-graph-1\",\"ops\":[]}", "not 'sked-schedule-1'"},
        {SKED_ERR_FORMAT, SCHEDULE("", A ",{\"name\":\"b\"}"), "'b' has no start"},
        {SKED_ERR_FORMAT, SCHEDULE("", A ",{\"start\":1}"), "without \"name\""},
        {SKED_ERR_FORMAT, SCHEDULE("", A ",{\"name\":\"b\",\"start\":1e999}"), "out of range"},
        {SKED_ERR_FORMAT, SCHEDULE("\"ii\":-1,", A "," B), "\"ii\""},
        {SKED_ERR_FORMAT, SCHEDULE("\"devices\":1.5,", A "," B), "whole number"},
        {SKED_ERR_FORMAT, SCHEDULE("\"devices\":-1,", A "," B), "whole number"},
        {SKED_ERR_INVALID, SCHEDULE("", A), "op 'b' is not in the schedule"},
        {SKED_ERR_INVALID, SCHEDULE("", A "," A "," B), "op 'a' comes twice"},
        {SKED_ERR_INVALID, SCHEDULE("", A "," B ",{\"name\":\"c\",\"start\":0}"), "no op called 'c'"},
        {SKED_ERR_INVALID, SCHEDULE("", A "," B ",{\"name\":2,\"start\":0}"), "no op number 2"},
        {SKED_ERR_INVALID, SCHEDULE("", B ",{\"name\":\"a\",\"start\":0,\"finish\":3}"),
         "cannot finish at 3"},
        {SKED_ERR_INVALID, SCHEDULE("", A ",{\"name\":\"b\",\"start\":2,\"finish\":2.11}"),
         "'b' starts at 2"},
        {SKED_ERR_INVALID, SCHEDULE("\"makespan\":2,", A "," B), "makespan is said to be 2"},
        {SKED_ERR_INVALID, SCHEDULE("\"devices\":2,", A "," B), "'a' has no device"},
        {SKED_ERR_INVALID, SCHEDULE("\"devices\":2,", "{\"name\":\"a\",\"start\":0,\"device\":2}," B),
         "on device 2"},
        {SKED_ERR_INVALID, SCHEDULE("\"devices\":2,", "{\"name\":\"a\",\"start\":0,\"device\":-1}," B),
         "on device -1"},
        {SKED_ERR_INVALID, SCHEDULE("", "{\"name\":\"a\",\"start\":0,\"device\":0}," B),
         "the schedule has none"},
    };
    sked_graph *g = must_parse("g.json", two_ops);
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_schedule *s = NULL;
        FAILS(list[i].status, list[i].part, parse_schedule(g, list[i].text, &s, err));
        assert_null(s);
    }
    const char *whole = SCHEDULE("\"devices\":0,\"makespan\":2.1,", A "," B);
    for (size_t n = 0; n < strlen(whole); n++) {
        sked_schedule *s = NULL;
        FAILS(SKED_ERR_FORMAT, "s.json:1:", sked_schedule_parse("s.json", whole, n, problem_of(g), &s, err));
    }
    sked_graph_destroy(g);
}

static void test_fix(void **state)
{
    sked_graph *g = must_parse("g.json", two_ops);
    int32_t *device = NULL;
    double *start = NULL;
    static const char good[] =
        "{\"format\":\"sked-fix-1\",\"ops\":[{\"name\":\"b\",\"device\":1,\"start\":3.5}]}";
    static const bad list[] = {
        {"{}", "need \"format\": \"sked-fix-1\""},
        {"{\"format\":\"sked-fix-1\",\"ops\":[{\"name\":\"c\"}]}", "no op called 'c'"},
        {"{\"format\":\"sked-fix-1\",\"ops\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "'a' comes twice"},
        {"{\"format\":\"sked-fix-1\",\"ops\":[{\"name\":\"a\",\"device\":-1}]}",
         "a device is a whole number"},
        {"{\"format\":\"sked-fix-1\",\"ops\":[{\"name\":\"a\",\"finish\":1}]}", "no key \"finish\""},
        {"{\"format\":\"sked-fix-1\",\"ops\":[{\"device\":1}]}", "without \"name\""},
    };
    (void)state;
    OK(sked_fix_parse("f.json", good, strlen(good), problem_of(g), &device, &start, err));
    assert_int_equal(device[0], -1);
    assert_int_equal(device[1], 1);
    assert_true(isnan(start[0]) && start[1] == 3.5);
    sked_free(device);
    sked_free(start);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        FAILS(SKED_ERR_FORMAT, list[i].part,
              sked_fix_parse("f.json", list[i].text, strlen(list[i].text), problem_of(g), &device, &start,
                             err));
    FAILS(SKED_ERR_IO, "cannot open", sked_fix_read(DATA "absent.json", problem_of(g), &device, &start, err));
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ libraries and profiles */

static const char typed[] =
    "{\"resources\":[{\"name\":\"old\",\"capacity\":7}],\"ops\":[{\"name\":\"m\",\"type\":\"MUL\","
    "\"duration\":1,\"demand\":{\"old\":1}},{\"name\":\"s\",\"type\":\"sub\",\"duration\":9,\"weight\":5},"
    "{\"name\":\"u\",\"duration\":4}],\"edges\":[[0,1],{\"from\":0,\"to\":2,\"lag\":1}]}";

static sked_status apply_library(const char *library, sked_graph **out, sked_error *err)
{
    sked_read_options options = {.size = sizeof options, .library = TEMPORARY "library.json"};
    put_file(options.library, library);
    const sked_status st = sked_graph_parse("g.json", typed, strlen(typed), &options, out, err);
    unlink(options.library);
    return st;
}

static void test_library_meaning(void **state)
{
    sked_graph *g = NULL;
    (void)state;
    OK(apply_library("{\"types\":{\"mul\":{\"duration\":2,\"demand\":{\"MUL\":1}},\"*\":{\"duration\":1,"
                     "\"demand\":{\"ALU\":3},"
                     "\"memory\":8,\"weight\":0}},\"resources\":{\"MUL\":2,\"ALU\":null,\"old\":6}}",
                     &g, err));
    assert_int_equal(sked_graph_resource_count(g), 3);
    assert_true(sked_graph_capacity(g, sked_graph_find_resource(g, "old")) == 6);
    const int32_t mul = sked_graph_find_resource(g, "MUL"), alu = sked_graph_find_resource(g, "ALU");
    assert_true(sked_graph_capacity(g, mul) == 2 && isinf(sked_graph_capacity(g, alu)));
    assert_true(sked_graph_duration(g, 0) == 2 && sked_graph_duration(g, 1) == 1 &&
                sked_graph_duration(g, 2) == 1);
    assert_true(sked_graph_demand(g, 0, mul) == 1 && sked_graph_demand(g, 0, 0) == 0); /* replaced */
    assert_true(sked_graph_demand(g, 2, alu) == 3);
    assert_true(sked_graph_memory(g, 1) == 8 && sked_graph_weight(g, 1) == 0 && sked_graph_weight(g, 0) == 1);
    check_edge(g, 0, 0, 1, 2, 0, 0); /* follows the new duration */
    check_edge(g, 1, 0, 2, 1, 0, 0); /* was given */
    sked_graph_destroy(g);
    g = NULL;
    OK(apply_library("{\"types\":{\"*\":{\"demand\":{\"new\":1}}}}", &g, err)); /* units without a limit */
    assert_true(sked_graph_duration(g, 1) == 9);
    assert_true(isinf(sked_graph_capacity(g, sked_graph_find_resource(g, "new"))));
    sked_graph_destroy(g);
}

static double attribute_of(const sked_graph *g, const char *name, int64_t i)
{
    double value[8];
    sked_graph_attribute(g, sked_attribute_find(name), value);
    return value[i];
}

/* What circuits and units need: delays, latencies, times by device. */
static void test_library_of_units(void **state)
{
    sked_graph *g = NULL;
    (void)state;
    OK(apply_library(
        "{\"types\":{\"Mul\":{\"latency\":3,\"delay\":{\"out\":0.5,\"in\":0.25}},\"SUB\":{\"delay\":0.75,"
        "\"durations\":{\"gpu\":0.5,\"npu\":null}},\"*\":{}}}",
        &g, err));
    assert_true(attribute_of(g, "delay_in", 0) == 0.25 && attribute_of(g, "delay_out", 0) == 0.5);
    assert_true(attribute_of(g, "delay_in", 1) == 0.75 && attribute_of(g, "delay_out", 1) == 0.75);
    assert_true(attribute_of(g, "delay_in", 2) == 0 && attribute_of(g, "delay_out", 2) == 0);
    assert_true(sked_graph_duration_on(g, 1, "gpu") == 0.5 && isinf(sked_graph_duration_on(g, 1, "npu")));
    assert_true(isnan(sked_graph_duration_on(g, 0, "gpu")) && sked_graph_duration(g, 1) == 9);
    check_edge(g, 0, 0, 1, 3, 0, 0); /* the latency */
    check_edge(g, 1, 0, 2, 1, 0, 0); /* was given */
    sked_graph_destroy(g);
}

static void test_library_refuses(void **state)
{
    static const bad list[] = {
        {"{}", "needs \"types\""},
        {"{\"types\":{\"mul\":{},\"MUL\":{}}}", "'mul' comes twice"},
        {"{\"types\":{\"mul\":{},\"sup\":{}}}",
         "no type 'sub' (of op 's') and no \"*\" (did you mean 'sup'?)"},
        {"{\"types\":{\"mul\":{},\"sub\":{}}}", "op 'u' has no type"},
        {"{\"types\":{\"*\":{\"duration\":-1}}}", "\"duration\" must be 0 or more"},
        {"{\"types\":{\"*\":{\"durration\":1}}}", "did you mean 'duration'?"},
        {"{\"types\":{\"none\":{\"durations\":1},\"*\":{}}}", "an op's durations must be an object"},
        {"{\"types\":{\"*\":{\"durations\":{\"gpu\":-1}}}}", "a duration must be 0 or more"},
        {"{\"types\":{\"*\":{\"durations\":{\"gpu\":1,\"gpu\":2}}}}", "gpu"},
        {"{\"types\":{\"*\":{\"latency\":-1}}}", "\"latency\" must be 0 or more"},
        {"{\"types\":{\"*\":{\"delay\":{\"in\":1,\"out\":-1}}}}", "a delay must be 0 or more"},
        {"{\"types\":{\"*\":{\"delay\":{\"on\":1}}}}", "did you mean 'in'?"},
        {"{\"types\":{\"*\":{\"delay\":\"1\"}}}", "a delay must be a number"},
        {"{\"types\":{\"*\":{\"demand\":{\"X\":1}}},\"resources\":{}}", "a demand on 'X'"},
        {"{\"types\":{\"*\":{\"verilog\":\"a + +..\"}}}", "Verilog 'a + +..': an expression has operands"},
        {"{\"types\":{\"*\":{\"demand\":{\"X\":-1}}}}", "must be 0 or more"},
        {"{\"types\":{\"*\":{\"demand\":{\"X\":0,\"X\":1}}}}", "two demands"},
        {"{\"types\":{},\"resources\":{\"X\":-2}}", "a capacity must be"},
        {"{\"types\":{},\"resources\":{\"X\":1,\"X\":2}}", "'X' comes twice"},
        {"{\"types\":[]}", "must be an object"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_graph *g = NULL;
        FAILS(SKED_ERR_FORMAT, list[i].part, apply_library(list[i].text, &g, err));
        FAILS(SKED_ERR_FORMAT, "library.json", apply_library(list[i].text, &g, err));
    }
}

static sked_status apply_profile(const char *profile, sked_graph **out, sked_error *err)
{
    sked_read_options options = {.size = sizeof options, .profile = TEMPORARY "profile.json"};
    put_file(options.profile, profile);
    const sked_status st = sked_graph_parse("g.json", typed, strlen(typed), &options, out, err);
    unlink(options.profile);
    return st;
}

static void keep_note(void *data, const char *message)
{
    snprintf(data, 600, "%s", message);
}

static void test_profile(void **state)
{
    sked_graph *g = NULL;
    (void)state;
    OK(apply_profile("{\"m\": 2.5, \"u\": 0}", &g, err));
    assert_true(sked_graph_duration(g, 0) == 2.5 && sked_graph_duration(g, 1) == 9 &&
                sked_graph_duration(g, 2) == 0);
    check_edge(g, 0, 0, 1, 2.5, 0, 0);
    assert_true(sked_graph_demand(g, 0, 0) == 1);
    sked_graph_destroy(g);
    g = NULL;
    FAILS(SKED_ERR_FORMAT, "no op called 'x'", apply_profile("{\"x\":1}", &g, err));
    FAILS(SKED_ERR_FORMAT, "'m' comes twice", apply_profile("{\"m\":1,\"m\":1}", &g, err));
    FAILS(SKED_ERR_FORMAT, "op 'm' must be 0 or more", apply_profile("{\"m\":-1}", &g, err));
    FAILS(SKED_ERR_FORMAT, "must be an object", apply_profile("[1]", &g, err));
}

/* Durations of m, s and u after a profile. */
static void expect_profiled(const char *profile, double m, double s, double u)
{
    sked_graph *g = NULL;
    OK(apply_profile(profile, &g, err));
    assert_true(sked_graph_duration(g, 0) == m && sked_graph_duration(g, 1) == s &&
                sked_graph_duration(g, 2) == u);
    sked_graph_destroy(g);
}

static void test_trace_as_profile(void **state)
{
    (void)state;
    /* Medians of one, two and three events; other names, phases and keys are passed over. */
    expect_profiled("[{\"name\":\"m\",\"ph\":\"X\",\"ts\":5,\"dur\":3,\"args\":{\"a\":[1]}},"
                    "{\"name\":\"s\",\"ph\":\"X\",\"dur\":9},{\"name\":\"s\",\"ph\":\"X\",\"dur\":2},"
                    "{\"name\":\"s\",\"ph\":\"X\",\"dur\":1.5},{\"name\":\"s\",\"ph\":\"C\",\"dur\":100},"
                    "{\"name\":\"other\",\"ph\":\"X\"},{\"ph\":\"M\",\"name\":[1]},{}]",
                    3, 2, 4);
    expect_profiled("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"name\":\"u\",\"ph\":\"X\",\"dur\":1},"
                    "{\"name\":\"u\",\"ph\":\"X\",\"dur\":2}],\"otherData\":{}}",
                    1, 9, 1.5);
    /* Begin and end nest within a thread; what is never closed or never opened says nothing. */
    expect_profiled(
        "[{\"name\":\"m\",\"ph\":\"B\",\"ts\":0,\"pid\":1,\"tid\":1},"
        "{\"name\":\"u\",\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":\"x\"},"
        "{\"name\":\"inner\",\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1},"
        "{\"ph\":\"E\",\"ts\":2,\"pid\":1,\"tid\":1},{\"ph\":\"E\",\"ts\":7,\"pid\":1,\"tid\":1},"
        "{\"ph\":\"E\",\"ts\":8,\"pid\":1,\"tid\":1},{\"ph\":\"E\",\"ts\":4,\"pid\":1,\"tid\":\"x\"},"
        "{\"name\":\"s\",\"ph\":\"B\",\"ts\":9,\"pid\":2,\"tid\":1}]",
        7, 9, 3);
    /* ONNX Runtime's names, of a node without a name, too. */
    expect_profiled("[{\"cat\":\"Node\",\"name\":\"m_kernel_time\",\"ph\":\"X\",\"dur\":11},"
                    "{\"name\":\"sub_1_kernel_time\",\"ph\":\"X\",\"dur\":12},"
                    "{\"name\":\"sub_0_kernel_time\",\"ph\":\"X\",\"dur\":13},"
                    "{\"name\":\"sub_7_kernel_time\",\"ph\":\"X\",\"dur\":13},"
                    "{\"name\":\"_kernel_time\",\"ph\":\"X\",\"dur\":13},"
                    "{\"name\":\"m_fence_before\",\"ph\":\"X\",\"dur\":14}]",
                    11, 12, 4);
    expect_profiled("{\"m\": 2, \"u\": 3}", 2, 9, 3);
}

/* The note of a profile of a chain conv, relu, pool, mul, and conv2, norm, relu2 with constants beside. */
static void expect_fused(const char *events, const char *durations, const char *part)
{
    static const char net[] =
        "{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"conv\",\"type\":\"Conv\",\"duration\":9},"
        "{\"name\":\"relu\",\"type\":\"Relu\",\"duration\":9},{\"name\":\"pool\",\"type\":\"MaxPool\","
        "\"duration\":9},"
        "{\"name\":\"mul\",\"type\":\"MatMul\",\"duration\":9},{\"name\":\"conv2\",\"type\":\"Conv\","
        "\"duration\":9},"
        "{\"name\":\"norm\",\"type\":\"BatchNormalization\",\"duration\":9},"
        "{\"name\":\"relu2\",\"type\":\"Relu\",\"duration\":9},{\"name\":\"k\",\"type\":\"Constant\","
        "\"duration\":0}],"
        "\"edges\":[[0,1],[1,2],[2,3],[3,4],[4,5],[7,5],[5,6]]}";
    static char said[600];
    sked_graph *g = NULL;
    sked_read_options options = {
        .size = sizeof options, .profile = TEMPORARY "fused.json", .note = keep_note, .note_data = said};
    put_file(options.profile, events);
    OK(sked_graph_parse("g.json", net, strlen(net), &options, &g, err));
    for (int i = 0; i < 7; i++)
        if (sked_graph_duration(g, i) != durations[i] - '0')
            fail_msg("op %d: %g, not %c", i, sked_graph_duration(g, i), durations[i]);
    if (strstr(said, part) == NULL)
        fail_msg("'%s' does not say '%s'", said, part);
    sked_graph_destroy(g);
    unlink(options.profile);
}

#define KERNEL(name, type, dur)                                                     \
    "{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"" name "_kernel_time\",\"dur\":" dur \
    ",\"args\":{\"op_name\":\"" type "\"}}"

/* Nodes that ONNX Runtime made of several, as version 1.19 and later call them. */
static void test_trace_of_fused_nodes(void **state)
{
    (void)state;
    expect_fused("[" KERNEL("conv", "FusedConv", "5") "," KERNEL("pool_y_nchwc", "MaxPool", "2") "," KERNEL(
                     "mul/MatmulTransposeFusion//MatMulScaleFusion/", "FusedMatMul",
                     "3") "," KERNEL("relu2_nchwc", "Conv", "4") "]",
                 "5023400", "7 of 7 ops measured");
    /* What is no such name, or of another operator, is none; relu has a time of its own. */
    expect_fused(
        "[" KERNEL("conv", "FusedConv", "5") "," KERNEL("relu", "Relu", "1") "," KERNEL(
            "pool_y_nchwc", "AveragePool",
            "2") "," KERNEL("relu2_nchwc", "Gemm",
                            "4") "," KERNEL("/Fusion", "X",
                                            "1") ",{\"ph\":\"X\",\"name\":\"model_run\",\"dur\":1}]",
        "5199999",
        "2 of 7 ops measured; the others keep their durations: 'pool', 'mul', 'conv2'; names in it that no "
        "op has: 'pool_y', 'relu2', '/Fusion'");
}

static void test_trace_refused(void **state)
{
    static const bad list[] = {
        {"[]", "no event of the trace has the name of an op"},
        {"[{\"name\":\"x\",\"ph\":\"X\",\"dur\":1}]", "no event of the trace"},
        {"[{\"name\":\"m\",\"ph\":\"X\"}]", "needs a \"dur\""},
        {"[{\"name\":\"m\",\"ph\":\"X\",\"dur\":-1}]", "needs a \"dur\""},
        {"[{\"name\":\"m\",\"ph\":\"X\",\"dur\":\"1\"}]", "\"dur\" must be a number"},
        {"[{\"name\":\"m\",\"ph\":\"B\"}]", "needs a \"ts\""},
        {"[{\"name\":\"m\",\"ph\":\"B\",\"ts\":5},{\"ph\":\"E\",\"ts\":4}]", "ends before it begins"},
        {"[{\"name\":\"m\",\"ph\":\"X\",\"dur\":1}", "not closed"},
        {"[{\"name\":\"m\",\"ph\":\"X\",\"dur\":1}] 2", "profile.json"},
        {"{\"traceEvents\":[{\"name\":\"m\",\"ph\":\"X\",\"dur\":1}]} 2", "profile.json"},
        {"{\"traceEvents\":1}", "no op called 'traceEvents'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_graph *g = NULL;
        FAILS(SKED_ERR_FORMAT, list[i].part, apply_profile(list[i].text, &g, err));
        assert_null(g);
    }
}

/* ------------------------------------------------------------------ other JSON graphs */

static void test_node_link(void **state)
{
    sked_graph *g = must_read(DATA "json_node_link.json", NULL);
    (void)state;
    assert_string_equal(sked_graph_name(g), "net");
    assert_int_equal(sked_graph_find_op(g, "relu"), 1);
    assert_true(sked_graph_duration(g, 0) == 90 && sked_graph_memory(g, 0) == 311040000);
    assert_true(sked_graph_duration(g, 2) == 3 && sked_graph_memory(g, 2) == 8);
    assert_string_equal(sked_graph_op_type(g, 1), "Relu");
    check_edge(g, 0, 0, 1, 90, 12, 0);
    check_edge(g, 1, 1, 2, 4, 0, 0);
    check_round_trip(g, "native", "node-link");
    sked_graph_destroy(g);
    g = must_read(DATA "json_layered.json", NULL);
    assert_int_equal(sked_graph_find_op(g, "1"), 1);
    assert_true(sked_graph_duration(g, 1) == 5 && sked_graph_memory(g, 0) == 1130);
    check_edge(g, 0, 0, 1, 0, 0, 0);
    sked_graph_destroy(g);
    g = must_parse("x.json",
                   "{\"nodes\":[{\"id\":\"p\",\"name\":\"n\"},{\"id\":\"q\",\"name\":\"n\"}],\"links\":[]}");
    assert_int_equal(sked_graph_find_op(g, "q"), 1); /* names repeat: ids */
    assert_string_equal(sked_graph_name(g), "x");
    assert_true(sked_graph_duration(g, 0) == 1);
    sked_graph_destroy(g);
}

static void test_node_link_refuses(void **state)
{
    static const bad list[] = {
        {"{\"nodes\":[{\"id\":1},{\"id\":1}],\"links\":[]}", "two nodes have the id '1'"},
        {"{\"nodes\":[{\"id\":1}],\"links\":[{\"source\":1,\"target\":2}]}", "no node has the id '2'"},
        {"{\"nodes\":[{\"id\":1}],\"links\":[{\"source\":1}]}", "needs both \"source\" and \"target\""},
        {"{\"nodes\":[{\"id\":[1,2]}],\"links\":[]}", "a node's id must be a string, not an array"},
        {"{\"nodes\":[{\"id\":1,\"duration\":-1}],\"links\":[]}", "op '1': duration must be"},
        {"{\"nodes\":[{\"id\":1,\"duration\":1e999}],\"links\":[]}", "out of range"},
        {"{\"nodes\":[{\"id\":1}],\"links\":[{\"source\":1,\"target\":1}]}", "cycle"},
        {"{\"nodes\":[{\"id\":1},{\"id\":2}],\"links\":[{\"source\":1,\"target\":2,\"distance\":0.5}]}",
         "distance"},
        {"{\"nodes\":[],\"links\":[],\"edges\":[]}", "both \"links\" and \"edges\""},
        {"{\"directed\":true,\"multigraph\":false}", "needs \"nodes\""},
    };
    (void)state;
    check_all_bad("g.json", list, sizeof list / sizeof *list);
    must_fail(SKED_ERR_UNSUPPORTED, "g.json",
              "{\"directed\":false,\"multigraph\":false,\"nodes\":[],\"links\":[]}", "undirected");
    check_prefixes(DATA "json_node_link.json", 1, 0);
    check_noise(DATA "json_node_link.json", 5000);
}

static void test_dnn_partitioning(void **state)
{
    sked_graph *g = must_read(DATA "json_dnn.json", NULL);
    (void)state;
    assert_string_equal(sked_graph_name(g), "json_dnn");
    assert_int_equal(sked_graph_find_op(g, "conv"), 1);
    assert_true(sked_graph_duration(g, 1) == 0.696 && sked_graph_duration(g, 2) == 2.5);
    assert_true(sked_graph_memory(g, 0) == 3072);
    check_edge(g, 1, 1, 2, 0.696, 64, 0);
    assert_int_equal(sked_graph_duration_name_count(g), 2); /* both latencies, whichever is the duration */
    assert_true(sked_graph_duration_on(g, 1, "cpu") == 6.96 && sked_graph_duration_on(g, 1, "fpga") == 0.696);
    assert_true(sked_graph_duration_on(g, 2, "cpu") == 2.5 && isinf(sked_graph_duration_on(g, 2, "fpga")));
    check_round_trip(g, "native", "dnn-partitioning");
    sked_graph_destroy(g);
    must_fail(
        SKED_ERR_UNSUPPORTED, "e.json",
        "{\"cpus\":[{\"load\":0.0,\"nodes\":[]}],\"fpgas\":[{\"load\":-1,\"nodes\":[1]}],\"maxLoad\":-1}",
        "an expert's split of a graph over devices");
    must_fail(SKED_ERR_FORMAT, "e.json", "{\"maxFPGAs\":1,\"nodes\":[]}", "needs \"nodes\" and \"edges\"");
    check_prefixes(DATA "json_dnn.json", 1, 0);
    check_noise(DATA "json_dnn.json", 5000);
}

static void test_wfformat(void **state)
{
    sked_graph *g = must_read(DATA "json_wfformat.json", NULL);
    (void)state;
    assert_string_equal(sked_graph_name(g), "flow");
    assert_int_equal(sked_graph_edge_count(g), 3);
    assert_string_equal(sked_graph_op_type(g, 1), "work");
    assert_true(sked_graph_duration(g, 0) == 2 && sked_graph_duration(g, 1) == 7.25);
    assert_true(sked_graph_memory(g, 1) == 4096 && sked_graph_weight(g, 1) == 4 &&
                sked_graph_weight(g, 0) == 1);
    check_edge(g, 0, 0, 1, 2, 400, 0);
    check_edge(g, 1, 0, 2, 2, 1000, 0);
    check_edge(g, 2, 1, 2, 7.25, 40, 0);
    check_round_trip(g, "native", "wfformat");
    sked_graph_destroy(g);
    g = must_read(DATA "json_wfformat14.json", NULL);
    assert_int_equal(sked_graph_edge_count(g), 1);
    assert_true(sked_graph_weight(g, 0) == 2);
    check_edge(g, 0, 0, 1, 2, 100, 0);
    assert_string_equal(sked_graph_op_type(g, 0), "a");
    sked_graph_destroy(g);
}

#define FLOW(...) "{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[" __VA_ARGS__ "]}}}"
#define EXECUTED  ",\"execution\":{\"tasks\":"

/* Files that describe a machine beside their graph are machines as well. */
static void test_machines_inside(void **state)
{
    static const char flow[] =
        "{\"name\": \"run\", \"schemaVersion\": \"1.5\", \"workflow\": {\"specification\": {\"tasks\": ["
        "{\"id\": \"a\", \"parents\": [], \"children\": []}, {\"id\": \"b\", \"parents\": [], \"children\": "
        "[]}]},"
        "\"execution\": {\"tasks\": [{\"id\": \"a\", \"runtimeInSeconds\": 6, \"machines\": [\"old\"]},"
        "{\"id\": \"b\", \"runtimeInSeconds\": 4}], \"machines\": ["
        "{\"nodeName\": \"old\", \"cpu\": {\"coreCount\": 1, \"speedInMHz\": 1000}, \"memoryInBytes\": 900},"
        "{\"nodeName\": \"new\", \"cpu\": {\"coreCount\": 3, \"speedInMHz\": 3000}, \"memoryInBytes\": 900},"
        "{\"nodeName\": \"odd\", \"cpu\": {\"coreCount\": 1, \"speedInMHz\": 0}}]}}}";
    sked_machine *m = NULL;
    sked_graph *g = NULL;
    double latency = 1, bandwidth = 1;
    (void)state;
    OK(sked_machine_parse("run.json", flow, sizeof flow - 1, &m, err));
    assert_string_equal(sked_machine_name(m), "run");
    assert_int_equal(sked_machine_device_count(m), 5);
    assert_string_equal(sked_machine_device_name(m, 0), "old");
    assert_string_equal(sked_machine_device_name(m, 3), "new/2"); /* a device per core */
    assert_string_equal(sked_machine_device_type(m, 3), "new");
    assert_true(sked_machine_device_speed(m, 0) == 1 && sked_machine_device_speed(m, 3) == 3);
    assert_true(sked_machine_device_memory(m, 0) == 900 && sked_machine_device_memory(m, 3) == 300);
    assert_true(sked_machine_device_speed(m, 4) == 1 && isinf(sked_machine_device_memory(m, 4)));
    assert_true(sked_machine_link(m, 0, 3, &latency, &bandwidth) && latency == 0 && isinf(bandwidth));
    sked_machine_destroy(m);
    OK(sked_graph_parse("run.json", flow, sizeof flow - 1, NULL, &g, err));
    assert_true(sked_graph_duration(g, 0) == 6 && sked_graph_duration_on(g, 0, "old") == 6 &&
                sked_graph_duration_on(g, 0, "new") == 2 && isnan(sked_graph_duration_on(g, 0, "odd")));
    assert_true(isnan(sked_graph_duration_on(g, 1, "old"))); /* nobody says where it ran */
    sked_graph_destroy(g);

    OK(sked_machine_read(DATA "json_dnn.json", &m, err));
    assert_int_equal(sked_machine_device_count(m), 13);
    assert_string_equal(sked_machine_device_name(m, 7), "cpu7");
    assert_string_equal(sked_machine_device_type(m, 12), "fpga");
    assert_true(sked_machine_device_memory(m, 12) == 629145600 && isinf(sked_machine_device_memory(m, 0)));
    sked_machine_destroy(m);
    m = NULL;
    FAILS(SKED_ERR_FORMAT, "no machines", sked_machine_read(DATA "json_wfformat.json", &m, err));
    static const struct {
        const char *machine, *part;
        sked_status status;
    } wrong[] = {
        {"{\"cpu\": {}}", "a machine without \"nodeName\"", SKED_ERR_FORMAT},
        {"{\"nodeName\": \"n\", \"memoryInBytes\": -1}", "must be 0 or more", SKED_ERR_FORMAT},
        {"{\"nodeName\": \"n\", \"cpu\": {\"coreCount\": 0}}", "coreCount", SKED_ERR_FORMAT},
        {"{\"nodeName\": \"n\", \"cpu\": {\"speedInMHz\": -1}}", "must be 0 or more", SKED_ERR_FORMAT},
        {"{\"nodeName\": \"n\", \"cpu\": {\"coreCount\": 1000000}}", "65536 are the most",
         SKED_ERR_UNSUPPORTED},
        {"{\"nodeName\": \"n\", \"cpu\": {\"coreCount\": 65536}}, {\"nodeName\": \"o\", \"cpu\": "
         "{\"coreCount\": 2}}",
         "more than 65536", SKED_ERR_UNSUPPORTED},
        {"{\"nodeName\": \"n\"}, {\"nodeName\": \"n\"}", "two machines have the name 'n'", SKED_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{\"workflow\": {\"specification\": {\"tasks\": []}, \"execution\": {\"machines\": [%s]}}}",
                 wrong[i].machine);
        FAILS(wrong[i].status, wrong[i].part, sked_machine_parse("w.json", text, strlen(text), &m, err));
    }
}

static void test_wfformat_refuses(void **state)
{
    static const bad list[] = {
        {"{\"schemaVersion\":\"1.5\",\"workflow\":{}}", "no workflow.specification.tasks"},
        {FLOW("{\"parents\":[]}"), "a task without \"id\""},
        {FLOW("{\"id\":\"a\"},{\"id\":\"a\"}"), "two tasks have the id 'a'"},
        {FLOW("{\"id\":\"a\",\"parents\":[\"z\"]}"), "no task has the id 'z'"},
        {FLOW("{\"id\":\"a\",\"children\":[\"b\"]},{\"id\":\"b\",\"children\":[\"a\"]}"), "cycle"},
        {FLOW("{\"id\":\"a\",\"runtimeInSeconds\":-1}"), "\"runtimeInSeconds\" must be 0 or more"},
        {FLOW("{\"id\":\"a\",\"runtimeInSeconds\":1},{\"id\":\"b\"}"), "task 'b' has no runtime"},
        {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[]}" EXECUTED
         "[{\"id\":\"q\"}]}}}",
         "no task of the specification has the id 'q'"},
        {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[],\"files\":[{\"id\":\"f\","
         "\"sizeInBytes\":-4}]}}}",
         "size must be 0 or more"},
    };
    (void)state;
    check_all_bad("g.json", list, sizeof list / sizeof *list);
    sked_graph *g = must_parse("g.json", FLOW("{\"id\":\"a\"},{\"id\":\"b\",\"parents\":[\"a\",\"a\"]}"));
    assert_true(sked_graph_duration(g, 0) == 1 && sked_graph_edge_count(g) == 1); /* no runtimes: 1 */
    sked_graph_destroy(g);
    check_prefixes(DATA "json_wfformat.json", 1, 0);
    check_noise(DATA "json_wfformat.json", 10000);
    check_noise(DATA "json_wfformat14.json", 5000);
}

/* ------------------------------------------------------------------ GraphML */

static void test_graphml_plain(void **state)
{
    sked_graph *g = must_read(DATA "xml_plain.graphml", NULL);
    (void)state;
    assert_string_equal(sked_graph_name(g), "plain");
    assert_int_equal(sked_graph_find_op(g, "a&b"), 0);
    assert_true(sked_graph_duration(g, 0) == 2.5 && sked_graph_duration(g, 1) == 4);
    assert_string_equal(sked_graph_op_type(g, 0), " Mul "); /* declared as a string: kept as it is */
    check_edge(g, 0, 0, 1, 2.5, 12, 0);
    check_round_trip(g, "native", "plain GraphML");
    check_round_trip(g, "graphml", "plain GraphML");
    sked_graph_destroy(g);
}

static void test_graphml_with_model(void **state)
{
    sked_graph *g = must_read(DATA "xml_loop.graphml", NULL);
    sked_read_options options = {.size = sizeof options, .resources = DATA "xml_loopRM.xml"};
    (void)state;
    assert_string_equal(sked_graph_name(g), "xml_loop");
    assert_int_equal(sked_graph_resource_count(g), 2);
    assert_string_equal(sked_graph_resource_name(g, 1), "Add\ner");
    assert_true(sked_graph_capacity(g, 0) == 1 && isinf(sked_graph_capacity(g, 1)));
    assert_true(sked_graph_duration(g, 0) == 2 && sked_graph_duration(g, 1) == 1);
    assert_string_equal(sked_graph_op_type(g, 0), "Mult");
    assert_true(sked_graph_demand(g, 0, 0) == 1 && sked_graph_demand(g, 1, 1) == 1);
    check_edge(g, 0, 0, 1, 5, 0, 0);
    check_edge(g, 1, 1, 0, 1, 0, 2);
    check_round_trip(g, "native", "modulo GraphML");
    check_round_trip(g, "graphml", "modulo GraphML");
    sked_graph_destroy(g);
    const char *loop =
        "<graph><node id=\"1\"><data key=\"uses_resource\">Mult</data></node></graph>\n</graphml>\n";
    g = NULL;
    OK(sked_graph_parse("v.graphml", loop, strlen(loop), &options, &g,
                        err)); /* as one benchmark is written */
    sked_graph_destroy(g);
    g = must_parse("v.graphml", loop); /* no model: only a type */
    assert_true(sked_graph_duration(g, 0) == 1 && sked_graph_resource_count(g) == 0);
    assert_string_equal(sked_graph_op_type(g, 0), "Mult");
    sked_graph_destroy(g);
    const char *other =
        "<graphml><graph><node id=\"1\"><data key=\"uses_resource\">Div</data></node></graph></graphml>";
    FAILS(SKED_ERR_FORMAT, "node '1' uses 'Div'",
          sked_graph_parse("v.graphml", other, strlen(other), &options, &g, err));
    const char *none = "<graphml><graph><node id=\"1\"/></graph></graphml>";
    FAILS(SKED_ERR_FORMAT, "has no uses_resource",
          sked_graph_parse("v.graphml", none, strlen(none), &options, &g, err));
}

static void test_resource_model_refuses(void **state)
{
    static const bad list[] = {
        {"", "empty"},
        {"<Model/>", "starts with <ModelInformation>"},
        {"<ModelInformation><Resource/></ModelInformation>", "without a name"},
        {"<ModelInformation><Resource name=\"a\"/><Resource name=\"a\"/></ModelInformation>",
         "'a' is declared twice"},
        {"<ModelInformation><Resource name=\"a\" latency=\"x\"/></ModelInformation>",
         "latency is not a number"},
        {"<ModelInformation><Resource name=\"a\" latency=\"1e999\"/></ModelInformation>",
         "latency is not a number"},
        {"<ModelInformation><Resource name=\"a\" limit=\"-2\"/></ModelInformation>", "-1 for none"},
        {"<ModelInformation><Resource name=\"a\"/>", "model.xml:1:"},
    };
    const char *graph =
        "<graphml><graph><node id=\"1\"><data key=\"uses_resource\">a</data></node></graph></graphml>";
    sked_read_options options = {.size = sizeof options, .resources = TEMPORARY "model.xml"};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sked_graph *g = NULL;
        put_file(options.resources, list[i].text);
        FAILS(SKED_ERR_FORMAT, list[i].part,
              sked_graph_parse("v.graphml", graph, strlen(graph), &options, &g, err));
    }
    unlink(options.resources);
    sked_graph *g = NULL;
    FAILS(SKED_ERR_IO, "model.xml", sked_graph_parse("v.graphml", graph, strlen(graph), &options, &g, err));
}

#define XML(...)    "<graphml><graph edgedefault=\"directed\">" __VA_ARGS__ "</graph></graphml>"
#define NODE(id)    "<node id=\"" id "\"/>"
#define NODE1(k, v) "<node id=\"n\"><data key=\"" k "\">" v "</data></node>"
#define EDGE1(k, v) \
    NODE("a") NODE("b") "<edge source=\"a\" target=\"b\"><data key=\"" k "\">" v "</data></edge>"

static void test_graphml_refuses(void **state)
{
    static const bad list[] = {
        {"", "g.graphml:1: the file is empty"},
        {"\x7f\x45\x4c\x46\x02\x01", "g.graphml:1:"},
        {"<html></html>", "GraphML starts with <graphml>"},
        {"<graphml></graphml>", "there is no <graph>"},
        {"<graphml><graph>", "g.graphml:1:"},
        {"<graphml><node id=\"a\"/></graphml>", "outside the <graph>"},
        {XML("<node/>"), "a <node> without an id"},
        {XML(NODE("a") NODE("a")), "two nodes have the id 'a'"},
        {XML(NODE("a") "<edge source=\"a\"/>"), "an <edge> without a target"},
        {XML(NODE("a") "\n<edge source=\"a\" target=\"b\"/>"), "g.graphml:2: no node has the id 'b'"},
        {XML(NODE1("duration", "-1")), "op 'n': duration must be"},
        {XML(NODE1("duration", "NaN")), "must be a finite number, not 'NaN'"},
        {XML(NODE1("duration", "INF")), "must be a finite number, not 'INF'"},
        {XML(NODE1("duration", "1e999")), "must be a finite number"},
        {XML(NODE1("duration", "")), "must be a finite number"},
        {XML("<node id=\"n\"><data key=\"duration\">1</data><data key=\"duration\">1</data></node>"),
         "comes twice"},
        {XML(EDGE1("distance", "1.5")), "distance must be a whole number"},
        {XML(EDGE1("distance", "-1")), "distance must be a whole number"},
        {XML(EDGE1("bytes", "-1")), "bytes"},
        {XML(NODE("a") "<edge source=\"a\" target=\"a\"/>"), "cycle of distance 0: a -> a"},
        {XML(NODE("a") NODE1("demand:x", "1")), "appears only after the first node"},
        {XML(NODE("a") "&lol;"), "lol"},
        {XML(NODE("a\x01")), "g.graphml:1:"},
    };
    (void)state;
    check_all_bad("g.graphml", list, sizeof list / sizeof *list);
    must_fail(SKED_ERR_UNSUPPORTED, "g.graphml", "<graphml><graph edgedefault=\"undirected\"/></graphml>",
              "undirected");
    must_fail(SKED_ERR_UNSUPPORTED, "g.graphml", XML("<node id=\"a\"><graph/></node>"), "nested");
    must_fail(SKED_ERR_UNSUPPORTED, "g.graphml", "<graphml><graph/><graph/></graphml>", "second");
    must_fail(SKED_ERR_UNSUPPORTED, "g.graphml", XML("<hyperedge/>"), "hyperedge");
    must_fail(SKED_ERR_UNSUPPORTED, "g.graphml",
              "<!DOCTYPE g [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
              "\"&a;&a;&a;&a;&a;&a;&a;&a;\">]><graphml>&b;</graphml>",
              "DOCTYPE");
    check_prefixes(DATA "xml_plain.graphml", 1, 0);
    check_prefixes(DATA "xml_loop.graphml", 1, 0);
    check_noise(DATA "xml_plain.graphml", 5000);
    check_noise(DATA "xml_loop.graphml", 5000);
}

static void test_graphml_depth(void **state)
{
    enum { deep = 100000 };
    char *text = malloc(3 * deep + 100);
    (void)state;
    strcpy(text, "<graphml>");
    for (int i = 0; i < deep; i++)
        memcpy(text + 9 + 3 * i, "<a>", 4);
    must_fail(SKED_ERR_FORMAT, "g.graphml", text, "nested deeper than 256");
    free(text);
}

static void test_graphml_odd_names(void **state)
{
    sked_graph *g = must_parse(
        "g.json",
        "{\"name\":\" <&>\\\"' \",\"resources\":[{\"name\":\" r\\n\\t&\",\"capacity\":0.1},{\"name\":\"\"}],"
        "\"ops\":[{\"name\":\" a\\r\\n\",\"type\":\"\",\"duration\":0.1,\"demand\":{\" r\\n\\t&\":0.1}},"
        "{\"name\":\"\",\"type\":\" \\t\",\"duration\":1e300,\"demand\":{\"\":3}}],"
        "\"edges\":[{\"from\":0,\"to\":1,\"lag\":-2.5,\"bytes\":1e-300},{\"from\":1,\"to\":0,\"distance\":7}]"
        "}");
    (void)state;
    check_round_trip(g, "native", "odd names");
    check_round_trip(g, "graphml", "odd names");
    sked_graph_destroy(g);
}

/* Durations by device and kept values survive every format that holds attributes of its own. */
static void test_durations_elsewhere(void **state)
{
    static const char *const formats[] = {"native", "dot", "gml", "graphml"};
    sked_graph *g =
        must_parse("g.json", "{\"ops\":[{\"name\":\"a\",\"duration\":2,\"keep\":true,\"durations\":"
                             "{\"g\\\"p\\\\u<&\":0.5,\"npu\":null}},{\"name\":\"b\",\"duration\":1}],"
                             "\"edges\":[[0,1]]}");
    (void)state;
    for (int i = 0; i < 4; i++)
        check_round_trip(g, formats[i], "durations by device");
    sked_graph_destroy(g);
    must_fail(SKED_ERR_FORMAT, "g.dot", "digraph {\na [durations=\"{\\\"cpu\\\":-1}\"]; }", "g.dot:2: ");
    must_fail(SKED_ERR_FORMAT, "g.dot", "digraph { a [durations=\"{\"]; }", "durations:1: ");
    must_fail(SKED_ERR_FORMAT, "g.gml", "graph [ directed 1 node [ id 0 durations \"[]\" ] ]", "durations");
    must_fail(SKED_ERR_FORMAT, "g.graphml",
              "<graphml><graph><node id=\"a\"><data "
              "key=\"durations\">{\"cpu\":1,\"cpu\":2}</data></node></graph></graphml>",
              "cpu");
}

static void test_graphml_write_refuses(void **state)
{
    sked_graph *g = must_parse("g.json", "{\"ops\":[{\"name\":\"a\\u0001\",\"duration\":1}],\"edges\":[]}");
    sked_i_buffer text = {0};
    (void)state;
    check_round_trip(g, "native", "a control character");
    FAILS(SKED_ERR_UNSUPPORTED, "op number 0: its name has characters that XML cannot hold",
          sked_i_format_find("graphml")->write(g, &text, err));
    sked_i_buffer_free(&text);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ ONNX */

typedef struct packed {
    uint8_t *data;
    size_t size;
} packed;

static packed pack(const Onnx__ModelProto *model)
{
    packed p = {.size = onnx__model_proto__get_packed_size(model)};
    p.data = malloc(p.size + 1);
    assert_int_equal(onnx__model_proto__pack(model, p.data), p.size);
    p.data[p.size] = 0;
    return p;
}

/* A little network: w -> Conv -> Relu -> (If that captures the Conv's result). Filled in place. */
typedef struct net {
    Onnx__ModelProto model;
    Onnx__GraphProto graph, branch;
    Onnx__NodeProto node[4], inner, *nodes[4], *inner_nodes[1];
    Onnx__AttributeProto kernel, body, *kernel_list[1], *body_list[1];
    Onnx__ValueInfoProto x, *inputs[1];
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor;
    Onnx__TensorShapeProto shape;
    Onnx__TensorShapeProto__Dimension dim[4], *dims[4];
    Onnx__TensorProto weight, *weights[1];
    int64_t weight_dims[4], kernel_ints[2];
    char *in[4][2], *out[4][1], *captured[1];
} net;

static void fill_node(net *n, int i, const char *type, const char *name, const char *a, const char *b,
                      const char *out)
{
    onnx__node_proto__init(&n->node[i]);
    n->node[i].op_type = (char *)type;
    n->node[i].name = (char *)name;
    n->in[i][0] = (char *)a;
    n->in[i][1] = (char *)b;
    n->out[i][0] = (char *)out;
    n->node[i].input = n->in[i];
    n->node[i].n_input = b ? 2 : a ? 1 : 0;
    n->node[i].output = n->out[i];
    n->node[i].n_output = 1;
    n->nodes[i] = &n->node[i];
}

static void fill_shapes(net *n)
{
    static const int64_t size[] = {1, 3, 8, 8}, weight[] = {4, 3, 3, 3};
    onnx__value_info_proto__init(&n->x);
    onnx__type_proto__init(&n->type);
    onnx__type_proto__tensor__init(&n->tensor);
    onnx__tensor_shape_proto__init(&n->shape);
    onnx__tensor_proto__init(&n->weight);
    for (int i = 0; i < 4; i++) {
        onnx__tensor_shape_proto__dimension__init(&n->dim[i]);
        n->dim[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        n->dim[i].dim_value = size[i];
        n->dims[i] = &n->dim[i];
        n->weight_dims[i] = weight[i];
    }
    n->shape.dim = n->dims;
    n->shape.n_dim = 4;
    n->tensor.has_elem_type = 1;
    n->tensor.elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    n->tensor.shape = &n->shape;
    n->type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    n->type.tensor_type = &n->tensor;
    n->x.name = (char *)"x";
    n->x.type = &n->type;
    n->weight.name = (char *)"w";
    n->weight.dims = n->weight_dims;
    n->weight.n_dims = 4;
    n->weight.has_data_type = 1;
    n->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

static void fill_branch(net *n)
{
    onnx__graph_proto__init(&n->branch);
    onnx__node_proto__init(&n->inner);
    onnx__attribute_proto__init(&n->body);
    n->captured[0] = (char *)"c";
    n->inner.op_type = (char *)"Identity";
    n->inner.input = n->captured;
    n->inner.n_input = 1;
    n->inner_nodes[0] = &n->inner;
    n->branch.node = n->inner_nodes;
    n->branch.n_node = 1;
    n->body.name = (char *)"then_branch";
    n->body.g = &n->branch;
    n->body_list[0] = &n->body;
    n->node[2].attribute = n->body_list;
    n->node[2].n_attribute = 1;
}

static void fill_net(net *n)
{
    memset(n, 0, sizeof *n);
    onnx__model_proto__init(&n->model);
    onnx__graph_proto__init(&n->graph);
    fill_node(n, 0, "Conv", "", "x", "w", "c");
    fill_node(n, 1, "Relu", "same", "c", NULL, "r");
    fill_node(n, 2, "If", "same", "r", NULL, "y");
    fill_node(n, 3, "Mystery", NULL, "y", "y", "z");
    n->node[3].domain = (char *)"com.example";
    onnx__attribute_proto__init(&n->kernel);
    n->kernel_ints[0] = n->kernel_ints[1] = 3;
    n->kernel.name = (char *)"kernel_shape";
    n->kernel.ints = n->kernel_ints;
    n->kernel.n_ints = 2;
    n->kernel_list[0] = &n->kernel;
    n->node[0].attribute = n->kernel_list;
    n->node[0].n_attribute = 1;
    fill_shapes(n);
    fill_branch(n);
    n->inputs[0] = &n->x;
    n->weights[0] = &n->weight;
    n->graph.node = n->nodes;
    n->graph.n_node = 4;
    n->graph.input = n->inputs;
    n->graph.n_input = 1;
    n->graph.initializer = n->weights;
    n->graph.n_initializer = 1;
    n->graph.name = (char *)"net";
    n->model.graph = &n->graph;
}

static sked_status parse_net(const net *n, sked_graph **g, sked_error *err)
{
    const packed p = pack(&n->model);
    const sked_status st = sked_graph_parse("m.onnx", (const char *)p.data, p.size, NULL, g, err);
    free(p.data);
    return st;
}

static void test_onnx_meaning(void **state)
{
    static net n;
    sked_graph *g = NULL;
    char name[40];
    (void)state;
    fill_net(&n);
    OK(parse_net(&n, &g, err));
    assert_string_equal(sked_graph_name(g), "net");
    assert_int_equal(sked_graph_op_count(g), 4);
    assert_string_equal(sked_graph_op_name(g, 0, name, sizeof name), "c");      /* its output */
    assert_string_equal(sked_graph_op_name(g, 1, name, sizeof name), "same");   /* its own */
    assert_string_equal(sked_graph_op_name(g, 2, name, sizeof name), "same_2"); /* made unique */
    assert_string_equal(sked_graph_op_type(g, 3), "com.example.Mystery");
    const double bytes = 1 * 4 * 6 * 6 * 4; /* 8 x 8 under a 3 x 3 kernel */
    assert_true(sked_graph_memory(g, 0) == bytes && sked_graph_memory(g, 1) == bytes &&
                sked_graph_memory(g, 2) == 0);
    assert_true(sked_graph_duration(g, 0) == 1 && sked_graph_duration(g, 3) == 1);
    assert_int_equal(sked_graph_edge_count(g), 4);
    check_edge(g, 0, 0, 1, 1, bytes, 0);
    check_edge(g, 1, 0, 2, 1, bytes, 0); /* captured by the branch */
    check_edge(g, 2, 1, 2, 1, bytes, 0);
    check_edge(g, 3, 2, 3, 1, 0, 0); /* read twice, one edge */
    check_round_trip(g, "native", "onnx");
    sked_graph_destroy(g);
    g = NULL;
    n.dim[0].dim_value = 1000; /* 144,000 results of 27 products: 7,776,000 FLOP at 100,000 a microsecond */
    OK(parse_net(&n, &g, err));
    assert_true(sked_graph_duration(g, 0) ==
                135); /* (768,000 + 432 + 576,000) bytes at 10,000 a microsecond */
    sked_graph_destroy(g);
}

static void test_onnx_refuses(void **state)
{
    static net n;
    sked_graph *g = NULL;
    (void)state;
    must_fail(SKED_ERR_FORMAT, "m.onnx", "", "no graph");
    must_fail(SKED_ERR_FORMAT, "m.onnx", "not a model at all", "not an ONNX model");
    fill_net(&n);
    n.in[1][0] = (char *)"nobody";
    FAILS(SKED_ERR_FORMAT, "node 1 ('same') reads the tensor 'nobody'", parse_net(&n, &g, err));
    fill_net(&n);
    n.out[1][0] = (char *)"c";
    FAILS(SKED_ERR_FORMAT, "makes the tensor 'c', which exists already", parse_net(&n, &g, err));
    fill_net(&n);
    n.in[0][0] = (char *)"z";
    FAILS(SKED_ERR_FORMAT, "cycle of distance 0", parse_net(&n, &g, err));
    fill_net(&n);
    n.node[0].name = (char *)"\xff";
    FAILS(SKED_ERR_FORMAT, "not valid UTF-8", parse_net(&n, &g, err));
    fill_net(&n);
    n.dim[1].dim_value = INT64_MAX;
    n.weight_dims[0] = -5;
    n.kernel_ints[0] = INT64_MIN;
    OK(parse_net(&n, &g, err)); /* absurd sizes are unknown sizes */
    assert_true(sked_graph_memory(g, 0) == 0);
    sked_graph_destroy(g);
}

/* Cut and damaged models: any answer but a crash. */
static void test_onnx_damage(void **state)
{
    static net n;
    (void)state;
    fill_net(&n);
    const packed p = pack(&n.model);
    FILE *f = fopen(TEMPORARY "m.onnx", "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p.data, 1, p.size, f), p.size);
    fclose(f);
    free(p.data);
    check_prefixes(TEMPORARY "m.onnx", 1, 2);
    check_noise(TEMPORARY "m.onnx", 20000);
    unlink(TEMPORARY "m.onnx");
}

/* attribute { g { node { attribute { g ... */
static void test_onnx_bombs(void **state)
{
    enum { levels = 3000 };
    uint8_t *deep = NULL;
    size_t size = 0;
    static const uint8_t tags[] = {0x3a, 0x0a, 0x2a,
                                   0x32}; /* model.graph, graph.node, node.attribute, attribute.g */
    (void)state;
    for (int i = levels; i >= 0; i--) { /* from the inside out: tag, length, what there is */
        uint8_t *outer = malloc(size + 6);
        size_t k = 0;
        outer[k++] = i == 0 ? tags[0] : tags[1 + (i - 1) % 3];
        for (size_t rest = size;; rest >>= 7) {
            outer[k++] = (uint8_t)(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
            if (rest <= 0x7f)
                break;
        }
        if (size > 0)
            memcpy(outer + k, deep, size);
        free(deep);
        deep = outer;
        size += k;
    }
    sked_graph *g = NULL;
    FAILS(SKED_ERR_FORMAT, "nested too deep", sked_graph_parse("m.onnx", (char *)deep, size, NULL, &g, err));
    free(deep);
    enum { count = 4 << 20 };
    char *many = malloc(2 * count + 6); /* four million empty nodes in eight megabytes */
    const uint32_t inner = 2 * count;
    many[0] = 0x3a;
    for (int i = 0; i < 4; i++)
        many[1 + i] = (char)((inner >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
    for (int i = 0; i < count; i++) {
        many[5 + 2 * i] = 0x0a;
        many[6 + 2 * i] = 0;
    }
    FAILS(SKED_ERR_UNSUPPORTED, "which no real model does",
          sked_graph_parse("m.onnx", many, inner + 5, NULL, &g, err));
    free(many);
    static const char twice[] = "\x3a\x02\x0a\x00\x3a\x02\x0a\x00"; /* the graph comes twice */
    FAILS(SKED_ERR_FORMAT, "comes twice", sked_graph_parse("m.onnx", twice, sizeof twice - 1, NULL, &g, err));
}

/* ------------------------------------------------------------------ choosing a format, and real files */

static void test_choice(void **state)
{
    sked_graph *g = NULL;
    sked_read_options wrong = {.size = sizeof wrong, .format = "graphml"},
                      unknown = {.size = sizeof unknown, .format = "natve"};
    (void)state;
    must_fail(SKED_ERR_FORMAT, "g.onnx", two_ops, "not an ONNX model");
    FAILS(SKED_ERR_FORMAT, "g.json:1", sked_graph_parse("g.json", two_ops, strlen(two_ops), &wrong, &g, err));
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'native'?",
          sked_graph_parse("g.json", two_ops, strlen(two_ops), &unknown, &g, err));
    g = must_read(DATA "json_small.json", NULL);
    OK(sked_graph_write(g, TEMPORARY "g.json", NULL, err));
    sked_graph *again = must_read(TEMPORARY "g.json", NULL);
    assert_true(sked_graph_equal(g, again));
    unlink(TEMPORARY "g.json");
    sked_graph_destroy(g);
    sked_graph_destroy(again);
}

typedef struct tally {
    int files;
    const char *extension;
} tally;

static void convert_both_ways(const char *path, tally *t)
{
    const size_t n = strlen(path), e = strlen(t->extension);
    sked_graph *g = NULL;
    sked_error error = {0};
    if (n < e || strcmp(path + n - e, t->extension) != 0)
        return;
    const sked_status st = sked_graph_read(path, NULL, &g, &error);
    if (strstr(path, "human-experts") != NULL) {
        assert_int_equal(st, SKED_ERR_UNSUPPORTED);
        return;
    }
    if (st != SKED_OK)
        fail_msg("%s", error.message);
    if (sked_graph_op_count(g) == 0)
        fail_msg("%s: no ops", path);
    check_round_trip(g, "native", path);
    check_round_trip(g, "graphml", path);
    sked_graph_destroy(g);
    t->files++;
}

static void walk_folder(const char *path, tally *t, int depth)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder)) != NULL;) {
        char inner[1400];
        struct stat info;
        snprintf(inner, sizeof inner, "%s/%s", path, d->d_name);
        if (d->d_name[0] == '.' || stat(inner, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode) && depth < 4)
            walk_folder(inner, t, depth + 1);
        else
            convert_both_ways(inner, t);
    }
    closedir(folder);
}

static void test_real_files(void **state)
{
    static const struct {
        const char *folder, *extension;
        int least;
    } sets[] = {
        {"tpch", ".json", 15},      {"compgraphs_moccasin", ".json", 9}, {"dnn_partitioning", ".json", 12},
        {"wfcommons", ".json", 10}, {"modulo", ".graphml", 68},          {"onnx_light", ".onnx", 5}};
    (void)state;
    NEED_SHARED_DATA();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char path[700];
        tally t = {.extension = sets[i].extension};
        snprintf(path, sizeof path, "%s/%s", shared_data(), sets[i].folder);
        walk_folder(path, &t, 0);
        if (t.files < sets[i].least)
            fail_msg("%s: only %d files", sets[i].folder, t.files);
    }
}

/* The networks were published with weights as ConstantOfShape: every shape follows from the inputs. */
static void test_real_onnx_shapes(void **state)
{
    static const char *const names[] = {"bvlc_alexnet", "inception_v1", "resnet50", "shufflenet",
                                        "squeezenet"};
    (void)state;
    NEED_SHARED_DATA();
    for (int i = 0; i < 5; i++) {
        char path[700];
        snprintf(path, sizeof path, "%s/onnx_light/light_%s.onnx", shared_data(), names[i]);
        sked_graph *g = must_read(path, NULL);
        for (int32_t op = 0; op < sked_graph_op_count(g); op++)
            if (!(sked_graph_memory(g, op) > 0))
                fail_msg("%s: op %d has no known size", names[i], (int)op);
        if (i == 2)
            assert_true(sked_graph_memory(g, sked_graph_op_count(g) - 1) == 4 * 1000); /* 1000 classes */
        sked_graph_destroy(g);
    }
}

/* What the reference table of the modulo set says about sizes. */
static void test_real_modulo_sizes(void **state)
{
    char path[1400], line[500], graph[300], model[300];
    int ops, edges, checked = 0;
    (void)state;
    NEED_SHARED_DATA();
    snprintf(path, sizeof path, "%s/modulo/ref_II.csv", shared_data());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "%299[^,],%299[^,],%d,%d", graph, model, &ops, &edges) != 4)
            continue;
        snprintf(path, sizeof path, "%s/modulo/%s", shared_data(), graph);
        sked_graph *g = must_read(path, NULL);
        assert_int_equal(sked_graph_op_count(g), ops);
        assert_int_equal(sked_graph_edge_count(g), edges);
        sked_graph_destroy(g);
        checked++;
    }
    fclose(f);
    assert_true(checked >= 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_against_jansson),
        cmocka_unit_test(test_json_agrees_on_noise),
        cmocka_unit_test(test_json_depth),
        cmocka_unit_test(test_json_text_of_strings),
        cmocka_unit_test(test_native_meaning),
        cmocka_unit_test(test_native_without_names),
        cmocka_unit_test(test_native_refuses),
        cmocka_unit_test(test_durations_elsewhere),
        cmocka_unit_test(test_graphml_write_refuses),
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_schedule_round_trip),
        cmocka_unit_test(test_schedule_accepts),
        cmocka_unit_test(test_schedule_refuses),
        cmocka_unit_test(test_fix),
        cmocka_unit_test(test_library_meaning),
        cmocka_unit_test(test_library_of_units),
        cmocka_unit_test(test_library_refuses),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_trace_as_profile),
        cmocka_unit_test(test_trace_of_fused_nodes),
        cmocka_unit_test(test_trace_refused),
        cmocka_unit_test(test_node_link),
        cmocka_unit_test(test_node_link_refuses),
        cmocka_unit_test(test_dnn_partitioning),
        cmocka_unit_test(test_wfformat),
        cmocka_unit_test(test_machines_inside),
        cmocka_unit_test(test_wfformat_refuses),
        cmocka_unit_test(test_graphml_plain),
        cmocka_unit_test(test_graphml_with_model),
        cmocka_unit_test(test_resource_model_refuses),
        cmocka_unit_test(test_graphml_refuses),
        cmocka_unit_test(test_graphml_depth),
        cmocka_unit_test(test_graphml_odd_names),
        cmocka_unit_test(test_onnx_meaning),
        cmocka_unit_test(test_onnx_refuses),
        cmocka_unit_test(test_onnx_damage),
        cmocka_unit_test(test_onnx_bombs),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_real_files),
        cmocka_unit_test(test_real_onnx_shapes),
        cmocka_unit_test(test_real_modulo_sizes),
    };
    return cmocka_run_group_tests_name("formats: JSON, XML, ONNX", tests, NULL, NULL);
}
