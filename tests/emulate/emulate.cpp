/* Fibers for the threads of a block, and the calls of the host (cuda_runtime.h). */
#include "cuda_runtime.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

dim3 gridDim, blockDim;
uint3 blockIdx, threadIdx;

static void die(const char *why)
{
    fprintf(stderr, "emulated CUDA: %s (block %u, thread %u)\n", why, blockIdx.x, threadIdx.x);
    abort();
}

/* ------------------------------------------------------------------ fibers */

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
/* Registers that a call must keep, and the stack: all that a switch between fibers is. */
struct context {
    void *stack;
};
extern "C" void sked_emulate_switch(void **from, void *to);
__asm__(".text\n"
        ".globl sked_emulate_switch\n"
        ".type sked_emulate_switch,@function\n"
        "sked_emulate_switch:\n"
        "  endbr64\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size sked_emulate_switch,.-sked_emulate_switch\n");
static void context_switch(context *from, context *to)
{
    sked_emulate_switch(&from->stack, to->stack);
}
static void context_make(context *c, char *stack, size_t bytes, void (*entry)())
{
    void **top = (void **)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);
    *--top = nullptr; /* where entry would return to: it does not */
    *--top = (void *)entry;
    top -= 6;
    memset(top, 0, 6 * sizeof *top);
    c->stack = top;
}
#else
struct context {
    ucontext_t u;
};
static void context_switch(context *from, context *to)
{
    swapcontext(&from->u, &to->u);
}
static void context_make(context *c, char *stack, size_t bytes, void (*entry)())
{
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack;
    c->u.uc_stack.ss_size = bytes;
    c->u.uc_link = nullptr;
    makecontext(&c->u, entry, 0);
}
#endif

enum state { RUNS, AT_BLOCK, AT_ROW, AT_WARP, OVER };
struct fiber {
    context at;
    uint3 index;
    state what;
    unsigned mask; /* AT_WARP */
};
struct warp {
    uint64_t word[32], seen[32];
    unsigned given;
};
enum { STACK = 128 << 10, MOST = 1024 };

static std::recursive_mutex lock; /* one launch at a time */
static fiber fibers[MOST];
static warp warps[MOST / 32];
static char *stacks;
static int n_fibers, current;
static context scheduler;
static const std::function<void()> *body;
static std::vector<char> dynamic_shared;
static int votes, row_votes[MOST];
static unsigned launches;
static bool tf32; /* tensor cores take inputs of 10 bits */

static void wait_as(state what)
{
    fibers[current].what = what;
    context_switch(&fibers[current].at, &scheduler);
}

static void enter()
{
    (*body)();
    wait_as(OVER);
}

/* true: all that live and were waited for are there, and go on. */
static bool release_block()
{
    bool any = false;
    for (int i = 0; i < n_fibers; i++) {
        if (fibers[i].what != AT_BLOCK && fibers[i].what != OVER)
            return false;
        any |= fibers[i].what == AT_BLOCK;
    }
    for (int i = 0; i < n_fibers && any; i++)
        if (fibers[i].what == AT_BLOCK)
            fibers[i].what = RUNS;
    return any;
}

static bool release_row(int y)
{
    const int first = y * (int)blockDim.x, end = first + (int)blockDim.x;
    bool any = false;
    for (int i = first; i < end; i++) {
        if (fibers[i].what != AT_ROW && fibers[i].what != OVER)
            return false;
        any |= fibers[i].what == AT_ROW;
    }
    for (int i = first; i < end && any; i++)
        if (fibers[i].what == AT_ROW)
            fibers[i].what = RUNS;
    return any;
}

static bool release_warp(int w)
{
    const int first = 32 * w, end = first + 32 < n_fibers ? first + 32 : n_fibers;
    for (int i = first; i < end; i++) {
        if (fibers[i].what != AT_WARP)
            continue;
        unsigned there = 0;
        bool complete = true;
        for (int k = first; k < end; k++) {
            if (!(fibers[i].mask >> (k - first) & 1) || fibers[k].what == OVER)
                continue;
            complete &= fibers[k].what == AT_WARP && fibers[k].mask == fibers[i].mask;
            there |= 1u << (k - first);
        }
        if (!complete)
            continue;
        warps[w].given = there;
        memcpy(warps[w].seen, warps[w].word, sizeof warps[w].word);
        for (int k = first; k < end; k++)
            if (there >> (k - first) & 1)
                fibers[k].what = RUNS;
        return true;
    }
    return false;
}

static bool release()
{
    bool any = release_block();
    for (int y = 0; y < n_fibers / (int)blockDim.x; y++)
        any |= release_row(y);
    for (int w = 0; w < (n_fibers + 31) / 32; w++)
        any |= release_warp(w);
    return any;
}

static void go_on(int i)
{
    current = i;
    threadIdx = fibers[i].index;
    context_switch(&scheduler, &fibers[i].at);
}

static void run_block(bool descending)
{
    int left = n_fibers;
    for (int i = 0; i < n_fibers; i++) {
        const unsigned t = (unsigned)i, x = blockDim.x, y = blockDim.y;
        fibers[i].index = uint3(t % x, t / x % y, t / (x * y));
        fibers[i].what = RUNS;
        context_make(&fibers[i].at, stacks + (size_t)i * STACK, STACK, enter);
    }
    while (left > 0) {
        for (int k = 0; k < n_fibers; k++) {
            const int i = descending ? n_fibers - 1 - k : k;
            if (fibers[i].what != RUNS)
                continue;
            go_on(i);
            left -= fibers[i].what == OVER;
        }
        if (left > 0 && !release())
            die("threads wait for others that never come");
    }
}

static void run_grid(dim3 grid, dim3 block, size_t shared, const std::function<void()> &thread)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (stacks == nullptr)
        stacks = (char *)mmap(nullptr, (size_t)MOST * STACK, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool descending = launches++ % 2 == 1;
    tf32 = getenv("SKED_EMULATE_TF32") != nullptr;
    const int64_t blocks = (int64_t)grid.x * grid.y * grid.z;
    n_fibers = (int)(block.x * block.y * block.z);
    if (n_fibers < 1 || n_fibers > MOST || blocks < 1)
        die("a launch of no threads, or of too many in a block");
    gridDim = grid;
    blockDim = block;
    body = &thread;
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t b = descending ? blocks - 1 - k : k;
        blockIdx =
            uint3((unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y), (unsigned)(b / grid.x / grid.y));
        dynamic_shared.assign(shared + 16, (char)0xa5); /* what was not written is not 0 */
        run_block(descending);
    }
}

void *sked_emulate::shared_memory()
{
    return (void *)(((uintptr_t)dynamic_shared.data() + 15) & ~(uintptr_t)15);
}

void sked_emulate::sync_block()
{
    wait_as(AT_BLOCK);
}

void sked_emulate::sync_row()
{
    wait_as(AT_ROW);
}

int sked_emulate::count_row(int predicate)
{
    int *const mine = &row_votes[threadIdx.y];
    if (threadIdx.x == 0)
        *mine = 0;
    sync_row();
    *mine += predicate != 0;
    sync_row();
    const int result = *mine;
    sync_row();
    return result;
}

int sked_emulate::lane()
{
    return current % 32;
}

const uint64_t *sked_emulate::sync_warp(unsigned mask, uint64_t word, unsigned *given)
{
    warp *w = &warps[current / 32];
    if (!(mask >> lane() & 1))
        die("a lane calls a warp function whose mask leaves it out");
    w->word[lane()] = word;
    fibers[current].mask = mask;
    wait_as(AT_WARP);
    *given = w->given;
    return w->seen;
}

static float cut_tf32(float x)
{
    return tf32 ? __uint_as_float(__float_as_uint(x) & ~0x1fffu) : x;
}

float sked_emulate::round_tf32(float x)
{
    return tf32 ? __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu) : x;
}

void sked_emulate::mma_tf32(float *d, const float *a, const float *b)
{
    static float box[MOST][6];
    float(*mine)[6] = box + current / 32 * 32;
    const int g = lane() / 4, t = lane() % 4;
    for (int k = 0; k < 6; k++)
        mine[lane()][k] = cut_tf32(k < 4 ? a[k] : b[k - 4]);
    __syncwarp();
    for (int c = 0; c < 4; c++) {
        const int row = g + c / 2 * 8, column = 2 * t + c % 2;
        for (int k = 0; k < 8; k++)
            d[c] += mine[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2] * mine[column * 4 + k % 4][4 + k / 4];
    }
    __syncwarp();
}

static int vote(int predicate)
{
    if (current == 0)
        votes = 0;
    __syncthreads();
    votes += predicate != 0;
    __syncthreads();
    const int result = votes;
    __syncthreads();
    return result;
}
int __syncthreads_count(int predicate)
{
    return vote(predicate);
}
int __syncthreads_or(int predicate)
{
    return vote(predicate) > 0;
}
int __syncthreads_and(int predicate)
{
    return vote(!predicate) == 0;
}

/* ------------------------------------------------------------------ streams and graphs */

typedef std::vector<std::function<void()>> work;
struct sked_emulate_graph {
    work steps;
};
struct sked_emulate_stream {
    bool capturing;
    work steps; /* of the capture, or those that wait */
};
struct sked_emulate_event {
    std::chrono::steady_clock::time_point at;
};
static std::set<cudaStream_t> streams;

/* Work of a stream that was put off. */
static void catch_up(cudaStream_t stream)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    work now;
    if (stream == nullptr || stream->capturing)
        return;
    now.swap(stream->steps);
    for (const auto &step : now)
        step();
}

static void catch_up_all()
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    for (cudaStream_t stream : streams)
        catch_up(stream);
}

/* At once, or with SKED_EMULATE_LATE as late as CUDA may: when somebody waits for it. */
static void submit(cudaStream_t stream, std::function<void()> step)
{
    if (stream != nullptr && (stream->capturing || getenv("SKED_EMULATE_LATE") != nullptr))
        stream->steps.push_back(std::move(step));
    else
        step();
}

void sked_emulate::launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                          std::function<void()> thread)
{
    submit(stream, [=]() { run_grid(grid, block, shared, thread); });
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    *out = new sked_emulate_stream();
    streams.insert(*out);
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    return cudaStreamCreate(out);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    catch_up(stream);
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream != nullptr && stream->capturing)
        return cudaErrorStreamCaptureUnsupported;
    catch_up(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
    catch_up_all();
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    catch_up(stream);
    stream->capturing = true;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    *out = new sked_emulate_graph{stream->steps};
    stream->steps.clear();
    stream->capturing = false;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    *out = new sked_emulate_graph(*graph);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    for (const auto &step : graph->steps)
        submit(stream, step);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    *out = new sked_emulate_event();
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
    return cudaEventCreate(out);
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    event->at = std::chrono::steady_clock::now();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    catch_up_all();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t)
{
    catch_up_all();
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return cudaSuccess;
}

/* ------------------------------------------------------------------ memory and the device */

struct piece {
    size_t bytes;
    bool pages;
};
static std::map<void *, piece> taken;
static size_t in_use;

static size_t total_memory()
{
    const char *text = getenv("SKED_EMULATE_MEMORY");
    return text != nullptr ? (size_t)strtoull(text, nullptr, 10) : (size_t)4 << 30;
}

static size_t shared_most()
{
    const char *text = getenv("SKED_EMULATE_SHARED");
    return text != nullptr ? (size_t)strtoull(text, nullptr, 10) : (size_t)200 << 10;
}

/* With SKED_EMULATE_LATE freed pages stay out of reach, so that work that comes after it ends the program. */
static void *take_pages(size_t bytes)
{
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

/* Not 0, so that reading what was never written shows. */
cudaError_t cudaMalloc(void **out, size_t bytes)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    const bool late = getenv("SKED_EMULATE_LATE") != nullptr;
    if (in_use + bytes > total_memory())
        return cudaErrorMemoryAllocation;
    *out = late ? take_pages(bytes ? bytes : 1) : malloc(bytes ? bytes : 1);
    if (*out == nullptr)
        return cudaErrorMemoryAllocation;
    memset(*out, 0xa5, bytes);
    taken[*out] = {bytes, late};
    in_use += bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void *p)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (p == nullptr)
        return cudaSuccess;
    const auto it = taken.find(p);
    if (it == taken.end())
        return cudaErrorInvalidValue;
    in_use -= it->second.bytes;
    if (it->second.pages)
        mmap(p, it->second.bytes ? it->second.bytes : 1, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    else
        free(p);
    taken.erase(it);
    return cudaSuccess;
}
static std::map<const char *, size_t> pinned; /* memory of the host that copies need not go around */

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    *out = malloc(bytes ? bytes : 1);
    if (*out == nullptr)
        return cudaErrorMemoryAllocation;
    pinned[(const char *)*out] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void *p)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    pinned.erase((const char *)p);
    free(p);
    return cudaSuccess;
}
static bool is_pinned(const void *p)
{
    const std::lock_guard<std::recursive_mutex> held(lock);
    const auto after = pinned.upper_bound((const char *)p);
    return after != pinned.begin() && (const char *)p < std::prev(after)->first + std::prev(after)->second;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}
/* As CUDA: what is not pinned is read before this returns, and written before it does. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) {
        const std::vector<char> staged((const char *)from, (const char *)from + bytes);
        submit(stream, [=]() { memcpy(to, staged.data(), bytes); });
        return cudaSuccess;
    }
    submit(stream, [=]() { memcpy(to, from, bytes); });
    if (kind == cudaMemcpyDeviceToHost && !is_pinned(to))
        catch_up(stream);
    return cudaSuccess;
}
cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
    memset(at, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
    submit(stream, [=]() { memset(at, value, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = total_memory();
    *free_bytes = *total > in_use ? *total - in_use : 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int)
{
    *out = cudaDeviceProp{"emulated", total_memory(), shared_most(), 4, 9, 0};
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr attribute, int)
{
    *out = attribute == cudaDevAttrMultiProcessorCount ? 4 : (int)shared_most();
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize()
{
    catch_up_all();
    return cudaSuccess;
}
cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
cudaError_t cudaPeekAtLastError()
{
    return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t code)
{
    static const char *const text[] = {"no error",      "invalid argument",
                                       "out of memory", "no device is detected",
                                       "not yet ready", "not permitted while a stream is captured"};
    return text[code];
}
