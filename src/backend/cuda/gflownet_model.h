/* What both policies of gflownet have on a GPU: parameters, moments, gradients, Adam. gflownet_model.cu */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_MODEL_H
#define SKED_BACKEND_CUDA_GFLOWNET_MODEL_H
extern "C" {
#include "backend/gpu_policy.h"
#include "backend/kernels.h"
}
#include "backend/cuda/runtime.h"

#include <string.h>

/* The base of each policy's own. */
struct sked_i_gpu_model {
    sked_i_gpu_shape shape;
    cudaStream_t stream;
    int processors;
    size_t most_shared;                         /* bytes that a block may have */
    sked_i_cuda_arena fixed, work;              /* parameters and tables; a call */
    float *parameter, *moment1, *moment2, *sum; /* [shape.total] */
    /* Of the last call that learns. */
    int32_t lessons;
    float *gradient;             /* [lessons, shape.total] */
    double *norm, *norm_partial; /* [lessons], of each policy's own; [lessons, parts] */
};

/* Stream and processors; most_shared less what kernels have of a fixed size. */
sked_status sked_i_gpu_open(sked_i_gpu_model *m, size_t fixed_shared, sked_error *err);
/* Waits for what is under way and frees what the base has. */
void sked_i_gpu_close(sked_i_gpu_model *m);
/* Pieces of m->fixed; pieces of an arena for m->lessons gradients, but m->norm. */
void sked_i_gpu_cut_model(sked_i_gpu_model *m);
void sked_i_gpu_cut_gradients(sked_i_gpu_model *m, sked_i_cuda_arena *a);
/* Fills m->norm. */
void sked_i_gpu_norms(const sked_i_gpu_model *m);
/* Waits for all that was asked for. */
sked_status sked_i_gpu_settle(const sked_i_gpu_model *m, sked_error *err);
/* To the GPU; the memory must stay until the stream has come to it. */
sked_status sked_i_gpu_upload(const sked_i_gpu_model *m, const void *to, const void *from, size_t bytes,
                              sked_error *err);
/* Back; `to` NULL: not wanted. */
sked_status sked_i_gpu_download(const sked_i_gpu_model *m, void *to, const void *from, size_t bytes,
                                sked_error *err);

/* How a trajectory ended: one of these, and the step << 8. */
enum gpu_walk_status { GPU_WALK_OK, GPU_WALK_NO_PROBABILITY, GPU_WALK_NOT_LEGAL };
/* BUG where one of the trajectories of n ops went wrong: the first. */
sked_status sked_i_gpu_check_walks(int32_t count, const int32_t *status, int32_t n, sked_error *err);

/*
 * Problems as one block of bytes that is copied at once: where the host writes it (NULL: only its size is
 * wanted), and where it will be.
 */
struct gpu_pack {
    char *host, *at;
    size_t used;
};
/* Room for `count` numbers: where the host writes them, or NULL, and where the GPU reads them. */
template <class T> static inline T *gpu_room(gpu_pack *p, int64_t count, const T **device)
{
    T *host = p->host != NULL ? (T *)(p->host + p->used) : NULL;
    *device = (const T *)(p->at + p->used);
    p->used += ((size_t)count * sizeof(T) + 15) / 16 * 16;
    return host;
}
template <class T> static inline void gpu_copy(gpu_pack *p, int64_t count, const T *from, const T **device)
{
    T *to = gpu_room(p, count, device);
    if (to != NULL && count > 0)
        memcpy(to, from, (size_t)count * sizeof(T));
}

/* The parts of the tables that both have (backend/gpu.h). */
sked_status sked_i_gpu_put(sked_i_gpu_model *m, const float *parameter, const float *moment1,
                           const float *moment2, sked_error *err);
sked_status sked_i_gpu_get(sked_i_gpu_model *m, float *parameter, float *moment1, float *moment2,
                           sked_error *err);
sked_status sked_i_gpu_add(sked_i_gpu_model *m, double clip, double share, float *gradient, sked_error *err);
sked_status sked_i_gpu_update(sked_i_gpu_model *m, const sked_i_gpu_step *how, const float *gradient,
                              sked_error *err);

extern "C" const sked_i_gpu_policy sked_i_once_cuda, sked_i_stepwise_cuda;
#endif
