/*
 * Pieces of one block of numbers. Each begins with a cache line: vectors that cross lines cost twice, and
 * threads that write rows or heads of usual widths side by side do not write to the same line.
 */
#ifndef SKED_ENGINE_NETWORK_PIECES_H
#define SKED_ENGINE_NETWORK_PIECES_H
#include "backend/real.h"
#include "base/arena.h"

#include <assert.h>

enum { SKED_I_LINE = 64 / sizeof(float) }; /* numbers */

/* The first line in memory that has SKED_I_LINE numbers more than are needed. */
static inline real *RN(first_line)(void *memory)
{
    const uintptr_t bytes = SKED_I_LINE * sizeof(real), over = (uintptr_t)memory % bytes;
    return (real *)(void *)((char *)memory + (over == 0 ? 0 : bytes - over));
}
/* A block of zeros, as SKED_OWN0. */
#define SKED_BLOCK(a, p, n)                     \
    do {                                        \
        SKED_OWN0((a), (p), (n) + SKED_I_LINE); \
        (p) = RN(first_line)(p);                \
    } while (0)

/* Cuts pieces off the front; with block NULL it only measures. */
typedef struct RN(cutter) {
    real *block;
    int64_t used;
} RN(cutter);
static inline real *RN(cut)(RN(cutter) * c, int64_t rows, int64_t columns)
{
    real *p = c->block != NULL ? c->block + c->used : NULL;
    assert(rows >= 0 && columns >= 0 && c->used % SKED_I_LINE == 0);
    c->used += (rows * columns + SKED_I_LINE - 1) / SKED_I_LINE * SKED_I_LINE;
    return p;
}
#endif
