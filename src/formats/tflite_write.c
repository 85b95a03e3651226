/*
 * A TFLite model with its operators in another order and with a plan of addresses for TFLite Micro.
 *
 * A FlatBuffer's offsets point forward only. So the list of operators, whose elements are offsets, is
 * permuted where it stands; what has one element more (the metadata, the buffers) is written anew before the
 * whole old file, with a root table of its own. Nothing else changes, and the old root stays behind, unused.
 */
#include "formats/tflite.h"

#include <string.h>

enum { BUFFER_OFFSET = 1, METADATA_NAME = 0, OPERATOR_LARGE_OFFSET = 9 };
enum { FIELDS = SKED_I_TFLITE_MODEL_FIELDS, VERSION = 0 };

/* Where the parts of the new front stand, in this order. */
typedef struct front {
    int64_t model, metadata, buffers, entry, buffer, name, data, end;
    int64_t n_metadata, n_buffers; /* of the file */
} front;

static const char plan_name[] = "OfflineMemoryAllocation";
enum { alignment = 64, name_size = sizeof plan_name - 1, plan_head = 3 };

typedef struct writer {
    sked_i_tflite *m;
    sked_i_flat_list metadata, buffers;
    int64_t *kept; /* [n_metadata] entries that are no earlier plan */
    front at;
    sked_i_buffer *out;
} writer;

/* ------------------------------------------------------------------ what cannot be kept */

static sked_status refuse(const sked_i_tflite *m, const char *why)
{
    return sked_i_fail(m->flat.err, SKED_ERR_UNSUPPORTED, "%s: cannot be written in another order: %s",
                       m->flat.source->name, why);
}

/* Data outside of the FlatBuffer is found by its place in the file. */
static sked_status check_outside(writer *w)
{
    sked_i_flat *f = &w->m->flat;
    bool outside = false;
    for (int64_t i = 0; i < w->buffers.count; i++)
        outside =
            outside || sked_i_flat_number(f, sked_i_flat_element(f, w->buffers, i), BUFFER_OFFSET, 8, 0) > 1;
    for (int64_t i = 0; i < w->m->operators.count; i++)
        outside = outside || sked_i_flat_number(f, sked_i_flat_element(f, w->m->operators, i),
                                                OPERATOR_LARGE_OFFSET, 8, 0) > 1;
    return outside ? refuse(w->m, "it has data behind the FlatBuffer") : f->status;
}

static bool is_called(const sked_i_flat *f, sked_i_flat_list name, const char *text)
{
    return name.count == (int64_t)strlen(text) && memcmp(f->source->text + name.at, text, strlen(text)) == 0;
}

/* Keeps the entries that are no plan. */
static sked_status read_metadata(writer *w)
{
    sked_i_flat *f = &w->m->flat;
    for (int64_t i = 0; i < w->metadata.count; i++) {
        const sked_i_flat_list name =
            sked_i_flat_vector(f, sked_i_flat_element(f, w->metadata, i), METADATA_NAME, 1);
        if (is_called(f, name, "model_control_dependencies"))
            return refuse(w->m, "its metadata orders operators by their numbers");
        if (!is_called(f, name, plan_name))
            w->kept[w->at.n_metadata++] = i;
    }
    return f->status;
}

static sked_status check(writer *w)
{
    if (w->m->subgraphs.count > 1)
        return refuse(w->m, "it has several subgraphs");
    if (w->m->model.fields > FIELDS)
        return refuse(w->m, "its root table has fields that this version of sked does not know");
    const sked_status st = check_outside(w);
    return st == SKED_OK ? read_metadata(w) : st;
}

/* ------------------------------------------------------------------ the front */

static void put(sked_i_buffer *out, int64_t x, int width)
{
    for (int k = 0; k < width; k++)
        sked_i_buffer_char(out, (char)((uint64_t)x >> 8 * k & 255));
}

/* The offset, here, of what stands at `target` of the new file. */
static void point(sked_i_buffer *out, int64_t target)
{
    put(out, target - out->size, 4);
}

static void pad(sked_i_buffer *out, int64_t until)
{
    while (out->size < until && !out->failed)
        sked_i_buffer_char(out, 0);
}

static void lay_out(writer *w)
{
    front *at = &w->at;
    at->n_buffers = w->buffers.count;
    at->model = 8 + 4 + 2 * FIELDS;
    at->metadata = at->model + 4 + 4 * FIELDS;
    at->buffers = at->metadata + 4 + 4 * (at->n_metadata + 1);
    at->entry = at->buffers + 4 + 4 * (at->n_buffers + 1) + 8; /* 8 and 8: their lists of fields */
    at->buffer = at->entry + 12 + 8;
    at->name = at->buffer + 8;
    at->data = (at->name + 4 + name_size + 1 + 4 + 15) / 16 * 16 - 4;
    at->end = at->data + 4 + 4 * (plan_head + w->m->tensors.count);
    at->end = (at->end + alignment - 1) / alignment * alignment;
}

/* The root table: what it says in the file, but for the two lists that are longer. */
static void put_model(writer *w)
{
    sked_i_flat *f = &w->m->flat;
    int64_t target[FIELDS];
    put(w->out, w->at.model, 4);
    sked_i_buffer_add(w->out, "TFL3", 4);
    put(w->out, 4 + 2 * FIELDS, 2);
    put(w->out, 4 + 4 * FIELDS, 2);
    for (int k = 0; k < FIELDS; k++) {
        const int64_t from = sked_i_flat_field(f, w->m->model, k, 4);
        target[k] = from > 0 ? from + (int64_t)sked_i_flat_bytes(f, from, 4) + w->at.end : 0;
        if (k == SKED_I_TFLITE_METADATA || k == SKED_I_TFLITE_BUFFERS)
            target[k] = k == SKED_I_TFLITE_METADATA ? w->at.metadata : w->at.buffers;
        put(w->out, target[k] > 0 ? 4 + 4 * k : 0, 2);
    }
    put(w->out, w->at.model - 8, 4);
    put(w->out, (int64_t)sked_i_flat_number(f, w->m->model, VERSION, 4, 0), 4);
    for (int k = 1; k < FIELDS; k++)
        if (target[k] > 0)
            point(w->out, target[k]);
        else
            put(w->out, 0, 4);
}

/* Where element i of a list of tables stands in the new file. */
static int64_t moved(const writer *w, sked_i_flat_list list, int64_t i)
{
    const int64_t at = list.at + 4 * i;
    return at + (int64_t)sked_i_flat_bytes(&w->m->flat, at, 4) + w->at.end;
}

static void put_lists(writer *w)
{
    put(w->out, w->at.n_metadata + 1, 4);
    for (int64_t i = 0; i < w->at.n_metadata; i++)
        point(w->out, moved(w, w->metadata, w->kept[i]));
    point(w->out, w->at.entry);
    put(w->out, w->at.n_buffers + 1, 4);
    for (int64_t i = 0; i < w->at.n_buffers; i++)
        point(w->out, moved(w, w->buffers, i));
    point(w->out, w->at.buffer);
}

/* The entry of the metadata, its name, and the buffer with the plan. */
static void put_plan(writer *w, const int32_t *offset)
{
    static const uint8_t entry_fields[] = {8, 0, 12, 0, 4, 0, 8, 0},
                         buffer_fields[] = {6, 0, 8, 0, 4, 0, 0, 0};
    sked_i_buffer *out = w->out;
    sked_i_buffer_add(out, (const char *)entry_fields, sizeof entry_fields);
    put(out, sizeof entry_fields, 4);
    point(out, w->at.name);
    put(out, w->at.n_buffers, 4);
    sked_i_buffer_add(out, (const char *)buffer_fields, sizeof buffer_fields);
    put(out, sizeof buffer_fields, 4);
    point(out, w->at.data);
    put(out, name_size, 4);
    sked_i_buffer_text(out, plan_name);
    pad(out, w->at.data);
    put(out, 4 * (plan_head + w->m->tensors.count), 4);
    put(out, 1, 4); /* version */
    put(out, 1, 4); /* subgraphs */
    put(out, w->m->tensors.count, 4);
    for (int64_t t = 0; t < w->m->tensors.count; t++)
        put(out, offset[t], 4);
    pad(out, w->at.end);
}

/* ------------------------------------------------------------------ the whole */

static sked_status permute(writer *w, const int32_t *order)
{
    const sked_i_flat_list list = w->m->operators;
    for (int64_t k = 0; k < list.count; k++) {
        const int64_t slot = w->at.end + list.at + 4 * k, x = moved(w, list, order[k]) - slot;
        if (x <= 0)
            return refuse(w->m, "an operator stands before the list of operators");
        for (int b = 0; b < 4; b++)
            w->out->data[slot + b] = (char)((uint64_t)x >> 8 * b & 255);
    }
    return SKED_OK;
}

sked_status sked_i_tflite_write(sked_i_tflite *m, const int32_t *order, const int32_t *offset,
                                sked_i_buffer *out, sked_error *err)
{
    const sked_i_source *source = m->flat.source;
    writer w = {.m = m, .out = out};
    sked_status st = SKED_OK;
    w.metadata = sked_i_flat_vector(&m->flat, m->model, SKED_I_TFLITE_METADATA, 4);
    w.buffers = sked_i_flat_vector(&m->flat, m->model, SKED_I_TFLITE_BUFFERS, 4);
    SKED_NEW(w.kept, w.metadata.count);
    SKED_TRY(check(&w));
    lay_out(&w);
    if (w.at.end + (int64_t)source->size > INT32_MAX)
        SKED_TRY(refuse(m, "a FlatBuffer ends below 2 GiB"));
    put_model(&w);
    put_lists(&w);
    put_plan(&w, offset);
    sked_i_buffer_add(out, source->text, source->size);
    st = out->failed ? sked_i_no_memory(err) : permute(&w, order);
cleanup:
    free(w.kept);
    return st;
}
