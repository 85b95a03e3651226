/* The table of formats, how a file finds its format, and what all readers share. */
#include "formats/format.h"

#include "base/sized.h"
#include "formats/json.h"
#include "formats/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SKED_X(name) extern const sked_i_format sked_i_format_##name;
SKED_FORMAT_LIST(SKED_X)
#undef SKED_X

static const sked_i_format *const formats[] = {
#define SKED_X(name) &sked_i_format_##name,
    SKED_FORMAT_LIST(SKED_X)
#undef SKED_X
};
enum { n_formats = sizeof formats / sizeof *formats };

static const int64_t default_max_bytes = (int64_t)8 << 30;
static const size_t sniff_bytes = 4096;

int sked_format_count(void)
{
    return n_formats;
}

const sked_format_info *sked_format_at(int i)
{
    return i >= 0 && i < n_formats ? &formats[i]->info : NULL;
}

const sked_i_format *sked_i_format_find(const char *name)
{
    for (int i = 0; i < n_formats; i++)
        if (strcmp(formats[i]->info.name, name) == 0)
            return formats[i];
    return NULL;
}

/* The content alone tells. */
static bool looks_like(const sked_i_format *f, const char *text, size_t size)
{
    return f->sniff != NULL && f->sniff(text, size < sniff_bytes ? size : sniff_bytes);
}

const sked_i_format *sked_i_format_with_machine(const char *text, size_t size)
{
    for (int i = 0; i < n_formats; i++)
        if (formats[i]->machine != NULL && looks_like(formats[i], text, size))
            return formats[i];
    return NULL;
}

const sked_i_format *sked_i_format_with_times(const char *text, size_t size)
{
    for (int i = 0; i < n_formats; i++)
        if (formats[i]->times != NULL && looks_like(formats[i], text, size))
            return formats[i];
    return NULL;
}

static sked_status unknown_format(const char *name, sked_error *err)
{
    const char *names[n_formats + 1];
    char hint[120];
    for (int i = 0; i < n_formats; i++)
        names[i] = formats[i]->info.name;
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no format is called '%s'%s; see `sked formats`", name,
                       sked_suggest(name, names, n_formats, hint, sizeof hint));
}

/* Does path end in one of the format's extensions? */
static bool has_extension(const sked_i_format *f, const char *path)
{
    const size_t length = strlen(path);
    for (const char *s = f->info.extensions; *s;) {
        const size_t n = strcspn(s, " ");
        if (n > 0 && n < length && strncasecmp(path + length - n, s, n) == 0)
            return true;
        s += n;
        s += strspn(s, " ");
    }
    return false;
}

/* By extension where the content does not object; several formats may share one (.json). */
static sked_status choose(const char *path, const char *text, size_t size, const char *wanted,
                          const sked_i_format **out, sked_error *err)
{
    if (wanted != NULL) {
        *out = sked_i_format_find(wanted);
        if (*out == NULL)
            return unknown_format(wanted, err);
        if ((*out)->read == NULL)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "format '%s' can be written but not read", wanted);
        return SKED_OK;
    }
    const size_t seen = size < sniff_bytes ? size : sniff_bytes;
    const sked_i_format *first = NULL;
    for (int i = 0; i < n_formats; i++) {
        const sked_i_format *f = formats[i];
        if (f->read == NULL || !has_extension(f, path))
            continue;
        if (first == NULL)
            first = f;
        if (f->sniff == NULL || f->sniff(text, seen))
            return *out = f, SKED_OK;
    }
    for (int i = 0; i < n_formats; i++)
        if (formats[i]->read != NULL && formats[i]->sniff != NULL && formats[i]->sniff(text, seen))
            return *out = formats[i], SKED_OK;
    if (first != NULL)
        return *out = first, SKED_OK; /* let that reader say what is wrong */
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "%s: neither extension nor content tells the format; name it (see `sked formats`)",
                       path);
}

/* What the file at path (NULL: none) makes of *g takes its place: a library, or a profile of `type`. */
static sked_status adapt(const char *path, bool library, const char *type, const sked_read_options *opt,
                         sked_graph **g, sked_error *err)
{
    sked_graph *changed = NULL;
    sked_i_json_file file;
    if (path == NULL)
        return SKED_OK;
    sked_status st = sked_i_json_load(path, &file, err);
    if (st != SKED_OK)
        return st;
    st = library ? sked_i_library_parse(file.name, file.text, file.size, *g, &changed, err)
                 : sked_i_observed_parse(file.name, file.text, file.size, type, opt, *g, &changed, err);
    free(file.text);
    if (st == SKED_OK) {
        sked_graph_destroy(*g);
        *g = changed;
    }
    return st;
}

/* [TYPE=]FILE; a type has no slash. */
static sked_status take_profile(const char *text, const sked_read_options *opt, sked_graph **g,
                                sked_error *err)
{
    char type[256];
    const size_t size = text != NULL ? strcspn(text, "=/") : 0;
    if (text == NULL || text[size] != '=')
        return adapt(text, false, NULL, opt, g, err);
    if (size == 0 || size >= sizeof type || text[size + 1] == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "a profile is FILE or TYPE=FILE, with the name or type of a device, not '%.80s'",
                           text);
    memcpy(type, text, size);
    type[size] = 0;
    return adapt(text + size + 1, false, type, opt, g, err);
}

static sked_status set_memory(double memory, sked_graph **g, sked_error *err)
{
    sked_builder *b = NULL;
    sked_graph *changed = NULL;
    sked_status st = SKED_OK;
    if (memory == 0)
        return SKED_OK;
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy(*g, NULL, b, err));
    for (int32_t i = 0; i < (*g)->n_ops; i++)
        SKED_TRY(sked_builder_set_memory(b, i, memory, err));
    SKED_TRY(sked_builder_finish(b, &changed, err));
    sked_graph_destroy(*g);
    *g = changed;
cleanup:
    sked_builder_destroy(b);
    return st;
}

/* Library, profiles and sizes come after the reader, whatever the format. */
static sked_status adapt_all(const sked_read_options *opt, sked_graph **g, sked_error *err)
{
    sked_status st = adapt(opt->library, true, NULL, opt, g, err);
    if (st == SKED_OK)
        st = adapt(opt->profile, false, NULL, opt, g, err);
    for (int i = 0; i < opt->n_profiles && st == SKED_OK; i++)
        st = take_profile(opt->profiles[i], opt, g, err);
    return st == SKED_OK ? set_memory(opt->memory, g, err) : st;
}

void sked_read_options_init_sized(sked_read_options *opt, size_t size)
{
    const sked_read_options preset = {0};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

sked_status sked_graph_parse(const char *name, const char *text, size_t size, const sked_read_options *opt,
                             sked_graph **out, sked_error *err)
{
    SKED_TAKE(sked_read_options, opt)
    const sked_i_source source = {name, text, size, opt};
    const sked_i_format *format = NULL;
    sked_graph *g = NULL;
    sked_status st = choose(name, text, size, opt->format, &format, err);
    if (st == SKED_OK && opt->n_dims > 0 && !format->dims)
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: format %s has no symbolic dimensions", name,
                         format->info.name);
    if (st == SKED_OK)
        st = format->read(&source, &g, err);
    if (st == SKED_OK)
        st = adapt_all(opt, &g, err);
    if (st == SKED_OK)
        *out = g;
    else
        sked_graph_destroy(g);
    return st;
}

sked_status sked_graph_read(const char *path, const sked_read_options *opt, sked_graph **out, sked_error *err)
{
    SKED_TAKE(sked_read_options, opt)
    char *text = NULL;
    int64_t size = 0;
    if (opt->max_bytes < 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "max_bytes must be 0 or more");
    const int64_t max = opt->max_bytes > 0 ? opt->max_bytes : default_max_bytes;
    sked_status st = sked_i_file_read(path, max, &text, &size, err);
    if (st == SKED_OK)
        st = sked_graph_parse(strcmp(path, "-") == 0 ? "standard input" : path, text, (size_t)size, opt, out,
                              err);
    free(text);
    return st;
}

sked_status sked_graph_write(const sked_graph *g, const char *path, const char *format, sked_error *err)
{
    const sked_i_format *f = format ? sked_i_format_find(format) : NULL;
    if (format != NULL && f == NULL)
        return unknown_format(format, err);
    for (int i = 0; f == NULL && i < n_formats; i++)
        if (formats[i]->write != NULL && has_extension(formats[i], path))
            f = formats[i];
    if (f == NULL || f->write == NULL)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s: no writer for %s; see `sked formats`", path,
                           format ? format : "this extension");
    sked_i_buffer text = {0};
    sked_status st = f->write(g, &text, err);
    if (st == SKED_OK && text.failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = sked_i_file_write(path, text.data, text.size, err);
    sked_i_buffer_free(&text);
    return st;
}

int64_t sked_i_source_line(const sked_i_source *source, const char *position)
{
    int64_t line = 1;
    assert(position >= source->text && position <= source->text + source->size);
    for (const char *s = source->text; s < position; s++)
        line += *s == '\n';
    return line;
}

sked_status sked_i_source_refuse(const sked_i_source *source, const char *position, sked_status status,
                                 sked_error *err, const char *format, ...)
{
    sked_error cause = {.status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(cause.message, sizeof cause.message, format, args);
    va_end(args);
    return sked_i_source_pass(source, position, &cause, err);
}

sked_status sked_i_source_pass(const sked_i_source *source, const char *position, const sked_error *cause,
                               sked_error *err)
{
    if (cause->status == SKED_ERR_MEMORY)
        return sked_i_no_memory(err);
    if (position == NULL)
        return sked_i_fail(err, cause->status, "%s: %s", source->name, cause->message);
    return sked_i_fail(err, cause->status, "%s:%lld: %s", source->name,
                       (long long)sked_i_source_line(source, position), cause->message);
}

const char *sked_i_source_stem(const sked_i_source *source, char *buf, size_t size)
{
    const char *slash = strrchr(source->name, '/'), *base = slash ? slash + 1 : source->name;
    const char *dot = strrchr(base, '.');
    const size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    snprintf(buf, size, "%.*s", (int)n, base);
    for (char *c = buf; *c;) { /* file names may hold any bytes, graph names only UTF-8 */
        const int length = sked_i_utf8_length(c, strlen(c));
        if (length == 0)
            *c = '_';
        c += length ? length : 1;
    }
    return buf;
}

sked_status sked_i_source_begin(const sked_i_source *source, const char *name, sked_builder **out,
                                sked_error *err)
{
    char stem[300];
    sked_status st = SKED_OK;
    SKED_TRY(sked_builder_create(out, err));
    if (name == NULL)
        name = sked_i_source_stem(source, stem, sizeof stem);
    SKED_BUILD(source, source->text, sked_builder_set_name(*out, name, &cause));
cleanup:
    return st;
}
