/*
 * Static buffer allocation: every buffer is held over a given interval of time, and gets an address so that
 * those held at the same time do not overlap. Rectangles of fixed place in time, moved in address only.
 */
#ifndef SKED_ENGINE_PACK_PACK_H
#define SKED_ENGINE_PACK_PACK_H
#include "base/clock.h"

typedef struct sked_i_pack_buffers {
    int64_t count;               /* below 2^31 */
    const double *lower, *upper; /* [count] held in [lower, upper); finite, lower < upper */
    const int64_t *size;         /* [count] 0 or more; what has size 0 lies at 0 or where it is fixed */
    const int64_t *alignment;    /* [count] 1 or more, offsets are multiples of it; NULL: 1 */
    const int64_t *fixed;        /* [count] a multiple of the alignment; -1: free. NULL: all are free */
} sked_i_pack_buffers;

enum { SKED_I_PACK_FIRST_FITS = -1 };

typedef struct sked_i_pack_effort {
    int64_t capacity; /* ends as soon as the height is within; -1: the least height is sought */
    uint64_t seed;
    int threads;
    int64_t iterations; /* rounds of search on each thread; 0: no bound. SKED_I_PACK_FIRST_FITS: none */
    const sked_i_limit *limit;
} sked_i_pack_effort;

typedef struct sked_i_packing {
    int64_t height;  /* largest offset + size of the packing in `offset`, whether within the capacity or not;
                        -1: there is none, because fixed buffers overlap */
    int64_t bound;   /* no packing is lower */
    bool infeasible; /* proved: none is within the capacity, or fixed buffers overlap */
} sked_i_packing;

/*
 * The lowest packing found until the bound or the capacity is reached, or the limit says to stop; a first one
 * is always made. ARGUMENT: sizes, alignments and fixed offsets add up to 2^53 or more. Memory is linear in
 * count. Without a time limit a seed gives the same offsets with any number of threads.
 */
SKED_MUST_CHECK sked_status sked_i_pack(const sked_i_pack_buffers *b, const sked_i_pack_effort *e,
                                        int64_t *offset, sked_i_packing *out, sked_error *err);
/* Greatest common divisor; whole, where sked_i_gcd is for times. */
static inline int64_t sked_i_pack_common(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
#endif
