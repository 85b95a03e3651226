#include "backend/cpu/gaus/normal.h"

#include "base/explog.h"
#include "base/rng.h"

#include <assert.h>

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

/*
 * Blocks of three passes: nodes and distances (arithmetic), the table (loads), the series (arithmetic). The
 * passes of arithmetic have no branches and become vector instructions at -O3.
 */
void sked_i_normal_row(const sked_i_normal *t, double first, double step, int64_t count, double *restrict cdf,
                       double *restrict pdf)
{
    enum { block = 32 };
    double node[block], h[block], c0[block], p0[block];
    int32_t place[block] = {0};
    for (int64_t begin = 0; begin < count; begin += block) {
        const int m = count - begin < block ? (int)(count - begin) : block;
        const double base = (double)begin;
        for (int j = 0; j < m; j++) {
            const double z = first + (base + j) * step;
            place[j] = (int32_t)(z * SKED_I_NORMAL_PER_UNIT + (SKED_I_NORMAL_HALF + 0.5));
            node[j] = (double)(place[j] - SKED_I_NORMAL_HALF) * (1.0 / SKED_I_NORMAL_PER_UNIT);
            h[j] = z - node[j];
            assert(place[j] >= 0 && place[j] <= 2 * SKED_I_NORMAL_HALF);
        }
        for (int j = 0; j < m; j++) {
            c0[j] = t->node[place[j]].cdf;
            p0[j] = t->node[place[j]].pdf;
        }
        for (int j = 0; j < m; j++) {
            double slope;
            cdf[begin + j] = sked_i_normal_near(node[j], h[j], c0[j], p0[j], &slope);
            pdf[begin + j] = slope;
        }
    }
}
