/* Messages over MPI. One thread calls; waiting processes sleep, for there may be more of them than cores. */
#ifdef SKED_WITH_MPI

#include "dist/dist.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/memory.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* A message on its way. */
typedef struct parcel {
    struct parcel *next;
    MPI_Request request;
    max_align_t data[];
} parcel;

static int rank, size = 1;
static parcel *on_their_way;

/* Processes on one machine take its devices in turn. */
static void place_on_machine(void)
{
    MPI_Comm machine;
    int here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &here);
    MPI_Comm_free(&machine);
    sked_i_backend_set_place(here);
}

sked_status sked_dist_begin(int *argc, char ***argv, sked_error *err)
{
    int provided;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return sked_i_fail(err, SKED_ERR_DEVICE, "MPI cannot be started");
    if (provided < MPI_THREAD_FUNNELED)
        return sked_i_fail(err, SKED_ERR_DEVICE, "this MPI knows no threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    place_on_machine();
    return SKED_OK;
}

/* Frees what has arrived; errors of MPI end the job (MPI_ERRORS_ARE_FATAL, its preset). */
static void reap(void)
{
    for (parcel **p = &on_their_way; *p != NULL;) {
        int arrived;
        parcel *here = *p;
        MPI_Test(&here->request, &arrived, MPI_STATUS_IGNORE);
        if (arrived) {
            *p = here->next;
            free(here);
        } else {
            p = &here->next;
        }
    }
}

void sked_i_dist_finish(sked_status failure)
{
    const double end = sked_clock() + 1;
    while (reap(), on_their_way != NULL && sked_clock() < end)
        sked_i_pause(0.0002);
    if (on_their_way != NULL) /* a rank that failed does not read any more, and MPI_Finalize would wait */
        sked_i_dist_abort(failure);
    MPI_Finalize();
}

int sked_dist_rank(void)
{
    return rank;
}

int sked_dist_size(void)
{
    return size;
}

sked_status sked_i_dist_send(int to, sked_i_mail kind, const void *data, int64_t bytes, sked_error *err)
{
    if (bytes > INT_MAX)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "a message of %lld bytes is too large for MPI",
                           (long long)bytes);
    parcel *p = sked_i_alloc(1, sizeof *p + (size_t)bytes);
    if (p == NULL)
        return sked_i_no_memory(err);
    memcpy(p->data, data, (size_t)bytes);
    reap();
    MPI_Isend(p->data, (int)bytes, MPI_BYTE, to, (int)kind, MPI_COMM_WORLD, &p->request);
    p->next = on_their_way;
    on_their_way = p;
    return SKED_OK;
}

/* Looks until a message is there; false: none is, and nobody waits. */
static bool look(int from, sked_i_mail kind, bool wait, MPI_Message *message, MPI_Status *status)
{
    enum { looks_without_sleep = 200 };
    int there;
    for (int64_t k = 0;; k++) {
        MPI_Improbe(from, (int)kind, MPI_COMM_WORLD, &there, message, status);
        if (there || !wait)
            return there;
        reap();
        if (k > looks_without_sleep)
            sked_i_pause(0.00005);
    }
}

sked_status sked_i_dist_receive(int from, sked_i_mail kind, bool wait, void **data, int64_t *bytes,
                                sked_error *err)
{
    MPI_Message message;
    MPI_Status status;
    int count;
    *data = NULL;
    if (!look(from, kind, wait, &message, &status))
        return SKED_OK;
    MPI_Get_count(&status, MPI_BYTE, &count);
    void *room = sked_i_alloc(count, 1);
    if (room == NULL)
        return sked_i_no_memory(err);
    MPI_Mrecv(room, count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    *data = room;
    *bytes = count;
    return SKED_OK;
}

void sked_i_dist_abort(sked_status status)
{
    MPI_Abort(MPI_COMM_WORLD, (int)status);
    abort(); /* it does not return */
}

#endif
