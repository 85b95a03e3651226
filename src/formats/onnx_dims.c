#include "formats/onnx_dims.h"

#include "base/memory.h"

#include <string.h>

typedef Onnx__TensorShapeProto__Dimension dimension;
#define CASE(x) ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_##x

enum { most_named = 5, most_hints = 1000 };

typedef struct binding {
    ProtobufCAllocator *allocator;
    sked_i_names given; /* by the options */
    int64_t *size;      /* [given.count] */
    uint8_t *used;      /* [given.count] */
    sked_i_names all;   /* the model's, the first many */
    sked_i_names open;  /* of inputs, without a size: the first few */
    int64_t n_nameless; /* of inputs, likewise */
    bool inputs;        /* looking at inputs */
    bool no_memory;
} binding;

static sked_status read_option(binding *x, const char *text, sked_error *err)
{
    const char *equals = strrchr(text, '=');
    int64_t size;
    bool fresh;
    if (equals == NULL || equals == text ||
        !sked_i_parse_int(equals + 1, strlen(equals + 1), 1, (int64_t)1 << 40, &size))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "--dim expects NAME=K, K a whole number from 1 to 2^40, not '%.80s'", text);
    const int32_t i = sked_i_names_add(&x->given, text, (size_t)(equals - text), &fresh);
    if (i < 0)
        return sked_i_no_memory(err);
    if (!fresh)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "--dim gives '%s' twice",
                           sked_i_quoted_text(sked_i_names_at(&x->given, i)).text);
    x->size[i] = size;
    return SKED_OK;
}

static void note_open(binding *x, const char *name)
{
    bool fresh;
    if (name != NULL && x->open.count < most_named)
        x->no_memory = sked_i_names_add(&x->open, name, strlen(name), &fresh) < 0 || x->no_memory;
    x->n_nameless += name == NULL;
}

static void bind_one(binding *x, dimension *d)
{
    bool fresh;
    const bool named = d->value_case == CASE(DIM_PARAM) && d->dim_param != NULL && d->dim_param[0] != 0;
    if (!named) {
        if (x->inputs && d->value_case != CASE(DIM_VALUE))
            note_open(x, NULL);
        return;
    }
    const size_t size = strlen(d->dim_param);
    const int32_t i = sked_i_names_find(&x->given, d->dim_param, size);
    if (x->all.count < most_hints)
        x->no_memory = sked_i_names_add(&x->all, d->dim_param, size, &fresh) < 0 || x->no_memory;
    if (i >= 0) {
        x->allocator->free(x->allocator->allocator_data, d->dim_param);
        d->value_case = CASE(DIM_VALUE);
        d->dim_value = x->size[i];
        x->used[i] = 1;
    } else if (x->inputs) {
        note_open(x, d->dim_param);
    }
}

/* Every dimension in a message and in those inside it. */
static void visit(binding *x, ProtobufCMessage *m)
{
    if (m->descriptor == &onnx__tensor_shape_proto__dimension__descriptor) {
        bind_one(x, (dimension *)m);
        return;
    }
    for (unsigned k = 0; k < m->descriptor->n_fields; k++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[k];
        char *const at = (char *)m + f->offset;
        const uint32_t *const quantity = (const uint32_t *)((char *)m + f->quantifier_offset);
        if (f->type != PROTOBUF_C_TYPE_MESSAGE ||
            ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 && *quantity != f->id))
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            ProtobufCMessage **const each = *(ProtobufCMessage ***)at;
            for (size_t i = 0; i < *(size_t *)((char *)m + f->quantifier_offset); i++)
                visit(x, each[i]);
        } else if (*(ProtobufCMessage **)at != NULL) {
            visit(x, *(ProtobufCMessage **)at);
        }
    }
}

static sked_status check_used(const binding *x, const sked_i_source *source, sked_error *err)
{
    char hint[160] = "";
    for (int32_t i = 0; i < x->given.count; i++) {
        if (x->used[i])
            continue;
        const char *name = sked_i_names_at(&x->given, i);
        const char *names[most_hints + 1];
        for (int32_t k = 0; k < x->all.count; k++)
            names[k] = sked_i_names_at(&x->all, k);
        sked_suggest(name, names, x->all.count, hint, sizeof hint);
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: the model has no symbolic dimension '%s'%s",
                           source->name, sked_i_quoted_text(name).text, hint);
    }
    return SKED_OK;
}

static sked_status tell_open(const binding *x, const sked_i_source *source, sked_error *err)
{
    sked_i_buffer text = {0};
    const sked_read_options *opt = source->options;
    if (opt->note == NULL || (x->open.count == 0 && x->n_nameless == 0))
        return SKED_OK;
    sked_i_buffer_format(&text, "%.300s: symbolic dimensions of its inputs count as 1: ", source->name);
    for (int32_t k = 0; k < x->open.count; k++)
        sked_i_buffer_format(&text, "%s'%s'", k > 0 ? ", " : "",
                             sked_i_quoted_text(sked_i_names_at(&x->open, k)).text);
    if (x->open.count == most_named)
        sked_i_buffer_text(&text, ", ...");
    if (x->n_nameless > 0)
        sked_i_buffer_format(&text, "%s%lld without a name", x->open.count > 0 ? ", and " : "",
                             (long long)x->n_nameless);
    if (x->open.count > 0)
        sked_i_buffer_format(&text, "; --dim %s=K gives one a size", sked_i_names_at(&x->open, 0));
    const sked_status st = text.failed ? sked_i_no_memory(err) : SKED_OK;
    if (st == SKED_OK)
        opt->note(opt->note_data, text.data);
    sked_i_buffer_free(&text);
    return st;
}

sked_status sked_i_onnx_dims_bind(const sked_i_source *source, Onnx__ModelProto *model,
                                  ProtobufCAllocator *allocator, sked_error *err)
{
    binding x = {.allocator = allocator};
    const sked_read_options *opt = source->options;
    sked_status st = SKED_OK;
    SKED_NEW(x.size, opt->n_dims);
    SKED_NEW0(x.used, opt->n_dims);
    for (int i = 0; i < opt->n_dims; i++)
        SKED_TRY(read_option(&x, opt->dims[i], err));
    x.inputs = true;
    for (size_t i = 0; model->graph != NULL && i < model->graph->n_input; i++)
        visit(&x, &model->graph->input[i]->base);
    x.inputs = false;
    visit(&x, &model->base);
    if (x.no_memory)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = check_used(&x, source, err);
    if (st == SKED_OK)
        st = tell_open(&x, source, err);
cleanup:
    sked_i_names_free(&x.given);
    sked_i_names_free(&x.all);
    sked_i_names_free(&x.open);
    free(x.size);
    free(x.used);
    return st;
}
