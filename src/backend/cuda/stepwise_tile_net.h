/*
 * The stepwise network of the default widths on one partial schedule: every warp of a block takes 16 ops
 * through all layers in its registers (stepwise_tile.h). Warps exchange queries, keys and values in shared
 * memory, two barriers a layer, and nothing else. Weights come from the caches, where all blocks share them.
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_TILE_NET_H
#define SKED_BACKEND_CUDA_STEPWISE_TILE_NET_H
#include "backend/cuda/stepwise_net.h"

/* The widths, in tiles: 64, 7 heads of 16, 128, 64. */
enum { TILE_DIM = 4, TILE_HEADS = SKED_I_HEADS, TILE_MLP = 8, TILE_WIDTH = 4 };
/* Ops that a block may have: one warp each 16. */
enum { TILE_OPS = SKED_STEP_THREADS / SKED_STEP_WARP * STEP_TILE };
/*
 * Kernels for blocks of up to so many threads may use few enough registers for three such blocks on a
 * processor: the more warps there are, the less time passes waiting.
 */
enum { TILE_FEW = 128, TILE_RESIDENT = 3 };

/*
 * What 16 rows leave behind for the gradient, in tiles: a layer's, then the heads'. d...: slopes of the loss,
 * written on the way back.
 */
enum {
    KEPT_UNIT1,
    KEPT_QKV = KEPT_UNIT1 + TILE_DIM,
    KEPT_MIXED = KEPT_QKV + 3 * TILE_HEADS,
    KEPT_UNIT2 = KEPT_MIXED + TILE_HEADS,
    KEPT_HIDDEN = KEPT_UNIT2 + TILE_DIM,
    KEPT_DQKV = KEPT_HIDDEN + TILE_MLP,
    KEPT_DMIDDLE = KEPT_DQKV + 3 * TILE_HEADS,
    KEPT_DHIDDEN = KEPT_DMIDDLE + TILE_DIM,
    KEPT_DOUT = KEPT_DHIDDEN + TILE_MLP,
    KEPT_LAYER = KEPT_DOUT + TILE_DIM
};
enum {
    KEPT_TOP,
    KEPT_FORWARD = KEPT_TOP + TILE_DIM,
    KEPT_BACK = KEPT_FORWARD + TILE_WIDTH,
    KEPT_DFORWARD = KEPT_BACK + TILE_WIDTH,
    KEPT_DBACK = KEPT_DFORWARD + TILE_WIDTH,
    KEPT_DX = KEPT_DBACK + TILE_WIDTH,
    KEPT_DREMOVAL = KEPT_DX + TILE_DIM, /* in its first column */
    KEPT_DSLOTS                         /* then the features */
};
/* And in single precision, two rows a lane: normalisations, log2 of the sums of softmax. */
enum { SCALE_UNIT1, SCALE_UNIT2, SCALE_SOFTMAX, SCALE_LAYER = SCALE_SOFTMAX + TILE_HEADS };

__host__ __device__ static inline int step_tiles_of(int numbers)
{
    return (numbers + STEP_TILE - 1) / STEP_TILE;
}
__host__ __device__ static inline int step_kept_features(const step_net &z)
{
    return z.layers * KEPT_LAYER + KEPT_DSLOTS + step_tiles_of(z.slots);
}
__host__ __device__ static inline int step_kept_tiles(const step_net &z)
{
    return step_kept_features(z) + step_tiles_of(z.inputs);
}
__host__ __device__ static inline int step_kept_scales(const step_net &z)
{
    return z.layers * SCALE_LAYER + 1;
}

/* What a block exchanges: a tile for each kind, head and row tile. Gradients have the last kind, too. */
enum { MAIL_QUERY, MAIL_KEY, MAIL_VALUE, MAIL_SLOPE, MAIL_KINDS };
/* Lanes of a kind for so many row tiles, a tile's piece each. */
__host__ __device__ static inline int step_mail_lanes(int tiles)
{
    return TILE_HEADS * tiles * SKED_STEP_WARP;
}

/* A warp's view: its rows are 16 m .. 16 m + 15. */
struct step_tiled {
    step_tile *query,
        *mail;       /* mail: the kinds behind queries, which no other warp reads on the way forward */
    int m, tiles;    /* tiles: of the rows of the state; a warp behind the last only keeps the barriers */
    step_tile *kept; /* of its rows; NULL: nothing is kept */
    float2 *scale;
    __device__ step_tile &post(int kind, int h, int from) const
    {
        step_tile *at =
            kind == MAIL_QUERY ? query : mail + (int64_t)(kind - MAIL_KEY) * step_mail_lanes(tiles);
        return at[(h * tiles + from) * SKED_STEP_WARP + step_lane()];
    }
    __device__ void keep(int at, const step_tile &tile) const
    {
        if (kept != NULL)
            kept[at * SKED_STEP_WARP + step_lane()] = tile;
    }
    __device__ step_tile fetch(int at) const
    {
        return kept[at * SKED_STEP_WARP + step_lane()];
    }
    __device__ void keep_scale(int at, float low, float high) const
    {
        if (kept != NULL)
            scale[at * SKED_STEP_WARP + step_lane()] = float2{low, high};
    }
    __device__ float2 fetch_scale(int at) const
    {
        return scale[at * SKED_STEP_WARP + step_lane()];
    }
};

__device__ static inline step_weights step_tiles_forward(const step_work &w, const step_matrix &m)
{
    return step_weights{w.p.tiles + (int64_t)m.tile * SKED_STEP_WARP, m.rows / STEP_TILE};
}
__device__ static inline step_weights step_tiles_turned(const step_work &w, const step_matrix &m)
{
    const int rows = m.rows / STEP_TILE, columns = step_tiles_of(m.columns);
    return step_weights{w.p.tiles + (int64_t)(m.tile + rows * columns) * SKED_STEP_WARP, columns};
}

/* x = features . weight + bias in single precision; 0 behind the last op. */
__device__ static void step_tile_input(const step_work &w, const step_tiled &u, float (&x)[TILE_DIM][8])
{
    const float *weight = w.parameter + w.z.input_weight, *bias = w.parameter + w.z.input_bias;
    const int dim = w.z.dim, t = step_lane() % 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int op = u.m * STEP_TILE + step_tile_row(2 * half), near = op < w.p.ops ? op : w.p.ops - 1;
        const int device = step_device_feature(w, near);
        float f[SKED_I_STEP_FEATURES];
        step_features(w, near, f);
#pragma unroll
        for (int k = 0; k < 2 * TILE_DIM; k++) {
            const int c = k * 8 + 2 * t;
            float2 sum = *(const float2 *)(bias + c);
#pragma unroll
            for (int j = 0; j < SKED_I_STEP_FEATURES; j++) {
                const float2 by = *(const float2 *)(weight + j * dim + c);
                sum = float2{sum.x + f[j] * by.x, sum.y + f[j] * by.y};
            }
            if (device >= 0) {
                const float2 by = *(const float2 *)(weight + device * dim + c);
                sum = float2{sum.x + by.x, sum.y + by.y};
            }
            x[k / 2][k % 2 * 4 + 2 * half] = op < w.p.ops ? sum.x : 0;
            x[k / 2][k % 2 * 4 + 2 * half + 1] = op < w.p.ops ? sum.y : 0;
        }
    }
}

/* Rows of mean 0 and deviation 1; scale: of the two rows of a lane. */
__device__ static inline float2 step_tile_unit(const float (&x)[TILE_DIM][8], step_tile (&unit)[TILE_DIM])
{
    float mean[2] = {0, 0}, square[2] = {0, 0}, scale[2];
    float y[TILE_DIM][8];
    const int dim = TILE_DIM * STEP_TILE;
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++)
#pragma unroll
        for (int c = 0; c < 8; c++)
            mean[c / 2 % 2] += x[j][c];
#pragma unroll
    for (int half = 0; half < 2; half++)
        mean[half] = step_quad_sum(mean[half]) / dim;
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++)
#pragma unroll
        for (int c = 0; c < 8; c++) {
            y[j][c] = x[j][c] - mean[c / 2 % 2];
            square[c / 2 % 2] += y[j][c] * y[j][c];
        }
#pragma unroll
    for (int half = 0; half < 2; half++)
        scale[half] = rsqrtf(step_quad_sum(square[half]) / dim + 1e-5f);
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++) {
#pragma unroll
        for (int c = 0; c < 8; c++)
            y[j][c] *= scale[c / 2 % 2];
        unit[j] = step_tile_pack(y[j]);
    }
    return float2{scale[0], scale[1]};
}

__device__ static inline int step_tile_near(const step_work &w, int r)
{
    return r < w.p.ops ? r : w.p.ops - 1;
}

/* Which of the 32 keys from 32 half of word `word` on query r sees. */
__device__ static inline unsigned step_tile_sees(const step_work &w, int r, int h, int word, int half)
{
    return ((const unsigned *)w.masks)[((int64_t)(h * w.p.ops + r) * w.p.words + word) * 2 + half];
}
/* The bit of number c of a tile in such a word that was shifted to the lane's first column. */
__host__ __device__ static constexpr unsigned step_tile_bit(int c, int odd)
{
    return 1u << ((c & 4) * 2 + (c & 1) + odd * STEP_TILE);
}

/* Softmax by powers of two: e^x = 2^(log2(e) x). */
#define STEP_LOG2E 1.44269504f

/* Running maximum and sum of a softmax, of the two rows of a lane; the maximum times log2(e). */
struct step_tile_softmax {
    float top[2], sum[2];
};

/* Scores of the queries of a tile on 64 keys, -infinity where none is seen; live: tiles that any query sees.
 */
__device__ static inline void step_tile_scores(const step_work &w, const step_tiled &u, int h, int word,
                                               const step_tile &query, float (&s)[4][8], bool (&live)[4])
{
    const int row[2] = {step_tile_near(w, u.m * STEP_TILE + step_tile_row(0)),
                        step_tile_near(w, u.m * STEP_TILE + step_tile_row(2))};
    const int shift = step_lane() % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const unsigned all[2] = {step_tile_sees(w, row[0], h, word, half),
                                 step_tile_sees(w, row[1], h, word, half)};
        const unsigned see[2] = {all[0] >> shift, all[1] >> shift};
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            const int i = half * 2 + odd;
            live[i] = __any_sync(sked_step_all, ((all[0] | all[1]) & 0xffffu << odd * STEP_TILE) != 0);
            if (!live[i])
                continue;
#pragma unroll
            for (int c = 0; c < 8; c++)
                s[i][c] = 0;
            step_tile_add_turned(s[i], query, u.post(MAIL_KEY, h, word * 4 + i));
#pragma unroll
            for (int c = 0; c < 8; c++)
                s[i][c] = see[c / 2 % 2] & step_tile_bit(c, odd) ? s[i][c] : -CUDART_INF_F;
        }
    }
}

/* Weights of 64 keys, and what they add to the values. */
__device__ static inline void step_tile_attend_word(const step_work &w, const step_tiled &u, int h, int word,
                                                    const step_tile &query, step_tile_softmax &soft,
                                                    float (&out)[8])
{
    float s[4][8], top[2] = {-CUDART_INF_F, -CUDART_INF_F};
    bool live[4];
    step_tile_scores(w, u, h, word, query, s, live);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int c = 0; c < 8 && live[i]; c++)
            top[c / 2 % 2] = fmaxf(top[c / 2 % 2], s[i][c]);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        top[half] = fmaxf(soft.top[half], step_quad_max(top[half]) * STEP_LOG2E);
        const float shrink = soft.top[half] > -CUDART_INF_F ? step_exp2(soft.top[half] - top[half]) : 0;
        soft.sum[half] *= shrink;
        soft.top[half] = top[half];
        top[half] = top[half] > -CUDART_INF_F ? top[half] : 0; /* nothing seen yet: all weights are 0 */
#pragma unroll
        for (int c = 0; c < 4; c++)
            out[c / 2 * 4 + 2 * half + c % 2] *= shrink;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (!live[i])
            continue;
#pragma unroll
        for (int c = 0; c < 8; c++) {
            s[i][c] = step_exp2(s[i][c] * STEP_LOG2E - top[c / 2 % 2]);
            soft.sum[c / 2 % 2] += s[i][c];
        }
        step_tile_add(out, step_tile_pack(s[i]), u.post(MAIL_VALUE, h, word * 4 + i));
    }
}

/* The mixed values of one head; lse: log2 of the sum of each softmax. */
__device__ static inline step_tile step_tile_attend(const step_work &w, const step_tiled &u, int h,
                                                    float2 &lse)
{
    const step_tile query = u.post(MAIL_QUERY, h, u.m);
    step_tile_softmax soft = {{-CUDART_INF_F, -CUDART_INF_F}, {0, 0}};
    float out[8] = {};
#pragma unroll 1
    for (int word = 0; word < w.p.words; word++)
        step_tile_attend_word(w, u, h, word, query, soft, out);
    const float sum[2] = {step_quad_sum(soft.sum[0]), step_quad_sum(soft.sum[1])};
    const float share[2] = {__frcp_rn(sum[0]), __frcp_rn(sum[1])};
#pragma unroll
    for (int c = 0; c < 8; c++)
        out[c] *= share[c / 2 % 2];
    lse = float2{soft.top[0] + __logf(sum[0]) * STEP_LOG2E, soft.top[1] + __logf(sum[1]) * STEP_LOG2E};
    return step_tile_pack(out);
}

/* x += bias, the same in all rows. */
__device__ static inline void step_tile_bias(const float *bias, float (&x)[TILE_DIM][8])
{
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++) {
        float sum[8];
        step_tile_begin(bias + j * STEP_TILE, sum);
#pragma unroll
        for (int c = 0; c < 8; c++)
            x[j][c] += sum[c];
    }
}

/* Queries, keys and values, to where other warps find them; values as right factors. */
__device__ static inline void step_tile_project(const step_work &w, const step_tiled &u, int layer,
                                                const step_tile (&unit)[TILE_DIM])
{
    const step_matrix m = step_layer_matrix(w, layer, STEP_QKV);
    const step_weights weights = step_tiles_forward(w, m);
    const float *bias = w.p.folded + m.bias;
#pragma unroll 1
    for (int h = 0; h < TILE_HEADS; h++) {
        float sum[3][8];
#pragma unroll
        for (int i = 0; i < 3; i++)
            step_tile_begin(bias + (i * TILE_HEADS + h) * STEP_TILE, sum[i]);
        step_tile_product<TILE_DIM, 3>(unit, weights, h, TILE_HEADS, sum);
#pragma unroll
        for (int i = 0; i < 3; i++) {
            const step_tile tile = step_tile_pack(sum[i]);
            u.keep(layer * KEPT_LAYER + KEPT_QKV + i * TILE_HEADS + h, tile);
            u.post(MAIL_QUERY + i, h, u.m) = i == 2 ? step_tile_right(tile) : tile;
        }
    }
}

__device__ static inline void step_tile_merge(const step_work &w, const step_tiled &u, int layer,
                                              float (&x)[TILE_DIM][8])
{
    const step_matrix m = step_layer_matrix(w, layer, STEP_MERGE);
    const step_weights weights = step_tiles_forward(w, m);
    step_tile_bias(w.p.folded + m.bias, x);
#pragma unroll 1
    for (int h = 0; h < TILE_HEADS; h++) {
        float2 lse;
        const step_tile mixed = step_tile_attend(w, u, h, lse);
        u.keep(layer * KEPT_LAYER + KEPT_MIXED + h, mixed);
        u.keep_scale(layer * SCALE_LAYER + SCALE_SOFTMAX + h, lse.x, lse.y);
        step_tile_spread<TILE_DIM>(mixed, weights, h, x);
    }
}

__device__ static inline step_tile step_tile_relu(float (&sum)[8])
{
#pragma unroll
    for (int c = 0; c < 8; c++)
        sum[c] = sum[c] < 0 ? 0 : sum[c]; /* what is not a number stays so */
    return step_tile_pack(sum);
}

__device__ static inline void step_tile_mlp(const step_work &w, const step_tiled &u, int layer,
                                            const step_tile (&unit)[TILE_DIM], float (&x)[TILE_DIM][8])
{
    const step_matrix m1 = step_layer_matrix(w, layer, STEP_MLP1),
                      m2 = step_layer_matrix(w, layer, STEP_MLP2);
    const step_weights first = step_tiles_forward(w, m1), second = step_tiles_forward(w, m2);
    step_tile_bias(w.p.folded + m2.bias, x);
#pragma unroll 1
    for (int k = 0; k < TILE_MLP; k += 2) {
        float sum[2][8];
#pragma unroll
        for (int i = 0; i < 2; i++)
            step_tile_begin(w.p.folded + m1.bias + (k + i) * STEP_TILE, sum[i]);
        step_tile_product<TILE_DIM, 2>(unit, first, k, 1, sum);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const step_tile hidden = step_tile_relu(sum[i]);
            u.keep(layer * KEPT_LAYER + KEPT_HIDDEN + k + i, hidden);
            step_tile_spread<TILE_DIM>(hidden, second, k + i, x);
        }
    }
}

/* Rows of mean 0 and deviation 1, kept for the gradient with their scales. */
__device__ static inline void step_tile_keep_unit(const step_tiled &u, int scale_at, int kept_at,
                                                  const float (&x)[TILE_DIM][8], step_tile (&unit)[TILE_DIM])
{
    const float2 scale = step_tile_unit(x, unit);
    u.keep_scale(scale_at, scale.x, scale.y);
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++)
        u.keep(kept_at + j, unit[j]);
}

/* The first half of a layer: what other warps need of these rows. */
__device__ static inline void step_tile_offer(const step_work &w, const step_tiled &u, int layer,
                                              const float (&x)[TILE_DIM][8])
{
    step_tile unit[TILE_DIM];
    step_tile_keep_unit(u, layer * SCALE_LAYER + SCALE_UNIT1, layer * KEPT_LAYER + KEPT_UNIT1, x, unit);
    step_tile_project(w, u, layer, unit);
}

/* The MLP, x to x. */
__device__ static inline void step_tile_refine(const step_work &w, const step_tiled &u, int layer,
                                               float (&x)[TILE_DIM][8])
{
    step_tile unit[TILE_DIM];
    step_tile_keep_unit(u, layer * SCALE_LAYER + SCALE_UNIT2, layer * KEPT_LAYER + KEPT_UNIT2, x, unit);
    step_tile_mlp(w, u, layer, unit, x);
}

/* The second, x to x. */
__device__ static inline void step_tile_take(const step_work &w, const step_tiled &u, int layer,
                                             float (&x)[TILE_DIM][8])
{
    step_tile_merge(w, u, layer, x);
    step_tile_refine(w, u, layer, x);
}

/* One layer. By all warps: there are barriers in it. */
__device__ static inline void step_tile_layer(const step_work &w, const step_tiled &u, int layer,
                                              float (&x)[TILE_DIM][8])
{
    if (u.m < u.tiles)
        step_tile_offer(w, u, layer, x);
    __syncthreads();
    if (u.m < u.tiles)
        step_tile_take(w, u, layer, x);
    __syncthreads();
}

/* relu(unit w + bias) of a head's first layer. */
__device__ static inline void step_tile_hidden(const step_work &w, const step_tiled &u, const step_matrix &m,
                                               const step_tile (&unit)[TILE_DIM], int keep,
                                               step_tile (&hidden)[TILE_WIDTH])
{
    const step_weights weights = step_tiles_forward(w, m);
#pragma unroll
    for (int k = 0; k < TILE_WIDTH; k += 2) {
        float sum[2][8];
#pragma unroll
        for (int i = 0; i < 2; i++)
            step_tile_begin(w.p.folded + m.bias + (k + i) * STEP_TILE, sum[i]);
        step_tile_product<TILE_DIM, 2>(unit, weights, k, 1, sum);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            hidden[k + i] = step_tile_relu(sum[i]);
            u.keep(keep + k + i, hidden[k + i]);
        }
    }
}

/* Logits of additions by op and slot. */
__device__ static inline void step_tile_slots(const step_work &w, const step_tiled &u,
                                              const step_tile (&hidden)[TILE_WIDTH])
{
    const step_matrix m = step_head_matrix(w, STEP_FORWARD2);
    const step_weights weights = step_tiles_forward(w, m);
    for (int n = 0; n < step_tiles_of(w.z.slots); n++) {
        float sum[1][8] = {};
        step_tile_product<TILE_WIDTH, 1>(hidden, weights, n, 1, sum);
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int op = u.m * STEP_TILE + step_tile_row(c), slot = n * STEP_TILE + step_tile_column(c);
            if (op < w.p.ops && slot < w.z.slots)
                w.wide[op * w.z.slots + slot] = sum[0][c] + w.p.folded[m.bias + slot];
        }
    }
}

/* Logits of removals by op. */
__device__ static inline void step_tile_removals(const step_work &w, const step_tiled &u,
                                                 const step_tile (&hidden)[TILE_WIDTH])
{
    const float *weight = w.parameter + w.z.back2_weight;
    float logit[2] = {0, 0};
#pragma unroll
    for (int k = 0; k < TILE_WIDTH; k++) {
        float x[8];
        step_tile_unpack(hidden[k], x);
#pragma unroll
        for (int c = 0; c < 8; c++)
            logit[c / 2 % 2] += x[c] * weight[k * STEP_TILE + step_tile_column(c)];
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int op = u.m * STEP_TILE + step_tile_row(2 * half);
        const float sum = step_quad_sum(logit[half]);
        if (step_lane() % 4 == 0 && op < w.p.ops)
            w.back[op] = sum;
    }
}

__device__ static inline void step_tile_heads(const step_work &w, const step_tiled &u,
                                              const float (&x)[TILE_DIM][8])
{
    const int at = w.z.layers * KEPT_LAYER;
    step_tile unit[TILE_DIM], hidden[TILE_WIDTH];
    step_tile_keep_unit(u, w.z.layers * SCALE_LAYER, at + KEPT_TOP, x, unit);
    step_tile_hidden(w, u, step_head_matrix(w, STEP_FORWARD1), unit, at + KEPT_FORWARD, hidden);
    step_tile_slots(w, u, hidden);
    if (!w.z.learned)
        return;
    step_tile_hidden(w, u, step_head_matrix(w, STEP_BACK1), unit, at + KEPT_BACK, hidden);
    step_tile_removals(w, u, hidden);
}

/* From the state to the logits, by op: in w.wide and w.back. */
__device__ static inline void step_tile_forward(const step_work &w, const step_tiled &u)
{
    float x[TILE_DIM][8];
    if (u.m < u.tiles)
        step_tile_input(w, u, x);
#pragma unroll 1
    for (int layer = 0; layer < w.z.layers; layer++)
        step_tile_layer(w, u, layer, x);
    if (u.m < u.tiles)
        step_tile_heads(w, u, x);
    __syncthreads();
}
#endif
