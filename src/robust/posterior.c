#include "robust/posterior.h"

#include "base/explog.h"
#include "base/memory.h"
#include "robust/prior.h"
#include "robust/solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FIT_STEPS = 8, SETTLE_STEPS = 3, DRAW_STEPS = 8 };
static const double settled = 0.05; /* steps that gain less are not worth their time */
/* Shares of the ops' spread: where a particle is judged, where a guess is drawn. */
static const double density_bend = 0.05, sample_bend = 0.02;

typedef sked_i_belief_work work;

sked_status sked_i_belief_work_open(work *w, sked_i_belief *b, sked_error *err)
{
    const sked_i_model *m = b->model;
    sked_i_arena *const a = &b->arena;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_timing_work_open(&w->timing, a, m->ops, err));
    SKED_TRY(sked_i_rates_open(&w->rates, a, m, err));
    SKED_OWN(a, w->parameter, m->count);
    SKED_OWN(a, w->row, m->count);
    SKED_OWN(a, w->deviation, b->many);
    SKED_OWN(a, w->at, b->many);
    SKED_OWN(a, w->centre, b->many);
    SKED_OWN(a, w->linear, b->many);
    SKED_OWN(a, w->proposal, b->dimension);
    SKED_OWN(a, w->hessian, (int64_t)b->links * b->links);
    SKED_OWN(a, w->gradient, b->links);
cleanup:
    return st;
}

sked_status sked_i_belief_work_widen(work *w, sked_i_belief *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = b->n_data;
    if (w->cap >= n)
        return SKED_OK;
    double **const arrays[] = {&w->steep,    &w->bend,     &w->solved,     &w->misfit, &w->residual,
                               &w->observed, &w->variance, &w->covariance, &w->white,  &w->spread};
    const int64_t sizes[] = {n * b->many, n * b->links, n, n, n, n, n, n * n, n * b->links, n * n};
    w->cap = 0;
    for (int k = 0; k < 10; k++) {
        sked_i_arena_drop(&b->arena, *arrays[k]);
        *arrays[k] = NULL;
        SKED_OWN(&b->arena, *arrays[k], sizes[k]);
    }
    w->cap = n;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ priors */

double sked_i_belief_centre(const sked_i_belief *b, int64_t k)
{
    const int64_t at = b->model->at_type + k;
    return b->trace.mean != NULL && at < b->model->at_size ? b->trace.mean[k] : b->model->mean[at];
}

static void set_deviations(const sked_i_belief *b, const double *particle, double *deviation)
{
    const sked_i_model *m = b->model;
    const double op_spread = sked_i_exp(particle[b->links + SKED_I_OP_SPREAD]);
    for (int64_t k = 0; k < b->many; k++) {
        const int64_t at = m->at_type + k;
        const bool op = at >= m->at_op && at < m->at_size;
        deviation[k] = b->trace.spread != NULL && at < m->at_size ? b->trace.spread[k]
                                                                  : m->spread[at] * (op ? op_spread : 1);
    }
}

static bool within(double log, double low, double high)
{
    return log >= sked_i_log(low) && log <= sked_i_log(high);
}

static double log_prior(const sked_i_belief *b, const double *p)
{
    const double *behind = p + b->links;
    double sum = 0;
    if (!within(behind[SKED_I_OP_SPREAD], sked_i_least_op_spread, sked_i_most_op_spread) ||
        !within(behind[SKED_I_NOISE], sked_i_least_noise, sked_i_most_noise) ||
        !within(behind[SKED_I_STEP_NOISE], sked_i_least_noise, sked_i_most_noise))
        return -INFINITY;
    for (int32_t k = 0; k < b->dimension; k++)
        if (b->prior_spread[k] > 0) {
            const double z = (p[k] - b->prior_mean[k]) / b->prior_spread[k];
            sum -= z * z / 2;
        } else if (p[k] != b->prior_mean[k])
            return -INFINITY;
    return sum;
}

/* ------------------------------------------------------------------ times and derivatives at one point */

static void set_point(const sked_i_belief *b, work *w, const double *particle, const double *x)
{
    memcpy(w->parameter, particle, (size_t)b->links * sizeof *particle);
    memcpy(w->parameter + b->links, x, (size_t)b->many * sizeof *x);
    sked_i_model_rates(b->model, w->parameter, &w->rates);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 += a[k] * b[k];
        s1 += a[k + 1] * b[k + 1];
        s2 += a[k + 2] * b[k + 2];
        s3 += a[k + 3] * b[k + 3];
    }
    for (; k < n; k++)
        s0 += a[k] * b[k];
    return (s0 + s1) + (s2 + s3);
}

double sked_i_belief_differentiate(const sked_i_belief *b, work *w, const sked_i_timing *r)
{
    const sked_i_model *m = b->model;
    const double time = sked_i_timing_run(r, &w->rates, &w->timing);
    memset(w->row, 0, (size_t)m->count * sizeof *w->row);
    const sked_i_timing_gradient d = {.latency = w->row,
                                      .per_byte = w->row + m->links,
                                      .start_up = w->row + m->at_start_up,
                                      .warm = w->row + m->at_warm,
                                      .read = w->row + m->at_read,
                                      .factor = w->row + m->at_op,
                                      .kind = w->row + m->at_kind,
                                      .size = m->sized ? w->row + m->at_size : NULL};
    if (!(time > 0))
        return -700;
    sked_i_timing_differentiate(r, &w->rates, &w->timing, &d);
    for (int32_t i = 0; i < m->ops; i++)
        w->row[m->at_type + m->type_of[i]] += d.factor[i];
    for (int64_t k = 0; k < m->count; k++)
        w->row[k] /= time;
    return sked_i_model_log(time);
}

/* Misfits, derivatives and covariance of the data at (particle, x); returns half the sum of squared misfits.
 */
static double linearise(const sked_i_belief *b, work *w, const double *particle, const double *x)
{
    const int64_t n = b->n_data;
    double sum = 0;
    assert(w->cap >= n);
    set_point(b, w, particle, x);
    for (int64_t d = 0; d < n; d++) {
        double *steep = w->steep + d * b->many;
        w->misfit[d] = w->observed[d] - sked_i_belief_differentiate(b, w, b->data[d].timing);
        memcpy(w->bend + d * b->links, w->row, (size_t)b->links * sizeof *w->row);
        for (int64_t k = 0; k < b->many; k++)
            steep[k] = w->row[b->links + k] * w->deviation[k];
        sum += w->misfit[d] * w->misfit[d] / w->variance[d];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            w->covariance[i * n + j] =
                dot(w->steep + i * b->many, w->steep + j * b->many, b->many) + (i == j ? w->variance[i] : 0);
    return sum / 2;
}

/* Of x from the centre: half the sum of squares in deviations. */
static double distance(const sked_i_belief *b, const work *w, const double *x)
{
    double sum = 0;
    for (int64_t k = 0; k < b->many; k++)
        if (w->deviation[k] > 0) {
            const double z = (x[k] - w->centre[k]) / w->deviation[k];
            sum += z * z;
        }
    return sum / 2;
}

/* Residuals as seen from the centre; x moves to the most likely point of the linearisation. false: singular.
 */
static bool step_linear(const sked_i_belief *b, work *w, double *x)
{
    const int32_t n = (int32_t)b->n_data;
    for (int32_t d = 0; d < n; d++) {
        double shift = 0;
        for (int64_t k = 0; k < b->many; k++)
            if (w->deviation[k] > 0)
                shift += w->steep[d * b->many + k] * ((x[k] - w->centre[k]) / w->deviation[k]);
        w->residual[d] = w->misfit[d] + shift;
    }
    if (!sked_i_cholesky(w->covariance, n))
        return false;
    memcpy(w->solved, w->residual, (size_t)n * sizeof *w->solved);
    sked_i_cholesky_solve(w->covariance, n, w->solved);
    for (int64_t k = 0; k < b->many; k++)
        x[k] = w->centre[k];
    for (int32_t d = 0; d < n; d++)
        for (int64_t k = 0; k < b->many; k++)
            x[k] += w->deviation[k] * w->steep[d * b->many + k] * w->solved[d];
    return true;
}

/*
 * What is fitted: the data, or (rng) the data perturbed by their noise. Times bend where the critical path
 * changes: by how much a line misses them is a share of the spread of the ops' factors, and counts as noise.
 */
static void set_observed(const sked_i_belief *b, work *w, const double *particle, double bend,
                         sked_i_rng *rng)
{
    const double noise = sked_i_exp(particle[b->links + SKED_I_NOISE]);
    const double missed = b->trace.runs > 0 ? 0 : bend * sked_i_exp(particle[b->links + SKED_I_OP_SPREAD]);
    for (int64_t d = 0; d < b->n_data; d++) {
        const sked_i_datum *x = &b->data[d];
        w->variance[d] = noise * noise * x->inflation + x->variance + missed * missed;
        w->observed[d] = x->log_time + (rng != NULL ? sqrt(w->variance[d]) * sked_i_rng_normal(rng) : 0);
    }
}

/*
 * Logarithm of the determinant of the data's covariance. One critical path alone would have large factors of
 * ops spread times more than they do, since others become critical: the larger the factors, the more the
 * average over paths counts. From the covariance of the linearisation, before it is factored.
 */
static double log_det(const sked_i_belief *b, work *w, const double *particle)
{
    const int64_t n = b->n_data;
    const double op_spread = sked_i_exp(particle[b->links + SKED_I_OP_SPREAD]);
    assert(b->overlap_ops != NULL && b->overlap_rest != NULL);
    const double share = b->trace.runs > 0 ? 0 : fmin(1, op_spread / sked_i_smoothing);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const int64_t at = i * n + j;
            const double smooth = op_spread * op_spread * b->overlap_ops[at] + b->overlap_rest[at] +
                                  (i == j ? w->variance[i] : 0);
            w->spread[at] = share * smooth + (1 - share) * w->covariance[at];
        }
    return sked_i_cholesky(w->spread, (int32_t)n) ? sked_i_cholesky_log_det(w->spread, (int32_t)n) : INFINITY;
}

/*
 * Gauss-Newton steps from x, halved where they overshoot; x gets the best point on the way. Returns -log of
 * its posterior, given the particle, times the volume around it; *misfit (may be NULL): half the sum of
 * squared misfits there.
 */
static double settle(const sked_i_belief *b, work *w, const double *particle, double *x, int steps,
                     double *misfit)
{
    double least = INFINITY, result = INFINITY;
    memcpy(w->at, x, (size_t)b->many * sizeof *x);
    for (int k = 0; k <= steps && !sked_i_belief_stopped(b); k++) {
        const double fit = linearise(b, w, particle, w->at), reached = fit + distance(b, w, w->at);
        if (reached < least) {
            const bool done = reached > least - settled;
            memcpy(x, w->at, (size_t)b->many * sizeof *x);
            least = reached;
            result = least + log_det(b, w, particle) / 2;
            if (misfit != NULL)
                *misfit = fit;
            if (done || !step_linear(b, w, w->at))
                break;
        } else {
            for (int64_t i = 0; i < b->many; i++)
                w->at[i] = (w->at[i] + x[i]) / 2;
        }
    }
    return result;
}

static void set_centre(const sked_i_belief *b, work *w)
{
    for (int64_t k = 0; k < b->many; k++)
        w->centre[k] = sked_i_belief_centre(b, k);
}

double sked_i_belief_density(const sked_i_belief *b, work *w, const double *particle, double *x)
{
    double sum = log_prior(b, particle);
    if (!(sum > -INFINITY))
        return -INFINITY;
    set_deviations(b, particle, w->deviation);
    set_centre(b, w);
    if (b->n_data > 0) {
        set_observed(b, w, particle, density_bend, NULL);
        sum -= settle(b, w, particle, x, SETTLE_STEPS, NULL);
    }
    if (b->trace.n_steps > 0) {
        set_point(b, w, particle, x);
        sum += sked_i_traces_likelihood(&b->trace, b->model, &w->rates,
                                        sked_i_exp(particle[b->links + SKED_I_STEP_NOISE]), NULL, NULL, 0);
    }
    return isnan(sum) ? -INFINITY : sum;
}

/* ------------------------------------------------------------------ fitting links and start-up cost */

/* Adds what measured times say: derivatives whitened by the covariance of the data. */
static void add_times(const sked_i_belief *b, work *w, const double *particle, const double *x)
{
    const int32_t n = (int32_t)b->n_data, m = b->links;
    set_observed(b, w, particle, density_bend, NULL);
    linearise(b, w, particle, x);
    memcpy(w->at, x, (size_t)b->many * sizeof *x);
    if (!step_linear(b, w, w->at)) /* leaves residual and factor */
        return;
    sked_i_cholesky_forward(w->covariance, n, w->residual);
    for (int32_t i = 0; i < m; i++) {
        double *column = w->white + (int64_t)i * n;
        for (int32_t d = 0; d < n; d++)
            column[d] = w->bend[d * m + i];
        sked_i_cholesky_forward(w->covariance, n, column);
    }
    for (int32_t i = 0; i < m; i++) {
        w->gradient[i] += dot(w->white + (int64_t)i * n, w->residual, n);
        for (int32_t j = 0; j <= i; j++)
            w->hessian[i * m + j] += dot(w->white + (int64_t)i * n, w->white + (int64_t)j * n, n);
    }
}

/* Gauss-Newton system of the first parameters at (particle, x), the prior's part included. */
static void set_system(const sked_i_belief *b, work *w, const double *particle, const double *x)
{
    const int32_t m = b->links;
    memset(w->hessian, 0, (size_t)m * (size_t)m * sizeof *w->hessian);
    memset(w->gradient, 0, (size_t)m * sizeof *w->gradient);
    set_deviations(b, particle, w->deviation);
    set_centre(b, w);
    if (b->n_data > 0)
        add_times(b, w, particle, x);
    if (b->trace.n_steps > 0) {
        set_point(b, w, particle, x);
        sked_i_traces_likelihood(&b->trace, b->model, &w->rates, sked_i_exp(particle[m + SKED_I_STEP_NOISE]),
                                 w->hessian, w->gradient, m);
    }
    for (int32_t k = 0; k < m; k++)
        if (b->prior_spread[k] > 0) {
            const double precision = 1 / (b->prior_spread[k] * b->prior_spread[k]);
            w->hessian[k * m + k] += precision;
            w->gradient[k] += precision * (b->prior_mean[k] - particle[k]);
        }
}

/* w->proposal: particle after a step of the system, damped; known parameters stay. */
static bool propose_step(const sked_i_belief *b, work *w, const double *particle, double damping)
{
    const int32_t m = b->links;
    for (int32_t k = 0; k < m; k++)
        if (b->prior_spread[k] > 0)
            w->hessian[k * m + k] *= 1 + damping;
        else {
            for (int32_t j = 0; j < m; j++)
                w->hessian[k * m + j] = w->hessian[j * m + k] = 0;
            w->hessian[k * m + k] = 1;
            w->gradient[k] = 0;
        }
    if (!sked_i_cholesky(w->hessian, m))
        return false;
    sked_i_cholesky_solve(w->hessian, m, w->gradient);
    memcpy(w->proposal, particle, (size_t)b->dimension * sizeof *particle);
    for (int32_t k = 0; k < m; k++)
        w->proposal[k] += w->gradient[k] < -2 ? -2 : w->gradient[k] > 2 ? 2 : w->gradient[k];
    return true;
}

void sked_i_belief_fit(const sked_i_belief *b, work *w, double *particle, double *x, double *density)
{
    double damping = 0.01;
    for (int k = 0; k < FIT_STEPS && !sked_i_belief_stopped(b); k++) {
        set_system(b, w, particle, x);
        if (!propose_step(b, w, particle, damping))
            return;
        memcpy(w->linear, x, (size_t)b->many * sizeof *x);
        const double reached = sked_i_belief_density(b, w, w->proposal, w->linear);
        if (reached > *density) {
            const bool done = reached < *density + 0.01;
            memcpy(particle, w->proposal, (size_t)b->dimension * sizeof *particle);
            memcpy(x, w->linear, (size_t)b->many * sizeof *x);
            *density = reached;
            damping /= 5;
            if (done)
                return;
        } else {
            damping = damping * 10 + 0.1;
        }
    }
}

double sked_i_belief_sample(const sked_i_belief *b, work *w, const double *particle, sked_i_rng *rng,
                            double *guess)
{
    double *x = guess + b->links, misfit = 0;
    memcpy(guess, particle, (size_t)b->links * sizeof *particle);
    set_deviations(b, particle, w->deviation);
    for (int64_t k = 0; k < b->many; k++)
        x[k] = w->centre[k] = sked_i_belief_centre(b, k) + w->deviation[k] * sked_i_rng_normal(rng);
    if (b->n_data > 0) {
        set_observed(b, w, particle, sample_bend, rng);
        settle(b, w, particle, x, DRAW_STEPS, &misfit);
    }
    return 2 * misfit;
}
