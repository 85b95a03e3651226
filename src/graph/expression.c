/* Expressions of ops: operators of Verilog on operands a, b, ..., and what they may say. */
#include "graph/graph.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* a, b, ..., z, a1, b1, ... */
static int64_t operand(const char *word, size_t size)
{
    int64_t round = 0;
    const bool letter = word[0] >= 'a' && word[0] <= 'z';
    if (!letter || (size > 1 && !sked_i_parse_int(word + 1, size - 1, 1, INT32_MAX, &round)) ||
        (size > 1 && !(word[1] >= '1' && word[1] <= '9')))
        return SKED_I_EXPRESSION_WRONG;
    return 26 * round + (word[0] - 'a');
}

int64_t sked_i_expression_part(const char **at, size_t *size)
{
    const char *const s = *at;
    size_t n = 1;
    int64_t kind = SKED_I_EXPRESSION_TEXT;
    if (*s == '\'' || is_word(*s)) {
        while (is_word(s[n]))
            n++;
        if (*s == '$')
            kind = (n == 7 && memcmp(s, "$signed", n) == 0) || (n == 9 && memcmp(s, "$unsigned", n) == 0)
                       ? SKED_I_EXPRESSION_TEXT
                       : SKED_I_EXPRESSION_WRONG;
        else if (*s != '\'' && !is_digit(*s))
            kind = operand(s, n);
    } else if (strncmp(s, "...", 3) == 0) {
        n = 3;
        kind = SKED_I_EXPRESSION_REST;
    } else if (*s == 0 || strchr(" +-*/%<>=!&|^~?:()[]{},", *s) == NULL || strncmp(s, "//", 2) == 0 ||
               strncmp(s, "/*", 2) == 0) {
        kind = SKED_I_EXPRESSION_WRONG;
    }
    *size = n;
    *at += n;
    return kind;
}

const char *sked_i_expression_wrong(const char *text)
{
    const char *s = text;
    int depth = 0;
    bool empty = true;
    for (size_t size = 0; *s != 0 && depth >= 0;) {
        const char c = *s;
        empty = empty && c == ' ';
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (c == ',' && depth == 0)
            return "it has a comma outside of brackets";
        if (sked_i_expression_part(&s, &size) == SKED_I_EXPRESSION_WRONG)
            return "an expression has operands a, b, ..., numbers, operators, brackets, $signed and "
                   "$unsigned";
    }
    return depth != 0 ? "its brackets do not match" : empty ? "it is empty" : NULL;
}
