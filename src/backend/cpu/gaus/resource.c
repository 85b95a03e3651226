/* Expected load: an op adds its amounts from its start for its duration. */
#include "backend/cpu/gaus/terms.h"

/* The chance that the op starts at d goes into two changes, so that long ops cost no more than short ones. */
void sked_i_gaus_resource(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    const sked_i_gaus_window w = sked_i_gaus_window_of(s, i);
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
