/* The ops of a Gantt panel: one rectangle each where they are wide enough, shaded cells elsewhere. */
#include "report/svg.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { max_rects = 5000, max_cells = 24000, max_links = 1500, shades = 4 };
static const int64_t few_segments = 2500; /* up to here everything is drawn one by one */
static const double least_cell = 2, cell_row = 4, font_size = 11;
static const double least_outline = 9; /* narrower critical ops are underlined */

/* ------------------------------------------------------------------ segments */

/* One piece of a bar on the paper. */
typedef struct segment {
    const sked_i_bar *bar;
    double x0, x1;
    int32_t row, iteration; /* folded: the stage */
} segment;

typedef void (*segment_fn)(void *context, const sked_i_panel *p, const segment *s);

/* A bar of the steady state: where it begins in the interval, in two pieces where it crosses its end. */
static void each_folded(const sked_i_panel *p, const sked_i_bar *b, segment_fn fn, void *context)
{
    const double ii = p->view->schedule->ii, length = b->finish - b->start;
    const double phase = fmod(b->start, ii), end = phase + fmod(length, ii);
    const int32_t stage = b->start / ii < 1e9 ? (int32_t)(b->start / ii) : 1000000000;
    const bool whole = length >= ii - p->view->tolerance;
    for (int32_t k = 0; k < b->lanes - 1; k++)
        fn(context, p, &(segment){b, p->left, sked_i_panel_x(p, ii), b->row + k, stage});
    const int32_t row = b->row + b->lanes - 1;
    if (whole && end - phase <= p->view->tolerance) {
        fn(context, p, &(segment){b, p->left, sked_i_panel_x(p, ii), row, stage});
        return;
    }
    fn(context, p,
       &(segment){b, sked_i_panel_x(p, phase), sked_i_panel_x(p, end < ii ? end : ii), row, stage});
    if (end > ii + p->view->tolerance)
        fn(context, p, &(segment){b, p->left, sked_i_panel_x(p, end - ii), row, stage});
}

static void each_segment(const sked_i_panel *p, segment_fn fn, void *context)
{
    const sked_i_view *v = p->view;
    for (int32_t k = p->folded ? 0 : v->copies; k >= 0; k--)
        for (int64_t i = 0; i < v->n_bars; i++) {
            const sked_i_bar *b = &v->bar[i];
            const double shift = k * v->schedule->ii;
            if (p->folded)
                each_folded(p, b, fn, context);
            else
                fn(context, p,
                   &(segment){b, sked_i_panel_x(p, b->start + shift), sked_i_panel_x(p, b->finish + shift),
                              sked_i_bar_row(b, k), k});
        }
}

/* ------------------------------------------------------------------ which ops are drawn one by one */

enum { width_classes = 12 };

typedef struct census {
    int64_t total, wider[width_classes]; /* segments of at least 2^k pixels */
} census;

static void count_segment(void *context, const sked_i_panel *p, const segment *s)
{
    (void)p;
    census *c = context;
    c->total++;
    double least = 1;
    for (int k = 0; k < width_classes && s->x1 - s->x0 >= least; k++, least *= 2)
        c->wider[k]++;
}

static double choose_narrowest(const sked_i_panel *p)
{
    census c = {0};
    each_segment(p, count_segment, &c);
    if (p->row_height < cell_row)
        return INFINITY;
    if (c.total <= few_segments)
        return 0;
    double least = 1;
    for (int k = 0; k < width_classes; k++, least *= 2)
        if (c.wider[k] <= max_rects)
            return least;
    return INFINITY;
}

/* ------------------------------------------------------------------ cells */

typedef struct cells {
    float *busy;    /* [rows][columns][SKED_I_COLORS] share of the cell covered */
    uint8_t *shade; /* [rows][columns] 0: empty, else 1 + color * shades + shade */
    int32_t rows, columns;
    double width, height; /* of a cell, pixels */
    double per_cell;      /* pixels of bar that fill a cell: several rows may share one */
} cells;

static int64_t cell_at(const cells *c, int32_t row, int32_t column)
{
    return (int64_t)row * c->columns + column;
}

static void cover_cells(void *context, const sked_i_panel *p, const segment *s)
{
    cells *c = context;
    if (s->x1 - s->x0 >= p->narrowest)
        return;
    const int32_t row =
        c->rows == p->view->n_rows ? s->row : (int32_t)((double)s->row * c->rows / p->view->n_rows);
    assert(row >= 0 && row < c->rows);
    const double x0 = s->x0 - p->left, x1 = fmax(s->x1 - p->left, x0 + 0.3); /* zero length still shows */
    const uint8_t color = p->view->color[s->bar->op];
    for (int32_t k = (int32_t)fmax(0, x0 / c->width); k < c->columns && k * c->width < x1; k++) {
        const double part = fmin(x1, (k + 1) * c->width) - fmax(x0, k * c->width);
        if (part > 0)
            c->busy[cell_at(c, row, k) * SKED_I_COLORS + color] += (float)(part / c->per_cell);
    }
}

static void shade_cells(cells *c)
{
    const int64_t n = (int64_t)c->rows * c->columns;
    for (int64_t i = 0; i < n; i++) {
        const float *busy = c->busy + i * SKED_I_COLORS;
        int most = 0;
        float sum = 0;
        for (int k = 0; k < SKED_I_COLORS; k++) {
            sum += busy[k];
            if (busy[k] > busy[most])
                most = k;
        }
        const int shade = sum >= 0.999f ? shades - 1 : (int)(sum * shades);
        c->shade[i] = sum > 0 ? (uint8_t)(1 + most * shades + (shade < shades ? shade : shades - 1)) : 0;
    }
}

static double cell_y(const sked_i_panel *p, const cells *c, int32_t row)
{
    return c->rows == p->view->n_rows ? sked_i_panel_y(p, row) : p->top + row * c->height;
}

static void draw_runs(const sked_i_panel *p, const cells *c, uint8_t shade, bool *open)
{
    assert(shade > 0); /* 0 is an empty cell */
    for (int32_t row = 0; row < c->rows; row++)
        for (int32_t k = 0, end; k < c->columns; k = end) {
            const uint8_t at = c->shade[cell_at(c, row, k)];
            for (end = k + 1; end < c->columns && c->shade[cell_at(c, row, end)] == at;)
                end++;
            if (at != shade)
                continue;
            if (!*open)
                sked_i_buffer_format(p->out, "<path class=\"c%d d%d\" d=\"", (shade - 1) / shades,
                                     (shade - 1) % shades);
            *open = true;
            const double x = p->left + k * c->width, pad = c->height > 8 ? 1 : 0;
            sked_i_label_draw(p->out, "M~ ~h~v~H~z", x, cell_y(p, c, row) + pad, (end - k) * c->width,
                              c->height - 2 * pad, x);
        }
}

static sked_status draw_cells(const sked_i_panel *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n_rows = p->view->n_rows;
    cells c = {.rows = n_rows, .height = p->row_height};
    if (p->row_height < cell_row) {
        c.rows = (int32_t)fmax(1, p->height / cell_row);
        c.rows = c.rows < n_rows ? c.rows : n_rows;
        c.height = p->height / c.rows;
    }
    c.columns = (int32_t)fmax(1, fmin(p->width / least_cell, (double)max_cells / c.rows));
    c.width = p->width / c.columns;
    c.per_cell = c.width * ((double)n_rows / c.rows);
    SKED_NEW0(c.busy, (int64_t)c.rows * c.columns * SKED_I_COLORS);
    SKED_NEW0(c.shade, (int64_t)c.rows * c.columns);
    each_segment(p, cover_cells, &c);
    shade_cells(&c);
    for (int shade = 1; shade <= SKED_I_COLORS * shades; shade++) {
        bool open = false;
        draw_runs(p, &c, (uint8_t)shade, &open);
        if (open)
            sked_i_buffer_text(p->out, "\"/>\n");
    }
cleanup:
    free(c.busy);
    free(c.shade);
    return st;
}

/* ------------------------------------------------------------------ single ops */

static void write_title(const sked_i_panel *p, const segment *s)
{
    const sked_i_view *v = p->view;
    const int32_t op = s->bar->op;
    char name[64], text[300], row[280];
    const char *type = sked_graph_op_type(v->graph, op);
    sked_graph_op_name(v->graph, op, text, sizeof text);
    sked_i_buffer_text(p->out, "<title>");
    sked_i_buffer_xml(p->out, sked_i_label_cut(text, 60, row, sizeof row));
    if (type != NULL) {
        sked_i_buffer_text(p->out, " (");
        sked_i_buffer_xml(p->out, sked_i_label_cut(type, 30, text, sizeof text));
        sked_i_buffer_char(p->out, ')');
    }
    const double shift = p->folded ? 0 : s->iteration * v->schedule->ii;
    sked_i_buffer_format(p->out, "&#10;%s to ",
                         sked_i_label_number(s->bar->start + shift, name, sizeof name));
    sked_i_buffer_text(p->out, sked_i_label_number(s->bar->finish + shift, name, sizeof name));
    sked_i_buffer_text(p->out, ", ");
    sked_i_buffer_xml(p->out, sked_i_view_row_name(v, s->row, row, sizeof row));
    if (s->bar->demand != 1)
        sked_i_buffer_format(p->out, ", demand %s", sked_i_label_number(s->bar->demand, name, sizeof name));
    if (v->copies > 0)
        sked_i_buffer_format(p->out, "&#10;%s %d", p->folded ? "stage" : "iteration", (int)s->iteration);
    sked_i_buffer_format(p->out, "&#10;slack %s</title>",
                         sked_i_label_number(v->slack[op], name, sizeof name));
}

/* The name, its demand where it is not 1, its stage in the folded view: as much as fits. */
static void write_label(void *context, const sked_i_panel *p, const segment *s)
{
    (void)context;
    char name[300], extra[60] = "", number[40];
    const double room = s->x1 - s->x0 - 8;
    if (p->row_height < 13 || room < 5 || s->x1 - s->x0 < p->narrowest || (!p->folded && s->iteration > 0))
        return;
    sked_graph_op_name(p->view->graph, s->bar->op, name, sizeof name);
    if (s->bar->demand != 1)
        snprintf(extra, sizeof extra, " \xc3\x97%s",
                 sked_i_label_number(s->bar->demand, number, sizeof number));
    if (p->folded && s->iteration > 0)
        snprintf(extra + strlen(extra), sizeof extra - strlen(extra), " \xc2\xb7s%d", (int)s->iteration);
    const char *shown = sked_i_label_fit(name, font_size, room - sked_i_label_width(extra, font_size));
    if (shown == NULL) {
        shown = sked_i_label_fit(name, font_size, room);
        extra[0] = 0;
    }
    if (shown == NULL)
        return;
    sked_i_label_draw(p->out, "<text class=\"n\" x=\"~\" y=\"~\">", (s->x0 + s->x1) / 2,
                      sked_i_panel_y(p, s->row) + p->row_height / 2 + 4);
    sked_i_buffer_xml(p->out, shown);
    sked_i_buffer_text(p->out, extra);
    sked_i_buffer_text(p->out, "</text>\n");
}

static void draw_segment(void *context, const sked_i_panel *p, const segment *s)
{
    (void)context;
    const double width = s->x1 - s->x0;
    if (width < p->narrowest)
        return;
    const sked_i_view *v = p->view;
    const bool first = p->folded || s->iteration == 0;
    const bool outlined = v->critical[s->bar->op] && first && width >= least_outline;
    const double pad = p->row_height > 8 ? 1 : 0, inset = outlined ? 0.8 : 0;
    const double shown = fmax(width, 1.6);
    sked_i_buffer_format(p->out, "<rect class=\"c%d%s%s%s\"", (int)v->color[s->bar->op], outlined ? " k" : "",
                         first ? "" : " f", width > 4 ? "" : " s");
    sked_i_label_draw(p->out, " x=\"~\" y=\"~\" width=\"~\" height=\"~\"", s->x0 + inset,
                      sked_i_panel_y(p, s->row) + pad + inset, shown - 2 * inset,
                      p->row_height - 2 * (pad + inset));
    sked_i_buffer_text(p->out, width > 8 && p->row_height > 8 ? " rx=\"2\">" : ">");
    write_title(p, s);
    sked_i_buffer_text(p->out, "</rect>\n");
}

/* A line under critical ops too narrow for an outline; neighbours closer than a pixel become one. */
static void underline_critical(const sked_i_panel *p)
{
    const sked_i_view *v = p->view;
    const double least = fmax(p->narrowest, least_outline);
    double from = 0, to = -1;
    int32_t row = -1, drawn = 0;
    sked_i_buffer_text(p->out, "<path class=\"kl\" d=\"M0 0");
    for (int64_t i = 0; i <= v->n_bars && drawn < max_cells; i++) {
        const sked_i_bar *b = i < v->n_bars ? &v->bar[i] : NULL;
        const bool mark =
            b && v->critical[b->op] && sked_i_panel_x(p, b->finish) - sked_i_panel_x(p, b->start) < least;
        if (b != NULL && !mark)
            continue;
        if (mark && b->row == row && sked_i_panel_x(p, b->start) <= to + 1) {
            to = fmax(to, sked_i_panel_x(p, b->finish));
            continue;
        }
        if (row >= 0) {
            sked_i_label_draw(p->out, "M~ ~H~", from, sked_i_panel_y(p, row) + fmax(p->row_height - 2, 0.5),
                              fmax(to, from + 1));
            drawn++;
        }
        if (b == NULL)
            break;
        row = b->row;
        from = sked_i_panel_x(p, b->start);
        to = sked_i_panel_x(p, b->finish);
    }
    sked_i_buffer_text(p->out, "\"/>\n");
}

/* ------------------------------------------------------------------ the critical chain */

static void draw_chain(const sked_i_panel *p)
{
    const sked_i_view *v = p->view;
    int drawn = 0;
    double last_x = -INFINITY, last_y = 0;
    sked_i_buffer_text(p->out, "<path class=\"kc\" d=\"");
    for (int32_t k = 1; k < v->n_chain && drawn < max_links; k++) {
        const sked_i_chain_op *to = &v->chain[k], *from = &v->chain[k - 1];
        const sked_i_bar *a = &v->bar[v->op_bar[from->op]], *b = &v->bar[v->op_bar[to->op]];
        const double leave = to->link == SKED_I_LINK_EDGE && !v->in_cycles
                                 ? a->start + v->graph->edge_lag[to->edge]
                                 : a->finish;
        const double x0 = sked_i_panel_x(p, fmax(0, leave)), x1 = sked_i_panel_x(p, b->start);
        const double y0 = sked_i_panel_y(p, a->row) + p->row_height / 2;
        const double y1 = sked_i_panel_y(p, b->row) + p->row_height / 2;
        if ((a->row == b->row && fabs(x1 - x0) < 1.5) || (fabs(x1 - last_x) < 1.5 && fabs(y1 - last_y) < 1.5))
            continue;
        sked_i_label_draw(p->out, "M~ ~L~ ~", x0, y0, x1, y1);
        last_x = x1;
        last_y = y1;
        drawn++;
    }
    sked_i_buffer_text(p->out, drawn ? "\"/>\n" : "M0 0\"/>\n");
}

/* Lines lie over the bars, names over the lines. */
sked_status sked_i_panel_bars(sked_i_panel *p, sked_error *err)
{
    p->narrowest = choose_narrowest(p);
    if (p->narrowest > 0) {
        const sked_status st = draw_cells(p, err);
        if (st != SKED_OK)
            return st;
    }
    if (p->narrowest < INFINITY) {
        sked_i_buffer_text(p->out, "<g class=\"o\">\n");
        each_segment(p, draw_segment, NULL);
        sked_i_buffer_text(p->out, "</g>\n");
    }
    if (!p->folded) {
        underline_critical(p);
        draw_chain(p);
    }
    if (p->narrowest < INFINITY)
        each_segment(p, write_label, NULL);
    return SKED_OK;
}
