/* sked_problem_export: picks the syntax, builds the model, writes the file. */
#include "form/export.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sized.h"
#include "problem/lower.h"

#include <string.h>
#include <strings.h>

typedef struct syntax {
    const char *name, *extension;
    bool linear; /* wants the rows, not the description */
    sked_status (*write)(const sked_i_program *m, const sked_i_mip *mip, sked_i_buffer *out, sked_error *err);
} syntax;

static const syntax syntaxes[] = {{"lp", ".lp", true, sked_i_export_lp},
                                  {"mps", ".mps", true, sked_i_export_mps},
                                  {"minizinc", ".mzn", false, sked_i_export_minizinc}};
enum { n_syntaxes = sizeof syntaxes / sizeof *syntaxes };
static const int64_t max_columns = 5000000;

static bool ends_in(const char *path, const char *extension)
{
    const size_t n = strlen(path), k = strlen(extension);
    return n > k && strcasecmp(path + n - k, extension) == 0;
}

static sked_status choose(const char *path, const char *format, const syntax **out, sked_error *err)
{
    const char *names[n_syntaxes];
    char hint[120];
    for (int i = 0; i < n_syntaxes; i++) {
        names[i] = syntaxes[i].name;
        if (format != NULL ? strcmp(format, names[i]) == 0 : ends_in(path, syntaxes[i].extension)) {
            *out = &syntaxes[i];
            return SKED_OK;
        }
    }
    if (format != NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "no model format is called '%s'%s; there are lp, mps, minizinc", format,
                           sked_suggest(format, names, n_syntaxes, hint, sizeof hint));
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: the extension is none of .lp, .mps, .mzn", path);
}

bool sked_problem_exports(const char *path, const char *format)
{
    const syntax *s;
    return choose(path, format, &s, NULL) == SKED_OK;
}

sked_status sked_problem_export(const sked_problem *p, const char *path, const char *format, sked_error *err)
{
    SKED_TAKE_ASKED(p)
    sked_status st = SKED_OK;
    const syntax *s = NULL;
    sked_i_program *m = NULL;
    sked_i_mip *mip = NULL;
    sked_i_buffer text = {0};
    sked_i_lowered low = {0};
    SKED_TRY(choose(path, format, &s, err));
    SKED_TRY(sked_problem_check(p, err));
    SKED_TRY(sked_i_lower(p, &low, err));
    SKED_TRY(sked_i_program_create(&low.problem, INFINITY, &m, err));
    if (s->linear)
        SKED_TRY(sked_i_mip_create(m, max_columns, &mip, err));
    SKED_TRY(s->write(m, mip, &text, err));
    st = text.failed ? sked_i_no_memory(err) : sked_i_file_write(path, text.data, text.size, err);
cleanup:
    sked_i_buffer_free(&text);
    sked_i_mip_destroy(mip);
    sked_i_program_destroy(m);
    sked_i_lowered_free(&low);
    return st;
}
