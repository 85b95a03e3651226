#include "method/gflownet/once.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Lays the pieces out in block, or only counts where it is NULL. */
static int64_t lay_out(RN(once) * p, real *block)
{
    const sked_i_sizes *s = &p->base.layout->sizes;
    const int64_t n = p->base.instance->n, states = 2 * s->context + SKED_I_STATE_FEATURES;
    int64_t used = 0;
#define PIECE(name, count)                     \
    do {                                       \
        p->name = block ? block + used : NULL; \
        used += (count);                       \
    } while (0)
    PIECE(plain, n * s->width);
    PIECE(op, n * s->width);
    PIECE(wait, n * s->context);
    PIECE(last, n * s->context);
    PIECE(scale, s->width);
    PIECE(shift, s->width);
    PIECE(device_weight, (int64_t)s->context * s->width);
    PIECE(state_weight, states * s->width);
    PIECE(pair_weight, (int64_t)SKED_I_PAIR_FEATURES * s->width);
    PIECE(out, s->width);
    PIECE(direct, SKED_I_DIRECT_FEATURES);
    PIECE(empty, s->context);
    PIECE(empty_part, s->width);
    PIECE(first_wait, n * s->context);
    PIECE(first_sum, s->context);
#undef PIECE
    return used;
}

static void once_destroy(RN(policy) * policy)
{
    RN(once) *p = (RN(once) *)policy;
    RN(encoder_destroy)(p->encoder);
    free(p->feature);
    free(p->block);
    free(p);
}

static sked_status once_create(const sked_i_instance *x, const sked_i_layout *layout,
                               const RN(kernels) * kernels, RN(policy) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    RN(once) *p = NULL;
    const int64_t features = (int64_t)x->n * SKED_I_STATIC_FEATURES;
    SKED_NEW0(p, 1);
    p->base = (RN(policy)){.kind = &RN(policy_once), .instance = x, .layout = layout, .kernels = kernels};
    SKED_NEW(p->feature, features);
    for (int64_t i = 0; i < features; i++)
        p->feature[i] = (real)x->feature[i];
    SKED_NEW0(p->block, lay_out(p, NULL));
    lay_out(p, p->block);
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

/* What the unscheduled ops say before anything is scheduled; walks start from a copy. */
static void first_waits(RN(once) * p)
{
    const int32_t width = p->base.layout->sizes.context;
    const real *w = p->base.parameter + p->base.layout->wait_feature;
    memset(p->first_sum, 0, (size_t)width * sizeof *p->first_sum);
    for (int64_t j = 0; j < p->base.instance->n; j++) {
        const real ready = p->base.instance->waits[j] == 0, tail = (real)p->base.instance->tail[j];
        for (int32_t c = 0; c < width; c++) {
            const real z = p->wait[j * width + c] + ready * w[width + c] + tail * w[2 * width + c];
            p->first_wait[j * width + c] = z > 0 ? z : 0;
            p->first_sum[c] += p->first_wait[j * width + c];
        }
    }
}

/*
 * All of a vector's weights move at once: with this share an update changes the weights of the direct path by
 * heat no faster than by their bias.
 */
static const real heat_share = (real)0.0625;

static void prepare_logits(RN(once) * p)
{
    const sked_i_layout *at = p->base.layout;
    const real *w = p->base.parameter;
    p->sharpness = (real)sked_i_instance_sharpness(p->base.instance, p->base.temperature);
    p->base.kernels->linear(1, at->sizes.temperature, SKED_I_DIRECT_FEATURES, p->encoder->heat.second,
                            w + at->direct_weight, NULL, p->direct);
    for (int k = 0; k < SKED_I_DIRECT_FEATURES; k++)
        p->direct[k] = p->sharpness * (w[at->direct_bias + k] + heat_share * p->direct[k]);
    for (int32_t c = 0; c < at->sizes.width; c++)
        p->out[c] = p->sharpness * w[at->out_weight + c];
}

static void once_prepare(RN(policy) * policy)
{
    RN(once) *p = (RN(once) *)policy;
    const RN(kernels) *k = p->base.kernels;
    const sked_i_layout *at = p->base.layout;
    const sked_i_sizes *s = &at->sizes;
    const int32_t n = p->base.instance->n;
    const real *w = p->base.parameter, *e = p->encoder->out, *heat = p->encoder->heat.second;
    double inputs[SKED_I_HEAT_FEATURES];
    sked_i_instance_heat(p->base.instance, p->base.temperature, inputs);
    if (!RN(encoder_run)(p->encoder, w, inputs))
        return; /* the limit is reached: nothing will walk */
    k->linear(1, s->temperature, s->width, heat, w + at->scale_weight, w + at->scale_bias, p->scale);
    k->linear(1, s->temperature, s->width, heat, w + at->shift_weight, w + at->shift_bias, p->shift);
    k->linear(n, s->dim, s->width, e, w + at->op_weight, w + at->op_bias, p->plain);
    k->linear(n, s->dim, s->context, e, w + at->wait_weight, w + at->wait_bias, p->wait);
    k->linear(n, s->dim, s->context, e, w + at->last_weight, w + at->last_bias, p->last);
    scale_columns(n, s->width, p->plain, p->scale, p->op);
    for (int64_t i = 0; i < (int64_t)n * s->width; i++)
        p->op[i] += p->shift[i % s->width];
    scale_columns(s->context, s->width, w + at->device_weight, p->scale, p->device_weight);
    scale_columns(2 * s->context + SKED_I_STATE_FEATURES, s->width, w + at->state_weight, p->scale,
                  p->state_weight);
    scale_columns(SKED_I_PAIR_FEATURES, s->width, w + at->pair_weight, p->scale, p->pair_weight);
    for (int32_t c = 0; c < s->context; c++)
        p->empty[c] = w[at->empty_device + c] > 0 ? w[at->empty_device + c] : 0;
    k->linear(1, s->context, s->width, p->empty, p->device_weight, NULL, p->empty_part);
    prepare_logits(p);
    first_waits(p);
}

int64_t RN(once_gradient_lay_out)(const RN(once) * p, real *block, RN(once_gradient) * out)
{
    const sked_i_sizes *s = &p->base.layout->sizes;
    const int64_t n = p->base.instance->n, width = s->width, context = s->context;
    const bool learned = s->backward == SKED_I_BACKWARD_LEARNED;
    int64_t used = 0;
#define PIECE(name, count)                       \
    do {                                         \
        out->name = block ? block + used : NULL; \
        used += (count);                         \
    } while (0)
    PIECE(op, n * width);
    PIECE(wait, n * context);
    PIECE(last, n * context);
    PIECE(device_weight, context * width);
    PIECE(state_weight, (2 * context + SKED_I_STATE_FEATURES) * width);
    PIECE(pair_weight, SKED_I_PAIR_FEATURES * width);
    PIECE(out, width);
    PIECE(direct, SKED_I_DIRECT_FEATURES);
    PIECE(wait_feature, SKED_I_WAIT_FEATURES * context);
    PIECE(last_feature, SKED_I_LAST_FEATURES * context);
    PIECE(empty, context);
    PIECE(empty_part, width);
    PIECE(back_device, learned ? context * width : 0);
    PIECE(back_state, learned ? (2 * context + SKED_I_BACK_FEATURES) * width : 0);
    PIECE(back_bias, learned ? width : 0);
    PIECE(back_out, learned ? width : 0);
#undef PIECE
    return used;
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

static void add_to(int64_t n, const real *x, real *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
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
    for (int64_t i = 0; i < (int64_t)p->base.instance->n * s->width; i++)
        dfilm[s->width + i % s->width] += g->op[i];
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

static sked_status once_grad(const RN(policy) * policy, RN(gradient) * gradient, real *dparameter,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    const RN(once) *p = (const RN(once) *)policy;
    RN(once_gradient) g;
    const RN(kernels) *k = p->base.kernels;
    const sked_i_layout *at = p->base.layout;
    const sked_i_sizes *s = &at->sizes;
    const int32_t n = p->base.instance->n;
    const real *w = p->base.parameter, *e = p->encoder->out, *heat = p->encoder->heat.second;
    real *de = NULL, *dplain = NULL, *dfilm = NULL, *dheat = NULL, *dw = dparameter;
    SKED_NEW0(de, (int64_t)n * s->dim);
    SKED_NEW0(dplain, (int64_t)n * s->width);
    SKED_NEW0(dfilm, 2 * s->width);
    SKED_NEW0(dheat, s->temperature);
    RN(once_gradient_lay_out)(p, gradient->block, &g);
    fold_grad(p, &g, dplain, dfilm, dw);
    k->linear_grad(1, s->temperature, s->width, heat, w + at->scale_weight, dfilm, dheat,
                   dw + at->scale_weight, dw + at->scale_bias);
    k->linear_grad(1, s->temperature, s->width, heat, w + at->shift_weight, dfilm + s->width, dheat,
                   dw + at->shift_weight, dw + at->shift_bias);
    for (int i = 0; i < SKED_I_DIRECT_FEATURES; i++)
        dw[at->direct_bias + i] += p->sharpness * g.direct[i];
    for (int i = 0; i < SKED_I_DIRECT_FEATURES; i++)
        g.direct[i] *= p->sharpness * heat_share;
    k->linear_grad(1, s->temperature, SKED_I_DIRECT_FEATURES, heat, w + at->direct_weight, g.direct, dheat,
                   dw + at->direct_weight, NULL);
    k->linear_grad(n, s->dim, s->width, e, w + at->op_weight, dplain, de, dw + at->op_weight,
                   dw + at->op_bias);
    k->linear_grad(n, s->dim, s->context, e, w + at->wait_weight, g.wait, de, dw + at->wait_weight,
                   dw + at->wait_bias);
    k->linear_grad(n, s->dim, s->context, e, w + at->last_weight, g.last, de, dw + at->last_weight,
                   dw + at->last_bias);
    SKED_TRY(RN(encoder_grad)(p->encoder, w, de, dheat, dw, err));
cleanup:
    free(de);
    free(dplain);
    free(dfilm);
    free(dheat);
    return st;
}

const RN(policy_kind) RN(policy_once) = {
    .create = once_create,
    .destroy = once_destroy,
    .prepare = once_prepare,
    .gradient_size = once_gradient_size,
    .grad = once_grad,
    .walker_create = RN(once_walker_create),
    .walker_destroy = RN(once_walker_destroy),
    .walk = RN(once_walk),
};
