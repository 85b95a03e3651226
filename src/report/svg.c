/* The Gantt picture: page, title, axes, legend. */
#include "report/svg.h"

#include "report/axis.h"
#include "report/palette.h"
#include "report/report.h"
#include "report/shelves.h"

#include <stdio.h>
#include <string.h>

enum { page_width = 1200, title_size = 18, text_size = 12 };
static const double margin = 24, head = 78, axis = 22, tallest_row = 24, plot_limit = 1400, widest_name = 200;

double sked_i_panel_y(const sked_i_panel *p, int32_t row)
{
    return p->top + row * p->row_height + p->view->row_group[row] * p->gap;
}

/* ------------------------------------------------------------------ style */

/* Classes: bg page, t text, m muted text, g grid, r row, h hatch, n op names, k critical, f later iterations,
 * o ops, s narrow ones: neighbours touch, and darker edges tell them apart.
 */
static void write_style(sked_i_buffer *out)
{
    sked_i_buffer_text(out, "<style>\n"
                            "svg{background:#fff;max-width:100%;height:auto}\n"
                            "text{font:12px -apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,"
                            "'DejaVu Sans',sans-serif;fill:#1f2328}\n"
                            ".ti{font-size:18px;font-weight:600}.m{fill:#59636e}.e{text-anchor:end}"
                            ".mi{text-anchor:middle}.b{font-weight:600}\n"
                            ".bg{fill:#fff}.r{fill:url(#idle)}.g{stroke:#d1d9e0;fill:none}"
                            ".h0{fill:#f3f5f8}.h1{stroke:#dde2e9;stroke-width:1.5}\n"
                            ".n{font-size:11px;text-anchor:middle;fill:#15181c;pointer-events:none}\n");
    for (int k = 0; k < SKED_I_COLORS; k++)
        sked_i_buffer_format(out, ".c%d{fill:#%s}", k, sked_i_palette_hex(k));
    sked_i_buffer_text(
        out, "\n.d0{opacity:.3}.d1{opacity:.55}.d2{opacity:.78}.f{opacity:.32}\n"
             ".o{stroke:#000;stroke-opacity:.22;stroke-width:.6}.s{stroke:none;shape-rendering:crispEdges}"
             ".k{stroke-opacity:1}\n"
             ".k,.kc,.kl{stroke:#" SKED_I_CRITICAL_LIGHT ";stroke-width:2}"
             ".kc{fill:none;stroke-width:1.5;stroke-linecap:round}\n"
             ".ii{stroke:#59636e;stroke-dasharray:4 3;fill:none}\n"
             "@media (prefers-color-scheme:dark){svg{background:#14171c}text{fill:#e6e9ed}.m{fill:#a3adb8}"
             ".bg{fill:#14171c}.g{stroke:#353b44}.h0{fill:#1c2027}.h1{stroke:#2a3039}"
             ".n{fill:#15181c}.k,.kc,.kl{stroke:#" SKED_I_CRITICAL_DARK "}.ii{stroke:#a3adb8}}\n"
             "</style>\n"
             "<defs><pattern id=\"idle\" width=\"7\" height=\"7\" "
             "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
             "<rect class=\"h0\" width=\"7\" height=\"7\"/><path class=\"h1\" d=\"M0 0V7\"/>"
             "</pattern></defs>\n");
}

/* ------------------------------------------------------------------ text */

void sked_i_panel_text(sked_i_buffer *out, const char *classes, double x, double y, const char *text)
{
    sked_i_buffer_format(out, "<text class=\"%s\"", classes);
    sked_i_label_draw(out, " x=\"~\" y=\"~\">", x, y);
    sked_i_buffer_xml(out, text);
    sked_i_buffer_text(out, "</text>\n");
}

static void add_machine(const sked_i_view *v, sked_i_buffer *b)
{
    char number[40], text[200];
    if (v->schedule->devices > 0)
        sked_i_buffer_format(b, " \xc2\xb7 %d device%s", (int)v->schedule->devices,
                             v->schedule->devices == 1 ? "" : "s");
    if (v->schedule->devices > 0 && sked_i_view_machine_name(v)[0])
        sked_i_buffer_format(b, " of %s",
                             sked_i_label_cut(sked_i_view_machine_name(v), 40, text, sizeof text));
    if (v->graph->n_resources > 0)
        sked_i_buffer_format(b, " \xc2\xb7 %d resource%s", (int)v->graph->n_resources,
                             v->graph->n_resources == 1 ? "" : "s");
    if (v->schedule->ii > 0 && v->problem->objective != SKED_OBJECTIVE_II)
        sked_i_buffer_format(b, " \xc2\xb7 II %s",
                             sked_i_label_number(v->schedule->ii, number, sizeof number));
}

/* "makespan 12 · lower bound 10 (gap 20 %)" and the like, for the objective at hand. */
static void add_value(const sked_i_view *v, const sked_metrics *m, sked_i_buffer *b)
{
    char number[40];
    const sked_report_data *d = v->data;
    sked_i_buffer_format(b, "makespan %s", sked_i_label_number(m->makespan, number, sizeof number));
    if (v->problem->objective != SKED_OBJECTIVE_MAKESPAN)
        sked_i_buffer_format(
            b, " \xc2\xb7 %s %s",
            v->problem->objective == SKED_OBJECTIVE_II ? "II" : sked_objective_name(v->problem->objective),
            sked_i_label_number(m->value, number, sizeof number));
    if (isnan(d->lower_bound))
        return;
    sked_i_buffer_format(b, " \xc2\xb7 lower bound %s",
                         sked_i_label_number(d->lower_bound, number, sizeof number));
    if (d->optimal)
        sked_i_buffer_text(b, " (optimal)");
    else if (d->lower_bound > 0)
        sked_i_buffer_format(b, " (gap %s)",
                             sked_i_label_percent(m->value / d->lower_bound - 1, number, sizeof number));
}

/* named: by the method, not by the graph. */
static void write_heading(const sked_i_view *v, const sked_metrics *m, bool named, sked_i_buffer *out)
{
    char text[400], number[40];
    const char *name = named ? v->data->method : sked_graph_name(v->graph);
    sked_i_buffer line = {0};
    sked_i_panel_text(out, "ti", margin, 36,
                      sked_i_label_cut(name != NULL && *name ? name : "schedule", 90, text, sizeof text));
    if (!named && v->data->method != NULL && *v->data->method)
        sked_i_buffer_format(&line, "%s \xc2\xb7 ", sked_i_label_cut(v->data->method, 40, text, sizeof text));
    add_value(v, m, &line);
    add_machine(v, &line);
    sked_i_buffer_format(&line, " \xc2\xb7 %d ops", (int)v->graph->n_ops);
    if (v->schedule->devices > 0)
        sked_i_buffer_format(&line, " \xc2\xb7 idle %s",
                             sked_i_label_percent(m->idle, number, sizeof number));
    sked_i_panel_text(out, "m", margin, 58, line.failed ? "" : line.data);
    out->failed = out->failed || line.failed;
    sked_i_buffer_free(&line);
}

/* ------------------------------------------------------------------ panels */

/* The name of a row, with an ellipsis where it is too long for the margin. */
static const char *row_label(const sked_i_view *v, int32_t row, char *buf, size_t size)
{
    char text[280];
    sked_i_view_row_name(v, row, text, sizeof text);
    int chars = 30;
    const bool named = v->row_device != NULL && v->problem->machine != NULL;
    sked_i_label_cut(text, chars, buf, size);
    while (named && chars > 4 && sked_i_label_width(buf, text_size) > widest_name)
        sked_i_label_cut(text, --chars, buf, size);
    return buf;
}

/* Names of a machine's devices have all lengths; of numbered rows the last one is the longest. */
static double widest_row_name(const sked_i_view *v)
{
    char text[280];
    double widest = 40;
    for (int32_t k = 0; k < v->n_groups; k++) {
        const sked_i_view_group *group = &v->group[k];
        const bool named = group->resource == SKED_I_DEVICE_ROWS && v->problem->machine != NULL;
        for (int32_t r = named ? 0 : group->n_rows - 1; r < group->n_rows; r++) {
            if (named)
                row_label(v, group->first_row + r, text, sizeof text);
            else
                sked_i_view_row_name(v, group->first_row + r, text, sizeof text);
            widest = fmax(widest, sked_i_label_width(text, text_size));
        }
    }
    return fmin(widest, widest_name);
}

/* Rows as tall as the page allows; gaps between groups only where rows are tall. */
static void size_rows(sked_i_panel *p)
{
    const sked_i_view *v = p->view;
    const int32_t rows = v->n_rows > 0 ? v->n_rows : 1;
    p->row_height = fmin(tallest_row, plot_limit / rows);
    if (p->row_height > 5)
        p->row_height = floor(p->row_height);
    p->gap = p->row_height >= 8 && v->n_groups < 100 ? 8 : 0;
    p->height = rows * p->row_height + (v->n_groups > 1 ? (v->n_groups - 1) * p->gap : 0);
}

/* One label per row, or one per group where rows are too low for text. */
static void write_row_names(const sked_i_panel *p)
{
    const sked_i_view *v = p->view;
    char text[280];
    double free_from = -INFINITY;
    const bool each = p->row_height >= 12;
    for (int32_t r = 0; r < v->n_rows;) {
        const sked_i_view_group *group = &v->group[v->row_group[r]];
        const int32_t next =
            each || group->resource == SKED_I_DEVICE_ROWS ? r + 1 : group->first_row + group->n_rows;
        const double middle = (sked_i_panel_y(p, r) + sked_i_panel_y(p, next - 1) + p->row_height) / 2 + 4;
        if (middle >= free_from + text_size) {
            if (next > r + 1)
                sked_i_label_cut(sked_i_view_group_name(v, group), 30, text, sizeof text);
            else
                row_label(v, r, text, sizeof text);
            sked_i_panel_text(p->out, "m e", p->left - 10, middle, text);
            free_from = middle;
        }
        r = next;
    }
}

/* Unused time of every row, up to the end of the schedule. */
static void write_idle(const sked_i_panel *p)
{
    const sked_i_view *v = p->view;
    const bool ramp = v->copies > 0 && !p->folded; /* filling and emptying the pipeline is not idleness */
    const double end = v->copies == 0 && v->makespan > 0 ? v->makespan : p->end;
    const double width = sked_i_panel_x(p, end) - p->left;
    const double pad = p->row_height < 8 ? 0 : 1;
    for (int32_t r = 0; r < v->n_rows;) {
        const sked_i_view_group *group = &v->group[v->row_group[r]];
        const int32_t next = pad > 0 ? r + 1 : group->first_row + group->n_rows;
        if (sked_i_view_limited(v, group))
            sked_i_label_draw(p->out,
                              ramp ? "<rect class=\"h0\" x=\"~\" y=\"~\" width=\"~\" height=\"~\"/>\n"
                                   : "<rect class=\"r\" x=\"~\" y=\"~\" width=\"~\" height=\"~\"/>\n",
                              p->left, sked_i_panel_y(p, r) + pad, width,
                              (next - r) * p->row_height - 2 * pad);
        r = next;
    }
}

static void write_axis(const sked_i_panel *p)
{
    sked_i_tick tick[SKED_I_MOST_TICKS];
    const sked_i_axis a = {
        .to = p->end, .low = p->left, .high = p->left + p->width, .whole = p->view->tolerance == 0};
    const int n = sked_i_axis_ticks(&a, (int)fmax(2, p->width / 70), tick);
    for (int i = 0; i < n; i++) {
        const double x = tick[i].at;
        sked_i_label_draw(p->out, "<path class=\"g\" d=\"M~ ~V~\"/>\n", x, p->top - 4, p->top + p->height);
        sked_i_panel_text(p->out, "m mi", x, p->top - 9, tick[i].label);
        if (p->height > 700)
            sked_i_panel_text(p->out, "m mi", x, p->top + p->height + 16, tick[i].label);
    }
}

/* Where each further iteration begins. */
static void write_intervals(const sked_i_panel *p)
{
    for (int32_t k = 1; k <= p->view->copies && !p->folded; k++)
        sked_i_label_draw(p->out, "<path class=\"ii\" d=\"M~ ~V~\"/>\n",
                          sked_i_panel_x(p, k * p->view->schedule->ii), p->top - 2, p->top + p->height + 2);
}

static sked_status write_panel(sked_i_panel *p, sked_error *err)
{
    write_idle(p);
    write_axis(p);
    write_row_names(p);
    write_intervals(p);
    return sked_i_panel_bars(p, err);
}

/* ------------------------------------------------------------------ legend */

typedef struct legend_pen {
    sked_i_buffer *out;
    double x, y;
} legend_pen;

static void legend_item(legend_pen *pen, const char *classes, const char *text)
{
    const double width = 34 + sked_i_label_width(text, text_size);
    if (pen->x > margin && pen->x + width > page_width - margin) {
        pen->x = margin;
        pen->y += 22;
    }
    sked_i_buffer_format(pen->out, "<rect class=\"%s\"", classes);
    sked_i_label_draw(pen->out, " x=\"~\" y=\"~\" width=\"14\" height=\"14\" rx=\"2\"/>\n", pen->x,
                      pen->y - 11);
    sked_i_panel_text(pen->out, "t", pen->x + 20, pen->y, text);
    pen->x += width;
}

/* Returns the height used. */
static double write_legend(const sked_i_view *v, double y, sked_i_buffer *out)
{
    legend_pen pen = {out, margin, y};
    char name[200], text[260], classes[16];
    for (int k = 0; k < v->n_legend; k++) {
        sked_i_label_cut(v->legend[k].name, 40, name, sizeof name);
        snprintf(text, sizeof text, "%s (%d)", name, (int)v->legend[k].ops);
        snprintf(classes, sizeof classes, "c%d", v->legend[k].color);
        legend_item(&pen, classes, text);
    }
    if (v->n_chain > 0)
        legend_item(&pen, "bg k", "critical chain");
    for (int32_t k = 0; k < v->n_groups; k++)
        if (sked_i_view_limited(v, &v->group[k])) {
            legend_item(&pen, "r", "idle");
            break;
        }
    if (v->copies > 0)
        legend_item(&pen, "c0 f", "next iterations");
    return pen.y - y;
}

/* ------------------------------------------------------------------ page */

/* until: least end of the time axis. Adds the height used to *height. */
static sked_status write_body(const sked_i_view *v, const sked_metrics *m, bool named, double until,
                              sked_i_buffer *out, double *height, sked_error *err)
{
    sked_i_panel p = {.view = v, .out = out, .left = margin + widest_row_name(v) + 12, .top = head + axis};
    p.width = page_width - margin - p.left;
    p.end = fmax(until, sked_i_view_end(v));
    size_rows(&p);
    write_heading(v, m, named, out);
    sked_status st = write_panel(&p, err);
    double y = p.top + p.height + (p.height > 700 ? 24 : 8);
    if (st == SKED_OK && v->copies > 0) {
        sked_i_panel folded = p;
        folded.folded = true;
        folded.end = v->schedule->ii;
        folded.top = y + 56;
        folded.width = fmin(p.width, fmax(260, 130 * v->schedule->ii));
        sked_i_label_draw(
            out,
            "<text x=\"~\" y=\"~\"><tspan class=\"b\">Steady state</tspan><tspan class=\"m\">"
            " \xc2\xb7 every iteration folded into one interval; \xc2\xb7sN: of the iteration begun "
            "N intervals before</tspan></text>\n",
            margin, y + 24);
        st = write_panel(&folded, err);
        y = folded.top + folded.height + 8;
    }
    if (st == SKED_OK)
        st = sked_i_shelves_draw(&p, y, &y, err);
    y += 28;
    y += write_legend(v, y, out);
    *height += y + margin;
    return st;
}

sked_status sked_i_svg_reach(sked_i_svg_page *page, const sked_report_data *data, sked_error *err)
{
    sked_i_view v = {0};
    const sked_status st = sked_i_view_init(&v, data, err);
    if (st == SKED_OK)
        page->until = fmax(page->until, sked_i_view_end(&v));
    sked_i_view_free(&v);
    return st;
}

sked_status sked_i_svg_add(sked_i_svg_page *page, const sked_report_data *data, sked_error *err)
{
    sked_i_view v = {0};
    sked_metrics m = {.size = sizeof m};
    sked_i_buffer *const out = &page->body;
    const bool below = page->height > 0;
    sked_status st = SKED_OK;
    SKED_TRY(sked_schedule_measure(data->problem, data->schedule, &m, err));
    SKED_TRY(sked_i_view_init(&v, data, err));
    if (below)
        sked_i_label_draw(out, "<g transform=\"translate(0 ~)\">\n", page->height);
    SKED_TRY(write_body(&v, &m, page->named, page->until, out, &page->height, err));
    sked_i_buffer_text(out, below ? "</g>\n" : "");
cleanup:
    sked_i_view_free(&v);
    return st;
}

sked_status sked_i_svg_end(sked_i_svg_page *page, const char *name, sked_status st, sked_i_buffer *out,
                           sked_error *err)
{
    char text[300];
    const int height = (int)page->height;
    if (st == SKED_OK && page->body.failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK) {
        sked_i_buffer_format(out,
                             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                             "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
                             page_width, height, page_width, height);
        sked_i_buffer_xml(out, sked_i_label_cut(name, 90, text, sizeof text));
        sked_i_buffer_text(out, page->named ? ": schedules</title>\n" : ": schedule</title>\n");
        write_style(out);
        sked_i_buffer_text(out, "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
        sked_i_buffer_add(out, page->body.data, (size_t)page->body.size);
        sked_i_buffer_text(out, "</svg>\n");
    }
    sked_i_buffer_free(&page->body);
    return st;
}

static sked_status svg_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    sked_i_svg_page page = {.height = 0};
    const sked_status st = sked_i_svg_add(&page, data, err);
    return sked_i_svg_end(&page, sked_graph_name(data->problem->graph), st, out, err);
}

const sked_i_report sked_i_report_svg = {{"svg", ".svg", "Gantt picture (SVG)"}, svg_write, false};
