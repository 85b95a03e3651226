/*
 * Parameters on a GPU, and what becomes of gradients: norms, the mean of the problems' gradients after
 * cutting, Adam. train.c and sampler.c have the same in plain C.
 */
#include "backend/cuda/gflownet_model.h"

enum { NORM_THREADS = 128, NORM_BLOCKS = 64, LANES = 32 };

/* ------------------------------------------------------------------ kernels */

/* Squares of a share of the numbers; partial: [vectors, NORM_BLOCKS] */
__global__ static void square_kernel(int64_t total, const float *gradient, double *partial)
{
    SKED_CHAIN();
    __shared__ double part[NORM_THREADS / LANES];
    const float *g = gradient + blockIdx.y * total;
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * NORM_THREADS + threadIdx.x; i < total;
         i += (int64_t)NORM_BLOCKS * NORM_THREADS)
        sum += (double)g[i] * g[i];
    sum = sked_i_warp_sum(sum);
    if (threadIdx.x % LANES == 0)
        part[threadIdx.x / LANES] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < NORM_THREADS / LANES; k++)
            sum += part[k];
        partial[blockIdx.y * NORM_BLOCKS + blockIdx.x] = sum;
    }
}

/* A warp. */
__global__ static void norm_kernel(const double *partial, double *norm)
{
    SKED_CHAIN();
    double sum = 0;
    for (int k = (int)threadIdx.x; k < NORM_BLOCKS; k += LANES)
        sum += partial[blockIdx.x * NORM_BLOCKS + k];
    sum = sked_i_warp_sum(sum);
    if (threadIdx.x == 0)
        norm[blockIdx.x] = sqrt(sum);
}

__global__ static void add_kernel(int64_t total, int32_t lessons, double clip, double share,
                                  const double *norm, const float *gradients, bool add, float *gradient)
{
    SKED_CHAIN();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < total;
         i += (int64_t)gridDim.x * blockDim.x) {
        float sum = add ? gradient[i] : 0;
        for (int32_t k = 0; k < lessons; k++)
            sum += (float)((norm[k] > clip ? clip / norm[k] : 1) * share) * gradients[k * total + i];
        gradient[i] = sum;
    }
}

__global__ static void adam_kernel(int64_t total, sked_i_gpu_step how, const float *gradient,
                                   float *parameter, float *moment1, float *moment2)
{
    SKED_CHAIN();
    const double b1 = 0.9, b2 = 0.999;
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    const double g = gradient[i];
    moment1[i] = (float)(b1 * moment1[i] + (1 - b1) * g);
    moment2[i] = (float)(b2 * moment2[i] + (1 - b2) * g * g);
    parameter[i] -= (float)(how.rate * (moment1[i] / how.left1) / (sqrt(moment2[i] / how.left2) + 1e-8));
}

/* ------------------------------------------------------------------ memory */

sked_status sked_i_gpu_open(sked_i_gpu_model *m, size_t fixed_shared, sked_error *err)
{
    sked_status st = SKED_OK;
    int number = 0, shared = 0;
    CUDA_TRY(cudaGetDevice(&number));
    CUDA_TRY(cudaDeviceGetAttribute(&m->processors, cudaDevAttrMultiProcessorCount, number));
    CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, number));
    m->most_shared = (size_t)shared - fixed_shared;
    CUDA_TRY(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
cleanup:
    return st;
}

void sked_i_gpu_close(sked_i_gpu_model *m)
{
    if (m->stream != NULL) {
        cudaStreamSynchronize(m->stream);
        cudaStreamDestroy(m->stream);
    }
    sked_i_cuda_arena_close(&m->fixed);
    sked_i_cuda_arena_close(&m->work);
}

void sked_i_gpu_cut_model(sked_i_gpu_model *m)
{
    sked_i_cut_all(&m->fixed, m->shape.total, {&m->parameter, &m->moment1, &m->moment2, &m->sum});
}

void sked_i_gpu_cut_gradients(sked_i_gpu_model *m, sked_i_cuda_arena *a)
{
    const int64_t lessons = m->lessons;
    m->gradient = sked_i_cut<float>(a, lessons * m->shape.total);
    m->norm_partial = sked_i_cut<double>(a, lessons * NORM_BLOCKS);
}

sked_status sked_i_gpu_settle(const sked_i_gpu_model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaStreamSynchronize(m->stream));
cleanup:
    return st;
}

sked_status sked_i_gpu_upload(const sked_i_gpu_model *m, const void *to, const void *from, size_t bytes,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    if (bytes > 0)
        CUDA_TRY(cudaMemcpyAsync((void *)to, from, bytes, cudaMemcpyHostToDevice, m->stream));
cleanup:
    return st;
}

sked_status sked_i_gpu_download(const sked_i_gpu_model *m, void *to, const void *from, size_t bytes,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    if (to != NULL && bytes > 0)
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, m->stream));
cleanup:
    return st;
}

sked_status sked_i_gpu_check_walks(int32_t count, const int32_t *status, int32_t n, sked_error *err)
{
    int32_t k = 0;
    while (k < count && (status[k] & 255) == GPU_WALK_OK)
        k++;
    if (k == count)
        return SKED_OK;
    const int step = status[k] >> 8;
    if ((status[k] & 255) == GPU_WALK_NOT_LEGAL)
        return sked_i_fail(err, SKED_ERR_BUG, "step %d of the trajectory is not legal", step);
    return sked_i_fail(err, SKED_ERR_BUG, "the policy gives no probability at step %d of %d", step, (int)n);
}

/* ------------------------------------------------------------------ the tables */

sked_status sked_i_gpu_put(sked_i_gpu_model *m, const float *parameter, const float *moment1,
                           const float *moment2, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)m->shape.total * sizeof(float);
    const float *const from[] = {parameter, moment1, moment2};
    float *const to[] = {m->parameter, m->moment1, m->moment2};
    for (int k = 0; k < 3; k++)
        if (from[k] != NULL)
            SKED_TRY(sked_i_gpu_upload(m, to[k], from[k], bytes, err));
        else
            CUDA_TRY(cudaMemsetAsync(to[k], 0, bytes, m->stream));
    SKED_TRY(sked_i_gpu_settle(m, err)); /* the caller's memory is free again */
cleanup:
    return st;
}

sked_status sked_i_gpu_get(sked_i_gpu_model *m, float *parameter, float *moment1, float *moment2,
                           sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)m->shape.total * sizeof(float);
    SKED_TRY(sked_i_gpu_download(m, parameter, m->parameter, bytes, err));
    SKED_TRY(sked_i_gpu_download(m, moment1, m->moment1, bytes, err));
    SKED_TRY(sked_i_gpu_download(m, moment2, m->moment2, bytes, err));
    SKED_TRY(sked_i_gpu_settle(m, err));
cleanup:
    return st;
}

void sked_i_gpu_norms(const sked_i_gpu_model *m)
{
    const unsigned lessons = (unsigned)m->lessons;
    SKED_LAUNCH_CHAINED(square_kernel, dim3(NORM_BLOCKS, lessons), NORM_THREADS, 0, m->stream, m->shape.total,
                        (const float *)m->gradient, m->norm_partial);
    SKED_LAUNCH_CHAINED(norm_kernel, lessons, LANES, 0, m->stream, (const double *)m->norm_partial, m->norm);
}

/* The sum of the gradients after cutting, times share, in m->sum; or added to what that holds. */
static void add_gradients(const sked_i_gpu_model *m, double clip, double share, bool add)
{
    SKED_LAUNCH_CHAINED(add_kernel, sked_i_blocks_of(m->shape.total, 256), 256, 0, m->stream, m->shape.total,
                        m->lessons, clip, share, (const double *)m->norm, (const float *)m->gradient, add,
                        m->sum);
}

sked_status sked_i_gpu_add(sked_i_gpu_model *m, double clip, double share, float *gradient, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)m->shape.total * sizeof(float);
    SKED_TRY(sked_i_gpu_upload(m, m->sum, gradient, bytes, err));
    add_gradients(m, clip, share, true);
    SKED_TRY(sked_i_gpu_download(m, gradient, m->sum, bytes, err));
    SKED_TRY(sked_i_gpu_settle(m, err));
cleanup:
    return st;
}

sked_status sked_i_gpu_update(sked_i_gpu_model *m, const sked_i_gpu_step *how, const float *gradient,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    if (gradient != NULL) {
        SKED_TRY(sked_i_gpu_upload(m, m->sum, gradient, (size_t)m->shape.total * sizeof(float), err));
        SKED_TRY(sked_i_gpu_settle(m, err)); /* the caller's memory is free again */
    } else {
        add_gradients(m, how->clip, how->share, false);
    }
    SKED_LAUNCH_CHAINED(adam_kernel, sked_i_blocks_of(m->shape.total, 256), 256, 0, m->stream, m->shape.total,
                        *how, (const float *)m->sum, m->parameter, m->moment1, m->moment2);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}
