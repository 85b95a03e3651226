/* The table of targets: what measures a schedule. */
#include "sked/sked.h"

static const sked_target targets[] = {
    {"proxy", "the simulator itself: start times from the schedule's device orders, transfers as the problem "
              "has them"},
};
enum { n_targets = sizeof targets / sizeof *targets };

int sked_target_count(void)
{
    return n_targets;
}

const sked_target *sked_target_at(int i)
{
    return i >= 0 && i < n_targets ? &targets[i] : NULL;
}
