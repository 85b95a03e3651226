/*
 * The terms of the relaxation on the CPU, one pair of functions each: expectation forward, gradient backward
 * (added to what is there). lives.c has memory, terms.c the others. All work on windows: op i has cells
 * low[i] .. low[i] + len - 1, F_i is 0 before them and 1 after.
 */
#ifndef SKED_BACKEND_CPU_GAUS_TERMS_H
#define SKED_BACKEND_CPU_GAUS_TERMS_H
#include "backend/cpu/gaus/normal.h"
#include "backend/gaus_step.h"
#include "base/arena.h"

#include <assert.h>

/* One start distribution on the grid. slope is -dF/dmu = phi(z) / sigma; -dF/dsigma = z * slope. */
typedef struct sked_i_gaus_window {
    int32_t low, len;
    const double *cdf, *slope;
    double mu, sigma;
} sked_i_gaus_window;

/* A consumer whose F moves where a value ends, in the time of the value; what it gathers on the way back. */
typedef struct sked_i_gaus_factor {
    int32_t op, low, len;
    const double *cdf, *slope;
    double inverse, z0; /* z at step d is (d - low) * inverse + z0 */
    double now, before; /* F at this step; product of the factors before it */
    double dmu, dsigma;
} sked_i_gaus_factor;

/* What one thread works with. */
typedef struct sked_i_gaus_part {
    int32_t begin, end;   /* its ops */
    double *change;       /* [(profiles + 1) * length] what begins minus what ends, before summation */
    double *dmu, *dsigma; /* [ops] */
    double communication, violation[SKED_I_GAUS_FAMILIES];
    sked_i_gaus_factor *factor; /* [largest out-degree + 1] */
    bool cut;                   /* the limit was reached before its last op */
} sked_i_gaus_part;

typedef struct sked_i_gaus_evaluator {
    sked_i_arena arena;
    const sked_i_gaus_view *view;
    const sked_i_limit *limit; /* ends an evaluation; NULL: none */
    int threads;
    int32_t cells, lead, length; /* sked_i_gaus_measure */
    int32_t *low;                /* [ops] */
    int64_t *first;              /* [ops + 1] into cdf and slope */
    double *cdf, *slope;
    int64_t cap;
    double *profile, *adjoint; /* [(profiles + 1) * cells] */
    sked_i_gaus_part *part;    /* [threads] */
    sked_i_normal normal;
    /* of the evaluation in progress: */
    const sked_i_gaus_terms *terms;
    const double *mu, *sigma;
    unsigned what;                            /* SKED_I_GAUS_WITH_* */
    double least_price;                       /* cells priced below this do not move anything */
    double coefficient[SKED_I_GAUS_FAMILIES]; /* multiplier + penalty * V */
} sked_i_gaus_evaluator;

/* threads >= 1; the view outlives the evaluator. Close it after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_gaus_evaluator_open(sked_i_gaus_evaluator *s, const sked_i_gaus_view *view,
                                                       int threads, sked_error *err);
void sked_i_gaus_evaluator_close(sked_i_gaus_evaluator *s);
/*
 * Value and gradient (dmu, dsigma: [ops], overwritten) at mu, sigma: [ops]. The profiles stay in s->profile.
 * STOPPED, without a message: the limit is reached.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_evaluate(sked_i_gaus_evaluator *s, const sked_i_gaus_terms *terms,
                                                 const double *mu, const double *sigma, double *dmu,
                                                 double *dsigma, sked_i_gaus_value *value, sked_error *err);

static inline sked_i_gaus_window sked_i_gaus_window_of(const sked_i_gaus_evaluator *s, int32_t i)
{
    return (sked_i_gaus_window){.low = s->low[i],
                                .len = (int32_t)(s->first[i + 1] - s->first[i]),
                                .cdf = s->cdf + s->first[i],
                                .slope = s->slope + s->first[i],
                                .mu = s->mu[i],
                                .sigma = s->sigma[i]};
}
/* (d + 0.5 - mu) / sigma. */
static inline double sked_i_gaus_window_z(const sked_i_gaus_window *w, int32_t d)
{
    return (d + 0.5 - w->mu) / w->sigma;
}
/* Place of step d in a row of changes: times before the first cell count as it; -1: after the last. */
static inline int64_t sked_i_gaus_change_index(const sked_i_gaus_evaluator *s, int32_t d)
{
    const int64_t k = (int64_t)d + s->lead;
    return k < 0 ? 0 : k < s->length ? k : -1;
}
/* dL/dE of a profile at step d, folded where pipelined; 0 outside. row: its adjoint. */
static inline double sked_i_gaus_price(const sked_i_gaus_evaluator *s, const double *row, int32_t d)
{
    if (d + s->lead < 0 || d >= s->length - s->lead)
        return 0;
    assert(s->view->period > 0 || d < s->cells);
    return s->view->period > 0 ? row[(d + s->lead) % s->view->period] : row[d];
}

/* E[load(d)] = sum amount * (F_i(d) - F_i(d - duration)). */
void sked_i_gaus_resource(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
void sked_i_gaus_resource_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
/* E[Mem(d)] = sum memory * F_i(d) * (1 - prod over consumers j of F_j(d - shift)). */
void sked_i_gaus_memory(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
void sked_i_gaus_memory_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
/* E = sum over edges of bytes * (mu_to - mu_from + shift). */
void sked_i_gaus_communication(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
void sked_i_gaus_communication_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
/* expected shortfall of X_to - X_from below gap - 1/2. */
void sked_i_gaus_dependency(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
void sked_i_gaus_dependency_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
/* expected steps by which op i ends after the last one. */
void sked_i_gaus_latency(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
void sked_i_gaus_latency_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i);
#endif
