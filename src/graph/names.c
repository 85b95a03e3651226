/* Name tables. Written here: the library links no general container library, and 10 M names must fit. */
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

/* The hash beside the index spares looking at names that differ: with 10 M of them each look is a cache miss.
 */
static uint64_t entry(uint64_t h, int32_t index)
{
    return (h & ~(uint64_t)UINT32_MAX) | ((uint64_t)index + 1);
}

static int32_t entry_index(uint64_t e)
{
    return (int32_t)((e & UINT32_MAX) - 1);
}

static int64_t locate(const sked_i_names *t, const char *name, size_t size, uint64_t h)
{
    const int64_t mask = t->slots - 1;
    assert(t->slots > 0 && (t->slots & mask) == 0 && t->count < t->slots);
    int64_t k = (int64_t)(h >> 32) & mask;
    for (; t->slot[k] != 0; k = (k + 1) & mask) {
        if (t->slot[k] >> 32 != h >> 32)
            continue;
        const char *other = sked_i_names_at(t, entry_index(t->slot[k]));
        if (strncmp(other, name, size) == 0 && other[size] == 0)
            break;
    }
    return k;
}

static bool rehash(sked_i_names *t)
{
    const int64_t slots = t->slots ? 2 * t->slots : 64;
    if (t->slots == 0)
        t->key = sked_i_hash_key_new();
    uint64_t *slot = sked_i_alloc_zero(slots, sizeof *slot);
    if (slot == NULL)
        return false;
    for (int64_t i = 0; i < t->slots; i++) {
        if (t->slot[i] == 0)
            continue;
        int64_t k = (int64_t)(t->slot[i] >> 32) & (slots - 1);
        while (slot[k] != 0)
            k = (k + 1) & (slots - 1);
        slot[k] = t->slot[i];
    }
    free(t->slot);
    t->slot = slot;
    t->slots = slots;
    return true;
}

int32_t sked_i_names_find(const sked_i_names *t, const char *name, size_t size)
{
    if (t->slots == 0 || memchr(name, 0, size) != NULL)
        return -1;
    return entry_index(t->slot[locate(t, name, size, sked_i_hash_bytes(t->key, name, size))]);
}

int32_t sked_i_names_add(sked_i_names *t, const char *name, size_t size, bool *fresh)
{
    assert(memchr(name, 0, size) == NULL);
    if (3 * ((int64_t)t->count + 1) > 2 * t->slots && !rehash(t))
        return -1;
    const uint64_t h = sked_i_hash_bytes(t->key, name, size);
    const int64_t k = locate(t, name, size, h);
    *fresh = t->slot[k] == 0;
    if (!*fresh)
        return entry_index(t->slot[k]);
    if (t->count == INT32_MAX || !SKED_GROW(t->text, t->text_cap, t->text_size + (int64_t)size + 1) ||
        !SKED_GROW(t->offset, t->offset_cap, t->count + 1))
        return -1;
    memcpy(t->text + t->text_size, name, size);
    t->text[t->text_size + (int64_t)size] = 0;
    t->offset[t->count] = t->text_size;
    t->text_size += (int64_t)size + 1;
    t->slot[k] = entry(h, t->count);
    return t->count++;
}

void sked_i_names_free(sked_i_names *t)
{
    free(t->text);
    free(t->offset);
    free(t->slot);
    *t = (sked_i_names){0};
}
