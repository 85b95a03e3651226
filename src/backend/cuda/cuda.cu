/* The table of this backend, and whether this machine can use it. */
extern "C" {
#include "backend/backend.h"
}

#include "backend/cuda/gflownet_model.h"
#include "backend/cuda/runtime.h"

extern "C" {

static sked_status available(sked_error *err)
{
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess)
        return sked_i_cuda_fail(code, "no usable GPU", err);
    if (devices == 0)
        return sked_i_fail(err, SKED_ERR_DEVICE, "CUDA: this machine has no GPU");
    return sked_i_cuda_place(err);
}

/* The first call makes the context; where it fails, the next one says why. */
static void wake(void)
{
    if (sked_i_cuda_place(NULL) == SKED_OK)
        (void)cudaFree(NULL);
}

extern const sked_i_backend sked_i_backend_cuda;
const sked_i_backend sked_i_backend_cuda = {
    "cuda", available, wake, &sked_i_gaus_descent_cuda, NULL, &sked_i_once_cuda, &sked_i_stepwise_cuda};
}
