/*
 * Random numbers: xoshiro256** seeded by splitmix64. Written here because C has no seedable,
 * portable generator and results must be the same bytes on every machine.
 */
#ifndef SKED_BASE_RNG_H
#define SKED_BASE_RNG_H
#include <assert.h>
#include <stdint.h>

typedef struct sked_i_rng {
    uint64_t s[4];
    double spare; /* second normal of a pair */
    int has_spare;
} sked_i_rng;

/* stream distinguishes generators of the same seed (thread number, start number, ...). */
void sked_i_rng_seed(sked_i_rng *r, uint64_t seed, uint64_t stream);
double sked_i_rng_normal(sked_i_rng *r);      /* mean 0, deviation 1 */
double sked_i_rng_exponential(sked_i_rng *r); /* mean 1 */
void sked_i_rng_shuffle(sked_i_rng *r, int32_t *a, int64_t n);

static inline uint64_t sked_i_rng_next(sked_i_rng *r)
{
    uint64_t *s = r->s;
    const uint64_t x = s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* Uniform in [0, 1). */
static inline double sked_i_rng_uniform(sked_i_rng *r)
{
    return (double)(sked_i_rng_next(r) >> 11) * 0x1.0p-53;
}

/* Uniform in 0..n-1, n >= 1; unbiased (Lemire's multiplication method). */
static inline uint64_t sked_i_rng_below(sked_i_rng *r, uint64_t n)
{
    assert(n >= 1);
    unsigned __int128 m = (unsigned __int128)sked_i_rng_next(r) * n;
    if ((uint64_t)m < n) {
        const uint64_t threshold = -n % n;
        while ((uint64_t)m < threshold)
            m = (unsigned __int128)sked_i_rng_next(r) * n;
    }
    return (uint64_t)(m >> 64);
}
#endif
