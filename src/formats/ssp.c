/*
 * Instances of CIRCT's static scheduling problems. A file is read whole, since operator and resource types
 * may stand behind their users; then one instance becomes a graph. docs/formats/ssp.md
 */
#include "formats/ssp.h"

#include "formats/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { II, LATENCY, LIMIT, INC_DELAY, OUT_DELAY, DISTANCE, TIME, PHASE, N_VALUES };

static const struct property {
    const char *name;
    int slot;
    bool whole;
} properties[] = {
    {"II", II, true},
    {"latency", LATENCY, true},
    {"limit", LIMIT, true},
    {"incDelay", INC_DELAY, false},
    {"outDelay", OUT_DELAY, false},
    {"dist", DISTANCE, true},
    {"t", TIME, true},
    {"z", PHASE, false},
    {"zIn", INC_DELAY, false}, /* as they were called before */
    {"zOut", OUT_DELAY, false},
};
enum { n_properties = sizeof properties / sizeof *properties };

/* Properties that a class does not know say nothing in it. */
static const struct problem_class {
    const char *name;
    bool cyclic, shared, chaining;
} classes[] = {
    {"Problem", false, false, false},
    {"CyclicProblem", true, false, false},
    {"SharedOperatorsProblem", false, true, false},
    {"SharedResourcesProblem", false, true, false},
    {"SharedPipelinedOperatorsProblem", false, true, false},
    {"ModuloProblem", true, true, false},
    {"ChainingProblem", false, false, true},
    {"ChainingCyclicProblem", true, false, true},
    {"ChainingSharedOperatorsProblem", false, true, true},
    {"ChainingSharedResourcesProblem", false, true, true},
    {"ChainingModuloProblem", true, true, true},
};
enum { n_classes = sizeof classes / sizeof *classes };

/* Between the names of a path, Lib::Opr; the mark of a number that stands for an instance. */
static const char path_mark = '\x1f', instance_mark = '\x1e';
enum { longest_path = 1024 };

/* An operator type or a resource type. Its number in its table of paths is its number here. */
typedef struct kind {
    const char *at;
    int32_t leaf, library; /* own name; path of the library */
    double value[N_VALUES];
} kind;

typedef struct kinds {
    sked_i_names paths;
    kind *kind; /* [paths.count] */
    int64_t cap;
} kinds;

/* To a type, by path. */
typedef struct reference {
    const char *at;
    int32_t path;
} reference;

typedef struct dependence {
    const char *at;
    int32_t source; /* "%0" or "@op" */
    double distance;
} dependence;

typedef struct result {
    const char *at;
    int32_t name, op;
} result;

typedef struct operation {
    const char *at;
    reference type;   /* path -1: none */
    int32_t name;     /* symbol, else first result; -1: none */
    int64_t use, dep; /* the first one; they end where those of the next begin */
    double value[N_VALUES];
} operation;

typedef struct instance {
    const char *at;
    int32_t name, path, scope; /* name -1: none; scope: path of what it stands in */
    int32_t class_name, library, resources;
    int64_t op, result; /* the first one; they end where those of the next begin */
    double value[N_VALUES];
} instance;

typedef struct reader {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_error *err;
    sked_status status; /* the first failure; `at` is then at the end */
    const char *at, *end;
    sked_i_names names; /* symbols, results, paths */
    sked_i_buffer text, scope;
    kinds operators, resources;
    instance *instance; /* each array has one more behind its last: where that ends */
    operation *op;
    reference *use;
    dependence *dep;
    result *result;
    int64_t instances, ops, uses, deps, results;
    int64_t instance_cap, op_cap, use_cap, dep_cap, result_cap;
} reader;

#define FAIL(r, where, ...) \
    end_with(r, sked_i_source_refuse((r)->source, (where), SKED_ERR_FORMAT, (r)->err, __VA_ARGS__))

/* First failure: nothing is left to be read. */
static void end_with(reader *r, sked_status status)
{
    if (r->status == SKED_OK)
        r->status = status;
    r->at = r->end;
}

static void end_without_memory(reader *r)
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
static char next(reader *r)
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
static size_t word_size(reader *r)
{
    size_t n = 0;
    next(r);
    while (r->at + n < r->end && is_word(r->at[n]))
        n++;
    return n;
}

static sked_i_word take_word(reader *r)
{
    const size_t n = word_size(r);
    const sked_i_word w = {r->at, n};
    r->at += n;
    return w;
}

static bool take(reader *r, char c)
{
    const bool found = next(r) == c;
    r->at += found;
    return found;
}

/* What stands here, for messages. */
static sked_i_quoted here(reader *r)
{
    const size_t n = next(r) != 0 && word_size(r) == 0 ? 1 : word_size(r);
    return n > 0 ? sked_i_quoted_bytes(r->at, n) : sked_i_quoted_text("end of file");
}

static void expect(reader *r, const char *what)
{
    const sked_i_quoted found = here(r);
    FAIL(r, r->at, "%s is expected, not '%s'", what, found.text);
}

static void need(reader *r, char c)
{
    char what[] = {'\'', c, '\'', 0};
    if (!take(r, c))
        expect(r, what);
}

/* A keyword, with or without the dialect's name before it. */
static bool take_keyword(reader *r, const char *keyword)
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

static int32_t add_name(reader *r, const char *text, size_t size)
{
    bool fresh;
    const int32_t i = r->status == SKED_OK ? sked_i_names_add(&r->names, text, size, &fresh) : -1;
    if (i < 0 && r->status == SKED_OK)
        end_without_memory(r);
    return i;
}

/* The byte that an escape of a string stands for. */
static char read_escape(reader *r)
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
    return (char)(high << 4 | low);
}

/* A string, appended to r->text. */
static void read_string(reader *r)
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
static void read_symbol(reader *r)
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
static int32_t name_text(reader *r)
{
    if (r->text.failed)
        end_without_memory(r);
    return add_name(r, r->text.data, (size_t)r->text.size);
}

static int32_t take_symbol(reader *r, const char *before)
{
    r->text.size = 0;
    sked_i_buffer_text(&r->text, before);
    read_symbol(r);
    return name_text(r);
}

static int32_t take_string(reader *r)
{
    r->text.size = 0;
    sked_i_buffer_text(&r->text, "");
    read_string(r);
    return name_text(r);
}

/* @Lib::@Opr */
static reference read_reference(reader *r)
{
    reference ref = {(next(r), r->at), -1};
    r->text.size = 0;
    sked_i_buffer_text(&r->text, "");
    read_symbol(r);
    while (next(r) == ':' && r->end - r->at > 2 && r->at[1] == ':') {
        r->at += 2;
        sked_i_buffer_char(&r->text, path_mark);
        read_symbol(r);
    }
    ref.path = name_text(r);
    return ref;
}

/* Everything from one bracket to the one that ends it. */
static void skip_brackets(reader *r)
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
static void skip_trailer(reader *r)
{
    take_keyword(r, "attributes");
    if (next(r) == '{')
        skip_brackets(r);
    if (take_keyword(r, "loc") && next(r) == '(')
        skip_brackets(r);
}

/* ------------------------------------------------------------------ properties */

static const struct property *find_property(reader *r, sked_i_word w)
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
static void read_value(reader *r, sked_i_word w, double *value)
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

static void add_use(reader *r)
{
    const reference ref = read_reference(r);
    if (!SKED_OWN_GROW(&r->arena, r->use, r->use_cap, r->uses + 1))
        end_without_memory(r);
    else
        r->use[r->uses++] = ref;
}

/* [@a, @b] */
static void read_uses(reader *r)
{
    need(r, '[');
    if (take(r, ']'))
        return;
    do
        add_use(r);
    while (take(r, ','));
    need(r, ']');
}

static void read_property(reader *r, double *value, operation *op)
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
static void read_properties(reader *r, double *value, operation *op)
{
    for (int i = 0; i < N_VALUES; i++)
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
static int32_t name_path(reader *r, const char *leaf)
{
    const int64_t size = r->scope.size;
    sked_i_buffer_char(&r->scope, path_mark);
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

static void enter(reader *r, int32_t path)
{
    if (r->status != SKED_OK)
        return;
    const char *text = sked_i_names_at(&r->names, path);
    const size_t size = strlen(text);
    r->scope.size = 0;
    sked_i_buffer_add(&r->scope, text, size);
}

static void read_kind(reader *r, kinds *k, const char *what, int32_t library)
{
    bool fresh = true;
    kind x = {.at = (next(r), r->at), .library = library};
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
static int32_t read_library(reader *r, kinds *k, const char *keyword)
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
static int32_t take_result(reader *r, char before_number)
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

static void read_results(reader *r, operation *op)
{
    do {
        result x = {.at = (next(r), r->at), .op = (int32_t)r->ops};
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
static void read_dependence(reader *r, bool *symbols)
{
    double value[N_VALUES];
    dependence d = {.at = (next(r), r->at)};
    const bool symbol = next(r) == '@';
    if (*symbols && !symbol && next(r) == '%')
        FAIL(r, d.at, "a value follows a symbol: auxiliary dependences come behind all values");
    *symbols = symbol;
    d.source = symbol ? take_symbol(r, "@") : take_result(r, '#');
    read_properties(r, value, NULL);
    d.distance = isnan(value[DISTANCE]) ? 0 : value[DISTANCE];
    if (!SKED_OWN_GROW(&r->arena, r->dep, r->dep_cap, r->deps + 1))
        end_without_memory(r);
    else
        r->dep[r->deps++] = d;
}

static void read_dependences(reader *r)
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
static void read_operation(reader *r)
{
    operation op = {.at = (next(r), r->at), .type = {NULL, -1}, .name = -1, .use = r->uses, .dep = r->deps};
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

static void read_graph(reader *r)
{
    need(r, '{');
    while (next(r) != '}' && next(r) != 0)
        read_operation(r);
    need(r, '}');
    skip_trailer(r);
}

/* ------------------------------------------------------------------ instances and modules */

static void read_body(reader *r, instance *in)
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

static void read_instance(reader *r, const char *at)
{
    char number[24];
    instance in = {.at = at, .name = -1, .library = -1, .resources = -1, .op = r->ops, .result = r->results};
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

static void read_items(reader *r, int depth);

static void read_module(reader *r, int depth)
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

static void read_items(reader *r, int depth)
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

static sked_status read_file(reader *r, const sked_i_source *source, sked_error *err)
{
    const sked_i_scan text = sked_i_scan_source(source);
    *r = (reader){.source = source, .err = err, .at = text.at, .end = text.end};
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
        r->instance[r->instances] = (instance){.op = r->ops, .result = r->results};
        if (r->ops > 0)
            r->op[r->ops] = (operation){.use = r->uses, .dep = r->deps};
    }
    return r->status;
}

static void release(reader *r)
{
    sked_i_buffer_free(&r->text);
    sked_i_buffer_free(&r->scope);
    sked_i_names_free(&r->names);
    sked_i_names_free(&r->operators.paths);
    sked_i_names_free(&r->resources.paths);
    sked_i_arena_free(&r->arena);
}

/* ------------------------------------------------------------------ which instance */

/* By name, or else by number from 1. NULL: none. */
static const instance *find_instance(const reader *r, const char *wanted)
{
    int64_t number = 0;
    for (int64_t i = 0; i < r->instances; i++)
        if (r->instance[i].name >= 0 && strcmp(sked_i_names_at(&r->names, r->instance[i].name), wanted) == 0)
            return &r->instance[i];
    return sked_i_parse_int(wanted, strlen(wanted), 1, r->instances, &number) ? &r->instance[number - 1]
                                                                              : NULL;
}

/* The names of the file's instances, numbers where they have none. */
static void list_instances(const reader *r, sked_i_buffer *out)
{
    for (int64_t i = 0; i < r->instances && out->size < 600; i++) {
        sked_i_buffer_text(out, i > 0 ? ", " : "");
        if (out->size > 500)
            sked_i_buffer_text(out, "...");
        else if (r->instance[i].name >= 0)
            sked_i_buffer_text(out, sked_i_quoted_text(sked_i_names_at(&r->names, r->instance[i].name)).text);
        else
            sked_i_buffer_int(out, i + 1);
        if (out->size > 500)
            break;
    }
}

static sked_status choose_instance(const reader *r, const char *wanted, const instance **out)
{
    *out = wanted ? find_instance(r, wanted) : r->instances == 1 ? &r->instance[0] : NULL;
    if (*out != NULL)
        return SKED_OK;
    sked_i_buffer list = {0};
    list_instances(r, &list);
    sked_status st;
    if (list.failed)
        st = sked_i_no_memory(r->err);
    else if (wanted != NULL)
        st = sked_i_source_refuse(r->source, NULL, SKED_ERR_ARGUMENT, r->err,
                                  "no instance is called '%s'; the file has: %s",
                                  sked_i_quoted_text(wanted).text, list.data);
    else
        st = sked_i_source_refuse(r->source, NULL, SKED_ERR_UNSUPPORTED, r->err,
                                  "the file has %lld instances; choose one (--instance NAME): %s",
                                  (long long)r->instances, list.data);
    sked_i_buffer_free(&list);
    return st;
}

/* ------------------------------------------------------------------ the graph */

typedef struct build {
    reader *r;
    const instance *in;
    const struct problem_class *class;
    sked_builder *b;
    sked_i_arena arena;
    sked_i_names types; /* names of operator types so far */
    int32_t *op_of;     /* [names] op with this symbol or result, -1 */
    int32_t *type_name; /* [operators] number in types, -1: not seen yet */
    int32_t *pool;      /* [resources], then [operators]: pool, -1 */
} build;

static sked_status find_class(build *x)
{
    const char *names[n_classes], *wanted = sked_i_names_at(&x->r->names, x->in->class_name);
    char hint[160];
    for (int i = 0; i < n_classes; i++) {
        names[i] = classes[i].name;
        if (strcmp(names[i], wanted) == 0)
            return x->class = &classes[i], SKED_OK;
    }
    return sked_i_source_refuse(x->r->source, x->in->at, SKED_ERR_UNSUPPORTED, x->r->err,
                                "'%s' is no class of problems that sked knows%s",
                                sked_i_quoted_text(wanted).text,
                                sked_suggest(wanted, names, n_classes, hint, sizeof hint));
}

/* The type at path `ref` in a scope, -1: none there. */
static int32_t look_in(build *x, const kinds *k, const char *scope, size_t size, const char *ref)
{
    sked_i_buffer *text = &x->r->text;
    text->size = 0;
    sked_i_buffer_add(text, scope, size);
    sked_i_buffer_char(text, path_mark);
    sked_i_buffer_text(text, ref);
    return text->failed ? -1 : sked_i_names_find(&k->paths, text->data, (size_t)text->size);
}

/* In the instance's library, in the instance, then outwards. */
static int32_t find_kind(build *x, const kinds *k, int32_t library, int32_t path)
{
    const sked_i_names *names = &x->r->names;
    const char *ref = sked_i_names_at(names, path), *own = sked_i_names_at(names, x->in->path);
    const char *scope = sked_i_names_at(names, x->in->scope);
    const char *name = x->in->name >= 0 ? sked_i_names_at(names, x->in->name) : "";
    const size_t n = strlen(name);
    int32_t found = -1;
    if (library >= 0)
        found = look_in(x, k, sked_i_names_at(names, library), strlen(sked_i_names_at(names, library)), ref);
    if (found < 0)
        found = look_in(x, k, own, strlen(own), ref);
    if (found < 0 && n > 0 && strncmp(ref, name, n) == 0 && ref[n] == path_mark)
        found = look_in(x, k, own, strlen(own), ref + n + 1);
    for (size_t size = strlen(scope); found < 0; size--) {
        if (scope[size] == 0 || scope[size] == path_mark)
            found = look_in(x, k, scope, size, ref);
        if (size == 0)
            break;
    }
    return found;
}

static sked_status resolve(build *x, const kinds *k, int32_t library, const reference *ref, const char *what,
                           int32_t *out)
{
    *out = find_kind(x, k, library, ref->path);
    if (x->r->text.failed)
        return sked_i_no_memory(x->r->err);
    if (*out >= 0)
        return SKED_OK;
    const sked_i_word w = {ref->at, strcspn(ref->at, ">,] \t\r\n")};
    return sked_i_source_fail(x->r->source, ref->at, x->r->err, "no %s is called '%s'", what,
                              sked_i_word_quoted(w).text);
}

/* `leaf`, or where it is taken with a number behind it that makes it new, in x->r->text. */
static const char *number_name(build *x, const char *leaf, int64_t number)
{
    sked_i_buffer *text = &x->r->text;
    text->size = 0;
    sked_i_buffer_text(text, leaf);
    if (number > 0)
        sked_i_buffer_format(text, "_%lld", (long long)number);
    return text->failed ? NULL : text->data;
}

/* The pool of a kind, added where it is new. Two of one name get numbers. */
static sked_status find_pool(build *x, const kind *k, int32_t *pool, int64_t number)
{
    sked_status st = SKED_OK;
    sked_error *err = x->r->err;
    const char *leaf = sked_i_names_at(&x->r->names, k->leaf);
    const double limit = isnan(k->value[LIMIT]) ? INFINITY : k->value[LIMIT];
    if (*pool >= 0)
        return SKED_OK;
    for (int64_t n = 0;; n = n > 0 ? n + 1 : number + 1) {
        const char *name = number_name(x, leaf, n);
        if (name == NULL)
            return sked_i_no_memory(err);
        if (sked_builder_find_resource(x->b, name) >= 0)
            continue;
        SKED_BUILD(x->r->source, k->at, sked_builder_add_resource(x->b, name, limit, pool, &cause));
        break;
    }
cleanup:
    return st;
}

static sked_status name_type(build *x, int32_t type)
{
    bool fresh = false;
    const char *leaf = sked_i_names_at(&x->r->names, x->r->operators.kind[type].leaf);
    for (int64_t n = 0; x->type_name[type] < 0 && !fresh; n = n > 0 ? n + 1 : type + 1) {
        const char *name = number_name(x, leaf, n);
        const int32_t i = name ? sked_i_names_add(&x->types, name, strlen(name), &fresh) : -1;
        if (i < 0)
            return sked_i_no_memory(x->r->err);
        if (fresh)
            x->type_name[type] = i;
    }
    return SKED_OK;
}

static sked_status check_type(const build *x, const operation *op, const kind *k)
{
    const sked_i_quoted name = sked_i_quoted_text(sked_i_names_at(&x->r->names, k->leaf));
    const double *v = k->value;
    if (isnan(v[LATENCY]))
        return sked_i_source_fail(x->r->source, op->at, x->r->err, "operator type '%s' has no latency",
                                  name.text);
    if (x->class->chaining && (isnan(v[INC_DELAY]) || isnan(v[OUT_DELAY])))
        return sked_i_source_fail(x->r->source, k->at, x->r->err,
                                  "operator type '%s' of a %s needs incDelay and outDelay", name.text,
                                  x->class->name);
    if (x->class->chaining && v[LATENCY] == 0 && v[INC_DELAY] != v[OUT_DELAY])
        return sked_i_source_fail(x->r->source, k->at, x->r->err,
                                  "operator type '%s' has latency 0, so incDelay and outDelay must be equal",
                                  name.text);
    return SKED_OK;
}

/* The pools that an op holds for a cycle each: those it uses, and that of its operator type. */
static sked_status add_demands(build *x, int32_t op, const operation *o, int32_t type, double latency)
{
    reader *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    for (const reference *u = r->use + o->use; x->class->shared && u < r->use + o[1].use; u++) {
        int32_t k = -1;
        SKED_TRY(resolve(x, &r->resources, x->in->resources, u, "resource type", &k));
        if (latency == 0 && !isnan(r->resources.kind[k].value[LIMIT]))
            return sked_i_source_fail(r->source, o->at, err,
                                      "an op of latency 0 uses a resource with a limit");
        SKED_TRY(find_pool(x, &r->resources.kind[k], &x->pool[k], k));
        SKED_BUILD(r->source, o->at, sked_builder_add_demand(x->b, op, x->pool[k], 1, &cause));
    }
    if (!x->class->shared || type < 0 || isnan(r->operators.kind[type].value[LIMIT]))
        return SKED_OK;
    if (latency == 0)
        return sked_i_source_fail(r->source, o->at, err, "an operator type of latency 0 has a limit");
    int32_t *pool = &x->pool[r->resources.paths.count + type];
    SKED_TRY(find_pool(x, &r->operators.kind[type], pool, type));
    SKED_BUILD(r->source, o->at, sked_builder_add_demand(x->b, op, *pool, 1, &cause));
cleanup:
    return st;
}

/* Where the op holds pools it does so for a cycle: units are pipelined. */
static sked_status add_op(build *x, const operation *o, double *lag)
{
    reader *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    int32_t type = -1, op;
    double latency = 0;
    if (o->type.path >= 0) {
        SKED_TRY(resolve(x, &r->operators, x->in->library, &o->type, "operator type", &type));
        SKED_TRY(check_type(x, o, &r->operators.kind[type]));
        SKED_TRY(name_type(x, type));
        latency = r->operators.kind[type].value[LATENCY];
    }
    const bool limited = type >= 0 && !isnan(r->operators.kind[type].value[LIMIT]);
    const bool holds = x->class->shared && (limited || o[1].use > o->use);
    const double duration = holds ? fmin(1, latency) : latency;
    const char *name = o->name >= 0 ? sked_i_names_at(&r->names, o->name) : NULL;
    *lag = latency == duration ? SKED_LAG_DEFAULT : latency;
    SKED_BUILD(r->source, o->at,
               sked_builder_add_op(x->b, name != NULL && name[0] == '@' ? name + 1 : name,
                                   type >= 0 ? sked_i_names_at(&x->types, x->type_name[type]) : NULL,
                                   duration, &op, &cause));
    SKED_TRY(add_demands(x, op, o, type, latency));
cleanup:
    return st;
}

static sked_status add_edges(build *x, const operation *o, int32_t to, const double *lag)
{
    reader *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    for (const dependence *d = r->dep + o->dep; d < r->dep + o[1].dep; d++) {
        const int32_t from = x->op_of[d->source];
        const char *name = sked_i_names_at(&r->names, d->source);
        if (from < 0)
            return sked_i_source_fail(r->source, d->at, err, "no operation of the instance defines '%s'",
                                      sked_i_quoted_text(name).text);
        if (x->class->chaining && x->class->cyclic && name[0] == '%' && d->distance > 0)
            return sked_i_source_fail(r->source, d->at, err,
                                      "a distance between values: write '@name', an auxiliary dependence");
        const sked_edge edge = {from, to, lag[from], 0, x->class->cyclic ? (int32_t)d->distance : 0};
        SKED_BUILD(r->source, d->at, sked_builder_add_edge(x->b, &edge, &cause));
    }
cleanup:
    return st;
}

static sked_status define(build *x, int32_t name, int32_t op, const char *at)
{
    if (x->op_of[name] >= 0 && x->op_of[name] != op)
        return sked_i_source_fail(x->r->source, at, x->r->err, "'%s' is defined twice",
                                  sked_i_quoted_text(sked_i_names_at(&x->r->names, name)).text);
    x->op_of[name] = op;
    return SKED_OK;
}

/* Which op has which symbol and which results. */
static sked_status define_names(build *x)
{
    const reader *r = x->r;
    sked_status st = SKED_OK;
    for (int64_t i = x->in->op; i < x->in[1].op && st == SKED_OK; i++)
        if (r->op[i].name >= 0)
            st = define(x, r->op[i].name, (int32_t)(i - x->in->op), r->op[i].at);
    for (int64_t i = x->in->result; i < x->in[1].result && st == SKED_OK; i++)
        st = define(x, r->result[i].name, (int32_t)(r->result[i].op - x->in->op), r->result[i].at);
    return st;
}

static sked_status prepare(build *x)
{
    const reader *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const int64_t n = r->names.count, types = r->operators.paths.count, pools = r->resources.paths.count;
    SKED_OWN(&x->arena, x->op_of, n);
    SKED_OWN(&x->arena, x->type_name, types);
    SKED_OWN(&x->arena, x->pool, types + pools);
    memset(x->op_of, -1, (size_t)n * sizeof *x->op_of);
    memset(x->type_name, -1, (size_t)types * sizeof *x->type_name);
    memset(x->pool, -1, (size_t)(types + pools) * sizeof *x->pool);
    SKED_TRY(define_names(x));
    for (int32_t k = 0; x->class->shared && k < pools; k++)
        if (r->resources.kind[k].library == x->in->resources)
            SKED_TRY(find_pool(x, &r->resources.kind[k], &x->pool[k], k));
cleanup:
    return st;
}

static sked_status build_graph(reader *r, const instance *in, sked_graph **out)
{
    build x = {.r = r, .in = in};
    sked_status st;
    sked_error *err = r->err;
    double *lag = NULL;
    const int32_t n = (int32_t)(in[1].op - in->op);
    SKED_TRY(find_class(&x));
    SKED_TRY(sked_i_source_begin(r->source, in->name >= 0 ? sked_i_names_at(&r->names, in->name) : NULL, &x.b,
                                 err));
    SKED_TRY(prepare(&x));
    SKED_OWN(&x.arena, lag, n);
    for (int32_t i = 0; i < n; i++)
        SKED_TRY(add_op(&x, &r->op[in->op + i], &lag[i]));
    for (int32_t i = 0; i < n; i++)
        SKED_TRY(add_edges(&x, &r->op[in->op + i], i, lag));
    SKED_BUILD(r->source, in->at, sked_builder_finish(x.b, out, &cause));
cleanup:
    sked_builder_destroy(x.b);
    sked_i_names_free(&x.types);
    sked_i_arena_free(&x.arena);
    return st;
}

static sked_status read_ssp(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    reader r;
    const instance *in = NULL;
    sked_status st = read_file(&r, source, err);
    if (st == SKED_OK)
        st = choose_instance(&r, source->options->instance, &in);
    if (st == SKED_OK)
        st = build_graph(&r, in, out);
    release(&r);
    return st;
}

/* ------------------------------------------------------------------ start times */

static sked_status take_times(const reader *r, const instance *in, const sked_graph *g, double *start)
{
    char label[80];
    const int64_t n = in[1].op - in->op;
    if (n != g->n_ops)
        return sked_i_source_refuse(r->source, in->at, SKED_ERR_INVALID, r->err,
                                    "the instance has %lld ops, the graph %d", (long long)n, (int)g->n_ops);
    for (int64_t i = 0; i < n; i++) {
        const operation *o = &r->op[in->op + i];
        const char *name = o->name >= 0 ? sked_i_names_at(&r->names, o->name) : NULL;
        const int32_t op = name ? sked_graph_find_op(g, name + (name[0] == '@')) : (int32_t)i;
        if (op < 0)
            return sked_i_source_refuse(r->source, o->at, SKED_ERR_INVALID, r->err,
                                        "the graph has no op called '%s'", sked_i_quoted_text(name).text);
        if (isnan(o->value[TIME]))
            return sked_i_source_refuse(r->source, o->at, SKED_ERR_INVALID, r->err,
                                        "op '%s' has no start time, t<>",
                                        sked_i_op_label(g, op, label, sizeof label));
        start[op] = o->value[TIME];
    }
    return SKED_OK;
}

/* The instance that is called like the graph, or the only one. */
static sked_status read_times(const sked_i_source *source, const sked_graph *g, double *start, double *ii,
                              sked_error *err)
{
    reader r;
    sked_status st = read_file(&r, source, err);
    if (st == SKED_OK) {
        const instance *in = find_instance(&r, sked_graph_name(g));
        if (in == NULL)
            st = choose_instance(&r, NULL, &in);
        if (st == SKED_OK)
            st = take_times(&r, in, g, start);
        if (st == SKED_OK)
            *ii = isnan(in->value[II]) ? 0 : in->value[II];
    }
    release(&r);
    return st;
}

static bool sniff_ssp(const char *text, size_t size)
{
    const sked_i_scan s = sked_i_scan_text(text, size);
    reader r = {.at = s.at, .end = s.end};
    const sked_i_word w = take_word(&r);
    return sked_i_word_is(w, "module") || sked_i_word_is(w, "ssp.instance") ||
           sked_i_word_is(w, "ssp.library") || sked_i_word_is(w, "ssp.resource");
}

static sked_status write_ssp(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    const sked_i_ssp_times none = {0};
    return sked_i_ssp_write(g, &none, out, err);
}

const sked_i_format sked_i_format_ssp = {
    .info = {"ssp", "CIRCT's static scheduling problems, with start times", ".mlir", true, true},
    .sniff = sniff_ssp,
    .read = read_ssp,
    .write = write_ssp,
    .times = read_times,
};
