#include "engine/list/gaps.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

bool sked_i_gaps_init(sked_i_gaps *line)
{
    *line = (sked_i_gaps){0};
    if (!SKED_GROW(line->gap, line->cap, 2))
        return false;
    sked_i_gaps_reset(line);
    return true;
}

void sked_i_gaps_free(sked_i_gaps *line)
{
    free(line->gap);
    *line = (sked_i_gaps){0};
}

/* Index of the first gap that ends at `time` or later. */
static int64_t first_ending_from(const sked_i_gaps *line, double time)
{
    int64_t low = 0, high = line->count - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (line->gap[middle].end < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double sked_i_gaps_fit(const sked_i_gaps *line, double from, double length, double *begin)
{
    for (int64_t k = first_ending_from(line, from + length);; k++) {
        const sked_i_gap gap = line->gap[k];
        const double t = gap.begin > from ? gap.begin : from;
        if (t + length <= gap.end) {
            *begin = gap.begin;
            return t;
        }
    }
}

bool sked_i_gaps_take(sked_i_gaps *line, double start, double length, double shortest, bool append)
{
    if (append) {
        line->gap[0] = (sked_i_gap){start + length, INFINITY};
        line->count = 1;
        return true;
    }
    if (!SKED_GROW(line->gap, line->cap, line->count + 1))
        return false;
    const int64_t k = first_ending_from(line, start + length);
    const sked_i_gap gap = line->gap[k];
    sked_i_gap rest[2];
    int64_t n = 0;
    if (start - gap.begin >= shortest)
        rest[n++] = (sked_i_gap){gap.begin, start};
    if (gap.end - (start + length) >= shortest)
        rest[n++] = (sked_i_gap){start + length, gap.end};
    memmove(line->gap + k + n, line->gap + k + 1, (size_t)(line->count - k - 1) * sizeof *line->gap);
    memcpy(line->gap + k, rest, (size_t)n * sizeof *rest);
    line->count += n - 1;
    return true;
}
