/*
 * The Gaussian relaxation in time steps (docs/methods/gaus.md): starts are whole steps, what counts are the
 * profiles of loads and of memory.
 *
 *   incumbent.c    the best schedule of one thread
 *   first_means.c  where the means begin: list, ASAP, ALAP, midpoint, filling, random
 *   descent.c      Adam under an augmented Lagrangian; legalises often and keeps the best
 *   means.c        the same on the means alone, for peak memory of large graphs
 *   legalise.c     means to a legal schedule: topological repair, modulo repair
 *   state.c        a legal schedule with its profiles, moved op by op
 *   polish.c       single-op moves within slack under the same smoothed objective
 *   pushes.c       moves of several ops, for loads with communication
 *   regions.c      moves of some hundred ops by minimum cuts (best_closure.c), for peak memory
 */
#ifndef SKED_ENGINE_GAUS_GAUS_RELAXATION_H
#define SKED_ENGINE_GAUS_GAUS_RELAXATION_H
#include "base/explog.h"
#include "base/rng.h"
#include "base/sort.h"
#include "engine/modulo/modulo.h"
#include "form/relaxation.h"
#include "schedule/value_curve.h"

/* ------------------------------------------------------------------ incumbent and tuning */

/* The best schedule that one thread, or one part of the search, has found. value INFINITY: none. */
typedef struct sked_i_gaus_incumbent {
    double *start;              /* [n] whole numbers */
    double value;               /* of the objective */
    sked_i_value_curve *curve;  /* gets a point where a schedule is kept; NULL: none */
    const int64_t *evaluations; /* for these points */
} sked_i_gaus_incumbent;

/* Free it after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_gaus_incumbent_create(int32_t n, sked_i_gaus_incumbent *out,
                                                         sked_error *err);
void sked_i_gaus_incumbent_free(sked_i_gaus_incumbent *x);
void sked_i_gaus_incumbent_copy(sked_i_gaus_incumbent *to, const sked_i_gaus_incumbent *from, int32_t n);

/* How a descent is tuned. */
typedef struct sked_i_gaus_tuning {
    double rate;        /* of Adam, in shares of a window and steps (descent.c) */
    double kappa;       /* sigma at the start as a share of the window */
    double sigma_most;  /* largest sigma */
    double sigma_scale; /* of kappa and sigma_most: below 1 for restarts near a good schedule */
    bool published;     /* augmented Lagrangian with dual steps and a growing penalty */
    int32_t iterations; /* gradient steps */
    int32_t restarts;   /* returns to the incumbent within the iterations */
    int32_t every;      /* gradient steps between legalisations, >= 1 */
    int threads;        /* of one evaluation, >= 1 */
    const struct sked_i_backend *backend; /* that makes the steps of Gaussians */
    double goal;                          /* stop at this value */
    int64_t *steps;                       /* grows by the gradient steps made; NULL: not counted */
} sked_i_gaus_tuning;

/*
 * Gradient steps of `all` that the time allows by the pace so far, `done` since `begin`, at least `least`
 * more: a descent that is cut short would end hot.
 */
int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit);

/* ------------------------------------------------------------------ a schedule under change */

enum { SKED_I_GAUS_FARTHEST = 64 }; /* steps of a single move at most */

/* One per thread. Windows and edges hold at all times between calls. */

typedef struct sked_i_gaus_state {
    sked_i_arena arena;
    const sked_i_relaxation *m;
    int32_t *at;      /* [n] starts */
    int32_t *last;    /* [n] when the last consumer of its value starts; INT32_MIN without one */
    int32_t *holders; /* [n] edges to consumers that start then */
    double *level;    /* [(profiles + 1) * cells] */
    double communication;
    /* of the smoothed objective: */
    double *tau, *top;            /* [profiles + 1] */
    double *mass;                 /* [(profiles + 1) * cells] exp((level - top) / tau) */
    double *sum;                  /* [profiles + 1] of mass */
    double *cost;                 /* [2 * SKED_I_GAUS_FARTHEST + 1] what scan found */
    struct sked_i_gaus_end *ends; /* [largest in-degree] scratch of scans */
} sked_i_gaus_state;
SKED_MUST_CHECK sked_status sked_i_gaus_state_create(const sked_i_relaxation *m, sked_i_gaus_state **out,
                                                     sked_error *err);
void sked_i_gaus_state_destroy(sked_i_gaus_state *s);
/*
 * Takes over starts within the windows and builds all profiles. O(ops + edges + profiles * cells), and the
 * lengths of what is not filled by differences.
 */
void sked_i_gaus_state_set(sked_i_gaus_state *s, const int32_t *at);
/* The same from real numbers that are whole. */
void sked_i_gaus_state_load(sked_i_gaus_state *s, const double *start);
/* Is every window, edge and capacity kept? O(ops + edges + profiles * cells). */
bool sked_i_gaus_state_legal(const sked_i_gaus_state *s);
/* The highest level of profile p. O(cells). */
double sked_i_gaus_state_peak(const sked_i_gaus_state *s, int32_t p);
/* The objective of the schedule. O(profiles * cells). */
double sked_i_gaus_state_value(const sked_i_gaus_state *s);
/* Smoothing: tau of every profile as a multiple of its typical amount. O(profiles * cells + uses). */
void sked_i_gaus_state_smooth(sked_i_gaus_state *s, double relative_tau);
/* Where op i may start given all others: *lo..*hi, at most `reach` away. O(degree). */
void sked_i_gaus_state_slack(const sked_i_gaus_state *s, int32_t i, int32_t reach, int32_t *lo, int32_t *hi);
/*
 * Change of the smoothed objective for every place lo..hi of op i into s->cost[t - lo]; INFINITY where a
 * capacity forbids it. O(hi - lo + degree + duration).
 */
void sked_i_gaus_state_scan(sked_i_gaus_state *s, int32_t i, int32_t lo, int32_t hi);
/* `to` within the slack. Keeps profiles and smoothed sums. O(degree + duration + change of lives). */
void sked_i_gaus_state_move(sked_i_gaus_state *s, int32_t i, int32_t to);

/* What a cell of profile p weighs in the smoothed objective at this level. */
static inline double sked_i_gaus_state_mass(const sked_i_gaus_state *s, int32_t p, double level)
{
    const double x = (level - s->top[p]) / s->tau[p];
    return x < -700 ? 0 : sked_i_exp(x < 700 ? x : 700);
}

/* ------------------------------------------------------------------ legalising */

/* mu to starts that keep windows and edges, not capacities: rounded, then pushed later, or earlier. at: [n].
 */
void sked_i_gaus_round(const sked_i_relaxation *m, const double *mu, bool earlier, int32_t *at);

/* What turns means into schedules that keep everything. */
typedef struct sked_i_gaus_legaliser {
    sked_i_arena arena;
    const sked_i_relaxation *m;
    sked_i_gaus_state *state; /* the last schedule made */
    sked_i_ims *ims;          /* NULL without capacities */
    sked_i_frame near;        /* its windows, the model's but for lo: not much before the rounded means */
    sked_i_keyed *sorter;     /* [2 n] likewise */
    int32_t *at, *scratch, *middle; /* [n] */
} sked_i_gaus_legaliser;
SKED_MUST_CHECK sked_status sked_i_gaus_legaliser_create(const sked_i_relaxation *m,
                                                         sked_i_gaus_legaliser **out, sked_error *err);
void sked_i_gaus_legaliser_destroy(sked_i_gaus_legaliser *l);
/* mu, rounded later, into l->state, capacities or not. */
void sked_i_gaus_load_rounded(sked_i_gaus_legaliser *l, const double *mu);
/*
 * The best schedule that mu gives into l->state: rounded each way, or one way once the limit is reached; with
 * capacities placed by iterative modulo scheduling near the rounded means in their order, ejecting where it
 * is too full. false: none found.
 */
bool sked_i_gaus_legalise(sked_i_gaus_legaliser *l, const double *mu, const sked_i_limit *limit);

/* ------------------------------------------------------------------ where the means begin */

enum {
    SKED_I_GAUS_START_LIST,
    SKED_I_GAUS_START_ALAP,
    SKED_I_GAUS_START_MIDPOINT,
    SKED_I_GAUS_START_FILL,
    SKED_I_GAUS_START_ASAP,
    SKED_I_GAUS_START_RANDOM
};
/*
 * mu: [n] of one start, within the windows. list: [n] starts of a schedule, clipped to the windows, or NULL:
 * filled, or ASAP where no loads count. rng: for random only.
 */
void sked_i_gaus_place_means(const sked_i_relaxation *m, int kind, const double *list, sked_i_rng *rng,
                             double *mu);

/* ------------------------------------------------------------------ descent and polish */

/* The problem as a backend sees it; its arrays are the model's. */
sked_i_gaus_view sked_i_gaus_view_of(const sked_i_relaxation *m);
/* Keeps the state's schedule where it is better than the incumbent; true then. */
bool sked_i_gaus_keep(sked_i_gaus_incumbent *best, const sked_i_gaus_state *s);
/*
 * Descends from mu (within the windows; changed) and legalises on the way; improvements go to best.
 * *evaluations grows by the legalisations. BUG with a dump of the state where a number is not finite.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_descend(sked_i_gaus_legaliser *l, const sked_i_gaus_tuning *tuning,
                                                const sked_i_limit *limit, double *mu,
                                                sked_i_gaus_incumbent *best, int64_t *evaluations,
                                                sked_error *err);
/* Is the objective one that the means alone can descend: peak memory, without capacities? */
bool sked_i_gaus_means_suffice(const sked_i_relaxation *m);
/*
 * The same on the means alone (means.c): every step takes O(ops + edges + steps), and mu keeps every edge
 * after it. Where means suffice. tuning: iterations, restarts, every, rate, sigma_scale, goal count.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_descend_means(sked_i_gaus_legaliser *l,
                                                      const sked_i_gaus_tuning *tuning,
                                                      const sked_i_limit *limit, double *mu,
                                                      sked_i_gaus_incumbent *best, int64_t *evaluations,
                                                      sked_error *err);
/* How far an annealing is from hot to cold, 0 to 1: by passes, or by time where that runs out first. */
double sked_i_gaus_progress(double done, double all, double begin, const sked_i_limit *limit);
/*
 * Anneals from best, a legal schedule, with single-op moves for `sweeps` passes over the movable ops, until
 * the limit, or until best meets the goal.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_polish(sked_i_gaus_state *s, double sweeps, double heat,
                                               sked_i_rng *rng, const sked_i_limit *limit, double goal,
                                               sked_i_gaus_incumbent *best, sked_error *err);
/*
 * Is this objective one for moves of several ops at a time: loads and communication, without memory, interval
 * or capacities, on up to 2^16 cells?
 */
bool sked_i_gaus_pushable(const sked_i_relaxation *m);
/*
 * The same with pushes and exchanges (pushes.c), where pushable: an op takes along what stands in its
 * way, two ops change places. Where the time allows few passes, polish takes over.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_push(sked_i_gaus_state *s, double sweeps, double heat,
                                             sked_i_rng *rng, const sked_i_limit *limit, double goal,
                                             sked_i_gaus_incumbent *best, sked_error *err);
/* Is this objective one for moves of whole regions: peak memory, without interval or capacities? */
bool sked_i_gaus_regional(const sked_i_relaxation *m);
/*
 * The same with moves of whole regions (regions.c), where regional: each looks at up to 400 ops, and a sweep
 * is one for every 100 ops. The smoothed peak never rises. O(ops + edges + steps) of memory.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_move_regions(sked_i_gaus_state *state, double sweeps, sked_i_rng *rng,
                                                     const sked_i_limit *limit, double goal,
                                                     sked_i_gaus_incumbent *best, sked_error *err);
#endif
