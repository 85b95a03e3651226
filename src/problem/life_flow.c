/*
 * The least sum of the lives of all values, each weighed by its size, over all ways to start the ops: a
 * linear program in the starts s and the ends e of lives. Every row is a difference, x[head] - x[tail] >=
 * length, so the dual is a flow: m units leave the start of a value of size m and reach its end, over arcs of
 * any capacity, and earn the length of each arc. Any flow is a lower bound of the sum; the best one is equal
 * to it.
 *
 * The network simplex keeps a spanning tree of arcs that may carry flow. Each value begins on its way over
 * one reader of its own iteration; these ways are a forest, so the first tree needs no artificial flow. An
 * arc from each root of the forest to one common node ties it together and never carries flow: what comes
 * over one of them would have to go back over another. The arc that leaves is the last one that blocks, seen
 * from the node where the two ways meet (Cunningham 1976): the tree stays strongly feasible and the search
 * cannot cycle.
 */
#include "problem/life_flow.h"

#include "base/memory.h"

#include <stdlib.h>

typedef struct arc {
    int32_t tail, head;
    double length;
    double flow; /* known at the end of the search; meanwhile with the node below */
} arc;

/* Nodes: starts of ops, ends of lives, the common node. */
typedef struct life_flow {
    const sked_graph *g;
    double ii;
    int32_t root, n_nodes;
    arc *arcs;
    int64_t n_arcs; /* that may enter */
    int64_t ties;   /* the first of those that may not, at the end of `arcs` */
    int64_t next;   /* where to look for an arc to enter */
    double *x;      /* [nodes] times that make all arcs of the tree tight */
    double *flow;   /* [nodes] of the arc to the parent */
    int32_t *parent, *depth, *child, *before, *after; /* [nodes] -1: none; siblings before and after */
    int64_t *up;                                      /* [nodes] arc to the parent */
    double slack;
    sked_i_bound_effort effort;
} life_flow;

/* ------------------------------------------------------------------ arcs */

static bool reads(const life_flow *f, int64_t e)
{
    return f->g->edge_distance[e] == 0 || f->ii > 0;
}

int32_t sked_i_life_ended_by(const sked_graph *g, bool pipelined, int32_t v)
{
    int32_t reader = SKED_I_NOBODY;
    if (!(g->memory[v] > 0))
        return SKED_I_NOBODY;
    if (g->keep != NULL && g->keep[v])
        return SKED_I_OWN_END;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
        if (g->edge_distance[e] > 0 && !pipelined)
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
        if (g->edge_distance[e] == 0 && (way < 0 || g->edge_lag[e] > g->edge_lag[way]))
            way = e;
    return way;
}

static int64_t add_arc(life_flow *f, int32_t tail, int32_t head, double length)
{
    f->arcs[f->n_arcs] = (arc){tail, head, length, 0};
    return f->n_arcs++;
}

/* ------------------------------------------------------------------ tree */

static void hang(life_flow *f, int32_t node, int32_t parent, int64_t up, double flow)
{
    const int32_t sibling = f->child[parent];
    f->parent[node] = parent;
    f->up[node] = up;
    f->flow[node] = flow;
    f->before[node] = -1;
    f->after[node] = sibling;
    if (sibling >= 0)
        f->before[sibling] = node;
    f->child[parent] = node;
}

static void take_off(life_flow *f, int32_t node)
{
    const int32_t before = f->before[node], after = f->after[node];
    if (before >= 0)
        f->after[before] = after;
    else
        f->child[f->parent[node]] = after;
    if (after >= 0)
        f->before[after] = before;
}

/* The node after `node` in a walk through the subtree of `top`, parents first; -1: that was the last. */
static int32_t next_in_subtree(const life_flow *f, int32_t node, int32_t top)
{
    if (f->child[node] >= 0)
        return f->child[node];
    while (node != top && f->after[node] < 0)
        node = f->parent[node];
    return node == top ? -1 : f->after[node];
}

/* Times and depths below `top`, from its parent's. */
static void settle_subtree(life_flow *f, int32_t top)
{
    for (int32_t node = top; node >= 0; node = next_in_subtree(f, node, top)) {
        const arc *a = &f->arcs[f->up[node]];
        const int32_t parent = f->parent[node];
        f->x[node] = f->x[parent] + (a->head == node ? a->length : -a->length);
        f->depth[node] = f->depth[parent] + 1;
        f->effort.work--;
    }
}

/* ------------------------------------------------------------------ the first tree */

/* The arcs of v and its value. The value begins over the edge `way`; else the start of v hangs on the root.
 */
static void begin_value(life_flow *f, int32_t v, int64_t way)
{
    const sked_graph *g = f->g;
    const int32_t by = sked_i_life_ended_by(g, f->ii > 0, v);
    const double size = by == SKED_I_NOBODY ? 0 : g->memory[v];
    const int32_t end = by == SKED_I_OWN_END ? f->n_nodes++ : -1;
    const int64_t own = end >= 0 ? add_arc(f, v, end, 0) : -1;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
        const double shift = f->ii > 0 ? g->edge_distance[e] * f->ii : 0;
        const int32_t reader = g->edge_to[e];
        if (!reads(f, e))
            continue;
        const int64_t order = add_arc(f, v, reader, g->edge_lag[e] - shift);
        const int64_t read = end >= 0 ? add_arc(f, reader, end, shift) : -1;
        if (e == way && size > 0)
            hang(f, v, reader, order, size);
        if (e == way && end >= 0)
            hang(f, end, reader, read, size);
    }
    if (way < 0 && end >= 0)
        hang(f, end, v, own, size);
    if (way < 0 || !(size > 0)) {
        f->arcs[--f->ties] = (arc){v, f->root, 0, 0};
        hang(f, v, f->root, f->ties, 0);
    }
}

/* ------------------------------------------------------------------ pivots */

static double violation(const life_flow *f, const arc *a)
{
    return a->length - (f->x[a->head] - f->x[a->tail]);
}

/* The worst of the next few arcs, further on while none is violated; -1: none is. */
static int64_t find_entering(life_flow *f)
{
    const int64_t block = (int64_t)sqrt((double)f->n_arcs) + 10;
    double most = f->slack;
    int64_t best = -1;
    for (int64_t k = 0; k < f->n_arcs && !(best >= 0 && k % block == 0); k++) {
        const double by = violation(f, &f->arcs[f->next]);
        if (by > most) {
            most = by;
            best = f->next;
        }
        f->next = f->next + 1 < f->n_arcs ? f->next + 1 : 0;
        f->effort.work--;
    }
    return best;
}

/* What limits the flow around the cycle of an arc. */
typedef struct blocking {
    double amount;
    int32_t node; /* below the arc that leaves; -1: nothing limits it */
    bool at_head; /* on the side of the arc's head */
    int32_t apex; /* where the ways from both ends meet */
} blocking;

static bool points_up(const life_flow *f, int32_t node)
{
    return f->arcs[f->up[node]].tail == node;
}

static blocking find_leaving(life_flow *f, const arc *in)
{
    blocking b = {.amount = INFINITY, .node = -1};
    int32_t t = in->tail, h = in->head;
    while (t != h) {
        f->effort.work--;
        if (f->depth[t] >= f->depth[h]) {
            if (points_up(f, t) && (f->flow[t] < b.amount)) {
                b.amount = f->flow[t];
                b.node = t;
                b.at_head = false;
            }
            t = f->parent[t];
        } else {
            if (!points_up(f, h) && f->flow[h] <= b.amount) {
                b.amount = f->flow[h];
                b.node = h;
                b.at_head = true;
            }
            h = f->parent[h];
        }
    }
    b.apex = t;
    return b;
}

/* Sends b->amount around the cycle of `in`. */
static void push(life_flow *f, const arc *in, const blocking *b)
{
    for (int32_t t = in->tail; t != b->apex; t = f->parent[t])
        f->flow[t] += points_up(f, t) ? -b->amount : b->amount;
    for (int32_t h = in->head; h != b->apex; h = f->parent[h])
        f->flow[h] += points_up(f, h) ? b->amount : -b->amount;
}

/* Hangs the subtree that the leaving arc cuts off on the entering arc k, by its end in that subtree. */
static void rehang(life_flow *f, int64_t k, const blocking *b)
{
    const int32_t inside = b->at_head ? f->arcs[k].head : f->arcs[k].tail;
    int32_t node = inside, parent = b->at_head ? f->arcs[k].tail : f->arcs[k].head;
    int64_t up = k;
    double flow = b->amount;
    for (bool done = false; !done;) {
        const int32_t old_parent = f->parent[node];
        const int64_t old_up = f->up[node];
        const double old_flow = f->flow[node];
        done = node == b->node;
        take_off(f, node);
        hang(f, node, parent, up, flow);
        parent = node;
        node = old_parent;
        up = old_up;
        flow = old_flow;
    }
    settle_subtree(f, inside);
}

/* Brings in violated arcs while there are any and work is left. */
static void improve(life_flow *f)
{
    for (uint32_t pivots = 1; f->effort.work > 0; pivots++) {
        if ((pivots & 63) == 0 && sked_i_limit_heard(f->effort.limit))
            f->effort.work = 0;
        const int64_t k = find_entering(f);
        if (k < 0)
            return;
        const blocking b = find_leaving(f, &f->arcs[k]);
        if (b.node < 0)
            return; /* no schedule keeps all arcs: any number is a bound */
        push(f, &f->arcs[k], &b);
        rehang(f, k, &b);
    }
}

/* ------------------------------------------------------------------ opening */

static sked_status open_flow(life_flow *f, int64_t nodes, int64_t arcs, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(f->arcs, arcs);
    SKED_NEW(f->x, nodes);
    SKED_NEW(f->flow, nodes);
    SKED_NEW(f->parent, nodes);
    SKED_NEW(f->depth, nodes);
    SKED_NEW(f->child, nodes);
    SKED_NEW(f->before, nodes);
    SKED_NEW(f->after, nodes);
    SKED_NEW(f->up, nodes);
    f->ties = arcs;
    for (int64_t k = 0; k < nodes; k++)
        f->child[k] = -1;
cleanup:
    return st;
}

static void close_flow(life_flow *f)
{
    free(f->arcs);
    free(f->x);
    free(f->flow);
    free(f->parent);
    free(f->depth);
    free(f->child);
    free(f->before);
    free(f->after);
    free(f->up);
}

/* The first tree: every value on its way over one reader. */
static void plant(life_flow *f)
{
    const int32_t n = f->g->n_ops;
    f->root = n;
    f->n_nodes = n + 1;
    f->parent[n] = -1;
    f->x[n] = 0;
    f->depth[n] = 0;
    for (int32_t v = 0; v < n; v++)
        begin_value(f, v, first_way(f->g, v));
    for (int32_t k = f->child[n]; k >= 0; k = f->after[k])
        settle_subtree(f, k);
}

/* What the flow earns. Sums of reals may round up: gives that back. */
static double settle_flow(life_flow *f)
{
    double sum = 0, magnitude = 0;
    for (int32_t k = 0; k < f->n_nodes; k++) {
        if (k == f->root)
            continue;
        arc *a = &f->arcs[f->up[k]];
        a->flow = f->flow[k];
        sum += a->flow * a->length;
        magnitude += a->flow * fabs(a->length);
    }
    return fmax(0, f->slack > 0 ? sum - 1e-9 * magnitude : sum);
}

/* Arcs stand in the order in which begin_value added them. */
static void hand_out(const life_flow *f, sked_i_life_flow *out)
{
    const sked_graph *g = f->g;
    const arc *a = f->arcs;
    for (int32_t v = 0; v < g->n_ops; v++) {
        const bool own = sked_i_life_ended_by(g, f->ii > 0, v) == SKED_I_OWN_END;
        out->own[v] = own ? a++->flow : 0;
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
            const bool counts = reads(f, e);
            out->order[e] = counts ? a++->flow : 0;
            out->read[e] = counts && own ? a++->flow : 0;
        }
    }
}

sked_status sked_i_life_flow_create(const sked_graph *g, sked_i_life_flow *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_life_flow f = {0};
    SKED_NEW0(f.order, g->n_edges);
    SKED_NEW0(f.read, g->n_edges);
    SKED_NEW0(f.own, g->n_ops);
    *out = f;
    return SKED_OK;
cleanup:
    sked_i_life_flow_free(&f);
    return st;
}

void sked_i_life_flow_free(sked_i_life_flow *f)
{
    free(f->order);
    free(f->read);
    free(f->own);
}

sked_status sked_i_life_flow_most(const sked_graph *g, double ii, sked_i_bound_effort *effort,
                                  sked_i_life_flow *out, double *sum, sked_error *err)
{
    sked_status st;
    life_flow f = {.g = g, .ii = ii, .effort = *effort};
    f.slack = g->integral && ii == floor(ii) ? 0 : 1e-9;
    SKED_TRY(open_flow(&f, 2 * (int64_t)g->n_ops + 1, 2 * g->n_edges + 2 * (int64_t)g->n_ops, err));
    plant(&f);
    improve(&f);
    *sum = settle_flow(&f);
    hand_out(&f, out);
    effort->work = f.effort.work;
cleanup:
    close_flow(&f);
    return st;
}
