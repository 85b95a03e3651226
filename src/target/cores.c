/*
 * hwloc knows which hardware threads share a core. The affinity mask, which tools and batch systems set, says
 * which of them are ours; it is asked for in either case, and is all there is in a build without hwloc.
 */
#define _GNU_SOURCE
#include "target/cores.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#ifdef SKED_WITH_HWLOC
#include <hwloc.h>
#endif

enum { most_places = 1 << 16 }; /* what an affinity mask is asked for; the largest machines have thousands */

bool sked_i_cores_pin(int place)
{
    assert(place >= 0);
    const size_t size = CPU_ALLOC_SIZE((size_t)place + 1);
    cpu_set_t *set = CPU_ALLOC((size_t)place + 1);
    if (set == NULL)
        return false;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)place, size, set);
    const bool pinned = pthread_setaffinity_np(pthread_self(), size, set) == 0;
    CPU_FREE(set);
    return pinned;
}

/* The hardware threads of the affinity mask in the order of their numbers. */
static sked_status find_allowed(sked_i_cores *c, sked_i_arena *a, sked_error *err)
{
    const size_t size = CPU_ALLOC_SIZE(most_places);
    sked_status st = SKED_OK;
    cpu_set_t *set = CPU_ALLOC(most_places);
    if (set == NULL)
        return sked_i_no_memory(err);
    if (sched_getaffinity(0, size, set) != 0) {
        st = sked_i_fail(err, SKED_ERR_DEVICE, "the system does not say which cores are ours: %s",
                         strerror(errno));
        goto cleanup;
    }
    SKED_OWN(a, c->place, CPU_COUNT_S(size, set));
    for (size_t k = 0; k < most_places; k++)
        if (CPU_ISSET_S(k, size, set))
            c->place[c->count++] = (int)k;
    c->distinct = c->count;
cleanup:
    CPU_FREE(set);
    return st;
}

#ifdef SKED_WITH_HWLOC

/* Takes the k-th hardware thread of every core that has so many of ours. */
static void take_turn(hwloc_topology_t topology, hwloc_const_bitmap_t ours, int k, sked_i_cores *c)
{
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i);
        int at = -1, seen = 0;
        unsigned place;
        hwloc_bitmap_foreach_begin(place, core->cpuset) if (hwloc_bitmap_isset(ours, place) && seen++ == k)
            at = (int)place;
        hwloc_bitmap_foreach_end();
        if (at >= 0)
            c->place[c->count++] = at;
    }
}

static double largest_cache(hwloc_topology_t topology, int place)
{
    double size = 0;
    for (hwloc_obj_t o = hwloc_get_pu_obj_by_os_index(topology, (unsigned)place); o != NULL; o = o->parent)
        if (hwloc_obj_type_is_dcache(o->type) && (double)o->attr->cache.size > size)
            size = (double)o->attr->cache.size;
    return size;
}

/* The same places, those of distinct cores first. They stay as they are where hwloc knows no cores. */
static void sort_by_core(hwloc_topology_t topology, sked_i_cores *c)
{
    const int all = c->count;
    hwloc_bitmap_t ours = hwloc_bitmap_alloc();
    if (ours == NULL)
        return;
    for (int k = 0; k < all; k++)
        hwloc_bitmap_set(ours, (unsigned)c->place[k]);
    hwloc_bitmap_and(ours, ours, hwloc_topology_get_topology_cpuset(topology));
    if (hwloc_bitmap_weight(ours) == all && hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0) {
        c->count = 0;
        for (int k = 0; c->count < all; k++) {
            take_turn(topology, ours, k, c);
            if (k == 0)
                c->distinct = c->count;
        }
    }
    hwloc_bitmap_free(ours);
}

sked_status sked_i_cores_find(sked_i_cores *c, sked_i_arena *a, sked_error *err)
{
    hwloc_topology_t topology;
    const sked_status st = find_allowed(c, a, err);
    if (st != SKED_OK || hwloc_topology_init(&topology) != 0)
        return st;
    if (hwloc_topology_load(topology) == 0) {
        sort_by_core(topology, c);
        c->cache = largest_cache(topology, c->place[0]);
    }
    hwloc_topology_destroy(topology);
    return SKED_OK;
}

#else

sked_status sked_i_cores_find(sked_i_cores *c, sked_i_arena *a, sked_error *err)
{
    return find_allowed(c, a, err);
}

#endif
