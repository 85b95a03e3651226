/*
 * An ONNX model with its nodes in another order. Nodes are fields of the graph, one behind the other or among
 * others: their bytes change places and everything else stays, known to protobuf-c or not.
 */
#include "base/arena.h"
#include "formats/onnx_wire.h"

enum { MODEL_GRAPH = 7, GRAPH_NODE = 1 };

typedef struct field {
    const uint8_t *begin, *value, *end; /* with its tag; without; behind it */
    uint64_t number;
} field;

/* The field at `at`, of bytes that the reader has walked through. */
static field field_at(const uint8_t *at, const uint8_t *end)
{
    uint64_t tag, length;
    const uint8_t *value = sked_i_onnx_varint(at, end, &tag);
    const uint8_t *next = sked_i_onnx_skip(value, end, (int)(tag & 7), &length);
    return (field){at, next - length, next, (tag & 7) == 2 ? tag >> 3 : 0};
}

static field find_graph(const uint8_t *at, const uint8_t *end)
{
    field f = {at, at, at, 0};
    while (f.end < end && f.number != MODEL_GRAPH)
        f = field_at(f.end, end);
    return f;
}

static void add(sked_i_buffer *out, const uint8_t *begin, const uint8_t *end)
{
    sked_i_buffer_add(out, (const char *)begin, (size_t)(end - begin));
}

sked_status sked_i_onnx_write(const sked_i_source *source, int32_t n, const int32_t *order,
                              sked_i_buffer *out, sked_error *err)
{
    const uint8_t *bytes = (const uint8_t *)source->text, *end = bytes + source->size;
    const field graph = find_graph(bytes, end);
    sked_status st = SKED_OK;
    field *node;
    int32_t count = 0;
    SKED_NEW(node, n);
    for (const uint8_t *at = graph.value; at < graph.end; at = field_at(at, graph.end).end)
        if (field_at(at, graph.end).number == GRAPH_NODE && count < n)
            node[count++] = field_at(at, graph.end);
    add(out, bytes, graph.value);
    const uint8_t *done = graph.value;
    for (int32_t k = 0; k < count; k++) {
        add(out, done, node[k].begin);
        add(out, node[order[k]].begin, node[order[k]].end);
        done = node[k].end;
    }
    add(out, done, end);
    free(node);
cleanup:
    return st;
}
