/*
 * Moves of several ops under load and communication: an op passes its neighbours and pushes them along the
 * edges, or two ops of about the same weight change places. Communication is linear in the starts, so a move
 * is priced without looking at the edges of what it moves: a slope for each op, and the cells whose loads
 * change.
 *
 * The temperature is one of communication throughout, and it is the loads that begin soft: under a large tau
 * the smoothed peak charges a move about the square of its weight over tau and cells. At a temperature that
 * moves weights, as single-op moves have it, communication would melt where an edge is cheap beside a weight.
 */
#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>
#include <string.h>

enum {
    most_pushed = 64,     /* ops that one move may take along */
    most_cells = 1 << 16, /* of all profiles: beyond, a look at the peak takes too long */
    long_move = 1024,     /* cells: the limit is checked after each such move */
    partners = 8,         /* draws of an op to change places with */
    pieces = 8            /* of a pass: temperature and limit are looked at between them */
};
static const double hot = 0.5, cold = 0.1; /* temperatures in units of alpha */
static const double soft = 0.1;      /* at first a typical op's move to another step costs so many alpha */
static const double sharp = 0.5;     /* the last tau, likewise */
static const double softest = 1e6;   /* tau in typical amounts, however small alpha is */
static const double few_passes = 25; /* below them single-op moves get further */

typedef struct step {
    int32_t op, from, to;
} step;

typedef struct pusher {
    sked_i_arena arena;
    sked_i_gaus_state *s;
    sked_i_rng *rng;
    const sked_i_limit *limit;
    int32_t *movable, count;
    int32_t *heavy, heavies; /* movable ops with a load that counts, by weight */
    int32_t *rank;           /* [n] place in heavy */
    double *slope;           /* [n] communication for each step later */
    double relative_tau, temperature;
    double energy; /* smoothed objective of the schedule */
    /* The move under trial: starts are changed at once, loads and sums once it is taken. */
    step log[2 * most_pushed];
    int32_t logged;
    double *change;   /* [profiles * cells] of levels, where stamped */
    int64_t *stamp;   /* [profiles * cells] the last trial that changed it */
    int64_t *touched; /* [profiles * cells] what this one changes */
    int64_t trial, touches;
    double *sum; /* [profiles] of masses after it */
} pusher;

/* ------------------------------------------------------------------ starts */

static bool place(pusher *x, int32_t i, int32_t to)
{
    const sked_i_relaxation *m = x->s->m;
    if (to < m->lo[i] || to > m->hi[i] || x->logged == 2 * most_pushed)
        return false;
    x->log[x->logged++] = (step){i, x->s->at[i], to};
    x->s->at[i] = to;
    return true;
}

/* Consumers that op i has overtaken move along. */
static bool push_consumers(pusher *x, int32_t i)
{
    const sked_i_relaxation *m = x->s->m;
    for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++) {
        const int32_t j = m->g->edge_to[e], least = x->s->at[i] + m->gap[e];
        if (sked_i_relaxation_counts(m, e) && x->s->at[j] < least && !place(x, j, least))
            return false;
    }
    return true;
}

static bool push_producers(pusher *x, int32_t i)
{
    const sked_i_relaxation *m = x->s->m;
    for (int64_t k = m->g->pred_ptr[i]; k < m->g->pred_ptr[i + 1]; k++) {
        const int64_t e = m->g->pred_edge[k];
        const int32_t j = m->g->pred_op[k], most = x->s->at[i] - m->gap[e];
        if (sked_i_relaxation_counts(m, e) && x->s->at[j] > most && !place(x, j, most))
            return false;
    }
    return true;
}

/* Takes op i to `to` with all that stands in its way; false: a window or the size of the move forbids it. */
static bool push(pusher *x, int32_t i, int32_t to)
{
    const bool later = to > x->s->at[i];
    int32_t next = x->logged;
    if (to == x->s->at[i])
        return true;
    if (!place(x, i, to))
        return false;
    for (; next < x->logged; next++)
        if (!(later ? push_consumers : push_producers)(x, x->log[next].op))
            return false;
    return true;
}

static void take_back(pusher *x)
{
    while (x->logged > 0) {
        const step *last = &x->log[--x->logged];
        x->s->at[last->op] = last->from;
    }
}

/* ------------------------------------------------------------------ prices */

static void change_level(pusher *x, int32_t p, int32_t d, int32_t length, double amount)
{
    const int64_t first = (int64_t)p * x->s->m->cells + d;
    assert(d >= 0 && length >= 0 && d + length <= x->s->m->cells);
    for (int64_t k = first; k < first + length; k++) {
        if (x->stamp[k] != x->trial) {
            x->stamp[k] = x->trial;
            x->touched[x->touches++] = k;
            x->change[k] = 0;
        }
        x->change[k] += amount;
    }
}

static void change_levels(pusher *x)
{
    const sked_i_relaxation *m = x->s->m;
    x->trial++;
    x->touches = 0;
    for (int32_t k = 0; k < x->logged; k++) {
        const step *it = &x->log[k];
        for (int64_t u = m->use_ptr[it->op]; u < m->use_ptr[it->op + 1]; u++) {
            change_level(x, m->use_profile[u], it->from, m->duration[it->op], -m->use_amount[u]);
            change_level(x, m->use_profile[u], it->to, m->duration[it->op], m->use_amount[u]);
        }
    }
}

/* A sum far from 1 has lost the smaller masses, or soon will. */
static bool exact(double sum)
{
    return sum > 1e-6 && sum < 1e6;
}

static double smoothed_peak(const sked_i_gaus_state *s, int32_t p, double sum)
{
    return s->m->weight[p] * (s->top[p] + s->tau[p] * sked_i_log(sum));
}

/* The smoothed peak after the trial, from the levels themselves. */
static double peak_anew(const pusher *x, int32_t p)
{
    const sked_i_gaus_state *s = x->s;
    const int64_t first = (int64_t)p * s->m->cells;
    double top = 0, sum = 0;
    for (int64_t k = first; k < first + s->m->cells; k++)
        top = fmax(top, s->level[k] + (x->stamp[k] == x->trial ? x->change[k] : 0));
    for (int64_t k = first; k < first + s->m->cells; k++) {
        const double level = s->level[k] + (x->stamp[k] == x->trial ? x->change[k] : 0);
        sum += sked_i_exp(fmax(-700, (level - top) / s->tau[p]));
    }
    return s->m->weight[p] * (top + s->tau[p] * sked_i_log(sum));
}

static double rise_of(pusher *x)
{
    const sked_i_gaus_state *s = x->s;
    const sked_i_relaxation *m = s->m;
    double rise = 0;
    for (int32_t k = 0; k < x->logged; k++)
        rise += m->alpha * x->slope[x->log[k].op] * (x->log[k].to - x->log[k].from);
    change_levels(x);
    memcpy(x->sum, s->sum, (size_t)m->profiles * sizeof *x->sum);
    for (int64_t t = 0; t < x->touches; t++) {
        const int64_t k = x->touched[t];
        const int32_t p = (int32_t)(k / m->cells);
        if (m->weight[p] > 0)
            x->sum[p] += sked_i_gaus_state_mass(s, p, s->level[k] + x->change[k]) - s->mass[k];
    }
    for (int32_t p = 0; p < m->profiles; p++)
        if (m->weight[p] > 0 && x->sum[p] != s->sum[p])
            rise += (exact(x->sum[p]) ? smoothed_peak(s, p, x->sum[p]) : peak_anew(x, p)) -
                    smoothed_peak(s, p, s->sum[p]);
    return rise;
}

/* ------------------------------------------------------------------ moves */

static void smooth(pusher *x)
{
    sked_i_gaus_state *s = x->s;
    sked_i_gaus_state_smooth(s, x->relative_tau);
    x->energy = s->m->alpha * s->communication;
    for (int32_t p = 0; p < s->m->profiles; p++)
        x->energy += s->m->weight[p] > 0 ? smoothed_peak(s, p, s->sum[p]) : 0;
}

static void take(pusher *x, double rise)
{
    sked_i_gaus_state *s = x->s;
    const sked_i_relaxation *m = s->m;
    bool good = true;
    for (int32_t k = 0; k < x->logged; k++)
        s->communication += x->slope[x->log[k].op] * (x->log[k].to - x->log[k].from);
    for (int64_t t = 0; t < x->touches; t++) {
        const int64_t k = x->touched[t];
        const int32_t p = (int32_t)(k / m->cells);
        s->level[k] += x->change[k];
        s->mass[k] = m->weight[p] > 0 ? sked_i_gaus_state_mass(s, p, s->level[k]) : 0;
    }
    memcpy(s->sum, x->sum, (size_t)m->profiles * sizeof *x->sum);
    x->energy += rise;
    for (int32_t p = 0; p < m->profiles; p++)
        good = good && (m->weight[p] == 0 || exact(s->sum[p]));
    if (!good)
        smooth(x);
}

/* The smoothed objective is above the true one by at most this. */
static double blur(const sked_i_gaus_state *s)
{
    double sum = 0;
    for (int32_t p = 0; p < s->m->profiles; p++)
        sum += s->m->weight[p] > 0 ? s->m->weight[p] * s->tau[p] * sked_i_log(s->m->cells) : 0;
    return sum;
}

/* Takes a legal move or not, as Metropolis has it. */
static void judge(pusher *x, bool legal, sked_i_gaus_incumbent *best)
{
    const double rise = legal ? rise_of(x) : INFINITY;
    if (legal && (rise <= 0 || sked_i_rng_uniform(x->rng) < sked_i_exp(fmax(-700, -rise / x->temperature)))) {
        take(x, rise);
        if (rise < 0 && x->energy - blur(x->s) < best->value)
            sked_i_gaus_keep(best, x->s);
        x->logged = 0;
    } else {
        take_back(x);
    }
}

/* Mostly the next step. */
static int32_t draw_place(pusher *x, int32_t i)
{
    const sked_i_relaxation *m = x->s->m;
    const int32_t at = x->s->at[i], reach = SKED_I_GAUS_FARTHEST;
    const int32_t lo = m->lo[i] > at - reach ? m->lo[i] : at - reach;
    const int32_t hi = m->hi[i] < at + reach ? m->hi[i] : at + reach;
    if (sked_i_rng_below(x->rng, 4) > 0)
        return at + (sked_i_rng_below(x->rng, 2) == 0 ? 1 : -1);
    return lo + (int32_t)sked_i_rng_below(x->rng, (uint64_t)(hi - lo + 1));
}

/* An op of about the same weight in another step, -1: none drawn. Near ones are the likelier. */
static int32_t draw_partner(pusher *x, int32_t i)
{
    const double range = sked_i_log(x->heavies);
    assert(x->heavies > 1 && x->heavy[x->rank[i]] == i);
    for (int k = 0; k < partners; k++) {
        const int32_t far = (int32_t)(sked_i_exp(range * sked_i_rng_uniform(x->rng)) + 0.5);
        const int32_t rank = x->rank[i] + (sked_i_rng_below(x->rng, 2) == 0 ? far : -far);
        if (rank >= 0 && rank < x->heavies && x->s->at[x->heavy[rank]] != x->s->at[i])
            return x->heavy[rank];
    }
    return -1;
}

static void try_push(pusher *x, sked_i_gaus_incumbent *best)
{
    const int32_t i = x->movable[sked_i_rng_below(x->rng, (uint64_t)x->count)];
    assert(x->logged == 0);
    judge(x, push(x, i, draw_place(x, i)), best);
}

static void try_exchange(pusher *x, sked_i_gaus_incumbent *best)
{
    const int32_t i = x->heavy[sked_i_rng_below(x->rng, (uint64_t)x->heavies)], j = draw_partner(x, i);
    if (j < 0)
        return;
    const int32_t here = x->s->at[i], there = x->s->at[j];
    judge(x, push(x, i, there) && push(x, j, here), best);
}

/* ------------------------------------------------------------------ opening and closing */

static double weight_of(const sked_i_relaxation *m, int32_t i)
{
    double weight = 0;
    for (int64_t u = m->use_ptr[i]; u < m->use_ptr[i + 1]; u++)
        weight += m->weight[m->use_profile[u]] * m->use_amount[u] * m->duration[i];
    return weight;
}

static sked_status rank_ops(pusher *x, sked_error *err)
{
    const sked_i_relaxation *m = x->s->m;
    sked_status st = SKED_OK;
    sked_i_keyed *sorted = NULL;
    SKED_OWN(&x->arena, x->movable, m->n);
    SKED_OWN(&x->arena, x->heavy, m->n);
    SKED_OWN(&x->arena, x->rank, m->n);
    SKED_NEW(sorted, 2 * (int64_t)m->n);
    for (int32_t i = 0; i < m->n; i++) {
        if (m->lo[i] == m->hi[i])
            continue;
        x->movable[x->count++] = i;
        if (weight_of(m, i) > 0)
            sorted[x->heavies++] = (sked_i_keyed){sked_i_sort_key(weight_of(m, i)), i};
    }
    sked_i_sort_keyed(sorted, sorted + x->heavies, x->heavies);
    for (int32_t k = 0; k < x->heavies; k++) {
        x->heavy[k] = (int32_t)sorted[k].value;
        x->rank[x->heavy[k]] = k;
    }
cleanup:
    free(sorted);
    return st;
}

static sked_status open_pusher(pusher *x, sked_error *err)
{
    const sked_i_relaxation *m = x->s->m;
    const int64_t rows = (int64_t)m->profiles * m->cells;
    sked_status st = SKED_OK;
    SKED_OWN0(&x->arena, x->slope, m->n);
    SKED_OWN(&x->arena, x->change, rows);
    SKED_OWN0(&x->arena, x->stamp, rows);
    SKED_OWN(&x->arena, x->touched, rows);
    SKED_OWN(&x->arena, x->sum, m->profiles);
    for (int64_t e = 0; e < m->g->n_edges; e++) {
        x->slope[m->g->edge_to[e]] += sked_i_relaxation_counts(m, e) ? m->bytes[e] : 0;
        x->slope[m->g->edge_from[e]] -= sked_i_relaxation_counts(m, e) ? m->bytes[e] : 0;
    }
    SKED_TRY(rank_ops(x, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ annealing */

bool sked_i_gaus_pushable(const sked_i_relaxation *m)
{
    bool loads = false;
    for (int32_t p = 0; p < m->profiles; p++)
        loads = loads || m->weight[p] > 0;
    return loads && (int64_t)m->profiles * m->cells <= most_cells && m->alpha > 0 && m->period == 0 &&
           !m->with_memory && !m->capped;
}

/* Sets temperature and smoothing, 0: hot and soft, 1: cold and sharp. */
static void cool(pusher *x, double heat, double progress)
{
    const sked_i_relaxation *m = x->s->m;
    double typical = 0;
    for (int32_t p = 0; p < m->profiles; p++)
        typical = fmax(typical, m->weight[p] * m->typical[p]);
    const double last = fmin(softest, sharp * m->alpha / typical);
    const double first = fmax(last, fmin(softest, typical / (soft * m->alpha * m->cells)));
    x->temperature = heat * m->alpha * hot * pow(cold / hot, progress);
    x->relative_tau = first * pow(last / first, progress);
    smooth(x);
}

static void anneal(pusher *x, int32_t moves, sked_i_gaus_incumbent *best)
{
    for (int32_t k = 0; k <= moves; k++) {
        if (x->heavies > 1 && sked_i_rng_below(x->rng, 2) == 0)
            try_exchange(x, best);
        else
            try_push(x, best);
        if (((k & 255) == 255 || x->touches > long_move) && sked_i_limit_reached(x->limit))
            break;
    }
    sked_i_gaus_keep(best, x->s);
}

/* Does the time allow few passes only, by the pace of the first piece? */
static bool hurried(double done, double begin, const sked_i_limit *limit)
{
    const double now = sked_clock();
    return isfinite(limit->deadline) && limit->paced &&
           done * (limit->deadline - now) < few_passes * (now - begin);
}

/* Goes on from best. */
static void cool_down(pusher *x, double sweeps, double heat, double goal, sked_i_gaus_incumbent *best)
{
    const double begin = sked_clock(), all = sweeps * pieces;
    sked_i_gaus_state_load(x->s, best->start);
    for (double piece = 0; piece < all && best->value > goal && !sked_i_limit_reached(x->limit); piece++) {
        cool(x, heat, sked_i_gaus_progress(piece, all, begin, x->limit));
        anneal(x, x->count / pieces, best);
    }
}

sked_status sked_i_gaus_push(sked_i_gaus_state *s, double sweeps, double heat, sked_i_rng *rng,
                             const sked_i_limit *limit, double goal, sked_i_gaus_incumbent *best,
                             sked_error *err)
{
    pusher x = {.s = s, .rng = rng, .limit = limit};
    const double begin = sked_clock();
    bool few = false;
    assert(sked_i_gaus_pushable(s->m) && best->value < INFINITY);
    if (sked_i_limit_reached(limit))
        return SKED_OK;
    sked_status st = open_pusher(&x, err);
    if (st != SKED_OK || x.count == 0)
        goto cleanup;
    sked_i_gaus_state_load(s, best->start);
    cool(&x, heat, 1);
    anneal(&x, x.count / pieces, best);
    few = hurried(1.0 / pieces, begin, limit);
    if (!few)
        cool_down(&x, sweeps, heat, goal, best);
cleanup:
    sked_i_arena_free(&x.arena);
    return few ? sked_i_gaus_polish(s, sweeps, heat, rng, limit, goal, best, err) : st;
}
