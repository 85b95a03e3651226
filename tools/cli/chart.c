#include "chart.h"

#include <math.h>

static const double panel_width = 400, panel_height = 300;
static const double left = 52, right = 16, top = 58, bottom = 46;

typedef struct scale {
    double from, to, low, high; /* values and their pixels */
    bool logarithmic;
} scale;

static double place(const scale *s, double x)
{
    const double share = s->logarithmic ? (log(x) - log(s->from)) / (log(s->to) - log(s->from))
                                        : (x - s->from) / (s->to - s->from);
    return s->low + share * (s->high - s->low);
}

static scale scale_of(const double *const *values, int rows, int n, bool logarithmic, double low, double high)
{
    scale s = {INFINITY, -INFINITY, low, high, logarithmic};
    for (int k = 0; k < rows; k++)
        for (int i = 0; i < n; i++)
            if (isfinite(values[k][i])) {
                s.from = fmin(s.from, values[k][i]);
                s.to = fmax(s.to, values[k][i]);
            }
    if (!(s.from <= s.to))
        s.from = s.to = 1;
    if (s.from == s.to) {
        s.from = logarithmic ? s.from / 2 : s.from - fmax(0.5, 0.05 * fabs(s.from));
        s.to = logarithmic ? s.to * 2 : s.to + fmax(0.5, 0.05 * fabs(s.to));
    }
    return s;
}

/* 1, 2 or 5 times a power of ten: at most six steps over the span. */
static double step_of(double span)
{
    const double base = pow(10, floor(log10(span / 6)));
    return span / base <= 6         ? base
           : span / (2 * base) <= 6 ? 2 * base
           : span / (5 * base) <= 6 ? 5 * base
                                    : 10 * base;
}

static void draw_x_tick(FILE *f, const scale *s, double value)
{
    const double x = place(s, value);
    fprintf(
        f,
        "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/><text class=\"m mi\" x=\"%.1f\" y=\"%.1f\">%.6g</text>\n",
        x, top, panel_height - bottom, x, panel_height - bottom + 17, value);
}

static void draw_axes(FILE *f, const chart_panel *p, const scale *x, const scale *y)
{
    const double step = step_of(y->to - y->from);
    for (double v = ceil(y->from / step) * step; v <= y->to + 1e-9 * step; v += step)
        fprintf(f,
                "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/><text class=\"m e\" x=\"%.1f\" "
                "y=\"%.1f\">%.6g</text>\n",
                left, place(y, v), panel_width - right, left - 7, place(y, v) + 4,
                fabs(v) < 1e-9 * step ? 0 : v);
    const double x_step = step_of(x->to - x->from);
    if (x->logarithmic)
        for (int i = 0; i < p->n; i++)
            draw_x_tick(f, x, p->x[i]);
    else
        for (double v = ceil(x->from / x_step) * x_step; v <= x->to + 1e-9 * x_step; v += x_step)
            draw_x_tick(f, x, v);
    fprintf(f,
            "<text class=\"m mi\" x=\"%.1f\" y=\"%.1f\">%s</text>\n<text class=\"ti\" x=\"%.1f\" "
            "y=\"22\">%s</text>\n",
            (left + panel_width - right) / 2, panel_height - 10, p->x_label, left, p->title);
}

static void draw_line(FILE *f, const chart_panel *p, const chart_line *l, const scale *x, const scale *y)
{
    bool pen = false;
    fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"%s d=\"",
            l->color, l->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (int i = 0; i < p->n; i++) {
        if (isfinite(l->y[i]))
            fprintf(f, "%c%.1f %.1f", pen ? 'L' : 'M', place(x, p->x[i]), place(y, l->y[i]));
        pen = isfinite(l->y[i]);
    }
    fputs("\"/>\n", f);
    for (int i = 0; p->marks && !l->dashed && i < p->n; i++)
        if (isfinite(l->y[i]))
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", place(x, p->x[i]),
                    place(y, l->y[i]), l->color);
}

static void draw_legend(FILE *f, const chart_panel *p)
{
    double at = left;
    for (int k = 0; k < p->n_lines; k++) {
        const chart_line *l = &p->line[k];
        fprintf(f,
                "<path stroke=\"%s\" stroke-width=\"2.5\"%s d=\"M%.1f 41h18\"/><text x=\"%.1f\" "
                "y=\"45\">%s</text>\n",
                l->color, l->dashed ? " stroke-dasharray=\"6 4\"" : "", at, at + 23, l->name);
        int letters = 0;
        while (l->name[letters])
            letters++;
        at += 36 + 6.4 * letters;
    }
}

static void draw_panel(FILE *f, const chart_panel *p)
{
    const double *rows[16] = {NULL};
    const int lines = p->n_lines < 16 ? p->n_lines : 16;
    for (int k = 0; k < lines; k++)
        rows[k] = p->line[k].y;
    const scale x = scale_of(&p->x, 1, p->n, p->log_x, left, panel_width - right);
    scale y = scale_of(rows, lines, p->n, false, panel_height - bottom, top);
    const double room = 0.05 * (y.to - y.from);
    y.from -= room;
    y.to += room;
    draw_axes(f, p, &x, &y);
    for (int k = 0; k < lines; k++)
        draw_line(f, p, &p->line[k], &x, &y);
    draw_legend(f, p);
}

sked_status write_chart(const char *path, const chart_panel *panel, int count, sked_error *err)
{
    file_out o;
    const sked_status st = file_begin(&o, err);
    if (st != SKED_OK)
        return st;
    FILE *f = o.file;
    fprintf(
        f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "role=\"img\">\n<style>svg{max-width:100%%;height:auto}text{font:12px -apple-system,'Segoe "
        "UI',Roboto,"
        "'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#1f2328}.ti{font-size:14px;font-weight:600}"
        ".m{fill:#59636e}.e{text-anchor:end}.mi{text-anchor:middle}.bg{fill:#fff}.g{stroke:#e3e8ed}\n"
        "@media (prefers-color-scheme:dark){text{fill:#e6e9ed}.m{fill:#a3adb8}.bg{fill:#14171c}"
        ".g{stroke:#2a3039}}</style>\n<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n",
        count * panel_width, panel_height, count * panel_width, panel_height);
    for (int k = 0; k < count; k++) {
        fprintf(f, "<g transform=\"translate(%.0f 0)\">\n", k * panel_width);
        draw_panel(f, &panel[k]);
        fputs("</g>\n", f);
    }
    fputs("</svg>\n", f);
    return file_end(&o, path, SKED_OK, err);
}
