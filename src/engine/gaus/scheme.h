/*
 * Means as priorities: shortest schedules under capacities. Means, and samples of the Gaussians, order the
 * ops for a generation scheme; forward-backward improvement follows.
 */
#ifndef SKED_ENGINE_GAUS_SCHEME_H
#define SKED_ENGINE_GAUS_SCHEME_H
#include "engine/decode/justify.h"
#include "engine/gaus/steps.h"

/* Decoders, scratch and the incumbent of one thread. Ops are in the core's numbers, times in its units. */
typedef struct sked_i_gaus_scheme {
    sked_i_cumulative *core;
    sked_i_justifier justifier;
    const sked_i_limit *limit;
    int32_t *key, *made; /* [n] scratch */
    int32_t *start;      /* [n] of the incumbent */
    int32_t length;      /* of the incumbent, INT32_MAX: none */
    int32_t samples;     /* drawn per visit */
    int64_t decodes;     /* schedules generated so far */
    sked_i_rng rng;
} sked_i_gaus_scheme;

/* limit must stay. UNSUPPORTED as sked_i_cumulative_create. */
SKED_MUST_CHECK sked_status sked_i_gaus_scheme_create(const sked_problem *p, const sked_i_limit *limit,
                                                      uint64_t seed, sked_i_gaus_scheme **out,
                                                      sked_error *err);
void sked_i_gaus_scheme_destroy(sked_i_gaus_scheme *s);
/* Length of the incumbent in units of time, rounded up. */
int64_t sked_i_gaus_scheme_steps(const sked_i_gaus_scheme *s);
/* The schedules, serial and parallel, of the order of these means ([ops of the graph]). */
void sked_i_gaus_scheme_decode(sked_i_gaus_scheme *s, const double *mu);
/*
 * For sked_i_gaus_tuning.visit: decodes the means, then samples until one is shorter than the incumbent; true
 * then, and when the limit is reached.
 */
bool sked_i_gaus_scheme_visit(void *scheme, const double *mu, const double *sigma);
/* Improves a legal schedule (whole starts by ops of the graph) and keeps it where it is shorter. */
void sked_i_gaus_scheme_take(sked_i_gaus_scheme *s, const double *start);
/* The incumbent's starts as means within the model's windows. */
void sked_i_gaus_scheme_means(const sked_i_gaus_scheme *s, const sked_i_gaus_model *m, double *mu);
#endif
