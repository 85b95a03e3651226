/*
 * Makespan bounds. Heads and tails are longest paths, made sharper where the graph is small by the work of
 * all ancestors (descendants) that has to pass through a pool first. Per pool: area with heads and tails for
 * graphs of any size, energetic reasoning for smaller ones, and its destructive form for whole numbers: no
 * schedule of this length, so the next one. Steps are counted, never timed, so that results do not depend on
 * the machine. Transfers only ever delay, so bounds without them stay valid with them.
 */
#include "base/arena.h"
#include "base/sort.h"
#include "graph/relations.h"
#include "problem/bounds.h"
#include "problem/energy.h"

#include <assert.h>

/* Work limits, in steps: closure-based heads, one energetic question, and questions a pool may ask. */
enum { max_ops_for_closure = 2500, max_ops_for_energy = 5000, max_questions = 12 };
static const double energy_budget = 1e6, ancestor_budget = 1e7;
static const double total_budget = 5e8; /* energetic steps of all pools; only hostile files have so many */

typedef struct pool {
    double capacity;
    int32_t n;
    int32_t *op;
    double *amount;
    const char *const *name; /* of the bounds by area and by energy, and of the destructive one */
} pool;

typedef struct bounder {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    double *head, *tail;
    sked_i_closure *closure; /* NULL: too large, or ops may start before their ancestors have finished */
    int32_t n_hosts;         /* devices with ops fixed on them */
    int64_t *host_ptr;       /* [n_hosts + 1] into host */
    sked_i_keyed *host;      /* those ops, by device */
    double spent;            /* steps of energetic reasoning */
    sked_i_best_bound best;
    pool q;                   /* the one at hand, and room for its ops: */
    sked_i_area_item *area;   /* [n] */
    sked_i_energy_item *item; /* [n] */
    sked_i_keyed *order, *spare;
} bounder;

/* ------------------------------------------------------------------ pools */

/* What the ops can use of the capacity at most: a multiple of what all demands are multiples of. */
static double usable(const pool *q, bool integral)
{
    double unit = 0;
    for (int32_t k = 0; k < q->n && integral; k++)
        unit = sked_i_gcd(q->amount[k], unit);
    return unit > 0 ? floor(q->capacity / unit) * unit : q->capacity;
}

/* The ops that are fixed on devices, by device. */
static sked_status find_hosts(bounder *b, sked_error *err)
{
    const int32_t *device = b->p->devices > 0 ? b->p->fix_device : NULL;
    sked_status st = SKED_OK;
    sked_i_keyed *spare;
    int64_t n = 0;
    for (int32_t i = 0; device != NULL && i < b->g->n_ops; i++)
        n += device[i] >= 0;
    if (n == 0)
        return SKED_OK;
    SKED_OWN(&b->arena, b->host, n);
    SKED_OWN(&b->arena, spare, n);
    SKED_OWN(&b->arena, b->host_ptr, n + 1);
    n = 0;
    for (int32_t i = 0; i < b->g->n_ops; i++)
        if (device[i] >= 0)
            b->host[n++] = (sked_i_keyed){(uint64_t)device[i], i};
    sked_i_sort_keyed(b->host, spare, n);
    for (int64_t k = 0; k < n; k++)
        if (k == 0 || b->host[k].key != b->host[k - 1].key)
            b->host_ptr[b->n_hosts++] = k;
    b->host_ptr[b->n_hosts] = n;
cleanup:
    return st;
}

static void add_member(const bounder *b, pool *q, int32_t op, double amount, double *total)
{
    if (!(b->g->duration[op] > 0) || !(amount > 0))
        return;
    *total += amount;
    q->op[q->n] = op;
    q->amount[q->n++] = amount;
}

/* r == -1: all devices; r < -1: the ops of host -r - 2. false: it limits nothing. */
static bool fill_pool(const bounder *b, int32_t r, pool *q)
{
    static const char *const names[][3] = {
        {"resource area with heads and tails", "energy of a resource", "no shorter schedule fits a resource"},
        {"device area with heads and tails", "energy of the devices", "no shorter schedule fits the devices"},
        {"work fixed on a device", "energy of a device", "no shorter schedule fits a device"}};
    double total = 0;
    q->name = names[r >= 0 ? 0 : r == -1 ? 1 : 2];
    q->capacity = r >= 0 ? sked_i_capacity(b->p, r) : r == -1 ? b->p->devices : 1;
    q->n = 0;
    if (isinf(q->capacity) || q->capacity <= 0)
        return false;
    for (int64_t k = 0; r >= -1 && k < sked_i_user_count(b->g, r); k++) {
        double amount;
        const int32_t i = sked_i_user(b->g, r, k, &amount);
        add_member(b, q, i, amount, &total);
    }
    for (int64_t k = r < -1 ? b->host_ptr[-r - 2] : 0; r < -1 && k < b->host_ptr[-r - 1]; k++)
        add_member(b, q, (int32_t)b->host[k].value, 1, &total);
    q->capacity = usable(q, b->g->integral);
    return total > q->capacity && q->capacity > 0;
}

/* ------------------------------------------------------------------ area, for any size */

static int by_cut_descending(const void *x, const void *y)
{
    const sked_i_area_item *a = x, *b = y;
    return (a->cut < b->cut) - (a->cut > b->cut);
}

double sked_i_area_sweep(sked_i_area_item *items, int32_t n, double capacity)
{
    double best = 0, area = 0, other = INFINITY;
    assert(capacity > 0);
    qsort(items, (size_t)n, sizeof *items, by_cut_descending);
    for (int32_t k = 0; k < n; k++) {
        area += items[k].area;
        other = fmin(other, items[k].other);
        best = fmax(best, items[k].cut + area / capacity + other);
    }
    return best;
}

static void area_bound(bounder *b, const pool *q)
{
    for (int side = 0; side < 2; side++) {
        for (int32_t k = 0; k < q->n; k++) {
            const int32_t i = q->op[k];
            const double rest = b->tail[i] - b->g->duration[i], area = q->amount[k] * b->g->duration[i];
            b->area[k] = side ? (sked_i_area_item){rest, b->head[i], area}
                              : (sked_i_area_item){b->head[i], rest, area};
        }
        sked_i_bound_keep(&b->best, sked_i_area_sweep(b->area, q->n, q->capacity), q->name[0]);
    }
}

/* ------------------------------------------------------------------ energy */

/* Largest integer T of which the pool can be refuted, looked for by doubling steps, then by halving. */
static void destroy(bounder *b, const pool *q, sked_i_energy *e, double length)
{
    double low = b->best.value - 1, step = 1, high = INFINITY; /* low is refuted */
    for (int k = 0; k < max_questions && high - low > 1; k++) {
        const double t = isinf(high) ? low + step : low + floor((high - low) / 2);
        if (sked_i_energy_overfull(e, q->capacity, t - length)) {
            low = t;
            step *= 2;
        } else {
            high = t;
        }
    }
    sked_i_bound_keep(&b->best, low + 1, q->name[2]);
}

static sked_status energy_bound(bounder *b, const pool *q, sked_error *err)
{
    sked_i_energy e;
    const double length = b->best.value; /* windows for a schedule of the best bound so far */
    for (int32_t k = 0; k < q->n; k++) {
        const int32_t i = q->op[k];
        const double late = fmax(length - b->tail[i], b->head[i]); /* rounding */
        b->item[k] = (sked_i_energy_item){b->head[i], late, b->g->duration[i], q->amount[k]};
    }
    const sked_status st = sked_i_energy_init(&e, b->item, q->n, energy_budget, err);
    if (st != SKED_OK)
        return st;
    b->spent += (b->best.whole ? 1 + max_questions : 1) * fmin(energy_budget, 12.0 * q->n * q->n);
    sked_i_bound_keep(&b->best, length + sked_i_energy_excess(&e, q->capacity), q->name[1]);
    if (b->best.whole)
        destroy(b, q, &e, length);
    sked_i_energy_free(&e);
    return SKED_OK;
}

/* ------------------------------------------------------------------ sharper heads and tails */

/* Every op finishes before its successors start: what ancestors work is over when an op starts. */
static bool finishes_first(const sked_graph *g)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < g->duration[g->edge_from[e]])
            return false;
    return true;
}

/*
 * side 0: the head of op is at least h + (work in the pool of its ancestors of head h or more) / capacity.
 * side 1: the same for its rest, with its descendants. order: the pool's ops, largest head (rest) first.
 */
static double passed_work(const bounder *b, const pool *q, int32_t op, int side)
{
    double best = 0, area = 0;
    for (int32_t k = 0; k < q->n; k++) {
        const int32_t i = q->op[b->order[k].value];
        if (!(side ? sked_i_closure_has(b->closure, op, i) : sked_i_closure_has(b->closure, i, op)))
            continue;
        area += q->amount[b->order[k].value] * b->g->duration[i];
        best = fmax(best, area / q->capacity - sked_i_sort_value(b->order[k].key));
    }
    return best;
}

/* Raises heads (tails) by passed_work and carries the rise along the edges. Ops in topological b->order. */
static void sharpen(bounder *b, const pool *q, int side)
{
    const sked_graph *g = b->g;
    for (int32_t k = 0; k < q->n; k++) {
        const int32_t i = q->op[k];
        const double value = side ? b->tail[i] - g->duration[i] : b->head[i];
        b->order[k] = (sked_i_keyed){sked_i_sort_key(-value), k};
    }
    sked_i_sort_keyed(b->order, b->spare, q->n);
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[side ? g->n_ops - 1 - k : k];
        const double least = passed_work(b, q, i, side) * (b->best.whole ? 1 : 1 - 1e-12);
        const double reached = b->best.whole ? ceil(least - 1e-9 * fmax(1, least)) : least;
        if (side) {
            b->tail[i] = fmax(b->tail[i], reached + g->duration[i]);
            for (int64_t j = g->pred_ptr[i]; j < g->pred_ptr[i + 1]; j++)
                if (g->edge_distance[g->pred_edge[j]] == 0)
                    b->tail[g->pred_op[j]] =
                        fmax(b->tail[g->pred_op[j]], g->edge_lag[g->pred_edge[j]] + b->tail[i]);
        } else {
            b->head[i] = fmax(b->head[i], reached);
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
                if (g->edge_distance[e] == 0)
                    b->head[g->edge_to[e]] = fmax(b->head[g->edge_to[e]], b->head[i] + g->edge_lag[e]);
        }
    }
}

static void keep_paths(bounder *b, const char *name)
{
    for (int32_t i = 0; i < b->g->n_ops; i++)
        sked_i_bound_keep(&b->best, b->head[i] + b->tail[i], name);
}

/* ------------------------------------------------------------------ all pools */

/* Up to -2: devices with ops fixed on them, the last one first; -1: all devices; then resources. */
static int32_t first_pool(const bounder *b)
{
    return b->p->devices == 0 ? 0 : -b->n_hosts - 1;
}

static sked_status prepare_closure(bounder *b, sked_error *err)
{
    const double pools = b->g->n_resources - first_pool(b);
    const double n = b->g->n_ops;
    if (b->g->n_ops > max_ops_for_closure || n * n * pools > ancestor_budget || !finishes_first(b->g))
        return SKED_OK;
    return sked_i_closure_create(b->g, 0, &b->closure, err);
}

static sked_status ask_pools(bounder *b, sked_error *err)
{
    pool *q = &b->q;
    for (int32_t r = first_pool(b); b->closure && r < b->g->n_resources; r++)
        if (fill_pool(b, r, q)) {
            sharpen(b, q, 0);
            sharpen(b, q, 1);
        }
    keep_paths(b, "paths with the work before and after them");
    for (int32_t r = first_pool(b); r < b->g->n_resources; r++) {
        if (!fill_pool(b, r, q))
            continue;
        area_bound(b, q);
        if (q->n > max_ops_for_energy || b->spent > total_budget)
            continue;
        const sked_status st = energy_bound(b, q, err);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

sked_status sked_i_bound_makespan(const sked_problem *p, double *bound, const char **why, sked_error *err)
{
    bounder b = {.p = p, .g = p->graph, .best = {sked_i_problem_integral(p), 0, "critical path"}};
    sked_status st = SKED_OK;
    const int64_t n = p->graph->n_ops;
    SKED_OWN(&b.arena, b.head, n);
    SKED_OWN(&b.arena, b.tail, n);
    SKED_OWN(&b.arena, b.q.op, n);
    SKED_OWN(&b.arena, b.q.amount, n);
    SKED_OWN(&b.arena, b.area, n);
    SKED_OWN(&b.arena, b.item, n);
    SKED_OWN(&b.arena, b.order, n);
    SKED_OWN(&b.arena, b.spare, n);
    sked_i_heads(b.g, b.head);
    sked_i_tails(b.g, b.tail);
    sked_i_bound_keep(&b.best, sked_i_critical_path(b.g, b.head), "critical path");
    if (p->fix_start != NULL)
        sked_i_earliest_starts(p, b.head);
    keep_paths(&b, "fixed starts");
    SKED_TRY(find_hosts(&b, err));
    SKED_TRY(prepare_closure(&b, err));
    SKED_TRY(ask_pools(&b, err));
    *bound = b.best.value;
    *why = b.best.why;
cleanup:
    sked_i_closure_destroy(b.closure);
    sked_i_arena_free(&b.arena);
    return st;
}
