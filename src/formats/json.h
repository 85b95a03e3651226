/*
 * A pull reader for JSON (RFC 8259) in memory, shared by every JSON format.
 *
 * Written here for three measured reasons (figures in docs/formats/native.md): yajl dereferences NULL when
 * an allocation fails, so it cannot be used on untrusted input; jansson builds a tree of many times the
 * file's size; and neither can say on which line a wrong value stands, only where the syntax breaks.
 *
 * The first failure sticks: from then on every call does nothing and returns 0, false, -1 or "", so readers
 * test `status` once per item. Strict: UTF-8 only, no NUL in strings, no trailing commas, numbers finite.
 */
#ifndef SKED_FORMATS_JSON_H
#define SKED_FORMATS_JSON_H
#include "formats/format.h"

enum { sked_i_json_max_depth = 256 };

typedef struct sked_i_json {
    const sked_i_source *source;
    const char *at, *end; /* next byte, end of the text */
    const char *token;    /* start of the last value or key, for messages */
    const char *item;     /* what is being read ("op"), or NULL; with its number, for messages */
    int64_t number;
    bool first; /* the object or array just entered has no member yet */
    sked_status status;
    sked_error *err;
    sked_error cause; /* of a call that knows no file (the builder): see sked_i_json_check */
    const char *key;  /* the last key: not 0-terminated, valid until the next call */
    size_t key_size;
    sked_i_buffer scratch; /* keys with escapes */
} sked_i_json;

/* The keys an object may have, SKED_I_JSON_FIELDS(owner, strict, keys...). Other keys are skipped, or refused
 * where strict unless they begin "x-". */
typedef struct sked_i_json_fields {
    const char *owner; /* "an op", for messages */
    const char *const *names;
    int count; /* at most 32 */
    bool strict;
} sked_i_json_fields;
#define SKED_I_JSON_FIELDS(owner, strict, ...)                                    \
    {                                                                             \
        (owner), (const char *const[]){__VA_ARGS__},                              \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (strict) \
    }

/* Was field number `field` among the bits that sked_i_json_field collected? */
#define SKED_I_JSON_HAS(seen, field) ((seen) >> (field)&1u)

/* A whole file beside the graph (schedule, library, ...); "-" is standard input. Free text in any case. */
typedef struct sked_i_json_file {
    const char *name; /* for messages */
    char *text;
    size_t size;
} sked_i_json_file;
SKED_MUST_CHECK sked_status sked_i_json_load(const char *path, sked_i_json_file *file, sked_error *err);

void sked_i_json_begin(sked_i_json *j, const sked_i_source *source, sked_error *err);
void sked_i_json_free(sked_i_json *j);
/* FORMAT error at the last token: "file:line: message (byte n, op 3)". Returns the status. */
#define sked_i_json_fail(j, ...) sked_i_json_fail_as((j), SKED_ERR_FORMAT, __VA_ARGS__)
/* The same with another status. */
sked_status sked_i_json_fail_as(sked_i_json *j, sked_status status, const char *format, ...)
    SKED_PRINTF(3, 4);
void sked_i_json_no_memory(sked_i_json *j);
/* Takes over the error of a call that knows no file (the builder). */
sked_status sked_i_json_pass(sked_i_json *j, const sked_error *cause);
/* The same for a call that reported into j->cause, where it failed. */
void sked_i_json_check(sked_i_json *j, sked_status st);

/* First character of the next value: one of { [ " 0 t f n ('0' for any number), or 0 after a failure. */
char sked_i_json_peek(sked_i_json *j);
/* Enters an object ('{') or array ('['); `what` names it in the message if it is something else. */
void sked_i_json_enter(sked_i_json *j, char open, const char *what);
/* Before each element of an array: true, or false when the array has ended. */
bool sked_i_json_more(sked_i_json *j);
/* Before each member of an object: true with the key in j->key, or false when the object has ended. */
bool sked_i_json_key(sked_i_json *j);
/*
 * The next known member of an object: its index in f->names, or -1 at the end. A known key that comes
 * twice is refused; *seen (start with 0) collects bits 1 << index.
 */
int sked_i_json_field(sked_i_json *j, const sked_i_json_fields *f, uint32_t *seen);
/* The last key replaces the contents of `out`; false: out of memory. */
bool sked_i_json_key_text(sked_i_json *j, sked_i_buffer *out);
/* The string that comes next, decoded, replaces the contents of `out`. */
void sked_i_json_text(sked_i_json *j, const char *what, sked_i_buffer *out);
double sked_i_json_number(sked_i_json *j, const char *what);
/* A whole number in lo..hi. */
int64_t sked_i_json_integer(sked_i_json *j, const char *what, int64_t lo, int64_t hi);
bool sked_i_json_bool(sked_i_json *j, const char *what);
/* Takes a null if one comes next. */
bool sked_i_json_null(sked_i_json *j);
/* Any value, checked as strictly as if it had been read; nesting is limited. */
void sked_i_json_skip(sked_i_json *j);
/* Nothing but white space may follow. */
void sked_i_json_end(sked_i_json *j);
/*
 * Where the next value starts, then moves past it without judging it: sections of a file may come in any
 * order, and are read in the order they are needed. sked_i_json_seek moves (back) to such a place.
 */
const char *sked_i_json_defer(sked_i_json *j);
void sked_i_json_seek(sked_i_json *j, const char *place);
/*
 * A section that was deferred, read item by item; `item` names one in messages, with its number:
 *     if (sked_i_json_section(j, place, "\"ops\"", "op"))
 *         while (sked_i_json_item(j)) ...
 * false where place is NULL or something has failed.
 */
bool sked_i_json_section(sked_i_json *j, const char *place, const char *what, const char *item);
bool sked_i_json_item(sked_i_json *j);
/* Both in one: while (sked_i_json_each(j, place, "\"ops\"", "op")) ...; sections do not nest. */
bool sked_i_json_each(sked_i_json *j, const char *place, const char *what, const char *item);
/* True when `key` (without quotes) occurs as a JSON string in the first bytes; for sniffing. */
bool sked_i_json_mentions(const char *text, size_t size, const char *key);
#endif
