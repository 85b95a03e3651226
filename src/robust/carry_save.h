/*
 * Sums and products as synthesis merges them: a sum or product that one sum of the same cycle reads, and
 * nothing else, joins it, and their operands are added in one tree of carry-save adders with one carry at the
 * end (Yosys: alumacc, maccmap). A product has an operand for each bit of its narrower factor. So a tree
 * takes what its largest op takes alone, and a level more for each level that the tree is higher.
 */
#ifndef SKED_ROBUST_CARRY_SAVE_H
#define SKED_ROBUST_CARRY_SAVE_H
#include "graph/graph.h"

typedef struct sked_i_carry {
    bool is_sum, is_product;
    bool merges;           /* into its one reader, where that is in its cycle */
    double operands, most; /* most: of its largest op */
    int32_t largest;       /* that op */
    double latest;         /* when the last of its operands is there */
    int32_t last;          /* which; -1: from a register */
} sked_i_carry;

/* What stands in the graph. */
void sked_i_carry_of(const sked_graph *g, sked_i_carry *tree);
void sked_i_carry_begin(const sked_graph *g, sked_i_carry *tree, int32_t op);
/* One more operand, there at a time, from an op (-1: a register); behind: the tree that it joins with. */
void sked_i_carry_read(sked_i_carry *t, double time, int32_t from, const sked_i_carry *behind);
/* Levels beyond those of its largest op. */
int32_t sked_i_carry_levels(const sked_i_carry *t);
#endif
