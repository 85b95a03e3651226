/* Shape rules: shapes, parts and copies of tensors, constants; and the values that shapes are made of. */
#include "formats/onnx_rules.h"

#include <string.h>

typedef sked_i_onnx_tensor tensor;
typedef sked_i_onnx_call call;
enum { max_rank = sked_i_onnx_max_rank, max_values = sked_i_onnx_max_values };

/* Output 0 has the values of input 0 in the same order. */
static void keep_values(call *c)
{
    int n = 0;
    const double *x = sked_i_onnx_values(c, 0, &n);
    if (x != NULL && sked_i_onnx_elements(&c->out[0]) == n)
        c->out[0].value = x;
}

/* ------------------------------------------------------------------ constants */

static void put_values(call *c, size_t n, bool vector, int32_t type)
{
    sked_i_onnx_shape(&c->out[0], vector ? 1 : 0, &(double){(double)n});
    c->out[0].type = type;
}

void sked_i_onnx_rule_constant(call *c)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, "value");
    if (a != NULL && a->t != NULL) {
        sked_i_onnx_from_constant(a->t, c->arena, &c->out[0]);
        return;
    }
    a = sked_i_onnx_attribute(c, "sparse_value");
    if (a != NULL && a->sparse_tensor != NULL && a->sparse_tensor->values != NULL) {
        sked_i_onnx_from_dims(a->sparse_tensor->dims, a->sparse_tensor->n_dims, &c->out[0]);
        c->out[0].type = a->sparse_tensor->values->data_type;
        return;
    }
    static const char *const names[] = {"value_int", "value_ints", "value_float", "value_floats"};
    for (int k = 0; k < 4; k++) {
        a = sked_i_onnx_attribute(c, names[k]);
        if (a == NULL)
            continue;
        const bool vector = k % 2 == 1;
        const size_t n = !vector ? 1 : k == 1 ? a->n_ints : a->n_floats;
        put_values(c, n, vector,
                   k < 2 ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64 : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
        double *y = sked_i_onnx_fold(c);
        for (size_t i = 0; y != NULL && i < n; i++)
            y[i] = k == 0   ? (double)a->i
                   : k == 1 ? (double)a->ints[i]
                            : (double)(k == 2 ? a->f : a->floats[i]);
        return;
    }
    a = sked_i_onnx_attribute(c, "value_strings");
    if (a != NULL || sked_i_onnx_attribute(c, "value_string") != NULL)
        put_values(c, a ? a->n_strings : 1, a != NULL, ONNX__TENSOR_PROTO__DATA_TYPE__STRING);
}

void sked_i_onnx_rule_constant_of_shape(call *c)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, "value");
    tensor one = {.rank = -1, .type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT};
    int n = 0;
    const double *shape = sked_i_onnx_values(c, 0, &n);
    if (a != NULL && a->t != NULL)
        sked_i_onnx_from_constant(a->t, c->arena, &one);
    c->out[0].type = one.type;
    if (shape == NULL)
        return;
    sked_i_onnx_shape(&c->out[0], n, shape);
    const double filling = a == NULL ? 0 : one.value && sked_i_onnx_elements(&one) >= 1 ? one.value[0] : NAN;
    double *y = sked_i_onnx_fold(c);
    for (int i = 0, count = y ? (int)sked_i_onnx_elements(&c->out[0]) : 0; i < count; i++)
        y[i] = filling;
}

/* The dimensions of a tensor, or those between start and end. */
void sked_i_onnx_rule_shape(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    if (x == NULL)
        return;
    int64_t begin = sked_i_onnx_int(c, "start", 0), end = sked_i_onnx_int(c, "end", x->rank);
    begin = begin < -x->rank ? 0 : begin < 0 ? begin + x->rank : begin;
    end = end < -x->rank ? 0 : end < 0 ? end + x->rank : end;
    end = end > x->rank ? x->rank : end;
    begin = begin > end ? end : begin;
    SKED_SHAPE(&c->out[0], (double)(end - begin));
    double *y = sked_i_onnx_fold(c);
    for (int64_t i = begin; y != NULL && i < end; i++)
        y[i - begin] = (double)x->dim[i];
}

void sked_i_onnx_rule_size(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    sked_i_onnx_clear(&c->out[0]);
    double *y = x ? sked_i_onnx_fold(c) : NULL;
    if (y != NULL)
        y[0] = sked_i_onnx_elements(x);
}

/* Real numbers lose their fraction on the way to integers. */
void sked_i_onnx_rule_cast(call *c)
{
    const tensor *like = sked_i_onnx_in(c, 1);
    const int64_t type = sked_i_onnx_int(c, "to", like ? like->type : 0);
    int n = 0;
    const double *x = sked_i_onnx_values(c, 0, &n);
    sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[0]);
    const bool real = type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT ||
                      type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE ||
                      type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
    const bool truth = type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    const bool integer =
        type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 || type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
    double *y = x != NULL && (real || truth || integer) ? sked_i_onnx_fold(c) : NULL;
    for (int i = 0; y != NULL && i < n; i++)
        y[i] = real || isnan(x[i]) ? x[i] : truth ? x[i] != 0 : trunc(x[i]);
}

/* start, limit, delta */
void sked_i_onnx_rule_range(call *c)
{
    const double begin = sked_i_onnx_scalar(c, 0, NAN), limit = sked_i_onnx_scalar(c, 1, NAN);
    const double step = sked_i_onnx_scalar(c, 2, NAN);
    const double count = ceil((limit - begin) / step);
    if (isnan(count) || step == 0)
        return;
    SKED_SHAPE(&c->out[0], count > 0 ? count : 0);
    double *y = sked_i_onnx_fold(c);
    for (int i = 0, n = y ? (int)c->out[0].dim[0] : 0; i < n; i++)
        y[i] = begin + i * step;
}

/* ------------------------------------------------------------------ the same elements in another shape */

/* 0 keeps a dimension (unless allowzero), -1 takes what is left; one unknown number is like -1. */
void sked_i_onnx_rule_reshape(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    double shape[max_values], rest = 1;
    const int n = x ? sked_i_onnx_list(c, "shape", 1, shape) : -1;
    const bool zero = sked_i_onnx_int(c, "allowzero", 0) != 0;
    int open = -1;
    if (n < 0 || n > max_rank)
        return;
    for (int i = 0; i < n; i++) {
        if (shape[i] == 0 && !zero)
            shape[i] = i < x->rank ? (double)x->dim[i] : NAN;
        if (shape[i] >= 0) {
            rest *= shape[i];
        } else if (open < 0) {
            open = i;
        } else {
            return;
        }
    }
    if (open >= 0)
        shape[open] = rest > 0 ? sked_i_onnx_elements(x) / rest : 0;
    if (open >= 0 && shape[open] != floor(shape[open]))
        return;
    sked_i_onnx_shape(&c->out[0], n, shape);
    keep_values(c);
}

void sked_i_onnx_rule_flatten(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    if (x == NULL)
        return;
    const int64_t axis = sked_i_onnx_int(c, "axis", 1);
    const int split = axis == x->rank ? x->rank : sked_i_onnx_axis((double)axis, x->rank);
    double outer = 1, inner = 1;
    for (int i = 0; i < x->rank; i++)
        *(i < split ? &outer : &inner) *= (double)x->dim[i];
    SKED_SHAPE(&c->out[0], split < 0 ? NAN : outer, inner);
    keep_values(c);
}

/* Drops the named axes, or all of size 1 where none are named. */
void sked_i_onnx_rule_squeeze(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    bool gone[max_rank] = {false};
    if (x == NULL || !sked_i_onnx_axes(c, "axes", 1, x->rank, gone))
        return;
    const bool named = sked_i_onnx_in(c, 1) != NULL || sked_i_onnx_attribute(c, "axes") != NULL;
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank; i++)
        if (!gone[i] || (!named && x->dim[i] != 1))
            sked_i_onnx_put(&c->out[0], (double)x->dim[i]);
    keep_values(c);
}

void sked_i_onnx_rule_unsqueeze(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    double list[max_values];
    bool added[max_rank] = {false};
    const int count = x ? sked_i_onnx_list(c, "axes", 1, list) : -1;
    if (count < 0 || x->rank + count > max_rank)
        return;
    const int rank = x->rank + count;
    for (int k = 0; k < count; k++) {
        const int i = sked_i_onnx_axis(list[k], rank);
        if (i < 0 || added[i])
            return;
        added[i] = true;
    }
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0, from = 0; i < rank; i++)
        sked_i_onnx_put(&c->out[0], added[i] ? 1 : (double)x->dim[from++]);
    keep_values(c);
}

static void fold_transpose(call *c, const int *from)
{
    const tensor *x = c->in[0], *t = &c->out[0];
    int n = 0;
    const double *value = sked_i_onnx_values(c, 0, &n);
    double *y = value && sked_i_onnx_elements(t) == n ? sked_i_onnx_fold(c) : NULL;
    for (int e = 0; y != NULL && e < n; e++) {
        int64_t place[max_rank], rest = e, at = 0;
        for (int i = t->rank - 1; i >= 0; i--) {
            place[from[i]] = rest % t->dim[i];
            rest /= t->dim[i];
        }
        for (int i = 0; i < x->rank; i++)
            at = at * x->dim[i] + place[i];
        y[e] = value[at];
    }
}

void sked_i_onnx_rule_transpose(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const Onnx__AttributeProto *perm = sked_i_onnx_attribute(c, "perm");
    int from[max_rank];
    bool used[max_rank] = {false};
    if (x == NULL)
        return;
    for (int i = 0; i < x->rank; i++) {
        const double at = perm ? sked_i_onnx_list_at(perm, (size_t)i, -1) : x->rank - 1 - i;
        from[i] = at >= 0 && at < x->rank ? (int)at : -1;
        if (from[i] < 0 || used[from[i]])
            return;
        used[from[i]] = true;
    }
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank; i++)
        sked_i_onnx_put(&c->out[0], (double)x->dim[from[i]]);
    fold_transpose(c, from);
}

/* ------------------------------------------------------------------ joining and cutting */

/* Vectors of values one after another; an input without values leaves its elements unknown. */
static void fold_concat(call *c)
{
    double *y = c->out[0].rank == 1 ? sked_i_onnx_fold(c) : NULL;
    for (size_t k = 0; y != NULL && k < c->n_in; k++)
        for (int64_t i = 0; i < c->in[k]->dim[0]; i++)
            *y++ = c->in[k]->value ? c->in[k]->value[i] : NAN;
}

void sked_i_onnx_rule_concat(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    const int axis = sked_i_onnx_axis_of(c, x, 1);
    double total = 0;
    bool any = false;
    for (size_t k = 0; k < c->n_in; k++) {
        if (axis < 0 || c->in[k] == NULL || c->in[k]->rank != x->rank)
            return;
        total += (double)c->in[k]->dim[axis];
        any = any || c->in[k]->value != NULL;
    }
    if (axis < 0)
        return;
    sked_i_onnx_splice(x, axis, 1, 1, &total, &c->out[0]);
    if (any)
        fold_concat(c);
}

/* The piece of output k is `size` long and starts at `begin`. */
static void cut(call *c, const tensor *x, int axis, size_t k, double begin, double size)
{
    tensor *t = &c->out[k];
    sked_i_onnx_splice(x, axis, 1, 1, &size, t);
    if (t->rank == 1 && x->value != NULL && begin + size <= (double)x->dim[0])
        t->value = x->value + (int64_t)begin;
}

/* Pieces of the given sizes, or all of one size with a smaller one at the end. */
void sked_i_onnx_rule_split(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    const int axis = sked_i_onnx_axis_of(c, x, 0);
    const Onnx__AttributeProto *given = sked_i_onnx_attribute(c, "split");
    int n = 0;
    const double *sizes = sked_i_onnx_values(c, 1, &n);
    if (axis < 0 || (given == NULL && sizes == NULL && sked_i_onnx_in(c, 1) != NULL))
        return;
    const double all = (double)x->dim[axis], even = ceil(all / (double)c->n_out);
    double begin = 0;
    for (size_t k = 0; k < c->n_out; k++) {
        const double left = all > begin ? all - begin : 0;
        const double size = given   ? sked_i_onnx_list_at(given, k, NAN)
                            : sizes ? (k < (size_t)n ? sizes[k] : NAN)
                                    : (even < left ? even : left);
        cut(c, x, axis, k, begin, size);
        begin += size >= 0 ? size : 0;
    }
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

typedef struct part {
    double begin, step, count; /* of one axis */
} part;

/* An unknown begin or end may be anything: the whole axis, as the upper bound. */
static part part_of(double size, double begin, double end, double step)
{
    step = trunc(step); /* whatever the element type: a fraction would make more than there is */
    if (isnan(begin) || isnan(end) || isnan(step) || step == 0)
        return (part){NAN, NAN, size};
    begin = trunc(begin < 0 ? begin + size : begin);
    end = trunc(end < 0 ? end + size : end);
    begin = clamp(begin, 0, step > 0 ? size : size - 1);
    end = clamp(end, step > 0 ? 0 : -1, size);
    const double count = ceil((end - begin) / step);
    return (part){begin, step, clamp(count, 0, size)};
}

static void fold_slice(call *c, part p)
{
    int n = 0;
    const double *x = sked_i_onnx_values(c, 0, &n);
    if (x == NULL || c->out[0].rank != 1 || isnan(p.begin))
        return;
    double *y = sked_i_onnx_fold(c);
    for (int i = 0; y != NULL && i < (int)p.count; i++) {
        const double at = p.begin + i * p.step;
        y[i] = at >= 0 && at < n ? x[(int)at] : NAN;
    }
}

void sked_i_onnx_rule_slice(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    double begin[max_values], end[max_values], axes[max_values], step[max_values];
    const int n = sked_i_onnx_list(c, "starts", 1, begin), m = sked_i_onnx_list(c, "ends", 2, end);
    const int n_axes = sked_i_onnx_list(c, "axes", 3, axes), n_steps = sked_i_onnx_list(c, NULL, 4, step);
    part last = {NAN, NAN, 0};
    if (x == NULL)
        return;
    sked_i_onnx_copy(x, &c->out[0]);
    const tensor *bounds = sked_i_onnx_shaped(c, 1, 1);
    const int count = n >= 0                                   ? n
                      : m >= 0                                 ? m
                      : bounds && bounds->dim[0] <= max_values ? (int)bounds->dim[0]
                                                               : 0;
    for (int i = 0; i < count; i++) {
        const double at = n_axes > i ? axes[i] : n_axes < 0 && sked_i_onnx_in(c, 3) == NULL ? i : NAN;
        const int axis = isnan(at) ? -1 : sked_i_onnx_axis(at, x->rank);
        if (axis < 0)
            continue;
        last = part_of((double)x->dim[axis], i < n ? begin[i] : NAN, i < m ? end[i] : NAN,
                       i < n_steps            ? step[i]
                       : sked_i_onnx_in(c, 4) ? NAN
                                              : 1);
        c->out[0].dim[axis] = (int64_t)last.count;
    }
    fold_slice(c, last);
}

/* ------------------------------------------------------------------ choosing elements */

static void fold_gather(call *c)
{
    int n = 0, m = 0;
    const double *x = sked_i_onnx_values(c, 0, &n), *at = sked_i_onnx_values(c, 1, &m);
    if (x == NULL || at == NULL || c->in[0]->rank != 1)
        return;
    double *y = sked_i_onnx_fold(c);
    for (int i = 0; y != NULL && i < m; i++) {
        const int k = isnan(at[i]) ? -1 : sked_i_onnx_axis(at[i], n);
        y[i] = k >= 0 ? x[k] : NAN;
    }
}

void sked_i_onnx_rule_gather(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1), *at = sked_i_onnx_shaped(c, 1, 0);
    const int axis = at ? sked_i_onnx_axis_of(c, x, 0) : -1;
    double size[max_rank];
    if (axis < 0)
        return;
    for (int k = 0; k < at->rank; k++)
        size[k] = (double)at->dim[k];
    sked_i_onnx_splice(x, axis, 1, at->rank, size, &c->out[0]);
    fold_gather(c);
}

void sked_i_onnx_rule_gather_nd(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1), *at = sked_i_onnx_shaped(c, 1, 1);
    const double batch = (double)sked_i_onnx_int(c, "batch_dims", 0);
    if (x == NULL || at == NULL)
        return;
    const double first = batch + (double)at->dim[at->rank - 1];
    if (!(first >= 0 && first <= x->rank))
        return;
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < at->rank - 1; i++)
        sked_i_onnx_put(&c->out[0], (double)at->dim[i]);
    for (int i = 0; i < x->rank; i++)
        if (i >= first)
            sked_i_onnx_put(&c->out[0], (double)x->dim[i]);
}

/* GatherElements: as many elements as indices. */
void sked_i_onnx_rule_like_second(call *c)
{
    sked_i_onnx_copy(sked_i_onnx_in(c, 1), &c->out[0]);
}

/* What a condition leaves is at most everything. */
void sked_i_onnx_rule_compress(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const Onnx__AttributeProto *by = sked_i_onnx_attribute(c, "axis");
    int n = 0;
    const double *choice = sked_i_onnx_values(c, 1, &n);
    double chosen = 0;
    if (x == NULL)
        return;
    for (int i = 0; choice != NULL && i < n; i++)
        chosen += choice[i] != 0;
    const int axis = by ? sked_i_onnx_axis((double)by->i, x->rank) : -1;
    const double most = by == NULL ? sked_i_onnx_elements(x) : axis >= 0 ? (double)x->dim[axis] : NAN;
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; by != NULL && i < x->rank; i++)
        sked_i_onnx_put(&c->out[0], i != axis ? (double)x->dim[i] : choice ? chosen : most);
    if (by == NULL)
        sked_i_onnx_put(&c->out[0], choice ? chosen : most);
}

/* The places of what is not zero: at most all. */
void sked_i_onnx_rule_non_zero(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    int n = 0;
    const double *value = sked_i_onnx_values(c, 0, &n);
    double found = 0;
    if (x == NULL)
        return;
    for (int i = 0; value != NULL && i < n; i++)
        found += value[i] != 0;
    SKED_SHAPE(&c->out[0], x->rank, value ? found : sked_i_onnx_elements(x));
    double *y = value && x->rank == 1 ? sked_i_onnx_fold(c) : NULL;
    for (int i = 0; y != NULL && i < n; i++)
        if (value[i] != 0)
            *y++ = i;
}

/* The different elements, at most all; where each first occurs, where each went, how often it occurs. */
void sked_i_onnx_rule_unique(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const Onnx__AttributeProto *by = sked_i_onnx_attribute(c, "axis");
    const int axis = by && x ? sked_i_onnx_axis((double)by->i, x->rank) : -1;
    if (x == NULL || (by != NULL && axis < 0))
        return;
    const double most = axis >= 0 ? (double)x->dim[axis] : sked_i_onnx_elements(x);
    for (size_t k = 0; k < c->n_out; k++)
        SKED_SHAPE(&c->out[k], most);
    if (axis >= 0)
        sked_i_onnx_copy(x, &c->out[0]);
}

/* ------------------------------------------------------------------ copies */

void sked_i_onnx_rule_expand(call *c)
{
    int n = 0, m = 0, at[max_values];
    const double *shape = sked_i_onnx_values(c, 1, &n), *x = sked_i_onnx_values(c, 0, &m);
    tensor wanted = {.rank = 0};
    if (shape == NULL)
        return;
    sked_i_onnx_shape(&wanted, n, shape);
    sked_i_onnx_widen(sked_i_onnx_in(c, 0), &wanted, &c->out[0]);
    if (x == NULL || !(sked_i_onnx_elements(&c->out[0]) <= max_values) ||
        !sked_i_onnx_broadcast_index(c->in[0], &c->out[0], at))
        return;
    double *y = sked_i_onnx_fold(c);
    for (int i = 0, count = y ? (int)sked_i_onnx_elements(&c->out[0]) : 0; i < count; i++)
        y[i] = x[at[i]];
}

void sked_i_onnx_rule_tile(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    int n = 0;
    const double *times = sked_i_onnx_values(c, 1, &n);
    if (x == NULL || times == NULL || n != x->rank)
        return;
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank; i++)
        sked_i_onnx_put(&c->out[0], (double)x->dim[i] * times[i]);
}

/* All begins, then all ends; negative ones crop. */
void sked_i_onnx_rule_pad(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const char *name = sked_i_onnx_attribute(c, "paddings") ? "paddings" : "pads";
    double pads[max_values], axes[max_values], size[max_rank];
    const int n = sked_i_onnx_list(c, name, 1, pads), m = sked_i_onnx_list(c, NULL, 3, axes);
    if (x == NULL || n < 0 || (m < 0 && sked_i_onnx_in(c, 3) != NULL) || n != 2 * (m < 0 ? x->rank : m))
        return;
    for (int i = 0; i < x->rank; i++)
        size[i] = (double)x->dim[i];
    for (int i = 0; i < n / 2; i++) {
        const int axis = m < 0 ? i : sked_i_onnx_axis(axes[i], x->rank);
        if (axis < 0)
            return;
        size[axis] += pads[i] + pads[i + n / 2];
    }
    sked_i_onnx_shape(&c->out[0], x->rank, size);
}

void sked_i_onnx_rule_one_hot(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const double depth = sked_i_onnx_scalar(c, 1, NAN);
    const int axis = x ? sked_i_onnx_axis((double)sked_i_onnx_int(c, "axis", -1), x->rank + 1) : -1;
    if (axis >= 0)
        sked_i_onnx_splice(x, axis, 0, 1, &depth, &c->out[0]);
}

/* ------------------------------------------------------------------ random numbers, text */

void sked_i_onnx_rule_random(call *c)
{
    const Onnx__AttributeProto *shape = sked_i_onnx_attribute(c, "shape");
    if (shape != NULL)
        sked_i_onnx_from_dims(shape->ints, shape->n_ints, &c->out[0]);
}

void sked_i_onnx_rule_multinomial(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    SKED_SHAPE(&c->out[0], x ? (double)x->dim[0] : NAN, (double)sked_i_onnx_int(c, "sample_size", 1));
}

/* One number per n-gram in place of the last dimension. */
void sked_i_onnx_rule_tf_idf(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    const Onnx__AttributeProto *index = sked_i_onnx_attribute(c, "ngram_indexes");
    double most = -1;
    for (size_t i = 0; index != NULL && i < index->n_ints; i++)
        most = fmax(most, (double)index->ints[i]);
    if (x == NULL || most < 0)
        return;
    sked_i_onnx_copy(x, &c->out[0]);
    c->out[0].rank -= 1;
    sked_i_onnx_put(&c->out[0], most + 1);
}

/* How many pieces a text has is not known before; their counts have the shape of the input. */
void sked_i_onnx_rule_string_split(call *c)
{
    if (c->n_out > 1)
        sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[1]);
}

/* ------------------------------------------------------------------ ai.onnx.ml */

/* The chosen columns of a matrix. */
void sked_i_onnx_rule_array_feature(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1), *at = sked_i_onnx_shaped(c, 1, 0);
    if (x == NULL || at == NULL)
        return;
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank - 1; i++)
        sked_i_onnx_put(&c->out[0], (double)x->dim[i]);
    if (x->rank == 1)
        sked_i_onnx_put(&c->out[0], 1);
    sked_i_onnx_put(&c->out[0], sked_i_onnx_elements(at));
}

/* Rows and columns of a matrix of samples; a vector is one sample. */
static double samples(const tensor *x)
{
    return x->rank >= 2 ? (double)x->dim[0] : 1;
}

/* Columns of all inputs beside one another. */
void sked_i_onnx_rule_feature_vectorizer(call *c)
{
    const Onnx__AttributeProto *sizes = sked_i_onnx_attribute(c, "inputdimensions");
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    double total = 0;
    for (size_t i = 0; sizes != NULL && i < sizes->n_ints; i++)
        total += (double)sizes->ints[i];
    if (x != NULL && sizes != NULL)
        SKED_SHAPE(&c->out[0], samples(x), total);
}

void sked_i_onnx_rule_one_hot_encoder(call *c)
{
    const Onnx__AttributeProto *ints = sked_i_onnx_attribute(c, "cats_int64s");
    const Onnx__AttributeProto *texts = sked_i_onnx_attribute(c, "cats_strings");
    sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[0]);
    sked_i_onnx_put(&c->out[0], ints ? (double)ints->n_ints : texts ? (double)texts->n_strings : NAN);
}

static double label_count(const call *c)
{
    static const char *const names[] = {"classlabels_int64s", "classlabels_ints", "classlabels_strings"};
    for (int i = 0; i < 3; i++) {
        const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, names[i]);
        if (a != NULL && a->n_ints + a->n_strings > 0)
            return (double)(a->n_ints + a->n_strings);
    }
    return NAN;
}

/* A label per sample, then a score per sample and class. */
void sked_i_onnx_rule_classifier(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, "classlabels_strings");
    if (x == NULL)
        return;
    SKED_SHAPE(&c->out[0], samples(x));
    c->out[0].type =
        a && a->n_strings ? ONNX__TENSOR_PROTO__DATA_TYPE__STRING : ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    if (c->n_out > 1)
        SKED_SHAPE(&c->out[1], samples(x), label_count(c));
}

void sked_i_onnx_rule_regressor(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    if (x != NULL)
        SKED_SHAPE(&c->out[0], samples(x),
                   (double)sked_i_onnx_int(c, "n_targets", sked_i_onnx_int(c, "targets", 1)));
}
