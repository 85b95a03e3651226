/*
 * A library for LD_PRELOAD that makes calls of the system fail: tests/faults.py runs the command under it.
 * SKED_FAULT is KIND:N:ACTION. KIND is open, read, write, fsync, rename or close; the N-th call of that kind
 * fails (EIO), is interrupted (EINTR), is short (a few bytes only), or ends the process (SIGKILL). N 0: every
 * second call, for EINTR and short ones. SKED_FAULT_LOG names a file that is created when the fault happens.
 * Streams of the C library call the system past these symbols; /dev/full tests those.
 *
 * SKED_LOCALE: the program starts with the locale of its environment, as one with a user interface does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { FEW_BYTES = 100 };
typedef enum action { NONE, FAIL, INTERRUPT, SHORT } action;
static atomic_long calls;

__attribute__((constructor)) static void take_locale(void)
{
    if (getenv("SKED_LOCALE") != NULL && setlocale(LC_ALL, "") == NULL)
        abort();
}

static void note(void)
{
    const char *path = getenv("SKED_FAULT_LOG");
    if (path != NULL) {
        const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd >= 0)
            syscall(SYS_close, fd);
    }
}

/* What happens to this call of the kind. */
static action fate(const char *kind)
{
    const char *fault = getenv("SKED_FAULT");
    const size_t n = strlen(kind);
    if (fault == NULL || strncmp(fault, kind, n) != 0 || fault[n] != ':')
        return NONE;
    char *word = NULL;
    const long at = strtol(fault + n + 1, &word, 10), call = atomic_fetch_add(&calls, 1) + 1;
    if (at > 0 ? call != at : call % 2 == 0)
        return NONE;
    note();
    if (strcmp(word, ":kill") == 0)
        syscall(SYS_kill, getpid(), SIGKILL);
    errno = strcmp(word, ":eintr") == 0 ? EINTR : EIO;
    return strcmp(word, ":short") == 0 ? SHORT : errno == EINTR ? INTERRUPT : FAIL;
}

static bool fails(action a)
{
    return a == FAIL || a == INTERRUPT;
}

static size_t at_most(action a, size_t size)
{
    return a == SHORT && size > FEW_BYTES ? FEW_BYTES : size;
}

EXPORT ssize_t read(int fd, void *buf, size_t size)
{
    const action a = fate("read");
    return fails(a) ? -1 : syscall(SYS_read, fd, buf, at_most(a, size));
}

EXPORT ssize_t __read_chk(int fd, void *buf, size_t size, size_t room)
{
    if (size > room)
        abort();
    return read(fd, buf, size);
}

EXPORT ssize_t write(int fd, const void *buf, size_t size)
{
    const action a = fate("write");
    return fails(a) ? -1 : syscall(SYS_write, fd, buf, at_most(a, size));
}

EXPORT int fsync(int fd)
{
    return fails(fate("fsync")) ? -1 : (int)syscall(SYS_fsync, fd);
}

EXPORT int fdatasync(int fd)
{
    return fails(fate("fsync")) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

EXPORT int renameat(int from, const char *old, int to, const char *new)
{
    return fails(fate("rename")) ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

EXPORT int rename(const char *old, const char *new)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

/* A descriptor is closed even where the call says that it failed. */
EXPORT int close(int fd)
{
    const action a = fate("close");
    const int cause = errno;
    const int result = (int)syscall(SYS_close, fd);
    if (fails(a))
        errno = cause;
    return fails(a) ? -1 : result;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    return fails(fate("open")) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT ? va_arg(args, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int at, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(at, path, flags, mode);
}

/* What fortified headers make of calls without a mode. */
EXPORT int __open_2(const char *path, int flags)
{
    return open_at(AT_FDCWD, path, flags, 0);
}

EXPORT int __openat_2(int at, const char *path, int flags)
{
    return open_at(at, path, flags, 0);
}
