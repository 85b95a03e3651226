/*
 * Several processes as the library uses them: messages between ranks, and what is built of them. mpi.c sends
 * them over MPI; single.c is the same for one process. Everything else is in best.c, once.
 *
 * Only the thread that called sked_dist_begin may call; a thread of mpi.c's own passes stops on. Ranks are
 * processes of one program on machines of one kind: structs travel as they lie in memory.
 */
#ifndef SKED_DIST_DIST_H
#define SKED_DIST_DIST_H
#include "base/text.h"

/* What a message is about. Those of one kind from one rank arrive in the order they were sent. */
typedef enum sked_i_mail {
    SKED_I_MAIL_SHARE,    /* sked_i_dist_share */
    SKED_I_MAIL_END,      /* sked_dist_tells */
    SKED_I_MAIL_STOP,     /* sked_dist_watch */
    SKED_I_MAIL_SCHEDULE, /* the winner's, for rank 0 */
    SKED_I_MAIL_NEWS,     /* incumbents: method/exchange.c */
    SKED_I_MAIL_DRAWS,    /* of a sampler, for rank 0 */
    SKED_I_MAIL_GRADIENT, /* parts of gradients in training */
    SKED_I_MAIL_ORDER,    /* robust: a schedule to measure */
    SKED_I_MAIL_ANSWER    /* robust: what was measured */
} sked_i_mail;

/* ------------------------------------------------------------------ mpi.c, single.c */

/* Sends bytes to another rank. They are copied and travel while both go on. */
SKED_MUST_CHECK sked_status sked_i_dist_send(int to, sked_i_mail kind, const void *data, int64_t size,
                                             sked_error *err);
/*
 * The next message of that kind from another rank. *data is the caller's to free. Without wait *data is NULL
 * where none has come yet; with it the process sleeps until one has. ARGUMENT: the other rank has come to its
 * end, without a failure, and will not send one.
 */
SKED_MUST_CHECK sked_status sked_i_dist_receive(int from, sked_i_mail kind, bool wait, void **data,
                                                int64_t *size, sked_error *err);
/*
 * Ends a process once all others have come to their ends: what it sent is received or never will be.
 * failure: of some rank, or OK.
 */
void sked_i_dist_finish(sked_status failure);
/* Ends the processes of all ranks at once with the exit code of that status. Nothing can be said any more. */
void sked_i_dist_abort(sked_status status);

/* ------------------------------------------------------------------ best.c */

/* A message of exactly `size` bytes into data: ARGUMENT where it has another size. Waits. */
SKED_MUST_CHECK sked_status sked_i_dist_read(int from, sked_i_mail kind, void *data, int64_t size,
                                             sked_error *err);
/* Starts, and devices where there are any. The reader has a schedule of the same problem. */
SKED_MUST_CHECK sked_status sked_i_dist_send_schedule(int to, sked_i_mail kind, const sked_schedule *s,
                                                      sked_error *err);
SKED_MUST_CHECK sked_status sked_i_dist_read_schedule(int from, sked_i_mail kind, sked_schedule *s,
                                                      sked_error *err);
/* Everybody's `size` bytes to everybody: all[k * size] is what rank k gave. Every rank must call. */
SKED_MUST_CHECK sked_status sked_i_dist_share(const void *mine, int64_t size, void *all, sked_error *err);

/* ------------------------------------------------------------------ same.c */

/*
 * At the start of a call that every rank makes, before anything can fail: ARGUMENT on all of them where they
 * were not given the same problem (NULL: there is none), or the text `call`, which has the options that must
 * be equal and is freed.
 */
SKED_MUST_CHECK sked_status sked_i_dist_same(const sked_problem *p, sked_i_buffer *call, sked_error *err);
/* "key=value" of options, for such a text. */
void sked_i_dist_add_settings(const char *const *settings, int count, sked_i_buffer *call);
#endif
