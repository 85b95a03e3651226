/*
 * DOT, the language of Graphviz. Written here, not on cgraph: that library keeps its state in globals,
 * exits the process when memory runs out, and is slower (figures in docs/formats/dot.md).
 *
 * Every string is interned as an atom; a node is an atom with a number. Ops are the nodes in the order they
 * are first named. Defaults (`node [...]`) hold for what is named after them, to the end of the subgraph.
 */
#include "formats/dot.h"

#include "formats/durations.h"

#include <assert.h>
#include <string.h>

typedef struct node_values {
    int32_t label, type, verilog, demand, durations; /* atoms, -1: none */
    double value[sked_i_op_attributes];
    const char *demand_at, *durations_at;
} node_values;

typedef struct edge_values {
    double value[sked_i_edge_attributes];
    uint32_t given; /* bit k: the statement itself sets attribute k */
} edge_values;

typedef struct node {
    node_values is;
    int32_t atom;
    const char *at;
} node;

typedef struct edge {
    int32_t from, to; /* from -1: merged into another one */
    edge_values is;
    const char *at;
} edge;

typedef struct scope {
    node_values node;
    edge_values edge;
} scope;

typedef struct atom_use {
    int32_t node;     /* number of the node of this name, -1 */
    bool is_subgraph; /* a subgraph of this name was opened */
    bool parsed;      /* as a list of demands: first_unit .. end_unit */
    int64_t first_unit, end_unit;
} atom_use;

typedef struct parser {
    sked_i_arena arena;
    sked_i_dot_lexer lexer;
    sked_error *err;
    scope now;
    int depth;
    bool strict;
    int32_t name, resources; /* atoms, -1 */
    const char *resources_at;
    sked_i_names atoms;
    atom_use *use; /* [atoms.count] */
    node *node;
    edge *edge;
    int32_t *member; /* nodes named so far in the open subgraphs and the current statement */
    int64_t *end;    /* where the operands of the open chains end in `member` */
    int64_t ends, end_cap, use_cap, nodes, node_cap, edges, edge_cap, members, member_cap;
    int64_t group_edges;         /* made by subgraphs that stand for several nodes */
    int64_t demands, type_bytes; /* of all nodes */
    sked_i_demand *unit;         /* of the lists of demands, each parsed once */
    int64_t units, unit_cap;
} parser;

/*
 * Two subgraphs of n nodes joined by one arrow are n * n edges, and a default demand on n pools holds for
 * every node: a small file can stand for a huge graph. More than this beyond its size is not meant.
 */
static const int64_t max_expansion = 1 << 20;

static bool expands_too_far(const parser *p, int64_t made)
{
    return made > max_expansion + (int64_t)p->lexer.source->size;
}

static sked_status fail_here(parser *p, const char *expected)
{
    const sked_i_dot_lexer *l = &p->lexer;
    const size_t size = l->kind == SKED_I_DOT_END ? 0 : (size_t)(l->next - l->at);
    if (size == 0)
        return sked_i_source_fail(l->source, l->at, p->err, "the file ends where %s is expected", expected);
    return sked_i_source_fail(l->source, l->at, p->err, "'%s' where %s is expected",
                              sked_i_quoted_bytes(l->at, size).text, expected);
}

static sked_status advance(parser *p)
{
    return sked_i_dot_next(&p->lexer, p->err);
}

static sked_status expect(parser *p, int kind, const char *what)
{
    return p->lexer.kind == kind ? advance(p) : fail_here(p, what);
}

/* The atom of the current ID; does not move on. */
static sked_status intern(parser *p, int32_t *atom)
{
    bool fresh;
    if (!SKED_OWN_GROW(&p->arena, p->use, p->use_cap, (int64_t)p->atoms.count + 1))
        return sked_i_no_memory(p->err);
    *atom = sked_i_names_add(&p->atoms, p->lexer.text.text, p->lexer.text.size, &fresh);
    if (*atom < 0)
        return sked_i_no_memory(p->err);
    if (fresh)
        p->use[*atom] = (atom_use){.node = -1};
    return SKED_OK;
}

/* ------------------------------------------------------------------ attributes */

static sked_status node_attribute(parser *p, sked_i_word key, node_values *v)
{
    const sked_i_dot_lexer *l = &p->lexer;
    if (sked_i_word_is(key, "label"))
        return intern(p, &v->label);
    if (sked_i_word_is(key, "type"))
        return intern(p, &v->type);
    if (sked_i_word_is(key, "verilog"))
        return intern(p, &v->verilog);
    if (sked_i_word_is(key, "demand"))
        return v->demand_at = l->at, intern(p, &v->demand);
    if (sked_i_word_is(key, "durations"))
        return v->durations_at = l->at, intern(p, &v->durations);
    return sked_i_word_attribute(l->source, l->at, key, l->text, false, v->value, NULL, p->err);
}

/* Graph attributes count in the outermost braces only; those of subgraphs are for drawing. */
static sked_status graph_attribute(parser *p, sked_i_word key)
{
    if (p->depth > 0 || !sked_i_word_is(key, "resources"))
        return SKED_OK;
    p->resources_at = p->lexer.at;
    return intern(p, &p->resources);
}

/* [key = value, ...] [...]: into v or w, or (both NULL) the graph's. */
static sked_status attributes(parser *p, node_values *v, edge_values *w)
{
    sked_status st = SKED_OK;
    while (p->lexer.kind == '[') {
        SKED_TRY(advance(p));
        while (p->lexer.kind != ']') {
            char name[sked_i_attribute_longest];
            sked_i_word key = p->lexer.text;
            if (p->lexer.kind != SKED_I_DOT_ID)
                return fail_here(p, "an attribute name or ']'");
            key.size = key.size <= sizeof name ? key.size : 0; /* longer ones are none of ours */
            memcpy(name, key.text, key.size);
            key.text = name;
            SKED_TRY(advance(p));
            SKED_TRY(expect(p, '=', "'=' after an attribute name"));
            if (p->lexer.kind != SKED_I_DOT_ID)
                return fail_here(p, "the value of an attribute");
            SKED_TRY(v   ? node_attribute(p, key, v)
                     : w ? sked_i_word_attribute(p->lexer.source, p->lexer.at, key, p->lexer.text, true,
                                                 w->value, &w->given, p->err)
                         : graph_attribute(p, key));
            SKED_TRY(advance(p));
            if (p->lexer.kind == ',' || p->lexer.kind == ';')
                SKED_TRY(advance(p));
        }
        SKED_TRY(advance(p));
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ statements */

static sked_status add_member(parser *p, int32_t n)
{
    if (!SKED_OWN_GROW(&p->arena, p->member, p->member_cap, p->members + 1))
        return sked_i_no_memory(p->err);
    p->member[p->members++] = n;
    return SKED_OK;
}

/* Names a node, for the first time or again. */
static sked_status mention(parser *p, int32_t atom, const char *at)
{
    if (p->use[atom].node < 0) {
        if (p->nodes == INT32_MAX - 1 || !SKED_OWN_GROW(&p->arena, p->node, p->node_cap, p->nodes + 1))
            return sked_i_no_memory(p->err);
        p->node[p->nodes] = (node){p->now.node, atom, at};
        p->use[atom].node = (int32_t)p->nodes++;
    }
    return add_member(p, p->use[atom].node);
}

/* A port and a compass point after a node: where an edge is drawn. */
static sked_status skip_ports(parser *p)
{
    sked_status st = SKED_OK;
    for (int i = 0; i < 2 && p->lexer.kind == ':'; i++) {
        SKED_TRY(advance(p));
        if (p->lexer.kind != SKED_I_DOT_ID)
            return fail_here(p, "a port");
        SKED_TRY(advance(p));
    }
cleanup:
    return st;
}

static sked_status statements(parser *p);

/* [subgraph [ID]] { ... }: its nodes stay in p->member. *again: a subgraph of that name was open before. */
static sked_status subgraph(parser *p, bool *again)
{
    sked_status st = SKED_OK;
    const scope outer = p->now;
    int32_t atom;
    *again = false;
    if (p->lexer.kind == SKED_I_DOT_SUBGRAPH) {
        SKED_TRY(advance(p));
        if (p->lexer.kind == SKED_I_DOT_ID) {
            SKED_TRY(intern(p, &atom));
            *again = p->use[atom].is_subgraph;
            p->use[atom].is_subgraph = true;
            SKED_TRY(advance(p));
        }
    }
    if (p->depth == SKED_I_MAX_DEPTH)
        return sked_i_source_fail(p->lexer.source, p->lexer.at, p->err, "subgraphs nested deeper than %d",
                                  SKED_I_MAX_DEPTH);
    p->depth++;
    SKED_TRY(expect(p, '{', "'{'"));
    SKED_TRY(statements(p));
    SKED_TRY(expect(p, '}', "'}'"));
    p->depth--;
    p->now = outer;
cleanup:
    return st;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the members from `begin` on and drops repeats: the nodes a subgraph stands for. */
static void make_set(parser *p, int64_t begin)
{
    const int64_t n = p->members - begin;
    if (n < 2)
        return;
    int32_t *set = p->member + begin;
    qsort(set, (size_t)n, sizeof *set, by_number);
    int64_t kept = 1;
    for (int64_t i = 1; i < n; i++)
        if (set[i] != set[kept - 1])
            set[kept++] = set[i];
    p->members = begin + kept;
}

/* One end of an edge, or a lone node or subgraph. `later`: an arrow stands before it. */
static sked_status operand(parser *p, bool later, bool *is_node)
{
    sked_status st = SKED_OK;
    const int64_t begin = p->members;
    const char *at = p->lexer.at;
    int32_t atom;
    bool again;
    *is_node = p->lexer.kind == SKED_I_DOT_ID;
    if (*is_node) {
        SKED_TRY(intern(p, &atom));
        SKED_TRY(mention(p, atom, at));
        SKED_TRY(advance(p));
        SKED_TRY(skip_ports(p));
    } else if (p->lexer.kind == '{' || p->lexer.kind == SKED_I_DOT_SUBGRAPH) {
        SKED_TRY(subgraph(p, &again));
        if (!later && p->lexer.kind != SKED_I_DOT_ARROW)
            return SKED_OK;
        if (again)
            return sked_i_source_refuse(p->lexer.source, at, SKED_ERR_UNSUPPORTED, p->err,
                                        "a subgraph that was opened before as the end of an edge");
        make_set(p, begin);
    } else {
        return fail_here(p, later ? "a node or subgraph after '->'" : "a statement or '}'");
    }
cleanup:
    return st;
}

/* Edges from every node in member[a..b) to every one in member[b..c). */
static sked_status join(parser *p, int64_t a, int64_t b, int64_t c, const edge_values *is, const char *at)
{
    assert(a <= b && b <= c && c <= p->members);
    const int64_t product = (b - a) * (c - b);
    if (b - a > 1 || c - b > 1)
        p->group_edges += product;
    if (expands_too_far(p, p->group_edges))
        return sked_i_source_refuse(p->lexer.source, at, SKED_ERR_UNSUPPORTED, p->err,
                                    "edges between subgraphs stand for more than %lld edges",
                                    (long long)max_expansion);
    if (!SKED_OWN_GROW(&p->arena, p->edge, p->edge_cap, p->edges + product))
        return sked_i_no_memory(p->err);
    for (int64_t i = a; i < b; i++)
        for (int64_t j = b; j < c; j++)
            p->edge[p->edges++] = (edge){p->member[i], p->member[j], *is, at};
    return SKED_OK;
}

/* Notes that the operand just read ends here in p->member. */
static sked_status end_operand(parser *p)
{
    if (!SKED_OWN_GROW(&p->arena, p->end, p->end_cap, p->ends + 1))
        return sked_i_no_memory(p->err);
    p->end[p->ends++] = p->members;
    return SKED_OK;
}

/*
 * a -> {b c} -> d [...]: attributes come last and hold for every edge of the chain (not for those inside
 * its subgraphs), so the ends are kept until then.
 */
static sked_status chain(parser *p)
{
    sked_status st;
    const int64_t begin = p->members, base = p->ends;
    const char *at = p->lexer.at;
    bool first_is_node, is_node;
    SKED_TRY(operand(p, false, &first_is_node));
    SKED_TRY(end_operand(p));
    while (p->lexer.kind == SKED_I_DOT_ARROW) {
        SKED_TRY(advance(p));
        SKED_TRY(operand(p, true, &is_node));
        SKED_TRY(end_operand(p));
    }
    if (p->lexer.kind == SKED_I_DOT_LINE)
        return fail_here(p, "'->' (the graph is directed)");
    if (p->ends - base > 1) {
        edge_values is = p->now.edge;
        is.given = 0; /* defaults are for new edges: they change none that a strict graph has already */
        SKED_TRY(attributes(p, NULL, &is));
        for (int64_t k = base; k + 1 < p->ends; k++)
            SKED_TRY(join(p, k == base ? begin : p->end[k - 1], p->end[k], p->end[k + 1], &is, at));
    } else if (first_is_node) {
        SKED_TRY(attributes(p, &p->node[p->member[begin]].is, NULL));
    }
    p->ends = base;
    if (p->depth == 0)
        p->members = begin; /* the members of the whole graph are never needed */
cleanup:
    return st;
}

/* ID = ID sets a graph attribute; told from a node only by the '=' behind the first ID. */
static sked_status assignment_or_chain(parser *p)
{
    sked_status st;
    sked_i_dot_lexer ahead = p->lexer;
    ahead.joined = (sked_i_buffer){0};
    st = p->lexer.kind == SKED_I_DOT_ID ? sked_i_dot_next(&ahead, p->err) : SKED_OK;
    const bool assigns = st == SKED_OK && p->lexer.kind == SKED_I_DOT_ID && ahead.kind == '=';
    sked_i_buffer_free(&ahead.joined);
    if (st != SKED_OK || !assigns)
        return st == SKED_OK ? chain(p) : st;
    const bool ours = sked_i_word_is(p->lexer.text, "resources");
    SKED_TRY(advance(p));
    SKED_TRY(advance(p));
    if (p->lexer.kind != SKED_I_DOT_ID)
        return fail_here(p, "the value of an attribute");
    if (ours)
        SKED_TRY(graph_attribute(p, (sked_i_word){"resources", strlen("resources")}));
    SKED_TRY(advance(p));
cleanup:
    return st;
}

static sked_status defaults(parser *p)
{
    const int kind = p->lexer.kind;
    const sked_status st = advance(p);
    if (st != SKED_OK)
        return st;
    if (p->lexer.kind != '[')
        return fail_here(p, "'[' after 'graph', 'node' or 'edge'");
    return attributes(p, kind == SKED_I_DOT_NODE ? &p->now.node : NULL,
                      kind == SKED_I_DOT_EDGE ? &p->now.edge : NULL);
}

static sked_status statements(parser *p)
{
    sked_status st = SKED_OK;
    while (p->lexer.kind != '}') {
        const int kind = p->lexer.kind;
        if (kind == SKED_I_DOT_GRAPH || kind == SKED_I_DOT_NODE || kind == SKED_I_DOT_EDGE)
            SKED_TRY(defaults(p));
        else
            SKED_TRY(assignment_or_chain(p));
        if (p->lexer.kind == ';')
            SKED_TRY(advance(p));
    }
cleanup:
    return st;
}

static sked_status parse(parser *p)
{
    sked_status st;
    SKED_TRY(advance(p));
    p->strict = p->lexer.kind == SKED_I_DOT_STRICT;
    if (p->strict)
        SKED_TRY(advance(p));
    if (p->lexer.kind == SKED_I_DOT_GRAPH)
        return sked_i_source_refuse(p->lexer.source, p->lexer.at, SKED_ERR_UNSUPPORTED, p->err,
                                    "the graph is undirected ('graph'); a 'digraph' is needed");
    SKED_TRY(expect(p, SKED_I_DOT_DIGRAPH, "'digraph'"));
    if (p->lexer.kind == SKED_I_DOT_ID) {
        SKED_TRY(intern(p, &p->name));
        SKED_TRY(advance(p));
    }
    SKED_TRY(expect(p, '{', "'{'"));
    SKED_TRY(statements(p));
    SKED_TRY(expect(p, '}', "'}'"));
    if (p->lexer.kind != SKED_I_DOT_END)
        return fail_here(p, "the end of the file (one graph per file)");
cleanup:
    return st;
}

/* ------------------------------------------------------------------ from nodes to ops */

static const char *atom_text(const parser *p, int32_t atom)
{
    return atom < 0 ? NULL : sked_i_names_at(&p->atoms, atom);
}

/* The op's type: `type`, or a label that is not just the node's name ("\N") or nothing. */
static const char *type_of(const parser *p, const node_values *v)
{
    if (v->type >= 0)
        return atom_text(p, v->type);
    const char *label = atom_text(p, v->label);
    return label == NULL || label[0] == 0 || strcmp(label, "\\N") == 0 ? NULL : label;
}

/* Takes "name=amount" off the front of a comma list; the name, with %XX decoded, goes to `name`. */
static sked_status next_pair(parser *p, const char **list, const char *at, sked_i_buffer *name,
                             sked_i_word *amount)
{
    const char *s = *list;
    const char *end = s + strcspn(s, ","), *equals = memchr(s, '=', (size_t)(end - s));
    *list = *end ? end + 1 : end;
    if (equals == NULL)
        return sked_i_source_fail(p->lexer.source, at, p->err, "'%s' is not of the form NAME=AMOUNT",
                                  sked_i_quoted_bytes(s, (size_t)(end - s)).text);
    amount->text = equals + 1 + strspn(equals + 1, " ");
    while (end > amount->text && end[-1] == ' ')
        end--;
    amount->size = (size_t)(end - amount->text);
    while (equals > s && equals[-1] == ' ')
        equals--;
    name->size = 0;
    for (s += strspn(s, " "); s < equals; s++) {
        const bool coded = *s == '%' && equals - s > 2 && sked_i_hex_digit(s[1]) >= 0 &&
                           sked_i_hex_digit(s[2]) >= 0 && (s[1] != '0' || s[2] != '0');
        sked_i_buffer_char(name, coded ? (char)(16 * sked_i_hex_digit(s[1]) + sked_i_hex_digit(s[2])) : *s);
        s += coded ? 2 : 0;
    }
    sked_i_buffer_add(name, "", 0); /* 0-terminates an empty one */
    return name->failed ? sked_i_no_memory(p->err) : SKED_OK;
}

/* resources="A=2,B=inf" */
static sked_status build_resources(parser *p, sked_builder *b)
{
    sked_status st = SKED_OK;
    sked_error *err = p->err;
    sked_i_buffer name = {0};
    sked_i_word amount;
    double capacity;
    const char *list = p->resources < 0 ? "" : atom_text(p, p->resources);
    while (*list) {
        SKED_TRY(next_pair(p, &list, p->resources_at, &name, &amount));
        capacity = INFINITY;
        if (!sked_i_word_is(amount, "inf"))
            SKED_TRY(
                sked_i_word_amount(p->lexer.source, p->resources_at, amount, "a capacity", &capacity, err));
        SKED_BUILD(p->lexer.source, p->resources_at,
                   sked_builder_add_resource(b, name.data, capacity, NULL, &cause));
    }
cleanup:
    sked_i_buffer_free(&name);
    return st;
}

/* demand="A=1,B=2". Without a list of resources, pools appear as they are named, without limit. */
static sked_status parse_demand(parser *p, sked_builder *b, const node_values *v, atom_use *use)
{
    sked_status st = SKED_OK;
    sked_error *err = p->err;
    sked_i_buffer name = {0};
    sked_i_word amount;
    double x;
    const char *list = atom_text(p, v->demand);
    use->first_unit = p->units;
    while (*list) {
        SKED_TRY(next_pair(p, &list, v->demand_at, &name, &amount));
        SKED_TRY(sked_i_word_amount(p->lexer.source, v->demand_at, amount, "a demand", &x, err));
        int32_t r = sked_builder_find_resource(b, name.data);
        if (r < 0 && p->resources >= 0)
            SKED_TRY(sked_i_source_fail(p->lexer.source, v->demand_at, err,
                                        "resource '%s' is not in the graph's list of resources",
                                        sked_i_quoted_bytes(name.data, (size_t)name.size).text));
        if (r < 0)
            SKED_BUILD(p->lexer.source, v->demand_at,
                       sked_builder_add_resource(b, name.data, INFINITY, &r, &cause));
        if (!SKED_OWN_GROW(&p->arena, p->unit, p->unit_cap, p->units + 1))
            SKED_TRY(sked_i_no_memory(err));
        p->unit[p->units++] = (sked_i_demand){r, x};
    }
    use->end_unit = p->units;
    use->parsed = true;
cleanup:
    sked_i_buffer_free(&name);
    return st;
}

static sked_status build_demand(parser *p, sked_builder *b, int32_t op, const node_values *v)
{
    sked_status st = SKED_OK;
    sked_error *err = p->err;
    atom_use *use = v->demand >= 0 ? &p->use[v->demand] : NULL;
    if (use == NULL)
        return SKED_OK;
    if (!use->parsed)
        SKED_TRY(parse_demand(p, b, v, use));
    for (int64_t k = use->first_unit; k < use->end_unit; k++) {
        if (expands_too_far(p, ++p->demands))
            SKED_TRY(sked_i_source_refuse(p->lexer.source, v->demand_at, SKED_ERR_UNSUPPORTED, err,
                                          "default demands stand for more than %lld demands",
                                          (long long)max_expansion));
        SKED_BUILD(p->lexer.source, v->demand_at,
                   sked_builder_add_demand(b, op, p->unit[k].resource, p->unit[k].amount, &cause));
    }
cleanup:
    return st;
}

/* A default type of a few letters is fine for any number of nodes; a long one stands for a huge file. */
static sked_status count_type(parser *p, const node *n, const char *type)
{
    enum { letters = 16 };
    p->type_bytes += type != NULL ? (int64_t)strlen(type) : 0;
    if (!expands_too_far(p, p->type_bytes / letters))
        return SKED_OK;
    return sked_i_source_refuse(p->lexer.source, n->at, SKED_ERR_UNSUPPORTED, p->err,
                                "a default type, label or verilog stands for more than %lld bytes",
                                (long long)(letters * max_expansion));
}

static sked_status build_ops(parser *p, sked_builder *b)
{
    sked_status st = SKED_OK;
    sked_error *err = p->err;
    for (int32_t i = 0; i < p->nodes; i++) {
        const node *n = &p->node[i];
        const char *type = type_of(p, &n->is);
        SKED_TRY(count_type(p, n, type));
        SKED_TRY(count_type(p, n, n->is.verilog >= 0 ? atom_text(p, n->is.verilog) : NULL));
        SKED_BUILD(p->lexer.source, n->at,
                   sked_builder_add_op(b, atom_text(p, n->atom), type, n->is.value[sked_i_op_duration], NULL,
                                       &cause));
        SKED_BUILD(p->lexer.source, n->at, sked_i_builder_set_values(b, i, n->is.value, &cause));
        if (n->is.verilog >= 0)
            SKED_BUILD(p->lexer.source, n->at,
                       sked_builder_set_verilog(b, i, atom_text(p, n->is.verilog), &cause));
        if (n->is.durations >= 0)
            SKED_TRY(sked_i_durations_add(p->lexer.source, n->is.durations_at, atom_text(p, n->is.durations),
                                          b, i, err));
        SKED_TRY(build_demand(p, b, i, &n->is));
    }
cleanup:
    return st;
}

static void merge(edge *into, edge *other)
{
    const edge_values *v = &other->is;
    for (int k = 0; k < sked_i_edge_attributes; k++)
        if (v->given >> k & 1)
            into->is.value[k] = v->value[k];
    other->from = -1;
}

/* strict: the second edge between two nodes is the first one again, with more attributes. O(nodes + edges) */
static sked_status merge_parallel(parser *p)
{
    sked_status st = SKED_OK;
    sked_error *err = p->err;
    int64_t *first, *next, *seen; /* chains of edges by `from`; last edge to a node */
    SKED_OWN(&p->arena, first, p->nodes);
    SKED_OWN(&p->arena, seen, p->nodes);
    SKED_OWN(&p->arena, next, p->edges);
    for (int64_t i = 0; i < p->nodes; i++)
        first[i] = seen[i] = -1;
    for (int64_t e = p->edges - 1; e >= 0; e--) {
        next[e] = first[p->edge[e].from];
        first[p->edge[e].from] = e;
    }
    for (int32_t i = 0; i < p->nodes; i++)
        for (int64_t e = first[i]; e >= 0; e = next[e]) {
            const int64_t same = seen[p->edge[e].to];
            if (same >= 0 && p->edge[same].from == i)
                merge(&p->edge[same], &p->edge[e]);
            else
                seen[p->edge[e].to] = e;
        }
cleanup:
    return st;
}

static sked_status build(parser *p, sked_graph **out)
{
    sked_status st;
    sked_error *err = p->err;
    sked_builder *b = NULL;
    SKED_TRY(sked_i_source_begin(p->lexer.source, atom_text(p, p->name), &b, err));
    SKED_TRY(build_resources(p, b));
    SKED_TRY(build_ops(p, b));
    if (p->strict)
        SKED_TRY(merge_parallel(p));
    for (int64_t e = 0; e < p->edges; e++) {
        const edge *x = &p->edge[e];
        if (x->from >= 0)
            SKED_BUILD(p->lexer.source, x->at,
                       sked_i_builder_add_edge(b, x->from, x->to, x->is.value, &cause));
    }
    SKED_BUILD(p->lexer.source, NULL, sked_builder_finish(b, out, &cause));
cleanup:
    sked_builder_destroy(b);
    return st;
}

static sked_status read_dot(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    const sked_i_scan text = sked_i_scan_source(source);
    parser p = {.lexer = {.source = source, .next = text.at, .end = text.end}, .err = err};
    p.name = p.resources = -1;
    p.now.node = (node_values){.label = -1, .type = -1, .verilog = -1, .demand = -1, .durations = -1};
    sked_i_op_presets(p.now.node.value);
    sked_i_edge_presets(p.now.edge.value);
    sked_status st = sked_i_text_check(source, "a DOT file", err);
    if (st == SKED_OK)
        st = parse(&p);
    if (st == SKED_OK)
        st = build(&p, out);
    sked_i_buffer_free(&p.lexer.joined);
    sked_i_names_free(&p.atoms);
    sked_i_arena_free(&p.arena);
    return st;
}

/* [strict] (graph | digraph) and then a name or '{'. GML starts with "graph [". */
static bool sniff_dot(const char *text, size_t size)
{
    const sked_i_source source = {"", text, size, NULL};
    sked_i_dot_lexer l = {.source = &source, .next = text, .end = text + size};
    bool found = false;
    if (sked_i_dot_next(&l, NULL) == SKED_OK && l.kind == SKED_I_DOT_STRICT &&
        sked_i_dot_next(&l, NULL) != SKED_OK)
        l.kind = SKED_I_DOT_END;
    if (l.kind == SKED_I_DOT_DIGRAPH || l.kind == SKED_I_DOT_GRAPH)
        found = sked_i_dot_next(&l, NULL) == SKED_OK && (l.kind == SKED_I_DOT_ID || l.kind == '{');
    sked_i_buffer_free(&l.joined);
    return found;
}

const sked_i_format sked_i_format_dot = {
    .info = {"dot", "Graphviz DOT: labels as op types", ".dot .gv", true, true},
    .sniff = sniff_dot,
    .read = read_dot,
    .write = sked_i_dot_write,
};
