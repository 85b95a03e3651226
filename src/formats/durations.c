#include "formats/durations.h"

#include <math.h>
#include <string.h>

void sked_i_duration_write(sked_i_buffer *out, bool first, const char *on, double time)
{
    sked_i_buffer_json_after(out, first ? "{" : ",", on);
    sked_i_buffer_number_after(out, ":", time);
}

bool sked_i_durations_write(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    if (g->on_ptr == NULL || g->on_ptr[op] == g->on_ptr[op + 1])
        return false;
    for (int64_t k = g->on_ptr[op]; k < g->on_ptr[op + 1]; k++)
        sked_i_duration_write(out, k == g->on_ptr[op], sked_i_names_at(&g->on_names, g->on_name[k]),
                              g->on_duration[k]);
    sked_i_buffer_char(out, '}');
    return true;
}

void sked_i_durations_text(const sked_graph *g, int32_t op, const char *key, sked_i_text_fn write,
                           sked_i_buffer *out)
{
    sked_i_buffer text = {0};
    if (sked_i_durations_write(g, op, &text) && !text.failed)
        write(out, key, text.data);
    out->failed = out->failed || text.failed;
    sked_i_buffer_free(&text);
}

void sked_i_durations_each(sked_i_json *j, sked_i_buffer *name, sked_i_duration_fn take, void *data)
{
    sked_i_json_enter(j, '{', "an op's durations");
    while (sked_i_json_key(j) && sked_i_json_key_text(j, name)) {
        const double duration = sked_i_json_null(j) ? INFINITY : sked_i_json_number(j, "a duration");
        if (j->status == SKED_OK)
            sked_i_json_check(j, take(data, name->data, duration, &j->cause));
    }
}

typedef struct last_op {
    sked_builder *b;
    int32_t op;
} last_op;

static sked_status give_to_op(void *data, const char *on, double time, sked_error *err)
{
    const last_op *x = data;
    return sked_builder_add_duration(x->b, x->op, on, time, err);
}

void sked_i_durations_read(sked_i_json *j, sked_i_buffer *name, sked_builder *b, int32_t op)
{
    sked_i_durations_each(j, name, give_to_op, &(last_op){b, op});
}

sked_status sked_i_durations_add(const sked_i_source *source, const char *at, const char *text,
                                 sked_builder *b, int32_t op, sked_error *err)
{
    const sked_i_source inner = {"durations", text, strlen(text), source->options};
    sked_error cause = {0};
    sked_i_buffer name = {0};
    sked_i_json j;
    sked_i_json_begin(&j, &inner, &cause);
    sked_i_durations_read(&j, &name, b, op);
    sked_i_json_end(&j);
    sked_i_buffer_free(&name);
    const sked_status st = j.status;
    sked_i_json_free(&j);
    return st == SKED_OK ? st : sked_i_source_pass(source, at, &cause, err);
}

static const sked_i_json_fields delay_fields = SKED_I_JSON_FIELDS("a delay", true, "in", "out");

void sked_i_delay_read(sked_i_json *j, double *in, double *out)
{
    uint32_t seen = 0;
    if (sked_i_json_peek(j) == '{') {
        *in = *out = 0;
        sked_i_json_enter(j, '{', "a delay");
        for (int k; (k = sked_i_json_field(j, &delay_fields, &seen)) >= 0;)
            *(k == 0 ? in : out) = sked_i_json_number(j, k == 0 ? "in" : "out");
    } else {
        *in = *out = sked_i_json_number(j, "a delay");
    }
    if (j->status == SKED_OK && (*in < 0 || *out < 0))
        sked_i_json_fail(j, "a delay must be 0 or more");
}

void sked_i_delay_write(sked_i_buffer *text, double in, double out)
{
    sked_i_buffer_number_after(text, in == out ? ",\"delay\":" : ",\"delay\":{\"in\":", in);
    if (in != out) {
        sked_i_buffer_number_after(text, ",\"out\":", out);
        sked_i_buffer_char(text, '}');
    }
}

double sked_i_duration_estimate(double flops, double bytes)
{
    const double flop_per_microsecond = 1e5, bytes_per_microsecond = 1e4;
    const double time = fmax(flops / flop_per_microsecond, bytes / bytes_per_microsecond);
    return !(time >= 1 && time <= 0x1p53) ? 1 : ceil(time);
}
