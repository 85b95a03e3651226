/* What the suites share: the machine, the folder of instances, tables of reference values. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *processor_name(char *buf, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[512];
    snprintf(buf, size, "unknown processor");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(buf, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f != NULL)
        fclose(f);
    return buf;
}

void print_machine(const arguments *a)
{
    char name[256];
    printf("sked %s; %s; seed %.0f; %.0f thread(s)\n", sked_version(), processor_name(name, sizeof name),
           (double)a->seed, (double)a->threads);
}

const char *data_path(const arguments *a, const char *part, char *buf, size_t size)
{
    snprintf(buf, size, "%s/%s", a->data, part);
    return buf;
}

bool have_data(const arguments *a)
{
    struct stat info;
    if (stat(a->data, &info) == 0 && S_ISDIR(info.st_mode))
        return true;
    printf("skipped: no benchmark instances in %s (see --data)\n", a->data);
    return false;
}

static sked_status slurp(const char *path, char **out, sked_error *err)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return fail(err, SKED_ERR_IO, "%s: %s", path, strerror(errno));
    size_t size = 0, cap = 1 << 16;
    char *text = malloc(cap);
    while (text != NULL) {
        size += fread(text + size, 1, cap - size - 1, f);
        if (size < cap - 1)
            break;
        char *more = realloc(text, cap *= 2);
        if (more == NULL)
            free(text);
        text = more;
    }
    fclose(f);
    if (text == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    text[size] = 0;
    *out = text;
    return SKED_OK;
}

sked_status csv_read(const char *path, csv *out, sked_error *err)
{
    csv c = {0};
    sked_status st = slurp(path, &c.text, err);
    if (st != SKED_OK)
        return st;
    int lines = 0;
    c.columns = 1;
    for (const char *s = c.text; *s && *s != '\n'; s++)
        c.columns += *s == ',';
    for (const char *s = c.text; *s; s++)
        lines += *s == '\n';
    c.field = calloc(((size_t)lines + 2) * (size_t)c.columns, sizeof *c.field);
    if (c.field == NULL) {
        free(c.text);
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    }
    for (char *s = c.text; *s;) {
        char *end = s + strcspn(s, "\r\n"), *next = end + strspn(end, "\r\n");
        *end = 0;
        for (int k = 0; k < c.columns && s != NULL; k++) {
            char *comma = strchr(s, ',');
            c.field[c.rows * c.columns + k] = s;
            if (comma != NULL)
                *comma = 0;
            s = comma ? comma + 1 : NULL;
        }
        c.rows++;
        s = next;
    }
    *out = c;
    return SKED_OK;
}

void csv_free(csv *c)
{
    free(c->text);
    free(c->field);
    *c = (csv){0};
}

const char *csv_get(const csv *c, int row, const char *column)
{
    for (int k = 0; k < c->columns; k++)
        if (strcmp(c->field[k], column) == 0) {
            const char *s = c->field[row * c->columns + k];
            return s ? s : "";
        }
    return "";
}

double csv_number(const csv *c, int row, const char *column)
{
    double x;
    return sked_parse_number(csv_get(c, row, column), &x) ? x : NAN;
}
