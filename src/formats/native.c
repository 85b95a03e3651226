/* sked's own graph format, sked-graph-1: docs/formats/native.md and docs/sked-graph-1.schema.json. */
#include "formats/durations.h"

#include <stdio.h>
#include <string.h>

static const char format_id[] = "sked-graph-1";

typedef struct reader {
    sked_i_arena arena;
    sked_i_json j;
    sked_builder *b;
    sked_i_buffer name, type, key, verilog;
    sked_i_demand *demand; /* of the op being read */
    int64_t n_demands, demand_cap;
    const char *durations;               /* of the op being read: where its object starts, NULL: none */
    const char *resources, *ops, *edges; /* where the sections start, NULL: not there */
} reader;

enum { TOP_FORMAT, TOP_NAME, TOP_RESOURCES, TOP_OPS, TOP_EDGES };
static const sked_i_json_fields top_fields =
    SKED_I_JSON_FIELDS("a sked-graph-1 file", true, "format", "name", "resources", "ops", "edges");

enum { RESOURCE_NAME, RESOURCE_CAPACITY };
static const sked_i_json_fields resource_fields = SKED_I_JSON_FIELDS("a resource", true, "name", "capacity");

/* The attributes of the table come first, by their number there. */
#define SKED_X(name, kind, preset, column, meaning) #name,
enum { OP_NAME = sked_i_op_attributes, OP_TYPE, OP_DURATIONS, OP_DEMAND, OP_DELAY, OP_VERILOG };
static const sked_i_json_fields op_fields = SKED_I_JSON_FIELDS(
    "an op", true, SKED_I_OP_ATTRIBUTES(SKED_X) "name", "type", "durations", "demand", "delay", "verilog");

enum { EDGE_FROM = sked_i_edge_attributes, EDGE_TO };
static const sked_i_json_fields edge_fields =
    SKED_I_JSON_FIELDS("an edge", true, SKED_I_EDGE_ATTRIBUTES(SKED_X) "from", "to");
#undef SKED_X

static bool sniff(const char *text, size_t size)
{
    return sked_i_json_mentions(text, size, format_id);
}

static void read_resource(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    double capacity = INFINITY;
    char index[24];
    sked_i_json_enter(j, '{', "a resource");
    for (int k; (k = sked_i_json_field(j, &resource_fields, &seen)) >= 0;) {
        if (k == RESOURCE_NAME)
            sked_i_json_text(j, "a resource's name", &r->name);
        else if (!sked_i_json_null(j))
            capacity = sked_i_json_number(j, "a resource's capacity");
    }
    if (j->status != SKED_OK)
        return;
    snprintf(index, sizeof index, "%lld", (long long)j->number);
    const char *name = SKED_I_JSON_HAS(seen, RESOURCE_NAME) ? r->name.data : index;
    sked_i_json_check(&r->j, sked_builder_add_resource(r->b, name, capacity, NULL, &r->j.cause));
}

/* {"mul": 1}: collected, since the op itself is added when all of it has been read. */
static void read_demand(reader *r)
{
    sked_i_json *j = &r->j;
    sked_i_json_enter(j, '{', "an op's demand");
    while (sked_i_json_key(j)) {
        if (!sked_i_json_key_text(j, &r->key))
            return;
        if (!SKED_OWN_GROW(&r->arena, r->demand, r->demand_cap, r->n_demands + 1)) {
            sked_i_json_no_memory(j);
            return;
        }
        const int32_t resource = sked_builder_find_resource(r->b, r->key.data);
        if (resource < 0) {
            sked_i_json_fail(j, "a demand on resource '%s', which is not declared in \"resources\"",
                             sked_i_quoted_bytes(r->key.data, (size_t)r->key.size).text);
            return;
        }
        r->demand[r->n_demands++] = (sked_i_demand){resource, sked_i_json_number(j, "a demand")};
    }
}

static void add_demands(reader *r, int32_t op)
{
    if (!sked_i_demands_sort(r->demand, r->n_demands))
        sked_i_json_fail(&r->j, "two demands on the same resource");
    for (int64_t k = 0; k < r->n_demands && r->j.status == SKED_OK; k++)
        sked_i_json_check(&r->j, sked_builder_add_demand(r->b, op, r->demand[k].resource, r->demand[k].amount,
                                                         &r->j.cause));
}

/* {"gpu": 0.5, "npu": null}: read when the op has been added; the reader then continues behind the op. */
static void read_durations(reader *r, int32_t op)
{
    sked_i_json *j = &r->j;
    const char *behind = j->at;
    sked_i_json_seek(j, r->durations);
    sked_i_durations_read(j, &r->key, r->b, op);
    if (j->status == SKED_OK)
        sked_i_json_seek(j, behind);
}

static double read_attribute(sked_i_json *j, const sked_attribute_info *a)
{
    if (a->kind == SKED_ATTRIBUTE_FLAG)
        return sked_i_json_bool(j, a->name);
    if (a->kind == SKED_ATTRIBUTE_COUNT)
        return (double)sked_i_json_integer(j, a->name, 0, INT32_MAX);
    return a->kind == SKED_ATTRIBUTE_REAL && sked_i_json_null(j) ? a->preset : sked_i_json_number(j, a->name);
}

static void read_op(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    double value[sked_i_op_attributes];
    int32_t op = 0;
    r->n_demands = 0;
    r->durations = NULL;
    sked_i_op_presets(value);
    sked_i_json_enter(j, '{', "an op");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &op_fields, &seen)) >= 0;) {
        if (k == OP_NAME)
            sked_i_json_text(j, "an op's name", &r->name);
        else if (k == OP_TYPE)
            sked_i_json_text(j, "an op's type", &r->type);
        else if (k == OP_VERILOG)
            sked_i_json_text(j, "an op's Verilog", &r->verilog);
        else if (k == OP_DEMAND)
            read_demand(r);
        else if (k == OP_DURATIONS)
            r->durations = sked_i_json_defer(j);
        else if (k == OP_DELAY)
            sked_i_delay_read(j, &value[sked_i_op_delay_in], &value[sked_i_op_delay_out]);
        else
            value[k] = read_attribute(j, &sked_i_op_table[k].info);
    }
    j->token = j->status == SKED_OK ? begin : j->token;
    if (!SKED_I_JSON_HAS(seen, sked_i_op_duration))
        sked_i_json_fail(j, "an op without \"duration\"");
    if (j->status != SKED_OK)
        return;
    sked_i_json_check(&r->j, sked_builder_add_op(r->b, SKED_I_JSON_HAS(seen, OP_NAME) ? r->name.data : NULL,
                                                 SKED_I_JSON_HAS(seen, OP_TYPE) ? r->type.data : NULL,
                                                 value[sked_i_op_duration], &op, &r->j.cause));
    if (j->status == SKED_OK)
        sked_i_json_check(&r->j, sked_i_builder_set_values(r->b, op, value, &r->j.cause));
    if (j->status == SKED_OK && SKED_I_JSON_HAS(seen, OP_VERILOG))
        sked_i_json_check(&r->j, sked_builder_set_verilog(r->b, op, r->verilog.data, &r->j.cause));
    if (r->n_demands > 0)
        add_demands(r, op);
    if (r->durations != NULL && j->status == SKED_OK)
        read_durations(r, op);
}

/* A name (string) or an index (number). */
static int32_t read_end(reader *r)
{
    sked_i_json *j = &r->j;
    if (sked_i_json_peek(j) == '"') {
        sked_i_json_text(j, "an edge's end", &r->name);
        const int32_t op = j->status == SKED_OK ? sked_builder_find_op(r->b, r->name.data) : 0;
        if (op < 0)
            sked_i_json_fail(j, "no op is called '%s'",
                             sked_i_quoted_bytes(r->name.data, (size_t)r->name.size).text);
        return op;
    }
    const int32_t count = sked_builder_op_count(r->b);
    const double index = sked_i_json_number(j, "an edge's end");
    if (j->status == SKED_OK && (!(index >= 0 && index < count) || index != floor(index)))
        sked_i_json_fail(j, "no op has the index %.17g; there are %d, counted from 0", index, (int)count);
    return j->status == SKED_OK ? (int32_t)index : 0;
}

static void read_edge_pair(reader *r, int32_t end[2])
{
    sked_i_json *j = &r->j;
    int count = 0;
    sked_i_json_enter(j, '[', "an edge");
    while (sked_i_json_more(j) && count < 2)
        end[count++] = read_end(r);
    if (j->status == SKED_OK && (count < 2 || j->at[-1] != ']'))
        sked_i_json_fail(j, "an edge written as an array has two elements, [from, to]");
}

static void read_edge_object(reader *r, int32_t end[2], double *value)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "an edge");
    for (int k; (k = sked_i_json_field(j, &edge_fields, &seen)) >= 0;)
        if (k >= EDGE_FROM)
            end[k - EDGE_FROM] = read_end(r);
        else
            value[k] = read_attribute(j, &sked_i_edge_table[k].info);
    if (j->status == SKED_OK && (!SKED_I_JSON_HAS(seen, EDGE_FROM) || !SKED_I_JSON_HAS(seen, EDGE_TO)))
        sked_i_json_fail(j, "an edge needs both \"from\" and \"to\"");
}

static void read_edge(reader *r)
{
    int32_t end[2] = {0};
    double value[sked_i_edge_attributes];
    sked_i_edge_presets(value);
    if (sked_i_json_peek(&r->j) == '[')
        read_edge_pair(r, end);
    else
        read_edge_object(r, end, value);
    if (r->j.status == SKED_OK)
        sked_i_json_check(&r->j, sked_i_builder_add_edge(r->b, end[0], end[1], value, &r->j.cause));
}

/* The whole object once: format and name are read, the sections only located. */
static void read_top(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "a graph");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_FORMAT) {
            sked_i_json_text(j, "\"format\"", &r->name);
            if (j->status == SKED_OK && strcmp(r->name.data, format_id) != 0)
                sked_i_json_fail(j, "the format is '%s', not '%s'",
                                 sked_i_quoted_bytes(r->name.data, (size_t)r->name.size).text, format_id);
        } else if (k == TOP_NAME) {
            sked_i_json_text(j, "the graph's name", &r->name);
            if (j->status == SKED_OK)
                sked_i_json_check(&r->j, sked_builder_set_name(r->b, r->name.data, &r->j.cause));
        } else {
            *(k == TOP_RESOURCES ? &r->resources : k == TOP_OPS ? &r->ops : &r->edges) = sked_i_json_defer(j);
        }
    }
    sked_i_json_end(j);
    if (r->ops == NULL || r->edges == NULL)
        sked_i_json_fail(j, "a graph needs both \"ops\" and \"edges\"");
}

static sked_status native_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    reader r = {0};
    sked_status st = SKED_OK;
    sked_i_json_begin(&r.j, source, err);
    SKED_TRY(sked_builder_create(&r.b, err));
    read_top(&r);
    while (sked_i_json_each(&r.j, r.resources, "\"resources\"", "resource"))
        read_resource(&r);
    while (sked_i_json_each(&r.j, r.ops, "\"ops\"", "op"))
        read_op(&r);
    while (sked_i_json_each(&r.j, r.edges, "\"edges\"", "edge"))
        read_edge(&r);
    SKED_TRY(r.j.status);
    SKED_BUILD(source, NULL, sked_builder_finish(r.b, out, &cause));
cleanup:
    sked_builder_destroy(r.b);
    sked_i_json_free(&r.j);
    sked_i_buffer_free(&r.name);
    sked_i_buffer_free(&r.type);
    sked_i_buffer_free(&r.key);
    sked_i_buffer_free(&r.verilog);
    sked_i_arena_free(&r.arena);
    return st;
}

/* ,"name":value */
static void write_attribute(sked_i_buffer *out, const sked_attribute_info *a, double value)
{
    sked_i_buffer_text(out, ",\"");
    sked_i_buffer_text(out, a->name);
    sked_i_buffer_text(out, "\":");
    if (a->kind == SKED_ATTRIBUTE_FLAG)
        sked_i_buffer_text(out, value != 0 ? "true" : "false");
    else
        sked_i_buffer_number(out, value);
}

static void write_resources(const sked_graph *g, sked_i_buffer *out)
{
    if (g->n_resources == 0)
        return;
    sked_i_buffer_text(out, ",\n\"resources\":[");
    for (int32_t i = 0; i < g->n_resources; i++) {
        sked_i_buffer_json_after(out, i ? ",\n{\"name\":" : "\n{\"name\":", sked_graph_resource_name(g, i));
        sked_i_buffer_number_after(out, ",\"capacity\":", g->capacity[i]);
        sked_i_buffer_char(out, '}');
    }
    sked_i_buffer_text(out, "\n]");
}

static void write_demand(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    for (int64_t k = g->demand_ptr[op]; k < g->demand_ptr[op + 1]; k++) {
        sked_i_buffer_json_after(out, k == g->demand_ptr[op] ? ",\"demand\":{" : ",",
                                 sked_graph_resource_name(g, g->demand_resource[k]));
        sked_i_buffer_number_after(out, ":", g->demand_amount[k]);
    }
    if (g->demand_ptr[op] < g->demand_ptr[op + 1])
        sked_i_buffer_char(out, '}');
}

static void write_op(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    double value[sked_i_op_attributes];
    const uint32_t said = sked_i_op_said(g, op, value);
    sked_i_buffer_char(out, '{');
    if (g->op_names.count > 0) {
        sked_i_buffer_json_after(out, "\"name\":", sked_i_names_at(&g->op_names, op));
        sked_i_buffer_char(out, ',');
    }
    if (g->type[op] >= 0) {
        sked_i_buffer_json_after(out, "\"type\":", sked_graph_op_type(g, op));
        sked_i_buffer_char(out, ',');
    }
    sked_i_buffer_number_after(out, "\"duration\":", g->duration[op]);
    if (g->on_ptr != NULL && g->on_ptr[op] < g->on_ptr[op + 1]) {
        sked_i_buffer_text(out, ",\"durations\":");
        sked_i_durations_write(g, op, out);
    }
    write_demand(g, op, out);
    const uint32_t delays = 1u << sked_i_op_delay_in | 1u << sked_i_op_delay_out;
    if (said & delays)
        sked_i_delay_write(out, value[sked_i_op_delay_in], value[sked_i_op_delay_out]);
    for (int k = sked_i_op_duration + 1; k < sked_i_op_attributes; k++)
        if ((said & ~delays) >> k & 1)
            write_attribute(out, &sked_i_op_table[k].info, value[k]);
    if (sked_graph_verilog(g, op) != NULL)
        sked_i_buffer_json_after(out, ",\"verilog\":", sked_graph_verilog(g, op));
    sked_i_buffer_char(out, '}');
}

static void write_end(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    if (g->op_names.count > 0)
        sked_i_buffer_json(out, sked_i_names_at(&g->op_names, op));
    else
        sked_i_buffer_int(out, op);
}

static void write_edge(const sked_graph *g, int64_t e, sked_i_buffer *out)
{
    double value[sked_i_edge_attributes];
    const uint32_t said = sked_i_edge_said(g, e, value);
    sked_i_buffer_text(out, said == 0 ? "[" : "{\"from\":");
    write_end(g, g->edge_from[e], out);
    sked_i_buffer_text(out, said == 0 ? "," : ",\"to\":");
    write_end(g, g->edge_to[e], out);
    for (int k = 0; k < sked_i_edge_attributes; k++)
        if (said >> k & 1)
            write_attribute(out, &sked_i_edge_table[k].info, value[k]);
    sked_i_buffer_char(out, said == 0 ? ']' : '}');
}

static sked_status native_write(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    sked_i_buffer_format(out, "{\"format\":\"%s\"", format_id);
    if (sked_graph_name(g)[0] != 0)
        sked_i_buffer_json_after(out, ",\"name\":", sked_graph_name(g));
    write_resources(g, out);
    sked_i_buffer_text(out, ",\n\"ops\":[");
    for (int32_t i = 0; i < g->n_ops; i++) {
        sked_i_buffer_text(out, i ? ",\n" : "\n");
        write_op(g, i, out);
    }
    sked_i_buffer_text(out, "\n],\n\"edges\":[");
    for (int64_t e = 0; e < g->n_edges; e++) {
        sked_i_buffer_text(out, e ? ",\n" : "\n");
        write_edge(g, e, out);
    }
    sked_i_buffer_text(out, "\n]}\n");
    return out->failed ? sked_i_no_memory(err) : SKED_OK;
}

const sked_i_format sked_i_format_native = {
    .info = {"native", "sked's own JSON graph (sked-graph-1)", ".json", true, true},
    .sniff = sniff,
    .read = native_read,
    .write = native_write,
};
