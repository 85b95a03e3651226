/*
 * Adam on the means, log sigmas and logits of the shares of one grid. There is no objective but to keep
 * every rule within a horizon that no schedule has reached yet; what is broken least is decoded.
 */
#include "engine/gaus/device.h"

#include "backend/backend.h"
#include "base/explog.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

typedef struct descent {
    const sked_i_gaus_device_grid *grid;
    const sked_i_gaus_tuning *tuning;
    const sked_i_gaus_device_backend *backend;
    sked_i_gaus_device_evaluator *evaluator;
    sked_i_gaus_device_point at, gradient;
    double *logit;               /* [n * m] */
    double *momentum, *variance; /* [2 n + n m] of Adam: mu, log sigma, logits */
    double *mean, *deviation;    /* [n] in units of time, for who watches; NULL: nobody does */
    sked_i_gaus_decay decay;
    double widest, before[SKED_I_GAUS_FAMILIES];
    sked_i_gaus_device_terms terms;
} descent;

static sked_status open_descent(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_backend *backend;
    const int64_t n = d->grid->model->n, shares = n * d->grid->model->m;
    SKED_TRY(sked_i_backend_find("cpu", &backend, err));
    d->backend = backend->gaus_device;
    SKED_TRY(d->backend->create(&d->grid->view, d->tuning->threads, &d->evaluator, err));
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
        SKED_NEW(d->deviation, n);
    }
cleanup:
    return st;
}

static void close_descent(descent *d)
{
    if (d->evaluator != NULL)
        d->backend->destroy(d->evaluator);
    void *const owned[] = {d->at.mu,          d->at.sigma,       d->at.share, d->gradient.mu,
                           d->gradient.sigma, d->gradient.share, d->logit,    d->momentum,
                           d->variance,       d->mean,           d->deviation};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

/* ------------------------------------------------------------------ where it begins */

static void place_means(descent *d, int kind, const sked_i_gaus_incumbent *from)
{
    const sked_i_gaus_device_grid *g = d->grid;
    const double squeeze = from->value > 0 ? fmin(1, g->horizon / from->value) / g->width : 0;
    for (int32_t i = 0; i < g->model->n; i++) {
        const double lo = g->lo[i], hi = g->hi[i];
        double mu = from->start[i] * squeeze;
        if (kind == SKED_I_GAUS_DEVICE_MIDDLE)
            mu = 0.5 * (lo + hi);
        d->at.mu[i] = fmin(hi, fmax(lo, mu));
        const double window = hi - lo;
        d->at.sigma[i] =
            fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(d->tuning->sigma_most, d->tuning->kappa * window));
    }
}

/* Unequal devices: no share where an op cannot run; open ones fall with the time that it takes. */
static void prefer_fast(descent *d, int kind)
{
    const sked_i_gaus_device_model *b = d->grid->model;
    const sked_i_unequal *u = b->form->unequal;
    for (int32_t i = 0; i < b->n; i++) {
        const double shortest = sked_i_unequal_time(u, i, u->able[u->able_ptr[i]]);
        for (int32_t k = 0; k < b->m; k++) {
            const double time = sked_i_unequal_time(u, i, k);
            double *logit = &d->logit[(int64_t)i * b->m + k];
            if (time == INFINITY)
                *logit = -INFINITY;
            else if (kind != SKED_I_GAUS_DEVICE_NEAR && shortest > 0 && time > 0) /* 0: pinned elsewhere */
                *logit -= log(time / shortest);
        }
    }
}

/* Noise breaks the symmetry of equal devices where the start does not. */
static void place_shares(descent *d, int kind, const sked_i_gaus_incumbent *from, sked_i_rng *rng)
{
    const int32_t m = d->grid->model->m;
    const double lead = kind == SKED_I_GAUS_DEVICE_NEAR ? 2 + log(fmax(1, m - 1)) : 0;
    for (int32_t i = 0; i < d->grid->model->n; i++)
        for (int32_t k = 0; k < m; k++)
            d->logit[(int64_t)i * m + k] = 0.3 * sked_i_rng_normal(rng) + (k == from->device[i] ? lead : 0);
    if (d->grid->model->form->unequal != NULL)
        prefer_fast(d, kind);
}

/*
 * Softmax of the logits at a temperature; pinned ops stay on their device. On unequal devices an evaluation
 * costs the pairs of kinds that have a share, so a thousandth of the largest is none.
 */
static void set_shares(descent *d, double temperature)
{
    const int32_t m = d->grid->model->m, *fix = d->grid->model->p->fix_device;
    const double least = d->grid->model->form->unequal != NULL ? -7 : -30;
    for (int32_t i = 0; i < d->grid->model->n; i++) {
        const double *logit = d->logit + (int64_t)i * m;
        double *share = d->at.share + (int64_t)i * m, most = -INFINITY, sum = 0;
        for (int32_t k = 0; k < m; k++)
            most = fmax(most, logit[k]);
        for (int32_t k = 0; k < m; k++) {
            const double x = (logit[k] - most) / temperature;
            sum += share[k] = x > least ? sked_i_exp(x) : 0;
        }
        assert(m == 0 || sum >= 1); /* the largest logit alone gives 1 */
        for (int32_t k = 0; k < m; k++)
            share[k] = fix != NULL && fix[i] >= 0 ? k == fix[i] : share[k] / sum;
    }
}

/* ------------------------------------------------------------------ one step */

static sked_status evaluate(descent *d, sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = d->backend->evaluate(d->evaluator, &d->terms, &d->at, &d->gradient, value, err);
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
static sked_status set_multipliers(descent *d, sked_error *err)
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
        for (int32_t i = 0; st == SKED_OK && i < d->grid->model->n; i++)
            pull += fabs(d->gradient.mu[i]);
        found[f] = fmin(1e3, d->grid->model->n / fmax(pull, 1e-9));
    }
    d->terms = (sked_i_gaus_device_terms){0};
    d->terms.multiplier[SKED_I_GAUS_DEPENDENCY] = d->terms.multiplier[SKED_I_GAUS_LATENCY] = found[0];
    d->terms.multiplier[SKED_I_GAUS_CAPACITY] = 0.1 * found[1];
    return st;
}

/* The gradient of the shares goes through the softmax to the logits. */
static void step_shares(descent *d, int32_t i, double rate)
{
    const int32_t m = d->grid->model->m;
    const int64_t first = (int64_t)i * m, offset = 2 * (int64_t)d->grid->model->n + first;
    double *momentum = d->momentum + offset, *variance = d->variance + offset;
    const double *share = d->at.share + first, *dshare = d->gradient.share + first;
    double mean = 0;
    for (int32_t k = 0; k < m; k++)
        mean += share[k] * dshare[k];
    for (int32_t k = 0; k < m; k++)
        d->logit[first + k] -=
            rate * sked_i_gaus_adam(&d->decay, momentum + k, variance + k, share[k] * (dshare[k] - mean));
}

static sked_status step(descent *d, double progress, sked_error *err)
{
    const sked_i_gaus_device_grid *g = d->grid;
    const int64_t n = g->model->n;
    const double cooling = 1 - 0.8 * progress;
    sked_i_gaus_decay_advance(&d->decay);
    for (int32_t i = 0; i < n; i++) {
        const double window = g->hi[i] - g->lo[i];
        if (!isfinite(d->gradient.mu[i]) || !isfinite(d->gradient.sigma[i]))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler's gradient is not finite at op %d: mu %g (%g), "
                               "sigma %g (%g), window %g..%g",
                               (int)i, d->at.mu[i], d->gradient.mu[i], d->at.sigma[i], d->gradient.sigma[i],
                               g->lo[i], g->hi[i]);
        if (g->model->m > 1)
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
        d->at.sigma[i] =
            fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(d->at.sigma[i] * sked_i_exp(-0.05 * turn), d->widest));
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ the descent */

static void record(descent *d, int32_t k, const sked_i_gaus_value *value, double best)
{
    const int32_t n = d->grid->model->n;
    if (d->tuning->record == NULL)
        return;
    for (int32_t i = 0; i < n; i++) {
        d->mean[i] = d->at.mu[i] * d->grid->width;
        d->deviation[i] = d->at.sigma[i] * d->grid->width;
    }
    d->tuning->record(d->tuning->record_data, &(sked_i_gaus_iterate){.number = k,
                                                                     .objective = NAN,
                                                                     .best = best,
                                                                     .violation = value->violation,
                                                                     .ops = n,
                                                                     .mean = d->mean,
                                                                     .deviation = d->deviation});
}

static sked_status descend(descent *d, sked_i_gaus_device_decoder *dec, sked_i_rng *rng,
                           const sked_i_limit *limit, sked_i_gaus_incumbent *best, sked_error *err)
{
    const sked_i_gaus_tuning *t = d->tuning;
    const double begin = sked_clock();
    sked_status st = SKED_OK;
    sked_i_gaus_value value;
    int32_t all = t->iterations;
    for (int32_t k = 0; st == SKED_OK && k < all && !sked_i_limit_reached(limit); k++) {
        if (k == t->every)
            all = sked_i_gaus_affordable(begin, k, all, 4, limit);
        const double progress = (double)k / all;
        d->widest = t->sigma_most * pow(0.05, progress);
        set_shares(d, 1 - 0.8 * progress);
        SKED_TRY(evaluate(d, &value, err));
        record(d, k, &value, best->value);
        SKED_TRY(step(d, progress, err));
        sked_i_gaus_raise_multipliers(&value, d->before, d->terms.multiplier);
        if ((k + 1) % t->every != 0)
            continue;
        SKED_TRY(sked_i_gaus_device_decode(dec, &d->at, 2, rng, best, err));
        if (best->value <= t->goal)
            break;
    }
cleanup:
    return st;
}

sked_status sked_i_gaus_device_descend(const sked_i_gaus_device_grid *grid, sked_i_gaus_device_decoder *dec,
                                       const sked_i_gaus_tuning *tuning, int kind,
                                       const sked_i_gaus_incumbent *from, sked_i_rng *rng,
                                       const sked_i_limit *limit, sked_i_gaus_incumbent *best,
                                       sked_error *err)
{
    descent d = {.grid = grid, .tuning = tuning};
    assert(tuning->every >= 1 && tuning->threads >= 1 && tuning->rate > 0);
    assert(from->value < INFINITY);
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
