/*
 * What the descents of both relaxations (steps.h, device.h) have in common: how they are tuned and how many
 * steps the time allows.
 */
#ifndef SKED_ENGINE_GAUS_TUNING_H
#define SKED_ENGINE_GAUS_TUNING_H
#include "backend/gaus_step.h"
#include "base/clock.h"

typedef struct sked_i_gaus_tuning {
    double rate;        /* of Adam, in shares of a window and steps (descent.c) */
    double kappa;       /* sigma at the start as a share of the window */
    double sigma_most;  /* largest sigma */
    double sigma_scale; /* of kappa and sigma_most: below 1 for restarts near a good schedule */
    bool fixed_sigma;   /* keep sigma as it starts */
    bool exact;         /* exact form of the dependency violation */
    bool published;     /* augmented Lagrangian with dual steps and a growing penalty */
    int32_t iterations; /* gradient steps */
    int32_t restarts;   /* times it goes back to the incumbent within the iterations */
    int32_t every;      /* gradient steps between legalisations, >= 1 */
    int threads;        /* of one evaluation, >= 1 */
    const struct sked_i_backend *backend; /* that makes the steps; NULL: the CPU */
    double goal;                          /* stop at this value */
    int64_t *steps;                       /* grows by the gradient steps made; NULL: nobody counts them */
} sked_i_gaus_tuning;

/*
 * How multipliers, or as published penalties, grow in a descent of so many steps. 3 % a step are right for
 * some 400 of them; a descent `beside` the caller makes many more, and as much has to happen in it.
 */
sked_i_gaus_growth sked_i_gaus_growth_of(const sked_i_gaus_tuning *tuning, bool beside, int32_t iterations);
/*
 * Weights of the violations at the start, [families] each: multipliers as given, and penalties that double
 * their pull there. As published multipliers begin at 0, and the penalties alone pull as hard.
 */
void sked_i_gaus_set_penalties(const sked_i_gaus_tuning *tuning, const double *violation, double *multiplier,
                               double *penalty);
/*
 * Gradient steps of `all` that the time allows by the pace so far, `done` since `begin`, at least `least`
 * more: a descent that is cut short would end hot.
 */
int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit);
#endif
