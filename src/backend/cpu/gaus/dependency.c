/*
 * Expected violation of start(to) >= start(from) + gap. Two forms. Shortfall: E[max(0, gap - 1/2 - (X_to -
 * X_from))], closed, one normal per edge; the half step is the continuity correction: whole steps are broken
 * from a difference of gap - 1 downwards. Exact: the chance that the edge is broken after rounding, the sum
 * over d of P_from(d) F_to(d + gap - 1). Carried edges are the same with gap = lag - distance * II.
 */
#include "backend/cpu/gaus/terms.h"

static double shortfall(const sked_i_gaus_evaluator *s, int32_t from, int32_t to, int32_t gap, double *dm,
                        double *ds, double *deviation)
{
    *deviation = sqrt(s->sigma[from] * s->sigma[from] + s->sigma[to] * s->sigma[to]);
    return sked_i_gaus_excess(&s->normal, gap - 0.5 + s->mu[from] - s->mu[to], *deviation, dm, ds);
}

static double chance(const sked_i_gaus_window *from, const sked_i_gaus_window *to, int32_t gap)
{
    double sum = 0, before = 0;
    for (int32_t k = 0; k <= from->len; k++) {
        const double now = k < from->len ? from->cdf[k] : 1;
        sum += (now - before) * sked_i_gaus_window_cdf(to, from->low + k + gap - 1);
        before = now;
    }
    return sum;
}

void sked_i_gaus_dependency(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    const sked_i_gaus_window from = sked_i_gaus_window_of(s, i);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const int32_t to = v->edge_to[e];
        double dm, ds, deviation;
        if (v->edge_kind[e] == SKED_I_GAUS_EDGE_IGNORED || to == i)
            continue;
        const sked_i_gaus_window w = sked_i_gaus_window_of(s, to);
        part->violation[v->edge_kind[e] == SKED_I_GAUS_EDGE_CARRIED ? SKED_I_GAUS_RECURRENCE
                                                                    : SKED_I_GAUS_DEPENDENCY] +=
            s->terms->exact_dependency ? chance(&from, &w, v->gap[e])
                                       : shortfall(s, i, to, v->gap[e], &dm, &ds, &deviation);
    }
}

static void chance_back(sked_i_gaus_part *part, int32_t i, int32_t j, const sked_i_gaus_window *from,
                        const sked_i_gaus_window *to, int32_t gap, double weight)
{
    double before = 0;
    for (int32_t k = 0; k <= from->len; k++) {
        const int32_t d = from->low + k, e = d + gap - 1;
        const double now = k < from->len ? from->cdf[k] : 1;
        /* F_from(d) appears in P(d) and, negated, in P(d + 1). */
        const double slope = sked_i_gaus_window_slope(from, d) * weight *
                             (sked_i_gaus_window_cdf(to, e) - sked_i_gaus_window_cdf(to, e + 1));
        part->dmu[i] -= slope;
        part->dsigma[i] -= slope * sked_i_gaus_window_z(from, d);
        const double other = (now - before) * weight * sked_i_gaus_window_slope(to, e);
        part->dmu[j] -= other;
        part->dsigma[j] -= other * sked_i_gaus_window_z(to, e);
        before = now;
    }
}

void sked_i_gaus_dependency_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    const sked_i_gaus_window from = sked_i_gaus_window_of(s, i);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const int32_t to = v->edge_to[e];
        if (v->edge_kind[e] == SKED_I_GAUS_EDGE_IGNORED || to == i)
            continue;
        const double weight =
            s->coefficient[v->edge_kind[e] == SKED_I_GAUS_EDGE_CARRIED ? SKED_I_GAUS_RECURRENCE
                                                                       : SKED_I_GAUS_DEPENDENCY];
        if (s->terms->exact_dependency) {
            const sked_i_gaus_window w = sked_i_gaus_window_of(s, to);
            chance_back(part, i, to, &from, &w, v->gap[e], weight);
            continue;
        }
        double dm, ds, deviation;
        shortfall(s, i, to, v->gap[e], &dm, &ds, &deviation);
        part->dmu[i] += weight * dm;
        part->dmu[to] -= weight * dm;
        part->dsigma[i] += weight * ds * s->sigma[i] / deviation;
        part->dsigma[to] += weight * ds * s->sigma[to] / deviation;
    }
}
