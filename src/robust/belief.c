#include "robust/posterior.h"

#include "base/explog.h"
#include "base/sort.h"
#include "base/thread.h"
#include "robust/prior.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SWEEPS = 4, RESTARTS = 8, MOST_PARTICLES = 96, LEAST_PARTICLES = 16, MOST_DRAWS = 1000 };
/* A particle this much less likely than the best one does not explain the data. */
static const double hopeless = 20;
/* A particle whose log-density falls by this much with one more measurement is fitted to it. */
static const double surprise = 3;
static const double degrees_of_freedom = 4;

/* ------------------------------------------------------------------ the population */

void sked_i_belief_close(sked_i_belief *b)
{
    sked_i_arena_free(&b->trace.arena);
    sked_i_arena_free(&b->arena);
    *b = (sked_i_belief){0};
}

static double *particle_at(const sked_i_belief *b, int32_t i)
{
    return b->particle + (int64_t)i * b->dimension;
}
static double *linear_at(const sked_i_belief *b, int32_t i)
{
    return b->linear + i * b->many;
}

static void set_priors(sked_i_belief *b)
{
    const sked_i_model *m = b->model;
    memcpy(b->prior_mean, m->mean, (size_t)b->links * sizeof *m->mean);
    memcpy(b->prior_spread, m->spread, (size_t)b->links * sizeof *m->spread);
    const sked_i_log_normal behind[SKED_I_BEHIND_LINKS] = {m->op_spread, m->noise, m->noise};
    for (int k = 0; k < SKED_I_BEHIND_LINKS; k++) {
        b->prior_mean[b->links + k] = behind[k].mean;
        b->prior_spread[b->links + k] = behind[k].spread;
    }
}

static void draw_prior(sked_i_belief *b, int32_t i)
{
    sked_i_belief_work *w = b->work[0];
    double *p = particle_at(b, i), *x = linear_at(b, i);
    for (int64_t k = 0; k < b->many; k++)
        x[k] = sked_i_belief_centre(b, k);
    b->density[i] = -INFINITY;
    /* Within the ranges of spreads and noise; at last the medians, which are. */
    for (int draw = 0; draw <= MOST_DRAWS && !(b->density[i] > -INFINITY); draw++) {
        for (int32_t k = 0; k < b->dimension; k++)
            p[k] = b->prior_mean[k] +
                   (draw < MOST_DRAWS ? b->prior_spread[k] * sked_i_rng_normal(&b->rng[i]) : 0);
        b->density[i] = sked_i_belief_density(b, w, p, x);
    }
    sked_i_belief_sample(b, w, p, &b->rng[i], b->guess + i * b->model->count);
    b->weight[i] = 1.0 / b->particles;
}

sked_status sked_i_belief_open(sked_i_belief *b, const sked_i_model *m, uint64_t seed, int threads,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t most = 2000000 / (m->count + 1);
    *b = (sked_i_belief){.model = m, .threads = threads, .links = (int32_t)m->at_type};
    b->dimension = b->links + SKED_I_BEHIND_LINKS;
    b->many = m->count - m->at_type;
    b->particles = most > MOST_PARTICLES    ? MOST_PARTICLES
                   : most < LEAST_PARTICLES ? LEAST_PARTICLES
                                            : (int32_t)most;
    SKED_OWN(&b->arena, b->prior_mean, b->dimension);
    SKED_OWN(&b->arena, b->prior_spread, b->dimension);
    SKED_OWN(&b->arena, b->particle, (int64_t)b->particles * b->dimension);
    SKED_OWN(&b->arena, b->linear, b->particles * b->many);
    SKED_OWN(&b->arena, b->density, b->particles);
    SKED_OWN(&b->arena, b->guess, b->particles * m->count);
    SKED_OWN(&b->arena, b->weight, b->particles);
    SKED_OWN(&b->arena, b->log_weight, b->particles);
    SKED_OWN(&b->arena, b->rng, b->particles);
    SKED_OWN(&b->arena, b->alive, b->particles);
    SKED_OWN0(&b->arena, b->work, threads);
    for (int t = 0; t < threads; t++) {
        SKED_OWN0(&b->arena, b->work[t], 1);
        SKED_TRY(sked_i_belief_work_open(b->work[t], b, err));
    }
    set_priors(b);
    for (int32_t i = 0; i < b->particles; i++) {
        sked_i_rng_seed(&b->rng[i], seed, 0x62656c00u + (uint64_t)i);
        draw_prior(b, i);
    }
cleanup:
    return st;
}

sked_status sked_i_belief_add(sked_i_belief *b, const sked_i_timing *timing, double time, double variance,
                              sked_error *err)
{
    if (!SKED_OWN_GROW(&b->arena, b->data, b->data_cap, b->n_data + 1))
        return sked_i_no_memory(err);
    b->data[b->n_data++] = (sked_i_datum){timing, sked_i_log(time), variance, 1, NULL};
    return SKED_OK;
}

static void know(sked_i_belief *b, int64_t at, double value)
{
    assert(at >= 0 && at < b->dimension);
    b->prior_mean[at] = value;
    b->prior_spread[at] = 0;
    for (int32_t i = 0; i < b->particles; i++)
        particle_at(b, i)[at] = value;
}

/*
 * Traces show every op's time, with and without warm inputs, with more and fewer bytes of other devices. The
 * start-up cost cannot be distinguished from the ops' factors then: it counts as known from now on.
 */
static sked_status learn_traces(sked_i_belief *b, sked_error *err)
{
    const sked_status st = sked_i_traces_fit(&b->trace, b->model, err);
    if (st == SKED_OK) {
        know(b, b->model->at_start_up, b->model->mean[b->model->at_start_up]);
        know(b, b->model->at_warm, b->trace.warm);
        know(b, b->model->at_read, b->trace.read > 0 ? sked_i_model_log(b->trace.read) : sked_i_nothing);
    }
    return st;
}

/* ------------------------------------------------------------------ one update */

typedef struct sked_i_belief_work work;

/* A stage of the update: what is done with one particle. Particles of a stage do not see one another move. */
typedef struct stage {
    sked_i_belief *b;
    const sked_i_limit *limit;
    int32_t first, last; /* particles */
    void (*act)(sked_i_belief *b, work *w, int32_t i);
} stage;

static void run_part(void *data, int part)
{
    const stage *s = data;
    for (int32_t i = s->first + part; i < s->last && !sked_i_limit_stopped(s->limit); i += s->b->threads)
        s->act(s->b, s->b->work[part], i);
}

static sked_status run_stage(sked_i_belief *b, const sked_i_limit *limit, int32_t first, int32_t last,
                             void (*act)(sked_i_belief *b, work *w, int32_t i), sked_error *err)
{
    stage s = {b, limit, first, last, act};
    return sked_i_parallel(b->threads, run_part, &s, err);
}

/* A particle that explains the new data about as well as the old ones needs no fit: moves will do. */
static void fit(sked_i_belief *b, work *w, int32_t i)
{
    double *x = linear_at(b, i);
    const double before = b->density[i];
    b->density[i] = sked_i_belief_density(b, w, particle_at(b, i), x);
    if (b->density[i] < before - surprise)
        sked_i_belief_fit(b, w, particle_at(b, i), x, &b->density[i]);
}

/*
 * The least likely particles start again somewhere in the prior and are fitted: should the population have
 * gathered around one explanation, another one can still be found.
 */
static void restart(sked_i_belief *b, work *w, int32_t i)
{
    double *p = particle_at(b, i), *x = linear_at(b, i);
    for (int32_t k = 0; k < b->links; k++)
        p[k] = b->prior_mean[k] + b->prior_spread[k] * sked_i_rng_normal(&b->rng[i]);
    for (int64_t k = 0; k < b->many; k++)
        x[k] = sked_i_belief_centre(b, k);
    b->density[i] = sked_i_belief_density(b, w, p, x);
    sked_i_belief_fit(b, w, p, x, &b->density[i]);
}

/* Only the lowest RESTARTS particles are marked. */
static void mark_lowest(sked_i_belief *b)
{
    sked_i_keyed list[MOST_PARTICLES], spare[MOST_PARTICLES];
    assert(b->particles <= MOST_PARTICLES);
    for (int32_t i = 0; i < b->particles; i++)
        list[i] = (sked_i_keyed){sked_i_sort_key(b->density[i]), i};
    sked_i_sort_keyed(list, spare, b->particles);
    for (int32_t i = 0; i < b->particles; i++)
        b->alive[list[i].value] = i >= RESTARTS;
}

static void restart_lowest(sked_i_belief *b, work *w, int32_t i)
{
    if (!b->alive[i])
        restart(b, w, i);
}

/* Particles that do not explain the data become copies of those that do, chosen at random. */
static void replace_hopeless(sked_i_belief *b)
{
    double best = -INFINITY;
    int32_t alive = 0;
    for (int32_t i = 0; i < b->particles; i++)
        best = fmax(best, b->density[i]);
    for (int32_t i = 0; i < b->particles; i++)
        if (b->density[i] >= best - hopeless)
            b->alive[alive++] = i;
    for (int32_t i = 0; i < b->particles && alive > 0; i++) {
        if (b->density[i] >= best - hopeless)
            continue;
        const int32_t from = b->alive[sked_i_rng_below(&b->rng[i], (uint64_t)alive)];
        memcpy(particle_at(b, i), particle_at(b, from), (size_t)b->dimension * sizeof *b->particle);
        memcpy(linear_at(b, i), linear_at(b, from), (size_t)b->many * sizeof *b->linear);
        b->density[i] = b->density[from];
    }
}

/* A step along the difference of two particles of the other half, now and then of one parameter alone. */
static void propose(sked_i_belief *b, int32_t i, double *to)
{
    sked_i_rng *rng = &b->rng[i];
    const int32_t half = b->particles / 2, other = i < half ? half : 0;
    const int32_t span = i < half ? b->particles - half : half;
    const double *p = particle_at(b, i);
    assert(span > 0);
    const double *u = particle_at(b, other + (int32_t)sked_i_rng_below(rng, (uint64_t)span));
    const double *v = particle_at(b, other + (int32_t)sked_i_rng_below(rng, (uint64_t)span));
    const double far = sked_i_rng_uniform(rng) < 0.1 ? 1 : 2.38 / sqrt(2.0 * b->dimension);
    const int32_t single =
        sked_i_rng_uniform(rng) < 0.3 ? (int32_t)sked_i_rng_below(rng, (uint64_t)b->dimension) : -1;
    for (int32_t k = 0; k < b->dimension; k++) {
        const double jitter = b->prior_spread[k] * sked_i_rng_normal(rng);
        to[k] = p[k];
        if (!(b->prior_spread[k] > 0))
            continue;
        if (single < 0)
            to[k] += far * (u[k] - v[k]) + 1e-4 * jitter;
        else if (single == k)
            to[k] += (k < b->links ? 0.05 : 0.4) * jitter;
    }
}

static void move(sked_i_belief *b, work *w, int32_t i)
{
    propose(b, i, w->proposal);
    memcpy(w->linear, linear_at(b, i), (size_t)b->many * sizeof *w->linear);
    const double reached = sked_i_belief_density(b, w, w->proposal, w->linear);
    const double u = sked_i_rng_uniform(&b->rng[i]);
    if (!(reached > -INFINITY) ||
        (reached < b->density[i] && u >= sked_i_exp(fmax(-700, reached - b->density[i]))))
        return;
    memcpy(particle_at(b, i), w->proposal, (size_t)b->dimension * sizeof *b->particle);
    memcpy(linear_at(b, i), w->linear, (size_t)b->many * sizeof *b->linear);
    b->density[i] = reached;
}

/*
 * A draw that does not explain the data counts less, by its mean misfit: the sum would leave one draw alone,
 * for no better reason than that its critical paths met the kinks of the times best.
 */
static void sample(sked_i_belief *b, work *w, int32_t i)
{
    const double misfit =
        sked_i_belief_sample(b, w, particle_at(b, i), &b->rng[i], b->guess + i * b->model->count);
    b->log_weight[i] = b->n_data > 0 ? -fmax(0, misfit / (double)b->n_data - 1) / 2 : 0;
}

static void normalise_weights(sked_i_belief *b)
{
    double best = -INFINITY, sum = 0;
    for (int32_t i = 0; i < b->particles; i++)
        best = fmax(best, b->log_weight[i]);
    for (int32_t i = 0; i < b->particles; i++)
        sum += b->weight[i] = best > -INFINITY ? sked_i_exp(fmax(-700, b->log_weight[i] - best)) : 1;
    assert(sum >= 1); /* the best weighs 1; where none explains anything, all do */
    for (int32_t i = 0; i < b->particles; i++)
        b->weight[i] /= sum;
}

/* Outliers weigh less: the scale mixture behind Student's t, at the residuals of the guesses. */
static void set_inflation(sked_i_belief *b)
{
    work *w = b->work[0];
    for (int64_t d = 0; d < b->n_data; d++) {
        double sum = 0;
        for (int32_t i = 0; i < b->particles; i++) {
            if (sked_i_belief_stopped(b))
                return;
            sked_i_model_rates(b->model, sked_i_belief_guess(b, i), &w->rates);
            const double time = sked_i_timing_run(b->data[d].timing, &w->rates, &w->timing);
            const double z = (b->data[d].log_time - sked_i_model_log(time)) / sked_i_belief_noise(b, i);
            sum += b->weight[i] * z * z;
        }
        b->data[d].inflation = fmax(1, (degrees_of_freedom + sum) / (degrees_of_freedom + 1));
    }
}

/* ------------------------------------------------------------------ what factors of ops do on the average */

/* Derivatives of a measured schedule where the ops' factors are drawn: every path that may be critical
 * counts. */
static sked_status smooth_datum(sked_i_belief *b, sked_i_datum *x, sked_error *err)
{
    work *w = b->work[0];
    const sked_i_model *m = b->model;
    sked_status st = SKED_OK;
    SKED_OWN0(&b->arena, x->smooth, b->many);
    for (int32_t i = 0; i < b->particles && !sked_i_belief_stopped(b); i++) {
        memcpy(w->parameter, sked_i_belief_guess(b, i), (size_t)m->count * sizeof *w->parameter);
        for (int32_t k = 0; k < m->ops; k++)
            w->parameter[m->at_op + k] +=
                m->spread[m->at_op + k] * sked_i_smoothing * sked_i_rng_normal(&b->rng[i]);
        sked_i_model_rates(m, w->parameter, &w->rates);
        sked_i_belief_differentiate(b, w, x->timing);
        for (int64_t k = 0; k < b->many; k++)
            x->smooth[k] += w->row[b->links + k] / b->particles;
    }
cleanup:
    return st;
}

static void set_overlap(sked_i_belief *b, int64_t i, int64_t j)
{
    const sked_i_model *m = b->model;
    const double *p = b->data[i].smooth, *q = b->data[j].smooth;
    assert(j <= i && p != NULL && q != NULL);
    double ops = 0, rest = 0;
    for (int64_t k = 0; k < b->many; k++) {
        const double s = m->spread[m->at_type + k], x = p[k] * q[k] * s * s;
        if (k + m->at_type >= m->at_op && k + m->at_type < m->at_size)
            ops += x;
        else
            rest += x;
    }
    b->overlap_ops[i * b->n_data + j] = ops;
    b->overlap_rest[i * b->n_data + j] = rest;
}

static sked_status set_overlaps(sked_i_belief *b, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena_drop(&b->arena, b->overlap_ops);
    sked_i_arena_drop(&b->arena, b->overlap_rest);
    b->overlap_ops = b->overlap_rest = NULL;
    SKED_OWN(&b->arena, b->overlap_ops, b->n_data * b->n_data);
    SKED_OWN(&b->arena, b->overlap_rest, b->n_data * b->n_data);
    for (int64_t i = 0; i < b->n_data && !sked_i_belief_stopped(b); i++) {
        if (b->data[i].smooth == NULL)
            SKED_TRY(smooth_datum(b, &b->data[i], err));
        for (int64_t j = 0; j <= i; j++)
            set_overlap(b, i, j);
    }
cleanup:
    return st;
}

sked_status sked_i_belief_update(sked_i_belief *b, const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t half = b->particles / 2;
    b->limit = limit;
    for (int t = 0; t < b->threads; t++)
        SKED_TRY(sked_i_belief_work_widen(b->work[t], b, err));
    if (b->trace.runs > 0)
        SKED_TRY(learn_traces(b, err));
    if (sked_i_limit_stopped(limit))
        goto cleanup;
    SKED_TRY(set_overlaps(b, err));
    SKED_TRY(run_stage(b, limit, 0, b->particles, fit, err));
    mark_lowest(b);
    SKED_TRY(run_stage(b, limit, 0, b->particles, restart_lowest, err));
    replace_hopeless(b);
    for (int k = 0; k < SWEEPS; k++) {
        SKED_TRY(run_stage(b, limit, 0, half, move, err));
        SKED_TRY(run_stage(b, limit, half, b->particles, move, err));
    }
    SKED_TRY(run_stage(b, limit, 0, b->particles, sample, err));
    if (!sked_i_limit_stopped(limit)) {
        normalise_weights(b);
        set_inflation(b);
    }
cleanup:
    b->limit = NULL;
    return st;
}

/* ------------------------------------------------------------------ questions */

double sked_i_belief_noise(const sked_i_belief *b, int32_t i)
{
    return sked_i_exp(particle_at(b, i)[b->links + SKED_I_NOISE]);
}

void sked_i_belief_know_noise(sked_i_belief *b, double deviation)
{
    if (b->n_data == 0 && b->trace.runs > 0)
        know(b, b->links + SKED_I_NOISE,
             sked_i_log(fmax(sked_i_least_noise, fmin(deviation, sked_i_most_noise))));
}

void sked_i_belief_mean(const sked_i_belief *b, double *mean)
{
    const int64_t n = b->model->count;
    memset(mean, 0, (size_t)n * sizeof *mean);
    for (int32_t i = 0; i < b->particles; i++)
        for (int64_t k = 0; k < n; k++)
            mean[k] += b->weight[i] * b->guess[i * n + k];
}

int32_t sked_i_belief_draw(const sked_i_belief *b, double u)
{
    assert(u >= 0 && u < 1);
    int32_t i = 0;
    for (double sum = b->weight[0]; sum <= u && i < b->particles - 1; sum += b->weight[i])
        i++;
    return i;
}
