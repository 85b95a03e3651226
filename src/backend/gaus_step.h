/*
 * One step of Adam under an augmented Lagrangian, as every backend makes it: plain arithmetic, compiled for
 * the CPU and for the GPU.
 */
#ifndef SKED_BACKEND_GAUS_STEP_H
#define SKED_BACKEND_GAUS_STEP_H
#include "backend/gaussian.h"

#include <math.h>

#ifdef __CUDACC__
#define SKED_I_GAUS_ANYWHERE __host__ __device__
#else
#define SKED_I_GAUS_ANYWHERE
#endif

/* Powers of Adam's rates, for its bias correction; 1 before the first step. */
typedef struct sked_i_gaus_decay {
    double first, second;
} sked_i_gaus_decay;

static inline void sked_i_gaus_decay_advance(sked_i_gaus_decay *d)
{
    d->first *= 0.9;
    d->second *= 0.99;
}

/* One Adam step of one number; returns the step in units of the rate. */
SKED_I_GAUS_ANYWHERE static inline double sked_i_gaus_adam(const sked_i_gaus_decay *d, double *momentum,
                                                           double *variance, double gradient)
{
    *momentum = 0.9 * *momentum + 0.1 * gradient;
    *variance = 0.99 * *variance + 0.01 * gradient * gradient;
    return *momentum / (1 - d->first) / (sqrt(*variance / (1 - d->second)) + 1e-30);
}

/* What a step of a mean is multiplied by: wide windows are crossed faster. */
SKED_I_GAUS_ANYWHERE static inline double sked_i_gaus_pace(double window)
{
    return fmin(2.0, fmax(0.1, 0.02 * window));
}

/* Beyond this penalties grow no more: their products with violations stay finite. */
#define SKED_I_GAUS_PENALTY_MOST 1e100

/* Multipliers, or penalties, of violations that did not fall grow; before: [families] those of the last step.
 */
SKED_I_GAUS_ANYWHERE static inline void sked_i_gaus_raise_multipliers(const sked_i_gaus_value *value,
                                                                      const sked_i_gaus_growth *raise,
                                                                      double *before, double *multiplier,
                                                                      double *penalty)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        double *weight = raise->dual > 0 ? penalty : multiplier;
        if (raise->dual > 0)
            multiplier[f] += raise->dual * penalty[f] * value->violation[f];
        if (value->violation[f] > raise->fall * before[f] && value->violation[f] > 1e-6 &&
            (raise->dual == 0 || penalty[f] < SKED_I_GAUS_PENALTY_MOST))
            weight[f] *= raise->growth;
        before[f] = value->violation[f];
    }
}
#endif
