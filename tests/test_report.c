/*
 * Reports: what they say is what the schedule says, files are well-formed, sizes stay bounded.
 * `test_report --samples DIR` writes every report of every sample there, for the browser test.
 */
#include "report_samples.h"

#include "base/file.h"
#include "report/axis.h"
#include "report/label.h"
#include "report/page.h"
#include "report/palette.h"
#include "report/profiles.h"

#include <jansson.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <unistd.h>

/* ------------------------------------------------------------------ helpers */

static char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*size + 1);
    assert_int_equal(fread(text, 1, *size, f), *size);
    text[*size] = 0;
    fclose(f);
    return text;
}

/* Can this report show the sample? A scatter picture shows a comparison, a curve and a machine a loop,
 * progress value over time. */
static bool suits(const sample *s, int report)
{
    const sked_robust_result *r = s->data.robust;
    const char *name = sked_report_at(report)->name;
    if (strcmp(name, "scatter") == 0)
        return r != NULL;
    if (strcmp(name, "curve") == 0 || strcmp(name, "machine") == 0)
        return r != NULL && r->measurements > 0;
    if (strcmp(name, "progress") == 0)
        return s->data.n_curve > 0;
    if (strcmp(name, "ssp") == 0)
        return s->problem.clock > 0;
    if (strcmp(name, "verilog") == 0)
        return s->schedule->ii == 1;
    if (strcmp(name, "onnx") == 0 || strcmp(name, "tflite") == 0)
        return s->data.source != NULL;
    return true;
}

/* Writes one report to a temporary file and reads it back. Free the text. */
static char *report_text(const sample *s, const char *extension, size_t *size)
{
    char path[256];
    snprintf(path, sizeof path, "report_test_%d%s", (int)getpid(), extension);
    OK(sked_report_write(&s->data, path, NULL, err));
    char *text = slurp(path, size);
    remove(path);
    return text;
}

/* A plain loop: strstr under a sanitizer measures the whole text at every call. */
static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *s = text; *s; s++) {
        size_t k = 0;
        while (part[k] && s[k] == part[k])
            k++;
        n += part[k] == 0;
    }
    return n;
}

static json_t *parse_json(const char *text, size_t size)
{
    json_error_t error;
    json_t *root = json_loadb(text, size, 0, &error);
    if (root == NULL)
        fail_msg("not JSON: %s at byte %d", error.text, error.position);
    return root;
}

static sked_i_view view_of(const sample *s)
{
    sked_i_view v;
    OK(sked_i_view_init(&v, &s->data, err));
    return v;
}

/* ------------------------------------------------------------------ labels */

static int ticks_of(double from, double to, int most, sked_i_tick *tick)
{
    const sked_i_axis a = {.from = from, .to = to, .high = 100};
    return sked_i_axis_ticks(&a, most, tick);
}

static void test_ticks(void **state)
{
    (void)state;
    sked_i_tick t[SKED_I_MOST_TICKS];
    assert_int_equal(ticks_of(0, 100, 10, t), 11);
    assert_string_equal(t[7].label, "70");
    assert_int_equal(ticks_of(0, 0.7, 8, t), 8);
    assert_string_equal(t[3].label, "0.3"); /* 3 * 0.1 is not 0.3 in binary */
    assert_int_equal(ticks_of(-3e9, 3e9, 6, t), 7);
    assert_string_equal(t[0].label, "-3e9");
    assert_string_equal(t[3].label, "0");
    assert_int_equal(ticks_of(1.1e-9, 1.4e-9, 4, t), 4);
    assert_string_equal(t[1].label, "1.2e-9");
    for (double span = 1e-12; span < 1e15; span *= 3.7) {
        const int n = ticks_of(0, span, 12, t);
        assert_true(n <= 13 && n > 12 / 2.6);
    }
    const sked_i_axis whole = {.to = 3, .high = 100, .whole = true};
    assert_int_equal(sked_i_axis_ticks(&whole, 17, t), 4);
}

/* Ticks of an axis that has settled: in order, finite, and no more than asked for. */
static void check_axis(double from, double to, bool logarithmic, double room)
{
    sked_i_axis a = sked_i_axis_empty;
    a.logarithmic = logarithmic;
    sked_i_axis_add(&a, from);
    sked_i_axis_add(&a, to);
    sked_i_axis_settle(&a, room);
    a.high = 600;
    assert_true(isfinite(a.from) && isfinite(a.to) && a.from < a.to && (!logarithmic || a.from > 0));
    for (int most = 2; most <= 12; most += 2) {
        sked_i_tick t[SKED_I_MOST_TICKS];
        const int n = sked_i_axis_ticks(&a, most, t);
        assert_true(n >= 0 && n <= (logarithmic ? 12 : most + 2));
        for (int i = 0; i < n; i++) {
            assert_true(t[i].at >= 0 && t[i].at <= 600 && (i == 0 || t[i].at > t[i - 1].at));
            assert_true(i == 0 || strcmp(t[i].label, t[i - 1].label) != 0);
            assert_null(strstr(t[i].label, "n")); /* nan, inf */
        }
        assert_true(most < 6 || n > 0);
    }
    const double values[] = {from, to, 0, 1, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(sked_i_axis_at(&a, values[i]) >= 0 && sked_i_axis_at(&a, values[i]) <= 600);
    if (!logarithmic && to - from > 0.1 * fabs(to) && to - from > 1e-290)
        assert_true(sked_i_axis_at(&a, from) < sked_i_axis_at(&a, to));
}

static void axes_are_finite_whatever_they_show(void **state)
{
    (void)state;
    static const double x[] = {0,     5e-324,  1e-320,     2.3e-308, 1e-100,     0.1,    1,
                               1000,  9e15,    0x1p53 - 1, 0x1p53,   0x1p53 + 2, 4.5e16, 1e100,
                               1e300, 1.7e308, -1,         -1e-320,  -1.7e308,   -0x1p53};
    enum { N = sizeof x / sizeof *x };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            if (x[i] <= x[k]) {
                check_axis(x[i], x[k], false, 0);
                check_axis(x[i], x[k], false, 0.06);
                if (x[i] > 0)
                    check_axis(x[i], x[k], true, 0.06);
            }
    check_axis(NAN, INFINITY, false, 0.06);
    check_axis(NAN, NAN, true, 0);
}

static void test_number_labels(void **state)
{
    (void)state;
    char text[40];
    assert_string_equal(sked_i_label_number(1234567890123.0, text, sizeof text), "1234567890123");
    assert_string_equal(sked_i_label_number(1.0 / 3, text, sizeof text), "0.333333");
    assert_string_equal(sked_i_label_number(27434712.25, text, sizeof text), "27434712");
    assert_string_equal(sked_i_label_number(NAN, text, sizeof text), "-");
    assert_string_equal(sked_i_label_percent(0.12345, text, sizeof text), "12.35 %");
    assert_string_equal(sked_i_label_percent(0, text, sizeof text), "0 %");
    sked_i_buffer b = {0};
    sked_i_label_draw(&b, "M~ ~h~", 12.5, -0.126, 3.0);
    assert_string_equal(b.data, "M12.5 -0.13h3");
    sked_i_buffer_free(&b);
}

static void test_name_labels(void **state)
{
    (void)state;
    char text[40], tiny[8];
    assert_string_equal(sked_i_label_cut("short", 10, text, sizeof text), "short");
    assert_string_equal(sked_i_label_cut("abcdefghij", 5, text, sizeof text), "abcd\xe2\x80\xa6");
    assert_string_equal(sked_i_label_cut("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3, text, sizeof text),
                        "\xc3\xa9\xc3\xa9\xe2\x80\xa6");
    assert_string_equal(sked_i_label_cut("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 99, tiny, sizeof tiny),
                        "\xc3\xa9\xc3\xa9\xe2\x80\xa6");
    assert_true(sked_i_label_width("WWW", 10) > 2 * sked_i_label_width("iii", 10));
    const char *name = "model/layer/conv";
    assert_ptr_equal(sked_i_label_fit(name, 11, 1000), name);
    assert_string_equal(sked_i_label_fit(name, 11, 40), "conv");
    assert_null(sked_i_label_fit(name, 11, 10));
}

/* ------------------------------------------------------------------ the view */

static double folded_overlap(double a0, double a1, double b0, double b1, double ii)
{
    double sum = 0;
    for (int k = -60; k <= 60; k++)
        sum += fmax(0, fmin(a1, b1 + k * ii) - fmax(a0, b0 + k * ii));
    return sum;
}

/* No two bars share a row at the same time, in any iteration. */
static void check_rows(const sked_i_view *v)
{
    const double ii = v->schedule->ii, slop = 2 * v->tolerance;
    for (int64_t i = 1; i < v->n_bars; i++) {
        const sked_i_bar *a = &v->bar[i - 1], *b = &v->bar[i];
        assert_true(a->row < b->row || (a->row == b->row && b->start >= a->finish - slop));
    }
    for (int64_t i = 0; ii > 0 && !v->in_cycles && i < v->n_bars; i++)
        for (int64_t j = i + 1; j < v->n_bars && v->bar[j].row == v->bar[i].row; j++)
            assert_true(folded_overlap(v->bar[i].start, v->bar[i].finish, v->bar[j].start, v->bar[j].finish,
                                       ii) <= slop);
    for (int32_t op = 0; op < v->graph->n_ops; op++)
        assert_int_equal(v->bar[v->op_bar[op]].op, op);
    for (int32_t k = 0, row = 0; k < v->n_groups; row += v->group[k++].n_rows)
        assert_int_equal(v->group[k].first_row, row);
}

/* Every op can start slack later together with all others, and edges and rows still hold. */
static void check_slack(const sked_i_view *v)
{
    const sked_graph *g = v->graph;
    const double slop = 4 * v->tolerance;
    for (int32_t i = 0; i < g->n_ops; i++) {
        assert_true(v->slack[i] >= 0);
        assert_true(sked_i_view_finish(v, i) + v->slack[i] <= v->makespan + slop);
    }
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        const int32_t *device = v->schedule->device;
        const double extra = device ? sked_problem_transfer(v->problem, e, device[from], device[to]) : 0;
        if (g->edge_distance[e] == 0)
            assert_true(v->schedule->start[to] + v->slack[to] >=
                        v->schedule->start[from] + v->slack[from] + g->edge_lag[e] + extra - slop);
    }
    for (int64_t b = 1; v->schedule->devices > 0 && b < v->n_bars; b++)
        if (v->bar[b].row == v->bar[b - 1].row)
            assert_true(v->bar[b].start + v->slack[v->bar[b].op] >=
                        v->bar[b - 1].finish + v->slack[v->bar[b - 1].op] - slop);
}

/* The chain ends with the last op, is tight throughout, and nothing on it has slack. */
static void check_chain(const sked_i_view *v)
{
    if (v->graph->n_ops == 0) {
        assert_int_equal(v->n_chain, 0);
        return;
    }
    assert_true(sked_i_view_finish(v, v->chain[v->n_chain - 1].op) == v->makespan);
    for (int32_t k = 0; k < v->n_chain; k++) {
        const sked_i_chain_op *c = &v->chain[k];
        assert_true(v->critical[c->op]);
        assert_true((c->link == SKED_I_LINK_NONE) == (k == 0));
        if (k == 0)
            continue;
        const int32_t before = v->chain[k - 1].op;
        if (c->link == SKED_I_LINK_EDGE) {
            assert_int_equal(v->graph->edge_from[c->edge], before);
            assert_int_equal(v->graph->edge_to[c->edge], c->op);
        } else {
            assert_true(fabs(sked_i_view_finish(v, before) - v->schedule->start[c->op]) <= v->tolerance);
        }
        if (c->link == SKED_I_LINK_DEVICE)
            assert_int_equal(v->schedule->device[before], v->schedule->device[c->op]);
        if (v->schedule->devices > 0)
            assert_true(v->slack[c->op] <= v->tolerance);
    }
}

static void test_views(void **state)
{
    (void)state;
    for (int k = 0; k < n_small_kinds; k++) {
        sample s = {0};
        sample_kinds[k].make(&s);
        sked_i_view v = view_of(&s);
        check_rows(&v);
        check_slack(&v);
        check_chain(&v);
        sked_i_view_free(&v);
        sample_free(&s);
    }
}

/* Worked out by hand from the small network's picture. */
static void test_slack_by_hand(void **state)
{
    (void)state;
    sample s = {0};
    sample_small(&s);
    sked_i_view v = view_of(&s);
    static const char *const chain[] = {"input", "conv1",   "relu1", "conv2a",
                                        "pool",  "project", "add",   "softmax"};
    assert_int_equal(v.n_chain, 8);
    for (int k = 0; k < 8; k++)
        assert_int_equal(v.chain[k].op, sked_graph_find_op(s.graph, chain[k]));
    assert_int_equal(v.chain[4].link, SKED_I_LINK_DEVICE); /* pool waits for conv2a on its device */
    assert_true(v.slack[sked_graph_find_op(s.graph, "concat")] == 2.5);
    assert_true(v.slack[sked_graph_find_op(s.graph, "conv2b")] == 4);
    sked_i_view_free(&v);
    sample_free(&s);
}

/* Rows needed are the most ops at once; a pool's unused units stay visible. */
static void test_packing_is_tight(void **state)
{
    (void)state;
    sample s = {0};
    sample_resources(&s);
    sked_i_view v = view_of(&s);
    sked_i_curves curves;
    OK(sked_i_curves_init(&curves, &v, err));
    assert_int_equal(v.n_groups, 4);
    assert_int_equal(v.group[0].n_rows, 2);
    assert_int_equal(v.group[1].n_rows, 2);
    assert_int_equal(v.group[3].resource, SKED_I_FREE_ROWS);
    assert_string_equal(curves.curve[0].name, "multiplier");
    assert_true(curves.curve[0].profile.peak == 2);
    sked_i_curves_free(&curves);
    sked_i_view_free(&v);
    sample_free(&s);
    sample_free_ops(&s, 70, 7);
    v = view_of(&s);
    assert_int_equal(v.n_rows, 7);
    sked_i_view_free(&v);
    sample_free(&s);
}

/* Two billion devices, three of them used: rows for those three. */
static void test_very_many_devices(void **state)
{
    (void)state;
    sample s = {0};
    sample_small(&s);
    s.problem.devices = s.schedule->devices = 2000000000;
    for (int i = 0; i < 10; i++)
        s.schedule->device[i] = 7;
    s.schedule->device[3] = 1999999999;
    s.schedule->device[4] = 0;
    sked_i_view v = view_of(&s);
    char name[64];
    assert_int_equal(v.n_rows, 3);
    assert_string_equal(sked_i_view_row_name(&v, 2, name, sizeof name), "device 1999999999");
    assert_int_equal(v.bar[v.op_bar[3]].row, 2);
    assert_int_equal(v.bar[v.op_bar[4]].row, 0);
    assert_int_equal(v.bar[v.op_bar[5]].row, 1);
    sked_i_view_free(&v);
    sample_free(&s);
}

/* The times of the devices, their names, and curves of their memory with the limits as lines. */
static void test_machine(void **state)
{
    (void)state;
    sample s = {0};
    char name[64];
    sked_i_curves curves;
    double peak[3];
    sample_machine(&s);
    sked_i_view v = view_of(&s);
    assert_int_equal(v.n_rows, 3);
    assert_string_equal(sked_i_view_row_name(&v, 2, name, sizeof name), "gpu");
    for (int32_t i = 0; i < 10; i++)
        assert_true(sked_i_view_finish(&v, i) ==
                    s.schedule->start[i] + sked_problem_duration(&s.problem, i, s.schedule->device[i]));
    OK(sked_i_curves_init(&curves, &v, err));
    OK(sked_schedule_device_memory(&s.problem, s.schedule, peak, err));
    assert_string_equal(curves.curve[1].name, "memory");
    assert_true(curves.curve[1].capacity == 1000);
    for (int32_t k = 2; k < curves.count; k++) {
        const int32_t d = sked_machine_find_device(s.machine, curves.curve[k].name + strlen("memory "));
        assert_in_range(d, 0, 2);
        assert_true(curves.curve[k].capacity == (d == 2 ? 640 : INFINITY));
        assert_true(curves.curve[k].profile.peak == peak[d] && peak[d] > 0);
        assert_true(peak[d] <= curves.curve[1].profile.peak);
    }
    assert_string_equal(curves.curve[curves.count - 1].name, "memory gpu");
    sked_i_curves_free(&curves);
    sked_i_view_free(&v);
    sample_free(&s);
}

/* Every writer names the devices, and no name becomes markup. */
static void test_device_names(void **state)
{
    (void)state;
    static const char *const extension[] = {".svg", ".html", ".trace.json", ".dot", ".json"};
    static const char *const script[] = {"&lt;/script&gt;&lt;script&gt;alert(2)", "alert(2)",
                                         "alert(2)</script>", "alert(2)</script>", "alert(2)</script>"};
    static const char *const machine[] = {"devices of workstation", "\"limit 1000\"",
                                          "\"machine\":\"workstation\"", "gpu",
                                          "\"machine\":\"workstation\""};
    for (int k = 0; k < 5; k++) {
        sample s = {0};
        size_t size;
        sample_machine(&s);
        char *text = report_text(&s, extension[k], &size);
        if (strstr(text, "gpu") == NULL || strstr(text, machine[k]) == NULL)
            fail_msg("%s does not name the machine and its devices", extension[k]);
        free(text);
        sample_free(&s);
        sample_hostile_machine(&s);
        s.schedule->device[9] = 0; /* the first and the last device run something */
        s.schedule->start[9] = 200;
        text = report_text(&s, extension[k], &size);
        assert_non_null(strstr(text, script[k]));
        assert_int_equal(count_of(text, "\x1b"), 0);
        free(text);
        sample_free(&s);
    }
}

/* Long names are cut with an ellipsis and stay inside the margin. */
static void test_long_device_names(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_hostile_machine(&s);
    char *text = report_text(&s, ".svg", &size);
    xmlDoc *doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_NONET);
    int names = 0;
    assert_non_null(doc);
    for (xmlNode *n = xmlDocGetRootElement(doc)->children; n != NULL; n = n->next) {
        xmlChar *class = xmlGetProp(n, (const xmlChar *)"class");
        if (class != NULL && strcmp((const char *)class, "m e") == 0) {
            xmlChar *x = xmlGetProp(n, (const xmlChar *)"x"), *content = xmlNodeGetContent(n);
            assert_true(sked_i_label_width((const char *)content, 12) < atof((const char *)x));
            names++;
            xmlFree(x);
            xmlFree(content);
        }
        xmlFree(class);
    }
    assert_int_equal(names, 4);
    assert_non_null(strstr(text, ">an accelerator with a"));
    assert_null(strstr(text, "margin of a picture<"));
    xmlFreeDoc(doc);
    free(text);
    sample_free(&s);
}

static void test_colors(void **state)
{
    (void)state;
    sample s = {0};
    sample_layered(&s, 1000, 40, 8);
    sked_i_view v = view_of(&s);
    int32_t sum = 0;
    char a[8], b[8];
    assert_int_equal(v.n_legend, SKED_I_COLORS);
    assert_string_equal(v.legend[SKED_I_COLORS - 1].name, "other");
    for (int k = 0; k < v.n_legend; k++) {
        sum += v.legend[k].ops;
        assert_true(k == 0 || k == SKED_I_COLORS - 1 || v.legend[k].ops <= v.legend[k - 1].ops);
    }
    assert_int_equal(sum, 1000);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(sked_i_palette_device(i, a), sked_i_palette_device(j, b));
    sked_i_view_free(&v);
    sample_free(&s);
}

/* ------------------------------------------------------------------ SVG */

static int count_elements(const xmlNode *node, const char *name)
{
    int n = 0;
    for (; node != NULL; node = node->next)
        n += (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0) +
             count_elements(node->children, name);
    return n;
}

static void test_svg_is_xml(void **state)
{
    (void)state;
    for (int k = 0; k < n_sample_kinds; k++) {
        sample s = {0};
        size_t size;
        sample_kinds[k].make(&s);
        char *text = report_text(&s, ".svg", &size);
        xmlDoc *doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_NONET);
        assert_non_null(doc);
        assert_string_equal((const char *)xmlDocGetRootElement(doc)->name, "svg");
        assert_true(size < 2000000);
        xmlFreeDoc(doc);
        free(text);
        sample_free(&s);
    }
    xmlCleanupParser();
}

static void test_svg_says(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_small(&s);
    char *text = report_text(&s, ".svg", &size);
    xmlDoc *doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_NONET);
    /* page, pattern, two rows, ten ops, seven types, the keys of chain and idle */
    assert_int_equal(count_elements(xmlDocGetRootElement(doc), "rect"), 1 + 1 + 2 + 10 + 7 + 2);
    static const char *const parts[] = {">small network<",
                                        "greedy \xc2\xb7 makespan 19 \xc2\xb7 lower bound ",
                                        " %) \xc2\xb7 2 devices",
                                        "prefers-color-scheme:dark",
                                        ">conv2a<",
                                        ">Conv (4)<",
                                        "12.5 to 13.5, device 1&#10;slack 2.5"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (strstr(text, parts[k]) == NULL)
            fail_msg("the picture does not say %s", parts[k]);
    xmlFreeDoc(doc);
    free(text);
    sample_free(&s);
}

/* 20,000 rows of one op each: rows are folded, the file stays small. */
static void test_svg_of_many_rows(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_free_ops(&s, 20000, 20000);
    char *text = report_text(&s, ".svg", &size);
    assert_true(size < 2000000);
    assert_int_equal(count_of(text, "<title>"), 1);
    free(text);
    sample_free(&s);
}

/* ------------------------------------------------------------------ trace */

typedef struct slice {
    double from, to;
    int place;
} slice;

static int by_place(const void *x, const void *y)
{
    const slice *a = x, *b = y;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}

static int phase_count(const json_t *events, const char *phase)
{
    int n = 0;
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) n +=
        strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0;
    return n;
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* Ops of one thread never overlap, to the nanosecond: viewers would nest them. */
static void check_slices(const json_t *events)
{
    size_t i;
    json_t *event;
    int n = 0;
    slice *list = malloc((json_array_size(events) + 1) * sizeof *list);
    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0)
            continue;
        const double ts = round(number_of(event, "ts") * 1000), dur = round(number_of(event, "dur") * 1000);
        assert_true(dur >= 0);
        list[n++] =
            (slice){ts, ts + dur, (int)number_of(event, "pid") * 100000 + (int)number_of(event, "tid")};
    }
    qsort(list, (size_t)n, sizeof *list, by_place);
    for (int k = 1; k < n; k++)
        assert_true(list[k].place != list[k - 1].place || list[k].from >= list[k - 1].to);
    free(list);
}

static void test_trace(void **state)
{
    (void)state;
    for (int k = 0; k < n_small_kinds; k++) {
        sample s = {0};
        size_t size;
        sample_kinds[k].make(&s);
        char *text = report_text(&s, ".trace.json", &size);
        json_t *root = parse_json(text, size), *events = json_object_get(root, "traceEvents");
        sked_i_view v = view_of(&s);
        assert_int_equal(phase_count(events, "X"), v.n_bars * (v.copies + 1));
        assert_int_equal(phase_count(events, "s"), s.graph->n_edges - s.graph->n_carried);
        assert_int_equal(phase_count(events, "f"), s.graph->n_edges - s.graph->n_carried);
        assert_int_equal(phase_count(events, "M"), v.n_groups + 1 + 2 * v.n_rows);
        assert_true(s.graph->n_ops == 0 || phase_count(events, "C") > 0);
        check_slices(events);
        sked_i_view_free(&v);
        json_decref(root);
        free(text);
        sample_free(&s);
    }
}

static void test_side_by_side(void **state)
{
    (void)state;
    static const char path[] = SKED_BINARY_DIR "/test_report_both.svg";
    sample s = {0};
    sked_schedule *wrong = NULL;
    sample_small(&s);
    sked_report_data second = s.data;
    const sked_report_data *const both[] = {&s.data, &second};
    s.data.method = "one";
    second.method = "two";
    OK(sked_report_write_all(both, 2, path, err));
    unlink(path);
    FAILS(SKED_ERR_ARGUMENT, "1 to 100", sked_report_write_all(both, 0, path, err));
    FAILS(SKED_ERR_ARGUMENT, "1 to 100", sked_report_write_all(both, 101, path, err));
    FAILS(SKED_ERR_ARGUMENT, "as .svg",
          sked_report_write_all(both, 2, SKED_BINARY_DIR "/test_report_both.html", err));
    OK(sked_schedule_create(s.schedule->ops, s.schedule->devices, &wrong, err));
    second.schedule = wrong; /* all ops at once */
    FAILS(SKED_ERR_INVALID, "", sked_report_write_all(both, 2, path, err));
    assert_int_not_equal(access(path, F_OK), 0);
    sked_schedule_destroy(wrong);
    sample_free(&s);
}

static void test_trace_times(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_small(&s);
    char *text = report_text(&s, ".trace.json", &size);
    assert_non_null(
        strstr(text, "{\"name\":\"concat\",\"ph\":\"X\",\"cat\":\"Concat\",\"ts\":12.500,\"dur\":1,"));
    assert_non_null(strstr(text, "\"args\":{\"name\":\"device 1\"}"));
    free(text);
    sample_free(&s);
    sample_instant(&s); /* an op of 0.001: milliseconds, so that it is a microsecond long */
    text = report_text(&s, ".trace.json", &size);
    assert_non_null(strstr(text, "\"ts\":0,\"dur\":1,"));
    assert_non_null(strstr(text, "\"time unit\":\"1 ms\""));
    free(text);
    sample_free(&s);
}

static void test_trace_is_bounded(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_layered(&s, 12000, 300, 8);
    char *text = report_text(&s, ".trace.json", &size);
    assert_true(count_of(text, "\"ph\":\"s\"") <= 20000);
    assert_true(count_of(text, "\"ph\":\"C\"") <= 2 * 10001);
    free(text);
    sample_free(&s);
}

/* ------------------------------------------------------------------ DOT */

static void test_dot(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_small(&s);
    char *text = report_text(&s, ".dot", &size);
    assert_int_equal(count_of(text, "fillcolor="), 10);
    assert_int_equal(count_of(text, " -> "), 11 + 1); /* the edges, and pool waiting for its device */
    assert_non_null(strstr(text, "label=\"concat\\n12.5 \xe2\x80\x93 13.5\\ndevice 1\""));
    assert_non_null(strstr(text, "\"input\" -> \"conv1\" [bytes=64] [color=\"#c2185b\", penwidth=3]"));
    sked_graph *g = NULL; /* the text is the graph's own DOT, and a picture beside */
    OK(sked_graph_parse("s.dot", text, size, NULL, &g, err));
    assert_int_equal(sked_graph_op_count(g), 10);
    assert_true(sked_graph_duration(g, 1) == 4);
    assert_string_equal(sked_graph_op_type(g, 1), "Conv");
    sked_graph_destroy(g);
    free(text);
    sample_free(&s);
    sample_hostile(&s);
    text = report_text(&s, ".dot", &size);
    assert_non_null(strstr(text, "a & b < c > d \\\" e ' f"));
    assert_non_null(strstr(text, "back\\\\slash\nnew\tline"));
    free(text);
    sample_free(&s);
    sample_layered(&s, 5000, 100, 4);
    text = report_text(&s, ".dot", &size);
    assert_int_equal(count_of(text, "fillcolor="), 2000);
    assert_non_null(strstr(text, "2000 of 5000 ops"));
    assert_true(size < 1000000);
    free(text);
    sample_free(&s);
}

/* ------------------------------------------------------------------ HTML */

/* The data block of a page's section, parsed. */
static json_t *page_data(const char *text, const char *kind)
{
    char head[100];
    snprintf(head, sizeof head, "data-kind=\"%s\">", kind);
    const char *block = strstr(text, head);
    assert_non_null(block);
    block = strchr(block, '>') + 1;
    return parse_json(block, (size_t)(strstr(block, "</script>") - block));
}

static void test_html(void **state)
{
    (void)state;
    for (int k = 0; k < n_small_kinds; k++) {
        sample s = {0};
        size_t size;
        sample_kinds[k].make(&s);
        char *text = report_text(&s, ".html", &size);
        json_t *data = page_data(text, "schedule");
        const size_t n = (size_t)s.graph->n_ops;
        assert_int_equal(json_array_size(json_object_get(data, "start")), n);
        assert_int_equal(json_array_size(json_object_get(data, "slack")), n);
        assert_int_equal(json_array_size(json_object_get(json_object_get(data, "edges"), "to")),
                         s.graph->n_edges);
        /* the data and the program: no name ends one */
        assert_int_equal(count_of(text, "</script>"),
                         s.data.robust || s.data.n_curve > 0 || s.problem.clock > 0 ? 3 : 2);
        assert_int_equal(count_of(text, "http"), 1); /* http-equiv: nothing is fetched */
        for (size_t i = 0; i < n; i++) {             /* of a pipeline: where in its cycle */
            const bool placed = s.problem.clock > 0 && s.schedule->ii == 1 && s.graph->duration[i] == 0;
            const double start = s.schedule->start[i] + (placed ? s.schedule->phase[i] / s.problem.clock : 0);
            assert_true(fabs(json_number_value(json_array_get(json_object_get(data, "start"), i)) - start) <=
                        1e-9 * (1 + start));
        }
        json_decref(data);
        free(text);
        sample_free(&s);
    }
}

static void test_html_sections(void **state)
{
    (void)state;
    sked_i_buffer out = {0};
    const sked_i_page_section sections[] = {
        {.kind = "one", .json = {.data = (char[]){"[\"</script>\"]"}, .size = 13}},
        {.kind = "two", .json = {.data = (char[]){"{}"}, .size = 2}}};
    sked_i_page_write(&out, "<title> & more", sections, 2);
    assert_false(out.failed);
    assert_non_null(strstr(out.data, "data-kind=\"one\">\n[\"\\u003c/script>\"]\n</script>"));
    assert_non_null(strstr(out.data, "data-kind=\"two\">\n{}\n"));
    assert_non_null(strstr(out.data, "<title>&lt;title&gt; &amp; more</title>"));
    assert_null(strstr(out.data, "{{"));
    sked_i_buffer_free(&out);
}

/* ------------------------------------------------------------------ comparisons */

static void test_comparison_data(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_robust(&s);
    char *text = report_text(&s, ".html", &size);
    json_t *data = page_data(text, "robust");
    const json_t *methods = json_object_get(data, "methods"), *last = json_array_get(methods, 2);
    const json_t *target = json_object_get(last, "target");
    assert_int_equal(json_array_size(methods), 3);
    assert_int_equal(json_integer_value(json_object_get(data, "winner")), 2);
    assert_int_equal(json_array_size(target), cloud);
    assert_true(json_is_null(json_array_get(target, 13)));
    assert_int_equal(json_integer_value(json_object_get(last, "failed")), 6);
    assert_true(json_number_value(json_object_get(last, "targetSpeedup")) == 1.62);
    assert_true(json_number_value(json_object_get(last, "proxySpeedup")) == 1.98);
    assert_string_equal(json_string_value(json_object_get(json_array_get(methods, 1), "name")),
                        "<brkga> & co");
    assert_true(strstr(text, "data-kind=\"robust\"") < strstr(text, "data-kind=\"schedule\""));
    json_decref(data);
    free(text);
    sample_free(&s);
}

static void check_scatter(const sample *s, int marks)
{
    size_t size;
    char *text = report_text(s, ".scatter.svg", &size);
    xmlDoc *doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_NONET);
    assert_non_null(doc);
    /* squares and circles: candidates, the legend, the winner and its ring */
    const int found = count_elements(xmlDocGetRootElement(doc), "circle") + count_of(text, "h1.8") +
                      count_of(text, "h6.3") + count_of(text, "h8.1");
    if (found < marks)
        fail_msg("%d marks, not %d", found, marks);
    assert_non_null(strstr(text, "&lt;brkga&gt; &amp; co"));
    assert_non_null(strstr(text, "speedup on bandwidth:cost=4"));
    assert_true(size < 1000000);
    xmlFreeDoc(doc);
    free(text);
}

static void test_scatter(void **state)
{
    (void)state;
    static double proxy[20000], target[20000];
    sample s = {0};
    sample_robust(&s);
    check_scatter(&s, cloud + 54);
    /* Very many candidates are thinned out, equal ones and unmeasured ones have a picture too. */
    sked_robust_result many = *s.data.robust;
    sked_robust_member rows[3] = {*many.member[0], *many.member[1], *many.member[2]};
    sked_robust_member *members[] = {&rows[0], &rows[1], &rows[2]};
    for (int k = 0; k < 20000; k++) {
        proxy[k] = 2;
        target[k] = 3;
    }
    rows[1] = (sked_robust_member){
        .label = "<brkga> & co", .count = 20000, .proxy = proxy, .target = target, .seconds = 1};
    many.member = members;
    s.data.robust = &many;
    check_scatter(&s, 4000);
    for (int k = 0; k < 20000; k++)
        target[k] = NAN;
    rows[0] = rows[2] = rows[1];
    rows[0].best = rows[1].best = rows[2].best = -1;
    check_scatter(&s, 1);
    s.data.robust = NULL;
    FAILS(SKED_ERR_UNSUPPORTED, "sked robust", sked_report_write(&s.data, "never", "scatter", err));
    sample_free(&s);
}

/* ------------------------------------------------------------------ the loop */

static double number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void test_course_data(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_loop(&s);
    char *text = report_text(&s, ".html", &size);
    json_t *data = page_data(text, "loop");
    const json_t *list = json_object_get(data, "measurements"), *first = json_array_get(list, 0);
    const json_t *parameters = json_object_get(data, "parameters"), *odd = json_array_get(parameters, 3);
    sked_metrics m = {.size = sizeof m};
    OK(sked_schedule_measure(&s.problem, s.schedule, &m, err));
    assert_null(strstr(text, "data-kind=\"robust\""));
    assert_int_equal(json_array_size(list), course);
    assert_true(number_at(first, "time") == 23 && number_at(first, "number") == 1);
    assert_true(fabs(number_at(first, "speedup") - 22.0 / 23) < 1e-12);
    assert_true(fabs(number_at(first, "proxy") - m.makespan * m.speedup * 8.3 / 22) < 1e-9);
    assert_true(json_is_true(json_object_get(first, "resumed")));
    assert_true(json_is_null(json_object_get(first, "expected")));
    assert_true(json_is_null(json_object_get(json_array_get(list, 5), "time")));
    assert_true(json_is_true(json_object_get(json_array_get(list, course - 1), "again")));
    assert_int_equal(json_array_size(parameters), 5);
    assert_string_equal(json_string_value(json_object_get(odd, "name")), "type </script><b>Conv</b>");
    assert_true(json_number_value(json_array_get(json_object_get(odd, "posterior"), 4)) == 1.17);
    assert_int_equal(json_array_size(json_object_get(data, "methods")), 2);
    assert_string_equal(json_string_value(json_object_get(data, "end")), "nothing promises more");
    json_decref(data);
    free(text);
    sample_free(&s);
}

static void test_curve(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_loop(&s);
    char *text = report_text(&s, ".curve.svg", &size);
    xmlDoc *doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_NONET);
    assert_non_null(doc);
    assert_int_equal(count_of(text, "class=\"x\""), 3);     /* failed */
    assert_int_equal(count_of(text, "class=\"h\""), 3);     /* measured again */
    assert_int_equal(count_of(text, "<g class=\"p\""), 21); /* the others and those */
    assert_int_equal(count_of(text, "class=\"l\""), 1);
    assert_non_null(strstr(text, "speedup on noisy+linear:cost=&lt;4&gt; &amp; more"));
    xmlFreeDoc(doc);
    free(text);
    sample_free(&s);
}

static void test_progress(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_progress(&s);
    char *text = report_text(&s, ".progress.svg", &size);
    xmlDoc *doc = xmlReadMemory(text, (int)size, "x.svg", NULL, XML_PARSE_NONET);
    assert_non_null(doc);
    assert_int_equal(count_of(text, "class=\"l\""), 1);
    assert_int_equal(count_of(text, "class=\"lb\""), 2); /* the bound, and its key */
    assert_int_equal(count_of(text, "<g fill="), 3 + 3); /* incumbents, and the keys of who found them */
    assert_non_null(strstr(text, "&lt;/script&gt; &amp; &lt;co&gt;"));
    assert_non_null(strstr(text, ">0.001</text>")); /* powers of ten */
    xmlFreeDoc(doc);
    free(text);
    text = report_text(&s, ".html", &size);
    json_t *data = page_data(text, "progress");
    const json_t *points = json_object_get(data, "points");
    assert_int_equal(json_array_size(points), 5);
    assert_true(json_is_null(json_object_get(json_array_get(points, 0), "value")));
    assert_true(number_at(json_array_get(points, 4), "bound") == 21 && number_at(data, "seconds") == 20);
    assert_int_equal(json_array_size(json_object_get(data, "methods")), 4);
    json_decref(data);
    free(text);
    s.data.n_curve = 1; /* only a bound: a picture, but nothing for the page */
    text = report_text(&s, ".progress.svg", &size);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    text = report_text(&s, ".html", &size);
    assert_null(strstr(text, "data-kind=\"progress\""));
    free(text);
    s.data.curve = NULL;
    FAILS(SKED_ERR_UNSUPPORTED, "sked schedule", sked_report_write(&s.data, "never", "progress", err));
    sample_free(&s);
}

/* More methods than marks, more points than a picture needs. */
static void test_long_progress(void **state)
{
    (void)state;
    enum { many = 20000 };
    sample s = {0};
    size_t size;
    sked_curve_point *row = calloc(many, sizeof *row), **curve = malloc(many * sizeof *curve);
    for (int i = 0; i < many; i++) {
        row[i] = (sked_curve_point){.seconds = 1e-3 * (i + 1), .value = 2 * many - i, .bound = 1};
        snprintf(row[i].method, sizeof row[i].method, "m%d", i % 7);
        curve[i] = &row[i];
    }
    sample_small(&s);
    s.data.curve = curve;
    s.data.n_curve = many;
    char *text = report_text(&s, ".progress.svg", &size);
    assert_true(size < 2000000);
    assert_non_null(strstr(text, ">m3</text>"));
    assert_non_null(strstr(text, ">others</text>"));
    assert_null(strstr(text, ">m4</text>"));
    free(text);
    free(curve);
    free(row);
    sample_free(&s);
}

/* However many measurements there are, pages and pictures stay small and show the last one. */
static void test_long_courses(void **state)
{
    (void)state;
    enum { many = 100001 };
    sample s = {0};
    size_t size;
    sample_loop(&s);
    sked_robust_result r = *s.data.robust;
    r.measurement = malloc(many * sizeof *r.measurement);
    for (int i = 0; i < many; i++)
        r.measurement[i] = s.data.robust->measurement[i % 5];
    r.measurements = many;
    s.data.robust = &r;
    char *text = report_text(&s, ".html", &size);
    json_t *data = page_data(text, "loop");
    const json_t *list = json_object_get(data, "measurements");
    assert_true(json_array_size(list) <= 4002);
    assert_true(number_at(json_array_get(list, json_array_size(list) - 1), "number") == many);
    json_decref(data);
    free(text);
    text = report_text(&s, ".curve.svg", &size);
    assert_true(size < 1000000);
    free(text);
    for (int i = 0; i < many; i++) /* nothing was ever measured: still a picture */
        r.measurement[i].time = r.measurement[i].best = NAN;
    text = report_text(&s, ".curve.svg", &size);
    assert_null(strstr(text, "nan"));
    free(text);
    free(r.measurement);
    sample_free(&s);
}

static void test_fitted_machine(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    double latency, bandwidth;
    sked_machine *m = NULL;
    sample_loop(&s);
    char *text = report_text(&s, ".machine.json", &size); /* not a schedule, though it ends in .json */
    OK(sked_machine_parse("x.machine.json", text, size, &m, err));
    assert_true(sked_machine_default_link(m, &latency, &bandwidth) && latency == 0.75 && bandwidth == 42);
    assert_int_equal(sked_machine_duration_count(m), 1);
    sked_machine_destroy(m);
    free(text);
    s.data.robust = sample_comparison();
    FAILS(SKED_ERR_UNSUPPORTED, "without --one-shot", sked_report_write(&s.data, "never", "machine", err));
    FAILS(SKED_ERR_UNSUPPORTED, "without --one-shot", sked_report_write(&s.data, "never", "curve", err));
    s.data.robust = NULL;
    FAILS(SKED_ERR_UNSUPPORTED, "sked robust", sked_report_write(&s.data, "never", "machine", err));
    FAILS(SKED_ERR_UNSUPPORTED, "sked robust", sked_report_write(&s.data, "never", "curve", err));
    sample_free(&s);
}

/* ------------------------------------------------------------------ all of them */

static void test_json_round_trip(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_layered(&s, 1000, 40, 8);
    char *text = report_text(&s, ".json", &size);
    sked_schedule *back = NULL;
    OK(sked_schedule_parse("x.json", text, size, &s.problem, &back, err));
    assert_memory_equal(back->start, s.schedule->start, 1000 * sizeof *back->start);
    assert_memory_equal(back->device, s.schedule->device, 1000 * sizeof *back->device);
    sked_schedule_destroy(back);
    free(text);
    sample_free(&s);
}

static void test_same_bytes(void **state)
{
    (void)state;
    sample s = {0};
    sample_resources(&s);
    add_progress(&s);
    s.machine = sample_fitted();
    s.data.robust = sample_course(s.machine);
    for (int r = 0; r < sked_report_count(); r++) {
        size_t one, two;
        if (!suits(&s, r))
            continue;
        char *a = report_text(&s, sked_report_at(r)->extension, &one);
        char *b = report_text(&s, sked_report_at(r)->extension, &two);
        assert_int_equal(one, two);
        assert_memory_equal(a, b, one);
        free(a);
        free(b);
    }
    sample_free(&s);
}

static void test_choice_of_report(void **state)
{
    (void)state;
    sample s = {0};
    size_t size;
    sample_small(&s);
    char *text = report_text(&s, ".TRACE.JSON", &size); /* the longest extension decides, in any case */
    assert_non_null(strstr(text, "traceEvents"));
    free(text);
    FAILS(SKED_ERR_ARGUMENT, ".svg", sked_report_write(&s.data, "x.unknown", NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "html", sked_report_write(&s.data, "x.svg", "pdf", err));
    s.schedule->start[9] = 0; /* before its predecessor: nothing is written */
    for (int r = 0; r < sked_report_count(); r++)
        FAILS(SKED_ERR_INVALID, "",
              sked_report_write(&s.data, "never_written", sked_report_at(r)->name, err));
    assert_null(fopen("never_written", "r"));
    s.data.validated = true; /* whoever says so is believed: the validator is not asked again */
    free(report_text(&s, ".json", &size));
    sample_free(&s);
}

static int write_samples(const char *folder)
{
    char path[1000];
    for (int k = 0; k < n_sample_kinds; k++) {
        sample s = {0};
        sample_kinds[k].make(&s);
        for (int r = 0; r < sked_report_count(); r++) {
            const double begin = sked_clock();
            if (!suits(&s, r))
                continue;
            snprintf(path, sizeof path, "%s/%s%s", folder, sample_kinds[k].name,
                     sked_report_at(r)->extension);
            OK(sked_report_write(&s.data, path, NULL, err));
            printf("%s: %.3f s\n", path, sked_clock() - begin);
        }
        sample_free(&s);
    }
    sked_i_buffer page = {0};
    sked_i_page_write(
        &page, "sections",
        &(sked_i_page_section){.kind = "unheard-of", .json = {.data = (char[]){"{}"}, .size = 2}}, 1);
    snprintf(path, sizeof path, "%s/sections.html", folder);
    OK(page.failed ? SKED_ERR_MEMORY : sked_i_file_write(path, page.data, page.size, err));
    sked_i_buffer_free(&page);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--samples") == 0)
        return write_samples(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(axes_are_finite_whatever_they_show),
        cmocka_unit_test(test_number_labels),
        cmocka_unit_test(test_name_labels),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_slack_by_hand),
        cmocka_unit_test(test_packing_is_tight),
        cmocka_unit_test(test_very_many_devices),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_device_names),
        cmocka_unit_test(test_long_device_names),
        cmocka_unit_test(test_colors),
        cmocka_unit_test(test_svg_is_xml),
        cmocka_unit_test(test_svg_says),
        cmocka_unit_test(test_svg_of_many_rows),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_times),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_trace_is_bounded),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_html_sections),
        cmocka_unit_test(test_comparison_data),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_course_data),
        cmocka_unit_test(test_curve),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_long_progress),
        cmocka_unit_test(test_long_courses),
        cmocka_unit_test(test_fitted_machine),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_choice_of_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
