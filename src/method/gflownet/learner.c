/* The table of learners. */
#include "method/gflownet/learner.h"

#include "backend/backend.h"

#include <string.h>

static const sked_i_sampler_learner_kind *const kinds[] = {
    &sked_i_sampler_learner_cpu,
    &sked_i_sampler_learner_cuda,
    &sked_i_sampler_learner_stepwise,
};
enum { n_kinds = sizeof kinds / sizeof *kinds };

static const sked_i_sampler_learner_kind *find(const char *backend, const sked_i_layout *layout)
{
    for (int k = 0; k < n_kinds; k++)
        if (strcmp(kinds[k]->backend, backend) == 0 && kinds[k]->serves(layout))
            return kinds[k];
    return NULL;
}

sked_status sked_i_sampler_learner_choose(const char *backend, const sked_i_layout *layout,
                                          const sked_i_sampler_learner_settings *how,
                                          const sked_i_sampler_learner_kind **out, sked_error *err)
{
    const sked_i_backend *chosen;
    const sked_i_sampler_learner_kind *cuda = find("cuda", layout);
    const bool worth = cuda != NULL && cuda->worth != NULL && cuda->worth(layout, how);
    const sked_status st = sked_i_backend_choose(backend, worth, &chosen, err);
    if (st != SKED_OK)
        return st;
    const sked_i_sampler_learner_kind *kind = find(chosen->name, layout);
    if (kind == NULL)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "the %s backend does not train this policy; use the cpu backend", chosen->name);
    *out = kind;
    return SKED_OK;
}

void sked_i_sampler_learner_destroy(sked_i_sampler_learner *l)
{
    if (l != NULL)
        l->kind->destroy(l);
}
