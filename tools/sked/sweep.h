/* Trade-off curves: sked schedule --sweep. */
#ifndef SKED_TOOLS_SWEEP_H
#define SKED_TOOLS_SWEEP_H
#include "cli.h"

/*
 * Schedules s's problem once per value of --sweep and prints and writes the points. A point without a
 * schedule is reported, not an error. Horizons and weights pass each schedule on as the next one's start.
 */
sked_status run_sweep(const arguments *a, const setup *s, const sked_run_options *opt, sked_error *err);
#endif
