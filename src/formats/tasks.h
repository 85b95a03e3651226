/*
 * Numbered tasks, as STG, PSPLIB and Patterson files list them: ids count up from 0 or 1, the first and
 * the last may be a source and a sink that stand for nothing. Collects everything, then builds the graph
 * without those two. Memory grows with what was read, never with what a header promises.
 */
#ifndef SKED_FORMATS_TASKS_H
#define SKED_FORMATS_TASKS_H
#include "base/arena.h"
#include "formats/scan.h"

typedef struct sked_i_task {
    double duration;
    const char *at; /* where the file says so */
} sked_i_task;

typedef struct sked_i_task_link {
    int32_t from, to; /* ids */
    const char *at;
} sked_i_task_link;

typedef struct sked_i_tasks {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_builder *builder;
    int32_t first_id;
    int32_t pools; /* resources R1, R2, ... added so far */
    int32_t count;
    sked_i_task *task;      /* [count] */
    double *demand;         /* [count * pools], task by task */
    sked_i_task_link *link; /* [links] */
    int64_t links, demands, task_cap, demand_cap, link_cap;
} sked_i_tasks;

/* Checks that the source is text (`kind` as in sked_i_text_check) and names the graph after the file. */
SKED_MUST_CHECK sked_status sked_i_tasks_init(sked_i_tasks *t, const sked_i_source *source, const char *kind,
                                              sked_error *err);
void sked_i_tasks_free(sked_i_tasks *t);
/* The next words are the capacities of so many pools, R1, R2, ...; they may come after the tasks. */
SKED_MUST_CHECK sked_status sked_i_tasks_read_pools(sked_i_tasks *t, sked_i_scan *s, int32_t count,
                                                    sked_error *err);
/* The next task; then its demand on each pool. */
SKED_MUST_CHECK sked_status sked_i_tasks_add(sked_i_tasks *t, double duration, const char *at,
                                             sked_error *err);
SKED_MUST_CHECK sked_status sked_i_tasks_read_demands(sked_i_tasks *t, sked_i_scan *s, int32_t count,
                                                      sked_error *err);
/* The next words are the number of a task's successors and their ids. */
SKED_MUST_CHECK sked_status sked_i_tasks_read_successors(sked_i_tasks *t, sked_i_scan *s, int32_t id,
                                                         sked_error *err);
/* from before to, by id; either may come later. */
SKED_MUST_CHECK sked_status sked_i_tasks_add_link(sked_i_tasks *t, int32_t from, int32_t to, const char *at,
                                                  sked_error *err);
/* The first (last) task takes no time and no resource, and follows (precedes) none. */
bool sked_i_tasks_is_source(const sked_i_tasks *t);
bool sked_i_tasks_is_sink(const sked_i_tasks *t);
/* Drops the zero-duration source and sink and hands over the graph. O(tasks * pools + links). */
SKED_MUST_CHECK sked_status sked_i_tasks_finish(sked_i_tasks *t, sked_graph **out, sked_error *err);
#endif
