/*
 * The least memory alive at one moment or at several, whatever the schedule: a minimum cut between ops that
 * have started and ops that have not.
 */
#ifndef SKED_PROBLEM_LIVE_CUT_H
#define SKED_PROBLEM_LIVE_CUT_H
#include "base/clock.h"
#include "graph/graph.h"

/* Where an op stands at a moment. */
typedef enum sked_i_side { SKED_I_FREE, SKED_I_STARTED, SKED_I_WAITING } sked_i_side;

typedef struct sked_i_live_cut sked_i_live_cut;

/* What a search for bounds may still do. */
typedef struct sked_i_bound_effort {
    double work;               /* looks at arcs, ops, edges: some 10 ns each */
    const sked_i_limit *limit; /* no work is left once it is reached; NULL: none */
} sked_i_bound_effort;

/* Is an edge a rule, and a use where it passes a value? Carried edges only where the loop has an interval. */
static inline bool sked_i_edge_counts(const sked_graph *g, bool pipelined, int64_t e)
{
    return g->edge_distance[e] == 0 || pipelined;
}

/* Moments at equal distances, in rising order. */
typedef struct sked_i_live_moments {
    int32_t count;
    double spacing;  /* time from one to the next, > 0 */
    bool pipelined;  /* spacing is the initiation interval: carried edges count */
    bool from_begin; /* nothing has started before the first one */
} sked_i_live_moments;

/* O(moments * (ops + edges)) time and memory. */
SKED_MUST_CHECK sked_status sked_i_live_cut_create(const sked_graph *g, const sked_i_live_moments *m,
                                                   sked_i_live_cut **out, sked_error *err);
void sked_i_live_cut_destroy(sked_i_live_cut *cut);
/*
 * The least sum over the moments of the values alive, over all ways to start the ops that keep the order of
 * the edges, where those that are known to have STARTED or to be WAITING do so. side: [moments * ops]. Where
 * some op is WAITING, kept values are alive once they are made. Lowers effort->work by the arcs it looks at;
 * where that runs out, the result is smaller than the minimum and still a lower bound of it: a flow in place
 * of the cut.
 */
double sked_i_live_cut_least(sked_i_live_cut *cut, const uint8_t *side, sked_i_bound_effort *effort);
#endif
