/* The table of ONNX's operators: which rule gives the shapes, which types come out, how time is estimated. */
#ifndef SKED_FORMATS_ONNX_OPERATORS_H
#define SKED_FORMATS_ONNX_OPERATORS_H
#include "formats/onnx_rules.h"
#include "formats/onnx_shapes.h"

/*
 * FREE: nothing is computed or moved. COPY: what comes out was read and is written. PLAIN: all inputs are
 * read, all outputs written, and the rule counts the FLOP, else there is one per element of the first output.
 */
typedef enum sked_i_onnx_work { SKED_I_ONNX_FREE, SKED_I_ONNX_COPY, SKED_I_ONNX_PLAIN } sked_i_onnx_work;

typedef struct sked_i_onnx_operator {
    sked_i_onnx_rule *rule;
    sked_i_onnx_work work;
    const char *types; /* a letter per output, the last one for all that follow: see output_type */
    const char *names; /* of the operators, with their domain where it is not ai.onnx, separated by blanks */
} sked_i_onnx_operator;

/* NULL: not in the table. O(1). */
const sked_i_onnx_operator *sked_i_onnx_operator_find(const sked_i_onnx_index *x,
                                                      const Onnx__NodeProto *node);
/*
 * Does every element of the result depend on the elements of the same place alone, in inputs of its size?
 * Then it may be written over such an input. O(1).
 */
bool sked_i_onnx_is_elementwise(const Onnx__NodeProto *node);
/* TensorProto.DataType of output k by the table; 0: unknown. */
int32_t sked_i_onnx_output_type(const sked_i_onnx_call *c, const sked_i_onnx_operator *o, size_t k);
/*
 * Infers a graph inside c's node: its formal inputs stand for given[n_given] (NULL: unknown), its outputs
 * are result[n_result]. Returns what its nodes cost together, NAN where that is unknown. In onnx_shapes.c.
 */
double sked_i_onnx_body(sked_i_onnx_call *c, const Onnx__GraphProto *g,
                        const sked_i_onnx_tensor *const *given, size_t n_given, sked_i_onnx_tensor *result,
                        size_t n_result);
#endif
