/*
 * Building one schedule from an order of preference. The pieces that `list` is made of; other methods that
 * need a quick schedule (heft, portfolios) use them too.
 *
 *   dag.c       the graph's edges as rows, forwards or mirrored in time
 *   pools.c     everything of which there is a limited amount, devices included
 *   priority.c  orders of preference
 *   parallel.c  parallel generation: goes through time, starts the best ready op that fits
 *   place.c     serial generation: goes through ops, puts each where it fits first
 *   timeline.c  amount used over time, for place.c
 *   line.c      free gaps of one device, for place.c
 *   uses.c      values and their readers
 *   fill.c, memory.c  other objectives under a horizon
 */
#ifndef SKED_METHOD_LIST_LIST_H
#define SKED_METHOD_LIST_LIST_H
#include "method/method.h"

/* Edges of distance 0: those of op i are ptr[i] .. ptr[i + 1] - 1. transfer NULL: free. */
typedef struct sked_i_rows {
    const int64_t *ptr;
    const int32_t *op; /* the other end */
    const double *lag, *transfer;
} sked_i_rows;

typedef struct sked_i_dag {
    int32_t n;
    const double *duration;
    const int32_t *order;  /* topological in the direction of the view */
    sked_i_rows out, in;   /* in.ptr NULL unless asked for */
    const int64_t *in_ptr; /* [n + 1] op i has in_ptr[i + 1] - in_ptr[i] predecessors */
    bool plain;            /* every lag is the duration of the op at the beginning of its edge */
    void *owned[12];
    int n_owned;
} sked_i_dag;

/*
 * Mirrored: time runs backwards. With start' = T - (start + duration), an edge a -> b of lag l becomes
 * b -> a of lag l + duration(b) - duration(a). O(ops + edges).
 */
SKED_MUST_CHECK sked_status sked_i_dag_make(const sked_problem *p, bool mirrored, bool with_in,
                                            sked_i_dag *out, sked_error *err);
void sked_i_dag_free(sked_i_dag *v);

/*
 * What ops hold while they run. Ops with equal demands form a class: those of class c hold the demands
 * k = class_ptr[c] .. class_ptr[c + 1] - 1. Ops of duration 0 hold nothing.
 */
typedef struct sked_i_pools {
    int32_t count, n_classes;
    double *capacity;   /* [count], finite */
    double *slack;      /* [count] rounding allowed in sums of real amounts; 0 for integers */
    int32_t *class_of;  /* [ops]; NULL: all of class 0 */
    int64_t *class_ptr; /* [n_classes + 1] */
    int32_t *pool;
    double *amount;
} sked_i_pools;

static inline int32_t sked_i_pools_class(const sked_i_pools *q, int32_t op)
{
    return q->class_of ? q->class_of[op] : 0;
}
/* The demands of one op: first .. end - 1. */
static inline int64_t sked_i_pools_first(const sked_i_pools *q, int32_t op)
{
    return q->class_ptr[sked_i_pools_class(q, op)];
}
static inline int64_t sked_i_pools_end(const sked_i_pools *q, int32_t op)
{
    return q->class_ptr[sked_i_pools_class(q, op) + 1];
}

/* Pools with a finite capacity; with_devices: the devices as the last pool, demand 1. */
SKED_MUST_CHECK sked_status sked_i_pools_make(const sked_problem *p, bool with_devices, sked_i_pools *out,
                                              sked_error *err);
/*
 * The loads that objective resource counts, as pools: demand times weight, or where the graph has no
 * demands one pool of weights. Capacities are left at 0 for the caller.
 */
SKED_MUST_CHECK sked_status sked_i_pools_of_loads(const sked_problem *p, sked_i_pools *out, sked_error *err);
void sked_i_pools_free(sked_i_pools *pools);

typedef enum sked_i_priority {
    SKED_I_CRITICAL_PATH,
    SKED_I_MOST_OPS,
    SKED_I_SHORTEST,
    SKED_I_LONGEST,
    SKED_I_MOST_SUCCESSORS,
    SKED_I_RANDOM
} sked_i_priority;

/*
 * rank[i]: 0 is placed first. noise > 0 multiplies every priority by a random factor in 1 - noise .. 1 +
 * noise. Ties: critical path by number of successors, the others by critical path, then topological order.
 * O(ops + edges).
 */
SKED_MUST_CHECK sked_status sked_i_priority_rank(const sked_problem *p, const sked_i_dag *v,
                                                 sked_i_priority kind, double noise, sked_i_rng *rng,
                                                 int32_t *rank, sked_error *err);
/* rank by key, smallest first; equal keys in the view's order. */
SKED_MUST_CHECK sked_status sked_i_rank_by_key(const sked_i_dag *v, const double *key, int32_t *rank,
                                               sked_error *err);
/* up[i]: longest way from the start of i to the end; `share` of every transfer on it counts (heft.c). */
void sked_i_upward_ranks(const sked_i_dag *v, double share, double *up);
/* Latest starts that keep this horizon (INFINITY: none) and the fixed starts. O(ops + edges). */
void sked_i_latest_starts(const sked_problem *p, double horizon, double *latest);

/* What a generation scheme starts from. Arrays are the caller's; NULL where nothing is asked for. */
typedef struct sked_i_plan {
    const sked_i_dag *view;
    const sked_i_pools *pools;
    const int32_t *rank;
    int32_t devices;
    const double *release; /* no start before this */
} sked_i_plan;

/*
 * Parallel generation on pools (with devices: the last pool). O((ops + edges) log ops) when ops fall into
 * a few classes of equal demands; a start costs one look at every class that has a ready op.
 */
SKED_MUST_CHECK sked_status sked_i_list_parallel(const sked_i_plan *plan, double *start, int32_t *device,
                                                 sked_error *err);

typedef struct sked_i_place {
    const int32_t *fix_device; /* -1: free */
    const double *fix_start;   /* NAN: free */
    bool by_device;            /* every device has its own line; needs view->in when transfers cost */
    bool insertion;            /* by_device: fill gaps; else only append */
    bool stepped;              /* by_device: only ops whose data is there when a device is free compete */
} sked_i_place;

/*
 * Serial generation: the best op whose predecessors are placed goes where it fits first. Without
 * by_device the devices are the last pool and are told apart at the end. *fits becomes false where a fixed
 * start cannot be kept; start and device are then unspecified. O((ops + edges) log ops) plus the holes too
 * short for an op that a search for room passes; by_device also O(ops * devices).
 */
SKED_MUST_CHECK sked_status sked_i_list_place(const sked_i_plan *plan, const sked_i_place *how, double *start,
                                              int32_t *device, bool *fits, sked_error *err);

/*
 * The same many times over: the working memory is kept between runs. by_device as in sked_i_place; view and
 * pools are the caller's and stay. Devices that are a pool are not told apart. late: what fixed starts are
 * missed by in sum; the result is a schedule only where it is 0. One placer per thread.
 */
typedef struct sked_i_placer sked_i_placer;
SKED_MUST_CHECK sked_status sked_i_placer_create(const sked_i_dag *v, const sked_i_pools *pools,
                                                 int32_t devices, bool by_device, sked_i_placer **out,
                                                 sked_error *err);
void sked_i_placer_destroy(sked_i_placer *x);
SKED_MUST_CHECK sked_status sked_i_placer_run(sked_i_placer *x, const int32_t *rank, const double *release,
                                              const sked_i_place *how, double *start, int32_t *device,
                                              double *late, sked_error *err);

/* Does the schedule end by p's horizon? To rounding; integers exactly. */
bool sked_i_within_horizon(const sked_problem *p, const double *start);

/* Tells devices apart for starts that never need more than m at once. O(n log n). */
SKED_MUST_CHECK sked_status sked_i_assign_devices(const sked_i_dag *v, int32_t m, const double *start,
                                                  int32_t *device, sked_error *err);

/* Time limits of an objective under a horizon (fill.c, memory.c). */
typedef struct sked_i_windows {
    double horizon;       /* the problem's, or the critical path */
    double *early, *late; /* [ops] starts */
    bool integral;        /* starts have to be integers */
    bool limited;         /* devices or finite pools: targets are not schedules yet */
} sked_i_windows;
SKED_MUST_CHECK sked_status sked_i_windows_make(const sked_problem *p, sked_i_windows *out, sked_error *err);
void sked_i_windows_free(sked_i_windows *w);
/*
 * Offers the schedule with these starts; on a limited machine the one that starts every op at or after
 * its target where it fits first. Past the horizon: nothing is offered.
 */
SKED_MUST_CHECK sked_status sked_i_offer_starts(sked_i_run *run, const sked_i_windows *w, const double *start,
                                                sked_error *err);
/* Values and who reads them, each reader once. */
typedef struct sked_i_uses {
    int64_t *reader_ptr, *input_ptr; /* [n + 1] */
    int32_t *reader, *input;
    double *size; /* [n] of the value; 0 where nobody reads it */
} sked_i_uses;
/* O(ops + edges). On failure what was made is freed by sked_i_uses_free all the same. */
SKED_MUST_CHECK sked_status sked_i_uses_make(const sked_graph *g, const sked_i_dag *v, sked_i_uses *u,
                                             sked_error *err);
void sked_i_uses_free(sked_i_uses *u);
/* Objectives resource and cost; objective memory. Every variant is offered. */
SKED_MUST_CHECK sked_status sked_i_list_fill(sked_i_run *run, const sked_i_windows *w, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_list_memory(sked_i_run *run, const sked_i_windows *w, sked_error *err);
#endif
