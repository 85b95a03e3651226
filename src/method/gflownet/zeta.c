#include "method/gflownet/policy.h"

double sked_i_trajectory_zeta(const sked_i_instance *x, double temperature, const sked_i_trajectory *t)
{
    const double reward = (sked_i_instance_speedup(x, t->makespan) - x->devices) / temperature;
    return reward + t->log_backward - t->log_forward;
}
