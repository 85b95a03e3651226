/* The method `exact`: proves optimality on small problems. */
#include "method/exact/exact.h"

#include <stdio.h>

#define EXACT_OPTIONS(X)                                                                   \
    X(ENGINE, "engine", SKED_OPTION_ENUM, "auto", 0, 0, "auto|branch|enumerate",           \
      "how to prove: branch (constraint search that learns), enumerate (all orders)")      \
    X(MAX_OPS, "max-ops", SKED_OPTION_INT, "2000", 1, 1e6, NULL, "refuse larger problems") \
    X(WARM, "warm-start", SKED_OPTION_REAL, "0.2", 0, 1, NULL,                             \
      "share of the time for a first schedule from method search")

enum {
#define SKED_X(id, ...) OPTION_##id,
    EXACT_OPTIONS(SKED_X)
#undef SKED_X
};
static const sked_option options[] = {
#define SKED_X(id, name, kind, preset, min, max, choices, help) {name, kind, preset, min, max, choices, help},
    EXACT_OPTIONS(SKED_X)
#undef SKED_X
};
enum { ENGINE_AUTO, ENGINE_BRANCH, ENGINE_ENUMERATE };

/* A first schedule, so that the proof starts from a good value. Its failure is no failure of the proof. */
static void warm_start(sked_i_run *run, double share)
{
    sked_error ignored = {0};
    if (run->n_kept > 0 || share == 0 || sked_method_find("search") == NULL)
        return;
    const double left = run->limit.deadline - sked_clock();
    const sked_run_options *outer = run->options;
    sked_run_options few = *outer;
    few.iterations = 2000;
    run->options = &few;
    (void)!sked_i_run_member(run, "search", NULL, 0, isfinite(left) ? share * left : 1, &ignored);
    run->options = outer;
}

static sked_status run_exact(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    const int engine = (int)run->setting[OPTION_ENGINE];
    if (p->graph->n_ops > run->setting[OPTION_MAX_OPS])
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "exact proves small problems: %d ops are more than max-ops=%g",
                           (int)p->graph->n_ops, run->setting[OPTION_MAX_OPS]);
    const bool branch = sked_i_exact_branch_fits(p);
    if (engine == ENGINE_BRANCH && !branch)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "engine branch needs times of few decimals and devices that are all alike or all "
                           "fixed; engine=enumerate takes the rest");
    if (!(engine == ENGINE_BRANCH || (engine == ENGINE_AUTO && branch)) && !sked_i_exact_enumerate_fits(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "engine enumerate does not take negative lags");
    if (run->options->start != NULL) {
        const sked_status st = sked_i_run_offer(run, run->options->start, err);
        if (st != SKED_OK)
            return st;
    }
    warm_start(run, run->setting[OPTION_WARM]);
    if (sked_i_run_over(run))
        return SKED_OK;
    return engine != ENGINE_ENUMERATE && branch ? sked_i_exact_branch(run, err)
                                                : sked_i_exact_enumerate(run, err);
}

const sked_i_method sked_i_method_exact = {
    .info = {.name = "exact",
             .summary = "proves optimality on small problems",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_ANYTIME | SKED_CAN_EXACT |
                         SKED_CAN_MAKESPAN,
             .options = options,
             .n_options = sizeof options / sizeof *options},
    .run = run_exact};
