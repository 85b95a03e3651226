/* The plain backend: it judges the others. */
#include "backend/backend.h"

static sked_status available(sked_error *err)
{
    (void)err;
    return SKED_OK;
}

const sked_i_backend sked_i_backend_cpu = {.name = "cpu",
                                           .available = available,
                                           .gaus_descent = &sked_i_gaus_descent_cpu,
                                           .nn = &sked_i_kernels_cpu_f32};
