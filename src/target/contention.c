/* One transfer at a time on each link: no cost model of single edges can say it (rules in replay.h). */
#include "target/target.h"

enum { BUS };

static const sked_option options[] = {
    {"bus", SKED_OPTION_BOOL, "false", 0, 0, NULL, "one bus for all transfers, not one link for each pair"},
};

static sked_status open_contention(sked_target *t, const double *setting, sked_error *err)
{
    (void)err;
    t->rules.contention = true;
    t->rules.bus = setting[BUS] != 0;
    return SKED_OK;
}

const sked_i_target sked_i_target_contention = {
    .info = {"contention",
             "one transfer at a time on each link from one device to another, in the order in which their "
             "data is ready; where transfers cost nothing they get the costs of linear",
             options, sizeof options / sizeof *options},
    .open = open_contention,
    .complete = sked_i_target_need_transfers};
