#include "target/queues.h"

#include <assert.h>

void sked_i_queues_free(sked_i_queues *q)
{
    free(q->ptr);
    free(q->op);
    *q = (sked_i_queues){0};
}

sked_status sked_i_queues_make(const sked_target *t, const sked_schedule *s, sked_i_queues *q,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    double time;
    SKED_TRY(sked_i_replay_run(t->replay, s, NULL, &time, err));
    const int32_t *position = sked_i_replay_positions(t->replay);
    SKED_NEW0(q->ptr, (int64_t)s->devices + 1);
    SKED_NEW(q->op, s->ops);
    for (int32_t i = 0; i < s->ops; i++)
        q->ptr[s->device[i] + 1]++;
    for (int32_t d = 0; d < s->devices; d++)
        q->ptr[d + 1] += q->ptr[d];
    assert(q->ptr[s->devices] == s->ops);
    for (int32_t i = 0; i < s->ops; i++)
        q->op[q->ptr[s->device[i]] + position[i]] = i;
cleanup:
    return st;
}

sked_status sked_i_queues_check_lags(const sked_graph *g, const char *name, sked_error *err)
{
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        char one[64], other[64];
        if (g->edge_distance[e] == 0 && g->edge_lag_given[e] && g->edge_lag[e] != g->duration[from])
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                               "target %s runs an op when the results it reads are there; the edge from '%s' "
                               "to '%s' has a lag of its own (%g; the duration is %g)",
                               name, sked_graph_op_name(g, from, one, sizeof one),
                               sked_graph_op_name(g, to, other, sizeof other), g->edge_lag[e],
                               g->duration[from]);
    }
    return SKED_OK;
}

double sked_i_queue_result_size(const sked_graph *g, int32_t op)
{
    double size = g->memory[op];
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        size = g->edge_bytes[e] > size ? g->edge_bytes[e] : size;
    return size;
}
