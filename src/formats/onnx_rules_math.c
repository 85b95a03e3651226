/* Shape rules: element by element, reductions, products of matrices. */
#include "formats/onnx_rules.h"

#include <string.h>

typedef sked_i_onnx_tensor tensor;
typedef sked_i_onnx_call call;
enum { max_rank = sked_i_onnx_max_rank, max_values = sked_i_onnx_max_values };

/* ------------------------------------------------------------------ element by element */

void sked_i_onnx_rule_same(call *c)
{
    sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[0]);
}

/* Every output has the shape of the first input. */
void sked_i_onnx_rule_same_all(call *c)
{
    for (size_t k = 0; k < c->n_out; k++)
        sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[k]);
}

/* The first output is like the first input, the others are scalars. */
void sked_i_onnx_rule_scalars_after(call *c)
{
    sked_i_onnx_rule_same(c);
    for (size_t k = 1; k < c->n_out; k++)
        sked_i_onnx_clear(&c->out[k]);
}

/* All inputs broadcast; before operator set 7 the first one gave the shape where `broadcast` was set. */
void sked_i_onnx_rule_broadcast(call *c)
{
    tensor wide = {.rank = 0};
    if (sked_i_onnx_int(c, "broadcast", 0)) {
        sked_i_onnx_rule_same(c);
        return;
    }
    for (size_t k = 0; k < c->n_in && wide.rank >= 0; k++) {
        const tensor sofar = wide;
        wide.rank = -1;
        sked_i_onnx_widen(&sofar, sked_i_onnx_in(c, k), &wide);
    }
    if (c->n_in > 0)
        sked_i_onnx_copy(&wide, &c->out[0]);
}

static double negate(double x)
{
    return -x;
}

static double invert(double x)
{
    return 1 / x;
}

static double is_zero(double x)
{
    return isnan(x) ? NAN : x == 0;
}

static double sign(double x)
{
    return isnan(x) ? NAN : (x > 0) - (x < 0);
}

static double itself(double x)
{
    return x;
}

void sked_i_onnx_rule_unary(call *c)
{
    static const struct {
        const char *name;
        double (*of)(double);
    } functions[] = {{"Abs", fabs},   {"Ceil", ceil},        {"Floor", floor}, {"Identity", itself},
                     {"Neg", negate}, {"Not", is_zero},      {"Round", rint},  {"Sign", sign},
                     {"Sqrt", sqrt},  {"Reciprocal", invert}};
    int n = 0;
    const double *x = sked_i_onnx_values(c, 0, &n);
    sked_i_onnx_rule_same(c);
    for (size_t i = 0; x != NULL && i < sizeof functions / sizeof *functions; i++) {
        double *y = strcmp(functions[i].name, c->node->op_type) == 0 ? sked_i_onnx_fold(c) : NULL;
        for (int e = 0; y != NULL && e < n; e++)
            y[e] = functions[i].of(x[e]);
    }
}

static bool is_integer(int32_t type)
{
    return type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT && type != ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE &&
           type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 && type != ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
}

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

/* Values are kept as doubles; what integers do differently is done here. x and y are numbers. */
static double combine(const char *name, bool integer, double x, double y)
{
    return is(name, "Add")              ? x + y
           : is(name, "And")            ? x != 0 && y != 0
           : is(name, "Div")            ? (y == 0    ? NAN
                                           : integer ? trunc(x / y)
                                                     : x / y)
           : is(name, "Equal")          ? x == y
           : is(name, "Greater")        ? x > y
           : is(name, "GreaterOrEqual") ? x >= y
           : is(name, "Less")           ? x < y
           : is(name, "LessOrEqual")    ? x <= y
           : is(name, "Max")            ? (x > y ? x : y)
           : is(name, "Min")            ? (x < y ? x : y)
           : is(name, "Mod")            ? (y == 0 ? NAN : x - y * floor(x / y))
           : is(name, "Mul")            ? x * y
           : is(name, "Or")             ? x != 0 || y != 0
           : is(name, "Pow")            ? pow(x, y)
           : is(name, "Sub")            ? x - y
                                        : NAN;
}

/* Broadcasting operators of two inputs (more for Max and Min, whose values are then left unknown). */
void sked_i_onnx_rule_binary(call *c)
{
    int n = 0, m = 0, at[max_values], bt[max_values];
    const double *a = sked_i_onnx_values(c, 0, &n), *b = sked_i_onnx_values(c, 1, &m);
    sked_i_onnx_rule_broadcast(c);
    if (a == NULL || b == NULL || c->n_in != 2 || !(sked_i_onnx_elements(&c->out[0]) <= max_values))
        return;
    if (!sked_i_onnx_broadcast_index(c->in[0], &c->out[0], at) ||
        !sked_i_onnx_broadcast_index(c->in[1], &c->out[0], bt))
        return;
    double *y = sked_i_onnx_fold(c);
    const int count = (int)sked_i_onnx_elements(&c->out[0]);
    for (int e = 0; y != NULL && e < count; e++) {
        const double p = a[at[e]], q = b[bt[e]];
        y[e] = isnan(p) || isnan(q) ? NAN : combine(c->node->op_type, is_integer(c->in[0]->type), p, q);
    }
}

void sked_i_onnx_rule_where(call *c)
{
    int n = 0, at[3][max_values];
    const double *value[3];
    sked_i_onnx_rule_broadcast(c);
    if (c->n_in != 3 || !(sked_i_onnx_elements(&c->out[0]) <= max_values))
        return;
    for (size_t k = 0; k < 3; k++) {
        value[k] = sked_i_onnx_values(c, k, &n);
        if (value[k] == NULL || !sked_i_onnx_broadcast_index(c->in[k], &c->out[0], at[k]))
            return;
    }
    double *y = sked_i_onnx_fold(c);
    const int count = (int)sked_i_onnx_elements(&c->out[0]);
    for (int e = 0; y != NULL && e < count; e++) {
        const double choice = value[0][at[0][e]];
        y[e] = isnan(choice) ? NAN : choice != 0 ? value[1][at[1][e]] : value[2][at[2][e]];
    }
}

/* ------------------------------------------------------------------ reductions */

/* The values of a reduction over all elements. */
static void fold_reduction(call *c)
{
    const char *name = c->node->op_type;
    int n = 0;
    const double *x = sked_i_onnx_values(c, 0, &n);
    if (x == NULL || n == 0 || !(sked_i_onnx_elements(&c->out[0]) == 1))
        return;
    double total = x[0];
    for (int e = 1; e < n; e++)
        total = is(name, "ReduceProd")        ? total * x[e]
                : is(name, "ReduceSum")       ? total + x[e]
                : isnan(total) || isnan(x[e]) ? NAN
                : is(name, "ReduceMax")       ? fmax(total, x[e])
                : is(name, "ReduceMin")       ? fmin(total, x[e])
                                              : NAN;
    double *y = sked_i_onnx_fold(c);
    if (y != NULL)
        y[0] = total;
}

void sked_i_onnx_rule_reduce(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const tensor *list = sked_i_onnx_in(c, 1);
    const bool keep = sked_i_onnx_int(c, "keepdims", 1) != 0;
    bool gone[max_rank] = {false};
    if (x == NULL || !sked_i_onnx_axes(c, "axes", 1, x->rank, gone))
        return;
    const bool none =
        list == NULL ? sked_i_onnx_attribute(c, "axes") == NULL : sked_i_onnx_elements(list) == 0;
    if (none && sked_i_onnx_int(c, "noop_with_empty_axes", 0))
        memset(gone, 0, sizeof gone);
    sked_i_onnx_clear(&c->out[0]);
    for (int i = 0; i < x->rank; i++)
        if (!gone[i] || keep)
            sked_i_onnx_put(&c->out[0], gone[i] ? 1 : (double)x->dim[i]);
    fold_reduction(c);
}

/* ArgMax and ArgMin: one axis. */
void sked_i_onnx_rule_arg_reduce(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const bool keep = sked_i_onnx_int(c, "keepdims", 1) != 0;
    const int axis = sked_i_onnx_axis_of(c, x, 0);
    if (axis >= 0)
        sked_i_onnx_splice(x, axis, 1, keep ? 1 : 0, &(double){1}, &c->out[0]);
}

/* Values and their places; k larger than the axis, or unknown, counts as the whole axis. */
void sked_i_onnx_rule_top_k(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1);
    const int axis = sked_i_onnx_axis_of(c, x, -1);
    if (axis < 0)
        return;
    const double size = (double)x->dim[axis];
    double k =
        sked_i_onnx_attribute(c, "k") ? (double)sked_i_onnx_int(c, "k", 0) : sked_i_onnx_scalar(c, 1, size);
    k = k >= 0 && k < size ? k : size;
    for (size_t o = 0; o < c->n_out; o++) {
        sked_i_onnx_copy(x, &c->out[o]);
        c->out[o].dim[axis] = (int64_t)k;
    }
}

/* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: a number, or one per sample; then the probabilities. */
void sked_i_onnx_rule_loss(call *c)
{
    sked_i_onnx_clear(&c->out[0]);
    if (sked_i_onnx_text_is(c, "reduction", "none")) {
        c->out[0].rank = -1;
        sked_i_onnx_copy(sked_i_onnx_in(c, 1), &c->out[0]);
    }
    if (c->n_out > 1)
        sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[1]);
}

/* Adagrad, Adam, Momentum: rate, step, then as many values, gradients, and states; the gradients are dropped.
 */
void sked_i_onnx_rule_optimizer(call *c)
{
    const size_t states = strcmp(c->node->op_type, "Adam") == 0 ? 2 : 1;
    const size_t n = c->n_in > 2 ? (c->n_in - 2) / (2 + states) : 0;
    for (size_t k = 0; k < c->n_out && k < n * (1 + states); k++) {
        const tensor *from = sked_i_onnx_in(c, k < n ? 2 + k : 2 + n + k);
        sked_i_onnx_copy(from, &c->out[k]);
        c->out[k].type = from ? from->type : 0;
    }
}

/* Gradient: one of each input it is taken by. */
void sked_i_onnx_rule_each(call *c)
{
    for (size_t k = 0; k < c->n_out; k++) {
        const tensor *from = sked_i_onnx_in(c, k);
        sked_i_onnx_copy(from, &c->out[k]);
        c->out[k].type = from ? from->type : 0;
    }
}

/* ------------------------------------------------------------------ products */

void sked_i_onnx_rule_gemm(call *c)
{
    const tensor *a = sked_i_onnx_shaped(c, 0, 2), *b = sked_i_onnx_shaped(c, 1, 2);
    if (a == NULL || b == NULL || a->rank != 2 || b->rank != 2)
        return;
    const bool turned = sked_i_onnx_int(c, "transA", 0) != 0;
    SKED_SHAPE(&c->out[0], (double)a->dim[turned ? 1 : 0],
               (double)b->dim[sked_i_onnx_int(c, "transB", 0) ? 0 : 1]);
    c->flops = 2 * sked_i_onnx_elements(&c->out[0]) * (double)a->dim[turned ? 0 : 1];
}

/* Leading dimensions broadcast; a vector is a row on the left and a column on the right. */
void sked_i_onnx_rule_matmul(call *c)
{
    const size_t second = strcmp(c->node->op_type, "QLinearMatMul") == 0 ? 3 : 1;
    const tensor *x = sked_i_onnx_shaped(c, 0, 1), *y = sked_i_onnx_shaped(c, second, 1);
    tensor wide = {.rank = -1};
    if (x == NULL || y == NULL)
        return;
    tensor a = *x, b = *y;
    a.rank = a.rank >= 2 ? a.rank - 2 : 0;
    b.rank = b.rank >= 2 ? b.rank - 2 : 0;
    sked_i_onnx_widen(&a, &b, &wide);
    if (x->rank >= 2)
        sked_i_onnx_put(&wide, (double)x->dim[x->rank - 2]);
    if (y->rank >= 2)
        sked_i_onnx_put(&wide, (double)y->dim[y->rank - 1]);
    sked_i_onnx_copy(&wide, &c->out[0]);
    c->flops = 2 * sked_i_onnx_elements(&c->out[0]) * (double)x->dim[x->rank - 1];
}

/* Without the last two dimensions. */
void sked_i_onnx_rule_det(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 2);
    sked_i_onnx_copy(x, &c->out[0]);
    if (x != NULL)
        c->out[0].rank -= 2;
}

/* ------------------------------------------------------------------ Einsum */

typedef struct einsum {
    double size[128]; /* of a letter; -1: not met */
    bool twice[128];  /* met more than once in the terms */
    tensor dots;      /* what the ellipses broadcast to */
} einsum;

static bool is_letter(char x)
{
    return (x >= 'A' && x <= 'Z') || (x >= 'a' && x <= 'z');
}

/* One term against one input: the sizes of its letters. Returns the end of the term; NULL: they disagree. */
static const char *read_term(einsum *e, const char *at, const char *end, const tensor *t)
{
    int letters = 0;
    for (const char *s = at; s < end && *s != ',' && *s != '-'; s++)
        letters += is_letter(*s);
    int i = 0;
    for (; at < end && *at != ',' && *at != '-'; at++) {
        if (*at == '.' && end - at >= 3 && memcmp(at, "...", 3) == 0) {
            tensor some = {.rank = 0}, wide = {.rank = -1};
            for (int left = t->rank - letters; left > 0; left--)
                sked_i_onnx_put(&some, i < t->rank ? (double)t->dim[i++] : -1);
            sked_i_onnx_widen(&e->dots, &some, &wide);
            e->dots = wide;
            at += 2;
        } else if (is_letter(*at)) {
            if (i >= t->rank)
                return NULL;
            double *size = &e->size[(int)*at];
            e->twice[(int)*at] = *size >= 0;
            *size = fmax(*size, (double)t->dim[i++]);
        } else if (*at != ' ') {
            return NULL;
        }
    }
    return i == t->rank ? at : NULL;
}

/* The result's dimensions: the letters behind the arrow, or those met once in alphabetical order. */
static void read_result(const einsum *e, const char *at, const char *end, tensor *out)
{
    sked_i_onnx_clear(out);
    for (; at < end; at++) {
        const int letter = (unsigned char)*at;
        if (letter == '.') {
            for (int i = 0; i < e->dots.rank; i++)
                sked_i_onnx_put(out, (double)e->dots.dim[i]);
            while (at + 1 < end && at[1] == '.')
                at++;
        } else if (letter != ' ') {
            sked_i_onnx_put(out, letter < 128 ? e->size[letter] : -1);
        }
    }
}

static void implied_result(const einsum *e, tensor *out)
{
    *out = e->dots;
    for (int i = 0; i < 128; i++)
        if (e->size[i] >= 0 && !e->twice[i])
            sked_i_onnx_put(out, e->size[i]);
}

/* "ij,jk->ik", with ellipses; the arrow may be left out. */
void sked_i_onnx_rule_einsum(call *c)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, "equation");
    einsum e = {.dots = {.rank = 0}};
    for (int i = 0; i < 128; i++)
        e.size[i] = -1;
    if (a == NULL || !a->has_s || c->n_in == 0)
        return;
    const char *at = (const char *)a->s.data, *end = at + a->s.len;
    for (size_t k = 0; k < c->n_in; k++) {
        const tensor *t = sked_i_onnx_shaped(c, k, 0);
        at = t ? read_term(&e, at, end, t) : NULL;
        if (at == NULL || (k + 1 < c->n_in && (at == end || *at++ != ',')))
            return;
    }
    if (at == end)
        implied_result(&e, &c->out[0]);
    else if (end - at >= 2 && at[0] == '-' && at[1] == '>')
        read_result(&e, at + 2, end, &c->out[0]);
    c->flops = 2 * sked_i_onnx_elements(&e.dots);
    for (int i = 0; i < 128; i++)
        c->flops *= e.size[i] >= 0 ? e.size[i] : 1;
}
