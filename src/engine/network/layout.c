/* From sizes to the table of parameters. */
#include "engine/network/layout.h"

#include <assert.h>
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
    if (initial == SKED_I_INITIAL_RULED)
        p->initial = l->sizes.rule == SKED_I_RULE_LIST ? SKED_I_INITIAL_ZERO : SKED_I_INITIAL_SMALL;
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

static void place_layers(sked_i_layout *out, const sked_i_sizes *s)
{
    for (int i = 0; i < s->layers; i++) {
        char prefix[20];
        snprintf(prefix, sizeof prefix, "layer.%d.", i);
#define SKED_X(name, rows, columns, initial) \
    out->layer[i].name = place(out, prefix, #name, rows, columns, SKED_I_INITIAL_##initial);
        SKED_I_LAYER_PARAMETERS(SKED_X)
#undef SKED_X
        const sked_i_layer_at *l = &out->layer[i];
        (void)l; /* what RN(film_run) relies on */
        assert(l->shift_weight - l->scale_bias == s->mlp &&
               l->shift_bias - l->shift_weight == l->scale_bias - l->scale_weight);
    }
}

/* The order is part of what a seed means: random numbers of a parameter come from its place in the table. */
static void place_all(sked_i_layout *out, const sked_i_sizes *s)
{
    const bool once = s->policy == SKED_I_POLICY_ENCODE_ONCE,
               learned = s->backward == SKED_I_BACKWARD_LEARNED;
    const int32_t inputs = once ? SKED_I_STATIC_FEATURES : SKED_I_STEP_FEATURES + s->slots;
    *out = (sked_i_layout){.sizes = *s, .inputs = inputs};
#define SKED_X(name, rows, columns, initial) out->name = -1;
    SKED_I_WHOLE_PARAMETERS(SKED_X)
#undef SKED_X
#define SKED_X(name, rows, columns, initial) \
    out->name = place(out, "", #name, rows, columns, SKED_I_INITIAL_##initial);
    SKED_I_ENCODER_PARAMETERS(SKED_X)
    if (once) {
        SKED_I_ONCE_PARAMETERS(SKED_X)
    }
    place_layers(out, s);
    if (once && learned) {
        SKED_I_ONCE_BACK_PARAMETERS(SKED_X)
    }
    if (!once) {
        SKED_I_STEP_PARAMETERS(SKED_X)
    }
    if (!once && learned) {
        SKED_I_STEP_BACK_PARAMETERS(SKED_X)
    }
#undef SKED_X
}

sked_status sked_i_layout_init(sked_i_layout *out, const sked_i_sizes *sizes, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_sizes *s = sizes;
#define SKED_X(name, preset, least, most, help) \
    SKED_TRY(check_size(#name, s->name, least, most, least >= 8, err));
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    place_all(out, s);
    assert(out->n_table <= SKED_I_MAX_PARAMETERS);
cleanup:
    return st;
}
