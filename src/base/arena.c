#include "base/arena.h"

#include <assert.h>
#include <string.h>

/* Stands before each array; 16 bytes keep the alignment of malloc. */
typedef struct sked_i_arena_block {
    _Alignas(16) struct sked_i_arena_block *before;
    struct sked_i_arena_block *after;
} block;
_Static_assert(sizeof(block) == 16, "arrays begin 16 bytes behind what malloc returned");

static block *block_of(void *array)
{
    return (block *)array - 1;
}

/* Bytes of a block with its array of at least one byte; 0: too many. */
static int64_t bytes_of(int64_t count, size_t size)
{
    int64_t bytes;
    if (count < 0 || size > INT64_MAX || __builtin_mul_overflow(count, (int64_t)size, &bytes) ||
        __builtin_add_overflow(bytes, (int64_t)sizeof(block) + (bytes == 0), &bytes))
        return 0;
    return bytes;
}

/* The block is the last one, or (it has moved) stands where it stood. */
static void *tie(sked_i_arena *a, block *b)
{
    if (b->before != NULL)
        b->before->after = b;
    *(b->after != NULL ? &b->after->before : &a->last) = b;
    return b + 1;
}

static void *take(sked_i_arena *a, block *b)
{
    if (b == NULL)
        return NULL;
    *b = (block){.before = a->last};
    return tie(a, b);
}

void *sked_i_arena_alloc(sked_i_arena *a, int64_t count, size_t size)
{
    const int64_t bytes = bytes_of(count, size);
    return bytes > 0 ? take(a, sked_i_alloc(bytes, 1)) : NULL;
}

void *sked_i_arena_alloc_zero(sked_i_arena *a, int64_t count, size_t size)
{
    const int64_t bytes = bytes_of(count, size);
    return bytes > 0 ? take(a, sked_i_alloc_zero(bytes, 1)) : NULL;
}

char *sked_i_arena_strdup(sked_i_arena *a, const char *s)
{
    const size_t size = strlen(s) + 1;
    char *copy = sked_i_arena_alloc(a, (int64_t)size, 1);
    if (copy != NULL)
        memcpy(copy, s, size);
    return copy;
}

/* NULL: no memory, and the array is as it was. */
static void *resize(sked_i_arena *a, void *array, int64_t count, size_t size)
{
    const int64_t bytes = bytes_of(count, size);
    block *moved = bytes > 0 ? realloc(block_of(array), (size_t)bytes) : NULL;
    return moved != NULL ? tie(a, moved) : NULL;
}

bool sked_i_arena_grow(sked_i_arena *a, void **array, int64_t *cap, int64_t need, size_t size)
{
    if (need <= *cap)
        return true;
    assert(*array != NULL || *cap == 0);
    const int64_t half = *cap + *cap / 2 + 8, wanted = half < need ? need : half;
    void *bigger = *array == NULL ? sked_i_arena_alloc(a, wanted, size) : resize(a, *array, wanted, size);
    if (bigger == NULL)
        return false;
    *array = bigger;
    *cap = wanted;
    return true;
}

void *sked_i_arena_shrink(sked_i_arena *a, void *array, int64_t count, size_t size)
{
    void *smaller = array != NULL ? resize(a, array, count, size) : NULL;
    return smaller != NULL ? smaller : array;
}

void sked_i_arena_drop(sked_i_arena *a, void *array)
{
    if (array == NULL)
        return;
    block *b = block_of(array);
    assert((b->after != NULL ? b->after->before : a->last) == b); /* the array is of this arena */
    if (b->before != NULL)
        b->before->after = b->after;
    *(b->after != NULL ? &b->after->before : &a->last) = b->before;
    free(b);
}

void sked_i_arena_free(sked_i_arena *a)
{
    while (a->last != NULL) {
        block *before = a->last->before;
        free(a->last);
        a->last = before;
    }
}
