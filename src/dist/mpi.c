/*
 * Messages over MPI. Waiting processes sleep, for there may be more of them than cores. The thread that
 * passes stops on needs an MPI that takes calls from several threads; with another one, every rank sees only
 * its own.
 */
#ifdef SKED_WITH_MPI
#define _POSIX_C_SOURCE 200809L

#include "dist/dist.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/memory.h"

#include <assert.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A message on its way. */
typedef struct parcel {
    struct parcel *next;
    MPI_Request request;
    max_align_t data[];
} parcel;

static int rank, size = 1, threads_allowed;
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
    if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &threads_allowed) != MPI_SUCCESS)
        return sked_i_fail(err, SKED_ERR_DEVICE, "MPI cannot be started");
    if (threads_allowed < MPI_THREAD_FUNNELED)
        return sked_i_fail(err, SKED_ERR_DEVICE, "this MPI knows no threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    place_on_machine();
    return SKED_OK;
}

/* ------------------------------------------------------------------ stops */

static pthread_t watcher;
static bool watching;
static atomic_bool watched_enough;
static volatile sig_atomic_t *stop_flag;

static bool stopped(void)
{
    const sked_i_limit limit = {.stop = stop_flag};
    return sked_i_limit_stopped(&limit);
}

/* Has another rank stopped? */
static bool receive_stop(void)
{
    int there;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, SKED_I_MAIL_STOP, MPI_COMM_WORLD, &there, &from);
    if (there)
        MPI_Recv(NULL, 0, MPI_BYTE, from.MPI_SOURCE, SKED_I_MAIL_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return there;
}

/* Until there was a stop, or there is nothing left to stop. */
static void *watch(void *unused)
{
    bool heard = false;
    for (; !atomic_load(&watched_enough) && !heard && !stopped(); sked_i_pause(0.01))
        heard = receive_stop();
    if (heard)
        sked_i_ask_stop(stop_flag);
    for (int k = 0; k < size && !heard && stopped(); k++)
        if (k != rank)
            MPI_Send(NULL, 0, MPI_BYTE, k, SKED_I_MAIL_STOP, MPI_COMM_WORLD); /* no bytes: it does not wait */
    return unused;
}

void sked_dist_watch(volatile sig_atomic_t *stop)
{
    if (size == 1 || threads_allowed < MPI_THREAD_MULTIPLE || watching)
        return;
    assert(stop != NULL);
    sigset_t all, before; /* signals are for the threads that work: they end waits there */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    stop_flag = stop;
    watching = pthread_create(&watcher, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ------------------------------------------------------------------ messages */

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
    assert(!atomic_load(&watched_enough)); /* it comes once */
    atomic_store(&watched_enough, true);
    if (watching)
        pthread_join(watcher, NULL);
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
    assert(to >= 0 && to < size && to != rank && bytes >= 0);
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

/* Has that rank come to its end, without a failure? What it has not sent by then never comes. */
static bool has_ended(int from)
{
    int there, bytes = -1;
    MPI_Status status;
    MPI_Iprobe(from, SKED_I_MAIL_END, MPI_COMM_WORLD, &there, &status);
    if (there)
        MPI_Get_count(&status, MPI_BYTE, &bytes);
    return bytes == 0; /* sked_dist_tells */
}

/* Looks until a message is there; false: none is, and wait is false or it will never come. */
static bool look(int from, sked_i_mail kind, bool wait, MPI_Message *message, MPI_Status *status)
{
    enum { looks_without_sleep = 200 };
    int there;
    for (int64_t k = 0;; k++) {
        const bool last = wait && k > looks_without_sleep && kind != SKED_I_MAIL_END && has_ended(from);
        MPI_Improbe(from, (int)kind, MPI_COMM_WORLD, &there, message, status);
        if (there || !wait || last)
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
    assert(from >= 0 && from < size && from != rank);
    *data = NULL;
    if (!look(from, kind, wait, &message, &status))
        return wait ? sked_i_fail(err, SKED_ERR_ARGUMENT,
                                  "rank %d has ended without its part: all ranks take the same command", from)
                    : SKED_OK;
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
