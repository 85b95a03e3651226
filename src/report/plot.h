/* What the pictures of runs share: the page with its title and axes, grid, marks and legend. */
#ifndef SKED_REPORT_PLOT_H
#define SKED_REPORT_PLOT_H
#include "base/text.h"
#include "report/axis.h"
#include "report/report.h"

/* Room around the values, and where both stand on the page. */
void sked_i_plot_place(sked_i_axis *x, sked_i_axis *y);

/* Begins the page: <svg>, style, a name (or, where that is "", `what`), and the names of the axes; the same
 * with the graph's name. */
void sked_i_plot_page(sked_i_buffer *b, const char *name, const char *what, const char *x, const char *y);
void sked_i_plot_begin(sked_i_buffer *b, const sked_report_data *data, const char *what, const char *x,
                       const char *y);
/* "speedup on TARGET", cut where it is long. Returns buf. */
const char *sked_i_plot_speedup(const sked_robust_result *r, char *buf, size_t size);
void sked_i_plot_grid(sked_i_buffer *b, const sked_i_axis *x, const sked_i_axis *y);
/* Forms: diamond, circle, square, triangle, triangle on its head. */
void sked_i_plot_form(sked_i_buffer *b, int mark, double x, double y, double r);
/* One mark in its colour, of a class of the style (NULL: none). */
void sked_i_plot_mark(sked_i_buffer *b, const char *class, int mark, double x, double y, double r);
/* A mark and what it means, at *x, which moves behind it. */
void sked_i_plot_key(sked_i_buffer *b, int mark, const char *name, double *x);
/* The mark of each method with its name. */
void sked_i_plot_legend(sked_i_buffer *b, const sked_robust_result *c);
/* A ring around the winner's mark, and the word. */
void sked_i_plot_winner(sked_i_buffer *b, const sked_robust_result *c, double x, double y);
#endif
