#define _POSIX_C_SOURCE 200809L
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static sked_status io_error(const char *path, const char *what, sked_error *err)
{
    return sked_i_fail(err, errno == ENOMEM ? SKED_ERR_MEMORY : SKED_ERR_IO, "%s: %s: %s", path, what,
                       strerror(errno));
}

/* Reads fd to its end. Regular files start with the right capacity. */
static sked_status read_all(int fd, const char *path, int64_t max, sked_i_buffer *b, sked_error *err)
{
    struct stat info;
    int64_t hint = 1 << 16;
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        return sked_i_fail(err, SKED_ERR_IO, "%s: is a directory", path);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        if (info.st_size > max)
            return sked_i_fail(err, SKED_ERR_FORMAT, "%s: %lld bytes, the limit is %lld", path,
                               (long long)info.st_size, (long long)max);
        hint = info.st_size + 1;
    }
    for (;;) {
        if (!SKED_GROW(b->data, b->cap, b->size + hint + 1))
            return sked_i_no_memory(err);
        const ssize_t n = read(fd, b->data + b->size, (size_t)(b->cap - b->size - 1));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(path, "cannot read", err);
        b->size += n;
        b->data[b->size] = 0;
        if (b->size > max)
            return sked_i_fail(err, SKED_ERR_FORMAT, "%s: more than the limit of %lld bytes", path,
                               (long long)max);
        if (n == 0)
            return SKED_OK;
        hint = b->cap - b->size > 2 ? 1 : 1 << 16;
    }
}

sked_status sked_i_file_read(const char *path, int64_t max, char **data, int64_t *size, sked_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const int fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(path, "cannot open", err);
    sked_i_buffer b = {0};
    const sked_status st = read_all(fd, standard ? "standard input" : path, max, &b, err);
    if (!standard)
        close(fd);
    if (st != SKED_OK) {
        sked_i_buffer_free(&b);
        return st;
    }
    *data = b.data;
    *size = b.size;
    return SKED_OK;
}

bool sked_i_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}
