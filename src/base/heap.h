/*
 * Binary heaps, least item first. SKED_HEAP_DEFINE(name, type, before) makes `name`, an array of `type` that
 * belongs to the caller, with inline `name_push` and `name_pop`; before(a, b) must be a total order, so that
 * results never depend on memory. Both take O(log count).
 */
#ifndef SKED_BASE_HEAP_H
#define SKED_BASE_HEAP_H
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define SKED_HEAP_DEFINE(name, type, before)                                    \
    typedef struct name {                                                       \
        type *at; /* [capacity] */                                              \
        int32_t count;                                                          \
    } name;                                                                     \
    static inline void name##_push(name *h, type item)                          \
    {                                                                           \
        int64_t k = h->count++;                                                 \
        for (; k > 0 && before(item, h->at[(k - 1) / 2]); k = (k - 1) / 2)      \
            h->at[k] = h->at[(k - 1) / 2];                                      \
        h->at[k] = item;                                                        \
    }                                                                           \
    static inline type name##_pop(name *h)                                      \
    {                                                                           \
        assert(h->count > 0);                                                   \
        const type top = h->at[0], item = h->at[--h->count];                    \
        int64_t k = 0;                                                          \
        for (int64_t child; (child = 2 * k + 1) < h->count; k = child) {        \
            if (child + 1 < h->count && before(h->at[child + 1], h->at[child])) \
                child++;                                                        \
            if (!before(h->at[child], item))                                    \
                break;                                                          \
            h->at[k] = h->at[child];                                            \
        }                                                                       \
        h->at[k] = item;                                                        \
        return top;                                                             \
    }

/* Events by time, equal times by id. */
typedef struct sked_i_event {
    double time;
    int32_t id;
} sked_i_event;
static inline bool sked_i_event_before(sked_i_event a, sked_i_event b)
{
    return a.time < b.time || (a.time == b.time && a.id < b.id);
}
SKED_HEAP_DEFINE(sked_i_event_heap, sked_i_event, sked_i_event_before)

/* Plain words, key in the high bits. */
static inline bool sked_i_heap_word_before(uint64_t a, uint64_t b)
{
    return a < b;
}
SKED_HEAP_DEFINE(sked_i_word_heap, uint64_t, sked_i_heap_word_before)
#endif
