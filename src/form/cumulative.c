#include "form/cumulative.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/whole.h"

#include "graph/relations.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { max_time = 1 << 29 };
static const double max_reduction = 2e6; /* row operations: some milliseconds */

/* ------------------------------------------------------------------ time scale */

typedef struct scan {
    double factor; /* times are looked at multiplied by this */
    double total;  /* no generation scheme ends later */
    bool whole;
    double divisor;
} scan;

static void see(scan *s, double v)
{
    if (sked_i_whole(v, s->factor))
        s->divisor = sked_i_gcd(s->divisor, rint(fabs(v) * s->factor));
    else
        s->whole = false;
}

static scan scan_times(const sked_problem *p, double factor)
{
    const sked_graph *g = p->graph;
    scan s = {factor, 0, true, 0};
    double latest = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        double longest = g->duration[i];
        see(&s, g->duration[i]);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            if (g->edge_distance[e] > 0)
                continue;
            see(&s, g->edge_lag[e]);
            longest = fmax(longest, fabs(g->edge_lag[e]));
        }
        s.total += longest;
        if (p->fix_start != NULL && !isnan(p->fix_start[i])) {
            see(&s, p->fix_start[i]);
            latest = fmax(latest, p->fix_start[i]);
        }
    }
    s.total += latest;
    return s;
}

/*
 * Whole times are divided by their common divisor, decimal fractions multiplied first; the core is then the
 * problem itself. All others are rounded up to a grid of powers of two.
 */
static void choose_scale(sked_i_cumulative *c)
{
    double total = 0;
    for (double factor = 1; factor <= 1e6; factor *= 10) {
        const scan s = scan_times(c->problem, factor);
        const double unit = fmax(1, s.divisor), scale = factor / unit;
        total = s.total;
        if (!s.whole)
            continue;
        if (total * scale > max_time)
            break;
        c->scale = scale;
        c->faithful = true;
        c->exact = factor == 1;
        c->unit = unit;
        return;
    }
    c->scale = total > 0 ? exp2(fmin(floor(log2(max_time) - log2(total)), 1023)) : 1;
}

/* Rounded up, so that what holds on the grid holds in real time. */
static int32_t to_core(const sked_i_cumulative *c, double t)
{
    assert(c->scale > 0);
    const double x = c->faithful ? rint(t * c->scale) : ceil(t * c->scale - 1e-6);
    return x > INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)x;
}

/* ------------------------------------------------------------------ edges */

static sked_status new_core(sked_i_core *core, int32_t n, int64_t edges, sked_error *err)
{
    sked_status st = SKED_OK;
    core->n = n;
    SKED_OWN(&core->arena, core->duration, n);
    SKED_OWN0(&core->arena, core->pred_ptr, (int64_t)n + 1);
    SKED_OWN0(&core->arena, core->succ_ptr, (int64_t)n + 2);
    SKED_OWN(&core->arena, core->pred, edges);
    SKED_OWN(&core->arena, core->succ, edges);
    SKED_OWN0(&core->arena, core->head, n);
    SKED_OWN0(&core->arena, core->tail, n);
    SKED_OWN0(&core->arena, core->kind, n);
cleanup:
    return st; /* the owner frees */
}

/* Fills the rows of successors, all zero, from those of predecessors. */
static void transpose(sked_i_core *core)
{
    int32_t *const ptr = core->succ_ptr;
    for (int32_t k = 0; k < core->pred_ptr[core->n]; k++)
        ptr[core->pred[k].op + 2]++;
    for (int32_t i = 0; i < core->n; i++)
        ptr[i + 2] += ptr[i + 1];
    for (int32_t i = 0; i < core->n; i++)
        for (int32_t k = core->pred_ptr[i]; k < core->pred_ptr[i + 1]; k++)
            core->succ[ptr[core->pred[k].op + 1]++] = (sked_i_core_arc){i, core->pred[k].lag};
}

/* In-edges of the forward core less the redundant ones; of parallel edges the longest lag stays. */
static void copy_edges(const sked_i_cumulative *c, const int32_t *rank, const uint8_t *redundant,
                       sked_i_core *core)
{
    const sked_graph *g = c->problem->graph;
    int32_t k = 0;
    for (int32_t i = 0; i < c->n; i++) {
        const int32_t op = c->op[i], first = k;
        core->pred_ptr[i] = first;
        for (int64_t q = g->pred_ptr[op]; q < g->pred_ptr[op + 1]; q++) {
            const int64_t e = g->pred_edge[q];
            if (g->edge_distance[e] > 0 || redundant[e])
                continue;
            const sked_i_core_arc arc = {rank[g->pred_op[q]], to_core(c, g->edge_lag[e])};
            if (k > first && core->pred[k - 1].op == arc.op) /* rows are sorted by `from` */
                core->pred[k - 1].lag = arc.lag > core->pred[k - 1].lag ? arc.lag : core->pred[k - 1].lag;
            else
                core->pred[k++] = arc;
        }
    }
    core->pred_ptr[c->n] = k;
}

/* Unmarks predecessors of i (their places in pred are marked) that a path through `via` implies. */
static void unmark_implied(const sked_i_core *core, sked_i_core_arc via, int32_t begin, int32_t *mark)
{
    for (int32_t b = core->pred_ptr[via.op]; b < core->pred_ptr[via.op + 1]; b++) {
        const int32_t m = mark[core->pred[b].op];
        if (m >= begin && core->pred[m].lag <= core->pred[b].lag + via.lag)
            mark[core->pred[b].op] = -1;
    }
}

/*
 * Drops in-edges of i that a two-step path through another predecessor of i implies: for graphs that are too
 * large for a reduction; it removes most transitive edges of dense ones. Rows with many edges stay as they
 * are.
 */
static void drop_implied(sked_i_core *core, int32_t *mark)
{
    int32_t k = 0, begin = 0;
    for (int32_t i = 0; i < core->n; i++)
        mark[i] = -1;
    for (int32_t i = 0; i < core->n; i++) {
        const int32_t end = core->pred_ptr[i + 1];
        core->pred_ptr[i] = k; /* rows before i are in their new places */
        for (int32_t a = begin; a < end; a++)
            mark[core->pred[a].op] = a;
        for (int32_t a = begin; a < end && end - begin <= 64; a++)
            unmark_implied(core, core->pred[a], begin, mark);
        for (int32_t a = begin; a < end; a++) {
            const sked_i_core_arc arc = core->pred[a];
            if (mark[arc.op] == a)
                core->pred[k++] = arc;
            mark[arc.op] = -1;
        }
        begin = end;
    }
    core->pred_ptr[core->n] = k;
}

static void measure_core(sked_i_core *core)
{
    int64_t span = 0;
    core->standard = core->orderly = true;
    core->longest = 0;
    core->work = 0;
    for (int32_t i = 0; i < core->n; i++) {
        int32_t t = 0, slowest = core->duration[i];
        for (int32_t k = core->pred_ptr[i]; k < core->pred_ptr[i + 1]; k++) {
            assert(core->pred[k].op < i); /* ops are numbered in topological order */
            const int32_t at = core->head[core->pred[k].op] + core->pred[k].lag;
            t = at > t ? at : t;
        }
        core->head[i] = t;
        core->work += core->duration[i];
        for (int32_t k = core->succ_ptr[i]; k < core->succ_ptr[i + 1]; k++) {
            const int32_t lag = core->succ[k].lag;
            core->standard = core->standard && lag == core->duration[i];
            core->orderly = core->orderly && lag >= 0;
            slowest = lag > slowest ? lag : slowest;
        }
        span += slowest;
    }
    for (int32_t i = core->n - 1; i >= 0; i--) {
        int32_t t = core->duration[i];
        for (int32_t k = core->succ_ptr[i]; k < core->succ_ptr[i + 1]; k++) {
            const int32_t at = core->tail[core->succ[k].op] + core->succ[k].lag;
            t = at > t ? at : t;
        }
        core->tail[i] = t;
        core->longest = core->head[i] + t > core->longest ? core->head[i] + t : core->longest;
    }
    core->span = span < INT32_MAX / 2 ? (int32_t)span : INT32_MAX / 2;
}

/* ------------------------------------------------------------------ demands */

typedef struct pool {
    int32_t resource; /* -1: the devices */
    uint64_t capacity;
    double factor; /* amount in the pool = demand * factor, rounded */
    int word, shift;
} pool;

/* What user k of a pool holds while it runs, and its op; 0: it takes no time. */
static double held(const sked_graph *g, int32_t r, int64_t k, int32_t *op)
{
    double amount;
    *op = sked_i_user(g, r, k, &amount);
    return g->duration[*op] > 0 ? amount : 0;
}

/*
 * Whole amounts are divided by their common divisor; others go to a 50-bit grid with half of the judge's
 * slack on the capacity. False: nothing can ever exceed the capacity.
 */
static bool make_pool(const sked_problem *p, int32_t r, double capacity, pool *out)
{
    const sked_graph *g = p->graph;
    double sum = 0, divisor = 0;
    bool whole = true;
    if (isinf(capacity))
        return false;
    for (int64_t k = 0; k < sked_i_user_count(g, r); k++) {
        int32_t op;
        const double d = held(g, r, k, &op);
        sum += d;
        whole = whole && d == floor(d) && d < 0x1p50;
        if (whole)
            divisor = sked_i_gcd(divisor, d);
    }
    if (sum <= capacity)
        return false;
    *out = (pool){.resource = r};
    if (whole) {
        out->factor = 1 / divisor;
        out->capacity = (uint64_t)fmin(floor(capacity / divisor), 0x1p50);
    } else {
        out->factor = 0x1p50 / fmax(1, capacity);
        out->capacity = (uint64_t)((capacity + 0.5e-9 * fmax(1, capacity)) * out->factor);
    }
    return true;
}

static int bits_of(uint64_t x)
{
    int bits = 1;
    while (x >>= 1)
        bits++;
    return bits;
}

/* Packs the pools into words; returns the number of words. */
static int32_t place_pools(pool *pools, int32_t count)
{
    int32_t word = 0;
    int used = 0;
    for (int32_t k = 0; k < count; k++) {
        const int bits = bits_of(pools[k].capacity) + 1;
        assert(bits <= 64);
        if (used + bits > 64) {
            word++;
            used = 0;
        }
        pools[k].word = word;
        pools[k].shift = used;
        used += bits;
    }
    return word + 1;
}

static int32_t collect_pools(const sked_problem *p, pool *pools)
{
    int32_t count = 0;
    if (p->devices > 0 && p->devices < p->graph->n_ops && make_pool(p, -1, p->devices, &pools[count]))
        count++;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        if (make_pool(p, r, sked_i_capacity(p, r), &pools[count]))
            count++;
    return count;
}

static sked_status pack_demands(sked_i_cumulative *c, sked_i_core *core, sked_error *err)
{
    static const int64_t most_words = (int64_t)1 << 25;
    const sked_graph *g = c->problem->graph;
    sked_status st = SKED_OK;
    pool *pools = NULL;
    int32_t *place = NULL; /* [n] of each op in the core */
    SKED_NEW(pools, (int64_t)g->n_resources + 1);
    SKED_NEW(place, c->n);
    for (int32_t i = 0; i < c->n; i++)
        place[c->op[i]] = i;
    const int32_t count = collect_pools(c->problem, pools);
    core->words = place_pools(pools, count);
    if (core->words > most_words / (c->n + 1))
        SKED_TRY(
            sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                        "%d ops on %d pools that bind are too many for packed demands; try --method list",
                        (int)c->n, (int)count));
    core->fields = count;
    SKED_OWN(&core->arena, core->field, count);
    SKED_OWN0(&core->arena, core->full, core->words);
    SKED_OWN0(&core->arena, core->guard, core->words);
    SKED_OWN0(&core->arena, core->demand, (int64_t)c->n * core->words);
    for (int32_t k = 0; k < count; k++) {
        const pool *q = &pools[k];
        const uint64_t guard = (uint64_t)1 << (q->shift + bits_of(q->capacity));
        core->field[k] = (sked_i_core_field){q->word, q->shift, (guard >> q->shift) - 1, q->capacity};
        core->guard[q->word] |= guard;
        core->full[q->word] |= guard | q->capacity << q->shift;
        for (int64_t at = 0; at < sked_i_user_count(g, q->resource); at++) {
            int32_t op;
            const double d = rint(held(g, q->resource, at, &op) * q->factor);
            const uint64_t amount = d > (double)q->capacity ? q->capacity : (uint64_t)d;
            core->demand[(int64_t)place[op] * core->words + q->word] |= amount << q->shift;
        }
    }
cleanup:
    free(pools);
    free(place);
    return st;
}

/* Ops of equal demand get one number: decoders remember per kind where room can first be. */
static sked_status number_kinds(sked_i_core *core, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *slot = NULL;
    const int64_t w = core->words;
    const sked_i_hash_key key = sked_i_hash_key_new();
    int64_t slots = 4;
    while (slots < 2 * (int64_t)core->n)
        slots *= 2;
    SKED_NEW(slot, slots);
    for (int64_t k = 0; k < slots; k++)
        slot[k] = -1;
    core->kinds = 0;
    for (int32_t i = 0; i < core->n; i++) {
        sked_i_hasher hash = sked_i_hash_begin(key);
        for (int64_t k = 0; k < w; k++)
            sked_i_hash_add(&hash, core->demand[i * w + k]);
        int64_t at = (int64_t)(sked_i_hash_end(&hash) & (uint64_t)(slots - 1));
        while (slot[at] >= 0 &&
               memcmp(core->demand + slot[at] * w, core->demand + i * w, (size_t)w * sizeof(uint64_t)) != 0)
            at = (at + 1) & (slots - 1);
        if (slot[at] < 0) {
            slot[at] = i;
            core->kind[i] = core->kinds++;
        } else {
            core->kind[i] = core->kind[slot[at]];
        }
    }
cleanup:
    free(slot);
    return st;
}

/* ------------------------------------------------------------------ building */

static sked_status build_mirror(sked_i_cumulative *c, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_core *f = &c->forward;
    sked_i_core *m = &c->mirror;
    const int32_t n = c->n;
    SKED_TRY(new_core(m, n, f->pred_ptr[n], err));
    m->words = f->words;
    SKED_OWN(&m->arena, m->demand, (int64_t)n * f->words);
    m->full = f->full; /* the pools are the same ones */
    m->guard = f->guard;
    m->field = f->field;
    m->fields = f->fields;
    m->kinds = f->kinds;
    int32_t k = 0;
    for (int32_t i = 0; i < n; i++) { /* predecessors here are the successors there */
        const int32_t j = n - 1 - i;
        m->duration[i] = f->duration[j];
        m->kind[i] = f->kind[j];
        memcpy(m->demand + (int64_t)i * f->words, f->demand + (int64_t)j * f->words,
               (size_t)f->words * sizeof *m->demand);
        m->pred_ptr[i] = k;
        for (int32_t q = f->succ_ptr[j]; q < f->succ_ptr[j + 1]; q++) {
            const sked_i_core_arc *arc = &f->succ[q];
            m->pred[k++] =
                (sked_i_core_arc){n - 1 - arc->op, f->duration[arc->op] + arc->lag - f->duration[j]};
        }
    }
    m->pred_ptr[n] = k;
    transpose(m);
    measure_core(m);
cleanup:
    return st;
}

static sked_status build_forward(sked_i_cumulative *c, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = c->problem->graph;
    int32_t *rank = NULL;
    uint8_t *redundant = NULL;
    int64_t count;
    SKED_NEW(rank, c->n);
    SKED_NEW0(redundant, g->n_edges);
    for (int32_t k = 0; k < c->n; k++) {
        c->op[k] = g->topo[k];
        rank[g->topo[k]] = k;
    }
    st = sked_i_graph_reduce(g, SKED_I_REDUCE_LAGS, max_reduction, redundant, &count, NULL);
    const bool reduced = st == SKED_OK;
    if (st == SKED_ERR_MEMORY)
        SKED_TRY(sked_i_no_memory(err));
    if (!reduced) /* too large */
        memset(redundant, 0, (size_t)g->n_edges);
    SKED_TRY(new_core(&c->forward, c->n, g->n_edges, err));
    for (int32_t i = 0; i < c->n; i++)
        c->forward.duration[i] = to_core(c, g->duration[c->op[i]]);
    copy_edges(c, rank, redundant, &c->forward);
    if (!reduced)
        drop_implied(&c->forward, rank);
    transpose(&c->forward);
    measure_core(&c->forward);
    SKED_TRY(pack_demands(c, &c->forward, err));
    SKED_TRY(number_kinds(&c->forward, err));
cleanup:
    free(redundant);
    free(rank);
    return st;
}

static bool has_negative_lag(const sked_graph *g)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < 0)
            return true;
    return false;
}

static sked_status take_limits(sked_i_cumulative *c, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = c->problem;
    bool any = false;
    c->horizon = INT32_MAX;
    if (p->horizon * c->scale < INT32_MAX / 2)
        c->horizon = (int32_t)floor(p->horizon * c->scale + 1e-6);
    for (int32_t i = 0; i < c->n; i++)
        any = any || (p->fix_start != NULL && !isnan(p->fix_start[i]));
    if (!any)
        return SKED_OK;
    if (!c->exact && has_negative_lag(p->graph)) /* on the grid a fixed start may be off by a step */
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "improving schedules with negative lags and fixed starts needs whole times");
    SKED_OWN(&c->forward.arena, c->fixed, c->n);
    for (int32_t i = 0; i < c->n; i++) {
        const double t = p->fix_start[c->op[i]];
        c->fixed[i] = isnan(t) ? -1 : to_core(c, t);
    }
cleanup:
    return st;
}

sked_status sked_i_cumulative_create(const sked_problem *p, sked_i_cumulative **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_cumulative *c = NULL;
    SKED_NEW0(c, 1);
    c->problem = p;
    c->n = p->graph->n_ops;
    if (p->graph->n_edges > INT32_MAX / 2)
        SKED_TRY(
            sked_i_fail(err, SKED_ERR_UNSUPPORTED, "method 'search' takes at most %d edges", INT32_MAX / 2));
    choose_scale(c);
    SKED_OWN(&c->forward.arena, c->op, c->n);
    SKED_TRY(build_forward(c, err));
    SKED_TRY(build_mirror(c, err));
    SKED_TRY(take_limits(c, err));
    *out = c;
    return SKED_OK;
cleanup:
    sked_i_cumulative_destroy(c);
    return st;
}

void sked_i_cumulative_destroy(sked_i_cumulative *c)
{
    if (c == NULL)
        return;
    sked_i_arena_free(&c->forward.arena);
    sked_i_arena_free(&c->mirror.arena);
    free(c);
}

/* ------------------------------------------------------------------ back to real time */

/*
 * A moment is a word: its time, then the op by its core number; ~op marks its finish. In order of time;
 * finishes before starts, then by number: a topological order for ops without duration.
 */
static inline uint64_t moment_at(int32_t time, int32_t op)
{
    return (uint64_t)((int64_t)time - INT32_MIN) << 32 | (uint32_t)op;
}

static inline int32_t op_of(uint64_t moment)
{
    return (int32_t)(uint32_t)moment;
}

/* Those of all ops, in order. moments: room for 4 * n. Returns how many. */
static int64_t sort_moments(const sked_i_cumulative *c, const int32_t *start, uint64_t *moments)
{
    int64_t count = 0;
    for (int32_t i = 0; i < c->n; i++)
        if (c->forward.duration[i] > 0)
            moments[count++] = moment_at(start[i] + c->forward.duration[i], ~i);
    for (int32_t i = 0; i < c->n; i++)
        moments[count++] = moment_at(start[i], i);
    sked_i_sort_words(moments, moments + count, count, 32);
    return count;
}

/*
 * Real starts that keep the order of all starts and finishes on the grid: an op starts when everything
 * that had finished by then has finished. Durations were rounded up, so nothing moves later, and whatever
 * runs together ran together on the grid.
 */
static void real_times(const sked_i_cumulative *c, const uint64_t *moments, int64_t count, double *start)
{
    const sked_graph *g = c->problem->graph;
    double now = 0;
    for (int64_t k = 0; k < count; k++) {
        const int32_t i = op_of(moments[k]);
        if (i < 0) {
            const int32_t op = c->op[~i];
            now = fmax(now, start[op] + g->duration[op]);
            continue;
        }
        const int32_t op = c->op[i];
        for (int64_t q = g->pred_ptr[op]; q < g->pred_ptr[op + 1]; q++) {
            const int64_t e = g->pred_edge[q];
            if (g->edge_distance[e] == 0 && g->edge_lag[e] >= 0)
                now = fmax(now, start[g->pred_op[q]] + g->edge_lag[e]);
        }
        if (c->fixed != NULL && c->fixed[i] >= 0)
            now = fmax(now, c->problem->fix_start[op]);
        start[op] = now;
    }
}

/* An op may start before one that it must not follow too far: real_times can pull the two apart. */
static bool keeps_negative_lags(const sked_graph *g, const double *start)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < 0 &&
            start[g->edge_to[e]] < start[g->edge_from[e]] + g->edge_lag[e])
            return false;
    return true;
}

/* Starts as on the grid: valid too, as durations and lags were rounded up, but later. */
static void grid_times(const sked_i_cumulative *c, const int32_t *grid, double *start)
{
    for (int32_t i = 0; i < c->n; i++)
        start[c->op[i]] = c->exact ? grid[i] * c->unit : grid[i] / c->scale;
}

sked_status sked_i_cumulative_schedule(const sked_i_cumulative *c, const int32_t *start, sked_schedule **out,
                                       sked_error *err)
{
    sked_status st = SKED_OK;
    uint64_t *moments = NULL;
    sked_schedule *s = NULL;
    SKED_NEW(moments, 4 * (int64_t)c->n);
    SKED_TRY(sked_schedule_create(c->n, c->problem->devices, &s, err));
    grid_times(c, start, s->start);
    if (!c->exact)
        real_times(c, moments, sort_moments(c, start, moments), s->start);
    if (!c->exact && !keeps_negative_lags(c->problem->graph, s->start))
        grid_times(c, start, s->start);
    if (s->devices > 0)
        SKED_TRY(sked_i_schedule_assign(c->n, c->problem->graph->duration, c->op, s->devices, s->start,
                                        s->device, err));
    *out = s;
    s = NULL;
cleanup:
    sked_schedule_destroy(s);
    free(moments);
    return st;
}

void sked_i_cumulative_keys(const sked_i_cumulative *c, const sked_schedule *s, int32_t *key)
{
    for (int32_t i = 0; i < c->n; i++)
        key[i] = to_core(c, s->start[c->op[i]]);
}
