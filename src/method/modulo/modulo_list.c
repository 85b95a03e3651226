/*
 * modulo-list: iterative modulo scheduling from the least initiation interval upward; the first interval
 * that takes all ops within the budget wins. One iteration after the other always fits, so a loop that
 * has a schedule gets one.
 */
#include "method/modulo/modulo_method.h"

#define MODULO_LIST_OPTIONS(X)                                                                           \
    X(PRIORITY, "priority", ENUM, "height", 0, 0, "height|slack|start|size",                             \
      "order of placing: longest path to the end, least slack and recurrences first, earliest, largest") \
    X(BUDGET, "budget", REAL, "8", 1, 1e6, NULL, "placements per op before an interval is given up")     \
    X(TRIES, "tries", INT, "4", 1, 1e6, NULL,                                                            \
      "attempts per interval: the priority first, the others, then perturbed ones")                      \
    X(COMPACT, "compact", BOOL, "true", 0, 0, NULL, "move ops to and fro afterwards to shorten the schedule")

SKED_I_OPTIONS(MODULO_LIST_OPTIONS);

static sked_status run_list(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_loop *loop = NULL;
    sked_i_frame *frame = NULL;
    sked_i_ims *ims = NULL;
    const sked_i_climb_settings set = {
        .priority = (int)run->setting[OPTION_PRIORITY],
        .budget = run->setting[OPTION_BUDGET],
        .tries = (int)run->setting[OPTION_TRIES],
        .compact = run->setting[OPTION_COMPACT] != 0,
    };
    SKED_TRY(sked_i_modulo_loop_of_run(run, &loop, err));
    SKED_TRY(sked_i_frame_create(loop, &frame, err));
    SKED_TRY(sked_i_ims_create(loop, &ims, err));
    SKED_TRY(sked_i_modulo_climb(run, loop, frame, ims, &set, err));
cleanup:
    sked_i_ims_destroy(ims);
    sked_i_frame_destroy(frame);
    return st;
}

const sked_i_method sked_i_method_modulo_list = {
    .info = {"modulo-list", "iterative modulo scheduling: pipelined loops, the least interval that fits",
             SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_LOOPS | SKED_CAN_HORIZON |
                 SKED_CAN_FIX | SKED_CAN_MAKESPAN | SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST |
                 SKED_CAN_II,
             options, n_options},
    .run = run_list,
};
