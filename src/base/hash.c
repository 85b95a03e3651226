#define _GNU_SOURCE
#include "base/hash.h"

#include "base/clock.h"

#include <string.h>
#ifdef __linux__
#include <sys/random.h>
#endif

sked_i_hash_key sked_i_hash_key_new(void)
{
    sked_i_hash_key key = {{0}};
#ifdef __linux__
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) == (ssize_t)sizeof key)
        return key;
#endif
    /* better than a constant: where the stack lies, and when */
    const double now = sked_clock();
    memcpy(&key.word[0], &now, sizeof now);
    key.word[1] = (uint64_t)(uintptr_t)&key;
    return key;
}

uint64_t sked_i_hash_bytes(sked_i_hash_key key, const void *data, size_t size)
{
    const unsigned char *from = data;
    sked_i_hasher h = sked_i_hash_begin(key);
    uint64_t last = (uint64_t)size << 56;
    size_t left = size;
    for (; left >= 8; from += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, from, 8);
        sked_i_hash_add(&h, word);
    }
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)from[i] << (8 * i);
    sked_i_hash_add(&h, last);
    return sked_i_hash_end(&h);
}
