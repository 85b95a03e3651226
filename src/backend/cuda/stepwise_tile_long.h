/*
 * The stepwise network of the default widths on a state of any number of ops (stepwise_tile_net.h): warps
 * take row tiles in turn. While a warp has another tile the rows and queries of this one wait in global
 * memory, that is in the caches. Keys and values are in shared memory where it holds them.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_TILE_LONG_H
#define SKED_BACKEND_CUDA_STEPWISE_TILE_LONG_H
#include "backend/cuda/stepwise_tile_net.h"

/* Warps of a block. The emulator has few, so that they take turns in small problems, too. */
#ifdef __CUDACC__
enum { LONG_WARPS = 12 };
#else
enum { LONG_WARPS = 2 };
#endif

struct step_long {
    step_tiled first;   /* the view of row tile 0 */
    float4 *x;          /* [tiles, LONG_ROW, lanes] */
    int record, scales; /* from tile to tile of what is kept */
};
/* Numbers of a lane's rows, in fours. */
enum { LONG_ROW = TILE_DIM * 8 / 4 };

__device__ static inline step_tiled step_long_tile(const step_long &l, int m)
{
    step_tiled u = l.first;
    u.m = m;
    if (u.kept != NULL) {
        u.kept += (int64_t)m * l.record;
        u.scale += (int64_t)m * l.scales;
    }
    return u;
}

/* Calls f(view) for the tiles of this warp, the same ones every time. */
template <class F> __device__ static inline void step_long_each(const step_long &l, F f)
{
    const int warps = blockDim.x / SKED_STEP_WARP;
#pragma unroll 1
    for (int m = threadIdx.x / SKED_STEP_WARP; m < l.first.tiles; m += warps)
        f(step_long_tile(l, m));
}

__device__ static inline void step_long_read(const step_long &l, int m, float (&x)[TILE_DIM][8])
{
    const float4 *at = l.x + m * LONG_ROW * SKED_STEP_WARP + step_lane();
#pragma unroll
    for (int i = 0; i < LONG_ROW; i++) {
        const float4 four = at[i * SKED_STEP_WARP];
        x[i / 2][i % 2 * 4] = four.x;
        x[i / 2][i % 2 * 4 + 1] = four.y;
        x[i / 2][i % 2 * 4 + 2] = four.z;
        x[i / 2][i % 2 * 4 + 3] = four.w;
    }
}
__device__ static inline void step_long_write(const step_long &l, int m, const float (&x)[TILE_DIM][8])
{
    float4 *at = l.x + m * LONG_ROW * SKED_STEP_WARP + step_lane();
#pragma unroll
    for (int i = 0; i < LONG_ROW; i++) {
        const float *four = x[i / 2] + i % 2 * 4;
        at[i * SKED_STEP_WARP] = float4{four[0], four[1], four[2], four[3]};
    }
}

/* Whether the heads look at any op of a tile. What is kept is kept of all. */
__device__ static inline bool step_long_asked(const step_work &w, const step_tiled &u)
{
    const int op = u.m * STEP_TILE + step_lane() % STEP_TILE;
    const int bits = STEP_IS_READY | (w.z.learned ? STEP_IS_REMOVABLE : 0);
    const bool mine = op < w.p.ops && (w.state[op] & bits) != 0;
    return __any_sync(sked_step_all, mine) || u.kept != NULL;
}

/* From the state to the logits, by op: in w.wide and w.back, of ops that are asked for. */
__device__ static inline void step_long_forward(const step_work &w, const step_long &l)
{
    float x[TILE_DIM][8];
    step_long_each(l, [&](const step_tiled &u) {
        step_tile_input(w, u, x);
        step_long_write(l, u.m, x);
    });
#pragma unroll 1
    for (int layer = 0; layer < w.z.layers; layer++) {
        const bool last = layer == w.z.layers - 1;
        step_long_each(l, [&](const step_tiled &u) {
            step_long_read(l, u.m, x);
            step_tile_offer(w, u, layer, x);
        });
        __syncthreads();
        step_long_each(l, [&](const step_tiled &u) {
            if (last && !step_long_asked(w, u))
                return;
            step_long_read(l, u.m, x);
            step_tile_take(w, u, layer, x);
            step_long_write(l, u.m, x);
        });
        __syncthreads();
    }
    step_long_each(l, [&](const step_tiled &u) {
        if (!step_long_asked(w, u))
            return;
        step_long_read(l, u.m, x);
        step_tile_heads(w, u, x);
    });
    __syncthreads();
}
#endif
