/*
 * One step of Adam under an augmented Lagrangian, and what else every backend does in the same way: plain
 * arithmetic, compiled for the CPU and for the GPU.
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

/* What an evaluation looks at. */
enum {
    SKED_I_GAUS_WITH_MEMORY = 1,
    SKED_I_GAUS_WITH_EDGES = 2,
    SKED_I_GAUS_WITH_LATENCY = 4,
    SKED_I_GAUS_WITH_CAPACITY = 8
};

static inline bool sked_i_gaus_matters(const sked_i_gaus_terms *t, int family)
{
    return t->multiplier[family] != 0 || t->penalty[family] != 0;
}

static inline unsigned sked_i_gaus_what_matters(const sked_i_gaus_view *v, const sked_i_gaus_terms *t)
{
    unsigned what = 0;
    if (v->memory != NULL && (t->weight[v->profiles] != 0 || isfinite(t->capacity[v->profiles])))
        what |= SKED_I_GAUS_WITH_MEMORY;
    if (sked_i_gaus_matters(t, SKED_I_GAUS_DEPENDENCY) || sked_i_gaus_matters(t, SKED_I_GAUS_RECURRENCE))
        what |= SKED_I_GAUS_WITH_EDGES;
    if (sked_i_gaus_matters(t, SKED_I_GAUS_LATENCY))
        what |= SKED_I_GAUS_WITH_LATENCY;
    for (int32_t p = 0; p <= v->profiles; p++)
        what |= isfinite(t->capacity[p]) ? SKED_I_GAUS_WITH_CAPACITY : 0;
    return what;
}

/*
 * Cells of a profile, and how far unfolded time reaches, past the last start plus what lives on after it:
 * steps -lead to length - lead - 1. Folding begins at cell 0; lead is 0 without a period. O(ops + edges).
 */
static inline void sked_i_gaus_measure(const sked_i_gaus_view *v, int32_t *cells, int32_t *lead,
                                       int32_t *length)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < v->ops; i++)
        longest = v->duration[i] > longest ? v->duration[i] : longest;
    for (int64_t e = 0; e < v->succ_ptr[v->ops]; e++)
        longest = sked_i_gaus_counts(v, e) && v->shift[e] > longest ? v->shift[e] : longest;
    *cells = v->period > 0 ? v->period : v->steps + 1;
    *lead = v->period > 0 ? v->period * (1 + 64 / v->period) : 0;
    *length = v->period > 0 ? (int32_t)(*lead * 2 + v->steps + longest + 1) : v->steps + 1;
}

SKED_I_GAUS_ANYWHERE static inline int sked_i_gaus_family(uint8_t edge_kind)
{
    return (edge_kind & SKED_I_GAUS_EDGE_CARRIED) != 0 ? SKED_I_GAUS_RECURRENCE : SKED_I_GAUS_DEPENDENCY;
}

/* Adds what the violations cost to value->total; coefficient gets dL/dV of every family. */
SKED_I_GAUS_ANYWHERE static inline void sked_i_gaus_add_violations(const double *multiplier,
                                                                   const double *penalty,
                                                                   sked_i_gaus_value *value,
                                                                   double *coefficient)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        const double v = value->violation[f];
        value->total += multiplier[f] * v + 0.5 * penalty[f] * v * v;
        coefficient[f] = multiplier[f] + penalty[f] * v;
    }
}

/* BUG where the value is not finite. where: "" or " on ..." */
static inline sked_status sked_i_gaus_check_value(const sked_i_gaus_value *v, const double *multiplier,
                                                  const char *where, sked_error *err)
{
    if (isfinite(v->total))
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_BUG,
                       "the differentiable scheduler met a number that is not finite%s: total %g, peak %g, "
                       "communication %g, violations %g %g %g %g, multipliers %g %g %g %g",
                       where, v->total, v->peak, v->communication, v->violation[0], v->violation[1],
                       v->violation[2], v->violation[3], multiplier[0], multiplier[1], multiplier[2],
                       multiplier[3]);
}

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
