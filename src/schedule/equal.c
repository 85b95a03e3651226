#include "schedule/equal.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

/* Is there a renaming of devices that takes a's to b's? there, back: scratch [devices]. */
static bool equal_up_to_names(const sked_schedule *a, const sked_schedule *b, int32_t *there, int32_t *back)
{
    for (int32_t d = 0; d < a->devices; d++)
        there[d] = back[d] = -1;
    for (int32_t i = 0; i < a->ops; i++) {
        const int32_t x = a->device[i], y = b->device[i];
        if (there[x] < 0 && back[y] < 0) {
            there[x] = y;
            back[y] = x;
        }
        if (there[x] != y || back[y] != x)
            return false;
    }
    return true;
}

bool sked_i_schedule_equal(const sked_schedule *a, const sked_schedule *b, bool interchangeable)
{
    enum { few = 128 };
    int32_t small[2 * few];
    assert(a->ops == b->ops && a->devices == b->devices && (a->device == NULL) == (b->device == NULL));
    if (a->ii != b->ii)
        return false;
    for (int32_t i = 0; i < a->ops; i++)
        if (a->start[i] != b->start[i])
            return false;
    if (a->device == NULL)
        return true;
    int32_t *scratch = !interchangeable    ? NULL
                       : a->devices <= few ? small
                                           : sked_i_alloc(2 * (int64_t)a->devices, sizeof *scratch);
    if (scratch == NULL) /* also without memory: equal by name is equal all the same */
        return memcmp(a->device, b->device, (size_t)a->ops * sizeof *a->device) == 0;
    const bool equal = equal_up_to_names(a, b, scratch, scratch + a->devices);
    if (scratch != small)
        free(scratch);
    return equal;
}

uint64_t sked_i_schedule_hash_steps(const int32_t *start, int32_t n)
{
    uint64_t h = SKED_I_HASH_SEED;
    for (int32_t i = 0; i < n; i++)
        h = sked_i_schedule_hash_mix(h, (uint32_t)start[i]);
    return h;
}

uint64_t sked_i_schedule_hash_devices(int32_t n, const double *start, const int32_t *device, int32_t devices,
                                      int32_t *label)
{
    uint64_t h = SKED_I_HASH_SEED;
    int32_t labels = 0;
    for (int32_t d = 0; d < devices; d++)
        label[d] = -1;
    for (int32_t i = 0; i < n; i++) {
        uint64_t bits;
        assert(device[i] >= 0 && device[i] < devices);
        memcpy(&bits, &start[i], sizeof bits);
        if (label[device[i]] < 0)
            label[device[i]] = labels++;
        h = sked_i_schedule_hash_mix(h, bits ^ (uint64_t)label[device[i]]);
    }
    return h;
}
