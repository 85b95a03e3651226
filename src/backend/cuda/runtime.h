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
#include <initializer_list>
#include <math_constants.h>

#ifdef __CUDACC__
#define SKED_LAUNCH(kernel, grid, block, shared, stream, ...) \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define SKED_DYNAMIC_SHARED(type, name)                          \
    extern __shared__ __align__(16) unsigned char sked_shared[]; \
    type *name = (type *)sked_shared

/* Does the GPU of this process put a kernel on its multiprocessors before the one before has ended? */
bool sked_i_cuda_chains(void);
/*
 * As SKED_LAUNCH, for a chain of short kernels: the threads of this one may wait on their multiprocessors
 * while the one before still runs, so that a launch costs less (on GPUs from compute capability 9 on). Every
 * kernel launched so begins with SKED_CHAIN(), behind which the work of all before it is seen.
 */
#define SKED_LAUNCH_CHAINED(kernel, grid, block, shared, stream, ...)                        \
    do {                                                                                     \
        cudaLaunchAttribute early_ = {};                                                     \
        early_.id = cudaLaunchAttributeProgrammaticStreamSerialization;                      \
        early_.val.programmaticStreamSerializationAllowed = 1;                               \
        cudaLaunchConfig_t config_ = {grid, block, shared, stream, &early_, 0};              \
        config_.numAttrs = sked_i_cuda_chains() ? 1 : 0;                                     \
        (void)cudaLaunchKernelEx(&config_, kernel, __VA_ARGS__); /* cudaGetLastError says */ \
    } while (0)
__device__ static inline void sked_i_cuda_chain(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}
#define SKED_CHAIN() sked_i_cuda_chain()
#else
#define SKED_LAUNCH_CHAINED SKED_LAUNCH
#define SKED_CHAIN()        ((void)0)
#endif

/* Blocks of which each takes so many. */
static inline unsigned sked_i_blocks_of(int64_t count, int64_t each)
{
    return (unsigned)((count + each - 1) / each);
}

/* The sum over the lanes of a warp, in all of them. */
template <class T> __device__ static inline T sked_i_warp_sum(T x)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, by);
    return x;
}

static inline sked_status sked_i_cuda_fail(cudaError_t code, const char *what, sked_error *err)
{
    return sked_i_fail(err, SKED_ERR_DEVICE, "CUDA: %s: %s", what, cudaGetErrorString(code));
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

/*
 * The calling thread works on the GPU of this process (sked_i_backend_place). sked_i_backend's available and
 * the opening of an arena call it: every thread does one of them first. arena.cu
 */
sked_status sked_i_cuda_place(sked_error *err);

/*
 * Device memory in one piece, cut from the front: first count what is needed with `at` NULL, then open, then
 * cut the same pieces again. DEVICE where less is free, with what is asked for and what there is; nothing is
 * taken then.
 */
typedef struct sked_i_cuda_arena {
    char *at;
    size_t size, used;
} sked_i_cuda_arena;
sked_status sked_i_cuda_arena_open(sked_i_cuda_arena *arena, const char *what, sked_error *err);
void sked_i_cuda_arena_close(sked_i_cuda_arena *arena);
/* The next piece, at a multiple of 256 bytes; NULL while counting. */
void *sked_i_cuda_arena_cut(sked_i_cuda_arena *arena, size_t bytes);
/* The same for a type: sked_i_cut<float>(arena, n). */
template <class T> static inline T *sked_i_cut(sked_i_cuda_arena *arena, int64_t count)
{
    return (T *)sked_i_cuda_arena_cut(arena, (size_t)count * sizeof(T));
}
template <class T>
static inline void sked_i_cut_all(sked_i_cuda_arena *arena, int64_t count, std::initializer_list<T **> all)
{
    for (T **at : all)
        *at = sked_i_cut<T>(arena, count);
}
/* Bytes that may be taken now: a little is left to others. */
size_t sked_i_cuda_free_bytes(void);
#endif
