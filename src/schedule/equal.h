/*
 * When two schedules are the same: equal starts and interval, and equal devices, up to their names where
 * devices are identical and so interchangeable. The one implementation of equality and of the hash that goes
 * with it.
 */
#ifndef SKED_SCHEDULE_EQUAL_H
#define SKED_SCHEDULE_EQUAL_H
#include "sked/sked.h"

/*
 * O(ops + devices). Both must be schedules of one problem; device numbers in 0..devices-1. interchangeable:
 * its devices are (p->machine == NULL); else they are compared by number.
 */
bool sked_i_schedule_equal(const sked_schedule *a, const sked_schedule *b, bool interchangeable);

#define SKED_I_HASH_SEED UINT64_C(0x243f6a8885a308d3)
/* Mixes one word into a hash. */
static inline uint64_t sked_i_schedule_hash_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}
/* Hash of integer starts. O(n). */
uint64_t sked_i_schedule_hash_steps(const int32_t *start, int32_t n);
/* Hash of starts and devices, the same whatever the devices are called. label: scratch [devices]. O(n). */
uint64_t sked_i_schedule_hash_devices(int32_t n, const double *start, const int32_t *device, int32_t devices,
                                      int32_t *label);
#endif
