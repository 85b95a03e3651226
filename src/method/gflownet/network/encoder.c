#include "method/gflownet/network/encoder.h"

#include "base/memory.h"

#include <string.h>

/* Cuts pieces off one block; with block NULL it only measures. */
typedef struct cutter {
    real *block;
    int64_t used;
} cutter;

static real *cut(cutter *c, int64_t rows, int64_t columns)
{
    real *p = c->block ? c->block + c->used : NULL;
    c->used += rows * columns;
    return p;
}

static int64_t lay_out(RN(encoder) * e, real *block)
{
    const sked_i_sizes *s = &e->layout->sizes;
    const int64_t n = e->n, inner = (int64_t)SKED_I_HEADS * s->head;
    cutter c = {.block = block};
    e->heat.first = cut(&c, 1, s->temperature);
    e->heat.second = cut(&c, 1, s->temperature);
    for (int i = 0; i < s->layers; i++)
        e->layer[i] = (RN(layer_state)){
            .in = cut(&c, n, s->dim),
            .norm1 = cut(&c, n, s->dim),
            .mean1 = cut(&c, n, 1),
            .rstd1 = cut(&c, n, 1),
            .qkv = cut(&c, n, 3 * inner),
            .mixed = cut(&c, n, inner),
            .lse = cut(&c, n, SKED_I_HEADS),
            .middle = cut(&c, n, s->dim),
            .norm2 = cut(&c, n, s->dim),
            .mean2 = cut(&c, n, 1),
            .rstd2 = cut(&c, n, 1),
            .hidden = cut(&c, n, s->mlp),
            .scale = cut(&c, 1, s->mlp),
            .shift = cut(&c, 1, s->mlp),
            .active = cut(&c, n, s->mlp),
        };
    e->last = cut(&c, n, s->dim);
    e->final_mean = cut(&c, n, 1);
    e->final_rstd = cut(&c, n, 1);
    e->out = cut(&c, n, s->dim);
    return c.used;
}

sked_status RN(encoder_create)(const sked_i_layout *layout, const RN(kernels) * kernels,
                               const sked_i_masks *masks, const real *feature, RN(encoder) * *out,
                               sked_error *err)
{
    RN(encoder) *e = sked_i_alloc_zero(1, sizeof *e);
    if (e == NULL)
        return sked_i_no_memory(err);
    e->layout = layout;
    e->kernels = kernels;
    e->masks = masks;
    e->feature = feature;
    e->n = masks->n;
    e->block = sked_i_alloc_zero(lay_out(e, NULL), sizeof *e->block);
    if (e->block == NULL) {
        free(e);
        return sked_i_no_memory(err);
    }
    lay_out(e, e->block);
    *out = e;
    return SKED_OK;
}

void RN(encoder_destroy)(RN(encoder) * e)
{
    if (e == NULL)
        return;
    free(e->block);
    free(e);
}

static void add(int64_t n, const real *x, real *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

/* Attention takes time by pairs of ops: rows at a time between two looks at the limit. */
static int32_t next_rows(const RN(encoder) * e, int32_t first)
{
    enum { pairs_at_once = 1 << 17 };
    const int32_t rows = 1 + pairs_at_once / e->n;
    return e->n - first < rows ? e->n : first + rows;
}

static bool attend(const RN(encoder) * e, const RN(layer_state) * l)
{
    for (int32_t first = 0, end; first < e->n; first = end) {
        if (sked_i_limit_heard(e->limit))
            return false;
        end = next_rows(e, first);
        e->kernels->attention(e->masks, first, end, e->layout->sizes.head, l->qkv, l->mixed, l->lse);
    }
    return true;
}

static bool layer_run(const RN(encoder) * e, const sked_i_layer_at *at, const real *w,
                      const RN(layer_state) * l, real *next)
{
    const RN(kernels) *k = e->kernels;
    const sked_i_sizes *s = &e->layout->sizes;
    const int32_t n = e->n, inner = SKED_I_HEADS * s->head;
    k->norm(n, s->dim, l->in, w + at->norm1_gain, w + at->norm1_bias, l->norm1, l->mean1, l->rstd1);
    k->linear(n, s->dim, 3 * inner, l->norm1, w + at->qkv_weight, w + at->qkv_bias, l->qkv);
    if (!attend(e, l))
        return false;
    k->linear(n, inner, s->dim, l->mixed, w + at->merge_weight, w + at->merge_bias, l->middle);
    add((int64_t)n * s->dim, l->in, l->middle);
    k->norm(n, s->dim, l->middle, w + at->norm2_gain, w + at->norm2_bias, l->norm2, l->mean2, l->rstd2);
    k->linear(n, s->dim, s->mlp, l->norm2, w + at->mlp1_weight, w + at->mlp1_bias, l->hidden);
    k->linear(1, s->temperature, s->mlp, e->heat.second, w + at->scale_weight, w + at->scale_bias, l->scale);
    k->linear(1, s->temperature, s->mlp, e->heat.second, w + at->shift_weight, w + at->shift_bias, l->shift);
    k->film(n, s->mlp, l->hidden, l->scale, l->shift, l->active);
    k->linear(n, s->mlp, s->dim, l->active, w + at->mlp2_weight, w + at->mlp2_bias, next);
    add((int64_t)n * s->dim, l->middle, next);
    return true;
}

bool RN(encoder_run)(RN(encoder) * e, const real *parameter, const double *heat)
{
    const RN(kernels) *k = e->kernels;
    const sked_i_layout *at = e->layout;
    const sked_i_sizes *s = &at->sizes;
    const real *w = parameter;
    RN(heat_run)(at, k, w, heat, &e->heat);
    k->linear(e->n, SKED_I_STATIC_FEATURES, s->dim, e->feature, w + at->input_weight, w + at->input_bias,
              e->layer[0].in);
    for (int i = 0; i < s->layers; i++)
        if (!layer_run(e, &at->layer[i], w, &e->layer[i], i + 1 < s->layers ? e->layer[i + 1].in : e->last))
            return false;
    k->norm(e->n, s->dim, e->last, w + at->final_gain, w + at->final_bias, e->out, e->final_mean,
            e->final_rstd);
    return true;
}

/* Working memory of the gradient, one piece per kind of row. */
typedef struct scratch {
    real *block;
    real *dim;   /* [n, dim] */
    real *wide;  /* [n, mlp] */
    real *wide2; /* [n, mlp] */
    real *mixed; /* [n, heads * head] */
    real *qkv;   /* [n, 3 * heads * head] */
    real *film;  /* [2 * mlp]: scale, shift */
    int64_t n_dim, n_wide, n_mixed, n_qkv;
} scratch;

static sked_status scratch_create(const RN(encoder) * e, scratch *t, sked_error *err)
{
    const sked_i_sizes *s = &e->layout->sizes;
    const int64_t n = e->n;
    t->n_dim = n * s->dim;
    t->n_wide = n * s->mlp;
    t->n_mixed = n * SKED_I_HEADS * s->head;
    t->n_qkv = 3 * t->n_mixed;
    t->block =
        sked_i_alloc_zero(t->n_dim + 2 * t->n_wide + t->n_mixed + t->n_qkv + 2 * s->mlp, sizeof *t->block);
    if (t->block == NULL)
        return sked_i_no_memory(err);
    t->dim = t->block;
    t->wide = t->dim + t->n_dim;
    t->wide2 = t->wide + t->n_wide;
    t->mixed = t->wide2 + t->n_wide;
    t->qkv = t->mixed + t->n_mixed;
    t->film = t->qkv + t->n_qkv;
    return SKED_OK;
}

static void clear(real *x, int64_t n)
{
    memset(x, 0, (size_t)n * sizeof *x);
}

/* MLP half of a layer: dx [n, dim] is the gradient of its output on entry, of l->middle on return. */
static void mlp_grad(const RN(encoder) * e, const sked_i_layer_at *at, const real *w,
                     const RN(layer_state) * l, scratch *t, real *dx, real *dheat, real *dw)
{
    const RN(kernels) *k = e->kernels;
    const sked_i_sizes *s = &e->layout->sizes;
    const int32_t n = e->n;
    clear(t->wide, t->n_wide);
    clear(t->wide2, t->n_wide);
    clear(t->dim, t->n_dim);
    clear(t->film, 2 * s->mlp);
    k->linear_grad(n, s->mlp, s->dim, l->active, w + at->mlp2_weight, dx, t->wide, dw + at->mlp2_weight,
                   dw + at->mlp2_bias);
    k->film_grad(n, s->mlp, l->hidden, l->scale, l->active, t->wide, t->wide2, t->film, t->film + s->mlp);
    k->linear_grad(1, s->temperature, s->mlp, e->heat.second, w + at->scale_weight, t->film, dheat,
                   dw + at->scale_weight, dw + at->scale_bias);
    k->linear_grad(1, s->temperature, s->mlp, e->heat.second, w + at->shift_weight, t->film + s->mlp, dheat,
                   dw + at->shift_weight, dw + at->shift_bias);
    k->linear_grad(n, s->dim, s->mlp, l->norm2, w + at->mlp1_weight, t->wide2, t->dim, dw + at->mlp1_weight,
                   dw + at->mlp1_bias);
    k->norm_grad(n, s->dim, l->middle, w + at->norm2_gain, l->mean2, l->rstd2, t->dim, dx,
                 dw + at->norm2_gain, dw + at->norm2_bias);
}

/* Attention half: from the gradient of l->middle to that of l->in. */
static bool attention_half_grad(const RN(encoder) * e, const sked_i_layer_at *at, const real *w,
                                const RN(layer_state) * l, scratch *t, real *dx, real *dw)
{
    const RN(kernels) *k = e->kernels;
    const sked_i_sizes *s = &e->layout->sizes;
    const int32_t n = e->n, inner = SKED_I_HEADS * s->head;
    clear(t->mixed, t->n_mixed);
    clear(t->qkv, t->n_qkv);
    clear(t->dim, t->n_dim);
    k->linear_grad(n, inner, s->dim, l->mixed, w + at->merge_weight, dx, t->mixed, dw + at->merge_weight,
                   dw + at->merge_bias);
    for (int32_t first = 0, end; first < n; first = end) {
        if (sked_i_limit_heard(e->limit))
            return false;
        end = next_rows(e, first);
        k->attention_grad(e->masks, first, end, s->head, l->qkv, l->mixed, l->lse, t->mixed, t->qkv);
    }
    k->linear_grad(n, s->dim, 3 * inner, l->norm1, w + at->qkv_weight, t->qkv, t->dim, dw + at->qkv_weight,
                   dw + at->qkv_bias);
    k->norm_grad(n, s->dim, l->in, w + at->norm1_gain, l->mean1, l->rstd1, t->dim, dx, dw + at->norm1_gain,
                 dw + at->norm1_bias);
    return true;
}

sked_status RN(encoder_grad)(const RN(encoder) * e, const real *parameter, const real *dout, real *dheat,
                             real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_layout *at = e->layout;
    const sked_i_sizes *s = &at->sizes;
    real *dx = NULL, *dfirst = NULL, *dw = dparameter;
    scratch t = {0};
    SKED_TRY(scratch_create(e, &t, err));
    SKED_NEW0(dx, t.n_dim);
    SKED_NEW0(dfirst, s->temperature);
    e->kernels->norm_grad(e->n, s->dim, e->last, parameter + at->final_gain, e->final_mean, e->final_rstd,
                          dout, dx, dw + at->final_gain, dw + at->final_bias);
    for (int i = s->layers - 1; i >= 0; i--) {
        mlp_grad(e, &at->layer[i], parameter, &e->layer[i], &t, dx, dheat, dw);
        if (!attention_half_grad(e, &at->layer[i], parameter, &e->layer[i], &t, dx, dw))
            SKED_TRY(sked_i_limit_fail(err));
    }
    e->kernels->linear_grad(e->n, SKED_I_STATIC_FEATURES, s->dim, e->feature, parameter + at->input_weight,
                            dx, NULL, dw + at->input_weight, dw + at->input_bias);
    RN(heat_grad)(at, e->kernels, parameter, &e->heat, dheat, dfirst, dw);
cleanup:
    free(t.block);
    free(dx);
    free(dfirst);
    return st;
}
