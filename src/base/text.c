#include "base/text.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Powers of ten that a double holds exactly: digits * 10^e is then correctly rounded. */
static const double exact_power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/*
 * Reads digits[.digits][e[sign]digits]; false where the text is anything else. The value is
 * digits * 10^exponent while count < 20; power is the exponent as written.
 */
static bool scan_decimal(const char *s, const char *end, uint64_t *digits, int *count, int *exponent,
                         int *power)
{
    bool any = false;
    *digits = 0;
    *count = *exponent = *power = 0;
    for (int after_point = 0;; s++) {
        if (s < end && *s >= '0' && *s <= '9') {
            any = true;
            if (*count < 19) {
                *digits = *digits * 10 + (uint64_t)(*s - '0');
                *count += *digits != 0;
                *exponent -= after_point;
            } else {
                *count = 20; /* more than fits: strtod decides */
            }
        } else if (s < end && *s == '.' && !after_point) {
            after_point = 1;
        } else {
            break;
        }
    }
    if (!any)
        return false;
    if (s < end && (*s == 'e' || *s == 'E')) {
        int sign = 1, e = 0;
        if (++s < end && (*s == '+' || *s == '-'))
            sign = *s++ == '-' ? -1 : 1;
        if (s == end)
            return false;
        for (; s < end && *s >= '0' && *s <= '9'; s++)
            e = e < 100000 ? e * 10 + (*s - '0') : e;
        *power = sign * e;
        *exponent += *power;
    }
    return s == end;
}

enum { LONGEST_NUMBER = 1000 };

/* Beyond the exact cases: the digits without their point, so that no locale can change their meaning. */
static double slow_decimal(const char *s, const char *end, int power)
{
    char copy[LONGEST_NUMBER + 16];
    size_t n = 0;
    bool after_point = false;
    for (; s < end && *s != 'e' && *s != 'E'; s++) {
        if (*s == '.') {
            after_point = true;
        } else {
            copy[n++] = *s;
            power -= after_point;
        }
    }
    snprintf(copy + n, sizeof copy - n, "e%d", power);
    return strtod(copy, NULL);
}

bool sked_i_parse_double(const char *text, size_t size, double *out)
{
    const char *s = text, *end = text + size;
    bool negative = false;
    if (size > LONGEST_NUMBER)
        return false;
    if (s < end && (*s == '-' || *s == '+'))
        negative = *s++ == '-';
    uint64_t digits;
    int count, exponent, power;
    if (!scan_decimal(s, end, &digits, &count, &exponent, &power))
        return false;
    double x;
    if (count < 20 && digits < (1ull << 53) && exponent >= -22 && exponent <= 22)
        x = exponent < 0 ? (double)digits / exact_power[-exponent] : (double)digits * exact_power[exponent];
    else
        x = slow_decimal(s, end, power);
    if (!isfinite(x))
        return false;
    *out = negative ? -x : x;
    return true;
}

bool sked_i_parse_int(const char *text, size_t size, int64_t lo, int64_t hi, int64_t *out)
{
    size_t i = 0;
    bool negative = false;
    if (i < size && (text[i] == '-' || text[i] == '+'))
        negative = text[i++] == '-';
    if (i == size)
        return false;
    int64_t x = 0;
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        const int digit = negative ? '0' - text[i] : text[i] - '0';
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, digit, &x))
            return false;
    }
    if (x < lo || x > hi)
        return false;
    *out = x;
    return true;
}

bool sked_i_parse_unsigned(const char *text, size_t size, uint64_t *out)
{
    uint64_t x = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(x, 10, &x) ||
            __builtin_add_overflow(x, (uint64_t)(text[i] - '0'), &x))
            return false;
    if (size > 0)
        *out = x;
    return size > 0;
}

bool sked_parse_number(const char *text, double *out)
{
    return sked_i_parse_double(text, strlen(text), out);
}

/* Digits d1 d2 ... and the exponent of d1 as text: plain where short, else with an exponent. */
static void assemble(char *out, bool negative, const char *digits, int n, int exponent)
{
    assert(n >= 1 && n <= 17);
    if (negative)
        *out++ = '-';
    if (exponent < -5 || exponent > 16) {
        *out++ = digits[0];
        if (n > 1)
            *out++ = '.';
        memcpy(out, digits + 1, (size_t)n - 1);
        sprintf(out + n - 1, "e%+03d", exponent);
        return;
    }
    if (exponent < 0) {
        *out++ = '0';
        *out++ = '.';
    }
    for (int i = exponent + 1; i < 0; i++)
        *out++ = '0';
    for (int i = 0; i < n || i <= exponent; i++) {
        if (i == exponent + 1 && exponent >= 0)
            *out++ = '.';
        *out++ = i < n ? digits[i] : '0';
    }
    *out = 0;
}

/* Without the zeros at the end. */
static int trim(const char *digits, int n)
{
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

/* Built from the bare digits, so no locale changes the point. */
void sked_i_digits(double x, int precision, char out[40])
{
    char text[40], digits[20];
    snprintf(text, sizeof text, "%.*e", precision - 1, fabs(x));
    const char *s = text;
    int n = 0;
    for (; *s != 'e'; s++)
        if (*s >= '0' && *s <= '9')
            digits[n++] = *s;
    assemble(out, signbit(x), digits, trim(digits, n), atoi(s + 1));
}

enum { LEAST_DIGITS = 15, MOST_DIGITS = 17 };

/* The fewest digits that read back as x, found by the C library. */
static void print_any(double x, char out[40])
{
    for (int precision = LEAST_DIGITS; precision <= MOST_DIGITS; precision++) {
        double back;
        sked_i_digits(x, precision, out);
        if (sked_i_parse_double(out, strlen(out), &back) && back == x)
            break;
    }
}

/*
 * x * 10^places to the nearest integer, in exact arithmetic: x is mantissa * 2^-bits, so this is
 * mantissa * 5^places / 2^(bits - places). *same: the digits read back as x, since they are off by less than
 * half a unit of the mantissa (5^places is odd: never by exactly half). False where there are not `precision`
 * digits, or numbers are too large.
 */
static bool scale(uint64_t mantissa, int bits, int places, int precision, uint64_t *digits, bool *same)
{
    const int shift = bits - places;
    if (places < 0 || places > 22 || shift < 1 || shift > 62)
        return false;
    const uint64_t five = (uint64_t)ldexp(exact_power[places], -places), half = 1ull << (shift - 1);
    const unsigned __int128 exact = (unsigned __int128)mantissa * five, whole = exact >> shift;
    const uint64_t rest = (uint64_t)exact & (2 * half - 1), least = (uint64_t)exact_power[precision - 1];
    const bool up = rest > half || (rest == half && (whole & 1));
    if (whole < least || whole + up >= 10 * least)
        return false;
    *digits = (uint64_t)whole + up;
    *same = 2 * (up ? 2 * half - rest : rest) < five;
    return true;
}

/* What print_any writes, at a tenth of the time, for what times and sizes usually are; else false. */
static bool print_usual(double x, char out[40])
{
    static const double lowest = 1e-5, beyond = 1e15;
    int bits, exponent = 0;
    const double size = fabs(x);
    if (!(size >= lowest && size < beyond))
        return false;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(size, &bits), 53);
    if (mantissa == 1ull << 52) /* a power of two: its neighbours are not equally far */
        return false;
    while (size >= exact_power[exponent + 1])
        exponent++;
    while (exponent <= 0 && size * exact_power[-exponent] < 1)
        exponent--;
    uint64_t value = 0;
    bool same = false;
    for (int precision = LEAST_DIGITS; precision <= MOST_DIGITS && !same; precision++)
        if (!scale(mantissa, 53 - bits, precision - 1 - exponent, precision, &value, &same))
            return false;
    char digits[20];
    int n = 0;
    for (char *s = digits + sizeof digits; value > 0; value /= 10, n++)
        *--s = (char)('0' + value % 10);
    memmove(digits, digits + sizeof digits - n, (size_t)n);
    assemble(out, signbit(x), digits, trim(digits, n), exponent);
    return true;
}

const char *sked_format_number(double x, char *buf, size_t size)
{
    char text[40];
    if (!isfinite(x)) {
        snprintf(buf, size, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return buf;
    }
    if (x == floor(x) && fabs(x) < 0x1p53) {
        snprintf(buf, size, "%lld", (long long)x);
        return buf;
    }
    char *const out = size >= sizeof text ? buf : text;
    if (!print_usual(x, out))
        print_any(x, out);
    if (out != buf)
        snprintf(buf, size, "%s", text);
    return buf;
}

char *sked_i_decimal(int64_t x, char *end)
{
    uint64_t u = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    do
        *--end = (char)('0' + u % 10);
    while (u /= 10);
    if (x < 0)
        *--end = '-';
    return end;
}

void sked_i_buffer_add(sked_i_buffer *b, const char *bytes, size_t size)
{
    if (b->failed)
        return;
    assert(b->size == 0 || b->size < b->cap);
    if (!SKED_GROW(b->data, b->cap, b->size + (int64_t)size + 1)) {
        b->failed = true;
        return;
    }
    memcpy(b->data + b->size, bytes, size);
    b->size += (int64_t)size;
    b->data[b->size] = 0;
}

void sked_i_buffer_text(sked_i_buffer *b, const char *text)
{
    sked_i_buffer_add(b, text, strlen(text));
}

void sked_i_buffer_char(sked_i_buffer *b, char c)
{
    sked_i_buffer_add(b, &c, 1);
}

void sked_i_buffer_number(sked_i_buffer *b, double x)
{
    char text[40];
    if (x == floor(x) && fabs(x) < 0x1p53)
        sked_i_buffer_int(b, (int64_t)x);
    else
        sked_i_buffer_text(b, sked_format_number(x, text, sizeof text));
}

void sked_i_buffer_digits(sked_i_buffer *b, double x, int precision)
{
    char text[40] = "null";
    if (isfinite(x))
        sked_i_digits(x, precision, text);
    sked_i_buffer_text(b, text);
}

void sked_i_buffer_int(sked_i_buffer *b, int64_t x)
{
    char text[24], *const end = text + sizeof text, *s = sked_i_decimal(x, end);
    sked_i_buffer_add(b, s, (size_t)(end - s));
}

void sked_i_buffer_format(sked_i_buffer *b, const char *format, ...)
{
    char text[2000];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        b->failed = true; /* callers format short pieces only */
    else
        sked_i_buffer_add(b, text, (size_t)n);
}

int sked_i_utf8_length(const char *text, size_t size)
{
    assert(size > 0);
    const unsigned char *s = (const unsigned char *)text;
    const int n = s[0] < 0x80                   ? 1
                  : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                  : (s[0] & 0xf0) == 0xe0       ? 3
                  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                : 0;
    if ((size_t)n > size)
        return 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)))
        return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)))
        return 0;
    return n;
}

bool sked_i_utf8_valid(const char *text)
{
    for (int n; *text; text += n)
        if ((n = sked_i_utf8_length(text, SIZE_MAX)) == 0) /* the terminator ends a cut sequence */
            return false;
    return true;
}

/* Of a valid sequence of n bytes. */
static uint32_t code_point(const char *text, int n)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3f);
    return c;
}

static bool within(uint32_t c, uint32_t first, uint32_t last)
{
    return c >= first && c <= last;
}

/*
 * What a terminal can show without obeying it: no controls (C0, DEL, C1), no line or paragraph separator, no
 * character that changes the direction of the text around it, no noncharacter.
 */
static bool is_printable(uint32_t c)
{
    if (c < 0x7f)
        return c >= 0x20;
    return !(within(c, 0x7f, 0x9f) || c == 0x61c || within(c, 0x200e, 0x200f) || within(c, 0x2028, 0x202e) ||
             within(c, 0x2066, 0x2069) || within(c, 0xfdd0, 0xfdef) || (c & 0xfffe) == 0xfffe);
}

static bool is_xml(uint32_t c)
{
    return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0x7f && c != 0xfffe && c != 0xffff);
}

/* \n and its like, \xNN, \uNNNN; JSON has no \x, and pairs of surrogates beyond U+FFFF. */
static int put_escape(uint32_t c, bool json, char out[SKED_ESCAPE_SIZE])
{
    const char letter = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : 0;
    if (letter || c == '"' || c == '\\')
        return snprintf(out, SKED_ESCAPE_SIZE, "\\%c", letter ? letter : (int)c);
    if (c < 0x80 && !json)
        return snprintf(out, SKED_ESCAPE_SIZE, "\\x%02x", (unsigned)c);
    if (c < 0x10000)
        return snprintf(out, SKED_ESCAPE_SIZE, "\\u%04x", (unsigned)c);
    if (!json)
        return snprintf(out, SKED_ESCAPE_SIZE, "\\U%08x", (unsigned)c);
    return snprintf(out, SKED_ESCAPE_SIZE, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
                    (unsigned)(0xdc00 | (c & 0x3ff)));
}

/* Takes the next character of a text that has one. */
static int escape_next(const char **text, size_t size, bool json, char out[SKED_ESCAPE_SIZE])
{
    const char *s = *text;
    const int n = sked_i_utf8_length(s, size);
    *text += n ? n : 1;
    if (n == 0)
        return json ? snprintf(out, SKED_ESCAPE_SIZE, "\xef\xbf\xbd")
                    : snprintf(out, SKED_ESCAPE_SIZE, "\\x%02x", (unsigned)(unsigned char)*s);
    const uint32_t c = code_point(s, n);
    if (!is_printable(c) || (json && (c == '"' || c == '\\')))
        return put_escape(c, json, out);
    memcpy(out, s, (size_t)n);
    out[n] = 0;
    return n;
}

int sked_escape_next(const char **text, bool json, char out[SKED_ESCAPE_SIZE])
{
    return **text ? escape_next(text, SIZE_MAX, json, out) : (out[0] = 0); /* the 0 ends a cut sequence */
}

/* Escapes s[0..size) into at most `room` bytes and the 0; where they end early, the text ends in "...". */
static void escape_into(const char *s, size_t size, char *buf, size_t room)
{
    const char *const end = s + size;
    const size_t dots = 3;
    size_t n = 0, safe = 0; /* safe: the longest whole part that leaves room for the dots */
    while (s < end) {
        char one[SKED_ESCAPE_SIZE];
        const size_t k = (size_t)escape_next(&s, (size_t)(end - s), false, one);
        if (n + k > room) {
            n = safe;
            memcpy(buf + n, "...", room - n < dots ? room - n : dots);
            n += room - n < dots ? room - n : dots;
            break;
        }
        memcpy(buf + n, one, k);
        n += k;
        if (n + dots <= room)
            safe = n;
    }
    buf[n] = 0;
}

const char *sked_escape(const char *text, char *buf, size_t size)
{
    if (size > 0)
        escape_into(text, strlen(text), buf, size - 1);
    return buf;
}

void sked_i_buffer_json(sked_i_buffer *b, const char *text)
{
    sked_i_buffer_char(b, '"');
    const char *s = text, *run = s;
    while (*s) {
        if (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\') { /* most names are nothing else */
            s++;
            continue;
        }
        char one[SKED_ESCAPE_SIZE];
        sked_i_buffer_add(b, run, (size_t)(s - run));
        const int n = sked_escape_next(&s, true, one);
        sked_i_buffer_add(b, one, (size_t)n);
        run = s;
    }
    sked_i_buffer_add(b, run, (size_t)(s - run));
    sked_i_buffer_char(b, '"');
}

void sked_i_buffer_json_after(sked_i_buffer *b, const char *before, const char *text)
{
    sked_i_buffer_text(b, before);
    sked_i_buffer_json(b, text);
}

void sked_i_buffer_number_after(sked_i_buffer *b, const char *before, double x)
{
    sked_i_buffer_text(b, before);
    if (isinf(x))
        sked_i_buffer_text(b, "null");
    else
        sked_i_buffer_number(b, x);
}

void sked_i_buffer_xml(sked_i_buffer *b, const char *text)
{
    for (const char *s = text; *s;) {
        const int n = sked_i_utf8_length(s, SIZE_MAX);
        if (n == 0 || !is_xml(code_point(s, n)))
            sked_i_buffer_add(b, "\xef\xbf\xbd", 3);
        else if (*s == '&')
            sked_i_buffer_text(b, "&amp;");
        else if (*s == '<')
            sked_i_buffer_text(b, "&lt;");
        else if (*s == '>')
            sked_i_buffer_text(b, "&gt;");
        else if (*s == '"')
            sked_i_buffer_text(b, "&quot;");
        else if (*s == '\'')
            sked_i_buffer_text(b, "&#39;");
        else if (*s == '\n' || *s == '\t' || *s == '\r')
            sked_i_buffer_format(b, "&#%d;", *s);
        else
            sked_i_buffer_add(b, s, (size_t)n);
        s += n ? n : 1;
    }
}

void sked_i_buffer_free(sked_i_buffer *b)
{
    free(b->data);
    *b = (sked_i_buffer){0};
}

/* Edit distance with a cap on the lengths looked at; names are short. */
static int edit_distance(const char *a, const char *b)
{
    int row[64] = {0};
    const int n = (int)strlen(a) < 60 ? (int)strlen(a) : 60, m = (int)strlen(b) < 60 ? (int)strlen(b) : 60;
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int swap = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = swap < best ? swap : best;
        }
    }
    return row[m];
}

const char *sked_suggest(const char *word, const char *const *names, int count, char *buf, size_t size)
{
    int best = 1000, which = -1;
    for (int i = 0; i < count; i++) {
        const int d = edit_distance(word, names[i]);
        if (d < best) {
            best = d;
            which = i;
        }
    }
    buf[0] = 0;
    const int length = (int)strlen(word);
    if (which >= 0 && best <= 1 + length / 3)
        snprintf(buf, size, " (did you mean '%s'?)", names[which]);
    return buf;
}

const char *sked_i_quote(const char *s, size_t size, char *buf, size_t buf_size)
{
    const size_t longest = 63; /* with the dots */
    escape_into(s, size, buf, buf_size - 1 < longest ? buf_size - 1 : longest);
    return buf;
}

sked_i_quoted sked_i_quoted_bytes(const char *s, size_t size)
{
    sked_i_quoted q = {{0}};
    escape_into(s, size, q.text, sizeof q.text - 1);
    return q;
}

sked_i_quoted sked_i_quoted_text(const char *s)
{
    return sked_i_quoted_bytes(s, strlen(s));
}

bool sked_i_buffer_utf8(sked_i_buffer *b, uint32_t code)
{
    if (code == 0 || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
        return false;
    const int tail = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    sked_i_buffer_char(b, (char)(lead[tail] | code >> (6 * tail)));
    for (int k = tail - 1; k >= 0; k--)
        sked_i_buffer_char(b, (char)(0x80 | (code >> (6 * k) & 0x3f)));
    return true;
}

int sked_i_hex_digit(char c)
{
    const int letter = (c | 0x20) - 'a';
    return c >= '0' && c <= '9' ? c - '0' : letter >= 0 && letter < 6 ? letter + 10 : -1;
}
