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

enum { SKED_STEP_WARP = 32, SKED_STEP_PAD = 4 };
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

/* Rows of a matrix: row r is at + (row ? row[r] : r) * ld. */
struct step_rows {
    float *at;
    int ld;
    const int32_t *row;
    int count;
    __device__ float *operator[](int r) const
    {
        return at + (int64_t)(row != NULL ? row[r] : r) * ld;
    }
    /* One of them for certain: what is computed for rows behind the last is thrown away. */
    __device__ float *near(int r) const
    {
        return (*this)[r < count ? r : count - 1];
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

/* What becomes of y = x w: to = onto + [gate > 0] relu(y + bias), rounded. */
struct step_ending {
    step_rows to;
    const float *bias; /* NULL: none; so below */
    step_rows onto;
    step_rows gate;
    float *copy; /* [rows, columns] the same once more */
    int copy_ld;
    bool relu, round;
};

__device__ static inline float step_end_one(const step_ending &e, float y, float bias, float onto, float gate)
{
    y += bias;
    y = e.relu && !(y > 0) ? 0 : y;
    y = gate > 0 ? y + onto : onto;
    return e.round ? step_round(y) : y;
}

/* Columns c and c + 1 of row r. */
__device__ static inline void step_end(const step_ending &e, int r, int c, float y0, float y1)
{
    if (r >= e.to.count)
        return;
    float2 bias = {0, 0}, onto = {0, 0}, gate = {1, 1};
    if (e.bias != NULL)
        bias = *(const float2 *)(e.bias + c);
    if (e.onto.at != NULL)
        onto = *(const float2 *)(e.onto[r] + c);
    if (e.gate.at != NULL)
        gate = *(const float2 *)(e.gate[r] + c);
    const float2 y = {step_end_one(e, y0, bias.x, onto.x, gate.x),
                      step_end_one(e, y1, bias.y, onto.y, gate.y)};
    *(float2 *)(e.to[r] + c) = y;
    if (e.copy != NULL)
        *(float2 *)(e.copy + (int64_t)r * e.copy_ld + c) = y;
}

/*
 * The right factor of a product, packed: fragment (n, k) of B[8 * inner, 8 * columns] is at
 * (n * stride + k) * 32 lanes, two numbers each.
 */
struct step_factor {
    const float2 *at;
    int columns, inner, stride; /* in tiles of 8 */
};

/* MT tiles of 16 rows by NT tiles of 8 columns, from tiles m and n on: one warp. */
template <int MT, int NT>
__device__ static void step_product_tile(const step_rows &x, const step_factor &w, int m, int n,
                                         const step_ending &e)
{
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4;
    const float *low[MT], *high[MT];
    const float2 *b[NT];
    float sum[MT][NT][4] = {};
    for (int i = 0; i < MT; i++) {
        low[i] = x.near((m + i) * 16 + g) + t;
        high[i] = x.near((m + i) * 16 + g + 8) + t;
    }
    for (int j = 0; j < NT; j++)
        b[j] = w.at + (int64_t)(n + j < w.columns ? n + j : n) * w.stride * SKED_STEP_WARP + lane;
#pragma unroll 4
    for (int k = 0; k < w.inner; k++) {
        float2 f[NT];
#pragma unroll
        for (int j = 0; j < NT; j++)
            f[j] = b[j][k * SKED_STEP_WARP];
#pragma unroll
        for (int i = 0; i < MT; i++) {
            const float a[4] = {low[i][k * 8], high[i][k * 8], low[i][k * 8 + 4], high[i][k * 8 + 4]};
#pragma unroll
            for (int j = 0; j < NT; j++)
                step_mma(sum[i][j], a, f[j]);
        }
    }
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
            if (n + j < w.columns) {
                const int r = (m + i) * 16 + g, c = (n + j) * 8 + 2 * t;
                step_end(e, r, c, sum[i][j][0], sum[i][j][1]);
                step_end(e, r + 8, c, sum[i][j][2], sum[i][j][3]);
            }
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

/* y = x w, by all threads of the block. Barriers are the caller's. Not inlined: it is called from many
 * places. */
__device__ __noinline__ static void step_product(const step_rows &x, const step_factor &w,
                                                 const step_ending &e)
{
    const int rows = (x.count + 15) / 16;
    switch (step_tiling_of(rows, w.columns)) {
    case STEP_LARGE:
        step_tiles<4, 3>(rows, w.columns, [&](int m, int n) { step_product_tile<4, 3>(x, w, m, n, e); });
        break;
    case STEP_MIDDLE:
        step_tiles<2, 2>(rows, w.columns, [&](int m, int n) { step_product_tile<2, 2>(x, w, m, n, e); });
        break;
    default:
        step_tiles<1, 1>(rows, w.columns, [&](int m, int n) { step_product_tile<1, 1>(x, w, m, n, e); });
    }
}

/* ------------------------------------------------------------------ gradients of matrices */

/* MT tiles of 16 rows of dw by NT of 8 columns: dw[p, q] += sum over the rows of x and dy. */
template <int MT, int NT>
__device__ static void step_outer_tile(const step_rows &x, int p, const step_rows &dy, int q, int m, int n,
                                       float *dw, int width)
{
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4;
    float sum[MT][NT][4] = {};
#pragma unroll 2
    for (int r = 0; r < x.count; r += 8) {
        const float *x0 = x.near(r + t), *x1 = x.near(r + t + 4);
        const float *y0 = dy.near(r + t), *y1 = dy.near(r + t + 4);
        const bool in0 = r + t < x.count, in1 = r + t + 4 < x.count;
        float2 b[NT];
#pragma unroll
        for (int j = 0; j < NT; j++) {
            const int c = (n + j) * 8 + g < q ? (n + j) * 8 + g : g;
            b[j] = float2{in0 ? y0[c] : 0, in1 ? y1[c] : 0};
        }
#pragma unroll
        for (int i = 0; i < MT; i++) {
            const int k = (m + i) * 16 + g, low = k < p ? k : g, high = k + 8 < p ? k + 8 : g;
            const float a[4] = {x0[low], x0[high], x1[low], x1[high]};
#pragma unroll
            for (int j = 0; j < NT; j++)
                step_mma(sum[i][j], a, b[j]);
        }
    }
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int k = (m + i) * 16 + g + 8 * half, c = (n + j) * 8 + 2 * t;
                if (k >= p || c >= q)
                    continue;
                float2 *at = (float2 *)(dw + (int64_t)k * width + c);
                const float2 old = *at;
                *at = float2{old.x + sum[i][j][2 * half], old.y + sum[i][j][2 * half + 1]};
            }
}

/* Of a matrix w[p, q], whose rows lie `width` apart in dw, and of its bias. dy has all its rows. */
__device__ __noinline__ static void step_outer(const step_rows &x, int p, const step_rows &dy, int q,
                                               float *dw, int width, float *db)
{
    const int rows = (p + 15) / 16, columns = q / 8;
    switch (step_tiling_of(rows, columns)) {
    case STEP_LARGE:
        step_tiles<4, 3>(rows, columns,
                         [&](int m, int n) { step_outer_tile<4, 3>(x, p, dy, q, m, n, dw, width); });
        break;
    case STEP_MIDDLE:
        step_tiles<2, 2>(rows, columns,
                         [&](int m, int n) { step_outer_tile<2, 2>(x, p, dy, q, m, n, dw, width); });
        break;
    default:
        step_tiles<1, 1>(rows, columns,
                         [&](int m, int n) { step_outer_tile<1, 1>(x, p, dy, q, m, n, dw, width); });
    }
    for (int c = threadIdx.x; c < q; c += blockDim.x) {
        float sum[4] = {};
        for (int r = 0; r < dy.count; r += 4)
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[i] += r + i < dy.count ? dy.at[(int64_t)(r + i) * dy.ld + c] : 0;
        db[c] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}
#endif
