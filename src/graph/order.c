/* Longest paths and levels over the edges of distance 0, in the stored topological order. */
#include "graph/graph.h"

void sked_i_heads(const sked_graph *g, double *head)
{
    for (int32_t i = 0; i < g->n_ops; i++)
        head[i] = 0;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const double t = head[i] + g->edge_lag[e];
            if (g->edge_distance[e] == 0 && t > head[g->edge_to[e]])
                head[g->edge_to[e]] = t;
        }
    }
}

void sked_i_tails(const sked_graph *g, double *tail)
{
    for (int32_t k = g->n_ops - 1; k >= 0; k--) {
        const int32_t i = g->topo[k];
        double longest = g->duration[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const double t = g->edge_lag[e] + tail[g->edge_to[e]];
            if (g->edge_distance[e] == 0 && t > longest)
                longest = t;
        }
        tail[i] = longest;
    }
}

double sked_i_critical_path(const sked_graph *g, const double *head)
{
    double longest = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        if (head[i] + g->duration[i] > longest)
            longest = head[i] + g->duration[i];
    return longest;
}

int32_t sked_i_levels(const sked_graph *g, int32_t *level)
{
    int32_t depth = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        level[i] = 0;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        if (level[i] + 1 > depth)
            depth = level[i] + 1;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0 && level[i] + 1 > level[g->edge_to[e]])
                level[g->edge_to[e]] = level[i] + 1;
    }
    return depth;
}
