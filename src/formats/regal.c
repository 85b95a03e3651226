/*
 * REGAL graphs: TensorFlow's CostGraphDef as protobuf text. Duration is compute_cost, memory the sum of
 * the outputs' sizes, the bytes of an edge the size of the output it reads. docs/formats/regal.md
 *
 * Written here: protobuf-c has no text parser. proto3 text leaves out every field that is 0, so a node
 * without `id` is number 0 and an input without `preceding_port` reads port 0.
 */
#include "base/memory.h"
#include "formats/scan.h"

#include <string.h>

typedef enum context { TOP, NODE, INPUT, OUTPUT, OTHER } context;

typedef struct node {
    int64_t id;
    int32_t name; /* atom, -1: none */
    double cost, memory;
    int64_t first_output, outputs;
    const char *at;
} node;

typedef struct input {
    int64_t from; /* id */
    int64_t port; /* -1: control */
    int32_t to;   /* number of the node */
    const char *at;
} input;

typedef struct reader {
    const sked_i_source *source;
    sked_error *err;
    const char *at, *end;
    sked_i_word value; /* the current scalar, decoded where it is a string */
    bool quoted;
    const char *value_at;
    sked_i_buffer text;
    sked_i_names ids, names;
    node *node, this_node;
    input *input, this_input;
    double *output, this_size;
    int64_t node_cap, inputs, input_cap, outputs, output_cap;
} reader;

/* ------------------------------------------------------------------ words */

static void skip_blanks(reader *r)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            r->at = sked_i_line_end(r->at, r->end);
        if (r->at == r->end || (*r->at != ' ' && (*r->at < '\t' || *r->at > '\r')))
            return;
    }
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+';
}

/* An identifier or number; size 0: none here. */
static sked_i_word read_bare(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && is_word_char(*r->at))
        r->at++;
    return (sked_i_word){start, (size_t)(r->at - start)};
}

static sked_status unexpected(reader *r, const char *wanted)
{
    char quoted[80];
    if (r->at == r->end)
        return sked_i_source_fail(r->source, r->at, r->err, "the file ends where %s is expected", wanted);
    return sked_i_source_fail(r->source, r->at, r->err, "'%s' where %s is expected",
                              sked_i_quote(r->at, 1, quoted, sizeof quoted), wanted);
}

/* Value of up to `most` digits of the base at r->at, which moves behind them; *count: how many. */
static uint32_t read_digits(reader *r, int base, int most, int *count)
{
    uint32_t x = 0;
    for (*count = 0; *count < most && r->at < r->end; ++*count, r->at++) {
        const char c = *r->at;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : 99;
        if (digit >= base)
            break;
        x = x * (uint32_t)base + (uint32_t)digit;
    }
    return x;
}

/* The escape behind a backslash at r->at - 1. */
static sked_status read_escape(reader *r)
{
    static const char plain[] = "abfnrtv\\'\"?", meant[] = "\a\b\f\n\r\t\v\\'\"?";
    const char *start = r->at;
    const char c = r->at < r->end ? *r->at : 0;
    const char *known = c ? strchr(plain, c) : NULL;
    int count = 0;
    bool good = false;
    if (known != NULL) {
        sked_i_buffer_char(&r->text, meant[known - plain]);
        r->at++;
        return SKED_OK;
    }
    if (c == 'u' || c == 'U') {
        r->at++;
        const uint32_t code = read_digits(r, 16, c == 'u' ? 4 : 8, &count);
        good = count == (c == 'u' ? 4 : 8) && sked_i_buffer_utf8(&r->text, code);
    } else if (c == 'x' || c == 'X' || (c >= '0' && c <= '7')) {
        const bool hex = c == 'x' || c == 'X';
        r->at += hex;
        const uint32_t byte = read_digits(r, hex ? 16 : 8, hex ? 2 : 3, &count);
        good = count > 0 && byte > 0 && byte < 256;
        if (good)
            sked_i_buffer_char(&r->text, (char)byte);
    }
    return good ? SKED_OK : sked_i_source_fail(r->source, start, r->err, "a bad escape in a string");
}

/* One or more strings in a row, which are one; r->at is at the first quote. */
static sked_status read_string(reader *r)
{
    r->text.size = 0;
    while (r->at < r->end && (*r->at == '"' || *r->at == '\'')) {
        const char *start = r->at;
        const char quote = *r->at++;
        while (r->at < r->end && *r->at != quote && *r->at != '\n') {
            const char c = *r->at++;
            if (c != '\\') {
                sked_i_buffer_char(&r->text, c);
                continue;
            }
            const sked_status st = read_escape(r);
            if (st != SKED_OK)
                return st;
        }
        if (r->at == r->end || *r->at != quote)
            return sked_i_source_fail(r->source, start, r->err, "a string that does not end on its line");
        r->at++;
        skip_blanks(r);
    }
    sked_i_buffer_add(&r->text, "", 0);
    r->value = (sked_i_word){r->text.data, (size_t)r->text.size};
    return r->text.failed ? sked_i_no_memory(r->err) : SKED_OK;
}

static sked_status read_scalar(reader *r)
{
    r->value_at = r->at;
    r->quoted = r->at < r->end && (*r->at == '"' || *r->at == '\'');
    if (r->quoted)
        return read_string(r);
    r->value = read_bare(r);
    return r->value.size > 0 ? SKED_OK : unexpected(r, "a value");
}

/* Passes over a message or list whatever it holds; r->at is at its bracket. No recursion: a stack of marks.
 */
static sked_status skip_nested(reader *r)
{
    char closing[SKED_I_MAX_DEPTH];
    int depth = 0;
    const char *start = r->at;
    do {
        skip_blanks(r);
        const char c = r->at < r->end ? *r->at : 0;
        if (c == '{' || c == '<' || c == '[') {
            if (depth == SKED_I_MAX_DEPTH)
                return sked_i_source_fail(r->source, r->at, r->err, "messages nested deeper than %d",
                                          SKED_I_MAX_DEPTH);
            closing[depth++] = c == '{' ? '}' : c == '<' ? '>' : ']';
            r->at++;
        } else if (c == '}' || c == '>' || c == ']') {
            if (c != closing[depth - 1])
                return sked_i_source_fail(r->source, r->at, r->err, "'%c' where '%c' is expected", c,
                                          closing[depth - 1]);
            depth--;
            r->at++;
        } else if (c == '"' || c == '\'') {
            const sked_status st = read_string(r);
            if (st != SKED_OK)
                return st;
        } else if (c == 0) {
            return sked_i_source_fail(r->source, start, r->err, "the file ends inside this message");
        } else {
            r->at++;
        }
    } while (depth > 0);
    return SKED_OK;
}

/* ------------------------------------------------------------------ fields */

/* Integers as protobuf writes them; hexadecimal and octal are legal but never seen. */
static sked_status take_int(reader *r, const char *what, int64_t lo, int64_t *out)
{
    char quoted[80];
    if (!r->quoted && sked_i_parse_int(r->value.text, r->value.size, lo, INT32_MAX, out))
        return SKED_OK;
    return sked_i_source_fail(r->source, r->value_at, r->err,
                              "%s must be an integer from %lld to %d, not '%s'", what, (long long)lo,
                              INT32_MAX, sked_i_word_quote(r->value, quoted, sizeof quoted));
}

static sked_status take_name(reader *r)
{
    bool fresh;
    r->this_node.name = sked_i_names_add(&r->names, r->value.text, r->value.size, &fresh);
    if (r->this_node.name < 0)
        return sked_i_no_memory(r->err);
    return SKED_OK;
}

/* TensorFlow writes -1 where it does not know a size. */
static sked_status take_size(reader *r)
{
    r->this_size = 0;
    if (sked_i_word_is(r->value, "-1"))
        return SKED_OK;
    return sked_i_word_amount(r->source, r->value_at, r->value, "size", &r->this_size, r->err);
}

static sked_status add_input(reader *r, int64_t from, int64_t port, const char *at)
{
    if (!SKED_GROW(r->input, r->input_cap, r->inputs + 1))
        return sked_i_no_memory(r->err);
    r->input[r->inputs++] = (input){from, port, r->ids.count, at};
    return SKED_OK;
}

static sked_status take_scalar(reader *r, context in, sked_i_word field)
{
    sked_status st;
    int64_t id;
    if (in == NODE && sked_i_word_is(field, "name"))
        return take_name(r);
    if (in == NODE && sked_i_word_is(field, "id"))
        return take_int(r, "id", 0, &r->this_node.id);
    if (in == NODE && sked_i_word_is(field, "compute_cost"))
        return sked_i_word_amount(r->source, r->value_at, r->value, "compute_cost", &r->this_node.cost,
                                  r->err);
    if (in == NODE && sked_i_word_is(field, "control_input")) {
        st = take_int(r, "control_input", 0, &id);
        return st == SKED_OK ? add_input(r, id, -1, r->value_at) : st;
    }
    if (in == NODE && sked_i_word_is(field, "op"))
        return sked_i_source_refuse(r->source, field.text, SKED_ERR_UNSUPPORTED, r->err,
                                    "a node with 'op' belongs to a GraphDef; a CostGraphDef is needed");
    if (in == INPUT && sked_i_word_is(field, "preceding_node"))
        return take_int(r, "preceding_node", 0, &r->this_input.from);
    if (in == INPUT && sked_i_word_is(field, "preceding_port"))
        return take_int(r, "preceding_port", -1, &r->this_input.port);
    return in == OUTPUT && sked_i_word_is(field, "size") ? take_size(r) : SKED_OK;
}

/* What kind of message a field holds. */
static context message_of(context in, sked_i_word field)
{
    if (in == TOP && sked_i_word_is(field, "node"))
        return NODE;
    if (in == NODE && sked_i_word_is(field, "input_info"))
        return INPUT;
    return in == NODE && sked_i_word_is(field, "output_info") ? OUTPUT : OTHER;
}

static sked_status end_node(reader *r)
{
    bool fresh;
    node *n = &r->this_node;
    if (!SKED_GROW(r->node, r->node_cap, (int64_t)r->ids.count + 1))
        return sked_i_no_memory(r->err);
    const int32_t i = sked_i_id_add(&r->ids, n->id, &fresh);
    if (i < 0)
        return sked_i_no_memory(r->err);
    if (!fresh)
        return sked_i_source_fail(r->source, n->at, r->err, "two nodes have the id %lld (a missing id is 0)",
                                  (long long)n->id);
    n->outputs = r->outputs - n->first_output;
    r->node[i] = *n;
    return SKED_OK;
}

static sked_status end_message(reader *r, context as)
{
    if (as == NODE)
        return end_node(r);
    if (as == INPUT)
        return add_input(r, r->this_input.from, r->this_input.port, r->this_input.at);
    if (!SKED_GROW(r->output, r->output_cap, r->outputs + 1))
        return sked_i_no_memory(r->err);
    r->output[r->outputs++] = r->this_size;
    r->this_node.memory += r->this_size;
    return SKED_OK;
}

static sked_status read_fields(reader *r, context in, char close);

/* A message in braces; known ones nest three deep at most, so the recursion is bounded. */
static sked_status read_message(reader *r, context as)
{
    if (as == OTHER)
        return skip_nested(r);
    const char close = *r->at == '{' ? '}' : '>';
    if (as == NODE)
        r->this_node = (node){.name = -1, .first_output = r->outputs, .at = r->at};
    else if (as == INPUT)
        r->this_input = (input){.at = r->at};
    else
        r->this_size = 0;
    r->at++;
    const sked_status st = read_fields(r, as, close);
    return st == SKED_OK ? end_message(r, as) : st;
}

static sked_status read_value(reader *r, context in, sked_i_word field)
{
    const context as = message_of(in, field);
    if (r->at < r->end && (*r->at == '{' || *r->at == '<'))
        return read_message(r, as);
    if (as != OTHER)
        return unexpected(r, "'{'");
    const sked_status st = read_scalar(r);
    return st == SKED_OK ? take_scalar(r, in, field) : st;
}

/* [a, b, c]: the short form of a repeated field. */
static sked_status read_list(reader *r, context in, sked_i_word field)
{
    sked_status st = SKED_OK;
    r->at++;
    skip_blanks(r);
    while (r->at == r->end || *r->at != ']') {
        SKED_TRY(read_value(r, in, field));
        skip_blanks(r);
        if (r->at < r->end && *r->at == ',') {
            r->at++;
            skip_blanks(r);
        } else if (r->at == r->end || *r->at != ']') {
            return unexpected(r, "',' or ']'");
        }
    }
    r->at++;
cleanup:
    return st;
}

static sked_status read_field(reader *r, context in)
{
    sked_i_word field = {"", 0};
    if (*r->at == '[') { /* an extension: none of ours */
        const sked_status st = skip_nested(r);
        if (st != SKED_OK)
            return st;
    } else {
        field = read_bare(r);
        if (field.size == 0)
            return unexpected(r, "a field name");
    }
    skip_blanks(r);
    const bool colon = r->at < r->end && *r->at == ':';
    if (colon) {
        r->at++;
        skip_blanks(r);
    }
    if (colon && r->at < r->end && *r->at == '[')
        return read_list(r, in, field);
    if (!colon && (r->at == r->end || (*r->at != '{' && *r->at != '<')))
        return unexpected(r, "':' or '{'");
    return read_value(r, in, field);
}

/* Fields up to the closing mark, or (0) the end of the file. */
static sked_status read_fields(reader *r, context in, char close)
{
    const char *start = r->at;
    for (skip_blanks(r); r->at < r->end && (close == 0 || *r->at != close); skip_blanks(r)) {
        const sked_status st = read_field(r, in);
        if (st != SKED_OK)
            return st;
        skip_blanks(r);
        if (r->at < r->end && (*r->at == ',' || *r->at == ';'))
            r->at++;
    }
    if (close == 0)
        return SKED_OK;
    if (r->at == r->end)
        return sked_i_source_fail(r->source, r->at, r->err,
                                  "the file ends inside the message opened in line %lld",
                                  (long long)sked_i_source_line(r->source, start));
    r->at++;
    return SKED_OK;
}

/* ------------------------------------------------------------------ the graph */

static sked_status build_op(reader *r, sked_builder *b, int32_t i)
{
    sked_status st;
    sked_error *err = r->err;
    const node *n = &r->node[i];
    const char *name = n->name >= 0 ? sked_i_names_at(&r->names, n->name) : sked_i_names_at(&r->ids, i);
    SKED_BUILD(r->source, n->at, sked_builder_add_op(b, name, NULL, n->cost, NULL, &cause));
    SKED_BUILD(r->source, n->at, sked_builder_set_memory(b, i, n->memory, &cause));
cleanup:
    return st;
}

static sked_status build_edge(reader *r, sked_builder *b, const input *in)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    sked_edge edge = {.from = sked_i_id_find(&r->ids, in->from), .to = in->to, .lag = NAN};
    if (edge.from < 0)
        return sked_i_source_fail(r->source, in->at, err, "node %lld is unknown", (long long)in->from);
    const node *from = &r->node[edge.from];
    if (in->port >= from->outputs && from->outputs > 0)
        return sked_i_source_fail(r->source, in->at, err,
                                  "node %lld has %lld outputs, so port %lld is unknown", (long long)in->from,
                                  (long long)from->outputs, (long long)in->port);
    if (in->port >= 0 && from->outputs > 0)
        edge.bytes = r->output[from->first_output + in->port];
    SKED_BUILD(r->source, in->at, sked_builder_add_edge(b, &edge, &cause));
cleanup:
    return st;
}

static sked_status build(reader *r, sked_graph **out)
{
    sked_status st;
    sked_error *err = r->err;
    sked_builder *b = NULL;
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_name_after_file(r->source, b, err));
    for (int32_t i = 0; i < r->ids.count; i++)
        SKED_TRY(build_op(r, b, i));
    for (int64_t k = 0; k < r->inputs; k++)
        SKED_TRY(build_edge(r, b, &r->input[k]));
    SKED_BUILD(r->source, NULL, sked_builder_finish(b, out, &cause));
cleanup:
    sked_builder_destroy(b);
    return st;
}

static sked_status read_regal(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    const sked_i_scan text = sked_i_scan_source(source);
    reader r = {.source = source, .err = err, .at = text.at, .end = text.end};
    sked_status st = sked_i_text_check(source, "a CostGraphDef in text form", err);
    if (st == SKED_OK)
        st = read_fields(&r, TOP, 0);
    if (st == SKED_OK && r.ids.count == 0)
        st = sked_i_source_fail(source, source->text, err, "no 'node { ... }' in the file");
    if (st == SKED_OK)
        st = build(&r, out);
    sked_i_buffer_free(&r.text);
    sked_i_names_free(&r.ids);
    sked_i_names_free(&r.names);
    free(r.node);
    free(r.input);
    free(r.output);
    return st;
}

/* "node {", with or without ':' and with either bracket. */
static bool sniff_regal(const char *text, size_t size)
{
    const sked_i_scan start = sked_i_scan_text(text, size);
    reader r = {.at = start.at, .end = start.end};
    skip_blanks(&r);
    if (!sked_i_word_is(read_bare(&r), "node"))
        return false;
    skip_blanks(&r);
    if (r.at < r.end && *r.at == ':')
        r.at++;
    skip_blanks(&r);
    return r.at < r.end && (*r.at == '{' || *r.at == '<');
}

const sked_i_format sked_i_format_regal = {
    .info = {"regal", "REGAL: TensorFlow CostGraphDef as protobuf text", ".pbtxt", true, false},
    .sniff = sniff_regal,
    .read = read_regal,
};
