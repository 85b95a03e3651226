/*
 * Arrays that are freed together: what is taken from an arena needs no line of its own in a destructor. {0}
 * is an empty arena, and it may be copied to another place like any other value, as long as one of the two is
 * used.
 *
 * Every array is a block of its own from malloc, so that sanitizers see its ends, that it can grow, and that
 * a large one can be dropped before the rest. An arena costs 16 bytes for each array.
 */
#ifndef SKED_BASE_ARENA_H
#define SKED_BASE_ARENA_H
#include "base/memory.h"

typedef struct sked_i_arena {
    struct sked_i_arena_block *last;
} sked_i_arena;

/* As sked_i_alloc, sked_i_alloc_zero and sked_i_grow (*array NULL, or of this arena): NULL or false, no
 * memory. */
void *sked_i_arena_alloc(sked_i_arena *a, int64_t count, size_t size);
void *sked_i_arena_alloc_zero(sked_i_arena *a, int64_t count, size_t size);
char *sked_i_arena_strdup(sked_i_arena *a, const char *s);
bool sked_i_arena_grow(sked_i_arena *a, void **array, int64_t *cap, int64_t need, size_t size);
/* Gives back what lies behind `count` elements; the array may move. Where that fails nothing changes. */
void *sked_i_arena_shrink(sked_i_arena *a, void *array, int64_t count, size_t size);
/* Frees one array before the others; NULL is fine. */
void sked_i_arena_drop(sked_i_arena *a, void *array);
/* Frees all of them: the arena is empty again. */
void sked_i_arena_free(sked_i_arena *a);

/* Typed forms, as SKED_NEW and SKED_GROW. */
#define SKED_OWN(a, p, n)                                                \
    do {                                                                 \
        if (((p) = sked_i_arena_alloc((a), (n), sizeof *(p))) == NULL) { \
            st = sked_i_no_memory(err);                                  \
            goto cleanup;                                                \
        }                                                                \
    } while (0)
#define SKED_OWN0(a, p, n)                                                    \
    do {                                                                      \
        if (((p) = sked_i_arena_alloc_zero((a), (n), sizeof *(p))) == NULL) { \
            st = sked_i_no_memory(err);                                       \
            goto cleanup;                                                     \
        }                                                                     \
    } while (0)
#define SKED_OWN_GROW(a, p, cap, need) sked_i_arena_grow((a), (void **)&(p), &(cap), (need), sizeof *(p))
#endif
