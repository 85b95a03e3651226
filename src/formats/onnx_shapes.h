/*
 * Shapes of the tensors of an ONNX model, and a first estimate of what its nodes cost. Shapes come from the
 * file where it states them and are propagated through the operators elsewhere, into the graphs inside nodes
 * and into functions; what stays unknown costs nothing to move.
 *
 * Debian's libonnx has the reference inference in C++, but it does not stand hostile files
 * (docs/formats/onnx.md), so this is our own.
 */
#ifndef SKED_FORMATS_ONNX_SHAPES_H
#define SKED_FORMATS_ONNX_SHAPES_H
#include "base/text.h"
#include "formats/onnx_tensor.h"
#include "graph/graph.h"

/* The tensors of one graph by name; those of the graphs around it are seen from inside. */
typedef struct sked_i_onnx_scope {
    sked_i_names names;
    sked_i_onnx_tensor *tensor; /* [names.count]; they move while tensors are added */
    int64_t cap;
    const struct sked_i_onnx_scope *outer; /* NULL: none */
} sked_i_onnx_scope;

/* The index of the tensor, added with rank -1 and producer -1 where it is new; -1: out of memory. */
int32_t sked_i_onnx_scope_add(sked_i_onnx_scope *scope, const char *name);
/* What value_info, inputs or outputs (list) and initializers (made by `producer`) state. false: out of
 * memory. */
bool sked_i_onnx_scope_state(sked_i_onnx_scope *scope, Onnx__ValueInfoProto *const *list, size_t count);
bool sked_i_onnx_scope_weights(sked_i_onnx_scope *scope, sked_i_onnx_arena *arena,
                               const Onnx__GraphProto *graph, int32_t producer);
void sked_i_onnx_scope_free(sked_i_onnx_scope *scope);

/* The operators of onnx_operators.c by name. */
typedef struct sked_i_onnx_index {
    sked_i_names names;
    uint8_t row[256]; /* [names.count] in the table */
} sked_i_onnx_index;
/* x is zero before. false: out of memory. */
bool sked_i_onnx_index_create(sked_i_onnx_index *x);

typedef struct sked_i_onnx_shapes {
    const Onnx__ModelProto *model;
    sked_i_onnx_arena arena;
    sked_i_onnx_index operators;
    sked_i_names functions; /* "domain.name" of the model's own ones */
    int32_t *function_at;   /* [functions.count] in model->functions */
    int64_t function_cap;
    double budget; /* work left for the bodies of functions, which may call one another twice at each level */
    int depth;     /* of functions */
    bool no_memory;
} sked_i_onnx_shapes;

/* `size` is that of the file; the bodies of functions may take work in proportion to it. */
SKED_MUST_CHECK sked_status sked_i_onnx_shapes_begin(sked_i_onnx_shapes *s, const Onnx__ModelProto *model,
                                                     double size, sked_error *err);
void sked_i_onnx_shapes_free(sked_i_onnx_shapes *s);

/*
 * Infers the outputs of a node whose inputs have been inferred; outputs that the file states in full keep
 * their shape. All of them are in `scope` already. Returns what the node costs: microseconds on a notional
 * core of 100 GFLOP/s and 10 GB/s, whichever takes longer, rounded up; 0 for constants and for operators that
 * only rename or reshape; 1 where a shape is unknown. O(size of the node), graphs inside it included.
 * s->no_memory is set where memory ran out.
 */
double sked_i_onnx_infer(sked_i_onnx_shapes *s, sked_i_onnx_scope *scope, const Onnx__NodeProto *node);
#endif
