/* Descents of the time-step relaxation on the CPU: a run of steps is made within the call. */
#include "backend/backend.h"
#include "backend/cpu/gaus/terms.h"
#include "base/explog.h"

#include <string.h>

struct sked_i_gaus_descent {
    sked_i_arena arena;
    const sked_i_gaus_view *view;
    sked_i_gaus_evaluator evaluator;
    double *mu, *sigma, *dmu, *dsigma; /* [ops] */
    double *momentum, *variance;       /* [2 ops] of Adam: mu, then log sigma */
    sked_i_gaus_decay decay;
    sked_i_gaus_terms terms;
    double before[SKED_I_GAUS_FAMILIES];
    sked_i_gaus_value value; /* of the last evaluation */
};

static void destroy(sked_i_gaus_descent *d)
{
    if (d == NULL)
        return;
    sked_i_gaus_evaluator_close(&d->evaluator);
    sked_i_arena_free(&d->arena);
    free(d);
}

static sked_status create(const sked_i_gaus_view *view, const sked_i_limit *limit, int threads,
                          sked_i_gaus_descent **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = view->ops;
    sked_i_gaus_descent *d = NULL;
    SKED_NEW0(d, 1);
    d->view = view;
    SKED_TRY(sked_i_gaus_evaluator_open(&d->evaluator, view, threads, err));
    d->evaluator.limit = limit;
    SKED_OWN(&d->arena, d->mu, n);
    SKED_OWN(&d->arena, d->sigma, n);
    SKED_OWN(&d->arena, d->dmu, n);
    SKED_OWN(&d->arena, d->dsigma, n);
    SKED_OWN(&d->arena, d->momentum, 2 * n);
    SKED_OWN(&d->arena, d->variance, 2 * n);
    *out = d;
    return SKED_OK;
cleanup:
    destroy(d);
    return st;
}

static sked_status place(sked_i_gaus_descent *d, const double *mu, const double *sigma, sked_error *err)
{
    const size_t n = (size_t)d->view->ops;
    (void)err;
    memcpy(d->mu, mu, n * sizeof *mu);
    memcpy(d->sigma, sigma, n * sizeof *sigma);
    memset(d->momentum, 0, 2 * n * sizeof *d->momentum);
    memset(d->variance, 0, 2 * n * sizeof *d->variance);
    d->decay = (sked_i_gaus_decay){1, 1};
    return SKED_OK;
}

static sked_status aim(sked_i_gaus_descent *d, const sked_i_gaus_terms *terms, const double *violation,
                       sked_error *err)
{
    (void)err;
    assert(terms->weight != NULL && terms->capacity != NULL && terms->tau != NULL);
    d->terms = *terms;
    memcpy(d->before, violation, sizeof d->before);
    return SKED_OK;
}

static sked_status evaluate_here(sked_i_gaus_descent *d, sked_error *err)
{
    const sked_status st =
        sked_i_gaus_evaluate(&d->evaluator, &d->terms, d->mu, d->sigma, d->dmu, d->dsigma, &d->value, err);
    return st == SKED_OK ? sked_i_gaus_check_value(&d->value, d->terms.multiplier, "", err) : st;
}

static sked_status evaluate(sked_i_gaus_descent *d, double *dmu, double *dsigma, sked_i_gaus_value *value,
                            sked_error *err)
{
    const size_t bytes = (size_t)d->view->ops * sizeof *dmu;
    const sked_status st = evaluate_here(d, err);
    if (st != SKED_OK)
        return st;
    memcpy(dmu, d->dmu, bytes);
    if (dsigma != NULL)
        memcpy(dsigma, d->dsigma, bytes);
    *value = d->value;
    return SKED_OK;
}

static void move(sked_i_gaus_descent *d, const sked_i_gaus_step *s, int32_t i)
{
    const double lo = d->view->lo[i], hi = d->view->hi[i];
    assert(lo <= hi && d->sigma[i] > 0);
    if (hi == lo)
        return;
    const double rate = s->rate * sked_i_gaus_pace(hi - lo);
    const double mu =
        d->mu[i] - 10 * rate * sked_i_gaus_adam(&d->decay, &d->momentum[i], &d->variance[i], d->dmu[i]);
    d->mu[i] = fmin(hi, fmax(lo, mu));
    const int64_t k = (int64_t)d->view->ops + i;
    const double turn =
        sked_i_gaus_adam(&d->decay, &d->momentum[k], &d->variance[k], d->dsigma[i] * d->sigma[i]);
    const double sigma = d->sigma[i] * sked_i_exp(-0.05 * turn);
    d->sigma[i] = fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(sigma, s->widest));
}

static sked_status step(sked_i_gaus_descent *d, const sked_i_gaus_step *s, sked_error *err)
{
    assert(s->tau != NULL && s->rate > 0);
    d->terms.tau = s->tau;
    const sked_status st = evaluate_here(d, err);
    if (st != SKED_OK)
        return st;
    sked_i_gaus_decay_advance(&d->decay);
    for (int32_t i = 0; i < d->view->ops; i++) {
        if (!isfinite(d->dmu[i]) || !isfinite(d->dsigma[i]))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler's gradient is not finite at op %d: mu %g (%g), "
                               "sigma %g (%g), window %d..%d",
                               (int)i, d->mu[i], d->dmu[i], d->sigma[i], d->dsigma[i], (int)d->view->lo[i],
                               (int)d->view->hi[i]);
        move(d, s, i);
    }
    sked_i_gaus_raise_multipliers(&d->value, &s->raise, d->before, d->terms.multiplier, d->terms.penalty);
    return SKED_OK;
}

static sked_status run(sked_i_gaus_descent *d, const sked_i_gaus_step *steps, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(count >= 1 && count <= SKED_I_GAUS_RUN);
    for (int k = 0; st == SKED_OK && k < count; k++)
        st = step(d, &steps[k], err);
    return st;
}

static sked_status wait(sked_i_gaus_descent *d, double *mu, double *sigma, sked_i_gaus_value *value,
                        sked_error *err)
{
    const size_t n = (size_t)d->view->ops;
    (void)err;
    memcpy(mu, d->mu, n * sizeof *mu);
    memcpy(sigma, d->sigma, n * sizeof *sigma);
    *value = d->value;
    return SKED_OK;
}

const sked_i_gaus_descent_backend sked_i_gaus_descent_cpu = {.create = create,
                                                             .destroy = destroy,
                                                             .place = place,
                                                             .aim = aim,
                                                             .evaluate = evaluate,
                                                             .run = run,
                                                             .wait = wait};
