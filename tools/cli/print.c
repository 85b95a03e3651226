/* JSON and text output. */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_string(FILE *f, const char *s)
{
    char one[SKED_ESCAPE_SIZE];
    fputc('"', f);
    while (sked_escape_next(&s, true, one) > 0)
        fputs(one, f);
    fputc('"', f);
}

static void put_key(json_out *j, const char *key)
{
    if (!j->first)
        fputs(j->depth > 1 || j->line ? ", " : ",\n ", j->file);
    j->first = false;
    if (key != NULL) {
        put_string(j->file, key);
        fputs(": ", j->file);
    }
}

void json_open(json_out *j, const char *key, char bracket)
{
    if (j->depth > 0)
        put_key(j, key);
    fputc(bracket, j->file);
    j->depth++;
    j->first = true;
}

void json_close(json_out *j, char bracket)
{
    fputc(bracket, j->file);
    j->first = false;
    if (--j->depth == 0)
        fputc('\n', j->file);
}

void json_number(json_out *j, const char *key, double x)
{
    char text[40];
    put_key(j, key);
    fputs(isfinite(x) ? sked_format_number(x, text, sizeof text) : "null", j->file);
}

void json_text(json_out *j, const char *key, const char *text)
{
    put_key(j, key);
    if (text != NULL)
        put_string(j->file, text);
    else
        fputs("null", j->file);
}

void json_bool(json_out *j, const char *key, bool b)
{
    put_key(j, key);
    fputs(b ? "true" : "false", j->file);
}

void json_null(json_out *j, const char *key)
{
    put_key(j, key);
    fputs("null", j->file);
}

const char *human(double x, char *buf, size_t size)
{
    if (isinf(x))
        snprintf(buf, size, "unlimited");
    else if (x == floor(x) && fabs(x) < 1e15)
        snprintf(buf, size, "%.0f", x);
    else
        snprintf(buf, size, "%.6g", x);
    return buf;
}

sked_status finish_output(sked_error *err)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return fail(err, SKED_ERR_IO, "standard output: %s", strerror(errno));
    return SKED_OK;
}

const char *printable(const char *name, printable_text *buf)
{
    return sked_escape(name, buf->text, sizeof buf->text);
}

sked_status file_begin(file_out *o, sked_error *err)
{
    *o = (file_out){0};
    o->file = open_memstream(&o->text, &o->size);
    return o->file != NULL ? SKED_OK : fail(err, SKED_ERR_MEMORY, "out of memory");
}

sked_status file_end(file_out *o, const char *path, sked_status st, sked_error *err)
{
    const bool failed = ferror(o->file) != 0;
    if ((fclose(o->file) != 0 || failed) && st == SKED_OK)
        st = fail(err, SKED_ERR_MEMORY, "out of memory"); /* a stream in memory fails for nothing else */
    if (st == SKED_OK)
        st = sked_file_write(path, o->text, o->size, err);
    free(o->text);
    return st;
}

bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}
