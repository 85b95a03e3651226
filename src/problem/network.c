/*
 * The network simplex keeps a spanning tree of arcs that may carry flow. The arc that leaves is the last one
 * that blocks, seen from the node where the two ways meet (Cunningham 1976): a tree that was strongly
 * feasible stays so, and the search cannot cycle.
 */
#include "problem/network.h"

#include <assert.h>
#include <math.h>

/* ------------------------------------------------------------------ tree */

int64_t sked_i_network_add(sked_i_network *f, int32_t tail, int32_t head, double length)
{
    assert(f->n_arcs < f->ties);
    f->arcs[f->n_arcs] = (sked_i_network_arc){tail, head, length, 0};
    return f->n_arcs++;
}

void sked_i_network_hang(sked_i_network *f, int32_t node, int32_t parent, int64_t up, double flow)
{
    const int32_t sibling = f->child[parent];
    assert(node != parent && node != f->root);
    f->parent[node] = parent;
    f->up[node] = up;
    f->flow[node] = flow;
    f->before[node] = -1;
    f->after[node] = sibling;
    if (sibling >= 0)
        f->before[sibling] = node;
    f->child[parent] = node;
}

static void take_off(sked_i_network *f, int32_t node)
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
static int32_t next_in_subtree(const sked_i_network *f, int32_t node, int32_t top)
{
    if (f->child[node] >= 0)
        return f->child[node];
    while (node != top && f->after[node] < 0)
        node = f->parent[node];
    return node == top ? -1 : f->after[node];
}

/* Times and depths below `top`, from its parent's. */
static void settle_subtree(sked_i_network *f, int32_t top)
{
    for (int32_t node = top; node >= 0; node = next_in_subtree(f, node, top)) {
        const sked_i_network_arc *a = &f->arcs[f->up[node]];
        const int32_t parent = f->parent[node];
        f->x[node] = f->x[parent] + (a->head == node ? a->length : -a->length);
        f->depth[node] = f->depth[parent] + 1;
        f->effort.work--;
    }
}

void sked_i_network_tie(sked_i_network *f, int32_t node)
{
    assert(f->ties > f->n_arcs && node != f->root);
    f->arcs[--f->ties] = (sked_i_network_arc){node, f->root, 0, 0};
    sked_i_network_hang(f, node, f->root, f->ties, 0);
}

void sked_i_network_settle(sked_i_network *f)
{
    f->parent[f->root] = -1;
    f->x[f->root] = 0;
    f->depth[f->root] = 0;
    for (int32_t k = f->child[f->root]; k >= 0; k = f->after[k])
        settle_subtree(f, k);
}

/* ------------------------------------------------------------------ pivots */

static double violation(const sked_i_network *f, const sked_i_network_arc *a)
{
    return a->length - (f->x[a->head] - f->x[a->tail]);
}

/* The worst of the next few arcs, further on while none is violated; -1: none is. */
static int64_t find_entering(sked_i_network *f)
{
    const int64_t block = f->block > 0 ? f->block : (int64_t)sqrt((double)f->n_arcs) + 10;
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

static bool points_up(const sked_i_network *f, int32_t node)
{
    return f->arcs[f->up[node]].tail == node;
}

static blocking find_leaving(sked_i_network *f, const sked_i_network_arc *in)
{
    blocking b = {.amount = INFINITY, .node = -1};
    int32_t t = in->tail, h = in->head;
    while (t != h) {
        assert(t >= 0 && h >= 0); /* the ways meet in the root at the latest */
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
static void push(sked_i_network *f, const sked_i_network_arc *in, const blocking *b)
{
    for (int32_t t = in->tail; t != b->apex; t = f->parent[t])
        f->flow[t] += points_up(f, t) ? -b->amount : b->amount;
    for (int32_t h = in->head; h != b->apex; h = f->parent[h])
        f->flow[h] += points_up(f, h) ? b->amount : -b->amount;
}

/* Hangs the subtree that the leaving arc cuts off on the entering arc k, by its end in that subtree. */
static void rehang(sked_i_network *f, int64_t k, const blocking *b)
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
        sked_i_network_hang(f, node, parent, up, flow);
        parent = node;
        node = old_parent;
        up = old_up;
        flow = old_flow;
    }
    settle_subtree(f, inside);
}

void sked_i_network_improve(sked_i_network *f)
{
    static const double unheard =
        1e5; /* looks, a millisecond or two: a pivot may take as many as there are nodes */
    for (double look = f->effort.work - unheard; f->effort.work > 0;) {
        if (f->effort.work < look) {
            look = f->effort.work - unheard;
            if (sked_i_limit_heard(f->effort.limit))
                f->effort.work = 0;
        }
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

double sked_i_network_earned(sked_i_network *f)
{
    double sum = 0, magnitude = 0;
    for (int32_t k = 0; k < f->n_nodes; k++) {
        if (k == f->root)
            continue;
        sked_i_network_arc *a = &f->arcs[f->up[k]];
        a->flow = f->flow[k];
        sum += a->flow * a->length;
        magnitude += a->flow * fabs(a->length);
    }
    return f->slack > 0 ? sum - 1e-9 * magnitude : sum;
}

/* ------------------------------------------------------------------ opening and closing */

sked_status sked_i_network_open(sked_i_network *f, int64_t nodes, int64_t arcs, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(&f->arena, f->arcs, arcs);
    SKED_OWN(&f->arena, f->x, nodes);
    SKED_OWN(&f->arena, f->flow, nodes);
    SKED_OWN(&f->arena, f->parent, nodes);
    SKED_OWN(&f->arena, f->depth, nodes);
    SKED_OWN(&f->arena, f->child, nodes);
    SKED_OWN(&f->arena, f->before, nodes);
    SKED_OWN(&f->arena, f->after, nodes);
    SKED_OWN(&f->arena, f->up, nodes);
    f->room = f->ties = arcs;
    for (int64_t k = 0; k < nodes; k++)
        f->child[k] = -1;
cleanup:
    return st;
}

sked_status sked_i_network_room(sked_i_network *f, int64_t more, sked_error *err)
{
    assert(f->ties == f->room);
    if (!SKED_OWN_GROW(&f->arena, f->arcs, f->room, f->n_arcs + more))
        return sked_i_no_memory(err);
    f->ties = f->room;
    return SKED_OK;
}

void sked_i_network_close(sked_i_network *f)
{
    sked_i_arena_free(&f->arena);
}
