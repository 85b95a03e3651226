/* The restart sequence: see restart.h. */
#include "base/restart.h"

#include <assert.h>

int64_t sked_i_luby(int64_t k)
{
    assert(k >= 0 && k < INT64_MAX / 4);
    int64_t size = 1, power = 1; /* the first 2^i - 1 elements end with 2^(i - 1), after two smaller copies */
    while (size < k + 1) {
        size = 2 * size + 1;
        power *= 2;
    }
    while (size - 1 != k) {
        size = (size - 1) / 2;
        power /= 2;
        k %= size;
    }
    return power;
}
