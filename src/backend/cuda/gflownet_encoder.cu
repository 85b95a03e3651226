/*
 * The encoder of the encode-once policy and the rows its walks read, for all problems of a call at once:
 * network/encoder.c and once.c have the same in plain C. Matrices are small (rows x 64 to 336): tiles of 32 x
 * 64 in shared memory, sums over the inner dimension in order. Gradients of weights are taken per problem,
 * since each problem's gradient is cut to a norm of its own.
 */
#include "backend/cuda/gflownet_once.h"

#define FULL 0xffffffffu

enum { TILE_ROWS = 32, TILE_COLUMNS = 64, TILE_INNER = 16, TILE_THREADS = 256 };

static inline unsigned blocks_of(int64_t count, int64_t each)
{
    return (unsigned)((count + each - 1) / each);
}

/* ------------------------------------------------------------------ y = x w */

/* What happens to a finished number of y [rows, q]. */
struct tail {
    const float *bias;     /* [q] or NULL */
    const float *residual; /* [rows, q] or NULL: added */
    bool add;              /* to what y holds */
    const float
        *film; /* scale, then shift `film_shift` on; rows of a problem `film_stride` apart; NULL: none */
    int64_t film_stride, film_shift;
    bool relu;     /* after FiLM */
    float *second; /* [rows, q] gets the number after FiLM, y the one before; NULL: no FiLM */
};

__device__ static void finish(const tail &t, const int32_t *row_lesson, int64_t i, int32_t j, int32_t q,
                              float sum, float *y)
{
    const int64_t at = i * q + j;
    if (t.bias != NULL)
        sum += t.bias[j];
    if (t.residual != NULL)
        sum += t.residual[at];
    if (t.add)
        sum += y[at];
    y[at] = sum;
    if (t.second != NULL) {
        const float *film = t.film + row_lesson[i] * t.film_stride + j;
        const float z = film[0] * sum + film[t.film_shift];
        t.second[at] = !t.relu || z > 0 ? z : 0;
    }
}

/* y[rows, q] = x[rows, p] w, w [p, q], or with `turned` w [q, p]. */
template <bool turned>
__global__ static void linear_kernel(int32_t rows, int32_t p, int32_t q, const float *x, const float *w,
                                     tail t, const int32_t *row_lesson, float *y)
{
    __shared__ float a[TILE_INNER][TILE_ROWS + 1], b[TILE_INNER][TILE_COLUMNS + 1];
    const int32_t i0 = (int32_t)blockIdx.y * TILE_ROWS, j0 = (int32_t)blockIdx.x * TILE_COLUMNS;
    const int tx = (int)threadIdx.x % 32, ty = (int)threadIdx.x / 32; /* columns tx, tx + 32; rows ty + 8 r */
    float sum[4][2] = {};
    for (int32_t k0 = 0; k0 < p; k0 += TILE_INNER) {
        for (int s = (int)threadIdx.x; s < TILE_ROWS * TILE_INNER; s += TILE_THREADS) {
            const int k = s % TILE_INNER, i = s / TILE_INNER;
            a[k][i] = i0 + i < rows && k0 + k < p ? x[(int64_t)(i0 + i) * p + k0 + k] : 0;
        }
        for (int s = (int)threadIdx.x; s < TILE_COLUMNS * TILE_INNER; s += TILE_THREADS) {
            const int k = turned ? s % TILE_INNER : s / TILE_COLUMNS,
                      j = turned ? s / TILE_INNER : s % TILE_COLUMNS;
            const bool in = j0 + j < q && k0 + k < p;
            b[k][j] = !in      ? 0
                      : turned ? w[(int64_t)(j0 + j) * p + k0 + k]
                               : w[(int64_t)(k0 + k) * q + j0 + j];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE_INNER; k++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                sum[r][0] += a[k][ty + 8 * r] * b[k][tx];
                sum[r][1] += a[k][ty + 8 * r] * b[k][tx + 32];
            }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 2; s++) {
            const int32_t i = i0 + ty + 8 * r, j = j0 + tx + 32 * s;
            if (i < rows && j < q)
                finish(t, row_lesson, i, j, q, sum[r][s], y);
        }
}

static void linear(const once_model *m, int32_t p, int32_t q, const float *x, const float *w, tail t,
                   float *y, cudaStream_t stream)
{
    const dim3 grid(blocks_of(q, TILE_COLUMNS), blocks_of(m->rows, TILE_ROWS));
    SKED_LAUNCH(linear_kernel<false>, grid, TILE_THREADS, 0, stream, m->rows, p, q, x, w, t, m->row_lesson,
                y);
}
/* dx[rows, p] = (or +=) dy[rows, q] w^T */
static void linear_back(const once_model *m, int32_t p, int32_t q, const float *dy, const float *w, bool add,
                        float *dx, cudaStream_t stream)
{
    tail t = {};
    t.add = add;
    const dim3 grid(blocks_of(p, TILE_COLUMNS), blocks_of(m->rows, TILE_ROWS));
    SKED_LAUNCH(linear_kernel<true>, grid, TILE_THREADS, 0, stream, m->rows, q, p, dy, w, t, m->row_lesson,
                dx);
}

/*
 * dw[p, q] = x^T dy over the rows of each problem, and db. Gradients of problems lie `stride` apart; each
 * number is written once, by one thread.
 */
__global__ static void weight_kernel(const once_lesson *lessons, int32_t p, int32_t q, const float *x,
                                     const float *dy, float *dw, float *db, int64_t stride)
{
    __shared__ float a[TILE_INNER][TILE_ROWS], b[TILE_INNER][TILE_COLUMNS];
    const once_lesson *l = &lessons[blockIdx.z];
    const int32_t k0 = (int32_t)blockIdx.y * TILE_ROWS, j0 = (int32_t)blockIdx.x * TILE_COLUMNS;
    const int tx = (int)threadIdx.x % 32, ty = (int)threadIdx.x / 32;
    float sum[4][2] = {}, bias = 0;
    for (int32_t i0 = 0; i0 < l->n; i0 += TILE_INNER) {
        for (int s = (int)threadIdx.x; s < TILE_ROWS * TILE_INNER; s += TILE_THREADS) {
            const int k = s % TILE_ROWS, i = s / TILE_ROWS;
            a[i][k] = i0 + i < l->n && k0 + k < p ? x[(int64_t)(l->first_row + i0 + i) * p + k0 + k] : 0;
        }
        for (int s = (int)threadIdx.x; s < TILE_COLUMNS * TILE_INNER; s += TILE_THREADS) {
            const int j = s % TILE_COLUMNS, i = s / TILE_COLUMNS;
            b[i][j] = i0 + i < l->n && j0 + j < q ? dy[(int64_t)(l->first_row + i0 + i) * q + j0 + j] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_INNER; i++) {
#pragma unroll
            for (int r = 0; r < 4; r++) {
                sum[r][0] += a[i][ty + 8 * r] * b[i][tx];
                sum[r][1] += a[i][ty + 8 * r] * b[i][tx + 32];
            }
            if (ty < 2)
                bias += b[i][tx + 32 * ty];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 2; s++) {
            const int32_t k = k0 + ty + 8 * r, j = j0 + tx + 32 * s;
            if (k < p && j < q)
                dw[blockIdx.z * stride + (int64_t)k * q + j] = sum[r][s];
        }
    if (ty < 2 && blockIdx.y == 0 && j0 + tx + 32 * ty < q)
        db[blockIdx.z * stride + j0 + tx + 32 * ty] = bias;
}
static void weight_grad(const once_model *m, const once_encoder *e, int32_t p, int32_t q, const float *x,
                        const float *dy, int64_t weight, int64_t bias, cudaStream_t stream)
{
    const dim3 grid(blocks_of(q, TILE_COLUMNS), blocks_of(p, TILE_ROWS), (unsigned)m->lessons);
    SKED_LAUNCH(weight_kernel, grid, TILE_THREADS, 0, stream, m->lesson, p, q, x, dy, e->gradient + weight,
                e->gradient + bias, m->shape.total);
}

/* ------------------------------------------------------------------ layer normalisation */

__device__ static float lanes_sum(float x)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(FULL, x, by);
    return x;
}

/* A warp a row; stat[rows, 2]: mean and 1 / deviation. */
__global__ static void norm_kernel(int32_t rows, int32_t p, const float *x, const float *gain,
                                   const float *bias, float *y, float *stat)
{
    const int64_t i = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    const int lane = (int)threadIdx.x % WARP;
    if (i >= rows)
        return;
    float sum = 0, square = 0;
    for (int32_t k = lane; k < p; k += WARP)
        sum += x[i * p + k];
    const float mean = lanes_sum(sum) / (float)p;
    for (int32_t k = lane; k < p; k += WARP)
        square += (x[i * p + k] - mean) * (x[i * p + k] - mean);
    const float rstd = 1 / sqrtf(lanes_sum(square) / (float)p + 1e-5f);
    for (int32_t k = lane; k < p; k += WARP)
        y[i * p + k] = (x[i * p + k] - mean) * rstd * gain[k] + bias[k];
    if (lane == 0) {
        stat[2 * i] = mean;
        stat[2 * i + 1] = rstd;
    }
}
static void norm(const once_model *m, const float *x, int64_t gain, int64_t bias, float *y, float *stat,
                 cudaStream_t stream)
{
    SKED_LAUNCH(norm_kernel, blocks_of(m->rows, 4), 128, 0, stream, m->rows, m->shape.dim, x,
                m->parameter + gain, m->parameter + bias, y, stat);
}

/* dx (or +=) of a row. */
__global__ static void norm_back_kernel(int32_t rows, int32_t p, const float *x, const float *gain,
                                        const float *stat, const float *dy, bool add, float *dx)
{
    const int64_t i = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    const int lane = (int)threadIdx.x % WARP;
    if (i >= rows)
        return;
    const float mean = stat[2 * i], rstd = stat[2 * i + 1];
    float sum = 0, along = 0;
    for (int32_t k = lane; k < p; k += WARP) {
        const float d = dy[i * p + k] * gain[k];
        sum += d;
        along += d * (x[i * p + k] - mean) * rstd;
    }
    sum = lanes_sum(sum) / (float)p;
    along = lanes_sum(along) / (float)p;
    for (int32_t k = lane; k < p; k += WARP) {
        const float d = (dy[i * p + k] * gain[k] - sum - (x[i * p + k] - mean) * rstd * along) * rstd;
        dx[i * p + k] = add ? dx[i * p + k] + d : d;
    }
}

/* Sums over the rows of a problem, 32 columns a block, eight rows at a time. */
enum { SUM_ROWS = 8 };
__device__ static float column_sum(float (*part)[WARP], float sum)
{
    const int lane = (int)threadIdx.x % WARP, row = (int)threadIdx.x / WARP;
    part[row][lane] = sum;
    __syncthreads();
    sum = 0;
    for (int r = 0; r < SUM_ROWS; r++)
        sum += part[r][lane];
    __syncthreads();
    return sum;
}
__global__ static void norm_weight_kernel(const once_lesson *lessons, int32_t p, const float *x,
                                          const float *stat, const float *dy, float *dgain, float *dbias,
                                          int64_t stride)
{
    __shared__ float part[SUM_ROWS][WARP];
    const once_lesson *l = &lessons[blockIdx.y];
    const int32_t k = (int32_t)blockIdx.x * WARP + (int32_t)threadIdx.x % WARP;
    float gain = 0, bias = 0;
    for (int32_t r = (int32_t)threadIdx.x / WARP; r < l->n && k < p; r += SUM_ROWS) {
        const int64_t i = l->first_row + r;
        gain += dy[i * p + k] * (x[i * p + k] - stat[2 * i]) * stat[2 * i + 1];
        bias += dy[i * p + k];
    }
    gain = column_sum(part, gain);
    bias = column_sum(part, bias);
    if (threadIdx.x < WARP && k < p) {
        dgain[blockIdx.y * stride + k] = gain;
        dbias[blockIdx.y * stride + k] = bias;
    }
}
static void norm_grad(const once_model *m, const once_encoder *e, const float *x, int64_t gain, int64_t bias,
                      const float *stat, const float *dy, bool add, float *dx, cudaStream_t stream)
{
    SKED_LAUNCH(norm_back_kernel, blocks_of(m->rows, 4), 128, 0, stream, m->rows, m->shape.dim, x,
                m->parameter + gain, stat, dy, add, dx);
    SKED_LAUNCH(norm_weight_kernel, dim3(blocks_of(m->shape.dim, WARP), (unsigned)m->lessons),
                SUM_ROWS * WARP, 0, stream, m->lesson, m->shape.dim, x, stat, dy, e->gradient + gain,
                e->gradient + bias, m->shape.total);
}

/*
 * FiLM and ReLU backwards: dwide becomes the gradient before them, dfilm[problem] gets that of scale and
 * shift, `width` numbers each.
 */
__global__ static void film_grad_kernel(const once_lesson *lessons, int32_t width, const float *hidden,
                                        const float *active, const float *film, int64_t film_stride,
                                        int64_t film_shift, float *dwide, float *dfilm, int64_t dfilm_stride)
{
    __shared__ float part[SUM_ROWS][WARP];
    const once_lesson *l = &lessons[blockIdx.y];
    const int32_t k = (int32_t)blockIdx.x * WARP + (int32_t)threadIdx.x % WARP;
    const float scale = k < width ? film[blockIdx.y * film_stride + k] : 0;
    float dscale = 0, dshift = 0;
    for (int32_t r = (int32_t)threadIdx.x / WARP; r < l->n && k < width; r += SUM_ROWS) {
        const int64_t at = (int64_t)(l->first_row + r) * width + k;
        const float dz = active[at] > 0 ? dwide[at] : 0;
        dscale += dz * hidden[at];
        dshift += dz;
        dwide[at] = dz * scale;
    }
    dscale = column_sum(part, dscale);
    dshift = column_sum(part, dshift);
    if (threadIdx.x < WARP && k < width) {
        dfilm[blockIdx.y * dfilm_stride + k] = dscale;
        dfilm[blockIdx.y * dfilm_stride + film_shift + k] = dshift;
    }
}

/* ------------------------------------------------------------------ attention */

/* Bits of a 32-op piece of a row of masks. */
__device__ static inline unsigned mask_piece(const uint64_t *row, int32_t piece)
{
    return (unsigned)(row[piece / 2] >> (piece % 2 * 32));
}
__device__ static inline float dot(int32_t size, const float *a, const float *b)
{
    float sum = 0;
    for (int32_t c = 0; c < size; c += 4) {
        const float4 u = *(const float4 *)(a + c), v = *(const float4 *)(b + c);
        sum += u.x * v.x + u.y * v.y + (u.z * v.z + u.w * v.w);
    }
    return sum;
}
__device__ static float lanes_max(float x)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        x = fmaxf(x, __shfl_xor_sync(FULL, x, by));
    return x;
}

enum { ATTEND_WARPS = 4, MOST_HEAD = 256 };

/* A warp for an op and a head: lanes look at ops, then own numbers of the sum. */
__global__ static void attention_kernel(const once_lesson *lessons, const int32_t *row_lesson, int32_t rows,
                                        int32_t size, const float *qkv, float *y, float *lse)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t task = (int64_t)blockIdx.x * ATTEND_WARPS + threadIdx.x / WARP;
    if (task >= (int64_t)rows * HEADS)
        return;
    const int64_t i = task / HEADS;
    const int32_t head = (int32_t)(task % HEADS);
    const once_lesson *l = &lessons[row_lesson[i]];
    const int64_t inner = (int64_t)HEADS * size, first = l->first_row;
    const float *q = qkv + i * 3 * inner + head * size, *keys = qkv + first * 3 * inner + inner + head * size;
    const uint64_t *row = l->masks + ((int64_t)head * l->n + (i - first)) * l->words;
    const float scale = 1 / sqrtf((float)size);
    float top = -CUDART_INF_F, sum = 0, acc[MOST_HEAD / WARP];
#pragma unroll
    for (int c = 0; c < MOST_HEAD / WARP; c++)
        acc[c] = 0;
    for (int32_t piece = 0; piece * WARP < l->n; piece++) {
        const unsigned set = mask_piece(row, piece);
        if (set == 0)
            continue;
        const bool on = set >> lane & 1;
        const int64_t j = piece * WARP + lane;
        const float s = on ? dot(size, q, keys + j * 3 * inner) * scale : -CUDART_INF_F;
        const float now = fmaxf(top, lanes_max(s)), shrink = expf(top - now), weight = on ? expf(s - now) : 0;
        sum = sum * shrink + lanes_sum(weight);
        top = now;
#pragma unroll
        for (int c = 0; c < MOST_HEAD / WARP; c++)
            acc[c] *= shrink;
        for (unsigned rest = set; rest != 0; rest &= rest - 1) {
            const int from = __ffs((int)rest) - 1;
            const float share = __shfl_sync(FULL, weight, from);
            const float *v = keys + inner + (piece * WARP + from) * 3 * inner;
#pragma unroll
            for (int c = 0; c < MOST_HEAD / WARP; c++)
                if (c * WARP + lane < size)
                    acc[c] += share * v[c * WARP + lane];
        }
    }
#pragma unroll
    for (int c = 0; c < MOST_HEAD / WARP; c++)
        if (c * WARP + lane < size)
            y[i * inner + head * size + c * WARP + lane] = acc[c] / sum;
    if (lane == 0)
        lse[i * HEADS + head] = top + logf(sum);
}

/* mean[i, head] = dy . y */
__global__ static void attention_mean_kernel(int64_t count, int32_t size, const float *y, const float *dy,
                                             float *mean)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count)
        mean[k] = dot(size, dy + k * size, y + k * size);
}

/* Of queries: a warp for an op and a head. */
__global__ static void query_grad_kernel(const once_lesson *lessons, const int32_t *row_lesson, int32_t rows,
                                         int32_t size, const float *qkv, const float *lse, const float *mean,
                                         const float *dy, float *dqkv)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t task = (int64_t)blockIdx.x * ATTEND_WARPS + threadIdx.x / WARP;
    if (task >= (int64_t)rows * HEADS)
        return;
    const int64_t i = task / HEADS;
    const int32_t head = (int32_t)(task % HEADS);
    const once_lesson *l = &lessons[row_lesson[i]];
    const int64_t inner = (int64_t)HEADS * size, first = l->first_row, at = i * 3 * inner + head * size;
    const float *keys = qkv + first * 3 * inner + inner + head * size, *d = dy + task * size;
    const uint64_t *row = l->masks + ((int64_t)head * l->n + (i - first)) * l->words;
    const float scale = 1 / sqrtf((float)size);
    float acc[MOST_HEAD / WARP];
#pragma unroll
    for (int c = 0; c < MOST_HEAD / WARP; c++)
        acc[c] = 0;
    for (int32_t piece = 0; piece * WARP < l->n; piece++) {
        const unsigned set = mask_piece(row, piece);
        float ds = 0;
        if (set >> lane & 1) {
            const float *k = keys + (piece * WARP + lane) * 3 * inner;
            const float weight = expf(fminf(dot(size, qkv + at, k) * scale - lse[task], 0.5f));
            ds = weight * (dot(size, d, k + inner) - mean[task]) * scale;
        }
        for (unsigned rest = set; rest != 0; rest &= rest - 1) {
            const int from = __ffs((int)rest) - 1;
            const float share = __shfl_sync(FULL, ds, from);
            const float *k = keys + (piece * WARP + from) * 3 * inner;
#pragma unroll
            for (int c = 0; c < MOST_HEAD / WARP; c++)
                if (c * WARP + lane < size)
                    acc[c] += share * k[c * WARP + lane];
        }
    }
#pragma unroll
    for (int c = 0; c < MOST_HEAD / WARP; c++)
        if (c * WARP + lane < size)
            dqkv[at + c * WARP + lane] = acc[c];
}

/* Of keys and values: the same for an op that is looked at. */
__global__ static void key_grad_kernel(const once_lesson *lessons, const int32_t *row_lesson, int32_t rows,
                                       int32_t size, const float *qkv, const float *lse, const float *mean,
                                       const float *dy, float *dqkv)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t task = (int64_t)blockIdx.x * ATTEND_WARPS + threadIdx.x / WARP;
    if (task >= (int64_t)rows * HEADS)
        return;
    const int64_t j = task / HEADS;
    const int32_t head = (int32_t)(task % HEADS);
    const once_lesson *l = &lessons[row_lesson[j]];
    const int64_t inner = (int64_t)HEADS * size, first = l->first_row;
    const int64_t key = j * 3 * inner + inner + head * size, value = key + inner;
    const uint64_t *row = l->turned + ((int64_t)head * l->n + (j - first)) * l->words;
    const float scale = 1 / sqrtf((float)size);
    float dk[MOST_HEAD / WARP], dv[MOST_HEAD / WARP];
#pragma unroll
    for (int c = 0; c < MOST_HEAD / WARP; c++)
        dk[c] = dv[c] = 0;
    for (int32_t piece = 0; piece * WARP < l->n; piece++) {
        const unsigned set = mask_piece(row, piece);
        float ds = 0, weight = 0;
        if (set >> lane & 1) {
            const int64_t i = first + piece * WARP + lane, its = i * HEADS + head;
            weight =
                expf(fminf(dot(size, qkv + i * 3 * inner + head * size, qkv + key) * scale - lse[its], 0.5f));
            ds = weight * (dot(size, dy + its * size, qkv + value) - mean[its]) * scale;
        }
        for (unsigned rest = set; rest != 0; rest &= rest - 1) {
            const int from = __ffs((int)rest) - 1;
            const int64_t i = first + piece * WARP + from;
            const float slope = __shfl_sync(FULL, ds, from), share = __shfl_sync(FULL, weight, from);
#pragma unroll
            for (int c = 0; c < MOST_HEAD / WARP; c++)
                if (c * WARP + lane < size) {
                    dk[c] += slope * qkv[i * 3 * inner + head * size + c * WARP + lane];
                    dv[c] += share * dy[(i * HEADS + head) * size + c * WARP + lane];
                }
        }
    }
#pragma unroll
    for (int c = 0; c < MOST_HEAD / WARP; c++)
        if (c * WARP + lane < size) {
            dqkv[key + c * WARP + lane] = dk[c];
            dqkv[value + c * WARP + lane] = dv[c];
        }
}

/* Masks by key: a thread for a word. */
__global__ static void turn_masks_kernel(const once_lesson *lessons)
{
    const once_lesson *l = &lessons[blockIdx.y];
    const int64_t words = (int64_t)HEADS * l->n * l->words;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < words;
         k += (int64_t)gridDim.x * blockDim.x) {
        const int64_t word = k % l->words, j = k / l->words % l->n, head = k / l->words / l->n;
        const uint64_t *column = l->masks + head * l->n * l->words + j / 64;
        uint64_t bits = 0;
        for (int64_t i = word * 64; i < word * 64 + 64 && i < l->n; i++)
            bits |= (column[i * l->words] >> (j % 64) & 1) << (i % 64);
        l->turned[k] = bits;
    }
}

/* ------------------------------------------------------------------ temperature and machine */

/* y[q] = x[p] w + b by all threads of a block. */
__device__ static void vector_linear(int32_t p, int32_t q, const float *x, const float *w, const float *b,
                                     bool relu, float *y)
{
    for (int32_t j = (int32_t)threadIdx.x; j < q; j += (int32_t)blockDim.x) {
        float sum = b != NULL ? b[j] : 0;
        for (int32_t k = 0; k < p; k++)
            sum += x[k] * w[(int64_t)k * q + j];
        y[j] = relu && !(sum > 0) ? 0 : sum;
    }
    __syncthreads();
}

/* A block a problem: FiLM of all layers and of the scorer, weights of logits, the empty device. */
__global__ static void heat_kernel(const __grid_constant__ once_model m)
{
    const sked_i_once_shape &s = m.shape;
    const int64_t b = blockIdx.x;
    const once_lesson *l = &m.lesson[b];
    const float *w = m.parameter;
    float *first = m.heat1 + b * s.temperature, *second = m.heat2 + b * s.temperature;
    float *direct = m.direct + b * DIRECT, *empty = m.empty + b * s.context;
    vector_linear(SKED_I_ONCE_HEAT, s.temperature, l->heat, w + s.heat1_weight, w + s.heat1_bias, true,
                  first);
    vector_linear(s.temperature, s.temperature, first, w + s.heat2_weight, w + s.heat2_bias, true, second);
    for (int k = 0; k < s.layers; k++) {
        float *film = m.film + (b * s.layers + k) * 2 * s.mlp;
        vector_linear(s.temperature, s.mlp, second, w + s.layer[k].scale_weight, w + s.layer[k].scale_bias,
                      false, film);
        vector_linear(s.temperature, s.mlp, second, w + s.layer[k].shift_weight, w + s.layer[k].shift_bias,
                      false, film + s.mlp);
    }
    vector_linear(s.temperature, s.width, second, w + s.scale_weight, w + s.scale_bias, false,
                  m.scale + b * s.width);
    vector_linear(s.temperature, s.width, second, w + s.shift_weight, w + s.shift_bias, false,
                  m.shift + b * s.width);
    vector_linear(s.temperature, DIRECT, second, w + s.direct_weight, NULL, false, direct);
    for (int32_t c = (int32_t)threadIdx.x; c < s.width; c += (int32_t)blockDim.x)
        m.out[b * s.width + c] = l->sharpness * w[s.out_weight + c];
    for (int32_t c = (int32_t)threadIdx.x; c < s.context; c += (int32_t)blockDim.x)
        empty[c] = w[s.empty_device + c] > 0 ? w[s.empty_device + c] : 0;
    if (threadIdx.x < DIRECT)
        direct[threadIdx.x] =
            l->sharpness * (w[s.direct_bias + threadIdx.x] + ONCE_HEAT_SHARE * direct[threadIdx.x]);
    __syncthreads();
    vector_linear(s.context, s.width, empty, w + s.device_weight, NULL, false, m.empty_part + b * s.width);
    for (int32_t c = (int32_t)threadIdx.x; c < s.width; c += (int32_t)blockDim.x)
        m.empty_part[b * s.width + c] *= m.scale[b * s.width + c];
}

/* What unscheduled ops say before anything is scheduled: a block a problem and 32 columns. */
__global__ static void first_wait_kernel(const __grid_constant__ once_model m)
{
    __shared__ float part[SUM_ROWS][WARP];
    const once_lesson *l = &m.lesson[blockIdx.y];
    const int32_t width = m.shape.context, c = (int32_t)blockIdx.x * WARP + (int32_t)threadIdx.x % WARP;
    const float *w = m.parameter + m.shape.wait_feature;
    float sum = 0;
    for (int32_t i = (int32_t)threadIdx.x / WARP; i < l->n && c < width; i += SUM_ROWS) {
        const float ready = l->waits[i] == 0, tail = (float)l->tail[i];
        const float z =
            m.wait[(int64_t)(l->first_row + i) * width + c] + ready * w[width + c] + tail * w[2 * width + c];
        sum += z > 0 ? z : 0;
    }
    sum = column_sum(part, sum);
    if (threadIdx.x < WARP && c < width)
        m.first_sum[blockIdx.y * width + c] = sum;
}

/* ------------------------------------------------------------------ forward */

static sked_status look(const once_launch *how, sked_error *err)
{
    sked_status st = SKED_OK;
    if (!how->pause)
        return st;
    CUDA_TRY(cudaStreamSynchronize(how->stream));
    if (sked_i_limit_heard(how->limit))
        st = sked_i_limit_fail(err);
cleanup:
    return st;
}

static tail with_bias(const float *bias)
{
    tail t = {};
    t.bias = bias;
    return t;
}

static void run_attention(const once_model *m, const once_layer *l, cudaStream_t stream)
{
    SKED_LAUNCH(attention_kernel, blocks_of((int64_t)m->rows * HEADS, ATTEND_WARPS), ATTEND_WARPS * WARP, 0,
                stream, m->lesson, m->row_lesson, m->rows, m->shape.head, (const float *)l->qkv, l->mixed,
                l->lse);
}

static void run_mlp(const once_model *m, int k, const once_layer *l, float *next, cudaStream_t stream)
{
    const sked_i_once_shape *s = &m->shape;
    const sked_i_once_layer *at = &s->layer[k];
    const float *w = m->parameter;
    norm(m, l->middle, at->norm2_gain, at->norm2_bias, l->norm2, l->stat2, stream);
    tail film = with_bias(w + at->mlp1_bias), out = with_bias(w + at->mlp2_bias);
    film.film = m->film + (int64_t)k * 2 * s->mlp;
    film.film_stride = (int64_t)s->layers * 2 * s->mlp;
    film.film_shift = s->mlp;
    film.relu = true;
    film.second = l->active;
    linear(m, s->dim, s->mlp, l->norm2, w + at->mlp1_weight, film, l->hidden, stream);
    out.residual = l->middle;
    linear(m, s->mlp, s->dim, l->active, w + at->mlp2_weight, out, next, stream);
}

static void run_heads(const once_model *m, const once_encoder *e, cudaStream_t stream)
{
    const sked_i_once_shape *s = &m->shape;
    const float *w = m->parameter;
    tail op = with_bias(w + s->op_bias);
    op.film = m->scale;
    op.film_stride = s->width;
    op.film_shift = m->shift - m->scale;
    op.second = m->op;
    linear(m, s->dim, s->width, e->out, w + s->op_weight, op, m->plain, stream);
    linear(m, s->dim, s->context, e->out, w + s->wait_weight, with_bias(w + s->wait_bias), m->wait, stream);
    linear(m, s->dim, s->context, e->out, w + s->last_weight, with_bias(w + s->last_bias), m->last, stream);
    SKED_LAUNCH(first_wait_kernel, dim3(blocks_of(s->context, WARP), (unsigned)m->lessons), SUM_ROWS * WARP,
                0, stream, *m);
}

sked_status once_encode(const once_model *m, const once_encoder *e, const once_launch *how, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_once_shape *s = &m->shape;
    const float *w = m->parameter;
    const int32_t inner = HEADS * s->head;
    SKED_LAUNCH(heat_kernel, (unsigned)m->lessons, 128, 0, how->stream, *m);
    linear(m, SKED_I_ONCE_STATIC, s->dim, e->feature, w + s->input_weight, with_bias(w + s->input_bias),
           e->layer[0].in, how->stream);
    for (int k = 0; k < s->layers && st == SKED_OK; k++) {
        const sked_i_once_layer *at = &s->layer[k];
        const once_layer *l = &e->layer[k];
        norm(m, l->in, at->norm1_gain, at->norm1_bias, l->norm1, l->stat1, how->stream);
        linear(m, s->dim, 3 * inner, l->norm1, w + at->qkv_weight, with_bias(w + at->qkv_bias), l->qkv,
               how->stream);
        run_attention(m, l, how->stream);
        tail merge = with_bias(w + at->merge_bias);
        merge.residual = l->in;
        linear(m, inner, s->dim, l->mixed, w + at->merge_weight, merge, l->middle, how->stream);
        run_mlp(m, k, l, k + 1 < s->layers ? e->layer[k + 1].in : e->last, how->stream);
        st = look(how, err);
    }
    norm(m, e->last, s->final_gain, s->final_bias, e->out, e->stat, how->stream);
    run_heads(m, e, how->stream);
    return st;
}

/* ------------------------------------------------------------------ backward */

/* The parts of a problem's sums: rows of ops first (once_sum_launch). */
struct fold_at {
    const float *op, *wait, *last, *rest;
};
__device__ static fold_at fold_of(const once_model &m, const once_lesson *l)
{
    const int64_t n = l->n, w = m.shape.width, c = m.shape.context;
    return {l->sums, l->sums + n * w, l->sums + n * (w + c), l->sums + n * (w + 2 * c)};
}

/* Rows of ops before FiLM, and those of waiting and last ops, for all problems one under the other. */
__global__ static void fold_rows_kernel(const __grid_constant__ once_model m, float *dplain, float *dwait,
                                        float *dlast)
{
    const int64_t i = blockIdx.x, w = m.shape.width, c = m.shape.context;
    const int32_t b = m.row_lesson[i];
    const once_lesson *l = &m.lesson[b];
    const fold_at at = fold_of(m, l);
    const int64_t row = i - l->first_row;
    for (int64_t k = threadIdx.x; k < w; k += blockDim.x)
        dplain[i * w + k] = at.op[row * w + k] * m.scale[b * w + k];
    for (int64_t k = threadIdx.x; k < c; k += blockDim.x) {
        dwait[i * c + k] = at.wait[row * c + k];
        dlast[i * c + k] = at.last[row * c + k];
    }
}

/* Undoes FiLM on the scorer's weights: columns of one problem, a thread each. dfilm: [lessons, 2, width] */
__device__ static float fold_weight(const once_model &m, int64_t rows, int64_t weight, const float *dscaled,
                                    int32_t c, float scale, float *gradient)
{
    const int64_t width = m.shape.width;
    float dscale = 0;
    for (int64_t k = 0; k < rows; k++) {
        const float d = dscaled[k * width + c];
        gradient[weight + k * width + c] = d * scale;
        dscale += d * m.parameter[weight + k * width + c];
    }
    return dscale;
}
__global__ static void fold_kernel(const __grid_constant__ once_model m, float *gradients, float *dfilm,
                                   int64_t dfilm_stride, int64_t dfilm_shift)
{
    const sked_i_once_shape &s = m.shape;
    const int64_t b = blockIdx.y;
    const once_lesson *l = &m.lesson[b];
    const fold_at at = fold_of(m, l);
    float *gradient = gradients + b * s.total;
    const int32_t c = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (c >= s.width)
        return;
    const float scale = m.scale[b * s.width + c], *plain = m.plain + (int64_t)l->first_row * s.width;
    float dscale = 0, dshift = 0;
    for (int64_t i = 0; i < l->n; i++) {
        dscale += at.op[i * s.width + c] * plain[i * s.width + c];
        dshift += at.op[i * s.width + c];
    }
    dscale += fold_weight(m, 2 * s.context + SKED_I_ONCE_STATE, s.state_weight, at.rest + m.at.state_weight,
                          c, scale, gradient);
    dscale += fold_weight(m, PAIR, s.pair_weight, at.rest + m.at.pair, c, scale, gradient);
    /* The empty device's part goes through the same weights. */
    const float part = at.rest[m.at.empty_part + c];
    for (int64_t k = 0; k < s.context; k++) {
        const float d = at.rest[m.at.device_weight + k * s.width + c] + m.empty[b * s.context + k] * part;
        gradient[s.device_weight + k * s.width + c] = d * scale;
        dscale += d * m.parameter[s.device_weight + k * s.width + c];
    }
    gradient[s.out_weight + c] = l->sharpness * at.rest[m.at.out + c];
    dfilm[b * dfilm_stride + c] = dscale;
    dfilm[b * dfilm_stride + dfilm_shift + c] = dshift;
}

/* What takes no more than copying, and the empty device. */
__global__ static void fold_rest_kernel(const __grid_constant__ once_model m, float *gradients)
{
    const sked_i_once_shape &s = m.shape;
    const int64_t b = blockIdx.x, w = s.width, c = s.context;
    const once_lesson *l = &m.lesson[b];
    const float *rest = fold_of(m, l).rest;
    float *gradient = gradients + b * s.total;
#define COPY(name, from, count)                                 \
    for (int64_t k = threadIdx.x; k < (count); k += blockDim.x) \
        gradient[s.name + k] = rest[m.at.from + k];
    COPY(wait_feature, wait_feature, SKED_I_ONCE_WAIT * c)
    COPY(last_feature, last_feature, SKED_I_ONCE_LAST * c)
    if (s.learned) {
        COPY(back_device, back_device, c * w)
        COPY(back_state, back_state, (2 * c + SKED_I_ONCE_BACK) * w)
        COPY(back_bias, back_bias, w)
        COPY(back_out, back_out, w)
    }
#undef COPY
    for (int64_t k = threadIdx.x; k < DIRECT; k += blockDim.x)
        gradient[s.direct_bias + k] = l->sharpness * rest[m.at.direct + k];
    for (int64_t k = threadIdx.x; k < c; k += blockDim.x) {
        float sum = rest[m.at.empty + k];
        for (int64_t j = 0; j < w; j++)
            sum += rest[m.at.empty_part + j] * m.scale[b * w + j] * m.parameter[s.device_weight + k * w + j];
        gradient[s.empty_device + k] = m.empty[b * c + k] > 0 ? sum : 0;
    }
}

/* dw = x dy^T, db = dy, and dx += w dy, of one row; a block. dx: one number a thread. */
__device__ static float vector_grad(int32_t p, int32_t q, const float *x, const float *w, const float *dy,
                                    float scale, float *dw, float *db)
{
    float dx = 0;
    for (int64_t k = threadIdx.x; k < (int64_t)p * q; k += blockDim.x)
        dw[k] = x[k / q] * (scale * dy[k % q]);
    for (int32_t k = (int32_t)threadIdx.x; k < q && db != NULL; k += (int32_t)blockDim.x)
        db[k] = dy[k];
    if ((int32_t)threadIdx.x < p && w != NULL)
        for (int32_t j = 0; j < q; j++)
            dx += w[(int64_t)threadIdx.x * q + j] * (scale * dy[j]);
    return dx;
}

/* From FiLM to the two layers of temperature and machine: a block of at least `temperature` threads a
 * problem. */
__global__ static void heat_grad_kernel(const __grid_constant__ once_model m, const float *dfilms,
                                        int64_t stride, int64_t widest, float *gradients, float *dheat)
{
    const sked_i_once_shape &s = m.shape;
    const int64_t b = blockIdx.x;
    const once_lesson *l = &m.lesson[b];
    const float *w = m.parameter, *first = m.heat1 + b * s.temperature, *second = m.heat2 + b * s.temperature;
    const float *film = dfilms + b * stride, *direct = fold_of(m, l).rest + m.at.direct;
    float *g = gradients + b * s.total, *d = dheat + b * 2 * s.temperature, dx = 0;
    for (int k = 0; k <= s.layers; k++) {
        const bool scorer = k == s.layers;
        const int32_t width = scorer ? s.width : s.mlp;
        const sked_i_once_layer &at = s.layer[scorer ? 0 : k];
        const int64_t scale = scorer ? s.scale_weight : at.scale_weight,
                      shift = scorer ? s.shift_weight : at.shift_weight;
        const int64_t scale_bias = scorer ? s.scale_bias : at.scale_bias;
        const int64_t shift_bias = scorer ? s.shift_bias : at.shift_bias;
        const float *dscale = film + k * 2 * widest, *dshift = dscale + widest;
        dx += vector_grad(s.temperature, width, second, w + scale, dscale, 1, g + scale, g + scale_bias);
        dx += vector_grad(s.temperature, width, second, w + shift, dshift, 1, g + shift, g + shift_bias);
    }
    dx += vector_grad(s.temperature, DIRECT, second, w + s.direct_weight, direct,
                      l->sharpness * ONCE_HEAT_SHARE, g + s.direct_weight, NULL);
    if ((int32_t)threadIdx.x < s.temperature)
        d[threadIdx.x] = second[threadIdx.x] > 0 ? dx : 0;
    __syncthreads();
    dx = vector_grad(s.temperature, s.temperature, first, w + s.heat2_weight, d, 1, g + s.heat2_weight,
                     g + s.heat2_bias);
    if ((int32_t)threadIdx.x < s.temperature)
        d[s.temperature + threadIdx.x] = first[threadIdx.x] > 0 ? dx : 0;
    __syncthreads();
    vector_grad(SKED_I_ONCE_HEAT, s.temperature, l->heat, NULL, d + s.temperature, 1, g + s.heat1_weight,
                g + s.heat1_bias);
}

static int64_t widest_film(const sked_i_once_shape *s)
{
    return s->mlp > s->width ? s->mlp : s->width;
}

/* From the gradient of a layer's output in e->dx to that of its input. */
static void layer_grad(const once_model *m, const once_encoder *e, int k, cudaStream_t stream)
{
    const sked_i_once_shape *s = &m->shape;
    const sked_i_once_layer *at = &s->layer[k];
    const once_layer *l = &e->layer[k];
    const float *w = m->parameter;
    const int32_t inner = HEADS * s->head;
    const int64_t widest = widest_film(s), stride = (s->layers + 1) * 2 * widest;
    const unsigned tasks = blocks_of((int64_t)m->rows * HEADS, ATTEND_WARPS);
    weight_grad(m, e, s->mlp, s->dim, l->active, e->dx, at->mlp2_weight, at->mlp2_bias, stream);
    linear_back(m, s->mlp, s->dim, e->dx, w + at->mlp2_weight, false, e->dwide, stream);
    SKED_LAUNCH(film_grad_kernel, dim3(blocks_of(s->mlp, WARP), (unsigned)m->lessons), SUM_ROWS * WARP, 0,
                stream, m->lesson, s->mlp, (const float *)l->hidden, (const float *)l->active,
                (const float *)m->film + (int64_t)k * 2 * s->mlp, (int64_t)s->layers * 2 * s->mlp, widest,
                e->dwide, e->dfilm + k * 2 * widest, stride);
    weight_grad(m, e, s->dim, s->mlp, l->norm2, e->dwide, at->mlp1_weight, at->mlp1_bias, stream);
    linear_back(m, s->dim, s->mlp, e->dwide, w + at->mlp1_weight, false, e->ddim, stream);
    norm_grad(m, e, l->middle, at->norm2_gain, at->norm2_bias, l->stat2, e->ddim, true, e->dx, stream);
    weight_grad(m, e, inner, s->dim, l->mixed, e->dx, at->merge_weight, at->merge_bias, stream);
    linear_back(m, inner, s->dim, e->dx, w + at->merge_weight, false, e->dmixed, stream);
    SKED_LAUNCH(attention_mean_kernel, blocks_of((int64_t)m->rows * HEADS, 128), 128, 0, stream,
                (int64_t)m->rows * HEADS, s->head, (const float *)l->mixed, (const float *)e->dmixed,
                e->mean);
    SKED_LAUNCH(query_grad_kernel, tasks, ATTEND_WARPS * WARP, 0, stream, m->lesson, m->row_lesson, m->rows,
                s->head, (const float *)l->qkv, (const float *)l->lse, (const float *)e->mean,
                (const float *)e->dmixed, e->dqkv);
    SKED_LAUNCH(key_grad_kernel, tasks, ATTEND_WARPS * WARP, 0, stream, m->lesson, m->row_lesson, m->rows,
                s->head, (const float *)l->qkv, (const float *)l->lse, (const float *)e->mean,
                (const float *)e->dmixed, e->dqkv);
    weight_grad(m, e, s->dim, 3 * inner, l->norm1, e->dqkv, at->qkv_weight, at->qkv_bias, stream);
    linear_back(m, s->dim, 3 * inner, e->dqkv, w + at->qkv_weight, false, e->ddim, stream);
    norm_grad(m, e, l->in, at->norm1_gain, at->norm1_bias, l->stat1, e->ddim, true, e->dx, stream);
}

/* From the sums of the walks to the embedding's gradient in e->ddim and the scorer's weights. */
static void heads_grad(const once_model *m, const once_encoder *e, cudaStream_t stream)
{
    const sked_i_once_shape *s = &m->shape;
    const float *w = m->parameter;
    const int64_t widest = widest_film(s), stride = (s->layers + 1) * 2 * widest;
    float *dplain = e->dplain, *dwait = dplain + (int64_t)m->rows * s->width;
    float *dlast = dwait + (int64_t)m->rows * s->context;
    SKED_LAUNCH(fold_rows_kernel, (unsigned)m->rows, 64, 0, stream, *m, dplain, dwait, dlast);
    SKED_LAUNCH(fold_kernel, dim3(blocks_of(s->width, 32), (unsigned)m->lessons), 32, 0, stream, *m,
                e->gradient, e->dfilm + s->layers * 2 * widest, stride, widest);
    SKED_LAUNCH(fold_rest_kernel, (unsigned)m->lessons, 128, 0, stream, *m, e->gradient);
    weight_grad(m, e, s->dim, s->width, e->out, dplain, s->op_weight, s->op_bias, stream);
    weight_grad(m, e, s->dim, s->context, e->out, dwait, s->wait_weight, s->wait_bias, stream);
    weight_grad(m, e, s->dim, s->context, e->out, dlast, s->last_weight, s->last_bias, stream);
    linear_back(m, s->dim, s->width, dplain, w + s->op_weight, false, e->ddim, stream);
    linear_back(m, s->dim, s->context, dwait, w + s->wait_weight, true, e->ddim, stream);
    linear_back(m, s->dim, s->context, dlast, w + s->last_weight, true, e->ddim, stream);
}

sked_status once_encode_grad(const once_model *m, const once_encoder *e, const once_launch *how,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_once_shape *s = &m->shape;
    const int64_t widest = widest_film(s), stride = (s->layers + 1) * 2 * widest;
    const unsigned threads = (unsigned)((s->temperature + WARP - 1) / WARP * WARP);
    SKED_LAUNCH(turn_masks_kernel, dim3(16, (unsigned)m->lessons), 128, 0, how->stream, m->lesson);
    heads_grad(m, e, how->stream);
    norm_grad(m, e, e->last, s->final_gain, s->final_bias, e->stat, e->ddim, false, e->dx, how->stream);
    for (int k = s->layers - 1; k >= 0 && st == SKED_OK; k--) {
        layer_grad(m, e, k, how->stream);
        st = look(how, err);
    }
    weight_grad(m, e, SKED_I_ONCE_STATIC, s->dim, e->feature, e->dx, s->input_weight, s->input_bias,
                how->stream);
    SKED_LAUNCH(heat_grad_kernel, (unsigned)m->lessons, threads > 128 ? threads : 128, 0, how->stream, *m,
                (const float *)e->dfilm, stride, widest, e->gradient, e->mean);
    return st;
}

/* ------------------------------------------------------------------ weights by column */

__global__ static void turn_kernel(int32_t rows, int32_t columns, const float *w, float *turned)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < (int64_t)rows * columns;
         k += (int64_t)gridDim.x * blockDim.x)
        turned[k % columns * rows + k / columns] = w[k];
}

void once_turn_weights(const once_model *m, cudaStream_t stream)
{
    const sked_i_once_shape *s = &m->shape;
    const float *w = m->parameter;
    SKED_LAUNCH(turn_kernel, 32, 256, 0, stream, 2 * s->context, s->width, w + s->state_weight,
                (float *)m->state_turned);
    SKED_LAUNCH(turn_kernel, 16, 256, 0, stream, s->context, s->width, w + s->device_weight,
                (float *)m->device_turned);
    if (!s->learned)
        return;
    SKED_LAUNCH(turn_kernel, 32, 256, 0, stream, 2 * s->context, s->width, w + s->back_state,
                (float *)m->back_state_turned);
    SKED_LAUNCH(turn_kernel, 16, 256, 0, stream, s->context, s->width, w + s->back_device,
                (float *)m->back_turned);
}
