/*
 * GauS: differentiable scheduling with Gaussian start times (docs/methods/gaus.md).
 *
 *   model.c      the problem in whole steps: windows, profiles, edges
 *   starts.c     where (mu, sigma) begin: list, ASAP, ALAP, midpoint, filling, random
 *   optimise.c   Adam under an augmented Lagrangian; legalises often and keeps the best
 *   legalise.c   rounded means to a legal schedule: topological repair, modulo repair
 *   state.c      a legal schedule with its profiles, moved op by op
 *   polish.c     single-op moves within slack under the same smoothed objective
 *   makespan.c   shortest schedules: means become priorities of a generation scheme
 *   gaus.c       the method: rounds of starts, options, stopping
 *   device*.c    devices, transfer cost and real times (device.h)
 */
#ifndef SKED_METHOD_GAUS_GAUS_H
#define SKED_METHOD_GAUS_GAUS_H
#include "engine/modulo/modulo.h"
#include "method/gaus/tuning.h"
#include "method/method.h"

/* ------------------------------------------------------------------ model */

/* Profiles: loads that objective or capacity look at, then memory as the last. */
typedef struct sked_i_gaus_model {
    const sked_problem *p;
    const sked_graph *g;
    sked_i_loop *loop;
    sked_i_frame *frame;
    int32_t n, steps, period, cells; /* period 0: not pipelined; cells: period or steps + 1 */
    int32_t *lo, *hi;                /* [n] windows of starts */
    int32_t *duration;
    int32_t *gap, *shift; /* [edges] */
    uint8_t *kind;
    double *bytes;  /* 1: counts as communication */
    double *memory; /* [n] of the value; 0 where nobody uses it */
    uint8_t *multi; /* [n] has parallel edges to one consumer */
    int64_t *use_ptr;
    int32_t *use_profile;
    double *use_amount;
    int32_t profiles;         /* without memory */
    double *weight;           /* [profiles + 1] in the objective, 0: only its capacity counts */
    double *capacity;         /* [profiles + 1] INFINITY: none */
    double *typical;          /* [profiles + 1] mean amount of an op that has one, at least tiny */
    double *largest;          /* [profiles + 1] */
    double alpha;             /* 0 unless the objective is cost */
    bool with_memory, capped; /* capped: some capacity is finite */
    sked_i_gaus_view view;
} sked_i_gaus_model;

/*
 * ii 0: not pipelined. steps: latest finish. *out NULL with OK: the windows prove that nothing fits.
 * UNSUPPORTED: times are not whole, or too many steps.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_model_create(const sked_problem *p, int64_t ii, int64_t steps,
                                                     sked_i_gaus_model **out, sked_error *err);
void sked_i_gaus_model_destroy(sked_i_gaus_model *m);
/* Is this edge a rule and a use at the model's interval? */
static inline bool sked_i_gaus_counts(const sked_i_gaus_model *m, int64_t e)
{
    return m->kind[e] != SKED_I_GAUS_EDGE_IGNORED;
}

/* ------------------------------------------------------------------ a legal schedule in motion */

enum { SKED_I_GAUS_FARTHEST = 64 }; /* steps a single move may go */

typedef struct sked_i_gaus_state {
    const sked_i_gaus_model *m;
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
SKED_MUST_CHECK sked_status sked_i_gaus_state_create(const sked_i_gaus_model *m, sked_i_gaus_state **out,
                                                     sked_error *err);
void sked_i_gaus_state_destroy(sked_i_gaus_state *s);
/* Takes over starts and builds all profiles. O(ops + edges + lives). */
void sked_i_gaus_state_set(sked_i_gaus_state *s, const int32_t *at);
/* Is every window, edge and capacity kept? O(ops + edges + profiles * cells). */
bool sked_i_gaus_state_legal(const sked_i_gaus_state *s);
/* The objective of the schedule as it stands. O(profiles * cells). */
double sked_i_gaus_state_value(const sked_i_gaus_state *s);
/* Smoothing: tau of every profile as a multiple of its typical amount. O(profiles * cells + uses). */
void sked_i_gaus_state_smooth(sked_i_gaus_state *s, double relative_tau);
/* Where op i may go given all others: *lo..*hi, at most `reach` away. O(degree). */
void sked_i_gaus_state_slack(const sked_i_gaus_state *s, int32_t i, int32_t reach, int32_t *lo, int32_t *hi);
/*
 * Change of the smoothed objective for every place lo..hi of op i into s->cost[t - lo]; INFINITY where a
 * capacity forbids it. O(hi - lo + degree + duration).
 */
void sked_i_gaus_state_scan(sked_i_gaus_state *s, int32_t i, int32_t lo, int32_t hi);
void sked_i_gaus_state_move(sked_i_gaus_state *s, int32_t i, int32_t to);

/* ------------------------------------------------------------------ legalising */

/*
 * mu to a schedule that keeps windows and edges: way 0 pushes ops later, 1 earlier, 2 takes the middle of
 * both (legal, since the middle of two schedules that keep difference constraints keeps them). at: [n].
 */
void sked_i_gaus_round(const sked_i_gaus_model *m, const double *mu, int way, int32_t *at, int32_t *scratch);

/* What turns means into schedules that keep everything. */
typedef struct sked_i_gaus_legaliser {
    const sked_i_gaus_model *m;
    sked_i_gaus_state *state; /* the last schedule made */
    sked_i_ims *ims;          /* NULL without capacities */
    sked_i_frame *near;       /* its windows: not much before the rounded means */
    int32_t *at, *scratch;    /* [n] */
} sked_i_gaus_legaliser;
SKED_MUST_CHECK sked_status sked_i_gaus_legaliser_create(const sked_i_gaus_model *m,
                                                         sked_i_gaus_legaliser **out, sked_error *err);
void sked_i_gaus_legaliser_destroy(sked_i_gaus_legaliser *l);
/*
 * The best schedule that mu gives into l->state: rounded each way; with capacities placed by iterative
 * modulo scheduling near the rounded means in their order, ejecting where it is too full. false: none found.
 */
bool sked_i_gaus_legalise(sked_i_gaus_legaliser *l, const double *mu, const sked_i_limit *limit);

/* ------------------------------------------------------------------ best schedule of one thread */

typedef struct sked_i_gaus_best {
    int32_t *at; /* [n] */
    double value;
} sked_i_gaus_best;
/* Keeps the state's schedule where it is better; true then. */
bool sked_i_gaus_keep(sked_i_gaus_best *best, const sked_i_gaus_state *s);

/* ------------------------------------------------------------------ gradient, polish, starts */

/*
 * Descends from mu (changed) and legalises on the way; improvements go to best. *why gets the reason it
 * stopped. BUG with a dump of the state where a number is not finite.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_optimise(sked_i_gaus_legaliser *l, const sked_i_gaus_tuning *tuning,
                                                 const sked_i_limit *limit, double *mu,
                                                 sked_i_gaus_best *best, int64_t *evaluations,
                                                 const char **why, sked_error *err);

/* Anneals from best with single-op moves for `sweeps` passes over the movable ops or until the limit. */
SKED_MUST_CHECK sked_status sked_i_gaus_polish(sked_i_gaus_state *s, double sweeps, double heat,
                                               sked_i_rng *rng, const sked_i_limit *limit, double goal,
                                               sked_i_gaus_best *best, sked_error *err);

enum {
    SKED_I_GAUS_LIST,
    SKED_I_GAUS_ALAP,
    SKED_I_GAUS_MIDPOINT,
    SKED_I_GAUS_FILL,
    SKED_I_GAUS_ASAP,
    SKED_I_GAUS_RANDOM
};
/* Means of one start. list: a schedule, or NULL: filled, or ASAP where no loads count. rng: for random. */
void sked_i_gaus_start(const sked_i_gaus_model *m, int kind, const sked_schedule *list, sked_i_rng *rng,
                       double *mu);

/* ------------------------------------------------------------------ the method */

/* rounds.c: starts, then rounds from the best until the time, the patience or the bound ends them. */
SKED_MUST_CHECK sked_status sked_i_gaus_rounds(sked_i_run *run, const sked_i_gaus_model *m, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_gaus_offer(sked_i_run *run, const sked_i_gaus_model *m, const int32_t *at,
                                              sked_error *err);
/* Any schedule within the model, from `at` (changed where *found) and the starts. */
SKED_MUST_CHECK sked_status sked_i_gaus_fit(sked_i_run *run, const sked_i_gaus_model *m, int32_t *at,
                                            bool *found, sked_error *err);
/* makespan.c: shorter and shorter horizons. */
SKED_MUST_CHECK sked_status sked_i_gaus_makespan(sked_i_run *run, sked_error *err);
#endif
