#include "method/gflownet/loss.h"

void sked_i_loss_look_log_z(const sked_i_instance *x, double temperature, sked_i_log_z_input *out)
{
    *out = (sked_i_log_z_input){.list = sked_i_loss_log_reward(x, temperature, 1),
                                .kappa = sked_i_instance_kappa(x, temperature),
                                .ops = x->n};
    for (int64_t i = 0; i < x->n; i++)
        for (int k = 0; k < SKED_I_STATIC_FEATURES; k++)
            out->feature[k] += x->feature[i * SKED_I_STATIC_FEATURES + k] / x->n;
    sked_i_instance_heat(x, temperature, out->feature + SKED_I_STATIC_FEATURES);
}
