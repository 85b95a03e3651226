#include "base/rng.h"

#include "base/explog.h"

#include <math.h>

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void sked_i_rng_seed(sked_i_rng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed, y = stream ^ 0x6a09e667f3bcc909u;
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&x) ^ splitmix(&y);
    if ((r->s[0] | r->s[1] | r->s[2] | r->s[3]) == 0)
        r->s[0] = 1; /* the one state xoshiro never leaves */
    r->has_spare = 0;
    for (int i = 0; i < 8; i++)
        (void)sked_i_rng_next(r);
}

double sked_i_rng_normal(sked_i_rng *r)
{
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    double u, v, s;
    do {
        u = 2 * sked_i_rng_uniform(r) - 1;
        v = 2 * sked_i_rng_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double scale = sqrt(-2 * sked_i_log(s) / s);
    r->spare = v * scale;
    r->has_spare = 1;
    return u * scale;
}

double sked_i_rng_exponential(sked_i_rng *r)
{
    return -sked_i_log(1 - sked_i_rng_uniform(r)); /* 1 - u is exact */
}

void sked_i_rng_shuffle(sked_i_rng *r, int32_t *a, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)sked_i_rng_below(r, (uint64_t)i + 1);
        const int32_t t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}
