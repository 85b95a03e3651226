/* Which op an event of a trace is named after. */
#ifndef SKED_FORMATS_TRACE_NAMES_H
#define SKED_FORMATS_TRACE_NAMES_H
#include "base/arena.h"
#include "graph/graph.h"

typedef struct sked_i_trace_names {
    const sked_graph *graph;
    sked_i_arena arena;
    int32_t *ranked; /* [n_ranked] op of ONNX Runtime's number */
    int64_t n_ranked;
    uint8_t *named, *head; /* [ops] an event has its name; a fused node begins with it */
} sked_i_trace_names;

/* graph is set, the rest zero. false: out of memory. O(ops) */
bool sked_i_trace_names_begin(sked_i_trace_names *t);
/*
 * The op of an event, or -1. operator: what ONNX Runtime ran, "" where the event says none. name loses
 * ONNX Runtime's suffix; *kernel: it had one.
 */
int32_t sked_i_trace_op(sked_i_trace_names *t, sked_i_buffer *name, const char *op_type, bool *kernel);
/*
 * After all events: the ops that ran inside fused nodes, one by one. Start with *at 0; -1: no more. They took
 * no time of their own.
 */
int32_t sked_i_trace_inside(sked_i_trace_names *t, int32_t *at);
#endif
