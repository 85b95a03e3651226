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
    const char *const inputs[] = {a->operand.at[0], a->machine, a->resources, a->library,
                                  a->profile,       a->start,   a->fix,       a->model};
    sked_status st = SKED_OK;
    for (size_t i = 0; st == SKED_OK && i < sizeof inputs / sizeof *inputs; i++)
        st = refuse_input(inputs[i], output, err);
    return st == SKED_OK ? sked_file_check(output, err) : st;
}

sked_status check_outputs(const arguments *a, sked_error *err)
{
    sked_status st = a->record != NULL ? check_output(a, a->record, err) : SKED_OK;
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = check_output(a, a->output.at[i], err);
    return st;
}
