#include "formats/wfformat_machine.h"

#include <string.h>

enum { NODE_NAME, NODE_CPU, NODE_MEMORY };
static const sked_i_json_fields node_fields =
    SKED_I_JSON_FIELDS("a machine", false, "nodeName", "cpu", "memoryInBytes");

enum { CPU_CORES, CPU_CORES_OLD, CPU_CLOCK, CPU_CLOCK_OLD };
static const sked_i_json_fields cpu_fields =
    SKED_I_JSON_FIELDS("\"cpu\"", false, "coreCount", "count", "speedInMHz", "speed");

static void read_cpu(sked_i_json *j, sked_i_wfnode *node)
{
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "\"cpu\"");
    for (int k; (k = sked_i_json_field(j, &cpu_fields, &seen)) >= 0;) {
        if (sked_i_json_null(j))
            continue;
        if (k == CPU_CORES || k == CPU_CORES_OLD) {
            node->cores = (double)sked_i_json_integer(j, cpu_fields.names[k], 1, 1 << 30);
        } else {
            node->clock = sked_i_json_number(j, cpu_fields.names[k]);
            if (node->clock < 0)
                sked_i_json_fail(j, "\"%s\" must be 0 or more", cpu_fields.names[k]);
            node->clock = node->clock > 0 ? node->clock : NAN; /* 0: not measured */
        }
    }
}

static void read_node(sked_i_json *j, sked_i_wfnodes *nodes, sked_i_buffer *name)
{
    sked_i_wfnode node = {.cores = 1, .memory = INFINITY, .clock = NAN};
    uint32_t seen = 0;
    bool fresh = true;
    sked_i_json_enter(j, '{', "a machine");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &node_fields, &seen)) >= 0;) {
        if (k == NODE_NAME)
            sked_i_json_text(j, "a machine's nodeName", name);
        else if (k == NODE_CPU && sked_i_json_peek(j) == '{')
            read_cpu(j, &node);
        else if (k == NODE_MEMORY && !sked_i_json_null(j))
            node.memory = sked_i_json_number(j, "memoryInBytes");
        else if (k == NODE_CPU)
            sked_i_json_skip(j);
    }
    j->token = j->status == SKED_OK ? begin : j->token;
    if (!SKED_I_JSON_HAS(seen, NODE_NAME) || node.memory < 0)
        sked_i_json_fail(j, node.memory < 0 ? "\"memoryInBytes\" must be 0 or more"
                                            : "a machine without \"nodeName\"");
    if (j->status != SKED_OK)
        return;
    const int32_t i = sked_i_names_add(&nodes->names, name->data, (size_t)name->size, &fresh);
    if (i < 0 || !SKED_GROW(nodes->node, nodes->cap, nodes->names.count))
        sked_i_json_no_memory(j);
    else if (!fresh)
        sked_i_json_fail(j, "two machines have the name '%s'",
                         sked_i_quoted_bytes(name->data, (size_t)name->size).text);
    else
        nodes->node[i] = node;
}

void sked_i_wfnodes_read(sked_i_json *j, const char *place, sked_i_wfnodes *nodes)
{
    sked_i_buffer name = {0};
    while (sked_i_json_each(j, place, "\"machines\"", "machine"))
        read_node(j, nodes, &name);
    sked_i_buffer_free(&name);
}

void sked_i_wfnodes_free(sked_i_wfnodes *nodes)
{
    sked_i_names_free(&nodes->names);
    free(nodes->node);
}

/* The clock that counts as speed 1; NAN: none is stated. */
static double first_clock(const sked_i_wfnodes *nodes)
{
    for (int32_t i = 0; i < nodes->names.count; i++)
        if (!isnan(nodes->node[i].clock))
            return nodes->node[i].clock;
    return NAN;
}

bool sked_i_wfnodes_differ(const sked_i_wfnodes *nodes)
{
    const double first = first_clock(nodes);
    for (int32_t i = 0; i < nodes->names.count; i++)
        if (!isnan(nodes->node[i].clock) && nodes->node[i].clock != first)
            return true;
    return false;
}

/* The cores of a node share its memory equally, so that a schedule within the shares is within the node. */
static sked_status add_node(sked_machine_builder *b, const char *name, const sked_i_wfnode *node,
                            double first, sked_error *err)
{
    const double speed = isnan(node->clock) ? 1 : node->clock / first;
    if (node->cores <= 1)
        return sked_machine_builder_add_device(b, name, NULL, speed, node->memory, NULL, err);
    return sked_i_read_alike_devices(b, name, "/", (int64_t)node->cores, speed,
                                     floor(node->memory / node->cores), err);
}

sked_status sked_i_wfnodes_machine(const sked_i_source *source, const sked_i_wfnodes *nodes, const char *name,
                                   sked_machine **out, sked_error *err)
{
    sked_machine_builder *b = NULL;
    sked_status st = SKED_OK;
    SKED_TRY(sked_machine_builder_create(name, &b, err));
    /* the files know no network */
    SKED_BUILD(source, NULL, sked_machine_builder_set_link(b, 0, INFINITY, &cause));
    for (int32_t i = 0; i < nodes->names.count; i++)
        SKED_BUILD(
            source, NULL,
            add_node(b, sked_i_names_at(&nodes->names, i), &nodes->node[i], first_clock(nodes), &cause));
    SKED_BUILD(source, NULL, sked_machine_builder_finish(b, out, &cause));
cleanup:
    sked_machine_builder_destroy(b);
    return st;
}
