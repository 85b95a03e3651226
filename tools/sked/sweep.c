/*
 * sked schedule --sweep NAME=FROM:TO:STEP: one problem at many horizons, intervals, weights of communication
 * or memory limits, and which of the schedules are worth choosing between: as a table, JSON, or a plot.
 */
#include "sweep.h"

#include "../../src/report/axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const parameters[] = {
#define SKED_X(name, text, axis) text,
    SKED_SWEEP_LIST(SKED_X)
#undef SKED_X
};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters, MAX_POINTS = 1000 };

typedef struct sweep_range {
    sked_sweep_parameter parameter;
    char resource[256]; /* of a capacity; "": none */
    double from, to, step;
    int count;
} sweep_range;

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

/* What stands before the =: a parameter, else a resource of the graph, whose capacity is swept. */
static sked_status parse_parameter(const char *text, size_t size, const sked_graph *g, sweep_range *w,
                                   sked_error *err)
{
    for (int k = 0; k < SKED_SWEEP_CAPACITY; k++)
        if (strlen(parameters[k]) == size && strncmp(text, parameters[k], size) == 0)
            return w->parameter = (sked_sweep_parameter)k, SKED_OK;
    snprintf(w->resource, sizeof w->resource, "%.*s", (int)(size < 255 ? size : 255), text);
    w->parameter = SKED_SWEEP_CAPACITY;
    return size > 0 && sked_graph_find_resource(g, w->resource) >= 0
               ? SKED_OK
               : fail(err, SKED_ERR_ARGUMENT,
                      "--sweep begins with horizon=, ii=, alpha=, memory-limit=, clock= or a resource of the "
                      "graph, not '%.60s'",
                      text);
}

static sked_status parse_range(const char *text, const sked_graph *g, sweep_range *w, sked_error *err)
{
    const char *equals = strrchr(text, '=');
    const sked_status known = parse_parameter(text, equals != NULL ? (size_t)(equals - text) : 0, g, w, err);
    if (known != SKED_OK)
        return known;
    const char *s = equals + 1;
    if (!parse_part(&s, ':', &w->from) || !parse_part(&s, ':', &w->to) || !parse_part(&s, 0, &w->step))
        return fail(err, SKED_ERR_ARGUMENT,
                    "--sweep expects FROM:TO:STEP after the '=', three numbers, not '%.60s'", equals + 1);
    if (!(w->from >= 0) || !(w->to >= w->from) || !(w->step > 0))
        return fail(err, SKED_ERR_ARGUMENT, "--sweep expects 0 <= FROM <= TO and STEP above 0");
    const double count = floor((w->to - w->from) / w->step + 1e-9) + 1;
    if (!(count <= MAX_POINTS))
        return fail(err, SKED_ERR_ARGUMENT, "--sweep takes up to %d points, this has %.0f", (int)MAX_POINTS,
                    count);
    w->count = (int)count;
    return SKED_OK;
}

/* ------------------------------------------------------------------ writing */

static void write_json(FILE *f, const arguments *a, const setup *s, const sked_sweep_result *w)
{
    json_out j = {.file = f};
    json_open(&j, NULL, '{');
    json_text(&j, "method", a->method);
    json_text(&j, "graph", sked_graph_name(s->graph));
    json_text(&j, "objective", sked_objective_name(s->problem.objective));
    json_text(&j, "sweep", w->parameter);
    json_text(&j, "x", w->x);
    json_text(&j, "y", w->y);
    json_open(&j, "points", '[');
    for (int i = 0; i < w->count; i++) {
        const sked_sweep_point *p = w->point[i];
        json_open(&j, NULL, '{');
        json_number(&j, w->parameter, p->at);
        json_bool(&j, "found", p->found);
        if (p->found) {
            json_bool(&j, "pareto", p->pareto);
            json_number(&j, "value", p->value);
            json_number(&j, "lower_bound", p->lower_bound);
            json_number(&j, "makespan", p->makespan);
            json_number(&j, "peak_memory", p->peak_memory);
            json_number(&j, "resource", p->resource);
            json_number(&j, "communication", p->communication);
            json_number(&j, strcmp(w->parameter, "ii") == 0 ? "interval" : "ii", p->ii > 0 ? p->ii : NAN);
            json_number(&j, "seconds", p->seconds);
        } else {
            json_text(&j, "reason", p->reason);
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static void write_text(const setup *s, const sked_sweep_result *w)
{
    char x[40], y[40], z[40];
    printable_text reason;
    printf("%-10.10s %12s %14.14s %14s %10s\n", printable(w->parameter, &reason),
           sked_objective_name(s->problem.objective), w->x, w->y, "seconds");
    for (int i = 0; i < w->count; i++) {
        const sked_sweep_point *p = w->point[i];
        if (p->found)
            printf("%-10g %12s %14s %14s %10.2f%s\n", p->at, human(p->value, x, sizeof x),
                   human(p->x, y, sizeof y), human(p->y, z, sizeof z), p->seconds,
                   p->pareto ? "  pareto" : "");
        else
            printf("%-10g %s\n", p->at, printable(p->reason, &reason));
    }
}

/* ------------------------------------------------------------------ the plot */

static const double left = 80, top = 24, right = 680, bottom = 364;

typedef struct frame {
    sked_i_axis x, y;
} frame;

static double place_x(const frame *f, double x)
{
    return sked_i_axis_at(&f->x, x);
}
static double place_y(const frame *f, double y)
{
    return sked_i_axis_at(&f->y, y);
}

/* A value without a schedule has a place where the parameter itself is the axis. */
static bool is_marked(const sked_sweep_result *w, const sked_sweep_point *p)
{
    return !p->found && strcmp(w->parameter, w->x) == 0;
}

/* No value is below 0, and none of the page either. */
static void settle(sked_i_axis *a, double low, double high)
{
    sked_i_axis_settle(a, 0.05);
    a->from = fmax(0, a->from);
    a->low = low;
    a->high = high;
}

static frame frame_of(const sked_sweep_result *w)
{
    frame f = {sked_i_axis_empty, sked_i_axis_empty};
    sked_i_axis_add(&f.y, 0);
    for (int i = 0; i < w->count; i++)
        if (w->point[i]->found) {
            sked_i_axis_add(&f.x, w->point[i]->x);
            sked_i_axis_add(&f.y, w->point[i]->y);
        } else if (is_marked(w, w->point[i]))
            sked_i_axis_add(&f.x, w->point[i]->at);
    settle(&f.x, left, right);
    settle(&f.y, bottom, top);
    return f;
}

static void draw_axes(FILE *o, const frame *f, const sked_sweep_result *w)
{
    sked_i_tick tick[SKED_I_MOST_TICKS];
    int n = sked_i_axis_ticks(&f->x, 8, tick);
    for (int i = 0; i < n; i++)
        fprintf(o,
                "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                tick[i].at, top, bottom, tick[i].at, bottom + 18, tick[i].label);
    n = sked_i_axis_ticks(&f->y, 8, tick);
    for (int i = 0; i < n; i++)
        fprintf(o,
                "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                left, tick[i].at, right, left - 8, tick[i].at + 4, tick[i].label);
    fprintf(o, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", (left + right) / 2,
            bottom + 40, w->x);
    fprintf(o,
            "<text x=\"20\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 20 %.1f)\">%s</text>\n",
            (top + bottom) / 2, (top + bottom) / 2, w->y);
}

static int by_x(const void *a, const void *b)
{
    const sked_sweep_point *p = *(const sked_sweep_point *const *)a, *q = *(const sked_sweep_point *const *)b;
    return (p->x > q->x) - (p->x < q->x);
}

/* The points worth choosing as a staircase; the others pale. */
static void draw_points(FILE *o, const frame *f, const sked_sweep_result *w, const sked_sweep_point **front)
{
    char x[40], y[40], z[40];
    int n = 0;
    for (int i = 0; i < w->count; i++)
        if (w->point[i]->pareto)
            front[n++] = w->point[i];
    qsort(front, (size_t)n, sizeof *front, by_x);
    fprintf(o, "<path class=\"f\" d=\"");
    for (int i = 0; i < n; i++)
        if (i == 0)
            fprintf(o, "M%.1f %.1f", place_x(f, front[i]->x), place_y(f, front[i]->y));
        else
            fprintf(o, "H%.1fV%.1f", place_x(f, front[i]->x), place_y(f, front[i]->y));
    fprintf(o, "\"/>\n");
    for (int i = 2 * w->count; i-- > 0;) { /* those worth choosing last, on top */
        const sked_sweep_point *p = w->point[i % w->count];
        if (p->found && p->pareto == (i < w->count))
            fprintf(o,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s %s: %s %s, %s "
                    "%s</title></circle>\n",
                    p->pareto ? "p" : "o", place_x(f, p->x), place_y(f, p->y), w->parameter,
                    human(p->at, x, sizeof x), w->x, human(p->x, y, sizeof y), w->y,
                    human(p->y, z, sizeof z));
    }
}

/* Values without a schedule: crosses on the axis. */
static void draw_refused(FILE *o, const frame *f, const sked_sweep_result *w)
{
    char x[40];
    for (int i = 0; i < w->count; i++)
        if (is_marked(w, w->point[i]))
            fprintf(
                o,
                "<path class=\"n\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"><title>%s %s: no schedule</title></path>\n",
                place_x(f, w->point[i]->at) - 4, bottom - 4, w->parameter,
                human(w->point[i]->at, x, sizeof x));
}

static sked_status write_svg(FILE *o, const sked_sweep_result *w, sked_error *err)
{
    const frame f = frame_of(w);
    const sked_sweep_point **front = calloc((size_t)w->count, sizeof *front);
    if (front == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    fprintf(
        o,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 710 420\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<style>text{fill:#333}.g{stroke:#ddd}.f{fill:none;stroke:#1f6fb4;stroke-width:2}"
        ".p{fill:#1f6fb4}.o{fill:#bbb}.n{stroke:#c0392b;stroke-width:2}@media(prefers-color-scheme:dark){"
        "text{fill:#ccc}.g{stroke:#444}"
        ".o{fill:#666}.f{stroke:#6cb2eb}.p{fill:#6cb2eb}}</style>\n");
    draw_axes(o, &f, w);
    draw_points(o, &f, w, front);
    draw_refused(o, &f, w);
    fprintf(o, "</svg>\n");
    free(front);
    return SKED_OK;
}

/* Capacities with the one that is swept; NULL where none is, or without memory (then those of the file). */
static double *capacities_at(const sweep_range *r, const setup *s, double at)
{
    const int32_t n = sked_graph_resource_count(s->graph);
    double *const all = r->resource[0] ? malloc((size_t)n * sizeof *all) : NULL;
    for (int32_t k = 0; all != NULL && k < n; k++)
        all[k] = s->capacity != NULL ? s->capacity[k] : sked_graph_capacity(s->graph, k);
    if (all != NULL)
        all[sked_graph_find_resource(s->graph, r->resource)] = at;
    return all;
}

/* The report of the knee, with the curve. */
static sked_status write_html(const char *path, const arguments *a, const setup *s, const sweep_range *r,
                              const sked_sweep_result *w, sked_error *err)
{
    if (w->knee < 0)
        return fail(err, SKED_ERR_INFEASIBLE, "%.200s: no point of the sweep has a schedule to show", path);
    const sked_sweep_point *p = w->point[w->knee];
    sked_problem problem = s->problem;
    sked_report_data data;
    sked_sweep_apply(r->parameter, p->at, &problem);
    double *const capacity = capacities_at(r, s, p->at);
    problem.capacity = capacity != NULL ? capacity : problem.capacity;
    sked_report_data_init(&data);
    data.problem = &problem;
    data.schedule = p->schedule;
    data.method = p->method;
    data.lower_bound = p->lower_bound;
    data.optimal = p->optimal;
    data.seconds = p->seconds;
    data.seed = (uint64_t)a->seed;
    data.sweep = w;
    data.validated = true;
    const sked_status st = sked_report_write(&data, path, NULL, err);
    free(capacity);
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

static sked_status write_file(const char *path, const arguments *a, const setup *s, const sweep_range *r,
                              const sked_sweep_result *w, sked_error *err)
{
    file_out o;
    if (ends_with(path, ".html"))
        return write_html(path, a, s, r, w, err);
    sked_status st = file_begin(&o, err);
    if (st != SKED_OK)
        return st;
    if (ends_with(path, ".svg"))
        st = write_svg(o.file, w, err);
    else
        write_json(o.file, a, s, w);
    return file_end(&o, path, st, err);
}

/* ------------------------------------------------------------------ the command */

static sked_status run_points(const arguments *a, const setup *s, const sweep_range *r,
                              const sked_run_options *run, sked_sweep_result *out, sked_error *err)
{
    sked_sweep_options opt;
    double values[MAX_POINTS];
    for (int i = 0; i < r->count; i++)
        values[i] = r->from + i * r->step;
    sked_sweep_options_init(&opt);
    opt.parameter = r->parameter;
    opt.values = values;
    opt.n_values = r->count;
    opt.resource = r->resource[0] ? r->resource : NULL;
    return sked_sweep(a->method, &s->problem, &opt, run, out, err);
}

sked_status run_sweep(const arguments *a, const setup *s, const sked_run_options *run, sked_error *err)
{
    sweep_range r = {0};
    sked_sweep_result w = {.size = sizeof w};
    sked_status st = parse_range(a->sweep, s->graph, &r, err);
    if (st == SKED_OK)
        st = check_paths(a, err);
    if (st == SKED_OK)
        st = run_points(a, s, &r, run, &w, err);
    end_progress();
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = write_file(a->output.at[i], a, s, &r, &w, err);
    if (st == SKED_OK && a->json)
        write_json(stdout, a, s, &w);
    else if (st == SKED_OK)
        write_text(s, &w);
    sked_sweep_result_clear(&w);
    return st;
}
