#include "engine/list/gaps.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool sked_i_gaps_init(sked_i_arena *arena, sked_i_gaps *gaps)
{
    *gaps = (sked_i_gaps){.arena = arena};
    if (!SKED_OWN_GROW(arena, gaps->gap, gaps->cap, 2))
        return false;
    sked_i_gaps_reset(gaps);
    return true;
}

bool sked_i_gaps_take(sked_i_gaps *gaps, double start, double length, double shortest, bool append)
{
    if (append) {
        gaps->gap[0] = (sked_i_gap){start + length, INFINITY};
        gaps->count = 1;
        return true;
    }
    if (!SKED_OWN_GROW(gaps->arena, gaps->gap, gaps->cap, gaps->count + 1))
        return false;
    const int64_t k = sked_i_gaps_first(gaps, start + length);
    const sked_i_gap gap = gaps->gap[k];
    assert(gap.begin <= start && start + length <= gap.end); /* what sked_i_gaps_fit found */
    sked_i_gap rest[2];
    int64_t n = 0;
    if (start - gap.begin >= shortest)
        rest[n++] = (sked_i_gap){gap.begin, start};
    if (gap.end - (start + length) >= shortest)
        rest[n++] = (sked_i_gap){start + length, gap.end};
    memmove(gaps->gap + k + n, gaps->gap + k + 1, (size_t)(gaps->count - k - 1) * sizeof *gaps->gap);
    memcpy(gaps->gap + k, rest, (size_t)n * sizeof *rest);
    gaps->count += n - 1;
    return true;
}
