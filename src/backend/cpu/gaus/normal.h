/*
 * The normal distribution from a table: Taylor series around the nearest of 64 nodes per unit. Written here
 * because libm's erfc takes 25 to 60 ns, several times this, and is not the same bits with every C library.
 */
#ifndef SKED_BACKEND_CPU_GAUS_NORMAL_H
#define SKED_BACKEND_CPU_GAUS_NORMAL_H
#include <stdint.h>

enum { SKED_I_NORMAL_PER_UNIT = 64, SKED_I_NORMAL_HALF = 544 /* 8.5 units each side */ };
typedef struct sked_i_normal {
    struct {
        double cdf, pdf;
    } node[2 * SKED_I_NORMAL_HALF + 1];
} sked_i_normal;

void sked_i_normal_init(sked_i_normal *t);

/* Phi(z) and phi(z); absolute error below 1e-14, 0 or 1 and 0 beyond 8.5. */
static inline double sked_i_normal_at(const sked_i_normal *t, double z, double *pdf)
{
    if (!(z > -8.5) || !(z < 8.5)) {
        *pdf = 0;
        return z > 0 ? 1 : 0;
    }
    const int k = (int)(z * SKED_I_NORMAL_PER_UNIT + (SKED_I_NORMAL_HALF + 0.5));
    const double z0 = (double)(k - SKED_I_NORMAL_HALF) / SKED_I_NORMAL_PER_UNIT, h = z - z0, q = z0 * z0;
    const double p0 = t->node[k].pdf, u = -h * (z0 + 0.5 * h);
    const double grow = 1 + u * (1 + u / 2 * (1 + u / 3 * (1 + u / 4 * (1 + u / 5 * (1 + u / 6)))));
    const double series =
        1 - h * (z0 / 2 - h * ((q - 1) / 6 - h * (z0 * (q - 3) / 24 - h * ((q * (q - 6) + 3) / 120))));
    *pdf = p0 * grow;
    return t->node[k].cdf + p0 * h * series;
}
#endif
