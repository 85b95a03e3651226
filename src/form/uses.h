#ifndef SKED_FORM_USES_H
#define SKED_FORM_USES_H
#include "base/arena.h"
#include "graph/graph.h"

/* Values and who reads them in the same iteration, each reader once. */
typedef struct sked_i_uses {
    sked_i_arena arena;
    int64_t *reader_ptr, *input_ptr; /* [n + 1] */
    int32_t *reader, *input;
    double *size; /* [n] of the value; 0: it has no reader */
} sked_i_uses;
/* O(ops + edges). On failure what was made is freed by sked_i_uses_free all the same. */
SKED_MUST_CHECK sked_status sked_i_uses_make(const sked_graph *g, sked_i_uses *u, sked_error *err);
void sked_i_uses_free(sked_i_uses *u);
#endif
