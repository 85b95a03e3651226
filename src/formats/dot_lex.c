/*
 * Tokens of the DOT language. IDs are names, numerals, quoted strings (joined by '+', with \" and \\ and a
 * backslash before a line end as the only escapes) and HTML strings, which keep their angle brackets.
 */
#include "formats/dot.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Blanks and comments: //, C style, and '#' to the end of the line. */
static sked_status skip(sked_i_dot_lexer *l, sked_error *err)
{
    for (const char *s = l->next;;) {
        const bool two = l->end - s >= 2;
        if (s < l->end && (*s == ' ' || (*s >= '\t' && *s <= '\r'))) {
            s++;
        } else if (s < l->end && (*s == '#' || (two && s[0] == '/' && s[1] == '/'))) {
            s = sked_i_line_end(s, l->end);
        } else if (two && s[0] == '/' && s[1] == '*') {
            const char *start = s;
            for (s += 2; l->end - s >= 2 && !(s[0] == '*' && s[1] == '/'); s++)
                ;
            if (l->end - s < 2)
                return sked_i_source_fail(l->source, start, err, "a comment '/*' that never ends");
            s += 2;
        } else {
            l->next = s;
            return SKED_OK;
        }
    }
}

static int keyword(sked_i_word w)
{
    static const struct {
        const char *text;
        int kind;
    } words[] = {{"node", SKED_I_DOT_NODE},         {"edge", SKED_I_DOT_EDGE},
                 {"graph", SKED_I_DOT_GRAPH},       {"digraph", SKED_I_DOT_DIGRAPH},
                 {"subgraph", SKED_I_DOT_SUBGRAPH}, {"strict", SKED_I_DOT_STRICT}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (w.size == strlen(words[i].text) && sked_i_word_starts(w, words[i].text))
            return words[i].kind;
    return SKED_I_DOT_ID;
}

static void lex_name(sked_i_dot_lexer *l)
{
    while (l->next < l->end && (is_letter(*l->next) || is_digit(*l->next)))
        l->next++;
    l->text = (sked_i_word){l->at, (size_t)(l->next - l->at)};
    l->kind = keyword(l->text);
}

static sked_status lex_numeral(sked_i_dot_lexer *l, sked_error *err)
{
    int digits = 0, points = 0;
    l->next += *l->next == '-';
    for (; l->next < l->end && (is_digit(*l->next) || (*l->next == '.' && points == 0)); l->next++) {
        digits += is_digit(*l->next) && digits < 1;
        points += *l->next == '.';
    }
    l->text = (sked_i_word){l->at, (size_t)(l->next - l->at)};
    l->kind = SKED_I_DOT_ID;
    if (digits == 0 || (l->next < l->end && (is_letter(*l->next) || *l->next == '.')))
        return sked_i_source_fail(l->source, l->at, err,
                                  "'%s' runs into what follows: a name that starts with "
                                  "a digit, '.' or '-' needs quotes",
                                  sked_i_word_quoted(l->text).text);
    return SKED_OK;
}

static sked_status lex_html(sked_i_dot_lexer *l, sked_error *err)
{
    int64_t open = 0;
    for (; l->next < l->end; l->next++) {
        open += *l->next == '<' ? 1 : *l->next == '>' ? -1 : 0;
        if (open == 0) {
            l->next++;
            l->text = (sked_i_word){l->at, (size_t)(l->next - l->at)};
            l->kind = SKED_I_DOT_ID;
            return SKED_OK;
        }
    }
    return sked_i_source_fail(l->source, l->at, err, "an HTML string '<' that never ends");
}

/* Appends what stands between the quotes to l->joined; l->next is at the opening quote. */
static sked_status lex_quoted_part(sked_i_dot_lexer *l, sked_error *err)
{
    const char *start = l->next++, *run = l->next;
    for (; l->next < l->end && *l->next != '"'; l->next++) {
        const char *s = l->next;
        if (*s != '\\' || l->end - s < 2)
            continue;
        const size_t line_end = s[1] == '\n' ? 2 : l->end - s >= 3 && s[1] == '\r' && s[2] == '\n' ? 3 : 0;
        if (s[1] != '"' && s[1] != '\\' && line_end == 0)
            continue;
        sked_i_buffer_add(&l->joined, run, (size_t)(s - run));
        run = line_end ? s + line_end : s + 1;
        l->next = line_end ? run - 1 : s + 1;
    }
    if (l->next == l->end)
        return sked_i_source_fail(l->source, start, err, "a string '\"' that never ends");
    sked_i_buffer_add(&l->joined, run, (size_t)(l->next - run));
    l->next++;
    return l->joined.failed ? sked_i_no_memory(err) : SKED_OK;
}

static sked_status lex_string(sked_i_dot_lexer *l, sked_error *err)
{
    sked_status st;
    l->joined.size = 0;
    for (;;) {
        SKED_TRY(lex_quoted_part(l, err));
        const char *after = l->next;
        SKED_TRY(skip(l, err));
        if (l->next == l->end || *l->next != '+') {
            l->next = after;
            break;
        }
        l->next++;
        SKED_TRY(skip(l, err));
        if (l->next == l->end || *l->next != '"')
            return sked_i_source_fail(l->source, l->next, err, "'+' joins quoted strings only");
    }
    l->text = (sked_i_word){l->joined.data, (size_t)l->joined.size};
    l->kind = SKED_I_DOT_ID;
cleanup:
    return st;
}

sked_status sked_i_dot_next(sked_i_dot_lexer *l, sked_error *err)
{
    const sked_status st = skip(l, err);
    if (st != SKED_OK)
        return st;
    const char *s = l->at = l->next;
    const char second = l->end - s >= 2 ? s[1] : 0;
    if (s == l->end) {
        l->kind = SKED_I_DOT_END;
    } else if (is_letter(*s)) {
        lex_name(l);
    } else if (*s == '-' && (second == '>' || second == '-')) {
        l->kind = second == '>' ? SKED_I_DOT_ARROW : SKED_I_DOT_LINE;
        l->next += 2;
    } else if (is_digit(*s) || *s == '-' || *s == '.') {
        return lex_numeral(l, err);
    } else if (*s == '"') {
        return lex_string(l, err);
    } else if (*s == '<') {
        return lex_html(l, err);
    } else {
        l->kind = (unsigned char)*s;
        l->next++;
    }
    return SKED_OK;
}
