/* Steps of an amount over time, changed near their end most of the time. */
#include "engine/memory/memory_engine.h"

#include <assert.h>
#include <string.h>

bool sked_i_track_clear(sked_i_track *t)
{
    if (!SKED_OWN_GROW(t->arena, t->time, t->time_cap, 1) ||
        !SKED_OWN_GROW(t->arena, t->load, t->load_cap, 1))
        return false;
    t->time[0] = -INFINITY;
    t->load[0] = 0;
    t->count = 1;
    return true;
}

int64_t sked_i_track_find(const sked_i_track *t, double at)
{
    int64_t low = 0, high = t->count - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (t->time[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int64_t sked_i_track_split(sked_i_track *t, double at, bool *fresh)
{
    const int64_t k = sked_i_track_find(t, at);
    *fresh = false;
    if (t->time[k] == at)
        return k;
    assert(t->time[k] < at && (k + 1 == t->count || at < t->time[k + 1]));
    if (!SKED_OWN_GROW(t->arena, t->time, t->time_cap, t->count + 1) ||
        !SKED_OWN_GROW(t->arena, t->load, t->load_cap, t->count + 1))
        return -1;
    memmove(t->time + k + 2, t->time + k + 1, (size_t)(t->count - k - 1) * sizeof *t->time);
    memmove(t->load + k + 2, t->load + k + 1, (size_t)(t->count - k - 1) * sizeof *t->load);
    t->time[k + 1] = at;
    t->load[k + 1] = t->load[k];
    t->count++;
    *fresh = true;
    return k + 1;
}

void sked_i_track_join(sked_i_track *t, int64_t index)
{
    assert(index > 0 && index < t->count); /* the first step begins at -INFINITY and stays */
    memmove(t->time + index, t->time + index + 1, (size_t)(t->count - index - 1) * sizeof *t->time);
    memmove(t->load + index, t->load + index + 1, (size_t)(t->count - index - 1) * sizeof *t->load);
    t->count--;
}
