/*
 * Expected shortfall of an edge whose lag depends on the devices of its ends. With q = sum over d of
 * share_from(d) share_to(d), the chance that both run on one device, and h(x) = E[max(0, x - (X_to -
 * X_from))]: q h(lag) + (1 - q) h(lag + transfer). This is the expectation itself, not the shortfall of an
 * expected transfer.
 */
#include "backend/cpu/gaus/device.h"

typedef struct edge {
    double same;       /* chance of one device */
    double here, away; /* shortfalls */
    double dm, ds;     /* of their mean, by the difference of means and its deviation */
    double deviation;
} edge;

static edge look(const sked_i_gaus_device_evaluator *s, int32_t from, int64_t e)
{
    const sked_i_gaus_device_view *v = s->view;
    const sked_i_gaus_device_point *x = s->at;
    const int32_t to = v->edge_to[e], m = v->devices;
    const double *a = x->share + (int64_t)from * m, *b = x->share + (int64_t)to * m;
    const double more = v->transfer != NULL ? v->transfer[e] : 0;
    edge r = {.deviation = sqrt(x->sigma[from] * x->sigma[from] + x->sigma[to] * x->sigma[to]), .same = 1};
    const double gap = v->lag[e] + x->mu[from] - x->mu[to];
    r.here = sked_i_gaus_excess(&s->normal, gap, r.deviation, &r.dm, &r.ds);
    r.away = r.here;
    if (more > 0 && m > 1) {
        double dm, ds;
        r.same = 0;
        for (int32_t d = 0; d < m; d++)
            r.same += a[d] * b[d];
        assert(r.same >= 0 && r.same <= 1 + 1e-9); /* shares of an op sum to 1 */
        r.away = sked_i_gaus_excess(&s->normal, gap + more, r.deviation, &dm, &ds);
        r.dm = r.same * r.dm + (1 - r.same) * dm;
        r.ds = r.same * r.ds + (1 - r.same) * ds;
    }
    return r;
}

void sked_i_gaus_device_transfer(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                 int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const edge r = look(s, i, e);
        part->violation[SKED_I_GAUS_DEPENDENCY] += r.same * r.here + (1 - r.same) * r.away;
    }
}

void sked_i_gaus_device_transfer_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                      int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double weight = s->coefficient[SKED_I_GAUS_DEPENDENCY];
    const int32_t m = v->devices;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const int32_t j = v->edge_to[e];
        const edge r = look(s, i, e);
        part->dmu[i] += weight * r.dm;
        part->dmu[j] -= weight * r.dm;
        part->dsigma[i] += weight * r.ds * s->at->sigma[i] / r.deviation;
        part->dsigma[j] += weight * r.ds * s->at->sigma[j] / r.deviation;
        const double gain = weight * (r.here - r.away);
        if (gain == 0)
            continue;
        const double *a = s->at->share + (int64_t)i * m, *b = s->at->share + (int64_t)j * m;
        double *da = part->dshare + (int64_t)i * m, *db = part->dshare + (int64_t)j * m;
        for (int32_t d = 0; d < m; d++) {
            da[d] += gain * b[d];
            db[d] += gain * a[d];
        }
    }
}
