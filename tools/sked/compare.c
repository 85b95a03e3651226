/* Schedules side by side: sked compare GRAPH A B, and sked schedule --method A,B,C. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_rows = 16, most_moved = 12, most_methods = 16, most_pairs = 1 << 16 };

/* One column. */
typedef struct column {
    const char *name;
    const sked_schedule *schedule;
    const sked_result *result; /* NULL: it comes from a file */
    sked_problem problem;      /* as this schedule answers it */
    sked_metrics metrics;
    traffic traffic;
    double *busy, *peak; /* [devices] */
} column;

sked_status count_traffic(const sked_problem *p, const sked_schedule *s, traffic *out, sked_error *err)
{
    *out = (traffic){0};
    if (s->device == NULL || s->devices < 2)
        return SKED_OK;
    int32_t *const seen = calloc((size_t)s->devices, sizeof *seen); /* the op + 1 that was sent there last */
    double *const bytes = calloc((size_t)s->devices, sizeof *bytes);
    for (int64_t e = 0; seen != NULL && bytes != NULL && e < sked_graph_edge_count(p->graph); e++) {
        sked_edge edge;
        sked_graph_edge(p->graph, e, &edge); /* by `from` */
        const int32_t to = s->device[edge.to];
        if (s->device[edge.from] == to)
            continue;
        const bool fresh = seen[to] != edge.from + 1;
        const double before = fresh ? 0 : bytes[to];
        out->transfers += fresh;
        out->bytes += fmax(0, edge.bytes - before);
        bytes[to] = fmax(before, edge.bytes);
        seen[to] = edge.from + 1;
    }
    const bool done = seen != NULL && bytes != NULL;
    free(seen);
    free(bytes);
    return done ? SKED_OK : fail(err, SKED_ERR_MEMORY, "out of memory");
}

static sked_status fill_column(column *c, sked_error *err)
{
    const sked_problem *p = &c->problem;
    const sked_schedule *s = c->schedule;
    c->metrics = (sked_metrics){.size = sizeof c->metrics};
    sked_status st = sked_schedule_measure(p, s, &c->metrics, err);
    if (st == SKED_OK)
        st = count_traffic(p, s, &c->traffic, err);
    if (st != SKED_OK || s->device == NULL)
        return st;
    c->busy = calloc((size_t)s->devices + 1, sizeof *c->busy);
    c->peak = calloc((size_t)s->devices + 1, sizeof *c->peak);
    if (c->busy == NULL || c->peak == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (int32_t i = 0; i < s->ops; i++)
        c->busy[s->device[i]] += sked_problem_duration(p, i, s->device[i]);
    return sked_schedule_device_memory(p, s, c->peak, err);
}

static void clear_columns(column *c, int n)
{
    for (int k = 0; k < n; k++) {
        free(c[k].busy);
        free(c[k].peak);
    }
}

/* ------------------------------------------------------------------ text */

/* One line: a label, a figure for each column, the change where there are two. */
static void put_row(const char *label, const double *figure, int n)
{
    char x[40];
    printf("%-24.40s", label);
    for (int k = 0; k < n; k++)
        printf(" %14s", isnan(figure[k]) ? "-" : human(figure[k], x, sizeof x));
    if (n == 2 && figure[0] != 0 && isfinite(figure[0]) && isfinite(figure[1]))
        printf(" %+9.2f %%", 100 * (figure[1] - figure[0]) / fabs(figure[0]));
    printf("\n");
}

#define ROW(label, expression)             \
    do {                                   \
        double figure[most_methods] = {0}; \
        for (int k = 0; k < n; k++)        \
            figure[k] = (expression);      \
        put_row((label), figure, (n));     \
    } while (0)

/* "device 3", or the name it has in the machine. */
static const char *device_label(const sked_problem *p, int32_t d, char *buf, size_t size)
{
    char name[300];
    printable_text text;
    sked_problem_device_name(p, d, name, sizeof name);
    snprintf(buf, size, "%s%s", p->machine == NULL ? "device " : "", printable(name, &text));
    return buf;
}

static double of_device(const column *c, const double *all, int32_t d)
{
    return all != NULL && d < c->schedule->devices ? all[d] : NAN;
}

static void put_devices(const column *c, int n)
{
    const int32_t devices = c[0].problem.devices;
    char name[340], label[360];
    for (int32_t d = 0; d < devices && d < most_rows; d++) {
        snprintf(label, sizeof label, "busy %s", device_label(&c[0].problem, d, name, sizeof name));
        ROW(label, of_device(&c[k], c[k].busy, d));
    }
    for (int32_t d = 0; d < devices && d < most_rows; d++) {
        snprintf(label, sizeof label, "memory %s", device_label(&c[0].problem, d, name, sizeof name));
        ROW(label, of_device(&c[k], c[k].peak, d));
    }
    if (devices > most_rows)
        printf("and %d more devices\n", (int)(devices - most_rows));
}

static void put_table(const column *c, int n)
{
    const sked_problem *p = &c[0].problem;
    printf("%-24s", "");
    for (int k = 0; k < n; k++) {
        printable_text text;
        printf(" %14.14s", printable(c[k].name, &text));
    }
    printf("%s\n", n == 2 ? "     change" : "");
    if (p->objective != SKED_OBJECTIVE_MAKESPAN)
        ROW(sked_objective_name(p->objective), c[k].metrics.value);
    ROW("makespan", c[k].metrics.makespan);
    if (c[0].result != NULL) {
        ROW("lower bound", c[k].result->lower_bound);
        ROW("seconds", c[k].result->seconds);
        ROW("evaluations", (double)c[k].result->evaluations);
    }
    if (c[0].schedule->ii > 0 || c[n - 1].schedule->ii > 0)
        ROW("ii", c[k].schedule->ii);
    if (p->devices > 0) {
        ROW("speedup", c[k].metrics.speedup);
        ROW("idle [%]", 100 * c[k].metrics.idle);
        ROW("transfers", (double)c[k].traffic.transfers);
        ROW("bytes moved", c[k].traffic.bytes);
        ROW("transfer time", c[k].metrics.transfer);
    }
    ROW("peak memory", c[k].metrics.peak_memory);
    if (sked_graph_resource_count(p->graph) > 0)
        ROW("resource", c[k].metrics.resource);
    if (p->devices > 0)
        put_devices(c, n);
}

/* ------------------------------------------------------------------ JSON */

static void json_column(json_out *j, const char *key, const column *c)
{
    json_open(j, key, '{');
    json_text(j, "name", c->name);
    if (c->result != NULL) {
        json_text(j, "winner", c->result->method);
        json_number(j, "lower_bound", c->result->lower_bound);
        json_bool(j, "optimal", c->result->optimal);
        json_number(j, "seconds", c->result->seconds);
        json_number(j, "evaluations", (double)c->result->evaluations);
    }
    json_number(j, "value", c->metrics.value);
    json_number(j, "makespan", c->metrics.makespan);
    json_number(j, "ii", c->schedule->ii > 0 ? c->schedule->ii : NAN);
    json_number(j, "speedup", c->metrics.speedup);
    json_number(j, "idle", c->metrics.idle);
    json_number(j, "transfers", (double)c->traffic.transfers);
    json_number(j, "bytes_moved", c->traffic.bytes);
    json_number(j, "transfer", c->metrics.transfer);
    json_number(j, "peak_memory", c->metrics.peak_memory);
    json_number(j, "resource", c->metrics.resource);
    const double *const all[] = {c->busy, c->peak};
    for (int k = 0; k < 2 && c->busy != NULL; k++) {
        json_open(j, k == 0 ? "busy" : "device_memory", '[');
        for (int32_t d = 0; d < c->schedule->devices; d++)
            json_number(j, NULL, all[k][d]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

/* ------------------------------------------------------------------ the picture */

static sked_status check_pictures(const value_list *files, sked_error *err)
{
    for (int i = 0; i < files->count; i++)
        if (!ends_with(files->at[i], ".svg"))
            return fail(err, SKED_ERR_ARGUMENT, "-o %.200s: schedules side by side are drawn as .svg",
                        files->at[i]);
    return SKED_OK;
}

static sked_status draw(const column *c, int n, const value_list *files, sked_error *err)
{
    sked_report_data data[most_methods];
    const sked_report_data *all[most_methods];
    sked_status st = SKED_OK;
    for (int k = 0; k < n; k++) {
        sked_report_data_init(&data[k]);
        data[k].problem = &c[k].problem;
        data[k].schedule = c[k].schedule;
        data[k].method = c[k].name;
        data[k].validated = true;
        if (c[k].result != NULL) {
            data[k].lower_bound = c[k].result->lower_bound;
            data[k].optimal = c[k].result->optimal;
        }
        all[k] = &data[k];
    }
    for (int i = 0; i < files->count && st == SKED_OK; i++)
        st = sked_report_write_all(all, n, files->at[i], err);
    return st;
}

/* ------------------------------------------------------------------ two files */

typedef struct pair {
    int32_t a, b, ops;
} pair;

static int by_ops(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    return p->ops != q->ops ? q->ops - p->ops : p->a != q->a ? p->a - q->a : p->b - q->b;
}

/* Equal devices of b get the numbers of those of a that share most ops with them. */
static sked_status renumber(const sked_problem *p, const sked_schedule *a, sked_schedule *b, sked_error *err)
{
    const int64_t n = p->devices, pairs = n * n;
    if (p->machine != NULL || a->device == NULL || n < 2 || pairs > most_pairs)
        return SKED_OK;
    pair *const list = calloc((size_t)pairs, sizeof *list);
    int32_t *const number = malloc((size_t)n * sizeof *number);
    bool *const taken = calloc((size_t)n, sizeof *taken);
    const bool fine = list != NULL && number != NULL && taken != NULL;
    for (int64_t k = 0; fine && k < pairs; k++)
        list[k] = (pair){(int32_t)(k / n), (int32_t)(k % n), 0};
    for (int32_t i = 0; fine && i < a->ops; i++)
        list[a->device[i] * n + b->device[i]].ops++;
    if (fine)
        qsort(list, (size_t)pairs, sizeof *list, by_ops);
    for (int64_t d = 0; fine && d < n; d++)
        number[d] = -1;
    for (int64_t k = 0; fine && k < pairs; k++)
        if (!taken[list[k].a] && number[list[k].b] < 0) {
            number[list[k].b] = list[k].a;
            taken[list[k].a] = true;
        }
    for (int32_t i = 0; fine && i < b->ops; i++)
        b->device[i] = number[b->device[i]];
    free(list);
    free(number);
    free(taken);
    return fine ? SKED_OK : fail(err, SKED_ERR_MEMORY, "out of memory");
}

/* What became of an op: it moved to another device, or starts at another time. */
static bool moved(const sked_schedule *a, const sked_schedule *b, int32_t op)
{
    return a->device != NULL && a->device[op] != b->device[op];
}

static bool shifted(const sked_schedule *a, const sked_schedule *b, int32_t op)
{
    return a->start[op] != b->start[op];
}

static const char *place(const column *c, int32_t op, char *buf, size_t size)
{
    char name[340], time[40];
    human(c->schedule->start[op], time, sizeof time);
    if (c->schedule->device == NULL)
        snprintf(buf, size, "at %s", time);
    else
        snprintf(buf, size, "%s at %s", device_label(&c->problem, c->schedule->device[op], name, sizeof name),
                 time);
    return buf;
}

/* Ops that moved first, then those that start elsewhere in time. */
static void put_moves(const column *c, int32_t n_moved, int32_t n_shifted, double ged)
{
    const sked_schedule *a = c[0].schedule, *b = c[1].schedule;
    char from[400], to[400], name[300];
    printable_text text;
    int shown = 0;
    printf("moved                    %d of %d ops to another device, %d start at another time; GED %.1f %%\n",
           (int)n_moved, (int)a->ops, (int)n_shifted, ged);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < a->ops && shown < most_moved; i++) {
            if (pass == 0 ? !moved(a, b, i) : moved(a, b, i) || !shifted(a, b, i))
                continue;
            sked_graph_op_name(c[0].problem.graph, i, name, sizeof name);
            printf("  %-22s %s -> %s\n", printable(name, &text), place(&c[0], i, from, sizeof from),
                   place(&c[1], i, to, sizeof to));
            shown++;
        }
}

static sked_status print_pair(const arguments *a, const column *c, sked_error *err)
{
    const sked_schedule *const both[] = {c[0].schedule, c[1].schedule};
    sked_diversity d = {.size = sizeof d};
    int32_t n_moved = 0, n_shifted = 0;
    const sked_status st = sked_schedules_diversity(&c[0].problem, both, 2, &d, err);
    if (st != SKED_OK)
        return st;
    for (int32_t i = 0; i < both[0]->ops; i++) {
        n_moved += moved(both[0], both[1], i);
        n_shifted += shifted(both[0], both[1], i);
    }
    if (!a->json) {
        put_table(c, 2);
        put_moves(c, n_moved, n_shifted, d.ged);
        return SKED_OK;
    }
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_column(&j, "a", &c[0]);
    json_column(&j, "b", &c[1]);
    json_number(&j, "moved", n_moved);
    json_number(&j, "shifted", n_shifted);
    json_number(&j, "ged", d.ged);
    json_close(&j, '}');
    return SKED_OK;
}

/* Reads and validates a file; its devices and interval are those of the problem. */
static sked_status read_column(const char *path, const setup *s, column *c, sked_schedule **out,
                               sked_error *err)
{
    sked_status st = sked_schedule_read(path, &s->problem, out, err);
    if (st != SKED_OK)
        return st;
    const char *slash = strrchr(path, '/');
    *c = (column){.name = slash != NULL ? slash + 1 : path, .schedule = *out, .problem = s->problem};
    if (s->machine == NULL)
        c->problem.devices = (*out)->devices;
    c->problem.ii = (*out)->ii;
    return sked_schedule_validate(&c->problem, *out, err);
}

sked_status run_compare(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_schedule *schedule[2] = {NULL};
    column c[2] = {{.name = NULL}};
    end_on_signal(true);
    sked_status st = check_pictures(&a->pictures, err);
    if (st == SKED_OK)
        st = load_problem(a, a->operand.at[0], &s, err);
    for (int k = 0; k < 2 && st == SKED_OK; k++)
        st = read_column(a->operand.at[k + 1], &s, &c[k], &schedule[k], err);
    if (st == SKED_OK && c[0].problem.devices != c[1].problem.devices)
        st = fail(err, SKED_ERR_ARGUMENT,
                  "%.200s has %d devices and %.200s %d: schedules of one machine are compared", c[0].name,
                  (int)c[0].problem.devices, c[1].name, (int)c[1].problem.devices);
    if (st == SKED_OK)
        st = renumber(&c[0].problem, schedule[0], schedule[1], err);
    for (int k = 0; k < 2 && st == SKED_OK; k++)
        st = fill_column(&c[k], err);
    if (st == SKED_OK)
        st = draw(c, 2, &a->pictures, err);
    if (st == SKED_OK)
        st = print_pair(a, c, err);
    clear_columns(c, 2);
    sked_schedule_destroy(schedule[0]);
    sked_schedule_destroy(schedule[1]);
    clear_setup(&s);
    return st;
}

/* ------------------------------------------------------------------ several methods */

static void print_methods_json(const arguments *a, const setup *s, const column *c, int n)
{
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "graph", sked_graph_name(s->graph));
    json_text(&j, "objective", sked_objective_name(s->problem.objective));
    json_number(&j, "seed", (double)a->seed);
    json_open(&j, "methods", '[');
    for (int k = 0; k < n; k++)
        json_column(&j, NULL, &c[k]);
    json_close(&j, ']');
    json_close(&j, '}');
}

/* The names in "A,B,C", cut apart in `text`. */
static sked_status split_methods(char *text, const char **name, int *n, sked_error *err)
{
    for (char *at = text; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma++ = 0;
        if (*n == most_methods)
            return fail(err, SKED_ERR_ARGUMENT, "--method compares up to %d methods", (int)most_methods);
        for (int k = 0; k < *n; k++)
            if (strcmp(name[k], at) == 0)
                return fail(err, SKED_ERR_ARGUMENT, "--method names '%.60s' twice", at);
        name[(*n)++] = at;
        at = comma;
    }
    return SKED_OK;
}

static sked_status run_columns(const arguments *a, const setup *s, const sked_run_options *opt,
                               const char *const *name, sked_result *result, column *c, int n,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; k < n && st == SKED_OK; k++) {
        result[k] = (sked_result){.size = sizeof result[k]};
        st = sked_method_run(name[k], &s->problem, opt, &result[k], err);
        end_progress();
        if (st != SKED_OK)
            break;
        c[k] = (column){
            .name = name[k], .schedule = result[k].schedule[0], .result = &result[k], .problem = s->problem};
        st = fill_column(&c[k], err);
    }
    if (st == SKED_OK)
        st = draw(c, n, &a->output, err);
    if (st == SKED_OK && a->json)
        print_methods_json(a, s, c, n);
    else if (st == SKED_OK)
        put_table(c, n);
    return st;
}

sked_status run_methods_side_by_side(const arguments *a, const setup *s, const sked_run_options *opt,
                                     sked_error *err)
{
    const char *name[most_methods];
    sked_result result[most_methods] = {{.size = 0}};
    column c[most_methods] = {{.name = NULL}};
    int n = 0;
    char *text = strdup(a->method);
    sked_status st =
        text != NULL ? split_methods(text, name, &n, err) : fail(err, SKED_ERR_MEMORY, "out of memory");
    if (st == SKED_OK)
        st = check_pictures(&a->output, err);
    if (st == SKED_OK)
        st = run_columns(a, s, opt, name, result, c, n, err);
    clear_columns(c, n);
    for (int k = 0; k < n; k++)
        if (result[k].size > 0)
            sked_result_clear(&result[k]);
    free(text);
    return st;
}
