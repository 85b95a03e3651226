/*
 * Depth-first enumeration of all left-shifted schedules: ops are placed in the order of their starts, each
 * as early as it fits after the one before, on every device that differs. Some such schedule is optimal: an
 * op that could move left without passing the one before it would shorten or keep every schedule it is in.
 */
#include "method/exact/exact.h"
#include "problem/lower.h"

typedef struct enumeration {
    sked_i_run *run;
    const sked_problem *p;
    const sked_graph *g;
    sked_i_costs costs; /* the run's */
    sked_schedule *s;
    double *tail, *least; /* longest path to the end, least time of each op */
    bool *placed;
    int32_t *missing; /* predecessors not placed yet */
    int32_t free_ops; /* ops without a fixed start that are not placed */
    int32_t *used;    /* ops on each device */
    double slack, best;
    int64_t nodes;
    bool stopped;
    sked_status status;
    sked_error *err;
} enumeration;

bool sked_i_exact_enumerate_fits(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < 0)
            return false;
    return true;
}

static bool has_fixed_start(const sked_problem *p, int32_t op)
{
    return p->fix_start && !isnan(p->fix_start[op]);
}

static double edge_lag(const enumeration *x, int64_t e, int32_t from_device, int32_t to_device)
{
    return sked_i_lag(&x->costs, e, from_device) +
           sked_i_transfer_time(&x->costs, x->g->edge_bytes[e], from_device, to_device);
}

static int32_t device_of(const enumeration *x, int32_t op)
{
    return x->s->device ? x->s->device[op] : 0;
}

/* Finish of a placed op. */
static double finish_of(const enumeration *x, int32_t op)
{
    return x->s->start[op] + sked_i_time(&x->costs, op, device_of(x, op));
}

/* Earliest start that the placed predecessors allow. */
static double ready_at(const enumeration *x, int32_t op, int32_t device)
{
    double at = 0;
    for (int64_t k = x->g->pred_ptr[op]; k < x->g->pred_ptr[op + 1]; k++) {
        const int32_t from = x->g->pred_op[k];
        const int64_t e = x->g->pred_edge[k];
        if (x->g->edge_distance[e] == 0 && x->placed[from])
            at = fmax(at, x->s->start[from] + edge_lag(x, e, device_of(x, from), device));
    }
    return at;
}

/* Every placed successor (fixed ones) still late enough? */
static bool successors_agree(const enumeration *x, int32_t op, int32_t device, double at)
{
    for (int64_t e = x->g->succ_ptr[op]; e < x->g->succ_ptr[op + 1]; e++) {
        const int32_t to = x->g->edge_to[e];
        if (x->g->edge_distance[e] == 0 && x->placed[to] &&
            x->s->start[to] < at + edge_lag(x, e, device, device_of(x, to)) - x->slack)
            return false;
    }
    return true;
}

/* Does op fit at this very moment beside what is placed and running then? */
static bool fits_at_moment(const enumeration *x, int32_t op, int32_t device, double moment)
{
    const sked_graph *g = x->g;
    for (int32_t i = 0; x->p->devices > 0 && i < g->n_ops; i++)
        if (x->placed[i] && i != op && x->s->device[i] == device && x->s->start[i] <= moment + x->slack &&
            moment + x->slack < finish_of(x, i))
            return false;
    for (int64_t k = g->demand_ptr[op]; k < g->demand_ptr[op + 1]; k++) {
        const double capacity = sked_i_capacity(x->p, g->demand_resource[k]);
        double load = g->demand_amount[k];
        for (int32_t i = 0; i < g->n_ops; i++)
            if (x->placed[i] && i != op && x->s->start[i] <= moment + x->slack &&
                moment + x->slack < finish_of(x, i))
                load += sked_graph_demand(g, i, g->demand_resource[k]);
        if (load > capacity + (g->integral ? 0 : 1e-9 * fmax(1, capacity)))
            return false;
    }
    return true;
}

/* Fits over its whole duration: loads only rise where a placed op starts. */
static bool fits(const enumeration *x, int32_t op, int32_t device, double at)
{
    const double time = sked_i_time(&x->costs, op, device), finish = at + time;
    if (!(time > 0))
        return true;
    if (!fits_at_moment(x, op, device, at))
        return false;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        if (x->placed[i] && x->s->start[i] > at + x->slack && x->s->start[i] < finish - x->slack &&
            finish_of(x, i) > x->s->start[i] && !fits_at_moment(x, op, device, x->s->start[i]))
            return false;
    return true;
}

/* First time from `at` on where op fits: now, or when something placed ends. INFINITY past the best. */
static double earliest_fit(const enumeration *x, int32_t op, int32_t device, double at)
{
    while (!fits(x, op, device, at)) {
        double next = INFINITY;
        for (int32_t i = 0; i < x->g->n_ops; i++) {
            const double finish = finish_of(x, i);
            if (x->placed[i] && finish > at + x->slack && finish < next)
                next = finish;
        }
        at = next;
        if (!(at + x->tail[op] < x->best))
            return INFINITY;
    }
    return at;
}

/* Nothing better can follow: some op left is too long, or the work left does not fit on the devices. */
static bool hopeless(const enumeration *x, double now)
{
    double work = 0, latest = 0;
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        if (x->placed[i]) {
            latest = fmax(latest, finish_of(x, i));
            work += fmax(0, finish_of(x, i) - fmax(now, x->s->start[i]));
            continue;
        }
        work += x->least[i];
        if (!(now + x->tail[i] < x->best))
            return true;
    }
    return !(latest < x->best) || (x->p->devices > 0 && !(now + work / x->p->devices < x->best));
}

static void take(enumeration *x)
{
    sked_i_run_evaluated(x->run, 1);
    x->status = sked_i_run_offer(x->run, x->s, x->err);
    const double value = sked_i_latest_finish(&x->costs, x->s);
    x->best = value - x->slack;
    x->stopped = x->status != SKED_OK;
}

static void place(enumeration *x, int32_t op, int32_t device, double at, int by)
{
    x->placed[op] = by > 0;
    x->s->start[op] = at;
    if (x->s->device) {
        x->s->device[op] = device;
        x->used[device] += by;
    }
    for (int64_t e = x->g->succ_ptr[op]; e < x->g->succ_ptr[op + 1]; e++)
        if (x->g->edge_distance[e] == 0)
            x->missing[x->g->edge_to[e]] -= by;
    x->free_ops -= by;
}

static bool follows(const sked_graph *g, int32_t from, int32_t to)
{
    for (int64_t e = g->succ_ptr[from]; e < g->succ_ptr[from + 1]; e++)
        if (g->edge_to[e] == to && g->edge_distance[e] == 0)
            return true;
    return false;
}

static void descend(enumeration *x, int32_t last, double now);

static void try_op(enumeration *x, int32_t op, int32_t last, double now)
{
    const sked_problem *p = x->p;
    const int32_t only = p->fix_device && p->devices > 0 ? p->fix_device[op] : -1;
    bool fresh_seen = false;
    for (int32_t d = only >= 0 ? only : 0; d <= (only >= 0        ? only
                                                 : p->devices > 0 ? p->devices - 1
                                                                  : 0);
         d++) {
        if (isinf(sked_i_time(&x->costs, op, d)))
            continue;
        if (p->machine == NULL && p->devices > 0 && only < 0 && x->used[d] == 0) { /* empty: all alike */
            if (fresh_seen)
                continue;
            fresh_seen = true;
        }
        const double at = earliest_fit(x, op, d, fmax(now, ready_at(x, op, d)));
        if (!(at + x->tail[op] < x->best) || at + sked_i_time(&x->costs, op, d) > p->horizon + x->slack ||
            !successors_agree(x, op, d, at))
            continue;
        if (at == now && last > op && !follows(x->g, last, op))
            continue; /* the same starts in another order */
        place(x, op, d, at, 1);
        descend(x, op, at);
        place(x, op, d, at, -1);
        if (x->stopped)
            return;
    }
}

static void descend(enumeration *x, int32_t last, double now)
{
    const int64_t allowed = x->run->options->iterations;
    x->nodes++;
    if (((x->nodes & 63) == 0 && sked_i_run_over(x->run)) || (allowed > 0 && x->nodes > allowed))
        x->stopped = true;
    if (x->stopped || hopeless(x, now))
        return;
    if (x->free_ops == 0) {
        take(x);
        return;
    }
    for (int32_t i = 0; i < x->g->n_ops && !x->stopped; i++)
        if (!x->placed[i] && x->missing[i] == 0)
            try_op(x, i, last, now);
}

/* Ops with a fixed start stand from the beginning; their devices are tried like everything else. */
static void place_fixed(enumeration *x, int32_t from)
{
    int32_t op = from;
    while (op < x->g->n_ops && !has_fixed_start(x->p, op))
        op++;
    if (op == x->g->n_ops) {
        descend(x, -1, 0);
        return;
    }
    const int32_t only = x->p->fix_device && x->p->devices > 0 ? x->p->fix_device[op] : -1;
    const double at = x->p->fix_start[op];
    const int32_t devices = x->p->devices > 0 ? x->p->devices : 1;
    for (int32_t d = only >= 0 ? only : 0; d < (only >= 0 ? only + 1 : devices) && !x->stopped; d++) {
        if (ready_at(x, op, d) > at + x->slack || !successors_agree(x, op, d, at) || !fits(x, op, d, at) ||
            !(at + sked_i_time(&x->costs, op, d) <= x->p->horizon + x->slack) ||
            isinf(sked_i_time(&x->costs, op, d)))
            continue;
        place(x, op, d, at, 1);
        place_fixed(x, op + 1);
        place(x, op, d, at, -1);
    }
}

/* Tails and least times, on unequal devices those of the relaxation without transfers. */
static sked_status prepare_least(enumeration *x, sked_error *err)
{
    sked_i_relaxed relaxed;
    const sked_status st = sked_i_relax(x->p, x->run->costs, &relaxed, err);
    if (st != SKED_OK)
        return st;
    sked_i_tails(relaxed.problem.graph, x->tail);
    for (int32_t i = 0; i < x->g->n_ops; i++)
        x->least[i] = relaxed.problem.graph->duration[i];
    sked_i_relaxed_free(&relaxed);
    return SKED_OK;
}

static void prepare(enumeration *x)
{
    const sked_graph *g = x->g;
    double scale = 1;
    for (int32_t i = 0; i < g->n_ops; i++)
        scale = fmax(scale, x->tail[i]);
    for (int64_t e = 0; e < g->n_edges; e++)
        x->missing[g->edge_to[e]] += g->edge_distance[e] == 0;
    for (int32_t i = 0; x->p->fix_device && x->p->devices > 0 && i < g->n_ops; i++)
        if (x->p->fix_device[i] >= 0)
            x->used[x->p->fix_device[i]]++; /* named, so not like the others */
    x->slack = sked_i_problem_integral(x->p) ? 0 : 1e-10 * scale;
    x->free_ops = g->n_ops;
    x->best = sked_i_run_best(x->run) - x->slack;
}

sked_status sked_i_exact_enumerate(sked_i_run *run, sked_error *err)
{
    const sked_graph *g = run->problem->graph;
    enumeration x = {.run = run, .p = run->problem, .costs = *run->costs, .g = g, .err = err};
    sked_status st = SKED_OK;
    SKED_NEW(x.tail, g->n_ops);
    SKED_NEW(x.least, g->n_ops);
    SKED_NEW0(x.placed, g->n_ops);
    SKED_NEW0(x.missing, g->n_ops);
    SKED_NEW0(x.used, run->problem->devices);
    SKED_TRY(sked_schedule_create(g->n_ops, run->problem->devices, &x.s, err));
    SKED_TRY(prepare_least(&x, err));
    prepare(&x);
    sked_i_run_progress(run, "enumeration");
    place_fixed(&x, 0);
    st = x.status;
    if (st == SKED_OK && !x.stopped) {
        if (sked_i_run_incumbent(run) != NULL)
            sked_i_run_prove(run);
        else
            st = sked_i_fail(err, SKED_ERR_INFEASIBLE,
                             "proved by enumeration: no schedule keeps the horizon and all fixed decisions");
    }
cleanup:
    free(x.tail);
    free(x.least);
    free(x.placed);
    free(x.missing);
    free(x.used);
    sked_schedule_destroy(x.s);
    return st;
}
