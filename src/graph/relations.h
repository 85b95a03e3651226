/*
 * How ops relate through the edges of distance 0: reachability, transitive reduction, width.
 *
 * All of it works on the graph in topological positions, one block of 512 target columns at a time: a row
 * of a block is one cache line of bits, so the working set is 64 bytes per op whatever the graph, and only
 * edges that survive the reduction are ever followed.
 */
#ifndef SKED_GRAPH_RELATIONS_H
#define SKED_GRAPH_RELATIONS_H
#include "base/arena.h"
#include "base/clock.h"
#include "graph/graph.h"

#include <assert.h>

/* A closure holds n * n bits: 1 GiB is reached at 92,681 ops. */
#define SKED_I_CLOSURE_LIMIT ((int64_t)1 << 30)
/* Row operations (one edge in one block, 64 bytes) of a reduction: 2e10 is a matter of minutes. */
#define SKED_I_REDUCTION_LIMIT 20000000000.0

/* The edges of distance 0 between topological positions. */
typedef struct sked_i_relation_dag {
    sked_i_arena arena;
    int32_t n;
    int32_t *position; /* [n] of each op */
    int32_t *order;    /* [n] op at each position */
    int64_t *ptr;      /* [n + 1] row p: the edges that leave position p */
    int32_t *to;       /* positions, ascending within a row */
    int64_t *edge;     /* the graph's edge numbers, ascending among equal targets */
} sked_i_relation_dag;
SKED_MUST_CHECK sked_status sked_i_relation_dag_create(const sked_graph *g, sked_i_relation_dag *out,
                                                       sked_error *err);
void sked_i_relation_dag_clear(sked_i_relation_dag *d);

/* The inner step that reduction and closure share: one block of columns. */
enum { SKED_I_SWEEP_WORDS = 8 }; /* 64 bytes: a row of a block is one cache line */

typedef struct sked_i_relation_sweep {
    const sked_i_relation_dag *dag;
    uint8_t *redundant;         /* [edges of the graph]; decided for all earlier blocks */
    int32_t begin, column, end; /* rows begin..end-1, columns column..end-1 */
} sked_i_relation_sweep;

/* Fills rows[(p - begin) * SKED_I_SWEEP_WORDS ...] and decides the edges into the block's columns. */
void sked_i_sweep_bits(const sked_i_relation_sweep *s, uint64_t *rows);

/* Who reaches whom. Bit k of an op's row is set when a path leads from it to op order[k]. */
typedef struct sked_i_closure {
    sked_i_arena arena;
    int32_t n;
    int64_t words;      /* 64-bit words of a row */
    uint64_t *bits;     /* row of the op at position p: bits + p * words */
    int32_t *position;  /* [n] */
    int32_t *order;     /* [n] */
    uint8_t *redundant; /* [edges of the graph] 1: of distance 0 and implied by a longer path or a twin */
} sked_i_closure;

/*
 * max_bytes 0: SKED_I_CLOSURE_LIMIT. UNSUPPORTED, with both numbers, where n * n / 8 bytes are more.
 * Time O(n * r / 64), r the edges of the reduction.
 */
SKED_MUST_CHECK sked_status sked_i_closure_create(const sked_graph *g, int64_t max_bytes,
                                                  sked_i_closure **out, sked_error *err);
void sked_i_closure_destroy(sked_i_closure *c);
static inline const uint64_t *sked_i_closure_row(const sked_i_closure *c, int32_t op)
{
    assert(op >= 0 && op < c->n);
    return c->bits + c->position[op] * c->words;
}
/* Does a path lead from op i to op j? Never from an op to itself. */
static inline bool sked_i_closure_has(const sked_i_closure *c, int32_t i, int32_t j)
{
    return sked_i_closure_row(c, i)[c->position[j] >> 6] >> (c->position[j] & 63) & 1;
}

/*
 * What op j is to op i. Every pair of different ops has exactly one of the seven relations; the reverse
 * of a relation is what i is to j.
 */
#define SKED_I_RELATION_LIST(X)                                     \
    X(SELF, "the same op")                                          \
    X(REDUCTION, "edge of the transitive reduction i -> j")         \
    X(REDUCTION_REVERSE, "edge of the transitive reduction j -> i") \
    X(EDGE, "edge i -> j that a longer path implies")               \
    X(EDGE_REVERSE, "edge j -> i that a longer path implies")       \
    X(PATH, "a path from i to j, but no edge")                      \
    X(PATH_REVERSE, "a path from j to i, but no edge")              \
    X(INCOMPARABLE, "no path either way")
typedef enum sked_i_relation {
#define SKED_X(name, text) SKED_I_RELATION_##name,
    SKED_I_RELATION_LIST(SKED_X)
#undef SKED_X
} sked_i_relation;
/*
 * relation[i * n + j] for all ops, [n * n]. false: the limit, which may be NULL, was reached. O(n * n +
 * edges) after the closure.
 */
bool sked_i_relations_fill(const sked_graph *g, const sked_i_closure *c, const sked_i_limit *limit,
                           uint8_t *relation);

typedef enum sked_i_reduction {
    SKED_I_REDUCE_PATHS, /* redundant: another path leads from its op to its target */
    SKED_I_REDUCE_LAGS   /* and the lags along that path add up to its own lag at least */
} sked_i_reduction;
/*
 * Marks redundant edges of distance 0 (redundant[e] = 1, else 0; carried edges always 0) and counts them;
 * all marked edges may be left out together. Of equal parallel edges one stays. Memory 64 bytes per op and
 * 1 per edge beside the dag. max_work 0: SKED_I_REDUCTION_LIMIT; UNSUPPORTED with the numbers above it. Work
 * is at most n * edges / 1024 row operations for paths and 64 times that for lags; it is far less where edges
 * span few positions, and nothing at all where no edge skips a level.
 */
SKED_MUST_CHECK sked_status sked_i_graph_reduce(const sked_graph *g, sked_i_reduction kind, double max_work,
                                                uint8_t *redundant, int64_t *count, sked_error *err);

/*
 * The most ops no two of which are ordered: Dilworth's theorem, with Hopcroft and Karp's matching on the
 * closure's bit rows. O(n * n / 64) a phase, at most about 2 sqrt(n) phases.
 */
SKED_MUST_CHECK sked_status sked_i_graph_width(const sked_i_closure *c, int32_t *width, sked_error *err);
#endif
