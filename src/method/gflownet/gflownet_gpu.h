/* Models and problems as a backend with the whole policy takes them (backend/gpu.h). */
#ifndef SKED_METHOD_GFLOWNET_GFLOWNET_GPU_H
#define SKED_METHOD_GFLOWNET_GFLOWNET_GPU_H
#include "backend/gpu_policy.h"
#include "engine/environment/instance.h"
#include "engine/network/sampler.h"

typedef struct sked_i_backend sked_i_backend;

/* UNSUPPORTED where the kernels are not for a model of this kind: they have the presets' widths. */
SKED_MUST_CHECK sked_status sked_i_gflownet_gpu_check(const sked_i_layout *layout, sked_error *err);
void sked_i_gflownet_gpu_shape_of(const sked_i_layout *layout, sked_i_gpu_shape *out);
/* A problem for a model of this layout: UNSUPPORTED beyond its limits. The arrays stay the instance's, and so
 * do those of its graph. */
SKED_MUST_CHECK sked_status sked_i_gflownet_gpu_problem_of(const sked_i_instance *x,
                                                           const sked_i_layout *layout, double temperature,
                                                           sked_i_gpu_problem *out, sked_error *err);
/* The model on the GPU of a backend, with its moments or without; *policy is the table for it. */
SKED_MUST_CHECK sked_status sked_i_gpu_model_open(const sked_i_backend *backend, const sked_sampler *model,
                                                  bool moments, const sked_i_gpu_policy **policy,
                                                  sked_i_gpu_model **out, sked_error *err);
#endif
