/*
 * Moves of whole regions, for peak memory. Some hundred ops that hang together may each move a few steps, all
 * others stay. At fixed prices of the steps the best places for all of them at once are a minimum cut: op i
 * has nodes x_i(t) "started by step t", a value has nodes y_i(t) "all its readers started by step t", and
 *
 *   gain      -size_i price(t) of x_i(t), size_i price(t) of y_i(t): memory is paid for from start to end
 *   implied   x_i(t) -> x_i(t + 1);  x_j(t) -> x_i(t - gap) for an edge i -> j;  y_i(t) -> x_j(t) of a reader
 *
 * So a shared operand moves together with all its readers, which no move of one op and no gradient does where
 * each of them alone would lose. Prices are those of the smoothed peak, exp(level / tau): a move is taken
 * where that actually falls, else half of it, a quarter, ... (any share of a move keeps the edges).
 */
#include "engine/gaus/best_closure.h"
#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>
#include <string.h>

enum {
    fewest = 40,    /* ops of a region */
    most = 400,     /* the same */
    farthest = 8,   /* steps an op moves */
    reach = 64,     /* steps from the first op of a region */
    hub = 16,       /* readers from which on only some of them join */
    effort = 20000, /* edges that a region may look at */
    ops_a_move = 100
};

/* A value that the region makes or reads. */
typedef struct value {
    int32_t op, fixed; /* fixed: its life does not end before this step, whatever the region does */
    int64_t first;     /* its readers are first to that of the next value - 1 */
} value;

typedef struct search {
    sked_i_arena arena;
    const sked_i_relaxation *m;
    sked_i_rng *rng;
    int32_t *at;            /* [n] the schedule */
    int32_t *rank;          /* [n] place in m->order */
    int32_t *member, *seen; /* [n] number of the region that the op, its value is in */
    int32_t *place;         /* [n] number in the region */
    double *level, *mass;   /* [cells + 1] of the profile; exp((level - top) / tau) */
    double *change, *fresh; /* [cells + 1] what a move changes, 0 between moves; masses after it */
    double top, tau;
    /* the region */
    int32_t number, count;
    int32_t from, to; /* steps between which its ops may stand: the profile changes nowhere else */
    int32_t op[most], low[most], high[most], node[most]; /* node: of x at step low */
    int32_t old[most], wanted[most];
    int64_t values, value_room;
    value *value; /* [values + 1] */
    int64_t readers, reader_room;
    int32_t *reader; /* numbers in the region */
    sked_i_gaus_closure closure;
} search;

/* ------------------------------------------------------------------ the schedule and its prices */

static void fill_profile(search *s)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    memset(s->level, 0, ((size_t)m->cells + 1) * sizeof *s->level);
    for (int32_t i = 0; i < m->n; i++) {
        int32_t end = s->at[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (sked_i_relaxation_reads(m, e) && s->at[g->edge_to[e]] > end)
                end = s->at[g->edge_to[e]];
        s->level[s->at[i]] += m->memory[i];
        s->level[end] -= m->memory[i];
    }
    for (int32_t c = 1; c <= m->cells; c++)
        s->level[c] += s->level[c - 1];
}

static double mass_of(const search *s, double level)
{
    const double x = (level - s->top) / s->tau;
    return x < -40 ? 0 : sked_i_exp(x < 40 ? x : 40);
}

static void set_prices(search *s, double tau)
{
    assert(tau > 0);
    s->tau = tau;
    s->top = 0;
    for (int32_t c = 0; c < s->m->cells; c++)
        s->top = s->level[c] > s->top ? s->level[c] : s->top;
    for (int32_t c = 0; c < s->m->cells; c++)
        s->mass[c] = mass_of(s, s->level[c]);
}

/* ------------------------------------------------------------------ a region */

/* Adds op j where it may join; returns what it costs to look at. */
static int64_t join(search *s, int32_t j, int32_t around)
{
    const sked_graph *g = s->m->g;
    int64_t looks = g->succ_ptr[j + 1] - g->succ_ptr[j];
    if (s->member[j] == s->number || abs(s->at[j] - around) > reach)
        return 0;
    for (int64_t k = g->pred_ptr[j]; k < g->pred_ptr[j + 1]; k++)
        looks += g->succ_ptr[g->pred_op[k] + 1] - g->succ_ptr[g->pred_op[k]];
    s->member[j] = s->number;
    s->op[s->count++] = j;
    return looks;
}

/* Neighbours of member i in a random rotation. */
static int64_t join_neighbours(search *s, int32_t i, int32_t size, int32_t around)
{
    const sked_graph *g = s->m->g;
    const int64_t before = g->pred_ptr[i + 1] - g->pred_ptr[i], after = g->succ_ptr[i + 1] - g->succ_ptr[i];
    const int64_t all = before + after, turn = all > 0 ? (int64_t)sked_i_rng_below(s->rng, (uint64_t)all) : 0;
    int64_t looks = 0;
    for (int64_t q = 0; q < all && s->count < size && looks < effort; q++) {
        const int64_t k = (q + turn) % all;
        looks++;
        if (k < before)
            looks += join(s, g->pred_op[g->pred_ptr[i] + k], around);
        else if (after <= hub || sked_i_rng_below(s->rng, 4) == 0)
            looks += join(s, g->edge_to[g->succ_ptr[i] + k - before], around);
    }
    return looks;
}

/* An op to begin with: the dearer the step, the likelier. */
static int32_t draw_seed(search *s)
{
    int32_t i = 0;
    for (int tries = 0; tries < 16; tries++) {
        i = (int32_t)sked_i_rng_below(s->rng, (uint64_t)s->m->n);
        if (sked_i_rng_uniform(s->rng) < s->mass[s->at[i]])
            break;
    }
    return i;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Ops that hang together, breadth first, in topological order. */
static void gather(search *s)
{
    const double share = sked_i_rng_uniform(s->rng);
    const int32_t size = (int32_t)(fewest * pow((double)most / fewest, share)), seed = draw_seed(s);
    s->number++;
    s->count = 0;
    int64_t looks = join(s, seed, s->at[seed]);
    for (int32_t k = 0; k < s->count && s->count < size && looks < effort; k++)
        looks += join_neighbours(s, s->op[k], size, s->at[seed]);
    for (int32_t k = 0; k < s->count; k++)
        s->op[k] = s->rank[s->op[k]];
    qsort(s->op, (size_t)s->count, sizeof *s->op, by_number);
    for (int32_t k = 0; k < s->count; k++) {
        s->op[k] = s->m->order[s->op[k]];
        s->place[s->op[k]] = k;
    }
}

static bool inside(const search *s, int32_t i)
{
    return s->member[i] == s->number;
}

/* low..high of every member: edges to others hold, and each member has a place at every place of another. */
static void set_ranges(search *s)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    const int32_t range = 1 + (int32_t)sked_i_rng_below(s->rng, farthest);
    for (int32_t k = 0; k < s->count; k++) {
        const int32_t j = s->op[k];
        int32_t low = s->at[j] - range > m->lo[j] ? s->at[j] - range : m->lo[j];
        for (int64_t q = g->pred_ptr[j]; q < g->pred_ptr[j + 1]; q++) {
            const int32_t i = g->pred_op[q];
            const int32_t from = (inside(s, i) ? s->low[s->place[i]] : s->at[i]) + m->gap[g->pred_edge[q]];
            low = sked_i_relaxation_counts(m, g->pred_edge[q]) && from > low ? from : low;
        }
        s->low[k] = low;
        s->from = k == 0 || low < s->from ? low : s->from;
    }
    for (int32_t k = s->count; k-- > 0;) {
        const int32_t i = s->op[k];
        int32_t high = s->at[i] + range < m->hi[i] ? s->at[i] + range : m->hi[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int32_t j = g->edge_to[e];
            const int32_t to = (inside(s, j) ? s->high[s->place[j]] : s->at[j]) - m->gap[e];
            high = sked_i_relaxation_counts(m, e) && to < high ? to : high;
        }
        s->high[k] = high;
        s->to = k == s->count - 1 || high > s->to ? high : s->to;
        assert(s->low[k] <= s->at[i] && s->at[i] <= high);
    }
}

/* ------------------------------------------------------------------ values */

/* Notes value i, its readers in the region, and the step until which others hold it. */
static bool note_value(search *s, int32_t i)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    int32_t fixed = inside(s, i) ? 0 : s->at[i];
    if (m->memory[i] == 0 || s->seen[i] == s->number)
        return true;
    s->seen[i] = s->number;
    if (!SKED_OWN_GROW(&s->arena, s->value, s->value_room, s->values + 2) ||
        !SKED_OWN_GROW(&s->arena, s->reader, s->reader_room,
                       s->readers + 1 + g->succ_ptr[i + 1] - g->succ_ptr[i]))
        return false;
    s->value[s->values].first = s->readers;
    bool early = false; /* a reader may start before it; no life ends before it begins */
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        const int32_t j = g->edge_to[e];
        if (!sked_i_relaxation_reads(m, e))
            continue;
        early = early || m->gap[e] < 0;
        if (inside(s, j))
            s->reader[s->readers++] = s->place[j];
        else
            fixed = s->at[j] > fixed ? s->at[j] : fixed;
    }
    if (early && inside(s, i))
        s->reader[s->readers++] = s->place[i];
    s->value[s->values].op = i;
    s->value[s->values++].fixed = fixed;
    s->value[s->values].first = s->readers;
    return true;
}

static sked_status note_values(search *s, sked_error *err)
{
    const sked_graph *g = s->m->g;
    s->values = s->readers = 0;
    for (int32_t k = 0; k < s->count; k++) {
        bool room = note_value(s, s->op[k]);
        for (int64_t q = g->pred_ptr[s->op[k]]; room && q < g->pred_ptr[s->op[k] + 1]; q++)
            room = note_value(s, g->pred_op[q]);
        if (!room)
            return sked_i_no_memory(err);
    }
    return SKED_OK;
}

static inline int32_t between(int32_t from, int32_t t, int32_t to)
{
    return t < from ? from : t > to ? to : t;
}

/* Adds all lives of the noted values to the changes, `sign` times. */
static void count_lives(search *s, double sign)
{
    for (int64_t v = 0; v < s->values; v++) {
        const int32_t i = s->value[v].op;
        const double size = sign * s->m->memory[i];
        int32_t end = s->value[v].fixed;
        for (int64_t q = s->value[v].first; q < s->value[v + 1].first; q++) {
            const int32_t use = s->at[s->op[s->reader[q]]];
            end = use > end ? use : end;
        }
        end = end > s->at[i] ? end : s->at[i];
        s->change[between(s->from, s->at[i], s->to)] += size;
        s->change[between(s->from, end, s->to)] -= size;
    }
}

/* ------------------------------------------------------------------ the cut */

/* What value i costs in step t, as a whole number. Bounded, so that sums over a region stay below 2^63. */
static int64_t cost(const search *s, int32_t i, int32_t t)
{
    const double price = s->mass[t] < 16 ? s->mass[t] : 16;
    assert(t >= 0 && t < s->m->cells && s->m->largest[s->m->profiles] > 0);
    return (int64_t)(0x1.0p30 * price * (s->m->memory[i] / s->m->largest[s->m->profiles]));
}

static void add_ops(search *s)
{
    const sked_i_relaxation *m = s->m;
    sked_i_gaus_closure *c = &s->closure;
    sked_i_gaus_closure_clear(c);
    for (int32_t k = 0; k < s->count; k++) {
        s->node[k] = c->nodes;
        for (int32_t t = s->low[k]; t < s->high[k]; t++) {
            const int32_t x = sked_i_gaus_closure_add(c, -cost(s, s->op[k], t));
            if (t > s->low[k])
                sked_i_gaus_closure_imply(c, x - 1, x);
        }
    }
    for (int32_t k = 0; k < s->count; k++) {
        const int32_t i = s->op[k];
        for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++) {
            const int32_t j = m->g->edge_to[e], r = inside(s, j) ? s->place[j] : -1;
            if (r < 0 || !sked_i_relaxation_counts(m, e))
                continue;
            for (int32_t t = s->low[r]; t < s->high[r] && t - m->gap[e] < s->high[k]; t++)
                sked_i_gaus_closure_imply(c, s->node[r] + t - s->low[r],
                                          s->node[k] + t - m->gap[e] - s->low[k]);
        }
    }
}

/* The end of value v by step t: gained once all its readers have started. */
static void add_end(search *s, int64_t v, int32_t t)
{
    sked_i_gaus_closure *c = &s->closure;
    const int64_t gain = cost(s, s->value[v].op, t);
    int32_t open = 0, last = 0;
    for (int64_t q = s->value[v].first; q < s->value[v + 1].first; q++)
        if (t < s->high[s->reader[q]]) {
            last = s->reader[q];
            open++;
        }
    if (open == 1)
        sked_i_gaus_closure_gain(c, s->node[last] + t - s->low[last], gain);
    if (open <= 1 || gain == 0)
        return;
    const int32_t y = sked_i_gaus_closure_add(c, gain);
    for (int64_t q = s->value[v].first; q < s->value[v + 1].first; q++) {
        const int32_t r = s->reader[q];
        if (t < s->high[r])
            sked_i_gaus_closure_imply(c, y, s->node[r] + t - s->low[r]);
    }
}

static void add_values(search *s)
{
    for (int64_t v = 0; v < s->values; v++) {
        int32_t from = s->value[v].fixed, to = 0;
        for (int64_t q = s->value[v].first; q < s->value[v + 1].first; q++) {
            from = s->low[s->reader[q]] > from ? s->low[s->reader[q]] : from;
            to = s->high[s->reader[q]] > to ? s->high[s->reader[q]] : to;
        }
        for (int32_t t = from; t < to; t++)
            add_end(s, v, t);
    }
}

/* The best places of all members at these prices. false: they stand there. */
static bool read_places(search *s)
{
    bool moved = false;
    for (int32_t k = 0; k < s->count; k++) {
        int32_t t = s->low[k];
        while (t < s->high[k] && !sked_i_gaus_closure_has(&s->closure, s->node[k] + t - s->low[k]))
            t++;
        s->old[k] = s->at[s->op[k]];
        s->wanted[k] = t;
        moved = moved || t != s->old[k];
    }
    return moved;
}

/* ------------------------------------------------------------------ a move */

/* Goes `share` of the way. Rounding down after the same addition for all keeps every edge. */
static void place_members(search *s, double share, double addition)
{
    for (int32_t k = 0; k < s->count; k++)
        s->at[s->op[k]] = (int32_t)floor(s->old[k] + share * (s->wanted[k] - s->old[k]) + addition);
}

/* Takes the changes over where the smoothed peak does not rise; clears them. */
static bool settle(search *s)
{
    double rise = 0, level = 0;
    assert(s->from >= 0 && s->from <= s->to && s->to <= s->m->cells);
    for (int32_t c = s->from; c < s->to; c++) {
        level += s->change[c];
        s->fresh[c] = level != 0 ? mass_of(s, s->level[c] + level) : s->mass[c];
        rise += s->fresh[c] - s->mass[c];
    }
    level = 0;
    for (int32_t c = s->from; c < s->to && rise <= 0; c++) {
        s->level[c] += level += s->change[c];
        s->mass[c] = s->fresh[c];
    }
    memset(s->change + s->from, 0, ((size_t)(s->to - s->from) + 1) * sizeof *s->change);
    return rise <= 0;
}

/* The whole move, or the largest share that pays. */
static void try_move(search *s)
{
    for (double share = 1; share > 0.05; share /= 2) {
        const double addition = share < 1 ? sked_i_rng_uniform(s->rng) : 0;
        count_lives(s, -1);
        place_members(s, share, addition);
        count_lives(s, 1);
        if (settle(s))
            return;
        place_members(s, 0, 0);
    }
}

static sked_status move_region(search *s, sked_error *err)
{
    sked_status st = SKED_OK;
    gather(s);
    set_ranges(s);
    SKED_TRY(note_values(s, err));
    add_ops(s);
    add_values(s);
    SKED_TRY(sked_i_gaus_closure_solve(&s->closure, err));
    if (read_places(s))
        try_move(s);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the search */

static sked_status open_search(search *s, const double *start, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_relaxation *m = s->m;
    SKED_OWN(&s->arena, s->at, m->n);
    SKED_OWN(&s->arena, s->rank, m->n);
    SKED_OWN0(&s->arena, s->member, m->n);
    SKED_OWN0(&s->arena, s->seen, m->n);
    SKED_OWN(&s->arena, s->place, m->n);
    SKED_OWN(&s->arena, s->level, m->cells + 1);
    SKED_OWN(&s->arena, s->mass, m->cells + 1);
    SKED_OWN0(&s->arena, s->change, m->cells + 1);
    SKED_OWN(&s->arena, s->fresh, m->cells + 1);
    for (int32_t k = 0; k < m->n; k++) {
        s->at[k] = (int32_t)start[k];
        s->rank[m->order[k]] = k;
    }
    fill_profile(s);
cleanup:
    return st;
}

static void close_search(search *s)
{
    sked_i_arena_free(&s->arena);
    sked_i_gaus_closure_free(&s->closure);
    free(s);
}

/* Where its peak, as the prices know it, is below the incumbent's. O(ops + edges) then. */
static void keep(const search *s, sked_i_gaus_state *state, sked_i_gaus_incumbent *best)
{
    if (s->top >= best->value)
        return;
    sked_i_gaus_state_set(state, s->at);
    sked_i_gaus_keep(best, state);
}

bool sked_i_gaus_regional(const sked_i_relaxation *m)
{
    return sked_i_gaus_means_suffice(m) && m->period == 0;
}

sked_status sked_i_gaus_move_regions(sked_i_gaus_state *state, double sweeps, sked_i_rng *rng,
                                     const sked_i_limit *limit, double goal, sked_i_gaus_incumbent *best,
                                     sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_relaxation *m = state->m;
    const double moves = ceil(sweeps * m->n / ops_a_move), begin = sked_clock();
    const double renewal = 32 + m->n / 500; /* moves between two temperatures: keeping takes O(ops) */
    const double fine = m->typical[m->profiles], coarse = fmax(2 * fine, 0.03 * best->value);
    search *s = NULL;
    assert(sked_i_gaus_regional(m) && best->value < INFINITY);
    if (sked_i_limit_reached(limit) || best->value <= 0) /* no peak, no prices */
        return SKED_OK;
    SKED_NEW0(s, 1);
    s->m = m;
    s->rng = rng;
    SKED_TRY(open_search(s, best->start, err));
    for (double k = 0; k < moves && best->value > goal && !sked_i_limit_reached(limit); k++) {
        if (fmod(k, renewal) == 0) {
            set_prices(s, coarse * pow(fine / coarse, sked_i_gaus_progress(k, moves, begin, limit)));
            keep(s, state, best);
        }
        SKED_TRY(move_region(s, err));
    }
    set_prices(s, fine);
    keep(s, state, best);
cleanup:
    if (s != NULL)
        close_search(s);
    return st;
}
