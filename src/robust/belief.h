/*
 * What is believed of the machine: a population of guesses that explain all measurements made so far.
 *
 * Few parameters bend the time of a schedule far from a line: links, start-up cost, the spread of the ops'
 * factors, noise. They are the particles. The many others (factors by type, device and op, sizes) enter
 * through the critical paths and are small: given a particle they are normal, and the time of every measured
 * schedule is linear in them near their most likely values, found by Gauss-Newton steps. So a particle is
 * weighed by the marginal likelihood of all measurements, and a guess draws its many parameters by randomised
 * maximum likelihood: prior draw and perturbed measurements, fitted again. Particles are fitted to new
 * measurements, those that cannot explain them are replaced, and Metropolis steps along differences of the
 * population (ter Braak, Statistics and Computing 16, 2006) spread them as the posterior is.
 */
#ifndef SKED_ROBUST_BELIEF_H
#define SKED_ROBUST_BELIEF_H
#include "base/clock.h"
#include "base/rng.h"
#include "robust/model.h"
#include "robust/traces.h"

/* One measured time. */
typedef struct sked_i_datum {
    const sked_i_timing *timing;
    double log_time;
    double variance;  /* of the logarithm, that is known from runs */
    double inflation; /* of the noise: outliers weigh less (Student's t with 4 degrees of freedom) */
    double *smooth;   /* [many] derivative, averaged over draws of the ops' factors; NULL: not known yet */
} sked_i_datum;

typedef struct sked_i_belief {
    sked_i_arena arena;
    const sked_i_model *model;
    const sked_i_limit *limit; /* of the current update; NULL: there is none */
    int threads;
    int32_t particles;
    int32_t links;     /* first parameters of a particle: links and start-up, as in the model's vector */
    int32_t dimension; /* of a particle: links, then logs of op spread, noise, noise of a traced start */
    int64_t many;      /* parameters that are linear */
    double *prior_mean, *prior_spread; /* [dimension] */
    double *particle;                  /* [particles * dimension] */
    double *linear;                    /* [particles * many] most likely, given the particle */
    double *density;                   /* [particles] log of the posterior */
    double *guess;                     /* [particles * model->count] */
    double *weight;                    /* [particles] sums to 1 */
    double *log_weight;                /* [particles] of the last draws, but for a constant */
    sked_i_rng *rng;                   /* [particles] */
    int32_t *alive;                    /* [particles] those that explain the data */
    sked_i_datum *data;
    int64_t n_data, data_cap;
    double *overlap_ops,
        *overlap_rest; /* [data * data] products of smooth, of ops and (times spread) of others */
    sked_i_traces trace;
    struct sked_i_belief_work **work; /* [threads] */
} sked_i_belief;

/* m must stay. The guesses are draws from the prior. Close in any case. */
SKED_MUST_CHECK sked_status sked_i_belief_open(sked_i_belief *b, const sked_i_model *m, uint64_t seed,
                                               int threads, sked_error *err);
void sked_i_belief_close(sked_i_belief *b);
/* timing must stay. variance: known one of the logarithm of the time. Counts from the next update on. */
SKED_MUST_CHECK sked_status sked_i_belief_add(sked_i_belief *b, const sked_i_timing *timing, double time,
                                              double variance, sked_error *err);
/* The guesses explain all data. A stop leaves guesses that may not. */
SKED_MUST_CHECK sked_status sked_i_belief_update(sked_i_belief *b, const sked_i_limit *limit,
                                                 sked_error *err);

static inline const double *sked_i_belief_guess(const sked_i_belief *b, int32_t i)
{
    return b->guess + (int64_t)i * b->model->count;
}
/* Relative deviation of one measurement from the model, as guess i has it. */
double sked_i_belief_noise(const sked_i_belief *b, int32_t i);
/* Where there are traces alone, no guess learns its noise: all have this one from now on. */
void sked_i_belief_know_noise(sked_i_belief *b, double deviation);
/* Weighted mean of the guesses' parameters into mean[model->count]. */
void sked_i_belief_mean(const sked_i_belief *b, double *mean);
/* Number of a guess drawn by weight; u: uniform in 0..1. */
int32_t sked_i_belief_draw(const sked_i_belief *b, double u);
#endif
