/*
 * Maximum flow on a network that is never built. At every moment each op is a node, and so is its value. The
 * arc from op to value carries as much as the value is large; arcs from the value to its readers carry any
 * amount, and so do those from an op to what must have started by then: itself a moment later, and ops that
 * its edges lead from, as many moments earlier as the lag is long. Ops that have started are sources, ops
 * that wait are sinks. A cut pays for a value whose op has started while a reader has not.
 *
 * Paths are found by depth-first searches from all sources in turn. A node that a search has left without
 * success is not entered again in the same round (Pothen and Fan 1990); rounds end with one that finds none.
 * On circuits of 27,000 ops this looks at a fifth of the arcs that Dinic's algorithm does.
 */
#include "problem/live_cut.h"

#include "base/arena.h"

#include <assert.h>
#include <string.h>

enum { no_arc = INT32_MIN };

/* Node 2 * (moment * n + v): op v then; the next one: its value. */
struct sked_i_live_cut {
    sked_i_arena arena;
    const sked_graph *g;
    int32_t n, moments;
    bool from_begin;
    bool holds;           /* some value may be held whatever the ops do */
    int32_t *order_shift; /* [edges] moments between an op and what must have started before it, or no_arc */
    int32_t *read_shift;  /* [edges] moments between a value and its reader, or no_arc */
    int32_t *farthest;    /* [n] largest read_shift of its value */
    double *value_flow;   /* [moments * n] from op to value */
    double *step_flow;    /* [moments * n] from op to the same op a moment later */
    double *read_flow;    /* [moments * edges] from value, at its moment, to reader */
    double *order_flow;   /* [moments * edges] from reader, at its moment, to op */
    uint8_t *entered;     /* [nodes] in this round, or a source */
    int32_t *next;        /* [nodes] arc to look at */
    int64_t *path;        /* [nodes] */
    int64_t *source;      /* values made by ops that have started, and that are not settled */
    int64_t n_sources;
    bool *waits; /* [moments] some op certainly waits */
    uint32_t looks;
    const uint8_t *side;
};

/* ------------------------------------------------------------------ creating */

static int32_t clipped(double shift)
{
    return (int32_t)fmax(-0x1p30, fmin(0x1p30, shift));
}

static void set_shifts(sked_i_live_cut *c, const sked_i_live_moments *m)
{
    const sked_graph *g = c->g;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const double distance = g->edge_distance[e];
        const int32_t shift = clipped(floor(g->edge_lag[e] / m->spacing) - distance);
        const bool counts = distance == 0 || m->pipelined;
        c->read_shift[e] = counts && sked_i_passes(g, e) ? clipped(distance) : no_arc;
        c->order_shift[e] = !counts || -shift >= c->moments ? no_arc
                            : shift < c->moments            ? shift
                                                            : c->moments - 1;
    }
    for (int32_t v = 0; v < c->n; v++) {
        c->farthest[v] = 0;
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
            if (c->read_shift[e] > c->farthest[v])
                c->farthest[v] = c->read_shift[e];
    }
}

sked_status sked_i_live_cut_create(const sked_graph *g, const sked_i_live_moments *m, sked_i_live_cut **out,
                                   sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_live_cut *c = NULL;
    const int64_t ops = (int64_t)m->count * g->n_ops, edges = m->count * g->n_edges;
    assert(m->count > 0 && m->spacing > 0);
    SKED_NEW0(c, 1);
    c->g = g;
    c->n = g->n_ops;
    c->moments = m->count;
    c->from_begin = m->from_begin;
    c->holds = m->from_begin || g->keep != NULL;
    SKED_OWN(&c->arena, c->order_shift, g->n_edges);
    SKED_OWN(&c->arena, c->read_shift, g->n_edges);
    SKED_OWN(&c->arena, c->farthest, g->n_ops);
    SKED_OWN(&c->arena, c->value_flow, ops);
    SKED_OWN(&c->arena, c->step_flow, ops);
    SKED_OWN(&c->arena, c->read_flow, edges);
    SKED_OWN(&c->arena, c->order_flow, edges);
    SKED_OWN(&c->arena, c->entered, 2 * ops);
    SKED_OWN(&c->arena, c->next, 2 * ops);
    SKED_OWN(&c->arena, c->path, 2 * ops);
    SKED_OWN(&c->arena, c->source, ops);
    SKED_OWN(&c->arena, c->waits, m->count);
    set_shifts(c, m);
    *out = c;
    return SKED_OK;
cleanup:
    sked_i_live_cut_destroy(c);
    return st;
}

void sked_i_live_cut_destroy(sked_i_live_cut *c)
{
    if (c == NULL)
        return;
    sked_i_arena_free(&c->arena);
    free(c);
}

/* ------------------------------------------------------------------ arcs */

/* One arc of the residual network. */
typedef struct arc {
    int64_t to;
    double room;  /* 0: there is none */
    double *flow; /* that grows by what is sent, or shrinks where `returns` */
    bool returns;
} arc;

static int64_t op_node(const sked_i_live_cut *c, int64_t moment, int32_t v)
{
    return 2 * (moment * c->n + v);
}

/* Arc k of a value: its readers, then back to its op. false: past the last. */
static inline bool value_arc(sked_i_live_cut *c, int64_t moment, int32_t v, int64_t k, arc *a)
{
    const sked_graph *g = c->g;
    const int64_t e = g->succ_ptr[v] + k, at = moment * c->n + v;
    if (e == g->succ_ptr[v + 1])
        *a = (arc){2 * at, c->value_flow[at], &c->value_flow[at], true};
    if (e >= g->succ_ptr[v + 1])
        return e == g->succ_ptr[v + 1];
    const int64_t then = moment - c->read_shift[e];
    *a = (arc){0};
    if (c->read_shift[e] != no_arc && then >= 0)
        *a = (arc){op_node(c, then, g->edge_to[e]), INFINITY, &c->read_flow[moment * g->n_edges + e], false};
    return true;
}

/* An in-edge of an op: to where it leads from, and what that value has sent here back to it. */
static inline void input_arc(sked_i_live_cut *c, int64_t moment, int64_t j, bool back, arc *a)
{
    const sked_graph *g = c->g;
    const int32_t from = g->pred_op[j];
    const int64_t e = g->pred_edge[j], before = moment - c->order_shift[e], then = moment + c->read_shift[e];
    *a = (arc){0};
    if (back && c->read_shift[e] != no_arc && then < c->moments) {
        double *flow = &c->read_flow[then * g->n_edges + e];
        *a = (arc){op_node(c, then, from) + 1, *flow, flow, true};
    } else if (!back && c->order_shift[e] != no_arc && before >= 0 && before < c->moments) {
        *a = (arc){op_node(c, before, from), INFINITY, &c->order_flow[moment * g->n_edges + e], false};
    }
}

/* An out-edge of an op: what its reader has sent to it, back to the reader. */
static inline void output_arc(sked_i_live_cut *c, int64_t moment, int64_t e, arc *a)
{
    const sked_graph *g = c->g;
    const int64_t then = moment + c->order_shift[e];
    *a = (arc){0};
    if (c->order_shift[e] == no_arc || then < 0 || then >= c->moments)
        return;
    double *flow = &c->order_flow[then * g->n_edges + e];
    *a = (arc){op_node(c, then, g->edge_to[e]), *flow, flow, true};
}

/* The same op a moment later or, for what has been sent, earlier. */
static void step_arc(sked_i_live_cut *c, int64_t moment, int32_t v, bool back, arc *a)
{
    const int64_t at = (moment - back) * c->n + v;
    *a = (arc){0};
    if (back && moment > 0)
        *a = (arc){2 * at, c->step_flow[at], &c->step_flow[at], true};
    else if (!back && moment + 1 < c->moments)
        *a = (arc){2 * (at + c->n), INFINITY, &c->step_flow[at], false};
}

/* Arc k of a node, of which some have no room; false: past the last. */
static inline bool arc_at(sked_i_live_cut *c, int64_t node, int64_t k, arc *a)
{
    const sked_graph *g = c->g;
    const int64_t at = node / 2, moment = c->moments == 1 ? 0 : at / c->n;
    const int32_t v = (int32_t)(at - moment * c->n);
    if (node % 2 == 1)
        return value_arc(c, moment, v, k, a);
    const int64_t first = g->pred_ptr[v], inputs = g->pred_ptr[v + 1] - first;
    const int64_t output = g->succ_ptr[v] + k - 1 - 2 * inputs, rest = output - g->succ_ptr[v + 1];
    if (k == 0)
        *a = (arc){node + 1, g->memory[v] - c->value_flow[at], &c->value_flow[at], false};
    else if ((k - 1) / 2 < inputs)
        input_arc(c, moment, first + (k - 1) / 2, k % 2 == 0, a);
    else if (rest < 0)
        output_arc(c, moment, output, a);
    else
        step_arc(c, moment, v, rest == 1, a);
    return rest < (c->moments > 1 ? 2 : 0);
}

/* ------------------------------------------------------------------ flow */

/* Is the value alive once it is made, whatever the ops at hand do? */
static bool is_held(const sked_i_live_cut *c, int64_t moment, int32_t v)
{
    return (c->waits[moment] && c->g->keep != NULL && c->g->keep[v]) ||
           (c->from_begin && c->farthest[v] > moment);
}

static bool is_sink(const sked_i_live_cut *c, int64_t node)
{
    const int64_t at = node / 2;
    if (node % 2 == 0)
        return c->side[at] == SKED_I_WAITING;
    return c->holds && is_held(c, at / c->n, (int32_t)(at % c->n));
}

/* The next arc of `node` to a node that has not been entered in this round; false: none is left. */
static bool advance(sked_i_live_cut *c, int64_t node, arc *a, sked_i_bound_effort *effort)
{
    for (; arc_at(c, node, c->next[node], a); c->next[node]++) {
        effort->work--;
        if (a->room > 0 && !c->entered[a->to])
            return true;
    }
    return false;
}

/* Sends what the path to `depth` takes of `amount`. Its nodes may be entered again. */
static double send(sked_i_live_cut *c, int64_t depth, double amount)
{
    arc a = {0};
    for (int64_t k = 0; k < depth; k++) {
        (void)arc_at(c, c->path[k], c->next[c->path[k]], &a);
        amount = fmin(amount, a.room);
    }
    assert(amount > 0);
    for (int64_t k = 0; k < depth; k++) {
        (void)arc_at(c, c->path[k], c->next[c->path[k]], &a);
        *a.flow += a.returns ? -amount : amount;
        c->entered[c->path[k]] = 0;
    }
    c->entered[c->path[depth]] = 0;
    return amount;
}

/* One path from a source's value to a sink, and what it carries; 0: none is left in this round. */
static double augment(sked_i_live_cut *c, int64_t source, sked_i_bound_effort *effort)
{
    const double room = c->g->memory[source % c->n] - c->value_flow[source];
    int64_t depth = 0;
    arc a = {0};
    c->path[0] = 2 * source + 1;
    if (!(room > 0) || c->entered[c->path[0]])
        return 0;
    c->entered[c->path[0]] = 1;
    while (!is_sink(c, c->path[depth])) {
        if ((++c->looks & 4095) == 0 && sked_i_limit_heard(effort->limit))
            effort->work = 0;
        if (effort->work <= 0)
            return 0;
        if (advance(c, c->path[depth], &a, effort)) {
            c->path[++depth] = a.to;
            c->entered[a.to] = 1;
            continue;
        }
        if (depth == 0)
            return 0;
        c->next[c->path[--depth]]++;
    }
    effort->work -= (double)depth;
    const double amount = send(c, depth, room);
    c->value_flow[source] += amount;
    return amount;
}

/* Has the value, made at this moment, a reader that waits (crosses) or is free (leaves)? */
static void look_at_readers(const sked_i_live_cut *c, int64_t moment, int32_t v, bool *crosses, bool *leaves)
{
    const sked_graph *g = c->g;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1] && !*crosses; e++) {
        const int64_t then = moment - c->read_shift[e];
        if (c->read_shift[e] == no_arc || then < 0)
            continue;
        const uint8_t side = c->side[then * c->n + g->edge_to[e]];
        *crosses = side == SKED_I_WAITING;
        *leaves = *leaves || side == SKED_I_FREE;
    }
}

/* Values that are certainly alive count at once; the others made by ops that have started are sources. */
static double settle_values(sked_i_live_cut *c)
{
    double sum = 0;
    c->n_sources = 0;
    for (int64_t at = 0; at < (int64_t)c->moments * c->n; at++) {
        const int64_t moment = at / c->n;
        const int32_t v = (int32_t)(at % c->n);
        if (c->side[at] != SKED_I_STARTED || !(c->g->memory[v] > 0))
            continue;
        bool crosses = is_held(c, moment, v), leaves = false;
        look_at_readers(c, moment, v, &crosses, &leaves);
        sum += crosses ? c->g->memory[v] : 0;
        if (!crosses && leaves)
            c->source[c->n_sources++] = at;
    }
    return sum;
}

static void begin_flow(sked_i_live_cut *c, const uint8_t *side)
{
    const size_t ops = (size_t)c->moments * (size_t)c->n, edges = (size_t)c->moments * (size_t)c->g->n_edges;
    c->side = side;
    memset(c->value_flow, 0, ops * sizeof *c->value_flow);
    memset(c->step_flow, 0, ops * sizeof *c->step_flow);
    memset(c->read_flow, 0, edges * sizeof *c->read_flow);
    memset(c->order_flow, 0, edges * sizeof *c->order_flow);
    for (int32_t j = 0; j < c->moments; j++)
        c->waits[j] = c->n > 0 && memchr(side + (size_t)j * (size_t)c->n, SKED_I_WAITING, (size_t)c->n);
}

static void begin_round(sked_i_live_cut *c)
{
    const size_t ops = (size_t)c->moments * (size_t)c->n;
    memset(c->next, 0, 2 * ops * sizeof *c->next);
    for (size_t at = 0; at < ops; at++) {
        c->entered[2 * at] = c->side[at] == SKED_I_STARTED;
        c->entered[2 * at + 1] = 0;
    }
}

double sked_i_live_cut_least(sked_i_live_cut *c, const uint8_t *side, sked_i_bound_effort *effort)
{
    begin_flow(c, side);
    double flow = settle_values(c);
    effort->work -= (double)c->moments * ((double)c->n + (double)c->g->n_edges);
    for (bool found = true; found && effort->work > 0;) {
        found = false;
        begin_round(c);
        for (int64_t k = 0; k < c->n_sources; k++)
            for (double more; (more = augment(c, c->source[k], effort)) > 0; found = true)
                flow += more;
    }
    return flow;
}
