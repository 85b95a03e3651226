/* Options of gaus and what they set, for both relaxations (gaus.h, device.h). */
#ifndef SKED_METHOD_GAUS_TUNING_H
#define SKED_METHOD_GAUS_TUNING_H
#include "backend/backend.h"
#include "method/method.h"

enum {
    SKED_I_GAUS_OPTION_STARTS,
    SKED_I_GAUS_OPTION_STEPS,
    SKED_I_GAUS_OPTION_RESTARTS,
    SKED_I_GAUS_OPTION_EVERY,
    SKED_I_GAUS_OPTION_RATE,
    SKED_I_GAUS_OPTION_KAPPA,
    SKED_I_GAUS_OPTION_SIGMA,
    SKED_I_GAUS_OPTION_FIXED,
    SKED_I_GAUS_OPTION_DEPENDENCY,
    SKED_I_GAUS_OPTION_POLISH,
    SKED_I_GAUS_OPTION_SWEEPS,
    SKED_I_GAUS_OPTION_HEAT,
    SKED_I_GAUS_OPTION_PATIENCE
};

typedef struct sked_i_gaus_tuning {
    double rate;       /* of Adam, in shares of a window and steps (optimise.c) */
    double kappa;      /* sigma at the start as a share of the window */
    double sigma_most; /* largest sigma */
    bool fixed_sigma;  /* keep sigma as it starts */
    bool exact;        /* exact form of the dependency violation */
    int32_t iterations;
    int32_t restarts; /* times it goes back to the best legal schedule within the iterations */
    int32_t every;    /* iterations between legalisations */
    int threads;      /* of one evaluation */
    double goal;      /* stop at this value */
    double share;     /* of kappa and sigma_most: below 1 for restarts near a good schedule */
    /* Called with the means at every legalisation; true: the goal is met, stop. NULL: legalise only. */
    bool (*visit)(void *data, const double *mu, const double *sigma);
    void *data;
    sked_i_recording *record; /* keeps this descent; NULL: nobody asks */
} sked_i_gaus_tuning;
sked_i_gaus_tuning sked_i_gaus_tuning_of(const sked_i_run *run);
/* Threads of one evaluation where `jobs` descents run at a time: those left over, on graphs worth forking. */
int sked_i_gaus_threads(const sked_i_run *run, int jobs);
/* `part` of an item's share of the time until `deadline`, where `left` items are to come one after another.
 */
sked_i_limit sked_i_gaus_share(const sked_i_run *run, double deadline, int left, double part);
/*
 * Steps of `all` that the time allows by the pace so far, `done` since `begin`, at least `least` more: a
 * descent that is cut short would end hot.
 */
int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit);

/* Powers of Adam's rates, for its bias correction; 1 before the first step. */
typedef struct sked_i_gaus_decay {
    double first, second;
} sked_i_gaus_decay;
/* One Adam step of one number; returns the step in units of the rate. */
static inline double sked_i_gaus_adam(const sked_i_gaus_decay *d, double *momentum, double *variance,
                                      double gradient)
{
    *momentum = 0.9 * *momentum + 0.1 * gradient;
    *variance = 0.99 * *variance + 0.01 * gradient * gradient;
    return *momentum / (1 - d->first) / (sqrt(*variance / (1 - d->second)) + 1e-30);
}

/* device.c: objective makespan with devices, or with times that are not whole. */
SKED_MUST_CHECK sked_status sked_i_gaus_device_run(sked_i_run *run, sked_error *err);
#endif
