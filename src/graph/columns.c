/* Whole arrays into a builder, and the arrays of a graph as they are. */
#include "base/sized.h"
#include "graph/graph.h"

static sked_status add_op(sked_builder *b, const sked_columns *c, int32_t i, sked_error *err)
{
    int32_t op = -1;
    sked_status st = sked_builder_add_op(b, c->name != NULL ? c->name[i] : NULL,
                                         c->type != NULL ? c->type[i] : NULL, c->duration[i], &op, err);
    if (st == SKED_OK && c->memory != NULL)
        st = sked_builder_set_memory(b, op, c->memory[i], err);
    if (st == SKED_OK && c->weight != NULL)
        st = sked_builder_set_weight(b, op, c->weight[i], err);
    if (st == SKED_OK && c->keep != NULL && c->keep[i])
        st = sked_builder_set_keep(b, op, true, err);
    return st;
}

static sked_status add_edge(sked_builder *b, const sked_columns *c, int64_t e, sked_error *err)
{
    const bool follows = c->lag == NULL || (c->lag_given != NULL && !c->lag_given[e]);
    const sked_edge edge = {
        .from = c->from[e],
        .to = c->to[e],
        .lag = follows ? SKED_LAG_DEFAULT : c->lag[e],
        .bytes = c->bytes != NULL ? c->bytes[e] : 0,
        .distance = c->distance != NULL ? c->distance[e] : 0,
    };
    return sked_builder_add_edge(b, &edge, err);
}

sked_status sked_builder_add_columns(sked_builder *b, const sked_columns *columns, sked_error *err)
{
    SKED_TAKE(sked_columns, columns)
    const sked_columns *c = columns;
    if (c->ops < 0 || c->edges < 0 || (c->ops > 0 && c->duration == NULL) ||
        (c->edges > 0 && (c->from == NULL || c->to == NULL)))
        return sked_i_builder_refuse(
            b, "columns need counts of 0 or more, durations of ops, and both ends of edges", err);
    const int64_t all = (int64_t)sked_builder_op_count(b) + c->ops;
    sked_status st = sked_i_builder_reserve(b, all < INT32_MAX ? (int32_t)all : INT32_MAX - 1, c->edges, err);
    for (int32_t i = 0; st == SKED_OK && i < c->ops; i++)
        st = add_op(b, c, i, err);
    for (int64_t e = 0; st == SKED_OK && e < c->edges; e++)
        st = add_edge(b, c, e, err);
    return st;
}

sked_status sked_graph_columns(const sked_graph *g, sked_columns *out, sked_error *err)
{
    SKED_CHECK_OUTPUT(sked_columns, out);
    const sked_columns c = {
        .size = sizeof c,
        .ops = g->n_ops,
        .duration = g->duration,
        .memory = g->memory,
        .weight = g->weight,
        .keep = g->keep,
        .edges = g->n_edges,
        .from = g->edge_from,
        .to = g->edge_to,
        .lag = g->edge_lag,
        .lag_given = g->edge_lag_given,
        .bytes = g->edge_bytes,
        .distance = g->edge_distance,
    };
    SKED_GIVE(out, c);
    return SKED_OK;
}
