/* Files a command writes, looked at before it works: none of them is a file that it reads. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <string.h>
#include <sys/stat.h>

/* The regular file behind a path; - is standard input. */
static bool find_file(const char *path, struct stat *info)
{
    const bool found = strcmp(path, "-") == 0 ? fstat(0, info) == 0 : stat(path, info) == 0;
    return found && S_ISREG(info->st_mode);
}

static bool same_file(const char *input, const char *output)
{
    struct stat in, out;
    return strcmp(output, "-") != 0 && find_file(input, &in) && find_file(output, &out) &&
           in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* Extensions that -o takes, as ".a .b .c". */
static const char *list_extensions(bool candidates, char *buf, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < sked_report_count() && used < size; i++)
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%s", i > 0 ? " " : "", sked_report_at(i)->extension);
    if (candidates && used < size)
        snprintf(buf + used, size - used, " %s", CANDIDATES_EXTENSION);
    return buf;
}

sked_status check_extensions(const arguments *a, bool candidates, sked_error *err)
{
    for (int i = 0; i < a->output.count; i++) {
        const char *path = a->output.at[i];
        char all[200];
        bool known = strcmp(path, "-") == 0 || (candidates && ends_with(path, CANDIDATES_EXTENSION));
        for (int k = 0; !known && k < sked_report_count(); k++)
            known = ends_with(path, sked_report_at(k)->extension);
        if (!known)
            return fail(err, SKED_ERR_ARGUMENT, "-o %.200s: the extension selects the writer: %s", path,
                        list_extensions(candidates, all, sizeof all));
    }
    return SKED_OK;
}

bool to_stdout(const arguments *a)
{
    bool found = false;
    for (int i = 0; i < a->output.count; i++)
        found = found || strcmp(a->output.at[i], "-") == 0;
    return found;
}

sked_status refuse_input(const char *input, const char *output, sked_error *err)
{
    if (input == NULL || !same_file(input, output))
        return SKED_OK;
    return fail(err, SKED_ERR_ARGUMENT,
                "%.200s: the result would replace the input %.200s; choose another name", output,
                strcmp(input, "-") == 0 ? "(standard input)" : input);
}

sked_status check_output(const arguments *a, const char *output, sked_error *err)
{
    const char *const inputs[] = {a->operand.at[0], a->machine, a->resources, a->library, a->profile,
                                  a->start,         a->fix,     a->model,     a->prior};
    sked_status st = SKED_OK;
    for (size_t i = 0; st == SKED_OK && i < sizeof inputs / sizeof *inputs; i++)
        st = refuse_input(inputs[i], output, err);
    return st == SKED_OK ? sked_file_check(output, err) : st;
}

/* Measurements are the one file that may be read and written: what --resume names grows. */
static sked_status check_measurements(const arguments *a, sked_error *err)
{
    const char *const log = a->robust_log != NULL ? a->robust_log : a->robust_resume;
    sked_status st = SKED_OK;
    if (log == NULL)
        return st;
    if (strcmp(log, "-") == 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "measurements are written to a file; standard output has the result");
    st = check_output(a, log, err);
    for (int i = 0; st == SKED_OK && i < a->output.count; i++) {
        const bool same = strcmp(a->output.at[i], log) == 0 || same_file(log, a->output.at[i]);
        st = same ? fail(err, SKED_ERR_ARGUMENT, "%.200s: the result would replace the measurements", log)
                  : refuse_input(a->robust_resume, a->output.at[i], err);
    }
    return st;
}

/* Value over time has a file of its own: candidates are JSON lines, too. */
static sked_status check_curve(const arguments *a, sked_error *err)
{
    sked_status st = check_output(a, a->curve, err);
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        if (strcmp(a->output.at[i], a->curve) == 0 || same_file(a->output.at[i], a->curve))
            st = fail(err, SKED_ERR_ARGUMENT, "--curve %.200s: another output has the same name", a->curve);
    return st;
}

sked_status check_outputs(const arguments *a, sked_error *err)
{
    sked_status st = a->curve != NULL ? check_curve(a, err) : SKED_OK;
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = check_output(a, a->output.at[i], err);
    return st == SKED_OK ? check_measurements(a, err) : st;
}
