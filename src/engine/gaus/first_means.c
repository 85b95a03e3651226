/* Where the means begin. */
#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>

/*
 * Stage filling: ops in the order of their windows' middle (ties: topological) go where an even share of
 * the work before them ends. Symmetric starts are useless where lags are 0: all ops would stand together.
 */
static void fill(const sked_i_relaxation *m, double *mu)
{
    double total = 0, done = 0;
    for (int32_t i = 0; i < m->n; i++)
        total += m->use_ptr[i + 1] > m->use_ptr[i] ? m->use_amount[m->use_ptr[i]] * m->duration[i] : 0;
    for (int32_t k = 0; k < m->n; k++) {
        const int32_t i = m->g->topo[k];
        const bool used = m->use_ptr[i + 1] > m->use_ptr[i];
        const double share = used ? m->use_amount[m->use_ptr[i]] * m->duration[i] : 0;
        const double t = total > 0 ? m->steps * (done + 0.5 * share) / total - 0.5 : 0;
        mu[i] = t < m->lo[i] ? m->lo[i] : t > m->hi[i] ? m->hi[i] : t;
        done += share;
    }
}

void sked_i_gaus_place_means(const sked_i_relaxation *m, int kind, const double *list, sked_i_rng *rng,
                             double *mu)
{
    const bool loads = m->use_ptr[m->n] > 0;
    assert(kind != SKED_I_GAUS_START_RANDOM || rng != NULL);
    if (kind == SKED_I_GAUS_START_LIST && list == NULL)
        kind = loads ? SKED_I_GAUS_START_FILL : SKED_I_GAUS_START_ASAP;
    if (kind == SKED_I_GAUS_START_FILL && loads) {
        fill(m, mu);
        return;
    }
    for (int32_t i = 0; i < m->n; i++) {
        const double lo = m->lo[i], hi = m->hi[i];
        mu[i] = kind == SKED_I_GAUS_START_LIST       ? fmin(hi, fmax(lo, list[i]))
                : kind == SKED_I_GAUS_START_ASAP     ? lo
                : kind == SKED_I_GAUS_START_ALAP     ? hi
                : kind == SKED_I_GAUS_START_MIDPOINT ? 0.5 * (lo + hi)
                                                     : lo + (hi - lo) * sked_i_rng_uniform(rng);
        assert(mu[i] >= lo && mu[i] <= hi);
    }
}
