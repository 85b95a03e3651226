#include "report/pipeline.h"

#include "problem/chaining.h"
#include "report/page.h"

static const int32_t most_stages = 2000;

static double stages_of(const sked_report_data *data)
{
    double last = -1;
    for (int32_t i = 0; i < data->schedule->ops; i++)
        last = fmax(last, data->schedule->start[i]);
    return last + 1;
}

bool sked_i_pipeline_known(const sked_report_data *data)
{
    return data->problem->clock > 0 && data->schedule->ii == 1 && stages_of(data) <= most_stages;
}

static void add_list(sked_i_buffer *b, const char *name, const double *value, int32_t count)
{
    sked_i_buffer_format(b, ",\n\"%s\":[", name);
    for (int32_t k = 0; k < count; k++) {
        sked_i_buffer_text(b, k > 0 ? "," : "");
        sked_i_page_number(b, value[k]);
    }
    sked_i_buffer_char(b, ']');
}

/* Ops that start in each stage, and when the last of them is through or has its inputs in registers. */
static void add_up(const sked_report_data *data, const double *phase, double *ops, double *delay)
{
    const sked_graph *g = data->problem->graph;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const int32_t k = (int32_t)data->schedule->start[i];
        ops[k]++;
        delay[k] = fmax(delay[k], phase[i] + sked_i_delay_in(g, i));
    }
}

sked_status sked_i_pipeline_json(const sked_report_data *data, sked_i_buffer *b, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    const int32_t stages = (int32_t)stages_of(data);
    double *ops, *delay, *phase, *bits = NULL;
    int32_t count;
    SKED_OWN0(&arena, ops, stages);
    SKED_OWN0(&arena, delay, stages);
    SKED_OWN(&arena, phase, data->schedule->ops);
    SKED_TRY(sked_i_clock_phases(data->problem, data->schedule, phase, err));
    SKED_TRY(sked_schedule_registers(data->problem, data->schedule, &bits, &count, err));
    add_up(data, phase, ops, delay);
    sked_i_buffer_text(b, "{\"clock\":");
    sked_i_page_number(b, data->problem->clock);
    add_list(b, "ops", ops, stages);
    add_list(b, "delay", delay, stages);
    add_list(b, "registers", bits, count);
    sked_i_buffer_char(b, '}');
cleanup:
    sked_free(bits);
    sked_i_arena_free(&arena);
    return st;
}
