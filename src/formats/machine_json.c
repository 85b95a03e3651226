/* Machines, sked-machine-1: docs/formats/machine.md. Built through the public calls alone. */
#include "base/file.h"
#include "formats/durations.h"

#include <string.h>

static const char format_id[] = "sked-machine-1";

typedef struct reader {
    sked_i_json j;
    sked_machine_builder *b;
    sked_i_buffer name, type;
} reader;

enum { TOP_FORMAT, TOP_NAME, TOP_LATENCY, TOP_BANDWIDTH, TOP_DEVICES, TOP_LINKS, TOP_DURATIONS };
static const sked_i_json_fields top_fields = SKED_I_JSON_FIELDS(
    "a machine", true, "format", "name", "latency", "bandwidth", "devices", "links", "durations");

enum { DEVICE_NAME, DEVICE_TYPE, DEVICE_SPEED, DEVICE_MEMORY };
static const sked_i_json_fields device_fields =
    SKED_I_JSON_FIELDS("a device", true, "name", "type", "speed", "memory");

enum { LINK_FROM, LINK_TO, LINK_LATENCY, LINK_BANDWIDTH, LINK_ONEWAY };
static const sked_i_json_fields link_fields =
    SKED_I_JSON_FIELDS("a link", true, "from", "to", "latency", "bandwidth", "oneway");

/* A number, or null for no limit. */
static double read_unlimited(reader *r, const char *what)
{
    return sked_i_json_null(&r->j) ? INFINITY : sked_i_json_number(&r->j, what);
}

static void read_device(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    double speed = 1, memory = INFINITY;
    sked_i_json_enter(j, '{', "a device");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &device_fields, &seen)) >= 0;) {
        if (k == DEVICE_NAME)
            sked_i_json_text(j, "a device's name", &r->name);
        else if (k == DEVICE_TYPE)
            sked_i_json_text(j, "a device's type", &r->type);
        else if (k == DEVICE_SPEED)
            speed = sked_i_json_number(j, "speed");
        else
            memory = read_unlimited(r, "memory");
    }
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    if (!SKED_I_JSON_HAS(seen, DEVICE_NAME))
        sked_i_json_fail(j, "a device without \"name\"");
    else
        sked_i_json_check(
            &r->j, sked_machine_builder_add_device(r->b, r->name.data,
                                                   SKED_I_JSON_HAS(seen, DEVICE_TYPE) ? r->type.data : NULL,
                                                   speed, memory, NULL, &r->j.cause));
}

static void read_link(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    double latency = 0, bandwidth = INFINITY;
    bool oneway = false;
    sked_i_json_enter(j, '{', "a link");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &link_fields, &seen)) >= 0;) {
        if (k == LINK_FROM)
            sked_i_json_text(j, "a link's end", &r->name);
        else if (k == LINK_TO)
            sked_i_json_text(j, "a link's end", &r->type);
        else if (k == LINK_LATENCY)
            latency = sked_i_json_number(j, "latency");
        else if (k == LINK_BANDWIDTH)
            bandwidth = read_unlimited(r, "bandwidth");
        else
            oneway = sked_i_json_bool(j, "oneway");
    }
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    if (!SKED_I_JSON_HAS(seen, LINK_FROM) || !SKED_I_JSON_HAS(seen, LINK_TO))
        sked_i_json_fail(j, "a link needs both \"from\" and \"to\"");
    else
        sked_i_json_check(&r->j, sked_machine_builder_add_link(r->b, r->name.data, r->type.data, latency,
                                                               bandwidth, oneway, &r->j.cause));
}

static sked_status give_to_machine(void *data, const char *on, double time, sked_error *err)
{
    reader *r = data;
    return sked_machine_builder_add_duration(r->b, r->name.data, on, time, err);
}

/* {"op": 2.5, "other": {"gpu": 0.5, "npu": null}} */
static void read_durations(reader *r, const char *place)
{
    sked_i_json *j = &r->j;
    if (place == NULL || j->status != SKED_OK)
        return;
    sked_i_json_seek(j, place);
    sked_i_json_enter(j, '{', "\"durations\"");
    while (sked_i_json_key(j)) {
        if (!sked_i_json_key_text(j, &r->name))
            return;
        if (sked_i_json_peek(j) == '{')
            sked_i_durations_each(j, &r->type, give_to_machine, r);
        else {
            const double time = sked_i_json_number(j, "a duration");
            if (j->status == SKED_OK)
                sked_i_json_check(&r->j, give_to_machine(r, NULL, time, &r->j.cause));
        }
    }
}

typedef struct top {
    const char *devices, *links, *durations;
    double latency, bandwidth;
    bool linked; /* pairs without a link of their own have this one */
} top;

static void read_format(reader *r)
{
    sked_i_json_text(&r->j, "\"format\"", &r->type);
    if (r->j.status == SKED_OK && strcmp(r->type.data, format_id) != 0)
        sked_i_json_fail(&r->j, "the format is '%s', not '%s'",
                         sked_i_quoted_bytes(r->type.data, (size_t)r->type.size).text, format_id);
}

static void read_top(reader *r, top *t)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    *t = (top){.bandwidth = INFINITY};
    sked_i_json_enter(j, '{', "a machine");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_FORMAT)
            read_format(r);
        else if (k == TOP_NAME)
            sked_i_json_text(j, "the machine's name", &r->name);
        else if (k == TOP_LATENCY)
            t->latency = sked_i_json_number(j, "latency");
        else if (k == TOP_BANDWIDTH)
            t->bandwidth = read_unlimited(r, "bandwidth");
        else
            *(k == TOP_DEVICES ? &t->devices
              : k == TOP_LINKS ? &t->links
                               : &t->durations) = sked_i_json_defer(j);
    }
    sked_i_json_end(j);
    t->linked = SKED_I_JSON_HAS(seen, TOP_LATENCY) || SKED_I_JSON_HAS(seen, TOP_BANDWIDTH);
    if (!SKED_I_JSON_HAS(seen, TOP_FORMAT) || t->devices == NULL)
        sked_i_json_fail(j, "a machine needs \"format\": \"%s\" and \"devices\"", format_id);
    if (!SKED_I_JSON_HAS(seen, TOP_NAME))
        r->name.size = 0;
}

static sked_status build(reader *r, const sked_i_source *source, sked_machine **out, sked_error *err)
{
    sked_status st = SKED_OK;
    top t;
    read_top(r, &t);
    SKED_TRY(r->j.status);
    SKED_TRY(sked_machine_builder_create(r->name.size > 0 ? r->name.data : NULL, &r->b, err));
    if (t.linked)
        sked_i_json_check(&r->j, sked_machine_builder_set_link(r->b, t.latency, t.bandwidth, &r->j.cause));
    while (sked_i_json_each(&r->j, t.devices, "\"devices\"", "device"))
        read_device(r);
    while (sked_i_json_each(&r->j, t.links, "\"links\"", "link"))
        read_link(r);
    read_durations(r, t.durations);
    SKED_TRY(r->j.status);
    SKED_BUILD(source, NULL, sked_machine_builder_finish(r->b, out, &cause));
cleanup:
    return st;
}

sked_status sked_i_read_alike_devices(sked_machine_builder *b, const char *type, const char *separator,
                                      int64_t count, double speed, double memory, sked_error *err)
{
    enum { most = 65536 };
    sked_i_buffer name = {0};
    sked_status st = SKED_OK;
    int32_t id = 0;
    if (count > most)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%lld devices; %d are the most", (long long)count,
                           most);
    for (int64_t i = 0; i < count && st == SKED_OK; i++) {
        name.size = 0;
        sked_i_buffer_text(&name, type);
        sked_i_buffer_text(&name, separator);
        sked_i_buffer_int(&name, i);
        st = name.failed ? sked_i_no_memory(err)
                         : sked_machine_builder_add_device(b, name.data, type, speed, memory, &id, err);
        if (st == SKED_OK && id >= most)
            st = sked_i_fail(err, SKED_ERR_UNSUPPORTED, "more than %d devices", most);
    }
    sked_i_buffer_free(&name);
    return st;
}

sked_status sked_machine_parse(const char *name, const char *text, size_t size, sked_machine **out,
                               sked_error *err)
{
    static const sked_read_options none;
    const sked_i_source source = {name, text, size, &none};
    const bool own = sked_i_json_mentions(text, size < 4096 ? size : 4096, format_id);
    const sked_i_format *other = own ? NULL : sked_i_format_with_machine(text, size);
    if (other != NULL) /* a workflow or a network with the machine it was measured on */
        return other->machine(&source, out, err);
    reader r = {0};
    sked_i_json_begin(&r.j, &source, err);
    const sked_status st = build(&r, &source, out, err);
    sked_machine_builder_destroy(r.b);
    sked_i_json_free(&r.j);
    sked_i_buffer_free(&r.name);
    sked_i_buffer_free(&r.type);
    return st;
}

sked_status sked_machine_read(const char *path, sked_machine **out, sked_error *err)
{
    sked_i_json_file file;
    sked_status st = sked_i_json_load(path, &file, err);
    if (st == SKED_OK)
        st = sked_machine_parse(file.name, file.text, file.size, out, err);
    free(file.text);
    return st;
}

/* ------------------------------------------------------------------ writing */

static void write_device(const sked_machine *m, int32_t d, sked_i_buffer *out)
{
    const char *type = sked_machine_device_type(m, d);
    sked_i_buffer_json_after(out, d ? ",\n{\"name\":" : "\n{\"name\":", sked_machine_device_name(m, d));
    if (type != NULL)
        sked_i_buffer_json_after(out, ",\"type\":", type);
    if (sked_machine_device_speed(m, d) != 1)
        sked_i_buffer_number_after(out, ",\"speed\":", sked_machine_device_speed(m, d));
    if (sked_machine_device_memory(m, d) < INFINITY)
        sked_i_buffer_number_after(out, ",\"memory\":", sked_machine_device_memory(m, d));
    sked_i_buffer_char(out, '}');
}

static void write_link(const sked_machine *m, int64_t i, sked_i_buffer *out)
{
    const char *from, *to;
    double latency, bandwidth;
    bool oneway;
    sked_machine_given_link(m, i, &from, &to, &latency, &bandwidth, &oneway);
    sked_i_buffer_json_after(out, i ? ",\n{\"from\":" : "\n{\"from\":", from);
    sked_i_buffer_json_after(out, ",\"to\":", to);
    sked_i_buffer_number_after(out, ",\"latency\":", latency);
    sked_i_buffer_number_after(out, ",\"bandwidth\":", bandwidth);
    sked_i_buffer_text(out, oneway ? ",\"oneway\":true}" : "}");
}

/* Those of one op stand side by side: an object where they name devices. */
static void write_durations(const sked_machine *m, sked_i_buffer *out)
{
    const int64_t count = sked_machine_duration_count(m);
    const char *op, *on, *last = NULL;
    double time;
    bool open = false; /* an object by device */
    for (int64_t i = 0; i < count; i++) {
        sked_machine_duration(m, i, &op, &on, &time);
        const bool first = last == NULL || strcmp(op, last) != 0;
        if (first) {
            sked_i_buffer_json_after(out, open ? "},\n" : i > 0 ? ",\n" : ",\n\"durations\":{\n", op);
            sked_i_buffer_char(out, ':');
        }
        if (on != NULL)
            sked_i_duration_write(out, first, on, time);
        else
            sked_i_buffer_number(out, time);
        open = on != NULL;
        last = op;
    }
    if (count > 0)
        sked_i_buffer_text(out, open ? "}\n}" : "\n}");
}

void sked_i_format_of_machines(const sked_machine *m, sked_i_buffer *out)
{
    double latency, bandwidth;
    sked_i_buffer_format(out, "{\"format\":\"%s\"", format_id);
    if (sked_machine_name(m)[0] != 0)
        sked_i_buffer_json_after(out, ",\"name\":", sked_machine_name(m));
    if (sked_machine_default_link(m, &latency, &bandwidth)) {
        sked_i_buffer_number_after(out, ",\"latency\":", latency);
        sked_i_buffer_number_after(out, ",\"bandwidth\":", bandwidth);
    }
    sked_i_buffer_text(out, ",\n\"devices\":[");
    for (int32_t d = 0; d < sked_machine_device_count(m); d++)
        write_device(m, d, out);
    sked_i_buffer_text(out, "\n]");
    for (int64_t i = 0; i < sked_machine_given_link_count(m); i++) {
        if (i == 0)
            sked_i_buffer_text(out, ",\n\"links\":[");
        write_link(m, i, out);
    }
    if (sked_machine_given_link_count(m) > 0)
        sked_i_buffer_text(out, "\n]");
    write_durations(m, out);
    sked_i_buffer_text(out, "}\n");
}

sked_status sked_machine_write(const sked_machine *m, const char *path, sked_error *err)
{
    sked_i_buffer text = {0};
    sked_i_format_of_machines(m, &text);
    const sked_status st =
        text.failed ? sked_i_no_memory(err) : sked_i_file_write(path, text.data, text.size, err);
    sked_i_buffer_free(&text);
    return st;
}
