/* Descents with devices on the CPU: a run of steps is made within the call. */
#include "backend/backend.h"
#include "backend/cpu/gaus/device.h"
#include "backend/gaus_step.h"
#include "base/explog.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

struct sked_i_gaus_device_descent {
    const sked_i_gaus_device_view *view;
    const sked_i_gaus_device_bounds *bounds;
    sked_i_gaus_device_evaluator *evaluator;
    sked_i_gaus_device_point at, gradient;
    double *logit;               /* [ops * devices] */
    double *momentum, *variance; /* [2 ops + ops * devices] of Adam: mu, log sigma, logits */
    sked_i_gaus_decay decay;
    sked_i_gaus_device_terms terms;
    double before[SKED_I_GAUS_FAMILIES];
    sked_i_gaus_value value; /* of the last evaluation */
};

static int64_t shares(const sked_i_gaus_device_descent *d)
{
    return (int64_t)d->view->ops * d->view->devices;
}

static void destroy(sked_i_gaus_device_descent *d)
{
    if (d == NULL)
        return;
    sked_i_gaus_device_cpu.destroy(d->evaluator);
    void *const owned[] = {d->at.mu,          d->at.sigma, d->at.share, d->gradient.mu, d->gradient.sigma,
                           d->gradient.share, d->logit,    d->momentum, d->variance};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
    free(d);
}

static sked_status create(const sked_i_gaus_device_view *view, const sked_i_gaus_device_bounds *bounds,
                          int threads, sked_i_gaus_device_descent **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = view->ops, all = n * view->devices;
    sked_i_gaus_device_descent *d = NULL;
    SKED_NEW0(d, 1);
    d->view = view;
    d->bounds = bounds;
    SKED_TRY(sked_i_gaus_device_cpu.create(view, threads, &d->evaluator, err));
    d->evaluator->limit = bounds->limit;
    SKED_NEW(d->at.mu, n);
    SKED_NEW(d->at.sigma, n);
    SKED_NEW(d->at.share, all);
    SKED_NEW(d->gradient.mu, n);
    SKED_NEW(d->gradient.sigma, n);
    SKED_NEW(d->gradient.share, all);
    SKED_NEW(d->logit, all);
    SKED_NEW(d->momentum, 2 * n + all);
    SKED_NEW(d->variance, 2 * n + all);
    *out = d;
    return SKED_OK;
cleanup:
    destroy(d);
    return st;
}

/* Softmax of the logits at a temperature; pinned ops stay on their device. */
static void set_shares(sked_i_gaus_device_descent *d, double temperature)
{
    const int32_t m = d->view->devices, *fix = d->bounds->fix;
    for (int32_t i = 0; i < d->view->ops; i++) {
        const double *logit = d->logit + (int64_t)i * m;
        double *share = d->at.share + (int64_t)i * m, most = -INFINITY, sum = 0;
        for (int32_t k = 0; k < m; k++)
            most = fmax(most, logit[k]);
        for (int32_t k = 0; k < m; k++) {
            const double x = (logit[k] - most) / temperature;
            sum += share[k] = x > d->bounds->least ? sked_i_exp(x) : 0;
        }
        assert(m == 0 || sum >= 1); /* the largest logit alone gives 1 */
        for (int32_t k = 0; k < m; k++)
            share[k] = fix != NULL && fix[i] >= 0 ? k == fix[i] : share[k] / sum;
    }
}

static sked_status place(sked_i_gaus_device_descent *d, const double *mu, const double *sigma,
                         const double *logit, sked_error *err)
{
    const size_t n = (size_t)d->view->ops, all = (size_t)shares(d);
    (void)err;
    memcpy(d->at.mu, mu, n * sizeof *mu);
    memcpy(d->at.sigma, sigma, n * sizeof *sigma);
    memcpy(d->logit, logit, all * sizeof *logit);
    memset(d->momentum, 0, (2 * n + all) * sizeof *d->momentum);
    memset(d->variance, 0, (2 * n + all) * sizeof *d->variance);
    d->decay = (sked_i_gaus_decay){1, 1};
    set_shares(d, 1);
    return SKED_OK;
}

static sked_status aim(sked_i_gaus_device_descent *d, const sked_i_gaus_device_terms *terms,
                       const double *violation, sked_error *err)
{
    (void)err;
    d->terms = *terms;
    memcpy(d->before, violation, sizeof d->before);
    return SKED_OK;
}

static sked_status evaluate_here(sked_i_gaus_device_descent *d, sked_error *err)
{
    const sked_i_gaus_value *v = &d->value;
    const double *multiplier = d->terms.multiplier;
    const sked_status st =
        sked_i_gaus_device_cpu.evaluate(d->evaluator, &d->terms, &d->at, &d->gradient, &d->value, err);
    if (st != SKED_OK || isfinite(v->total))
        return st;
    return sked_i_fail(err, SKED_ERR_BUG,
                       "the differentiable scheduler met a number that is not finite: total %g, violations "
                       "%g %g %g, multipliers %g %g %g, %d cells",
                       v->total, v->violation[0], v->violation[2], v->violation[3], multiplier[0],
                       multiplier[2], multiplier[3], (int)d->view->cells);
}

static sked_status evaluate(sked_i_gaus_device_descent *d, double *dmu, sked_i_gaus_value *value,
                            sked_error *err)
{
    const sked_status st = evaluate_here(d, err);
    if (st == SKED_OK) {
        memcpy(dmu, d->gradient.mu, (size_t)d->view->ops * sizeof *dmu);
        *value = d->value;
    }
    return st;
}

/* The gradient of the shares goes through the softmax to the logits. */
static void move_shares(sked_i_gaus_device_descent *d, int32_t i, double rate)
{
    const int32_t m = d->view->devices;
    const int64_t first = (int64_t)i * m, offset = 2 * (int64_t)d->view->ops + first;
    double *momentum = d->momentum + offset, *variance = d->variance + offset;
    const double *share = d->at.share + first, *dshare = d->gradient.share + first;
    double mean = 0;
    for (int32_t k = 0; k < m; k++)
        mean += share[k] * dshare[k];
    for (int32_t k = 0; k < m; k++)
        d->logit[first + k] -=
            rate * sked_i_gaus_adam(&d->decay, momentum + k, variance + k, share[k] * (dshare[k] - mean));
}

static void move(sked_i_gaus_device_descent *d, const sked_i_gaus_device_step *s, int32_t i)
{
    const double lo = d->bounds->lo[i], hi = d->bounds->hi[i];
    const int64_t k = (int64_t)d->view->ops + i;
    if (d->view->devices > 1)
        move_shares(d, i, s->share_rate);
    if (!(hi - lo > 0))
        return;
    const double rate = s->rate * sked_i_gaus_pace(hi - lo);
    const double mu =
        d->at.mu[i] - rate * sked_i_gaus_adam(&d->decay, &d->momentum[i], &d->variance[i], d->gradient.mu[i]);
    d->at.mu[i] = fmin(hi, fmax(lo, mu));
    if (d->bounds->fixed_sigma)
        return;
    const double turn =
        sked_i_gaus_adam(&d->decay, &d->momentum[k], &d->variance[k], d->gradient.sigma[i] * d->at.sigma[i]);
    d->at.sigma[i] =
        fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(d->at.sigma[i] * sked_i_exp(-0.05 * turn), s->widest));
}

static sked_status step(sked_i_gaus_device_descent *d, const sked_i_gaus_device_step *s, sked_error *err)
{
    set_shares(d, s->temperature);
    const sked_status st = evaluate_here(d, err);
    if (st != SKED_OK)
        return st;
    sked_i_gaus_decay_advance(&d->decay);
    for (int32_t i = 0; i < d->view->ops; i++) {
        if (!isfinite(d->gradient.mu[i]) || !isfinite(d->gradient.sigma[i]))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler's gradient is not finite at op %d: mu %g (%g), "
                               "sigma %g (%g), window %g..%g",
                               (int)i, d->at.mu[i], d->gradient.mu[i], d->at.sigma[i], d->gradient.sigma[i],
                               d->bounds->lo[i], d->bounds->hi[i]);
        move(d, s, i);
    }
    sked_i_gaus_raise_multipliers(&d->value, &s->raise, d->before, d->terms.multiplier, d->terms.penalty);
    return SKED_OK;
}

static sked_status run(sked_i_gaus_device_descent *d, const sked_i_gaus_device_step *steps, int count,
                       sked_error *err)
{
    sked_status st = SKED_OK;
    assert(count >= 1 && count <= SKED_I_GAUS_RUN);
    for (int k = 0; st == SKED_OK && k < count; k++)
        st = step(d, &steps[k], err);
    return st;
}

static sked_status wait(sked_i_gaus_device_descent *d, const sked_i_gaus_device_point *at,
                        sked_i_gaus_value *value, sked_error *err)
{
    const size_t n = (size_t)d->view->ops;
    (void)err;
    memcpy(at->mu, d->at.mu, n * sizeof *at->mu);
    memcpy(at->sigma, d->at.sigma, n * sizeof *at->sigma);
    memcpy(at->share, d->at.share, (size_t)shares(d) * sizeof *at->share);
    *value = d->value;
    return SKED_OK;
}

const sked_i_gaus_device_descent_backend sked_i_gaus_device_descent_cpu = {.create = create,
                                                                           .destroy = destroy,
                                                                           .place = place,
                                                                           .aim = aim,
                                                                           .evaluate = evaluate,
                                                                           .run = run,
                                                                           .wait = wait};
