/* Symbolic dimensions of an ONNX model, by name: docs/formats/onnx.md. */
#ifndef SKED_FORMATS_ONNX_DIMS_H
#define SKED_FORMATS_ONNX_DIMS_H
#include "formats/format.h"

#include <onnx.pb-c.h>

/*
 * Puts the sizes that the source's options give in place of symbolic dimensions, everywhere in the model, and
 * notes the dimensions of its inputs that stay without one. The model's nesting has been bounded. ARGUMENT:
 * an option that is none, or names no dimension. O(size).
 */
SKED_MUST_CHECK sked_status sked_i_onnx_dims_bind(const sked_i_source *source, Onnx__ModelProto *model,
                                                  ProtobufCAllocator *allocator, sked_error *err);
#endif
