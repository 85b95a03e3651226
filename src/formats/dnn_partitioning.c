/* Profiled networks of msr-fiddle/dnn-partitioning: docs/formats/dnn-partitioning.md. */
#include "formats/nodes.h"

enum { NODE_CPU, NODE_FPGA, NODE_SUPPORTED, NODE_SIZE };
enum { LINK_SIZE };

enum { TOP_NODES, TOP_EDGES, TOP_FPGAS, TOP_LOAD, TOP_MAX_FPGAS, TOP_MAX_CPUS, TOP_MAX_SIZE };
static const sked_i_json_fields top_fields =
    SKED_I_JSON_FIELDS("a dnn-partitioning graph", false, "nodes", "edges", "fpgas", "maxLoad", "maxFPGAs",
                       "maxCPUs", "maxSizePerFPGA");

/* On the accelerator where it can run there. A latency that is not given is 0, as for parameters. */
static void make_op(const double *value, sked_i_nodes_op *op)
{
    const bool accelerated = value[NODE_SUPPORTED] > 0 && !isnan(value[NODE_FPGA]);
    const double cpu = isnan(value[NODE_CPU]) ? 0 : value[NODE_CPU];
    op->duration = accelerated ? value[NODE_FPGA] : cpu;
    op->memory = isnan(value[NODE_SIZE]) ? 0 : value[NODE_SIZE];
    op->n_on = 2;
    op->on[0].device = "cpu";
    op->on[0].duration = cpu;
    op->on[1].device = "fpga";
    op->on[1].duration = accelerated ? value[NODE_FPGA] : INFINITY;
}

static void make_edge(const double *value, sked_edge *edge)
{
    edge->bytes = isnan(value[LINK_SIZE]) ? 0 : value[LINK_SIZE];
}

static const sked_i_nodes_spec spec = {
    .node_fields = SKED_I_JSON_FIELDS("a node", false, "id", "name", "type", "cpuLatency", "fpgaLatency",
                                      "supportedOnFpga", "size"),
    .link_fields = SKED_I_JSON_FIELDS("an edge", false, "sourceId", "destId", "source", "dest", "size"),
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

/* CPUs, and accelerators with a limit on memory each. The files know no links: transfers are free. */
static sked_status build_machine(const sked_i_source *source, double cpus, double fpgas, double size,
                                 sked_machine **out, sked_error *err)
{
    sked_machine_builder *b = NULL;
    char stem[256];
    sked_status st = SKED_OK;
    SKED_TRY(sked_machine_builder_create(sked_i_source_stem(source, stem, sizeof stem), &b, err));
    SKED_BUILD(source, NULL, sked_machine_builder_set_link(b, 0, INFINITY, &cause));
    SKED_BUILD(source, NULL, sked_i_read_alike_devices(b, "cpu", "", (int64_t)cpus, 1, INFINITY, &cause));
    SKED_BUILD(source, NULL, sked_i_read_alike_devices(b, "fpga", "", (int64_t)fpgas, 1, size, &cause));
    SKED_BUILD(source, NULL, sked_machine_builder_finish(b, out, &cause));
cleanup:
    sked_machine_builder_destroy(b);
    return st;
}

static sked_status dnn_partitioning_machine(const sked_i_source *source, sked_machine **out, sked_error *err)
{
    sked_i_json j;
    double cpus = 0, fpgas = 0, size = INFINITY;
    uint32_t seen = 0;
    sked_i_json_begin(&j, source, err);
    sked_i_json_enter(&j, '{', "a dnn-partitioning graph");
    for (int k; (k = sked_i_json_field(&j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_MAX_CPUS || k == TOP_MAX_FPGAS)
            *(k == TOP_MAX_CPUS ? &cpus : &fpgas) =
                (double)sked_i_json_integer(&j, top_fields.names[k], 0, 1 << 30);
        else if (k == TOP_MAX_SIZE)
            size = sked_i_json_number(&j, top_fields.names[k]);
        else
            sked_i_json_skip(&j);
    }
    sked_i_json_end(&j);
    if (!SKED_I_JSON_HAS(seen, TOP_MAX_FPGAS) && !SKED_I_JSON_HAS(seen, TOP_MAX_CPUS))
        sked_i_json_fail(&j, "no machine: \"maxFPGAs\" and \"maxCPUs\" are missing");
    sked_status st = j.status;
    if (st == SKED_OK)
        st = build_machine(source, cpus, fpgas, size, out, err);
    sked_i_json_free(&j);
    return st;
}

const sked_i_format sked_i_format_dnn_partitioning = {
    .info = {"dnn-partitioning", "profiled networks of dnn-partitioning, JSON", ".json", true, false},
    .sniff = sniff,
    .read = dnn_partitioning_read,
    .machine = dnn_partitioning_machine,
};
