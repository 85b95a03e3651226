/*
 * The Gantt picture, in three files: svg.c lays out the page (title, axes, legend), svg_bars.c draws
 * the ops, shelves.c the values at their addresses. A page has one panel, pipelined schedules a second one:
 * the interval of the steady state.
 *
 * Size is bounded whatever the schedule: at most max_rects ops are drawn one by one (the widest), all
 * others are summed up in at most max_cells cells shaded by how busy they are.
 */
#ifndef SKED_REPORT_SVG_H
#define SKED_REPORT_SVG_H
#include "base/text.h"
#include "report/label.h"
#include "report/view.h"

typedef struct sked_i_panel {
    const sked_i_view *view;
    sked_i_buffer *out;
    double left, top, width; /* of the plot, pixels */
    double end;              /* time at the right edge */
    bool folded;             /* all iterations folded into [0, II) */
    double row_height, gap;  /* gap: between groups */
    double height;           /* all rows and gaps */
    double narrowest;        /* ops of fewer pixels than this go into cells */
} sked_i_panel;

/* Pixel of a time and top pixel of a row. */
static inline double sked_i_panel_x(const sked_i_panel *p, double time)
{
    return p->left + p->width * (time / p->end);
}
double sked_i_panel_y(const sked_i_panel *p, int32_t row);
/* Text of these classes of the picture's style. */
void sked_i_panel_text(sked_i_buffer *out, const char *classes, double x, double y, const char *text);
/* Draws every op of the view and the line through the critical chain (svg_bars.c). */
SKED_MUST_CHECK sked_status sked_i_panel_bars(sked_i_panel *p, sked_error *err);
/* A page of schedules, one under the other on one time axis. Zero before; sked_i_svg_end frees it. */
typedef struct sked_i_svg_page {
    sked_i_buffer body;
    double height;
    double until; /* the axes end there, or later */
    bool named;   /* methods are the headings, not the graph */
} sked_i_svg_page;
/* Lets the axes reach the end of this schedule. */
SKED_MUST_CHECK sked_status sked_i_svg_reach(sked_i_svg_page *page, const sked_report_data *data,
                                             sked_error *err);
SKED_MUST_CHECK sked_status sked_i_svg_add(sked_i_svg_page *page, const sked_report_data *data,
                                           sked_error *err);
/* name: of the graph. out gets the page, with st OK; returns st, or what went wrong. */
sked_status sked_i_svg_end(sked_i_svg_page *page, const char *name, sked_status st, sked_i_buffer *out,
                           sked_error *err);
#endif
