/* Small line charts as SVG, light and dark: training curves, figures against temperature. */
#ifndef SKED_CLI_CHART_H
#define SKED_CLI_CHART_H
#include "program.h"

typedef struct chart_line {
    const char *name;
    const char *color; /* "#rrggbb" */
    bool dashed;
    const double *y; /* [n]; NAN: no point there */
} chart_line;

/* One panel: lines over the same x. */
typedef struct chart_panel {
    const char *title, *x_label;
    bool log_x; /* x > 0 */
    bool marks; /* a dot at every point */
    const double *x;
    int n;
    const chart_line *line;
    int n_lines;
} chart_panel;

/* Panels side by side in one file. IO where it cannot be written; nothing is left behind then. */
sked_status write_chart(const char *path, const chart_panel *panel, int count, sked_error *err);
#endif
