/* A clock period as difference constraints, found op by op along the chains that begin there. */
#include "problem/chaining.h"

#include "base/arena.h"
#include "base/heap.h"

#include <assert.h>

static const int64_t most_pairs = (int64_t)1 << 22; /* some 100 bytes each in a graph and its copies */
static const double most_work = 2e9;                /* looks at edges */
static const double most_delay = 1e100;             /* of all ops: sums stay numbers */

/* ------------------------------------------------------------------ can there be a clock */

static sked_status check_op(const sked_problem *p, int32_t i, double *longest, double *sum, sked_error *err)
{
    const sked_graph *g = p->graph;
    const double in = sked_i_delay_in(g, i), out = sked_i_delay_out(g, i);
    char name[80];
    if (sked_i_is_combinational(g, i) && in != out)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "op '%s' has duration 0 and so no register: it has one delay, not %g and %g",
                           sked_i_op_label(g, i, name, sizeof name), in, out);
    *longest = fmax(*longest, fmax(in, out));
    *sum += in + out;
    return SKED_OK;
}

sked_status sked_i_clock_check(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    char name[80];
    double longest = 0, sum = p->clock;
    sked_status st = SKED_OK;
    if (!(p->clock > 0))
        return SKED_OK;
    if (p->devices > 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a clock goes without devices: units of a circuit are resource pools");
    if (!sked_i_problem_integral(p))
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "with a clock durations, lags, fixed starts and the interval are whole numbers of cycles");
    for (int32_t i = 0; st == SKED_OK && i < g->n_ops; i++)
        st = check_op(p, i, &longest, &sum, err);
    if (st == SKED_OK && !(sum < most_delay))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "delays and the clock period add up to more than %g",
                           most_delay);
    for (int32_t i = 0; st == SKED_OK && i < g->n_ops; i++)
        if (fmax(sked_i_delay_in(g, i), sked_i_delay_out(g, i)) > sked_i_clock_room(p->clock))
            st = sked_i_fail(
                err, SKED_ERR_INFEASIBLE,
                "op '%s' has a delay of %g, the clock period is %g; a period of %g would admit all ops",
                sked_i_op_label(g, i, name, sizeof name), fmax(sked_i_delay_in(g, i), sked_i_delay_out(g, i)),
                p->clock, longest);
    return st;
}

/* ------------------------------------------------------------------ phases of a schedule */

static bool is_chained(const sked_graph *g, const sked_schedule *s, int64_t e)
{
    if (!sked_i_passes(g, e) || (g->edge_distance[e] > 0 && s->ii == 0))
        return false;
    return s->start[g->edge_to[e]] + g->edge_distance[e] * s->ii ==
           s->start[g->edge_from[e]] + g->edge_lag[e];
}

static double time_out(const sked_graph *g, int32_t op, double phase)
{
    return sked_i_is_combinational(g, op) ? phase + sked_i_delay_in(g, op) : sked_i_delay_out(g, op);
}

sked_status sked_i_clock_phases(const sked_problem *p, const sked_schedule *s, double *phase, sked_error *err)
{
    const sked_graph *g = p->graph;
    bool later = true;
    for (int32_t i = 0; i < g->n_ops; i++)
        phase[i] = 0;
    for (int32_t round = 0; later; round++) {
        if (round > g->n_ops + 1)
            return sked_i_fail(err, SKED_ERR_INVALID, "a chain of combinational ops closes on itself");
        later = false;
        for (int32_t k = 0; k < g->n_ops; k++) {
            const int32_t i = g->topo[k];
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
                if (is_chained(g, s, e) && time_out(g, i, phase[i]) > phase[g->edge_to[e]]) {
                    phase[g->edge_to[e]] = time_out(g, i, phase[i]);
                    later = true;
                }
        }
        later = later && g->n_carried > 0;
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ the search for pairs */

/* A chain from the source at hand to an op: the one of the largest lag, of these the one of the longest
 * delay. */
typedef struct label {
    int32_t next;     /* another label of the op; -1: none */
    int32_t distance; /* of the chain */
    bool broken;      /* too long */
    double lag;       /* of the chain */
    double arrival;   /* when in its cycle the op begins */
} label;

typedef struct finder {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    const sked_i_limit *limit;
    sked_i_clock_pairs *out;
    bool pipelined;
    double ii;           /* the interval, or the least one where it is to be found */
    double room, margin; /* of sums of delays, and their rounding */
    double *early,
        *late;        /* [n] windows that follow from edges, horizon and pairs; late NULL: there are none */
    int64_t *way;     /* [n] the edge that decides when an op begins; -1: none does */
    double *chain;    /* [n] delay before it, after it */
    double least_end; /* no schedule ends sooner */
    int32_t *place;   /* [n] in the topological order */
    int32_t source;
    int32_t *first; /* [n] a label of an op */
    int32_t *seen;  /* [n] source for which `first` holds */
    int64_t n_labels, label_cap, heap_cap;
    label *labels;
    sked_i_word_heap heap; /* by distance, then by place */
    double work, looked;
} finder;

/* What the delay of a chain loses without its first op. */
static double share_of(const sked_graph *g, int32_t op)
{
    return sked_i_is_combinational(g, op) ? sked_i_delay_in(g, op) : sked_i_delay_out(g, op);
}

static sked_status add_pair(finder *x, int32_t from, int32_t to, double lag, int32_t distance,
                            sked_error *err)
{
    sked_i_clock_pairs *out = x->out;
    if (out->count >= most_pairs)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "the clock keeps more than %lld pairs of ops a cycle apart: too many to list; a horizon "
            "near the least one, %g, leaves fewer, and so does a shorter clock",
            (long long)most_pairs, x->least_end);
    if (!SKED_GROW(out->at, out->capacity, out->count + 1))
        return sked_i_no_memory(err);
    out->at[out->count++] = (sked_i_clock_pair){from, to, distance, lag + 1};
    return SKED_OK;
}

/* ------------------------------------------------------------------ windows */

static double fixed_start(const sked_problem *p, int32_t op)
{
    return p->fix_start != NULL ? p->fix_start[op] : NAN;
}

/* The earliest start by edges alone, and the edge of the longest chain that ends there. */
static double earliest(finder *x, int32_t i)
{
    const sked_graph *g = x->g;
    const double fixed = fixed_start(x->p, i);
    double start = fixed > 0 ? fixed : 0;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0)
            start = fmax(start, x->early[g->pred_op[k]] + g->edge_lag[g->pred_edge[k]]);
    x->way[i] = -1;
    x->chain[i] = 0;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        const int32_t from = g->pred_op[k];
        if (g->edge_distance[e] > 0 || !sked_i_passes(g, e) || x->early[from] + g->edge_lag[e] < start)
            continue;
        const double out = time_out(g, from, x->chain[from]);
        if (x->way[i] < 0 || out > x->chain[i]) {
            x->way[i] = e;
            x->chain[i] = out;
        }
    }
    return start;
}

/* The shortest end of the chain to op i that is too long. */
static sked_status prove_early(finder *x, int32_t i, sked_error *err)
{
    const sked_graph *g = x->g;
    double delay = sked_i_delay_in(g, i), lag = 0;
    for (int64_t e = x->way[i];;) {
        const int32_t from = g->edge_from[e];
        lag += g->edge_lag[e];
        delay += share_of(g, from);
        e = sked_i_is_combinational(g, from) ? x->way[from] : -1;
        if (delay > x->room || e < 0)
            return add_pair(x, from, i, lag, 0, err);
    }
}

static sked_status find_early(finder *x, bool proven, sked_error *err)
{
    const sked_graph *g = x->g;
    sked_status st = SKED_OK;
    for (int32_t k = 0; st == SKED_OK && k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        x->early[i] = earliest(x, i);
        if (x->chain[i] + sked_i_delay_in(g, i) > x->room) {
            st = proven ? prove_early(x, i, err) : SKED_OK;
            x->early[i]++;
            x->way[i] = -1;
            x->chain[i] = 0;
        }
        x->least_end = fmax(x->least_end, x->early[i] + g->duration[i]);
    }
    return st;
}

/* The same mirrored: chain is the delay after the outputs of an op, up to a register. */
static double latest(finder *x, int32_t i)
{
    const sked_graph *g = x->g;
    const double fixed = fixed_start(x->p, i);
    double start = x->p->horizon - g->duration[i];
    start = fixed < start ? fixed : start;
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
        if (g->edge_distance[e] == 0)
            start = fmin(start, x->late[g->edge_to[e]] - g->edge_lag[e]);
    x->way[i] = -1;
    x->chain[i] = 0;
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (g->edge_distance[e] > 0 || !sked_i_passes(g, e) || x->late[to] - g->edge_lag[e] > start)
            continue;
        const double after = sked_i_delay_in(g, to) + (sked_i_is_combinational(g, to) ? x->chain[to] : 0);
        if (x->way[i] < 0 || after > x->chain[i]) {
            x->way[i] = e;
            x->chain[i] = after;
        }
    }
    return start;
}

static sked_status prove_late(finder *x, int32_t i, sked_error *err)
{
    const sked_graph *g = x->g;
    double delay = share_of(g, i), lag = 0;
    for (int64_t e = x->way[i];;) {
        const int32_t to = g->edge_to[e];
        lag += g->edge_lag[e];
        delay += sked_i_delay_in(g, to);
        e = sked_i_is_combinational(g, to) ? x->way[to] : -1;
        if (delay > x->room || e < 0)
            return add_pair(x, i, to, lag, 0, err);
    }
}

static sked_status find_late(finder *x, sked_error *err)
{
    const sked_graph *g = x->g;
    sked_status st = SKED_OK;
    for (int32_t k = g->n_ops - 1; st == SKED_OK && k >= 0; k--) {
        const int32_t i = g->topo[k];
        x->late[i] = latest(x, i);
        if (share_of(g, i) + x->chain[i] > x->room) {
            st = prove_late(x, i, err);
            x->late[i]--;
            x->way[i] = -1;
            x->chain[i] = 0;
        }
    }
    return st;
}

/*
 * Starts that no schedule undercuts or exceeds. With a horizon the pairs that prove them are listed, and
 * others that follow from them need not be.
 */
static sked_status find_windows(finder *x, sked_error *err)
{
    const int32_t n = x->g->n_ops;
    const bool closed = x->p->horizon < INFINITY;
    sked_status st = SKED_OK;
    SKED_OWN(&x->arena, x->early, n);
    SKED_OWN(&x->arena, x->way, n);
    SKED_OWN(&x->arena, x->chain, n);
    SKED_TRY(find_early(x, closed, err));
    if (closed) {
        SKED_OWN(&x->arena, x->late, n);
        SKED_TRY(find_late(x, err));
    }
cleanup:
    return st;
}

/* By how much the windows keep `to` behind the end of a chain from the source at least; not known: 0. */
static double slack_at(const finder *x, int32_t to, const label *l)
{
    return x->late != NULL ? x->early[to] + l->distance * x->ii - x->late[x->source] - l->lag : -INFINITY;
}

/* ------------------------------------------------------------------ labels */

static label *label_at(finder *x, int32_t op, int32_t distance)
{
    for (int32_t k = x->seen[op] == x->source ? x->first[op] : -1; k >= 0; k = x->labels[k].next)
        if (x->labels[k].distance == distance)
            return &x->labels[k];
    return NULL;
}

static sked_status add_label(finder *x, int32_t op, label l, sked_error *err)
{
    if (!SKED_GROW(x->labels, x->label_cap, x->n_labels + 1) ||
        !SKED_GROW(x->heap.at, x->heap_cap, x->heap.count + 1))
        return sked_i_no_memory(err);
    l.next = x->seen[op] == x->source ? x->first[op] : -1;
    x->seen[op] = x->source;
    x->first[op] = (int32_t)x->n_labels;
    x->labels[x->n_labels++] = l;
    sked_i_word_heap_push(&x->heap, (uint64_t)l.distance << 32 | (uint32_t)x->place[op]);
    return SKED_OK;
}

/* Over all edges that could be chained: what comes out of op arrives at their ends. */
static sked_status reach(finder *x, int32_t op, const label *from, double out, sked_error *err)
{
    const sked_graph *g = x->g;
    const label l = *from;
    sked_status st = SKED_OK;
    x->work += (double)(g->succ_ptr[op + 1] - g->succ_ptr[op]);
    for (int64_t e = g->succ_ptr[op]; st == SKED_OK && e < g->succ_ptr[op + 1]; e++) {
        const double distance = (double)l.distance + g->edge_distance[e], lag = l.lag + g->edge_lag[e];
        if (!sked_i_passes(g, e) || (g->edge_distance[e] > 0 && !x->pipelined))
            continue;
        if (distance > INT32_MAX)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "distances along a chain add up to more than %d",
                               INT32_MAX);
        label *const known = label_at(x, g->edge_to[e], (int32_t)distance);
        if (known == NULL)
            st = add_label(x, g->edge_to[e],
                           (label){.distance = (int32_t)distance, .lag = lag, .arrival = out}, err);
        else if (lag > known->lag || (lag == known->lag && out > known->arrival)) {
            known->lag = lag;
            known->arrival = out;
        }
    }
    return st;
}

/* Does another chain to op prove that this one cannot be tight, or ask for all that it asks for? */
static bool is_dominated(const finder *x, int32_t op, const label *l)
{
    const double weight = l->lag - l->distance * x->ii;
    for (int32_t k = x->first[op]; k >= 0; k = x->labels[k].next) {
        const label *o = &x->labels[k];
        const double other = o->lag - o->distance * x->ii;
        if (o->distance < l->distance && (other > weight || (other == weight && o->arrival >= l->arrival)))
            return true;
    }
    return false;
}

/* Is the chain to an op just before this one too long already? */
static bool breaks_before(finder *x, int32_t op, const label *l)
{
    const sked_graph *g = x->g;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        const label *const o = g->edge_distance[e] <= l->distance
                                   ? label_at(x, g->pred_op[k], l->distance - g->edge_distance[e])
                                   : NULL;
        if (o != NULL && o->broken && sked_i_passes(g, e) && o->lag + g->edge_lag[e] == l->lag)
            return true;
    }
    x->work += (double)(g->pred_ptr[op + 1] - g->pred_ptr[op]);
    return false;
}

static sked_status visit(finder *x, int32_t op, label *l, sked_error *err)
{
    const sked_graph *g = x->g;
    const double end = l->arrival + sked_i_delay_in(g, op);
    const bool loop = op == x->source && sked_i_is_combinational(g, op);
    if (is_dominated(x, op, l) || slack_at(x, op, l) > 0)
        return SKED_OK;
    if (end <= x->room && !loop)
        return sked_i_is_combinational(g, op) ? reach(x, op, l, end, err) : SKED_OK;
    l->broken = true;
    const bool needless = slack_at(x, op, l) >= 1 || breaks_before(x, op, l) ||
                          (!loop && end - share_of(g, x->source) > x->room + x->margin);
    return needless ? SKED_OK : add_pair(x, x->source, op, l->lag, l->distance, err);
}

static sked_status keep_going(finder *x, sked_error *err)
{
    if (x->work < x->looked + 1e6)
        return SKED_OK;
    x->looked = x->work;
    if (x->work > most_work)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "the chains that fit the clock are too many to follow; a horizon near the least one, "
            "%g, leaves fewer, and so does a shorter clock",
            x->least_end);
    return sked_i_limit_heard(x->limit) ? sked_i_limit_fail(err) : SKED_OK;
}

static sked_status search_from(finder *x, int32_t source, sked_error *err)
{
    sked_status st;
    x->source = source;
    x->n_labels = 0;
    x->heap.count = 0;
    SKED_TRY(add_label(x, source, (label){0}, err));
    (void)sked_i_word_heap_pop(&x->heap);
    SKED_TRY(reach(x, source, &x->labels[0], share_of(x->g, source), err));
    while (x->heap.count > 0) {
        SKED_TRY(keep_going(x, err));
        const uint64_t key = sked_i_word_heap_pop(&x->heap);
        const int32_t op = x->g->topo[(uint32_t)key];
        SKED_TRY(visit(x, op, label_at(x, op, (int32_t)(key >> 32)), err));
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ all of it */

static sked_status set_interval(finder *x, sked_error *err)
{
    sked_i_min_ii least = {0};
    sked_status st = SKED_OK;
    x->pipelined = x->p->ii != 0 || x->p->objective == SKED_OBJECTIVE_II;
    x->ii = x->p->ii;
    if (x->pipelined && !(x->p->ii > 0)) {
        st = sked_i_problem_min_ii(x->p, &least, err);
        x->ii = fmax(1, ceil(least.recurrence));
    }
    return st;
}

sked_status sked_i_clock_pairs_find(const sked_problem *p, const sked_i_limit *limit, sked_i_clock_pairs *out,
                                    sked_error *err)
{
    const int32_t n = p->graph->n_ops;
    finder x = {.p = p, .g = p->graph, .limit = limit, .out = out, .room = sked_i_clock_room(p->clock)};
    sked_status st = SKED_OK;
    *out = (sked_i_clock_pairs){0};
    x.margin = 1e-12 * p->clock;
    SKED_TRY(set_interval(&x, err));
    SKED_OWN(&x.arena, x.place, n);
    SKED_OWN(&x.arena, x.first, n);
    SKED_OWN(&x.arena, x.seen, n);
    for (int32_t k = 0; k < n; k++) {
        x.place[p->graph->topo[k]] = k;
        x.seen[k] = -1;
    }
    SKED_TRY(find_windows(&x, err));
    for (int32_t k = 0; k < n; k++)
        if (share_of(x.g, x.g->topo[k]) > 0)
            SKED_TRY(search_from(&x, x.g->topo[k], err));
cleanup:
    free(x.labels);
    free(x.heap.at);
    sked_i_arena_free(&x.arena);
    return st;
}
