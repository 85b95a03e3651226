/* Expected communication: linear in the means. */
#include "backend/cpu/gaus/terms.h"

void sked_i_gaus_communication(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (v->edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED)
            part->communication += v->edge_bytes[e] * (s->mu[v->edge_to[e]] - s->mu[i] + v->shift[e]);
}

void sked_i_gaus_communication_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const sked_i_gaus_view *v = s->view;
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        if (v->edge_kind[e] == SKED_I_GAUS_EDGE_IGNORED)
            continue;
        const double slope = s->terms->alpha * v->edge_bytes[e];
        part->dmu[v->edge_to[e]] += slope;
        part->dmu[i] -= slope;
    }
}
