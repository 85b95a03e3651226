/* Where threads of this process may run: distinct cores first, then further hardware threads of the same
 * cores. */
#ifndef SKED_TARGET_CORES_H
#define SKED_TARGET_CORES_H
#include "base/arena.h"

typedef struct sked_i_cores {
    int count;    /* hardware threads that the calling thread may use */
    int distinct; /* of them on cores of their own: the first so many of `place` */
    int *place;   /* [count] numbers of the operating system */
    double cache; /* bytes of the largest cache of the first of them; 0: unknown */
} sked_i_cores;

#ifdef SKED_WITH_HWLOC
#define SKED_I_CORES_NOTE ""
#else
/* The affinity mask alone says nothing of cores, caches and memory nodes. */
#define SKED_I_CORES_NOTE                                                                        \
    "; this build has no hwloc (libhwloc-dev): it takes hardware threads in the order of their " \
    "numbers"
#endif

/* The places belong to the arena. DEVICE: the system does not say. */
SKED_MUST_CHECK sked_status sked_i_cores_find(sked_i_cores *c, sked_i_arena *a, sked_error *err);
/* From now on the calling thread runs on that hardware thread alone. false: the system refuses. */
bool sked_i_cores_pin(int place);
#endif
