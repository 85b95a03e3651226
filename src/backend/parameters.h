/*
 * The parameters of a policy of gflownet by name, and the sizes they follow from: one list, from which the
 * layout of a model and its shape on a GPU come.
 */
#ifndef SKED_BACKEND_PARAMETERS_H
#define SKED_BACKEND_PARAMETERS_H
#include <stdint.h>

enum {
    SKED_I_STATIC_FEATURES = 16, /* of an op: engine/environment/instance.c */
    SKED_I_HEAT_FEATURES = 5,    /* of temperature and machine: the same */
    SKED_I_WAIT_FEATURES = 3,    /* of an unscheduled op */
    SKED_I_LAST_FEATURES = 3,    /* of a device that has run something */
    SKED_I_STATE_FEATURES = 12,  /* of the whole partial schedule */
    SKED_I_BACK_FEATURES = 2,    /* of the same, for a learned backward policy */
    SKED_I_DIRECT_FEATURES = 10, /* of a pair, straight to its logit */
    SKED_I_STEP_FEATURES = 6,    /* of an op in a partial schedule, beside its device: stepwise.c */
    SKED_I_MAX_LAYERS = 16,
    SKED_I_AHEAD = 4,          /* successors of an op that are looked at: engine/environment/ahead.h */
    SKED_I_CHOICE_OPS = 64,    /* encode-once: ops among which a step chooses, at most */
    SKED_I_CHOICE_DEVICES = 16 /* and devices in use, and kinds with an empty device */
};

/* encode-once starts as list scheduling: earliest start and finish first, then the longest path to the end,
 * over the successors, too, where data takes time. once_walk.c has the features. */
#define SKED_I_LIST_RULE                                   \
    {                                                      \
        -2, -0.5f, -0.1f, -0.2f, 0, -0.2f, -0.2f, 0, -2, 0 \
    }

/* Sizes: name, default, least, most, help. All but layers are multiples of 8. */
#define SKED_I_SIZE_LIST(X)                                                         \
    X(dim, 64, 8, 1024, "width of the encoder")                                     \
    X(layers, 3, 1, SKED_I_MAX_LAYERS, "layers of the encoder")                     \
    X(head, 16, 8, 256, "width of an attention head")                               \
    X(mlp, 128, 8, 4096, "hidden width of the encoder's MLPs")                      \
    X(temperature, 32, 8, 512, "width of the embedding of temperature and machine") \
    X(context, 64, 8, 1024, "encode-once: width of the pooled state")               \
    X(width, 64, 8, 1024, "hidden width of the scorer of (op, device)")             \
    X(slots, 8, 8, 256, "stepwise: the most devices a problem may have")

/* name, rows, columns, initial. `s` is the sizes. Weights are [in, out]. */
#define SKED_I_LAYER_PARAMETERS(X)                 \
    X(norm1_gain, 1, s->dim, ONE)                  \
    X(norm1_bias, 1, s->dim, ZERO)                 \
    X(qkv_weight, s->dim, 3 * 7 * s->head, NORMAL) \
    X(qkv_bias, 1, 3 * 7 * s->head, ZERO)          \
    X(merge_weight, 7 * s->head, s->dim, NORMAL)   \
    X(merge_bias, 1, s->dim, ZERO)                 \
    X(norm2_gain, 1, s->dim, ONE)                  \
    X(norm2_bias, 1, s->dim, ZERO)                 \
    X(mlp1_weight, s->dim, s->mlp, NORMAL)         \
    X(mlp1_bias, 1, s->mlp, ZERO)                  \
    X(scale_weight, s->temperature, s->mlp, SMALL) \
    X(scale_bias, 1, s->mlp, ONE)                  \
    X(shift_weight, s->temperature, s->mlp, SMALL) \
    X(shift_bias, 1, s->mlp, ZERO)                 \
    X(mlp2_weight, s->mlp, s->dim, NORMAL)         \
    X(mlp2_bias, 1, s->dim, ZERO)

/* Of both policies; `inputs` is the number of features of an op. */
#define SKED_I_ENCODER_PARAMETERS(X)                              \
    X(input_weight, inputs, s->dim, NORMAL)                       \
    X(input_bias, 1, s->dim, ZERO)                                \
    X(heat1_weight, SKED_I_HEAT_FEATURES, s->temperature, NORMAL) \
    X(heat1_bias, 1, s->temperature, ZERO)                        \
    X(heat2_weight, s->temperature, s->temperature, NORMAL)       \
    X(heat2_bias, 1, s->temperature, ZERO)                        \
    X(final_gain, 1, s->dim, ONE)                                 \
    X(final_bias, 1, s->dim, ZERO)

/* encode-once: the scorer of (op, device) pairs. */
#define SKED_I_ONCE_PARAMETERS(X)                                             \
    X(op_weight, s->dim, s->width, NORMAL)                                    \
    X(op_bias, 1, s->width, ZERO)                                             \
    X(wait_weight, s->dim, s->context, NORMAL)                                \
    X(wait_bias, 1, s->context, ZERO)                                         \
    X(wait_feature, SKED_I_WAIT_FEATURES, s->context, NORMAL)                 \
    X(last_weight, s->dim, s->context, NORMAL)                                \
    X(last_bias, 1, s->context, ZERO)                                         \
    X(last_feature, SKED_I_LAST_FEATURES, s->context, NORMAL)                 \
    X(empty_device, 1, s->context, NORMAL)                                    \
    X(device_weight, s->context, s->width, NORMAL)                            \
    X(state_weight, 2 * s->context + SKED_I_STATE_FEATURES, s->width, NORMAL) \
    X(pair_weight, 16, s->width, NORMAL)                                      \
    X(scale_weight, s->temperature, s->width, SMALL)                          \
    X(scale_bias, 1, s->width, ONE)                                           \
    X(shift_weight, s->temperature, s->width, SMALL)                          \
    X(shift_bias, 1, s->width, ZERO)                                          \
    X(out_weight, 1, s->width, ZERO)                                          \
    X(direct_weight, s->temperature, SKED_I_DIRECT_FEATURES, ZERO)            \
    X(direct_bias, 1, SKED_I_DIRECT_FEATURES, LIST)

/* encode-once with a learned backward policy: the scorer of removable ops. */
#define SKED_I_ONCE_BACK_PARAMETERS(X)                                     \
    X(back_device, s->context, s->width, NORMAL)                           \
    X(back_state, 2 * s->context + SKED_I_BACK_FEATURES, s->width, NORMAL) \
    X(back_bias, 1, s->width, ZERO)                                        \
    X(back_out, 1, s->width, SMALL)

/* stepwise: MLPs from an op's row to a logit per device, and to the logit of its removal. */
#define SKED_I_STEP_PARAMETERS(X)                            \
    X(forward1_weight, s->dim, s->width, NORMAL)             \
    X(forward1_bias, 1, s->width, ZERO)                      \
    X(forward_scale_weight, s->temperature, s->width, SMALL) \
    X(forward_scale_bias, 1, s->width, ONE)                  \
    X(forward_shift_weight, s->temperature, s->width, SMALL) \
    X(forward_shift_bias, 1, s->width, ZERO)                 \
    X(forward2_weight, s->width, s->slots, RULED)            \
    X(forward2_bias, 1, s->slots, ZERO)
#define SKED_I_STEP_BACK_PARAMETERS(X)                    \
    X(back1_weight, s->dim, s->width, NORMAL)             \
    X(back1_bias, 1, s->width, ZERO)                      \
    X(back_scale_weight, s->temperature, s->width, SMALL) \
    X(back_scale_bias, 1, s->width, ONE)                  \
    X(back_shift_weight, s->temperature, s->width, SMALL) \
    X(back_shift_bias, 1, s->width, ZERO)                 \
    X(back2_weight, 1, s->width, SMALL)

#define SKED_I_WHOLE_PARAMETERS(X) \
    SKED_I_ENCODER_PARAMETERS(X)   \
    SKED_I_ONCE_PARAMETERS(X)      \
    SKED_I_ONCE_BACK_PARAMETERS(X) \
    SKED_I_STEP_PARAMETERS(X)      \
    SKED_I_STEP_BACK_PARAMETERS(X)

/* Where each parameter begins in the block; -1 where this kind of policy has none such. */
typedef struct sked_i_layer_at {
#define SKED_X(name, rows, columns, initial) int64_t name;
    SKED_I_LAYER_PARAMETERS(SKED_X)
#undef SKED_X
} sked_i_layer_at;
#endif
