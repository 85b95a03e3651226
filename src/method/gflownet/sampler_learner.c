#include "method/gflownet/sampler_learner.h"

#include "backend/backend.h"
#include "method/gflownet/gflownet_gpu.h"

sked_status sked_i_sampler_learner_choose(const char *backend, const sked_i_layout *layout,
                                          const sked_i_sampler_learner_settings *how,
                                          const sked_i_sampler_learner_kind **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error unused;
    const sked_i_backend *chosen;
    const bool worth = sked_i_gflownet_gpu_check(layout, &unused) == SKED_OK &&
                       sked_i_sampler_learner_gpu.worth(layout, how);
    SKED_TRY(sked_i_backend_choose(backend, worth, &chosen, err));
    if (chosen != &sked_i_backend_cpu)
        SKED_TRY(sked_i_gflownet_gpu_check(layout, err));
    *out = chosen == &sked_i_backend_cpu ? &sked_i_sampler_learner_cpu : &sked_i_sampler_learner_gpu;
cleanup:
    return st;
}

void sked_i_sampler_learner_destroy(sked_i_sampler_learner *l)
{
    if (l != NULL)
        l->kind->destroy(l);
}
