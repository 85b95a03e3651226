/* The figures of `sked info` that belong to the graph alone. */
#include "base/sized.h"
#include "graph/relations.h"

/* What describe spends beyond O(ops + edges): about a second. */
#define EXACT_WIDTH_OPS 10000
#define MOST_WORK       100000000.0

static void count_ops(const sked_graph *g, sked_graph_info *info)
{
    for (int32_t i = 0; i < g->n_ops; i++) {
        bool source = true, sink = true;
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1] && source; k++)
            source = g->edge_distance[g->pred_edge[k]] > 0;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1] && sink; e++)
            sink = g->edge_distance[e] > 0;
        info->sources += source;
        info->sinks += sink;
        info->isolated += g->pred_ptr[i] == g->pred_ptr[i + 1] && g->succ_ptr[i] == g->succ_ptr[i + 1];
        info->work += g->duration[i];
        info->memory += g->memory[i];
        info->weight += g->weight[i];
    }
    for (int64_t e = 0; e < g->n_edges; e++)
        info->bytes += g->edge_bytes[e];
}

static sked_status measure_levels(const sked_graph *g, sked_graph_info *info, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena own = {0};
    int32_t *level, *size;
    double *head;
    SKED_OWN(&own, head, g->n_ops);
    sked_i_heads(g, head);
    info->critical_path = sked_i_critical_path(g, head);
    sked_i_arena_drop(&own, head);
    SKED_OWN(&own, level, g->n_ops);
    info->depth = sked_i_levels(g, level);
    SKED_OWN0(&own, size, info->depth);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (++size[level[i]] > info->width)
            info->width = size[level[i]];
cleanup:
    sked_i_arena_free(&own);
    return st;
}

/* Small graphs: the closure gives the redundant edges and the exact width. */
static sked_status relate_all(const sked_graph *g, sked_graph_info *info, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_closure *c = NULL;
    SKED_TRY(sked_i_closure_create(g, 0, &c, err));
    SKED_TRY(sked_i_graph_width(c, &info->width, err));
    info->width_exact = true;
    info->redundant_edges = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        info->redundant_edges += c->redundant[e];
cleanup:
    sked_i_closure_destroy(c);
    return st;
}

static sked_status count_redundant(const sked_graph *g, sked_graph_info *info, sked_error *err)
{
    sked_status st = SKED_OK;
    uint8_t *redundant = NULL;
    SKED_NEW(redundant, g->n_edges);
    st = sked_i_graph_reduce(g, SKED_I_REDUCE_PATHS, MOST_WORK, redundant, &info->redundant_edges, NULL);
    if (st == SKED_ERR_UNSUPPORTED) {
        info->redundant_edges = -1;
        st = SKED_OK;
    } else if (st != SKED_OK) {
        st = sked_i_no_memory(err); /* the only other way it fails */
    }
cleanup:
    free(redundant);
    return st;
}

sked_status sked_graph_describe(const sked_graph *g, sked_graph_info *out, sked_error *err)
{
    SKED_CHECK_OUTPUT(sked_graph_info, out);
    sked_status st = SKED_OK;
    sked_graph_info info = {.ops = g->n_ops,
                            .types = g->n_types,
                            .resources = g->n_resources,
                            .edges = g->n_edges,
                            .carried_edges = g->n_carried,
                            .integral = g->integral};
    count_ops(g, &info);
    SKED_TRY(measure_levels(g, &info, err));
    const double most = (double)g->n_edges * (g->n_ops / 512 + 1); /* row operations of the closure */
    if (g->n_ops <= EXACT_WIDTH_OPS && most <= MOST_WORK)
        SKED_TRY(relate_all(g, &info, err));
    else
        SKED_TRY(count_redundant(g, &info, err));
    SKED_GIVE(out, info);
cleanup:
    return st;
}
