/*
 * Adam on the means, log widths and logits of the shares of one grid. There is no objective but to keep
 * every rule within a horizon that no schedule has reached yet; what is broken least is decoded.
 */
#include "base/explog.h"
#include "base/rng.h"
#include "method/gaus/device.h"

#include <string.h>

typedef struct lines_descent {
    const sked_i_gaus_grid *grid;
    const sked_i_gaus_tuning *tuning;
    const sked_i_gaus_device_backend *backend;
    sked_i_gaus_device_engine *engine;
    sked_i_gaus_device_point at, gradient;
    double *logit;               /* [n * m] */
    double *momentum, *variance; /* [2 n + n m] of Adam: mu, log sigma, logits */
    double *mean, *spread;       /* [n] in units of time, for a recording; NULL: nobody listens */
    sked_i_gaus_decay decay;
    double widest, before[SKED_I_GAUS_FAMILIES];
    sked_i_gaus_device_terms terms;
} lines_descent;

static const double sigma_least = 0.15;

static sked_status open_descent(lines_descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_backend *backend;
    const int64_t n = d->grid->base->n, shares = n * d->grid->base->m;
    SKED_TRY(sked_i_backend_find("cpu", &backend, err));
    d->backend = backend->gaus_device;
    SKED_TRY(d->backend->create(&d->grid->view, d->tuning->threads, &d->engine, err));
    SKED_NEW(d->at.mu, n);
    SKED_NEW(d->at.sigma, n);
    SKED_NEW(d->at.share, shares);
    SKED_NEW(d->gradient.mu, n);
    SKED_NEW(d->gradient.sigma, n);
    SKED_NEW(d->gradient.share, shares);
    SKED_NEW(d->logit, shares);
    SKED_NEW0(d->momentum, 2 * n + shares);
    SKED_NEW0(d->variance, 2 * n + shares);
    d->decay = (sked_i_gaus_decay){1, 1};
    if (d->tuning->record != NULL) {
        SKED_NEW(d->mean, n);
        SKED_NEW(d->spread, n);
    }
cleanup:
    return st;
}

static void close_descent(lines_descent *d)
{
    if (d->engine != NULL)
        d->backend->destroy(d->engine);
    void *const owned[] = {d->at.mu,          d->at.sigma,       d->at.share, d->gradient.mu,
                           d->gradient.sigma, d->gradient.share, d->logit,    d->momentum,
                           d->variance,       d->mean,           d->spread};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

/* ------------------------------------------------------------------ where it begins */

static void place_means(lines_descent *d, int kind, const sked_i_gaus_plan *from)
{
    const sked_i_gaus_grid *g = d->grid;
    const double squeeze = from->value > 0 ? fmin(1, g->horizon / from->value) / g->width : 0;
    for (int32_t i = 0; i < g->base->n; i++) {
        const double lo = g->lo[i], hi = g->hi[i];
        double mu = from->start[i] * squeeze;
        if (kind == SKED_I_GAUS_LINES_MIDDLE)
            mu = 0.5 * (lo + hi);
        d->at.mu[i] = fmin(hi, fmax(lo, mu));
        const double window = hi - lo;
        d->at.sigma[i] = fmax(sigma_least, fmin(d->tuning->sigma_most, d->tuning->kappa * window));
    }
}

/* Noise breaks the symmetry of equal devices where the start does not. */
static void place_shares(lines_descent *d, int kind, const sked_i_gaus_plan *from, sked_i_rng *rng)
{
    const int32_t m = d->grid->base->m;
    const double lead = kind == SKED_I_GAUS_LINES_NEAR ? 2 + log(fmax(1, m - 1)) : 0;
    for (int32_t i = 0; i < d->grid->base->n; i++)
        for (int32_t k = 0; k < m; k++)
            d->logit[(int64_t)i * m + k] = 0.3 * sked_i_rng_normal(rng) + (k == from->device[i] ? lead : 0);
}

/* Softmax of the logits at a temperature; pinned ops stay on their device. */
static void set_shares(lines_descent *d, double temperature)
{
    const int32_t m = d->grid->base->m, *fix = d->grid->base->p->fix_device;
    for (int32_t i = 0; i < d->grid->base->n; i++) {
        const double *logit = d->logit + (int64_t)i * m;
        double *share = d->at.share + (int64_t)i * m, most = -INFINITY, sum = 0;
        for (int32_t k = 0; k < m; k++)
            most = fmax(most, logit[k]);
        for (int32_t k = 0; k < m; k++) {
            const double x = (logit[k] - most) / temperature;
            sum += share[k] = x > -30 ? sked_i_exp(x) : 0;
        }
        for (int32_t k = 0; k < m; k++)
            share[k] = fix != NULL && fix[i] >= 0 ? k == fix[i] : share[k] / sum;
    }
}

/* ------------------------------------------------------------------ one step */

static sked_status evaluate(lines_descent *d, sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = d->backend->evaluate(d->engine, &d->terms, &d->at, &d->gradient, value, err);
    if (st == SKED_OK && !isfinite(value->total))
        st = sked_i_fail(err, SKED_ERR_BUG,
                         "the differentiable scheduler met a number that is not finite: total %g, violations "
                         "%g %g %g, multipliers %g %g %g, %d cells of %g",
                         value->total, value->violation[0], value->violation[2], value->violation[3],
                         d->terms.multiplier[0], d->terms.multiplier[2], d->terms.multiplier[3],
                         (int)d->grid->view.cells, d->grid->width);
    return st;
}

/*
 * Multipliers are the inverse of the mean pull at the start; capacities a tenth of that, for they are met
 * soon and dependencies late (measured).
 */
static sked_status set_multipliers(lines_descent *d, sked_error *err)
{
    static const int families[] = {SKED_I_GAUS_DEPENDENCY, SKED_I_GAUS_CAPACITY};
    sked_status st = SKED_OK;
    sked_i_gaus_value value;
    double found[2] = {1, 1};
    for (int f = 0; st == SKED_OK && f < 2; f++) {
        double pull = 0;
        d->terms = (sked_i_gaus_device_terms){0};
        d->terms.multiplier[families[f]] = 1;
        st = evaluate(d, &value, err);
        for (int32_t i = 0; st == SKED_OK && i < d->grid->base->n; i++)
            pull += fabs(d->gradient.mu[i]);
        found[f] = fmin(1e3, d->grid->base->n / fmax(pull, 1e-9));
    }
    d->terms = (sked_i_gaus_device_terms){0};
    d->terms.multiplier[SKED_I_GAUS_DEPENDENCY] = d->terms.multiplier[SKED_I_GAUS_LATENCY] = found[0];
    d->terms.multiplier[SKED_I_GAUS_CAPACITY] = 0.1 * found[1];
    return st;
}

static void raise_multipliers(lines_descent *d, const sked_i_gaus_value *value)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        if (value->violation[f] > 0.99 * d->before[f] && value->violation[f] > 1e-6)
            d->terms.multiplier[f] *= 1.03;
        d->before[f] = value->violation[f];
    }
}

/* The gradient of the shares goes through the softmax to the logits. */
static void step_shares(lines_descent *d, int32_t i, double rate)
{
    const int32_t m = d->grid->base->m;
    const int64_t first = (int64_t)i * m, offset = 2 * (int64_t)d->grid->base->n + first;
    double *momentum = d->momentum + offset, *variance = d->variance + offset;
    const double *share = d->at.share + first, *dshare = d->gradient.share + first;
    double mean = 0;
    for (int32_t k = 0; k < m; k++)
        mean += share[k] * dshare[k];
    for (int32_t k = 0; k < m; k++)
        d->logit[first + k] -=
            rate * sked_i_gaus_adam(&d->decay, momentum + k, variance + k, share[k] * (dshare[k] - mean));
}

static sked_status step(lines_descent *d, double way, sked_error *err)
{
    const sked_i_gaus_grid *g = d->grid;
    const int64_t n = g->base->n;
    const double cooling = 1 - 0.8 * way;
    d->decay.first *= 0.9;
    d->decay.second *= 0.99;
    for (int32_t i = 0; i < n; i++) {
        const double window = g->hi[i] - g->lo[i];
        if (!isfinite(d->gradient.mu[i]) || !isfinite(d->gradient.sigma[i]))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler's gradient is not finite at op %d: mu %g (%g), "
                               "sigma %g (%g), window %g..%g",
                               (int)i, d->at.mu[i], d->gradient.mu[i], d->at.sigma[i], d->gradient.sigma[i],
                               g->lo[i], g->hi[i]);
        if (g->base->m > 1)
            step_shares(d, i, d->tuning->rate * cooling);
        if (!(window > 0))
            continue;
        const double rate = 5 * d->tuning->rate * cooling * fmin(2, fmax(0.1, 0.02 * window));
        d->at.mu[i] =
            fmin(g->hi[i],
                 fmax(g->lo[i], d->at.mu[i] - rate * sked_i_gaus_adam(&d->decay, &d->momentum[i],
                                                                      &d->variance[i], d->gradient.mu[i])));
        if (d->tuning->fixed_sigma)
            continue;
        const double turn = sked_i_gaus_adam(&d->decay, &d->momentum[n + i], &d->variance[n + i],
                                             d->gradient.sigma[i] * d->at.sigma[i]);
        d->at.sigma[i] = fmax(sigma_least, fmin(d->at.sigma[i] * sked_i_exp(-0.05 * turn), d->widest));
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ the descent */

static void record(lines_descent *d, int32_t k, const sked_i_gaus_value *value, double best)
{
    const int32_t n = d->grid->base->n;
    if (d->mean == NULL)
        return;
    for (int32_t i = 0; i < n; i++) {
        d->mean[i] = d->at.mu[i] * d->grid->width;
        d->spread[i] = d->at.sigma[i] * d->grid->width;
    }
    sked_i_record_step step = {.step = k, .objective = NAN, .best = best};
    memcpy(step.violation, value->violation, sizeof step.violation);
    sked_i_recording_keep(d->tuning->record, &step, d->mean, d->spread);
}

static sked_status descend(lines_descent *d, sked_i_gaus_decoder *dec, sked_i_rng *rng,
                           const sked_i_limit *limit, sked_i_gaus_plan *best, sked_error *err)
{
    const sked_i_gaus_tuning *t = d->tuning;
    const double begin = sked_clock();
    sked_status st = SKED_OK;
    sked_i_gaus_value value;
    int32_t all = t->iterations;
    for (int32_t k = 0; st == SKED_OK && k < all && !sked_i_limit_reached(limit); k++) {
        if (k == t->every)
            all = sked_i_gaus_affordable(begin, k, all, 4, limit);
        const double way = (double)k / all;
        d->widest = t->sigma_most * pow(0.05, way);
        set_shares(d, 1 - 0.8 * way);
        SKED_TRY(evaluate(d, &value, err));
        record(d, k, &value, best->value);
        SKED_TRY(step(d, way, err));
        raise_multipliers(d, &value);
        if ((k + 1) % t->every != 0)
            continue;
        SKED_TRY(sked_i_gaus_decode(dec, &d->at, 2, rng, best, err));
        if (best->value <= t->goal)
            break;
    }
cleanup:
    return st;
}

sked_status sked_i_gaus_device_descend(const sked_i_gaus_grid *grid, sked_i_gaus_decoder *dec,
                                       const sked_i_gaus_tuning *tuning, int kind,
                                       const sked_i_gaus_plan *from, sked_i_rng *rng,
                                       const sked_i_limit *limit, sked_i_gaus_plan *best, sked_error *err)
{
    lines_descent d = {.grid = grid, .tuning = tuning};
    sked_status st = open_descent(&d, err);
    if (st == SKED_OK) {
        place_means(&d, kind, from);
        place_shares(&d, kind, from, rng);
        set_shares(&d, 1);
        st = set_multipliers(&d, err);
    }
    if (st == SKED_OK)
        st = descend(&d, dec, rng, limit, best, err);
    close_descent(&d);
    return st;
}
