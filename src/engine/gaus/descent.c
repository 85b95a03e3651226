/*
 * Adam on (mu, log sigma) under an augmented Lagrangian. mu stays in its window by projection. Every few
 * steps the means are legalised and the incumbent kept (good values come on the way, not at the end); a few
 * times the descent goes back to the incumbent with sharper sigmas.
 */
#include "engine/gaus/steps.h"

#include "backend/backend.h"
#include "base/explog.h"

#include <assert.h>
#include <string.h>

typedef struct descent {
    sked_i_gaus_legaliser *l;
    const sked_i_gaus_model *m;
    const sked_i_gaus_tuning *tuning;
    const sked_i_gaus_backend *backend;
    sked_i_gaus_evaluator *evaluator;
    double *mu, *sigma; /* [n] */
    double *dmu, *dsigma;
    double *momentum, *variance; /* [2 n] of Adam: mu, then log sigma */
    double *tau;                 /* [profiles + 1] */
    double *capacity, *weight;   /* [profiles + 1] */
    sked_i_gaus_decay decay;
    double widest; /* upper limit of sigma by now */
    double peak;   /* of the start: the scale of tau */
    double before[SKED_I_GAUS_FAMILIES];
    sked_i_gaus_terms terms;
} descent;

static sked_status open_descent(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = d->m->n, rows = d->m->profiles + 1;
    const sked_i_backend *backend;
    SKED_TRY(sked_i_backend_find("cpu", &backend, err));
    d->backend = backend->gaus;
    SKED_TRY(d->backend->create(&d->m->view, d->tuning->threads, &d->evaluator, err));
    SKED_NEW(d->sigma, n);
    SKED_NEW(d->dmu, n);
    SKED_NEW(d->dsigma, n);
    SKED_NEW0(d->momentum, 2 * n);
    SKED_NEW0(d->variance, 2 * n);
    SKED_NEW(d->tau, rows);
    SKED_NEW(d->weight, rows);
cleanup:
    return st;
}

static void close_descent(descent *d)
{
    if (d->evaluator != NULL)
        d->backend->destroy(d->evaluator);
    free(d->sigma);
    free(d->dmu);
    free(d->dsigma);
    free(d->momentum);
    free(d->variance);
    free(d->tau);
    free(d->weight);
}

/* sigma as a share of the window; wide enough to feel a neighbour step where there is a choice at all. */
static void reset_sigma(descent *d, double scale)
{
    for (int32_t i = 0; i < d->m->n; i++) {
        const double window = d->m->hi[i] - d->m->lo[i];
        const double least = window > 0 ? 0.5 * scale : SKED_I_GAUS_SIGMA_LEAST;
        d->sigma[i] = fmin(fmax(SKED_I_GAUS_SIGMA_LEAST, d->tuning->sigma_most * scale),
                           fmax(fmax(SKED_I_GAUS_SIGMA_LEAST, least), scale * d->tuning->kappa * window));
    }
    memset(d->momentum, 0, 2 * (size_t)d->m->n * sizeof *d->momentum);
    memset(d->variance, 0, 2 * (size_t)d->m->n * sizeof *d->variance);
    d->decay = (sked_i_gaus_decay){1, 1};
}

/* tau falls from a tenth of the peak to the size of one op. */
static void set_tau(descent *d, double progress)
{
    for (int32_t p = 0; p <= d->m->profiles; p++) {
        const double fine = d->m->typical[p], coarse = fmax(2 * fine, 0.1 * d->peak);
        d->tau[p] = fmax(coarse * pow(fine / coarse, progress), d->m->largest[p] / 600);
        assert(d->tau[p] > 0);
    }
}

static double mean_pull(const descent *d)
{
    double sum = 0;
    int64_t count = 0;
    for (int32_t i = 0; i < d->m->n; i++) {
        sum += fabs(d->dmu[i]);
        count += d->dmu[i] != 0;
    }
    return count > 0 ? sum / (double)count : 1;
}

static sked_status evaluate(descent *d, sked_i_gaus_value *value, sked_error *err)
{
    sked_status st =
        d->backend->evaluate(d->evaluator, &d->terms, d->mu, d->sigma, d->dmu, d->dsigma, value, err);
    if (st == SKED_OK && !isfinite(value->total))
        st =
            sked_i_fail(err, SKED_ERR_BUG,
                        "the differentiable scheduler met a number that is not finite: total %g, peak %g, "
                        "communication %g, violations %g %g %g %g, multipliers %g %g %g %g",
                        value->total, value->peak, value->communication, value->violation[0],
                        value->violation[1], value->violation[2], value->violation[3], d->terms.multiplier[0],
                        d->terms.multiplier[1], d->terms.multiplier[2], d->terms.multiplier[3]);
    return st;
}

/*
 * Multipliers begin where breaking a rule by a step pulls as hard as the objective pulls a mean op, measured
 * at the start; penalties where the violation of the start doubles that.
 */
static sked_status set_multipliers(descent *d, sked_error *err)
{
    sked_i_gaus_value value;
    memset(d->terms.multiplier, 0, sizeof d->terms.multiplier);
    memset(d->terms.penalty, 0, sizeof d->terms.penalty);
    sked_status st = evaluate(d, &value, err);
    const double pull = mean_pull(d);
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++)
        d->terms.multiplier[f] = f == SKED_I_GAUS_CAPACITY && !d->m->capped ? 0 : pull;
    if (st == SKED_OK)
        st = evaluate(d, &value, err);
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        d->terms.penalty[f] = d->terms.multiplier[f] / (1 + value.violation[f]);
        d->before[f] = value.violation[f];
    }
    return st;
}

static sked_status step(descent *d, double progress, sked_error *err)
{
    const sked_i_gaus_model *m = d->m;
    const double cooling = 1 - 0.8 * progress;
    sked_i_gaus_decay_advance(&d->decay);
    for (int32_t i = 0; i < m->n; i++) {
        const double window = m->hi[i] - m->lo[i];
        if (!isfinite(d->dmu[i]) || !isfinite(d->dsigma[i]))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler's gradient is not finite at op %d: mu %g (%g), "
                               "sigma %g (%g), window %d..%d",
                               (int)i, d->mu[i], d->dmu[i], d->sigma[i], d->dsigma[i], (int)m->lo[i],
                               (int)m->hi[i]);
        if (window == 0)
            continue;
        const double rate = d->tuning->rate * cooling * fmin(2, fmax(0.1, 0.02 * window));
        const double mu =
            d->mu[i] - 10 * rate * sked_i_gaus_adam(&d->decay, &d->momentum[i], &d->variance[i], d->dmu[i]);
        d->mu[i] = fmin(m->hi[i], fmax(m->lo[i], mu));
        if (d->tuning->fixed_sigma)
            continue;
        const int64_t k = (int64_t)m->n + i;
        const double turn =
            sked_i_gaus_adam(&d->decay, &d->momentum[k], &d->variance[k], d->dsigma[i] * d->sigma[i]);
        const double sigma = d->sigma[i] * sked_i_exp(-0.05 * turn);
        d->sigma[i] = fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(sigma, d->widest));
    }
    return SKED_OK;
}

static void return_to(descent *d, const sked_i_gaus_incumbent *best, double scale)
{
    for (int32_t i = 0; i < d->m->n; i++)
        d->mu[i] = best->start[i];
    reset_sigma(d, scale);
}

static void prepare(descent *d)
{
    const sked_i_gaus_model *m = d->m;
    d->peak = 0;
    for (int32_t i = 0; i < m->n; i++)
        assert(d->mu[i] >= m->lo[i] && d->mu[i] <= m->hi[i]);
    for (int32_t p = 0; p <= m->profiles; p++)
        d->weight[p] = m->weight[p];
    sked_i_gaus_round(m, d->mu, SKED_I_GAUS_REPAIR_LATER, d->l->at, d->l->scratch);
    sked_i_gaus_state_set(d->l->state, d->l->at);
    for (int32_t p = 0; p <= m->profiles; p++)
        for (int32_t c = 0; m->weight[p] > 0 && c < m->cells; c++)
            d->peak = fmax(d->peak, d->l->state->level[(int64_t)p * m->cells + c]);
    d->terms = (sked_i_gaus_terms){.weight = d->weight,
                                   .capacity = m->capacity,
                                   .tau = d->tau,
                                   .alpha = m->alpha,
                                   .exact_dependency = d->tuning->exact};
    reset_sigma(d, d->tuning->sigma_scale);
    set_tau(d, 0);
}

static void record(const descent *d, int32_t k, bool restart, const sked_i_gaus_value *value, double best)
{
    if (d->tuning->record == NULL)
        return;
    const bool rules_only = d->m->p->objective == SKED_OBJECTIVE_MAKESPAN; /* the horizon stands for it */
    d->tuning->record(d->tuning->record_data,
                      &(sked_i_gaus_iterate){
                          .number = k,
                          .restart = restart,
                          .objective = rules_only ? NAN : value->peak + d->terms.alpha * value->communication,
                          .best = best,
                          .violation = value->violation,
                          .ops = d->m->n,
                          .mean = d->mu,
                          .deviation = d->sigma});
}

/* ------------------------------------------------------------------ the descent */

/* One gradient step, `progress` of the way through its stretch. */
static sked_status advance(descent *d, int32_t k, double progress, bool restart, double best, sked_error *err)
{
    sked_i_gaus_value value;
    d->widest = d->tuning->sigma_most * (1 - 0.8 * progress);
    set_tau(d, progress);
    sked_status st = evaluate(d, &value, err);
    if (st != SKED_OK)
        return st;
    record(d, k, restart, &value, best);
    st = step(d, progress, err);
    sked_i_gaus_raise_multipliers(&value, d->before, d->terms.multiplier);
    return st;
}

/* Legalises the means and keeps what is better; true: the goal is met, or the visitor has enough. */
static bool harvest(descent *d, const sked_i_limit *limit, sked_i_gaus_incumbent *best, int32_t *stale)
{
    const sked_i_gaus_tuning *t = d->tuning;
    (*stale)++;
    if (sked_i_gaus_legalise(d->l, d->mu, limit) && sked_i_gaus_keep(best, d->l->state))
        *stale = 0;
    return best->value <= t->goal || (t->visit != NULL && t->visit(t->visit_data, d->mu, d->sigma));
}

static sked_status descend(descent *d, const sked_i_limit *limit, sked_i_gaus_incumbent *best,
                           int64_t *evaluations, sked_error *err)
{
    const sked_i_gaus_tuning *t = d->tuning;
    int32_t all = t->iterations, stretch = all / (t->restarts + 1) + 1;
    const double begin = sked_clock();
    sked_status st = SKED_OK;
    int32_t stale = 0; /* legalisations since the last better one */
    for (int32_t k = 0; st == SKED_OK && k < all; k++) {
        if (k == 6) {
            all = sked_i_gaus_affordable(begin, k, all, 8, limit);
            stretch = all / (t->restarts + 1) + 1;
        }
        if (sked_i_limit_reached(limit))
            break;
        const bool restart = k % stretch == 0 && k > 0 && best->value < INFINITY;
        if (restart)
            return_to(d, best, t->sigma_scale * pow(0.5, k / stretch));
        st = advance(d, k, (double)(k % stretch) / stretch, restart, best->value, err);
        if (st != SKED_OK || (k + 1) % t->every != 0)
            continue;
        (*evaluations)++;
        if (harvest(d, limit, best, &stale) || stale * t->every > 2 * stretch)
            break;
    }
    return st;
}

sked_status sked_i_gaus_descend(sked_i_gaus_legaliser *l, const sked_i_gaus_tuning *tuning,
                                const sked_i_limit *limit, double *mu, sked_i_gaus_incumbent *best,
                                int64_t *evaluations, sked_error *err)
{
    descent d = {.l = l, .m = l->m, .tuning = tuning, .mu = mu};
    assert(tuning->every >= 1 && tuning->threads >= 1 && tuning->rate > 0 && tuning->sigma_scale > 0);
    sked_status st = open_descent(&d, err);
    if (st == SKED_OK) {
        prepare(&d);
        st = set_multipliers(&d, err);
    }
    if (st == SKED_OK)
        st = descend(&d, limit, best, evaluations, err);
    close_descent(&d);
    return st;
}
