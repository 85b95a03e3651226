#define _GNU_SOURCE /* O_CLOEXEC, F_DUPFD_CLOEXEC */
#include "base/append.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static sked_status append_error(const sked_i_append *a, sked_error *err)
{
    return sked_i_fail(err, errno == ENOMEM ? SKED_ERR_MEMORY : SKED_ERR_IO, "%s: cannot write: %s", a->path,
                       strerror(errno));
}

sked_status sked_i_append_open(sked_i_append *a, const char *path, int64_t keep, sked_error *err)
{
    a->file = -1;
    if ((a->path = sked_i_strdup(path)) == NULL)
        return sked_i_no_memory(err);
    a->file = strcmp(path, "-") == 0
                  ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                  : open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | (keep == 0 ? O_TRUNC : 0), 0666);
    if (a->file < 0 || (keep > 0 && (ftruncate(a->file, keep) != 0 || lseek(a->file, keep, SEEK_SET) < 0)))
        return append_error(a, err);
    return SKED_OK;
}

sked_status sked_i_append_add(sked_i_append *a, const char *data, int64_t size, sked_error *err)
{
    while (a->file >= 0 && size > 0) {
        const ssize_t n = write(a->file, data, (size_t)size);
        if (n < 0 && errno != EINTR)
            return append_error(a, err);
        data += n > 0 ? n : 0;
        size -= n > 0 ? n : 0;
    }
    /* pipes and terminals have no disk to be on */
    if (a->file >= 0 && fsync(a->file) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        return append_error(a, err);
    return SKED_OK;
}

void sked_i_append_close(sked_i_append *a)
{
    if (a->file >= 0)
        close(a->file);
    free(a->path);
    *a = (sked_i_append){.file = -1};
}
