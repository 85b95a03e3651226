/* search under memory limits. */
#ifndef SKED_METHOD_SEARCH_LIMITS_ANNEALING_H
#define SKED_METHOD_SEARCH_LIMITS_ANNEALING_H
#include "method/method.h"

SKED_MUST_CHECK sked_status sked_i_search_memory_limits(sked_i_run *run, sked_error *err);
#endif
