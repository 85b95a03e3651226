/*
 * A program of the user's measures: sked writes the schedule to a file, runs `PROGRAM ARGS FILE` through the
 * shell and takes the last number it prints as the time. Slow or failing runs are ended and repeated, then
 * reported.
 */
#define _GNU_SOURCE
#include "formats/format.h"
#include "target/shell.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

/* The file is new and nobody reads it before the program runs, so it is written in place. */
static bool write_all(int fd, const char *data, int64_t size)
{
    while (size > 0) {
        const ssize_t n = write(fd, data, (size_t)size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= n;
    }
    return true;
}

static sked_status write_file(const sked_i_buffer *text, char *path, sked_error *err)
{
    const int fd = mkostemps(path, 5, O_CLOEXEC);
    if (fd < 0)
        return sked_i_fail(err, SKED_ERR_IO, "cannot create a temporary file: %s", strerror(errno));
    bool written = write_all(fd, text->data, text->size);
    written = close(fd) == 0 && written;
    if (written)
        return SKED_OK;
    const sked_status st = sked_i_fail(err, SKED_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    unlink(path);
    return st;
}

static sked_status write_schedule(const sked_target *t, const sked_schedule *s, char *path, sked_error *err)
{
    sked_i_buffer text = {0};
    sked_status st = sked_i_schedule_write(&t->problem, s, &text, err);
    if (st == SKED_OK && text.failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = write_file(&text, path, err);
    sked_i_buffer_free(&text);
    return st;
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

/* One run: what went wrong, or "". */
static const char *try_once(const sked_i_shell_command *p, bool *stopped, double *time)
{
    char text[8192];
    const sked_i_shell_end end = sked_i_shell_run(p, text, sizeof text);
    *stopped = end == SKED_I_SHELL_STOPPED;
    switch (end) {
    case SKED_I_SHELL_MISSING:
        return "could not be started";
    case SKED_I_SHELL_LATE:
        return "took longer than its time-out";
    case SKED_I_SHELL_STOPPED:
        return "was stopped";
    case SKED_I_SHELL_FAILED:
        return "ended with an error";
    case SKED_I_SHELL_DONE:
        break;
    }
    return last_number(text, time) && *time >= 0 ? "" : "printed no time";
}

static sked_status run_program(const sked_target *t, const char *path, double *time, sked_error *err)
{
    sked_i_buffer command = {0};
    sked_i_buffer_text(&command, t->argument);
    sked_i_buffer_text(&command, " \"$1\"");
    if (command.failed) {
        sked_i_buffer_free(&command);
        return sked_i_no_memory(err);
    }
    const sked_i_shell_command p = {
        .command = command.data, .file = path, .timeout = t->setting[TIMEOUT], .stop = t->stop};
    const char *reason = "was not run";
    bool stopped = false;
    for (int k = 0; k <= (int)t->setting[RETRIES] && reason[0] && !stopped; k++)
        reason = try_once(&p, &stopped, time);
    sked_i_buffer_free(&command);
    if (!reason[0])
        return SKED_OK;
    return sked_i_fail(err, stopped ? SKED_ERR_STOPPED : SKED_ERR_DEVICE, "the program '%.100s' %s",
                       t->argument, reason);
}

static sked_status measure(sked_target *t, const sked_schedule *s, double *time, sked_error *err)
{
    char path[] = "/tmp/sked-plan-XXXXXX.json";
    sked_status st = write_schedule(t, s, path, err);
    if (st != SKED_OK)
        return st;
    st = run_program(t, path, time, err);
    unlink(path);
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
