/*
 * Tiles of 16 by 16 numbers, each in the registers of one warp: half precision (11 bits, as TF32) for what
 * tensor cores multiply, single precision for sums. A warp takes 16 rows through the network without giving
 * them out of its registers.
 *
 * With g = lane / 4 and t = lane % 4, pairs lie along the columns:
 *     left factor:  (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8)
 *     right factor: (2t, g), (2t + 8, g), (2t, g + 8), (2t + 8, g + 8), pairs along the rows
 *     sums:         (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1), the same 8 columns on
 * So sums become a left factor without moving a number.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_TILE_H
#define SKED_BACKEND_CUDA_STEPWISE_TILE_H
#include "backend/cuda/runtime.h"

enum { STEP_TILE = 16, SKED_STEP_WARP = 32, SKED_STEP_THREADS = 256 };
static const unsigned sked_step_all = 0xffffffffu;

/* To the nearest number of 11 bits. */
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

/* The emulator has whole floats where tensor cores have halves; it rounds where it is asked to. */
#ifdef __CUDACC__
#include <cuda_fp16.h>
typedef __half step_half;
typedef unsigned step_two;
#else
typedef float step_half;
struct step_two {
    float x, y;
};
#endif
struct alignas(16) step_tile {
    step_two at[4];
};

__device__ static inline int step_lane(void)
{
    return threadIdx.x % SKED_STEP_WARP;
}

__device__ static inline step_half step_halve(float x)
{
#ifdef __CUDACC__
    return __float2half_rn(x);
#else
    return sked_emulate::round_tf32(x);
#endif
}

/* What is too large for half precision becomes the largest number there is. */
__device__ static inline step_two step_pack(float x, float y)
{
#ifdef __CUDACC__
    step_two two;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(y), "f"(x));
    return two;
#else
    return step_two{sked_emulate::round_tf32(x), sked_emulate::round_tf32(y)};
#endif
}

__device__ static inline float2 step_unpack(step_two two)
{
#ifdef __CUDACC__
    return __half22float2(*(const __half2 *)&two);
#else
    return float2{two.x, two.y};
#endif
}

/* The transpose of 8 by 8 numbers. */
__device__ static inline step_two step_turn(step_two two)
{
#ifdef __CUDACC__
    step_two turned;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(two));
    return turned;
#else
    const int g = step_lane() / 4, t = step_lane() % 4;
    const step_two first = __shfl_sync(sked_step_all, two, 8 * t + g / 2),
                   second = __shfl_sync(sked_step_all, two, 8 * t + 4 + g / 2);
    return g % 2 == 0 ? step_two{first.x, second.x} : step_two{first.y, second.y};
#endif
}

/* d += a b for 8 columns of the right factor: mma.m16n8k16. */
__device__ static inline void step_tile_half(float *d, const step_tile &a, step_two b0, step_two b1)
{
#ifdef __CUDACC__
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b0), "r"(b1));
#else
    const float x[4] = {a.at[0].x, a.at[1].x, a.at[2].x, a.at[3].x}, bx[2] = {b0.x, b1.x};
    const float y[4] = {a.at[0].y, a.at[1].y, a.at[2].y, a.at[3].y}, by[2] = {b0.y, b1.y};
    sked_emulate::mma_tf32(d, x, bx);
    sked_emulate::mma_tf32(d, y, by);
#endif
}
/* sum += a b */
__device__ static inline void step_tile_add(float (&sum)[8], const step_tile &a, const step_tile &b)
{
    step_tile_half(sum, a, b.at[0], b.at[1]);
    step_tile_half(sum + 4, a, b.at[2], b.at[3]);
}
/* sum += a b^T, b as a left factor. */
__device__ static inline void step_tile_add_turned(float (&sum)[8], const step_tile &a, const step_tile &b)
{
    step_tile_half(sum, a, b.at[0], b.at[2]);
    step_tile_half(sum + 4, a, b.at[1], b.at[3]);
}
/* A left factor as the right one: what step_tile_add takes for a b. */
__device__ static inline step_tile step_tile_right(const step_tile &b)
{
    return step_tile{{step_turn(b.at[0]), step_turn(b.at[1]), step_turn(b.at[2]), step_turn(b.at[3])}};
}
/* The transpose of a left factor, as a left factor. */
__device__ static inline step_tile step_tile_turn(const step_tile &a)
{
    return step_tile{{step_turn(a.at[0]), step_turn(a.at[2]), step_turn(a.at[1]), step_turn(a.at[3])}};
}
__device__ static inline step_tile step_tile_pack(const float (&sum)[8])
{
    return step_tile{{step_pack(sum[0], sum[1]), step_pack(sum[2], sum[3]), step_pack(sum[4], sum[5]),
                      step_pack(sum[6], sum[7])}};
}
__device__ static inline void step_tile_unpack(const step_tile &a, float (&x)[8])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 two = step_unpack(a.at[i]);
        x[2 * i] = two.x;
        x[2 * i + 1] = two.y;
    }
}

/* Row and column of number c of a tile of sums. */
__device__ static inline int step_tile_row(int c)
{
    return step_lane() / 4 + (c & 2) * 4;
}
__device__ static inline int step_tile_column(int c)
{
    return step_lane() % 4 * 2 + (c & 4) * 2 + (c & 1);
}
/* Where number (row, column) of a right factor lies, counted in halves. */
__device__ static inline int step_tile_place(int row, int column)
{
    const int lane = column % 8 * 4 + row % 8 / 2, pair = column / 8 * 2 + row / 8;
    return (lane * 4 + pair) * 2 + row % 2;
}

/* 2^x to 22 bits; 0 for what is too small for a normal number. */
__device__ static inline float step_exp2(float x)
{
#ifdef __CUDACC__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

/* Over the four lanes of a row. */
__device__ static inline float step_quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(sked_step_all, x, 1));
    return fmaxf(x, __shfl_xor_sync(sked_step_all, x, 2));
}
__device__ static inline float step_quad_sum(float x)
{
    x += __shfl_xor_sync(sked_step_all, x, 1);
    return x + __shfl_xor_sync(sked_step_all, x, 2);
}

/* A matrix of weights as right factors: tile (k, n) is at (n * inner + k) * 32 lanes. */
struct step_weights {
    const step_tile *at;
    int inner;
    __device__ step_tile tile(int k, int n) const
    {
        return at[(n * inner + k) * SKED_STEP_WARP + step_lane()];
    }
};

/* A tile of sums that begins with a bias [16], the same in all rows. */
__device__ static inline void step_tile_begin(const float *bias, float (&sum)[8])
{
    const int t = step_lane() % 4;
    const float2 low = *(const float2 *)(bias + 2 * t), high = *(const float2 *)(bias + 2 * t + 8);
    sum[0] = sum[2] = low.x;
    sum[1] = sum[3] = low.y;
    sum[4] = sum[6] = high.x;
    sum[5] = sum[7] = high.y;
}

/* sum[i] += a w for columns n + i * apart: all weights are asked for before the first is used. */
template <int K, int N>
__device__ static inline void step_tile_product(const step_tile (&a)[K], const step_weights &w, int n,
                                                int apart, float (&sum)[N][8])
{
    step_tile b[N][K];
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int k = 0; k < K; k++)
            b[i][k] = w.tile(k, n + i * apart);
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int i = 0; i < N; i++)
            step_tile_add(sum[i], a[k], b[i][k]);
}
/* sum[n] += a w for all N columns, a being tile k of a row. */
template <int N>
__device__ static inline void step_tile_spread(const step_tile &a, const step_weights &w, int k,
                                               float (&sum)[N][8])
{
    step_tile b[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        b[n] = w.tile(k, n);
#pragma unroll
    for (int n = 0; n < N; n++)
        step_tile_add(sum[n], a, b[n]);
}
#endif
