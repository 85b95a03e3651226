/* Memory of the device: checked before it is taken. */
extern "C" {
#include "backend/backend.h"
}
#include "backend/cuda/runtime.h"

#include <assert.h>

void *sked_i_cuda_arena_cut(sked_i_cuda_arena *arena, size_t bytes)
{
    enum { step = 256 };
    void *piece = arena->at != NULL ? arena->at + arena->used : NULL;
    arena->used += (bytes + step - 1) / step * step;
    assert(arena->at == NULL || arena->used <= arena->size); /* the same pieces as when they were counted */
    return piece;
}

size_t sked_i_cuda_free_bytes(void)
{
    const size_t reserve = (size_t)64 << 20; /* what the driver takes for kernels and their stacks */
    size_t left = 0, total = 0;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess)
        return 0;
    return left > reserve ? left - reserve : 0;
}

sked_status sked_i_cuda_place(sked_error *err)
{
    sked_status st = SKED_OK;
    int devices = 1;
    if (sked_i_backend_place() == 0) /* the caller's own choice of a device stays */
        return SKED_OK;
    CUDA_TRY(cudaGetDeviceCount(&devices));
    CUDA_TRY(cudaSetDevice(sked_i_backend_place() % devices));
cleanup:
    return st;
}

#ifdef __CUDACC__
bool sked_i_cuda_chains(void)
{
    static int major; /* of the compute capability; all GPUs of a machine are taken as alike */
    int device = 0, known = __atomic_load_n(&major, __ATOMIC_RELAXED);
    if (known == 0 && cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetAttribute(&known, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess)
        __atomic_store_n(&major, known, __ATOMIC_RELAXED);
    return known >= 9;
}
#endif

sked_status sked_i_cuda_arena_open(sked_i_cuda_arena *arena, const char *what, sked_error *err)
{
    sked_status st = sked_i_cuda_place(err);
    if (st != SKED_OK)
        return st;
    const size_t left = sked_i_cuda_free_bytes(), need = arena->used;
    if (need > left)
        return sked_i_fail(err, SKED_ERR_DEVICE, "CUDA: %s needs %.1f MB of device memory, %.1f MB are free",
                           what, (double)need * 1e-6, (double)left * 1e-6);
    CUDA_TRY(cudaMalloc((void **)&arena->at, need > 0 ? need : 1));
    arena->size = need;
    arena->used = 0;
cleanup:
    return st;
}

void sked_i_cuda_arena_close(sked_i_cuda_arena *arena)
{
    cudaFree(arena->at);
    *arena = (sked_i_cuda_arena){};
}
