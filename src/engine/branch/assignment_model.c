/*
 * Makespan with devices to choose, as constraints on integer times for the clause-learning solver.
 *
 * Variables: start of every op, the makespan, x (op i runs on device k), an order for every two ops that may
 * share a device ("i before j on k"), and for every x a head (earliest start of i should it run on k) and a
 * latest start. A head is the greatest over the predecessors of the least over their devices of head plus lag
 * plus transfer, so that paths see devices before they are chosen (choice.h); latest starts likewise. x ties
 * start, head and latest start together. Pools of resources see a copy of the op per device, far before time
 * 0 unless x holds. Without pools only x and orders are decided: least values of all others are a schedule.
 *
 * Times that no power of ten makes whole are rounded down to a grid. That is a relaxation: rounding all
 * starts of a schedule down keeps every inequality, since floor(a + b) >= floor(a) + floor(b). So what the
 * grid refutes is refuted. A solution of the grid is built again with real times; where the real schedule is
 * no better than the incumbent, the clause "not these devices and orders" of its critical path is added,
 * which every better schedule satisfies. The proof then holds to 1e-10 of the makespan, whatever the grid.
 */
#include "engine/branch/assignment.h"

#include "base/whole.h"
#include "engine/clause/pool.h"
#include "engine/clause/work.h"
#include "problem/kinds.h"
#include "problem/load.h"

#include <assert.h>

enum { max_orders = 60000, grid = 1 << 26, price_steps = 300 };

/* ------------------------------------------------------------------ times */

/* What one op may delay others by at most: a left-shifted schedule is no longer than their sum. */
static double longest_delay(const sked_i_costs *c, int32_t i)
{
    const sked_graph *g = c->graph;
    const double time = sked_i_longest_time(c, i);
    double longest = time;
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
        if (g->edge_distance[e] == 0)
            longest = fmax(longest, (g->edge_lag_given[e] ? g->edge_lag[e] : time) +
                                        sked_i_longest_transfer(c, g->edge_bytes[e]));
    return longest;
}

static double serial_length(const sked_problem *p, const sked_i_costs *c)
{
    double sum = 0, fixed = 0;
    for (int32_t i = 0; i < p->graph->n_ops; i++) {
        sum += longest_delay(c, i);
        if (p->fix_start && !isnan(p->fix_start[i]))
            fixed = fmax(fixed, p->fix_start[i]);
    }
    return sum + fixed;
}

static bool whole(double x, double scale)
{
    return isinf(x) || sked_i_whole(x, scale);
}

/* All transfers of an edge: one per pair of kinds. */
static bool whole_transfers(const sked_i_costs *c, double bytes, double scale)
{
    const sked_machine *m = c->machine;
    bool fits = true;
    if (m == NULL)
        return whole(c->latency + bytes / c->bandwidth, scale);
    for (int64_t k = 0; fits && k < (int64_t)m->n_link_kinds * m->n_link_kinds; k++)
        fits = isnan(m->link_latency[k]) || whole(m->link_latency[k] + bytes / m->link_bandwidth[k], scale);
    return fits;
}

static bool scale_fits(const sked_problem *p, const sked_i_costs *c, double scale)
{
    const sked_graph *g = p->graph;
    bool fits = serial_length(p, c) * scale * (c->devices + 2) < SKED_I_ASSIGNMENT_FAR;
    for (int32_t i = 0; fits && i < g->n_ops; i++) {
        for (int32_t k = 0; fits && k < c->time_kinds; k++)
            fits = whole(sked_i_kind_time(c, i, k), scale);
        if (p->fix_start && !isnan(p->fix_start[i]))
            fits = fits && whole(p->fix_start[i], scale);
    }
    for (int64_t e = 0; fits && e < g->n_edges; e++)
        fits = g->edge_distance[e] > 0 || ((!g->edge_lag_given[e] || whole(g->edge_lag[e], scale)) &&
                                           whole_transfers(c, g->edge_bytes[e], scale));
    return fits;
}

/* 10^k that makes every time whole, 0: none. */
static double exact_scale(const sked_problem *p, const sked_i_costs *c)
{
    for (double scale = 1; scale <= 1e6; scale *= 10)
        if (scale_fits(p, c, scale))
            return scale;
    return 0;
}

/* Rounded down where the grid is not exact. */
static int32_t units(const sked_i_assignment *u, double time)
{
    const double y = time * u->b->scale;
    return (int32_t)fmax(-SKED_I_ASSIGNMENT_FAR,
                         fmin(SKED_I_ASSIGNMENT_FAR, u->exact ? nearbyint(y) : floor(y - 1e-6)));
}

static int32_t time_on(const sked_i_assignment *u, int32_t i, int32_t k)
{
    const int32_t time = units(u, sked_i_time(&u->costs, i, k));
    return time > 0 ? time : 0;
}

/* ------------------------------------------------------------------ which problems */

static bool has_pools(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    for (int64_t k = 0; k < g->demand_ptr[g->n_ops]; k++)
        if (g->demand_amount[k] > 0 && sked_i_capacity(p, g->demand_resource[k]) < INFINITY)
            return true;
    return false;
}

bool sked_i_assignment_fits(const sked_problem *p, const sked_i_costs *c)
{
    const double n = p->graph->n_ops;
    return n * n * p->devices <= max_orders && (exact_scale(p, c) > 0 || !has_pools(p));
}

/* ------------------------------------------------------------------ variables */

/* Devices that can finish the op in time; a fixed one alone. */
static void number_choices(sked_i_assignment *u)
{
    const sked_problem *p = u->b->p;
    for (int32_t i = 0; i < u->b->n; i++)
        for (int32_t k = 0; k < u->m; k++) {
            const double time = sked_i_time(&u->costs, i, k);
            const bool may = time < INFINITY && time_on(u, i, k) <= u->latest &&
                             (p->fix_device == NULL || p->fix_device[i] < 0 || p->fix_device[i] == k);
            u->x[sked_i_assignment_cell(u, i, k)] = may ? u->n_vars++ : -1;
        }
}

/* Every path from an op is over no earlier than the op: ops that a path joins never overlap. */
static bool finishes_first(const sked_i_assignment *u)
{
    const sked_graph *g = u->g;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag_given[e] &&
            g->edge_lag[e] < sked_i_longest_time(&u->costs, g->edge_from[e]))
            return false;
    return true;
}

static bool number_orders(sked_i_assignment *u)
{
    const sked_i_closure *closure = u->closure;
    for (int32_t i = 0; i < u->b->n; i++)
        for (int32_t j = 0; j < u->b->n; j++) {
            if (i == j ||
                (closure && (sked_i_closure_has(closure, i, j) || sked_i_closure_has(closure, j, i))))
                continue;
            for (int32_t k = 0; k < u->m; k++) {
                if (!sked_i_assignment_may_run(u, i, k) || !sked_i_assignment_may_run(u, j, k) ||
                    !(sked_i_time(&u->costs, i, k) > 0) || !(sked_i_time(&u->costs, j, k) > 0))
                    continue;
                if (!SKED_OWN_GROW(&u->arena, u->order, u->order_cap, u->n_orders + 1))
                    return false;
                u->order[u->n_orders++] = (sked_i_assignment_order){i, j, k, u->n_vars++};
            }
        }
    return true;
}

static void number_heads(sked_i_assignment *u)
{
    for (int64_t c = 0; c < (int64_t)u->b->n * u->m; c++) {
        u->head[c] = u->x[c] >= 0 ? u->n_vars++ : -1;
        u->last[c] = u->x[c] >= 0 ? u->n_vars++ : -1;
    }
}

static bool bound(sked_i_assignment *u, int32_t var, int32_t low, int32_t high)
{
    return sked_i_clause_root_range(u->b->solver, var, low, high);
}

static bool bound_start(sked_i_assignment *u, int32_t i)
{
    const sked_problem *p = u->b->p;
    if (p->fix_start == NULL || isnan(p->fix_start[i]))
        return bound(u, i, 0, u->latest);
    const double y = p->fix_start[i] * u->b->scale;
    const double at = fmin(u->exact ? nearbyint(y) : floor(y), SKED_I_ASSIGNMENT_FAR);
    return at <= u->latest && bound(u, i, (int32_t)at, (int32_t)at);
}

/* false: nothing is left. */
static bool bound_variables(sked_i_assignment *u)
{
    sked_i_branch *b = u->b;
    const double least = b->known.bound * b->scale;
    const double low = fmin(fmax(0, u->exact ? ceil(least - 1e-6) : floor(least)), SKED_I_ASSIGNMENT_FAR);
    bool fine = u->latest >= 0 && low <= u->latest && bound(u, b->end, (int32_t)low, u->latest);
    for (int32_t i = 0; fine && i < b->n; i++) {
        bool any = false;
        fine = bound_start(u, i);
        for (int64_t c = sked_i_assignment_cell(u, i, 0); fine && c < sked_i_assignment_cell(u, i, u->m);
             c++) {
            if (u->x[c] < 0)
                continue;
            any = true;
            fine = bound(u, u->x[c], 0, 1) && bound(u, u->head[c], 0, SKED_I_ASSIGNMENT_FAR) &&
                   bound(u, u->last[c], -2 * SKED_I_ASSIGNMENT_FAR, u->latest);
        }
        fine = fine && any;
    }
    for (int64_t k = 0; fine && k < u->n_orders; k++)
        fine = bound(u, u->order[k].var, 0, 1);
    return fine;
}

/* ------------------------------------------------------------------ devices, paths */

/* Exactly one device; x ties start to head and latest start, which enclose it anyway. */
static bool add_devices_of(sked_i_assignment *u, int32_t i)
{
    sked_i_clause_solver *s = u->b->solver;
    sked_i_clause_option *earliest = u->option;
    int32_t count = 0;
    bool fine = true;
    for (int32_t k = 0; fine && k < u->m; k++) {
        if (!sked_i_assignment_may_run(u, i, k))
            continue;
        const int64_t c = sked_i_assignment_cell(u, i, k);
        const sked_i_lit on = sked_i_assignment_runs_on(u, i, k);
        const int32_t time = time_on(u, i, k);
        earliest[count] = (sked_i_clause_option){on, 2 * u->head[c], 0};
        earliest[u->m + count++] = (sked_i_clause_option){on, 2 * u->last[c] + 1, 0};
        fine = sked_i_clause_add_arc(s, u->head[c], i, 0, on) &&
               sked_i_clause_add_arc(s, i, u->head[c], 0, SKED_I_LIT_NONE) &&
               sked_i_clause_add_arc(s, i, u->last[c], 0, on) &&
               sked_i_clause_add_arc(s, u->last[c], i, 0, SKED_I_LIT_NONE) &&
               sked_i_clause_add_arc(s, u->last[c], u->b->end, time, SKED_I_LIT_NONE);
    }
    return fine && sked_i_clause_choices_add(u->choices, 2 * i, u->latest + 1, earliest, count) &&
           sked_i_clause_choices_add(u->choices, 2 * i + 1, 1, earliest + u->m, count);
}

/* From device a to device b along edge e; SKED_I_ASSIGNMENT_FAR: impossible. */
static int32_t passage(const sked_i_assignment *u, int64_t e, int32_t a, int32_t b)
{
    const double w = sked_i_lag(&u->costs, e, a) + sked_i_transfer_time(&u->costs, u->g->edge_bytes[e], a, b);
    if (isinf(w))
        return SKED_I_ASSIGNMENT_FAR;
    const int32_t t = units(u, w), least = -u->latest - 1;
    return t > u->latest ? SKED_I_ASSIGNMENT_FAR : t < least ? least : t;
}

/* The head of `to` on one device from those of `from` on all, or the latest start of `from` likewise. */
static bool add_passages(sked_i_assignment *u, int64_t e, bool mirror, int32_t k)
{
    const int32_t from = u->g->edge_from[e], to = u->g->edge_to[e];
    const int32_t mine = mirror ? from : to, other = mirror ? to : from;
    int32_t count = 0;
    for (int32_t d = 0; d < u->m; d++) {
        if (!sked_i_assignment_may_run(u, other, d))
            continue;
        const int32_t t = mirror ? passage(u, e, k, d) : passage(u, e, d, k);
        const int64_t c = sked_i_assignment_cell(u, other, d);
        if (t < SKED_I_ASSIGNMENT_FAR)
            u->option[count++] = (sked_i_clause_option){sked_i_assignment_runs_on(u, other, d),
                                                        mirror ? 2 * u->last[c] + 1 : 2 * u->head[c], t};
    }
    const int64_t c = sked_i_assignment_cell(u, mine, k);
    return sked_i_clause_choices_add(u->choices, mirror ? 2 * u->last[c] + 1 : 2 * u->head[c],
                                     mirror ? 1 : u->latest + 1, u->option, count);
}

static bool add_edges(sked_i_assignment *u)
{
    bool fine = true;
    for (int64_t e = 0; fine && e < u->g->n_edges; e++)
        for (int32_t k = 0; fine && u->g->edge_distance[e] == 0 && k < u->m; k++) {
            if (sked_i_assignment_may_run(u, u->g->edge_to[e], k))
                fine = add_passages(u, e, false, k);
            if (fine && sked_i_assignment_may_run(u, u->g->edge_from[e], k))
                fine = add_passages(u, e, true, k);
        }
    return fine;
}

/* From head to latest start: they enclose the starts, and are all that is known before x is. */
static bool add_orders(sked_i_assignment *u)
{
    bool fine = true;
    for (int64_t q = 0; fine && q < u->n_orders; q++) {
        const sked_i_assignment_order *o = &u->order[q];
        fine = sked_i_clause_add_arc(u->b->solver, u->head[sked_i_assignment_cell(u, o->i, o->device)],
                                     u->last[sked_i_assignment_cell(u, o->j, o->device)],
                                     time_on(u, o->i, o->device), (sked_i_lit){2 * o->var, 1});
    }
    return fine;
}

/* ------------------------------------------------------------------ work */

/* Prices that prove the most about all ops. */
static sked_status best_prices(sked_i_assignment *u, int32_t *price, sked_error *err)
{
    const int64_t cells = (int64_t)u->b->n * u->m;
    sked_status st = SKED_OK;
    double *time, *real, *count, *scratch;
    SKED_OWN(&u->arena, time, cells);
    SKED_OWN(&u->arena, real, u->m);
    SKED_OWN(&u->arena, count, u->m);
    SKED_OWN(&u->arena, scratch, 2 * (int64_t)u->m);
    for (int64_t c = 0; c < cells; c++)
        time[c] = u->x[c] >= 0 ? sked_i_time(&u->costs, (int32_t)(c / u->m), (int32_t)(c % u->m)) : INFINITY;
    for (int32_t k = 0; k < u->m; k++)
        count[k] = real[k] = 1;
    const sked_i_load load = {u->b->n, u->m, time, count};
    (void)sked_i_load_bound(&load, price_steps, real, scratch);
    for (int32_t k = 0; k < u->m; k++)
        price[k] = (int32_t)nearbyint(real[k] * sked_i_clause_most_price);
cleanup:
    return st;
}

/* Each device alone, and all of them at the best prices. */
static sked_status add_work(sked_i_assignment *u, sked_error *err)
{
    const int64_t cells = (int64_t)u->b->n * u->m;
    sked_status st = SKED_OK;
    int32_t *time, *price;
    SKED_OWN0(&u->arena, time, cells);
    SKED_OWN0(&u->arena, price, ((int64_t)u->m + 1) * u->m);
    for (int64_t c = 0; c < cells; c++)
        if (u->x[c] >= 0)
            time[c] = time_on(u, (int32_t)(c / u->m), (int32_t)(c % u->m));
    for (int32_t k = 0; k < u->m; k++)
        price[(int64_t)k * u->m + k] = 1;
    SKED_TRY(best_prices(u, price + (int64_t)u->m * u->m, err));
    const sked_i_clause_work_model model = {.ops = u->b->n,
                                            .devices = u->m,
                                            .x = u->x,
                                            .head = u->head,
                                            .last = u->last,
                                            .time = time,
                                            .price = price,
                                            .prices = u->m + 1};
    if (!sked_i_clause_add_work(u->b->solver, &model))
        st = sked_i_no_memory(err);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ pools of resources */

/* Copies of ops by device: they follow the start where x holds, and lie side by side before time 0 else. */
static bool add_copies(sked_i_assignment *u, int32_t first)
{
    sked_i_clause_solver *s = u->b->solver;
    int32_t at = -1;
    bool fine = true;
    for (int32_t i = 0; fine && i < u->b->n; i++)
        for (int32_t k = 0; fine && k < u->m; k++) {
            if (!sked_i_assignment_may_run(u, i, k))
                continue;
            const int32_t copy = first + u->x[sked_i_assignment_cell(u, i, k)];
            at -= time_on(u, i, k);
            fine = bound(u, copy, at, u->latest) &&
                   sked_i_clause_add_arc(s, i, copy, 0, sked_i_assignment_runs_on(u, i, k)) &&
                   sked_i_clause_add_arc(s, copy, i, 0, sked_i_assignment_runs_on(u, i, k));
        }
    return fine;
}

static bool add_pool(sked_i_assignment *u, int32_t r, int32_t first)
{
    const double capacity = sked_i_capacity(u->b->p, r);
    sked_i_clause_task *task =
        sked_i_arena_alloc(&u->b->solver->memory, (int64_t)u->b->n * u->m, sizeof *task);
    int32_t count = 0;
    if (task == NULL)
        return u->b->solver->failed = true, false;
    for (int32_t i = 0; i < u->b->n; i++) {
        const double demand = sked_graph_demand(u->g, i, r);
        for (int32_t k = 0; demand > 0 && k < u->m; k++) {
            const int32_t time = sked_i_assignment_may_run(u, i, k) ? time_on(u, i, k) : 0;
            if (time > 0)
                task[count++] =
                    (sked_i_clause_task){first + u->x[sked_i_assignment_cell(u, i, k)], time, demand};
        }
    }
    return sked_i_clause_add_pool(u->b->solver, capacity + (u->g->integral ? 0 : 1e-9 * fmax(1, capacity)),
                                  task, count);
}

static bool add_pools(sked_i_assignment *u, int32_t first)
{
    bool fine = add_copies(u, first);
    for (int32_t r = 0; fine && r < u->g->n_resources; r++)
        if (sked_i_capacity(u->b->p, r) < INFINITY)
            fine = add_pool(u, r, first);
    return fine;
}

/* ------------------------------------------------------------------ clauses */

/* Clauses of the model are kept for ever. false: no solution is left, or no memory. */
static bool clause(sked_i_assignment *u, const sked_i_lit *l, int32_t size)
{
    return sked_i_clause_add(u->b->solver, l, size, sked_i_clause_for_ever);
}

static bool clause_not_both(sked_i_assignment *u, sked_i_lit a, sked_i_lit b)
{
    const sked_i_lit l[] = {sked_i_lit_not(a), sked_i_lit_not(b)};
    return clause(u, l, 2);
}

static bool clauses_of_op(sked_i_assignment *u, int32_t i)
{
    int32_t count = 0;
    bool fine = true;
    for (int32_t k = 0; k < u->m; k++)
        if (sked_i_assignment_may_run(u, i, k))
            u->clause[count++] = sked_i_assignment_runs_on(u, i, k);
    for (int32_t a = 0; a < count; a++)
        for (int32_t c = a + 1; fine && c < count; c++)
            fine = clause_not_both(u, u->clause[a], u->clause[c]);
    return fine && clause(u, u->clause, count);
}

static bool clauses_of_edges(sked_i_assignment *u)
{
    bool fine = true;
    for (int64_t e = 0; fine && e < u->g->n_edges; e++) {
        const int32_t from = u->g->edge_from[e], to = u->g->edge_to[e];
        for (int32_t a = 0; fine && u->g->edge_distance[e] == 0 && a < u->m; a++)
            for (int32_t b = 0; fine && b < u->m; b++)
                if (sked_i_assignment_may_run(u, from, a) && sked_i_assignment_may_run(u, to, b) &&
                    passage(u, e, a, b) == SKED_I_ASSIGNMENT_FAR)
                    fine = clause_not_both(u, sked_i_assignment_runs_on(u, from, a),
                                           sked_i_assignment_runs_on(u, to, b));
    }
    return fine;
}

/* On one device one of two ops comes first. Orders (i, j) and (j, i) on a device are `at` and `other`. */
static bool clauses_of_pair(sked_i_assignment *u, const sked_i_assignment_order *at,
                            const sked_i_assignment_order *other)
{
    const sked_i_lit here = {2 * at->var, 1}, there = {2 * other->var, 1};
    const sked_i_lit i = sked_i_assignment_runs_on(u, at->i, at->device),
                     j = sked_i_assignment_runs_on(u, at->j, at->device);
    const sked_i_lit some[] = {sked_i_lit_not(i), sked_i_lit_not(j), here, there};
    const sked_i_lit with[][2] = {{sked_i_lit_not(here), i},
                                  {sked_i_lit_not(here), j},
                                  {sked_i_lit_not(there), i},
                                  {sked_i_lit_not(there), j}};
    bool fine = clause(u, some, 4) && clause_not_both(u, here, there);
    for (int k = 0; fine && k < 4; k++)
        fine = clause(u, with[k], 2);
    return fine;
}

/* Orders stand by (i, j, device). */
static const sked_i_assignment_order *find_order(const sked_i_assignment *u, int32_t i, int32_t j,
                                                 int32_t device)
{
    int64_t low = 0, high = u->n_orders - 1;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const sked_i_assignment_order *o = &u->order[mid];
        if (o->i < i || (o->i == i && (o->j < j || (o->j == j && o->device < device))))
            low = mid + 1;
        else
            high = mid;
    }
    assert(u->order[low].i == i && u->order[low].j == j && u->order[low].device == device);
    return &u->order[low];
}

static bool clauses_of_orders(sked_i_assignment *u)
{
    bool fine = true;
    for (int64_t k = 0; fine && k < u->n_orders; k++) {
        const sked_i_assignment_order *o = &u->order[k];
        if (o->i < o->j)
            fine = clauses_of_pair(u, o, find_order(u, o->j, o->i, o->device));
    }
    return fine;
}

/* Of interchangeable devices a later one is used only by ops after the first op of the one before it. */
static bool clauses_of_twins(sked_i_assignment *u, int32_t first, int32_t next)
{
    bool fine = true;
    int32_t count = 0;
    for (int32_t i = 0; fine && i < u->b->n; i++) {
        if (sked_i_assignment_may_run(u, i, next)) {
            u->clause[count] = sked_i_lit_not(sked_i_assignment_runs_on(u, i, next));
            fine = clause(u, u->clause, count + 1);
        }
        if (sked_i_assignment_may_run(u, i, first))
            u->clause[count++] = sked_i_assignment_runs_on(u, i, first);
    }
    return fine;
}

/* Devices that are alike and that no op is fixed on are interchangeable. false in *fine: no solution is left.
 */
static sked_status break_symmetry(sked_i_assignment *u, bool *fine, sked_error *err)
{
    const int32_t *fix = u->b->p->fix_device;
    sked_status st = SKED_OK;
    bool *named;
    sked_i_kinds like = {0};
    SKED_OWN0(&u->arena, named, u->m);
    SKED_TRY(sked_i_kinds_make(&u->costs, NULL, false, &like, err));
    for (int32_t i = 0; fix && i < u->b->n; i++)
        if (fix[i] >= 0)
            named[fix[i]] = true;
    for (int32_t k = 1; *fine && k < u->m; k++)
        for (int32_t d = k - 1; d >= 0; d--)
            if (!named[d] && !named[k] && like.of[d] == like.of[k]) {
                *fine = clauses_of_twins(u, d, k);
                break;
            }
cleanup:
    sked_i_kinds_free(&like);
    return st;
}

/* ------------------------------------------------------------------ where to look first */

/* Devices and orders of the incumbent; without one, the device of the shortest time, in topological order. */
static void set_phases(sked_i_assignment *u)
{
    const sked_schedule *s = u->b->known.incumbent;
    sked_i_clause_solver *solver = u->b->solver;
    for (int32_t i = 0; i < u->b->n; i++) {
        int32_t best = -1;
        for (int32_t k = 0; k < u->m; k++)
            if (sked_i_assignment_may_run(u, i, k) &&
                (best < 0 || (s != NULL ? k == s->device[i]
                                        : sked_i_time(&u->costs, i, k) < sked_i_time(&u->costs, i, best))))
                best = k;
        solver->phase[u->x[sked_i_assignment_cell(u, i, best)]] = 1;
        u->start[i] = s != NULL ? s->start[i] : 0;
    }
    for (int32_t k = 0; s == NULL && k < u->b->n; k++)
        u->start[u->g->topo[k]] = k;
    for (int64_t k = 0; k < u->n_orders; k++) {
        const sked_i_assignment_order *o = &u->order[k];
        solver->phase[o->var] = u->start[o->i] < u->start[o->j] &&
                                solver->phase[u->x[sked_i_assignment_cell(u, o->i, o->device)]] &&
                                solver->phase[u->x[sked_i_assignment_cell(u, o->j, o->device)]];
    }
    solver->has_phase = true;
}

/* ------------------------------------------------------------------ the model */

static sked_status choose_grid(sked_i_assignment *u, sked_error *err)
{
    sked_i_branch *b = u->b;
    const double best = b->known.best, serial = serial_length(b->p, &u->costs);
    double limit = fmin(serial, b->p->horizon * (1 + 1e-10));
    b->scale = exact_scale(b->p, &u->costs);
    u->exact = b->scale > 0;
    if (u->exact) {
        limit = floor(limit * b->scale + 1e-6);
        u->latest = (int32_t)(isfinite(best) ? fmin(limit, nearbyint(best * b->scale) - 1) : limit);
        return SKED_OK;
    }
    u->slack = 1e-10 * fmin(serial, best);
    limit = fmin(limit, best - u->slack);
    if (!(limit < 1e200)) /* the check of sums refuses such problems before */
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "times add up to %g: too long for a proof", limit);
    b->scale = limit > 0 ? exp2(floor(log2(grid / limit))) : 1;
    u->latest = (int32_t)floor(limit * b->scale);
    return SKED_OK;
}

static sked_status number_variables(sked_i_assignment *u, int32_t *copies, sked_error *err)
{
    const sked_i_branch *b = u->b;
    sked_status st = SKED_OK;
    u->n_vars = b->end + 1;
    number_choices(u);
    const int32_t choices = u->n_vars;
    if (finishes_first(u))
        SKED_TRY(sked_i_closure_create(u->g, 0, &u->closure, err));
    if (!number_orders(u))
        SKED_TRY(sked_i_no_memory(err));
    *copies = -1;
    if (has_pools(b->p)) { /* of every x one */
        *copies = u->n_vars - (b->end + 1);
        u->n_vars += choices - (b->end + 1);
    }
cleanup:
    return st;
}

static sked_status allocate(sked_i_assignment *u, sked_error *err)
{
    const int64_t n = u->b->n, cells = n * u->m;
    sked_status st = SKED_OK;
    SKED_OWN(&u->arena, u->x, cells);
    SKED_OWN(&u->arena, u->head, cells);
    SKED_OWN(&u->arena, u->last, cells);
    SKED_OWN(&u->arena, u->start, n);
    SKED_OWN(&u->arena, u->cause, n);
    SKED_OWN(&u->arena, u->path, n);
    SKED_OWN(&u->arena, u->path_cause, n);
    SKED_OWN(&u->arena, u->clause, 2 * n + u->m + 1);
    SKED_OWN(&u->arena, u->option, 2 * (int64_t)u->m);
cleanup:
    return st;
}

static bool add_constraints(sked_i_assignment *u, int32_t copies)
{
    u->choices = sked_i_clause_choices_create(u->b->solver);
    bool fine = u->choices != NULL;
    for (int32_t i = 0; fine && i < u->b->n; i++)
        fine = add_devices_of(u, i);
    return fine && add_edges(u) && add_orders(u) && (copies < 0 || add_pools(u, copies)) &&
           sked_i_clause_choices_plug(u->choices);
}

static bool add_clauses(sked_i_assignment *u)
{
    bool fine = true;
    for (int32_t i = 0; fine && i < u->b->n; i++)
        fine = clauses_of_op(u, i);
    return fine && clauses_of_edges(u) && clauses_of_orders(u);
}

sked_status sked_i_assignment_open(sked_i_branch *b, uint64_t seed, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_assignment *u;
    int32_t copies;
    SKED_NEW0(u, 1);
    b->assignment = u;
    u->b = b;
    u->g = b->p->graph;
    u->m = b->p->devices;
    u->costs = *b->costs;
    SKED_TRY(allocate(u, err));
    SKED_TRY(choose_grid(u, err));
    SKED_TRY(number_variables(u, &copies, err));
    const int32_t decided = u->n_vars;
    number_heads(u);
    SKED_TRY(sked_i_clause_create(u->n_vars, copies >= 0 ? b->n : 0, seed, &b->solver, err));
    b->solver->decide_from = copies >= 0 ? 0 : b->end + 1;
    b->solver->decide_to = decided;
    b->solver->objective = copies >= 0 ? b->end : -1;
    *empty = !bound_variables(u);
    if (!*empty && !add_constraints(u, copies))
        SKED_TRY(sked_i_no_memory(err));
    if (!*empty)
        SKED_TRY(add_work(u, err));
    if (!*empty) {
        bool fine = add_clauses(u);
        if (fine)
            SKED_TRY(break_symmetry(u, &fine, err));
        *empty = !fine;
        set_phases(u);
    }
    if (b->solver->failed)
        st = sked_i_no_memory(err);
cleanup:
    return st;
}

void sked_i_assignment_close(sked_i_assignment *u)
{
    if (u == NULL)
        return;
    sked_i_closure_destroy(u->closure);
    sked_i_arena_free(&u->arena);
    free(u);
}
