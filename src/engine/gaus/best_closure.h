/*
 * The set of nodes of largest gain that is closed under implications (project selection; Picard 1976), by a
 * minimum cut: nodes of positive gain are sources, those of negative gain drains, implications have no
 * capacity limit. Dinic's algorithm; networks here have some thousand nodes, and paths are short.
 * (problem/live_cut.h has the flow of a whole graph at moments, on a network that is never built, and leaves
 * no cut.)
 */
#ifndef SKED_ENGINE_GAUS_BEST_CLOSURE_H
#define SKED_ENGINE_GAUS_BEST_CLOSURE_H
#include "base/arena.h"

struct sked_i_gaus_closure_node {
    int64_t supply; /* gain that is left: positive a source's, negative a drain's */
    int64_t head;   /* first arc, -1: none */
    int64_t turn;   /* the arc to be tried next */
    int32_t level;  /* distance from the sources, -1: not reached */
};
struct sked_i_gaus_closure_arc {
    int64_t room; /* what may still flow; INT64_MAX: any amount */
    int64_t next; /* of the same node, -1: none */
    int32_t to;
};

/* Zero-initialised: empty. One serves many problems in turn, and keeps its memory. */
typedef struct sked_i_gaus_closure {
    sked_i_arena arena;
    int32_t nodes;
    int64_t arcs; /* two for each implication: itself, and the way back for its flow */
    bool failed;  /* no memory for some node or implication */
    int64_t node_room, arc_room;
    struct sked_i_gaus_closure_node *node; /* [nodes] */
    struct sked_i_gaus_closure_arc *arc;   /* [arcs] */
    int64_t queue_room, path_room;
    int32_t *queue; /* [nodes] */
    int64_t *path;  /* [nodes] arcs */
} sked_i_gaus_closure;
void sked_i_gaus_closure_free(sked_i_gaus_closure *c);
void sked_i_gaus_closure_clear(sked_i_gaus_closure *c);
/* The number of the new node. Sums of gains must fit into int64. solve reports failures. */
int32_t sked_i_gaus_closure_add(sked_i_gaus_closure *c, int64_t gain);
static inline void sked_i_gaus_closure_gain(sked_i_gaus_closure *c, int32_t node, int64_t more)
{
    if (!c->failed)
        c->node[node].supply += more;
}
/* A set with a has b, too. */
void sked_i_gaus_closure_imply(sked_i_gaus_closure *c, int32_t a, int32_t b);
/* Finds the smallest set of largest gain. */
SKED_MUST_CHECK sked_status sked_i_gaus_closure_solve(sked_i_gaus_closure *c, sked_error *err);
/* Is the node in it? */
static inline bool sked_i_gaus_closure_has(const sked_i_gaus_closure *c, int32_t node)
{
    return c->node[node].level >= 0;
}
#endif
