#include "form/uses.h"

#include <assert.h>

void sked_i_uses_free(sked_i_uses *u)
{
    sked_i_arena_free(&u->arena);
    *u = (sked_i_uses){0};
}

sked_status sked_i_uses_make(const sked_graph *g, sked_i_uses *u, sked_error *err)
{
    const int32_t n = g->n_ops;
    sked_status st = SKED_OK;
    int32_t *seen = NULL;
    *u = (sked_i_uses){0};
    SKED_NEW(seen, n);
    SKED_OWN(&u->arena, u->reader_ptr, (int64_t)n + 1);
    SKED_OWN0(&u->arena, u->input_ptr, (int64_t)n + 2);
    SKED_OWN(&u->arena, u->reader, g->n_edges);
    SKED_OWN(&u->arena, u->input, g->n_edges);
    SKED_OWN(&u->arena, u->size, n);
    for (int32_t i = 0; i < n; i++)
        seen[i] = -1;
    int64_t k = 0;
    for (int32_t i = 0; i < n; i++) {
        u->reader_ptr[i] = k;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0 && sked_i_passes(g, e) && seen[g->edge_to[e]] != i) {
                seen[g->edge_to[e]] = i;
                u->reader[k++] = g->edge_to[e];
                u->input_ptr[g->edge_to[e] + 2]++;
            }
        u->size[i] = k > u->reader_ptr[i] ? g->memory[i] : 0;
    }
    u->reader_ptr[n] = k;
    for (int32_t i = 0; i < n; i++)
        u->input_ptr[i + 2] += u->input_ptr[i + 1];
    for (int32_t i = 0; i < n; i++)
        for (int64_t r = u->reader_ptr[i]; r < u->reader_ptr[i + 1]; r++)
            u->input[u->input_ptr[u->reader[r] + 1]++] = i;
    assert(u->input_ptr[n] == u->reader_ptr[n]);
cleanup:
    free(seen);
    return st;
}
