/* The method `gaus`: options, horizon, initiation interval, and which part takes the problem. */
#include "method/gaus/gaus.h"

#include <stdio.h>

static const sked_option options[] = {
    {"starts", SKED_OPTION_INT, "5", 0, 1000, NULL,
     "descents of the first round: list, ALAP, midpoint, filling, ASAP, then random; 0: no descent"},
    {"steps", SKED_OPTION_INT, "400", 1, 1e6, NULL, "gradient steps per descent"},
    {"restarts", SKED_OPTION_INT, "3", 0, 100, NULL, "returns to the best legal schedule within a descent"},
    {"every", SKED_OPTION_INT, "8", 1, 1e6, NULL, "gradient steps between legalisations"},
    {"rate", SKED_OPTION_REAL, "0.2", 1e-6, 100, NULL, "learning rate"},
    {"kappa", SKED_OPTION_REAL, "0.15", 1e-6, 10, NULL, "sigma of a start as a share of the op's window"},
    {"sigma", SKED_OPTION_REAL, "8", 0.15, 100, NULL, "largest sigma in steps"},
    {"fixed-sigma", SKED_OPTION_BOOL, "false", 0, 0, NULL, "keep sigma as it starts"},
    {"dependency", SKED_OPTION_ENUM, "shortfall", 0, 0, "shortfall|exact",
     "violation of an edge: expected shortfall, or the chance that it is broken"},
    {"polish", SKED_OPTION_BOOL, "true", 0, 0, NULL, "moves of single ops after legalising"},
    {"sweeps", SKED_OPTION_REAL, "300", 1, 1e9, NULL, "passes over the ops in a first polish"},
    {"heat", SKED_OPTION_REAL, "1", 0, 100, NULL, "temperature at which the polish begins"},
    {"patience", SKED_OPTION_INT, "4", 0, 1e6, NULL, "rounds without progress before it stops"},
};

enum {
    forced = 20000,      /* ops up to which fds is worth its time as a start */
    worth_forking = 2000 /* ops from which an evaluation takes longer than starting threads */
};

sked_i_gaus_tuning sked_i_gaus_tuning_of(const sked_i_run *run)
{
    const double *set = run->setting;
    return (sked_i_gaus_tuning){.rate = set[SKED_I_GAUS_OPTION_RATE],
                                .kappa = set[SKED_I_GAUS_OPTION_KAPPA],
                                .sigma_most = set[SKED_I_GAUS_OPTION_SIGMA],
                                .fixed_sigma = set[SKED_I_GAUS_OPTION_FIXED] != 0,
                                .exact = set[SKED_I_GAUS_OPTION_DEPENDENCY] == 1,
                                .iterations = (int32_t)set[SKED_I_GAUS_OPTION_STEPS],
                                .restarts = (int32_t)set[SKED_I_GAUS_OPTION_RESTARTS],
                                .every = (int32_t)set[SKED_I_GAUS_OPTION_EVERY],
                                .threads = 1,
                                .goal = sked_i_run_bound(run),
                                .share = 1};
}

int sked_i_gaus_threads(const sked_i_run *run, int jobs)
{
    const int threads = run->options->threads;
    return run->problem->graph->n_ops < worth_forking || jobs >= threads ? 1 : threads / jobs;
}

sked_i_limit sked_i_gaus_share(const sked_i_run *run, double deadline, int left, double part)
{
    sked_i_limit limit = run->limit;
    const double now = sked_clock();
    if (isfinite(deadline) && limit.paced)
        limit.deadline = fmin(limit.deadline, now + fmax(0, deadline - now) / left * part);
    return limit;
}

int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit)
{
    const double now = sked_clock(), left = limit->deadline - now;
    if (isinf(left) || !limit->paced || (now - begin) * (all - done) <= left * done)
        return all;
    const double more = left / fmax(1e-9, now - begin) * done;
    return done + (int32_t)fmax(least, fmin(all - done, more));
}

/* A quick method's schedule to start from; one that does not take the problem or finds nothing is no error.
 */
static sked_status quick_start(sked_i_run *run, const char *method, double share, sked_error *err)
{
    sked_error why = {0};
    const double left = run->limit.deadline - sked_clock();
    if (sked_method_find(method) == NULL)
        return SKED_OK;
    const sked_status st =
        sked_i_run_member(run, &(sked_i_member){.method = method, .seconds = share * left}, &why);
    if (st == SKED_ERR_MEMORY || st == SKED_ERR_BUG)
        return sked_i_fail(err, st, "%s", why.message);
    return SKED_OK;
}

/* ------------------------------------------------------------------ horizon and interval */

/* What iterative modulo scheduling finds: interval, starts, length; length 0: nothing. */
typedef struct interval {
    int64_t ii, length;
    int32_t *at; /* [n] */
} interval;

/* The first interval from..to at which all ops can be placed. */
static sked_status find_interval(sked_i_run *run, const sked_i_loop *loop, int64_t from, int64_t to,
                                 interval *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_frame *frame = NULL;
    sked_i_ims *ims = NULL;
    sked_i_rng rng;
    const int64_t budget = 10 * (int64_t)loop->n + 64;
    sked_i_rng_seed(&rng, run->options->seed, 77);
    SKED_TRY(sked_i_frame_create(loop, &frame, err));
    SKED_TRY(sked_i_ims_create(loop, &ims, err));
    for (int64_t ii = from; ii <= to && out->length == 0 && !sked_i_limit_reached(&run->limit); ii++) {
        if (!sked_i_frame_set(loop, frame, ii, SKED_I_FAR))
            continue;
        for (int k = 0; k < 8 && out->length == 0; k++) {
            sked_i_ims_order(ims, frame, k % 4, k < 4 ? 0 : 0.3, &rng);
            if (!sked_i_ims_run(ims, frame, budget, k < 4 ? NULL : &rng, &run->limit))
                continue;
            sked_i_ims_compact(ims, true, &run->limit);
            *out = (interval){ii, sked_i_ims_length(ims), out->at};
            for (int32_t i = 0; i < loop->n; i++)
                out->at[i] = (int32_t)ims->start[i];
        }
        if (ims->table->failed)
            SKED_TRY(sked_i_no_memory(err));
    }
cleanup:
    sked_i_frame_destroy(frame);
    sked_i_ims_destroy(ims);
    return st;
}

/* Latest finish where the user set none: room for one op after another, within reason. */
static int64_t loose_horizon(const sked_i_loop *loop, int64_t path)
{
    const int64_t most = (int64_t)1 << 18;
    int64_t serial = 0;
    for (int32_t i = 0; i < loop->n; i++)
        if (loop->serial[i] + loop->duration[i] > serial)
            serial = loop->serial[i] + loop->duration[i];
    serial = serial < most ? serial : most;
    return serial > path ? serial : path;
}

/* Interval and steps of the model; found: a schedule at that interval where the problem is pipelined. */
static sked_status settle(sked_i_run *run, interval *found, int64_t *steps, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = run->problem;
    sked_i_loop *loop = NULL;
    sked_i_frame *frame = NULL;
    SKED_TRY(sked_i_loop_create(p, &loop, err));
    if (loop->pipelined) {
        const int64_t given = (int64_t)p->ii;
        SKED_TRY(find_interval(run, loop, given > 0 ? given : loop->min_ii, given > 0 ? given : loop->max_ii,
                               found, err));
        found->ii = found->length > 0 ? found->ii : given > 0 ? given : loop->min_ii;
    }
    if (p->horizon < 0x1p40) {
        *steps = (int64_t)floor(p->horizon);
        goto cleanup;
    }
    SKED_TRY(sked_i_frame_create(loop, &frame, err));
    sked_i_frame_set(loop, frame, loop->pipelined ? found->ii : loop->max_ii, SKED_I_FAR);
    *steps = loop->pipelined ? (found->length > frame->path ? found->length : frame->path) + found->ii
                             : loose_horizon(loop, frame->path);
cleanup:
    sked_i_frame_destroy(frame);
    sked_i_loop_destroy(loop);
    return st;
}

/* ------------------------------------------------------------------ the method */

/* Devices, or times that are not whole: shortest schedules only, in the relaxation's own cells. */
static bool takes_devices(const sked_problem *p)
{
    return p->objective == SKED_OBJECTIVE_MAKESPAN && p->ii == 0 &&
           (p->devices > 0 || !sked_i_problem_integral(p));
}

static sked_status check(const sked_problem *p, sked_error *err)
{
    if (p->devices > 0)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "gaus takes devices for objective makespan without an interval only; elsewhere use "
            "a resource pool of that capacity");
    if (sked_i_problem_integral(p))
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "gaus schedules objective %s in steps and needs whole times, but some duration, lag, "
                       "interval or fixed start is not whole: scale all times",
                       sked_objective_name(p->objective));
}

/* Pipelined latency: fits at one step less, again and again, from the schedule found. */
static sked_status shorten_pipelined(sked_i_run *run, interval *found, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_model *m = NULL;
    bool shorter = found->length > 0;
    int64_t length = found->length, first = length;
    while (shorter && !sked_i_run_over(run)) {
        SKED_TRY(sked_i_gaus_model_create(run->problem, found->ii, length - 1, &m, err));
        if (m == NULL)
            break; /* the windows prove that nothing is shorter */
        SKED_TRY(sked_i_gaus_fit(run, m, found->at, &shorter, err));
        length -= shorter;
        if (shorter)
            SKED_TRY(sked_i_gaus_offer(run, m, found->at, err));
        sked_i_gaus_model_destroy(m);
        m = NULL;
    }
    sked_i_run_note(run, "interval %lld; modulo scheduling %lld steps, with the gradient %lld",
                    (long long)found->ii, (long long)first, (long long)length);
cleanup:
    sked_i_gaus_model_destroy(m);
    return st;
}

static sked_status run_steps(sked_i_run *run, interval *found, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = run->problem;
    sked_i_gaus_model *m = NULL;
    int64_t steps;
    SKED_TRY(settle(run, found, &steps, err));
    SKED_TRY(sked_i_gaus_model_create(p, found->ii, steps, &m, err));
    if (m == NULL)
        SKED_TRY(sked_i_fail(err, SKED_ERR_INFEASIBLE,
                             "the windows of starts at interval %lld and %lld steps prove that nothing fits",
                             (long long)found->ii, (long long)steps));
    if (found->length > 0 && found->length <= steps)
        SKED_TRY(sked_i_gaus_offer(run, m, found->at, err));
    if (sked_i_run_over(run))
        goto cleanup; /* the first schedule meets the bound, or the time is up */
    if (p->objective == SKED_OBJECTIVE_MAKESPAN)
        SKED_TRY(shorten_pipelined(run, found, err));
    else
        SKED_TRY(sked_i_gaus_rounds(run, m, err));
cleanup:
    sked_i_gaus_model_destroy(m);
    return st;
}

/* Is force-directed scheduling quick, or strong, enough to have most of the time? */
static bool forces_pay(const sked_graph *g)
{
    return g->n_ops <= worth_forking || g->n_edges < 2 * (int64_t)g->n_ops;
}

/* Does list alone meet the bound? Asked in a run of its own. */
static bool list_suffices(const sked_i_run *run)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    opt.seed = run->options->seed;
    opt.stop = run->limit.stop;
    opt.time_limit = fmax(0, 0.2 * (run->limit.deadline - sked_clock()));
    const bool optimal = sked_method_run("list", run->problem, &opt, &r, NULL) == SKED_OK && r.optimal;
    sked_result_clear(&r);
    return optimal;
}

/*
 * Loads: on sparse graphs force-directed scheduling is sometimes the better start. It comes before list, for
 * it goes on from the best it finds in the pool; in a portfolio it has had its turn.
 */
static bool wants_forces(const sked_i_run *run)
{
    const sked_problem *p = run->problem;
    const bool loads = p->objective == SKED_OBJECTIVE_COST || p->objective == SKED_OBJECTIVE_RESOURCE;
    return loads && p->ii == 0 && p->graph->n_ops <= forced && sked_i_run_incumbent(run) == NULL &&
           !list_suffices(run);
}

static sked_status run_whole(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    sked_status st = check(p, err);
    if (st != SKED_OK)
        return st;
    if (p->objective == SKED_OBJECTIVE_MAKESPAN && p->ii == 0)
        return sked_i_gaus_makespan(run, err);
    if (wants_forces(run))
        st = quick_start(run, "fds", forces_pay(p->graph) ? 0.9 : 0.25, err);
    if (st == SKED_OK && p->ii != SKED_II_AUTO)
        st = quick_start(run, p->ii > 0 ? "modulo-list" : "list", 0.2, err);
    interval found = {.at = sked_i_alloc(p->graph->n_ops, sizeof *found.at)};
    if (found.at == NULL)
        return sked_i_no_memory(err);
    if (st == SKED_OK)
        st = run_steps(run, &found, err);
    free(found.at);
    return st;
}

static sked_status run_real(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    if (run->options->start != NULL)
        SKED_TRY(sked_i_run_offer_start(run, err));
    SKED_TRY(quick_start(run, "list", 0.2, err));
    SKED_TRY(quick_start(run, "heft", 0.2, err));
    if (!sked_i_run_over(run))
        SKED_TRY(sked_i_gaus_device_run(run, err));
cleanup:
    return st;
}

static sked_status run_gaus(sked_i_run *run, sked_error *err)
{
    return takes_devices(run->problem) ? run_real(run, err) : run_whole(run, err);
}

const sked_i_method sked_i_method_gaus = {
    .info = {"gaus", "differentiable scheduling: Gaussian start times, descent, legaliser, polish",
             SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_LOOPS | SKED_CAN_HORIZON |
                 SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_ANYTIME | SKED_CAN_RECORD | SKED_CAN_MAKESPAN |
                 SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST,
             options, sizeof options / sizeof *options},
    .run = run_gaus,
};
