/*
 * The least initiation interval of a loop. RecMII: the largest lag per distance over all cycles. Policy
 * iteration (Howard's algorithm, as in Dasdan, Irani, Gupta 1999) finds a cycle and potentials in a few
 * passes over the edges, up to rounding. What it says is made exact by raising the interval to the ratio of a
 * cycle that is still too long until none is (Lawler's parametric search with Newton steps): from those
 * potentials that is one pass where nothing is left to find. ResMII: what one iteration holds of each pool
 * against what the pool has in one interval.
 */
#include "base/arena.h"
#include "problem/problem.h"

#include <assert.h>

/* ------------------------------------------------------------------ strongly connected components */

typedef struct walker {
    const sked_graph *g;
    int64_t *next; /* per op: the out-edge to look at */
    int32_t *low, *index, *stack, *path;
    int32_t *component, *size;
    int32_t n_stack, n_path, n_index, count;
} walker;

static void close_component(walker *w, int32_t root)
{
    int32_t members = 0, op;
    do {
        assert(w->n_stack > 0);
        op = w->stack[--w->n_stack];
        w->component[op] = w->count;
        members++;
    } while (op != root);
    w->size[w->count++] = members;
}

static void enter(walker *w, int32_t op)
{
    w->index[op] = w->low[op] = w->n_index++;
    w->next[op] = w->g->succ_ptr[op];
    w->stack[w->n_stack++] = op;
    w->path[w->n_path++] = op;
}

/* Tarjan's walk from one root, with its own stack. */
static void walk(walker *w, int32_t root)
{
    enter(w, root);
    while (w->n_path > 0) {
        const int32_t op = w->path[w->n_path - 1];
        if (w->next[op] < w->g->succ_ptr[op + 1]) {
            const int32_t to = w->g->edge_to[w->next[op]++];
            if (w->index[to] < 0)
                enter(w, to);
            else if (w->component[to] < 0 && w->index[to] < w->low[op])
                w->low[op] = w->index[to];
            continue;
        }
        w->n_path--;
        if (w->n_path > 0 && w->low[op] < w->low[w->path[w->n_path - 1]])
            w->low[w->path[w->n_path - 1]] = w->low[op];
        if (w->low[op] == w->index[op])
            close_component(w, op);
    }
}

int32_t sked_i_components(const sked_graph *g, int32_t *component, int32_t *size)
{
    const int32_t n = g->n_ops;
    walker w = {.g = g, .component = component, .size = size};
    w.next = sked_i_alloc(n, sizeof *w.next);
    w.low = sked_i_alloc(4 * (int64_t)n, sizeof *w.low);
    if (w.next != NULL && w.low != NULL) {
        w.index = w.low + n;
        w.stack = w.index + n;
        w.path = w.stack + n;
        for (int32_t i = 0; i < n; i++)
            w.index[i] = component[i] = -1;
        for (int32_t i = 0; i < n; i++)
            if (w.index[i] < 0)
                walk(&w, i);
    } else {
        w.count = -1;
    }
    free(w.next);
    free(w.low);
    return w.count;
}

/* ------------------------------------------------------------------ RecMII */

typedef struct recurrence {
    sked_i_arena arena;
    const sked_graph *g;
    int32_t *component;
    int32_t *op; /* ops on some cycle, topological by the edges of distance 0 */
    int32_t n;
    double *at;      /* longest path so far */
    int64_t *parent; /* edge that set at, -1: none */
    int32_t *mark;
    double tolerance; /* 0 for integers */
    double work;      /* edges looked at */
} recurrence;

/* Edges a search may look at. No loop that a compiler writes comes near; a hostile one must end. */
static const double most_work = 3e8;

/* One pass over the cycles' edges in topological order; true when a carried edge moved something. */
static bool relax(recurrence *r, double ii)
{
    const sked_graph *g = r->g;
    bool moved = false;
    for (int32_t k = 0; k < r->n; k++) {
        const int32_t i = r->op[k];
        r->work += (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int32_t to = g->edge_to[e];
            if (r->component[to] != r->component[i])
                continue;
            const double t = r->at[i] + g->edge_lag[e] - g->edge_distance[e] * ii;
            if (!(t > r->at[to] + r->tolerance))
                continue;
            r->at[to] = t;
            r->parent[to] = e;
            moved = moved || g->edge_distance[e] > 0;
        }
    }
    return moved;
}

/* An op on a cycle of parent edges, or -1. Such a cycle is longer than the interval allows. O(n). */
static int32_t parent_cycle(recurrence *r)
{
    for (int32_t k = 0; k < r->n; k++)
        r->mark[r->op[k]] = 0;
    for (int32_t k = 0; k < r->n; k++) {
        int32_t i = r->op[k];
        while (r->mark[i] == 0) {
            r->mark[i] = k + 1;
            if (r->parent[i] < 0)
                break;
            i = r->g->edge_from[r->parent[i]];
        }
        if (r->mark[i] == k + 1 && r->parent[i] >= 0)
            return i;
    }
    return -1;
}

/* Notes the cycle through `op` in forward order. edge: of each op on it to the next one, or from the one
 * before. */
static void note_cycle(const sked_graph *g, const int64_t *edge, bool forward, int32_t op, sked_i_min_ii *out)
{
    const int32_t *next = forward ? g->edge_to : g->edge_from;
    int32_t i = op;
    out->cycle_lag = out->cycle_distance = 0;
    out->cycle_length = 0;
    do {
        out->cycle_lag += g->edge_lag[edge[i]];
        out->cycle_distance += g->edge_distance[edge[i]];
        out->cycle_length++;
        i = next[edge[i]];
    } while (i != op);
    assert(out->cycle_distance > 0);
    /* Backwards from op the cycle reads op, last, ..., first: op stands first in forward order. */
    for (int32_t k = 0; k < out->cycle_length; k++, i = next[edge[i]]) {
        const int32_t place = forward ? k : (out->cycle_length - k) % out->cycle_length;
        if (place < SKED_I_CYCLE_SHOWN)
            out->cycle[place] = i;
    }
}

/* Finds a cycle too long for ii and notes it; false: there is none. Potentials go on from where they are. */
static bool find_long_cycle(recurrence *r, double ii, sked_i_min_ii *out)
{
    for (int32_t k = 0; k < r->n; k++)
        r->parent[r->op[k]] = -1;
    int64_t next_check = 1;
    for (int64_t pass = 1; r->work < most_work && relax(r, ii); pass++) {
        if (pass < next_check)
            continue;
        next_check = pass + 1 + pass / 4; /* checks cost a pass: keep them a share of the work */
        const int32_t op = parent_cycle(r);
        if (op >= 0) {
            note_cycle(r->g, r->parent, false, op, out);
            return true;
        }
        if (pass > r->g->n_carried + 1)
            return false; /* only rounding of reals keeps it moving */
    }
    return false;
}

/* ------------------------------------------------------------------ policy iteration */

/* One strongly connected component. The policy is an edge out of each op; followed, it ends in a cycle. */
typedef struct policy {
    recurrence *r;
    const int32_t *op; /* [n] */
    int32_t n;
    int64_t *edge;  /* by op */
    double *value;  /* by op: what the policy gains at the ratio found, relative to the cycle */
    int32_t *queue; /* [n] */
    int32_t root;   /* on the best cycle of the policy */
    double lag, distance;
} policy;

/* The largest lag first. */
static void begin_policy(const policy *x)
{
    const sked_graph *g = x->r->g;
    for (int32_t k = 0; k < x->n; k++) {
        const int32_t i = x->op[k];
        x->value[i] = 0;
        x->edge[i] = -1;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (x->r->component[g->edge_to[e]] == x->r->component[i] &&
                (x->edge[i] < 0 || g->edge_lag[e] > g->edge_lag[x->edge[i]]))
                x->edge[i] = e;
        assert(x->edge[i] >= 0); /* it is on a cycle */
    }
}

/* The policy's cycle of the largest ratio; every cycle has a distance. */
static void find_best_cycle(policy *x)
{
    const sked_graph *g = x->r->g;
    int32_t *mark = x->r->mark;
    bool any = false;
    for (int32_t k = 0; k < x->n; k++)
        mark[x->op[k]] = 0;
    for (int32_t k = 0; k < x->n; k++) {
        int32_t i = x->op[k];
        for (; mark[i] == 0; i = g->edge_to[x->edge[i]])
            mark[i] = k + 1;
        if (mark[i] != k + 1)
            continue;
        double lag = 0, distance = 0;
        const int32_t root = i;
        do {
            lag += g->edge_lag[x->edge[i]];
            distance += g->edge_distance[x->edge[i]];
            i = g->edge_to[x->edge[i]];
        } while (i != root);
        if (any && !(lag / distance > x->lag / x->distance))
            continue;
        any = true;
        x->lag = lag;
        x->distance = distance;
        x->root = root;
    }
    assert(any && x->distance > 0);
}

/* Values of the ops whose policy leads to the root, from there backwards. */
static void evaluate(policy *x, double ratio)
{
    const sked_graph *g = x->r->g;
    int32_t *mark = x->r->mark, filled = 1;
    for (int32_t k = 0; k < x->n; k++)
        mark[x->op[k]] = 0;
    x->queue[0] = x->root;
    mark[x->root] = 1;
    for (int32_t at = 0; at < filled; at++) {
        const int32_t to = x->queue[at];
        x->r->work += (double)(g->pred_ptr[to + 1] - g->pred_ptr[to]);
        for (int64_t k = g->pred_ptr[to]; k < g->pred_ptr[to + 1]; k++) {
            const int32_t i = g->pred_op[k];
            const int64_t e = g->pred_edge[k];
            if (x->r->component[i] != x->r->component[to] || x->edge[i] != e || mark[i])
                continue;
            mark[i] = 1;
            x->value[i] = x->value[to] + g->edge_lag[e] - ratio * g->edge_distance[e];
            x->queue[filled++] = i;
        }
    }
}

/* A better edge out of op i by values; true: there is one. */
static bool improve_op(policy *x, int32_t i, double ratio, double least)
{
    const sked_graph *g = x->r->g;
    bool better = false;
    x->r->work += (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]);
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (x->r->component[to] != x->r->component[i])
            continue;
        const double gain = x->value[to] + g->edge_lag[e] - ratio * g->edge_distance[e] - x->value[i];
        if (!(gain > least))
            continue;
        x->value[i] += gain;
        x->edge[i] = e;
        better = true;
    }
    return better;
}

/*
 * Better edges for all ops, and again for those before an op whose value has changed, in the order of the
 * changes: news goes around a cycle of any length at once. Ends after some work, since values grow without
 * end where the ratio is too small; the policy then has a better cycle. false: nothing is better.
 */
static bool improve(policy *x, double ratio, double least)
{
    const sked_graph *g = x->r->g;
    int32_t *waits = x->r->mark, head = 0, count = x->n;
    double edges = 0;
    bool better = false;
    for (int32_t k = 0; k < x->n; k++) {
        x->queue[k] = x->op[x->n - 1 - k]; /* what lies behind an op is known by then */
        waits[x->op[k]] = 1;
        edges += (double)(g->succ_ptr[x->op[k] + 1] - g->succ_ptr[x->op[k]]);
    }
    for (const double end = x->r->work + 8 * edges; count > 0 && x->r->work < end; count--) {
        const int32_t i = x->queue[head];
        head = head + 1 < x->n ? head + 1 : 0;
        waits[i] = 0;
        if (!improve_op(x, i, ratio, least))
            continue;
        better = true;
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
            const int32_t from = g->pred_op[k];
            if (from == i || x->r->component[from] != x->r->component[i] || waits[from])
                continue;
            waits[from] = 1;
            const int64_t at = (int64_t)head + count - 1; /* i has left the queue */
            x->queue[at < x->n ? at : at - x->n] = from;
            count++;
        }
    }
    return better;
}

/* Leaves potentials in r->at, and the cycle in *out if it is longer than the one there. */
static void iterate_policy(policy *x, double least, sked_i_min_ii *out)
{
    enum { most_rounds = 200 };
    begin_policy(x);
    for (int round = 0; round < most_rounds && x->r->work < most_work / 2; round++) {
        find_best_cycle(x);
        const double ratio = x->lag / x->distance;
        if (x->lag > 0 && (out->cycle_length == 0 || ratio > out->cycle_lag / out->cycle_distance))
            note_cycle(x->r->g, x->edge, true, x->root, out);
        evaluate(x, ratio);
        if (!improve(x, ratio, least))
            break;
    }
    for (int32_t k = 0; k < x->n; k++)
        x->r->at[x->op[k]] = -x->value[x->op[k]];
}

/* Ops of the recurrences by component, each in topological order. */
static void group_by_component(const recurrence *r, int32_t *first, int32_t components, int32_t *grouped)
{
    for (int32_t c = 0; c <= components + 1; c++)
        first[c] = 0;
    for (int32_t k = 0; k < r->n; k++)
        first[r->component[r->op[k]] + 2]++;
    for (int32_t c = 2; c <= components + 1; c++)
        first[c] += first[c - 1];
    for (int32_t k = 0; k < r->n; k++)
        grouped[first[r->component[r->op[k]] + 1]++] = r->op[k];
}

static sked_status iterate_policies(recurrence *r, int32_t components, double least, sked_i_min_ii *out,
                                    sked_error *err)
{
    const int32_t n = r->g->n_ops;
    sked_status st = SKED_OK;
    int32_t *first, *grouped;
    policy x = {.r = r};
    SKED_OWN(&r->arena, first, (int64_t)components + 2);
    SKED_OWN(&r->arena, grouped, n);
    SKED_OWN(&r->arena, x.queue, n);
    SKED_OWN(&r->arena, x.edge, n);
    SKED_OWN(&r->arena, x.value, n);
    group_by_component(r, first, components, grouped);
    for (int32_t c = 0; c < components; c++) {
        x.op = grouped + first[c];
        x.n = first[c + 1] - first[c];
        if (x.n > 0)
            iterate_policy(&x, least, out);
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ RecMII, exactly */

static double interval_of(const sked_i_min_ii *found, bool whole)
{
    const double ratio = found->cycle_lag / found->cycle_distance;
    return whole ? ceil(ratio) : ratio;
}

static sked_status recurrence_ii(recurrence *r, bool whole, sked_i_min_ii *out, sked_error *err)
{
    double ii = out->cycle_length > 0 ? interval_of(out, whole) : 0;
    sked_i_min_ii found = *out;
    while (find_long_cycle(r, ii, &found)) {
        const double next = interval_of(&found, whole);
        if (!(next > ii))
            break; /* reals: within rounding of the last ratio */
        ii = next;
        *out = found;
    }
    if (!(r->work < most_work))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "the recurrences are too entangled: the least interval was not found in %g steps",
                           most_work);
    out->recurrence = whole ? ii : ii * (1 - 1e-12);
    return SKED_OK;
}

static sked_status solve_recurrences(const sked_problem *p, bool whole, sked_i_min_ii *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    recurrence r = {.g = g};
    int32_t *size;
    if (g->n_carried == 0)
        return SKED_OK;
    SKED_OWN(&r.arena, r.component, g->n_ops);
    SKED_OWN(&r.arena, size, g->n_ops);
    SKED_OWN(&r.arena, r.op, g->n_ops);
    SKED_OWN(&r.arena, r.at, g->n_ops);
    SKED_OWN(&r.arena, r.parent, g->n_ops);
    SKED_OWN(&r.arena, r.mark, g->n_ops);
    const int32_t components = sked_i_components(g, r.component, size);
    if (components < 0)
        SKED_TRY(sked_i_no_memory(err));
    double scale = 1;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e];
        scale += fabs(g->edge_lag[e]);
        if (from == g->edge_to[e]) /* a loop on one op is a cycle of its own */
            size[r.component[from]] += size[r.component[from]] == 1;
    }
    r.tolerance = whole ? 0 : 1e-13 * scale;
    for (int32_t k = 0; k < g->n_ops; k++)
        if (size[r.component[g->topo[k]]] > 1)
            r.op[r.n++] = g->topo[k];
    SKED_TRY(iterate_policies(&r, components, 1e-13 * scale, out, err));
    SKED_TRY(recurrence_ii(&r, whole, out, err));
cleanup:
    sked_i_arena_free(&r.arena);
    return st;
}

/* ------------------------------------------------------------------ ResMII */

/* What one op holds of a pool. */
typedef struct hold {
    double amount, time;
} hold;

static int by_amount_descending(const void *x, const void *y)
{
    const hold *a = x, *b = y;
    return a->amount != b->amount ? (a->amount < b->amount) - (a->amount > b->amount)
                                  : (a->time < b->time) - (a->time > b->time);
}

/* An op that holds its pool longer than the interval meets itself: only floor(capacity / amount) fit. */
static double longest_hold(const hold *h, int64_t n, double capacity, double slack)
{
    double least = 0;
    for (int64_t k = 0; k < n; k++)
        least = fmax(least, h[k].time / fmax(1, floor((capacity + slack) / h[k].amount)));
    return least;
}

/*
 * Work over capacity, where for a threshold t up to half the capacity ops above capacity - t count as the
 * whole pool and ops below t as nothing: whatever runs at one time then still adds up to one pool at most
 * (a dual feasible function of bin packing). t = 0 is the plain area. h is sorted by falling amount. O(n).
 */
static double area_hold(const hold *h, int64_t n, double capacity, double slack)
{
    double large = 0, middle = 0;
    assert(n > 0 && capacity > 0);
    for (int64_t k = 0; k < n; k++)
        middle += h[k].amount * h[k].time;
    double best = middle / capacity;
    int64_t from = 0, to = n; /* large: [0, from), middle: [from, to) */
    for (bool last = false; !last;) {
        double t = to > from ? h[to - 1].amount : capacity;
        last = t >= capacity / 2;
        t = last ? capacity / 2 : t;
        for (; from < to && h[from].amount > capacity - t + slack; from++) {
            large += h[from].time;
            middle -= h[from].amount * h[from].time;
        }
        best = fmax(best, large + fmax(0, middle) / capacity);
        for (; !last && to > from && h[to - 1].amount == t; to--)
            middle -= h[to - 1].amount * h[to - 1].time;
    }
    return best;
}

/*
 * Devices run one op at a time: of the k * m + 1 longest ops some device gets k + 1, at least the k + 1
 * shortest of them. k = 0 is the longest op. h is sorted by falling amount 1, then time. O(n).
 */
static double device_hold(const hold *h, int64_t n, int32_t devices)
{
    double best = 0, area = 0;
    assert(devices > 0);
    for (int64_t k = 0; k < n; k++)
        area += h[k].time;
    best = area / devices;
    for (int64_t k = 0; k * devices < n; k++) {
        double sum = 0;
        for (int64_t j = 0; j <= k; j++)
            sum += h[k * devices - j].time;
        best = fmax(best, sum);
        if (k >= 64)
            break; /* the sums come close to the area long before */
    }
    return best;
}

/* Sums of reals may round up past the true bound: give that back, and round integer problems up. */
static double settle(double ii, bool whole)
{
    return whole ? ceil(ii - 1e-9 * fmax(1, ii)) : ii * (1 - 1e-11);
}

/* What the ops that take time hold of resource r, the largest amounts first; returns how many do. */
static int64_t collect_holds(const sked_graph *g, int32_t r, hold *h)
{
    int64_t n = 0;
    for (int64_t k = g->user_ptr[r]; k < g->user_ptr[r + 1]; k++)
        if (g->duration[g->user_op[k]] > 0)
            h[n++] = (hold){g->user_amount[k], g->duration[g->user_op[k]]};
    qsort(h, (size_t)n, sizeof *h, by_amount_descending);
    return n;
}

static void keep_larger(double ii, int32_t resource, sked_i_min_ii *out)
{
    if (ii > out->resource) {
        out->resource = ii;
        out->deciding_resource = resource;
    }
}

static sked_status solve_resources(const sked_problem *p, bool whole, sked_i_min_ii *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    hold *h;
    SKED_NEW(h, g->n_ops);
    for (int32_t r = 0; r < g->n_resources; r++) {
        const double capacity = sked_i_capacity(p, r), slack = g->integral ? 0 : 1e-9 * fmax(1, capacity);
        const int64_t n = isinf(capacity) || capacity <= 0 ? 0 : collect_holds(g, r, h);
        if (n == 0)
            continue;
        const double ii = fmax(longest_hold(h, n, capacity, slack), area_hold(h, n, capacity, slack));
        keep_larger(settle(ii, whole), r, out);
    }
    if (p->devices > 0) {
        for (int32_t i = 0; i < g->n_ops; i++)
            h[i] = (hold){1, g->duration[i]};
        qsort(h, (size_t)g->n_ops, sizeof *h, by_amount_descending);
        keep_larger(settle(device_hold(h, g->n_ops, p->devices), whole), -1, out);
    }
    free(h);
cleanup:
    return st;
}

sked_status sked_i_problem_min_ii(const sked_problem *p, sked_i_min_ii *out, sked_error *err)
{
    sked_i_min_ii least = {.deciding_resource = -1};
    const bool whole = sked_i_problem_integral(p);
    sked_status st = solve_recurrences(p, whole, &least, err);
    if (st == SKED_OK)
        st = solve_resources(p, whole, &least, err);
    if (st == SKED_OK)
        *out = least;
    return st;
}
