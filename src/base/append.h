/* A file that grows line by line and survives a power cut after each: what was measured must not be lost. */
#ifndef SKED_BASE_APPEND_H
#define SKED_BASE_APPEND_H
#include "base/status.h"

typedef struct sked_i_append {
    int file; /* descriptor; -1: closed */
    char *path;
} sked_i_append;

/* Keeps the first `keep` bytes of the file (0: starts it anew, creating it) and goes on behind them. "-":
 * standard output. Close in any case; {.file = -1} is closed. IO, MEMORY. */
SKED_MUST_CHECK sked_status sked_i_append_open(sked_i_append *a, const char *path, int64_t keep,
                                               sked_error *err);
/* Writes all of it and waits until it is on disk. Nothing where closed. */
SKED_MUST_CHECK sked_status sked_i_append_add(sked_i_append *a, const char *data, int64_t size,
                                              sked_error *err);
void sked_i_append_close(sked_i_append *a);
#endif
