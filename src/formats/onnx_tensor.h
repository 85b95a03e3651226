/*
 * What is known of a tensor before a model runs: element type, shape, and the values of small ones, which
 * shapes are computed from. All numbers come from untrusted files, so every size is checked where it enters.
 */
#ifndef SKED_FORMATS_ONNX_TENSOR_H
#define SKED_FORMATS_ONNX_TENSOR_H
#include "base/arena.h"
#include "base/status.h"

#include <math.h>
#include <onnx.pb-c.h>

enum { sked_i_onnx_max_rank = 8, sked_i_onnx_max_values = 128 };

typedef struct sked_i_onnx_tensor {
    int rank;                          /* -1: unknown */
    int32_t type;                      /* TensorProto.DataType, 0: unknown */
    int64_t dim[sked_i_onnx_max_rank]; /* 0..2^40; a symbolic one counts as 1 */
    const double *value; /* its elements where they are few and known, NAN: not this one; NULL: unknown */
    int64_t items;       /* of a sequence: how many tensors of this shape it holds */
    int32_t producer;    /* node of the main graph that makes it; negative: none (onnx.c) */
    bool sequence;
    bool stated; /* every dimension is a number in the file */
} sked_i_onnx_tensor;

/* Values of tensors, all freed together. A file that asks for more than the limit gets no more of them. */
typedef struct sked_i_onnx_arena {
    sked_i_arena chunks;
    double *chunk;       /* the last one */
    int64_t used, total; /* of it; of all */
    bool no_memory;
} sked_i_onnx_arena;
/* Room for count <= sked_i_onnx_max_values values, or NULL; then no_memory says whether malloc failed. */
double *sked_i_onnx_values_new(sked_i_onnx_arena *arena, int64_t count);

/* What value_info, inputs and outputs say. Leaves t alone where they say nothing. */
void sked_i_onnx_from_type(const Onnx__TypeProto *type, sked_i_onnx_tensor *t);
/* The same for initializers and constants, with their values where those are few. */
void sked_i_onnx_from_constant(const Onnx__TensorProto *source, sked_i_onnx_arena *arena,
                               sked_i_onnx_tensor *t);

/* The shape that dim[rank] of the file states. */
void sked_i_onnx_from_dims(const int64_t *dim, size_t rank, sked_i_onnx_tensor *t);

/* Elements; NAN where the shape is unknown or has more than 2^53. */
double sked_i_onnx_elements(const sked_i_onnx_tensor *t);
/* Size in bytes, rounded up; 0 where shape or element type is unknown, for strings, or above 2^53. */
double sked_i_onnx_bytes(const sked_i_onnx_tensor *t);
static inline bool sked_i_onnx_known(const sked_i_onnx_tensor *t)
{
    return t != NULL && t->rank >= 0;
}

/*
 * Building a shape: clear makes a scalar, put appends a dimension. A size that is none (negative, NAN, above
 * 2^40) or a ninth dimension makes the rank unknown, and it stays so; arithmetic on sizes is therefore done
 * in double and checked here.
 */
static inline void sked_i_onnx_clear(sked_i_onnx_tensor *t)
{
    t->rank = 0;
}
static inline void sked_i_onnx_put(sked_i_onnx_tensor *t, double size)
{
    if (t->rank < 0 || t->rank == sked_i_onnx_max_rank || !(size >= 0 && size <= 0x1p40))
        t->rank = -1;
    else
        t->dim[t->rank++] = (int64_t)size;
}
#endif
