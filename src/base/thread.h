/* Fork and join, and teams that stay. */
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
 * Threads that wait between stretches of work, for loops whose stretches are shorter (from about 0.05 ms)
 * than it takes to start threads. They look for work for about a millisecond before they sleep.
 */
typedef struct sked_i_team sked_i_team;
/* count threads, the caller's included. Where no more can be had, the caller does the work of the others. */
SKED_MUST_CHECK sked_status sked_i_team_create(int count, sked_i_team **out, sked_error *err);
void sked_i_team_destroy(sked_i_team *t);
/* Runs work(data, i) for i in 0..count-1 and returns when all are done. */
void sked_i_team_run(sked_i_team *t, void (*work)(void *data, int index), void *data);

/*
 * Jobs of several stages. The pieces of a stage run at once, on any thread and in any order; the job's next
 * stage begins when all of them are done. A thread takes a piece of the first job that has one, so that what
 * comes last fills the gaps. What a piece computes may depend on job, stage and piece only.
 */
typedef struct sked_i_team_jobs {
    int count;
    /* Pieces of a stage, asked for once, by one thread, when the stage before is over; 0: the job is done. */
    int (*pieces)(void *data, int job, int stage);
    /* thread: who runs it, 0 to count - 1; for what may be near it in a cache, never for a result. */
    void (*run)(void *data, int job, int stage, int piece, int thread);
    void *data;
} sked_i_team_jobs;
enum { SKED_I_TEAM_STAGES = 1 << 16, SKED_I_TEAM_PIECES = 1 << 24 }; /* there are fewer */
/* Returns when all jobs are done. MEMORY: nothing was done. */
SKED_MUST_CHECK sked_status sked_i_team_work(sked_i_team *t, const sked_i_team_jobs *jobs, sked_error *err);
#endif
