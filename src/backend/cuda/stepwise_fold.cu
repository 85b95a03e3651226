/*
 * Before and after the network of the stepwise policy: what depends on the temperature alone is worked into
 * the matrices, which are packed as tensor cores read them; gradients of those go back to the parameters;
 * the loss. Small work: a few launches an update.
 */
#include "backend/cuda/gflownet_loss.h"
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_tile_long.h"

enum { SMALL_BLOCK = 256, LARGE_BLOCK = 1024 };

/* ------------------------------------------------------------------ temperature */

/* y = x . weight + bias, one column a thread. */
__device__ static float column_of(int rows, int width, const float *x, const float *weight, const float *bias,
                                  int c)
{
    float sum = bias[c];
    for (int k = 0; k < rows; k++)
        sum += x[k] * weight[(int64_t)k * width + c];
    return sum;
}

/* The embedding of temperature and machine, and every FiLM from it. A block a problem. */
__global__ static void warm_kernel(const step_problem *problem, step_folding f, const float *w)
{
    const step_problem &p = problem[blockIdx.x];
    float *first = p.warmth, *second = first + f.temperature;
    for (int c = threadIdx.x; c < f.temperature; c += blockDim.x)
        first[c] = fmaxf(0, column_of(SKED_I_HEAT_FEATURES, f.temperature, p.heat, w + f.heat1_weight,
                                      w + f.heat1_bias, c));
    __syncthreads();
    for (int c = threadIdx.x; c < f.temperature; c += blockDim.x)
        second[c] =
            fmaxf(0, column_of(f.temperature, f.temperature, first, w + f.heat2_weight, w + f.heat2_bias, c));
    __syncthreads();
    for (int i = 0; i < f.films; i++) {
        const step_film film = f.film[i];
        for (int c = threadIdx.x; c < film.width; c += blockDim.x) {
            p.film[film.at + c] =
                column_of(f.temperature, film.width, second, w + film.scale_weight, w + film.scale_bias, c);
            p.film[film.at + film.width + c] =
                column_of(f.temperature, film.width, second, w + film.shift_weight, w + film.shift_bias, c);
        }
    }
}

/* ------------------------------------------------------------------ masks */

/* A byte of what a query tile sees, as step_tile_row and step_tile_column number a lane's pairs. */
__device__ static unsigned seen_byte(const step_problem &p, int h, int m, int k)
{
    unsigned byte = 0;
    for (int half = 0; half < 2; half++) {
        const int row = m * STEP_TILE + step_tile_row(2 * half), near = row < p.ops ? row : p.ops - 1;
        const uint64_t word = p.masks[((int64_t)h * p.ops + near) * p.words + k / 4];
        const unsigned bits = (unsigned)(word >> k % 4 * STEP_TILE) >> step_lane() % 4 * 2;
        byte |= ((bits & 3) | (bits >> 8 & 3) << 4) << 2 * half;
    }
    return byte;
}

/* A warp a row of tiles of one head. Blocks: (some, problem). */
__global__ static void masks_kernel(const step_problem *problem)
{
    const step_problem &p = problem[blockIdx.y];
    const int tiles = step_tiles_of(p.ops), warps = gridDim.x * blockDim.x / SKED_STEP_WARP;
    if (p.seen == NULL)
        return;
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / SKED_STEP_WARP; row < TILE_HEADS * tiles;
         row += warps) {
        unsigned live = 0;
        for (int k = 0; k < tiles; k++) {
            const unsigned byte = seen_byte(p, row / tiles, row % tiles, k);
            p.seen[((int64_t)row * tiles + k) * SKED_STEP_WARP + step_lane()] = (uint8_t)byte;
            live |= (unsigned)__any_sync(sked_step_all, byte != 0) << k % 32;
            if (k % 32 < 31 && k < tiles - 1)
                continue;
            if (step_lane() == 0)
                p.live[row * step_live_words(tiles) + k / 32] = live;
            live = 0;
        }
    }
}

void sked_i_step_masks(const step_problem *problem, int problems, cudaStream_t stream)
{
    SKED_LAUNCH(masks_kernel, dim3(32, (unsigned)problems), SMALL_BLOCK, 0, stream, problem);
}

/* ------------------------------------------------------------------ weights */

/* Scale of column c of a matrix: FiLM's, or that of queries. */
__device__ static inline float scale_of(const step_problem &p, const step_fold &m, int c)
{
    if (m.film >= 0)
        return p.film[m.film + c];
    return c < m.queries ? m.query_scale : 1;
}

__device__ static inline float folded_weight(const step_problem &p, const step_fold &m, const float *w, int k,
                                             int c)
{
    const float gain = m.gain >= 0 ? w[m.gain + k] : 1;
    return gain * w[m.weight + (int64_t)k * m.width + c] * scale_of(p, m, c);
}

/* The matrix and its transpose as tiles; 0 behind the last column. */
__device__ static void fold_tiles(const step_problem &p, const step_fold &m, const step_matrix &place,
                                  const float *w, int thread)
{
    const int down = place.rows / STEP_TILE, across = (place.columns + STEP_TILE - 1) / STEP_TILE,
              size = STEP_TILE * STEP_TILE;
    step_half *there = (step_half *)(p.tiles + (int64_t)place.tile * SKED_STEP_WARP),
              *back = there + down * across * size;
    for (int e = thread; e < down * across * size; e += gridDim.x * blockDim.x) {
        const int k = e / (across * STEP_TILE), c = e % (across * STEP_TILE), row = k % STEP_TILE,
                  column = c % STEP_TILE, n = c / STEP_TILE, i = k / STEP_TILE;
        const step_half v = step_halve(c < place.columns ? folded_weight(p, m, w, k, c) : 0);
        there[(n * down + i) * size + step_tile_place(row, column)] = v;
        back[(i * across + n) * size + step_tile_place(column, row)] = v;
    }
}

/*
 * weight = diag(gain) parameter diag(scale), as tiles, both ways; bias = (norm . parameter + bias)
 * diag(scale)
 * + shift. Blocks: (part, matrix, problem).
 */
__global__ static void fold_kernel(const step_problem *problem, step_folding f, const float *w)
{
    const step_problem &p = problem[blockIdx.z];
    const step_fold m = f.fold[blockIdx.y];
    const step_matrix place = f.matrix[blockIdx.y];
    const int rows = place.rows, columns = place.columns, thread = blockIdx.x * blockDim.x + threadIdx.x;
    fold_tiles(p, m, place, w, thread);
    for (int c = thread; c < columns; c += gridDim.x * blockDim.x) {
        float bias = w[m.bias + c];
        for (int k = 0; k < rows && m.norm >= 0; k++)
            bias += w[m.norm + k] * w[m.weight + (int64_t)k * m.width + c];
        p.folded[place.bias + c] =
            bias * scale_of(p, m, c) + (m.film >= 0 ? p.film[m.film + columns + c] : 0);
    }
}

/* ------------------------------------------------------------------ loss */

__device__ static loss_batch batch_of(const step_problem &p)
{
    return {p.ops,  p.batch,       p.listed,       p.devices,  p.work,    p.temperature,
            &p.law, p.log_forward, p.log_backward, p.makespan, p.outlook, p.flow};
}

/* PPO: what a ratio counts, the advantage by the steps of all trajectories (batch.c). */
__device__ static void advantage_slopes(const step_problem &p, const loss_batch &b, double *scratch)
{
    const auto reward = [&](int k) { return loss_reward(b, p.makespan[k]); };
    const double mean = loss_sum(b, 0, scratch, reward) / p.batch;
    const double square = loss_sum(b, 0, scratch, [&](int k) {
        const double r = reward(k) - mean;
        return r * r;
    });
    const double unit = (1 + sqrt(square / p.batch)) * p.batch * p.ops;
    for (int k = threadIdx.x; k < p.batch; k += blockDim.x)
        p.slope[k] = (float)((mean - reward(k)) / unit);
}

/*
 * A power of two that brings the largest slope to between a half and 1, for gradients in half precision. By
 * all threads.
 */
__device__ static double slope_scale(const step_problem &p, bool learned, double *scratch)
{
    double most = p.law.kind == SKED_I_LOSS_PPO ? p.law.entropy : 0;
    int exponent;
    if (p.flow == NULL)
        for (int k = threadIdx.x; k < p.batch; k += blockDim.x)
            most = fmax(most, (double)fabsf(p.slope[k]));
    else if (learned && p.law.kind != SKED_I_LOSS_PPO)
        most = step_back_slope(p);
    for (int64_t i = threadIdx.x; p.flow != NULL && i < (int64_t)p.batch * p.ops; i += blockDim.x)
        most = fmax(most, fabs(p.flow[i]));
    most = block_max(most, scratch) * p.sharpness;
    frexp(most, &exponent);
    return most > 0 && most < CUDART_INF ? ldexp(1.0, -exponent) : 1;
}

/* What every trajectory counts, and with credit by steps every step. */
__device__ static void fill_slopes(const step_problem &p, const loss_batch &b, double centre, double bound,
                                   double *scratch)
{
    if (p.law.kind == SKED_I_LOSS_PPO)
        advantage_slopes(p, b, scratch);
    else
        for (int k = threadIdx.x; k < p.batch; k += blockDim.x)
            p.slope[k] = (float)(-2 * loss_bounded(loss_zeta(b, k) - centre, bound) / p.batch);
    __syncthreads();
    if (p.flow != NULL)
        loss_step_slopes(b, scratch, [&](int k) { return (double)p.slope[k]; });
}

/*
 * The mean of zeta or log Z, the loss and its slopes. A block a problem. Where batch.c takes gradients in a
 * single pass there is no bound.
 */
__global__ static void loss_kernel(const step_problem *problem, bool learned)
{
    __shared__ double scratch[32];
    const step_problem &p = problem[blockIdx.x];
    const loss_batch b = batch_of(p);
    const int drawn = p.listed < p.batch ? p.listed : 0;
    const double bound = p.law.by_steps || p.law.kind == SKED_I_LOSS_PPO ? LOSS_HUBER_BOUND : CUDART_INF;
    const double centre = loss_centre(b, bound, scratch);
    const double loss = loss_sum(b, 0, scratch, [&](int k) {
        const double r = loss_zeta(b, k) - centre, inside = loss_bounded(r, bound);
        return inside * (2 * r - inside);
    });
    const double pull =
        loss_sum(b, 0, scratch, [&](int k) { return loss_bounded(loss_zeta(b, k) - centre, bound); });
    const double speedup = loss_sum(b, drawn, scratch, [&](int k) { return loss_speedup(b, p.makespan[k]); });
    fill_slopes(p, b, centre, bound, scratch);
    const double scale = slope_scale(p, learned, scratch);
    if (threadIdx.x == 0) {
        p.loss[STEP_SCALE] = scale;
        p.loss[STEP_LOSS] = loss / p.batch;
        p.loss[STEP_CENTRE] = centre;
        p.loss[STEP_SPEEDUP] = speedup / (p.batch - drawn);
        p.loss[STEP_PULL] = p.law.kind == SKED_I_LOSS_TB ? -2 * pull / p.batch : 0;
    }
}

/* PPO: the loss is that of all steps, which the gradient has gone through. */
__global__ static void value_kernel(const step_problem *problem)
{
    __shared__ double scratch[32];
    const step_problem &p = problem[blockIdx.x];
    if (p.law.kind != SKED_I_LOSS_PPO)
        return;
    double mine = 0;
    for (int64_t i = threadIdx.x; i < (int64_t)p.batch * p.ops; i += blockDim.x)
        mine += p.value[i];
    const double sum = block_sum(mine, scratch);
    if (threadIdx.x == 0)
        p.loss[STEP_LOSS] = sum;
}

/* ------------------------------------------------------------------ back to the parameters */

/* Gradients of the blocks of a problem, added in order. Blocks: (part, problem). */
__global__ static void gather_kernel(const step_problem *problem, const float *gradients, int64_t size)
{
    const step_problem &p = problem[blockIdx.y];
    const float unscale = (float)(1 / p.loss[STEP_SCALE]);
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < size;
         e += (int64_t)gridDim.x * blockDim.x) {
        float sum = 0;
        for (int b = 0; b < p.n_blocks; b++)
            sum += gradients[(p.first_block + b) * size + e];
        p.folded_gradient[e] = sum * unscale;
    }
}

/* One row of a matrix, by one warp: its parameters, and its share of gain and norm. */
__device__ static void unfold_row(const step_problem &p, const step_fold &m, const step_matrix &at,
                                  const float *w, int k, float &dgain, float &dnorm)
{
    const float *drow = p.folded_gradient + at.dweight + (int64_t)k * at.columns;
    const float *dbias = p.folded_gradient + at.dbias, *row = w + m.weight + (int64_t)k * m.width;
    const float gain = m.gain >= 0 ? w[m.gain + k] : 1, norm = m.norm >= 0 ? w[m.norm + k] : 0;
    float *out = p.gradient + m.weight + (int64_t)k * m.width;
    for (int c = threadIdx.x % SKED_STEP_WARP; c < at.columns; c += SKED_STEP_WARP) {
        const float scale = scale_of(p, m, c);
        out[c] = (gain * drow[c] + norm * dbias[c]) * scale;
        dgain += row[c] * scale * drow[c];
        dnorm += row[c] * scale * dbias[c];
    }
}

/* Rows of all matrices. One that shares its normalisation with the one before is done with that. */
__global__ static void unfold_rows_kernel(const step_problem *problem, step_folding f, const float *w)
{
    const step_problem &p = problem[blockIdx.z];
    const int first = blockIdx.y, warps = gridDim.x * blockDim.x / SKED_STEP_WARP;
    if (f.fold[first].follows)
        return;
    for (int k = (blockIdx.x * blockDim.x + threadIdx.x) / SKED_STEP_WARP; k < f.matrix[first].rows;
         k += warps) {
        float dgain = 0, dnorm = 0;
        for (int i = first; i == first || (i < f.matrices && f.fold[i].follows); i++)
            unfold_row(p, f.fold[i], f.matrix[i], w, k, dgain, dnorm);
        dgain = sked_i_warp_sum(dgain);
        dnorm = sked_i_warp_sum(dnorm);
        if (threadIdx.x % SKED_STEP_WARP == 0 && f.fold[first].gain >= 0) {
            p.gradient[f.fold[first].gain + k] = dgain;
            p.gradient[f.fold[first].norm + k] = dnorm;
        }
    }
}

/* Biases and FiLM of all matrices, one column a thread; gradients of FiLM go behind FiLM. */
__global__ static void unfold_columns_kernel(const step_problem *problem, step_folding f, const float *w)
{
    const step_problem &p = problem[blockIdx.z];
    const step_fold m = f.fold[blockIdx.y];
    const step_matrix at = f.matrix[blockIdx.y];
    float *dfilm = p.film + f.film_size + m.film;
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < at.columns; c += gridDim.x * blockDim.x) {
        const float dbias = p.folded_gradient[at.dbias + c];
        p.gradient[m.bias + c] = dbias * scale_of(p, m, c);
        if (m.film < 0)
            continue;
        float dscale = dbias * w[m.bias + c];
        for (int k = 0; k < at.rows; k++) {
            const float gain = m.gain >= 0 ? w[m.gain + k] : 1, norm = m.norm >= 0 ? w[m.norm + k] : 0;
            dscale += w[m.weight + (int64_t)k * m.width + c] *
                      (gain * p.folded_gradient[at.dweight + (int64_t)k * at.columns + c] + norm * dbias);
        }
        dfilm[c] = dscale;
        dfilm[at.columns + c] = dbias;
    }
}

/* Input, second layer of the backward head: parameters as they are. Blocks: (part, problem). */
__global__ static void unfold_plain_kernel(const step_problem *problem, step_net z)
{
    const step_problem &p = problem[blockIdx.y];
    const int size = z.inputs * z.dim;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < size + z.dim + z.width;
         e += gridDim.x * blockDim.x) {
        if (e < size)
            p.gradient[z.input_weight + e] = p.folded_gradient[z.dinput + e];
        else if (e < size + z.dim)
            p.gradient[z.input_bias + e - size] = p.folded_gradient[z.dinput_bias + e - size];
        else if (z.learned)
            p.gradient[z.back2_weight + e - size - z.dim] = p.folded_gradient[z.dback2 + e - size - z.dim];
    }
}

/* Gradients of one FiLM, and of the embedding by it: a warp for each number of that. */
__device__ static void film_grad(const step_problem &p, const step_folding &f, const step_film &film,
                                 const float *w, float *dsecond)
{
    const float *second = p.warmth + f.temperature, *dscale = p.film + f.film_size + film.at,
                *dshift = dscale + film.width;
    const int lane = threadIdx.x % SKED_STEP_WARP;
    for (int k = threadIdx.x / SKED_STEP_WARP; k < f.temperature; k += blockDim.x / SKED_STEP_WARP) {
        float sum = 0;
        for (int c = lane; c < film.width; c += SKED_STEP_WARP) {
            const int64_t at = (int64_t)k * film.width + c;
            sum += w[film.scale_weight + at] * dscale[c] + w[film.shift_weight + at] * dshift[c];
            p.gradient[film.scale_weight + at] = second[k] * dscale[c];
            p.gradient[film.shift_weight + at] = second[k] * dshift[c];
        }
        sum = sked_i_warp_sum(sum);
        if (lane == 0)
            dsecond[k] += sum;
    }
    for (int c = threadIdx.x; c < film.width; c += blockDim.x) {
        p.gradient[film.scale_bias + c] = dscale[c];
        p.gradient[film.shift_bias + c] = dshift[c];
    }
}

/* All of FiLM, and the embedding of temperature and machine. A block a problem. */
__global__ static void cool_kernel(const step_problem *problem, step_folding f, const float *w)
{
    const step_problem &p = problem[blockIdx.x];
    const int size = f.temperature;
    float *first = p.warmth, *second = first + size, *dfirst = second + size, *dsecond = dfirst + size;
    for (int c = threadIdx.x; c < size; c += blockDim.x)
        dsecond[c] = 0;
    __syncthreads();
    for (int i = 0; i < f.films; i++) {
        film_grad(p, f, f.film[i], w, dsecond);
        __syncthreads();
    }
    for (int c = threadIdx.x; c < size; c += blockDim.x)
        dsecond[c] = second[c] > 0 ? dsecond[c] : 0;
    __syncthreads();
    for (int k = threadIdx.x; k < size; k += blockDim.x) {
        float sum = 0;
        for (int c = 0; c < size; c++) {
            sum += w[f.heat2_weight + k * size + c] * dsecond[c];
            p.gradient[f.heat2_weight + k * size + c] = first[k] * dsecond[c];
        }
        p.gradient[f.heat2_bias + k] = dsecond[k];
        dfirst[k] = first[k] > 0 ? sum : 0;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < size; k += blockDim.x) {
        p.gradient[f.heat1_bias + k] = dfirst[k];
        for (int j = 0; j < SKED_I_HEAT_FEATURES; j++)
            p.gradient[f.heat1_weight + j * size + k] = p.heat[j] * dfirst[k];
    }
}

/* ------------------------------------------------------------------ launches */

void sked_i_step_fold(const step_load *load, const step_folding *folding, cudaStream_t stream)
{
    const dim3 grid(32, (unsigned)folding->matrices, (unsigned)load->problems);
    SKED_LAUNCH(warm_kernel, load->problems, SMALL_BLOCK, 0, stream, load->problem, *folding,
                load->parameter);
    SKED_LAUNCH(fold_kernel, grid, SMALL_BLOCK, 0, stream, load->problem, *folding, load->parameter);
}

void sked_i_step_loss(const step_load *load, cudaStream_t stream)
{
    SKED_LAUNCH(loss_kernel, load->problems, SMALL_BLOCK, 0, stream, load->problem, load->net.learned);
}

void sked_i_step_unfold(const step_load *load, const step_folding *folding, const float *gradients,
                        int64_t size, cudaStream_t stream)
{
    const unsigned problems = (unsigned)load->problems, parts = sked_i_blocks_of(size, SMALL_BLOCK);
    const dim3 gather(parts < 256 ? parts : 256, problems), grid(8, (unsigned)folding->matrices, problems),
        plain(4, problems);
    SKED_LAUNCH(gather_kernel, gather, SMALL_BLOCK, 0, stream, load->problem, gradients, size);
    SKED_LAUNCH(unfold_rows_kernel, grid, SMALL_BLOCK, 0, stream, load->problem, *folding, load->parameter);
    SKED_LAUNCH(unfold_columns_kernel, grid, SMALL_BLOCK, 0, stream, load->problem, *folding,
                load->parameter);
    SKED_LAUNCH(unfold_plain_kernel, plain, SMALL_BLOCK, 0, stream, load->problem, load->net);
    SKED_LAUNCH(cool_kernel, problems, LARGE_BLOCK, 0, stream, load->problem, *folding, load->parameter);
    SKED_LAUNCH(value_kernel, problems, LARGE_BLOCK, 0, stream, load->problem);
}
