/*
 * While an op runs, its result is held, its inputs are, and every value made before it that something after
 * it reads: whatever the order. A value is held somewhere from the start of its op until its last reader
 * ends, on its own device or as a copy.
 */
#include "problem/memory_limit.h"
#include "problem/lower.h"

#include "base/arena.h"
#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Values are followed to their readers while ops * edges is at most this. */
static const double budget = 4e7;
enum { shown = 6 };

typedef struct need {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    const sked_i_costs *c;
    bool follows;     /* edges order starts, and there is time to follow values */
    int32_t *place;   /* [n] in the topological order */
    uint8_t *between; /* [n] by place: 1 the value's op comes before it, 2 and a reader of it after */
    double *held;     /* [n] must be held while the op runs */
    int32_t target;   /* values held while it runs go to `part`; -1: none */
    double *part;     /* [n] */
} need;

static bool takes_time(const need *x, int32_t op)
{
    return sked_i_shortest_time(x->c, op) > 0;
}

static bool keeps(const need *x, int32_t op)
{
    return x->g->keep != NULL && x->g->keep[op];
}

static void count(need *x, int32_t op, int32_t value)
{
    x->held[op] += x->g->memory[value];
    if (op == x->target)
        x->part[value] = x->g->memory[value];
}

/* Could the result of op be written over an input? Then one of the two is counted. */
static bool may_write_over(const need *x, int32_t op)
{
    const sked_graph *g = x->g;
    if (!sked_i_writes_over(x->p))
        return false;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        if (g->edge_inplace[g->pred_edge[k]] && g->memory[g->pred_op[k]] == g->memory[op])
            return true;
    return false;
}

/* Result and inputs of one op. */
static void count_own(need *x, int32_t op)
{
    const sked_graph *g = x->g;
    int32_t last = -1;
    if (!may_write_over(x, op))
        count(x, op, op);
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        if (g->edge_distance[e] > 0 || !sked_i_passes(g, e) || !(g->edge_lag[e] >= 0) ||
            g->pred_op[k] == last)
            continue;
        last = g->pred_op[k]; /* parallel edges stand together */
        count(x, op, last);
    }
}

/* Does an edge of distance 0 lead from the value to the op? Those are counted already. */
static bool reads(const sked_graph *g, int32_t op, int32_t value)
{
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        if (g->pred_op[k] == value && g->edge_distance[g->pred_edge[k]] == 0 &&
            sked_i_passes(g, g->pred_edge[k]))
            return true;
    return false;
}

/* Marks what comes after the op of the value, up to place `last`. */
static void mark_after(need *x, int32_t value, int32_t last)
{
    const sked_graph *g = x->g;
    const int32_t first = x->place[value];
    assert(first <= last);
    memset(x->between + first, 0, (size_t)(last - first + 1));
    x->between[first] = 1;
    for (int32_t at = first; at <= last; at++)
        for (int64_t e = g->succ_ptr[g->topo[at]]; x->between[at] && e < g->succ_ptr[g->topo[at] + 1]; e++)
            if (g->edge_distance[e] == 0 && x->place[g->edge_to[e]] <= last)
                x->between[x->place[g->edge_to[e]]] = 1;
}

/* Counts the value for the ops between its own and its last reader. */
static void count_between(need *x, int32_t value)
{
    const sked_graph *g = x->g;
    const int32_t first = x->place[value];
    int32_t last = first;
    for (int64_t e = g->succ_ptr[value]; e < g->succ_ptr[value + 1]; e++)
        if (g->edge_distance[e] == 0 && sked_i_passes(g, e) && takes_time(x, g->edge_to[e]) &&
            x->place[g->edge_to[e]] > last)
            last = x->place[g->edge_to[e]];
    if (keeps(x, value))
        last = g->n_ops - 1;
    mark_after(x, value, last);
    for (int64_t e = g->succ_ptr[value]; e < g->succ_ptr[value + 1]; e++)
        if (g->edge_distance[e] == 0 && sked_i_passes(g, e) && takes_time(x, g->edge_to[e]))
            x->between[x->place[g->edge_to[e]]] = 2;
    for (int32_t at = last; at > first; at--) {
        const int32_t op = g->topo[at];
        if (x->between[at] == 0)
            continue;
        for (int64_t e = g->succ_ptr[op]; x->between[at] == 1 && e < g->succ_ptr[op + 1]; e++)
            if (g->edge_distance[e] == 0 && x->place[g->edge_to[e]] <= last &&
                x->between[x->place[g->edge_to[e]]] == 2)
                x->between[at] = 2;
        if ((x->between[at] == 2 || keeps(x, value)) && !reads(g, op, value))
            count(x, op, value);
    }
}

static void count_all(need *x, int32_t target)
{
    const sked_graph *g = x->g;
    x->target = target;
    for (int32_t i = 0; i < g->n_ops; i++)
        x->held[i] = x->part[i] = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        count_own(x, i);
    for (int32_t i = 0; x->follows && i < g->n_ops; i++)
        if (g->memory[i] > 0)
            count_between(x, i);
}

static sked_status need_make(const sked_problem *p, const sked_i_costs *c, need *x, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    *x = (need){.p = p, .g = g, .c = c, .follows = (double)g->n_ops * (double)g->n_edges <= budget};
    for (int64_t e = 0; e < g->n_edges; e++)
        x->follows = x->follows && (g->edge_distance[e] > 0 || g->edge_lag[e] >= 0);
    SKED_OWN(&x->arena, x->place, g->n_ops);
    SKED_OWN(&x->arena, x->between, g->n_ops);
    SKED_OWN(&x->arena, x->held, g->n_ops);
    SKED_OWN(&x->arena, x->part, g->n_ops);
    for (int32_t k = 0; k < g->n_ops; k++)
        x->place[g->topo[k]] = k;
    count_all(x, -1);
cleanup:
    return st;
}

/* Kept values of ops that take time are all held just before the end. */
static double kept_sum(const need *x)
{
    double sum = 0;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        sum += keeps(x, i) && takes_time(x, i) ? x->g->memory[i] : 0;
    return sum;
}

/* The op that takes time and has the most held while it runs, -1: none. */
static int32_t busiest(const need *x)
{
    int32_t best = -1;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        if (takes_time(x, i) && (best < 0 || x->held[i] > x->held[best]))
            best = i;
    return best;
}

/* ------------------------------------------------------------------ messages */

/* "'a' (5), 'b' (3) and 4 more": the largest values of x->part. */
static void name_values(need *x, sked_i_buffer *text)
{
    char name[80];
    int32_t left = 0;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        left += x->part[i] > 0;
    for (int k = 0; k < shown && left > 0; k++, left--) {
        int32_t most = 0;
        for (int32_t i = 1; i < x->g->n_ops; i++)
            most = x->part[i] > x->part[most] ? i : most;
        sked_i_buffer_format(text, "%s'%s' (%.15g)", k ? ", " : "",
                             sked_i_op_label(x->g, most, name, sizeof name), x->part[most]);
        x->part[most] = 0;
    }
    if (left > 0)
        sked_i_buffer_format(text, " and %d more", (int)left);
}

static sked_status refuse(need *x, const char *what, double limit, const char *when, int32_t op, double held,
                          sked_error *err)
{
    sked_i_buffer text = {0};
    char name[80], quoted[96] = "";
    if (op >= 0)
        snprintf(quoted, sizeof quoted, " '%s' runs", sked_i_op_label(x->g, op, name, sizeof name));
    name_values(x, &text);
    const sked_status st =
        text.failed ? sked_i_no_memory(err)
                    : sked_i_fail(err, SKED_ERR_INFEASIBLE, "%s %.15g, but %s%s the values %s need %.15g",
                                  what, limit, when, quoted, text.data ? text.data : "", held);
    sked_i_buffer_free(&text);
    return st;
}

/* ------------------------------------------------------------------ limits */

static double slack(const sked_graph *g, double limit)
{
    return g->integral ? 0 : 2e-9 * fmax(1, limit);
}

/* All devices together hold no more than this. */
static double whole_limit(const sked_problem *p)
{
    double sum = p->machine != NULL ? 0 : INFINITY;
    for (int32_t d = 0; p->machine != NULL && d < p->machine->n_devices; d++)
        sum += p->machine->memory[d];
    return fmin(sum, p->memory_limit);
}

/* The most that a device has which may run op. */
static double largest_device(const need *x, int32_t op)
{
    const sked_problem *p = x->p;
    double most = -INFINITY;
    for (int32_t d = 0; d < p->machine->n_devices; d++) {
        const double time = sked_i_time(x->c, op, d);
        const bool fixed = p->fix_device != NULL && p->fix_device[op] >= 0 && p->fix_device[op] != d;
        if (time < INFINITY && !fixed)
            most = fmax(most, time > 0 ? p->machine->memory[d] : INFINITY);
    }
    return most;
}

static sked_status check_whole(need *x, double limit, sked_error *err)
{
    const int32_t op = busiest(x);
    const char *what = x->p->memory_limit <= limit ? "the memory limit is" : "all devices together have";
    if (kept_sum(x) > limit + slack(x->g, limit)) {
        for (int32_t i = 0; i < x->g->n_ops; i++)
            x->part[i] = keeps(x, i) && takes_time(x, i) ? x->g->memory[i] : 0;
        return refuse(x, what, limit, "at the end", -1, kept_sum(x), err);
    }
    if (op < 0 || !(x->held[op] > limit + slack(x->g, limit)))
        return SKED_OK;
    count_all(x, op);
    return refuse(x, what, limit, "while op", op, x->held[op], err);
}

/* Result and inputs of an op are on its device all at once. */
static sked_status check_devices(need *x, sked_error *err)
{
    x->follows = false;
    count_all(x, -1);
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        if (!(x->g->memory[i] > 0) && x->g->pred_ptr[i] == x->g->pred_ptr[i + 1])
            continue;
        const double most = largest_device(x, i);
        if (!(x->held[i] > most + slack(x->g, most)))
            continue;
        count_all(x, i);
        return refuse(x, "the largest device for it has", most, "while op", i, x->held[i], err);
    }
    return SKED_OK;
}

sked_status sked_i_check_memory(const sked_problem *p, const sked_i_costs *c, sked_error *err)
{
    if (!sked_i_lower_memory_may_bind(p) || !sked_i_holds_to_finish(p) || p->graph->n_ops == 0)
        return SKED_OK;
    need x;
    const double limit = whole_limit(p);
    sked_status st = need_make(p, c, &x, err);
    if (st == SKED_OK && limit < INFINITY)
        st = check_whole(&x, limit, err);
    if (st == SKED_OK && sked_i_has_device_memory(p))
        st = check_devices(&x, err);
    sked_i_arena_free(&x.arena);
    return st;
}

sked_status sked_i_least_peak(const sked_problem *p, double *bound, sked_error *err)
{
    const sked_i_costs c = sked_i_costs_of_equal(p);
    need x = {0};
    sked_status st = SKED_OK;
    assert(p->machine == NULL);
    *bound = 0;
    if (p->graph->n_ops == 0)
        return SKED_OK;
    SKED_TRY(need_make(p, &c, &x, err));
    const int32_t op = busiest(&x);
    *bound = fmax(kept_sum(&x), op >= 0 ? x.held[op] : 0) * (p->graph->integral ? 1 : 1 - 1e-9);
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}
