/* The HTML report: the schedule as data for the page's section "schedule". */
#include "report/comparison.h"
#include "report/course.h"
#include "report/label.h"
#include "report/page.h"
#include "report/palette.h"
#include "report/pipeline.h"
#include "report/profiles.h"
#include "report/progress.h"
#include "report/report.h"
#include "report/shelves.h"
#include "report/tradeoff.h"

#include <stdio.h>

static const int32_t max_ops = 5000000;   /* browsers hold about half a gigabyte in one string */
static const int64_t max_edges = 4000000; /* beyond: the page says that it has none */

/* What stands below the Gantt. */
typedef struct shown {
    sked_i_curves curves;
    sked_i_shelves blocks;
} shown;

/* ------------------------------------------------------------------ columns */

/* Ten digits are more than a screen can show and half the size of all. */
static void add_number(sked_i_buffer *b, double x)
{
    if (x == floor(x) && fabs(x) < 0x1p53)
        sked_i_buffer_int(b, (int64_t)x);
    else
        sked_i_buffer_digits(b, x, 10);
}

static void begin_column(sked_i_buffer *b, const char *name)
{
    sked_i_buffer_format(b, ",\n\"%s\":[", name);
}

#define COLUMN(b, name, count, write)           \
    do {                                        \
        begin_column(b, name);                  \
        for (int64_t i = 0; i < (count); i++) { \
            if (i > 0)                          \
                sked_i_buffer_char(b, ',');     \
            write;                              \
        }                                       \
        sked_i_buffer_char(b, ']');             \
    } while (0)

static bool any_above(const double *column, int64_t n, double least)
{
    for (int64_t i = 0; i < n; i++)
        if (column[i] > least)
            return true;
    return false;
}

static void add_ops(const sked_i_view *v, sked_i_buffer *b)
{
    const sked_graph *g = v->graph;
    const int32_t n = g->n_ops;
    double begin, end;
    if (g->op_names.count > 0)
        COLUMN(b, "names", n, sked_i_buffer_json(b, sked_i_names_at(&g->op_names, (int32_t)i)));
    COLUMN(b, "types", g->n_types, sked_i_buffer_json(b, sked_i_names_at(&g->type_names, (int32_t)i)));
    if (g->n_types > 0)
        COLUMN(b, "type", n, sked_i_buffer_int(b, g->type[i]));
    COLUMN(b, "start", n, (sked_i_view_drawn(v, (int32_t)i, &begin, &end), add_number(b, begin)));
    COLUMN(b, "duration", n, (sked_i_view_drawn(v, (int32_t)i, &begin, &end), add_number(b, end - begin)));
    COLUMN(b, "slack", n, add_number(b, v->slack[i]));
    COLUMN(b, "color", n, sked_i_buffer_int(b, v->color[i]));
    if (v->schedule->device != NULL)
        COLUMN(b, "device", n, sked_i_buffer_int(b, v->schedule->device[i]));
    if (v->schedule->device != NULL && v->problem->machine != NULL)
        COLUMN(b, "deviceNames", v->schedule->devices,
               sked_i_buffer_json(b, sked_machine_device_name(v->problem->machine, (int32_t)i)));
    if (any_above(g->memory, n, 0))
        COLUMN(b, "memory", n, add_number(b, g->memory[i]));
}

static void add_edges(const sked_i_view *v, sked_i_buffer *b)
{
    const sked_graph *g = v->graph;
    const int64_t n = g->n_edges <= max_edges ? g->n_edges : 0;
    sked_i_buffer_format(b, ",\n\"edgesKept\":%s,\"edges\":{\"count\":%lld",
                         n == g->n_edges ? "true" : "false", (long long)g->n_edges);
    COLUMN(b, "from", n, sked_i_buffer_int(b, g->edge_from[i]));
    COLUMN(b, "to", n, sked_i_buffer_int(b, g->edge_to[i]));
    if (g->n_carried > 0)
        COLUMN(b, "distance", n, sked_i_buffer_int(b, g->edge_distance[i]));
    sked_i_buffer_char(b, '}');
}

/* The time at which op k of the chain could go on: when what it waited for let it. */
static double wait_over(const sked_i_view *v, int64_t k)
{
    const sked_i_chain_op *to = &v->chain[k];
    double begin, end = 0;
    if (to->link == SKED_I_LINK_EDGE && !v->in_cycles)
        return v->schedule->start[v->chain[k - 1].op] + v->graph->edge_lag[to->edge];
    if (k > 0)
        sked_i_view_drawn(v, v->chain[k - 1].op, &begin, &end);
    return end;
}

static void add_rows(const sked_i_view *v, sked_i_buffer *b)
{
    char name[280];
    bool lanes = false, demand = false;
    for (int64_t k = 0; k < v->n_bars; k++) {
        lanes = lanes || v->bar[k].lanes > 1;
        demand = demand || v->bar[k].demand != 1;
    }
    COLUMN(b, "rows", v->n_rows,
           sked_i_buffer_json(b, sked_i_view_row_name(v, (int32_t)i, name, sizeof name)));
    begin_column(b, "groups");
    for (int32_t k = 0; k < v->n_groups; k++) {
        const sked_i_view_group *group = &v->group[k];
        sked_i_buffer_text(b, k > 0 ? ",{\"name\":" : "{\"name\":");
        sked_i_buffer_json(b, sked_i_view_group_name(v, group));
        sked_i_buffer_format(b, ",\"first\":%d,\"rows\":%d,\"devices\":%s,\"limited\":%s}",
                             (int)group->first_row, (int)group->n_rows,
                             group->resource == SKED_I_DEVICE_ROWS ? "true" : "false",
                             sked_i_view_limited(v, group) ? "true" : "false");
    }
    sked_i_buffer_text(b, "],\n\"bars\":{\"count\":");
    sked_i_buffer_int(b, v->n_bars);
    COLUMN(b, "op", v->n_bars, sked_i_buffer_int(b, v->bar[i].op));
    COLUMN(b, "row", v->n_bars, sked_i_buffer_int(b, v->bar[i].row));
    if (lanes)
        COLUMN(b, "lanes", v->n_bars, sked_i_buffer_int(b, v->bar[i].lanes));
    if (demand)
        COLUMN(b, "demand", v->n_bars, add_number(b, v->bar[i].demand));
    sked_i_buffer_char(b, '}');
    COLUMN(b, "chain", v->n_chain, sked_i_buffer_int(b, v->chain[i].op));
    COLUMN(b, "waits", v->n_chain, add_number(b, wait_over(v, i)));
}

static void add_curves(const sked_i_curves *curves, sked_i_buffer *b)
{
    begin_column(b, "curves");
    for (int32_t k = 0; k < curves->count; k++) {
        const sked_i_curve *c = &curves->curve[k];
        sked_i_buffer_text(b, k > 0 ? ",\n{\"name\":" : "{\"name\":");
        sked_i_buffer_json(b, c->name);
        sked_i_buffer_text(b, ",\"capacity\":");
        add_number(b, c->capacity);
        sked_i_buffer_text(b, ",\"peak\":");
        add_number(b, c->profile.peak);
        COLUMN(b, "time", c->profile.count, add_number(b, c->profile.time[i]));
        COLUMN(b, "value", c->profile.count, add_number(b, c->profile.value[i]));
        sked_i_buffer_char(b, '}');
    }
    sked_i_buffer_char(b, ']');
}

/* The arenas in use, the first of very many. */
static void add_arenas(const sked_i_view *v, const sked_i_shelves *x, sked_i_buffer *b)
{
    enum { most_arenas = 64 };
    int written = 0;
    char name[280];
    begin_column(b, "arenas");
    for (int32_t d = 0; d < x->devices && written < most_arenas; d++) {
        const sked_i_shelved *at = x->at + x->first[d];
        const int64_t n = x->first[d + 1] - x->first[d];
        if (n == 0)
            continue;
        sked_i_buffer_text(b, written++ > 0 ? ",\n{\"name\":" : "{\"name\":");
        sked_i_buffer_json(b, sked_i_shelves_name(v, x, d, name, sizeof name));
        sked_i_buffer_format(b, ",\"size\":%lld", (long long)v->schedule->arena[d]);
        COLUMN(b, "op", n, sked_i_buffer_int(b, at[i].op));
        COLUMN(b, "begin", n, add_number(b, at[i].begin));
        COLUMN(b, "end", n, add_number(b, at[i].end));
        COLUMN(b, "low", n, sked_i_buffer_int(b, at[i].address));
        COLUMN(b, "sizes", n, sked_i_buffer_int(b, at[i].size));
        sked_i_buffer_char(b, '}');
    }
    sked_i_buffer_char(b, ']');
}

static void add_legend(const sked_i_view *v, sked_i_buffer *b)
{
    COLUMN(b, "palette", SKED_I_COLORS, sked_i_buffer_format(b, "\"#%s\"", sked_i_palette_hex((int)i)));
    begin_column(b, "legend");
    for (int k = 0; k < v->n_legend; k++) {
        sked_i_buffer_text(b, k > 0 ? ",{\"name\":" : "{\"name\":");
        sked_i_buffer_json(b, v->legend[k].name);
        sked_i_buffer_format(b, ",\"ops\":%d,\"color\":%d}", (int)v->legend[k].ops, v->legend[k].color);
    }
    sked_i_buffer_char(b, ']');
}

/* ------------------------------------------------------------------ figures */

/* One figure: label, value, and a remark or "". */
static void add_figure(sked_i_buffer *b, const char *label, const char *value, const char *note)
{
    if (b->size > 0 && b->data[b->size - 1] == ']')
        sked_i_buffer_char(b, ',');
    sked_i_buffer_char(b, '[');
    sked_i_buffer_json(b, label);
    sked_i_buffer_char(b, ',');
    sked_i_buffer_json(b, value);
    sked_i_buffer_char(b, ',');
    sked_i_buffer_json(b, note);
    sked_i_buffer_char(b, ']');
}

static void add_number_figure(sked_i_buffer *b, const char *label, double x, const char *note)
{
    char number[40];
    add_figure(b, label, sked_i_label_number(x, number, sizeof number), note);
}

static void add_bound(const sked_i_view *v, const sked_metrics *m, sked_i_buffer *b)
{
    char gap[60];
    const double bound = v->data->lower_bound;
    add_number_figure(b, "Lower bound", bound, isnan(bound) ? "not known" : "");
    if (v->data->optimal)
        snprintf(gap, sizeof gap, "0 %%");
    else if (bound > 0)
        sked_i_label_percent(m->value / bound - 1, gap, sizeof gap);
    else
        snprintf(gap, sizeof gap, "-");
    add_figure(b, "Gap to the bound", gap, v->data->optimal ? "optimal" : "");
}

static void add_machine(const sked_i_view *v, const sked_metrics *m, sked_i_buffer *b)
{
    char text[60], limit[40];
    if (v->schedule->devices > 0) {
        add_number_figure(b, "Devices", v->schedule->devices, sked_i_view_machine_name(v));
        add_number_figure(b, "Speedup", round(m->speedup * 1e3) / 1e3,
                          v->problem->machine != NULL ? "over the best single device" : "over one device");
        add_figure(b, "Idle", sked_i_label_percent(m->idle, text, sizeof text), "of all device time");
        if (sked_i_has_transfers(v->problem))
            add_number_figure(b, "Transfer time", m->transfer, "");
    } else {
        add_number_figure(b, "Ops at once", round(m->speedup * 1e3) / 1e3, "on average");
    }
    if (v->graph->n_resources > 0)
        add_number_figure(b, "Resource peaks", m->resource, "sum, weighted");
    if (v->problem->memory_limit < INFINITY)
        snprintf(text, sizeof text, "limit %s",
                 sked_i_label_number(v->problem->memory_limit, limit, sizeof limit));
    if (m->peak_memory > 0)
        add_number_figure(b, "Peak memory", m->peak_memory, v->problem->memory_limit < INFINITY ? text : "");
    if (v->schedule->arena != NULL)
        add_number_figure(b, "Arena", m->arena, v->schedule->devices > 1 ? "sum over the devices" : "");
    if (m->communication > 0)
        add_number_figure(b, "Communication", m->communication, "steps spanned by edges");
}

static void add_figures(const sked_i_view *v, const sked_metrics *m, sked_i_buffer *b)
{
    char text[80], note[80];
    const char *name = sked_graph_name(v->graph);
    snprintf(note, sizeof note, "%d ops, %lld edges", (int)v->graph->n_ops, (long long)v->graph->n_edges);
    begin_column(b, "figures");
    add_figure(b, "Graph", *name ? name : "unnamed", note);
    add_figure(b, "Method", v->data->method && *v->data->method ? v->data->method : "-", "");
    add_number_figure(b, "Makespan", m->makespan, "");
    add_figure(b, "Objective", sked_objective_name(v->problem->objective), "");
    add_number_figure(b, "Value", m->value, "");
    add_bound(v, m, b);
    if (v->schedule->ii > 0)
        add_number_figure(b, "Initiation interval", v->schedule->ii, "");
    add_machine(v, m, b);
    snprintf(text, sizeof text, "%llu", (unsigned long long)v->data->seed);
    add_figure(b, "Seed", text, "");
    sked_i_label_number(round(v->data->seconds * 1e3) / 1e3, note, 40);
    snprintf(text, sizeof text, "%.40s s", note);
    add_figure(b, "Time to schedule", text, "");
    add_figure(b, "sked version", SKED_VERSION, "");
    sked_i_buffer_char(b, ']');
}

static void add_head(const sked_i_view *v, const sked_metrics *m, sked_i_buffer *b)
{
    char makespan[40], subtitle[200];
    const char *name = sked_graph_name(v->graph);
    sked_i_buffer_text(b, "{\"title\":");
    sked_i_buffer_json(b, *name ? name : "Schedule");
    snprintf(subtitle, sizeof subtitle, "Schedule of %d ops, makespan %s", (int)v->graph->n_ops,
             sked_i_label_number(m->makespan, makespan, sizeof makespan));
    sked_i_buffer_text(b, ",\"subtitle\":");
    sked_i_buffer_json(b, subtitle);
    sked_i_page_member(b, "makespan", v->makespan);
    sked_i_page_member(b, "end", sked_i_view_end(v));
    sked_i_page_member(b, "ii", v->schedule->ii);
    sked_i_buffer_format(b, ",\"copies\":%d,\"integral\":%s", (int)v->copies,
                         v->tolerance == 0 ? "true" : "false");
}

static void add_schedule(const sked_i_view *v, const shown *x, const sked_metrics *m, sked_i_buffer *b)
{
    add_head(v, m, b);
    add_figures(v, m, b);
    add_legend(v, b);
    add_ops(v, b);
    add_rows(v, b);
    add_edges(v, b);
    add_curves(&x->curves, b);
    add_arenas(v, &x->blocks, b);
    sked_i_buffer_char(b, '}');
}

/* What the data has a section for, in the order of the page. *many: how many. */
static sked_status add_sections(const sked_i_view *v, const shown *x, const sked_metrics *m,
                                sked_i_page_section *section, int *many, sked_error *err)
{
    const sked_report_data *data = v->data;
    sked_status st = SKED_OK;
    int count = 0;
    if (data->robust != NULL && sked_i_course_known(data->robust)) {
        section[count].kind = "loop";
        sked_i_course_json(data->robust, m->speedup * m->makespan, &section[count++].json);
    } else if (data->robust != NULL) {
        section[count].kind = "robust";
        sked_i_comparison_json(data->robust, &section[count++].json);
    }
    if (data->sweep != NULL) {
        section[count].kind = "tradeoff";
        sked_i_tradeoff_json(data->sweep, &section[count++].json);
    }
    if (sked_i_pipeline_known(data)) {
        section[count].kind = "pipeline";
        SKED_TRY(sked_i_pipeline_json(data, &section[count++].json, err));
    }
    section[count].kind = "schedule";
    add_schedule(v, x, m, &section[count++].json);
    if (sked_i_progress_known(data)) {
        section[count].kind = "progress";
        sked_i_progress_json(data, &section[count++].json);
    }
    *many = count;
cleanup:
    return st;
}

static sked_status html_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    enum { most_sections = 5 };
    sked_i_view v = {0};
    shown x = {0};
    sked_i_page_section section[most_sections] = {{0}};
    sked_metrics m = {.size = sizeof m};
    sked_status st = SKED_OK;
    int count;
    if (data->schedule->ops > max_ops)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "an HTML report holds at most %d ops, this schedule has %d; an SVG has no limit",
                           (int)max_ops, (int)data->schedule->ops);
    SKED_TRY(sked_schedule_measure(data->problem, data->schedule, &m, err));
    SKED_TRY(sked_i_view_init(&v, data, err));
    SKED_TRY(sked_i_curves_init(&x.curves, &v, err));
    SKED_TRY(sked_i_shelves_make(&v, &x.blocks, err));
    SKED_TRY(add_sections(&v, &x, &m, section, &count, err));
    const char *name = sked_graph_name(v.graph);
    sked_i_page_write(out, *name ? name : "Schedule", section, count);
cleanup:
    for (int k = 0; k < most_sections; k++)
        sked_i_buffer_free(&section[k].json);
    sked_i_curves_free(&x.curves);
    sked_i_shelves_free(&x.blocks);
    sked_i_view_free(&v);
    return st;
}

const sked_i_report sked_i_report_html = {
    {"html", ".html", "self-contained page: Gantt to zoom and search, loads, summary"}, html_write, false};
