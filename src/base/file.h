/* Files: whole-file reads with a limit, and writes that appear complete or not at all. */
#ifndef SKED_BASE_FILE_H
#define SKED_BASE_FILE_H
#include "base/text.h"

/* Reads all of path ("-": standard input), 0-terminated, at most max bytes. Free *data. */
SKED_MUST_CHECK sked_status sked_i_file_read(const char *path, int64_t max, char **data, int64_t *size,
                                             sked_error *err);
bool sked_i_file_exists(const char *path);

/*
 * file_write.c. As sked_file_write: everything that writes a file comes here. _save is for what took long to
 * find (models, schedules): it also syncs the file before the rename and the folder after it, so that the
 * file survives a power cut.
 */
SKED_MUST_CHECK sked_status sked_i_file_write(const char *path, const char *data, int64_t size,
                                              sked_error *err);
SKED_MUST_CHECK sked_status sked_i_file_save(const char *path, const char *data, int64_t size,
                                             sked_error *err);

/* All of data to an open descriptor, through interrupts; false: errno says why not. */
bool sked_i_write_all(int fd, const char *data, int64_t size);

/* A file that grows line by line and survives a power cut after each: what was measured must not be lost. */
typedef struct sked_i_append {
    int file; /* descriptor; -1: closed */
    char *path;
} sked_i_append;

/* The file begins with these bytes and grows behind them: one that holds them already goes on, any other is
 * replaced whole. "-": standard output. Close in any case; {.file = -1} is closed. IO, MEMORY. */
SKED_MUST_CHECK sked_status sked_i_append_open(sked_i_append *a, const char *path, const char *data,
                                               int64_t size, sked_error *err);
/* Writes all of it and waits until it is on disk. Nothing where closed. */
SKED_MUST_CHECK sked_status sked_i_append_add(sked_i_append *a, const char *data, int64_t size,
                                              sked_error *err);
void sked_i_append_close(sked_i_append *a);
#endif
