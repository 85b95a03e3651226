/*
 * GML: nested lists of `key value`. A file that uses `parameter` is read by the rules of the rw workloads
 * (lag 0, weight and bytes from it); every other one by our own keys. docs/formats/gml.md
 */
#include "formats/durations.h"
#include "formats/scan.h"

#include <assert.h>
#include <string.h>

/* What an open list is. */
typedef enum context { TOP, GRAPH, NODE, EDGE, RESOURCE, DEMAND, OTHER } context;

typedef struct node {
    int32_t label, type, durations, verilog;       /* atoms, -1: none */
    double value[sked_i_op_attributes], parameter; /* weight NAN: not given */
    const char *at;                                /* NULL: no id yet */
} node;

typedef struct edge {
    int64_t source, target;
    double value[sked_i_edge_attributes], parameter; /* bytes NAN: not given */
    bool has_source, has_target;
    const char *at;
} edge;

/* A pool (amount: capacity) or a demand of the node `owner` (amount) on the pool called `name`. */
typedef struct amount {
    int64_t owner;
    int32_t name; /* atom, -1: none yet */
    double amount;
    const char *at;
} amount;

typedef struct reader {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_error *err;
    const char *at, *end; /* what is left */
    context open[SKED_I_MAX_DEPTH];
    const char *open_at[SKED_I_MAX_DEPTH];
    int depth;
    sked_i_word key, value; /* the current pair; value decoded where it is a string */
    bool quoted;
    sked_i_buffer text; /* holds a decoded value */
    bool has_graph, directed, has_parameter;
    int32_t name;
    sked_i_names ids, atoms; /* ids in decimal: the number of a node is its place here */
    node *node, this_node;   /* [ids.count], and the one being read */
    int64_t this_id;
    edge *edge, this_edge;
    amount *resource, *demand, this_amount;
    int64_t node_cap, edges, edge_cap, resources, resource_cap, demands, demand_cap;
} reader;

/* ------------------------------------------------------------------ words */

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip_blanks(reader *r)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            r->at = sked_i_line_end(r->at, r->end);
        if (r->at == r->end || (*r->at != ' ' && (*r->at < '\t' || *r->at > '\r')))
            return;
    }
}

/* The character an entity between & and ; stands for, or 0. */
static uint32_t entity(const char *s, size_t n)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"quot", '"'}, {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"apos", '\''}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strlen(named[i].name) == n && memcmp(named[i].name, s, n) == 0)
            return (uint32_t)named[i].c;
    if (n < 2 || n > 8 || s[0] != '#')
        return 0;
    const bool hex = s[1] == 'x' || s[1] == 'X';
    uint32_t code = 0;
    for (size_t i = hex ? 2 : 1; i < n; i++) {
        const int digit = sked_i_hex_digit(s[i]);
        if (digit < 0 || digit >= (hex ? 16 : 10))
            return 0;
        code = code * (hex ? 16 : 10) + (uint32_t)digit;
    }
    return code;
}

/* "..." with entities; r->at is at the opening quote. What is no known entity stays as it is. */
static sked_status read_string(reader *r)
{
    const char *start = r->at++;
    const char *close = memchr(r->at, '"', (size_t)(r->end - r->at));
    if (close == NULL)
        return sked_i_source_fail(r->source, start, r->err, "a string '\"' that never ends");
    r->text.size = 0;
    while (r->at < close) {
        const char *amp = memchr(r->at, '&', (size_t)(close - r->at));
        const size_t plain = (size_t)((amp ? amp : close) - r->at);
        sked_i_buffer_add(&r->text, r->at, plain);
        r->at += plain;
        if (amp == NULL)
            break;
        const size_t most = close - amp > 12 ? 12 : (size_t)(close - amp);
        const char *semicolon = memchr(amp, ';', most);
        const bool known =
            semicolon && sked_i_buffer_utf8(&r->text, entity(amp + 1, (size_t)(semicolon - amp - 1)));
        if (!known)
            sked_i_buffer_char(&r->text, '&');
        r->at = known ? semicolon + 1 : amp + 1;
    }
    r->at = close + 1;
    sked_i_buffer_add(&r->text, "", 0);
    r->value = (sked_i_word){r->text.data, (size_t)r->text.size};
    r->quoted = true;
    return r->text.failed ? sked_i_no_memory(r->err) : SKED_OK;
}

static sked_status read_key(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && is_key_char(*r->at))
        r->at++;
    r->key = (sked_i_word){start, (size_t)(r->at - start)};
    if (r->key.size > 0)
        return SKED_OK;
    return sked_i_source_fail(r->source, start, r->err, "'%s' where a key or ']' is expected",
                              sked_i_quoted_bytes(start, 1).text);
}

/* A number or bare word up to a blank or bracket. */
static sked_status read_bare(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && (unsigned char)*r->at > ' ' && strchr("[]\"#", *r->at) == NULL)
        r->at++;
    r->value = (sked_i_word){start, (size_t)(r->at - start)};
    r->quoted = false;
    if (r->value.size > 0)
        return SKED_OK;
    return sked_i_source_fail(r->source, start, r->err, "key '%s' has no value",
                              sked_i_word_quoted(r->key).text);
}

/* ------------------------------------------------------------------ values */

static bool key_is(const reader *r, const char *key)
{
    return sked_i_word_is(r->key, key);
}

static sked_status take_amount(reader *r, double *out)
{
    char what[16] = {0};
    memcpy(what, r->key.text, r->key.size < sizeof what ? r->key.size : sizeof what - 1);
    return sked_i_word_amount(r->source, r->key.text, r->value, what, out, r->err);
}

static sked_status take_atom(reader *r, int32_t *atom)
{
    bool fresh;
    *atom = sked_i_names_add(&r->atoms, r->value.text, r->value.size, &fresh);
    return *atom < 0 ? sked_i_no_memory(r->err) : SKED_OK;
}

static sked_status take_id(reader *r, int64_t *out)
{
    if (sked_i_parse_int(r->value.text, r->value.size, INT64_MIN / 4, INT64_MAX / 4, out))
        return SKED_OK;
    return sked_i_source_fail(r->source, r->key.text, r->err, "a node id must be an integer, not '%s'",
                              sked_i_word_quoted(r->value).text);
}

static sked_status take_parameter(reader *r, double *out)
{
    r->has_parameter = true;
    return take_amount(r, out);
}

static sked_status graph_value(reader *r)
{
    if (key_is(r, "directed"))
        return r->directed = sked_i_word_is(r->value, "1"), SKED_OK;
    return key_is(r, "name") ? take_atom(r, &r->name) : SKED_OK;
}

static sked_status node_value(reader *r)
{
    node *n = &r->this_node;
    if (key_is(r, "id"))
        return n->at = r->key.text, take_id(r, &r->this_id);
    if (key_is(r, "label"))
        return take_atom(r, &n->label);
    if (key_is(r, "type"))
        return take_atom(r, &n->type);
    if (key_is(r, "durations"))
        return take_atom(r, &n->durations);
    if (key_is(r, "verilog"))
        return take_atom(r, &n->verilog);
    if (key_is(r, "parameter"))
        return take_parameter(r, &n->parameter);
    return sked_i_word_attribute(r->source, r->key.text, r->key, r->value, false, n->value, NULL, r->err);
}

static sked_status edge_value(reader *r)
{
    edge *e = &r->this_edge;
    if (key_is(r, "source"))
        return e->has_source = true, take_id(r, &e->source);
    if (key_is(r, "target"))
        return e->has_target = true, take_id(r, &e->target);
    if (key_is(r, "parameter"))
        return take_parameter(r, &e->parameter);
    return sked_i_word_attribute(r->source, r->key.text, r->key, r->value, true, e->value, NULL, r->err);
}

static sked_status amount_value(reader *r, const char *name, const char *number)
{
    if (key_is(r, name))
        return take_atom(r, &r->this_amount.name);
    return key_is(r, number) ? take_amount(r, &r->this_amount.amount) : SKED_OK;
}

static sked_status take_value(reader *r)
{
    const context in = r->open[r->depth];
    return in == GRAPH      ? graph_value(r)
           : in == NODE     ? node_value(r)
           : in == EDGE     ? edge_value(r)
           : in == RESOURCE ? amount_value(r, "name", "capacity")
           : in == DEMAND   ? amount_value(r, "resource", "amount")
                            : SKED_OK;
}

/* ------------------------------------------------------------------ lists */

static sked_status open_list(reader *r)
{
    const context in = r->open[r->depth];
    context as = OTHER;
    if (in == TOP && key_is(r, "graph")) {
        as = GRAPH;
        if (r->has_graph)
            return sked_i_source_fail(r->source, r->key.text, r->err, "a second graph: one per file");
        r->has_graph = true;
    } else if (in == GRAPH && key_is(r, "node")) {
        as = NODE;
        r->this_node = (node){.label = -1, .type = -1, .durations = -1, .verilog = -1, .parameter = NAN};
        sked_i_op_presets(r->this_node.value);
        r->this_node.value[sked_i_op_weight] = NAN;
    } else if (in == GRAPH && key_is(r, "edge")) {
        as = EDGE;
        r->this_edge = (edge){.parameter = NAN, .at = r->key.text};
        sked_i_edge_presets(r->this_edge.value);
        r->this_edge.value[sked_i_edge_bytes] = NAN;
    } else if ((in == GRAPH && key_is(r, "resource")) || (in == NODE && key_is(r, "demand"))) {
        as = in == GRAPH ? RESOURCE : DEMAND;
        r->this_amount = (amount){r->ids.count, -1, as == DEMAND ? 1 : INFINITY, r->key.text};
    }
    if (r->depth + 1 == SKED_I_MAX_DEPTH)
        return sked_i_source_fail(r->source, r->key.text, r->err, "lists nested deeper than %d",
                                  SKED_I_MAX_DEPTH - 1);
    r->depth++;
    r->open[r->depth] = as;
    r->open_at[r->depth] = r->key.text;
    r->at++;
    return SKED_OK;
}

static sked_status close_node(reader *r)
{
    bool fresh;
    if (r->this_node.at == NULL)
        return sked_i_source_fail(r->source, r->open_at[r->depth], r->err, "a node without an id");
    if (!SKED_OWN_GROW(&r->arena, r->node, r->node_cap, (int64_t)r->ids.count + 1))
        return sked_i_no_memory(r->err);
    const int32_t i = sked_i_id_add(&r->ids, r->this_id, &fresh);
    if (i < 0)
        return sked_i_no_memory(r->err);
    if (!fresh)
        return sked_i_source_fail(r->source, r->this_node.at, r->err, "two nodes have the id %lld",
                                  (long long)r->this_id);
    r->node[i] = r->this_node;
    return SKED_OK;
}

static sked_status close_edge(reader *r)
{
    if (!r->this_edge.has_source || !r->this_edge.has_target)
        return sked_i_source_fail(r->source, r->this_edge.at, r->err, "an edge without a %s",
                                  r->this_edge.has_source ? "target" : "source");
    if (!SKED_OWN_GROW(&r->arena, r->edge, r->edge_cap, r->edges + 1))
        return sked_i_no_memory(r->err);
    r->edge[r->edges++] = r->this_edge;
    return SKED_OK;
}

static sked_status close_amount(reader *r, amount **array, int64_t *count, int64_t *cap)
{
    if (r->this_amount.name < 0)
        return sked_i_source_fail(r->source, r->this_amount.at, r->err,
                                  "a resource or demand without a name");
    if (!SKED_OWN_GROW(&r->arena, *array, *cap, *count + 1))
        return sked_i_no_memory(r->err);
    (*array)[(*count)++] = r->this_amount;
    return SKED_OK;
}

static sked_status close_list(reader *r)
{
    const context in = r->open[r->depth];
    if (in == TOP)
        return sked_i_source_fail(r->source, r->at, r->err, "a ']' that closes nothing");
    assert(r->depth > 0);
    const sked_status st = in == NODE       ? close_node(r)
                           : in == EDGE     ? close_edge(r)
                           : in == RESOURCE ? close_amount(r, &r->resource, &r->resources, &r->resource_cap)
                           : in == DEMAND   ? close_amount(r, &r->demand, &r->demands, &r->demand_cap)
                                            : SKED_OK;
    r->depth--;
    r->at++;
    return st;
}

static sked_status read_pair(reader *r)
{
    sked_status st = read_key(r);
    if (st != SKED_OK)
        return st;
    skip_blanks(r);
    if (r->at == r->end)
        return sked_i_source_fail(r->source, r->at, r->err,
                                  "the file ends where the value of '%s' is expected",
                                  sked_i_word_quoted(r->key).text);
    if (*r->at == '[')
        return open_list(r);
    st = *r->at == '"' ? read_string(r) : read_bare(r);
    return st == SKED_OK ? take_value(r) : st;
}

static sked_status read_lists(reader *r)
{
    sked_status st = SKED_OK;
    for (skip_blanks(r); r->at < r->end; skip_blanks(r))
        SKED_TRY(*r->at == ']' ? close_list(r) : read_pair(r));
    if (r->depth > 0)
        return sked_i_source_fail(r->source, r->at, r->err,
                                  "the file ends inside the list opened in line %lld",
                                  (long long)sked_i_source_line(r->source, r->open_at[r->depth]));
    if (!r->has_graph)
        return sked_i_source_fail(r->source, r->at, r->err, "no 'graph [' in the file");
    if (!r->directed)
        return sked_i_source_refuse(r->source, r->source->text, SKED_ERR_UNSUPPORTED, r->err,
                                    "the graph is undirected; 'directed 1' is needed");
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the graph */

static const char *atom_text(const reader *r, int32_t atom)
{
    return atom < 0 ? NULL : sked_i_names_at(&r->atoms, atom);
}

/* What was not given is the rw parameter, or else the preset. */
static void settle(double *value, double parameter, double preset)
{
    if (isnan(*value))
        *value = isnan(parameter) ? preset : parameter;
}

static sked_status build_op(reader *r, sked_builder *b, int32_t i, int64_t *next_demand)
{
    sked_status st;
    sked_error *err = r->err;
    node *n = &r->node[i];
    const char *name = n->label >= 0 ? atom_text(r, n->label) : sked_i_names_at(&r->ids, i);
    settle(&n->value[sked_i_op_weight], n->parameter, 1);
    SKED_BUILD(
        r->source, n->at,
        sked_builder_add_op(b, name, atom_text(r, n->type), n->value[sked_i_op_duration], NULL, &cause));
    SKED_BUILD(r->source, n->at, sked_i_builder_set_values(b, i, n->value, &cause));
    if (n->verilog >= 0)
        SKED_BUILD(r->source, n->at, sked_builder_set_verilog(b, i, atom_text(r, n->verilog), &cause));
    if (n->durations >= 0)
        SKED_TRY(sked_i_durations_add(r->source, n->at, atom_text(r, n->durations), b, i, err));
    for (; *next_demand < r->demands && r->demand[*next_demand].owner == i; ++*next_demand) {
        const amount *d = &r->demand[*next_demand];
        const char *pool = atom_text(r, d->name);
        const int32_t k = sked_builder_find_resource(b, pool);
        if (k < 0)
            SKED_TRY(sked_i_source_fail(r->source, d->at, err, "a demand on the unknown resource '%s'",
                                        sked_i_quoted_text(pool).text));
        SKED_BUILD(r->source, d->at, sked_builder_add_demand(b, i, k, d->amount, &cause));
    }
cleanup:
    return st;
}

static sked_status find_node(reader *r, int64_t id, const char *at, int32_t *out)
{
    *out = sked_i_id_find(&r->ids, id);
    if (*out >= 0)
        return SKED_OK;
    return sked_i_source_fail(r->source, at, r->err, "an edge of the unknown node %lld", (long long)id);
}

static sked_status build_edge(reader *r, sked_builder *b, edge *e)
{
    sked_status st;
    sked_error *err = r->err;
    int32_t from, to;
    SKED_TRY(find_node(r, e->source, e->at, &from));
    SKED_TRY(find_node(r, e->target, e->at, &to));
    settle(&e->value[sked_i_edge_lag], NAN, r->has_parameter ? 0 : NAN);
    settle(&e->value[sked_i_edge_bytes], e->parameter, 0);
    SKED_BUILD(r->source, e->at, sked_i_builder_add_edge(b, from, to, e->value, &cause));
cleanup:
    return st;
}

static sked_status build(reader *r, sked_graph **out)
{
    sked_status st;
    sked_error *err = r->err;
    sked_builder *b = NULL;
    int64_t next_demand = 0;
    SKED_TRY(sked_i_source_begin(r->source, atom_text(r, r->name), &b, err));
    for (int64_t k = 0; k < r->resources; k++)
        SKED_BUILD(r->source, r->resource[k].at,
                   sked_builder_add_resource(b, atom_text(r, r->resource[k].name), r->resource[k].amount,
                                             NULL, &cause));
    for (int32_t i = 0; i < r->ids.count; i++)
        SKED_TRY(build_op(r, b, i, &next_demand));
    for (int64_t e = 0; e < r->edges; e++)
        SKED_TRY(build_edge(r, b, &r->edge[e]));
    SKED_BUILD(r->source, NULL, sked_builder_finish(b, out, &cause));
cleanup:
    sked_builder_destroy(b);
    return st;
}

static sked_status read_gml(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    const sked_i_scan text = sked_i_scan_source(source);
    reader r = {.source = source, .err = err, .at = text.at, .end = text.end, .name = -1};
    sked_status st = sked_i_text_check(source, "a GML file", err);
    if (st == SKED_OK)
        st = read_lists(&r);
    if (st == SKED_OK)
        st = build(&r, out);
    sked_i_buffer_free(&r.text);
    sked_i_names_free(&r.ids);
    sked_i_names_free(&r.atoms);
    sked_i_arena_free(&r.arena);
    return st;
}

/* Pairs of keys and plain values (Creator, Version) may stand before `graph [`. */
static bool sniff_gml(const char *text, size_t size)
{
    const sked_i_scan start = sked_i_scan_text(text, size);
    const sked_i_source source = {"", text, size, NULL};
    reader r = {.source = &source, .at = start.at, .end = start.end};
    bool found = false;
    for (int pairs = 0; pairs < 8 && !found; pairs++) {
        skip_blanks(&r);
        if (r.at == r.end || read_key(&r) != SKED_OK)
            break;
        skip_blanks(&r);
        found = r.at < r.end && *r.at == '[' && key_is(&r, "graph");
        if (found || r.at == r.end || *r.at == '[' ||
            (*r.at == '"' ? read_string(&r) : read_bare(&r)) != SKED_OK)
            break;
    }
    sked_i_buffer_free(&r.text);
    return found;
}

/* ------------------------------------------------------------------ writing */

/* GML is ASCII: everything else, and what would end the string, becomes an entity. */
static void write_string(sked_i_buffer *out, const char *key, const char *text)
{
    sked_i_buffer_format(out, "%s \"", key);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int n = sked_i_utf8_length((const char *)s, SIZE_MAX);
        uint32_t code = n <= 1 ? *s : *s & (0x7fu >> n);
        for (int k = 1; k < n; k++)
            code = code << 6 | (s[k] & 0x3f);
        if (code >= ' ' && code < 0x7f && code != '"' && code != '&')
            sked_i_buffer_char(out, (char)code);
        else
            sked_i_buffer_format(out, "&#%u;", (unsigned)code);
        s += n ? n : 1;
    }
    sked_i_buffer_char(out, '"');
}

static void write_attribute(sked_i_buffer *out, const sked_i_attribute *a, double x)
{
    sked_i_buffer_text(out, "\n    ");
    sked_i_buffer_text(out, a->info.name);
    sked_i_buffer_number_after(out, " ", x);
}

static void write_op(const sked_graph *g, int32_t i, sked_i_buffer *out)
{
    double value[sked_i_op_attributes];
    const uint32_t said = sked_i_op_said(g, i, value);
    sked_i_buffer_number_after(out, "  node [\n    id ", i);
    if (g->op_names.count > 0)
        write_string(out, "\n    label", sked_i_names_at(&g->op_names, i));
    if (g->type[i] >= 0)
        write_string(out, "\n    type", sked_graph_op_type(g, i));
    if (sked_graph_verilog(g, i) != NULL)
        write_string(out, "\n    verilog", sked_graph_verilog(g, i));
    sked_i_buffer_number_after(out, "\n    duration ", g->duration[i]);
    for (int k = sked_i_op_duration + 1; k < sked_i_op_attributes; k++)
        if (said >> k & 1)
            write_attribute(out, &sked_i_op_table[k], value[k]);
    sked_i_durations_text(g, i, "\n    durations", write_string, out);
    for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
        write_string(out, "\n    demand [ resource", sked_graph_resource_name(g, g->demand_resource[k]));
        sked_i_buffer_number_after(out, " amount ", g->demand_amount[k]);
        sked_i_buffer_text(out, " ]");
    }
    sked_i_buffer_text(out, "\n  ]\n");
}

static void write_edge(const sked_graph *g, int64_t e, sked_i_buffer *out)
{
    double value[sked_i_edge_attributes];
    const uint32_t said = sked_i_edge_said(g, e, value);
    sked_i_buffer_number_after(out, "  edge [\n    source ", g->edge_from[e]);
    sked_i_buffer_number_after(out, "\n    target ", g->edge_to[e]);
    for (int k = 0; k < sked_i_edge_attributes; k++)
        if (said >> k & 1)
            write_attribute(out, &sked_i_edge_table[k], value[k]);
    sked_i_buffer_text(out, "\n  ]\n");
}

static sked_status write_gml(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    (void)err;
    sked_i_buffer_text(out, "graph [\n  directed 1\n");
    write_string(out, "  name", sked_graph_name(g));
    sked_i_buffer_char(out, '\n');
    for (int32_t k = 0; k < g->n_resources; k++) {
        write_string(out, "  resource [ name", sked_graph_resource_name(g, k));
        if (isfinite(g->capacity[k]))
            sked_i_buffer_number_after(out, " capacity ", g->capacity[k]);
        sked_i_buffer_text(out, " ]\n");
    }
    for (int32_t i = 0; i < g->n_ops; i++)
        write_op(g, i, out);
    for (int64_t e = 0; e < g->n_edges; e++)
        write_edge(g, e, out);
    sked_i_buffer_text(out, "]\n");
    return SKED_OK;
}

const sked_i_format sked_i_format_gml = {
    .info = {"gml", "Graph Modelling Language, also the rw workloads", ".gml", true, true},
    .sniff = sniff_gml,
    .read = read_gml,
    .write = write_gml,
};
