/*
 * ONNX's operators: one row each. The domains ai.onnx (all operators up to set 28), ai.onnx.ml,
 * ai.onnx.preview and ai.onnx.preview.training, and what ONNX Runtime's optimiser puts in their place most.
 * Not here, because nothing can be said before the model runs: ImageDecoder (the picture says its size),
 * CastMap, DictVectorizer and ZipMap (dictionaries).
 */
#include "formats/onnx_operators.h"

#include <stdlib.h>
#include <string.h>

typedef sked_i_onnx_call call;

#define RULE(name) sked_i_onnx_rule_##name
#define FREE       SKED_I_ONNX_FREE
#define COPY       SKED_I_ONNX_COPY
#define PLAIN      SKED_I_ONNX_PLAIN

/* clang-format off: sorted by name as bytes, as they are searched */
static const sked_i_onnx_operator operators[] = {
    {"Abs", RULE(unary), PLAIN, "0"},
    {"Acos", RULE(same), PLAIN, "0"},
    {"Acosh", RULE(same), PLAIN, "0"},
    {"Add", RULE(binary), PLAIN, "0"},
    {"AffineGrid", RULE(affine_grid), PLAIN, "0"},
    {"And", RULE(binary), PLAIN, "b"},
    {"ArgMax", RULE(arg_reduce), PLAIN, "l"},
    {"ArgMin", RULE(arg_reduce), PLAIN, "l"},
    {"Asin", RULE(same), PLAIN, "0"},
    {"Asinh", RULE(same), PLAIN, "0"},
    {"Atan", RULE(same), PLAIN, "0"},
    {"Atanh", RULE(same), PLAIN, "0"},
    {"Attention", RULE(attention), PLAIN, "0120"},
    {"AveragePool", RULE(pool), PLAIN, "0"},
    {"BatchNormalization", RULE(batch_norm), PLAIN, "034"},
    {"Bernoulli", RULE(same), PLAIN, "e"},
    {"BitCast", RULE(same), FREE, "t"},
    {"BitShift", RULE(broadcast), PLAIN, "0"},
    {"BitwiseAnd", RULE(broadcast), PLAIN, "0"},
    {"BitwiseNot", RULE(same), PLAIN, "0"},
    {"BitwiseOr", RULE(broadcast), PLAIN, "0"},
    {"BitwiseXor", RULE(broadcast), PLAIN, "0"},
    {"BlackmanWindow", RULE(signal_window), PLAIN, "w"},
    {"Cast", RULE(cast), PLAIN, "t"},
    {"CastLike", RULE(cast), PLAIN, "1"},
    {"CausalConvWithState", RULE(causal_conv), PLAIN, "0"},
    {"Ceil", RULE(unary), PLAIN, "0"},
    {"Celu", RULE(same), PLAIN, "0"},
    {"CenterCropPad", RULE(center_crop_pad), COPY, "0"},
    {"Clip", RULE(same), PLAIN, "0"},
    {"Col2Im", RULE(col2im), PLAIN, "0"},
    {"Compress", RULE(compress), PLAIN, "0"},
    {"Concat", RULE(concat), PLAIN, "0"},
    {"ConcatFromSequence", RULE(concat_from_sequence), PLAIN, "0"},
    {"Constant", RULE(constant), FREE, "-"},
    {"ConstantOfShape", RULE(constant_of_shape), FREE, "-"},
    {"Conv", RULE(conv), PLAIN, "0"},
    {"ConvInteger", RULE(conv), PLAIN, "i"},
    {"ConvTranspose", RULE(conv_transpose), PLAIN, "0"},
    {"Cos", RULE(same), PLAIN, "0"},
    {"Cosh", RULE(same), PLAIN, "0"},
    {"CumProd", RULE(same), PLAIN, "0"},
    {"CumSum", RULE(same), PLAIN, "0"},
    {"DFT", RULE(dft), PLAIN, "0"},
    {"DeformConv", RULE(conv), PLAIN, "0"},
    {"DepthToSpace", RULE(depth_to_space), PLAIN, "0"},
    {"DequantizeLinear", RULE(same), PLAIN, "r"},
    {"Det", RULE(det), PLAIN, "0"},
    {"Div", RULE(binary), PLAIN, "0"},
    {"Dropout", RULE(same_all), FREE, "0b"},
    {"DynamicQuantizeLinear", RULE(scalars_after), PLAIN, "ufu"},
    {"Einsum", RULE(einsum), PLAIN, "0"},
    {"Elu", RULE(same), PLAIN, "0"},
    {"Equal", RULE(binary), PLAIN, "b"},
    {"Erf", RULE(same), PLAIN, "0"},
    {"Exp", RULE(same), PLAIN, "0"},
    {"Expand", RULE(expand), PLAIN, "0"},
    {"EyeLike", RULE(same), PLAIN, "e"},
    {"Flatten", RULE(flatten), FREE, "0"},
    {"Floor", RULE(unary), PLAIN, "0"},
    {"GRU", RULE(recurrent), PLAIN, "0"},
    {"Gather", RULE(gather), COPY, "0"},
    {"GatherElements", RULE(like_second), COPY, "0"},
    {"GatherND", RULE(gather_nd), COPY, "0"},
    {"Gelu", RULE(same), PLAIN, "0"},
    {"Gemm", RULE(gemm), PLAIN, "0"},
    {"GlobalAveragePool", RULE(global_pool), PLAIN, "0"},
    {"GlobalLpPool", RULE(global_pool), PLAIN, "0"},
    {"GlobalMaxPool", RULE(global_pool), PLAIN, "0"},
    {"Greater", RULE(binary), PLAIN, "b"},
    {"GreaterOrEqual", RULE(binary), PLAIN, "b"},
    {"GridSample", RULE(grid_sample), PLAIN, "0"},
    {"GroupNormalization", RULE(same), PLAIN, "0"},
    {"HammingWindow", RULE(signal_window), PLAIN, "w"},
    {"HannWindow", RULE(signal_window), PLAIN, "w"},
    {"HardSigmoid", RULE(same), PLAIN, "0"},
    {"HardSwish", RULE(same), PLAIN, "0"},
    {"Hardmax", RULE(same), PLAIN, "0"},
    {"Identity", RULE(unary), FREE, "0"},
    {"If", RULE(branch), PLAIN, "-"},
    {"InstanceNormalization", RULE(same), PLAIN, "0"},
    {"IsInf", RULE(same), PLAIN, "b"},
    {"IsNaN", RULE(same), PLAIN, "b"},
    {"LRN", RULE(same), PLAIN, "0"},
    {"LSTM", RULE(recurrent), PLAIN, "0"},
    {"LayerNormalization", RULE(layer_norm), PLAIN, "0x"},
    {"LeakyRelu", RULE(same), PLAIN, "0"},
    {"Less", RULE(binary), PLAIN, "b"},
    {"LessOrEqual", RULE(binary), PLAIN, "b"},
    {"LinearAttention", RULE(linear_attention), PLAIN, "0z"},
    {"Log", RULE(same), PLAIN, "0"},
    {"LogSoftmax", RULE(same), PLAIN, "0"},
    {"Loop", RULE(loop), PLAIN, "-"},
    {"LpNormalization", RULE(same), PLAIN, "0"},
    {"LpPool", RULE(pool), PLAIN, "0"},
    {"MatMul", RULE(matmul), PLAIN, "0"},
    {"MatMulInteger", RULE(matmul), PLAIN, "i"},
    {"Max", RULE(binary), PLAIN, "0"},
    {"MaxPool", RULE(pool), PLAIN, "0l"},
    {"MaxRoiPool", RULE(roi_pool), PLAIN, "0"},
    {"MaxUnpool", RULE(max_unpool), PLAIN, "0"},
    {"Mean", RULE(broadcast), PLAIN, "0"},
    {"MeanVarianceNormalization", RULE(same), PLAIN, "0"},
    {"MelWeightMatrix", RULE(mel_weights), PLAIN, "w"},
    {"Min", RULE(binary), PLAIN, "0"},
    {"Mish", RULE(same), PLAIN, "0"},
    {"Mod", RULE(binary), PLAIN, "0"},
    {"Mul", RULE(binary), PLAIN, "0"},
    {"Multinomial", RULE(multinomial), PLAIN, "m"},
    {"Neg", RULE(unary), PLAIN, "0"},
    {"NegativeLogLikelihoodLoss", RULE(loss), PLAIN, "0"},
    {"NonMaxSuppression", RULE(non_max_suppression), PLAIN, "l"},
    {"NonZero", RULE(non_zero), PLAIN, "l"},
    {"Not", RULE(unary), PLAIN, "b"},
    {"OneHot", RULE(one_hot), PLAIN, "2"},
    {"Optional", RULE(optional), FREE, "0"},
    {"OptionalGetElement", RULE(optional), FREE, "0"},
    {"OptionalHasElement", RULE(has_element), FREE, "b"},
    {"Or", RULE(binary), PLAIN, "b"},
    {"PRelu", RULE(same), PLAIN, "0"},
    {"Pad", RULE(pad), PLAIN, "0"},
    {"Pow", RULE(binary), PLAIN, "0"},
    {"QLinearConv", RULE(conv), PLAIN, "7"},
    {"QLinearMatMul", RULE(matmul), PLAIN, "7"},
    {"QuantizeLinear", RULE(same), PLAIN, "q"},
    {"RMSNormalization", RULE(same), PLAIN, "0"},
    {"RNN", RULE(recurrent), PLAIN, "0"},
    {"RandomNormal", RULE(random), PLAIN, "d"},
    {"RandomNormalLike", RULE(same), PLAIN, "e"},
    {"RandomUniform", RULE(random), PLAIN, "d"},
    {"RandomUniformLike", RULE(same), PLAIN, "e"},
    {"Range", RULE(range), PLAIN, "0"},
    {"Reciprocal", RULE(unary), PLAIN, "0"},
    {"ReduceL1", RULE(reduce), PLAIN, "0"},
    {"ReduceL2", RULE(reduce), PLAIN, "0"},
    {"ReduceLogSum", RULE(reduce), PLAIN, "0"},
    {"ReduceLogSumExp", RULE(reduce), PLAIN, "0"},
    {"ReduceMax", RULE(reduce), PLAIN, "0"},
    {"ReduceMean", RULE(reduce), PLAIN, "0"},
    {"ReduceMin", RULE(reduce), PLAIN, "0"},
    {"ReduceProd", RULE(reduce), PLAIN, "0"},
    {"ReduceSum", RULE(reduce), PLAIN, "0"},
    {"ReduceSumSquare", RULE(reduce), PLAIN, "0"},
    {"RegexFullMatch", RULE(same), PLAIN, "b"},
    {"Relu", RULE(same), PLAIN, "0"},
    {"Reshape", RULE(reshape), FREE, "0"},
    {"Resize", RULE(resize), PLAIN, "0"},
    {"ReverseSequence", RULE(same), PLAIN, "0"},
    {"RoiAlign", RULE(roi_pool), PLAIN, "0"},
    {"RotaryEmbedding", RULE(same), PLAIN, "0"},
    {"Round", RULE(unary), PLAIN, "0"},
    {"STFT", RULE(stft), PLAIN, "0"},
    {"Scan", RULE(scan), PLAIN, "-"},
    {"Scatter", RULE(same), PLAIN, "0"},
    {"ScatterElements", RULE(same), PLAIN, "0"},
    {"ScatterND", RULE(same), PLAIN, "0"},
    {"Selu", RULE(same), PLAIN, "0"},
    {"SequenceAt", RULE(sequence_at), FREE, "0"},
    {"SequenceConstruct", RULE(sequence_construct), FREE, "0"},
    {"SequenceEmpty", RULE(sequence_empty), FREE, "-"},
    {"SequenceErase", RULE(sequence_erase), FREE, "0"},
    {"SequenceInsert", RULE(sequence_insert), FREE, "1"},
    {"SequenceLength", RULE(sequence_length), FREE, "l"},
    {"SequenceMap", RULE(sequence_map), PLAIN, "-"},
    {"Shape", RULE(shape), FREE, "l"},
    {"Shrink", RULE(same), PLAIN, "0"},
    {"Sigmoid", RULE(same), PLAIN, "0"},
    {"Sign", RULE(unary), PLAIN, "0"},
    {"Sin", RULE(same), PLAIN, "0"},
    {"Sinh", RULE(same), PLAIN, "0"},
    {"Size", RULE(size), FREE, "l"},
    {"Slice", RULE(slice), COPY, "0"},
    {"Softmax", RULE(same), PLAIN, "0"},
    {"SoftmaxCrossEntropyLoss", RULE(loss), PLAIN, "0"},
    {"Softplus", RULE(same), PLAIN, "0"},
    {"Softsign", RULE(same), PLAIN, "0"},
    {"SpaceToDepth", RULE(space_to_depth), PLAIN, "0"},
    {"Split", RULE(split), COPY, "0"},
    {"SplitToSequence", RULE(split_to_sequence), COPY, "0"},
    {"Sqrt", RULE(unary), PLAIN, "0"},
    {"Squeeze", RULE(squeeze), FREE, "0"},
    {"StringConcat", RULE(broadcast), PLAIN, "0"},
    {"StringNormalizer", RULE(same), PLAIN, "0"},
    {"StringSplit", RULE(string_split), PLAIN, "sl"},
    {"Sub", RULE(binary), PLAIN, "0"},
    {"Sum", RULE(broadcast), PLAIN, "0"},
    {"SwiGLU", RULE(same), PLAIN, "0"},
    {"Swish", RULE(same), PLAIN, "0"},
    {"Tan", RULE(same), PLAIN, "0"},
    {"Tanh", RULE(same), PLAIN, "0"},
    {"TensorScatter", RULE(same), PLAIN, "0"},
    {"TfIdfVectorizer", RULE(tf_idf), PLAIN, "f"},
    {"ThresholdedRelu", RULE(same), PLAIN, "0"},
    {"Tile", RULE(tile), PLAIN, "0"},
    {"TopK", RULE(top_k), PLAIN, "0l"},
    {"Transpose", RULE(transpose), PLAIN, "0"},
    {"Trilu", RULE(same), PLAIN, "0"},
    {"Unique", RULE(unique), PLAIN, "0l"},
    {"Unsqueeze", RULE(unsqueeze), FREE, "0"},
    {"Upsample", RULE(upsample), PLAIN, "0"},
    {"Where", RULE(where), PLAIN, "1"},
    {"Xor", RULE(broadcast), PLAIN, "b"},
    {"ai.onnx.ml.ArrayFeatureExtractor", RULE(array_feature), COPY, "0"},
    {"ai.onnx.ml.Binarizer", RULE(same), PLAIN, "0"},
    {"ai.onnx.ml.CategoryMapper", RULE(same), PLAIN, "c"},
    {"ai.onnx.ml.FeatureVectorizer", RULE(feature_vectorizer), PLAIN, "f"},
    {"ai.onnx.ml.Imputer", RULE(same), PLAIN, "0"},
    {"ai.onnx.ml.LabelEncoder", RULE(same), PLAIN, "k"},
    {"ai.onnx.ml.LinearClassifier", RULE(classifier), PLAIN, "-f"},
    {"ai.onnx.ml.LinearRegressor", RULE(regressor), PLAIN, "f"},
    {"ai.onnx.ml.Normalizer", RULE(same), PLAIN, "f"},
    {"ai.onnx.ml.OneHotEncoder", RULE(one_hot_encoder), PLAIN, "f"},
    {"ai.onnx.ml.SVMClassifier", RULE(classifier), PLAIN, "-f"},
    {"ai.onnx.ml.SVMRegressor", RULE(regressor), PLAIN, "f"},
    {"ai.onnx.ml.Scaler", RULE(same), PLAIN, "f"},
    {"ai.onnx.ml.TreeEnsemble", RULE(regressor), PLAIN, "0"},
    {"ai.onnx.ml.TreeEnsembleClassifier", RULE(classifier), PLAIN, "-f"},
    {"ai.onnx.ml.TreeEnsembleRegressor", RULE(regressor), PLAIN, "f"},
    {"ai.onnx.preview.FlexAttention", RULE(attention), PLAIN, "0"},
    {"ai.onnx.preview.training.Adagrad", RULE(optimizer), PLAIN, "-"},
    {"ai.onnx.preview.training.Adam", RULE(optimizer), PLAIN, "-"},
    {"ai.onnx.preview.training.Gradient", RULE(each), PLAIN, "-"},
    {"ai.onnx.preview.training.Momentum", RULE(optimizer), PLAIN, "-"},
    {"com.microsoft.BiasGelu", RULE(same), PLAIN, "0"},
    {"com.microsoft.FastGelu", RULE(same), PLAIN, "0"},
    {"com.microsoft.FusedConv", RULE(conv), PLAIN, "0"},
    {"com.microsoft.FusedGemm", RULE(gemm), PLAIN, "0"},
    {"com.microsoft.Gelu", RULE(same), PLAIN, "0"},
    {"com.microsoft.QuickGelu", RULE(same), PLAIN, "0"},
    {"com.microsoft.SkipLayerNormalization", RULE(same), PLAIN, "0"},
    {"com.microsoft.SkipSimplifiedLayerNormalization", RULE(same), PLAIN, "0"},
};
/* clang-format on */
enum { n_operators = sizeof operators / sizeof *operators };

const sked_i_onnx_operator *sked_i_onnx_operators(size_t *count)
{
    *count = n_operators;
    return operators;
}

typedef struct key {
    const char *domain, *type;
    size_t domain_size; /* with the point behind it */
} key;

static int compare(const void *wanted, const void *row)
{
    const key *k = wanted;
    const char *name = ((const sked_i_onnx_operator *)row)->name;
    if (k->domain_size > 0) {
        const int order = strncmp(k->domain, name, k->domain_size - 1);
        if (order != 0)
            return order;
        if (name[k->domain_size - 1] != '.')
            return '.' < name[k->domain_size - 1] ? -1 : 1;
        name += k->domain_size;
    }
    return strcmp(k->type, name);
}

const sked_i_onnx_operator *sked_i_onnx_operator_find(const Onnx__NodeProto *node)
{
    const char *domain = node->domain && strcmp(node->domain, "ai.onnx") != 0 ? node->domain : "";
    const key k = {domain, node->op_type ? node->op_type : "", domain[0] ? strlen(domain) + 1 : 0};
    return bsearch(&k, operators, n_operators, sizeof *operators, compare);
}

/* ------------------------------------------------------------------ element types */

static int32_t type_of_input(const call *c, size_t k)
{
    const sked_i_onnx_tensor *t = sked_i_onnx_in(c, k);
    return t ? t->type : 0;
}

/* A type that an attribute names, or `otherwise`. */
static int32_t type_attribute(const call *c, const char *name, int32_t otherwise)
{
    const int64_t type = sked_i_onnx_int(c, name, 0);
    return type > 0 && type < 100 ? (int32_t)type : otherwise;
}

/* Labels: numbers where the attribute for them is there, else text. */
static int32_t label_type(const call *c)
{
    if (sked_i_onnx_attribute(c, "values_floats") != NULL)
        return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    const Onnx__AttributeProto *any = sked_i_onnx_attribute(c, "values_tensor");
    if (any != NULL && any->t != NULL)
        return any->t->data_type;
    return sked_i_onnx_attribute(c, "values_int64s") ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
                                                     : ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
}

int32_t sked_i_onnx_output_type(const call *c, const sked_i_onnx_operator *o, size_t k)
{
    const size_t letters = strlen(o->types);
    const char letter = o->types[k < letters ? k : letters - 1];
    switch (letter) {
    case 'b':
        return ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    case 'c': /* CategoryMapper turns text into numbers and back */
        return type_of_input(c, 0) == ONNX__TENSOR_PROTO__DATA_TYPE__STRING
                   ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
                   : ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
    case 'd':
        return type_attribute(c, "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    case 'e':
        return type_attribute(c, "dtype", type_of_input(c, 0));
    case 'f':
        return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    case 'i':
        return ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
    case 'k':
        return label_type(c);
    case 'l':
        return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    case 'm':
        return type_attribute(c, "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
    case 'q': /* quantised: like the zero point, else as said, else uint8 */
        return sked_i_onnx_in(c, 2) ? type_of_input(c, 2)
                                    : type_attribute(c, "output_dtype", ONNX__TENSOR_PROTO__DATA_TYPE__UINT8);
    case 'r': /* and back: as said, else like the scale */
        return type_attribute(c, "output_dtype", type_of_input(c, 1));
    case 's':
        return ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
    case 't':
        return type_attribute(c, "to", 0);
    case 'u':
        return ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    case 'w':
        return type_attribute(c, "output_datatype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    case 'x':
        return type_attribute(c, "stash_type", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    case 'z': /* a state that is given, else like the input */
        return sked_i_onnx_in(c, 3) ? type_of_input(c, 3) : type_of_input(c, 0);
    default: /* a digit: like that input; '-': the rule knows */
        return letter >= '0' && letter <= '9' ? type_of_input(c, (size_t)(letter - '0')) : 0;
    }
}
