/*
 * Graph generators. A family lays out ops and edges in a plan; generate.c gives them durations, bytes,
 * memory, weights and demands and builds the graph.
 */
#ifndef SKED_GRAPH_GENERATE_H
#define SKED_GRAPH_GENERATE_H
#include "base/arena.h"
#include "base/rng.h"
#include "base/status.h"

/* Above this a random family lowers the densities it was not given, so that graphs grow linearly. */
enum { SKED_I_DENSE_OPS = 1000 };
/* No family makes more edges than this. */
#define SKED_I_MOST_EDGES 1000000000.0

/* A kind of op: its type, default duration, and the pool one unit of which it takes (-1: none). */
typedef struct sked_i_draft_kind {
    const char *type;
    double duration;
    int pool;
} sked_i_draft_kind;

typedef struct sked_i_draft_pool {
    const char *name;
    double capacity;
} sked_i_draft_pool;

typedef struct sked_i_draft {
    sked_i_arena arena; /* has kind and the edges */
    /* given to the family */
    int32_t nodes;       /* ops asked for, >= 1 */
    const double *value; /* its options, in table order */
    const bool *given;   /* set by the caller and not merely by default */
    sked_i_rng rng;

    /* filled by the family */
    int32_t n;                      /* ops; `nodes` at first */
    const sked_i_draft_kind *kinds; /* NULL: untyped ops */
    uint8_t *kind;                  /* [n] or NULL: all of kinds[0] */
    sked_i_draft_pool pool[4];
    int n_pools;
    int64_t n_edges;
    int32_t *from, *to, *distance; /* distance NULL: all 0 */
    int64_t from_cap, to_cap, distance_cap;
    bool failed; /* an edge found no memory */
} sked_i_draft;

/* Adds an edge; remembers a failure, so that callers check `failed` once. Parallel edges are dropped later.
 */
void sked_i_draft_edge(sked_i_draft *p, int32_t from, int32_t to);
/* A carried edge. A plan with one gives all its edges this way. */
void sked_i_draft_carried(sked_i_draft *p, int32_t from, int32_t to, int32_t distance);
/* Room for about so many edges. ARGUMENT, blaming `cause` ("erdos-renyi: p"), above SKED_I_MOST_EDGES. */
SKED_MUST_CHECK sked_status sked_i_draft_reserve(sked_i_draft *p, double edges, const char *cause,
                                                 sked_error *err);

typedef struct sked_i_family {
    sked_family_info info;
    const char *bytes, *memory; /* default distributions */
    SKED_MUST_CHECK sked_status (*lay_out)(sked_i_draft *p, sked_error *err);
} sked_i_family;
#define SKED_FAMILY(name) extern const sked_i_family sked_i_family_##name;
#include "graph/families/table.h"
#undef SKED_FAMILY

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof *(a)))
#endif
