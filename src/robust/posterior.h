/*
 * How likely a particle of the belief is, given all measurements: its many linear parameters are fitted by
 * Gauss-Newton steps and integrated out (Laplace).
 */
#ifndef SKED_ROBUST_POSTERIOR_H
#define SKED_ROBUST_POSTERIOR_H
#include "robust/belief.h"

/* What follows links and start-up cost in a particle. */
enum { SKED_I_OP_SPREAD, SKED_I_NOISE, SKED_I_STEP_NOISE, SKED_I_BEHIND_LINKS };

/* Spread of the ops' factors at which derivatives are averaged. */
static const double sked_i_smoothing = 0.3;

/* Work space of one thread: times of all measured schedules and their derivatives at one point. */
typedef struct sked_i_belief_work {
    sked_i_timing_work timing;
    sked_i_rates rates;
    double *parameter; /* [count] */
    double *row;       /* [count] one derivative */
    double *deviation; /* [many] of the prior, given the spread of the ops' factors */
    double *centre;    /* [many] of the prior, or a draw from it */
    double *at;        /* [many] */
    double *linear;    /* [many] of a proposal */
    double *proposal;  /* [dimension] */
    int64_t cap;       /* data there is room for */
    double *steep;     /* [data * many] derivatives times deviation */
    double *bend;      /* [data * links] derivatives by the first parameters */
    double *white;     /* [links * data] the same, whitened by the covariance */
    double *misfit, *residual, *observed, *variance, *solved; /* [data] */
    double *covariance, *spread;                              /* [data * data] */
    double *hessian, *gradient;                               /* [links * links], [links] */
} sked_i_belief_work;

/* From the arena of b. */
SKED_MUST_CHECK sked_status sked_i_belief_work_open(sked_i_belief_work *w, sked_i_belief *b, sked_error *err);
/* Room for all data of b. */
SKED_MUST_CHECK sked_status sked_i_belief_work_widen(sked_i_belief_work *w, sked_i_belief *b,
                                                     sked_error *err);

/* Logarithm of the time of a schedule under w->rates; w->row [model->count] gets its derivative. */
double sked_i_belief_differentiate(const sked_i_belief *b, sked_i_belief_work *w, const sked_i_timing *r);

/* A stop ends the current update: what is computed from then on is not used. */
static inline bool sked_i_belief_stopped(const sked_i_belief *b)
{
    return b->limit != NULL && sked_i_limit_stopped(b->limit);
}

/* Prior of the many parameters, given a particle and the traces. */
double sked_i_belief_centre(const sked_i_belief *b, int64_t k);

/*
 * Logarithm of the posterior of a particle, but for a constant; -INFINITY: impossible. x [many]: where the
 * steps start, and the most likely parameters they find. O(data * (ops + edges) + data^2 * (many + data)).
 */
double sked_i_belief_density(const sked_i_belief *b, sked_i_belief_work *w, const double *particle,
                             double *x);
/* Levenberg-Marquardt steps of links and start-up cost; particle, x and density are what they end at. */
void sked_i_belief_fit(const sked_i_belief *b, sked_i_belief_work *w, double *particle, double *x,
                       double *density);
/*
 * Randomised maximum likelihood: guess [model->count] gets a draw of all parameters, given the particle.
 * Returns the sum of squared misfits in deviations of the noise.
 */
double sked_i_belief_sample(const sked_i_belief *b, sked_i_belief_work *w, const double *particle,
                            sked_i_rng *rng, double *guess);
#endif
