/*
 * Tabu search with path relinking for disjunctive problems (job shops and their like): every limited
 * resource runs one op at a time, so a solution is an order of ops per resource and the makespan is the
 * longest path of the graph with these orders added.
 *
 * Moves: N7 (Zhang et al. 2007; N6 of Balas and Vazacopoulos 1998 and the inner insertions) on the blocks
 * of one critical path, judged by the head/tail estimate of Balas and Vazacopoulos. Elite solutions are
 * joined by path relinking as in TS/PR (Peng, Lu, Cheng 2015).
 */
#ifndef SKED_METHOD_SEARCH_SHOP_SEARCH_H
#define SKED_METHOD_SEARCH_SHOP_SEARCH_H
#include "method/method.h"

/*
 * Searches until sked_i_run_over or until options->iterations tabu steps per thread are done (0: no such
 * limit), and offers improvements. Starts from options->start and from the best offer so far where there
 * are any. The problem must fit (sked_i_shop_model_fits). One independent stream per thread; with an
 * iteration limit the result depends on seed and thread count only. Memory O(ops + edges) per thread.
 */
SKED_MUST_CHECK sked_status sked_i_disjunctive_search(sked_i_run *run, sked_error *err);
#endif
