/* The protobuf wire format, for what has to be looked at before or beside protobuf-c. */
#ifndef SKED_FORMATS_ONNX_WIRE_H
#define SKED_FORMATS_ONNX_WIRE_H
#include "formats/format.h"

/* Reads a varint; NULL: it does not end. */
static inline const uint8_t *sked_i_onnx_varint(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
        *out |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            return at;
    }
    return NULL;
}

/* The place after a field's value; *length is that of a length-delimited one. NULL: cut off or unknown. */
static inline const uint8_t *sked_i_onnx_skip(const uint8_t *at, const uint8_t *end, int wire,
                                              uint64_t *length)
{
    uint64_t ignored;
    *length = 0;
    if (wire == 0)
        return sked_i_onnx_varint(at, end, &ignored);
    if (wire == 1 || wire == 5)
        return (size_t)(end - at) >= (wire == 1 ? 8u : 4u) ? at + (wire == 1 ? 8 : 4) : NULL;
    if (wire != 2)
        return NULL; /* groups are not used by ONNX */
    at = sked_i_onnx_varint(at, end, length);
    return at && *length <= (uint64_t)(end - at) ? at + *length : NULL;
}

/* onnx_write.c: the model, which the reader has taken and which has n nodes, with node order[k] at place k.
 */
SKED_MUST_CHECK sked_status sked_i_onnx_write(const sked_i_source *source, int32_t n, const int32_t *order,
                                              sked_i_buffer *out, sked_error *err);
#endif
