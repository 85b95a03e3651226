/*
 * Gates in tables of four inputs, as synthesis for an FPGA merges them: a cut of a gate are the values that
 * one table reads to compute it, and a gate is there a table's delay after the latest of them. Of each gate
 * the best few cuts are kept, merged from those of the values it reads (Mishchenko et al., "Priority cuts",
 * 2007). So the cost is linear in ops and edges.
 */
#ifndef SKED_ROBUST_COVERING_H
#define SKED_ROBUST_COVERING_H
#include "graph/graph.h"

enum { SKED_I_CUT_INPUTS = 4, SKED_I_CUTS = 6 };

typedef struct sked_i_cut {
    double latest; /* when the last of its inputs is there */
    int32_t last;  /* which; -1: from a register */
    int32_t inputs, input[SKED_I_CUT_INPUTS];
} sked_i_cut;

/* Of a gate: first that of the values it reads itself, then others, the best first. */
typedef struct sked_i_cuts {
    int32_t count;
    sked_i_cut at[SKED_I_CUTS];
} sked_i_cuts;

/* One bit computed from up to four values of one bit, whatever the function. */
bool sked_i_is_gate(const sked_graph *g, int32_t op);
void sked_i_cuts_begin(sked_i_cuts *cuts);
/* One more value that the gate reads, by itself; behind: the cuts of the gate it comes from, may be NULL. */
void sked_i_cuts_read(sked_i_cuts *cuts, const sked_i_cut *value, const sked_i_cuts *behind);
const sked_i_cut *sked_i_cuts_best(const sked_i_cuts *cuts);
#endif
