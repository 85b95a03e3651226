#include "report/plot.h"

#include "report/comparison.h"
#include "report/label.h"
#include "report/palette.h"

#include <assert.h>
#include <stdio.h>

static const double page_width = 760, page_height = 480;
static const double left = 64, right = 20, top = 74, bottom = 52;

void sked_i_plot_place(sked_i_axis *x, sked_i_axis *y)
{
    sked_i_axis_settle(x, 0.06);
    sked_i_axis_settle(y, 0.06);
    x->low = left;
    x->high = page_width - right;
    y->low = page_height - bottom;
    y->high = top;
}

/* Lines across the plot and their labels. */
static void draw_grid(sked_i_buffer *b, const sked_i_axis *a, bool upright)
{
    sked_i_tick tick[SKED_I_MOST_TICKS];
    const int n = sked_i_axis_ticks(a, upright ? 9 : 7, tick);
    for (int i = 0; i < n; i++) {
        const double at = tick[i].at;
        if (upright)
            sked_i_label_draw(b, "<path class=\"g\" d=\"M~ ~V~\"/><text class=\"m mi\" x=\"~\" y=\"~\">", at,
                              top, page_height - bottom, at, page_height - bottom + 18);
        else
            sked_i_label_draw(b, "<path class=\"g\" d=\"M~ ~H~\"/><text class=\"m e\" x=\"~\" y=\"~\">", left,
                              at, page_width - right, left - 8, at + 4);
        sked_i_buffer_text(b, tick[i].label);
        sked_i_buffer_text(b, "</text>\n");
    }
}

void sked_i_plot_grid(sked_i_buffer *b, const sked_i_axis *x, const sked_i_axis *y)
{
    draw_grid(b, x, true);
    draw_grid(b, y, false);
}

void sked_i_plot_form(sked_i_buffer *b, int mark, double x, double y, double r)
{
    assert(mark >= 0 && mark < SKED_I_MARKS);
    switch (mark) {
    case 0:
        sked_i_label_draw(b, "<path d=\"M~ ~l~ ~l~ ~l~ ~z\"/>", x, y - 1.4 * r, 1.4 * r, 1.4 * r, -1.4 * r,
                          1.4 * r, -1.4 * r, -1.4 * r);
        break;
    case 1:
        sked_i_label_draw(b, "<circle cx=\"~\" cy=\"~\" r=\"~\"/>", x, y, r);
        break;
    case 2:
        sked_i_label_draw(b, "<path d=\"M~ ~h~v~h~z\"/>", x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r,
                          -1.8 * r);
        break;
    default: {
        const double s = mark == 3 ? 1 : -1;
        sked_i_label_draw(b, "<path d=\"M~ ~l~ ~h~z\"/>", x, y - 1.15 * s * r, 1.1 * r, 2 * s * r, -2.2 * r);
    }
    }
}

void sked_i_plot_mark(sked_i_buffer *b, const char *class, int mark, double x, double y, double r)
{
    if (class != NULL)
        sked_i_buffer_format(b, "<g class=\"%s\" fill=\"#%s\">", class, sked_i_mark_color(mark));
    else
        sked_i_buffer_format(b, "<g fill=\"#%s\">", sked_i_mark_color(mark));
    sked_i_plot_form(b, mark, x, y, r);
    sked_i_buffer_text(b, "</g>");
}

void sked_i_plot_key(sked_i_buffer *b, int mark, const char *name, double *x)
{
    sked_i_plot_mark(b, NULL, mark, *x + 5, 54, 4.5);
    sked_i_label_draw(b, "<text x=\"~\" y=\"58\">", *x + 15);
    sked_i_buffer_xml(b, name);
    sked_i_buffer_text(b, "</text>\n");
    *x += 36 + sked_i_label_width(name, 12);
}

void sked_i_plot_legend(sked_i_buffer *b, const sked_robust_result *c)
{
    double x = left;
    char name[60];
    for (int m = 0; m < c->count; m++)
        sked_i_plot_key(b, sked_i_mark_of(c, m), sked_i_label_cut(c->member[m]->label, 24, name, sizeof name),
                        &x);
}

void sked_i_plot_winner(sked_i_buffer *b, const sked_robust_result *c, double x, double y)
{
    const bool right_half = x > 0.6 * page_width;
    sked_i_plot_mark(b, NULL, sked_i_mark_of(c, c->winner), x, y, 4.5);
    sked_i_label_draw(b, "<circle class=\"w\" cx=\"~\" cy=\"~\" r=\"9\"/>\n", x, y);
    sked_i_label_draw(b, "<text class=\"b~\" x=\"~\" y=\"~\">winner</text>\n", right_half ? 1.0 : 0.0,
                      x + (right_half ? -14 : 14), y + 4);
}

const char *sked_i_plot_speedup(const sked_robust_result *r, char *buf, size_t size)
{
    char target[120];
    snprintf(buf, size, "speedup on %s", sked_i_label_cut(r->target, 40, target, sizeof target));
    return buf;
}

void sked_i_plot_page(sked_i_buffer *b, const char *name, const char *what, const char *x, const char *y)
{
    char text[120];
    sked_i_buffer_format(
        b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
        "%.0f %.0f\" role=\"img\">\n<title>%s</title>\n<style>\n",
        page_width, page_height, page_width, page_height, what);
    sked_i_buffer_text(
        b, "svg{max-width:100%;height:auto}text{font:12px -apple-system,'Segoe UI',Roboto,"
           "'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#1f2328}.ti{font-size:16px;"
           "font-weight:600}.m{fill:#59636e}.e,.b1{text-anchor:end}.mi{text-anchor:middle}"
           ".b0,.b1{font-weight:600}.bg{fill:#fff}.g{stroke:#e3e8ed;fill:none}.l{stroke:#0b62c4;stroke-width:"
           "2;fill:none}.lb{stroke:#59636e;stroke-width:1.6;stroke-dasharray:6 4;fill:none}"
           ".x{stroke:#c0392b;stroke-width:1.6;fill:none}.h{fill:none;stroke:#59636e;stroke-width:1.2}"
           ".p{fill-opacity:.62}.w{fill:none;stroke-width:2;stroke:#" SKED_I_CRITICAL_LIGHT "}\n"
           "@media (prefers-color-scheme:dark){text{fill:#e6e9ed}.m{fill:#a3adb8}"
           ".bg{fill:#14171c}.p{fill-opacity:.8}.g{stroke:#2a3039}.l{stroke:#6cb0ff}.lb{stroke:#a3adb8}.x{"
           "stroke:#ff7b72}.h{"
           "stroke:#a3adb8}.w{stroke:#" SKED_I_CRITICAL_DARK "}}\n</style>\n"
           "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
    sked_i_label_draw(b, "<text class=\"ti\" x=\"~\" y=\"28\">", left);
    sked_i_buffer_xml(b, sked_i_label_cut(*name ? name : what, 60, text, sizeof text));
    sked_i_label_draw(b, "</text>\n<text class=\"m mi\" x=\"~\" y=\"~\">", (left + page_width - right) / 2,
                      page_height - 12);
    sked_i_buffer_xml(b, x);
    sked_i_buffer_text(b, "</text>\n");
    sked_i_label_draw(b, "<text class=\"m mi\" transform=\"rotate(-90 16 ~)\" x=\"16\" y=\"~\">",
                      (top + page_height - bottom) / 2, (top + page_height - bottom) / 2);
    sked_i_buffer_xml(b, y);
    sked_i_buffer_text(b, "</text>\n");
}

void sked_i_plot_begin(sked_i_buffer *b, const sked_report_data *data, const char *what, const char *x,
                       const char *y)
{
    sked_i_plot_page(b, sked_graph_name(data->problem->graph), what, x, y);
}
