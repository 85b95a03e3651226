/*
 * The stepwise network of the default widths on a state of any number of ops (stepwise_tile_net.h): warps
 * take row tiles in turn. While a warp has another tile the rows and queries of this one wait in global
 * memory, that is in the caches. Keys and values are in shared memory where it holds them.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_TILE_LONG_H
#define SKED_BACKEND_CUDA_STEPWISE_TILE_LONG_H
#include "backend/cuda/stepwise_tile_net.h"

/* The most warps of a block. The emulator has one, so that tiles take turns in small problems, too. */
#ifdef __CUDACC__
enum { LONG_WARPS = 12 };
#else
enum { LONG_WARPS = 1 };
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

/* ------------------------------------------------------------------ attention */

/*
 * What query tile m of head h sees of key tile k: a byte a lane, bit c for number c of a tile of sums, at
 * ((h * tiles + m) * tiles + k) * 32 lanes. And a bit for each key tile that any of its queries sees.
 */
__host__ __device__ static inline int step_live_words(int tiles)
{
    return (tiles + 31) / 32;
}
__device__ static inline const uint32_t *step_live_row(const step_work &w, int tiles, int h, int m)
{
    return w.p.live + (h * tiles + m) * step_live_words(tiles);
}
__device__ static inline bool step_is_live(const step_work &w, int tiles, int h, int m, int k)
{
    return step_live_row(w, tiles, h, m)[k / 32] >> k % 32 & 1;
}

/* Running maximum (times log2(e)) and sum of a softmax, of the two rows of a lane: rows of sum are equal. */
struct step_long_softmax {
    float top[2], sum[4];
};
/* Key tiles that are taken at once. */
enum { LONG_KEYS = 4 };

/* The new maximum: what was summed before shrinks. */
__device__ static inline void step_long_raise(float (&top)[2], step_long_softmax &soft, float (&out)[8])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        top[half] = fmaxf(soft.top[half], step_quad_max(top[half]) * STEP_LOG2E);
        const float shrink = soft.top[half] > -CUDART_INF_F ? step_exp2(soft.top[half] - top[half]) : 0;
        soft.top[half] = top[half];
        top[half] = top[half] > -CUDART_INF_F ? top[half] : 0; /* nothing seen yet: all weights are 0 */
        soft.sum[2 * half] *= shrink;
        soft.sum[2 * half + 1] *= shrink;
#pragma unroll
        for (int c = 0; c < 4; c++)
            out[c / 2 * 4 + 2 * half + c % 2] *= shrink;
    }
}

/* Weights of these key tiles (the first is one, -1: no more), and what they add to the values. */
__device__ static inline void step_long_attend_some(const step_tiled &u, int h, const uint8_t *seen,
                                                    const int (&key)[LONG_KEYS], const step_tile &query,
                                                    step_long_softmax &soft, float (&out)[8])
{
    const step_two ones = step_pack(1, 1);
    float s[LONG_KEYS][8], top[2] = {-CUDART_INF_F, -CUDART_INF_F};
    step_tile tile[LONG_KEYS];
    unsigned see[LONG_KEYS];
#pragma unroll
    for (int i = 0; i < LONG_KEYS; i++) { /* all are asked for before the first is used */
        const int k = key[i] >= 0 ? key[i] : key[0];
        see[i] = seen[k * SKED_STEP_WARP + step_lane()];
        tile[i] = u.post(MAIL_KEY, h, k);
    }
#pragma unroll
    for (int i = 0; i < LONG_KEYS; i++) {
        if (key[i] < 0)
            continue;
#pragma unroll
        for (int c = 0; c < 8; c++)
            s[i][c] = 0;
        step_tile_add_turned(s[i], query, tile[i]);
        tile[i] = u.post(MAIL_VALUE, h, key[i]);
#pragma unroll
        for (int c = 0; c < 8; c++) {
            s[i][c] = see[i] & 1u << c ? s[i][c] : -CUDART_INF_F;
            top[c / 2 % 2] = fmaxf(top[c / 2 % 2], s[i][c]);
        }
    }
    step_long_raise(top, soft, out);
#pragma unroll
    for (int i = 0; i < LONG_KEYS; i++) {
        if (key[i] < 0)
            continue;
#pragma unroll
        for (int c = 0; c < 8; c++)
            s[i][c] = step_exp2(s[i][c] * STEP_LOG2E - top[c / 2 % 2]);
        const step_tile weight = step_tile_pack(s[i]);
        step_tile_add(out, weight, tile[i]);
        step_tile_half(soft.sum, weight, ones, ones);
    }
}

/* The mixed values of one head, instead of its queries; lse: log2 of the sum of each softmax. */
__device__ static inline step_tile step_long_attend(const step_work &w, const step_tiled &u, int h,
                                                    float2 &lse)
{
    const uint8_t *seen = w.p.seen + (int64_t)(h * u.tiles + u.m) * u.tiles * SKED_STEP_WARP;
    const uint32_t *row = step_live_row(w, u.tiles, h, u.m);
    const step_tile query = u.post(MAIL_QUERY, h, u.m);
    step_long_softmax soft = {{-CUDART_INF_F, -CUDART_INF_F}, {0, 0, 0, 0}};
    float out[8] = {};
#pragma unroll 1
    for (int word = 0; word < step_live_words(u.tiles); word++) {
        unsigned live = row[word];
#pragma unroll 1
        while (live != 0) {
            int key[LONG_KEYS];
#pragma unroll
            for (int i = 0; i < LONG_KEYS; i++) {
                key[i] = live != 0 ? word * 32 + __ffs((int)live) - 1 : -1;
                live &= live - 1;
            }
            step_long_attend_some(u, h, seen, key, query, soft, out);
        }
    }
#pragma unroll
    for (int c = 0; c < 8; c++)
        out[c] *= __frcp_rn(soft.sum[c / 2 % 2 * 2]);
    lse = float2{soft.top[0] + __logf(soft.sum[0]) * STEP_LOG2E,
                 soft.top[1] + __logf(soft.sum[2]) * STEP_LOG2E};
    return step_tile_pack(out);
}

/* All heads of all tiles, shared out among the warps: some tiles see more than others. */
__device__ static inline void step_long_mix(const step_work &w, const step_long &l, int layer, bool wanted)
{
    const int warps = blockDim.x / SKED_STEP_WARP;
#pragma unroll 1
    for (int k = threadIdx.x / SKED_STEP_WARP; k < l.first.tiles * TILE_HEADS; k += warps) {
        const step_tiled u = step_long_tile(l, k / TILE_HEADS);
        const int h = k % TILE_HEADS;
        float2 lse;
        if (wanted && !step_long_asked(w, u))
            continue;
        const step_tile mixed = step_long_attend(w, u, h, lse);
        u.post(MAIL_QUERY, h, u.m) = mixed;
        u.keep(layer * KEPT_LAYER + KEPT_MIXED + h, mixed);
        u.keep_scale(layer * SCALE_LAYER + SCALE_SOFTMAX + h, lse.x, lse.y);
    }
}

/* ------------------------------------------------------------------ the network */

/* What follows attention, x to x: the mixed values are where queries were. */
__device__ static inline void step_long_take(const step_work &w, const step_tiled &u, int layer,
                                             float (&x)[TILE_DIM][8])
{
    const step_matrix m = step_layer_matrix(w, layer, STEP_MERGE);
    const step_weights weights = step_tiles_forward(w, m);
    step_tile_bias(w.p.folded + m.bias, x);
#pragma unroll 1
    for (int h = 0; h < TILE_HEADS; h++)
        step_tile_spread<TILE_DIM>(u.post(MAIL_QUERY, h, u.m), weights, h, x);
    step_tile_refine(w, u, layer, x);
}

/*
 * From the state to the logits, by op: in w.wide and w.back, of ops that are asked for. No warp reads the
 * keys and values of a layer after its attention, so a warp goes on to the next without a barrier.
 */
__device__ static inline void step_long_forward(const step_work &w, const step_long &l)
{
    const int layers = w.z.layers;
    step_long_each(l, [&](const step_tiled &u) {
        float x[TILE_DIM][8];
        step_tile_input(w, u, x);
        step_long_write(l, u.m, x);
    });
#pragma unroll 1
    for (int layer = 0; layer <= layers; layer++) {
        step_long_each(l, [&](const step_tiled &u) {
            float x[TILE_DIM][8];
            if (layer == layers && !step_long_asked(w, u))
                return;
            step_long_read(l, u.m, x);
            if (layer > 0)
                step_long_take(w, u, layer - 1, x);
            if (layer < layers)
                step_tile_offer(w, u, layer, x);
            step_long_write(l, u.m, x);
        });
        if (layer == layers)
            break;
        __syncthreads();
        step_long_mix(w, l, layer, layer == layers - 1);
        __syncthreads();
    }
    step_long_each(l, [&](const step_tiled &u) {
        float x[TILE_DIM][8];
        if (!step_long_asked(w, u))
            return;
        step_long_read(l, u.m, x);
        step_tile_heads(w, u, x);
    });
    __syncthreads();
}
#endif
