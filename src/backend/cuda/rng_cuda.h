/* The generator of base/rng.h on the device: the same numbers for a seed and a stream. State: four words. */
#ifndef SKED_BACKEND_CUDA_RNG_CUDA_H
#define SKED_BACKEND_CUDA_RNG_CUDA_H
#include "backend/cuda/runtime.h"

__device__ static inline uint64_t rng_next(uint64_t *s)
{
    const uint64_t x = s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

__device__ static inline double rng_uniform(uint64_t *s)
{
    return (double)(rng_next(s) >> 11) * 0x1.0p-53;
}

__device__ static inline uint64_t rng_below(uint64_t *s, uint64_t n)
{
    uint64_t x = rng_next(s);
    if (x * n < n) {
        const uint64_t threshold = (0 - n) % n;
        while (x * n < threshold)
            x = rng_next(s);
    }
    return __umul64hi(x, n);
}

__device__ static inline uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__device__ static inline void rng_seed(uint64_t *s, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed, y = stream ^ 0x6a09e667f3bcc909u;
    for (int i = 0; i < 4; i++)
        s[i] = splitmix(&x) ^ splitmix(&y);
    if ((s[0] | s[1] | s[2] | s[3]) == 0)
        s[0] = 1;
    for (int i = 0; i < 8; i++)
        rng_next(s);
}
#endif
