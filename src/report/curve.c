/* The course of the loop: each measurement by its speedup, and the best after it. */
#include "report/comparison.h"
#include "report/course.h"
#include "report/label.h"
#include "report/plot.h"

typedef struct course {
    const sked_robust_result *r;
    sked_i_axis x, y;
    int32_t stride;
    double work; /* on the target */
} course;

static double speedup(const course *c, int32_t i)
{
    return c->work / c->r->measurement[i].time;
}

static void find_ranges(course *c)
{
    c->x = c->y = sked_i_axis_empty;
    sked_i_axis_add(&c->x, 1);
    sked_i_axis_add(&c->x, c->r->measurements);
    for (int32_t i = 0; i < c->r->measurements; i++) {
        sked_i_axis_add(&c->y, c->r->measurement[i].best);
        sked_i_axis_add(&c->y, speedup(c, i));
    }
    sked_i_plot_place(&c->x, &c->y);
}

/* A step at each measurement that is drawn, from the first one that succeeded on. */
static void draw_best(const course *c, sked_i_buffer *b)
{
    bool begun = false;
    sked_i_buffer_text(b, "<path class=\"l\" d=\"");
    for (int32_t i = 0; i < c->r->measurements; i += c->stride) {
        const double best = c->r->measurement[i].best;
        if (isnan(best))
            continue;
        sked_i_label_draw(b, begun ? "H~V~" : "M~ ~", sked_i_axis_at(&c->x, i + 1),
                          sked_i_axis_at(&c->y, best));
        begun = true;
    }
    sked_i_label_draw(b, begun ? "H~\"/>\n" : "M~ 0\"/>\n", sked_i_axis_at(&c->x, c->r->measurements));
}

/* A cross at the foot where one failed; a ring around one that was repeated. */
static void draw_measurement(const course *c, sked_i_buffer *b, int32_t i)
{
    const sked_robust_measurement *m = &c->r->measurement[i];
    const double x = sked_i_axis_at(&c->x, i + 1);
    if (isnan(m->time)) {
        sked_i_label_draw(b, "<path class=\"x\" d=\"M~ ~l7 7m0 -7l-7 7\"/>\n", x - 3.5, c->y.low - 9);
        return;
    }
    const double y = sked_i_axis_at(&c->y, speedup(c, i));
    sked_i_plot_mark(b, "p", sked_i_mark_of(c->r, m->member), x, y, 4);
    if (m->again)
        sked_i_label_draw(b, "<circle class=\"h\" cx=\"~\" cy=\"~\" r=\"7\"/>", x, y);
    sked_i_buffer_char(b, '\n');
}

static sked_status curve_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    course c = {.r = data->robust};
    char speedup_on[200];
    if (c.r == NULL || !sked_i_course_known(c.r))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a curve shows measurements: `sked robust` writes it, without --one-shot");
    c.stride = sked_i_course_stride(c.r);
    c.work = sked_i_course_work(c.r);
    find_ranges(&c);
    sked_i_plot_begin(out, data, "Best after each measurement", "measurements",
                      sked_i_plot_speedup(c.r, speedup_on, sizeof speedup_on));
    sked_i_plot_grid(out, &c.x, &c.y);
    draw_best(&c, out);
    for (int32_t i = 0; i < c.r->measurements; i += c.stride)
        draw_measurement(&c, out, i);
    sked_i_plot_legend(out, c.r);
    sked_i_buffer_text(out, "</svg>\n");
    return SKED_OK;
}

const sked_i_report sked_i_report_curve = {
    {"curve", ".curve.svg", "measurements of `sked robust` in their order, and the best after each"},
    curve_write,
    false};
