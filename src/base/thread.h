/* Fork and join: the only way threads are used. */
#ifndef SKED_BASE_THREAD_H
#define SKED_BASE_THREAD_H
#include "base/status.h"

/*
 * Runs work(data, i) for i in 0..count-1, each on a thread of its own (count = 1: on the caller's).
 * Returns when all are done. What a work item computes may depend on i only, never on timing.
 */
SKED_MUST_CHECK sked_status sked_i_parallel(int count, void (*work)(void *data, int index), void *data,
                                            sked_error *err);

/*
 * Threads that wait between stretches of work, for loops whose stretches are shorter (from about 0.1 ms) than
 * it takes to start threads.
 */
typedef struct sked_i_team sked_i_team;
/* count threads, the caller's included. Where no more can be had, the caller does the work of the others. */
SKED_MUST_CHECK sked_status sked_i_team_create(int count, sked_i_team **out, sked_error *err);
void sked_i_team_destroy(sked_i_team *t);
/* Runs work(data, i) for i in 0..count-1 and returns when all are done. */
void sked_i_team_run(sked_i_team *t, void (*work)(void *data, int index), void *data);
#endif
