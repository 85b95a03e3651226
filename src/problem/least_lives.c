/* How long values live at the least: as long as the longest path from an op to a reader of its value. */
#include "problem/bounds.h"

#include "base/arena.h"

#include <assert.h>

/* A value and by how much following its paths could lengthen its life, weighed by its size. */
typedef struct promise {
    double gain;
    int32_t op;
} promise;

typedef struct lives {
    sked_i_arena arena;
    const sked_graph *g;
    double interval; /* 0: carried edges do not count */
    double *head;    /* [n] longest path to the op */
    double *dist;    /* [n] by place: longest path from the op at hand; -INFINITY: none */
    int32_t *place;  /* [n] in the topological order */
    promise *order;  /* [n] */
} lives;

/* The longest lag to a reader, the edge itself; *most: no path to a reader is longer. */
static double direct_life(const lives *x, int32_t v, double *most)
{
    const sked_graph *g = x->g;
    double longest = *most = 0;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
        if (sked_i_edge_counts(g, x->interval > 0, e) && sked_i_passes(g, e)) {
            longest = fmax(longest, g->edge_lag[e]);
            *most = fmax(*most, x->head[g->edge_to[e]] - x->head[v] + g->edge_distance[e] * x->interval);
        }
    return longest;
}

static int32_t last_reader(const lives *x, int32_t v)
{
    int32_t last = x->place[v];
    for (int64_t e = x->g->succ_ptr[v]; e < x->g->succ_ptr[v + 1]; e++)
        if (sked_i_edge_counts(x->g, x->interval > 0, e) && sked_i_passes(x->g, e) &&
            x->place[x->g->edge_to[e]] > last)
            last = x->place[x->g->edge_to[e]];
    return last;
}

/* Longest paths from v to the ops up to its last reader, and the life that follows. */
static double path_life(lives *x, int32_t v, double *work)
{
    const sked_graph *g = x->g;
    const int32_t first = x->place[v], last = last_reader(x, v);
    double longest = 0;
    assert(first <= last);
    for (int32_t k = first; k <= last; k++)
        x->dist[k] = -INFINITY;
    x->dist[first] = 0;
    *work -= last - first;
    for (int32_t k = first; k < last; k++) {
        const int32_t i = g->topo[k];
        if (x->dist[k] == -INFINITY)
            continue;
        *work -= (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int32_t to = x->place[g->edge_to[e]];
            if (g->edge_distance[e] == 0 && to <= last)
                x->dist[to] = fmax(x->dist[to], x->dist[k] + g->edge_lag[e]);
        }
    }
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
        const int32_t to = x->place[g->edge_to[e]];
        if (sked_i_edge_counts(x->g, x->interval > 0, e) && sked_i_passes(g, e) && to >= first)
            longest = fmax(longest, x->dist[to] + g->edge_distance[e] * x->interval);
    }
    return longest;
}

static int by_gain(const void *a, const void *b)
{
    const promise *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

sked_status sked_i_least_lives(const sked_problem *p, const sked_i_bound_effort *effort, double *life,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = p->graph;
    lives x = {.g = g, .interval = p->ii > 0 ? p->ii : 0};
    double work = effort->work / 4;
    SKED_OWN(&x.arena, x.head, g->n_ops);
    SKED_OWN(&x.arena, x.dist, g->n_ops);
    SKED_OWN(&x.arena, x.place, g->n_ops);
    SKED_OWN(&x.arena, x.order, g->n_ops);
    sked_i_heads(g, x.head);
    for (int32_t k = 0; k < g->n_ops; k++)
        x.place[g->topo[k]] = k;
    for (int32_t v = 0; v < g->n_ops; v++) {
        double most;
        life[v] = direct_life(&x, v, &most);
        x.order[v] = (promise){g->memory[v] * (most - life[v]), v};
    }
    qsort(x.order, (size_t)g->n_ops, sizeof *x.order, by_gain);
    for (int32_t k = 0; k < g->n_ops && work > 0 && x.order[k].gain > 0 && !sked_i_limit_heard(effort->limit);
         k++)
        life[x.order[k].op] = fmax(life[x.order[k].op], path_life(&x, x.order[k].op, &work));
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}
