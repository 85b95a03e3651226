#include "method/gflownet/once.h"

#include "engine/network/pieces.h"

#include <math.h>
#include <string.h>

/* Lays the pieces out in block, or only counts where it is NULL. */
static int64_t lay_out(RN(once) * p, real *block)
{
    const sked_i_sizes *s = &p->base.layout->sizes;
    const int64_t n = p->base.instance->n, states = 2 * s->context + SKED_I_STATE_FEATURES;
    RN(cutter) c = {.block = block};
    p->feature = RN(cut)(&c, n, SKED_I_STATIC_FEATURES);
    p->plain = RN(cut)(&c, n, s->width);
    p->op = RN(cut)(&c, n, s->width);
    p->wait = RN(cut)(&c, n, s->context);
    p->last = RN(cut)(&c, n, s->context);
    p->scale = RN(cut)(&c, 1, s->width);
    p->shift = RN(cut)(&c, 1, s->width);
    p->device_weight = RN(cut)(&c, s->context, s->width);
    p->state_weight = RN(cut)(&c, states, s->width);
    p->pair_weight = RN(cut)(&c, SKED_I_PAIR_FEATURES, s->width);
    p->out = RN(cut)(&c, 1, s->width);
    p->direct = RN(cut)(&c, 1, SKED_I_DIRECT_FEATURES);
    p->empty = RN(cut)(&c, 1, s->context);
    p->empty_part = RN(cut)(&c, 1, s->width);
    p->first_wait = RN(cut)(&c, n, s->context);
    p->first_sum = RN(cut)(&c, 1, s->context);
    return c.used;
}

static void once_destroy(RN(policy) * policy)
{
    RN(once) *p = (RN(once) *)policy;
    RN(encoder_destroy)(p->encoder);
    sked_i_arena_free(&p->arena);
    free(p);
}

static sked_status once_create(const sked_i_instance *x, const sked_i_layout *layout,
                               const RN(kernels) * kernels, RN(policy) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    real *block;
    RN(once) *p = NULL;
    const int64_t features = (int64_t)x->n * SKED_I_STATIC_FEATURES;
    SKED_NEW0(p, 1);
    p->base = (RN(policy)){.kind = &RN(policy_once), .instance = x, .layout = layout, .kernels = kernels};
    SKED_BLOCK(&p->arena, block, lay_out(p, NULL));
    lay_out(p, block);
    for (int64_t i = 0; i < features; i++)
        p->feature[i] = (real)x->feature[i];
    SKED_TRY(RN(encoder_create)(layout, kernels, &x->masks, p->feature, &p->encoder, err));
    p->encoder->limit = x->limit;
    *out = &p->base;
    p = NULL;
cleanup:
    if (p)
        once_destroy(&p->base);
    return st;
}

static void scale_columns(int64_t rows, int32_t columns, const real *w, const real *scale, real *out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int32_t c = 0; c < columns; c++)
            out[i * columns + c] = w[i * columns + c] * scale[c];
}

static void add_to(int64_t n, const real *x, real *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

/* What the unscheduled ops say before anything is scheduled; walks start from a copy. */
static void first_waits(RN(once) * p, int32_t first, int32_t end)
{
    const int32_t width = p->base.layout->sizes.context;
    const real *w = p->base.parameter + p->base.layout->wait_feature;
    for (int64_t j = first; j < end; j++) {
        const real ready = p->base.instance->waits[j] == 0, tail = (real)p->base.instance->tail[j];
        for (int32_t c = 0; c < width; c++) {
            const real z = p->wait[j * width + c] + ready * w[width + c] + tail * w[2 * width + c];
            p->first_wait[j * width + c] = z > 0 ? z : 0;
        }
    }
}

static void sum_first_waits(RN(once) * p)
{
    const int32_t width = p->base.layout->sizes.context;
    memset(p->first_sum, 0, (size_t)width * sizeof *p->first_sum);
    for (int64_t j = 0; j < p->base.instance->n; j++)
        for (int32_t c = 0; c < width; c++)
            p->first_sum[c] += p->first_wait[j * width + c];
}

/*
 * All of a vector's weights move at once: with this share an update changes the weights of the direct path by
 * heat no faster than by their bias.
 */
static const real heat_share = (real)0.0625;

static const real list_rule[SKED_I_DIRECT_FEATURES] = SKED_I_LIST_RULE;

static void prepare_logits(RN(once) * p)
{
    const sked_i_layout *at = p->base.layout;
    const real *w = p->base.parameter;
    p->sharpness = (real)sked_i_instance_sharpness(p->base.instance, p->base.temperature);
    for (int k = 0; k < SKED_I_DIRECT_FEATURES; k++) { /* too few for a kernel */
        real sum = 0;
        for (int32_t h = 0; h < at->sizes.temperature; h++)
            sum += p->encoder->heat.second[h] * w[at->direct_weight + h * SKED_I_DIRECT_FEATURES + k];
        p->direct[k] = p->sharpness * (w[at->direct_bias + k] + heat_share * sum);
    }
    const real trust = (real)p->base.trust;
    if (trust < 1)
        for (int k = 0; k < SKED_I_DIRECT_FEATURES; k++)
            p->direct[k] = trust * p->direct[k] + (1 - trust) * p->sharpness * list_rule[k];
    for (int32_t c = 0; c < at->sizes.width; c++)
        p->out[c] = trust * p->sharpness * w[at->out_weight + c];
}

/* What depends on temperature and weights only. */
static void prepare_weights(RN(once) * p)
{
    const RN(kernels) *k = p->base.kernels;
    const sked_i_layout *at = p->base.layout;
    const sked_i_sizes *s = &at->sizes;
    const real *w = p->base.parameter;
    RN(film_run)(at, k, w, &p->encoder->heat, at->scale_weight, s->width, p->scale, p->shift);
    scale_columns(s->context, s->width, w + at->device_weight, p->scale, p->device_weight);
    scale_columns(2 * s->context + SKED_I_STATE_FEATURES, s->width, w + at->state_weight, p->scale,
                  p->state_weight);
    scale_columns(SKED_I_PAIR_FEATURES, s->width, w + at->pair_weight, p->scale, p->pair_weight);
    for (int32_t c = 0; c < s->context; c++)
        p->empty[c] = w[at->empty_device + c] > 0 ? w[at->empty_device + c] : 0;
    k->linear(1, s->context, s->width, p->empty, p->device_weight, NULL, p->empty_part);
    prepare_logits(p);
}

static void prepare_rows(RN(once) * p, int32_t first, int32_t end)
{
    const RN(kernels) *k = p->base.kernels;
    const sked_i_layout *at = p->base.layout;
    const sked_i_sizes *s = &at->sizes;
    const int64_t op = (int64_t)first * s->width, context = (int64_t)first * s->context;
    const real *w = p->base.parameter, *e = p->encoder->out + (int64_t)first * s->dim;
    k->linear(end - first, s->dim, s->width, e, w + at->op_weight, w + at->op_bias, p->plain + op);
    k->linear(end - first, s->dim, s->context, e, w + at->wait_weight, w + at->wait_bias, p->wait + context);
    k->linear(end - first, s->dim, s->context, e, w + at->last_weight, w + at->last_bias, p->last + context);
    scale_columns(end - first, s->width, p->plain + op, p->scale, p->op + op);
    for (int64_t i = first; i < end; i++)
        add_to(s->width, p->shift, p->op + i * s->width);
    first_waits(p, first, end);
}

/* The stages of the encoder, the last one with the rows made of it, and a sum. */
static int once_prepare_pieces(const RN(policy) * policy, int stage, int threads)
{
    const RN(once) *p = (const RN(once) *)policy;
    const int layers = policy->layout->sizes.layers;
    return stage <= layers ? RN(encoder_row_pieces)(p->encoder, threads) : stage == layers + 1;
}

/* Where the limit is reached on the way nothing will walk. */
static void once_prepare(RN(policy) * policy, int stage, int piece, int pieces)
{
    RN(once) *p = (RN(once) *)policy;
    const int layers = policy->layout->sizes.layers;
    const int32_t first = RN(encoder_row)(p->encoder, piece, pieces);
    const int32_t end = RN(encoder_row)(p->encoder, piece + 1, pieces);
    double inputs[SKED_I_HEAT_FEATURES];
    if (stage > layers) {
        sum_first_waits(p);
        return;
    }
    sked_i_instance_heat(policy->instance, policy->temperature, inputs);
    RN(encoder_rows)(p->encoder, policy->parameter, inputs, stage, first, end);
    if (stage == 0 && first == 0)
        prepare_weights(p);
    if (stage == layers)
        prepare_rows(p, first, end);
}

int64_t RN(once_gradient_lay_out)(const RN(once) * p, real *block, RN(once_gradient) * out)
{
    const sked_i_sizes *s = &p->base.layout->sizes;
    const int64_t n = p->base.instance->n, width = s->width, context = s->context;
    const bool learned = s->backward == SKED_I_BACKWARD_LEARNED;
    RN(cutter) c = {.block = block};
    out->op = RN(cut)(&c, n, width);
    out->wait = RN(cut)(&c, n, context);
    out->last = RN(cut)(&c, n, context);
    out->device_weight = RN(cut)(&c, context, width);
    out->state_weight = RN(cut)(&c, 2 * context + SKED_I_STATE_FEATURES, width);
    out->pair_weight = RN(cut)(&c, SKED_I_PAIR_FEATURES, width);
    out->out = RN(cut)(&c, 1, width);
    out->direct = RN(cut)(&c, 1, SKED_I_DIRECT_FEATURES);
    out->wait_feature = RN(cut)(&c, SKED_I_WAIT_FEATURES, context);
    out->last_feature = RN(cut)(&c, SKED_I_LAST_FEATURES, context);
    out->empty = RN(cut)(&c, 1, context);
    out->empty_part = RN(cut)(&c, 1, width);
    out->back_device = RN(cut)(&c, learned ? context : 0, width);
    out->back_state = RN(cut)(&c, learned ? 2 * context + SKED_I_BACK_FEATURES : 0, width);
    out->back_bias = RN(cut)(&c, 1, learned ? width : 0);
    out->back_out = RN(cut)(&c, 1, learned ? width : 0);
    return c.used;
}

static int64_t once_gradient_size(const RN(policy) * policy)
{
    RN(once_gradient) g;
    return RN(once_gradient_lay_out)((const RN(once) *)policy, NULL, &g);
}

/* w' = w * scale by columns: from the gradient of w' to those of w and of scale. */
static void scale_columns_grad(int64_t rows, int32_t columns, const real *w, const real *scale,
                               const real *dscaled, real *dw, real *dscale)
{
    for (int64_t i = 0; i < rows; i++)
        for (int32_t c = 0; c < columns; c++) {
            dw[i * columns + c] += dscaled[i * columns + c] * scale[c];
            dscale[c] += dscaled[i * columns + c] * w[i * columns + c];
        }
}

/* Undoes the FiLM fold: weights into dw, op rows into dplain, and dfilm = gradient of [scale, shift]. */
static void fold_grad(const RN(once) * p, const RN(once_gradient) * g, real *dplain, real *dfilm, real *dw)
{
    const sked_i_layout *at = p->base.layout;
    const sked_i_sizes *s = &at->sizes;
    const real *w = p->base.parameter;
    p->base.kernels->linear_grad(1, s->context, s->width, p->empty, p->device_weight, g->empty_part, g->empty,
                                 g->device_weight, NULL);
    for (int32_t c = 0; c < s->context; c++)
        dw[at->empty_device + c] += p->empty[c] > 0 ? g->empty[c] : 0;
    scale_columns_grad(p->base.instance->n, s->width, p->plain, p->scale, g->op, dplain, dfilm);
    for (int64_t i = 0; i < p->base.instance->n; i++)
        add_to(s->width, g->op + i * s->width, dfilm + s->width);
    scale_columns_grad(s->context, s->width, w + at->device_weight, p->scale, g->device_weight,
                       dw + at->device_weight, dfilm);
    scale_columns_grad(2 * s->context + SKED_I_STATE_FEATURES, s->width, w + at->state_weight, p->scale,
                       g->state_weight, dw + at->state_weight, dfilm);
    scale_columns_grad(SKED_I_PAIR_FEATURES, s->width, w + at->pair_weight, p->scale, g->pair_weight,
                       dw + at->pair_weight, dfilm);
    for (int32_t c = 0; c < s->width; c++)
        dw[at->out_weight + c] += p->sharpness * g->out[c];
    add_to((int64_t)SKED_I_WAIT_FEATURES * s->context, g->wait_feature, dw + at->wait_feature);
    add_to((int64_t)SKED_I_LAST_FEATURES * s->context, g->last_feature, dw + at->last_feature);
    if (s->backward == SKED_I_BACKWARD_LEARNED) {
        const int64_t width = s->width;
        add_to(s->context * width, g->back_device, dw + at->back_device);
        add_to((2 * s->context + SKED_I_BACK_FEATURES) * width, g->back_state, dw + at->back_state);
        add_to(width, g->back_bias, dw + at->back_bias);
        add_to(width, g->back_out, dw + at->back_out);
    }
}

typedef struct back {
    RN(back) base;
    RN(once_gradient) g;
    RN(encoder_back) encoder;
    sked_i_arena arena;
    real *de, *dplain;   /* [n, dim], [n, width] */
    real *dfilm, *dheat; /* [2 * width], [temperature] */
} back;

static sked_status once_back_end(RN(back) * generic, sked_error *err)
{
    back *b = (back *)generic;
    const bool stopped = b->encoder.stopped;
    RN(encoder_back_clear)(&b->encoder);
    sked_i_arena_free(&b->arena);
    free(b);
    return stopped ? sked_i_limit_fail(err) : SKED_OK;
}

static sked_status once_back_begin(const RN(policy) * policy, RN(gradient) * gradient, real *dparameter,
                                   RN(back) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const RN(once) *p = (const RN(once) *)policy;
    const sked_i_sizes *s = &policy->layout->sizes;
    const int64_t n = policy->instance->n;
    back *b = NULL;
    SKED_NEW0(b, 1);
    b->base = (RN(back)){policy, gradient, dparameter};
    SKED_OWN0(&b->arena, b->de, n * s->dim);
    SKED_OWN0(&b->arena, b->dplain, n * s->width);
    SKED_OWN0(&b->arena, b->dfilm, 2 * s->width);
    SKED_OWN0(&b->arena, b->dheat, s->temperature);
    SKED_TRY(
        RN(encoder_back_init)(&b->encoder, p->encoder, policy->parameter, b->de, b->dheat, dparameter, err));
    *out = &b->base;
    b = NULL;
cleanup:
    if (b) {
        RN(encoder_back_clear)(&b->encoder);
        sked_i_arena_free(&b->arena);
        free(b);
    }
    return st;
}

/* What lies between the walks and the rows of the encoder. */
static void heads_back(back *b)
{
    const RN(once) *p = (const RN(once) *)b->base.policy;
    const RN(kernels) *k = p->base.kernels;
    const sked_i_layout *at = p->base.layout;
    const sked_i_sizes *s = &at->sizes;
    const real *w = p->base.parameter, *heat = p->encoder->heat.second;
    real *dw = b->base.dparameter, *ddirect = b->g.direct;
    fold_grad(p, &b->g, b->dplain, b->dfilm, dw);
    RN(film_back)
    (at, k, w, &p->encoder->heat, at->scale_weight, s->width, b->dfilm, b->dfilm + s->width, b->dheat, dw);
    for (int i = 0; i < SKED_I_DIRECT_FEATURES; i++)
        dw[at->direct_bias + i] += p->sharpness * ddirect[i];
    for (int i = 0; i < SKED_I_DIRECT_FEATURES; i++)
        ddirect[i] *= p->sharpness * heat_share;
    for (int32_t h = 0; h < s->temperature; h++)
        for (int i = 0; i < SKED_I_DIRECT_FEATURES; i++) {
            const int64_t cell = at->direct_weight + h * SKED_I_DIRECT_FEATURES + i;
            b->dheat[h] += ddirect[i] * w[cell];
            dw[cell] += heat[h] * ddirect[i];
        }
}

/* The three matrices that read the embedding: what they are given back, and where they lie. */
enum { READERS = 3 };
typedef struct reader {
    const real *dy;
    int64_t weight, bias;
    int32_t columns;
} reader;

static reader reader_at(const back *b, int which)
{
    const sked_i_layout *at = b->base.policy->layout;
    const sked_i_sizes *s = &at->sizes;
    const reader all[READERS] = {{b->dplain, at->op_weight, at->op_bias, s->width},
                                 {b->g.wait, at->wait_weight, at->wait_bias, s->context},
                                 {b->g.last, at->last_weight, at->last_bias, s->context}};
    return all[which];
}

static void embedding_back(const back *b, int32_t first, int32_t end)
{
    const RN(policy) *p = b->base.policy;
    const int32_t dim = p->layout->sizes.dim;
    for (int r = 0; r < READERS; r++) {
        const reader x = reader_at(b, r);
        p->kernels->linear_grad(end - first, dim, x.columns, NULL, p->parameter + x.weight,
                                x.dy + (int64_t)first * x.columns, b->de + (int64_t)first * dim, NULL, NULL);
    }
}

static void reader_back(const back *b, int which)
{
    const RN(policy) *p = b->base.policy;
    const reader x = reader_at(b, which);
    p->kernels->linear_grad(p->instance->n, p->layout->sizes.dim, x.columns,
                            ((const RN(once) *)p)->encoder->out, NULL, x.dy, NULL,
                            b->base.dparameter + x.weight, b->base.dparameter + x.bias);
}

/* Stage 0 on its own, then those of the encoder; the first of them begins with the rows of the embedding, and
 * the readers' weights follow it. */
static int once_back_pieces(const RN(back) * generic, int stage, int threads)
{
    const back *b = (const back *)generic;
    return stage == 0 ? 1 : RN(encoder_back_pieces)(&b->encoder, stage - 1, threads);
}

static void once_back_run(RN(back) * generic, int stage, int piece, int pieces)
{
    back *b = (back *)generic;
    const RN(encoder) *e = b->encoder.encoder;
    if (stage == 0) {
        RN(once_gradient_lay_out)((const RN(once) *)generic->policy, b->base.gradient->block, &b->g);
        heads_back(b);
        return;
    }
    if (stage == 1)
        embedding_back(b, RN(encoder_row)(e, piece, pieces), RN(encoder_row)(e, piece + 1, pieces));
    for (int r = 0; r < READERS && stage == 2; r++) /* beside attention: more pieces than readers, or one */
        if (pieces == 1 || piece == pieces - 1 - r)
            reader_back(b, r);
    RN(encoder_back_run)(&b->encoder, stage - 1, piece, pieces);
}

const RN(policy_kind) RN(policy_once) = {
    .create = once_create,
    .destroy = once_destroy,
    .prepare_pieces = once_prepare_pieces,
    .prepare = once_prepare,
    .gradient_size = once_gradient_size,
    .back_begin = once_back_begin,
    .back_pieces = once_back_pieces,
    .back_run = once_back_run,
    .back_end = once_back_end,
    .walker_create = RN(once_walker_create),
    .walker_destroy = RN(once_walker_destroy),
    .walk = RN(once_walk),
};
