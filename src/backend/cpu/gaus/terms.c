/* The short terms: a function forward, expectation or value, and one back for the gradient each (terms.h). */
#include "backend/cpu/gaus/terms.h"

/* ------------------------------------------------------------------ loads */

/* The chance that the op starts at d is added to two changes, so that long ops cost no more than short ones.
 */
void sked_i_gaus_resource(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    const sked_i_gaus_window w = sked_i_gaus_window_of(s, i);
    assert(i >= part->begin && i < part->end && w.len >= 0);
    for (int64_t u = v->use_ptr[i]; u < v->use_ptr[i + 1]; u++) {
        double *row = part->change + (int64_t)v->use_profile[u] * s->length;
        double before = 0;
        for (int32_t k = 0; k <= w.len; k++) {
            const double now = k < w.len ? w.cdf[k] : 1, mass = v->use_amount[u] * (now - before);
            const int64_t begin = sked_i_gaus_change_index(s, w.low + k);
            const int64_t end = sked_i_gaus_change_index(s, w.low + k + v->duration[i]);
            if (begin >= 0)
                row[begin] += mass;
            if (end >= 0)
                row[end] -= mass;
            before = now;
        }
    }
}

void sked_i_gaus_resource_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    const sked_i_gaus_window w = sked_i_gaus_window_of(s, i);
    double dmu = 0, dsigma = 0;
    for (int64_t u = v->use_ptr[i]; u < v->use_ptr[i + 1]; u++) {
        const double *row = s->adjoint + (int64_t)v->use_profile[u] * s->cells;
        for (int32_t k = 0; k < w.len; k++) {
            const int32_t d = w.low + k;
            const double price = sked_i_gaus_price(s, row, d) - sked_i_gaus_price(s, row, d + v->duration[i]);
            const double slope = v->use_amount[u] * price * w.slope[k];
            dmu -= slope;
            dsigma -= slope * sked_i_gaus_window_z(&w, d);
        }
    }
    part->dmu[i] += dmu;
    part->dsigma[i] += dsigma;
}

/* ------------------------------------------------------------------ communication, linear in the means */

void sked_i_gaus_communication(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (sked_i_gaus_counts(v, e))
            part->communication += v->edge_bytes[e] * (s->mu[v->edge_to[e]] - s->mu[i] + v->shift[e]);
}

void sked_i_gaus_communication_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        if (!sked_i_gaus_counts(v, e))
            continue;
        const double slope = s->terms->alpha * v->edge_bytes[e];
        part->dmu[v->edge_to[e]] += slope;
        part->dmu[i] -= slope;
    }
}

/* ------------------------------------------------------------------ edges and the horizon */

/*
 * Edges: by how much the difference of two starts is expected to fall short of the gap. After rounding an
 * edge is broken from a difference of gap - 1 downwards; gap - 1/2 lies half-way (continuity correction).
 */
static double shortfall(const sked_i_gaus_evaluator *s, int32_t from, int64_t e, double *dm, double *ds,
                        double *deviation)
{
    const int32_t to = s->view->edge_to[e];
    *deviation = sqrt(s->sigma[from] * s->sigma[from] + s->sigma[to] * s->sigma[to]);
    assert(*deviation > 0);
    return sked_i_normal_excess(&s->normal, s->view->gap[e] - 0.5 + s->mu[from] - s->mu[to], *deviation, dm,
                                ds);
}

static bool binds(const sked_i_gaus_view *v, int32_t i, int64_t e)
{
    return sked_i_gaus_counts(v, e) && v->edge_to[e] != i;
}

void sked_i_gaus_dependency(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    double dm, ds, deviation;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (binds(v, i, e))
            part->violation[sked_i_gaus_family(v->edge_kind[e])] += shortfall(s, i, e, &dm, &ds, &deviation);
}

void sked_i_gaus_dependency_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const int32_t to = v->edge_to[e];
        double dm, ds, deviation;
        if (!binds(v, i, e))
            continue;
        const double weight = s->coefficient[sked_i_gaus_family(v->edge_kind[e])];
        shortfall(s, i, e, &dm, &ds, &deviation);
        part->dmu[i] += weight * dm;
        part->dmu[to] -= weight * dm;
        part->dsigma[i] += weight * ds * s->sigma[i] / deviation;
        part->dsigma[to] += weight * ds * s->sigma[to] / deviation;
    }
}

/*
 * Expected time by which ops end after the last step: E[max(0, X_i + duration - end)]. Steps are whole, so
 * the end lies half a step later (continuity correction). *dm, *ds: the derivatives by mean and sigma.
 */
static double late(const sked_i_gaus_evaluator *s, int32_t i, double *dm, double *ds)
{
    const double over = s->mu[i] + s->view->duration[i] - s->view->steps - 0.5;
    assert(s->sigma[i] > 0);
    return sked_i_normal_excess(&s->normal, over, s->sigma[i], dm, ds);
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
