/*
 * Single-op moves within slack. Every place an op may take is priced at once under the smoothed objective,
 * and one is drawn with probability exp(-cost / temperature) (heat bath): temperature and smoothing fall
 * together, as sigma and tau do in the relaxation.
 */
#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>

static const double coldest = 0.001, enough_passes = 300;
enum { beyond_caches = 30000 }; /* movable ops */

typedef struct annealer {
    sked_i_gaus_state *s;
    sked_i_rng *rng;
    const sked_i_limit *limit;
    int32_t *movable, count;
    double *unit; /* [profiles + 1] running mean of what a move costs there: the scale of the temperature */
    double temperature;
    int32_t reach;
} annealer;

/* The profile that prices op i: units of a dear resource must not set the temperature of a cheap one. */
static int32_t profile_of(const sked_i_relaxation *m, int32_t i)
{
    for (int64_t u = m->use_ptr[i]; u < m->use_ptr[i + 1]; u++)
        if (m->weight[m->use_profile[u]] > 0)
            return m->use_profile[u];
    return m->profiles;
}

/* Draws a place among lo..hi by their costs. */
static int32_t draw(annealer *a, double *unit, int32_t lo, int32_t hi)
{
    const double *cost = a->s->cost;
    double least = INFINITY, sum = 0, size = 0;
    assert(lo < hi && a->temperature >= 0);
    for (int32_t k = 0; k <= hi - lo; k++) {
        least = cost[k] < least ? cost[k] : least;
        if (cost[k] < INFINITY)
            size += fabs(cost[k]);
    }
    *unit += *unit > 0 ? 0.001 * (size / (hi - lo) - *unit) : size / (hi - lo);
    const double scale = 1 / (a->temperature * *unit + 1e-300);
    double pick = INFINITY;
    int32_t at = lo;
    for (int round = 0; round < 2; round++) {
        double seen = 0;
        for (int32_t k = 0; k <= hi - lo; k++) {
            const double x = (cost[k] - least) * scale;
            seen += x < 40 ? sked_i_exp(-x) : 0;
            if (round == 1 && seen > pick)
                return lo + k;
            at = x < 40 ? lo + k : at;
        }
        sum = seen;
        pick = sum * sked_i_rng_uniform(a->rng);
    }
    return at;
}

static void try_op(annealer *a, int32_t i)
{
    int32_t lo, hi;
    sked_i_gaus_state_slack(a->s, i, a->reach, &lo, &hi);
    if (lo >= hi)
        return;
    sked_i_gaus_state_scan(a->s, i, lo, hi);
    assert(a->s->cost[a->s->at[i] - lo] < INFINITY); /* where it stands it may stay */
    const int32_t to = draw(a, &a->unit[profile_of(a->s->m, i)], lo, hi);
    assert(a->s->cost[to - lo] < INFINITY);
    if (to != a->s->at[i])
        sked_i_gaus_state_move(a->s, i, to);
}

static sked_status find_movable(annealer *a, sked_error *err)
{
    const sked_i_relaxation *m = a->s->m;
    a->movable = sked_i_alloc(m->n, sizeof *a->movable);
    a->unit = sked_i_alloc_zero(m->profiles + 1, sizeof *a->unit);
    if (a->movable == NULL || a->unit == NULL)
        return sked_i_no_memory(err);
    for (int32_t i = 0; i < m->n; i++)
        if (m->hi[i] > m->lo[i])
            a->movable[a->count++] = i;
    return SKED_OK;
}

double sked_i_gaus_progress(double done, double all, double begin, const sked_i_limit *limit)
{
    const double now = sked_clock(), passes = done / all;
    const double time =
        isinf(limit->deadline) || !limit->paced ? 0 : (now - begin) / fmax(1e-9, limit->deadline - begin);
    return fmin(1, fmax(passes, time));
}

/*
 * A polish that the time cuts to few passes begins cooler: what heat tears apart takes hundreds of passes to
 * heal. The pace is that of a first, cold piece of `done` passes.
 */
static double heat_for(double heat, double done, double begin, const sked_i_limit *limit)
{
    const double spent = fmax(1e-9, sked_clock() - begin);
    return heat * fmin(1, fmax(coldest, done / spent * (limit->deadline - begin) / enough_passes));
}

/*
 * One piece of a pass at this temperature. Ops are drawn at random; beyond what caches hold, runs of
 * neighbours are, which lie close together.
 */
static void anneal(annealer *a, int32_t moves)
{
    const int32_t length = a->count > beyond_caches ? 32 : 1;
    int32_t next = 0;
    for (int32_t k = 0; k <= moves; k++, next++) {
        if (k % length == 0)
            next = (int32_t)sked_i_rng_below(a->rng, (uint64_t)(a->count - length + 1));
        try_op(a, a->movable[next]);
        if ((k & 255) == 255 && sked_i_limit_reached(a->limit))
            break;
    }
}

sked_status sked_i_gaus_polish(sked_i_gaus_state *s, double sweeps, double heat, sked_i_rng *rng,
                               const sked_i_limit *limit, double goal, sked_i_gaus_incumbent *best,
                               sked_error *err)
{
    enum { pieces = 8, farthest = 24 };
    const int32_t period = s->m->period;
    annealer a = {.s = s, .rng = rng, .limit = limit};
    const bool timed = isfinite(limit->deadline) && limit->paced;
    const double begin = sked_clock();
    double start = timed ? coldest * heat : heat; /* temperature at the start */
    if (sked_i_limit_reached(limit))
        return SKED_OK;
    sked_status st = find_movable(&a, err);
    if (st != SKED_OK || a.count == 0)
        goto cleanup;
    a.reach = period > 0 && period < farthest ? period : farthest;
    assert(best->value < INFINITY);
    sked_i_gaus_state_load(s, best->start);
    assert(sked_i_gaus_state_legal(s));
    for (double piece = 0; piece < sweeps * pieces && best->value > goal; piece++) {
        const double progress = sked_i_gaus_progress(piece, sweeps * pieces, begin, limit);
        if (sked_i_limit_reached(limit))
            break;
        a.temperature = start * pow(0.002, progress);
        sked_i_gaus_state_smooth(s, 4 * pow(0.02, progress));
        anneal(&a, a.count / pieces);
        sked_i_gaus_keep(best, s);
        if (timed && piece == 0)
            start = heat_for(heat, 1.0 / pieces, begin, limit);
    }
cleanup:
    free(a.movable);
    free(a.unit);
    return st;
}
