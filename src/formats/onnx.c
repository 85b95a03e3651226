/*
 * ONNX models (protobuf): docs/formats/onnx.md.
 *
 * protobuf-c unpacks without a limit on nesting, copies whole arrays each time a single field is repeated,
 * and spends a hundred bytes on an empty message, so the bytes are walked once before it sees them.
 */
#include "formats/format.h"
#include "formats/onnx_devices.h"
#include "formats/onnx_dims.h"
#include "formats/onnx_operators.h"
#include "formats/onnx_shapes.h"
#include "formats/onnx_wire.h"
#include "graph/attributes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ before unpacking */

enum { max_depth = 64 }; /* an If inside a Loop inside an If takes nine levels */

typedef struct scan {
    const sked_i_source *source;
    const uint8_t *begin;
    double memory; /* what unpacking will take, about */
    sked_error *err;
} scan;

static sked_status broken(const scan *s, const uint8_t *at, const char *what)
{
    return sked_i_fail(s->err, SKED_ERR_FORMAT, "%s: byte %lld: not an ONNX model: %s", s->source->name,
                       (long long)(at - s->begin), what);
}

/* About what protobuf-c will allocate for one field, messages inside it not counted. */
static double field_memory(const ProtobufCFieldDescriptor *field, double length)
{
    if (field == NULL)
        return sizeof(ProtobufCMessageUnknownField) + length;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return 0;
    const bool bytes = field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES;
    return 16 + (bytes ? length : 8 * length); /* packed numbers grow from one byte to eight */
}

/* Checks one message and those inside it; the depth of the recursion is limited. */
static sked_status walk(scan *s, const ProtobufCMessageDescriptor *type, const uint8_t *at,
                        const uint8_t *end, int depth)
{
    uint64_t seen = 0; /* single messages, by field number */
    if (depth > max_depth)
        return broken(s, at, "nested too deep");
    s->memory += (double)type->sizeof_message + 2 * sizeof(void *);
    while (at < end) {
        const uint8_t *start = at;
        uint64_t tag = 0, length = 0;
        at = sked_i_onnx_varint(at, end, &tag);
        const uint8_t *next = at ? sked_i_onnx_skip(at, end, (int)(tag & 7), &length) : NULL;
        if (next == NULL)
            return broken(s, start, "a field is cut off or of an unknown kind");
        const uint64_t number = tag >> 3;
        const ProtobufCFieldDescriptor *field =
            number <= 1000 ? protobuf_c_message_descriptor_get_field(type, (unsigned)number) : NULL;
        s->memory += field_memory(field, (double)length);
        if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE && (tag & 7) == 2) {
            const uint64_t bit =
                field->label != PROTOBUF_C_LABEL_REPEATED && number < 64 ? 1ull << number : 0;
            if (seen & bit)
                return broken(s, start, "a field that may come once comes twice");
            seen |= bit;
            const sked_status st = walk(s, field->descriptor, next - length, next, depth + 1);
            if (st != SKED_OK)
                return st;
        }
        at = next;
    }
    return SKED_OK;
}

/* Remembers that an allocation failed: protobuf-c answers NULL for that as for malformed bytes. */
static void *pb_alloc(void *failed, size_t size)
{
    void *p = malloc(size ? size : 1);
    if (p == NULL)
        *(bool *)failed = true;
    return p;
}

static void pb_free(void *failed, void *p)
{
    (void)failed;
    free(p);
}

static sked_status unpack(const sked_i_source *source, ProtobufCAllocator *allocator, Onnx__ModelProto **out,
                          sked_error *err)
{
    const uint8_t *bytes = (const uint8_t *)source->text;
    scan s = {.source = source, .begin = bytes, .err = err};
    sked_status st = walk(&s, &onnx__model_proto__descriptor, bytes, bytes + source->size, 0);
    if (st != SKED_OK)
        return st;
    if (s.memory > 32 * (double)source->size + 64 * 0x1p20)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "%s: unpacking these %lld bytes would take %.0f MiB, which no real model does",
                           source->name, (long long)source->size, s.memory / 0x1p20);
    *out = onnx__model_proto__unpack(allocator, source->size, bytes);
    if (*out != NULL)
        return SKED_OK;
    return *(bool *)allocator->allocator_data ? sked_i_no_memory(err)
                                              : broken(&s, bytes, "it does not unpack");
}

/* ------------------------------------------------------------------ tensors */

enum { GIVEN = -2, UNMADE = -1 }; /* producers that are no node: inputs and weights; nothing */

typedef struct reader {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_error *err;
    const Onnx__GraphProto *graph;
    sked_i_onnx_shapes shapes;
    sked_i_onnx_scope scope; /* the tensors of the main graph */
    sked_i_onnx_devices devices;
    sked_builder *b;
    sked_i_buffer text, name; /* of the op being added: its type and its name */

    /* edges into op i: its sources, what comes from each, and who was counted last */
    int32_t *sources, *tensor_mark, *op_mark;
    double *bytes_from;
    int64_t n_sources;
    bool *alone, *passing; /* [nodes] makes one tensor; and that is no result of the graph */
} reader;

static int32_t find_tensor(const reader *r, const char *name)
{
    return name[0] ? sked_i_names_find(&r->scope.names, name, strlen(name)) : -1;
}

static const char *node_label(const reader *r, size_t i, char *buf, size_t size)
{
    const Onnx__NodeProto *node = r->graph->node[i];
    const char *name = node->name && node->name[0] ? node->name : node->op_type ? node->op_type : "";
    snprintf(buf, size, "node %zu ('%s')", i, sked_i_quoted_text(name).text);
    return buf;
}

static sked_status add_outputs(reader *r, size_t i)
{
    const Onnx__NodeProto *node = r->graph->node[i];
    char label[120];
    for (size_t k = 0; k < node->n_output; k++) {
        const char *name = node->output[k];
        if (name[0] == 0)
            continue; /* an optional output that is not wanted */
        const int32_t t = sked_i_onnx_scope_add(&r->scope, name);
        if (t < 0)
            return sked_i_no_memory(r->err);
        if (r->scope.tensor[t].producer != UNMADE)
            return sked_i_source_fail(r->source, NULL, r->err,
                                      "%s makes the tensor '%s', which exists already",
                                      node_label(r, i, label, sizeof label), sked_i_quoted_text(name).text);
        r->scope.tensor[t].producer = (int32_t)i;
    }
    return SKED_OK;
}

/* Every tensor that the main graph names, in one table. */
static sked_status add_tensors(reader *r)
{
    const Onnx__GraphProto *g = r->graph;
    sked_i_onnx_scope *all = &r->scope;
    sked_status st = SKED_OK;
    if (!sked_i_onnx_scope_state(all, g->input, g->n_input))
        return sked_i_no_memory(r->err);
    for (int32_t t = 0; t < all->names.count; t++)
        all->tensor[t].producer = GIVEN;
    if (!sked_i_onnx_scope_state(all, g->value_info, g->n_value_info) ||
        !sked_i_onnx_scope_state(all, g->output, g->n_output) ||
        !sked_i_onnx_scope_weights(all, &r->shapes.arena, g, GIVEN))
        return sked_i_no_memory(r->err);
    for (size_t i = 0; i < g->n_node; i++)
        SKED_TRY(add_outputs(r, i));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ ops */

/* "Conv", or "com.example.Fused" for operators that are not ONNX's own. */
static const char *type_of(reader *r, const Onnx__NodeProto *node)
{
    r->text.size = 0;
    if (node->domain && node->domain[0] && strcmp(node->domain, "ai.onnx") != 0) {
        sked_i_buffer_text(&r->text, node->domain);
        sked_i_buffer_char(&r->text, '.');
    }
    sked_i_buffer_text(&r->text, node->op_type ? node->op_type : "");
    return r->text.failed ? NULL : r->text.data;
}

/*
 * The node's name, else that of its first output, else its type; in r->name. Where another op has it already,
 * "_" and the node's number follow, as often as it takes.
 */
static bool name_node(reader *r, size_t i)
{
    sked_i_buffer *name = &r->name;
    const Onnx__NodeProto *node = r->graph->node[i];
    name->size = 0;
    sked_i_buffer_text(name, node->name && node->name[0]                ? node->name
                             : node->n_output > 0 && node->output[0][0] ? node->output[0]
                             : node->op_type                            ? node->op_type
                                                                        : "node");
    while (!name->failed && sked_builder_find_op(r->b, name->data) >= 0)
        sked_i_buffer_format(name, "_%zu", i);
    return !name->failed;
}

/* Every input is given or made by a node. */
static sked_status check_inputs(reader *r, size_t i)
{
    const Onnx__NodeProto *node = r->graph->node[i];
    char label[120];
    for (size_t k = 0; k < node->n_input; k++) {
        const int32_t t = find_tensor(r, node->input[k]);
        if (node->input[k][0] && (t < 0 || r->scope.tensor[t].producer == UNMADE))
            return sked_i_source_fail(
                r->source, NULL, r->err, "%s reads the tensor '%s', which nothing makes",
                node_label(r, i, label, sizeof label), sked_i_quoted_text(node->input[k]).text);
    }
    return SKED_OK;
}

/* An op that the file places on one device cannot run on the others of the file. */
static sked_status place_op(const reader *r, size_t i, sked_error *err)
{
    const int device = sked_i_onnx_device_of(&r->devices, r->graph->node[i]);
    sked_status st = SKED_OK;
    for (int32_t k = 0; k < r->devices.names.count && device >= 0 && st == SKED_OK; k++)
        if (k != device)
            st = sked_builder_add_duration(r->b, (int32_t)i, sked_i_names_at(&r->devices.names, k), INFINITY,
                                           err);
    return st;
}

static sked_status add_op(reader *r, size_t i)
{
    const Onnx__NodeProto *node = r->graph->node[i];
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    double memory = 0;
    SKED_TRY(check_inputs(r, i));
    const double duration = sked_i_onnx_infer(&r->shapes, &r->scope, node);
    if (r->shapes.no_memory)
        return sked_i_no_memory(r->err);
    for (size_t k = 0; k < node->n_output; k++) {
        const int32_t t = find_tensor(r, node->output[k]);
        memory += t >= 0 ? sked_i_onnx_bytes(&r->scope.tensor[t]) : 0;
    }
    const char *type = type_of(r, node);
    if (type == NULL || !name_node(r, i))
        return sked_i_no_memory(r->err);
    SKED_BUILD(r->source, NULL, sked_builder_add_op(r->b, r->name.data, type, duration, NULL, &cause));
    SKED_BUILD(r->source, NULL, sked_builder_set_memory(r->b, (int32_t)i, memory, &cause));
    SKED_BUILD(r->source, NULL, place_op(r, i, &cause));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ edges */

/* Op `op` reads this tensor: a source more, or more bytes from one it has. */
static void note_input(reader *r, int32_t op, const char *name)
{
    const int32_t t = find_tensor(r, name);
    const int32_t from = t >= 0 ? r->scope.tensor[t].producer : -1;
    if (from < 0 || r->tensor_mark[t] == op)
        return;
    r->tensor_mark[t] = op;
    if (r->op_mark[from] != op) {
        r->op_mark[from] = op;
        r->bytes_from[from] = 0;
        assert(r->n_sources < (int64_t)r->graph->n_node);
        r->sources[r->n_sources++] = from;
    }
    r->bytes_from[from] += sked_i_onnx_bytes(&r->scope.tensor[t]);
}

static void note_captured(reader *r, int32_t op, const Onnx__GraphProto *inner);

static void note_inner(reader *r, int32_t op, const Onnx__NodeProto *node)
{
    for (size_t a = 0; a < node->n_attribute; a++) {
        if (node->attribute[a]->g != NULL)
            note_captured(r, op, node->attribute[a]->g);
        for (size_t k = 0; k < node->attribute[a]->n_graphs; k++)
            note_captured(r, op, node->attribute[a]->graphs[k]);
    }
}

/* Bodies of If and Loop may read tensors of the main graph; walk() has bounded the nesting. */
static void note_captured(reader *r, int32_t op, const Onnx__GraphProto *inner)
{
    for (size_t i = 0; i < inner->n_node; i++) {
        for (size_t k = 0; k < inner->node[i]->n_input; k++)
            note_input(r, op, inner->node[i]->input[k]);
        note_inner(r, op, inner->node[i]);
    }
    for (size_t i = 0; i < inner->n_output; i++)
        if (inner->output[i]->name != NULL)
            note_input(r, op, inner->output[i]->name);
}

/* The only tensor that a node makes; -1: it makes several, or none. */
static int32_t only_output(const reader *r, const Onnx__NodeProto *node)
{
    int32_t only = -1;
    for (size_t k = 0; k < node->n_output; k++) {
        if (node->output[k][0] != 0 && only >= 0)
            return -1;
        only = node->output[k][0] != 0 ? find_tensor(r, node->output[k]) : only;
    }
    return only;
}

/* What nodes make that may be written over, or over something: a tensor alone. Results of the graph stay. */
static sked_status find_alone(reader *r)
{
    const size_t n = r->graph->n_node;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    bool *is_result;
    SKED_OWN0(&r->arena, is_result, r->scope.names.count);
    SKED_OWN(&r->arena, r->alone, (int64_t)n);
    SKED_OWN(&r->arena, r->passing, (int64_t)n);
    for (size_t k = 0; k < r->graph->n_output; k++) {
        const int32_t t = r->graph->output[k]->name ? find_tensor(r, r->graph->output[k]->name) : -1;
        if (t >= 0)
            is_result[t] = true;
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t t = only_output(r, r->graph->node[i]);
        r->alone[i] = t >= 0;
        r->passing[i] = t >= 0 && !is_result[t];
    }
cleanup:
    return st;
}

static sked_status add_edges(reader *r)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const int64_t n = (int64_t)r->graph->n_node;
    double value[sked_i_edge_attributes];
    SKED_TRY(find_alone(r));
    sked_i_edge_presets(value);
    SKED_OWN(&r->arena, r->sources, n);
    SKED_OWN(&r->arena, r->bytes_from, n);
    SKED_OWN(&r->arena, r->op_mark, n);
    SKED_OWN(&r->arena, r->tensor_mark, r->scope.names.count);
    memset(r->op_mark, 0xff, (size_t)n * sizeof *r->op_mark);
    memset(r->tensor_mark, 0xff, (size_t)r->scope.names.count * sizeof *r->tensor_mark);
    for (int32_t i = 0; i < n; i++) {
        const Onnx__NodeProto *node = r->graph->node[i];
        r->n_sources = 0;
        for (size_t k = 0; k < node->n_input; k++)
            note_input(r, i, node->input[k]);
        note_inner(r, i, node);
        const bool over = r->alone[i] && sked_i_onnx_is_elementwise(node);
        for (int64_t k = 0; k < r->n_sources; k++) {
            value[sked_i_edge_bytes] = r->bytes_from[r->sources[k]];
            value[sked_i_edge_inplace] = over && r->passing[r->sources[k]];
            SKED_TRY(sked_i_builder_add_edge(r->b, r->sources[k], i, value, err));
        }
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the whole */

static sked_status build(reader *r, sked_graph **out)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const char *name = r->graph->name;
    const bool named = name != NULL && name[0] != 0 && sked_i_utf8_valid(name);
    SKED_TRY(sked_i_source_begin(r->source, named ? name : NULL, &r->b, err));
    SKED_TRY(add_tensors(r));
    for (size_t i = 0; i < r->graph->n_node; i++)
        SKED_TRY(add_op(r, i));
    SKED_TRY(add_edges(r));
    SKED_BUILD(r->source, NULL, sked_builder_finish(r->b, out, &cause));
cleanup:
    return st;
}

static sked_status onnx_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    bool failed = false;
    ProtobufCAllocator allocator = {pb_alloc, pb_free, &failed};
    Onnx__ModelProto *model = NULL;
    reader r = {.source = source, .err = err};
    sked_status st = SKED_OK;
    SKED_TRY(unpack(source, &allocator, &model, err));
    SKED_TRY(sked_i_onnx_dims_bind(source, model, &allocator, err));
    r.graph = model->graph;
    if (r.graph == NULL)
        st = sked_i_source_fail(source, NULL, err, "not an ONNX model: it has no graph");
    else
        st = sked_i_onnx_shapes_begin(&r.shapes, model, (double)source->size, err);
    if (st == SKED_OK && !sked_i_onnx_devices_read(model, &r.devices))
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = build(&r, out);
cleanup:
    sked_i_onnx_shapes_free(&r.shapes);
    sked_i_onnx_scope_free(&r.scope);
    sked_i_onnx_devices_free(&r.devices);
    if (model != NULL)
        onnx__model_proto__free_unpacked(model, &allocator);
    sked_builder_destroy(r.b);
    sked_i_buffer_free(&r.text);
    sked_i_buffer_free(&r.name);
    sked_i_arena_free(&r.arena);
    return st;
}

const sked_i_format sked_i_format_onnx = {
    .info = {"onnx", "ONNX models, with estimated durations", ".onnx", true, false},
    .read = onnx_read,
    .dims = true,
};
