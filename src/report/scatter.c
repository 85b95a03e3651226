/* The picture of a robust run: every candidate by its speedup on the proxy and on the target. */
#include "report/comparison.h"
#include "report/label.h"
#include "report/palette.h"

static const double page_width = 760, page_height = 480;
static const double left = 64, right = 20, top = 74, bottom = 52;

typedef struct axis {
    double from, to;
    double low, high; /* pixels */
} axis;

static double place(const axis *a, double x)
{
    return a->low + (a->high - a->low) * (x - a->from) / (a->to - a->from);
}

/* Room around the values; equal ones get a range of their own. */
static void stretch(axis *a)
{
    if (!(a->to >= a->from)) {
        a->from = 0;
        a->to = 1;
    }
    const double room = fmax(0.06 * (a->to - a->from), 0.005 * fmax(fabs(a->to), 1e-12));
    a->from -= room;
    a->to += room;
}

static void find_ranges(const sked_robust_result *c, axis *x, axis *y)
{
    *x = *y = (axis){.from = INFINITY, .to = -INFINITY};
    for (int m = 0; m < c->count; m++)
        for (int32_t k = 0; k < c->member[m]->count; k++) {
            const double proxy = c->member[m]->proxy[k], target = c->member[m]->target[k];
            if (isnan(target))
                continue;
            x->from = fmin(x->from, proxy);
            x->to = fmax(x->to, proxy);
            y->from = fmin(y->from, target);
            y->to = fmax(y->to, target);
        }
    stretch(x);
    stretch(y);
    x->low = left;
    x->high = page_width - right;
    y->low = page_height - bottom;
    y->high = top;
}

static void draw_grid(sked_i_buffer *b, const axis *a, bool upright)
{
    const sked_i_ticks t = sked_i_ticks_choose(a->to - a->from, upright ? 9 : 7);
    char label[40];
    for (int64_t i = (int64_t)ceil(a->from / t.step); (double)i * t.step <= a->to; i++) {
        const double at = place(a, (double)i * t.step);
        if (upright)
            sked_i_label_draw(b, "<path class=\"g\" d=\"M~ ~V~\"/><text class=\"m mi\" x=\"~\" y=\"~\">", at,
                              top, page_height - bottom, at, page_height - bottom + 18);
        else
            sked_i_label_draw(b, "<path class=\"g\" d=\"M~ ~H~\"/><text class=\"m e\" x=\"~\" y=\"~\">", left,
                              at, page_width - right, left - 8, at + 4);
        sked_i_buffer_text(b, sked_i_ticks_label(&t, i, label, sizeof label));
        sked_i_buffer_text(b, "</text>\n");
    }
}

/* Forms: diamond, circle, square, triangle, triangle on its head. */
static void draw_mark(sked_i_buffer *b, int mark, double x, double y, double r)
{
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

static void draw_points(sked_i_buffer *b, const sked_robust_result *c, const axis *x, const axis *y)
{
    for (int m = 0; m < c->count; m++) {
        const sked_robust_member *s = c->member[m];
        const int mark = sked_i_mark_of(c, m);
        sked_i_buffer_format(b, "<g class=\"p\" fill=\"#%s\">", sked_i_mark_color(mark));
        for (int32_t k = 0; k < s->count; k += sked_i_mark_stride(s))
            if (!isnan(s->target[k]))
                draw_mark(b, mark, place(x, s->proxy[k]), place(y, s->target[k]), s->count == 1 ? 5 : 3.5);
        sked_i_buffer_text(b, "</g>\n");
    }
}

static void draw_winner(sked_i_buffer *b, const sked_robust_result *c, const axis *x, const axis *y)
{
    const sked_robust_member *s = c->member[c->winner];
    if (s->best < 0)
        return;
    const double px = place(x, s->proxy[s->best]), py = place(y, s->target[s->best]);
    const int mark = sked_i_mark_of(c, c->winner);
    sked_i_buffer_format(b, "<g fill=\"#%s\">", sked_i_mark_color(mark));
    draw_mark(b, mark, px, py, 4.5);
    sked_i_label_draw(b, "</g><circle class=\"w\" cx=\"~\" cy=\"~\" r=\"9\"/>\n", px, py);
    const bool right_half = px > 0.6 * page_width;
    sked_i_label_draw(b, "<text class=\"b~\" x=\"~\" y=\"~\">winner</text>\n", right_half ? 1.0 : 0.0,
                      px + (right_half ? -14 : 14), py + 4);
}

static void draw_legend(sked_i_buffer *b, const sked_robust_result *c)
{
    double x = left;
    for (int m = 0; m < c->count; m++) {
        char name[60];
        const int mark = sked_i_mark_of(c, m);
        sked_i_buffer_format(b, "<g fill=\"#%s\">", sked_i_mark_color(mark));
        draw_mark(b, mark, x + 5, 54, 4.5);
        sked_i_label_draw(b, "</g><text x=\"~\" y=\"58\">", x + 15);
        sked_i_buffer_xml(b, sked_i_label_cut(c->member[m]->label, 24, name, sizeof name));
        sked_i_buffer_text(b, "</text>\n");
        x += 36 + sked_i_label_width(name, 12);
    }
}

static void draw_frame(sked_i_buffer *b, const sked_report_data *data, const sked_robust_result *c)
{
    char text[120];
    const char *name = sked_graph_name(data->problem->graph);
    sked_i_buffer_format(
        b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
        "%.0f %.0f\" role=\"img\">\n<title>Candidates on proxy and target</title>\n<style>\n",
        page_width, page_height, page_width, page_height);
    sked_i_buffer_text(
        b, "svg{max-width:100%;height:auto}text{font:12px -apple-system,'Segoe UI',Roboto,"
           "'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#1f2328}.ti{font-size:16px;"
           "font-weight:600}.m{fill:#59636e}.e,.b1{text-anchor:end}.mi{text-anchor:middle}"
           ".b0,.b1{font-weight:600}.bg{fill:#fff}.g{stroke:#e3e8ed;fill:none}"
           ".p{fill-opacity:.62}.w{fill:none;stroke-width:2;stroke:#" SKED_I_CRITICAL_LIGHT "}\n"
           "@media (prefers-color-scheme:dark){text{fill:#e6e9ed}.m{fill:#a3adb8}"
           ".bg{fill:#14171c}.p{fill-opacity:.8}.g{stroke:#2a3039}.w{stroke:#" SKED_I_CRITICAL_DARK
           "}}\n</style>\n"
           "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
    sked_i_label_draw(b, "<text class=\"ti\" x=\"~\" y=\"28\">", left);
    sked_i_buffer_xml(b, sked_i_label_cut(*name ? name : "Candidates", 60, text, sizeof text));
    sked_i_label_draw(b, "</text>\n<text class=\"m mi\" x=\"~\" y=\"~\">speedup on the proxy</text>\n",
                      (left + page_width - right) / 2, page_height - 12);
    sked_i_label_draw(b, "<text class=\"m mi\" transform=\"rotate(-90 16 ~)\" x=\"16\" y=\"~\">speedup on ",
                      (top + page_height - bottom) / 2, (top + page_height - bottom) / 2);
    sked_i_buffer_xml(b, sked_i_label_cut(c->target, 40, text, sizeof text));
    sked_i_buffer_text(b, "</text>\n");
}

static sked_status scatter_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    const sked_robust_result *c = data->robust;
    axis x, y;
    if (c == NULL || c->count == 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a scatter picture shows candidates on a target: `sked robust` writes it");
    find_ranges(c, &x, &y);
    draw_frame(out, data, c);
    draw_grid(out, &x, true);
    draw_grid(out, &y, false);
    draw_points(out, c, &x, &y);
    draw_winner(out, c, &x, &y);
    draw_legend(out, c);
    sked_i_buffer_text(out, "</svg>\n");
    return SKED_OK;
}

const sked_i_report sked_i_report_scatter = {
    {"scatter", ".scatter.svg", "candidates of `sked robust` by their speedups on proxy and target"},
    scatter_write,
    false};
