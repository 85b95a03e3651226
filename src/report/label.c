#include "report/label.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* digits * 10^-decimals without trailing zeros. */
static void add_fixed(sked_i_buffer *b, int64_t digits, int decimals)
{
    int64_t scale = 1;
    while (decimals > 0 && digits % 10 == 0) {
        digits /= 10;
        decimals--;
    }
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    if (digits < 0)
        sked_i_buffer_char(b, '-');
    const int64_t size = digits < 0 ? -digits : digits;
    sked_i_buffer_int(b, size / scale);
    if (decimals > 0)
        sked_i_buffer_format(b, ".%0*lld", decimals, (long long)(size % scale));
}

/* A pixel coordinate to 1/100, shortest form ("12.5"). Values are clamped to +-1e9. */
static void add_pixels(sked_i_buffer *b, double x)
{
    const double limit = 1e9;
    const double kept = x > limit ? limit : x > -limit ? x : -limit; /* NAN: the lower limit */
    add_fixed(b, llround(kept * 100), 2);
}

void sked_i_label_draw(sked_i_buffer *b, const char *pattern, ...)
{
    va_list args;
    va_start(args, pattern);
    for (const char *s = pattern; *s;) {
        const size_t plain = strcspn(s, "~");
        sked_i_buffer_add(b, s, plain);
        s += plain;
        if (*s == '~') {
            add_pixels(b, va_arg(args, double));
            s++;
        }
    }
    va_end(args);
}

const char *sked_i_label_number(double x, char *buf, size_t size)
{
    char text[40];
    if (!isfinite(x))
        snprintf(buf, size, isnan(x) ? "-" : "unlimited");
    else if (x == floor(x) && fabs(x) < 0x1p53)
        snprintf(buf, size, "%lld", (long long)x);
    else if (fabs(x) >= 1e6 && fabs(x) < 0x1p53)
        snprintf(buf, size, "%lld", llround(x));
    else {
        sked_i_digits(x, 6, text);
        snprintf(buf, size, "%s", text);
    }
    return buf;
}

const char *sked_i_label_percent(double share, char *buf, size_t size)
{
    const double percent = round(share * 1e4) / 100;
    char number[40];
    snprintf(buf, size, "%s %%", sked_i_label_number(percent, number, sizeof number));
    return buf;
}

/* Width of one character in units of the font size (Helvetica, Arial and DejaVu Sans are about this). */
static double char_width(const unsigned char *s)
{
    if (*s >= 0xe1)
        return 1.02; /* CJK and beyond */
    if (*s >= 0x80)
        return 0.65;
    if (strchr("ijl.,:;'|! ", *s) != NULL)
        return 0.32;
    if (strchr("frtI()[]{}/\\-\"`", *s) != NULL)
        return 0.42;
    if (strchr("mMwW@%", *s) != NULL)
        return 0.97;
    return *s >= 'A' && *s <= 'Z' ? 0.72 : 0.62;
}

static bool continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

double sked_i_label_width(const char *text, double font_size)
{
    double width = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if (!continues(*s))
            width += char_width(s);
    return width * font_size;
}

const char *sked_i_label_fit(const char *name, double font_size, double width)
{
    if ((double)strlen(name) * 0.2 * font_size < width && sked_i_label_width(name, font_size) <= width)
        return name;
    const char *tail = strrchr(name, '/');
    if (tail == NULL || tail[1] == 0 || strlen(tail) > 200)
        return NULL;
    return sked_i_label_width(tail + 1, font_size) <= width ? tail + 1 : NULL;
}

const char *sked_i_label_cut(const char *text, int max_chars, char *buf, size_t size)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t n = 0, keep = 0;
    int chars = 0;
    for (; text[n] && n + sizeof ellipsis < size; n++) {
        if (continues((unsigned char)text[n]))
            continue;
        if (chars == max_chars)
            break;
        chars++;
        if (chars == max_chars)
            keep = n;
    }
    if (text[n] == 0) {
        memcpy(buf, text, n + 1);
        return buf;
    }
    if (chars < max_chars)
        for (keep = n; keep > 0 && continues((unsigned char)text[keep]);)
            keep--;
    memcpy(buf, text, keep);
    memcpy(buf + keep, ellipsis, sizeof ellipsis);
    return buf;
}
