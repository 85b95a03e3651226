/*
 * Shape rules: what one operator makes of its inputs. A rule reads a call's inputs and attributes and fills
 * its outputs; what it cannot tell it leaves at rank -1. The table that names the rule of every operator is
 * in onnx_operators.c. A rule takes O(inputs + outputs + attributes).
 */
#ifndef SKED_FORMATS_ONNX_RULES_H
#define SKED_FORMATS_ONNX_RULES_H
#include "formats/onnx_tensor.h"

struct sked_i_onnx_shapes;
struct sked_i_onnx_scope;

typedef struct sked_i_onnx_call {
    struct sked_i_onnx_shapes *shapes;
    const struct sked_i_onnx_scope *scope; /* names that graphs inside this node may capture */
    const struct sked_i_onnx_call *caller; /* of the function that the node stands in, NULL: none */
    const Onnx__NodeProto *node;
    sked_i_onnx_arena *arena;
    const sked_i_onnx_tensor *const *in; /* [n_in]; NULL: left out */
    size_t n_in;
    sked_i_onnx_tensor *out; /* [n_out]: rank -1 and type 0 at first */
    size_t n_out;
    double flops; /* NAN: the table says how to count */
    double time;  /* of the graphs inside, in microseconds; NAN: none */
} sked_i_onnx_call;

typedef void sked_i_onnx_rule(sked_i_onnx_call *c);

/* ------------------------------------------------------------------ inputs and attributes */

/* Input k; NULL where it is left out. */
const sked_i_onnx_tensor *sked_i_onnx_in(const sked_i_onnx_call *c, size_t k);
/* The same, but NULL also where its shape is unknown or it has fewer than `rank` dimensions. */
const sked_i_onnx_tensor *sked_i_onnx_shaped(const sked_i_onnx_call *c, size_t k, int rank);
/* Attributes: those a function refers to are its caller's. */
const Onnx__AttributeProto *sked_i_onnx_attribute(const sked_i_onnx_call *c, const char *name);
int64_t sked_i_onnx_int(const sked_i_onnx_call *c, const char *name, int64_t otherwise);
/* Number i of a list; `otherwise` where there is none. */
double sked_i_onnx_list_at(const Onnx__AttributeProto *list, size_t i, double otherwise);
bool sked_i_onnx_text_is(const sked_i_onnx_call *c, const char *name, const char *text);
/* The values of input k, *n of them; NULL: unknown. */
const double *sked_i_onnx_values(const sked_i_onnx_call *c, size_t k, int *n);
/* The only or first value of input k; `otherwise` where it is unknown. */
double sked_i_onnx_scalar(const sked_i_onnx_call *c, size_t k, double otherwise);
/*
 * A list of at most sked_i_onnx_max_values numbers, an attribute (old operator sets) or input k (new ones);
 * -1: neither is known. An input that is left out is an unknown list too.
 */
int sked_i_onnx_list(const sked_i_onnx_call *c, const char *name, size_t k, double *out);
/* An axis counted from either end, in 0..rank-1; -1: out of range. */
int sked_i_onnx_axis(double axis, int rank);
/* Marks the axes of an optional list, all of them where there is none; false: the list is not known. */
bool sked_i_onnx_axes(const sked_i_onnx_call *c, const char *name, size_t k, int rank, bool *marked);

/* ------------------------------------------------------------------ what several families use */

/* out's shape is that of t; nothing happens where t is NULL or its shape is unknown. */
void sked_i_onnx_copy(const sked_i_onnx_tensor *t, sked_i_onnx_tensor *out);
/* out has the dimensions size[rank]; SKED_SHAPE(out, 2, 3): these. */
void sked_i_onnx_shape(sked_i_onnx_tensor *out, int rank, const double *size);
#define SKED_SHAPE(out, ...)                                                  \
    do {                                                                      \
        const double size_[] = {__VA_ARGS__};                                 \
        sked_i_onnx_shape((out), (int)(sizeof size_ / sizeof *size_), size_); \
    } while (0)
/* out is x with size[count] in place of its `gone` dimensions from `axis` on. out is not x. */
void sked_i_onnx_splice(const sked_i_onnx_tensor *x, int axis, int gone, int count, const double *size,
                        sked_i_onnx_tensor *out);
/* The axis that attribute "axis" names; -1: out of range, or x is NULL. */
int sked_i_onnx_axis_of(const sked_i_onnx_call *c, const sked_i_onnx_tensor *x, int64_t otherwise);
/* out's shape is what a and b broadcast to. */
void sked_i_onnx_widen(const sked_i_onnx_tensor *a, const sked_i_onnx_tensor *b, sked_i_onnx_tensor *out);
/* Output k, or a place that is never read where the node has fewer. */
sked_i_onnx_tensor *sked_i_onnx_out(sked_i_onnx_call *c, size_t k, sked_i_onnx_tensor *unread);
/* Values for output 0, whose shape is known; NULL: too many, or no room. */
double *sked_i_onnx_fold(sked_i_onnx_call *c);
/*
 * For each element of `out` (at most sked_i_onnx_max_values) the element of `t` that broadcasts to it:
 * index[elements of out]. false: t does not broadcast to out.
 */
bool sked_i_onnx_broadcast_index(const sked_i_onnx_tensor *t, const sked_i_onnx_tensor *out, int *index);

/* ------------------------------------------------------------------ the rules, by family */

/* clang-format off */
#define SKED_ONNX_RULE_LIST(X) \
    /* onnx_rules_math.c: element by element, reductions, products */ \
    X(same) X(same_all) X(scalars_after) X(broadcast) X(unary) X(binary) X(where) X(reduce) X(arg_reduce) \
    X(matmul) X(gemm) X(einsum) X(det) X(top_k) X(loss) X(optimizer) X(each) \
    /* onnx_rules_nn.c: windows, normalisation, recurrent and attention layers, images */ \
    X(conv) X(conv_transpose) X(pool) X(global_pool) X(max_unpool) X(roi_pool) X(batch_norm) X(layer_norm) \
    X(recurrent) X(attention) X(linear_attention) X(causal_conv) X(resize) X(upsample) X(depth_to_space) \
    X(space_to_depth) X(grid_sample) X(affine_grid) X(col2im) X(center_crop_pad) X(non_max_suppression) \
    X(dft) X(stft) X(signal_window) X(mel_weights) \
    /* onnx_rules_tensor.c: shapes, parts and copies of tensors, constants */ \
    X(constant) X(constant_of_shape) X(shape) X(size) X(cast) X(reshape) X(flatten) X(squeeze) X(unsqueeze) \
    X(transpose) X(concat) X(split) X(slice) X(gather) X(gather_nd) X(like_second) X(expand) X(tile) X(pad) \
    X(one_hot) X(range) X(non_zero) X(compress) X(unique) X(random) X(multinomial) X(tf_idf) X(string_split) \
    X(array_feature) X(feature_vectorizer) X(one_hot_encoder) X(classifier) X(regressor) \
    /* onnx_rules_control.c: sequences, optional values, graphs inside nodes */ \
    X(sequence_empty) X(sequence_construct) X(sequence_insert) X(sequence_erase) X(sequence_at) \
    X(sequence_length) X(split_to_sequence) X(concat_from_sequence) X(sequence_map) X(optional) \
    X(has_element) X(branch) X(loop) X(scan)
/* clang-format on */
#define X(name) sked_i_onnx_rule sked_i_onnx_rule_##name;
SKED_ONNX_RULE_LIST(X)
#undef X
#endif
