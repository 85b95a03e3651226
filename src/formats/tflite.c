/*
 * TFLite models (FlatBuffers): docs/formats/tflite.md. The main subgraph is the graph; subgraphs that its
 * operators call are part of these operators.
 */
#include "formats/tflite.h"

#include "formats/durations.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ tables */

enum { CODE_DEPRECATED = 0, CODE_CUSTOM = 1, CODE_BUILTIN = 3 };
enum { GRAPH_TENSORS = 0, GRAPH_INPUTS = 1, GRAPH_OUTPUTS = 2, GRAPH_OPERATORS = 3 };
enum {
    TENSOR_SHAPE = 0,
    TENSOR_TYPE = 1,
    TENSOR_BUFFER = 2,
    TENSOR_NAME = 3,
    TENSOR_VARIABLE = 5,
    TENSOR_EXTERNAL = 10
};
enum { OPERATOR_CODE = 0, OPERATOR_INPUTS = 1, OPERATOR_OUTPUTS = 2 };
enum { BUFFER_DATA = 0, BUFFER_OFFSET = 1 };

/* Bits of an element, by TensorType; 0: text, handles, and what is newer than this list. */
static const int bits_of[] = {32, 16, 32, 8,  64, 0, 8,  16, 64, 8, 64, 128,
                              64, 0,  0,  32, 16, 4, 16, 2,  4,  8, 8};
enum { n_types = sizeof bits_of / sizeof *bits_of };

/* Indices of tensors: least is -1 where one may be left out. */
static sked_i_flat_list indices(sked_i_tflite *m, sked_i_flat_table t, int field, int32_t least)
{
    const sked_i_flat_list list = sked_i_flat_vector(&m->flat, t, field, 4);
    for (int64_t k = 0; k < list.count; k++) {
        const int32_t i = sked_i_flat_int(&m->flat, list, k);
        if (i < least || i >= m->tensors.count) {
            sked_i_flat_broken(&m->flat, list.at + 4 * k, "it names a tensor that is not there");
            return (sked_i_flat_list){0};
        }
    }
    return list;
}

sked_i_tflite_operator sked_i_tflite_operator_at(sked_i_tflite *m, int64_t i)
{
    sked_i_tflite_operator o = {.table = sked_i_flat_element(&m->flat, m->operators, i)};
    o.inputs = indices(m, o.table, OPERATOR_INPUTS, -1);
    o.outputs = indices(m, o.table, OPERATOR_OUTPUTS, -1);
    return o;
}

/* ------------------------------------------------------------------ tensors */

static void read_shape(sked_i_tflite *m, sked_i_flat_table table, sked_i_tflite_tensor *t)
{
    const sked_i_flat_list shape = sked_i_flat_vector(&m->flat, table, TENSOR_SHAPE, 4);
    const uint64_t type = sked_i_flat_number(&m->flat, table, TENSOR_TYPE, 1, 0);
    t->elements = 1;
    for (int64_t k = 0; k < shape.count; k++) {
        const int32_t size = sked_i_flat_int(&m->flat, shape, k);
        if (size < 0)
            sked_i_flat_broken(&m->flat, shape.at + 4 * k, "a dimension is negative");
        t->elements *= size;
        t->first = k == 0 ? size : t->first;
        t->last = size;
    }
    t->bytes = ceil(t->elements * (type < n_types ? bits_of[type] : 0) / 8);
    if (!(t->elements <= 0x1p53 && t->bytes <= 0x1p53))
        sked_i_flat_broken(&m->flat, table.at, "a tensor has more than 2^53 elements or bytes");
}

/* Whether each buffer has data, in the file or beside it. */
static uint8_t *read_buffers(sked_i_tflite *m, sked_i_arena *arena, sked_i_flat_list buffers)
{
    uint8_t *full = sked_i_arena_alloc(arena, buffers.count, sizeof *full);
    for (int64_t i = 0; full != NULL && i < buffers.count; i++) {
        const sked_i_flat_table b = sked_i_flat_element(&m->flat, buffers, i);
        full[i] = sked_i_flat_vector(&m->flat, b, BUFFER_DATA, 1).count > 0 ||
                  sked_i_flat_number(&m->flat, b, BUFFER_OFFSET, 8, 0) > 1;
    }
    return full;
}

static void read_tensor(sked_i_tflite *m, int64_t i, sked_i_flat_list buffers, const uint8_t *full)
{
    const sked_i_flat_table table = sked_i_flat_element(&m->flat, m->tensors, i);
    sked_i_tflite_tensor *t = &m->tensor[i];
    const int64_t buffer = (int64_t)sked_i_flat_number(&m->flat, table, TENSOR_BUFFER, 4, 0);
    *t = (sked_i_tflite_tensor){.first = 1, .last = 1, .maker = SKED_I_TFLITE_UNMADE};
    read_shape(m, table, t);
    t->name = sked_i_flat_vector(&m->flat, table, TENSOR_NAME, 1);
    if (buffer > 0 && buffer >= buffers.count)
        sked_i_flat_broken(&m->flat, table.at, "a tensor names a buffer that is not there");
    else if (sked_i_flat_number(&m->flat, table, TENSOR_VARIABLE, 1, 0) != 0)
        t->maker = SKED_I_TFLITE_VARIABLE;
    else if ((buffer < buffers.count && full[buffer]) ||
             sked_i_flat_number(&m->flat, table, TENSOR_EXTERNAL, 4, 0) != 0)
        t->maker = SKED_I_TFLITE_CONSTANT;
}

/* Each tensor is made once, and before it is read: state is in variable tensors alone. */
static void find_makers(sked_i_tflite *m)
{
    for (int64_t k = 0; k < m->inputs.count; k++) {
        sked_i_tflite_tensor *t = &m->tensor[sked_i_flat_int(&m->flat, m->inputs, k)];
        t->maker = t->maker == SKED_I_TFLITE_UNMADE ? SKED_I_TFLITE_INPUT : t->maker;
    }
    for (int64_t k = 0; k < m->outputs.count; k++)
        m->tensor[sked_i_flat_int(&m->flat, m->outputs, k)].output = true;
    for (int64_t i = 0; i < m->operators.count && m->flat.status == SKED_OK; i++) {
        const sked_i_tflite_operator o = sked_i_tflite_operator_at(m, i);
        for (int64_t k = 0; k < o.outputs.count; k++) {
            const int32_t t = sked_i_flat_int(&m->flat, o.outputs, k);
            if (t < 0 || m->tensor[t].maker == SKED_I_TFLITE_VARIABLE)
                continue;
            if (m->tensor[t].maker != SKED_I_TFLITE_UNMADE)
                sked_i_flat_broken(&m->flat, o.outputs.at + 4 * k,
                                   "an operator makes a tensor that is there already");
            m->tensor[t].maker = (int32_t)i;
        }
    }
}

sked_status sked_i_tflite_open(const sked_i_source *source, sked_i_arena *arena, sked_i_tflite *m,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    *m = (sked_i_tflite){0};
    if (source->size < 8 || memcmp(source->text + 4, "TFL3", 4) != 0)
        return sked_i_fail(err, SKED_ERR_FORMAT, "%s: byte 4: not a TFLite model: it does not say TFL3",
                           source->name);
    m->model = sked_i_flat_begin(&m->flat, source, "a TFLite model", err);
    m->subgraphs = sked_i_flat_vector(&m->flat, m->model, SKED_I_TFLITE_SUBGRAPHS, 4);
    if (m->subgraphs.count == 0)
        sked_i_flat_broken(&m->flat, m->model.at, "it has no subgraph");
    const sked_i_flat_table graph =
        m->subgraphs.count > 0 ? sked_i_flat_element(&m->flat, m->subgraphs, 0) : (sked_i_flat_table){0};
    const sked_i_flat_list buffers = sked_i_flat_vector(&m->flat, m->model, SKED_I_TFLITE_BUFFERS, 4);
    m->tensors = sked_i_flat_vector(&m->flat, graph, GRAPH_TENSORS, 4);
    m->operators = sked_i_flat_vector(&m->flat, graph, GRAPH_OPERATORS, 4);
    m->inputs = indices(m, graph, GRAPH_INPUTS, 0);
    m->outputs = indices(m, graph, GRAPH_OUTPUTS, 0);
    SKED_OWN(arena, m->tensor, m->tensors.count);
    const uint8_t *full = read_buffers(m, arena, buffers);
    if (full == NULL)
        return sked_i_no_memory(err);
    for (int64_t i = 0; i < m->tensors.count; i++)
        read_tensor(m, i, buffers, full);
    if (m->flat.status == SKED_OK)
        find_makers(m);
    st = m->flat.status;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ ops */

typedef struct reader {
    sked_i_arena arena;
    sked_i_tflite m;
    sked_error *err;
    sked_i_flat_list codes;
    sked_builder *b;
    sked_i_buffer type, name; /* of the op being added */

    /* edges into op i: its sources, what comes from each, and who was counted last */
    int32_t *sources, *tensor_mark, *op_mark;
    double *bytes_from;
    int64_t n_sources;
    int32_t after;           /* op with state that it must follow, -1: none beside its sources */
    int32_t last_with_state; /* op, -1: none yet */
} reader;

/* A text of the file: one that a C string can hold. */
static void add_text(reader *r, sked_i_flat_list text, sked_i_buffer *out)
{
    const char *from = r->m.flat.source->text + text.at;
    const char *zero = text.count > 0 ? memchr(from, 0, (size_t)text.count) : NULL;
    if (zero != NULL)
        sked_i_flat_broken(&r->m.flat, text.at + (zero - from), "a name has a zero byte");
    else
        sked_i_buffer_add(out, from, (size_t)text.count);
}

/* The code that the operator names; its type as text goes to r->type. */
static uint64_t read_type(reader *r, const sked_i_tflite_operator *o)
{
    sked_i_flat *f = &r->m.flat;
    const int64_t k = (int64_t)sked_i_flat_number(f, o->table, OPERATOR_CODE, 4, 0);
    if (k >= r->codes.count) {
        sked_i_flat_broken(f, o->table.at, "an operator has a code that is not there");
        return 0;
    }
    const sked_i_flat_table t = sked_i_flat_element(f, r->codes, k);
    /* codes above 127 did not fit the first field, which old files have alone */
    const uint64_t old = sked_i_flat_number(f, t, CODE_DEPRECATED, 1, 0);
    const uint64_t full = sked_i_flat_number(f, t, CODE_BUILTIN, 4, 0);
    const sked_i_flat_list custom = sked_i_flat_vector(f, t, CODE_CUSTOM, 1);
    const uint64_t code = full > old ? full : old;
    const char *name = sked_i_tflite_operator_name(code);
    r->type.size = 0;
    if (custom.count > 0)
        add_text(r, custom, &r->type);
    else if (name != NULL)
        sked_i_buffer_text(&r->type, name);
    else
        sked_i_buffer_format(&r->type, "OPERATOR_%llu", (unsigned long long)code);
    return code;
}

/* After the first result that has a name, else type and number; "_" and the number follow while it is taken.
 */
static void name_op(reader *r, const sked_i_tflite_operator *o, int32_t i)
{
    sked_i_buffer *name = &r->name;
    name->size = 0;
    for (int64_t k = 0; k < o->outputs.count && name->size == 0; k++) {
        const int32_t t = sked_i_flat_int(&r->m.flat, o->outputs, k);
        if (t >= 0)
            add_text(r, r->m.tensor[t].name, name);
    }
    if (r->m.flat.status != SKED_OK)
        return;
    if (name->size == 0)
        sked_i_buffer_format(name, "%s_%d", r->type.data, (int)i);
    while (!name->failed && sked_builder_find_op(r->b, name->data) >= 0)
        sked_i_buffer_format(name, "_%d", (int)i);
}

static void note_source(reader *r, int32_t op, int32_t from, double bytes)
{
    if (r->op_mark[from] != op) {
        r->op_mark[from] = op;
        r->bytes_from[from] = 0;
        r->sources[r->n_sources++] = from;
    }
    r->bytes_from[from] += bytes;
}

/* Who makes what the operator reads; operators with state stay in the order of the file. */
static void find_sources(reader *r, const sked_i_tflite_operator *o, int32_t i, bool state)
{
    sked_i_tflite *m = &r->m;
    r->n_sources = 0;
    for (int64_t k = 0; k < o->inputs.count; k++) {
        const int32_t t = sked_i_flat_int(&m->flat, o->inputs, k);
        if (t < 0 || r->tensor_mark[t] == i)
            continue;
        r->tensor_mark[t] = i;
        if (m->tensor[t].maker >= i)
            sked_i_flat_broken(&m->flat, o->inputs.at + 4 * k,
                               "an operator reads a tensor that is made later");
        else if (m->tensor[t].maker >= 0)
            note_source(r, i, m->tensor[t].maker, m->tensor[t].bytes);
        state = state || m->tensor[t].maker == SKED_I_TFLITE_VARIABLE;
    }
    for (int64_t k = 0; k < o->outputs.count; k++) {
        const int32_t t = sked_i_flat_int(&m->flat, o->outputs, k);
        state = state || (t >= 0 && m->tensor[t].maker == SKED_I_TFLITE_VARIABLE);
    }
    const int32_t before = state ? r->last_with_state : -1;
    r->after = before >= 0 && r->op_mark[before] != i ? before : -1;
    if (state)
        r->last_with_state = i;
}

/* Bytes of the results; `keep`: one of them is an output of the model. */
static double results_of(const sked_i_tflite *m, const sked_i_tflite_operator *o, bool *keep)
{
    double bytes = 0;
    *keep = false;
    for (int64_t k = 0; k < o->outputs.count; k++) {
        const int32_t t = sked_i_flat_int(&m->flat, o->outputs, k);
        if (t < 0 || m->tensor[t].maker < 0)
            continue;
        bytes += m->tensor[t].bytes;
        *keep = *keep || m->tensor[t].output;
    }
    return bytes;
}

static double duration_of(sked_i_tflite *m, uint64_t code, const sked_i_tflite_operator *o, double results)
{
    double moved = results;
    for (int64_t k = 0; k < o->inputs.count; k++) {
        const int32_t t = sked_i_flat_int(&m->flat, o->inputs, k);
        moved += t >= 0 ? m->tensor[t].bytes : 0;
    }
    return sked_i_duration_estimate(sked_i_tflite_flops(m, code, o), moved);
}

static sked_status add_edges(reader *r, int32_t i)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    for (int64_t k = 0; k < r->n_sources; k++) {
        const sked_edge edge = {r->sources[k], i, NAN, r->bytes_from[r->sources[k]], 0};
        SKED_TRY(sked_builder_add_edge(r->b, &edge, err));
    }
    if (r->after >= 0) {
        const sked_edge edge = {r->after, i, NAN, 0, 0};
        SKED_TRY(sked_builder_add_edge(r->b, &edge, err));
        SKED_TRY(sked_i_builder_set(r->b, &sked_i_edge_table[sked_i_edge_order],
                                    sked_builder_edge_count(r->b) - 1, 1, err));
    }
cleanup:
    return st;
}

static sked_status add_op(reader *r, int32_t i)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    sked_i_tflite *m = &r->m;
    bool keep;
    const sked_i_tflite_operator o = sked_i_tflite_operator_at(m, i);
    const uint64_t code = read_type(r, &o);
    const double memory = results_of(m, &o, &keep), duration = duration_of(m, code, &o, memory);
    find_sources(r, &o, i, sked_i_tflite_has_state(code));
    if (m->flat.status != SKED_OK)
        return m->flat.status;
    if (!r->type.failed)
        name_op(r, &o, i);
    if (m->flat.status != SKED_OK)
        return m->flat.status;
    if (r->type.failed || r->name.failed)
        return sked_i_no_memory(err);
    SKED_BUILD(m->flat.source, NULL,
               sked_builder_add_op(r->b, r->name.data, r->type.data, duration, NULL, &cause));
    SKED_BUILD(m->flat.source, NULL, sked_builder_set_memory(r->b, i, memory, &cause));
    SKED_BUILD(m->flat.source, NULL, sked_builder_set_keep(r->b, i, keep, &cause));
    SKED_TRY(add_edges(r, i));
cleanup:
    return st;
}

static sked_status build(reader *r, const sked_i_source *source, sked_graph **out)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    SKED_TRY(sked_i_tflite_open(source, &r->arena, &r->m, err));
    const int64_t n = r->m.operators.count;
    r->codes = sked_i_flat_vector(&r->m.flat, r->m.model, SKED_I_TFLITE_CODES, 4);
    SKED_TRY(sked_i_source_begin(source, NULL, &r->b, err));
    SKED_OWN(&r->arena, r->sources, n);
    SKED_OWN(&r->arena, r->bytes_from, n);
    SKED_OWN(&r->arena, r->op_mark, n);
    SKED_OWN(&r->arena, r->tensor_mark, r->m.tensors.count);
    memset(r->op_mark, 0xff, (size_t)n * sizeof *r->op_mark);
    memset(r->tensor_mark, 0xff, (size_t)r->m.tensors.count * sizeof *r->tensor_mark);
    for (int32_t i = 0; i < n; i++)
        SKED_TRY(add_op(r, i));
    SKED_BUILD(source, NULL, sked_builder_finish(r->b, out, &cause));
cleanup:
    return st;
}

static sked_status tflite_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    reader r = {.err = err, .last_with_state = -1};
    const sked_status st = build(&r, source, out);
    sked_builder_destroy(r.b);
    sked_i_buffer_free(&r.type);
    sked_i_buffer_free(&r.name);
    sked_i_arena_free(&r.arena);
    return st;
}

static bool is_tflite(const char *text, size_t size)
{
    return size >= 8 && memcmp(text + 4, "TFL3", 4) == 0;
}

const sked_i_format sked_i_format_tflite = {
    .info = {"tflite", "TFLite models, with estimated durations", ".tflite", true, false},
    .sniff = is_tflite,
    .read = tflite_read,
};
