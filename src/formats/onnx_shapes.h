/*
 * Tensor shapes and a first estimate of what ONNX nodes cost. Shapes come from the file where it states
 * them and are propagated through the common operators elsewhere; what stays unknown costs nothing to move.
 */
#ifndef SKED_FORMATS_ONNX_SHAPES_H
#define SKED_FORMATS_ONNX_SHAPES_H
#include "base/status.h"

#include <onnx.pb-c.h>

enum { sked_i_onnx_max_rank = 8 };

typedef struct sked_i_onnx_tensor {
    int rank;                          /* -1: unknown */
    int64_t dim[sked_i_onnx_max_rank]; /* >= 0; a symbolic one counts as 1 */
    int32_t type;                      /* TensorProto.DataType, 0: unknown */
    bool stated;                       /* every dimension is a number in the file */
    const Onnx__TensorProto *constant; /* its value, where the file holds one */
    int32_t producer;                  /* node that makes it, -1: none */
} sked_i_onnx_tensor;

/* What value_info, inputs, outputs and initializers say. Leave t alone where they say nothing. */
void sked_i_onnx_from_type(const Onnx__TypeProto *type, sked_i_onnx_tensor *t);
void sked_i_onnx_from_constant(const Onnx__TensorProto *tensor, sked_i_onnx_tensor *t);
/* Size in bytes; 0 where shape or element type is unknown, or above 2^53. */
double sked_i_onnx_bytes(const sked_i_onnx_tensor *t);
/*
 * Fills the outputs of a node whose inputs are known (NULL: an input or output left out). Outputs that the
 * file states in full are left as they are. O(inputs + outputs).
 */
void sked_i_onnx_infer(const Onnx__NodeProto *node, const sked_i_onnx_tensor *const *in,
                       sked_i_onnx_tensor *const *out);
/*
 * Microseconds on a notional core of 100 GFLOP/s and 10 GB/s, whichever takes longer, rounded up; 0 for
 * constants and for operators that only rename or reshape; 1 where a shape is unknown.
 */
double sked_i_onnx_cost(const Onnx__NodeProto *node, const sked_i_onnx_tensor *const *in,
                        sked_i_onnx_tensor *const *out);
#endif
