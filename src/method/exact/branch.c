/* Makespan problems as constraints on integer start times, solved by the clause-learning solver. */
#include "method/exact/branch.h"
#include "engine/clause/disjunctive.h"
#include "engine/clause/pool.h"
#include "form/program.h"
#include "graph/relations.h"
#include "method/exact/exact.h"

#include <string.h>

enum { max_ops_for_pairs = 4000, max_pairs = 60000, max_dominance = 60000, max_machine = 1000 };

typedef sked_i_branch branch;

/* ------------------------------------------------------------------ whole numbers */

static bool whole(double x, double scale, double *sum)
{
    const double y = x * scale, r = nearbyint(y);
    *sum += fabs(y);
    return fabs(y - r) <= 1e-9 * fmax(1, fabs(y)) * (scale > 1);
}

static bool scale_fits(const sked_problem *p, double scale)
{
    const sked_graph *g = p->graph;
    const bool transfers = sked_i_has_transfers(p);
    double sum = 0, ignored = 0;
    bool fits = true;
    for (int32_t i = 0; fits && i < g->n_ops; i++) {
        fits = whole(g->duration[i], scale, &sum);
        if (p->fix_start && !isnan(p->fix_start[i]))
            fits = fits && whole(p->fix_start[i], scale, &sum);
    }
    for (int64_t e = 0; fits && e < g->n_edges; e++)
        if (g->edge_distance[e] == 0)
            fits = whole(g->edge_lag[e] + (transfers ? sked_i_transfer(p, e) : 0), scale, &sum) &&
                   whole(g->edge_lag[e], scale, &ignored);
    return fits && sum < (1 << 29);
}

/* 10^k that makes every time of the problem whole, and their sum stay below 2^29; 0: none. */
static double exact_scale(const sked_problem *p)
{
    for (double scale = 1; scale <= 1e6; scale *= 10)
        if (scale_fits(p, scale))
            return scale;
    return 0;
}

static int32_t units(const branch *b, double time)
{
    return (int32_t)nearbyint(time * b->scale);
}

/* 0: no op is fixed on a device, 1: all are, 2: some. */
static int fixed_devices(const sked_problem *p)
{
    int32_t fixed = 0;
    for (int32_t i = 0; p->fix_device && i < p->graph->n_ops; i++)
        fixed += p->fix_device[i] >= 0;
    return fixed == 0 ? 0 : fixed == p->graph->n_ops ? 1 : 2;
}

bool sked_i_exact_branch_fits(const sked_problem *p, const sked_i_costs *c)
{
    const int fixed = p->devices > 0 ? fixed_devices(p) : 0;
    if (p->machine != NULL)
        return sked_i_branch_unequal_fits(p, c);
    if (fixed == 2 || (fixed == 0 && sked_i_has_transfers(p)))
        return false;
    return exact_scale(p) > 0;
}

/* ------------------------------------------------------------------ devices */

typedef struct placed {
    double start;
    int32_t op;
} placed;

static int by_start(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

sked_status sked_i_exact_devices(const sked_problem *p, sked_schedule *s, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    placed *order = NULL;
    double *free_at = NULL;
    SKED_NEW(order, g->n_ops);
    SKED_NEW0(free_at, p->devices);
    for (int32_t i = 0; i < g->n_ops; i++)
        order[i] = (placed){s->start[i], i};
    qsort(order, (size_t)g->n_ops, sizeof *order, by_start);
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = order[k].op;
        int32_t d = 0;
        if (p->fix_device && p->fix_device[i] >= 0)
            d = p->fix_device[i];
        else if (g->duration[i] > 0)
            for (int32_t j = 1; j < p->devices; j++) /* the one that is free first */
                d = free_at[j] < free_at[d] ? j : d;
        s->device[i] = d;
        if (g->duration[i] > 0)
            free_at[d] = s->start[i] + g->duration[i];
    }
cleanup:
    free(order);
    free(free_at);
    return st;
}

/* ------------------------------------------------------------------ the model */

static bool add_edges(branch *b)
{
    const sked_graph *g = b->p->graph;
    const bool transfers = sked_i_has_transfers(b->p); /* then all devices are fixed */
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        if (g->edge_distance[e] > 0)
            continue;
        const bool crosses = transfers && b->p->fix_device[from] != b->p->fix_device[to];
        const double lag = g->edge_lag[e] + (crosses ? sked_i_transfer(b->p, e) : 0);
        if (!sked_i_clause_add_arc(b->solver, from, to, units(b, lag), SKED_I_LIT_NONE))
            return false;
    }
    for (int32_t i = 0; i < b->n; i++)
        if (!sked_i_clause_add_arc(b->solver, i, b->end, units(b, g->duration[i]), SKED_I_LIT_NONE))
            return false;
    return true;
}

/* Demand of op i on pool r; r < 0: device -r - 1 of fixed ones, or all devices where none is fixed. */
static double demand_of(const sked_problem *p, int32_t i, int32_t r, bool fixed)
{
    if (!(p->graph->duration[i] > 0))
        return 0;
    if (r >= 0)
        return sked_graph_demand(p->graph, i, r);
    return !fixed || p->fix_device[i] == -r - 1 ? 1 : 0;
}

typedef struct pool_walk {
    int32_t r;
    bool fixed;
    double capacity;
} pool_walk;

/* All pools one after the other: devices first (r < 0), then resources. */
static bool next_pool(const sked_problem *p, pool_walk *w)
{
    w->r++;
    if (w->r >= p->graph->n_resources)
        return false;
    const double slack = p->graph->integral ? 0 : 1e-9;
    w->capacity = w->r >= 0 ? sked_i_capacity(p, w->r) : w->fixed ? 1 : p->devices;
    w->capacity += slack * fmax(1, w->capacity);
    return true;
}

static pool_walk first_pool(const sked_problem *p)
{
    pool_walk w = {.fixed = p->devices > 0 && fixed_devices(p) == 1};
    w.r = p->devices == 0 ? -1 : w.fixed ? -p->devices - 1 : -2;
    return w;
}

typedef struct ranked_pair {
    int32_t i, j;
    int64_t number;
} ranked_pair;

typedef struct pair_list {
    int32_t (*pair)[2];
    int64_t count, cap;
    uint64_t *known; /* bit i * n + j */
    sked_i_closure *closure;
    ranked_pair *sorted; /* [count] by i, then j */
    bool orderly;        /* where a path leads from i to j, i ends before j starts */
} pair_list;

static bool collect_pairs(const sked_problem *p, const pool_walk *w, int32_t *user, pair_list *out)
{
    const int32_t n = p->graph->n_ops;
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        if (demand_of(p, i, w->r, w->fixed) > w->capacity / 4)
            user[count++] = i;
    for (int32_t x = 0; x < count; x++)
        for (int32_t y = x + 1; y < count; y++) {
            const int32_t i = user[x], j = user[y];
            const int64_t bit = (int64_t)i * n + j;
            if (demand_of(p, i, w->r, w->fixed) + demand_of(p, j, w->r, w->fixed) <= w->capacity ||
                sked_i_closure_has(out->closure, i, j) || sked_i_closure_has(out->closure, j, i) ||
                (out->known[bit >> 6] >> (bit & 63) & 1) || out->count >= max_pairs)
                continue;
            out->known[bit >> 6] |= (uint64_t)1 << (bit & 63);
            if (!SKED_GROW(out->pair, out->cap, out->count + 1))
                return false;
            out->pair[out->count][0] = i;
            out->pair[out->count++][1] = j;
        }
    return true;
}

static int by_pair(const void *x, const void *y)
{
    const ranked_pair *a = x, *b = y;
    if (a->i != b->i)
        return (a->i > b->i) - (a->i < b->i);
    return (a->j > b->j) - (a->j < b->j);
}

/* So that a pair is found by its ops. */
static sked_status rank_pairs(pair_list *l, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(l->sorted, l->count);
    for (int64_t k = 0; k < l->count; k++)
        l->sorted[k] = (ranked_pair){l->pair[k][0], l->pair[k][1], k};
    qsort(l->sorted, (size_t)l->count, sizeof *l->sorted, by_pair);
cleanup:
    return st;
}

static bool lags_cover_durations(const sked_graph *g)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < g->duration[g->edge_from[e]])
            return false;
    return true;
}

/* Pairs of ops that can never run together and that no path orders. */
static sked_status find_pairs(const sked_problem *p, pair_list *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = p->graph->n_ops;
    int32_t *user = NULL;
    if (n > max_ops_for_pairs)
        return SKED_OK;
    SKED_NEW(user, n);
    SKED_NEW0(out->known, n * n / 64 + 1);
    SKED_TRY(sked_i_closure_create(p->graph, 0, &out->closure, err));
    for (pool_walk w = first_pool(p); next_pool(p, &w);)
        if (isfinite(w.capacity) && !collect_pairs(p, &w, user, out)) {
            st = sked_i_no_memory(err);
            goto cleanup;
        }
    out->orderly = lags_cover_durations(p->graph);
    st = rank_pairs(out, err);
cleanup:
    free(user);
    return st;
}

/* Number of the pair i < j; -1: none. */
static int64_t find_pair(const pair_list *l, int32_t i, int32_t j)
{
    int64_t low = 0;
    for (int64_t high = l->count; low < high;) {
        const int64_t middle = (low + high) / 2;
        const ranked_pair *p = &l->sorted[middle];
        if (p->i < i || (p->i == i && p->j < j))
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < l->count && l->sorted[low].i == i && l->sorted[low].j == j;
    return found ? l->sorted[low].number : -1;
}

static void free_pairs(pair_list *l)
{
    free(l->pair);
    free(l->sorted);
    free(l->known);
    sked_i_closure_destroy(l->closure);
}

/* Either i before j or j before i: a 0/1 variable each, so that orders can be learned as such. */
static bool add_pairs(branch *b, const pair_list *l)
{
    const double *duration = b->p->graph->duration;
    for (int64_t k = 0; k < l->count; k++) {
        const int32_t x = b->end + 1 + (int32_t)k, i = l->pair[k][0], j = l->pair[k][1];
        if (!sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * x, 0}) ||
            !sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * x + 1, -1}) ||
            !sked_i_clause_add_arc(b->solver, i, j, units(b, duration[i]), (sked_i_lit){2 * x, 1}) ||
            !sked_i_clause_add_arc(b->solver, j, i, units(b, duration[j]), (sked_i_lit){2 * x + 1, 0}))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ pools and machines */

/* No two of these tasks fit together. */
static bool exclusive(const sked_i_clause_task *task, int32_t count, double capacity)
{
    double least = INFINITY, second = INFINITY;
    for (int32_t k = 0; k < count; k++) {
        if (task[k].demand < least)
            second = least, least = task[k].demand;
        else if (task[k].demand < second)
            second = task[k].demand;
    }
    return least + second > capacity;
}

/* What orders task i before task j; false: nothing, and they might overlap. */
static bool order_literal(const branch *b, const pair_list *l, int32_t i, int32_t j, sked_i_lit *out)
{
    if (sked_i_closure_has(l->closure, i, j) || sked_i_closure_has(l->closure, j, i)) {
        *out = sked_i_closure_has(l->closure, i, j) ? SKED_I_LIT_ALWAYS : SKED_I_LIT_NEVER;
        return l->orderly;
    }
    const int64_t k = find_pair(l, i < j ? i : j, i < j ? j : i);
    const int32_t x = b->end + 1 + (int32_t)k;
    *out = i < j ? (sked_i_lit){2 * x, 1} : (sked_i_lit){2 * x + 1, 0};
    return k >= 0;
}

/* The tasks as a machine; *fits is false where some pair has no literal. false: no memory. */
static bool add_machine(branch *b, const pair_list *l, const sked_i_clause_task *task, int32_t count,
                        bool *fits)
{
    sked_i_clause_machine m;
    const bool fine = sked_i_clause_machine_create(&m, count);
    *fits = fine;
    for (int32_t x = 0; *fits && x < count; x++) {
        m.var[x] = task[x].var;
        m.duration[x] = task[x].duration;
        for (int32_t y = 0; *fits && y < count; y++)
            if (x != y)
                *fits = order_literal(b, l, task[x].var, task[y].var, &m.before[(int64_t)x * count + y]);
    }
    if (*fits)
        return sked_i_clause_add_machine(b->solver, m);
    sked_i_clause_machine_free(&m);
    return fine;
}

/* Tasks of a pool that bind, into task; returns how many. */
static int32_t collect_tasks(const branch *b, const pool_walk *w, sked_i_clause_task *task)
{
    int32_t count = 0;
    double total = 0;
    for (int32_t i = 0; i < b->n; i++) {
        const double demand = demand_of(b->p, i, w->r, w->fixed);
        total += demand;
        if (demand > 0)
            task[count++] = (sked_i_clause_task){i, units(b, b->p->graph->duration[i]), demand};
    }
    return total <= w->capacity ? 0 : count;
}

/*
 * One propagator a pool. *ordered: all are machines whose orders are literals; once these are decided, the
 * least starts are a solution.
 */
static bool add_pools(branch *b, const pair_list *l, bool *ordered)
{
    *ordered = true;
    for (pool_walk w = first_pool(b->p); next_pool(b->p, &w);) {
        sked_i_clause_task *task = sked_i_alloc(b->n, sizeof *task);
        if (task == NULL)
            return false;
        const int32_t count = collect_tasks(b, &w, task);
        bool machine = false, fine = true;
        if (l->closure != NULL && count > 1 && count <= max_machine && exclusive(task, count, w.capacity))
            fine = add_machine(b, l, task, count, &machine);
        *ordered = *ordered && (machine || count == 0);
        if (machine || !fine || count == 0)
            free(task);
        else
            fine = sked_i_clause_add_pool(b->solver, w.capacity, task, count);
        if (!fine)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ dominance */

static bool lags_are_durations(const sked_graph *g)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] != g->duration[g->edge_from[e]])
            return false;
    return true;
}

static bool same_needs(const sked_problem *p, int32_t i, int32_t j)
{
    const sked_graph *g = p->graph;
    const int64_t count = g->demand_ptr[i + 1] - g->demand_ptr[i];
    bool same = g->duration[i] == g->duration[j] && g->demand_ptr[j + 1] - g->demand_ptr[j] == count;
    for (int64_t k = 0; same && k < count; k++)
        same = g->demand_resource[g->demand_ptr[i] + k] == g->demand_resource[g->demand_ptr[j] + k] &&
               g->demand_amount[g->demand_ptr[i] + k] == g->demand_amount[g->demand_ptr[j] + k];
    if (p->fix_device && p->devices > 0)
        same = same && p->fix_device[i] == p->fix_device[j];
    if (p->fix_start)
        same = same && isnan(p->fix_start[i]) && isnan(p->fix_start[j]);
    return same;
}

/* What i waits for j waits for too, and what waits for j waits for i: i may as well come first. */
static bool may_come_first(const sked_graph *g, const sked_i_closure *c, int32_t i, int32_t j)
{
    bool may = true;
    for (int64_t k = g->pred_ptr[i]; may && k < g->pred_ptr[i + 1]; k++)
        may = g->edge_distance[g->pred_edge[k]] > 0 || sked_i_closure_has(c, g->pred_op[k], j);
    for (int64_t e = g->succ_ptr[j]; may && e < g->succ_ptr[j + 1]; e++)
        may = g->edge_distance[e] > 0 || sked_i_closure_has(c, i, g->edge_to[e]);
    return may;
}

/*
 * Ops of the same needs, one of which can take the other's place and give it its own: some optimal schedule
 * has them in that order (exchanging a pair in the wrong order makes nothing late). Of twins the first
 * comes first.
 */
static bool add_dominance(branch *b, const sked_i_closure *c)
{
    const sked_graph *g = b->p->graph;
    int32_t added = 0;
    if (c == NULL || sked_i_has_transfers(b->p) || !lags_are_durations(g))
        return true;
    for (int32_t i = 0; i < b->n; i++)
        for (int32_t j = 0; j < b->n && added < max_dominance; j++) {
            if (i == j || !same_needs(b->p, i, j) || sked_i_closure_has(c, i, j) ||
                sked_i_closure_has(c, j, i) || !may_come_first(g, c, i, j) ||
                (j < i && may_come_first(g, c, j, i)))
                continue;
            if (!sked_i_clause_add_arc(b->solver, i, j, 0, SKED_I_LIT_NONE))
                return false;
            added++;
        }
    return true;
}

/* The search begins with the orders of the incumbent. */
static void follow_incumbent(branch *b, const pair_list *l)
{
    const sked_schedule *from = sked_i_run_incumbent(b->run);
    for (int64_t k = 0; from != NULL && k < l->count; k++)
        b->solver->phase[b->end + 1 + k] = from->start[l->pair[k][0]] < from->start[l->pair[k][1]];
    b->solver->has_phase = b->warm = from != NULL;
}

/* Starts in [0, latest], fixed ones fixed, the makespan in [bound, latest]. false: nothing is left. */
static bool bound_variables(branch *b)
{
    const sked_problem *p = b->p;
    double latest = nearbyint(sked_i_serial_length(p) * b->scale);
    if (isfinite(p->horizon))
        latest = fmin(latest, floor(p->horizon * b->scale + 1e-6));
    if (isfinite(sked_i_run_best(b->run)))
        latest = fmin(latest, nearbyint(sked_i_run_best(b->run) * b->scale) - 1);
    const double bound = fmin(fmax(0, ceil(sked_i_run_bound(b->run) * b->scale - 1e-6)), latest + 1);
    bool fine = sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * b->end, (int32_t)bound}) &&
                sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * b->end + 1, -(int32_t)latest});
    for (int32_t i = 0; fine && i < b->n; i++) {
        const int32_t last = (int32_t)latest - units(b, p->graph->duration[i]);
        fine = sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * i, 0}) &&
               sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * i + 1, -last});
        if (fine && p->fix_start && !isnan(p->fix_start[i]))
            fine = sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * i, units(b, p->fix_start[i])}) &&
                   sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * i + 1, -units(b, p->fix_start[i])});
    }
    return fine;
}

sked_status sked_i_branch_open(sked_i_run *run, uint64_t seed, sked_i_branch *b, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    pair_list pairs = {0};
    bool ordered = false;
    const sked_problem *p = run->problem;
    *b = (sked_i_branch){.run = run, .p = p};
    b->n = p->graph->n_ops;
    b->end = b->n;
    SKED_TRY(sked_schedule_create(b->n, p->devices, &b->schedule, err));
    if (p->machine != NULL)
        return sked_i_branch_unequal_open(b, seed, empty, err);
    b->scale = exact_scale(p);
    SKED_TRY(find_pairs(p, &pairs, err));
    SKED_TRY(sked_i_clause_create(b->n + 1 + (int32_t)pairs.count, b->n, seed, &b->solver, err));
    b->solver->objective = b->end;
    *empty = !bound_variables(b);
    if (!*empty && (!add_edges(b) || !add_pools(b, &pairs, &ordered) || !add_pairs(b, &pairs) ||
                    !add_dominance(b, pairs.closure)))
        st = sked_i_no_memory(err);
    if (ordered) {
        b->solver->decide_from = b->end + 1;
        follow_incumbent(b, &pairs);
    }
    if (b->solver->failed)
        st = sked_i_no_memory(err);
cleanup:
    free_pairs(&pairs);
    return st;
}

void sked_i_branch_close(sked_i_branch *b)
{
    sked_schedule_destroy(b->schedule);
    sked_i_clause_destroy(b->solver);
    sked_i_branch_unequal_close(b->unequal);
}
