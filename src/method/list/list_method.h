/* The method `list`: what its files share. */
#ifndef SKED_METHOD_LIST_LIST_METHOD_H
#define SKED_METHOD_LIST_LIST_METHOD_H
#include "engine/list/list.h"
#include "method/method.h"
#include "method/starts.h"

/*
 * Objectives resource and cost; objective memory. Every variant is offered. plan: the problem, or on
 * heterogeneous devices its relaxation; w: its windows.
 */
SKED_MUST_CHECK sked_status sked_i_list_fill(sked_i_run *run, const sked_problem *plan,
                                             const sked_i_windows *w, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_list_memory(sked_i_run *run, const sked_problem *plan,
                                               const sked_i_windows *w, sked_error *err);
/* Objective makespan under memory limits. serial: ops start in the order of their priorities. */
SKED_MUST_CHECK sked_status sked_i_list_memory_limits(sked_i_run *run, sked_i_priority priority, bool serial,
                                                      int64_t tries, sked_error *err);
#endif
