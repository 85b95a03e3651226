#include "base/memory.h"

#include <string.h>

void *sked_i_alloc(int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return malloc(bytes ? bytes : 1);
}

void *sked_i_alloc_zero(int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return calloc(bytes ? bytes : 1, 1);
}

char *sked_i_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    if (copy != NULL)
        memcpy(copy, s, n);
    return copy;
}

bool sked_i_grow(void **array, int64_t *cap, int64_t need, size_t size)
{
    if (need <= *cap)
        return true;
    int64_t wanted = *cap + *cap / 2 + 8;
    if (wanted < need)
        wanted = need;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)wanted, size, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    void *bigger = realloc(*array, bytes);
    if (bigger == NULL)
        return false;
    *array = bigger;
    *cap = wanted;
    return true;
}

void sked_free(void *p)
{
    free(p);
}
