/* What losses need of a lesson beside the probabilities of its trajectories. */
#ifndef SKED_METHOD_GFLOWNET_LOSS_H
#define SKED_METHOD_GFLOWNET_LOSS_H
#include "backend/loss_kind.h"
#include "engine/environment/instance.h"
#include "engine/network/log_z.h"
#include "method/gflownet/policy.h"

static inline double sked_i_loss_log_reward(const sked_i_instance *x, double temperature, double makespan)
{
    return (sked_i_instance_speedup(x, makespan) - x->devices) / temperature;
}
/* log R + log P_B - log P_F; at the optimum log Z for every trajectory. */
static inline double sked_i_loss_zeta(const sked_i_instance *x, double temperature,
                                      const sked_i_trajectory *t)
{
    return sked_i_loss_log_reward(x, temperature, t->makespan) + t->log_backward - t->log_forward;
}
/* tb: the input of the head of log Z for a lesson. */
void sked_i_loss_look_log_z(const sked_i_instance *x, double temperature, sked_i_log_z_input *out);
#endif
