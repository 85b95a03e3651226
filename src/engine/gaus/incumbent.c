#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_gaus_incumbent_create(int32_t n, sked_i_gaus_incumbent *out, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_gaus_incumbent){.value = INFINITY};
    SKED_NEW(out->start, n);
cleanup:
    return st;
}

void sked_i_gaus_incumbent_free(sked_i_gaus_incumbent *x)
{
    free(x->start);
    *x = (sked_i_gaus_incumbent){.value = INFINITY};
}

void sked_i_gaus_incumbent_copy(sked_i_gaus_incumbent *to, const sked_i_gaus_incumbent *from, int32_t n)
{
    to->value = from->value;
    memcpy(to->start, from->start, (size_t)n * sizeof *to->start);
}

bool sked_i_gaus_keep(sked_i_gaus_incumbent *best, const sked_i_gaus_state *s)
{
    const double value = sked_i_gaus_state_value(s);
    if (!(value < best->value))
        return false;
    assert(s->m->capped || sked_i_gaus_state_legal(s)); /* levels drift a little against capacities */
    best->value = value;
    for (int32_t i = 0; i < s->m->n; i++)
        best->start[i] = s->at[i];
    if (best->curve != NULL)
        sked_i_value_curve_note(
            best->curve,
            &(sked_curve_point){.evaluations = *best->evaluations, .value = value, .ii = s->m->period});
    return true;
}
