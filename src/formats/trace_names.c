/*
 * Names of events. ONNX Runtime calls its events NAME_kernel_time, a node without a name OPERATOR_NUMBER, and
 * a node that its optimiser has made out of several after one of them (docs/formats/library.md):
 * NAME/MatMulScaleFusion/, NAME_nchwc where NAME may be an output, FusedConv with the convolution's own name.
 */
#include "formats/trace_names.h"

#include "base/memory.h"

#include <string.h>

enum { INSIDE = 2 }; /* of `named`: it ran inside another op's event */

/* Constants become weights before ONNX Runtime counts. */
bool sked_i_trace_names_begin(sked_i_trace_names *t)
{
    const sked_graph *g = t->graph;
    t->ranked = sked_i_arena_alloc(&t->arena, g->n_ops, sizeof *t->ranked);
    t->named = sked_i_arena_alloc_zero(&t->arena, g->n_ops, sizeof *t->named);
    t->head = sked_i_arena_alloc_zero(&t->arena, g->n_ops, sizeof *t->head);
    if (t->ranked == NULL || t->named == NULL || t->head == NULL)
        return false;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const char *type = sked_graph_op_type(g, i);
        if (type == NULL || strcmp(type, "Constant") != 0)
            t->ranked[t->n_ranked++] = i;
    }
    return true;
}

static bool has_type(const sked_graph *g, int32_t op, const char *type, size_t size)
{
    const char *own = sked_graph_op_type(g, op);
    return own != NULL && strlen(own) == size && memcmp(own, type, size) == 0;
}

/* OPERATOR_NUMBER */
static int32_t unnamed_op(const sked_i_trace_names *t, const char *name, size_t size)
{
    size_t digits = 0;
    int64_t rank;
    while (digits < size && name[size - digits - 1] != '_')
        digits++;
    if (digits == size || !sked_i_parse_int(name + size - digits, digits, 0, INT32_MAX, &rank) ||
        rank >= t->n_ranked)
        return -1;
    return has_type(t->graph, t->ranked[rank], name, size - digits - 1) ? t->ranked[rank] : -1;
}

/* The suffix goes, where the name has it. */
static bool cut(sked_i_buffer *name, const char *suffix)
{
    const int64_t length = name->size - (int64_t)strlen(suffix);
    if (length <= 0 || strcmp(name->data + length, suffix) != 0)
        return false;
    name->data[length] = 0;
    name->size = length;
    return true;
}

/* NAME/OneFusion/, NAME/OneFusion//OtherFusion/, ... */
static int32_t before_fusion(const sked_graph *g, const char *name, char *part, size_t size)
{
    const char *fusion = strstr(name, "Fusion");
    while (fusion != NULL && fusion > name && *fusion != '/')
        fusion--;
    const size_t n = fusion != NULL ? (size_t)(fusion - name) : 0;
    if (n == 0 || n >= size)
        return -1;
    memcpy(part, name, n);
    part[n] = 0;
    return sked_graph_find_op(g, part);
}

/* The one predecessor that takes time, or -1: constants are ops, too. Fused ops have few. */
static int32_t only_predecessor(const sked_graph *g, int32_t op)
{
    enum { most = 64 };
    int32_t found = -1;
    if (g->pred_ptr[op + 1] - g->pred_ptr[op] > most)
        return -1;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int32_t from = g->pred_op[k];
        if (g->duration[from] > 0 && from != found) {
            if (found >= 0)
                return -1;
            found = from;
        }
    }
    return found;
}

/* A node that is named after the last of its ops: those behind the first one ran inside it. */
static int32_t first_of_chain(sked_i_trace_names *t, int32_t last, const char *type)
{
    enum { longest = 8 };
    const size_t size = strlen(type);
    int32_t op = last;
    for (int i = 0; i < longest && op >= 0 && !has_type(t->graph, op, type, size); i++)
        op = only_predecessor(t->graph, op);
    if (op < 0 || !has_type(t->graph, op, type, size))
        return -1;
    for (int32_t k = last; k != op; k = only_predecessor(t->graph, k))
        t->named[k] = t->named[k] ? t->named[k] : INSIDE;
    return op;
}

/* NAME_nchwc: an op, or the longest beginning of it that is called like an op of that operator. */
static int32_t by_output(sked_i_trace_names *t, const char *name, const char *type, char *part, size_t size)
{
    size_t n = strlen(name);
    if (n >= size)
        return -1;
    memcpy(part, name, n + 1);
    const int32_t op = sked_graph_find_op(t->graph, part);
    if (op >= 0)
        return first_of_chain(t, op, type);
    while (n > 0) {
        while (n > 0 && part[n] != '_')
            n--;
        part[n] = 0;
        const int32_t begins = n > 0 ? sked_graph_find_op(t->graph, part) : -1;
        if (begins >= 0)
            return has_type(t->graph, begins, type, strlen(type)) ? begins : -1;
    }
    return -1;
}

static int32_t fused_op(sked_i_trace_names *t, sked_i_buffer *name, const char *type)
{
    char part[512];
    if (cut(name, "_nchwc") && type[0] != 0)
        return by_output(t, name->data, type, part, sizeof part);
    return before_fusion(t->graph, name->data, part, sizeof part);
}

int32_t sked_i_trace_op(sked_i_trace_names *t, sked_i_buffer *name, const char *op_type, bool *kernel)
{
    int32_t op = sked_graph_find_op(t->graph, name->data);
    *kernel = op < 0 && cut(name, "_kernel_time");
    if (*kernel)
        op = sked_graph_find_op(t->graph, name->data);
    if (*kernel && op < 0)
        op = unnamed_op(t, name->data, (size_t)name->size);
    if (*kernel && op < 0)
        op = fused_op(t, name, op_type);
    if (op >= 0) {
        t->named[op] = 1;
        t->head[op] = *kernel && strncmp(op_type, "Fused", 5) == 0 &&
                      has_type(t->graph, op, op_type + 5, strlen(op_type + 5));
    }
    return op;
}

/* What a fused node's op leads to alone, as far as nothing there has an event, ran inside it. */
static void mark_behind(sked_i_trace_names *t, int32_t op)
{
    const sked_graph *g = t->graph;
    while (g->succ_ptr[op + 1] == g->succ_ptr[op] + 1) {
        op = g->edge_to[g->succ_ptr[op]];
        if (t->named[op])
            return;
        t->named[op] = INSIDE;
    }
}

int32_t sked_i_trace_inside(sked_i_trace_names *t, int32_t *at)
{
    const int32_t n = t->graph->n_ops;
    for (int32_t i = 0; *at == 0 && i < n; i++)
        if (t->head[i])
            mark_behind(t, i);
    while (*at < n && t->named[*at] != INSIDE)
        ++*at;
    return *at < n ? (*at)++ : -1;
}
