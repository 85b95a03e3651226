/* The least sum of the lives of all values. */
#ifndef SKED_PROBLEM_LIFE_FLOW_H
#define SKED_PROBLEM_LIFE_FLOW_H
#include "base/arena.h"
#include "problem/live_cut.h"

/* Who ends the life of a value: one op by its start, or one of these. */
enum { SKED_I_NOBODY = -1, SKED_I_OWN_END = -2 };
/* O(readers). OWN_END: several readers, or one whose start alone does not say it. */
int32_t sked_i_life_ended_by(const sked_graph *g, bool pipelined, int32_t v);

/* Flow of cost along the order that edges ask for, from readers to ends of lives, and from start to end. */
typedef struct sked_i_life_flow {
    sked_i_arena arena;
    double *order, *read; /* [edges] */
    double *own;          /* [ops] */
} sked_i_life_flow;
SKED_MUST_CHECK sked_status sked_i_life_flow_create(const sked_graph *g, sked_i_life_flow *out,
                                                    sked_error *err);
void sked_i_life_flow_free(sked_i_life_flow *f);
/*
 * A lower bound of the sum of all lives, each times the size of its value: the least there is where work is
 * left, and never less than the longest lags to readers of the same iteration add up to. ii 0: carried edges
 * do not count. O(ops + edges) memory; work counts looks at arcs and nodes. `out` gets the flow that proves
 * it.
 */
SKED_MUST_CHECK sked_status sked_i_life_flow_most(const sked_graph *g, double ii, sked_i_bound_effort *effort,
                                                  sked_i_life_flow *out, double *sum, sked_error *err);
#endif
