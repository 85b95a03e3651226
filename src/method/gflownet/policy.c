#include "method/gflownet/policy.h"

#include "base/memory.h"

#include <string.h>

/* Lays the pieces out in block, or only counts where it is NULL. */
static int64_t lay_out(RN(policy) * p, real *block)
{
    const sked_i_sizes *s = &p->layout->sizes;
    const int64_t n = p->instance->n, states = 2 * s->context + SKED_I_STATE_FEATURES;
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
    PIECE(empty, s->context);
    PIECE(empty_part, s->width);
    PIECE(first_wait, n * s->context);
    PIECE(first_sum, s->context);
#undef PIECE
    return used;
}

sked_status RN(policy_create)(const sked_i_instance *x, const sked_i_layout *layout,
                              const RN(kernels) * kernels, RN(policy) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    RN(policy) *p = NULL;
    const int64_t features = (int64_t)x->n * SKED_I_STATIC_FEATURES;
    SKED_NEW0(p, 1);
    p->instance = x;
    p->layout = layout;
    p->kernels = kernels;
    SKED_NEW(p->feature, features);
    for (int64_t i = 0; i < features; i++)
        p->feature[i] = (real)x->feature[i];
    SKED_NEW0(p->block, lay_out(p, NULL));
    lay_out(p, p->block);
    SKED_TRY(RN(encoder_create)(layout, kernels, &x->masks, p->feature, &p->encoder, err));
    *out = p;
    p = NULL;
cleanup:
    RN(policy_destroy)(p);
    return st;
}

void RN(policy_destroy)(RN(policy) * p)
{
    if (p == NULL)
        return;
    RN(encoder_destroy)(p->encoder);
    free(p->feature);
    free(p->block);
    free(p);
}

static void scale_columns(int64_t rows, int32_t columns, const real *w, const real *scale, real *out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int32_t c = 0; c < columns; c++)
            out[i * columns + c] = w[i * columns + c] * scale[c];
}

/* What the unscheduled ops say before anything is scheduled; walks start from a copy. */
static void first_waits(RN(policy) * p)
{
    const int32_t width = p->layout->sizes.context;
    const real *w = p->parameter + p->layout->wait_feature;
    memset(p->first_sum, 0, (size_t)width * sizeof *p->first_sum);
    for (int64_t j = 0; j < p->instance->n; j++) {
        const real ready = p->instance->waits[j] == 0, tail = (real)p->instance->tail[j];
        for (int32_t c = 0; c < width; c++) {
            const real z = p->wait[j * width + c] + ready * w[width + c] + tail * w[2 * width + c];
            p->first_wait[j * width + c] = z > 0 ? z : 0;
            p->first_sum[c] += p->first_wait[j * width + c];
        }
    }
}

void RN(policy_prepare)(RN(policy) * p, const real *parameter, double temperature)
{
    const RN(kernels) *k = p->kernels;
    const sked_i_layout *at = p->layout;
    const sked_i_sizes *s = &at->sizes;
    const int32_t n = p->instance->n;
    const real *w = parameter, *e = p->encoder->out, *heat = p->encoder->heat2;
    p->parameter = parameter;
    p->temperature = temperature;
    RN(encoder_run)(p->encoder, parameter, sked_i_log(temperature));
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
    first_waits(p);
}

sked_status RN(gradient_create)(const RN(policy) * p, RN(gradient) * out, sked_error *err)
{
    const sked_i_sizes *s = &p->layout->sizes;
    const int64_t n = p->instance->n;
    const int64_t count[] = {n * s->width,
                             n * s->context,
                             n * s->context,
                             (int64_t)s->context * s->width,
                             (2 * s->context + SKED_I_STATE_FEATURES) * (int64_t)s->width,
                             (int64_t)SKED_I_PAIR_FEATURES * s->width,
                             s->width,
                             (int64_t)SKED_I_WAIT_FEATURES * s->context,
                             (int64_t)SKED_I_LAST_FEATURES * s->context,
                             s->context,
                             s->width};
    enum { pieces = sizeof count / sizeof *count };
    real **piece[pieces] = {&out->op,           &out->wait,        &out->last,      &out->device_weight,
                            &out->state_weight, &out->pair_weight, &out->out,       &out->wait_feature,
                            &out->last_feature, &out->empty,       &out->empty_part};
    out->size = 0;
    for (int i = 0; i < pieces; i++)
        out->size += count[i];
    out->block = sked_i_alloc_zero(out->size, sizeof *out->block);
    if (out->block == NULL)
        return sked_i_no_memory(err);
    real *next = out->block;
    for (int i = 0; i < pieces; i++) {
        *piece[i] = next;
        next += count[i];
    }
    return SKED_OK;
}

void RN(gradient_clear)(RN(gradient) * g)
{
    free(g->block);
    *g = (RN(gradient)){0};
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
static void fold_grad(const RN(policy) * p, RN(gradient) * g, real *dplain, real *dfilm, real *dw)
{
    const sked_i_layout *at = p->layout;
    const sked_i_sizes *s = &at->sizes;
    const real *w = p->parameter;
    p->kernels->linear_grad(1, s->context, s->width, p->empty, p->device_weight, g->empty_part, g->empty,
                            g->device_weight, NULL);
    for (int32_t c = 0; c < s->context; c++)
        dw[at->empty_device + c] += p->empty[c] > 0 ? g->empty[c] : 0;
    scale_columns_grad(p->instance->n, s->width, p->plain, p->scale, g->op, dplain, dfilm);
    for (int64_t i = 0; i < (int64_t)p->instance->n * s->width; i++)
        dfilm[s->width + i % s->width] += g->op[i];
    scale_columns_grad(s->context, s->width, w + at->device_weight, p->scale, g->device_weight,
                       dw + at->device_weight, dfilm);
    scale_columns_grad(2 * s->context + SKED_I_STATE_FEATURES, s->width, w + at->state_weight, p->scale,
                       g->state_weight, dw + at->state_weight, dfilm);
    scale_columns_grad(SKED_I_PAIR_FEATURES, s->width, w + at->pair_weight, p->scale, g->pair_weight,
                       dw + at->pair_weight, dfilm);
    add_to(s->width, g->out, dw + at->out_weight);
    add_to((int64_t)SKED_I_WAIT_FEATURES * s->context, g->wait_feature, dw + at->wait_feature);
    add_to((int64_t)SKED_I_LAST_FEATURES * s->context, g->last_feature, dw + at->last_feature);
}

sked_status RN(policy_grad)(const RN(policy) * p, RN(gradient) * g, real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    const RN(kernels) *k = p->kernels;
    const sked_i_layout *at = p->layout;
    const sked_i_sizes *s = &at->sizes;
    const int32_t n = p->instance->n;
    const real *w = p->parameter, *e = p->encoder->out, *heat = p->encoder->heat2;
    real *de = NULL, *dplain = NULL, *dfilm = NULL, *dheat = NULL, *dw = dparameter;
    SKED_NEW0(de, (int64_t)n * s->dim);
    SKED_NEW0(dplain, (int64_t)n * s->width);
    SKED_NEW0(dfilm, 2 * s->width);
    SKED_NEW0(dheat, s->temperature);
    fold_grad(p, g, dplain, dfilm, dw);
    k->linear_grad(1, s->temperature, s->width, heat, w + at->scale_weight, dfilm, dheat,
                   dw + at->scale_weight, dw + at->scale_bias);
    k->linear_grad(1, s->temperature, s->width, heat, w + at->shift_weight, dfilm + s->width, dheat,
                   dw + at->shift_weight, dw + at->shift_bias);
    k->linear_grad(n, s->dim, s->width, e, w + at->op_weight, dplain, de, dw + at->op_weight,
                   dw + at->op_bias);
    k->linear_grad(n, s->dim, s->context, e, w + at->wait_weight, g->wait, de, dw + at->wait_weight,
                   dw + at->wait_bias);
    k->linear_grad(n, s->dim, s->context, e, w + at->last_weight, g->last, de, dw + at->last_weight,
                   dw + at->last_bias);
    SKED_TRY(RN(encoder_grad)(p->encoder, w, de, dheat, dw, err));
cleanup:
    free(de);
    free(dplain);
    free(dfilm);
    free(dheat);
    return st;
}
