/* Expected time by which ops end after the last cell. */
#include "backend/cpu/gaus/device.h"

static double late(const sked_i_gaus_device_engine *s, int32_t i, double *dm, double *ds)
{
    const double over = s->at->mu[i] + s->view->duration[i] - s->view->cells;
    return sked_i_gaus_excess(&s->normal, over, s->at->sigma[i], dm, ds);
}

void sked_i_gaus_device_finish(const sked_i_gaus_device_engine *s, sked_i_gaus_device_part *part, int32_t i)
{
    double dm, ds;
    part->violation[SKED_I_GAUS_LATENCY] += late(s, i, &dm, &ds);
}

void sked_i_gaus_device_finish_back(const sked_i_gaus_device_engine *s, sked_i_gaus_device_part *part,
                                    int32_t i)
{
    double dm, ds;
    late(s, i, &dm, &ds);
    part->dmu[i] += s->coefficient[SKED_I_GAUS_LATENCY] * dm;
    part->dsigma[i] += s->coefficient[SKED_I_GAUS_LATENCY] * ds;
}
