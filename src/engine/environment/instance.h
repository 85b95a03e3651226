/* A graph on devices as the policy sees it: times divided by those of list scheduling, relations as masks. */
#ifndef SKED_ENGINE_ENVIRONMENT_INSTANCE_H
#define SKED_ENGINE_ENVIRONMENT_INSTANCE_H
#include "backend/kernels.h"
#include "backend/parameters.h"
#include "base/clock.h"
#include "engine/environment/platform.h"

/*
 * Devices of a kind are exchangeable while they are empty. Of a kind only as many as there are ops can be
 * used; those are its columns, next to each other, and they are opened in order.
 */
typedef struct sked_i_instance {
    sked_i_arena arena;
    const sked_graph *graph;
    int32_t n, devices, kinds, columns;
    sked_i_platform platform; /* times, latency and per_byte / scale */
    int32_t *kind_first;      /* [kinds] its first column */
    int32_t *kind_of;         /* [columns] */
    int32_t *real_of;         /* [columns] device of the problem */
    int32_t *quickest;        /* [kinds] least mean time first */
    double *pace;             /* [kinds] mean of its times by the mean time of the same ops, less 1 */
    bool transfers;           /* data takes time between devices */
    bool picky;               /* some op cannot run on some device */
    double scale;             /* makespan of list scheduling, or 1 where that is 0 */
    double work;              /* sum of durations */
    double unit;              /* mean duration */
    double *duration, *least; /* [n] harmonic mean over the devices that can run it, least */
    double *tail;             /* [n] to the end of everything that must follow, with mean transfers */
    double *lag;              /* [edges of the graph] NAN: the time of its `from` */
    double *hop;              /* [edges] mean transfer time */
    double *share;            /* [edges] of the mean transfer time of all in-edges of its `to` */
    int32_t *ahead;  /* [n, SKED_I_AHEAD] out-edges whose paths are longest, then -1; NULL: no transfers */
    int32_t *waits;  /* [n] in-edges of distance 0 */
    double *feature; /* [n, SKED_I_STATIC_FEATURES] */
    double machine[SKED_I_HEAT_FEATURES - 2]; /* what the network sees of the devices and links */
    sked_i_masks masks;
    const sked_i_limit *limit; /* NULL: none */
} sked_i_instance;

/*
 * The instance takes the platform over in any case. UNSUPPORTED above SKED_I_GFLOWNET_OPS ops or
 * SKED_I_GFLOWNET_PAIRS choices. The graph must outlive the instance, and so must the limit, which everything
 * that works with the instance obeys; it may be NULL. STOPPED where it is reached. O(n * n + edges *
 * devices).
 */
SKED_MUST_CHECK sked_status sked_i_instance_on(const sked_graph *g, sked_i_platform *platform,
                                               const sked_i_limit *limit, sked_i_instance **out,
                                               sked_error *err);
void sked_i_instance_destroy(sked_i_instance *x);
/* UNSUPPORTED where the problem is beyond the limits of a stepwise model made for so many devices. */
SKED_MUST_CHECK sked_status sked_i_instance_check_stepwise(const sked_i_instance *x, int32_t slots,
                                                           sked_error *err);

/*
 * What a delay of one mean duration costs in log R where the makespan is that of list scheduling, and the
 * temperature at which it costs that much. Independent of the size of the graph, unlike the temperature.
 */
double sked_i_instance_kappa(const sked_i_instance *x, double temperature);
double sked_i_instance_temperature(const sked_i_instance *x, double kappa);
/* By which all logits are larger: a cold reward distinguishes choices more sharply; the square root of
 * kappa leaves room for what later steps mend. */
double sked_i_instance_sharpness(const sked_i_instance *x, double temperature);
/* Inputs of the network beside the graph: temperature, kappa, machine. */
void sked_i_instance_heat(const sked_i_instance *x, double temperature, double *out);

/* Speedup of a schedule of this makespan (in units of scale). */
static inline double sked_i_instance_speedup(const sked_i_instance *x, double makespan)
{
    return makespan > 0 ? x->work / makespan : 1;
}
/* Time of op on a column; INFINITY: it cannot run there. */
static inline double sked_i_instance_time(const sked_i_instance *x, int32_t op, int32_t column)
{
    return x->platform.time[(int64_t)op * x->kinds + x->kind_of[column]];
}
/* From the start of an edge's `from` on a column to its data there. */
static inline double sked_i_instance_lag(const sked_i_instance *x, int64_t e, int32_t column)
{
    return isnan(x->lag[e]) ? sked_i_instance_time(x, x->graph->edge_from[e], column) : x->lag[e];
}
#endif
