/* Models as safetensors files. */
#ifndef SKED_METHOD_GFLOWNET_CHECKPOINT_H
#define SKED_METHOD_GFLOWNET_CHECKPOINT_H
#include "engine/network/sampler.h"

/* As sked_sampler_read and sked_sampler_write. */
SKED_MUST_CHECK sked_status sked_i_checkpoint_read(const char *path, sked_sampler **out, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_checkpoint_write(const sked_sampler *m, const char *path, bool optimiser,
                                                    sked_error *err);
#endif
