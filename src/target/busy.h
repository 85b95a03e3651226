/*
 * Busy work of a known length: sweeps over an array, so many as take a given time on a core that is left
 * alone. Arithmetic sweeps over the same few kilobytes, memory over ever new ones of a stream larger than the
 * caches: the same instructions, bound by the core or by the memory.
 */
#ifndef SKED_TARGET_BUSY_H
#define SKED_TARGET_BUSY_H
#include "base/clock.h"
#include "base/memory.h"

typedef enum sked_i_busy_kind {
    SKED_I_BUSY_ARITHMETIC,
    SKED_I_BUSY_MEMORY,
    SKED_I_BUSY_KINDS
} sked_i_busy_kind;

enum { SKED_I_BUSY_PIECE = 512 }; /* doubles of a sweep: 4 KiB, which fit the first cache */

/* Of one thread. */
typedef struct sked_i_busy {
    double *array;         /* [pieces * PIECE] the first piece is arithmetic's */
    int64_t pieces, place; /* place: the next one of the stream */
} sked_i_busy;

/* Sweeps, unless a stop or the deadline comes: then false. About 0.1 us each, and as much as the memory
 * takes. */
bool sked_i_busy_run(sked_i_busy *b, sked_i_busy_kind kind, int64_t sweeps, const sked_i_limit *limit);
/* Seconds of a sweep on this core now: the best of many short trials, some 10 ms. Its array was touched. */
double sked_i_busy_calibrate(sked_i_busy *b, sked_i_busy_kind kind, const sked_i_limit *limit);
/* What an op of that type is bound by on a processor; type may be NULL. */
sked_i_busy_kind sked_i_busy_kind_of(const char *type);
#endif
