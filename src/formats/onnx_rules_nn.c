/* Shape rules: windows, normalisation, recurrent and attention layers, images, signals. */
#include "formats/onnx_rules.h"

#include <string.h>

typedef sked_i_onnx_tensor tensor;
typedef sked_i_onnx_call call;
enum { max_rank = sked_i_onnx_max_rank, max_values = sked_i_onnx_max_values };

/* ------------------------------------------------------------------ windows */

static bool same_padding(const call *c)
{
    return sked_i_onnx_text_is(c, "auto_pad", "SAME_UPPER") ||
           sked_i_onnx_text_is(c, "auto_pad", "SAME_LOWER");
}

/* Padding of spatial dimension i: both ends, or only its beginning. */
static double padding(const call *c, int i, int spatial, bool both)
{
    const Onnx__AttributeProto *pads = sked_i_onnx_attribute(c, "pads");
    if (sked_i_onnx_text_is(c, "auto_pad", "VALID"))
        return 0;
    const double begin = sked_i_onnx_list_at(pads, (size_t)i, 0);
    return both ? begin + sked_i_onnx_list_at(pads, (size_t)(i + spatial), 0) : begin;
}

static double stride_of(const call *c, int i)
{
    return sked_i_onnx_list_at(sked_i_onnx_attribute(c, "strides"), (size_t)i, 1);
}

/* What a kernel with its holes spans. */
static double span(const call *c, int i, double kernel)
{
    return sked_i_onnx_list_at(sked_i_onnx_attribute(c, "dilations"), (size_t)i, 1) * (kernel - 1) + 1;
}

/* One spatial dimension of a convolution or pooling; NAN: none. */
static double window(const call *c, double size, double kernel, int i, int spatial)
{
    const double stride = stride_of(c, i);
    if (!(stride >= 1))
        return NAN;
    if (same_padding(c))
        return ceil(size / stride);
    const double reach = size + padding(c, i, spatial, true) - span(c, i, kernel);
    if (reach < 0)
        return NAN;
    if (!sked_i_onnx_int(c, "ceil_mode", 0))
        return floor(reach / stride) + 1;
    const double count = ceil(reach / stride) + 1; /* the last window must start inside */
    return (count - 1) * stride >= size + padding(c, i, spatial, false) ? count - 1 : count;
}

/* Size of the kernel in spatial dimension i: the attribute's, else the weights'. */
static double kernel_of(const call *c, const tensor *w, int i)
{
    const Onnx__AttributeProto *shape = sked_i_onnx_attribute(c, "kernel_shape");
    return sked_i_onnx_list_at(shape, (size_t)i, w ? (double)w->dim[i + 2] : NAN);
}

/* N, C, spatial...; the elements of the kernel are returned. */
static double slide(const call *c, const tensor *x, const tensor *w, double channels, tensor *out)
{
    double elements = 1;
    SKED_SHAPE(out, (double)x->dim[0], channels);
    for (int i = 0; i < x->rank - 2; i++) {
        const double kernel = kernel_of(c, w, i);
        sked_i_onnx_put(out, window(c, (double)x->dim[i + 2], kernel, i, x->rank - 2));
        elements *= kernel;
    }
    return elements;
}

void sked_i_onnx_rule_conv(call *c)
{
    const size_t second = strcmp(c->node->op_type, "QLinearConv") == 0 ? 3 : 1;
    const tensor *x = sked_i_onnx_shaped(c, 0, 3), *w = sked_i_onnx_shaped(c, second, 3);
    if (x == NULL || w == NULL || x->rank != w->rank)
        return;
    slide(c, x, w, (double)w->dim[0], &c->out[0]);
    if (w->dim[0] > 0)
        c->flops = 2 * sked_i_onnx_elements(&c->out[0]) * sked_i_onnx_elements(w) / (double)w->dim[0];
}

void sked_i_onnx_rule_conv_transpose(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 3), *w = sked_i_onnx_shaped(c, 1, 3);
    const Onnx__AttributeProto *given = sked_i_onnx_attribute(c, "output_shape");
    const Onnx__AttributeProto *more = sked_i_onnx_attribute(c, "output_padding");
    if (x == NULL || w == NULL || x->rank != w->rank)
        return;
    const int spatial = x->rank - 2;
    SKED_SHAPE(&c->out[0], (double)x->dim[0], (double)w->dim[1] * (double)sked_i_onnx_int(c, "group", 1));
    for (int i = 0; i < spatial; i++) {
        const double size = (double)x->dim[i + 2], stride = stride_of(c, i);
        const double full = stride * (size - 1) + sked_i_onnx_list_at(more, (size_t)i, 0) +
                            span(c, i, kernel_of(c, w, i)) - padding(c, i, spatial, true);
        sked_i_onnx_put(&c->out[0], given             ? sked_i_onnx_list_at(given, (size_t)i, NAN)
                                    : same_padding(c) ? size * stride
                                                      : full);
    }
    if (w->dim[0] > 0)
        c->flops = 2 * sked_i_onnx_elements(x) * sked_i_onnx_elements(w) / (double)w->dim[0];
}

/* MaxPool has a second output, the places of the maxima. */
void sked_i_onnx_rule_pool(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 3);
    if (x == NULL)
        return;
    const double kernel = slide(c, x, NULL, (double)x->dim[1], &c->out[0]);
    c->flops = sked_i_onnx_elements(&c->out[0]) * kernel;
    if (c->n_out > 1)
        sked_i_onnx_copy(&c->out[0], &c->out[1]);
}

void sked_i_onnx_rule_global_pool(call *c)
{
    sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[0]);
    for (int i = 2; i < c->out[0].rank; i++)
        c->out[0].dim[i] = 1;
}

void sked_i_onnx_rule_max_unpool(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 3);
    double given[max_values];
    const int n = sked_i_onnx_list(c, NULL, 2, given);
    if (n >= 0) {
        sked_i_onnx_shape(&c->out[0], n, given);
        return;
    }
    if (x == NULL || sked_i_onnx_in(c, 2) != NULL)
        return;
    SKED_SHAPE(&c->out[0], (double)x->dim[0], (double)x->dim[1]);
    for (int i = 0; i < x->rank - 2; i++)
        sked_i_onnx_put(&c->out[0], ((double)x->dim[i + 2] - 1) * stride_of(c, i) + kernel_of(c, NULL, i) -
                                        padding(c, i, x->rank - 2, true));
}

/* MaxRoiPool (pooled_shape) and RoiAlign (output_height, output_width): one result per region. */
void sked_i_onnx_rule_roi_pool(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 4), *regions = sked_i_onnx_shaped(c, 1, 1);
    const Onnx__AttributeProto *shape = sked_i_onnx_attribute(c, "pooled_shape");
    if (x == NULL || regions == NULL)
        return;
    SKED_SHAPE(&c->out[0], (double)regions->dim[0], (double)x->dim[1],
               sked_i_onnx_list_at(shape, 0, (double)sked_i_onnx_int(c, "output_height", 1)),
               sked_i_onnx_list_at(shape, 1, (double)sked_i_onnx_int(c, "output_width", 1)));
}

/* ------------------------------------------------------------------ normalisation */

/* The second to fifth output (training) hold one number per channel. */
void sked_i_onnx_rule_batch_norm(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    if (x == NULL)
        return;
    sked_i_onnx_copy(x, &c->out[0]);
    for (size_t k = 1; k < c->n_out; k++)
        SKED_SHAPE(&c->out[k], x->rank > 1 ? (double)x->dim[1] : 1);
}

/* The second and third output hold mean and deviation: 1 in place of what was normalised. */
void sked_i_onnx_rule_layer_norm(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const int axis = sked_i_onnx_axis_of(c, x, -1);
    sked_i_onnx_copy(x, &c->out[0]);
    for (size_t k = 1; axis >= 0 && k < c->n_out; k++) {
        sked_i_onnx_copy(x, &c->out[k]);
        for (int i = axis; i < x->rank; i++)
            c->out[k].dim[i] = 1;
    }
}

/* ------------------------------------------------------------------ sequences of vectors */

/* RNN, GRU, LSTM: all hidden states, then the last one, then (LSTM) the last cell. */
void sked_i_onnx_rule_recurrent(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 3), *w = sked_i_onnx_shaped(c, 1, 3);
    const tensor *r = sked_i_onnx_shaped(c, 2, 3);
    tensor unread;
    if (x == NULL || (w == NULL && r == NULL))
        return;
    const bool batch_first = sked_i_onnx_int(c, "layout", 0) != 0;
    const double steps = (double)x->dim[batch_first ? 1 : 0], batch = (double)x->dim[batch_first ? 0 : 1];
    const double ways = (double)(w ? w : r)->dim[0];
    const double hidden = (double)sked_i_onnx_int(c, "hidden_size", r ? r->dim[2] : -1);
    tensor *last[] = {sked_i_onnx_out(c, 1, &unread), sked_i_onnx_out(c, 2, &unread)};
    if (batch_first)
        SKED_SHAPE(&c->out[0], batch, steps, ways, hidden);
    else
        SKED_SHAPE(&c->out[0], steps, ways, batch, hidden);
    for (int k = 0; k < 2; k++)
        SKED_SHAPE(last[k], batch_first ? batch : ways, batch_first ? ways : batch, hidden);
    c->flops = 2 * steps * batch * (w ? sked_i_onnx_elements(w) : 0) +
               2 * steps * batch * (r ? sked_i_onnx_elements(r) : 0);
}

typedef struct heads {
    double batch, count, length, size; /* of one of Q, K, V */
} heads;

/* [batch, heads, length, size], or [batch, length, heads x size] with the number of heads as an attribute. */
static heads heads_of(const call *c, const tensor *t, const char *number)
{
    if (t->rank == 4)
        return (heads){(double)t->dim[0], (double)t->dim[1], (double)t->dim[2], (double)t->dim[3]};
    const double count = (double)sked_i_onnx_int(c, number, 0);
    return (heads){(double)t->dim[0], count, (double)t->dim[1], count > 0 ? (double)t->dim[2] / count : NAN};
}

/* Attention and FlexAttention: the result, the caches of keys and values, the scores. */
void sked_i_onnx_rule_attention(call *c)
{
    const tensor *q = sked_i_onnx_shaped(c, 0, 3), *k = sked_i_onnx_shaped(c, 1, 3);
    const tensor *v = sked_i_onnx_shaped(c, 2, 3), *past = sked_i_onnx_in(c, 4);
    tensor unread;
    if (q == NULL || k == NULL || v == NULL || q->rank > 4 || k->rank > 4 || v->rank > 4)
        return;
    const heads a = heads_of(c, q, "q_num_heads"), b = heads_of(c, k, "kv_num_heads");
    const heads d = heads_of(c, v, "kv_num_heads");
    const double before = past == NULL ? 0 : past->rank == 4 ? (double)past->dim[2] : NAN;
    const double total = before + b.length;
    if (q->rank == 4)
        SKED_SHAPE(&c->out[0], a.batch, a.count, a.length, d.size);
    else
        SKED_SHAPE(&c->out[0], a.batch, a.length, a.count * d.size);
    SKED_SHAPE(sked_i_onnx_out(c, 1, &unread), b.batch, b.count, total, b.size);
    SKED_SHAPE(sked_i_onnx_out(c, 2, &unread), d.batch, d.count, total, d.size);
    SKED_SHAPE(sked_i_onnx_out(c, 3, &unread), a.batch, a.count, a.length, total);
    c->flops = 2 * a.batch * a.count * a.length * total * (a.size + d.size);
}

void sked_i_onnx_rule_linear_attention(call *c)
{
    const tensor *q = sked_i_onnx_shaped(c, 0, 3), *k = sked_i_onnx_shaped(c, 1, 3);
    const tensor *v = sked_i_onnx_shaped(c, 2, 3);
    tensor unread;
    if (q == NULL || k == NULL || v == NULL || q->rank != 3 || k->rank != 3 || v->rank != 3)
        return;
    const heads a = heads_of(c, q, "q_num_heads"), b = heads_of(c, k, "kv_num_heads");
    const heads d = heads_of(c, v, "kv_num_heads");
    SKED_SHAPE(&c->out[0], a.batch, a.length, a.count * d.size);
    SKED_SHAPE(sked_i_onnx_out(c, 1, &unread), b.batch, b.count, b.size, d.size);
    c->flops = 4 * a.batch * a.count * a.length * a.size * d.size;
}

/* The state keeps what the kernel reaches back: one less than its size. */
void sked_i_onnx_rule_causal_conv(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 3), *w = sked_i_onnx_shaped(c, 1, 3);
    tensor unread;
    if (x == NULL || w == NULL)
        return;
    sked_i_onnx_copy(x, &c->out[0]);
    SKED_SHAPE(sked_i_onnx_out(c, 1, &unread), (double)x->dim[0], (double)x->dim[1], (double)w->dim[2] - 1);
    c->flops = 2 * sked_i_onnx_elements(x) * (double)w->dim[2];
}

/* ------------------------------------------------------------------ images */

/* The factor of all resized axes that keeps the aspect ratio; NAN: they may stretch. */
static double common_factor(const call *c, const tensor *x, const int *axis, const double *size, int n)
{
    const bool less = sked_i_onnx_text_is(c, "keep_aspect_ratio_policy", "not_larger");
    if (!less && !sked_i_onnx_text_is(c, "keep_aspect_ratio_policy", "not_smaller"))
        return NAN;
    double factor = NAN;
    for (int i = 0; i < n; i++) {
        const double own = size[i] / (double)x->dim[axis[i]];
        factor = isnan(factor) || (less ? own < factor : own > factor) ? own : factor;
    }
    return factor;
}

/* The resized axes, by `axes` or all of them; their number, or -1. */
static int resized_axes(const call *c, const tensor *x, int *axis)
{
    const Onnx__AttributeProto *list = sked_i_onnx_attribute(c, "axes");
    const int n = list ? (int)(list->n_ints <= max_rank ? list->n_ints : max_rank) : x->rank;
    for (int i = 0; i < n; i++) {
        axis[i] = list ? sked_i_onnx_axis((double)list->ints[i], x->rank) : i;
        if (axis[i] < 0)
            return -1;
    }
    return n;
}

/* Sizes go before scales; operator set 10 had the scales second. */
void sked_i_onnx_rule_resize(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    double list[max_values];
    int axis[max_rank];
    const int n = x ? resized_axes(c, x, axis) : -1;
    if (n < 0)
        return;
    const bool by_size = sked_i_onnx_list(c, NULL, 3, list) == n;
    if (!by_size && sked_i_onnx_list(c, NULL, c->n_in == 2 ? 1 : 2, list) != n)
        return;
    const double factor = by_size ? common_factor(c, x, axis, list, n) : NAN;
    tensor t = *x;
    for (int i = 0; i < n; i++) {
        const double old = (double)x->dim[axis[i]];
        const double size = !by_size ? floor(old * list[i]) : isnan(factor) ? list[i] : rint(old * factor);
        if (!(size >= 0 && size <= 0x1p40))
            return;
        t.dim[axis[i]] = (int64_t)size;
    }
    sked_i_onnx_copy(&t, &c->out[0]);
}

void sked_i_onnx_rule_upsample(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    double scale[max_values];
    if (x == NULL || sked_i_onnx_list(c, "scales", 1, scale) != x->rank)
        return;
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank; i++)
        sked_i_onnx_put(&c->out[0], floor((double)x->dim[i] * scale[i]));
}

void sked_i_onnx_rule_depth_to_space(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 4);
    const double b = (double)sked_i_onnx_int(c, "blocksize", 0);
    if (x != NULL && b > 0)
        SKED_SHAPE(&c->out[0], (double)x->dim[0], floor((double)x->dim[1] / (b * b)), (double)x->dim[2] * b,
                   (double)x->dim[3] * b);
}

void sked_i_onnx_rule_space_to_depth(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 4);
    const double b = (double)sked_i_onnx_int(c, "blocksize", 0);
    if (x != NULL && b > 0)
        SKED_SHAPE(&c->out[0], (double)x->dim[0], (double)x->dim[1] * b * b, floor((double)x->dim[2] / b),
                   floor((double)x->dim[3] / b));
}

/* N, C of the image; the rest of the grid, whose last dimension holds coordinates. */
void sked_i_onnx_rule_grid_sample(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 3), *grid = sked_i_onnx_shaped(c, 1, 3);
    if (x == NULL || grid == NULL)
        return;
    SKED_SHAPE(&c->out[0], (double)x->dim[0], (double)x->dim[1]);
    for (int i = 1; i < grid->rank - 1; i++)
        sked_i_onnx_put(&c->out[0], (double)grid->dim[i]);
}

/* size is N, C, spatial...; a point has as many coordinates as there are spatial dimensions. */
void sked_i_onnx_rule_affine_grid(call *c)
{
    int n = 0;
    const double *size = sked_i_onnx_values(c, 1, &n);
    if (size == NULL || n < 3)
        return;
    SKED_SHAPE(&c->out[0], size[0]);
    for (int i = 2; i < n; i++)
        sked_i_onnx_put(&c->out[0], size[i]);
    sked_i_onnx_put(&c->out[0], n - 2);
}

void sked_i_onnx_rule_col2im(call *c)
{
    int n = 0, m = 0;
    const tensor *x = sked_i_onnx_shaped(c, 0, 3);
    const double *image = sked_i_onnx_values(c, 1, &n), *block = sked_i_onnx_values(c, 2, &m);
    double inner = 1;
    for (int i = 0; block != NULL && i < m; i++)
        inner *= block[i];
    if (x == NULL || image == NULL || block == NULL || !(inner >= 1))
        return;
    SKED_SHAPE(&c->out[0], (double)x->dim[0], floor((double)x->dim[1] / inner));
    for (int i = 0; i < n; i++)
        sked_i_onnx_put(&c->out[0], image[i]);
}

void sked_i_onnx_rule_center_crop_pad(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    int axis[max_rank], n = 0;
    const double *size = sked_i_onnx_values(c, 1, &n);
    if (x == NULL || size == NULL || resized_axes(c, x, axis) != n)
        return;
    sked_i_onnx_copy(x, &c->out[0]);
    for (int i = 0; i < n; i++) {
        if (!(size[i] >= 0 && size[i] <= 0x1p40)) {
            c->out[0].rank = -1;
            return;
        }
        c->out[0].dim[axis[i]] = (int64_t)size[i];
    }
}

/* At most this many boxes of each class in each image survive. */
void sked_i_onnx_rule_non_max_suppression(call *c)
{
    const tensor *scores = sked_i_onnx_shaped(c, 1, 3);
    if (scores == NULL)
        return;
    const double boxes = (double)scores->dim[2];
    const double most = sked_i_onnx_in(c, 2) ? sked_i_onnx_scalar(c, 2, boxes) : 0;
    SKED_SHAPE(&c->out[0], (double)scores->dim[0] * (double)scores->dim[1] * (most < boxes ? most : boxes),
               3);
}

/* ------------------------------------------------------------------ signals */

/* The last dimension holds real and imaginary part; the axis before it is transformed. */
void sked_i_onnx_rule_dft(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 2);
    const bool old = sked_i_onnx_attribute(c, "axis") != NULL || c->n_in < 3;
    const double preset = old ? (double)sked_i_onnx_int(c, "axis", 1) : -2;
    const int axis = x ? sked_i_onnx_axis(sked_i_onnx_scalar(c, 2, preset), x->rank) : -1;
    if (axis < 0 || axis == x->rank - 1)
        return;
    const bool half = sked_i_onnx_int(c, "onesided", 0) != 0, back = sked_i_onnx_int(c, "inverse", 0) != 0;
    const double size = (double)x->dim[axis]; /* of half a spectrum where it is turned back */
    const double length = sked_i_onnx_scalar(c, 1, half && back ? 2 * (size - 1) : size);
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank; i++)
        sked_i_onnx_put(&c->out[0], i == x->rank - 1 ? (half && back ? 1 : 2)
                                    : i != axis      ? (double)x->dim[i]
                                    : half && !back  ? floor(length / 2) + 1
                                                     : length);
    c->flops = 5 * sked_i_onnx_elements(x) * log2(length + 1);
}

void sked_i_onnx_rule_stft(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 2), *shape = sked_i_onnx_shaped(c, 2, 1);
    const double step = sked_i_onnx_scalar(c, 1, NAN);
    const double frame = sked_i_onnx_scalar(c, 3, shape ? (double)shape->dim[0] : NAN);
    if (x == NULL || !(step >= 1) || !(frame >= 1))
        return;
    const bool half = sked_i_onnx_int(c, "onesided", 1) != 0;
    SKED_SHAPE(&c->out[0], (double)x->dim[0], floor(((double)x->dim[1] - frame) / step) + 1,
               half ? floor(frame / 2) + 1 : frame, 2);
    c->flops = 5 * sked_i_onnx_elements(&c->out[0]) * log2(frame + 1);
}

void sked_i_onnx_rule_signal_window(call *c)
{
    SKED_SHAPE(&c->out[0], sked_i_onnx_scalar(c, 0, NAN));
}

void sked_i_onnx_rule_mel_weights(call *c)
{
    SKED_SHAPE(&c->out[0], floor(sked_i_onnx_scalar(c, 1, NAN) / 2) + 1, sked_i_onnx_scalar(c, 0, NAN));
}
