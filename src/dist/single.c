/* One process: there is no other rank. */
#ifndef SKED_WITH_MPI

#include "dist/dist.h"

#include <stdlib.h>

sked_status sked_dist_begin(int *argc, char ***argv, sked_error *err)
{
    (void)argc;
    (void)argv;
    (void)err;
    return SKED_OK;
}

void sked_dist_watch(volatile sig_atomic_t *stop)
{
    (void)stop;
}

void sked_i_dist_finish(sked_status failure)
{
    (void)failure;
}

int sked_dist_rank(void)
{
    return 0;
}

int sked_dist_size(void)
{
    return 1;
}

sked_status sked_i_dist_send(int to, sked_i_mail kind, const void *data, int64_t size, sked_error *err)
{
    (void)kind;
    (void)data;
    (void)size;
    return sked_i_fail(err, SKED_ERR_BUG, "a message to rank %d of one process", to);
}

sked_status sked_i_dist_receive(int from, sked_i_mail kind, bool wait, void **data, int64_t *size,
                                sked_error *err)
{
    (void)kind;
    (void)wait;
    (void)data;
    (void)size;
    return sked_i_fail(err, SKED_ERR_BUG, "a message from rank %d of one process", from);
}

void sked_i_dist_abort(sked_status status)
{
    exit((int)status);
}

#endif
