#include "report/progress.h"

#include "report/page.h"

#include "report/comparison.h"
#include "report/label.h"
#include "report/plot.h"

#include <string.h>

static const double earliest = 1e-6; /* s: where the logarithmic axis begins at the latest */

enum { METHODS = SKED_I_MARKS }; /* with a mark of their own; the last is for all others */

typedef struct progress {
    const sked_report_data *data;
    sked_i_axis x, y;
    double end; /* s */
    const char *method[METHODS];
    int methods;
    bool others; /* the last of them stands for more than one */
} progress;

bool sked_i_progress_known(const sked_report_data *data)
{
    return data->curve != NULL && data->n_curve > 1;
}

static double seconds_of(const sked_curve_point *p)
{
    return fmax(earliest, p->seconds);
}

static double end_of(const sked_report_data *data)
{
    return fmax(data->seconds, seconds_of(data->curve[data->n_curve - 1]));
}

/* The mark of method k; that of single schedules comes last. */
static int mark_of(int k)
{
    return (k + 1) % SKED_I_MARKS;
}

static const char *name_of(const progress *c, int k)
{
    return c->others && k == METHODS - 1 ? "others" : c->method[k];
}

/* Number of a method in the order in which they first appear. */
static int number_of(progress *c, const char *method)
{
    int k = 0;
    while (k < c->methods && strcmp(c->method[k], method) != 0)
        k++;
    c->others = c->others || k == METHODS;
    if (k == c->methods && k < METHODS)
        c->method[c->methods++] = method;
    return k < METHODS ? k : METHODS - 1;
}

/* ------------------------------------------------------------------ the page's data */

static void add_point(sked_i_buffer *b, const sked_curve_point *p, int method, bool first)
{
    sked_i_buffer_format(b, "%s{\"method\":%d,\"evaluations\":%lld", first ? "" : ",\n", method,
                         (long long)p->evaluations);
    sked_i_page_member(b, "seconds", seconds_of(p));
    sked_i_page_member(b, "value", p->value);
    sked_i_page_member(b, "bound", p->bound);
    if (p->ii > 0)
        sked_i_page_member(b, "ii", p->ii);
    sked_i_buffer_char(b, '}');
}

void sked_i_progress_json(const sked_report_data *data, sked_i_buffer *out)
{
    progress c = {.data = data};
    sked_i_buffer_text(out, "{\"objective\":");
    sked_i_buffer_json(out, sked_objective_name(data->problem->objective));
    sked_i_page_member(out, "seconds", end_of(data));
    sked_i_buffer_text(out, ",\n\"points\":[");
    for (int32_t i = 0; i < data->n_curve; i++)
        add_point(out, data->curve[i], number_of(&c, data->curve[i]->method), i == 0);
    sked_i_buffer_text(out, "],\n\"methods\":[");
    for (int k = 0; k < c.methods; k++) {
        sked_i_buffer_text(out, k > 0 ? ",{\"name\":" : "{\"name\":");
        sked_i_buffer_json(out, name_of(&c, k));
        sked_i_buffer_format(out, ",\"color\":\"#%s\",\"form\":%d}", sked_i_mark_color(mark_of(k)),
                             mark_of(k));
    }
    sked_i_buffer_text(out, "]}");
}

/* ------------------------------------------------------------------ the picture */

static void find_ranges(progress *c)
{
    c->x = c->y = sked_i_axis_empty;
    c->x.logarithmic = true;
    sked_i_axis_add(&c->x, c->end);
    for (int32_t i = 0; i < c->data->n_curve; i++) {
        const sked_curve_point *p = c->data->curve[i];
        sked_i_axis_add(&c->x, seconds_of(p));
        if (isfinite(p->value))
            sked_i_axis_add(&c->y, p->value);
        if (isfinite(p->bound))
            sked_i_axis_add(&c->y, p->bound);
    }
    sked_i_plot_place(&c->x, &c->y);
}

/* A step at each point, from the first with a number on, to the end of the run. */
static void draw_steps(const progress *c, sked_i_buffer *b, bool bound)
{
    bool begun = false;
    sked_i_buffer_text(b, bound ? "<path class=\"lb\" d=\"" : "<path class=\"l\" d=\"");
    for (int32_t i = 0; i < c->data->n_curve; i++) {
        const sked_curve_point *p = c->data->curve[i];
        const double y = bound ? p->bound : p->value;
        if (!isfinite(y))
            continue;
        sked_i_label_draw(b, begun ? "H~V~" : "M~ ~", sked_i_axis_at(&c->x, seconds_of(p)),
                          sked_i_axis_at(&c->y, y));
        begun = true;
    }
    sked_i_label_draw(b, begun ? "H~\"/>\n" : "M~ 0\"/>\n", sked_i_axis_at(&c->x, c->end));
}

/* Incumbents, in the colour of the method that found them. */
static void draw_marks(progress *c, sked_i_buffer *b)
{
    const int32_t n = c->data->n_curve, stride = 1 + n / SKED_I_MOST_POINTS;
    double before = INFINITY;
    for (int32_t i = 0; i < n; i++) {
        const sked_curve_point *p = c->data->curve[i];
        const bool incumbent = p->value != before;
        const int k = incumbent ? number_of(c, p->method) : 0;
        if (incumbent && (i % stride == 0 || i == n - 1)) {
            sked_i_plot_mark(b, NULL, mark_of(k), sked_i_axis_at(&c->x, seconds_of(p)),
                             sked_i_axis_at(&c->y, p->value), 3.5);
            sked_i_buffer_char(b, '\n');
        }
        before = p->value;
    }
}

static void draw_keys(const progress *c, sked_i_buffer *b)
{
    double x = 64;
    for (int k = 0; k < c->methods; k++)
        sked_i_plot_key(b, mark_of(k), name_of(c, k), &x);
    sked_i_label_draw(b, "<path class=\"lb\" d=\"M~ 54h22\"/><text x=\"~\" y=\"58\">lower bound</text>\n", x,
                      x + 30);
}

static sked_status progress_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    progress c = {.data = data};
    if (data->curve == NULL || data->n_curve == 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a picture of the progress shows value over time: `sked schedule` writes it");
    c.end = end_of(data);
    find_ranges(&c);
    sked_i_plot_begin(out, data, "Value over time", "seconds", sked_objective_name(data->problem->objective));
    sked_i_plot_grid(out, &c.x, &c.y);
    draw_steps(&c, out, true);
    draw_steps(&c, out, false);
    draw_marks(&c, out);
    draw_keys(&c, out);
    sked_i_buffer_text(out, "</svg>\n");
    return SKED_OK;
}

const sked_i_report sked_i_report_progress = {
    {"progress", ".progress.svg", "value and lower bound of `sked schedule` over time"},
    progress_write,
    false};
