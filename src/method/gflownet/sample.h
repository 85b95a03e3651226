/* Schedules drawn from a model. */
#ifndef SKED_METHOD_GFLOWNET_SAMPLE_H
#define SKED_METHOD_GFLOWNET_SAMPLE_H
#include "engine/network/sampler.h"
#include "problem/costs.h"

/* As sked_sampler_sample, for a checked and lowered problem and its costs; opt is not NULL, and all structs
 * are of this version. */
SKED_MUST_CHECK sked_status sked_i_sample(const sked_sampler *m, const sked_problem *p, const sked_i_costs *c,
                                          const sked_sample_options *opt, sked_samples *out, sked_error *err);
#endif
