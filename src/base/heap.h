/* Events by time, earliest first; equal times by id, so that results never depend on memory. */
#ifndef SKED_BASE_HEAP_H
#define SKED_BASE_HEAP_H
#include <stdbool.h>
#include <stdint.h>

typedef struct sked_i_event {
    double time;
    int32_t id;
} sked_i_event;

typedef struct sked_i_heap {
    sked_i_event *at; /* [capacity], the caller's */
    int32_t count;
} sked_i_heap;

static inline bool sked_i_event_before(sked_i_event a, sked_i_event b)
{
    return a.time < b.time || (a.time == b.time && a.id < b.id);
}

static inline void sked_i_heap_push(sked_i_heap *h, double time, int32_t id)
{
    const sked_i_event x = {time, id};
    int64_t k = h->count++;
    for (; k > 0 && sked_i_event_before(x, h->at[(k - 1) / 2]); k = (k - 1) / 2)
        h->at[k] = h->at[(k - 1) / 2];
    h->at[k] = x;
}

static inline sked_i_event sked_i_heap_pop(sked_i_heap *h)
{
    const sked_i_event top = h->at[0], x = h->at[--h->count];
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < h->count; k = child) {
        if (child + 1 < h->count && sked_i_event_before(h->at[child + 1], h->at[child]))
            child++;
        if (!sked_i_event_before(h->at[child], x))
            break;
        h->at[k] = h->at[child];
    }
    h->at[k] = x;
    return top;
}
#endif
