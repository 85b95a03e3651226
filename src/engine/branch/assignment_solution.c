/*
 * Solutions of the model with devices to choose: schedules with real times, and the clauses that exclude
 * those that are no better than the incumbent (assignment_model.c says why).
 */
#include "engine/branch/assignment.h"

#include <assert.h>

enum { seen = -2 };

static bool holds(const sked_i_assignment *u, int32_t var)
{
    return u->b->solver->low[2 * var] >= 1;
}

static void read_devices(sked_i_assignment *u)
{
    for (int32_t i = 0; i < u->b->n; i++)
        for (int32_t k = 0; k < u->m; k++)
            if (sked_i_assignment_may_run(u, i, k) && holds(u, u->x[sked_i_assignment_cell(u, i, k)]))
                u->b->schedule->device[i] = k;
}

static bool push(sked_i_assignment *u, int32_t from, int32_t to, double time, int64_t cause)
{
    if (!(u->start[from] + time > u->start[to] + u->slack * 1e-3))
        return false;
    u->start[to] = u->start[from] + time;
    u->cause[to] = cause;
    return true;
}

/* One pass over all edges and orders; *at: an op that moved, -1: none. */
static void shift(sked_i_assignment *u, int32_t *at)
{
    const int32_t *device = u->b->schedule->device;
    *at = -1;
    for (int32_t k = 0; k < u->b->n; k++) {
        const int32_t i = u->g->topo[k];
        for (int64_t e = u->g->succ_ptr[i]; e < u->g->succ_ptr[i + 1]; e++) {
            const int32_t to = u->g->edge_to[e];
            if (u->g->edge_distance[e] == 0 &&
                push(u, i, to,
                     sked_i_lag(&u->costs, e, device[i]) +
                         sked_i_transfer_time(&u->costs, u->g->edge_bytes[e], device[i], device[to]),
                     e))
                *at = to;
        }
    }
    for (int64_t q = 0; q < u->n_orders; q++) {
        const sked_i_assignment_order *o = &u->order[q];
        if (holds(u, o->var) &&
            push(u, o->i, o->j, sked_i_time(&u->costs, o->i, o->device), u->g->n_edges + q))
            *at = o->j;
    }
}

/*
 * Least real starts for the devices and orders of the solution. Returns the op whose start or finish breaks
 * `limit` (makespan: its finish), -1: the schedule is one. n passes settle every path; an op that still moves
 * stands after a cycle.
 */
static int32_t build(sked_i_assignment *u, double limit, bool *makespan)
{
    const sked_problem *p = u->b->p;
    const int32_t n = u->b->n;
    int32_t moved = 0, worst = -1;
    for (int32_t i = 0; i < n; i++) {
        u->start[i] = p->fix_start && !isnan(p->fix_start[i]) ? p->fix_start[i] : 0;
        u->cause[i] = -1;
    }
    for (int32_t pass = 0; pass <= n && moved >= 0; pass++)
        shift(u, &moved);
    *makespan = false;
    if (moved >= 0)
        return moved;
    double most = limit;
    for (int32_t i = 0; i < n; i++) {
        const double finish = u->start[i] + sked_i_time(&u->costs, i, u->b->schedule->device[i]);
        if (p->fix_start && u->start[i] > p->fix_start[i] + u->slack)
            return i;
        if (finish > most) {
            most = finish;
            worst = i;
        }
    }
    *makespan = worst >= 0;
    return worst;
}

static int32_t source_of(const sked_i_assignment *u, int64_t cause)
{
    return cause < u->g->n_edges ? u->g->edge_from[cause] : u->order[cause - u->g->n_edges].i;
}

/*
 * What the start of op follows from, latest first, back to a start of its own or once around a cycle. Returns
 * the number of ops; *cycle: they are one.
 */
static int32_t trace(sked_i_assignment *u, int32_t op, bool *cycle)
{
    int32_t count = 0;
    *cycle = false;
    for (int32_t i = op; i >= 0 && !*cycle;) {
        assert(count < u->b->n);
        u->path[count] = i;
        u->path_cause[count++] = u->cause[i];
        const int64_t cause = u->cause[i];
        u->cause[i] = seen;
        i = cause < 0 ? -1 : source_of(u, cause);
        *cycle = i >= 0 && u->cause[i] == seen;
    }
    return count;
}

/* Path positions k + 1 and k: does the one simply follow the other on its device? */
static bool follows(const sked_i_assignment *u, int32_t k)
{
    const int32_t *device = u->b->schedule->device;
    const int64_t cause = u->path_cause[k];
    return cause >= u->g->n_edges ||
           (device[u->path[k]] == device[u->path[k + 1]] && !u->g->edge_lag_given[cause]);
}

static bool precedes(const sked_i_assignment *u, int32_t i, int32_t j)
{
    return u->closure != NULL && sked_i_closure_has(u->closure, i, j);
}

/*
 * Positions last..first of the path (first is the earlier op) run on one device without a pause. Is what
 * they prove true in any order? It is where nothing of them can start before the first one, or before time 0,
 * and none can end after the last one, or the last is where the schedule ends.
 */
static bool any_order(const sked_i_assignment *u, int32_t first, int32_t last, bool at_zero, bool at_end)
{
    bool fine = true;
    for (int32_t k = last; fine && k <= first; k++)
        fine = (at_zero || k == first || precedes(u, u->path[first], u->path[k])) &&
               (at_end || k == last || precedes(u, u->path[k], u->path[last]));
    return fine;
}

/* The longest stretch from position `last` back whose order does not matter; `last` itself: none. */
static int32_t stretch(const sked_i_assignment *u, int32_t last, int32_t count, bool makespan)
{
    int32_t best = last;
    for (int32_t k = last; k + 1 < count && follows(u, k); k++) {
        const bool at_zero = k + 2 == count && !(u->start[u->path[k + 1]] > 0);
        if (any_order(u, k + 1, last, at_zero, makespan && last == 0))
            best = k + 1;
    }
    return best;
}

/*
 * The clause that excludes the path to op, which breaks a limit: not all these devices and orders. Orders
 * within stretches that prove the same in any order are left out; there may be many such orders. makespan: it
 * is the finish of op that is too late.
 */
static int32_t blame(sked_i_assignment *u, int32_t op, bool makespan)
{
    bool cycle;
    int32_t size = 0, free_until = 0;
    const int32_t count = trace(u, op, &cycle);
    for (int32_t k = 0; k < count; k++) {
        const int64_t cause = u->path_cause[k];
        if (!cycle && k >= free_until)
            free_until = stretch(u, k, count, makespan);
        u->clause[size++] =
            sked_i_lit_not(sked_i_assignment_runs_on(u, u->path[k], u->b->schedule->device[u->path[k]]));
        if (cause >= u->g->n_edges && k >= free_until)
            u->clause[size++] = (sked_i_lit){2 * u->order[cause - u->g->n_edges].var + 1, 0};
    }
    return size;
}

static void take_starts(sked_i_branch *b, const double *from)
{
    const double *fixed = b->p->fix_start;
    for (int32_t i = 0; i < b->n; i++)
        b->schedule->start[i] = fixed && !isnan(fixed[i]) ? fixed[i] : from[i];
}

/* Where times are whole, the solution is the schedule. */
bool sked_i_assignment_read(sked_i_branch *b, double best)
{
    sked_i_assignment *u = b->assignment;
    bool makespan;
    int32_t bad = -1;
    read_devices(u);
    if (!u->exact)
        bad = build(u, fmin(best - u->slack, b->p->horizon * (1 + 1e-10)), &makespan);
    u->blamed = bad >= 0 ? blame(u, bad, makespan) : 0;
    for (int32_t i = 0; u->exact && i < b->n; i++)
        u->start[i] = b->solver->low[2 * i] / b->scale;
    if (bad < 0)
        take_starts(b, u->start);
    return bad < 0;
}

bool sked_i_assignment_exclude(sked_i_branch *b, double best)
{
    const sked_i_assignment *u = b->assignment;
    if (u->blamed > 0)
        return sked_i_clause_add(b->solver, u->clause, u->blamed, sked_i_clause_for_ever);
    const double most =
        u->exact ? b->value - 1 : fmin(floor((best - u->slack) * b->scale), SKED_I_ASSIGNMENT_FAR);
    return sked_i_clause_root_bound(b->solver, (sked_i_lit){2 * b->end + 1, -(int32_t)most});
}
