/*
 * A program of the user's measures: sked writes the schedule to a file, runs `PROGRAM ARGS FILE` through the
 * shell and reads the time, or time and trace, from what it prints (answer.h). Slow or failing runs are ended
 * and repeated, then reported.
 */
#define _GNU_SOURCE
#include "target/command.h"

#include "formats/format.h"
#include "target/answer.h"
#include "target/shell.h"

#include <string.h>
#include <unistd.h>

static const sked_option options[] = {SKED_I_COMMAND_OPTIONS("60")};

static sked_status open_command(sked_target *t, const double *setting, sked_error *err)
{
    (void)setting;
    if (t->argument[strspn(t->argument, " ")] == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "target command wants a program: command:PROGRAM");
    sked_i_buffer_format(&t->about,
                         "'%s' runs each schedule, on what it takes for the devices; times are in its unit",
                         sked_i_quoted_text(t->argument).text);
    return SKED_OK;
}

/* One run: DEVICE where another one may do better. */
static sked_status try_once(const sked_target *t, const char *program, const sked_i_shell_command *p,
                            const sked_schedule *s, sked_i_trace *out, sked_error *err)
{
    sked_i_buffer text = {0};
    sked_error cause = {0};
    const sked_i_shell_end end = sked_i_shell_run(p, &text);
    const char *wrong = sked_i_shell_complaint(end);
    sked_status st = SKED_OK;
    if (text.failed) {
        st = sked_i_no_memory(err);
    } else if (wrong != NULL) {
        st = end == SKED_I_SHELL_STOPPED ? SKED_ERR_STOPPED : SKED_ERR_DEVICE;
        sked_i_fail(err, st, "the program '%.100s' %s", program, wrong);
    } else {
        const bool timed = t->work > 0;
        st = sked_i_answer_read("output", text.data, (size_t)text.size, &t->problem, s, timed, out, &cause);
        if (st == SKED_ERR_MEMORY)
            sked_i_no_memory(err);
        else if (st != SKED_OK)
            st = sked_i_fail(err, SKED_ERR_DEVICE, "the program '%.100s': %s", program, cause.message);
    }
    sked_i_buffer_free(&text);
    return st;
}

sked_status sked_i_command_run(const sked_target *t, const char *program, const double *setting,
                               const sked_schedule *s, sked_i_trace *out, sked_error *err)
{
    char path[] = SKED_I_SHELL_FILE;
    sked_i_buffer text = {0}, command = {0};
    sked_error why = {0};
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_native_schedule_write(&t->problem, s, &text, err));
    sked_i_buffer_text(&command, program);
    sked_i_buffer_text(&command, " \"$1\"");
    if (text.failed || command.failed)
        SKED_TRY(sked_i_no_memory(err));
    SKED_TRY(sked_i_shell_file(&text, path, err));
    const sked_i_shell_command p = {
        .command = command.data, .file = path, .timeout = setting[SKED_I_COMMAND_TIMEOUT], .stop = t->stop};
    st = SKED_ERR_DEVICE;
    for (int k = 0; k <= (int)setting[SKED_I_COMMAND_RETRIES] && st == SKED_ERR_DEVICE; k++) {
        why = (sked_error){0};
        st = try_once(t, program, &p, s, out, &why);
    }
    unlink(path);
    if (st != SKED_OK)
        sked_i_fail(err, st, "%s", why.message);
cleanup:
    sked_i_buffer_free(&text);
    sked_i_buffer_free(&command);
    return st;
}

static sked_status run(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err)
{
    return sked_i_command_run(t, t->argument, setting, s, out, err);
}

const sked_i_target sked_i_target_command = {
    .info =
        {"command",
         "command:PROGRAM measures: gets the schedule file as its last argument, prints the time or a JSON "
         "object with time and trace; stands alone; options before the colon: command,timeout=5:PROGRAM",
         options, sizeof options / sizeof *options},
    .free_text = true,
    .open = open_command,
    .run = run};
