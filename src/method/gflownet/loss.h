/* What trajectory balance has to know of a lesson beside its trajectories. */
#ifndef SKED_METHOD_GFLOWNET_LOSS_H
#define SKED_METHOD_GFLOWNET_LOSS_H
#include "backend/loss.h"
#include "method/gflownet/instance.h"
#include "method/gflownet/network/log_z.h"

/* What the head of log Z is told of a lesson. */
void sked_i_log_z_look(const sked_i_instance *x, double temperature, sked_i_log_z_input *out);
#endif
