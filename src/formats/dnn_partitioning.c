/* Profiled networks of msr-fiddle/dnn-partitioning: docs/formats/dnn-partitioning.md. */
#include "formats/nodes.h"

enum { NODE_CPU, NODE_FPGA, NODE_SUPPORTED, NODE_SIZE };
static const char *const node_keys[] = {"id",  "name", "type", "cpuLatency", "fpgaLatency", "supportedOnFpga",
                                        "size"};

enum { LINK_SIZE };
static const char *const link_keys[] = {"sourceId", "destId", "source", "dest", "size"};

enum { TOP_NODES, TOP_EDGES, TOP_FPGAS, TOP_LOAD };
static const char *const top_keys[] = {"nodes", "edges", "fpgas", "maxLoad"};
static const sked_i_json_fields top_fields = {"a dnn-partitioning graph", top_keys, 4, false};

/* On the accelerator where it can run there. A latency that is not given is 0, as for parameters. */
static void make_op(const double *value, sked_i_nodes_op *op)
{
    const bool accelerated = value[NODE_SUPPORTED] > 0 && !isnan(value[NODE_FPGA]);
    const double latency = accelerated ? value[NODE_FPGA] : value[NODE_CPU];
    op->duration = isnan(latency) ? 0 : latency;
    op->memory = isnan(value[NODE_SIZE]) ? 0 : value[NODE_SIZE];
}

static void make_edge(const double *value, sked_edge *edge)
{
    edge->bytes = isnan(value[LINK_SIZE]) ? 0 : value[LINK_SIZE];
}

static const sked_i_nodes_spec spec = {
    .node_fields = {"a node", node_keys, 7, false},
    .link_fields = {"an edge", link_keys, 5, false},
    .op = make_op,
    .edge = make_edge,
};

static bool sniff(const char *text, size_t size)
{
    const bool graph =
        sked_i_json_mentions(text, size, "fpgaLatency") || sked_i_json_mentions(text, size, "maxFPGAs");
    const bool split = sked_i_json_mentions(text, size, "fpgas") && sked_i_json_mentions(text, size, "cpus");
    return graph || split;
}

static sked_status dnn_partitioning_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_i_json j;
    const char *nodes = NULL, *edges = NULL;
    uint32_t seen = 0;
    sked_i_json_begin(&j, source, err);
    sked_i_json_enter(&j, '{', "a dnn-partitioning graph");
    for (int k; (k = sked_i_json_field(&j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_NODES)
            nodes = sked_i_json_defer(&j);
        else if (k == TOP_EDGES)
            edges = sked_i_json_defer(&j);
        else
            sked_i_json_skip(&j);
    }
    sked_i_json_end(&j);
    if (SKED_I_JSON_HAS(seen, TOP_FPGAS) && nodes == NULL)
        sked_i_json_fail_as(&j, SKED_ERR_UNSUPPORTED,
                            "this file is an expert's split of a graph over devices, not a graph");
    if (nodes == NULL || edges == NULL)
        sked_i_json_fail(&j, "a dnn-partitioning graph needs \"nodes\" and \"edges\"");
    sked_status st = j.status;
    if (st == SKED_OK)
        st = sked_i_nodes_build(&j, &spec, nodes, edges, NULL, out);
    sked_i_json_free(&j);
    return st;
}

const sked_i_format sked_i_format_dnn_partitioning = {
    .info = {"dnn-partitioning", "profiled networks of dnn-partitioning, JSON", ".json", true, false},
    .sniff = sniff,
    .read = dnn_partitioning_read,
};
