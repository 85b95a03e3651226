/* Expected steps by which ops end after the last step: E[max(0, X_i + duration - (steps + 1/2))]. */
#include "backend/cpu/gaus/terms.h"

static double late(const sked_i_gaus_engine *s, int32_t i, double *dm, double *ds)
{
    const sked_i_gaus_view *v = s->view;
    return sked_i_gaus_excess(&s->normal, s->mu[i] + v->duration[i] - v->steps - 0.5, s->sigma[i], dm, ds);
}

void sked_i_gaus_latency(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t i)
{
    double dm, ds;
    part->violation[SKED_I_GAUS_LATENCY] += late(s, i, &dm, &ds);
}

void sked_i_gaus_latency_back(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t i)
{
    double dm, ds;
    late(s, i, &dm, &ds);
    part->dmu[i] += s->coefficient[SKED_I_GAUS_LATENCY] * dm;
    part->dsigma[i] += s->coefficient[SKED_I_GAUS_LATENCY] * ds;
}
