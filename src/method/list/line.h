/* Free gaps of one device, in order of time; the last one never ends. */
#ifndef SKED_METHOD_LIST_LINE_H
#define SKED_METHOD_LIST_LINE_H
#include "base/status.h"

#include <math.h>

typedef struct sked_i_gap {
    double begin, end;
} sked_i_gap;

typedef struct sked_i_line {
    sked_i_gap *gap;
    int64_t count, cap;
} sked_i_line;

SKED_MUST_CHECK bool sked_i_line_init(sked_i_line *line); /* false: no memory */
void sked_i_line_free(sked_i_line *line);
/* All of it is free again. */
static inline void sked_i_line_reset(sked_i_line *line)
{
    line->gap[0] = (sked_i_gap){0, INFINITY};
    line->count = 1;
}
/*
 * Earliest time from `from` with `length` > 0 free. *begin: where the gap begins that has it. Finds the first
 * gap that ends late enough in O(log gaps), then passes the gaps that are too short.
 */
double sked_i_line_fit(const sked_i_line *line, double from, double length, double *begin);
/*
 * Takes [start, start + length) out of a gap that sked_i_line_fit found. Rests shorter than `shortest` are
 * forgotten: no op fits them. append: so are all gaps but the last. false: no memory.
 */
SKED_MUST_CHECK bool sked_i_line_take(sked_i_line *line, double start, double length, double shortest,
                                      bool append);
/* When the device has run all that it was given. */
static inline double sked_i_line_end(const sked_i_line *line)
{
    return line->gap[line->count - 1].begin;
}
#endif
