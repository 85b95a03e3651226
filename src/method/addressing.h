/* Runs of problems whose values get addresses: policy around whole runs of methods, which know of none. */
#ifndef SKED_METHOD_ADDRESSING_H
#define SKED_METHOD_ADDRESSING_H
#include "base/status.h"

/*
 * As sked_method_run, of a problem with addresses (sked_i_has_addresses); problem, options and method are
 * checked, and of this version. The method solves the problem without addresses, for objective arena the one
 * of peak memory; then the values of what it found are packed, device by device. Where arenas are beyond the
 * limits of memory, the method runs again with limits that are lower by so much.
 */
SKED_MUST_CHECK sked_status sked_i_addresses_run(const char *method, const sked_problem *p,
                                                 const sked_run_options *opt, sked_result *out,
                                                 sked_error *err);
#endif
