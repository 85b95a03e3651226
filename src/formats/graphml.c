/*
 * GraphML, plain and with the resource models of modulo scheduling benchmarks: docs/formats/graphml.md.
 *
 * One pass over the XML. Edges may name nodes that come later, so ids become numbers on first sight and are
 * matched with ops at the end.
 */
#include "formats/durations.h"
#include "formats/resource_model.h"
#include "formats/xml.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ reading */

enum { IN_GRAPH = 1, IN_NODE = 2, IN_EDGE = 4 };

/*
 * What a <data> may say: the attributes of ops and of edges by their numbers and other numbers first, then
 * text, then numbers that belong to a resource.
 */
enum {
    FIRST_OF_EDGES = sked_i_op_attributes,
    EDGE_DELAY = FIRST_OF_EDGES + sked_i_edge_attributes,
    N_NUMBERS,
    NODE_TYPE = N_NUMBERS,
    NODE_USES,
    NODE_DURATIONS,
    NODE_VERILOG,
    GRAPH_NAME,
    N_PLAIN,
    NODE_DEMAND = N_PLAIN,
    GRAPH_CAPACITY,
    N_ATTRIBUTES
};
_Static_assert(N_PLAIN <= 32, "sets of them are 32 bits");
/* From N_PLAIN on the name is a prefix, and the resource's name follows. */
static const struct {
    const char *name;
    int where;
} attributes[N_ATTRIBUTES] = {
#define SKED_X(name, kind, preset, column, meaning) {#name, IN_NODE},
    SKED_I_OP_ATTRIBUTES(SKED_X)
#undef SKED_X
#define SKED_X(name, kind, preset, column, meaning) {#name, IN_EDGE},
        SKED_I_EDGE_ATTRIBUTES(SKED_X)
#undef SKED_X
            {"delay", IN_EDGE},
    {"type", IN_NODE},
    {"uses_resource", IN_NODE},
    {"durations", IN_NODE},
    {"verilog", IN_NODE},
    {"name", IN_GRAPH},
    {"demand:", IN_NODE},
    {"capacity:", IN_GRAPH},
};

/* A <key>, or what a <data> without one stands for. */
typedef struct key {
    int attribute; /* -1: nothing we know */
    int where;     /* IN_* bits it is declared for */
    int32_t resource;
    bool exact; /* declared as a string: white space belongs to it */
} key;

typedef struct pending_edge {
    int32_t from, to; /* numbers of ids */
    int32_t line;
    double value[sked_i_edge_attributes], delay;
} pending_edge;

typedef struct reader {
    sked_i_arena arena; /* has all arrays */
    sked_i_xml *x;
    sked_builder *b;
    sked_error cause;
    const sked_i_source *given_model; /* in memory, or NULL */
    sked_i_resource_model model;
    bool has_model, has_nodes, has_graph, has_name;

    sked_i_names key_ids;
    key *keys; /* [key_ids.count] */
    sked_i_names ids;
    int32_t *op_of_id; /* [ids.count], -1: no such node so far */
    double *latency;   /* [ops]: what a delay is added to */
    sked_i_names resources;
    double *capacity; /* [resources.count] */
    pending_edge *edges;
    sked_i_demand *demands; /* of the node being read */
    int64_t key_cap, id_cap, latency_cap, capacity_cap, n_edges, edge_cap, n_demands, demand_cap;

    int where, where_depth; /* the innermost graph, node or edge */
    int data_depth;         /* of the <data> or <default> being read, 0: none */
    bool nested;            /* it has elements inside: not for us */
    key data;
    int current_key; /* of the <key> being read, -1: none */

    double number[N_NUMBERS], preset[N_NUMBERS]; /* of this element; by <default> */
    uint32_t has, has_preset;                    /* bits by attribute */
    sked_i_buffer text[N_PLAIN - N_NUMBERS], preset_type, id, value, name;
    int32_t ends[2]; /* of the edge being read */
} reader;

static void no_memory(reader *r)
{
    sked_i_xml_fail_as(r->x, SKED_ERR_MEMORY, "out of memory");
}

static sked_i_quoted quote(const sked_i_buffer *b)
{
    return sked_i_quoted_bytes(b->data ? b->data : "", (size_t)b->size);
}

/* Number of a node id; the first mention makes one. -1 after a failure. */
static int32_t number_id(reader *r, const sked_i_buffer *id)
{
    bool fresh = false;
    const int32_t i = sked_i_names_add(&r->ids, id->data, (size_t)id->size, &fresh);
    if (i < 0 || !SKED_OWN_GROW(&r->arena, r->op_of_id, r->id_cap, r->ids.count)) {
        no_memory(r);
        return -1;
    }
    if (fresh)
        r->op_of_id[i] = -1;
    return i;
}

static int32_t number_resource(reader *r, const char *name)
{
    bool fresh = false;
    const int32_t i = sked_i_names_add(&r->resources, name, strlen(name), &fresh);
    if (i < 0 || !SKED_OWN_GROW(&r->arena, r->capacity, r->capacity_cap, r->resources.count)) {
        no_memory(r);
        return -1;
    }
    if (fresh)
        r->capacity[i] = INFINITY;
    if (fresh && r->has_nodes)
        sked_i_xml_fail(r->x, "the resource '%.60s' appears only after the first node", name);
    return i;
}

/* What a <key> or a <data> of this name means on elements of the kinds in `where`. */
static key resolve(reader *r, const char *name, int where)
{
    key k = {.attribute = -1, .where = where};
    for (int i = 0; i < N_ATTRIBUTES && k.attribute < 0; i++) {
        const size_t n = strlen(attributes[i].name);
        const bool match =
            i < N_PLAIN ? strcmp(name, attributes[i].name) == 0 : strncmp(name, attributes[i].name, n) == 0;
        if (!match || !(attributes[i].where & where))
            continue;
        k.attribute = i;
        if (i >= N_PLAIN)
            k.resource = number_resource(r, name + n);
    }
    return k;
}

/* ---- start tags */

static void start_key(reader *r)
{
    int where = IN_GRAPH | IN_NODE | IN_EDGE;
    bool fresh = false;
    if (!sked_i_xml_attribute(r->x, "id", &r->id)) {
        sked_i_xml_fail(r->x, "a <key> without an id");
        return;
    }
    if (sked_i_xml_attribute(r->x, "for", &r->value))
        where = strcmp(r->value.data, "node") == 0    ? IN_NODE
                : strcmp(r->value.data, "edge") == 0  ? IN_EDGE
                : strcmp(r->value.data, "graph") == 0 ? IN_GRAPH
                : strcmp(r->value.data, "all") == 0   ? where
                                                      : 0;
    const bool named = sked_i_xml_attribute(r->x, "attr.name", &r->name);
    key k = resolve(r, named ? r->name.data : r->id.data, where);
    k.exact = sked_i_xml_attribute(r->x, "attr.type", &r->value) && strcmp(r->value.data, "string") == 0;
    const int32_t i = sked_i_names_add(&r->key_ids, r->id.data, (size_t)r->id.size, &fresh);
    if (i < 0 || !SKED_OWN_GROW(&r->arena, r->keys, r->key_cap, r->key_ids.count)) {
        no_memory(r);
        return;
    }
    if (!fresh)
        sked_i_xml_fail(r->x, "two keys have the id '%.60s'", r->id.data);
    r->keys[i] = k;
    r->current_key = i;
}

static void start_graph(reader *r)
{
    if (r->where != 0 || r->has_graph) {
        sked_i_xml_fail_as(r->x, SKED_ERR_UNSUPPORTED, "a second or nested <graph> is not supported");
        return;
    }
    if (sked_i_xml_attribute(r->x, "edgedefault", &r->value) && strcmp(r->value.data, "directed") != 0)
        sked_i_xml_fail_as(r->x, SKED_ERR_UNSUPPORTED, "the graph is undirected: it gives no order");
    sked_i_buffer *name = &r->text[GRAPH_NAME - N_NUMBERS];
    if (!sked_i_xml_attribute(r->x, "id", name))
        name->size = 0;
    r->has_graph = true;
    r->where = IN_GRAPH;
    r->where_depth = r->x->depth;
}

/* A node or edge begins with what the keys preset. */
static void begin_element(reader *r, int where)
{
    if (r->where != IN_GRAPH) {
        sked_i_xml_fail(r->x, "a <node> or <edge> outside the <graph>");
        return;
    }
    r->where = where;
    r->where_depth = r->x->depth;
    r->has = 0;
    r->n_demands = 0;
}

static void start_node(reader *r)
{
    begin_element(r, IN_NODE);
    if (!sked_i_xml_attribute(r->x, "id", &r->id))
        sked_i_xml_fail(r->x, "a <node> without an id");
}

static void start_edge(reader *r)
{
    static const char *const ends[] = {"source", "target"};
    begin_element(r, IN_EDGE);
    if (sked_i_xml_attribute(r->x, "directed", &r->value) && strcmp(r->value.data, "false") == 0)
        sked_i_xml_fail_as(r->x, SKED_ERR_UNSUPPORTED, "an undirected <edge> gives no order");
    for (int i = 0; i < 2; i++) {
        if (!sked_i_xml_attribute(r->x, ends[i], &r->value)) {
            sked_i_xml_fail(r->x, "an <edge> without a %s", ends[i]);
            return;
        }
        r->ends[i] = number_id(r, &r->value);
    }
}

static void start_data(reader *r)
{
    r->data_depth = r->x->depth;
    r->nested = false;
    r->data = (key){.attribute = -1};
    if (r->x->depth != r->where_depth + 1 || !sked_i_xml_attribute(r->x, "key", &r->value))
        return;
    const int32_t i = sked_i_names_find(&r->key_ids, r->value.data, (size_t)r->value.size);
    r->data = i >= 0 ? r->keys[i] : resolve(r, r->value.data, r->where);
    if (r->data.attribute >= 0 && !(attributes[r->data.attribute].where & r->where))
        r->data.attribute = -1;
}

static void on_start(sked_i_xml *x, const char *element)
{
    reader *r = x->data;
    r->x = x;
    if (x->depth == 1 && strcmp(element, "graphml") != 0 && strcmp(element, "graph") != 0)
        sked_i_xml_fail(x, "GraphML starts with <graphml>, not <%.60s>", element);
    else if (r->data_depth > 0)
        r->nested = true;
    else if (strcmp(element, "key") == 0 && r->where == 0)
        start_key(r);
    else if (strcmp(element, "default") == 0 && r->current_key >= 0) {
        r->data_depth = x->depth;
        r->nested = false;
    } else if (strcmp(element, "graph") == 0)
        start_graph(r);
    else if (strcmp(element, "node") == 0)
        start_node(r);
    else if (strcmp(element, "edge") == 0)
        start_edge(r);
    else if (strcmp(element, "data") == 0 && r->where != 0)
        start_data(r);
    else if (strcmp(element, "hyperedge") == 0)
        sked_i_xml_fail_as(x, SKED_ERR_UNSUPPORTED, "a <hyperedge> is not supported");
}

/* ---- end tags */

static bool read_number(reader *r, const char *what, double *out)
{
    sked_i_buffer *text = &r->x->text;
    sked_i_xml_trim(text);
    if (text->size > 0 && sked_i_parse_double(text->data, (size_t)text->size, out))
        return true;
    sked_i_xml_fail(r->x, "%s must be a finite number, not '%s'", what, quote(text).text);
    return false;
}

static void take_text(reader *r, const key *k, sked_i_buffer *out)
{
    if (!k->exact)
        sked_i_xml_trim(&r->x->text);
    out->size = 0;
    sked_i_buffer_add(out, r->x->text.data ? r->x->text.data : "", (size_t)r->x->text.size);
    if (out->failed)
        no_memory(r);
}

static void take_demand(reader *r, const key *k)
{
    double amount;
    if (!read_number(r, "a demand", &amount))
        return;
    if (SKED_OWN_GROW(&r->arena, r->demands, r->demand_cap, r->n_demands + 1))
        r->demands[r->n_demands++] = (sked_i_demand){k->resource, amount};
    else
        no_memory(r);
}

static void take_capacity(reader *r, const key *k)
{
    double capacity = INFINITY;
    sked_i_xml_trim(&r->x->text);
    if (r->x->text.size > 0 && strcmp(r->x->text.data, "INF") == 0)
        r->capacity[k->resource] = INFINITY;
    else if (read_number(r, "a capacity", &capacity))
        r->capacity[k->resource] = capacity;
    if (r->has_nodes)
        sked_i_xml_fail(r->x, "a capacity must come before the first node");
}

static void end_data(reader *r)
{
    const key *k = &r->data;
    r->data_depth = 0;
    if (k->attribute < 0 || r->nested)
        return;
    const char *name = attributes[k->attribute].name;
    if (k->attribute < N_PLAIN && r->has & 1u << k->attribute)
        sked_i_xml_fail(r->x, "\"%s\" comes twice", name);
    if (k->attribute < N_PLAIN)
        r->has |= 1u << k->attribute;
    r->has_name = r->has_name || k->attribute == GRAPH_NAME;
    if (k->attribute < N_NUMBERS)
        read_number(r, name, &r->number[k->attribute]);
    else if (k->attribute < N_PLAIN)
        take_text(r, k, &r->text[k->attribute - N_NUMBERS]);
    else if (k->attribute == NODE_DEMAND)
        take_demand(r, k);
    else
        take_capacity(r, k);
}

/* <default> of a key. */
static void end_default(reader *r)
{
    const key *k = &r->keys[r->current_key];
    r->data_depth = 0;
    if (k->attribute < 0 || r->nested)
        return;
    if (k->attribute < N_NUMBERS) {
        read_number(r, "a default", &r->preset[k->attribute]);
    } else if (k->attribute == NODE_TYPE) {
        take_text(r, k, &r->preset_type);
    } else {
        sked_i_xml_fail_as(r->x, SKED_ERR_UNSUPPORTED, "a default for \"%s\" is not supported",
                           attributes[k->attribute].name);
        return;
    }
    r->has_preset |= 1u << k->attribute;
}

static bool has(const reader *r, int attribute)
{
    return (r->has | r->has_preset) >> attribute & 1u;
}

static double number_of(const reader *r, int attribute, double otherwise)
{
    return r->has >> attribute & 1u          ? r->number[attribute]
           : r->has_preset >> attribute & 1u ? r->preset[attribute]
                                             : otherwise;
}

/* value[k] of each attribute of a table, whose first is number `first` here. */
static void numbers_of(const reader *r, const sked_i_attribute *table, int count, int first, double *value)
{
    for (int k = 0; k < count; k++)
        value[k] = number_of(r, first + k, table[k].info.preset);
}

static bool check(reader *r, sked_status st)
{
    if (st != SKED_OK)
        sked_i_xml_pass(r->x, &r->cause);
    return st == SKED_OK;
}

/* The first node decides whether there is a resource model, and then all resources are known. */
static void settle_resources(reader *r)
{
    const sked_i_source *source = r->x->source;
    r->has_nodes = true;
    if (r->given_model != NULL || source->options->resources != NULL || has(r, NODE_USES))
        if (!check(r,
                   sked_i_resource_model_find(source, r->given_model, &r->model, &r->has_model, &r->cause)))
            return;
    const sked_i_names *names = r->has_model ? &r->model.names : &r->resources;
    for (int32_t i = 0; i < names->count; i++) {
        const double limit = r->has_model ? r->model.unit[i].limit : r->capacity[i];
        if (!check(r,
                   sked_builder_add_resource(r->b, sked_i_names_at(names, i),
                                             r->has_model && limit < 0 ? INFINITY : limit, NULL, &r->cause)))
            return;
    }
}

static bool add_plain_op(reader *r, int32_t op)
{
    const sked_i_buffer *type = r->has >> NODE_TYPE & 1u          ? &r->text[NODE_TYPE - N_NUMBERS]
                                : r->has >> NODE_USES & 1u        ? &r->text[NODE_USES - N_NUMBERS]
                                : r->has_preset >> NODE_TYPE & 1u ? &r->preset_type
                                                                  : NULL;
    r->latency[op] = number_of(r, sked_i_op_duration, 1);
    if (!check(r, sked_builder_add_op(r->b, r->id.data, type ? type->data : NULL, r->latency[op], NULL,
                                      &r->cause)))
        return false;
    if (!sked_i_demands_sort(r->demands, r->n_demands))
        sked_i_xml_fail(r->x, "two demands on the same resource");
    for (int64_t k = 0; k < r->n_demands; k++)
        if (!check(r, sked_builder_add_demand(r->b, op, r->demands[k].resource, r->demands[k].amount,
                                              &r->cause)))
            return false;
    return r->x->status == SKED_OK;
}

/* With a model: occupied for the blocking time, result after the latency. */
static bool add_model_op(reader *r, int32_t op)
{
    const sked_i_buffer *uses = &r->text[NODE_USES - N_NUMBERS];
    if (!has(r, NODE_USES)) {
        sked_i_xml_fail(r->x, "node '%s' has no uses_resource, but there is a resource model",
                        quote(&r->id).text);
        return false;
    }
    const int32_t i = sked_i_names_find(&r->model.names, uses->data, (size_t)uses->size);
    if (i < 0) {
        sked_i_xml_fail(r->x, "node '%s' uses '%s', which the resource model does not have",
                        quote(&r->id).text, quote(uses).text);
        return false;
    }
    r->latency[op] = r->model.unit[i].latency;
    return check(r, sked_builder_add_op(r->b, r->id.data, uses->data, r->model.unit[i].blocking, NULL,
                                        &r->cause)) &&
           check(r, sked_builder_add_demand(r->b, op, i, 1, &r->cause));
}

/* The text is JSON; its own messages say where in it, this one on which line it ends. */
static void take_durations(reader *r, int32_t op)
{
    const sked_i_source inner = {"a node", NULL, 0, r->x->source->options};
    sked_error cause = {0};
    const sked_status st =
        sked_i_durations_add(&inner, NULL, r->text[NODE_DURATIONS - N_NUMBERS].data, r->b, op, &cause);
    if (st == SKED_ERR_MEMORY)
        no_memory(r);
    else if (st != SKED_OK)
        sked_i_xml_fail(r->x, "%s", cause.message);
}

static void end_node(reader *r)
{
    assert(r->where == IN_NODE);
    const int32_t op = sked_builder_op_count(r->b);
    r->where = IN_GRAPH;
    r->where_depth--;
    if (!r->has_nodes)
        settle_resources(r);
    const int32_t i = r->x->status == SKED_OK ? number_id(r, &r->id) : -1;
    if (i < 0)
        return;
    if (r->op_of_id[i] >= 0) {
        sked_i_xml_fail(r->x, "two nodes have the id '%s'", quote(&r->id).text);
        return;
    }
    r->op_of_id[i] = op;
    if (!SKED_OWN_GROW(&r->arena, r->latency, r->latency_cap, (int64_t)op + 1)) {
        no_memory(r);
        return;
    }
    if (!(r->has_model ? add_model_op(r, op) : add_plain_op(r, op)))
        return;
    double value[sked_i_op_attributes];
    numbers_of(r, sked_i_op_table, sked_i_op_attributes, 0, value);
    if (check(r, sked_i_builder_set_values(r->b, op, value, &r->cause)) && r->has >> NODE_DURATIONS & 1u)
        take_durations(r, op);
    if (r->x->status == SKED_OK && r->has >> NODE_VERILOG & 1u)
        check(r, sked_builder_set_verilog(r->b, op, r->text[NODE_VERILOG - N_NUMBERS].data, &r->cause));
}

static void end_edge(reader *r)
{
    pending_edge e = {.from = r->ends[0],
                      .to = r->ends[1],
                      .line = sked_i_xml_line(r->x),
                      .delay = number_of(r, EDGE_DELAY, NAN)};
    r->where = IN_GRAPH;
    r->where_depth--;
    numbers_of(r, sked_i_edge_table, sked_i_edge_attributes, FIRST_OF_EDGES, e.value);
    for (int k = 0; k < sked_i_edge_attributes; k++)
        if (sked_i_edge_table[k].info.kind == SKED_ATTRIBUTE_COUNT &&
            !sked_i_attribute_fits(&sked_i_edge_table[k], e.value[k], NULL)) {
            sked_i_xml_fail(r->x, "%s must be a whole number, 0 or more, not %g",
                            sked_i_edge_table[k].info.name, e.value[k]);
            return;
        }
    if (SKED_OWN_GROW(&r->arena, r->edges, r->edge_cap, r->n_edges + 1))
        r->edges[r->n_edges++] = e;
    else
        no_memory(r);
}

static void on_end(sked_i_xml *x, const char *element)
{
    reader *r = x->data;
    if (r->data_depth > 0 && x->depth > r->data_depth)
        return; /* inside a <data> */
    if (r->data_depth > 0 && r->current_key >= 0)
        end_default(r);
    else if (r->data_depth > 0)
        end_data(r);
    else if (strcmp(element, "key") == 0)
        r->current_key = -1;
    else if (x->depth != r->where_depth)
        return;
    else if (r->where == IN_NODE)
        end_node(r);
    else if (r->where == IN_EDGE)
        end_edge(r);
    else if (r->where == IN_GRAPH) {
        r->where = 0;
        if (!r->has_nodes)
            settle_resources(r);
    }
}

/* ---- after the last tag */

static sked_status unknown_end(const reader *r, const sked_i_source *source, const pending_edge *e,
                               sked_error *err)
{
    const char *id = sked_i_names_at(&r->ids, r->op_of_id[e->from] < 0 ? e->from : e->to);
    return sked_i_fail(err, SKED_ERR_FORMAT, "%s:%d: no node has the id '%s'", source->name, (int)e->line,
                       sked_i_quoted_text(id).text);
}

/* With a model every lag is latency + delay; without one a delay is added to the source's duration. */
static double lag_of(const reader *r, const pending_edge *e, int32_t from)
{
    if (!isnan(e->value[sked_i_edge_lag]))
        return e->value[sked_i_edge_lag];
    if (!r->has_model && (isnan(e->delay) || e->delay == 0))
        return NAN;
    return r->latency[from] + (isnan(e->delay) ? 0 : e->delay);
}

static sked_status add_edges(reader *r, const sked_i_source *source, sked_error *err)
{
    for (int64_t k = 0; k < r->n_edges; k++) {
        pending_edge *e = &r->edges[k];
        const int32_t from = r->op_of_id[e->from], to = r->op_of_id[e->to];
        if (from < 0 || to < 0)
            return unknown_end(r, source, e, err);
        e->value[sked_i_edge_lag] = lag_of(r, e, from);
        if (sked_i_builder_add_edge(r->b, from, to, e->value, &r->cause) != SKED_OK)
            return sked_i_source_pass(source, NULL, &r->cause, err);
    }
    return SKED_OK;
}

static sked_status build(reader *r, const sked_i_source *source, sked_graph **out, sked_error *err)
{
    char stem[256];
    sked_status st = SKED_OK;
    const sked_i_buffer *name = &r->text[GRAPH_NAME - N_NUMBERS];
    const bool own_name = r->has_name || name->size > 0;
    if (!r->has_graph)
        return sked_i_source_fail(source, NULL, err, "there is no <graph>");
    SKED_TRY(sked_builder_set_name(
        r->b, own_name ? name->data : sked_i_source_stem(source, stem, sizeof stem), err));
    SKED_TRY(add_edges(r, source, err));
    SKED_BUILD(source, NULL, sked_builder_finish(r->b, out, &cause));
cleanup:
    return st;
}

static void release(reader *r)
{
    sked_builder_destroy(r->b);
    sked_i_resource_model_free(&r->model);
    sked_i_names *const tables[] = {&r->key_ids, &r->ids, &r->resources};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        sked_i_names_free(tables[i]);
    sked_i_arena_free(&r->arena);
    for (int i = 0; i < N_PLAIN - N_NUMBERS; i++)
        sked_i_buffer_free(&r->text[i]);
    sked_i_buffer *const buffers[] = {&r->preset_type, &r->id, &r->value, &r->name};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        sked_i_buffer_free(buffers[i]);
}

sked_status sked_i_graphml_parse(const sked_i_source *source, const sked_i_source *resource_model,
                                 sked_graph **out, sked_error *err)
{
    static const sked_i_xml_handler handler = {on_start, on_end};
    reader r = {.current_key = -1, .given_model = resource_model};
    sked_status st = SKED_OK;
    SKED_TRY(sked_builder_create(&r.b, err));
    SKED_TRY(sked_i_xml_parse(source, &handler, &r, err));
    SKED_TRY(build(&r, source, out, err));
cleanup:
    release(&r);
    return st;
}

static sked_status graphml_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    return sked_i_graphml_parse(source, NULL, out, err);
}

/* ------------------------------------------------------------------ writing */

static void write_key(sked_i_buffer *out, const char *id, const char *where, const char *name,
                      const char *suffix, const char *type)
{
    sked_i_buffer_format(out, "<key id=\"%s\" for=\"%s\" attr.name=\"%s", id, where, name);
    sked_i_buffer_xml(out, suffix);
    sked_i_buffer_format(out, "\" attr.type=\"%s\"/>\n", type);
}

static void write_keys(const sked_graph *g, sked_i_buffer *out)
{
    char id[24];
    write_key(out, "name", "graph", "name", "", "string");
    write_key(out, "type", "node", "type", "", "string");
    if (g->verilog != NULL)
        write_key(out, "verilog", "node", "verilog", "", "string");
    if (g->on_ptr != NULL)
        write_key(out, "durations", "node", "durations", "", "string");
    for (int i = 0; i < EDGE_DELAY; i++) {
        const bool of_edges = i >= FIRST_OF_EDGES;
        const sked_i_attribute *a = of_edges ? &sked_i_edge_table[i - FIRST_OF_EDGES] : &sked_i_op_table[i];
        if (*sked_i_column(g, a) != NULL || !a->when_used)
            write_key(out, a->info.name, of_edges ? "edge" : "node", a->info.name, "",
                      a->info.kind == SKED_ATTRIBUTE_COUNT ? "int" : "double");
    }
    for (int32_t i = 0; i < g->n_resources; i++) {
        snprintf(id, sizeof id, "c%d", (int)i);
        write_key(out, id, "graph", attributes[GRAPH_CAPACITY].name, sked_graph_resource_name(g, i),
                  "double");
        id[0] = 'd';
        write_key(out, id, "node", attributes[NODE_DEMAND].name, sked_graph_resource_name(g, i), "double");
    }
}

static void write_number(sked_i_buffer *out, const char *id, double x)
{
    sked_i_buffer_format(out, "<data key=\"%s\">", id);
    sked_i_buffer_number(out, x);
    sked_i_buffer_text(out, "</data>");
}

static void write_text(sked_i_buffer *out, const char *id, const char *text)
{
    sked_i_buffer_format(out, "<data key=\"%s\">", id);
    sked_i_buffer_xml(out, text);
    sked_i_buffer_text(out, "</data>");
}

static void write_capacities(const sked_graph *g, sked_i_buffer *out)
{
    char id[24];
    for (int32_t i = 0; i < g->n_resources; i++) {
        snprintf(id, sizeof id, "c%d", (int)i);
        if (isfinite(g->capacity[i]))
            write_number(out, id, g->capacity[i]);
        else
            write_text(out, id, "INF");
        sked_i_buffer_char(out, '\n');
    }
}

static void write_name(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    if (g->op_names.count > 0)
        sked_i_buffer_xml(out, sked_i_names_at(&g->op_names, op));
    else
        sked_i_buffer_int(out, op);
}

static void write_node(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    char id[24];
    double value[sked_i_op_attributes];
    const uint32_t said = sked_i_op_said(g, op, value);
    sked_i_buffer_text(out, "<node id=\"");
    write_name(g, op, out);
    sked_i_buffer_text(out, "\">");
    if (g->type[op] >= 0)
        write_text(out, "type", sked_graph_op_type(g, op));
    if (sked_graph_verilog(g, op) != NULL)
        write_text(out, "verilog", sked_graph_verilog(g, op));
    write_number(out, "duration", g->duration[op]);
    for (int k = sked_i_op_duration + 1; k < sked_i_op_attributes; k++)
        if (said >> k & 1)
            write_number(out, sked_i_op_table[k].info.name, value[k]);
    sked_i_durations_text(g, op, "durations", write_text, out);
    for (int64_t k = g->demand_ptr[op]; k < g->demand_ptr[op + 1]; k++) {
        snprintf(id, sizeof id, "d%d", (int)g->demand_resource[k]);
        write_number(out, id, g->demand_amount[k]);
    }
    sked_i_buffer_text(out, "</node>\n");
}

static void write_edge(const sked_graph *g, int64_t e, sked_i_buffer *out)
{
    double value[sked_i_edge_attributes];
    const uint32_t said = sked_i_edge_said(g, e, value);
    sked_i_buffer_text(out, "<edge source=\"");
    write_name(g, g->edge_from[e], out);
    sked_i_buffer_text(out, "\" target=\"");
    write_name(g, g->edge_to[e], out);
    sked_i_buffer_text(out, said == 0 ? "\"/>\n" : "\">");
    for (int k = 0; k < sked_i_edge_attributes; k++)
        if (said >> k & 1)
            write_number(out, sked_i_edge_table[k].info.name, value[k]);
    if (said != 0)
        sked_i_buffer_text(out, "</edge>\n");
}

/* XML 1.0 has no way to write most control characters. */
static bool writable(const char *text)
{
    for (const char *s = text; *s; s++)
        if (((unsigned char)*s < 0x20 && strchr("\t\n\r", *s) == NULL) || *s == 0x7f ||
            strncmp(s, "\xef\xbf\xbe", 3) == 0 || strncmp(s, "\xef\xbf\xbf", 3) == 0)
            return false;
    return true;
}

static sked_status check_names(const sked_graph *g, sked_error *err)
{
    const sked_i_names *const tables[] = {&g->op_names, &g->type_names, &g->resource_names, &g->on_names};
    static const char *const what[] = {"op", "op type", "resource", "device"};
    if (!writable(sked_graph_name(g)))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the graph's name has characters that XML cannot hold");
    for (int t = 0; t < 4; t++)
        for (int32_t i = 0; i < tables[t]->count; i++)
            if (!writable(sked_i_names_at(tables[t], i)))
                return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                                   "%s number %d: its name has characters that XML cannot hold", what[t],
                                   (int)i);
    return SKED_OK;
}

static sked_status graphml_write(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    const sked_status st = check_names(g, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    write_keys(g, out);
    sked_i_buffer_text(out, "<graph edgedefault=\"directed\">\n");
    write_text(out, "name", sked_graph_name(g));
    sked_i_buffer_char(out, '\n');
    write_capacities(g, out);
    for (int32_t i = 0; i < g->n_ops; i++)
        write_node(g, i, out);
    for (int64_t e = 0; e < g->n_edges; e++)
        write_edge(g, e, out);
    sked_i_buffer_text(out, "</graph>\n</graphml>\n");
    return out->failed ? sked_i_no_memory(err) : SKED_OK;
}

static bool sniff(const char *text, size_t size)
{
    static const char tag[] = "<graph"; /* <graphml>, or a bare <graph> as some benchmarks have */
    const size_t n = sizeof tag - 1;
    for (const char *s = text, *end = text + size; (s = memchr(s, '<', (size_t)(end - s))) != NULL; s++)
        if ((size_t)(end - s) > n && memcmp(s, tag, n) == 0 && strchr("m >\n", s[n]) != NULL)
            return true;
    return false;
}

const sked_i_format sked_i_format_graphml = {
    .info = {"graphml", "GraphML, plain or with a resource model XML", ".graphml", true, true},
    .sniff = sniff,
    .read = graphml_read,
    .write = graphml_write,
};
