/*
 * The normal distribution from a table: Taylor series around the nearest of 64 nodes per unit. Written here
 * because libm's erfc takes 25 to 60 ns, several times this, and is not the same bits with every C library.
 */
#ifndef SKED_BACKEND_CPU_GAUS_NORMAL_H
#define SKED_BACKEND_CPU_GAUS_NORMAL_H
#include <stdint.h>

#ifdef __CUDACC__
#define SKED_I_NORMAL_ANYWHERE __host__ __device__ /* the GPU reads a copy of the table */
#else
#define SKED_I_NORMAL_ANYWHERE
#endif

enum { SKED_I_NORMAL_PER_UNIT = 64, SKED_I_NORMAL_HALF = 544 /* 8.5 units each side */ };
typedef struct sked_i_normal {
    struct {
        double cdf, pdf;
    } node[2 * SKED_I_NORMAL_HALF + 1];
} sked_i_normal;

void sked_i_normal_init(sked_i_normal *t);

/* Phi and phi at a distance h from a node z0 where they are c0 and p0. No division, no branch: vectorises. */
SKED_I_NORMAL_ANYWHERE static inline double sked_i_normal_near(double z0, double h, double c0, double p0,
                                                               double *pdf)
{
    const double q = z0 * z0, u = -h * (z0 + 0.5 * h);
    const double grow =
        1 + u * (1 + u * (1.0 / 2 + u * (1.0 / 6 + u * (1.0 / 24 + u * (1.0 / 120 + u * (1.0 / 720))))));
    const double fourth = (q * (q - 6) + 3) * (1.0 / 120), third = z0 * (q - 3) * (1.0 / 24);
    const double series = 1 - h * (0.5 * z0 - h * ((q - 1) * (1.0 / 6) - h * (third - h * fourth)));
    *pdf = p0 * grow;
    return c0 + p0 * h * series;
}

/* Phi(z) and phi(z); absolute error below 1e-14, 0 or 1 and 0 beyond 8.5. */
SKED_I_NORMAL_ANYWHERE static inline double sked_i_normal_at(const sked_i_normal *t, double z, double *pdf)
{
    if (!(z > -8.5) || !(z < 8.5)) {
        *pdf = 0;
        return z > 0 ? 1 : 0;
    }
    const int k = (int)(z * SKED_I_NORMAL_PER_UNIT + (SKED_I_NORMAL_HALF + 0.5));
    const double z0 = (double)(k - SKED_I_NORMAL_HALF) * (1.0 / SKED_I_NORMAL_PER_UNIT);
    return sked_i_normal_near(z0, z - z0, t->node[k].cdf, t->node[k].pdf, pdf);
}

/* E[max(0, Y)], Y ~ N(m, s^2), s > 0; *dm, *ds: its derivatives. */
SKED_I_NORMAL_ANYWHERE static inline double sked_i_normal_excess(const sked_i_normal *t, double m, double s,
                                                                 double *dm, double *ds)
{
    double pdf;
    const double z = m / s, cdf = sked_i_normal_at(t, z, &pdf);
    *dm = cdf;
    *ds = pdf;
    return s * (pdf + z * cdf);
}

/*
 * The values at first, first + step, ..., all within 8.5: the same bits as one by one, in vector instructions
 * (measured in docs/performance.md).
 */
void sked_i_normal_row(const sked_i_normal *t, double first, double step, int64_t count, double *cdf,
                       double *pdf);
#endif
