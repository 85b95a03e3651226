#define _POSIX_C_SOURCE 200809L
#include "base/child.h"

#include "base/file.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#include <dirent.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

bool sked_i_child_send(int out, const void *record, size_t size)
{
    return sked_i_write_all(out, record, (int64_t)size);
}

/* What the caller has printed and not yet written is in the child's buffers, too: the library may flush them.
 */
static void be_silent(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        _exit(1);
}

static void follow_parent(pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(1);
}

#ifdef SANITIZED
/*
 * The allocators of the sanitizers do not survive a fork while another thread holds one of their locks: the
 * child waits for ever. (The C library's own allocator does.) So their builds fork from a single thread only.
 */
static bool can_fork(void)
{
    int threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *t; tasks != NULL && (t = readdir(tasks)) != NULL;)
        threads += t->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return threads == 1;
}
#else
static bool can_fork(void)
{
    return true;
}
#endif

bool sked_i_child_start(sked_i_child *c, size_t size, void (*work)(void *data, int pipe), void *data)
{
    int ends[2];
    *c = (sked_i_child){.size = size, .record = can_fork() ? sked_i_alloc((int64_t)size, 1) : NULL};
    if (c->record == NULL || pipe(ends) != 0) {
        free(c->record);
        *c = (sked_i_child){0};
        return false;
    }
    const pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_silent();
        follow_parent(self);
        work(data, ends[1]);
        _exit(0); /* without the caller's exit handlers and buffers */
    }
    close(ends[1]);
    c->pipe = ends[0];
    c->pid = pid;
    if (pid > 0)
        return true;
    close(ends[0]);
    free(c->record);
    *c = (sked_i_child){0};
    return false;
}

static void reap(sked_i_child *c)
{
    close(c->pipe);
    while (waitpid((pid_t)c->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    c->pid = 0;
}

/* One read; a record is complete when count has reached size. */
static sked_i_child_news take(sked_i_child *c)
{
    const ssize_t got = read(c->pipe, c->record + c->count, c->size - c->count);
    if (got < 0 && errno == EINTR)
        return SKED_I_CHILD_WAITING;
    if (got <= 0) {
        reap(c);
        return SKED_I_CHILD_ENDED;
    }
    c->count += (size_t)got;
    if (c->count < c->size)
        return SKED_I_CHILD_WAITING;
    c->count = 0;
    return SKED_I_CHILD_RECORD;
}

sked_i_child_news sked_i_child_wait(sked_i_child *c, double seconds)
{
    struct pollfd polled = {.fd = c->pipe, .events = POLLIN};
    return poll(&polled, 1, (int)(1000 * seconds)) > 0 ? take(c) : SKED_I_CHILD_WAITING;
}

void sked_i_child_end(sked_i_child *c)
{
    if (c->pid > 0) {
        kill((pid_t)c->pid, SIGKILL);
        reap(c);
    }
    free(c->record);
    c->record = NULL;
}
