/*
 * Lessons: what one graph of an update is learnt from. Everything random in a lesson comes from (seed,
 * update, index) and nothing from the parameters, so that lessons of coming updates can be made ahead, on any
 * thread and by any process, and a resumed run gives the same ones.
 */
#ifndef SKED_METHOD_GFLOWNET_LESSON_H
#define SKED_METHOD_GFLOWNET_LESSON_H
#include "engine/environment/instance.h"
#include "engine/environment/machines.h"
#include "method/gflownet/lesson_source.h"

enum { SKED_I_LESSONS = 256 }; /* of an update at most */

/* How lessons are drawn. */
typedef struct sked_i_lesson_law {
    const sked_i_graph_source *source;
    uint64_t seed;
    int32_t largest;           /* ops */
    int32_t batch;             /* trajectories of a graph of at most 60 ops */
    double listed;             /* share of them from list scheduling */
    double gentlest, sharpest; /* range of kappa (instance.h), which sets the temperature */
    sked_i_machine_law machine;
    const sked_i_limit *limit; /* instances obey it; NULL: none */
} sked_i_lesson_law;

/* Trajectory k of the batch takes its random numbers from stream first + k of seed; the first `listed` are
 * from list scheduling, the others drawn from the policy at this temperature. */
typedef struct sked_i_lesson {
    int64_t update; /* updates before it */
    int index;      /* within the update */
    sked_graph *graph;
    sked_i_instance *instance; /* of graph and machine */
    double temperature;
    int32_t batch, listed;
    uint64_t seed, first;
} sked_i_lesson;

/* Lesson `index` (below SKED_I_LESSONS) of the update after `update` others. STOPPED where the limit is
 * reached. Clear in any case. */
SKED_MUST_CHECK sked_status sked_i_lesson_make(const sked_i_lesson_law *law, int64_t update, int index,
                                               sked_i_lesson *out, sked_error *err);
void sked_i_lesson_clear(sked_i_lesson *l);

/*
 * Lessons of one update after another, made ahead. It holds a window of `ahead` updates: the oldest that was
 * not released, and those after it. `threads` threads of its own fill the window in order; with 0 the
 * caller's thread makes what it asks for. The lessons are the same whatever ahead and threads are.
 */
typedef struct sked_i_lesson_queue sked_i_lesson_queue;
typedef struct sked_i_lesson_plan {
    int64_t update,
        last;         /* the first update (updates before it), and where to end: no lesson of update `last` */
    int first, count; /* indices of the lessons of each update: all, or the share of one process */
    int ahead, threads; /* ahead: 1 or more */
} sked_i_lesson_plan;
/* The law, and what it points to, must outlive the queue. */
SKED_MUST_CHECK sked_status sked_i_lesson_queue_create(const sked_i_lesson_law *law,
                                                       const sked_i_lesson_plan *plan,
                                                       sked_i_lesson_queue **out, sked_error *err);
/* Waits for what is being made. Lessons that were not released go with it. */
void sked_i_lesson_queue_destroy(sked_i_lesson_queue *q);
/*
 * The [count] lessons of the given update, which is in the window; waits until they are made. They stay as
 * they are until released. STOPPED where the limit came first; the first lesson's error where several failed.
 */
SKED_MUST_CHECK sked_status sked_i_lesson_queue_at(sked_i_lesson_queue *q, int64_t update,
                                                   const sked_i_lesson **out, sked_error *err);
/* Makes one lesson on the caller's thread, the next one, if the window has room for it. */
void sked_i_lesson_queue_help(sked_i_lesson_queue *q);
/* The same update is in the window and made without an error: queue_at will not wait. */
bool sked_i_lesson_queue_ready(sked_i_lesson_queue *q, int64_t update);
/* Done with the lessons of the oldest update; the window moves on by one. They go when another is made in
 * their place. */
void sked_i_lesson_queue_release(sked_i_lesson_queue *q);
#endif
