/* The method `fds`: options, table entry. */
#include "method/fds/fds.h"

#include "engine/force/force.h"

#define FDS_OPTIONS(X)                                                                                   \
    X(NEIGHBOURHOOD, "neighbourhood", INT, "0", 0, 1e9, NULL,                                            \
      "open ops whose forces are compared for each placement; 0: all, or as many as take a few seconds") \
    X(REFINE, "refine", INT, "1000", 0, 1e9, NULL,                                                       \
      "passes that move placed ops afterwards, each to where the highest steps gain; 0: none")

SKED_I_OPTIONS(FDS_OPTIONS);

sked_status sked_i_fds_offer(sked_i_run *run, sked_i_steps *x, sked_error *err)
{
    for (int32_t i = 0; i < x->n; i++)
        x->offer[i] = x->start[i] * x->unit;
    const sked_status st = sked_i_offer_starts(run, &x->windows, x->offer, err);
    sked_i_run_progress(run, "fds");
    return st;
}

static void destroy_steps(void *state)
{
    sked_i_steps_free(state);
    free(state);
}

/* The problem in steps; from an earlier turn where there was one. */
static sked_status steps_of(sked_i_run *run, sked_i_steps **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_steps *x = sked_i_run_state(run);
    if (x == NULL) {
        SKED_NEW0(x, 1);
        SKED_TRY(sked_i_steps_make(run->problem, run->costs, "fds", x, err));
        SKED_TRY(sked_i_run_keep(run, x, destroy_steps, err));
    }
    *out = x;
    return SKED_OK;
cleanup:
    if (x != NULL)
        destroy_steps(x);
    return st;
}

static sked_status fds_run(sked_i_run *run, sked_error *err)
{
    sked_i_steps *x = NULL;
    const int64_t passes = (int64_t)run->setting[OPTION_REFINE], limit = run->options->iterations;
    const int32_t neighbourhood = (int32_t)run->setting[OPTION_NEIGHBOURHOOD];
    sked_status st = steps_of(run, &x, err);
    if (st != SKED_OK)
        return st;
    SKED_TRY(sked_i_force_place(x, &run->limit, run->options->threads, neighbourhood, err));
    SKED_TRY(sked_i_fds_offer(run, x, err));
    SKED_TRY(sked_i_fds_refine(run, x, limit > 0 && limit < passes ? limit : passes, err));
    if (sked_i_run_incumbent(run) == NULL) /* the machine's limits pushed ops past the horizon */
        SKED_TRY(sked_i_run_member(run, &(sked_i_member){.method = "list", .seconds = INFINITY}, err));
cleanup:
    return st;
}

const sked_i_method sked_i_method_fds = {
    .info = {.name = "fds",
             .summary = "force-directed scheduling: even loads or little memory within a horizon",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_FIX | SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST,
             .options = options,
             .n_options = n_options},
    .run = fds_run,
};
