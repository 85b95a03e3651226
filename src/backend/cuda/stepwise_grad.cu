/*
 * Gradients of the stepwise policy: a block of threads takes one partial schedule after another, encodes it
 * once more, keeping what the way back needs in global memory, and adds to a gradient of its own. Blocks are
 * added in order at the end (stepwise_fold.cu), so the result is the same bytes on every run.
 */
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_slope.h"

/* The gradient of the block, and of one matrix in it. */
struct sums {
    float *at;
    __device__ float *weight(const step_matrix &m) const
    {
        return at + m.dweight;
    }
    __device__ float *bias(const step_matrix &m) const
    {
        return at + m.dbias;
    }
};

/* Kept rows back into rows that products read. */
__device__ __noinline__ static void fetch(const float *__restrict__ kept, int rows, int columns,
                                          float *__restrict__ to, int ld)
{
    const int quads = columns / 4;
#pragma unroll 8
    for (int k = threadIdx.x; k < rows * quads; k += blockDim.x) {
        const int r = k / quads, c = (k - r * quads) * 4;
        *(float4 *)(to + (int64_t)r * ld + c) = *(const float4 *)(kept + (int64_t)k * 4);
    }
}

/* Through the normalisation: dx = base (NULL: 0) + ..., all rows of the same length in memory. */
__device__ __noinline__ static void unit_grad(int rows, int dim, const float *y, const float *rstd,
                                              const float *dy, const float *base, float *dx)
{
    const int ld = dim + SKED_STEP_PAD, stride = 4 * SKED_STEP_LANES;
    step_each_row(rows, [=](int r, int column) {
        const int64_t row = (int64_t)r * ld;
        const int end = r >= 0 ? dim : 0;
        float sum = 0, along = 0;
        for (int c = column; c < end; c += stride) {
            const float4 d = *(const float4 *)(dy + row + c), v = *(const float4 *)(y + row + c);
            sum += step_four(d);
            along += step_four(float4{d.x * v.x, d.y * v.y, d.z * v.z, d.w * v.w});
        }
        const float mean = step_lanes_sum(sum) / dim, slope = step_lanes_sum(along) / dim;
        const float scale = r >= 0 ? rstd[r] : 0;
        for (int c = column; c < end; c += stride) {
            const float4 d = *(const float4 *)(dy + row + c), v = *(const float4 *)(y + row + c);
            float4 b = {0, 0, 0, 0};
            if (base != NULL)
                b = *(const float4 *)(base + row + c);
            *(float4 *)(dx + row + c) =
                float4{b.x + (d.x - mean - v.x * slope) * scale, b.y + (d.y - mean - v.y * slope) * scale,
                       b.z + (d.z - mean - v.z * slope) * scale, b.w + (d.w - mean - v.w * slope) * scale};
        }
    });
}

/* ------------------------------------------------------------------ from the action to the rows */

/* The second layers of both heads: slopes of their hidden rows beside the logits in wide. */
__device__ static step_rows heads_second(const step_work &w, const sums &g)
{
    const step_net &z = w.z;
    const int forward = w.count[0], back = w.count[1], ld = step_wide_ld(z),
              active_ld = z.width + SKED_STEP_PAD;
    const step_rows dhidden = {w.wide + z.slots, ld, NULL, forward};
    if (forward > 0) {
        const step_matrix m = step_head_matrix(w, STEP_FORWARD2);
        const step_rows active = step_all_rows(w.deep, z.width, forward),
                        dlogit = {w.wide, ld, NULL, forward};
        step_ending e = {};
        e.to = dhidden;
        e.gate = active;
        e.round = true;
        step_product(dlogit, step_turned(w, m, 0, z.slots), e);
        step_outer(active, z.width, dlogit, z.slots, g.weight(m), z.slots, g.bias(m));
    }
    for (int c = threadIdx.x; c < z.width && back > 0; c += blockDim.x) {
        const float weight = w.parameter[z.back2_weight + c];
        float sum = 0;
        for (int r = 0; r < back; r++) {
            const float active = w.deep[(int64_t)(forward + r) * active_ld + c];
            sum += w.back[r] * active;
            w.wide[(int64_t)(forward + r) * ld + z.slots + c] =
                active > 0 ? step_round(w.back[r] * weight) : 0;
        }
        g.at[z.dback2 + c] += sum;
    }
    return dhidden;
}

/* From the slopes of the logits to top, the slopes of the rows of the last layer. u: [rows, dim] as it was.
 */
__device__ __noinline__ static void heads_grad(const step_work &w, const sums &g, float *u, float *t)
{
    const step_net &z = w.z;
    const int forward = w.count[0], back = w.count[1], ld = z.dim + SKED_STEP_PAD;
    const step_rows dhidden = heads_second(w, g);
    __syncthreads();
    step_ending e = {};
    for (int side = 0; side < 2; side++) {
        const int first = side == 0 ? 0 : forward, count = side == 0 ? forward : back;
        if (count == 0)
            continue;
        const step_matrix m = step_head_matrix(w, side == 0 ? STEP_FORWARD1 : STEP_BACK1);
        const step_rows dy = {dhidden.at + (int64_t)first * dhidden.ld, dhidden.ld, NULL, count};
        e.to = step_all_rows(t + (int64_t)first * ld, z.dim, count);
        step_product(dy, step_turned(w, m, 0, z.width), e);
        step_outer(step_all_rows(u + (int64_t)first * ld, z.dim, count), z.dim, dy, z.width, g.weight(m),
                   z.width, g.bias(m));
    }
    __syncthreads();
    unit_grad(forward + back, z.dim, u, w.rstd, t, NULL, w.top);
    __syncthreads();
}

/* ------------------------------------------------------------------ attention */

/* From dy of the mixed values to the slopes of queries, keys and values, in the places those have. */
struct attend_call {
    step_attention v;
    step_rows dy; /* [queries, inner] */
    const float *lse, *mean;
    float *to;
    int ld;
};

/* Weight and slope of its score, of one tile: p and ds, from scores s and dp = dy . value. */
__device__ static inline void score_slope(bool seen, float s, float dp, float lse, float mean, float &weight,
                                          float &slope)
{
    weight = seen ? __expf(s - lse) : 0;
    slope = step_round(weight * (dp - mean));
    weight = step_round(weight);
}

/* Slopes of 16 queries of one head. */
__device__ static void query_grad_tile(const attend_call &call, int h, int m)
{
    const step_attention &v = call.v;
    const step_rows &dy = call.dy;
    const float *lse = call.lse, *mean = call.mean;
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4, head = v.head;
    const int r0 = m * 16 + g, r1 = r0 + 8, last = v.rows - 1;
    const int near[2] = {r0 < last ? r0 : last, r1 < last ? r1 : last};
    const float *dy0 = dy.near(r0) + h * head, *dy1 = dy.near(r1) + h * head;
    for (int column = 0; column < head; column += 16) {
        float out[2][4] = {};
        for (int n = 0; n < (v.ops + 7) / 8; n++) {
            const uint64_t see[2] = {v.sees(near[0], h, n / 8) >> n % 8 * 8,
                                     v.sees(near[1], h, n / 8) >> n % 8 * 8};
            if (!__any_sync(sked_step_all, ((see[0] | see[1]) & 0xff) != 0))
                continue;
            float s[4] = {}, dp[4] = {}, slope[4], weight;
            step_dots(head, v.query(r0, h), v.query(r1, h), v.key(n * 8 + g, h), s);
            step_dots(head, dy0, dy1, v.value(n * 8 + g, h), dp);
            for (int c = 0; c < 4; c++) {
                const int at = near[c / 2] * SKED_I_HEADS + h;
                score_slope(see[c / 2] >> (2 * t + c % 2) & 1, s[c], dp[c], lse[at], mean[at], weight,
                            slope[c]);
            }
            const float a[4] = {slope[0], slope[2], slope[1], slope[3]};
            const float *b0 = v.key(n * 8 + 2 * t, h) + column + g,
                        *b1 = v.key(n * 8 + 2 * t + 1, h) + column + g;
#pragma unroll
            for (int o = 0; o < 2; o++)
                if (column + 8 * o < head)
                    step_mma(out[o], a, float2{b0[8 * o], b1[8 * o]});
        }
#pragma unroll
        for (int c = 0; c < 4; c++)
#pragma unroll
            for (int o = 0; o < 2; o++)
                if (column + 8 * o < head && r0 + c / 2 * 8 <= last)
                    call.to[(int64_t)(r0 + c / 2 * 8) * call.ld + h * head + column + 8 * o + 2 * t + c % 2] =
                        step_round(out[o][c]);
    }
}

/* Slopes of 16 keys and values of one head. */
__device__ static void key_grad_tile(const attend_call &call, int h, int m)
{
    const step_attention &v = call.v;
    const step_rows &dy = call.dy;
    const float *lse = call.lse, *mean = call.mean;
    const int lane = threadIdx.x % SKED_STEP_WARP, g = lane / 4, t = lane % 4, head = v.head;
    const int inner = v.inner, j0 = m * 16 + g, last = v.rows - 1;
    for (int column = 0; column < head; column += 16) {
        float dkey[2][4] = {}, dvalue[2][4] = {};
        for (int n = 0; n < (v.rows + 7) / 8; n++) {
            const int i[2] = {n * 8 + 2 * t, n * 8 + 2 * t + 1};
            const int near[2] = {i[0] < last ? i[0] : last, i[1] < last ? i[1] : last};
            uint64_t see[2];
            for (int c = 0; c < 2; c++)
                see[c] = i[c] <= last ? v.sees(near[c], h, m / 4) >> m % 4 * 16 : 0;
            if (!__any_sync(sked_step_all, ((see[0] | see[1]) & 0xffff) != 0))
                continue;
            float s[4] = {}, dp[4] = {}, slope[4], weight[4];
            step_dots(head, v.key(j0, h), v.key(j0 + 8, h), v.query(n * 8 + g, h), s);
            step_dots(head, v.value(j0, h), v.value(j0 + 8, h), dy.near(n * 8 + g) + h * head, dp);
            for (int c = 0; c < 4; c++) {
                const int at = near[c % 2] * SKED_I_HEADS + h;
                score_slope(see[c % 2] >> (g + c / 2 * 8) & 1, s[c], dp[c], lse[at], mean[at], weight[c],
                            slope[c]);
            }
            const float a[4] = {slope[0], slope[2], slope[1], slope[3]};
            const float b[4] = {weight[0], weight[2], weight[1], weight[3]};
            const float *q0 = v.query(i[0], h) + column + g, *q1 = v.query(i[1], h) + column + g;
            const float *y0 = dy.near(i[0]) + h * head + column + g,
                        *y1 = dy.near(i[1]) + h * head + column + g;
#pragma unroll
            for (int o = 0; o < 2; o++)
                if (column + 8 * o < head) {
                    step_mma(dkey[o], a, float2{q0[8 * o], q1[8 * o]});
                    step_mma(dvalue[o], b, float2{y0[8 * o], y1[8 * o]});
                }
        }
#pragma unroll
        for (int c = 0; c < 4; c++)
#pragma unroll
            for (int o = 0; o < 2; o++)
                if (column + 8 * o < head && j0 + c / 2 * 8 < v.ops) {
                    float *at = call.to + (int64_t)(j0 + c / 2 * 8) * call.ld + inner + h * head + column +
                                8 * o + 2 * t + c % 2;
                    at[0] = step_round(dkey[o][c]);
                    at[inner] = step_round(dvalue[o][c]);
                }
    }
}

/* All of them. */
template <bool INSIDE> __device__ static inline void attend_grad_tiles(const attend_call &shared)
{
    attend_call call = shared;
    call.v.qkv = step_inside<INSIDE>(shared.v.qkv);
    call.dy.at = (float *)step_inside<INSIDE>(shared.dy.at);
    const int warps = blockDim.x / SKED_STEP_WARP;
    const int queries = (call.v.rows + 15) / 16 * SKED_I_HEADS, keys = (call.v.ops + 15) / 16 * SKED_I_HEADS;
    for (int k = threadIdx.x / SKED_STEP_WARP; k < queries + keys; k += warps) {
        const int q = k - keys; /* keys first: they take longer */
        if (q < 0)
            key_grad_tile(call, k % SKED_I_HEADS, k / SKED_I_HEADS);
        else
            query_grad_tile(call, q % SKED_I_HEADS, q / SKED_I_HEADS);
    }
}
__device__ __noinline__ static void attend_grad_run(const attend_call &call)
{
    if (step_is_inside(call.v.qkv) && step_is_inside(call.dy.at))
        attend_grad_tiles<true>(call);
    else
        attend_grad_tiles<false>(call);
}

/* ------------------------------------------------------------------ layers */

__device__ static inline int deep_ld(const step_net &z)
{
    return 3 * z.inner + SKED_STEP_PAD;
}

/* MLP half: dx of its rows is changed in place. */
__device__ __noinline__ static void mlp_grad(const step_work &w, const sums &g, int layer, int rows,
                                             float *dx, float *u, float *t)
{
    const step_net &z = w.z;
    const step_matrix m1 = step_layer_matrix(w, layer, STEP_MLP1),
                      m2 = step_layer_matrix(w, layer, STEP_MLP2);
    const step_rows active = step_all_rows(w.deep, z.mlp, rows), dy = step_all_rows(dx, z.dim, rows);
    const step_rows dactive = step_rows{w.wide, step_wide_ld(z), NULL, rows};
    fetch(step_keep(w, layer, w.keep.active), rows, z.mlp, w.deep, active.ld);
    fetch(step_keep(w, layer, w.keep.unit2), rows, z.dim, u, z.dim + SKED_STEP_PAD);
    __syncthreads();
    step_ending e = {};
    e.to = dactive;
    e.gate = active;
    e.round = true;
    step_product(dy, step_turned(w, m2, 0, z.dim), e);
    step_outer(active, z.mlp, dy, z.dim, g.weight(m2), z.dim, g.bias(m2));
    __syncthreads();
    step_ending plain = {};
    plain.to = step_all_rows(t, z.dim, rows);
    step_product(dactive, step_turned(w, m1, 0, z.mlp), plain);
    step_outer(step_all_rows(u, z.dim, rows), z.dim, dactive, z.mlp, g.weight(m1), z.mlp, g.bias(m1));
    __syncthreads();
    unit_grad(rows, z.dim, u, step_keep(w, layer, w.keep.rstd2), t, dx, dx);
    fetch(step_keep(w, layer, w.keep.mixed), rows, z.inner, w.deep, z.inner + SKED_STEP_PAD);
    __syncthreads();
}

/* mean[r, h] = dy . y of the head: what a softmax takes off its slopes. And lse from where it was kept. */
__device__ static void head_means(const step_work &w, int rows, const step_rows &y, const step_rows &dy,
                                  const float *lse)
{
    const int head = w.z.head;
    for (int k = threadIdx.x; k < rows * SKED_I_HEADS; k += blockDim.x) {
        const float *a = y[k / SKED_I_HEADS] + k % SKED_I_HEADS * head;
        const float *b = dy[k / SKED_I_HEADS] + k % SKED_I_HEADS * head;
        float sum = 0;
        for (int c = 0; c < head; c++)
            sum += a[c] * b[c];
        w.mean[k] = sum;
        w.lse[k] = lse[k];
    }
}

/* From the slopes of queries, keys and values in deep to those of the unit rows in t. */
__device__ __noinline__ static void project_grad(const step_work &w, const sums &g, int layer, int rows,
                                                 const int32_t *pick, float *u, float *t)
{
    const step_net &z = w.z;
    const step_matrix m = step_layer_matrix(w, layer, STEP_QKV);
    const int n = w.p.ops, first = pick != NULL ? z.inner : 0, columns = 3 * z.inner;
    const step_rows dy = {w.deep + first, deep_ld(z), NULL, n};
    step_ending e = {};
    e.to = step_all_rows(t, z.dim, n);
    step_product(dy, step_turned(w, m, first, columns - first), e);
    step_outer(step_all_rows(u, z.dim, n), z.dim, dy, columns - first, g.weight(m) + first, columns,
               g.bias(m) + first);
    __syncthreads();
    if (pick == NULL)
        return;
    const step_rows dquery = {w.deep, deep_ld(z), NULL, rows};
    e.to = e.onto = step_picked_rows(t, z.dim, pick, rows);
    step_product(dquery, step_turned(w, m, 0, z.inner), e);
    step_outer(step_picked_rows(u, z.dim, pick, rows), z.dim, dquery, z.inner, g.weight(m), columns,
               g.bias(m));
    __syncthreads();
}

/* Attention half: from dx of the layer's rows to x, the slopes of all ops. */
__device__ __noinline__ static void attention_grad(const step_work &w, const sums &g, int layer, int rows,
                                                   float *dx, float *u, float *t)
{
    const step_net &z = w.z;
    const bool last = layer == z.layers - 1;
    const int32_t *pick = last ? w.pick : NULL;
    const int n = w.p.ops, ld = z.dim + SKED_STEP_PAD;
    const step_matrix m = step_layer_matrix(w, layer, STEP_MERGE);
    const step_rows mixed = step_all_rows(w.deep, z.inner, rows), dy = step_all_rows(dx, z.dim, rows);
    const step_rows dmixed = step_all_rows(w.narrow, z.inner, rows);
    step_ending e = {};
    e.to = dmixed;
    e.round = true;
    step_product(dy, step_turned(w, m, 0, z.dim), e);
    step_outer(mixed, z.inner, dy, z.dim, g.weight(m), z.dim, g.bias(m));
    __syncthreads();
    head_means(w, rows, mixed, dmixed, step_keep(w, layer, w.keep.lse));
    fetch(step_keep(w, layer, w.keep.qkv), n, 3 * z.inner, w.wide, step_wide_ld(z));
    if (last) /* x: the slopes that pass by the layer */
        for (int k = threadIdx.x; k < n * ld; k += blockDim.x)
            w.x[k] = 0;
    __syncthreads();
    attend_grad_run(step_hand_over(
        attend_call{step_attention_of(w, rows, pick), dmixed, w.lse, w.mean, w.deep, deep_ld(z)}));
    for (int k = threadIdx.x; last && k < rows * z.dim; k += blockDim.x)
        w.x[(int64_t)w.pick[k / z.dim] * ld + k % z.dim] = dx[(int64_t)(k / z.dim) * ld + k % z.dim];
    __syncthreads();
    fetch(step_keep(w, layer, w.keep.unit1), n, z.dim, u, ld);
    __syncthreads();
    project_grad(w, g, layer, rows, pick, u, t);
    unit_grad(n, z.dim, u, step_keep(w, layer, w.keep.rstd1), t, w.x, w.x);
    __syncthreads();
}

/* The input matrix, with the features as rows in deep. */
__device__ static void input_grad(const step_work &w, const sums &g)
{
    const int inputs = w.z.inputs, ld = (inputs + 7) / 8 * 8 + SKED_STEP_PAD, n = w.p.ops;
    for (int k = threadIdx.x; k < n * inputs; k += blockDim.x) {
        const int i = k / inputs, c = k % inputs;
        float f[SKED_I_STEPWISE_FEATURES];
        step_features(w, i, f);
        float v = c == step_device_feature(w, i) ? 1 : 0;
#pragma unroll
        for (int j = 0; j < SKED_I_STEPWISE_FEATURES; j++)
            v = c == j ? f[j] : v;
        w.deep[(int64_t)i * ld + c] = step_round(v);
    }
    __syncthreads();
    step_outer(step_rows{w.deep, ld, NULL, n}, inputs, step_all_rows(w.x, w.z.dim, n), w.z.dim,
               g.at + w.z.dinput, w.z.dim, g.at + w.z.dinput_bias);
}

/* ------------------------------------------------------------------ states */

__device__ static void add_state(step_work &w, const sums &g, int k, int step)
{
    const int dim = w.z.dim, layers = w.z.layers;
    float *u = w.narrow, *t = w.narrow + (int64_t)w.p.ops * (dim + SKED_STEP_PAD);
    step_read_state(w, k, step);
    __syncthreads();
    if (threadIdx.x < SKED_STEP_WARP)
        step_pick_rows(w, k);
    __syncthreads();
    const int picked = w.count[0] + w.count[1];
    if (picked == 0)
        return;
    step_forward(w, u);
    if (threadIdx.x < SKED_STEP_WARP)
        step_slopes(w, k, step);
    __syncthreads();
    heads_grad(w, g, u, t);
    for (int layer = layers - 1; layer >= 0; layer--) {
        const bool last = layer == layers - 1;
        float *dx = last ? w.top : w.x;
        const int rows = last ? picked : w.p.ops;
        mlp_grad(w, g, layer, rows, dx, u, t);
        attention_grad(w, g, layer, rows, dx, u, t);
    }
    input_grad(w, g);
    __syncthreads();
}

/* States from * blocks .. end * blocks - 1 of every problem, shared out among its blocks. */
__global__ static void __launch_bounds__(SKED_STEP_THREADS, 1)
    grad_kernel(const __grid_constant__ step_load load, float *gradients, int64_t size, int64_t from,
                int64_t end)
{
    SKED_DYNAMIC_SHARED(float, shared);
    __shared__ step_work w;
    const int block = blockIdx.x;
    int i = 0;
    while (block >= load.problem[i].first_block + load.problem[i].n_blocks)
        i++;
    step_open(load, i, shared, w);
    const sums g = {gradients + block * size};
    __syncthreads();
    const int states = w.p.ops + 1;
    for (int64_t round = from; round < end; round++) {
        const int64_t state = round * w.p.n_blocks + (block - w.p.first_block);
        if (state >= (int64_t)w.p.batch * states)
            break;
        add_state(w, g, (int)(state / states), (int)(state % states));
        __syncthreads();
    }
}

void sked_i_step_grad(const step_load *load, int threads, int blocks, size_t shared, float *gradients,
                      int64_t size, int64_t from, int64_t end, cudaStream_t stream)
{
    const step_load l = *load;
    SKED_LAUNCH(grad_kernel, blocks, threads, shared, stream, l, gradients, size, from, end);
}

cudaError_t sked_i_step_grad_allow(size_t shared)
{
    return cudaFuncSetAttribute(grad_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
}
