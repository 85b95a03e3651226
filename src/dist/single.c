/* One process. */
#include "sked/sked.h"

#ifndef SKED_WITH_MPI

sked_status sked_dist_begin(int *argc, char ***argv, sked_error *err)
{
    (void)argc;
    (void)argv;
    (void)err;
    return SKED_OK;
}

void sked_dist_end(sked_status status)
{
    (void)status;
}

int sked_dist_rank(void)
{
    return 0;
}

int sked_dist_size(void)
{
    return 1;
}

uint64_t sked_dist_seed(uint64_t seed)
{
    return seed;
}

sked_status sked_dist_best(const sked_problem *p, sked_status outcome, sked_result *result, sked_error *err)
{
    (void)p;
    (void)result;
    (void)err;
    return outcome;
}

#endif
