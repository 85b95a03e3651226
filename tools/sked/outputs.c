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

/* Models that are written back, by extension; the format's name stands behind the point. */
static const char *const models[] = {".onnx", ".tflite"};
enum { n_models = sizeof models / sizeof *models };

const char *model_output(const arguments *a, const char **extension)
{
    for (int i = 0; i < a->output.count; i++)
        for (int k = 0; k < n_models; k++)
            if (ends_with(a->output.at[i], models[k])) {
                *extension = models[k];
                return a->output.at[i];
            }
    return NULL;
}

/* What the report would refuse too, but before anything is searched. */
static sked_status check_model(const arguments *a, sked_error *err)
{
    const char *extension, *path = model_output(a, &extension);
    if (path == NULL)
        return SKED_OK;
    if (!ends_with(a->operand.at[0], extension) && (a->from == NULL || strcmp(a->from, extension + 1) != 0))
        return fail(err, SKED_ERR_UNSUPPORTED,
                    "-o %.200s: writes back the model that was read, and %.200s is no %s file", path,
                    a->operand.at[0], extension);
    if (a->machine == NULL && a->devices != 1)
        return fail(err, SKED_ERR_UNSUPPORTED,
                    "-o %.200s: a model runs its operators one after the other: add --devices 1", path);
    return SKED_OK;
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
    return check_model(a, err);
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
