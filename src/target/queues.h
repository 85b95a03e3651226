/* A schedule as what runs it sees it: one queue of ops for each device, and how much data every edge moves.
 */
#ifndef SKED_TARGET_QUEUES_H
#define SKED_TARGET_QUEUES_H
#include "target/target.h"

typedef struct sked_i_queues {
    int32_t *ptr; /* [devices + 1] */
    int32_t *op;  /* [ops] those of device d, in their order: op[ptr[d]] .. op[ptr[d + 1] - 1] */
} sked_i_queues;

/*
 * INVALID where the orders contradict the graph, so that waiting for inputs in the order of the queues never
 * deadlocks; or where an op or its data cannot get to its device. Free in any case.
 */
SKED_MUST_CHECK sked_status sked_i_queues_make(const sked_target *t, const sked_schedule *s, sked_i_queues *q,
                                               sked_error *err);
void sked_i_queues_free(sked_i_queues *q);

/*
 * What runs ops needs their results whole: UNSUPPORTED where an edge has a lag of its own, other than the
 * duration of its producer. `name`: the target.
 */
SKED_MUST_CHECK sked_status sked_i_queues_check_lags(const sked_graph *g, const char *name, sked_error *err);

/* Bytes that the consumer of an edge reads: the edge's, or where it has none the memory of the producer. */
static inline double sked_i_queue_edge_read(const sked_graph *g, int64_t edge)
{
    return g->edge_bytes[edge] > 0 ? g->edge_bytes[edge] : g->memory[g->edge_from[edge]];
}
/* Bytes of an op's result: its memory, or what its most eager consumer reads. O(consumers). */
double sked_i_queue_result_size(const sked_graph *g, int32_t op);
#endif
