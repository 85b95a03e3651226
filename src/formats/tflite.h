/*
 * A TFLite model in memory: the tensors and operators of its main subgraph, for the reader (tflite.c) and for
 * what writes it back in another order (tflite_write.c). docs/formats/tflite.md
 */
#ifndef SKED_FORMATS_TFLITE_H
#define SKED_FORMATS_TFLITE_H
#include "formats/flatbuffer.h"

/* Numbers of fields, by table; the schema is versioned, numbers never change. */
enum { /* Model */
       SKED_I_TFLITE_CODES = 1,
       SKED_I_TFLITE_SUBGRAPHS = 2,
       SKED_I_TFLITE_BUFFERS = 4,
       SKED_I_TFLITE_METADATA = 6,
       SKED_I_TFLITE_MODEL_FIELDS = 10
};

/* Makers of tensors that are no operator. */
enum {
    SKED_I_TFLITE_UNMADE = -1,
    SKED_I_TFLITE_INPUT = -2,
    SKED_I_TFLITE_CONSTANT = -3,
    SKED_I_TFLITE_VARIABLE = -4 /* state: it keeps its value from one run to the next */
};

typedef struct sked_i_tflite_tensor {
    double bytes, elements;
    int64_t first, last; /* dimensions; 1 for a scalar */
    int32_t maker;       /* operator, or one of the above */
    bool output;         /* of the model */
    sked_i_flat_list name;
} sked_i_tflite_tensor;

typedef struct sked_i_tflite {
    sked_i_flat flat;
    sked_i_flat_table model;
    sked_i_flat_list subgraphs, tensors, operators, inputs, outputs;
    sked_i_tflite_tensor *tensor; /* [tensors.count] */
} sked_i_tflite;

/* Inputs and outputs of operator i: indices of tensors, -1 for inputs that are left out. */
typedef struct sked_i_tflite_operator {
    sked_i_flat_table table;
    sked_i_flat_list inputs, outputs;
} sked_i_tflite_operator;

/* Reads the tensors, and which operator makes each. FORMAT, MEMORY. O(size of the file). */
SKED_MUST_CHECK sked_status sked_i_tflite_open(const sked_i_source *source, sked_i_arena *arena,
                                               sked_i_tflite *m, sked_error *err);
/* Its lists are empty where the file is broken; then m->flat.status says so. Indices are within the tensors.
 */
sked_i_tflite_operator sked_i_tflite_operator_at(sked_i_tflite *m, int64_t i);

/* tflite_operators.c: "CONV_2D"; NULL: newer than this list. */
const char *sked_i_tflite_operator_name(uint64_t code);
/* Whether an operator may change, or depend on, what no tensor shows. */
bool sked_i_tflite_has_state(uint64_t code);
/* Floating-point operations of an operator whose shapes are known. */
double sked_i_tflite_flops(sked_i_tflite *m, uint64_t code, const sked_i_tflite_operator *o);

/*
 * tflite_write.c: the same model with operator order[k] at place k, and with a plan of its tensors'
 * addresses: offset[tensors], -1 for those that the runtime places. UNSUPPORTED: what would not survive it.
 */
SKED_MUST_CHECK sked_status sked_i_tflite_write(sked_i_tflite *m, const int32_t *order, const int32_t *offset,
                                                sked_i_buffer *out, sked_error *err);
#endif
