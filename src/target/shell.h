/* A program of the user's, run through the shell, that can be ended at any time with all its children. */
#ifndef SKED_TARGET_SHELL_H
#define SKED_TARGET_SHELL_H
#include "base/clock.h"
#include "base/text.h"

/* Bytes that a program may print: room for the trace of some 500,000 ops. */
enum { SKED_I_SHELL_OUTPUT = 64 << 20 };

typedef struct sked_i_shell_command {
    const char *command;               /* for /bin/sh; "$1" is the file */
    const char *file;                  /* removed if this process dies while the program runs */
    bool folder;                       /* it is a folder: with all that is in it */
    double timeout;                    /* seconds */
    const volatile sig_atomic_t *stop; /* or NULL */
} sked_i_shell_command;

typedef enum sked_i_shell_end {
    SKED_I_SHELL_DONE,    /* it has ended with exit code 0 */
    SKED_I_SHELL_FAILED,  /* with another one, or by a signal */
    SKED_I_SHELL_LATE,    /* it took longer than its time-out */
    SKED_I_SHELL_STOPPED, /* a stop was asked for */
    SKED_I_SHELL_LONG,    /* it printed more than it may */
    SKED_I_SHELL_MISSING  /* the system refused a process */
} sked_i_shell_end;

/*
 * Runs the program to its end, whether or not it closes its output before. Its standard input is empty; what
 * it prints is appended to `out` (check out->failed). When this returns, nothing of its process group is
 * left. The same holds if the calling process dies, whatever ends it.
 */
sked_i_shell_end sked_i_shell_run(const sked_i_shell_command *p, sked_i_buffer *out);
/* What is wrong with a run that ended so: "took longer than its time-out"; NULL: nothing. */
const char *sked_i_shell_complaint(sked_i_shell_end end);

/* Appends a path as one word of a command. */
void sked_i_shell_quote(sked_i_buffer *command, const char *path);

/* Writes a new temporary file for a program. path: SKED_I_SHELL_FILE, which becomes its name. IO. */
#define SKED_I_SHELL_FILE "/tmp/sked-plan-XXXXXX.json"
SKED_MUST_CHECK sked_status sked_i_shell_file(const sked_i_buffer *text, char *path, sked_error *err);
#endif
