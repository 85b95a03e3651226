/* What -o asks for. */
#include "cli.h"

#include <string.h>

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

void complete_arguments(arguments *a)
{
    if (a->robust_log == NULL)
        a->robust_log = a->robust_resume;
}
