#include "form/loop.h"

#include <assert.h>
#include <string.h>

static const double largest_sum = 0x1p50; /* of all times: starts and their differences stay exact */

/* ------------------------------------------------------------------ creating */

static sked_status refuse_real(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    char name[80];
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->duration[i] != floor(g->duration[i]))
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                               "modulo scheduling needs whole times, but op '%s' takes %g: scale all times",
                               sked_i_op_label(g, i, name, sizeof name), g->duration[i]);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_lag[e] != floor(g->edge_lag[e]))
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                               "modulo scheduling needs whole times, but an edge from op '%s' has lag %g: "
                               "scale all times",
                               sked_i_op_label(g, g->edge_from[e], name, sizeof name), g->edge_lag[e]);
    if (p->ii > 0 && p->ii != floor(p->ii))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "modulo scheduling needs a whole II, not %g", p->ii);
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "modulo scheduling needs whole times: a transfer or a fixed start is not, or is above "
                       "2^53");
}

static sked_status check_sizes(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    double sum = p->ii > 0 ? p->ii : 0;
    const bool transfers = sked_i_has_transfers(p);
    for (int32_t i = 0; i < g->n_ops; i++)
        sum += g->duration[i] + (p->fix_start && !isnan(p->fix_start[i]) ? p->fix_start[i] : 0);
    for (int64_t e = 0; e < g->n_edges; e++)
        sum += fabs(g->edge_lag[e]) + (transfers ? sked_i_transfer(p, e) : 0);
    if (!(sum < largest_sum))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "modulo scheduling takes times that sum to less than 2^50, these sum to %g", sum);
    if (g->demand_ptr[g->n_ops] + g->n_ops >= INT32_MAX)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "modulo scheduling takes fewer than 2^31 demands");
    return SKED_OK;
}

static sked_status copy_times(sked_i_loop *loop, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = loop->p;
    const sked_graph *g = loop->g;
    const int64_t horizon = p->horizon < largest_sum ? (int64_t)floor(p->horizon) : SKED_I_FAR;
    SKED_OWN(&loop->arena, loop->lag, g->n_edges);
    SKED_OWN(&loop->arena, loop->duration, loop->n);
    SKED_OWN(&loop->arena, loop->release, loop->n);
    SKED_OWN(&loop->arena, loop->due, loop->n);
    if (sked_i_has_transfers(p))
        SKED_OWN(&loop->arena, loop->transfer, g->n_edges);
    for (int64_t e = 0; e < g->n_edges; e++) {
        loop->lag[e] = (int64_t)g->edge_lag[e];
        if (loop->transfer != NULL)
            loop->transfer[e] = (int64_t)sked_i_transfer(p, e);
    }
    for (int32_t i = 0; i < loop->n; i++) {
        const bool fixed = p->fix_start != NULL && !isnan(p->fix_start[i]);
        loop->duration[i] = (int64_t)g->duration[i];
        loop->release[i] = fixed ? (int64_t)p->fix_start[i] : 0;
        loop->due[i] = horizon == SKED_I_FAR ? SKED_I_FAR : horizon - loop->duration[i];
        if (fixed && loop->release[i] < loop->due[i])
            loop->due[i] = loop->release[i];
    }
cleanup:
    return st;
}

/*
 * Limited resources with their amounts in units: whole amounts as they are, real ones as shares of the
 * capacity in 2^-50, with room for the rounding (far less than the judge allows).
 */
static sked_status copy_uses(sked_i_loop *loop, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = loop->g;
    const double full = 0x1p50, rounding = fmin(g->n_ops / 2.0 + 1, 1e6);
    int32_t *pool = NULL;
    int64_t uses = 0;
    SKED_NEW(pool, g->n_resources);
    SKED_OWN(&loop->arena, loop->room, g->n_resources);
    SKED_OWN(&loop->arena, loop->use_ptr, (int64_t)loop->n + 1);
    SKED_OWN(&loop->arena, loop->use, g->demand_ptr[loop->n]);
    for (int32_t r = 0; r < g->n_resources; r++) {
        const double capacity = sked_i_capacity(loop->p, r);
        pool[r] = isinf(capacity) ? -1 : loop->n_resources++;
        if (pool[r] >= 0)
            loop->room[pool[r]] =
                g->integral ? (int64_t)fmin(floor(capacity), 0x1p53) : (int64_t)(full + rounding);
    }
    for (int32_t i = 0; i < loop->n; i++) {
        loop->use_ptr[i] = uses;
        for (int64_t k = g->demand_ptr[i]; loop->duration[i] > 0 && k < g->demand_ptr[i + 1]; k++) {
            const int32_t r = g->demand_resource[k];
            const double share = g->demand_amount[k] / sked_i_capacity(loop->p, r) * full;
            const int64_t amount = g->integral ? (int64_t)g->demand_amount[k] : (int64_t)llround(share);
            if (pool[r] >= 0 && amount > 0)
                loop->use[uses++] = (sked_i_loop_use){pool[r], amount};
        }
    }
    assert(uses <= g->demand_ptr[loop->n]);
    loop->use_ptr[loop->n] = uses;
cleanup:
    free(pool);
    return st;
}

int64_t sked_i_loop_plain_ii(const sked_i_loop *loop, const int64_t *start, const int32_t *device)
{
    const sked_graph *g = loop->g;
    int64_t ii = loop->min_ii;
    for (int32_t i = 0; i < loop->n; i++)
        if (start[i] + loop->duration[i] > ii)
            ii = start[i] + loop->duration[i];
    for (int64_t e = 0; loop->pipelined && e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        if (g->edge_distance[e] == 0)
            continue;
        const bool crosses = device != NULL && loop->transfer != NULL && device[from] != device[to];
        const int64_t late = start[from] + loop->lag[e] + (crosses ? loop->transfer[e] : 0) - start[to];
        const int64_t need = late > 0 ? (late - 1) / g->edge_distance[e] + 1 : 0;
        ii = need > ii ? need : ii;
    }
    return ii;
}

/*
 * An interval that works where any does, and that holds the shortest schedule without folding. From its start
 * an op of a schedule that is as early as it can be waits for an op before it to end, or for its lag, and so
 * on back to 0 or to a fixed start: each op makes others wait once. Carried edges come on top of that length.
 */
static int64_t roomy_ii(const sked_i_loop *loop)
{
    const sked_graph *g = loop->g;
    int64_t fixed = 0, length = 0, carried = 0;
    for (int32_t i = 0; i < loop->n; i++) {
        int64_t wait = loop->duration[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int64_t gap = loop->lag[e] + (loop->transfer != NULL ? loop->transfer[e] : 0);
            int64_t *const most = g->edge_distance[e] > 0 ? &carried : &wait;
            *most = gap > *most ? gap : *most;
        }
        fixed = loop->release[i] > fixed ? loop->release[i] : fixed;
        length += wait;
    }
    length += fixed;
    if (loop->p->horizon < (double)length)
        length = (int64_t)loop->p->horizon;
    length += loop->pipelined ? carried : 0;
    return length > loop->min_ii ? length : loop->min_ii;
}

/* Does the serial schedule keep the horizon and the fixed decisions? */
static bool serial_keeps(const sked_i_loop *loop)
{
    for (int32_t i = 0; i < loop->n; i++)
        if (loop->serial[i] < loop->release[i] || loop->serial[i] > loop->due[i] ||
            (loop->p->fix_device != NULL && loop->p->fix_device[i] > 0))
            return false;
    return true;
}

/* One op after the other; its length is an interval that always works where each op fits alone. */
static sked_status make_serial(sked_i_loop *loop, sked_error *err)
{
    const sked_graph *g = loop->g;
    sked_status st = SKED_OK;
    int64_t time = 0;
    SKED_OWN(&loop->arena, loop->serial, loop->n);
    for (int32_t k = 0; k < loop->n; k++) {
        const int32_t i = g->topo[k];
        int64_t at = time > loop->release[i] ? time : loop->release[i];
        for (int64_t j = g->pred_ptr[i]; j < g->pred_ptr[i + 1]; j++) {
            const int64_t e = g->pred_edge[j];
            if (g->edge_distance[e] == 0 && loop->serial[g->pred_op[j]] + loop->lag[e] > at)
                at = loop->serial[g->pred_op[j]] + loop->lag[e];
        }
        loop->serial[i] = at;
        time = at + loop->duration[i];
    }
    loop->max_ii = serial_keeps(loop) ? sked_i_loop_plain_ii(loop, loop->serial, NULL) : roomy_ii(loop);
cleanup:
    return st;
}

bool sked_i_loop_serial_fits(const sked_i_loop *loop)
{
    return serial_keeps(loop) && (!(loop->p->ii > 0) || loop->p->ii >= (double)loop->max_ii);
}

static sked_status find_min_ii(sked_i_loop *loop, sked_error *err)
{
    sked_i_min_ii least = {0};
    if (!loop->pipelined)
        return SKED_OK;
    const sked_status st = sked_i_problem_min_ii(loop->p, &least, err);
    if (st == SKED_OK)
        loop->min_ii = (int64_t)fmax(1, fmax(least.recurrence, least.resource));
    return st;
}

sked_status sked_i_loop_create(const sked_problem *p, sked_i_loop **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = p->graph->n_ops;
    sked_i_loop *loop = NULL;
    SKED_NEW0(loop, 1);
    *loop = (sked_i_loop){.p = p, .g = p->graph, .n = n, .devices = p->devices, .min_ii = 1};
    loop->pipelined = p->ii != 0 || p->objective == SKED_OBJECTIVE_II;
    if (!sked_i_problem_integral(p))
        SKED_TRY(refuse_real(p, err));
    SKED_TRY(check_sizes(p, err));
    SKED_TRY(copy_times(loop, err));
    SKED_TRY(copy_uses(loop, err));
    SKED_OWN(&loop->arena, loop->component, n);
    SKED_OWN(&loop->arena, loop->component_size, n);
    loop->n_components = sked_i_components(p->graph, loop->component, loop->component_size);
    if (loop->n_components < 0)
        SKED_TRY(sked_i_no_memory(err));
    SKED_TRY(find_min_ii(loop, err));
    SKED_TRY(make_serial(loop, err));
    *out = loop;
    return SKED_OK;
cleanup:
    sked_i_loop_destroy(loop);
    return st;
}

void sked_i_loop_destroy(sked_i_loop *loop)
{
    if (loop == NULL)
        return;
    sked_i_arena_free(&loop->arena);
    free(loop);
}

/* ------------------------------------------------------------------ windows */

sked_status sked_i_frame_create(const sked_i_loop *loop, sked_i_frame **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_frame *f = NULL;
    SKED_NEW0(f, 1);
    SKED_OWN(&f->arena, f->weight, loop->g->n_edges);
    SKED_OWN(&f->arena, f->lo, loop->n);
    SKED_OWN(&f->arena, f->hi, loop->n);
    SKED_OWN(&f->arena, f->tail, loop->n);
    *out = f;
    return SKED_OK;
cleanup:
    sked_i_frame_destroy(f);
    return st;
}

void sked_i_frame_destroy(sked_i_frame *f)
{
    if (f == NULL)
        return;
    sked_i_arena_free(&f->arena);
    free(f);
}

/* Edges that cannot bind (not pipelined, or a distance past all times) get a weight of -FAR. */
static void set_weights(const sked_i_loop *loop, sked_i_frame *f)
{
    const sked_graph *g = loop->g;
    assert(f->ii > 0);
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int64_t d = g->edge_distance[e];
        const bool far = d > 0 && (!loop->pipelined || d > ((int64_t)1 << 56) / f->ii);
        f->weight[e] = far ? -SKED_I_FAR : loop->lag[e] - d * f->ii;
    }
}

/* Longest paths to every op from the releases. Passes over the topological order until nothing moves. */
static void set_earliest(const sked_i_loop *loop, sked_i_frame *f)
{
    const sked_graph *g = loop->g;
    memcpy(f->lo, loop->release, (size_t)loop->n * sizeof *f->lo);
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = 0; k < loop->n; k++) {
            const int32_t i = g->topo[k];
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
                const int64_t t = f->lo[i] + f->weight[e];
                if (t <= f->lo[g->edge_to[e]])
                    continue;
                f->lo[g->edge_to[e]] = t;
                moved = moved || g->edge_distance[e] > 0;
            }
        }
    }
}

/* Raises x[from] to x[to] + weight along all edges until nothing moves: longest paths against the edges. */
static void pull_back(const sked_i_loop *loop, const sked_i_frame *f, int64_t *x)
{
    const sked_graph *g = loop->g;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = loop->n; k-- > 0;) {
            const int32_t i = g->topo[k];
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
                const int64_t t = x[g->edge_to[e]] + f->weight[e];
                if (t <= x[i])
                    continue;
                x[i] = t;
                moved = true;
            }
        }
        moved = moved && g->n_carried > 0;
    }
}

bool sked_i_frame_limit(const sked_i_loop *loop, sked_i_frame *f, int64_t length)
{
    bool fits = true;
    for (int32_t i = 0; i < loop->n; i++) { /* latest starts are longest paths of the other sign */
        const int64_t latest = length < SKED_I_FAR ? length - loop->duration[i] : SKED_I_FAR;
        f->hi[i] = latest < loop->due[i] ? -latest : -loop->due[i];
    }
    pull_back(loop, f, f->hi);
    for (int32_t i = 0; i < loop->n; i++) {
        f->hi[i] = -f->hi[i];
        fits = fits && f->lo[i] <= f->hi[i];
    }
    return fits;
}

bool sked_i_frame_set(const sked_i_loop *loop, sked_i_frame *f, int64_t ii, int64_t length)
{
    f->ii = ii;
    if (loop->pipelined && ii < loop->min_ii)
        return false; /* a recurrence would push its ops without end */
    set_weights(loop, f);
    set_earliest(loop, f);
    memcpy(f->tail, loop->duration, (size_t)loop->n * sizeof *f->tail);
    pull_back(loop, f, f->tail);
    f->path = 0;
    for (int32_t i = 0; i < loop->n; i++)
        if (f->lo[i] + f->tail[i] > f->path)
            f->path = f->lo[i] + f->tail[i];
    return sked_i_frame_limit(loop, f, length);
}

/* ------------------------------------------------------------------ a bound on the length */

typedef struct span {
    int64_t head, rest; /* before its start, after its finish */
    double area;
} span;

static int by_rest(const void *x, const void *y)
{
    const span *a = x, *b = y;
    return (a->rest < b->rest) - (a->rest > b->rest);
}

/*
 * What overlaps in one iteration overlaps folded, too: ops of a pool that start at h or later and leave q
 * or more behind them need h + area / room + q. All pairs of h and q where they are few, else all q for the
 * least h and all h for the least q. items are sorted by falling rest.
 */
static int64_t pool_length(const span *items, int64_t n, double room, int64_t *heads)
{
    enum { all_pairs = 1000 };
    int64_t best = 0;
    assert(room > 0);
    const int64_t stride = n > all_pairs ? n / 64 : 1;
    for (int64_t k = 0; k < n; k += stride) {
        double area = 0;
        for (int64_t j = 0; j < n; j++) {
            if (items[j].head < heads[k])
                continue;
            area += items[j].area;
            const int64_t need = (int64_t)ceil(area / room - 1e-9 * fmax(1, area / room));
            if (heads[k] + need + items[j].rest > best)
                best = heads[k] + need + items[j].rest;
        }
    }
    return best;
}

static int by_value(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Items of a pool (number n_resources: the devices together). */
static int64_t collect_spans(const sked_i_loop *loop, const sked_i_frame *f, int32_t pool, span *items,
                             int64_t *heads)
{
    int64_t n = 0;
    for (int32_t i = 0; i < loop->n; i++) {
        int64_t amount = pool == loop->n_resources && loop->duration[i] > 0;
        for (int64_t u = loop->use_ptr[i]; u < loop->use_ptr[i + 1]; u++)
            amount = loop->use[u].pool == pool ? loop->use[u].amount : amount;
        if (amount == 0)
            continue;
        heads[n] = f->lo[i];
        items[n++] =
            (span){f->lo[i], f->tail[i] - loop->duration[i], (double)amount * (double)loop->duration[i]};
    }
    qsort(items, (size_t)n, sizeof *items, by_rest);
    qsort(heads, (size_t)n, sizeof *heads, by_value);
    return n;
}

sked_status sked_i_frame_length(const sked_i_loop *loop, const sked_i_frame *f, int64_t *bound,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    span *items = NULL;
    int64_t *heads = NULL, best = f->path;
    SKED_NEW(items, loop->n);
    SKED_NEW(heads, loop->n);
    for (int32_t k = 0; k < loop->n_resources + (loop->devices > 0); k++) {
        const double room = k < loop->n_resources ? (double)loop->room[k] : loop->devices;
        const int64_t n = collect_spans(loop, f, k, items, heads);
        const int64_t length = room > 0 ? pool_length(items, n, room, heads) : 0;
        best = length > best ? length : best;
    }
    *bound = best;
cleanup:
    free(items);
    free(heads);
    return st;
}
