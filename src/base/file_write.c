/*
 * The one way a file is written. The text goes to a temporary file in the folder of the target, which is then
 * renamed over it: a reader of the target sees the old file or the new one, even where the process dies.
 * Temporary names come from the system's entropy and are created with O_EXCL, so that no link can be prepared
 * under the name; the folder is held open, so that it cannot be exchanged meanwhile.
 */
#define _GNU_SOURCE /* O_PATH, getentropy */
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_PATH /* Linux; elsewhere a folder must be readable to be written to */
#define O_PATH O_RDONLY
#endif

enum { TEMPORARY_SIZE = 32, MAX_LINKS = 40, MAX_ATTEMPTS = 100 };

/* The target of a write. */
typedef struct place {
    char *path;       /* links at its end are resolved */
    const char *name; /* its last part */
    int folder;       /* open, of the name; -1: none */
    int stream;       /* this open descriptor instead of a file; -1: none */
    bool exists;
    struct stat info; /* where it exists */
} place;

static sked_status write_error(const char *path, bool exists, sked_error *err)
{
    return sked_i_fail(err, errno == ENOMEM ? SKED_ERR_MEMORY : SKED_ERR_IO, "%s: cannot %s: %s", path,
                       exists ? "write" : "create", strerror(errno));
}

/* ------------------------------------------------------------------ where */

/* The number in /dev/fd/N and /proc/self/fd/N, which /dev/stdout links to; -1 elsewhere. */
static int stream_of(const char *path)
{
    static const char *const prefix[] = {"/dev/fd/", "/proc/self/fd/"};
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(prefix[i]);
        int64_t number;
        if (strncmp(path, prefix[i], n) == 0 &&
            sked_i_parse_int(path + n, strlen(path + n), 0, INT_MAX, &number))
            return (int)number;
    }
    return -1;
}

/* *path becomes where the link at it points: absolute, or from the folder of the link. */
static bool follow_link(char **path, const char *to)
{
    const char *slash = strrchr(*path, '/');
    const size_t folder = to[0] == '/' || slash == NULL ? 0 : (size_t)(slash - *path) + 1, n = strlen(to);
    char *next = sked_i_alloc((int64_t)(folder + n + 1), 1);
    if (next == NULL) {
        errno = ENOMEM;
        return false;
    }
    memcpy(next, *path, folder);
    memcpy(next + folder, to, n + 1);
    free(*path);
    *path = next;
    return true;
}

/* A link at the final path stays: the file it points to is the one that is replaced. */
static bool resolve(place *p)
{
    char to[PATH_MAX];
    for (int k = 0; k < MAX_LINKS; k++) {
        if ((p->stream = stream_of(p->path)) >= 0)
            return true;
        const ssize_t n = readlink(p->path, to, sizeof to - 1);
        if (n < 0)
            return errno == EINVAL || errno == ENOENT; /* no link, or nothing there yet */
        to[n] = 0;
        if (!follow_link(&p->path, to))
            return false;
    }
    errno = ELOOP;
    return false;
}

static bool open_folder(place *p)
{
    char *slash = strrchr(p->path, '/');
    p->name = slash != NULL ? slash + 1 : p->path;
    if (p->name[0] == 0) {
        errno = p->path[0] ? EISDIR : ENOENT;
        return false;
    }
    if (slash != NULL)
        *slash = 0;
    p->folder = open(slash == NULL      ? "."
                     : slash == p->path ? "/"
                                        : p->path,
                     O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (slash != NULL)
        *slash = '/';
    return p->folder >= 0;
}

static bool is_regular(const place *p)
{
    return p->stream < 0 && (!p->exists || S_ISREG(p->info.st_mode));
}

/* A file that its owner made read-only is not replaced either, though the folder would allow it. */
static bool may_write(const place *p)
{
    if (p->exists && faccessat(AT_FDCWD, p->path, W_OK, AT_EACCESS) != 0)
        return false;
    return !is_regular(p) || faccessat(p->folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

static void leave(place *p)
{
    if (p->folder >= 0)
        close(p->folder);
    free(p->path);
}

/* The stat comes first: it refuses links that the system does not let us follow. */
static sked_status find_place(const char *path, place *p, sked_error *err)
{
    *p = (place){.folder = -1, .stream = -1};
    p->exists = stat(path, &p->info) == 0;
    if (p->exists && S_ISDIR(p->info.st_mode))
        errno = EISDIR;
    if (p->exists ? S_ISDIR(p->info.st_mode) : errno != ENOENT)
        return write_error(path, true, err);
    if ((p->path = sked_i_strdup(path)) == NULL)
        return sked_i_no_memory(err);
    const bool special = p->exists && !S_ISREG(p->info.st_mode);
    if ((special || resolve(p)) && (!is_regular(p) || open_folder(p)))
        return SKED_OK;
    const sked_status st = write_error(path, p->exists, err);
    leave(p);
    return st;
}

/* ------------------------------------------------------------------ what */

bool sked_i_write_all(int fd, const char *data, int64_t size)
{
    while (size > 0) {
        const ssize_t n = write(fd, data, (size_t)(size > 1 << 30 ? 1 << 30 : size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= n;
    }
    return true;
}

/* File systems, pipes and terminals that cannot sync at all say so; that is no failure of this file. */
static bool sync_to_disk(int fd)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return errno == EINVAL || errno == EROFS || errno == ENOTSUP;
    return true;
}

/* After EINTR a descriptor is closed all the same. */
static bool close_written(int fd)
{
    return close(fd) == 0 || errno == EINTR;
}

/*
 * Mode, owner and group of the file that is replaced. Where the group cannot be kept, another group does not
 * inherit its rights.
 */
static bool keep_rights(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
        mode &= ~(mode_t)070;
    return fchmod(fd, mode) == 0;
}

/* Not mkstemp: its mode 0600 can only be undone by touching the process's umask. */
static int create_temporary(const place *p, char name[TEMPORARY_SIZE])
{
    int fd = -1;
    for (int k = 0; fd < 0 && k < MAX_ATTEMPTS; k++) {
        uint64_t bits;
        if (getentropy(&bits, sizeof bits) != 0)
            return -1;
        snprintf(name, TEMPORARY_SIZE, ".sked-%016llx.tmp", (unsigned long long)bits);
        fd = openat(p->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    p->exists ? 0600 : 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* The name is on disk too. A folder that we may write but not read cannot be synced. */
static bool sync_folder(const place *p)
{
    const int fd = openat(p->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES;
    const bool good = sync_to_disk(fd);
    close(fd);
    return good;
}

static bool replace(const place *p, const char *data, int64_t size, bool durable)
{
    char temporary[TEMPORARY_SIZE];
    const int fd = create_temporary(p, temporary);
    if (fd < 0)
        return false;
    bool good = sked_i_write_all(fd, data, size) && (!p->exists || keep_rights(fd, &p->info)) &&
                (!durable || sync_to_disk(fd));
    int cause = errno;
    if (!close_written(fd) && good) {
        good = false;
        cause = errno;
    }
    if (good && renameat(p->folder, temporary, p->folder, p->name) == 0)
        return !durable || sync_folder(p);
    if (good)
        cause = errno;
    unlinkat(p->folder, temporary, 0);
    errno = cause;
    return false;
}

/* Devices, pipes and open streams cannot be renamed over. */
static bool write_in_place(const place *p, const char *data, int64_t size)
{
    if (p->stream >= 0)
        return sked_i_write_all(p->stream, data, size);
    const int fd = open(p->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool good = sked_i_write_all(fd, data, size);
    const int cause = errno;
    const bool closed = close_written(fd);
    if (!good)
        errno = cause;
    return good && closed;
}

static sked_status write_file(const char *path, const char *data, int64_t size, bool durable, sked_error *err)
{
    place p;
    if (strcmp(path, "-") == 0)
        return sked_i_write_all(1, data, size) ? SKED_OK : write_error("standard output", true, err);
    sked_status st = find_place(path, &p, err);
    if (st != SKED_OK)
        return st;
    const bool good =
        may_write(&p) && (is_regular(&p) ? replace(&p, data, size, durable) : write_in_place(&p, data, size));
    if (!good)
        st = write_error(path, p.exists, err);
    leave(&p);
    return st;
}

sked_status sked_i_file_write(const char *path, const char *data, int64_t size, sked_error *err)
{
    return write_file(path, data, size, false, err);
}

sked_status sked_i_file_save(const char *path, const char *data, int64_t size, sked_error *err)
{
    return write_file(path, data, size, true, err);
}

sked_status sked_file_write(const char *path, const void *data, size_t size, sked_error *err)
{
    return write_file(path, data, (int64_t)size, false, err);
}

sked_status sked_file_check(const char *path, sked_error *err)
{
    place p;
    if (strcmp(path, "-") == 0)
        return SKED_OK;
    sked_status st = find_place(path, &p, err);
    if (st != SKED_OK)
        return st;
    if (!may_write(&p))
        st = write_error(path, p.exists, err);
    leave(&p);
    return st;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_place(const place *p, const place *q)
{
    struct stat in, at;
    if (p->exists || q->exists)
        return p->exists && q->exists && S_ISREG(p->info.st_mode) && same_inode(&p->info, &q->info);
    return p->name != NULL && q->name != NULL && strcmp(p->name, q->name) == 0 &&
           fstat(p->folder, &in) == 0 && fstat(q->folder, &at) == 0 && same_inode(&in, &at);
}

bool sked_file_same(const char *a, const char *b)
{
    place p, q;
    bool same = false;
    if (find_place(a, &p, NULL) != SKED_OK)
        return false;
    if (find_place(b, &q, NULL) == SKED_OK) {
        same = same_place(&p, &q);
        leave(&q);
    }
    leave(&p);
    return same;
}

/* ------------------------------------------------------------------ files that grow */

/* Does the file hold these bytes and no others? */
static bool holds(const char *path, const char *data, int64_t size)
{
    sked_error none = {0};
    char *old = NULL;
    int64_t n = 0;
    const bool same = sked_i_file_exists(path) && sked_i_file_read(path, size, &old, &n, &none) == SKED_OK &&
                      n == size && memcmp(old, data, (size_t)size) == 0;
    free(old);
    return same;
}

sked_status sked_i_append_open(sked_i_append *a, const char *path, const char *data, int64_t size,
                               sked_error *err)
{
    struct stat info;
    const bool standard = strcmp(path, "-") == 0;
    const bool special = standard || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
    a->file = -1;
    if ((a->path = sked_i_strdup(path)) == NULL)
        return sked_i_no_memory(err);
    if (!special && !holds(path, data, size)) {
        const sked_status st = sked_i_file_save(path, data, size, err);
        if (st != SKED_OK)
            return st;
    }
    a->file = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                       : open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    if (a->file < 0)
        return write_error(path, true, err);
    return special ? sked_i_append_add(a, data, size, err) : SKED_OK;
}

sked_status sked_i_append_add(sked_i_append *a, const char *data, int64_t size, sked_error *err)
{
    if (a->file >= 0 && !(sked_i_write_all(a->file, data, size) && sync_to_disk(a->file)))
        return write_error(a->path, true, err);
    return SKED_OK;
}

void sked_i_append_close(sked_i_append *a)
{
    if (a->file >= 0)
        close(a->file);
    free(a->path);
    *a = (sked_i_append){.file = -1};
}
