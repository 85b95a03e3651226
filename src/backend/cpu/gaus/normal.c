#include "backend/cpu/gaus/normal.h"

#include "base/rng.h"

/* Phi(z0 + h) - Phi(z0) over phi(z0): Taylor series with Hermite polynomials, to the last bit. */
static double step(double z0, double h)
{
    double he_before = 0, he = 1, power = h, sum = 0;
    for (int k = 1; k < 30; k++) {
        sum += (k % 2 ? 1 : -1) * he * power;
        const double next = z0 * he - (k - 1) * he_before;
        he_before = he;
        he = next;
        power *= h / (k + 1);
    }
    return sum;
}

void sked_i_normal_init(sked_i_normal *t)
{
    const double root = 0.39894228040143267794; /* 1 / sqrt(2 pi) */
    const double h = 1.0 / SKED_I_NORMAL_PER_UNIT;
    double tail = 0.5; /* 1 - Phi(z), kept as the small one so that both ends are accurate */
    for (int k = 0; k <= SKED_I_NORMAL_HALF; k++) {
        const double z = k * h, pdf = root * sked_i_exp(-0.5 * z * z);
        t->node[SKED_I_NORMAL_HALF + k].pdf = t->node[SKED_I_NORMAL_HALF - k].pdf = pdf;
        t->node[SKED_I_NORMAL_HALF + k].cdf = 1 - tail;
        t->node[SKED_I_NORMAL_HALF - k].cdf = tail;
        tail -= pdf * step(z, h);
        tail = tail > 0 ? tail : 0;
    }
}
