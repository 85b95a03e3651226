/*
 * What the descents of both relaxations (steps.h, device.h) have in common: how they are tuned, who watches
 * them, and one step of Adam.
 */
#ifndef SKED_ENGINE_GAUS_TUNING_H
#define SKED_ENGINE_GAUS_TUNING_H
#include "backend/gaus.h"
#include "base/clock.h"

#include <math.h>

/* ------------------------------------------------------------------ watching a descent */

/* One gradient step, after its evaluation. Pointers hold until the callback returns. */
typedef struct sked_i_gaus_iterate {
    int64_t number;
    bool restart;            /* the descent went back to its incumbent before this step */
    double objective;        /* smoothed, without what violations cost; NAN: only rules count */
    double best;             /* value of the incumbent; INFINITY: none */
    const double *violation; /* [SKED_I_GAUS_FAMILIES] expected */
    int32_t ops;
    const double *mean, *deviation; /* [ops] of the starts, in units of time */
} sked_i_gaus_iterate;
typedef void (*sked_i_gaus_record_fn)(void *data, const sked_i_gaus_iterate *x);

/* ------------------------------------------------------------------ tuning */

typedef struct sked_i_gaus_tuning {
    double rate;        /* of Adam, in shares of a window and steps (descent.c) */
    double kappa;       /* sigma at the start as a share of the window */
    double sigma_most;  /* largest sigma */
    double sigma_scale; /* of kappa and sigma_most: below 1 for restarts near a good schedule */
    bool fixed_sigma;   /* keep sigma as it starts */
    bool exact;         /* exact form of the dependency violation */
    int32_t iterations; /* gradient steps */
    int32_t restarts;   /* times it goes back to the incumbent within the iterations */
    int32_t every;      /* gradient steps between legalisations, >= 1 */
    int threads;        /* of one evaluation, >= 1 */
    double goal;        /* stop at this value */
    /* Called with the means at every legalisation; true: stop. NULL: legalise only. */
    bool (*visit)(void *data, const double *mu, const double *sigma);
    void *visit_data;
    sked_i_gaus_record_fn record; /* called once per gradient step; NULL: nobody watches */
    void *record_data;
} sked_i_gaus_tuning;

/* The least sigma: an op that cannot move must not freeze its neighbours' gradients. */
#define SKED_I_GAUS_SIGMA_LEAST 0.15

/*
 * Gradient steps of `all` that the time allows by the pace so far, `done` since `begin`, at least `least`
 * more: a descent that is cut short would end hot.
 */
int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit);

/* ------------------------------------------------------------------ one step */

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
static inline double sked_i_gaus_adam(const sked_i_gaus_decay *d, double *momentum, double *variance,
                                      double gradient)
{
    *momentum = 0.9 * *momentum + 0.1 * gradient;
    *variance = 0.99 * *variance + 0.01 * gradient * gradient;
    return *momentum / (1 - d->first) / (sqrt(*variance / (1 - d->second)) + 1e-30);
}
/* Multipliers of violations that did not fall grow by 3 %; before: [families] those of the last step. */
void sked_i_gaus_raise_multipliers(const sked_i_gaus_value *value, double *before, double *multiplier);
#endif
