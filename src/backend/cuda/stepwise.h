/* The stepwise policy on CUDA, for the table of this backend. */
#ifndef SKED_BACKEND_CUDA_STEPWISE_H
#define SKED_BACKEND_CUDA_STEPWISE_H
#include "backend/stepwise.h"
extern const sked_i_stepwise_backend sked_i_stepwise_cuda;
#endif
