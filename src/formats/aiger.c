/*
 * AIGER circuits, ASCII (aag) and binary (aig), up to version 1.9. Ops are the inputs, the latches and the
 * and-gates, named after the symbol table or else after their literals; edges run from the op that defines a
 * variable to those that use it, inverted or not. docs/formats/aiger.md
 */
#include "formats/scan.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    most_variables = (1 << 30) - 1, /* their literals are int32_t */
    /* Variables that a file may have beyond its bytes: inputs of a binary file take none, unused variables
       of an ASCII file neither. */
    unwritten = 1 << 16
};

enum { MOST, INPUTS, LATCHES, OUTPUTS, ANDS, BADS, CONSTRAINTS, JUSTICES, FAIRNESSES, HEADER_FIELDS };
enum { header_least = ANDS + 1 }; /* fields that were there before 1.9 */

/* A latch or an and-gate: the op of its variable reads those of its fanins. */
typedef struct gate {
    int32_t variable, fanin[2]; /* variables; 0: the constant, which no op stands for */
    int32_t literal[2];         /* of an and-gate: as it reads them */
    const char *at;
} gate;

/* A literal that the world outside reads. */
typedef struct observed {
    int32_t literal;
    const char *at;
} observed;

typedef struct reader {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_error *err;
    sked_i_scan scan; /* the lines; of a binary file those before its and-gates */
    const char *at, *end;
    bool binary;
    const char *bytes; /* from here on messages name bytes, not lines; NULL: nowhere yet */
    int32_t header[HEADER_FIELDS];
    int32_t *defined; /* [variables + 1] 1 + the op, 0: not yet */
    int32_t *input;   /* [inputs] variables */
    gate *latch, *ands;
    observed *observed;
    int64_t n_observed, observed_cap;
    sked_i_word *symbol; /* [inputs + latches] size 0: none */
    sked_i_names taken;  /* names given to ops */
    sked_builder *builder;
} reader;

/* ------------------------------------------------------------------ messages */

static sked_status refuse(const reader *r, const char *at, sked_status status, const char *format, ...)
    SKED_PRINTF(4, 5);

static sked_status refuse(const reader *r, const char *at, sked_status status, const char *format, ...)
{
    char message[600];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (r->bytes != NULL && at >= r->bytes)
        return sked_i_fail(r->err, status, "%s: byte %lld: %s", r->source->name,
                           (long long)(at - r->source->text), message);
    return sked_i_source_refuse(r->source, at, status, r->err, "%s", message);
}

/* ------------------------------------------------------------------ header */

static int32_t variables(const reader *r)
{
    return r->header[MOST];
}

/* What the header promises against what the file can hold, before anything is allocated. */
static sked_status check_sizes(const reader *r, const char *at)
{
    const int32_t *h = r->header;
    const int64_t defined = (int64_t)h[INPUTS] + h[LATCHES] + h[ANDS];
    const int64_t left = r->scan.end - r->scan.at;
    int64_t items = r->binary ? 0 : h[INPUTS];
    for (int f = LATCHES; f < HEADER_FIELDS; f++)
        items += h[f];
    if (defined > h[MOST] || (r->binary && defined < h[MOST]))
        return refuse(r, at, SKED_ERR_FORMAT,
                      "the header counts %d variables but %lld inputs, latches and and-gates", (int)h[MOST],
                      (long long)defined);
    if (2 * items > left + 1) /* a line or two deltas each; the last line end may be missing */
        return refuse(r, at, SKED_ERR_FORMAT,
                      "the header promises %lld lines or and-gates, but only %lld bytes follow",
                      (long long)items, (long long)left);
    if (h[MOST] > (int64_t)r->source->size + unwritten)
        return refuse(r, at, SKED_ERR_UNSUPPORTED,
                      "%d variables in a file of %lld bytes: sked reads at most %d more than bytes",
                      (int)h[MOST], (long long)r->source->size, (int)unwritten);
    return SKED_OK;
}

static sked_status read_header(reader *r)
{
    static const char *const names[] = {"the largest variable",
                                        "the number of inputs",
                                        "the number of latches",
                                        "the number of outputs",
                                        "the number of and-gates",
                                        "the number of bad states",
                                        "the number of constraints",
                                        "the number of justice properties",
                                        "the number of fairness constraints"};
    sked_status st = SKED_OK;
    sked_i_word w;
    const char *begin = r->scan.at;
    if (!sked_i_scan_word(&r->scan, &w) || !(sked_i_word_is(w, "aag") || sked_i_word_is(w, "aig")))
        return refuse(r, begin, SKED_ERR_FORMAT, "the first word must be aag or aig");
    r->binary = w.text[1] == 'i';
    for (int f = 0; f < HEADER_FIELDS; f++) {
        sked_i_scan ahead = r->scan;
        if (f >= header_least && !sked_i_scan_word(&ahead, &w))
            break;
        SKED_TRY(sked_i_scan_int(&r->scan, names[f], 0, most_variables, &r->header[f], r->err));
    }
    SKED_TRY(sked_i_scan_line_end(&r->scan, "the header", r->err));
    st = check_sizes(r, begin);
cleanup:
    return st;
}

static sked_status allocate(reader *r, sked_error *err)
{
    const int32_t *h = r->header;
    sked_status st = SKED_OK;
    SKED_OWN0(&r->arena, r->defined, (int64_t)variables(r) + 1);
    SKED_OWN(&r->arena, r->input, h[INPUTS]);
    SKED_OWN(&r->arena, r->latch, h[LATCHES]);
    SKED_OWN(&r->arena, r->ands, h[ANDS]);
    SKED_OWN0(&r->arena, r->symbol, (int64_t)h[INPUTS] + h[LATCHES]);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ lines of literals */

static sked_status next_line(reader *r, const char *what)
{
    if (sked_i_scan_next_line(&r->scan))
        return SKED_OK;
    return refuse(r, r->scan.at, SKED_ERR_FORMAT, "the file ends where %s is expected", what);
}

static sked_status read_literal(reader *r, const char *what, int32_t *out)
{
    return sked_i_scan_int(&r->scan, what, 0, 2 * variables(r) + 1, out, r->err);
}

/* A line with one literal. */
static sked_status read_line(reader *r, const char *what, int32_t *out)
{
    sked_status st;
    SKED_TRY(next_line(r, what));
    SKED_TRY(read_literal(r, what, out));
    st = sked_i_scan_line_end(&r->scan, what, r->err);
cleanup:
    return st;
}

/* Variable of a literal that names it: even, and defined once. */
static sked_status define(reader *r, int32_t literal, int32_t op, const char *at)
{
    assert(literal >= 0 && literal / 2 <= variables(r));
    if (literal < 2 || literal % 2 != 0)
        return refuse(r, at, SKED_ERR_FORMAT, "literal %d cannot be defined: it must be even and no constant",
                      (int)literal);
    if (r->defined[literal / 2] > 0)
        return refuse(r, at, SKED_ERR_FORMAT, "literal %d is defined twice", (int)literal);
    r->defined[literal / 2] = op + 1;
    return SKED_OK;
}

static sked_status read_inputs(reader *r)
{
    sked_status st = SKED_OK;
    for (int32_t k = 0; k < r->header[INPUTS]; k++) {
        int32_t literal = 2 * (k + 1);
        if (!r->binary)
            SKED_TRY(read_line(r, "an input", &literal));
        SKED_TRY(define(r, literal, k, r->scan.at));
        r->input[k] = literal / 2;
    }
cleanup:
    return st;
}

/* The value of a latch at the start may be 0, 1, or its own literal: unknown. It carries no data here. */
static sked_status skip_reset(reader *r, int32_t literal)
{
    sked_status st = SKED_OK;
    sked_i_scan ahead = r->scan;
    sked_i_word w;
    int32_t reset;
    if (!sked_i_scan_word(&ahead, &w))
        return SKED_OK;
    SKED_TRY(read_literal(r, "the reset value of a latch", &reset));
    if (reset > 1 && reset != literal)
        return refuse(r, w.text, SKED_ERR_FORMAT, "the reset value of latch %d must be 0, 1 or %d, not %d",
                      (int)literal, (int)literal, (int)reset);
cleanup:
    return st;
}

static sked_status read_latches(reader *r)
{
    sked_status st = SKED_OK;
    for (int32_t k = 0; k < r->header[LATCHES]; k++) {
        int32_t literal = 2 * (r->header[INPUTS] + k + 1), next;
        SKED_TRY(next_line(r, "a latch"));
        const char *at = r->scan.at;
        if (!r->binary)
            SKED_TRY(read_literal(r, "a latch", &literal));
        SKED_TRY(read_literal(r, "the next state of a latch", &next));
        SKED_TRY(skip_reset(r, literal));
        SKED_TRY(sked_i_scan_line_end(&r->scan, "a latch", r->err));
        SKED_TRY(define(r, literal, r->header[INPUTS] + k, at));
        r->latch[k] = (gate){literal / 2, {next / 2, 0}, {0}, at};
    }
cleanup:
    return st;
}

static sked_status read_observed(reader *r, int64_t count, const char *what)
{
    sked_status st = SKED_OK;
    for (int64_t k = 0; k < count; k++) {
        observed x;
        SKED_TRY(read_line(r, what, &x.literal));
        x.at = r->scan.at;
        if (!SKED_OWN_GROW(&r->arena, r->observed, r->observed_cap, r->n_observed + 1))
            return sked_i_no_memory(r->err);
        r->observed[r->n_observed++] = x;
    }
cleanup:
    return st;
}

/* First the sizes of all justice properties, then their literals. */
static sked_status read_justices(reader *r)
{
    sked_status st = SKED_OK;
    int64_t all = 0;
    for (int32_t k = 0; k < r->header[JUSTICES]; k++) {
        int32_t size;
        SKED_TRY(next_line(r, "the size of a justice property"));
        SKED_TRY(
            sked_i_scan_int(&r->scan, "the size of a justice property", 0, most_variables, &size, r->err));
        SKED_TRY(sked_i_scan_line_end(&r->scan, "the size of a justice property", r->err));
        all += size;
    }
    st = read_observed(r, all, "a literal of a justice property");
cleanup:
    return st;
}

/* ------------------------------------------------------------------ and-gates */

static void add_and(reader *r, int32_t k, int32_t literal, int32_t left, int32_t right, const char *at)
{
    r->ands[k] = (gate){literal / 2, {left / 2, left / 2 == right / 2 ? 0 : right / 2}, {left, right}, at};
}

static sked_status read_and_lines(reader *r)
{
    sked_status st = SKED_OK;
    const int32_t before = r->header[INPUTS] + r->header[LATCHES];
    for (int32_t k = 0; k < r->header[ANDS]; k++) {
        int32_t literal, left, right;
        SKED_TRY(next_line(r, "an and-gate"));
        const char *at = r->scan.at;
        SKED_TRY(read_literal(r, "an and-gate", &literal));
        SKED_TRY(read_literal(r, "an input of an and-gate", &left));
        SKED_TRY(read_literal(r, "an input of an and-gate", &right));
        SKED_TRY(sked_i_scan_line_end(&r->scan, "an and-gate", r->err));
        SKED_TRY(define(r, literal, before + k, at));
        add_and(r, k, literal, left, right, at);
    }
cleanup:
    return st;
}

/* Seven bits a byte, the lowest first; the last byte has its top bit clear. */
static sked_status read_delta(reader *r, int32_t most, int32_t *out)
{
    const char *begin = r->at;
    uint64_t x = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (r->at == r->end)
            return refuse(r, r->at, SKED_ERR_FORMAT, "the file ends within its and-gates");
        const unsigned char byte = (unsigned char)*r->at++;
        x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (x > (uint64_t)most)
            return refuse(r, begin, SKED_ERR_FORMAT, "a delta of %llu leads below literal 0",
                          (unsigned long long)x);
        *out = (int32_t)x;
        return SKED_OK;
    }
    return refuse(r, begin, SKED_ERR_FORMAT, "a delta of more than five bytes");
}

static sked_status read_and_bytes(reader *r)
{
    sked_status st = SKED_OK;
    const int32_t before = r->header[INPUTS] + r->header[LATCHES];
    r->bytes = r->at;
    for (int32_t k = 0; k < r->header[ANDS]; k++) {
        const int32_t literal = 2 * (before + k + 1);
        const char *at = r->at;
        int32_t first = 0, second = 0;
        SKED_TRY(read_delta(r, literal, &first));
        if (first == 0)
            return refuse(r, at, SKED_ERR_FORMAT, "and-gate %d reads itself: its first delta is 0",
                          (int)literal);
        SKED_TRY(read_delta(r, literal - first, &second));
        SKED_TRY(define(r, literal, before + k, at));
        add_and(r, k, literal, literal - first, literal - first - second, at);
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ symbols */

/* The place in r->header of a kind of symbol; HEADER_FIELDS: there is none. */
static int kind_of_symbol(char letter)
{
    static const char letters[HEADER_FIELDS] = {
        [INPUTS] = 'i',      [LATCHES] = 'l',  [OUTPUTS] = 'o',   [BADS] = 'b',
        [CONSTRAINTS] = 'c', [JUSTICES] = 'j', [FAIRNESSES] = 'f'};
    int kind = INPUTS;
    while (kind < HEADER_FIELDS && (letters[kind] != letter || letter == 0))
        kind++;
    return kind;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "i12 name": the name of input 12. Only inputs and latches are ops. */
static sked_status read_symbol(reader *r, const char *line, const char *end)
{
    const int kind = kind_of_symbol(*line);
    const char *s = line + 1;
    int64_t place = 0;
    for (; s < end && is_digit(*s) && place <= most_variables; s++)
        place = 10 * place + (*s - '0');
    if (kind == HEADER_FIELDS || s == line + 1 || s + 1 >= end || *s != ' ')
        return refuse(r, line, SKED_ERR_FORMAT, "'%s' is neither a symbol (i0 name) nor the comment (c)",
                      sked_i_quoted_bytes(line, (size_t)(end - line)).text);
    if (place >= r->header[kind])
        return refuse(r, line, SKED_ERR_FORMAT, "a symbol for number %lld of %d", (long long)place,
                      (int)r->header[kind]);
    const sked_i_word name = {s + 1, (size_t)(end - s - 1)};
    if (memchr(name.text, 0, name.size) != NULL)
        return refuse(r, line, SKED_ERR_FORMAT, "a zero byte in a symbol");
    if (kind != INPUTS && kind != LATCHES)
        return SKED_OK;
    sked_i_word *symbol = &r->symbol[place + (kind == LATCHES ? r->header[INPUTS] : 0)];
    if (symbol->size > 0)
        return refuse(r, line, SKED_ERR_FORMAT, "a second symbol '%s' for the same place",
                      sked_i_word_quoted(name).text);
    *symbol = name;
    return SKED_OK;
}

/* A 'c' opens the comment, which runs to the end; but "c0 name" is a symbol where there are constraints. */
static bool opens_comment(const reader *r, const char *line, const char *end)
{
    return *line == 'c' && !(line + 1 < end && is_digit(line[1]) && r->header[CONSTRAINTS] > 0);
}

static sked_status read_symbols(reader *r)
{
    sked_status st = SKED_OK;
    while (r->at < r->end) {
        const char *line = r->at, *newline = sked_i_line_end(line, r->end);
        const char *end = newline > line && newline[-1] == '\r' ? newline - 1 : newline;
        r->at = newline < r->end ? newline + 1 : newline;
        if (end == line)
            continue;
        if (opens_comment(r, line, end))
            break;
        SKED_TRY(read_symbol(r, line, end));
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the graph */

/* Names in digits alone would be mistaken for literals. */
static bool is_number(sked_i_word w)
{
    for (size_t k = 0; k < w.size; k++)
        if (!is_digit(w.text[k]))
            return false;
    return true;
}

/* Adds the op of a variable: called by its symbol where that is no number and not taken, else by its literal.
 */
static sked_status add_op(reader *r, int32_t variable, const char *type, const sked_i_word *symbol,
                          const char *at)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    char literal[16];
    const char *name = literal;
    int32_t op;
    snprintf(literal, sizeof literal, "%d", (int)(2 * variable));
    if (symbol != NULL && symbol->size > 0 && !is_number(*symbol)) {
        bool fresh;
        const int32_t number = sked_i_names_add(&r->taken, symbol->text, symbol->size, &fresh);
        if (number < 0)
            return sked_i_no_memory(err);
        name = fresh ? sked_i_names_at(&r->taken, number) : literal;
        at = symbol->text;
    }
    if (!sked_i_utf8_valid(name))
        return refuse(r, at, SKED_ERR_FORMAT, "a symbol is not valid UTF-8");
    SKED_BUILD(r->source, NULL, sked_builder_add_op(r->builder, name, type, 1, &op, &cause));
    SKED_BUILD(r->source, NULL, sked_builder_set_memory(r->builder, op, 1, &cause));
cleanup:
    return st;
}

static sked_status add_ops(reader *r)
{
    sked_status st = SKED_OK;
    const int32_t *h = r->header;
    for (int32_t k = 0; k < h[INPUTS]; k++)
        SKED_TRY(add_op(r, r->input[k], "input", &r->symbol[k], r->source->text));
    for (int32_t k = 0; k < h[LATCHES]; k++)
        SKED_TRY(add_op(r, r->latch[k].variable, "latch", &r->symbol[h[INPUTS] + k], r->latch[k].at));
    for (int32_t k = 0; k < h[ANDS]; k++)
        SKED_TRY(add_op(r, r->ands[k].variable, "and", NULL, r->ands[k].at));
cleanup:
    return st;
}

static sked_status check_defined(const reader *r, int32_t variable, const char *at)
{
    if (variable == 0 || r->defined[variable] > 0)
        return SKED_OK;
    return refuse(r, at, SKED_ERR_FORMAT, "literal %d is used but never defined", (int)(2 * variable));
}

static sked_status add_edges(reader *r, const gate *gates, int32_t count, int32_t distance)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    for (int32_t k = 0; k < count; k++)
        for (int f = 0; f < 2; f++) {
            const gate *x = &gates[k];
            if (x->fanin[f] == 0)
                continue;
            SKED_TRY(check_defined(r, x->fanin[f], x->at));
            const sked_edge edge = {r->defined[x->fanin[f]] - 1, r->defined[x->variable] - 1, NAN, 1,
                                    distance};
            SKED_BUILD(r->source, NULL, sked_builder_add_edge(r->builder, &edge, &cause));
        }
cleanup:
    return st;
}

/* "a & ~b": operands stand in the order of their ops, constants behind them. */
static sked_status add_function(reader *r, const gate *x)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    char text[16] = "";
    int32_t literal[] = {x->literal[0], x->literal[1]};
    const int32_t op[] = {r->defined[literal[0] / 2], r->defined[literal[1] / 2]};
    if (op[0] == 0 || (op[1] > 0 && (op[1] < op[0] || (op[1] == op[0] && literal[1] < literal[0])))) {
        literal[0] = x->literal[1];
        literal[1] = x->literal[0];
    }
    for (int f = 0; f < 2; f++) {
        const char *const constant = literal[f] == 1 ? "1'b1" : "1'b0",
                          *name = f > 0 && op[0] != op[1] ? "b" : "a";
        strcat(text, f > 0 ? " & " : "");
        strcat(text, literal[f] < 2 ? constant : literal[f] % 2 ? "~" : "");
        strcat(text, literal[f] < 2 ? "" : name);
    }
    SKED_BUILD(r->source, NULL,
               sked_builder_set_verilog(r->builder, r->defined[x->variable] - 1, text, &cause));
cleanup:
    return st;
}

/* What the world outside reads of an op: its value, or the inverse. Constants are no ops. */
static sked_status add_output(reader *r, int32_t literal)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const sked_i_attribute *a = &sked_i_op_table[literal % 2 ? sked_i_op_output_not : sked_i_op_output];
    if (literal >= 2)
        SKED_BUILD(r->source, NULL,
                   sked_i_builder_set(r->builder, a, r->defined[literal / 2] - 1, 1, &cause));
cleanup:
    return st;
}

static sked_status build(reader *r, sked_graph **out)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const int32_t *h = r->header;
    SKED_BUILD(r->source, NULL,
               sked_i_builder_reserve(r->builder, h[INPUTS] + h[LATCHES] + h[ANDS],
                                      h[LATCHES] + 2 * (int64_t)h[ANDS], &cause));
    SKED_TRY(add_ops(r));
    SKED_TRY(add_edges(r, r->latch, h[LATCHES], 1));
    SKED_TRY(add_edges(r, r->ands, h[ANDS], 0));
    for (int32_t k = 0; k < h[ANDS]; k++)
        SKED_TRY(add_function(r, &r->ands[k]));
    for (int64_t k = 0; k < r->n_observed; k++) {
        SKED_TRY(check_defined(r, r->observed[k].literal / 2, r->observed[k].at));
        if (k < h[OUTPUTS])
            SKED_TRY(add_output(r, r->observed[k].literal));
    }
    SKED_BUILD(r->source, NULL, sked_builder_finish(r->builder, out, &cause));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the file */

static sked_status read_lines(reader *r)
{
    sked_status st = SKED_OK;
    SKED_TRY(read_inputs(r));
    SKED_TRY(read_latches(r));
    SKED_TRY(read_observed(r, r->header[OUTPUTS], "an output"));
    SKED_TRY(read_observed(r, r->header[BADS], "a bad state"));
    SKED_TRY(read_observed(r, r->header[CONSTRAINTS], "a constraint"));
    SKED_TRY(read_justices(r));
    SKED_TRY(read_observed(r, r->header[FAIRNESSES], "a fairness constraint"));
    if (!r->binary)
        SKED_TRY(read_and_lines(r));
    r->at = sked_i_line_end(r->scan.at, r->end);
    r->at += r->at < r->end;
    if (r->binary)
        SKED_TRY(read_and_bytes(r));
    st = read_symbols(r);
cleanup:
    return st;
}

static sked_status read_aiger(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    reader r = {.source = source, .err = err, .scan = sked_i_scan_source(source)};
    sked_status st;
    r.scan.one_line = true;
    r.end = r.scan.end;
    SKED_TRY(sked_i_source_begin(source, NULL, &r.builder, err));
    SKED_TRY(read_header(&r));
    SKED_TRY(allocate(&r, err));
    SKED_TRY(read_lines(&r));
    SKED_TRY(build(&r, out));
cleanup:
    sked_builder_destroy(r.builder);
    sked_i_names_free(&r.taken);
    sked_i_arena_free(&r.arena);
    return st;
}

static bool sniff_aiger(const char *text, size_t size)
{
    return size > 4 && (memcmp(text, "aag ", 4) == 0 || memcmp(text, "aig ", 4) == 0) && is_digit(text[4]);
}

const sked_i_format sked_i_format_aiger = {
    .info = {"aiger", "AIGER: and-inverter graphs, ASCII and binary", ".aig .aag", true, false},
    .sniff = sniff_aiger,
    .read = read_aiger,
};
