/* Makespan problems as constraints on integer start times, solved by the clause-learning solver. */
#include "base/whole.h"
#include "engine/branch/assignment.h"
#include "engine/clause/disjunctive.h"
#include "engine/clause/pool.h"
#include "engine/clause/store.h"
#include "form/program.h"
#include "schedule/schedule.h"

#include <string.h>

enum { max_ops_for_pairs = 4000, max_pairs = 60000, max_dominance = 60000, max_machine = 1000 };

typedef sked_i_branch branch;

/* ------------------------------------------------------------------ whole numbers */

static bool whole(double x, double scale, double *sum)
{
    *sum += fabs(x * scale);
    return sked_i_whole(x, scale);
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

/* It matters where ops run, or times of many decimals need devices to be rebuilt on. */
static bool assigns(const sked_problem *p)
{
    const int fixed = p->devices > 0 ? fixed_devices(p) : 0;
    return p->machine != NULL || fixed == 2 || (fixed == 0 && sked_i_has_transfers(p)) ||
           (p->devices > 0 && exact_scale(p) == 0);
}

bool sked_i_branch_fits(const sked_problem *p, const sked_i_costs *c)
{
    const bool chooses = assigns(p);
    if (sked_i_has_memory_limit(p) && (p->devices > 1 || chooses))
        return false; /* copies depend on devices */
    return chooses ? sked_i_assignment_fits(p, c) : exact_scale(p) > 0;
}

/* ------------------------------------------------------------------ devices */

sked_status sked_i_branch_devices(const sked_problem *p, sked_schedule *s, sked_error *err)
{
    const sked_graph *g = p->graph;
    if (fixed_devices(p) != 1)
        return sked_i_schedule_assign(g->n_ops, g->duration, g->topo, s->devices, s->start, s->device, err);
    memcpy(s->device, p->fix_device, (size_t)g->n_ops * sizeof *s->device);
    return SKED_OK;
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

typedef struct pair_list {
    sked_i_arena arena;
    int32_t (*pair)[2]; /* i < j */
    int64_t count, cap;
    int32_t n;
    int32_t *number; /* [n * n] of the pair i < j plus 1; 0: none */
    sked_i_closure *closure;
    bool orderly; /* where a path leads from i to j, i ends before j starts */
} pair_list;

static bool collect_pairs(const sked_problem *p, const pool_walk *w, int32_t *user, pair_list *out)
{
    int32_t count = 0;
    for (int32_t i = 0; i < out->n; i++)
        if (demand_of(p, i, w->r, w->fixed) > w->capacity / 4)
            user[count++] = i;
    for (int32_t x = 0; x < count; x++)
        for (int32_t y = x + 1; y < count; y++) {
            const int32_t i = user[x], j = user[y];
            int32_t *number = &out->number[(int64_t)i * out->n + j];
            if (demand_of(p, i, w->r, w->fixed) + demand_of(p, j, w->r, w->fixed) <= w->capacity ||
                sked_i_closure_has(out->closure, i, j) || sked_i_closure_has(out->closure, j, i) ||
                *number > 0 || out->count >= max_pairs)
                continue;
            if (!SKED_OWN_GROW(&out->arena, out->pair, out->cap, out->count + 1))
                return false;
            out->pair[out->count][0] = i;
            out->pair[out->count++][1] = j;
            *number = (int32_t)out->count;
        }
    return true;
}

/* No lag is less than the duration before it; exactly: all are equal to it. */
static bool lags_cover_durations(const sked_graph *g, bool exactly)
{
    for (int64_t e = 0; e < g->n_edges; e++) {
        const double beyond = g->edge_lag[e] - g->duration[g->edge_from[e]];
        if (g->edge_distance[e] == 0 && (beyond < 0 || (exactly && beyond > 0)))
            return false;
    }
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
    SKED_OWN(&out->arena, user, n);
    out->n = (int32_t)n;
    SKED_OWN0(&out->arena, out->number, n * n);
    SKED_TRY(sked_i_closure_create(p->graph, 0, &out->closure, err));
    for (pool_walk w = first_pool(p); next_pool(p, &w);)
        if (isfinite(w.capacity) && !collect_pairs(p, &w, user, out))
            SKED_TRY(sked_i_no_memory(err));
    out->orderly = lags_cover_durations(p->graph, false);
cleanup:
    return st;
}

/* Either i before j or j before i: a 0/1 variable each, so that orders can be learned as such. */
static bool add_pairs(branch *b, const pair_list *l)
{
    const double *duration = b->p->graph->duration;
    for (int64_t k = 0; k < l->count; k++) {
        const int32_t x = b->end + 1 + (int32_t)k, i = l->pair[k][0], j = l->pair[k][1];
        if (!sked_i_clause_root_range(b->solver, x, 0, 1) ||
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
    const int32_t number = l->number[i < j ? (int64_t)i * l->n + j : (int64_t)j * l->n + i],
                  x = b->end + number;
    *out = i < j ? (sked_i_lit){2 * x, 1} : (sked_i_lit){2 * x + 1, 0};
    return number > 0;
}

/* The tasks as a machine; *fits is false where some pair has no literal. false: no memory. */
static bool add_machine(branch *b, const pair_list *l, const sked_i_clause_task *task, int32_t count,
                        bool *fits)
{
    sked_i_clause_machine m;
    *fits = sked_i_clause_machine_create(b->solver, &m, count);
    for (int32_t x = 0; *fits && x < count; x++) {
        m.var[x] = task[x].var;
        m.duration[x] = task[x].duration;
        for (int32_t y = 0; *fits && y < count; y++)
            if (x != y)
                *fits = order_literal(b, l, task[x].var, task[y].var, &m.before[(int64_t)x * count + y]);
    }
    if (*fits)
        return sked_i_clause_add_machine(b->solver, m);
    sked_i_arena_drop(&b->solver->memory, m.before);
    return !b->solver->failed;
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
        sked_i_clause_task *task = sked_i_arena_alloc(&b->solver->memory, b->n, sizeof *task);
        if (task == NULL)
            return false;
        const int32_t count = collect_tasks(b, &w, task);
        bool machine = false, fine = true;
        if (l->closure != NULL && count > 1 && count <= max_machine && exclusive(task, count, w.capacity))
            fine = add_machine(b, l, task, count, &machine);
        *ordered = *ordered && (machine || count == 0);
        if (fine && !machine && count > 0)
            fine = sked_i_clause_add_pool(b->solver, w.capacity, task, count);
        if (!fine)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ memory */

static int64_t readers_of(const branch *b, int32_t i, sked_i_clause_reader *out)
{
    const sked_graph *g = b->p->graph;
    const bool to_finish = sked_i_holds_to_finish(b->p);
    int64_t count = 0;
    out[count++] = (sked_i_clause_reader){i, to_finish ? units(b, g->duration[i]) : 0};
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
        if (g->edge_distance[e] == 0 && sked_i_passes(g, e))
            out[count++] =
                (sked_i_clause_reader){g->edge_to[e], to_finish ? units(b, g->duration[g->edge_to[e]]) : 0};
    if (sked_graph_keep(g, i))
        out[count++] = (sked_i_clause_reader){b->end, 0};
    return count;
}

static bool add_store(branch *b)
{
    const sked_graph *g = b->p->graph;
    const double limit = b->p->memory_limit;
    sked_i_arena *memory = &b->solver->memory;
    sked_i_clause_values v = {
        .value = sked_i_arena_alloc(memory, b->n, sizeof *v.value),
        .reader = sked_i_arena_alloc(memory, g->n_edges + 2 * (int64_t)b->n, sizeof *v.reader)};
    if (v.value == NULL || v.reader == NULL)
        return false;
    for (int32_t i = 0; i < b->n; i++) {
        const int64_t first = v.n_readers;
        if (!(g->memory[i] > 0))
            continue;
        v.n_readers += readers_of(b, i, v.reader + first);
        v.value[v.count++] = (sked_i_clause_value){i, g->memory[i], first, v.n_readers};
    }
    return sked_i_clause_add_store(b->solver, limit + (g->integral ? 0 : 1e-9 * fmax(1, limit)), v);
}

/* ------------------------------------------------------------------ dominance */

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
    if (c == NULL || sked_i_has_transfers(b->p) || !lags_cover_durations(g, true))
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
    const sked_schedule *from = b->known.incumbent;
    for (int64_t k = 0; from != NULL && k < l->count; k++)
        b->solver->phase[b->end + 1 + k] = from->start[l->pair[k][0]] < from->start[l->pair[k][1]];
    b->solver->has_phase = b->warm = from != NULL;
}

/* Starts in [0, latest], fixed ones fixed, the makespan in [bound, latest]. false: nothing is left. */
static bool bound_variables(branch *b)
{
    const sked_problem *p = b->p;
    double latest = nearbyint(sked_i_program_serial_length(p) * b->scale);
    if (isfinite(p->horizon))
        latest = fmin(latest, floor(p->horizon * b->scale + 1e-6));
    if (isfinite(b->known.best))
        latest = fmin(latest, nearbyint(b->known.best * b->scale) - 1);
    const double bound = fmin(fmax(0, ceil(b->known.bound * b->scale - 1e-6)), latest + 1);
    bool fine = sked_i_clause_root_range(b->solver, b->end, (int32_t)bound, (int32_t)latest);
    for (int32_t i = 0; fine && i < b->n; i++) {
        fine = sked_i_clause_root_range(b->solver, i, 0, (int32_t)latest - units(b, p->graph->duration[i]));
        if (fine && p->fix_start && !isnan(p->fix_start[i]))
            fine =
                sked_i_clause_root_range(b->solver, i, units(b, p->fix_start[i]), units(b, p->fix_start[i]));
    }
    return fine;
}

/* Starts, pools, orders of pairs: where no device is to choose. */
static sked_status open_starts(branch *b, uint64_t seed, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    pair_list pairs = {0};
    const bool limited = sked_i_has_memory_limit(b->p);
    bool ordered = false;
    b->scale = exact_scale(b->p);
    SKED_TRY(find_pairs(b->p, &pairs, err));
    SKED_TRY(sked_i_clause_create(b->n + 1 + (int32_t)pairs.count, b->n, seed, &b->solver, err));
    b->solver->objective = b->end;
    *empty = !bound_variables(b);
    if (!*empty && (!add_edges(b) || !add_pools(b, &pairs, &ordered) || !add_pairs(b, &pairs) ||
                    !(limited ? add_store(b) : add_dominance(b, pairs.closure))))
        st = sked_i_no_memory(err);
    if (ordered && !limited) { /* under a memory limit an earlier start may hold more */
        b->solver->decide_from = b->end + 1;
        follow_incumbent(b, &pairs);
    }
    if (b->solver->failed)
        st = sked_i_no_memory(err);
cleanup:
    sked_i_closure_destroy(pairs.closure);
    sked_i_arena_free(&pairs.arena);
    return st;
}

sked_status sked_i_branch_open(const sked_problem *p, const sked_i_costs *c, const sked_i_branch_known *known,
                               uint64_t seed, sked_i_branch *b, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    *b = (sked_i_branch){.p = p, .costs = c, .known = *known, .n = p->graph->n_ops, .end = p->graph->n_ops};
    SKED_TRY(sked_schedule_create(b->n, p->devices, &b->schedule, err));
    st = assigns(p) ? sked_i_assignment_open(b, seed, empty, err) : open_starts(b, seed, empty, err);
    b->known.incumbent = NULL;
cleanup:
    return st;
}

sked_status sked_i_branch_read(sked_i_branch *b, double best, bool *better, sked_error *err)
{
    b->value = b->solver->low[2 * b->end];
    *better = true;
    if (b->assignment != NULL) {
        *better = sked_i_assignment_read(b, best);
        return SKED_OK;
    }
    for (int32_t i = 0; i < b->n; i++)
        b->schedule->start[i] = b->solver->low[2 * i] / b->scale;
    return b->p->devices > 0 ? sked_i_branch_devices(b->p, b->schedule, err) : SKED_OK;
}

bool sked_i_branch_exclude(sked_i_branch *b, double best)
{
    sked_i_clause_restart(b->solver);
    return b->assignment != NULL
               ? sked_i_assignment_exclude(b, best)
               : sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * b->end + 1, 1 - b->value});
}

/* With devices to choose times lie on a fine grid, and a step at a time would lead nowhere: the question
 * halves the gap. */
int32_t sked_i_branch_question(const sked_i_branch *b)
{
    const int32_t low = b->solver->root[2 * b->end], high = -b->solver->root[2 * b->end + 1];
    return b->assignment == NULL ? low : low + (high - low) / 2;
}

void sked_i_branch_close(sked_i_branch *b)
{
    sked_schedule_destroy(b->schedule);
    sked_i_clause_destroy(b->solver);
    sked_i_assignment_close(b->assignment);
}
