/*
 * The sum of lives is linear in starts of ops and ends of lives, and every rule is a difference: a linear
 * program of differences (network.h), as in retiming (Leiserson and Saxe 1991). Its matrix is totally
 * unimodular, so the best starts are whole cycles. In the first tree all nodes hang on the root: ops at their
 * latest start, ends at their earliest.
 *
 * A clock asks for far more pairs of ops than matter. So pairs come in rounds: those that the starts of the
 * last round break, one for each op that begins too late in its cycle. In the flow a pair is one more arc, so
 * that every round begins with the tree of the last one. A round without a broken pair is the optimum of all
 * pairs.
 */
#include "problem/least_registers.h"

#include "problem/chaining.h"
#include "problem/network.h"

#include <math.h>
#include <string.h>

struct sked_i_registers {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    sked_lifetime lifetime;
    sked_i_network net;
    double *early, *late; /* [ops] */
    double latest;        /* finish: the horizon, or what no least schedule needs */
    double constant;      /* of the sum, beside what the network earns */
    double *weight;       /* [nodes] what a node's time counts in the sum */
    double *first;        /* [nodes] no sooner */
    double *phase;        /* [ops] when in its cycle an op begins */
    double *start;        /* [ops] */
    int64_t *critical;    /* [ops] the chained in-edge that sets the phase; -1: none */
    int32_t *order;       /* [ops] chained edges lead forwards */
    int32_t *waiting;     /* [ops] */
    bool circular;        /* the last starts chain ops in a circle */
    int32_t end;          /* the node of the end of the schedule; -1: no value lives to there */
    sked_i_registers_found found;
};

/* ------------------------------------------------------------------ what fits */

static bool is_whole(double x)
{
    return x == floor(x) && fabs(x) < 0x1p53;
}

/* All times together are added up without rounding. */
bool sked_i_registers_fit(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    bool whole = p->objective == SKED_OBJECTIVE_MEMORY && p->ii > 0 && p->devices == 0 &&
                 p->machine == NULL && !sked_i_has_memory_limit(p) && is_whole(p->ii) &&
                 (isinf(p->horizon) || is_whole(p->horizon));
    double sum = p->ii + (isinf(p->horizon) ? g->n_ops : p->horizon);
    for (int32_t i = 0; i < g->n_ops && whole; i++) {
        const double fixed = p->fix_start == NULL || isnan(p->fix_start[i]) ? 0 : p->fix_start[i];
        whole = is_whole(g->duration[i]) && is_whole(fixed);
        sum += g->duration[i] + fixed;
    }
    for (int64_t e = 0; e < g->n_edges && whole; e++) {
        whole = is_whole(g->edge_lag[e]);
        sum += fabs(g->edge_lag[e]) + g->edge_distance[e] * p->ii;
    }
    return whole && sum < 0x1p50;
}

static double length_of(const sked_i_registers *x, int64_t e)
{
    return x->g->edge_lag[e] - x->g->edge_distance[e] * x->p->ii;
}

/* From the start of an op until its value lives, and until it ends if nobody reads it. */
static double begin_of(const sked_i_registers *x, int32_t v)
{
    return x->lifetime == SKED_LIFETIME_RESULT ? sked_i_result_lag(x->g, v) : 0;
}

static double own_end_of(const sked_i_registers *x, int32_t v)
{
    return begin_of(x, v) + (x->lifetime == SKED_LIFETIME_FINISH ? x->g->duration[v] : 0);
}

/* From the start of its reader until the value of an edge ends. */
static double release_of(const sked_i_registers *x, int64_t e)
{
    const int32_t to = x->g->edge_to[e];
    return x->g->edge_distance[e] * x->p->ii + (x->lifetime == SKED_LIFETIME_FINISH ? x->g->duration[to] : 0);
}

static bool lives_to_end(const sked_i_registers *x, int32_t v)
{
    return sked_graph_keep(x->g, v) || (x->p->io == SKED_IO_ALIGNED && sked_i_is_output(x->g, v));
}

static bool is_input(const sked_i_registers *x, int32_t v)
{
    return x->g->pred_ptr[v] == x->g->pred_ptr[v + 1];
}

/* ------------------------------------------------------------------ windows */

/* What reaches the reader of a chained edge: when in the cycle. */
static double arrival(const sked_i_registers *x, int64_t e)
{
    const int32_t from = x->g->edge_from[e];
    return sked_i_delay_out(x->g, from) + (sked_i_is_combinational(x->g, from) ? x->phase[from] : 0);
}

/* What must fit into the cycle after what an edge carries: x->phase is here the time from there on. */
static double remainder_after(const sked_i_registers *x, int64_t e)
{
    const int32_t to = x->g->edge_to[e];
    return sked_i_delay_in(x->g, to) + (sked_i_is_combinational(x->g, to) ? x->phase[to] : 0);
}

static bool has_clock(const sked_i_registers *x)
{
    return x->p->clock > 0;
}

/* Edges of distance 0 alone: what is left out may only make windows wider. */
static void find_early(sked_i_registers *x)
{
    const sked_graph *g = x->g;
    sked_i_earliest_starts(x->p, x->early);
    for (int32_t k = 0; has_clock(x) && k < g->n_ops; k++) {
        const int32_t v = g->topo[k];
        double phase = 0, *at = &x->early[v];
        for (int64_t j = g->pred_ptr[v]; j < g->pred_ptr[v + 1]; j++)
            if (g->edge_distance[g->pred_edge[j]] == 0)
                *at = fmax(*at, x->early[g->pred_op[j]] + g->edge_lag[g->pred_edge[j]]);
        for (int64_t j = g->pred_ptr[v]; j < g->pred_ptr[v + 1]; j++) {
            const int64_t e = g->pred_edge[j];
            if (g->edge_distance[e] == 0 && sked_i_passes(g, e) &&
                *at == x->early[g->pred_op[j]] + g->edge_lag[e])
                phase = fmax(phase, arrival(x, e));
        }
        const bool fits = phase + sked_i_delay_in(g, v) <= sked_i_clock_room(x->p->clock);
        *at += fits ? 0 : 1;
        x->phase[v] = fits ? phase : 0;
    }
}

/* The sum of what may lie between two starts, after the last: no least schedule needs more time. */
static double longest_time(const sked_i_registers *x)
{
    double sum = x->g->n_ops, last = 0;
    for (int64_t e = 0; e < x->g->n_edges; e++)
        sum += fabs(length_of(x, e));
    for (int32_t i = 0; i < x->g->n_ops; i++)
        last = fmax(last, x->early[i] + x->g->duration[i]);
    return last + sum;
}

static void find_late(sked_i_registers *x)
{
    const sked_graph *g = x->g;
    x->latest = isinf(x->p->horizon) ? longest_time(x) : x->p->horizon;
    sked_i_latest_starts(x->p, x->latest, x->late);
    for (int32_t k = g->n_ops; k-- > 0;) {
        const int32_t v = g->topo[k];
        double after = 0, *at = &x->late[v];
        if (x->p->io == SKED_IO_ALIGNED && is_input(x, v))
            *at = fmin(*at, 0);
        for (int64_t e = g->succ_ptr[v]; has_clock(x) && e < g->succ_ptr[v + 1]; e++)
            if (g->edge_distance[e] == 0)
                *at = fmin(*at, x->late[g->edge_to[e]] - g->edge_lag[e]);
        for (int64_t e = g->succ_ptr[v]; has_clock(x) && e < g->succ_ptr[v + 1]; e++)
            if (g->edge_distance[e] == 0 && sked_i_passes(g, e) &&
                *at == x->late[g->edge_to[e]] - g->edge_lag[e])
                after = fmax(after, remainder_after(x, e));
        const bool fits = !has_clock(x) || after + sked_i_delay_out(g, v) <= sked_i_clock_room(x->p->clock);
        *at -= fits ? 0 : 1;
        x->phase[v] = fits ? after : 0;
    }
}

/* An op without a start is the fault of the horizon, or of fixed starts. */
static sked_status check_windows(const sked_i_registers *x, sked_error *err)
{
    const sked_problem *p = x->p;
    char name[80];
    int32_t worst = 0;
    double most = 0;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        if (x->early[i] - x->late[i] > most) {
            worst = i;
            most = x->early[i] - x->late[i];
        }
    if (!(most > 0))
        return SKED_OK;
    if (p->fix_start == NULL && p->io == SKED_IO_FREE)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE, "the horizon is %g, but edges and clock take %g",
                           p->horizon, p->horizon + most);
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "op '%s' cannot start before %g, and must start at %g at the latest",
                       sked_i_op_label(x->g, worst, name, sizeof name), x->early[worst], x->late[worst]);
}

/* ------------------------------------------------------------------ the network */

static void join(sked_i_registers *x, int32_t tail, int32_t head, double length)
{
    (void)sked_i_network_add(&x->net, tail, head, length);
}

/* head stands at tail and that length at the least, and so does its window. */
static void join_end(sked_i_registers *x, int32_t tail, int32_t head, double length)
{
    join(x, tail, head, length);
    x->first[head] = fmax(x->first[head], x->first[tail] + length);
}

/* The only edge of a value whose reader ends it whenever it starts; -1: there is none such. */
static int64_t ending_edge(const sked_i_registers *x, int32_t v)
{
    int64_t only = -1;
    if (lives_to_end(x, v))
        return -1;
    for (int64_t e = x->g->succ_ptr[v]; e < x->g->succ_ptr[v + 1]; e++)
        if (sked_i_passes(x->g, e)) {
            if (only >= 0 || x->g->edge_lag[e] < own_end_of(x, v))
                return -1;
            only = e;
        }
    return only;
}

/* A node for the end of v's life, after its readers. */
static void add_end(sked_i_registers *x, int32_t v)
{
    const sked_graph *g = x->g;
    const int32_t end = x->net.n_nodes++;
    x->first[end] = 0;
    x->weight[end] = g->memory[v];
    join_end(x, v, end, own_end_of(x, v));
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
        if (sked_i_passes(g, e))
            join_end(x, g->edge_to[e], end, release_of(x, e));
    if (lives_to_end(x, v))
        join_end(x, x->end, end, 0);
}

/* The value of v counts from its begin to its end. */
static void add_value(sked_i_registers *x, int32_t v)
{
    const double size = x->g->memory[v];
    const int64_t e = ending_edge(x, v);
    if (!(size > 0))
        return;
    x->constant -= size * begin_of(x, v);
    x->weight[v] -= size;
    if (e >= 0) {
        x->weight[x->g->edge_to[e]] += size;
        x->constant += size * release_of(x, e);
    } else {
        add_end(x, v);
    }
}

/* The end of the schedule, where some value lives to it. */
static void add_schedule_end(sked_i_registers *x)
{
    bool any = false;
    for (int32_t v = 0; v < x->g->n_ops && !any; v++)
        any = x->g->memory[v] > 0 && lives_to_end(x, v);
    x->end = any ? x->net.n_nodes++ : -1;
    for (int32_t v = 0; any && v < x->g->n_ops; v++)
        join_end(x, v, x->end, x->g->duration[v]);
}

/* All nodes hang on the root by their windows: where early is better at the begin, else at the end. */
static void plant(sked_i_registers *x)
{
    sked_i_network *net = &x->net;
    const int32_t n = x->g->n_ops;
    for (int32_t k = 0; k < net->n_nodes; k++) {
        if (k == net->root)
            continue;
        const int64_t after = sked_i_network_add(net, net->root, k, x->first[k]);
        const double late = k < n ? x->late[k] : x->latest;
        int64_t before = -1;
        if (k < n || k == x->end)
            before = sked_i_network_add(net, k, net->root, -late);
        sked_i_network_hang(net, k, net->root, x->weight[k] > 0 ? after : before, fabs(x->weight[k]));
    }
    sked_i_network_settle(net);
}

static void build(sked_i_registers *x)
{
    const sked_graph *g = x->g;
    x->net.root = g->n_ops;
    x->net.n_nodes = g->n_ops + 1;
    for (int32_t v = 0; v < g->n_ops; v++)
        x->first[v] = x->early[v];
    for (int64_t e = 0; e < g->n_edges; e++)
        join(x, g->edge_from[e], g->edge_to[e], length_of(x, e));
    add_schedule_end(x);
    for (int32_t v = 0; v < g->n_ops; v++)
        add_value(x, v);
    plant(x);
}

sked_status sked_i_registers_open(const sked_problem *p, sked_i_registers **out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const int64_t n = g->n_ops, nodes = 2 * n + 2;
    sked_status st = SKED_OK;
    sked_i_registers *x = NULL;
    SKED_NEW0(x, 1);
    *x = (sked_i_registers){.p = p, .g = g, .lifetime = sked_i_lifetime(p)};
    x->net.slack = g->integral ? 0 : 1e-9; /* sizes that are not whole */
    x->net.block = 50;                     /* a quarter to a third faster than the preset on circuits */
    SKED_OWN(&x->arena, x->early, n);
    SKED_OWN(&x->arena, x->late, n);
    SKED_OWN0(&x->arena, x->phase, n);
    SKED_OWN(&x->arena, x->start, n);
    SKED_OWN(&x->arena, x->critical, n);
    SKED_OWN(&x->arena, x->order, n);
    SKED_OWN(&x->arena, x->waiting, n);
    SKED_OWN0(&x->arena, x->weight, nodes);
    SKED_OWN0(&x->arena, x->first, nodes);
    find_early(x);
    find_late(x);
    SKED_TRY(check_windows(x, err));
    SKED_TRY(sked_i_network_open(&x->net, nodes, 2 * g->n_edges + 3 * n + 2 * nodes, err));
    build(x);
    *out = x;
    return SKED_OK;
cleanup:
    sked_i_registers_close(x);
    return st;
}

void sked_i_registers_close(sked_i_registers *x)
{
    if (x == NULL)
        return;
    sked_i_network_close(&x->net);
    sked_i_arena_free(&x->arena);
    free(x);
}

const double *sked_i_registers_early(const sked_i_registers *x)
{
    return x->early;
}

const double *sked_i_registers_late(const sked_i_registers *x)
{
    return x->late;
}

/* ------------------------------------------------------------------ pairs of the clock */

/* Does the value of an edge arrive just as its reader starts? Before the first starts: it may. */
static bool is_chained(const sked_i_registers *x, int64_t e)
{
    const sked_graph *g = x->g;
    if (!sked_i_passes(g, e))
        return false;
    if (x->found.rounds == 0)
        return g->edge_distance[e] == 0;
    return x->start[g->edge_to[e]] - x->start[g->edge_from[e]] == length_of(x, e);
}

/* Ops so that chains through combinational ops lead forwards; returns how many: ops of a circle have no
 * order. */
static int32_t order_ops(sked_i_registers *x)
{
    const sked_graph *g = x->g;
    int32_t count = 0;
    memset(x->waiting, 0, (size_t)g->n_ops * sizeof *x->waiting);
    for (int64_t e = 0; e < g->n_edges; e++)
        x->waiting[g->edge_to[e]] += sked_i_is_combinational(g, g->edge_from[e]) && is_chained(x, e);
    for (int32_t k = 0; k < g->n_ops; k++)
        if (x->waiting[g->topo[k]] == 0)
            x->order[count++] = g->topo[k];
    for (int32_t k = 0; k < count; k++) {
        const int32_t v = x->order[k];
        for (int64_t e = g->succ_ptr[v]; sked_i_is_combinational(g, v) && e < g->succ_ptr[v + 1]; e++)
            if (is_chained(x, e) && --x->waiting[g->edge_to[e]] == 0)
                x->order[count++] = g->edge_to[e];
    }
    return count;
}

static void set_phase(sked_i_registers *x, int32_t v)
{
    const sked_graph *g = x->g;
    x->phase[v] = 0;
    x->critical[v] = -1;
    for (int64_t j = g->pred_ptr[v]; j < g->pred_ptr[v + 1]; j++) {
        const int64_t e = g->pred_edge[j];
        if (is_chained(x, e) && arrival(x, e) > x->phase[v]) {
            x->phase[v] = arrival(x, e);
            x->critical[v] = e;
        }
    }
}

/* The shortest end of v's critical chain that is too long stands a cycle further apart. */
static void add_pair(sked_i_registers *x, int32_t v, double room)
{
    double delay = sked_i_delay_in(x->g, v), length = 1;
    int32_t from = v;
    for (int64_t e = x->critical[v]; delay <= room && e >= 0;) {
        from = x->g->edge_from[e];
        delay += sked_i_delay_out(x->g, from);
        length += length_of(x, e);
        e = sked_i_is_combinational(x->g, from) ? x->critical[from] : -1;
    }
    join(x, from, v, length);
    x->found.pairs++;
}

/* Pairs that the starts break, one for each op that begins too late in its cycle. *more: there are such. */
static sked_status add_pairs(sked_i_registers *x, bool *more, sked_error *err)
{
    const double room = sked_i_clock_room(x->p->clock);
    const int64_t before = x->found.pairs;
    const int32_t ordered = order_ops(x);
    int64_t broken = 0;
    for (int32_t k = 0; k < ordered; k++)
        set_phase(x, x->order[k]);
    for (int32_t k = 0; k < ordered; k++)
        broken += x->phase[x->order[k]] + sked_i_delay_in(x->g, x->order[k]) > room;
    const sked_status st = sked_i_network_room(&x->net, broken, err);
    for (int32_t k = 0; st == SKED_OK && k < ordered; k++)
        if (x->phase[x->order[k]] + sked_i_delay_in(x->g, x->order[k]) > room)
            add_pair(x, x->order[k], room);
    x->found.rounds++;
    x->circular = ordered < x->g->n_ops;
    *more = x->found.pairs > before;
    return st;
}

/* ------------------------------------------------------------------ rounds */

/* Do the times of the tree keep all arcs? */
static bool keeps_all(const sked_i_network *f)
{
    for (int64_t k = 0; k < f->n_arcs; k++)
        if (f->x[f->arcs[k].head] - f->x[f->arcs[k].tail] < f->arcs[k].length)
            return false;
    return true;
}

static void reach(sked_i_registers *x, int32_t v, int32_t *count)
{
    if (x->waiting[v])
        return;
    x->waiting[v] = 1;
    x->order[(*count)++] = v;
}

/* The sum stays if ops that edges join, in whatever direction, start earlier together. */
static void pull_back(sked_i_registers *x)
{
    const sked_graph *g = x->g;
    int32_t count = 0;
    memset(x->waiting, 0, (size_t)g->n_ops * sizeof *x->waiting);
    for (int32_t i = 0, first = 0; i < g->n_ops; i++) {
        double slack = INFINITY;
        reach(x, i, &count);
        for (int32_t k = first; k < count; k++) {
            const int32_t v = x->order[k];
            slack = fmin(slack, x->start[v] - x->early[v]);
            for (int64_t j = g->pred_ptr[v]; j < g->pred_ptr[v + 1]; j++)
                reach(x, g->pred_op[j], &count);
            for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
                reach(x, g->edge_to[e], &count);
        }
        for (; first < count; first++)
            x->start[x->order[first]] -= slack;
    }
}

sked_status sked_i_registers_least(sked_i_registers *x, sked_i_bound_effort *effort, double *start,
                                   sked_i_registers_found *found, sked_error *err)
{
    sked_status st = SKED_OK;
    bool more = has_clock(x), kept = false;
    x->net.effort = *effort;
    if (more && x->found.rounds == 0)
        SKED_TRY(add_pairs(x, &more, err));
    do {
        sked_i_network_improve(&x->net);
        kept = keeps_all(&x->net);
        for (int32_t i = 0; kept && i < x->g->n_ops; i++)
            x->start[i] = x->net.x[i];
        more = false;
        if (kept && has_clock(x))
            SKED_TRY(add_pairs(x, &more, err));
    } while (more);
    x->found.none = !kept && x->net.effort.work > 0;
    x->found.optimal = kept && !x->circular;
    if (kept && x->end < 0)
        pull_back(x);
    x->found.bound = fmax(0, sked_i_network_earned(&x->net) + x->constant);
    if (kept && start != NULL)
        memcpy(start, x->start, (size_t)x->g->n_ops * sizeof *start);
    *found = x->found;
    *effort = x->net.effort;
cleanup:
    return st;
}
