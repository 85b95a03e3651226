/*
 * Models read and written back: what a TFLite model means, that a model in another order is the same model,
 * that its plan of addresses is one, and what is refused. Files are looked into by code of this test alone.
 */
#include "test.h"

#include "base/file.h"
#include "base/rng.h"
#include "graph/graph.h"

#include <math.h>
#include <unistd.h>

#define SEEDS    SKED_SOURCE_DIR "/fuzz/seeds/tflite/"
#define EXAMPLES SKED_SOURCE_DIR "/examples/"

/* ------------------------------------------------------------------ graphs and schedules */

static sked_graph *read_graph(const char *path)
{
    sked_graph *g = NULL;
    OK(sked_graph_read(path, NULL, &g, err));
    return g;
}

static int32_t find(const sked_graph *g, const char *name)
{
    const int32_t i = sked_i_names_find(&g->op_names, name, strlen(name));
    if (i < 0)
        fail_msg("no op is called %s", name);
    return i;
}

/* Bytes of the edge; -1: there is none, -2: it only orders. */
static double bytes_between(const sked_graph *g, const char *from, const char *to)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_from[e] == find(g, from) && g->edge_to[e] == find(g, to))
            return sked_i_passes(g, e) ? g->edge_bytes[e] : -2;
    return -1;
}

/* A random topological order on one device. */
static sked_schedule *random_schedule(const sked_graph *g, sked_i_rng *rng)
{
    sked_schedule *s = NULL;
    int32_t *left = calloc((size_t)g->n_ops + 1, sizeof *left),
            *ready = calloc((size_t)g->n_ops + 1, sizeof *ready);
    int32_t count = 0;
    double now = 0;
    OK(sked_schedule_create(g->n_ops, 1, &s, err));
    for (int32_t i = 0; i < g->n_ops; i++) {
        left[i] = (int32_t)(g->pred_ptr[i + 1] - g->pred_ptr[i]);
        if (left[i] == 0)
            ready[count++] = i;
    }
    while (count > 0) {
        const int32_t k = (int32_t)sked_i_rng_below(rng, (uint64_t)count), op = ready[k];
        ready[k] = ready[--count];
        s->start[op] = now;
        s->device[op] = 0;
        now += g->duration[op];
        for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
            if (--left[g->edge_to[e]] == 0)
                ready[count++] = g->edge_to[e];
    }
    free(left);
    free(ready);
    return s;
}

static void data_of(const sked_graph *g, const sked_schedule *s, const char *source, sked_problem *p,
                    sked_report_data *data)
{
    sked_problem_init(p, g);
    p->devices = 1;
    sked_report_data_init(data);
    data->problem = p;
    data->schedule = s;
    data->source = source;
}

/* ------------------------------------------------------------------ FlatBuffers, trusted */

typedef struct bytes {
    char *text;
    int64_t size;
} bytes;

static bytes slurp(const char *path)
{
    bytes b;
    OK(sked_i_file_read(path, 1 << 30, &b.text, &b.size, err));
    return b;
}

static int64_t number(const bytes *b, int64_t at, int width)
{
    uint64_t x = 0;
    assert_in_range(at, 0, b->size - width);
    for (int k = 0; k < width; k++)
        x |= (uint64_t)(uint8_t)b->text[at + k] << 8 * k;
    return (int64_t)x;
}

static int64_t follow(const bytes *b, int64_t at)
{
    assert_int_equal(at % 4, 0);
    assert_true(number(b, at, 4) > 0);
    return at + number(b, at, 4);
}

/* Where a field stands; 0: absent. */
static int64_t field(const bytes *b, int64_t table, int k)
{
    const int64_t list = table - (int32_t)number(b, table, 4);
    return 4 + 2 * k < number(b, list, 2) && number(b, list + 4 + 2 * k, 2)
               ? table + number(b, list + 4 + 2 * k, 2)
               : 0;
}

/* Where the length of a list stands that a field points to; 0: absent. */
static int64_t list(const bytes *b, int64_t table, int k)
{
    return field(b, table, k) ? follow(b, field(b, table, k)) : 0;
}

static int64_t count_of(const bytes *b, int64_t at)
{
    return at ? number(b, at, 4) : 0;
}

static int64_t child(const bytes *b, int64_t at, int64_t i)
{
    return follow(b, at + 4 + 4 * i);
}

static int64_t model_of(const bytes *b)
{
    assert_memory_equal(b->text + 4, "TFL3", 4);
    return follow(b, 0);
}

static int64_t subgraph_of(const bytes *b)
{
    return child(b, list(b, model_of(b), 2), 0);
}

/* ------------------------------------------------------------------ the same model */

/* Nothing but the elements of the list of operators differs behind the new front; returns how long that is.
 */
static int64_t check_content(const bytes *before, const bytes *after, const sked_i_keyed *order, int64_t ops)
{
    const int64_t shift = after->size - before->size;
    const int64_t slots = list(before, subgraph_of(before), 3) + 4;
    assert_int_equal(shift % 16, 0);
    for (int64_t at = 0; at < before->size; at++)
        if ((at < slots || at >= slots + 4 * ops) && before->text[at] != after->text[at + shift])
            fail_msg("byte %lld differs", (long long)at);
    for (int64_t k = 0; k < ops; k++)
        assert_int_equal(child(after, list(after, subgraph_of(after), 3), k),
                         shift + child(before, slots - 4, order[k].value));
    assert_int_equal(subgraph_of(after), subgraph_of(before) + shift);
    return shift;
}

static bool is_plan(const bytes *b, int64_t entry)
{
    static const char name[] = "OfflineMemoryAllocation";
    const int64_t at = list(b, entry, 0);
    return count_of(b, at) == (int64_t)strlen(name) && memcmp(b->text + at + 4, name, strlen(name)) == 0;
}

/* The root is as before, but for one buffer more and one plan. Returns where the plan's numbers are. */
static int64_t check_root(const bytes *before, const bytes *after, int64_t shift)
{
    const int64_t old = model_of(before), new = model_of(after);
    for (int k = 1; k < 10; k++)
        if (k != 4 && k != 6)
            assert_int_equal(list(after, new, k), list(before, old, k) ? list(before, old, k) + shift : 0);
    assert_int_equal(number(after, field(after, new, 0), 4), number(before, field(before, old, 0), 4));
    const int64_t buffers = count_of(before, list(before, old, 4));
    assert_int_equal(count_of(after, list(after, new, 4)), buffers + 1);
    for (int64_t k = 0; k < buffers; k++)
        assert_int_equal(child(after, list(after, new, 4), k),
                         child(before, list(before, old, 4), k) + shift);
    int64_t kept = 0, plan = -1;
    for (int64_t k = 0; k < count_of(before, list(before, old, 6)); k++)
        if (!is_plan(before, child(before, list(before, old, 6), k)))
            assert_int_equal(child(after, list(after, new, 6), kept++),
                             child(before, list(before, old, 6), k) + shift);
    assert_int_equal(count_of(after, list(after, new, 6)), kept + 1);
    plan = child(after, list(after, new, 6), kept);
    assert_true(is_plan(after, plan));
    assert_int_equal(number(after, field(after, plan, 1), 4), buffers);
    const int64_t data = list(after, child(after, list(after, new, 4), buffers), 0);
    assert_int_equal((data + 4) % 16, 0);
    return data;
}

/* ------------------------------------------------------------------ the plan */

enum { most_tensors = 200 };

typedef struct tensor {
    int64_t size, from, to, offset; /* held in [from, to); from -1: it is not in the arena */
} tensor;

static int64_t size_of(const bytes *b, int64_t table)
{
    static const int size[] = {
        [0] = 4, [1] = 2, [2] = 4, [3] = 1, [4] = 8, [6] = 1, [7] = 2, [9] = 1, [10] = 8, [12] = 8, [15] = 4};
    const int64_t shape = list(b, table, 0);
    int64_t elements = 1;
    for (int64_t k = 0; k < count_of(b, shape); k++)
        elements *= number(b, shape + 4 + 4 * k, 4);
    const int64_t type = field(b, table, 1) ? number(b, field(b, table, 1), 1) : 0;
    assert_true(type < (int64_t)(sizeof size / sizeof *size));
    return elements * size[type];
}

static bool is_constant(const bytes *b, int64_t table)
{
    const int64_t buffer = field(b, table, 2) ? number(b, field(b, table, 2), 4) : 0;
    return buffer > 0 && count_of(b, list(b, child(b, list(b, model_of(b), 4), buffer), 0)) > 0;
}

/* from -1: it is read, which begins no life. */
static void use(const bytes *b, tensor *t, int64_t indices, int64_t from, int64_t to)
{
    for (int64_t k = 0; k < count_of(b, indices); k++) {
        const int32_t i = (int32_t)number(b, indices + 4 + 4 * k, 4);
        if (i < 0 || t[i].size < 0)
            continue;
        t[i].from = t[i].from < 0 ? from : t[i].from;
        t[i].to = to > t[i].to ? to : t[i].to;
    }
}

/* Lifetimes as the file itself says them, operator by operator: none overlaps another in time and address. */
static double check_plan(const bytes *b, int64_t data)
{
    tensor t[most_tensors];
    const int64_t graph = subgraph_of(b), tensors = list(b, graph, 0), n = count_of(b, tensors);
    const int64_t operators = list(b, graph, 3), ops = count_of(b, operators);
    double height = 0;
    assert_in_range(n, 1, most_tensors);
    assert_int_equal(number(b, data, 4), 4 * (n + 3));
    assert_int_equal(number(b, data + 4, 4), 1);
    assert_int_equal(number(b, data + 8, 4), 1);
    assert_int_equal(number(b, data + 12, 4), n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t table = child(b, tensors, i);
        const bool variable = field(b, table, 5) && number(b, field(b, table, 5), 1);
        t[i] = (tensor){size_of(b, table), -1, 0, (int32_t)number(b, data + 16 + 4 * i, 4)};
        if (variable || is_constant(b, table))
            t[i].size = -1;
    }
    use(b, t, list(b, graph, 1), 0, 1);
    for (int64_t k = 0; k < ops; k++) {
        use(b, t, list(b, child(b, operators, k), 1), -1, k + 2);
        use(b, t, list(b, child(b, operators, k), 2), k + 1, k + 2);
    }
    use(b, t, list(b, graph, 2), ops + 1, ops + 2);
    for (int64_t i = 0; i < n; i++) {
        assert_true((t[i].offset >= 0) == (t[i].from >= 0 && t[i].size > 0));
        assert_true(t[i].offset == -1 || t[i].offset % 16 == 0);
        for (int64_t k = 0; k < i && t[i].offset >= 0; k++)
            if (t[k].offset >= 0 && t[i].from < t[k].to && t[k].from < t[i].to &&
                t[i].offset < t[k].offset + t[k].size && t[k].offset < t[i].offset + t[i].size)
                fail_msg("tensors %lld and %lld overlap", (long long)i, (long long)k);
        if (t[i].offset >= 0)
            height = fmax(height, (double)(t[i].offset + (t[i].size + 15) / 16 * 16));
    }
    return height;
}

/* ------------------------------------------------------------------ tests */

static void sort_by_start(const sked_graph *g, const sked_schedule *s, sked_i_keyed *order)
{
    sked_i_keyed *spare = calloc((size_t)g->n_ops + 1, sizeof *spare);
    for (int32_t i = 0; i < g->n_ops; i++)
        order[i] =
            (sked_i_keyed){.key = (uint64_t)s->start[i], .value = i}; /* whole numbers, all different */
    sked_i_sort_keyed(order, spare, g->n_ops);
    free(spare);
}

/* Writes the model in `rounds` random orders and looks at each. */
static void check_tflite(const char *path, int rounds)
{
    char out[200];
    sked_i_rng rng;
    sked_graph *g = read_graph(path);
    const bytes before = slurp(path);
    sked_i_keyed *order = calloc((size_t)g->n_ops + 1, sizeof *order);
    sked_i_rng_seed(&rng, 7, 0);
    snprintf(out, sizeof out, "written_%d.tflite", (int)getpid());
    for (int k = 0; k < rounds; k++) {
        sked_problem p;
        sked_report_data data;
        double arena[2] = {NAN, NAN};
        sked_schedule *s = random_schedule(g, &rng);
        data_of(g, s, path, &p, &data);
        data.arena = arena;
        OK(sked_report_write(&data, out, NULL, err));
        const bytes after = slurp(out);
        sort_by_start(g, s, order);
        const int64_t shift = check_content(&before, &after, order, g->n_ops);
        const double height = check_plan(&after, check_root(&before, &after, shift));
        assert_true(height == arena[0] && arena[1] >= 0);
        sked_graph *again = read_graph(out);
        for (int32_t i = 0; i < g->n_ops; i++)
            assert_true(again->memory[i] == g->memory[order[i].value]);
        sked_graph_destroy(again);
        sked_schedule_destroy(s);
        free(after.text);
    }
    remove(out);
    free(order);
    free(before.text);
    sked_graph_destroy(g);
}

static void test_tflite_written(void **state)
{
    (void)state;
    check_tflite(EXAMPLES "branches.tflite", CASES(40));
    check_tflite(SEEDS "two.tflite", 2);
    check_tflite(SEEDS "state.tflite", CASES(20));
    check_tflite(SEEDS "metadata.tflite", 1);
    check_tflite(SEEDS "unnamed.tflite", 1);
}

static void test_networks(void **state)
{
    static const struct {
        const char *name;
        int ops, edges;
    } networks[] = {{"audio_preprocessor_int8", 22, 24},
                    {"dtln_noise_suppression", 4, 3},
                    {"keyword_scrambled_8bit", 15, 18},
                    {"person_detect", 31, 30},
                    {"trained_lstm_int8", 4, 3}};
    char path[800];
    (void)state;
    NEED_SHARED_DATA();
    for (size_t k = 0; k < sizeof networks / sizeof *networks; k++) {
        snprintf(path, sizeof path, "%s/tflite/%s.tflite", shared_data(), networks[k].name);
        sked_graph *g = read_graph(path);
        assert_int_equal(g->n_ops, networks[k].ops);
        assert_int_equal(g->n_edges, networks[k].edges);
        sked_graph_destroy(g);
        check_tflite(path, 1);
    }
}

/* Names, types, sizes, what is kept, what orders only. */
static void test_meaning(void **state)
{
    char buf[100];
    (void)state;
    sked_graph *g = read_graph(SEEDS "two.tflite");
    assert_int_equal(g->n_ops, 3);
    assert_string_equal(sked_graph_op_type(g, find(g, "left")), "SPLIT");
    assert_true(g->memory[0] == 48 && g->memory[1] == 4 && g->memory[2] == 28);
    assert_true(bytes_between(g, "left", "scalar") == 24 && bytes_between(g, "left", "last") == 24);
    assert_true(bytes_between(g, "scalar", "last") == 4);
    assert_true(!sked_graph_keep(g, 0) && !sked_graph_keep(g, 1) && sked_graph_keep(g, 2));
    sked_graph_destroy(g);

    g = read_graph(SEEDS "state.tflite"); /* t1 and t4 share a variable, t3 is custom */
    assert_string_equal(sked_graph_op_type(g, find(g, "t3")), "Own32");
    assert_true(bytes_between(g, "t1", "t3") == -2 && bytes_between(g, "t3", "t4") == -2);
    assert_true(bytes_between(g, "t0", "t2") == -1 && bytes_between(g, "t1", "t4") == -1);
    assert_true(g->memory[find(g, "t1")] == 32);
    sked_graph_destroy(g);

    static const char *const names[] = {"RELU_0", "same", "same_2", "RELU_0_3", "RELU_4"};
    g = read_graph(SEEDS "unnamed.tflite");
    for (int32_t i = 0; i < 5; i++)
        assert_string_equal(sked_graph_op_name(g, i, buf, sizeof buf), names[i]);
    sked_graph_destroy(g);
}

/* Two FLOP for each weight and result on 100 GFLOP/s, bytes on 10 GB/s, the longer, in whole microseconds. */
static void test_durations(void **state)
{
    (void)state;
    sked_graph *g = read_graph(EXAMPLES "branches.tflite");
    assert_true(g->duration[find(g, "wide1")] == ceil((16384 + 49152 + 4 * 48 + 48) / 1e4));
    assert_true(g->duration[find(g, "scores")] == 1);
    sked_graph_destroy(g);
}

static void test_onnx_written(void **state)
{
    static const char path[] = EXAMPLES "inception.onnx";
    char out[200], a[100], b[100];
    sked_i_rng rng;
    (void)state;
    sked_graph *g = read_graph(path);
    const bytes before = slurp(path);
    sked_i_rng_seed(&rng, 7, 1);
    snprintf(out, sizeof out, "written_%d.onnx", (int)getpid());
    for (int k = 0; k < CASES(20); k++) {
        int64_t histogram[256] = {0};
        sked_problem p;
        sked_report_data data;
        sked_schedule *s = random_schedule(g, &rng);
        sked_i_keyed *order = calloc((size_t)g->n_ops, sizeof *order);
        data_of(g, s, path, &p, &data);
        OK(sked_report_write(&data, out, NULL, err));
        const bytes after = slurp(out);
        assert_int_equal(before.size, after.size);
        for (int64_t i = 0; i < before.size; i++) {
            histogram[(uint8_t)before.text[i]]++;
            histogram[(uint8_t)after.text[i]]--;
        }
        for (int i = 0; i < 256; i++)
            assert_int_equal(histogram[i], 0);
        sked_graph *again = read_graph(out);
        sort_by_start(g, s, order);
        for (int32_t i = 0; i < g->n_ops; i++)
            assert_string_equal(sked_graph_op_name(again, i, a, sizeof a),
                                sked_graph_op_name(g, order[i].value, b, sizeof b));
        assert_int_equal(again->n_edges, g->n_edges);
        sked_graph_destroy(again);
        sked_schedule_destroy(s);
        free(order);
        free(after.text);
    }
    remove(out);
    free(before.text);
    sked_graph_destroy(g);
}

static void refuse(const char *path, const char *why)
{
    sked_problem p;
    sked_report_data data;
    sked_i_rng rng;
    sked_graph *g = read_graph(path);
    sked_i_rng_seed(&rng, 1, 0);
    sked_schedule *s = random_schedule(g, &rng);
    data_of(g, s, path, &p, &data);
    FAILS(SKED_ERR_UNSUPPORTED, why, sked_report_write(&data, "never.tflite", NULL, err));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_refused(void **state)
{
    sked_problem p;
    sked_report_data data;
    sked_i_rng rng;
    (void)state;
    refuse(SEEDS "ordered.tflite", "its metadata orders operators by their numbers");
    refuse(SEEDS "graphs.tflite", "it has several subgraphs");
    refuse(SEEDS "outside.tflite", "it has data behind the FlatBuffer");
    refuse(SEEDS "unknown.tflite", "fields that this version of sked does not know");

    sked_graph *g = read_graph(EXAMPLES "branches.tflite");
    sked_i_rng_seed(&rng, 1, 0);
    sked_schedule *s = random_schedule(g, &rng);
    data_of(g, s, NULL, &p, &data);
    FAILS(SKED_ERR_UNSUPPORTED, "name that file", sked_report_write(&data, "never.tflite", NULL, err));
    data.source = SEEDS "two.tflite";
    FAILS(SKED_ERR_UNSUPPORTED, "is not the one in this file",
          sked_report_write(&data, "never.tflite", NULL, err));
    data.source = EXAMPLES "fir.dot";
    FAILS(SKED_ERR_FORMAT, "not a TFLite model", sked_report_write(&data, "never.tflite", NULL, err));
    FAILS(SKED_ERR_FORMAT, "not an ONNX model", sked_report_write(&data, "never.onnx", NULL, err));
    data.source = "missing.tflite";
    FAILS(SKED_ERR_IO, "missing.tflite", sked_report_write(&data, "never.tflite", NULL, err));
    data.source = EXAMPLES "branches.tflite";
    p.devices = s->devices = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "on one device", sked_report_write(&data, "never.tflite", NULL, err));
    assert_null(fopen("never.tflite", "r"));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* A byte changed, or the end cut off: an answer, and where it is written, a plan that is one. */
static void test_hostile(void **state)
{
    static const char path[] = SEEDS "two.tflite";
    sked_i_rng rng;
    (void)state;
    const bytes whole = slurp(path);
    sked_i_rng_seed(&rng, 3, 0);
    int read = 0, written = 0;
    for (int k = 0; k < CASES(4000); k++) {
        const size_t size =
            k % 4 == 0 ? (size_t)sked_i_rng_below(&rng, (uint64_t)whole.size) : (size_t)whole.size;
        char *copy = malloc(size + 1), name[100];
        sked_graph *g = NULL;
        sked_error error = {0};
        memcpy(copy, whole.text, size);
        for (int changes = (int)sked_i_rng_below(&rng, 3); size > 0 && changes >= 0; changes--)
            copy[sked_i_rng_below(&rng, size)] = (char)sked_i_rng_below(&rng, 256);
        snprintf(name, sizeof name, "hostile_%d.tflite", (int)getpid());
        OK(sked_i_file_write(name, copy, (int64_t)size, err));
        if (sked_graph_read(name, NULL, &g, &error) == SKED_OK) {
            sked_problem p;
            sked_report_data data;
            sked_schedule *s = random_schedule(g, &rng);
            data_of(g, s, name, &p, &data);
            written += sked_report_write(&data, "hostile_out.tflite", "tflite", &error) == SKED_OK;
            read++;
            sked_schedule_destroy(s);
            sked_graph_destroy(g);
        }
        free(copy);
        remove(name);
    }
    remove("hostile_out.tflite");
    free(whole.text);
    print_message("%d mutants read, %d written\n", read, written);
    assert_true(read > CASES(4000) / 20 && written > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_tflite_written), cmocka_unit_test(test_onnx_written),
        cmocka_unit_test(test_networks),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests_name("models written back", tests, NULL, NULL);
}
