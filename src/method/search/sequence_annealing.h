/* Search where devices differ to an op: transfers cost time, or ops are fixed on devices. */
#ifndef SKED_METHOD_SEARCH_SEQUENCE_ANNEALING_H
#define SKED_METHOD_SEARCH_SEQUENCE_ANNEALING_H
#include "engine/sequence/sequence.h"
#include "method/method.h"

/*
 * Annealing on lists and devices, with moves around the critical path, from earliest-finish starts (one
 * sequence per thread). Offers its best, and with candidates the best different schedules it met. A given
 * start must have been validated and offered before.
 */
SKED_MUST_CHECK sked_status sked_i_sequence_annealing_of_transfers(sked_i_run *run, sked_error *err);
#endif
