/* Teaching a model. */
#ifndef SKED_METHOD_GFLOWNET_TRAIN_H
#define SKED_METHOD_GFLOWNET_TRAIN_H
#include "engine/network/sampler.h"

/* What sked_train_options.settings may name. */
const sked_option *sked_i_train_options(int *count);
/* As sked_train; opt is of this version. */
SKED_MUST_CHECK sked_status sked_i_train(const sked_train_options *opt, sked_sampler **out, sked_error *err);
#endif
