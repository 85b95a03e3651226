/* Resource models of modulo scheduling benchmarks, XML files beside their graphs in GraphML. */
#ifndef SKED_FORMATS_RESOURCE_MODEL_H
#define SKED_FORMATS_RESOURCE_MODEL_H
#include "formats/format.h"

typedef struct sked_i_resource_unit {
    double latency, blocking, limit; /* limit -1: none */
} sked_i_resource_unit;

typedef struct sked_i_resource_model {
    sked_i_names names;
    sked_i_resource_unit *unit; /* [names.count] */
    int64_t unit_cap;
    sked_i_buffer name, value; /* of the element being read */
} sked_i_resource_model;

/*
 * The model given in memory, else the one named by the options of the graph's source, else the file beside
 * the graph called <stem>RM.xml or <stem>_RM.xml; *found: there is one. m is zero before; free it in any
 * case.
 */
SKED_MUST_CHECK sked_status sked_i_resource_model_find(const sked_i_source *source,
                                                       const sked_i_source *given, sked_i_resource_model *m,
                                                       bool *found, sked_error *err);
void sked_i_resource_model_free(sked_i_resource_model *m);
#endif
