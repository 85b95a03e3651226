/*
 * Three processes: this one; a watcher, which leads a process group of its own; and the shell in that group.
 * The watcher holds one end of a pipe, the lifeline, whose other end is here. However this process dies, the
 * lifeline breaks, and the watcher removes the file and ends the group. A group is killed before its leader
 * is reaped, so that its number cannot have gone to another process.
 */
#define _GNU_SOURCE
#include "target/shell.h"

#include "base/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { read_end, write_end };

/* Time between two looks at a process: short at first, since many programs are. */
static int next_pause(int ms)
{
    enum { most = 20 };
    return 2 * ms < most ? 2 * ms : most;
}

/* ------------------------------------------------------------------ after the fork */

/* The program begins as any other: no signal ignored or blocked because sked does so. */
static void restore_signals(void)
{
    static const int changed[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        signal(changed[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_program(const sked_i_shell_command *p, int output)
{
    const int input = open("/dev/null", O_RDONLY);
    restore_signals();
    if (input < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0)
        _exit(127);
    if (input > 2)
        close(input);
    execl("/bin/sh", "sh", "-c", p->command, "sh", p->file, (char *)NULL);
    _exit(127);
}

/* By a process of its own, which ends the others first: they write there. */
static void remove_folder(const char *path)
{
    const pid_t group = getpgrp(), child = fork();
    while (child > 0) /* it ends this process, too, once it has left the group */
        pause();
    if (child < 0)
        return;
    setpgid(0, 0);
    kill(-group, SIGKILL);
    execl("/bin/rm", "rm", "-rf", "--", path, (char *)NULL);
    _exit(127);
}

/* Only calls that are safe in the child of a process with threads. */
static _Noreturn void watch(const sked_i_shell_command *p, const int *output, const int *lifeline)
{
    int status = 0, ms = 1;
    struct pollfd line = {.fd = lifeline[read_end], .events = POLLIN};
    setpgid(0, 0);
    close(lifeline[write_end]);
    close(output[read_end]);
    const pid_t shell = fork();
    if (shell == 0)
        become_program(p, output[write_end]);
    close(output[write_end]);
    while (shell > 0 && waitpid(shell, &status, WNOHANG) == 0) {
        if (poll(&line, 1, ms) > 0) {
            if (p->folder)
                remove_folder(p->file);
            unlink(p->file);
            kill(0, SIGKILL); /* this process, too */
        }
        ms = next_pause(ms);
    }
    _exit(shell > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

/* ------------------------------------------------------------------ in this process */

typedef struct run {
    pid_t watcher;
    int output, lifeline; /* -1: closed */
    sked_i_buffer *out;
} run;

static bool start(const sked_i_shell_command *p, run *r)
{
    int output[2], lifeline[2];
    if (pipe2(output, O_CLOEXEC) != 0)
        return false;
    if (pipe2(lifeline, O_CLOEXEC) != 0) {
        close(output[read_end]);
        close(output[write_end]);
        return false;
    }
    r->watcher = fork();
    if (r->watcher == 0)
        watch(p, output, lifeline);
    if (r->watcher > 0)
        setpgid(r->watcher, r->watcher); /* here as well: either may come first */
    close(output[write_end]);
    close(lifeline[read_end]);
    r->output = output[read_end];
    r->lifeline = lifeline[write_end];
    return true;
}

static void take_output(run *r)
{
    char bytes[16384];
    const ssize_t n = read(r->output, bytes, sizeof bytes);
    if (n > 0) {
        sked_i_buffer_add(r->out, bytes, (size_t)n);
    } else if (n == 0 || errno != EINTR) {
        close(r->output);
        r->output = -1;
    }
}

static bool is_full(const run *r)
{
    return r->out->failed || r->out->size > SKED_I_SHELL_OUTPUT;
}

/* True when there was something to read; poll passes over a closed output and only waits. */
static bool wait_for_output(run *r, int ms)
{
    struct pollfd p = {.fd = r->output, .events = POLLIN};
    if (poll(&p, 1, ms) <= 0)
        return false;
    take_output(r);
    return true;
}

static bool has_ended(const run *r)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)r->watcher, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == r->watcher;
}

static sked_i_shell_end attend(const sked_i_shell_command *p, run *r)
{
    const sked_i_limit limit = {.deadline = sked_clock() + p->timeout, .stop = p->stop};
    for (int ms = 1; !has_ended(r);) {
        if (sked_i_limit_stopped(&limit))
            return SKED_I_SHELL_STOPPED;
        const double left = limit.deadline - sked_clock();
        if (left <= 0)
            return SKED_I_SHELL_LATE;
        if (is_full(r))
            return SKED_I_SHELL_LONG;
        if (!wait_for_output(r, 1000 * left < ms ? (int)(1000 * left) : ms))
            ms = next_pause(ms);
    }
    while (r->output >= 0 && !is_full(r) && wait_for_output(r, 0))
        continue; /* what is left in the pipe */
    return is_full(r) ? SKED_I_SHELL_LONG : SKED_I_SHELL_DONE;
}

static sked_i_shell_end finish(run *r, sked_i_shell_end end)
{
    assert(r->watcher > 0); /* -1 would kill every process */
    int status = 0;
    kill(-r->watcher, SIGKILL);
    while (waitpid(r->watcher, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r->output >= 0)
        close(r->output);
    close(r->lifeline);
    if (end == SKED_I_SHELL_DONE && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        return SKED_I_SHELL_FAILED;
    return end;
}

sked_i_shell_end sked_i_shell_run(const sked_i_shell_command *p, sked_i_buffer *out)
{
    run r = {.output = -1, .lifeline = -1, .out = out};
    if (!start(p, &r))
        return SKED_I_SHELL_MISSING;
    if (r.watcher < 0) {
        close(r.output);
        close(r.lifeline);
        return SKED_I_SHELL_MISSING;
    }
    return finish(&r, attend(p, &r));
}

const char *sked_i_shell_complaint(sked_i_shell_end end)
{
    static const char *const complaints[] = {[SKED_I_SHELL_DONE] = NULL,
                                             [SKED_I_SHELL_FAILED] = "ended with an error",
                                             [SKED_I_SHELL_LATE] = "took longer than its time-out",
                                             [SKED_I_SHELL_STOPPED] = "was stopped",
                                             [SKED_I_SHELL_LONG] = "printed more than 64 MB",
                                             [SKED_I_SHELL_MISSING] = "could not be started"};
    return complaints[end];
}

/* ------------------------------------------------------------------ files */

void sked_i_shell_quote(sked_i_buffer *command, const char *path)
{
    sked_i_buffer_char(command, '\'');
    for (; *path; path++) {
        if (*path == '\'')
            sked_i_buffer_text(command, "'\\'");
        sked_i_buffer_char(command, *path);
    }
    sked_i_buffer_char(command, '\'');
}

sked_status sked_i_shell_file(const sked_i_buffer *text, char *path, sked_error *err)
{
    const int fd = mkostemps(path, 5, O_CLOEXEC);
    if (fd < 0)
        return sked_i_fail(err, SKED_ERR_IO, "cannot create a temporary file: %s", strerror(errno));
    bool written = sked_i_child_send(fd, text->data, (size_t)text->size);
    written = close(fd) == 0 && written;
    if (written)
        return SKED_OK;
    const sked_status st = sked_i_fail(err, SKED_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    unlink(path);
    return st;
}
