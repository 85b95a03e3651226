/* The least communication: what edges with bytes span, added up. */
#ifndef SKED_PROBLEM_COMMUNICATION_H
#define SKED_PROBLEM_COMMUNICATION_H
#include "problem/live_cut.h"

/* Does an edge count: it carries bytes, and joins ops of one iteration or the loop has an interval. */
bool sked_i_communicates(const sked_graph *g, double ii, int64_t e);
/* Can communication not be 0, whatever the starts: does some edge that counts keep its ops apart? O(edges).
 */
bool sked_i_must_communicate(const sked_graph *g, double ii);
/*
 * A lower bound of the communication of all starts within early..late that keep the edges: the least there is
 * where work is left. ii 0: carried edges do not count. late may be INFINITY. O(ops + edges) memory; work
 * counts looks at arcs and nodes. `start` [ops], or NULL, gets starts that have it, whole where times are;
 * where work runs out, they may break edges.
 */
SKED_MUST_CHECK sked_status sked_i_least_communication(const sked_graph *g, double ii, const double *early,
                                                       const double *late, sked_i_bound_effort *effort,
                                                       double *start, double *sum, sked_error *err);
#endif
