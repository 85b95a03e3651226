/* The method `exact`: proves optimality on small problems. */
#include "method/exact/exact.h"
#include "engine/branch/branch.h"

#define EXACT_OPTIONS(X)                                                                                \
    X(ENGINE, "engine", ENUM, "auto", 0, 0, "auto|branch|cbc",                                          \
      "how to prove: branch (constraint search that learns), cbc (linear model)")                       \
    X(MAX_OPS, "max-ops", INT, "2000", 1, 1e6, NULL, "refuse larger problems")                          \
    X(MAX_COLUMNS, "max-columns", INT, "50000", 1, 1e8, NULL, "refuse linear models with more columns") \
    X(WARM, "warm-start", REAL, "0.2", 0, 1, NULL,                                                      \
      "share of the time for a first schedule from search, modulo-search, list or modulo-list")

SKED_I_OPTIONS(EXACT_OPTIONS);
enum { ENGINE_AUTO, ENGINE_BRANCH, ENGINE_CBC };

/* A first schedule, so that the proof starts from a good value. Its failure is no failure of the proof. */
static void warm_start(sked_i_run *run, double share)
{
    const char *const members[] = {"search", "modulo-search", "list", "modulo-list"};
    const double alone = run->options->iterations > 0 ? INFINITY : 1;
    for (size_t k = 0; share > 0 && sked_i_run_incumbent(run) == NULL && k < sizeof members / sizeof *members;
         k++) {
        sked_error ignored = {0};
        const double left = run->limit.deadline - sked_clock();
        const sked_i_member m = {
            .method = members[k], .seconds = isfinite(left) ? share * left : alone, .iterations = 2000};
        (void)!sked_i_run_member(run, &m, &ignored);
    }
}

/* The linear model holds values until readers start, one copy of each. */
static bool memory_is_modelled(const sked_problem *p)
{
    bool keeps = false;
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        keeps = keeps || sked_graph_keep(p->graph, i);
    return !keeps && p->lifetime == SKED_LIFETIME_START && p->devices <= 1;
}

/* A makespan that branch does not take. */
static sked_status refuse_branch(const sked_problem *p, sked_error *err)
{
    if (sked_i_has_memory_limit(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "exact takes memory limits on one device or without devices, where times are "
                           "whole or have at most six decimals");
    if (p->machine != NULL || p->devices > 0)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "exact chooses devices where ops x ops x devices is 60,000 at most; beside limited resources "
            "times must be whole or have at most six decimals");
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "exact takes limited resources where times are whole or have at most six decimals");
}

/* The engine for this problem, or why there is none. */
static sked_status choose_engine(const sked_i_run *run, int wanted, int *engine, sked_error *err)
{
    const sked_problem *p = run->problem;
    const bool plain = p->objective == SKED_OBJECTIVE_MAKESPAN && p->ii == 0;
    const bool modelled = p->machine == NULL && !sked_i_has_memory_limit(p) && sked_i_problem_integral(p);
    *engine = wanted != ENGINE_AUTO ? wanted : plain ? ENGINE_BRANCH : ENGINE_CBC;
    if (*engine == ENGINE_BRANCH && !plain)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "engine branch takes objective makespan without an interval");
    if (*engine == ENGINE_BRANCH)
        return sked_i_branch_fits(p, run->costs) ? SKED_OK : refuse_branch(p, err);
    if (p->machine != NULL)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           p->objective == SKED_OBJECTIVE_MAKESPAN
                               ? "engine cbc has no model of heterogeneous devices"
                               : "exact proves objective makespan alone on heterogeneous devices");
    if (p->objective == SKED_OBJECTIVE_MEMORY && !memory_is_modelled(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "exact proves peak memory for values that readers let go when they start, without "
                           "kept values and without several devices");
    if (!modelled) /* before time is spent on a first schedule */
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "engine cbc needs durations, lags and transfers that are whole numbers, and no "
                           "memory limit");
    return SKED_OK;
}

static sked_status run_exact(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    int engine = ENGINE_AUTO;
    sked_status st = SKED_OK;
    if (p->graph->n_ops > run->setting[OPTION_MAX_OPS])
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "exact proves small problems: %d ops are more than max-ops=%g",
                           (int)p->graph->n_ops, run->setting[OPTION_MAX_OPS]);
    SKED_TRY(choose_engine(run, (int)run->setting[OPTION_ENGINE], &engine, err));
    if (run->options->start != NULL)
        SKED_TRY(sked_i_run_offer_start(run, err));
    warm_start(run, run->setting[OPTION_WARM]);
    if (!sked_i_run_over(run))
        st = engine == ENGINE_BRANCH ? sked_i_exact_branch(run, err)
                                     : sked_i_exact_cbc(run, (int64_t)run->setting[OPTION_MAX_COLUMNS], err);
cleanup:
    return st;
}

const sked_i_method sked_i_method_exact = {
    .info = {.name = "exact",
             .summary = "proves optimality on small problems",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_ANYTIME | SKED_CAN_EXACT |
                         SKED_CAN_MAKESPAN | SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST |
                         SKED_CAN_II | SKED_CAN_LOOPS | SKED_CAN_MACHINES | SKED_CAN_LIMITS,
             .options = options,
             .n_options = n_options},
    .run = run_exact};
