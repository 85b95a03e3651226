/*
 * Expected time by which ops end after the last step or cell: E[max(0, X_i + duration - end)]. Steps are
 * whole, so there the end lies half a step later (continuity correction).
 */
#include "backend/cpu/gaus/device.h"

/* over: the mean of what lies past the end. */
static double late(const sked_i_normal *t, double over, double sigma)
{
    double dm, ds;
    return sked_i_gaus_excess(t, over, sigma, &dm, &ds);
}

static void late_back(const sked_i_normal *t, double over, double sigma, double weight, double *dmu,
                      double *dsigma)
{
    double dm, ds;
    sked_i_gaus_excess(t, over, sigma, &dm, &ds);
    *dmu += weight * dm;
    *dsigma += weight * ds;
}

static double over(const sked_i_gaus_evaluator *s, int32_t i)
{
    return s->mu[i] + s->view->duration[i] - s->view->steps - 0.5;
}

void sked_i_gaus_latency(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    part->violation[SKED_I_GAUS_LATENCY] += late(&s->normal, over(s, i), s->sigma[i]);
}

void sked_i_gaus_latency_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    late_back(&s->normal, over(s, i), s->sigma[i], s->coefficient[SKED_I_GAUS_LATENCY], &part->dmu[i],
              &part->dsigma[i]);
}

static double device_over(const sked_i_gaus_device_evaluator *s, int32_t i)
{
    return s->at->mu[i] + s->view->duration[i] - s->view->cells;
}

void sked_i_gaus_device_latency(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                int32_t i)
{
    part->violation[SKED_I_GAUS_LATENCY] += late(&s->normal, device_over(s, i), s->at->sigma[i]);
}

void sked_i_gaus_device_latency_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                     int32_t i)
{
    late_back(&s->normal, device_over(s, i), s->at->sigma[i], s->coefficient[SKED_I_GAUS_LATENCY],
              &part->dmu[i], &part->dsigma[i]);
}
