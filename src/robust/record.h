/* Measurements as lines of JSON, written as they come, and read again to go on (docs/formats/measurements.md). */
#ifndef SKED_ROBUST_RECORD_H
#define SKED_ROBUST_RECORD_H
#include "robust/robust.h"

typedef struct sked_i_record {
    int file; /* descriptor; -1: nothing is written */
    char *path;
} sked_i_record;
#endif
