/*
 * sked schedule --sweep NAME=FROM:TO:STEP: one problem at many horizons, intervals or weights of
 * communication, and which of the schedules are worth choosing between: as a table, JSON, or a plot.
 */
#include "sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_HORIZON, SWEEP_II, SWEEP_ALPHA, MAX_POINTS = 1000 };
static const char *const sweep_names[] = {"horizon", "ii", "alpha"};
/* What is traded: the axes of the plot. */
static const char *const axis_x[] = {"makespan", "ii", "communication"};

typedef struct point {
    double at; /* value of the parameter */
    bool found, pareto;
    double value, bound, seconds;
    double x, y; /* the two sides of the trade-off, less is better */
    sked_metrics m;
    double ii;
    sked_schedule *schedule; /* while no other point beats it */
    char method[64];         /* that made it */
    bool optimal;
    char why[200]; /* not found: the reason */
} point;

typedef struct sweep {
    int what;
    double from, to, step;
    int count;
    point *points;
    const char *axis_y;
} sweep;

/* ------------------------------------------------------------------ reading the range */

static bool parse_part(const char **s, char end, double *out)
{
    char part[64];
    const size_t n = strcspn(*s, ":");
    if (n == 0 || n >= sizeof part || (*s)[n] != end)
        return false;
    memcpy(part, *s, n);
    part[n] = 0;
    *s += n + (end != 0);
    return sked_parse_number(part, out);
}

static sked_status parse_sweep(const char *text, sweep *w, sked_error *err)
{
    const char *equals = strchr(text, '=');
    const size_t size = equals != NULL ? (size_t)(equals - text) : 0;
    w->what = -1;
    for (int k = 0; k < 3; k++)
        if (strlen(sweep_names[k]) == size && strncmp(text, sweep_names[k], size) == 0)
            w->what = k;
    if (w->what < 0)
        return fail(err, SKED_ERR_ARGUMENT, "--sweep begins with horizon=, ii= or alpha=, not '%.60s'", text);
    const char *s = equals + 1;
    if (!parse_part(&s, ':', &w->from) || !parse_part(&s, ':', &w->to) || !parse_part(&s, 0, &w->step))
        return fail(err, SKED_ERR_ARGUMENT,
                    "--sweep wants FROM:TO:STEP after the '=', three numbers, not '%.60s'", equals + 1);
    if (!(w->from >= 0) || !(w->to >= w->from) || !(w->step > 0))
        return fail(err, SKED_ERR_ARGUMENT, "--sweep wants 0 <= FROM <= TO and STEP above 0");
    const double count = floor((w->to - w->from) / w->step + 1e-9) + 1;
    if (!(count <= MAX_POINTS))
        return fail(err, SKED_ERR_ARGUMENT, "--sweep takes up to %d points, this has %.0f", (int)MAX_POINTS,
                    count);
    w->count = (int)count;
    return SKED_OK;
}

/* ------------------------------------------------------------------ running */

static void set_parameter(const sweep *w, double at, sked_problem *p)
{
    if (w->what == SWEEP_HORIZON)
        p->horizon = at;
    else if (w->what == SWEEP_II)
        p->ii = at;
    else
        p->alpha = at;
}

/* A point without a schedule is a result too; everything else that goes wrong ends the sweep. */
static sked_status run_point(const arguments *a, const sked_problem *p, const sked_run_options *opt, sweep *w,
                             point *pt, sked_schedule **last, sked_error *err)
{
    sked_result r = {0};
    sked_error why = {0};
    sked_status st = sked_method_run(a->method, p, opt, &r, &why);
    if (st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED) {
        snprintf(pt->why, sizeof pt->why, "%.199s", why.message);
        return SKED_OK;
    }
    if (st == SKED_OK)
        st = sked_schedule_measure(p, r.schedule[0], &pt->m, &why);
    if (st != SKED_OK)
        return fail(err, st, "%s", why.message);
    pt->found = true;
    pt->value = r.value;
    pt->bound = r.lower_bound;
    pt->seconds = r.seconds;
    pt->ii = r.schedule[0]->ii;
    pt->x = w->what == SWEEP_HORIZON ? pt->m.makespan : w->what == SWEEP_II ? pt->ii : pt->m.communication;
    pt->y = w->what == SWEEP_ALPHA ? pt->m.resource : r.value;
    pt->optimal = r.optimal;
    snprintf(pt->method, sizeof pt->method, "%s", r.method);
    *last = pt->schedule = r.schedule[0];
    r.schedule[0] = NULL;
    sked_result_clear(&r);
    return SKED_OK;
}

static void widen(double *low, double *high, double x)
{
    *low = fmin(*low, x);
    *high = fmax(*high, x);
}

/* Points that no other beats on one side without losing on the other; equal ones: the first. */
static void mark_pareto(sweep *w)
{
    for (int i = 0; i < w->count; i++) {
        point *p = &w->points[i];
        p->pareto = p->found;
        for (int k = 0; k < w->count && p->pareto; k++) {
            const point *q = &w->points[k];
            const bool no_worse = q->found && k != i && q->x <= p->x && q->y <= p->y;
            p->pareto = !no_worse || (q->x == p->x && q->y == p->y && k > i);
        }
    }
}

/* Schedules that another point beats are not needed, except the one that the next begins from. */
static void drop_beaten(sweep *w, const sked_schedule *last)
{
    for (int i = 0; i < w->count; i++)
        if (!w->points[i].pareto && w->points[i].schedule != last) {
            sked_schedule_destroy(w->points[i].schedule);
            w->points[i].schedule = NULL;
        }
}

/* The knee: nearest to the best of both sides at once, each side scaled to its range; -1: no point. */
static int choose_point(const sweep *w)
{
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY, least = INFINITY;
    int best = -1;
    for (int i = 0; i < w->count; i++)
        if (w->points[i].pareto) {
            widen(&x0, &x1, w->points[i].x);
            widen(&y0, &y1, w->points[i].y);
        }
    for (int i = 0; i < w->count; i++) {
        const point *p = &w->points[i];
        const double dx = x1 > x0 ? (p->x - x0) / (x1 - x0) : 0, dy = y1 > y0 ? (p->y - y0) / (y1 - y0) : 0;
        if (p->pareto && hypot(dx, dy) < least) {
            least = hypot(dx, dy);
            best = i;
        }
    }
    return best;
}

/* ------------------------------------------------------------------ writing */

static void write_json(FILE *f, const arguments *a, const setup *s, const sweep *w)
{
    json_out j = {.file = f};
    json_open(&j, NULL, '{');
    json_text(&j, "method", a->method);
    json_text(&j, "graph", sked_graph_name(s->graph));
    json_text(&j, "objective", sked_objective_name(s->problem.objective));
    json_text(&j, "sweep", sweep_names[w->what]);
    json_text(&j, "x", axis_x[w->what]);
    json_text(&j, "y", w->axis_y);
    json_open(&j, "points", '[');
    for (int i = 0; i < w->count; i++) {
        const point *p = &w->points[i];
        json_open(&j, NULL, '{');
        json_number(&j, sweep_names[w->what], p->at);
        json_bool(&j, "found", p->found);
        if (p->found) {
            json_bool(&j, "pareto", p->pareto);
            json_number(&j, "value", p->value);
            json_number(&j, "lower_bound", p->bound);
            json_number(&j, "makespan", p->m.makespan);
            json_number(&j, "peak_memory", p->m.peak_memory);
            json_number(&j, "resource", p->m.resource);
            json_number(&j, "communication", p->m.communication);
            json_number(&j, w->what == SWEEP_II ? "interval" : "ii", p->ii > 0 ? p->ii : NAN);
            json_number(&j, "seconds", p->seconds);
        } else {
            json_text(&j, "reason", p->why);
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static void write_text(const setup *s, const sweep *w)
{
    char x[40], y[40], z[40];
    printf("%-10s %12s %14s %14s %10s\n", sweep_names[w->what], sked_objective_name(s->problem.objective),
           axis_x[w->what], w->axis_y, "seconds");
    for (int i = 0; i < w->count; i++) {
        const point *p = &w->points[i];
        if (p->found)
            printf("%-10g %12s %14s %14s %10.2f%s\n", p->at, human(p->value, x, sizeof x),
                   human(p->x, y, sizeof y), human(p->y, z, sizeof z), p->seconds,
                   p->pareto ? "  pareto" : "");
        else
            printf("%-10g %s\n", p->at, p->why);
    }
}

/* ------------------------------------------------------------------ the plot */

typedef struct frame {
    double left, top, width, height;
    double x0, x1, y0, y1;
} frame;

static double place_x(const frame *f, double x)
{
    return f->left + (x - f->x0) / (f->x1 - f->x0) * f->width;
}
static double place_y(const frame *f, double y)
{
    return f->top + f->height - (y - f->y0) / (f->y1 - f->y0) * f->height;
}

static frame frame_of(const sweep *w)
{
    frame f = {80, 24, 600, 340, INFINITY, -INFINITY, 0, -INFINITY};
    for (int i = 0; i < w->count; i++)
        if (w->points[i].found) {
            widen(&f.x0, &f.x1, w->points[i].x);
            widen(&f.y0, &f.y1, w->points[i].y);
        }
    if (!(f.x1 >= f.x0))
        f.x0 = f.x1 = f.y1 = 0;
    const double pad = fmax(0.05 * (f.x1 - f.x0), f.x1 > f.x0 ? 0 : 1);
    f.x0 = fmax(0, f.x0 - pad);
    f.x1 += pad;
    f.y1 = f.y1 > 0 ? 1.05 * f.y1 : 1;
    return f;
}

/* A step of 1, 2 or 5 times a power of ten that gives four to ten ticks. */
static double tick_of(double range)
{
    const double power = pow(10, floor(log10(range / 4)));
    const double ratio = range / 4 / power;
    return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1);
}

static void draw_axes(FILE *o, const frame *f, const sweep *w)
{
    char x[40];
    const double bottom = f->top + f->height, right = f->left + f->width;
    const double dx = tick_of(f->x1 - f->x0), dy = tick_of(f->y1 - f->y0);
    for (double v = ceil(f->x0 / dx) * dx; v <= f->x1; v += dx)
        fprintf(o,
                "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                place_x(f, v), place_x(f, v), f->top, bottom, place_x(f, v), bottom + 18,
                human(v, x, sizeof x));
    for (double v = ceil(f->y0 / dy) * dy; v <= f->y1; v += dy)
        fprintf(o,
                "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                f->left, right, place_y(f, v), place_y(f, v), f->left - 8, place_y(f, v) + 4,
                human(v, x, sizeof x));
    fprintf(o, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", f->left + f->width / 2,
            bottom + 40, axis_x[w->what]);
    fprintf(o,
            "<text x=\"20\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 20 %.1f)\">%s</text>\n",
            f->top + f->height / 2, f->top + f->height / 2, w->axis_y);
}

static int by_x(const void *a, const void *b)
{
    const point *p = *(const point *const *)a, *q = *(const point *const *)b;
    return (p->x > q->x) - (p->x < q->x);
}

/* The points worth choosing as a staircase; the others pale. */
static void draw_points(FILE *o, const frame *f, const sweep *w, const point **front)
{
    char x[40], y[40], z[40];
    int n = 0;
    for (int i = 0; i < w->count; i++)
        if (w->points[i].pareto)
            front[n++] = &w->points[i];
    qsort(front, (size_t)n, sizeof *front, by_x);
    fprintf(o, "<path class=\"f\" d=\"");
    for (int i = 0; i < n; i++)
        if (i == 0)
            fprintf(o, "M%.1f %.1f", place_x(f, front[i]->x), place_y(f, front[i]->y));
        else
            fprintf(o, "H%.1fV%.1f", place_x(f, front[i]->x), place_y(f, front[i]->y));
    fprintf(o, "\"/>\n");
    for (int i = 2 * w->count; i-- > 0;) { /* those worth choosing last, on top */
        const point *p = &w->points[i % w->count];
        if (p->found && p->pareto == (i < w->count))
            fprintf(o,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s %s: %s %s, %s "
                    "%s</title></circle>\n",
                    p->pareto ? "p" : "o", place_x(f, p->x), place_y(f, p->y), sweep_names[w->what],
                    human(p->at, x, sizeof x), axis_x[w->what], human(p->x, y, sizeof y), w->axis_y,
                    human(p->y, z, sizeof z));
    }
}

static sked_status write_svg(FILE *o, const sweep *w, sked_error *err)
{
    const frame f = frame_of(w);
    const point **front = calloc((size_t)w->count, sizeof *front);
    if (front == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    fprintf(
        o,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 710 420\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<style>text{fill:#333}.g{stroke:#ddd}.f{fill:none;stroke:#1f6fb4;stroke-width:2}"
        ".p{fill:#1f6fb4}.o{fill:#bbb}@media(prefers-color-scheme:dark){text{fill:#ccc}.g{stroke:#444}"
        ".o{fill:#666}.f{stroke:#6cb2eb}.p{fill:#6cb2eb}}</style>\n");
    draw_axes(o, &f, w);
    draw_points(o, &f, w, front);
    fprintf(o, "</svg>\n");
    free(front);
    return SKED_OK;
}

/* The report of the chosen point, with the curve. */
static sked_status write_html(const char *path, const arguments *a, setup *s, const sweep *w, sked_error *err)
{
    const int shown = choose_point(w);
    if (shown < 0)
        return fail(err, SKED_ERR_INFEASIBLE, "%.200s: no point of the sweep has a schedule to show", path);
    sked_tradeoff_point *points = calloc((size_t)w->count, sizeof *points);
    if (points == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (int i = 0; i < w->count; i++) {
        const point *p = &w->points[i];
        points[i] = (sked_tradeoff_point){p->at, p->found, p->pareto, p->x, p->y};
    }
    const point *p = &w->points[shown];
    const sked_tradeoff curve = {sweep_names[w->what], axis_x[w->what], w->axis_y, points, w->count, shown};
    const sked_report_data data = {.problem = &s->problem,
                                   .schedule = p->schedule,
                                   .method = p->method,
                                   .lower_bound = p->bound,
                                   .optimal = p->optimal,
                                   .seconds = p->seconds,
                                   .seed = (uint64_t)a->seed,
                                   .tradeoff = &curve};
    set_parameter(w, p->at, &s->problem);
    const sked_status st = sked_report_write(&data, path, NULL, err);
    free(points);
    return st;
}

/* ------------------------------------------------------------------ files */

static sked_status check_paths(const arguments *a, sked_error *err)
{
    for (int i = 0; i < a->output.count; i++) {
        const char *path = a->output.at[i];
        if (!ends_with(path, ".json") && !ends_with(path, ".svg") && !ends_with(path, ".html"))
            return fail(err, SKED_ERR_ARGUMENT, "-o %.200s: a sweep is written as .json, .svg or .html",
                        path);
    }
    return SKED_OK;
}

/* Under a temporary name, then renamed: the file is there complete or not at all. */
static sked_status write_file(const char *path, const arguments *a, setup *s, const sweep *w, sked_error *err)
{
    char temporary[1024];
    if (ends_with(path, ".html"))
        return write_html(path, a, s, w, err);
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.tmp", path) >= sizeof temporary)
        return fail(err, SKED_ERR_IO, "%.200s: the name is too long", path);
    FILE *f = fopen(temporary, "w");
    if (f == NULL)
        return fail(err, SKED_ERR_IO, "%s: %s", path, strerror(errno));
    sked_status st = SKED_OK;
    if (ends_with(path, ".svg"))
        st = write_svg(f, w, err);
    else
        write_json(f, a, s, w);
    const bool broken = ferror(f) != 0;
    const bool closed = fclose(f) == 0;
    if (st == SKED_OK && (broken || !closed || rename(temporary, path) != 0))
        st = fail(err, SKED_ERR_IO, "%s: %s", path, strerror(errno));
    if (st != SKED_OK)
        remove(temporary);
    return st;
}

/* ------------------------------------------------------------------ the command */

static const char *y_axis(const sweep *w, const sked_problem *p)
{
    return w->what == SWEEP_ALPHA ? "resource" : sked_objective_name(p->objective);
}

static sked_status run_points(const arguments *a, setup *s, const sked_run_options *preset, sweep *w,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    sked_schedule *last = NULL;
    sked_run_options opt = *preset;
    const sked_method_info *method = sked_method_find(a->method);
    const bool warm = method != NULL && (method->features & SKED_CAN_START) && w->what != SWEEP_II;
    for (int i = 0; st == SKED_OK && i < w->count && !stop_requested; i++) {
        w->points[i].at = w->from + i * w->step;
        set_parameter(w, w->points[i].at, &s->problem);
        opt.start = warm && last != NULL ? last : preset->start;
        st = run_point(a, &s->problem, &opt, w, &w->points[i], &last, err);
        mark_pareto(w);
        drop_beaten(w, last);
    }
    return st;
}

sked_status run_sweep(const arguments *a, setup *s, const sked_run_options *opt, sked_error *err)
{
    sweep w = {0};
    sked_status st = parse_sweep(a->sweep, &w, err);
    if (st == SKED_OK)
        st = check_paths(a, err);
    if (st != SKED_OK)
        return st;
    w.axis_y = y_axis(&w, &s->problem);
    w.points = calloc((size_t)w.count, sizeof *w.points);
    if (w.points == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    st = run_points(a, s, opt, &w, err);
    end_progress();
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = write_file(a->output.at[i], a, s, &w, err);
    if (st == SKED_OK && a->json)
        write_json(stdout, a, s, &w);
    else if (st == SKED_OK)
        write_text(s, &w);
    for (int i = 0; i < w.count; i++)
        sked_schedule_destroy(w.points[i].schedule);
    free(w.points);
    return st;
}
