/* What the shape rules of all families use. */
#include "formats/onnx_rules.h"

#include <assert.h>
#include <string.h>

typedef sked_i_onnx_tensor tensor;
typedef sked_i_onnx_call call;
enum { max_rank = sked_i_onnx_max_rank, max_values = sked_i_onnx_max_values };

const tensor *sked_i_onnx_in(const call *c, size_t k)
{
    return k < c->n_in ? c->in[k] : NULL;
}

const tensor *sked_i_onnx_shaped(const call *c, size_t k, int rank)
{
    const tensor *t = sked_i_onnx_in(c, k);
    return t != NULL && t->rank >= rank ? t : NULL;
}

const Onnx__AttributeProto *sked_i_onnx_attribute(const call *c, const char *name)
{
    const Onnx__NodeProto *node = c->node;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *a = node->attribute[i];
        if (a->name == NULL || strcmp(a->name, name) != 0)
            continue;
        if (a->ref_attr_name == NULL || a->ref_attr_name[0] == 0)
            return a;
        return c->caller ? sked_i_onnx_attribute(c->caller, a->ref_attr_name) : NULL;
    }
    return NULL;
}

int64_t sked_i_onnx_int(const call *c, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, name);
    return a && a->has_i ? a->i : otherwise;
}

double sked_i_onnx_list_at(const Onnx__AttributeProto *list, size_t i, double otherwise)
{
    return list && i < list->n_ints ? (double)list->ints[i] : otherwise;
}

bool sked_i_onnx_text_is(const call *c, const char *name, const char *text)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, name);
    return a && a->has_s && a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}

const double *sked_i_onnx_values(const call *c, size_t k, int *n)
{
    static const double nothing[1];
    const tensor *t = sked_i_onnx_in(c, k);
    const double count = t ? sked_i_onnx_elements(t) : NAN;
    if (!(count == 0) && (t == NULL || t->value == NULL))
        return NULL;
    *n = (int)count;
    return count == 0 ? nothing : t->value; /* an empty list is known without values */
}

double sked_i_onnx_scalar(const call *c, size_t k, double otherwise)
{
    int n = 0;
    const double *value = sked_i_onnx_values(c, k, &n);
    return value && n >= 1 && !isnan(value[0]) ? value[0] : otherwise;
}

int sked_i_onnx_list(const call *c, const char *name, size_t k, double *out)
{
    const Onnx__AttributeProto *a = name ? sked_i_onnx_attribute(c, name) : NULL;
    int n = 0;
    const double *value = a ? NULL : sked_i_onnx_values(c, k, &n);
    if (a != NULL && a->n_ints + a->n_floats <= max_values) {
        for (size_t i = 0; i < a->n_ints; i++)
            out[n++] = (double)a->ints[i];
        for (size_t i = 0; i < a->n_floats; i++)
            out[n++] = (double)a->floats[i];
        return n;
    }
    if (value == NULL)
        return -1;
    memcpy(out, value, (size_t)n * sizeof *out);
    return n;
}

int sked_i_onnx_axis(double axis, int rank)
{
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

bool sked_i_onnx_axes(const call *c, const char *name, size_t k, int rank, bool *marked)
{
    double list[max_values];
    const int n = sked_i_onnx_list(c, name, k, list);
    if (n < 0 && sked_i_onnx_in(c, k) != NULL)
        return false;
    for (int i = 0; i < rank; i++)
        marked[i] = n <= 0;
    for (int i = 0; i < n; i++) {
        const int axis = sked_i_onnx_axis(list[i], rank);
        if (axis < 0)
            return false;
        marked[axis] = true;
    }
    return true;
}

void sked_i_onnx_copy(const tensor *t, tensor *out)
{
    if (t == NULL || t->rank < 0)
        return;
    out->rank = t->rank;
    memcpy(out->dim, t->dim, sizeof out->dim);
    out->sequence = t->sequence;
    out->items = t->items;
}

void sked_i_onnx_shape(tensor *out, int rank, const double *size)
{
    sked_i_onnx_clear(out);
    for (int i = 0; i < rank; i++)
        sked_i_onnx_put(out, size[i]);
}

void sked_i_onnx_splice(const tensor *x, int axis, int gone, int count, const double *size, tensor *out)
{
    assert(out != x && axis >= 0 && gone >= 0 && axis + gone <= x->rank);
    sked_i_onnx_clear(out);
    for (int i = 0; i < axis; i++)
        sked_i_onnx_put(out, (double)x->dim[i]);
    for (int i = 0; i < count; i++)
        sked_i_onnx_put(out, size[i]);
    for (int i = axis + gone; i < x->rank; i++)
        sked_i_onnx_put(out, (double)x->dim[i]);
}

int sked_i_onnx_axis_of(const call *c, const tensor *x, int64_t otherwise)
{
    return x != NULL ? sked_i_onnx_axis((double)sked_i_onnx_int(c, "axis", otherwise), x->rank) : -1;
}

void sked_i_onnx_widen(const tensor *a, const tensor *b, tensor *out)
{
    if (!sked_i_onnx_known(a) || !sked_i_onnx_known(b))
        return;
    const int rank = a->rank > b->rank ? a->rank : b->rank;
    tensor wide = {.rank = 0};
    for (int i = 0; i < rank; i++) {
        const int x = i - (rank - a->rank), y = i - (rank - b->rank);
        const int64_t p = x >= 0 ? a->dim[x] : 1, q = y >= 0 ? b->dim[y] : 1;
        const int64_t most = p > q ? p : q; /* unequal ones are an error or stand for a symbol: the larger */
        sked_i_onnx_put(&wide, (double)(p == 0 || q == 0 ? 0 : most));
    }
    sked_i_onnx_copy(&wide, out);
}

tensor *sked_i_onnx_out(call *c, size_t k, tensor *unread)
{
    *unread = (tensor){.rank = -1};
    return k < c->n_out ? &c->out[k] : unread;
}

double *sked_i_onnx_fold(call *c)
{
    const double count = c->n_out > 0 ? sked_i_onnx_elements(&c->out[0]) : NAN;
    if (!(count <= max_values) || c->out[0].sequence)
        return NULL;
    double *value = sked_i_onnx_values_new(c->arena, (int64_t)count);
    c->out[0].value = value;
    return value;
}

bool sked_i_onnx_broadcast_index(const tensor *t, const tensor *out, int *index)
{
    const int count = (int)sked_i_onnx_elements(out);
    if (t->rank > out->rank || (count > 0 && !(sked_i_onnx_elements(t) > 0)))
        return false;
    for (int e = 0; e < count; e++) {
        int64_t rest = e, at = 0, stride = 1;
        for (int i = out->rank - 1; i >= 0; i--) {
            const int own = i - (out->rank - t->rank);
            const int64_t place = rest % out->dim[i]; /* not 0: count is then 0 */
            rest /= out->dim[i];
            if (own < 0)
                continue;
            at += place % t->dim[own] * stride;
            stride *= t->dim[own];
        }
        index[e] = (int)at;
    }
    return true;
}
