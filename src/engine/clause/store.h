/* A memory limit as a propagator of the clause-learning kernel: time table of values that readers hold. */
#ifndef SKED_ENGINE_CLAUSE_STORE_H
#define SKED_ENGINE_CLAUSE_STORE_H
#include "engine/clause/clause.h"

/* Holds a value until its start plus offset. */
typedef struct sked_i_clause_reader {
    int32_t var, offset;
} sked_i_clause_reader;

/* Held from the start of its maker until the last of its readers lets go. */
typedef struct sked_i_clause_value {
    int32_t maker;
    double size;
    int64_t first, end; /* of its readers */
} sked_i_clause_value;

typedef struct sked_i_clause_values {
    int64_t count, n_readers;
    sked_i_clause_value *value;
    sked_i_clause_reader *reader;
} sked_i_clause_values;

/*
 * At no time may the sizes of held values exceed the capacity. Values and readers must stay (s->memory is a
 * place for them). false: no memory (s->failed).
 */
bool sked_i_clause_add_store(sked_i_clause_solver *s, double capacity, sked_i_clause_values values);
#endif
