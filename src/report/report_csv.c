/* Tables for spreadsheets: a line an op, in the order of their starts. */
#include "base/memory.h"
#include "report/report.h"
#include "report/view.h"

#include <math.h>
#include <string.h>

typedef struct line {
    double start;
    int32_t op;
} line;

static int by_start(const void *x, const void *y)
{
    const line *a = x, *b = y;
    return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
                                : (a->op > b->op) - (a->op < b->op);
}

/* A field; one with a comma, quote or line end stands in quotes (RFC 4180). */
static void add_text(sked_i_buffer *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == 0) {
        sked_i_buffer_text(out, text);
        return;
    }
    sked_i_buffer_char(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            sked_i_buffer_char(out, '"');
        sked_i_buffer_char(out, *text);
    }
    sked_i_buffer_char(out, '"');
}

static void add_number(sked_i_buffer *out, double x)
{
    sked_i_buffer_char(out, ',');
    sked_i_buffer_number(out, x);
}

/* When the last input is there. */
static double ready_at(const sked_i_costs *c, const sked_schedule *s, int32_t op)
{
    const sked_graph *g = c->graph;
    double ready = 0;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        const int32_t from = g->pred_op[k], on = s->device != NULL ? s->device[from] : 0;
        if (g->edge_distance[e] > 0 && s->ii == 0)
            continue;
        double at = s->start[from] + sked_i_lag(c, e, on) - g->edge_distance[e] * s->ii;
        if (s->device != NULL)
            at += sked_i_transfer_time(c, g->edge_bytes[e], on, s->device[op]);
        ready = fmax(ready, at);
    }
    return ready;
}

static void write_line(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s, int32_t op,
                       sked_i_buffer *out)
{
    char number[24], name[300];
    const sked_graph *g = p->graph;
    const char *type = sked_graph_op_type(g, op);
    add_text(out, g->op_names.count > 0 ? sked_i_names_at(&g->op_names, op)
                                        : sked_graph_op_name(g, op, number, sizeof number));
    sked_i_buffer_char(out, ',');
    add_text(out, type != NULL ? type : "");
    sked_i_buffer_char(out, ',');
    if (s->device != NULL)
        add_text(out, p->machine != NULL ? sked_machine_device_name(p->machine, s->device[op])
                                         : sked_problem_device_name(p, s->device[op], name, sizeof name));
    add_number(out, s->start[op]);
    add_number(out, s->start[op] + sked_i_time_in(c, s, op));
    add_number(out, fmax(0, s->start[op] - ready_at(c, s, op)));
    if (s->phase != NULL)
        add_number(out, s->phase[op]);
    sked_i_buffer_char(out, '\n');
}

static sked_status csv_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    const sked_problem *p = data->problem;
    const sked_schedule *s = data->schedule;
    sked_i_view v = {0};
    line *order = NULL;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_view_init(&v, data, err));
    SKED_NEW(order, s->ops);
    for (int32_t i = 0; i < s->ops; i++)
        order[i] = (line){s->start[i], i};
    if (s->ops > 0)
        qsort(order, (size_t)s->ops, sizeof *order, by_start);
    sked_i_buffer_text(out, "op,type,device,start,finish,waits");
    sked_i_buffer_text(out, s->phase != NULL ? ",phase\n" : "\n");
    for (int32_t i = 0; i < s->ops; i++)
        write_line(p, &v.costs, s, order[i].op, out);
cleanup:
    free(order);
    sked_i_view_free(&v);
    return st;
}

const sked_i_report sked_i_report_csv = {
    {"csv", ".csv", "a table: op, type, device, start, finish, and how long it waited with its inputs there"},
    csv_write,
    false};
