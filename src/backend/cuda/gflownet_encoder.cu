/*
 * The encoder of the encode-once policy and the rows its walks read, for all problems of a call at once:
 * engine/network/encoder.c and once.c have the same in plain C. Matrices are small (rows x 64 to 336): tiles
 * in shared memory, sums over the inner dimension in order. Gradients of weights are taken per problem,
 * since each problem's gradient is cut to a norm of its own.
 */
#include "backend/cuda/gflownet_once.h"

#define FULL 0xffffffffu

enum { TILE_ROWS = 32, TILE_COLUMNS = 64, TILE_INNER = 64, TILE_THREADS = 256 };
enum { LINEAR_ROWS = 16, LINEAR_COLUMNS = 32, LINEAR_THREADS = LINEAR_ROWS / 2 * LINEAR_COLUMNS / 2 };

/* ------------------------------------------------------------------ y = x w */

/* FiLM of a row's problem: scale[c], and `shift` numbers on the shift; problems lie `stride` apart. */
struct film_of {
    const float *scale;
    int64_t stride, shift;
};

/* y[rows, q] = sum over the terms of x[rows, p] w, w [p, q], or where it is turned [q, p]; and what then
 * happens. */
struct linear_job {
    struct {
        const float *x, *w;
        int32_t p;
    } term[3];
    int32_t terms, q;
    bool turned;
    film_of before;        /* scale NULL: none; its scale multiplies the numbers of x */
    const float *bias;     /* [q] or NULL */
    const float *residual; /* [rows, q] or NULL: added */
    const float *mask;     /* [rows, q] or NULL: 0 where that is not positive */
    film_of after;         /* scale NULL: none */
    bool relu;             /* after FiLM */
    float *y, *filmed;     /* [rows, q] before and after FiLM */
};
enum { MOST_JOBS = 3 };
struct linear_jobs {
    linear_job job[MOST_JOBS];
};

__device__ static void finish(const linear_job &t, const int32_t *row_lesson, int64_t i, int32_t j, float sum)
{
    const int64_t at = i * t.q + j;
    if (t.bias != NULL)
        sum += t.bias[j];
    if (t.residual != NULL)
        sum += t.residual[at];
    if (t.mask != NULL && !(t.mask[at] > 0))
        sum = 0;
    t.y[at] = sum;
    if (t.after.scale != NULL) {
        const float *film = t.after.scale + row_lesson[i] * t.after.stride + j;
        const float z = film[0] * sum + film[t.after.shift];
        t.filmed[at] = !t.relu || z > 0 ? z : 0;
    }
}

/* A thread's share of a tile's rows of x and columns of w, on their way to shared memory. */
enum {
    LINEAR_X = LINEAR_ROWS * TILE_INNER / LINEAR_THREADS,
    LINEAR_W = LINEAR_COLUMNS * TILE_INNER / LINEAR_THREADS
};
struct linear_piece {
    float x[LINEAR_X], w[LINEAR_W];
};
/* Where the piece is: rows from i0, columns from j0, term m of the job from k0 on. */
struct linear_at {
    int32_t i0, j0, m, k0;
};

/* All loads before the first store: a store to shared memory would hold up the loads behind it. */
__device__ static void load_piece(const linear_job &t, int32_t rows, const int32_t *row_lesson,
                                  const linear_at &at, linear_piece *out)
{
    const float *x = t.term[at.m].x, *w = t.term[at.m].w;
    const int32_t p = t.term[at.m].p, q = t.q;
#pragma unroll
    for (int r = 0; r < LINEAR_X; r++) {
        const int s = (int)threadIdx.x + r * LINEAR_THREADS;
        const int32_t k = at.k0 + s % TILE_INNER, i = at.i0 + s / TILE_INNER;
        out->x[r] = i < rows && k < p ? x[(int64_t)i * p + k] : 0;
    }
#pragma unroll
    for (int r = 0; r < LINEAR_W; r++) {
        const int s = (int)threadIdx.x + r * LINEAR_THREADS;
        const int32_t k = at.k0 + (t.turned ? s % TILE_INNER : s / LINEAR_COLUMNS);
        const int32_t j = at.j0 + (t.turned ? s / TILE_INNER : s % LINEAR_COLUMNS);
        out->w[r] = j < q && k < p ? w[t.turned ? (int64_t)j * p + k : (int64_t)k * q + j] : 0;
    }
    if (t.before.scale == NULL)
        return;
#pragma unroll
    for (int r = 0; r < LINEAR_X; r++) {
        const int s = (int)threadIdx.x + r * LINEAR_THREADS;
        const int32_t k = at.k0 + s % TILE_INNER, i = at.i0 + s / TILE_INNER;
        if (i < rows && k < p)
            out->x[r] *= t.before.scale[row_lesson[i] * t.before.stride + k];
    }
}
/* The next piece of a tile; false: there is none. */
__device__ static bool next_piece(const linear_job &t, linear_at *at)
{
    at->k0 += TILE_INNER;
    if (at->k0 >= t.term[at->m].p) {
        at->k0 = 0;
        at->m++;
    }
    return at->m < t.terms;
}

/*
 * A block for a tile of y, two rows of two columns a thread. Tiles are small: a problem of 50 ops has few of
 * them, and the time of one is what a launch takes. The next piece is loaded while one is multiplied.
 */
__global__ static void __launch_bounds__(LINEAR_THREADS)
    linear_kernel(int32_t rows, const __grid_constant__ linear_jobs jobs, const int32_t *row_lesson)
{
    SKED_CHAIN();
    /* Two more numbers a row: pairs stay aligned, and fewer threads meet in a bank. */
    __shared__ float2 a2[TILE_INNER][LINEAR_ROWS / 2 + 1], b2[TILE_INNER][LINEAR_COLUMNS / 2 + 1];
    float(*a)[LINEAR_ROWS + 2] = (float(*)[LINEAR_ROWS + 2]) a2;
    float(*b)[LINEAR_COLUMNS + 2] = (float(*)[LINEAR_COLUMNS + 2]) b2;
    const linear_job &t = jobs.job[blockIdx.z];
    linear_at at = {(int32_t)blockIdx.y * LINEAR_ROWS, (int32_t)blockIdx.x * LINEAR_COLUMNS, 0, 0};
    const int tx = (int)threadIdx.x % (LINEAR_COLUMNS / 2), ty = (int)threadIdx.x / (LINEAR_COLUMNS / 2);
    float sum[2][2] = {};
    linear_piece piece;
    if (at.j0 >= t.q)
        return;
    load_piece(t, rows, row_lesson, at, &piece);
    for (bool more = true; more;) {
#pragma unroll
        for (int r = 0; r < LINEAR_X; r++) {
            const int s = (int)threadIdx.x + r * LINEAR_THREADS;
            a[s % TILE_INNER][s / TILE_INNER] = piece.x[r];
        }
#pragma unroll
        for (int r = 0; r < LINEAR_W; r++) {
            const int s = (int)threadIdx.x + r * LINEAR_THREADS;
            b[t.turned ? s % TILE_INNER : s / LINEAR_COLUMNS]
             [t.turned ? s / TILE_INNER : s % LINEAR_COLUMNS] = piece.w[r];
        }
        __syncthreads();
        const int left = t.term[at.m].p - at.k0, inner = left < TILE_INNER ? left : (int)TILE_INNER;
        more = next_piece(t, &at);
        if (more)
            load_piece(t, rows, row_lesson, at, &piece);
#pragma unroll 8
        for (int k = 0; k < inner; k++) { /* a multiple of 8 */
            const float2 u = a2[k][ty], v = b2[k][tx];
            sum[0][0] += u.x * v.x;
            sum[0][1] += u.x * v.y;
            sum[1][0] += u.y * v.x;
            sum[1][1] += u.y * v.y;
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            const int32_t i = at.i0 + 2 * ty + r, j = at.j0 + 2 * tx + s;
            if (i < rows && j < t.q)
                finish(t, row_lesson, i, j, sum[r][s]);
        }
}

/* x w of one term. */
static linear_job job_of(int32_t p, int32_t q, const float *x, const float *w, float *y)
{
    linear_job t = {};
    t.term[0] = {x, w, p};
    t.terms = 1;
    t.q = q;
    t.y = y;
    return t;
}
static void run_jobs(const once_model *m, int count, const linear_job *job, cudaStream_t stream)
{
    linear_jobs jobs = {};
    int32_t q = 0;
    for (int k = 0; k < count; k++) {
        jobs.job[k] = job[k];
        q = job[k].q > q ? job[k].q : q;
    }
    const dim3 grid(sked_i_blocks_of(q, LINEAR_COLUMNS), sked_i_blocks_of(m->rows, LINEAR_ROWS),
                    (unsigned)count);
    SKED_LAUNCH_CHAINED(linear_kernel, grid, LINEAR_THREADS, 0, stream, m->rows, jobs, m->row_lesson);
}
static void linear(const once_model *m, int32_t p, int32_t q, const float *x, int64_t weight, int64_t bias,
                   const float *residual, float *y, cudaStream_t stream)
{
    linear_job t = job_of(p, q, x, m->parameter + weight, y);
    t.bias = m->parameter + bias;
    t.residual = residual;
    run_jobs(m, 1, &t, stream);
}
/* dx[rows, p] = dy[rows, q] w^T */
static void linear_back(const once_model *m, int32_t p, int32_t q, const float *dy, int64_t weight, float *dx,
                        cudaStream_t stream)
{
    linear_job t = job_of(q, p, dy, m->parameter + weight, dx);
    t.turned = true;
    run_jobs(m, 1, &t, stream);
}

/*
 * dw[p, q] = x^T dy over the rows of each problem, and db; with FiLM times its scale. Each number is written
 * once, by one thread. All weights of the encoder in one launch.
 */
struct weight_job {
    const float *x, *dy;
    int32_t p, q;
    int64_t weight, bias; /* in the gradient of a problem */
    film_of film;
};
enum { MOST_WEIGHTS = 4 * SKED_I_MAX_LAYERS + 4 };
struct weight_jobs {
    weight_job job[MOST_WEIGHTS];
    int count;
};

__global__ static void weight_kernel(const once_lesson *lessons, const __grid_constant__ weight_jobs jobs,
                                     float *gradients, int64_t total)
{
    SKED_CHAIN();
    __shared__ float a[TILE_INNER][TILE_ROWS], b[TILE_INNER][TILE_COLUMNS];
    const weight_job &t = jobs.job[blockIdx.z];
    const once_lesson *l = &lessons[blockIdx.y];
    const int32_t across = (t.q + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int32_t k0 = (int32_t)blockIdx.x / across * TILE_ROWS,
                  j0 = (int32_t)blockIdx.x % across * TILE_COLUMNS;
    const int tx = (int)threadIdx.x % 32, ty = (int)threadIdx.x / 32;
    float sum[4][2] = {}, bias = 0, *gradient = gradients + blockIdx.y * total;
    if (k0 >= t.p)
        return;
    const int32_t n = l->n, first = l->first_row;
    for (int32_t i0 = 0; i0 < n; i0 += TILE_INNER) {
        enum {
            EACH_X = TILE_ROWS * TILE_INNER / TILE_THREADS,
            EACH_DY = TILE_COLUMNS * TILE_INNER / TILE_THREADS
        };
        float x[EACH_X], dy[EACH_DY]; /* all loads before the first store */
#pragma unroll
        for (int r = 0; r < EACH_X; r++) {
            const int s = (int)threadIdx.x + r * TILE_THREADS;
            const int32_t k = k0 + s % TILE_ROWS, i = i0 + s / TILE_ROWS;
            x[r] = i < n && k < t.p ? t.x[(int64_t)(first + i) * t.p + k] : 0;
        }
#pragma unroll
        for (int r = 0; r < EACH_DY; r++) {
            const int s = (int)threadIdx.x + r * TILE_THREADS;
            const int32_t j = j0 + s % TILE_COLUMNS, i = i0 + s / TILE_COLUMNS;
            dy[r] = i < n && j < t.q ? t.dy[(int64_t)(first + i) * t.q + j] : 0;
        }
#pragma unroll
        for (int r = 0; r < EACH_X; r++)
            (&a[0][0])[threadIdx.x + r * TILE_THREADS] = x[r];
#pragma unroll
        for (int r = 0; r < EACH_DY; r++)
            (&b[0][0])[threadIdx.x + r * TILE_THREADS] = dy[r];
        __syncthreads();
        const int inner = n - i0 < TILE_INNER ? n - i0 : (int)TILE_INNER;
#pragma unroll 8
        for (int i = 0; i < inner; i++) {
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
    const float *film = t.film.scale != NULL ? t.film.scale + blockIdx.y * t.film.stride : NULL;
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 2; s++) {
            const int32_t k = k0 + ty + 8 * r, j = j0 + tx + 32 * s;
            if (k < t.p && j < t.q)
                gradient[t.weight + (int64_t)k * t.q + j] = film != NULL ? sum[r][s] * film[j] : sum[r][s];
        }
    const int32_t j = j0 + tx + 32 * ty;
    if (ty < 2 && k0 == 0 && j < t.q)
        gradient[t.bias + j] = film != NULL ? bias * film[j] : bias;
}

static void add_weight(weight_jobs *jobs, int32_t p, int32_t q, const float *x, const float *dy,
                       int64_t weight, int64_t bias)
{
    jobs->job[jobs->count++] = {x, dy, p, q, weight, bias, {}};
}

/* ------------------------------------------------------------------ layer normalisation */

/* A warp a row; stat[rows, 2]: mean and 1 / deviation. */
__global__ static void norm_kernel(int32_t rows, int32_t p, const float *x, const float *gain,
                                   const float *bias, float *y, float *stat)
{
    SKED_CHAIN();
    const int64_t i = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    const int lane = (int)threadIdx.x % WARP;
    if (i >= rows)
        return;
    float sum = 0, square = 0;
    for (int32_t k = lane; k < p; k += WARP)
        sum += x[i * p + k];
    const float mean = sked_i_warp_sum(sum) / (float)p;
    for (int32_t k = lane; k < p; k += WARP)
        square += (x[i * p + k] - mean) * (x[i * p + k] - mean);
    const float rstd = 1 / sqrtf(sked_i_warp_sum(square) / (float)p + 1e-5f);
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
    SKED_LAUNCH_CHAINED(norm_kernel, sked_i_blocks_of(m->rows, 4), 128, 0, stream, m->rows, m->shape.dim, x,
                        m->parameter + gain, m->parameter + bias, y, stat);
}

/* dx of a row, and what else leads there: residual [rows, p] or NULL. */
__global__ static void norm_back_kernel(int32_t rows, int32_t p, const float *x, const float *gain,
                                        const float *stat, const float *dy, const float *residual, float *dx)
{
    SKED_CHAIN();
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
    sum = sked_i_warp_sum(sum) / (float)p;
    along = sked_i_warp_sum(along) / (float)p;
    for (int32_t k = lane; k < p; k += WARP) {
        const float d = (dy[i * p + k] * gain[k] - sum - (x[i * p + k] - mean) * rstd * along) * rstd;
        dx[i * p + k] = residual != NULL ? residual[i * p + k] + d : d;
    }
}
static void norm_back(const once_model *m, const float *x, int64_t gain, const float *stat, const float *dy,
                      const float *residual, float *dx, cudaStream_t stream)
{
    SKED_LAUNCH_CHAINED(norm_back_kernel, sked_i_blocks_of(m->rows, 4), 128, 0, stream, m->rows, m->shape.dim,
                        x, m->parameter + gain, stat, dy, residual, dx);
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

/*
 * along = sum over rows of dy x, plain = sum of dy, for gains and biases of normalisations (x is normalised
 * by `stat` first) and for FiLM (stat NULL). All of the encoder in one launch.
 */
struct sum_job {
    const float *x, *stat, *dy;
    int32_t p;
    float *along, *plain; /* of the first problem; the others lie `stride` apart */
    int64_t stride;
};
enum { MOST_SUMS = 3 * SKED_I_MAX_LAYERS + 1 };
struct sum_jobs {
    sum_job job[MOST_SUMS];
    int count;
};
__global__ static void sum_rows_kernel(const once_lesson *lessons, const __grid_constant__ sum_jobs jobs)
{
    SKED_CHAIN();
    __shared__ float part[SUM_ROWS][WARP];
    const sum_job &t = jobs.job[blockIdx.z];
    const once_lesson *l = &lessons[blockIdx.y];
    const int32_t k = (int32_t)blockIdx.x * WARP + (int32_t)threadIdx.x % WARP, p = t.p;
    float along = 0, plain = 0;
    if ((int32_t)blockIdx.x * WARP >= p)
        return;
#pragma unroll 4
    for (int32_t r = (int32_t)threadIdx.x / WARP; r < l->n; r += SUM_ROWS) {
        const int64_t i = l->first_row + r, at = i * p + k;
        if (k < p) {
            const float dy = t.dy[at];
            along += dy * (t.stat != NULL ? (t.x[at] - t.stat[2 * i]) * t.stat[2 * i + 1] : t.x[at]);
            plain += dy;
        }
    }
    along = column_sum(part, along);
    plain = column_sum(part, plain);
    if (threadIdx.x < WARP && k < p) {
        t.along[blockIdx.y * t.stride + k] = along;
        t.plain[blockIdx.y * t.stride + k] = plain;
    }
}

/* ------------------------------------------------------------------ attention */

/* Bits of a 32-op piece of a row of masks. */
__device__ static inline unsigned mask_piece(const uint64_t *row, int32_t piece)
{
    return (unsigned)(row[piece / 2] >> (piece % 2 * 32));
}
__device__ static inline float dot(const float *a, const float *b)
{
    float sum = 0;
    for (int32_t c = 0; c < SKED_I_GPU_HEAD; c += 4) {
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

enum { ATTEND_WARPS = 4, SIZE = SKED_I_GPU_HEAD };
static_assert(2 * (int)SIZE == (int)WARP, "a half of a warp has the numbers of a head");

/* Lanes own numbers of a head; halves of a warp take the set bits of a piece in turn, and are added. */
struct lane_part {
    int half, c;
};
__device__ static inline lane_part part_of_lane(void)
{
    const int lane = (int)threadIdx.x % WARP;
    return {lane / SIZE, lane % SIZE};
}
/* The bit of this lane's half among those left, or -1; *rest loses the bits of both. */
__device__ static inline int next_bit(const lane_part &l, unsigned *rest)
{
    const int first = __ffs((int)*rest) - 1;
    *rest &= *rest - 1;
    const int second = __ffs((int)*rest) - 1;
    *rest &= *rest - 1;
    return l.half == 0 ? first : second;
}
/*
 * acc plus the rows of the set bits, each times the weight of its lane. row: of bit 0, the others `stride`
 * apart. Some at a time, so that their loads need not wait for each other.
 */
__device__ static inline float add_rows(const lane_part &l, unsigned set, float weight, const float *row,
                                        int64_t stride, float acc)
{
    enum { AT_ONCE = 4 };
    for (unsigned rest = set; rest != 0;) {
        float share[AT_ONCE], x[AT_ONCE];
#pragma unroll
        for (int b = 0; b < AT_ONCE; b++) {
            const int bit = next_bit(l, &rest), there = bit < 0 ? 0 : bit;
            share[b] = __shfl_sync(FULL, weight, there);
            x[b] = bit >= 0 ? row[there * stride + l.c] : 0;
        }
#pragma unroll
        for (int b = 0; b < AT_ONCE; b++)
            acc += share[b] * x[b];
    }
    return acc;
}
__device__ static inline float add_halves(float x)
{
    return x + __shfl_xor_sync(FULL, x, SIZE);
}

/* A warp for an op and a head: lanes look at ops, then own numbers of the sum. */
__global__ static void attention_kernel(const once_lesson *lessons, const int32_t *row_lesson, int32_t rows,
                                        const float *qkv, float *y, float *lse)
{
    SKED_CHAIN();
    const int lane = (int)threadIdx.x % WARP;
    const int64_t task = (int64_t)blockIdx.x * ATTEND_WARPS + threadIdx.x / WARP;
    if (task >= (int64_t)rows * HEADS)
        return;
    const int64_t i = task / HEADS;
    const int32_t head = (int32_t)(task % HEADS);
    const once_lesson *l = &lessons[row_lesson[i]];
    const int64_t inner = (int64_t)HEADS * SIZE, first = l->first_row;
    const float *q = qkv + i * 3 * inner + head * SIZE, *keys = qkv + first * 3 * inner + inner + head * SIZE;
    const uint64_t *row = l->masks + ((int64_t)head * l->n + (i - first)) * l->words;
    const float scale = 1 / sqrtf((float)SIZE);
    const lane_part part = part_of_lane();
    float top = -CUDART_INF_F, sum = 0, acc = 0;
    for (int32_t piece = 0; piece * WARP < l->n; piece++) {
        const unsigned set = mask_piece(row, piece);
        if (set == 0)
            continue;
        const bool on = set >> lane & 1;
        const int64_t j = piece * WARP + lane;
        const float s = on ? dot(q, keys + j * 3 * inner) * scale : -CUDART_INF_F;
        const float now = fmaxf(top, lanes_max(s)), shrink = expf(top - now), weight = on ? expf(s - now) : 0;
        sum = sum * shrink + sked_i_warp_sum(weight);
        top = now;
        acc = add_rows(part, set, weight, keys + inner + piece * WARP * 3 * inner, 3 * inner, acc * shrink);
    }
    acc = add_halves(acc);
    if (part.half == 0)
        y[i * inner + head * SIZE + part.c] = acc / sum;
    if (lane == 0)
        lse[i * HEADS + head] = top + logf(sum);
}

/* What the gradients of attention read and write. */
struct attention_grad {
    const float *qkv, *y, *lse, *dy;
    float *dqkv;
    int32_t rows;
};

/* Of queries: a warp for an op and a head. */
__device__ static void query_grad(const once_lesson *l, const attention_grad &a, int64_t i, int32_t head)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t inner = (int64_t)HEADS * SIZE, first = l->first_row, at = i * 3 * inner + head * SIZE;
    const int64_t task = i * HEADS + head;
    const float *keys = a.qkv + first * 3 * inner + inner + head * SIZE, *d = a.dy + task * SIZE;
    const uint64_t *row = l->masks + ((int64_t)head * l->n + (i - first)) * l->words;
    const float scale = 1 / sqrtf((float)SIZE), mean = dot(d, a.y + task * SIZE), lse = a.lse[task];
    const lane_part part = part_of_lane();
    float acc = 0;
    for (int32_t piece = 0; piece * WARP < l->n; piece++) {
        const unsigned set = mask_piece(row, piece);
        float ds = 0;
        if (set >> lane & 1) {
            const float *k = keys + (piece * WARP + lane) * 3 * inner;
            const float weight = expf(fminf(dot(a.qkv + at, k) * scale - lse, 0.5f));
            ds = weight * (dot(d, k + inner) - mean) * scale;
        }
        acc = add_rows(part, set, ds, keys + piece * WARP * 3 * inner, 3 * inner, acc);
    }
    acc = add_halves(acc);
    if (part.half == 0)
        a.dqkv[at + part.c] = acc;
}

/* Of keys and values: the same for an op that is looked at. */
__device__ static void key_grad(const once_lesson *l, const attention_grad &a, int64_t j, int32_t head)
{
    const int lane = (int)threadIdx.x % WARP;
    const int64_t inner = (int64_t)HEADS * SIZE, first = l->first_row;
    const int64_t key = j * 3 * inner + inner + head * SIZE, value = key + inner;
    const uint64_t *row = l->turned + ((int64_t)head * l->n + (j - first)) * l->words;
    const float scale = 1 / sqrtf((float)SIZE);
    const lane_part part = part_of_lane();
    float dk = 0, dv = 0;
    for (int32_t piece = 0; piece * WARP < l->n; piece++) {
        const unsigned set = mask_piece(row, piece);
        float ds = 0, weight = 0;
        if (set >> lane & 1) {
            const int64_t i = first + piece * WARP + lane, its = i * HEADS + head;
            const float *d = a.dy + its * SIZE;
            weight =
                expf(fminf(dot(a.qkv + i * 3 * inner + head * SIZE, a.qkv + key) * scale - a.lse[its], 0.5f));
            ds = weight * (dot(d, a.qkv + value) - dot(d, a.y + its * SIZE)) * scale;
        }
        const int64_t i = first + piece * WARP;
        dk = add_rows(part, set, ds, a.qkv + i * 3 * inner + head * SIZE, 3 * inner, dk);
        dv = add_rows(part, set, weight, a.dy + (i * HEADS + head) * SIZE, inner, dv);
    }
    dk = add_halves(dk);
    dv = add_halves(dv);
    if (part.half == 0) {
        a.dqkv[key + part.c] = dk;
        a.dqkv[value + part.c] = dv;
    }
}

__global__ static void attention_grad_kernel(const once_lesson *lessons, const int32_t *row_lesson,
                                             attention_grad a)
{
    SKED_CHAIN();
    const int64_t task = (int64_t)blockIdx.x * ATTEND_WARPS + threadIdx.x / WARP;
    if (task >= (int64_t)a.rows * HEADS)
        return;
    const int64_t i = task / HEADS;
    const once_lesson *l = &lessons[row_lesson[i]];
    if (blockIdx.y == 0)
        query_grad(l, a, i, (int32_t)(task % HEADS));
    else
        key_grad(l, a, i, (int32_t)(task % HEADS));
}

/* Masks by key: a thread for a word. */
__global__ static void turn_masks_kernel(const once_lesson *lessons)
{
    SKED_CHAIN();
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

/* Column j of x[p] w + b. */
__device__ static float column_of(int32_t p, int32_t q, const float *x, const float *w, const float *b,
                                  int32_t j)
{
    float sum = b != NULL ? b[j] : 0;
#pragma unroll 16
    for (int32_t k = 0; k < p; k++)
        sum += x[k] * w[(int64_t)k * q + j];
    return sum;
}

enum { HEAT_BLOCKS = 8, HEAT_THREADS = 512, MOST_HEAT = 512 };

/* The two layers of temperature and machine, by every block that needs them. */
__device__ static void heat_layers(const once_model &m, const once_lesson *l, float *first, float *second)
{
    const sked_i_gpu_shape &s = m.shape;
    const float *w = m.parameter;
    for (int32_t j = (int32_t)threadIdx.x; j < s.temperature; j += (int32_t)blockDim.x) {
        const float z =
            column_of(SKED_I_HEAT_FEATURES, s.temperature, l->heat, w + s.heat1_weight, w + s.heat1_bias, j);
        first[j] = z > 0 ? z : 0;
    }
    __syncthreads();
    for (int32_t j = (int32_t)threadIdx.x; j < s.temperature; j += (int32_t)blockDim.x) {
        const float z =
            column_of(s.temperature, s.temperature, first, w + s.heat2_weight, w + s.heat2_bias, j);
        second[j] = z > 0 ? z : 0;
    }
    __syncthreads();
}

/* FiLM of layer k, or of the scorer (k = layers): where its parameters are. */
struct film_at {
    int64_t scale_weight, scale_bias, shift_weight, shift_bias;
    int32_t width;
};
__device__ static film_at film_at_layer(const sked_i_gpu_shape &s, int k)
{
    if (k == s.layers)
        return {s.scale_weight, s.scale_bias, s.shift_weight, s.shift_bias, s.width};
    return {s.layer[k].scale_weight, s.layer[k].scale_bias, s.layer[k].shift_weight, s.layer[k].shift_bias,
            s.mlp};
}

/* FiLM of all layers and of the scorer, weights of logits, the empty device: columns shared out over blocks.
 */
__global__ static void heat_kernel(const __grid_constant__ once_model m)
{
    SKED_CHAIN();
    __shared__ float first[MOST_HEAT], second[MOST_HEAT];
    const sked_i_gpu_shape &s = m.shape;
    const int64_t b = blockIdx.y;
    const once_lesson *l = &m.lesson[b];
    const float *w = m.parameter;
    const int32_t begin = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), step = HEAT_BLOCKS * HEAT_THREADS;
    const int32_t end = step - 1 - begin, middle = (begin + step / 2) % step; /* others than the first ones */
    heat_layers(m, l, first, second);
    for (int32_t j = begin; j < s.temperature; j += step) {
        m.heat1[b * s.temperature + j] = first[j];
        m.heat2[b * s.temperature + j] = second[j];
    }
    for (int32_t i = begin; i < s.layers * 2 * s.mlp; i += step) {
        const film_at at = film_at_layer(s, i / (2 * s.mlp));
        const int32_t j = i % s.mlp;
        const bool shift = i / s.mlp % 2;
        m.film[b * s.layers * 2 * s.mlp + i] =
            column_of(s.temperature, s.mlp, second, w + (shift ? at.shift_weight : at.scale_weight),
                      w + (shift ? at.shift_bias : at.scale_bias), j);
    }
    for (int32_t j = end; j < s.width; j += step) {
        const float scale =
            column_of(s.temperature, s.width, second, w + s.scale_weight, w + s.scale_bias, j);
        float part = 0;
#pragma unroll 16
        for (int32_t k = 0; k < s.context; k++) {
            const float empty = w[s.empty_device + k];
            part += (empty > 0 ? empty : 0) * w[s.device_weight + (int64_t)k * s.width + j];
        }
        m.scale[b * s.width + j] = scale;
        m.shift[b * s.width + j] =
            column_of(s.temperature, s.width, second, w + s.shift_weight, w + s.shift_bias, j);
        m.empty_part[b * s.width + j] = part * scale;
        m.out[b * s.width + j] = l->trust * l->sharpness * w[s.out_weight + j];
    }
    for (int32_t j = middle; j < s.context; j += step)
        m.empty[b * s.context + j] = w[s.empty_device + j] > 0 ? w[s.empty_device + j] : 0;
    const float rule[DIRECT] = SKED_I_LIST_RULE;
    for (int32_t j = middle; j < DIRECT; j += step) {
        const float learnt = w[s.direct_bias + j] + ONCE_HEAT_SHARE * column_of(s.temperature, DIRECT, second,
                                                                                w + s.direct_weight, NULL, j);
        m.direct[b * DIRECT + j] =
            l->sharpness * (l->trust < 1 ? l->trust * learnt + (1 - l->trust) * rule[j] : learnt);
    }
}

/* What unscheduled ops say before anything is scheduled: a block a problem and 32 columns. */
__global__ static void first_wait_kernel(const __grid_constant__ once_model m)
{
    SKED_CHAIN();
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

static void run_attention(const once_model *m, const once_layer *l, cudaStream_t stream)
{
    SKED_LAUNCH_CHAINED(attention_kernel, sked_i_blocks_of((int64_t)m->rows * HEADS, ATTEND_WARPS),
                        ATTEND_WARPS * WARP, 0, stream, m->lesson, m->row_lesson, m->rows,
                        (const float *)l->qkv, l->mixed, l->lse);
}

static film_of layer_film(const once_model *m, int k)
{
    const int64_t mlp = m->shape.mlp;
    return {m->film + k * 2 * mlp, m->shape.layers * 2 * mlp, mlp};
}

static void run_mlp(const once_model *m, int k, const once_layer *l, float *next, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const sked_i_layer_at *at = &s->layer[k];
    norm(m, l->middle, at->norm2_gain, at->norm2_bias, l->norm2, l->stat2, stream);
    linear_job hidden = job_of(s->dim, s->mlp, l->norm2, m->parameter + at->mlp1_weight, l->hidden);
    hidden.bias = m->parameter + at->mlp1_bias;
    hidden.after = layer_film(m, k);
    hidden.relu = true;
    hidden.filmed = l->active;
    run_jobs(m, 1, &hidden, stream);
    linear(m, s->mlp, s->dim, l->active, at->mlp2_weight, at->mlp2_bias, l->middle, next, stream);
}

static void run_heads(const once_model *m, const once_encoder *e, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const float *w = m->parameter;
    linear_job job[] = {job_of(s->dim, s->width, e->out, w + s->op_weight, m->plain),
                        job_of(s->dim, s->context, e->out, w + s->wait_weight, m->wait),
                        job_of(s->dim, s->context, e->out, w + s->last_weight, m->last)};
    job[0].bias = w + s->op_bias;
    job[0].after = {m->scale, s->width, m->shift - m->scale};
    job[0].filmed = m->op;
    job[1].bias = w + s->wait_bias;
    job[2].bias = w + s->last_bias;
    run_jobs(m, 3, job, stream);
    SKED_LAUNCH_CHAINED(first_wait_kernel, dim3(sked_i_blocks_of(s->context, WARP), (unsigned)m->lessons),
                        SUM_ROWS * WARP, 0, stream, *m);
}

sked_status once_encode(const once_model *m, const once_encoder *e, const once_launch *how, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gpu_shape *s = &m->shape;
    const int32_t inner = HEADS * s->head;
    SKED_LAUNCH_CHAINED(heat_kernel, dim3(HEAT_BLOCKS, (unsigned)m->lessons), HEAT_THREADS, 0, how->stream,
                        *m);
    linear(m, SKED_I_STATIC_FEATURES, s->dim, e->feature, s->input_weight, s->input_bias, NULL,
           e->layer[0].in, how->stream);
    for (int k = 0; k < s->layers && st == SKED_OK; k++) {
        const sked_i_layer_at *at = &s->layer[k];
        const once_layer *l = &e->layer[k];
        norm(m, l->in, at->norm1_gain, at->norm1_bias, l->norm1, l->stat1, how->stream);
        linear(m, s->dim, 3 * inner, l->norm1, at->qkv_weight, at->qkv_bias, NULL, l->qkv, how->stream);
        run_attention(m, l, how->stream);
        linear(m, inner, s->dim, l->mixed, at->merge_weight, at->merge_bias, l->in, l->middle, how->stream);
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
    SKED_CHAIN();
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

/*
 * Undoes FiLM on the scorer's weights, `rows` of them: 32 columns a block, eight rows at a time. dfilm
 * [lessons] gets the gradient of the scorer's scale and shift. `empty` is added to the scaled gradient as a
 * product with `part`: the empty device goes through the same weights.
 */
__device__ static float fold_weight(const once_model &m, int64_t rows, int64_t weight,
                                    const float *__restrict__ dscaled, const float *__restrict__ empty,
                                    float part, int32_t c, float scale, float *__restrict__ gradient)
{
    const int64_t width = m.shape.width;
    const float *__restrict__ parameter = m.parameter;
    float dscale = 0;
#pragma unroll 8
    for (int64_t k = threadIdx.x / WARP; k < rows; k += SUM_ROWS) {
        const float d = dscaled[k * width + c] + (empty != NULL ? empty[k] * part : 0);
        gradient[weight + k * width + c] = d * scale;
        dscale += d * parameter[weight + k * width + c];
    }
    return dscale;
}
__device__ static void fold_columns(const once_model &m, int64_t b, float *gradient, float *dscale_out,
                                    float *dshift_out)
{
    __shared__ float part[SUM_ROWS][WARP];
    const sked_i_gpu_shape &s = m.shape;
    const once_lesson *l = &m.lesson[b];
    const fold_at at = fold_of(m, l);
    const int32_t c = (int32_t)(blockIdx.x * WARP + threadIdx.x % WARP);
    float dscale = 0, dshift = 0;
    if (c < s.width) {
        const float scale = m.scale[b * s.width + c], *plain = m.plain + (int64_t)l->first_row * s.width;
#pragma unroll 4
        for (int64_t i = threadIdx.x / WARP; i < l->n; i += SUM_ROWS) {
            dscale += at.op[i * s.width + c] * plain[i * s.width + c];
            dshift += at.op[i * s.width + c];
        }
        dscale += fold_weight(m, 2 * s.context + SKED_I_STATE_FEATURES, s.state_weight,
                              at.rest + m.at.state_weight, NULL, 0, c, scale, gradient);
        dscale += fold_weight(m, PAIR, s.pair_weight, at.rest + m.at.pair, NULL, 0, c, scale, gradient);
        dscale += fold_weight(m, s.context, s.device_weight, at.rest + m.at.device_weight,
                              m.empty + b * s.context, at.rest[m.at.empty_part + c], c, scale, gradient);
    }
    dscale = column_sum(part, dscale);
    dshift = column_sum(part, dshift);
    if (threadIdx.x < WARP && c < s.width) {
        gradient[s.out_weight + c] = l->sharpness * at.rest[m.at.out + c];
        dscale_out[c] = dscale;
        dshift_out[c] = dshift;
    }
}

/* What takes no more than copying, and the empty device. */
__device__ static void fold_rest(const once_model &m, int64_t b, float *gradient)
{
    const sked_i_gpu_shape &s = m.shape;
    const int64_t w = s.width, c = s.context;
    const once_lesson *l = &m.lesson[b];
    const float *rest = fold_of(m, l).rest;
#define COPY(name, count)                                       \
    for (int64_t k = threadIdx.x; k < (count); k += blockDim.x) \
        gradient[s.name + k] = rest[m.at.name + k];
    COPY(wait_feature, SKED_I_WAIT_FEATURES * c)
    COPY(last_feature, SKED_I_LAST_FEATURES * c)
#undef COPY
    for (int64_t k = threadIdx.x; k < DIRECT; k += blockDim.x)
        gradient[s.direct_bias + k] = l->sharpness * rest[m.at.direct + k];
    for (int64_t k = threadIdx.x / WARP; k < c; k += blockDim.x / WARP) {
        float sum = 0;
        for (int64_t j = threadIdx.x % WARP; j < w; j += WARP)
            sum += rest[m.at.empty_part + j] * m.scale[b * w + j] * m.parameter[s.device_weight + k * w + j];
        sum = sked_i_warp_sum(sum);
        if (threadIdx.x % WARP == 0)
            gradient[s.empty_device + k] = m.empty[b * c + k] > 0 ? sum + rest[m.at.empty + k] : 0;
    }
}

__global__ static void fold_kernel(const __grid_constant__ once_model m, float *gradients, float *dfilm,
                                   int64_t dfilm_stride, int64_t dfilm_shift)
{
    SKED_CHAIN();
    const int64_t b = blockIdx.y;
    float *gradient = gradients + b * m.shape.total, *film = dfilm + b * dfilm_stride;
    if (blockIdx.x + 1 < gridDim.x)
        fold_columns(m, b, gradient, film, film + dfilm_shift);
    else
        fold_rest(m, b, gradient);
}

/* dw = x dy^T and db = dy of one row; all blocks of a problem share the numbers. */
__device__ static void outer(int32_t p, int32_t q, const float *x, const float *dy, float scale, float *dw,
                             float *db)
{
    const int64_t begin = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, step = HEAT_BLOCKS * HEAT_THREADS;
    for (int64_t k = begin; k < (int64_t)p * q; k += step)
        dw[k] = x[k / q] * (scale * dy[k % q]);
    for (int64_t k = begin; k < q && db != NULL; k += step)
        db[k] = dy[k];
}
/* w[k] . dy, by a warp. */
__device__ static float row_dot(int32_t q, const float *w, const float *dy, int32_t k)
{
    float sum = 0;
    for (int32_t j = (int32_t)threadIdx.x % WARP; j < q; j += WARP)
        sum += w[(int64_t)k * q + j] * dy[j];
    return sum;
}

/* The way through the two layers, by one block: warps share out the numbers of a layer. */
__device__ static void heat_back(const once_model &m, int64_t b, const float *film, int64_t widest,
                                 const float *direct, float *g)
{
    __shared__ float d[MOST_HEAT], before[MOST_HEAT];
    const sked_i_gpu_shape &s = m.shape;
    const once_lesson *l = &m.lesson[b];
    const float *w = m.parameter, *first = m.heat1 + b * s.temperature, *second = m.heat2 + b * s.temperature;
    const int32_t warp = (int32_t)threadIdx.x / WARP, warps = (int32_t)blockDim.x / WARP;
    for (int32_t k = warp; k < s.temperature; k += warps) {
        float sum = l->sharpness * ONCE_HEAT_SHARE * row_dot(DIRECT, w + s.direct_weight, direct, k);
        for (int i = 0; i <= s.layers; i++) {
            const film_at at = film_at_layer(s, i);
            sum += row_dot(at.width, w + at.scale_weight, film + i * 2 * widest, k);
            sum += row_dot(at.width, w + at.shift_weight, film + i * 2 * widest + widest, k);
        }
        sum = sked_i_warp_sum(sum);
        if (threadIdx.x % WARP == 0)
            d[k] = second[k] > 0 ? sum : 0;
    }
    __syncthreads();
    for (int32_t k = (int32_t)threadIdx.x; k < s.temperature; k += (int32_t)blockDim.x)
        g[s.heat2_bias + k] = d[k];
    for (int64_t k = threadIdx.x; k < (int64_t)s.temperature * s.temperature; k += blockDim.x)
        g[s.heat2_weight + k] = first[k / s.temperature] * d[k % s.temperature];
    for (int32_t k = warp; k < s.temperature; k += warps) {
        const float sum = sked_i_warp_sum(row_dot(s.temperature, w + s.heat2_weight, d, k));
        if (threadIdx.x % WARP == 0)
            before[k] = first[k] > 0 ? sum : 0;
    }
    __syncthreads();
    for (int32_t k = (int32_t)threadIdx.x; k < s.temperature; k += (int32_t)blockDim.x)
        g[s.heat1_bias + k] = before[k];
    for (int64_t k = threadIdx.x; k < (int64_t)SKED_I_HEAT_FEATURES * s.temperature; k += blockDim.x)
        g[s.heat1_weight + k] = l->heat[k / s.temperature] * before[k % s.temperature];
}

/* From FiLM to its weights, and in the last block to what is before them. */
__global__ static void heat_grad_kernel(const __grid_constant__ once_model m, const float *dfilms,
                                        int64_t stride, int64_t widest, float *gradients)
{
    SKED_CHAIN();
    const sked_i_gpu_shape &s = m.shape;
    const int64_t b = blockIdx.y;
    const once_lesson *l = &m.lesson[b];
    const float *second = m.heat2 + b * s.temperature, *film = dfilms + b * stride;
    const float *direct = fold_of(m, l).rest + m.at.direct;
    float *g = gradients + b * s.total;
    if (blockIdx.x == HEAT_BLOCKS) {
        heat_back(m, b, film, widest, direct, g);
        return;
    }
    for (int k = 0; k <= s.layers; k++) {
        const film_at at = film_at_layer(s, k);
        const float *dscale = film + k * 2 * widest;
        outer(s.temperature, at.width, second, dscale, 1, g + at.scale_weight, g + at.scale_bias);
        outer(s.temperature, at.width, second, dscale + widest, 1, g + at.shift_weight, g + at.shift_bias);
    }
    outer(s.temperature, DIRECT, second, direct, l->sharpness * ONCE_HEAT_SHARE, g + s.direct_weight, NULL);
}

static int64_t widest_film(const sked_i_gpu_shape *s)
{
    return s->mlp > s->width ? s->mlp : s->width;
}

/* From the gradient of a layer's output to that of its input. */
static void layer_back(const once_model *m, const once_encoder *e, int k, float *dinput, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const sked_i_layer_at *at = &s->layer[k];
    const once_layer *l = &e->layer[k];
    const float *w = m->parameter;
    const int32_t inner = HEADS * s->head;
    linear_job hidden = job_of(s->dim, s->mlp, l->dout, w + at->mlp2_weight, l->dfilmed);
    hidden.turned = true;
    hidden.mask = l->active;
    run_jobs(m, 1, &hidden, stream);
    linear_job wide = job_of(s->mlp, s->dim, l->dfilmed, w + at->mlp1_weight, l->dnorm2);
    wide.turned = true;
    wide.before = layer_film(m, k);
    run_jobs(m, 1, &wide, stream);
    norm_back(m, l->middle, at->norm2_gain, l->stat2, l->dnorm2, l->dout, l->dmiddle, stream);
    linear_back(m, inner, s->dim, l->dmiddle, at->merge_weight, e->dmixed, stream);
    const attention_grad a = {l->qkv, l->mixed, l->lse, e->dmixed, l->dqkv, m->rows};
    SKED_LAUNCH_CHAINED(attention_grad_kernel,
                        dim3(sked_i_blocks_of((int64_t)m->rows * HEADS, ATTEND_WARPS), 2),
                        ATTEND_WARPS * WARP, 0, stream, m->lesson, m->row_lesson, a);
    linear_back(m, s->dim, 3 * inner, l->dqkv, at->qkv_weight, l->dnorm1, stream);
    norm_back(m, l->in, at->norm1_gain, l->stat1, l->dnorm1, l->dmiddle, dinput, stream);
}

/* From the sums of the walks to the embedding's gradient in e->dembedding and the scorer's weights. */
static void heads_back(const once_model *m, const once_encoder *e, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const float *w = m->parameter;
    const int64_t widest = widest_film(s), stride = (s->layers + 1) * 2 * widest;
    SKED_LAUNCH_CHAINED(fold_rows_kernel, (unsigned)m->rows, 64, 0, stream, *m, e->dplain, e->dwait,
                        e->dlast);
    SKED_LAUNCH_CHAINED(fold_kernel, dim3(sked_i_blocks_of(s->width, WARP) + 1, (unsigned)m->lessons),
                        SUM_ROWS * WARP, 0, stream, *m, e->gradient, e->dfilm + s->layers * 2 * widest,
                        stride, widest);
    linear_job t = job_of(s->width, s->dim, e->dplain, w + s->op_weight, e->dembedding);
    t.term[1] = {e->dwait, w + s->wait_weight, s->context};
    t.term[2] = {e->dlast, w + s->last_weight, s->context};
    t.terms = 3;
    t.turned = true;
    run_jobs(m, 1, &t, stream);
}

/* All weights of matrices, once the rows of their gradients are there. */
static void weights_back(const once_model *m, const once_encoder *e, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const int32_t inner = HEADS * s->head;
    weight_jobs jobs = {};
    unsigned tiles = 0;
    add_weight(&jobs, s->dim, s->width, e->out, e->dplain, s->op_weight, s->op_bias);
    add_weight(&jobs, s->dim, s->context, e->out, e->dwait, s->wait_weight, s->wait_bias);
    add_weight(&jobs, s->dim, s->context, e->out, e->dlast, s->last_weight, s->last_bias);
    add_weight(&jobs, SKED_I_STATIC_FEATURES, s->dim, e->feature, e->dinput, s->input_weight, s->input_bias);
    for (int k = 0; k < s->layers; k++) {
        const sked_i_layer_at *at = &s->layer[k];
        const once_layer *l = &e->layer[k];
        add_weight(&jobs, s->dim, 3 * inner, l->norm1, l->dqkv, at->qkv_weight, at->qkv_bias);
        add_weight(&jobs, inner, s->dim, l->mixed, l->dmiddle, at->merge_weight, at->merge_bias);
        add_weight(&jobs, s->mlp, s->dim, l->active, l->dout, at->mlp2_weight, at->mlp2_bias);
        add_weight(&jobs, s->dim, s->mlp, l->norm2, l->dfilmed, at->mlp1_weight, at->mlp1_bias);
        jobs.job[jobs.count - 1].film = layer_film(m, k);
    }
    for (int k = 0; k < jobs.count; k++) {
        const unsigned its =
            sked_i_blocks_of(jobs.job[k].p, TILE_ROWS) * sked_i_blocks_of(jobs.job[k].q, TILE_COLUMNS);
        tiles = its > tiles ? its : tiles;
    }
    SKED_LAUNCH_CHAINED(weight_kernel, dim3(tiles, (unsigned)m->lessons, (unsigned)jobs.count), TILE_THREADS,
                        0, stream, m->lesson, jobs, e->gradient, s->total);
}

/* Gains and biases of the normalisations, and FiLM. */
static void sums_back(const once_model *m, const once_encoder *e, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const int64_t widest = widest_film(s), stride = (s->layers + 1) * 2 * widest, total = s->total;
    float *g = e->gradient;
    sum_jobs jobs = {};
    jobs.job[jobs.count++] = {e->last,           e->stat,           e->dembedding, s->dim,
                              g + s->final_gain, g + s->final_bias, total};
    for (int k = 0; k < s->layers; k++) {
        const sked_i_layer_at *at = &s->layer[k];
        const once_layer *l = &e->layer[k];
        float *film = e->dfilm + k * 2 * widest;
        jobs.job[jobs.count++] = {l->in, l->stat1, l->dnorm1, s->dim, g + at->norm1_gain, g + at->norm1_bias,
                                  total};
        jobs.job[jobs.count++] = {l->middle,          l->stat2,           l->dnorm2, s->dim,
                                  g + at->norm2_gain, g + at->norm2_bias, total};
        jobs.job[jobs.count++] = {l->hidden, NULL, l->dfilmed, s->mlp, film, film + widest, stride};
    }
    const int32_t p = s->mlp > s->dim ? s->mlp : s->dim;
    SKED_LAUNCH_CHAINED(sum_rows_kernel,
                        dim3(sked_i_blocks_of(p, WARP), (unsigned)m->lessons, (unsigned)jobs.count),
                        SUM_ROWS * WARP, 0, stream, m->lesson, jobs);
}

sked_status once_encode_grad(const once_model *m, const once_encoder *e, const once_launch *how,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gpu_shape *s = &m->shape;
    const int64_t widest = widest_film(s), stride = (s->layers + 1) * 2 * widest;
    SKED_LAUNCH_CHAINED(turn_masks_kernel, dim3(16, (unsigned)m->lessons), 128, 0, how->stream, m->lesson);
    heads_back(m, e, how->stream);
    norm_back(m, e->last, s->final_gain, e->stat, e->dembedding, NULL, e->layer[s->layers - 1].dout,
              how->stream);
    for (int k = s->layers - 1; k >= 0 && st == SKED_OK; k--) {
        layer_back(m, e, k, k > 0 ? e->layer[k - 1].dout : e->dinput, how->stream);
        st = look(how, err);
    }
    weights_back(m, e, how->stream);
    sums_back(m, e, how->stream);
    SKED_LAUNCH_CHAINED(heat_grad_kernel, dim3(HEAT_BLOCKS + 1, (unsigned)m->lessons), HEAT_THREADS, 0,
                        how->stream, *m, (const float *)e->dfilm, stride, widest, e->gradient);
    return st;
}

/* ------------------------------------------------------------------ weights by column */

__global__ static void turn_kernel(int32_t rows, int32_t columns, const float *w, float *turned)
{
    SKED_CHAIN();
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < (int64_t)rows * columns;
         k += (int64_t)gridDim.x * blockDim.x)
        turned[k % columns * rows + k / columns] = w[k];
}

void once_turn_weights(const once_model *m, cudaStream_t stream)
{
    const sked_i_gpu_shape *s = &m->shape;
    const float *w = m->parameter;
    SKED_LAUNCH_CHAINED(turn_kernel, 32, 256, 0, stream, 2 * s->context, s->width, w + s->state_weight,
                        (float *)m->state_turned);
    SKED_LAUNCH_CHAINED(turn_kernel, 16, 256, 0, stream, s->context, s->width, w + s->device_weight,
                        (float *)m->device_turned);
}
