/* What a model needs in the order that its operators have in the file: beside a schedule that gives another.
 */
#include "cli.h"

#include <math.h>

static bool in_order(const sked_graph *g)
{
    sked_edge e;
    for (int64_t k = 0; k < sked_graph_edge_count(g); k++) {
        sked_graph_edge(g, k, &e);
        if (e.from >= e.to)
            return false;
    }
    return true;
}

sked_status file_order_peak(const arguments *a, const sked_problem *p, double *peak, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_metrics m = {.size = sizeof m};
    double now = 0;
    const char *extension;
    const int32_t n = sked_graph_op_count(p->graph);
    *peak = NAN;
    if (model_output(a, &extension) == NULL || p->devices != 1 || !in_order(p->graph))
        return SKED_OK;
    sked_status st = sked_schedule_create(n, 1, &s, err);
    for (int32_t i = 0; st == SKED_OK && i < n; i++) {
        s->start[i] = now;
        s->device[i] = 0;
        now += sked_problem_duration(p, i, 0);
    }
    if (st == SKED_OK)
        st = sked_schedule_measure(p, s, &m, err);
    if (st == SKED_OK)
        *peak = m.peak_memory;
    sked_schedule_destroy(s);
    return st;
}

void print_model(const model_memory *m)
{
    char x[40], y[40];
    if (!isnan(m->file_peak))
        printf("  file's order   peak memory %s\n", human(m->file_peak, x, sizeof x));
    if (!isnan(m->arena[0]))
        printf("  model's arena  %s, in the file's order %s\n", human(m->arena[0], x, sizeof x),
               human(m->arena[1], y, sizeof y));
}

void json_model_memory(json_out *j, const model_memory *m)
{
    if (!isnan(m->file_peak))
        json_number(j, "file_order_peak_memory", m->file_peak);
    if (!isnan(m->arena[0])) {
        json_number(j, "model_arena", m->arena[0]);
        json_number(j, "file_order_model_arena", m->arena[1]);
    }
}
