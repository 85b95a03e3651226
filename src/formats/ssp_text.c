/* Text of CIRCT's static scheduling problems (MLIR dialect SSP): docs/formats/ssp.md. */
#include "formats/ssp_text.h"

#include "formats/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct property {
    const char *name;
    int slot;
    bool whole;
} properties[] = {
    {"II", SKED_I_SSP_II, true},
    {"latency", SKED_I_SSP_LATENCY, true},
    {"limit", SKED_I_SSP_LIMIT, true},
    {"incDelay", SKED_I_SSP_INC_DELAY, false},
    {"outDelay", SKED_I_SSP_OUT_DELAY, false},
    {"dist", SKED_I_SSP_DISTANCE, true},
    {"t", SKED_I_SSP_TIME, true},
    {"z", SKED_I_SSP_PHASE, false},
    {"zIn", SKED_I_SSP_INC_DELAY, false}, /* as they were called before */
    {"zOut", SKED_I_SSP_OUT_DELAY, false},
};
enum { n_properties = sizeof properties / sizeof *properties };

/* Names of modules and libraries around a type, as bytes of its path. */
enum { longest_path = 1024 };
/* Before the number that stands for an instance in a path. */
static const char instance_mark = '\x1e';

#define FAIL(r, where, ...) \
    end_with(r, sked_i_source_refuse((r)->source, (where), SKED_ERR_FORMAT, (r)->err, __VA_ARGS__))

/* First failure: nothing is left to be read. */
static void end_with(sked_i_ssp_text *r, sked_status status)
{
    if (r->status == SKED_OK)
        r->status = status;
    r->at = r->end;
}

static void end_without_memory(sked_i_ssp_text *r)
{
    end_with(r, sked_i_no_memory(r->err));
}

/* ------------------------------------------------------------------ tokens */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.';
}

static bool is_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

/* Skips blanks and comments; 0: the end. */
static char next(sked_i_ssp_text *r)
{
    while (r->at < r->end) {
        if (*r->at == '/' && r->end - r->at > 1 && r->at[1] == '/')
            r->at = sked_i_line_end(r->at, r->end);
        else if ((unsigned char)*r->at <= ' ')
            r->at++;
        else
            return *r->at;
    }
    return 0;
}

/* Length of the word at hand. */
static size_t word_size(sked_i_ssp_text *r)
{
    size_t n = 0;
    next(r);
    while (r->at + n < r->end && is_word(r->at[n]))
        n++;
    return n;
}

static sked_i_word take_word(sked_i_ssp_text *r)
{
    const size_t n = word_size(r);
    const sked_i_word w = {r->at, n};
    r->at += n;
    return w;
}

static bool take(sked_i_ssp_text *r, char c)
{
    const bool found = next(r) == c;
    r->at += found;
    return found;
}

/* What stands here, for messages. */
static sked_i_quoted here(sked_i_ssp_text *r)
{
    const size_t n = next(r) != 0 && word_size(r) == 0 ? 1 : word_size(r);
    return n > 0 ? sked_i_quoted_bytes(r->at, n) : sked_i_quoted_text("end of file");
}

static void expect(sked_i_ssp_text *r, const char *what)
{
    const sked_i_quoted found = here(r);
    FAIL(r, r->at, "%s is expected, not '%s'", what, found.text);
}

static void need(sked_i_ssp_text *r, char c)
{
    char what[] = {'\'', c, '\'', 0};
    if (!take(r, c))
        expect(r, what);
}

/* A keyword, with or without the dialect's name before it. */
static bool take_keyword(sked_i_ssp_text *r, const char *keyword)
{
    const size_t size = word_size(r);
    const sked_i_word whole = {r->at, size};
    const size_t prefix = whole.size > 4 && memcmp(whole.text, "ssp.", 4) == 0 ? 4 : 0;
    const sked_i_word w = {whole.text + prefix, whole.size - prefix};
    if (!sked_i_word_is(w, keyword))
        return false;
    r->at += whole.size;
    return true;
}

static int32_t add_name(sked_i_ssp_text *r, const char *text, size_t size)
{
    bool fresh;
    const bool there = text != NULL; /* else a buffer had no memory */
    const int32_t i = r->status == SKED_OK && there ? sked_i_names_add(&r->names, text, size, &fresh) : -1;
    if (i < 0 && r->status == SKED_OK)
        end_without_memory(r);
    return i;
}

/* The byte that an escape of a string stands for. */
static char read_escape(sked_i_ssp_text *r)
{
    static const char plain[] = "\"\\nt", bytes[] = "\"\\\n\t";
    const char *at = r->at - 1;
    const char c = r->at < r->end ? *r->at++ : 0;
    const char *found = c ? strchr(plain, c) : NULL;
    if (found != NULL)
        return bytes[found - plain];
    const int high = sked_i_hex_digit(c), low = r->at < r->end ? sked_i_hex_digit(*r->at++) : -1;
    if (high < 0 || low < 0 || high + low == 0)
        FAIL(r, at, "a string has a broken escape");
    return (char)(high * 16 + low);
}

/* A string, appended to r->text. */
static void read_string(sked_i_ssp_text *r)
{
    const char *at = (next(r), r->at);
    need(r, '"');
    while (r->at < r->end && *r->at != '"' && *r->at != '\n') {
        const char c = *r->at++;
        sked_i_buffer_char(&r->text, c == '\\' ? read_escape(r) : c);
    }
    if (r->status == SKED_OK && (r->at == r->end || *r->at != '"'))
        FAIL(r, at, "a string does not end on its line");
    else if (r->status == SKED_OK)
        r->at++;
}

/* A symbol, appended to r->text without its @. */
static void read_symbol(sked_i_ssp_text *r)
{
    if (next(r) != '@' || r->end - r->at < 2 || !(is_letter(r->at[1]) || r->at[1] == '"')) {
        expect(r, "a symbol, @name,");
        return;
    }
    r->at++;
    if (*r->at == '"') {
        read_string(r);
        return;
    }
    const sked_i_word w = take_word(r);
    sked_i_buffer_add(&r->text, w.text, w.size);
}

/* The text gathered, as a name. */
static int32_t name_text(sked_i_ssp_text *r)
{
    if (r->text.failed)
        end_without_memory(r);
    return add_name(r, r->text.data, (size_t)r->text.size);
}

static int32_t take_symbol(sked_i_ssp_text *r, const char *before)
{
    r->text.size = 0;
    sked_i_buffer_text(&r->text, before);
    read_symbol(r);
    return name_text(r);
}

static int32_t take_string(sked_i_ssp_text *r)
{
    r->text.size = 0;
    sked_i_buffer_text(&r->text, "");
    read_string(r);
    return name_text(r);
}

/* @Lib::@Opr */
static sked_i_ssp_reference read_reference(sked_i_ssp_text *r)
{
    sked_i_ssp_reference ref = {(next(r), r->at), -1};
    r->text.size = 0;
    sked_i_buffer_text(&r->text, "");
    read_symbol(r);
    while (next(r) == ':' && r->end - r->at > 2 && r->at[1] == ':') {
        r->at += 2;
        sked_i_buffer_char(&r->text, SKED_I_SSP_PATH_MARK);
        read_symbol(r);
    }
    ref.path = name_text(r);
    return ref;
}

/* Everything from one bracket to the one that ends it. */
static void skip_brackets(sked_i_ssp_text *r)
{
    const char *at = r->at;
    int64_t depth = 0;
    do {
        const char c = next(r);
        if (c == '"') {
            r->text.size = 0;
            read_string(r);
            continue;
        }
        r->at += c != 0;
        depth += c == '{' || c == '(' || c == '[' || c == '<';
        depth -= c == '}' || c == ')' || c == ']' || (c == '>' && r->at[-2] != '-');
    } while (depth > 0 && r->at < r->end);
    if (depth > 0 && r->status == SKED_OK)
        FAIL(r, at, "a bracket is not closed");
}

/* Attributes and places in other files say nothing about the problem. */
static void skip_trailer(sked_i_ssp_text *r)
{
    take_keyword(r, "attributes");
    if (next(r) == '{')
        skip_brackets(r);
    if (take_keyword(r, "loc") && next(r) == '(')
        skip_brackets(r);
}

/* ------------------------------------------------------------------ properties */

static const struct property *find_property(sked_i_ssp_text *r, sked_i_word w)
{
    const char *names[n_properties];
    char hint[120];
    for (int i = 0; i < n_properties; i++) {
        names[i] = properties[i].name;
        if (sked_i_word_is(w, names[i]))
            return &properties[i];
    }
    const sked_i_quoted found = sked_i_word_quoted(w);
    if (w.size == 0)
        expect(r, "a property");
    else
        FAIL(r, w.text, "no property is called '%s'%s", found.text,
             sked_suggest(found.text, names, n_properties, hint, sizeof hint));
    return NULL;
}

/* 2 or 2.34 or 2.34 : f32 */
static void read_value(sked_i_ssp_text *r, sked_i_word w, double *value)
{
    const struct property *p = find_property(r, w);
    need(r, '<');
    next(r);
    sked_i_word number = {r->at, 0};
    while (r->at < r->end && (is_word(*r->at) || *r->at == '-' || *r->at == '+'))
        r->at++;
    number.size = (size_t)(r->at - number.text);
    if (take(r, ':'))
        take_word(r);
    if (r->status != SKED_OK)
        return;
    double x = -1;
    const bool reads = sked_i_parse_double(number.text, number.size, &x) && x >= 0;
    if (!reads || (p->whole && (x != floor(x) || x > INT32_MAX)))
        FAIL(r, number.text, "%s must be %s, not '%s'", p->name,
             p->whole ? "a whole number, 0 to 2147483647" : "a finite number, 0 or more",
             sked_i_word_quoted(number).text);
    else if (!isnan(value[p->slot]))
        FAIL(r, w.text, "the property %s comes twice", p->name);
    else
        value[p->slot] = x;
}

static void add_use(sked_i_ssp_text *r)
{
    const sked_i_ssp_reference ref = read_reference(r);
    if (!SKED_OWN_GROW(&r->arena, r->use, r->use_cap, r->uses + 1))
        end_without_memory(r);
    else
        r->use[r->uses++] = ref;
}

/* [@a, @b] */
static void read_uses(sked_i_ssp_text *r)
{
    need(r, '[');
    if (take(r, ']'))
        return;
    do
        add_use(r);
    while (take(r, ','));
    need(r, ']');
}

static void read_property(sked_i_ssp_text *r, double *value, sked_i_ssp_op *op)
{
    if (next(r) == '#') { /* of another dialect */
        r->at++;
        take_word(r);
        if (next(r) == '<')
            skip_brackets(r);
        return;
    }
    const sked_i_word w = take_word(r);
    const bool type = op != NULL && sked_i_word_is(w, "opr");
    if (type || (op != NULL && sked_i_word_is(w, "rsrcs"))) {
        need(r, '<');
        if (type)
            op->type = read_reference(r);
        else
            read_uses(r);
    } else
        read_value(r, w, value);
    need(r, '>');
}

/* [latency<2>, limit<1>], or nothing. op: whose they are, NULL otherwise. */
static void read_properties(sked_i_ssp_text *r, double *value, sked_i_ssp_op *op)
{
    for (int i = 0; i < SKED_I_SSP_VALUES; i++)
        value[i] = NAN;
    if (!take(r, '[') || take(r, ']'))
        return;
    do
        read_property(r, value, op);
    while (take(r, ','));
    need(r, ']');
}

/* ------------------------------------------------------------------ libraries and operations */

/* The scope at hand and a name in it, as a path. Short ones alone, since each is looked up as a whole. */
static int32_t name_path(sked_i_ssp_text *r, const char *leaf)
{
    const int64_t size = r->scope.size;
    sked_i_buffer_char(&r->scope, SKED_I_SSP_PATH_MARK);
    sked_i_buffer_text(&r->scope, leaf);
    if (r->scope.failed)
        end_without_memory(r);
    else if (r->scope.size > longest_path && r->status == SKED_OK)
        FAIL(r, r->at, "the names of modules and libraries around '%s' are longer than %d bytes",
             sked_i_quoted_text(leaf).text, (int)longest_path);
    const int32_t path = add_name(r, r->scope.data, (size_t)r->scope.size);
    r->scope.size = size;
    return path;
}

static void enter(sked_i_ssp_text *r, int32_t path)
{
    if (r->status != SKED_OK)
        return;
    const char *text = sked_i_names_at(&r->names, path);
    const size_t size = strlen(text);
    r->scope.size = 0;
    sked_i_buffer_add(&r->scope, text, size);
}

static void read_kind(sked_i_ssp_text *r, sked_i_ssp_kinds *k, const char *what, int32_t library)
{
    bool fresh = true;
    sked_i_ssp_kind x = {.at = (next(r), r->at), .library = library};
    x.leaf = take_symbol(r, "");
    read_properties(r, x.value, NULL);
    skip_trailer(r);
    const int32_t path = r->status == SKED_OK ? name_path(r, sked_i_names_at(&r->names, x.leaf)) : -1;
    if (path < 0)
        return;
    const char *text = sked_i_names_at(&r->names, path);
    if (!SKED_OWN_GROW(&r->arena, k->kind, k->cap, (int64_t)k->paths.count + 1) ||
        sked_i_names_add(&k->paths, text, strlen(text), &fresh) < 0)
        end_without_memory(r);
    else if (!fresh)
        FAIL(r, x.at, "the %s '%s' is declared twice", what,
             sked_i_quoted_text(sked_i_names_at(&r->names, x.leaf)).text);
    else
        k->kind[k->paths.count - 1] = x;
}

/* library or resource: returns its path. */
static int32_t read_library(sked_i_ssp_text *r, sked_i_ssp_kinds *k, const char *keyword)
{
    const int32_t outside = add_name(r, r->scope.data, (size_t)r->scope.size);
    const int32_t name = next(r) == '@' ? take_symbol(r, "") : add_name(r, "", 0);
    const int32_t path = r->status == SKED_OK ? name_path(r, sked_i_names_at(&r->names, name)) : -1;
    char what[40];
    snprintf(what, sizeof what, "'%s' or '}'", keyword);
    enter(r, path);
    need(r, '{');
    while (take_keyword(r, keyword))
        read_kind(r, k, k == &r->operators ? "operator type" : "resource type", path);
    if (!take(r, '}'))
        expect(r, what);
    skip_trailer(r);
    enter(r, outside);
    return path;
}

/* %0 or %0:3 or %0#1; the number of results does not matter. */
static int32_t take_result(sked_i_ssp_text *r, char before_number)
{
    if (next(r) == '%') {
        const char *at = r->at++;
        const size_t n = 1 + take_word(r).size;
        if (n > 1 && take(r, before_number))
            take_word(r);
        if (n > 1)
            return add_name(r, at, n);
    }
    expect(r, "a value, %name,");
    return -1;
}

static void read_results(sked_i_ssp_text *r, sked_i_ssp_op *op)
{
    do {
        sked_i_ssp_result x = {.at = (next(r), r->at), .op = (int32_t)r->ops};
        x.name = take_result(r, ':');
        if (!SKED_OWN_GROW(&r->arena, r->result, r->result_cap, r->results + 1))
            end_without_memory(r);
        else
            r->result[r->results++] = x;
        if (op->name < 0)
            op->name = x.name;
    } while (take(r, ','));
    need(r, '=');
}

/* Symbols come behind values, as CIRCT wants it. */
static void read_dependence(sked_i_ssp_text *r, bool *symbols)
{
    double value[SKED_I_SSP_VALUES];
    sked_i_ssp_dependence d = {.at = (next(r), r->at)};
    const bool symbol = next(r) == '@';
    if (*symbols && !symbol && next(r) == '%')
        FAIL(r, d.at, "a value follows a symbol: auxiliary dependences come behind all values");
    *symbols = symbol;
    d.source = symbol ? take_symbol(r, "@") : take_result(r, '#');
    read_properties(r, value, NULL);
    d.distance = isnan(value[SKED_I_SSP_DISTANCE]) ? 0 : value[SKED_I_SSP_DISTANCE];
    if (!SKED_OWN_GROW(&r->arena, r->dep, r->dep_cap, r->deps + 1))
        end_without_memory(r);
    else
        r->dep[r->deps++] = d;
}

static void read_dependences(sked_i_ssp_text *r)
{
    bool symbols = false;
    need(r, '(');
    if (take(r, ')'))
        return;
    do
        read_dependence(r, &symbols);
    while (take(r, ','));
    need(r, ')');
}

/* %0 = operation<@type> @name(%1, @op [dist<1>]) uses[@pool] [t<0>] */
static void read_operation(sked_i_ssp_text *r)
{
    sked_i_ssp_op op = {
        .at = (next(r), r->at), .type = {NULL, -1}, .name = -1, .use = r->uses, .dep = r->deps};
    if (next(r) == '%')
        read_results(r, &op);
    if (!take_keyword(r, "operation"))
        expect(r, "'operation' or '}'");
    need(r, '<');
    if (next(r) == '@')
        op.type = read_reference(r);
    need(r, '>');
    if (take_keyword(r, "uses"))
        read_uses(r);
    if (next(r) == '@')
        op.name = take_symbol(r, "@");
    if (take_keyword(r, "uses"))
        read_uses(r);
    read_dependences(r);
    if (take_keyword(r, "uses"))
        read_uses(r);
    read_properties(r, op.value, &op);
    skip_trailer(r);
    if (r->status == SKED_OK &&
        (r->ops == INT32_MAX || !SKED_OWN_GROW(&r->arena, r->op, r->op_cap, r->ops + 2)))
        end_without_memory(r);
    if (r->status == SKED_OK)
        r->op[r->ops++] = op;
}

static void read_graph(sked_i_ssp_text *r)
{
    need(r, '{');
    while (next(r) != '}' && next(r) != 0)
        read_operation(r);
    need(r, '}');
    skip_trailer(r);
}

/* ------------------------------------------------------------------ instances and modules */

static void read_body(sked_i_ssp_text *r, sked_i_ssp_instance *in)
{
    bool graph = false;
    need(r, '{');
    while (r->status == SKED_OK && next(r) != '}') {
        const char *at = r->at;
        int32_t *library = NULL;
        if (take_keyword(r, "library"))
            library = &in->library;
        else if (take_keyword(r, "resource"))
            library = &in->resources;
        else if (!take_keyword(r, "graph"))
            expect(r, "'library', 'resource', 'graph' or '}'");
        if (library == NULL ? graph : *library >= 0)
            FAIL(r, at, "an instance has one library, one resource library and one graph");
        else if (library == NULL)
            graph = true, read_graph(r);
        else
            *library = library == &in->library ? read_library(r, &r->operators, "operator_type")
                                               : read_library(r, &r->resources, "resource_type");
    }
    need(r, '}');
    if (r->status == SKED_OK && (!graph || in->library < 0))
        FAIL(r, in->at, "an instance needs a library and a graph");
}

static void read_instance(sked_i_ssp_text *r, const char *at)
{
    char number[24];
    sked_i_ssp_instance in = {
        .at = at, .name = -1, .library = -1, .resources = -1, .op = r->ops, .result = r->results};
    in.scope = add_name(r, r->scope.data, (size_t)r->scope.size);
    if (next(r) == '@')
        in.name = take_symbol(r, "");
    else if (next(r) == '"')
        in.name = take_string(r);
    if (!take_keyword(r, "of"))
        expect(r, "'of'");
    in.class_name = take_string(r);
    read_properties(r, in.value, NULL);
    snprintf(number, sizeof number, "%c%lld", instance_mark, (long long)r->instances);
    in.path = name_path(r, number);
    enter(r, in.path);
    read_body(r, &in);
    skip_trailer(r);
    enter(r, in.scope);
    if (r->status == SKED_OK && !SKED_OWN_GROW(&r->arena, r->instance, r->instance_cap, r->instances + 2))
        end_without_memory(r);
    if (r->status == SKED_OK)
        r->instance[r->instances++] = in;
}

static void read_items(sked_i_ssp_text *r, int depth);

static void read_module(sked_i_ssp_text *r, int depth)
{
    const int32_t outside = add_name(r, r->scope.data, (size_t)r->scope.size);
    const int32_t name = next(r) == '@' ? take_symbol(r, "") : -1;
    if (depth == SKED_I_MAX_DEPTH)
        FAIL(r, r->at, "modules nested deeper than %d", (int)SKED_I_MAX_DEPTH);
    if (take_keyword(r, "attributes") && next(r) == '{')
        skip_brackets(r);
    if (name >= 0 && r->status == SKED_OK)
        enter(r, name_path(r, sked_i_names_at(&r->names, name)));
    need(r, '{');
    if (r->status == SKED_OK)
        read_items(r, depth + 1);
    need(r, '}');
    skip_trailer(r);
    enter(r, outside);
}

static void read_items(sked_i_ssp_text *r, int depth)
{
    for (char c; (c = next(r)) != 0 && c != '}';) {
        const char *at = r->at;
        if (c == '#') /* an alias of an attribute */
            r->at = sked_i_line_end(r->at, r->end);
        else if (take_keyword(r, "module") || take_keyword(r, "builtin.module"))
            read_module(r, depth);
        else if (take_keyword(r, "instance"))
            read_instance(r, at);
        else if (take_keyword(r, "library"))
            read_library(r, &r->operators, "operator_type");
        else if (take_keyword(r, "resource"))
            read_library(r, &r->resources, "resource_type");
        else
            expect(r, "'module', 'ssp.library', 'ssp.resource' or 'ssp.instance'");
    }
}

sked_status sked_i_ssp_text_read(sked_i_ssp_text *r, const sked_i_source *source, sked_error *err)
{
    const sked_i_scan text = sked_i_scan_source(source);
    *r = (sked_i_ssp_text){.source = source, .err = err, .at = text.at, .end = text.end};
    const sked_status st = sked_i_text_check(source, "an SSP file", err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_text(&r->scope, "");
    read_items(r, 0);
    if (r->status == SKED_OK && r->at < r->end)
        expect(r, "an instance or the end of the file");
    if (r->status == SKED_OK && r->instances == 0)
        FAIL(r, r->end, "the file has no ssp.instance");
    if (r->status == SKED_OK) { /* where the last ones end */
        r->instance[r->instances] = (sked_i_ssp_instance){.op = r->ops, .result = r->results};
        if (r->ops > 0)
            r->op[r->ops] = (sked_i_ssp_op){.use = r->uses, .dep = r->deps};
    }
    return r->status;
}

void sked_i_ssp_text_free(sked_i_ssp_text *r)
{
    sked_i_buffer_free(&r->text);
    sked_i_buffer_free(&r->scope);
    sked_i_names_free(&r->names);
    sked_i_names_free(&r->operators.paths);
    sked_i_names_free(&r->resources.paths);
    sked_i_arena_free(&r->arena);
}

bool sked_i_ssp_text_sniff(const char *text, size_t size)
{
    const sked_i_scan s = sked_i_scan_text(text, size);
    sked_i_ssp_text r = {.at = s.at, .end = s.end};
    const sked_i_word w = take_word(&r);
    return sked_i_word_is(w, "module") || sked_i_word_is(w, "ssp.instance") ||
           sked_i_word_is(w, "ssp.library") || sked_i_word_is(w, "ssp.resource");
}
