/*
 * A set of small integers with its least member at hand: one bit each, and above every 64 words a word
 * that says which of them are not empty. A million members are 128 KiB, so the set stays in cache where a
 * heap of ready ops would not.
 */
#ifndef SKED_BASE_SET_H
#define SKED_BASE_SET_H
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sked_i_set {
    uint64_t *level[6]; /* level[0]: members; 64^6 covers int32 */
    int depth;
} sked_i_set;

/* Words that a set of 0..size-1 needs, and its creation in that many zeroed words. Returns words used. */
static inline int64_t sked_i_set_words(int64_t size)
{
    int64_t words = 0;
    do {
        size = (size + 63) / 64;
        words += size;
    } while (size > 1);
    return words + 1;
}

static inline int64_t sked_i_set_place(sked_i_set *s, int64_t size, uint64_t *words)
{
    int64_t used = 0;
    s->depth = 0;
    do {
        s->level[s->depth++] = words + used;
        size = (size + 63) / 64;
        used += size;
    } while (size > 1);
    return used + 1;
}

static inline bool sked_i_set_empty(const sked_i_set *s)
{
    return s->level[s->depth - 1][0] == 0;
}

static inline void sked_i_set_add(sked_i_set *s, uint32_t i)
{
    for (int d = 0; d < s->depth; d++, i >>= 6) {
        uint64_t *const word = &s->level[d][i >> 6];
        const uint64_t before = *word;
        *word = before | UINT64_C(1) << (i & 63);
        if (before != 0)
            return;
    }
}

static inline void sked_i_set_remove(sked_i_set *s, uint32_t i)
{
    for (int d = 0; d < s->depth; d++, i >>= 6) {
        uint64_t *const word = &s->level[d][i >> 6];
        *word &= ~(UINT64_C(1) << (i & 63));
        if (*word != 0)
            return;
    }
}

/* Least member of a set that is not empty. */
static inline uint32_t sked_i_set_first(const sked_i_set *s)
{
    assert(!sked_i_set_empty(s));
    uint32_t i = 0;
    for (int d = s->depth - 1; d >= 0; d--)
        i = i << 6 | (uint32_t)__builtin_ctzll(s->level[d][i]);
    return i;
}

/* Least member from i on, where there is one. */
static inline uint32_t sked_i_set_from(const sked_i_set *s, uint32_t i)
{
    int d = 0;
    while (s->level[d][i >> 6] >> (i & 63) == 0) {
        i = (i >> 6) + 1;
        d++;
        assert(d < s->depth);
    }
    i += (uint32_t)__builtin_ctzll(s->level[d][i >> 6] >> (i & 63));
    while (d-- > 0)
        i = i << 6 | (uint32_t)__builtin_ctzll(s->level[d][i]);
    return i;
}

/* Greatest member below i; -1: none. */
static inline int64_t sked_i_set_below(const sked_i_set *s, uint32_t i)
{
    for (int d = 0; d < s->depth; d++, i >>= 6) {
        uint64_t word = s->level[d][i >> 6] & ((UINT64_C(1) << (i & 63)) - 1);
        if (word == 0)
            continue;
        i = (i & ~UINT32_C(63)) | (uint32_t)(63 - __builtin_clzll(word));
        while (d-- > 0)
            i = i << 6 | (uint32_t)(63 - __builtin_clzll(s->level[d][i]));
        return i;
    }
    return -1;
}
#endif
