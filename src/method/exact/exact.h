/* The method `exact`: what its engines share. */
#ifndef SKED_METHOD_EXACT_EXACT_H
#define SKED_METHOD_EXACT_EXACT_H
#include "method/method.h"

/*
 * Makespan by learning constraint search. True where it takes the problem: times that a power of ten makes
 * whole numbers of moderate size, and devices that are interchangeable or all fixed; or unequal devices and
 * links, a moderate number of them and of ops, and either such times or no limited resources.
 */
bool sked_i_exact_branch_fits(const sked_problem *p, const sked_i_costs *c);
SKED_MUST_CHECK sked_status sked_i_exact_branch(sked_i_run *run, sked_error *err);

/*
 * Makespan by enumeration of orders and devices: real times, transfers, unequal or partly fixed devices. Lags
 * must be 0 or more. Proves small problems only (about a dozen ops), and says nothing it has not proved.
 */
bool sked_i_exact_enumerate_fits(const sked_problem *p);
SKED_MUST_CHECK sked_status sked_i_exact_enumerate(sked_i_run *run, sked_error *err);

/*
 * Any objective, whole times: a linear model by time steps (form/program.h) solved by CBC. For `ii` without
 * a given interval: one model per interval from the bound upwards. max_columns: refuse larger models.
 */
SKED_MUST_CHECK sked_status sked_i_exact_cbc(sked_i_run *run, int64_t max_columns, sked_error *err);

/*
 * Makespan under memory limits by enumeration: lags of 0 or more, and on several devices whole times. About
 * ten ops.
 */
bool sked_i_exact_memory_fits(const sked_problem *p);
SKED_MUST_CHECK sked_status sked_i_exact_memory(sked_i_run *run, sked_error *err);

/* Devices for ops on interchangeable devices, from their starts; starts must fit. */
SKED_MUST_CHECK sked_status sked_i_exact_devices(const sked_problem *p, sked_schedule *s, sked_error *err);
#endif
