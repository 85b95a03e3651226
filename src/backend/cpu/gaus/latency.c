/*
 * Expected time by which ops end after the last step: E[max(0, X_i + duration - end)]. Steps are whole, so
 * the end lies half a step later (continuity correction).
 */
#include "backend/cpu/gaus/terms.h"

/* *dm, *ds: the derivatives by mean and sigma. */
static double late(const sked_i_gaus_evaluator *s, int32_t i, double *dm, double *ds)
{
    const double over = s->mu[i] + s->view->duration[i] - s->view->steps - 0.5;
    return sked_i_gaus_excess(&s->normal, over, s->sigma[i], dm, ds);
}

void sked_i_gaus_latency(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    double dm, ds;
    part->violation[SKED_I_GAUS_LATENCY] += late(s, i, &dm, &ds);
}

void sked_i_gaus_latency_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const double weight = s->coefficient[SKED_I_GAUS_LATENCY];
    double dm, ds;
    late(s, i, &dm, &ds);
    part->dmu[i] += weight * dm;
    part->dsigma[i] += weight * ds;
}
