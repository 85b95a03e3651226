/*
 * Buffers as CSV: a header that names the columns, then a buffer a line. `id`, `lower`, `upper` and `size`
 * must be there, `alignment` and `offset` may. docs/pack.md
 */
#include "base/arena.h"
#include "base/sized.h"
#include "formats/json.h"
#include "formats/scan.h"

#include <string.h>

enum { most_columns = 6 };
enum { ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET };
static const char *const column_name[most_columns + 1] = {"id",   "lower",     "upper",
                                                          "size", "alignment", "offset"};

struct sked_buffers {
    sked_i_arena arena;
    sked_i_names names;
    sked_buffer_columns columns;
    double *lower, *upper;
    int64_t *bytes, *alignment, *offset;
    const char **name;
    int64_t cap;
};

typedef struct reader {
    const sked_i_source *source;
    const char *at, *end; /* of what is left */
    int column[most_columns], n_columns;
    bool has[most_columns];
} reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next line that is not blank. */
static bool next_line(reader *r, sked_i_word *line)
{
    while (r->at < r->end) {
        const char *end = sked_i_line_end(r->at, r->end);
        *line = (sked_i_word){r->at, (size_t)(end - r->at)};
        r->at = end + (end < r->end);
        while (line->size > 0 && is_blank(line->text[line->size - 1]))
            line->size--;
        if (line->size > 0)
            return true;
    }
    return false;
}

/* Cuts the first field off a line, without the blanks around it. */
static sked_i_word take_field(sked_i_word *line)
{
    const char *comma = memchr(line->text, ',', line->size);
    const size_t size = comma != NULL ? (size_t)(comma - line->text) : line->size;
    sked_i_word field = {line->text, size};
    line->text += size + (comma != NULL);
    line->size -= size + (comma != NULL);
    for (; field.size > 0 && is_blank(field.text[0]); field.size--)
        field.text++;
    while (field.size > 0 && is_blank(field.text[field.size - 1]))
        field.size--;
    return field;
}

static sked_status read_header(reader *r, sked_error *err)
{
    sked_i_word line;
    if (!next_line(r, &line))
        return sked_i_source_fail(r->source, NULL, err, "a header is needed: id,lower,upper,size");
    const char *at = line.text;
    for (bool more = true; more;) {
        more = memchr(line.text, ',', line.size) != NULL;
        const sked_i_word field = take_field(&line);
        int k = 0;
        while (k < most_columns && !sked_i_word_is(field, column_name[k]))
            k++;
        if (k == most_columns || r->has[k])
            return sked_i_source_fail(r->source, at, err,
                                      "the header has the column '%s'%s; columns are id, lower, upper, size, "
                                      "alignment and offset",
                                      sked_i_word_quoted(field).text, k < most_columns ? " twice" : "");
        r->has[k] = true;
        r->column[r->n_columns++] = k;
    }
    for (int k = ID; k <= SIZE; k++)
        if (!r->has[k])
            return sked_i_source_fail(
                r->source, at, err,
                "the header lacks the column '%s'; id, lower, upper and size must be there", column_name[k]);
    return SKED_OK;
}

/* A whole number of a column; what is empty is `preset`. */
static sked_status read_whole(const reader *r, sked_i_word w, int column, int64_t least, int64_t preset,
                              int64_t *out, sked_error *err)
{
    const int64_t most = ((int64_t)1 << 53) - 1;
    *out = preset;
    if (w.size == 0 && preset >= least)
        return SKED_OK;
    if (!sked_i_parse_int(w.text, w.size, least, most, out))
        return sked_i_source_fail(r->source, w.text, err, "%s '%s' is no whole number from %lld to 2^53 - 1",
                                  column_name[column], sked_i_word_quoted(w).text, (long long)least);
    return SKED_OK;
}

static sked_status read_name(const reader *r, sked_i_word w, sked_buffers *b, sked_error *err)
{
    bool fresh = false;
    if (w.size == 0)
        return sked_i_source_fail(r->source, w.text, err, "a buffer without an id");
    if (memchr(w.text, '"', w.size) != NULL)
        return sked_i_source_fail(r->source, w.text, err,
                                  "id '%s' has a quote; ids have neither quotes nor commas",
                                  sked_i_word_quoted(w).text);
    if (sked_i_names_add(&b->names, w.text, w.size, &fresh) < 0)
        return sked_i_no_memory(err);
    if (!fresh)
        return sked_i_source_fail(r->source, w.text, err, "the id '%s' is there twice",
                                  sked_i_word_quoted(w).text);
    return SKED_OK;
}

static sked_status read_time(const reader *r, sked_i_word w, int column, double *out, sked_error *err)
{
    if (sked_i_parse_double(w.text, w.size, out))
        return SKED_OK;
    return sked_i_source_fail(r->source, w.text, err, "%s '%s' is no finite number", column_name[column],
                              sked_i_word_quoted(w).text);
}

static sked_status read_field(const reader *r, sked_i_word w, int column, sked_buffers *b, sked_error *err)
{
    const int64_t i = b->columns.count;
    switch (column) {
    case ID:
        return read_name(r, w, b, err);
    case LOWER:
        return read_time(r, w, column, &b->lower[i], err);
    case UPPER:
        return read_time(r, w, column, &b->upper[i], err);
    case SIZE:
        return read_whole(r, w, column, 0, -1, &b->bytes[i], err);
    case ALIGNMENT:
        return read_whole(r, w, column, 1, 1, &b->alignment[i], err);
    default:
        return read_whole(r, w, column, -1, -1, &b->offset[i], err);
    }
}

static bool make_room(sked_buffers *b)
{
    const int64_t need = b->columns.count + 1, old = b->cap;
    int64_t cap[5] = {old, old, old, old, old};
    return SKED_OWN_GROW(&b->arena, b->lower, cap[0], need) &&
           SKED_OWN_GROW(&b->arena, b->upper, cap[1], need) &&
           SKED_OWN_GROW(&b->arena, b->bytes, cap[2], need) &&
           SKED_OWN_GROW(&b->arena, b->alignment, cap[3], need) &&
           SKED_OWN_GROW(&b->arena, b->offset, cap[4], need) && (b->cap = cap[4]) >= need;
}

static sked_status read_buffer(const reader *r, sked_i_word line, sked_buffers *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const char *at = line.text;
    const int64_t i = b->columns.count;
    int fields = 1;
    for (size_t k = 0; k < line.size; k++)
        fields += line.text[k] == ',';
    if (fields != r->n_columns)
        return sked_i_source_fail(r->source, at, err, "%d fields, but the header has %d columns", fields,
                                  r->n_columns);
    if (i == INT32_MAX)
        return sked_i_source_fail(r->source, at, err, "more than 2^31 - 1 buffers");
    if (!make_room(b))
        return sked_i_no_memory(err);
    b->alignment[i] = 1;
    b->offset[i] = -1;
    for (int k = 0; k < r->n_columns && st == SKED_OK; k++)
        st = read_field(r, take_field(&line), r->column[k], b, err);
    if (st != SKED_OK)
        return st;
    if (!(b->lower[i] < b->upper[i]))
        return sked_i_source_fail(r->source, at, err, "lower must be below upper");
    if (b->offset[i] >= 0 && b->offset[i] % b->alignment[i] != 0)
        return sked_i_source_fail(r->source, at, err, "offset %lld is no multiple of the alignment, %lld",
                                  (long long)b->offset[i], (long long)b->alignment[i]);
    b->columns.count++;
    return SKED_OK;
}

static sked_status finish(const reader *r, sked_buffers *b, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_buffer_columns *c = &b->columns;
    SKED_OWN(&b->arena, b->name, c->count);
    for (int64_t i = 0; i < c->count; i++)
        b->name[i] = sked_i_names_at(&b->names, (int32_t)i);
    c->lower = b->lower;
    c->upper = b->upper;
    c->bytes = b->bytes;
    c->alignment = r->has[ALIGNMENT] ? b->alignment : NULL;
    c->offset = r->has[OFFSET] ? b->offset : NULL;
    c->name = b->name;
cleanup:
    return st;
}

sked_status sked_buffers_parse(const char *name, const char *text, size_t size, sked_buffers **out,
                               sked_error *err)
{
    static const sked_read_options none = {.size = sizeof none};
    const sked_i_source source = {name, text, size, &none};
    const sked_i_scan scan = sked_i_scan_text(text, size); /* behind a byte order mark */
    reader r = {.source = &source, .at = scan.at, .end = scan.end};
    sked_status st = SKED_OK;
    sked_i_word line;
    sked_buffers *b = NULL;
    SKED_TRY(sked_i_text_check(&source, "a CSV file of buffers", err));
    SKED_NEW0(b, 1);
    b->columns.size = sizeof b->columns;
    SKED_TRY(read_header(&r, err));
    while (next_line(&r, &line))
        SKED_TRY(read_buffer(&r, line, b, err));
    SKED_TRY(finish(&r, b, err));
    *out = b;
    b = NULL;
cleanup:
    sked_buffers_destroy(b);
    return st;
}

sked_status sked_buffers_read(const char *path, sked_buffers **out, sked_error *err)
{
    sked_i_json_file file;
    sked_status st = sked_i_json_load(path, &file, err);
    if (st == SKED_OK)
        st = sked_buffers_parse(file.name, file.text, file.size, out, err);
    free(file.text);
    return st;
}

void sked_buffers_destroy(sked_buffers *b)
{
    if (b == NULL)
        return;
    sked_i_names_free(&b->names);
    sked_i_arena_free(&b->arena);
    free(b);
}

sked_status sked_buffers_columns(const sked_buffers *b, sked_buffer_columns *out, sked_error *err)
{
    SKED_CHECK_OUTPUT(sked_buffer_columns, out);
    SKED_GIVE(out, b->columns);
    return SKED_OK;
}
