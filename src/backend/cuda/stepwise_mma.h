/*
 * Matrix products of a block of threads on tensor cores: TF32 inputs (10 bits of mantissa), sums in single
 * precision. Rows lie in shared or in global memory, as they fit; the row length in memory is the number of
 * columns + 4, so that the 32 numbers of a fragment lie in 32 banks.
 *
 * Fragments of mma.m16n8k8, with g = lane / 4 and t = lane % 4:
 *     A[16, 8]: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
 *     B[8, 8]:  (t, g), (t + 4, g)
 *     C[16, 8]: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
 * A sum may run over k in any order: C becomes A without moving a number where column 2t is k = t and column
 * 2t + 1 is k = t + 4, and B is read likewise.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_MMA_H
#define SKED_BACKEND_CUDA_STEPWISE_MMA_H
#include "backend/cuda/runtime.h"

/* Weights come from far away: so many steps before they are used. */
enum { STEP_AHEAD = 4 };
enum { SKED_STEP_WARP = 32, SKED_STEP_PAD = 4, SKED_STEP_THREADS = 256 };
static const unsigned sked_step_all = 0xffffffffu;

/* To the nearest number of TF32. Inputs that are not rounded lose their last bits. */
__device__ static inline float step_round(float x)
{
#ifdef __CUDACC__
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
#else
    return sked_emulate::round_tf32(x);
#endif
}

__device__ static inline void step_mma(float (&d)[4], const float (&a)[4], float2 b)
{
#ifdef __CUDACC__
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b.x)), "r"(__float_as_uint(b.y)));
#else
    const float two[2] = {b.x, b.y};
    sked_emulate::mma_tf32(d, a, two);
#endif
}

__device__ static inline bool step_is_inside(const float *at)
{
#ifdef __CUDACC__
    return __isShared(at);
#else
    (void)at;
    return false;
#endif
}
/* The same place; where INSIDE says that it is in shared memory, so that the compiler knows it too. */
template <bool INSIDE> __device__ static inline const float *step_inside(const float *at)
{
    SKED_DYNAMIC_SHARED(float, shared);
    return INSIDE ? shared + (int)(at - shared) : at;
}

/* Rows of a matrix: row r is at + (row ? row[r] : r) * ld. */
struct step_rows {
    float *at;
    int ld;
    const int32_t *row;
    int count;
    __device__ float *operator[](int r) const
    {
        return at + (row != NULL ? row[r] : r) * ld;
    }
    /* One of them for certain: what is computed for rows behind the last is thrown away. */
    __device__ int offset(int r) const
    {
        r = r < count ? r : count - 1;
        return (row != NULL ? row[r] : r) * ld;
    }
    __device__ float *near(int r) const
    {
        return at + offset(r);
    }
};

__device__ static inline step_rows step_all_rows(float *at, int columns, int count)
{
    return step_rows{at, columns + SKED_STEP_PAD, NULL, count};
}
__device__ static inline step_rows step_picked_rows(float *at, int columns, const int32_t *row, int count)
{
    return step_rows{at, columns + SKED_STEP_PAD, row, count};
}

/* What becomes of y = x w: to = [gate > 0] relu(y + bias + onto), rounded. */
struct step_ending {
    step_rows to;
    const float *bias; /* NULL: none; so below */
    step_rows onto;
    step_rows gate;
    float *copy; /* [rows, columns] the same once more */
    int copy_ld;
    bool relu, round;
};

/* Columns c and c + 1 of row r, before the product is added. */
__device__ static inline float2 step_begin(const step_ending &e, int r, int c)
{
    float2 y = {0, 0};
    if (r >= e.to.count)
        return y;
    if (e.bias != NULL)
        y = *(const float2 *)(e.bias + c);
    if (e.onto.at != NULL) {
        const float2 onto = *(const float2 *)(e.onto[r] + c);
        y = float2{y.x + onto.x, y.y + onto.y};
    }
    return y;
}

__device__ static inline float step_end_one(const step_ending &e, float y, float gate)
{
    y = (e.relu && !(y > 0)) || !(gate > 0) ? 0 : y;
    return e.round ? step_round(y) : y;
}

__device__ static inline void step_end(const step_ending &e, int r, int c, float y0, float y1)
{
    if (r >= e.to.count)
        return;
    float2 gate = {1, 1};
    if (e.gate.at != NULL)
        gate = *(const float2 *)(e.gate[r] + c);
    const float2 y = {step_end_one(e, y0, gate.x), step_end_one(e, y1, gate.y)};
    *(float2 *)(e.to[r] + c) = y;
    if (e.copy != NULL)
        *(float2 *)(e.copy + r * e.copy_ld + c) = y;
}

/*
 * The right factor of a product, packed: fragment (n, k) of B[8 * inner, 8 * columns] is at
 * (n * stride + k) * 32 lanes, two numbers each.
 */
struct step_factor {
    const float2 *at;
    int columns, inner, stride; /* in tiles of 8 */
};

struct step_product_call {
    step_rows x;
    step_factor w;
    step_ending e;
};

/* What the sums of a tile begin with. */
template <int MT, int NT>
__device__ static inline void step_begin_tile(const step_ending &ending, int m, int n, int columns,
                                              float (&sum)[MT][NT][4])
{
    const step_ending e = ending;
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++) {
            const int r = (m + i) * 16 + g, c = (n + j < columns ? n + j : n) * 8 + 2 * t;
            const float2 y0 = step_begin(e, r, c), y1 = step_begin(e, r + 8, c);
            sum[i][j][0] = y0.x;
            sum[i][j][1] = y0.y;
            sum[i][j][2] = y1.x;
            sum[i][j][3] = y1.y;
        }
}

template <int MT, int NT>
__device__ static inline void step_end_tile(const step_ending &ending, int m, int n, int columns,
                                            const float (&sum)[MT][NT][4])
{
    const step_ending e = ending;
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
            if (n + j < columns) {
                const int r = (m + i) * 16 + g, c = (n + j) * 8 + 2 * t;
                step_end(e, r, c, sum[i][j][0], sum[i][j][1]);
                step_end(e, r + 8, c, sum[i][j][2], sum[i][j][3]);
            }
}

/* MT tiles of 16 rows by NT tiles of 8 columns, from tiles m and n on: one warp. */
template <bool INSIDE, int MT, int NT>
__device__ static inline void step_product_tile(const step_product_call &call, int m, int n)
{
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4;
    const step_rows x = call.x;
    const step_factor w = call.w;
    const float *const from = step_inside<INSIDE>(x.at);
    const float2 *const b = w.at + n * w.stride * SKED_STEP_WARP + lane;
    float2 ahead[STEP_AHEAD][NT];
    int low[MT], high[MT];
    float sum[MT][NT][4];
#pragma unroll
    for (int u = 0; u < STEP_AHEAD; u++)
#pragma unroll
        for (int j = 0; j < NT; j++)
            ahead[u][j] =
                b[((n + j < w.columns ? j : 0) * w.stride + (u < w.inner ? u : 0)) * SKED_STEP_WARP];
    step_begin_tile<MT, NT>(call.e, m, n, w.columns, sum);
#pragma unroll
    for (int i = 0; i < MT; i++) {
        low[i] = x.offset((m + i) * 16 + g) + t;
        high[i] = x.offset((m + i) * 16 + g + 8) + t;
    }
#pragma unroll 1
    for (int first = 0; first < w.inner; first += STEP_AHEAD)
#pragma unroll
        for (int u = 0; u < STEP_AHEAD; u++) {
            const int k = first + u, next = k + STEP_AHEAD < w.inner ? k + STEP_AHEAD : 0;
            float2 f[NT];
            if (k >= w.inner)
                break;
#pragma unroll
            for (int j = 0; j < NT; j++) {
                f[j] = ahead[u][j];
                ahead[u][j] = b[((n + j < w.columns ? j : 0) * w.stride + next) * SKED_STEP_WARP];
            }
#pragma unroll
            for (int i = 0; i < MT; i++) {
                const float *x0 = from + low[i] + k * 8, *x1 = from + high[i] + k * 8;
                const float a[4] = {x0[0], x1[0], x0[4], x1[4]};
#pragma unroll
                for (int j = 0; j < NT; j++)
                    step_mma(sum[i][j], a, f[j]);
            }
        }
    step_end_tile<MT, NT>(call.e, m, n, w.columns, sum);
}

/* Calls F(m, n) for all tiles of MT by NT, shared out among the warps. */
template <int MT, int NT, class F> __device__ static inline void step_tiles(int rows, int columns, F f)
{
    const int warps = blockDim.x / SKED_STEP_WARP, warp = threadIdx.x / SKED_STEP_WARP;
    const int down = (rows + MT - 1) / MT, across = (columns + NT - 1) / NT;
    for (int k = warp; k < down * across; k += warps)
        f(k / across * MT, k % across * NT);
}

/* Large tiles read less, small ones give every warp something to do. */
enum step_tiling { STEP_LARGE, STEP_MIDDLE, STEP_SMALL };
__device__ static inline step_tiling step_tiling_of(int rows, int columns)
{
    const int warps = blockDim.x / SKED_STEP_WARP;
    if ((rows + 3) / 4 * ((columns + 2) / 3) * 4 >= 3 * warps)
        return STEP_LARGE;
    return (rows + 1) / 2 * ((columns + 1) / 2) * 2 >= warps ? STEP_MIDDLE : STEP_SMALL;
}

/*
 * What a warp is to compute, in shared memory: a function that is not inlined (it is called from many places)
 * takes it from there. On the stack every thread would have a copy of its own, more than the cache holds.
 */
template <class T> __device__ static inline const T &step_hand_over(const T &call)
{
    __shared__ T slot[SKED_STEP_THREADS / SKED_STEP_WARP];
    T &mine = slot[threadIdx.x / SKED_STEP_WARP];
    __syncwarp();
    if (threadIdx.x % SKED_STEP_WARP == 0)
        mine = call;
    __syncwarp();
    return mine;
}

template <bool INSIDE> __device__ static inline void step_product_tiles(const step_product_call &c)
{
    const int rows = (c.x.count + 15) / 16, columns = c.w.columns;
    switch (step_tiling_of(rows, columns)) {
    case STEP_LARGE:
        step_tiles<4, 3>(rows, columns, [&](int m, int n) { step_product_tile<INSIDE, 4, 3>(c, m, n); });
        break;
    case STEP_MIDDLE:
        step_tiles<2, 2>(rows, columns, [&](int m, int n) { step_product_tile<INSIDE, 2, 2>(c, m, n); });
        break;
    default:
        step_tiles<1, 1>(rows, columns, [&](int m, int n) { step_product_tile<INSIDE, 1, 1>(c, m, n); });
    }
}
__device__ __noinline__ static void step_product_run(const step_product_call &c)
{
    if (step_is_inside(c.x.at))
        step_product_tiles<true>(c);
    else
        step_product_tiles<false>(c);
}

/* y = x w, by all threads of the block. Barriers are the caller's. */
__device__ static inline void step_product(const step_rows &x, const step_factor &w, const step_ending &e)
{
    step_product_run(step_hand_over(step_product_call{x, w, e}));
}

/* ------------------------------------------------------------------ gradients of matrices */

/*
 * Adds without waiting for what is there. Every number is added to by one thread of one block, in the order
 * of the program: the result is the same on every run.
 */
__device__ static inline void step_add(float *at, float x, float y)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)at, float2{x, y});
#else
    atomicAdd(at, x);
    atomicAdd(at + 1, y);
#endif
}

struct step_outer_call {
    step_rows x, dy; /* dy has all its rows */
    int p, q, width; /* dw[p, q], whose rows lie `width` apart */
    float *dw, *db;
};

/* MT tiles of 16 rows of dw by NT of 8 columns: adds the sum over the rows of x and dy. */
template <bool INSIDE, int MT, int NT>
__device__ static inline void step_outer_tile(const step_outer_call &call, int m, int n)
{
    const step_outer_call o = call;
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4, count = o.x.count;
    const float *const x = step_inside<INSIDE>(o.x.at) + m * 16 + g;
    const float *const dy = step_inside<INSIDE>(o.dy.at) + n * 8 + g;
    float sum[MT][NT][4] = {};
#pragma unroll 2
    for (int r = 0; r < count; r += 8) {
        const float *x0 = x + o.x.offset(r + t), *x1 = x + o.x.offset(r + t + 4);
        const float *y0 = dy + o.dy.offset(r + t), *y1 = dy + o.dy.offset(r + t + 4);
        const bool in0 = r + t < count, in1 = r + t + 4 < count;
        float2 b[NT];
#pragma unroll
        for (int j = 0; j < NT; j++) {
            const int c = (n + j) * 8 < o.q ? j * 8 : 0;
            b[j] = float2{in0 ? y0[c] : 0, in1 ? y1[c] : 0};
        }
#pragma unroll
        for (int i = 0; i < MT; i++) {
            const int k = (m + i) * 16 + g, low = k < o.p ? i * 16 : 0, high = k + 8 < o.p ? i * 16 + 8 : 0;
            const float a[4] = {x0[low], x0[high], x1[low], x1[high]};
#pragma unroll
            for (int j = 0; j < NT; j++)
                step_mma(sum[i][j], a, b[j]);
        }
    }
    float *const at = o.dw + (m * 16 + g) * o.width + n * 8 + 2 * t;
#pragma unroll
    for (int i = 0; i < 2 * MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
            if (m * 16 + 8 * i + g < o.p && (n + j) * 8 < o.q)
                step_add(at + i * 8 * o.width + j * 8, sum[i / 2][j][i % 2 * 2],
                         sum[i / 2][j][i % 2 * 2 + 1]);
}

template <bool INSIDE> __device__ static inline void step_outer_tiles(const step_outer_call &o)
{
    const int rows = (o.p + 15) / 16, columns = o.q / 8;
    switch (step_tiling_of(rows, columns)) {
    case STEP_LARGE:
        step_tiles<4, 3>(rows, columns, [&](int m, int n) { step_outer_tile<INSIDE, 4, 3>(o, m, n); });
        break;
    case STEP_MIDDLE:
        step_tiles<2, 2>(rows, columns, [&](int m, int n) { step_outer_tile<INSIDE, 2, 2>(o, m, n); });
        break;
    default:
        step_tiles<1, 1>(rows, columns, [&](int m, int n) { step_outer_tile<INSIDE, 1, 1>(o, m, n); });
    }
}
__device__ __noinline__ static void step_outer_run(const step_outer_call &o)
{
    const int end = o.q, count = o.dy.count, ld = o.dy.ld;
    if (step_is_inside(o.x.at) && step_is_inside(o.dy.at))
        step_outer_tiles<true>(o);
    else
        step_outer_tiles<false>(o);
    for (int c = threadIdx.x; c < end; c += blockDim.x) {
        const float *dy = o.dy.at + c;
        float sum[4] = {o.db[c], 0, 0, 0};
        for (int r = 0; r < count; r += 4)
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[i] += r + i < count ? dy[(r + i) * ld] : 0;
        o.db[c] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

/* dw += x^T dy, and db, by all threads of the block. */
__device__ static inline void step_outer(const step_rows &x, int p, const step_rows &dy, int q, float *dw,
                                         int width, float *db)
{
    step_outer_run(step_hand_over(step_outer_call{x, dy, p, q, width, dw, db}));
}
#endif
