#include "chart.h"

#include "../../src/report/axis.h"

static const double panel_width = 400, panel_height = 300;
static const double left = 52, right = 16, top = 58, bottom = 46;

/* a: an axis without values. */
static sked_i_axis axis_of(const double *const *values, int rows, int n, sked_i_axis a, double room)
{
    for (int k = 0; k < rows; k++)
        for (int i = 0; i < n; i++)
            sked_i_axis_add(&a, values[k][i]);
    sked_i_axis_settle(&a, room);
    return a;
}

static void draw_axes(FILE *f, const chart_panel *p, const sked_i_axis *x, const sked_i_axis *y)
{
    sked_i_tick tick[SKED_I_MOST_TICKS];
    int n = sked_i_axis_ticks(y, 6, tick);
    for (int i = 0; i < n; i++)
        fprintf(f,
                "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/><text class=\"m e\" x=\"%.1f\" "
                "y=\"%.1f\">%s</text>\n",
                left, tick[i].at, panel_width - right, left - 7, tick[i].at + 4, tick[i].label);
    n = sked_i_axis_ticks(x, 6, tick);
    for (int i = 0; i < n; i++)
        fprintf(f,
                "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/><text class=\"m mi\" x=\"%.1f\" "
                "y=\"%.1f\">%s</text>\n",
                tick[i].at, top, panel_height - bottom, tick[i].at, panel_height - bottom + 17,
                tick[i].label);
    fprintf(f,
            "<text class=\"m mi\" x=\"%.1f\" y=\"%.1f\">%s</text>\n<text class=\"ti\" x=\"%.1f\" "
            "y=\"22\">%s</text>\n",
            (left + panel_width - right) / 2, panel_height - 10, p->x_label, left, p->title);
}

static void draw_line(FILE *f, const chart_panel *p, const chart_line *l, const sked_i_axis *x,
                      const sked_i_axis *y)
{
    bool pen = false;
    fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"%s d=\"",
            l->color, l->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (int i = 0; i < p->n; i++) {
        if (isfinite(l->y[i]))
            fprintf(f, "%c%.1f %.1f", pen ? 'L' : 'M', sked_i_axis_at(x, p->x[i]),
                    sked_i_axis_at(y, l->y[i]));
        pen = isfinite(l->y[i]);
    }
    fputs("\"/>\n", f);
    for (int i = 0; p->marks && !l->dashed && i < p->n; i++)
        if (isfinite(l->y[i]))
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
                    sked_i_axis_at(x, p->x[i]), sked_i_axis_at(y, l->y[i]), l->color);
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
    const sked_i_axis across = {INFINITY, -INFINITY, left, panel_width - right, p->log_x, false};
    const sked_i_axis up = {INFINITY, -INFINITY, panel_height - bottom, top, false, false};
    const sked_i_axis x = axis_of(&p->x, 1, p->n, across, 0), y = axis_of(rows, lines, p->n, up, 0.05);
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
