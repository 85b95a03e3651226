#include "method/gflownet/loss.h"

#include <math.h>

void sked_i_advantages(int32_t count, int32_t steps, double *reward)
{
    double mean = 0, square = 0;
    for (int32_t k = 0; k < count; k++)
        mean += reward[k] / count;
    for (int32_t k = 0; k < count; k++)
        square += (reward[k] - mean) * (reward[k] - mean) / count;
    const double unit = (1 + sqrt(square)) * count * steps;
    for (int32_t k = 0; k < count; k++)
        reward[k] = (mean - reward[k]) / unit;
}

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
