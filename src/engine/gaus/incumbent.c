#include "engine/gaus/incumbent.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

sked_status sked_i_gaus_incumbent_create(int32_t n, bool with_devices, sked_i_gaus_incumbent *out,
                                         sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_gaus_incumbent){.value = INFINITY};
    SKED_NEW(out->start, n);
    if (with_devices)
        SKED_NEW0(out->device, n);
cleanup:
    return st;
}

void sked_i_gaus_incumbent_free(sked_i_gaus_incumbent *x)
{
    free(x->start);
    free(x->device);
    *x = (sked_i_gaus_incumbent){.value = INFINITY};
}

void sked_i_gaus_incumbent_copy(sked_i_gaus_incumbent *to, const sked_i_gaus_incumbent *from, int32_t n)
{
    assert((to->device == NULL) == (from->device == NULL));
    to->value = from->value;
    memcpy(to->start, from->start, (size_t)n * sizeof *to->start);
    if (to->device != NULL)
        memcpy(to->device, from->device, (size_t)n * sizeof *to->device);
}
