#include "formats/onnx_tensor.h"

#include <assert.h>
#include <string.h>

typedef sked_i_onnx_tensor tensor;
enum { max_rank = sked_i_onnx_max_rank, max_values = sked_i_onnx_max_values };

/* ------------------------------------------------------------------ values */

enum { chunk_size = 4096, max_total = 1 << 23 }; /* 64 MiB of values in all */

double *sked_i_onnx_values_new(sked_i_onnx_arena *arena, int64_t count)
{
    assert(count >= 0);
    if (count > max_values || arena->total + count > max_total)
        return NULL;
    if (arena->chunk == NULL || arena->used + count > chunk_size) {
        arena->chunk = sked_i_arena_alloc(&arena->chunks, chunk_size, sizeof *arena->chunk);
        arena->used = 0;
    }
    if (arena->chunk == NULL) {
        arena->no_memory = true;
        return NULL;
    }
    double *place = arena->chunk + arena->used;
    arena->used += count;
    arena->total += count;
    return place;
}

/* ------------------------------------------------------------------ sizes */

double sked_i_onnx_elements(const tensor *t)
{
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dim[i];
    return t->rank < 0 || n > 0x1p53 ? NAN : n;
}

double sked_i_onnx_bytes(const tensor *t)
{
    /*
     * By TensorProto.DataType: float, uint8, int8, uint16, int16, int32, int64, string, bool, float16,
     * double, uint32, uint64, complex64, complex128, bfloat16, four float8, uint4, int4, float4, float8e8m0,
     * uint2, int2.
     */
    static const double width[] = {0, 4,  1, 1, 2, 2, 4, 8,  0,  1,  2, 8,   4,  8,
                                   8, 16, 2, 1, 1, 1, 1, .5, .5, .5, 1, .25, .25};
    const int known = (int)(sizeof width / sizeof *width);
    const double each = sked_i_onnx_elements(t) * (t->type > 0 && t->type < known ? width[t->type] : 0);
    const double bytes = ceil(each) * (t->sequence ? (double)t->items : 1);
    return bytes >= 0 && bytes <= 0x1p53 ? bytes : 0; /* NAN: 0 */
}

/* ------------------------------------------------------------------ what the file states */

static void from_shape(const Onnx__TensorShapeProto *shape, tensor *t)
{
    if (shape == NULL || shape->n_dim > max_rank)
        return;
    t->stated = true;
    t->rank = (int)shape->n_dim;
    for (int i = 0; i < t->rank; i++) {
        const bool number =
            shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            shape->dim[i]->dim_value >= 0 && shape->dim[i]->dim_value <= (int64_t)1 << 40;
        t->dim[i] = number ? shape->dim[i]->dim_value : 1;
        t->stated = t->stated && number;
    }
}

void sked_i_onnx_from_type(const Onnx__TypeProto *type, tensor *t)
{
    bool sequence = false;
    while (type != NULL) { /* optional(sequence(tensor)) at most; the scan of the file bounds the nesting */
        if (type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE && type->sequence_type != NULL) {
            sequence = true;
            type = type->sequence_type->elem_type;
        } else if (type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE && type->optional_type != NULL) {
            type = type->optional_type->elem_type;
        } else {
            break;
        }
    }
    if (type == NULL)
        return;
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type != NULL) {
        t->type = type->tensor_type->elem_type;
        from_shape(type->tensor_type->shape, t);
    } else if (type->value_case == ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE &&
               type->sparse_tensor_type != NULL) {
        t->type = type->sparse_tensor_type->elem_type;
        from_shape(type->sparse_tensor_type->shape, t);
    }
    if (sequence) {
        t->sequence = true;
        t->items = 1; /* its length is never stated */
        t->stated = false;
    }
}

/* ------------------------------------------------------------------ constants */

enum {
    FLOAT = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
    UINT8 = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
    INT8 = ONNX__TENSOR_PROTO__DATA_TYPE__INT8,
    UINT16 = ONNX__TENSOR_PROTO__DATA_TYPE__UINT16,
    INT16 = ONNX__TENSOR_PROTO__DATA_TYPE__INT16,
    INT32 = ONNX__TENSOR_PROTO__DATA_TYPE__INT32,
    INT64 = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
    BOOL = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL,
    DOUBLE = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE,
    UINT32 = ONNX__TENSOR_PROTO__DATA_TYPE__UINT32,
    UINT64 = ONNX__TENSOR_PROTO__DATA_TYPE__UINT64,
    FLOAT16 = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16,
    BFLOAT16 = ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16
};

/* Bytes of an element in raw_data; 0: a type that no shape is computed from. */
static size_t raw_width(int32_t type)
{
    static const uint8_t width[] = {
        [UINT8] = 1, [INT8] = 1,  [BOOL] = 1,   [UINT16] = 2, [INT16] = 2,  [FLOAT16] = 2, [BFLOAT16] = 2,
        [FLOAT] = 4, [INT32] = 4, [UINT32] = 4, [INT64] = 8,  [DOUBLE] = 8, [UINT64] = 8};
    return type >= 0 && type < (int32_t)sizeof width ? width[type] : 0;
}

static double single_value(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static double half_value(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double mantissa = (double)(bits & 1023);
    const double size = exponent == 31  ? (mantissa > 0 ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(mantissa, -24)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

/* One element of raw_data, little endian by the standard. */
static double raw_value(int32_t type, const uint8_t *at, size_t width)
{
    uint64_t bits = 0;
    double real;
    for (size_t k = 0; k < width; k++)
        bits |= (uint64_t)at[k] << (8 * k);
    memcpy(&real, &bits, sizeof real);
    return type == FLOAT      ? single_value((uint32_t)bits)
           : type == FLOAT16  ? half_value((uint32_t)bits)
           : type == BFLOAT16 ? single_value((uint32_t)bits << 16)
           : type == DOUBLE   ? real
           : type == INT8     ? (double)(int8_t)bits
           : type == INT16    ? (double)(int16_t)bits
           : type == INT32    ? (double)(int32_t)bits
           : type == INT64    ? (double)(int64_t)bits
                              : (double)bits;
}

/* Element i of the field that the standard names for this type. */
static double field_value(const Onnx__TensorProto *source, size_t i)
{
    const int32_t type = source->data_type;
    if (type == FLOAT)
        return i < source->n_float_data ? (double)source->float_data[i] : NAN;
    if (type == DOUBLE)
        return i < source->n_double_data ? source->double_data[i] : NAN;
    if (type == INT64)
        return i < source->n_int64_data ? (double)source->int64_data[i] : NAN;
    if (type == UINT32 || type == UINT64)
        return i < source->n_uint64_data ? (double)source->uint64_data[i] : NAN;
    const int32_t x = i < source->n_int32_data ? source->int32_data[i] : 0;
    return i >= source->n_int32_data ? NAN
           : type == FLOAT16         ? half_value((uint32_t)x & 0xffff)
           : type == BFLOAT16        ? single_value((uint32_t)x << 16)
                                     : (double)x;
}

static const double *constant_values(const Onnx__TensorProto *source, int64_t count, sked_i_onnx_arena *arena)
{
    const size_t width = raw_width(source->data_type);
    const bool raw = source->has_raw_data && source->raw_data.len > 0;
    const bool elsewhere =
        source->has_data_location && source->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    if (width == 0 || elsewhere || (raw && source->raw_data.len != width * (size_t)count))
        return NULL;
    double *value = sked_i_onnx_values_new(arena, count);
    for (int64_t i = 0; value != NULL && i < count; i++)
        value[i] = raw ? raw_value(source->data_type, source->raw_data.data + width * (size_t)i, width)
                       : field_value(source, (size_t)i);
    return value;
}

void sked_i_onnx_from_dims(const int64_t *dim, size_t rank, tensor *t)
{
    sked_i_onnx_clear(t);
    for (size_t i = 0; i < rank && t->rank >= 0; i++)
        sked_i_onnx_put(t, (double)dim[i]);
}

void sked_i_onnx_from_constant(const Onnx__TensorProto *source, sked_i_onnx_arena *arena, tensor *t)
{
    t->type = source->data_type;
    t->value = NULL;
    t->sequence = false;
    sked_i_onnx_from_dims(source->dims, source->n_dims, t);
    t->stated = t->rank >= 0;
    if (sked_i_onnx_elements(t) <= max_values)
        t->value = constant_values(source, (int64_t)sked_i_onnx_elements(t), arena);
}
