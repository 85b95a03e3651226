/*
 * Runs schedules on this machine. threads.c: options, sizes, calibration; threads_run.c: one run.
 *
 * A device is a thread pinned to a hardware thread. An op waits for its inputs, reads them, works for its
 * time, writes its result. Results lie in memory that the thread of their device has touched first, so on the
 * memory node of that thread. What an op writes depends on all that it has read: after a run the values of
 * all ops are computed again, and a read that came too early does not go unseen.
 */
#ifndef SKED_TARGET_THREADS_H
#define SKED_TARGET_THREADS_H
#include "base/arena.h"
#include "target/busy.h"
#include "target/cores.h"
#include "target/queues.h"

/* Memory straight from the system: no page of it was touched by another thread. */
typedef struct sked_i_threads_area {
    void *data; /* NULL: none */
    size_t size;
    bool touched;
} sked_i_threads_area;

typedef struct sked_i_threads {
    sked_i_arena arena;
    sked_i_cores cores;
    int32_t devices;
    double unit;                     /* seconds of a duration of 1 */
    double timeout;                  /* seconds of a run */
    double sweep[SKED_I_BUSY_KINDS]; /* seconds each */
    unsigned char *kind;             /* [ops] */
    double scale;                    /* bytes of memory for one of the graph's */
    sked_i_threads_area *result;     /* [devices] as the last run wanted them */
    sked_i_threads_area *array;      /* [devices] what busy work sweeps over */
    sked_i_busy *busy;               /* [devices] */
} sked_i_threads;

/* Words of 8 bytes that hold so many of the graph's bytes, at least a cache line. */
static inline int64_t sked_i_threads_words(const sked_i_threads *x, double bytes)
{
    enum { line = 8 };
    const double words = ceil(bytes * x->scale / 8);
    return words > line ? (int64_t)words : line;
}
/* The area has that size afterwards, untouched where it had another one before. MEMORY: it is gone. */
SKED_MUST_CHECK sked_status sked_i_threads_area_fit(sked_i_threads_area *a, size_t size, sked_error *err);
/* The calling thread touches every page of an area, once, which puts it on the memory
 * node of that thread. */
void sked_i_threads_touch(sked_i_threads_area *a);

/* Runs work(data) to its end on a thread of its own that is pinned there. DEVICE: the system refuses one. */
SKED_MUST_CHECK sked_status sked_i_threads_pinned(int place, void (*work)(void *data), void *data,
                                                  sked_error *err);
/*
 * One run; out in durations of the problem. `run` is another number each time: values of an earlier run are
 * wrong in this one. STOPPED: t->stop. DEVICE: a thread was refused, the run took longer than the timeout, or
 * an op read what was not yet written.
 */
SKED_MUST_CHECK sked_status sked_i_threads_run(sked_target *t, sked_i_threads *x, const sked_schedule *s,
                                               uint64_t run, sked_i_trace *out, sked_error *err);
#endif
