/* Loops out of any graph: more loop-carried edges, each of which closes a recurrence. */
#include "base/rng.h"
#include "base/sized.h"
#include "graph/graph.h"

/*
 * Back over `steps` edges of the longest path that leads to op, or as many as there are. No path between the
 * two is longer, so a recurrence closed there needs no more than these lags, and neither does one that
 * several such edges close together: no path forwards takes more than the way back has saved.
 */
static int32_t walk_back(const sked_graph *g, const double *head, int32_t op, int32_t steps)
{
    for (int32_t k = 0; k < steps; k++) {
        int32_t from = -1;
        for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1] && from < 0; j++) {
            const int64_t e = g->pred_edge[j];
            if (g->edge_distance[e] == 0 && head[g->pred_op[j]] + g->edge_lag[e] == head[op])
                from = g->pred_op[j];
        }
        if (from < 0)
            break;
        op = from;
    }
    return op;
}

static sked_status draw_edges(const sked_graph *g, const sked_back_edges *draw, sked_builder *b,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    double *head = NULL;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, draw->seed, 0);
    SKED_NEW(head, g->n_ops);
    sked_i_heads(g, head);
    for (int64_t k = 0; k < draw->count; k++) {
        const int32_t from = (int32_t)sked_i_rng_below(&rng, (uint64_t)g->n_ops);
        const int32_t steps = 1 + (int32_t)sked_i_rng_below(&rng, (uint64_t)draw->span);
        const int32_t to = walk_back(g, head, from, steps);
        const int32_t distance = 1 + (int32_t)sked_i_rng_below(&rng, (uint64_t)draw->distance);
        SKED_TRY(sked_builder_add_edge(b, &(sked_edge){from, to, NAN, 0, distance}, err));
    }
cleanup:
    free(head);
    return st;
}

sked_status sked_graph_looped(const sked_graph *g, const sked_back_edges *draw, sked_graph **out,
                              sked_error *err)
{
    SKED_TAKE(sked_back_edges, draw)
    sked_builder *b = NULL;
    sked_status st = SKED_OK;
    if (draw->count < 0 || draw->distance < 1 || draw->span < 1)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "back edges need a count of at least 0, and a distance and a span of at least 1");
    if (draw->count > 0 && g->n_ops == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "a graph without ops has no room for back edges");
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy(g, NULL, b, err));
    SKED_TRY(draw_edges(g, draw, b, err));
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}

void sked_back_edges_init_sized(sked_back_edges *draw, size_t size)
{
    const sked_back_edges preset = {.distance = 1, .span = 16};
    sked_i_sized_init(draw, size, &preset, sizeof preset);
}
