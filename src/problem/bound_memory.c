/*
 * Peak memory. At any moment some ops have started and others have not; a value made by the former and read
 * by the latter is alive. Which ops have started is known in part: at a time by the windows that horizon and
 * fixed starts leave, and just before an op starts by what leads to it and from it. Whatever the other ops
 * do, the least memory then is a minimum cut (live_cut.h). Several moments in a row share the order of the
 * ops, and the peak is no less than the mean over them. With an initiation interval all moments that fold
 * onto one add up.
 *
 * Over the whole time, the peak is no less than the least sum of all lives over the length of the time
 * (life_flow.h), nor than what the values must pay at any prices of the moments (live_price.h).
 */
#include "base/arena.h"
#include "problem/bounds.h"
#include "problem/energy.h"
#include "problem/live_cut.h"
#include "problem/live_price.h"

#include <assert.h>
#include <string.h>

static const double largest = 1.5e6;    /* moments * (ops + edges) at once */
static const double largest_room = 4e6; /* numbers in messages */
static const double least_sweeps = 20;  /* to be worth it */
static const double largest_flow = 2e6; /* ops + edges: of more, no flow of lives would be found in time */

/* A moment to try. */
typedef struct candidate {
    double most;     /* the bound it gives is at most this */
    double time;     /* just before it, where op is -1 */
    int32_t op;      /* just before it starts */
    uint32_t chance; /* the first ones lie far apart */
} candidate;

typedef struct prober {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    sked_i_live_moments shape;
    sked_i_live_cut *cut;
    double *early, *late; /* [n] starts; late INFINITY: any time */
    double *from, *to;    /* [n] longest path from the op at hand, and to it; -INFINITY: none */
    double *sorted;       /* [n] */
    double *alive;        /* [n + 1] */
    int32_t *place;       /* [n] in the topological order */
    uint8_t *side;        /* [moments * n] */
    candidate *item;      /* [n] */
    double slack;         /* rounding of real times */
    double share;         /* arcs looked at for each kind of moments */
    double life_share;    /* for the sum of lives, and for prices of moments */
    sked_i_bound_effort effort;
    sked_i_life_flow flow; /* that proves the sum of lives */
    double sum;            /* of lives, spread evenly */
    double best;
    const char *why; /* what gave it */
    candidate at;    /* the moment that gave the best of one moment or row */
} prober;

static const char by_cut[] = "values that must be alive at one moment",
                  by_sum[] = "least sum of all lives, spread over the time there is",
                  by_price[] = "least lives at the best prices of moments";

/* ------------------------------------------------------------------ windows */

/* Longest paths from op x, and to it. */
static void measure_paths(prober *b, int32_t x)
{
    const sked_graph *g = b->g;
    for (int32_t i = 0; i < g->n_ops; i++)
        b->from[i] = b->to[i] = -INFINITY;
    b->from[x] = b->to[x] = 0;
    for (int32_t k = b->place[x]; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        for (int64_t e = g->succ_ptr[i]; b->from[i] > -INFINITY && e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                b->from[g->edge_to[e]] = fmax(b->from[g->edge_to[e]], b->from[i] + g->edge_lag[e]);
    }
    for (int32_t k = b->place[x] + 1; k-- > 0;) {
        const int32_t i = g->topo[k];
        for (int64_t j = g->pred_ptr[i]; b->to[i] > -INFINITY && j < g->pred_ptr[i + 1]; j++)
            if (g->edge_distance[g->pred_edge[j]] == 0)
                b->to[g->pred_op[j]] = fmax(b->to[g->pred_op[j]], b->to[i] + g->edge_lag[g->pred_edge[j]]);
    }
}

/* ------------------------------------------------------------------ who has started */

static void set_side(const prober *b, int32_t moment, int32_t i, double soonest, double latest, double time)
{
    b->side[(int64_t)moment * b->g->n_ops + i] = soonest >= time            ? SKED_I_WAITING
                                                 : latest < time - b->slack ? SKED_I_STARTED
                                                                            : SKED_I_FREE;
}

/* Windows of all ops relative to the start of op x, to b->from and b->to. */
static void set_windows_around(prober *b, int32_t x)
{
    measure_paths(b, x);
    for (int32_t i = 0; i < b->g->n_ops; i++) {
        b->from[i] = fmax(b->from[i], b->early[i] - b->late[x]);
        b->to[i] = fmin(-b->to[i], b->late[i] - b->early[x]);
    }
}

/* The bound that the moments around this one give, `before` of them earlier. */
static double probe(prober *b, const candidate *x, int32_t before)
{
    const bool around = x->op >= 0;
    const double *const soonest = around ? b->from : b->early, *const latest = around ? b->to : b->late;
    if (around)
        set_windows_around(b, x->op);
    for (int32_t j = 0; j < b->shape.count; j++) {
        const double delay = (j - before) * b->shape.spacing, time = around ? delay : x->time + delay;
        for (int32_t i = 0; i < b->g->n_ops; i++)
            set_side(b, j, i, soonest[i], latest[i], time);
    }
    const double sum = sked_i_live_cut_least(b->cut, b->side, &b->effort);
    return b->shape.pipelined ? sum : sum / b->shape.count;
}

/* ------------------------------------------------------------------ candidates */

/* Different values among start[n], rising, to b->sorted; returns their count. */
static int32_t sort_times(const prober *b, const double *start)
{
    memcpy(b->sorted, start, (size_t)b->g->n_ops * sizeof *start);
    return sked_i_distinct(b->sorted, b->g->n_ops);
}

/* How many of the first `count` sorted times are at most t. */
static int32_t times_until(const prober *b, int32_t count, double t)
{
    int32_t low = 0;
    while (low < count) {
        const int32_t middle = low + (count - low) / 2;
        if (b->sorted[middle] <= t)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Memory alive just before every sorted time when ops begin at start, to b->alive. */
static void add_up(const prober *b, const double *start, int32_t count)
{
    const sked_graph *g = b->g;
    for (int32_t k = 0; k <= count; k++)
        b->alive[k] = 0;
    for (int32_t v = 0; v < g->n_ops; v++) {
        double last = g->keep != NULL && g->keep[v] ? INFINITY : start[v];
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
            if (g->edge_distance[e] == 0 && sked_i_passes(g, e))
                last = fmax(last, start[g->edge_to[e]]);
        b->alive[times_until(b, count, start[v])] += g->memory[v];
        b->alive[times_until(b, count, last)] -= g->memory[v];
    }
    for (int32_t k = 1; k <= count; k++)
        b->alive[k] += b->alive[k - 1];
}

/* Bits in reverse. */
static uint32_t scatter(uint32_t k)
{
    uint32_t out = 0;
    for (int bit = 0; bit < 32; bit++)
        out |= (k >> bit & 1) << (31 - bit);
    return out;
}

static int by_chance(const void *x, const void *y)
{
    const candidate *a = x, *b = y;
    return (a->chance > b->chance) - (a->chance < b->chance);
}

/*
 * Times at which some op may start first: who waits changes there only. Pipelined: those of the first
 * interval that they fold onto.
 */
static int32_t list_times(const prober *b)
{
    for (int32_t i = 0; i < b->g->n_ops; i++)
        b->from[i] = b->shape.pipelined ? b->p->ii - fmod(b->p->ii - fmod(b->early[i], b->p->ii), b->p->ii)
                                        : b->early[i];
    const int32_t count = sort_times(b, b->from);
    for (int32_t k = 0; k < count; k++)
        b->item[k] =
            (candidate){.most = INFINITY, .time = b->sorted[k], .op = -1, .chance = scatter((uint32_t)k)};
    for (int side = 0; side < 2 && !b->shape.pipelined && b->p->horizon < INFINITY; side++) {
        const double *start = side == 0 ? b->early : b->late;
        if (sked_i_limit_heard(b->effort.limit))
            return 0;
        add_up(b, start, count);
        for (int32_t k = 0; k < count; k++)
            b->item[k].most = fmin(b->item[k].most, b->alive[k]);
    }
    qsort(b->item, (size_t)count, sizeof *b->item, by_chance);
    return count;
}

/* All ops. Any schedule says how much an op's moment can give at most: as early as possible, and as late. */
static int32_t list_ops(const prober *b)
{
    const sked_graph *g = b->g;
    const double path = sked_i_critical_path(g, b->early);
    for (int32_t i = 0; i < g->n_ops; i++)
        b->item[i] = (candidate){.most = INFINITY, .op = i, .chance = scatter((uint32_t)b->place[i])};
    for (int side = 0; side < 2 && !b->shape.pipelined; side++) {
        double *start = b->to;                   /* free until the first probe */
        if (sked_i_limit_heard(b->effort.limit)) /* a million ops take 0.1 s each time */
            return 0;
        sked_i_earliest_starts(b->p, start);
        if (side == 1)
            sked_i_latest_starts(b->p, fmin(b->p->horizon, path), start);
        const int32_t count = sort_times(b, start);
        add_up(b, start, count);
        for (int32_t i = 0; i < g->n_ops; i++)
            b->item[i].most = fmin(b->item[i].most, b->alive[times_until(b, count, start[i]) - 1]);
    }
    qsort(b->item, (size_t)g->n_ops, sizeof *b->item, by_chance);
    return g->n_ops;
}

/* ------------------------------------------------------------------ probing */

static void begin_share(prober *b, double work)
{
    b->effort.work = sked_i_limit_heard(b->effort.limit) ? 0 : work;
}

/* at: the moment that gave it; NULL: none did. */
static void keep(prober *b, double bound, const char *why, const candidate *at)
{
    if (!(bound > b->best))
        return;
    b->best = bound;
    b->why = why;
    b->at = at != NULL ? *at : b->at;
}

/* Candidates that may give more, `before` moments of each row before them. */
static void probe_all(prober *b, int32_t count, int32_t before)
{
    begin_share(b, b->share);
    for (int32_t k = 0; k < count && b->effort.work > 0; k++)
        if (b->item[k].most > b->best)
            keep(b, probe(b, &b->item[k], before), by_cut, &b->item[k]);
}

/* From the best op to its neighbours while one of them gives more. */
static void climb(prober *b, int32_t before)
{
    const sked_graph *g = b->g;
    begin_share(b, b->share);
    for (bool better = b->at.op >= 0; better && b->effort.work > 0;) {
        const int32_t x = b->at.op;
        const double was = b->best;
        candidate next = {.op = -1};
        for (int64_t k = g->pred_ptr[x]; k < g->pred_ptr[x + 1] && b->effort.work > 0; k++) {
            next.op = g->pred_op[k];
            keep(b, probe(b, &next, before), by_cut, &next);
        }
        for (int64_t e = g->succ_ptr[x]; e < g->succ_ptr[x + 1] && b->effort.work > 0; e++) {
            next.op = g->edge_to[e];
            keep(b, probe(b, &next, before), by_cut, &next);
        }
        better = b->best > was;
    }
}

static sked_status open_cut(prober *b, const sked_i_live_moments *shape, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_live_cut_destroy(b->cut);
    sked_i_arena_drop(&b->arena, b->side);
    b->cut = NULL;
    b->side = NULL;
    b->shape = *shape;
    SKED_TRY(sked_i_live_cut_create(b->g, shape, &b->cut, err));
    SKED_OWN(&b->arena, b->side, (int64_t)shape->count * b->g->n_ops);
cleanup:
    return st;
}

static int32_t most_moments(const prober *b)
{
    return (int32_t)fmax(1, floor(largest / ((double)b->g->n_ops + (double)b->g->n_edges)));
}

/* One moment at a time. */
static sked_status probe_moments(prober *b, sked_error *err)
{
    const sked_status st = open_cut(b, &(sked_i_live_moments){.count = 1, .spacing = 1}, err);
    if (st != SKED_OK)
        return st;
    if (b->p->horizon < INFINITY || b->p->fix_start != NULL)
        probe_all(b, list_times(b), 0);
    probe_all(b, list_ops(b), 0);
    climb(b, 0);
    return SKED_OK;
}

/* A typical lag. */
static double typical_lag(const sked_graph *g)
{
    double sum = 0, count = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] > 0) {
            sum += g->edge_lag[e];
            count++;
        }
    const double mean = count > 0 ? sum / count : 1;
    return g->integral ? fmax(1, floor(mean)) : mean;
}

/* Rows of moments around the best one, longer and longer to the side where the mean is higher. */
static sked_status probe_rows(prober *b, sked_error *err)
{
    enum { longest = 64 };
    sked_status st = SKED_OK;
    const candidate at = b->at;
    sked_i_live_moments row = {.count = 1, .spacing = typical_lag(b->g)};
    const int32_t most = most_moments(b) < longest ? most_moments(b) : longest;
    int32_t before = 0;
    begin_share(b, b->share);
    while (b->effort.work > 0) {
        const int32_t more = row.count / 6 + 1;
        row.count += more;
        if (row.count > most)
            break;
        SKED_TRY(open_cut(b, &row, err));
        const double later = probe(b, &at, before), sooner = probe(b, &at, before + more);
        keep(b, fmax(later, sooner), by_cut, &at);
        before += sooner > later ? more : 0;
    }
cleanup:
    return st;
}

/* All moments of one phase of the interval: those that the windows know, and those around the ops. */
static sked_status probe_phases(prober *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const double ii = b->p->ii, turns = ceil(b->p->horizon / ii);
    const double path = sked_i_critical_path(b->g, b->early);
    sked_i_live_moments row = {.spacing = ii, .pipelined = true};
    if (turns <= most_moments(b)) {
        row.count = (int32_t)fmax(1, turns);
        row.from_begin = true;
        SKED_TRY(open_cut(b, &row, err));
        probe_all(b, list_times(b), 0);
        row.from_begin = false;
    }
    const int32_t around = (int32_t)fmin(floor(path / ii), (most_moments(b) - 1) / 2);
    row.count = 2 * around + 1;
    SKED_TRY(open_cut(b, &row, err));
    probe_all(b, list_ops(b), around);
    climb(b, around);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ prices */

/* The largest distance of an edge. */
static double farthest_reader(const sked_graph *g)
{
    double most = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        most = fmax(most, g->edge_distance[e]);
    return most;
}

/* Moments of the whole time that there is, from `begin` to `end`. */
static void spread_moments(const prober *b, double begin, double end, sked_i_priced_moments *m)
{
    enum { most_phases = 64, most_times = 1024 };
    const double ii = b->p->ii;
    const bool whole = b->g->integral && ii == floor(ii) && (ii > 0 ? ii : end - begin) <= most_times;
    m->spacing = whole ? 1 : typical_lag(b->g);
    if (ii > 0) {
        m->phases = whole ? (int32_t)ii : (int32_t)fmax(1, fmin(most_phases, floor(ii / m->spacing)));
        m->spacing = ii / m->phases;
    }
    m->first = begin + m->spacing;
    m->count = (int32_t)fmin(1e6, fmax(0, ceil((end - begin) / m->spacing) - 1));
}

/* Fewer moments, around a time, until their messages find room. */
static void cut_moments(prober *b, double time, sked_i_priced_moments *m)
{
    const double room = fmin(largest_room, b->effort.work / least_sweeps);
    const double begin = m->first;
    const int32_t all = m->count;
    while (m->count > 0 && sked_i_price_room(b->g, m) > room) {
        b->effort.work -= b->g->n_ops;
        m->count -= b->effort.work > 0 ? m->count / 4 + 1 : m->count;
        const double centre = floor((time - begin) / m->spacing) - m->count / 2;
        m->first = begin + m->spacing * fmax(0, fmin(all - m->count, centre));
    }
}

/* Moments of all times that the windows know, or else of those around the best op. */
static void set_moments(prober *b, sked_i_priced_moments *m)
{
    const double path = sked_i_critical_path(b->g, b->early);
    double time = b->at.time;
    if (b->p->horizon < INFINITY || b->at.op < 0) {
        const double carried = b->p->ii > 0 ? b->p->ii * farthest_reader(b->g) : 0;
        spread_moments(b, 0, (b->p->horizon < INFINITY ? b->p->horizon : path) + carried, m);
        if (b->at.op >= 0)
            time = (b->early[b->at.op] + b->late[b->at.op]) / 2;
    } else {
        set_windows_around(b, b->at.op);
        m->early = b->from;
        m->late = b->to;
        spread_moments(b, -path, path, m);
        time = 0;
    }
    cut_moments(b, time, m);
}

/* All lives fall between the first start and the last, or into the interval again and again. */
static double time_of_lives(const prober *b)
{
    double first = INFINITY, last = -INFINITY;
    if (b->p->ii > 0)
        return b->p->ii;
    for (int32_t i = 0; i < b->g->n_ops; i++) {
        first = fmin(first, b->early[i]);
        last = fmax(last, b->late[i]);
    }
    return last - first + b->slack;
}

/* An interval and no horizon: a schedule may begin in any phase, so no moment is worth more than another. */
static bool any_phase(const prober *b)
{
    return b->p->ii > 0 && b->p->horizon == INFINITY;
}

static bool wants_lives(const prober *b)
{
    return b->g->n_ops > 0 && (double)b->g->n_ops + (double)b->g->n_edges <= largest_flow;
}

/* The least sum of all lives, spread evenly. */
static sked_status probe_sum(prober *b, sked_error *err)
{
    double sum = 0;
    const double time = time_of_lives(b);
    sked_status st = sked_i_life_flow_create(b->g, &b->flow, err);
    if (st != SKED_OK)
        return st;
    begin_share(b, b->life_share);
    b->effort.work *= any_phase(b) ? 2 : 1; /* there are no prices to find */
    st = sked_i_life_flow_most(b->g, fmax(0, b->p->ii), &b->effort, &b->flow, &sum, err);
    if (time > 0 && time < INFINITY)
        b->sum = sum / time;
    return st;
}

/* Prices for the moments, which begin with the same price each. */
static sked_status probe_prices(prober *b, sked_error *err)
{
    sked_i_priced_moments m = {.slack = b->slack, .early = b->early, .late = b->late};
    double bound = 0;
    begin_share(b, b->life_share);
    if (any_phase(b))
        return SKED_OK;
    set_moments(b, &m);
    if (m.count == 0)
        return SKED_OK;
    const sked_status st = sked_i_price_bound(b->g, &m, &b->flow, &b->effort, &bound, err);
    keep(b, bound, by_price, NULL);
    return st;
}

static sked_status open_prober(prober *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = b->g->n_ops;
    SKED_OWN(&b->arena, b->early, n);
    SKED_OWN(&b->arena, b->late, n);
    SKED_OWN(&b->arena, b->from, n);
    SKED_OWN(&b->arena, b->to, n);
    SKED_OWN(&b->arena, b->sorted, n);
    SKED_OWN(&b->arena, b->alive, n + 1);
    SKED_OWN(&b->arena, b->place, n);
    SKED_OWN(&b->arena, b->item, n);
    for (int32_t k = 0; k < b->g->n_ops; k++)
        b->place[b->g->topo[k]] = k;
    sked_i_earliest_starts(b->p, b->early);
    sked_i_latest_starts(b->p, b->p->horizon, b->late);
cleanup:
    return st;
}

sked_status sked_i_bound_memory(const sked_problem *p, const sked_i_bound_effort *effort, double *bound,
                                const char **why, sked_error *err)
{
    sked_status st = SKED_OK;
    prober b = {.p = p, .g = p->graph, .effort.limit = effort->limit, .why = by_cut};
    /* small graphs have few moments: what is left after two thousand looks at each edge gives little */
    b.share = fmin(effort->work / 4, 2000 * ((double)p->graph->n_ops + (double)p->graph->n_edges));
    b.life_share = fmin(effort->work / 2, 20000 * ((double)p->graph->n_ops + (double)p->graph->n_edges));
    b.slack = sked_i_problem_integral(p) ? 0 : 1e-9 * fmax(1, fmin(p->horizon, 1e300));
    SKED_TRY(open_prober(&b, err));
    if (wants_lives(&b)) /* the quickest first: the time may be up at any moment */
        SKED_TRY(probe_sum(&b, err));
    if (p->ii > 0) {
        SKED_TRY(probe_phases(&b, err));
    } else {
        SKED_TRY(probe_moments(&b, err));
        if (b.best > 0)
            SKED_TRY(probe_rows(&b, err));
    }
    if (b.best > 0 && wants_lives(&b))
        SKED_TRY(probe_prices(&b, err));
    keep(&b, b.sum, by_sum, NULL);
    *bound = b.best;
    *why = b.why;
cleanup:
    sked_i_live_cut_destroy(b.cut);
    sked_i_life_flow_free(&b.flow);
    sked_i_arena_free(&b.arena);
    return st;
}
