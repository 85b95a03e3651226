/* Text that fits the terminal. */
#define _DEFAULT_SOURCE
#include "program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { USUAL_WIDTH = 80, LEAST_WIDTH = 20, NARROW_COLUMN = 8 };

int text_width(FILE *out)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    double width = USUAL_WIDTH;
    if (columns == NULL || !sked_parse_number(columns, &width) || width < 1 || width > 1e6)
        width = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : (int)width;
}

/* Columns that `size` bytes of UTF-8 take; every character counts as one. */
static int columns_of(const char *s, int size)
{
    int n = 0;
    for (int i = 0; i < size; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

static int word_size(const char *s, const char *end)
{
    int n = 0;
    while (s + n < end && s[n] != ' ' && s[n] != '\n')
        n++;
    return n;
}

/* In a shell command an option and its value stay together. */
static int shell_word_size(const char *s, const char *end)
{
    const int n = word_size(s, end);
    const char *next = s + n + 1;
    return s[0] == '-' && next < end && next[0] != '-' ? n + 1 + word_size(next, end) : n;
}

/* How words are told apart, the column where lines begin, and what ends a line that another follows. */
typedef struct layout {
    int (*size)(const char *s, const char *end);
    int column;
    const char *more;
} layout;

/* Writes the words from text to end; the first one stands in column `at`. */
static void put_words(FILE *out, const char *text, const char *end, int at, const layout *l)
{
    const int width = text_width(out) - (int)strlen(l->more);
    for (bool first = true; text < end; first = false) {
        const int bytes = l->size(text, end), wide = columns_of(text, bytes);
        if (!first && at + 1 + wide > width) {
            fprintf(out, "%s\n%*s", l->more, l->column, "");
            at = l->column;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, (size_t)bytes, out);
        at += wide;
        text += bytes + 1;
    }
    fputc('\n', out);
}

void put_wrapped(FILE *out, const char *label, int column, const char *text)
{
    const int used = columns_of(label, (int)strlen(label));
    const bool narrow = column > text_width(out) / 2;
    const layout l = {word_size, narrow ? NARROW_COLUMN : column, ""};
    if (used > 0 && (narrow || used >= column))
        fprintf(out, "%s\n%*s", label, l.column, "");
    else
        fprintf(out, "%s%*s", label, l.column - used, "");
    put_words(out, text, text + strlen(text), l.column, &l);
}

void put_example(FILE *out, const char *line, int size)
{
    const layout l = {shell_word_size, 6, " \\"};
    fputs("  ", out);
    put_words(out, line, line + size, 2, &l);
}
