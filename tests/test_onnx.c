/*
 * Shapes of ONNX models: every rule of the table on small calls written as text, values of small tensors,
 * graphs inside nodes, functions, hostile numbers, and real networks against figures that were measured.
 */
#include "test.h"

#include "base/rng.h"
#include "formats/onnx_operators.h"
#include "formats/onnx_shapes.h"

#include <dirent.h>
#include <math.h>

typedef sked_i_onnx_tensor tensor;

/* ------------------------------------------------------------------ models as text */

/*
 * A tensor: a letter for its type and its dimensions, "f2,3"; "=" and values where they are known,
 * "l2=4,5". "-" is left out, "?" has no known shape, "Q3:f2" is a sequence of three of them.
 */
static const char type_letters[] = "?fucUSilsbhd"; /* by TensorProto.DataType */

static double number(const char **at)
{
    char *end = NULL;
    const double x = strtod(*at, &end);
    *at = end;
    return x;
}

static tensor read_tensor(const char **at, double *values)
{
    tensor t = {.rank = -1, .producer = -1};
    int n = 0;
    if (**at == '-' || **at == '?') {
        (*at)++;
        return t;
    }
    if (**at == 'Q') {
        ++*at;
        t.sequence = true;
        t.items = (int64_t)number(at);
        ++*at; /* ':' */
    }
    t.type = (int32_t)(strchr(type_letters, *(*at)++) - type_letters);
    for (t.rank = 0; **at >= '0' && **at <= '9';) {
        t.dim[t.rank++] = (int64_t)number(at);
        *at += **at == ',';
    }
    if (**at == '=') {
        t.value = values;
        do {
            ++*at;
            values[n++] = **at == '?' ? (++*at, NAN) : number(at);
        } while (**at == ',');
    }
    return t;
}

static bool next(const char **at)
{
    while (**at == ' ')
        ++*at;
    return **at != 0;
}

enum { most = 16 };

/* A node with its attributes: "axis=1 perm=[1,0] mode='text' scales=[1.5,2.0]". */
typedef struct small_node {
    Onnx__NodeProto node;
    Onnx__AttributeProto attribute[most], *attributes[most];
    int64_t ints[most][most];
    float floats[most][most];
    char domain[40], word[most][40], in_name[most][8], out_name[most][8], *in[most], *out[most];
} small_node;

static void read_attribute(small_node *n, int i, const char **at)
{
    Onnx__AttributeProto *a = &n->attribute[i];
    onnx__attribute_proto__init(a);
    n->attributes[i] = a;
    const size_t size = strcspn(*at, "=");
    snprintf(n->word[i], sizeof n->word[i], "%.*s", (int)size, *at);
    a->name = n->word[i];
    *at += size + 1;
    const size_t length = strcspn(*at, " ");
    const bool real = memchr(*at, '.', length) != NULL;
    if (**at == '\'') {
        a->has_s = true;
        a->s = (ProtobufCBinaryData){length - 2, (uint8_t *)*at + 1};
        *at += length;
    } else if (**at == '[') {
        a->ints = n->ints[i];
        a->floats = n->floats[i];
        for (++*at; **at != ']'; *at += **at == ',') {
            if (real)
                a->floats[a->n_floats++] = (float)number(at);
            else
                a->ints[a->n_ints++] = (int64_t)number(at);
        }
        ++*at;
    } else {
        a->has_i = !real;
        a->i = (int64_t)number(at);
    }
}

static void read_node(small_node *n, const char *type, const char *attributes)
{
    memset(n, 0, sizeof *n);
    onnx__node_proto__init(&n->node);
    const char *point = strrchr(type, '.');
    snprintf(n->domain, sizeof n->domain, "%.*s", point ? (int)(point - type) : 0, type);
    n->node.domain = n->domain;
    n->node.op_type = (char *)(point ? point + 1 : type);
    n->node.attribute = n->attributes;
    n->node.input = n->in;
    n->node.output = n->out;
    for (const char *at = attributes; next(&at);)
        read_attribute(n, (int)n->node.n_attribute++, &at);
}

typedef struct bench {
    Onnx__ModelProto model;
    sked_i_onnx_shapes shapes;
    sked_i_onnx_scope scope;
    double value[most][sked_i_onnx_max_values];
} bench;

static void begin(bench *b)
{
    memset(b, 0, sizeof *b);
    onnx__model_proto__init(&b->model);
    OK(sked_i_onnx_shapes_begin(&b->shapes, &b->model, 100, err));
}

static void end(bench *b)
{
    sked_i_onnx_shapes_free(&b->shapes);
    sked_i_onnx_scope_free(&b->scope);
}

static void add(bench *b, const char *name, tensor t)
{
    const int32_t i = sked_i_onnx_scope_add(&b->scope, name);
    assert_true(i >= 0);
    b->scope.tensor[i] = t;
}

static void bind_inputs(bench *b, small_node *n, const char *text)
{
    for (const char *at = text; next(&at); n->node.n_input++) {
        const size_t k = n->node.n_input;
        const bool absent = *at == '-';
        const tensor t = read_tensor(&at, b->value[k]);
        snprintf(n->in_name[k], sizeof n->in_name[k], "%s", absent ? "" : (char[]){(char)('a' + k), 0});
        n->in[k] = n->in_name[k];
        if (!absent)
            add(b, n->in[k], t);
    }
}

static void bind_outputs(bench *b, small_node *n, const char *text)
{
    double ignored[sked_i_onnx_max_values];
    for (const char *at = text; next(&at); n->node.n_output++) {
        const size_t k = n->node.n_output;
        read_tensor(&at, ignored);
        snprintf(n->out_name[k], sizeof n->out_name[k], "%c", (char)('A' + k));
        n->out[k] = n->out_name[k];
        add(b, n->out[k], (tensor){.rank = -1, .producer = -1});
    }
}

static void show(const tensor *t, char *out, size_t size)
{
    int n = snprintf(out, size, "%s%c", t->sequence ? "sequence of " : "",
                     t->type >= 0 && t->type < 12 ? type_letters[t->type] : '!');
    if (t->rank < 0)
        snprintf(out, size, "?");
    for (int i = 0; i < t->rank; i++)
        n += snprintf(out + n, size - (size_t)n, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    for (int i = 0, count = t->value ? (int)sked_i_onnx_elements(t) : 0; i < count && n < (int)size; i++)
        n += snprintf(out + n, size - (size_t)n, "%c%g", i ? ',' : '=', t->value[i]);
}

static bool agree(const tensor *got, const tensor *want)
{
    if (got->rank != want->rank || (want->rank >= 0 && got->type != want->type) ||
        (want->sequence && (!got->sequence || got->items != want->items)))
        return false;
    for (int i = 0; i < want->rank; i++)
        if (got->dim[i] != want->dim[i])
            return false;
    for (int i = 0, n = want->value ? (int)sked_i_onnx_elements(want) : 0; i < n; i++)
        if (got->value == NULL || (got->value[i] != want->value[i] && !isnan(want->value[i])))
            return false;
    return true;
}

/* The outputs in the scope are as the text says. */
static void expect(const bench *b, const char *type, const char *text)
{
    int k = 0;
    for (const char *at = text; next(&at); k++) {
        double values[sked_i_onnx_max_values];
        const char name[2] = {(char)('A' + k), 0};
        const tensor want = read_tensor(&at, values);
        const tensor *got = &b->scope.tensor[sked_i_names_find(&b->scope.names, name, 1)];
        char a[300], w[300];
        if (!agree(got, &want)) {
            show(got, a, sizeof a);
            show(&want, w, sizeof w);
            fail_msg("%s: output %d is %s, not %s", type, k, a, w);
        }
    }
}

typedef struct row {
    const char *type, *in, *attributes, *out;
} row;

static double run_row(const row *r)
{
    static bench b;
    static small_node n;
    begin(&b);
    read_node(&n, r->type, r->attributes);
    bind_inputs(&b, &n, r->in);
    bind_outputs(&b, &n, r->out);
    const double cost = sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
    expect(&b, r->type, r->out);
    end(&b);
    return cost;
}

static void run_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        run_row(&rows[i]);
}
#define RUN(rows) run_rows(rows, sizeof rows / sizeof *rows)

/* ------------------------------------------------------------------ families */

static void test_math(void **state)
{
    static const row rows[] = {
        {"Relu", "f2,3", "", "f2,3"},
        {"Add", "f2,1,4 f3,1", "", "f2,3,4"},
        {"Add", "f2,3,4 f3", "broadcast=1 axis=1", "f2,3,4"}, /* before operator set 7 */
        {"Sum", "f1 f5 f2,1", "", "f2,5"},
        {"Equal", "f2,3 f1", "", "b2,3"},
        {"Where", "b3 f2,1 f1", "", "f2,3"},
        {"IsNaN", "h7", "", "b7"},
        {"Dropout", "f2,3", "", "f2,3 b2,3"},
        {"ReduceSum", "f2,3,4", "", "f1,1,1"},
        {"ReduceSum", "f2,3,4 l1=1", "keepdims=0", "f2,4"},
        {"ReduceMean", "f2,3,4", "axes=[-1] keepdims=1", "f2,3,1"},
        {"ReduceSum", "f2,3,4 l0", "noop_with_empty_axes=1", "f2,3,4"}, /* an empty list needs no values */
        {"ReduceSum", "f2,3,4 l1", "", "?"},
        {"ReduceMax", "f2,3,4 -", "noop_with_empty_axes=1", "f2,3,4"},
        {"ArgMax", "f2,3,4", "axis=1 keepdims=0", "l2,4"},
        {"TopK", "f2,9 l1=4", "", "f2,4 l2,4"},
        {"TopK", "f2,9 l1", "", "f2,9 l2,9"}, /* at most all */
        {"TopK", "f2,9", "k=3 axis=0", "f2,9 l2,9"},
        {"MatMul", "f5,1,2,3 f7,3,4", "", "f5,7,2,4"},
        {"MatMul", "f3 f3,4", "", "f4"},
        {"MatMul", "f2,3 f3", "", "f2"},
        {"MatMulInteger", "u2,3 u3,4", "", "i2,4"},
        {"QLinearMatMul", "u2,3 f u u3,4 f u f c", "", "c2,4"},
        {"Gemm", "f3,2 f4,3", "transA=1 transB=1", "f2,4"},
        {"Einsum", "f2,3 f3,4", "equation='ij,jk->ik'", "f2,4"},
        {"Einsum", "f5,2,3 f5,3,4", "equation='...ij,...jk->...ik'", "f5,2,4"},
        {"Einsum", "f2,3 f3,4", "equation='ij,jk'", "f2,4"},
        {"Einsum", "f3,3", "equation='ii->'", "f"},
        {"Einsum", "f3,3", "equation='ijk'", "?"},
        {"Det", "f2,3,3", "", "f2"},
        {"DynamicQuantizeLinear", "f3,4", "", "u3,4 f u"},
        {"QuantizeLinear", "f3,4 f c", "", "c3,4"},
        {"QuantizeLinear", "f3,4 f", "", "u3,4"},
        {"DequantizeLinear", "u3,4 h", "", "h3,4"},
        {"NegativeLogLikelihoodLoss", "f3,5 l3", "", "f"},
        {"SoftmaxCrossEntropyLoss", "f3,5,7 l3,7", "reduction='none'", "f3,7 f3,5,7"},
        {"ai.onnx.preview.training.Adam", "f l f2 f3 f2 f3 f2 f3 f2 f3", "", "f2 f3 f2 f3 f2 f3"},
        {"ai.onnx.preview.training.Momentum", "f l f2 f2 f2", "", "f2 f2"},
        {"ai.onnx.preview.training.Gradient", "f2 d3", "", "f2 d3"},
    };
    (void)state;
    RUN(rows);
}

static void test_layers(void **state)
{
    static const row rows[] = {
        {"Conv", "f1,3,8,10 f4,3,3,3", "strides=[2,1] pads=[1,0,1,0]", "f1,4,4,8"},
        {"Conv", "f1,3,9 f4,3,3", "dilations=[2]", "f1,4,5"},
        {"Conv", "f1,3,9 f4,3,3", "auto_pad='SAME_UPPER' strides=[2]", "f1,4,5"},
        {"QLinearConv", "u1,3,8,8 f u u4,3,3,3 f u f c", "", "c1,4,6,6"},
        {"ConvInteger", "u1,3,8,8 u4,3,3,3", "", "i1,4,6,6"},
        {"ConvTranspose", "f1,4,5,5 f4,2,3,3", "strides=[2,2] output_padding=[1,0]", "f1,2,12,11"},
        {"ConvTranspose", "f1,4,5,5 f4,2,3,3", "group=2 pads=[1,1,1,1]", "f1,4,5,5"},
        {"ConvTranspose", "f1,4,5 f4,2,3", "output_shape=[17]", "f1,2,17"},
        {"ConvTranspose", "f1,4,5 f4,2,3", "auto_pad='SAME_LOWER' strides=[3]", "f1,2,15"},
        {"MaxPool", "f1,2,8,8", "kernel_shape=[3,3] strides=[2,2]", "f1,2,3,3 l1,2,3,3"},
        {"MaxPool", "f1,2,8", "kernel_shape=[3] strides=[2] ceil_mode=1", "f1,2,4"},
        {"AveragePool", "f1,2,4", "kernel_shape=[1] strides=[2] ceil_mode=1", "f1,2,2"},
        {"GlobalAveragePool", "f2,3,4,5", "", "f2,3,1,1"},
        {"MaxUnpool", "f1,1,2,2 l1,1,2,2", "kernel_shape=[2,2] strides=[2,2]", "f1,1,4,4"},
        {"MaxUnpool", "f1,1,2,2 l1,1,2,2 l4=1,1,5,5", "kernel_shape=[2,2]", "f1,1,5,5"},
        {"MaxRoiPool", "f1,3,8,8 f7,5", "pooled_shape=[2,3]", "f7,3,2,3"},
        {"RoiAlign", "f1,3,8,8 f7,4 l7", "output_height=5 output_width=6", "f7,3,5,6"},
        {"BatchNormalization", "f2,3,4 f3 f3 d3 d3", "", "f2,3,4 d3 d3"},
        {"LayerNormalization", "h2,3,4 h4", "axis=-1", "h2,3,4 f2,3,1 f2,3,1"},
        {"LSTM", "f7,2,5 f1,12,5 f1,12,3", "hidden_size=3", "f7,1,2,3 f1,2,3 f1,2,3"},
        {"GRU", "f2,7,5 f2,9,5 f2,9,3", "layout=1", "f2,7,2,3 f2,2,3"},
        {"Attention", "f2,4,5,8 f2,2,6,8 f2,2,6,9 - f2,2,3,8 f2,2,3,9", "",
         "f2,4,5,9 f2,2,9,8 f2,2,9,9 f2,4,5,9"},
        {"Attention", "f2,5,32 f2,6,16 f2,6,18", "q_num_heads=4 kv_num_heads=2", "f2,5,36"},
        {"ai.onnx.preview.FlexAttention", "f2,4,5,8 f2,2,6,8 f2,2,6,9", "", "f2,4,5,9"},
        {"LinearAttention", "f2,5,32 f2,5,16 f2,5,18", "q_num_heads=4 kv_num_heads=2", "f2,5,36 f2,2,8,9"},
        {"CausalConvWithState", "f2,3,9 f3,1,4", "", "f2,3,9 f2,3,3"},
        {"Resize", "f1,3,8,10 - f4=1,1,2,1.5", "", "f1,3,16,15"},
        {"Resize", "f1,3,8,10 f4=1,1,2,1.5", "", "f1,3,16,15"}, /* operator set 10 */
        {"Resize", "f1,3,8,10 - - l4=1,3,5,6", "", "f1,3,5,6"},
        {"Resize", "f1,3,8,10 - - l2=5,6", "axes=[2,3]", "f1,3,5,6"},
        {"Resize", "f1,3,8,10 - - l2=4,4", "axes=[2,3] keep_aspect_ratio_policy='not_larger'", "f1,3,3,4"},
        {"Resize", "f1,3,8,10 - - l2=4,4", "axes=[2,3] keep_aspect_ratio_policy='not_smaller'", "f1,3,4,5"},
        {"Upsample", "f1,3,8,10", "scales=[1.0,1.0,2.0,3.0]", "f1,3,16,30"},
        {"DepthToSpace", "f1,8,2,3", "blocksize=2", "f1,2,4,6"},
        {"SpaceToDepth", "f1,2,4,6", "blocksize=2", "f1,8,2,3"},
        {"GridSample", "f1,3,8,8 f1,5,6,2", "", "f1,3,5,6"},
        {"AffineGrid", "f2,2,3 l4=2,3,5,6", "", "f2,5,6,2"},
        {"Col2Im", "f1,12,20 l2=5,6 l2=2,3", "", "f1,2,5,6"},
        {"CenterCropPad", "f9,8,3 l2=5,12", "axes=[0,1]", "f5,12,3"},
        {"NonMaxSuppression", "f2,10,4 f2,3,10 l1=4", "", "l24,3"},
        {"NonMaxSuppression", "f2,10,4 f2,3,10 l1=99", "", "l60,3"},
        {"DFT", "f2,9,1 - l=1", "onesided=1", "f2,5,2"},
        {"DFT", "f2,5,2", "axis=1 onesided=1 inverse=1", "f2,8,1"},
        {"STFT", "f1,100,1 l=10 f20", "", "f1,9,11,2"},
        {"HannWindow", "l=12", "output_datatype=11", "d12"},
        {"MelWeightMatrix", "l=8 l=16 l=8000 f f", "", "f9,8"},
    };
    (void)state;
    RUN(rows);
}

static void test_tensors(void **state)
{
    static const row rows[] = {
        {"Reshape", "f2,3,4 l2=-1,4", "", "f6,4"},
        {"Reshape", "f2,3,4 l3=0,0,-1", "", "f2,3,4"},
        {"Reshape", "f2,3,4 l2=?,8", "", "f3,8"}, /* one unknown number is what is left */
        {"Reshape", "f2,3,4 l2=?,?", "", "?"},
        {"Reshape", "f2,3,4 l1=5", "", "f5"},
        {"Reshape", "f2,3,4", "shape=[4,6]", "f4,6"},
        {"Reshape", "f2,3,4 l2", "", "?"},
        {"Flatten", "f2,3,4", "axis=2", "f6,4"},
        {"Squeeze", "f2,1,4,1", "", "f2,4"},
        {"Squeeze", "f2,1,4,1 l1=1", "", "f2,4,1"},
        {"Unsqueeze", "f2,4 l2=0,-1", "", "f1,2,4,1"},
        {"Transpose", "f2,3,4", "perm=[2,0,1]", "f4,2,3"},
        {"Transpose", "f2,3,4", "perm=[2,2,1]", "?"},
        {"Concat", "f2,3 f2,5", "axis=-1", "f2,8"},
        {"Split", "f2,9 l2=4,5", "axis=1", "f2,4 f2,5"},
        {"Split", "f2,9", "axis=1 num_outputs=2", "f2,5 f2,4"},
        {"Split", "f2,9", "axis=1 split=[2,7]", "f2,2 f2,7"},
        {"Slice", "f10,9 l1=2 l1=9223372036854775807 l1=0 l1=3", "", "f3,9"},
        {"Slice", "f10,9 l2=-3,8 l2=10,-99 l2=0,1 l2=1,-2", "", "f3,5"},
        {"Slice", "f10,9", "starts=[1,2] ends=[4,5]", "f3,3"},
        {"Slice", "f10,9 l1 l1 l1=0", "", "f10,9"}, /* at most all */
        {"Slice", "f10,9 l1=2 l1 l1=0", "", "f10,9"},
        {"Gather", "f5,6 l2,3", "axis=1", "f5,2,3"},
        {"Gather", "f5,6 l", "", "f6"},
        {"GatherElements", "f5,6 l2,6", "", "f2,6"},
        {"GatherND", "f5,6,7 l2,3,2", "", "f2,3,7"},
        {"GatherND", "f5,6,7 l5,3,1", "batch_dims=1", "f5,3,7"},
        {"ScatterND", "f5,6 l2,1 f2,6", "", "f5,6"},
        {"Expand", "f3,1 l3=2,1,4", "", "f2,3,4"},
        {"Tile", "f3,2 l2=2,3", "", "f6,6"},
        {"Pad", "f3,4 l4=1,0,2,-1", "", "f6,3"},
        {"Pad", "f3,4 l2=1,2 - l1=1", "", "f3,7"},
        {"Pad", "f3,4", "pads=[0,1,0,1]", "f3,6"},
        {"OneHot", "l3 l=7 f2", "", "f3,7"},
        {"OneHot", "l3 l1=7 f2", "axis=0", "f7,3"},
        {"NonZero", "f3,4", "", "l2,12"}, /* at most all */
        {"Compress", "f3,4 b3=1,0,1", "axis=0", "f2,4"},
        {"Compress", "f3,4 b12", "", "f12"},
        {"Unique", "f3,4", "", "f12 l12 l12 l12"},
        {"Unique", "f3,4", "axis=1", "f3,4 l4 l4 l4"},
        {"EyeLike", "f3,4", "dtype=7", "l3,4"},
        {"Cast", "f3,4", "to=10", "h3,4"},
        {"CastLike", "f3,4 l1", "", "l3,4"},
        {"RandomNormal", "", "shape=[2,3]", "f2,3"},
        {"Multinomial", "f2,9", "sample_size=5", "i2,5"},
        {"TfIdfVectorizer", "l3,9", "ngram_indexes=[0,4,2]", "f3,5"},
        {"StringSplit", "s3,4", "", "? l3,4"},
        {"ai.onnx.ml.ArrayFeatureExtractor", "f3,9 l1,2", "", "f3,2"},
        {"ai.onnx.ml.FeatureVectorizer", "f3,2 f3,4", "inputdimensions=[2,4]", "f3,6"},
        {"ai.onnx.ml.OneHotEncoder", "l3,2", "cats_int64s=[1,2,3,4]", "f3,2,4"},
        {"ai.onnx.ml.TreeEnsembleClassifier", "f5,9", "classlabels_int64s=[0,1,2]", "l5 f5,3"},
        {"ai.onnx.ml.LinearRegressor", "f5,9", "targets=2", "f5,2"},
        {"ai.onnx.ml.Scaler", "l5,9", "", "f5,9"},
    };
    (void)state;
    RUN(rows);
}

static void test_values(void **state)
{
    static const row rows[] = {
        {"Shape", "f2,3,4", "", "l3=2,3,4"},
        {"Shape", "f2,3,4", "start=-2 end=9", "l2=3,4"},
        {"Size", "f2,3,4", "", "l=24"},
        {"Gather", "l3=2,3,4 l=-1", "", "l=4"},
        {"Gather", "l3=2,3,4 l2=2,0", "", "l2=4,2"},
        {"Unsqueeze", "l=4 l1=0", "", "l1=4"},
        {"Concat", "l1=4 l1 l2=7,8", "axis=0", "l4=4,?,7,8"},
        {"Slice", "l4=5,6,7,8 l1=-1 l1=-99 l1=0 l1=-2", "", "l2=8,6"},
        {"Split", "l3=5,6,7 l2=1,2", "", "l1=5 l2=6,7"},
        {"Add", "l3=1,2,3 l=10", "", "l3=11,12,13"},
        {"Sub", "l2,1=1,2 l2=10,20", "", "l2,2=-9,-19,-8,-18"},
        {"Div", "l2=-7,7 l=2", "", "l2=-3,3"}, /* towards zero */
        {"Div", "f2=-7,7 f=2", "", "f2=-3.5,3.5"},
        {"Div", "l1=7 l1=0", "", "l1=?"},
        {"Mod", "l2=-7,7 l=4", "", "l2=1,3"},
        {"Mul", "l2=3,? l=4", "", "l2=12,?"},
        {"Max", "l2=3,5 l=4", "", "l2=4,5"},
        {"Equal", "l2=3,4 l=4", "", "b2=0,1"},
        {"Where", "b2=0,1 l=5 l2=6,7", "", "l2=6,5"},
        {"Not", "b2=0,1", "", "b2=1,0"},
        {"Neg", "l2=3,-4", "", "l2=-3,4"},
        {"Floor", "f2=3.7,-3.2", "", "f2=3,-4"},
        {"Cast", "f2=3.7,-3.2", "to=7", "l2=3,-3"},
        {"Cast", "f2=0,-3.2", "to=9", "b2=0,1"},
        {"Reshape", "l4=1,2,3,4 l2=2,2", "", "l2,2=1,2,3,4"},
        {"Transpose", "l2,3=1,2,3,4,5,6", "", "l3,2=1,4,2,5,3,6"},
        {"ReduceProd", "l3=2,3,4", "keepdims=0", "l=24"},
        {"ReduceMin", "l3=2,3,4", "", "l1=2"},
        {"Range", "l=2 l=9 l=3", "", "l3=2,5,8"},
        {"Range", "l=2 l=9 l=0", "", "?"},
        {"Range", "l=9 l=2 l=3", "", "l0"},
        {"ConstantOfShape", "l2=2,1", "", "f2,1=0,0"},
        {"Expand", "l1=7 l1=3", "", "l3=7,7,7"},
        {"NonZero", "l3=1,0,5", "", "l1,2=0,2"},
        {"Constant", "", "value_ints=[3,4]", "l2=3,4"},
        {"Constant", "", "value_int=3", "l=3"},
        {"Constant", "", "value_floats=[0.5,4.0]", "f2=0.5,4"},
        {"SequenceLength", "Q3:f2", "", "l=3"},
    };
    (void)state;
    RUN(rows);
}

static void test_sequences(void **state)
{
    static const row rows[] = {
        {"SequenceEmpty", "", "dtype=7", "Q0:l"},
        {"SequenceConstruct", "f2,3 f4,1", "", "Q2:f4,3"}, /* one shape that holds both */
        {"SequenceInsert", "Q2:f3 f5", "", "Q3:f5"},
        {"SequenceInsert", "Q0:f f5,2", "", "Q1:f5,2"},
        {"SequenceErase", "Q2:f3 l=0", "", "Q1:f3"},
        {"SequenceAt", "Q2:f3 l=0", "", "f3"},
        {"SplitToSequence", "f9,2 l=4", "", "Q3:f4,2"},
        {"SplitToSequence", "f9,2 l2=3,6", "", "Q2:f6,2"},
        {"SplitToSequence", "f9,2", "keepdims=0", "Q9:f2"},
        {"ConcatFromSequence", "Q3:f4,2", "axis=1", "f4,6"},
        {"ConcatFromSequence", "Q3:f4,2", "axis=0 new_axis=1", "f3,4,2"},
        {"Optional", "f3", "", "f3"},
        {"OptionalHasElement", "f3", "", "b"},
        {"Scan", "f3", "", "?"},
    };
    (void)state;
    RUN(rows);
    tensor t = {
        .rank = 1, .dim = {3}, .type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, .sequence = true, .items = 5};
    assert_true(sked_i_onnx_bytes(&t) == 60);
    t = (tensor){.rank = 1, .dim = {3}, .type = 22}; /* int4: half a byte each */
    assert_true(sked_i_onnx_bytes(&t) == 2);
    t.type = ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
    assert_true(sked_i_onnx_bytes(&t) == 0);
}

static void test_costs(void **state)
{
    static const struct {
        row call;
        double microseconds;
    } rows[] = {
        {{"Conv", "f10,32,50,50 f64,32,3,3", "pads=[1,1,1,1]", "f10,64,50,50"},
         9216},                                                                   /* 2 x 1.6e6 x 288 FLOP */
        {{"ConvTranspose", "f10,32,50,50 f32,64,3,3", "", "f10,64,52,52"}, 9216}, /* 2 x 8e5 x 576 */
        {{"MatMul", "f500,1000 f1000,300", "", "f500,300"}, 3000},
        {{"LSTM", "f10,100,50 f1,400,50 f1,400,100", "hidden_size=100", "f10,1,100,100"}, 1200},
        {{"Relu", "f100000", "", "f100000"}, 80}, /* reads and writes 400,000 bytes */
        {{"Gather", "f1000000,4 l10000", "", "f10000,4"},
         32}, /* reads and writes what it takes, not the table */
        {{"Slice", "f1000000 l1=0 l1=20000", "", "f20000"}, 16},
        {{"Reshape", "f1000000 l1=-1", "", "f1000000"}, 0},
        {{"Shape", "f1000000", "", "l1=1000000"}, 0},
        {{"Relu", "?", "", "?"}, 1},
        {{"com.example.Mystery", "f1000000", "", "?"}, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double got = run_row(&rows[i].call);
        if (got != rows[i].microseconds)
            fail_msg("%s takes %g, not %g", rows[i].call.type, got, rows[i].microseconds);
    }
}

/* ------------------------------------------------------------------ graphs inside, functions */

/* A graph of one or two nodes: "type|inputs|attributes|output" each, with names for tensors. */
typedef struct small_graph {
    Onnx__GraphProto graph;
    small_node node[3];
    Onnx__NodeProto *nodes[3];
    Onnx__ValueInfoProto value[8], *in[4], *out[4];
    char name[8][8];
    int used;
} small_graph;

static Onnx__ValueInfoProto *formal(small_graph *g, const char **at)
{
    const size_t size = strcspn(*at, " ");
    Onnx__ValueInfoProto *v = &g->value[g->used];
    onnx__value_info_proto__init(v);
    snprintf(g->name[g->used], sizeof g->name[g->used], "%.*s", (int)size, *at);
    v->name = g->name[g->used++];
    *at += size;
    return v;
}

static void read_graph(small_graph *g, const char *inputs, const char *outputs)
{
    memset(g, 0, sizeof *g);
    onnx__graph_proto__init(&g->graph);
    g->graph.input = g->in;
    g->graph.output = g->out;
    g->graph.node = g->nodes;
    for (const char *at = inputs; next(&at);)
        g->in[g->graph.n_input++] = formal(g, &at);
    for (const char *at = outputs; next(&at);)
        g->out[g->graph.n_output++] = formal(g, &at);
}

static void names_of(const char *text, char (*name)[8], char **list, size_t *count)
{
    for (const char *at = text; next(&at); ++*count) {
        const size_t size = strcspn(at, " ");
        snprintf(name[*count], 8, "%.*s", (int)size, at);
        list[*count] = name[*count];
        at += size;
    }
}

static small_node *add_node(small_graph *g, const char *type, const char *in, const char *attributes,
                            const char *out)
{
    small_node *n = &g->node[g->graph.n_node];
    read_node(n, type, attributes);
    names_of(in, n->in_name, n->in, &n->node.n_input);
    names_of(out, n->out_name, n->out, &n->node.n_output);
    g->nodes[g->graph.n_node++] = &n->node;
    return n;
}

static void add_graph(small_node *n, const char *name, small_graph *g)
{
    const size_t i = n->node.n_attribute++;
    onnx__attribute_proto__init(&n->attribute[i]);
    n->attributes[i] = &n->attribute[i];
    n->attribute[i].name = (char *)name;
    n->attribute[i].g = &g->graph;
}

static void test_bodies(void **state)
{
    static bench b;
    static small_node n;
    static small_graph one, two;
    (void)state;

    begin(&b); /* If: the larger; then, with a known condition, that branch */
    read_graph(&one, "", "y");
    add_node(&one, "Concat", "x x", "axis=0", "y");
    read_graph(&two, "", "x"); /* the branch hands a captured tensor through */
    add(&b, "x", (tensor){.rank = 1, .dim = {5}, .type = 1});
    read_node(&n, "If", "");
    bind_inputs(&b, &n, "b");
    bind_outputs(&b, &n, "f10");
    add_graph(&n, "then_branch", &one);
    add_graph(&n, "else_branch", &two);
    sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
    expect(&b, "If", "f10");
    end(&b);
    begin(&b);
    add(&b, "x", (tensor){.rank = 1, .dim = {5}, .type = 1});
    n.node.n_input = n.node.n_output = 0;
    bind_inputs(&b, &n, "b=0");
    bind_outputs(&b, &n, "f5");
    sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
    expect(&b, "If", "f5");
    end(&b);

    begin(&b); /* Loop of 6 turns: a carried value and a stacked one; what is carried has no known value */
    read_graph(&one, "i go v", "go w s");
    add_node(&one, "Add", "v v", "", "w");
    add_node(&one, "Unsqueeze", "v", "axes=[0]", "s");
    read_node(&n, "Loop", "");
    bind_inputs(&b, &n, "l=6 b l2=3,4");
    bind_outputs(&b, &n, "l2 l6,1,2");
    add_graph(&n, "body", &one);
    assert_true(sked_i_onnx_infer(&b.shapes, &b.scope, &n.node) == 6); /* an Add takes 1 */
    expect(&b, "Loop", "l2 l6,1,2");
    assert_null(b.scope.tensor[sked_i_names_find(&b.scope.names, "A", 1)].value);
    end(&b);

    begin(&b); /* Scan over the second axis of a 3 x 7 x 2 tensor */
    read_graph(&one, "v x", "w y");
    add_node(&one, "Add", "v x", "", "w");
    add_node(&one, "Relu", "x", "", "y");
    read_node(&n, "Scan", "num_scan_inputs=1 scan_input_axes=[1] scan_output_axes=[-1]");
    bind_inputs(&b, &n, "f3,2 f3,7,2");
    bind_outputs(&b, &n, "f3,2 f3,2,7");
    add_graph(&n, "body", &one);
    assert_true(sked_i_onnx_infer(&b.shapes, &b.scope, &n.node) == 14);
    expect(&b, "Scan", "f3,2 f3,2,7");
    end(&b);

    begin(&b); /* SequenceMap */
    read_graph(&one, "x", "y");
    add_node(&one, "Cast", "x", "to=10", "y");
    read_node(&n, "SequenceMap", "");
    bind_inputs(&b, &n, "Q4:f3");
    bind_outputs(&b, &n, "Q4:h3");
    add_graph(&n, "body", &one);
    sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
    expect(&b, "SequenceMap", "Q4:h3");
    end(&b);
}

/* A function whose node takes an attribute from its caller; and functions that would never end. */
static void test_functions(void **state)
{
    static bench b;
    static small_node n, inner[2];
    Onnx__FunctionProto f, *functions[1] = {&f};
    Onnx__NodeProto *nodes[2] = {&inner[0].node, &inner[1].node};
    char *in[] = {(char *)"p"}, *out[] = {(char *)"q"};
    char *made[] = {(char *)"m", (char *)"q"};
    (void)state;
    onnx__function_proto__init(&f);
    f.name = (char *)"F";
    f.domain = (char *)"own";
    f.input = in;
    f.output = out;
    f.n_input = f.n_output = f.n_node = 1;
    f.node = nodes;

    begin(&b);
    b.model.functions = functions;
    b.model.n_functions = 1;
    sked_i_onnx_shapes_free(&b.shapes);
    OK(sked_i_onnx_shapes_begin(&b.shapes, &b.model, 100, err));
    read_node(&inner[0], "Concat", "axis=0");
    inner[0].attribute[0].ref_attr_name = (char *)"along";
    inner[0].in[0] = inner[0].in[1] = in[0];
    inner[0].out[0] = out[0];
    inner[0].node.n_input = 2;
    inner[0].node.n_output = 1;
    read_node(&n, "own.F", "along=1");
    bind_inputs(&b, &n, "f3,4");
    bind_outputs(&b, &n, "f3,8");
    sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
    expect(&b, "own.F", "f3,8");
    end(&b);

    begin(&b); /* it calls itself twice: 2^24 calls, were there no budget */
    b.model.functions = functions;
    b.model.n_functions = 1;
    sked_i_onnx_shapes_free(&b.shapes);
    OK(sked_i_onnx_shapes_begin(&b.shapes, &b.model, 100, err));
    f.n_node = 2;
    for (int i = 0; i < 2; i++) {
        read_node(&inner[i], "own.F", "");
        inner[i].in[0] = in[0];
        inner[i].out[0] = made[i];
        inner[i].node.n_input = inner[i].node.n_output = 1;
    }
    read_node(&n, "own.F", "");
    bind_inputs(&b, &n, "f3,4");
    bind_outputs(&b, &n, "?");
    sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
    expect(&b, "own.F", "?");
    assert_true(b.shapes.budget <= 0 && b.shapes.budget > -100);
    end(&b);
}

/* ------------------------------------------------------------------ the whole table */

static void test_table(void **state)
{
    sked_i_onnx_index all = {0};
    small_node n;
    (void)state;
    assert_true(sked_i_onnx_index_create(&all));
    assert_true(all.names.count > 200);
    for (int32_t i = 0; i < all.names.count; i++) {
        read_node(&n, sked_i_names_at(&all.names, i), "");
        const sked_i_onnx_operator *o = sked_i_onnx_operator_find(&all, &n.node);
        assert_non_null(o);
        assert_non_null(strstr(o->names, sked_i_names_at(&all.names, i)));
        assert_true(o->types[0] != 0 && o->rule != NULL);
    }
    read_node(&n, "com.example.Relu", "");
    assert_null(sked_i_onnx_operator_find(&all, &n.node));
    read_node(&n, "ai.onnx.Relu", "");
    assert_non_null(sked_i_onnx_operator_find(&all, &n.node));
    sked_i_names_free(&all.names);
}

/* Every operator that Debian's copy of the standard declares has a row. */
static void test_standard(void **state)
{
    static const char start[] = "CLASS_NAME(Onnx, ";
    FILE *f = fopen("/usr/include/onnx/defs/operator_sets.h", "r");
    sked_i_onnx_index all = {0};
    char line[300];
    int seen = 0;
    (void)state;
    if (f == NULL) {
        print_message("skipped: no operator_sets.h of libonnx-dev\n");
        skip();
    }
    assert_true(sked_i_onnx_index_create(&all));
    while (fgets(line, sizeof line, f) != NULL) {
        const char *at = strstr(line, start);
        char name[60];
        small_node n;
        if (at == NULL || sscanf(at + sizeof start - 1, "%*d, %59[A-Za-z0-9]", name) != 1)
            continue;
        read_node(&n, name, "");
        if (sked_i_onnx_operator_find(&all, &n.node) == NULL)
            fail_msg("%s is not in the table", name);
        seen++;
    }
    fclose(f);
    sked_i_names_free(&all.names);
    assert_true(seen > 170);
}

/* ------------------------------------------------------------------ hostile numbers */

static double odd_number(sked_i_rng *rng)
{
    static const double list[] = {0,      1,      -1,     2,       3,      7,   -8,  100,
                                  0x1p31, 0x1p40, 0x1p53, -0x1p63, 0x1p63, 0.5, NAN, INFINITY};
    return list[sked_i_rng_below(rng, sizeof list / sizeof *list)];
}

static tensor odd_tensor(sked_i_rng *rng, double *values)
{
    tensor t = {.rank = (int)sked_i_rng_below(rng, 10) - 1, .producer = -1};
    t.type = (int32_t)sked_i_rng_below(rng, 27);
    t.sequence = sked_i_rng_below(rng, 8) == 0;
    t.items = sked_i_rng_below(rng, 2) ? 3 : (int64_t)1 << 40;
    for (int i = 0; i < t.rank; i++) {
        const double x = odd_number(rng);
        t.dim[i] = x >= 0 && x <= 0x1p40 ? (int64_t)x : 1;
        if (sked_i_rng_below(rng, 3))
            t.dim[i] = (int64_t)sked_i_rng_below(rng, 6);
    }
    const double n = sked_i_onnx_elements(&t);
    if (n <= sked_i_onnx_max_values && sked_i_rng_below(rng, 2)) {
        for (int i = 0; i < (int)n; i++)
            values[i] = sked_i_rng_below(rng, 2) ? odd_number(rng) : (double)sked_i_rng_below(rng, 5);
        t.value = values;
    }
    return t;
}

static void odd_attributes(sked_i_rng *rng, small_node *n)
{
    static const char *const names[] = {"axis",
                                        "axes",
                                        "kernel_shape",
                                        "strides",
                                        "pads",
                                        "dilations",
                                        "split",
                                        "perm",
                                        "starts",
                                        "ends",
                                        "group",
                                        "output_shape",
                                        "output_padding",
                                        "blocksize",
                                        "start",
                                        "end",
                                        "k",
                                        "to",
                                        "dtype",
                                        "shape",
                                        "value_ints",
                                        "value_int",
                                        "hidden_size",
                                        "layout",
                                        "q_num_heads",
                                        "kv_num_heads",
                                        "keepdims",
                                        "ceil_mode",
                                        "batch_dims",
                                        "scales",
                                        "onesided",
                                        "inverse",
                                        "sample_size",
                                        "pooled_shape",
                                        "num_scan_inputs",
                                        "new_axis",
                                        "n_targets",
                                        "equation",
                                        "auto_pad",
                                        "keep_aspect_ratio_policy",
                                        "reduction",
                                        "allowzero",
                                        "ngram_indexes"};
    static const char *const words[] = {"ij,jk->ik", "...,...",    "i..j->", "SAME_UPPER",
                                        "VALID",     "not_larger", "none",   "\xff->\xff"};
    for (size_t i = 0; i < 6; i++) {
        Onnx__AttributeProto *a = &n->attribute[i];
        onnx__attribute_proto__init(a);
        n->attributes[i] = a;
        a->name = (char *)names[sked_i_rng_below(rng, sizeof names / sizeof *names)];
        a->has_i = a->has_s = true;
        const double x = odd_number(rng);
        a->i = x >= -0x1p62 && x <= 0x1p62 ? (int64_t)x : INT64_MIN;
        const char *word = words[sked_i_rng_below(rng, 8)];
        a->s = (ProtobufCBinaryData){strlen(word), (uint8_t *)word};
        a->ints = n->ints[i];
        a->floats = n->floats[i];
        a->n_ints = (size_t)sked_i_rng_below(rng, 9);
        a->n_floats = (size_t)sked_i_rng_below(rng, 2) * 4;
        for (size_t k = 0; k < a->n_ints; k++)
            a->ints[k] = sked_i_rng_below(rng, 4) ? (int64_t)sked_i_rng_below(rng, 5)
                                                  : INT64_MAX - (a->i > 0 ? a->i : 0);
        for (size_t k = 0; k < a->n_floats; k++)
            a->floats[k] = (float)odd_number(rng);
        n->node.n_attribute++;
    }
}

static void check_sane(const char *type, const tensor *t)
{
    if (t->rank < -1 || t->rank > sked_i_onnx_max_rank)
        fail_msg("%s: rank %d", type, t->rank);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || t->dim[i] > (int64_t)1 << 40)
            fail_msg("%s: dimension %lld", type, (long long)t->dim[i]);
    double sum = 0;
    for (int i = 0, n = t->value ? (int)sked_i_onnx_elements(t) : 0; i < n; i++)
        sum += t->value[i]; /* AddressSanitizer looks on */
    (void)sum;
    assert_true(sked_i_onnx_bytes(t) >= 0 &&
                (!t->value || sked_i_onnx_elements(t) <= sked_i_onnx_max_values));
}

/* Any operator with any inputs and attributes: no shape is out of range, and no value beyond its tensor. */
static void test_hostile(void **state)
{
    static bench b;
    static small_node n;
    sked_i_onnx_index all = {0};
    sked_i_rng rng;
    (void)state;
    sked_i_rng_seed(&rng, 7, 0);
    assert_true(sked_i_onnx_index_create(&all));
    for (int round = 0; round < 60; round++)
        for (int32_t i = 0; i < all.names.count; i++) {
            const char *name = sked_i_names_at(&all.names, i);
            begin(&b);
            read_node(&n, name, "");
            odd_attributes(&rng, &n);
            n.node.n_input = (size_t)sked_i_rng_below(&rng, 6);
            n.node.n_output = (size_t)sked_i_rng_below(&rng, 4);
            for (size_t k = 0; k < n.node.n_input; k++) {
                snprintf(n.in_name[k], 8, "%c", (char)('a' + k));
                n.in[k] = n.in_name[k];
                if (sked_i_rng_below(&rng, 5))
                    add(&b, n.in[k], odd_tensor(&rng, b.value[k]));
            }
            for (size_t k = 0; k < n.node.n_output; k++) {
                snprintf(n.out_name[k], 8, "%c", (char)('A' + k));
                n.out[k] = n.out_name[k];
                add(&b, n.out[k], (tensor){.rank = -1, .producer = -1});
            }
            const double cost = sked_i_onnx_infer(&b.shapes, &b.scope, &n.node);
            assert_true(cost >= 0 && cost <= 0x1p53);
            for (size_t k = 0; k < n.node.n_output; k++)
                check_sane(name, &b.scope.tensor[sked_i_names_find(&b.scope.names, n.out[k], 1)]);
            end(&b);
        }
    sked_i_names_free(&all.names);
}

/* ------------------------------------------------------------------ devices */

/* fuzz/seeds/onnx/placed.onnx: on gpu0, from gpu0 to gpu1, on gpu1, on both, and in another configuration. */
static void test_devices(void **state)
{
    sked_graph *g = NULL;
    (void)state;
    OK(sked_graph_read(SKED_SOURCE_DIR "/fuzz/seeds/onnx/placed.onnx", NULL, &g, err));
    assert_int_equal(sked_graph_op_count(g), 5);
    for (int32_t op = 0; op < 5; op++) {
        assert_int_equal(isinf(sked_graph_duration_on(g, op, "gpu1")) != 0, op == 0);
        assert_int_equal(isinf(sked_graph_duration_on(g, op, "gpu0")) != 0, op == 2);
    }
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ real networks */

static void compare_graphs(const char *name, const sked_graph *g, const sked_graph *want)
{
    char label[200];
    assert_int_equal(sked_graph_op_count(g), sked_graph_op_count(want));
    assert_int_equal(sked_graph_edge_count(g), sked_graph_edge_count(want));
    for (int32_t op = 0; op < sked_graph_op_count(want); op++) {
        const int32_t own = sked_graph_find_op(g, sked_graph_op_name(want, op, label, sizeof label));
        if (own < 0)
            fail_msg("%s: no op %s", name, label);
        if (sked_graph_memory(g, own) != sked_graph_memory(want, op))
            fail_msg("%s: %s makes %g bytes, not %g", name, label, sked_graph_memory(g, own),
                     sked_graph_memory(want, op));
        if (sked_graph_duration(g, own) != sked_graph_duration(want, op))
            fail_msg("%s: %s takes %g, not %g", name, label, sked_graph_duration(g, own),
                     sked_graph_duration(want, op));
    }
    double bytes = 0, right = 0;
    for (int64_t e = 0; e < sked_graph_edge_count(want); e++) {
        sked_edge edge;
        sked_graph_edge(g, e, &edge);
        bytes += edge.bytes;
        sked_graph_edge(want, e, &edge);
        right += edge.bytes;
    }
    if (bytes != right)
        fail_msg("%s: %g bytes on the edges, not %g", name, bytes, right);
}

/* The models of data/networks/onnx with their profiles are the graphs of data/networks, op by op. */
static void test_networks(void **state)
{
    char folder[700], path[1400], profile[1400], native[1400];
    int files = 0;
    (void)state;
    NEED_SHARED_DATA();
    snprintf(folder, sizeof folder, "%s/networks/onnx", shared_data());
    DIR *d = opendir(folder);
    if (d == NULL) {
        print_message("skipped: no networks in the benchmark data\n");
        skip();
    }
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        const char *point = strstr(entry->d_name, ".onnx");
        if (point == NULL)
            continue;
        const int stem = (int)(point - entry->d_name);
        sked_graph *g = NULL, *want = NULL;
        sked_read_options opt;
        sked_read_options_init(&opt);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(profile, sizeof profile, "%s/%.*s.profile.json", folder, stem, entry->d_name);
        snprintf(native, sizeof native, "%s/../%.*s.json", folder, stem, entry->d_name);
        opt.profile = profile;
        OK(sked_graph_read(path, &opt, &g, err));
        OK(sked_graph_read(native, NULL, &want, err));
        compare_graphs(entry->d_name, g, want);
        sked_graph_destroy(g);
        sked_graph_destroy(want);
        files++;
    }
    closedir(d);
    assert_true(files >= 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_math),     cmocka_unit_test(test_layers),    cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_sequences), cmocka_unit_test(test_costs),
        cmocka_unit_test(test_bodies),   cmocka_unit_test(test_functions), cmocka_unit_test(test_table),
        cmocka_unit_test(test_standard), cmocka_unit_test(test_hostile),   cmocka_unit_test(test_networks),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests_name("ONNX shapes", tests, NULL, NULL);
}
