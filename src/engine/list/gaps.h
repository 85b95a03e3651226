/* Free gaps of one device, in order of time; the last one never ends. */
#ifndef SKED_ENGINE_LIST_GAPS_H
#define SKED_ENGINE_LIST_GAPS_H
#include "base/arena.h"

#include <math.h>

typedef struct sked_i_gap {
    double begin, end;
} sked_i_gap;

typedef struct sked_i_gaps {
    sked_i_arena *arena; /* of its array */
    sked_i_gap *gap;
    int64_t count, cap;
} sked_i_gaps;

SKED_MUST_CHECK bool sked_i_gaps_init(sked_i_arena *arena, sked_i_gaps *gaps); /* false: no memory */
/* All of it is free again. */
static inline void sked_i_gaps_reset(sked_i_gaps *gaps)
{
    gaps->gap[0] = (sked_i_gap){0, INFINITY};
    gaps->count = 1;
}
/* Index of the first gap that ends at `time` or later. */
static inline int64_t sked_i_gaps_first(const sked_i_gaps *gaps, double time)
{
    int64_t low = 0, high = gaps->count - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (gaps->gap[middle].end < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
/*
 * Earliest time from `from` with `length` > 0 free. *begin: where the gap begins that has it. Finds the first
 * gap that ends late enough in O(log gaps), then passes the gaps that are too short.
 */
static inline double sked_i_gaps_fit(const sked_i_gaps *gaps, double from, double length, double *begin)
{
    for (int64_t k = sked_i_gaps_first(gaps, from + length);; k++) {
        const sked_i_gap gap = gaps->gap[k];
        const double t = gap.begin > from ? gap.begin : from;
        if (t + length <= gap.end) {
            *begin = gap.begin;
            return t;
        }
    }
}
/*
 * Takes [start, start + length) out of a gap that sked_i_gaps_fit found. Rests shorter than `shortest` are
 * forgotten: no op fits them. append: so are all gaps but the last. false: no memory.
 */
SKED_MUST_CHECK bool sked_i_gaps_take(sked_i_gaps *gaps, double start, double length, double shortest,
                                      bool append);
/* When the device has run all that it was given. */
static inline double sked_i_gaps_end(const sked_i_gaps *gaps)
{
    return gaps->gap[gaps->count - 1].begin;
}
#endif
