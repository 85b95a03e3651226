/* What methods share that take memory limits: the model and a plan that keeps the limits. */
#ifndef SKED_METHOD_MEMORY_LIMITS_H
#define SKED_METHOD_MEMORY_LIMITS_H
#include "engine/memory/memory_engine.h"
#include "method/method.h"

typedef struct sked_i_memory_limits {
    sked_i_arena arena;
    sked_i_stores model;
    sked_i_memory_plan plan;
    sked_i_client client; /* evaluations of planning */
    const sked_i_limit *limit;
} sked_i_memory_limits;

/*
 * Finds a plan, in at most `effort` evaluations; the incumbent and a warm start help. INFEASIBLE: none was
 * found, and the message names the smallest limit known to work. Close in any case.
 */
SKED_MUST_CHECK sked_status sked_i_memory_limits_open(sked_i_run *run, int64_t effort,
                                                      sked_i_memory_limits *x, sked_error *err);
void sked_i_memory_limits_close(sked_i_memory_limits *x);

/* order[ops]: one after the other, of the least peak found; objective memory on one device. */
SKED_MUST_CHECK sked_status sked_i_memory_limits_order(sked_i_run *run, int64_t effort, int32_t *order,
                                                       sked_error *err);

/* Adds the smallest limit known to work to the refusal of a problem whose only limit is that of all devices.
 */
void sked_i_memory_limits_advise(const sked_problem *p, const sked_i_limit *limit, sked_error *err);
#endif
