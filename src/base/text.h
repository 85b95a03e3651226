/* Numbers and text: strict parsing, shortest printing, growing buffers, nearest names. */
#ifndef SKED_BASE_TEXT_H
#define SKED_BASE_TEXT_H
#include "base/status.h"

/*
 * One decimal number in text[0..size), all of it: digits, sign, point, exponent; no hex, no NaN, no
 * infinity, no spaces, at most 1000 bytes; never the locale. false otherwise or where it overflows.
 */
bool sked_i_parse_double(const char *text, size_t size, double *out);
/* The same for integers in lo..hi. */
bool sked_i_parse_int(const char *text, size_t size, int64_t lo, int64_t hi, int64_t *out);

/* 0..2^64-1, digits only. */
bool sked_i_parse_unsigned(const char *text, size_t size, uint64_t *out);
/* Writes x so that it ends before `end`, at most 20 characters and no 0; returns where it begins. */
char *sked_i_decimal(int64_t x, char *end);
/* A finite x to `precision` significant digits, 1 to 17, without zeros at the end; no locale. */
void sked_i_digits(double x, int precision, char out[40]);

/* A growing byte buffer that remembers its first failure: append freely, check `failed` once. */
typedef struct sked_i_buffer {
    char *data; /* always 0-terminated once something was appended */
    int64_t size, cap;
    bool failed;
} sked_i_buffer;
void sked_i_buffer_add(sked_i_buffer *b, const char *bytes, size_t size);
void sked_i_buffer_text(sked_i_buffer *b, const char *text);
void sked_i_buffer_char(sked_i_buffer *b, char c);
void sked_i_buffer_number(sked_i_buffer *b, double x);
void sked_i_buffer_digits(sked_i_buffer *b, double x, int precision); /* JSON: null where not finite */
void sked_i_buffer_int(sked_i_buffer *b, int64_t x);
void sked_i_buffer_format(sked_i_buffer *b, const char *format, ...) SKED_PRINTF(2, 3);
/* A JSON string with its quotes; what is not printable is escaped, invalid UTF-8 becomes U+FFFD. */
void sked_i_buffer_json(sked_i_buffer *b, const char *text);
/* XML/HTML text: & < > " ' escaped; invalid UTF-8 and what XML 1.0 does not allow become U+FFFD. */
void sked_i_buffer_xml(sked_i_buffer *b, const char *text);
/* `before` as it is, and behind it a JSON string, or a number (null where it is infinite). */
void sked_i_buffer_json_after(sked_i_buffer *b, const char *before, const char *text);
void sked_i_buffer_number_after(sked_i_buffer *b, const char *before, double x);
void sked_i_buffer_free(sked_i_buffer *b);

/* Length of the valid UTF-8 sequence at s, which has `size` >= 1 bytes; 0 where there is none. */
int sked_i_utf8_length(const char *s, size_t size);
/* True when all of the 0-terminated text is valid UTF-8. */
bool sked_i_utf8_valid(const char *text);

/* s for a message: escaped as by sked_escape, at most 60 bytes and "...". Returns buf. */
const char *sked_i_quote(const char *s, size_t size, char *buf, size_t buf_size);
/* The same without a buffer, for an argument: sked_i_quoted_text(s).text is there to the end of the
 * statement. */
typedef struct sked_i_quoted {
    char text[64];
} sked_i_quoted;
sked_i_quoted sked_i_quoted_bytes(const char *s, size_t size);
sked_i_quoted sked_i_quoted_text(const char *s);
/* Appends a code point as UTF-8; false (and nothing appended) for 0, surrogates and what is past U+10FFFF. */
bool sked_i_buffer_utf8(sked_i_buffer *b, uint32_t code);
/* 0 .. 15, or -1. */
int sked_i_hex_digit(char c);
#endif
