/*
 * What the CUDA sources share: NVIDIA's header (or that of tests/emulate), launches, errors. Only they
 * include it.
 *
 * Kernels are launched with SKED_LAUNCH and take shared memory of a size known at run time with
 * SKED_DYNAMIC_SHARED, so that a plain C++ compiler with the emulator reads the same sources.
 */
#ifndef SKED_BACKEND_CUDA_RUNTIME_H
#define SKED_BACKEND_CUDA_RUNTIME_H
extern "C" {
#include "base/status.h"
}

#include <cuda_runtime.h>
#include <math_constants.h>

#ifdef __CUDACC__
#define SKED_LAUNCH(kernel, grid, block, shared, stream, ...) \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define SKED_DYNAMIC_SHARED(type, name)                          \
    extern __shared__ __align__(16) unsigned char sked_shared[]; \
    type *name = (type *)sked_shared
#endif

static inline sked_status sked_i_cuda_fail(cudaError_t code, const char *what, sked_error *err)
{
    const sked_status status = code == cudaErrorMemoryAllocation ? SKED_ERR_MEMORY : SKED_ERR_DEVICE;
    return sked_i_fail(err, status, "CUDA: %s: %s", what, cudaGetErrorString(code));
}

/* As SKED_TRY, for CUDA's own calls: to `cleanup` with st and err set. */
#define CUDA_TRY(call)                                \
    do {                                              \
        const cudaError_t code_ = (call);             \
        if (code_ != cudaSuccess) {                   \
            st = sked_i_cuda_fail(code_, #call, err); \
            goto cleanup;                             \
        }                                             \
    } while (0)
#endif
