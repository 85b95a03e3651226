/* Puts the parts of a view together. */
#include "report/view.h"

#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>

/* Exact comparisons need integer times in the problem and in the schedule. */
static double time_tolerance(const sked_i_view *v)
{
    const double relative = 1e-9 * (v->makespan > 1 ? v->makespan : 1);
    if (!sked_i_problem_integral(v->problem) || v->schedule->ii != floor(v->schedule->ii))
        return relative;
    for (int32_t i = 0; i < v->schedule->ops; i++)
        if (v->schedule->start[i] != floor(v->schedule->start[i]))
            return relative;
    return 0;
}

/* The graph as it runs: every op takes the time of its device. */
static sked_status take_times(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    double *time = NULL;
    SKED_TRY(sked_i_costs_make(v->problem, &v->costs, err));
    if (v->problem->machine == NULL || v->schedule->device == NULL)
        return SKED_OK;
    SKED_NEW(time, v->graph->n_ops);
    for (int32_t i = 0; i < v->graph->n_ops; i++)
        time[i] = sked_i_time_in(&v->costs, v->schedule, i);
    SKED_TRY(sked_i_graph_with_durations(v->problem->graph, time, &v->timed, err));
    v->graph = v->timed;
cleanup:
    free(time);
    return st;
}

sked_status sked_i_view_init(sked_i_view *v, const sked_report_data *data, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(data->schedule->ops == data->problem->graph->n_ops); /* it was validated */
    *v = (sked_i_view){
        .data = data, .graph = data->problem->graph, .problem = data->problem, .schedule = data->schedule};
    SKED_TRY(take_times(v, err));
    v->makespan = sked_i_schedule_makespan(v->graph, v->schedule);
    v->tolerance = time_tolerance(v);
    v->in_cycles = v->problem->clock > 0 && v->schedule->ii == 1 && v->schedule->phase != NULL;
    if (v->schedule->ii > 0 && !v->in_cycles) {
        const double overlapped = ceil(v->makespan / v->schedule->ii);
        v->copies = overlapped < SKED_I_MAX_COPIES ? (int32_t)overlapped : SKED_I_MAX_COPIES;
    }
    SKED_TRY(sked_i_view_rows(v, err));
    SKED_TRY(sked_i_view_colors(v, err));
    SKED_TRY(sked_i_view_slack(v, err));
    SKED_TRY(sked_i_view_chain(v, err));
    return SKED_OK;
cleanup:
    sked_i_view_free(v);
    return st;
}

void sked_i_view_free(sked_i_view *v)
{
    sked_i_arena_free(&v->arena);
    sked_graph_destroy(v->timed);
    sked_i_costs_free(&v->costs);
    *v = (sked_i_view){0};
}

double sked_i_view_end(const sked_i_view *v)
{
    const double end = fmax(v->makespan + v->copies * v->schedule->ii, v->last);
    return end > 0 ? end : 1;
}
