/*
 * Trace Event Format, as chrome://tracing and Perfetto read it: one process per group of rows, one thread
 * per row, complete events ("X") for ops, counters ("C") for loads and memory, flows ("s", "f") for edges.
 */
#include "report/label.h"
#include "report/page.h"
#include "report/profiles.h"
#include "report/report.h"

enum { max_flows = 20000, max_periods = 64, max_points = 10000 };

typedef struct trace {
    sked_i_buffer *out;
    const sked_i_view *view;
    double scale; /* nanoseconds per time unit: viewers cut times to whole nanoseconds */
    const char *unit;
    bool any;
} trace;

/*
 * One unit of time is shown as a microsecond, millisecond or second: the first that keeps the shortest op
 * at a microsecond or more, as long as the whole schedule stays below a day.
 */
static void choose_scale(trace *t)
{
    static const struct {
        double nanoseconds;
        const char *name;
    } units[] = {{1e3, "1 us"}, {1e6, "1 ms"}, {1e9, "1 s"}};
    const sked_graph *g = t->view->graph;
    double shortest = INFINITY;
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->duration[i] > 0 && g->duration[i] < shortest)
            shortest = g->duration[i];
    int k = 0;
    while (k < 2 && shortest * units[k].nanoseconds < 1e3 &&
           sked_i_view_end(t->view) * units[k + 1].nanoseconds < 86400e9)
        k++;
    t->scale = units[k].nanoseconds;
    t->unit = units[k].name;
    while (sked_i_view_end(t->view) * t->scale > 0x1p52) { /* beyond what viewers can count */
        t->scale /= 1e3;
        t->unit = "scaled down to fit";
    }
}

static int64_t nanoseconds(const trace *t, double time)
{
    return llround(time * t->scale);
}

/* Microseconds with three decimals, from whole nanoseconds. */
static void add_time(const trace *t, const char *key, int64_t ns)
{
    sked_i_buffer_format(t->out, ",\"%s\":%lld", key, (long long)(ns / 1000));
    if (ns % 1000 != 0)
        sked_i_buffer_format(t->out, ".%03d", (int)(ns % 1000));
}

static void begin_event(trace *t, const char *phase, const char *name)
{
    sked_i_buffer_text(t->out, t->any ? ",\n{\"name\":" : "\n{\"name\":");
    t->any = true;
    sked_i_buffer_json(t->out, name);
    sked_i_buffer_format(t->out, ",\"ph\":\"%s\"", phase);
}

static void add_place(const trace *t, int32_t row)
{
    const int32_t group = t->view->row_group[row];
    sked_i_buffer_format(t->out, ",\"pid\":%d,\"tid\":%d", (int)group + 1,
                         (int)(row - t->view->group[group].first_row) + 1);
}

static void write_names(trace *t)
{
    const sked_i_view *v = t->view;
    char name[280];
    for (int32_t k = 0; k < v->n_groups; k++) {
        begin_event(t, "M", "process_name");
        sked_i_buffer_format(t->out, ",\"pid\":%d,\"args\":{\"name\":", (int)k + 1);
        sked_i_buffer_json(t->out, sked_i_view_group_name(v, &v->group[k]));
        sked_i_buffer_text(t->out, "}}");
    }
    begin_event(t, "M", "process_name");
    sked_i_buffer_format(t->out, ",\"pid\":%d,\"args\":{\"name\":\"load%s\"}}", (int)v->n_groups + 1,
                         v->copies > 0 ? " in steady state" : "");
    for (int32_t r = 0; r < v->n_rows; r++) {
        begin_event(t, "M", "thread_name");
        add_place(t, r);
        sked_i_buffer_text(t->out, ",\"args\":{\"name\":");
        sked_i_buffer_json(t->out, sked_i_view_row_name(v, r, name, sizeof name));
        sked_i_buffer_text(t->out, "}}");
        begin_event(t, "M", "thread_sort_index");
        add_place(t, r);
        sked_i_buffer_format(t->out, ",\"args\":{\"sort_index\":%d}}", (int)r);
    }
}

static void begin_op_event(trace *t, const char *phase, int32_t op)
{
    const sked_graph *g = t->view->graph;
    char index[24];
    begin_event(t, phase,
                g->op_names.count ? sked_i_names_at(&g->op_names, op)
                                  : sked_graph_op_name(g, op, index, sizeof index));
}

static void write_op(trace *t, const sked_i_bar *b, int32_t iteration)
{
    const sked_i_view *v = t->view;
    const char *type = sked_graph_op_type(v->graph, b->op);
    const double shift = iteration * v->schedule->ii;
    const int64_t from = nanoseconds(t, b->start + shift), to = nanoseconds(t, b->finish + shift);
    begin_op_event(t, "X", b->op);
    if (type != NULL) {
        sked_i_buffer_text(t->out, ",\"cat\":");
        sked_i_buffer_json(t->out, type);
    }
    add_time(t, "ts", from);
    add_time(t, "dur", to - from);
    add_place(t, sked_i_bar_row(b, iteration));
    sked_i_buffer_text(t->out, ",\"args\":{\"start\":");
    sked_i_buffer_number(t->out, b->start + shift);
    sked_i_page_member(t->out, "finish", b->finish + shift);
    sked_i_page_member(t->out, "duration",
                       v->graph->duration[b->op]); /* --profile reads it, and the device */
    if (v->problem->machine != NULL && v->schedule->device != NULL) {
        sked_i_buffer_text(t->out, ",\"device\":");
        sked_i_buffer_json(t->out, sked_machine_device_name(v->problem->machine, v->schedule->device[b->op]));
    }
    sked_i_page_member(t->out, "slack", v->slack[b->op]);
    if (b->demand != 1)
        sked_i_page_member(t->out, "demand", b->demand);
    if (v->copies > 0)
        sked_i_buffer_format(t->out, ",\"iteration\":%d", (int)iteration);
    sked_i_buffer_text(t->out, v->critical[b->op] ? ",\"critical\":true}}" : "}}");
}

/* ------------------------------------------------------------------ flows */

/* Data goes from one device to another. */
static bool is_transfer(const sked_i_view *v, int64_t edge)
{
    const int32_t *const device = v->schedule->device;
    return device != NULL && v->graph->edge_bytes[edge] > 0 &&
           device[v->graph->edge_from[edge]] != device[v->graph->edge_to[edge]];
}

/* An arrow starts in the last nanosecond of its op: it must lie inside the slice. */
static void write_flow(trace *t, int64_t edge)
{
    const sked_i_view *v = t->view;
    const int32_t ends[] = {v->graph->edge_from[edge], v->graph->edge_to[edge]};
    const char *const kind = is_transfer(v, edge) ? "transfer" : "edge";
    for (int k = 0; k < 2; k++) {
        const sked_i_bar *b = &v->bar[v->op_bar[ends[k]]];
        const int64_t from = nanoseconds(t, b->start), to = nanoseconds(t, b->finish);
        begin_event(t, k == 0 ? "s" : "f", kind);
        sked_i_buffer_format(t->out, "%s,\"cat\":\"%s\",\"id\":%lld", k == 0 ? "" : ",\"bp\":\"e\"", kind,
                             (long long)edge);
        add_time(t, "ts", k == 1 || to == from ? from : to - 1);
        add_place(t, b->row);
        if (k == 0 && is_transfer(v, edge)) {
            sked_i_buffer_text(t->out, ",\"args\":{\"bytes\":");
            sked_i_buffer_number(t->out, v->graph->edge_bytes[edge]);
            sked_i_buffer_char(t->out, '}');
        }
        sked_i_buffer_char(t->out, '}');
    }
}

static bool crosses(const sked_i_view *v, int64_t edge)
{
    const int32_t from = v->graph->edge_from[edge], to = v->graph->edge_to[edge];
    return v->bar[v->op_bar[from]].row != v->bar[v->op_bar[to]].row;
}

/* The chain's edges first, then those between rows, then the rest; never more than max_flows. */
static void write_flows(trace *t)
{
    const sked_i_view *v = t->view;
    const sked_graph *g = v->graph;
    const bool all = g->n_edges <= max_flows;
    int64_t left = max_flows;
    for (int32_t k = 0; k < v->n_chain && !all && left > 0; k++)
        if (v->chain[k].link == SKED_I_LINK_EDGE) {
            write_flow(t, v->chain[k].edge);
            left--;
        }
    for (int64_t e = 0; e < g->n_edges && left > 0; e++) {
        const bool chained = v->critical[g->edge_from[e]] && v->critical[g->edge_to[e]];
        if (g->edge_distance[e] > 0 || (!all && (chained || !crosses(v, e))))
            continue;
        write_flow(t, e);
        left--;
    }
}

/* ------------------------------------------------------------------ counters */

static void write_counter(trace *t, const sked_i_curve *c, double time, double value)
{
    begin_event(t, "C", c->name);
    add_time(t, "ts", nanoseconds(t, time));
    sked_i_buffer_format(t->out, ",\"pid\":%d,\"args\":{\"amount\":", (int)t->view->n_groups + 1);
    sked_i_buffer_number(t->out, value);
    sked_i_buffer_text(t->out, "}}");
}

/* Points closer than `step` become one that shows their highest value. */
static void write_points(trace *t, const sked_i_curve *c, double shift, double step)
{
    const sked_i_profile *f = &c->profile;
    for (int64_t k = 0; k < f->count;) {
        const double from = f->time[k];
        double highest = f->value[k];
        for (k++; k < f->count && f->time[k] < from + step; k++)
            highest = f->value[k] > highest ? f->value[k] : highest;
        write_counter(t, c, from + shift, k == f->count ? f->value[k - 1] : highest);
    }
}

static void write_curve(trace *t, const sked_i_curve *c)
{
    const double ii = t->view->schedule->ii, end = sked_i_view_end(t->view);
    const double periods = ii > 0 ? ceil(end / ii) : 1, nanosecond = 1 / t->scale;
    const double coarse = (ii > 0 ? ii : end) / max_points;
    for (int p = 0; p < max_periods && p < periods; p++)
        write_points(t, c, p * ii,
                     c->profile.count > max_points && coarse > nanosecond ? coarse : nanosecond);
}

static void write_summary(const trace *t)
{
    const sked_report_data *d = t->view->data;
    sked_i_buffer_text(t->out, "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"graph\":");
    sked_i_buffer_json(t->out, sked_graph_name(t->view->graph));
    if (t->view->problem->machine != NULL) {
        sked_i_buffer_text(t->out, ",\"machine\":");
        sked_i_buffer_json(t->out, sked_machine_name(t->view->problem->machine));
    }
    sked_i_buffer_text(t->out, ",\"method\":");
    sked_i_buffer_json(t->out, d->method ? d->method : "");
    sked_i_buffer_text(t->out, ",\"makespan\":\"");
    sked_i_buffer_number(t->out, t->view->makespan);
    sked_i_buffer_format(t->out, "\",\"time unit\":\"%s\",\"version\":\"%s\"}}\n", t->unit, SKED_VERSION);
}

static sked_status trace_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    sked_i_view v = {0};
    sked_i_curves curves = {0};
    trace t = {.out = out, .view = &v};
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_view_init(&v, data, err));
    SKED_TRY(sked_i_curves_init(&curves, &v, err));
    choose_scale(&t);
    sked_i_buffer_text(out, "{\"traceEvents\":[");
    write_names(&t);
    for (int32_t k = 0; k <= v.copies; k++)
        for (int64_t b = 0; b < v.n_bars; b++)
            write_op(&t, &v.bar[b], k);
    for (int32_t k = 0; k < curves.count; k++)
        write_curve(&t, &curves.curve[k]);
    write_flows(&t);
    write_summary(&t);
cleanup:
    sked_i_curves_free(&curves);
    sked_i_view_free(&v);
    return st;
}

const sked_i_report sked_i_report_trace = {
    {"trace", ".trace.json", "Chrome and Perfetto trace, with loads and edges"}, trace_write, false};
