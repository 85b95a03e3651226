/* The method `exact`: what its engines share. */
#ifndef SKED_METHOD_EXACT_EXACT_H
#define SKED_METHOD_EXACT_EXACT_H
#include "method/method.h"

/* Makespan by clause learning on a model of engine/branch, where sked_i_branch_fits. */
SKED_MUST_CHECK sked_status sked_i_exact_branch(sked_i_run *run, sked_error *err);

/*
 * Any objective, whole times: a linear model by time steps (form/program.h) solved by CBC. For `ii` without
 * a given interval: one model per interval from the bound upwards. max_columns: refuse larger models.
 */
SKED_MUST_CHECK sked_status sked_i_exact_cbc(sked_i_run *run, int64_t max_columns, sked_error *err);
#endif
