/* What ops and edges cost where: kinds of identical devices, and the links between them. */
#ifndef SKED_ENGINE_ENVIRONMENT_PLATFORM_H
#define SKED_ENGINE_ENVIRONMENT_PLATFORM_H
#include "base/arena.h"
#include "problem/costs.h"

/* The masks of an instance hold 7 bits for every pair of ops: 88 MB at this size. */
enum { SKED_I_GFLOWNET_OPS = 10000 };
/* Arrival times of data, 8 bytes for every op and device in each of 16 walkers. */
enum { SKED_I_GFLOWNET_PAIRS = 1 << 22 };

typedef struct sked_i_platform {
    sked_i_arena arena;
    int32_t n, kinds, devices;
    int32_t *size;              /* [kinds] devices of each */
    int32_t *device;            /* [devices] their numbers in the problem, kind by kind */
    double *time;               /* [n * kinds] INFINITY: the op cannot run there */
    double *latency, *per_byte; /* [kinds * kinds] from x to, between two different devices */
    double *bytes;              /* [edges] */
} sked_i_platform;

/* UNSUPPORTED above SKED_I_GFLOWNET_OPS ops or SKED_I_GFLOWNET_PAIRS choices. Looks at sizes only. */
SKED_MUST_CHECK sked_status sked_i_platform_check(const sked_i_platform *p, sked_error *err);
/*
 * The platform of a problem. UNSUPPORTED where it is too large, where an op can run nowhere or two devices
 * have no link: a schedule that grows op by op could end in a state from which nothing can be added. O((ops +
 * kinds) * kinds + edges + devices). Clear in any case.
 */
SKED_MUST_CHECK sked_status sked_i_platform_make(const sked_problem *p, const sked_i_costs *c,
                                                 sked_i_platform *out, sked_error *err);
/* Room for these sizes, all numbers 0. Clear in any case. */
SKED_MUST_CHECK sked_status sked_i_platform_reserve(sked_i_platform *out, int32_t n, int64_t edges,
                                                    int32_t devices, int32_t kinds, sked_error *err);
void sked_i_platform_clear(sked_i_platform *p);
/* Over all pairs of different devices: mean latency and mean time for a byte; 0 for one device. */
void sked_i_platform_mean_link(const sked_i_platform *p, double *latency, double *per_byte);
/* Devices of a kind that can be of use: no more than there are ops. */
int32_t sked_i_platform_columns(const sked_i_platform *p, int32_t kind);
#endif
