/*
 * Hashing of what strangers wrote: SipHash-1-3 (Aumasson, Bernstein 2012) under a key that nobody can
 * foresee, so that no file can be made to collide. One key per table. Nothing may depend on the order of a
 * table's slots: results are the same under every key.
 */
#ifndef SKED_BASE_HASH_H
#define SKED_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

typedef struct sked_i_hash_key {
    uint64_t word[2];
} sked_i_hash_key;

typedef struct sked_i_hasher {
    uint64_t v[4];
} sked_i_hasher;

/* A fresh random key. */
sked_i_hash_key sked_i_hash_key_new(void);
/* Of bytes. About 1 ns a byte for short names. */
uint64_t sked_i_hash_bytes(sked_i_hash_key key, const void *data, size_t size);

/* Of words, one by one: begin, add each, end. The number of words must follow from the words themselves, or
 * be one of them. */
static inline uint64_t sked_i_hash_rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sked_i_hash_round(sked_i_hasher *h)
{
    uint64_t *v = h->v;
    v[0] += v[1];
    v[2] += v[3];
    v[1] = sked_i_hash_rotate(v[1], 13) ^ v[0];
    v[3] = sked_i_hash_rotate(v[3], 16) ^ v[2];
    v[0] = sked_i_hash_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = sked_i_hash_rotate(v[1], 17) ^ v[2];
    v[3] = sked_i_hash_rotate(v[3], 21) ^ v[0];
    v[2] = sked_i_hash_rotate(v[2], 32);
}

static inline sked_i_hasher sked_i_hash_begin(sked_i_hash_key key)
{
    return (sked_i_hasher){{key.word[0] ^ 0x736f6d6570736575u, key.word[1] ^ 0x646f72616e646f6du,
                            key.word[0] ^ 0x6c7967656e657261u, key.word[1] ^ 0x7465646279746573u}};
}

static inline void sked_i_hash_add(sked_i_hasher *h, uint64_t word)
{
    h->v[3] ^= word;
    sked_i_hash_round(h);
    h->v[0] ^= word;
}

static inline uint64_t sked_i_hash_end(sked_i_hasher *h)
{
    h->v[2] ^= 0xff;
    for (int k = 0; k < 3; k++)
        sked_i_hash_round(h);
    return h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
#endif
