/*
 * The least sum of the lives of all values, each weighed by its size, over all ways to start the ops: a
 * linear program of differences (network.h) in the starts s and the ends e of lives. m units leave the start
 * of a value of size m and reach its end.
 *
 * Each value begins on its way over one reader of its own iteration; these ways are a forest, so the first
 * tree needs no artificial flow. An arc from each root of the forest to one common node ties it together and
 * never carries flow: what comes over one of them would have to go back over another.
 */
#include "problem/life_flow.h"

#include "problem/network.h"

#include <assert.h>

/* Nodes: starts of ops, ends of lives, the common node. */
typedef struct life_flow {
    const sked_graph *g;
    double ii;
    sked_i_network net;
} life_flow;

/* ------------------------------------------------------------------ arcs */

int32_t sked_i_life_ended_by(const sked_graph *g, bool pipelined, int32_t v)
{
    int32_t reader = SKED_I_NOBODY;
    if (!(g->memory[v] > 0))
        return SKED_I_NOBODY;
    if (g->keep != NULL && g->keep[v])
        return SKED_I_OWN_END;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
        if ((g->edge_distance[e] > 0 && !pipelined) || !sked_i_passes(g, e))
            continue;
        if (reader >= 0 || g->edge_distance[e] > 0 || g->edge_lag[e] < 0)
            return SKED_I_OWN_END;
        reader = g->edge_to[e];
    }
    return reader;
}

/* The edge to the reader of the same iteration that comes last by its lag; -1: none. */
static int64_t first_way(const sked_graph *g, int32_t v)
{
    int64_t way = -1;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
        if (g->edge_distance[e] == 0 && sked_i_passes(g, e) && (way < 0 || g->edge_lag[e] > g->edge_lag[way]))
            way = e;
    return way;
}

/* ------------------------------------------------------------------ the first tree */

/* The arcs of v and its value. The value begins over the edge `way`; else the start of v hangs on the root.
 */
static void begin_value(life_flow *f, int32_t v, int64_t way)
{
    const sked_graph *g = f->g;
    sked_i_network *net = &f->net;
    const int32_t by = sked_i_life_ended_by(g, f->ii > 0, v);
    const double size = by == SKED_I_NOBODY ? 0 : g->memory[v];
    const int32_t end = by == SKED_I_OWN_END ? net->n_nodes++ : -1;
    const int64_t own = end >= 0 ? sked_i_network_add(net, v, end, 0) : -1;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
        const double shift = f->ii > 0 ? g->edge_distance[e] * f->ii : 0;
        const int32_t reader = g->edge_to[e];
        if (!sked_i_edge_counts(g, f->ii > 0, e))
            continue;
        const int64_t order = sked_i_network_add(net, v, reader, g->edge_lag[e] - shift);
        const int64_t read =
            end >= 0 && sked_i_passes(g, e) ? sked_i_network_add(net, reader, end, shift) : -1;
        if (e == way && size > 0)
            sked_i_network_hang(net, v, reader, order, size);
        if (e == way && end >= 0)
            sked_i_network_hang(net, end, reader, read, size);
    }
    if (way < 0 && end >= 0)
        sked_i_network_hang(net, end, v, own, size);
    if (way < 0 || !(size > 0))
        sked_i_network_tie(net, v);
}

/* The first tree: every value on its way over one reader. */
static void plant(life_flow *f)
{
    const int32_t n = f->g->n_ops;
    f->net.root = n;
    f->net.n_nodes = n + 1;
    for (int32_t v = 0; v < n; v++)
        begin_value(f, v, first_way(f->g, v));
    sked_i_network_settle(&f->net);
}

/* Arcs stand in the order in which begin_value added them. */
static void hand_out(const life_flow *f, sked_i_life_flow *out)
{
    const sked_graph *g = f->g;
    const sked_i_network_arc *a = f->net.arcs;
    for (int32_t v = 0; v < g->n_ops; v++) {
        const bool own = sked_i_life_ended_by(g, f->ii > 0, v) == SKED_I_OWN_END;
        out->own[v] = own ? a++->flow : 0;
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
            const bool counts = sked_i_edge_counts(g, f->ii > 0, e);
            out->order[e] = counts ? a++->flow : 0;
            out->read[e] = counts && own && sked_i_passes(g, e) ? a++->flow : 0;
        }
    }
    assert(a == f->net.arcs + f->net.n_arcs);
}

sked_status sked_i_life_flow_create(const sked_graph *g, sked_i_life_flow *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_life_flow f = {0};
    SKED_OWN0(&f.arena, f.order, g->n_edges);
    SKED_OWN0(&f.arena, f.read, g->n_edges);
    SKED_OWN0(&f.arena, f.own, g->n_ops);
    *out = f;
    return SKED_OK;
cleanup:
    sked_i_life_flow_free(&f);
    return st;
}

void sked_i_life_flow_free(sked_i_life_flow *f)
{
    sked_i_arena_free(&f->arena);
}

sked_status sked_i_life_flow_most(const sked_graph *g, double ii, sked_i_bound_effort *effort,
                                  sked_i_life_flow *out, double *sum, sked_error *err)
{
    sked_status st;
    life_flow f = {.g = g, .ii = ii, .net = {.effort = *effort}};
    f.net.slack = g->integral && ii == floor(ii) ? 0 : 1e-9;
    SKED_TRY(
        sked_i_network_open(&f.net, 2 * (int64_t)g->n_ops + 1, 2 * g->n_edges + 2 * (int64_t)g->n_ops, err));
    plant(&f);
    sked_i_network_improve(&f.net);
    *sum = fmax(0, sked_i_network_earned(&f.net));
    hand_out(&f, out);
    effort->work = f.net.effort.work;
cleanup:
    sked_i_network_close(&f.net);
    return st;
}
