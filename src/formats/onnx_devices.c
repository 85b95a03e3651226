#include "formats/onnx_devices.h"

#include "base/text.h"
#include "formats/onnx_wire.h"

#include <stdio.h>
#include <string.h>

enum { max_devices = 16 };
enum { MODEL_CONFIGURATION = 26, NODE_CONFIGURATIONS = 10 };
enum { CONFIGURATION_NAME = 1, CONFIGURATION_COUNT, CONFIGURATION_DEVICE }; /* DeviceConfigurationProto */
enum { USE_CONFIGURATION = 1, USE_SHARDING };                               /* NodeDeviceConfigurationProto */
enum { SHARDING_DEVICE = 2, SHARDING_GROUPS };                              /* ShardingSpecProto */

/* Walks the fields of one message. */
typedef struct walker {
    const uint8_t *at, *end;
    uint64_t number, value; /* of the current field; value: of a varint */
    const uint8_t *bytes;   /* of a length-delimited one, NULL: it is none */
    size_t size;
} walker;

/* false: the message has ended, or is malformed. */
static bool next(walker *w)
{
    uint64_t tag = 0, length = 0;
    const uint8_t *at = w->at < w->end ? sked_i_onnx_varint(w->at, w->end, &tag) : NULL;
    const uint8_t *after = at ? sked_i_onnx_skip(at, w->end, (int)(tag & 7), &length) : NULL;
    if (after == NULL)
        return false;
    w->number = tag >> 3;
    w->bytes = (tag & 7) == 2 ? after - length : NULL;
    w->size = (size_t)length;
    w->value = 0;
    if ((tag & 7) == 0)
        sked_i_onnx_varint(at, w->end, &w->value);
    w->at = after;
    return true;
}

static walker inside(const uint8_t *bytes, size_t size)
{
    return (walker){.at = bytes, .end = bytes + size};
}

/* What protobuf-c keeps of an unknown field that is a message: its length, then its bytes. */
static bool unknown_message(const ProtobufCMessageUnknownField *field, unsigned number, walker *w)
{
    uint64_t length = 0;
    if (field->tag != number || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return false;
    const uint8_t *end = field->data + field->len;
    const uint8_t *at = sked_i_onnx_varint(field->data, end, &length);
    if (at == NULL || length > (uint64_t)(end - at))
        return false;
    *w = inside(at, (size_t)length);
    return true;
}

static void forget(sked_i_onnx_devices *d)
{
    sked_i_names_free(&d->names);
    *d = (sked_i_onnx_devices){0};
}

/* Devices without names get their numbers; a number that does not fit the names makes the whole invalid. */
static bool settle_names(sked_i_onnx_devices *d, uint64_t count)
{
    char number[24];
    bool fresh = true;
    if (count < 1 || count > max_devices || (d->names.count > 0 && (uint64_t)d->names.count != count)) {
        forget(d);
        return true;
    }
    for (int32_t i = d->names.count; i < (int32_t)count; i++) {
        snprintf(number, sizeof number, "%d", (int)i);
        if (sked_i_names_add(&d->names, number, strlen(number), &fresh) < 0)
            return false;
    }
    return true;
}

static bool read_configuration(walker w, sked_i_onnx_devices *d)
{
    uint64_t count = 0;
    bool fresh = true;
    while (next(&w)) {
        if (w.number == CONFIGURATION_NAME && w.bytes != NULL) {
            d->configuration = w.bytes;
            d->configuration_size = w.size;
        } else if (w.number == CONFIGURATION_COUNT) {
            count = w.value;
        } else if (w.number == CONFIGURATION_DEVICE && w.bytes != NULL) {
            if (memchr(w.bytes, 0, w.size) != NULL || w.size == 0 || d->names.count >= max_devices)
                count = max_devices + 1;
            else if (sked_i_names_add(&d->names, (const char *)w.bytes, w.size, &fresh) < 0)
                return false;
        }
    }
    for (int32_t i = 0; i < d->names.count; i++)
        count = sked_i_utf8_valid(sked_i_names_at(&d->names, i)) ? count : max_devices + 1;
    return settle_names(d, count);
}

bool sked_i_onnx_devices_read(const Onnx__ModelProto *model, sked_i_onnx_devices *d)
{
    walker w;
    *d = (sked_i_onnx_devices){0};
    for (unsigned i = 0; i < model->base.n_unknown_fields; i++)
        if (unknown_message(&model->base.unknown_fields[i], MODEL_CONFIGURATION, &w))
            return read_configuration(w, d);
    return true;
}

void sked_i_onnx_devices_free(sked_i_onnx_devices *d)
{
    sked_i_names_free(&d->names);
}

enum { NOWHERE = -1, SEVERAL = -2 };

static int join(int device, uint64_t one, int32_t count)
{
    return one >= (uint64_t)count ? SEVERAL : device == NOWHERE || device == (int)one ? (int)one : SEVERAL;
}

/* The devices of one tensor join those of the others; a group of devices is several. */
static int join_sharding(walker w, int device, int32_t count)
{
    while (next(&w)) {
        if (w.number == SHARDING_GROUPS)
            device = SEVERAL;
        if (w.number != SHARDING_DEVICE)
            continue;
        if (w.bytes == NULL)
            device = join(device, w.value, count);
        uint64_t one = 0; /* packed: all in one field */
        const uint8_t *end = w.bytes ? w.bytes + w.size : NULL;
        for (const uint8_t *at = w.bytes; at != NULL && at < end;)
            if ((at = sked_i_onnx_varint(at, end, &one)) != NULL)
                device = join(device, one, count);
    }
    return device;
}

static int device_in(const sked_i_onnx_devices *d, walker w)
{
    const walker begin = w;
    bool ours = false;
    int device = NOWHERE;
    while (next(&w))
        if (w.number == USE_CONFIGURATION && w.bytes != NULL)
            ours = w.size > 0 && w.size == d->configuration_size &&
                   memcmp(w.bytes, d->configuration, w.size) == 0;
    for (w = begin; ours && next(&w);)
        if (w.number == USE_SHARDING && w.bytes != NULL)
            device = join_sharding(inside(w.bytes, w.size), device, d->names.count);
    return device;
}

int sked_i_onnx_device_of(const sked_i_onnx_devices *d, const Onnx__NodeProto *node)
{
    walker w;
    for (unsigned i = 0; d->names.count > 0 && i < node->base.n_unknown_fields; i++)
        if (unknown_message(&node->base.unknown_fields[i], NODE_CONFIGURATIONS, &w)) {
            const int device = device_in(d, w);
            if (device != NOWHERE)
                return device >= 0 ? device : -1;
        }
    return -1;
}
