/*
 * Gradients of the stepwise policy of the default widths. Blocks take partial schedules one after another:
 * forward, then back to the slopes of all rows, which they leave in global memory beside the rows themselves
 * (stepwise_tile_net.h). Then every matrix is one product of rows and slopes, over all schedules at once. Its
 * parts are added in a fixed order, so the result is the same bytes on every run.
 */
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_slope.h"
#include "backend/cuda/stepwise_tile_long.h"

/* ------------------------------------------------------------------ rows */

/* dx += the slopes of rows before their normalisation, from those behind it; unit: where those rows are kept.
 */
__device__ static inline void unit_back(const step_tiled &u, int unit, float2 scale,
                                        const float (&dy)[TILE_DIM][8], float (&dx)[TILE_DIM][8])
{
    const int dim = TILE_DIM * STEP_TILE;
    const float by[2] = {scale.x, scale.y};
    float mean[2] = {0, 0}, slope[2] = {0, 0}, y[TILE_DIM][8];
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++) {
        step_tile_unpack(u.fetch(unit + j), y[j]);
#pragma unroll
        for (int c = 0; c < 8; c++) {
            mean[c / 2 % 2] += dy[j][c];
            slope[c / 2 % 2] += dy[j][c] * y[j][c];
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        mean[half] = step_quad_sum(mean[half]) / dim;
        slope[half] = step_quad_sum(slope[half]) / dim;
    }
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++)
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int half = c / 2 % 2;
            dx[j][c] += (dy[j][c] - mean[half] - y[j][c] * slope[half]) * by[half];
        }
}

/* The slopes of rows that a relu cut. */
__device__ static inline step_tile gate(const step_tile &active, float (&slope)[8])
{
    float x[8];
    step_tile_unpack(active, x);
#pragma unroll
    for (int c = 0; c < 8; c++)
        slope[c] = x[c] > 0 ? slope[c] : 0;
    return step_tile_pack(slope);
}

__device__ static inline void clear(float (&x)[TILE_DIM][8])
{
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++)
#pragma unroll
        for (int c = 0; c < 8; c++)
            x[j][c] = 0;
}

/* Rounded, and kept. */
__device__ static inline void pack_rows(const step_tiled &u, int at, const float (&x)[TILE_DIM][8],
                                        step_tile (&packed)[TILE_DIM])
{
#pragma unroll
    for (int j = 0; j < TILE_DIM; j++) {
        packed[j] = step_tile_pack(x[j]);
        u.keep(at + j, packed[j]);
    }
}

/* ------------------------------------------------------------------ heads */

__device__ static inline bool has(const step_work &w, int op, int bit)
{
    return op < w.p.ops && (w.state[op] & bit) != 0;
}

/* Adds to du what comes from the logits of additions. */
__device__ static inline void slots_back(const step_work &w, const step_tiled &u, float (&du)[TILE_DIM][8])
{
    const int at = w.z.layers * KEPT_LAYER, tiles = step_tiles_of(w.z.slots);
    const step_weights first = step_tiles_turned(w, step_head_matrix(w, STEP_FORWARD1)),
                       second = step_tiles_turned(w, step_head_matrix(w, STEP_FORWARD2));
    float sum[TILE_WIDTH][8];
    clear(sum);
    for (int n = 0; n < tiles; n++) {
        float slope[8];
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int op = u.m * STEP_TILE + step_tile_row(c), slot = n * STEP_TILE + step_tile_column(c);
            slope[c] = slot < w.z.slots && has(w, op, STEP_IS_READY) ? w.wide[op * w.z.slots + slot] : 0;
        }
        const step_tile packed = step_tile_pack(slope);
        u.keep(at + KEPT_DSLOTS + n, packed);
        step_tile_spread<TILE_WIDTH>(packed, second, n, sum);
    }
#pragma unroll
    for (int k = 0; k < TILE_WIDTH; k++) {
        const step_tile slope = gate(u.fetch(at + KEPT_FORWARD + k), sum[k]);
        u.keep(at + KEPT_DFORWARD + k, slope);
        step_tile_spread<TILE_DIM>(slope, first, k, du);
    }
}

/* And from those of removals. */
__device__ static inline void removals_back(const step_work &w, const step_tiled &u, float (&du)[TILE_DIM][8])
{
    const int at = w.z.layers * KEPT_LAYER;
    const step_weights first = step_tiles_turned(w, step_head_matrix(w, STEP_BACK1));
    const float *weight = w.parameter + w.z.back2_weight;
    float slope[2], column[8];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int op = u.m * STEP_TILE + step_tile_row(2 * half);
        slope[half] = has(w, op, STEP_IS_REMOVABLE) ? w.back[op] : 0;
    }
#pragma unroll
    for (int c = 0; c < 8; c++)
        column[c] = step_tile_column(c) == 0 ? slope[c / 2 % 2] : 0;
    u.keep(at + KEPT_DREMOVAL, step_tile_pack(column));
#pragma unroll
    for (int k = 0; k < TILE_WIDTH; k++) {
        float sum[8];
#pragma unroll
        for (int c = 0; c < 8; c++)
            sum[c] = slope[c / 2 % 2] * weight[k * STEP_TILE + step_tile_column(c)];
        const step_tile packed = gate(u.fetch(at + KEPT_BACK + k), sum);
        u.keep(at + KEPT_DBACK + k, packed);
        step_tile_spread<TILE_DIM>(packed, first, k, du);
    }
}

/* ------------------------------------------------------------------ attention */

/* Of all rows, for the warps that need others' rows: [heads, rows]. In shared memory. */
struct row_sums {
    float *lse, *mean;
    int rows;
};

/* What a warp's rows and those of another have to do with one another: its own side. */
struct own_side {
    step_tile query, key, value, dy;
    float2 lse, mean;                    /* of its queries */
    float dquery[8], dkey[8], dvalue[8]; /* sums */
};

/* Slopes of the warp's queries, by the keys and values of tile `to`. */
__device__ static inline void add_queries(const step_work &w, const step_tiled &u, int h, int to,
                                          own_side &own)
{
    const int row[2] = {step_tile_near(w, u.m * STEP_TILE + step_tile_row(0)),
                        step_tile_near(w, u.m * STEP_TILE + step_tile_row(2))};
    const int shift = to % 2 * STEP_TILE, column = step_lane() % 4 * 2;
    const unsigned all[2] = {step_tile_sees(w, row[0], h, to / 4, to / 2 % 2) >> shift,
                             step_tile_sees(w, row[1], h, to / 4, to / 2 % 2) >> shift};
    const unsigned see[2] = {all[0] >> column, all[1] >> column};
    if (!__any_sync(sked_step_all, ((all[0] | all[1]) & 0xffff) != 0))
        return;
    const float lse[2] = {own.lse.x, own.lse.y}, mean[2] = {own.mean.x, own.mean.y};
    const step_tile key = u.post(MAIL_KEY, h, to);
    float s[8] = {}, slope[8] = {};
    step_tile_add_turned(s, own.query, key);
    step_tile_add_turned(slope, own.dy, u.post(MAIL_VALUE, h, to));
#pragma unroll
    for (int c = 0; c < 8; c++) {
        const float weight = step_exp2(s[c] * STEP_LOG2E - lse[c / 2 % 2]);
        slope[c] = see[c / 2 % 2] & step_tile_bit(c, 0) ? weight * (slope[c] - mean[c / 2 % 2]) : 0;
    }
    step_tile_add(own.dquery, step_tile_pack(slope), step_tile_right(key));
}

/* Slopes of the warp's keys and values, by the queries of tile `from`. */
__device__ static inline void add_keys(const step_work &w, const step_tiled &u, const row_sums &r, int h,
                                       int from, own_side &own)
{
    const int shift = u.m % 2 * STEP_TILE, column = from * STEP_TILE + step_lane() % 4 * 2;
    unsigned see[4], any = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int op = column + i / 2 * 8 + i % 2;
        see[i] = op < w.p.ops ? step_tile_sees(w, op, h, u.m / 4, u.m / 2 % 2) >> shift : 0;
        any |= see[i] & 0xffff;
        see[i] >>= step_lane() / 4;
    }
    if (!__any_sync(sked_step_all, any != 0))
        return;
    const step_tile query = u.post(MAIL_QUERY, h, from), dy = u.post(MAIL_SLOPE, h, from);
    float s[8] = {}, slope[8] = {};
    step_tile_add_turned(s, own.key, query);
    step_tile_add_turned(slope, own.value, dy);
#pragma unroll
    for (int high = 0; high < 2; high++) {
        const float2 lse = *(const float2 *)(r.lse + h * r.rows + column + high * 8),
                     mean = *(const float2 *)(r.mean + h * r.rows + column + high * 8);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int c = high * 4 + i;
            const bool seen = see[high * 2 + i % 2] & (i < 2 ? 1u : 1u << 8);
            const float weight = step_exp2(s[c] * STEP_LOG2E - (i % 2 == 0 ? lse.x : lse.y));
            s[c] = seen ? weight : 0;
            slope[c] = s[c] * (slope[c] - (i % 2 == 0 ? mean.x : mean.y));
        }
    }
    step_tile_add(own.dkey, step_tile_pack(slope), step_tile_right(query));
    step_tile_add(own.dvalue, step_tile_pack(s), step_tile_right(dy));
}

/* Slopes of queries, keys and values of the warp's rows, one head. */
template <bool TURNS>
__device__ static inline void head_back(const step_work &w, const step_tiled &u, const row_sums &r, int h,
                                        step_tile (&slope)[3])
{
    const int row = h * r.rows + u.m * STEP_TILE + step_tile_row(0);
    own_side own = {u.post(MAIL_QUERY, h, u.m),
                    u.post(MAIL_KEY, h, u.m),
                    u.post(MAIL_VALUE, h, u.m),
                    u.post(MAIL_SLOPE, h, u.m),
                    {r.lse[row], r.lse[row + 8]},
                    {r.mean[row], r.mean[row + 8]},
                    {},
                    {},
                    {}};
#pragma unroll 1
    for (int other = 0; other < u.tiles; other++) {
        if (!TURNS || step_is_live(w, u.tiles, h, u.m, other))
            add_queries(w, u, h, other, own);
        if (!TURNS || step_is_live(w, u.tiles, h, other, u.m))
            add_keys(w, u, r, h, other, own);
    }
    slope[0] = step_tile_pack(own.dquery);
    slope[1] = step_tile_pack(own.dkey);
    slope[2] = step_tile_pack(own.dvalue);
}

/* What other warps need of these rows: queries, keys, values, slopes of the mixed values and their sums. */
__device__ static inline void post_rows(const step_work &w, const step_tiled &u, const row_sums &r, int layer,
                                        const step_tile (&dy)[TILE_DIM])
{
    const step_weights merge = step_tiles_turned(w, step_layer_matrix(w, layer, STEP_MERGE));
    const int at = layer * KEPT_LAYER;
#pragma unroll 1
    for (int h = 0; h < TILE_HEADS; h++) {
        float sum[1][8] = {}, mixed[8], mean[2] = {0, 0};
        step_tile_unpack(u.fetch(at + KEPT_MIXED + h), mixed);
        step_tile_product<TILE_DIM, 1>(dy, merge, h, 1, sum);
        u.post(MAIL_SLOPE, h, u.m) = step_tile_pack(sum[0]);
#pragma unroll
        for (int i = 0; i < 3; i++)
            u.post(MAIL_QUERY + i, h, u.m) = u.fetch(at + KEPT_QKV + i * TILE_HEADS + h);
#pragma unroll
        for (int c = 0; c < 8; c++)
            mean[c / 2 % 2] += sum[0][c] * mixed[c];
        const float2 lse = u.fetch_scale(layer * SCALE_LAYER + SCALE_SOFTMAX + h);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = h * r.rows + u.m * STEP_TILE + step_tile_row(2 * half);
            const float all = step_quad_sum(mean[half]);
            if (step_lane() % 4 == 0) {
                r.mean[row] = all;
                r.lse[row] = half == 0 ? lse.x : lse.y;
            }
        }
    }
}

/* ------------------------------------------------------------------ layers */

__device__ static inline void mlp_back(const step_work &w, const step_tiled &u, int layer,
                                       float (&dx)[TILE_DIM][8])
{
    const step_weights first = step_tiles_turned(w, step_layer_matrix(w, layer, STEP_MLP1)),
                       second = step_tiles_turned(w, step_layer_matrix(w, layer, STEP_MLP2));
    const int at = layer * KEPT_LAYER;
    step_tile dy[TILE_DIM];
    float du[TILE_DIM][8];
    clear(du);
    pack_rows(u, at + KEPT_DOUT, dx, dy);
#pragma unroll 1
    for (int k = 0; k < TILE_MLP; k += 2) {
        float sum[2][8] = {};
        const step_tile active[2] = {u.fetch(at + KEPT_HIDDEN + k), u.fetch(at + KEPT_HIDDEN + k + 1)};
        step_tile_product<TILE_DIM, 2>(dy, second, k, 1, sum);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const step_tile slope = gate(active[i], sum[i]);
            u.keep(at + KEPT_DHIDDEN + k + i, slope);
            step_tile_spread<TILE_DIM>(slope, first, k + i, du);
        }
    }
    unit_back(u, at + KEPT_UNIT2, u.fetch_scale(layer * SCALE_LAYER + SCALE_UNIT2), du, dx);
}

template <bool TURNS>
__device__ static inline void attention_back(const step_work &w, const step_tiled &u, const row_sums &r,
                                             int layer, float (&dx)[TILE_DIM][8])
{
    const step_weights project = step_tiles_turned(w, step_layer_matrix(w, layer, STEP_QKV));
    const int at = layer * KEPT_LAYER;
    float du[TILE_DIM][8];
    clear(du);
#pragma unroll 1
    for (int h = 0; h < TILE_HEADS; h++) {
        step_tile slope[3];
        head_back<TURNS>(w, u, r, h, slope);
#pragma unroll
        for (int i = 0; i < 3; i++) {
            u.keep(at + KEPT_DQKV + i * TILE_HEADS + h, slope[i]);
            step_tile_spread<TILE_DIM>(slope[i], project, i * TILE_HEADS + h, du);
        }
    }
    unit_back(u, at + KEPT_UNIT1, u.fetch_scale(layer * SCALE_LAYER + SCALE_UNIT1), du, dx);
}

/* Back through a layer to what other warps need of these rows. */
__device__ static inline void offer_back(const step_work &w, const step_tiled &u, const row_sums &r,
                                         int layer, float (&dx)[TILE_DIM][8])
{
    step_tile dy[TILE_DIM];
    mlp_back(w, u, layer, dx);
    pack_rows(u, layer * KEPT_LAYER + KEPT_DMIDDLE, dx, dy);
    post_rows(w, u, r, layer, dy);
}

/* By all warps: there are barriers in it. */
__device__ static inline void layer_back(const step_work &w, const step_tiled &u, const row_sums &r,
                                         int layer, float (&dx)[TILE_DIM][8])
{
    if (u.m < u.tiles)
        offer_back(w, u, r, layer, dx);
    __syncthreads();
    if (u.m < u.tiles)
        attention_back<false>(w, u, r, layer, dx);
    __syncthreads();
}

/* The features as rows, for the gradient of the input matrix. */
__device__ static inline void keep_features(const step_work &w, const step_tiled &u)
{
    const int at = step_kept_features(w.z);
    float f[2][SKED_I_STEP_FEATURES];
    int device[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int op = step_tile_near(w, u.m * STEP_TILE + step_tile_row(2 * half));
        step_features(w, op, f[half]);
        device[half] = step_device_feature(w, op);
    }
    for (int n = 0; n < step_tiles_of(w.z.inputs); n++) {
        float x[8];
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int column = n * STEP_TILE + step_tile_column(c), half = c / 2 % 2;
            x[c] = column == device[half] ? 1 : 0;
#pragma unroll
            for (int j = 0; j < SKED_I_STEP_FEATURES; j++)
                x[c] = column == j ? f[half][j] : x[c];
        }
        u.keep(at + n, step_tile_pack(x));
    }
}

/* ------------------------------------------------------------------ states */

/* From the slopes of the logits to those of the last layer's rows. */
__device__ static inline void heads_back(const step_work &w, const step_tiled &u, float (&dx)[TILE_DIM][8])
{
    float du[TILE_DIM][8];
    clear(du);
    clear(dx);
    slots_back(w, u, du);
    if (w.z.learned)
        removals_back(w, u, du);
    unit_back(u, w.z.layers * KEPT_LAYER + KEPT_TOP, u.fetch_scale(w.z.layers * SCALE_LAYER), du, dx);
}

__device__ static inline void input_back(const step_work &w, const step_tiled &u,
                                         const float (&dx)[TILE_DIM][8])
{
    step_tile packed[TILE_DIM];
    pack_rows(u, w.z.layers * KEPT_LAYER + KEPT_DX, dx, packed);
    keep_features(w, u);
}

__device__ static void state_back(const step_work &w, const step_tiled &u, const row_sums &r)
{
    float dx[TILE_DIM][8];
    if (u.m < u.tiles)
        heads_back(w, u, dx);
#pragma unroll 1
    for (int layer = w.z.layers - 1; layer >= 0; layer--)
        layer_back(w, u, r, layer, dx);
    if (u.m < u.tiles)
        input_back(w, u, dx);
}

/* The same by warps that take tiles in turn; slopes wait where rows did. */
__device__ static void long_back(const step_work &w, const step_long &l, const row_sums &r)
{
    float dx[TILE_DIM][8];
    step_long_each(l, [&](const step_tiled &u) {
        heads_back(w, u, dx);
        step_long_write(l, u.m, dx);
    });
#pragma unroll 1
    for (int layer = w.z.layers - 1; layer >= 0; layer--) {
        step_long_each(l, [&](const step_tiled &u) {
            step_long_read(l, u.m, dx);
            offer_back(w, u, r, layer, dx);
            step_long_write(l, u.m, dx);
        });
        __syncthreads();
        step_long_each(l, [&](const step_tiled &u) {
            step_long_read(l, u.m, dx);
            attention_back<true>(w, u, r, layer, dx);
            step_long_write(l, u.m, dx);
        });
        __syncthreads();
    }
    step_long_each(l, [&](const step_tiled &u) {
        step_long_read(l, u.m, dx);
        input_back(w, u, dx);
    });
}

/* The state before `step` of trajectory k, by `forward` and `back`. */
template <class F, class B>
__device__ static inline void keep_state(step_work &w, int k, int step, F forward, B back)
{
    step_read_state(w, k, step);
    __syncthreads();
    if (threadIdx.x < SKED_STEP_WARP)
        step_pick_rows(w, k);
    forward();
    if (threadIdx.x < SKED_STEP_WARP)
        step_slopes(w, k, step);
    __syncthreads();
    back();
    __syncthreads();
}

/* States of a problem within a pass, and where their rows are kept. */
struct span {
    int64_t first, count; /* of the problem's states */
    int64_t tile;         /* its first row tile in the pass */
};
__device__ static span span_of(const step_load &load, const step_pass &pass, int problem)
{
    span s = {0, 0, 0};
    int64_t before = 0;
    for (int i = 0; i <= problem; i++) {
        const step_problem &p = load.problem[i];
        const int64_t states = (int64_t)p.batch * (p.ops + 1), low = pass.from - before,
                      high = pass.end - before;
        s.tile += i > 0 ? s.count * step_tiles_of(load.problem[i - 1].ops) : 0;
        s.first = low < 0 ? 0 : low < states ? low : states;
        s.count = (high < 0 ? 0 : high < states ? high : states) - s.first;
        before += states;
    }
    return s;
}

/* A state whose row tiles are kept from here on, by warps with a tile each. */
__device__ static inline void keep_tiles(step_work &w, const step_load &load, const row_sums &r,
                                         const step_long &at, int k, int step)
{
    SKED_DYNAMIC_SHARED(float, shared);
    step_tile *mail = (step_tile *)(shared + load.places.mail);
    step_tiled u = step_long_tile(at, threadIdx.x / SKED_STEP_WARP);
    u.query = mail;
    u.mail = mail + step_mail_lanes(u.tiles);
    keep_state(
        w, k, step, [&]() { step_tile_forward(w, u); }, [&]() { state_back(w, u, r); });
}
__device__ static inline void keep_long(step_work &w, const step_load &load, const row_sums &r,
                                        const step_long &at, int k, int step)
{
    SKED_DYNAMIC_SHARED(float, shared);
    step_tile *mail =
        (step_tile *)step_place(load.places.mail, shared, load.scratch + blockIdx.x * load.stride);
    step_long l = at;
    l.first.query = (step_tile *)w.narrow;
    l.first.mail = mail;
    l.x = (float4 *)w.x;
    keep_state(
        w, k, step, [&]() { step_long_forward(w, l); }, [&]() { long_back(w, l, r); });
}

template <bool TURNS, int THREADS, int RESIDENT>
__global__ static void __launch_bounds__(THREADS, RESIDENT)
    states_kernel(const __grid_constant__ step_load load, const __grid_constant__ step_pass pass)
{
    SKED_DYNAMIC_SHARED(float, shared);
    __shared__ step_work w;
    const int record = step_kept_tiles(load.net) * SKED_STEP_WARP,
              scales = step_kept_scales(load.net) * SKED_STEP_WARP;
    int64_t item = blockIdx.x;
    for (int i = 0; i < load.problems; i++) {
        const span s = span_of(load, pass, i);
        const int tiles = step_tiles_of(load.problem[i].ops), rows = tiles * STEP_TILE;
        if (tiles != pass.tiles)
            continue;
        float *sums = step_place(load.places.sums, shared, load.scratch + blockIdx.x * load.stride);
        const row_sums r = {sums, sums + TILE_HEADS * rows, rows};
        if (item < s.count)
            step_open(load, i, shared, w);
        __syncthreads();
        for (; item < s.count; item += gridDim.x) {
            const int64_t state = s.first + item, tile = s.tile + item * tiles;
            const step_tiled first = {
                NULL, NULL, 0, tiles, pass.kept + tile * record, pass.scale + tile * scales};
            const step_long at = {first, NULL, record, scales};
            const int k = (int)(state / (w.p.ops + 1)), step = (int)(state % (w.p.ops + 1));
            if (TURNS)
                keep_long(w, load, r, at, k, step);
            else
                keep_tiles(w, load, r, at, k, step);
        }
        item -= s.count;
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ matrices */

enum { OUTER_SIDE = STEP_OUTER_TILES, OUTER_WARPS = 4 };

/* Tiles [at, at + count) of a row tile; the others are 0. */
__device__ static inline void load_side(const step_tile *record, int at, int count,
                                        step_tile (&to)[OUTER_SIDE])
{
#pragma unroll
    for (int i = 0; i < OUTER_SIDE; i++)
        if (i < count)
            to[i] = record[(at + i) * SKED_STEP_WARP + step_lane()];
        else
            to[i] = step_tile{};
}

__device__ static inline void add_outer(const step_tile (&a)[OUTER_SIDE], const step_tile (&y)[OUTER_SIDE],
                                        float (&sum)[OUTER_SIDE][OUTER_SIDE][8], float (&bias)[OUTER_SIDE][8])
{
    const step_two one = step_pack(1, 1);
    const step_tile ones = {{one, one, one, one}};
    step_tile left[OUTER_SIDE];
#pragma unroll
    for (int i = 0; i < OUTER_SIDE; i++)
        left[i] = step_tile_turn(a[i]);
#pragma unroll
    for (int j = 0; j < OUTER_SIDE; j++) {
        const step_tile right = step_tile_right(y[j]);
#pragma unroll
        for (int i = 0; i < OUTER_SIDE; i++)
            step_tile_add(sum[i][j], left[i], right);
        step_tile_add(bias[j], ones, right);
    }
}

__device__ static inline void write_outer(const step_outer_job &job,
                                          const float (&sum)[OUTER_SIDE][OUTER_SIDE][8],
                                          const float (&bias)[OUTER_SIDE][8], float *to)
{
#pragma unroll
    for (int i = 0; i < OUTER_SIDE; i++)
#pragma unroll
        for (int j = 0; j < OUTER_SIDE; j++)
#pragma unroll
            for (int c = 0; c < 8; c++) {
                const int row = i * STEP_TILE + step_tile_row(c),
                          column = j * STEP_TILE + step_tile_column(c);
                if (row < job.rows && column < job.columns)
                    to[job.dweight + row * job.width + column] += sum[i][j][c];
            }
#pragma unroll
    for (int j = 0; j < OUTER_SIDE; j++)
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int column = j * STEP_TILE + step_tile_column(c);
            if (job.dbias >= 0 && step_tile_row(c) == 0 && column < job.columns)
                to[job.dbias + column] += bias[j][c];
        }
}

/* A warp takes a piece of one matrix over one part of a problem's rows. Blocks: (part, jobs, problem). */
__global__ static void __launch_bounds__(OUTER_WARPS *SKED_STEP_WARP, 2)
    outer_kernel(const __grid_constant__ step_load load, const __grid_constant__ step_pass pass,
                 float *gradients, int64_t size)
{
    const int number = blockIdx.y * OUTER_WARPS + threadIdx.x / SKED_STEP_WARP;
    const step_problem &p = load.problem[blockIdx.z];
    if (number >= pass.jobs || (int)blockIdx.x >= p.n_blocks)
        return;
    const step_outer_job job = pass.job[number];
    const span s = span_of(load, pass, blockIdx.z);
    const int64_t count = s.count * step_tiles_of(p.ops), record = step_kept_tiles(load.net) * SKED_STEP_WARP,
                  first = s.tile + count * blockIdx.x / p.n_blocks,
                  end = s.tile + count * (blockIdx.x + 1) / p.n_blocks;
    float sum[OUTER_SIDE][OUTER_SIDE][8] = {}, bias[OUTER_SIDE][8] = {};
    step_tile a[OUTER_SIDE], y[OUTER_SIDE], next_a[OUTER_SIDE], next_y[OUTER_SIDE];
    if (first >= end)
        return;
    load_side(pass.kept + first * record, job.a, step_tiles_of(job.rows), next_a);
    load_side(pass.kept + first * record, job.y, step_tiles_of(job.columns), next_y);
    for (int64_t tile = first; tile < end; tile++) {
        const step_tile *after = pass.kept + (tile + 1 < end ? tile + 1 : tile) * record;
#pragma unroll
        for (int i = 0; i < OUTER_SIDE; i++) {
            a[i] = next_a[i];
            y[i] = next_y[i];
        }
        load_side(after, job.a, step_tiles_of(job.rows), next_a);
        load_side(after, job.y, step_tiles_of(job.columns), next_y);
        add_outer(a, y, sum, bias);
    }
    write_outer(job, sum, bias, gradients + (p.first_block + (int64_t)blockIdx.x) * size);
}

/* ------------------------------------------------------------------ launches */

typedef void (*states_function)(step_load, step_pass);
static states_function states_of(bool turns, int threads)
{
    if (turns)
        return states_kernel<true, LONG_WARPS * SKED_STEP_WARP, 1>;
    return threads <= TILE_FEW ? states_kernel<false, TILE_FEW, TILE_RESIDENT>
                               : states_kernel<false, SKED_STEP_THREADS, 1>;
}

void sked_i_step_tile_states(const step_load *load, const step_pass *pass, bool turns, int threads,
                             int blocks, size_t shared, cudaStream_t stream)
{
    SKED_LAUNCH(states_of(turns, threads), blocks, threads, shared, stream, *load, *pass);
}

void sked_i_step_tile_outer(const step_load *load, const step_pass *pass, int parts, float *gradients,
                            int64_t size, cudaStream_t stream)
{
    const dim3 grid((unsigned)parts, sked_i_blocks_of(pass->jobs, OUTER_WARPS), (unsigned)load->problems);
    SKED_LAUNCH(outer_kernel, grid, OUTER_WARPS * SKED_STEP_WARP, 0, stream, *load, *pass, gradients, size);
}

cudaError_t sked_i_step_tile_allow(size_t shared, bool turns, int threads, int *blocks)
{
    const states_function states = states_of(turns, threads);
    const cudaError_t code =
        cudaFuncSetAttribute(states, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    return code != cudaSuccess
               ? code
               : cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, states, threads, shared);
}
