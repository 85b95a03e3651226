/* A graph on m devices as the policy sees it: times divided by the lower bound, relations as masks. */
#ifndef SKED_METHOD_GFLOWNET_INSTANCE_H
#define SKED_METHOD_GFLOWNET_INSTANCE_H
#include "backend/kernels.h"
#include "base/clock.h"
#include "graph/graph.h"

/* The masks hold 7 bits for every pair of ops: 88 MB at this size. */
enum { SKED_I_GFLOWNET_OPS = 10000 };
/* A step scores every ready op on every device, at about 60 bytes each in each of 16 walkers. */
enum { SKED_I_GFLOWNET_PAIRS = 1 << 22 };

typedef struct sked_i_instance {
    const sked_graph *graph;
    int32_t n, devices;
    double scale;            /* max(work / devices, critical path), or 1 where that is 0 */
    double work;             /* sum of durations / scale */
    double *duration, *tail; /* [n] / scale; tail: to the end of everything that must follow */
    double *lag;             /* [edges of the graph] / scale */
    int32_t *waits;          /* [n] in-edges of distance 0 */
    double *feature;         /* [n, SKED_I_STATIC_FEATURES] */
    sked_i_masks masks;
    const sked_i_limit *limit; /* NULL: none */
} sked_i_instance;

/*
 * UNSUPPORTED above SKED_I_GFLOWNET_OPS ops or SKED_I_GFLOWNET_PAIRS choices. g must outlive the instance,
 * and so must the limit, which everything that works with the instance hears; it may be NULL. STOPPED where
 * it is reached. O(n * n + edges).
 */
SKED_MUST_CHECK sked_status sked_i_instance_create(const sked_graph *g, int32_t devices,
                                                   const sked_i_limit *limit, sked_i_instance **out,
                                                   sked_error *err);
void sked_i_instance_destroy(sked_i_instance *x);
/* Speedup of a schedule of this makespan (in units of scale). */
static inline double sked_i_instance_speedup(const sked_i_instance *x, double makespan)
{
    return makespan > 0 ? x->work / makespan : 1;
}
#endif
