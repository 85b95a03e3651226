/*
 * The head of log Z that trajectory balance learns beside the policy.
 *
 * log Z differs by thousands of nats from graph to graph and from one temperature to the next, so one number
 * will not do. The head says it for a graph, machine and temperature:
 *
 *     log Z = log R(list schedule) + kappa * saved + ops * spread
 *     [saved, spread] = out_bias + max(0, hidden_bias + features . hidden_weight) . out_weight
 *
 * saved: how many mean durations good schedules end before the list schedule; spread: the logarithm of how
 * many there are, per op. Both are numbers of the order of 1 at any size and temperature. Where one graph is
 * learnt at one temperature the features are constant, and the head is a number, as published.
 *
 * It reads pooled features and not the rows of the encoder: its rate is larger than theirs and must not pull
 * on them, stepwise has no encoding of the whole graph, and so it is the same for all policies and backends.
 * Computed in double precision; it belongs to training alone.
 */
#ifndef SKED_ENGINE_NETWORK_LOG_Z_H
#define SKED_ENGINE_NETWORK_LOG_Z_H
#include "engine/network/layout.h"

enum {
    SKED_I_LOG_Z_FEATURES = SKED_I_STATIC_FEATURES + SKED_I_HEAT_FEATURES,
    SKED_I_LOG_Z_HIDDEN = 32,
    SKED_I_LOG_Z_OUT = 2
};

typedef struct sked_i_log_z_input {
    double feature[SKED_I_LOG_Z_FEATURES]; /* mean over the ops, then temperature and machine */
    double list;                           /* log R of the list schedule */
    double kappa, ops;
} sked_i_log_z_input;

enum {
    SKED_I_LOG_Z_TENSORS = 4,
    SKED_I_LOG_Z_TOTAL =
        (SKED_I_LOG_Z_FEATURES + 1) * SKED_I_LOG_Z_HIDDEN + (SKED_I_LOG_Z_HIDDEN + 1) * SKED_I_LOG_Z_OUT
};
/* In the order of the block; in files "log_z." precedes their names. */
extern const sked_i_parameter sked_i_log_z_table[SKED_I_LOG_Z_TENSORS];

/* Parameters and Adam's moments. */
typedef struct sked_i_log_z {
    float parameter[SKED_I_LOG_Z_TOTAL], moment1[SKED_I_LOG_Z_TOTAL], moment2[SKED_I_LOG_Z_TOTAL];
} sked_i_log_z;

/* Initial values: log R of the list schedule for every input. */
void sked_i_log_z_start(sked_i_log_z *z, uint64_t seed);
double sked_i_log_z_value(const sked_i_log_z *z, const sked_i_log_z_input *in);
/* The same for parameters in double precision, and dparameter += slope * its gradient. */
double sked_i_log_z_eval(const double *parameter, const sked_i_log_z_input *in);
void sked_i_log_z_grad(const double *parameter, const sked_i_log_z_input *in, double slope,
                       double *dparameter);
#endif
