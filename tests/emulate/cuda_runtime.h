/*
 * CUDA on the CPU, for tests on machines without a GPU: the kernels of src/backend/cuda are compiled as plain
 * C++ with this header in the place of NVIDIA's. Every thread of a block is a fiber; blocks run one after the
 * other. Threads and blocks run in ascending order in one launch and in descending order in the next, so that
 * a missing barrier shows. It says nothing about speed, and races between blocks do not show. With
 * SKED_EMULATE_LATE in the environment, kernels and asynchronous copies of a stream run when somebody waits
 * for it, so that memory that is freed or written too early shows.
 *
 * Written here because the emulators there are want a compiler of their own; the part of CUDA that we use is
 * small.
 */
#ifndef SKED_TESTS_EMULATE_CUDA_RUNTIME_H
#define SKED_TESTS_EMULATE_CUDA_RUNTIME_H
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __constant__    static
#define __shared__      static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __grid_constant__

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
typedef dim3 uint3;
#define SKED_EMULATE_VECTORS(type, name)                                 \
    struct name##2                                                       \
    {                                                                    \
        type x, y;                                                       \
    };                                                                   \
    struct alignas(4 * sizeof(type)) name##4                             \
    {                                                                    \
        type x, y, z, w;                                                 \
    };                                                                   \
    static inline name##2 make_##name##2(type x, type y)                 \
    {                                                                    \
        return {x, y};                                                   \
    }                                                                    \
    static inline name##4 make_##name##4(type x, type y, type z, type w) \
    {                                                                    \
        return {x, y, z, w};                                             \
    }
SKED_EMULATE_VECTORS(float, float)
SKED_EMULATE_VECTORS(double, double)
SKED_EMULATE_VECTORS(int, int)
SKED_EMULATE_VECTORS(unsigned, uint)

/* ------------------------------------------------------------------ calls of the host */

typedef enum cudaError {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorNoDevice,
    cudaErrorNotReady,
    cudaErrorStreamCaptureUnsupported
} cudaError_t;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributePreferredSharedMemoryCarveout
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum {
    cudaStreamDefault = 0,
    cudaStreamNonBlocking = 1,
    cudaEventDefault = 0,
    cudaEventDisableTiming = 2,
    cudaHostAllocDefault = 0
};
typedef struct sked_emulate_stream *cudaStream_t;
typedef struct sked_emulate_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct sked_emulate_event *cudaEvent_t;
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int multiProcessorCount, major, minor;
};

cudaError_t cudaMalloc(void **out, size_t bytes);
template <class T> cudaError_t cudaMalloc(T **out, size_t bytes)
{
    return cudaMalloc((void **)out, bytes);
}
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **out, size_t bytes);
template <class T> cudaError_t cudaMallocHost(T **out, size_t bytes)
{
    return cudaMallocHost((void **)out, bytes);
}
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *at, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream = nullptr);
/* Free memory: what SKED_EMULATE_MEMORY says in bytes (4 GiB without it), less what is taken. */
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
/* Shared memory of a block: what SKED_EMULATE_SHARED says in bytes, 200 KiB without it. */
cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
template <class K> cudaError_t cudaFuncSetAttribute(K, cudaFuncAttribute, int)
{
    return cudaSuccess;
}
template <class K> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int, size_t)
{
    *blocks = 2;
    return cudaSuccess;
}

/* ------------------------------------------------------------------ inside a kernel */

extern dim3 gridDim, blockDim;
extern uint3 blockIdx, threadIdx;
enum { warpSize = 32 };

namespace sked_emulate
{
void launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, std::function<void()> thread);
void *shared_memory();
void sync_block();
/* A barrier of the threads with the same threadIdx.y; and for how many of them the predicate holds. */
void sync_row();
int count_row(int predicate);
/* Every living lane of the mask gives a word; all see those of the lanes that gave one. */
const uint64_t *sync_warp(unsigned mask, uint64_t word, unsigned *given);
int lane();
/*
 * Tensor cores: d += a b of mma.m16n8k8, every lane with its fragments. Inputs are whole floats, which shows
 * mistakes that rounding hides; with SKED_EMULATE_TF32 in the environment they lose their last 13 bits.
 */
void mma_tf32(float *d, const float *a, const float *b);
float round_tf32(float x);

template <class T> T exchange(unsigned mask, T value, int from)
{
    static_assert(sizeof(T) <= 8, "a word");
    uint64_t word = 0;
    unsigned given;
    memcpy(&word, &value, sizeof value);
    const uint64_t *all = sync_warp(mask, word, &given);
    if (from >= 0 && from < 32 && given >> from & 1)
        memcpy(&value, &all[from], sizeof value);
    return value;
}
/* Lanes are numbered within pieces of `width`; one outside keeps its own value. */
static inline int source(int from, int width)
{
    return (lane() & ~(width - 1)) + from;
}
} // namespace sked_emulate

/* Arguments are taken now, as CUDA does, whenever the kernel runs. */
#define SKED_LAUNCH(kernel, grid, block, shared, stream, ...) \
    sked_emulate::launch(grid, block, shared, stream, std::bind(kernel, __VA_ARGS__))
#define SKED_DYNAMIC_SHARED(type, name) type *name = (type *)sked_emulate::shared_memory()

static inline void __syncthreads()
{
    sked_emulate::sync_block();
}
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    unsigned given;
    sked_emulate::sync_warp(mask, 0, &given);
}
static inline void __threadfence()
{
}
static inline void __threadfence_block()
{
}
static inline unsigned __activemask()
{
    return 0xffffffffu;
}
template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    return sked_emulate::exchange(mask, value, sked_emulate::source(from & (width - 1), width));
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    const int from = (sked_emulate::lane() & (width - 1)) ^ bits;
    return sked_emulate::exchange(mask, value, from < width ? sked_emulate::source(from, width) : -1);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const int from = (sked_emulate::lane() & (width - 1)) + (int)by;
    return sked_emulate::exchange(mask, value, from < width ? sked_emulate::source(from, width) : -1);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const int from = (sked_emulate::lane() & (width - 1)) - (int)by;
    return sked_emulate::exchange(mask, value, from >= 0 ? sked_emulate::source(from, width) : -1);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    unsigned given, bits = 0;
    const uint64_t *all = sked_emulate::sync_warp(mask, predicate != 0, &given);
    for (int k = 0; k < 32; k++)
        bits |= (given >> k & 1) && all[k] ? 1u << k : 0u;
    return bits;
}
static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}
/* Block-wide votes: two barriers around a word that every thread adds to. */
int __syncthreads_or(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_count(int predicate);

template <class T> T atomicAdd(T *at, T value)
{
    const T before = *at;
    *at = before + value;
    return before;
}
template <class T> T atomicMax(T *at, T value)
{
    const T before = *at;
    *at = before > value ? before : value;
    return before;
}
template <class T> T atomicMin(T *at, T value)
{
    const T before = *at;
    *at = before < value ? before : value;
    return before;
}
template <class T> T atomicOr(T *at, T value)
{
    const T before = *at;
    *at = before | value;
    return before;
}
template <class T> T atomicAnd(T *at, T value)
{
    const T before = *at;
    *at = before & value;
    return before;
}
template <class T> T atomicExch(T *at, T value)
{
    const T before = *at;
    *at = value;
    return before;
}
template <class T> T atomicCAS(T *at, T expected, T value)
{
    const T before = *at;
    if (before == expected)
        *at = value;
    return before;
}

template <class T> T __ldg(const T *at)
{
    return *at;
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
static inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
/* The C library has functions of these names inside. */
#define __expf(x) expf(x)
#define __logf(x) logf(x)
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __frcp_rn(float x)
{
    return 1 / x;
}
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
static inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}
static inline double normcdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}
template <class To, class From> To sked_emulate_bits(From x)
{
    To y;
    static_assert(sizeof x == sizeof y, "the same bits");
    memcpy(&y, &x, sizeof y);
    return y;
}
#define __float_as_int(x)       sked_emulate_bits<int, float>(x)
#define __float_as_uint(x)      sked_emulate_bits<unsigned, float>(x)
#define __int_as_float(x)       sked_emulate_bits<float, int>(x)
#define __uint_as_float(x)      sked_emulate_bits<float, unsigned>(x)
#define __double_as_longlong(x) sked_emulate_bits<long long, double>(x)
#define __longlong_as_double(x) sked_emulate_bits<double, long long>(x)
/* In CUDA these take numbers of one type; here as there mixed ones of the same kind do no harm. */
template <class T> static inline T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T> static inline T max(T a, T b)
{
    return a < b ? b : a;
}
#endif
