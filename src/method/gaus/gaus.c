/* The method `gaus`: options, horizon and interval, rounds of starts, stopping. */
#include "method/gaus/gaus.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_STARTS, OPTION_STEPS, OPTION_RESTARTS, OPTION_EVERY, OPTION_RATE, OPTION_KAPPA, OPTION_SIGMA,
       OPTION_FIXED, OPTION_DEPENDENCY, OPTION_POLISH, OPTION_SWEEPS, OPTION_HEAT };

static const sked_option options[] = {
    {"starts", SKED_OPTION_INT, "5", 0, 1000, NULL,
     "starts of the descent: list, filling, ALAP, midpoint, ASAP, then random; 0: legalise and polish only"},
    {"steps", SKED_OPTION_INT, "120", 1, 1e6, NULL, "gradient steps per start"},
    {"restarts", SKED_OPTION_INT, "1", 0, 100, NULL, "returns to the best legal schedule within a descent"},
    {"every", SKED_OPTION_INT, "8", 1, 1e6, NULL, "gradient steps between legalisations"},
    {"rate", SKED_OPTION_REAL, "0.1", 1e-6, 100, NULL, "learning rate"},
    {"kappa", SKED_OPTION_REAL, "0.15", 1e-6, 10, NULL, "sigma of a start as a share of the op's window"},
    {"sigma", SKED_OPTION_REAL, "3", 0.15, 100, NULL, "largest sigma"},
    {"fixed-sigma", SKED_OPTION_BOOL, "false", 0, 0, NULL, "do not learn sigma"},
    {"dependency", SKED_OPTION_ENUM, "shortfall", 0, 0, "shortfall|exact", "form of the violated edges"},
    {"polish", SKED_OPTION_BOOL, "true", 0, 0, NULL, "single-op moves after legalising"},
    {"sweeps", SKED_OPTION_REAL, "300", 1, 1e9, NULL, "passes of the polish over the ops"},
    {"heat", SKED_OPTION_REAL, "0.3", 0, 100, NULL, "temperature at which the polish begins"},
};

static sked_status offer(sked_i_run *run, const sked_i_gaus_model *m, const int32_t *at, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(m->n, 0, &s, err);
    if (st != SKED_OK)
        return st;
    s->ii = m->period;
    for (int32_t i = 0; i < m->n; i++)
        s->start[i] = at[i];
    st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

static sked_status run_gaus(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_model *m = NULL;
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_best best = {.value = INFINITY};
    double *mu = NULL;
    const double *set = run->setting;
    sked_i_gaus_tuning tuning = {.rate = set[OPTION_RATE], .kappa = set[OPTION_KAPPA],
        .sigma_most = set[OPTION_SIGMA], .fixed_sigma = set[OPTION_FIXED] != 0, .exact = set[OPTION_DEPENDENCY] == 1,
        .iterations = (int32_t)set[OPTION_STEPS], .restarts = (int32_t)set[OPTION_RESTARTS], .every = (int32_t)set[OPTION_EVERY], .threads = run->options->threads};
    SKED_TRY(sked_i_gaus_model_create(run->problem, (int64_t)run->problem->ii, (int64_t)run->problem->horizon, &m, err));
    SKED_TRY(sked_i_gaus_legaliser_create(m, &l, err));
    SKED_NEW(best.at, m->n);
    SKED_NEW(mu, m->n);
    sked_i_rng rng;
    sked_i_rng_seed(&rng, run->options->seed, 0);
    double t0 = sked_clock();
    for (int k = 0; k < set[OPTION_STARTS]; k++) {
        const char *why;
        sked_i_gaus_best own = {.value = INFINITY, .at = best.at};
        double v0 = best.value;
        own.at = sked_i_alloc(m->n, 4);
        sked_i_gaus_start(m, k, NULL, &rng, mu);
        if (sked_i_gaus_legalise(l, mu, &run->limit)) sked_i_gaus_keep(&own, l->state);
        double v1 = own.value;
        if (set[OPTION_STEPS] > 1)
        SKED_TRY(sked_i_gaus_optimise(l, &tuning, &run->limit, mu, &own, &run->evaluations, &why, err));
        double v2 = own.value, t1 = sked_clock();
        if (set[OPTION_POLISH])
            SKED_TRY(sked_i_gaus_polish(l->state, set[OPTION_SWEEPS], set[OPTION_HEAT], &rng, &run->limit, run->bound, &own, err));
        fprintf(stderr, "start %d: legal %g, gradient %g (%.2f s), polish %g (%.2f s)\n", k, v1, v2, t1 - t0, own.value, sked_clock() - t1);
        t0 = sked_clock();
        (void)v0;
        if (own.value < best.value) { best.value = own.value; memcpy(best.at, own.at, m->n * 4); }
        free(own.at);
    }
    if (best.value < INFINITY)
        SKED_TRY(offer(run, m, best.at, err));
cleanup:
    free(best.at);
    free(mu);
    sked_i_gaus_legaliser_destroy(l);
    sked_i_gaus_model_destroy(m);
    return st;
}

const sked_i_method sked_i_method_gaus = {
    .info = {"gaus", "differentiable scheduling: Gaussian start times, augmented Lagrangian, legaliser, polish",
             SKED_CAN_RESOURCES | SKED_CAN_LOOPS | SKED_CAN_HORIZON | SKED_CAN_FIX | SKED_CAN_ANYTIME |
                 SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST,
             options, sizeof options / sizeof *options},
    .run = run_gaus,
};
