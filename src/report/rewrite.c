#include "report/rewrite.h"

#include "schedule/schedule.h"

#include <string.h>

enum { most_bytes = INT32_MAX }; /* neither Protocol Buffers nor FlatBuffers hold more */

/* Only a schedule of one device and of one run is an order. */
static sked_status check_schedule(const sked_report_data *data, const char *format, sked_error *err)
{
    if (data->schedule->devices != 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "%s: a model runs its operators one after the other: schedule it on one device",
                           format);
    if (data->schedule->ii > 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s: a model cannot hold a pipelined schedule", format);
    if (data->source == NULL || strcmp(data->source, "-") == 0)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "%s: a model is written back from the file that the graph was read from: name that file", format);
    return SKED_OK;
}

/* The file has the ops of the graph, and the order keeps its edges. */
static sked_status check_order(const sked_graph *file, const sked_graph *g, const char *path,
                               const int32_t *order, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *place = NULL;
    bool same = file->n_ops == g->n_ops && file->op_names.count == g->op_names.count;
    for (int32_t i = 0; same && i < file->op_names.count; i++)
        same = strcmp(sked_i_names_at(&file->op_names, i), sked_i_names_at(&g->op_names, i)) == 0;
    SKED_NEW(place, g->n_ops);
    for (int32_t k = 0; k < g->n_ops; k++)
        place[order[k]] = k;
    for (int64_t e = 0; same && e < file->n_edges; e++)
        same = place[file->edge_from[e]] < place[file->edge_to[e]];
    if (!same)
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                         "%s: the graph that was scheduled is not the one in this file", path);
cleanup:
    free(place);
    return st;
}

sked_status sked_i_rewrite_begin(const sked_report_data *data, const char *format, sked_i_rewrite *m,
                                 sked_error *err)
{
    const sked_graph *g = data->problem->graph;
    sked_graph *file = NULL;
    int64_t size = 0;
    sked_status st;
    *m = (sked_i_rewrite){0};
    SKED_TRY(check_schedule(data, format, err));
    SKED_TRY(sked_i_file_read(data->source, most_bytes, &m->text, &size, err));
    sked_read_options_init_sized(&m->options, sizeof m->options);
    m->options.format = format;
    m->source = (sked_i_source){data->source, m->text, (size_t)size, &m->options};
    SKED_TRY(sked_graph_parse(data->source, m->text, (size_t)size, &m->options, &file, err));
    SKED_NEW(m->order, g->n_ops);
    SKED_TRY(sked_i_schedule_order(g, data->schedule->start, m->order, err));
    SKED_TRY(check_order(file, g, data->source, m->order, err));
cleanup:
    sked_graph_destroy(file);
    return st;
}

void sked_i_rewrite_free(sked_i_rewrite *m)
{
    free(m->text);
    free(m->order);
}
