/*
 * A pipelined problem in whole numbers, and its windows at one initiation interval.
 *
 * Edge rule: start(to) >= start(from) + lag - distance * II. An op holds its pools for its duration, folded
 * into [0, II). Pools are the limited resources first, then one pool of one per device.
 */
#ifndef SKED_FORM_LOOP_H
#define SKED_FORM_LOOP_H
#include "base/arena.h"
#include "problem/problem.h"

#define SKED_I_FAR ((int64_t)1 << 60) /* later than every time of a schedule */

/* ------------------------------------------------------------------ the problem in whole numbers */

/* What an op holds of a resource pool; amounts are in the pool's own units. */
typedef struct sked_i_loop_use {
    int32_t pool;
    int64_t amount;
} sked_i_loop_use;

typedef struct sked_i_loop {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    bool pipelined;                  /* false: carried edges do not count, schedules have no II */
    int32_t n, devices, n_resources; /* n_resources: pools before those of the devices */
    int64_t *lag;                    /* [edges] */
    int64_t *transfer;               /* [edges], NULL: transfers are free */
    int64_t *duration;               /* [ops] */
    int64_t *release, *due;          /* [ops] earliest and latest start by horizon and fixed starts */
    int64_t *room;                   /* [n_resources] capacity in units */
    int64_t *use_ptr;                /* [ops + 1] */
    sked_i_loop_use *use;            /* limited resources only; ops of duration 0 use nothing */
    int32_t *component, *component_size;
    int32_t n_components;
    int64_t min_ii, max_ii; /* II: proven lower bound; if any works, max does, and it holds the shortest
                               schedule without folding */
    int64_t *serial;        /* [ops] starts of that schedule, all on device 0 */
} sked_i_loop;

/* UNSUPPORTED where a time is not a whole number or too large. O(ops + edges) and RecMII. */
SKED_MUST_CHECK sked_status sked_i_loop_create(const sked_problem *p, sked_i_loop **out, sked_error *err);
void sked_i_loop_destroy(sked_i_loop *loop);
/* Runs op i on a device pool? */
static inline bool sked_i_loop_on_device(const sked_i_loop *loop, int32_t i)
{
    return loop->devices > 0 && loop->duration[i] > 0;
}
/* The least interval at which these starts, resource-feasible without folding, need none: no overlap. */
int64_t sked_i_loop_plain_ii(const sked_i_loop *loop, const int64_t *start, const int32_t *device);
/* True where the serial schedule keeps horizon and fixed decisions. */
bool sked_i_loop_serial_fits(const sked_i_loop *loop);
/* ------------------------------------------------------------------ windows at one II */

typedef struct sked_i_frame {
    sked_i_arena arena;
    int64_t ii;
    int64_t *weight;  /* [edges] lag - distance * ii */
    int64_t *lo, *hi; /* [ops] earliest and latest start */
    int64_t *tail;    /* [ops] from the start of an op to the end of all that must follow */
    int64_t path;     /* longest path: no schedule at this II is shorter */
} sked_i_frame;
SKED_MUST_CHECK sked_status sked_i_frame_create(const sked_i_loop *loop, sked_i_frame **out, sked_error *err);
void sked_i_frame_destroy(sked_i_frame *f);
/*
 * Fills all for this II, hi with `length` as latest finish. false: windows prove that nothing fits, or the II
 * is below the proven bound (then nothing is filled).
 */
bool sked_i_frame_set(const sked_i_loop *loop, sked_i_frame *f, int64_t ii, int64_t length);
/* Only hi again. */
bool sked_i_frame_limit(const sked_i_loop *loop, sked_i_frame *f, int64_t length);

/* Lower bound of the length at the frame's II: longest path, and work of each pool between heads and rests.
 */
SKED_MUST_CHECK sked_status sked_i_frame_length(const sked_i_loop *loop, const sked_i_frame *f,
                                                int64_t *bound, sked_error *err);
#endif
