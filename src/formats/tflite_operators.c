/* TFLite's built-in operators: their names, which have state, and what they compute. */
#include "formats/tflite.h"

/* Place k has the operator of code k: the schema only ever appends. */
/* clang-format off */
static const char *const names[] = {
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE",
    "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED", "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION", "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU",
    "RELU_N1_TO_1", "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH",
    "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL", "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN",
    "SUB", "DIV", "SQUEEZE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN",
    "EXP", "TOPK_V2", "SPLIT", "LOG_SOFTMAX", "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU",
    "MAXIMUM", "ARG_MAX", "MINIMUM", "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL",
    "SELECT", "SLICE", "SIN", "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL",
    "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT", "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT", "REDUCE_PROD",
    "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT", "LOGICAL_AND", "LOGICAL_NOT", "UNPACK", "REDUCE_MIN",
    "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL", "FLOOR_MOD", "RANGE",
    "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS", "SPLIT_V", "UNIQUE",
    "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU", "REVERSE_SEQUENCE",
    "MATRIX_DIAG", "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE",
    "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2", "DENSIFY", "SEGMENT_SUM",
    "BATCH_MATMUL", "PLACEHOLDER_FOR_GREATER_OP_CODES", "CUMSUM", "CALL_ONCE", "BROADCAST_TO", "RFFT2D",
    "CONV_3D", "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT",
    "HASHTABLE_SIZE", "REDUCE_ALL", "CONV_3D_TRANSPOSE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE",
    "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL", "BUCKETIZE", "RANDOM_UNIFORM", "MULTINOMIAL", "GELU",
    "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX",
    "UNSORTED_SEGMENT_SUM", "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN", "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT",
    "STABLEHLO_LOGISTIC", "STABLEHLO_ADD", "STABLEHLO_DIVIDE", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM",
    "STABLEHLO_RESHAPE", "STABLEHLO_CLAMP", "STABLEHLO_CONCATENATE", "STABLEHLO_BROADCAST_IN_DIM",
    "STABLEHLO_CONVOLUTION", "STABLEHLO_SLICE", "STABLEHLO_CUSTOM_CALL", "STABLEHLO_REDUCE", "STABLEHLO_ABS",
    "STABLEHLO_AND", "STABLEHLO_COSINE", "STABLEHLO_EXPONENTIAL", "STABLEHLO_FLOOR", "STABLEHLO_LOG",
    "STABLEHLO_MINIMUM", "STABLEHLO_NEGATE", "STABLEHLO_OR", "STABLEHLO_POWER", "STABLEHLO_REMAINDER",
    "STABLEHLO_RSQRT", "STABLEHLO_SELECT", "STABLEHLO_SUBTRACT", "STABLEHLO_TANH", "STABLEHLO_SCATTER",
    "STABLEHLO_COMPARE", "STABLEHLO_CONVERT", "STABLEHLO_DYNAMIC_SLICE", "STABLEHLO_DYNAMIC_UPDATE_SLICE",
    "STABLEHLO_PAD", "STABLEHLO_IOTA", "STABLEHLO_DOT_GENERAL", "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_SORT",
    "STABLEHLO_WHILE", "STABLEHLO_GATHER", "STABLEHLO_TRANSPOSE", "DILATE", "STABLEHLO_RNG_BIT_GENERATOR",
    "REDUCE_WINDOW", "STABLEHLO_COMPOSITE", "STABLEHLO_SHIFT_LEFT", "STABLEHLO_CBRT", "STABLEHLO_CASE"
};
/* clang-format on */
enum { n_names = sizeof names / sizeof *names };

/* The codes that are told apart here. */
enum {
    AVERAGE_POOL_2D = 1,
    CONV_2D = 3,
    DEPTHWISE_CONV_2D = 4,
    FULLY_CONNECTED = 9,
    L2_POOL_2D = 12,
    LSTM = 16,
    MAX_POOL_2D = 17,
    RNN = 24,
    SVDF = 27,
    CALL = 31,
    CUSTOM = 32,
    UNIDIRECTIONAL_SEQUENCE_RNN = 35,
    UNIDIRECTIONAL_SEQUENCE_LSTM = 44,
    BIDIRECTIONAL_SEQUENCE_RNN = 46,
    DELEGATE = 51,
    BIDIRECTIONAL_SEQUENCE_LSTM = 52,
    TRANSPOSE_CONV = 67,
    IF = 118,
    WHILE = 119,
    BATCH_MATMUL = 126,
    CALL_ONCE = 129,
    CONV_3D = 132,
    HASHTABLE = 136,
    HASHTABLE_FIND = 137,
    HASHTABLE_IMPORT = 138,
    HASHTABLE_SIZE = 139,
    CONV_3D_TRANSPOSE = 141,
    VAR_HANDLE = 142,
    READ_VARIABLE = 143,
    ASSIGN_VARIABLE = 144,
    RANDOM_STANDARD_NORMAL = 146,
    RANDOM_UNIFORM = 148,
    MULTINOMIAL = 149,
    STABLEHLO_CUSTOM_CALL = 171,
    STABLEHLO_WHILE = 200,
    STABLEHLO_RNG_BIT_GENERATOR = 204,
    STABLEHLO_COMPOSITE = 206,
    STABLEHLO_CASE = 209
};

const char *sked_i_tflite_operator_name(uint64_t code)
{
    return code < n_names ? names[code] : NULL;
}

bool sked_i_tflite_has_state(uint64_t code)
{
    switch (code) {
    case CALL:
    case CUSTOM:
    case DELEGATE:
    case IF:
    case WHILE:
    case CALL_ONCE:
    case HASHTABLE:
    case HASHTABLE_FIND:
    case HASHTABLE_IMPORT:
    case HASHTABLE_SIZE:
    case VAR_HANDLE:
    case READ_VARIABLE:
    case ASSIGN_VARIABLE:
    case RANDOM_STANDARD_NORMAL:
    case RANDOM_UNIFORM:
    case MULTINOMIAL:
    case STABLEHLO_CUSTOM_CALL:
    case STABLEHLO_WHILE:
    case STABLEHLO_RNG_BIT_GENERATOR:
    case STABLEHLO_COMPOSITE:
    case STABLEHLO_CASE:
        return true;
    default:
        return code >= n_names; /* nothing is known of it */
    }
}

static const sked_i_tflite_tensor *input(const sked_i_tflite *m, const sked_i_tflite_operator *o, int64_t k)
{
    static const sked_i_tflite_tensor none = {.elements = 1, .first = 1, .last = 1};
    const int32_t t = k < o->inputs.count ? sked_i_flat_int(&m->flat, o->inputs, k) : -1;
    return t >= 0 ? &m->tensor[t] : &none;
}

/* Each step multiplies what it reads with all weights. */
static double recurrent(const sked_i_tflite *m, const sked_i_tflite_operator *o)
{
    const sked_i_tflite_tensor *x = input(m, o, 0);
    double weights = 0;
    for (int64_t k = 1; k < o->inputs.count; k++)
        if (input(m, o, k)->maker == SKED_I_TFLITE_CONSTANT)
            weights += input(m, o, k)->elements;
    return 2 * weights * x->elements / (double)x->last;
}

/* Elements that a window of a pool has: Pool2DOptions. */
static double window(sked_i_tflite *m, const sked_i_tflite_operator *o)
{
    const sked_i_flat_table options = sked_i_flat_child(&m->flat, o->table, 4);
    return (double)(int32_t)sked_i_flat_number(&m->flat, options, 3, 4, 1) *
           (double)(int32_t)sked_i_flat_number(&m->flat, options, 4, 4, 1);
}

double sked_i_tflite_flops(sked_i_tflite *m, uint64_t code, const sked_i_tflite_operator *o)
{
    const int32_t t = o->outputs.count > 0 ? sked_i_flat_int(&m->flat, o->outputs, 0) : -1;
    const double results = t >= 0 ? m->tensor[t].elements : 0;
    const sked_i_tflite_tensor *w = input(m, o, 1); /* weights, where there are any */
    switch (code) {
    case CONV_2D:
    case FULLY_CONNECTED:
        return 2 * results * w->elements / (double)w->first;
    case DEPTHWISE_CONV_2D:
    case CONV_3D:
        return 2 * results * w->elements / (double)w->last;
    case TRANSPOSE_CONV:
    case CONV_3D_TRANSPOSE:
        return 2 * input(m, o, 2)->elements * w->elements / (double)w->last;
    case BATCH_MATMUL:
        return 2 * results * (double)input(m, o, 0)->last;
    case AVERAGE_POOL_2D:
    case L2_POOL_2D:
    case MAX_POOL_2D:
        return results * window(m, o);
    case LSTM:
    case RNN:
    case SVDF:
    case UNIDIRECTIONAL_SEQUENCE_RNN:
    case UNIDIRECTIONAL_SEQUENCE_LSTM:
    case BIDIRECTIONAL_SEQUENCE_RNN:
    case BIDIRECTIONAL_SEQUENCE_LSTM:
        return recurrent(m, o);
    default:
        return results;
    }
}
