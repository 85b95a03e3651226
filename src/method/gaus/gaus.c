/* The method `gaus`: options and quick starts. */
#include "method/gaus/gaus.h"

#include "backend/backend.h"
#include "base/thread.h"
#include "problem/communication.h"

#include <assert.h>

#define GAUS_OPTIONS(X)                                                                                    \
    X(STARTS, "starts", INT, "5", 0, 1000, NULL,                                                           \
      "descents of the first round: list, ALAP, midpoint, filling, ASAP, then random; 0: no descent")      \
    X(STEPS, "steps", INT, "400", 1, 1e6, NULL, "gradient steps per descent")                              \
    X(RESTARTS, "restarts", INT, "3", 0, 100, NULL, "returns to the best legal schedule within a descent") \
    X(EVERY, "every", INT, "8", 1, 1e6, NULL, "gradient steps between legalisations")                      \
    X(RATE, "rate", REAL, "0.2", 1e-6, 100, NULL, "learning rate")                                         \
    X(KAPPA, "kappa", REAL, "0.15", 1e-6, 10, NULL, "sigma of a start as a share of the op's window")      \
    X(SIGMA, "sigma", REAL, "8", 0.15, 100, NULL, "largest sigma in steps")                                \
    X(LAGRANGIAN, "lagrangian", ENUM, "ours", 0, 0, "ours|published",                                      \
      "weights of violations: multipliers grow where one stalls; or dual steps and a growing penalty")     \
    X(POLISH, "polish", BOOL, "true", 0, 0, NULL, "annealed moves of ops after legalising")                \
    X(SWEEPS, "sweeps", REAL, "300", 1, 1e9, NULL, "passes over the ops in a first polish")                \
    X(HEAT, "heat", REAL, "1", 0, 100, NULL, "temperature at which the polish begins")                     \
    X(PATIENCE, "patience", INT, "4", 0, 1e6, NULL, "rounds without progress before it stops")
SKED_I_OPTIONS(GAUS_OPTIONS);

enum { LAGRANGIAN_OURS, LAGRANGIAN_PUBLISHED };
enum {
    forced = 20000,     /* ops up to which fds is worth its time as a start */
    quickly = 2000,     /* ops up to which it takes a fraction of a second */
    worth_a_gpu = 1000, /* ops from which a step takes longer than its launches */
    more_steps = 8      /* on a GPU for one on a CPU */
};

static sked_i_gaus_settings read_settings(const double *value)
{
    const sked_i_gaus_tuning tuning = {.rate = value[OPTION_RATE],
                                       .kappa = value[OPTION_KAPPA],
                                       .sigma_most = value[OPTION_SIGMA],
                                       .sigma_scale = 1,
                                       .published = value[OPTION_LAGRANGIAN] == LAGRANGIAN_PUBLISHED,
                                       .iterations = (int32_t)value[OPTION_STEPS],
                                       .restarts = (int32_t)value[OPTION_RESTARTS],
                                       .every = (int32_t)value[OPTION_EVERY],
                                       .threads = 1,
                                       .goal = -INFINITY};
    return (sked_i_gaus_settings){.starts = (int)value[OPTION_STARTS],
                                  .patience = (int)value[OPTION_PATIENCE],
                                  .polish = value[OPTION_POLISH] != 0,
                                  .sweeps = value[OPTION_SWEEPS],
                                  .heat = value[OPTION_HEAT],
                                  .steps = tuning.iterations,
                                  .every = tuning.every,
                                  .tuning = tuning};
}

sked_status sked_i_gaus_quick_start(sked_i_run *run, const char *method, double share, sked_error *err)
{
    sked_error why = {0};
    const double begin = sked_clock(), left = run->limit.deadline - begin, before = sked_i_run_best(run);
    const int64_t evaluations = sked_i_run_evaluations(run);
    if (sked_method_find(method) == NULL)
        return SKED_OK;
    const sked_status st =
        sked_i_run_member(run, &(sked_i_member){.method = method, .seconds = share * left}, &why);
    sked_i_run_tally(run, "quick start", 1, sked_clock() - begin, sked_i_run_evaluations(run) - evaluations,
                     sked_i_gaus_gain(before, sked_i_run_best(run)));
    if (st == SKED_ERR_MEMORY || st == SKED_ERR_BUG)
        return sked_i_fail(err, st, "%s", why.message);
    return SKED_OK;
}

/* ------------------------------------------------------------------ the method */

static sked_status check(const sked_problem *p, sked_error *err)
{
    if (sked_i_problem_integral(p))
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "gaus schedules objective %s in steps and needs whole times, but some duration, lag, "
                       "interval or fixed start is not whole: scale all times",
                       sked_objective_name(p->objective));
}

/*
 * Is force-directed scheduling quick, or strong, enough to have most of the time? Not where communication
 * counts and cannot be 0: starts that have the least of it are found sooner, and are better.
 */
static bool forces_pay(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    if (p->objective == SKED_OBJECTIVE_COST && p->alpha > 0 && sked_i_must_communicate(g, 0))
        return false;
    return g->n_ops <= quickly || g->n_edges < 2 * (int64_t)g->n_ops;
}

/* Does list alone meet the bound? Asked in a share of the run that is thrown away. */
static bool list_suffices(const sked_i_run *run)
{
    sked_i_share share;
    sked_error ignored = {0};
    const sked_i_member list = {.method = "list",
                                .seconds = fmax(0, 0.2 * (run->limit.deadline - sked_clock()))};
    const bool optimal = sked_i_share_open(run, &share, &ignored) == SKED_OK &&
                         sked_i_run_member(&share.run, &list, &ignored) == SKED_OK &&
                         sked_i_run_best(&share.run) <= sked_i_run_bound(&share.run);
    sked_i_share_close(&share);
    return optimal;
}

/*
 * Loads: on sparse graphs force-directed scheduling is sometimes the better start. It comes before list, for
 * it continues from the incumbent; in a portfolio it has had its turn.
 */
static bool wants_forces(const sked_i_run *run)
{
    const sked_problem *p = run->problem;
    const bool loads = p->objective == SKED_OBJECTIVE_COST || p->objective == SKED_OBJECTIVE_RESOURCE;
    return loads && p->ii == 0 && p->graph->n_ops <= forced && sked_i_run_incumbent(run) == NULL &&
           !list_suffices(run);
}

static sked_status make_starts(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    sked_status st = SKED_OK;
    if (run->options->start != NULL && p->ii != SKED_II_AUTO)
        st = sked_i_run_offer_start(run, err);
    if (st == SKED_OK && wants_forces(run))
        st = sked_i_gaus_quick_start(run, "fds", forces_pay(p) ? 0.9 : 0.25, err);
    if (st == SKED_OK && p->ii != SKED_II_AUTO)
        st = sked_i_gaus_quick_start(run, p->ii > 0 ? "modulo-list" : "list", 0.2, err);
    return st;
}

/* Quick starts, and a GPU that wakes up beside them. */
typedef struct opening {
    sked_i_run *run;
    const sked_i_backend *backend;
    sked_status status;
    sked_error error;
} opening;

static void open_part(void *data, int index)
{
    opening *o = data;
    if (index == 1)
        o->backend->wake();
    else
        o->status = make_starts(o->run, &o->error);
}

static sked_status run_quick_starts(sked_i_run *run, const sked_i_backend *backend, sked_error *err)
{
    opening o = {.run = run, .backend = backend};
    const sked_status st = sked_i_parallel(backend->wake != NULL ? 2 : 1, open_part, &o, err);
    return st != SKED_OK || o.status == SKED_OK ? st : sked_i_fail(err, o.status, "%s", o.error.message);
}

void sked_i_gaus_lengthen(sked_i_gaus_tuning *t, int32_t times)
{
    assert(times >= 1 && t->iterations >= 1 && t->every >= 1);
    t->iterations = (int32_t)fmin(1e9, (double)t->iterations * times);
    t->every = (int32_t)fmin(1e9, (double)t->every * times);
}

static sked_status run_gaus(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = run->problem;
    sked_i_gaus_settings set = read_settings(run->setting);
    const sked_i_backend *backend;
    SKED_TRY(sked_i_backend_choose(run->options->backend, p->graph->n_ops >= worth_a_gpu, &backend, err));
    SKED_TRY(check(p, err));
    set.tuning.backend = backend;
    if (backend->gaus_descent->beside) /* steps are so quick that legalising would keep it waiting */
        sked_i_gaus_lengthen(&set.tuning, more_steps);
    SKED_TRY(run_quick_starts(run, backend, err));
    if (p->ii == 0 && sked_i_run_incumbent(run) != NULL && sked_i_limit_reached(&run->limit))
        return SKED_OK; /* the model of a million ops takes longer to make than a stop may */
    SKED_TRY(sked_i_gaus_run_horizon(run, &set, err));
cleanup:
    return st;
}

const sked_i_method sked_i_method_gaus = {
    .info = {"gaus", "differentiable scheduling: Gaussian start times, descent, legaliser, polish",
             SKED_CAN_RESOURCES | SKED_CAN_LOOPS | SKED_CAN_HORIZON | SKED_CAN_START | SKED_CAN_FIX |
                 SKED_CAN_ANYTIME | SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST | SKED_CAN_CUDA,
             options, n_options},
    .run = run_gaus,
};
