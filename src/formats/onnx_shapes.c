#include "formats/onnx_shapes.h"

#include <math.h>
#include <string.h>

enum { max_rank = sked_i_onnx_max_rank };
typedef sked_i_onnx_tensor tensor;

static const double flop_per_microsecond = 1e5, bytes_per_microsecond = 1e4;
static const int64_t max_dim = (int64_t)1 << 40;

/* ------------------------------------------------------------------ what the file states */

void sked_i_onnx_from_type(const Onnx__TypeProto *type, tensor *t)
{
    if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || type->tensor_type == NULL)
        return;
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    t->type = type->tensor_type->elem_type;
    if (shape == NULL || shape->n_dim > max_rank)
        return;
    t->stated = true;
    t->rank = (int)shape->n_dim;
    for (int i = 0; i < t->rank; i++) {
        const bool number =
            shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            shape->dim[i]->dim_value >= 0 && shape->dim[i]->dim_value <= max_dim;
        t->dim[i] = number ? shape->dim[i]->dim_value : 1;
        t->stated = t->stated && number;
    }
}

void sked_i_onnx_from_constant(const Onnx__TensorProto *source, tensor *t)
{
    t->constant = source;
    t->type = source->data_type;
    if (source->n_dims > max_rank)
        return;
    for (size_t i = 0; i < source->n_dims; i++) {
        if (source->dims[i] < 0 || source->dims[i] > max_dim)
            return;
        t->dim[i] = source->dims[i];
    }
    t->rank = (int)source->n_dims;
    t->stated = true;
}

static double elements(const tensor *t)
{
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dim[i];
    return t->rank < 0 || n > 0x1p53 ? NAN : n;
}

double sked_i_onnx_bytes(const tensor *t)
{
    /* by TensorProto.DataType: float, uint8, int8, uint16, int16, int32, int64, string, bool, float16, ... */
    static const double width[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2};
    const int known = (int)(sizeof width / sizeof *width);
    const double bytes = elements(t) * (t->type > 0 && t->type < known ? width[t->type] : 0);
    return bytes >= 0 && bytes <= 0x1p53 ? bytes : 0; /* NAN: 0 */
}

/* ------------------------------------------------------------------ attributes and constants */

static const Onnx__AttributeProto *attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

static int64_t int_attribute(const Onnx__NodeProto *node, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = attribute(node, name);
    return a && a->has_i ? a->i : otherwise;
}

/* The i-th number of an attribute that is a list. */
static int64_t list_attribute(const Onnx__AttributeProto *a, size_t i, int64_t otherwise)
{
    return a && i < a->n_ints && a->ints[i] >= 0 && a->ints[i] <= max_dim ? a->ints[i] : otherwise;
}

static bool text_attribute_is(const Onnx__NodeProto *node, const char *name, const char *text)
{
    const Onnx__AttributeProto *a = attribute(node, name);
    return a && a->has_s && a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}

/* At most max numbers of a constant vector of int64; -1: it is no such constant. */
static int constant_ints(const tensor *t, int64_t *out, int max)
{
    const Onnx__TensorProto *c = t ? t->constant : NULL;
    if (c == NULL || c->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64)
        return -1;
    const size_t n = c->has_raw_data ? c->raw_data.len / 8 : c->n_int64_data;
    if (n > (size_t)max)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = 0;
        for (int k = 0; c->has_raw_data && k < 8; k++) /* little endian by the standard */
            x |= (uint64_t)c->raw_data.data[8 * i + (size_t)k] << (8 * k);
        out[i] = c->has_raw_data ? (int64_t)x : c->int64_data[i];
    }
    return (int)n;
}

/* A list given as an attribute (old operator sets) or as a constant input; -1: neither. */
static int list_of(const Onnx__NodeProto *node, const char *name, const tensor *input, int64_t *out)
{
    const Onnx__AttributeProto *a = attribute(node, name);
    if (a == NULL)
        return constant_ints(input, out, max_rank);
    if (a->n_ints > max_rank)
        return -1;
    for (size_t i = 0; i < a->n_ints; i++)
        out[i] = a->ints[i];
    return (int)a->n_ints;
}

/* An axis counted from either end, in 0..rank-1; -1: out of range. */
static int axis_of(int64_t axis, int rank)
{
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

/* ------------------------------------------------------------------ shape rules */

/* A rule sets out's rank and dims from the first `n` inputs, or leaves rank at -1. */
typedef void rule(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out);

static void same(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    (void)node;
    if (n == 0 || in[0] == NULL)
        return;
    out->rank = in[0]->rank;
    memcpy(out->dim, in[0]->dim, sizeof out->dim);
}

static void broadcast(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    tensor t = {.rank = 0};
    (void)node;
    for (size_t k = 0; k < n; k++) {
        if (in[k] == NULL || in[k]->rank < 0)
            return;
        const int rank = in[k]->rank > t.rank ? in[k]->rank : t.rank;
        tensor wider = {.rank = rank};
        for (int i = 0; i < rank; i++) {
            const int a = i - (rank - t.rank), b = i - (rank - in[k]->rank);
            const int64_t x = a >= 0 ? t.dim[a] : 1, y = b >= 0 ? in[k]->dim[b] : 1;
            wider.dim[i] = x == 1 ? y : x;
        }
        t = wider;
    }
    out->rank = t.rank;
    memcpy(out->dim, t.dim, sizeof out->dim);
}

/* One spatial dimension of a convolution or pooling; -1: none. */
static int64_t window(const Onnx__NodeProto *node, int64_t size, int64_t kernel, int i, int spatial)
{
    const int64_t stride = list_attribute(attribute(node, "strides"), (size_t)i, 1);
    const int64_t dilation = list_attribute(attribute(node, "dilations"), (size_t)i, 1);
    if (stride == 0)
        return -1;
    if (text_attribute_is(node, "auto_pad", "SAME_UPPER") ||
        text_attribute_is(node, "auto_pad", "SAME_LOWER"))
        return (size + stride - 1) / stride;
    const Onnx__AttributeProto *pads = attribute(node, "pads");
    const int64_t pad = list_attribute(pads, (size_t)i, 0) + list_attribute(pads, (size_t)(i + spatial), 0);
    if (kernel > max_dim / 1024 || dilation > 1024)
        return -1;
    const int64_t reach = size + pad - (dilation * (kernel - 1) + 1);
    const int64_t up = int_attribute(node, "ceil_mode", 0) ? stride - 1 : 0;
    return reach < 0 ? -1 : (reach + up) / stride + 1;
}

/* N, C, spatial...: kernel sizes by attribute, or for Conv by the weights. */
static void slide(const Onnx__NodeProto *node, const tensor *x, const tensor *w, int64_t channels,
                  tensor *out)
{
    const Onnx__AttributeProto *shape = attribute(node, "kernel_shape");
    if (x->rank < 3)
        return;
    out->dim[0] = x->dim[0];
    out->dim[1] = channels;
    for (int i = 0; i < x->rank - 2; i++) {
        const int64_t kernel = shape ? list_attribute(shape, (size_t)i, 1) : w ? w->dim[i + 2] : 1;
        out->dim[i + 2] = window(node, x->dim[i + 2], kernel, i, x->rank - 2);
        if (out->dim[i + 2] < 0)
            return;
    }
    out->rank = x->rank;
}

static void conv(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n >= 2 && in[0] && in[1] && in[0]->rank >= 3 && in[1]->rank == in[0]->rank)
        slide(node, in[0], in[1], in[1]->dim[0], out);
}

static void pool(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n >= 1 && in[0] && in[0]->rank >= 3)
        slide(node, in[0], NULL, in[0]->dim[1], out);
}

static void global_pool(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    same(node, in, n, out);
    for (int i = 2; i < out->rank; i++)
        out->dim[i] = 1;
}

static void gemm(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n < 2 || in[0] == NULL || in[1] == NULL || in[0]->rank != 2 || in[1]->rank != 2)
        return;
    out->rank = 2;
    out->dim[0] = in[0]->dim[int_attribute(node, "transA", 0) ? 1 : 0];
    out->dim[1] = in[1]->dim[int_attribute(node, "transB", 0) ? 0 : 1];
}

static void matmul(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n < 2 || in[0] == NULL || in[1] == NULL || in[0]->rank < 2 || in[1]->rank < 2)
        return;
    tensor a = *in[0], b = *in[1]; /* the leading dimensions broadcast */
    const int64_t rows = a.dim[a.rank - 2], columns = b.dim[b.rank - 1];
    a.rank -= 2;
    b.rank -= 2;
    const tensor *const batch[] = {&a, &b};
    broadcast(node, batch, 2, out);
    if (out->rank < 0 || out->rank + 2 > max_rank)
        return;
    out->dim[out->rank++] = rows;
    out->dim[out->rank++] = columns;
}

static void concat(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n == 0 || in[0] == NULL || in[0]->rank < 1)
        return;
    const int axis = axis_of(int_attribute(node, "axis", 1), in[0]->rank);
    int64_t total = 0;
    for (size_t k = 0; k < n; k++) {
        if (axis < 0 || in[k] == NULL || in[k]->rank != in[0]->rank || total > max_dim)
            return;
        total += in[k]->dim[axis];
    }
    same(node, in, n, out);
    out->dim[axis] = total;
}

static void reshape(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    int64_t shape[max_rank];
    const int rank = n >= 1 ? list_of(node, "shape", n >= 2 ? in[1] : NULL, shape) : -1;
    int open = -1;
    double rest = 1;
    if (rank < 0 || in[0] == NULL || in[0]->rank < 0)
        return;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0)
            shape[i] = i < in[0]->rank ? in[0]->dim[i] : 0;
        if (shape[i] == -1 && open < 0)
            open = i;
        else if (shape[i] < 0 || shape[i] > max_dim)
            return;
        else
            rest *= (double)shape[i];
        out->dim[i] = shape[i];
    }
    if (open >= 0) {
        const double size = elements(in[0]) / rest;
        if (!(size >= 0 && size <= (double)max_dim) || size != floor(size))
            return;
        out->dim[open] = (int64_t)size;
    }
    out->rank = rank;
}

static void transpose(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n < 1 || in[0] == NULL || in[0]->rank < 0)
        return;
    const int rank = in[0]->rank;
    const Onnx__AttributeProto *perm = attribute(node, "perm");
    for (int i = 0; i < rank; i++) {
        const int64_t from = perm ? list_attribute(perm, (size_t)i, -1) : rank - 1 - i;
        if (from < 0 || from >= rank)
            return;
        out->dim[i] = in[0]->dim[from];
    }
    out->rank = rank;
}

static void flatten(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n < 1 || in[0] == NULL || in[0]->rank < 0)
        return;
    const int64_t axis = int_attribute(node, "axis", 1);
    const int split = axis == in[0]->rank ? in[0]->rank : axis_of(axis, in[0]->rank);
    double outer = 1, inner = 1;
    for (int i = 0; i < in[0]->rank; i++)
        *(i < split ? &outer : &inner) *= (double)in[0]->dim[i];
    if (split < 0 || !(outer <= (double)max_dim && inner <= (double)max_dim))
        return;
    out->rank = 2;
    out->dim[0] = (int64_t)outer;
    out->dim[1] = (int64_t)inner;
}

/* Drops the axes (all of size 1 where none are named), or for reductions keeps them as 1. */
static void drop(const Onnx__NodeProto *node, const tensor *x, const tensor *axes, bool keep, bool only_ones,
                 tensor *out)
{
    int64_t list[max_rank];
    bool dropped[max_rank] = {false};
    const int n = list_of(node, "axes", axes, list);
    if (x == NULL || x->rank < 0 || (n < 0 && axes != NULL))
        return;
    for (int i = 0; i < x->rank; i++)
        dropped[i] = n <= 0 && (!only_ones || x->dim[i] == 1);
    for (int k = 0; k < n; k++) {
        const int i = axis_of(list[k], x->rank);
        if (i < 0)
            return;
        dropped[i] = true;
    }
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!dropped[i] || keep)
            out->dim[rank++] = dropped[i] ? 1 : x->dim[i];
    out->rank = rank;
}

static void squeeze(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n >= 1)
        drop(node, in[0], n >= 2 ? in[1] : NULL, false, true, out);
}

static void reduce(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n >= 1)
        drop(node, in[0], n >= 2 ? in[1] : NULL, int_attribute(node, "keepdims", 1) != 0, false, out);
}

static void unsqueeze(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    int64_t list[max_rank];
    bool added[max_rank] = {false};
    const int count = n >= 1 ? list_of(node, "axes", n >= 2 ? in[1] : NULL, list) : -1;
    if (count < 0 || in[0] == NULL || in[0]->rank < 0 || in[0]->rank + count > max_rank)
        return;
    const int rank = in[0]->rank + count;
    for (int k = 0; k < count; k++) {
        const int i = axis_of(list[k], rank);
        if (i < 0 || added[i])
            return;
        added[i] = true;
    }
    for (int i = 0, from = 0; i < rank; i++)
        out->dim[i] = added[i] ? 1 : in[0]->dim[from++];
    out->rank = rank;
}

static void gather(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    if (n < 2 || in[0] == NULL || in[1] == NULL || in[0]->rank < 1 || in[1]->rank < 0 ||
        in[0]->rank + in[1]->rank - 1 > max_rank)
        return;
    const int axis = axis_of(int_attribute(node, "axis", 0), in[0]->rank);
    int rank = 0;
    for (int i = 0; axis >= 0 && i < in[0]->rank; i++) {
        if (i != axis)
            out->dim[rank++] = in[0]->dim[i];
        for (int k = 0; i == axis && k < in[1]->rank; k++)
            out->dim[rank++] = in[1]->dim[k];
    }
    out->rank = axis >= 0 ? rank : -1;
}

static void constant_of_shape(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    (void)node;
    int64_t shape[max_rank];
    const int rank = n >= 1 ? constant_ints(in[0], shape, max_rank) : -1;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || shape[i] > max_dim)
            return;
        out->dim[i] = shape[i];
    }
    out->rank = rank;
}

static void constant(const Onnx__NodeProto *node, const tensor *const *in, size_t n, tensor *out)
{
    const Onnx__AttributeProto *value = attribute(node, "value");
    (void)in;
    (void)n;
    if (value != NULL && value->t != NULL)
        sked_i_onnx_from_constant(value->t, out);
}

/* ------------------------------------------------------------------ the table of operators */

/* How an operator is charged. */
typedef enum work { FREE, ELEMENTWISE, WINDOW, CONVOLUTION, PRODUCT } work;

static const struct {
    rule *shape;
    work work;
    const char *names; /* separated by single spaces, one at each end */
} operators[] = {
    {same, ELEMENTWISE,
     " Relu LeakyRelu PRelu Elu Selu Celu Gelu Mish Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign Erf "
     "Exp "
     "Log Sqrt Reciprocal Neg Abs Sign Floor Ceil Round Clip Not Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh "
     "Acosh "
     "Atanh Softmax LogSoftmax Hardmax LRN BatchNormalization InstanceNormalization LayerNormalization "
     "GroupNormalization LpNormalization MeanVarianceNormalization Cast CastLike CumSum ThresholdedRelu "
     "IsNaN "
     "IsInf QuantizeLinear DequantizeLinear Trilu ScatterND ScatterElements "},
    {broadcast, ELEMENTWISE,
     " Add Sub Mul Div Mod Pow Sum Max Min Mean And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual "
     "Where "
     "BitShift "},
    {same, FREE, " Identity Dropout "},
    {reshape, FREE, " Reshape "},
    {flatten, FREE, " Flatten "},
    {squeeze, FREE, " Squeeze "},
    {unsqueeze, FREE, " Unsqueeze "},
    {constant, FREE, " Constant "},
    {constant_of_shape, FREE, " ConstantOfShape "},
    {transpose, ELEMENTWISE, " Transpose "},
    {concat, ELEMENTWISE, " Concat "},
    {gather, ELEMENTWISE, " Gather "},
    {reduce, ELEMENTWISE,
     " ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
     "ReduceSumSquare "},
    {pool, WINDOW, " MaxPool AveragePool LpPool "},
    {global_pool, ELEMENTWISE, " GlobalAveragePool GlobalMaxPool GlobalLpPool "},
    {conv, CONVOLUTION, " Conv ConvInteger QLinearConv "},
    {gemm, PRODUCT, " Gemm "},
    {matmul, PRODUCT, " MatMul MatMulInteger QLinearMatMul "},
};

/* Index into the table, or -1. Names of other domains are not ONNX's own. */
static int find_operator(const Onnx__NodeProto *node)
{
    const char *type = node->op_type ? node->op_type : "";
    const size_t size = strlen(type);
    if (size == 0 || strchr(type, ' ') != NULL ||
        (node->domain && node->domain[0] != 0 && strcmp(node->domain, "ai.onnx") != 0))
        return -1;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        for (const char *s = operators[i].names; (s = strstr(s, type)) != NULL; s++)
            if (s[-1] == ' ' && s[size] == ' ')
                return (int)i;
    return -1;
}

/* Comparisons answer with truth values, Cast says its type, and all else keeps the type it was given. */
static int32_t element_type(const Onnx__NodeProto *node, const tensor *const *in)
{
    static const char *const truth[] = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not",
                                        "And",   "Or",   "Xor",         "IsNaN",   "IsInf"};
    for (size_t i = 0; i < sizeof truth / sizeof *truth; i++)
        if (strcmp(node->op_type, truth[i]) == 0)
            return ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    const int64_t to = int_attribute(node, "to", 0);
    if (strcmp(node->op_type, "Cast") == 0)
        return to > 0 && to < 100 ? (int32_t)to : 0;
    if (strcmp(node->op_type, "ConstantOfShape") == 0) {
        const Onnx__AttributeProto *value = attribute(node, "value");
        return value && value->t ? value->t->data_type : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    }
    const size_t source = strcmp(node->op_type, "Where") == 0 ? 1 : 0;
    return node->n_input > source && in[source] ? in[source]->type : 0;
}

void sked_i_onnx_infer(const Onnx__NodeProto *node, const tensor *const *in, tensor *const *out)
{
    const int which = find_operator(node);
    if (which < 0 || node->n_output == 0 || out[0] == NULL || out[0]->stated)
        return;
    tensor t = {.rank = -1};
    operators[which].shape(node, in, node->n_input, &t);
    if (t.rank < 0)
        return;
    out[0]->rank = t.rank;
    memcpy(out[0]->dim, t.dim, sizeof t.dim);
    if (t.constant != NULL)
        out[0]->constant = t.constant;
    if (out[0]->type == 0)
        out[0]->type = t.type ? t.type : element_type(node, in);
}

/* ------------------------------------------------------------------ cost */

/* Elements of the kernel that a pooling slides over its input. */
static double kernel_size(const Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *shape = attribute(node, "kernel_shape");
    double n = 1;
    for (size_t i = 0; shape && i < shape->n_ints && i < max_rank; i++)
        n *= (double)list_attribute(shape, i, 1);
    return n;
}

static double flops(const Onnx__NodeProto *node, work kind, const tensor *const *in, double results)
{
    if (kind == WINDOW)
        return results * kernel_size(node);
    if (kind == CONVOLUTION && node->n_input >= 2 && in[1] && in[1]->rank > 1 && in[1]->dim[0] > 0)
        return 2 * results * elements(in[1]) / (double)in[1]->dim[0];
    if (kind == PRODUCT && in[0] && in[0]->rank >= 2) {
        const bool turned = strcmp(node->op_type, "Gemm") == 0 && int_attribute(node, "transA", 0);
        return 2 * results * (double)in[0]->dim[turned ? in[0]->rank - 2 : in[0]->rank - 1];
    }
    return results;
}

double sked_i_onnx_cost(const Onnx__NodeProto *node, const tensor *const *in, tensor *const *out)
{
    const int which = find_operator(node);
    if (which >= 0 && operators[which].work == FREE)
        return 0;
    if (which < 0 || node->n_output == 0 || node->n_input == 0 || out[0] == NULL)
        return 1;
    double moved = 0;
    for (size_t i = 0; i < node->n_input; i++)
        moved += in[i] ? sked_i_onnx_bytes(in[i]) : 0;
    for (size_t i = 0; i < node->n_output; i++)
        moved += out[i] ? sked_i_onnx_bytes(out[i]) : 0;
    const double computed = flops(node, operators[which].work, in, elements(out[0]));
    const double time = fmax(computed / flop_per_microsecond, moved / bytes_per_microsecond);
    return isnan(computed) || !(time >= 1 && time <= 0x1p53) ? 1 : ceil(time);
}
