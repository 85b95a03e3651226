/* The inner step that reduction and closure share: one block of columns. */
#ifndef SKED_GRAPH_SWEEP_H
#define SKED_GRAPH_SWEEP_H
#include "graph/relations.h"

enum { SWEEP_WORDS = 8 }; /* 64 bytes: a row of a block is one cache line */

typedef struct sked_i_relation_sweep {
    const sked_i_relation_dag *dag;
    uint8_t *redundant;         /* [edges of the graph]; decided for all earlier blocks */
    int32_t begin, column, end; /* rows begin..end-1, columns column..end-1 */
} sked_i_relation_sweep;

/* Fills rows[(p - begin) * SWEEP_WORDS ...] and decides the edges into the block's columns. */
void sked_i_sweep_bits(const sked_i_relation_sweep *s, uint64_t *rows);
#endif
