/*
 * List scheduling: one schedule from a priority order.
 *
 *   priority.c  priority orders
 *   levels.c    levels on heterogeneous devices
 *   parallel.c  parallel generation: steps through time and starts the first ready op that fits
 *   place.c     serial generation: steps through ops and puts each where it fits first
 *   list_heterogeneous.c   the same where devices and links differ: each op where it finishes first
 *   reach.c     devices that no link joins, for list_heterogeneous.c
 *   hurry.c     few devices to choose from, when the time is up
 *   timeline.c  amount used over time, for place.c
 *   gaps.c      free gaps of one device, for place.c
 */
#ifndef SKED_ENGINE_LIST_LIST_H
#define SKED_ENGINE_LIST_LIST_H
#include "base/clock.h"
#include "base/rng.h"
#include "form/dag.h"
#include "form/pools.h"
#include "form/windows.h"

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
/* up[i]: longest path from the start of i to the end; `share` of every transfer on it counts. */
void sked_i_upward_ranks(const sked_i_dag *v, double share, double *up);
/* down[i]: longest path from the beginning to the start of i, likewise. */
void sked_i_downward_ranks(const sked_i_dag *v, double share, double *down);

/* What stands for the times of an op on its devices and for the links, where one number must. */
typedef enum sked_i_measure {
    SKED_I_MEAN,
    SKED_I_BEST,  /* shortest time, no transfer */
    SKED_I_WORST, /* longest time, longest latency, least bandwidth */
    SKED_I_MEDIAN
} sked_i_measure;
/*
 * Upward ranks by a measure, transfers in full; for a view with costs. O(ops * classes + kinds^2 + edges), of
 * medians O(ops * time kinds). limit: NULL, none; STOPPED where it comes while much is to do.
 */
SKED_MUST_CHECK sked_status sked_i_measured_ranks(const sked_i_dag *v, sked_i_measure kind,
                                                  const sked_i_limit *limit, double *up, sked_error *err);
/*
 * The optimistic cost table of PEFT (Arabnejad and Barbosa, IEEE TPDS 25(3), 2014), equation 4: the longest
 * path from the end of an op on a device to the end of the graph when every op on it goes where it ends
 * first. It is the same for all devices of a kind. table: [ops * time kinds]; mean: [ops] over the devices.
 * For a view with costs. O((ops + edges) * time kinds). limit: as above.
 */
SKED_MUST_CHECK sked_status sked_i_optimistic_costs(const sked_i_dag *v, const sked_i_limit *limit,
                                                    double *table, double *mean, sked_error *err);

/* The device that can run the most of these ops (NULL: of ops 0 .. n - 1), of such the one with the least
 * time. */
int32_t sked_i_fastest_device(const sked_i_costs *c, const int32_t *op, int32_t n);

/* What a generation scheme starts from. Arrays are the caller's; NULL where nothing is asked for. */
typedef struct sked_i_list_input {
    const sked_i_dag *view;
    const sked_i_pools *pools;
    const int32_t *rank;
    int32_t devices;
    const double *release;     /* no start before this */
    const sked_i_limit *limit; /* NULL: none; checked where the work is more than moderate */
    bool owed;                 /* there is no schedule yet */
} sked_i_list_input;
/* Steps for each op that are moderate: looks at classes of ops or at devices. Looks at devices: this many. */
enum { SKED_I_LIST_FREE_STEPS = 256, SKED_I_LIST_MOST_FREE = 10000000 };

/*
 * Parallel generation on pools (with devices: the last pool). O((ops + edges) log ops) when ops fall into
 * a few classes of equal demands; a start costs one look at every class that has a ready op. STOPPED where
 * those are many and the limit is reached.
 */
SKED_MUST_CHECK sked_status sked_i_list_parallel(const sked_i_list_input *input, double *start,
                                                 int32_t *device, sked_error *err);

typedef struct sked_i_place {
    const int32_t *fix_device; /* -1: free */
    const double *fix_start;   /* NAN: free */
    bool by_device;            /* every device has its own gaps; needs view->in when transfers cost */
    bool insertion;            /* by_device: fill gaps; else only append */
    const double *ahead; /* [ops * time kinds] view with costs: what follows the finish on a device of the
                            kind, added where devices are compared; NULL: nothing */
    bool lookahead;      /* view with costs, not stepped: compare devices by when the last successor
                            could finish */
    const bool *use;     /* [devices] where links are missing: no others; NULL: all */
    bool stepped;        /* by_device: only ops whose data is there when a device is free compete */
    const sked_i_limit *limit; /* NULL: none; checked where ops and devices are many: STOPPED */
    bool hurry; /* by_device, limit: there is no schedule yet; when the time is up, or a stop was asked for,
                   what is left goes to the best of a few devices */
} sked_i_place;

/*
 * Serial generation: the best op whose predecessors are placed goes where it fits first. Without
 * by_device the devices are the last pool, and ops get their devices at the end. A view with costs
 * (heterogeneous devices) needs by_device: an op goes where it finishes first. *fits becomes false where a
 * fixed start cannot be kept or data finds no link; start and device are then unspecified. O((ops + edges)
 * log ops) plus the holes too short for an op that a search for room passes; by_device also O(ops * devices).
 */
SKED_MUST_CHECK sked_status sked_i_list_place(const sked_i_list_input *input, const sked_i_place *how,
                                              double *start, int32_t *device, bool *fits, sked_error *err);

/*
 * The same many times over: the working memory is kept between runs. by_device as in sked_i_place; view and
 * pools are the caller's and stay. Ops on devices that are a pool get no device. late: what fixed starts are
 * missed by in sum, and something for every op whose data finds no link; the result is a schedule only where
 * it is 0. One placer per thread.
 */
typedef struct sked_i_placer sked_i_placer;
SKED_MUST_CHECK sked_status sked_i_placer_create(const sked_i_dag *v, const sked_i_pools *pools,
                                                 int32_t devices, bool by_device, sked_i_placer **out,
                                                 sked_error *err);
void sked_i_placer_destroy(sked_i_placer *x);
SKED_MUST_CHECK sked_status sked_i_placer_run(sked_i_placer *x, const int32_t *rank, const double *release,
                                              const sked_i_place *how, double *start, int32_t *device,
                                              double *late, sked_error *err);

/*
 * A set of devices of a machine around one of which each has a link to each. use: [devices]. O(devices *
 * kinds of links)
 */
SKED_MUST_CHECK sked_status sked_i_linked_devices(const sked_i_costs *c, int32_t first, bool *use,
                                                  sked_error *err);

#endif
