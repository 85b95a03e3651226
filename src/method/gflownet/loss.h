/*
 * What training makes small, of the trajectories of one lesson (batch.h has the formulas).
 *
 * variance: the spread of zeta (the paper's loss); no log Z is needed.
 * tb:       trajectory balance (Malkin and others 2022): the distance of zeta from a learned log Z.
 * ppo:      proximal policy optimisation (Schulman and others 2017) of the same policy on the same reward.
 */
#ifndef SKED_METHOD_GFLOWNET_LOSS_H
#define SKED_METHOD_GFLOWNET_LOSS_H
#include "method/gflownet/instance.h"
#include "method/gflownet/network/log_z.h"

/* The loss of one lesson. */
typedef struct sked_i_loss {
    sked_i_loss_id kind;
    double log_z;   /* tb: what the head says of this graph, machine and temperature */
    double clip;    /* ppo: a ratio of probabilities counts from 1 - clip to 1 + clip */
    double entropy; /* ppo: what a nat of the mean entropy of a step is worth */
} sked_i_loss;

/* What the head of log Z is told of a lesson. */
void sked_i_log_z_look(const sked_i_instance *x, double temperature, sked_i_log_z_input *out);
#endif
