/* The table of backends. */
#include "backend/backend.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

static const sked_i_backend *const backends[] = {
    &sked_i_backend_cpu,
#ifdef SKED_WITH_CUDA
    &sked_i_backend_cuda,
#endif
};
enum { n_backends = sizeof backends / sizeof *backends };

static int place_on_machine;

void sked_i_backend_set_place(int place)
{
    place_on_machine = place;
}

int sked_i_backend_place(void)
{
    return place_on_machine;
}

sked_status sked_i_backend_find(const char *name, const sked_i_backend **out, sked_error *err)
{
    assert(name != NULL);
    for (int i = 0; i < n_backends; i++) {
        if (strcmp(backends[i]->name, name) != 0)
            continue;
        const sked_status st = backends[i]->available(err);
        if (st == SKED_OK)
            *out = backends[i];
        return st;
    }
    if (strcmp(name, "cuda") == 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "this build has no CUDA (`make cuda` builds one with it); use the cpu backend");
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no backend is called '%.60s'; there are auto, cpu and cuda",
                       name);
}

sked_status sked_i_backend_choose(const char *name, bool worth, const sked_i_backend **out, sked_error *err)
{
    *out = &sked_i_backend_cpu;
    if (name != NULL && strcmp(name, "auto") != 0)
        return sked_i_backend_find(name, out, err);
#ifdef SKED_WITH_CUDA
    sked_error unused = {0};
    if (worth && sked_i_backend_cuda.available(&unused) == SKED_OK)
        *out = &sked_i_backend_cuda;
#else
    (void)worth;
#endif
    return SKED_OK;
}
