/*
 * Descent on the means alone, for peak memory: the relaxation without a sigma of its own for every op. The
 * profile of the means is smoothed over time by one common width, so a step takes O(ops + edges + steps)
 * where the Gaussians take their windows, and large circuits get their hundreds of steps on a processor.
 *
 *   profile   value i lives from mu_i to the latest mu_j of its readers; a mean between two steps is shared
 *   price     softmax of the smoothed profile, smoothed once more: what a value costs in a step
 *   gradient  -price(mu_i) for the start of a value; +price(its end) shared among its latest readers
 *   edges     a pull where mu_to - mu_from comes near the gap; after each step ops whose edges are broken
 *             move on together, to the mean of the places they want, so that rounding alone is legal
 *
 * With an interval the profile is folded, lives end with readers of later iterations, and the means move to
 * the middle of the least starts above and the largest below that keep the edges; carried edges are kept in a
 * few passes: rounding repairs what these leave.
 */
#include "engine/gaus/gaus_relaxation.h"

#include "backend/gaus_step.h"

#include <assert.h>
#include <string.h>

typedef struct descent {
    sked_i_arena arena;
    const sked_i_relaxation *m;
    const sked_i_gaus_tuning *tuning;
    double *mu;                  /* [n] */
    double *dmu;                 /* [n] gradient; once the step is made, the means before it */
    double *end;                 /* [n] when the last reader of a value starts; scratch between steps */
    double *momentum, *variance; /* [n] of Adam */
    double *profile, *price;     /* [cells + 1] */
    double base;                 /* folded: what every cell of the profile has beside its changes */
    double *sums;                /* [cells + 1] scratch */
    sked_i_gaus_decay decay;
    double peak;  /* of the start: the scale of tau */
    double width; /* of the smoothing over time, in steps */
    double tau;
    double scale; /* falls with every return to the incumbent */
    double pull;  /* of an edge that is far too short */
} descent;

/* Starting widths, found on circuits of 700 to 57,000 ops. */
static const double widest = 2, least_width = 0.15;

/*
 * How far from shallow (0) to deep (1) the problem is. On long horizons gentle edges and a flat price at the
 * start let whole chains move; where a few steps are all there are, edges must hold. Found on the same
 * circuits, and on factorisations and random graphs of 2,000 ops in 20 to 80 steps.
 */
static double depth_of(const sked_i_relaxation *m)
{
    return m->period > 0 ? 0 : fmin(1, m->steps / 250.0);
}

static sked_status open_descent(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = d->m->n, cells = d->m->cells;
    SKED_OWN(&d->arena, d->dmu, n);
    SKED_OWN(&d->arena, d->end, n);
    SKED_OWN0(&d->arena, d->momentum, n);
    SKED_OWN0(&d->arena, d->variance, n);
    SKED_OWN(&d->arena, d->profile, cells + 1);
    SKED_OWN(&d->arena, d->price, cells + 1);
    SKED_OWN(&d->arena, d->sums, cells + 1);
cleanup:
    return st;
}

/* fmax and fmin are calls; no number here is NAN. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}
static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ------------------------------------------------------------------ rows over time */

/* A change of the folded profile in one step: it counts there and in all later intervals. */
static inline void put_folded(descent *d, int64_t step, double amount)
{
    d->profile[step % d->m->period] += amount;
    d->base -= amount * (double)(step / d->m->period);
}

/* A change of the profile. A mean between two steps counts in both. */
static inline void put(descent *d, double at, double amount)
{
    const int64_t k = (int64_t)at;
    const double share = at - (double)k;
    assert(at >= 0 && (d->m->period > 0 || k < d->m->cells));
    if (d->m->period > 0) {
        put_folded(d, k, amount * (1 - share));
        put_folded(d, k + 1, amount * share);
    } else {
        d->profile[k] += amount * (1 - share);
        d->profile[k + 1] += amount * share;
    }
}

static inline double price_at(const descent *d, double at)
{
    const int64_t k = (int64_t)at, period = d->m->period;
    const double share = at - (double)k;
    if (period > 0)
        return d->price[k % period] * (1 - share) + d->price[(k + 1) % period] * share;
    return d->price[k] * (1 - share) + d->price[k + 1] * share;
}

/* Moving average over `half` cells to both sides around the interval, twice. */
static void smooth_folded(const descent *d, double *row)
{
    const int32_t cells = d->m->cells, wanted = (int32_t)(d->width + 0.5), most = (cells - 1) / 2;
    const int32_t half = wanted < most ? wanted : most;
    for (int pass = 0; half > 0 && pass < 2; pass++) {
        double sum = 0;
        for (int32_t c = -half; c <= half; c++)
            sum += row[(c + cells) % cells];
        for (int32_t c = 0; c < cells; c++) {
            d->sums[c] = sum / (2 * half + 1);
            sum += row[(c + half + 1) % cells] - row[(c - half + cells) % cells];
        }
        memcpy(row, d->sums, (size_t)cells * sizeof *row);
    }
}

/* Moving average over `half` steps to both sides, twice. Outside the horizon nothing lives. */
static void smooth(const descent *d, double *row)
{
    const int32_t cells = d->m->cells, half = (int32_t)(d->width + 0.5);
    if (d->m->period > 0) {
        smooth_folded(d, row);
        return;
    }
    for (int pass = 0; half > 0 && pass < 2; pass++) {
        double sum = 0;
        for (int32_t c = 0; c <= half && c < cells; c++)
            sum += row[c];
        for (int32_t c = 0; c < cells; c++) {
            d->sums[c] = sum / (2 * half + 1);
            sum += c + half + 1 < cells ? row[c + half + 1] : 0;
            sum -= c - half >= 0 ? row[c - half] : 0;
        }
        memcpy(row, d->sums, (size_t)cells * sizeof *row);
    }
}

/* ------------------------------------------------------------------ the gradient */

/* When the last reader of value i starts, not before i itself. */
static inline double end_of(const descent *d, int32_t i)
{
    const sked_i_relaxation *m = d->m;
    double end = d->mu[i];
    for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++) {
        const double use = d->mu[m->g->edge_to[e]] + m->shift[e];
        end = sked_i_relaxation_reads(m, e) && use > end ? use : end;
    }
    return end;
}

static void fill_profile(descent *d)
{
    const sked_i_relaxation *m = d->m;
    d->base = 0;
    memset(d->profile, 0, ((size_t)m->cells + 1) * sizeof *d->profile);
    for (int32_t i = 0; i < m->n; i++) {
        if (m->memory[i] == 0)
            continue;
        d->end[i] = end_of(d, i);
        put(d, d->mu[i], m->memory[i]);
        put(d, d->end[i], -m->memory[i]);
    }
    double level = d->base;
    for (int32_t c = 0; c < m->cells; c++)
        d->profile[c] = level += d->profile[c];
    smooth(d, d->profile);
}

static void fill_price(descent *d)
{
    const int32_t cells = d->m->cells;
    double most = 0, sum = 0;
    for (int32_t c = 0; c < cells; c++)
        most = d->profile[c] > most ? d->profile[c] : most;
    for (int32_t c = 0; c < cells; c++) {
        const double x = (d->profile[c] - most) / d->tau;
        sum += d->price[c] = x > -40 ? sked_i_exp(x) : 0;
    }
    assert(sum > 0);
    for (int32_t c = 0; c < cells; c++)
        d->price[c] /= sum;
    d->price[cells] = 0;
    smooth(d, d->price);
}

/* Share of a reader in the end of a value, `early` widths before the latest one. */
static inline double share_of(double early)
{
    const double x = 1 + early * early;
    return 1 / (x * x);
}

/* The end of value i pulls its latest readers, by their share. */
static void pull_readers(descent *d, int32_t i)
{
    const sked_i_relaxation *m = d->m;
    const sked_graph *g = m->g;
    const int64_t first = g->succ_ptr[i], past = g->succ_ptr[i + 1];
    const double end = d->end[i], inverse = 1 / d->width, price = m->memory[i] * price_at(d, end);
    double shares = 0;
    d->dmu[i] -= m->memory[i] * price_at(d, d->mu[i]);
    if (price == 0)
        return;
    if (past - first == 1) { /* as most values have: no shares to divide */
        d->dmu[g->edge_to[first]] += sked_i_relaxation_reads(m, first) ? price : 0;
        return;
    }
    for (int64_t e = first; e < past; e++)
        if (sked_i_relaxation_reads(m, e))
            shares += share_of((end - d->mu[g->edge_to[e]] - m->shift[e]) * inverse);
    for (int64_t e = first; e < past; e++)
        if (sked_i_relaxation_reads(m, e))
            d->dmu[g->edge_to[e]] +=
                price / shares * share_of((end - d->mu[g->edge_to[e]] - m->shift[e]) * inverse);
}

/* Edges that are short, or nearly so, pull their ends apart. The half step is the continuity correction. */
static void pull_edges(descent *d, int32_t i)
{
    const sked_i_relaxation *m = d->m;
    const double slope = 0.7 / d->width;
    double own = 0;
    for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++) {
        if (!sked_i_relaxation_counts(m, e))
            continue;
        const double x = slope * (m->gap[e] - 0.5 + d->mu[i] - d->mu[m->g->edge_to[e]]);
        const double pull = d->pull * (0.5 + 0.5 * x / sqrt(1 + x * x));
        own += pull;
        d->dmu[m->g->edge_to[e]] -= pull;
    }
    d->dmu[i] += own;
}

static void find_gradient(descent *d)
{
    const sked_i_relaxation *m = d->m;
    fill_profile(d);
    fill_price(d);
    memset(d->dmu, 0, (size_t)m->n * sizeof *d->dmu);
    for (int32_t i = 0; i < m->n; i++) {
        if (m->memory[i] > 0)
            pull_readers(d, i);
        if (d->pull > 0)
            pull_edges(d, i);
    }
}

/* Edges pull so many times as hard as the objective pulls a mean op. */
static void set_pull(descent *d)
{
    double sum = 0;
    int64_t count = 0;
    d->pull = 0;
    find_gradient(d);
    for (int32_t i = 0; i < d->m->n; i++) {
        sum += fabs(d->dmu[i]);
        count += d->dmu[i] != 0;
    }
    const double times = 10 - 8.5 * depth_of(d->m);
    d->pull = count > 0 ? times * sum / (double)count : 1;
}

/* ------------------------------------------------------------------ one step */

/* tau falls from a share of the peak to the size of one op, the width to a fifth. */
static void set_smoothing(descent *d, double progress)
{
    const int32_t p = d->m->profiles;
    const double share = 0.1 + 0.1 * depth_of(d->m);
    const double fine = d->m->typical[p], coarse = fmax(2 * fine, share * d->peak);
    d->tau = fmax(coarse * pow(fine / coarse, progress), d->m->largest[p] / 600);
    d->width = fmax(least_width, widest * d->scale * (1 - 0.8 * progress));
}

/*
 * The farthest that a mean moves: a share of its window; within a stretch of steps each could cross its
 * window a few times.
 */
typedef struct stride {
    double rate, crossing;
} stride;

static stride stride_of(const descent *d, double progress, int32_t stretch)
{
    const double cooling = 1 - 0.8 * progress;
    return (stride){10 * d->tuning->rate * cooling, d->scale >= 1 ? 5 * cooling / stretch : 0};
}

static inline double farthest(const stride *s, double window)
{
    return larger(s->rate * smaller(2, larger(0.1, 0.02 * window)), s->crossing * window);
}

/* How hard a mean insists on its place: the size of its gradient, as Adam knows it. */
static inline double weight_of(const descent *d, int32_t i)
{
    return sqrt(d->variance[i] / (1 - d->decay.second)) + 1e-30;
}

/* Moves the means, edges or not. Leaves the old ones in dmu and the weights of the new ones in end. */
static void step(descent *d, const stride *s)
{
    const sked_i_relaxation *m = d->m;
    sked_i_gaus_decay_advance(&d->decay);
    for (int32_t i = 0; i < m->n; i++) {
        const double window = m->hi[i] - m->lo[i], old = d->mu[i];
        if (window > 0) {
            const double move = sked_i_gaus_adam(&d->decay, &d->momentum[i], &d->variance[i], d->dmu[i]);
            d->mu[i] = smaller(m->hi[i], larger(m->lo[i], old - farthest(s, window) * move));
        }
        d->dmu[i] = old;
        d->end[i] = weight_of(d, i);
    }
}

/* The momentum of what the means have actually moved. */
static void follow(descent *d, const stride *s)
{
    const sked_i_relaxation *m = d->m;
    for (int32_t i = 0; i < m->n; i++) {
        const double window = m->hi[i] - m->lo[i];
        if (window > 0)
            d->momentum[i] =
                (d->dmu[i] - d->mu[i]) / farthest(s, window) * (1 - d->decay.first) * weight_of(d, i);
    }
}

/* ------------------------------------------------------------------ edges */

static void push_later(const sked_i_relaxation *m, double *at)
{
    const sked_graph *g = m->g;
    for (int32_t k = 0; k < m->n; k++) {
        const int32_t i = m->order[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (sked_i_relaxation_counts(m, e))
                at[g->edge_to[e]] = larger(at[g->edge_to[e]], at[i] + m->gap[e]);
    }
}

static void push_earlier(const sked_i_relaxation *m, double *at)
{
    const sked_graph *g = m->g;
    for (int32_t k = m->n; k-- > 0;) {
        const int32_t i = m->order[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (sked_i_relaxation_counts(m, e))
                at[i] = smaller(at[i], at[g->edge_to[e]] - m->gap[e]);
    }
}

/* Takes `at`, of weight *weight, to the mean of itself and `other`. Never beyond `other`. */
static inline double meet(double at, double *weight, double other, double others)
{
    assert(*weight > 0 && others > 0);
    *weight += others;
    const double mean = at + (other - at) * (others / *weight);
    return at < other ? smaller(mean, other) : larger(mean, other);
}

/*
 * Along each broken edge both ends move to their weighted mean, as isotonic regression does on a chain: the
 * reader takes the weight of what pushes it with it, each op shares its own among its readers. Then what
 * stands before moves back as far as it must.
 */
static void average_later(const sked_i_relaxation *m, double *at, double *weight)
{
    const sked_graph *g = m->g;
    for (int32_t k = 0; k < m->n; k++) {
        const int32_t i = m->order[k];
        const double share = weight[i] / larger(1, (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]));
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int32_t j = g->edge_to[e];
            if (sked_i_relaxation_counts(m, e) && at[i] + m->gap[e] > at[j])
                at[j] = meet(at[j], &weight[j], at[i] + m->gap[e], share);
        }
    }
    push_earlier(m, at);
}

static void average_earlier(const sked_i_relaxation *m, double *at, double *weight)
{
    const sked_graph *g = m->g;
    for (int32_t k = m->n; k-- > 0;) {
        const int32_t i = m->order[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const int32_t j = g->edge_to[e];
            const double share = weight[j] / (double)(g->pred_ptr[j + 1] - g->pred_ptr[j]);
            if (sked_i_relaxation_counts(m, e) && at[j] - m->gap[e] < at[i])
                at[i] = meet(at[i], &weight[i], at[j] - m->gap[e], share);
        }
    }
    push_later(m, at);
}

/* The middle of the means pushed later and pushed earlier until every edge holds. O(ops + edges). */
static void keep_folded_edges(descent *d)
{
    enum { passes = 3 };
    const sked_i_relaxation *m = d->m;
    double *later = d->mu, *earlier = d->end;
    memcpy(earlier, later, (size_t)m->n * sizeof *later);
    for (int pass = 0; pass < passes; pass++) {
        push_later(m, later);
        push_earlier(m, earlier);
    }
    for (int32_t i = 0; i < m->n; i++)
        d->mu[i] = 0.5 * (later[i] + earlier[i]);
}

/* In turns, so that neither direction is preferred. O(ops + edges). */
static void keep_edges(descent *d, int32_t k)
{
    const sked_i_relaxation *m = d->m;
    if (m->period > 0)
        keep_folded_edges(d);
    else if (k % 2 == 0)
        average_earlier(m, d->mu, d->end);
    else
        average_later(m, d->mu, d->end);
    for (int32_t i = 0; i < m->n; i++)
        assert(d->mu[i] >= m->lo[i] && d->mu[i] <= m->hi[i]);
}

/* ------------------------------------------------------------------ the descent */

/* A stretch begins: from the incumbent but for the first one, and sharper each time. */
static void begin_stretch(descent *d, bool first, const sked_i_gaus_incumbent *best)
{
    const size_t bytes = (size_t)d->m->n * sizeof *d->mu;
    if (!first && best->value < INFINITY) {
        memcpy(d->mu, best->start, bytes);
        d->scale *= 0.5;
    }
    memset(d->momentum, 0, bytes);
    memset(d->variance, 0, bytes);
    d->decay = (sked_i_gaus_decay){1, 1};
    set_smoothing(d, 0);
    set_pull(d);
}

/* Stretches of steps: the first, and those that begin at the incumbent. */
typedef struct stretches {
    int32_t all, first, later;
} stretches;

/* The first one moves farthest and has half of the steps; with an interval, as many as the others. */
static stretches divide_steps(const descent *d, int32_t all)
{
    const int32_t restarts = d->tuning->restarts, even = all / (restarts + 1) + 1;
    if (restarts == 0 || d->m->period > 0)
        return (stretches){all, even, even};
    return (stretches){all, all / 2 + 1, (all - all / 2) / restarts + 1};
}

/* Step k. */
static void take_step(descent *d, int32_t k, const stretches *s, const sked_i_limit *limit)
{
    const bool fresh = k < s->first;
    const int32_t length = fresh ? s->first : s->later;
    assert(k >= 0 && k < s->all && length >= 1);
    const double progress = (double)(fresh ? k : (k - s->first) % s->later) / length;
    const stride most = stride_of(d, progress, length);
    set_smoothing(d, progress);
    find_gradient(d);
    if (sked_i_limit_reached(limit)) /* a step of a million ops takes half of 0.1 s */
        return;
    step(d, &most);
    keep_edges(d, k);
    if (d->m->period == 0 && !fresh) /* near a schedule; a fresh start needs its speed */
        follow(d, &most);
}

static void descend(descent *d, sked_i_gaus_legaliser *l, const sked_i_limit *limit,
                    sked_i_gaus_incumbent *best, int64_t *evaluations)
{
    const sked_i_gaus_tuning *t = d->tuning;
    stretches s = divide_steps(d, t->iterations);
    const double begin = sked_clock();
    for (int32_t k = 0; k < s.all && best->value > t->goal && !sked_i_limit_reached(limit); k++) {
        if (k == 6)
            s = divide_steps(d, sked_i_gaus_affordable(begin, k, s.all, 8, limit));
        if (k == 0 || (k >= s.first && (k - s.first) % s.later == 0))
            begin_stretch(d, k == 0, best);
        take_step(d, k, &s, limit);
        if ((k + 1) % t->every != 0)
            continue;
        (*evaluations)++;
        sked_i_gaus_load_rounded(l, d->mu);
        sked_i_gaus_keep(best, l->state);
    }
}

bool sked_i_gaus_means_suffice(const sked_i_relaxation *m)
{
    return m->with_memory && !m->capped;
}

sked_status sked_i_gaus_descend_means(sked_i_gaus_legaliser *l, const sked_i_gaus_tuning *tuning,
                                      const sked_i_limit *limit, double *mu, sked_i_gaus_incumbent *best,
                                      int64_t *evaluations, sked_error *err)
{
    descent d = {.m = l->m, .tuning = tuning, .mu = mu, .scale = tuning->sigma_scale};
    assert(sked_i_gaus_means_suffice(l->m) && tuning->every >= 1 && tuning->rate > 0);
    const sked_status st = open_descent(&d, err);
    if (st == SKED_OK) {
        sked_i_gaus_load_rounded(l, mu);
        d.peak = sked_i_gaus_state_value(l->state);
        descend(&d, l, limit, best, evaluations);
    }
    sked_i_arena_free(&d.arena);
    return st;
}
