/*
 * The graph as the library sees it: columns, compressed rows both ways. Read-only after finish.
 *
 * Edges are stored sorted by `from`: the out-edges of op i are e = succ_ptr[i] .. succ_ptr[i+1]-1, and
 * edge_to[e], edge_lag[e], ... are theirs. The in-edges of i are pred_edge[pred_ptr[i] .. pred_ptr[i+1]-1],
 * edge numbers in ascending order; pred_op holds their `from` beside them.
 */
#ifndef SKED_GRAPH_GRAPH_H
#define SKED_GRAPH_GRAPH_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/text.h"
#include "graph/attributes.h"

#include <assert.h>

/* Open addressing table from names to indices, with the names themselves. */
typedef struct sked_i_names {
    char *text; /* 0-terminated strings */
    int64_t text_size, text_cap;
    int64_t *offset; /* [count] into text */
    int64_t offset_cap;
    int32_t count;
    uint64_t *slot; /* [slots], hash in the upper half, index + 1 in the lower, 0: free */
    int64_t slots;  /* power of two, 0: no table yet */
    sked_i_hash_key key;
} sked_i_names;

struct sked_graph {
    sked_i_arena arena; /* has all arrays */
    char *name;
    int32_t n_ops, n_resources, n_types;
    int64_t n_edges, n_carried; /* carried: edges of distance > 0 */

/* [n_ops] of each attribute of ops, duration, memory, ...; NULL: all are the preset */
#define SKED_X(name, kind, preset, column, meaning) SKED_I_TYPE_##kind *name;
    SKED_I_OP_ATTRIBUTES(SKED_X)
#undef SKED_X
    int32_t *type;         /* [n_ops], -1: untyped */
    int32_t *verilog;      /* [n_ops] index in verilog_names, -1: none; NULL: all have none */
    int64_t *on_ptr;       /* [n_ops + 1] durations by device; NULL: there are none */
    int32_t *on_name;      /* index in on_names, each at most once within an op */
    double *on_duration;   /* INFINITY: cannot run there */
    sked_i_names on_names; /* names of devices and device types */
    sked_i_names op_names; /* count 0: every op is called by its index */
    sked_i_names type_names, resource_names, verilog_names;
    double *capacity; /* [n_resources], INFINITY: unlimited */

    int64_t *demand_ptr;      /* [n_ops + 1] */
    int32_t *demand_resource; /* ascending within an op */
    double *demand_amount;    /* > 0 */
    int64_t *user_ptr;        /* [n_resources + 1] the same demands by resource */
    int32_t *user_op;         /* ascending within a resource */
    double *user_amount;

    int64_t *succ_ptr;            /* [n_ops + 1] */
    int32_t *edge_from, *edge_to; /* [n_edges] */
/* [n_edges] of each attribute of edges, edge_lag, edge_bytes, ... */
#define SKED_X(name, kind, preset, column, meaning) SKED_I_TYPE_##kind *edge_##name;
    SKED_I_EDGE_ATTRIBUTES(SKED_X)
#undef SKED_X
    uint8_t *edge_lag_given; /* 0: the lag is the duration of `from` and follows it */
    int64_t *pred_ptr;       /* [n_ops + 1] */
    int64_t *pred_edge;      /* [n_edges] */
    int32_t *pred_op;        /* [n_edges] */

    int32_t *topo; /* [n_ops] topological order of the edges of distance 0;
                      smallest index first among the ready (Kahn, queue order) */
    bool integral; /* durations, lags, demands, capacities, bytes, memory, weight: integers */
};

/* Does the op at the end of the edge read the value of the one at its begin? */
static inline bool sked_i_passes(const sked_graph *g, int64_t e)
{
    return g->edge_order == NULL || !g->edge_order[e];
}

/* The edges that bring op its operands, in their order, in .value of item, which has room for twice its
 * in-edges. How many. */
int64_t sked_i_operands(const sked_graph *g, int32_t op, sked_i_keyed *item);

/* Names: add returns the index (existing one with *fresh false), or -1 without memory. */
int32_t sked_i_names_add(sked_i_names *t, const char *name, size_t size, bool *fresh);
int32_t sked_i_names_find(const sked_i_names *t, const char *name, size_t size); /* -1: none */
void sked_i_names_free(sked_i_names *t);
static inline const char *sked_i_names_at(const sked_i_names *t, int32_t i)
{
    assert(i >= 0 && i < t->count);
    return t->text + t->offset[i];
}

/* Name of an op for messages: its name or index, quoted safely, in buf. */
const char *sked_i_op_label(const sked_graph *g, int32_t op, char *buf, size_t size);

/* What is wrong with the text of an expression; NULL: nothing. */
const char *sked_i_expression_wrong(const char *text);
/*
 * The next part of an expression from *at on, *size bytes, where *at then stands behind it. Which operand it
 * is, or of another kind: text to be copied, "...", or what no expression may have (also its end).
 */
enum { SKED_I_EXPRESSION_TEXT = -1, SKED_I_EXPRESSION_REST = -2, SKED_I_EXPRESSION_WRONG = -3 };
int64_t sked_i_expression_part(const char **at, size_t *size);
/* The name of operand k in Verilog: a, b, ..., z, a1, b1, ... */
static inline void sked_i_operand_name(sked_i_buffer *out, int64_t k)
{
    sked_i_buffer_char(out, (char)('a' + k % 26));
    if (k >= 26)
        sked_i_buffer_int(out, k / 26);
}

/* A demand of an op that cannot be added yet. */
typedef struct sked_i_demand {
    int32_t resource;
    double amount;
} sked_i_demand;
/* Sorts by resource, the order in which the builder takes demands fast. false: a resource comes twice. */
bool sked_i_demands_sort(sked_i_demand *list, int64_t count);

/* Fails the builder for good: ARGUMENT, with that rule. */
sked_status sked_i_builder_refuse(sked_builder *b, const char *rule, sked_error *err);
/* Room for this many ops and edges in all, so that adding them wastes and copies nothing. */
SKED_MUST_CHECK sked_status sked_i_builder_reserve(sked_builder *b, int32_t ops, int64_t edges,
                                                   sked_error *err);

/*
 * A copy of g with other durations and, where given is NULL or 0 for an edge, lags that follow them.
 * Durations by device stay as they are. Used by noise models and reports. duration: [n_ops].
 */
SKED_MUST_CHECK sked_status sked_i_graph_with_durations(const sked_graph *g, const double *duration,
                                                        sked_graph **out, sked_error *err);

/* Begins a copy of g in an empty builder: its name and resources. */
SKED_MUST_CHECK sked_status sked_i_graph_copy_begin(const sked_graph *g, sked_builder *b, sked_error *err);
/* Adds an op of g with another duration, all else as it is; its durations by device come after. */
SKED_MUST_CHECK sked_status sked_i_graph_copy_op(const sked_graph *g, int32_t op, double duration,
                                                 sked_builder *b, sked_error *err);
/* The attributes of an op but its duration go to an op of a builder. */
SKED_MUST_CHECK sked_status sked_i_graph_copy_values(const sked_graph *g, int32_t op, sked_builder *b,
                                                     int32_t to, sked_error *err);
/* The durations by device of an op go to the last op of a builder as they are. */
SKED_MUST_CHECK sked_status sked_i_graph_copy_placement(const sked_graph *g, int32_t op, sked_builder *b,
                                                        sked_error *err);
/* A whole copy of g in an empty builder. duration [n_ops], NULL: g's own. */
SKED_MUST_CHECK sked_status sked_i_graph_copy(const sked_graph *g, const double *duration, sked_builder *b,
                                              sked_error *err);
/* Adds g's edges to a builder that has its ops; lags that were not given follow the new durations. */
SKED_MUST_CHECK sked_status sked_i_graph_copy_edges(const sked_graph *g, sked_builder *b, sked_error *err);

/*
 * Longest paths over the edges of distance 0 (order.c), O(ops + edges):
 * head[i]: earliest start. tail[i]: from the start of i to the end of everything that must follow it,
 * at least its duration. The critical path is max(head[i] + tail[i]). Either may be NULL.
 */
void sked_i_heads(const sked_graph *g, double *head);
void sked_i_tails(const sked_graph *g, double *tail);
double sked_i_critical_path(const sked_graph *g, const double *head);
/* level[i]: ops on the longest chain that ends before i (sources 0). Returns the depth. */
int32_t sked_i_levels(const sked_graph *g, int32_t *level);
#endif
