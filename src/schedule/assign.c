/* Devices from starts. */
#include "base/arena.h"
#include "base/heap.h"
#include "schedule/schedule.h"

#include <assert.h>

typedef struct assigner {
    sked_i_arena arena;
    const double *duration, *start; /* [ops] */
    const int32_t *topo;            /* [ops] */
    int32_t *rank;                  /* [ops] its inverse */
    int32_t *device;                /* [ops] */
    int32_t *idle, n_idle;          /* stack of free devices */
    sked_i_event_heap busy;         /* finishes of what runs, equal ones by rank */
} assigner;

static void free_one(assigner *x)
{
    x->idle[x->n_idle++] = x->device[x->topo[sked_i_event_heap_pop(&x->busy).id]];
}

static void place(assigner *x, int32_t op)
{
    const double start = x->start[op];
    while (x->busy.count > 0 && x->busy.at[0].time <= start)
        free_one(x);
    if (x->duration[op] > 0) {
        if (x->n_idle == 0) /* a rounded finish */
            free_one(x);
        x->device[op] = x->idle[--x->n_idle];
        sked_i_event_heap_push(&x->busy, (sked_i_event){start + x->duration[op], x->rank[op]});
    } else
        x->device[op] = x->n_idle > 0 ? x->idle[x->n_idle - 1] : 0;
}

sked_status sked_i_schedule_assign(int32_t n, const double *duration, const int32_t *topo, int32_t devices,
                                   const double *start, int32_t *device, sked_error *err)
{
    const int32_t m = devices < n ? devices : n;
    sked_status st = SKED_OK;
    assigner x = {.duration = duration, .topo = topo, .start = start, .device = device, .n_idle = m};
    sked_i_keyed *item, *spare;
    assert(devices > 0);
    SKED_OWN(&x.arena, x.rank, n);
    SKED_OWN(&x.arena, item, n);
    SKED_OWN(&x.arena, spare, n);
    SKED_OWN(&x.arena, x.idle, m);
    SKED_OWN(&x.arena, x.busy.at, m);
    for (int32_t k = 0; k < n; k++) {
        x.rank[topo[k]] = k;
        item[k] = (sked_i_keyed){sked_i_sort_key(start[topo[k]]), topo[k]};
    }
    sked_i_sort_keyed(item, spare, n);
    for (int32_t d = 0; d < m; d++)
        x.idle[d] = m - 1 - d;
    for (int32_t k = 0; k < n; k++)
        place(&x, (int32_t)item[k].value);
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}
