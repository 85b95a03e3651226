/* Memory: overflow-checked arrays. Free with free(). */
#ifndef SKED_BASE_MEMORY_H
#define SKED_BASE_MEMORY_H
#include "base/status.h"
#include <stdlib.h>

/* count * size bytes (at least one), or NULL; *_zero clears them. Never overflows. */
void *sked_i_alloc(int64_t count, size_t size);
void *sked_i_alloc_zero(int64_t count, size_t size);
char *sked_i_strdup(const char *s);

/*
 * Makes room for `need` elements in *array (capacity *cap), growing by half. false: no memory, and
 * the array is as it was.
 */
bool sked_i_grow(void **array, int64_t *cap, int64_t need, size_t size);

/* Typed forms: SKED_NEW(p, n) allocates n elements of *p and leaves through cleanup on failure. */
#define SKED_NEW(p, n)                                        \
    do {                                                      \
        if (((p) = sked_i_alloc((n), sizeof *(p))) == NULL) { \
            st = sked_i_no_memory(err);                       \
            goto cleanup;                                     \
        }                                                     \
    } while (0)
#define SKED_NEW0(p, n)                                            \
    do {                                                           \
        if (((p) = sked_i_alloc_zero((n), sizeof *(p))) == NULL) { \
            st = sked_i_no_memory(err);                            \
            goto cleanup;                                          \
        }                                                          \
    } while (0)
#define SKED_GROW(p, cap, need) sked_i_grow((void **)&(p), &(cap), (need), sizeof *(p))
#endif
