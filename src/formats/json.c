/* The pull reader behind every JSON format; see json.h for why it is our own. */
#include "formats/json.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sked_status sked_i_json_load(const char *path, sked_i_json_file *file, sked_error *err)
{
    int64_t size = 0;
    *file = (sked_i_json_file){.name = strcmp(path, "-") == 0 ? "standard input" : path};
    const sked_status st = sked_i_file_read(path, (int64_t)8 << 30, &file->text, &size, err);
    file->size = (size_t)size;
    return st;
}

void sked_i_json_begin(sked_i_json *j, const sked_i_source *source, sked_error *err)
{
    *j = (sked_i_json){.source = source,
                       .at = source->text,
                       .end = source->text + source->size,
                       .token = source->text,
                       .key = "",
                       .err = err};
    if (source->size >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        j->at += 3; /* a byte order mark says nothing in UTF-8 */
}

void sked_i_json_free(sked_i_json *j)
{
    sked_i_buffer_free(&j->scratch);
}

/* Every failure ends here. */
static sked_status fail_with(sked_i_json *j, sked_status status, const char *message)
{
    if (j->status != SKED_OK)
        return j->status;
    j->status = status;
    char item[80] = "";
    if (j->item != NULL)
        snprintf(item, sizeof item, ", %s %lld", j->item, (long long)j->number);
    if (status == SKED_ERR_MEMORY)
        return sked_i_no_memory(j->err);
    return sked_i_fail(j->err, status, "%s:%lld: %s (byte %lld%s)", j->source->name,
                       (long long)sked_i_source_line(j->source, j->token), message,
                       (long long)(j->token - j->source->text), item);
}

sked_status sked_i_json_fail_as(sked_i_json *j, sked_status status, const char *format, ...)
{
    char message[700];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return fail_with(j, status, message);
}

void sked_i_json_no_memory(sked_i_json *j)
{
    fail_with(j, SKED_ERR_MEMORY, "");
}

sked_status sked_i_json_pass(sked_i_json *j, const sked_error *cause)
{
    return fail_with(j, cause->status, cause->message);
}

void sked_i_json_check(sked_i_json *j, sked_status st)
{
    if (st != SKED_OK)
        sked_i_json_pass(j, &j->cause);
}

static const char *skip_space(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r'))
        s++;
    return s;
}

/* The next byte that is not white space becomes the token; 0 after a failure or at the end. */
static char advance(sked_i_json *j)
{
    if (j->status != SKED_OK)
        return 0;
    j->token = j->at = skip_space(j->at, j->end);
    if (j->at == j->end) {
        sked_i_json_fail(j, j->source->size == 0 ? "the file is empty" : "the file ends too early");
        return 0;
    }
    return *j->at;
}

static sked_status unexpected(sked_i_json *j, const char *wanted)
{
    const unsigned char c = (unsigned char)*j->at;
    if (c >= 0x21 && c < 0x7f)
        return sked_i_json_fail(j, "%s expected, not '%c'", wanted, c);
    return sked_i_json_fail(j, "%s expected, not byte 0x%02x", wanted, c);
}

char sked_i_json_peek(sked_i_json *j)
{
    const char c = advance(j);
    if (c == '-' || (c >= '0' && c <= '9'))
        return '0';
    if (c == 0 || c == '{' || c == '[' || c == '"' || c == 't' || c == 'f' || c == 'n')
        return j->status == SKED_OK && c == 0 ? (unexpected(j, "a JSON value"), 0) : c;
    unexpected(j, "a JSON value");
    return 0;
}

/* "what must be wanted, not a string": where a value has the wrong kind. */
static void wrong_kind(sked_i_json *j, const char *what, const char *wanted)
{
    const char c = sked_i_json_peek(j);
    const char *kind = c == '{'   ? "an object"
                       : c == '[' ? "an array"
                       : c == '"' ? "a string"
                       : c == '0' ? "a number"
                       : c == 'n' ? "null"
                                  : "true or false";
    if (c != 0)
        sked_i_json_fail(j, "%s must be %s, not %s", what, wanted, kind);
}

void sked_i_json_enter(sked_i_json *j, char open, const char *what)
{
    if (sked_i_json_peek(j) != open) {
        wrong_kind(j, what, open == '{' ? "an object" : "an array");
        return;
    }
    j->at++;
    j->first = true;
}

/* After a member: a comma and true, or the closing bracket and false. */
static bool next_member(sked_i_json *j, char close)
{
    const char c = advance(j);
    if (c == 0 && j->status != SKED_OK)
        return false;
    const bool first = j->first;
    j->first = false;
    if (c == close) {
        j->at++;
        return false;
    }
    if (first)
        return true;
    if (c != ',') {
        unexpected(j, close == ']' ? "',' or ']'" : "',' or '}'");
        return false;
    }
    j->at++;
    return true;
}

bool sked_i_json_more(sked_i_json *j)
{
    return next_member(j, ']');
}

/* Four hexadecimal digits at s, or -1. */
static int32_t hex4(const char *s, const char *end)
{
    int32_t x = 0;
    if (end - s < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = sked_i_hex_digit(s[i]);
        if (digit < 0)
            return -1;
        x = x * 16 + digit;
    }
    return x;
}

/* \uXXXX (s stands on the first digit), perhaps with its low surrogate; the place after it, or NULL. */
static const char *unicode_escape(sked_i_json *j, const char *s, sked_i_buffer *out)
{
    int32_t c = hex4(s, j->end);
    s += 4;
    if (c >= 0xd800 && c < 0xdc00) {
        const int32_t low = j->end - s >= 6 && s[0] == '\\' && s[1] == 'u' ? hex4(s + 2, j->end) : -1;
        c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : -1;
        s += 6;
    } else if (c >= 0xdc00 && c < 0xe000) {
        c = -1;
    }
    if (c < 0)
        sked_i_json_fail(j, "the string has a broken \\u escape");
    else if (c == 0)
        sked_i_json_fail(j, "the string contains a NUL character");
    else
        sked_i_buffer_utf8(out, (uint32_t)c);
    return c > 0 ? s : NULL;
}

/* One escape, s after the backslash; the place after it, or NULL. */
static const char *escape(sked_i_json *j, const char *s, sked_i_buffer *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (s < j->end && *s == 'u')
        return unicode_escape(j, s + 1, out);
    const char *found = s < j->end && *s != 0 ? strchr(from, *s) : NULL;
    if (found == NULL) {
        sked_i_json_fail(j, "the string has an unknown escape");
        return NULL;
    }
    sked_i_buffer_char(out, to[found - from]);
    return s + 1;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Bytes up to the next quote or backslash, checked to be UTF-8 without control characters. */
static const char *plain_run(sked_i_json *j, const char *s)
{
    for (;;) {
        while (s < j->end && is_plain((unsigned char)*s))
            s++;
        if (s == j->end) {
            sked_i_json_fail(j, "the file ends inside a string");
            return NULL;
        }
        if (*s == '"' || *s == '\\')
            return s;
        const int n = (unsigned char)*s < 0x20 ? 0 : sked_i_utf8_length(s, (size_t)(j->end - s));
        if (n == 0) {
            j->token = s;
            sked_i_json_fail(j,
                             (unsigned char)*s < 0x20 ? "a control character (0x%02x) inside a string"
                                                      : "the string is not valid UTF-8 (0x%02x)",
                             (unsigned char)*s);
            return NULL;
        }
        s += n;
    }
}

/* The string at j->at: a view into the text where it has no escapes, else into `scratch`. */
static bool read_string(sked_i_json *j, sked_i_buffer *scratch, const char **text, size_t *size)
{
    const char *begin = j->at + 1, *s = plain_run(j, begin);
    *text = begin;
    *size = s ? (size_t)(s - begin) : 0;
    if (s != NULL && *s == '"') {
        j->at = s + 1;
        return true;
    }
    scratch->size = 0;
    while (s != NULL && *s == '\\') {
        sked_i_buffer_add(scratch, begin, (size_t)(s - begin));
        begin = escape(j, s + 1, scratch);
        s = begin ? plain_run(j, begin) : NULL;
    }
    if (s == NULL)
        return false;
    sked_i_buffer_add(scratch, begin, (size_t)(s - begin));
    if (scratch->failed) {
        sked_i_json_no_memory(j);
        return false;
    }
    j->at = s + 1;
    *text = scratch->data;
    *size = (size_t)scratch->size;
    return true;
}

bool sked_i_json_key(sked_i_json *j)
{
    if (!next_member(j, '}'))
        return false;
    const char c = advance(j);
    if (c != '"') {
        if (j->status == SKED_OK)
            unexpected(j, "a key in quotes");
        return false;
    }
    if (!read_string(j, &j->scratch, &j->key, &j->key_size))
        return false;
    const char *const key_token = j->token;
    if (advance(j) != ':') {
        if (j->status == SKED_OK)
            unexpected(j, "':'");
        return false;
    }
    j->at++;
    j->token = key_token;
    return true;
}

/* A key that the format does not know. */
static void unknown_key(sked_i_json *j, const sked_i_json_fields *f)
{
    if (!f->strict || (j->key_size >= 2 && memcmp(j->key, "x-", 2) == 0)) {
        sked_i_json_skip(j);
        return;
    }
    char key[80], hint[120];
    sked_i_quote(j->key, j->key_size, key, sizeof key);
    sked_i_json_fail(j, "%s has no key \"%s\"%s; extra keys must begin with \"x-\"", f->owner, key,
                     sked_suggest(key, f->names, f->count, hint, sizeof hint));
}

int sked_i_json_field(sked_i_json *j, const sked_i_json_fields *f, uint32_t *seen)
{
    assert(f->count <= 32);
    while (sked_i_json_key(j)) {
        int i = 0;
        while (i < f->count && (strncmp(f->names[i], j->key, j->key_size) != 0 || f->names[i][j->key_size]))
            i++;
        if (i == f->count) {
            unknown_key(j, f);
        } else if (*seen & 1u << i) {
            sked_i_json_fail(j, "the key \"%s\" comes twice in %s", f->names[i], f->owner);
        } else {
            *seen |= 1u << i;
            return i;
        }
    }
    return -1;
}

bool sked_i_json_key_text(sked_i_json *j, sked_i_buffer *out)
{
    out->size = 0;
    sked_i_buffer_add(out, j->key, j->key_size);
    if (out->failed)
        sked_i_json_no_memory(j);
    return !out->failed;
}

void sked_i_json_text(sked_i_json *j, const char *what, sked_i_buffer *out)
{
    const char *text;
    size_t size;
    if (sked_i_json_peek(j) != '"') {
        wrong_kind(j, what, "a string");
    } else if (read_string(j, &j->scratch, &text, &size)) {
        out->size = 0;
        sked_i_buffer_add(out, text, size);
        if (out->failed)
            sked_i_json_no_memory(j);
    }
}

static const char *digits(const char *s, const char *end)
{
    while (s < end && *s >= '0' && *s <= '9')
        s++;
    return s;
}

/* End of the number at s by JSON's grammar, or NULL where it breaks it. */
static const char *scan_number(const char *s, const char *end)
{
    s += *s == '-';
    const char *start = s;
    s = digits(s, end);
    if (s == start || (*start == '0' && s - start > 1))
        return NULL;
    if (s < end && *s == '.') {
        start = s + 1;
        s = digits(start, end);
        if (s == start)
            return NULL;
    }
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        s += s < end && (*s == '+' || *s == '-');
        start = s;
        s = digits(start, end);
        if (s == start)
            return NULL;
    }
    return s;
}

/* Moves over the number at j->at, which starts with a digit or '-'. */
static void skip_number(sked_i_json *j)
{
    const char *s = scan_number(j->at, j->end);
    if (s == NULL)
        sked_i_json_fail(j, "not a JSON number");
    else
        j->at = s;
}

/* Up to 15 digits and nothing else that belongs to a number: most numbers of large files. */
static bool small_integer(sked_i_json *j, double *out)
{
    const char *s = j->at, *stop = j->end - s > 16 ? s + 16 : j->end;
    int64_t x = 0;
    while (s < stop && *s >= '0' && *s <= '9')
        x = 10 * x + (*s++ - '0');
    if (s == j->at || s == stop || *s == '.' || *s == 'e' || *s == 'E' || (*j->at == '0' && s - j->at > 1))
        return false;
    j->at = s;
    *out = (double)x;
    return true;
}

double sked_i_json_number(sked_i_json *j, const char *what)
{
    double x = 0;
    if (sked_i_json_peek(j) != '0') {
        wrong_kind(j, what, "a number");
        return 0;
    }
    if (small_integer(j, &x))
        return x;
    skip_number(j);
    const size_t size = (size_t)(j->at - j->token);
    if (j->status == SKED_OK && !sked_i_parse_double(j->token, size, &x))
        sked_i_json_fail(j, "the number %s is out of range", sked_i_quoted_bytes(j->token, size).text);
    return j->status == SKED_OK ? x : 0;
}

int64_t sked_i_json_integer(sked_i_json *j, const char *what, int64_t lo, int64_t hi)
{
    const double x = sked_i_json_number(j, what);
    if (j->status != SKED_OK)
        return 0;
    if (!(x >= (double)lo && x <= (double)hi) || x != (double)(int64_t)x) {
        sked_i_json_fail(j, "%s must be a whole number from %lld to %lld", what, (long long)lo,
                         (long long)hi);
        return 0;
    }
    return (int64_t)x;
}

/* true, false or null at j->at. */
static bool take_word(sked_i_json *j, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) {
        sked_i_json_fail(j, "a JSON value expected");
        return false;
    }
    j->at += n;
    return true;
}

bool sked_i_json_bool(sked_i_json *j, const char *what)
{
    const char c = sked_i_json_peek(j);
    if (c != 't' && c != 'f') {
        wrong_kind(j, what, "true or false");
        return false;
    }
    return take_word(j, c == 't' ? "true" : "false") && c == 't';
}

bool sked_i_json_null(sked_i_json *j)
{
    return sked_i_json_peek(j) == 'n' && take_word(j, "null");
}

/* A value without members; for an object or array only its opening bracket. */
static void skip_flat(sked_i_json *j, char c)
{
    const char *text;
    size_t size;
    if (c == '"')
        read_string(j, &j->scratch, &text, &size);
    else if (c == '0')
        skip_number(j);
    else if (c == '{' || c == '[')
        j->at++;
    else if (c != 0)
        take_word(j, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

void sked_i_json_skip(sked_i_json *j)
{
    char open[sked_i_json_max_depth]; /* brackets still open */
    int depth = 0;
    do {
        const char c = sked_i_json_peek(j);
        skip_flat(j, c);
        if (c == '{' || c == '[') {
            if (depth == sked_i_json_max_depth) {
                sked_i_json_fail(j, "nested deeper than %d levels", sked_i_json_max_depth);
                return;
            }
            open[depth++] = c;
            j->first = true;
        }
        while (depth > 0 && !(open[depth - 1] == '{' ? sked_i_json_key(j) : sked_i_json_more(j)) &&
               j->status == SKED_OK)
            depth--;
    } while (depth > 0 && j->status == SKED_OK);
    j->first = false;
}

void sked_i_json_end(sked_i_json *j)
{
    if (j->status != SKED_OK)
        return;
    j->token = j->at = skip_space(j->at, j->end);
    if (j->at < j->end)
        sked_i_json_fail(j, "text after the end of the JSON value");
}

/* The closing quote of the string whose first byte is s; `end` where there is none. */
static const char *string_end(const char *s, const char *end)
{
    for (; s < end && *s != '"'; s++)
        if (*s == '\\')
            s++;
    return s < end ? s : end;
}

/*
 * Counts brackets only, for speed: a deferred object or array is read later,
 * and then every byte is judged.
 */
const char *sked_i_json_defer(sked_i_json *j)
{
    const char c = sked_i_json_peek(j), *place = j->at, *s = j->at;
    int64_t depth = 0;
    if (c != '{' && c != '[') {
        sked_i_json_skip(j);
        return place;
    }
    do {
        if (*s == '"')
            s = string_end(s + 1, j->end);
        else
            depth += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
        s++;
    } while (depth > 0 && s < j->end);
    if (depth > 0) {
        j->token = j->end;
        sked_i_json_fail(j, "the file ends too early: the bracket opened at byte %lld is not closed",
                         (long long)(place - j->source->text));
        return place;
    }
    j->at = s;
    j->first = false;
    return place;
}

void sked_i_json_seek(sked_i_json *j, const char *place)
{
    assert(place >= j->source->text && place <= j->end);
    j->at = place;
    j->first = false;
}

bool sked_i_json_section(sked_i_json *j, const char *place, const char *what, const char *item)
{
    if (place == NULL || j->status != SKED_OK)
        return false;
    assert(j->item == NULL);
    sked_i_json_seek(j, place);
    sked_i_json_enter(j, '[', what);
    j->item = item;
    j->number = -1;
    return j->status == SKED_OK;
}

bool sked_i_json_item(sked_i_json *j)
{
    j->number++;
    if (sked_i_json_more(j))
        return true;
    if (j->status == SKED_OK)
        j->item = NULL;
    return false;
}

bool sked_i_json_each(sked_i_json *j, const char *place, const char *what, const char *item)
{
    if (j->item == NULL && !sked_i_json_section(j, place, what, item))
        return false;
    return sked_i_json_item(j);
}

bool sked_i_json_mentions(const char *text, size_t size, const char *key)
{
    const size_t n = strlen(key);
    const char *end = text + size;
    for (const char *s = text; (s = memchr(s, '"', (size_t)(end - s))) != NULL; s++)
        if ((size_t)(end - s) >= n + 2 && memcmp(s + 1, key, n) == 0 && s[n + 1] == '"')
            return true;
    return false;
}
