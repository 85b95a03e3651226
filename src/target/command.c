/*
 * A program of the user's measures: sked writes the schedule to a file, runs `PROGRAM ARGS FILE` through the
 * shell and takes the last number it prints as the time. Slow or failing runs are ended and repeated, then
 * reported.
 */
#define _GNU_SOURCE
#include "formats/format.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT, RETRIES };

static const sked_option options[] = {
    {"timeout", SKED_OPTION_REAL, "60", 0.001, 1e6, NULL, "seconds a run may take"},
    {"retries", SKED_OPTION_INT, "1", 0, 1000, NULL, "further runs after one that failed or took too long"},
};

static sked_status open_command(sked_target *t, uint64_t seed, sked_error *err)
{
    (void)seed;
    if (t->argument[strspn(t->argument, " ")] == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "target command wants a program: command:PROGRAM");
    return SKED_OK;
}

static sked_status write_schedule(const sked_target *t, const sked_schedule *s, char *path, sked_error *err)
{
    sked_i_buffer text = {0};
    sked_status st = sked_i_schedule_write(&t->problem, s, &text, err);
    if (st == SKED_OK && text.failed)
        st = sked_i_no_memory(err);
    const int fd = st == SKED_OK ? mkstemps(path, 5) : -1;
    if (st == SKED_OK && fd < 0)
        st = sked_i_fail(err, SKED_ERR_IO, "cannot create a temporary file: %s", strerror(errno));
    if (fd >= 0) {
        close(fd);
        st = sked_i_file_write(path, text.data, text.size, err);
    }
    sked_i_buffer_free(&text);
    return st;
}

/* Starts the program with its output on a pipe; the child leads a process group so that all of it can be
 * ended. */
static pid_t start(const char *command, const char *path, int *output)
{
    int channel[2];
    if (pipe2(channel, O_CLOEXEC) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0); /* the parent ends the group, not only the shell */
        dup2(channel[1], 1);
        execl("/bin/sh", "sh", "-c", command, "sh", path, (char *)NULL);
        _exit(127);
    }
    close(channel[1]);
    *output = channel[0];
    if (child < 0)
        close(channel[0]);
    return child;
}

/* Reads the program's output until it ends or the time is up; keeps the last bytes. */
static bool collect(int output, double timeout, char *text, size_t size)
{
    const double end = sked_clock() + timeout;
    size_t used = 0;
    for (;;) {
        struct pollfd p = {.fd = output, .events = POLLIN};
        const double left = end - sked_clock();
        if (left <= 0)
            return false;
        if (poll(&p, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        if (used > size / 2) {
            memmove(text, text + size / 4, used - size / 4);
            used -= size / 4;
        }
        const ssize_t n = read(output, text + used, size - used - 1);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = 0;
    return true;
}

static bool last_number(const char *text, double *out)
{
    bool found = false;
    for (const char *s = text; *s;) {
        const size_t n = strcspn(s, " \t\r\n,;:=");
        double x;
        if (n > 0 && sked_i_parse_double(s, n, &x)) {
            *out = x;
            found = true;
        }
        s += n;
        s += *s != 0;
    }
    return found;
}

/* One run; an empty reason means success. */
static const char *try_once(const char *command, const char *path, double timeout, double *time)
{
    char text[8192] = "";
    int output = -1, status = 0;
    const pid_t child = start(command, path, &output);
    if (child < 0)
        return "could not be started";
    const bool ended = collect(output, timeout, text, sizeof text);
    close(output);
    if (!ended)
        kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ended)
        return "took longer than its time-out";
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return "ended with an error";
    return last_number(text, time) && *time >= 0 ? "" : "printed no time";
}

static sked_status measure(sked_target *t, const sked_schedule *s, double *time, sked_error *err)
{
    char path[] = "/tmp/sked-plan-XXXXXX.json";
    sked_i_buffer command = {0};
    sked_status st = write_schedule(t, s, path, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_text(&command, t->argument);
    sked_i_buffer_text(&command, " \"$1\"");
    const char *reason = command.failed ? "needs memory" : "was not run";
    for (int k = 0; k <= (int)t->setting[RETRIES] && reason[0] && !command.failed; k++)
        reason = try_once(command.data, path, t->setting[TIMEOUT], time);
    if (reason[0])
        st = sked_i_fail(err, SKED_ERR_DEVICE, "the program '%.100s' %s", t->argument, reason);
    unlink(path);
    sked_i_buffer_free(&command);
    return st;
}

const sked_i_target sked_i_target_command = {
    .info =
        {"command",
         "command:PROGRAM measures: gets the schedule file as its last argument, prints the time; options "
         "before the colon: command,timeout=5:PROGRAM",
         options, sizeof options / sizeof *options},
    .free_text = true,
    .open = open_command,
    .measure = measure};
