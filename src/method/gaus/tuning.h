/* Options of gaus and what they set, for both relaxations (gaus.h, lines.h). */
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
    const sked_run_options *record; /* who listens to this descent; NULL: nobody */
} sked_i_gaus_tuning;
sked_i_gaus_tuning sked_i_gaus_tuning_of(const sked_i_run *run);

/* lines.c: objective makespan with devices, or with times that are not whole. */
SKED_MUST_CHECK sked_status sked_i_gaus_lines_run(sked_i_run *run, sked_error *err);
#endif
