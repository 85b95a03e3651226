/*
 * The Gaussian relaxation as a backend sees it. Op i starts at step round(X_i), X_i ~ N(mu_i, sigma_i^2),
 * all independent, so P(start <= d) = F_i(d) = Phi((d + 0.5 - mu_i) / sigma_i). One call gives the value
 * and the gradient of the whole augmented Lagrangian; docs/methods/gaus.md has every formula.
 */
#ifndef SKED_BACKEND_GAUSSIAN_H
#define SKED_BACKEND_GAUSSIAN_H
#include "base/clock.h"

/* F is taken as 0 or 1 further than this many sigmas from mu (2.9e-7 is left outside). */
#define SKED_I_GAUS_REACH 5.0

/* The problem in whole steps. All arrays belong to the caller and outlive the descents. */
typedef struct sked_i_gaus_view {
    int32_t ops, profiles; /* profiles: of pools; memory is a further one */
    int32_t steps;         /* starts and finishes lie in 0..steps */
    int32_t period;        /* 0: not pipelined; else profiles are folded over this many cells */
    const int32_t *duration;
    const int64_t *use_ptr; /* [ops + 1] what an op adds to which profile while it runs */
    const int32_t *use_profile;
    const double *use_amount;
    const double *memory;                 /* [ops], NULL: memory does not matter */
    const int64_t *succ_ptr;              /* [ops + 1] */
    const int32_t *edge_to, *gap, *shift; /* [edges] start(to) >= start(from) + gap; gap = lag - shift */
    const uint8_t *edge_kind;             /* [edges] SKED_I_GAUS_EDGE_* */
    const double *edge_bytes;             /* [edges] weight in communication */
    const int32_t *lo, *hi; /* [ops] windows of the means; lo == hi: neither mean nor sigma moves */
} sked_i_gaus_view;

/*
 * What an edge is at the interval: a rule and a use, both between iterations, neither; or, with ORDERS added
 * to one of the first two, a rule alone.
 */
enum {
    SKED_I_GAUS_EDGE_FORWARD,
    SKED_I_GAUS_EDGE_CARRIED,
    SKED_I_GAUS_EDGE_IGNORED,
    SKED_I_GAUS_EDGE_ORDERS = 4
};

static inline bool sked_i_gaus_counts(const sked_i_gaus_view *v, int64_t e)
{
    return v->edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED;
}

static inline bool sked_i_gaus_reads(const sked_i_gaus_view *v, int64_t e)
{
    return v->edge_kind[e] < SKED_I_GAUS_EDGE_IGNORED;
}

/* Constraint families, each with one multiplier and one penalty. */
enum {
    SKED_I_GAUS_DEPENDENCY, /* edges of distance 0 */
    SKED_I_GAUS_RECURRENCE, /* loop-carried edges */
    SKED_I_GAUS_LATENCY,    /* finish within the steps */
    SKED_I_GAUS_CAPACITY,   /* load within capacity */
    SKED_I_GAUS_FAMILIES
};

/* L = sum weight_p * peak_p + alpha * communication + sum_f (multiplier_f V_f + penalty_f V_f^2 / 2). */
typedef struct sked_i_gaus_terms {
    const double *weight;   /* [profiles + 1] of the peak; the last is memory */
    const double *capacity; /* [profiles + 1] INFINITY: none */
    const double *tau;      /* [profiles + 1] > 0, smoothing of the peak */
    double alpha;
    double multiplier[SKED_I_GAUS_FAMILIES], penalty[SKED_I_GAUS_FAMILIES];
} sked_i_gaus_terms;

typedef struct sked_i_gaus_value {
    double total, peak, communication;
    double violation[SKED_I_GAUS_FAMILIES];
} sked_i_gaus_value;

/* ------------------------------------------------------------------ descents */

/* Sigma of a mean that moves is at least this: an op that cannot move must not freeze its neighbours. */
#define SKED_I_GAUS_SIGMA_LEAST 0.15

/*
 * What follows a step. A violation above `fall` times that of the last step has its multiplier raised by the
 * factor `growth`. With dual > 0, as published: its penalty instead, and every multiplier makes a dual step,
 * by dual * penalty * violation.
 */
typedef struct sked_i_gaus_growth {
    double growth, fall, dual;
} sked_i_gaus_growth;

/* One gradient step. */
typedef struct sked_i_gaus_step {
    double rate;       /* of Adam on the means, to be multiplied by sked_i_gaus_pace of the window */
    double widest;     /* upper limit of sigma */
    const double *tau; /* [profiles + 1] */
    sked_i_gaus_growth raise;
} sked_i_gaus_step;

typedef struct sked_i_gaus_descent sked_i_gaus_descent;

enum {
    SKED_I_GAUS_FLIGHT = 2, /* runs that a descent may have under way */
    SKED_I_GAUS_RUN = 64    /* steps of one run at most */
};

/*
 * Gradient steps with all that they need in the memory of the backend: evaluation, Adam on (mu, log sigma),
 * projection to the windows, growth of the multipliers. The caller has the schedule of rates and tau, and
 * looks at the means when it wants to. A descent belongs to one thread at a time; several descents may run
 * at once.
 */
typedef struct sked_i_gaus_descent_backend {
    bool beside; /* run returns at once and the steps are made beside the caller; else within run */
    /* *count: how many of `most` descents have room at a time. DEVICE with the sizes where none has. NULL:
     * all have. */
    sked_status (*room)(const sked_i_gaus_view *view, int most, int *count, sked_error *err);
    /* limit: where evaluate and run take long, they end with it; NULL: none. */
    sked_status (*create)(const sked_i_gaus_view *view, const sked_i_limit *limit, int threads,
                          sked_i_gaus_descent **out, sked_error *err);
    void (*destroy)(sked_i_gaus_descent *descent);
    /* The point, [ops] each, means within the windows; Adam forgets what it has seen. No run is under way. */
    sked_status (*place)(sked_i_gaus_descent *descent, const double *mu, const double *sigma,
                         sked_error *err);
    /*
     * What is descended. weight and capacity stay with the caller; violation: [families] what the next one is
     * compared with before its multiplier grows. No run is under way.
     */
    sked_status (*aim)(sked_i_gaus_descent *descent, const sked_i_gaus_terms *terms, const double *violation,
                       sked_error *err);
    /*
     * Value and gradient (dmu, dsigma: [ops]; dsigma NULL: not wanted) at the point. No run is under way.
     * O(windows of ops and edges + profiles * steps); memory O(windows + profiles * steps). Same threads:
     * same bits. STOPPED, without a message: the limit is reached; so from run.
     */
    sked_status (*evaluate)(sked_i_gaus_descent *descent, double *dmu, double *dsigma,
                            sked_i_gaus_value *value, sked_error *err);
    /* Starts 1 to SKED_I_GAUS_RUN steps after those under way, fewer than SKED_I_GAUS_FLIGHT runs. */
    sked_status (*run)(sked_i_gaus_descent *descent, const sked_i_gaus_step *steps, int count,
                       sked_error *err);
    /*
     * Waits for the oldest run under way: the point after it ([ops] each) and the value before its last step.
     * BUG where a number was not finite.
     */
    sked_status (*wait)(sked_i_gaus_descent *descent, double *mu, double *sigma, sked_i_gaus_value *value,
                        sked_error *err);
} sked_i_gaus_descent_backend;

extern const sked_i_gaus_descent_backend sked_i_gaus_descent_cpu;
#ifdef SKED_WITH_CUDA
extern const sked_i_gaus_descent_backend sked_i_gaus_descent_cuda;
#endif
#endif
