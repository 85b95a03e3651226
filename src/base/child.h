/*
 * Work in a child process that can be ended at any time, for libraries that cannot be interrupted. The child
 * sends records of one fixed size through a pipe.
 */
#ifndef SKED_BASE_CHILD_H
#define SKED_BASE_CHILD_H
#include "base/clock.h"
#include "base/memory.h"

#include <stddef.h>

typedef struct sked_i_child {
    long pid; /* 0: none */
    int pipe;
    unsigned char *record; /* [size] what has come of the record under way */
    size_t size, count;
} sked_i_child;

/*
 * Forks; the child runs work(data, pipe) and ends. It sees a copy of all memory, sends with
 * sked_i_child_send, and must not return to the caller's code in any other way. It dies with its parent.
 * Neither memory nor a process to be had: false, and nothing has begun.
 */
bool sked_i_child_start(sked_i_child *c, size_t size, void (*work)(void *data, int pipe), void *data);
/* In the child: false when the parent has closed the pipe. */
bool sked_i_child_send(int pipe, const void *record, size_t size);

typedef enum sked_i_child_news {
    SKED_I_CHILD_RECORD,
    SKED_I_CHILD_ENDED,
    SKED_I_CHILD_WAITING
} sked_i_child_news;
/*
 * Waits up to `seconds` for the next record of a child that has not ended. RECORD: it lies in record until
 * the next call. ENDED: the child sends no more, and is reaped.
 */
sked_i_child_news sked_i_child_wait(sked_i_child *c, double seconds);
/* Kills it if it still runs, and frees. */
void sked_i_child_end(sked_i_child *c);
#endif
