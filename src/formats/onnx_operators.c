/*
 * ONNX's operators; those of a row differ in nothing that matters here. The domains ai.onnx (all operators up
 * to set 28), ai.onnx.ml, ai.onnx.preview and ai.onnx.preview.training, and what ONNX Runtime's optimiser
 * puts in their place most. Not here, because nothing can be said before the model runs: ImageDecoder (the
 * picture says its size), CastMap, DictVectorizer and ZipMap (dictionaries).
 */
#include "formats/onnx_operators.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef sked_i_onnx_call call;

#define RULE(name) sked_i_onnx_rule_##name
#define FREE       SKED_I_ONNX_FREE
#define COPY       SKED_I_ONNX_COPY
#define PLAIN      SKED_I_ONNX_PLAIN
#define TYPE(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

/* clang-format off */
static const sked_i_onnx_operator operators[] = {
    {RULE(unary), PLAIN, "0", "Abs Ceil Floor Neg Reciprocal Round Sign Sqrt"},
    {RULE(unary), FREE, "0", "Identity"},
    {RULE(unary), PLAIN, "b", "Not"},
    {RULE(same), PLAIN, "0",
     "Acos Acosh Asin Asinh Atan Atanh BitwiseNot Celu Clip Cos Cosh CumProd CumSum Elu "
     "Erf Exp Gelu GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization "
     "LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish PRelu "
     "RMSNormalization Relu ReverseSequence RotaryEmbedding Scatter ScatterElements "
     "ScatterND Selu Shrink Sigmoid Sin Sinh Softmax Softplus Softsign StringNormalizer "
     "SwiGLU Swish Tan Tanh TensorScatter ThresholdedRelu Trilu ai.onnx.ml.Binarizer "
     "ai.onnx.ml.Imputer com.microsoft.BiasGelu com.microsoft.FastGelu com.microsoft.Gelu "
     "com.microsoft.QuickGelu com.microsoft.SkipLayerNormalization "
     "com.microsoft.SkipSimplifiedLayerNormalization"},
    {RULE(same), PLAIN, "e", "Bernoulli EyeLike RandomNormalLike RandomUniformLike"},
    {RULE(same), FREE, "t", "BitCast"},
    {RULE(same), PLAIN, "r", "DequantizeLinear"},
    {RULE(same), PLAIN, "b", "IsInf IsNaN RegexFullMatch"},
    {RULE(same), PLAIN, "q", "QuantizeLinear"},
    {RULE(same), PLAIN, "c", "ai.onnx.ml.CategoryMapper"},
    {RULE(same), PLAIN, "k", "ai.onnx.ml.LabelEncoder"},
    {RULE(same), PLAIN, "f", "ai.onnx.ml.Normalizer ai.onnx.ml.Scaler"},
    {RULE(binary), PLAIN, "0", "Add Div Max Min Mod Mul Pow Sub"},
    {RULE(binary), PLAIN, "b", "And Equal Greater GreaterOrEqual Less LessOrEqual Or"},
    {RULE(affine_grid), PLAIN, "0", "AffineGrid"},
    {RULE(arg_reduce), PLAIN, "l", "ArgMax ArgMin"},
    {RULE(attention), PLAIN, "0120", "Attention"},
    {RULE(attention), PLAIN, "0", "ai.onnx.preview.FlexAttention"},
    {RULE(pool), PLAIN, "0", "AveragePool LpPool"},
    {RULE(pool), PLAIN, "0l", "MaxPool"},
    {RULE(batch_norm), PLAIN, "034", "BatchNormalization"},
    {RULE(broadcast), PLAIN, "0", "BitShift BitwiseAnd BitwiseOr BitwiseXor Mean StringConcat Sum"},
    {RULE(broadcast), PLAIN, "b", "Xor"},
    {RULE(signal_window), PLAIN, "w", "BlackmanWindow HammingWindow HannWindow"},
    {RULE(cast), PLAIN, "t", "Cast"},
    {RULE(cast), PLAIN, "1", "CastLike"},
    {RULE(causal_conv), PLAIN, "0", "CausalConvWithState"},
    {RULE(center_crop_pad), COPY, "0", "CenterCropPad"},
    {RULE(col2im), PLAIN, "0", "Col2Im"},
    {RULE(compress), PLAIN, "0", "Compress"},
    {RULE(concat), PLAIN, "0", "Concat"},
    {RULE(concat_from_sequence), PLAIN, "0", "ConcatFromSequence"},
    {RULE(constant), FREE, "-", "Constant"},
    {RULE(constant_of_shape), FREE, "-", "ConstantOfShape"},
    {RULE(conv), PLAIN, "0", "Conv DeformConv com.microsoft.FusedConv"},
    {RULE(conv), PLAIN, "i", "ConvInteger"},
    {RULE(conv), PLAIN, "7", "QLinearConv"},
    {RULE(conv_transpose), PLAIN, "0", "ConvTranspose"},
    {RULE(dft), PLAIN, "0", "DFT"},
    {RULE(depth_to_space), PLAIN, "0", "DepthToSpace"},
    {RULE(det), PLAIN, "0", "Det"},
    {RULE(same_all), FREE, "0b", "Dropout"},
    {RULE(scalars_after), PLAIN, "ufu", "DynamicQuantizeLinear"},
    {RULE(einsum), PLAIN, "0", "Einsum"},
    {RULE(expand), PLAIN, "0", "Expand"},
    {RULE(flatten), FREE, "0", "Flatten"},
    {RULE(recurrent), PLAIN, "0", "GRU LSTM RNN"},
    {RULE(gather), COPY, "0", "Gather"},
    {RULE(like_second), COPY, "0", "GatherElements"},
    {RULE(gather_nd), COPY, "0", "GatherND"},
    {RULE(gemm), PLAIN, "0", "Gemm com.microsoft.FusedGemm"},
    {RULE(global_pool), PLAIN, "0", "GlobalAveragePool GlobalLpPool GlobalMaxPool"},
    {RULE(grid_sample), PLAIN, "0", "GridSample"},
    {RULE(branch), PLAIN, "-", "If"},
    {RULE(layer_norm), PLAIN, "0x", "LayerNormalization"},
    {RULE(linear_attention), PLAIN, "0z", "LinearAttention"},
    {RULE(loop), PLAIN, "-", "Loop"},
    {RULE(matmul), PLAIN, "0", "MatMul"},
    {RULE(matmul), PLAIN, "i", "MatMulInteger"},
    {RULE(matmul), PLAIN, "7", "QLinearMatMul"},
    {RULE(roi_pool), PLAIN, "0", "MaxRoiPool RoiAlign"},
    {RULE(max_unpool), PLAIN, "0", "MaxUnpool"},
    {RULE(mel_weights), PLAIN, "w", "MelWeightMatrix"},
    {RULE(multinomial), PLAIN, "m", "Multinomial"},
    {RULE(loss), PLAIN, "0", "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"},
    {RULE(non_max_suppression), PLAIN, "l", "NonMaxSuppression"},
    {RULE(non_zero), PLAIN, "l", "NonZero"},
    {RULE(one_hot), PLAIN, "2", "OneHot"},
    {RULE(optional), FREE, "0", "Optional OptionalGetElement"},
    {RULE(has_element), FREE, "b", "OptionalHasElement"},
    {RULE(pad), PLAIN, "0", "Pad"},
    {RULE(random), PLAIN, "d", "RandomNormal RandomUniform"},
    {RULE(range), PLAIN, "0", "Range"},
    {RULE(reduce), PLAIN, "0",
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
     "ReduceProd ReduceSum ReduceSumSquare"},
    {RULE(reshape), FREE, "0", "Reshape"},
    {RULE(resize), PLAIN, "0", "Resize"},
    {RULE(stft), PLAIN, "0", "STFT"},
    {RULE(scan), PLAIN, "-", "Scan"},
    {RULE(sequence_at), FREE, "0", "SequenceAt"},
    {RULE(sequence_construct), FREE, "0", "SequenceConstruct"},
    {RULE(sequence_empty), FREE, "-", "SequenceEmpty"},
    {RULE(sequence_erase), FREE, "0", "SequenceErase"},
    {RULE(sequence_insert), FREE, "1", "SequenceInsert"},
    {RULE(sequence_length), FREE, "l", "SequenceLength"},
    {RULE(sequence_map), PLAIN, "-", "SequenceMap"},
    {RULE(shape), FREE, "l", "Shape"},
    {RULE(size), FREE, "l", "Size"},
    {RULE(slice), COPY, "0", "Slice"},
    {RULE(space_to_depth), PLAIN, "0", "SpaceToDepth"},
    {RULE(split), COPY, "0", "Split"},
    {RULE(split_to_sequence), COPY, "0", "SplitToSequence"},
    {RULE(squeeze), FREE, "0", "Squeeze"},
    {RULE(string_split), PLAIN, "sl", "StringSplit"},
    {RULE(tf_idf), PLAIN, "f", "TfIdfVectorizer"},
    {RULE(tile), PLAIN, "0", "Tile"},
    {RULE(top_k), PLAIN, "0l", "TopK"},
    {RULE(transpose), PLAIN, "0", "Transpose"},
    {RULE(unique), PLAIN, "0l", "Unique"},
    {RULE(unsqueeze), FREE, "0", "Unsqueeze"},
    {RULE(upsample), PLAIN, "0", "Upsample"},
    {RULE(where), PLAIN, "1", "Where"},
    {RULE(array_feature), COPY, "0", "ai.onnx.ml.ArrayFeatureExtractor"},
    {RULE(feature_vectorizer), PLAIN, "f", "ai.onnx.ml.FeatureVectorizer"},
    {RULE(classifier), PLAIN, "-f",
     "ai.onnx.ml.LinearClassifier ai.onnx.ml.SVMClassifier "
     "ai.onnx.ml.TreeEnsembleClassifier"},
    {RULE(regressor), PLAIN, "f", "ai.onnx.ml.LinearRegressor ai.onnx.ml.SVMRegressor ai.onnx.ml.TreeEnsembleRegressor"},
    {RULE(regressor), PLAIN, "0", "ai.onnx.ml.TreeEnsemble"},
    {RULE(one_hot_encoder), PLAIN, "f", "ai.onnx.ml.OneHotEncoder"},
    {RULE(optimizer), PLAIN, "-",
     "ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam "
     "ai.onnx.preview.training.Momentum"},
    {RULE(each), PLAIN, "-", "ai.onnx.preview.training.Gradient"},
};
/* clang-format on */
enum { n_operators = sizeof operators / sizeof *operators };

bool sked_i_onnx_index_create(sked_i_onnx_index *x)
{
    for (int row = 0; row < n_operators; row++)
        for (const char *s = operators[row].names; *s;) {
            bool fresh;
            const size_t size = strcspn(s, " ");
            const int32_t k = sked_i_names_add(&x->names, s, size, &fresh);
            if (k < 0)
                return false;
            assert(fresh && k < (int32_t)sizeof x->row);
            x->row[k] = (uint8_t)row;
            s += size + (s[size] == ' ');
        }
    return true;
}

const sked_i_onnx_operator *sked_i_onnx_operator_find(const sked_i_onnx_index *x, const Onnx__NodeProto *node)
{
    char name[80];
    const char *domain = node->domain && strcmp(node->domain, "ai.onnx") != 0 ? node->domain : "";
    const int size = snprintf(name, sizeof name, "%s%s%s", domain, domain[0] ? "." : "",
                              node->op_type ? node->op_type : "");
    const bool fits = size >= 0 && size < (int)sizeof name;
    const int32_t k = fits ? sked_i_names_find(&x->names, name, (size_t)size) : -1;
    return k >= 0 ? &operators[x->row[k]] : NULL;
}

bool sked_i_onnx_is_elementwise(const Onnx__NodeProto *node)
{
    static const char *const names[] = {"Abs",
                                        "Acos",
                                        "Acosh",
                                        "Add",
                                        "And",
                                        "Asin",
                                        "Asinh",
                                        "Atan",
                                        "Atanh",
                                        "BitShift",
                                        "BitwiseAnd",
                                        "BitwiseNot",
                                        "BitwiseOr",
                                        "BitwiseXor",
                                        "Cast",
                                        "Ceil",
                                        "Celu",
                                        "Clip",
                                        "Cos",
                                        "Cosh",
                                        "Div",
                                        "Elu",
                                        "Equal",
                                        "Erf",
                                        "Exp",
                                        "Floor",
                                        "Gelu",
                                        "Greater",
                                        "GreaterOrEqual",
                                        "HardSigmoid",
                                        "HardSwish",
                                        "LeakyRelu",
                                        "Less",
                                        "LessOrEqual",
                                        "Log",
                                        "Max",
                                        "Mean",
                                        "Min",
                                        "Mish",
                                        "Mod",
                                        "Mul",
                                        "Neg",
                                        "Not",
                                        "Or",
                                        "PRelu",
                                        "Pow",
                                        "Reciprocal",
                                        "Relu",
                                        "Round",
                                        "Selu",
                                        "Shrink",
                                        "Sigmoid",
                                        "Sign",
                                        "Sin",
                                        "Sinh",
                                        "Softplus",
                                        "Softsign",
                                        "Sqrt",
                                        "Sub",
                                        "Sum",
                                        "Swish",
                                        "Tan",
                                        "Tanh",
                                        "ThresholdedRelu",
                                        "Where",
                                        "Xor"};
    const bool own = node->domain == NULL || node->domain[0] == 0 || strcmp(node->domain, "ai.onnx") == 0;
    for (size_t k = 0; own && node->op_type != NULL && k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], node->op_type) == 0)
            return true;
    return false;
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
        return TYPE(FLOAT);
    const Onnx__AttributeProto *any = sked_i_onnx_attribute(c, "values_tensor");
    if (any != NULL && any->t != NULL)
        return any->t->data_type;
    return sked_i_onnx_attribute(c, "values_int64s") ? TYPE(INT64) : TYPE(STRING);
}

int32_t sked_i_onnx_output_type(const call *c, const sked_i_onnx_operator *o, size_t k)
{
    enum { FLOAT = TYPE(FLOAT), INT32 = TYPE(INT32), INT64 = TYPE(INT64), UINT8 = TYPE(UINT8) };
    const size_t letters = strlen(o->types);
    const char letter = o->types[k < letters ? k : letters - 1];
    if (letter >= '0' && letter <= '9') /* like that input */
        return type_of_input(c, (size_t)(letter - '0'));
    return letter == 'b'   ? TYPE(BOOL)
           : letter == 'c' ? (type_of_input(c, 0) == TYPE(STRING) ? INT64 : TYPE(STRING)) /* and back */
           : letter == 'd' ? type_attribute(c, "dtype", FLOAT)
           : letter == 'e' ? type_attribute(c, "dtype", type_of_input(c, 0))
           : letter == 'f' ? FLOAT
           : letter == 'i' ? INT32
           : letter == 'k' ? label_type(c)
           : letter == 'l' ? INT64
           : letter == 'm' ? type_attribute(c, "dtype", INT32)
           /* quantised: like the zero point, else as said, else uint8; and back: as said, else like the scale
            */
           : letter == 'q' && sked_i_onnx_in(c, 2) ? type_of_input(c, 2)
           : letter == 'q'                         ? type_attribute(c, "output_dtype", UINT8)
           : letter == 'r'                         ? type_attribute(c, "output_dtype", type_of_input(c, 1))
           : letter == 's'                         ? TYPE(STRING)
           : letter == 't'                         ? type_attribute(c, "to", 0)
           : letter == 'u'                         ? UINT8
           : letter == 'w'                         ? type_attribute(c, "output_datatype", FLOAT)
           : letter == 'x'                         ? type_attribute(c, "stash_type", FLOAT)
           /* a state that is given, else like the input */
           : letter == 'z' ? type_of_input(c, sked_i_onnx_in(c, 3) ? 3 : 0)
                           : 0; /* '-': the rule knows */
}
