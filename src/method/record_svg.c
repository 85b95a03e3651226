/* The picture of a recording: a row per op, then the objective and what rules are broken by. */
#include "method/record.h"

#include <stdio.h>

enum { max_rows = 12, max_drawn = 200 };

typedef struct panel {
    sked_i_buffer *o;
    const sked_i_recording *r;
    int every; /* steps from one drawn to the next */
    double left, width, top, height;
    double low, high; /* of y */
    bool log;
} panel;

static double at_x(const panel *p, int k)
{
    const double last = fmax(1, (double)p->r->steps[p->r->count - 1].step);
    return p->left + p->width * (double)p->r->steps[k].step / last;
}

static double at_y(const panel *p, double y)
{
    const double low = p->log ? log10(p->low) : p->low, high = p->log ? log10(p->high) : p->high;
    const double v = p->log ? log10(fmax(y, p->low)) : y;
    return p->top + p->height * (1 - (fmin(high, fmax(low, v)) - low) / (high - low));
}

static void begin_picture(sked_i_buffer *o, double height)
{
    sked_i_buffer_format(
        o,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 %.0f\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<style>svg{background:#fff}text{fill:#333}.m{fill:#777;font-size:10px}"
        ".g{stroke:#ddd;fill:none}.r{stroke:#999;stroke-dasharray:3 3}.b{fill:#1f6fb4;opacity:.22}"
        ".l{fill:none;stroke:#1f6fb4;stroke-width:1.5}.c0{fill:none;stroke:#1f6fb4;stroke-width:1.5}"
        ".c1{fill:none;stroke:#c2571a;stroke-width:1.5}.c2{fill:none;stroke:#2a8c4a;stroke-width:1.5}"
        ".c3{fill:none;stroke:#8a4fb0;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){svg{background:#14171c}text{fill:#ddd}.m{fill:#999}"
        ".g{stroke:#353b44}.b{fill:#6cb2eb}.l,.c0{stroke:#6cb2eb}.c1{stroke:#e8935c}.c2{stroke:#6cc78a}"
        ".c3{stroke:#c39be0}}</style>\n",
        height);
}

static const char *short_number(double x, char buf[40])
{
    snprintf(buf, 40, "%.4g", x);
    return buf;
}

/* Names come from input: nothing in them may be markup. */
static void write_name(sked_i_buffer *o, const char *text, int most)
{
    for (; *text && most > 0; text++, most--)
        if (*text == '<' || *text == '>' || *text == '&' || (unsigned char)*text < ' ')
            sked_i_buffer_char(o, '_');
        else
            sked_i_buffer_char(o, *text);
}

/* A number for people: integers plain, else six digits. */
static const char *human(double x, char buf[40])
{
    snprintf(buf, 40, x == floor(x) && fabs(x) < 1e15 ? "%.0f" : "%.6g", x);
    return buf;
}

static void draw_restarts(const panel *p)
{
    for (int k = 0; k < p->r->count; k++)
        if (p->r->steps[k].restart)
            sked_i_buffer_format(p->o, "<path class=\"r\" d=\"M%.1f %.1fV%.1f\"/>\n", at_x(p, k), p->top,
                                 p->top + p->height);
}

/* One op: its mean as a line, one sigma to each side as a band, on a scale of its own. */
static void draw_row(panel *p, int32_t k)
{
    const sked_i_recording *r = p->r;
    char name[300], low[40], high[40];
    p->low = INFINITY;
    p->high = -INFINITY;
    for (int t = 0; t < r->count; t++) {
        const size_t at = (size_t)t * (size_t)r->ops + (size_t)k;
        p->low = fmin(p->low, r->mean[at] - r->spread[at]);
        p->high = fmax(p->high, r->mean[at] + r->spread[at]);
    }
    p->high = fmax(p->high, p->low + 1e-9);
    sked_i_buffer_format(p->o, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", p->left - 8,
                         p->top + p->height / 2 + 4);
    write_name(p->o, sked_graph_op_name(r->problem->graph, r->op[k], name, sizeof name), 14);
    sked_i_buffer_format(p->o, "</text><text class=\"m\" x=\"%.1f\" y=\"%.1f\">%s to %s</text>\n",
                         p->left + p->width + 6, p->top + p->height / 2 + 4,
                         human(round(10 * p->low) / 10, low), human(round(10 * p->high) / 10, high));
    sked_i_buffer_format(p->o, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/><path class=\"b\" d=\"", p->left,
                         p->top + p->height + 2, p->left + p->width);
    const int drawn = (r->count + p->every - 1) / p->every;
    for (int t = 0; t < 2 * drawn; t++) {
        const int step = p->every * (t < drawn ? t : 2 * drawn - 1 - t);
        const size_t at = (size_t)step * (size_t)r->ops + (size_t)k;
        const double y = r->mean[at] + (t < drawn ? r->spread[at] : -r->spread[at]);
        sked_i_buffer_format(p->o, "%c%.1f %.1f", t == 0 ? 'M' : 'L', at_x(p, step), at_y(p, y));
    }
    sked_i_buffer_format(p->o, "Z\"/><path class=\"l\" d=\"");
    for (int t = 0; t < r->count; t += p->every)
        sked_i_buffer_format(p->o, "%c%.1f %.1f", t == 0 ? 'M' : 'L', at_x(p, t),
                             at_y(p, r->mean[(size_t)t * (size_t)r->ops + (size_t)k]));
    sked_i_buffer_format(p->o, "\"/>\n");
}

/* A line per number of the steps; 0 the objective, 1 the best, 2.. the violations. */
static double number_of(const sked_i_record_step *t, int which)
{
    return which == 0 ? t->objective : which == 1 ? t->best : t->violation[which - 2];
}

static bool widen(panel *p, int which)
{
    bool any = false;
    for (int k = 0; k < p->r->count; k++) {
        const double y = number_of(&p->r->steps[k], which);
        if (!isfinite(y) || (p->log && !(y > 1e-4)))
            continue;
        p->low = fmin(p->low, y);
        p->high = fmax(p->high, y);
        any = true;
    }
    return any;
}

static void draw_line(const panel *p, int which, int color)
{
    bool drawn = false;
    sked_i_buffer_format(p->o, "<path class=\"c%d\" d=\"", color);
    for (int k = 0; k < p->r->count; k += p->every) {
        const double y = number_of(&p->r->steps[k], which);
        if (isfinite(y)) {
            sked_i_buffer_format(p->o, "%c%.1f %.1f", drawn ? 'L' : 'M', at_x(p, k), at_y(p, y));
            drawn = true;
        }
    }
    sked_i_buffer_format(p->o, "\"/>\n");
}

/* Lines first..last under one title; false: none of them has a number. */
static bool draw_lines(panel *p, const char *title, int first, int last)
{
    static const char *const names[] = {"smoothed objective", "best schedule", "dependencies",
                                        "recurrences",        "latency",       "capacities"};
    char low[40], high[40];
    double x = p->left;
    bool any[8] = {false}, some = false;
    p->low = INFINITY;
    p->high = -INFINITY;
    for (int w = first; w <= last; w++)
        some = (any[w] = widen(p, w)) || some;
    if (!some)
        return false;
    if (!(p->high > p->low))
        p->high = p->low + fmax(1, fabs(p->low));
    sked_i_buffer_format(p->o, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", p->left - 8,
                         p->top + 10, title);
    sked_i_buffer_format(p->o,
                         "<path class=\"g\" d=\"M%.1f %.1fH%.1fM%.1f %.1fH%.1f\"/>"
                         "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">%s</text><text class=\"m\" x=\"%.1f\" "
                         "y=\"%.1f\">%s</text>\n",
                         p->left, p->top, p->left + p->width, p->left, p->top + p->height, p->left + p->width,
                         p->left + p->width + 6, p->top + 4, short_number(p->high, high),
                         p->left + p->width + 6, p->top + p->height + 4, short_number(p->low, low));
    for (int w = first; w <= last; w++) {
        if (!any[w])
            continue;
        draw_line(p, w, w - first);
        sked_i_buffer_format(
            p->o,
            "<path class=\"c%d\" d=\"M%.1f %.1fh16\"/><text class=\"m\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            w - first, x, p->top + p->height + 14, x + 20, p->top + p->height + 18, names[w]);
        x += 130;
    }
    draw_restarts(p);
    return true;
}

void sked_i_recording_draw(const sked_i_recording *r, sked_i_buffer *o)
{
    const int32_t rows = r->ops < max_rows ? r->ops : max_rows;
    const double height = 60 + 34.0 * rows + 240;
    panel p = {.o = o, .r = r, .left = 120, .width = 540, .top = 40, .height = 28};
    p.every = 1 + r->count / max_drawn;
    char last[40];
    begin_picture(o, height);
    sked_i_buffer_format(
        o, "<text x=\"120\" y=\"24\">start of each op over the gradient steps: mean, one sigma each way"
           "</text>\n");
    for (int32_t k = 0; k < rows; k++) {
        draw_row(&p, (int32_t)((int64_t)k * r->ops / rows));
        p.top += 34;
    }
    panel all = p;
    all.top = 40;
    all.height = 34.0 * rows;
    draw_restarts(&all);
    p.top += 20;
    p.height = 70;
    if (draw_lines(&p, "value", 0, 1))
        p.top += 110;
    p.log = true;
    draw_lines(&p, "broken rules (log)", 2, 5);
    sked_i_buffer_format(o, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">step %s</text>\n",
                         p.left + p.width, p.top + p.height + 18,
                         human((double)r->steps[r->count - 1].step, last));
    sked_i_buffer_format(o, "</svg>\n");
}
