/* Ops are faster where their input was made a moment before (rules in replay.h). */
#include "target/target.h"

enum { GAIN, DEPTH };

static const sked_option options[] = {
    {"gain", SKED_OPTION_REAL, "0.3", 0, 0.99, NULL, "share of its time that such an op saves"},
    {"depth", SKED_OPTION_INT, "1", 1, 1000000, NULL, "how many ops on the device ago that may be"},
};

static sked_status open_cache(sked_target *t, const double *setting, sked_error *err)
{
    (void)err;
    t->rules.cache_gain = setting[GAIN];
    t->rules.cache_depth = (int32_t)setting[DEPTH];
    return SKED_OK;
}

const sked_i_target sked_i_target_cache = {
    .info = {"cache", "an op is faster where one of the last ops on its device made one of its inputs",
             options, sizeof options / sizeof *options},
    .open = open_cache};
