/* networkx node-link JSON: docs/formats/node-link.md. */
#include "formats/nodes.h"

enum { NODE_DURATION, NODE_COST_CPU, NODE_MEMORY, NODE_COST_RAM, NODE_OUT_COST, NODE_WEIGHT };
enum { LINK_LAG, LINK_BYTES, LINK_DISTANCE };

enum { TOP_DIRECTED, TOP_GRAPH, TOP_NODES, TOP_LINKS, TOP_EDGES };
static const sked_i_json_fields top_fields =
    SKED_I_JSON_FIELDS("a node-link graph", false, "directed", "graph", "nodes", "links", "edges");
static const sked_i_json_fields attribute_fields = SKED_I_JSON_FIELDS("\"graph\"", false, "name");

/* The first of a and b that was given, else `otherwise`. */
static double first_of(double a, double b, double otherwise)
{
    return !isnan(a) ? a : !isnan(b) ? b : otherwise;
}

static void make_op(const double *value, sked_i_nodes_op *op)
{
    op->duration = first_of(value[NODE_DURATION], value[NODE_COST_CPU], 1);
    op->memory = first_of(value[NODE_MEMORY], first_of(value[NODE_COST_RAM], value[NODE_OUT_COST], 0), 0);
    op->weight = first_of(value[NODE_WEIGHT], NAN, 1);
}

static void make_edge(const double *value, sked_edge *edge)
{
    const double distance = first_of(value[LINK_DISTANCE], NAN, 0);
    edge->lag = value[LINK_LAG];
    edge->bytes = first_of(value[LINK_BYTES], NAN, 0);
    edge->distance = distance >= 0 && distance <= INT32_MAX && distance == floor(distance)
                         ? (int32_t)distance
                         : -1; /* the builder refuses it */
}

static const sked_i_nodes_spec spec = {
    .node_fields = SKED_I_JSON_FIELDS("a node", false, "id", "name", "type", "duration", "cost_cpu", "memory",
                                      "cost_ram", "out_cost", "weight"),
    .link_fields =
        SKED_I_JSON_FIELDS("a link", false, "source", "target", "0", "1", "lag", "bytes", "distance"),
    .op = make_op,
    .edge = make_edge,
};

static bool sniff(const char *text, size_t size)
{
    const bool flags =
        sked_i_json_mentions(text, size, "directed") && sked_i_json_mentions(text, size, "multigraph");
    return flags || (sked_i_json_mentions(text, size, "nodes") && sked_i_json_mentions(text, size, "links"));
}

/* {"name": "g"}, or whatever else an older networkx wrote there. */
static void read_attributes(sked_i_json *j, sked_i_buffer *name)
{
    uint32_t seen = 0;
    if (sked_i_json_peek(j) != '{') {
        sked_i_json_skip(j);
        return;
    }
    sked_i_json_enter(j, '{', "\"graph\"");
    while (sked_i_json_field(j, &attribute_fields, &seen) >= 0) {
        if (sked_i_json_peek(j) == '"')
            sked_i_json_text(j, "the graph's name", name);
        else
            sked_i_json_skip(j);
    }
}

static sked_status node_link_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_i_json j;
    sked_i_buffer name = {0};
    const char *nodes = NULL, *links = NULL;
    uint32_t seen = 0;
    sked_i_json_begin(&j, source, err);
    sked_i_json_enter(&j, '{', "a node-link graph");
    for (int k; (k = sked_i_json_field(&j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_DIRECTED && !sked_i_json_bool(&j, "\"directed\""))
            sked_i_json_fail_as(&j, SKED_ERR_UNSUPPORTED, "the graph is undirected: it gives no order");
        else if (k == TOP_GRAPH)
            read_attributes(&j, &name);
        else if (k == TOP_NODES)
            nodes = sked_i_json_defer(&j);
        else if (k != TOP_DIRECTED)
            links = sked_i_json_defer(&j);
    }
    sked_i_json_end(&j);
    if (SKED_I_JSON_HAS(seen, TOP_LINKS) && SKED_I_JSON_HAS(seen, TOP_EDGES))
        sked_i_json_fail(&j, "both \"links\" and \"edges\"");
    if (nodes == NULL || links == NULL)
        sked_i_json_fail(&j, "a node-link graph needs \"nodes\" and \"links\" (or \"edges\")");
    sked_status st = j.status;
    if (st == SKED_OK)
        st = sked_i_nodes_build(&j, &spec, nodes, links, name.data, out);
    sked_i_json_free(&j);
    sked_i_buffer_free(&name);
    return st;
}

const sked_i_format sked_i_format_node_link = {
    .info = {"node-link", "networkx node-link JSON", ".json", true, false},
    .sniff = sniff,
    .read = node_link_read,
};
