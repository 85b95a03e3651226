/* A placer, as place.c, list_heterogeneous.c and reach.c see it. */
#ifndef SKED_ENGINE_LIST_PLACER_H
#define SKED_ENGINE_LIST_PLACER_H
#include "base/heap.h"
#include "base/set.h"
#include "engine/list/gaps.h"
#include "engine/list/list.h"
#include "engine/list/timeline.h"

#include <assert.h>

/* When the data of one op is where, on heterogeneous devices. Devices of a kind share their links. */
typedef struct sked_i_arrivals {
    int32_t kinds;
    const int32_t *kind;         /* [devices]; NULL: one kind */
    double *latency, *bandwidth; /* [kinds * kinds] from x to, in the direction of the view; NAN: no link */
    double *far;                 /* [kinds] latest data from devices of other kinds */
    double *near;                /* [2 * kinds] from devices of the kind: latest, and latest from another */
    int32_t *near_device;        /* [kinds] where the latest comes from */
    double *option; /* [3 * devices] lookahead: start, score and idle since; INFINITY: not there */
    bool *instant;  /* [pool classes] demands beyond a pool: only where the op takes no time */
} sked_i_arrivals;

typedef struct sked_i_reach sked_i_reach;
typedef struct sked_i_hurry sked_i_hurry;

struct sked_i_placer {
    sked_i_arena arena;
    sked_i_list_input input; /* of the run */
    const sked_i_place *how;
    double *start;
    int32_t *device;
    bool by_device;            /* every device has gaps of its own */
    double *arrival;           /* [n] without transfers: when all data is there */
    int32_t *waiting;          /* [n] predecessors not placed */
    int32_t *by_rank;          /* [n] */
    uint64_t *words;           /* of ready */
    sked_i_set ready;          /* ranks */
    sked_i_event_heap pending; /* stepped: ops whose data is on its way */
    double now;                /* stepped: when the first device is free */
    int32_t next_device;       /* fixed starts in a hurry: the one to look at first */
    int32_t chosen; /* stepped, heterogeneous devices: op that has start and device, but is not placed */
    sked_i_timeline *pool;
    sked_i_gaps *gaps;
    double shortest;  /* positive duration */
    double *local;    /* [devices] latest data from the device itself, where *seen says so */
    int32_t *seen;    /* [devices] op for which local holds, -1 */
    double remote[2]; /* latest data from elsewhere: of all devices, and of all but remote_device */
    int32_t remote_device;
    sked_i_arrivals far; /* heterogeneous devices: in place of remote */
    sked_i_reach *reach; /* heterogeneous devices: NULL where all are linked */
    sked_i_hurry *hurry; /* NULL: there is time to look at all devices */
    bool hurried;     /* a run took too long: the next ones have no moderate work that is done all the same */
    double late;      /* what fixed starts are missed by in sum */
    sked_i_pace pace; /* looks at devices */
};

/* Latest and second latest data by device: `best`, of which the first is from device *from. */
static inline void sked_i_placer_note(double best[2], int32_t *from, int32_t d, double t)
{
    if (d == *from)
        best[0] = t > best[0] ? t : best[0];
    else if (t > best[0]) {
        best[1] = best[0];
        best[0] = t;
        *from = d;
    } else if (t > best[1])
        best[1] = t;
}

/* Earliest start from t that all pools, and with d >= 0 the gaps of the device, have room for. */
static inline double sked_i_placer_room(const sked_i_placer *x, int32_t i, double length, int32_t d, double t,
                                        double *gap)
{
    const sked_i_pools *q = x->input.pools;
    const int32_t c = sked_i_pools_class(q, i);
    const int64_t limits = q->class_ptr[c + 1] - q->class_ptr[c] + (d >= 0);
    if (!(length > 0))
        return t;
    for (double before = -1; t != before;) {
        before = t;
        if (d >= 0)
            t = sked_i_gaps_fit(&x->gaps[d], t, length, gap);
        for (int64_t k = q->class_ptr[c]; k < q->class_ptr[c + 1]; k++) {
            const int32_t r = q->pool[k];
            t = sked_i_timeline_fit(&x->pool[r], t, length, q->capacity[r] - q->amount[k] + q->slack[r]);
        }
        if (limits <= 1)
            break;
    }
    return t;
}

/* The devices that op i may go to: first..last. */
static inline void sked_i_placer_range(const sked_i_placer *x, int32_t i, int32_t *first, int32_t *last)
{
    const int32_t pinned = x->how->fix_device ? x->how->fix_device[i] : -1;
    *first = pinned >= 0 ? pinned : 0;
    *last = pinned >= 0 ? pinned : x->input.devices - 1;
}

/* ------------------------------------------------------------------ when the time is up (hurry.c) */

/* From now on ops look at a few devices. The devices have gaps of their own. O(devices + pending ops) */
SKED_MUST_CHECK sked_status sked_i_placer_hurry(sked_i_placer *x, sked_error *err);
/* Start and device of op i. false: none of those devices can have it. */
bool sked_i_placer_choose_hurried(sked_i_placer *x, int32_t i);
/* When the data of op i is on device d, without having been gathered. O(predecessors) */
double sked_i_placer_arrival_alone(const sked_i_placer *x, int32_t i, int32_t d);

/* ------------------------------------------------------------------ heterogeneous devices
 * (list_heterogeneous.c) */

SKED_MUST_CHECK sked_status sked_i_placer_open_heterogeneous(sked_i_placer *x, sked_error *err);
/* Time of op i on device d; INFINITY: it cannot run there. */
static inline double sked_i_placer_time(const sked_i_placer *x, int32_t i, int32_t d)
{
    const double t = sked_i_time(x->input.view->costs, i, d);
    return t > 0 && x->far.instant[sked_i_pools_class(x->input.pools, i)] ? INFINITY : t;
}
/* Gathers what op i needs to know of its predecessors; O(predecessors * kinds). */
void sked_i_placer_gather(sked_i_placer *x, int32_t i);
/* When the data of op i, gathered before, is on device d; INFINITY: it cannot get there. */
double sked_i_placer_arrival(const sked_i_placer *x, int32_t i, int32_t d);
/* The same where it was not gathered. O(predecessors) */
double sked_i_placer_arrival_hetero(const sked_i_placer *x, int32_t i, int32_t d);
/* The least over all devices that can run it. Gathers. */
double sked_i_placer_earliest(sked_i_placer *x, int32_t i);
/*
 * Start and device of op i: where it finishes first (how->ahead, how->lookahead: counting what follows);
 * among equals the device left idle the shortest. Where its data can reach no device, missing links count as
 * free and x->late grows.
 */
void sked_i_placer_choose(sked_i_placer *x, int32_t i);
/*
 * Device of op i that starts at t: of those with room the fastest. false: none has room, or the one it is
 * fixed on cannot run it; it has a device all the same.
 */
bool sked_i_placer_fit(sked_i_placer *x, int32_t i, double t);

/* ------------------------------------------------------------------ devices without links (reach.c) */

/* In the placer's arena; *out stays NULL where every device can send to every other. */
SKED_MUST_CHECK sked_status sked_i_reach_create(sked_i_placer *x, sked_i_reach **out, sked_error *err);
/*
 * Before a run, when ops with fixed starts have their devices. O(ops * groups + edges) where nothing is
 * ruled out; every set that changes costs O(groups + its edges) more, here and in the run. A group: devices
 * with the same links and, but for their speeds, the same times.
 */
void sked_i_reach_reset(sked_i_placer *x);
/* May op i go to device d? */
bool sked_i_reach_allows(const sked_i_placer *x, int32_t i, int32_t d);
/* Op i has its device. */
void sked_i_reach_placed(sked_i_placer *x, int32_t i);
#endif
