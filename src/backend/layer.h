/* Where the parameters of an encoder's layer begin in the block of a model; both policies have the same. */
#ifndef SKED_BACKEND_LAYER_H
#define SKED_BACKEND_LAYER_H
#include <stdint.h>

#define SKED_I_LAYER_OFFSETS(X) \
    X(norm1_gain)               \
    X(norm1_bias)               \
    X(qkv_weight)               \
    X(qkv_bias)                 \
    X(merge_weight)             \
    X(merge_bias)               \
    X(norm2_gain)               \
    X(norm2_bias)               \
    X(mlp1_weight)              \
    X(mlp1_bias)                \
    X(scale_weight)             \
    X(scale_bias)               \
    X(shift_weight)             \
    X(shift_bias)               \
    X(mlp2_weight)              \
    X(mlp2_bias)

typedef struct sked_i_layer_offsets {
#define SKED_X(name) int64_t name;
    SKED_I_LAYER_OFFSETS(SKED_X)
#undef SKED_X
} sked_i_layer_offsets;
#endif
