/*
 * The devices that a model is annotated with (IR 11 and later: ModelProto.configuration, field 26, and
 * NodeProto.device_configurations, field 10). Debian's copy of the schema is older, so protobuf-c hands these
 * fields over as bytes.
 */
#ifndef SKED_FORMATS_ONNX_DEVICES_H
#define SKED_FORMATS_ONNX_DEVICES_H
#include "graph/graph.h"

#include <onnx.pb-c.h>

typedef struct sked_i_onnx_devices {
    sked_i_names names;           /* of the devices of the first configuration; count 0: there is none */
    const uint8_t *configuration; /* its own name */
    size_t configuration_size;
} sked_i_onnx_devices;

/*
 * Reads the first configuration; one of more than 16 devices, or malformed, counts as none. Devices without
 * names are called by their number. false: out of memory. Free in any case.
 */
bool sked_i_onnx_devices_read(const Onnx__ModelProto *model, sked_i_onnx_devices *d);
void sked_i_onnx_devices_free(sked_i_onnx_devices *d);
/* The one device that holds all annotated tensors of a node; -1: none, or they are sharded over several. */
int sked_i_onnx_device_of(const sked_i_onnx_devices *d, const Onnx__NodeProto *node);
#endif
