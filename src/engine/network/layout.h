/*
 * The parameters of a policy: one block of numbers, described by one table. The table decides memory,
 * initial values, checkpoint and tests alike.
 */
#ifndef SKED_ENGINE_NETWORK_LAYOUT_H
#define SKED_ENGINE_NETWORK_LAYOUT_H
#include "backend/parameters.h"
#include "base/status.h"

/* What kind of policy a model is: text in its file and in settings. */
typedef enum sked_i_policy_id { SKED_I_POLICY_ENCODE_ONCE, SKED_I_POLICY_STEPWISE } sked_i_policy_id;
#define SKED_I_POLICY_CHOICES "encode-once|stepwise"
typedef enum sked_i_backward_id { SKED_I_BACKWARD_UNIFORM, SKED_I_BACKWARD_LEARNED } sked_i_backward_id;
#define SKED_I_BACKWARD_CHOICES "uniform|learned"
/* stepwise: whether its logits are added to the rule of list scheduling (backend/list_rule.h). */
typedef enum sked_i_rule_id { SKED_I_RULE_NONE, SKED_I_RULE_LIST } sked_i_rule_id;
#define SKED_I_RULE_CHOICES "none|list"

typedef struct sked_i_sizes {
#define SKED_X(name, preset, least, most, help) int32_t name;
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    sked_i_policy_id policy;
    sked_i_backward_id backward;
    sked_i_rule_id rule;
} sked_i_sizes;
extern const sked_i_sizes sked_i_sizes_preset;

/*
 * How a parameter starts: 0, 1, normal numbers scaled by 1 / sqrt(rows), a tenth of those (or 0 beside a
 * rule), or as the rule of list scheduling.
 */
typedef enum sked_i_initial {
    SKED_I_INITIAL_ZERO,
    SKED_I_INITIAL_ONE,
    SKED_I_INITIAL_NORMAL,
    SKED_I_INITIAL_SMALL,
    SKED_I_INITIAL_RULED,
    SKED_I_INITIAL_LIST
} sked_i_initial;

typedef struct sked_i_parameter {
    char name[40]; /* "layer.0.qkv_weight" */
    int32_t rows, columns;
    sked_i_initial initial;
    int64_t offset;
} sked_i_parameter;

enum { SKED_I_MAX_PARAMETERS = 16 * SKED_I_MAX_LAYERS + 40 };

typedef struct sked_i_layout {
    sked_i_sizes sizes;
    int32_t inputs; /* features of an op */
#define SKED_X(name, rows, columns, initial) int64_t name;
    SKED_I_WHOLE_PARAMETERS(SKED_X)
#undef SKED_X
    sked_i_layer_at layer[SKED_I_MAX_LAYERS];
    sked_i_parameter table[SKED_I_MAX_PARAMETERS];
    int n_table;
    int64_t total; /* numbers in the block */
} sked_i_layout;

/* ARGUMENT where a size is out of its range or no multiple of 8. */
SKED_MUST_CHECK sked_status sked_i_layout_init(sked_i_layout *out, const sked_i_sizes *sizes,
                                               sked_error *err);
#endif
