/* From sizes to the table of parameters. */
#include "nn/layout.h"

#include <stdio.h>

const sked_i_sizes sked_i_sizes_preset = {
#define SKED_X(name, preset, least, most, help) .name = preset,
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
};

static int64_t place(sked_i_layout *l, const char *prefix, const char *name, int32_t rows, int32_t columns,
                     sked_i_initial initial)
{
    sked_i_parameter *p = &l->table[l->n_table++];
    snprintf(p->name, sizeof p->name, "%s%s", prefix, name);
    p->rows = rows;
    p->columns = columns;
    p->initial = initial;
    p->offset = l->total;
    l->total += (int64_t)rows * columns;
    return p->offset;
}

static sked_status check_size(const char *name, int32_t value, int32_t least, int32_t most, bool lanes,
                              sked_error *err)
{
    if (value < least || value > most || (lanes && value % 8 != 0))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "model size %s is %d; it lies in %d..%d%s", name,
                           (int)value, (int)least, (int)most, lanes ? " and is a multiple of 8" : "");
    return SKED_OK;
}

sked_status sked_i_layout_init(sked_i_layout *out, const sked_i_sizes *sizes, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_sizes *s = sizes;
#define SKED_X(name, preset, least, most, help) \
    SKED_TRY(check_size(#name, s->name, least, most, least >= 8, err));
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    *out = (sked_i_layout){.sizes = *sizes};
#define SKED_X(name, rows, columns, initial) \
    out->name = place(out, "", #name, rows, columns, SKED_I_INITIAL_##initial);
    SKED_I_WHOLE_PARAMETERS(SKED_X)
#undef SKED_X
    for (int i = 0; i < s->layers; i++) {
        char prefix[20];
        snprintf(prefix, sizeof prefix, "layer.%d.", i);
#define SKED_X(name, rows, columns, initial) \
    out->layer[i].name = place(out, prefix, #name, rows, columns, SKED_I_INITIAL_##initial);
        SKED_I_LAYER_PARAMETERS(SKED_X)
#undef SKED_X
    }
cleanup:
    return st;
}
