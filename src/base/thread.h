/* Fork and join: the only way threads are used outside OpenMP loops. */
#ifndef SKED_BASE_THREAD_H
#define SKED_BASE_THREAD_H
#include "base/status.h"

/*
 * Runs work(data, i) for i in 0..count-1, each on a thread of its own (count = 1: on the caller's).
 * Returns when all are done. What a work item computes may depend on i only, never on timing.
 */
SKED_MUST_CHECK sked_status sked_i_parallel(int count, void (*work)(void *data, int index), void *data,
                                            sked_error *err);
#endif
