#include "engine/network/encoder.h"

#include "engine/network/pieces.h"

#include <assert.h>
#include <string.h>

static int64_t lay_out(RN(encoder) * e, real *block)
{
    const sked_i_sizes *s = &e->layout->sizes;
    const int64_t n = e->n, inner = (int64_t)SKED_I_HEADS * s->head;
    RN(cutter) c = {.block = block};
    e->heat.first = RN(cut)(&c, 1, s->temperature);
    e->heat.second = RN(cut)(&c, 1, s->temperature);
    for (int i = 0; i < s->layers; i++)
        e->layer[i] = (RN(layer_state)){
            .in = RN(cut)(&c, n, s->dim),
            .norm1 = RN(cut)(&c, n, s->dim),
            .mean1 = RN(cut)(&c, n, 1),
            .rstd1 = RN(cut)(&c, n, 1),
            .qkv = RN(cut)(&c, n, 3 * inner),
            .mixed = RN(cut)(&c, n, inner),
            .lse = RN(cut)(&c, n, SKED_I_HEADS),
            .middle = RN(cut)(&c, n, s->dim),
            .norm2 = RN(cut)(&c, n, s->dim),
            .mean2 = RN(cut)(&c, n, 1),
            .rstd2 = RN(cut)(&c, n, 1),
            .hidden = RN(cut)(&c, n, s->mlp),
            .scale = RN(cut)(&c, 1, s->mlp),
            .shift = RN(cut)(&c, 1, s->mlp),
            .active = RN(cut)(&c, n, s->mlp),
        };
    e->last = RN(cut)(&c, n, s->dim);
    e->final_mean = RN(cut)(&c, n, 1);
    e->final_rstd = RN(cut)(&c, n, 1);
    e->out = RN(cut)(&c, n, s->dim);
    return c.used;
}

sked_status RN(encoder_create)(const sked_i_layout *layout, const RN(kernels) * kernels,
                               const sked_i_masks *masks, const real *feature, RN(encoder) * *out,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    real *block;
    RN(encoder) *e = NULL;
    SKED_NEW0(e, 1);
    e->layout = layout;
    e->kernels = kernels;
    e->masks = masks;
    e->feature = feature;
    e->n = masks->n;
    SKED_BLOCK(&e->arena, block, lay_out(e, NULL));
    lay_out(e, block);
    *out = e;
    e = NULL;
cleanup:
    RN(encoder_destroy)(e);
    return st;
}

void RN(encoder_destroy)(RN(encoder) * e)
{
    if (e == NULL)
        return;
    sked_i_arena_free(&e->arena);
    free(e);
}

int32_t RN(encoder_row)(const RN(encoder) * e, int piece, int pieces)
{
    assert(piece >= 0 && piece <= pieces && pieces > 0);
    return (int32_t)((int64_t)e->n * piece / pieces);
}

int RN(encoder_row_pieces)(const RN(encoder) * e, int threads)
{
    enum { least_rows = 6 };
    const int32_t most = e->n / least_rows > 0 ? e->n / least_rows : 1;
    return threads < most ? threads : most;
}

/* ------------------------------------------------------------------ forward */

/* Attention takes time by pairs of ops: rows at a time between two looks at the limit. */
static int32_t next_rows(const RN(encoder) * e, int32_t first, int32_t end)
{
    enum { pairs_at_once = 1 << 17 };
    const int32_t rows = 1 + pairs_at_once / e->n;
    return end - first < rows ? end : first + rows;
}

static bool attend(const RN(encoder) * e, const RN(layer_state) * l, int32_t first, int32_t end)
{
    for (int32_t next; first < end; first = next) {
        if (sked_i_limit_heard(e->limit))
            return false;
        next = next_rows(e, first, end);
        e->kernels->attention(e->masks, first, next, e->layout->sizes.head, l->qkv, l->mixed, l->lse);
    }
    return true;
}

/* y = x w + b for some rows. */
static void linear(const RN(encoder) * e, int32_t first, int32_t end, int32_t p, int32_t q, const real *x,
                   const real *w, const real *b, real *y)
{
    e->kernels->linear(end - first, p, q, x + (int64_t)first * p, w, b, y + (int64_t)first * q);
}

static void norm(const RN(encoder) * e, int32_t first, int32_t end, const real *x, const real *gain,
                 const real *bias, real *y, real *mean, real *rstd)
{
    const int32_t dim = e->layout->sizes.dim;
    const int64_t at = (int64_t)first * dim;
    e->kernels->norm(end - first, dim, x + at, gain, bias, y + at, mean + first, rstd + first);
}

static void add_rows(const RN(encoder) * e, int32_t first, int32_t end, const real *x, real *y)
{
    const int64_t dim = e->layout->sizes.dim;
    for (int64_t i = first * dim; i < end * dim; i++)
        y[i] += x[i];
}

/* What attention looks at. */
static void begin_layer(const RN(encoder) * e, const real *w, int i, int32_t first, int32_t end)
{
    const sked_i_sizes *s = &e->layout->sizes;
    const sked_i_layer_at *at = &e->layout->layer[i];
    const RN(layer_state) *l = &e->layer[i];
    norm(e, first, end, l->in, w + at->norm1_gain, w + at->norm1_bias, l->norm1, l->mean1, l->rstd1);
    linear(e, first, end, s->dim, 3 * SKED_I_HEADS * s->head, l->norm1, w + at->qkv_weight, w + at->qkv_bias,
           l->qkv);
}

/* Attention and all after it. */
static void end_layer(const RN(encoder) * e, const real *w, int i, int32_t first, int32_t end, real *next)
{
    const sked_i_sizes *s = &e->layout->sizes;
    const sked_i_layer_at *at = &e->layout->layer[i];
    const RN(layer_state) *l = &e->layer[i];
    const int32_t inner = SKED_I_HEADS * s->head;
    const int64_t wide = (int64_t)first * s->mlp;
    if (!attend(e, l, first, end))
        return;
    linear(e, first, end, inner, s->dim, l->mixed, w + at->merge_weight, w + at->merge_bias, l->middle);
    add_rows(e, first, end, l->in, l->middle);
    norm(e, first, end, l->middle, w + at->norm2_gain, w + at->norm2_bias, l->norm2, l->mean2, l->rstd2);
    linear(e, first, end, s->dim, s->mlp, l->norm2, w + at->mlp1_weight, w + at->mlp1_bias, l->hidden);
    e->kernels->film(end - first, s->mlp, l->hidden + wide, l->scale, l->shift, l->active + wide);
    linear(e, first, end, s->mlp, s->dim, l->active, w + at->mlp2_weight, w + at->mlp2_bias, next);
    add_rows(e, first, end, l->middle, next);
}

/* What the temperature says to every layer. */
static void run_heat(RN(encoder) * e, const real *w, const double *heat)
{
    const RN(kernels) *k = e->kernels;
    const sked_i_sizes *s = &e->layout->sizes;
    RN(heat_run)(e->layout, k, w, heat, &e->heat);
    for (int i = 0; i < s->layers; i++)
        RN(film_run)
    (e->layout, k, w, &e->heat, e->layout->layer[i].scale_weight, s->mlp, e->layer[i].scale,
     e->layer[i].shift);
}

void RN(encoder_rows)(RN(encoder) * e, const real *parameter, const double *heat, int stage, int32_t first,
                      int32_t end)
{
    const sked_i_layout *at = e->layout;
    const int layers = at->sizes.layers;
    const real *w = parameter;
    assert(stage >= 0 && stage <= layers && first >= 0 && first <= end && end <= e->n);
    if (sked_i_limit_heard(e->limit))
        return;
    if (stage == 0 && first == 0)
        run_heat(e, w, heat);
    if (stage == 0)
        linear(e, first, end, SKED_I_STATIC_FEATURES, at->sizes.dim, e->feature, w + at->input_weight,
               w + at->input_bias, e->layer[0].in);
    else
        end_layer(e, w, stage - 1, first, end, stage < layers ? e->layer[stage].in : e->last);
    if (stage < layers)
        begin_layer(e, w, stage, first, end);
    else
        norm(e, first, end, e->last, w + at->final_gain, w + at->final_bias, e->out, e->final_mean,
             e->final_rstd);
}

/* ------------------------------------------------------------------ gradient */

static int64_t lay_out_back(RN(encoder_back) * b, real *block)
{
    const RN(encoder) *e = b->encoder;
    const sked_i_sizes *s = &e->layout->sizes;
    const int64_t n = e->n, inner = (int64_t)SKED_I_HEADS * s->head;
    RN(cutter) c = {.block = block};
    for (int i = 0; i < s->layers; i++)
        b->layer[i] = (RN(layer_back)){
            .dout = RN(cut)(&c, n, s->dim),
            .active = RN(cut)(&c, n, s->mlp),
            .inner = RN(cut)(&c, n, s->mlp),
            .norm2 = RN(cut)(&c, n, s->dim),
            .middle = RN(cut)(&c, n, s->dim),
            .mixed = RN(cut)(&c, n, inner),
            .qkv = RN(cut)(&c, n, 3 * inner),
            .norm1 = RN(cut)(&c, n, s->dim),
        };
    b->din = RN(cut)(&c, n, s->dim);
    b->film = RN(cut)(&c, 2, s->mlp);
    b->dfirst = RN(cut)(&c, 1, s->temperature);
    return c.used;
}

sked_status RN(encoder_back_init)(RN(encoder_back) * b, const RN(encoder) * e, const real *parameter,
                                  const real *dout, real *dheat, real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    real *block;
    *b = (RN(encoder_back)){
        .encoder = e, .parameter = parameter, .dout = dout, .dheat = dheat, .dparameter = dparameter};
    SKED_BLOCK(&b->arena, block, lay_out_back(b, NULL));
    lay_out_back(b, block);
cleanup:
    return st;
}

void RN(encoder_back_clear)(RN(encoder_back) * b)
{
    sked_i_arena_free(&b->arena);
}

/* dx += dy w^T for some rows. */
static void linear_back(const RN(encoder) * e, int32_t first, int32_t end, int32_t p, int32_t q,
                        const real *w, const real *dy, real *dx)
{
    e->kernels->linear_grad(end - first, p, q, NULL, w, dy + (int64_t)first * q, dx + (int64_t)first * p,
                            NULL, NULL);
}

static void norm_back(const RN(encoder) * e, int32_t first, int32_t end, const real *x, const real *gain,
                      const real *mean, const real *rstd, const real *dy, real *dx)
{
    const int32_t dim = e->layout->sizes.dim;
    const int64_t at = (int64_t)first * dim;
    e->kernels->norm_grad(end - first, dim, x + at, gain, mean + first, rstd + first, dy + at, dx + at, NULL,
                          NULL);
}

/* From what the layer gives to what attention gives. */
static void mlp_back(const RN(encoder_back) * b, int i, int32_t first, int32_t end)
{
    const RN(encoder) *e = b->encoder;
    const sked_i_sizes *s = &e->layout->sizes;
    const sked_i_layer_at *at = &e->layout->layer[i];
    const RN(layer_state) *l = &e->layer[i];
    const RN(layer_back) *d = &b->layer[i];
    const real *w = b->parameter;
    const int64_t wide = (int64_t)first * s->mlp;
    linear_back(e, first, end, s->mlp, s->dim, w + at->mlp2_weight, d->dout, d->active);
    e->kernels->film_grad(end - first, s->mlp, l->hidden + wide, l->scale, l->active + wide, d->active + wide,
                          d->inner + wide, NULL, NULL);
    linear_back(e, first, end, s->dim, s->mlp, w + at->mlp1_weight, d->inner, d->norm2);
    add_rows(e, first, end, d->dout, d->middle);
    norm_back(e, first, end, l->middle, w + at->norm2_gain, l->mean2, l->rstd2, d->norm2, d->middle);
    linear_back(e, first, end, SKED_I_HEADS * s->head, s->dim, w + at->merge_weight, d->middle, d->mixed);
}

/* From what attention looks at to what the layer gets. */
static void look_back(const RN(encoder_back) * b, int i, int32_t first, int32_t end)
{
    const RN(encoder) *e = b->encoder;
    const sked_i_sizes *s = &e->layout->sizes;
    const sked_i_layer_at *at = &e->layout->layer[i];
    const RN(layer_state) *l = &e->layer[i];
    const RN(layer_back) *d = &b->layer[i];
    const real *w = b->parameter;
    real *din = i > 0 ? b->layer[i - 1].dout : b->din;
    linear_back(e, first, end, s->dim, 3 * SKED_I_HEADS * s->head, w + at->qkv_weight, d->qkv, d->norm1);
    add_rows(e, first, end, d->middle, din);
    norm_back(e, first, end, l->in, w + at->norm1_gain, l->mean1, l->rstd1, d->norm1, din);
}

static void attention_back(RN(encoder_back) * b, int i, int32_t first_head, int32_t end_head)
{
    const RN(encoder) *e = b->encoder;
    const RN(layer_state) *l = &e->layer[i];
    const RN(layer_back) *d = &b->layer[i];
    for (int32_t first = 0, end; first < e->n; first = end) {
        if (sked_i_limit_heard(e->limit)) {
            __atomic_store_n(&b->stopped, true, __ATOMIC_RELAXED);
            return;
        }
        end = next_rows(e, first, e->n);
        e->kernels->attention_grad(e->masks, first, end, first_head, end_head, e->layout->sizes.head, l->qkv,
                                   l->mixed, l->lse, d->mixed, d->qkv);
    }
}

/* dw += x^T dy, db += dy over all rows. */
static void weight_back(const RN(encoder) * e, int32_t p, int32_t q, const real *x, const real *dy, real *dw,
                        real *db)
{
    e->kernels->linear_grad(e->n, p, q, x, NULL, dy, NULL, dw, db);
}

static void gain_back(const RN(encoder) * e, const real *x, const real *mean, const real *rstd,
                      const real *dy, real *dgain, real *dbias)
{
    e->kernels->norm_grad(e->n, e->layout->sizes.dim, x, NULL, mean, rstd, dy, NULL, dgain, dbias);
}

/* Of FiLM in every layer, and of the temperature's own network. */
static void heat_back(const RN(encoder_back) * b)
{
    const RN(encoder) *e = b->encoder;
    const RN(kernels) *k = e->kernels;
    const sked_i_sizes *s = &e->layout->sizes;
    const real *w = b->parameter;
    real *dw = b->dparameter;
    for (int i = s->layers - 1; i >= 0; i--) {
        const RN(layer_state) *l = &e->layer[i];
        memset(b->film, 0, 2 * (size_t)s->mlp * sizeof *b->film);
        k->film_grad(e->n, s->mlp, l->hidden, l->scale, l->active, b->layer[i].active, NULL, b->film,
                     b->film + s->mlp);
        RN(film_back)
        (e->layout, k, w, &e->heat, e->layout->layer[i].scale_weight, s->mlp, b->film, b->film + s->mlp,
         b->dheat, dw);
    }
    RN(heat_grad)(e->layout, k, w, &e->heat, b->dheat, b->dfirst, dw);
}

/* The weights of a layer: queries, keys and values, which are the most, then those that need no attention. */
enum { QUERIES, KEYS, VALUES, GAINS, MLP2, MLP1, MERGE, WEIGHTS };

static void layer_weights(const RN(encoder_back) * b, int i, int which)
{
    const RN(encoder) *e = b->encoder;
    const sked_i_sizes *s = &e->layout->sizes;
    const sked_i_layer_at *at = &e->layout->layer[i];
    const RN(layer_state) *l = &e->layer[i];
    const RN(layer_back) *d = &b->layer[i];
    const int32_t inner = SKED_I_HEADS * s->head;
    real *dw = b->dparameter;
    switch (which) {
    case QUERIES:
    case KEYS:
    case VALUES:
        e->kernels->weight_grad(e->n, s->dim, 3 * inner, which * inner, (which + 1) * inner, l->norm1, d->qkv,
                                dw + at->qkv_weight, dw + at->qkv_bias);
        break;
    case MLP2:
        weight_back(e, s->mlp, s->dim, l->active, d->dout, dw + at->mlp2_weight, dw + at->mlp2_bias);
        break;
    case MLP1:
        weight_back(e, s->dim, s->mlp, l->norm2, d->inner, dw + at->mlp1_weight, dw + at->mlp1_bias);
        break;
    case MERGE:
        weight_back(e, inner, s->dim, l->mixed, d->middle, dw + at->merge_weight, dw + at->merge_bias);
        break;
    default:
        gain_back(e, l->middle, l->mean2, l->rstd2, d->norm2, dw + at->norm2_gain, dw + at->norm2_bias);
        gain_back(e, l->in, l->mean1, l->rstd1, d->norm1, dw + at->norm1_gain, dw + at->norm1_bias);
    }
}

static void outer_weights(const RN(encoder_back) * b)
{
    const RN(encoder) *e = b->encoder;
    const sked_i_layout *at = e->layout;
    real *dw = b->dparameter;
    weight_back(e, SKED_I_STATIC_FEATURES, at->sizes.dim, e->feature, b->din, dw + at->input_weight,
                dw + at->input_bias);
    gain_back(e, e->last, e->final_mean, e->final_rstd, b->dout, dw + at->final_gain, dw + at->final_bias);
}

/*
 * Stages: rows, attention of the last layer, rows, attention of the one before, ..., rows, rest. A matrix of
 * weights is taken in the first stage that has time for it: beside the attention of layer i those below it in
 * the layer, and those of layer i + 1 that had to wait for attention; beside the last rows queries, keys and
 * values of layer 0.
 */
static int weights_beside(int layers, int stage)
{
    const int i = layers - 1 - stage / 2;
    if (stage == 2 * layers)
        return GAINS; /* those before it */
    if (stage % 2 == 0 || stage > 2 * layers)
        return 0;
    return WEIGHTS - MLP2 + (i + 1 < layers ? MLP2 : 0) + (i == 0);
}

static void run_weights(const RN(encoder_back) * b, int stage, int task)
{
    const int layers = b->encoder->layout->sizes.layers, i = layers - 1 - stage / 2;
    if (stage == 2 * layers)
        layer_weights(b, 0, task);
    else if (task < WEIGHTS - MLP2)
        layer_weights(b, i, MLP2 + task);
    else if (i + 1 < layers && task < WEIGHTS)
        layer_weights(b, i + 1, task - (WEIGHTS - MLP2));
    else
        heat_back(b);
}

int RN(encoder_back_pieces)(const RN(encoder_back) * b, int stage, int threads)
{
    const int layers = b->encoder->layout->sizes.layers, last = 2 * layers + 1;
    const int beside = threads > 1 ? weights_beside(layers, stage) : 0;
    if (stage > last)
        return 0;
    if (stage == last)
        return threads > 1 ? 2 : 1;
    if (stage % 2 == 1)
        return threads > 1 ? SKED_I_HEADS + beside : 1;
    return RN(encoder_row_pieces)(b->encoder, threads) + beside;
}

static void rows_back(RN(encoder_back) * b, int stage, int32_t first, int32_t end)
{
    const RN(encoder) *e = b->encoder;
    const int layers = e->layout->sizes.layers, above = layers - stage / 2; /* attention of which is done */
    if (stage == 0)
        norm_back(e, first, end, e->last, b->parameter + e->layout->final_gain, e->final_mean, e->final_rstd,
                  b->dout, b->layer[layers - 1].dout);
    else
        look_back(b, above, first, end);
    if (above > 0)
        mlp_back(b, above - 1, first, end);
}

static void run_stage(RN(encoder_back) * b, int stage, int piece, int pieces)
{
    const RN(encoder) *e = b->encoder;
    const int layers = e->layout->sizes.layers;
    if (stage % 2 == 0)
        rows_back(b, stage, RN(encoder_row)(e, piece, pieces), RN(encoder_row)(e, piece + 1, pieces));
    else if (stage < 2 * layers)
        attention_back(b, layers - 1 - stage / 2, SKED_I_HEADS * piece / pieces,
                       SKED_I_HEADS * (piece + 1) / pieces);
    if (stage == 2 * layers + 1 && piece == 0)
        layer_weights(b, 0, GAINS);
    if (stage == 2 * layers + 1 && piece == pieces - 1)
        outer_weights(b);
}

void RN(encoder_back_run)(RN(encoder_back) * b, int stage, int piece, int pieces)
{
    const int beside = weights_beside(b->encoder->layout->sizes.layers, stage);
    const int own = pieces > beside ? pieces - beside : 1; /* pieces of the stage itself */
    if (__atomic_load_n(&b->stopped, __ATOMIC_RELAXED))
        return;
    if (piece < own)
        run_stage(b, stage, piece, own);
    else
        run_weights(b, stage, piece - own);
    for (int k = 0; k < beside && pieces == 1; k++)
        run_weights(b, stage, k);
}
