/*
 * Search over orders and devices together, for machines where transfers between devices cost time or the
 * user has fixed devices. Annealing on (list, device per op): the list is simulated in order, every op on
 * its device after what the device already runs.
 */
#ifndef SKED_METHOD_SEARCH_TRANSFER_H
#define SKED_METHOD_SEARCH_TRANSFER_H
#include "method/method.h"

SKED_MUST_CHECK sked_status sked_i_transfer_search(sked_i_run *run, sked_error *err);
#endif
