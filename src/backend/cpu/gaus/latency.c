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

/* Unequal devices: by how much op i ends late on a device of kind k; -INFINITY: it does not run there. */
static double kind_over(const sked_i_gaus_device_evaluator *s, int32_t i, int32_t k)
{
    const sked_i_gaus_device_kinds *kinds = s->view->kinds;
    const double time = kinds->time[(int64_t)i * kinds->count + k];
    return time < INFINITY ? s->at->mu[i] + time - s->view->cells : -INFINITY;
}

static void late_on_kinds(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i)
{
    double *sum = part->kind[0];
    sked_i_gaus_kind_shares(s, i, sum);
    for (int32_t k = 0; k < s->view->kinds->count; k++)
        if (sum[k] > 0 && kind_over(s, i, k) > -INFINITY)
            part->violation[SKED_I_GAUS_LATENCY] +=
                sum[k] * late(&s->normal, kind_over(s, i, k), s->at->sigma[i]);
}

static void late_on_kinds_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                               int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double weight = s->coefficient[SKED_I_GAUS_LATENCY];
    double *sum = part->kind[0], *excess = part->kind[1], *dshare = part->dshare + (int64_t)i * v->devices;
    sked_i_gaus_kind_shares(s, i, sum);
    for (int32_t k = 0; k < v->kinds->count; k++) {
        const double past = kind_over(s, i, k);
        excess[k] = 0;
        if (!(sum[k] > 0) || past == -INFINITY)
            continue;
        excess[k] = late(&s->normal, past, s->at->sigma[i]);
        late_back(&s->normal, past, s->at->sigma[i], weight * sum[k], &part->dmu[i], &part->dsigma[i]);
    }
    for (int32_t d = 0; d < v->devices; d++)
        dshare[d] += weight * excess[v->kinds->of[d]];
}

void sked_i_gaus_device_latency(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                int32_t i)
{
    if (s->view->kinds != NULL) {
        late_on_kinds(s, part, i);
        return;
    }
    part->violation[SKED_I_GAUS_LATENCY] += late(&s->normal, device_over(s, i), s->at->sigma[i]);
}

void sked_i_gaus_device_latency_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                     int32_t i)
{
    if (s->view->kinds != NULL) {
        late_on_kinds_back(s, part, i);
        return;
    }
    late_back(&s->normal, device_over(s, i), s->at->sigma[i], s->coefficient[SKED_I_GAUS_LATENCY],
              &part->dmu[i], &part->dsigma[i]);
}
